//! What plans cost, in counted steps: made once whoever asks, and within the steps of their function.

use super::open;
use crate::{
    apply_rules, check, deepen, simulate_kernels, Ask, Doc, Findings, Memo, Refused, RuleSet, RuleTarget,
    RulesApplied, Settings, SimulateOptions, Tier,
};
use base::CancelToken;

/// A nest so deep.
fn nest(depth: usize) -> String {
    let heads: String = (0..depth).map(|k| format!("for (int i{k} = 0; i{k} < n; i{k}++)\n")).collect();
    let sum: Vec<String> = (0..depth).map(|k| format!("i{k}")).collect();
    format!("void f(int n, double *a)\n{{\n{heads}a[{}] += 1;\n}}\n", sum.join(" + "))
}

fn spent(findings: &Findings) -> u64 {
    findings.functions.iter().flatten().map(|f| f.plans.spent()).sum()
}

fn asked(ask: &Ask) -> Findings {
    let findings = check(ask, &Settings::default()).expect("nobody cancels");
    findings.loops.iter().for_each(|l| _ = l.report());
    findings
}

/// Reports of all loops of a deep nest take the steps of one function, not of a function each; asking again takes none.
#[test]
fn plans_are_made_once_and_within_the_steps_of_a_function() {
    let doc = open(&nest(20));
    let ask = Ask::new(&doc, &Memo::new(), Tier::Full, &CancelToken::new());
    let first = spent(&asked(&ask));
    // the last plan may begin with one step left
    let most = crate::plans::function_steps(&doc, 0) + analysis::OFFLOAD_STEPS + analysis::THREAD_MAP_STEPS;
    assert!(first > 0 && first <= most, "{first} of {most}");
    assert_eq!(spent(&asked(&ask)), first);
}

/// A time loop whose calls, written out, are long: not every form is tried in which its nests might share their data. The first plan of a function is not counted.
#[test]
fn regions_that_are_too_long_are_given_up_at_once() {
    let nests: String = (0..30)
        .map(|k| {
            format!("    for (int i = {k}; i < n; i++)\n        for (int j = 0; j < m; j++)\n            for (int k = 0; k < 9; k++)\n                c[i][j] += a[i][k + {k}] * b[k][j];\n")
        })
        .collect();
    let calls: String =
        (0..14).map(|k| format!("        step(n - {k}, m, a, b, {});\n", ["c", "d"][k % 2])).collect();
    let text = format!("static void step(int n, int m, double a[n][m], double b[n][m], double c[n][m])\n{{\n{nests}}}\nvoid run(int n, int m, int steps, double a[n][m], double b[n][m], double c[n][m], double d[n][m])\n{{\n    for (int i = 0; i < n; i++)\n        d[i][0] = 0;\n    for (int t = 0; t < steps; t++) {{\n{calls}    }}\n}}\n");
    let doc = open(&text);
    let ask = Ask::new(&doc, &Memo::new(), Tier::Full, &CancelToken::new());
    let findings = asked(&ask);
    let time = findings.loops.last().expect("the time loop");
    let run = findings.view(&ask, time.item).expect("a function with a loop");
    let planned = run.planned(time.id);
    assert!(planned.obstacle().is_some(), "{planned:?}");
    // the last thing that is tried may begin with one step left
    let most = crate::limits::region_plan::STEPS + analysis::SAVE.function + analysis::OFFLOAD_STEPS;
    let spent = run.plans.spent();
    assert!(spent >= analysis::SAVE.each_loop && spent <= most, "{spent} of {most}");
}

