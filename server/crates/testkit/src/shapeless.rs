//! What is said of kernels for every launch, held against runs with several: kernels nobody wrote, of the kinds that are proved
//! without a launch (indices linear in threads, blocks and their extents, strides, rows, loops of unknown length with barriers).
//!
//! Nothing is masked here: half of what is written races for some launch or other, and arrays are large enough for all tried.

use std::sync::Arc;

use analysis::{KernelLaunch, Program, RaceVerdict, Shapes};
use base::Budget;
use front::{Language, Memo, Options, Parsed};
use simulate::{Finding, Heap, Launch, Schedule, Value};

use crate::rng::Rng;

/// Elements of `a` and `b`.
const ELEMENTS: usize = 1 << 14;

/// Functions that touch memory through what they are given, of which some seeds make use.
const FUNCTIONS: &str = "\
__device__ void put(int *p, int i, int v) { p[i] = v; }
__device__ int get(const int *p, int i) { return p[i]; }
__device__ int early(int *p, int i, int n) { if (i >= n) return 0; p[i] = i; return p[i]; }
__device__ int swap(int *p, int i, int j) { int v = p[i]; p[i] = p[j]; p[j] = v; return v; }
__device__ void more(int *p, int i, int v) { if (v > 3) p[i] += v; else put(p, i, 0); }
__device__ void phase(int *p, int i, int v) { p[i] = v; __syncthreads(); }
__device__ int sum(const int *p, int from, int to) { int v = 0; while (from < to) v += p[from++]; return v; }
__device__ int *row(int *p, int i, int n) { return p + i * n; }
__device__ void wait(int n) { if (n > 2) return; __syncthreads(); }
";

/// What was said how often.
#[derive(Default, Clone, Copy, Debug)]
pub struct Tally {
    pub free: usize,
    /// With one shape of blocks.
    pub block: usize,
    pub unknown: usize,
    pub racing: usize,
    /// Kernels called unknown that no run showed a race of.
    pub quiet: usize,
    pub runs: usize,
}

struct Generator<'r> {
    rng: &'r mut Rng,
    out: String,
    indent: usize,
    depth: u32,
    /// Open statements that not all threads of a block are in.
    divided: u32,
    names: u32,
    two: bool,
    /// Whether functions are called.
    calls: bool,
    /// Loop variables in force: whether it is the same for all threads of a block.
    loops: Vec<(String, bool)>,
}

/// The kernel of a number: `k(int *a, int *b, int n, int m)`.
pub fn text(seed: u64) -> String {
    if seed % 5 == 4 {
        return crate::digits::text(seed);
    }
    let mut rng = Rng::new(seed);
    let two = rng.below(4) == 0;
    let template = rng.below(5) == 0;
    let mut g = Generator {
        rng: &mut rng,
        out: String::new(),
        indent: 1,
        depth: 0,
        divided: 0,
        names: 0,
        two,
        calls: seed.is_multiple_of(3),
        loops: Vec::new(),
    };
    g.line("int t = threadIdx.x, B = blockDim.x, x = 1;");
    g.line("int g = blockIdx.x * blockDim.x + threadIdx.x;");
    if two {
        g.line("int u = threadIdx.y;");
        g.line("int y = blockIdx.y * blockDim.y + threadIdx.y;");
    }
    // nobody reads what nobody wrote
    let (from, by) = if two { ("t + B * u", "B * blockDim.y") } else { ("t", "B") };
    g.line(&format!("for (int i = {from}; i < 1024; i += {by}) s[i] = i;"));
    g.line("__syncthreads();");
    for _ in 0..2 + g.rng.below(4) {
        g.statement();
    }
    if g.rng.below(3) == 0 {
        g.line("if (g >= n) return;");
        let f = g.global();
        g.line(&format!("a[{f}] = x;"));
    }
    let out = g.out;
    let before = if seed.is_multiple_of(3) { FUNCTIONS } else { "" };
    match template {
        true => format!(
            "{before}template <int S>\n__global__ void k(int *a, int *b, int n, int m) {{\n    __shared__ int s[S];\n{out}}}\nvoid run(int *a, int *b, int n, int m, int blocks, int threads) {{\n    k<1024><<<blocks, threads>>>(a, b, n, m);\n}}\n"
        ),
        false => format!(
            "{before}__global__ void k(int *a, int *b, int n, int m) {{\n    __shared__ int s[1024];\n{out}}}\n"
        ),
    }
}

