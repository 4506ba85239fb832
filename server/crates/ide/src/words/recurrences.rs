//! Recurrences in words: what a loop computes from iteration to iteration, and which parallel method there is for it.

use analysis::{LoopId, Recurrence, RecurrenceKind, ReductionOp};

use super::operator;
use crate::function_view::FunctionView;

/// " This is a prefix sum …", for every recurrence of a loop; empty if there is none.
pub(crate) fn recurrences(view: &FunctionView, id: LoopId) -> String {
    let all = &view.of(id).recurrences;
    let carried: Vec<&analysis::Dependence> = view
        .of(id)
        .dependences
        .iter()
        .filter(|d| d.kind == analysis::DependenceKind::Flow && d.witness.is_some())
        .collect();
    // what one scan computes frees no loop that carries more
    let computed = |d: &analysis::Dependence| {
        all.iter().any(|r| {
            let counts = matches!(r.kind, RecurrenceKind::Packing { counter } if counter == d.object.symbol);
            counts || r.object.as_ref().is_none_or(|o| o.symbol == d.object.symbol)
        })
    };
    let mut others: Vec<String> =
        carried.iter().filter(|d| !computed(d)).map(|d| format!("`{}`", view.dependent(d))).collect();
    others.dedup();
    let rest = match others.as_slice() {
        [] => String::new(),
        [one] => format!(" {one} is carried besides."),
        _ => format!(" {} are carried besides.", super::list(&super::shorten(others, 3))),
    };
    let said: String = all.iter().take(2).map(|r| format!(" {}", recurrence(view, r))).collect();
    if said.is_empty() {
        said
    } else {
        said + &rest
    }
}

/// A sentence.
pub(crate) fn recurrence(view: &FunctionView, r: &Recurrence) -> String {
    let name = r.object.as_ref().map(|o| view.object(o)).unwrap_or_default();
    let line = view.line(r.term);
    match r.kind {
        RecurrenceKind::Scan { op, exclusive } => {
            let what = match op {
                ReductionOp::Add => "prefix sum".to_owned(),
                ReductionOp::Mul => "prefix product".to_owned(),
                op => format!("prefix `{}`", operator(op)),
            };
            let what = if exclusive { format!("{what} (exclusive)") } else { what };
            format!("`{name}` is a {what} (line {line}): a parallel scan could compute it.")
        }
        RecurrenceKind::Linear { distance: 1 } => format!(
            "`{name}` is a first-order linear recurrence (line {line}): a parallel scan of pairs could compute it."
        ),
        RecurrenceKind::Linear { distance } => format!(
            "`{name}` is a linear recurrence that reaches {distance} iterations back (line {line}): a parallel \
             scan could compute it."
        ),
        RecurrenceKind::Search => format!(
            "It is a search that ends at the first hit (line {line}): the least iteration that hits could be found in \
             parallel, as a minimum."
        ),
        RecurrenceKind::Packing { counter } => format!(
            "It packs elements into `{name}`, and `{0}` counts them (line {line}): a prefix sum over the condition gives each its `{0}`.",
            view.symbol(counter)
        ),
        RecurrenceKind::WrapAround => format!(
            "`{name}` holds the value of the iteration before (line {line}): with the first iteration peeled off, that \
             value can be computed anew in each."
        ),
    }
}
