//! Whether a result keeps the order of what must stay in order, whatever its rule claims.
//!
//! Statements are known by the terms they were read from, loops by their indices and headers. Each statement must run for
//! the same iterations as before; every direction vector that the nest's dependences may have is then read in the new
//! order of loops and statements, and must still have its source first (Allen & Kennedy, theorem 2.3). What cannot be
//! recognised so (a loop that is none of the program's, a statement added or gone) is not proved, and said to be so.
//!
//! Deliberately absent: strips, unrolled and fused loops; the transformations in `crate::transform` know those.

use std::sync::Arc;

use analysis::{Edge, Graph, LoopId, Order};
use rustc_hash::FxHashMap;
use term::{BinOp, Op, SymbolId, TermId};

use super::prove::Ground;
use super::tree::{Node, Subject, Tree};

/// The dependences of a nest, if they may be relied on. `Err`: what is missing.
pub(super) fn sure(g: &Ground<'_>, id: LoopId) -> Result<Graph, String> {
    let graph = g.asked(|budget| analysis::nest_dependences(g.body, g.program, g.facts, id, budget));
    if !graph.obstacles.is_empty() {
        return Err("not all dependences of the loop are known".to_owned());
    }
    if !graph.conditions.is_empty() {
        return Err("the dependences of the loop are known only under a condition".to_owned());
    }
    Ok(graph)
}

/// A dependence that is turned around, in words.
pub(super) fn broken(g: &Ground<'_>, subject: &Subject, e: &Edge, v: &[Order]) -> String {
    let kind = match e.kind {
        analysis::DependenceKind::Flow => "flow",
        analysis::DependenceKind::Anti => "anti",
        analysis::DependenceKind::Output => "output",
    };
    let name = subject.name(e.object.symbol);
    let directions: Vec<&str> = v.iter().map(|o| o.symbol()).collect();
    let place = |t: TermId| g.text.get(g.body.span(t).shifted(g.start).range()).unwrap_or("").to_owned();
    format!(
        "it breaks the {kind} dependence of `{name}` from `{}` to `{}` with the directions ({})",
        place(e.source),
        place(e.sink),
        directions.join(", ")
    )
}

/// Why an order is not taken for right.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Fault {
    Broken(String),
    NotKnown(String),
}

fn not_known<T>(why: impl Into<String>) -> Result<T, Fault> {
    Err(Fault::NotKnown(why.into()))
}

/// Whether loops or statements were added, removed or moved, or loops count otherwise.
pub(super) fn moves(subject: &Subject, new: &Tree) -> bool {
    moved(subject, &subject.root, new)
}

fn moved(s: &Subject, old: &Tree, new: &Tree) -> bool {
    if Arc::ptr_eq(old, new) {
        return false;
    }
    if old.is("Function") && new.is("Function") && old.args.len() == 5 && new.args.len() == 5 {
        return moved(s, &old.args[4], &new.args[4]);
    }
    let statement =
        |n: &Tree| n.op.is_loop() || matches!(n.op, Op::List | Op::If | Op::Switch) || n.is("Function");
    if !statement(old) && !statement(new) {
        // one statement for another, in its place
        return false;
    }
    if old.op != new.op || (old.op != Op::List && old.args.len() != new.args.len()) {
        return true;
    }
    if old.op == Op::List {
        return match aligned(old, new) {
            Some((pairs, _)) => pairs.iter().any(|(a, b)| moved(s, a, b)),
            None => true,
        };
    }
    // `if (c) a else b` as `if (!c) b else a`: of the two one runs, whichever stands first
    let swapped = |k: usize, l: usize| {
        let (a, b) = (&old.args[k], &new.args[l]);
        s.same(a, b) || (a.from.is_some() && a.from == b.from && !moved(s, a, b))
    };
    if old.op == Op::If && old.args.len() == 3 && swapped(1, 2) && swapped(2, 1) {
        return false;
    }
    let blocks = super::pattern::blocks(&old.op, old.args.len());
    old.args.iter().zip(new.args.iter()).enumerate().any(|(k, (a, b))| {
        let header = old.op.is_loop() && !blocks.contains(&k);
        (header && !counts_alike(s, a, b)) || moved(s, a, b)
    })
}

