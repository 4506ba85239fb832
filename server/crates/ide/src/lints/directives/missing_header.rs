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
    summary: "A header was not found, and names that the file uses are declared in nothing that was read.",
    page: include_str!("../../../../../../docs/codes/missing-header.md"),
    find: Find::Document(missing_header),
    fixes: &[],
};

/// Names that are told; of more it is said that there are more.
const TOLD: usize = 3;

fn missing_header(ask: &Ask) -> Vec<(Span, Message)> {
    let doc = &ask.doc;
    // of a file in which nothing is looked at nothing is missed
    let looked_at = |i: &front::Item| i.is_kernel || i.body.loops(i.body.root).next().is_some();
    if !doc.unit().items.iter().any(looked_at) {
        return Vec::new();
    }
    let headers = missing_headers(doc);
    let Some((span, first)) = headers.first() else { return Vec::new() };
    let names: Vec<String> = undeclared(doc).into_iter().filter(|n| !is_declared(doc, n)).collect();
    if names.is_empty() {
        return Vec::new();
    }
    let told: Vec<String> = names.iter().take(TOLD).map(|n| quoted(n)).collect();
    let more = if names.len() > TOLD { " and others" } else { "" };
    let (are, them) = if names.len() == 1 { ("is", "it") } else { ("are", "them") };
    let not_declared = "declared in nothing that was read";
    let (which, where_) = match headers.len() {
        1 => (format!("`{first}` was not found"), format!("the folder of `{first}`")),
        2 => (format!("`{first}` and another header were not found"), "their folders".to_owned()),
        n => (format!("`{first}` and {} more headers were not found", n - 1), "their folders".to_owned()),
    };
    let message = format!(
        "{which}, and {}{more} {are} {not_declared}: what uses {them} is not known. Name {where_} in the setting \
         `warpwright.includePaths`, or with `-I`.",
        told.join(", ")
    );
    vec![(*span, Message { message, ..Message::default() })]
}

/// Whether the document, or a header that was read for it, declares a name in a place that was not understood: C++ for the most part.
pub fn is_declared(doc: &Doc, name: &str) -> bool {
    doc.may_declare(name) || doc.unit().headers.iter().any(|h| h.may_declare(name))
}

/// Whether a name is one that the toolkit's headers or the compiler declare, which nobody needs here: nothing is missing without them.
pub fn is_provided(name: &str) -> bool {
    const FAMILIES: [&str; 11] = [
        "cuda", "cublas", "curand", "cufft", "cusparse", "cusolver", "cudnn", "nvml", "nvtx", "nvrtc", "nccl",
    ];
    const OTHERS: [&str; 5] =
        ["device_launch_parameters", "cooperative_groups", "vector_types", "mma", "FILE"];
    // what kernels call without a header, besides C's functions
    const FUNCTIONS: [&str; 22] = [
        "normcdf",
        "normcdfinv",
        "erfinv",
        "erfcinv",
        "erfcx",
        "rsqrt",
        "rcbrt",
        "sinpi",
        "cospi",
        "sincos",
        "sincospi",
        "rhypot",
        "norm3d",
        "rnorm3d",
        "norm4d",
        "rnorm4d",
        "exp10",
        "umin",
        "umax",
        "llmin",
        "llmax",
        "saturate",
    ];
    // `double4`, `uchar2`
    const VECTORS: [&str; 12] = [
        "char",
        "uchar",
        "short",
        "ushort",
        "int",
        "uint",
        "long",
        "ulong",
        "longlong",
        "ulonglong",
        "float",
        "double",
    ];
    let plain = name.strip_prefix("make_").unwrap_or(name);
    let lower = name.to_ascii_lowercase();
    name.starts_with("__")
        || FUNCTIONS.contains(&name.strip_suffix('f').filter(|n| FUNCTIONS.contains(n)).unwrap_or(name))
        || plain.strip_suffix(['1', '2', '3', '4']).is_some_and(|of| VECTORS.contains(&of))
        || FAMILIES.iter().any(|f| lower.starts_with(f))
        || OTHERS.contains(&name)
        // the driver's functions and types: cuInit, CUdevice
        || name.strip_prefix("cu").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
        || name.strip_prefix("CU").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase() || c == '_'))
}

/// Whether it is a header of C's library or of the toolkit.
pub fn is_known_header(name: &str) -> bool {
    front::is_toolkit_header(name) || front::is_standard_header(name)
}

/// The headers that a document includes and that were not found, each where that stands, then those that its headers include, at its
/// first header of the program; not those of the toolkit.
pub fn missing_headers(doc: &Doc) -> Vec<(Span, String)> {
    let missing: Vec<&str> =
        doc.configuration().iter().filter(|c| c.taken == Taken::NotFound).map(|c| &*c.name).collect();
    if missing.is_empty() {
        return Vec::new();
    }
    let mut out: Vec<(Span, String)> = Vec::new();
    let mut own: Option<Span> = None;
    let mut at = 0usize;
    for line in doc.source().split_inclusive('\n') {
        let start = at;
        at += line.len();
        let words = line.trim_start();
        let named = words.strip_prefix('#').and_then(|w| w.trim_start().strip_prefix("include"));
        let Some(rest) = named.map(str::trim_start) else { continue };
        let close = if rest.starts_with('<') { '>' } else { '"' };
        let Some((name, after)) = rest.get(1..).and_then(|r| r.split_once(close)) else { continue };
        let span = Span::new(start + line.len() - words.len(), at - after.len());
        if close == '"' {
            own.get_or_insert(span);
        }
        if missing.contains(&name) && !is_known_header(name) && out.iter().all(|(_, known)| known != name) {
            out.push((span, name.to_owned()));
        }
    }
    for name in missing {
        let is_new = out.iter().all(|(_, known)| known != name);
        out.extend(own.filter(|_| is_new && !is_known_header(name)).map(|span| (span, name.to_owned())));
    }
    out
}

/// Headers of toolkits that were not found, though the document or its headers include them: they are missed where a name decides.
pub fn toolkit_headers(doc: &Doc) -> Vec<String> {
    let missing = doc
        .configuration()
        .iter()
        .filter(|c| c.taken == Taken::NotFound && front::is_toolkit_header(&c.name));
    missing.map(|c| c.name.to_string()).collect()
}

/// Names that functions use and nothing declares, in the order of the text; and types of what they use.
fn undeclared(doc: &Doc) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut types: Vec<String> = Vec::new();
    // of C++ around kernels, whose names other headers and namespaces declare, nothing is said that could rest on them
    let kernels = crate::quiet::offers_nothing(doc);
    // nor where names of namespaces stand alone
    if !doc.language().offloads && doc.source().contains("using namespace") && !kernels {
        return out;
    }
    let functions = doc.unit().items.iter().filter(|i| i.kind == ItemKind::Function);
    for item in functions.filter(|i| !kernels || i.is_kernel || i.is_device) {
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
    types.retain(|t| !out.contains(t));
    out.extend(types);
    out
}
