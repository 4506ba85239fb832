//! What the text shows of why something stands in a loop's way: where a pointer or an index is set, how a loop counts, what ends it.

use analysis::{NotCounted, Obstacle};
use term::{Body, Op, Storage, SymbolId, TermId, TypeKind};

use super::obstacles::ObstacleWords;
use crate::function_view::FunctionView;

/// A cast that is not followed.
pub(super) fn cast(view: &FunctionView, t: TermId) -> ObstacleWords {
    let (text, line) = (view.text(t), view.line(t));
    // what a macro writes has the text of its argument
    let (what, is_written) = match text.starts_with('(') {
        true => ("the cast", true),
        false => ("a cast that a macro makes of", false),
    };
    let remedy = match is_written && is_fixed_cast(view, t) {
        true => "Set a pointer of that type to it before the loop, and use that.",
        false => "",
    };
    ObstacleWords {
        kind: "unknown-pointer",
        reason: format!("{what} `{text}` on line {line} is not followed"),
        remedy: remedy.to_owned(),
    }
}

/// That a term is where a loop begins or ends, if it is no subscript.
pub(super) fn bounds_of(view: &FunctionView, t: TermId) -> Option<String> {
    let body = view.body();
    let span = body.span(t);
    let holds = |part: Option<TermId>| {
        part.is_some_and(|p| body.walk(p).any(|x| x == t) || body.span(p).contains(span))
    };
    let mut all = body.loops(body.root).filter_map(|l| Some((l, body.loop_parts(l)?)));
    all.find_map(|(l, parts)| match (holds(parts.init), holds(parts.condition)) {
        (true, _) => Some(format!("where the loop on line {} begins", view.line(l))),
        (_, true) => Some(format!("how far the loop on line {} runs", view.line(l))),
        _ => None,
    })
}

/// Whether a loop around the term moves the cell that it reads, or it moves a variable itself: `tokens[(*n)++]`, `list[count++]`.
pub(super) fn is_counted_up(view: &FunctionView, t: TermId) -> bool {
    let body = view.body();
    let moves = |x: TermId| match (body.op(x), body.args(x)) {
        (Op::Step { .. } | Op::Compound(_), &[place, ..]) => body.same(place, t),
        _ => false,
    };
    let itself = matches!(body.op(t), Op::Step { .. });
    itself || body.as_symbol(t).is_none() && body.loops(body.root).any(|l| body.walk(l).any(moves))
}

/// Whether a term belongs to a place that is written.
pub(super) fn is_written(view: &FunctionView, t: TermId) -> bool {
    let body = view.body();
    let place = |w: TermId| body.args(w).first().copied().filter(|_| body.op(w).is_write());
    body.walk(body.root).filter_map(place).any(|p| body.walk(p).any(|x| x == t))
}

/// Whether it is a variable that nothing read from memory is given to.
pub(super) fn is_computed(view: &FunctionView, t: TermId) -> bool {
    let body = view.body();
    let Some(s) = body.as_symbol(t) else { return false };
    // members of a structure that is no pointer's are variables as well
    let loads = |t: TermId| {
        body.walk(t).any(|x| matches!(body.op(x), Op::Index | Op::Deref | Op::Member { arrow: true, .. }))
    };
    let given = |t: TermId| match (body.op(t), body.args(t)) {
        (Op::Declare(d), &[value]) if *d == s => Some(value),
        (Op::Assign | Op::Compound(_), &[place, value]) if body.as_symbol(place) == Some(s) => Some(value),
        _ => None,
    };
    let mut all = body.walk(body.root).filter_map(given).peekable();
    all.peek().is_some() && !all.any(loads)
}

/// Whether a pointer that is cast is a variable, or one loaded from a structure, that the loops around leave alone.
fn is_fixed_cast(view: &FunctionView, cast: TermId) -> bool {
    let body = view.body();
    let Some(&of) = body.args(cast).first() else { return false };
    let pointer = body.as_symbol(of).or_else(|| match body.op(of) {
        Op::Member { .. } => body.path_of(of).map(|p| p.own),
        _ => None,
    });
    let named = || body.walk(of).filter_map(|t| body.as_symbol(t));
    let span = body.span(cast);
    let declared: Vec<SymbolId> = body
        .loops(body.root)
        .filter(|&l| body.span(l).contains(span))
        .flat_map(|l| body.walk(l))
        .filter_map(|t| match body.op(t) {
            Op::Declare(s) => Some(*s),
            _ => None,
        })
        .collect();
    let is_kept = |s: SymbolId| !declared.contains(&s) && set_around(view, cast, s).is_none();
    pointer.is_some_and(|p| named().chain([p]).all(is_kept))
}

