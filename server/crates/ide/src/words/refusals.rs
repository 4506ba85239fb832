//! Why a parallel loop gets no kernel, in words, and what would help.

use analysis::{plain_name, ConditionKind, Obstacle, ObstacleKind};
use codegen::{FunctionTrouble, HostForm, NextStep, Reason, RefusalKind};
use term::{Op, SymbolId};

use super::causes::{bounds_of, is_computed};
use super::functions::{called, handed_to, which_place, why_unknown};
use super::obstacles::obstacle;
use crate::function_view::FunctionView;
use crate::promises;

/// "`printf` on line 4 has no version for the GPU. Write …"
pub(crate) fn refusal(view: &FunctionView, reason: &Reason) -> String {
    let line = view.line(reason.term);
    let is_loop = view.body().op(reason.term).is_loop();
    let text = if is_loop { "the loop".to_owned() } else { format!("`{}`", view.text(reason.term)) };
    let name = |symbol| view.symbol(symbol);
    let why = match &reason.kind {
        RefusalKind::NotParallel => format!("{text} on line {line} is not proved to be parallel"),
        RefusalKind::Semantics => "this language's arithmetic is not that of C".to_owned(),
        RefusalKind::InMacro => {
            format!(
                "the loop on line {line} comes out of {}, where no edit can be made",
                view.brought_by(reason.term)
            )
        }
        RefusalKind::NotUnderstood => format!("line {line} was not understood"),
        RefusalKind::TooDeep => format!("line {line} is nested too deep"),
        RefusalKind::LongDouble if is_loop => {
            format!("the loop on line {line} uses a `long double`, which no GPU has")
        }
        RefusalKind::LongDouble => format!("{text} on line {line} is a `long double`, which no GPU has"),
        RefusalKind::Type(_) if is_loop => {
            format!("the loop on line {line} uses a type that kernels are not written with")
        }
        RefusalKind::Packed(_) if is_loop => {
            format!("the loop on line {line} uses a packed struct, some of whose members a GPU cannot load")
        }
        RefusalKind::Type(ty) => {
            format!("{text} on line {line} has a type that kernels are not written with{}", sort(view, *ty))
        }
        RefusalKind::Packed(_) => {
            format!("{text} on line {line} is a packed struct, some of whose members a GPU cannot load")
        }
        RefusalKind::PointerValue(s) => {
            format!("the pointer `{}` is used as a value on line {line}", name(*s))
        }
        RefusalKind::Volatile(s) => format!("`{}` on line {line} is volatile or atomic", name(*s)),
        RefusalKind::UnknownExtent(s) => {
            format!("it is not known which part of `{}` is used (line {line})", name(*s))
        }
        RefusalKind::PartialSubscript(s) => {
            format!("`{}` is used without all its subscripts on line {line}", name(*s))
        }
        RefusalKind::NoDeviceVersion(s) => {
            let why = match view.body().library.contains(s) {
                true => "is a function of the library that kernels are not written with".to_owned(),
                false => format!("has no version for the GPU{}", why_unknown(view, name(*s))),
            };
            format!("`{}`, called on line {line}, {why}", name(*s))
        }
        RefusalKind::Function(f, who, why) => {
            let by = called(view, name(*f));
            format!("{by}, called on line {line}, {}", function(view, name(*f), who, why))
        }
        RefusalKind::IndirectCall => format!("{text} on line {line} does not call a function by its name"),
        RefusalKind::VariableLengthLocal(s) => {
            format!("the local array `{}` on line {line} has no constant length", name(*s))
        }
        RefusalKind::StaticLocal(s) => {
            format!("`{}` on line {line} is a `static` variable of the loop", name(*s))
        }
        RefusalKind::Undeclared(s) => format!("no declaration of `{}` (line {line}) was found", name(*s)),
        RefusalKind::Unclassified(s) => {
            format!("how `{}` is used on line {line} is not described well enough for a kernel", name(*s))
        }
        RefusalKind::ControlFlow => format!("the jump on line {line} cannot be made in a kernel"),
        RefusalKind::Operation => match view.body().op(reason.term) {
            Op::Sym(_) | Op::Member { .. } | Op::Index => {
                format!("{text} on line {line} is used in a way that kernels are not written with")
            }
            _ => format!("{text} on line {line} is an operation that kernels are not written with"),
        },
        RefusalKind::ReductionCell => {
            format!("{text} on line {line} accumulates in memory, at a place that the host's side of a kernel is not written for")
        }
        RefusalKind::LastValue(s) => {
            format!("the value that `{}` has after the loop on line {line} cannot be kept", name(*s))
        }
        RefusalKind::LargePrivate(s) => {
            format!("each thread would need its own `{}`, which is too large (line {line})", name(*s))
        }
        RefusalKind::BegunPrivate(s) => format!(
            "each thread would need its own `{}` with what is in it before the loop (line {line})",
            name(*s)
        ),
        RefusalKind::NoAtomic(s) => {
            format!("the GPU has no atomic operation for the accumulation into `{}` on line {line}", name(*s))
        }
        RefusalKind::NoWord(w) => {
            let row = view.doc.options().target.row();
            format!("{} has no `{}`, which the kernel would need (line {line})", row.title, row.said(*w))
        }
        RefusalKind::NanOrder(s) => {
            format!("the minimum or maximum in `{}` (line {line}) would depend on where NaNs stand", name(*s))
        }
        RefusalKind::CalledReduction(s) => {
            format!("{text} on line {line} accumulates in `{}` through its address", name(*s))
        }
        RefusalKind::RoundedReduction(s) => format!(
            "`{}` (line {line}) accumulates floating values in an integer, so rounding depends on the order",
            name(*s)
        ),
        RefusalKind::Induction(s) => {
            format!(
                "`{}` (line {line}) moves each iteration in a way that several parallel loops cannot follow",
                name(*s)
            )
        }
        RefusalKind::Untestable => format!("a condition on line {line} cannot be tested before the launch"),
        RefusalKind::UntestableOverlap(s) => {
            format!(
                "no test is written that would rule out before the launch that `{}` overlaps another array",
                name(*s)
            )
        }
        RefusalKind::ReadsTooEarly if is_before(view, reason) => format!(
            "{text} (line {line}) is needed for the launch, and is not computed once more where it may trap"
        ),
        RefusalKind::ReadsTooEarly => {
            format!(
                "{text} on line {line} would have to be read before it is known that the loop's body runs"
            )
        }
        RefusalKind::CallReadsTooEarly => {
            format!("the call would read what the program reads only where its loops run, and no test on line {line} says whether they do")
        }
        RefusalKind::MixedSigns(s) => {
            format!("`{}` (line {line}) may be negative at first while it is compared as unsigned", name(*s))
        }
        RefusalKind::Overflow => {
            format!("what the host would compute for line {line} before the launch may be too large for 64 bits, and no test was found that keeps it small")
        }
        RefusalKind::Host(form) => host_form(view, form, &text, line),
    };
    match reason.kind {
        // it is in a variable already
        RefusalKind::ReadsTooEarly if is_before(view, reason) => format!("{why}."),
        RefusalKind::UntestableOverlap(s) => match sizes_to_promise(view, reason, s) {
            sizes if sizes.is_empty() => format!("{why}. {}", next_step(reason.kind.next_step())),
            sizes => format!("{why}.{sizes}"),
        },
        _ => format!("{why}. {}", next_step(reason.kind.next_step())),
    }
}

