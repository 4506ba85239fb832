//! Which stretch of a function can run with its arrays on the device, and which parts of them it surely uses.
//!
//! The statements are walked once in the order in which they run. What is not a kernel must be the host's own: variables of the
//! function, numbers, control that stays inside. Of each array the part is sought that the statements surely use whatever the
//! data, because that is copied: of a counted loop what all its iterations touch together, else what the nests of its first
//! iteration touch, on the condition that there is one.

mod accumulated;
pub(crate) mod alone;
mod cells;
pub(crate) mod found;
mod host;
mod kept;
pub(crate) mod numbers;
mod rows;
mod used;
pub(crate) mod ways;
pub(crate) mod written;

use std::collections::{BTreeMap, BTreeSet};

use base::Budget;
use rustc_hash::{FxHashMap, FxHashSet};
use term::{Body, Op, Storage, SymbolId, TermId, TypeKind};

use crate::flow::effects::Effects;
use crate::flow::liveness::Liveness;
use crate::limits::offload_region::MAX_ASKED;
use crate::offload::live::{lives, FileArrays, Life};
use crate::offload::touched::TouchedParts;
use crate::{
    Buffer, Condition, Expr, Facts, LoopId, Offload, Param, Program, Region, RegionTrouble,
    RegionTroubleKind, Rows, Surely,
};

/// What is known besides the function as the offload reads it.
#[derive(Clone, Copy, Debug)]
pub struct RegionGiven<'a> {
    pub written: &'a written::Written,
    /// Of the file that the function stands in.
    pub file: &'a FileArrays,
    /// See [`found::found_parts`].
    pub found: &'a [crate::FoundPart],
}

type Found<T> = Result<T, RegionTrouble>;

fn trouble<T>(kind: RegionTroubleKind, term: TermId) -> Found<T> {
    Err(RegionTrouble { kind, term })
}

/// The statements stand one behind the other in one block. `nests`: the loops in them that are kernels, in textual order, with
/// what each kernel needs.
pub(crate) fn region(
    body: &Body,
    program: &Program,
    facts: &Facts,
    statements: &[TermId],
    nests: &[(LoopId, Offload)],
    given: RegionGiven<'_>,
    budget: &Budget,
) -> Found<Region> {
    let Some(&first) = statements.first() else { return trouble(RegionTroubleKind::NoNest, body.root) };
    if nests.is_empty() {
        return trouble(RegionTroubleKind::NoNest, first);
    }
    let effects = Effects::new(body, program);
    let mut written = FxHashSet::default();
    let mut declared = FxHashSet::default();
    for &t in statements {
        written.extend(effects.writes_in(t).iter().copied());
        declared.extend(body.walk(t).filter_map(|t| match body.op(t) {
            Op::Declare(s) => Some(*s),
            _ => None,
        }));
    }
    let mut walk =
        Walk { written, declared, ..Walk::new(body, program, facts, nests, &given.written.touched, budget) };
    for &t in statements {
        walk.host(t, 0)?;
    }
    walk.pointers(statements)?;
    let wanted: BTreeSet<SymbolId> =
        nests.iter().flat_map(|n| memory(body, &n.1)).map(|b| b.symbol).collect();
    if let Some(&s) = wanted.iter().find(|s| walk.declared.contains(s) && !walk.is_own_array(**s)) {
        return trouble(RegionTroubleKind::DeclaredInside(s), first);
    }
    let mut sure = true;
    let mut is_first = true;
    for &t in statements {
        sure = walk.used(t, sure, is_first, &wanted);
        // kernels and declarations of arrays set nothing that the host reads
        is_first &= walk.nest(t).is_some_and(|n| n.1.finals.is_empty() && n.1.reductions.is_empty())
            || matches!(body.op(t), Op::Declare(s) if walk.is_own_array(*s));
    }
    if let Some(t) = walk.untold {
        return trouble(RegionTroubleKind::NotUnderstood, t);
    }
    let found = found::chosen(body, facts, given.found, &|nest| walk.runs.contains(&nest));
    let found = found.or_else(|array| trouble(RegionTroubleKind::Part(array), first))?;
    let named = |t: TermId, s: SymbolId| body.walk(t).filter(|&x| body.as_symbol(x) == Some(s)).count();
    let is_used_behind =
        |s: SymbolId| named(body.root, s) > statements.iter().map(|&t| named(t, s)).sum::<usize>();
    let declares = statements.iter().find_map(|&t| match body.op(t) {
        Op::Declare(s) if statements.len() > 1 && is_used_behind(*s) => Some((*s, t)),
        _ => None,
    });
    if let Some((s, t)) = declares {
        return trouble(RegionTroubleKind::DeclaresFor(s), t);
    }
    let lives = lives(body, program, statements, &wanted, given.file, budget).unwrap_or_default();
    let arrays = walk.arrays(statements, &wanted, &lives)?;
    let asked = arrays.iter().filter(|a| walk.asked.iter().any(|k| k.1 == a.buffer.symbol));
    if let Some(a) = asked.clone().find(|a| a.parts.len() * asked.clone().count() > MAX_ASKED) {
        return trouble(RegionTroubleKind::Rows(a.buffer.symbol), first);
    }
    let live = Liveness::new(body, budget);
    let scalars = walk.scalars(statements, &live)?;
    let exchanged = walk.exchanged(statements, &live)?;
    Ok(Region {
        statements: statements.to_vec(),
        nests: nests.iter().map(|n| n.0).collect(),
        scalars,
        arrays,
        exchanged,
        conditions: walk.conditions,
        sure: walk.sure,
        tested: walk.tested,
        asked: walk.asked,
        shown: sorted(&given.written.shown),
        found,
        left: given.written.left.clone(),
    })
}

