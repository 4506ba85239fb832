//! What a value that is no linear form of the inputs is made of: a tree that can be computed again for other inputs. Like all
//! shadows it only guides the search (`search`): a run decides with the new inputs.

use std::rc::Rc;

use term::{Arithmetic, BinOp, FloatKind, IntKind};

use super::values::HELPERS;
use super::values::{compare, integer, math, rounded, Fact, Id, Linear, Number, Rel, Shadow, Value};
use crate::limits::replay_witness_formula::MAX_NODES;

#[derive(Clone, PartialEq, Debug)]
pub(super) struct Tree(Rc<(Node, u32)>);

#[derive(Clone, PartialEq, Debug)]
enum Node {
    Input(Id),
    Linear(Linear),
    Int(i128),
    Real(f64),
    Ints(BinOp, Arithmetic, IntKind, Tree, Tree),
    Reals(BinOp, FloatKind, Tree, Tree),
    CompareInts(BinOp, Tree, Tree),
    CompareReals(BinOp, Tree, Tree),
    Not(Tree),
    ToInt(IntKind, Tree),
    ToReal(FloatKind, Tree),
    Math(Rc<str>, FloatKind, Vec<Tree>),
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Plain {
    Int(i128),
    Real(f64),
}

impl Plain {
    fn int(self) -> Option<i128> {
        match self {
            Plain::Int(n) => Some(n),
            Plain::Real(_) => None,
        }
    }
    fn real(self) -> f64 {
        match self {
            Plain::Int(n) => n as f64,
            Plain::Real(r) => r,
        }
    }
    pub fn holds(self) -> bool {
        match self {
            Plain::Int(n) => n != 0,
            Plain::Real(r) => r != 0.0,
        }
    }
}

impl Tree {
    fn new(node: Node) -> Option<Tree> {
        let below: u32 = node.kids().iter().map(|k| k.0 .1).sum();
        (below < MAX_NODES).then(|| Tree(Rc::new((node, below + 1))))
    }

    /// Whether a fact holds.
    pub fn of_fact(f: &Fact) -> Option<Tree> {
        if f.form.terms.iter().any(|(id, _)| *id >= HELPERS) {
            return None;
        }
        let op = match f.rel {
            Rel::Least => BinOp::Ge,
            Rel::Zero => BinOp::Eq,
            Rel::NotZero => BinOp::Ne,
        };
        Tree::new(Node::CompareInts(op, Tree::new(Node::Linear(f.form.clone()))?, Tree::new(Node::Int(0))?))
    }

    /// What a value is made of.
    pub fn of(v: &Value) -> Option<Tree> {
        match (&v.shadow, &v.number) {
            (Shadow::Tree(t), _) => Some(t.clone()),
            (Shadow::Input(id), Number::Real(_)) => Tree::new(Node::Input(*id)),
            (Shadow::Value(f), _) => {
                let whole = f.terms.iter().all(|(id, _)| *id < HELPERS);
                whole.then(|| Tree::new(Node::Linear((**f).clone())))?
            }
            (_, Number::Int(n)) => Tree::new(Node::Int(*n)),
            (_, Number::Real(r) | Number::About(r, _)) => Tree::new(Node::Real(*r)),
            _ => None,
        }
    }

    /// The tree of both, if an input is in it.
    fn both(a: &Value, b: &Value, make: impl FnOnce(Tree, Tree) -> Node) -> Shadow {
        let moves = |v: &Value| !matches!(v.shadow, Shadow::None);
        if !moves(a) && !moves(b) {
            return Shadow::None;
        }
        let tree = Tree::of(a).zip(Tree::of(b)).and_then(|(a, b)| Tree::new(make(a, b)));
        tree.map_or(Shadow::None, Shadow::Tree)
    }

    fn one(a: &Value, make: impl FnOnce(Tree) -> Node) -> Shadow {
        if matches!(a.shadow, Shadow::None) {
            return Shadow::None;
        }
        Tree::of(a).and_then(|a| Tree::new(make(a))).map_or(Shadow::None, Shadow::Tree)
    }

    pub fn ints(op: BinOp, m: Arithmetic, k: IntKind, a: &Value, b: &Value) -> Shadow {
        Tree::both(a, b, |a, b| match op.is_comparison() {
            true => Node::CompareInts(op, a, b),
            false => Node::Ints(op, m, k, a, b),
        })
    }

    pub fn reals(op: BinOp, k: FloatKind, a: &Value, b: &Value) -> Shadow {
        Tree::both(a, b, |a, b| match op.is_comparison() {
            true => Node::CompareReals(op, a, b),
            false => Node::Reals(op, k, a, b),
        })
    }

    pub fn not(a: &Value) -> Shadow {
        Tree::one(a, Node::Not)
    }

    pub fn to_int(k: IntKind, a: &Value) -> Shadow {
        Tree::one(a, |a| Node::ToInt(k, a))
    }

