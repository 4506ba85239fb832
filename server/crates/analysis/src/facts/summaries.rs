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
    /// Whether it stores a pointer where anybody else may find it.
    pub stores_pointers: bool,
    /// Pointer members of the structure that it returns, or of what the returned pointer points to, which alone lead to memory that was
    /// made, or are null.
    pub owned_members: BTreeSet<Arc<str>>,
    /// Whether nothing leads to a structure that the returned pointer points to but that pointer.
    pub returns_apart: bool,
    /// Whether it may give a function of which nothing is known a pointer to memory that it made, or that it found in memory. Those of its
    /// parameters are told there.
    pub hands_out: bool,
    /// Whether it may store such a pointer elsewhere than in memory that it made.
    pub tells_new: bool,
    /// Whether it may store elsewhere than in file-scope variables a pointer to what it did not make.
    pub stores_others: bool,
    /// Integer members of the structure that it returns, or of what the returned pointer points to, that have this value whenever it
    /// does not return null.
    pub set_members: BTreeMap<Arc<str>, Given>,
    /// Whether no call of it ever comes back: whichever way it takes ends the program.
    pub never_returns: bool,
    /// Functions it calls, by name, the library's included.
    pub calls: BTreeSet<Arc<str>>,
    /// Whether it may call itself, directly or through others.
    pub recursive: bool,
}

/// A number that a function stores: one that its text says, or what it was given.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Given {
    Number(i128),
    /// The argument at this place, converted to the parameter's type and then to that of where it is stored.
    Parameter(u32),
}

/// What happens to memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Through {
    pub read: bool,
    pub written: bool,
    /// The address is stored where it outlives the call.
    pub kept: bool,
    /// The address is given to a function of which nothing is known, or the library keeps it.
    pub handed: bool,
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

impl Summary {
    /// Whether a call gives memory that it made, and that nothing else was given; nobody else was told of it either.
    pub(crate) fn makes_memory(&self) -> bool {
        let is_new = self.returns == Roots { fresh: true, ..Roots::default() };
        // one that keeps something may give the same twice, and of one that stores anything somebody may know
        let keeps_nothing = !self.writes_unknown
            && self.globals.values().all(|g| !g.own.written && !g.through.written)
            && self.params.iter().all(|p| !p.written && !p.kept);
        is_new && !self.recursive && (keeps_nothing || !self.tells_new) && self.is_seen(false)
    }
    /// Whether it is known what it does with pointers; of strangers, that they are given none.
    fn is_seen(&self, may_remember: bool) -> bool {
        use TroubleKind::{Global, IndirectCall, Memory, NoReturn, Ordered, State, UnknownCall};
        self.troubles.keys().all(|k| match k {
            Ordered | NoReturn => true,
            State | Memory | Global => may_remember,
            IndirectCall | UnknownCall => !self.hands_out,
            _ => false,
        })
    }
    /// Whether besides all that the returned pointer leads to, however far, is memory that the call made.
    pub(crate) fn is_closed(&self) -> bool {
        self.makes_memory() && !self.stores_others
    }
    /// Whether its `k`-th parameter, and what that leads to, is led to by nothing else afterwards, and leads to nothing else.
    pub(crate) fn leaves_alone(&self, k: usize) -> bool {
        let is_kept = |p: &Through| p.kept || p.handed;
        !self.stores_others
            && !self.tells_new
            && self.is_seen(true)
            && !self.params.get(k).is_none_or(is_kept)
    }
    /// Whether all that it stores is known, and no pointer is among it.
    pub(crate) fn stores_nothing(&self) -> bool {
        !self.stores_pointers && self.is_seen(true)
    }
}

impl Through {
    pub(crate) fn join(&mut self, other: Through) {
        self.read |= other.read;
        self.written |= other.written;
        self.kept |= other.kept;
        self.handed |= other.handed;
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
