//! A judge of `analysis::IndexOverflow`: random kernels with subscripts of 32 and 64 bits and large launches. What is claimed of a thread
//! is computed again from the generator's own tree, in whole numbers without end; and a kernel whose corner threads
//! do get a sum, product or variable that 32 bits do not hold must be told.
//!
//! The corners are those that the analysis looks at: the last and the first thread of the last block, and the last of the first. Remainders and masks
//! are leaves, as in its rules. Deliberately absent: values out of memory, which the analysis leaves alone.

use analysis::{KernelLaunch, Program};
use front::{Language, Memo, Options, Parsed};

use crate::rng::Rng;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ty {
    Int,
    Unsigned,
    Long,
}

impl Ty {
    fn name(self) -> &'static str {
        match self {
            Ty::Int => "int",
            Ty::Unsigned => "unsigned int",
            Ty::Long => "long long",
        }
    }
    /// The largest number, of types of 32 bits.
    fn most(self) -> Option<i128> {
        match self {
            Ty::Int => Some(i32::MAX as i128),
            Ty::Unsigned => Some(u32::MAX as i128),
            Ty::Long => None,
        }
    }
    fn common(self, other: Ty) -> Ty {
        match (self, other) {
            (Ty::Long, _) | (_, Ty::Long) => Ty::Long,
            (Ty::Unsigned, _) | (_, Ty::Unsigned) => Ty::Unsigned,
            _ => Ty::Int,
        }
    }
}

#[derive(Clone, Debug)]
enum Node {
    Number(i128),
    /// `threadIdx.x`, `blockIdx.x`, `blockDim.x`, `gridDim.x`
    Builtin(usize),
    /// `n`, `m` (int), `w` (unsigned)
    Parameter(usize),
    Variable(usize),
    /// The index of the loop around the access, in its first round.
    Round,
    Op(char, usize, usize),
    Cast(Ty, usize),
    /// A remainder or mask of something small.
    Small(&'static str, usize),
}

const BUILTINS: [&str; 4] = ["threadIdx.x", "blockIdx.x", "blockDim.x", "gridDim.x"];
const PARAMETERS: [(&str, Ty); 3] = [("n", Ty::Int), ("m", Ty::Int), ("w", Ty::Unsigned)];

/// A kernel, its launch, and what its text means.
struct Made {
    nodes: Vec<Node>,
    /// Type and value of each variable.
    variables: Vec<(Ty, usize)>,
    subscript: usize,
    /// `threadIdx.x < …`
    guard: Option<u32>,
    text: String,
    /// Where a node stands in the text, without and with parentheses.
    places: Vec<(u32, u32, usize)>,
    grid: u32,
    block: u32,
    values: [i128; 3],
}

/// What was judged.
#[derive(Clone, Default, Debug)]
pub struct Tally {
    /// Kernels, those with an overflow in a corner, and claims of signed and of unsigned numbers.
    pub kernels: usize,
    pub overflowing: usize,
    pub signed: usize,
    pub unsigned: usize,
    /// Texts that the front end has a gap in.
    pub gaps: usize,
    pub wrong: Vec<String>,
}

/// Judges one random kernel.
pub fn judge(seed: u64, tally: &mut Tally) {
    let made = make(&mut Rng::new(seed));
    let parsed = Parsed::parse(Language::Cuda, made.text.as_str());
    let unit = front::lower(&parsed, &Options::default(), &mut Memo::new());
    let program = Program::of(unit.items.iter().map(|i| &i.body));
    let mut wrong = |why: String| tally.wrong.push(format!("seed {seed}: {why}\n{}", made.text));
    let Some(item) = unit.items.iter().find(|i| i.is_kernel && i.body.rejects().next().is_none()) else {
        // `a[(n * (v * w)) * …]` may begin with a type, for all that the grammar knows
        tally.gaps += 1;
        return;
    };
    let names = PARAMETERS.iter().map(|(n, _)| (*n).into());
    let launch = KernelLaunch {
        grid: Some([made.grid, 1, 1]),
        block: Some([made.block, 1, 1]),
        values: names.zip(made.values).collect(),
        ..Default::default()
    };
    let overflows = analysis::kernel_overflows(&item.body, &program, &launch);
    tally.kernels += 1;
    for o in &overflows {
        let span = item.body.span(o.term).shifted(item.span.start);
        let at = Corner { block: o.block[0] as i128, thread: o.thread[0] as i128 };
        let Some(&(.., node)) = made.places.iter().find(|(s, e, _)| (*s, *e) == (span.start, span.end))
        else {
            wrong(format!("nothing stands at {span:?}: {o:?}"));
            continue;
        };
        let ty = match o.variable {
            Some(s) => {
                let name = &*item.body.symbols[s].name;
                match name.strip_prefix('v').and_then(|k| made.variables.get(k.parse::<usize>().ok()?)) {
                    Some(v) if v.1 == node => v.0,
                    _ => {
                        wrong(format!("`{name}` is not given this value: {o:?}"));
                        continue;
                    }
                }
            }
            None => made.ty(node),
        };
        let value = made.value(node, at);
        let there = at.block < made.grid as i128 && at.thread < made.block as i128 && made.reaches(at);
        if value != Some(o.value) || ty.most() != Some(o.most) || o.value <= o.most || !there {
            wrong(format!("{o:?}: it is {value:?} of {ty:?}"));
        }
        match ty {
            Ty::Unsigned => tally.unsigned += 1,
            _ => tally.signed += 1,
        }
    }
    let (last, end) = (made.grid as i128 - 1, made.block as i128 - 1);
    let corners = [(last, end), (last, 0), (0, end)].map(|(block, thread)| Corner { block, thread });
    let expected = corners.iter().any(|&c| made.reaches(c) && made.overflows(made.subscript, c));
    tally.overflowing += expected as usize;
    if expected && overflows.is_empty() {
        wrong(format!("nothing is said with {} blocks of {} and {:?}", made.grid, made.block, made.values));
    }
}

#[derive(Clone, Copy)]
struct Corner {
    block: i128,
    thread: i128,
}

impl Made {
    fn ty(&self, node: usize) -> Ty {
        match self.nodes[node] {
            Node::Number(_) | Node::Round => Ty::Int,
            Node::Builtin(_) => Ty::Unsigned,
            Node::Parameter(k) => PARAMETERS[k].1,
            Node::Variable(k) => self.variables[k].0,
            Node::Op(_, a, b) => self.ty(a).common(self.ty(b)),
            Node::Cast(ty, _) => ty,
            Node::Small(_, a) => self.ty(a),
        }
    }

