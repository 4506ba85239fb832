//! Calls of functions: with made-up inputs, and with those that a witness speaks of.

use analysis::{Entry, EntryOwner, EntryValue, LoopFacts, Param, Step};
use term::{Op, Storage, SymbolId, TypeKind};

use super::build::{Built, Cell, Run};
use super::judge::facts;
use super::marks::{Loop, Var};
use crate::rng::Rng;

/// How many made-up calls each function gets, with their sizes; every third may have overlapping arrays.
pub(super) const SIZES: [i64; 7] = [6, 5, 13, 3, 8, 2, 9];
/// The rounds that are compared with the interpreter, byte by byte.
const TOLD: [usize; 2] = [0, 3];
/// Events of one call, and where more is looked at.
pub(super) const LIMITS: [u64; 2] = [120_000, 1_000_000];
/// More calls for a witness whose values no call had.
pub(super) const TRIES: u64 = 24;
/// The first of them are with the replay's own inputs.
pub(super) const EXACT: u64 = 3;

pub(super) fn made_up(built: &Built<'_>, case: usize, round: usize, limit: u64) -> Run {
    let size = SIZES.get(round).copied().unwrap_or(3 + round as i64 % 7);
    let mut rng = Rng::new((round as u64) << 20 ^ case as u64 ^ 0x7ACE);
    let c = &built.batch.cases[case];
    let small = steps(built, case);
    // often all are equal: many programs do something then alone
    let equal = rng.chance(30);
    let args = c
        .given
        .iter()
        .map(|g| match g {
            Some(g) if small.contains(&g.symbol) => rng.between(1, 3),
            Some(_) if equal => size,
            Some(_) if rng.chance(10) => rng.between(-2, 2),
            _ => size + rng.between(-2, 2),
        })
        .collect();
    let seed = round as u64 * 31 + 1;
    Run {
        case,
        seed,
        size,
        overlap: round % 3 == 1,
        trace: TOLD.contains(&round),
        limit,
        args,
        entries: Vec::new(),
    }
}

/// Variables that loops step by: as large as the others they would leave one iteration.
fn steps(built: &Built<'_>, case: usize) -> Vec<SymbolId> {
    let c = &built.batch.cases[case];
    let a = &built.batch.files[c.file].1;
    let body = &a.unit.items[c.item].body;
    let step = |l: &LoopFacts| match l.control.as_ref().ok()?.step {
        Step::Term { term, .. } => body.as_symbol(term),
        Step::Const(_) => None,
    };
    a.facts[c.item].loops.iter().filter_map(step).collect()
}

/// A call that has the witness's values where a parameter or a file-scope variable of that name can be given one.
pub(super) fn witness_run(built: &Built<'_>, l: &Loop, d: usize, round: u64, limit: u64) -> Option<Run> {
    let case = built.batch.cases.iter().position(|c| (c.file, c.item) == (l.file, l.item))?;
    let body = &built.batch.files[l.file].1.unit.items[l.item].body;
    let w = facts(built, l).dependences[d].witness.as_ref()?;
    let largest =
        w.params.iter().map(|(_, v)| v.unsigned_abs()).filter(|v| *v < 200).max().unwrap_or(0) as i64;
    let mut run = made_up(built, case, round as usize % 5, 4 * limit);
    if round < EXACT {
        // exactly what the replay began with, and all else at random
        run.entries = entries(built, l, &w.entry)?;
        (run.overlap, run.trace, run.seed) = (false, false, 1000 + round);
        return Some(run);
    }
    run.trace = false;
    // what the witness does not fix: about as large, small, negative, in turn
    let mut rng = Rng::new(round << 8 ^ case as u64);
    let size = [largest + 2, 8, largest.max(3), 2][round as usize % 4];
    for v in &mut run.args {
        *v = if rng.chance(12) { rng.between(-3, 3) } else { size + rng.between(-2, 2) };
    }
    run.size = size.clamp(2, 80);
    run.overlap = false;
    run.seed = 1000 + round;
    for (p, v) in &w.params {
        let Param::Symbol(s) = p else { continue };
        let symbol = &body.symbols[*s];
        let slot = built.batch.cases[case].given.iter().position(|g| {
            g.as_ref().is_some_and(|g| match symbol.storage {
                Storage::Param(_) => g.symbol == *s && *g.name == *symbol.name,
                Storage::Global { .. } => *g.name == *symbol.name,
                _ => false,
            })
        });
        // in half of the rounds a value that the function may change before is free
        if let (Some(slot), Ok(v)) = (slot, i64::try_from(*v)) {
            run.args[slot] = v;
        }
    }
    Some(run)
}

/// What a replay began with, for the runtime; nothing where a part of it cannot be given.
fn entries(built: &Built<'_>, l: &Loop, entry: &[Entry]) -> Option<Vec<Cell>> {
    let batch = &built.batch;
    let body = &batch.files[l.file].1.unit.items[l.item].body;
    let parameters = body.args(body.root).first().map_or(&[][..], |&p| body.args(p));
    let position = |s: SymbolId| parameters.iter().position(|&p| *body.op(p) == Op::Declare(s));
    // static variables keep what the program gives them
    let nothing = Cell { owner: 9, ..Cell::default() };
    let cell = |e: &Entry| {
        let nothing = nothing.clone();
        let (owner, index) = match &e.owner {
            EntryOwner::Parameter(s) => {
                let by_value = matches!(body.types.kind(body.symbols[*s].ty), TypeKind::Record(_));
                (if by_value { 3 } else { 0 }, position(*s)? as i64)
            }
            EntryOwner::Global(name) => {
                let vars = batch.tables.vars.iter();
                let named = |v: &Var| v.file == l.file && v.item.is_none() && *v.name == **name;
                (1, vars.enumerate().find(|(_, v)| named(v))?.0 as i64)
            }
            EntryOwner::Behind(n) => (2, i64::from(*n)),
            EntryOwner::Other => return Some(nothing),
        };
        let (kind, into, bits) = match e.value {
            EntryValue::Int(v) => (0, 0, v as u64),
            EntryValue::Real(bits) => (1, 0, bits),
            EntryValue::Null => (2, 0, 0),
            EntryValue::Apart => (3, 0, 0),
            EntryValue::Into(n, by) => (4, n, by as u64),
            EntryValue::Other => return Some(nothing),
        };
        let (kind, size) = if e.bits > 0 { (5, e.bits) } else { (kind, e.size) };
        Some(Cell { owner, index, offset: e.offset, size, kind, into, bits })
    };
    if entry.len() > 250 {
        return None;
    }
    // an integer that is set by a global's own slot of `args` is set again behind it
    entry.iter().map(cell).collect()
}
