//! What the text of a function has to do with `errno` and the floating environment: where it looks at them, where it surely makes
//! earlier values unseen, and what becomes of what a place leaves behind. See `watched`.

use std::sync::Arc;

use rustc_hash::FxHashSet;
use term::{Body, Op, Storage, TermId};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum What {
    Errno,
    Exceptions,
}

/// What counts as a look.
#[derive(Clone, Copy)]
pub(super) struct Look<'w> {
    pub what: What,
    /// Calls of these look too.
    pub through: &'w FxHashSet<Arc<str>>,
}

/// What comes of what a place leaves behind.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Fate {
    Seen,
    Cleared,
    /// It is there when the function returns.
    Left,
}

/// What the text of one function has to do with this: read off it once, or every edit would walk through all of them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Mentions {
    /// Whether it looks, by itself.
    pub(super) looks: [bool; 2],
    /// Whether it looks or clears, by itself.
    any: [bool; 2],
    pub(super) rounds: bool,
    /// Whether it may let floating-point exceptions end the program.
    pub(super) traps: bool,
    /// What it calls, and which functions it names; sorted.
    pub(super) called: Box<[Arc<str>]>,
    pub(super) used: Box<[Arc<str>]>,
}

impl Mentions {
    pub(crate) fn of(body: &Body) -> Mentions {
        let none = FxHashSet::default();
        let mut out = Mentions::default();
        let (mut called, mut used) = (Vec::new(), Vec::new());
        for t in body.walk(body.root) {
            let errno = looks(body, t, Look { what: What::Errno, through: &none });
            let exceptions = looks(body, t, Look { what: What::Exceptions, through: &none });
            out.looks = [out.looks[0] | errno, out.looks[1] | exceptions];
            out.any = [out.any[0] | errno | is_errno(body, t), out.any[1] | exceptions];
            if let Some((f, name)) = body.callee(t).zip(called_name(body, t)) {
                out.any[0] |= ERRNO_CALLS.contains(&name);
                out.any[1] |= name == "feclearexcept";
                // a text for another system is no part of the program that is compiled here; how numbers are rounded is asked anyway
                let is_elsewhere =
                    OTHER_SYSTEMS.contains(&name) && matches!(body.symbols[f].storage, Storage::Undeclared);
                out.rounds |= is_elsewhere || ROUNDING.contains(&name);
                out.traps |= !is_elsewhere && TRAPPING.contains(&name);
                called.push(Arc::from(name));
            }
            if let Some(s) = body.as_symbol(t).map(|s| &body.symbols[s]) {
                if s.storage == Storage::Function {
                    used.push(s.name.clone());
                }
            }
        }
        for names in [&mut called, &mut used] {
            names.sort_unstable();
            names.dedup();
        }
        (out.called, out.used) = (called.into(), used.into());
        out
    }

    /// Whether it looks at something that others leave behind, or changes how they round.
    pub(super) fn looks_or_rounds(&self) -> bool {
        self.looks[0] || self.looks[1] || self.rounds || self.traps
    }

    /// Whether anything in it looks or clears, where calls of `lookers` look.
    pub(super) fn concerns(&self, k: usize, lookers: &FxHashSet<Arc<str>>) -> bool {
        self.any[k] || (!lookers.is_empty() && self.called.iter().any(|n| lookers.contains(n)))
    }
}

/// What headers make of `errno`: calls of these.
pub(super) const ERRNO_CALLS: [&str; 4] = ["__errno_location", "__error", "_errno", "__errno"];
pub(super) const LOOKING: [&str; 6] =
    ["fetestexcept", "fegetexceptflag", "fegetenv", "feholdexcept", "feupdateenv", "feenableexcept"];
/// Functions that set how numbers are rounded, or whether small ones are taken for zero, and nothing else.
pub(super) const ROUNDING: [&str; 5] = [
    "fesetround",
    "fpsetround",
    "_MM_SET_ROUNDING_MODE",
    "_MM_SET_FLUSH_ZERO_MODE",
    "_MM_SET_DENORMALS_ZERO_MODE",
];
/// Functions that may also let a floating-point exception end the program, which none does on a device.
pub(super) const TRAPPING: [&str; 13] = [
    "fesetenv",
    "feupdateenv",
    "fesetmode",
    "feenableexcept",
    "fedisableexcept",
    "fesettrapenable",
    "fpsetmask",
    "_mm_setcsr",
    "ia32_ldmxcsr",
    "_controlfp",
    "_controlfp_s",
    "_control87",
    "__control87_2",
];

/// Those of them that only some systems have: where no header declares them, the text is for another one.
const OTHER_SYSTEMS: [&str; 6] =
    ["fesettrapenable", "fpsetmask", "_controlfp", "_controlfp_s", "_control87", "__control87_2"];

