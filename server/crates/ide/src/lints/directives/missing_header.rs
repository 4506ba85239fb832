//! `missing-header`: a header that was not found while something in the file rests on what it declares.
//!
//! Told once a file, where the first of them is included. Whether just this header declares what is missing nobody can know; a header of which nothing
//! is missed is not spoken of.

use base::Span;
use front::{ItemKind, Taken};
use term::{Op, Storage};

use crate::lints::{Find, Lint, Message};
use crate::words::{quoted, type_without_declaration};
use crate::{Ask, Doc, Severity};

pub(super) const LINT: Lint = Lint {
    code: "missing-header",
    severity: Severity::Warning,
    summary: "A header was not found, and names that the file uses are declared nowhere.",
    page: include_str!("../../../../../../docs/codes/missing-header.md"),
    find: Find::Document(missing_header),
    fixes: &[],
};

/// Names that are told; of more it is said that there are more.
const TOLD: usize = 3;

fn missing_header(ask: &Ask) -> Vec<(Span, Message)> {
    let doc = &ask.doc;
    let headers = missing_headers(doc);
    let Some((span, first)) = headers.first() else { return Vec::new() };
    let names = undeclared(doc);
    if names.is_empty() {
        return Vec::new();
    }
    let told: Vec<String> = names.iter().take(TOLD).map(|n| quoted(n)).collect();
    let more = if names.len() > TOLD { " and others" } else { "" };
    let (are, them) = if names.len() == 1 { ("is", "it") } else { ("are", "them") };
    let (which, where_) = match headers.len() {
        1 => (format!("`{first}` was not found"), format!("the folder of `{first}`")),
        2 => (format!("`{first}` and another header were not found"), "their folders".to_owned()),
        n => (format!("`{first}` and {} more headers were not found", n - 1), "their folders".to_owned()),
    };
    let message = format!(
        "{which}, and {}{more} {are} declared nowhere: what uses {them} is not known. Name {where_} in the setting \
         `warpwright.includePaths`, or with `-I`.",
        told.join(", ")
    );
    vec![(*span, Message { message, ..Message::default() })]
}

/// Whether a name is one that the toolkit's headers or the compiler declare, which nobody needs here: nothing is missing without them.
fn is_provided(name: &str) -> bool {
    const FAMILIES: [&str; 11] = [
        "cuda", "cublas", "curand", "cufft", "cusparse", "cusolver", "cudnn", "nvml", "nvtx", "nvrtc", "nccl",
    ];
    const OTHERS: [&str; 5] =
        ["device_launch_parameters", "cooperative_groups", "vector_types", "mma", "FILE"];
    let lower = name.to_ascii_lowercase();
    name.starts_with("__")
        || FAMILIES.iter().any(|f| lower.starts_with(f))
        || OTHERS.contains(&name)
        // the driver's functions and types: cuInit, CUdevice
        || name.strip_prefix("cu").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
        || name.strip_prefix("CU").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase() || c == '_'))
}

/// The headers that a document includes and that were not found, each where that stands; not those of the toolkit.
pub fn missing_headers(doc: &Doc) -> Vec<(Span, String)> {
    let missing: Vec<&str> =
        doc.configuration().iter().filter(|c| c.taken == Taken::NotFound).map(|c| &*c.name).collect();
    if missing.is_empty() {
        return Vec::new();
    }
    let mut out: Vec<(Span, String)> = Vec::new();
    let mut at = 0usize;
    for line in doc.source().split_inclusive('\n') {
        let start = at;
        at += line.len();
        let words = line.trim_start();
        let named = words.strip_prefix('#').and_then(|w| w.trim_start().strip_prefix("include"));
        let Some(rest) = named.map(str::trim_start) else { continue };
        let close = if rest.starts_with('<') { '>' } else { '"' };
        let Some((name, after)) = rest.get(1..).and_then(|r| r.split_once(close)) else { continue };
        let stem = name.split(['/', '.']).next().unwrap_or(name);
        if missing.contains(&name) && !is_provided(stem) && out.iter().all(|(_, known)| known != name) {
            let span = Span::new(start + line.len() - words.len(), at - after.len());
            out.push((span, name.to_owned()));
        }
    }
    out
}

/// Names that functions use and nothing declares, in the order of the text; and types of what they use.
fn undeclared(doc: &Doc) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut types: Vec<String> = Vec::new();
    for item in doc.unit().items.iter().filter(|i| i.kind == ItemKind::Function) {
        let body = &item.body;
        for t in body.walk(body.root) {
            let Op::Sym(s) = body.op(t) else { continue };
            let symbol = &body.symbols[*s];
            if symbol.storage == Storage::Undeclared
                && !is_provided(&symbol.name)
                && !out.iter().any(|n| **n == *symbol.name)
            {
                out.push(symbol.name.to_string());
            }
            let ty = type_without_declaration(body, symbol.ty);
            if let Some(ty) = ty.filter(|ty| !is_provided(ty) && !types.iter().any(|n| n == ty)) {
                types.push(ty.to_owned());
            }
        }
    }
    out.extend(types);
    out
}
