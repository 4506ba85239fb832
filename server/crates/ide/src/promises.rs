//! The user's promises as they stand in the text: where each is written, and which would settle what is not known.

use analysis::{ConditionKind, LoopFacts, LoopId, Obstacle, ObstacleKind, Verdict};
use base::Span;
use front::{speaks_of, DirectiveKind, Item};
use term::{BinOp, Len, Op, Promise, Promised, Storage, SymbolId, TermId, TypeId, TypeKind};

use crate::function_view::FunctionView;
use crate::limits::promises::{BYTES_A_STEP, MOST_PROMISES};
use crate::{Doc, Tier};

/// A promise where it is written: its place, and its own text. The place is the whole comment where it is the only one in it.
pub(crate) struct Written {
    pub span: Span,
    pub text: String,
}

/// Where a promise of a function is written.
pub(crate) fn written(doc: &Doc, item: &Item, promise: &Promise) -> Option<Written> {
    let start = item.span.start;
    let target = promise.of.map_or(start, |l| start + item.body.span(l).start);
    let directives = &doc.unit().directives;
    let mut number = promise.number as usize;
    for (k, d) in directives.iter().enumerate() {
        let DirectiveKind::Assume(promises) = &d.kind else { continue };
        if speaks_of(directives, k) != target {
            continue;
        }
        if let Some(p) = promises.get(number) {
            let at = (d.span.start + p.at) as usize;
            let span = if promises.len() == 1 { d.span } else { Span::new(at, at + p.text.len()) };
            return Some(Written { span, text: p.text.to_string() });
        }
        number -= promises.len();
    }
    None
}

/// Likewise, where what is said of a function can stand: a comment before it is no part of it, so that is said of its name.
pub(crate) fn written_inside(view: &FunctionView, promise: &Promise) -> Option<Written> {
    let mut found = written(view.doc, view.item, promise)?;
    if promise.of.is_none() {
        let body = view.body();
        let Op::Function(f) = *body.op(body.root) else { return None };
        found.span = view.absolute(body.symbols[f].span?);
    }
    Some(found)
}

/// The promises, as one writes them, with which a loop is parallel: this was tried. Nothing where some obstacle needs other code, or
/// where an array has no name before the loop, and nothing while nobody has time to try it.
pub(crate) fn settling(view: &FunctionView, id: LoopId) -> Option<String> {
    let promise = wanted(view, id)?;
    let settled = match view.plans.settled(view.surroundings(), id) {
        Some(known) => known,
        None if view.ask.tier < Tier::Full || view.is_spent() => return None,
        None => {
            let settled = settles(view, id, &promise)?;
            view.plans.put_settled(view.surroundings(), id, settled);
            settled
        }
    };
    settled.then_some(promise)
}

/// Where the comment of a promise is written: directly before the loop, whatever else stands on its line.
pub(crate) fn edit(view: &FunctionView, id: LoopId, promise: &str) -> text::Edit {
    let text = view.doc.text();
    let start = view.span(view.of(id).term).start;
    let indentation = text.indentation_of(text.line_of(start));
    let end = text.line_ending().as_str();
    text::Edit::insert(start, format!("{}{end}{indentation}", comment(view.doc, promise)))
}

/// Whether a loop is parallel with a promise before it. `None`: it was called off.
fn settles(view: &FunctionView, id: LoopId, promise: &str) -> Option<bool> {
    let edits = text::EditSet::one(edit(view, id, promise));
    tried(view, &edits, |facts, _| facts.loops.get(id).is_some_and(crate::lints::is_parallel))
}

/// What is found of a function after edits in it: advice is given where this shows that it helps. `None`: it was called off, or the
/// function is not read as before.
pub(crate) fn tried<T>(
    view: &FunctionView,
    edits: &text::EditSet,
    find: impl FnOnce(&analysis::Facts, &term::Body) -> T,
) -> Option<T> {
    let doc = view.doc;
    let item = doc.unit().items.iter().position(|i| std::ptr::eq(i, view.item))?;
    let made = edits.apply(doc.text()).ok()?.to_string();
    let applied = doc.text().apply_lsp_change(None, &made, text::PositionEncoding::Utf8).ok()?;
    let again = doc.edit(std::slice::from_ref(&applied));
    let after = again.unit().items.get(item).filter(|i| i.name == view.item.name)?;
    let budget = view.ask.budget(u64::MAX);
    let facts = analysis::analyze(&after.body, again.program(), Tier::Full.effort(), &budget);
    view.plans.spend(facts.steps.saturating_add(u64::from(doc.text().len()) / BYTES_A_STEP));
    (!view.ask.is_cancelled()).then(|| find(&facts, &after.body))
}

