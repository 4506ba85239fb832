//! Conditions in words: the contract's short text, and what must be true as the rest of a sentence.

use analysis::{plain_name, Columns, ConditionKind, LoopId, Step, WayOut};
use term::{BinOp, Body, FloatKind, Len, Op, TermId, TypeKind, UnOp};

use super::operator;
use crate::function_view::FunctionView;

/// A condition in words.
pub(crate) struct Condition {
    /// Kebab-case.
    pub kind: &'static str,
    /// `no-alias(a,b)`
    pub text: String,
    /// Continues "it is checked that …".
    pub sentence: String,
}

/// The name of the function whose call a term is.
fn callee(view: &FunctionView, t: TermId) -> Option<String> {
    let body = view.body();
    let f = body.args(t).first().filter(|_| *body.op(t) == Op::Call)?;
    Some(plain_name(&body.symbols[body.as_symbol(*f)?].name).to_owned())
}

/// The words of a condition.
pub(crate) fn condition(view: &FunctionView, kind: &ConditionKind) -> Condition {
    let (kind, argument, sentence) = match kind {
        ConditionKind::NoAlias(a, b) => {
            let (a, b) = (view.object(a), view.object(b));
            ("no-alias", format!("{a},{b}"), format!("`{a}` and `{b}` do not overlap"))
        }
        ConditionKind::NoWrap(term) => {
            let text = view.text(*term);
            let sentence = match callee(view, *term) {
                Some(f) => format!("nothing that `{f}(…)` computes wraps around"),
                None => match converted(view, *term) {
                    Some(how) => how,
                    None => format!("`{text}` does not wrap around"),
                },
            };
            ("no-wrap", text, sentence)
        }
        ConditionKind::Bounds { access, length_term, length } => bounds(view, *access, *length_term, *length),
        &ConditionKind::InRow { access, stride, times, columns } => {
            in_row(view, access, (stride, times), columns)
        }
        ConditionKind::Injective(term) => {
            let text = view.text(*term);
            let sentence = format!("no two elements of `{text}` that the loop reads are equal");
            ("injective", text, sentence)
        }
        ConditionKind::Sorted(term) => {
            let text = view.text(*term);
            let sentence = format!("the elements of `{text}` that the loop reads do not decrease");
            ("sorted", text, sentence)
        }
        ConditionKind::AtMost { array, term, number } => at_most(view, *array, *term, *number),
        ConditionKind::InRange { array, low, high } => {
            let [array, low, high] = [array, low, high].map(|t| view.text(*t));
            let sentence = format!(
                "the elements of `{array}` that the loop reads are at least `{low}` and less than `{high}`"
            );
            ("in-range", format!("{array},{low},{high}"), sentence)
        }
        ConditionKind::Size { array, length } => {
            let [array, length] = [array, length].map(|t| view.text(*t));
            let sentence = format!("`{array}` has `{length}` elements");
            ("size", format!("{array},{length}"), sentence)
        }
        ConditionKind::DistinctRows(rows) => {
            distinct_rows(view.object(rows), view.body().semantics.checked_bounds)
        }
        ConditionKind::Pure(function) => {
            let name = view.symbol(*function).to_owned();
            let sentence = format!("`{name}` reads and writes no memory");
            ("pure", name, sentence)
        }
        ConditionKind::Reassociate(op, ty) => {
            let op = operator(*op);
            let name = match view.body().types.kind(*ty) {
                TypeKind::Float(FloatKind::F32) => "float",
                TypeKind::Float(FloatKind::F64) => "double",
                TypeKind::Float(FloatKind::Long) => "long double",
                TypeKind::Int(kind) => kind.c_name(),
                _ => "value",
            };
            let sentence = format!("`{op}` on {name} is regrouped, so the last bits may differ");
            ("reassociate", format!("{name} {op}"), sentence)
        }
        ConditionKind::Asserted(term) => asserted(view, *term),
        ConditionKind::StepSign(term) => {
            let (text, sign) = step_sign(view, *term);
            ("step-sign", text.clone(), format!("`{text}` {sign}"))
        }
        ConditionKind::Trips(term) => {
            let line = view.line(*term);
            let sentence = format!("the bound of the loop on line {line} is not below its first value");
            ("trips", format!("line {line}"), sentence)
        }
        ConditionKind::NotNull(_) | ConditionKind::NonZero(_) | ConditionKind::NoOverflow(_) => {
            not_thrown(view, kind)
        }
        ConditionKind::KeepsSmall => {
            let sentence = "small numbers are not taken for zero (a function of this program reaches the floating-point environment)";
            ("keeps-small", String::new(), sentence.to_owned())
        }
        ConditionKind::RoundsToNearest => {
            let sentence =
                "numbers are rounded to nearest and small ones kept (a function of this program reaches the floating-point environment)";
            ("rounds-to-nearest", String::new(), sentence.to_owned())
        }
        ConditionKind::Terminates(term) => {
            let text = view.text(*term);
            let sentence = format!("the loop ends: the index meets `{text}`");
            ("terminates", text, sentence)
        }
    };
    let text = match argument.as_str() {
        "" => kind.to_owned(),
        _ => format!("{kind}({argument})"),
    };
    Condition { kind, text, sentence }
}

