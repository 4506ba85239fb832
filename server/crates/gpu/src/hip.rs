//! AMD's HIP C++ for devices with 64 lanes a wavefront (gfx9): HIP Programming Guide 5.2, "Kernel Language".
//!
//! Shuffles and votes of HIP 5.2 name no lanes and bring their own widths, so they are not CUDA's words and have no spelling here;
//! nor has the barrier of a warp. Newer releases have CUDA's names with masks of 64 bits, which are not CUDA's words either.

use term::device::AtomicOp::{Max, Min};

use crate::words::COMMON;
use crate::{Host, KernelFile, Limits, Row};

/// HIP C++, for devices of AMD.
pub const HIP: Row = Row {
    name: "hip",
    title: "HIP",
    limits: Limits {
        lanes: 64,
        block_threads: 1024,
        block: [1024, 1024, 1024],
        grid: [0x7FFF_FFFF, 65535, 65535],
        shared_bytes: 64 * 1024,
    },
    words: &[COMMON],
    lacking:
        "a wavefront has 64 lanes, so combine values in shared memory with barriers of the block instead.",
    // `atomicMin(long long *, long long)` came with 5.3
    without_signed_wide: &[Min, Max],
    host: Host {
        page: "hip-calls",
        header: "<hip/hip_runtime_api.h>",
        off_switch: "WW_NO_HIP",
        success: "hipSuccess",
        allocate: "hipMalloc",
        free: "hipFree",
        copy: "hipMemcpy",
        to_device: "hipMemcpyHostToDevice",
        to_host: "hipMemcpyDeviceToHost",
        synchronize: "hipDeviceSynchronize",
        last_error: "hipGetLastError",
    },
    file: KernelFile {
        extension: "hip",
        header: Some("<hip/hip_runtime.h>"),
        compile: "hipcc -ffp-contract=off -c",
        flags: &["-ffp-contract=off", "-D__HIP_PLATFORM_AMD__=1"],
        rounding: "fused multiply-adds would round differently.",
        fuses: false,
        run_time: ("__HIPCC_RTC__", "hiprtc", "hiprtc"),
    },
    shared: "__shared__",
    reserved: &["hipErrorInvalidConfiguration", "hipGetLastError", "hipStream_t", "hipSuccess"],
};
