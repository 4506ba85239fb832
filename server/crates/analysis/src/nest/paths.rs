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

use super::entry::leaves;
use super::*;

/// Cases followed at once, and kept.
const MAX_CASES: usize = 10;
const MAX_KEPT: usize = 5;
/// Constraints of one case while versions are eliminated.
const MAX_LINES: usize = 60;

#[derive(Clone, Default, Debug)]
struct Case {
    facts: Vec<Constraint>,
    /// Versions of the variables that something below changes.
    versions: FxHashMap<SymbolId, Var>,
}

type Conjunctions = Vec<Vec<Constraint>>;
type Values = Vec<(Vec<Constraint>, Poly)>;

impl Model<'_> {
    /// Reads the cases. `around`: the terms from the body's root down to the loop, both included.
    pub(super) fn read_paths(&mut self, around: &[TermId]) {
        let labels: Vec<TermId> =
            self.body.walk(self.body.root).filter(|&t| matches!(self.body.op(t), Op::Label(_))).collect();
        let gap = self.body.walk(self.body.root).any(|t| matches!(self.body.op(t), Op::Reject(_)));
        let Some(parts) = self.body.loop_parts(self.root) else { return };
        if gap || self.body.jumps_unseen(self.body.root) || self.entered_by_label(&labels, self.root) {
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
                        match self.before_case(switch, parent, &args[..at], cases, &labels) {
                            Some(c) => cases = c,
                            None => return,
                        }
                        continue;
                    }
                    for &t in args[..at].iter().rev() {
                        if self.entered_by_label(&labels, t) {
                            return self.keep(cases);
                        }
                        cases = self.before(t, cases, 0);
                    }
                }
                Op::If => {
                    if self.entered_by_label(&labels, parent) {
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
                _ if self.entered_by_label(&labels, parent) => return self.keep(cases),
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
        labels: &[TermId],
    ) -> Option<Vec<Case>> {
        let is_label = |m: &Self, t: TermId| matches!(m.body.op(t), Op::Case | Op::Default);
        let mut k = before.len();
        while k > 0 && !is_label(self, before[k - 1]) {
            if self.entered_by_label(labels, before[k - 1]) {
                self.keep(cases);
                return None;
            }
            cases = self.before(before[k - 1], cases, 0);
            k -= 1;
        }
        let mut values = Some(Vec::new());
        while k > 0 && is_label(self, before[k - 1]) {
            let value = match self.body.args(before[k - 1]) {
                &[v] => control::constant(self.body, v),
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
        if depth > 30 {
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
                    if kind.is_some_and(|k| k.signed() && k.bits() >= 32) {
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
                if let (Some(c), false) = (parts.and_then(|p| p.condition), leaves_early) {
                    cases = self.assuming(c, false, cases, 0);
                }
            }
            Op::Call => {
                let f = args.first().and_then(|&f| self.body.as_symbol(f));
                let assert = f.is_some_and(|f| {
                    self.body.library.contains(&f) && &*self.body.symbols[f].name == "assert"
                });
                if let (true, &[_, c]) = (assert, &args[..]) {
                    return self.assuming(c, true, cases, 0);
                }
            }
            // `c ? (void)0 : leave()`, as `assert` expands, and the like: no more than what it writes.
            _ => {}
        }
        self.forget_versions(t, &mut cases);
        cases
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
                Some(values) => {
                    for (facts, p) in values {
                        let Some(d) = p.sub(&Poly::var(below)) else { continue };
                        let mut more = c.clone();
                        more.facts.extend(facts);
                        more.facts.push(Constraint::zero(d));
                        out.push(more);
                    }
                }
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
            let value = b.and_then(|b| self.path_arithmetic(op, a, b, common));
            match value.map(|v| self.as_converted(v, common, to)) {
                None => out.push(c),
                Some(values) => {
                    for (facts, p) in values {
                        let Some(d) = p.sub(&Poly::var(below)) else { continue };
                        let mut more = c.clone();
                        more.facts.extend(facts);
                        more.facts.push(Constraint::zero(d));
                        out.push(more);
                    }
                }
            }
        }
        self.forget_versions(t, &mut cases);
        self.few(out, cases)
    }

    /// The cases above a condition that came out so. Its parts are gone through from the last one back, since a later one may
    /// write what an earlier one compared.
    fn assuming(&mut self, c: TermId, holds: bool, mut cases: Vec<Case>, depth: u32) -> Vec<Case> {
        let args = self.body.args(c).to_vec();
        if depth > 20 {
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

    /// The value of an expression without effects, in versions of the case: in each conjunction another. Between them
    /// the conjunctions cover everything.
    fn path_value(&mut self, c: &Case, e: TermId, depth: u32) -> Option<Values> {
        if depth > 12 {
            return None;
        }
        let kind = self.body.types.as_int(self.body.ty(e))?;
        let args = self.body.args(e).to_vec();
        let one = |p: Poly| Some(vec![(Vec::new(), p)]);
        match self.body.op(e).clone() {
            Op::Int(v) => one(Poly::constant(v)),
            Op::Sym(s) => match self.body.symbols[s].storage {
                Storage::Constant(v) => one(Poly::constant(v)),
                _ if self.is_followed(s) => {
                    let v = self.version(c, s);
                    one(Poly::var(v))
                }
                _ => None,
            },
            Op::Cast | Op::Unary(UnOp::Plus) => {
                let from = self.body.types.as_int(self.body.ty(args[0]))?;
                let v = self.path_value(c, args[0], depth + 1)?;
                Some(self.as_converted(v, from, kind))
            }
            Op::Unary(UnOp::Neg) if kind.signed() => {
                let v = self.path_value(c, args[0], depth + 1)?;
                v.into_iter().map(|(f, p)| Some((f, p.scale(-1)?))).collect()
            }
            Op::Binary(op) if op.is_comparison() || op.is_logical() => self.truth_value(c, e, depth),
            Op::Unary(UnOp::Not) => self.truth_value(c, e, depth),
            Op::Binary(op) => {
                let ka = self.body.types.as_int(self.body.ty(args[0]))?;
                let kb = self.body.types.as_int(self.body.ty(args[1]))?;
                let a = self.path_value(c, args[0], depth + 1)?;
                let b = self.path_value(c, args[1], depth + 1)?;
                let shift = matches!(op, BinOp::Shl | BinOp::Shr);
                let a = self.as_converted(a, ka, kind);
                let b = if shift { b } else { self.as_converted(b, kb, kind) };
                self.path_arithmetic(op, a, b, kind)
            }
            Op::Select => {
                let yes = self.path_truth(c, args[0], true, depth + 1)?;
                let no = self.path_truth(c, args[0], false, depth + 1)?;
                let mut out = Vec::new();
                for (conditions, value) in [(yes, args[1]), (no, args[2])] {
                    let from = self.body.types.as_int(self.body.ty(value))?;
                    let v = self.path_value(c, value, depth + 1)?;
                    let v = self.as_converted(v, from, kind);
                    for k in &conditions {
                        for (f, p) in &v {
                            out.push((k.iter().chain(f).cloned().collect(), p.clone()));
                        }
                    }
                }
                (out.len() <= 6).then_some(out)
            }
            _ => None,
        }
    }

    fn truth_value(&mut self, c: &Case, e: TermId, depth: u32) -> Option<Values> {
        let yes = self.path_truth(c, e, true, depth + 1)?;
        let no = self.path_truth(c, e, false, depth + 1)?;
        let all = yes.into_iter().map(|f| (f, 1)).chain(no.into_iter().map(|f| (f, 0)));
        let out: Values = all.map(|(f, v)| (f, Poly::constant(v))).collect();
        (out.len() <= 6).then_some(out)
    }

    /// Operands of the type `kind` (shifts: the left one).
    fn path_arithmetic(&mut self, op: BinOp, a: Values, b: Values, kind: IntKind) -> Option<Values> {
        let mut out = Vec::new();
        for (fa, p) in &a {
            for (fb, q) in &b {
                let both = || fa.iter().chain(fb).cloned().collect::<Vec<_>>();
                let (cp, cq) = (p.as_constant(), q.as_constant());
                let exact = kind.signed() || (cp.is_some() && cq.is_some());
                match op {
                    BinOp::Add if exact => out.push((both(), p.add(q)?)),
                    BinOp::Sub if exact => out.push((both(), p.sub(q)?)),
                    BinOp::Mul if exact => {
                        let v = match (cp, cq) {
                            (_, Some(k)) => p.scale(k)?,
                            (Some(k), _) => q.scale(k)?,
                            _ => return None,
                        };
                        out.push((both(), v));
                    }
                    BinOp::Div | BinOp::Rem => {
                        let k = cq.filter(|k| *k > 0)?;
                        // Towards zero: by the sign of what is divided.
                        for negative in [false, true] {
                            if negative && !kind.signed() {
                                continue;
                            }
                            let size = if negative { p.scale(-1)? } else { p.clone() };
                            let quotient = Poly::var(self.fresh(VarKind::Fresh));
                            let rest = size.sub(&quotient.scale(k)?)?;
                            let mut facts = both();
                            let least = if negative { size.add_constant(-1)? } else { size.clone() };
                            facts.push(Constraint::non_negative(least));
                            facts.push(Constraint::non_negative(rest.clone()));
                            facts.push(Constraint::non_negative(rest.scale(-1)?.add_constant(k - 1)?));
                            let v = if op == BinOp::Div { quotient } else { rest };
                            out.push((facts, if negative { v.scale(-1)? } else { v }));
                        }
                    }
                    BinOp::Shr => {
                        let k = 1i128 << cq.filter(|k| (0..40).contains(k))?;
                        let quotient = Poly::var(self.fresh(VarKind::Fresh));
                        let rest = p.sub(&quotient.scale(k)?)?;
                        let mut facts = both();
                        facts.push(Constraint::non_negative(rest.clone()));
                        facts.push(Constraint::non_negative(rest.scale(-1)?.add_constant(k - 1)?));
                        out.push((facts, quotient));
                    }
                    BinOp::BitAnd => {
                        let mask = cq.or(cp).filter(|m| *m >= 0 && *m < 1 << 40)?;
                        let x = if cq.is_some() { p } else { q };
                        let v = Poly::var(self.fresh(VarKind::Fresh));
                        let mut facts = both();
                        facts.push(Constraint::non_negative(v.clone()));
                        facts.push(Constraint::non_negative(v.scale(-1)?.add_constant(mask)?));
                        if (mask + 1) & mask == 0 {
                            // x - v is a multiple of mask + 1
                            let q = Poly::var(self.fresh(VarKind::Fresh));
                            facts.push(Constraint::zero(x.sub(&v)?.sub(&q.scale(mask + 1)?)?));
                        }
                        out.push((facts, v));
                    }
                    _ => return None,
                }
            }
        }
        (out.len() <= 6).then_some(out)
    }

    /// The value after conversion: the same where the type holds it, anything of the type elsewhere.
    fn as_converted(&mut self, v: Values, from: IntKind, to: IntKind) -> Values {
        if from == to || (to != IntKind::Bool && to.min() <= from.min() && from.max() <= to.max()) {
            return v;
        }
        let mut out = Vec::new();
        for (f, p) in v {
            if let Some(k) = p.as_constant() {
                out.push((f, Poly::constant(to.wrap(k))));
                continue;
            }
            let with = |more: Vec<Option<Poly>>| {
                let mut g = f.clone();
                g.extend(more.into_iter().flatten().map(Constraint::non_negative));
                g
            };
            if to == IntKind::Bool {
                out.push((with(vec![p.add_constant(-1)]), Poly::constant(1)));
                if from.min() < 0 {
                    out.push((with(vec![p.scale(-1).and_then(|p| p.add_constant(-1))]), Poly::constant(1)));
                }
                let mut g = f.clone();
                g.push(Constraint::zero(p));
                out.push((g, Poly::constant(0)));
                continue;
            }
            let below = (from.min() < to.min()).then(|| p.add_constant(-to.min())).flatten();
            let above =
                (from.max() > to.max()).then(|| p.scale(-1).and_then(|p| p.add_constant(to.max()))).flatten();
            out.push((with(vec![below.clone(), above.clone()]), p.clone()));
            for edge in [below, above].into_iter().flatten() {
                let outside = edge.scale(-1).and_then(|p| p.add_constant(-1));
                let v = Poly::var(self.fresh(VarKind::Fresh));
                let low = v.add_constant(-to.min());
                out.push((with(vec![outside, low.filter(|_| !to.signed())]), v));
            }
        }
        out
    }

    /// Conjunctions of which one holds where the condition (without effects) comes out so.
    fn path_truth(&mut self, c: &Case, e: TermId, holds: bool, depth: u32) -> Option<Conjunctions> {
        if depth > 12 {
            return None;
        }
        let args = self.body.args(e).to_vec();
        let out = match (self.body.op(e).clone(), holds) {
            (Op::Unary(UnOp::Not), _) => return self.path_truth(c, args[0], !holds, depth + 1),
            (Op::Binary(BinOp::And), true) | (Op::Binary(BinOp::Or), false) => {
                // What one part does not tell the other may.
                let a = self.path_truth(c, args[0], holds, depth + 1);
                let b = self.path_truth(c, args[1], holds, depth + 1);
                match (a, b) {
                    (None, x) | (x, None) => return x,
                    (Some(a), Some(b)) => a
                        .iter()
                        .flat_map(|x| b.iter().map(move |y| x.iter().chain(y).cloned().collect()))
                        .collect(),
                }
            }
            (Op::Binary(BinOp::And), false) | (Op::Binary(BinOp::Or), true) => {
                let mut a = self.path_truth(c, args[0], holds, depth + 1)?;
                a.extend(self.path_truth(c, args[1], holds, depth + 1)?);
                a
            }
            (Op::Binary(op), _) if op.is_comparison() => {
                let ka = self.body.types.as_int(self.body.ty(args[0]))?;
                let kb = self.body.types.as_int(self.body.ty(args[1]))?;
                let k = ka.common(kb);
                let a = self.path_value(c, args[0], depth + 1)?;
                let b = self.path_value(c, args[1], depth + 1)?;
                let (a, b) = (self.as_converted(a, ka, k), self.as_converted(b, kb, k));
                let op = if holds { op } else { negated(op) };
                let mut out = Vec::new();
                for (fa, p) in &a {
                    for (fb, q) in &b {
                        for piece in compare(op, p, q).pieces {
                            out.push(fa.iter().chain(fb).cloned().chain(piece).collect());
                        }
                    }
                }
                out
            }
            _ => {
                let v = self.path_value(c, e, depth + 1)?;
                let op = if holds { BinOp::Ne } else { BinOp::Eq };
                let mut out: Conjunctions = Vec::new();
                for (f, p) in &v {
                    for piece in compare(op, p, &Poly::constant(0)).pieces {
                        out.push(f.iter().cloned().chain(piece).collect());
                    }
                }
                out
            }
        };
        (out.len() <= 6).then_some(out)
    }

    // ---- cases

    /// The cases that can be, if they are few enough; else the others, in which less is known.
    fn few(&self, mut cases: Vec<Case>, otherwise: Vec<Case>) -> Vec<Case> {
        if cases.len() > 1 {
            cases.retain(|c| !self.contradicts(&c.facts));
        }
        if cases.len() > MAX_CASES {
            return otherwise;
        }
        cases
    }

    fn contradicts(&self, facts: &[Constraint]) -> bool {
        let mut columns: Vec<Var> = Vec::new();
        for k in facts.iter().filter(|k| k.poly.is_linear()) {
            for v in k.poly.vars() {
                if !columns.contains(&v) {
                    columns.push(v);
                }
            }
        }
        let line = |p: &Poly| -> Vec<i128> {
            columns.iter().map(|v| p.coefficient(*v)).chain([p.constant_part()]).collect()
        };
        let (mut equal, mut least) = (Vec::new(), Vec::new());
        for k in facts.iter().filter(|k| k.poly.is_linear()) {
            let list = if k.equality { &mut equal } else { &mut least };
            list.push(line(&k.poly));
        }
        // What the types say.
        for (at, v) in columns.iter().enumerate() {
            if let VarKind::Param(Param::Symbol(s)) = &self.vars[*v as usize] {
                let unsigned = self.body.types.as_int(self.body.symbols[*s].ty).is_some_and(|k| !k.signed());
                if unsigned {
                    let mut l = vec![0; columns.len() + 1];
                    l[at] = 1;
                    least.push(l);
                }
            }
        }
        columns.len() <= 30 && crate::depend::impossible(columns.len(), equal, least)
    }

    /// Whether it follows from the facts.
    fn follows(&self, facts: &[Constraint], k: &Constraint) -> bool {
        let against = |p: Option<Poly>| {
            let Some(p) = p else { return false };
            let mut all = facts.to_vec();
            all.push(Constraint::non_negative(p));
            self.contradicts(&all)
        };
        let below = k.poly.scale(-1).and_then(|p| p.add_constant(-1));
        against(below) && (!k.equality || against(k.poly.add_constant(-1)))
    }

    /// Leaves constraints over parameters that matter to the root, in the context and as cases.
    fn keep(&mut self, cases: Vec<Case>) {
        let mut wanted: FxHashSet<Var> = FxHashSet::default();
        let body = self.body;
        // Not those that the loop's header sets, nor those that stand for a value in others.
        let init = body.loop_parts(self.root).and_then(|p| p.init);
        let mut seen: FxHashSet<SymbolId> =
            init.map(|i| (*self.effects.writes_in(i)).clone()).unwrap_or_default();
        for x in body.walk(self.root) {
            let Op::Sym(s) = body.op(x) else { continue };
            if !seen.insert(*s) || self.entry_values.contains_key(s) || self.definition(*s).is_some() {
                continue;
            }
            wanted.extend(self.param_ids.get(&Param::Symbol(*s)));
        }
        for p in self.entry_values.values() {
            wanted.extend(p.vars());
        }
        for c in &self.context {
            wanted.extend(c.poly.vars());
        }
        let mut left: Vec<Vec<Constraint>> = Vec::new();
        for c in &cases {
            if cases.len() > 1 && self.contradicts(&c.facts) {
                continue;
            }
            let facts = project(&c.facts, |v| wanted.contains(&v));
            if !left.contains(&facts) {
                left.push(facts);
            }
        }
        if left.is_empty() || left.iter().all(Vec::is_empty) {
            return;
        }
        let candidates: Vec<Constraint> = left.iter().flatten().cloned().collect();
        let mut common: Vec<Constraint> = Vec::new();
        for k in candidates {
            // An equation of one case may be an inequality of all.
            let parts = match k.equality && left.len() > 1 {
                true => vec![
                    Constraint::non_negative(k.poly.clone()),
                    Constraint::non_negative(k.poly.scale(-1).unwrap_or_default()),
                ],
                false => vec![k],
            };
            for k in parts {
                let known = common.contains(&k) || self.context.contains(&k);
                let in_all = |facts: &Vec<Constraint>| facts.contains(&k) || self.follows(facts, &k);
                if !known && common.len() < 24 && left.iter().all(in_all) {
                    common.push(k);
                }
            }
        }
        self.context.extend(common);
        if (2..=MAX_KEPT).contains(&left.len()) && left.iter().all(|l| !l.is_empty()) {
            self.cases = left;
        }
    }
}

/// What follows for the wanted variables.
pub(crate) fn project(facts: &[Constraint], wanted: impl Fn(Var) -> bool) -> Vec<Constraint> {
    let mut lines: Vec<Constraint> = facts.iter().filter(|k| k.poly.is_linear()).cloned().collect();
    for _ in 0..200 {
        let Some(v) = lines.iter().flat_map(|k| k.poly.vars()).find(|v| !wanted(*v)) else { break };
        let solved = lines.iter().position(|k| k.equality && k.poly.coefficient(v).abs() == 1);
        if let Some(at) = solved {
            let by = lines.swap_remove(at);
            let c = by.poly.coefficient(v);
            lines = lines
                .into_iter()
                .filter_map(|k| {
                    if k.poly.coefficient(v) == 0 {
                        return Some(k);
                    }
                    let poly = k.poly.add_scaled(&by.poly, -k.poly.coefficient(v) * c)?;
                    Some(Constraint { poly, equality: k.equality })
                })
                .collect();
            continue;
        }
        let (with, mut rest): (Vec<_>, Vec<_>) = lines.into_iter().partition(|k| k.poly.coefficient(v) != 0);
        let mut bounds: Vec<Poly> = Vec::new();
        for k in with {
            if k.equality {
                bounds.extend(k.poly.scale(-1));
            }
            bounds.push(k.poly);
        }
        let (up, down): (Vec<_>, Vec<_>) = bounds.into_iter().partition(|p| p.coefficient(v) > 0);
        // Where there would be too many, less is said.
        if up.len() * down.len() + rest.len() <= MAX_LINES {
            for a in &up {
                for b in &down {
                    let (x, y) = (a.coefficient(v), -b.coefficient(v));
                    let sum = a.scale(y).and_then(|a| a.add_scaled(b, x));
                    if let Some(p) = sum.filter(|p| p.vars().next().is_some()) {
                        let k = Constraint::non_negative(p);
                        if !rest.contains(&k) {
                            rest.push(k);
                        }
                    }
                }
            }
        }
        lines = rest;
    }
    lines.retain(|k| k.poly.vars().next().is_some() && k.poly.vars().all(&wanted));
    lines.sort_by_cached_key(|k| format!("{k:?}"));
    lines.dedup();
    lines
}