/// Whether a part of a loop's header is the same but for the value that is set or compared with: one expression for
/// another, as anywhere else.
fn counts_alike(s: &Subject, a: &Tree, b: &Tree) -> bool {
    if s.same(a, b) || is_unit_step(a, b) {
        return true;
    }
    if a.op != b.op || a.args.len() != b.args.len() || a.args.is_empty() {
        return false;
    }
    let last = a.args.len() - 1;
    let others = a.args[..last].iter().zip(&b.args[..last]).all(|(x, y)| s.same(x, y));
    let compares = matches!(&a.op, Op::Binary(op) if op.is_comparison());
    let sets = a.op == Op::Assign || a.is("DeclarationAssignment");
    others && (compares || sets) && !a.args[last].op.is_write()
}

/// Two lists side by side: items that are the same place, and statements that rules put in the place of one. `None`:
/// something was added, removed or moved.
type Aligned = (Vec<(Tree, Tree)>, Vec<(TermId, Vec<Tree>)>);

fn aligned(old: &Tree, new: &Tree) -> Option<Aligned> {
    let (mut pairs, mut replaced) = (Vec::new(), Vec::new());
    let (mut i, mut j) = (0, 0);
    let same = |o: &Tree, n: &Tree| Arc::ptr_eq(o, n) || (n.from.is_some() && n.from == o.from);
    loop {
        let next = (j..new.args.len())
            .find_map(|l| Some(((i..old.args.len()).find(|&k| same(&old.args[k], &new.args[l]))?, l)));
        let (k, l) = next.unwrap_or((old.args.len(), new.args.len()));
        let (gone, made) = (&old.args[i..k], &new.args[j..l]);
        if gone.is_empty() != made.is_empty() {
            return None;
        }
        if gone.len() == made.len() {
            for (o, m) in gone.iter().zip(made) {
                match (is_compound(o), is_compound(m)) {
                    // a loop or condition for another
                    (true, true) => pairs.push((o.clone(), m.clone())),
                    _ if may_become(o) && is_simple(m) => replaced.push((o.from?, vec![m.clone()])),
                    _ => return None,
                }
            }
        } else {
            if !gone.iter().all(may_become) || !made.iter().all(is_simple) || made.len() < gone.len() {
                return None;
            }
            // side by side in one block, so that whose is which does not matter
            let (first, rest) = made.split_at(gone.len() - 1);
            for (o, m) in gone.iter().zip(first) {
                replaced.push((o.from?, vec![m.clone()]));
            }
            replaced.push((gone.last()?.from?, rest.to_vec()));
        }
        let Some((k, l)) = next else { return Some((pairs, replaced)) };
        pairs.push((old.args[k].clone(), new.args[l].clone()));
        (i, j) = (k + 1, l + 1);
    }
}
/// Whether statements may stand in its place without anything being moved: a statement, or a condition without loops.
fn may_become(n: &Tree) -> bool {
    !is_compound(n) || (n.op == Op::If && n.walk().all(|x| !x.op.is_loop()))
}
fn is_compound(n: &Tree) -> bool {
    n.op.is_loop() || matches!(n.op, Op::List | Op::If | Op::Switch)
}
/// Whether a rule made it, and no statement of the program is in it.
fn is_simple(n: &Tree) -> bool {
    n.from.is_none() && n.walk().all(|x| !is_compound(&x))
}

/// A loop of the program, and whether it runs backwards now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Level {
    id: LoopId,
    reversed: bool,
    /// Which of the tree's loops it is.
    node: *const Node,
}

/// What stands around a statement.
#[derive(Clone, Debug)]
enum Around {
    Loop(Level),
    /// A condition or block that is no loop: which term.
    Other(Option<TermId>),
}

