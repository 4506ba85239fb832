//! Cooperative groups of a block and of a warp's tiles, as the intrinsics that they are made of.
//!
//! `b.sync()` is `__syncthreads()`, a tile of 32 lanes has `__syncwarp()`, shuffles and votes over the whole warp (CUDA C++ Programming
//! Guide, Cooperative Groups). Of the grid its numbers are known. Deliberately absent: smaller tiles, barriers of the grid,
//! clusters, coalesced groups; their names are not taken for anything.

/// What a name stands for in a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Group {
    Block,
    /// A tile as wide as a warp.
    Warp,
    /// All threads of the launch.
    Grid,
}

impl Group {
    /// What a function without arguments makes.
    pub fn made_by(function: &str) -> Option<Group> {
        match function {
            "this_thread_block" => Some(Group::Block),
            "this_grid" => Some(Group::Grid),
            _ => None,
        }
    }
}

/// A parameter or variable that is a group: its type from `k` on (`const cg::thread_block_tile<32> &`), the index of its name.
pub(crate) fn declared<'a>(word: impl Fn(usize) -> &'a str, k: usize) -> Option<(Group, usize)> {
    let mut j = k;
    while word(j) == "const" || word(j + 1) == "::" {
        j += if word(j) == "const" { 1 } else { 2 };
    }
    let group = match word(j) {
        "thread_block" => Group::Block,
        "grid_group" => Group::Grid,
        "thread_block_tile" if word(j + 1) == "<" && word(j + 2) == "32" => {
            j += 2;
            // what the tile is cut from says nothing of its lanes
            if word(j + 1) == "," {
                j += 1;
                while matches!(word(j + 1), "thread_block" | "::" | "cooperative_groups" | "cg") {
                    j += 1;
                }
            }
            j += 1;
            (word(j) == ">").then_some(Group::Warp)?
        }
        _ => return None,
    };
    j += 1;
    while matches!(word(j), "const" | "&" | "&&") {
        j += 1;
    }
    let named = word(j).starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    named.then_some((group, j))
}

/// The name of a reduction over a warp, by the words of its operation (`cg::plus<float>{}`).
pub(crate) fn reduction<'a>(mut words: impl Iterator<Item = &'a str>) -> &'static str {
    let known = |w: &str| {
        Some(match w {
            "plus" => "__cg_reduce_plus_sync",
            "less" => "__cg_reduce_less_sync",
            "greater" => "__cg_reduce_greater_sync",
            "bit_and" => "__cg_reduce_bit_and_sync",
            "bit_or" => "__cg_reduce_bit_or_sync",
            "bit_xor" => "__cg_reduce_bit_xor_sync",
            _ => return None,
        })
    };
    words.find_map(known).unwrap_or("__cg_reduce_sync")
}

/// What a member's call becomes. Words stand apart by spaces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Member {
    /// Words in place of the whole call without arguments.
    Whole(&'static str),
    /// A function's name and what its arguments begin with.
    Call(&'static str, &'static str),
}

/// The number of a thread in its block, of a block in the grid, and how many there are, as 64-bit numbers where C++ has them.
macro_rules! rank {
    (thread) => {
        "( threadIdx . x + blockDim . x * ( threadIdx . y + blockDim . y * threadIdx . z ) )"
    };
    (block) => {
        "( blockIdx . x + ( unsigned long long ) gridDim . x * ( blockIdx . y + gridDim . y * blockIdx . z ) )"
    };
    (threads) => {
        "( blockDim . x * blockDim . y * blockDim . z )"
    };
    (blocks) => {
        "( ( unsigned long long ) gridDim . x * gridDim . y * gridDim . z )"
    };
}

/// `group.name(…)`; `bare`: there are no arguments.
pub(crate) fn member(group: Group, name: &str, bare: bool) -> Option<Member> {
    use Member::*;
    const MASK: &str = "0xffffffffu ,";
    Some(match (group, name, bare) {
        (Group::Block, "sync", true) => Whole("__syncthreads ( )"),
        (Group::Block, "thread_rank", true) => Whole(rank!(thread)),
        (Group::Block, "size" | "num_threads", true) => Whole(rank!(threads)),
        (Group::Block, "thread_index", true) => Whole("threadIdx"),
        (Group::Block, "group_index", true) => Whole("blockIdx"),
        (Group::Block, "dim_threads" | "group_dim", true) => Whole("blockDim"),
        (Group::Grid, "thread_rank", true) => {
            Whole(concat!("( ", rank!(block), " * ", rank!(threads), " + ", rank!(thread), " )"))
        }
        (Group::Grid, "size" | "num_threads", true) => {
            Whole(concat!("( ", rank!(blocks), " * ", rank!(threads), " )"))
        }
        (Group::Grid, "block_rank", true) => Whole(rank!(block)),
        (Group::Grid, "num_blocks", true) => Whole(rank!(blocks)),
        (Group::Grid, "block_index", true) => Whole("blockIdx"),
        (Group::Grid, "dim_blocks" | "group_dim", true) => Whole("gridDim"),
        (Group::Warp, "sync", true) => Whole("__syncwarp ( )"),
        (Group::Warp, "thread_rank", true) => Whole(concat!("( ", rank!(thread), " % 32 )")),
        (Group::Warp, "meta_group_rank", true) => Whole(concat!("( ", rank!(thread), " / 32 )")),
        (Group::Warp, "meta_group_size", true) => Whole(concat!("( ( ", rank!(threads), " + 31 ) / 32 )")),
        (Group::Warp, "size" | "num_threads", true) => Whole("32"),
        (Group::Warp, "shfl", false) => Call("__shfl_sync", MASK),
        (Group::Warp, "shfl_down", false) => Call("__shfl_down_sync", MASK),
        (Group::Warp, "shfl_up", false) => Call("__shfl_up_sync", MASK),
        (Group::Warp, "shfl_xor", false) => Call("__shfl_xor_sync", MASK),
        (Group::Warp, "any", false) => Call("__any_sync", MASK),
        (Group::Warp, "all", false) => Call("__all_sync", MASK),
        (Group::Warp, "ballot", false) => Call("__ballot_sync", MASK),
        _ => return None,
    })
}
