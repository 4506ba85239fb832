//! Obstacles in words: why nothing can be said, and what would settle it.

use analysis::{ConditionKind, NotCounted, Obstacle, ObstacleKind, TroubleKind, Watched, Work};
use term::device::Word;
use term::{Op, TypeKind};

use super::causes::{
    address_taken, bounds_of, cast, escapes, exit_word, is_computed, is_counted_up, is_tested, is_written,
    not_counted, only_walks, set_around, stays_within,
};
use super::decisions::{decides, is_fixed};
use super::functions::{
    called, called_by_name, is_method, reads_a_texture, state, subscript, which_place, why_unknown,
};
use super::missing::{missing, where_it_is};
use super::replayed::not_replayed;
use super::subscripts::{not_affine, scattered};
use super::{condition, plural, pointed_to};
use crate::function_view::{in_full, FunctionView};

/// Characters of code that a label has room for.
const LABEL: usize = 24;

/// An obstacle in words.
pub(crate) struct ObstacleWords {
    /// Kebab-case.
    pub kind: &'static str,
    /// Continues "unknown, because …"; names line and construct.
    pub reason: String,
    /// What now: a sentence.
    pub remedy: String,
}

/// An obstacle in a few words, for labels: `call of g`.
pub(crate) fn obstacle_label(view: &FunctionView, o: &Obstacle) -> String {
    if let Some(missing) = missing(view, o) {
        return missing.kind.replace('-', " ");
    }
    match &o.kind {
        ObstacleKind::UnknownCall(f) => format!("call of {}", view.symbol(*f)),
        ObstacleKind::Call { function, name, .. } => match &**name {
            "" => format!("call of {}", view.symbol(*function)),
            name => format!("{} in {}", analysis::plain_name(name), view.symbol(*function)),
        },
        ObstacleKind::IndirectSubscript(term) => view.text(*term),
        ObstacleKind::UnknownPointer(s) => format!("pointer {}", view.symbol(*s)),
        ObstacleKind::PointerElements(s) if view.body().semantics.checked_bounds => {
            format!("arrays in {}", view.symbol(*s))
        }
        ObstacleKind::PointerElements(s) => format!("pointers in {}", view.symbol(*s)),
        ObstacleKind::CarriedScalar(s)
        | ObstacleKind::HandedOn(s)
        | ObstacleKind::LiveOut(s)
        | ObstacleKind::CopiedBothWays(s)
        | ObstacleKind::Unset(s) => view.symbol(*s).to_owned(),
        ObstacleKind::OwnCells(s) => format!("{} for each iteration", view.symbol(*s)),
        ObstacleKind::MayAlias(a, b) => format!("{} and {} may overlap", view.object(a), view.object(b)),
        ObstacleKind::SameArray(a, b) => {
            format!("{} and {} start in one array", view.object(a), view.object(b))
        }
        ObstacleKind::EarlyExit => exit_word(view, o).to_owned(),
        ObstacleKind::NotCounted(_) => "not a counted loop".to_owned(),
        ObstacleKind::NeedsPromise(kind) => condition(view, kind).text,
        // the condition itself, where labels have room for it
        ObstacleKind::DataDependentCondition if !view.body().op(o.term).is_loop() => {
            let text = view.text(o.term);
            match text.chars().count() <= LABEL {
                true => text,
                false => "condition".to_owned(),
            }
        }
        _ => obstacle(view, o).kind.replace('-', " "),
    }
}

