//! Guards that find something out: they bind variables to what makes them hold.
//!
//! Deliberately absent: dependences (`prove`), and what only a run can tell.

use std::sync::Arc;

use analysis::{launch_extent_terms, launch_extents, launch_value};
use front::Item;
use term::{BinOp, Body, Op, TermId, UnOp};

use super::algebra::{written_out, Algebra, Sum};
use super::guard::{Guard, Side};
use super::matching::{fill, matches, Bindings};
use super::pattern::Pattern;
use super::prove::Asking;
use super::tree::{macro_word, Node, Subject, Tree};

/// A variable of the rule that nothing has bound yet.
fn open(name: &Arc<str>) -> Tree {
    Node::new(Op::Var(name.clone()), Vec::new(), None, None)
}

impl Asking<'_> {
    /// The pattern with what is bound, and the variables that are not.
    fn partly(&mut self, p: &Pattern, b: &Bindings) -> Result<(Tree, Vec<Arc<str>>), String> {
        let mut all = Vec::new();
        p.variables(&mut all);
        let (mut with, mut unbound) = (b.clone(), Vec::new());
        for v in all {
            if with.get(v).is_none() {
                with.bind(v, open(v));
                unbound.push(v.clone());
            }
        }
        let tree = fill(self.types, p, &with).map_err(|v| format!("`${v}` is not bound"))?;
        Ok((tree, unbound))
    }

    /// `equals($e,$f)`: the same sum of products; what is not bound in `$f` becomes what makes it so.
    pub(super) fn equals(&mut self, x: &Pattern, y: &Pattern, b: &mut Bindings) -> Result<String, String> {
        let x = self.filled(x, b)?;
        let (y, unbound) = self.partly(y, b)?;
        // variables that the rule names are meant as they are
        let kept = y.walk().filter_map(|n| n.as_symbol()).collect();
        let block = self.block().map(|b| b.extents);
        let mut algebra = Algebra::new(self.subject, self.types, block, kept);
        let shown = |t: &Tree| self.subject.print(t);
        let not = |t: Tree| format!("`{}` is no sum of products of integers", shown(&t));
        let (l, r) = (algebra.sum(&x).map_err(not)?, algebra.sum(&y).map_err(not)?);
        let apart = || match unbound.is_empty() {
            true => format!("`{}` is not `{}`", shown(&x), shown(&y)),
            false => format!("`{}` is not `{}` for any numbers", shown(&x), shown(&y)),
        };
        let zero = l.plus(&r, -1).ok_or_else(apart)?;
        if unbound.is_empty() {
            return match zero.is_zero() {
                true => Ok("they are the same sum".to_owned()),
                false => Err(apart()),
            };
        }
        let unknown: Vec<usize> = unbound.iter().map(|v| algebra.atom(&open(v))).collect();
        let found = algebra.solved(&zero, &unknown).ok_or_else(apart)?;
        let atoms = algebra.atoms;
        for (v, sum) in unbound.iter().zip(&found) {
            let tree = written_out(self.types, &atoms, sum);
            b.bind(v, tree);
        }
        Ok("both are the same sum then".to_owned())
    }

    /// `box($p,$i,$low,$high,…)`: `$p` holds exactly where each `$i` is in `$low <= $i && $i < $high`.
    pub(super) fn in_box(&mut self, p: &Pattern, sides: &[Side], b: &mut Bindings) -> Result<String, String> {
        let p = self.filled(p, b)?;
        let mut indices = Vec::new();
        for side in sides {
            indices.push(self.filled(&side.index, b)?);
        }
        let kept = indices.iter().filter_map(|i| i.as_symbol()).collect();
        let block = self.block().map(|b| b.extents);
        let mut algebra = Algebra::new(self.subject, self.types, block, kept);
        let atoms: Vec<usize> = indices.iter().map(|i| algebra.atom(i)).collect();
        let shown = |t: &Tree| self.subject.print(t);

        let mut parts = Vec::new();
        conjuncts(&p, false, &mut parts).map_err(|t| format!("`{}` is no comparison", shown(&t)))?;
        let Signs { positive, nonzero } = Signs::of(&parts, &mut algebra, self.subject, &indices)?;
        let mut least = |i: &Tree| i.as_symbol().and_then(|s| algebra.least(s)).map(Sum::constant);
        let mut ranges: Vec<Range> = indices.iter().map(|i| Range { low: least(i), high: None }).collect();
        let too_much =
            || "a comparison is of more than one of the indices with what stays the same".to_owned();
        for sum in positive {
            let (k, c, rest) = sum.and_then(|s| one_of(&s, &atoms)).ok_or_else(too_much)?;
            if !algebra.stays(&rest) {
                return Err("a bound may change".to_owned());
            }
            // c * index + rest >= 0
            let unclear = |which: &str, how: &str| {
                format!("it is not known which of two {which} bounds of `{}` is {how}", shown(&indices[k]))
            };
            if c == 1 {
                let low = Sum::default().plus(&rest, -1).ok_or_else(too_much)?;
                ranges[k].raise(low).ok_or_else(|| unclear("lower", "larger"))?;
            } else {
                let high = rest.plus(&Sum::constant(1), 1).ok_or_else(too_much)?;
                ranges[k].cut(high).ok_or_else(|| unclear("upper", "smaller"))?;
            }
        }
        for sum in nonzero {
            let (k, c, rest) = sum.and_then(|s| one_of(&s, &atoms)).ok_or_else(too_much)?;
            // the index is not `-rest / c`
            let at = Sum::default().plus(&rest, -c).ok_or_else(too_much)?;
            let inside = || format!("`{}` may not be a value inside its range", shown(&indices[k]));
            ranges[k].leave_out(at).ok_or_else(inside)?;
        }
        let mut out = Vec::new();
        for ((side, range), index) in sides.iter().zip(ranges).zip(&indices) {
            let Range { low: Some(low), high: Some(high) } = range else {
                return Err(format!("nothing keeps `{}` in a range", shown(index)));
            };
            out.push((&side.low, low));
            out.push((&side.high, high));
        }
        let atoms = algebra.atoms;
        for (name, sum) in out {
            let tree = written_out(self.types, &atoms, &sum);
            b.bind(name, tree);
        }
        Ok("its comparisons are these bounds, one by one".to_owned())
    }

    /// `has($t,place,guard…)`: the first place in `$t` that matches and of which the guards hold.
    pub(super) fn has(
        &mut self,
        x: &Pattern,
        place: &Pattern,
        guards: &[Guard],
        b: &mut Bindings,
    ) -> Result<String, String> {
        let x = self.filled(x, b)?;
        let mut missing = None;
        for n in x.walk() {
            let mut trial = b.clone();
            if !matches(self.subject, self.types, place, &n, &mut trial) {
                continue;
            }
            match guards.iter().try_for_each(|g| self.prove(g, &mut trial).map(|_| ())) {
                Ok(()) => {
                    *b = trial;
                    return Ok(format!("`{}` is one", self.subject.print(&n)));
                }
                Err(why) => missing = Some(why),
            }
        }
        Err(missing.unwrap_or_else(|| format!("nothing there is `{}`", place.text())))
    }

    /// `blocks($x,$y)`: every launch in the file gives blocks of this shape.
    pub(super) fn blocks(&mut self, names: &[Arc<str>], b: &mut Bindings) -> Result<String, String> {
        let Some(block) = self.block() else {
            return Err("no launch in the file says how many threads a block has, or they differ".to_owned());
        };
        if block.extents[names.len()..].iter().any(|&n| n != 1) {
            return Err(format!("blocks are of {:?} threads", block.extents));
        }
        for (k, name) in names.iter().enumerate() {
            let value = block.extents[k];
            let ty = Some(self.types.int(term::IntKind::Int));
            let tree = Node::with_alias(Op::Int(value.into()), Vec::new(), ty, None, block.words[k].clone());
            match b.get(name).map(|t| t.as_int()) {
                None => b.bind(name, tree),
                Some(Some(v)) if v == i128::from(value) => {}
                Some(_) => return Err(format!("blocks are of {:?} threads", block.extents)),
            }
        }
        Ok("every launch in the file says so".to_owned())
    }

    /// `applied($f)`: this run has rewritten the kernel.
    pub(super) fn applied(&mut self, f: &Pattern, b: &Bindings) -> Result<String, String> {
        let f = self.filled(f, b)?;
        let name = self.subject.word(&f).unwrap_or("");
        match self.ground.is_some_and(|g| g.together.kernels.iter().any(|(_, k)| **k == *name)) {
            true => Ok("it is rewritten together with this".to_owned()),
            false => Err(format!("`{name}` is not rewritten")),
        }
    }

    /// How the file launches the function that is rewritten.
    fn block(&self) -> Option<Block> {
        let others = self.ground?.others;
        let own = others.items.get(others.item).filter(|i| i.is_kernel)?;
        let mut found: Option<Block> = None;
        for host in others.items {
            let body = &*host.body;
            for t in body.walk(body.root).filter(|&t| *body.op(t) == Op::Launch) {
                let [callee, _, block, ..] = body.args(t) else { return None };
                // a launch of nobody knows which kernel
                let name = body.as_name(*callee)?;
                if *name != own.name {
                    continue;
                }
                let one = self.one_launch(host, body, *block, own.span.start)?;
                match &mut found {
                    None => found = Some(one),
                    Some(known) if known.extents == one.extents => {
                        for (a, b) in known.words.iter_mut().zip(one.words) {
                            if *a != b {
                                *a = None;
                            }
                        }
                    }
                    Some(_) => return None,
                }
            }
        }
        found
    }
    fn one_launch(&self, host: &Item, body: &Body, block: TermId, before: u32) -> Option<Block> {
        let text = self.ground?.text;
        let mut out = Block { extents: launch_extents(body, block)?, words: [None, None, None] };
        for (k, t) in launch_extent_terms(body, block)?.into_iter().enumerate() {
            launch_value(body, t)?;
            let word = macro_word(body, text, host.span.start, t);
            // it can be used in the kernel if it is known there
            let known = |w: &Arc<str>| {
                text.get(..before as usize)
                    .is_some_and(|t| t.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|x| *x == **w))
            };
            out.words[k] = word.filter(known);
        }
        Some(out)
    }
}

