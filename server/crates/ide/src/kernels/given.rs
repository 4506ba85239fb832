//! What a document's launches give its kernels, found once for the document.

use std::sync::Arc;

use base::Span;
use rustc_hash::FxHashMap;
use term::{Body, Op, Storage, TermId};

use crate::Doc;

/// A launch as the text gives it, one way to come to it, and where it stands.
#[derive(Debug)]
pub(crate) struct GivenLaunch {
    pub at: LaunchPlace,
    pub given: analysis::LaunchGiven,
}

/// Where a launch stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LaunchPlace {
    /// In the document.
    Here(Span),
    /// In another file of its program, on this 1-based line.
    Elsewhere { file: Arc<str>, line: u32 },
}

/// What the launches of each kernel give it.
pub(crate) fn find_given(doc: &Doc) -> FxHashMap<Arc<str>, Vec<GivenLaunch>> {
    let items = &doc.unit().items;
    let mut calls: FxHashMap<String, Vec<analysis::CallSite<'_>>> = FxHashMap::default();
    let mut launches: Vec<(&front::Item, TermId)> = Vec::new();
    let lenders = &doc.unit().lenders;
    // of the name and the template of a name
    let plain = |name: &str| name.split('<').next().unwrap_or(name).trim().to_owned();
    for item in items.iter().chain(lenders).filter(|i| !i.is_device_only()) {
        let body = &*item.body;
        for t in body.walk(body.root) {
            match body.op(t) {
                Op::Call => {
                    let Some(&callee) = body.args(t).first() else { continue };
                    let name = match body.as_name(callee) {
                        Some(name) => plain(name),
                        None => plain(doc.slice(body.span(callee).shifted(item.span.start))),
                    };
                    calls.entry(name).or_default().push((body, t));
                }
                Op::Launch => launches.push((item, t)),
                _ => {}
            }
        }
    }
    let name_at = |body: &Body, t: TermId| {
        let item = items.iter().chain(lenders).find(|i| std::ptr::eq(&*i.body, body))?;
        let text = doc.slice(body.span(t).shifted(item.span.start)).trim();
        (!text.is_empty()).then(|| Arc::from(text))
    };
    let included = || doc.unit().included.iter().map(|i| &i.item);
    let function = |name: &str| {
        let own = doc.program().body(name).map(|b| &**b);
        own.or_else(|| {
            let instance = items.iter().chain(included()).find(|i| i.template() == Some(name));
            instance.map(|i| &*i.body)
        })
    };
    let cx = analysis::LaunchContext {
        program: doc.program(),
        callers: &|name| calls.get(&plain(name)).cloned().unwrap_or_default(),
        name_at: &name_at,
        function: &function,
        are_sizes_said: &|body| {
            let is = |i: &&front::Item| std::ptr::eq(&*i.body, body);
            let lender = lenders.iter().find(is);
            lender.map_or(items.iter().any(|i| is(&i)), |i| are_sizes_plain(doc.slice(i.span)))
        },
        constant: &|name| header_constant(doc, name),
        limits: super::limits(doc),
    };
    let mut out: FxHashMap<Arc<str>, Vec<GivenLaunch>> = FxHashMap::default();
    for (item, t) in launches {
        let at = item.body.span(t).shifted(item.span.start);
        for name in launched(&item.body, t) {
            let all = analysis::launch_given(&cx, &item.body, t).into_iter();
            let all = all.map(|given| GivenLaunch { at: LaunchPlace::Here(at), given });
            out.entry(name).or_default().extend(all);
        }
    }
    let elsewhere = doc.options().project.iter().flat_map(|p| p.launches());
    for launch in elsewhere.filter(|l| items.iter().any(|i| i.is_kernel && *i.name == *l.kernel)) {
        out.entry(launch.kernel.clone()).or_default().push(launch.to_given());
    }
    out
}

/// Whether a text asks for the size of nothing but C's own types, and of values.
fn are_sizes_plain(text: &str) -> bool {
    const WORDS: [&str; 8] = ["int", "float", "double", "char", "unsigned", "long", "short", "size_t"];
    text.split("sizeof").skip(1).all(|rest| {
        let word = rest.trim_start().trim_start_matches('(').trim_start();
        let end = word.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(word.len());
        WORDS.contains(&&word[..end])
    })
}

/// The kernels that a launch may be of: the one that it names, or those that its function sets the pointer to which it names.
fn launched(body: &Body, launch: TermId) -> Vec<Arc<str>> {
    let Some(&callee) = body.args(launch).first() else { return Vec::new() };
    let pointer = callee_variable(body, callee).filter(|&s| body.symbols[s].storage == Storage::Local);
    let Some(pointer) = pointer else { return body.as_name(callee).cloned().into_iter().collect() };
    let mut out = Vec::new();
    for t in body.walk(body.root) {
        let value = match (body.op(t), body.args(t)) {
            (Op::Declare(s), &[init]) if *s == pointer => init,
            (Op::Assign, &[place, value]) if callee_variable(body, place) == Some(pointer) => value,
            _ => continue,
        };
        for x in body.walk(value) {
            let Some(s) = body.as_symbol(x).filter(|&s| body.symbols[s].storage == Storage::Function) else {
                continue;
            };
            let name = &body.symbols[s].name;
            if !out.contains(name) {
                out.push(name.clone());
            }
        }
    }
    out
}

/// The variable that a pointer to a function is, or is an element of.
fn callee_variable(body: &Body, mut t: TermId) -> Option<term::SymbolId> {
    while let (Op::Index | Op::Deref | Op::Cast, &[base, ..]) = (body.op(t), body.args(t)) {
        t = base;
    }
    body.as_symbol(t)
}

/// The integer that headers of the program define as this constant, where all that do define the same: names in namespaces, which
/// mean nothing to the document by themselves.
fn header_constant(doc: &Doc, name: &str) -> Option<i64> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    if name.is_empty() || !name.chars().all(is_word) {
        return None;
    }
    let mut found: Option<i64> = None;
    for header in doc.unit().headers.iter().filter(|h| !h.is_system()) {
        let text = header.text();
        for (at, _) in text.match_indices(name) {
            let (before, after) = (&text[..at], &text[at + name.len()..]);
            if before.ends_with(is_word) || after.starts_with(is_word) {
                continue;
            }
            let line = before.rsplit(['\n', ';', '{', '}']).next().unwrap_or("").trim();
            let words: Vec<&str> = line.split_whitespace().collect();
            let constant = words.iter().any(|w| matches!(*w, "const" | "constexpr"));
            let plain = |w: &&str| {
                matches!(
                    *w,
                    "const" | "constexpr" | "static" | "inline" | "int" | "unsigned" | "size_t" | "long"
                )
            };
            let value = match constant && words.iter().all(plain) {
                true => after.trim_start().strip_prefix('=').and_then(|v| v.split(';').next()),
                false if words == ["#define"] => after.split('\n').next(),
                false => None,
            };
            let Some(value) = value else { continue };
            let value: i64 = value.trim().parse().ok()?;
            if found.is_some_and(|v| v != value) {
                return None;
            }
            found = Some(value);
        }
    }
    found
}
