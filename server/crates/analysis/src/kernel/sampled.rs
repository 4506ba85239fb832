//! What can be told of races, and of what warps ask of memory, where not every thread of the launch can be followed: a part of a
//! launch that is too large, values for parameters that nobody gives, and launches tried where none is known.
//!
//! A part tells what happens, never that nothing does: its blocks are blocks of the launch, and what is certain of their threads
//! up to where they are left is certain of the launch. With values or launches tried, a race is one that all of them show
//! within a block: one that only some have may be none for those that are meant.

use std::sync::Arc;

use term::{BinOp, Body, Op, Storage, TermId};

use super::collect::Seen;
use super::races::{self, RaceObstacle, RaceVerdict, RaceWitness};
use super::replay::{self, KernelObject, ObjectKind, Trace};
use super::{KernelLaunch, KernelObstacle};
use crate::limits::kernel_sampled::{ALONE, GLANCE, SEVERAL};
use crate::Program;

/// Blocks tried where no launch is known.
const BLOCKS: [u32; 6] = [32, 64, 128, 256, 512, 1024];
/// Those tried where nothing fixes the size of an array.
const FEW: [u32; 3] = [32, 128, 1024];
/// Their extents along x where the kernel names more axes.
const WIDTHS: [u32; 3] = [8, 16, 32];

/// Numbers of blocks at the corner of a grid, the one that has neighbours on every side last of them, and the grid's last.
fn corner(grid: [u32; 3]) -> Vec<u32> {
    let [x, y, z] = grid.map(u64::from);
    let at = |i: u64, j: u64| (i < x && j < y).then_some(i + x * j);
    let some = [at(0, 0), at(1, 0), at(0, 1), at(1, 1)];
    let last = x.checked_mul(y).and_then(|n| n.checked_mul(z)).map(|n| n - 1);
    let mut out: Vec<u32> = Vec::new();
    for n in some.into_iter().chain([last]).flatten() {
        if let (Ok(n), true) = (u32::try_from(n), out.len() < 5) {
            if !out.contains(&n) {
                out.push(n);
            }
        }
    }
    out
}

/// Blocks of a large grid that stand for the others: some at its corner and its last, which guards treat differently, and some from
/// its middle.
pub(super) fn some_blocks(grid: [u32; 3]) -> Vec<[u32; 3]> {
    let [x, y, z] = grid.map(u64::from);
    let at = |n: u32| {
        let n = u64::from(n);
        [n % x, n / x % y, n / (x * y)].map(|e| u32::try_from(e).unwrap_or(u32::MAX))
    };
    let mut out: Vec<[u32; 3]> = corner(grid).into_iter().map(at).collect();
    for parts in [[2, 2, 2], [3, 2, 2], [2, 3, 2]] {
        let middle: [u64; 3] = std::array::from_fn(|k| [x, y, z][k] / parts[k]);
        let middle = middle.map(|e| u32::try_from(e).unwrap_or(u32::MAX));
        if !out.contains(&middle) {
            out.push(middle);
        }
    }
    out
}

/// A block with neighbours before it, where there is one.
fn inner(grid: [u32; 3]) -> u32 {
    let [x, y, _] = grid.map(|e| e.min(2) as u64 - 1);
    u32::try_from(x + grid[0] as u64 * y).unwrap_or(0)
}

/// Some blocks of a launch; one, and that not to its end, where they take too long.
pub(super) fn part<'a>(
    body: &'a Body,
    program: &'a Program,
    seen: &Seen,
    launch: &KernelLaunch,
) -> Option<Trace<'a>> {
    let grid = launch.grid?;
    let look = |blocks: &[u32], steps| replay::replay_part(body, program, launch, seen, blocks, steps).ok();
    // one that is not soon done has no room for others beside it
    if !look(&[inner(grid)], GLANCE)?.cut {
        let several = look(&corner(grid), SEVERAL)?;
        if !several.cut {
            return Some(several);
        }
    }
    look(&[inner(grid)], ALONE)
}

fn open(body: &Body, launch: &KernelLaunch) -> Vec<Arc<str>> {
    super::eval::parameters(body).filter(|n| !launch.values.iter().any(|(m, _)| m == n)).collect()
}

/// What one block shows, whatever the parameters that nobody gives are, as far as these values tell.
struct Shown {
    /// Races that all values show.
    list: Vec<RaceWitness>,
    /// Elements of the largest array, shared if there are any, whose size the text fixes.
    room: Option<u64>,
    /// Threads leave an array, or a row of one.
    outside: bool,
    /// Some thread was not followed to its end.
    cut: bool,
}

