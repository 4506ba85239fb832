//! Whether two variables can name the same memory.
//!
//! Proofs used: two named objects are distinct (C11 6.2.4); `restrict` (6.7.3.1); memory fresh from `malloc` (7.22.3);
//! a variable whose address is taken nowhere, in its function or, where it is the file's own, in the file; an object
//! defined `const` is never modified (6.7.3p6). Types are not used: C programs that break the aliasing rule exist; arrays
//! of C# cannot.

use term::{Body, Op, Storage, SymbolId, TermId, TypeKind};

use crate::flow::effects::Effects;
use crate::flow::fresh::{is_allocation, is_fresh_value, is_null, uncast};
use crate::flow::parts::base_symbol;

/// What is known of two variables through which memory is reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Aliasing {
    Distinct,
    May,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reach {
    /// The variable is the memory (array, struct, scalar).
    Named {
        /// It came to be after the function was called.
        own: bool,
        /// No pointer is made of it by `&`; its arrays' names may still become some.
        hidden: bool,
    },
    /// It points to memory of its own.
    Fresh,
    /// A member of a structure that points to memory of its own, of which nobody was told.
    Owned,
    /// A `restrict` pointer that keeps its value.
    Restrict {
        param: bool,
    },
    /// A parameter, or a part of one, that keeps its value, or moves in what it was given.
    Param,
    Global,
    Pointer,
}

fn reach(body: &Body, effects: &Effects<'_>, during: TermId, s: SymbolId) -> Reach {
    let symbol = &body.symbols[s];
    let ty = body.types.get(symbol.ty);
    if !matches!(ty.kind, TypeKind::Pointer { .. }) {
        let own = symbol.storage.is_of_call();
        // nobody but its function names a `static` local
        let is_named_here = own || symbol.storage.is_static_local();
        let hidden = is_named_here && !symbol.address_taken
            || own && effects.stays_home_until(Some(during), s)
            || effects.static_stays_home(s);
        return Reach::Named { own, hidden };
    }
    if effects.owns_memory(during, s) {
        return Reach::Owned;
    }
    let steady = effects.is_single_valued(s);
    let is_param = matches!(symbol.storage, Storage::Param(_));
    // A parameter that only walks stays based on what it was: `a -= 1 + lda;`, as in programs translated from Fortran.
    let walks = || {
        let moves = effects
            .writes
            .get(&s)
            .is_some_and(|ws| ws.iter().all(|&w| matches!(body.op(w), Op::Step { .. } | Op::Compound(_))));
        is_param && !symbol.address_taken && moves
    };
    if ty.quals.is_restrict && (steady || walks()) {
        return Reach::Restrict { param: is_param };
    }
    if is_param && (steady || walks()) || is_part_of_given(body, effects, s) {
        return Reach::Param;
    }
    if is_fresh(body, effects, s) || crate::alias::row_tables::has_fresh_rows(body, effects, s) {
        return Reach::Fresh;
    }
    match symbol.storage {
        Storage::Global { .. } => Reach::Global,
        _ => Reach::Pointer,
    }
}

/// Whether the pointer is a member of a structure that the function was handed as a whole and leaves as it is.
fn is_part_of_given(body: &Body, effects: &Effects<'_>, s: SymbolId) -> bool {
    let Some(mut at) = body.path_term(s) else { return false };
    while let (Op::Member { arrow: false, .. }, &[of]) = (body.op(at), body.args(at)) {
        at = of;
    }
    let of = body.as_symbol(at).filter(|&p| p != s);
    of.is_some_and(|p| {
        let v = &body.symbols[p];
        matches!(v.storage, Storage::Param(_))
            && matches!(body.types.kind(v.ty), TypeKind::Record(_))
            && effects.is_single_valued(p)
    })
}

/// Whether all a local pointer ever holds is what an allocation function returned to it alone (or null): at each moment
/// memory that nothing else was given (C11 7.22.3p1), copies of the pointer aside.
fn is_fresh(body: &Body, effects: &Effects<'_>, s: SymbolId) -> bool {
    let symbol = &body.symbols[s];
    if !matches!(symbol.storage, Storage::Local) || symbol.address_taken {
        return false;
    }
    let Some(writes) = effects.writes.get(&s) else { return false };
    let given: Vec<Option<TermId>> = writes
        .iter()
        .map(|&w| match (body.op(w), body.args(w)) {
            (Op::Declare(_), &[]) => None,
            (Op::Declare(_), &[e]) => Some(e),
            (Op::Assign, &[_, e]) => Some(e),
            _ => Some(w),
        })
        .collect();
    let allocated = |e: TermId| is_fresh_value(body, e) || effects.makes_memory(uncast(body, e));
    let values: Vec<TermId> = given.into_iter().flatten().collect();
    values.iter().any(|&e| allocated(e)) && values.iter().all(|&e| allocated(e) || is_null(body, e))
}

