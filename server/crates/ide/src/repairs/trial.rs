//! Trials of repairs: the edits are applied to a copy of the document, and hold where the fault is gone there, no other came, and no kernel is
//! worse for it.

use std::mem::{discriminant, Discriminant};

use analysis::{HostFault, RaceWitness};
use term::TermId;
use text::{Edit, EditSet};

use super::score::Score;
use super::{Care, Repair, Site};
use crate::kernels::{host_faults, shape_of_file, simulate_kernels, KernelRun, Shape, SimulateOptions};
use crate::limits::repairs_trial::MAX_THREADS;
pub(crate) use crate::limits::repairs_trial::RUN_STEPS;
use crate::{Ask, Doc};

impl Site<'_> {
    /// The repair, if besides the kernel leaves in memory what it left before, in a run with the same inputs.
    pub fn same(&self, title: String, edits: Vec<Edit>) -> Option<Repair> {
        self.tried(title, edits, None, true)
    }

    /// The repair, if the kernel is better with it in every respect that was bad, and worse in none.
    pub fn checked(&self, title: String, edits: Vec<Edit>) -> Option<Repair> {
        self.tried(title, edits, None, false)
    }

    /// Likewise, and a run that shows a race shows fewer with it.
    pub fn checked_of_race(&self, title: String, edits: Vec<Edit>, w: &RaceWitness) -> Option<Repair> {
        self.tried(title, edits, Some(w), false)
    }

    fn tried(&self, title: String, edits: Vec<Edit>, w: Option<&RaceWitness>, same: bool) -> Option<Repair> {
        let edits = EditSet::new(edits).ok()?;
        if self.care == Care::Listed {
            return Some(Repair { title, edits });
        }
        let text = edits.apply(self.doc.text()).ok()?;
        let again = Doc::open(self.doc.language(), self.doc.name(), text, self.doc.options().clone());
        let there = self.ask.of(&again);
        let item = again.unit().items.iter().find(|i| i.is_kernel && i.name == self.item.name)?;
        let (new, _) = there.kernel_facts(item);
        let (old, now) = (Score::of(&self.facts().0), Score::of(&new));
        if !now.is_better(&old) {
            return None;
        }
        let others = self.doc.unit().items.iter().filter(|i| {
            i.is_kernel && i.template().is_some() && i.span == self.item.span && i.name != self.item.name
        });
        for other in others {
            let new = again.unit().items.iter().find(|i| i.is_kernel && i.name == other.name)?;
            let score = |ask: &Ask, i: &front::Item| Score::of(&ask.kernel_facts(i).0);
            if !score(&there, new).is_no_worse(&score(self.ask, other)) {
                return None;
            }
        }
        // and a run shows no more than before
        let mut options = SimulateOptions {
            kernel: Some(self.item.name.to_string()),
            steps: RUN_STEPS,
            ..Default::default()
        };
        let known = shape_of_file(self.doc, self.item).ok().flatten().map(|x| x.0);
        if let Some(small) = known.as_ref().and_then(smaller) {
            options.launches.push((self.item.name.to_string(), small));
        } else if known.is_none() {
            let launch = w.map(|w| w.launch.clone()).unwrap_or_default();
            let shape = Shape {
                grid: launch.grid.unwrap_or([2, 1, 1]),
                block: launch.block.unwrap_or([64, 1, 1]),
                values: launch.values.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect(),
                ..Shape::default()
            };
            options.launches.push((self.item.name.to_string(), shape));
        }
        let run = |ask: &Ask| simulate_kernels(ask, &options).into_iter().next();
        let (before, after) = (run(self.ask)?, run(&there)?);
        let fine = after.refused.is_none()
            && after.races.len() <= before.races.len()
            && after.problems.len() <= before.problems.len()
            && (after.completed || !before.completed);
        let left = |r: &KernelRun| r.left.filter(|_| r.completed);
        if same && (left(&before).is_none() || left(&before) != left(&after) || before.inputs != after.inputs)
        {
            return None;
        }
        let told = w.is_some() && !before.races.is_empty() && after.races.len() >= before.races.len();
        (fine && !told).then_some(Repair { title, edits })
    }

    /// The repair, if the fault is gone with it, no other is new, and no kernel is worse.
    pub fn checked_on_host(&self, fault: &HostFault, title: String, edits: Vec<Edit>) -> Option<Repair> {
        let edits = EditSet::new(edits).ok()?;
        if self.care == Care::Listed {
            return Some(Repair { title, edits });
        }
        let text = edits.apply(self.doc.text()).ok()?;
        let again = Doc::open(self.doc.language(), self.doc.name(), text, self.doc.options().clone());
        let there = self.ask.of(&again);
        let items = |doc: &Doc| doc.unit().items.len();
        if items(&again) != items(self.doc) {
            return None;
        }
        for (old, new) in self.doc.unit().items.iter().zip(&again.unit().items) {
            if old.name != new.name || old.body.rejects().count() < new.body.rejects().count() {
                return None;
            }
            if old.is_kernel {
                let score = |ask: &Ask, i: &front::Item| Score::of(&ask.kernel_facts(i).0);
                if !score(&there, new).is_no_worse(&score(self.ask, old)) {
                    return None;
                }
                continue;
            }
            let count = |list: &[(TermId, HostFault)], f: &HostFault| {
                list.iter().filter(|(_, o)| kind(o) == kind(f)).count()
            };
            let (before, after) = (host_faults(self.doc, old), host_faults(&again, new));
            if after.iter().any(|(_, f)| count(&after, f) > count(&before, f)) {
                return None;
            }
            let here = old.span == self.item.span;
            if here && count(&after, fault) >= count(&before, fault) {
                return None;
            }
        }
        Some(Repair { title, edits })
    }
}

/// A launch in place of one that is too large to run: two blocks an axis, and numbers that fit them.
pub(crate) fn smaller(shape: &Shape) -> Option<Shape> {
    let count = |e: [u32; 3]| e.iter().fold(1u64, |p, &x| p.saturating_mul(x as u64));
    let large = count(shape.grid).saturating_mul(count(shape.block)) > MAX_THREADS;
    let small = |v: &String| v.parse::<i128>().is_ok_and(|n| n <= 1024) || v.parse::<i128>().is_err();
    large.then(|| Shape {
        grid: shape.grid.map(|x| x.min(2)),
        values: shape.values.iter().filter(|(_, v)| small(v)).cloned().collect(),
        elements: Vec::new(),
        ..shape.clone()
    })
}

/// A kind of fault, whatever it is told of.
fn kind(fault: &HostFault) -> Discriminant<HostFault> {
    discriminant(fault)
}
