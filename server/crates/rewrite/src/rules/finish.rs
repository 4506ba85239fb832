//! A run's tree at its end: tails become lists, and what rules declared stands where it belongs.
//!
//! Deliberately absent: which rules apply where (see `run`).

use std::sync::Arc;

use term::Op;

use super::matching::build;
use super::run::Run;
use super::tree::{Node, Tree};

impl Run<'_> {
    /// Tails that never became lists are last items; declarations go to the beginning of the function.
    pub(super) fn finish(&mut self, tree: Tree) -> Tree {
        let mut tree = self.joined(&tree);
        let (declared, parameters) =
            (std::mem::take(&mut self.declared), std::mem::take(&mut self.parameters));
        if !declared.is_empty() || !parameters.is_empty() {
            tree = with_declarations(&tree, declared, parameters);
        }
        tree
    }
    /// Without tails that are no lists.
    pub(super) fn joined(&mut self, n: &Tree) -> Tree {
        match n.walk().any(|x| x.op == Op::Cons) {
            true => self.join(n),
            false => n.clone(),
        }
    }
    fn join(&mut self, n: &Tree) -> Tree {
        let args: Vec<Tree> = n.args.iter().map(|a| self.join(a)).collect();
        match (&n.op, args.as_slice()) {
            (Op::Cons, [h, t]) if t.op == Op::List => super::matching::cons(h.clone(), t.clone()),
            (Op::Cons, [h, t]) => Node::list(vec![h.clone(), t.clone()]),
            _ if args.iter().zip(n.args.iter()).all(|(a, b)| Arc::ptr_eq(a, b)) => n.clone(),
            _ => build(&mut self.types, n.op.clone(), args, Some(n)),
        }
    }
}

/// A function with declarations at its beginning and parameters behind its own.
fn with_declarations(n: &Tree, declared: Vec<Tree>, parameters: Vec<Tree>) -> Tree {
    if !n.is("Function") || n.args.len() != 5 || n.args[4].op != Op::List {
        return n.clone();
    }
    let mut args = n.args.to_vec();
    let more = |list: &Tree, items: Vec<Tree>| match items.len() == list.args.len() {
        true => list.clone(),
        false => list.with_args(items, None),
    };
    args[3] = more(&n.args[3], n.args[3].args.iter().cloned().chain(parameters).collect());
    args[4] = more(&n.args[4], declared.into_iter().chain(n.args[4].args.iter().cloned()).collect());
    n.with_args(args, n.ty)
}
