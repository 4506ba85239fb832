//! Where the languages that C's machinery reads differ. C's dialect is here, CUDA's in [`crate::cuda`].

use std::sync::{Arc, OnceLock};

use crate::c::known::{KnownResult, KnownType};
use crate::c::pp::predefined::Table;

/// A language of C's family.
#[derive(Debug)]
pub(crate) struct Dialect {
    /// Its row's name.
    pub language: &'static str,
    /// Where C and C++ differ, C++ holds: a comparison is a `bool` and `'a'` a `char`, a tag is a type's name, functions have
    /// overloads, headers as before C89 are gone. What only C++ has is made C, or a gap, before anything is parsed.
    pub cpp: bool,
    /// It has words for devices (kernels and their launches, indices, barriers): the row that spells them.
    pub device: Option<&'static gpu::Row>,
    /// What its compiler defines besides what all do, where none was asked: lines of `NAME value`.
    pub defines: &'static str,
    /// Of the names by which C's and C++'s compilers are told apart, those that are surely not defined.
    pub absent: &'static [&'static str],
    /// Macros by which programs leave its documents' contents in, or out: taken as defined, or as not, where nothing says it. They
    /// are asked by conditions alone; what they would be replaced with is not known.
    pub switches: &'static [(&'static str, bool)],
    /// Its own types and functions, beside those of C's library.
    pub type_name: fn(&str) -> Option<KnownType>,
    pub function: fn(&str) -> Option<KnownResult>,
    /// Whether a text is in it, where the document's name leaves that open.
    pub is_written_in: fn(&str) -> bool,
    /// The macros before the first line, where no compiler was asked; see [`crate::c::pp::predefined::all`].
    pub predefined: OnceLock<Arc<Table>>,
}

impl Dialect {
    /// What is taken of a macro that nothing defines, if it is one of those.
    pub(crate) fn switch(&self, name: &str) -> Option<bool> {
        self.switches.iter().find(|s| s.0 == name).map(|s| s.1)
    }
}

/// C11 with common GNU spellings.
pub(crate) static C: Dialect = Dialect {
    language: "c",
    cpp: false,
    device: None,
    defines: "
__STDC_VERSION__ 201710L
__GNUC_STDC_INLINE__ 1
",
    absent: &["__cplusplus", "__CUDACC__"],
    switches: &[],
    type_name: |_| None,
    function: |_| None,
    is_written_in: |_| false,
    predefined: OnceLock::new(),
};
