//! A system applied to a tree by its strategy, within limits.
//!
//! Rules are found by the head of what stands at a place, and a subtree to which nothing applied is not looked at again.
//! Every run ends: steps, applications and size are counted, and a tree that comes up twice ends it as well; what was
//! reached until then is the answer, with the reason. Deliberately absent: whether a result is right (see `apply`).

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use term::{Op, Types};

use super::act;
use super::derivation::{Applied, Derivation, NotApplied, Proof};
use super::guard::Guard;
use super::index::{self, Index};
use super::matching::{build, declare_types, fill, matches, Bindings};
use super::page::{Rule, RuleSystem, Strategy};
use super::pattern::Pattern;
use super::prove::{Asking, Ground};
use super::tree::{Node, Subject, Tree};
use crate::limits::rules_run::{MAX_DEPTH, MAX_REFUSED};

/// How much one run may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Comparisons of a rule with a place, and places walked over.
    pub steps: u64,
    /// Applications.
    pub applications: u32,
    /// Nodes of the tree.
    pub size: u32,
    /// Levels that rules may add to the tree.
    pub depth: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { steps: 2_000_000, applications: 5_000, size: 200_000, depth: 150 }
    }
}

/// Why a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// No rule applies any more, or as many as were asked for were applied.
    Done,
    OutOfSteps,
    TooManyApplications,
    TooLarge,
    /// A tree came up that had been there before: the rules undo one another.
    Circle,
}

/// A file a rule emitted.
#[derive(Clone, Debug)]
pub struct Emitted {
    pub name: Arc<str>,
    pub content: Tree,
}

/// What a rule wants to stand before the function.
#[derive(Clone, Debug)]
pub enum Before {
    /// A header: `<stdlib.h>`, `"own.h"`.
    Include(Arc<str>),
    /// A `Function` without a body.
    Prototype(Tree),
}

/// What a run came to.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub tree: Tree,
    /// The subject's types and those made on the way.
    pub types: Types,
    pub derivation: Derivation,
    pub emitted: Vec<Emitted>,
    pub before: Vec<Before>,
    pub ended: Ended,
}

/// The systems a strategy may name.
pub type Systems = FxHashMap<Arc<str>, Arc<RuleSystem>>;

/// Runs a system on a subject's tree, or on a part of it.
pub fn run(
    system: &Arc<RuleSystem>,
    systems: &Systems,
    subject: &Subject,
    root: &Tree,
    ground: Option<Ground<'_>>,
    limits: Limits,
) -> Outcome {
    let mut run = Run {
        systems,
        subject,
        ground,
        limits,
        types: subject.types.clone(),
        derivation: Derivation::default(),
        emitted: Vec::new(),
        before: Vec::new(),
        declared: Vec::new(),
        parameters: Vec::new(),
        made: Vec::new(),
        steps: 0,
        left: None,
        ended: Ended::Done,
        indices: FxHashMap::default(),
        seen: FxHashSet::default(),
        depth: 0,
        deepest: subject.root.depth + limits.depth,
        inside: 0,
    };
    let tree = run.system(system, root.clone()).0;
    let tree = run.finish(tree);
    Outcome {
        tree,
        types: run.types,
        derivation: run.derivation,
        emitted: run.emitted,
        before: run.before,
        ended: run.ended,
    }
}

pub(super) struct Run<'a> {
    systems: &'a Systems,
    pub(super) subject: &'a Subject,
    pub(super) ground: Option<Ground<'a>>,
    limits: Limits,
    pub(super) types: Types,
    derivation: Derivation,
    pub(super) emitted: Vec<Emitted>,
    pub(super) before: Vec<Before>,
    /// Declarations for the beginning of the function.
    pub(super) declared: Vec<Tree>,
    /// Declarations of parameters that the function gets.
    pub(super) parameters: Vec<Tree>,
    made: Vec<Arc<str>>,
    steps: u64,
    /// Applications that may still be made, where a strategy limits them.
    left: Option<u32>,
    ended: Ended,
    indices: FxHashMap<*const RuleSystem, Arc<Index>>,
    /// Trees that stood at the root, by hash and size.
    seen: FxHashSet<(u64, u32)>,
    depth: u32,
    /// Levels that a tree may have.
    deepest: u32,
    /// Levels that the walk is inside.
    inside: u32,
}

