//! What statements do to memory, as their text shows it: which pointers they use, and which arrays are apart.
//!
//! Deliberately absent: loops and their dependences, which `analysis` answers (see `prove`).

use term::device::{Scope, Word};
use term::{Op, Storage, SymbolId, TypeKind};

use super::prove::Asking;
use super::tree::{Node, Tree};

impl Asking<'_> {
    /// That a variable is used only in what the source matched.
    pub(super) fn inside(&self, x: &Tree) -> Result<String, String> {
        let shown = self.subject.print(x);
        let sym = x.as_symbol().ok_or_else(|| format!("`{shown}` is no variable"))?;
        let known = self.subject.symbol(sym).ok_or_else(|| format!("`{shown}` is no variable"))?;
        if self.changed {
            return Err(
                "an earlier rule changed the function; apply the system again to the result".to_owned()
            );
        }
        if !matches!(known.storage, Storage::Local) || known.address_taken {
            return Err(format!("`{shown}` is not only the function's own"));
        }
        let uses = |t: &Tree| t.walk().filter(|n| n.as_symbol() == Some(sym)).count();
        match uses(&self.subject.root) > uses(self.matched) {
            true => Err(format!("`{shown}` is used outside of what is rewritten")),
            false => Ok(format!("`{shown}` is used nowhere else")),
        }
    }

    /// That a pointer parameter is used only to read what it points to.
    pub(super) fn only_read(&self, x: &Tree, s: &Tree) -> Result<String, String> {
        let shown = self.subject.print(x);
        let sym = x.as_symbol().ok_or_else(|| format!("`{shown}` is no variable"))?;
        let known = self.subject.symbol(sym).ok_or_else(|| format!("`{shown}` is no variable"))?;
        let pointee = match self.types.kind(known.ty) {
            TypeKind::Pointer { to, .. } => self.types.get(*to),
            _ => return Err(format!("`{shown}` is no pointer")),
        };
        if pointee.quals.is_volatile || self.types.get(known.ty).quals.is_volatile {
            return Err(format!("what `{shown}` points to is volatile"));
        }
        if known.address_taken || !matches!(known.storage, Storage::Param(_)) {
            return Err(format!("`{shown}` is no parameter of its own"));
        }
        // what is above a use, and which part of it the use is
        let mut stack: Vec<(Tree, Option<Tree>, bool)> = vec![(s.clone(), None, false)];
        while let Some((n, above, written)) = stack.pop() {
            if n.as_symbol() == Some(sym) {
                let loads = above.as_ref().is_some_and(|a| {
                    let first = a.args.first().is_some_and(|f| f.as_symbol() == Some(sym));
                    first && matches!(a.op, Op::Index | Op::Deref) && a.ty.is_some_and(|t| self.is_number(t))
                });
                if !loads {
                    let place = above.as_ref().map_or_else(|| shown.clone(), |a| self.subject.print(a));
                    return Err(format!("`{place}` uses `{shown}` otherwise than to read what is there"));
                }
                if written {
                    return Err(format!("what `{shown}` points to is written"));
                }
            }
            for (k, a) in n.args.iter().enumerate() {
                let is_place = (n.op.is_write() && k == 0) || matches!(n.op, Op::AddrOf);
                // `&p[0]`, `p[0] = …` and `p[0].x = …` are one matter; a subscript is only read
                let through = written && k == 0 && (matches!(n.op, Op::Index | Op::Deref) || n.is("Dot"));
                stack.push((a.clone(), Some(n.clone()), is_place || through));
            }
        }
        Ok(format!("`{shown}` is only subscripted, and only read"))
    }
    fn is_number(&self, t: term::TypeId) -> bool {
        matches!(self.types.kind(t), TypeKind::Int(_) | TypeKind::Float(_))
    }

    pub(super) fn no_alias(&self, x: &Tree, y: &Tree) -> Result<String, String> {
        let both = x.as_symbol().zip(y.as_symbol());
        let no =
            || format!("`{}` and `{}` may be the same memory", self.subject.print(x), self.subject.print(y));
        let (a, b) = both.ok_or_else(no)?;
        if a == b {
            return Err(no());
        }
        let kind = |s: SymbolId| {
            let known = self.subject.symbol(s)?;
            let fixed = !self.is_assigned(s) && !known.address_taken;
            match self.types.get(known.ty) {
                t if matches!(t.kind, TypeKind::Array { .. }) => {
                    let own =
                        matches!(known.storage, Storage::Local | Storage::Shared) && !known.address_taken;
                    let automatic = known.storage == Storage::Local;
                    Some(match (own, automatic) {
                        (true, _) => "own",
                        (false, true) => "automatic",
                        (false, false) => "named",
                    })
                }
                t if matches!(t.kind, TypeKind::Pointer { .. }) => {
                    let param = matches!(known.storage, Storage::Param(_));
                    match (param, fixed) {
                        (true, true) if t.quals.is_restrict => Some("restrict"),
                        (true, true) => Some("given"),
                        (true, false) => Some("pointer"),
                        _ => None,
                    }
                }
                _ => None,
            }
        };
        let (a, b) = (kind(a).ok_or_else(no)?, kind(b).ok_or_else(no)?);
        let array = |k| matches!(k, "own" | "automatic" | "named");
        match (a, b) {
            _ if array(a) && array(b) => Ok("they are two arrays".to_owned()),
            ("own", _) | (_, "own") => Ok("one of them is an array that no pointer reaches".to_owned()),
            // the array begins to live when the parameter has its value already
            ("automatic", "given" | "restrict") | ("given" | "restrict", "automatic") => {
                Ok("one of them is an array of this call, the other the caller's".to_owned())
            }
            ("restrict", "restrict") => Ok("both are restrict parameters that keep their values".to_owned()),
            _ => Err(no()),
        }
    }
    fn is_assigned(&self, s: SymbolId) -> bool {
        self.subject
            .root
            .walk()
            .any(|n| n.op.is_write() && n.args.first().is_some_and(|a| a.as_symbol() == Some(s)))
    }

    /// The variable that a place is part of, or that points to it: not what a pointer in memory points to.
    pub(super) fn base_of(&self, place: &Tree) -> Option<SymbolId> {
        let mut at = place;
        loop {
            at = match &at.op {
                Op::Sym(s) => return Some(*s),
                Op::Index | Op::Deref => at.args.first().filter(|a| {
                    let is_array = |t| matches!(self.types.kind(t), TypeKind::Array { .. });
                    a.as_symbol().is_some() || a.ty.is_some_and(is_array)
                })?,
                Op::Apply(h) if &**h == "Dot" => at.args.first()?,
                _ => return None,
            };
        }
    }
    /// Whether what is written through the first is read through it alone (C11 6.7.3.1): a `restrict` parameter of which
    /// the second is no copy.
    pub(super) fn written_alone(&self, written: SymbolId, read: SymbolId) -> bool {
        let known = |s| self.subject.symbol(s).filter(|k| !self.is_assigned(s) && !k.address_taken);
        let (Some(w), Some(r)) = (known(written), known(read)) else { return false };
        let param = |k: &super::tree::Known| matches!(k.storage, Storage::Param(_));
        let other = param(r) || matches!(self.types.kind(r.ty), TypeKind::Array { .. });
        param(w) && other && self.types.get(w.ty).quals.is_restrict
    }
    pub(super) fn apart(&self, a: SymbolId, b: SymbolId) -> bool {
        let node = |s| Node::new(Op::Sym(s), Vec::new(), None, None);
        self.no_alias(&node(a), &node(b)).is_ok()
    }
}

/// Functions that only wait for other threads or say in which order they see things.
pub(super) fn is_barrier(name: &str) -> bool {
    gpu::CUDA.word(name).is_some_and(|w| w.only_waits() && w != Word::Fence(Scope::System))
}
