//! Source text → terms: C, CUDA, and C#.
//!
//! The text is cut into items (functions, declarations), each item is preprocessed (macros, conditionals) into a token
//! stream that remembers where every token stands in the text, parsed by tree-sitter on its own, and lowered to a
//! [`term::Body`] with spans relative to the item. An edit inside one item therefore costs that item alone.
//!
//! Deliberately absent: any judgement of what a loop may do, opening files (headers come from a [`Source`]), and every
//! tree-sitter type (none leaves this crate).
#![forbid(unsafe_code)]

mod api;
mod c;
mod cpp;
mod csharp;
mod cuda;
mod language;
mod limits;
mod marks;

pub use api::{
    item_at, loop_header_span, lower, lower_until, speaks_of, term_at, Choice, Directive, DirectiveKind,
    Edit, Included, Item, ItemKind, Options, Parsed, Part, PromiseText, Taken, Unit,
};
pub use c::defines::{may_define, Definitions};
pub use c::headers::{is_standard as is_standard_header, Ask, Header, HeaderId, Headers, Index, Source};
pub use c::omp::{omp_directives, omp_threadprivate};
pub use c::pp::asked::Predefined;
pub use c::productions::{all_productions, productions};
pub use c::vendors::is_toolkit as is_toolkit_header;
pub use cpp::LIBRARY_CALLS;
pub use language::{
    detect, detect_among, Claims, Comments, Compiler, FrontEnd, Language, Memo, PartRead, Quoted, Reads, Row,
    Standard, LANGUAGES,
};
pub use marks::of_comment;

/// Tables whose copies share what they have in common.
pub(crate) type Shared<K, V> =
    imbl::GenericHashMap<K, V, rustc_hash::FxBuildHasher, imbl::shared_ptr::DefaultSharedPtr>;
/// Sets that do.
pub(crate) type SharedSet<K> =
    imbl::GenericHashSet<K, rustc_hash::FxBuildHasher, imbl::shared_ptr::DefaultSharedPtr>;
