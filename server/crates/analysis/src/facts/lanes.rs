//! What a nest would be like on the lanes of warps (see `offload::lane_mapping`).

use term::{SymbolId, TermId};

use super::Expr;

/// What a mapping makes of a nest.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Mapping {
    /// In textual order, one for each place; what stands in a function that is called, at the call.
    pub accesses: Vec<LaneAccess>,
    pub branches: Vec<LaneBranch>,
}

/// An access to memory that all threads see.
#[derive(Clone, PartialEq, Debug)]
pub struct LaneAccess {
    pub term: TermId,
    /// The array or pointer.
    pub base: SymbolId,
    pub reads: bool,
    pub writes: bool,
    /// Bytes a lane asks for.
    pub bytes: u64,
    pub stride: LaneStride,
    /// Sectors of a full warp's request, least and most; `None`: the stride is not a known number.
    pub sectors: Option<(u64, u64)>,
    /// Sectors that the lanes may take wherever they go: one each, and no more than the whole object has.
    pub most: u64,
    /// Sectors that the distinct bytes of all lanes side by side need.
    pub ideal: u64,
    /// Of a warp.
    pub lanes: u32,
}

/// How far neighbouring lanes are apart.
#[derive(Clone, PartialEq, Debug)]
pub enum LaneStride {
    /// Bytes from a lane to the next.
    Bytes(i128),
    /// Times so many bytes, a value fixed during the loop.
    Times(Expr, i128),
    /// It depends on memory, or is no multiple.
    Unknown,
}

/// A branch inside the loops that are spread over threads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LaneBranch {
    pub term: TermId,
    /// Across which threads its condition is the same; `Nothing`: lanes of a warp may differ.
    pub across: Across,
    /// Whether lanes differ by nothing but their indices; else memory, calls or jumps may decide.
    pub by_index: bool,
}

/// Across which threads a value is the same, whenever they get to it together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Across {
    Grid,
    Block,
    Warp,
    /// Nothing proved.
    Nothing,
}
