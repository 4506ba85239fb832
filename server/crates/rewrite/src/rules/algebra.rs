//! Integer expressions as sums of products of variables, for guards that ask whether two of them are the same value.
//!
//! A variable that is set once, where it is declared, stands for what it is set to. Values are taken as whole numbers where
//! the language lets overflow mean nothing, and positions of threads are far from the ends of their types.
//! Deliberately absent: division, and what is read from memory.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};
use term::device::{Index, Word};
use term::{BinOp, IntKind, Op, Storage, SymbolId, TypeKind, Types, UnOp};

use super::matching::build;
use super::tree::{Node, Subject, Tree};
use crate::limits::rules_algebra::{MAX_DEPTH, MAX_TERMS};

/// Factors, by their numbers, in order.
type Product = Vec<usize>;

/// A number for each product; none is zero.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Sum(BTreeMap<Product, i128>);

impl Sum {
    pub fn constant(v: i128) -> Sum {
        let mut s = Sum::default();
        s.add(Vec::new(), v);
        s
    }
    fn add(&mut self, p: Product, v: i128) -> Option<()> {
        let sum = self.0.get(&p).copied().unwrap_or(0).checked_add(v)?;
        match sum {
            0 => self.0.remove(&p),
            n => self.0.insert(p, n),
        };
        Some(())
    }
    /// `self + k * other`
    pub fn plus(&self, other: &Sum, k: i128) -> Option<Sum> {
        let mut out = self.clone();
        for (p, v) in &other.0 {
            out.add(p.clone(), v.checked_mul(k)?)?;
        }
        Some(out)
    }
    fn times(&self, other: &Sum) -> Option<Sum> {
        let mut out = Sum::default();
        for (p, v) in &self.0 {
            for (q, w) in &other.0 {
                let mut r: Product = p.iter().chain(q).copied().collect();
                r.sort_unstable();
                out.add(r, v.checked_mul(*w)?)?;
            }
        }
        Some(out)
    }
    pub fn is_zero(&self) -> bool {
        self.0.is_empty()
    }
    /// Its value, if it is a number.
    pub fn number(&self) -> Option<i128> {
        match self.0.len() {
            0 => Some(0),
            1 => self.0.get(&Vec::new()).copied(),
            _ => None,
        }
    }
    fn mentions(&self, atom: usize) -> bool {
        self.0.keys().any(|p| p.contains(&atom))
    }
    /// The number before a lone factor, and what is left without it; `None` if the factor occurs otherwise.
    pub fn split(&self, atom: usize) -> Option<(i128, Sum)> {
        let mut rest = self.clone();
        let k = rest.0.remove(&vec![atom]).unwrap_or(0);
        (!rest.mentions(atom)).then_some((k, rest))
    }
    pub fn factors(&self) -> impl Iterator<Item = (&Product, i128)> {
        self.0.iter().map(|(p, v)| (p, *v))
    }
}

/// What sums are made of.
pub(super) struct Algebra<'a> {
    subject: &'a Subject,
    types: &'a Types,
    /// Threads of a block in each direction, where every launch gives the same.
    block: Option<[u32; 3]>,
    /// What stands for itself.
    kept: Vec<SymbolId>,
    pub atoms: Vec<Tree>,
    written: FxHashSet<SymbolId>,
    initial: FxHashMap<SymbolId, Tree>,
}