/// While the user types only what is quickly planned is; who asks what can be done at one loop has that one planned.
#[test]
fn little_is_planned_while_typing_and_for_a_list_only_what_it_is_of() {
    let quickly = |findings: &Findings| -> u64 {
        findings.functions.iter().flatten().map(|f| f.plans.spent_quickly()).sum()
    };
    let easy = "void f(double a[64][64]) {\n    for (int i = 0; i < 64; i++)\n        for (int j = 0; j < 64; j++)\n            a[i][j] = 2 * a[i][j] + 1;\n}\n";
    for (code, promised) in [(easy, true), (super::asks::HARD, false)] {
        let doc = open(code);
        let ask = Ask::new(&doc, &Memo::new(), Tier::Typing, &CancelToken::new());
        let findings = check(&ask, &Settings::default()).expect("nobody cancels");
        assert_eq!(spent(&findings), 0);
        let steps = quickly(&findings);
        assert!(steps > 0 && steps <= 2 * crate::limits::plans::QUICK_FUNCTION_STEPS, "{steps} of {code}");
        assert_eq!(
            findings.diagnostics.iter().any(|d| d.message.contains("Apply")),
            promised,
            "{:#?}",
            findings.diagnostics
        );
        let lists = || {
            drop(crate::lenses(&ask, &findings));
            drop(crate::inlay_hints(&ask, &findings, doc.text().span(), false));
            quickly(&findings)
        };
        // labels may be of more loops, within the same steps; nobody tries again with as few
        let more = lists();
        assert!(more <= 2 * crate::limits::plans::QUICK_FUNCTION_STEPS, "{more} of {code}");
        assert_eq!((lists(), spent(&findings)), (more, 0));
        let listed = crate::actions(&ask, &findings, findings.loops[0].header);
        assert!(!listed.is_empty());
        assert_eq!(spent(&findings) > 0, !promised);
    }
    // a selection of many loops plans none
    let doc = open(
        &(0..9)
            .map(|k| {
                super::asks::HARD
                    .replace("turn", &format!("turn{k}"))
                    .replace("struct image {", &format!("struct image{k} {{"))
                    .replace("struct image im", &format!("struct image{k} im"))
            })
            .collect::<String>(),
    );
    let ask = Ask::new(&doc, &Memo::new(), Tier::Typing, &CancelToken::new());
    let findings = check(&ask, &Settings::default()).expect("nobody cancels");
    drop(crate::actions(&ask, &findings, doc.text().span()));
    assert_eq!(spent(&findings), 0);
}

/// Four loops over products of sizes, short as text, among many functions: each loop is planned.
#[test]
fn a_short_function_among_many_has_steps_for_its_plans() {
    let turn = "struct image { int w, h, c; float *data; };\nvoid turn(struct image im, int times)\n{\n    int i, x, y, c, n = im.w;\n    for (i = 0; i < times; ++i)\n        for (c = 0; c < im.c; ++c)\n            for (x = 0; x < n / 2; ++x)\n                for (y = 0; y < (n - 1) / 2 + 1; ++y) {\n                    float t = im.data[y + im.w * (x + im.h * c)];\n                    im.data[y + im.w * (x + im.h * c)] = im.data[n - 1 - x + im.w * (y + im.h * c)];\n                    im.data[n - 1 - x + im.w * (y + im.h * c)] = im.data[n - 1 - y + im.w * (n - 1 - x + im.h * c)];\n                    im.data[n - 1 - y + im.w * (n - 1 - x + im.h * c)] = im.data[x + im.w * (n - 1 - y + im.h * c)];\n                    im.data[x + im.w * (n - 1 - y + im.h * c)] = t;\n                }\n}\n";
    let others = (0..140).map(|k| {
        format!("void f{k}(int n, float *a)\n{{\n    for (int i = 0; i < n; i++)\n        a[i] = {k};\n}}\n")
    });
    let doc = open(&format!("{turn}{}", others.collect::<String>()));
    let findings = asked(&Ask::new(&doc, &Memo::new(), Tier::Full, &CancelToken::new()));
    let untried = |f: &&crate::LoopFinding| {
        f.report()
            .offload
            .as_ref()
            .and_then(|o| o.refused.as_deref())
            .is_some_and(|why| why.contains("was not tried"))
    };
    assert_eq!(findings.loops.iter().filter(untried).count(), 0);
    // and its plans cost what such short text has not: else this says nothing
    let spent = findings.functions.iter().flatten().map(|f| f.plans.spent()).max().unwrap_or(0);
    assert!(spent > 150_000, "{spent}");
}

