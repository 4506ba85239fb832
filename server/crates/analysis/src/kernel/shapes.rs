//! For launches of which shapes something is proved: along how many axes they have threads and blocks, and how large a block is.

use term::Body;

use super::symbolic::Axes;
use super::{eval, KernelLaunch};
use crate::Program;

/// The shape of the first shared array, as a block: rows along y.
pub(super) fn tile_of(body: &Body) -> Option<[u32; 3]> {
    let of = |ty| match body.types.kind(ty) {
        term::TypeKind::Array { of, len: term::Len::Const(n) } => Some((*of, u32::try_from(*n).ok()?)),
        _ => None,
    };
    body.symbols.iter().filter(|s| s.storage == term::Storage::Shared).find_map(|s| {
        let (row, n) = of(s.ty)?;
        let block = of(row).map_or([n, 1, 1], |(_, m)| [m, n, 1]);
        (block.iter().product::<u32>() <= gpu::Limits::default().block_threads).then_some(block)
    })
}

/// How many axes a proof must be for: every launch has threads along x; along the others those have that name them, and the
/// known one. Second: the same with threads and blocks told apart, where that is less. Last: one block alone, where the kernel names none
/// and nothing says that there are more.
pub(super) fn axes_of(body: &Body, program: &Program, launch: &KernelLaunch) -> [Option<Axes>; 3] {
    let wide = |e: Option<[u32; 3]>, a: usize| e.is_some_and(|e| e[a] > 1);
    let most = |named: &[bool; 3], e: Option<[u32; 3]>| {
        (1..3).rev().find(|&a| named[a] || wide(e, a)).map_or(1, |a| a as u32 + 1)
    };
    let named = eval::axes(body, program);
    let all = most(&named, launch.block).max(most(&named, launch.grid));
    let [threads, blocks] = eval::axes_apart(body, program);
    let less = Axes { threads: most(&threads, launch.block), blocks: most(&blocks, launch.grid) };
    let all = Axes { threads: all, blocks: all };
    let alone = Axes { threads: less.threads, blocks: 0 };
    let names_none = launch.grid.is_none() && !eval::names_blocks(body, program);
    [Some(all), (less != all).then_some(less), names_none.then_some(alone)]
}