/// The line in the loops around a place where a pointer is set to something else; a declaration gives each iteration its own.
pub(super) fn set_around(view: &FunctionView, t: TermId, pointer: SymbolId) -> Option<u32> {
    let body = view.body();
    let span = body.span(t);
    let around = body.loops(body.root).filter(|&l| body.span(l).contains(span));
    let sets = |x: &TermId| {
        let place = body.op(*x).is_write().then(|| body.args(*x).first().copied()).flatten();
        let is_it = |p: TermId| {
            body.as_symbol(p) == Some(pointer) || body.path_of(p).is_some_and(|path| path.own == pointer)
        };
        place.is_some_and(is_it)
    };
    around.flat_map(|l| body.walk(l)).find(sets).map(|x| view.line(x))
}

/// Whether a pointer is moved, and by numbers alone: `p++`, `p += n`, `p = p + n`. One that is set to another place, or loaded, is not
/// a subscript in another form.
pub(super) fn only_walks(view: &FunctionView, pointer: SymbolId) -> bool {
    let body = view.body();
    let moves = |t: TermId| match (body.op(t), body.args(t)) {
        (Op::Step { .. }, &[place]) if body.as_symbol(place) == Some(pointer) => Some(true),
        (Op::Compound(_), &[place, _]) if body.as_symbol(place) == Some(pointer) => Some(true),
        (Op::Assign, &[place, value]) if body.as_symbol(place) == Some(pointer) => Some(matches!(
            (body.op(value), body.args(value)),
            (Op::Binary(_), &[from, _]) if body.as_symbol(from) == Some(pointer)
        )),
        _ => None,
    };
    // by a condition it moves to where no subscript says
    let is_choice = |t: TermId| matches!(body.op(t), Op::If | Op::Select | Op::Switch);
    let choices = body.loops(body.root).flat_map(|l| body.walk(l)).filter(|&t| is_choice(t));
    let chosen: Vec<TermId> = choices.flat_map(|c| body.walk(c)).filter(|&t| moves(t).is_some()).collect();
    let inside = body.loops(body.root).flat_map(|l| body.walk(l)).filter_map(moves);
    let all: Vec<bool> = inside.collect();
    !all.is_empty() && chosen.is_empty() && all.iter().all(|walk| *walk)
}

/// The line on which the address of a variable of the function is taken, so that not its name alone reaches it.
pub(super) fn address_taken(view: &FunctionView, s: SymbolId) -> Option<u32> {
    let body = view.body();
    let symbol = &body.symbols[s];
    let is_own = matches!(symbol.storage, Storage::Param(_) | Storage::Local) && symbol.address_taken;
    let is_it = |x: TermId| {
        *body.op(x) == Op::AddrOf && body.args(x).first().is_some_and(|&of| body.as_symbol(of) == Some(s))
    };
    is_own.then(|| body.walk(body.root).find(|&x| is_it(x))).flatten().map(|x| view.line(x))
}

/// Why the index of a loop may change without the loop's doing. `t`: the loop or its condition.
pub(super) fn escapes(view: &FunctionView, t: TermId, line: u32) -> String {
    let body = view.body();
    let condition = body.loop_parts(t).and_then(|parts| parts.condition).unwrap_or(t);
    let index = body.walk(condition).filter_map(|x| body.as_symbol(x)).find(|&s| {
        let symbol = &body.symbols[s];
        !symbol.is_own_scalar() && !matches!(symbol.storage, Storage::Constant(_) | Storage::Function)
            || body.types.quals(symbol.ty).is_volatile
    });
    let Some(s) = index else {
        return format!("the index of the `for` on line {line} may be changed from elsewhere");
    };
    let name = view.symbol(s);
    let index = format!("`{name}`, which the loop on line {line} counts with,");
    match (&body.symbols[s].storage, address_taken(view, s)) {
        (Storage::StaticLocal { .. }, _) => {
            format!("{index} is `static`: all calls of the function share it")
        }
        (Storage::Param(_) | Storage::Local, Some(at)) => {
            format!("{index} may be changed through its address, which is taken on line {at}")
        }
        (Storage::Param(_) | Storage::Local, None) => format!("{index} may be changed from elsewhere"),
        _ => format!("{index} is a variable outside the function, which others may change"),
    }
}

/// Whether a label, or a `goto` that leaves none of the loops around it.
pub(super) fn stays_within(view: &FunctionView, t: TermId) -> bool {
    let body = view.body();
    let Op::Goto(name) = body.op(t) else { return matches!(body.op(t), Op::Label(_)) };
    let is_label = |x: TermId| matches!(body.op(x), Op::Label(l) if l == name);
    let around = body.walk(body.root).filter(|&l| body.op(l).is_loop() && body.walk(l).any(|x| x == t));
    around.into_iter().all(|l| body.walk(l).any(is_label))
}

/// `break`, `return`, `goto`.
pub(super) fn exit_word(view: &FunctionView, obstacle: &Obstacle) -> &'static str {
    match view.body().op(obstacle.term) {
        Op::Return if view.text(obstacle.term).starts_with("throw") => "throw",
        Op::Return => "return",
        Op::Goto(_) | Op::Label(_) => "goto",
        Op::Call => "a call",
        _ => "break",
    }
}

