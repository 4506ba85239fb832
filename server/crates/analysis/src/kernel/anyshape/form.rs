//! An integer of each lane of a warp, as far as it is known whatever the launch.
//!
//! ```text
//! 64 * (x * extent + thread)       with extent = 32·b, thread = 32·w + lane, x the block's number
//!
//!   monomial     a number for each lane
//!   x·b          2048  2048  2048 …                  x, b, w: atoms, one number for all lanes
//!   w            2048  2048  2048 …
//!   1               0    64   128 …
//! ```
//!
//! What is the same for all lanes cancels between them, so this says how far apart lanes are though nobody knows where. Atoms that
//! may differ from lane to lane are kept as well: they, too, may cancel.

use std::collections::BTreeMap;

use crate::limits::kernel_anyshape::{MAX_FACTORS, MAX_TERMS};

/// Lanes of the warps that are looked at.
pub(super) const LANES: usize = 32;
/// Some of them, a bit each.
pub(super) type Mask = u32;
/// A number nobody knows.
pub(super) type Atom = u32;

/// Larger numbers are not followed.
const LIMIT: i64 = 1 << 56;

/// The lanes of a mask.
pub(super) fn lanes(mask: Mask) -> impl Iterator<Item = usize> {
    (0..LANES).filter(move |l| mask >> l & 1 != 0)
}

/// A number for each lane.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Part {
    Same(i64),
    Each(Box<[i64; LANES]>),
}

impl Part {
    pub(super) fn at(&self, lane: usize) -> i64 {
        match self {
            Part::Same(v) => *v,
            Part::Each(v) => v[lane],
        }
    }
    fn of(v: [i64; LANES]) -> Part {
        match v.iter().all(|x| *x == v[0]) {
            true => Part::Same(v[0]),
            false => Part::Each(Box::new(v)),
        }
    }
    fn each(f: impl Fn(usize) -> Option<i64>) -> Option<Part> {
        let mut out = [0; LANES];
        for (l, x) in out.iter_mut().enumerate() {
            *x = f(l).filter(|v| v.abs() < LIMIT)?;
        }
        Some(Part::of(out))
    }
    fn zip(&self, other: &Part, f: impl Fn(i64, i64) -> Option<i64>) -> Option<Part> {
        match (self, other) {
            (Part::Same(a), Part::Same(b)) => f(*a, *b).filter(|v| v.abs() < LIMIT).map(Part::Same),
            _ => Part::each(|l| f(self.at(l), other.at(l))),
        }
    }
}

/// A sum of products of atoms, each times a number that may differ from lane to lane; no number is 0 for all lanes.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Form {
    terms: BTreeMap<Vec<Atom>, Part>,
}

impl Form {
    pub(super) fn constant(v: i128) -> Option<Form> {
        let v = i64::try_from(v).ok().filter(|v| v.abs() < LIMIT)?;
        Some(Form::of(Vec::new(), Part::Same(v)))
    }
    pub(super) fn atom(a: Atom) -> Form {
        Form::of(vec![a], Part::Same(1))
    }
    /// A number for each lane.
    pub(super) fn of_lanes(f: impl Fn(usize) -> i64) -> Option<Form> {
        Some(Form::of(Vec::new(), Part::each(|l| Some(f(l)))?))
    }
    fn of(monomial: Vec<Atom>, part: Part) -> Form {
        let mut out = Form::default();
        if part != Part::Same(0) {
            out.terms.insert(monomial, part);
        }
        out
    }