/// The shape of a kernel's blocks.
struct Block {
    extents: [u32; 3],
    /// The macros they are written with.
    words: [Option<Arc<str>>; 3],
}

type Comparison = (BinOp, Tree, Tree);

/// The comparisons that all hold where a condition (or its contrary) does. `Err`: what is none.
fn conjuncts(p: &Tree, negated: bool, out: &mut Vec<Comparison>) -> Result<(), Tree> {
    match (&p.op, &*p.args) {
        (Op::Unary(UnOp::Not), [inner]) => conjuncts(inner, !negated, out),
        (Op::Binary(op), [a, b]) if (*op == BinOp::And && !negated) || (*op == BinOp::Or && negated) => {
            conjuncts(a, negated, out)?;
            conjuncts(b, negated, out)
        }
        (Op::Binary(op), [a, b]) if op.is_comparison() => {
            let op = match (op, negated) {
                (op, false) => *op,
                (BinOp::Lt, true) => BinOp::Ge,
                (BinOp::Le, true) => BinOp::Gt,
                (BinOp::Gt, true) => BinOp::Le,
                (BinOp::Ge, true) => BinOp::Lt,
                (BinOp::Eq, true) => BinOp::Ne,
                (_, true) => BinOp::Eq,
            };
            out.push((op, a.clone(), b.clone()));
            Ok(())
        }
        _ => Err(p.clone()),
    }
}

