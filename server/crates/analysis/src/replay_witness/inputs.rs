//! What a run of a function may be given: parameters, file-scope variables, memory that was there before, and what
//! functions nobody has the text of return and leave behind.
//!
//! The argument for choosing them: the function can be called with any arguments, and whatever memory it is given may
//! hold any value of its type, since some caller (or some definition of a function that is only declared) puts it there. Each input is
//! one cell and is chosen once a run, when it is first read; what is derived from it follows. Deliberately absent: that
//! a program around the function may never call it so.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use term::{FloatKind, IntKind, SymbolId, TermId};

use super::values::{Address, Id};
use crate::{Entry, EntryOwner, EntryValue};

/// Whose memory it is. The same in every run of one function, so that what was found out in one serves the next.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Owner {
    /// A parameter or other variable of the function itself.
    Variable(SymbolId),
    /// A file-scope variable.
    Global(Arc<str>),
    /// A static variable of a function.
    Static(Arc<str>, SymbolId),
    /// What an input pointer points to.
    Behind(Id),
    /// What the n-th execution of a call returned, of a function that is only declared.
    Result(TermId, u32),
    /// What an object holds after the n-th such call.
    After(u32, u32),
    /// A member of a record of which no text is seen, in what the owner has.
    Member(Arc<Owner>, i64),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Int { kind: IntKind, least: i128, most: i128 },
    Real(FloatKind),
    Pointer,
}

/// A value that is given to an input.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Given {
    Int(i128),
    Real(f64),
    Null,
    /// So many bytes into what another input pointer points to.
    Into(Id, i64),
    /// To a place that an earlier run had under this number.
    At(Address),
}

/// One input.
#[derive(Clone, Debug)]
pub(super) struct Input {
    pub kind: Kind,
    /// What it is unless something else is given.
    pub usual: i128,
    /// The only numbers it may be, in order; none: any of its kind.
    pub only: Box<[i128]>,
}

impl Input {
    /// A number that it may be, as near as can be to one that is asked for.
    pub fn nearest(&self, v: i128) -> i128 {
        match (self.only.iter().min_by_key(|x| v.abs_diff(**x)), self.kind) {
            (Some(x), _) => *x,
            (None, Kind::Int { least, most, .. }) => v.clamp(least, most),
            (None, _) => v,
        }
    }
}

/// All inputs met so far.
#[derive(Default, Debug)]
pub(super) struct Inputs {
    all: Vec<Input>,
    ids: FxHashMap<(Owner, i64, u32), Id>,
    /// First guesses for variables.
    guesses: FxHashMap<SymbolId, i128>,
}

/// Integers that nothing is known of: enough for a few iterations, and nothing that guards usually exclude. What lies in
/// memory is smaller: it may be a subscript.
const USUAL: i128 = 8;
const USUAL_IN_MEMORY: i128 = 1;

/// Bit-fields have their width behind this for a size, and bits for an offset.
pub(super) const BITS: u32 = 1000;

impl Inputs {
    /// What variables are first taken to hold.
    pub fn guess(&mut self, guesses: FxHashMap<SymbolId, i128>) {
        self.guesses = guesses;
        for ((owner, offset, _), id) in &self.ids {
            let (Owner::Variable(s), 0) = (owner, *offset) else { continue };
            let Some(input) = self.all.get_mut(*id as usize) else { continue };
            if let (Some(v), Kind::Int { .. }) = (self.guesses.get(s), input.kind) {
                input.usual = input.nearest(*v);
            }
        }
    }
    /// `only`: as [`Input`] has it.
    pub fn id(&mut self, owner: &Owner, offset: i64, size: u32, kind: Kind, only: &[i128]) -> Id {
        let key = (owner.clone(), offset, size);
        if let Some(&id) = self.ids.get(&key) {
            return id;
        }
        let id = self.all.len() as Id;
        let guess = match owner {
            Owner::Variable(s) if offset == 0 => self.guesses.get(s).copied(),
            _ => None,
        };
        let mut input = Input { kind, usual: 1, only: only.into() };
        if let Kind::Int { .. } = kind {
            let usual = match owner {
                // Text comes to an end.
                Owner::Behind(_) | Owner::After(..) if size == 1 && offset >= 3 => 0,
                Owner::Behind(_) | Owner::After(..) => USUAL_IN_MEMORY,
                _ => USUAL,
            };
            input.usual = input.nearest(guess.unwrap_or(usual));
        }
        self.all.push(input);
        self.ids.insert(key, id);
        id
    }
    pub fn get(&self, id: Id) -> Option<&Input> {
        self.all.get(id as usize)
    }
    /// All inputs as the run had them that was given this.
    pub fn entries(&self, given: &FxHashMap<Id, Given>) -> Vec<Entry> {
        type InputPlace<'a> = Option<(&'a Owner, i64, u32)>;
        let mut places: Vec<InputPlace<'_>> = vec![None; self.all.len()];
        for ((owner, offset, size), id) in &self.ids {
            if let Some(place) = places.get_mut(*id as usize) {
                *place = Some((owner, *offset, *size));
            }
        }
        let of = |(id, (input, place)): (usize, (&Input, &InputPlace<'_>))| {
            let (owner, offset, size) = (*place)?;
            let given = given.get(&(id as Id)).copied();
            let value = match (input.kind, given) {
                (Kind::Int { .. }, Some(Given::Int(v))) => EntryValue::Int(input.nearest(v)),
                (Kind::Int { .. }, _) => EntryValue::Int(input.nearest(input.usual)),
                (Kind::Real(_), Some(Given::Real(v))) => EntryValue::Real(v.to_bits()),
                (Kind::Real(_), _) => EntryValue::Real(1f64.to_bits()),
                (Kind::Pointer, Some(Given::Null)) => EntryValue::Null,
                (Kind::Pointer, Some(Given::Into(other, by))) => EntryValue::Into(other, by),
                (Kind::Pointer, Some(Given::At(_))) => EntryValue::Other,
                (Kind::Pointer, _) => EntryValue::Apart,
            };
            let owner = match owner {
                Owner::Variable(s) => EntryOwner::Parameter(*s),
                Owner::Global(name) => EntryOwner::Global(name.clone()),
                Owner::Behind(id) => EntryOwner::Behind(*id),
                Owner::Static(..) | Owner::Result(..) | Owner::After(..) | Owner::Member(..) => {
                    EntryOwner::Other
                }
            };
            let (size, bits) = if size > BITS { (0, size - BITS) } else { (size, 0) };
            Some(Entry { owner, offset, size, bits, value })
        };
        let all: Vec<Option<Entry>> = self.all.iter().zip(&places).enumerate().map(of).collect();
        // positions are ids
        if all.iter().any(Option::is_none) {
            return Vec::new();
        }
        all.into_iter().flatten().collect()
    }
}
