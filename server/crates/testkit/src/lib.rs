//! What tests share: programs with the expected verdict beside each loop, random loop nests, and the judge that holds
//! the analysis to what a traced run really did.
//!
//! Deliberately absent: anything the product needs. Only tests depend on this room.
#![forbid(unsafe_code)]

pub mod any_shape;
pub mod conditions;
pub mod csharp;
pub mod digits;
pub mod evaluators;
pub mod fixture;
pub mod gathers;
pub mod gcc;
pub mod headers;
pub mod host_functions;
pub mod judge;
pub mod kernels;
pub mod layouts;
pub mod mono;
pub mod mutants;
pub mod nests;
pub mod openmp;
pub mod overflows;
pub mod permuted;
pub mod pred;
pub mod programs;
pub mod races;
pub mod random_kernels;
pub mod rng;
pub mod seeds;
pub mod shapeless;
mod stats;
pub mod structures;
pub mod threads;
pub mod traced;
pub mod waves;

/// What tests allocate with is what the product allocates with: a fifth less time for most of them.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

pub use simulate::shim;
