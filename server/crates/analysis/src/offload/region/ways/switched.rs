//! A `switch` as conditions of the number that it switches by.
//!
//! Groups of statements between labels that end by themselves become a ladder of `if … else if`; where one leads into the next, each
//! is come to with the numbers of all that lead into it. A `break` in the middle of a group jumps behind all of them.

use std::sync::Arc;

use base::IndexId;
use rustc_hash::FxHashSet;
use term::{BinOp, IntKind, Op, SymbolId, Term, TermId};

use super::Writer;

/// The statements of a `switch` between its labels.
struct Group {
    /// No number: `default`.
    labels: Vec<Option<i128>>,
    statements: Vec<TermId>,
    /// Whether control does not come to the next.
    ends: bool,
}

impl Writer<'_> {
    /// A `switch` as conditions; a `break` that does not end a group jumps behind all.
    pub(super) fn switched(&mut self, t: TermId) -> Option<Vec<TermId>> {
        let &[value, list] = &self.b.get(t).args.clone()[..] else { return None };
        let kind = self.b.types.as_int(self.b.get(value).ty)?.promoted();
        let mut groups = self.groups(list, kind)?;
        let end: Arc<str> = format!("behind {}", t.index()).into();
        let mut jumps = false;
        for g in &mut groups {
            g.ends = self.without_break(&mut g.statements);
            for &s in &g.statements.clone() {
                jumps |= self.breaks_as_jumps(s, &end);
            }
        }
        for (k, g) in groups.iter().enumerate() {
            let behind: Vec<TermId> = groups[k + 1..].iter().flat_map(|g| g.statements.clone()).collect();
            self.keeps_names(&g.statements, &behind)?;
        }
        let mut out = Vec::new();
        let by = match self.is_kept(value, list) {
            true => value,
            false => {
                let ty = self.b.types.int(kind);
                let held = self.variable("by", ty);
                out.push(self.made(Op::Declare(held), vec![value], t));
                self.named(held, t)
            }
        };
        let count = groups.len();
        let all: Vec<i128> = groups.iter().flat_map(|g| g.labels.iter().flatten().copied()).collect();
        if groups.iter().take(count.saturating_sub(1)).all(|g| g.ends) {
            // each alone: the default last
            groups.sort_by_key(|g| g.labels.contains(&None));
            let mut otherwise = None;
            for g in groups.into_iter().rev() {
                let is_default = g.labels.contains(&None);
                let inner = self.made(Op::List, g.statements, t);
                if is_default && otherwise.is_none() && !all.is_empty() {
                    otherwise = Some(inner);
                    continue;
                }
                let enters = self.enters(&g.labels, &all, by, kind, t);
                let Some(enters) = enters else {
                    otherwise = Some(inner);
                    continue;
                };
                let args = [enters, inner].into_iter().chain(otherwise).collect();
                let one = self.made(Op::If, args, t);
                otherwise = Some(self.made(Op::List, vec![one], t));
            }
            out.extend(otherwise);
        } else {
            let mut labels: Vec<Option<i128>> = Vec::new();
            for g in groups {
                labels.extend(&g.labels);
                let inner = self.made(Op::List, g.statements, t);
                match self.enters(&labels, &all, by, kind, t) {
                    Some(enters) => out.push(self.made(Op::If, vec![enters, inner], t)),
                    None => out.push(inner),
                }
                if g.ends {
                    labels.clear();
                }
            }
        }
        if jumps {
            self.own.insert(end.clone());
            out.push(self.made(Op::Label(end), Vec::new(), t));
        }
        Some(out)
    }

    /// The condition of coming to a group; `None`: it is come to whatever the number.
    fn enters(
        &mut self,
        labels: &[Option<i128>],
        all: &[i128],
        by: TermId,
        kind: IntKind,
        like: TermId,
    ) -> Option<TermId> {
        // the default is come to with what no label has
        let others: Vec<i128>;
        let (numbers, op, joint) = match labels.contains(&None) {
            true => {
                others = all.iter().copied().filter(|v| !labels.contains(&Some(*v))).collect();
                (others, BinOp::Ne, BinOp::And)
            }
            false => (labels.iter().flatten().copied().collect(), BinOp::Eq, BinOp::Or),
        };
        let ty = self.b.types.int(kind);
        let mut joined = None;
        for v in numbers {
            let number = self.typed(Op::Int(v), Vec::new(), ty, like);
            let by = self.copy(by);
            let one = self.compared(op, by, number, like);
            joined = Some(match joined {
                Some(before) => self.compared(joint, before, one, like),
                None => one,
            });
        }
        joined
    }

    fn copy(&mut self, t: TermId) -> TermId {
        let term = self.b.get(t).clone();
        let args = term.args.iter().map(|&a| self.copy(a)).collect();
        self.typed(term.op, args, term.ty, t)
    }

    /// Whether an expression has one value as long as the statements run: it is made of numbers of the function that they do not set.
    fn is_kept(&self, value: TermId, list: TermId) -> bool {
        let body = self.body;
        let set: FxHashSet<SymbolId> = body
            .walk(list)
            .filter(|&t| body.op(t).is_write())
            .filter_map(|t| body.args(t).first().and_then(|&p| body.as_symbol(p)))
            .collect();
        body.walk(value).all(|t| match body.op(t) {
            Op::Sym(s) => {
                let (symbol, q) = (&body.symbols[*s], body.types.quals(body.symbols[*s].ty));
                symbol.is_own_scalar() && !q.is_volatile && !q.is_atomic && !set.contains(s)
            }
            Op::Int(_) | Op::Unary(_) | Op::Binary(_) | Op::Cast => true,
            _ => false,
        })
    }

    /// The groups of a `switch` whose labels all stand in its own list.
    fn groups(&self, list: TermId, kind: IntKind) -> Option<Vec<Group>> {
        let mut groups: Vec<Group> = Vec::new();
        let mut is_open = false;
        for &s in &self.b.get(list).args {
            let label = match (&self.b.get(s).op, &self.b.get(s).args[..]) {
                (Op::Case, &[v]) => Some(Some(self.body.constant(v).filter(|&v| kind.wrap(v) == v)?)),
                (Op::Case, _) => return None,
                (Op::Default, _) => Some(None),
                _ => None,
            };
            let Some(label) = label else {
                // nothing comes to what stands before the first label
                groups.last_mut()?.statements.push(s);
                is_open = false;
                continue;
            };
            if !is_open {
                groups.push(Group { labels: Vec::new(), statements: Vec::new(), ends: false });
                is_open = true;
            }
            groups.last_mut()?.labels.push(label);
        }
        Some(groups)
    }

    /// Takes the `break` away that a group ends with; whether nothing comes to the next group from its end.
    fn without_break(&mut self, statements: &mut Vec<TermId>) -> bool {
        let Some(&last) = statements.last() else { return false };
        let term = self.b.get(last).clone();
        match term.op {
            Op::Break => {
                statements.pop();
                true
            }
            Op::Return | Op::Goto(_) | Op::Continue => true,
            Op::List if !self.kernels.contains(&last) => {
                let mut inner = term.args.to_vec();
                let ends = self.without_break(&mut inner);
                self.b.set(last, Term { args: inner.into(), ..term });
                ends
            }
            _ => false,
        }
    }

    /// Every other `break` of the `switch`; whether there is one.
    fn breaks_as_jumps(&mut self, t: TermId, end: &Arc<str>) -> bool {
        let term = self.b.get(t).clone();
        match term.op {
            Op::Break => {
                self.b.set(t, Term { op: Op::Goto(end.clone()), ..term });
                self.own.insert(end.clone());
                true
            }
            Op::Switch => false,
            ref op if op.is_loop() => false,
            _ => {
                let mut any = false;
                for &a in &term.args {
                    any |= self.breaks_as_jumps(a, end);
                }
                any
            }
        }
    }
}