impl<'a> Algebra<'a> {
    /// `kept`: variables that are not replaced by what they are set to.
    pub fn new(
        subject: &'a Subject,
        types: &'a Types,
        block: Option<[u32; 3]>,
        kept: Vec<SymbolId>,
    ) -> Algebra<'a> {
        let (mut written, mut initial) = (FxHashSet::default(), FxHashMap::default());
        for n in subject.root.walk() {
            let Some(s) = n.args.first().and_then(|a| a.as_symbol()) else { continue };
            if n.op.is_write() || n.op == Op::AddrOf {
                written.insert(s);
            }
            if n.is("DeclarationAssignment") && n.args.len() == 3 {
                initial.insert(s, n.args[2].clone());
            }
        }
        Algebra { subject, types, block, kept, atoms: Vec::new(), written, initial }
    }

    /// The expression as a sum. `Err`: the part that is none.
    pub fn sum(&mut self, x: &Tree) -> Result<Sum, Tree> {
        self.of(x, 0, false)
    }
    pub fn atom(&mut self, x: &Tree) -> usize {
        match self.atoms.iter().position(|a| self.subject.same(a, x)) {
            Some(k) => k,
            None => {
                self.atoms.push(x.clone());
                self.atoms.len() - 1
            }
        }
    }
    fn single(&mut self, x: &Tree) -> Sum {
        let mut s = Sum::default();
        s.add(vec![self.atom(x)], 1);
        s
    }
    fn int(&self, x: &Tree) -> Option<IntKind> {
        x.ty.and_then(|t| self.types.as_int(t))
    }
    fn is_exact(&self, kind: IntKind) -> bool {
        self.subject.arithmetic().is_exact(kind)
    }
    /// Whether its value is the whole number that it looks like; what a rule made has no type sometimes.
    fn is_whole(&self, x: &Tree) -> bool {
        // positions of threads are unsigned, and in shorts nothing is computed
        let position = |k: IntKind| is_position(k) || self.subject.arithmetic().promotes(k);
        x.ty.is_none() || self.int(x).is_some_and(|k| self.is_exact(k) || position(k))
    }

    /// `inside`: in what a variable was set to, where variables that change are not what they are now.
    fn of(&mut self, x: &Tree, depth: u32, inside: bool) -> Result<Sum, Tree> {
        let no = || x.clone();
        if depth > MAX_DEPTH {
            return Err(no());
        }
        let out = match (&x.op, &*x.args) {
            (Op::Int(v), _) => Some(Sum::constant(*v)),
            (Op::Var(_), _) => Some(self.single(x)),
            (Op::Name(_), []) => Some(self.single(x)),
            (Op::Sym(s), _) => {
                if self.int(x).is_none() {
                    return Err(no());
                }
                let known = self.subject.symbol(*s);
                let stays = !self.written.contains(s)
                    && known.is_some_and(|k| {
                        matches!(k.storage, Storage::Local | Storage::Param(_)) && !k.address_taken
                    });
                if let Some(Storage::Constant(v)) = known.map(|k| k.storage) {
                    return Ok(Sum::constant(v));
                }
                if inside && !stays {
                    return Err(no());
                }
                let whole = self.int(x).is_some_and(|k| self.is_exact(k));
                let position = self.int(x).is_some_and(is_position);
                let fixed = stays && (whole || position) && !self.kept.contains(s);
                let set = self.initial.get(s).filter(|_| fixed).cloned();
                match set.and_then(|v| self.of(&v, depth + 1, true).ok()) {
                    // nothing that goes below zero is in an unsigned variable what it looks like
                    Some(sum) if whole || sum.factors().all(|(_, v)| v > 0) => Some(sum),
                    _ => Some(self.single(x)),
                }
            }
            (Op::Apply(h), [of, field]) if &**h == "Dot" => {
                let word = self.subject.word(of).unwrap_or("");
                let Some(Word::Index(index)) = gpu::CUDA.word(word) else {
                    return Err(no());
                };
                let axis = self.subject.word(field).and_then(term::device::axis);
                match (axis, self.block) {
                    (Some(axis), Some(block)) if index == Index::BlockSize => {
                        Some(Sum::constant(i128::from(block[axis])))
                    }
                    _ => Some(self.single(x)),
                }
            }
            (Op::Apply(h), [_, value]) if &**h == "Cast" => {
                let (to, from) = (self.int(x).ok_or_else(no)?, self.int(value));
                let index = value.is("Dot");
                let widens = from.is_some_and(|f| f.signed() && f.bits() <= to.bits());
                if !(to.signed() && (index || widens)) {
                    return Err(no());
                }
                Some(self.of(value, depth + 1, inside)?)
            }
            _ if !self.is_whole(x) => None,
            (Op::Unary(UnOp::Plus), [a]) => Some(self.of(a, depth + 1, inside)?),
            (Op::Unary(UnOp::Neg), [a]) => Sum::default().plus(&self.of(a, depth + 1, inside)?, -1),
            (Op::Binary(op @ (BinOp::Add | BinOp::Sub | BinOp::Mul)), [a, b]) => {
                let (a, b) = (self.of(a, depth + 1, inside)?, self.of(b, depth + 1, inside)?);
                match op {
                    BinOp::Add => a.plus(&b, 1),
                    BinOp::Sub => a.plus(&b, -1),
                    _ => a.times(&b),
                }
            }
            _ => None,
        };
        out.filter(|s| s.0.len() <= MAX_TERMS).ok_or_else(no)
    }

    /// What the variables of a rule that nothing has bound must be for the sum to be zero: numbers, or for a single one
    /// that is a factor what it takes. `None`: there is no answer, or not only one.
    pub fn solved(&self, zero: &Sum, unknown: &[usize]) -> Option<Vec<Sum>> {
        let mut rest = zero.clone();
        // the products before each unknown
        let mut by: Vec<Sum> = vec![Sum::default(); unknown.len()];
        for (p, v) in zero.0.iter() {
            let found: Vec<usize> = (0..unknown.len()).filter(|&k| p.contains(&unknown[k])).collect();
            let [k] = found[..] else {
                if found.is_empty() {
                    continue;
                }
                return None;
            };
            let mut p = p.clone();
            let at = p.iter().position(|a| *a == unknown[k])?;
            let whole = p.clone();
            p.remove(at);
            if p.contains(&unknown[k]) {
                return None;
            }
            by[k].add(p, *v)?;
            rest.0.remove(&whole);
        }
        let mut factors: Vec<(usize, Product, i128)> = Vec::new();
        for (k, of) in by.iter().enumerate() {
            let mut one = of.0.iter();
            let (Some((p, c)), None) = (one.next(), one.next()) else { return None };
            factors.push((k, p.clone(), *c));
        }
        let mut out = vec![Sum::default(); unknown.len()];
        if let [(_, p, c)] = &factors[..] {
            if !p.is_empty() {
                for (q, v) in &rest.0 {
                    let mut q = q.clone();
                    for a in p {
                        let at = q.iter().position(|b| b == a)?;
                        q.remove(at);
                    }
                    if v % c != 0 {
                        return None;
                    }
                    out[0].add(q, -(v / c))?;
                }
                return Some(out);
            }
        }
        // of several before one product, as in `30 * $dy + $dx`, the larger takes the nearest multiple
        factors.sort_by_key(|(_, _, c)| std::cmp::Reverse(c.unsigned_abs()));
        for (at, (k, p, c)) in factors.iter().enumerate() {
            let Some(v) = rest.0.remove(p) else { continue };
            let last = factors[at + 1..].iter().all(|f| f.1 != *p);
            let double = v.checked_mul(2)?.checked_add(c.checked_abs()?.checked_mul(v.signum())?)?;
            let times = if last { v / c } else { double / c.checked_mul(2)? };
            out[*k].add(Vec::new(), -times)?;
            rest.add(p.clone(), v.checked_sub(times.checked_mul(*c)?)?)?;
        }
        rest.is_zero().then_some(out)
    }

    /// Whether every variable of the sum keeps its value all the time.
    pub fn stays(&self, sum: &Sum) -> bool {
        let fixed = |a: &Tree| match &a.op {
            Op::Sym(s) => {
                !self.written.contains(s)
                    && self.subject.symbol(*s).is_some_and(|k| {
                        matches!(k.storage, Storage::Local | Storage::Param(_)) && !k.address_taken
                    })
            }
            _ => a.is("Dot"),
        };
        sum.0.keys().flatten().all(|&a| self.atoms.get(a).is_some_and(fixed))
    }

    /// What a variable is at least, because it is set once to a sum of positions and sizes of the launch.
    pub fn least(&mut self, s: SymbolId) -> Option<i128> {
        if self.written.contains(&s) || self.subject.symbol(s)?.address_taken {
            return None;
        }
        let value = self.initial.get(&s)?.clone();
        let sum = self.of(&value, 1, true).ok()?;
        let positive = |p: &Product| p.iter().all(|&a| self.atoms.get(a).is_some_and(|a| a.is("Dot")));
        let fine = sum.factors().all(|(p, v)| p.is_empty() || (v > 0 && positive(p)));
        fine.then(|| sum.0.get(&Vec::new()).copied().unwrap_or(0))
    }

    /// Whether both sides of a comparison are compared as signed numbers.
    pub fn compares_signed(&self, a: &Tree, b: &Tree) -> bool {
        let signed = |x: &Tree| match x.ty.map(|t| self.types.kind(t)) {
            Some(TypeKind::Int(k)) => k.signed() || self.subject.arithmetic().promotes(*k),
            Some(_) => false,
            None => x.as_int().is_some() || matches!(x.op, Op::Sym(_)),
        };
        signed(a) && signed(b)
    }
}

