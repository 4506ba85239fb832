//! What is said of a warp's requests and decisions for every launch, held against what is counted with several: kernels nobody wrote,
//! whose subscripts and conditions are made of indices, extents, parameters and loop variables, so that a known launch leaves
//! nothing open.

use analysis::{AccessFact, BranchFact, KernelFacts, KernelLaunch, Pattern, Program};
use front::{Language, Memo, Options, Parsed};

use crate::rng::Rng;

/// Blocks a multiple of 32 threads wide.
const BLOCKS: [[u32; 3]; 7] =
    [[32, 1, 1], [64, 1, 1], [32, 4, 1], [96, 2, 1], [128, 1, 1], [64, 3, 1], [32, 2, 2]];

/// What was said how often.
#[derive(Default, Clone, Copy, Debug)]
pub struct Tally {
    pub accesses: usize,
    /// Of which least and most are one number.
    pub exact: usize,
    pub coalesced: usize,
    pub strided: usize,
    pub branches: usize,
    pub alike: usize,
    /// Numbers of launches that were held against what is said.
    pub held: usize,
}

struct Generator<'r> {
    rng: &'r mut Rng,
    out: String,
    indent: usize,
    depth: u32,
    names: u32,
    loops: Vec<String>,
    /// Products that one expression may still have: nothing overflows.
    products: u32,
}

/// The kernel of a number: `k(float *a, const double *b, int n, int m)`.
pub fn text(seed: u64) -> String {
    let mut rng = Rng::new(seed);
    let mut g = Generator {
        rng: &mut rng,
        out: String::new(),
        indent: 1,
        depth: 0,
        names: 0,
        loops: Vec::new(),
        products: 2,
    };
    g.line("__shared__ int s[4096];");
    g.line("__shared__ char c[4096];");
    g.line("int t = threadIdx.x, u = threadIdx.y, x = 1, y = 0;");
    g.line("int i = blockIdx.x * blockDim.x + threadIdx.x;");
    g.line("int bx = blockIdx.x, by = blockIdx.y, B = blockDim.x;");
    g.line("unsigned w = threadIdx.x;");
    for _ in 0..3 + g.rng.below(4) {
        g.statement();
    }
    let body = g.out;
    format!(
        "struct P {{ float x, y, z; }};\n__device__ int at(int r, int q, int w) {{ return r * w + q; }}\n__device__ int some(int r, int q) {{ if (r > q) return r; return q; }}\n__global__ void k(float *a, const double *b, struct P *p, int n, int m) {{\n{body}}}\n"
    )
}