/// Subtrees to which nothing applies; they are kept so that their addresses stay theirs.
#[derive(Default)]
struct Normal {
    of: FxHashSet<*const Node>,
    kept: Vec<Tree>,
}

impl Run<'_> {
    fn spend(&mut self, steps: usize) {
        self.steps += steps as u64;
        let of_all = self.ground.map_or(Ok(()), |g| g.budget.spend(steps as u64));
        if (self.steps > self.limits.steps || of_all.is_err()) && self.ended == Ended::Done {
            self.ended = Ended::OutOfSteps;
        }
    }
    fn is_over(&self) -> bool {
        self.ended != Ended::Done || self.left == Some(0)
    }

    /// Runs a system; whether it changed anything.
    pub(super) fn system(&mut self, system: &Arc<RuleSystem>, tree: Tree) -> (Tree, bool) {
        self.depth += 1;
        let result = if self.depth > MAX_DEPTH {
            (tree, false)
        } else {
            // a circle is one within a system
            let outer = std::mem::take(&mut self.seen);
            let result = self.strategy(&system.strategy, system, tree);
            self.seen = outer;
            result
        };
        self.depth -= 1;
        result
    }
    pub(super) fn named(&self, name: &str) -> Option<Arc<RuleSystem>> {
        self.systems.get(name).cloned()
    }

    fn strategy(&mut self, s: &Strategy, system: &Arc<RuleSystem>, tree: Tree) -> (Tree, bool) {
        if self.is_over() {
            return (tree, false);
        }
        match s {
            Strategy::TopDown => self.passes(system, tree, true),
            Strategy::BottomUp => self.passes(system, tree, false),
            Strategy::FirstTop => {
                let (mut tree, mut changed) = (tree, false);
                loop {
                    let (next, some) = self.limited(1, |run| run.passes(system, tree.clone(), true));
                    if !some || self.is_over() {
                        return (next, changed || some);
                    }
                    (tree, changed) = (next, true);
                    if self.circle(&tree) {
                        return (tree, true);
                    }
                }
            }
            Strategy::Once(inner) => self.limited(1, |run| run.strategy(inner, system, tree)),
            Strategy::Repeat(inner) => {
                let (mut tree, mut changed) = (tree, false);
                loop {
                    let (next, some) = self.strategy(inner, system, tree);
                    tree = next;
                    changed |= some;
                    if !some || self.is_over() || self.circle(&tree) {
                        return (tree, changed);
                    }
                }
            }
            Strategy::Try(inner) => {
                let (tree, _) = self.strategy(inner, system, tree);
                (tree, true)
            }
            Strategy::Together(inner) | Strategy::Planned(inner) => self.strategy(inner, system, tree),
            Strategy::Then(all) => {
                let (before, steps, emitted) =
                    (tree.clone(), self.derivation.steps.len(), self.emitted.len());
                let (declared, parameters, said) =
                    (self.declared.len(), self.parameters.len(), self.before.len());
                let mut tree = tree;
                for s in all {
                    let (next, some) = self.strategy(s, system, tree);
                    if !some {
                        self.derivation.steps.truncate(steps);
                        self.emitted.truncate(emitted);
                        self.declared.truncate(declared);
                        self.parameters.truncate(parameters);
                        self.before.truncate(said);
                        return (before, false);
                    }
                    tree = next;
                }
                (tree, true)
            }
            Strategy::Or(all) => {
                for s in all {
                    let (next, some) = self.strategy(s, system, tree.clone());
                    if some {
                        return (next, true);
                    }
                }
                (tree, false)
            }
            Strategy::System(name) => match self.named(name) {
                Some(other) => self.system(&other, tree),
                None => (tree, false),
            },
        }
    }

    /// With at most so many applications.
    fn limited(&mut self, most: u32, f: impl FnOnce(&mut Self) -> (Tree, bool)) -> (Tree, bool) {
        let outer = self.left;
        let mine = outer.map_or(most, |o| o.min(most));
        self.left = Some(mine);
        let result = f(self);
        let used = mine - self.left.unwrap_or(0);
        self.left = outer.map(|o| o - used);
        result
    }
    fn circle(&mut self, tree: &Tree) -> bool {
        let again = !self.seen.insert((tree.hash, tree.size));
        if again {
            self.ended = Ended::Circle;
        }
        again
    }

    fn passes(&mut self, system: &Arc<RuleSystem>, tree: Tree, top_down: bool) -> (Tree, bool) {
        let index = self.index(system);
        let mut normal = Normal::default();
        let (mut tree, mut changed) = (tree, false);
        self.seen.insert((tree.hash, tree.size));
        loop {
            let next = self.pass(system, &index, &tree, top_down, &mut normal);
            if Arc::ptr_eq(&next, &tree) {
                return (tree, changed);
            }
            (tree, changed) = (next, true);
            if tree.size > self.limits.size {
                self.ended = Ended::TooLarge;
            }
            if self.is_over() || self.circle(&tree) {
                return (tree, true);
            }
        }
    }

    fn index(&mut self, system: &Arc<RuleSystem>) -> Arc<Index> {
        if let Some(known) = self.indices.get(&Arc::as_ptr(system)) {
            return known.clone();
        }
        let index = Arc::new(Index::of(system));
        self.indices.insert(Arc::as_ptr(system), index.clone());
        index
    }

    /// One walk over the tree. What stood at the root is replaced by one tree.
    fn pass(
        &mut self,
        system: &Arc<RuleSystem>,
        index: &Index,
        n: &Tree,
        top_down: bool,
        normal: &mut Normal,
    ) -> Tree {
        let mut out = Vec::with_capacity(1);
        self.place(system, index, n, top_down, false, normal, &mut out);
        if out.len() == 1 {
            out.remove(0)
        } else {
            Node::list(out)
        }
    }

    /// Rewrites what stands at a place of a list (`in_list`) or elsewhere; the result is what stands there then.
    #[allow(clippy::too_many_arguments)]
    fn place(
        &mut self,
        system: &Arc<RuleSystem>,
        index: &Index,
        n: &Tree,
        top_down: bool,
        in_list: bool,
        normal: &mut Normal,
        out: &mut Vec<Tree>,
    ) {
        if self.is_over() || normal.of.contains(&Arc::as_ptr(n)) {
            out.push(n.clone());
            return;
        }
        // what rules put into what they made is walked into as well
        if self.inside > self.deepest {
            self.ended = Ended::TooLarge;
            out.push(n.clone());
            return;
        }
        self.inside += 1;
        let mut at = n.clone();
        let mut changed = false;
        loop {
            if top_down {
                if let Some(next) = self.here(system, index, &at) {
                    (at, changed) = (next, true);
                    if in_list && splices(&at) {
                        break;
                    }
                    continue;
                }
            }
            let before = at.clone();
            at = self.runs(system, index, at);
            at = self.parts(system, index, &at, top_down, normal);
            changed |= !Arc::ptr_eq(&before, &at);
            if top_down {
                break;
            }
            match self.here(system, index, &at) {
                Some(next) => (at, changed) = (next, true),
                None => break,
            }
            if in_list && splices(&at) {
                break;
            }
        }
        if in_list && changed && splices(&at) {
            for item in at.args.iter() {
                self.place(system, index, item, top_down, true, normal, out);
            }
        } else {
            if !changed && !self.is_over() {
                normal.of.insert(Arc::as_ptr(&at));
                normal.kept.push(at.clone());
            }
            out.push(at);
        }
        self.inside -= 1;
    }

    fn parts(
        &mut self,
        system: &Arc<RuleSystem>,
        index: &Index,
        n: &Tree,
        top_down: bool,
        normal: &mut Normal,
    ) -> Tree {
        if n.args.is_empty() || self.is_over() {
            return n.clone();
        }
        let is_list = n.op == Op::List;
        self.spend(n.args.len());
        let mut args: Vec<Tree> = Vec::with_capacity(n.args.len());
        for a in n.args.iter() {
            if is_list {
                self.place(system, index, a, top_down, true, normal, &mut args);
            } else {
                let one = self.pass(system, index, a, top_down, normal);
                args.push(one);
            }
        }
        let same =
            args.len() == n.args.len() && args.iter().zip(n.args.iter()).all(|(a, b)| Arc::ptr_eq(a, b));
        if same {
            n.clone()
        } else {
            build(&mut self.types, n.op.clone(), args, Some(n))
        }
    }

    /// Rules whose source is several statements, at every place of a list.
    fn runs(&mut self, system: &Arc<RuleSystem>, index: &Index, list: Tree) -> Tree {
        if list.op != Op::List || index.runs.is_empty() {
            return list;
        }
        // what was put there may go on backwards: a statement that rises through its block
        let longest = index.runs.iter().map(|&k| match &system.rules[k].source {
            Pattern::Term(_, wanted) => wanted.len(),
            _ => 1,
        });
        let back = longest.max().unwrap_or(1) - 1;
        let mut list = list;
        let mut at = 0usize;
        while at < list.args.len() && !self.is_over() {
            let mut next = None;
            for &k in &index.runs {
                let rule = &system.rules[k];
                let Pattern::Term(_, wanted) = &rule.source else { continue };
                let Some(items) = list.args.get(at..at + wanted.len()) else { continue };
                let window = Node::list(items.to_vec());
                if let Some(new) = self.rule(system, rule, &window) {
                    let mut args = list.args[..at].to_vec();
                    match new.op {
                        Op::List => args.extend(new.args.iter().cloned()),
                        _ => args.push(new),
                    }
                    args.extend(list.args[at + wanted.len()..].iter().cloned());
                    next = Some(build(&mut self.types, Op::List, args, Some(&list)));
                    break;
                }
            }
            match next {
                Some(l) => {
                    list = l;
                    self.spend(list.args.len());
                    at = at.saturating_sub(back);
                }
                None => at += 1,
            }
        }
        list
    }

    /// The first rule that applies here, applied.
    fn here(&mut self, system: &Arc<RuleSystem>, index: &Index, n: &Tree) -> Option<Tree> {
        let none = Vec::new();
        let by_head = index.by_head.get(&index::head_of(self.subject, n)).unwrap_or(&none);
        let (mut a, mut b) = (by_head.iter().peekable(), index.open.iter().peekable());
        // in the order of the page, whichever list a rule is in
        loop {
            let k = match (a.peek(), b.peek()) {
                (Some(&&x), Some(&&y)) if x < y => a.next(),
                (Some(_), None) => a.next(),
                (_, Some(_)) => b.next(),
                (None, None) => return None,
            };
            let rule = &system.rules[*k?];
            if let Some(new) = self.rule(system, rule, n) {
                return Some(new);
            }
            if self.is_over() {
                return None;
            }
        }
    }

    fn rule(&mut self, system: &Arc<RuleSystem>, rule: &Rule, n: &Tree) -> Option<Tree> {
        let made = self.made.len();
        let new = self.apply_rule(system, rule, n);
        if new.is_none() {
            // names for what is not made are free again
            self.made.truncate(made);
        }
        new
    }
    fn apply_rule(&mut self, system: &Arc<RuleSystem>, rule: &Rule, n: &Tree) -> Option<Tree> {
        if self.is_over() {
            return None;
        }
        self.spend(1);
        if self.is_over() {
            return None;
        }
        let mut b = Bindings::default();
        if !matches(self.subject, &self.types, &rule.source, n, &mut b) {
            return None;
        }
        let place = n.from.or_else(|| n.args.iter().find_map(|a| a.from));
        if let Some(other) = self.other_launch(system, n) {
            self.refuse(system, rule, place, format!("the kernel `{other}` is not rewritten"));
            return None;
        }
        let mut proofs = Vec::new();
        if let Some(guard) = &rule.guard {
            match self.prove(guard, n, &mut b) {
                Ok(p) => proofs = p,
                Err(why) => {
                    self.refuse(system, rule, place, why);
                    return None;
                }
            }
        }
        for action in &rule.actions {
            if let Err(why) = act::act(self, action, &mut b) {
                self.refuse(system, rule, place, why);
                return None;
            }
        }
        declare_types(&mut self.types, &rule.destination, &mut b);
        let new = match fill(&mut self.types, &rule.destination, &b) {
            Ok(new) => new,
            Err(variable) => {
                self.refuse(system, rule, place, format!("`${variable}` is not bound"));
                return None;
            }
        };
        // a loop that has another mark is the loop it was
        let marked = |n: &Tree| n.op == Op::For && n.args.len() == 5;
        let same_loop = marked(&new) && marked(n) && (0..4).all(|k| Arc::ptr_eq(&new.args[k], &n.args[k]));
        let new = if same_loop { n.with_args(new.args.to_vec(), n.ty) } else { new };
        if self.subject.same(&new, n) {
            let found = (system.name.clone(), rule.name.clone());
            if matches!(system.strategy, Strategy::Together(_))
                && !self.derivation.recognized.contains(&found)
            {
                self.derivation.recognized.push(found);
            }
            return None;
        }
        if self.derivation.steps.len() as u32 >= self.limits.applications {
            self.ended = Ended::TooManyApplications;
            return None;
        }
        if new.size > self.limits.size || new.depth > self.deepest {
            self.ended = Ended::TooLarge;
            return None;
        }
        if let Some(left) = &mut self.left {
            *left -= 1;
        }
        self.derivation.steps.push(Applied {
            system: system.name.clone(),
            rule: rule.name.clone(),
            place,
            before: n.clone(),
            after: new.clone(),
            bindings: b,
            proofs,
        });
        Some(new)
    }
    /// A kernel launched in what a rule matched that its system, whose rules belong together, has not rewritten although it
    /// has rewritten others.
    fn other_launch(&self, system: &RuleSystem, matched: &Tree) -> Option<String> {
        let Strategy::Together(_) = system.strategy else { return None };
        let all = &self.ground?.together.kernels;
        let own: Vec<&str> = all.iter().filter(|(s, _)| *s == system.name).map(|(_, k)| &**k).collect();
        if own.is_empty() {
            return None;
        }
        let mut launched =
            matched.walk().filter(|n| n.is("CallKernel")).filter_map(|n| n.args.get(1).cloned());
        launched.find_map(|k| {
            let word = self.subject.word(&k).unwrap_or("?");
            (!own.contains(&word)).then(|| word.to_owned())
        })
    }
    /// Proves a guard of what a source matched.
    pub(super) fn prove(&mut self, guard: &Guard, n: &Tree, b: &mut Bindings) -> Result<Vec<Proof>, String> {
        let mut asking = Asking {
            subject: self.subject,
            ground: self.ground,
            matched: n,
            changed: !self.derivation.steps.is_empty(),
            made: &mut self.made,
            types: &mut self.types,
        };
        asking.prove(guard, b)
    }
    fn refuse(&mut self, system: &RuleSystem, rule: &Rule, place: Option<term::TermId>, because: String) {
        let known = |r: &NotApplied| r.rule == rule.name && r.place == place && r.because == because;
        if self.derivation.refused.len() < MAX_REFUSED && !self.derivation.refused.iter().any(known) {
            let parts = super::nearest::parts(&rule.source);
            let (system, rule) = (system.name.clone(), rule.name.clone());
            self.derivation.refused.push(NotApplied { system, rule, place, because, parts });
        }
    }
}

/// Whether a result that stands in a list is its items rather than a block: a list that a rule made.
fn splices(n: &Tree) -> bool {
    n.op == Op::List && n.from.is_none()
}
