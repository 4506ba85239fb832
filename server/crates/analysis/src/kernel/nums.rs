//! Values of the lanes of a warp, as far as they are known.

use term::SymbolId;

/// Some lanes of a warp, a bit each: a warp has 64 at most.
pub(super) type Lanes = u64;

/// An integer for each lane.
#[derive(Clone, Debug)]
pub(super) enum Nums {
    Unknown,
    Same(i128),
    /// Values up to the last lane that has one, and the lanes for which they are known.
    Each(Box<[i128]>, Lanes),
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
pub(super) fn lanes(mask: Lanes) -> impl Iterator<Item = u32> {
    (0..ends(mask)).filter(move |l| mask >> l & 1 != 0)
}

/// The lane behind the last.
fn ends(mask: Lanes) -> u32 {
    Lanes::BITS - mask.leading_zeros()
}

/// The first lanes of a warp; it has no more than [`Lanes`] has bits.
pub(super) fn first(count: u32) -> Lanes {
    match count {
        0 => 0,
        n => Lanes::MAX >> (Lanes::BITS - n),
    }
}

impl Nums {
    pub(super) fn get(&self, lane: u32) -> Option<i128> {
        match self {
            Nums::Unknown => None,
            Nums::Same(v) => Some(*v),
            Nums::Each(v, known) if known >> lane & 1 != 0 => v.get(lane as usize).copied(),
            Nums::Each(..) => None,
        }
    }

    pub(super) fn known_on(&self, mask: Lanes) -> bool {
        match self {
            Nums::Unknown => mask == 0,
            Nums::Same(_) => true,
            Nums::Each(_, known) => mask & !known == 0,
        }
    }

    fn build(mask: Lanes, value: impl Fn(u32) -> Option<i128>) -> Nums {
        let (mut v, mut known) = (vec![0; ends(mask) as usize].into_boxed_slice(), 0);
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
    pub(super) fn each(mask: Lanes, value: impl Fn(u32) -> i128) -> Nums {
        Nums::build(mask, |l| Some(value(l)))
    }

    pub(super) fn map(&self, mask: Lanes, f: impl Fn(i128) -> Option<i128>) -> Nums {
        match self {
            Nums::Unknown => Nums::Unknown,
            Nums::Same(v) => f(*v).map_or(Nums::Unknown, Nums::Same),
            Nums::Each(..) => Nums::build(mask, |l| f(self.get(l)?)),
        }
    }

    pub(super) fn zip(&self, other: &Nums, mask: Lanes, f: impl Fn(i128, i128) -> Option<i128>) -> Nums {
        match (self, other) {
            (Nums::Unknown, _) | (_, Nums::Unknown) => Nums::Unknown,
            (Nums::Same(a), Nums::Same(b)) => f(*a, *b).map_or(Nums::Unknown, Nums::Same),
            _ => Nums::build(mask, |l| f(self.get(l)?, other.get(l)?)),
        }
    }

    /// This value where the mask is set, the other on the others.
    pub(super) fn over(self, other: &Nums, mask: Lanes, others: Lanes) -> Nums {
        match (&self, other) {
            (Nums::Same(a), Nums::Same(b)) if a == b => self,
            _ => Nums::build(mask | others, |l| if mask >> l & 1 != 0 { self.get(l) } else { other.get(l) }),
        }
    }

    /// The lanes of the mask for which it is not 0, if it is known on all of them.
    pub(super) fn truth(&self, mask: Lanes) -> Option<Lanes> {
        match self {
            Nums::Same(v) => Some(if *v != 0 { mask } else { 0 }),
            _ if !self.known_on(mask) => None,
            _ => Some(lanes(mask).filter(|&l| self.get(l) != Some(0)).fold(0, |m, l| m | 1 << l)),
        }
    }
}