fn sums(n: usize) -> String {
    let one = |k| {
        format!("int f{k}(int n, const int *a)\n{{\n    int s = 0;\n    for (int i = 0; i < n; i++)\n        s += a[i] * 1 + 0;\n    return s;\n}}\n\n")
    };
    (0..n).map(one).collect()
}

/// The same with calls of what is nowhere: it cannot be run, so each changed expression is run by itself.
fn strange_sums(n: usize) -> String {
    let one = |k| {
        format!("int strange{k}(int x);\nint f{k}(int n, const int *a)\n{{\n    int s = 0;\n    for (int i = 0; i < n; i++)\n        s += strange{k}(a[i]) + (n * 1 + 0);\n    return s;\n}}\n\n")
    };
    (0..n).map(one).collect()
}

fn applied(doc: &Doc) -> Result<RulesApplied, Refused> {
    let ask = Ask::thorough(doc);
    let findings = check(&ask, &Settings::default()).expect("nobody cancels");
    apply_rules(&ask, &findings, &RuleSet::shipped(), "neutral-elements", &RuleTarget::File)
}

/// Steps at n, 2n and 4n, each at most so many times those before.
fn grows(name: &str, at: [u64; 3], at_most: f64) {
    for pair in at.windows(2) {
        let times = pair[1] as f64 / pair[0].max(1) as f64;
        assert!(pair[0] > 0 && times <= at_most, "{name}: {} steps, then {}", pair[0], pair[1]);
    }
}

/// Rules with what they ask and what is read again take as many steps for each function, and so do the runs.
#[test]
fn rules_take_as_many_steps_for_each_function() {
    for (name, of) in [("run", sums as fn(usize) -> String), ("by themselves", strange_sums)] {
        let all = [50, 100, 200].map(|n| {
            let done = applied(&open(&of(n))).expect("it applies");
            assert_eq!(done.derivation.len(), 2 * n, "{}", done.checked);
            assert!(!done.checked.contains("limit") && !done.checked.contains("Left as it is"));
            done.steps
        });
        grows(name, all.map(|[rules, _]| rules), 2.1);
        grows(name, all.map(|[_, runs]| runs), 2.1);
    }
}

/// What a file's limit does not reach stays as it is, and that is said.
#[test]
fn rules_end_at_the_limit_of_a_file() {
    let doc = open(&sums(20));
    let ask = Ask::thorough(&doc);
    let findings = check(&ask, &Settings::default()).expect("nobody cancels");
    let (set, target) = (RuleSet::shipped(), RuleTarget::File);
    let all = crate::rules::steps_of(&ask, &findings, &set, "neutral-elements", &target, u64::MAX);
    assert!(all.is_ok_and(|(steps, left)| steps > 1_000 && left.is_empty()));
    let few = crate::rules::steps_of(&ask, &findings, &set, "neutral-elements", &target, 1_000);
    let told = "the limit of counted steps for the rules of one file was reached before";
    let (steps, left) = few.expect("some of it is done");
    assert!(steps <= 1_000 && left.iter().any(|why| why.contains(told)), "{steps} {left:?}");
    let none = crate::rules::steps_of(&ask, &findings, &set, "neutral-elements", &target, 0);
    assert!(none.is_err_and(|why| why.contains(told)));
}

const LARGE: &str = "__global__ void add(int n, float *a, const float *b)\n{\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n)\n        a[i] += b[i];\n}\n\nvoid host(float *a, const float *b)\n{\n    add<<<65536, 1024>>>(1 << 26, a, b);\n}\n";

fn kernel_with(body: &str) -> String {
    format!("__global__ void k(int *a)\n{{\n    int i = threadIdx.x;\n{body}\n}}\n\nvoid host(int *a)\n{{\n    k<<<2, 64>>>(a);\n}}\n")
}