/// Where a loop goes from an element to the one that a pointer in it shows: `p = p->next`, or by way of another variable.
fn next_of_chain(body: &Body, of: TermId) -> Option<TermId> {
    let given = |t: TermId| match (body.op(t), body.args(t)) {
        (Op::Assign, &[to, value]) => Some((body.as_symbol(to)?, value)),
        (Op::Declare(s), &[value]) => Some((*s, value)),
        _ => None,
    };
    let behind = |value: TermId| match (body.op(value), body.args(value)) {
        (Op::Member { arrow: true, .. }, &[from]) => body.as_symbol(from),
        _ => None,
    };
    // a loop may hold another one that does
    let condition = body.loop_parts(of).and_then(|parts| parts.condition);
    let is_tested =
        |s: SymbolId| condition.is_none_or(|c| body.walk(c).any(|t| body.as_symbol(t) == Some(s)));
    let all: Vec<(TermId, (SymbolId, TermId))> =
        body.walk(of).filter_map(|t| given(t).map(|g| (t, g))).collect();
    let comes_back = |to: SymbolId, from: SymbolId| {
        to == from || all.iter().any(|(_, (s, value))| *s == from && body.as_symbol(*value) == Some(to))
    };
    let is_next = |(_, (to, value)): &&(TermId, (SymbolId, TermId))| {
        let pointer = matches!(body.types.kind(body.symbols[*to].ty), TypeKind::Pointer { .. });
        pointer && behind(*value).is_some_and(|from| is_tested(from) && comes_back(*to, from))
    };
    all.iter().find(is_next).map(|a| a.0)
}

pub(super) fn not_counted(
    view: &FunctionView,
    term: TermId,
    why: NotCounted,
    line: u32,
    keyword: &str,
) -> ObstacleWords {
    let is_by_step = matches!(why, NotCounted::Step | NotCounted::While);
    if let Some(next) = Some(term).filter(|_| is_by_step).and_then(|t| next_of_chain(view.body(), t)) {
        let reason = format!(
            "the loop on line {line} goes from one element to the next by a pointer in it (`{}`), so each iteration waits for the one before",
            view.text(next).trim_end_matches(';')
        );
        let remedy = "Put the elements, or pointers to them, into an array first.".to_owned();
        return ObstacleWords { kind: "not-counted", reason, remedy };
    }
    let (reason, remedy) = match why {
        NotCounted::While => (
            format!("how many rounds the `{keyword}` loop on line {line} makes is not known beforehand"),
            "",
        ),
        NotCounted::NoInit => (
            format!("the `for` on line {line} gives its index no first value"),
            "Set the index in the header: `for (i = a; …)`.",
        ),
        NotCounted::NoCondition => (
            format!("the `for` on line {line} has no condition, so its number of iterations is not known beforehand"),
            "",
        ),
        NotCounted::Condition => (
            format!("the condition of the `for` on line {line} is not one comparison of the index with a fixed bound"),
            "",
        ),
        NotCounted::Step => (
            format!("the `for` on line {line} does not move its index by a fixed amount"),
            "",
        ),
        NotCounted::IndexWritten => (
            format!("the index of the `for` on line {line} is written in the loop's body"),
            "",
        ),
        NotCounted::IndexHidden => (
            format!("what was not understood on line {line} may change the index of the `for` around it"),
            "",
        ),
        NotCounted::BoundVaries => (
            format!("the bound of the `for` on line {line} may change during the loop"),
            "If it keeps its value all the same, copy it to a local variable before the loop.",
        ),
        NotCounted::WrongWay => (
            format!("the index of the `for` on line {line} moves away from its bound"),
            "Correct the comparison or the step.",
        ),
        NotCounted::Rounds => (
            format!("how many rounds the `{keyword}` loop on line {line} makes cannot be computed before it from variables of the function"),
            "",
        ),
        NotCounted::IndexType => (
            format!("the index of the `for` on line {line} is not an integer"),
            "Count with an integer and compute the other value from it.",
        ),
        NotCounted::IndexEscapes => (
            format!("the index of the `for` on line {line} may be changed from elsewhere"),
            "",
        ),
    };
    ObstacleWords { kind: "not-counted", reason, remedy: remedy.to_owned() }
}

/// Whether a value only decides what runs.
pub(super) fn is_tested(view: &FunctionView, value: TermId) -> bool {
    let body = view.body();
    body.walk(body.root).any(|t| match (body.op(t), body.args(t)) {
        (Op::If | Op::Select | Op::While, &[condition, ..]) => body.walk(condition).any(|x| x == value),
        (Op::Binary(b), parts) => b.is_logical() && parts.contains(&value),
        (Op::Unary(term::UnOp::Not), &[of]) => of == value,
        _ => false,
    })
}
