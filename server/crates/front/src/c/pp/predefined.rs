//! What the compiler defines before the first line. Where one was asked it is what it said ([`super::asked`]); else C and
//! CUDA are read as gcc (nvcc with gcc) reads them on x86-64 Linux. Sources: C11 6.10.8; GCC manual, "Common Predefined
//! Macros"; System V ABI for x86-64 (sizes).
//!
//! Deliberately absent: `linux` and `unix`, which compilers define or not by the language's version, and `__SSE2__` and
//! its like, which every x86-64 has unless it is told otherwise: where nobody was asked they are unknown
//! ([`is_compilers_choice`]). What options switch on (`__AVX2__`, `_OPENMP`, `__OPTIMIZE__`) is unknown as long as the
//! options are ([`by_options`]), asked or not. What only `-D` defines (`NDEBUG`) is a name of the program like others.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{line, Line, MacroState};
use crate::c::dialect::Dialect;

/// What the compilers of all dialects define.
const BOTH: &str = "
__STDC__ 1
__STDC_HOSTED__ 1
__linux__ 1
__linux 1
__gnu_linux__ 1
__unix__ 1
__unix 1
__ELF__ 1
__LP64__ 1
_LP64 1
__x86_64__ 1
__x86_64 1
__amd64__ 1
__amd64 1
__k8__ 1
__GNUC__ 12
__GNUC_MINOR__ 2
__GNUC_PATCHLEVEL__ 0
__NO_INLINE__ 1
__VERSION__ \"12.2.0\"
__CHAR_BIT__ 8
__SCHAR_MAX__ 0x7f
__SHRT_MAX__ 0x7fff
__INT_MAX__ 0x7fffffff
__LONG_MAX__ 0x7fffffffffffffffL
__LONG_LONG_MAX__ 0x7fffffffffffffffLL
__WCHAR_MAX__ 0x7fffffff
__WCHAR_MIN__ (-__WCHAR_MAX__ - 1)
__WINT_MAX__ 0xffffffffU
__WINT_MIN__ 0U
__SIZE_MAX__ 0xffffffffffffffffUL
__PTRDIFF_MAX__ 0x7fffffffffffffffL
__INTMAX_MAX__ 0x7fffffffffffffffL
__UINTMAX_MAX__ 0xffffffffffffffffUL
__INTPTR_MAX__ 0x7fffffffffffffffL
__UINTPTR_MAX__ 0xffffffffffffffffUL
__SIG_ATOMIC_MAX__ 0x7fffffff
__SIG_ATOMIC_MIN__ (-__SIG_ATOMIC_MAX__ - 1)
__INT8_MAX__ 0x7f
__INT16_MAX__ 0x7fff
__INT32_MAX__ 0x7fffffff
__INT64_MAX__ 0x7fffffffffffffffL
__UINT8_MAX__ 0xff
__UINT16_MAX__ 0xffff
__UINT32_MAX__ 0xffffffffU
__UINT64_MAX__ 0xffffffffffffffffUL
__SCHAR_WIDTH__ 8
__SHRT_WIDTH__ 16
__INT_WIDTH__ 32
__LONG_WIDTH__ 64
__LONG_LONG_WIDTH__ 64
__SIZE_WIDTH__ 64
__PTRDIFF_WIDTH__ 64
__SIZEOF_SHORT__ 2
__SIZEOF_INT__ 4
__SIZEOF_LONG__ 8
__SIZEOF_LONG_LONG__ 8
__SIZEOF_INT128__ 16
__SIZEOF_POINTER__ 8
__SIZEOF_SIZE_T__ 8
__SIZEOF_PTRDIFF_T__ 8
__SIZEOF_WCHAR_T__ 4
__SIZEOF_WINT_T__ 4
__SIZEOF_FLOAT__ 4
__SIZEOF_DOUBLE__ 8
__SIZEOF_LONG_DOUBLE__ 16
__SIZE_TYPE__ unsigned long
__PTRDIFF_TYPE__ long
__INTMAX_TYPE__ long
__UINTMAX_TYPE__ unsigned long
__INTPTR_TYPE__ long
__UINTPTR_TYPE__ unsigned long
__WCHAR_TYPE__ int
__WINT_TYPE__ unsigned int
__CHAR16_TYPE__ unsigned short
__CHAR32_TYPE__ unsigned int
__SIG_ATOMIC_TYPE__ int
__INT8_TYPE__ signed char
__INT16_TYPE__ short
__INT32_TYPE__ int
__INT64_TYPE__ long
__UINT8_TYPE__ unsigned char
__UINT16_TYPE__ unsigned short
__UINT32_TYPE__ unsigned int
__UINT64_TYPE__ unsigned long
__INT_LEAST8_TYPE__ signed char
__INT_LEAST16_TYPE__ short
__INT_LEAST32_TYPE__ int
__INT_LEAST64_TYPE__ long
__UINT_LEAST8_TYPE__ unsigned char
__UINT_LEAST16_TYPE__ unsigned short
__UINT_LEAST32_TYPE__ unsigned int
__UINT_LEAST64_TYPE__ unsigned long
__INT_FAST8_TYPE__ signed char
__INT_FAST16_TYPE__ long
__INT_FAST32_TYPE__ long
__INT_FAST64_TYPE__ long
__UINT_FAST8_TYPE__ unsigned char
__UINT_FAST16_TYPE__ unsigned long
__UINT_FAST32_TYPE__ unsigned long
__UINT_FAST64_TYPE__ unsigned long
__ORDER_LITTLE_ENDIAN__ 1234
__ORDER_BIG_ENDIAN__ 4321
__ORDER_PDP_ENDIAN__ 3412
__BYTE_ORDER__ __ORDER_LITTLE_ENDIAN__
__FLOAT_WORD_ORDER__ __ORDER_LITTLE_ENDIAN__
__BIGGEST_ALIGNMENT__ 16
__FINITE_MATH_ONLY__ 0
__FLT_EVAL_METHOD__ 0
__FLT_RADIX__ 2
__FLT_DIG__ 6
__FLT_MANT_DIG__ 24
__FLT_MAX__ 3.40282346638528859811704183484516925e+38F
__FLT_MIN__ 1.17549435082228750796873653722224568e-38F
__FLT_EPSILON__ 1.19209289550781250000000000000000000e-7F
__DBL_DIG__ 15
__DBL_MANT_DIG__ 53
__DBL_MAX__ 1.79769313486231570814527423731704357e+308
__DBL_MIN__ 2.22507385850720138309023271733240406e-308
__DBL_EPSILON__ 2.22044604925031308084726333618164062e-16
__GCC_ATOMIC_INT_LOCK_FREE 2
__ATOMIC_RELAXED 0
__ATOMIC_CONSUME 1
__ATOMIC_ACQUIRE 2
__ATOMIC_RELEASE 3
__ATOMIC_ACQ_REL 4
__ATOMIC_SEQ_CST 5
__INT8_C(c) c
__INT16_C(c) c
__INT32_C(c) c
__INT64_C(c) c ## L
__UINT8_C(c) c
__UINT16_C(c) c
__UINT32_C(c) c ## U
__UINT64_C(c) c ## UL
__INTMAX_C(c) c ## L
__UINTMAX_C(c) c ## UL
";