    /// What stands beside no atom, for each lane.
    pub(super) fn number(&self) -> Part {
        self.terms.get(&[][..]).cloned().unwrap_or(Part::Same(0))
    }
    /// What stands beside atoms.
    pub(super) fn rest(&self) -> Form {
        let mut out = self.clone();
        out.terms.remove(&[][..]);
        out
    }
    /// Products of atoms with their numbers.
    pub(super) fn products(&self) -> impl Iterator<Item = (&[Atom], &Part)> {
        self.terms.iter().filter(|(m, _)| !m.is_empty()).map(|(m, p)| (&m[..], p))
    }
    /// Known for each lane.
    pub(super) fn is_number(&self) -> bool {
        self.products().next().is_none()
    }
    /// One known number for all lanes.
    pub(super) fn as_constant(&self) -> Option<i64> {
        match self.number() {
            Part::Same(v) if self.is_number() => Some(v),
            _ => None,
        }
    }
    pub(super) fn atoms(&self) -> impl Iterator<Item = Atom> + '_ {
        self.terms.keys().flatten().copied()
    }
    /// Whether no number differs from lane to lane.
    pub(super) fn is_flat(&self) -> bool {
        self.terms.values().all(|p| matches!(p, Part::Same(_)))
    }

    fn combined(&self, other: &Form, f: impl Fn(i64, i64) -> Option<i64>) -> Option<Form> {
        let mut out = self.clone();
        for (m, p) in &self.terms {
            let q = other.terms.get(m).cloned().unwrap_or(Part::Same(0));
            out.put(m, p.zip(&q, &f)?);
        }
        for (m, q) in other.terms.iter().filter(|(m, _)| !self.terms.contains_key(*m)) {
            out.put(m, Part::Same(0).zip(q, &f)?);
        }
        (out.terms.len() <= MAX_TERMS).then_some(out)
    }
    fn put(&mut self, m: &[Atom], p: Part) {
        match p {
            Part::Same(0) => self.terms.remove(m),
            p => self.terms.insert(m.to_vec(), p),
        };
    }
    pub(super) fn add(&self, other: &Form) -> Option<Form> {
        self.combined(other, i64::checked_add)
    }
    pub(super) fn sub(&self, other: &Form) -> Option<Form> {
        self.combined(other, i64::checked_sub)
    }
    pub(super) fn scale(&self, k: i64) -> Option<Form> {
        self.combined(&Form::default(), |a, _| a.checked_mul(k))
    }
    pub(super) fn mul(&self, other: &Form) -> Option<Form> {
        let mut out = Form::default();
        for (m, p) in &self.terms {
            for (n, q) in &other.terms {
                let mut both = [&m[..], &n[..]].concat();
                both.sort_unstable();
                if both.len() > MAX_FACTORS {
                    return None;
                }
                let product = p.zip(q, i64::checked_mul)?;
                let before = out.terms.get(&both).cloned().unwrap_or(Part::Same(0));
                out.put(&both, before.zip(&product, i64::checked_add)?);
            }
        }
        (out.terms.len() <= MAX_TERMS).then_some(out)
    }
    /// This one for the lanes of a mask, the other for the others.
    pub(super) fn blend(&self, other: &Form, mask: Mask) -> Option<Form> {
        let mut out = Form::default();
        for m in self.terms.keys().chain(other.terms.keys()) {
            let at = |f: &Form, l| f.terms.get(m).map_or(0, |p| p.at(l));
            out.put(m, Part::each(|l| Some(if mask >> l & 1 != 0 { at(self, l) } else { at(other, l) }))?);
        }
        (out.terms.len() <= MAX_TERMS).then_some(out)
    }
    /// The same with another number beside no atom.
    pub(super) fn with_number(&self, f: impl Fn(usize) -> i64) -> Option<Form> {
        let mut out = self.rest();
        out.put(&[], Part::each(|l| Some(f(l)))?);
        Some(out)
    }

    /// The greatest number that divides all that stands beside atoms, in the lanes of a mask; 0: nothing does.
    pub(super) fn divisor(&self, mask: Mask) -> i64 {
        self.products().flat_map(|(_, p)| lanes(mask).map(|l| p.at(l))).fold(0, gcd)
    }
    /// The products whose numbers `k` divides, divided by it, and the others.
    pub(super) fn divided(&self, k: i64) -> (Form, Form) {
        let (mut whole, mut rest) = (Form::default(), Form::default());
        for (m, p) in self.products() {
            match (0..LANES).all(|l| p.at(l) % k == 0) {
                true => whole.put(m, p.zip(&Part::Same(k), i64::checked_div).unwrap_or(Part::Same(0))),
                false => rest.put(m, p.clone()),
            }
        }
        (whole, rest)
    }
    /// Whether what stands beside atoms is the same in two lanes.
    pub(super) fn alike(&self, a: usize, b: usize) -> bool {
        self.products().all(|(_, p)| p.at(a) == p.at(b))
    }
}

pub(super) fn gcd(a: i64, b: i64) -> i64 {
    // 1 divides what has no other
    i64::try_from(base::gcd(a.into(), b.into())).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_lanes_share_cancels() {
        let lane = Form::of_lanes(|l| l as i64).unwrap();
        let (x, b) = (Form::atom(0), Form::atom(1));
        let i = x.mul(&b).unwrap().scale(32).unwrap().add(&lane).unwrap();
        let far = i.scale(64).unwrap();
        assert_eq!(far.number().at(3), 192);
        assert_eq!(far.divisor(!0), 2048);
        assert_eq!(far.sub(&far).unwrap(), Form::default());
        assert_eq!(i.sub(&lane).unwrap().number(), Part::Same(0));
        let even = i.blend(&x, 0x5555_5555).unwrap();
        assert!(even.alike(0, 2) && !even.alike(0, 1));
    }
}
