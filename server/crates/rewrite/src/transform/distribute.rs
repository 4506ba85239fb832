//! Distribution (fission): one loop with many statements becomes several loops with fewer.
//!
//! Legal iff every cycle of the statement-level dependence graph stays within one of the new loops, and the loops stand
//! in an order that the remaining dependences allow (Allen & Kennedy, theorem 2.7 and section 6.2): the strongly
//! connected components in topological order. Neighbors of one kind (with or without a dependence of their own carried
//! by the loop) are put together again as long as that carries nothing new, so that few loops result.

use analysis::{Edge, Graph};
use rustc_hash::FxHashMap;
use term::TermId;

use super::refusal::{shape, Refusal};
use super::site::{Block, Site};
use super::{Plan, Transformation, With};

pub(super) struct Distribute;

impl Transformation for Distribute {
    named!("distribute");
    fn about(&self) -> &'static str {
        "split the statements of a loop over several loops"
    }
    fn with(&self) -> &'static str {
        "max: as many loops as can be"
    }
    fn enables(&self) -> bool {
        true
    }
    fn plan<'s>(&self, site: &'s Site<'_>, with: &With) -> Result<Plan<'s>, Refusal> {
        let id = site.target;
        let c = site.counted(id)?;
        site.movable(id, false)?;
        site.unpragmaed(id)?;
        let block = site.block(id)?;
        if block.statements.len() < 2 {
            return shape("its body is one statement");
        }
        site.separable(id, &block)?;
        let g = site.sure(id)?;
        let parts = Parts::new(site, &block, &g, c.index)?;
        let groups = parts.groups(with.has("max"));
        if groups.len() < 2 {
            return Err(match parts.back_edge() {
                Some(e) => Refusal::Dependence(
                    Box::new(e.clone()),
                    "with it the statements form a cycle, which must stay in one loop".into(),
                ),
                None => {
                    Refusal::Shape("its statements share what is declared in it, or carry nothing".into())
                }
            });
        }
        Plan::new(format!("Distribute {} into {} loops", c.name, groups.len()), move || {
            let header = site.slice(c.header.whole);
            site.replace(id, groups.len(), |lines| {
                for group in &groups {
                    let mut group = group.clone();
                    group.sort_unstable();
                    let statements: Vec<_> = group.iter().map(|&k| &block.statements[k]).collect();
                    site.write_loop(lines, header, &block, &statements)?;
                }
                Ok(())
            })
        })
    }
}

/// Statements as the text has them, with the dependences between them.
struct Parts<'g> {
    count: usize,
    /// `(from, to, carried)`; also ties of declared variables, which hold both ways.
    arcs: Vec<(usize, usize, bool)>,
    edges: Vec<(usize, usize, &'g Edge)>,
    component: Vec<usize>,
}

impl<'g> Parts<'g> {
    fn new(
        site: &Site<'_>,
        block: &Block,
        g: &'g Graph,
        index: term::SymbolId,
    ) -> Result<Parts<'g>, Refusal> {
        let mut home: FxHashMap<TermId, usize> = FxHashMap::default();
        for (k, s) in block.statements.iter().enumerate() {
            home.extend(s.terms.iter().map(|&t| (t, k)));
        }
        let at = |n: usize| g.statements.get(n).and_then(|t| home.get(t)).copied();
        let mut parts = Parts {
            count: block.statements.len(),
            arcs: Vec::new(),
            edges: Vec::new(),
            component: Vec::new(),
        };
        for &(a, b, _) in &g.ties {
            let (Some(a), Some(b)) = (at(a), at(b)) else { return shape("its text cannot be taken apart") };
            if a != b {
                parts.arcs.extend([(a, b, false), (b, a, false)]);
            }
        }
        let mut aside = g.local.clone();
        aside.push(index);
        for e in &g.edges {
            let local = e.object.fields.is_empty() && aside.contains(&e.object.symbol);
            let (from, to) = (e.from.and_then(at), e.to.and_then(at));
            let (Some(from), Some(to)) = (from, to) else {
                return Err(Refusal::Dependence(
                    Box::new(e.clone()),
                    "the loop's range takes part in it".into(),
                ));
            };
            // a cell that each statement writes for itself before it reads it ties nothing to anything else
            if local && from != to {
                continue;
            }
            if local {
                continue;
            }
            if e.carried() {
                parts.arcs.push((from, to, true));
                parts.edges.push((from, to, e));
            }
            if e.within() && from != to {
                parts.arcs.push((from, to, false));
                parts.edges.push((from, to, e));
            }
        }
        let _ = site;
        parts.component = components(parts.count, &parts.arcs);
        Ok(parts)
    }

    /// An edge against the textual order within a component.
    fn back_edge(&self) -> Option<&'g Edge> {
        let mut all = self.edges.iter();
        all.find(|(a, b, _)| a > b && self.component[*a] == self.component[*b]).map(|x| x.2)
    }

    /// Statements of each new loop, loops in order.
    fn groups(&self, max: bool) -> Vec<Vec<usize>> {
        let n = self.component.iter().max().map_or(0, |m| m + 1);
        let carries = |c: usize| {
            self.arcs
                .iter()
                .any(|&(a, b, carried)| carried && self.component[a] == c && self.component[b] == c)
        };
        let sequential: Vec<bool> = (0..n).map(carries).collect();
        let first = |c: usize| (0..self.count).find(|&k| self.component[k] == c).unwrap_or(0);
        let mut done = vec![false; n];
        let mut groups: Vec<(bool, Vec<usize>)> = Vec::new();
        while done.contains(&false) {
            let ready = |c: usize| {
                !done[c]
                    && self.arcs.iter().all(|&(a, b, _)| {
                        let (x, y) = (self.component[a], self.component[b]);
                        y != c || x == c || done[x]
                    })
            };
            let mut all: Vec<usize> = (0..n).filter(|&c| ready(c)).collect();
            all.sort_by_key(|&c| first(c));
            // one that fits the loop being filled comes first, then textual order
            let fits = |c: usize, last: &(bool, Vec<usize>)| {
                !max && last.0 == sequential[c]
                    && (sequential[c]
                        || !self
                            .arcs
                            .iter()
                            .any(|&(a, b, carried)| carried && last.1.contains(&a) && self.component[b] == c))
            };
            let fitting = groups.last().and_then(|l| all.iter().copied().find(|&c| fits(c, l)));
            let Some(c) = fitting.or(all.first().copied()) else { break };
            done[c] = true;
            let members = (0..self.count).filter(|&k| self.component[k] == c);
            match (fitting, groups.last_mut()) {
                (Some(_), Some(last)) => last.1.extend(members),
                _ => groups.push((sequential[c], members.collect())),
            }
        }
        groups.into_iter().map(|g| g.1).collect()
    }
}

/// Strongly connected components by reachability; bodies are short.
fn components(n: usize, arcs: &[(usize, usize, bool)]) -> Vec<usize> {
    let mut reach = vec![vec![false; n]; n];
    for &(a, b, _) in arcs {
        reach[a][b] = true;
    }
    for k in 0..n {
        for i in 0..n {
            if reach[i][k] {
                let row = reach[k].clone();
                for (x, y) in reach[i].iter_mut().zip(row) {
                    *x |= y;
                }
            }
        }
    }
    let mut component = vec![usize::MAX; n];
    let mut next = 0;
    for i in 0..n {
        if component[i] == usize::MAX {
            for (j, c) in component.iter_mut().enumerate() {
                if *c == usize::MAX && (i == j || (reach[i][j] && reach[j][i])) {
                    *c = next;
                }
            }
            next += 1;
        }
    }
    component
}
