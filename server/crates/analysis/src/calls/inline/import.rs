//! Types and symbols of a called function as those of the body it is written into.

use term::{Len, Op, RecordId, Storage, Symbol, SymbolId, Type, TypeId, TypeKind};

use super::*;

impl Expander<'_> {
    /// A type of the function as one of the new body. The lengths of variable arrays are copied with it.
    pub(super) fn import(
        &mut self,
        ty: TypeId,
        frame: &mut CopiedFunction<'_>,
        chain: &mut Vec<Arc<str>>,
    ) -> Result<TypeId, No> {
        if let Some(&t) = frame.types.get(&ty) {
            return Ok(t);
        }
        let from = frame.from;
        let Type { kind, quals } = from.types.get(ty).clone();
        let kind = match kind {
            // What a parameter's outermost dimension says is not used.
            TypeKind::Pointer { to, .. } => TypeKind::Pointer {
                to: self.import(to, frame, chain)?,
                declared: Len::Unknown,
                is_static: false,
            },
            TypeKind::Array { of, len } => {
                let len = self.length(len, frame, chain)?;
                TypeKind::Array { of: self.import(of, frame, chain)?, len }
            }
            TypeKind::Record(r) => TypeKind::Record(self.import_record(r, frame, chain)?),
            TypeKind::Function { ret, params, variadic } => {
                let ret = self.import(ret, frame, chain)?;
                let params =
                    params.into_iter().map(|p| self.import(p, frame, chain)).collect::<Result<_, _>>()?;
                TypeKind::Function { ret, params, variadic }
            }
            k => k,
        };
        let id = self.b.types.intern(Type { kind, quals });
        frame.types.insert(ty, id);
        Ok(id)
    }

    fn length(
        &mut self,
        l: Len,
        frame: &mut CopiedFunction<'_>,
        chain: &mut Vec<Arc<str>>,
    ) -> Result<Len, No> {
        Ok(match l {
            Len::Term(t) => Len::Term(self.copy(t, frame, chain, CallSite::Header)?),
            l => l,
        })
    }

    fn import_record(
        &mut self,
        r: RecordId,
        frame: &mut CopiedFunction<'_>,
        chain: &mut Vec<Arc<str>>,
    ) -> Result<RecordId, No> {
        if let Some(&known) = frame.records.get(&r) {
            return Ok(known);
        }
        let from = frame.from;
        let source = from.types.record(r).clone();
        let known = self.b.types.records().map(|(id, _)| id).find(|&id| {
            let complete = self.b.types.record(id).fields.is_some() || source.fields.is_none();
            complete
                && crate::calls::compatible::same_record(
                    &self.b.types,
                    id,
                    &from.types,
                    r,
                    0,
                    &mut Vec::new(),
                )
        });
        if let Some(id) = known {
            frame.records.insert(r, id);
            return Ok(id);
        }
        let id = self.b.types.add_record(term::Record::new(source.name.clone(), source.is_union));
        frame.records.insert(r, id);
        if let Some(fields) = source.fields.clone() {
            let mut out = Vec::new();
            for f in fields {
                out.push(term::Field { ty: self.import(f.ty, frame, chain)?, ..f });
            }
            self.b.types.complete_record_like(id, out, &source);
        }
        Ok(id)
    }

    /// A symbol of the function that is no parameter and no variable of its own: the same one of the new body.
    pub(super) fn outer_symbol(
        &mut self,
        s: SymbolId,
        frame: &mut CopiedFunction<'_>,
        chain: &mut Vec<Arc<str>>,
    ) -> Result<SymbolId, No> {
        let from = frame.from;
        let symbol = &from.symbols[s];
        let library = from.library.contains(&s);
        let ty = self.import(symbol.ty, frame, chain)?;
        let storage = symbol.storage;
        let known = self.b.symbols.iter_ids().find(|(id, v)| {
            v.name == symbol.name
                && self.b.library.contains(id) == library
                && match (v.storage, storage) {
                    (Storage::Global { .. }, Storage::Global { .. }) => true,
                    (Storage::Constant(a), Storage::Constant(b)) => a == b && v.ty == ty,
                    (Storage::Function, Storage::Function) => v.ty == ty,
                    (a, b) => a == b && a == Storage::Builtin,
                }
        });
        if let Some((id, v)) = known {
            // One object seen through two types is not followed.
            let global = matches!(storage, Storage::Global { .. });
            if global && !same_type(&self.b.types, v.ty, &from.types, symbol.ty) {
                return Err(No);
            }
            return Ok(id);
        }
        let id = self.b.symbols.push(Symbol {
            name: symbol.name.clone(),
            ty,
            storage,
            device: symbol.device,
            // Others than the function may know where it is.
            address_taken: matches!(storage, Storage::Global { .. }) || symbol.address_taken,
            span: None,
        });
        self.came_with.insert(id, self.home);
        if library {
            self.b.library.push(id);
        }
        Ok(id)
    }

    /// A variable of the function as one of the new body.
    pub(super) fn inner_symbol(
        &mut self,
        s: SymbolId,
        frame: &mut CopiedFunction<'_>,
        chain: &mut Vec<Arc<str>>,
    ) -> Result<SymbolId, No> {
        let from = frame.from;
        let symbol = &from.symbols[s];
        let key = (frame.name.clone(), s);
        if symbol.storage.is_static_local() {
            if let Some(&known) = self.statics.get(&key) {
                return Ok(known);
            }
        }
        let ty = self.import(symbol.ty, frame, chain)?;
        // one for all calls, which may run side by side
        let storage = match symbol.storage.is_static_local() {
            true => Storage::StaticLocal { kept: true },
            false => symbol.storage,
        };
        let id = self.b.symbols.push(Symbol { ty, span: None, storage, ..symbol.clone() });
        if symbol.storage.is_static_local() {
            self.statics.insert(key, id);
            self.came_with.insert(id, self.home);
        }
        frame.bound.insert(s, Bound::Variable(id));
        Ok(id)
    }

    /// Whether the operator of a term must be looked at before it is copied.
    pub(super) fn op_of(
        &mut self,
        op: &Op,
        frame: &mut CopiedFunction<'_>,
        chain: &mut Vec<Arc<str>>,
    ) -> Result<Op, No> {
        Ok(match op {
            Op::SizeOfType(ty) => Op::SizeOfType(self.import(*ty, frame, chain)?),
            other => other.clone(),
        })
    }
}
