//! Guards about what is evaluated where it was not before: `total`, `invariant`, `nonempty`.
//!
//! What leaves a loop, or a condition, is evaluated even if they do not run; then it must be defined all the same, or they must be
//! known to run. Deliberately absent: ranges that are no constants.

use term::{BinOp, IntKind, Op, Overflow, Storage, TypeKind, UnOp};

use super::prove::Asking;
use super::tree::Tree;

impl Asking<'_> {
    /// That evaluating an expression does nothing and is defined wherever it stands.
    pub(super) fn total(&self, x: &Tree) -> Result<(), String> {
        if self.number(x).is_ok() {
            return Ok(());
        }
        let shown = || self.subject.print(x);
        let undefined = |what: &str| Err(format!("`{}` {what} where it was not evaluated before", shown()));
        let kind = |t: &Tree| t.ty.map(|t| self.types.kind(t).clone());
        let wraps = |k: IntKind| self.subject.arithmetic().overflow(k.promoted()) == Overflow::Wraps;
        match &x.op {
            Op::Int(_) | Op::Float(_) => Ok(()),
            Op::Sym(s) => {
                let known =
                    self.subject.symbol(*s).ok_or_else(|| format!("nothing is known of `{}`", shown()))?;
                let q = self.types.quals(known.ty);
                let variable = matches!(
                    known.storage,
                    Storage::Local
                        | Storage::Param(_)
                        | Storage::Global { .. }
                        | Storage::StaticLocal { .. }
                        | Storage::Constant(_)
                );
                match variable && !q.is_volatile && !q.is_atomic {
                    true => Ok(()),
                    false => Err(format!("`{}` may be changed from elsewhere", shown())),
                }
            }
            Op::Unary(op) => match (op, kind(x)) {
                (UnOp::Neg, None) => undefined("may overflow"),
                (UnOp::Neg, Some(TypeKind::Int(k))) if !wraps(k) => undefined("may overflow"),
                _ => x.args.iter().try_for_each(|a| self.total(a)),
            },
            Op::Binary(op) => {
                let plain = op.is_comparison()
                    || op.is_logical()
                    || matches!(op, BinOp::BitAnd | BinOp::BitOr | BinOp::BitXor);
                let modular = matches!(op, BinOp::Add | BinOp::Sub | BinOp::Mul)
                    && match kind(x) {
                        Some(TypeKind::Int(k)) => wraps(k),
                        Some(TypeKind::Float(_)) => true,
                        _ => false,
                    };
                let quotient = *op == BinOp::Div && matches!(kind(x), Some(TypeKind::Float(_)));
                if !(plain || modular || quotient) {
                    return undefined(match op {
                        BinOp::Div | BinOp::Rem => "may divide by zero",
                        BinOp::Shl | BinOp::Shr => "may shift by too much",
                        _ => "may overflow",
                    });
                }
                x.args.iter().try_for_each(|a| self.total(a))
            }
            Op::Select => x.args.iter().try_for_each(|a| self.total(a)),
            Op::Apply(h) if &**h == "Cast" => {
                let (from, to) = (x.args.get(1).and_then(kind), kind(x));
                let fits = matches!(
                    (from, to),
                    (Some(TypeKind::Int(_)), Some(TypeKind::Int(_) | TypeKind::Float(_)))
                        | (Some(TypeKind::Float(_)), Some(TypeKind::Float(_)))
                );
                match (fits, x.args.get(1)) {
                    (true, Some(a)) => self.total(a),
                    _ => undefined("may not fit its type"),
                }
            }
            Op::Index | Op::Deref => undefined("reads memory"),
            Op::Apply(h) if matches!(&**h, "Dot" | "Arrow") => undefined("reads memory"),
            _ => Err(format!("nothing is known of `{}`", shown())),
        }
    }

    /// That nothing in the loop over an index writes what an expression reads.
    pub(super) fn invariant(&self, x: &Tree, index: &Tree) -> Result<String, String> {
        self.pure(x, false)?;
        let (_, n) = self.loop_of(index)?;
        if !x.walk().any(|t| t.as_symbol().is_some()) {
            return Ok("it is a constant".to_owned());
        }
        self.left_alone(x, &n, false)?;
        Ok("nothing in the loop writes it".to_owned())
    }

    /// That the loop over an index runs.
    pub(super) fn nonempty(&self, index: &Tree) -> Result<String, String> {
        let (_, n) = self.loop_of(index)?;
        let shown = self.subject.print(index);
        let no = || format!("the loop over `{shown}` is not known to run at least once");
        let [init, condition, ..] = &*n.args else { return Err(no()) };
        let first = init.args.last().ok_or_else(no)?;
        let sets = init.op == Op::Assign || init.is("DeclarationAssignment");
        let symbol = init.args.first().and_then(|a| a.as_symbol()).filter(|_| sets).ok_or_else(no)?;
        let (Op::Binary(relation), [left, bound]) = (&condition.op, &*condition.args) else {
            return Err(no());
        };
        if left.as_symbol() != Some(symbol) {
            return Err(no());
        }
        let (a, b) = (self.number(first).map_err(|_| no())?, self.number(bound).map_err(|_| no())?);
        // as `int` compares
        let plain = [first, bound]
            .iter()
            .all(|t| t.ty.is_none_or(|t| matches!(self.types.kind(t), TypeKind::Int(k) if k.signed())));
        let runs = match relation {
            BinOp::Lt => a < b,
            BinOp::Le => a <= b,
            BinOp::Gt => a > b,
            BinOp::Ge => a >= b,
            BinOp::Ne => a != b,
            _ => false,
        };
        match runs && plain {
            true => Ok(format!("{a} {} {b}", relation.symbol())),
            false => Err(no()),
        }
    }

    /// That the bounds of an inner loop may be evaluated before the outer one, which may not run.
    pub(super) fn bounds_may_come_first(&self, outer: &Tree, inner: &Tree) -> Result<(), String> {
        if self.nonempty(outer).is_ok() {
            return Ok(());
        }
        let (_, n) = self.loop_of(inner)?;
        let [init, condition, ..] = &*n.args else {
            return Err("nothing is known of the inner loop's bounds".to_owned());
        };
        for part in [init.args.last(), condition.args.get(1)] {
            let part = part.ok_or("nothing is known of the inner loop's bounds")?;
            self.total(part)?;
        }
        Ok(())
    }
}
