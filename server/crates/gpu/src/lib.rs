//! What differs between vendors of GPUs, as rows of data: how they spell what a device provides, and how much of it there is.
//!
//! A [`Row`] is a vendor's language for devices: spellings of [`term::device::Word`]s, words that cannot be names, limits. Front
//! ends read by a row, printers write by one, and whoever simulates or judges a kernel takes lanes and limits from one.
//!
//! Deliberately absent: code. What a vendor lacks is a spelling that is not there, and who needs it refuses by its name.
#![forbid(unsafe_code)]

mod cuda;
mod hip;
pub mod math;
mod reserved;
pub mod toolkit;
mod words;

use term::device::{AtomicOp, Scope, Word};

/// NVIDIA's.
pub static CUDA: Row = cuda::CUDA;
/// AMD's.
pub static HIP: Row = HIP_ROW;
/// The same, to make other rows of.
pub const HIP_ROW: Row = hip::HIP;
pub use reserved::is_reserved;
pub use words::Words;

/// Both with products that sums take unrounded, where that is faster.
static CUDA_FUSED: Row = Row {
    title: "CUDA, fused",
    file: KernelFile {
        compile: "nvcc -fmad=true -c",
        flags: &["-fmad=true"],
        rounding: FUSED,
        fuses: true,
        ..cuda::CUDA.file
    },
    ..cuda::CUDA
};
static HIP_FUSED: Row = Row {
    title: "HIP, fused",
    file: KernelFile {
        compile: "hipcc -ffp-contract=fast -c",
        flags: &["-ffp-contract=fast", "-D__HIP_PLATFORM_AMD__=1"],
        rounding: FUSED,
        fuses: true,
        ..HIP_ROW.file
    },
    ..HIP_ROW
};

/// What it means that products are not rounded; the bound is the one that results are compared by.
const FUSED: &str = "products are fused with sums, so results may\n   differ from the loop's; verify allows 0.0001, relative, \
                     or absolute below 1.";

/// Every row.
pub static ALL: [&Row; 2] = [&CUDA, &HIP];

/// The row of this name.
pub fn of(name: &str) -> Option<&'static Row> {
    ALL.into_iter().find(|r| r.name == name)
}

/// The row with products that sums take unrounded.
pub fn fused(row: &'static Row) -> &'static Row {
    [&CUDA_FUSED, &HIP_FUSED].into_iter().find(|r| r.name == row.name).unwrap_or(row)
}

/// A vendor's language for its devices.
#[derive(Debug)]
pub struct Row {
    /// As `--target` names it.
    pub name: &'static str,
    /// As sentences name it.
    pub title: &'static str,
    pub limits: Limits,
    /// Spellings, in lists; of several for one word the first is written.
    pub words: &'static [Words],
    /// What to do where a word is lacking, behind "has no `x`: ".
    pub lacking: &'static str,
    /// Atomic operations that have no form for signed integers of 64 bits.
    pub without_signed_wide: &'static [AtomicOp],
    /// What hosts call and include.
    pub host: Host,
    /// Files of kernels, and who compiles them.
    pub file: KernelFile,
    /// How a variable of a block's shared memory is declared.
    pub shared: &'static str,
    /// Words at file scope of the vendor's headers that no program should name anything by. Sorted.
    pub reserved: &'static [&'static str],
}

/// How a host written in C speaks to the device: names, with the meaning of CUDA's run time.
#[derive(Debug)]
pub struct Host {
    /// The rule page that writes them.
    pub page: &'static str,
    pub header: &'static str,
    /// The macro that leaves all of our code out.
    pub off_switch: &'static str,
    pub success: &'static str,
    pub allocate: &'static str,
    pub free: &'static str,
    pub copy: &'static str,
    pub to_device: &'static str,
    pub to_host: &'static str,
    pub synchronize: &'static str,
    pub last_error: &'static str,
}

impl Host {
    /// Every name that a program may use, always in one order.
    pub fn names(&self) -> [&'static str; 8] {
        [
            self.success,
            self.allocate,
            self.free,
            self.copy,
            self.to_device,
            self.to_host,
            self.synchronize,
            self.last_error,
        ]
    }
}

/// A file of kernels.
#[derive(Debug)]
pub struct KernelFile {
    pub extension: &'static str,
    /// Included by whoever compiles the whole file; `None`: the compiler knows all by itself.
    pub header: Option<&'static str>,
    /// The command that compiles it, without the file.
    pub compile: &'static str,
    /// Options without which results may differ in the last bits, and those that the host needs.
    pub flags: &'static [&'static str],
    /// Why it is compiled so, behind a colon.
    pub rounding: &'static str,
    /// Whether products are taken unrounded by the sums they are terms of.
    pub fuses: bool,
    /// Compilers at run time: the macro that says so, their name, and the name of those without `offsetof`.
    pub run_time: (&'static str, &'static str, &'static str),
}

