//! Repairs of kernels, and of the host code around launches: small edits, each analysed again and run in the simulator before it is offered.
//!
//! A repair is tried, not trusted: of the places where a barrier could stand, the first is taken with which the finding is gone,
//! no other is new, every thread reaches every barrier, and a run shows less than before. Deliberately absent: repairs that
//! change what threads compute, and places in functions that the kernel calls.

mod guards;
mod host;
mod layout;

use analysis::{BarrierVerdict, KernelFacts, RaceVerdict, RaceWitness};
use base::{IndexId, Span};
use term::device::{AtomicOp, Scope, Tally, Word};
use term::{BinOp, Body, FloatKind, IntKind, Op, Storage, SymbolId, TermId, TypeKind};
use text::{Edit, EditSet};

use super::{said, simulate_kernels, Shape, SimulateOptions};
use crate::{Ask, Diagnostic, Doc, Fact};

/// A repair that was checked.
pub(crate) struct Mend {
    pub title: String,
    pub edits: EditSet,
}

/// Steps of a run.
const STEPS: u64 = 4_000_000;
/// Places tried for a barrier.
const TRIED: usize = 8;

/// Whether repairs are only listed, by what the facts say, or made and checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Care {
    Listed,
    Checked,
}

/// The repairs that the facts of a finding suggest, the simplest first: their numbers and titles. Nothing is tried.
pub(crate) fn listed(ask: &Ask, d: &Diagnostic) -> Vec<(usize, String)> {
    (0..MOST).filter_map(|k| Some((k, repair(ask, d, k, Care::Listed)?.title))).collect()
}

/// The repair of this number, if it holds.
pub(crate) fn checked(ask: &Ask, d: &Diagnostic, number: usize) -> Option<Mend> {
    repair(ask, d, number, Care::Checked)
}

/// Repairs of one finding at most.
const MOST: usize = 2;

fn repair(ask: &Ask, d: &Diagnostic, number: usize, care: Care) -> Option<Mend> {
    let evidence = d.evidence.as_deref()?;
    let is_it = |i: &&front::Item| {
        i.name == evidence.function && i.span.start <= d.span.start && d.span.end <= i.span.end
    };
    let item = ask.doc.unit().items.iter().find(is_it)?;
    let k = Kernel::new(ask, item, care);
    match (&evidence.fact, number) {
        (Fact::Host(t, fault), 0) => host::repair(&k, *t, fault),
        (Fact::BankConflict(array), 1) => layout::swizzle(&k, &ask.kernel_facts(item).0, array),
        (fact, 0) => repair_kernel(&k, d.span, fact),
        _ => None,
    }
}

fn repair_kernel(k: &Kernel<'_>, span: Span, fact: &Fact) -> Option<Mend> {
    let (facts, launch) = k.ask.kernel_facts(k.item);
    match fact {
        Fact::Race(w) => race(k, &facts, w),
        Fact::LostUpdate(u) => {
            let (title, edit) = match u.extreme {
                Some((v, largest)) => k.extreme(u.term, u.place, v, largest)?,
                None => k.atomic(u.term)?,
            };
            k.checked(&facts, title, vec![edit], None)
        }
        Fact::MissingFence(m) => {
            let s = *k.statements(m.counter).first()?;
            let fence = gpu::CUDA.said(Word::Fence(Scope::Device));
            let title = format!("Put `{fence}()` before the counter");
            k.checked(&facts, title, vec![k.before(s, &format!("{fence}();"))], None)
        }
        Fact::RedundantBarrier(t) => {
            let edit = k.removed(*t)?;
            k.checked(&facts, "Remove the barrier".into(), vec![edit], None)
        }
        Fact::BankConflict(array) => {
            let (title, edit) = k.padded(array)?;
            k.same(&facts, title, vec![edit])
        }
        Fact::OutOfRange(_) => guards::guard(k, &facts, &launch, span),
        Fact::DivergentBarrier(t) => guards::move_out(k, &facts, *t),
        Fact::StridedAccess => layout::exchange(k, &facts),
        Fact::IndexOverflow => layout::widen(k, &facts),
        Fact::Reload(r) => layout::qualify(k, &facts, r.pointer),
        Fact::Host(..) | Fact::Mark | Fact::Suppression => None,
    }
}

