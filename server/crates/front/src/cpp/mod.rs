//! C++ as hosts are written in it: loops over arrays and pointers in functions that C could have.
//!
//! The same reading as CUDA's ([`crate::cuda`]), without its words for devices: what has a C meaning gets it, the rest becomes
//! gaps with a reason, as small as can be cut out safely.
//!
//! Deliberately absent: kernels of its loops (`offloads`): what is written for a host is C.

use std::sync::OnceLock;

use crate::c::dialect::Dialect;
use crate::c::known::KnownResult;
use crate::c::row::{Family, COMMENTS};
use crate::cuda::quoted;
use crate::language::{Claims, Compiler, Row, Standard};

/// C++.
pub(crate) static ROW: Row = Row {
    name: "cpp",
    title: "C++",
    files: Claims { always: &["cpp", "cc", "cxx", "hpp", "hh", "hxx"], by_text: &[] },
    ids: Claims { always: &["cpp", "c++"], by_text: &[] },
    extension: "cpp",
    comments: COMMENTS,
    kernels: false,
    offloads: false,
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
    type_name: |_| None,
    function: overloaded,
    is_written_in: |_| false,
    predefined: OnceLock::new(),
};

/// What `std::` has beside C's functions: of the type of what it is given.
fn overloaded(name: &str) -> Option<KnownResult> {
    matches!(name, "min" | "max").then_some(KnownResult::OfFirst)
}
