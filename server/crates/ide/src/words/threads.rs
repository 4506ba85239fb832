//! How iterations become threads, as text.

use analysis::{Expr, LoopId, Param, Pred, Step, ThreadMap};
use term::{BinOp, Op, TermId};

use crate::function_view::FunctionView;

/// Number of threads that do work, as an expression in the program's variables: the product of the trip counts.
/// `None` where a loop does not count, or counts in a way that has no short form.
pub(crate) fn thread_count(view: &FunctionView, band: &[LoopId]) -> Option<String> {
    let counts: Option<Vec<String>> = band.iter().map(|l| trip_count(view, *l)).collect();
    let counts = counts?;
    // rows of different lengths have no one number
    let body = view.body();
    let indices: Vec<term::SymbolId> =
        band.iter().filter_map(|l| Some(view.of(*l).control.as_ref().ok()?.index)).collect();
    let mut ends = band
        .iter()
        .filter_map(|l| view.of(*l).control.as_ref().ok())
        .flat_map(|c| [Some(c.lower), c.bound])
        .flatten();
    if ends.any(|t| body.walk(t).any(|x| body.as_symbol(x).is_some_and(|s| indices.contains(&s)))) {
        return None;
    }
    match counts.as_slice() {
        [one] => Some(one.clone()),
        many => {
            let factor = |c: &String| if is_word(c) { c.clone() } else { format!("({c})") };
            Some(many.iter().map(factor).collect::<Vec<_>>().join(" * "))
        }
    }
}

/// `n`, `n - 1`, `(n - 2 + 1) / 2`
fn trip_count(view: &FunctionView, id: LoopId) -> Option<String> {
    let control = view.of(id).control.as_ref().ok()?;
    let Step::Const(step) = control.step else {
        return None;
    };
    if !control.is_plain() {
        return None;
    }
    let bound = control.bound?;
    let operand = |term| {
        let text = view.text(term);
        // a name or number is short; what is a sum needs parentheses after a minus
        match view.body().op(term) {
            Op::Sym(_) | Op::Int(_) | Op::Index | Op::Member { .. } | Op::Call => text,
            _ if is_word(&text) => text,
            _ => format!("({text})"),
        }
    };
    let (low, high) = match step > 0 {
        true => (control.lower, bound),
        false => (bound, control.lower),
    };
    let closed = match control.relation {
        BinOp::Le | BinOp::Ge => 1,
        BinOp::Lt | BinOp::Gt | BinOp::Ne => 0,
        _ => return None,
    };
    let (low_int, high_int) = (view.body().as_int(low), view.body().as_int(high));
    let stride = step.checked_abs()?;
    // `i <= n - 1` runs to n, not to n - 1 + 1
    let (high, more) = match (high_int, split(view, high)) {
        (None, Some((rest, constant))) => (rest, constant),
        _ => (high, 0),
    };
    // `i < first + n` from `first` on are n
    if let (1, 0, 0, Some(rest)) = (stride, closed, more, beyond(view, high, low)) {
        return Some(view.text(rest));
    }
    if let (Some(a), Some(b)) = (low_int, high_int) {
        let span = b.checked_sub(a)?.checked_add(closed)?.max(0);
        return Some(span.checked_add(stride - 1)?.checked_div(stride)?.to_string());
    }
    let offset = more.checked_add(closed)?.checked_sub(low_int.unwrap_or(0))?.checked_add(stride - 1)?;
    let mut text = if low_int.is_some() && offset == 0 { view.text(high) } else { operand(high) };
    if low_int.is_none() {
        text = format!("{text} - {}", operand(low));
    }
    match offset {
        0 => {}
        o if o > 0 => text = format!("{text} + {o}"),
        o => text = format!("{text} - {}", o.unsigned_abs()),
    }
    Some(if stride == 1 { text } else { format!("({text}) / {stride}") })
}

/// What a sum is beyond one of its two parts.
fn beyond(view: &FunctionView, sum: TermId, part: TermId) -> Option<TermId> {
    let body = view.body();
    let (Op::Binary(BinOp::Add), &[a, b]) = (body.op(sum), body.args(sum)) else { return None };
    let is_part = |x: TermId| body.as_symbol(x).is_some() && body.as_symbol(x) == body.as_symbol(part);
    match (is_part(a), is_part(b)) {
        (true, _) => Some(b),
        (_, true) => Some(a),
        _ => None,
    }
}

/// A sum with a constant as the rest and the constant.
fn split(view: &FunctionView, term: TermId) -> Option<(TermId, i128)> {
    let body = view.body();
    let (sign, a, b) = match (body.op(term), body.args(term)) {
        (Op::Binary(BinOp::Add), &[a, b]) => (1, a, b),
        (Op::Binary(BinOp::Sub), &[a, b]) => (-1, a, b),
        _ => return None,
    };
    match (body.as_int(a), body.as_int(b)) {
        (None, Some(c)) => Some((a, c.checked_mul(sign)?)),
        (Some(c), None) if sign == 1 => Some((b, c)),
        _ => None,
    }
}

