//! A graph drawn as SVG: nodes below one another in the order of the text, arrows beside them on the right, each in a lane of its own.
//! That is how dependences are read: down the loop's body, and back up to a later iteration.

use std::fmt::Write;

use super::html::escaped;
use super::{Edge, Graph};

/// Pixels.
const LINE: usize = 16;
const GAP: usize = 24;
const PAD: usize = 8;
const CHAR: usize = 8;
const LANE: usize = 26;
/// Characters of a node's line and of an arrow's words that there is room for.
const LONGEST: usize = 60;

/// The drawing; `link`: where a line (from 1) is opened.
pub fn drawn(graph: &Graph, link: &dyn Fn(u32) -> String) -> String {
    if graph.nodes.is_empty() {
        return String::new();
    }
    let width =
        graph.nodes.iter().flat_map(|(words, _)| words).map(|w| short(w).chars().count()).max().unwrap_or(1);
    let width = width * CHAR + 2 * PAD;
    let mut tops = Vec::new();
    let mut y = PAD;
    for (words, _) in &graph.nodes {
        tops.push(y);
        y += height(words) + GAP;
    }
    let lanes = lanes(&graph.edges);
    let most = lanes.iter().max().map_or(0, |l| l + 1);
    let text_at = 2 * PAD + width + most * LANE + PAD;
    let longest = graph.edges.iter().map(|e| short(&e.words).chars().count()).max().unwrap_or(0);
    let all = text_at + longest * CHAR + PAD;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{all}\" height=\"{y}\" viewBox=\"0 0 {all} {y}\" role=\"img\">\n"
    );
    for ((words, line), top) in graph.nodes.iter().zip(&tops) {
        let _ = write!(
            out,
            "<a href=\"{}\"><rect x=\"{PAD}\" y=\"{top}\" width=\"{width}\" height=\"{}\" rx=\"3\"/>",
            link(*line),
            height(words)
        );
        for (k, w) in words.iter().enumerate() {
            let _ = write!(
                out,
                "<text x=\"{}\" y=\"{}\">{}</text>",
                2 * PAD,
                top + PAD + LINE * k + 12,
                escaped(&short(w))
            );
        }
        out.push_str("</a>\n");
    }
    for (k, (e, lane)) in graph.edges.iter().zip(&lanes).enumerate() {
        arrow(graph, &tops, e, (PAD + width, *lane, text_at), k, &mut out);
    }
    out.push_str("</svg>");
    out
}

/// From the right side of one node out to its lane and back to the other.
fn arrow(
    g: &Graph,
    tops: &[usize],
    e: &Edge,
    (side, lane, text_at): (usize, usize, usize),
    k: usize,
    out: &mut String,
) {
    let (Some((from, _)), Some((to, _))) = (g.nodes.get(e.from), g.nodes.get(e.to)) else { return };
    // several arrows of one node leave it at places of their own
    let shift = |words: &[String], n: usize| (n % 4) * height(words) / 8;
    let start = tops[e.from] + height(from) / 3 + shift(from, k);
    let end = tops[e.to] + height(to) * 2 / 3 - shift(to, k) / 2 + if e.from == e.to { 6 } else { 0 };
    let x = side + PAD + (lane + 1) * LANE - LANE / 2;
    let dashes = if e.dashed { " stroke-dasharray=\"5 4\"" } else { "" };
    let _ = writeln!(
        out,
        "<path{dashes} d=\"M {side} {start} H {x} V {end} H {}\"/><path class=\"head\" d=\"M {side} {end} l 8 -4 v 8 z\"/>\
         <text class=\"words\" x=\"{text_at}\" y=\"{}\">{}</text>",
        side + 8,
        start.midpoint(end) + 4 + if start.abs_diff(end) < LINE { 0 } else { (k % 3) * LINE / 2 },
        escaped(&short(&e.words))
    );
}

/// A lane for each arrow, so that no two in one lane pass the same node.
fn lanes(edges: &[Edge]) -> Vec<usize> {
    let span = |e: &Edge| (e.from.min(e.to), e.from.max(e.to));
    let mut taken: Vec<Vec<(usize, usize)>> = Vec::new();
    let mut out = Vec::new();
    for e in edges {
        let (low, high) = span(e);
        let free = |lane: &Vec<(usize, usize)>| lane.iter().all(|&(a, b)| b < low || high < a);
        let lane = taken.iter().position(free).unwrap_or(taken.len());
        if lane == taken.len() {
            taken.push(Vec::new());
        }
        taken[lane].push((low, high));
        out.push(lane);
    }
    out
}

fn height(words: &[String]) -> usize {
    words.len() * LINE + 2 * PAD
}

fn short(words: &str) -> String {
    match words.chars().count() > LONGEST {
        true => words.chars().take(LONGEST - 1).chain(['…']).collect(),
        false => words.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrows_that_pass_one_another_have_lanes_of_their_own() {
        let edge = |from, to| Edge { from, to, words: String::new(), dashed: false };
        assert_eq!(lanes(&[edge(0, 2), edge(1, 1), edge(2, 3), edge(4, 5)]), [0, 1, 1, 0]);
    }

    #[test]
    fn words_are_escaped_and_nodes_are_links() {
        let edges = vec![Edge { from: 0, to: 0, words: "flow <1>".into(), dashed: true }];
        let graph = Graph { nodes: vec![(vec!["a[i] < b".into()], 7)], edges };
        let text = drawn(&graph, &|line| format!("command:{line}"));
        assert!(
            text.contains("href=\"command:7\"")
                && text.contains("a[i] &lt; b")
                && text.contains("flow &lt;1&gt;"),
            "{text}"
        );
        assert!(text.contains("stroke-dasharray"), "{text}");
    }
}