/// Whether memory reached through `a` and through `b` (different variables) can overlap while `during`, a loop, runs.
pub(crate) fn aliasing(
    body: &Body,
    effects: &Effects<'_>,
    during: TermId,
    a: SymbolId,
    b: SymbolId,
) -> Aliasing {
    // what a device provides, as the index of a thread, lies in no memory
    let provided = |s: SymbolId| body.symbols[s].storage == Storage::Builtin;
    let apart = provided(a)
        || provided(b)
        || is_shared_and_given(body, a, b)
        || is_shared_and_given(body, b, a)
        || is_array_and_object(body, a, b)
        || is_array_and_object(body, b, a)
        || are_arrays_of_other_numbers(body, a, b);
    match apart {
        true => Aliasing::Distinct,
        false => by_reach(body, effects, during, a, b),
    }
}

/// Whether one is memory of a block, and the other a pointer that a host gives a kernel, and that the kernel sets to nothing else: no host
/// knows where a block's memory is (CUDA C++ Programming Guide, `__shared__`).
fn is_shared_and_given(body: &Body, a: SymbolId, b: SymbolId) -> bool {
    let given = || {
        let sets = |t: TermId| {
            matches!(body.op(t), Op::Assign)
                && body.args(t).first().and_then(|&p| body.as_symbol(p)) == Some(b)
        };
        let is_pointer = body.types.element(body.symbols[b].ty).is_some();
        is_pointer && !body.symbols[b].address_taken && !body.walk(body.root).any(sets)
    };
    body.said.is_kernel
        && body.symbols[a].storage == Storage::Shared
        && matches!(body.symbols[b].storage, Storage::Param(_))
        && given()
}

/// Whether one is an array of numbers that its language keeps apart from all else, and the other an object with fields.
fn is_array_and_object(body: &Body, a: SymbolId, b: SymbolId) -> bool {
    let to = |s: SymbolId| body.types.element(body.symbols[s].ty).map(|e| body.types.kind(e));
    let number = matches!(to(a), Some(TypeKind::Int(_) | TypeKind::Float(_)));
    let object = matches!(to(b), Some(TypeKind::Record(_)));
    // what is never null may be part of anything: a span, a reference
    let array = body.said.lengths.iter().any(|l| l.array == a) && !body.said.never_null.contains(&a);
    number && object && array
}

/// Whether both are arrays of numbers in a language where an array is one of its own elements only (C#), and these are not of
/// one size and sort. (One of `int` may be seen as one of `uint`.)
fn are_arrays_of_other_numbers(body: &Body, a: SymbolId, b: SymbolId) -> bool {
    if !body.semantics.checked_bounds {
        return false;
    }
    let number = |s: SymbolId| {
        // what is never null may be part of anything: a span, a reference
        let array = body.said.lengths.iter().any(|l| l.array == s) && !body.said.never_null.contains(&s);
        let row = || body.path_term(s).is_some_and(|t| body.row_of_table(t).is_some());
        let mut of = body.types.element(body.symbols[s].ty).filter(|_| array || row())?;
        while let TypeKind::Array { of: inner, .. } = body.types.kind(of) {
            of = *inner;
        }
        match body.types.kind(of) {
            TypeKind::Int(k) => Some((false, k.bits())),
            TypeKind::Float(_) => Some((true, body.types.size_align(of)?.0 as u32 * 8)),
            _ => None,
        }
    };
    number(a).zip(number(b)).is_some_and(|(x, y)| x != y)
}

