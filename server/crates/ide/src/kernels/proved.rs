//! What is proved of kernels and found in host code, once for all lints and views of an [`Ask`].

use std::sync::Arc;

use analysis::{
    BarrierVerdict, KernelFacts, KernelLaunch, KernelObstacle, RaceObstacle, RaceVerdict, SamePointers,
};
use rustc_hash::FxHashSet;
use term::{BinOp, Body, Op, Storage, SymbolId, TermId, TypeKind};

use super::launches_of;
use crate::check::Tier;
use crate::memo::KernelKey;
use crate::{Ask, Doc};

impl Ask {
    /// What is proved of a kernel with the launch its document says, and that launch: of several the one with which most goes wrong,
    /// or else is unknown, so that what is said to be right is right with all of them.
    pub(crate) fn kernel_facts(&self, item: &front::Item) -> (Arc<KernelFacts>, KernelLaunch) {
        let (all, are_all) = launches_of(&self.doc, item);
        let with = |launch: &KernelLaunch| Some(self.kernel_facts_with(item, launch));
        let all = all
            .into_iter()
            .filter_map(|launch| Some((for_any_taken(&self.doc, item, &launch, &with)?, launch)));
        together(&self.doc, item, all.collect(), are_all, with).unwrap_or_default()
    }

    /// Likewise with another launch.
    pub(crate) fn kernel_facts_with(&self, item: &front::Item, launch: &KernelLaunch) -> Arc<KernelFacts> {
        let key = self.key(item, launch);
        let steps = self.tier.max(Tier::Typing).effort().function;
        // what was cut short is proved again by whoever gives more for it
        if let Some(known) = self.known(&key).filter(|(f, with)| !f.out_of_budget || *with >= steps) {
            return known.0;
        }
        let prove = |steps: u64| {
            Arc::new(analysis::kernel_within(&item.body, self.doc.program(), launch, &self.budget(steps)))
        };
        // what others of the file left nothing for is not remembered
        if self.steps.left() == 0 {
            return prove(0);
        }
        let remembered = self.memo.kernel(KernelKey { steps, ..key });
        let facts = remembered.get().cloned().unwrap_or_else(|| prove(steps));
        // nor is what was called off
        if self.is_cancelled() {
            return facts;
        }
        let facts = remembered.get_or_init(|| facts).clone();
        let _ = self.steps.spend(facts.steps);
        facts
    }

    /// Likewise, if it was proved before.
    pub(crate) fn known_kernel_facts(&self, item: &front::Item) -> Option<(Arc<KernelFacts>, KernelLaunch)> {
        let (all, are_all) = launches_of(&self.doc, item);
        let with = |launch: &KernelLaunch| Some(self.known(&self.key(item, launch))?.0);
        let known =
            all.into_iter().map(|launch| Some((for_any_taken(&self.doc, item, &launch, &with)?, launch)));
        together(&self.doc, item, known.collect::<Option<Vec<_>>>()?, are_all, with)
    }

    /// Kernels of which something is unknown only because steps were spent; nothing is proved for this answer.
    pub(crate) fn unfinished_kernels(&self) -> UnfinishedKernels<'_> {
        let mut found = UnfinishedKernels::default();
        let is_read = |i: &&front::Item| i.is_kernel && matches!(i.body.op(i.body.root), Op::Function(_));
        for item in self.doc.unit().items.iter().filter(is_read) {
            match self.known_kernel_facts(item) {
                Some((facts, _)) if facts.out_of_budget => found.cut_short.push(item),
                None if self.steps.left() == 0 => found.not_reached.push(item),
                _ => {}
            }
        }
        found
    }

    /// The best facts that are remembered, with the steps they were found with.
    fn known(&self, key: &KernelKey) -> Option<(Arc<KernelFacts>, u64)> {
        let tiers = [Tier::Command, Tier::Full, Tier::Typing];
        tiers.into_iter().find_map(|tier| {
            let steps = tier.effort().function;
            let facts = self.memo.known_kernel(&KernelKey { steps, ..key.clone() })?;
            Some((facts, steps))
        })
    }

    fn key(&self, item: &front::Item, launch: &KernelLaunch) -> KernelKey {
        let called = called(&self.doc, &item.body);
        KernelKey { kernel: item.body.hash, called, launch: launch.clone(), steps: 0 }
    }
}

