//! What a C program may use without this front end having read its headers: types, constants and functions of the
//! standard library and of CUDA. LP64 Linux.
//!
//! Deliberately absent: functions whose result type differs between systems.

use term::device::{Scope, Tally, Vote, Word};
use term::{FloatKind, IntKind};

use crate::c::dialect::Dialect;

/// A type known by name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum KnownType {
    Int(IntKind),
    Float(FloatKind),
    Void,
    /// Known to be a type, and no more.
    Opaque,
    /// A type of its own of so many bytes, whose values only functions and operators of a library make.
    Bytes(u8),
    /// A CUDA vector: so many members `x`, `y`, `z`, `w` of one kind.
    Vector(VectorOf, u8),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum VectorOf {
    Int(IntKind),
    Float(FloatKind),
}

/// A standard type name.
pub(crate) fn type_name(name: &str, dialect: &Dialect) -> Option<KnownType> {
    use IntKind::*;
    let int = match name {
        "bool" | "_Bool" => Bool,
        "char" => Char,
        "short" => Short,
        "int" => Int,
        "long" => Long,
        "int8_t" | "int_least8_t" | "int_fast8_t" => SChar,
        "uint8_t" | "uint_least8_t" | "uint_fast8_t" | "u_char" => UChar,
        "int16_t" | "int_least16_t" => Short,
        "uint16_t" | "uint_least16_t" | "char16_t" | "ushort" | "u_short" => UShort,
        "int32_t" | "int_least32_t" | "wchar_t" | "pid_t" => Int,
        "uint32_t" | "uint_least32_t" | "char32_t" | "uint" | "u_int" | "useconds_t" => UInt,
        "int64_t" | "int_least64_t" | "int_fast16_t" | "int_fast32_t" | "int_fast64_t" | "intmax_t"
        | "ssize_t" | "ptrdiff_t" | "intptr_t" | "off_t" | "time_t" | "clock_t" | "suseconds_t" => Long,
        "uint64_t" | "uint_least64_t" | "uint_fast16_t" | "uint_fast32_t" | "uint_fast64_t" | "uintmax_t"
        | "size_t" | "uintptr_t" | "ulong" | "u_long" => ULong,
        "float" => return Some(KnownType::Float(FloatKind::F32)),
        "double" => return Some(KnownType::Float(FloatKind::F64)),
        "void" => return Some(KnownType::Void),
        "FILE" | "va_list" | "jmp_buf" | "max_align_t" | "nullptr_t" | "char8_t" | "charptr_t"
        | "__int128" => return Some(KnownType::Opaque),
        _ => return (dialect.type_name)(name),
    };
    Some(KnownType::Int(int))
}

pub(crate) fn cuda_type(name: &str) -> Option<KnownType> {
    if name == "dim3" {
        return Some(KnownType::Vector(VectorOf::Int(IntKind::UInt), 3));
    }
    // what the headers of the toolkit's libraries call numbers and pairs of them
    match name {
        "cufftReal" => return Some(KnownType::Float(FloatKind::F32)),
        "cufftDoubleReal" => return Some(KnownType::Float(FloatKind::F64)),
        "cuComplex" | "cuFloatComplex" | "cufftComplex" => {
            return Some(KnownType::Vector(VectorOf::Float(FloatKind::F32), 2));
        }
        "cuDoubleComplex" | "cufftDoubleComplex" => {
            return Some(KnownType::Vector(VectorOf::Float(FloatKind::F64), 2));
        }
        _ => {}
    }
    if matches!(name, "cudaError_t" | "cudaStream_t" | "cudaEvent_t" | "cudaDeviceProp" | "cudaMemcpyKind") {
        return Some(KnownType::Opaque);
    }
    if let Some(bytes) = gpu::toolkit::type_bytes(name) {
        return Some(KnownType::Bytes(bytes));
    }
    if gpu::toolkit::is_texture(name) {
        return Some(KnownType::Int(IntKind::ULongLong));
    }
    let (stem, digit) = name.split_at_checked(name.len().checked_sub(1)?)?;
    let n = match digit {
        "1" => 1,
        "2" => 2,
        "3" => 3,
        "4" => 4,
        _ => return None,
    };
    let of = match stem {
        "char" => VectorOf::Int(IntKind::SChar),
        "uchar" => VectorOf::Int(IntKind::UChar),
        "short" => VectorOf::Int(IntKind::Short),
        "ushort" => VectorOf::Int(IntKind::UShort),
        "int" => VectorOf::Int(IntKind::Int),
        "uint" => VectorOf::Int(IntKind::UInt),
        "long" => VectorOf::Int(IntKind::Long),
        "ulong" => VectorOf::Int(IntKind::ULong),
        "longlong" => VectorOf::Int(IntKind::LongLong),
        "ulonglong" => VectorOf::Int(IntKind::ULongLong),
        "float" => VectorOf::Float(FloatKind::F32),
        "double" => VectorOf::Float(FloatKind::F64),
        _ => return None,
    };
    Some(KnownType::Vector(of, n))
}

/// A constant known by name.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum KnownConstant {
    Int(i128, IntKind),
    Float(f64, FloatKind),
}