/// Every word that makes a text have to do with this: where none is said, by no text of the program, nothing looks.
pub(crate) fn words() -> Vec<String> {
    let called = ERRNO_CALLS
        .into_iter()
        .chain(LOOKING)
        .chain(ROUNDING)
        .chain(TRAPPING)
        .chain(["feclearexcept", "perror"]);
    let both = called.flat_map(|n| [n.to_owned(), format!("__builtin_{n}")]);
    both.chain(["errno".to_owned()]).collect()
}

pub(super) fn called_name(body: &Body, t: TermId) -> Option<&str> {
    body.callee(t).map(|s| body.symbols[s].name.trim_start_matches("__builtin_"))
}

/// Whether the term is `errno` itself, which headers make a call.
pub(super) fn is_errno(body: &Body, t: TermId) -> bool {
    match body.op(t) {
        Op::Sym(s) => {
            let s = &body.symbols[*s];
            &*s.name == "errno" && matches!(s.storage, Storage::Global { .. } | Storage::Undeclared)
        }
        Op::Deref => body
            .args(t)
            .first()
            .is_some_and(|&c| called_name(body, c).is_some_and(|n| ERRNO_CALLS.contains(&n))),
        _ => false,
    }
}

/// Whether the statement surely makes earlier values unseen.
pub(super) fn clears(body: &Body, t: TermId, look: Look<'_>) -> bool {
    match (look.what, body.op(t), body.args(t)) {
        (What::Errno, Op::Assign, &[place, value]) => {
            is_errno(body, place) && !body.walk(value).any(|x| looks(body, x, look))
        }
        (What::Exceptions, Op::Call, _) => called_name(body, t) == Some("feclearexcept"),
        _ => false,
    }
}

/// Whether the term alone looks: any use of `errno` but as what is assigned to.
pub(super) fn looks(body: &Body, t: TermId, look: Look<'_>) -> bool {
    if called_name(body, t).is_some_and(|n| look.through.contains(n)) {
        return true;
    }
    match look.what {
        What::Exceptions => called_name(body, t).is_some_and(|n| LOOKING.contains(&n)),
        What::Errno => match body.op(t) {
            Op::Assign => false,
            _ if is_errno(body, t) => true,
            _ => called_name(body, t) == Some("perror"),
        },
    }
}

/// Whether something under the term looks; an assignment's own place does not.
pub(super) fn looks_in(body: &Body, t: TermId, look: Look<'_>) -> bool {
    let mut stack = vec![t];
    while let Some(x) = stack.pop() {
        if looks(body, x, look) {
            return true;
        }
        match (body.op(x), body.args(x)) {
            (Op::Assign, &[place, value]) if look.what == What::Errno && is_errno(body, place) => {
                stack.push(value)
            }
            (_, args) => stack.extend(args),
        }
    }
    false
}

/// Whether the function looks before it surely clears.
pub(super) fn looks_first(body: &Body, look: Look<'_>) -> bool {
    let Some(&list) = body.args(body.root).get(1) else { return false };
    for &t in body.args(list) {
        if clears(body, t, look) {
            return false;
        }
        if looks_in(body, t, look) {
            return true;
        }
    }
    false
}

/// Whether a pointer to `errno` is made: through it anything may look.
pub(super) fn is_shared(body: &Body) -> bool {
    let mut places = 0;
    let mut calls = 0;
    for t in body.walk(body.root) {
        if *body.op(t) == Op::AddrOf && body.args(t).first().is_some_and(|&x| is_errno(body, x)) {
            return true;
        }
        places += usize::from(*body.op(t) == Op::Deref && is_errno(body, t));
        calls += usize::from(called_name(body, t).is_some_and(|n| ERRNO_CALLS.contains(&n)));
    }
    calls > places
}

/// What becomes of what the place `t` leaves behind.
pub(super) fn fate(body: &Body, parents: &[Option<TermId>], t: TermId, look: Look<'_>) -> Fate {
    if look.what == What::Errno && is_shared(body) {
        return Fate::Seen;
    }
    let parent = |t: TermId| parents.get(t.0 as usize).copied().flatten();
    // Jumps may lead anywhere: then any look may come after.
    let jumps =
        body.walk(body.root).any(|x| matches!(body.op(x), Op::Label(_))) || body.jumps_unseen(body.root);
    if jumps && looks_in(body, body.root, look) {
        return Fate::Seen;
    }
    let mut at = t;
    let mut straight = true;
    while let Some(p) = parent(at) {
        let args = body.args(p);
        let place = args.iter().position(|&a| a == at).unwrap_or(0);
        if body.op(p).is_loop() {
            if looks_in(body, p, look) {
                return Fate::Seen;
            }
        } else {
            for &next in &args[place + 1..] {
                if straight && *body.op(p) == Op::List && clears(body, next, look) {
                    return Fate::Cleared;
                }
                if looks_in(body, next, look) {
                    return Fate::Seen;
                }
                // Behind it control may already have left.
                straight &=
                    !body.walk(next).any(|x| matches!(body.op(x), Op::Return | Op::Break | Op::Continue));
            }
        }
        at = p;
    }
    Fate::Left
}
