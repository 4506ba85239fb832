//! What analysis takes, in counted steps, for programs that grow in one direction: never more than its limits, and no
//! worse than a bound where the limits are far. Each loop ends in a verdict, or says what was being done at a limit.

use analysis::{
    analyze, kernel_within, KernelLaunch, ObstacleKind, Program, Verdict, Work, COMMAND, SAVE, TYPING,
};
use base::{Budget, Effort};

fn unit(language: front::Language, text: &str) -> front::Unit {
    let parsed = front::Parsed::parse(language, text.to_owned());
    front::lower(&parsed, &front::Options::default(), &mut front::Memo::new())
}

/// Steps of all functions of a file, and what its loops are stopped by.
fn steps(text: &str, effort: Effort) -> (u64, Vec<Work>) {
    let unit = unit(front::Language::C, text);
    let program = Program::of(unit.items.iter().map(|i| &i.body));
    let (mut steps, mut stopped) = (0, Vec::new());
    for item in &unit.items {
        let facts = analyze(&item.body, &program, effort, &Budget::new(u64::MAX));
        assert_eq!(facts.loops.len(), item.body.loops(item.body.root).count());
        steps += facts.steps;
        assert!(facts.steps <= effort.function, "{} steps of {}", facts.steps, effort.function);
        for l in facts.loops.iter() {
            let of_budget = |o: &analysis::Obstacle| match o.kind {
                ObstacleKind::Budget(doing) => Some(doing),
                _ => None,
            };
            let doing = l.obstacles.iter().find_map(of_budget);
            if l.verdict == Verdict::Unknown {
                assert!(!l.obstacles.is_empty() || !l.dependences.is_empty(), "unknown for no reason");
            }
            // a loop with a limit is unknown, but for one that was shown to be sequential before
            assert!(doing.is_none() || l.verdict == Verdict::Unknown);
            stopped.extend(doing);
        }
        assert_eq!(facts.out_of_budget, !stopped.is_empty());
    }
    (steps, stopped)
}

/// Steps at n, 2n and 4n: none meets a limit, and each takes at most so many times the one before.
fn grows(of: impl Fn(usize) -> String, n: usize, at_most: f64) {
    let all = [n, 2 * n, 4 * n].map(|n| steps(&of(n), SAVE));
    for (steps, stopped) in &all {
        assert!(stopped.is_empty(), "{steps} steps, {stopped:?}");
    }
    for pair in all.windows(2) {
        let times = pair[1].0 as f64 / pair[0].0.max(1) as f64;
        assert!(times <= at_most, "{} steps, then {}", pair[0].0, pair[1].0);
    }
}

fn nested(n: usize, first: impl Fn(usize) -> String) -> String {
    let heads: String =
        (0..n).map(|k| format!("for (int i{k} = {}; i{k} < n; i{k}++)\n", first(k))).collect();
    let sum: Vec<String> = (0..n).map(|k| format!("i{k}")).collect();
    format!("void f(int n, double *a)\n{{\n{heads}a[{}] += 1;\n}}\n", sum.join(" + "))
}

fn square(n: usize) -> String {
    nested(n, |_| "0".to_owned())
}

fn triangular(n: usize) -> String {
    nested(n, |k| if k == 0 { "0".to_owned() } else { format!("i{}", k - 1) })
}

const MACROS: &str = "#define MIN(a, b) ((a) < (b) ? (a) : (b))\n#define MAX(a, b) ((a) > (b) ? (a) : (b))\n";

/// A matrix product in tiles, n times.
fn tiles(n: usize) -> String {
    let nest = "for (int it = 0; it < n; it += 32)\nfor (int jt = 0; jt < n; jt += 32)\nfor (int kt = 0; kt < n; kt += 32)\n\
                for (int i = it; i < MIN(n, it + 32); i++)\nfor (int j = jt; j < MIN(n, jt + 32); j++)\n\
                for (int k = kt; k < MIN(n, kt + 32); k++)\nC[i][j] += A[i][k] * B[k][j];\n";
    format!(
        "{MACROS}void f(int n, double A[][1024], double B[][1024], double C[][1024])\n{{\n{}}}\n",
        nest.repeat(n)
    )
}

