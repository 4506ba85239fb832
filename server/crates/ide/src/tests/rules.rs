//! Rule pages: those that ship are right, and what is wrong with others is said on them.

use base::CancelToken;
use expect_test::{expect, Expect};

use crate::check as check_doc;
use crate::{
    apply_rules, check_rule_page, Doc, Language, Memo, Options, Refused, RuleSet, RuleTarget, Settings, Tier,
};

/// Every page that ships: nothing is to be said of it, and all its examples come out and compute what they did.
#[test]
fn shipped_pages_are_right() {
    let set = RuleSet::shipped();
    assert_eq!(set.pages.len(), RuleSet::shipped_pages().len(), "a page has errors");
    for (name, text) in RuleSet::shipped_pages() {
        let done = check_rule_page(&set, name, text, None, &CancelToken::new());
        assert!(done.findings.is_empty(), "{name}: {:#?}", done.findings);
        assert!(done.examples >= 2, "{name} has an accepted and a refused example");
    }
}

/// What is said of a page with these rules and examples.
fn check(rules: &str, examples: &str, expected: Expect) {
    let text = format!("# T\n\nTrust: exact\n\n```rules t once(TopDown)\n{rules}\n```\n\n{examples}");
    let done = check_rule_page(&RuleSet::shipped(), "t", &text, None, &CancelToken::new());
    let said: String = done
        .findings
        .iter()
        .map(|f| format!("{}:{} {:?} {}\n", f.line, f.column, f.severity, f.message))
        .collect();
    expected.assert_eq(&said);
}

const COLUMNS: &str = "double a[64][64];\nvoid f(void) {\n    for (int i = 1; i < 64; i++)\n        for (int j = 0; j < 63; j++)\n            a[i][j] = a[i - 1][j + 1];\n}\n";

