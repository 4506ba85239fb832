//! Words that vendors spell alike: those of CUDA that HIP took over.

use term::device::{AtomicOp::*, Index, Scope, Tally, Word};

/// Spellings and what they stand for.
pub type Words = &'static [(&'static str, Word)];

pub(crate) const COMMON: Words = &[
    ("threadIdx", Word::Index(Index::Thread)),
    ("blockIdx", Word::Index(Index::Block)),
    ("blockDim", Word::Index(Index::BlockSize)),
    ("gridDim", Word::Index(Index::GridSize)),
    ("warpSize", Word::Lanes),
    ("__syncthreads", Word::Barrier(Scope::Block, Tally::Nothing)),
    ("__syncthreads_count", Word::Barrier(Scope::Block, Tally::Count)),
    ("__syncthreads_and", Word::Barrier(Scope::Block, Tally::And)),
    ("__syncthreads_or", Word::Barrier(Scope::Block, Tally::Or)),
    ("__threadfence_block", Word::Fence(Scope::Block)),
    ("__threadfence", Word::Fence(Scope::Device)),
    ("__threadfence_system", Word::Fence(Scope::System)),
    ("__ldg", Word::ReadOnlyLoad),
    ("atomicAdd", Word::Atomic(Some(Add), Scope::Device)),
    ("atomicSub", Word::Atomic(Some(Sub), Scope::Device)),
    ("atomicExch", Word::Atomic(Some(Exchange), Scope::Device)),
    ("atomicMin", Word::Atomic(Some(Min), Scope::Device)),
    ("atomicMax", Word::Atomic(Some(Max), Scope::Device)),
    ("atomicInc", Word::Atomic(Some(Increment), Scope::Device)),
    ("atomicDec", Word::Atomic(Some(Decrement), Scope::Device)),
    ("atomicCAS", Word::Atomic(Some(CompareExchange), Scope::Device)),
    ("atomicAnd", Word::Atomic(Some(And), Scope::Device)),
    ("atomicOr", Word::Atomic(Some(Or), Scope::Device)),
    ("atomicXor", Word::Atomic(Some(Xor), Scope::Device)),
];
