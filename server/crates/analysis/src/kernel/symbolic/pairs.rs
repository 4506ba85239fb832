//! Whether two threads can reach two accesses with equal offsets and nothing in between.
//!
//! For each pair the cases are told apart: another block; one block and the same round of all loops with barriers around both;
//! one block and a later round of one of them. In each case atoms are one unknown for both threads or two, and a system over
//! the monomials is asked for a solution. Products `x·u` of an unknown `x` that differs between the two and a positive `u` that
//! does not are kept in order by looking at `x = x'`, `x < x'` and `x > x'` one by one.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use term::{Op, TermId};

use super::eval::squared;
use super::rows::{Rows, FIRST, SECOND};
use super::{Share, Step, SymbolicAccess, SymbolicKernel, MAX_QUESTIONS};
use crate::algebra::poly::{Constraint, Poly, Var};
use crate::kernel::races::{RaceObstacle, Touch};
use crate::kernel::{is_barrier, KernelObstacle};
use crate::limits::kernel_symbolic_pairs::{A_QUESTION, LEAST_ISL, MAX_SPLITS, MOST_ISL};
use crate::solve::impossible;

/// What two threads have in common.
#[derive(Clone)]
struct Together {
    one_block: bool,
    /// Loops whose round is the same.
    loops: Vec<u32>,
    /// A loop in whose later round the second thread is: the very next, if a barrier stands in every round.
    later: Option<(u32, bool)>,
}

