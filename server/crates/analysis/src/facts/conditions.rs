//! Conditions under which facts hold, as they come together, and the parameters that expressions ask for.

use term::{SymbolId, TermId, TypeId};

use super::{Expr, LoopFacts, Object, Param, Pred, ReductionOp};

/// How a condition is met.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum MetBy {
    Proof,
    /// The emitted code tests it and runs the original loop where it does not hold.
    RunTimeCheck,
    /// The user promises it, in a comment.
    Assumed,
    /// The user accepts it by asking for the offload.
    User,
}

/// Something a verdict needs.
#[derive(Clone, PartialEq, Debug)]
pub struct Condition {
    pub kind: ConditionKind,
    pub met_by: MetBy,
    /// For `RunTimeCheck` by value: what must be true of the loop's parameters. (Alias checks compare extents instead.)
    /// `Pred::False` among its parts: more is needed, which no test before the loop settles.
    pub check: Option<Pred>,
}

impl Condition {
    /// Whether only the loop itself shows if it holds, while it runs on copies: what may throw in languages where that is
    /// control flow.
    pub fn is_seen_while_it_runs(&self) -> bool {
        let may_throw = matches!(
            self.kind,
            ConditionKind::Bounds { .. } | ConditionKind::NonZero(_) | ConditionKind::NoOverflow(_)
        );
        let is_open = match &self.check {
            None | Some(Pred::False) => true,
            Some(Pred::And(parts)) => parts.contains(&Pred::False),
            Some(_) => false,
        };
        may_throw && is_open && self.met_by == MetBy::RunTimeCheck
    }
}

/// Which columns of a row are used.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Columns {
    /// One alone, the same for all subscripts: only that the next row begins at another cell counts, before or behind it.
    Alone,
    /// One alone: only that a row has elements counts.
    First,
    /// Some from the first on.
    FromFirst,
    /// Those of all subscripts lie within a row's length of each other, wherever the first one is.
    Anywhere,
}

/// What a condition says.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ConditionKind {
    /// The cells the loop touches through the two do not overlap.
    NoAlias(Object, Object),
    /// The term's value is the mathematical one: unsigned or narrow arithmetic does not wrap.
    NoWrap(TermId),
    /// `0 <= subscript < size of that dimension`.
    Bounds {
        /// An `Index` term.
        access: TermId,
        /// The dimension's length as a term, or as a constant in `length`.
        length_term: Option<TermId>,
        length: Option<u64>,
    },
    /// The flattened subscript `outer*stride + inner` really is two-dimensional: `0 <= inner < times * stride`, or `stride != 0`
    /// where one column is used alone.
    InRow {
        /// The subscript.
        access: TermId,
        /// The stride, or what it is so many times.
        stride: TermId,
        times: u32,
        columns: Columns,
    },
    /// No two elements of the array that the loop reads are equal.
    Injective(TermId),
    /// No element of the array that the loop reads is less than one before it.
    Sorted(TermId),
    /// No element of the array that the loop reads is larger than the number, or than what the term says: what the loop does for it stays
    /// in the room of its row.
    AtMost { array: TermId, term: Option<TermId>, number: u64 },
    /// Each element of the array that the loop reads is at least `low` and less than `high`.
    InRange { array: TermId, low: TermId, high: TermId },
    /// The array has so many elements.
    Size { array: TermId, length: TermId },
    /// The pointers of a table that the loop follows show memory that does not overlap.
    DistinctRows(Object),
    /// The function reads and writes no memory.
    Pure(SymbolId),
    /// Regrouping the operations is accepted: results may differ in the last bits.
    Reassociate(ReductionOp, TypeId),
    /// The call of `assert` finds what it asserts, in all iterations.
    Asserted(TermId),
    /// The step has the sign the comparison needs.
    StepSign(TermId),
    /// The loop ends: the index meets its bound.
    Terminates(TermId),
    /// An inner loop runs as often as its bounds say: the bound is not below the first value.
    Trips(TermId),
    /// The reference is not null: looking into it would throw.
    NotNull(TermId),
    /// The divisor is not 0, and no quotient is out of its type: dividing would throw.
    NonZero(TermId),
    /// The result of a checked operation is one of its type: else it would throw.
    NoOverflow(TermId),
    /// Floating numbers are rounded to nearest, and small ones are not taken for zero, as on a device (IEEE 754-2019, 4.3.1): another
    /// function of the program changes that.
    RoundsToNearest,
    /// The second of these alone: nothing is rounded, and numbers are compared.
    KeepsSmall,
}

impl LoopFacts {
    pub(crate) fn note(&mut self, kind: ConditionKind, met_by: MetBy, check: Option<Pred>) {
        if let Some(old) = self.conditions.iter_mut().find(|c| c.kind == kind) {
            if let Some(p) = check {
                old.met_by = met_by;
                old.check = Some(match old.check.take() {
                    None => p,
                    Some(q) if q == p => p,
                    Some(Pred::And(mut qs)) => {
                        if !qs.contains(&p) {
                            qs.push(p);
                        }
                        Pred::And(qs)
                    }
                    Some(q) => Pred::And(vec![q, p]),
                });
            }
            return;
        }
        self.conditions.push(Condition { kind, met_by, check });
    }

    /// What could not be proved of a condition is seen when the loop runs, by no test before it.
    pub(crate) fn weaken(&mut self, kind: &ConditionKind) {
        self.note(kind.clone(), MetBy::RunTimeCheck, Some(Pred::False));
    }
}

impl Expr {
    /// Every parameter of the expression.
    pub(crate) fn params(&self, f: &mut dyn FnMut(Param)) {
        match self {
            Expr::Int(_) => {}
            Expr::Param(p) => f(*p),
            Expr::Add(es) | Expr::Min(es) | Expr::Max(es) => es.iter().for_each(|e| e.params(f)),
            Expr::Mul(_, e) | Expr::FloorDiv(e, _) => e.params(f),
            Expr::Product(a, b) | Expr::Quotient(a, b) => {
                a.params(f);
                b.params(f);
            }
            Expr::Select(p, a, b) => {
                p.params(f);
                a.params(f);
                b.params(f);
            }
        }
    }

    /// By how much it is more than another, where that is a number.
    pub(crate) fn minus(&self, other: &Expr) -> Option<i128> {
        let (mut number, mut parts): (i128, Vec<(&Expr, i128)>) = (0, Vec::new());
        let mut open = vec![(self, 1i128), (other, -1)];
        while let Some((e, times)) = open.pop() {
            match e {
                Expr::Int(v) => number = number.checked_add(v.checked_mul(times)?)?,
                Expr::Add(items) => open.extend(items.iter().map(|i| (i, times))),
                Expr::Mul(k, e) => open.push((e, times.checked_mul(*k)?)),
                e => match parts.iter_mut().find(|p| p.0 == e) {
                    Some(p) => p.1 = p.1.checked_add(times)?,
                    None => parts.push((e, times)),
                },
            }
        }
        parts.iter().all(|p| p.1 == 0).then_some(number)
    }
}

impl Pred {
    /// Every parameter of the condition.
    pub(crate) fn params(&self, f: &mut dyn FnMut(Param)) {
        match self {
            Pred::True | Pred::False => {}
            Pred::NonNegative(e) | Pred::Zero(e) => e.params(f),
            Pred::And(ps) | Pred::Or(ps) => ps.iter().for_each(|p| p.params(f)),
            Pred::Not(p) => p.params(f),
        }
    }
}