/// Types in which positions of threads are computed without a sign.
fn is_position(k: IntKind) -> bool {
    matches!(k, IntKind::UInt | IntKind::ULong | IntKind::ULongLong)
}

/// The sum written out, numbers last.
pub(super) fn written_out(types: &mut Types, atoms: &[Tree], sum: &Sum) -> Tree {
    let int = |types: &mut Types, v: i128| {
        let ty = types.int(if IntKind::Int.wrap(v) == v { IntKind::Int } else { IntKind::LongLong });
        Node::new(Op::Int(v), Vec::new(), Some(ty), None)
    };
    let mut out: Option<Tree> = None;
    let (first, last): (Vec<_>, Vec<_>) = sum.0.iter().partition(|(p, v)| !p.is_empty() && **v > 0);
    let (numbers, minus): (Vec<_>, Vec<_>) = last.into_iter().partition(|(p, _)| p.is_empty());
    for (p, v) in first.into_iter().chain(minus).chain(numbers) {
        let negative = *v < 0 && out.is_some();
        let k = if negative { -v } else { *v };
        let mut product = (k != 1 || p.is_empty()).then(|| int(types, k));
        for a in p {
            let Some(atom) = atoms.get(*a) else { continue };
            product = Some(match product {
                Some(x) => build(types, Op::Binary(BinOp::Mul), vec![x, atom.clone()], None),
                None => atom.clone(),
            });
        }
        let Some(product) = product else { continue };
        out = Some(match out {
            None => product,
            Some(x) if negative => build(types, Op::Binary(BinOp::Sub), vec![x, product], None),
            Some(x) => build(types, Op::Binary(BinOp::Add), vec![x, product], None),
        });
    }
    out.unwrap_or_else(|| int(types, 0))
}
