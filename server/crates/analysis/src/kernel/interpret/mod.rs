//! The one walk over a kernel's statements and expressions, for whoever follows threads through it.
//!
//! [`walk`] knows what terms are made of: which parts are evaluated and in which order, which are places, what a loop or a
//! `switch` consists of, which functions are called. What a value is, what memory holds, what a condition that is not known does
//! to the way, is said by a *domain*:
//!
//! ```text
//! domain                 a value                        who goes the way     a condition that is not known
//! trace (warp)           a number for each lane         a mask of lanes      gives the statement up
//! replay (thread)        a number or an offset          one thread           both ways, one after the other, joined
//! symbolic (all alike)   a polynomial over unknowns     every thread         both ways, under guards
//! eval (point)           a number                       one thread           ends the attempt; expressions only
//! ```
//!
//! Deliberately absent: which accesses and definitions a kernel has (`collect`), what is uniform (`uniformity`): those follow nobody.

pub(super) mod walk;

use term::device::{AtomicOp, Index, Scope, Word};
use term::{BinOp, Body, SymbolId, TermId, UnOp};

use crate::calls::function::Function;

/// What evaluating gives, or why the walk ends.
pub(super) type Run<'a, D, T> = Result<T, <D as Values<'a>>::Stop>;

/// What expressions are evaluated to.
pub(super) trait Values<'a>: Sized {
    /// A value, as far as it is known.
    type Val: Clone;
    /// Where a value stands.
    type Place;
    /// Who evaluates: the lanes of a warp; nothing where one thread, or any, is followed.
    type Way: Copy;
    /// Why a walk ends before its end.
    type Stop;

    /// Of the function that is walked now.
    fn body(&self) -> &'a Body;
    /// Of a warp.
    fn lanes(&self) -> u32;
    /// A function of the program.
    fn function(&self, name: &str) -> Option<&'a Function>;

    /// Before an expression; `false`: it is not evaluated, and what it is worth is not known.
    fn begin(&mut self, t: TermId, way: Self::Way) -> Run<'a, Self, bool>;
    /// After an expression or statement that was begun.
    fn end(&mut self) {}
    /// Before the place of an expression is found.
    fn begin_place(&mut self, _t: TermId) -> Run<'a, Self, ()> {
        Ok(())
    }
    /// Into an argument of a term that orders its arguments, and out of it.
    fn enter(&mut self, _node: TermId, _slot: u32) {}
    fn leave(&mut self) {}

    // ---- values

    /// A value of which nothing is known but its type.
    fn unknown(&mut self, t: TermId) -> Run<'a, Self, Self::Val>;
    fn number(&mut self, v: i128) -> Self::Val;
    fn real(&mut self, t: TermId, v: f64) -> Run<'a, Self, Self::Val>;
    /// The address of a string.
    fn text(&mut self, t: TermId) -> Run<'a, Self, Self::Val>;
    /// An index variable of the device, along an axis.
    fn index(&mut self, index: Index, axis: usize) -> Self::Val;
    /// `(type of t) of`
    fn cast(&mut self, t: TermId, of: (TermId, Self::Val), way: Self::Way) -> Run<'a, Self, Self::Val>;
    fn unary(
        &mut self,
        t: TermId,
        op: UnOp,
        of: (TermId, Self::Val),
        way: Self::Way,
    ) -> Run<'a, Self, Self::Val>;
    /// Not `&&` and `||`.
    fn binary(
        &mut self,
        t: TermId,
        op: BinOp,
        left: (TermId, Self::Val),
        right: (TermId, Self::Val),
        way: Self::Way,
    ) -> Run<'a, Self, Self::Val>;
    /// What `place op= value` leaves there; conversion to the place's type is [`Values::write`]'s.
    fn compound(
        &mut self,
        t: TermId,
        op: BinOp,
        place: (TermId, Self::Val),
        value: (TermId, Self::Val),
        way: Self::Way,
    ) -> Run<'a, Self, Self::Val> {
        self.binary(t, op, place, value, way)
    }
    /// `++` and `--`.
    fn stepped(
        &mut self,
        t: TermId,
        place: (TermId, &Self::Val),
        delta: i8,
        way: Self::Way,
    ) -> Run<'a, Self, Self::Val>;
    /// `a && b`, `a || b`: the second part is walked for who comes to it.
    fn logical(
        &mut self,
        t: TermId,
        and: bool,
        parts: [TermId; 2],
        way: Self::Way,
    ) -> Run<'a, Self, Self::Val>;
    /// `c ? a : b`.
    fn select(&mut self, t: TermId, parts: [TermId; 3], way: Self::Way) -> Run<'a, Self, Self::Val>;
    /// A call, its arguments evaluated.
    fn call(
        &mut self,
        t: TermId,
        called: Called<'a>,
        arguments: Arguments<'_, Self::Val>,
        way: Self::Way,
    ) -> Run<'a, Self, Self::Val>;
    /// An atomic operation; its arguments are still to be evaluated.
    fn atomic(
        &mut self,
        t: TermId,
        atomic: (Option<AtomicOp>, Scope),
        arguments: &[TermId],
        way: Self::Way,
    ) -> Run<'a, Self, Self::Val>;
    /// Whatever else stands where a value is asked for.
    fn other(&mut self, t: TermId, way: Self::Way) -> Run<'a, Self, Self::Val>;

    // ---- places

    fn variable(&mut self, t: TermId, s: SymbolId) -> Run<'a, Self, Self::Place>;
    /// `base[index]`, where the base's elements begin at a place.
    fn element(
        &mut self,
        t: TermId,
        base: (TermId, Self::Place),
        index: (TermId, Self::Val),
        way: Self::Way,
    ) -> Run<'a, Self, Self::Place>;
    /// A field so many bytes from the start of its structure; `None`: that is not known.
    fn field(
        &mut self,
        t: TermId,
        of: Self::Place,
        offset: Option<u64>,
        way: Self::Way,
    ) -> Run<'a, Self, Self::Place>;
    /// Where a pointer points.
    fn pointed(&mut self, pointer: (TermId, Self::Val)) -> Run<'a, Self, Self::Place>;
    /// A term that is none of those.
    fn no_place(&mut self, t: TermId, way: Self::Way) -> Run<'a, Self, Self::Place>;
    /// A member of what is no place, such as a call's result.
    fn part_of_value(&mut self, t: TermId, base: TermId, way: Self::Way) -> Run<'a, Self, Self::Val> {
        walk::eval(self, base, way)?;
        self.unknown(t)
    }
    /// A member of a structure that has a value without being read.
    fn known_member(&mut self, _t: TermId, _base: TermId) -> Option<Self::Val> {
        None
    }
    fn address(&mut self, t: TermId, place: Self::Place) -> Run<'a, Self, Self::Val>;
    fn load(&mut self, t: TermId, place: &Self::Place, way: Self::Way) -> Run<'a, Self, Self::Val>;
    /// Sets a place; what the assignment is worth.
    fn write(
        &mut self,
        t: TermId,
        place: Self::Place,
        value: (TermId, Self::Val),
        way: Self::Way,
    ) -> Run<'a, Self, Self::Val>;
}

