//! A pattern against a tree, and a pattern filled in.
//!
//! Variables of a program are matched by identity: the same `$x` twice stands for one variable of the program, not for
//! two of one name. A rule's own words match by name. Deliberately absent: where and how often (see `run`).

use std::sync::Arc;

use term::{BinOp, FloatKind, IntKind, Op, TypeId, TypeKind, Types};

use super::pattern::{blocks, Literal, Pattern};
use super::tree::{Node, Subject, Tree};

/// What variables stand for, in the order in which they were found.
#[derive(Clone, Debug, Default)]
pub struct Bindings {
    pairs: Vec<(Arc<str>, Tree)>,
}

impl Bindings {
    pub fn get(&self, name: &str) -> Option<&Tree> {
        self.pairs.iter().find(|(n, _)| **n == *name).map(|(_, t)| t)
    }
    /// Binds a variable that is not bound yet.
    pub fn bind(&mut self, name: &Arc<str>, tree: Tree) {
        self.pairs.push((name.clone(), tree));
    }
    /// Gives a bound variable another tree.
    fn rebind(&mut self, name: &str, tree: Tree) {
        if let Some(p) = self.pairs.iter_mut().find(|(n, _)| **n == *name) {
            p.1 = tree;
        }
    }
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Tree)> {
        self.pairs.iter().map(|(n, t)| (&**n, t))
    }
}

/// Matches a tree; on failure the bindings are as before.
pub fn matches(subject: &Subject, types: &Types, p: &Pattern, n: &Tree, b: &mut Bindings) -> bool {
    let before = b.pairs.len();
    let fits = fits(subject, types, p, n, b, &mut ());
    if !fits {
        b.pairs.truncate(before);
    }
    fits
}

/// Who looks on while a pattern is held against a tree.
pub(super) trait Watch {
    /// A part of the pattern is what stands there.
    fn met(&mut self, _: &Tree) {}
    /// This part is not: the first one ends it.
    fn missed(&mut self, _: &Pattern, _: &Tree) {}
}

/// Nobody.
impl Watch for () {}

/// Whether the pattern fits, part by part from the left; what was bound on the way stays bound.
pub(super) fn fits<W: Watch>(
    subject: &Subject,
    types: &Types,
    p: &Pattern,
    n: &Tree,
    b: &mut Bindings,
    watch: &mut W,
) -> bool {
    let parts = match p {
        Pattern::Variable { name, test } => {
            let wanted = test.as_ref().is_none_or(|t| t.holds(types, n));
            let known = b.get(name).map(|known| subject.same(known, n));
            if wanted && known.is_none() {
                b.bind(name, n.clone());
            }
            Here::Leaf(wanted && known != Some(false))
        }
        Pattern::Cons(head, tail) => match (&n.op, &*n.args) {
            (Op::List, [first, rest @ ..]) => {
                let fits = fits(subject, types, head, first, b, watch)
                    && match &**tail {
                        // walking down a list must not copy what nobody asks for
                        Pattern::Term(Op::List, none) if none.is_empty() && rest.is_empty() => true,
                        tail => fits(subject, types, tail, &Node::list(rest.to_vec()), b, watch),
                    };
                Here::Parts(fits)
            }
            (Op::Cons, [first, rest]) => Here::Parts(
                fits(subject, types, head, first, b, watch) && fits(subject, types, tail, rest, b, watch),
            ),
            _ => Here::Leaf(false),
        },
        Pattern::Literal(l) => Here::Leaf(is_literal(subject, types, l, n)),
        Pattern::Term(op, args) if *op == n.op && args.len() == n.args.len() => {
            watch.met(n);
            Here::Parts(args.iter().zip(n.args.iter()).all(|(p, n)| fits(subject, types, p, n, b, watch)))
        }
        Pattern::Term(..) => Here::Leaf(false),
    };
    match parts {
        Here::Leaf(true) => watch.met(n),
        Here::Leaf(false) => watch.missed(p, n),
        Here::Parts(_) => {}
    }
    matches!(parts, Here::Leaf(true) | Here::Parts(true))
}

/// What decided whether a pattern fits.
enum Here {
    /// It itself.
    Leaf(bool),
    /// Its parts.
    Parts(bool),
}

fn is_literal(subject: &Subject, types: &Types, l: &Literal, n: &Tree) -> bool {
    match l {
        Literal::Word(w) => {
            let head = matches!(&n.op, Op::Apply(h) if h == w);
            n.args.is_empty() && (head || subject.word(n) == Some(w))
        }
        Literal::Int(v, kind) => {
            n.as_int() == Some(*v)
                && n.ty.is_none_or(|t| match (types.kind(t), kind) {
                    (TypeKind::Int(k), Some(want)) => k == want,
                    (TypeKind::Int(k), None) => matches!(k, IntKind::Int | IntKind::Char | IntKind::Bool),
                    _ => true,
                })
        }
        Literal::Float(v, kind) => {
            n.op == Op::Float(*v)
                && n.ty.is_none_or(|t| types.as_float(t) == Some(kind.unwrap_or(FloatKind::F64)))
        }
        Literal::Text(s) => matches!(&n.op, Op::Str(t) if t == s),
    }
}

