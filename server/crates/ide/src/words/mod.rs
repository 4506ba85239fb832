//! Facts in sentences. A message says what, why and what now, is one paragraph, and needs no markup to be read.
//!
//! The words are those of the field and of peers: "Loop iterations can be executed independently" and "Loop is
//! sequential" (FOUNDATIONS F3.1), flow, anti and output dependence (Allen & Kennedy), reduction, private.

mod causes;
mod conditions;
mod configuration;
mod decisions;
mod dependences;
mod functions;
mod mapping;
mod missing;
mod obstacles;
mod pointed_to;
mod recurrences;
mod refusals;
mod replayed;
mod subscripts;
mod terms;
mod threads;

use std::sync::Arc;

use analysis::{
    Cells, Condition as Needed, ConditionKind, LoopId, MetBy, NotCounted, Obstacle, ObstacleKind, Reduction,
    ReductionOp, Verdict,
};
use rustc_hash::FxHashSet;
use term::{Op, SymbolId, TermId, TypeKind};

use crate::function_view::FunctionView;
use crate::lints::parallel_inside;
use crate::plans::{not_from_c, Back, Planned, Shared};
use crate::Related;
use crate::{promises, restricts};

use conditions::is_for_copies;
pub(crate) use conditions::{condition, is_written_in};
pub(crate) use configuration::configuration;
pub(crate) use decisions::rests_on_data;
pub(crate) use dependences::example_sentence;
pub(crate) use dependences::{
    access_words, dependence, kind_name, main as main_dependence, rank, remedy, removal, witness,
};
pub(crate) use functions::called;
pub(crate) use mapping::{caution, mappings, prediction, Mappings};
pub(crate) use missing::{rests_on_a_header, rests_on_others, type_without_declaration};
pub(crate) use obstacles::{obstacle, obstacle_label, unknown_kernels, KernelLimit};
pub(crate) use recurrences::{recurrence, recurrences};
pub(crate) use refusals::{not_described, refusal, refusal_label};
pub(crate) use terms::term_text;
pub(crate) use threads::{affine_maps, statement_maps, thread_count, threads, value};

/// Of a parallel loop that gets no kernel; the reason follows in a few words.
pub(crate) const NOT_YET: &str = "not yet offloadable";

/// What the verdict of a parallel loop rests on beside proofs: ` where …`; nothing where that is nothing.
pub(crate) fn holds_where(view: &FunctionView, id: LoopId) -> String {
    match conditions_met(view, id, MetBy::RunTimeCheck) {
        checked if checked.is_empty() || !crate::lints::is_parallel(view.of(id)) => String::new(),
        checked => format!(" where {}", list(&checked)),
    }
}

/// A parallel loop: what runs at once, under which conditions, how to get it.
pub(crate) fn parallel(view: &FunctionView, id: LoopId) -> String {
    let l = view.of(id);
    let band = view.band(id);
    // inside a kernel there is nothing to offload
    let in_kernel = view.item.is_kernel || view.item.is_device;
    let planned = if view.can_offload() && !in_kernel { view.known_plan(id) } else { None };
    let offer = offers(view, id);
    let refused = match planned {
        Some(Planned::No(why)) => Some(why),
        _ => None,
    };
    let because = refused.as_ref().and_then(|why| why.label(view));
    let because = because.map_or(String::new(), |label| format!(", {NOT_YET} ({label})"));
    let (can_run, can_reduce) = match offer {
        true => ("Can run on the GPU: ".to_owned(), "Can run on the GPU as a reduction: ".to_owned()),
        false => (format!("Parallel{because}: "), format!("Parallel as a reduction{because}: ")),
    };
    let mut text = match l.verdict {
        Verdict::Reduction => format!(
            "{can_reduce}the iterations of {} are independent but for {}.",
            view.loop_name(id),
            list(&l.reductions.iter().map(|r| reduction(view, r)).collect::<Vec<_>>())
        ),
        _ if band.len() > 1 => {
            format!(
                "{can_run}loop iterations can be executed independently ({} nested loops: {}).",
                band.len(),
                list(&band.iter().filter_map(|b| view.index_name(*b)).map(quoted).collect::<Vec<_>>())
            )
        }
        _ => format!("{can_run}the iterations of {} can be executed independently.", view.loop_name(id)),
    };
    let checked = conditions_met(view, id, MetBy::RunTimeCheck);
    if !checked.is_empty() {
        let when = match l.conditions.iter().any(Needed::is_seen_while_it_runs) {
            true => "checks, before the kernel or while it runs on copies,",
            false => "first checks",
        };
        text.push_str(&match offer {
            true => format!(
                " The generated code {when} that {}, and else runs this loop as it is.",
                list(&checked)
            ),
            false => format!(" This holds where {}.", list(&checked)),
        });
    }
    let promised = conditions_met(view, id, MetBy::Assumed);
    if !promised.is_empty() {
        text.push_str(&format!(" It rests on your promise that {}.", list(&promised)));
    }
    let accepted = conditions_met(view, id, MetBy::User);
    if !accepted.is_empty() {
        text.push_str(&format!(" It rests on your word that {}.", list(&accepted)));
    }
    if regroups(view, id) {
        text.push_str(match meets_in_elements(view, id) {
            true => " Where several iterations meet in one element, floating-point operations are regrouped, so the last bits may differ.",
            false => " Floating-point operations are regrouped, so the last bits may differ.",
        });
    }
    text.push_str(&match l.mark {
        _ if in_kernel => String::new(),
        _ if !view.can_offload() => format!(" {}", not_from_c(view.doc)),
        _ if !offer => refused.map_or(String::new(), |why| format!(" {}", why.words(view, id))),
        Some(_) => " Marked: apply \"Offload to GPU\" to rewrite it.".to_owned(),
        None => " Apply \"Offload to GPU\" to rewrite it.".to_owned(),
    });
    text
}

