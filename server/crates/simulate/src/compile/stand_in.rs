//! Functions whose bodies are not known, stood in for where the caller asks for it ([`Program::stand_in`]).
//!
//! A stand-in is one function that could be linked: it writes zeros where its arguments point to memory that holds no
//! value, and gives the value of a file-scope variable, which the caller provides; memory where it gives a `void *`. What
//! holds of every such function holds of it. Deliberately absent: what the functions really do.

use std::sync::Arc;

use term::{IntKind, Op, TermId, TypeKind};

use super::emit::OPEN;
use super::types::Class;
use super::{Assignable, Cx, Program, R, V};
use crate::code::*;
use crate::limits::compile_stand_in::ROOM;

impl Program<'_> {
    /// Lets host code call functions of these names that have no body: each does nothing and gives the value of the
    /// file-scope variable that [`Program::stand_in_value`] names, or fresh memory where it gives a `void *`.
    pub fn stand_in(&mut self, names: impl IntoIterator<Item = Arc<str>>) {
        self.stand_ins.extend(names);
    }
    /// Whether a function of this name ends the run, at least where its argument is false; then nothing stands in for it.
    pub fn is_ending(name: &str) -> bool {
        matches!(
            name,
            "assert" | "exit" | "abort" | "__builtin_trap" | "_Exit" | "_exit" | "quick_exit" | "longjmp"
        )
    }
    /// The file-scope variable whose value a stand-in gives.
    pub fn stand_in_value(name: &str) -> Arc<str> {
        format!("{name}()").into()
    }
}

impl Cx<'_, '_, '_> {
    pub(super) fn stand_in(&mut self, t: TermId, name: &str, args: &[TermId]) -> R<Option<V>> {
        match name {
            "assert" => return self.assertion(args),
            _ if Program::is_ending(name) => return Err(self.err(&format!("`{name}`, which ends the run"))),
            // the old memory's contents and its end are not stood in for
            "realloc" | "reallocarray" | "posix_memalign" => {
                return Err(self.err(&format!("the function `{name}`, whose body is not known")))
            }
            _ => {}
        }
        let mut values = Vec::with_capacity(args.len());
        for &a in args {
            match self.rvalue(a) {
                Ok(v) => values.push(Some(v)),
                // `stderr`, the name of a function: what is only handed over need not be known
                Err(_) if !self.acts(a) => values.push(None),
                Err(gap) => return Err(gap),
            }
        }
        for v in values.iter().flatten() {
            if self.class(v.ty) == Class::Pointer
                && self.types.element(v.ty).is_some_and(|e| !self.types.quals(e).is_const)
            {
                self.emit(Ins::Settle { p: v.reg });
            }
        }
        let ty = self.body.ty(t);
        match self.class(ty) {
            Class::Void => Ok(None),
            Class::Pointer if self.is_fresh(name, ty) => {
                self.memory(name, &values).map(|reg| Some(V { reg, ty }))
            }
            // 7.24: these give back their first argument, or point into it
            Class::Pointer if name.starts_with("str") || name == "memchr" => match values.first() {
                Some(&Some(v)) if self.class(v.ty) == Class::Pointer => Ok(Some(V { reg: v.reg, ty })),
                _ => Err(self.err(&format!("the function `{name}`, whose body is not known"))),
            },
            Class::Int(_) | Class::F32 | Class::F64 | Class::Pointer | Class::Record => {
                let size = self.const_size(ty)?;
                let name = Program::stand_in_value(name);
                let global = match self.unit.globals.get(&name) {
                    Some(&g) => g,
                    None => {
                        let g = self.unit.push_global(Global {
                            name: name.clone(),
                            size,
                            grain: super::types::grain(&self.types, ty),
                            bytes: None,
                            read_only: false,
                            constant: false,
                            provided: true,
                            variable: (u32::MAX, u32::MAX),
                        });
                        self.unit.globals.insert(name, g);
                        g
                    }
                };
                let addr = self.temp();
                self.emit(Ins::GlobalAddr { d: addr, global });
                self.load(Assignable::Mem { addr, ty }).map(Some)
            }
            Class::Array | Class::Other => {
                Err(self.err(&format!("the function `{name}`, whose body is not known")))
            }
        }
    }

    /// A run in which an assertion fails tells nothing.
    fn assertion(&mut self, args: &[TermId]) -> R<Option<V>> {
        let &[condition] = args else { return Err(self.err("an assertion of another form")) };
        let v = self.rvalue(condition)?;
        let a = self.truth(v)?;
        let jump = self.emit(Ins::JumpNZ { a, to: OPEN });
        let gap = self.err("an assertion that does not hold");
        self.gap(gap);
        let here = self.here();
        self.patch(jump, here);
        Ok(None)
    }

    /// Whether each call gives memory of its own.
    fn is_fresh(&self, name: &str, ty: term::TypeId) -> bool {
        let of_nothing = self.types.element(ty).is_some_and(|e| matches!(self.types.kind(e), TypeKind::Void));
        of_nothing && name != "memchr" || matches!(name, "strdup" | "strndup")
    }

    /// Memory of as many bytes as the numbers among the arguments say, multiplied. It holds no values yet; a copy of a
    /// text is an empty one.
    fn memory(&mut self, name: &str, values: &[Option<V>]) -> R<Reg> {
        let ulong = self.types.int(IntKind::ULong);
        let d = self.temp();
        let is_text = name.starts_with("str");
        let mut n = None;
        for &v in values.iter().flatten() {
            if matches!(self.class(v.ty), Class::Int(_)) && !is_text {
                let v = self.convert(v, ulong)?.reg;
                n = Some(match n {
                    None => v,
                    Some(n) => {
                        let product = self.temp();
                        self.emit(Ins::Bin { op: Bin::MulI64, d: product, a: n, b: v });
                        product
                    }
                });
            }
        }
        let n = n.unwrap_or_else(|| self.constant(ROOM));
        self.emit(Ins::Malloc { d, n, zero: is_text });
        Ok(d)
    }

    /// Whether evaluating a term does anything.
    fn acts(&self, t: TermId) -> bool {
        self.body.walk(t).any(|x| {
            matches!(
                self.body.op(x),
                Op::Assign | Op::Compound(_) | Op::Step { .. } | Op::Call | Op::Reject(_)
            )
        })
    }
}