fn by_reach(body: &Body, effects: &Effects<'_>, during: TermId, a: SymbolId, b: SymbolId) -> Aliasing {
    use Aliasing::{Distinct, May};
    if a == b {
        return May;
    }
    // Rows of one table: only their subscripts tell them apart.
    let family = |s: SymbolId| body.path_term(s).and_then(|t| body.path_of(t)).map(|p| p.family);
    if family(a).is_some() && family(a) == family(b) {
        return May;
    }
    // No write reaches it whichever pointer it goes through, so no conflict is between the two.
    if is_constant_object(body, a) || is_constant_object(body, b) {
        return Distinct;
    }
    // Of pointers, and rows of pointers, what is accessed is what they point to.
    let is_memory = |s: SymbolId| {
        let innermost = body.types.innermost(body.symbols[s].ty);
        !matches!(body.types.kind(innermost), TypeKind::Pointer { .. })
    };
    if [a, b].into_iter().any(|s| is_memory(s) && effects.is_hidden(s)) {
        return Distinct;
    }
    // what a structure leads to that nobody was told of
    let is_home_alone = |s: SymbolId, other: SymbolId| {
        effects.leads_home(during, s).is_some_and(|h| effects.first_of(other).is_some_and(|r| r != h))
    };
    if is_home_alone(a, b) || is_home_alone(b, a) {
        return Distinct;
    }
    let (x, y) = (reach(body, effects, during, a), reach(body, effects, during, b));
    match (x, y) {
        (Reach::Owned, _) | (_, Reach::Owned) => Distinct,
        (Reach::Named { .. }, Reach::Named { .. }) => Distinct,
        // What was handed in cannot point to it.
        (Reach::Named { own: true, .. }, Reach::Param | Reach::Restrict { param: true })
        | (Reach::Param | Reach::Restrict { param: true }, Reach::Named { own: true, .. }) => Distinct,
        (Reach::Named { hidden: true, .. }, p) | (p, Reach::Named { hidden: true, .. }) => {
            // A local that no `&` reaches; an array's name may still have been copied into a local pointer.
            let named = if matches!(x, Reach::Named { .. }) { a } else { b };
            let is_array = crate::flow::parts::holds_array(body, body.symbols[named].ty);
            let is_handed_in = matches!(p, Reach::Param | Reach::Restrict { param: true });
            // an earlier call may have left the name of a `static` one with somebody
            let is_static = body.symbols[named].storage.is_static_local();
            let given = is_handed_in && !is_static || p == Reach::Fresh;
            let at_home =
                || effects.stays_home_until(Some(during), named) || effects.static_stays_home(named);
            if is_array && !given && !at_home() {
                May
            } else {
                Distinct
            }
        }
        // Fresh memory cannot be what a parameter points to, nor a named object, nor other fresh memory.
        (Reach::Fresh, Reach::Fresh | Reach::Param | Reach::Restrict { .. } | Reach::Named { .. })
        | (Reach::Param | Reach::Restrict { .. } | Reach::Named { .. }, Reach::Fresh) => Distinct,
        // What nobody was told of no other pointer shows.
        (Reach::Fresh, Reach::Pointer | Reach::Global) if effects.tells_nobody(during, a, b) => Distinct,
        (Reach::Pointer | Reach::Global, Reach::Fresh) if effects.tells_nobody(during, b, a) => Distinct,
        // What a restrict parameter reaches and the loop modifies is reached through nothing else; only a local
        // pointer could have been derived from it.
        (Reach::Restrict { param: true }, other) | (other, Reach::Restrict { param: true }) => match other {
            Reach::Pointer | Reach::Restrict { param: false } => {
                let local = if other == x { a } else { b };
                if derived_elsewhere(body, effects, local) {
                    Distinct
                } else {
                    May
                }
            }
            Reach::Global => {
                let (global, restricted) = if other == x { (a, b) } else { (b, a) };
                // A function that was given the pointer may have stored it in the global.
                if effects.writes.contains_key(&global) || effects.is_handed_on(restricted) {
                    May
                } else {
                    Distinct
                }
            }
            _ => Distinct,
        },
        _ => May,
    }
}

/// Whether the variable is an object that this file defines `const`, as a whole. (A declaration that is `extern` only may
/// call constant what another file, against C11 6.2.7p2, does not.)
fn is_constant_object(body: &Body, s: SymbolId) -> bool {
    let symbol = &body.symbols[s];
    let defined = matches!(
        symbol.storage,
        Storage::Local | Storage::StaticLocal { .. } | Storage::Global { defined_here: true, .. }
    );
    let mut ty = symbol.ty;
    while let TypeKind::Array { of, .. } = body.types.kind(ty) {
        ty = *of;
    }
    let quals = body.types.quals(ty);
    defined
        && quals.is_const
        && !quals.is_volatile
        && !matches!(body.types.kind(symbol.ty), TypeKind::Pointer { .. })
}

/// Whether every value the local pointer gets has a base that is a parameter or named object of its own.
fn derived_elsewhere(body: &Body, effects: &Effects<'_>, s: SymbolId) -> bool {
    let Some(writes) = effects.writes.get(&s) else {
        return false;
    };
    !writes.is_empty()
        && writes.iter().all(|&w| {
            let value = match body.op(w) {
                Op::Declare(_) => body.args(w).first().copied(),
                Op::Assign => body.args(w).get(1).copied(),
                _ => None,
            };
            let Some(mut v) = value else { return false };
            while *body.op(v) == Op::Cast {
                v = body.args(v)[0];
            }
            // What is loaded from memory may have been stored there from anywhere.
            let loaded = matches!(body.op(v), Op::Index | Op::Member { .. } | Op::Deref)
                && matches!(body.types.kind(body.ty(v)), TypeKind::Pointer { .. });
            !loaded
                && (is_allocation(body, v)
                    || base_symbol(body, v).is_some_and(|b| {
                        b != s
                            && match body.symbols[b].storage {
                                Storage::Param(_) => {
                                    !body.types.quals(body.symbols[b].ty).is_restrict
                                        && effects.is_single_valued(b)
                                }
                                _ => matches!(body.types.kind(body.symbols[b].ty), TypeKind::Array { .. }),
                            }
                    }))
        })
}