/// The words of an obstacle.
pub(crate) fn obstacle(view: &FunctionView, obstacle: &Obstacle) -> ObstacleWords {
    let text = view.text(obstacle.term);
    let line = view.line(obstacle.term);
    let is_loop = view.body().op(obstacle.term).is_loop();
    // a loop's own text would be the whole loop
    let text = if is_loop { String::new() } else { text };
    let words = |kind: &'static str, reason: String, remedy: &str| ObstacleWords {
        kind,
        reason,
        remedy: remedy.to_owned(),
    };
    if let Some(missing) = missing(view, obstacle) {
        return missing;
    }
    match &obstacle.kind {
        ObstacleKind::NotUnderstood => {
            // in a call it may be the function's name that was not understood
            let is_call = *view.body().op(obstacle.term) == Op::Call;
            let parts = view.body().walk(obstacle.term).take(if is_call { usize::MAX } else { 1 });
            let rejected = parts.map(|t| view.body().op(t)).find(|op| matches!(op, Op::Reject(_)));
            let reason = match rejected.unwrap_or(view.body().op(obstacle.term)) {
                Op::Reject(r) => format!(
                    "line {line} was not understood ({})",
                    in_full(&view.body().reject(*r).reason)
                ),
                _ if is_loop => format!("the loop on line {line} was not analyzed"),
                _ => format!("`{text}` on line {line} was not understood"),
            };
            // what C++ says has no plain form
            let is_cpp = view.doc.language().kernels || reason.contains("::");
            let remedy = match reason.contains("(the condition `#if") {
                true => "Name the macros that decide it in the setting `warpwright.defines`, or with `-D`.",
                // nor is it known that what a macro or a call does can stand elsewhere
                false if is_cpp || is_call => "",
                false => "Write this place in plain form.",
            };
            // a type that a missing header declares is mostly what a declaration lacks
            let remedy = match reason.contains("(the declaration of") {
                true => where_it_is(view, remedy),
                false => remedy.to_owned(),
            };
            words("not-understood", reason, &remedy)
        }
        ObstacleKind::NotCounted(NotCounted::IndexEscapes) => {
            words("not-counted", escapes(view, obstacle.term, line), "")
        }
        ObstacleKind::NotCounted(why) => {
            let keyword = match view.body().op(obstacle.term) {
                Op::DoWhile => "do",
                Op::For => "for",
                _ => "while",
            };
            not_counted(view, obstacle.term, *why, line, keyword)
        }
        ObstacleKind::UnknownCall(function) if view.body().symbols[*function].device.is_some() => {
            of_device(view.body().symbols[*function].device, view.callee(obstacle.term, *function), line)
        }
        // of the device
        ObstacleKind::UnknownCall(function) if matches!(view.symbol(*function), "clock64" | "__clock64" | "clock") => {
            call(view, view.symbol(*function), TroubleKind::State, "", line)
        }
        ObstacleKind::UnknownCall(function) if reads_a_texture(view, view.symbol(*function)) => words(
            "unknown-call",
            format!("`{}`, called on line {line}, reads a texture, which is not followed", view.symbol(*function)),
            "",
        ),
        ObstacleKind::UnknownCall(function) => {
            let name = view.symbol(*function);
            // a function that is called by its name there, and calls this one
            let inside = called_by_name(view, obstacle.term).filter(|outer| *outer != name);
            words(
                "unknown-call",
                format!(
                    "`{name}`, {} on line {line}{}, may read or write anything{}",
                    if inside.is_some() { "which" } else { "called" },
                    inside.map_or(String::new(), |outer| format!(" `{outer}` calls")),
                    why_unknown(view, name)
                ),
                "",
            )
        }
        // in a function that is called there
        ObstacleKind::Call { function, why, name } if name.is_empty() => {
            let inner = view.symbol(*function);
            match called_by_name(view, obstacle.term).filter(|outer| *outer != inner) {
                Some(outer) => call(view, outer, *why, inner, line),
                None => call(view, inner, *why, "", line),
            }
        }
        ObstacleKind::Call { function, why, name } => call(view, view.symbol(*function), *why, name, line),
        // a function that is called by its name, and inside which a pointer is
        ObstacleKind::IndirectCall if called_by_name(view, obstacle.term).is_some() => {
            let name = called_by_name(view, obstacle.term).unwrap_or_default();
            call(view, name, TroubleKind::IndirectCall, "", line)
        }
        // `list.size()`
        ObstacleKind::IndirectCall if is_method(view, obstacle.term) => words(
            "indirect-call",
            format!("`{text}` on line {line} calls a function of a class, and what that does is not followed"),
            "",
        ),
        ObstacleKind::IndirectCall => words(
            "indirect-call",
            format!("`{text}` on line {line} calls through a pointer, and the function called is not known"),
            "",
        ),
        ObstacleKind::IndirectSubscript(term) => {
            let taken = view.body().as_symbol(*term).and_then(|s| address_taken(view, s));
            let changed = taken.map(|line| format!("may be changed through its address (taken on line {line})"));
            let how = match (&changed, is_computed(view, *term)) {
                (Some(how), _) => how,
                (None, true) => "is computed in a way that cannot be followed",
                (None, false) => "comes out of memory",
            };
            words(
                "indirect-subscript",
                match (bounds_of(view, *term), is_counted_up(view, *term)) {
                    (Some(what), _) => scattered(view, *term).unwrap_or_else(|| {
                        format!("{what}, `{}`, {how}, and what iterations touch may overlap", view.text(*term))
                    }),
                    (None, _) if called_by_name(view, *term).is_some() => {
                        format!("{} is not followed, and two iterations may touch the same cell", subscript(view, *term, line))
                    }
                    (None, true) => format!("{} is changed in the loop itself, and what it is in each iteration is not followed", subscript(view, *term, line)),
                    // of what a called function does it is not told here whether it reads or writes
                    (None, false) if *view.body().op(obstacle.term) != Op::Call && !is_written(view, obstacle.term) => {
                        format!("{} {how}, and another iteration may write what is read there", subscript(view, *term, line))
                    }
                    (None, false) if changed.is_none() && is_computed(view, *term) => format!(
                        "{} {how}: whether two iterations give it the same value is not known",
                        subscript(view, *term, line)
                    ),
                    (None, false) => format!("{} {how} and may have the same value twice", subscript(view, *term, line)),
                },
                // what would help is tried: see `promises`
                "",
            )
        }
        ObstacleKind::NonAffineSubscript => not_affine(view, obstacle.term, is_end_of_loop(view, obstacle.term)),
        ObstacleKind::NoExtent => words(
            "no-extent",
            format!("which part of an array `{text}` on line {line} touches was not found as one that can be copied by itself"),
            "",
        ),
        ObstacleKind::DataDependentCondition if is_fixed(view, obstacle.term) => words(
            "data-dependent-condition",
            format!("`{text}` on line {line}, which is the same in all iterations, decides whether memory is used, and no test of it is written yet"),
            "Test it before the loop, and write the loop once for each case.",
        ),
        ObstacleKind::DataDependentCondition => words(
            "data-dependent-condition",
            decides(view, obstacle.term, &text, line),
            "",
        ),
        ObstacleKind::EarlyExit if stays_within(view, obstacle.term) => {
            words("early-exit", format!("the jump to or from line {line} is not followed"), "")
        }
        ObstacleKind::EarlyExit => words(
            "early-exit",
            format!("`{}` on line {line} may leave the loop before its end", exit_word(view, obstacle)),
            "",
        ),
        ObstacleKind::UnknownPointer(_) if *view.body().op(obstacle.term) == Op::Cast => cast(view, obstacle.term),
        ObstacleKind::UnknownPointer(symbol) if view.symbol(*symbol).contains("[]") => {
            let (reason, remedy) = pointed_to::by_rows(view, *symbol, line);
            words("unknown-pointer", reason, remedy)
        }
        ObstacleKind::UnknownPointer(symbol) => {
            let name = view.symbol(*symbol);
            let is_array = matches!(view.body().types.kind(view.body().symbols[*symbol].ty), TypeKind::Array { .. });
            let reason = match set_around(view, obstacle.term, *symbol) {
                _ if is_array => format!("where line {line} reaches into `{name}` is not followed"),
                Some(at) if at == line => format!("line {line} sets `{name}`, and where it points then is not followed"),
                Some(at) => format!("where `{name}` points on line {line} is not followed: line {at} sets it in the loop"),
                None => format!("where `{name}` points on line {line} is not followed"),
            };
            words(
                "unknown-pointer",
                reason,
                &match only_walks(view, *symbol) {
                    true => format!("Use `{name}` as an array, `{name}[i]`, and do not move it inside the loop."),
                    false => String::new(),
                },
            )
        }
        ObstacleKind::Unsized(symbol) => {
            let name = view.symbol(*symbol);
            words(
                "unsized",
                format!("how many elements `{name}` (line {line}) has is not said"),
                &format!("Promise it in a comment before the loop: `// warpwright: assume(size({name}) = …)`."),
            )
        }
        ObstacleKind::MayAlias(a, b) => {
            let (a, b) = (view.object(a), view.object(b));
            words(
                "may-alias",
                format!("`{a}` and `{b}` may overlap (line {line}), and no check at run time is made of it"),
                // what would help is tried: see `restricts`
                "",
            )
        }
        ObstacleKind::SameArray(a, b) => {
            let (a, b) = (view.object(a), view.object(b));
            words(
                "same-array",
                format!("`{a}` and `{b}` start in the same array (line {line}), and how far apart they are is not known"),
                "Reach both through the array's own name and subscripts, so that their distance can be seen.",
            )
        }
        ObstacleKind::CarriedScalar(symbol) if address_taken(view, *symbol).is_some() => {
            let (name, taken) = (view.symbol(*symbol), address_taken(view, *symbol).unwrap_or_default());
            words(
                "carried-scalar",
                format!("`{name}` (line {line}), whose address is taken on line {taken}, may be changed through it in any iteration"),
                "",
            )
        }
        ObstacleKind::HandedOn(symbol) => {
            let name = view.symbol(*symbol);
            words(
                "carried-scalar",
                format!("each iteration uses what the one before it left in `{name}` (line {line}); only whether the loop ever goes round twice was not found out"),
                "",
            )
        }
        ObstacleKind::CarriedScalar(symbol) => {
            let name = view.symbol(*symbol);
            words(
                "carried-scalar",
                format!("`{name}` may pass a value from one iteration to the next (line {line}) in a way that is not a known reduction"),
                "",
            )
        }
        ObstacleKind::LiveOut(symbol) => {
            let name = view.symbol(*symbol);
            words(
                "live-out",
                format!("`{name}` is written in the loop (line {line}) and read after it, and its last value is not known"),
                &format!("Declare `{name}` inside the loop, or do not read it afterwards."),
            )
        }
        ObstacleKind::CopiedBothWays(symbol) => {
            let name = view.symbol(*symbol);
            words(
                "live-out",
                format!("each iteration of the loop (line {line}) needs a copy of `{name}` as it was before the loop, and what the last one leaves in it is read later"),
                "This form is not offloaded.",
            )
        }
        ObstacleKind::PointerElements(symbol) if view.body().semantics.checked_bounds => words(
            "pointer-elements",
            format!(
                "`{}` holds arrays, and on line {line} more is used of one than its numbers",
                view.symbol(*symbol).trim_end_matches("[]")
            ),
            "A kernel takes arrays of arrays of two dimensions, and puts no array in another's place: use `a[i, j, k]` or a flat array.",
        ),
        ObstacleKind::PointerElements(symbol) => {
            let name = view.symbol(*symbol);
            words(
                "pointer-elements",
                format!("`{name}` holds pointers, and on line {line} more is used of one than the row that it shows"),
                match is_tested(view, obstacle.term) {
                    true => "",
                    false => "Set such pointers, and choose among them, outside the loop.",
                },
            )
        }
        ObstacleKind::OwnCells(symbol) => {
            let name = view.symbol(*symbol);
            let is_structure = matches!(view.body().types.kind(view.body().symbols[*symbol].ty), TypeKind::Record(_));
            let (more, remedy) = match is_structure {
                true => ("what the last one leaves in it may be used after the loop".to_owned(), format!("If that is not so, declare `{name}` inside the loop.")),
                false => (format!("on line {line} more is done with it than to reach its elements by subscripts"), format!("Use `{name}` with subscripts alone in this loop, without passing it on or setting another pointer to it.")),
            };
            words("own-cells", format!("each iteration would need a `{name}` of its own, and {more}"), &remedy)
        }
        ObstacleKind::Unset(symbol) => {
            let name = view.symbol(*symbol);
            // what was not understood may lead around the place that sets it
            let unread = view.body().rejects().next();
            match unread.map(|r| view.line_column(view.absolute(r.span).start).line) {
                Some(at) => words("unset", format!(
                    "it was not found out whether `{name}` (line {line}) holds a value when the loop starts (line {at} was not understood)"
                ), ""),
                None => words(
                    "unset",
                    format!("`{name}` (line {line}) may hold no value when the loop starts"),
                    &format!("Give `{name}` a value where it is declared."),
                ),
            }
        }
        ObstacleKind::Volatile => words(
            "volatile",
            format!("`{text}` on line {line} is volatile or atomic memory"),
            "Use a plain variable in the loop.",
        ),
        ObstacleKind::Watched(what) => watched(*what, &text, line),
        ObstacleKind::SharedBytes => words(
            "shared-bytes",
            format!("`{text}` on line {line} shares its bytes with other members (union or bit-field)"),
            "Use members with memory of their own in the loop.",
        ),
        ObstacleKind::Unproved => words(
            "unproved",
            format!("`{text}` on line {line} may touch a cell that another iteration writes, and neither this nor the contrary was proved"),
            "",
        ),
        ObstacleKind::NotReplayed(why) => {
            let op = view.body().op(obstacle.term);
            let (reason, remedy) = not_replayed(*why, &text, line, op.is_loop() || *op == Op::Call);
            words("not-replayed", reason, remedy)
        }
        ObstacleKind::NeedsPromise(kind @ ConditionKind::Bounds { .. })
            if view.body().semantics.checked_bounds =>
        {
            let c = condition(view, kind);
            words(
                "always-throws",
                format!("with two iterations or more this loop throws on line {line}: in one of them it does not hold that {}", c.sentence),
                "Let the loop end before, or the array be longer.",
            )
        }
        ObstacleKind::NeedsPromise(kind) => {
            let c = condition(view, kind);
            words(
                "needs-promise",
                format!("it is neither proved nor tested beforehand that {} (line {line})", c.sentence),
                "Without that it is not offloaded.",
            )
        }
        ObstacleKind::Budget(doing) => words("budget", budget(*doing).to_owned(), MORE),
    }
}