/// That rows lie apart; where arrays know their lengths, rows are arrays.
fn distinct_rows(name: String, are_arrays: bool) -> (&'static str, String, String) {
    let sentence = match are_arrays {
        true => format!("no two rows of `{}` are one array", name.trim_end_matches("[]")),
        false => format!("no two of the pointers `{name}` show the same memory"),
    };
    ("distinct-rows", name, sentence)
}

/// What a number must be that keeps its value in another type: `n` is not negative.
fn converted(view: &FunctionView, term: TermId) -> Option<String> {
    let body = view.body();
    if matches!(body.op(term), Op::Sym(_) | Op::Index | Op::Member { .. } | Op::Deref) {
        // nothing is computed: the operation around is one of another type
        let (text, from) = (view.text(term), body.types.as_int(body.ty(term))?);
        let around = body.ids().find(|&p| body.args(p).contains(&term));
        let to = around.and_then(|p| body.types.as_int(body.ty(p)));
        let is_unsigned = to.is_some_and(|to| from.signed() && !to.signed() && to.bits() >= from.bits());
        return Some(match is_unsigned {
            true => format!("`{text}` is not negative"),
            false => format!("`{text}` keeps its value where it is converted"),
        });
    }
    let (Op::Cast, &[of]) = (body.op(term), body.args(term)) else { return None };
    let (from, to) = (body.types.as_int(body.ty(of))?, body.types.as_int(body.ty(term))?);
    let text = view.text(of);
    Some(match from.signed() && !to.signed() && to.bits() >= from.bits() {
        true => format!("`{text}` is not negative"),
        false => format!("`{text}` is a number that `{}` holds", to.c_name()),
    })
}

/// Whether a condition is there only for a copy of the loop on a device: where what is only read lies, and how numbers are rounded.
pub(super) fn is_for_copies(view: &FunctionView, id: LoopId, kind: &ConditionKind) -> bool {
    let (body, of) = (view.body(), view.of(id).term);
    match kind {
        ConditionKind::RoundsToNearest | ConditionKind::KeepsSmall => true,
        ConditionKind::InRow { access: t, .. }
        | ConditionKind::Bounds { access: t, .. }
        | ConditionKind::NoWrap(t)
            if *body.op(*t) == Op::Call =>
        {
            let only_reads = analysis::only_gives(body, view.doc.program(), *t);
            only_reads && body.args(*t).iter().skip(1).all(|&a| !is_written_in(body, of, a))
        }
        ConditionKind::InRow { access, .. } | ConditionKind::Bounds { access, .. } => {
            callee(view, *access).is_none() && !is_written_in(body, of, *access)
        }
        ConditionKind::NoWrap(t) => {
            let subscripts = body.walk(of).filter(|&x| match (body.op(x), body.args(x)) {
                (Op::Index, &[_, s]) => body.walk(s).any(|y| y == *t),
                _ => false,
            });
            let around: Vec<TermId> = subscripts.collect();
            !around.is_empty() && !around.iter().any(|&x| is_written_in(body, of, x))
        }
        _ => false,
    }
}

/// Whether a loop writes to the array that an access names.
pub(crate) fn is_written_in(body: &Body, of: TermId, access: TermId) -> bool {
    let array = analysis::base_symbol(body, access);
    let stores = |t: TermId| {
        let place = body.args(t).first().copied().filter(|_| body.op(t).is_write());
        let place = place.filter(|&p| body.as_symbol(p).is_none());
        place.is_some_and(|p| analysis::base_symbol(body, p) == array)
    };
    array.is_none() || body.walk(of).any(stores)
}

