//! What a loop changes beside its variables and memory, where the program looks at it: `errno` (C11 7.5), the flags of
//! floating-point exceptions and the rounding mode (7.6).
//!
//! Mathematical functions may set `errno` and every floating operation may raise a flag; on a device neither happens, and
//! on several threads each has its own. Mostly nobody looks. Where the text does look after the loop (in its function, or
//! in one of this program that calls it, directly or not), the loop is not understood as a parallel one. A rounding mode that its
//! own function sets is not the device's, either; one that others may have set is tested at run time. A kill is an
//! assignment to `errno` (or a call of `feclearexcept`) that surely comes before the look. Absent: looks in other files.

use std::sync::Arc;

use rustc_hash::FxHashSet;
use term::{Body, Op, TermId, UnOp};

use crate::calls::mentions::{called_name, fate, looks, Fate, Look, What, ROUNDING, TRAPPING};
use crate::{ConditionKind, Obstacle, ObstacleKind, Program, Watched};

/// Functions of `<math.h>` for which no errors are defined (C11 7.12): they leave `errno` alone.
const QUIET: [&str; 16] = [
    "fabs",
    "floor",
    "ceil",
    "trunc",
    "round",
    "rint",
    "nearbyint",
    "fmin",
    "fmax",
    "copysign",
    "cbrt",
    "isnan",
    "isinf",
    "isfinite",
    "signbit",
    "abs",
];
/// Others of the library that leave a reason in `errno`.
const SETTING: [&str; 12] = [
    "malloc",
    "calloc",
    "realloc",
    "aligned_alloc",
    "strtol",
    "strtoll",
    "strtoul",
    "strtoull",
    "strtod",
    "strtof",
    "tgamma",
    "strdup",
];

/// What is looked at, or changed, anywhere that a body's loops have to do with: asked once a body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Concern {
    rounds: Rounds,
    errno: bool,
    exceptions: bool,
}

/// Where the program says that numbers may not be rounded to nearest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rounds {
    Nowhere,
    /// In other functions, before this one is called or in what it calls.
    Elsewhere,
    /// In the function's own text; or exceptions may end the program, wherever that is said.
    Here,
}

impl Concern {
    pub(crate) fn of(body: &Body, program: &Program) -> Concern {
        let watch = program.watch();
        let own = |k: usize, what: What| {
            let look = Look { what, through: &watch.lookers[k] };
            body.walk(body.root).any(|x| looks(body, x, look))
        };
        let sets = |n: &str| ROUNDING.contains(&n) || TRAPPING.contains(&n);
        let is_here = body.said.floating_environment
            || watch.traps
            || body.walk(body.root).any(|x| called_name(body, x).is_some_and(sets));
        let rounds = match (is_here, watch.rounds) {
            (true, _) => Rounds::Here,
            (false, true) => Rounds::Elsewhere,
            (false, false) => Rounds::Nowhere,
        };
        Concern {
            rounds,
            errno: watch.looks[0] || own(0, What::Errno),
            exceptions: watch.looks[1] || own(1, What::Exceptions),
        }
    }
}

/// What the loop needs of the rounding mode that others may have set.
pub(crate) fn rounding(body: &Body, program: &Program, concern: Concern, t: TermId) -> Option<ConditionKind> {
    if concern.rounds != Rounds::Elsewhere {
        return None;
    }
    let mut looks = body.walk(t).filter(|&x| rounds(body, program, x)).peekable();
    looks.peek()?;
    let is_rounded = looks.any(|x| !only_looks(body, x));
    Some(if is_rounded { ConditionKind::RoundsToNearest } else { ConditionKind::KeepsSmall })
}

/// Whether a term of numbers that may be rounded only looks at them: it compares, or chooses.
fn only_looks(body: &Body, t: TermId) -> bool {
    match body.op(t) {
        Op::Binary(op) => op.is_comparison() || op.is_logical(),
        Op::Unary(op) => *op == UnOp::Not,
        Op::If | Op::Select => true,
        Op::Call => body.callee(t).is_some_and(|f| {
            let name = &*body.symbols[f].name;
            let chooses = ["fabs", "fmax", "fmin", "copysign"];
            body.library.contains(&f) && chooses.contains(&name.trim_end_matches(['f', 'l']))
        }),
        op => op.is_loop(),
    }
}

/// Whether the term makes a number that may be rounded, or looks at one that may be taken for zero: copies, signs and conversions
/// that keep the value do neither.
fn rounds(body: &Body, program: &Program, t: TermId) -> bool {
    let kind = |x: TermId| body.types.kind(body.ty(x));
    let is_float = |x: TermId| body.types.as_float(body.ty(x)).is_some();
    // of numbers that are written down the compiler has made what they are
    let keeps = |value: TermId| match *body.op(value) {
        Op::Int(v) => v.unsigned_abs() <= 1 << 24,
        Op::Float(_) => true,
        _ => false,
    };
    match (body.op(t), body.args(t)) {
        (Op::Unary(UnOp::Neg | UnOp::Plus), &[of]) if kind(of) == kind(t) => false,
        (Op::Cast, &[of]) if kind(of) == kind(t) || keeps(of) => false,
        (Op::Assign, &[_, value]) | (Op::Declare(_), &[value]) if keeps(value) => false,
        // a choice copies one of two
        (Op::Select, &[c, a, b]) if !is_float(c) && kind(a) == kind(t) && kind(b) == kind(t) => false,
        (op, _) if op.is_loop() => body.loop_parts(t).and_then(|p| p.condition).is_some_and(is_float),
        _ => uses_floats(body, program, t),
    }
}

