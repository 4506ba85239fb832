//! Executes programs: sequentially, with a record of every cell touched (the oracle that analysis is judged by), and
//! as grids of threads in random interleavings that report races, divergent barriers, accesses outside of objects and
//! uses of unwritten memory.
//!
//! Deliberately absent: any knowledge of what `analysis` concludes or `codegen` prints. What is simulated are terms
//! read back from text, so that this room can judge the others.
#![forbid(unsafe_code)]

mod arith;
mod code;
mod compare;
mod compile;
mod count;
mod device_math;
mod exec;
mod fault;
mod grid;
mod hosted;
mod ledger;
mod limits;
mod lockstep;
mod machine;
mod math;
mod memory;
mod oracle;
mod race;
mod schedule;
pub mod shim;
mod trace;
mod warp;
mod watch;

pub use code::{Code, ParamKind, WarpKind};
pub use compare::{compare, fill_random, Comparison, Difference, ElementKind, Tolerance};
pub use compile::{compile, Options, Program};
pub use count::{AccessCount, BarrierCount, BranchCount, Counts, Request, WarpCount};
pub use exec::{Access, AccessKind, Hooks, LoopEvent, NoHooks};
pub use fault::{Fault, FaultKind, ThreadId};
pub use grid::{run_grid, run_grid_code, Finding, GridReport, Race, Rng, Side};
pub use hosted::{run_hosted, run_skipping, run_told, Launched, Skipped};
pub use ledger::{Ledger, Place, Stale, Transfer};
pub use machine::{run, run_code, Element, Heap, Outcome, Snapshot, Value};
pub use memory::{
    address as address_of, locate, Memory, MemoryObject, ObjectId, Sides, Space, MAX_OBJECT_BYTES,
};
pub use oracle::{check_claim, check_private, check_witness, Aside, Refutation, Seen, WitnessQuery};
pub use race::Reach;
pub use schedule::{Granularity, Launch, Schedule};
pub use trace::{
    run_traced, Cell, Conflict, ConflictKind, Instance, LoopTrace, Touch, Trace, Variable, VariableTrace,
    LOG_LIMIT,
};
