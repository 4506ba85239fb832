//! What the C library's functions do to a program's memory, from C11 clause 7 and POSIX.1-2017.
//!
//! Only of functions that the front end knows to be the library's ([`term::Body::library`]). Not here: what is said by
//! name alone in [`term::intrinsic`] (pure mathematics; that these may set `errno`, 7.12.1, is left out of account, as
//! are the floating-point flags), and functions that call back (`qsort`, `bsearch`, `atexit`, `signal`).

use crate::{Through, TroubleKind};

/// Which of its first arguments' memory a function reads or writes, a bit an argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct LibraryEffect {
    pub reads: u32,
    pub writes: u32,
    /// Arguments that are stored in memory.
    pub keeps: u32,
    pub returns: LibraryResult,
    pub trouble: Option<TroubleKind>,
}

impl LibraryEffect {
    /// What it does to the memory that its `k`-th argument points into.
    pub fn through(&self, k: usize) -> Through {
        let bit = |mask: u32| mask >> k.min(31) & 1 == 1;
        let kept = bit(self.keeps);
        Through { read: bit(self.reads), written: bit(self.writes), kept, handed: kept }
    }
}

/// Where a returned pointer points.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum LibraryResult {
    /// It is a number, or nothing.
    #[default]
    Number,
    /// Into what this argument points into.
    Argument(usize),
    /// To memory that nothing else points to (7.22.3).
    Fresh,
}

const ALL_AFTER_0: u32 = !1;
const ALL_AFTER_1: u32 = !3;
const ALL_AFTER_2: u32 = !7;

/// Whether a library function only computes a number from numbers. `min` and `max` are CUDA's own, and `std::`'s; C has none. The others are
/// CUDA's (CUDA Math API Reference Manual, 7 to 13).
pub(crate) fn only_computes(name: &str) -> bool {
    term::only_computes(name) || matches!(name, "min" | "max") || gpu::math::function(name).is_some()
}

/// The effect of a library function; `None`: nothing is known.
pub(crate) fn library_effect(name: &str) -> Option<LibraryEffect> {
    if only_computes(name) {
        return Some(LibraryEffect::default());
    }
    let memory = |reads, writes| LibraryEffect { reads, writes, ..LibraryEffect::default() };
    let first = |e: LibraryEffect| LibraryEffect { returns: LibraryResult::Argument(0), ..e };
    let fresh = |e: LibraryEffect| LibraryEffect { returns: LibraryResult::Fresh, ..e };
    let trouble = |k| LibraryEffect { trouble: Some(k), ..LibraryEffect::default() };
    Some(match name {
        // 7.24, strings and memory.
        "memcpy" | "memmove" | "strcpy" | "strncpy" => first(memory(0b10, 0b01)),
        "strcat" | "strncat" => first(memory(0b11, 0b01)),
        "memset" => first(memory(0, 0b01)),
        "memcmp" | "strcmp" | "strncmp" | "strcoll" | "strspn" | "strcspn" => memory(0b11, 0),
        "memchr" | "strchr" | "strrchr" => first(memory(0b01, 0)),
        "strstr" => first(memory(0b11, 0)),
        "strlen" | "strnlen" | "nan" | "nanf" => memory(0b01, 0),
        "strdup" => fresh(memory(0b01, 0)),
        // 7.22, numbers from text, allocation.
        "atoi" | "atol" | "atoll" | "atof" => memory(0b01, 0),
        // `*end` points into the text.
        "strtol" | "strtoll" | "strtoul" | "strtoull" | "strtod" | "strtof" => {
            LibraryEffect { keeps: 0b01, ..memory(0b01, 0b10) }
        }
        "malloc" | "calloc" | "aligned_alloc" => fresh(LibraryEffect::default()),
        "posix_memalign" => memory(0, 0b01),
        // The old memory's life ends.
        "realloc" => fresh(memory(0b01, 0b01)),
        "free" => memory(0, 0b01),
        // 7.12.6.4, 7.12.6.12: a part of the result goes through the pointer.
        "frexp" | "modf" => memory(0, 0b10),
        "tgamma" | "difftime" => LibraryEffect::default(),
        // 7.4: what these say depends on the locale, which a loop that calls none of 7.11 does not change.
        "isalpha" | "isdigit" | "isalnum" | "isspace" | "isupper" | "islower" | "ispunct" | "isprint"
        | "isxdigit" | "toupper" | "tolower" => LibraryEffect::default(),
        // 7.21.6.5 and .6: text into memory; `%n` writes through a later argument.
        "sprintf" => memory(ALL_AFTER_0, 0b01 | ALL_AFTER_1),
        "snprintf" => memory(ALL_AFTER_1, 0b01 | ALL_AFTER_2),
        "sscanf" => memory(0b11, ALL_AFTER_1),
        "strftime" => memory(0b1100, 0b0001),
        // 7.21: input and output are seen in the order they happen (5.1.2.3p6).
        "printf" | "fprintf" | "puts" | "putchar" | "fputs" | "fputc" | "putc" | "getchar" | "fgetc"
        | "getc" | "scanf" | "fscanf" | "fclose" | "fflush" | "fseek" | "ftell" | "feof" | "ferror"
        | "remove" | "rename" | "fread" | "fwrite" | "perror" | "rewind" | "clearerr" | "system"
        | "usleep" | "sleep" | "nanosleep" | "pclose" | "unlink" | "mkdir" => trouble(TroubleKind::Ordered),
        "fgets" => first(trouble(TroubleKind::Ordered)),
        // C#'s, of numbers and texts; that a program may set a writer of its own is left out of account, as are streams of C's with
        // functions of the program (`fopencookie`)
        "Console.Write" | "Console.WriteLine" => trouble(TroubleKind::Ordered),
        "fopen" | "freopen" | "fdopen" | "tmpfile" | "popen" => fresh(trouble(TroubleKind::Ordered)),
        // These keep something from one call to the next, or ask the world.
        "strtok" => LibraryEffect { keeps: 0b01, ..trouble(TroubleKind::State) },
        "rand"
        | "srand"
        | "random"
        | "lrand48"
        | "drand48"
        | "srand48"
        | "strerror"
        | "lgamma"
        | "getenv"
        | "clock"
        | "time"
        | "gettimeofday"
        | "clock_gettime"
        | "omp_get_wtime"
        | "omp_get_thread_num"
        | "omp_get_num_threads"
        | "omp_get_max_threads" => trouble(TroubleKind::State),
        "exit" | "abort" | "__builtin_trap" | "_Exit" | "assert" => trouble(TroubleKind::NoReturn),
        _ => return None,
    })
}