/// What the loop changes that is looked at.
pub(crate) fn watched(
    body: &Body,
    program: &Program,
    concern: Concern,
    parents: &[Option<TermId>],
    t: TermId,
) -> Option<Obstacle> {
    let watch = program.watch();
    let look = |what: What| {
        let through = match what {
            What::Errno => &watch.lookers[0],
            What::Exceptions => &watch.lookers[1],
        };
        Look { what, through }
    };
    let Concern { rounds, errno: looks_errno, exceptions: looks_flags } = concern;
    let rounds = rounds == Rounds::Here;
    if !rounds && !looks_errno && !looks_flags {
        return None;
    }
    let name = match body.op(body.root) {
        Op::Function(f) => &*body.symbols[*f].name,
        _ => "",
    };
    let is_seen = |what: What, after: &FxHashSet<Arc<str>>| {
        body.walk(t).any(|x| looks(body, x, look(what)))
            || match fate(body, parents, t, look(what)) {
                Fate::Seen => true,
                Fate::Cleared => false,
                Fate::Left => after.contains(name),
            }
    };
    let obstacle = |what, term| Some(Obstacle { kind: ObstacleKind::Watched(what), term });
    if looks_errno && is_seen(What::Errno, &watch.errno) {
        if let Some(setter) = body.walk(t).find(|&x| sets_errno(body, program, x)) {
            return obstacle(Watched::Errno, setter);
        }
    }
    let floats = || body.walk(t).find(|&x| uses_floats(body, program, x));
    if rounds {
        if let Some(x) = floats() {
            return obstacle(Watched::Rounding, x);
        }
    }
    if looks_flags && is_seen(What::Exceptions, &watch.exceptions) {
        if let Some(x) = floats() {
            return obstacle(Watched::Exceptions, x);
        }
    }
    None
}

/// Whether the term calls what may set `errno`.
fn sets_errno(body: &Body, program: &Program, t: TermId) -> bool {
    if *body.op(t) != Op::Call {
        return false;
    }
    let Some(f) = body.callee(t) else { return true };
    let name = &*body.symbols[f].name;
    if body.library.contains(&f) {
        return library_sets_errno(name);
    }
    calls_of(program, name).iter().any(|n| match program.function(n) {
        Some(_) => false,
        None => library_sets_errno(n),
    })
}

fn library_sets_errno(name: &str) -> bool {
    let stem = name.strip_suffix('f').unwrap_or(name);
    let quiet = QUIET.contains(&name) || QUIET.contains(&stem);
    (term::intrinsic(name).is_some() && !quiet) || SETTING.contains(&name)
}

/// All functions that one calls, directly or not, by name.
fn calls_of(program: &Program, name: &str) -> FxHashSet<Arc<str>> {
    let mut seen: FxHashSet<Arc<str>> = FxHashSet::default();
    let mut open: Vec<Arc<str>> = vec![name.into()];
    while let Some(n) = open.pop() {
        let called = program.summary(&n).map(|s| s.calls.iter().cloned().collect::<Vec<_>>());
        if seen.insert(n) {
            open.extend(called.unwrap_or_default());
        }
    }
    seen
}

/// Whether the term computes with floating numbers, or calls what may.
fn uses_floats(body: &Body, program: &Program, t: TermId) -> bool {
    let float = |t: TermId| body.types.as_float(body.ty(t)).is_some();
    match body.op(t) {
        Op::Binary(_) | Op::Compound(_) | Op::Unary(_) | Op::Step { .. } | Op::Cast => {
            float(t) || body.args(t).iter().any(|&a| float(a))
        }
        // A conversion, where the two sides differ.
        Op::Assign => match body.args(t) {
            &[a, b] => (float(a) || float(b)) && body.types.kind(body.ty(a)) != body.types.kind(body.ty(b)),
            _ => false,
        },
        Op::Declare(s) => match body.args(t) {
            &[value] => {
                let of = body.symbols[*s].ty;
                (float(value) || body.types.as_float(of).is_some())
                    && body.types.kind(of) != body.types.kind(body.ty(value))
            }
            _ => false,
        },
        // a condition is compared with zero, and each of two values may be converted
        Op::If | Op::Select | Op::InitList => body.args(t).iter().any(|&a| float(a)),
        Op::Call => {
            let Some(f) = body.callee(t) else { return true };
            if body.library.contains(&f) {
                return float(t) || body.args(t)[1..].iter().any(|&a| float(a));
            }
            calls_of(program, &body.symbols[f].name).iter().any(|n| match program.function(n) {
                Some(f) => {
                    let b = &f.body;
                    b.walk(b.root).any(|x| b.types.as_float(b.ty(x)).is_some())
                }
                None => true,
            })
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quiet_functions_leave_errno_alone() {
        assert!(library_sets_errno("sqrt") && library_sets_errno("powf") && library_sets_errno("strtol"));
        assert!(
            !library_sets_errno("fabs") && !library_sets_errno("floorf") && !library_sets_errno("memcpy")
        );
    }
}
