//! Values of machine arithmetic as a shared graph: bits of a width, truth, IEEE numbers.
//!
//! Equal values built alike are one node, so what both sides of a rule compute alike needs no proof. The same graph is evaluated
//! on inputs (`eval`), which finds counter-examples, and printed as SMT-LIB (`smt`), which proves that there are none. `regroup`
//! has sums and products of floating numbers taken as the sets of their operands: what `Trust: reassociates` allows. Deliberately
//! absent: C (see `lower`).

use rustc_hash::FxHashMap;

use super::eval;

/// A node of the graph.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct Id(pub u32);

/// What a node is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) enum Sort {
    Truth,
    /// 1 to 128 bits.
    Bits(u32),
    F32,
    F64,
}

impl Sort {
    pub fn float(self) -> bool {
        matches!(self, Sort::F32 | Sort::F64)
    }
}

/// An operation. Operands of one operation have one sort unless it says otherwise.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Act {
    /// Unknown: which, from 0 on. A floating input is the number with these bits.
    Input(u32),
    /// Of bits, truth (0, 1), or a float by its bits.
    Const(u128),
    Add,
    Mul,
    Neg,
    /// As machines divide, rounded towards zero; by zero anything.
    UDiv,
    SDiv,
    URem,
    SRem,
    And,
    Or,
    Xor,
    Not,
    /// By less than the width; else anything.
    Shl,
    UShr,
    SShr,
    Eq,
    ULt,
    SLt,
    /// Whether the signed product leaves its width.
    MulLeaves,
    ZeroExt,
    SignExt,
    /// The low bits.
    Low,
    /// Condition, then, else.
    If,
    FAdd,
    FMul,
    FDiv,
    FNeg,
    FAbs,
    FSqrt,
    /// a * b + c, rounded once.
    FFma,
    /// Any number of operands, regrouped at will.
    FSum,
    FProduct,
    FLt,
    FLe,
    /// As `==` has it: NaN is nothing's equal, zeros are.
    FEq,
    /// Towards zero, down, up, or to the nearest even whole number: `t`, `f`, `c`, `r`.
    FWhole(char),
    /// From another float, rounded to the nearest.
    FFloat,
    FSigned,
    FUnsigned,
    /// To bits, towards zero; out of range anything.
    ToSigned,
    ToUnsigned,
    /// A function of which nothing else is known.
    Function(String),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Node {
    pub act: Act,
    pub args: Vec<Id>,
    pub sort: Sort,
}

#[derive(Default)]
pub(super) struct Graph {
    pub nodes: Vec<Node>,
    known: FxHashMap<Node, Id>,
    /// Whether floating sums and products are taken apart from their order.
    pub regroup: bool,
}

impl Graph {
    pub fn new(regroup: bool) -> Graph {
        Graph { regroup, ..Graph::default() }
    }
    pub fn node(&self, id: Id) -> &Node {
        &self.nodes[id.0 as usize]
    }
    pub fn sort(&self, id: Id) -> Sort {
        self.node(id).sort
    }
    pub fn constant(&self, id: Id) -> Option<u128> {
        match self.node(id).act {
            Act::Const(v) => Some(v),
            _ => None,
        }
    }
    fn intern(&mut self, node: Node) -> Id {
        if let Some(id) = self.known.get(&node) {
            return *id;
        }
        let id = Id(self.nodes.len() as u32);
        self.nodes.push(node.clone());
        self.known.insert(node, id);
        id
    }
    pub fn input(&mut self, k: u32, sort: Sort) -> Id {
        self.intern(Node { act: Act::Input(k), args: vec![], sort })
    }
    pub fn bits(&mut self, width: u32, value: i128) -> Id {
        let v = value as u128 & eval::mask(width);
        self.intern(Node { act: Act::Const(v), args: vec![], sort: Sort::Bits(width) })
    }
    pub fn truth(&mut self, value: bool) -> Id {
        self.intern(Node { act: Act::Const(u128::from(value)), args: vec![], sort: Sort::Truth })
    }
    /// A floating constant, rounded to the sort.
    pub fn float(&mut self, sort: Sort, value: f64) -> Id {
        let v = if sort == Sort::F32 {
            u128::from((value as f32).to_bits())
        } else {
            u128::from(value.to_bits())
        };
        self.intern(Node { act: Act::Const(v), args: vec![], sort })
    }

