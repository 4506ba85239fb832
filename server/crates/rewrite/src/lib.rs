//! Rewrite rules (F1.2, F1.3): `source [condition] -> destination [action]`, read from pages, checked, applied by
//! strategy, with the derivation remembered.
//!
//! The room is here so that its arrows are fixed; the rule language itself is not built yet, and nothing in the house
//! pretends that it is. What it will work on stands ready: terms with variables (`term::Op::Var`, `Cons`, `Apply`),
//! their notation (`term::notation`), and facts whose proofs rules may ask for (`analysis::Facts`).
#![forbid(unsafe_code)]