/// What to do about a limit of counted steps.
const MORE: &str = "Smaller loops need less; in an editor, the command Analyze Fully has a far larger limit.";

/// What was being done at the limit of counted steps.
fn budget(doing: Work) -> &'static str {
    match doing {
        Work::Effects => "the analysis stopped at its limit of counted steps while it looked at what the statements of the function write",
        Work::Liveness => "the analysis stopped at its limit of counted steps while it found out which variables are read after the loop",
        Work::Model => "the analysis stopped at its limit of counted steps while it read the loop's bounds and subscripts",
        Work::Obligations => "the analysis stopped at its limit of counted steps while it proved that bounds and subscripts mean what they say",
        Work::Dependences => "the analysis stopped at its limit of counted steps while it compared accesses",
        Work::Witness => "the analysis stopped at its limit of counted steps while it looked for a run in which iterations meet",
        Work::Threads => "the analysis stopped at its limit of counted steps while it looked for a map to threads",
        Work::Extents => "the analysis stopped at its limit of counted steps while it described the memory of a kernel",
        Work::Others => "the analysis stopped at its limit of counted steps for all loops of the function and of the file, before it had finished this one",
    }
}

/// Which limit of counted steps ended what is found of kernels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum KernelLimit {
    Kernel,
    File,
}