fn race(k: &Kernel<'_>, facts: &KernelFacts, w: &RaceWitness) -> Option<Mend> {
    match said::missing(w)? {
        "atomic" => {
            let t = k.updating(w.first.term)?;
            let (title, edit) = k.atomic(t)?;
            k.checked(facts, title, vec![edit], Some(w))
        }
        missing => {
            let scope = if missing == "barrier" { Scope::Block } else { Scope::Warp };
            let call = format!("{}();", gpu::CUDA.said(Word::Barrier(scope, Tally::Nothing)));
            let call = call.as_str();
            let own = |s: &analysis::RaceSide| *s.function == *k.body.name;
            if !own(&w.first) || !own(&w.second) {
                return None;
            }
            let (first, second) = match k.span(w.first.term).start <= k.span(w.second.term).start {
                true => (w.first.term, w.second.term),
                false => (w.second.term, w.first.term),
            };
            let before = k.statements(second).into_iter().map(|s| k.before(s, call));
            let after = k.statements(first).into_iter().map(|s| k.after(s, call));
            let title = format!("Put `{}` between the two", call.trim_end_matches(';'));
            before.chain(after).take(TRIED).find_map(|e| k.checked(facts, title.clone(), vec![e], Some(w)))
        }
    }
}

struct Kernel<'d> {
    ask: &'d Ask,
    doc: &'d Doc,
    item: &'d front::Item,
    body: &'d Body,
    parents: Vec<Option<TermId>>,
    care: Care,
}

impl<'d> Kernel<'d> {
    fn new(ask: &'d Ask, item: &'d front::Item, care: Care) -> Kernel<'d> {
        Kernel { ask, doc: &ask.doc, item, body: &item.body, parents: item.body.parents(), care }
    }
}

