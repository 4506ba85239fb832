//! What two runs left in memory, side by side.
//!
//! Scalars are compared by their kinds, each with the tolerance there is; padding is nothing (C11 6.2.6.1p6). A pointer into
//! the input must be the same pointer. Objects that a run made are numbered by that run: pointers to them are the same if
//! what they point to is, also where a structure that is used as another one keeps them in the place of numbers. Deliberately
//! absent: what only the functions' values say.

use rustc_hash::FxHashSet;
use simulate::{Heap, ObjectId, Snapshot, Tolerance};

use super::sides::Skip;
use super::Layout;

/// Both memories after the runs.
pub(super) struct Left<'a> {
    pub want: &'a Heap,
    pub got: &'a Heap,
    pub tolerance: Tolerance,
    /// The last object of the input; both runs number these alike.
    pub last_input: ObjectId,
    /// Whether last bits of floating numbers may decide what is no floating number, or memory is used as another type than it has.
    pub is_rounded: bool,
}

impl Left<'_> {
    /// What differs in an object, a phrase. [`Skip`]: it holds a pointer to what cannot be compared.
    pub fn difference(
        &self,
        name: &str,
        layout: &Layout,
        (x, y): (ObjectId, ObjectId),
    ) -> Result<Option<String>, Skip> {
        let (want, mut got) = (self.want.snapshot(x), self.got.snapshot(y));
        let mut skipped = !self.settle_addresses(layout, &want, &mut got);
        if let Some(kind) = layout.uniform() {
            let first = simulate::compare(&want, &got, kind, self.tolerance).first;
            return match first {
                None if skipped => Err(Skip),
                Some(_) if !kind.is_float() && self.may_be_regrouped() => Err(Skip),
                first => Ok(first.map(|d| match d.one_sided {
                    true => format!("`{name}[{}]` is written by one of the two only", d.index),
                    false => format!("`{name}[{}]` is {} instead of {}", d.index, d.found, d.expected),
                })),
            };
        }
        if want.data.len() != got.data.len() {
            return Ok(Some(format!("`{name}` has another size")));
        }
        let element = layout.bytes.max(1) as usize;
        for (number, from) in (0..want.data.len()).step_by(element).enumerate() {
            let here = || match want.data.len() > element {
                true => format!("`{name}[{number}]`"),
                false => format!("`{name}`"),
            };
            for &(at, kind) in &layout.leaves {
                let size = kind.size();
                let at = from + at as usize;
                let (Some(a), Some(b)) = (part(&want, at, size), part(&got, at, size)) else { continue };
                if let Some(d) = simulate::compare(&a, &b, kind, self.tolerance).first {
                    // a structure that is used as another one may hold numbers here whose last bits may differ
                    if !kind.is_float() && self.may_be_regrouped() {
                        skipped |= !is_near_number(&want, &got, at);
                        continue;
                    }
                    let byte = at - from;
                    return Ok(Some(match d.one_sided {
                        true => format!("byte {byte} of {} is written by one of the two only", here()),
                        false => {
                            format!(
                                "{} differs at byte {byte}: {} instead of {}",
                                here(),
                                d.found,
                                d.expected
                            )
                        }
                    }));
                }
            }
            for &(at, size) in &layout.raw {
                let at = from + at as usize;
                let (Some(a), Some(b)) = (part(&want, at, size as usize), part(&got, at, size as usize))
                else {
                    continue;
                };
                if a != b {
                    // numbers whose last bits may differ cannot be told among bytes
                    if self.tolerance != Tolerance::Exact {
                        return Err(Skip);
                    }
                    return Ok(Some(format!("byte {} of {} differs", at - from, here())));
                }
            }
            for (at, to) in &layout.pointers {
                let at = from + *at as usize;
                let (Some(a), Some(b)) = (part(&want, at, 8), part(&got, at, 8)) else { continue };
                match self.pointers(name, to.as_deref(), &a, &b) {
                    Ok(None) => {}
                    Ok(Some(what)) => return Ok(Some(format!("{}: {what}", here()))),
                    Err(Skip) => skipped = true,
                }
            }
        }
        if skipped {
            return Err(Skip);
        }
        Ok(None)
    }

    /// Whether what is no floating number by its type may be one whose last bits differ.
    fn may_be_regrouped(&self) -> bool {
        self.tolerance != Tolerance::Exact && self.is_rounded
    }

    /// Makes addresses of what the runs made alike in both where what they lead to is, in places that are no pointers by their
    /// type. `false`: there are some of which that cannot be told; they are made alike, too.
    fn settle_addresses(&self, layout: &Layout, want: &Snapshot, got: &mut Snapshot) -> bool {
        let element = layout.bytes.max(1) as usize;
        let mut all_alike = true;
        for at in (0..want.data.len().min(got.data.len()) & !7).step_by(8) {
            let Some(pair) = self.made(want, got, at) else { continue };
            let is_pointer =
                |(p, _): &(u64, _)| at.checked_sub(*p as usize).is_some_and(|r| r % element == 0);
            if layout.pointers.iter().any(is_pointer) {
                continue;
            }
            all_alike &= self.is_alike(pair);
            got.data[at..at + 8].copy_from_slice(&want.data[at..at + 8]);
        }
        all_alike
    }

    /// The objects that the runs made and whose addresses, with the same offset, stand in this word of both.
    fn made(&self, want: &Snapshot, got: &Snapshot, at: usize) -> Option<(ObjectId, ObjectId)> {
        let word = |s: &Snapshot| {
            let is_set = s.init.get(at..at + 8)?.iter().all(|&i| i == 1);
            Some(u64::from_le_bytes(s.data.get(at..at + 8)?.try_into().ok()?)).filter(|_| is_set)
        };
        self.pair(word(want)?, word(got)?)
    }

    /// Likewise of two numbers.
    pub fn pair(&self, want: u64, got: u64) -> Option<(ObjectId, ObjectId)> {
        let located = |heap: &Heap, word| {
            let (o, offset) = simulate::locate(word)?;
            let object = heap.memory().get(o).filter(|_| o > self.last_input)?;
            // one of a dead object may be any
            let inside = 0..=object.data.len() as i64;
            (!object.live || inside.contains(&offset)).then_some((o, offset))
        };
        let ((o, i), (u, j)) = (located(self.want, want)?, located(self.got, got)?);
        (i == j).then_some((o, u))
    }

    /// Whether two objects hold the same bytes, and addresses of such.
    fn is_alike(&self, first: (ObjectId, ObjectId)) -> bool {
        let (mut seen, mut queue) = (FxHashSet::default(), vec![first]);
        while let Some((o, u)) = queue.pop() {
            if !seen.insert((o, u)) {
                continue;
            }
            let (a, b) = (self.want.snapshot(o), self.got.snapshot(u));
            if a.data.len() != b.data.len() || a.init != b.init {
                return false;
            }
            for at in (0..a.data.len()).step_by(8) {
                let end = (at + 8).min(a.data.len());
                match self.made(&a, &b, at) {
                    Some(pair) => queue.push(pair),
                    None if (at..end).any(|k| a.init[k] == 1 && a.data[k] != b.data[k]) => return false,
                    None => {}
                }
            }
        }
        true
    }

    fn pointers(
        &self,
        name: &str,
        to: Option<&Layout>,
        a: &Snapshot,
        b: &Snapshot,
    ) -> Result<Option<String>, Skip> {
        if a.init != b.init {
            return Ok(Some("a pointer is written by one of the two only".to_owned()));
        }
        let address = |s: &Snapshot| s.data.as_slice().try_into().map(u64::from_le_bytes).unwrap_or(0);
        let (p, q) = (address(a), address(b));
        if !a.init.iter().all(|&i| i == 1) {
            return Ok((p != q).then(|| "a part of a pointer differs".to_owned()));
        }
        let made = |o: ObjectId| o > self.last_input;
        match (simulate::locate(p), simulate::locate(q)) {
            (Some((o, i)), Some((u, j))) if made(o) && made(u) => match to {
                _ if i != j => Ok(Some("a pointer points elsewhere".to_owned())),
                Some(layout) => self.difference(&format!("what {name} points to"), layout, (o, u)),
                None if self.is_alike((o, u)) => Ok(None),
                None => Err(Skip),
            },
            _ => Ok((p != q).then(|| "a pointer points elsewhere".to_owned())),
        }
    }
}

