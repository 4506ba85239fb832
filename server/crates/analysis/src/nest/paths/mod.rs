//! What the ways to the root leave true of its parameters where a variable was changed on the way: clamps, masks, early
//! returns, flags, `switch`.
//!
//! Read backwards from the root, as cases. In each case a variable has one *version* at the place that was reached: its value when
//! the root begins (a parameter of the model), or, above a statement that sets it, a variable of the constraints alone. `n = e`
//! says that the version below is the value of `e` in versions above; a branch makes a case of each way. Versions are
//! eliminated in the end (Fourier and Motzkin), so that constraints over parameters are left: one of the cases holds whenever
//! the loop runs. What is not followed ends a version and says nothing: fewer facts, never a wrong one.
//!
//! The argument that statements run in this order, and what stops it (labels, loops around), is that of `entry`.

mod cases;
mod values;

use super::entry::leaves;
use crate::limits::nest_paths::MANY;
use rustc_hash::{FxHashMap, FxHashSet};
use term::{BinOp, Op, SymbolId, TermId, UnOp};

use crate::algebra::poly::{Constraint, Poly, Var, VarKind};
use crate::algebra::project::project;
use crate::flow::counted_loop;
use crate::flow::effects::is_of_its_own;
use crate::nest::builder::Builder;
use crate::Param;

#[derive(Clone, Default, Debug)]
struct Case {
    facts: Vec<Constraint>,
    /// Versions of the variables that something below changes.
    versions: FxHashMap<SymbolId, Var>,
    /// How many facts were left when those of earlier versions were last eliminated.
    left: usize,
}

type Conjunctions = Vec<Vec<Constraint>>;
type Values = Vec<(Vec<Constraint>, Poly)>;