/// A statement that is no loop and no condition.
struct Leaf {
    from: TermId,
    around: Vec<Around>,
}

impl Leaf {
    fn levels(&self) -> Vec<Level> {
        let loops = self.around.iter().filter_map(|a| match a {
            Around::Loop(l) => Some(*l),
            Around::Other(_) => None,
        });
        loops.collect()
    }
    fn ids(&self) -> Vec<LoopId> {
        self.levels().iter().map(|l| l.id).collect()
    }
}

/// Checks the new tree against the dependences of the old.
pub(super) fn check(g: &Ground<'_>, subject: &Subject, new: &Tree) -> Result<(), Fault> {
    let mut owners = FxHashMap::default();
    for list in new.walk().filter(|n| n.op == Op::List) {
        let old = list.from.and_then(|t| subject.original(t)).filter(|o| o.op == Op::List);
        let Some((_, replaced)) = old.and_then(|o| aligned(o, &list)) else { continue };
        for (owner, made) in replaced {
            for (k, m) in made.iter().enumerate() {
                owners.insert(Arc::as_ptr(m), (owner, k == 0));
            }
        }
    }
    let look = Looking { g, subject, owners };
    let (mut before, mut after) = (Vec::new(), Vec::new());
    look.leaves(&subject.root, &mut Vec::new(), &mut before)?;
    look.leaves(new, &mut Vec::new(), &mut after)?;
    let place: FxHashMap<TermId, usize> = after.iter().enumerate().map(|(k, l)| (l.from, k)).collect();
    if place.len() != after.len() {
        return not_known("a statement stands there twice, and whether that is right is not checked");
    }
    if before.len() != after.len() || before.iter().any(|l| !place.contains_key(&l.from)) {
        return not_known("statements are added or gone, and whether that is right is not checked");
    }
    for l in &before {
        let n = &after[place[&l.from]];
        let (mut a, mut b) = (l.ids(), n.ids());
        if a != b {
            look.permuted(l, n)?;
        }
        a.sort_unstable();
        b.sort_unstable();
        if a != b {
            return not_known("a statement stands in other loops than before");
        }
        let conditions = |l: &Leaf| -> Vec<Option<TermId>> {
            let others = l.around.iter().filter_map(|a| match a {
                Around::Other(t) => Some(*t),
                Around::Loop(_) => None,
            });
            others.collect()
        };
        if conditions(l) != conditions(n) {
            return not_known("a statement stands under other conditions than before");
        }
    }
    // what stands outside of loops, and each outermost loop as one, keeps its order
    let units = |all: &[Leaf]| {
        let mut out: Vec<(Option<LoopId>, Option<TermId>)> = Vec::new();
        for l in all {
            let root = l.ids().into_iter().min();
            let unit = (root, if root.is_none() { Some(l.from) } else { None });
            if out.last() != Some(&unit) {
                out.push(unit);
            }
        }
        out
    };
    if units(&before) != units(&after) {
        return not_known("statements outside of loops are moved, and whether that is right is not checked");
    }
    let mut roots: Vec<LoopId> = before.iter().filter_map(|l| l.ids().into_iter().min()).collect();
    roots.dedup();
    for root in roots {
        look.nest(root, &before, &after, &place)?;
    }
    Ok(())
}

struct Looking<'a, 'g> {
    g: &'a Ground<'g>,
    subject: &'a Subject,
    /// Statements that rules put in the place of one: which, and whether it is the first of them.
    owners: FxHashMap<*const Node, (TermId, bool)>,
}

