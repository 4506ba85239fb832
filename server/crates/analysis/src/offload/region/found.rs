//! Parts of arrays that only a search finds ([`Search`]), in a region: `x[col[k]]` for `k` from `row[i]`. Where nothing that the search
//! goes by changes in the statements, each has one answer for all rounds, and the host finds it once, where they begin.
//!
//! Nests that search alike share the answer: the products of a solver, whatever vector they multiply.

use rustc_hash::FxHashSet;
use term::{Body, Op, Storage, SymbolId, TermId};

use crate::flow::effects::Effects;
use crate::{
    Buffer, Control, Expr, Facts, FoundPart, LoopId, Offload, Param, Program, Search, SearchStep, Step,
};

/// The nests with such parts as extents ([`Param::End`]), and how each is found, by every nest that could; the first gives the name.
pub(crate) fn found_parts(
    body: &Body,
    program: &Program,
    facts: &Facts,
    statements: &[TermId],
    nests: &[(LoopId, Offload)],
) -> (Vec<(LoopId, Offload)>, Vec<FoundPart>) {
    let mut out = nests.to_vec();
    let searches = |n: &(LoopId, Offload)| n.1.buffers.iter().any(|b| b.search.is_some());
    if body.semantics.checked_bounds || !nests.iter().any(searches) {
        return (out, Vec::new());
    }
    let effects = Effects::new(body, program);
    let mut changed: FxHashSet<SymbolId> = FxHashSet::default();
    for &t in statements {
        changed.extend(effects.writes_in(t).iter().copied());
        changed.extend(body.walk(t).filter_map(|t| match body.op(t) {
            Op::Declare(s) => Some(*s),
            _ => None,
        }));
    }
    changed.extend(nests.iter().flat_map(|n| &n.1.buffers).filter(|b| b.written).map(|b| b.symbol));
    let steady = Steady { body, changed };
    let mut found: Vec<FoundPart> = Vec::new();
    for (id, offload) in &mut out {
        let Ok(control) = &facts.loops[*id].control else { continue };
        let is_plain = offload.band.first() == Some(id) && offload.threads.is_none();
        if !is_plain || !steady.counts_alike(control, offload) {
            continue;
        }
        let nest = facts.loops[*id].term;
        let shown: Vec<SymbolId> =
            offload.buffers.iter().filter(|b| b.rows.is_none()).map(|b| b.symbol).collect();
        for b in &mut offload.buffers {
            let Some(search) = b.search.clone().filter(|s| steady.has_one_answer(s, &shown)) else {
                continue;
            };
            let one = FoundPart { nest: *id, array: b.symbol, search };
            let like = found.iter().find(|f| {
                let theirs = facts.loops[f.nest].control.as_ref();
                theirs.is_ok_and(|c| is_alike(body, (&f.search, c), (&one.search, control)))
            });
            let (nest, array) = like.map_or((nest, b.symbol), |f| (facts.loops[f.nest].term, f.array));
            let end = |last: bool| Expr::Param(Param::End { nest, array, last });
            *b = Buffer { extent: Some((end(false), end(true))), search: None, ..b.clone() };
            found.push(one);
        }
    }
    (out, found)
}

/// Which of those that found a part alike are to find it: the first in each group whose nest surely runs. `Err`: an array that none does.
pub(super) fn chosen(
    body: &Body,
    facts: &Facts,
    found: &[FoundPart],
    is_sure: &dyn Fn(LoopId) -> bool,
) -> Result<Vec<(FoundPart, FoundPart)>, SymbolId> {
    let mut out: Vec<(FoundPart, FoundPart)> = Vec::new();
    let control = |f: &FoundPart| facts.loops[f.nest].control.as_ref().ok();
    let alike = |a: &FoundPart, b: &FoundPart| {
        let both = control(a).zip(control(b));
        both.is_some_and(|(x, y)| is_alike(body, (&a.search, x), (&b.search, y)))
    };
    for f in found {
        match out.iter_mut().find(|(named, _)| alike(named, f)) {
            Some((_, by)) if !is_sure(by.nest) => *by = f.clone(),
            Some(_) => {}
            None => out.push((f.clone(), f.clone())),
        }
    }
    match out.iter().find(|(_, by)| !is_sure(by.nest)) {
        Some((named, _)) => Err(named.array),
        None => Ok(out),
    }
}

/// What the statements leave alone.
struct Steady<'b> {
    body: &'b Body,
    changed: FxHashSet<SymbolId>,
}

