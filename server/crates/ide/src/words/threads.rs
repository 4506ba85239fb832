//! How iterations become threads, as text.

use analysis::{LoopId, Step};
use term::{BinOp, Op};

use crate::place::Place;

/// Number of threads that do work, as an expression in the program's variables: the product of the trip counts.
/// `None` where a loop does not count, or counts in a way that has no short form.
pub(crate) fn thread_count(place: &Place, band: &[LoopId]) -> Option<String> {
    let counts: Option<Vec<String>> = band.iter().map(|l| trip_count(place, *l)).collect();
    let counts = counts?;
    match counts.as_slice() {
        [one] => Some(one.clone()),
        many => {
            let factor = |c: &String| if is_word(c) { c.clone() } else { format!("({c})") };
            Some(many.iter().map(factor).collect::<Vec<_>>().join(" * "))
        }
    }
}

/// `n`, `n - 1`, `(n - 2 + 1) / 2`
fn trip_count(place: &Place, id: LoopId) -> Option<String> {
    let control = place.of(id).control.as_ref().ok()?;
    let Step::Const(step) = control.step else {
        return None;
    };
    if !control.is_plain() {
        return None;
    }
    let bound = control.bound?;
    let operand = |term| {
        let text = place.text(term);
        // a name or number is short; what is a sum needs parentheses after a minus
        match place.body().op(term) {
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
    let (low_int, high_int) = (place.body().as_int(low), place.body().as_int(high));
    let stride = step.checked_abs()?;
    if let (Some(a), Some(b)) = (low_int, high_int) {
        let span = b.checked_sub(a)?.checked_add(closed)?.max(0);
        return Some(span.checked_add(stride - 1)?.checked_div(stride)?.to_string());
    }
    let offset = closed - low_int.unwrap_or(0) + (stride - 1);
    let mut text = if low_int.is_some() && offset == 0 { place.text(high) } else { operand(high) };
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

fn is_word(text: &str) -> bool {
    text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// Per statement inside the innermost loop of the band, in textual order, the coordinates its instances run at.
pub(crate) fn statement_maps(place: &Place, band: &[LoopId]) -> Vec<(String, String)> {
    let Some(inner) = band.last() else {
        return Vec::new();
    };
    let body = place.body();
    let names: Vec<&str> = band.iter().filter_map(|l| place.index_name(*l)).collect();
    let coordinates = match names.as_slice() {
        [one] => (*one).to_owned(),
        many => format!("({})", many.join(", ")),
    };
    let Some(parts) = body.loop_parts(place.of(*inner).term) else {
        return Vec::new();
    };
    let mut maps = Vec::new();
    let mut walk = body.walk(parts.body);
    while let Some(term) = walk.next() {
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