/// What comparisons say of differences of their sides; `None` for one whose numbers are too large.
#[derive(Default)]
struct Signs {
    /// At least zero.
    positive: Vec<Option<Sum>>,
    /// Never zero.
    nonzero: Vec<Option<Sum>>,
}

impl Signs {
    fn of(
        parts: &[Comparison],
        algebra: &mut Algebra<'_>,
        subject: &Subject,
        indices: &[Tree],
    ) -> Result<Signs, String> {
        let shown = |t: &Tree| subject.print(t);
        let no = |t: Tree| format!("`{}` is no sum of products of integers", shown(&t));
        let mut out = Signs::default();
        for (op, x, y) in parts {
            if !algebra.compares_signed(x, y) && !is_as_unsigned(*op, x, y, indices, algebra) {
                return Err(format!("`{}` and `{}` are not compared as signed numbers", shown(x), shown(y)));
            }
            let (x, y) = (algebra.sum(x).map_err(no)?, algebra.sum(y).map_err(no)?);
            let less = |a: &Sum, b: &Sum, k: i128| b.plus(a, -1)?.plus(&Sum::constant(k), 1);
            match op {
                BinOp::Lt => out.positive.push(less(&x, &y, -1)),
                BinOp::Le => out.positive.push(less(&x, &y, 0)),
                BinOp::Gt => out.positive.push(less(&y, &x, -1)),
                BinOp::Ge => out.positive.push(less(&y, &x, 0)),
                BinOp::Eq => out.positive.extend([less(&x, &y, 0), less(&y, &x, 0)]),
                _ => out.nonzero.push(less(&x, &y, 0)),
            }
        }
        Ok(out)
    }
}