#[test]
fn a_guard_that_is_too_weak_is_told_on_the_page() {
    check(
        "c`for (int $i = $a; $i < $n; $i++) for (int $j = $b; $j < $m; $j++) $body` [const($n)] -> c`for (int $j = $b; $j < $m; $j++) for (int $i = $a; $i < $n; $i++) $body`",
        &format!("```c example\n{COLUMNS}```\n```c result\n{COLUMNS}```\n```c refused\nint x;\n```\n"),
        expect![[r#"
            6:1 Error It is not proved that rule 1 is exact: nothing says that the loops may be swapped; ask `permutable($i,$j)`. Ask for more in its condition, or write `Trust: assumes …` with what makes it right.
            10:1 Error Rule t, example 1: There is no result, because in `f` it breaks the flow dependence of `a` from `a[i][j]` to `a[i - 1][j + 1]` with the directions (<, >).
        "#]],
    );
}

#[test]
fn a_rule_that_computes_something_else_is_told_on_the_page() {
    check(
        "c`$x / 2` -> c`$x >> 1`",
        "```c example\nint f(int x) { return x / 2; }\n```\n```c result\nint f(int x) { return x >> 1; }\n```\n```c refused\nint f(int x) { return x; }\n```\n",
        expect![[r#"
            6:1 Error Rule 1 is not exact: for $x = -1 (int) the result is -1 instead of 0. Mend it, or ask for more in its condition.
            10:1 Error Rule t, example 1: The result computes something else than the program: for x=-33: the function returns Int(-17) instead of Int(-16).
        "#]],
    );
    check(
        "c`$x + $y` -> c`$y + $x`",
        "```c example\nint f(int x) { return x + 1; }\n```\n```c result\nint f(int x) { return 1+x; }\n```\n```c refused\nint f(int x) { return x + 2; }\n```\n",
        expect![[r#"
            6:1 Error Rule 1 is not exact: the program evaluates `$x` where the result evaluates `$y`; ask `pure($y)` or `readonly($y)`, for it may have an effect. Mend it, or ask for more in its condition.
            13:1 Error Rule t, example 1: The program becomes something else than this:
            int f(int x) { return 1 + x; }
            16:1 Error Rule t, example 2: This is to be refused, but the rules apply (t rule 1: x+2 -> 2+x; $x = x, $y = 2):
            int f(int x) { return 2 + x; }
        "#]],
    );
}

/// The page that the documents begin with works as it stands there.
#[test]
fn the_documented_page_is_right() {
    let docs = include_str!("../../../../../docs/rules.md");
    let page = docs.split("````markdown\n").nth(1).and_then(|p| p.split("````").next()).expect("a page");
    let done = check_rule_page(&RuleSet::shipped(), "squares", page, None, &CancelToken::new());
    assert!(done.findings.is_empty(), "{:#?}", done.findings);
    assert_eq!((done.rules, done.examples), (1, 2));
}

/// What a kernel costs on two blocks' numbers: divided warps, bank conflicts, idle threads, barriers.
#[derive(Debug)]
struct Costs {
    divergent: u64,
    conflicts: u64,
    idle: u64,
    barriers: u64,
    global: u64,
}

/// Runs `parallelAdd` of a program on `blocks` blocks of 128 threads.
fn costs(text: &str, blocks: u32) -> Costs {
    let parsed = front::Parsed::parse(front::Language::Cuda, text);
    let unit = front::lower(&parsed, &front::Options::default(), &mut front::Memo::new());
    let program = simulate::Program::of(unit.items.iter().map(|i| &*i.body));
    let mut heap = simulate::Heap::new();
    let input = heap.buffer("in", &(0..512).collect::<Vec<i32>>()).expect("a buffer");
    let out = heap.alloc("out", 4, 512).expect("a buffer");
    let args = [simulate::Value::Pointer(input, 0), simulate::Value::Pointer(out, 0)];
    let launch = simulate::Launch::linear(blocks, 128);
    let budget = base::Budget::new(50_000_000);
    let schedule = simulate::Schedule::counted(7);
    let options = simulate::Options { overloads: true, decisions: true, ..simulate::Options::default() };
    let report =
        simulate::run_grid(&program, "parallelAdd", &args, &mut heap, &launch, &schedule, &options, &budget)
            .expect("it runs");
    assert!(report.is_clean(), "{:?}\n{text}", report.findings);
    let c = report.counts.expect("counted");
    Costs {
        divergent: c.branches.iter().map(|b| b.divergent).sum(),
        conflicts: c.bank_conflicts(),
        idle: c.idle_threads(),
        barriers: c.barriers_opened(),
        global: c.global_elements(),
    }
}

/// The program of a page's first example.
fn shipped(name: &str) -> String {
    let (_, text) = RuleSet::shipped_pages().iter().find(|p| p.0 == name).expect("a page");
    let first = text.split("```cuda example\n").nth(1).and_then(|t| t.split("```").next());
    first.expect("an example").to_owned()
}

fn try_stepped(set: &RuleSet, text: &str, system: &str, target: &RuleTarget) -> Result<String, Refused> {
    let text = text::Text::new(text).expect("a short text");
    let doc = Doc::open(Language::Cuda, "sum.cu", text, Options::default());
    let (memo, cancel) = (Memo::new(), CancelToken::new());
    let findings = check_doc(&crate::Ask::new(&doc, &memo, Tier::Full, &cancel), &Settings::default())
        .expect("not cancelled");
    apply_rules(
        &crate::Ask::new(&doc, &crate::Memo::new(), crate::Tier::Full, &cancel),
        &findings,
        set,
        system,
        target,
    )
    .map(|done| done.text)
}

/// What a system makes of a program.
fn stepped(set: &RuleSet, text: &str, system: &str) -> String {
    try_stepped(set, text, system, &RuleTarget::File).expect("it applies")
}

/// What F1.10 says of its steps is what the counters say of the kernels that the pages make.
#[test]
fn the_steps_of_the_tree_sum_mend_what_they_are_for() {
    let set = RuleSet::shipped();
    let step = |text: &str, system: &str| stepped(&set, text, system);
    let original = shipped("reduction-shared");
    let shared = step(&original, "reduction-shared");
    let undivided = step(&shared, "reduction-undivided");
    let halving = step(&shared, "reduction-halving");
    let first_add = step(&halving, "reduction-first-add");
    let last_warp = step(&first_add, "reduction-last-warp");
    let [a, b, c, d] = [&original, &shared, &undivided, &halving].map(|t| costs(t, 4));
    let [e, f] = [&first_add, &last_warp].map(|t| costs(t, 2));
    // each number is read, summed and written in global memory; then read once, and one written a block
    assert_eq!((a.global, b.global), (4 * (2 * 128 + 3 * 127), 4 * (128 + 1)));
    // warps that run both branches; words that wait for one bank; threads with nothing to do; barriers
    assert!(c.divergent * 3 < b.divergent && d.divergent == c.divergent, "{b:?} {c:?} {d:?}");
    assert!(c.conflicts > 0 && b.conflicts == 0 && d.conflicts == 0, "{b:?} {c:?} {d:?}");
    assert_eq!((e.idle * 2, e.barriers * 2), (d.idle, d.barriers));
    assert!(f.barriers * 3 < e.barriers && f.conflicts == 0, "{e:?} {f:?}");
}

/// What the whole sum costs, from the host's call to its result.
#[derive(Debug)]
struct Whole {
    blocks: u32,
    /// Requests to shared memory.
    shared: u64,
    /// Barriers of blocks and of warps; shuffles count as neither.
    barriers: u64,
    /// Elements moved to and from global memory in kernels.
    global: u64,
    atomics: u64,
    result: simulate::Value,
}

/// Runs `total` of a program, which launches one kernel.
fn whole(text: &str) -> Whole {
    let parsed = front::Parsed::parse(front::Language::Cuda, text);
    let unit = front::lower(&parsed, &front::Options::default(), &mut front::Memo::new());
    let program = simulate::Program::of(unit.items.iter().map(|i| &*i.body));
    let mut heap = simulate::Heap::new();
    let budget = base::Budget::new(100_000_000);
    let schedule = simulate::Schedule::counted(7);
    let (outcome, launched) =
        simulate::run_hosted(&program, "total", &[], &mut heap, &schedule, &budget).expect("it runs");
    let [one] = launched.as_slice() else { panic!("{} launches", launched.len()) };
    assert!(one.report.is_clean(), "{:?}\n{text}", one.report.findings);
    let c = one.report.counts.as_ref().expect("counted");
    let warp_barriers = c.warp_operations.iter().filter(|w| w.kind == simulate::WarpKind::Sync);
    Whole {
        blocks: one.launch.grid[0],
        shared: c.accesses.iter().filter(|a| a.space == term::Space::Shared).map(|a| a.requests).sum(),
        barriers: c.barriers_opened() + warp_barriers.map(|w| w.issued).sum::<u64>(),
        global: c.global_elements(),
        atomics: c.accesses.iter().filter(|a| a.kind == simulate::AccessKind::Atomic).map(|a| a.lanes).sum(),
        result: outcome.expect("an end").value.expect("a value"),
    }
}

/// A sum of 32768 numbers, of which each step takes something away that the counters show.
#[test]
fn the_last_steps_of_the_tree_sum_mend_what_they_are_for() {
    let set = RuleSet::shipped();
    let original = shipped("reduction-shared");
    let mut texts = vec![original.clone()];
    for system in [
        "reduction-shared",
        "reduction-halving",
        "reduction-first-add",
        "reduction-last-warp",
        "reduction-shuffle",
        "reduction-grid-stride",
        "reduction-last-block",
    ] {
        texts.push(stepped(&set, &texts[texts.len() - 1], system));
    }
    assert_eq!(&stepped(&set, &original, "reduction"), texts.last().expect("a text"));
    let atomic = stepped(&set, &texts[6], "reduction-one-atomic");
    // many numbers that differ, so that one left out or taken twice is seen
    let large = |text: &String| {
        let text =
            text.replace("#define N 512", "#define N 32768").replace("int in[N];", "int in[N], out[N];");
        let filled = "    for (int i = 0; i < N; i++)\n        in[i] = i % 1000 - 300;\n";
        whole(&text.replace("    int out[N];\n", filled))
    };
    let all: Vec<Whole> = texts.iter().map(large).collect();
    let [last_warp, shuffle, stride, last_block] = &all[4..] else { panic!("{all:#?}") };
    let atomic = large(&atomic);
    let sum: i128 = (0..32768).map(|i| i % 1000 - 300).sum();
    for w in all.iter().chain([&atomic]) {
        assert_eq!(w.result, simulate::Value::Int(sum), "{w:?}");
    }
    // registers in place of shared memory: the last warp asks it twice, and waits for nothing
    assert!(shuffle.shared < last_warp.shared && shuffle.barriers < last_warp.barriers, "{all:#?}");
    assert_eq!(shuffle.blocks, 128);
    // half the blocks with their trees, and half the sums left to the host; each number is still read once
    assert_eq!(
        (stride.blocks, stride.shared * 2, stride.barriers * 2),
        (64, shuffle.shared, shuffle.barriers)
    );
    assert_eq!((stride.global, shuffle.global), (32768 + 64, 32768 + 128));
    // one more word a block, and the sums read where they are: no loop is left on the host
    assert_eq!((last_block.blocks, last_block.atomics, atomic.atomics), (64, 64, 64));
    assert_eq!((last_block.global, atomic.global), (32768 + 64 + 64 + 64 + 1, 32768 + 64));
    assert!(!texts[7].contains("sum += out[b]") && texts[7].contains("int sum = out[0];"), "{}", texts[7]);
}

/// What is offered on the line of `parallelAdd`, by its titles.
fn offered(set: &RuleSet, text: &str) -> Vec<String> {
    let at = text.find("void parallelAdd").expect("the kernel") as u32;
    let text = text::Text::new(text).expect("a short text");
    let doc = Doc::open(Language::Cuda, "sum.cu", text, Options::default());
    let (memo, cancel) = (Memo::new(), CancelToken::new());
    let findings = check_doc(&crate::Ask::new(&doc, &memo, Tier::Full, &cancel), &Settings::default())
        .expect("not cancelled");
    let span = base::Span { start: at, end: at };
    crate::rule_offers(
        &crate::Ask::new(&doc, &crate::Memo::new(), crate::Tier::Full, &cancel),
        &findings,
        set,
        |_| false,
        span,
    )
    .into_iter()
    .map(|o| o.title)
    .collect()
}

/// The library's call is the step after the last of those that make the kernel faster, and not taken with them.
#[test]
fn the_library_is_the_last_step() {
    let set = RuleSet::shipped();
    let done = stepped(&set, &shipped("reduction"), "reduction");
    assert!(done.contains("atomicInc") && !done.contains("cub::"), "{done}");
    let offers = offered(&set, &done);
    let next =
        offers.iter().find(|o| o.starts_with("Optimize this kernel, next step: ")).expect("a next step");
    assert!(next.contains("(rules reduction-library, reassociates, assumes "), "{next}");
    let library = stepped(&set, &done, "reduction-library");
    assert!(library.contains("cub::DeviceReduce::Sum(temp, bytes, in, out, N);"), "{library}");
    assert!(library.contains("#include <cub/cub.cuh>\n"), "{library}");
    assert_eq!(offered(&set, &library), Vec::<String>::new());
    // of numbers of another type as well, and whatever the host does with the run time
    let float = done
        .replace("int in[N]", "float in[N]")
        .replace("int *inData, int *outData", "float *inData, float *outData");
    let float = float
        .replace("int data[", "float data[")
        .replace("int own", "float own")
        .replace("int part", "float part");
    let float = float
        .replace("int all", "float all")
        .replace("int out[N]", "float out[N]")
        .replace("int sum", "float sum");
    assert!(stepped(&set, &float, "reduction-library").contains("float sum = out[0];"));
}

/// Host code that calls the run time is run; where no kernel runs, that is no comparison.
#[test]
fn host_code_over_the_run_time_is_run() {
    let set = RuleSet::shipped();
    let text = shipped("vector-loads").replace(
        "        scale<<<(n + 127) / 128, 128>>>(in, out, n);\n",
        "    {\n        float *a, *b;\n        cudaMalloc(&a, n * sizeof(float));\n        cudaMalloc((void **)&b, n * sizeof(float));\n        cudaMemcpy(a, in, n * sizeof(float), cudaMemcpyHostToDevice);\n        scale<<<(n + 127) / 128, 128>>>(a, b, n);\n        cudaMemcpy(out, b, n * sizeof(float), cudaMemcpyDeviceToHost);\n        cudaFree(a);\n        cudaFree(b);\n    }\n",
    );
    let checked = |text: &str| {
        let text = text::Text::new(text).expect("a short text");
        let doc = Doc::open(Language::Cuda, "scale.cu", text, Options::default());
        let (memo, cancel) = (Memo::new(), CancelToken::new());
        let findings = check_doc(&crate::Ask::new(&doc, &memo, Tier::Full, &cancel), &Settings::default())
            .expect("not cancelled");
        apply_rules(
            &crate::Ask::new(&doc, &crate::Memo::new(), crate::Tier::Full, &cancel),
            &findings,
            &set,
            "vector-loads",
            &RuleTarget::File,
        )
        .expect("it applies")
        .checked
    };
    expect!["Same results as before on 16 random inputs of 1 function in the simulator."]
        .assert_eq(&checked(&text));
    expect!["Not run beside the original: no kernel ran on any input made up."]
        .assert_eq(&checked(&text.replace("if (n > 0)", "if (n > 1000000000)")));
}

/// Four at a time, for every number of numbers and wherever arrays begin: what lies behind them stays.
#[test]
fn vector_loads_are_right_for_every_count_and_place() {
    let set = RuleSet::shipped();
    let text = stepped(&set, &shipped("vector-loads"), "vector-loads");
    let parsed = front::Parsed::parse(front::Language::Cuda, text.as_str());
    let unit = front::lower(&parsed, &front::Options::default(), &mut front::Memo::new());
    let program = simulate::Program::of(unit.items.iter().map(|i| &*i.body));
    let run = |n: u32, from: i64, to: i64| {
        let mut heap = simulate::Heap::new();
        let values: Vec<f32> = (0..600).map(|k| k as f32).collect();
        let input = heap.buffer("in", &values).expect("a buffer");
        let out = heap.buffer("out", &vec![-1.0f32; 600]).expect("a buffer");
        let args = [
            simulate::Value::Pointer(input, 4 * from),
            simulate::Value::Pointer(out, 4 * to),
            simulate::Value::Int(i128::from(n)),
        ];
        let launch = simulate::Launch::linear(n.div_ceil(512).max(1), 128);
        let options = simulate::Options { overloads: true, decisions: true, ..simulate::Options::default() };
        let (schedule, budget) = (simulate::Schedule::counted(3), base::Budget::new(50_000_000));
        let report =
            simulate::run_grid(&program, "scale", &args, &mut heap, &launch, &schedule, &options, &budget)
                .expect("it runs");
        assert!(report.is_clean(), "{n} {from} {to}: {:?}", report.findings);
        let got: Vec<f32> = heap.read_raw(out);
        for (k, &v) in got.iter().enumerate() {
            let at = k as i64 - to;
            let wanted = if (0..i64::from(n)).contains(&at) { 2.0 * (at + from) as f32 + 1.0 } else { -1.0 };
            assert_eq!(v, wanted, "{n} numbers from {from} to {to}, number {k}");
        }
        let counts = report.counts.expect("counted");
        counts.accesses.iter().map(|a| a.requests).sum::<u64>()
    };
    for n in (0..=9).chain([31, 32, 33, 127, 128, 129, 511, 512, 513, 590]) {
        for (from, to) in [(0, 0), (1, 0), (0, 2), (4, 8), (3, 3)] {
            run(n, from, to);
        }
    }
    // one request each to load and to store what four did
    assert_eq!((run(512, 0, 0), run(512, 4, 8), run(512, 1, 1)), (8, 8, 32));
}

/// Of several kernels that one function launches those are launched otherwise that are rewritten.
#[test]
fn launches_of_other_kernels_stay() {
    let set = RuleSet::shipped();
    let text = shipped("vector-loads");
    let other = "\n__global__ void columns(const float *in, float *out, int n) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n)\n        out[i] = in[0];\n}\n\nvoid run(";
    let text = text.replace("\nvoid run(", other).replace(
        "        scale<<<(n + 127) / 128, 128>>>(in, out, n);\n",
        "    {\n        columns<<<(n + 127) / 128, 128>>>(in, out, n);\n        scale<<<(n + 127) / 128, 128>>>(in, out, n);\n    }\n",
    );
    let done = stepped(&set, &text, "vector-loads");
    assert!(done.contains("columns<<<(n + 127) / 128, 128>>>(in, out, n);"), "{done}");
    assert!(done.contains("scale<<<(n + 511) / 512, 128>>>(in, out, n);"), "{done}");
    assert!(done.contains("out[i] = in[0];"), "{done}");
}

/// A declaration that says otherwise than the function would make two functions of them.
#[test]
fn a_function_declared_twice_keeps_its_parameters() {
    let set = RuleSet::shipped();
    let text = shipped("const-restrict");
    let declared = format!("__global__ void saxpy(float a, float *x, float *__restrict__ y, int n);\n{text}");
    assert!(stepped(&set, &text, "const-restrict").contains("const float *__restrict__ x"));
    let refused = try_stepped(&set, &declared, "const-restrict", &RuleTarget::File);
    let Err(Refused::Because(why)) = refused else { panic!("{refused:?}") };
    assert!(why.contains("declared a second time") || why.contains("`saxpy` is overloaded"), "{why}");
}

/// A kernel is rewritten with those who launch it, and what they share stays as it is where nobody is seen to.
#[test]
fn kernels_and_their_launches_change_together() {
    let set = RuleSet::shipped();
    let text = shipped("reduction-grid-stride");
    let kernel = RuleTarget::Kernel("parallelAdd".into());
    let both = try_stepped(&set, &text, "reduction-grid-stride", &kernel).expect("it applies");
    assert_eq!(both, stepped(&set, &text, "reduction-grid-stride"));
    let alone = RuleTarget::Function("parallelAdd".into());
    let refused = try_stepped(&set, &text, "reduction-grid-stride", &alone);
    expect![[r#"
        Err(
            Because(
                "reduction-grid-stride: Rule host of `reduction-grid-stride-both` applies nowhere, and its rules apply together or not at all.",
            ),
        )
    "#]]
    .assert_debug_eq(&refused);
    // without those who launch it and read its result
    let start = shipped("reduction");
    let alone = &start[..start.find("int total").expect("a host")];
    let refused = try_stepped(&set, alone, "reduction", &RuleTarget::File);
    let Err(Refused::Because(why)) = refused else { panic!("{refused:?}") };
    assert!(why.contains("no launch in the file says how many threads"), "{why}");
}

/// A result that is more than the text of the document is not given in part.
#[test]
fn results_with_other_files_are_refused() {
    check(
        "c`$x = 1;` -> c`$x = 2;` [EmitFile(notes, two)]",
        "```c example\nvoid f(int *p) { *p = 1; }\n```\n```c result\nvoid f(int *p) { *p = 2; }\n```\n```c refused\nvoid f(int *p) { *p = 3; }\n```\n",
        expect![[r#"
            6:1 Error It is not proved that rule 1 is exact: what its actions do is not followed. Ask for more in its condition, or write `Trust: assumes …` with what makes it right.
            10:1 Error Rule t, example 1: There is no result, because in `f` the rules make the file `notes`, and only files of CUDA (`NAME.cu`) are written.
        "#]],
    );
}

/// The words for a page of one rule, applied to a program.
fn applied(rule: &str, program: &str) -> String {
    let mut set = RuleSet::shipped();
    let page = format!("# T\n\nTrust: exact\n\n```rules t BottomUp\n{rule}\n```\n\n```c example\nint x;\n```\n```c result\nint x;\n```\n");
    let found = set.add("t", &page);
    assert!(set.find("t").is_some(), "{found:#?}");
    let cancel = CancelToken::new();
    let text = text::Text::new(program).expect("short");
    let doc = Doc::open(Language::C, "p.c", text, Options::default());
    let findings = check_doc(&crate::Ask::new(&doc, &Memo::new(), Tier::Full, &cancel), &Settings::default())
        .expect("not cancelled");
    match apply_rules(
        &crate::Ask::new(&doc, &crate::Memo::new(), crate::Tier::Full, &cancel),
        &findings,
        &set,
        "t",
        &RuleTarget::File,
    ) {
        Ok(done) => done.checked,
        Err(why) => format!("{why:?}"),
    }
}

/// Where a function cannot be run, the changed expressions are, with the macros and functions of the document.
#[test]
fn changed_expressions_run_by_themselves() {
    let program = "#define TWICE(x) ((x) * 2)\nstatic int half(int x) { return x / 2; }\nint f(int (*get)(void), int *a, short i) {\n    a[0] = get();\n    return TWICE(a[i]) + half(i) * 2;\n}\n";
    expect!["Not run beside the original: no input can be made up for the parameter `get`. Each changed expression by itself gives the same on random values."].assert_eq(&applied("c`$x * 2` -> c`2 * $x`", program));
    expect![[r#"Because("The page `t` says `Trust: exact`, and rule 1 of `t` is not: for $x = 1 (int) the result is 3 instead of 2. So it is not applied. `warpwright rules check` says what to do.")"#]].assert_eq(&applied("c`$x * 2` -> c`$x * 3`", program));
    // an expression that writes is no piece
    expect!["Not run beside the original: no input can be made up for the parameter `get`."].assert_eq(
        &applied(
            "c`$x = $y` [type($x, int), type($y, int), head($y, MethodCall)] -> c`$x = 1 * $y`",
            program,
        ),
    );
}