impl Generator<'_> {
    fn line(&mut self, text: &str) {
        self.out.push_str(&"    ".repeat(self.indent));
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.rng.below(list.len())]
    }

    fn variable(&mut self) -> Option<String> {
        match self.loops.len() {
            0 => None,
            n if self.rng.below(2) == 0 => Some(self.loops[self.rng.below(n)].0.clone()),
            _ => None,
        }
    }

    /// A subscript of global memory.
    fn global(&mut self) -> String {
        if let Some(i) = self.variable() {
            return match self.rng.below(6) {
                0 => format!("{i} * n + g"),
                1 => format!("g * m + {i}"),
                2 => format!("{i} * gridDim.x * B + g"),
                3 => format!("{i} + 1"),
                _ => i,
            };
        }
        if self.two && self.rng.below(2) == 0 {
            return self
                .pick(&[
                    "y * n + g",
                    "y * (gridDim.x * B) + g",
                    "g * (gridDim.y * blockDim.y) + y",
                    "y * n + g + 1",
                    "(y * m + u) * n + t",
                    "y + g",
                ])
                .to_owned();
        }
        self.pick(&[
            "g",
            "g",
            "g",
            "g + 1",
            "2 * g",
            "2 * g + 1",
            "g + n",
            "g + gridDim.x * B",
            "blockIdx.x * m + t",
            "t * gridDim.x + blockIdx.x",
            "g / 2",
            "t",
            "(int)blockIdx.x",
            "g % 8",
            "blockIdx.x * B + B - 1 - t",
            "blockIdx.x * 2 * B + t",
            "blockIdx.x * 2 * B + t + B",
            "(g << 1)",
            "(unsigned)g",
            "t / 32 + blockIdx.x * 32",
            // rows of blocks, and rows of lengths that are given
            "(blockIdx.y * gridDim.x + blockIdx.x) * B + t",
            "(blockIdx.x + blockIdx.y * gridDim.x) * B + t + n",
            "((int)(blockIdx.y * gridDim.x + blockIdx.x) * (int)B + t) * m",
            "g * m",
            "g / m * m + g % m",
            "g % m * 8 + g / m",
            "g % m + m * (g / m % 5) + m * 5 * (g / m / 5)",
            "g / m",
            "g % m",
            "(int)blockIdx.x * n + t",
            "t * m + (int)blockIdx.x % m",
        ])
        .to_owned()
    }

    fn shared(&mut self) -> String {
        if let Some(i) = self.variable() {
            return match self.rng.below(5) {
                0 => format!("({i} + t) & 255"),
                1 => format!("t + ({i} & 1) * B"),
                2 => format!("{i} & 511"),
                3 => format!("t + {i} & 511"),
                _ => format!("{i} % 64 + t"),
            };
        }
        let own = if self.two { &["u * B + t", "u * 32 + t", "t * blockDim.y + u"][..] } else { &["t"][..] };
        if self.rng.below(2) == 0 {
            return self.pick(own).to_owned();
        }
        self.pick(&[
            "t",
            "t + 1",
            "B - 1 - t",
            "t + B",
            "2 * t",
            "2 * t + 1",
            "0",
            "t / 2",
            "t ^ 1",
            "t * 3",
            "t % 32",
            "B + 1",
        ])
        .to_owned()
    }

    fn condition(&mut self) -> String {
        if let (Some(i), 0) = (self.variable(), self.rng.below(2)) {
            return format!("{i} == {}", self.pick(&["t", "0", "m", "g"]));
        }
        if self.two && self.rng.below(2) == 0 {
            return "g < n && y < m".to_owned();
        }
        self.pick(&[
            "g < n",
            "g < n",
            "t < n",
            "t < B - 1",
            "t == 0",
            "g == 0",
            "t > 0 && g < n - 1",
            "t % 2 == 0",
            "g > 3 || t < 2",
            "!(g >= n)",
            "t != 0",
            "a[g] > 3",
            "(unsigned)g < (unsigned)n",
            "t < 32",
        ])
        .to_owned()
    }

    fn inside(&mut self, divided: bool) {
        self.indent += 1;
        self.depth += 1;
        self.divided += divided as u32;
        for _ in 0..1 + self.rng.below(3) {
            self.statement();
        }
        self.divided -= divided as u32;
        self.depth -= 1;
        self.indent -= 1;
    }

    fn barrier(&mut self) {
        if self.divided == 0 {
            self.line("__syncthreads();");
        }
    }

    /// A call of one of [`FUNCTIONS`].
    fn call(&mut self) {
        let (f, g, s, r) = (self.global(), self.global(), self.shared(), self.shared());
        let array = self.pick(&["a", "b"]);
        let line = match self.rng.below(15) {
            0 => format!("put(s, {s}, x);"),
            1 => format!("put(a, {f}, x + {r});"),
            2 => format!("x += get(s, {s});"),
            3 => format!("x = get({array}, {f}) + s[{s}];"),
            4 => format!("if (early(a, {f}, n) > 2) x++;"),
            5 => format!("x += early(s, {s}, B);"),
            6 => format!("swap(a, {f}, {g});"),
            7 => format!("x = swap(s, {s}, {r}) + get(s, {r});"),
            8 => format!("more(a, {f}, get({array}, {g}));"),
            9 => format!("put(s, {s}, get(s, {r}));"),
            10 if self.divided == 0 => format!("phase(s, {s}, get(s, {r}));"),
            11 if self.divided == 0 => format!("phase(s, {s}, x);"),
            12 if self.divided == 0 => format!("wait({});", self.pick(&["m", "n", "1", "t"])),
            13 => format!("x += sum(s, {}, {s});", self.pick(&["0", "t", "B"])),
            _ => format!(
                "put(row(a, {}, {}), t, x);",
                self.pick(&["blockIdx.x", "m", "t"]),
                self.pick(&["B", "n", "m"])
            ),
        };
        self.line(&line);
    }

    fn statement(&mut self) {
        if self.calls && self.rng.below(3) == 0 {
            return self.call();
        }
        let choice = if self.depth > 2 { self.rng.below(9) } else { self.rng.below(18) };
        match choice {
            0 | 1 => {
                let f = self.shared();
                self.line(&format!("s[{f}] = x;"));
            }
            2 => {
                let f = self.shared();
                self.line(&format!("x += s[{f}];"));
            }
            3 => {
                let f = self.global();
                self.line(&format!("a[{f}] = x;"));
            }
            4 => {
                let (f, array) = (self.global(), self.pick(&["a", "b"]));
                self.line(&format!("x += {array}[{f}];"));
            }
            5 => {
                let place = match self.rng.below(2) {
                    0 => format!("a[{}]", self.global()),
                    _ => format!("s[{}]", self.shared()),
                };
                self.line(&format!("atomicAdd(&{place}, 1);"));
            }
            6..=8 => self.barrier(),
            9 | 10 => {
                let c = self.condition();
                self.line(&format!("if ({c}) {{"));
                self.inside(true);
                if self.rng.below(3) == 0 {
                    self.line("} else {");
                    self.inside(true);
                }
                self.line("}");
            }
            11 => {
                let c = self.pick(&["m > 2", "n > m", "blockIdx.x == 0", "gridDim.x > 1"]);
                self.line(&format!("if ({c}) {{"));
                self.inside(false);
                self.line("}");
            }
            12 => {
                // a phase: written, waited for, read
                let (f, h) = (self.shared(), self.shared());
                self.line(&format!("s[{f}] = x;"));
                self.barrier();
                self.line(&format!("x += s[{h}];"));
                self.barrier();
            }
            _ => self.repeat(),
        }
    }

    fn repeat(&mut self) {
        self.names += 1;
        let i = format!("i{}", self.names);
        let (header, uniform) = match self.rng.below(9) {
            0 | 1 => (format!("int {i} = 0; {i} < m; {i}++"), true),
            2 => (format!("int {i} = B / 2; {i} > 0; {i} >>= 1"), true),
            3 => (format!("int {i} = 1; {i} < B; {i} *= 2"), true),
            4 => (format!("int {i} = t; {i} < n; {i} += B"), false),
            5 => (format!("int {i} = g; {i} < n; {i} += B * gridDim.x"), false),
            6 => (format!("int {i} = m; {i} >= 0; {i} -= 2"), true),
            7 => (format!("unsigned {i} = g; {i} < n; {i} += gridDim.x * blockDim.x"), false),
            _ => (format!("int {i} = blockIdx.x; {i} < m; {i} += gridDim.x"), true),
        };
        let plain = self.rng.below(4) > 0;
        if plain {
            self.line(&format!("for ({header}) {{"));
        } else {
            let parts: Vec<&str> = header.split("; ").collect();
            self.line(&format!("{};", parts[0]));
            self.line(&format!("while ({}) {{", parts[1]));
        }
        self.loops.push((i.clone(), uniform));
        self.inside(!uniform);
        if uniform && self.rng.below(6) == 0 {
            let jump = if plain { self.pick(&["break", "continue"]) } else { "break" };
            let c = self.pick(&["n > 20", "m == 3", "i > 4"]).replace("i >", &format!("{i} >"));
            self.line(&format!("    if ({c}) {jump};"));
            self.inside(false);
        }
        if uniform && self.rng.below(2) == 0 {
            self.indent += 1;
            self.barrier();
            self.indent -= 1;
        }
        if !plain {
            let step = header.split("; ").nth(2).unwrap_or("").to_owned();
            self.line(&format!("    {step};"));
        }
        self.loops.pop();
        self.line("}");
    }
}

