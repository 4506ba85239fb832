//! Arithmetic of languages in which everything has a meaning (C#), in C++, where it has not: sums of signed numbers wrap
//! around, the count of a shift is masked, what might throw is looked at.

use term::strength::{ADD, ASSIGN, POSTFIX, UNARY};
use term::{BinOp, IntKind, Op, SymbolId, TermId, UnOp};

use super::checked;
use super::expr::{int_name, Dialect, Exprs};
use crate::plan::row_length;

impl Exprs<'_> {
    /// Whether the subscript may lie outside.
    pub(super) fn is_checked(&self, t: TermId) -> bool {
        let checked = &self.kernel.checked;
        checked.subscripts.contains_key(&t) || checked.in_rows.contains_key(&t)
    }

    /// A subscript; one that may lie outside as a number of 64 bits that is inside.
    pub(super) fn subscript(&self, t: TermId, min: u8) -> String {
        let fault = &self.kernel.checked.fault_name;
        if let Some(&(rows, row)) = self.kernel.checked.in_rows.get(&t) {
            let (function, lengths) = (checked::inside(self.plan), self.lengths_name(rows));
            return format!(
                "{function}({}, {lengths}[{}], {fault})",
                self.at(t, ASSIGN),
                self.subscript(row, 0)
            );
        }
        let Some(&length) = self.kernel.checked.subscripts.get(&t) else { return self.at(t, min) };
        let (function, length) = (checked::inside(self.plan), self.name(length));
        format!("{function}({}, {length}, {fault})", self.at(t, ASSIGN))
    }

    /// What the lengths of rows are called in the kernel.
    fn lengths_name(&self, rows: SymbolId) -> String {
        let known = self.plan.lengths_of_rows(rows);
        known.map_or_else(|| format!("{}unsupported", self.plan.prefix), |l| l.lengths_name.clone())
    }

    /// How long a row is; that there is none is noted.
    pub(super) fn row_length(&self, t: TermId) -> Option<String> {
        let (rows, row) = row_length(self.plan.body, &self.kernel.tables, t)?;
        let (function, fault) = (checked::length(self.plan), &self.kernel.checked.fault_name);
        Some(format!("{function}({}[{}], {fault})", self.lengths_name(rows), self.subscript(row, 0)))
    }

    /// What stands for a term that C++ would give another meaning, or none.
    pub(super) fn wrapping(&self, t: TermId) -> Option<(String, u8)> {
        let (body, checked) = (self.plan.body, &self.kernel.checked);
        if !body.semantics.checked_bounds {
            return None;
        }
        let args = body.args(t);
        let kind = |t: TermId| body.types.as_int(body.ty(t));
        if checked.divisors.contains(&t) {
            let k = kind(t)?.promoted();
            let function = checked::divisor(self.plan, k);
            let by = self.below(t);
            return Some((format!("{function}({by}, {})", checked.fault_name), POSTFIX));
        }
        if checked.conversions.contains(&t) {
            let (&from, k) = (args.first()?, kind(t)?);
            let function = checked::conversion(self.plan, k);
            return Some((format!("{function}({}, {})", self.at(from, ASSIGN), checked.fault_name), POSTFIX));
        }
        match (body.op(t), args) {
            (Op::Compound(op), &[place, value]) => self.compound(t, *op, place, value),
            (Op::Step { delta, .. }, &[place]) => self.step(t, i128::from(*delta), place),
            _ => self.wrapped(t).map(|text| (text, UNARY)),
        }
    }

    /// Whether the operation is written with the bits of its operands.
    fn is_wrapped(&self, t: TermId) -> bool {
        let body = self.plan.body;
        let Some(kind) = body.types.as_int(body.ty(t)) else { return false };
        let is_constant = body.args(t).iter().all(|&a| matches!(body.op(a), Op::Int(_)));
        match body.op(t) {
            Op::Binary(BinOp::Shl | BinOp::Shr) => true,
            Op::Binary(BinOp::Add | BinOp::Sub | BinOp::Mul) | Op::Unary(UnOp::Neg) => {
                kind.promoted().signed() && !is_constant && !self.kernel.checked.exact.contains(&t)
            }
            _ => false,
        }
    }

    /// Such an operation.
    fn wrapped(&self, t: TermId) -> Option<String> {
        let body = self.plan.body;
        let kind = body.types.as_int(body.ty(t)).filter(|_| self.is_wrapped(t))?;
        let name = int_name(kind.promoted(), Dialect::Device);
        Some(match (body.op(t), body.args(t)) {
            (Op::Binary(op @ (BinOp::Shl | BinOp::Shr)), &[a, by]) => {
                self.shifted(*op, kind.promoted(), a, &self.count(by, kind.promoted()))
            }
            _ => format!("({name}){}", strengthened(self.bits(t, kind.promoted()), UNARY)),
        })
    }

    /// A divisor as it is written where nothing looks at it.
    fn below(&self, t: TermId) -> String {
        let mut kernel = self.kernel.clone();
        kernel.checked.divisors.remove(&t);
        let exprs = Exprs { plan: self.plan, kernel: &kernel, dialect: self.dialect };
        exprs.at(t, ASSIGN)
    }

    /// The value's bits as those of an unsigned number, and how tightly that binds.
    fn bits(&self, t: TermId, kind: IntKind) -> (String, u8) {
        let body = self.plan.body;
        let unsigned = kind.to_unsigned();
        let same = body.types.as_int(body.ty(t)) == Some(kind);
        match (body.op(t), body.args(t)) {
            (Op::Int(v), _) => print::integer(&print::CPP, unsigned.wrap(*v), unsigned),
            (Op::Binary(op @ (BinOp::Add | BinOp::Sub | BinOp::Mul)), &[a, b])
                if same && self.is_wrapped(t) =>
            {
                let own = op.precedence();
                let left = strengthened(self.bits(a, kind), own);
                let right = strengthened(self.bits(b, kind), own + 1);
                (format!("{left} {} {right}", op.symbol()), own)
            }
            (Op::Unary(UnOp::Neg), &[a]) if same && self.is_wrapped(t) => {
                let zero = print::integer(&print::CPP, 0, unsigned).0;
                (format!("{zero} - {}", strengthened(self.bits(a, kind), ADD + 1)), ADD)
            }
            _ => (format!("({}){}", int_name(unsigned, Dialect::Device), self.at(t, UNARY)), UNARY),
        }
    }

    /// How far a shift moves.
    fn count(&self, by: TermId, kind: IntKind) -> String {
        let mask = kind.bits() - 1;
        match self.plan.body.op(by) {
            Op::Int(v) => (*v & i128::from(mask)).to_string(),
            _ => format!("({} & {mask})", self.at(by, BinOp::BitAnd.precedence() + 1)),
        }
    }

    fn shifted(&self, op: BinOp, kind: IntKind, a: TermId, count: &str) -> String {
        let name = int_name(kind, Dialect::Device);
        match (op, kind.signed()) {
            (BinOp::Shl, true) => {
                format!("({name})({} << {count})", strengthened(self.bits(a, kind), ADD))
            }
            _ => format!("({name})({} {} {count})", self.at(a, ADD), op.symbol()),
        }
    }

    /// `a += b`, where the sum may leave its type.
    fn compound(&self, t: TermId, op: BinOp, place: TermId, value: TermId) -> Option<(String, u8)> {
        let body = self.plan.body;
        let kind = |t: TermId| body.types.as_int(body.ty(t));
        let (to, by) = (kind(place)?, kind(value)?);
        if self.kernel.checked.exact.contains(&t) {
            return None;
        }
        let name = int_name(to, Dialect::Device);
        let set = |value: String| Some((format!("{} = ({name})({value})", self.at(place, UNARY)), ASSIGN));
        match op {
            BinOp::Shl | BinOp::Shr => {
                let of = to.promoted();
                set(self.shifted(op, of, place, &self.count(value, of)))
            }
            BinOp::Add | BinOp::Sub | BinOp::Mul => {
                let of = to.common(by);
                let own = op.precedence();
                let left = strengthened(self.bits(place, of), own);
                let right = strengthened(self.bits(value, of), own + 1);
                set(format!("{left} {} {right}", op.symbol()))
            }
            _ => None,
        }
    }

    /// `a++` as a statement.
    fn step(&self, t: TermId, delta: i128, place: TermId) -> Option<(String, u8)> {
        let body = self.plan.body;
        let kind = body.types.as_int(body.ty(place)).filter(|k| k.promoted() == *k && k.signed())?;
        if self.kernel.checked.exact.contains(&t) {
            return None;
        }
        let (name, one) =
            (int_name(kind, Dialect::Device), print::integer(&print::CPP, 1, kind.to_unsigned()).0);
        let sign = if delta < 0 { '-' } else { '+' };
        let sum = format!("{} {sign} {one}", strengthened(self.bits(place, kind), ADD));
        Some((format!("{} = ({name})({sum})", self.at(place, UNARY)), ASSIGN))
    }
}

fn strengthened((text, own): (String, u8), needed: u8) -> String {
    term::strength::enclosed(text, own, needed)
}
