//! Source text → terms: C and CUDA today, C# to come.
//!
//! The text is cut into items (functions, declarations), each item is preprocessed (macros, conditionals) into a token
//! stream that remembers where every token stands in the text, parsed by tree-sitter on its own, and lowered to a
//! [`term::Body`] with spans relative to the item. An edit inside one item therefore costs that item alone.
//!
//! Deliberately absent: any judgement of what a loop may do, opening files (headers come from a [`Source`]), and every
//! tree-sitter type (none leaves this crate).
#![forbid(unsafe_code)]

mod api;
mod arms;
mod c;
mod choices;
mod cuda;
mod cut;
mod headers;
mod include;
mod lex;
mod marks;
mod omp;
mod pp;
mod productions;
mod says;
mod stand_ins;
mod unit;

pub use api::{
    detect, item_at, loop_header_span, term_at, Choice, Directive, DirectiveKind, Edit, Included, Item,
    ItemKind, Language, Options, Parsed, Taken, Unit,
};
pub use cuda::LIBRARY_CALLS;
pub use headers::{Ask, Header, HeaderId, Headers, Index, Source};
pub use omp::{omp_directives, omp_threadprivate};
pub use pp::asked::Predefined;
pub use productions::{all_productions, productions};
pub use unit::{lower, Memo};

/// Tables whose copies share what they have in common.
pub(crate) type Shared<K, V> =
    imbl::GenericHashMap<K, V, rustc_hash::FxBuildHasher, imbl::shared_ptr::DefaultSharedPtr>;
/// Sets that do.
pub(crate) type SharedSet<K> =
    imbl::GenericHashSet<K, rustc_hash::FxBuildHasher, imbl::shared_ptr::DefaultSharedPtr>;