/// A constant of `<limits.h>`, `<stdint.h>`, `<float.h>`, `<math.h>`, `<stdlib.h>`, `<stdio.h>` (glibc's values).
pub(crate) fn constant(name: &str) -> Option<KnownConstant> {
    use std::f64::consts as c;
    use IntKind::*;
    use KnownConstant::{Float, Int as I};
    let min = |k: IntKind| I(k.min(), k);
    let max = |k: IntKind| I(k.max(), k);
    let double = |v: f64| Float(v, FloatKind::F64);
    let single = |v: f32| Float(f64::from(v), FloatKind::F32);
    Some(match name {
        "CHAR_BIT" => I(8, Int),
        "SCHAR_MIN" | "CHAR_MIN" | "INT8_MIN" => I(-128, Int),
        "SCHAR_MAX" | "CHAR_MAX" | "INT8_MAX" => I(127, Int),
        "UCHAR_MAX" | "UINT8_MAX" => I(255, Int),
        "SHRT_MIN" | "INT16_MIN" => I(-32768, Int),
        "SHRT_MAX" | "INT16_MAX" => I(32767, Int),
        "USHRT_MAX" | "UINT16_MAX" => I(65535, Int),
        "INT_MIN" | "INT32_MIN" => min(Int),
        "INT_MAX" | "INT32_MAX" | "RAND_MAX" => max(Int),
        "UINT_MAX" | "UINT32_MAX" => max(UInt),
        "LONG_MIN" | "INT64_MIN" | "INTMAX_MIN" | "PTRDIFF_MIN" | "INTPTR_MIN" => min(Long),
        "LONG_MAX" | "INT64_MAX" | "INTMAX_MAX" | "PTRDIFF_MAX" | "INTPTR_MAX" => max(Long),
        "ULONG_MAX" | "UINT64_MAX" | "UINTMAX_MAX" | "SIZE_MAX" | "UINTPTR_MAX" => max(ULong),
        "LLONG_MIN" => min(LongLong),
        "LLONG_MAX" => max(LongLong),
        "ULLONG_MAX" => max(ULongLong),
        "EXIT_SUCCESS" => I(0, Int),
        "EXIT_FAILURE" => I(1, Int),
        "EOF" => I(-1, Int),
        "CLOCKS_PER_SEC" => I(1_000_000, Long),
        "BUFSIZ" => I(8192, Int),
        "DBL_MAX" => double(f64::MAX),
        "DBL_MIN" => double(f64::MIN_POSITIVE),
        "DBL_EPSILON" => double(f64::EPSILON),
        "FLT_MAX" | "MAXFLOAT" => single(f32::MAX),
        "FLT_MIN" => single(f32::MIN_POSITIVE),
        "FLT_EPSILON" => single(f32::EPSILON),
        "HUGE_VAL" => double(f64::INFINITY),
        "INFINITY" | "HUGE_VALF" => single(f32::INFINITY),
        "NAN" => single(f32::NAN),
        "M_PI" => double(c::PI),
        "M_PI_2" => double(c::FRAC_PI_2),
        "M_PI_4" => double(c::FRAC_PI_4),
        "M_1_PI" => double(c::FRAC_1_PI),
        "M_2_PI" => double(c::FRAC_2_PI),
        "M_2_SQRTPI" => double(c::FRAC_2_SQRT_PI),
        "M_E" => double(c::E),
        "M_LOG2E" => double(c::LOG2_E),
        "M_LOG10E" => double(c::LOG10_E),
        "M_LN2" => double(c::LN_2),
        "M_LN10" => double(c::LN_10),
        "M_SQRT2" => double(c::SQRT_2),
        "M_SQRT1_2" => double(c::FRAC_1_SQRT_2),
        "DBL_DIG" => I(15, Int),
        "FLT_DIG" => I(6, Int),
        "DBL_MANT_DIG" => I(53, Int),
        "FLT_MANT_DIG" => I(24, Int),
        _ => return None,
    })
}

/// Whether a name is a constant or function of the library whose meaning is known.
pub(crate) fn is_library_name(name: &str, dialect: &Dialect) -> bool {
    term::intrinsic(name).is_some() || function(name, dialect).is_some() || constant(name).is_some()
}

/// What a library function returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum KnownResult {
    Void,
    Int(IntKind),
    Float(FloatKind),
    /// `void *`
    Pointer,
    /// `char *`
    Chars,
    /// The type of the first argument, or of what it points to (atomics, shuffles).
    OfFirst,
    OfPointee,
    OfSecond,
    /// A type that is known by name.
    Named(&'static str),
    /// One that is not told here.
    Unsaid,
}

