//! Why a transformation is not made.

use analysis::{Condition, Edge, Obstacle};

/// The reason, as data where the reason is one of the analysis.
#[derive(Clone, PartialEq, Debug)]
pub enum Refusal {
    /// The loop has not the shape; words that continue "because".
    Shape(String),
    /// This dependence would be turned around; the words say by what.
    Dependence(Box<Edge>, String),
    /// The analysis cannot see through this.
    Obstacle(Obstacle),
    /// It would rest on something that is not proved.
    Condition(Box<Condition>),
    /// What was asked with `--with` cannot be used; words that continue "because".
    Option(String),
}

/// A refusal by shape.
pub(crate) fn shape<T>(words: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::Shape(words.into()))
}