    pub fn to_real(k: FloatKind, a: &Value) -> Shadow {
        Tree::one(a, |a| Node::ToReal(k, a))
    }

    pub fn math(name: &str, k: FloatKind, args: &[Value]) -> Shadow {
        if args.iter().all(|a| matches!(a.shadow, Shadow::None)) {
            return Shadow::None;
        }
        let trees: Option<Vec<Tree>> = args.iter().map(Tree::of).collect();
        let tree = trees.and_then(|all| Tree::new(Node::Math(name.into(), k, all)));
        tree.map_or(Shadow::None, Shadow::Tree)
    }

    /// Its value for these inputs; `None`: undefined or not computed.
    pub fn value(&self, input: &impl Fn(Id) -> Option<Plain>) -> Option<Plain> {
        let real = |t: &Tree| t.value(input).map(Plain::real);
        Some(match &self.0 .0 {
            Node::Input(id) => input(*id)?,
            Node::Linear(f) => {
                let mut sum = f.constant;
                for (id, c) in &f.terms {
                    sum = sum.checked_add(c.checked_mul(input(*id)?.int()?)?)?;
                }
                Plain::Int(sum)
            }
            Node::Int(n) => Plain::Int(*n),
            Node::Real(r) => Plain::Real(*r),
            Node::Ints(op, m, k, a, b) => {
                let (a, b) = (a.value(input)?.int()?, b.value(input)?.int()?);
                Plain::Int(integer(*m, *op, k.wrap(a), b, *k)?)
            }
            Node::Reals(op, k, a, b) => {
                let (a, b) = (real(a)?, real(b)?);
                Plain::Real(rounded(*k, super::values::arithmetic(*op, a, b)?))
            }
            Node::CompareInts(op, a, b) => {
                let (a, b) = (a.value(input)?.int()?, b.value(input)?.int()?);
                Plain::Int(compare(*op, a, b).into())
            }
            Node::CompareReals(op, a, b) => Plain::Int(compare(*op, real(a)?, real(b)?).into()),
            Node::Not(a) => Plain::Int((!a.value(input)?.holds()).into()),
            Node::ToInt(k, a) => match a.value(input)? {
                Plain::Int(n) => Plain::Int(k.wrap(n)),
                Plain::Real(r) => {
                    let cut = r.trunc();
                    let fits = cut.is_finite()
                        && cut >= term::IntKind::min(*k) as f64
                        && cut <= term::IntKind::max(*k) as f64;
                    Plain::Int(fits.then_some(cut as i128)?)
                }
            },
            Node::ToReal(k, a) => Plain::Real(rounded(*k, real(a)?)),
            Node::Math(name, k, args) => {
                let x = real(args.first()?)?;
                let y = args.get(1).and_then(real);
                Plain::Real(rounded(*k, math(name, x, y)?.0))
            }
        })
    }

    /// The inputs in it.
    pub fn inputs(&self) -> Vec<Id> {
        let mut out = Vec::new();
        self.each(&mut |n| match n {
            Node::Input(id) if !out.contains(id) => out.push(*id),
            Node::Linear(f) => {
                for (id, _) in &f.terms {
                    if !out.contains(id) {
                        out.push(*id);
                    }
                }
            }
            _ => {}
        });
        out
    }

    /// What the two sides of a comparison are now: what an input has to be for them to change places.
    pub fn sides(&self, input: &impl Fn(Id) -> Option<Plain>) -> Vec<f64> {
        match &self.0 .0 {
            Node::CompareInts(_, a, b) | Node::CompareReals(_, a, b) => {
                [a, b].into_iter().filter_map(|t| t.value(input).map(Plain::real)).collect()
            }
            Node::Not(a) => a.sides(input),
            _ => Vec::new(),
        }
    }

    /// The numbers in it, which values on both sides of are worth trying.
    pub fn numbers(&self) -> Vec<f64> {
        let mut out = Vec::new();
        let mut add = |x: f64| {
            if x.is_finite() && !out.contains(&x) {
                out.push(x);
            }
        };
        self.each(&mut |n| match n {
            Node::Int(n) => add(*n as f64),
            Node::Real(r) => add(*r),
            Node::Linear(f) => add(-f.constant as f64),
            _ => {}
        });
        out
    }

    fn each(&self, f: &mut impl FnMut(&Node)) {
        f(&self.0 .0);
        for k in self.0 .0.kids() {
            k.each(f);
        }
    }
}

impl Node {
    fn kids(&self) -> Vec<&Tree> {
        match self {
            Node::Input(_) | Node::Linear(_) | Node::Int(_) | Node::Real(_) => Vec::new(),
            Node::Ints(_, _, _, a, b)
            | Node::Reals(_, _, a, b)
            | Node::CompareInts(_, a, b)
            | Node::CompareReals(_, a, b) => vec![a, b],
            Node::Not(a) | Node::ToInt(_, a) | Node::ToReal(_, a) => vec![a],
            Node::Math(_, _, all) => all.iter().collect(),
        }
    }
}