/// Whether a term is what a loop's header tests.
fn is_end_of_loop(view: &FunctionView, term: term::TermId) -> bool {
    let body = view.body();
    body.loops(body.root).any(|l| body.loop_parts(l).and_then(|parts| parts.condition) == Some(term))
}

/// What is said of so many kernels, of which this is the first, that a limit of counted steps leaves unknown.
pub(crate) fn unknown_kernels(first: &str, count: usize, limit: KernelLimit) -> String {
    let (kernels, their, them) = match count {
        0 | 1 => (format!("`{first}`"), "the kernel's", "it"),
        n => (format!("`{first}` and {}", plural(n - 1, "more kernel")), "the kernels'", "them"),
    };
    let doing = match limit {
        KernelLimit::Kernel => format!("while it compared {their} threads"),
        KernelLimit::File => format!("for all functions of the file, before it had come to {them}"),
    };
    format!(
        "Unknown whether something is wrong with {kernels}: the analysis stopped at its limit of counted steps {doing}. \
         Smaller kernels need less; in an editor, the command Analyze Fully has a far larger limit."
    )
}

/// What the program looks at that is no variable of its own.
fn watched(what: Watched, text: &str, line: u32) -> ObstacleWords {
    let (kind, reason, remedy) = match what {
        Watched::Errno => (
            "errno-read",
            format!("`{text}` on line {line} may set `errno`, which the program may read after the loop"),
            "Check the arguments instead of `errno`, or set `errno` to 0 behind the loop before it is used again.",
        ),
        Watched::Exceptions => (
            "exceptions-read",
            format!("`{text}` on line {line} may raise a floating-point exception, and the program tests the flags after the loop"),
            "Check the values instead of the flags.",
        ),
        Watched::Rounding => (
            "floating-environment",
            format!("`{text}` on line {line} may depend on the floating-point environment, which this function or another one sets or looks at"),
            "Set the rounding mode in another function than the one whose loops are to run on a GPU, and leave traps and `FENV_ACCESS` off.",
        ),
    };
    ObstacleWords { kind, reason, remedy: remedy.to_owned() }
}

