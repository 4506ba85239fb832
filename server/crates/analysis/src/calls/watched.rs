//! What a loop changes beside its variables and memory, where the program looks at it: `errno` (C11 7.5), the flags of
//! floating-point exceptions and the rounding mode (7.6).
//!
//! Mathematical functions may set `errno` and every floating operation may raise a flag; on a device neither happens, and
//! on several threads each has its own. Mostly nobody looks. Where the text does look after the loop (in its function, or
//! in one of this program that calls it, directly or not), the loop is not understood as a parallel one. A kill is an
//! assignment to `errno` (or a call of `feclearexcept`) that surely comes before the look. Absent: looks in other files.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use term::{Body, Op, Storage, TermId};

use crate::calls::program::Function;
use crate::{Obstacle, ObstacleKind, Program};

/// What is looked at.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Watched {
    /// `errno`, set by a function of the library that is called.
    Errno,
    /// The flags of floating-point exceptions.
    Exceptions,
    /// The rounding mode is changed, or the text says that it may be.
    Rounding,
}

/// What the functions of a program look at, by function: after it returns, something looks before anything is cleared.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Watch {
    errno: FxHashSet<Arc<str>>,
    exceptions: FxHashSet<Arc<str>>,
    /// Functions that look before they clear, directly or through others.
    lookers: [FxHashSet<Arc<str>>; 2],
    /// A hash of these.
    lookers_key: u64,
    /// Whether something looks, or changes the rounding mode, anywhere.
    looks: [bool; 2],
    rounds: bool,
    /// What becomes of what the functions leave behind that one calls; of the others all is left.
    fates: [FxHashMap<Arc<str>, Fates>; 2],
}

/// Functions that one names, with what becomes of what they leave behind.
type Fates = Arc<[(Arc<str>, Fate)]>;

/// What the text of one function has to do with this: read off it once, or every edit would walk through all of them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Mentions {
    /// Whether it looks, by itself.
    looks: [bool; 2],
    /// Whether it looks or clears, by itself.
    any: [bool; 2],
    rounds: bool,
    /// What it calls, and which functions it names; sorted.
    called: Box<[Arc<str>]>,
    used: Box<[Arc<str>]>,
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
            if let Some(name) = called_name(body, t) {
                out.any[0] |= ERRNO_CALLS.contains(&name);
                out.any[1] |= name == "feclearexcept";
                out.rounds |= ROUNDING.contains(&name);
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

    /// Whether anything in it looks or clears, where calls of `lookers` look.
    fn concerns(&self, k: usize, lookers: &FxHashSet<Arc<str>>) -> bool {
        self.any[k] || (!lookers.is_empty() && self.called.iter().any(|n| lookers.contains(n)))
    }
}

/// What headers make of `errno`: calls of these.
const ERRNO_CALLS: [&str; 4] = ["__errno_location", "__error", "_errno", "__errno"];
const LOOKING: [&str; 6] =
    ["fetestexcept", "fegetexceptflag", "fegetenv", "feholdexcept", "feupdateenv", "feenableexcept"];
const ROUNDING: [&str; 6] =
    ["fesetround", "fesetenv", "feupdateenv", "_mm_setcsr", "_controlfp", "fedisableexcept"];
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

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum What {
    Errno,
    Exceptions,
}

/// What counts as a look.
#[derive(Clone, Copy)]
struct Look<'w> {
    what: What,
    /// Calls of these look too.
    through: &'w FxHashSet<Arc<str>>,
}

/// What comes of what a place leaves behind.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Fate {
    Seen,
    Cleared,
    /// It is there when the function returns.
    Left,
}