/// Where statements lead.
pub(super) trait Flows<'a>: Values<'a> {
    /// Who goes on behind a statement, and who left it.
    type Flow;

    /// Before a statement; `false`: nothing is done, and who came goes on.
    fn begin_statement(&mut self, t: TermId, way: Self::Way) -> Run<'a, Self, bool> {
        self.begin(t, way)
    }
    /// All go on.
    fn straight(&self, way: Self::Way) -> Self::Flow;
    /// Who goes on; `None`: nobody.
    fn onward(&self, flow: &Self::Flow) -> Option<Self::Way>;
    /// One statement behind another.
    fn then(&mut self, first: Self::Flow, second: Self::Flow) -> Self::Flow;
    fn declare(
        &mut self,
        t: TermId,
        s: SymbolId,
        init: Option<(TermId, Self::Val)>,
        way: Self::Way,
    ) -> Run<'a, Self, ()>;
    fn branch(&mut self, branch: If, way: Self::Way) -> Run<'a, Self, Self::Flow>;
    fn repeat(&mut self, repeated: Loop, way: Self::Way) -> Run<'a, Self, Self::Flow>;
    fn switch(&mut self, switch: Switch<'a>, way: Self::Way) -> Run<'a, Self, Self::Flow>;
    fn jump(&mut self, t: TermId, jump: Jump<Self::Val>, way: Self::Way) -> Run<'a, Self, Self::Flow>;
    /// A statement of which nothing is understood.
    fn opaque(&mut self, t: TermId, way: Self::Way) -> Run<'a, Self, Self::Flow>;
}

/// What a call calls.
#[derive(Clone, Copy)]
pub(super) enum Called<'a> {
    /// A variable says which function.
    Unknown,
    Function(&'a Function),
    /// What the device provides; never an atomic operation.
    Word(Word),
    Min,
    Max,
    /// Something else that is not of the program, by its name.
    Library(&'a str),
}

/// Arguments of a call, as written and what they are worth.
pub(super) struct Arguments<'t, V> {
    pub terms: &'t [TermId],
    pub values: Vec<V>,
}

/// An `if`.
#[derive(Clone, Copy, Debug)]
pub(super) struct If {
    pub node: TermId,
    pub condition: TermId,
    pub then: TermId,
    pub other: Option<TermId>,
}

/// A loop, its beginning done.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loop {
    pub node: TermId,
    /// `None`: it always holds.
    pub condition: Option<TermId>,
    pub step: Option<TermId>,
    pub inner: TermId,
    /// Whether the condition is looked at before the first round.
    pub before: bool,
}

/// A `switch` whose labels stand in one list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Switch<'a> {
    pub node: TermId,
    pub value: TermId,
    pub inner: TermId,
    pub items: &'a [TermId],
    /// Whether labels stand deeper inside too, or the body is no list: it is not followed.
    pub deep: bool,
}

/// A way out of what stands around.
pub(super) enum Jump<V> {
    Break,
    Continue,
    Return(Option<V>),
}
