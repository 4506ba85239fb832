//! Dependences in words: the two iterations, the cell they share, and what would remove it.

use analysis::{Dependence, DependenceKind, LoopId, Param, Witness};
use base::IndexId as _;
use term::{BinOp, Op, SymbolId, TermId, TypeId, TypeKind};

use crate::function_view::FunctionView;

/// `flow`, `anti`, `output`.
pub(crate) fn kind_name(kind: DependenceKind) -> &'static str {
    match kind {
        DependenceKind::Flow => "flow",
        DependenceKind::Anti => "anti",
        DependenceKind::Output => "output",
    }
}

/// The dependence to speak of first: a proved one, and of those one that passes a value on, for it is the hardest to
/// remove.
pub(crate) fn main<'a>(view: &'a FunctionView, id: LoopId) -> Option<&'a Dependence> {
    view.of(id).dependences.iter().min_by_key(|d| rank(d))
}

/// The order in which dependences are told.
pub(crate) fn rank(d: &Dependence) -> (bool, DependenceKind) {
    (d.witness.is_none(), d.kind)
}

/// Whether all that a loop does with a variable is to give it a value made from its own, so that it may be a reduction written
/// another way.
fn may_accumulate(view: &FunctionView, id: LoopId, s: SymbolId) -> bool {
    let body = view.body();
    let whole = view.of(id).term;
    let names = |t: TermId| body.walk(t).filter(|&x| body.as_symbol(x) == Some(s)).count();
    let sets: Vec<TermId> = body
        .walk(whole)
        .filter(|&t| match (body.op(t), body.args(t)) {
            (Op::Assign | Op::Compound(_), &[place, _]) => body.as_symbol(place) == Some(s),
            _ => false,
        })
        .collect();
    let from_itself = |&t: &TermId| match (body.op(t), body.args(t)) {
        // `m += (x - m) / k` is more than a sum
        (Op::Compound(_), _) => names(t) == 1,
        (_, &[_, value]) => names(t) > 1 && operators_around(body, value, s).is_some_and(|all| all.len() < 2),
        _ => false,
    };
    // `s *= x; s += y` is no sum, and no product
    let kind = |&t: &TermId| {
        let op = match (body.op(t), body.args(t)) {
            (Op::Compound(op), _) => Some(*op),
            (_, &[_, value]) => operators_around(body, value, s).and_then(|all| all.first().copied()),
            _ => None,
        };
        match op {
            Some(BinOp::Sub) => Some(BinOp::Add),
            Some(BinOp::Div) => Some(BinOp::Mul),
            op => op,
        }
    };
    let kinds: Vec<Option<BinOp>> = sets.iter().map(kind).collect();
    let is_one_kind = kinds.windows(2).all(|w| w[0] == w[1]);
    is_one_kind
        && sets.iter().all(from_itself)
        && sets.iter().map(|&t| names(t)).sum::<usize>() == names(whole)
}

/// How a loop changes the places of an array that its iterations share.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    /// All that it does with them is to add to them, each time in one statement.
    Sum,
    /// It gives places values that are made of their own.
    Update,
    Other,
}

fn change(view: &FunctionView, id: LoopId, d: &Dependence) -> Change {
    let (body, whole) = (view.body(), view.of(id).term);
    let parents = body.parents();
    let up = |t: TermId| parents.get(t.index()).copied().flatten();
    let is_part = |t: TermId| matches!(body.op(t), Op::Index | Op::Member { .. } | Op::Deref);
    let places = body.walk(whole).filter(|&t| {
        is_part(t)
            && analysis::base_symbol(body, t) == Some(d.object.symbol)
            && up(t).is_none_or(|p| !is_part(p) || body.args(p).first() != Some(&t))
    });
    let (mut reads, mut writes) = (Vec::new(), Vec::new());
    let (mut sums, mut places_seen) = (true, 0);
    for place in places {
        places_seen += 1;
        let stored = up(place).filter(|&p| body.op(p).is_write() && body.args(p).first() == Some(&place));
        match stored.map(|p| (body.op(p), body.args(p))) {
            Some((Op::Compound(BinOp::Add | BinOp::Sub), _)) => {}
            Some((Op::Assign, &[_, value])) => writes.push((place, value)),
            Some(_) => sums = false,
            None => reads.push(place),
        }
    }
    // `y[k] = y[k] + …`: the place itself, once, not what is taken away
    let added = |&(place, value): &(TermId, TermId)| {
        let mut at = value;
        while let (Op::Binary(op @ (BinOp::Add | BinOp::Sub)), &[left, right]) = (body.op(at), body.args(at))
        {
            let named = |t: TermId| body.walk(t).filter(|&x| reads.contains(&x)).count();
            at = match (named(left), named(right)) {
                (1, 0) => left,
                (0, 1) if *op == BinOp::Add => right,
                _ => return false,
            };
        }
        at != value && body.same(at, place)
    };
    let in_sums = |r: &TermId| writes.iter().any(|&(_, v)| body.walk(v).any(|x| x == *r));
    // what a called function does with it, or another pointer, is not seen here
    let is_seen = places_seen > 0;
    if is_seen && sums && writes.iter().all(added) && reads.iter().all(in_sums) {
        return Change::Sum;
    }
    let own = |r: &TermId| writes.iter().any(|&(w, _)| body.same(w, *r));
    match reads.iter().all(own) {
        true if is_seen => Change::Update,
        _ => Change::Other,
    }
}

