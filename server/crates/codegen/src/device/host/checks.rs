//! What the function that stands for a loop tests before it does anything: that sizes do not overflow, and what the verdict
//! rests on and nobody proved.

use analysis::{Columns, ConditionKind, Param};
use term::{BinOp, Body, Op, Origin, TermId, TypeKind, UnOp};

use super::call::is_nameless;
use super::helpers::ROUNDS;
use super::Host;
use crate::device::host_expr::{quoted, within};
use crate::device::host_term::Term;
use crate::device::promises;
use crate::plan::{BufferPlan, Test, TestKind};
use crate::HostSide;

const LAID_OUT: &str = "laid out as the kernel takes it";

impl Host<'_> {
    /// That no size computed below overflows.
    pub(super) fn limits(&mut self) -> Option<Term> {
        self.limits_of(&|_| true)
    }

    /// The same of some of the values.
    pub(super) fn limits_of(&mut self, which: &dyn Fn(Param) -> bool) -> Option<Term> {
        let mut limits: Vec<Term> = Vec::new();
        for v in self.plan.values.iter().filter(|v| v.limit.is_some() && which(v.param)) {
            let value = self.given.value(&v.param);
            limits.extend(value.and_then(|value| within(v, &value.term)));
        }
        let is_any = !limits.is_empty();
        is_any.then(|| test(Term::all(BinOp::And, limits.into_iter()), "no size below overflows"))
    }

    /// The tests that can be made once the ends of arrays up to this rank are known, but for those of the ranks before.
    pub(super) fn tests(&mut self, rank: usize) -> Vec<Term> {
        let plan = self.plan;
        let of = |k: &usize| plan.buffers.get(*k).map_or(0, |b| b.rank(&plan.buffers));
        let rank_of = |t: &&Test| match &t.kind {
            TestKind::Apart(i, j) => of(i).max(of(j)),
            TestKind::Extent(k) | TestKind::Back(k) | TestKind::Distinct(k) | TestKind::Sorted(k) => of(k),
            TestKind::Outside { buffer, .. }
            | TestKind::CellInBuffer { buffer, .. }
            | TestKind::InRange { buffer, .. } => of(buffer),
            _ => 0,
        };
        // where arrays lie on the device already, the region has seen to them, and cells are its own
        let of_arrays = |t: &&Test| {
            matches!(
                t.kind,
                TestKind::Extent(_)
                    | TestKind::Back(_)
                    | TestKind::Apart(..)
                    | TestKind::RowsApart { .. }
                    | TestKind::Outside { .. }
                    | TestKind::CellInBuffer { .. }
                    | TestKind::CellInCell { .. }
                    | TestKind::CellInVariable { .. }
            )
        };
        let resident = self.steps.is_some();
        let now = plan.tests.iter().filter(|t| rank_of(t) == rank);
        now.filter(|t| !(resident && of_arrays(t))).flat_map(|t| self.test(t)).collect()
    }

    /// Of these the tests by value alone. `found`: those of ends that a search has found, or the others.
    pub(super) fn holds(&mut self, found: bool) -> Vec<Term> {
        let plan = self.plan;
        let is_found = |t: &Test| match &t.kind {
            TestKind::Holds(p) => {
                let mut used = Vec::new();
                crate::plan::pred_params(p, &mut used);
                Some(used.iter().any(|p| matches!(p, Param::End { .. })))
            }
            _ => None,
        };
        plan.tests.iter().filter(|t| is_found(t) == Some(found)).flat_map(|t| self.test(t)).collect()
    }

    pub(super) fn of_arrays(&mut self) -> Vec<Term> {
        let plan = self.plan;
        plan.tests
            .iter()
            .filter(|t| !matches!(t.kind, TestKind::Holds(_)) && !plan.is_tested_early(&t.kind))
            .flat_map(|t| self.test(t))
            .collect()
    }

    fn test(&mut self, t: &Test) -> Vec<Term> {
        let plan = self.plan;
        match &t.kind {
            TestKind::Extent(k) => self.extent_tests(*k),
            // first of all
            TestKind::NotNull(_) => Vec::new(),
            TestKind::Back(_) if plan.host() == HostSide::Method => Vec::new(),
            TestKind::Back(k) => {
                let b = &plan.buffers[*k];
                let Some(holds) = b.comes_back() else { return Vec::new() };
                let holds = self.pred(&holds);
                vec![test(holds, &format!("{} is written", plan.body.symbols[b.symbol].name))]
            }
            TestKind::Apart(i, j) => {
                let (a, b) = (&plan.buffers[*i], &plan.buffers[*j]);
                if plan.host() == HostSide::Method {
                    return vec![self.two_arrays(a, b)];
                }
                let (left, right) = (self.pointer(a), self.pointer(b));
                let bytes = |b: &BufferPlan| Term::name(&b.bytes_name);
                let apart = self.apart([left, bytes(a)], [right, bytes(b)]);
                let name = |b: &BufferPlan| plan.body.symbols[b.symbol].name.clone();
                vec![test(apart, &format!("{} and {} do not overlap", name(a), name(b)))]
            }
            TestKind::RowsApart { .. } if plan.host() == HostSide::Method => vec![self.arrays_apart()],
            TestKind::RowsApart { variables, cells } => vec![self.rows_apart(variables, cells)],
            TestKind::Outside { symbol, buffer } => {
                let b = &plan.buffers[*buffer];
                let variable = self.variable_place(*symbol);
                let other = self.pointer(b);
                let apart = self.apart(variable, [other, Term::name(&b.bytes_name)]);
                let name = |s| &plan.body.symbols[s].name;
                vec![test(apart, &format!("{} does not lie in {}", name(*symbol), name(b.symbol)))]
            }
            TestKind::CellInBuffer { .. } | TestKind::CellInCell { .. } | TestKind::CellInVariable { .. } => {
                self.cell_test(&t.kind).into_iter().collect()
            }
            TestKind::RecordSize { symbol, .. } if !is_nameless(plan, plan.body.symbols[*symbol].ty) => {
                Vec::new()
            }
            TestKind::RecordSize { symbol, bytes } => {
                let name = plan.body.symbols[*symbol].name.to_string();
                let theirs = self.given.bytes(&format!("{}_size", crate::plan::name_part(&name)), &name);
                vec![test(is_number(theirs, i128::from(*bytes)), LAID_OUT)]
            }
            TestKind::Holds(p) => {
                let holds = self.pred(p);
                vec![test(holds, &t.meets.as_ref().map_or_else(String::new, |c| self.why(c)))]
            }
            TestKind::InRange { buffer, low, high } => {
                let ends = [self.expr(low), self.expr(high)];
                self.of_elements(t, *buffer, promises::IN_RANGE, ends.to_vec()).into_iter().collect()
            }
            TestKind::Distinct(buffer) => {
                self.of_elements(t, *buffer, promises::DISTINCT, Vec::new()).into_iter().collect()
            }
            TestKind::Sorted(buffer) => {
                self.of_elements(t, *buffer, promises::SORTED, Vec::new()).into_iter().collect()
            }
            TestKind::RoundsToNearest => {
                self.helpers.rounds.set(true);
                let holds = Term::call(&format!("{}_{ROUNDS}", self.helper), Vec::new());
                vec![test(holds, &t.meets.as_ref().map_or_else(String::new, |c| self.why(c)))]
            }
            TestKind::FirstNotNegative(lower) => {
                let first = Term::Name(self.given.term(*lower, "first"));
                vec![test(Term::binary(BinOp::Ge, first, Term::Int(0)), "compared as unsigned")]
            }
        }
    }

    /// That all elements of a buffer are as they must be: a function goes through them.
    fn of_elements(&mut self, t: &Test, k: usize, helper: &str, more: Vec<Term>) -> Option<Term> {
        let plan = self.plan;
        let b = plan.buffers.get(k)?;
        let count = Term::binary(BinOp::Div, Term::name(&b.bytes_name), self.element_size(b));
        let mut args = vec![self.pointer(b), count];
        args.extend(more);
        let why = t.meets.as_ref().map_or_else(String::new, |c| self.why(c));
        Some(test(Term::call(&promises::function_name(plan, b, helper), args), &why))
    }

    /// That a stretch has elements, that its size fits, and that the file lays them out as the kernel does.
    fn extent_tests(&mut self, k: usize) -> Vec<Term> {
        let plan = self.plan;
        let b = &plan.buffers[k];
        let name = &plan.body.symbols[b.symbol].name;
        let mut out = Vec::new();
        if is_nameless(plan, b.element) {
            let table = b.rows.as_ref().map(|r| crate::device::host_expr::term_text(&self.c, r.table));
            let of = format!("{}{}", table.as_deref().unwrap_or(name), "[0]".repeat(b.rank));
            let theirs = self.given.bytes(&format!("{}_size", crate::plan::name_part(name)), &of);
            out.push(test(is_number(theirs, i128::from(b.element_size)), LAID_OUT));
        }
        let (used, most) = plan.count_tests(k);
        let is_used = used.then(|| Term::binary(BinOp::Gt, Term::name(&b.count_name), Term::Int(0)));
        let fits = most.map(|most| Term::binary(BinOp::Le, Term::name(&b.count_name), Term::Int(most)));
        let why = match (used, most) {
            (true, Some(_)) => format!("{name} is used, and its size fits"),
            (true, None) => format!("{name} is used"),
            (false, _) => format!("the size of {name} fits"),
        };
        if used || most.is_some() {
            out.push(test(Term::all(BinOp::And, is_used.into_iter().chain(fits)), &why));
        }
        out
    }

    pub(super) fn apart(&self, [a, a_bytes]: [Term; 2], [b, b_bytes]: [Term; 2]) -> Term {
        self.helpers.apart.set(true);
        Term::call(&format!("{}_apart", self.helper), vec![a, a_bytes, b, b_bytes])
    }

    /// A variable's address and its size.
    pub(super) fn variable_place(&mut self, s: term::SymbolId) -> [Term; 2] {
        let ty = self.plan.body.symbols[s].ty;
        let at = Term::Name(self.given.at(s));
        let size = match self.plan.body.types.kind(ty) {
            TypeKind::Record(_) => {
                Term::Int(self.plan.body.types.size_align(ty).map_or(0, |s| i128::from(s.0)))
            }
            _ => at.clone().deref().size_of(),
        };
        [at, size]
    }

    /// That the cell of a reduction is nothing else that the kernel uses.
    fn cell_test(&mut self, kind: &TestKind) -> Option<Term> {
        let plan = self.plan;
        let held = self.kernel.held();
        let place = |k: usize| held.get(k).map(|r| quoted(&self.c, r.place));
        let (k, words) = match *kind {
            TestKind::CellInBuffer { cell, buffer } => {
                let name = plan.body.symbols[plan.buffers.get(buffer)?.symbol].name.to_string();
                (cell, format!("{} does not lie in {name}", place(cell)?))
            }
            TestKind::CellInCell { cell, other } => {
                (cell, format!("{} does not lie in {}", place(cell)?, place(other)?))
            }
            TestKind::CellInVariable { cell, symbol } => {
                (cell, format!("{} does not lie in {}", place(cell)?, plan.body.symbols[symbol].name))
            }
            _ => return None,
        };
        let place = |cell: String| {
            let cell = Term::Name(cell);
            [cell.clone(), cell.deref().size_of()]
        };
        let cell = place(self.given.cell(k));
        let other = match *kind {
            TestKind::CellInBuffer { buffer, .. } => {
                let b = plan.buffers.get(buffer)?;
                [self.pointer(b), Term::name(&b.bytes_name)]
            }
            TestKind::CellInCell { other, .. } => place(self.given.cell(other)),
            TestKind::CellInVariable { symbol, .. } => self.variable_place(symbol),
            _ => return None,
        };
        Some(test(self.apart(cell, other), &words))
    }

    /// Which condition of the verdict a test meets.
    fn why(&self, c: &ConditionKind) -> String {
        let q = |t| quoted(&self.c, t);
        match c {
            ConditionKind::NoWrap(t) => format!("{} does not wrap around", q(*t)),
            ConditionKind::Bounds { access, .. } => format!("{} stays inside its dimensions", q(*access)),
            ConditionKind::InRow { access, stride, times, columns } => {
                let row = match times {
                    // the text has no words for the length
                    _ if self.plan.body.same(*stride, *access) => "row".to_owned(),
                    1 => format!("row of {}", q(*stride)),
                    n => format!("row of {n} times {}", q(*stride)),
                };
                match columns {
                    Columns::Alone if self.plan.body.same(*stride, *access) => {
                        format!("{} moves by a step that is not 0", q(*access))
                    }
                    Columns::Alone => format!("{} is not 0", q(*stride)),
                    Columns::First | Columns::FromFirst => format!("{} stays in its {row}", q(*access)),
                    Columns::Anywhere => format!("the columns of {} span no more than a {row}", q(*access)),
                }
            }
            ConditionKind::Injective(_) | ConditionKind::InRange { .. } | ConditionKind::Size { .. } => {
                format!("your promise {}", promises::said(self.plan, &self.c, c))
            }
            ConditionKind::AtMost { array, term, number } => {
                let most = term.map_or_else(|| number.to_string(), q);
                format!("no element of {} is larger than {most}", q(*array))
            }
            ConditionKind::Sorted(array) => format!("the elements of {} do not decrease", q(*array)),
            ConditionKind::Asserted(t) => match self.plan.body.asserted(*t) {
                Some(holds) => asserted(self.plan.body, holds, &q),
                None => "what the loop asserts holds".to_string(),
            },
            ConditionKind::StepSign(t) => match (self.plan.body.op(*t), self.plan.body.args(*t)) {
                (Op::Compound(BinOp::Add | BinOp::Sub), &[_, by]) => format!("{} is positive", q(by)),
                _ => format!("{} has the sign the comparison needs", q(*t)),
            },
            ConditionKind::Terminates(_) => "the loop ends".to_string(),
            ConditionKind::KeepsSmall => "small numbers are not taken for zero, as on the device".to_string(),
            ConditionKind::RoundsToNearest => {
                "numbers are rounded to nearest and small ones kept, as on the device".to_string()
            }
            ConditionKind::Trips(_) => "an inner loop runs as often as its bounds say".to_string(),
            // of languages that are not printed here
            ConditionKind::NotNull(_)
            | ConditionKind::NonZero(_)
            | ConditionKind::NoOverflow(_)
            | ConditionKind::NoAlias(..)
            | ConditionKind::DistinctRows(_)
            | ConditionKind::Pure(_)
            | ConditionKind::Reassociate(..) => String::new(),
        }
    }
}

/// A test, and in a few words what it is for; empty: it says so itself.
pub(super) fn test(condition: Term, why: &str) -> Term {
    match why {
        "" => Term::head("_Test", vec![condition]),
        why => Term::head("_Test", vec![condition, Term::Words(why.to_owned())]),
    }
}

fn is_number(name: String, number: i128) -> Term {
    Term::binary(BinOp::Eq, Term::Name(name), Term::Int(number))
}

/// That a condition is met. A branch that the kernel does without is told by what would have it entered.
fn asserted(body: &Body, holds: TermId, quoted: &dyn Fn(TermId) -> String) -> String {
    match (body.op(holds), body.args(holds)) {
        (Op::Unary(UnOp::Not), &[entered]) if body.origin(holds) == Origin::Made => match body.op(entered) {
            Op::Binary(op) if op.is_comparison() || op.is_logical() => {
                format!("{} does not hold", quoted(entered))
            }
            _ => format!("{} is 0", quoted(entered)),
        },
        _ => format!("{} holds", quoted(holds)),
    }
}
