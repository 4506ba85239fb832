//! C++ as hosts are written in it, and as it stands around the C that kernels are made of ([`crate::cuda`]).
//!
//! What stands between items is looked at by [`items`], what stands inside them by [`plain`], both on tokens and before any
//! parser sees it. C++ that has a C meaning gets it (`static_cast`, `auto x = …`, `std::min`, `double &x = a[i]`); the rest
//! becomes gaps with a reason, as small as can be cut out safely, and every name that a gap may declare is unknown
//! from there on. So C++ is never a syntax error, and never taken for something it is not.
//!
//! Function templates whose arguments the file says are read once for each set of them ([`templates`]).
//!
//! Deliberately absent: other templates, classes, overloads, name lookup; kernels of its loops (`offloads`), for what is written for a
//! host is C.

mod arrays;
mod collectives;
pub(crate) mod items;
mod launches;
mod lenders;
mod members;
pub(crate) mod plain;
mod references;
mod statements;
pub(crate) mod templates;
mod toolkit;

pub(crate) use collectives::COLLECTIVE;
pub use plain::LIBRARY_CALLS;

use std::sync::OnceLock;

use crate::c::dialect::Dialect;
use crate::c::known::{self, KnownResult, KnownType};
use crate::c::lex::{lex, Kind};
use crate::c::row::{function, types, Family, COMMENTS};
use crate::language::{Claims, Compiler, Quoted, Row, Standard};

/// C++.
pub(crate) static ROW: Row = Row {
    name: "cpp",
    title: "C++",
    files: Claims { always: &["cpp", "cc", "cxx", "hpp", "hh", "hxx"], by_text: &["h"] },
    ids: Claims { always: &["cpp", "c++"], by_text: &[] },
    extension: "cpp",
    comments: COMMENTS,
    kernels: false,
    offloads: false,
    interpreted: true,
    linked: &[],
    compiler: Some(Compiler { standard: Standard::Cpp, reads_all: true, besides: "" }),
    quotes: Some(quoted),
    front: &Family(&DIALECT),
};

/// As C's machinery reads it.
static DIALECT: Dialect = Dialect {
    language: "cpp",
    cpp: true,
    device: None,
    defines: "
__cplusplus 201703L
__GNUG__ 12
",
    absent: &["__STDC_VERSION__", "__CUDACC__"],
    switches: &[],
    type_name: |_| None,
    function: overloaded,
    is_written_in,
    predefined: OnceLock::new(),
};

/// Whether a header is C++'s: it opens a namespace, a class or a template where C would read it, too.
fn is_written_in(text: &str) -> bool {
    if ["namespace", "template", "class"].iter().all(|w| !text.contains(w))
        || crate::cuda::is_written_in(text)
    {
        return false;
    }
    let lexed = lex(text);
    let word = |k: usize| lexed.tokens.get(k).and_then(|t| text.get(t.span().range())).unwrap_or("");
    // conditions around a token: whether each is one of C++ alone, and whether its other arm is
    let mut around: Vec<(bool, bool)> = Vec::new();
    for (k, t) in lexed.tokens.iter().enumerate() {
        if t.kind == Kind::Directive {
            let line = word(k).trim_start_matches('#').trim_start();
            if line.starts_with("if") {
                let asks = line.contains("__cplusplus");
                let plain: String = line.chars().filter(|c| !c.is_whitespace() && *c != '(').collect();
                let lacks = line.starts_with("ifndef") || plain.contains("!defined__cplusplus");
                let never = plain == "if0";
                around.push((never || asks && !lacks, asks && lacks));
            } else if line.starts_with("el") {
                if let Some(last) = around.last_mut() {
                    *last = (last.1 || line.contains("__cplusplus"), false);
                }
            } else if line.starts_with("endif") {
                around.pop();
            }
            continue;
        }
        if around.iter().any(|a| a.0) || t.kind != Kind::Ident {
            continue;
        }
        let is_name = |j: usize| lexed.tokens.get(j).is_some_and(|n| n.kind == Kind::Ident);
        let first =
            |j: usize| j == 0 || matches!(word(j - 1), ";" | "}" | "{") || word(j - 1).starts_with('#');
        let begins = match word(k) {
            "namespace" if first(k) || word(k - 1) == "inline" => {
                word(k + 1) == "{" || is_name(k + 1) && matches!(word(k + 2), "{" | "::")
            }
            "template" => first(k) && word(k + 1) == "<",
            // a word of export, or of the compiler's, may stand before its name
            "class" if first(k) => {
                let named = (k + 1..k + 4).take_while(|&j| is_name(j)).count();
                named > 0 && matches!(word(k + 1 + named), "{" | ":" | ";")
            }
            _ => false,
        };
        if begins {
            return true;
        }
    }
    false
}

/// What `std::` has beside C's functions: of the type of what it is given.
fn overloaded(name: &str) -> Option<KnownResult> {
    matches!(name, "min" | "max").then_some(KnownResult::OfFirst)
}

/// `name < other` may begin a template's arguments unless the name is a variable's.
pub(crate) fn quoted(piece: &Quoted<'_>) -> String {
    let variables = piece.variables.iter().map(|word| format!("int {word};\n"));
    types(piece) + &variables.collect::<String>() + &function(piece)
}

/// Whether a name is one that `std::` has and the dialect has too, with the same meaning.
fn is_std_of_c(name: &str, dialect: &Dialect) -> bool {
    known::type_name(name, dialect).is_some() || known::is_library_name(name, dialect)
}

/// A vector type of the dialect's (CUDA's `dim3`, `float4`).
pub(crate) fn is_vector(name: &str, dialect: &Dialect) -> bool {
    matches!(known::type_name(name, dialect), Some(KnownType::Vector(..)))
}
