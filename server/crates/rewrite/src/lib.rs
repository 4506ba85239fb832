//! Programs rewritten, as edits of the user's text.
//!
//! [`transform`] has the loop transformations. Rewrite rules (F1.2, F1.3: `source [condition] -> destination [action]`,
//! read from pages, applied by strategy) come with their issue and will share its [`transform::Site`] and registry; what
//! they will work on stands ready: terms with variables (`term::Op::Var`, `Cons`, `Apply`), their notation
//! (`term::notation`), and facts whose proofs rules may ask for (`analysis::Facts`).
#![forbid(unsafe_code)]

pub mod transform;