    /// The value if no type ended anywhere. `None`: it is beyond all that is computed with.
    fn value(&self, node: usize, at: Corner) -> Option<i128> {
        Some(match self.nodes[node] {
            Node::Number(v) => v,
            Node::Builtin(k) => [at.thread, at.block, self.block as i128, self.grid as i128][k],
            Node::Parameter(k) => self.values[k],
            Node::Variable(k) => self.value(self.variables[k].1, at)?,
            Node::Round => 0,
            Node::Op(op, a, b) => {
                let (a, b) = (self.value(a, at)?, self.value(b, at)?);
                match op {
                    '+' => a.checked_add(b)?,
                    '-' => a.checked_sub(b)?,
                    _ => a.checked_mul(b)?,
                }
            }
            Node::Cast(_, a) => self.value(a, at)?,
            Node::Small("% 97", a) => self.value(a, at)? % 97,
            Node::Small(_, a) => self.value(a, at)? & 1023,
        })
    }

    fn reaches(&self, at: Corner) -> bool {
        self.guard.is_none_or(|g| at.thread < g as i128)
    }

    /// Whether a sum, product or variable that the value is plainly made of is more than its 32 bits hold.
    fn overflows(&self, node: usize, at: Corner) -> bool {
        let beyond = |ty: Ty, node| ty.most().zip(self.value(node, at)).is_some_and(|(most, v)| v > most);
        match self.nodes[node] {
            Node::Variable(k) => {
                let (ty, init) = self.variables[k];
                self.overflows(init, at) || beyond(ty, init)
            }
            Node::Op(_, a, b) => {
                self.overflows(a, at) || self.overflows(b, at) || beyond(self.ty(node), node)
            }
            Node::Cast(_, a) => self.overflows(a, at),
            _ => false,
        }
    }