impl SymbolicKernel<'_> {
    /// Whether no integers satisfy all rows. `false`: not shown.
    pub(super) fn impossible(&mut self, rows: &Rows) -> bool {
        self.questions += 1;
        if self.questions > MAX_QUESTIONS {
            return false;
        }
        let mut columns: FxHashMap<Vec<Var>, usize> = FxHashMap::default();
        for c in &rows.list {
            for (m, _) in c.poly.terms().filter(|(m, _)| !m.is_empty()) {
                let n = columns.len();
                columns.entry(m.to_vec()).or_insert(n);
            }
        }
        let (mut equal, mut least) = (Vec::new(), Vec::new());
        for c in &rows.list {
            let mut line = vec![0i128; columns.len() + 1];
            for (m, k) in c.poly.terms() {
                match m.is_empty() {
                    true => line[columns.len()] = k,
                    false => line[columns[m]] = k,
                }
            }
            if c.equality {
                equal.push(line);
            } else {
                least.push(line);
            }
        }
        // what needs more is seldom shown at all: most proofs are the elimination's
        let most = (self.budget.left() / A_QUESTION).clamp(LEAST_ISL, MOST_ISL);
        impossible(columns.len(), equal, least, (&self.budget, most))
    }

    // ---- pairs

    pub(super) fn judge(&mut self) -> Result<(), RaceObstacle> {
        let accesses = std::mem::take(&mut self.accesses);
        let out = self.judged(&accesses);
        self.accesses = accesses;
        out
    }

    fn judged(&mut self, list: &[SymbolicAccess]) -> Result<(), RaceObstacle> {
        for (k, a) in list.iter().enumerate() {
            for b in &list[k..] {
                let plain = a.touch == Touch::Write || b.touch == Touch::Write || a.touch != b.touch;
                if a.object != b.object || !plain {
                    continue;
                }
                if self.can_meet(a, b) {
                    if self.questions > MAX_QUESTIONS {
                        return Err(RaceObstacle::Kernel(KernelObstacle::Questions));
                    }
                    let name: Arc<str> = self.body.name.clone();
                    return Err(RaceObstacle::MayMeet {
                        object: self.objects[a.object as usize].name.clone(),
                        first: (name.clone(), a.term),
                        second: (name, b.term),
                        strides: self.strides([a, b]),
                    });
                }
            }
        }
        Ok(())
    }

    /// The parameters that are factors of what two offsets are sums of.
    fn strides(&self, of: [&SymbolicAccess; 2]) -> Vec<Arc<str>> {
        let mut out: Vec<Arc<str>> = Vec::new();
        for (m, _) in of.iter().filter_map(|a| a.offset.as_ref()).flat_map(|p| p.terms()) {
            let factors = self.parameters.iter().filter(|(v, _)| m.len() > 1 && m.contains(v));
            for (_, name) in factors {
                if !out.contains(name) {
                    out.push(name.clone());
                }
            }
        }
        out
    }

    /// Whether one is reached only where a number that is one for all threads is zero, and the other only where it is not.
    fn excludes(&self, a: &SymbolicAccess, b: &SymbolicAccess) -> bool {
        let zero = b.guards.iter().filter(|g| g.equality && self.is_fixed(&g.poly));
        let mut other = zero.filter_map(|g| squared(&g.poly).map(Constraint::non_negative));
        other.any(|other| a.guards.contains(&other))
    }

    fn can_meet(&mut self, a: &SymbolicAccess, b: &SymbolicAccess) -> bool {
        if self.excludes(a, b) || self.excludes(b, a) {
            return false;
        }
        let own = std::ptr::eq(a, b);
        let shared = self.objects[a.object as usize].shared;
        let blocks = (0..3).any(|k| self.blocks[k].as_constant() != Some(1));
        if !shared
            && blocks
            && self.meet(a, b, &Together { one_block: false, loops: Vec::new(), later: None })
        {
            return true;
        }
        let common = a.path.iter().zip(&b.path).take_while(|(x, y)| x == y).count();
        // both may stand in one loop, in different parts of it
        let head = |k: usize| {
            a.path.get(k).zip(b.path.get(k)).filter(|(x, y)| x.node == y.node).map(|(x, _)| x.node)
        };
        let mut loops: Vec<(u32, usize)> = Vec::new();
        for k in 0..=common {
            let Some(node) = head(k) else { continue };
            let found = self.rounds.iter().position(|r| r.node == node && r.synced);
            loops.extend(found.map(|n| (n as u32, k)));
        }
        let all: Vec<u32> = loops.iter().map(|l| l.0).collect();
        if !self.apart_in_round(a, b, common)
            && self.meet(a, b, &Together { one_block: true, loops: all.clone(), later: None })
        {
            return true;
        }
        for (k, &(n, depth)) in loops.iter().enumerate() {
            for (first, second) in [(a, b), (b, a)] {
                if self.leaves_over_barrier(first, depth, true)
                    || self.leaves_over_barrier(second, depth, false)
                {
                    continue;
                }
                let next = self.every_round(self.rounds[n as usize].node);
                let together = Together { one_block: true, loops: all[..k].to_vec(), later: Some((n, next)) };
                if self.meet(first, second, &together) {
                    return true;
                }
                if own {
                    break;
                }
            }
        }
        false
    }

    // ---- barriers

    /// Whether a statement passes a barrier whenever it is run to its end.
    fn passes(&self, t: TermId) -> bool {
        let body = self.body;
        match (body.op(t), body.args(t)) {
            (Op::Call, _) => is_barrier(body, t),
            (Op::List | Op::Comma, items) => items.iter().any(|&i| self.passes(i)),
            (Op::If, &[_, then, other]) => self.passes(then) && self.passes(other),
            (Op::Declare(_), &[v]) => self.passes(v),
            (Op::Assign, &[_, v]) => self.passes(v),
            _ => false,
        }
    }

    /// Whether a statement may jump away.
    fn jumps(&self, t: TermId) -> bool {
        self.body.walk(t).any(|x| matches!(self.body.op(x), Op::Break | Op::Continue | Op::Return))
    }

    /// Whether a list's items before this one, or after it up to the first that may jump away, pass a barrier.
    fn passes_beside(&self, s: &Step, after: bool) -> bool {
        let body = self.body;
        if !matches!(body.op(s.node), Op::List) {
            return false;
        }
        let items = body.args(s.node);
        let at = s.slot as usize;
        match after {
            true => {
                let rest = items.get(at + 1..).unwrap_or(&[]);
                // what stands around the access may leave too
                !items.get(at).is_some_and(|&t| self.jumps(t))
                    && rest.iter().take_while(|&&t| !self.jumps(t)).any(|&t| self.passes(t))
            }
            false => items.iter().take(at).any(|&t| self.passes(t)),
        }
    }

    /// Whether every round of a loop passes a barrier.
    fn every_round(&self, node: TermId) -> bool {
        let body = self.body;
        let inner = match (body.op(node), body.args(node)) {
            (Op::For, &[_, _, _, inner, ..]) | (Op::While, &[_, inner, ..]) => inner,
            (Op::DoWhile, &[inner, ..]) => inner,
            _ => return false,
        };
        let items: &[TermId] = match body.op(inner) {
            Op::List => body.args(inner),
            _ => return false,
        };
        items.iter().take_while(|&&t| !self.jumps(t)).any(|&t| self.passes(t))
    }

    /// Whether a barrier always stands between the two in one round of all loops around both.
    fn apart_in_round(&self, a: &SymbolicAccess, b: &SymbolicAccess, common: usize) -> bool {
        let (Some(x), Some(y)) = (a.path.get(common), b.path.get(common)) else { return false };
        if x.node != y.node {
            return false;
        }
        let ((a, x), (b, y)) = if x.slot <= y.slot { ((a, x), (b, y)) } else { ((b, y), (a, x)) };
        let between = match self.body.op(x.node) {
            Op::List => {
                let items = self.body.args(x.node);
                let between = items.get(x.slot as usize + 1..y.slot as usize).unwrap_or(&[]);
                between.iter().any(|&t| self.passes(t))
            }
            Op::For | Op::While | Op::DoWhile => x.slot == 0 && y.slot == 2 && self.every_round(x.node),
            // the first part is done before the second
            Op::Comma => false,
            // one way or the other: no order
            _ => return false,
        };
        between
            || a.path[common + 1..].iter().any(|s| self.passes_beside(s, true))
            || b.path[common + 1..].iter().any(|s| self.passes_beside(s, false))
    }

    /// Whether an access is followed by a barrier in its round of the loop at this depth of its path (`after`), or comes after
    /// one.
    fn leaves_over_barrier(&self, a: &SymbolicAccess, depth: usize, after: bool) -> bool {
        let Some(l) = a.path.get(depth) else { return false };
        let whole = if after { l.slot == 0 } else { l.slot == 2 };
        whole && self.every_round(l.node) || a.path[depth + 1..].iter().any(|s| self.passes_beside(s, after))
    }

    // ---- systems

    fn named(&self, v: Var, second: bool, t: &Together) -> Var {
        let atom = &self.atoms[v as usize];
        let inside = atom.loops.iter().all(|l| t.loops.contains(l));
        let one = inside
            && match atom.share {
                Share::Grid => true,
                Share::Block => t.one_block,
                Share::Thread => false,
            };
        match (one, second) {
            (true, _) => v,
            (false, false) => v + FIRST,
            (false, true) => v + SECOND,
        }
    }

    fn of_thread(&self, p: &Poly, second: bool, t: &Together) -> Option<Poly> {
        Poly::from_terms(p.terms().map(|(m, c)| (m.iter().map(|v| self.named(*v, second, t)).collect(), c)))
    }

    /// Whether two threads that have this in common may touch one place. `true` where that is not excluded.
    fn meet(&mut self, a: &SymbolicAccess, b: &SymbolicAccess, t: &Together) -> bool {
        self.meet_in(a, b, t).unwrap_or(true)
    }

    fn meet_in(&mut self, a: &SymbolicAccess, b: &SymbolicAccess, t: &Together) -> Option<bool> {
        let mut rows = Rows::default();
        let mut later = None;
        for (x, second) in [(a, false), (b, true)] {
            // the offset's atoms and those of the indices
            let mut mentioned: Vec<Constraint> =
                x.offset.iter().cloned().map(Constraint::non_negative).collect();
            for p in self.thread.iter().chain(&self.block) {
                mentioned.push(Constraint::non_negative(p.clone()));
            }
            for c in self.relevant(&mentioned, &x.guards, usize::MAX) {
                let poly = self.of_thread(&c.poly, second, t)?;
                rows.list.push(Constraint { poly, equality: c.equality });
            }
        }
        if let Some((n, next)) = t.later {
            let counter = Poly::var(self.rounds[n as usize].counter);
            let (x, y) = (self.of_thread(&counter, false, t)?, self.of_thread(&counter, true, t)?);
            let difference = y.sub(&x)?.add_constant(-1)?;
            rows.list.push(Constraint { poly: difference, equality: next });
            later = Some((x, y, next));
        }
        // two offsets, of the two threads
        let offsets = match (&a.offset, &b.offset) {
            (Some(p), Some(q)) => {
                let (p, q) = (self.of_thread(p, false, t)?, self.of_thread(q, true, t)?);
                Some((p, q))
            }
            _ => None,
        };
        if let Some((x, y, next)) = later {
            let mut all = rows.clone();
            all.list.extend(offsets.iter().flat_map(|(p, q)| [p, q]).cloned().map(Constraint::zero));
            let known = all.list.len();
            self.ordered_products(&mut all, &x, &y, next)?;
            rows.list.extend(all.list.drain(known..));
        }
        let axes = if t.one_block { self.thread.clone() } else { self.block.clone() };
        let mut below: Vec<Constraint> = Vec::new();
        // the first axis in which the two differ, and which of the two is lower there
        for p in axes {
            if p.as_constant().is_some() {
                continue;
            }
            let (x, y) = (self.of_thread(&p, false, t)?, self.of_thread(&p, true, t)?);
            for (low, high) in [(&x, &y), (&y, &x)] {
                let mut case = rows.clone();
                case.list.extend(below.iter().cloned());
                case.list.push(Constraint::non_negative(high.sub(low)?.add_constant(-1)?));
                if self.ordered_products(&mut case, low, high, false).is_none()
                    || self.solved(case, &offsets, a, b)
                {
                    return Some(true);
                }
            }
            below.push(Constraint::zero(x.sub(&y)?));
            below.extend(self.equal_products(&rows, &offsets, &x, &y)?);
        }
        Some(false)
    }

    /// Adds equal offsets and asks.
    fn solved(
        &mut self,
        mut rows: Rows,
        offsets: &Option<(Poly, Poly)>,
        a: &SymbolicAccess,
        b: &SymbolicAccess,
    ) -> bool {
        if self.impossible(&rows) {
            return false;
        }
        let Some((p, q)) = offsets else { return true };
        let size = a.size as i128;
        let even = |p: &Poly| p.terms().all(|(_, c)| c % size == 0);
        if a.size == b.size && even(p) && even(q) {
            let element = |p: &Poly| Poly::from_terms(p.terms().map(|(m, c)| (m.to_vec(), c / size)));
            let (Some(p), Some(q)) = (element(p), element(q)) else { return true };
            if self.equate(&mut rows, &p, &q, 0).is_none() {
                return true;
            }
        } else {
            // the bytes overlap: neither begins behind the other's end
            let over = |x: &Poly, y: &Poly, size: u64| -> Option<Constraint> {
                Some(Constraint::non_negative(x.sub(y)?.add_constant(size as i128 - 1)?))
            };
            let (Some(x), Some(y)) = (over(p, q, a.size), over(q, p, b.size)) else {
                return true;
            };
            rows.list.push(x);
            rows.list.push(y);
        }
        self.split(rows, &[])
    }

    /// Unknowns that differ between the two threads and stand in products with what does not.
    fn factors(&self, rows: &Rows) -> Vec<Var> {
        let mut out: Vec<Var> = Vec::new();
        for c in &rows.list {
            for (m, _) in c.poly.terms().filter(|(m, _)| m.len() > 1) {
                let own: Vec<Var> = m.iter().copied().filter(|v| *v >= FIRST).collect();
                if let [one] = own.as_slice() {
                    let base = if *one >= SECOND { one - SECOND } else { one - FIRST };
                    if !out.contains(&base) {
                        out.push(base);
                    }
                }
            }
        }
        out
    }

    /// What unknowns stand in products with these, where it is positive.
    fn cofactors(&self, rows: &Rows, x: Var, y: Var) -> Vec<Vec<Var>> {
        let mut out: Vec<Vec<Var>> = Vec::new();
        for c in &rows.list {
            for (m, _) in c.poly.terms().filter(|(m, _)| m.len() > 1) {
                let Some(k) = m.iter().position(|v| *v == x || *v == y) else { continue };
                let mut rest = m.to_vec();
                rest.remove(k);
                let positive = |v: &Var| *v < FIRST && self.atoms[*v as usize].low.is_some_and(|l| l >= 1);
                if rest.iter().all(positive) && !out.contains(&rest) {
                    out.push(rest);
                }
            }
        }
        out
    }

    /// Adds what `low < high` (or `low <= high`) says of their products.
    fn ordered_products(&self, rows: &mut Rows, low: &Poly, high: &Poly, exactly_one: bool) -> Option<()> {
        let (x, y) = (single(low)?, single(high)?);
        for u in self.cofactors(rows, x, y) {
            let product = |v: Var| Poly::from_terms([([&u[..], &[v]].concat(), 1)]);
            let step = Poly::from_terms([(u.clone(), 1)])?;
            let poly = product(y)?.sub(&product(x)?)?.sub(&step)?;
            rows.list.push(Constraint { poly, equality: exactly_one });
        }
        Some(())
    }

    /// What `x = y` says of their products.
    fn equal_products(
        &self,
        rows: &Rows,
        offsets: &Option<(Poly, Poly)>,
        x: &Poly,
        y: &Poly,
    ) -> Option<Vec<Constraint>> {
        let mut all = rows.clone();
        if let Some((p, q)) = offsets {
            all.list.push(Constraint::zero(p.clone()));
            all.list.push(Constraint::zero(q.clone()));
        }
        let (x, y) = (single(x)?, single(y)?);
        let mut out = Vec::new();
        for u in self.cofactors(&all, x, y) {
            let product = |v: Var| Poly::from_terms([([&u[..], &[v]].concat(), 1)]);
            out.push(Constraint::zero(product(x)?.sub(&product(y)?)?));
        }
        Some(out)
    }

    /// Whether the rows may have a solution, order by order of what stands in products.
    fn split(&mut self, mut rows: Rows, done: &[Var]) -> bool {
        if rows.merge().is_none() {
            return true;
        }
        if self.impossible(&rows) {
            return false;
        }
        let open = self.factors(&rows);
        // one unknown for both has no order
        let both = |x: &Var| {
            let stands = |v: Var| rows.list.iter().any(|c| c.poly.vars().any(|w| w == v));
            !done.contains(x) && stands(x + FIRST) && stands(x + SECOND)
        };
        let next = open.into_iter().find(both).filter(|_| done.len() < MAX_SPLITS);
        let Some(base) = next else { return true };
        let done = [done, &[base]].concat();
        let (x, y) = (base + FIRST, base + SECOND);
        let (p, q) = (Poly::var(x), Poly::var(y));
        for case in 0..3 {
            let mut next = rows.clone();
            let added = match case {
                0 => p.sub(&q).map(|c| next.list.push(Constraint::zero(c))),
                _ => {
                    let (low, high) = if case == 1 { (&p, &q) } else { (&q, &p) };
                    high.sub(low).and_then(|d| d.add_constant(-1)).and_then(|d| {
                        next.list.push(Constraint::non_negative(d));
                        self.ordered_products(&mut next, low, high, false)
                    })
                }
            };
            if added.is_none() || self.split(next, &done) {
                return true;
            }
        }
        false
    }
}

/// The unknown that a form is.
fn single(p: &Poly) -> Option<Var> {
    let mut terms = p.terms();
    match (terms.next(), terms.next()) {
        (Some(([v], 1)), None) => Some(*v),
        _ => None,
    }
}