/// The same as a generator writes it that also unrolls, with indices declared at the top and the rests of both unrolled loops.
fn unrolled(n: usize) -> String {
    let mut nests = String::new();
    for (c, a, b) in [("C", "A", "B"), ("D", "C", "A"), ("E", "C", "D")].iter().cycle().take(n) {
        let k = "for (k = MAX(0, 32 * kt); k <= MIN(n - 1, 32 * kt + 31); k++)";
        let at =
            |x: usize, y: usize| format!("{c}[i + {x}][j + {y}] += {a}[i + {x}][k] * {b}[k][j + {y}];\n");
        let all: String = (0..16).map(|x| at(x / 4, x % 4)).collect();
        let column: String = (0..4).map(|x| at(x, 0)).collect();
        nests += &format!(
            "for (it = 0; it <= (n - 1) / 32; it++)\nfor (jt = 0; jt <= (n - 1) / 32; jt++)\nfor (kt = 0; kt <= (n - 1) / 32; kt++) {{\n\
             for (i = 32 * it; i <= MIN(n - 1, 32 * it + 31) - 3; i = i + 4) {{\n\
             for (j = 32 * jt; j <= MIN(n - 1, 32 * jt + 31) - 3; j = j + 4) {{\n{k} {{\n{all}}}\n}}\n\
             for (; j <= MIN(n - 1, 32 * jt + 31); j++) {{\n{k} {{\n{column}}}\n}}\n}}\n\
             for (; i <= MIN(n - 1, 32 * it + 31); i++)\nfor (j = 32 * jt; j <= MIN(n - 1, 32 * jt + 31); j++)\n{k}\n{}}}\n",
            at(0, 0)
        );
    }
    let arrays = ["A", "B", "C", "D", "E"].map(|x| format!("double {x}[][1024]")).join(", ");
    format!("{MACROS}void f(int n, {arrays})\n{{\nint it, jt, kt, i, j, k;\n{nests}}}\n")
}

/// A stencil over time, skewed and tiled, n times.
fn stencil(n: usize) -> String {
    let nest = "for (t1 = 0; t1 <= FLOOR(T - 1, 32); t1++)\n\
        for (t2 = 2 * t1; t2 <= MIN(FLOOR(2 * T + n - 3, 32), FLOOR(64 * t1 + n + 61, 32)); t2++)\n\
        for (t3 = MAX(2 * t1, t2 - 4); t3 <= MIN(FLOOR(2 * T + n - 3, 32), FLOOR(32 * t2 + n + 27, 32)); t3++)\n\
        for (t4 = MAX(32 * t1, MAX(16 * t2 - n / 2, 16 * t3 - n / 2)); t4 <= MIN(MIN(T - 1, 32 * t1 + 31), MIN(16 * t2 + 14, 16 * t3 + 14)); t4++)\n\
        for (t5 = MAX(32 * t2, 2 * t4 + 2); t5 <= MIN(32 * t2 + 31, 2 * t4 + n - 2); t5++)\n\
        for (t6 = MAX(32 * t3, 2 * t4 + 2); t6 <= MIN(32 * t3 + 31, 2 * t4 + n - 2); t6++) {\n\
        b[t5 - 2 * t4][t6 - 2 * t4] = 0.2 * (a[t5 - 2 * t4][t6 - 2 * t4] + a[t5 - 2 * t4][t6 - 2 * t4 - 1] + a[t5 - 2 * t4 + 1][t6 - 2 * t4]);\n\
        a[t5 - 2 * t4 - 1][t6 - 2 * t4 - 1] = b[t5 - 2 * t4 - 1][t6 - 2 * t4 - 1];\n}\n";
    format!(
        "{MACROS}#define FLOOR(n, d) (((n) < 0) ? -((-(n) + (d) - 1) / (d)) : (n) / (d))\n\
         void f(int T, int n, double a[][4000], double b[][4000])\n{{\nint t1, t2, t3, t4, t5, t6;\n{}}}\n",
        nest.repeat(n)
    )
}

fn loops(n: usize) -> String {
    let all: String =
        (0..n).map(|k| format!("for (int i = 0; i < n; i++)\na[i] = a[i] * {k} + b[i + {k}];\n")).collect();
    format!("void f(int n, double *restrict a, const double *restrict b)\n{{\n{all}}}\n")
}

#[test]
fn loops_side_by_side_take_as_many_steps_each() {
    grows(loops, 50, 2.1);
}

#[test]
fn tiled_products_take_as_many_steps_each() {
    grows(tiles, 2, 2.2);
}

#[test]
fn functions_take_as_many_steps_each() {
    let text = |n: usize| -> String {
        (0..n).map(|k| loops(2).replace("void f(", &format!("void f{k}("))).collect()
    };
    grows(text, 20, 2.01);
}

#[test]
fn statements_of_one_loop_are_compared_pair_by_pair_only_within_an_array() {
    let text = |n: usize| {
        let all: String = (0..n).map(|k| format!("double t{k} = b[i] * {k};\na[i] += t{k};\n")).collect();
        format!("void f(int n, double *restrict a, const double *restrict b)\n{{\nfor (int i = 0; i < n; i++) {{\n{all}}}\n}}\n")
    };
    grows(text, 50, 2.5);
}