impl Generator<'_> {
    fn line(&mut self, text: &str) {
        self.out.push_str(&"    ".repeat(self.indent));
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn leaf(&mut self) -> String {
        if !self.loops.is_empty() && self.rng.below(3) == 0 {
            return self.rng.pick(&self.loops).clone();
        }
        let list = ["t", "t", "t", "u", "i", "i", "n", "m", "x", "y", "bx", "B", "by"];
        // without a sign: nothing that may be negative is added
        let unsigned =
            ["w", "(w + i)", "(w * 8)", "(w >> 2)", "(w % 16)", "(i + blockDim.x)", "(blockIdx.x * 32 + w)"];
        if self.rng.below(8) == 0 {
            return (*self.rng.pick(&unsigned)).to_owned();
        }
        match self.rng.below(4) {
            0 => self.rng.pick(&[0, 1, 2, 3, 4, 5, 8, 16, 17, 31, 32, 33, 64]).to_string(),
            _ => (*self.rng.pick(&list)).to_owned(),
        }
    }

    fn number(&mut self, depth: u32) -> String {
        if depth == 0 {
            return self.leaf();
        }
        let a = self.number(depth - 1);
        match self.rng.below(14) {
            0..=3 => format!("((int){a} + (int){})", self.number(depth - 1)),
            4 => format!("((int){a} - (int){})", self.leaf()),
            5 | 6 if self.products > 0 => {
                self.products -= 1;
                format!("((int){a} * (int){})", self.leaf())
            }
            7 => format!("((int){a} / {})", self.rng.pick(&[2, 3, 4, 16, 32, 64])),
            8 => format!("((int){a} % {})", self.rng.pick(&[2, 3, 4, 16, 32, 48, 64])),
            9 => format!("({a} & {})", self.rng.pick(&[1, 3, 7, 15, 31, 63, 5, -32])),
            10 => format!("({a} {} {})", self.rng.pick(&["^", "|", ">>"]), self.rng.pick(&[1, 2, 4, 5])),
            11 => format!("({} ? {a} : {})", self.condition(), self.leaf()),
            12 => format!("{}({a}, {})", self.rng.pick(&["min", "max", "some"]), self.leaf()),
            13 if self.products > 0 => {
                self.products -= 1;
                format!("at({}, {a}, {})", self.leaf(), self.rng.pick(&["n", "m", "33", "8"]))
            }
            _ => a,
        }
    }

    fn subscript(&mut self) -> String {
        self.products = 2;
        let depth = 1 + self.rng.below(3) as u32;
        self.number(depth)
    }

    fn condition(&mut self) -> String {
        let a = self.leaf();
        match self.rng.below(6) {
            0 => format!("{a} % {} == {}", self.rng.pick(&[2, 4, 32, 64]), self.rng.pick(&[0, 1])),
            1 => format!("(unsigned){a} < (unsigned){}", self.leaf()),
            2 => format!("{a} < {} && {} >= 3", self.leaf(), self.leaf()),
            3 => format!("{a} == {}", self.leaf()),
            4 => format!("!({a} <= {}) || {} != 5", self.leaf(), self.leaf()),
            _ => format!("{a} < {}", self.leaf()),
        }
    }

    fn name(&mut self) -> String {
        self.names += 1;
        format!("j{}", self.names)
    }

    fn inside(&mut self, count: usize) {
        self.indent += 1;
        self.depth += 1;
        for _ in 0..count {
            self.statement();
        }
        self.depth -= 1;
        self.indent -= 1;
        self.line("}");
    }

    fn statement(&mut self) {
        let deep = self.depth >= 3;
        match self.rng.below(if deep { 8 } else { 14 }) {
            0 | 1 => {
                let (f, g) = (self.subscript(), self.subscript());
                self.line(&format!("a[{f}] = b[{g}];"));
            }
            2 => {
                let f = self.subscript();
                self.line(&format!("s[{f}] += 1;"));
            }
            3 => {
                let (f, g) = (self.subscript(), self.subscript());
                self.line(&format!("c[{f}] = s[{g}];"));
            }
            4 => {
                let f = self.subscript();
                let field = *self.rng.pick(&["x", "y", "z"]);
                self.line(&format!("p[{f}].{field} = 2;"));
            }
            5 | 6 => {
                let f = self.subscript();
                let to = *self.rng.pick(&["x", "y"]);
                self.line(&format!("{to} = {f} & 255;"));
            }
            7 => {
                let f = self.subscript();
                let (name, at) = (self.name(), self.subscript());
                self.line(&format!("float *{name} = a + {f}; {name}[{at}] = x;"));
            }
            8 | 9 => {
                let c = self.condition();
                self.line(&format!("if ({c}) {{"));
                let count = 1 + self.rng.below(2);
                self.inside(count);
                if self.rng.below(3) == 0 {
                    self.line("else {");
                    self.inside(1);
                }
            }
            10 | 11 => {
                let name = self.name();
                let from = *self.rng.pick(&["0", "t", "u", "1"]);
                let to = *self.rng.pick(&["n", "m", "n + 5", "9", "i"]);
                let by = *self.rng.pick(&["++J", "J += 3", "J += blockDim.x", "J += 32"]);
                let to = if to == "i" { "n" } else { to };
                self.line(&format!("for (int J = {from}; J < {to}; {by}) {{").replace('J', &name));
                self.loops.push(name);
                let count = 1 + self.rng.below(2);
                self.inside(count);
                self.loops.pop();
                if self.rng.below(3) == 0 {
                    let jump = *self.rng.pick(&["break", "continue", "return"]);
                    let c = self.condition();
                    let at = self.out.trim_end().len() - 1;
                    let pad = "    ".repeat(self.indent + 1);
                    let tail =
                        format!("{pad}if ({c}) {jump};\n{pad}a[t] = 1;\n{}}}\n", "    ".repeat(self.indent));
                    let at = self.out[..at].trim_end_matches(' ').len();
                    self.out.truncate(at);
                    self.out.push_str(&tail);
                }
            }
            12 => {
                let name = self.name();
                let head = *self.rng.pick(&[
                    "for (int J = 1; J < blockDim.x; J *= 2) {",
                    "for (int J = 16; J > 0; J >>= 1) {",
                    "for (unsigned J = blockDim.x / 2; J > 0; J >>= 1) {",
                ]);
                self.line(&head.replace('J', &name));
                self.loops.push(name);
                let count = 1 + self.rng.below(2);
                self.inside(count);
                self.loops.pop();
            }
            _ => {
                let c = self.condition();
                self.line(&format!("if ({c}) return;"));
            }
        }
    }
}

fn facts(unit: &front::Unit, launch: &KernelLaunch) -> Option<KernelFacts> {
    let program = Program::of(unit.items.iter().map(|i| &i.body));
    let item = unit.items.iter().find(|i| i.is_kernel)?;
    Some(analysis::kernel(&item.body, &program, launch))
}

/// Judges the kernel of a number.
pub fn judge(seed: u64, tally: &mut Tally) -> Result<(), String> {
    judge_text(&text(seed), seed, tally)
}