fn shown(
    body: &Body,
    program: &Program,
    seen: &Seen,
    launch: &KernelLaunch,
    values: &[i128],
) -> Result<Shown, KernelObstacle> {
    let open = open(body, launch);
    let mut out = shown_with(
        body,
        program,
        seen,
        launch,
        &values.iter().map(|&v| alike(body, &open, v)).collect::<Vec<_>>(),
    )?;
    // how arrays are laid out is agreed with the host: what meets in global memory because two strides are one number may not, else
    let strides: Vec<Arc<str>> = factors(body, program, 0).into_iter().filter(|n| open.contains(n)).collect();
    if out.list.iter().any(|w| !w.shared) && !strides.is_empty() {
        let other = values.iter().copied().max().unwrap_or(1000);
        let each = strides.iter().map(|s| {
            let mut list = alike(body, &open, other);
            list.iter_mut().filter(|x| x.0 == *s).for_each(|x| x.1 = 1);
            list
        });
        let still = shown_with(body, program, seen, launch, &each.collect::<Vec<_>>());
        let still = still.map(|s| if s.outside { Vec::new() } else { s.list }).unwrap_or_default();
        let (shared, global): (Vec<_>, Vec<_>) =
            std::mem::take(&mut out.list).into_iter().partition(|w| w.shared);
        out.list = shared.into_iter().chain(in_both(Some(still), global)).collect();
    }
    Ok(out)
}

/// One value for all these parameters, or of its type what is next to it.
fn alike(body: &Body, open: &[Arc<str>], value: i128) -> Vec<(Arc<str>, i128)> {
    let kind = |n: &Arc<str>| {
        let is_it = |s: &&term::Symbol| s.name == *n && matches!(s.storage, Storage::Param(_));
        body.types.as_int(body.symbols.iter().find(is_it)?.ty)
    };
    let fitting = |n: &Arc<str>| kind(n).map_or(value, |k| value.clamp(k.min(), k.max()));
    open.iter().map(|n| (n.clone(), fitting(n))).collect()
}

/// Integer parameters that something is multiplied with or divided by, here or in a function that is given them.
fn factors(body: &Body, program: &Program, depth: u32) -> Vec<Arc<str>> {
    let mut out: Vec<Arc<str>> = Vec::new();
    let mut note = |t: TermId| {
        for x in body.walk(t) {
            let Op::Sym(s) = body.op(x) else { continue };
            let symbol = &body.symbols[*s];
            if matches!(symbol.storage, Storage::Param(_)) && !out.contains(&symbol.name) {
                out.push(symbol.name.clone());
            }
        }
    };
    for t in body.walk(body.root) {
        match (body.op(t), body.args(t)) {
            (Op::Binary(op) | Op::Compound(op), &[a, b])
                if matches!(op, BinOp::Mul | BinOp::Div | BinOp::Rem | BinOp::Shl) =>
            {
                note(a);
                note(b);
            }
            (Op::Call, [_, arguments @ ..]) if depth < 3 => {
                let called = body.callee_name(t).and_then(|n| program.body(n));
                let Some(called) = called.filter(|c| c.name != body.name) else { continue };
                let inside = factors(called, program, depth + 1);
                for (name, &a) in super::eval::parameter_names(called).zip(arguments) {
                    if inside.contains(&name) {
                        note(a);
                    }
                }
            }
            _ => {}
        }
    }
    out
}

fn shown_with(
    body: &Body,
    program: &Program,
    seen: &Seen,
    launch: &KernelLaunch,
    values: &[Vec<(Arc<str>, i128)>],
) -> Result<Shown, KernelObstacle> {
    let open = open(body, launch);
    let one = [inner(launch.grid.unwrap_or([1; 3]))];
    let mut out = Shown { list: Vec::new(), room: None, outside: false, cut: false };
    let mut found: Option<Vec<RaceWitness>> = None;
    for value in values {
        let mut tried = launch.clone();
        tried.values.extend(value.iter().cloned());
        let look = |steps| replay::replay_part(body, program, &tried, seen, &one, steps);
        let leaves = |t: &Trace<'_>| {
            t.missed.is_none() && (t.leaves_rows || !races::out_of_range(t, &tried).is_empty())
        };
        // blocks that do not fit are soon known
        let mut trace = look(GLANCE)?;
        if trace.cut && !leaves(&trace) {
            trace = look(ALONE)?;
        }
        if trace.missed.is_some() {
            return Err(KernelObstacle::NoLaunch);
        }
        let elements = |o: &KernelObject| o.bytes.map(|b| b / o.element.max(1)).filter(|&n| n > 1);
        let sized = trace.objects.iter().filter_map(|o| Some((o.kind == ObjectKind::Shared, elements(o)?)));
        out.room = sized.max().map(|r| r.1);
        out.outside = leaves(&trace);
        if out.outside {
            break;
        }
        out.cut |= trace.cut;
        let meetings = replay::judge(&trace)?;
        found = Some(in_both(found, races::witnesses(&trace, &meetings, &tried)));
        if open.is_empty() || found.as_ref().is_some_and(Vec::is_empty) {
            break;
        }
    }
    out.list = found.unwrap_or_default();
    Ok(out)
}