/// Each loop of a nest is asked about with all inside it: the square of its depth at least.
#[test]
fn deep_nests_grow_as_a_power() {
    grows(square, 6, 10.0);
}

/// What is too much for the limits ends at them, and says at what.
#[test]
fn what_is_too_much_is_unknown_and_says_what_was_being_done() {
    let cases: [(&str, String); 7] = [
        ("16 nested", square(16)),
        ("24 nested", square(24)),
        ("48 nested, triangular", triangular(48)),
        ("60 tile loops", tiles(20)),
        ("a generator's products", unrolled(6)),
        ("a tiled stencil", stencil(4)),
        ("loops in one function", loops(400)),
    ];
    for (name, text) in cases {
        for effort in [Effort { each_loop: 500, function: 3_000, file: 3_000 }, TYPING] {
            let (steps, stopped) = steps(&text, effort);
            assert!(steps <= effort.function, "{name}: {steps}");
            let small = effort.each_loop == 500;
            assert!(!small || !stopped.is_empty(), "{name}: {steps} steps, and no limit is met");
        }
    }
}

/// A loop that is cut short by those before it says so, and a larger effort finds it.
#[test]
fn what_others_left_over_is_told_apart() {
    let text = loops(40);
    let few = Effort { function: 400, ..SAVE };
    let (steps_taken, stopped) = steps(&text, few);
    assert!(steps_taken <= 400 && stopped.len() > 10, "{stopped:?}");
    assert!(stopped.iter().all(|w| *w == Work::Others), "{stopped:?}");
    assert!(COMMAND.covers(&SAVE) && SAVE.covers(&TYPING));
    assert_eq!(steps(&text, SAVE).1, []);
}

#[test]
fn the_same_input_takes_the_same_steps() {
    for text in [triangular(10), tiles(3), stencil(1)] {
        assert_eq!(steps(&text, TYPING), steps(&text, TYPING));
    }
}

/// A program that takes over what an earlier one knew says the same of every function as one that was read anew, whatever
/// was edited: a body, what it calls, who looks at `errno`, or that there are two of a name.
#[test]
fn a_program_after_an_edit_is_the_program() {
    let file = |leaf: &str, last: &str| {
        format!(
            "#include <errno.h>\n#include <math.h>\nint leaf(int x) {{ {leaf} }}\nint even(int n);\n\
             int odd(int n) {{ return n == 0 ? 0 : even(n - 1); }}\nint even(int n) {{ return n == 0 ? 1 : odd(n - 1); }}\n\
             void mid(int n, double *a) {{ for (int i = 0; i < n; i++) a[i] = sqrt(a[i]) + leaf(i) + even(i); }}\n\
             int top(int n, double *a) {{ errno = 0; mid(n, a); return errno; }}\n{last}"
        )
    };
    let texts = [
        file("return x;", ""),
        file("return x + 1;", ""),
        file("return errno + x;", ""),
        file("return x;", "int twice(int n) { return errno; }\nint user(int n) { return twice(n); }\n"),
        file("return twice(x);", "int twice(int n) { return errno; }\nint twice(int n) { return 1; }\n"),
        file("return x;", "int twice(int n) { return n; }\nint user(int n) { return twice(n); }\n"),
    ];
    for from in &texts {
        for to in &texts {
            let mut memo = front::Memo::new();
            let mut read = |text: &String| {
                let parsed = front::Parsed::parse(front::Language::C, text.clone());
                front::lower(&parsed, &front::Options::default(), &mut memo)
            };
            let (old, new) = (read(from), read(to));
            let before = Program::of(old.items.iter().map(|i| &i.body));
            let after = Program::after(&before, new.items.iter().map(|i| &i.body));
            let anew = Program::of(new.items.iter().map(|i| &i.body));
            assert_eq!(format!("{:?}", after.functions()), format!("{:?}", anew.functions()));
            for item in &new.items {
                assert_eq!(after.key_for(&item.body), anew.key_for(&item.body), "{} of {to}", item.name);
            }
        }
    }
}