/// Whether results may differ in the last bits because floating-point operations are regrouped.
fn regroups(view: &FunctionView, id: LoopId) -> bool {
    let conditions = &view.of(id).conditions;
    conditions.iter().any(|c| matches!(c.kind, ConditionKind::Reassociate(..)))
}

/// Whether all floating-point numbers that a loop accumulates are elements of arrays, each of which several iterations may add to, or one.
fn meets_in_elements(view: &FunctionView, id: LoopId) -> bool {
    let body = view.body();
    let is_float = |r: &&analysis::Reduction| body.types.as_float(body.ty(r.place)).is_some();
    let mut all = view.of(id).reductions.iter().filter(is_float).peekable();
    all.peek().is_some()
        && all.all(|r| {
            matches!(body.op(r.place), Op::Index | Op::Deref | Op::Member { .. }) && moves(view, id, r.place)
        })
}

/// Whether a place's subscripts name something that the loop changes.
fn moves(view: &FunctionView, id: LoopId, place: TermId) -> bool {
    let (body, whole) = (view.body(), view.of(id).term);
    let changed: FxHashSet<SymbolId> = body
        .walk(whole)
        .filter_map(|t| match body.op(t) {
            Op::Declare(s) => Some(*s),
            op if op.is_write() => body.args(t).first().and_then(|&p| body.as_symbol(p)),
            _ => None,
        })
        .collect();
    body.walk(place).any(|t| body.as_symbol(t).is_some_and(|s| changed.contains(&s)))
}

/// Whether a loop's iterations are offered to a GPU.
fn offers(view: &FunctionView, id: LoopId) -> bool {
    // inside a kernel there is nothing to offload
    let in_kernel = view.item.is_kernel || view.item.is_device;
    let planned = if view.can_offload() && !in_kernel { view.known_plan(id) } else { None };
    // what is not planned yet is not promised
    matches!(planned, Some(Planned::Kernel(_) | Planned::Together(_)))
}

/// The conditions met this way, as what must be true; each once. Regrouping is not among them: it is no promise about
/// the program.
pub(crate) fn conditions_met(view: &FunctionView, id: LoopId, met_by: MetBy) -> Vec<String> {
    shorten(all_conditions_met(view, id, met_by), 3)
}