impl Kernel<'_> {
    fn span(&self, t: TermId) -> Span {
        self.body.span(t).shifted(self.item.span.start)
    }

    fn parent(&self, t: TermId) -> Option<TermId> {
        self.parents.get(t.index()).copied().flatten()
    }

    /// The statements around a term that stand in braces, innermost first.
    fn statements(&self, t: TermId) -> Vec<TermId> {
        let mut out = Vec::new();
        let mut at = t;
        while let Some(p) = self.parent(at) {
            let braced = matches!(self.body.op(p), Op::List) && self.doc.slice(self.span(p)).starts_with('{');
            if braced && !matches!(self.body.op(at), Op::List) {
                out.push(at);
            }
            at = p;
        }
        out
    }

    /// Whether nothing but blanks stands before the place on its line, and the blanks.
    fn indentation(&self, offset: u32) -> Option<String> {
        let line = self.doc.text().line_of(offset);
        let start = self.doc.text().line_span(line)?.start;
        let before = self.doc.slice(Span { start, end: offset });
        before.trim().is_empty().then(|| before.to_owned())
    }

    fn before(&self, statement: TermId, call: &str) -> Edit {
        let start = self.span(statement).start;
        match self.indentation(start) {
            Some(blanks) => {
                let end = self.doc.text().line_ending().as_str();
                Edit::insert(start, format!("{call}{end}{blanks}"))
            }
            None => Edit::insert(start, format!("{call} ")),
        }
    }

    fn after(&self, statement: TermId, call: &str) -> Edit {
        let span = self.with_semicolon(statement);
        match self.indentation(span.start) {
            Some(blanks) => {
                let end = self.doc.text().line_ending().as_str();
                Edit::insert(span.end, format!("{end}{blanks}{call}"))
            }
            None => Edit::insert(span.end, format!(" {call}")),
        }
    }

    fn with_semicolon(&self, statement: TermId) -> Span {
        let span = self.span(statement);
        let rest = self.doc.slice(Span { start: span.end, end: self.item.span.end });
        let blanks = rest.len() - rest.trim_start().len();
        match rest.trim_start().starts_with(';') {
            true => Span { start: span.start, end: span.end + blanks as u32 + 1 },
            false => span,
        }
    }

    /// Without the statement, and without its line if it stands alone there.
    fn removed(&self, statement: TermId) -> Option<Edit> {
        self.statements(statement).first().filter(|s| **s == statement)?;
        let span = self.with_semicolon(statement);
        let line = self.doc.text().line_of(span.start);
        let whole = self.doc.text().line_span_with_terminator(line)?;
        let alone = self.doc.slice(whole).trim() == self.doc.slice(span);
        Some(Edit::delete(if alone { whole } else { span }))
    }

    /// The statement that reads and writes a place.
    fn updating(&self, place: TermId) -> Option<TermId> {
        let updates = |t: &TermId| {
            matches!(self.body.op(*t), Op::Compound(_) | Op::Step { .. })
                && self.body.args(*t).first() == Some(&place)
        };
        self.body.walk(self.body.root).find(updates)
    }

    /// The atomic operation of the same meaning.
    fn atomic(&self, update: TermId) -> Option<(String, Edit)> {
        let parent = self.parent(update)?;
        if !matches!(self.body.op(parent), Op::List) {
            return None;
        }
        let text = |t: TermId| self.doc.slice(self.span(t)).to_owned();
        let (place, op, value) = match (self.body.op(update), self.body.args(update)) {
            (Op::Step { delta, .. }, &[p]) => {
                (p, if *delta > 0 { BinOp::Add } else { BinOp::Sub }, "1".to_owned())
            }
            (Op::Compound(op), &[p, v]) => (p, *op, text(v)),
            (Op::Assign, &[p, v]) => match (self.body.op(v), self.body.args(v)) {
                (Op::Binary(op), &[a, b]) if self.body.same(a, p) => (p, *op, text(b)),
                (Op::Binary(op @ (BinOp::Add | BinOp::BitAnd | BinOp::BitOr | BinOp::BitXor)), &[a, b])
                    if self.body.same(b, p) =>
                {
                    (p, *op, text(a))
                }
                _ => return None,
            },
            _ => return None,
        };
        use IntKind::{Int, UInt, ULongLong};
        let kind = self.body.types.kind(self.body.ty(place));
        let whole = matches!(kind, TypeKind::Int(Int | UInt));
        let wide = matches!(kind, TypeKind::Int(ULongLong));
        let real = matches!(kind, TypeKind::Float(FloatKind::F32 | FloatKind::F64));
        let (op, value) = match op {
            BinOp::Add if whole || wide || real => (AtomicOp::Add, value),
            BinOp::Sub if whole => (AtomicOp::Sub, value),
            BinOp::Sub if real => (AtomicOp::Add, format!("-({value})")),
            BinOp::BitAnd if whole || wide => (AtomicOp::And, value),
            BinOp::BitOr if whole || wide => (AtomicOp::Or, value),
            BinOp::BitXor if whole || wide => (AtomicOp::Xor, value),
            _ => return None,
        };
        let name = gpu::CUDA.spelling(Word::Atomic(Some(op), Scope::Device))?;
        let new = format!("{name}(&{}, {value})", text(place));
        Some((format!("Replace by `{name}`"), Edit::replace(self.span(update), new)))
    }

    /// The atomic operation for `if (v > place) place = v;`.
    fn extreme(&self, t: TermId, place: TermId, v: TermId, largest: bool) -> Option<(String, Edit)> {
        use IntKind::{Int, LongLong, UInt, ULongLong};
        let kind = |t: TermId| self.body.types.kind(self.body.ty(t));
        let whole = matches!(kind(place), TypeKind::Int(Int | UInt | LongLong | ULongLong));
        if !whole || kind(place) != kind(v) {
            return None;
        }
        let text = |t: TermId| self.doc.slice(self.span(t));
        let op = if largest { AtomicOp::Max } else { AtomicOp::Min };
        let name = gpu::CUDA.spelling(Word::Atomic(Some(op), Scope::Device))?;
        let new = format!("{name}(&{}, {});", text(place), text(v));
        Some((format!("Replace by `{name}`"), Edit::replace(self.with_semicolon(t), new)))
    }

    /// Rows of a shared array one element longer.
    fn padded(&self, name: &str) -> Option<(String, Edit)> {
        let of_name = |(_, s): &(SymbolId, &term::Symbol)| s.storage == Storage::Shared && *s.name == *name;
        let (_, symbol) = self.body.symbols.iter_ids().find(of_name)?;
        let TypeKind::Array { of, .. } = self.body.types.kind(symbol.ty) else { return None };
        if !matches!(self.body.types.kind(*of), TypeKind::Array { .. }) || symbol.address_taken {
            return None;
        }
        let start = symbol.span?.shifted(self.item.span.start).end;
        let rest = self.doc.slice(Span { start, end: self.item.span.end });
        let declarator = &rest[..rest.find([';', ',', '='])?];
        let close = declarator.rfind(']')? as u32;
        let title = format!("Make the rows of `{name}` one element longer");
        Some((title, Edit::insert(start + close, " + 1")))
    }

    /// The repair, if besides the kernel leaves in memory what it left before, in a run with the same inputs.
    fn same(&self, facts: &KernelFacts, title: String, edits: Vec<Edit>) -> Option<Mend> {
        self.tried(facts, title, edits, None, true)
    }

    /// The repair, if the kernel is better with it in every respect that was bad, and worse in none.
    fn checked(
        &self,
        facts: &KernelFacts,
        title: String,
        edits: Vec<Edit>,
        w: Option<&RaceWitness>,
    ) -> Option<Mend> {
        self.tried(facts, title, edits, w, false)
    }

    fn tried(
        &self,
        facts: &KernelFacts,
        title: String,
        edits: Vec<Edit>,
        w: Option<&RaceWitness>,
        same: bool,
    ) -> Option<Mend> {
        let edits = EditSet::new(edits).ok()?;
        if self.care == Care::Listed {
            return Some(Mend { title, edits });
        }
        let text = edits.apply(self.doc.text()).ok()?;
        let again = Doc::open(self.doc.language(), self.doc.name(), text, self.doc.options().clone());
        let there = self.ask.of(&again);
        let item = again.unit().items.iter().find(|i| i.is_kernel && i.name == self.item.name)?;
        let (new, _) = there.kernel_facts(item);
        let (old, now) = (Score::of(facts), Score::of(&new));
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
        let mut options =
            SimulateOptions { kernel: Some(self.item.name.to_string()), steps: STEPS, ..Default::default() };
        let known = super::shape::of_file(self.doc, self.item).ok().flatten().map(|x| x.0);
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
        let left = |r: &super::KernelRun| r.left.filter(|_| r.completed);
        if same && (left(&before).is_none() || left(&before) != left(&after) || before.inputs != after.inputs)
        {
            return None;
        }
        let told = w.is_some() && !before.races.is_empty() && after.races.len() >= before.races.len();
        (fine && !told).then_some(Mend { title, edits })
    }
}