impl Looking<'_, '_> {
    fn leaves(&self, n: &Tree, around: &mut Vec<Around>, out: &mut Vec<Leaf>) -> Result<(), Fault> {
        let inside =
            |this: &Self, level: Around, parts: &[Tree], around: &mut Vec<Around>, out: &mut Vec<Leaf>| {
                around.push(level);
                let done = parts.iter().try_for_each(|p| this.leaves(p, around, out));
                around.pop();
                done
            };
        match &n.op {
            _ if n.is("Function") => n.args.get(4).map_or(Ok(()), |b| self.leaves(b, around, out)),
            Op::List => n.args.iter().try_for_each(|a| self.leaves(a, around, out)),
            Op::Empty => Ok(()),
            Op::For | Op::While | Op::DoWhile => {
                let level = self.level(n)?;
                let blocks = super::pattern::blocks(&n.op, n.args.len());
                let parts: Vec<Tree> = blocks.iter().map(|&k| n.args[k].clone()).collect();
                inside(self, Around::Loop(level), &parts, around, out)
            }
            Op::If | Op::Switch => {
                let same = n.from.and_then(|t| self.subject.original(t)).is_some_and(|o| {
                    o.op == n.op && o.args.len() == n.args.len() && self.subject.same(&o.args[0], &n.args[0])
                });
                if !same {
                    return not_known("a condition is changed, and whether that is right is not checked");
                }
                n.args[1..].iter().enumerate().try_for_each(|(k, part)| {
                    // the arms of one condition are told apart
                    let level =
                        Around::Other(n.from.map(|t| if k == 0 { t } else { TermId(u32::MAX - t.0) }));
                    inside(self, level, std::slice::from_ref(part), around, out)
                })
            }
            _ => match n.from.or(self.owners.get(&Arc::as_ptr(n)).filter(|o| o.1).map(|o| o.0)) {
                None if self.owners.contains_key(&Arc::as_ptr(n)) => Ok(()),
                Some(from) => {
                    out.push(Leaf { from, around: around.clone() });
                    Ok(())
                }
                // a variable of its own, set to what can be computed anywhere, is in nobody's way
                None if self.is_harmless(n) => Ok(()),
                None => not_known("statements are added, and whether that is right is not checked"),
            },
        }
    }
    fn is_harmless(&self, n: &Tree) -> bool {
        let declares = n.is("Declaration") || n.is("DeclarationAssignment");
        declares
            && n.args.iter().skip(2).all(|e| {
                e.walk().all(|x| {
                    !x.op.is_write()
                        && !matches!(x.op, Op::Call | Op::Launch | Op::Reject(_) | Op::Index | Op::Deref)
                })
            })
    }

    /// Which loop of the program a loop is.
    fn level(&self, n: &Tree) -> Result<Level, Fault> {
        let g = self.g;
        let node = Arc::as_ptr(n);
        let blocks = super::pattern::blocks(&n.op, n.args.len());
        let same_header = |o: &Tree| {
            o.op == n.op
                && o.args.len() == n.args.len()
                && o.args
                    .iter()
                    .zip(n.args.iter())
                    .enumerate()
                    .all(|(k, (a, b))| blocks.contains(&k) || counts_alike(self.subject, a, b))
        };
        let own = n.from.and_then(|t| Some((g.facts.of_term(t)?, self.subject.original(t)?)));
        if let Some((id, _)) = own.filter(|(_, o)| same_header(o)) {
            return Ok(Level { id, reversed: false, node });
        }
        let index = index_of(n);
        let mut found = None;
        // a loop made by a rule is one of the program's only if all of its header is
        let same_header =
            |o: &Tree| {
                same_header(o)
                    && o.args.iter().zip(n.args.iter()).enumerate().all(|(k, (a, b))| {
                        blocks.contains(&k) || self.subject.same(a, b) || is_unit_step(a, b)
                    })
            };
        for (id, l) in g.facts.loops.iter_ids() {
            let Some(old) = self.subject.original(l.term) else { continue };
            if index.is_none() || l.control.as_ref().map(|c| c.index).ok() != index {
                continue;
            }
            let level = if same_header(old) {
                Level { id, reversed: false, node }
            } else if self.is_reverse(old, n) {
                Level { id, reversed: true, node }
            } else {
                continue;
            };
            if found.replace(level).is_some() {
                return not_known("two loops of the program have this index");
            }
        }
        match found {
            Some(level) => Ok(level),
            None => not_known("a loop is none of the program's, and which iterations it runs is not checked"),
        }
    }