/// An object by what the loop calls it: by the pointer that shows it there, where its own name stands elsewhere alone.
fn shown_by(view: &FunctionView, id: LoopId, o: &analysis::Object) -> String {
    let (body, inside) = (view.body(), view.of(id).term);
    let names = |s: SymbolId| body.walk(inside).any(|t| body.as_symbol(t) == Some(s));
    let is_variable = |s: SymbolId| body.symbols[s].storage != term::Storage::Path;
    if !is_variable(o.symbol) || !o.fields.is_empty() || names(o.symbol) {
        return view.object(o);
    }
    // a pointer that is set once, from the object or from such a pointer
    let leads = |mut p: SymbolId| {
        for _ in 0..4 {
            match body.only_value(p).and_then(|value| analysis::base_symbol(body, value)) {
                Some(s) if s == o.symbol => return true,
                Some(s) => p = s,
                None => return false,
            }
        }
        false
    };
    let is_pointer = |s: SymbolId| matches!(body.types.kind(body.symbols[s].ty), TypeKind::Pointer { .. });
    let mut named =
        body.walk(inside).filter_map(|t| body.as_symbol(t)).filter(|&s| is_pointer(s) && is_variable(s));
    named.find(|&s| leads(s)).map_or_else(|| view.object(o), |s| view.symbol(s).to_owned())
}

/// Likewise, and none left out.
pub(crate) fn all_conditions_met(view: &FunctionView, id: LoopId, met_by: MetBy) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut said: FxHashSet<String> = FxHashSet::default();
    // what does not wrap around is said together
    let (mut kept, mut kept_at): (Vec<String>, Option<usize>) = Default::default();
    let conditions = view.of(id).conditions.iter();
    let offer = offers(view, id);
    let is_told = |kind: &ConditionKind| match kind {
        ConditionKind::Reassociate(..) => false,
        _ => offer || !is_for_copies(view, id, kind),
    };
    for c in conditions.filter(|c| c.met_by == met_by && is_told(&c.kind)) {
        let sentence = match &c.kind {
            ConditionKind::NoAlias(a, b) => {
                format!("`{}` and `{}` do not overlap", shown_by(view, id, a), shown_by(view, id, b))
            }
            kind => condition(view, kind).sentence,
        };
        if !said.insert(sentence.clone()) {
            continue;
        }
        match sentence.strip_suffix(" does not wrap around") {
            Some(what) => {
                kept.push(what.to_owned());
                if kept_at.is_none() {
                    kept_at = Some(all.len());
                    all.push(sentence);
                }
            }
            None => all.push(sentence),
        }
    }
    if let (Some(at), [first, second, others @ ..]) = (kept_at, kept.as_slice()) {
        all[at] = match others {
            [] => format!("neither {first} nor {second} wraps around"),
            _ => format!("none of {} wraps around", list(&shorten(kept.clone(), 2))),
        };
    }
    all
}

/// A sequential loop: the witness, the other dependences, what would remove them, where parallelism is nevertheless.
pub(crate) fn sequential(view: &FunctionView, id: LoopId) -> String {
    let l = view.of(id);
    let Some(first) = dependences::main(view, id) else {
        return format!("Loop is sequential: the iterations of {} depend on each other.", view.loop_name(id));
    };
    let mut text = format!("Loop is sequential: {}.", dependence(view, first));
    let mut others: Vec<String> = Vec::new();
    // of the others those that were shown, too
    for d in l.dependences.iter().filter(|d| d.witness.is_some()) {
        let name = format!("`{}`", view.dependent(d));
        if d.object != first.object && !others.contains(&name) {
            others.push(name);
        }
    }
    if !others.is_empty() {
        text.push_str(&format!(" So it is with {}.", list(&shorten(others, 3))));
    }
    let remedy = remedy(view, id);
    if !remedy.is_empty() {
        text.push(' ');
        text.push_str(&remedy);
    }
    text.push_str(&recurrences(view, id));
    text.push_str(&inner_hint(view, id));
    text
}

/// An unknown loop: what stopped the analysis, where, and what would settle it.
pub(crate) fn unknown(view: &FunctionView, id: LoopId) -> String {
    let all = functions::reasons_together(view, &told(view, id));
    let Some((first, others)) = all.split_first() else {
        return format!(
            "Unknown whether the iterations of {} are independent: the analysis did not say why.",
            view.loop_name(id)
        );
    };
    let mut text = format!("Unknown whether loop iterations are independent: {first}.");
    match others {
        [] => {}
        [one] => text.push_str(&format!(" Also, {one}.")),
        [one, rest @ ..] => {
            text.push_str(&format!(" Also, {one}, and {} more.", plural(rest.len(), "obstacle")))
        }
    }
    let remedy = remedy_of_unknown(view, id);
    if !remedy.is_empty() {
        text.push(' ');
        text.push_str(&remedy);
    }
    text.push_str(&recurrences(view, id));
    text.push_str(&inner_hint(view, id));
    text
}