/// Threads of a launch that is run.
const MAX_THREADS: u64 = 1 << 20;

/// A launch in place of one that is too large to run: two blocks an axis, and numbers that fit them.
fn smaller(shape: &Shape) -> Option<Shape> {
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

/// How many of each fault.
struct Score([u64; 14]);

impl Score {
    fn of(f: &KernelFacts) -> Score {
        let races = match &f.races {
            RaceVerdict::Race(list) => list.len() as u64,
            _ => 0,
        };
        let barriers = |wanted: fn(&BarrierVerdict) -> bool| {
            f.barriers.iter().filter(|b| wanted(&b.verdict)).count() as u64
        };
        let excess = f
            .accesses
            .iter()
            .filter(|a| a.space == term::Space::Shared)
            .filter_map(|a| Some(a.requests.as_ref()?.ways.saturating_sub((a.bytes / 4).max(1))));
        Score([
            races,
            barriers(|v| matches!(v, BarrierVerdict::Divergent(_))),
            barriers(|v| matches!(v, BarrierVerdict::Unknown(_))),
            f.out_of_range.iter().flatten().count() as u64,
            f.lost_updates.len() as u64,
            f.missing_fences.len() as u64,
            f.barriers.iter().filter(|b| b.redundant == Some(true)).count() as u64,
            excess.sum(),
            f.accesses
                .iter()
                .filter(|a| a.space == term::Space::Constant)
                .filter_map(|a| Some(a.requests.as_ref()?.conflicts))
                .sum(),
            f.accesses
                .iter()
                .filter(|a| a.space == term::Space::Global)
                .filter_map(|a| a.requests.as_ref())
                .map(|r| r.sectors.saturating_sub(r.ideal))
                .sum(),
            f.reloads.len() as u64,
            f.divided.len() as u64,
            f.overflows.len() as u64,
            f.local_arrays.len() as u64,
        ])
    }
    fn is_no_worse(&self, old: &Score) -> bool {
        self.0.iter().zip(&old.0).all(|(n, o)| n <= o)
    }
    fn is_better(&self, old: &Score) -> bool {
        let pairs = || self.0.iter().zip(&old.0);
        pairs().all(|(n, o)| n <= o) && pairs().any(|(n, o)| n < o)
    }
}