/// The promises that speak of what is not known of a loop, one for each obstacle.
fn wanted(view: &FunctionView, id: LoopId) -> Option<String> {
    let l = view.of(id);
    if l.verdict != Verdict::Unknown || l.obstacles.is_empty() {
        return None;
    }
    if let Some(promise) = counts_of_rows(view, l) {
        return Some(promise);
    }
    let mut all: Vec<String> = Vec::new();
    for o in &l.obstacles {
        let promise = of_obstacle(view, l, o)?;
        if !all.contains(&promise) {
            all.push(promise);
        }
    }
    (all.len() <= MOST_PROMISES).then(|| all.join(", "))
}

/// That rows of a fixed length hold no more elements than that, where memory says how many each holds: of
/// `for (b…) for (i = 0; i < n[b]; i++) p[64 * b + i]`, that `n` is in the range from 0 to 64.
fn counts_of_rows(view: &FunctionView, l: &LoopFacts) -> Option<String> {
    let (body, of) = (view.body(), l.term);
    let index = l.control.as_ref().ok()?.index;
    let bound = |inner: TermId| {
        let condition = body.loop_parts(inner)?.condition?;
        body.walk(condition).find_map(|t| loaded_from(view, of, t))
    };
    let array = body.loops(body.loop_parts(of)?.body).find_map(bound)?;
    let is_promised = body.promises(of).any(|(_, p)| match p.says {
        Promised::InRange { array: a, .. } => body.same(a, array),
        _ => false,
    });
    let length = |t: TermId| {
        let (Op::Binary(BinOp::Mul), &[a, b]) = (body.op(t), body.args(t)) else { return None };
        let is_index = |x: TermId| body.as_symbol(x) == Some(index);
        match (is_index(a), is_index(b)) {
            (true, _) => body.constant(b).filter(|&k| k > 1).map(|k| (b, k)),
            (_, true) => body.constant(a).filter(|&k| k > 1).map(|k| (a, k)),
            _ => None,
        }
    };
    let (term, count) = body.walk(of).find_map(length).filter(|_| !is_promised)?;
    let end = match body.op(term) {
        // a macro's name says more
        Op::Int(_) if view.text(term) != count.to_string() => format!("{} + 1", view.text(term)),
        _ => (count + 1).to_string(),
    };
    Some(format!("in-range({}, 0, {end})", array_text(view, of, array)?))
}

/// A sentence on the sizes that would let arrays be copied; nothing where some array has no name before the loop.
pub(crate) fn sizes(view: &FunctionView, of: TermId, arrays: &[SymbolId]) -> String {
    let one = |&s: &SymbolId| {
        let name = symbol_text(view, of, s).filter(|_| has_known_rows(view, s))?;
        Some(format!("size({name}) = …"))
    };
    match arrays.iter().map(one).collect::<Option<Vec<String>>>() {
        Some(all) if !all.is_empty() && all.len() <= MOST_PROMISES => {
            let comment = comment(view.doc, &all.join(", "));
            format!(" You can promise what is there, in a comment before the loop: `{comment}`.")
        }
        _ => String::new(),
    }
}

/// Whether a number of elements would say where an array ends: that its rows have known lengths.
fn has_known_rows(view: &FunctionView, s: SymbolId) -> bool {
    let types = &view.body().types;
    let mut at = match types.kind(view.body().symbols[s].ty) {
        TypeKind::Pointer { to, .. } => *to,
        TypeKind::Array { of, .. } => *of,
        _ => return true,
    };
    while let TypeKind::Array { of, len } = types.kind(at) {
        if !matches!(len, Len::Const(_)) {
            return false;
        }
        at = *of;
    }
    // of structures with arrays in them the number is told, and which part is used is not
    let holds_array = |f: &term::Field| matches!(types.kind(f.ty), TypeKind::Array { .. });
    match types.kind(at) {
        TypeKind::Record(r) => {
            !types.record(*r).fields.as_deref().unwrap_or_default().iter().any(holds_array)
        }
        _ => true,
    }
}

