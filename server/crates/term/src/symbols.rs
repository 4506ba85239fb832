//! Variables and functions of one body.

use std::sync::Arc;

use base::Span;

use crate::{device, TypeId};

base::id!(
    /// A variable or function of one body.
    pub struct SymbolId
);

/// Where a symbol lives.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Storage {
    /// A parameter, by position.
    Param(u32),
    /// A local variable, one per execution of its block.
    Local,
    /// A local `static`.
    StaticLocal {
        /// Whether a call may read what an earlier one wrote; else it is what a local variable would be.
        kept: bool,
    },
    /// A file-scope variable; `defined_here` tells `extern` apart. Its address may be known anywhere.
    Global {
        /// Whether this file defines (not only declares) it.
        defined_here: bool,
        /// `static` at file scope.
        internal: bool,
        /// `__constant__`: a kernel only reads it, and the lanes of a warp get one address of it at a time.
        constant: bool,
    },
    /// A function.
    Function,
    /// A constant with a known value (an enumerator).
    Constant(i128),
    /// Used but declared nowhere that was read; its type is a guess or opaque.
    Undeclared,
    /// Something the target provides, such as the index of the thread; which, [`Symbol::device`] says.
    Builtin,
    /// A variable in a block's shared memory (`__shared__`), one per block.
    Shared,
    /// No variable: what is loaded from memory at a path, named by the path's text (see [`crate::Path`]).
    Path,
}

impl Storage {
    /// A local `static`.
    pub fn is_static_local(self) -> bool {
        matches!(self, Storage::StaticLocal { .. })
    }

    /// Whether it is a local variable, or as good as one.
    pub fn is_local(self) -> bool {
        matches!(self, Storage::Local | Storage::StaticLocal { kept: false })
    }

    /// Whether it is a variable of one call of the function: a parameter or a local.
    pub fn is_of_call(self) -> bool {
        self.is_local() || matches!(self, Storage::Param(_))
    }
}

/// A kind of memory of a device, as its programs name it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Space {
    Global,
    /// One block's.
    Shared,
    /// `__constant__`.
    Constant,
    /// One thread's, where registers will not do.
    Local,
}

impl Space {
    /// As reports and messages name it.
    pub fn name(self) -> &'static str {
        match self {
            Space::Global => "global",
            Space::Shared => "shared",
            Space::Constant => "constant",
            Space::Local => "local",
        }
    }
}

/// A variable or function.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Symbol {
    pub name: Arc<str>,
    pub ty: TypeId,
    pub storage: Storage,
    /// What it stands for, of a name that a device gives its programs; found when the text is read.
    pub device: Option<device::Word>,
    /// Whether `&x` (or array decay to a stored pointer, or capture) occurs anywhere in the body: others may then
    /// reach it. Arrays: whether they are passed on or their address is stored, not mere indexing.
    pub address_taken: bool,
    /// The declaration's name in the text, relative to the body, if it is there.
    pub span: Option<Span>,
}

impl Symbol {
    /// Whether only the current call of the body can reach it: a parameter or local whose address is not taken, or a `static` that
    /// holds nothing from one call to the next.
    pub fn is_own_scalar(&self) -> bool {
        self.storage.is_of_call() && !self.address_taken
    }
    /// Whether it is a variable that others may reach: of the file, `static`, or one whose address is taken.
    pub fn is_shared_variable(&self) -> bool {
        matches!(self.storage, Storage::Global { constant: false, .. } | Storage::StaticLocal { .. })
            || self.storage.is_of_call() && self.address_taken
    }
    /// Whether it stands for a member behind a pointer, whose text is its name: `m->n`.
    pub fn is_member_behind_pointer(&self) -> bool {
        self.name.contains("->")
    }
    /// Whether it stands for a member of a variable, whose text is its name: `m.n`, `a.Length`.
    pub fn is_member_of_variable(&self) -> bool {
        self.name.contains('.') && !self.is_member_behind_pointer()
    }
}
