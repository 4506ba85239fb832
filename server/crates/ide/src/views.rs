//! Views of a document that are read like a page: a loop's dependences as a graph, who calls whom, and the terms the
//! program was read as. Markdown for reading, Graphviz DOT for drawing.
//!
//! Deliberately absent: where a page is shown, and drawing itself.

use std::fmt::Write;

use analysis::{Dependence, LoopId, Verdict};
use front::ItemKind;
use rewrite::rules::Subject;
use term::{Op, TermId};

use crate::check::{Findings, LoopFinding};
use crate::function_view::{line_column, FunctionView};
use crate::offload::{choose, named, Refused, Which};
use crate::words::{self, quoted};
use crate::{Ask, Doc};

/// A page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct View {
    pub title: String,
    pub markdown: String,
    /// The same as a graph, where it is one.
    pub dot: Option<String>,
    /// The same for who draws it.
    pub graph: Option<Drawn>,
}

/// A graph to be drawn.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Drawn {
    /// In the order of the text.
    pub nodes: Vec<DrawnNode>,
    pub edges: Vec<DrawnEdge>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DrawnNode {
    id: String,
    /// A few lines.
    pub words: Vec<String>,
    /// 1-based; 0: nowhere in the document.
    pub line: u32,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DrawnEdge {
    /// Numbers of nodes.
    pub from: usize,
    pub to: usize,
    pub words: String,
    /// Not proved.
    pub dashed: bool,
}

/// The dependences that the chosen loops carry: both accesses, direction and distance, two iterations as an example, and
/// what would remove each.
pub fn show_dependences(ask: &Ask, findings: &Findings, which: &Which) -> Result<View, Refused> {
    dependences_of(ask, findings, &choose(ask, findings, which))
}

/// The dependences of every loop of a document.
pub fn show_all_dependences(ask: &Ask, findings: &Findings) -> Result<View, Refused> {
    dependences_of(ask, findings, &findings.loops.iter().collect::<Vec<_>>())
}

fn dependences_of(ask: &Ask, findings: &Findings, chosen: &[&LoopFinding]) -> Result<View, Refused> {
    if chosen.is_empty() {
        return Err(Refused::Stale);
    }
    let mut pages = Vec::new();
    let mut graph = Graph::new("dependences");
    let mut title = String::new();
    for l in chosen {
        let view = findings.view(ask, l.item).ok_or(Refused::Stale)?;
        let line = view.line(view.of(l.id).term);
        title = format!("Dependences of {} on line {line}", view.loop_name(l.id).replace('`', ""));
        pages.push(dependence_page(&view, l.id, &mut graph));
    }
    if pages.len() > 1 {
        title = "Dependences".to_owned();
    }
    let (dot, drawn) = graph.done();
    Ok(View { title, markdown: pages.join("\n\n"), dot: Some(dot), graph: Some(drawn) })
}

fn dependence_page(view: &FunctionView, id: LoopId, graph: &mut Graph) -> String {
    let l = view.of(id);
    let mut out = format!(
        "## {} on line {} in {}: {}\n",
        capital(&view.loop_name(id)),
        view.line(l.term),
        quoted(&view.item.name),
        words::verdict(l.verdict)
    );
    match (l.verdict, l.dependences.is_empty()) {
        (Verdict::Independent | Verdict::Reduction, _) => {
            out += "\nNo iteration depends on another";
            let reduced: Vec<String> = l.reductions.iter().map(|r| quoted(&view.text(r.place))).collect();
            if !reduced.is_empty() {
                let _ = write!(out, ", but for what is gathered in {}", words::list(&reduced));
            }
            out += ".\n";
        }
        (_, true) => out += "\nNo dependence is known; what stands in the way:\n",
        _ => {}
    }
    for (n, d) in l.dependences.iter().enumerate() {
        out += &dependence_part(view, id, n + 1, d);
        graph.dependence(view, d);
    }
    if l.verdict == Verdict::Unknown {
        for o in &l.obstacles {
            let w = words::obstacle(view, o);
            let _ = write!(out, "\n- {} {}", w.reason, w.remedy);
        }
        out.push('\n');
    }
    out
}

fn dependence_part(view: &FunctionView, id: LoopId, n: usize, d: &Dependence) -> String {
    let (first, second) = words::access_words(d.kind);
    let access = |t: TermId, does: &str| {
        let at = view.line_column(view.span(t).start);
        format!("{} on line {}, column {} ({does})", quoted(&view.text(t)), at.line, at.column)
    };
    let proved = if d.witness.is_some() { "" } else { ", not proved to happen" };
    let mut out = format!(
        "\n### {n}. {} dependence on {}{proved}\n\n- from {}\n- to {}\n",
        capital(words::kind_name(d.kind)),
        quoted(&view.dependent(d)),
        access(d.source, first),
        access(d.sink, second)
    );
    let directions: Vec<&str> = d.direction.iter().map(|x| x.symbol()).collect();
    let distances: Vec<String> =
        d.distance.iter().map(|x| x.map_or("?".to_owned(), |v| v.to_string())).collect();
    let loops: Vec<String> = d.loops.iter().map(|l| view.loop_name(*l).replace('`', "")).collect();
    let _ = writeln!(
        out,
        "- direction `({})`, distance `({})`{}",
        directions.join(", "),
        distances.join(", "),
        if loops.len() > 1 { format!(", for {}", loops.join(", ")) } else { String::new() }
    );
    if d.witness.is_some() {
        let _ = writeln!(out, "- for example: {}", words::example_sentence(view, d));
    }
    let removal = words::removal(view, id, d);
    if !removal.is_empty() {
        let _ = writeln!(out, "- what removes it: {removal}");
    }
    out
}

/// Who calls whom in a document.
pub fn show_call_graph(doc: &Doc) -> View {
    let mut graph = Graph::new("calls");
    let mut out = String::from("## Calls\n");
    let items = &doc.unit().items;
    let defined = |name: &str| doc.unit().defines_function(name);
    for item in items.iter().filter(|i| matches!(i.body.op(i.body.root), Op::Function(_))) {
        let body = &item.body;
        let mut called: Vec<(String, bool, u32)> = Vec::new();
        for x in body.walk(body.root).filter(|&x| *body.op(x) == Op::Call) {
            let callee = body.args(x).first().and_then(|&f| body.as_symbol(f));
            let is_function = |s: &term::SymbolId| {
                matches!(body.types.kind(body.symbols[*s].ty), term::TypeKind::Function { .. })
            };
            let (name, direct) = match callee.filter(is_function) {
                Some(s) => (body.symbols[s].name.to_string(), true),
                None => ("a function through a pointer".to_owned(), false),
            };
            let line = line_column(doc, body.span(x).shifted(item.span.start).start).line;
            if !called.iter().any(|c| c.0 == name) {
                called.push((name, direct, line));
            }
        }
        let line = line_column(doc, item.span.start).line;
        graph.node(&item.name, &format!("{} (line {line})", item.name), line, "");
        let _ = write!(out, "\n- {} on line {line}", quoted(&item.name));
        if called.is_empty() {
            out += " calls nothing";
        }
        for (k, (name, direct, at)) in called.iter().enumerate() {
            let own = *direct && *name == *item.name;
            let shown = match direct {
                true => quoted(name),
                false => name.clone(),
            };
            let whose = match (own, defined(name), direct) {
                (true, ..) => " (itself)",
                (_, true, _) | (.., false) => "",
                _ => " (defined elsewhere)",
            };
            let _ = write!(out, "{} {shown}{whose} on line {at}", if k == 0 { " calls" } else { "," });
            if !defined(name) {
                graph.node(name, name, 0, ", style=dashed");
            }
            graph.edge(&item.name, name, "", false);
        }
    }
    out.push('\n');
    let (dot, drawn) = graph.done();
    View { title: "Calls".to_owned(), markdown: out, dot: Some(dot), graph: Some(drawn) }
}

/// The terms of a document, or of the function the chosen loop stands in.
pub fn show_terms(doc: &Doc, findings: &Findings, which: Option<&Which>) -> Result<View, Refused> {
    let only = match which {
        None => None,
        Some(w) => Some(named(findings, w).first().ok_or(Refused::Stale)?.item),
    };
    let mut out = String::from("## Terms\n");
    for (n, item) in doc.unit().items.iter().enumerate() {
        if only.is_some_and(|o| o != n) {
            continue;
        }
        let terms = match item.kind {
            ItemKind::Function => {
                let start = item.span.start;
                let subject = Subject::of(&item.body, doc.source(), start, item.is_kernel, item.is_device);
                subject.notation(&subject.root)
            }
            _ if item.body.args(item.body.root).is_empty() => continue,
            _ => term::notation::print(&item.body, item.body.root).trim_end().to_owned(),
        };
        let name = if item.name.is_empty() { "declarations" } else { &*item.name };
        let line = line_column(doc, item.span.start).line;
        let _ = write!(out, "\n### {} (line {line})\n\n```\n", words::quoted(name));
        out += &terms;
        out += "\n```\n";
        for r in item.body.rejects() {
            let _ = writeln!(out, "\nNot understood: {}", r.reason);
        }
    }
    Ok(View { title: "Terms".to_owned(), markdown: out, dot: None, graph: None })
}

/// A graph that is being made, and its text for Graphviz.
struct Graph {
    text: String,
    nodes: Vec<DrawnNode>,
    /// Names of the nodes, which may come later; words; whether it is not proved.
    edges: Vec<(String, String, String, bool)>,
}

impl Graph {
    fn new(name: &str) -> Graph {
        Graph {
            text: format!("digraph {name} {{\n  node [shape=box, fontname=monospace];\n"),
            nodes: Vec::new(),
            edges: Vec::new(),
        }
    }
    fn node(&mut self, id: &str, label: &str, line: u32, more: &str) {
        if self.nodes.iter().all(|n| n.id != id) {
            let words = label.lines().map(str::to_owned).collect();
            self.nodes.push(DrawnNode { id: id.to_owned(), words, line });
            let _ = writeln!(self.text, "  {} [label={}{more}];", dot_text(id), dot_text(label));
        }
    }
    fn edge(&mut self, from: &str, to: &str, words: &str, dashed: bool) {
        self.edges.push((from.to_owned(), to.to_owned(), words.to_owned(), dashed));
        let label = if words.is_empty() { String::new() } else { format!("label={}", dot_text(words)) };
        let more = if dashed { ", style=dashed" } else { "" };
        let _ = writeln!(self.text, "  {} -> {} [{label}{more}];", dot_text(from), dot_text(to));
    }
    fn dependence(&mut self, view: &FunctionView, d: &Dependence) {
        let ends = [d.source, d.sink].map(|t| {
            let at = view.line_column(view.span(t).start);
            let id = format!("{}:{}", at.line, at.column);
            self.node(&id, &format!("{}\nline {}", view.text(t), at.line), at.line, "");
            id
        });
        let distances: Vec<String> =
            d.distance.iter().map(|x| x.map_or("?".to_owned(), |v| v.to_string())).collect();
        let label = format!("{} {} ({})", words::kind_name(d.kind), view.dependent(d), distances.join(", "));
        self.edge(&ends[0], &ends[1], &label, d.witness.is_none());
    }
    /// The text, and what is drawn: nodes in the order of the text of the document.
    fn done(mut self) -> (String, Drawn) {
        self.text.push_str("}\n");
        let column = |n: &DrawnNode| n.id.split_once(':').and_then(|(_, c)| c.parse::<u32>().ok());
        let mut nodes = self.nodes;
        nodes.sort_by_key(|n| (n.line, column(n)));
        let number = |id: &str| nodes.iter().position(|n| n.id == id);
        let edge = |(from, to, words, dashed): (String, String, String, bool)| {
            Some(DrawnEdge { from: number(&from)?, to: number(&to)?, words, dashed })
        };
        let edges = self.edges.into_iter().filter_map(edge).collect();
        (self.text, Drawn { nodes, edges })
    }
}

/// A quoted string of DOT.
fn dot_text(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |c| c.to_uppercase().chain(chars).collect())
}