/// The promise that speaks of what an obstacle says.
fn of_obstacle(view: &FunctionView, l: &LoopFacts, o: &Obstacle) -> Option<String> {
    let (body, of) = (view.body(), l.term);
    match &o.kind {
        ObstacleKind::IndirectSubscript(load) => {
            let array = loaded_from(view, of, *load)?;
            // it says nothing of a cell that is reached without it
            let has = |t: TermId| {
                body.walk(t).any(|x| loaded_from(view, of, x).is_some_and(|a| body.same(a, array)))
            };
            let settles = l.dependences.iter().all(|d| has(d.source) == has(d.sink));
            let is_promised = body.promises(of).any(|(_, p)| match p.says {
                Promised::Injective(a) => body.same(a, array),
                _ => false,
            });
            (settles && !is_promised)
                .then(|| array_text(view, of, array).map(|a| format!("injective({a})")))
                .flatten()
        }
        ObstacleKind::MayAlias(a, b) if a.fields.is_empty() && b.fields.is_empty() => {
            let of_symbol = |s: SymbolId| symbol_text(view, of, s);
            Some(format!("no-alias({}, {})", of_symbol(a.symbol)?, of_symbol(b.symbol)?))
        }
        ObstacleKind::NeedsPromise(ConditionKind::DistinctRows(rows)) => {
            let row = body.path_term(rows.symbol)?;
            Some(format!("distinct-rows({})", array_text(view, of, *body.args(row).first()?)?))
        }
        ObstacleKind::UnknownCall(f) => {
            let symbol = &body.symbols[*f];
            let is_declared = symbol.storage == Storage::Function && !body.library.contains(f);
            let is_const = |p: &TypeId| match body.types.element(*p) {
                Some(to) => body.types.quals(to).is_const,
                None => true,
            };
            let only_gives = match body.types.kind(symbol.ty) {
                TypeKind::Function { ret, params, .. } => {
                    body.types.is_arithmetic(*ret) && params.iter().all(is_const)
                }
                _ => false,
            };
            let offered = is_declared && only_gives && !sounds_like_state(&symbol.name);
            offered.then(|| format!("pure({})", symbol.name))
        }
        _ => None,
    }
}

/// Whether a function by this name hardly only computes: it draws numbers, asks the world, makes things.
fn sounds_like_state(name: &str) -> bool {
    const WORDS: [&str; 17] = [
        "rand", "rng", "next", "seed", "uniform", "gauss", "alloc", "time", "clock", "read", "recv", "print",
        "create", "init", "push", "pop", "open",
    ];
    let lower = name.to_ascii_lowercase();
    lower.split('_').any(|part| part == "ran" || WORDS.iter().any(|word| part.starts_with(word)))
}

/// The array that an integer comes out of: `idx` of `idx[i]`, and of `k` where the loop declares `int k = idx[i]`.
fn loaded_from(view: &FunctionView, of: TermId, t: TermId) -> Option<TermId> {
    let body = view.body();
    body.types.as_int(body.ty(t))?;
    match (body.op(t), body.args(t)) {
        (Op::Index, &[array, _]) => Some(array),
        (Op::Sym(s), _) => {
            let declared = body.walk(of).find(|&d| *body.op(d) == Op::Declare(*s))?;
            let &[value] = body.args(declared) else { return None };
            match (body.op(value), body.args(value)) {
                (Op::Index, &[array, _]) => Some(array),
                _ => None,
            }
        }
        _ => None,
    }
}

fn symbol_text(view: &FunctionView, of: TermId, s: SymbolId) -> Option<String> {
    let body = view.body();
    match body.path_term(s).filter(|_| body.symbols[s].storage == Storage::Path) {
        Some(path) => array_text(view, of, path),
        None => is_named_before(view, of, s).then(|| view.symbol(s).to_owned()),
    }
}

/// An array's text, where it means the same before the loop.
fn array_text(view: &FunctionView, of: TermId, array: TermId) -> Option<String> {
    let body = view.body();
    let plain = body.walk(array).all(|t| match body.op(t) {
        Op::Sym(s) => is_named_before(view, of, *s),
        Op::Member { .. } | Op::Deref => true,
        _ => false,
    });
    plain.then(|| view.text(array))
}

fn is_named_before(view: &FunctionView, of: TermId, s: SymbolId) -> bool {
    let body = view.body();
    let is_variable =
        !matches!(body.symbols[s].storage, Storage::Path | Storage::Function | Storage::Builtin);
    is_variable && body.walk(of).all(|t| *body.op(t) != Op::Declare(s))
}

/// The comment that makes a promise.
pub(crate) fn comment(doc: &Doc, promise: &str) -> String {
    format!("{} warpwright: assume({promise})", doc.language().comments.line)
}