/// Within a block of a launch that is known, whatever the parameters that nobody gives are, as far as values tried tell.
pub(super) fn with_values(
    body: &Body,
    program: &Program,
    seen: &Seen,
    launch: &KernelLaunch,
) -> Option<RaceVerdict> {
    let (grid, block) = (launch.grid?, launch.block?);
    if open(body, launch).is_empty() {
        return None;
    }
    let threads = replay::count(block) as i128;
    // as many as the launch has along x, which is what it is made for as often as not
    let all = grid[0] as i128 * block[0] as i128;
    let shown = shown(body, program, seen, launch, &[all, threads, 1000]).ok()?;
    (!shown.outside && !shown.list.is_empty()).then_some(RaceVerdict::Race(shown.list))
}

/// For launches tried: where the text fixes the sizes of arrays, with the largest block that stays inside of them and has no more
/// threads than elements, and with all larger ones that stay inside; else with all.
pub(super) fn guessed(body: &Body, program: &Program, seen: &Seen, launch: &KernelLaunch) -> RaceVerdict {
    let unknown = |why| RaceVerdict::Unknown(RaceObstacle::Kernel(why));
    let named = super::eval::axes(body, program);
    // written for one thread
    if named == [false; 3] && launch.block.is_none() {
        return unknown(KernelObstacle::NoLaunch);
    }
    let flat = !named[1] && !named[2];
    let most = launch.most_threads.unwrap_or(launch.limits.block_threads);
    // blocks of as many threads
    let alike = |t: u32| match launch.block {
        Some(b) => vec![b],
        None if flat => vec![[t, 1, 1]],
        None => WIDTHS.map(|x| [x, t / x, 1]).to_vec(),
    };
    let attempt = |block: [u32; 3]| {
        let tried = KernelLaunch { grid: Some([1, 1, 1]), block: Some(block), ..launch.clone() };
        shown(body, program, seen, &tried, &[replay::count(block) as i128, 1000])
    };
    let sizes: Vec<u32> = BLOCKS.into_iter().filter(|b| *b <= most).collect();
    let smallest = alike(32)[0];
    let first = match attempt(smallest) {
        Ok(shown) => shown,
        Err(why) => return unknown(why),
    };
    // where no array's size says more, some sizes stand for all
    let sizes: Vec<u32> = sizes.into_iter().filter(|t| first.room.is_some() || FEW.contains(t)).collect();
    // more threads than elements: subscripts that stay inside all the same may be meant for fewer
    let (small, large): (Vec<u32>, Vec<u32>) =
        sizes.iter().partition(|&&t| first.room.is_some_and(|r| u64::from(t) <= r));
    if launch.block.is_some() {
        return match first.outside || first.list.is_empty() {
            true => unknown(KernelObstacle::NoLaunch),
            false => RaceVerdict::Race(first.list),
        };
    }
    let mut first = Some(first);
    let mut common: Option<Vec<RaceWitness>> = None;
    let fitting = small.into_iter().rev().map(|t| (t, true)).chain(large.into_iter().map(|t| (t, false)));
    let mut filled = false;
    for (t, small) in fitting {
        if small && filled {
            continue;
        }
        for block in alike(t) {
            // looked at already
            let shown = match first.take_if(|_| block == smallest).map_or_else(|| attempt(block), Ok) {
                Ok(shown) => shown,
                Err(why) => return unknown(why),
            };
            if shown.outside {
                continue;
            }
            // who is left early may fall outside later, though hardly of a tile of the block's own shape
            filled |= !shown.cut || super::shapes::tile_of(body) == Some(block);
            let kept = in_both(common, shown.list);
            if kept.is_empty() {
                return unknown(KernelObstacle::NoLaunch);
            }
            common = Some(kept);
        }
    }
    match common.filter(|c| !c.is_empty()) {
        Some(list) => RaceVerdict::Race(list),
        None => unknown(KernelObstacle::NoLaunch),
    }
}

/// Those of `found` that were there before.
fn in_both(before: Option<Vec<RaceWitness>>, found: Vec<RaceWitness>) -> Vec<RaceWitness> {
    let places =
        |w: &RaceWitness| (w.first.function.clone(), w.first.term, w.second.function.clone(), w.second.term);
    match before {
        None => found,
        Some(list) => found.into_iter().filter(|w| list.iter().any(|b| places(b) == places(w))).collect(),
    }
}
