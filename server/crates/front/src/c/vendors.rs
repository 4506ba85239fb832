//! Headers that come with CUDA's toolkit and its samples. Where one is not found, what it would define is not known; but it defines
//! names of its makers alone, and none by which a program chooses its own text.

/// A header of the toolkit or of its samples, which many programs copy.
pub(crate) fn is_header(name: &str) -> bool {
    const SAMPLES: [&str; 9] = [
        "helper_cuda",
        "helper_cuda_drvapi",
        "helper_cusolver",
        "helper_functions",
        "helper_gl",
        "helper_image",
        "helper_math",
        "helper_string",
        "helper_timer",
    ];
    is_toolkit(name) || stem(name).is_some_and(|s| SAMPLES.contains(&s))
}

fn stem(name: &str) -> Option<&str> {
    name.strip_suffix(".h").or_else(|| name.strip_suffix(".hpp"))
}

/// Whether a name that programs include is that of a header of CUDA's toolkit or its libraries, and not a program's own (CUDA toolkit
/// documentation, `include/`).
pub fn is_toolkit(name: &str) -> bool {
    const FOLDERS: [&str; 8] =
        ["cooperative_groups/", "cub/", "thrust/", "cuda/", "nvtx3/", "crt/", "nv/", "cutlass/"];
    const LIBRARIES: [&str; 14] = [
        "cublas",
        "cublasLt",
        "cublasXt",
        "cublas_v2",
        "cudnn",
        "cufft",
        "cufftXt",
        "curand",
        "cusolverDn",
        "cusolverSp",
        "cusparse",
        "nccl",
        "nvml",
        "nvrtc",
    ];
    const OTHERS: [&str; 33] = [
        "cooperative_groups",
        "mma",
        "math_constants",
        "math_functions",
        "library_types",
        "vector_types",
        "vector_functions",
        "driver_types",
        "builtin_types",
        "host_defines",
        "device_functions",
        "device_types",
        "device_launch_parameters",
        "device_atomic_functions",
        "channel_descriptor",
        "texture_types",
        "surface_types",
        "texture_fetch_functions",
        "texture_indirect_functions",
        "surface_functions",
        "surface_indirect_functions",
        "curand_kernel",
        "curand_mtgp32_host",
        "nvToolsExt",
        "nvToolsExtCudaRt",
        "nvcuvid",
        "cudaProfiler",
        "cudaGL",
        "npp",
        "nppi",
        "nppcore",
        "fatbinary_section",
        "nvJitLink",
    ];
    const CUDA: [&str; 21] = [
        "cuda",
        "cuda_runtime",
        "cuda_runtime_api",
        "cuda_bf16",
        "cuda_fp16",
        "cuda_fp8",
        "cuda_fp6",
        "cuda_fp4",
        "cuda_pipeline",
        "cuda_pipeline_primitives",
        "cuda_awbarrier",
        "cuda_awbarrier_primitives",
        "cuda_profiler_api",
        "cuda_texture_types",
        "cuda_surface_types",
        "cuda_device_runtime_api",
        "cuda_gl_interop",
        "cuda_egl_interop",
        "cuda_vdpau_interop",
        "cuda_stdint",
        "cuda_occupancy",
    ];
    let is_atomic =
        |s: &str| s.starts_with("sm_") && (s.ends_with("_functions") || s.ends_with("_intrinsics"));
    FOLDERS.iter().any(|f| name.starts_with(f))
        || stem(name).is_some_and(|s| {
            LIBRARIES.contains(&s)
                || OTHERS.contains(&s)
                || CUDA.contains(&s)
                || is_atomic(s)
                || s.starts_with("cudnn_")
        })
}

/// Whether such a header may define a macro of this name.
pub(crate) fn may_define(name: &str) -> bool {
    const MAKERS: [&str; 7] = ["cu", "nv", "npp", "nccl", "thrust", "helper_", "common_"];
    const SAMPLES: [&str; 12] = [
        "MIN",
        "MAX",
        "EXIT_WAIVED",
        "DEVICE_RESET",
        "MIN_EPSILON_ERROR",
        "STRCASECMP",
        "STRNCASECMP",
        "STRCPY",
        "FOPEN",
        "FOPEN_FAIL",
        "SSCANF",
        "SPRINTF",
    ];
    let lower = name.trim_start_matches('_').to_ascii_lowercase();
    MAKERS.iter().any(|m| lower.starts_with(m)) || SAMPLES.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_toolkits_headers_are_told_from_a_programs_own() {
        for own in [
            "cublas_v2.h",
            "curand_kernel.h",
            "cooperative_groups.h",
            "cub/cub.cuh",
            "cuda_fp16.h",
            "sm_20_atomic_functions.h",
            "helper_cuda.h",
        ] {
            assert!(is_header(own), "{own}");
        }
        for other in [
            "cuda_utils.h",
            "helpers.h",
            "cutil.h",
            "common.h",
            "cublas_wrapper.h",
            "cuda_helper.cuh",
            "nv.h",
        ] {
            assert!(!is_header(other), "{other}");
        }
        assert!(
            may_define("CUDART_VERSION")
                && may_define("__CUDA_BF16_TYPES_EXIST__")
                && may_define("CUB_VERSION")
        );
        assert!(!may_define("ENABLE_BF16") && !may_define("N") && !may_define("USE_DOUBLE"));
    }
}
