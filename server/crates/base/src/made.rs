//! Made-up contents of large memory: what an element holds follows from its number and a seed, so that two machines make
//! the same without sending any, and any part can be made alone.
//!
//! Deliberately absent: which contents a program takes.

/// A kind of number in memory, little-endian.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Scalar {
    /// A whole number of so many bytes: 1, 2, 4 or 8.
    Whole(u8),
    /// A byte that holds 0 or 1.
    Truth,
    F32,
    F64,
}

impl Scalar {
    /// Its bytes.
    pub fn size(self) -> usize {
        match self {
            Scalar::Whole(n) => usize::from(n),
            Scalar::Truth => 1,
            Scalar::F32 => 4,
            Scalar::F64 => 8,
        }
    }
}

/// How contents are made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Made {
    /// Other seeds, other numbers.
    pub seed: u64,
    /// Bytes of an element.
    pub element_bytes: u64,
    /// Where in it are numbers, by byte; other bytes are zero.
    pub scalars: Vec<(u64, Scalar)>,
    /// Whole numbers are below this and not negative (none is: all zero). Floating ones lie between 0 and 1 and are neither.
    pub below: u64,
}

impl Made {
    /// Fills memory whose first byte is the first of an element; a part of an element at the end stays zero.
    pub fn fill(&self, out: &mut [u8]) {
        out.fill(0);
        let Ok(size) = usize::try_from(self.element_bytes.max(1)) else { return };
        let parts = self.scalars.len() as u64;
        for (k, element) in out.chunks_exact_mut(size).enumerate() {
            for (part, &(at, kind)) in self.scalars.iter().enumerate() {
                let random = mixed(self.seed ^ mixed(k as u64 * parts + part as u64));
                let bytes = match kind {
                    Scalar::Truth => (random >> 63).to_le_bytes(),
                    Scalar::Whole(_) => random.checked_rem(self.below).unwrap_or(0).to_le_bytes(),
                    Scalar::F32 => u64::from((unit(random) as f32).to_bits()).to_le_bytes(),
                    Scalar::F64 => unit(random).to_bits().to_le_bytes(),
                };
                let Ok(at) = usize::try_from(at) else { continue };
                if let Some(place) = at.checked_add(kind.size()).and_then(|end| element.get_mut(at..end)) {
                    place.copy_from_slice(&bytes[..kind.size()]);
                }
            }
        }
    }
}

/// One of 2^20 numbers inside of 0 to 1: each is exact in 32 bits, too.
fn unit(random: u64) -> f64 {
    ((random >> 44) as f64 + 0.5) / f64::from(1u32 << 20)
}

/// Spreads a number over all bits (SplitMix64's last steps; Steele, Lea, Flood 2014).
fn mixed(x: u64) -> u64 {
    let x = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(scalars: Vec<(u64, Scalar)>, element_bytes: u64, below: u64) -> Made {
        Made { seed: 7, element_bytes, scalars, below }
    }

    #[test]
    fn elements_follow_from_seed_and_number_alone() {
        let m = made(vec![(0, Scalar::F64)], 8, 0);
        let (mut long, mut short) = (vec![1; 8000], vec![2; 24]);
        m.fill(&mut long);
        m.fill(&mut short);
        assert_eq!(long[..24], short[..]);
        let numbers: Vec<f64> =
            long.chunks(8).map(|b| f64::from_le_bytes(b.try_into().expect("eight"))).collect();
        assert!(numbers.iter().all(|x| *x > 0.0 && *x < 1.0));
        let mean = numbers.iter().sum::<f64>() / 1000.0;
        assert!((0.45..0.55).contains(&mean), "{mean}");
        let mut other = vec![0; 24];
        Made { seed: 8, ..m }.fill(&mut other);
        assert_ne!(other, short);
    }

    #[test]
    fn whole_numbers_are_subscripts() {
        let m = made(vec![(0, Scalar::Whole(4)), (8, Scalar::F32)], 12, 10);
        let mut out = vec![9; 12 * 500 + 5];
        m.fill(&mut out);
        let at = |k: usize, o: usize| u32::from_le_bytes(out[12 * k + o..][..4].try_into().expect("four"));
        let mut seen = [false; 10];
        for k in 0..500 {
            seen[at(k, 0) as usize] = true;
            assert_eq!(at(k, 4), 0);
            assert!((0.0..1.0).contains(&f32::from_bits(at(k, 8))));
        }
        assert_eq!(seen, [true; 10]);
        assert_eq!(out[6000..], [0; 5]);
        // none is below nothing
        made(vec![(0, Scalar::Whole(1))], 1, 0).fill(&mut out);
        assert!(out.iter().all(|b| *b == 0));
    }
}