/// A launch of 2^26 threads is refused before the first step; a loop without an end, or a long one, ends with the steps of a run.
#[test]
fn a_simulation_ends_at_its_steps() {
    let run = |text: &str, steps: u64| {
        let doc = super::open_cuda(text);
        let options = SimulateOptions { steps, ..SimulateOptions::default() };
        let mut runs = simulate_kernels(&Ask::thorough(&doc), &options);
        let run = runs.pop().expect("a kernel");
        (run.steps, run.refused.unwrap_or_default(), run.completed, run.problems.len())
    };
    let (steps, why, ..) = run(LARGE, SimulateOptions::default().steps);
    assert!(steps == 0 && why.starts_with("it takes more steps than are allowed here"), "{steps} {why}");
    let loops = [
        "    while (1)\n        a[i] += 1;",
        "    for (;;)\n        ;",
        "    for (long k = 0; k < 1L << 50; k++)\n        a[i] ^= (int)k;",
        "    if (i == 3)\n        while (1)\n            a[i] += 1;\n    __syncthreads();",
        "    while (atomicAdd(a, 0) >= 0)\n        ;",
        "    // each run ends with a larger array\n    for (long k = 0; k >= 0; k++)\n        a[i + 64 * k] = 1;",
    ];
    for text in loops {
        let (steps, why, completed, problems) = run(&kernel_with(text), 300_000);
        // a run that grows its arrays may be begun again, for four times as many
        assert!(steps <= 5 * 300_000, "{text}: {steps}");
        assert!(!completed && (why.starts_with("it takes more steps") || problems > 0), "{text}: {why}");
    }
}

/// Kernels that stage, wait, count and loop, and functions that launch some of them: about thirty lines each.
fn kernels(n: usize) -> String {
    let one = |k: usize| {
        format!(
            "__global__ void k{k}(int n, float *a, const float *b, int *bins)\n{{\n    __shared__ float s[256];\n    __shared__ float t[16][17];\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    int x = threadIdx.x % 16, y = threadIdx.x / 16;\n    s[threadIdx.x] = i < n ? b[i] : 0.0f;\n    t[y][x] = i + {k} < n ? b[i + {k}] : 1.0f;\n    __syncthreads();\n    for (int w = 128; w > 0; w /= 2) {{\n        if (threadIdx.x < w)\n            s[threadIdx.x] += s[threadIdx.x + w] * t[x][y];\n        __syncthreads();\n    }}\n    if (i < n) {{\n        for (int j = 0; j < 4; j++)\n            atomicAdd(&bins[(i + j) % 64], {k});\n    }}\n    if (threadIdx.x == 0)\n        a[blockIdx.x] = s[0];\n}}\n\n{}",
            match k % 3 {
                0 => format!("void host{k}(int n, float *a, const float *b, int *bins)\n{{\n    k{k}<<<(n + 255) / 256, 256>>>(n, a, b, bins);\n    k{k}<<<64, 256>>>(16384, a, b, bins);\n    cudaDeviceSynchronize();\n}}\n\n"),
                _ => String::new(),
            }
        )
    };
    (0..n).map(one).collect()
}

/// Files of kernels: facts and lints take as many steps for each, and where a file has no more, that is said.
#[test]
fn kernels_take_as_many_steps_each() {
    let asked = |n: usize, tier: Tier| {
        let doc = super::open_cuda(&kernels(n));
        let ask = Ask::new(&doc, &Memo::new(), tier, &CancelToken::new());
        let findings = check(&ask, &Settings::default()).expect("nobody cancels");
        let taken = ask.steps.taken();
        // asking again takes none
        check(&ask, &Settings::default()).expect("nobody cancels");
        assert_eq!(ask.steps.taken(), taken);
        (taken, ask.steps.left(), findings.out_of_budget)
    };
    let all = [2, 4, 8].map(|n| asked(n, Tier::Full));
    assert!(all.iter().all(|(_, left, cut_short)| *left > 0 && !cut_short), "{all:?}");
    grows("kernels", all.map(|(taken, ..)| taken), 2.1);
    // several hundred lines while typing: more than a file gets then
    let (_, left, cut_short) = asked(14, Tier::Typing);
    assert!(left == 0 && cut_short);
}