/// A library function that [`term::intrinsic`] does not know: its result. Nothing is said of its effects.
pub(crate) fn function(name: &str, dialect: &Dialect) -> Option<KnownResult> {
    use KnownResult::*;
    Some(match name {
        "malloc" | "calloc" | "realloc" | "aligned_alloc" | "memcpy" | "memmove" | "memset" | "memchr"
        | "alloca" | "bsearch" | "fopen" | "freopen" | "fdopen" | "tmpfile" | "popen" => Pointer,
        // gcc's own end of a program
        "__builtin_trap" => Void,
        "free" | "exit" | "abort" | "_Exit" | "qsort" | "srand" | "perror" | "rewind" | "clearerr"
        | "srand48" | "assert" => Void,
        "printf" | "fprintf" | "sprintf" | "snprintf" | "puts" | "putchar" | "fputs" | "fputc" | "putc"
        | "getchar" | "fgetc" | "getc" | "scanf" | "fscanf" | "sscanf" | "fclose" | "fflush" | "fseek"
        | "feof" | "ferror" | "remove" | "rename" | "atexit" | "system" | "rand" | "atoi" | "strcmp"
        | "strncmp" | "memcmp" | "strcoll" | "isalpha" | "isdigit" | "isalnum" | "isspace" | "isupper"
        | "islower" | "ispunct" | "isprint" | "isxdigit" | "toupper" | "tolower" | "posix_memalign"
        | "gettimeofday" | "clock_gettime" | "usleep" | "nanosleep" | "pclose" | "unlink" | "mkdir" => {
            Int(IntKind::Int)
        }
        "sleep" => Int(IntKind::UInt),
        "atol" | "strtol" | "ftell" | "clock" | "time" | "random" | "lrand48" => Int(IntKind::Long),
        "atoll" | "strtoll" => Int(IntKind::LongLong),
        "strtoul" | "strlen" | "strnlen" | "strspn" | "strcspn" | "fread" | "fwrite" | "strftime" => {
            Int(IntKind::ULong)
        }
        "strtoull" => Int(IntKind::ULongLong),
        "atof" | "strtod" | "difftime" | "drand48" | "omp_get_wtime" | "frexp" | "modf" | "tgamma"
        | "lgamma" => Float(FloatKind::F64),
        "strtof" => Float(FloatKind::F32),
        "strcpy" | "strncpy" | "strcat" | "strncat" | "strchr" | "strrchr" | "strstr" | "strdup"
        | "strtok" | "getenv" | "fgets" | "strerror" => Chars,
        "omp_get_thread_num" | "omp_get_num_threads" | "omp_get_max_threads" => Int(IntKind::Int),
        _ => return (dialect.function)(name),
    })
}

/// What the device gives its programs.
fn device_function(word: Word) -> Option<KnownResult> {
    use KnownResult::*;
    Some(match word {
        Word::Barrier(_, Tally::Nothing) | Word::Fence(_) => Void,
        Word::Barrier(..) | Word::Vote(Vote::Any | Vote::All) => Int(IntKind::Int),
        Word::Vote(Vote::Ballot) | Word::ActiveLanes => Int(IntKind::UInt),
        Word::Shuffle(_) | Word::Reduce(_) => OfSecond,
        Word::Match => Int(IntKind::UInt),
        Word::Atomic(Some(_), Scope::Device) | Word::ReadOnlyLoad => OfPointee,
        // those whose scope is in their name come with newer devices, and are read as what nobody declares
        Word::Atomic(..) | Word::OfLanes | Word::Index(_) | Word::Lanes => return None,
    })
}

fn of_toolkit(gives: gpu::toolkit::Gives) -> KnownResult {
    use gpu::math::Number;
    use gpu::toolkit::Gives;
    match gives {
        Gives::Nothing => KnownResult::Void,
        Gives::Number(Number::Int(k)) => KnownResult::Int(k),
        Gives::Number(Number::Float(k)) => KnownResult::Float(k),
        Gives::Type(name) => KnownResult::Named(name),
        Gives::Unsaid => KnownResult::Unsaid,
    }
}

pub(crate) fn cuda_function(name: &str) -> Option<KnownResult> {
    use KnownResult::*;
    Some(match name {
        // `cudaError_t`; nvcc declares them by itself
        "cudaMalloc"
        | "cudaFree"
        | "cudaMemcpy"
        | "cudaMemset"
        | "cudaDeviceSynchronize"
        | "cudaGetLastError" => Int(IntKind::Int),
        "cub__DeviceReduce__Sum" | "cub__DeviceReduce__Min" | "cub__DeviceReduce__Max" => Int(IntKind::Int),
        "clock64" | "clock" => Int(IntKind::LongLong),
        "__nanosleep" | "__prof_trigger" => Void,
        "sincos" | "sincosf" | "__sincosf" | "sincospi" | "sincospif" => Void,
        "modff" | "frexpf" | "remquof" => Float(FloatKind::F32),
        "remquo" => Float(FloatKind::F64),
        "min" | "max" => OfFirst,
        // what a tile of lanes comes to together: the second argument of each
        "__cg_reduce_sync" | crate::cpp::COLLECTIVE => OfSecond,
        _ => match gpu::math::function(name).map(|f| f.result) {
            Some(gpu::math::Number::Int(k)) => Int(k),
            Some(gpu::math::Number::Float(k)) => Float(k),
            None => match (gpu::toolkit::function(name), gpu::CUDA.word(name)) {
                (Some(f), _) => of_toolkit(f.gives),
                (None, word) => return device_function(word?),
            },
        },
    })
}
