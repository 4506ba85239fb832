//! What a document is made of, for outlines, and who calls or launches whom, for call hierarchies: by what the text says, without
//! finding anything out but verdicts.

use base::Span;
use front::{Item, ItemKind};
use term::Op;

use crate::check::Findings;
use crate::hints::label;
use crate::{Ask, Doc};

/// What a symbol stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SymbolKind {
    Function,
    /// A function of a device that threads call.
    Device,
    Kernel,
    Loop,
}

/// A function or a loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Symbol {
    pub name: String,
    pub kind: SymbolKind,
    /// A few words beside the name: what a function is, the verdict of a loop.
    pub detail: String,
    /// All of it.
    pub span: Span,
    /// The name, or the header.
    pub selection: Span,
    /// Whether other files cannot name it.
    pub is_static: bool,
    /// The loops in it, outermost.
    pub children: Vec<Symbol>,
}

/// A call or a launch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallSite {
    /// The function it stands in, among [`functions`].
    pub caller: usize,
    pub callee: String,
    /// The callee's name there.
    pub span: Span,
    pub is_launch: bool,
}

/// The functions that a document defines, in textual order; of a template one, whatever it is instantiated with.
pub fn functions(doc: &Doc) -> Vec<Symbol> {
    defined(doc).map(|item| function(doc, item)).collect()
}

/// The functions with the loops in them.
pub fn outline(ask: &Ask, findings: &Findings) -> Vec<Symbol> {
    let ask = &ask.listing();
    let doc = &ask.doc;
    let mut out: Vec<Symbol> = functions(doc);
    let views = findings.loops.iter().filter_map(|l| Some((l, findings.view(ask, l.item)?)));
    for (l, view) in views.filter(|(l, v)| !v.is_generated(l.id)) {
        let symbol = Symbol {
            name: view.loop_name(l.id).replace('`', ""),
            kind: SymbolKind::Loop,
            // what a thread goes through has no verdict that says anything of the kernel
            detail: if view.item.is_device_only() { String::new() } else { label(&view, l.id) },
            span: l.span,
            selection: l.header,
            is_static: true,
            children: Vec::new(),
        };
        if let Some(around) = out.iter_mut().find(|f| f.span.contains(symbol.span)) {
            insert(&mut around.children, symbol);
        }
    }
    out
}

/// Puts a loop into the innermost of these around it; those come before what is in them.
fn insert(into: &mut Vec<Symbol>, symbol: Symbol) {
    match into.iter().rposition(|s| s.span.contains(symbol.span)) {
        Some(k) => insert(&mut into[k].children, symbol),
        None => into.push(symbol),
    }
}

/// The calls and launches that name a function, in textual order.
pub fn calls(doc: &Doc) -> Vec<CallSite> {
    let mut out = Vec::new();
    for (caller, item) in defined(doc).enumerate() {
        let body = &item.body;
        for t in body.walk(body.root) {
            let (Op::Call | Op::Launch, Some(&callee)) = (body.op(t), body.args(t).first()) else { continue };
            // a pointer to a function is no name of one
            let is_object = body.as_symbol(callee).is_some_and(|s| {
                !matches!(body.types.kind(body.symbols[s].ty), term::TypeKind::Function { .. })
                    && *body.op(t) == Op::Call
            });
            let (false, Some(name)) = (is_object, body.callee_name(t)) else { continue };
            out.push(CallSite {
                caller,
                callee: plain(name).to_owned(),
                span: body.span(callee).shifted(item.span.start),
                is_launch: *body.op(t) == Op::Launch,
            });
        }
    }
    out.sort_by_key(|c| c.span.start);
    out.dedup_by_key(|c| c.span);
    out
}

/// A name without the arguments of its template.
fn plain(name: &str) -> &str {
    name.split_once('<').map_or(name, |(name, _)| name)
}

fn defined(doc: &Doc) -> impl Iterator<Item = &Item> {
    let mut last: Option<(u32, &str)> = None;
    let functions = doc.unit().items.iter().filter(|i| i.kind == ItemKind::Function && !i.name.is_empty());
    functions
        .filter(move |i| last.replace((i.span.start, plain(&i.name))) != Some((i.span.start, plain(&i.name))))
}

fn function(doc: &Doc, item: &Item) -> Symbol {
    let name = plain(&item.name);
    let (kind, detail) = match (item.is_kernel, item.is_device_only()) {
        (true, _) => (SymbolKind::Kernel, "kernel"),
        (_, true) => (SymbolKind::Device, "device function"),
        _ => (SymbolKind::Function, ""),
    };
    Symbol {
        name: name.to_owned(),
        kind,
        detail: detail.to_owned(),
        span: item.span,
        selection: name_in(doc, item.span, name),
        is_static: item.is_static && !item.is_kernel,
        children: Vec::new(),
    }
}

/// Where the name of a function stands: the word before a parenthesis, else the beginning of its text.
fn name_in(doc: &Doc, span: Span, name: &str) -> Span {
    let text = doc.slice(span);
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let found = text.match_indices(name).find(|(at, _)| {
        let (before, after) = (text[..*at].chars().next_back(), &text[at + name.len()..]);
        !before.is_some_and(is_word) && after.trim_start().starts_with('(')
    });
    let at = found.map_or(0, |(at, _)| at as u32);
    let length = if found.is_some() { name.len() as u32 } else { 0 };
    Span { start: span.start + at, end: span.start + at + length }
}