/// What a file's steps do not reach is said once for all its kernels, and not where there are more steps.
#[test]
fn kernels_that_steps_do_not_reach_are_unknown() {
    let doc = super::open_cuda(&kernels(14));
    let memo = Memo::new();
    let asked = |tier: Tier| {
        let ask = Ask::new(&doc, &memo, tier, &CancelToken::new());
        let findings = check(&ask, &Settings::default()).expect("nobody cancels");
        let told = findings.diagnostics.iter().filter(|d| d.code == "unknown-kernel");
        let told: Vec<String> = told.map(|d| d.message.to_string()).collect();
        (findings.out_of_budget, told, ask.unfinished_kernels().not_reached.len())
    };
    let (cut_short, told, count) = asked(Tier::Typing);
    assert!(cut_short && (2..14).contains(&count), "{count} {told:?}");
    let words = format!(
        "Unknown whether something is wrong with `k{}` and {} more kernels: the analysis stopped at its limit of counted steps for all \
         functions of the file, before it had come to them. Smaller kernels need less; in an editor, the command Analyze Fully has a far larger limit.",
        14 - count,
        count - 1
    );
    // an idle moment finds out more: nothing is said until then
    assert_eq!(told, [] as [String; 0]);
    let first = format!("k{}", 14 - count);
    assert_eq!(crate::words::unknown_kernels(&first, count, crate::words::KernelLimit::File), words);
    assert_eq!(asked(Tier::Full), (false, Vec::new(), 0));
}

/// A kernel whose own steps are spent says so, too.
#[test]
fn a_kernel_that_is_cut_short_is_unknown() {
    let round = "    s[threadIdx.x] = b[i];\n    t[y][x] = s[255 - threadIdx.x];\n    __syncthreads();\n    for (int w = 128; w > 0; w /= 2) {\n        if (threadIdx.x < w)\n            s[threadIdx.x] += s[threadIdx.x + w] * t[x][y];\n        __syncthreads();\n    }\n";
    let text = format!(
        "// warpwright: launch(64, 256)\n__global__ void k(float *a, const float *b)\n{{\n    __shared__ float s[256];\n    __shared__ float t[16][17];\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    int x = threadIdx.x % 16, y = threadIdx.x / 16;\n{}    a[i] = s[threadIdx.x];\n}}\n",
        round.repeat(8)
    );
    let doc = super::open_cuda(&text);
    let ask = Ask::new(&doc, &Memo::new(), Tier::Typing, &CancelToken::new());
    let findings = check(&ask, &Settings::default()).expect("nobody cancels");
    assert!(findings.out_of_budget && ask.steps.left() > 0, "{}", ask.steps.left());
    // an idle moment finds out more: nothing is said until then
    assert!(findings.diagnostics.iter().all(|d| d.code != "unknown-kernel"));
    assert_eq!(ask.unfinished_kernels().cut_short.len(), 1);
    let told = crate::words::unknown_kernels("k", 1, crate::words::KernelLimit::Kernel);
    assert!(told.contains("`k`: ") && told.contains("while it compared the kernel's threads"));
    assert!(!check(&ask.at(Tier::Full), &Settings::default()).expect("nobody cancels").out_of_budget);

    // called off, it is not remembered; done, it is what typing says
    let memo = Memo::new();
    let called_off = CancelToken::new();
    called_off.cancel();
    assert!(deepen(&Ask::new(&doc, &memo, Tier::Command, &called_off), |_, _| ()).is_err());
    let typing = || {
        let ask = Ask::new(&doc, &memo, Tier::Typing, &CancelToken::new());
        check(&ask, &Settings::default()).expect("nobody cancels").out_of_budget
    };
    assert!(typing());
    deepen(&Ask::new(&doc, &memo, Tier::Command, &CancelToken::new()), |_, _| ()).expect("nobody cancels");
    assert!(!typing());
}