/// Judges the kernel of a text with parameters `n` and `m`.
pub fn judge_text(text: &str, seed: u64, tally: &mut Tally) -> Result<(), String> {
    let parsed = Parsed::parse(Language::Cuda, text);
    let unit = front::lower(&parsed, &Options::default(), &mut Memo::new());
    let Some(every) = facts(&unit, &KernelLaunch::default()) else {
        return Err(format!("no kernel:\n{text}"));
    };
    let mut rng = Rng::new(seed ^ 0x51DE);
    let said = every.accesses.iter().filter_map(|a| a.any_shape.as_ref());
    for any in said {
        tally.accesses += 1;
        tally.exact += usize::from(any.cost[0] == any.cost[1]);
        tally.coalesced += usize::from(any.pattern == Pattern::Coalesced);
        tally.strided += usize::from(matches!(any.pattern, Pattern::Strided(_)));
    }
    for any in every.branches.iter().filter_map(|b| b.any_shape.as_ref()) {
        tally.branches += 1;
        tally.alike += usize::from(any.alike);
    }
    for _ in 0..2 {
        let launch = KernelLaunch {
            grid: Some([1 + rng.below(3) as u32, 1 + rng.below(2) as u32, 1]),
            block: Some(*rng.pick(&BLOCKS)),
            values: vec![("n".into(), rng.below(40) as i128), ("m".into(), rng.below(70) as i128)],
            ..KernelLaunch::default()
        };
        // the same with the block alone known
        let block = KernelLaunch { block: launch.block, ..KernelLaunch::default() };
        let Some(known) = facts(&unit, &launch) else { continue };
        let Some(of_block) = facts(&unit, &block) else { continue };
        for said in [&every, &of_block] {
            hold(said, &known, tally).map_err(|what| format!("{seed}: {what}, with {launch:?}:\n{text}"))?;
        }
    }
    Ok(())
}

/// Holds what is said for every launch against what is counted with one.
fn hold(every: &KernelFacts, known: &KernelFacts, tally: &mut Tally) -> Result<(), String> {
    for a in &every.accesses {
        let same = |k: &&AccessFact| k.term == a.term && k.reads == a.reads && k.object == a.object;
        let Some(k) = known.accesses.iter().find(same) else { continue };
        tally.held += usize::from(access(a, k)?);
    }
    for b in &every.branches {
        let Some(k) = known.branches.iter().find(|k| k.term == b.term) else { continue };
        tally.held += usize::from(branch(b, k)?);
    }
    Ok(())
}

fn access(a: &AccessFact, k: &AccessFact) -> Result<bool, String> {
    let (Some(any), Some(r)) = (&a.any_shape, &k.requests) else { return Ok(false) };
    if !r.exact || r.count == 0 {
        return Ok(false);
    }
    let wrong = |what: &str| Err(format!("{what} of `{}` at {:?}: {any:?}, counted {r:?}", a.object, a.term));
    let global = a.space == term::Space::Global;
    let full = r.lanes == r.count * u64::from(any.lanes);
    if global {
        if r.worst_sectors > any.cost[1] || r.sectors > r.count * any.cost[1] {
            return wrong("more sectors than the most");
        }
        if r.sectors < r.count * any.cost[0] {
            return wrong("fewer sectors than the least");
        }
    } else if r.ways > any.cost[1] || r.ways < any.cost[0] {
        return wrong("other ways");
    }
    if !any.partial && r.lanes > r.count * 32 {
        return wrong("more lanes than there are");
    }
    // one request of all lanes
    if full && any.lanes == 32 && r.count == 1 {
        let cost = if global { r.sectors } else { r.ways };
        if cost < any.full[0] || cost > any.full[1] {
            return wrong("another cost of all lanes");
        }
    }
    let apart = |k: i64| k.checked_mul(a.bytes as i64);
    match any.pattern {
        Pattern::Uniform if global && r.worst_sectors > any.full[1] => wrong("several places"),
        Pattern::Uniform if r.stride.is_some_and(|s| s != 0) => wrong("several places"),
        Pattern::Strided(Some(k)) if full && any.lanes == 32 && r.stride != apart(k) => {
            wrong("another stride")
        }
        _ => Ok(true),
    }
}

fn branch(b: &BranchFact, k: &BranchFact) -> Result<bool, String> {
    let (Some(any), Some(lanes)) = (&b.any_shape, &k.lanes) else { return Ok(false) };
    for (&(active, holds), &times) in lanes.iter().filter(|(_, n)| **n > 0) {
        let what = if holds < any.taken[0] || holds > any.taken[1] {
            "other lanes"
        } else if any.alike && holds != 0 && holds != active {
            "lanes that part"
        } else {
            continue;
        };
        return Err(format!("{what} at {:?}: {any:?}, counted {holds} of {active} {times} times", b.term));
    }
    Ok(true)
}