    /// The operation, after the identities that hold for all values: equal operands, neutral and absorbing constants.
    pub fn make(&mut self, act: Act, sort: Sort, mut args: Vec<Id>) -> Id {
        use Act::{Add, And, Eq, FAdd, FEq, FMul, FNeg, FProduct, FSum, If, Mul, MulLeaves, Not, Or, Xor};
        if self.regroup && sort.float() {
            if let Some(id) = self.regrouped(&act, sort, &args) {
                return id;
            }
        }
        if matches!(act, Add | Mul | And | Or | Xor | Eq | FAdd | FMul | FEq | MulLeaves) {
            args.sort_unstable();
        }
        let truth = sort == Sort::Truth;
        match (&act, args.as_slice()) {
            (And | Or, [a, b]) if a == b => return *a,
            (And, _) if truth => {
                if args.iter().any(|a| self.constant(*a) == Some(0)) {
                    return self.truth(false);
                }
                args.retain(|a| self.constant(*a) != Some(1));
                match args.as_slice() {
                    [] => return self.truth(true),
                    [one] => return *one,
                    [a, b] if self.opposite(*a, *b) => return self.truth(false),
                    _ => {}
                }
            }
            (Or, _) if truth => {
                if args.iter().any(|a| self.constant(*a) == Some(1)) {
                    return self.truth(true);
                }
                args.retain(|a| self.constant(*a) != Some(0));
                match args.as_slice() {
                    [] => return self.truth(false),
                    [one] => return *one,
                    [a, b] if self.opposite(*a, *b) => return self.truth(true),
                    _ => {}
                }
            }
            (Not, [a]) => {
                if let Node { act: Not, args: inner, .. } = self.node(*a) {
                    return inner[0];
                }
            }
            (FNeg, [a]) => {
                if let Node { act: FNeg, args: inner, .. } = self.node(*a) {
                    return inner[0];
                }
            }
            (Eq, [a, b]) if a == b => return self.truth(true),
            (Eq, [a, b]) => {
                // `(c ? 1 : 0) == 0` is `!c`
                for (x, k) in [(*a, *b), (*b, *a)] {
                    let Some(v) = self.constant(k) else { continue };
                    let Node { act: If, args: parts, .. } = self.node(x).clone() else { continue };
                    if let (Some(t), Some(e)) = (self.constant(parts[1]), self.constant(parts[2])) {
                        return match (t == v, e == v) {
                            (true, true) => self.truth(true),
                            (false, false) => self.truth(false),
                            (true, false) => parts[0],
                            (false, true) => self.not(parts[0]),
                        };
                    }
                }
            }
            (If, [_, a, b]) if a == b => return *a,
            (If, [c, a, b]) => {
                if let Some(v) = self.constant(*c) {
                    return if v == 1 { *a } else { *b };
                }
                if let Node { act: Not, args: inner, .. } = self.node(*c) {
                    let c = inner[0];
                    return self.make(If, sort, vec![c, *b, *a]);
                }
            }
            (Act::SignExt | Act::ZeroExt | Act::Low | Act::FFloat, [a]) if self.sort(*a) == sort => {
                return *a
            }
            _ => {}
        }
        if let Some(id) = self.neutral(&act, sort, &args) {
            return id;
        }
        if let Some(id) = self.rounded_alike(&act, sort, &args) {
            return id;
        }
        let node = Node { act, args, sort };
        let folds = !matches!(node.act, Act::Input(_) | Act::Const(_) | Act::Function(_) | FSum | FProduct);
        if folds && node.args.iter().all(|a| self.constant(*a).is_some()) {
            let given: Vec<(u128, Sort)> =
                node.args.iter().map(|a| (self.constant(*a).unwrap_or(0), self.sort(*a))).collect();
            if let Some(v) = eval::apply(&node, &given) {
                return self.intern(Node { act: Act::Const(v), args: vec![], sort });
            }
        }
        self.intern(node)
    }
    /// What an operand that changes nothing leaves.
    fn neutral(&mut self, act: &Act, sort: Sort, args: &[Id]) -> Option<Id> {
        let one = match sort {
            Sort::F32 => u128::from(1f32.to_bits()),
            Sort::F64 => u128::from(1f64.to_bits()),
            _ => 1,
        };
        match (act, args) {
            (Act::Add | Act::Mul | Act::Or | Act::Xor | Act::FMul | Act::MulLeaves, [a, b]) => {
                let wanted = match act {
                    Act::Mul | Act::FMul | Act::MulLeaves => one,
                    _ => 0,
                };
                for (x, k) in [(*a, *b), (*b, *a)] {
                    if self.constant(k) == Some(wanted) {
                        return Some(if *act == Act::MulLeaves { self.truth(false) } else { x });
                    }
                }
                None
            }
            (Act::UDiv | Act::SDiv | Act::FDiv, [a, b]) if self.constant(*b) == Some(one) => Some(*a),
            // the low bits of what was extended
            (Act::Low, [a]) => match self.node(*a) {
                Node { act: Act::SignExt | Act::ZeroExt, args, .. } if self.sort(args[0]) == sort => {
                    Some(args[0])
                }
                _ => None,
            },
            _ => None,
        }
    }
    /// Other words for the same number rounded once: signs go outwards, a quotient by a power of two is a product, `x + x` is
    /// `2 * x`, and a float is what it is as a double.
    fn rounded_alike(&mut self, act: &Act, sort: Sort, args: &[Id]) -> Option<Id> {
        match (act, args) {
            (Act::FMul | Act::FDiv, [a, b]) => {
                let ((x, s), (y, t)) = (self.unsigned(*a), self.unsigned(*b));
                let (x, y) = (self.positive(x, sort), self.positive(y, sort));
                let minus = s ^ t ^ x.1 ^ y.1;
                let (x, y) = (x.0, y.0);
                if (x, y) != (*a, *b) {
                    let all = self.make(act.clone(), sort, vec![x, y]);
                    return Some(if minus { self.make(Act::FNeg, sort, vec![all]) } else { all });
                }
                let divisor = self.constant(*b).filter(|_| *act == Act::FDiv)?;
                let by = eval::number(divisor, sort);
                let back = 1.0 / by;
                let normal = if sort == Sort::F32 { (back as f32).is_normal() } else { back.is_normal() };
                let power = by.is_normal() && by.to_bits() & eval::mask(52) as u64 == 0;
                if !power || !normal {
                    return None;
                }
                let back = self.float(sort, back);
                Some(self.make(Act::FMul, sort, vec![*a, back]))
            }
            (Act::FAdd, [a, b]) if a == b => {
                let two = self.float(sort, 2.0);
                Some(self.make(Act::FMul, sort, vec![*a, two]))
            }
            (Act::FAdd, [a, b]) => {
                let zero = self.float(sort, -0.0);
                [(*a, *b), (*b, *a)].into_iter().find(|(_, k)| *k == zero).map(|(x, _)| x)
            }
            (Act::FFloat, [a]) => match self.node(*a).clone() {
                Node { act: Act::FFloat, args, sort: Sort::F64 } if self.sort(args[0]) == sort => {
                    Some(args[0])
                }
                // rounding to the nearest does not see the sign
                Node { act: Act::FNeg, args, .. } => {
                    let rounded = self.make(Act::FFloat, sort, vec![args[0]]);
                    Some(self.make(Act::FNeg, sort, vec![rounded]))
                }
                _ => None,
            },
            _ => None,
        }
    }
    /// A negative constant without its sign.
    fn positive(&mut self, a: Id, sort: Sort) -> (Id, bool) {
        match self.constant(a).map(|v| eval::number(v, sort)) {
            Some(v) if v < 0.0 => (self.float(sort, -v), true),
            _ => (a, false),
        }
    }
    fn opposite(&self, a: Id, b: Id) -> bool {
        let is_not = |x: Id, y: Id| matches!(self.node(x), Node { act: Act::Not, args, .. } if args[0] == y);
        is_not(a, b) || is_not(b, a)
    }

