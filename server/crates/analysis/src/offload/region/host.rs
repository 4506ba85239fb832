//! Statements of a region that are no kernels: that they are the host's own, and can be done over.

use term::{intrinsic, Body, Op, Storage, SymbolId, TermId, TypeKind};

use super::{trouble, Found, Walk};
use crate::nest::loaded::is_plain_number;
use crate::RegionTroubleKind;

impl Walk<'_> {
    /// That a statement which is no kernel is the host's own. `depth`: how many loops of the region are around.
    pub(super) fn host(&mut self, t: TermId, depth: u32) -> Found<()> {
        let body = self.body;
        let args = body.args(t);
        if self.nest(t).is_some() {
            return Ok(());
        }
        match (body.op(t), args) {
            (Op::Empty | Op::Mark(_), _) => Ok(()),
            (Op::List, _) => args.iter().try_for_each(|&a| self.host(a, depth)),
            (Op::Declare(s), _) => self.declaration(*s, t),
            (Op::If, &[condition, ref arms @ ..]) => {
                self.number(condition)?;
                arms.iter().try_for_each(|&a| self.host(a, depth))
            }
            (Op::For, &[init, condition, step, inner, ..]) => {
                self.host(init, depth)?;
                self.number(condition)?;
                self.host(step, depth)?;
                self.host(inner, depth + 1)
            }
            (Op::While, &[condition, inner]) | (Op::DoWhile, &[inner, condition]) => {
                self.number(condition)?;
                self.host(inner, depth + 1)
            }
            (Op::Break | Op::Continue, _) if depth > 0 => Ok(()),
            (Op::Break | Op::Continue | Op::Return | Op::Goto(_) | Op::Label(_), _) => {
                trouble(RegionTroubleKind::Leaves, t)
            }
            (Op::Assign, &[place, value]) if self.is_pointer(place) => {
                match (body.as_symbol(place), body.as_symbol(value)) {
                    (Some(a), Some(b)) => {
                        self.exchanged.extend([a, b]);
                        Ok(())
                    }
                    (Some(a), None) => trouble(RegionTroubleKind::Pointer(a), t),
                    (None, _) => trouble(RegionTroubleKind::HostWrites(None), t),
                }
            }
            (Op::Reject(_), _) => trouble(RegionTroubleKind::NotUnderstood, t),
            (Op::Switch | Op::Case | Op::Default | Op::Launch, _) => trouble(RegionTroubleKind::Statement, t),
            _ => self.number(t),
        }
    }

    pub(super) fn declaration(&mut self, s: SymbolId, t: TermId) -> Found<()> {
        let (body, symbol) = (self.body, &self.body.symbols[s]);
        if symbol.storage != Storage::Local || symbol.address_taken {
            return trouble(RegionTroubleKind::Statement, t);
        }
        let init = body.args(t).first().copied();
        match (body.types.kind(symbol.ty), init) {
            (TypeKind::Int(_) | TypeKind::Float(_), None) => Ok(()),
            (TypeKind::Int(_) | TypeKind::Float(_), Some(init)) => self.number(init),
            (TypeKind::Pointer { .. }, Some(init)) => match body.as_symbol(init) {
                Some(other) => {
                    self.exchanged.extend([s, other]);
                    Ok(())
                }
                None => trouble(RegionTroubleKind::Pointer(s), t),
            },
            // the nests that use it have it for themselves, or there is no copy of it
            (TypeKind::Array { .. }, None) if body.types.size_align(symbol.ty).is_some() => Ok(()),
            _ => trouble(RegionTroubleKind::Statement, t),
        }
    }

    pub(super) fn is_pointer(&self, t: TermId) -> bool {
        matches!(self.body.types.kind(self.body.ty(t)), TypeKind::Pointer { .. })
    }

    /// That an expression computes with the function's own numbers, and sets nothing else.
    pub(super) fn number(&self, t: TermId) -> Found<()> {
        let body = self.body;
        let args = body.args(t);
        match body.op(t) {
            Op::Empty | Op::Int(_) | Op::Float(_) | Op::SizeOfType(_) => Ok(()),
            Op::Sym(s) => match (body.types.kind(body.symbols[*s].ty), body.symbols[*s].storage) {
                (_, Storage::Constant(_)) => Ok(()),
                (
                    TypeKind::Int(_) | TypeKind::Float(_),
                    Storage::Param(_) | Storage::Local | Storage::Global { .. },
                ) if !is_watched(body, *s) => Ok(()),
                (TypeKind::Int(_) | TypeKind::Float(_), _) => trouble(RegionTroubleKind::Reachable(*s), t),
                _ => trouble(RegionTroubleKind::HostReads(Some(*s)), t),
            },
            Op::Unary(_) | Op::Binary(_) | Op::Select | Op::Comma | Op::Cast => {
                let plain = body.types.is_arithmetic(body.ty(t)) || *body.op(t) == Op::Comma;
                match plain {
                    true => args.iter().try_for_each(|&a| self.number(a)),
                    false => trouble(RegionTroubleKind::Statement, t),
                }
            }
            Op::Assign | Op::Compound(_) | Op::Step { .. } => {
                let Some((&place, values)) = args.split_first() else {
                    return trouble(RegionTroubleKind::Statement, t);
                };
                let Some(s) = body.as_symbol(place) else {
                    return trouble(RegionTroubleKind::HostWrites(base_of(body, place)), t);
                };
                if !body.symbols[s].is_own_scalar() || is_watched(body, s) {
                    return trouble(RegionTroubleKind::Reachable(s), t);
                }
                if !body.types.is_arithmetic(body.symbols[s].ty) {
                    return trouble(RegionTroubleKind::Pointer(s), t);
                }
                values.iter().try_for_each(|&v| self.number(v))
            }
            Op::Call => {
                let f = body.callee(t);
                let of_library = f
                    .is_some_and(|f| body.library.contains(&f) && intrinsic(&body.symbols[f].name).is_some());
                match of_library && body.types.is_arithmetic(body.ty(t)) {
                    true => args.iter().skip(1).try_for_each(|&a| self.number(a)),
                    false => trouble(RegionTroubleKind::Call(f), t),
                }
            }
            Op::Index | Op::Deref | Op::Member { .. } => {
                trouble(RegionTroubleKind::HostReads(base_of(body, t)), t)
            }
            Op::Reject(_) => trouble(RegionTroubleKind::NotUnderstood, t),
            _ => trouble(RegionTroubleKind::Statement, t),
        }
    }

    /// Pointers that are assigned to one another must be arrays of the same kind or variables that are only used for that.
    pub(super) fn pointers(&self, statements: &[TermId]) -> Found<()> {
        let body = self.body;
        for &s in &self.exchanged {
            let symbol = &body.symbols[s];
            let at = statements[0];
            let own = match symbol.storage {
                Storage::Param(_) | Storage::Local => !symbol.address_taken,
                Storage::Global { .. } => {
                    !is_watched(body, s) && statements.iter().all(|&t| stores_numbers(body, t))
                }
                _ => false,
            };
            let element = body.types.element(symbol.ty);
            let is_number = element.is_some_and(|e| body.types.is_arithmetic(e));
            let is_plain = (is_number || self.is_table(s)) && self.is_pointer_type(s);
            let alike = self.exchanged.iter().filter(|&&o| self.is_table(o) == self.is_table(s)).all(|&o| {
                body.types.element(body.symbols[o].ty).map(|e| body.types.kind(e))
                    == element.map(|e| body.types.kind(e))
            });
            if !(own && is_plain && alike) {
                return trouble(RegionTroubleKind::Pointer(s), at);
            }
        }
        Ok(())
    }

    pub(super) fn is_pointer_type(&self, s: SymbolId) -> bool {
        matches!(self.body.types.kind(self.body.symbols[s].ty), TypeKind::Pointer { .. })
    }
}

/// Whether all that is written in memory is numbers, which no pointer that others can reach is changed by (C11 6.5p7).
fn stores_numbers(body: &Body, statement: TermId) -> bool {
    body.walk(statement).filter(|&t| body.op(t).is_write()).all(|t| {
        let place = body.args(t).first().copied();
        place.is_none_or(|p| body.as_symbol(p).is_some() || is_plain_number(body, body.ty(p)))
    })
}

fn is_watched(body: &Body, s: SymbolId) -> bool {
    let q = body.types.quals(body.symbols[s].ty);
    q.is_volatile || q.is_atomic
}

/// The variable that a place of memory is reached from.
fn base_of(body: &Body, place: TermId) -> Option<SymbolId> {
    let mut at = place;
    loop {
        match body.op(at) {
            Op::Sym(s) => return Some(*s),
            Op::Index | Op::Member { .. } | Op::Deref | Op::Cast | Op::Binary(_) => {
                at = *body.args(at).first()?
            }
            _ => return None,
        }
    }
}
