//! What a thread knows of its variables.

use rustc_hash::FxHashMap;
use term::{IntKind, SymbolId};

/// A value.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Val {
    Int(i128),
    /// A floating constant, by its bits as a double.
    Real(u64),
    /// Into an object that several threads reach, so many bytes from its start.
    Into(u32, Option<i64>),
    /// Into the thread's own memory.
    Own,
    Unknown,
}

impl Val {
    pub fn int(self) -> Option<i128> {
        match self {
            Val::Int(v) => Some(v),
            _ => None,
        }
    }
    /// Whether it counts as true.
    pub fn truth(self) -> Option<bool> {
        match self {
            Val::Int(v) => Some(v != 0),
            Val::Real(bits) => Some(f64::from_bits(bits) != 0.0),
            _ => None,
        }
    }
    /// What holds of both.
    pub fn join(self, other: Val) -> Val {
        match (self, other) {
            (a, b) if a == b => a,
            (Val::Into(a, _), Val::Into(b, _)) if a == b => Val::Into(a, None),
            _ => Val::Unknown,
        }
    }
    /// A number that is the same for equal values.
    pub fn key(self) -> Option<u64> {
        match self {
            Val::Int(v) => Some(v as u64),
            Val::Real(bits) => Some(bits),
            _ => None,
        }
    }
    /// As a variable of an integer type holds it.
    pub fn converted(self, kind: IntKind) -> Val {
        match self {
            Val::Int(v) => Val::Int(if kind == IntKind::Bool { (v != 0) as i128 } else { kind.wrap(v) }),
            _ => Val::Unknown,
        }
    }
}

/// Variables of one call.
#[derive(Clone, Default, Debug)]
pub(super) struct Locals(FxHashMap<SymbolId, Val>);

impl Locals {
    pub fn get(&self, s: SymbolId) -> Val {
        self.0.get(&s).copied().unwrap_or(Val::Unknown)
    }
    pub fn set(&mut self, s: SymbolId, v: Val) {
        self.0.insert(s, v);
    }
    /// What holds of both.
    pub fn join(&mut self, other: &Locals) {
        for (s, v) in &mut self.0 {
            *v = v.join(other.get(*s));
        }
    }
}
