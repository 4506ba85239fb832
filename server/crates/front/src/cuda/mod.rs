//! CUDA as people write it: C++ around the C that kernels are made of.
//!
//! What stands between items is looked at by [`items`], what stands inside them by [`plain`], both on tokens and before any
//! parser sees it. C++ that has a C meaning gets it (`static_cast`, `auto x = …`, `std::min`, `block.sync()`); the rest
//! becomes gaps with a reason, as small as can be cut out safely, and every name that a gap may declare is unknown
//! from there on. So C++ is never a syntax error, and never taken for something it is not.
//!
//! Function templates whose arguments the file says are read once for each set of them ([`templates`]).
//!
//! Deliberately absent: other templates, classes, overloads, name lookup.

mod arrays;
mod group;
mod items;
mod members;
pub(crate) mod plain;
mod references;
mod statements;
pub(crate) mod templates;

pub use plain::LIBRARY_CALLS;

use std::sync::OnceLock;

use crate::c::dialect::Dialect;
use crate::c::known::{self, KnownType};
use crate::c::lex::{lex, Kind, Token};
use crate::c::row::{function, types, Family, COMMENTS};
use crate::language::{Claims, Compiler, Quoted, Row, Standard};

/// CUDA.
pub(crate) static ROW: Row = Row {
    name: "cuda",
    title: "CUDA",
    files: Claims { always: &["cu", "cuh"], by_text: &["c", "h", "cpp", "cc", "cxx", "hpp", "hh", "inl"] },
    ids: Claims { always: &["cuda", "cuda-cpp", "cu"], by_text: &["c", "cpp", "c++"] },
    extension: "cu",
    comments: COMMENTS,
    kernels: true,
    offloads: false,
    linked: &[],
    compiler: Some(Compiler { standard: Standard::Cpp, reads_all: false, besides: DEFINES }),
    quotes: Some(quoted),
    front: &Family(&DIALECT),
};

/// What nvcc defines beside its host compiler, and decides instead of it.
const DEFINES: &str = "
__cplusplus 201703L
__CUDACC__ 1
__GNUG__ 12
";

/// As C's machinery reads it.
pub(crate) static DIALECT: Dialect = Dialect {
    language: "cuda",
    cpp: true,
    device: Some(&gpu::CUDA),
    defines: DEFINES,
    absent: &["__STDC_VERSION__"],
    type_name: known::cuda_type,
    function: known::cuda_function,
    is_written_in,
    predefined: OnceLock::new(),
};

/// `name < other` may begin a template's arguments unless the name is a variable's.
pub(crate) fn quoted(piece: &Quoted<'_>) -> String {
    let variables = piece.variables.iter().map(|word| format!("int {word};\n"));
    types(piece) + &variables.collect::<String>() + &function(piece)
}

/// Whether a text holds what only CUDA has: a kernel qualifier, a launch, a built-in thread index.
fn is_written_in(text: &str) -> bool {
    if ["__global__", "<<<", "threadIdx", "__device__", "__shared__"].iter().all(|w| !text.contains(w)) {
        return false;
    }
    // Not in comments or strings.
    let lexed = lex(text);
    let b = text.as_bytes();
    let word = |t: &Token| b.get(t.start as usize..t.end as usize).unwrap_or_default();
    lexed.tokens.windows(2).any(|w| {
        (w[0].kind == Kind::Ident
            && matches!(word(&w[0]), b"__global__" | b"threadIdx" | b"__device__" | b"__shared__"))
            || (word(&w[0]) == b"<<" && word(&w[1]) == b"<" && w[0].end == w[1].start)
    })
}

/// Whether a name is one that `std::` has and C (or CUDA) has too, with the same meaning.
fn is_std_of_c(name: &str) -> bool {
    known::type_name(name, &DIALECT).is_some() || known::is_library_name(name, &DIALECT)
}

/// A vector type of CUDA (`dim3`, `float4`).
fn is_vector(name: &str) -> bool {
    matches!(known::type_name(name, &DIALECT), Some(KnownType::Vector(..)))
}
