//! Whether a result keeps the order of what must stay in order.

use analysis::{Edge, Graph, LoopId, Order};

use super::prove::Ground;
use super::tree::Subject;

/// The dependences of a nest, if they may be relied on. `Err`: what is missing.
pub(super) fn sure(g: &Ground<'_>, id: LoopId) -> Result<Graph, String> {
    let part = g.budget.part(analysis::FULL_STEPS);
    let graph = analysis::nest_dependences(g.body, g.program, g.facts, id, &part);
    if !graph.obstacles.is_empty() {
        return Err("not all dependences of the loop are known".to_owned());
    }
    if !graph.conditions.is_empty() {
        return Err("the dependences of the loop are known only under a condition".to_owned());
    }
    Ok(graph)
}

/// A dependence that is turned around, in words.
pub(super) fn broken(subject: &Subject, e: &Edge, v: &[Order]) -> String {
    let kind = match e.kind {
        analysis::DependenceKind::Flow => "flow",
        analysis::DependenceKind::Anti => "anti",
        analysis::DependenceKind::Output => "output",
    };
    let name = subject.name(e.object.symbol);
    let directions: Vec<&str> = v.iter().map(|o| o.symbol()).collect();
    let place = |t| subject.original(t).map_or_else(String::new, |n| subject.print(n));
    format!(
        "it breaks the {kind} dependence of `{name}` from `{}` to `{}` with the directions ({})",
        place(e.source),
        place(e.sink),
        directions.join(", ")
    )
}
