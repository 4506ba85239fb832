//! A loop whose iterations run in another order, written as C again: what is said to be independent, or a reduction over
//! integers, computes the same in any.

use term::{Body, Op, SymbolId, TermId};

/// In which order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// The last iteration first.
    Reversed,
    /// Reversed but for the last one, which still comes last: what it leaves is kept.
    LastStays,
    /// One from the front, one from the back.
    Shuffled,
}

/// The text with one `for` loop's iterations in that order. `start`: where the body's own text begins in `text`.
/// `None` if the loop is no `for` with a header of its own, or its body writes a variable that the header reads: the
/// header is evaluated again in each iteration.
pub fn permuted(text: &str, start: usize, body: &Body, l: TermId, order: Order) -> Option<String> {
    let (Op::For, &[init, condition, step, inner, ..]) = (body.op(l), body.args(l)) else { return None };
    if [init, condition, step].iter().any(|&t| *body.op(t) == Op::Empty) {
        return None;
    }
    let written = |s: SymbolId| {
        body.walk(inner)
            .filter(|&w| body.op(w).is_write())
            .any(|w| body.args(w).first().and_then(|&p| body.as_symbol(p)) == Some(s))
    };
    let named =
        [init, condition, step].into_iter().flat_map(|t| body.walk(t)).filter_map(|t| body.as_symbol(t));
    if named.into_iter().any(written) {
        return None;
    }
    let source = |t: TermId| {
        let s = body.span(t);
        text.get(start + s.start as usize..start + s.end as usize)
    };
    let whole = body.span(l);
    let (from, to) = (start + whole.start as usize, start + whole.end as usize);
    // A header that declares several variables is a list of declarations; its text is taken from the header.
    let header = text.get(from..to).filter(|h| !h.starts_with("foreach"))?;
    let open = header.find('(')?;
    let head = header.get(open + 1..)?.split(';').next()?;
    let (condition, step, inner) = (source(condition)?, source(step)?, source(inner)?);
    let at = match order {
        Order::Reversed => "ww_n - 1 - ww_k",
        Order::Shuffled => "(ww_k % 2 == 0 ? ww_k / 2 : ww_n - 1 - ww_k / 2)",
        Order::LastStays => "(ww_k == ww_n - 1 ? ww_k : ww_n - 2 - ww_k)",
    };
    // An index declared outside has its last value afterwards.
    let declares = matches!(body.op(init), Op::Declare(_) | Op::List);
    let after = if declares { String::new() } else { format!("for ({head}; {condition}; {step}) ;") };
    let new = format!(
        "{{ long ww_n = 0; for ({head}; {condition}; {step}) ww_n++;\n\
         for (long ww_k = 0; ww_k < ww_n; ww_k++) {{ long ww_t = {at}; {head};\n\
         for (long ww_j = 0; ww_j < ww_t; ww_j++) {{ {step}; }}\n\
         for (int ww_o = 0; ww_o < 1; ww_o++) {inner} }}\n{after} }}"
    );
    Some(format!("{}{new}{}", text.get(..from)?, text.get(to..)?))
}
