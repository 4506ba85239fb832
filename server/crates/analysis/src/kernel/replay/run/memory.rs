//! Places, and what is read and written there.

use std::sync::Arc;

use term::{Len, SymbolId, TermId, TypeId, TypeKind};

use super::super::values::Val;
use super::super::{Event, KernelObject, ObjectKind, Touch, MAX_EVENTS};
use super::{variable_of, Run, Runner, ThreadPlace};
use crate::kernel::KernelObstacle;

impl<'a> Runner<'a> {
    pub(super) fn touch(
        &mut self,
        term: TermId,
        object: u32,
        offset: Option<i64>,
        ty: TypeId,
        touch: Touch,
        v: Val,
    ) -> Run<()> {
        let body = self.body();
        let size = body.types.size_align(ty).ok_or(KernelObstacle::Value(term))?.0;
        let size = u32::try_from(size).map_err(|_| KernelObstacle::TooLarge)?;
        let site = self.site(term);
        let volatile = body.types.quals(ty).is_volatile || self.is_volatile(term);
        self.trace.atomics |= touch == Touch::Atomic;
        self.trace.events.push(Event {
            site,
            object,
            offset,
            size,
            touch,
            certain: !self.may,
            volatile,
            block: self.at.0,
            thread: self.at.1,
            warp: self.at.1 / self.launch.limits.lanes,
            epoch: self.passed.blocks.len() as u32,
            warp_epoch: self.passed.warps.len() as u32,
            soft: self.soft,
            warp_soft: self.warp_soft,
            value: v.key().filter(|_| touch == Touch::Write),
        });
        if self.trace.events.len() > MAX_EVENTS {
            return Err(KernelObstacle::TooLarge);
        }
        Ok(())
    }

    /// Whether the object's declaration says so.
    pub(super) fn is_volatile(&self, place: TermId) -> bool {
        let body = self.body();
        variable_of(body, place).is_some_and(|s| {
            let ty = body.symbols[s].ty;
            let to = body.types.element(ty).unwrap_or(ty);
            body.types.quals(to).is_volatile || body.types.quals(ty).is_volatile
        })
    }

    pub(super) fn moved(&self, from: ThreadPlace, by: Val, size: Option<u64>) -> ThreadPlace {
        match from {
            ThreadPlace::In(o, at) => {
                let sum = || {
                    let by = by.int()?.checked_mul(size? as i128)?;
                    i64::try_from(by.checked_add(at? as i128)?).ok()
                };
                ThreadPlace::In(o, sum())
            }
            ThreadPlace::Local(_) => ThreadPlace::Own,
            other => other,
        }
    }

    /// The object that a variable is.
    pub(super) fn object_of(&mut self, s: SymbolId, kind: ObjectKind) -> u32 {
        let at = (self.frames.last().map_or(0, |f| f.function), s);
        if let Some(&n) = self.names.variables.get(&at) {
            return n;
        }
        let n = self.new_object(s, kind);
        self.names.variables.insert(at, n);
        n
    }

    fn new_object(&mut self, s: SymbolId, kind: ObjectKind) -> u32 {
        let body = self.body();
        let symbol = &body.symbols[s];
        let mut element = symbol.ty;
        let mut open = false;
        while let TypeKind::Array { of, len } = body.types.kind(element) {
            open |= !matches!(len, Len::Const(_));
            element = *of;
        }
        // dynamic shared memory has one address, by whatever names
        let key: Arc<str> = match (kind, open) {
            (ObjectKind::Shared, true) => "(dynamic shared memory)".into(),
            // scopes of one function may have variables of one name
            (ObjectKind::Shared, false) => format!("{}::{}#{}", body.name, symbol.name, s.0).into(),
            _ if symbol.storage.is_static_local() => format!("{}::{}#{}", body.name, symbol.name, s.0).into(),
            _ => symbol.name.clone(),
        };
        let bytes = match (open, kind) {
            (true, ObjectKind::Shared) => self.launch.shared_bytes,
            (true, _) => None,
            _ => body.types.size_align(symbol.ty).map(|x| x.0),
        };
        let element = body.types.size_align(element).map_or(1, |x| x.0);
        let name = symbol.name.clone();
        self.keyed(
            key,
            KernelObject {
                name,
                kind,
                bytes,
                element,
                restrict: false,
                dynamic: open && kind == ObjectKind::Shared,
            },
        )
    }

    pub(super) fn assign_local(&mut self, s: SymbolId, v: Val) {
        let body = self.body();
        let ty = body.symbols[s].ty;
        let v = match body.types.kind(ty) {
            _ if self.frame().exposed.contains(&s) => Val::Unknown,
            TypeKind::Int(kind) => v.converted(*kind),
            TypeKind::Pointer { .. } => v,
            _ => Val::Unknown,
        };
        self.frame().locals.set(s, v);
    }
}