/// Fills in a pattern. Arithmetic of constants is done (`$n/2`), a tail that is a list joins its list, and made
/// expressions get the types C gives them. `Err` names a variable that nothing is bound to.
pub fn fill(types: &mut Types, p: &Pattern, b: &Bindings) -> Result<Tree, Arc<str>> {
    match p {
        Pattern::Variable { name, .. } => b.get(name).cloned().ok_or_else(|| name.clone()),
        Pattern::Cons(h, t) => {
            let (h, t) = (fill(types, h, b)?, fill(types, t, b)?);
            Ok(cons(h, t))
        }
        Pattern::Literal(l) => {
            let (op, ty) = match l {
                Literal::Word(w) => return Ok(Node::name(w)),
                Literal::Int(v, k) => (Op::Int(*v), Some(types.int(k.unwrap_or(IntKind::Int)))),
                Literal::Float(v, k) => (Op::Float(*v), Some(types.float(k.unwrap_or(FloatKind::F64)))),
                Literal::Text(s) => (Op::Str(s.clone()), None),
            };
            Ok(Node::new(op, Vec::new(), ty, None))
        }
        Pattern::Term(op, args) => {
            let filled: Result<Vec<Tree>, _> = args.iter().map(|a| fill(types, a, b)).collect();
            let filled = filled?;
            if let Some(plain) = with_number(types, op, args, &filled) {
                return Ok(plain);
            }
            Ok(build(types, op.clone(), filled, None))
        }
    }
}

/// `x + $n` and `x - $n`, where a number was found for `$n` or `x` was found to be a sum that ends in one: as people
/// write it, `x` or with one positive number.
fn with_number(types: &mut Types, op: &Op, args: &[Pattern], filled: &[Tree]) -> Option<Tree> {
    let (Op::Binary(op @ (BinOp::Add | BinOp::Sub)), [_, q], [x, n]) = (op, args, filled) else {
        return None;
    };
    let variable = |p: &Pattern| matches!(p, Pattern::Variable { .. });
    let made = |n: &Tree| n.as_int().filter(|_| n.from.is_none() && n.alias.is_none());
    let signed = |op: BinOp, v: i128| if op == BinOp::Sub { v.checked_neg() } else { Some(v) };
    let v = signed(*op, made(n)?)?;
    let (x, v) = match (&x.op, &*x.args) {
        (Op::Binary(inner @ (BinOp::Add | BinOp::Sub)), [y, m])
            if x.from.is_none() && y.as_int().is_none() && made(m).is_some() =>
        {
            (y, signed(*inner, made(m)?)?.checked_add(v)?)
        }
        _ if variable(q) && x.as_int().is_none() => (x, v),
        _ => return None,
    };
    if v == 0 {
        // of floating numbers -0.0 + 0 is +0.0
        let floating = x.ty.is_some_and(|t| types.as_float(t).is_some());
        return (!floating).then(|| x.clone());
    }
    let number = Node::new(Op::Int(v.checked_abs()?), Vec::new(), n.ty, None);
    let op = if v < 0 { BinOp::Sub } else { BinOp::Add };
    Some(build(types, Op::Binary(op), vec![x.clone(), number], None))
}

/// Gives names that a destination declares the types it declares them with, so that what it makes of them has types.
pub fn declare_types(types: &mut Types, p: &Pattern, b: &mut Bindings) {
    let Pattern::Term(op, args) = p else {
        if let Pattern::Cons(h, t) = p {
            declare_types(types, h, b);
            declare_types(types, t, b);
        }
        return;
    };
    let array = matches!(op, Op::Apply(h) if &**h == "ArrayDeclaration");
    let declares = array || matches!(op, Op::Apply(h) if h.starts_with("Declaration"));
    if let (true, [Pattern::Variable { name, .. }, ty, ..]) = (declares, args.as_slice()) {
        let ty = match ty {
            Pattern::Literal(Literal::Word(w)) => named_type(types, w),
            Pattern::Variable { name, .. } => b.get(name).and_then(|t| t.ty),
            _ => None,
        };
        let made = b.get(name).filter(|n| n.ty.is_none()).map(|n| n.op.clone());
        if let (Some(op @ Op::Name(_)), Some(ty)) = (made, ty) {
            let dimensions = match args.get(2) {
                Some(Pattern::Term(Op::List, extents)) if array => extents.len(),
                _ => usize::from(array),
            };
            let ty = (0..dimensions).fold(ty, |ty, _| types.pointer(ty));
            b.rebind(name, Node::new(op, Vec::new(), Some(ty), None));
        }
    }
    args.iter().for_each(|a| declare_types(types, a, b));
}

