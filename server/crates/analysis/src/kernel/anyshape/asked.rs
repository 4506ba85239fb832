//! What a request asks of memory, from how far apart its lanes are: least and most over all that is not known.
//!
//! Lanes between which everything unknown cancels lie at known distances from one another: they are a *group*, and where the
//! group begins is known up to what divides the unknown. Groups may lie anywhere: together they take no more than their sum, and no
//! less than one of them. The counting rules are those of [`Requests`].

use term::{Space, SymbolId};

use super::form::{gcd, lanes, Form, Mask};
use super::{Pattern, Unknowns};
use crate::kernel::requests::Requests;

/// Where arrays begin, in bytes, and what of a place decides how much a request takes: sectors of 32 bytes; words of 4.
const SECTOR: i64 = 32;
const WORD: i64 = 4;

/// What one request takes, as least and most: sectors of global memory, ways of shared and constant memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Asked {
    pub cost: [u64; 2],
    /// Sectors that its data would fill; 1 for ways.
    pub ideal: u64,
}

/// An access: its offset in bytes, how many, and in which memory.
pub(super) struct AskedPlace<'f> {
    pub offset: &'f Form,
    pub bytes: u64,
    pub space: Space,
}

impl AskedPlace<'_> {
    /// What all lanes of a mask ask for together.
    pub(super) fn asked(&self, mask: Mask, unknowns: &Unknowns) -> Asked {
        let each: Vec<(Asked, Mask)> =
            self.groups(mask, unknowns).into_iter().map(|g| (self.of_group(g), g)).collect();
        let all = u64::from(mask.count_ones()) * self.bytes;
        let one = Asked { cost: [0, 0], ideal: 0 };
        let sum = each.iter().fold(one, |s, (a, _)| Asked {
            cost: [s.cost[0].max(a.cost[0]), s.cost[1].saturating_add(a.cost[1])],
            ideal: s.ideal + a.ideal,
        });
        match each.as_slice() {
            [_] => sum,
            // they may fill sectors together
            _ => Asked { ideal: sum.ideal.min(all.div_ceil(SECTOR as u64)).max(1), ..sum },
        }
    }

    /// What as many of them as nobody knows ask for, but all of `must`; `one`: no more than one lane.
    pub(super) fn asked_by_some(&self, may: Mask, must: Mask, one: bool, unknowns: &Unknowns) -> [u64; 2] {
        let alone = || lanes(may).map(|l| self.asked(1 << l, unknowns).cost);
        let least = match must {
            0 => alone().map(|c| c[0]).min().unwrap_or(0),
            must => self.asked(must, unknowns).cost[0],
        };
        let most = match one {
            true => alone().map(|c| c[1]).max().unwrap_or(0),
            false => self.asked(may, unknowns).cost[1],
        };
        [least, most.max(least)]
    }

    /// Lanes with everything unknown in common.
    fn groups(&self, mask: Mask, unknowns: &Unknowns) -> Vec<Mask> {
        let differs = self.offset.atoms().any(|a| !unknowns.is_shared(a));
        let mut out: Vec<Mask> = Vec::new();
        for l in lanes(mask) {
            let same = |g: &&mut Mask| !differs && self.offset.alike(g.trailing_zeros() as usize, l);
            match out.iter_mut().find(same) {
                Some(g) => *g |= 1 << l,
                None => out.push(1 << l),
            }
        }
        out
    }

    fn of_group(&self, mask: Mask) -> Asked {
        let unit = if self.space == Space::Global { SECTOR } else { WORD };
        // what is unknown moves all of them by a multiple of this
        let by = gcd(self.offset.divisor(mask), unit);
        let by = if by == 0 { unit } else { by };
        let number = self.offset.number();
        let mut out: Option<Asked> = None;
        for shift in (0..unit).step_by(by as usize) {
            let at: Vec<(u32, i128)> =
                lanes(mask).map(|l| (l as u32, i128::from(number.at(l) + shift))).collect();
            let mut r = Requests::default();
            r.add(self.space, &at, self.bytes as i128);
            let (cost, ideal) = match self.space {
                Space::Global => (r.worst_sectors, r.worst_ideal),
                _ => (r.ways, 1),
            };
            out = Some(match out {
                None => Asked { cost: [cost, cost], ideal },
                Some(o) => Asked { cost: [o.cost[0].min(cost), o.cost[1].max(cost)], ideal },
            });
        }
        out.unwrap_or(Asked { cost: [0, 0], ideal: 0 })
    }

    /// Whether neighbouring lanes are the same distance apart, which nobody knows.
    pub(super) fn by_run_time(&self, mask: Mask, unknowns: &Unknowns) -> bool {
        let known = self.groups(mask, unknowns).len() == 1;
        !known && matches!(self.pattern(mask, unknowns), Pattern::Strided(None))
    }

    /// The parameter, and how many of it neighbouring lanes are apart, in elements.
    pub(super) fn by_parameter(&self, mask: Mask, unknowns: &Unknowns) -> Option<(SymbolId, i64)> {
        if !self.by_run_time(mask, unknowns) {
            return None;
        }
        let (a, b) = (mask.trailing_zeros() as usize, mask.trailing_zeros() as usize + 1);
        let apart = |p: &super::form::Part| p.at(b) - p.at(a);
        let mut moving = self.offset.products().filter(|(_, p)| apart(p) != 0);
        let (Some((&[atom], part)), None) = (moving.next(), moving.next()) else { return None };
        let bytes = i64::try_from(self.bytes).ok()?;
        let whole = mask >> b & 1 != 0 && apart(&self.offset.number()) == 0 && apart(part) % bytes == 0;
        whole.then_some((*unknowns.parameters.get(&atom)?, (apart(part) / bytes).abs()))
    }

    /// How the places of neighbouring lanes lie to one another.
    pub(super) fn pattern(&self, mask: Mask, unknowns: &Unknowns) -> Pattern {
        let strange = |a: &super::form::Atom| !unknowns.is_shared(*a);
        if self.offset.atoms().any(|a| strange(&a)) {
            let data = self.offset.atoms().filter(strange).any(|a| unknowns.is_data(a));
            return if data { Pattern::Gather } else { Pattern::Irregular };
        }
        let all: Vec<usize> = lanes(mask).collect();
        if all.len() < 2 {
            return Pattern::Uniform;
        }
        // what neighbours differ by, as a whole
        let between = |a: usize, b: usize| {
            let part = |p: &super::form::Part| p.at(b) - p.at(a);
            let known = part(&self.offset.number());
            let unknown: Vec<i64> = self.offset.products().map(|(_, p)| part(p)).collect();
            (known, unknown)
        };
        let steps: Vec<(usize, (i64, Vec<i64>))> =
            all.windows(2).map(|w| (w[1] - w[0], between(w[0], w[1]))).collect();
        let (gap, (known, unknown)) = &steps[0];
        let even = steps.iter().all(|(g, (k, u))| g == gap && k == known && u == unknown);
        let fixed = steps.iter().all(|(_, (_, u))| u.iter().all(|x| *x == 0));
        // inactive lanes between two count as steps
        let step = *gap as i64 * self.bytes.max(1) as i64;
        match (even, fixed) {
            (true, true) if *known == 0 => Pattern::Uniform,
            (true, true) if known.abs() == step => Pattern::Coalesced,
            (true, true) => Pattern::Strided((known % step == 0).then_some(known / step)),
            (true, false) => Pattern::Strided(None),
            // in another order, or some twice: no more than its data needs
            (false, true) => {
                let asked = self.asked(mask, unknowns);
                let needed = match self.space {
                    Space::Global => asked.ideal + 1,
                    _ => (self.bytes / 4).max(1),
                };
                if asked.cost[1] <= needed {
                    Pattern::Coalesced
                } else {
                    Pattern::Irregular
                }
            }
            _ => Pattern::Irregular,
        }
    }
}