/// What is added, and what it must be: of `k += by` in a loop's body that `by` is positive; of a loop's own step what its comparison asks.
fn step_sign(view: &FunctionView, term: TermId) -> (String, &'static str) {
    let body = view.body();
    if let (Op::Compound(BinOp::Add | BinOp::Sub), &[_, by]) = (body.op(term), body.args(term)) {
        return (view.text(by), "is positive");
    }
    let controls = view.facts.loops.iter().filter_map(|l| l.control.as_ref().ok());
    let mut steps = controls.filter_map(|c| match c.step {
        Step::Term { term: t, negated } if t == term => Some((c.relation, negated)),
        _ => None,
    });
    let sign = match steps.next() {
        Some((relation, negated)) => {
            let up = matches!(relation, BinOp::Lt | BinOp::Le);
            if up != negated {
                "is positive"
            } else {
                "is negative"
            }
        }
        None => "goes the way that the loop needs (its sign)",
    };
    (view.text(term), sign)
}

/// A subscript inside its dimension.
fn bounds(
    view: &FunctionView,
    access: TermId,
    length_term: Option<TermId>,
    length: Option<u64>,
) -> (&'static str, String, String) {
    let body = view.body();
    // of a place with several subscripts the one whose dimension has this length
    let mut at = access;
    let mut fitting: Vec<TermId> = Vec::new();
    while let (Op::Index | Op::Member { .. }, &[of, ..]) = (body.op(at), body.args(at)) {
        let is_length = |len: &Len| match (len, length_term, length) {
            (Len::Const(n), None, Some(length)) => *n == length,
            (Len::Term(t), Some(term), _) => body.same(*t, term),
            _ => false,
        };
        let fits = match body.types.kind(body.ty(of)) {
            TypeKind::Array { len, .. } => is_length(len),
            TypeKind::Pointer { declared, .. } => is_length(declared),
            _ => false,
        };
        if fits && *body.op(at) == Op::Index {
            fitting.push(at);
        }
        at = of;
    }
    let one = match fitting[..] {
        [] => Some(access),
        [one] => Some(one),
        _ => None,
    };
    let subscript = match one.map(|t| body.args(t)) {
        Some(&[_, subscript, ..]) => view.text(subscript),
        _ => view.text(access),
    };
    let length = match (length_term, length) {
        (Some(term), _) => length_text(view, term),
        (None, Some(n)) => n.to_string(),
        (None, None) => match view.body().args(access) {
            [array, ..] => format!("{}.Length", view.text(*array)),
            _ => "length".to_owned(),
        },
    };
    if one.is_none() {
        let sentence = format!("`{subscript}` stays inside its dimensions of length `{length}`");
        return ("bounds", format!("{subscript},{length}"), sentence);
    }
    let text = format!("0<={subscript}<{length}");
    let sentence = format!("`{subscript}` is never outside its dimension of length `{length}`");
    ("bounds", text, sentence)
}

/// What must not be thrown.
fn not_thrown(view: &FunctionView, kind: &ConditionKind) -> (&'static str, String, String) {
    match kind {
        ConditionKind::NotNull(term) => {
            let text = view.text(*term);
            let sentence = format!("`{text}` is not null");
            ("not-null", text, sentence)
        }
        ConditionKind::NonZero(term) => {
            let text = view.text(*term);
            let sentence = format!("no division by `{text}` throws");
            ("non-zero", text, sentence)
        }
        ConditionKind::NoOverflow(term) => {
            let text = view.text(*term);
            let sentence = format!("`{text}`, which is checked, does not overflow");
            ("no-overflow", text, sentence)
        }
        _ => ("", String::new(), String::new()),
    }
}

/// The length of an array, by the name that it has where no text of its own names it.
fn length_text(view: &FunctionView, term: TermId) -> String {
    let body = view.body();
    match body.as_symbol(term) {
        Some(s) if body.said.lengths.iter().any(|l| l.length == s) => view.symbol(s).to_owned(),
        _ => view.text(term),
    }
}