/// A long kernel: n rounds of staging and a tree.
fn kernel(n: usize) -> String {
    let round = "s[threadIdx.x] = i < n ? b[i] : 0.0f;\nt[y][x] = s[255 - threadIdx.x];\n__syncthreads();\n\
                 for (int w = 128; w > 0; w /= 2) {\nif (threadIdx.x < w)\ns[threadIdx.x] += s[threadIdx.x + w] * t[x][y];\n__syncthreads();\n}\n\
                 if (threadIdx.x == 0)\na[blockIdx.x] = s[0];\n__syncthreads();\n";
    format!(
        "__global__ void k(int n, float *a, const float *b)\n{{\n__shared__ float s[256];\n__shared__ float t[16][17];\n\
         int i = blockIdx.x * blockDim.x + threadIdx.x;\nint x = threadIdx.x % 16, y = threadIdx.x / 16;\n{}}}\n",
        round.repeat(n)
    )
}

#[test]
fn kernels_end_at_their_limits() {
    let known = KernelLaunch { grid: Some([64, 1, 1]), block: Some([256, 1, 1]), ..KernelLaunch::default() };
    for (n, launch) in [(2, KernelLaunch::default()), (2, known.clone()), (6, known)] {
        let unit = unit(front::Language::Cuda, &kernel(n));
        let program = Program::of(unit.items.iter().map(|i| &i.body));
        let facts = |steps: u64| kernel_within(&unit.items[0].body, &program, &launch, &Budget::new(steps));
        let few = facts(1_000);
        assert!(few.out_of_budget && few.steps <= 1_000, "{} steps", few.steps);
        let unknown =
            analysis::RaceVerdict::Unknown(analysis::RaceObstacle::Kernel(analysis::KernelObstacle::Budget));
        assert_eq!(few.races, unknown);
        let full = facts(SAVE.function);
        assert!(!full.out_of_budget, "{n} rounds: {} steps", full.steps);
        assert_ne!(full.races, unknown);
    }
}

/// A kernel's description ends at its limit, and says that it did.
#[test]
fn descriptions_of_kernels_end_at_their_limits() {
    for text in [triangular(20), tiles(1)] {
        let unit = unit(front::Language::C, &text);
        let (body, program) = (&unit.items[0].body, Program::default());
        let facts = analyze(body, &program, SAVE, &Budget::new(u64::MAX));
        let mut told = 0;
        for (id, l) in facts.loops.iter_ids() {
            let budget = Budget::new(300);
            let found = analysis::offload(body, &program, &facts, id, None, &budget);
            assert!(budget.taken() <= 300);
            let parallel = matches!(l.verdict, Verdict::Independent | Verdict::Reduction);
            let stopped = |o: &analysis::Obstacle| o.kind == ObstacleKind::Budget(Work::Extents);
            told += usize::from(parallel && found.is_err_and(|why| why.iter().any(stopped)));
        }
        assert!(told > 0, "{text}");
    }
}

/// What is worked out once for a function is paid for by the function: where there are no steps for it, its loops are unknown, and
/// that is said.
#[test]
fn reading_a_function_takes_its_steps() {
    let calls = |n: usize| {
        let all: String =
            (0..n).map(|k| format!("for (int i = 0; i < n; i++)\na[i] = twice(a[i]) + {k};\n")).collect();
        format!("static int twice(int x) {{ return x + x; }}\nvoid f(int n, int *a)\n{{\n{all}}}\n")
    };
    for text in [loops(40), calls(40)] {
        let few = Effort { function: 30, ..SAVE };
        let (taken, stopped) = steps(&text, few);
        assert!(taken <= 2 * 30 && stopped.len() == 40, "{taken} {stopped:?}");
        assert!(stopped.iter().all(|w| *w == Work::Effects), "{stopped:?}");
        // the file has nothing left
        let (taken, stopped) = steps(&text, Effort { function: 0, ..SAVE });
        assert!(taken == 0 && stopped.iter().all(|w| *w == Work::Others), "{taken} {stopped:?}");
    }
    grows(calls, 20, 2.1);
}

/// A loop of n statements on n variables that are declared before it and read behind it.
fn variables(n: usize, header: &str, statement: impl Fn(usize) -> String) -> String {
    let list = |of: &dyn Fn(usize) -> String| -> String { (0..n).map(of).collect() };
    format!(
        "void f(int n, int *restrict a, const int *restrict b)\n{{\n{}{header} {{\n{}}}\n{}}}\n",
        list(&|k| format!("int v{k} = 0;\n")),
        list(&statement),
        list(&|k| format!("a[{k}] = v{k};\n"))
    )
}