    /// Sums and products as sorted lists of operands; signs go outwards from products and inwards into sums, which is exact.
    fn regrouped(&mut self, act: &Act, sort: Sort, args: &[Id]) -> Option<Id> {
        let list = |g: &Self, of: &Act, a: Id| match g.node(a) {
            n if n.act == *of => n.args.clone(),
            _ => vec![a],
        };
        match (act, args) {
            (Act::FAdd, [a, b]) => {
                let mut all = list(self, &Act::FSum, *a);
                all.extend(list(self, &Act::FSum, *b));
                Some(self.listed(Act::FSum, Act::FAdd, sort, all))
            }
            (Act::FMul, [a, b]) => {
                let (a, minus) = self.unsigned(*a);
                let (b, other) = self.unsigned(*b);
                let mut all = list(self, &Act::FProduct, a);
                all.extend(list(self, &Act::FProduct, b));
                let product = self.listed(Act::FProduct, Act::FMul, sort, all);
                Some(if minus == other { product } else { self.make(Act::FNeg, sort, vec![product]) })
            }
            // contracted or not: it is the product added
            (Act::FFma, [a, b, c]) => {
                let product = self.make(Act::FMul, sort, vec![*a, *b]);
                Some(self.make(Act::FAdd, sort, vec![product, *c]))
            }
            (Act::FNeg, [a]) if self.node(*a).act == Act::FSum => {
                let parts = self.node(*a).args.clone();
                let parts = parts.into_iter().map(|p| self.make(Act::FNeg, sort, vec![p])).collect();
                Some(self.listed(Act::FSum, Act::FAdd, sort, parts))
            }
            // a whole power of the library is that product
            (Act::Function(name), [x, k]) if name == "pow" || name == "powf" => {
                let k = eval::number(self.constant(*k)?, sort);
                if !(k == 2.0 || k == 3.0 || k == 4.0) {
                    return None;
                }
                let mut product = *x;
                for _ in 1..k as u32 {
                    product = self.make(Act::FMul, sort, vec![product, *x]);
                }
                Some(product)
            }
            _ => None,
        }
    }
    fn unsigned(&self, a: Id) -> (Id, bool) {
        match self.node(a) {
            Node { act: Act::FNeg, args, .. } => (args[0], true),
            _ => (a, false),
        }
    }
    fn listed(&mut self, many: Act, two: Act, sort: Sort, all: Vec<Id>) -> Id {
        let (mut constants, mut rest): (Vec<Id>, Vec<Id>) =
            all.into_iter().partition(|a| self.constant(*a).is_some());
        constants.sort_unstable();
        let folded = constants.into_iter().reduce(|a, b| {
            let given = [(self.constant(a).unwrap_or(0), sort), (self.constant(b).unwrap_or(0), sort)];
            let node = Node { act: two.clone(), args: vec![a, b], sort };
            match eval::apply(&node, &given) {
                Some(v) => self.intern(Node { act: Act::Const(v), args: vec![], sort }),
                None => a,
            }
        });
        rest.extend(folded);
        rest.sort_unstable();
        match rest.as_slice() {
            [one] => *one,
            _ => self.intern(Node { act: many, args: rest, sort }),
        }
    }

