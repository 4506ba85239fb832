//! NVIDIA's CUDA C++: Programming Guide, chapters "C++ Language Extensions" and "Technical Specifications per Compute Capability".

use term::device::{AtomicOp::*, Scope, Shuffle, Tally, Vote, Word};

use crate::words::{Words, COMMON};
use crate::{Host, KernelFile, Limits, Row};

/// CUDA C++, from compute capability 3.0 on.
pub const CUDA: Row = Row {
    name: "cuda",
    title: "CUDA",
    limits: Limits {
        lanes: 32,
        block_threads: 1024,
        block: [1024, 1024, 64],
        grid: [0x7FFF_FFFF, 65535, 65535],
        shared_bytes: 48 * 1024,
    },
    words: &[COMMON, OWN],
    lacking: "write it in CUDA's words.",
    without_signed_wide: &[],
    host: Host {
        page: "cuda-calls",
        header: "<cuda_runtime.h>",
        off_switch: "WW_NO_CUDA",
        success: "cudaSuccess",
        allocate: "cudaMalloc",
        free: "cudaFree",
        copy: "cudaMemcpy",
        to_device: "cudaMemcpyHostToDevice",
        to_host: "cudaMemcpyDeviceToHost",
        synchronize: "cudaDeviceSynchronize",
        last_error: "cudaGetLastError",
    },
    file: KernelFile {
        extension: "cu",
        header: None,
        compile: "nvcc -fmad=false -c",
        flags: &["-fmad=false"],
        rounding: "fused multiply-adds would round differently.",
        fuses: false,
        run_time: ("__CUDACC_RTC__", "NVRTC", "NVRTC 12"),
    },
    shared: "__shared__",
    reserved: &["cudaErrorInvalidConfiguration", "cudaGetLastError", "cudaStream_t", "cudaSuccess", "dim3"],
};

/// What warps do together, and atomic operations that order a block alone or the host, too.
const OWN: Words = &[
    ("__syncwarp", Word::Barrier(Scope::Warp, Tally::Nothing)),
    ("__shfl_sync", Word::Shuffle(Shuffle::From)),
    ("__shfl_up_sync", Word::Shuffle(Shuffle::Up)),
    ("__shfl_down_sync", Word::Shuffle(Shuffle::Down)),
    ("__shfl_xor_sync", Word::Shuffle(Shuffle::Xor)),
    ("__ballot_sync", Word::Vote(Vote::Ballot)),
    ("__any_sync", Word::Vote(Vote::Any)),
    ("__all_sync", Word::Vote(Vote::All)),
    ("__activemask", Word::ActiveLanes),
    ("atomicAdd_block", Word::Atomic(Some(Add), Scope::Block)),
    ("atomicSub_block", Word::Atomic(Some(Sub), Scope::Block)),
    ("atomicExch_block", Word::Atomic(Some(Exchange), Scope::Block)),
    ("atomicMin_block", Word::Atomic(Some(Min), Scope::Block)),
    ("atomicMax_block", Word::Atomic(Some(Max), Scope::Block)),
    ("atomicInc_block", Word::Atomic(Some(Increment), Scope::Block)),
    ("atomicDec_block", Word::Atomic(Some(Decrement), Scope::Block)),
    ("atomicCAS_block", Word::Atomic(Some(CompareExchange), Scope::Block)),
    ("atomicAnd_block", Word::Atomic(Some(And), Scope::Block)),
    ("atomicOr_block", Word::Atomic(Some(Or), Scope::Block)),
    ("atomicXor_block", Word::Atomic(Some(Xor), Scope::Block)),
    ("atomicAdd_system", Word::Atomic(Some(Add), Scope::System)),
    ("atomicSub_system", Word::Atomic(Some(Sub), Scope::System)),
    ("atomicExch_system", Word::Atomic(Some(Exchange), Scope::System)),
    ("atomicMin_system", Word::Atomic(Some(Min), Scope::System)),
    ("atomicMax_system", Word::Atomic(Some(Max), Scope::System)),
    ("atomicInc_system", Word::Atomic(Some(Increment), Scope::System)),
    ("atomicDec_system", Word::Atomic(Some(Decrement), Scope::System)),
    ("atomicCAS_system", Word::Atomic(Some(CompareExchange), Scope::System)),
    ("atomicAnd_system", Word::Atomic(Some(And), Scope::System)),
    ("atomicOr_system", Word::Atomic(Some(Or), Scope::System)),
    ("atomicXor_system", Word::Atomic(Some(Xor), Scope::System)),
];