impl Builder<'_> {
    /// Reads the cases. `around`: the terms from the body's root down to the loop, both included.
    pub(super) fn read_paths(&mut self, around: &[TermId]) {
        let Some(parts) = self.body.loop_parts(self.root) else { return };
        if self.effects.has_gaps() || self.effects.jumps_unseen() || self.effects.entered_by_label(self.root)
        {
            return;
        }
        let mut cases = vec![Case::default()];
        if let Some(init) = parts.init {
            cases = self.before(init, cases, 0);
        }
        for pair in around.windows(2).rev() {
            let (parent, child) = (pair[0], pair[1]);
            let args = self.body.args(parent).to_vec();
            match self.body.op(parent) {
                Op::List => {
                    let at = args.iter().position(|&a| a == child).unwrap_or(0);
                    let up = self.effects.parent(parent);
                    if let Some(switch) = up.filter(|&g| *self.body.op(g) == Op::Switch) {
                        match self.before_case(switch, parent, &args[..at], cases) {
                            Some(c) => cases = c,
                            None => return,
                        }
                        continue;
                    }
                    let telling = self.effects.telling(parent);
                    for &k in telling.iter().rev().filter(|&&k| (k as usize) < at) {
                        let t = args[k as usize];
                        if self.effects.entered_by_label(t) {
                            return self.keep(cases);
                        }
                        cases = self.before(t, cases, 0);
                        self.condense(&mut cases);
                    }
                }
                Op::If => {
                    if self.effects.entered_by_label(parent) {
                        return self.keep(cases);
                    }
                    if args.get(1) == Some(&child) {
                        cases = self.assuming(args[0], true, cases, 0);
                    } else if args.get(2) == Some(&child) {
                        cases = self.assuming(args[0], false, cases, 0);
                    }
                }
                // Its value and its body were dealt with at the list.
                Op::Function(_) | Op::Program | Op::Switch => {}
                _ if self.effects.entered_by_label(parent) => return self.keep(cases),
                op => {
                    // An iteration begins with the condition; what iterations before did is not known.
                    let body = self.body.loop_parts(parent).filter(|p| p.body == child && p.tests_first);
                    if let (true, Some(c)) = (op.is_loop(), body.and_then(|p| p.condition)) {
                        cases = self.assuming(c, true, cases, 0);
                    }
                    self.forget_versions(parent, &mut cases);
                }
            }
        }
        self.keep(cases);
    }

    /// The root in a `switch`: its labels say what the value is, if nothing falls into them. `None`: stop here.
    fn before_case(
        &mut self,
        switch: TermId,
        list: TermId,
        before: &[TermId],
        mut cases: Vec<Case>,
    ) -> Option<Vec<Case>> {
        let is_label = |m: &Self, t: TermId| matches!(m.body.op(t), Op::Case | Op::Default);
        let mut k = before.len();
        while k > 0 && !is_label(self, before[k - 1]) {
            if self.effects.entered_by_label(before[k - 1]) {
                self.keep(cases);
                return None;
            }
            cases = self.before(before[k - 1], cases, 0);
            k -= 1;
        }
        let mut values = Some(Vec::new());
        while k > 0 && is_label(self, before[k - 1]) {
            let value = match self.body.args(before[k - 1]) {
                &[v] => counted_loop::constant(self.body, v),
                _ => None,
            };
            match (&mut values, value) {
                (Some(list), Some(v)) => list.push(v),
                _ => values = None,
            }
            k -= 1;
        }
        let falls = k > 0 && !leaves(self.body, before[k - 1]);
        let inner = self.body.walk(list).any(|t| is_label(self, t) && self.effects.parent(t) != Some(list));
        if falls || inner {
            self.forget_versions(list, &mut cases);
            values = None;
        }
        let subject = self.body.args(switch)[0];
        if let (Some(values), true) = (values, self.effects.writes_in(subject).is_empty()) {
            let mut out = Vec::new();
            for c in &cases {
                let Some(found) = self.path_value(c, subject, 0) else {
                    out.push(c.clone());
                    continue;
                };
                for v in &values {
                    for (facts, p) in &found {
                        let Some(p) = p.add_constant(-v) else { continue };
                        let mut more = c.clone();
                        more.facts.extend(facts.iter().cloned());
                        more.facts.push(Constraint::zero(p));
                        out.push(more);
                    }
                }
            }
            return Some(self.few(out, cases));
        }
        self.forget_versions(subject, &mut cases);
        Some(cases)
    }

    /// The cases above a statement.
    fn before(&mut self, t: TermId, mut cases: Vec<Case>, depth: u32) -> Vec<Case> {
        let args = self.body.args(t).to_vec();
        if depth > 30 || !self.pay(1 + cases.len()) {
            self.forget_versions(t, &mut cases);
            return cases;
        }
        match *self.body.op(t) {
            Op::List | Op::Comma => {
                for &a in args.iter().rev() {
                    cases = self.before(a, cases, depth + 1);
                }
                return cases;
            }
            Op::Declare(s) if args.len() == 1 && self.is_followed(s) => {
                return self.above_assignment(s, args[0], t, cases)
            }
            Op::Assign => {
                if let Some(s) = self.body.as_symbol(args[0]).filter(|&s| self.is_followed(s)) {
                    return self.above_assignment(s, args[1], t, cases);
                }
            }
            Op::Compound(op) => {
                if let Some(s) = self.body.as_symbol(args[0]).filter(|&s| self.is_followed(s)) {
                    return self.above_update(s, op, args[1], t, cases);
                }
            }
            Op::Step { delta, .. } => {
                if let Some(s) = self.body.as_symbol(args[0]).filter(|&s| self.is_followed(s)) {
                    let kind = self.body.types.as_int(self.body.symbols[s].ty);
                    if kind.is_some_and(|k| self.body.arithmetic(t).is_exact(k)) {
                        for c in &mut cases {
                            let below = self.version(c, s);
                            let above = self.renew(c, s);
                            let sum = Poly::var(above).add_constant(delta.into());
                            if let Some(d) = sum.and_then(|p| p.sub(&Poly::var(below))) {
                                c.facts.push(Constraint::zero(d));
                            }
                        }
                        return cases;
                    }
                }
            }
            Op::If => {
                let branch = |m: &mut Self, b: Option<&TermId>, holds: bool, cases: &[Case]| {
                    if b.is_some_and(|&b| leaves(m.body, b)) {
                        return Vec::new();
                    }
                    let inner = match b {
                        Some(&b) => m.before(b, cases.to_vec(), depth + 1),
                        None => cases.to_vec(),
                    };
                    m.assuming(args[0], holds, inner, 0)
                };
                // A branch that changes nothing known and does not leave is no reason to tell cases apart.
                let writes = self.effects.writes_in(t);
                let leaving = args[1..].iter().any(|&b| leaves(self.body, b));
                if !leaving && !writes.iter().any(|&s| self.is_followed(s)) {
                    return cases;
                }
                let mut out = branch(self, args.get(1), true, &cases);
                out.extend(branch(self, args.get(2), false, &cases));
                self.forget_versions(t, &mut cases);
                return self.few(out, cases);
            }
            Op::For | Op::While | Op::DoWhile => {
                // A loop that is only left by its condition ends with that false.
                let parts = self.body.loop_parts(t);
                let leaves_early = self
                    .body
                    .walk(t)
                    .any(|x| matches!(self.body.op(x), Op::Break | Op::Goto(_) | Op::Label(_)));
                let telling = parts.and_then(|p| p.condition).filter(|&c| !is_of_its_own(self.body, t, c));
                if let (Some(c), false) = (telling, leaves_early) {
                    cases = self.assuming(c, false, cases, 0);
                }
            }
            Op::Call => {
                if let Some(c) = self.body.asserted(t) {
                    return self.assuming(c, true, cases, 0);
                }
            }
            // `c ? (void)0 : leave()`, as `assert` expands, and the like: no more than what it writes.
            _ => {}
        }
        self.forget_versions(t, &mut cases);
        cases
    }

    /// Eliminates versions that nothing above can change any more, where many facts have come together.
    fn condense(&self, cases: &mut [Case]) {
        for c in cases.iter_mut().filter(|c| c.facts.len() > MANY.max(2 * c.left)) {
            let live: FxHashSet<Var> = c.versions.values().copied().collect();
            let is_live = |v: Var| live.contains(&v) || self.is_param(v);
            self.pay(c.facts.len());
            c.facts = project(&c.facts, is_live);
            c.left = c.facts.len();
        }
    }

    fn above_assignment(&mut self, s: SymbolId, e: TermId, t: TermId, mut cases: Vec<Case>) -> Vec<Case> {
        if !self.effects.writes_in(e).is_empty() {
            self.forget_versions(t, &mut cases);
            return cases;
        }
        let (Some(from), Some(to)) =
            (self.body.types.as_int(self.body.ty(e)), self.body.types.as_int(self.body.symbols[s].ty))
        else {
            self.forget_versions(t, &mut cases);
            return cases;
        };
        let mut out = Vec::new();
        for c in &cases {
            let mut c = c.clone();
            let below = self.version(&c, s);
            self.renew(&mut c, s);
            let value = self.path_value(&c, e, 0).map(|v| self.as_converted(v, from, to));
            match value {
                None => out.push(c),
                Some(values) => out.extend(set_to(&c, below, values)),
            }
        }
        self.forget_versions(t, &mut cases);
        self.few(out, cases)
    }

    /// `n /= 2`, `n &= 7`, `n -= 1`
    fn above_update(
        &mut self,
        s: SymbolId,
        op: BinOp,
        e: TermId,
        t: TermId,
        mut cases: Vec<Case>,
    ) -> Vec<Case> {
        let kinds =
            self.body.types.as_int(self.body.symbols[s].ty).zip(self.body.types.as_int(self.body.ty(e)));
        let Some((to, right)) = kinds.filter(|_| self.effects.writes_in(e).is_empty()) else {
            self.forget_versions(t, &mut cases);
            return cases;
        };
        let shift = matches!(op, BinOp::Shl | BinOp::Shr);
        let common = if shift { to.promoted() } else { to.common(right) };
        let mut out = Vec::new();
        for c in &cases {
            let mut c = c.clone();
            let below = self.version(&c, s);
            let above = self.renew(&mut c, s);
            let a = self.as_converted(vec![(Vec::new(), Poly::var(above))], to, common);
            let b =
                self.path_value(&c, e, 0)
                    .map(|v| if shift { v } else { self.as_converted(v, right, common) });
            let value = b.and_then(|b| self.path_arithmetic(t, op, a, b, common));
            match value.map(|v| self.as_converted(v, common, to)) {
                None => out.push(c),
                Some(values) => out.extend(set_to(&c, below, values)),
            }
        }
        self.forget_versions(t, &mut cases);
        self.few(out, cases)
    }

    /// The cases above a condition that came out so. Its parts are gone through from the last one back, since a later one may
    /// write what an earlier one compared.
    fn assuming(&mut self, c: TermId, holds: bool, mut cases: Vec<Case>, depth: u32) -> Vec<Case> {
        let args = self.body.args(c).to_vec();
        if depth > 20 || !self.pay(cost(&cases)) {
            self.forget_versions(c, &mut cases);
            return cases;
        }
        if self.effects.writes_in(c).is_empty() {
            let mut out = Vec::new();
            for case in &cases {
                match self.path_truth(case, c, holds, 0) {
                    None => out.push(case.clone()),
                    Some(all) => {
                        for facts in all {
                            let mut more = case.clone();
                            more.facts.extend(facts);
                            out.push(more);
                        }
                    }
                }
            }
            return self.few(out, cases);
        }
        match (self.body.op(c).clone(), holds) {
            (Op::Binary(BinOp::And), true) | (Op::Binary(BinOp::Or), false) => {
                let after = self.assuming(args[1], holds, cases, depth + 1);
                self.assuming(args[0], holds, after, depth + 1)
            }
            (Op::Binary(BinOp::And), false) | (Op::Binary(BinOp::Or), true) => {
                // The first part decided, or it did not and the second did.
                let mut out = self.assuming(args[0], holds, cases.clone(), depth + 1);
                let second = self.assuming(args[1], holds, cases.clone(), depth + 1);
                out.extend(self.assuming(args[0], !holds, second, depth + 1));
                self.forget_versions(c, &mut cases);
                self.few(out, cases)
            }
            (Op::Unary(UnOp::Not), _) => self.assuming(args[0], !holds, cases, depth + 1),
            (Op::Comma, _) => {
                let after = self.assuming(args[1], holds, cases, depth + 1);
                self.before(args[0], after, depth + 1)
            }
            _ => {
                self.forget_versions(c, &mut cases);
                cases
            }
        }
    }

    // ---- values in a case

    /// Whether the variable's value is followed: an integer that only this function's own statements change.
    fn is_followed(&self, s: SymbolId) -> bool {
        let symbol = &self.body.symbols[s];
        let quals = self.body.types.quals(symbol.ty);
        symbol.is_own_scalar() && !quals.is_volatile && self.body.types.as_int(symbol.ty).is_some()
    }

    fn version(&mut self, c: &Case, s: SymbolId) -> Var {
        match c.versions.get(&s) {
            Some(&v) => v,
            None => self.param(Param::Symbol(s)),
        }
    }

    /// The version above a statement that sets the variable.
    fn renew(&mut self, c: &mut Case, s: SymbolId) -> Var {
        let v = self.fresh(VarKind::Fresh);
        c.versions.insert(s, v);
        v
    }

    fn forget_versions(&mut self, t: TermId, cases: &mut [Case]) {
        let writes: Vec<SymbolId> =
            self.effects.writes_in(t).iter().copied().filter(|&s| self.is_followed(s)).collect();
        for c in cases {
            for &s in &writes {
                self.renew(c, s);
            }
        }
    }
}

/// The case with each of the values that its variable is set to below.
fn set_to<'c>(c: &'c Case, below: Var, values: Values) -> impl Iterator<Item = Case> + 'c {
    values.into_iter().filter_map(move |(facts, p)| {
        let d = p.sub(&Poly::var(below))?;
        let mut more = c.clone();
        more.facts.extend(facts);
        more.facts.push(Constraint::zero(d));
        Some(more)
    })
}

/// Steps for a look at all that is known in the cases.
fn cost(cases: &[Case]) -> usize {
    1 + cases.iter().map(|c| 1 + c.facts.len()).sum::<usize>() / 8
}
