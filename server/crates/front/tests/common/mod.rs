//! One check, many tiny inputs.
#![allow(dead_code)]

use std::sync::{Arc, Mutex};

use front::{
    lower, Ask, Header, HeaderId, Headers, Index, ItemKind, Language, Memo, Options, Parsed, Source, Unit,
};
use term::{Body, Op, TermId};

pub fn unit_as(language: Language, text: &str, defines: &[(&str, &str)]) -> Unit {
    let options = Options {
        defines: defines.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect(),
        ..Options::default()
    };
    lower(&Parsed::parse(language, text), &options, &mut Memo::new())
}

pub fn unit(text: &str) -> Unit {
    unit_as(Language::C, text, &[])
}

/// Every statement of every function on a line, then rejects with the text they stand at.
pub fn show(text: &str, unit: &Unit) -> String {
    let mut out = String::new();
    for item in &unit.items {
        let b = &item.body;
        if item.kind == ItemKind::Function {
            match b.op(b.root) {
                Op::Function(_) => {
                    let args = b.args(b.root);
                    out += &format!("{} {}\n", item.name, term::notation::print(b, args[0]));
                    for &s in b.args(args[1]) {
                        out += &format!("  {}\n", term::notation::print(b, s));
                    }
                }
                _ => out += &format!("{} {}\n", item.name, term::notation::print(b, b.root)),
            }
        } else if !b.args(b.root).is_empty() {
            out += &format!("{}\n", term::notation::print(b, b.root));
        }
        for r in b.rejects() {
            let place = text.get(r.span.shifted(item.span.start).range()).unwrap_or("?");
            out += &format!("! {:?} at `{}`: {}\n", r.kind, place.replace('\n', "⏎"), r.reason);
        }
    }
    for r in &unit.rejects {
        let place = text.get(r.span.range()).unwrap_or("?");
        out += &format!("!! {:?} at `{}`: {}\n", r.kind, place.replace('\n', "⏎"), r.reason);
    }
    out
}

/// The body of the only function named `f`.
pub fn body<'a>(unit: &'a Unit, name: &str) -> &'a Body {
    &unit
        .items
        .iter()
        .find(|i| &*i.name == name && i.kind == ItemKind::Function)
        .unwrap_or_else(|| panic!("no function {name}"))
        .body
}

pub fn statements(b: &Body) -> &[TermId] {
    b.args(b.args(b.root)[1])
}

pub fn type_of(b: &Body, t: TermId) -> String {
    term::notation::type_text(&b.types, b.ty(t))
}

/// Headers in memory: `sys/…` are the system's, found by the rest of their name; others lie where they say.
#[derive(Debug, Default)]
pub struct Files {
    headers: Vec<Arc<Header>>,
    paths: Vec<String>,
    /// Every question asked.
    pub asked: Mutex<Vec<String>>,
}

impl Files {
    pub fn new(files: &[(&str, &str)]) -> Arc<Files> {
        let header = |(k, (path, text)): (usize, &(&str, &str))| {
            let system = path.strip_prefix("sys/");
            Arc::new(Header::new(HeaderId(k as u32), system.unwrap_or(path), system.is_some(), *text))
        };
        Arc::new(Files {
            headers: files.iter().enumerate().map(header).collect(),
            paths: files.iter().map(|f| f.0.to_owned()).collect(),
            asked: Mutex::default(),
        })
    }
}

impl Source for Files {
    fn find(&self, ask: &Ask) -> Option<Arc<Header>> {
        self.asked.lock().unwrap().push(ask.name.to_string());
        let includer = ask.from.and_then(|f| self.paths.get(f.0 as usize));
        let beside = includer.and_then(|p| Some(p.rsplit_once('/')?.0)).unwrap_or("");
        let mut places = vec![format!("inc/{}", ask.name), format!("sys/{}", ask.name)];
        if ask.quoted {
            let near =
                if beside.is_empty() { ask.name.to_string() } else { format!("{beside}/{}", ask.name) };
            places.insert(0, near);
        }
        if let (true, Some(p)) = (ask.next, includer) {
            let at = places.iter().position(|x| x == p).map_or(0, |k| k + 1);
            places.drain(..at);
        }
        let k = places.iter().find_map(|p| self.paths.iter().position(|x| x == p))?;
        Some(self.headers[k].clone())
    }
}

pub fn options(files: &Arc<Files>, index: &Arc<Index>, defines: &[(&str, &str)]) -> Options {
    Options {
        defines: defines.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect(),
        headers: Some(Headers::new(files.clone(), index.clone())),
        ..Options::default()
    }
}

/// A unit with headers.
pub fn unit_with(text: &str, files: &[(&str, &str)], defines: &[(&str, &str)]) -> Unit {
    let options = options(&Files::new(files), &Arc::default(), defines);
    lower(&Parsed::parse(Language::C, text), &options, &mut Memo::new())
}