/// Variables of a loop are classified in walks over the loop, not in one for each: sums, extremes, counters, what is kept, what an inner
/// loop moves, what grows, what the iteration before left.
#[test]
fn variables_of_a_loop_take_as_many_steps_each() {
    let one = "for (int i = 0; i < n; i++)";
    let two = "for (int i = 0; i < n; i++)\nfor (int j = 0; j < n; j++)";
    grows(|n| variables(n, one, |k| format!("v{k} += b[i] * {k};\n")), 40, 2.2);
    grows(|n| variables(n, one, |k| format!("if (b[i] < v{k}) v{k} = b[i];\n")), 40, 2.2);
    grows(|n| variables(n, one, |k| format!("if (b[i] > {k}) v{k}++;\n")), 40, 2.2);
    grows(|n| variables(n, one, |k| format!("if (b[i] > {k}) v{k} = b[i];\n")), 40, 2.2);
    grows(|n| variables(n, one, |k| format!("v{k} = i * {k};\n")), 40, 2.2);
    grows(|n| variables(n, two, |k| format!("v{k}++;\n")), 40, 2.2);
    grows(|n| variables(n, one, |k| format!("v{k} += i;\n")), 40, 2.2);
    grows(|n| variables(n, one, |_| "v0 += 1;\n".to_owned()), 40, 2.2);
}

/// Where control parts, what was written before is copied: that takes steps, so n conditions behind n writes are more than n steps each.
#[test]
fn the_flow_of_values_takes_steps() {
    let text = |n: usize, m: usize| {
        let conditions: String = (0..m).map(|k| format!("if (b[i] > {k}) a[i] = {k};\n")).collect();
        let writes = variables(n, "for (int i = 0; i < n; i++)", |k| format!("v{k} = i * {k};\n"));
        writes.replacen("\n}\na[0]", &format!("\n{conditions}}}\na[0]"), 1)
    };
    let of = |n: usize, m: usize| steps(&text(n, m), SAVE);
    let [alone, without, both] = [of(160, 0), of(1, 160), of(160, 160)];
    assert!([&alone, &without, &both].iter().all(|(_, stopped)| stopped.is_empty()));
    let more = both.0.saturating_sub(alone.0 + without.0);
    assert!(more >= 160 * 160 / 16, "{} and {}, {} together", alone.0, without.0, both.0);
}

/// Loops that do not count are walked over as well, and pay for it.
#[test]
fn loops_that_do_not_count_take_steps() {
    let text = |n: usize| {
        let all: String = (0..n)
            .map(|k| format!("for (i = 0; b[i]; i = b[i])\na[i] = {k};\nwhile (b[i] > {k})\ni = b[i];\n"))
            .collect();
        format!("void f(int *restrict a, const int *restrict b)\n{{\nint i = 0;\n{all}}}\n")
    };
    grows(text, 40, 2.1);
    let whole = steps(&text(40), SAVE).0;
    let (taken, stopped) = steps(&text(40), Effort { function: whole - 40, ..SAVE });
    assert!(taken <= whole - 40 && !stopped.is_empty(), "{taken} of {whole}, {stopped:?}");
}

/// What a function writes is listed once, however often it is called.
#[test]
fn calls_take_as_many_steps_each() {
    let text = |n: usize| {
        let globals: String = (0..n).map(|k| format!("int g{k};\n")).collect();
        let all: String = (0..n).map(|k| format!("g{k} = {k};\n")).collect();
        let calls = "set();\n".repeat(n);
        format!("{globals}void set(void)\n{{\n{all}}}\nvoid f(int n, int *a)\n{{\n{calls}for (int i = 0; i < n; i++)\na[i] = n;\n}}\n")
    };
    grows(text, 40, 2.2);
}

/// The variables of a kernel, each made of the one before it: as many rounds as there are variables, at the worst.
#[test]
fn uniformity_takes_steps() {
    let chain = |n: usize| {
        let all: String = (1..n).rev().map(|k| format!("v{k} = v{};\n", k - 1)).collect();
        let declared: String = (0..n).map(|k| format!("int v{k} = 0;\n")).collect();
        format!("__global__ void k(int n, int *a)\n{{\n{declared}for (int i = 0; i < n; i++) {{\n{all}v0 = threadIdx.x;\n}}\nif (v{} > 3)\na[threadIdx.x] = 1;\n}}\n", n - 1)
    };
    let facts = |n: usize, steps: u64| {
        let unit = unit(front::Language::Cuda, &chain(n));
        let program = Program::of(unit.items.iter().map(|i| &i.body));
        kernel_within(&unit.items[0].body, &program, &KernelLaunch::default(), &Budget::new(steps))
    };
    let (some, twice) = (facts(20, SAVE.function), facts(40, SAVE.function));
    assert!(!some.out_of_budget && !twice.out_of_budget);
    assert!(some.steps > 20 && twice.steps <= 5 * some.steps, "{} then {}", some.steps, twice.steps);
    let few = facts(40, 100);
    assert!(few.out_of_budget && few.steps <= 100, "{}", few.steps);
}