/// The operators that a value goes through from a variable that it is made of, sums and differences as one. `None`: the variable
/// is not in it.
fn operators_around(body: &term::Body, value: TermId, s: SymbolId) -> Option<Vec<term::BinOp>> {
    if body.as_symbol(value) == Some(s) {
        return Some(Vec::new());
    }
    let mut found = body.args(value).iter().find_map(|&part| operators_around(body, part, s))?;
    if let Op::Binary(op) = body.op(value) {
        let op = if *op == term::BinOp::Sub { term::BinOp::Add } else { *op };
        if !found.contains(&op) {
            found.push(op);
        }
    }
    Some(found)
}

/// What source and sink do.
pub(crate) fn access_words(kind: DependenceKind) -> (&'static str, &'static str) {
    match kind {
        DependenceKind::Flow => ("writes", "reads"),
        DependenceKind::Anti => ("reads", "writes"),
        DependenceKind::Output => ("writes", "writes"),
    }
}

/// "iteration i=0 writes a[1] on line 12, iteration i=1 reads it on line 12, for n=2 (flow dependence on `a`,
/// distance 1)".
pub(crate) fn dependence(view: &FunctionView, d: &Dependence) -> String {
    let (first, second) = access_words(d.kind);
    let (source_line, sink_line) = (view.line(d.source), view.line(d.sink));
    let name = view.dependent(d);
    let mut label = format!("{} dependence on `{name}`", kind_name(d.kind));
    if let Some(Some(distance)) = d.distance.first() {
        label.push_str(&format!(", distance {distance}"));
    }
    match &d.witness {
        Some(w) => format!(
            "iteration {} {first} {} on line {source_line}, iteration {} {second} it on line {sink_line}{} ({label})",
            iteration(view, &w.source, w.source_iteration),
            cell(view, d, w),
            iteration(view, &w.sink, w.sink_iteration),
            example(view, w),
        ),
        None => format!(
            "an iteration {first} `{}` on line {source_line}, a later one may be one that {second} the same cell \
             through `{}` on line {sink_line} ({label})",
            view.text(d.source),
            view.text(d.sink)
        ),
    }
}

/// The contract's form: `i=3 writes a[4], i=4 reads a[4]`, then `, for n=5`.
pub(crate) fn witness(view: &FunctionView, d: &Dependence) -> Option<String> {
    let w = d.witness.as_ref()?;
    let (first, second) = access_words(d.kind);
    let cell = cell(view, d, w);
    Some(format!(
        "{} {first} {cell}, {} {second} {cell}{}",
        iteration(view, &w.source, w.source_iteration),
        iteration(view, &w.sink, w.sink_iteration),
        example(view, w)
    ))
}