/// That the sizes of an array and of those that it must not overlap can be promised, where these are pointers, which have none.
fn sizes_to_promise(view: &FunctionView, reason: &Reason, array: SymbolId) -> String {
    let is_pointer = |s: &SymbolId| {
        let body = view.body();
        matches!(body.types.kind(body.symbols[*s].ty), term::TypeKind::Pointer { .. })
    };
    let Some(l) = view.facts.loops.iter().find(|l| l.term == reason.term) else { return String::new() };
    let mut arrays = vec![array];
    for c in &l.conditions {
        let ConditionKind::NoAlias(a, b) = &c.kind else { continue };
        let other = if a.symbol == array { b.symbol } else { a.symbol };
        if (a.symbol == array || b.symbol == array) && is_pointer(&other) && !arrays.contains(&other) {
            arrays.push(other);
        }
    }
    match is_pointer(&array) {
        true => promises::sizes(view, l.term, &arrays),
        false => String::new(),
    }
}

/// What a program in C# cannot hand over yet.
fn host_form(view: &FunctionView, form: &HostForm, text: &str, line: u32) -> String {
    match form {
        HostForm::Span(s) => {
            format!(
                "`{}` (line {line}) is a `Span`, which is handed to the GPU where it and all that the loop uses beside it are spans and arrays \
                 of one dimension of numbers (no `char`), for one kernel",
                view.symbol(*s)
            )
        }
        HostForm::Element(s) => format!(
            "`{}` (line {line}) is of a type that is not handed to the GPU so far: only numbers are, and arrays of numbers or of \
             structures whose fields are numbers (no `bool`, `char`, automatic property or attribute)",
            view.symbol(*s)
        ),
        HostForm::Reference => format!(
            "{text} on line {line} uses an array that is reached through an object or a reference, or arrays of arrays in a loop \
             around several kernels, and only arrays in variables and fields are handed to the GPU so far, of arrays of arrays those \
             of two dimensions to one kernel"
        ),
        HostForm::Checked => {
            format!("{text} on line {line} is `checked`, and where it overflows in a kernel is not noticed so far")
        }
        HostForm::Target => {
            format!("programs in C# call CUDA's driver alone so far, and kernels are written for {}", view.doc.options().target.row().title)
        }
        HostForm::Steps => format!(
            "{text} on line {line} stands between kernels that share their arrays, and is not written as a statement of the \
             method that runs them so far"
        ),
        HostForm::Endless => format!(
            "{text} on line {line} runs in a kernel that looks at what may throw, and might not end where something does"
        ),
    }
}