pub(crate) type Table = FxHashMap<Arc<str>, MacroState>;

/// The macros that are there before the first line, where no compiler was asked.
pub(crate) fn all(dialect: &Dialect) -> Arc<Table> {
    let made = dialect.predefined.get_or_init(|| {
        let lines = BOTH.lines().chain(dialect.defines.lines());
        let defined = lines.filter_map(|l| match line(&format!("#define {l}")) {
            Line::Define(n, m) if by_options(&n) => Some((n, MacroState::ByOptions(m))),
            Line::Define(n, m) => Some((n, MacroState::Defined(m))),
            _ => None,
        });
        Arc::new(defined.collect())
    });
    made.clone()
}

/// What an answer must say as we do, because types are laid out by it: names and values.
pub(super) fn layout() -> impl Iterator<Item = &'static str> {
    let decides = |l: &&str| {
        let name = l.split(' ').next().unwrap_or("");
        let is_type = name.ends_with("_TYPE__") && !name.contains("_FAST");
        name.starts_with("__SIZEOF_") || is_type || matches!(name, "__CHAR_BIT__" | "__BYTE_ORDER__")
    };
    BOTH.lines().filter(decides)
}

/// Whether a name that no text defines is surely not defined: it tells other compilers and systems apart, or a mode that
/// is not assumed.
pub(crate) fn is_absent(name: &str, dialect: &Dialect) -> bool {
    match name {
        "__cplusplus" | "__CUDACC__" | "__STDC_VERSION__" => dialect.absent.contains(&name),
        "_WIN32" | "_WIN64" | "WIN32" | "_MSC_VER" | "__APPLE__" | "__CYGWIN__" | "__MINGW32__"
        | "__MINGW64__" | "__BORLANDC__" | "__WATCOMC__" | "__TINYC__" | "__SUNPRO_C" | "__xlC__"
        | "__HP_cc" | "__sun" | "__sun__" | "__hpux" | "_AIX" | "__FreeBSD__" | "__NetBSD__"
        | "__OpenBSD__" | "__ANDROID__" | "__EMSCRIPTEN__" | "__wasm__" | "__i386__" | "__i386"
        | "_M_IX86" | "_M_X64" | "__arm__" | "__aarch64__" | "__powerpc__" | "__PPC__" | "__mips__"
        | "__sparc__" | "__s390__" | "__riscv" | "__ia64__" | "__alpha__" | "__BIG_ENDIAN__"
        // Kernels are read as nvcc and hipcc read them, and host files that we rewrote as they are built for a device.
        | "__CUDACC_RTC__" | "__HIPCC_RTC__" => true,
        "__STRICT_ANSI__" | "__CHAR_UNSIGNED__" | "__NO_CTYPE" => true,
        _ => is_ours(name) || is_another(name) || is_other_processor(name),
    }
}