/// What is proved with a launch; where values were taken for it that the program may give others for, or where there are launches of which
/// the text does not say all, what is right is right only if it is with all of them, and what goes wrong may.
fn for_any_taken(
    doc: &Doc,
    item: &front::Item,
    launch: &KernelLaunch,
    with: &dyn Fn(&KernelLaunch) -> Option<Arc<KernelFacts>>,
) -> Option<Arc<KernelFacts>> {
    let facts = with(launch)?;
    let is_free = matches!(facts.races, RaceVerdict::Free { .. });
    let is_said = is_free || facts.barriers.iter().any(|b| b.verdict == BarrierVerdict::Safe);
    let is_open = super::shape::has_open(doc, item);
    let for_all = || !is_open && (launch.taken.is_empty() || super::shape::are_all(doc, item));
    if !is_said || for_all() {
        return Some(facts);
    }
    let block = super::shape::block_of(doc, item).filter(|(_, taken)| taken.is_empty() && !is_open);
    let block = block.map(|(block, _)| block);
    let any = KernelLaunch {
        block,
        most_threads: item.launch_bounds,
        limits: launch.limits,
        same: launch.same.clone(),
        ..KernelLaunch::default()
    };
    let with_any = with(&any)?;
    let mut out = (*facts).clone();
    // nor if it is where there is one block alone
    let alone =
        |free: &RaceVerdict| matches!(free, RaceVerdict::Free { shapes: Some(s), .. } if s.block_axes == 0);
    out.races = match &with_any.races {
        _ if !is_free => out.races,
        free @ RaceVerdict::Free { .. } if !alone(free) => free.clone(),
        _ if !launch.taken.is_empty() => RaceVerdict::Unknown(RaceObstacle::Taken(launch.taken.clone())),
        // of the launches that the text leaves open nothing more is known
        why @ RaceVerdict::Unknown(_) => why.clone(),
        _ => RaceVerdict::Unknown(RaceObstacle::Kernel(KernelObstacle::OtherLaunches)),
    };
    for (mine, other) in out.barriers.iter_mut().zip(&with_any.barriers) {
        if mine.term == other.term && !matches!(mine.verdict, BarrierVerdict::Divergent(_)) {
            *mine = other.clone();
        }
    }
    Some(Arc::new(out))
}

