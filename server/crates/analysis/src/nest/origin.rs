//! What a pointer variable holds when the root begins: `yy = xx + 4;` before the loop makes `yy[i]` a cell of `xx`.
//!
//! The definition that reaches the root is looked for upwards from it: the nearest statement before it, in its own list
//! or one around it, that writes the variable. It counts if nothing that may run between the two changes the variable
//! or what its value was computed from, and nothing in the root does. So the value is the same expression evaluated at
//! the root's entry. Absent: definitions in branches, and pointers that come out of calls.

use term::{BinOp, Op, Storage, SymbolId, TermId, TypeKind};

use crate::algebra::poly::Poly;
use crate::limits::nest_origin::MAX_STEPS;
use crate::nest::builder::{Builder, Loc};
use crate::nest::loaded;

impl Builder<'_> {
    /// Where the pointer points, if its value when the root begins is that of an address expression.
    pub(super) fn entry_pointer(&mut self, s: SymbolId) -> Option<Loc> {
        let e = match self.entry.definitions.get(&s) {
            Some(known) => *known,
            None => {
                let found = self.entry_definition(s);
                self.entry.definitions.insert(s, found);
                found
            }
        }?;
        let before = (self.accesses.len(), self.obstacles.len(), self.obligations.len());
        let loc = self.pointer(e);
        let clean = self.obstacles.len() == before.1 && self.obligations.len() == before.2;
        self.accesses.truncate(before.0);
        self.obstacles.truncate(before.1);
        self.obligations.truncate(before.2);
        let mut loc = loc.ok().filter(|_| clean)?;
        if loc.base == s {
            return None;
        }
        // Its own value does not change, whatever becomes of the cell it was loaded from.
        loc.loads.clear();
        let lead = self.leads.get(&loc.base).copied().unwrap_or(0);
        let lead: Vec<Option<Poly>> = (loc.subs.iter().take(lead))
            .map(|(v, _)| match v.as_deref() {
                Some([(_, p)]) => Some(p.clone()),
                _ => None,
            })
            .collect();
        if !self.resolved.iter().any(|r| r.0 == s) {
            self.resolved.push((s, loc.base, lead));
        }
        Some(loc)
    }

    /// Pointer variables whose value at the root's entry was followed, with what they point into.
    pub(super) fn views_now(&self) -> Vec<(SymbolId, SymbolId)> {
        let own = |base: SymbolId, lead: &[Option<Poly>]| {
            let subs: Option<Vec<Poly>> = lead.iter().cloned().collect();
            match (self.leads.get(&base), subs) {
                (None, _) => Some(base),
                (Some(_), Some(subs)) => self.objects.path(base, &subs),
                _ => None,
            }
        };
        self.resolved.iter().filter_map(|(s, base, lead)| Some((*s, own(*base, lead)?))).collect()
    }

    /// The expression whose value the variable has when the root begins.
    fn entry_definition(&self, s: SymbolId) -> Option<TermId> {
        let body = self.body;
        let symbol = &body.symbols[s];
        if symbol.address_taken
            || matches!(body.types.kind(symbol.ty), TypeKind::Pointer { .. })
                && body.types.quals(symbol.ty).is_volatile
        {
            return None;
        }
        let own = symbol.is_own_scalar();
        // Jumps may come to a label from anywhere: none may stand between.
        if self.effects.jumps_unseen() || self.effects.entered_by_label(self.root) {
            return None;
        }
        let (e, passed) = self.last_value(s)?;
        if !own && (self.written.cells || passed.iter().any(|&t| loaded::may_change_pointers(body, t))) {
            return None;
        }
        let same_type = body
            .types
            .element(symbol.ty)
            .zip(body.types.element(body.ty(e)))
            .is_some_and(|(a, b)| body.types.kind(a) == body.types.kind(b));
        if !same_type {
            return None;
        }
        if !self.is_still(e, s, &passed) {
            return None;
        }
        // A copy of a loaded pointer needs no other name unless the loop also uses that one.
        let plain = body.path_of(e);
        if let Some(path) = plain {
            let others =
                body.walk(self.root).any(|t| body.path_of(t).is_some_and(|p| p.family == path.family))
                    || body
                        .walk(self.root)
                        .any(|t| body.as_symbol(t).is_some_and(|u| u != s && self.same_origin(u, path.own)));
            if !others {
                return None;
            }
        }
        Some(e)
    }

    /// What the variable was given last on the way to the root, and what is done between.
    fn last_value(&self, s: SymbolId) -> Option<(TermId, Vec<TermId>)> {
        let body = self.body;
        let mut passed: Vec<TermId> = Vec::new();
        let mut at = self.root;
        for _ in 0..MAX_STEPS {
            let p = self.effects.parent(at)?;
            let place = body.args(p).iter().position(|&a| a == at)?;
            match body.op(p) {
                Op::List => {
                    for &sibling in body.args(p)[..place].iter().rev() {
                        if self.effects.writes_in(sibling).contains(&s) {
                            return match (body.op(sibling), body.args(sibling)) {
                                (Op::Declare(d), &[init]) if *d == s => Some((init, passed)),
                                (Op::Assign, &[left, right]) if body.as_symbol(left) == Some(s) => {
                                    Some((right, passed))
                                }
                                _ => None,
                            };
                        }
                        if self.effects.entered_by_label(sibling) {
                            return None;
                        }
                        passed.push(sibling);
                    }
                }
                Op::For | Op::While | Op::DoWhile | Op::If if self.effects.entered_by_label(p) => {
                    return None
                }
                Op::For | Op::While | Op::DoWhile => {
                    if self.effects.writes_in(p).contains(&s) {
                        return None;
                    }
                    passed.push(p);
                }
                Op::If => passed.extend(&body.args(p)[..place]),
                _ => return None,
            }
            at = p;
        }
        None
    }

    /// Whether the expression that `s` was set to still has that value when the root begins: nothing in it was changed by what was
    /// passed since.
    fn is_still(&self, e: TermId, s: SymbolId, passed: &[TermId]) -> bool {
        let body = self.body;
        let mut loads = false;
        for x in body.walk(e).take(80) {
            let fine = match body.op(x) {
                Op::Int(_) | Op::Cast | Op::AddrOf => true,
                Op::Binary(BinOp::Add | BinOp::Sub | BinOp::Mul) => true,
                Op::Index | Op::Member { .. } | Op::Deref => {
                    let kind = body.types.kind(body.ty(x));
                    let load = matches!(kind, TypeKind::Pointer { .. });
                    loads |= load;
                    // Numbers in memory may be written without a trace here; places below `&` are no loads.
                    load || matches!(kind, TypeKind::Array { .. } | TypeKind::Record(_)) || self.is_address(x)
                }
                Op::Sym(u) => {
                    let v = &body.symbols[*u];
                    let kind = body.types.kind(v.ty);
                    let unchanged = |t: TermId| !self.effects.writes_in(t).contains(u);
                    *u != s
                        && match v.storage {
                            Storage::Constant(_) => true,
                            _ if matches!(kind, TypeKind::Array { .. }) => true,
                            _ => {
                                let steady = passed.iter().all(|&t| unchanged(t)) && unchanged(self.root);
                                let hidden = v.is_own_scalar()
                                    || (!self.written.cells
                                        && matches!(kind, TypeKind::Pointer { .. } | TypeKind::Record(_))
                                        && !passed.iter().any(|&t| loaded::may_change_pointers(body, t)));
                                steady && hidden
                            }
                        }
                }
                _ => false,
            };
            if !fine {
                return false;
            }
        }
        body.walk(e).count() <= 80 && !(loads && passed.iter().any(|&t| loaded::may_change_pointers(body, t)))
    }

    /// Whether the term is the place whose address is formed.
    fn is_address(&self, t: TermId) -> bool {
        self.effects.parent(t).is_some_and(|p| *self.body.op(p) == Op::AddrOf)
    }

    /// Whether some value given to the pointer variable is that path.
    fn same_origin(&self, u: SymbolId, path: SymbolId) -> bool {
        let is_it = |e: TermId| self.body.path_of(e).is_some_and(|p| p.own == path);
        matches!(self.body.types.kind(self.body.symbols[u].ty), TypeKind::Pointer { .. })
            && self.effects.writes.get(&u).is_some_and(|ws| {
                ws.iter().any(|&w| match (self.body.op(w), self.body.args(w)) {
                    (Op::Declare(_), &[e]) | (Op::Assign, &[_, e]) => is_it(e),
                    _ => false,
                })
            })
    }
}
