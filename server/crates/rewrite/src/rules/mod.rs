//! Rewrite rules that users write (F1.2, F1.3): `source [condition] -> destination [action]`, read from pages, applied by
//! strategy, remembered as derivations.
//!
//! The way through: a page's text → [`load`] → [`RulePage`]s with findings → [`run()`] on a [`Subject`] → an
//! [`Outcome`] → edits of the user's text. Guards are proofs made by `analysis`; what a result must still pass (read
//! again, dependences, run beside the original) is asked by `apply` and by `ide`. Deliberately absent: files, and any
//! judgement of legality by text.

mod act;
mod action;
mod algebra;
mod apply;
mod blocks;
mod cstext;
mod ctext;
mod derivation;
mod emit;
pub mod exact;
mod finish;
mod guard;
mod host;
mod index;
mod leave;
mod lint;
mod load;
mod matching;
mod memory;
mod near;
mod nearest;
mod page;
mod pattern;
mod pieces;
mod prove;
mod quoted;
mod run;
mod runs;
mod schedule;
mod scope;
mod set;
mod show;
mod solve;
mod syntax;
mod terms;
mod tree;
mod trees;
mod uniform;
mod write;

#[cfg(test)]
mod tests;

pub use action::{Action, ACTIONS};
pub use apply::{
    apply, read_again, read_together, words, Application, NoApplication, NoResult, Reading, Site, Together,
    NOTHING_MATCHES,
};
pub use derivation::{Applied, Derivation, NotApplied, Proof};
pub use emit::{EmittedFile, Preamble};
pub use exact::{Doubt, Judgement, Prover};
pub use guard::{Guard, GUARDS};
pub use host::{
    host_functions, host_methods, placed_call, plain_functions, HostFunctions, PlacedCall, PLACING,
    PLACING_CSHARP,
};
pub use load::load;
pub use matching::Bindings;
pub use near::misspelt;
pub use nearest::{nearest, parts, Miss};
pub use page::{
    line_column, Example, ExampleLanguage, Expected, Finding, Rule, RulePage, RuleSystem, Severity, Strategy,
    Trust,
};
pub use pattern::{Literal, Pattern, TypeTest};
pub use pieces::Piece;
pub use prove::{Ground, Others};
pub use run::{run, Before, Emitted, Ended, Limits, Outcome, Systems};
pub use set::RuleSet;
pub use tree::{Known, Node, Subject, Tree};