    /// Whether `for (i = a; i < b; i++)` became `for (i = b - 1; i >= a; i--)`, with constant ends so that nothing can
    /// overflow.
    fn is_reverse(&self, old: &Tree, new: &Tree) -> bool {
        let (Some(a), Some(b)) = (self.range(old), self.range(new)) else { return false };
        a.step == 1 && b.step == -1 && a.first == b.last && a.last == b.first && a.first <= a.last
    }
    /// First and last value of a loop that counts by one between constants.
    fn range(&self, n: &Tree) -> Option<Range> {
        let [init, condition, step, _] = &*n.args else { return None };
        let value = |t: &Tree| {
            t.as_int()
                .or_else(|| analysis::constant(self.g.body, t.from.filter(|_| self.subject.untouched(t))?))
        };
        let first = value(init.args.last()?)?;
        let Op::Binary(relation) = condition.op else { return None };
        let index = index_of(n)?;
        let (left, bound) = (condition.args.first()?, value(condition.args.get(1)?)?);
        let Op::Step { delta, .. } = step.op else { return None };
        if left.as_symbol() != Some(index) || step.args.first()?.as_symbol() != Some(index) {
            return None;
        }
        let last = match (relation, delta) {
            (BinOp::Lt, 1) => bound - 1,
            (BinOp::Le, 1) | (BinOp::Ge, -1) => bound,
            (BinOp::Gt, -1) => bound + 1,
            _ => return None,
        };
        Some(Range { first, last, step: delta })
    }

    /// That loops which changed places have ranges that do not speak of one another, and nothing between them.
    fn permuted(&self, old: &Leaf, new: &Leaf) -> Result<(), Fault> {
        let ids = new.ids();
        let indices: Vec<Option<SymbolId>> =
            ids.iter().map(|&id| self.g.facts.loops[id].control.as_ref().ok().map(|c| c.index)).collect();
        for &id in &ids {
            let Some(n) = self.subject.original(self.g.facts.loops[id].term) else { continue };
            let blocks = super::pattern::blocks(&n.op, n.args.len());
            let own = self.g.facts.loops[id].control.as_ref().ok().map(|c| c.index);
            let headers = n.args.iter().enumerate().filter(|(k, _)| !blocks.contains(k));
            let speaks = headers
                .flat_map(|(_, a)| a.walk())
                .any(|x| x.as_symbol().is_some_and(|s| Some(s) != own && indices.contains(&Some(s))));
            if speaks {
                return not_known("loops are swapped whose ranges depend on one another");
            }
        }
        for leaf in [old, new] {
            let first_other = leaf.around.iter().position(|a| matches!(a, Around::Other(_)));
            let last_loop = leaf.around.iter().rposition(|a| matches!(a, Around::Loop(_)));
            if first_other.is_some_and(|f| last_loop.is_some_and(|l| f < l)) {
                return not_known("a condition stands between loops that are swapped");
            }
        }
        Ok(())
    }

