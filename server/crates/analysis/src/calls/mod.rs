//! What calls do: the functions of a program, their summaries, and the text of callees in place of calls.

pub(crate) mod called_with;
pub(crate) mod circles;
pub(crate) mod compatible;
pub(crate) mod constants;
pub(crate) mod files;
pub(crate) mod function;
pub(crate) mod held;
pub(crate) mod inline;
pub(crate) mod link;
pub(crate) mod mentions;
pub(crate) mod program;
pub(crate) mod project_facts;
pub(crate) mod read;
pub(crate) mod reentry;
pub(crate) mod shape;
pub(crate) mod summaries;
pub(crate) mod watch;
pub(crate) mod watched;
