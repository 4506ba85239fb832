//! Names of actions, as editors hand them back.

use std::fmt;
use std::hash::{Hash, Hasher};

use base::Span;

use super::{explain, mark, offload, unmark, LoopAction, LOOP_ACTIONS};
use crate::lints::{lint, Lint};

/// Names an action, as text `offload:lu#2`. Stable while the function is not edited.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ActionId {
    /// On the loop of this key.
    Loop(&'static LoopAction, String),
    /// A transformation of the loop of this key.
    Transform {
        /// As `transform` names it.
        name: String,
        key: String,
    },
    /// One of the repairs of a finding at a byte of the document.
    Repair { lint: &'static Lint, offset: u32, number: usize },
    /// Suppress a finding at a byte of the document.
    Ignore { lint: &'static Lint, offset: u32 },
    /// Remove the directive that stands exactly there.
    Remove(Span),
    /// Offload all that is worth it: in the function of this name, or in the document.
    Worth(Option<String>),
    /// Run the kernel of this name.
    Simulate(String),
}

impl ActionId {
    /// What an id's text names, if anything; whether it is still there is seen when it is resolved.
    pub fn parse(text: &str) -> Option<ActionId> {
        let (name, argument) = text.split_once(':')?;
        if let Some(action) = LOOP_ACTIONS.iter().find(|a| a.name == name) {
            return Some(ActionId::Loop(action, argument.to_owned()));
        }
        if let Some(name) = name.strip_prefix("transform.") {
            return Some(ActionId::transform(name, argument));
        }
        match name {
            "repair" => {
                let (code, place) = argument.split_once('@')?;
                let (offset, number) = place.split_once('#').unwrap_or((place, "0"));
                Some(ActionId::Repair {
                    lint: lint(code)?,
                    offset: offset.parse().ok()?,
                    number: number.parse().ok()?,
                })
            }
            "ignore" => {
                let (code, offset) = argument.split_once('@')?;
                Some(ActionId::Ignore { lint: lint(code)?, offset: offset.parse().ok()? })
            }
            "remove" => {
                let (start, end) = argument.split_once('-')?;
                Some(ActionId::Remove(Span { start: start.parse().ok()?, end: end.parse().ok()? }))
            }
            "worth" => Some(ActionId::Worth((!argument.is_empty()).then(|| argument.to_owned()))),
            "simulate" => Some(ActionId::Simulate(argument.to_owned())),
            _ => None,
        }
    }
    /// Offload the loop of this key.
    pub fn offload(key: &str) -> ActionId {
        ActionId::Loop(&offload::ACTION, key.to_owned())
    }
    /// Whether it makes the kernel of one loop as it is.
    pub fn is_offload(&self) -> bool {
        matches!(self, ActionId::Loop(action, _) if *action == &offload::ACTION)
    }
    /// Mark the loop of this key.
    pub fn mark(key: &str) -> ActionId {
        ActionId::Loop(&mark::ACTION, key.to_owned())
    }
    /// Remove the mark of the loop of this key.
    pub fn unmark(key: &str) -> ActionId {
        ActionId::Loop(&unmark::ACTION, key.to_owned())
    }
    /// Show all that is known of the loop of this key.
    pub fn explain(key: &str) -> ActionId {
        ActionId::Loop(&explain::ACTION, key.to_owned())
    }
    /// Transform the loop of this key.
    pub fn transform(name: &str, key: &str) -> ActionId {
        ActionId::Transform { name: name.to_owned(), key: key.to_owned() }
    }
}

impl fmt::Display for ActionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ActionId::Loop(action, key) => write!(f, "{}:{key}", action.name),
            ActionId::Transform { name, key } => write!(f, "transform.{name}:{key}"),
            ActionId::Repair { lint, offset, number: 0 } => write!(f, "repair:{}@{offset}", lint.code),
            ActionId::Repair { lint, offset, number } => write!(f, "repair:{}@{offset}#{number}", lint.code),
            ActionId::Ignore { lint, offset } => write!(f, "ignore:{}@{offset}", lint.code),
            ActionId::Remove(span) => write!(f, "remove:{}-{}", span.start, span.end),
            ActionId::Worth(function) => write!(f, "worth:{}", function.as_deref().unwrap_or("")),
            ActionId::Simulate(kernel) => write!(f, "simulate:{kernel}"),
        }
    }
}

impl PartialEq for LoopAction {
    fn eq(&self, other: &LoopAction) -> bool {
        self.name == other.name
    }
}

impl Eq for LoopAction {}

impl Hash for LoopAction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl fmt::Debug for LoopAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let all = [
            "offload:f#0",
            "mark:f#0",
            "unmark:f#0",
            "enable:f#0",
            "explain:f::g#12",
            "transform.interchange:f#1",
            "repair:bank-conflict@7",
            "repair:bank-conflict@7#1",
            "ignore:parallel-loop@0",
            "remove:3-9",
            "simulate:k",
            "worth:f",
            "worth:",
        ];
        for text in all {
            assert_eq!(ActionId::parse(text).map(|id| id.to_string()).as_deref(), Some(text));
        }
        let offloads = |text: &&&str| ActionId::parse(text).is_some_and(|id| id.is_offload());
        assert_eq!(all.iter().filter(offloads).count(), 1);
        for text in ["", "nonsense", "x:y", "repair:no-such-code@1", "ignore:parallel-loop@x", "remove:3"] {
            assert_eq!(ActionId::parse(text), None, "{text}");
        }
    }
}
