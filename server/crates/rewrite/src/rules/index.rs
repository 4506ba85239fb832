//! Rules by what they can apply to, so that a place is compared with few of them.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};
use term::Op;

use super::page::RuleSystem;
use super::pattern::{Literal, Pattern};
use super::tree::{Node, Subject};

/// Positions of rules in their system.
#[derive(Default)]
pub(super) struct Index {
    pub by_head: FxHashMap<u64, Vec<usize>>,
    /// For any head.
    pub open: Vec<usize>,
    /// Runs of statements in a list.
    pub runs: Vec<usize>,
}

impl Index {
    pub fn of(system: &RuleSystem) -> Index {
        let mut index = Index::default();
        for (k, rule) in system.rules.iter().enumerate() {
            if rule.run {
                index.runs.push(k);
                continue;
            }
            match head_of_pattern(&rule.source) {
                Some(keys) => keys.into_iter().for_each(|h| index.by_head.entry(h).or_default().push(k)),
                None => index.open.push(k),
            }
        }
        index
    }
}

fn hash_of(op: &Op, word: Option<&str>) -> u64 {
    let mut h = FxHasher::default();
    match word {
        Some(w) => w.hash(&mut h),
        None => {
            std::mem::discriminant(op).hash(&mut h);
            match op {
                Op::Binary(b) | Op::Compound(b) => b.hash(&mut h),
                Op::Apply(head) => head.hash(&mut h),
                _ => {}
            }
        }
    }
    h.finish()
}

/// The head of a place, as the index has it.
pub(super) fn head_of(subject: &Subject, n: &Node) -> u64 {
    hash_of(&n.op, subject.word(n))
}

/// The heads a source can stand at; `None`: any.
fn head_of_pattern(p: &Pattern) -> Option<Vec<u64>> {
    match p {
        Pattern::Variable { .. } => None,
        Pattern::Cons(..) => Some(vec![hash_of(&Op::List, None), hash_of(&Op::Cons, None)]),
        Pattern::Literal(Literal::Word(w)) => Some(vec![hash_of(&Op::Empty, Some(w))]),
        // a macro's number is found by its name
        Pattern::Literal(_) => None,
        Pattern::Term(op, _) => Some(vec![hash_of(op, None)]),
    }
}
