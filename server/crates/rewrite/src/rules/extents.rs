//! Which part of each array a loop uses, as the analysis proves it, in terms that host code can be made of.
//!
//! A declared array is there as a whole, so the whole of it may be copied. What a pointer points to is known only by
//! what the loop surely touches: there the part goes with the condition under which the loop touches anything.
//! Deliberately absent: whatever needs a test at run time, structures, rows of a length that is not constant.

use std::sync::Arc;

use analysis::{Buffer, Expr, Length, Obstacle, ObstacleKind, Offload, Param, Pred};
use term::notation::type_text;
use term::{BinOp, FloatKind, IntKind, Len, Op, Storage, SymbolId, TypeId, TypeKind, UnOp};

use super::matching::build;
use super::prove::Asking;
use super::tree::{Node, Tree};

/// What is known of the memory of a loop.
pub(super) struct Extents {
    /// `_Array(a,part,in)` or `_Array(a,part,inout)` of each.
    pub arrays: Tree,
    /// Declarations of the variables that each iteration has for itself and that stand outside of the loop.
    pub own: Tree,
    /// Words that continue "because".
    pub because: String,
}

impl Asking<'_> {
    /// The memory of the loop over `x`. `Err`: what is not known of it.
    pub(super) fn extents(&mut self, x: &Tree) -> Result<Extents, String> {
        let g = self.ground()?;
        let (id, n) = self.loop_of(x)?;
        let plan = g
            .asked(|budget| analysis::offload(g.body, g.program, g.facts, id, Some(1), budget))
            .map_err(|why| why.first().map_or_else(String::new, |o| self.worded_obstacle(o)))?;
        self.nothing_left_over(&plan)?;
        let mut own = Vec::new();
        for p in plan.privates.iter().filter(|p| !p.declared_inside) {
            let Some(known) = self.subject.symbol(p.symbol) else { continue };
            let plain = matches!(self.types.kind(known.ty), TypeKind::Int(_) | TypeKind::Float(_));
            if p.kept || !plain {
                return Err(format!("`{}` cannot be given to each thread", known.name));
            }
            let of =
                Node::new(Op::Name(type_text(self.types, known.ty).into()), vec![], Some(known.ty), None);
            own.push(Node::apply("Declaration", vec![symbol(p.symbol, Some(known.ty)), of]));
        }
        self.only_buffers(&n, &plan)?;
        let (mut arrays, mut said) = (Vec::new(), Vec::new());
        for b in &plan.buffers {
            let (array, words) = self.array(b)?;
            arrays.push(array);
            said.push(words);
        }
        let because = match said.is_empty() {
            true => "it uses no memory".to_owned(),
            false => format!("it uses {}", said.join(", ")),
        };
        Ok(Extents { arrays: Node::list(arrays), own: Node::list(own), because })
    }

    fn nothing_left_over(&self, plan: &Offload) -> Result<(), String> {
        let name = |s: SymbolId| self.subject.name(s).to_owned();
        if !plan.conditions.is_empty() {
            return Err("whether its iterations are independent has to be tested at run time".to_owned());
        }
        if let Some(f) = plan.finals.first() {
            return Err(format!("`{}` is read after the loop", name(f.symbol)));
        }
        if let Some(r) = plan.reductions.first() {
            return Err(format!("the iterations meet in `{}`", name(r.object.symbol)));
        }
        if let Some(i) = plan.inductions.first() {
            return Err(format!("`{}` moves from iteration to iteration", name(i.symbol)));
        }
        Ok(())
    }

    /// That the loop reaches memory through the buffers' own variables alone, and has no structures.
    fn only_buffers(&self, n: &Tree, plan: &Offload) -> Result<(), String> {
        let declared: Vec<SymbolId> = n
            .walk()
            .filter(|d| matches!(&d.op, Op::Apply(h) if h.contains("Declaration")))
            .filter_map(|d| d.args.first()?.as_symbol())
            .collect();
        let long = |t: &Tree| t.ty.is_some_and(|t| self.types.as_float(t) == Some(FloatKind::Long));
        if let Some(x) = n.walk().find(long) {
            return Err(format!("`{}` is a `long double`, which CUDA has not", self.subject.print(&x)));
        }
        for s in n.walk().filter_map(|t| t.as_symbol()) {
            let Some(known) = self.subject.symbol(s) else { continue };
            let name = &known.name;
            if declared.contains(&s) {
                continue;
            }
            let is_buffer = plan.buffers.iter().any(|b| b.symbol == s);
            match self.types.kind(known.ty) {
                TypeKind::Pointer { .. } | TypeKind::Array { .. } if !is_buffer => {
                    return Err(format!("what `{name}` points to is not known to be an array of its own"));
                }
                TypeKind::Record(_) => return Err(format!("`{name}` is a structure")),
                _ => {}
            }
        }
        Ok(())
    }

    fn array(&mut self, b: &Buffer) -> Result<(Tree, String), String> {
        let known = self.subject.symbol(b.symbol).ok_or("there is no such array")?;
        let (name, ty, storage) = (known.name.clone(), known.ty, known.storage);
        if storage == Storage::Path {
            return Err(format!("`{name}` is no variable"));
        }
        let (mut element, mut rows, mut row) = (b.element, Vec::new(), 1i128);
        for l in &b.inner_lengths {
            let Length::Const(n) = l else {
                return Err(format!("the rows of `{name}` have a length that is known at run time only"));
            };
            rows.push(*n);
            row = row.checked_mul(i128::from(*n)).ok_or("the array is too large")?;
        }
        let plain = match self.types.kind(element) {
            TypeKind::Int(_) | TypeKind::Float(FloatKind::F32 | FloatKind::F64) => true,
            TypeKind::Opaque(_) => false,
            _ => false,
        };
        if !plain {
            return Err(format!("the elements of `{name}` are no numbers"));
        }
        element = self.types.plain(self.types.kind(element).clone());
        let element_text = type_text(self.types, element);
        let mut pointer = element_text.clone();
        rows.iter().rev().for_each(|n| pointer += &format!("[{n}]"));
        pointer.push('*');
        let word = |text: &str, ty: Option<TypeId>| Node::new(Op::Name(text.into()), Vec::new(), ty, None);
        let mut args = vec![word(&pointer, None), word(&element_text, Some(element))];
        let whole = declared_length(self.types, ty);
        let (head, words) = match whole {
            Some(count) => {
                args.extend([self.int(0), self.int(i128::from(count))]);
                ("_Part", format!("`{name}` as it is declared"))
            }
            None => {
                let (when, first, count) = self.part(&name, b, row)?;
                let words = format!(
                    "`{name}` from element {} on, {} elements",
                    self.subject.print(&first),
                    self.subject.print(&count)
                );
                args.extend([first, count]);
                args.insert(2, when);
                ("_PartIf", words)
            }
        };
        let way = Node::name(if b.written { "inout" } else { "in" });
        let array = symbol(b.symbol, Some(ty));
        Ok((Node::apply("_Array", vec![array, Node::apply(head, args), way]), words))
    }

    /// Of what a pointer points to: when anything of it is used, the first element, and how many.
    fn part(&mut self, name: &str, b: &Buffer, row: i128) -> Result<(Tree, Tree, Tree), String> {
        let no = || format!("how much of `{name}` the loop uses cannot be written");
        let (first, last) = b
            .extent
            .as_ref()
            .ok_or_else(|| format!("it is not known which elements of `{name}` the loop uses"))?;
        let first = self.linear(first).ok_or_else(no)?;
        let Some(start) = first.constant().filter(|&f| f >= 0 && (row == 1 || f == 0)) else {
            return Err(format!(
                "the first element of `{name}` that the loop uses is not a constant from 0 on"
            ));
        };
        let (when, last) = match last {
            Expr::Select(p, last, none) => {
                let empty = self.linear(none).and_then(|n| n.constant()) == Some(start - 1);
                if !empty {
                    return Err(no());
                }
                (Some(self.pred(p).ok_or_else(no)?), self.linear(last).ok_or_else(no)?)
            }
            last => (None, self.linear(last).ok_or_else(no)?),
        };
        let count = last.plus(1 - start).ok_or_else(no)?;
        let when = match (when, count.constant()) {
            (Some(w), _) => w,
            (None, Some(n)) if n > 0 => Node::name("_True"),
            (None, _) => self.at_least_zero(&count.clone().plus(-1).ok_or_else(no)?),
        };
        let count = self.sum(&count);
        let start = self.int(start);
        Ok((when, start, count))
    }

    fn int(&mut self, v: i128) -> Tree {
        Node::new(Op::Int(v), Vec::new(), Some(self.types.int(IntKind::Int)), None)
    }

    fn linear(&mut self, e: &Expr) -> Option<Linear> {
        let mut out = Linear::default();
        match e {
            Expr::Int(n) => out.number = *n,
            Expr::Param(Param::Symbol(s)) => {
                let known = self.subject.symbol(*s)?;
                let plain = matches!(self.types.kind(known.ty), TypeKind::Int(_));
                let variable = !matches!(known.storage, Storage::Path | Storage::Constant(_));
                if !(plain && variable) {
                    return None;
                }
                out.terms.push((symbol(*s, Some(known.ty)), 1));
            }
            Expr::Param(Param::Term(t)) => {
                let n = self.subject.original(*t)?.clone();
                self.pure(&n, false).ok()?;
                out.terms.push((n, 1));
            }
            Expr::Param(Param::Distance { .. }) => return None,
            Expr::Add(es) => {
                for e in es {
                    let e = self.linear(e)?;
                    out.number = out.number.checked_add(e.number)?;
                    for (t, k) in e.terms {
                        match out.terms.iter_mut().find(|(o, _)| self.subject.same(o, &t)) {
                            Some((_, old)) => *old = old.checked_add(k)?,
                            None => out.terms.push((t, k)),
                        }
                    }
                }
                out.terms.retain(|(_, k)| *k != 0);
            }
            Expr::Mul(k, e) => {
                let e = self.linear(e)?;
                out.number = e.number.checked_mul(*k)?;
                for (t, c) in e.terms {
                    out.terms.push((t, c.checked_mul(*k)?));
                }
                out.terms.retain(|(_, k)| *k != 0);
            }
            Expr::Product(a, b) => {
                let (a, b) = (self.linear(a)?, self.linear(b)?);
                let (a, b) = (self.sum(&a), self.sum(&b));
                let a = self.long(a);
                out.terms.push((build(self.types, Op::Binary(BinOp::Mul), vec![a, b], None), 1));
            }
            // the rest rounds
            _ => return None,
        }
        Some(out)
    }

    fn pred(&mut self, p: &Pred) -> Option<Tree> {
        Some(match p {
            Pred::True => Node::name("_True"),
            Pred::False => return None,
            Pred::NonNegative(e) => {
                let e = self.linear(e)?;
                self.at_least_zero(&e)
            }
            Pred::Zero(e) => {
                let (a, b) = self.linear(e)?.sides()?;
                let (a, b) = (self.sum(&a), self.sum(&b));
                build(self.types, Op::Binary(BinOp::Eq), vec![a, b], None)
            }
            Pred::And(ps) | Pred::Or(ps) => {
                let op = if matches!(p, Pred::And(_)) { BinOp::And } else { BinOp::Or };
                let mut out: Option<Tree> = None;
                for p in ps {
                    let p = self.pred(p)?;
                    out = Some(match out {
                        None => p,
                        Some(o) => build(self.types, Op::Binary(op), vec![o, p], None),
                    });
                }
                out?
            }
            Pred::Not(p) => {
                let p = self.pred(p)?;
                build(self.types, Op::Unary(UnOp::Not), vec![p], None)
            }
        })
    }

    /// `e >= 0` with nothing subtracted, so that no side leaves its range.
    fn at_least_zero(&mut self, e: &Linear) -> Tree {
        // what is more than `e - 1 >= 0` is read more easily as `e > 0`
        let (op, shifted) = match e.number {
            -1 => (BinOp::Gt, Linear { number: 0, ..e.clone() }),
            _ => (BinOp::Ge, e.clone()),
        };
        let (a, b) = shifted.sides().unwrap_or_default();
        let (a, b) = (self.sum(&a), self.sum(&b));
        build(self.types, Op::Binary(op), vec![a, b], None)
    }

    fn sum(&mut self, l: &Linear) -> Tree {
        let wide = l.terms.len() > 1;
        let mut out: Option<Tree> = None;
        let (plus, minus): (Vec<_>, Vec<_>) = l.terms.iter().cloned().partition(|(_, k)| *k > 0);
        for (t, k) in plus.into_iter().chain(minus) {
            let t = if wide && out.is_none() { self.long(t) } else { t };
            let (op, k) = match (&out, k < 0) {
                (Some(_), true) => (BinOp::Sub, -k),
                _ => (BinOp::Add, k),
            };
            let scaled = match k {
                1 => t,
                k => {
                    let (k, t) = (self.int(k), self.long(t));
                    build(self.types, Op::Binary(BinOp::Mul), vec![k, t], None)
                }
            };
            out = Some(match out {
                None => scaled,
                Some(o) => build(self.types, Op::Binary(op), vec![o, scaled], None),
            });
        }
        match out {
            None => self.int(l.number),
            Some(o) if l.number == 0 => o,
            Some(o) => {
                let op = if l.number < 0 { BinOp::Sub } else { BinOp::Add };
                let n = self.int(l.number.saturating_abs());
                build(self.types, Op::Binary(op), vec![o, n], None)
            }
        }
    }
    /// As a number that holds sums of indices.
    fn long(&mut self, t: Tree) -> Tree {
        let ty = self.types.int(IntKind::LongLong);
        if t.is("Cast") {
            return t;
        }
        let of = Node::new(Op::Name("long long".into()), Vec::new(), Some(ty), None);
        Node::new(Op::Apply("Cast".into()), vec![of, t], Some(ty), None)
    }

    fn worded_obstacle(&self, o: &Obstacle) -> String {
        let name = |s: SymbolId| self.subject.name(s).to_owned();
        let place = || {
            let Some(g) = self.ground else { return String::new() };
            let text = g.text.get(g.body.span(o.term).shifted(g.start).range()).unwrap_or("");
            match text.contains('\n') {
                true => String::new(),
                false => format!(" (`{text}`)"),
            }
        };
        match &o.kind {
            ObstacleKind::EarlyExit => "it may be left early".to_owned(),
            ObstacleKind::LiveOut(s) => format!("`{}` is read after the loop", name(*s)),
            ObstacleKind::Unset(s) => format!("`{}` may hold no value", name(*s)),
            ObstacleKind::UnknownPointer(s) => format!("it is not known where `{}` points", name(*s)),
            ObstacleKind::NotCounted(_) => "the number of its iterations is not known beforehand".to_owned(),
            ObstacleKind::UnknownCall(f) | ObstacleKind::Call { function: f, .. } => {
                format!("it is not known what `{}` does", name(*f))
            }
            _ => format!("it is not known which memory the loop uses{}", place()),
        }
    }
}