/// `i=0, j=2`; the iteration's number where the loop has no index.
fn iteration(view: &FunctionView, indices: &[(SymbolId, i128)], number: i128) -> String {
    if indices.is_empty() {
        return format!("{}", number.saturating_add(1));
    }
    let one = |(symbol, value): &(SymbolId, i128)| format!("{}={value}", view.symbol(*symbol));
    indices.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// `a[1][2]`; the name alone for a scalar; of rows that the subscripts alone make, the row in words.
fn cell(view: &FunctionView, d: &Dependence, w: &Witness) -> String {
    let mut text = view.object(&d.object);
    let types = &view.body().types;
    let inner = |ty: &TypeId| match types.kind(*ty) {
        TypeKind::Pointer { to, .. } => Some(*to),
        TypeKind::Array { of, .. } => Some(*of),
        _ => None,
    };
    // `p->n`
    let is_pointer = matches!(types.kind(view.body().symbols[d.object.symbol].ty), TypeKind::Pointer { .. });
    if is_pointer && d.object.fields.len() == 1 && w.cell[..] == [0] {
        return text.replacen('.', "->", 1);
    }
    let levels = std::iter::successors(Some(view.body().symbols[d.object.symbol].ty), inner).count() - 1;
    let of_rows = d.object.fields.is_empty() && w.cell.len() > levels && levels == 1;
    let mut subscripts = &w.cell[..];
    if of_rows {
        while let ([0, rest @ ..], true) = (subscripts, subscripts.len() > 1) {
            subscripts = rest;
        }
        if let ([rows @ .., last], true) = (subscripts, subscripts.len() > 1) {
            let rows: Vec<String> = rows.iter().map(i128::to_string).collect();
            return format!("element {last} of row {} of {text}", rows.join(", "));
        }
    }
    for subscript in subscripts {
        // The rows of a table are named with the row left out.
        match text.find("[]") {
            Some(at) => text.insert_str(at + 1, &subscript.to_string()),
            None => text.push_str(&format!("[{subscript}]")),
        }
    }
    text
}

/// `, for n=2 and some data`
fn example(view: &FunctionView, w: &Witness) -> String {
    let name = |p: &Param| match p {
        Param::Symbol(symbol) => view.symbol(*symbol).to_owned(),
        Param::Term(term) => view.text(*term),
        Param::Distance { from, to } => format!("{} - {}", view.text(*to), view.text(*from)),
        Param::Row(_) | Param::Longest(_) | Param::End { .. } => "a subscript".to_owned(),
    };
    let value = |(p, v): &(Param, i128)| match p.is_truth(view.body()) {
        true if *v != 0 => name(p),
        true => format!("not {}", name(p)),
        false => format!("{}={v}", name(p)),
    };
    let values: Vec<String> = w.params.iter().map(value).collect();
    match (values.is_empty(), w.on_data) {
        (true, false) => String::new(),
        (true, true) => ", for some data".to_owned(),
        (false, false) => format!(", for {}", values.join(", ")),
        (false, true) => format!(", for {} and some data", values.join(", ")),
    }
}

/// "iteration i=3 writes a[4] on line 12; iteration i=4 reads it on line 12 (for n=5)".
pub(crate) fn example_sentence(view: &FunctionView, d: &Dependence) -> String {
    let Some(w) = d.witness.as_ref() else { return String::new() };
    let (first, second) = access_words(d.kind);
    let given = example(view, w);
    let given = given.strip_prefix(", ").map(|g| format!(" ({g})")).unwrap_or_default();
    format!(
        "iteration {} {first} {} on line {}; iteration {} {second} it on line {}{given}",
        iteration(view, &w.source, w.source_iteration),
        cell(view, d, w),
        view.line(d.source),
        iteration(view, &w.sink, w.sink_iteration),
        view.line(d.sink),
    )
}

/// What would remove the dependences of a loop: a sentence.
pub(crate) fn remedy(view: &FunctionView, id: LoopId) -> String {
    match main(view, id) {
        Some(first) => removal(view, id, first),
        None => String::new(),
    }
}

/// Whether the variable of a dependence may be read after the loop.
fn is_read_after(view: &FunctionView, id: LoopId, d: &Dependence) -> bool {
    analysis::live_out(view.body(), view.doc.program(), &view.facts, id).contains(&d.object.symbol)
}

/// Whether a loop around this one, or in it, can run on the GPU.
fn has_parallel_around(view: &FunctionView, id: LoopId) -> bool {
    view.is_in_parallel(id) || !crate::lints::parallel_inside(&view.facts, id).is_empty()
}

/// The least number of iterations between two that depend on each other, where all of them are that far apart or further.
fn nearest(all: &[Dependence]) -> Option<i128> {
    let apart = |d: &Dependence| d.distance.first().copied().flatten().map(i128::abs);
    all.iter().map(apart).collect::<Option<Vec<_>>>()?.into_iter().min()
}

/// What would remove one of a loop's dependences: a sentence.
pub(crate) fn removal(view: &FunctionView, id: LoopId, first: &Dependence) -> String {
    let all = &view.of(id).dependences;
    let name = view.dependent(first);
    // a scalar has no subscripts; the witness knows, and so does the access
    let scalar = view.body().as_symbol(first.source).is_some();
    let flow = (first.kind == DependenceKind::Flow).then_some(first);
    let of_kind = |kind| all.iter().any(|d| d.kind == kind && d.object == first.object);
    let anti = of_kind(DependenceKind::Anti);
    // a copy takes away what is read, not what is written twice
    let twice = of_kind(DependenceKind::Output);
    // what a copy, or a variable of its own, would not take away
    let later = all.iter().find(|d| d.kind == DependenceKind::Flow && d.object == first.object);
    // not all iterations need it where data decide
    let on_data = first.witness.as_ref().is_some_and(|w| w.on_data);
    let (needs, from) = if on_data { ("may need", "an earlier one") } else { ("needs", "the one before") };
    match (flow, scalar) {
        (Some(d), true) if !may_accumulate(view, id, d.object.symbol) => {
            let unless = match has_parallel_around(view, id) {
                true => ": else offload another loop of the nest",
                false => "",
            };
            format!("Each iteration {needs} `{name}` from {from}, unless it can be computed from the loop's index{unless}.")
        }
        (Some(_), true) => format!(
            "If `{name}` only accumulates, write it as `{name} = {name} + …` (or `*`, min, max) and use it for nothing else \
             in the loop: it is then a reduction. Else compute it from the loop's index."
        ),
        (Some(d), false) => match nearest(all) {
            Some(distance) if distance > 1 => format!(
                "This is a recurrence; only {distance} neighboring iterations are independent at a time{}.",
                if has_parallel_around(view, id) { ": offload another loop of the nest" } else { "" }
            ),
            _ if change(view, id, d) == Change::Sum => format!(
                "Each iteration adds to what others left in `{}`: sum it with atomic operations, or in a copy for each of some parts of the iterations{}.",
                view.dependent(d),
                if has_parallel_around(view, id) { ", or offload another loop of the nest" } else { "" }
            ),
            _ if change(view, id, d) == Change::Update => format!(
                "Iterations change what others left in `{}`{}.",
                view.dependent(d),
                if has_parallel_around(view, id) { ": offload another loop of the nest" } else { "" }
            ),
            _ => format!(
                "This is a recurrence: each iteration {needs} what an earlier one left in `{}`{}.",
                view.dependent(d),
                if has_parallel_around(view, id) { "; offload another loop of the nest" } else { "" }
            ),
        },
        // whether a later iteration reads what this one writes is not known
        (None, _) if later.is_none() && view.of(id).more_dependences => match has_parallel_around(view, id) {
            true => "Offload another loop of the nest.".to_owned(),
            false => String::new(),
        },
        (None, true) if later.is_some() || is_read_after(view, id, first) => {
            format!("Give every iteration a variable of its own in place of `{name}`, and set `{name}` after the loop.")
        }
        // who reads it before it is set in the iteration reads what an earlier one left
        (None, true) if anti => match has_parallel_around(view, id) {
            true => "Offload another loop of the nest.".to_owned(),
            false => String::new(),
        },
        (None, true) => format!("Declare `{name}` inside the loop, so that every iteration has its own."),
        (None, false) if later.is_some_and(|d| d.witness.is_none()) => match has_parallel_around(view, id) {
            true => "Offload another loop of the nest.".to_owned(),
            false => String::new(),
        },
        (None, false) if later.is_some() => format!(
            "Later iterations may read what is written to `{name}` on line {}, so a copy of it would not be enough: offload another \
             loop of the nest.",
            view.line(later.map_or(first.source, |d| d.source))
        ),
        (None, false) if anti && twice => match has_parallel_around(view, id) {
            true => "Offload another loop of the nest.".to_owned(),
            false => format!("`{name}` is also written by several iterations, so a copy of it would not be enough."),
        },
        (None, false) if anti => format!("Read from a copy of `{name}` made before the loop, and the dependence is gone."),
        (None, false) => format!(
            "Give every iteration its own cell of `{name}`, or write only in the last iteration that counts."
        ),
    }
}