/// The obstacles of a loop as they are told: what was not understood first, for others follow from it, and that arrays may overlap last,
/// for it is often what another obstacle leaves open. That the index or the bound changes is said only where no such place may be what
/// changes it.
pub(crate) fn told<'v>(view: &'v FunctionView, id: LoopId) -> Vec<&'v Obstacle> {
    let not_read = |o: &Obstacle| o.kind == ObstacleKind::NotUnderstood;
    let follows = |o: &Obstacle| {
        use NotCounted::{BoundVaries, IndexEscapes, IndexHidden, IndexWritten};
        matches!(o.kind, ObstacleKind::NotCounted(IndexHidden | IndexWritten | BoundVaries | IndexEscapes))
    };
    let all = &view.of(id).obstacles;
    let any = all.iter().any(not_read);
    // the same of the same name is told once, where it stands first
    let names = |o: &Obstacle| {
        use ObstacleKind::{Budget, Call, CarriedScalar, UnknownCall, UnknownPointer};
        matches!(o.kind, Call { .. } | UnknownCall(_) | UnknownPointer(_) | CarriedScalar(_) | Budget(_))
    };
    let again = |k: usize, o: &Obstacle| names(o) && all.iter().take(k).any(|before| before.kind == o.kind);
    let is_left_out = |k: usize, o: &Obstacle| any && follows(o) || again(k, o);
    let kept = all.iter().enumerate().filter(|(k, o)| !is_left_out(*k, o));
    let mut out: Vec<&Obstacle> = kept.map(|(_, o)| o).collect();
    out.sort_by_key(|o| (!not_read(o), matches!(o.kind, ObstacleKind::MayAlias(..))));
    out
}

/// Why a loop is unknown, each reason once, in the order in which they are told.
pub(crate) fn reasons(view: &FunctionView, id: LoopId) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for reason in told(view, id).into_iter().map(|o| obstacle(view, o).reason) {
        if !out.contains(&reason) {
            out.push(reason);
        }
    }
    out
}

/// What would settle an unknown loop, in sentences. A change of the text is advised where nothing else is in the loop's way.
pub(crate) fn remedy_of_unknown(view: &FunctionView, id: LoopId) -> String {
    let told = told(view, id);
    let Some(&first) = told.first() else { return String::new() };
    let obstacles::ObstacleWords { kind, remedy, .. } = obstacle(view, first);
    let always = matches!(kind, "undeclared" | "unknown-rows" | "budget");
    let alone =
        || view.of(id).dependences.is_empty() && told.iter().all(|o| obstacle(view, o).remedy == remedy);
    let remedy = if always || alone() { remedy } else { String::new() };
    let parts = [remedy, restricts::words(view, id), promise_hint(view, id)];
    let said: Vec<&str> = parts.iter().map(|p| p.trim()).filter(|p| !p.is_empty()).collect();
    said.join(" ")
}

/// The promise that would settle it: a sentence.
fn promise_hint(view: &FunctionView, id: LoopId) -> String {
    match promises::settling(view, id) {
        Some(promise) if view.can_offload() => {
            let comment = promises::comment(view.doc, &promise);
            format!(
                " If you know that it does no harm, promise so in a comment before the loop: `{comment}`."
            )
        }
        _ => String::new(),
    }
}

/// What is said of a loop that is parallel, once its reductions are written as such or as it stands.
pub(crate) fn is_parallel(view: &FunctionView, id: LoopId) -> &'static str {
    match &view.of(id).verdict {
        analysis::Verdict::Reduction => "is parallel as a reduction",
        _ => "is parallel",
    }
}

/// Where parallelism is, if not here.
fn inner_hint(view: &FunctionView, id: LoopId) -> String {
    let inner = parallel_inside(&view.facts, id);
    let together =
        view.together(id).map_or_else(String::new, |shared| format!(" {}", together(view, &shared)));
    let Some(first) = inner.first() else {
        return together;
    };
    let place_of = |l: &LoopId| format!("{} on line {}", view.loop_name(*l), view.line(view.of(*l).term));
    let (one, many) = match inner.iter().all(|l| view.is_offered(*l)) {
        true => ("can run on the GPU", "can run on the GPU"),
        false => (is_parallel(view, *first), "are parallel"),
    };
    match inner.len() {
        1 => format!(" Inside it, {} {one}.{together}", place_of(first)),
        n => format!(
            " Inside it, {} {many}, the first being {}.{together}",
            plural(n, "loop"),
            place_of(first)
        ),
    }
}

