//! What a call does, as far as is known: to memory, whether it only gives a value, whether it keeps what it is given.

use term::{Body, Op, Promised, Storage, TermId};

use crate::flow::library::{library_call, LibraryEffect, LibraryResult};
use crate::{ObstacleKind, Summary, Through, TroubleKind};

/// The functions that a body may call, as far as what statements do rests on them.
pub(crate) trait Callees {
    /// Of the function that the call names, if it is known and the arguments fit its definition.
    fn called(&self, body: &Body, call: TermId) -> Option<&Summary>;

    /// Whether the name is a file-scope variable to which no text that may name it makes a pointer.
    fn hides(&self, name: &str) -> bool;
}

/// What a call does.
pub(crate) enum Called<'p> {
    Library(LibraryEffect),
    Function(&'p Summary),
}

impl Called<'_> {
    /// Whether it changes nothing and always gives the same of the same: only memory that it reads may matter.
    pub(crate) fn writes_nothing(&self) -> bool {
        match self {
            Called::Library(e) => e.writes == 0 && e.keeps == 0 && e.returns != LibraryResult::Fresh,
            Called::Function(f) => f.writes_nothing(),
        }
    }
    /// Whether its value comes from its arguments alone.
    pub(crate) fn is_pure(&self) -> bool {
        match self {
            Called::Library(e) => self.writes_nothing() && e.reads == 0,
            Called::Function(f) => f.is_pure(),
        }
    }
    /// What it does to the memory that its `k`-th argument points into.
    pub(crate) fn through(&self, k: usize) -> Through {
        match self {
            Called::Library(e) => e.through(k),
            Called::Function(f) => f.params.get(k).copied().unwrap_or_default(),
        }
    }
    pub(crate) fn summary(&self) -> Option<&Summary> {
        match self {
            Called::Library(_) => None,
            Called::Function(f) => Some(f),
        }
    }
}

/// What a call does, or the obstacle it is.
pub(crate) fn call<'p>(body: &Body, program: &'p dyn Callees, t: TermId) -> Result<Called<'p>, ObstacleKind> {
    let Some(f) = body.callee(t) else {
        // a function of a class, say
        let is_read = |&c: &TermId| !body.walk(c).any(|x| matches!(body.op(x), Op::Reject(_)));
        return Err(match body.args(t).first().is_none_or(is_read) {
            true => ObstacleKind::IndirectCall,
            false => ObstacleKind::NotUnderstood,
        });
    };
    if !matches!(body.symbols[f].storage, Storage::Function | Storage::Undeclared | Storage::Builtin) {
        return Err(ObstacleKind::IndirectCall);
    }
    let trouble =
        |why: TroubleKind, name: &str| Err(ObstacleKind::Call { function: f, why, name: name.into() });
    if body.library.contains(&f) {
        return match library_call(body, t) {
            Some(LibraryEffect { trouble: Some(why), .. }) => trouble(why, ""),
            Some(e) => Ok(Called::Library(e)),
            None => Err(ObstacleKind::UnknownCall(f)),
        };
    }
    let Some(summary) = program.called(body, t) else {
        let promised = body.said.promises.iter().any(|p| p.says == Promised::Pure(f));
        // what a pointer that it returns points to is not known all the same
        let gives_number = body.types.element(body.ty(t)).is_none();
        return match promised && gives_number {
            true => Ok(Called::Library(LibraryEffect::default())),
            false => Err(ObstacleKind::UnknownCall(f)),
        };
    };
    match summary.troubles.iter().next() {
        Some((why, name)) => trouble(*why, name),
        None if summary.reads_unknown || summary.writes_unknown => trouble(TroubleKind::Memory, ""),
        None => Ok(Called::Function(summary)),
    }
}

/// What a term is that iterations cannot run at once with, whatever stands around it: a place that was not understood, a call that does
/// more than is known. An assertion is none: the model takes it for granted, or says that it cannot.
pub(crate) fn stands_in_the_way(body: &Body, program: &dyn Callees, t: TermId) -> Option<ObstacleKind> {
    match body.op(t) {
        Op::Reject(_) | Op::Launch | Op::Apply(_) | Op::Var(_) | Op::Name(_) | Op::Cons => {
            Some(ObstacleKind::NotUnderstood)
        }
        Op::Call if body.asserted(t).is_none() => call(body, program, t).err(),
        _ => None,
    }
}

/// Whether a call of one of the program's functions only gives a value, the same each time as long as nothing is written that its
/// arguments lead to.
pub(crate) fn function_only_gives(body: &Body, program: &dyn Callees, t: TermId) -> bool {
    match call(body, program, t) {
        Ok(Called::Function(f)) => f.writes_nothing() && f.globals.is_empty(),
        _ => false,
    }
}

/// Whether a call may store what its `k`-th argument points to where it outlives the call.
pub(crate) fn keeps(body: &Body, program: &dyn Callees, t: TermId, k: usize) -> bool {
    let Some(f) = body.callee(t) else { return true };
    // what a function prints, remembers in numbers or does with other memory leads nobody to what it is given: where it stores that is
    // among its effects
    let is_seen = |why: &TroubleKind| {
        use TroubleKind::{Global, Memory, NoReturn, Ordered, State};
        matches!(why, Ordered | State | NoReturn | Memory | Global)
    };
    if body.library.contains(&f) {
        let effect = library_call(body, t);
        return effect.is_none_or(|e| !e.trouble.iter().all(is_seen) || e.through(k).kept);
    }
    match (call(body, program, t), program.called(body, t)) {
        (Ok(c), None) => c.through(k).kept,
        (_, Some(s)) if s.troubles.keys().all(is_seen) => s.params.get(k).is_none_or(|p| p.kept),
        _ => true,
    }
}