/// What holds as long as two parameters do not overlap is unknown where a launch gives both of them pointers into one array; where it gives
/// them the same pointer, what is proved with that.
fn with_what_is_given(
    doc: &Doc,
    item: &front::Item,
    facts: Arc<KernelFacts>,
    launch: &KernelLaunch,
    with: &dyn Fn(&KernelLaunch) -> Option<Arc<KernelFacts>>,
) -> Option<Arc<KernelFacts>> {
    let RaceVerdict::Free { apart, .. } = &facts.races else { return Some(facts) };
    let names: Vec<Arc<str>> = super::shape::parameters(&item.body).collect();
    let argument = |(host, t): &(&front::Item, TermId), name: &Arc<str>| {
        let k = names.iter().position(|p| p == name)?;
        host.body.args(*t).get(5 + k).copied()
    };
    let into_one = |at: &(&front::Item, TermId), [a, b]: &[Arc<str>; 2]| {
        let of = |name| pointed_into(&at.0.body, argument(at, name)?);
        of(a).zip(of(b)).is_some_and(|(a, b)| a == b)
    };
    let one = |at: &(&front::Item, TermId), [a, b]: &[Arc<str>; 2]| {
        let value = |name| argument(at, name).filter(|&t| is_plain_value(&at.0.body, t));
        value(a).zip(value(b)).is_some_and(|(a, b)| at.0.body.same(a, b))
    };
    let place = |n: &Arc<str>| names.iter().position(|p| p == n);
    let restricted = kept_apart_by_type(&item.body);
    let (mut all, mut alike) = (0, Vec::new());
    for at in doc.launches(&item.name) {
        let span = at.0.body.span(at.1).shifted(at.0.span.start);
        let is_this = super::shape::gives(doc, item, span, launch);
        if is_this == Some(false) {
            continue;
        }
        all += 1;
        let asked = apart.iter().chain(&restricted);
        let pairs: Vec<&[Arc<str>; 2]> = asked.filter(|both| into_one(&at, both)).collect();
        let Some(first) = pairs.first() else { continue };
        let why = RaceObstacle::Given { parameters: (*first).clone(), at: span };
        let unknown = || Some(Arc::new(KernelFacts { races: RaceVerdict::Unknown(why), ..(*facts).clone() }));
        if !pairs.iter().all(|both| one(&at, both)) {
            return unknown();
        }
        // all that are one are named by the first of them
        let mut same: Vec<[Arc<str>; 2]> = Vec::new();
        for [a, b] in pairs {
            let (first, later) = if place(a) <= place(b) { (a, b) } else { (b, a) };
            let first = same.iter().find(|[l, _]| l == first).map_or(first, |[_, f]| f).clone();
            if !same.iter().any(|[l, _]| l == later) && first != *later {
                same.push([later.clone(), first]);
            }
        }
        let launch = KernelLaunch { same: SamePointers(same), ..launch.clone() };
        let told = for_any_taken(doc, item, &launch, with)?;
        match &told.races {
            RaceVerdict::Free { apart, .. } if !apart.iter().any(|both| into_one(&at, both)) => {
                alike.push((launch.same, told));
            }
            RaceVerdict::Race(_) if is_this.is_some() || doc.launches(&item.name).count() == 1 => {
                return Some(told)
            }
            _ => return unknown(),
        }
    }
    // where all give the same that is what is told
    Some(match alike.first() {
        Some((same, told)) if alike.len() == all && alike.iter().all(|(s, _)| s == same) => told.clone(),
        _ => facts,
    })
}

/// Pairs of parameters that `restrict` says do not overlap, of which one may be written: a launch may give them one array all the same.
fn kept_apart_by_type(body: &Body) -> Vec<[Arc<str>; 2]> {
    let types = &body.types;
    let pointers = body.symbols.iter().filter(|s| matches!(s.storage, term::Storage::Param(_)));
    let pointers: Vec<_> = pointers.filter_map(|s| Some((s, types.quals(types.element(s.ty)?)))).collect();
    let mut out = Vec::new();
    for (k, (a, to_a)) in pointers.iter().enumerate() {
        for (b, to_b) in &pointers[k + 1..] {
            let restricts = types.quals(a.ty).is_restrict || types.quals(b.ty).is_restrict;
            if restricts && !(to_a.is_const && to_b.is_const) {
                out.push([a.name.clone(), b.name.clone()]);
            }
        }
    }
    out
}

/// Whether two such values are one wherever they are spelled alike: nothing but variables and arithmetic.
fn is_plain_value(body: &Body, t: TermId) -> bool {
    body.walk(t).all(|x| {
        matches!(
            body.op(x),
            Op::Sym(_) | Op::Int(_) | Op::Cast | Op::Unary(_) | Op::Binary(_) | Op::Arithmetic(_)
        )
    })
}

/// The variable that an argument points into: `x` of `x + 1` and `&x[n]`.
fn pointed_into(body: &Body, mut t: TermId) -> Option<SymbolId> {
    loop {
        let is_pointer = |x: TermId| {
            matches!(body.types.kind(body.ty(x)), TypeKind::Pointer { .. } | TypeKind::Array { .. })
        };
        t = match (body.op(t), body.args(t)) {
            (Op::Sym(s), _) => return Some(*s),
            (Op::Cast, &[of]) => of,
            (Op::AddrOf, &[cell]) if *body.op(cell) == Op::Index => *body.args(cell).first()?,
            (Op::Binary(BinOp::Add | BinOp::Sub), &[a, b]) => match is_pointer(a) {
                true => a,
                false => b,
            },
            _ => return None,
        };
    }
}