fn in_row(
    view: &FunctionView,
    access: TermId,
    (stride, times): (TermId, u32),
    columns: Columns,
) -> (&'static str, String, String) {
    let (called, stride) = (callee(view, access), view.text(stride));
    // the members of one element lie in one row
    let mut element = access;
    while let (Op::Member { arrow: false, .. }, &[of]) = (view.body().op(element), view.body().args(element))
    {
        element = of;
    }
    let is_element = matches!(view.body().op(element), Op::Index | Op::Deref);
    let whole = view.text(access);
    let own = view.text(if is_element { element } else { access });
    // the length of the row has no words of its own where it stands in what is called
    let same = own == stride || whole == stride;
    let stride = match times {
        _ if same => stride,
        1 => stride,
        n if stride.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') => format!("{n} * {stride}"),
        n => format!("{n} * ({stride})"),
    };
    let access = called.clone().map_or(own, |f| format!("{f}(…)"));
    let sentence = match same {
        // one column of each row: rows must only begin at different cells
        false if columns == Columns::Alone => format!("`{stride}` is not 0"),
        true if columns == Columns::Alone && called.is_some() => {
            format!("what `{access}` touches moves by a step that is not 0")
        }
        true if columns == Columns::Alone => format!("`{access}` moves by a step that is not 0"),
        // of a row of nothing all elements are one
        false if columns == Columns::First => format!("`{stride}` is positive"),
        // the step stands nowhere in the text: that of `p += n`, or of `i + i * n`
        true if columns == Columns::First && called.is_some() => {
            format!("what `{access}` touches moves by a positive step")
        }
        true if columns == Columns::First => format!("`{access}` moves by a positive step"),
        same if columns == Columns::Anywhere => {
            let row = if same { "that step".to_owned() } else { format!("`{stride}`") };
            let of = if same { "a step".to_owned() } else { row.clone() };
            format!("what `{access}` adds to multiples of {of} differs by less than {row}")
        }
        true if called.is_some() => format!("what `{access}` touches stays in its row"),
        true => format!("`{access}` stays in its row"),
        _ if called.is_some() => format!("what `{access}` touches stays below `{stride}` in its row"),
        false => format!("what `{access}` adds to a multiple of `{stride}` stays below `{stride}`"),
    };
    let stride = if same { "a row".to_owned() } else { stride };
    ("in-row", format!("{access},{stride}"), sentence)
}

fn asserted(view: &FunctionView, term: TermId) -> (&'static str, String, String) {
    let line = view.line(term);
    let body = view.body();
    let ways = view.facts.loops.iter().flat_map(|l| l.granted.iter().flatten());
    if let Some(way) = ways.into_iter().find(|w| w.check == term) {
        return way_out(view, *way);
    }
    let holds = body.asserted(term).map(|c| view.text(c));
    let sentence = match (&holds, callee(view, term)) {
        (Some(c), _) => format!("what is asserted on line {line} holds: `{c}`"),
        (None, Some(f)) => format!("no check in `{f}`, called on line {line}, fails"),
        (None, None) => format!("what is asserted on line {line} holds"),
    };
    let text = match (holds, body.op(term)) {
        (Some(holds), _) => holds,
        (None, Op::Call) => view.text(term),
        (None, _) => format!("line {line}"),
    };
    ("asserted", text, sentence)
}

/// That a branch is not entered.
fn way_out(view: &FunctionView, way: WayOut) -> (&'static str, String, String) {
    let body = view.body();
    let (mut condition, mut always) = (body.args(way.check)[0], way.always);
    while let (Op::Unary(UnOp::Not), &[of]) = (body.op(condition), body.args(condition)) {
        (condition, always) = (of, !always);
    }
    let is_truth = matches!(body.op(condition), Op::Binary(op) if op.is_comparison() || op.is_logical());
    let (text, line) = (view.text(condition), view.line(way.check));
    let says = match (always, is_truth) {
        (true, true) => "always holds",
        (true, false) => "is not 0",
        (false, true) => "never holds",
        (false, false) => "is 0",
    };
    let sentence = format!("`{text}` on line {line} {says}");
    ("asserted", if always { text.to_string() } else { format!("!({text})") }, sentence)
}

fn at_most(
    view: &FunctionView,
    array: TermId,
    term: Option<TermId>,
    number: u64,
) -> (&'static str, String, String) {
    let array = view.text(array);
    let most = term.map_or_else(|| number.to_string(), |t| view.text(t).to_string());
    let sentence = format!("no element of `{array}` that the loop reads is larger than `{most}`");
    ("at-most", format!("{array},{most}"), sentence)
}