impl Steady<'_> {
    fn is_kept(&self, s: SymbolId) -> bool {
        let symbol = &self.body.symbols[s];
        let is_own = symbol.is_own_scalar() && !self.changed.contains(&s);
        is_own || matches!(symbol.storage, Storage::Constant(_))
    }

    /// Whether a number is made of the function's own numbers alone, which keep their values.
    fn is_number(&self, t: TermId) -> bool {
        let body = self.body;
        body.walk(t).all(|x| match body.op(x) {
            Op::Sym(s) => self.is_kept(*s),
            Op::Index
            | Op::Deref
            | Op::Member { .. }
            | Op::Call
            | Op::AddrOf
            | Op::Reject(_)
            | Op::Apply(_) => false,
            op => !op.is_write(),
        })
    }

    /// Whether a nest runs through the same iterations whenever it runs.
    fn counts_alike(&self, control: &Control, offload: &Offload) -> bool {
        let step = match &control.step {
            Step::Const(_) => true,
            Step::Term { term, .. } => self.is_number(*term),
        };
        let fixed = |p: Param| match p {
            Param::Symbol(s) => self.is_kept(s),
            Param::Term(t) => self.is_number(t),
            Param::Distance { .. } | Param::Row(_) | Param::Longest(_) | Param::End { .. } => false,
        };
        let trips = offload.max_trips.first().is_some_and(|e| {
            let mut all = true;
            e.params(&mut |p| all = all && fixed(p));
            all
        });
        step && trips && self.is_number(control.lower)
    }

    /// `shown`: arrays of the nest's that lie in one piece.
    fn has_one_answer(&self, search: &Search, shown: &[SymbolId]) -> bool {
        let is_kept = |r: &SymbolId| !self.changed.contains(r) && shown.contains(r);
        search.inputs.iter().all(|&s| self.is_kept(s)) && search.reads.iter().all(is_kept)
    }
}

/// Whether two searches go through the same elements, whatever the arrays and the variables are that they set.
fn is_alike(body: &Body, (a, x): (&Search, &Control), (b, y): (&Search, &Control)) -> bool {
    let mut pairs = Pairs { body, own: vec![(x.index, y.index)] };
    let step = match (&x.step, &y.step) {
        (Step::Term { term: s, negated: n }, Step::Term { term: t, negated: m }) => {
            n == m && pairs.same(*s, *t)
        }
        (s, t) => s == t,
    };
    let bound = match (x.bound, y.bound) {
        (Some(s), Some(t)) => pairs.same(s, t),
        (s, t) => s == t,
    };
    let counts = x.index_type == y.index_type
        && x.relation == y.relation
        && [x.offset, x.shift] == [y.offset, y.shift]
        && x.at_least_once == y.at_least_once;
    counts && step && bound && pairs.same(x.lower, y.lower) && pairs.steps(&a.steps, &b.steps)
}

/// Variables of two searches that stand for each other.
struct Pairs<'b> {
    body: &'b Body,
    own: Vec<(SymbolId, SymbolId)>,
}

impl Pairs<'_> {
    fn symbols(&self, a: SymbolId, b: SymbolId) -> bool {
        match self.own.iter().find(|p| p.0 == a || p.1 == b) {
            Some(pair) => *pair == (a, b),
            None => a == b,
        }
    }

    /// The two are set, to values that are the same.
    fn set(&mut self, a: SymbolId, b: SymbolId) -> bool {
        let alike = self.body.symbols[a].ty == self.body.symbols[b].ty;
        if alike && !self.own.iter().any(|p| p.0 == a || p.1 == b) {
            self.own.push((a, b));
        }
        alike && self.symbols(a, b)
    }

    fn same(&self, a: TermId, b: TermId) -> bool {
        let body = self.body;
        let mut stack = vec![(a, b)];
        while let Some((a, b)) = stack.pop() {
            let alike = match (body.op(a), body.op(b)) {
                (Op::Sym(s), Op::Sym(t)) => self.symbols(*s, *t),
                (x, y) => x == y,
            };
            let (x, y) = (body.args(a), body.args(b));
            if !alike || body.ty(a) != body.ty(b) || x.len() != y.len() {
                return false;
            }
            stack.extend(x.iter().copied().zip(y.iter().copied()));
        }
        true
    }

    fn steps(&mut self, a: &[SearchStep], b: &[SearchStep]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.step(a, b))
    }

    fn step(&mut self, a: &SearchStep, b: &SearchStep) -> bool {
        use SearchStep::{If, Point, Set, Touch, Update, While};
        let from = |p: &Pairs<'_>, a: &Option<SymbolId>, b: &Option<SymbolId>| match (a, b) {
            (Some(a), Some(b)) => p.symbols(*a, *b),
            (a, b) => a == b,
        };
        match (a, b) {
            (Set { symbol: s, value: v }, Set { symbol: t, value: w }) => {
                self.same(*v, *w) && self.set(*s, *t)
            }
            (If { condition: c, holds: h, then: x }, If { condition: d, holds: g, then: y }) => {
                h == g && self.same(*c, *d) && self.steps(x, y)
            }
            (Update { symbol: s, op: o, by: v }, Update { symbol: t, op: q, by: w }) => {
                let by = match (v, w) {
                    (Some(v), Some(w)) => self.same(*v, *w),
                    (v, w) => v == w,
                };
                o == q && by && self.symbols(*s, *t)
            }
            (Point { symbol: s, from: f, by: v }, Point { symbol: t, from: g, by: w }) => {
                let moved =
                    v.len() == w.len() && v.iter().zip(w).all(|(v, w)| v.0 == w.0 && self.same(v.1, w.1));
                from(self, f, g) && moved && self.set(*s, *t)
            }
            (While { condition: c, then: x }, While { condition: d, then: y }) => {
                self.same(*c, *d) && self.steps(x, y)
            }
            (Touch { from: f, subscript: v, sure: s }, Touch { from: g, subscript: w, sure: t }) => {
                s == t && from(self, f, g) && self.same(*v, *w)
            }
            _ => false,
        }
    }
}
