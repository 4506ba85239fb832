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

mod group;
mod items;
mod members;
pub(crate) mod plain;
mod statements;
pub(crate) mod templates;

pub use plain::LIBRARY_CALLS;

/// Whether a name is one that `std::` has and C (or CUDA) has too, with the same meaning.
fn is_std_of_c(name: &str) -> bool {
    crate::c::known::type_name(name, crate::Language::Cuda).is_some()
        || crate::c::known::is_library_name(name, crate::Language::Cuda)
}

/// A vector type of CUDA (`dim3`, `float4`).
fn is_vector(name: &str) -> bool {
    use crate::c::known::{type_name, KnownType};
    matches!(type_name(name, crate::Language::Cuda), Some(KnownType::Vector(..)))
}