/// What is proved free of races: of which shapes, which parameters have to be positive, and for which blocks it was asked.
type Free = (Option<Shapes>, Vec<Arc<str>>, Option<[u32; 3]>);

/// Judges the kernel of a number at several launches. `Err`: what does not hold, with the text.
pub fn judge(seed: u64, tally: &mut Tally) -> Result<(), String> {
    judge_text(&text(seed), seed, tally)
}

/// Judges a kernel `k(int *a, int *b, int n, int m)`.
pub fn judge_text(text: &str, seed: u64, tally: &mut Tally) -> Result<(), String> {
    let parsed = Parsed::parse(Language::Cuda, text);
    let unit = front::lower(&parsed, &Options::default(), &mut Memo::new());
    let program = Program::of(unit.items.iter().map(|i| &i.body));
    let Some(item) = unit.items.iter().find(|i| i.is_kernel && i.is_called("k")) else {
        return Err(format!("no kernel:\n{text}"));
    };
    let mut rng = Rng::new(seed ^ 0x7717);
    let blocks =
        [[32, 1, 1], [7, 1, 1], [64, 1, 1], [33, 1, 1], [16, 4, 1], [5, 3, 1], [1, 1, 1], [96, 1, 1]];
    let known = *rng.pick(&blocks);
    let every = KernelLaunch::default();
    let block = KernelLaunch { block: Some(known), ..KernelLaunch::default() };
    let first = analysis::kernel_races(&item.body, &program, &every);
    let second = match &first {
        RaceVerdict::Free { .. } => first.clone(),
        _ => analysis::kernel_races(&item.body, &program, &block),
    };
    let verdicts = [first, second];
    // what is proved, and for which blocks it was asked
    let shapes = |(v, asked): (&RaceVerdict, Option<[u32; 3]>)| match v {
        RaceVerdict::Free { shapes, positive, .. } => Some((shapes.clone(), positive.clone(), asked)),
        _ => None,
    };
    let asked = match &verdicts[0] {
        RaceVerdict::Free { .. } => None,
        _ => Some(known),
    };
    let free: Vec<Free> = verdicts.iter().zip([None, asked]).filter_map(shapes).collect();
    match &verdicts {
        [RaceVerdict::Free { .. }, _] => tally.free += 1,
        [_, RaceVerdict::Free { .. }] => tally.block += 1,
        [RaceVerdict::Race(_), _] => tally.racing += 1,
        _ => tally.unknown += 1,
    }
    let bodies = simulate::Program::of(unit.items.iter().map(|i| &*i.body));
    let options = simulate::Options { overloads: true, decisions: true, ..Default::default() };
    let code = simulate::compile(&bodies, &item.body.name, &options).map_err(|f| format!("{f}\n{text}"))?;
    let mut raced = false;
    for run in 0..4u64 {
        let said = || free.iter().filter_map(|(s, ..)| s.as_ref());
        let axes = said().map(|s| s.axes).max().unwrap_or(2);
        let block_axes = said().map(|s| s.block_axes).max().unwrap_or(2);
        let fits = |b: &&[u32; 3]| axes > 1 || b[1] == 1;
        let few: Vec<[u32; 3]> = blocks.iter().filter(fits).copied().collect();
        let block = if run % 3 == 1 { known } else { *rng.pick(&few) };
        let grid = [1 + rng.below(3) as u32, if block_axes > 1 { 1 + rng.below(3) as u32 } else { 1 }, 1];
        let threads = (grid[0] * block[0]) as usize;
        let most = threads + 3;
        let any = rng.below(100);
        let n = *rng.pick(&[0, 1, 5, threads, threads.saturating_sub(3), most, any]) as i128;
        let m = rng.below(7) as i128;
        let mut heap = Heap::new();
        let data: Vec<i32> = (0..ELEMENTS as i32).map(|k| k * 7 % 32).collect();
        let (Ok(a), Ok(b)) = (heap.buffer("a", &data), heap.buffer("b", &data)) else { return Ok(()) };
        let arguments = [Value::Pointer(a, 0), Value::Pointer(b, 0), Value::Int(n), Value::Int(m)];
        let launch = Launch { grid, block, shared_bytes: 0 };
        let budget = Budget::new(700_000);
        let schedule = if run == 0 { Schedule::counted(seed) } else { Schedule::seeded(seed + run) };
        let Ok(report) = simulate::run_grid_code(&code, &arguments, &mut heap, &launch, &schedule, &budget)
        else {
            continue;
        };
        tally.runs += report.completed as usize;
        // an access outside of its array is not the kernel's as it is meant
        let outside = report.findings.iter().any(|f| matches!(f, Finding::Fault(_)));
        for f in &report.findings {
            if outside || !matches!(f, Finding::Race(_) | Finding::BarrierDivergence { .. }) {
                continue;
            }
            raced = true;
            for (s, positive, asked) in &free {
                let met = positive.iter().all(|p| if **p == *"n" { n >= 1 } else { m >= 1 });
                let fits = s.as_ref().is_none_or(|s| {
                    let flat = |e: [u32; 3], axes: u32| e.iter().skip(axes as usize).all(|&x| x == 1);
                    let fits = flat(block, s.axes) || *asked == Some(block);
                    flat(grid, s.block_axes) && s.block.map_or(fits, |b| b == block)
                });
                if fits && met {
                    return Err(format!(
                        "seed {seed}, called free {s:?}: {f:?}\n{grid:?} {block:?} n = {n} m = {m}\n{text}"
                    ));
                }
            }
        }
    }
    tally.quiet += (matches!(verdicts[0], RaceVerdict::Unknown(_)) && !raced) as usize;
    Ok(())
}