/// Whether the place stands in no loop: what is there was computed before.
fn is_before(view: &FunctionView, reason: &Reason) -> bool {
    let (body, span) = (view.body(), view.body().span(reason.term));
    !body.loops(body.root).any(|l| body.span(l).contains(span))
}

/// A reason in a few words, for labels: `call of printf`.
pub(crate) fn refusal_label(view: &FunctionView, reason: &Reason) -> String {
    let of = |what: &str, symbol: &term::SymbolId| format!("{what} {}", view.symbol(*symbol));
    let plain = |what: &str| what.to_owned();
    match &reason.kind {
        RefusalKind::NotParallel => plain("not proved parallel"),
        RefusalKind::Semantics => plain("arithmetic"),
        RefusalKind::InMacro => plain("in a macro or an included file"),
        RefusalKind::NotUnderstood => plain("not understood"),
        RefusalKind::TooDeep => plain("nested too deep"),
        RefusalKind::LongDouble => plain("long double"),
        RefusalKind::Type(_) => plain("type"),
        RefusalKind::Packed(_) => plain("packed struct"),
        RefusalKind::PointerValue(s) => of("pointer", s),
        RefusalKind::Volatile(s) => of("volatile", s),
        RefusalKind::UnknownExtent(s) => of("size of", s),
        RefusalKind::PartialSubscript(s) => of("subscripts of", s),
        RefusalKind::NoDeviceVersion(s) | RefusalKind::Function(s, ..) => of("call of", s),
        RefusalKind::IndirectCall => plain("call through a pointer"),
        RefusalKind::VariableLengthLocal(s) => of("length of", s),
        RefusalKind::StaticLocal(s) => of("static", s),
        RefusalKind::Undeclared(s) => of("undeclared", s),
        RefusalKind::Unclassified(s) => of("use of", s),
        RefusalKind::ControlFlow => plain("jump"),
        RefusalKind::Operation => plain("operation"),
        RefusalKind::ReductionCell => plain("accumulator"),
        RefusalKind::LastValue(s) => of("last value of", s),
        RefusalKind::LargePrivate(s) | RefusalKind::BegunPrivate(s) => of("copies of", s),
        RefusalKind::NoAtomic(s) => of("atomic on", s),
        RefusalKind::NoWord(w) => view.doc.options().target.row().said(*w).to_string(),
        RefusalKind::NanOrder(s) => of("NaNs in", s),
        RefusalKind::CalledReduction(s) => of("address of", s),
        RefusalKind::RoundedReduction(s) => of("rounding of", s),
        RefusalKind::Induction(s) => of("steps of", s),
        RefusalKind::Untestable => plain("run-time test"),
        RefusalKind::UntestableOverlap(s) => of("overlap of", s),
        RefusalKind::ReadsTooEarly | RefusalKind::CallReadsTooEarly => plain("read before the loop"),
        RefusalKind::MixedSigns(s) => of("sign of", s),
        RefusalKind::Overflow => plain("overflow"),
        RefusalKind::Host(HostForm::Span(s)) => of("Span", s),
        RefusalKind::Host(HostForm::Element(s)) => of("type of", s),
        RefusalKind::Host(HostForm::Reference) => plain("reference"),
        RefusalKind::Host(HostForm::Checked) => plain("checked"),
        RefusalKind::Host(HostForm::Endless) => plain("loop inside"),
        RefusalKind::Host(HostForm::Target) => plain("target"),
        RefusalKind::Host(HostForm::Steps) => plain("between kernels"),
    }
}

