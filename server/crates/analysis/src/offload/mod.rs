//! What a kernel for a loop needs: the loops that are spread, the extents of arrays, who moves along the lanes.

pub(crate) mod band;
mod branches;
mod chained;
mod collapse;
pub(crate) mod extent;
mod handed;
pub(crate) mod lane_mapping;
pub(crate) mod live;
pub(crate) mod numbered;
mod own_cells;
mod placed;
pub(crate) mod region;
mod rounds;
pub(crate) mod rows;
mod search;
pub(crate) mod touched;
mod vertices;
pub(crate) mod whole;
mod written_first;
