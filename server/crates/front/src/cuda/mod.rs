//! CUDA as people write it: C++ around the C that kernels are made of, read as [`crate::cpp`] does, with words for devices.

pub(crate) mod group;

use std::sync::OnceLock;

use crate::c::dialect::Dialect;
use crate::c::known;
use crate::c::lex::{lex, Kind, Token};
use crate::c::row::{Family, COMMENTS};
use crate::cpp::quoted;
use crate::language::{Claims, Compiler, Row, Standard};

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
    interpreted: true,
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
    switches: &[
        ("GPU", true),
        ("USE_GPU", true),
        ("WITH_GPU", true),
        ("ENABLE_GPU", true),
        ("USE_CUDA", true),
        ("WITH_CUDA", true),
        ("HAVE_CUDA", true),
        ("ENABLE_CUDA", true),
        ("CPU_ONLY", false),
        ("NO_GPU", false),
        ("NO_CUDA", false),
    ],
    type_name: known::cuda_type,
    function: known::cuda_function,
    is_written_in,
    predefined: OnceLock::new(),
};

/// Whether a text holds what only CUDA has: a kernel qualifier, a launch, a built-in thread index.
pub(crate) fn is_written_in(text: &str) -> bool {
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