/// Whether a name tells of the vector unit of a processor that is none of x86-64.
fn is_other_processor(name: &str) -> bool {
    ["__ARM_NEON", "__ARM_FEATURE_", "__ALTIVEC__", "__VSX__"].iter().any(|p| name.starts_with(p))
}

/// Whether our own host text asks for it: the switch that leaves our code out, and what says that a helper is defined.
fn is_ours(name: &str) -> bool {
    let rest = name.strip_prefix("WW").map(|r| r.trim_start_matches(|c: char| c.is_ascii_digit()));
    matches!(rest, Some("_NO_CUDA" | "_NO_HIP" | "_MIN" | "_MAX" | "_FLOOR_DIV" | "_APART"))
}

/// Whether a name that no text defines may be a compiler's own, by its version and defaults.
pub(crate) fn is_compilers_choice(name: &str) -> bool {
    matches!(
        name,
        "linux" | "unix" | "__SSE__" | "__SSE2__" | "__SSE_MATH__" | "__SSE2_MATH__" | "__MMX__" | "__FXSR__"
    )
}

/// Whether a name tells which compiler it is, so that another one is as likely: taken as not defined.
fn is_another(name: &str) -> bool {
    matches!(name, "__clang__" | "__INTEL_COMPILER" | "__ICC" | "__PGI" | "__NVCOMPILER")
}

/// Whether a name says how a compiler was called: what it optimizes, for which processor, with which extensions.
pub(crate) fn by_options(name: &str) -> bool {
    // parts of an x86-64 processor that not every one has
    const PARTS: [&str; 57] = [
        "__SSE3",
        "__SSSE3",
        "__SSE4",
        "__AVX",
        "__AMX",
        "__FMA",
        "__F16C",
        "__BMI",
        "__POPCNT",
        "__LZCNT",
        "__AES",
        "__PCLMUL",
        "__GFNI",
        "__VAES",
        "__VPCLMULQDQ",
        "__SHA",
        "__RDRND",
        "__RDSEED",
        "__RDPID",
        "__ADX",
        "__XSAVE",
        "__ABM",
        "__TBM",
        "__XOP",
        "__3dNOW",
        "__PRFCHW",
        "__PREFETCHWT1",
        "__MOVBE",
        "__MOVDIR",
        "__CRC32",
        "__FSGSBASE",
        "__RTM",
        "__HLE",
        "__EVEX",
        "__LWP",
        "__CLFLUSHOPT",
        "__CLWB",
        "__CLDEMOTE",
        "__LAHF_SAHF",
        "__ENQCMD",
        "__WAITPKG",
        "__PTWRITE",
        "__SERIALIZE",
        "__SGX",
        "__SHSTK",
        "__TSXLDTRK",
        "__UINTR",
        "__WBNOINVD",
        "__PCONFIG",
        "__PKU",
        "__HRESET",
        "__KL__",
        "__WIDEKL",
        "__MWAITX",
        "__CLZERO",
        "__INVPCID",
        "__GCC_HAVE_SYNC_COMPARE_AND_SWAP_16",
    ];
    // for which processor, and how
    const WAYS: [&str; 21] = [
        "__tune_",
        "__code_model_",
        "__k8",
        "__corei7",
        "__core2",
        "__core_avx2",
        "__bdver",
        "__znver",
        "__nocona",
        "__atom",
        "__amdfam10",
        "__btver",
        "__SANITIZE_",
        "__STDC_IEC_",
        "__FLT16_",
        "__FP_FAST_FMA",
        "__GCC_IEC_559",
        "__FLT_EVAL_METHOD",
        "_SOFT_FLOAT",
        "__CET__",
        "__GCC_HAVE_DWARF2",
    ];
    matches!(
        name,
        "_OPENMP"
            | "_OPENACC"
            | "__OPTIMIZE__"
            | "__OPTIMIZE_SIZE__"
            | "__NO_INLINE__"
            | "__FAST_MATH__"
            | "__FINITE_MATH_ONLY__"
            | "__NO_MATH_ERRNO__"
            | "__NO_SIGNED_ZEROS__"
            | "__NO_TRAPPING_MATH__"
            | "__RECIPROCAL_MATH__"
            | "__ASSOCIATIVE_MATH__"
            | "__ROUNDING_MATH__"
            | "__SUPPORT_SNAN__"
            | "__BIGGEST_ALIGNMENT__"
            | "__PIC__"
            | "__pic__"
            | "__PIE__"
            | "__pie__"
            | "__SSP__"
            | "__SSP_ALL__"
            | "__SSP_STRONG__"
            | "_REENTRANT"
            | "__CLANG_CUDA_APPROX_TRANSCENDENTALS__"
    ) || PARTS.iter().chain(&WAYS).any(|p| name.starts_with(p))
}