/// Whether a function has a call of another in its own text, and not only in what that calls.
fn calls_directly(view: &FunctionView, function: &str, called: &str) -> bool {
    let Some(body) = view.doc.program().body(function) else { return true };
    body.callees().any(|f| *body.symbols[f].name == *called)
}

/// What a called function does that cannot be seen through. `name`: what does it, if not `function` itself.
fn call(view: &FunctionView, function: &str, why: TroubleKind, name: &str, line: u32) -> ObstacleWords {
    let by = called(view, function);
    let who = match name {
        "" => format!("{by}, called on line {line},"),
        _ => {
            let who = if why == TroubleKind::UnknownCall { format!("`{name}`") } else { called(view, name) };
            match calls_directly(view, function, name) {
                true => format!("{who}, called from {by} on line {line},"),
                false => {
                    format!("{who}, which {by}, called on line {line}, calls through other functions,")
                }
            }
        }
    };
    let variable = format!("`{}`, which {by} uses (called on line {line}),", analysis::plain_name(name));
    let of = |kind: &'static str, reason: String, remedy: &str| ObstacleWords {
        kind,
        reason,
        remedy: remedy.to_owned(),
    };
    match why {
        TroubleKind::NotUnderstood => of(
            "call-not-understood",
            format!(
                "{who} has a place that was not understood{}",
                which_place(view, if name.is_empty() { function } else { name })
            ),
            "",
        ),
        TroubleKind::UnknownCall => {
            let name = if name.is_empty() { function } else { name };
            of(
                "unknown-call",
                format!("{who} may read or write anything{}", why_unknown(view, name)),
                "",
            )
        }
        TroubleKind::IndirectCall => of(
            "indirect-call",
            format!("{by}, called on line {line}, calls through a pointer, and the function called there is not known"),
            "",
        ),
        TroubleKind::Ordered => of(
            "ordered-output",
            format!("{who} reads or writes in order, and the order of iterations would be seen"),
            "",
        ),
        TroubleKind::State => {
            let what = state(if name.is_empty() { function } else { analysis::plain_name(name) });
            let reason = match name {
                "" => format!("{who} {what}"),
                _ => format!("{variable} {what}"),
            };
            of("hidden-state", reason, "")
        }
        TroubleKind::NoReturn => of(
            "may-not-return",
            format!("{who} may end the program or never return"),
            "",
        ),
        TroubleKind::Volatile => of(
            "volatile",
            format!("{who} uses volatile or atomic memory"),
            "Use plain variables in the function.",
        ),
        TroubleKind::Memory => of(
            "unknown-pointer",
            match name.is_empty() || view.doc.program().body(name).is_some() {
                true => format!("{who} uses memory through a pointer that is not followed"),
                // the pointer's own name, there or in what is called from there
                false => format!("{by}, called on line {line}, uses memory through a pointer that is not followed (`{name}`, there or in what it calls)"),
            },
            "",
        ),
        TroubleKind::Global => of(
            "global-in-call",
            format!(
                "{variable} is a variable outside the loop's function, and what else reaches it is not known"
            ),
            "",
        ),
        TroubleKind::Replaceable => of(
            "weak-callee",
            format!("{who} is weak: another definition may take its place when the program is linked"),
            "Take the attribute away, or call a function that is not weak.",
        ),
    }
}

/// A call of what the device provides, which stands in the way of a loop in a kernel.
fn of_device(word: Option<Word>, name: &str, line: u32) -> ObstacleWords {
    let (kind, what) = match word {
        Some(Word::Barrier(..)) => {
            ("barrier", "makes the threads of a block or warp wait for one another in each iteration")
        }
        Some(Word::Fence(_)) => {
            ("fence", "keeps what stands before it apart from what stands behind it in each iteration")
        }
        Some(Word::Atomic(..)) => {
            ("atomic", "updates a place that other threads may see between two iterations")
        }
        _ => ("of-threads", "is an operation that several threads do together in each iteration"),
    };
    let reason = format!("`{name}`, called on line {line}, {what}");
    ObstacleWords { kind, reason, remedy: String::new() }
}