fn sorted(of: &FxHashSet<SymbolId>) -> Vec<SymbolId> {
    let mut all: Vec<SymbolId> = of.iter().copied().collect();
    all.sort_unstable();
    all
}

/// The buffers that are memory reached by subscripts; a structure is passed by value.
fn memory<'o>(body: &'o Body, offload: &'o Offload) -> impl Iterator<Item = &'o Buffer> {
    let is_memory = |s: SymbolId| {
        matches!(body.types.kind(body.symbols[s].ty), TypeKind::Pointer { .. } | TypeKind::Array { .. })
    };
    offload.buffers.iter().filter(move |b| is_memory(b.symbol))
}

/// Something that uses a part of an array.
#[derive(Clone)]
struct Use {
    buffer: Buffer,
    /// The nest, if it is one nest's use.
    nest: Option<LoopId>,
    /// Whether it surely happens, with what [`Walk::sure`] says.
    is_sure: bool,
}

#[derive(Clone)]
struct Walk<'a> {
    body: &'a Body,
    program: &'a Program,
    facts: &'a Facts,
    nests: &'a [(LoopId, Offload)],
    /// What loops touch that stand for others.
    known: &'a FxHashMap<TermId, TouchedParts>,
    budget: &'a Budget,
    /// Variables that the statements write, and those they declare.
    written: FxHashSet<SymbolId>,
    declared: FxHashSet<SymbolId>,
    exchanged: BTreeSet<SymbolId>,
    /// By array, in the order in which they run.
    uses: BTreeMap<SymbolId, Vec<Use>>,
    conditions: Vec<Condition>,
    sure: Vec<Surely>,
    tested: Vec<(LoopId, SymbolId)>,
    asked: Vec<(LoopId, SymbolId, usize)>,
    /// Nests that are surely come to, with what [`Walk::sure`] says.
    runs: BTreeSet<LoopId>,
    /// What rests on a condition that cannot be told where the statements begin.
    untold: Option<TermId>,
}

impl<'a> Walk<'a> {
    fn new(
        body: &'a Body,
        program: &'a Program,
        facts: &'a Facts,
        nests: &'a [(LoopId, Offload)],
        known: &'a FxHashMap<TermId, TouchedParts>,
        budget: &'a Budget,
    ) -> Walk<'a> {
        Walk {
            body,
            program,
            facts,
            nests,
            known,
            budget,
            written: FxHashSet::default(),
            declared: FxHashSet::default(),
            exchanged: BTreeSet::new(),
            uses: BTreeMap::new(),
            conditions: Vec::new(),
            sure: Vec::new(),
            tested: Vec::new(),
            asked: Vec::new(),
            runs: BTreeSet::new(),
            untold: None,
        }
    }

    /// Whether an array that the statements declare can be one on the device alone: its size is known, and nobody else has its
    /// address.
    fn is_own_array(&self, s: SymbolId) -> bool {
        let symbol = &self.body.symbols[s];
        let types = &self.body.types;
        let is_plain =
            types.element(symbol.ty).is_some_and(|_| types.is_arithmetic(types.innermost(symbol.ty)));
        matches!(types.kind(symbol.ty), TypeKind::Array { .. })
            && symbol.storage == Storage::Local
            && !symbol.address_taken
            && is_plain
            && types.size_align(symbol.ty).is_some()
    }

    fn nest(&self, t: TermId) -> Option<&'a (LoopId, Offload)> {
        self.nests.iter().find(|n| self.facts.loops[n.0].term == t)
    }

    /// Whether a term has the same value wherever in the statements, and where they begin: it is made of numbers that they do
    /// not set.
    fn is_fixed(&self, t: TermId) -> bool {
        self.number(t).is_ok()
            && self.body.walk(t).all(|x| match self.body.op(x) {
                Op::Sym(s) => !self.written.contains(s) && !self.declared.contains(s),
                op => !op.is_write(),
            })
    }

    fn is_fixed_expr(&self, e: &Expr) -> bool {
        let mut fixed = true;
        e.params(&mut |p| fixed = fixed && self.is_fixed_param(p));
        fixed
    }

    fn is_fixed_param(&self, p: Param) -> bool {
        match p {
            Param::Symbol(s) => {
                let own = matches!(
                    self.body.symbols[s].storage,
                    Storage::Param(_) | Storage::Local | Storage::Global { .. }
                );
                own && !self.written.contains(&s) && !self.declared.contains(&s)
            }
            Param::Term(t) => self.is_fixed(t),
            // found where the statements begin
            Param::End { .. } => true,
            Param::Distance { .. } | Param::Row(_) | Param::Longest(_) => false,
        }
    }

    fn is_fixed_buffer(&self, b: &Buffer) -> bool {
        let parts = b.extent.iter().chain(&b.written_part);
        let fixed = |(f, l): &(Expr, Expr)| self.is_fixed_expr(f) && self.is_fixed_expr(l);
        parts.into_iter().all(fixed) && b.rows.as_ref().is_none_or(|r| self.is_fixed_rows(r))
    }

    /// Whether a table shows the same rows wherever in the statements, and they are all told by what the statements do not set.
    fn is_fixed_rows(&self, rows: &Rows) -> bool {
        let fixed = |e: &Expr| {
            let mut fixed = true;
            e.params(&mut |p| fixed = fixed && (matches!(p, Param::Row(_)) || self.is_fixed_param(p)));
            fixed
        };
        let mut table = self.body.walk(rows.table).filter_map(|t| self.body.as_symbol(t));
        let moves = |s: SymbolId| self.written.contains(&s) || self.declared.contains(&s);
        let is_exchanged = self.exchanged_table(rows).is_some();
        rows.ends().all(|(f, l)| fixed(f) && fixed(l)) && (is_exchanged || !table.any(moves))
    }
}
