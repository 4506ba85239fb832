//! What a function of a program does to memory and to the world, without its text.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What a function does, besides giving a value.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Summary {
    /// By parameter: what is done to the memory that it points into.
    pub params: Vec<Through>,
    /// File-scope variables that it or what it calls uses, by name. Constant ones are left out.
    pub globals: BTreeMap<Arc<str>, GlobalUse>,
    /// Whether it reads or writes memory that is reached in ways we do not follow (a pointer loaded from memory, …).
    pub reads_unknown: bool,
    pub writes_unknown: bool,
    /// Where a returned pointer points.
    pub returns: Roots,
    /// What keeps its calls from being seen through, at most one of a kind.
    pub troubles: BTreeMap<TroubleKind, Arc<str>>,
    /// Functions it calls, by name, the library's included.
    pub calls: BTreeSet<Arc<str>>,
    /// Whether it may call itself, directly or through others.
    pub recursive: bool,
}

/// What happens to memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Through {
    pub read: bool,
    pub written: bool,
    /// The address is stored where it outlives the call.
    pub kept: bool,
}

/// What happens to a file-scope variable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct GlobalUse {
    /// The variable itself: any part of it.
    pub own: Through,
    /// What it points into.
    pub through: Through,
}

/// Where a pointer may point into.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Roots {
    /// What this parameter points into.
    pub params: BTreeSet<u32>,
    /// The variable itself.
    pub globals: BTreeSet<Arc<str>>,
    /// What the variable points into.
    pub through_globals: BTreeSet<Arc<str>>,
    /// Memory that the call makes.
    pub fresh: bool,
    pub unknown: bool,
}

/// What keeps a call from being seen through.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum TroubleKind {
    /// A place in it was not understood.
    NotUnderstood,
    /// It calls a function of which nothing is known.
    UnknownCall,
    /// It calls through a pointer.
    IndirectCall,
    /// It reads or writes files, whose order is seen.
    Ordered,
    /// It keeps something between calls (a static variable, the state of `rand`).
    State,
    /// It may end the program or leave by `longjmp`.
    NoReturn,
    /// It uses volatile or atomic memory.
    Volatile,
    /// It reads or writes memory that is reached in ways we do not follow.
    Memory,
    /// It uses a file-scope variable that the calling function does not see.
    Global,
    /// It is weak: another definition may take its place when the program is linked.
    Replaceable,
}

impl Summary {
    /// Whether a call only gives a value, computed from the arguments alone.
    pub fn is_pure(&self) -> bool {
        self.writes_nothing()
            && !self.reads_unknown
            && self.globals.is_empty()
            && self.params.iter().all(|p| !p.read)
            && !self.returns.unknown
    }
    /// Whether a call changes nothing; it may read memory.
    pub fn writes_nothing(&self) -> bool {
        self.troubles.is_empty()
            && !self.writes_unknown
            && self.globals.values().all(|g| !g.own.written && !g.through.written)
            && self.params.iter().all(|p| !p.written && !p.kept)
            && !self.returns.fresh
    }
}

impl Through {
    pub(crate) fn join(&mut self, other: Through) {
        self.read |= other.read;
        self.written |= other.written;
        self.kept |= other.kept;
    }
}

impl Roots {
    pub(crate) fn join(&mut self, other: &Roots) {
        self.params.extend(&other.params);
        self.globals.extend(other.globals.iter().cloned());
        self.through_globals.extend(other.through_globals.iter().cloned());
        self.fresh |= other.fresh;
        self.unknown |= other.unknown;
    }
    pub(crate) fn unknown() -> Roots {
        Roots { unknown: true, ..Roots::default() }
    }
}

/// What a program looks at besides its variables and memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Watched {
    /// `errno`, set by a function of the library that is called.
    Errno,
    /// The flags of floating-point exceptions.
    Exceptions,
    /// The rounding mode is changed, or the text says that it may be.
    Rounding,
}