    fn nest(
        &self,
        root: LoopId,
        before: &[Leaf],
        after: &[Leaf],
        place: &FxHashMap<TermId, usize>,
    ) -> Result<(), Fault> {
        let inside: Vec<&Leaf> = before.iter().filter(|l| l.ids().contains(&root)).collect();
        let unchanged = inside.windows(2).all(|w| place[&w[0].from] < place[&w[1].from])
            && inside.iter().all(|l| {
                let n = &after[place[&l.from]];
                l.ids() == n.ids() && n.levels().iter().all(|x| !x.reversed)
            })
            && self.shared(&inside, after, place);
        if unchanged {
            return Ok(());
        }
        let graph = sure(self.g, root).map_err(Fault::NotKnown)?;
        let mut indices: Vec<SymbolId> = Vec::new();
        for l in &inside {
            for id in l.ids() {
                let Ok(c) = &self.g.facts.loops[id].control else {
                    return not_known("a loop of the nest is not a counted one");
                };
                indices.push(c.index);
                if graph.live_out.contains(&c.index) {
                    return not_known("an index is used after its loop");
                }
            }
        }
        let mut aside = indices;
        // whole iterations of one perfect nest: what each sets for itself passes to no other
        let perfect = inside.windows(2).all(|w| {
            w[0].ids() == w[1].ids()
                && place[&w[0].from] < place[&w[1].from]
                && after[place[&w[0].from]].levels() == after[place[&w[1].from]].levels()
        });
        if let (true, Some(inner)) = (perfect, inside.first().and_then(|l| l.ids().last().copied())) {
            let own = analysis::own_scalars(self.g.body, self.g.facts, inner);
            aside.extend(own.into_iter().filter(|s| !graph.live_out.contains(s)));
        }
        let parents = self.g.body.parents();
        for e in graph.edges_without(&aside) {
            let leaf = |t: TermId| {
                let mut at = Some(t);
                while let Some(x) = at {
                    if let Some(&k) = place.get(&x) {
                        return Some(k);
                    }
                    at = parents.get(x.0 as usize).copied().flatten();
                }
                None
            };
            let (Some(from), Some(to)) = (leaf(e.source), leaf(e.sink)) else {
                return not_known("a loop's range or a condition depends on what the nest writes");
            };
            for v in &e.vectors {
                self.keeps(e, v, &after[from], &after[to], from <= to)?;
            }
        }
        Ok(())
    }
    /// Whether statements that shared loops still share them.
    fn shared(&self, inside: &[&Leaf], after: &[Leaf], place: &FxHashMap<TermId, usize>) -> bool {
        inside.windows(2).all(|w| {
            let common = |a: &Leaf, b: &Leaf| {
                a.levels().iter().zip(b.levels()).take_while(|(x, y)| x.node == y.node).count()
            };
            common(w[0], w[1]) == common(&after[place[&w[0].from]], &after[place[&w[1].from]])
        })
    }
    /// That in the new order the source still comes first.
    fn keeps(&self, e: &Edge, v: &[Order], from: &Leaf, to: &Leaf, in_order: bool) -> Result<(), Fault> {
        let (a, b) = (from.levels(), to.levels());
        for (x, _) in a.iter().zip(&b).take_while(|(x, y)| x.node == y.node) {
            let Some(k) = e.loops.iter().position(|l| *l == x.id) else {
                return not_known("loops are joined, and whether that is right is not checked");
            };
            let order = match (v.get(k), x.reversed) {
                (None, _) => return not_known("the dependences are not known level by level"),
                (Some(Order::Before), true) => Order::After,
                (Some(Order::After), true) => Order::Before,
                (Some(o), _) => *o,
            };
            match order {
                Order::Before => return Ok(()),
                Order::After => return Err(Fault::Broken(broken(self.g, self.subject, e, v))),
                Order::Same => {}
            }
        }
        if in_order {
            Ok(())
        } else {
            Err(Fault::Broken(broken(self.g, self.subject, e, v)))
        }
    }
}

struct Range {
    first: i128,
    last: i128,
    step: i8,
}

/// `i++` and `++i` step alike.
fn is_unit_step(a: &Tree, b: &Tree) -> bool {
    match (&a.op, &b.op) {
        (Op::Step { delta: x, .. }, Op::Step { delta: y, .. }) => {
            x == y && a.args.first().and_then(|s| s.as_symbol()) == b.args.first().and_then(|s| s.as_symbol())
        }
        _ => false,
    }
}

/// The variable a `for` loop's header sets.
fn index_of(n: &Tree) -> Option<SymbolId> {
    let init = n.args.first().filter(|_| n.op == Op::For)?;
    let sets = matches!(init.op, Op::Assign) || init.is("DeclarationAssignment");
    init.args.first().filter(|_| sets)?.as_symbol()
}