/// Whether a comparison as unsigned numbers says what it says of whole numbers: an index that is not negative and stands
/// alone is below what stands on the other side (whatever wraps there does so wherever it is written again), or is compared
/// with a number.
fn is_as_unsigned(op: BinOp, x: &Tree, y: &Tree, indices: &[Tree], algebra: &mut Algebra<'_>) -> bool {
    let mut index = |t: &Tree| match t.as_symbol() {
        Some(s) if indices.iter().any(|i| i.as_symbol() == Some(s)) => {
            algebra.least(s).is_some_and(|least| least >= 0)
        }
        _ => false,
    };
    let below = match (index(x), index(y)) {
        (true, false) => op == BinOp::Lt,
        (false, true) => op == BinOp::Gt,
        _ => return false,
    };
    let other =
        if x.as_symbol().is_some_and(|s| indices.iter().any(|i| i.as_symbol() == Some(s))) { y } else { x };
    below || algebra.sum(other).is_ok_and(|s| s.number().is_some_and(|n| n >= 0))
}

/// Where an index is, as far as it is known: `low <= index && index < high`.
struct Range {
    low: Option<Sum>,
    high: Option<Sum>,
}

impl Range {
    /// It begins at `low` or later. `None`: it is not known which of two bounds is larger.
    fn raise(&mut self, low: Sum) -> Option<()> {
        self.low = Some(match &self.low {
            None => low,
            Some(known) => Sum::constant(known.number()?.max(low.number()?)),
        });
        Some(())
    }

    /// It ends at `high` or earlier. `None`: it is not known which of two bounds is smaller.
    fn cut(&mut self, high: Sum) -> Option<()> {
        self.high = Some(match &self.high {
            None => high,
            Some(known) if *known == high => high,
            Some(known) => Sum::constant(known.number()?.min(high.number()?)),
        });
        Some(())
    }

    /// It is all but `at`, which is the first or last of it. `None`: it is not known to be.
    fn leave_out(&mut self, at: Sum) -> Option<()> {
        let above = at.plus(&Sum::constant(1), 1);
        if self.low.as_ref() == Some(&at) {
            self.low = above;
        } else if self.high.is_some() && self.high == above {
            self.high = Some(at);
        } else {
            return None;
        }
        Some(())
    }
}

/// Which of the indices a sum holds, one time forwards or backwards, and the rest, which holds none.
fn one_of(sum: &Sum, atoms: &[usize]) -> Option<(usize, i128, Sum)> {
    let mut found = None;
    for (k, &a) in atoms.iter().enumerate() {
        let (c, rest) = sum.split(a)?;
        if c != 0 && found.replace((k, c, rest)).is_some() {
            return None;
        }
    }
    found.filter(|(_, c, _)| c.abs() == 1)
}
