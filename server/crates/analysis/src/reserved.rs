//! Words that cannot name anything in a kernel.

/// C++ keywords that C does not have, and what CUDA and its headers put at file scope (CUDA C++ Programming Guide,
/// appendix B; ISO C++17 [lex.key]). Sorted.
const RESERVED: &[&str] = &[
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "bitand",
    "bitor",
    "blockDim",
    "blockIdx",
    "bool",
    "catch",
    "char16_t",
    "char32_t",
    "char8_t",
    "class",
    "clock",
    "co_await",
    "co_return",
    "co_yield",
    "compl",
    "concept",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "cudaErrorInvalidConfiguration",
    "cudaGetLastError",
    "cudaStream_t",
    "cudaSuccess",
    "decltype",
    "delete",
    "dim3",
    "dynamic_cast",
    "explicit",
    "export",
    "false",
    "friend",
    "gridDim",
    "linux",
    "max",
    "min",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "reinterpret_cast",
    "requires",
    "static_assert",
    "static_cast",
    "std",
    "template",
    "this",
    "threadIdx",
    "thread_local",
    "throw",
    "true",
    "try",
    "typeid",
    "typename",
    "unix",
    "using",
    "virtual",
    "warpSize",
    "wchar_t",
    "xor",
    "xor_eq",
];

/// Whether a word means something else in CUDA.
pub fn is_reserved(name: &str) -> bool {
    RESERVED.binary_search(&name).is_ok() || name.starts_with("__") || term::intrinsic(name).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted() {
        assert!(RESERVED.windows(2).all(|w| w[0] < w[1]), "{RESERVED:?}");
        assert!(is_reserved("threadIdx") && is_reserved("__x") && is_reserved("sqrt") && !is_reserved("i"));
    }
}