    pub fn not(&mut self, a: Id) -> Id {
        self.make(Act::Not, Sort::Truth, vec![a])
    }
    pub fn and(&mut self, a: Id, b: Id) -> Id {
        self.make(Act::And, Sort::Truth, vec![a, b])
    }
    pub fn or(&mut self, a: Id, b: Id) -> Id {
        self.make(Act::Or, Sort::Truth, vec![a, b])
    }
    pub fn equal(&mut self, a: Id, b: Id) -> Id {
        self.make(Act::Eq, Sort::Truth, vec![a, b])
    }
    pub fn choose(&mut self, c: Id, a: Id, b: Id) -> Id {
        let sort = self.sort(a);
        self.make(Act::If, sort, vec![c, a, b])
    }
    /// All nodes that these are made of, operands first.
    pub fn below(&self, roots: &[Id]) -> Vec<Id> {
        let mut seen = vec![false; self.nodes.len()];
        let mut stack = roots.to_vec();
        while let Some(id) = stack.pop() {
            if !std::mem::replace(&mut seen[id.0 as usize], true) {
                stack.extend(&self.node(id).args);
            }
        }
        // operands are made before what they are operands of
        (0..self.nodes.len()).filter(|k| seen[*k]).map(|k| Id(k as u32)).collect()
    }
}