    fn print(&mut self, node: usize) {
        let outer = self.text.len() as u32;
        let mut inner = None;
        match self.nodes[node].clone() {
            Node::Number(v) => self.text.push_str(&v.to_string()),
            Node::Builtin(k) => self.text.push_str(BUILTINS[k]),
            Node::Parameter(k) => self.text.push_str(PARAMETERS[k].0),
            Node::Variable(k) => self.text.push_str(&format!("v{k}")),
            Node::Round => self.text.push('r'),
            Node::Op(op, a, b) => {
                self.text.push('(');
                let from = self.text.len() as u32;
                self.print(a);
                self.text.push_str(&format!(" {op} "));
                self.print(b);
                inner = Some((from, self.text.len() as u32));
                self.text.push(')');
            }
            Node::Cast(ty, a) => {
                self.text.push_str(&format!("({})", ty.name()));
                self.print(a);
            }
            Node::Small(by, a) => {
                self.text.push('(');
                self.print(a);
                self.text.push_str(&format!(" {by})"));
            }
        }
        self.places.push((outer, self.text.len() as u32, node));
        self.places.extend(inner.map(|(from, to)| (from, to, node)));
    }
}

fn make(rng: &mut Rng) -> Made {
    let size = |rng: &mut Rng, list: &[i128]| list[rng.below(list.len())] + rng.below(50) as i128;
    let mut made = Made {
        nodes: Vec::new(),
        variables: Vec::new(),
        subscript: 0,
        guard: None,
        text: String::new(),
        places: Vec::new(),
        grid: size(rng, &[1, 1000, 70_000, 3_000_000, 8_388_608, 16_777_216]) as u32,
        block: [1, 32, 96, 256, 1024][rng.below(5)],
        values: [0; 3],
    };
    for v in &mut made.values {
        *v = size(rng, &[0, 7, 300, 5_000, 100_000, 40_000_000]);
    }
    made.text.push_str("__global__ void k(float *a, int n, int m, unsigned int w) {\n");
    let looped = rng.below(4) == 0;
    for k in 0..1 + rng.below(3) {
        let ty = [Ty::Int, Ty::Int, Ty::Unsigned, Ty::Unsigned, Ty::Long][rng.below(5)];
        let init = expression(&mut made, rng, 2, false);
        made.text.push_str(&format!("    {} v{k} = ", ty.name()));
        made.print(init);
        made.text.push_str(";\n");
        made.variables.push((ty, init));
    }
    if rng.below(3) == 0 {
        let below = 1 + rng.below(300) as u32;
        made.guard = Some(below);
        made.text.push_str(&format!("    if (threadIdx.x < {below})\n"));
    }
    if looped {
        made.text.push_str("    for (int r = 0; r < 3; r++)\n");
    }
    made.subscript = expression(&mut made, rng, 3, looped);
    made.text.push_str("    a[");
    let subscript = made.subscript;
    made.print(subscript);
    made.text.push_str("] = 1.0f;\n}\n");
    made
}

fn expression(made: &mut Made, rng: &mut Rng, depth: u32, looped: bool) -> usize {
    let node = if depth == 0 || rng.below(5) == 0 {
        match rng.below(12) {
            0 => Node::Number(1 + rng.below(64) as i128),
            1 => Node::Number(65_536),
            2 => Node::Builtin(0),
            3 | 4 => Node::Builtin(1),
            5 => Node::Builtin(2 + rng.below(2)),
            6 => {
                let leaf = if rng.below(2) == 0 { Node::Builtin(1) } else { Node::Parameter(rng.below(3)) };
                made.nodes.push(leaf);
                Node::Small(["% 97", "& 1023"][rng.below(2)], made.nodes.len() - 1)
            }
            7 if looped => Node::Round,
            7..=9 if !made.variables.is_empty() => Node::Variable(rng.below(made.variables.len())),
            _ => Node::Parameter(rng.below(3)),
        }
    } else {
        let a = expression(made, rng, depth - 1, looped);
        match rng.below(9) {
            0 => Node::Cast([Ty::Long, Ty::Int, Ty::Unsigned][rng.below(3)], a),
            k => {
                let b = expression(made, rng, depth - 1, looped);
                Node::Op(['*', '+', '-', '*', '+', '*', '+', '+'][k - 1], a, b)
            }
        }
    };
    made.nodes.push(node);
    made.nodes.len() - 1
}