impl PartialEq for Row {
    fn eq(&self, other: &Row) -> bool {
        self.name == other.name && self.file.fuses == other.file.fuses
    }
}

impl Eq for Row {}

impl std::hash::Hash for Row {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

/// How much of it there is, on every device that the row is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Limits {
    /// Threads that run in step.
    pub lanes: u32,
    /// Threads of a block.
    pub block_threads: u32,
    /// Threads of a block along each axis.
    pub block: [u32; 3],
    /// Blocks of a grid along each axis.
    pub grid: [u32; 3],
    /// Bytes of a block's shared memory that need not be asked for.
    pub shared_bytes: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        CUDA.limits
    }
}

impl Limits {
    /// Whether blocks of this shape can be launched.
    pub fn fits_block(&self, block: [u32; 3]) -> bool {
        let threads = block.iter().fold(1u64, |p, &x| p.saturating_mul(x.into()));
        threads <= self.block_threads.into() && block.iter().zip(&self.block).all(|(x, most)| x <= most)
    }
}

impl Row {
    pub(crate) fn words(&self) -> impl Iterator<Item = &'static (&'static str, Word)> {
        self.words.iter().copied().flatten()
    }

    /// What a name of the vendor's stands for.
    pub fn word(&self, name: &str) -> Option<Word> {
        if let Some((_, word)) = self.words().find(|w| w.0 == name) {
            return Some(*word);
        }
        // the vendors' families, with members that come with newer devices
        if name.starts_with("atomic") {
            let scope = match name {
                n if n.ends_with("_block") => Scope::Block,
                n if n.ends_with("_system") => Scope::System,
                _ => Scope::Device,
            };
            return Some(Word::Atomic(None, scope));
        }
        name.ends_with("_sync").then_some(Word::OfLanes)
    }

    /// How a word is written; `None`: the vendor has nothing by that meaning.
    pub fn spelling(&self, word: Word) -> Option<&'static str> {
        self.words().find(|w| w.1 == word).map(|w| w.0)
    }

    /// How a word is written in sentences: as the vendor does, or as CUDA does where it has no such word.
    pub fn said(&self, word: Word) -> &'static str {
        self.spelling(word).or_else(|| CUDA.spelling(word)).unwrap_or("an operation of the device")
    }
}

#[cfg(test)]
mod tests {
    use term::device::{Index, Tally};

    use super::*;

    #[test]
    fn a_row_reads_what_it_writes() {
        for row in ALL {
            for (name, word) in row.words() {
                assert_eq!(row.word(name), Some(*word));
                assert_eq!(row.word(row.spelling(*word).unwrap()), Some(*word));
            }
            assert_eq!(of(row.name), Some(row));
        }
        assert_eq!(of("opencl"), None);
        assert_eq!(CUDA.word("threadIdx"), Some(Word::Index(Index::Thread)));
        assert_eq!(CUDA.word("__syncthreads"), Some(Word::Barrier(Scope::Block, Tally::Nothing)));
        assert_eq!(CUDA.word("atomicAdd_block"), Some(Word::Atomic(Some(AtomicOp::Add), Scope::Block)));
        assert_eq!(CUDA.word("atomicMedian_block"), Some(Word::Atomic(None, Scope::Block)));
        assert_eq!(CUDA.word("__match_any_sync"), Some(Word::Match));
        assert_eq!(CUDA.word("__match_all_sync"), Some(Word::OfLanes));
        assert_eq!(CUDA.word("printf"), None);
    }

    #[test]
    fn no_spelling_stands_twice() {
        for row in ALL {
            let mut names: Vec<&str> = row.words().map(|w| w.0).chain(row.host.names()).collect();
            names.sort_unstable();
            assert!(names.windows(2).all(|w| w[0] != w[1]));
        }
    }

    #[test]
    fn what_a_vendor_lacks_has_no_spelling() {
        assert_eq!(HIP.limits.lanes, 64);
        let of_warp = Word::Barrier(Scope::Warp, Tally::Nothing);
        assert_eq!((CUDA.spelling(of_warp), HIP.spelling(of_warp)), (Some("__syncwarp"), None));
        assert_eq!(HIP.said(of_warp), "__syncwarp");
    }

    #[test]
    fn blocks_fit_or_do_not() {
        let fits = |b| CUDA.limits.fits_block(b);
        assert!(fits([1024, 1, 1]) && fits([4, 4, 64]));
        assert!(!fits([1025, 1, 1]) && !fits([1, 1, 65]) && !fits([u32::MAX; 3]));
    }
}