/// An arithmetic type by its name.
fn named_type(types: &mut Types, word: &str) -> Option<TypeId> {
    use IntKind::{Char, Int, Long, LongLong, Short, UChar, UInt, ULong, ULongLong, UShort};
    match word {
        "float" => return Some(types.float(FloatKind::F32)),
        "double" => return Some(types.float(FloatKind::F64)),
        _ => {}
    }
    let kinds = [Int, UInt, Char, UChar, Short, UShort, Long, ULong, LongLong, ULongLong];
    kinds.into_iter().find(|k| k.c_name() == word).map(|k| types.int(k))
}

/// `[head:tail]`; a list as soon as the tail is one. A head that is a list made by a rule stands for its items.
pub fn cons(head: Tree, tail: Tree) -> Tree {
    match tail.op {
        Op::List => {
            let mut items = match head.op {
                Op::List if head.from.is_none() => head.args.to_vec(),
                _ => vec![head],
            };
            items.extend(tail.args.iter().cloned());
            Node::list(items)
        }
        _ => Node::new(Op::Cons, vec![head, tail], None, None),
    }
}

/// A node with these arguments where `of` stood (if it stood anywhere): blocks are lists, constants are computed.
pub fn build(types: &mut Types, op: Op, mut args: Vec<Tree>, of: Option<&Node>) -> Tree {
    for &k in blocks(&op, args.len()) {
        if !matches!(args[k].op, Op::List | Op::Cons) {
            let lone = args[k].clone();
            args[k] = Node::list(vec![lone]);
        }
    }
    // no argument of a call is a list: one that a rule made is its items
    if op == Op::Call && args.iter().any(|a| a.op == Op::List) {
        args =
            args.into_iter().flat_map(|a| if a.op == Op::List { a.args.to_vec() } else { vec![a] }).collect();
    }
    if op == Op::Cons && args.len() == 2 && args[1].op == Op::List {
        let tail = args.pop();
        let head = args.pop();
        if let (Some(h), Some(t)) = (head, tail) {
            return cons(h, t);
        }
    }
    if let (Op::Binary(b), [x, y]) = (&op, args.as_slice()) {
        if let Some(v) = folded(types, *b, x, y) {
            return Node::new(Op::Int(v), Vec::new(), Some(types.int(IntKind::Int)), None);
        }
    }
    let ty = type_of(types, &op, &args).or_else(|| {
        // what stood there keeps its type as long as its parts keep theirs
        let of = of?;
        let same = of.args.len() == args.len() && of.args.iter().zip(&args).all(|(a, b)| a.ty == b.ty);
        of.ty.filter(|_| same)
    });
    match of {
        Some(of) => of.with_args(args, ty),
        None => Node::new(op, args, ty, None),
    }
}

/// The value of an operation on two plain numbers that a rule wrote.
fn folded(types: &Types, op: BinOp, x: &Tree, y: &Tree) -> Option<i128> {
    let plain = |n: &Tree| {
        let int = n.ty.is_none_or(|t| types.as_int(t) == Some(IntKind::Int));
        n.as_int().filter(|_| int && n.alias.is_none())
    };
    let (a, b) = (plain(x)?, plain(y)?);
    let v = match op {
        BinOp::Add => a.checked_add(b)?,
        BinOp::Sub => a.checked_sub(b)?,
        BinOp::Mul => a.checked_mul(b)?,
        BinOp::Div if b != 0 => a.checked_div(b)?,
        BinOp::Rem if b != 0 => a.checked_rem(b)?,
        BinOp::BitAnd => a & b,
        BinOp::BitOr => a | b,
        BinOp::BitXor => a ^ b,
        _ => return None,
    };
    (IntKind::Int.wrap(v) == v).then_some(v)
}

fn type_of(types: &mut Types, op: &Op, args: &[Tree]) -> Option<TypeId> {
    let ty = |k: usize| args.get(k).and_then(|a| a.ty);
    match op {
        Op::Binary(b) if b.is_comparison() || b.is_logical() => Some(types.int(IntKind::Int)),
        Op::Binary(b) => types.operation_type(*b, ty(0)?, ty(1)?),
        Op::Unary(term::UnOp::Not) => Some(types.int(IntKind::Int)),
        Op::Unary(_) => types.operation_type(BinOp::Shl, ty(0)?, ty(0)?).or_else(|| {
            let t = ty(0)?;
            types.as_float(t).map(|_| t)
        }),
        Op::Assign | Op::Compound(_) | Op::Step { .. } => ty(0),
        Op::Index => types.element(ty(0)?),
        Op::Comma => ty(1),
        Op::Select => types.operation_type(BinOp::Add, ty(1)?, ty(2)?),
        _ => None,
    }
}
