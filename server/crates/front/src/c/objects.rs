//! What C++ does where C does nothing: objects whose types have code of their own, operators for structures, arguments that
//! a call leaves out, overloads of library functions. Each is a gap in the place of what would run that code.
//!
//! A type may have such code unless it is known not to: arithmetic, pointers, the library's plain types, and structures
//! all of whose members are understood and have none. Deliberately absent: reading that code.

use std::sync::Arc;

use term::device::Word;
use term::{Op, RejectKind, Storage, TermId, TypeId, TypeKind};
use tree_sitter::Node;

use crate::c::env::Exported;
use crate::c::{known, Entity, Lower};
use crate::limits::c_objects::MAX_NESTED;

/// Why an `enum class` is not.
pub(crate) const SCOPED: &str = "scoped enumerations of C++ are not followed";

impl Lower<'_> {
    /// Why making, copying, using or leaving an object of this type may run code that is not here. `None`: it runs none.
    pub(super) fn code_of(&self, ty: TypeId) -> Option<String> {
        self.env.is_cpp().then(|| self.code_at(ty, 0)).flatten()
    }

    fn code_at(&self, ty: TypeId, depth: u32) -> Option<String> {
        match self.b.types.kind(ty) {
            TypeKind::Array { of, .. } => self.code_at(*of, depth),
            TypeKind::Record(r) if self.plain.borrow().contains(r) => None,
            TypeKind::Record(r) => {
                let record = self.b.types.record(*r);
                let why = match &record.fields {
                    _ if depth > MAX_NESTED => Some(reason(&record.name)),
                    Some(fields) => fields.iter().find_map(|f| self.code_at(f.ty, depth + 1)),
                    None => Some(reason(&record.name)),
                };
                if why.is_none() {
                    self.plain.borrow_mut().insert(*r);
                }
                why
            }
            // what stands for the type of something that is a gap itself, or of a name that nothing declares
            TypeKind::Opaque(word) if matches!(&**word, "?" | "{}" | "auto" | "") => None,
            TypeKind::Opaque(word) if known::type_name(word, self.dialect).is_some() => None,
            TypeKind::Opaque(word) => Some(self.scoped_enumeration(word).unwrap_or_else(|| reason(word))),
            _ => None,
        }
    }

    /// Why nothing is known of a type that is an enumeration with a scope of its own, which has no code.
    fn scoped_enumeration(&self, name: &str) -> Option<String> {
        match &self.env.name(name)?.what {
            Exported::Unknown(_, why) if why.ends_with(SCOPED) => Some(why.to_string()),
            _ => None,
        }
    }

    fn is_record(&self, id: TermId) -> bool {
        matches!(self.b.types.kind(self.ty(id)), TypeKind::Record(_))
    }

    /// Why a term means more in C++ than it says in C.
    pub(super) fn foreign_term(&self, op: &Op, args: &[TermId], ty: TypeId) -> Option<String> {
        if !self.env.is_cpp() {
            return None;
        }
        if let Op::Reject(_) = op {
            return None;
        }
        if let Some(why) = self.code_of(ty) {
            return Some(why);
        }
        let first = args.first().copied();
        let operated = match op {
            Op::Binary(_) | Op::Comma => args.iter().any(|&a| self.is_record(a)),
            Op::Unary(_) | Op::Compound(_) | Op::Step { .. } | Op::Index | Op::Deref | Op::Call => {
                first.is_some_and(|a| self.is_record(a))
            }
            Op::Member { arrow: true, .. } => first.is_some_and(|a| self.is_record(a)),
            Op::Cast => {
                let record = matches!(self.b.types.kind(ty), TypeKind::Record(_));
                let void = matches!(self.b.types.kind(ty), TypeKind::Void);
                first.is_some_and(|a| self.is_record(a)) != record && !void
            }
            _ => false,
        };
        if operated {
            return Some("operators for types of one's own are not followed".to_owned());
        }
        if let (Op::Member { field, arrow }, Some(base)) = (op, first) {
            let holder = if *arrow { self.b.types.element(self.ty(base)) } else { Some(self.ty(base)) };
            let record = holder.and_then(|h| self.record_of(h));
            if record
                .is_some_and(|r| self.b.types.record(r).fields.is_some() && !self.has_member(r, field, 0))
            {
                return Some(format!("`{field}` is no member that is followed"));
            }
        }
        // the value of an assignment is a place in C++
        let written = op.is_write() || matches!(op, Op::AddrOf);
        let place = |t: TermId| {
            use Op::*;
            matches!(
                self.b.get(t).op,
                Sym(_) | Name(_) | Index | Deref | Member { .. } | Reject(_) | Str(_) | InitList
            ) || matches!(self.b.get(t).op, Cast if matches!(op, Op::AddrOf))
        };
        (written && first.is_some_and(|t| !place(t)))
            .then(|| "that the value of an expression is a place, as in C++, is not followed".to_owned())
    }

    fn has_member(&self, record: term::RecordId, name: &str, depth: u32) -> bool {
        let fields = self.b.types.record(record).fields.as_deref().unwrap_or(&[]);
        fields.iter().any(|f| match self.b.types.kind(f.ty) {
            _ if &*f.name == name => true,
            TypeKind::Record(r) => {
                f.name.is_empty() && depth < MAX_NESTED && self.has_member(*r, name, depth + 1)
            }
            _ => false,
        })
    }

    /// The gap that follows the declaration of a variable whose type has code.
    pub(super) fn foreign_variable(&mut self, ty: TypeId, place: Node<'_>) -> Option<TermId> {
        let why = self.code_of(ty)?;
        Some(self.reject(RejectKind::Foreign, &why, place, vec![]))
    }

    /// Why a declaration in a function that reads as a function's is perhaps an object's: `T x(n);`.
    pub(super) fn vexing(&self, ty: TypeId) -> Option<&'static str> {
        let TypeKind::Function { params, .. } = self.b.types.kind(ty) else { return None };
        let odd = params.iter().any(|&p| self.code_of(p).is_some());
        (self.env.is_cpp() && !self.file_scope() && odd)
            .then_some("this may be the declaration of an object with arguments of its constructor")
    }

    /// Why a call is not what it reads as in C.
    pub(super) fn foreign_call(&mut self, callee: TermId, args: &[TermId]) -> Option<String> {
        if !self.env.is_cpp() {
            return None;
        }
        let ty = self.ty(callee);
        let of = match self.b.types.kind(ty) {
            TypeKind::Pointer { to, .. } => *to,
            _ => ty,
        };
        let TypeKind::Function { params, variadic, .. } = self.b.types.kind(of) else { return None };
        if let Some(why) = params.iter().find_map(|&p| self.code_of(p)) {
            return Some(why);
        }
        (!variadic && params.len() != args.len() || *variadic && params.len() > args.len())
            .then(|| "arguments that a call leaves out are not followed".to_owned())
    }

    /// Whether an initializer of a static variable is computed by code: C++ runs that when control first comes to it
    /// ([stmt.dcl]/3), and in C there is none such.
    pub(super) fn runs_when_reached(&self, init: TermId) -> bool {
        let mut stack = vec![init];
        while let Some(t) = stack.pop() {
            let term = self.b.get(t);
            let fixed = match term.op {
                // where something lies is known before
                Op::AddrOf => continue,
                Op::Sym(s) => {
                    let symbol = &self.b.symbols[s];
                    let is_value = !matches!(
                        self.b.types.kind(symbol.ty),
                        TypeKind::Array { .. } | TypeKind::Function { .. }
                    );
                    let is_const = self.b.types.quals(symbol.ty).is_const;
                    match symbol.storage {
                        Storage::Constant(_) | Storage::Function => true,
                        Storage::Global { .. } | Storage::StaticLocal { .. } => is_const || !is_value,
                        _ => false,
                    }
                }
                Op::Call | Op::Index | Op::Deref | Op::Member { .. } | Op::Reject(_) => false,
                ref op => !op.is_write(),
            };
            if !fixed {
                return true;
            }
            stack.extend(term.args.iter());
        }
        false
    }

    /// Why it is not known which function a name of the library means: the file has another one of that name.
    pub(super) fn overloaded(&mut self, name: &str, args: &[TermId]) -> Option<String> {
        // what the host asks of the run time has one meaning
        let device = term::intrinsic(name).is_some()
            || self.dialect.device.and_then(|row| row.word(name)).is_some_and(Word::is_atomic)
            || name.starts_with("__")
            || matches!(name, "min" | "max");
        if !self.env.is_cpp() || !device || !known::is_library_name(name, self.dialect) {
            return None;
        }
        let why = Some(format!(
            "`{name}` is the library's, and the file has another: which is meant is not followed"
        ));
        match self.lookup(name) {
            // further down
            None => why.filter(|_| self.env.defines_function(name)),
            Some(Entity::Symbol(s)) if self.b.symbols[s].storage == Storage::Function => {
                let own = self.env.defines_function(name) && !self.env.defines_twice(name);
                if !own || name.starts_with("__") {
                    return why;
                }
                let TypeKind::Function { params, variadic: false, .. } =
                    self.b.types.kind(self.b.symbols[s].ty).clone()
                else {
                    return why;
                };
                // the library has none for `double` but where it is the very same
                let double = |p: TypeId| {
                    let to = self.b.types.element(p);
                    to.is_some_and(|to| self.b.types.as_float(to) == Some(term::FloatKind::F64))
                };
                let decisive = params.iter().any(|&p| double(p));
                let same: Vec<bool> = params.iter().zip(args).map(|(&p, &a)| self.is_same(p, a)).collect();
                let fits = params
                    .iter()
                    .zip(&same)
                    .all(|(&p, same)| *same || decisive && self.b.types.element(p).is_none());
                why.filter(|_| !fits || params.len() != args.len())
            }
            _ => None,
        }
    }

    /// Whether an argument has a parameter's type, without a conversion.
    fn is_same(&self, parameter: TypeId, argument: TermId) -> bool {
        let types = &self.b.types;
        let of = self.ty(argument);
        if let (Some(a), Some(b)) = (types.element(parameter), types.element(of)) {
            return types.kind(a) == types.kind(b) && types.quals(a) == types.quals(b);
        }
        types.kind(parameter) == types.kind(of)
    }
}

fn reason(name: &str) -> String {
    let name: Arc<str> = name.into();
    format!(
        "`{name}` may have code of its own (a constructor, a destructor, operators), which is not followed"
    )
}