fn symbol(s: SymbolId, ty: Option<TypeId>) -> Tree {
    Node::new(Op::Sym(s), Vec::new(), ty, None)
}

/// Elements of an array whose lengths are all constants; `None`: a pointer.
fn declared_length(types: &term::Types, ty: TypeId) -> Option<u64> {
    let mut count: Option<u64> = None;
    let mut at = ty;
    while let TypeKind::Array { of, len } = types.kind(at) {
        let Len::Const(n) = len else { return None };
        count = Some(count.unwrap_or(1).checked_mul(*n)?);
        at = *of;
    }
    count
}

/// A sum of variables times constants.
#[derive(Clone, Debug, Default)]
struct Linear {
    terms: Vec<(Tree, i128)>,
    number: i128,
}

impl Linear {
    fn constant(&self) -> Option<i128> {
        self.terms.is_empty().then_some(self.number)
    }
    fn plus(mut self, n: i128) -> Option<Linear> {
        self.number = self.number.checked_add(n)?;
        Some(self)
    }
    /// Two sums of which the first less the second is this, with nothing subtracted in either.
    fn sides(&self) -> Option<(Linear, Linear)> {
        let (mut a, mut b) = (Linear::default(), Linear::default());
        for (t, k) in &self.terms {
            let side = if *k > 0 { &mut a } else { &mut b };
            side.terms.push((Arc::clone(t), k.checked_abs()?));
        }
        let side = if self.number > 0 { &mut a } else { &mut b };
        side.number = self.number.checked_abs()?;
        Some((a, b))
    }
}