/// A file of about 2,000 lines: loops that are parallel, those that a transformation makes so, and those that none does.
fn long_file() -> String {
    let one = |k: usize| {
        let body: String = (0..40).map(|j| format!("    b[{j}] = b[{j}] * {k} + {j};\n")).collect();
        let nest = match k % 4 {
            0 => "    for (int i = 1; i < n; i++)\n        for (int j = 0; j < n; j++)\n            a[i][j] = a[i - 1][j] + 1 * b[j];\n",
            1 => "    for (int i = 1; i < n; i++) {\n        b[i] = b[i - 1] + 1;\n        c[i] = b[i] * 2;\n    }\n",
            2 => "    for (int i = 1; i < n; i++)\n        b[i] = b[i - 1] * b[i] + 0;\n",
            _ => "    for (int i = 0; i < n; i++)\n        c[i] = b[i] * 1 + a[i][0];\n",
        };
        format!("void f{k}(int n, double a[][64], double *restrict b, double *restrict c)\n{{\n{body}{nest}}}\n\n")
    };
    (0..42).map(one).collect()
}

/// A list at any loop takes its own few steps, however long the file is, and none a second time for what makes it parallel.
#[test]
fn lists_of_actions_take_few_steps_at_every_loop() {
    let doc = open(&long_file());
    assert!(doc.text().line_count() > 1_900, "{}", doc.text().line_count());
    let ask = Ask::thorough(&doc);
    let findings = check(&ask, &Settings::default()).expect("nobody cancels");
    let set = RuleSet::shipped();
    let (mut enabled, mut offered, mut dearest) = (0, 0, [0u64; 2]);
    for (k, l) in findings.loops.iter().enumerate() {
        enabled += crate::actions(&ask, &findings, l.header)
            .iter()
            .filter(|a| a.id.to_string().starts_with("enable:"))
            .count();
        let searched = l.listed_steps().expect("a search was made, if a short one");
        dearest[0] = dearest[0].max(searched);
        // pages are many: those of some loops
        if k % 6 == 0 {
            let budget = ask.budget(crate::limits::rules::LISTED_STEPS);
            offered += crate::rules::offers_within(&ask, &findings, &set, |_| true, l.header, &budget).len();
            dearest[1] = dearest[1].max(budget.taken());
        }
    }
    assert!(dearest[0] <= crate::limits::enabling::LISTED_STEPS, "{dearest:?}");
    assert!(dearest[1] <= crate::limits::rules::LISTED_STEPS, "{dearest:?}");
    assert!(enabled >= 10 && offered >= 3, "{enabled} {offered} {dearest:?}");
    // nothing is listed that the steps did not reach
    let none =
        crate::rules::offers_within(&ask, &findings, &set, |_| true, doc.text().span(), &ask.budget(10));
    assert!(none.is_empty());
}

/// A function that calls itself more than once: what it costs is not known, and asking ends.
#[test]
fn the_cost_of_functions_that_call_themselves_is_asked_once() {
    let text = "static void spread(const float *a, int *seen, int y, int x)\n{\n    int k = y * 19 + x;\n    if (k < 0 || k >= 361 || seen[k] || a[k] > 0)\n        return;\n    seen[k] = 1;\n    spread(a, seen, y + 1, x);\n    spread(a, seen, y - 1, x);\n    spread(a, seen, y, x + 1);\n    spread(a, seen, y, x - 1);\n}\nvoid all(const float *a, int seen[361])\n{\n    for (int y = 0; y < 19; y++)\n        for (int x = 0; x < 19; x++)\n            spread(a, seen, y, x);\n}\nstatic int deep(int n) { return n < 2 ? n : deep(n - 1) + deep(n - 2) + deep(n - 3); }\nvoid numbers(int n, int *out)\n{\n    for (int i = 0; i < n; i++)\n        out[i] = deep(i);\n}\n";
    let doc = open(text);
    let ask = Ask::new(&doc, &Memo::new(), Tier::Full, &CancelToken::new());
    let findings = asked(&ask);
    for l in &findings.loops {
        let view = findings.view(&ask, l.item).expect("a function with a loop");
        assert_eq!(crate::cost::operations(&view, view.of(l.id).term), None);
    }
    assert_eq!(findings.loops.len(), 3);
}
