//! What differs between vendors of GPUs, as rows of data: how they spell what a device provides, and how much of it there is.
//!
//! A [`Row`] is a vendor's language for devices: spellings of [`term::device::Word`]s, words that cannot be names, limits. Front
//! ends read by a row, printers write by one, and whoever simulates or judges a kernel takes lanes and limits from one.
//!
//! Deliberately absent: code. What a vendor lacks is a spelling that is not there, and who needs it refuses by its name.
#![forbid(unsafe_code)]

mod cuda;
mod reserved;

use term::device::{Scope, Word};

pub use cuda::CUDA;
pub use reserved::is_reserved;

/// Every row.
pub static ALL: [&Row; 1] = [&CUDA];

/// A vendor's language for its devices.
#[derive(Debug)]
pub struct Row {
    /// As `--target` names it.
    pub name: &'static str,
    /// As sentences name it.
    pub title: &'static str,
    pub limits: Limits,
    /// Spellings; of several for one word the first is written.
    pub words: &'static [(&'static str, Word)],
    /// How a variable of a block's shared memory is declared.
    pub shared: &'static str,
    /// Words at file scope of the vendor's headers that no program should name anything by. Sorted.
    pub reserved: &'static [&'static str],
}

/// How much of it there is, on every device that the row is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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

impl Limits {
    /// Whether blocks of this shape can be launched.
    pub fn fits_block(&self, block: [u32; 3]) -> bool {
        let threads = block.iter().fold(1u64, |p, &x| p.saturating_mul(x.into()));
        threads <= self.block_threads.into() && block.iter().zip(&self.block).all(|(x, most)| x <= most)
    }
}

impl Row {
    /// What a name of the vendor's stands for.
    pub fn word(&self, name: &str) -> Option<Word> {
        if let Some((_, word)) = self.words.iter().find(|w| w.0 == name) {
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
        self.words.iter().find(|w| w.1 == word).map(|w| w.0)
    }

    /// How a word is written in sentences: as the vendor does, or as CUDA does where it has no such word.
    pub fn said(&self, word: Word) -> &'static str {
        self.spelling(word).or_else(|| CUDA.spelling(word)).unwrap_or("an operation of the device")
    }
}

#[cfg(test)]
mod tests {
    use term::device::{AtomicOp, Index, Tally};

    use super::*;

    #[test]
    fn a_row_reads_what_it_writes() {
        for (name, word) in CUDA.words {
            assert_eq!(CUDA.word(name), Some(*word));
            assert_eq!(CUDA.word(CUDA.spelling(*word).unwrap()), Some(*word));
        }
        assert_eq!(CUDA.word("threadIdx"), Some(Word::Index(Index::Thread)));
        assert_eq!(CUDA.word("__syncthreads"), Some(Word::Barrier(Scope::Block, Tally::Nothing)));
        assert_eq!(CUDA.word("atomicAdd_block"), Some(Word::Atomic(Some(AtomicOp::Add), Scope::Block)));
        assert_eq!(CUDA.word("atomicMedian_block"), Some(Word::Atomic(None, Scope::Block)));
        assert_eq!(CUDA.word("__match_any_sync"), Some(Word::OfLanes));
        assert_eq!(CUDA.word("printf"), None);
    }

    #[test]
    fn no_spelling_stands_twice() {
        let mut names: Vec<&str> = CUDA.words.iter().map(|w| w.0).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|w| w[0] != w[1]));
    }

    #[test]
    fn blocks_fit_or_do_not() {
        let fits = |b| CUDA.limits.fits_block(b);
        assert!(fits([1024, 1, 1]) && fits([4, 4, 64]));
        assert!(!fits([1025, 1, 1]) && !fits([1, 1, 65]) && !fits([u32::MAX; 3]));
    }
}