/// That nests of a loop become kernels which share their data, and what comes back in every round.
pub(crate) fn together(view: &FunctionView, shared: &Shared) -> String {
    const SHOWN: usize = 2;
    let which = match shared.kernels {
        1 => "its kernel's arrays stay there from round to round".to_owned(),
        n => format!("its {n} kernels share their arrays there from round to round"),
    };
    let line = |b: &Back| view.line_column(view.item.span.start + b.at).line;
    let back = shared.back.iter().take(SHOWN).map(|b| match (&b.variable, b.is_read) {
        (Some(v), true) => {
            format!("; `{v}` comes back in each, because line {} reads it on the host", line(b))
        }
        (Some(v), false) => format!("; `{v}`, which the loop on line {} leaves, comes back in each", line(b)),
        (None, _) => format!("; what is called on line {} gives a number that comes back in each", line(b)),
    });
    let back: String = back.collect();
    format!("Apply \"Offload to GPU\" to this loop: {which}{back}.")
}

/// The places of the first dependence.
pub(crate) fn dependence_places(view: &FunctionView, id: LoopId) -> Vec<Related> {
    let Some(d) = dependences::main(view, id) else {
        return Vec::new();
    };
    let (first, second) = dependences::access_words(d.kind);
    let related = |term, verb: &str, which: &str| Related {
        span: view.span(term),
        message: format!("{verb} here, in {which} iteration").into(),
    };
    vec![related(d.source, first, "an earlier"), related(d.sink, second, "a later")]
}

/// The places of the obstacles.
pub(crate) fn obstacle_places(view: &FunctionView, id: LoopId) -> Vec<Related> {
    let l = view.of(id);
    let mut out: Vec<Related> = Vec::new();
    for o in told(view, id).into_iter().filter(|o| o.term != l.term) {
        let message: Arc<str> = capitalized(&obstacle(view, o).reason).into();
        if out.len() < 4 && out.iter().all(|r| r.message != message) {
            out.push(Related { span: view.span(o.term), message });
        }
    }
    out
}

/// "`s` (+)"
pub(crate) fn reduction(view: &FunctionView, r: &Reduction) -> String {
    format!("`{}` ({})", accumulator(view, r), operator(r.op))
}

/// The variable or cell that accumulates; the whole object where it is several cells.
pub(crate) fn accumulator(view: &FunctionView, r: &Reduction) -> String {
    match r.cells {
        Cells::Many | Cells::Variable => view.object(&r.object),
        // What a called function accumulates into has its name from here all the same.
        Cells::One if *view.body().op(r.place) == term::Op::Call => view.object(&r.object),
        Cells::One => view.text(r.place),
    }
}

/// As reports spell it.
pub(crate) fn operator(op: ReductionOp) -> &'static str {
    match op {
        ReductionOp::Add => "+",
        ReductionOp::Mul => "*",
        ReductionOp::Min => "min",
        ReductionOp::Max => "max",
        ReductionOp::BitAnd => "&",
        ReductionOp::BitOr => "|",
        ReductionOp::BitXor => "^",
        ReductionOp::And => "&&",
        ReductionOp::Or => "||",
        ReductionOp::ArgMin { .. } => "argmin",
        ReductionOp::ArgMax { .. } => "argmax",
        ReductionOp::Last => "last",
    }
}

/// As reports spell it.
pub(crate) fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Independent => "independent",
        Verdict::Reduction => "reduction",
        Verdict::Sequential => "sequential",
        Verdict::Unknown => "unknown",
    }
}

/// As reports spell it.
pub(crate) fn met_by(met_by: MetBy) -> &'static str {
    match met_by {
        MetBy::Proof => "proof",
        MetBy::RunTimeCheck => "run-time check",
        MetBy::Assumed => "assumed",
        MetBy::User => "user",
    }
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [head @ .., last] => format!("{} and {last}", head.join(", ")),
    }
}

/// `1 loop`, `2 loops`.
pub(crate) fn plural(count: usize, noun: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{s}")
}

pub(crate) fn quoted(text: &str) -> String {
    format!("`{text}`")
}

pub(crate) fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}

/// The first `limit` items, and how many more.
fn shorten(mut items: Vec<String>, limit: usize) -> Vec<String> {
    if items.len() > limit + 1 {
        let more = items.len() - limit;
        items.truncate(limit);
        items.push(format!("{more} more"));
    }
    items
}