fn next_step(step: NextStep) -> &'static str {
    match step {
        NextStep::AlignMembers => "Copy its members to arrays of their own, or leave the packing out.",
        NextStep::UseNarrowerType => "Use `float` or `double`.",
        NextStep::StateSize => {
            "Give the array's size in its declaration, or use bounds that are fixed before the loop."
        }
        NextStep::InlineCall => "Write what the function computes into the loop.",
        NextStep::UseSubscripts => "Use subscripts instead of a stored or moving pointer.",
        NextStep::UseConstantLength => "Give the local array a constant length.",
        NextStep::UseLocalCopy => "Copy the value to a local variable before the loop.",
        NextStep::RestructureFlow => "Write the jump as a condition.",
        NextStep::UseCompareForm => "Write `if (x < m) m = x` instead.",
        NextStep::UseSmallerBounds => "Bounds and sizes of type `int` keep it small.",
        NextStep::ExpandMacro => "Write the loop out instead of using the macro.",
        NextStep::UseScalarAccumulator => "Accumulate in a local variable and store it after the loop.",
        NextStep::UseNativeAtomic => {
            "Sums into cells of `int`, `float` or `double` have one, and what is accumulated in a variable needs none."
        }
        NextStep::None => "This form is not offloaded.",
    }
}

/// What a type is that kernels are not written with, where that is no surprise by its name.
fn sort(view: &FunctionView, ty: term::TypeId) -> &'static str {
    let types = &view.body().types;
    let term::TypeKind::Record(r) = types.kind(ty) else { return "" };
    let has_bits = || types.record(*r).fields.iter().flatten().any(|f| f.bits.is_some());
    match types.record(*r).is_union {
        true => " (a union)",
        false if has_bits() => " (it has bit-fields)",
        false => "",
    }
}

/// Why a called function cannot be printed for the GPU: continues "`f`, called on line 3, …".
fn function(view: &FunctionView, by: &str, who: &str, why: &FunctionTrouble) -> String {
    let what = match why {
        FunctionTrouble::Unknown => {
            format!("is a function whose text was not read{}", why_unknown(view, who))
        }
        FunctionTrouble::NotUnderstood => {
            format!("has a place that was not understood{}", which_place(view, who))
        }
        FunctionTrouble::Recursion => "may call itself, and a kernel's stack has a bound".to_owned(),
        FunctionTrouble::Global(v) => format!("uses `{}`, a variable of the host's memory", plain_name(v)),
        FunctionTrouble::State(v) => format!("keeps `{v}` from one call to the next"),
        FunctionTrouble::Calls(f) => {
            format!("calls `{}`, of which no version for the GPU is known", plain_name(f))
        }
        FunctionTrouble::Type => "uses a type that kernels are not written with".to_owned(),
        FunctionTrouble::Pointer => {
            "follows or keeps a pointer in memory, hands one back or takes one of another kind".to_owned()
        }
        FunctionTrouble::ControlFlow => "has a `goto`".to_owned(),
        FunctionTrouble::Operation => "has an operation that kernels are not written with".to_owned(),
    };
    match who == by {
        true => what,
        false => format!("calls {}, which {what}", called(view, who)),
    }
}

/// The first reason `analysis` gives for a loop it proved parallel but cannot describe for a kernel.
pub(crate) fn not_described(view: &FunctionView, first: Option<&Obstacle>) -> String {
    match first {
        // that iterations meet is no harm here, or is proved not to be
        Some(Obstacle { kind: ObstacleKind::IndirectSubscript(term), .. }) => {
            if let Some(what) = bounds_of(view, *term) {
                return format!(
                    "No kernel is made, because memory decides {what} (`{}`), so it is not known what to copy.",
                    view.text(*term)
                );
            }
            let (text, line) = (view.text(*term), view.line(*term));
            let what = match (view.body().op(*term), handed_to(view, *term)) {
                (_, Some(f)) => format!("a subscript in {f}, called on line {line},"),
                (Op::Call, None) => format!("a subscript in `{text}` on line {line}"),
                _ => format!("the subscript `{text}` on line {line}"),
            };
            let how = match is_computed(view, *term) {
                true => format!("which cells {what} means is computed in a way that cannot be followed"),
                false => format!("memory decides which cells {what} means"),
            };
            format!(
                "No kernel is made, because {how}, so it is not known what to copy. Use an array whose declaration says how large it \
                 is, or run it where the data is."
            )
        }
        Some(first) => {
            let words = obstacle(view, first);
            let remedy = if words.remedy.is_empty() { String::new() } else { format!(" {}", words.remedy) };
            format!("No kernel is made, because {}.{remedy}", words.reason)
        }
        None => "No kernel is made of this loop.".to_owned(),
    }
}