fn is_word(text: &str) -> bool {
    text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// Per statement inside the innermost loop of the band, in textual order, the coordinates its instances run at.
pub(crate) fn statement_maps(view: &FunctionView, band: &[LoopId]) -> Vec<(String, String)> {
    let Some(inner) = band.last() else {
        return Vec::new();
    };
    let body = view.body();
    let names: Vec<&str> = band.iter().filter_map(|l| view.index_name(*l)).collect();
    let coordinates = match names.as_slice() {
        [one] => (*one).to_owned(),
        many => format!("({})", many.join(", ")),
    };
    let Some(parts) = body.loop_parts(view.of(*inner).term) else {
        return Vec::new();
    };
    let mut maps = Vec::new();
    // the headers of loops inside are no statements
    let headers: Vec<TermId> = body.loops(parts.body).flat_map(|l| header(body, l).iter().copied()).collect();
    let mut walk = body.walk(parts.body);
    while let Some(term) = walk.next() {
        if headers.contains(&term) {
            walk.skip_children_of(term);
            continue;
        }
        let is_statement = match body.op(term) {
            op if op.is_write() => true,
            Op::Call => true,
            Op::Declare(_) => !body.args(term).is_empty(),
            _ => false,
        };
        if is_statement {
            walk.skip_children_of(term);
            maps.push((format!("S{}", maps.len() + 1), coordinates.clone()));
        }
    }
    maps
}

/// First value, condition and step of a `for`.
fn header(body: &term::Body, of: TermId) -> &[TermId] {
    match (body.op(of), body.args(of)) {
        (Op::For, args) => args.get(..3).unwrap_or(&[]),
        _ => &[],
    }
}

/// Per statement the coordinates of its thread: `i - j + N`, `(i, j)`.
pub(crate) fn affine_maps(view: &FunctionView, map: &ThreadMap) -> Vec<(String, String)> {
    let one = |(k, s): (usize, &analysis::StatementMap)| {
        let ids: Vec<String> = s.coordinates.iter().map(|e| value(view, e)).collect();
        let text = if ids.len() == 1 { ids.concat() } else { format!("({})", ids.join(", ")) };
        (format!("S{}", k + 1), text)
    };
    map.statements.iter().enumerate().map(one).collect()
}

/// How many threads a map makes: `2 * N + 1`, `N * N`.
pub(crate) fn threads(view: &FunctionView, map: &ThreadMap) -> String {
    let counts: Vec<String> = map.extents.iter().map(|e| value(view, e)).collect();
    match counts.as_slice() {
        [one] => one.clone(),
        many => {
            let factor = |c: &String| if is_word(c) { c.clone() } else { format!("({c})") };
            many.iter().map(factor).collect::<Vec<_>>().join(" * ")
        }
    }
}

/// A host expression as C, its constant last.
pub(crate) fn value(view: &FunctionView, e: &Expr) -> String {
    let operand = |e: &Expr| match e {
        Expr::Int(n) if *n >= 0 => n.to_string(),
        Expr::Param(_) | Expr::Min(_) | Expr::Max(_) => value(view, e),
        _ => format!("({})", value(view, e)),
    };
    let call = |name: &str, all: &[Expr]| {
        let all: Vec<String> = all.iter().map(|e| value(view, e)).collect();
        format!("{name}({})", all.join(", "))
    };
    match e {
        Expr::Int(n) => n.to_string(),
        Expr::Param(Param::Symbol(s)) => view.symbol(*s).to_owned(),
        Expr::Param(Param::Row(_) | Param::Longest(_) | Param::End { .. }) => "a subscript".to_owned(),
        Expr::Param(Param::Distance { from, to }) => {
            format!("({} - {})", view.text(*to), view.text(*from))
        }
        Expr::Param(Param::Term(t)) => {
            let text = view.text(*t);
            let plain = matches!(view.body().op(*t), Op::Index | Op::Member { .. } | Op::Call);
            if plain || is_word(&text) {
                text
            } else {
                format!("({text})")
            }
        }
        Expr::Add(items) => {
            let mut out = String::new();
            let (numbers, others): (Vec<&Expr>, Vec<&Expr>) =
                items.iter().partition(|i| matches!(i, Expr::Int(_)));
            // what is taken away stands after something
            let lead = others.iter().position(|i| !matches!(i, Expr::Mul(k, _) if *k < 0)).unwrap_or(0);
            let head = others.get(lead).into_iter();
            let tail = others.iter().enumerate().filter(|(k, _)| *k != lead).map(|(_, e)| e);
            for item in head.chain(tail).chain(&numbers) {
                let (minus, text) = match item {
                    Expr::Int(n) => (*n < 0, n.unsigned_abs().to_string()),
                    Expr::Mul(-1, a) => (true, operand(a)),
                    Expr::Mul(k, a) => (*k < 0, format!("{} * {}", k.unsigned_abs(), operand(a))),
                    other => (false, value(view, other)),
                };
                match (out.is_empty(), minus) {
                    (true, false) => {}
                    (true, true) => out.push('-'),
                    (false, false) => out.push_str(" + "),
                    (false, true) => out.push_str(" - "),
                }
                out.push_str(&text);
            }
            if out.is_empty() {
                out.push('0');
            }
            out
        }
        Expr::Mul(-1, a) => format!("-{}", operand(a)),
        Expr::Mul(k, a) => format!("{k} * {}", operand(a)),
        Expr::Product(a, b) => format!("{} * {}", operand(a), operand(b)),
        Expr::FloorDiv(a, k) => format!("{} / {k}", operand(a)),
        Expr::Quotient(a, b) => format!("{} / {}", operand(a), operand(b)),
        Expr::Min(all) => call("min", all),
        Expr::Max(all) => call("max", all),
        Expr::Select(p, a, b) => {
            let p = match &**p {
                Pred::NonNegative(e) => format!("{} >= 0", value(view, e)),
                Pred::Zero(e) => format!("{} == 0", value(view, e)),
                _ => "…".to_owned(),
            };
            format!("{p} ? {} : {}", operand(a), operand(b))
        }
    }
}
