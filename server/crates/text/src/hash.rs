//! Content hashes: equal text has an equal hash wherever it stands, in every process and on every machine.
//!
//! 128 bits, because a memo that mistakes one function for another would give a wrong answer.

use siphasher::sip128::{Hasher128, SipHasher13};
use std::hash::Hasher;

/// The SipHash-1-3 (128 bits, zero key) of a piece of text in UTF-8. Position independent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContentHash(pub u128);

impl ContentHash {
    /// The hash of one string.
    pub fn of(text: &str) -> ContentHash {
        ContentHash::of_chunks(std::iter::once(text))
    }

    /// The hash of the concatenation of `chunks`; where the chunks are cut makes no difference.
    pub fn of_chunks<'a>(chunks: impl Iterator<Item = &'a str>) -> ContentHash {
        let mut hasher = SipHasher13::new();
        for chunk in chunks {
            hasher.write(chunk.as_bytes());
        }
        ContentHash(hasher.finish128().as_u128())
    }
}

impl std::fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "#{:032x}", self.0)
    }
}