/// Whether what stands around a byte is one floating number in one and nearly the same in the other.
fn is_near_number(a: &Snapshot, b: &Snapshot, at: usize) -> bool {
    let double =
        |s: &Snapshot| Some(f64::from_le_bytes(s.data.get(at & !7..(at & !7) + 8)?.try_into().ok()?));
    let single = |s: &Snapshot| {
        Some(f64::from(f32::from_le_bytes(s.data.get(at & !3..(at & !3) + 4)?.try_into().ok()?)))
    };
    let near = |x: Option<f64>, y: Option<f64>| {
        x.zip(y).is_some_and(|(x, y)| {
            let (least, most) = (x.abs().min(y.abs()), x.abs().max(y.abs()));
            (1e-12..1e12).contains(&least) && most < 1e12 && (x - y).abs() <= 1e-4 * most
        })
    };
    near(double(a), double(b)) || near(single(a), single(b))
}

fn part(of: &Snapshot, at: usize, size: usize) -> Option<Snapshot> {
    let range = at..at + size;
    Some(Snapshot { data: of.data.get(range.clone())?.to_vec(), init: of.init.get(range)?.to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use simulate::{ElementKind, Fault};

    /// `struct { int n; double *data; }` of the input, whose pointer a run set to `values` of its own, the `skip`th object
    /// that it made.
    fn after(n: i32, values: [f64; 2], skip: u32) -> Result<(Heap, ObjectId), Fault> {
        let mut heap = Heap::new();
        let whole = |bytes: Vec<u8>| Snapshot { init: vec![1; bytes.len()], data: bytes };
        let record = heap.alloc("s", 4, 4)?;
        heap.restore(record, &whole([n.to_le_bytes(), [0; 4], [0; 4], [0; 4]].concat()))?;
        for _ in 0..skip {
            heap.alloc("scratch", 8, 1)?;
        }
        let data = heap.alloc("data", 8, 2)?;
        heap.restore(data, &whole(values.iter().flat_map(|v| v.to_le_bytes()).collect()))?;
        heap.write_pointer(record, 8, data, 0)?;
        Ok((heap, record))
    }

    fn difference(inner: bool, got: (i32, [f64; 2])) -> Result<Option<String>, Skip> {
        let double = Layout {
            bytes: 8,
            leaves: vec![(0, ElementKind::F64)],
            pointers: Vec::new(),
            names: Vec::new(),
            raw: Vec::new(),
        };
        let layout = Layout {
            bytes: 16,
            leaves: vec![(0, ElementKind::I32)],
            pointers: vec![(8, inner.then(|| Box::new(double)))],
            names: Vec::new(),
            raw: Vec::new(),
        };
        let (want, x) = after(7, [1.0, 2.0], 0).expect("small");
        let (got, y) = after(got.0, got.1, 3).expect("small");
        let left =
            Left { want: &want, got: &got, tolerance: Tolerance::Exact, last_input: x, is_rounded: false };
        left.difference("s", &layout, (x, y))
    }

    /// The same memory read as whole numbers of four bytes.
    fn as_numbers(got: (i32, [f64; 2]), tolerance: Tolerance) -> Result<Option<String>, Skip> {
        let leaves = (0..4).map(|k| (4 * k, ElementKind::I32)).collect();
        let layout = Layout { bytes: 16, leaves, pointers: Vec::new(), names: Vec::new(), raw: Vec::new() };
        let (want, x) = after(7, [1.0, 2.0], 0).expect("small");
        let (got, y) = after(got.0, got.1, 3).expect("small");
        let left = Left { want: &want, got: &got, tolerance, last_input: x, is_rounded: true };
        left.difference("s", &layout, (x, y))
    }

    #[test]
    fn addresses_in_the_place_of_numbers_are_followed() {
        assert!(matches!(as_numbers((7, [1.0, 2.0]), Tolerance::Exact), Ok(None)));
        // what is different behind them is of a type that is not known
        assert!(matches!(as_numbers((7, [1.0, 3.0]), Tolerance::Exact), Err(Skip)));
        let what = as_numbers((8, [1.0, 2.0]), Tolerance::Exact).ok().flatten();
        assert_eq!(what.as_deref(), Some("`s[0]` is 8 instead of 7"));
        // with regrouped sums, what is called a whole number may be a part of one
        let near = Tolerance::Relative { relative: 1e-4, absolute: 1e-4 };
        assert!(matches!(as_numbers((8, [1.0, 2.0]), near), Err(Skip)));
    }

    #[test]
    fn pointers_to_what_a_run_made_are_the_same_if_that_is() {
        assert!(matches!(difference(true, (7, [1.0, 2.0])), Ok(None)));
        let what = difference(true, (7, [1.0, 3.0])).ok().flatten();
        assert_eq!(what.as_deref(), Some("`s`: `what s points to[1]` is 3 instead of 2"));
        let what = difference(true, (8, [1.0, 2.0])).ok().flatten();
        assert_eq!(what.as_deref(), Some("`s` differs at byte 0: 8 instead of 7"));
        // of what type it is behind is not known: the same bytes are the same, of others nothing is said
        assert!(matches!(difference(false, (7, [1.0, 2.0])), Ok(None)));
        assert!(matches!(difference(false, (7, [1.0, 3.0])), Err(Skip)));
    }
}