/// What holds of a kernel with all of its launches: the facts of the first of those with which most goes wrong, with the barriers that
/// not all threads reach in others. `are_all`: no launch was left out.
fn together(
    doc: &Doc,
    item: &front::Item,
    mut all: Vec<(Arc<KernelFacts>, KernelLaunch)>,
    are_all: bool,
    with: impl Fn(&KernelLaunch) -> Option<Arc<KernelFacts>>,
) -> Option<(Arc<KernelFacts>, KernelLaunch)> {
    for (facts, launch) in &mut all {
        *facts = with_what_is_given(doc, item, facts.clone(), launch, &with)?;
        if let (RaceVerdict::Free { .. }, false) = (&facts.races, are_all) {
            let why = RaceObstacle::Kernel(analysis::KernelObstacle::Budget);
            *facts = Arc::new(KernelFacts { races: RaceVerdict::Unknown(why), ..(**facts).clone() });
        }
    }
    let most = all.iter().map(|(facts, _)| gravity(facts)).max()?;
    let (mut facts, launch) = all.iter().find(|(facts, _)| gravity(facts) == most)?.clone();
    for k in 0..facts.barriers.len() {
        if matches!(facts.barriers[k].verdict, BarrierVerdict::Divergent(_)) {
            continue;
        }
        let same = |other: &Arc<KernelFacts>| {
            let other = other.barriers.get(k).filter(|b| b.term == facts.barriers[k].term)?;
            matches!(other.verdict, BarrierVerdict::Divergent(_)).then(|| other.clone())
        };
        if let Some(barrier) = all.iter().find_map(|(other, _)| same(other)) {
            Arc::make_mut(&mut facts).barriers[k] = barrier;
        }
    }
    Some((facts, launch))
}

fn gravity(facts: &KernelFacts) -> u32 {
    let barrier = |wrong: fn(&BarrierVerdict) -> bool| facts.barriers.iter().any(|b| wrong(&b.verdict));
    match &facts.races {
        RaceVerdict::Race(_) => 5,
        _ if barrier(|v| matches!(v, BarrierVerdict::Divergent(_))) => 4,
        _ if facts.out_of_range.iter().flatten().next().is_some() => 3,
        RaceVerdict::Unknown(_) => 2,
        _ if barrier(|v| matches!(v, BarrierVerdict::Unknown(_))) => 1,
        RaceVerdict::Free { .. } => 0,
    }
}

/// Kernels that steps did not suffice for, in textual order.
#[derive(Debug, Default)]
pub(crate) struct UnfinishedKernels<'a> {
    /// Those whose own steps were spent.
    pub cut_short: Vec<&'a front::Item>,
    /// Those that others of the file left no steps for.
    pub not_reached: Vec<&'a front::Item>,
}

impl UnfinishedKernels<'_> {
    pub fn is_empty(&self) -> bool {
        self.cut_short.is_empty() && self.not_reached.is_empty()
    }
}

/// A number for all that a function calls, directly or not.
pub(crate) fn called(doc: &Doc, body: &Body) -> u64 {
    let mut seen: FxHashSet<Arc<str>> = FxHashSet::default();
    let mut open: Vec<Arc<str>> = names_called(body).collect();
    let mut sum = doc.program().key_for(body);
    while let Some(name) = open.pop() {
        if !seen.insert(name.clone()) {
            continue;
        }
        if let Some(b) = doc.program().body(&name) {
            sum = sum.wrapping_add(b.hash.rotate_left(17));
            // constants are written out in copies of it
            let variables = b.symbols.iter().filter(|s| matches!(s.storage, Storage::Global { .. }));
            let texts = variables.map(|s| doc.program().text_of(&s.name).rotate_left(23));
            sum = texts.fold(sum, u64::wrapping_add);
            open.extend(names_called(b));
        }
    }
    sum
}

/// The names of the functions that a body calls, each as often as it does.
pub(crate) fn names_called(body: &Body) -> impl Iterator<Item = Arc<str>> + '_ {
    body.callees().map(|f| body.symbols[f].name.clone())
}
