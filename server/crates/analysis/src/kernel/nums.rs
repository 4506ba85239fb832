//! Values of the 32 lanes of a warp, as far as they are known.

use term::SymbolId;

/// Lanes of a warp.
pub(super) const WARP: u32 = 32;

/// An integer for each lane.
#[derive(Clone, Debug)]
pub(super) enum Nums {
    Unknown,
    Same(i128),
    /// Values, and the lanes for which they are known.
    Each(Box<[i128; WARP as usize]>, u32),
}

/// A value: an integer, or an address as an object and an offset in bytes.
#[derive(Clone, Debug)]
pub(super) struct Val {
    pub object: Option<SymbolId>,
    pub n: Nums,
}

impl Val {
    pub(super) const UNKNOWN: Val = Val { object: None, n: Nums::Unknown };

    pub(super) fn number(n: Nums) -> Val {
        Val { object: None, n }
    }
    pub(super) fn same(v: i128) -> Val {
        Val::number(Nums::Same(v))
    }
    /// The integer; an address is none.
    pub(super) fn int(self) -> Nums {
        match self.object {
            None => self.n,
            Some(_) => Nums::Unknown,
        }
    }
}

/// The lanes of a mask.
pub(super) fn lanes(mask: u32) -> impl Iterator<Item = u32> {
    (0..WARP).filter(move |l| mask & 1 << l != 0)
}

impl Nums {
    pub(super) fn get(&self, lane: u32) -> Option<i128> {
        match self {
            Nums::Unknown => None,
            Nums::Same(v) => Some(*v),
            Nums::Each(v, known) => (known & 1 << lane != 0).then(|| v[lane as usize]),
        }
    }

    pub(super) fn known_on(&self, mask: u32) -> bool {
        match self {
            Nums::Unknown => mask == 0,
            Nums::Same(_) => true,
            Nums::Each(_, known) => mask & !known == 0,
        }
    }

    fn build(mask: u32, value: impl Fn(u32) -> Option<i128>) -> Nums {
        let (mut v, mut known) = (Box::new([0; WARP as usize]), 0);
        for l in lanes(mask) {
            if let Some(x) = value(l) {
                v[l as usize] = x;
                known |= 1 << l;
            }
        }
        if known == 0 {
            Nums::Unknown
        } else {
            Nums::Each(v, known)
        }
    }

    /// One value for each lane of a mask.
    pub(super) fn each(mask: u32, value: impl Fn(u32) -> i128) -> Nums {
        Nums::build(mask, |l| Some(value(l)))
    }

    pub(super) fn map(&self, mask: u32, f: impl Fn(i128) -> Option<i128>) -> Nums {
        match self {
            Nums::Unknown => Nums::Unknown,
            Nums::Same(v) => f(*v).map_or(Nums::Unknown, Nums::Same),
            Nums::Each(..) => Nums::build(mask, |l| f(self.get(l)?)),
        }
    }

    pub(super) fn zip(&self, other: &Nums, mask: u32, f: impl Fn(i128, i128) -> Option<i128>) -> Nums {
        match (self, other) {
            (Nums::Unknown, _) | (_, Nums::Unknown) => Nums::Unknown,
            (Nums::Same(a), Nums::Same(b)) => f(*a, *b).map_or(Nums::Unknown, Nums::Same),
            _ => Nums::build(mask, |l| f(self.get(l)?, other.get(l)?)),
        }
    }

    /// This value where the mask is set, the other elsewhere.
    pub(super) fn over(self, other: &Nums, mask: u32) -> Nums {
        match (&self, other) {
            (Nums::Same(a), Nums::Same(b)) if a == b => self,
            _ => Nums::build(u32::MAX, |l| if mask & 1 << l != 0 { self.get(l) } else { other.get(l) }),
        }
    }

    /// The lanes of the mask for which it is not 0, if it is known on all of them.
    pub(super) fn truth(&self, mask: u32) -> Option<u32> {
        match self {
            Nums::Same(v) => Some(if *v != 0 { mask } else { 0 }),
            _ if !self.known_on(mask) => None,
            _ => Some(lanes(mask).filter(|&l| self.get(l) != Some(0)).fold(0, |m, l| m | 1 << l)),
        }
    }
}
