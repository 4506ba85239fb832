//! Cooperative groups of a block and of a warp's tiles, as the intrinsics that they are made of.
//!
//! `b.sync()` is `__syncthreads()`, a tile of 32 lanes has `__syncwarp()`, shuffles and votes over the whole warp (CUDA C++ Programming
//! Guide, Cooperative Groups). Deliberately absent: smaller tiles, grids, clusters, coalesced groups; their names are
//! not taken for anything.

/// What a name stands for in a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Group {
    Block,
    /// A tile as wide as a warp.
    Warp,
}

/// What a member's call becomes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Member {
    /// Tokens in place of the whole call without arguments.
    Whole(&'static [&'static str]),
    /// A function's name and what its arguments begin with.
    Call(&'static str, &'static [&'static str]),
}

/// The number of a thread in its block, between more words.
macro_rules! rank {
    ([$($before:literal,)*] [$($after:literal),*]) => {
        &[
            $($before,)*
            "(", "threadIdx", ".", "x", "+", "blockDim", ".", "x", "*", "(", "threadIdx", ".", "y", "+", "blockDim", ".",
            "y", "*", "threadIdx", ".", "z", ")", ")",
            $($after),*
        ]
    };
}

/// `group.name(…)`; `bare`: there are no arguments.
pub(super) fn member(group: Group, name: &str, bare: bool) -> Option<Member> {
    use Member::*;
    const MASK: &[&str] = &["0xffffffffu", ","];
    const RANK: &[&str] = rank!([] []);
    const SIZE: &[&str] =
        &["(", "blockDim", ".", "x", "*", "blockDim", ".", "y", "*", "blockDim", ".", "z", ")"];
    const LANE: &[&str] = rank!(["(",] ["%", "32", ")"]);
    Some(match (group, name, bare) {
        (Group::Block, "sync", true) => Whole(&["__syncthreads", "(", ")"]),
        (Group::Block, "thread_rank", true) => Whole(RANK),
        (Group::Block, "size" | "num_threads", true) => Whole(SIZE),
        (Group::Warp, "sync", true) => Whole(&["__syncwarp", "(", ")"]),
        (Group::Warp, "thread_rank", true) => Whole(LANE),
        (Group::Warp, "size" | "num_threads", true) => Whole(&["32"]),
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