impl Watch {
    /// `before`: an earlier program, whose answers are taken over for functions that are the same.
    pub(crate) fn of<'f>(functions: impl Iterator<Item = &'f Function>, before: &Program) -> Watch {
        let functions: Vec<&Function> = functions.collect();
        let mut out = Watch::default();
        for f in &functions {
            let m = &f.local.mentions;
            out.looks = [out.looks[0] | m.looks[0], out.looks[1] | m.looks[1]];
            out.rounds |= m.rounds;
        }
        for (k, what) in [What::Errno, What::Exceptions].into_iter().enumerate() {
            if !out.looks[k] {
                continue;
            }
            let lookers = lookers(&functions, k, what);
            let same = lookers == before.watch().lookers[k];
            let look = Look { what, through: &lookers };
            // Who uses a function calls it there, as far as is seen.
            let mut left: FxHashMap<&str, &[Arc<str>]> = FxHashMap::default();
            let mut left_by: Vec<(&Arc<str>, Fates)> = Vec::new();
            for f in &functions {
                if !f.local.mentions.concerns(k, &lookers) {
                    left.insert(&f.name, &f.local.mentions.used);
                    continue;
                }
                let old = before.function(&f.name).filter(|o| same && Arc::ptr_eq(&o.body, &f.body));
                let known = old.and_then(|o| before.watch().fates[k].get(&o.name).cloned());
                left_by.push((&f.name, known.unwrap_or_else(|| fates(&f.body, look))));
            }
            let mut seen: FxHashSet<Arc<str>> = FxHashSet::default();
            let mut open: Vec<Arc<str>> = Vec::new();
            let mut by_user: FxHashMap<&str, &Fates> = FxHashMap::default();
            for (user, all) in &left_by {
                open.extend(all.iter().filter(|(_, fate)| *fate == Fate::Seen).map(|(used, _)| used.clone()));
                by_user.insert(user, all);
            }
            while let Some(user) = open.pop() {
                if seen.contains(&user) {
                    continue;
                }
                let fates = by_user.get(&*user).into_iter().flat_map(|all| all.iter());
                open.extend(fates.filter(|(_, fate)| *fate == Fate::Left).map(|(used, _)| used.clone()));
                open.extend(left.get(&*user).into_iter().flat_map(|used| used.iter().cloned()));
                seen.insert(user);
            }
            match what {
                What::Errno => out.errno = seen,
                What::Exceptions => out.exceptions = seen,
            }
            out.fates[k] = left_by.into_iter().map(|(name, all)| (name.clone(), all)).collect();
            out.lookers[k] = lookers;
        }
        let mut all: Vec<&Arc<str>> = out.lookers.iter().flatten().collect();
        all.sort();
        let mut h = FxHasher::default();
        all.hash(&mut h);
        out.lookers_key = h.finish();
        out
    }

    /// What facts of a function rest on.
    pub(crate) fn key(&self, function: &str) -> ([bool; 4], u64) {
        let watched = [
            self.errno.contains(function),
            self.exceptions.contains(function),
            self.rounds,
            self.looks[0] || self.looks[1],
        ];
        (watched, self.lookers_key)
    }
}

/// Functions that look before they clear. The more of them are known, the more there are: each is asked again when one that
/// it calls turns out to be one.
fn lookers(functions: &[&Function], k: usize, what: What) -> FxHashSet<Arc<str>> {
    let mut callers: FxHashMap<&str, Vec<&Function>> = FxHashMap::default();
    for f in functions {
        for called in &f.local.mentions.called {
            callers.entry(called).or_default().push(f);
        }
    }
    let mut out: FxHashSet<Arc<str>> = FxHashSet::default();
    let mut open: Vec<&Function> = functions.iter().filter(|f| f.local.mentions.looks[k]).copied().collect();
    while let Some(f) = open.pop() {
        if !out.contains(&f.name) && looks_first(&f.body, Look { what, through: &out }) {
            out.insert(f.name.clone());
            open.extend(callers.get(&*f.name).into_iter().flatten());
        }
    }
    out
}

/// What becomes of what each function leaves behind that the body names.
fn fates(body: &Body, look: Look<'_>) -> Fates {
    let parents = body.parents();
    let mut out: Vec<(Arc<str>, Fate)> = Vec::new();
    for t in body.walk(body.root) {
        let Some(s) = body.as_symbol(t) else { continue };
        if body.symbols[s].storage == Storage::Function {
            out.push((body.symbols[s].name.clone(), fate(body, &parents, t, look)));
        }
    }
    out.sort_unstable();
    out.dedup();
    out.into()
}

/// What is looked at, or changed, anywhere that a body's loops have to do with: asked once a body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Concern {
    rounds: bool,
    errno: bool,
    exceptions: bool,
}

impl Concern {
    pub(crate) fn of(body: &Body, program: &Program) -> Concern {
        let watch = program.watch();
        let own = |k: usize, what: What| {
            let look = Look { what, through: &watch.lookers[k] };
            body.walk(body.root).any(|x| looks(body, x, look))
        };
        let rounds = watch.rounds
            || body.said.floating_environment
            || body.walk(body.root).any(|x| called_name(body, x).is_some_and(|n| ROUNDING.contains(&n)));
        Concern {
            rounds,
            errno: watch.looks[0] || own(0, What::Errno),
            exceptions: watch.looks[1] || own(1, What::Exceptions),
        }
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

fn called_name(body: &Body, t: TermId) -> Option<&str> {
    body.callee(t).map(|s| body.symbols[s].name.trim_start_matches("__builtin_"))
}

/// Whether the term is `errno` itself, which headers make a call.
fn is_errno(body: &Body, t: TermId) -> bool {
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
fn clears(body: &Body, t: TermId, look: Look<'_>) -> bool {
    match (look.what, body.op(t), body.args(t)) {
        (What::Errno, Op::Assign, &[place, value]) => {
            is_errno(body, place) && !body.walk(value).any(|x| looks(body, x, look))
        }
        (What::Exceptions, Op::Call, _) => called_name(body, t) == Some("feclearexcept"),
        _ => false,
    }
}

/// Whether the term alone looks: any use of `errno` but as what is assigned to.
fn looks(body: &Body, t: TermId, look: Look<'_>) -> bool {
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
fn looks_in(body: &Body, t: TermId, look: Look<'_>) -> bool {
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
fn looks_first(body: &Body, look: Look<'_>) -> bool {
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
fn is_shared(body: &Body) -> bool {
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
fn fate(body: &Body, parents: &[Option<TermId>], t: TermId, look: Look<'_>) -> Fate {
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
