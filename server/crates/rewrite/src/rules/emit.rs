//! Files that rules emit, and what a function then needs before it, as text that has been read again.
//!
//! A file is a function or a list of them. Nothing in it is the user's own text: macros and names of the document are not
//! there, so words that stand for numbers are written as these. Functions for the host are kept from NVRTC, which has no
//! run time. Deliberately absent: languages other than CUDA, and the comment at a file's head (`ide`).

use std::sync::Arc;

use front::{Language, Parsed};
use term::{Op, Storage};

use super::ctext;
use super::run::{Before, Emitted};
use super::tree::{Node, Subject, Tree};
use super::write::Writer;

/// An emitted file's text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EmittedFile {
    pub name: Arc<str>,
    pub text: String,
}

/// What is to stand before a function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Preamble {
    /// Where, in the document.
    pub at: u32,
    /// Lines without their ends.
    pub lines: Vec<String>,
}

/// Whether the braces of functions stand on lines of their own.
fn brace_below(subject: &Subject, w: &Writer<'_>) -> bool {
    let block = subject.root.args.last().and_then(|b| w.place(b));
    block.is_none_or(|b| w.is_first_on_line(b.start))
}

/// Writes a file and reads it again. `Err`: why it is not given out, words that continue "because".
pub(super) fn file(w: &Writer<'_>, emitted: &Emitted) -> Result<EmittedFile, String> {
    let name = &emitted.name;
    if !name.ends_with(".cu") {
        return Err(format!(
            "the rules make the file `{name}`, and only files of CUDA (`NAME.cu`) are written"
        ));
    }
    let wrong = |why: String| format!("in the file `{name}` that the rules make, {why}");
    let content = bare(w.subject, &emitted.content);
    let items: Vec<Tree> = match content.op {
        Op::List => content.args.to_vec(),
        _ => vec![content],
    };
    let below = brace_below(w.subject, w);
    let mut text = String::new();
    let mut for_host = false;
    for item in &items {
        if !item.is("Function") || item.args.len() != 5 {
            return Err(wrong(format!("`{}` is no function", w.subject.print(item))));
        }
        let host = !ctext::modifiers(w, item).iter().any(|m| matches!(*m, "__global__" | "__device__"));
        super::scope::check(w.subject, item).map_err(wrong)?;
        if !text.is_empty() {
            text += w.eol;
        }
        if host != for_host {
            let line =
                if host { "#ifndef __CUDACC_RTC__ /* NVRTC compiles kernels only */" } else { "#endif" };
            text += &format!("{line}{}", w.eol);
            for_host = host;
        }
        if let Some(jump) = jump_outside(&item.args[4], false, false) {
            return Err(wrong(format!("`{}` stands outside of loops", w.subject.print(&jump))));
        }
        text += &ctext::function(w, item, below).map_err(wrong)?;
        text += w.eol;
    }
    if for_host {
        text += &format!("#endif{}", w.eol);
    }
    reads_as(w.subject, &items, &text).map_err(wrong)?;
    Ok(EmittedFile { name: name.clone(), text })
}

/// A jump of a loop (or `switch`) that stands in none.
fn jump_outside(n: &Tree, in_loop: bool, in_switch: bool) -> Option<Tree> {
    match n.op {
        Op::Continue if !in_loop => return Some(n.clone()),
        Op::Break if !(in_loop || in_switch) => return Some(n.clone()),
        _ => {}
    }
    let (l, s) = (in_loop || n.op.is_loop(), in_switch || n.op == Op::Switch);
    n.args.iter().find_map(|a| jump_outside(a, l, s))
}

/// That the text, read, has these functions and nothing that is not understood.
fn reads_as(subject: &Subject, items: &[Tree], text: &str) -> Result<(), String> {
    let parsed = Parsed::parse(Language::Cuda, text);
    let unit = front::lower(&parsed, &front::Options::default(), &mut front::Memo::new());
    let mut rejects = unit.rejects.iter().chain(unit.items.iter().flat_map(|i| i.body.rejects()));
    if let Some(r) = rejects.next() {
        return Err(format!("something is not understood when read again: {}", r.reason));
    }
    let functions: Vec<_> = unit.items.iter().filter(|i| i.kind == front::ItemKind::Function).collect();
    if functions.len() != items.len() {
        return Err("other functions stand than the rules have".to_owned());
    }
    for (found, wanted) in functions.iter().zip(items) {
        let again = Subject::of(&found.body, text, found.span.start, found.is_kernel, found.is_device);
        let stranger = again.symbols.iter().find(|k| {
            // the run time's own names are declared by its headers
            k.storage == Storage::Undeclared && !k.name.starts_with("cuda") && *k.name != *"dim3"
        });
        if let Some(s) = stranger {
            return Err(format!("`{}` is declared nowhere", s.name));
        }
        for k in 2..5 {
            let shown = |s: &Subject, t: &Tree| s.print(&super::apply::plain(t));
            let (want, got) = (shown(subject, &wanted.args[k]), shown(&again, &found_part(&again, k)));
            if want != got {
                return Err(format!(
                    "the text reads otherwise than the rules have it (`{got}` instead of `{want}`)"
                ));
            }
        }
    }
    Ok(())
}

fn found_part(again: &Subject, k: usize) -> Tree {
    again.root.args.get(k).cloned().unwrap_or_else(|| Node::list(Vec::new()))
}

/// A tree without the text it was read from: constants by their values, no macros.
pub(super) fn bare(subject: &Subject, n: &Tree) -> Tree {
    let constant = n.as_symbol().and_then(|s| match subject.symbol(s)?.storage {
        Storage::Constant(v) => Some(v),
        _ => None,
    });
    let args: Vec<Tree> = n.args.iter().map(|a| bare(subject, a)).collect();
    match constant {
        Some(v) => Node::new(Op::Int(v), args, n.ty, None),
        None => Node::new(n.op.clone(), args, n.ty, None),
    }
}

/// Includes and prototypes, less those that the document has.
pub(super) fn preamble(w: &Writer<'_>, before: &[Before], start: u32) -> Result<Preamble, String> {
    let mut lines = Vec::new();
    for b in before {
        if let Before::Include(header) = b {
            let line = format!("#include {header}");
            if !w.text.lines().any(|l| l.trim() == line) {
                lines.push(line);
            }
        }
    }
    for b in before {
        if let Before::Prototype(f) = b {
            let f = bare(w.subject, f);
            lines.push(format!("extern {};", ctext::signature(w, &f)?));
        }
    }
    if !lines.is_empty() {
        lines.push(String::new());
    }
    Ok(Preamble { at: before_comment(w.text, start), lines })
}

/// The beginning of the comment that stands right before a place, or else of the place's line.
fn before_comment(text: &str, start: u32) -> u32 {
    let mut at = crate::transform::text::line_start(text, start as usize);
    let mut inside = false;
    let mut top = at;
    while at > 0 {
        let above = crate::transform::text::line_start(text, at - 1);
        let line = text.get(above..at).unwrap_or("").trim();
        let opens = line.starts_with("/*");
        let comment = match inside {
            true => true,
            false => line.starts_with("//") || (line.ends_with("*/") && (opens || line.starts_with('*'))),
        };
        if !comment {
            break;
        }
        at = above;
        inside = !(opens || line.starts_with("//"));
        if !inside {
            top = at;
        }
    }
    top as u32
}

impl Preamble {
    /// The text to insert at its place.
    pub fn text(&self, eol: &str) -> String {
        self.lines.iter().map(|l| format!("{l}{eol}")).collect()
    }
}
