//! Device copies: of what, how much, in which direction.

use analysis::{Buffer, Expr, Length, Offload};
use term::{Body, Storage, SymbolId, TypeKind};

use super::build::Builder;
use super::names::part;
use super::support::Support;
use super::{simplify, BufferPlan, RefusalKind, Stride, StrideSource};

impl<'a> Builder<'_, 'a> {
    pub(super) fn buffers(
        &mut self,
        support: &mut Support<'a>,
        strides: &mut Vec<Stride>,
        positive: &[Expr],
    ) -> Vec<BufferPlan> {
        let body = self.body;
        let mut out = Vec::new();
        for b in memory(body, self.input.offload) {
            let symbol = &body.symbols[b.symbol];
            let t = self.target;
            // The type must be: pointer or array, arrays inside, then the element.
            let mut ty = symbol.ty;
            let mut levels = 0;
            let rank = b.inner_lengths.len() + 1;
            while levels < rank {
                let q = body.types.quals(ty);
                if q.is_volatile || q.is_atomic {
                    self.refuse(RefusalKind::Volatile(b.symbol), t);
                }
                ty = match body.types.kind(ty) {
                    TypeKind::Pointer { to, .. } if levels == 0 => *to,
                    TypeKind::Array { of, .. } => *of,
                    _ => break,
                };
                levels += 1;
            }
            let q = body.types.quals(ty);
            if q.is_volatile || q.is_atomic {
                self.refuse(RefusalKind::Volatile(b.symbol), t);
            }
            let size = body.types.size_align(ty).map(|s| s.0);
            let (Some(element_size), true) = (size.filter(|&s| s > 0), levels == rank) else {
                self.refuse(RefusalKind::PartialSubscript(b.symbol), t);
                continue;
            };
            if matches!(body.types.kind(ty), TypeKind::Array { .. } | TypeKind::Pointer { .. }) {
                self.refuse(RefusalKind::PartialSubscript(b.symbol), t);
                continue;
            }
            if symbol.storage == Storage::Path && !body.path_term(b.symbol).is_some_and(|p| self.may_load(p))
            {
                self.refuse(RefusalKind::ReadsTooEarly, body.path_term(b.symbol).unwrap_or(t));
            }
            if b.extent.is_none() && b.search.is_none() {
                let whole = matches!(body.types.kind(symbol.ty), TypeKind::Array { len, .. } if *len != term::Len::Unknown);
                if !whole {
                    self.refuse(RefusalKind::UnknownExtent(b.symbol), t);
                }
            }
            let n = match symbol.storage {
                Storage::Path => part(&symbol.name),
                _ => symbol.name.to_string(),
            };
            let mut sources = Vec::new();
            for (d, length) in b.inner_lengths.iter().enumerate() {
                sources.push(match *length {
                    Length::Const(c) => StrideSource::Const(c),
                    Length::Term(l) => match (body.as_int(l), body.as_symbol(l)) {
                        (Some(c), _) if c > 0 && c <= u64::MAX as i128 => StrideSource::Const(c as u64),
                        (_, Some(s)) if self.keeps_its_value(s) => {
                            support.used.entry(s).or_insert(l);
                            StrideSource::Symbol(s)
                        }
                        _ => {
                            let dim = if rank == 2 { String::new() } else { (d + 1).to_string() };
                            strides.push(Stride {
                                buffer: out.len(),
                                dimension: d + 1,
                                name: self.host_name(&format!("{n}_row{dim}")),
                            });
                            StrideSource::Passed(strides.len() - 1)
                        }
                    },
                });
            }
            out.push(BufferPlan {
                symbol: b.symbol,
                element: ty,
                element_size,
                rank,
                strides: sources,
                read: b.read,
                written: b.written,
                copy_in: !b.wholly_written,
                own: false,
                staged: b.read && b.written && !b.wholly_written,
                on_device: true,
                from_zero: false,
                extent: b
                    .extent
                    .as_ref()
                    .map(|(f, l)| (simplify::under(f, positive), simplify::under(l, positive))),
                part: None,
                search: b.search.clone(),
                first_name: self.host_name(&format!("{n}_first")),
                count_name: self.host_name(&format!("{n}_count")),
                bytes_name: self.host_name(&format!("{n}_bytes")),
                device_name: self.host_name(&format!("gpu_{n}")),
                staging_name: self.host_name(&format!("new_{n}")),
                kernel_name: String::new(),
            });
        }
        out
    }

    /// Whether an integer variable is never assigned in the whole function, so that it still says what it said where
    /// an array was declared with it.
    pub(super) fn keeps_its_value(&self, s: SymbolId) -> bool {
        let body = self.body;
        let symbol = &body.symbols[s];
        symbol.is_own_scalar()
            && body.types.as_int(symbol.ty).is_some()
            && body.symbols.iter().filter(|o| o.name == symbol.name).count() == 1
            && !self.is_assigned(s)
    }

    pub(super) fn is_assigned(&self, s: SymbolId) -> bool {
        let body = self.body;
        body.walk(body.root).any(|t| {
            body.op(t).is_write() && body.args(t).first().is_some_and(|&p| body.as_symbol(p) == Some(s))
        })
    }

    /// Whether `restrict` promises that the two show different cells (one of which is written): one is a restricted
    /// parameter, the other a parameter or array that nothing in the function sets.
    pub(super) fn restrict_parts(&self, a: SymbolId, b: SymbolId) -> bool {
        let body = self.body;
        let param =
            |s: SymbolId| matches!(body.symbols[s].storage, Storage::Param(_)) && !self.is_assigned(s);
        let restricted = |s: SymbolId| param(s) && body.types.quals(body.symbols[s].ty).is_restrict;
        let steady =
            |s: SymbolId| param(s) || matches!(body.types.kind(body.symbols[s].ty), TypeKind::Array { .. });
        (restricted(a) && steady(b)) || (restricted(b) && steady(a))
    }
}

/// The buffers that are memory reached by subscripts; a struct variable is passed by value instead.
pub(super) fn memory<'o>(body: &'o Body, offload: &'o Offload) -> impl Iterator<Item = &'o Buffer> {
    offload.buffers.iter().filter(|b| {
        matches!(
            body.types.kind(body.symbols[b.symbol].ty),
            TypeKind::Pointer { .. } | TypeKind::Array { .. }
        )
    })
}
