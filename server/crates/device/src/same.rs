//! Whether two pieces of memory hold the same numbers, and how far they lie apart.

use crate::bundle::{HostMemory, Number};
use serde::{Deserialize, Serialize};

/// What is left, held against what the original leaves.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Check {
    Same {
        /// Numbers that were compared.
        compared: u64,
        /// Floating numbers between the two that lie furthest apart; 0: the same numbers.
        most_ulps: u64,
        /// The largest difference, relative, or absolute below 1.
        most_relative: f64,
    },
    Different {
        /// Which memory, by its name.
        memory: String,
        element: u64,
        want: String,
        got: String,
    },
    NotTried {
        /// A phrase.
        why: String,
    },
}

/// Memory with what it should hold and what it does.
pub(crate) fn compare<'a>(
    pairs: impl Iterator<Item = (&'a HostMemory, &'a [u8], &'a [u8])>,
    tolerance: f64,
) -> Check {
    let (mut compared, mut most_ulps, mut most_relative) = (0, 0, 0f64);
    for (memory, want, got) in pairs {
        let size = memory.element_bytes.max(1) as usize;
        let bytes = [(0, Number::Whole1)];
        let scalars = if memory.scalars.is_empty() { &bytes[..] } else { &memory.scalars };
        for (k, (w, g)) in want.chunks(size).zip(got.chunks(size)).enumerate() {
            for &(at, kind) in scalars {
                let range = at as usize..at as usize + kind.scalar().size();
                let (Some(w), Some(g)) = (w.get(range.clone()), g.get(range)) else { continue };
                compared += 1;
                if w == g {
                    continue;
                }
                let apart = distance(kind, w, g);
                if apart.is_none_or(|(_, relative)| relative > tolerance || relative.is_nan()) {
                    let (memory, element) = (memory.name.clone(), k as u64);
                    return Check::Different { memory, element, want: said(kind, w), got: said(kind, g) };
                }
                let (ulps, relative) = apart.unwrap_or_default();
                most_ulps = most_ulps.max(ulps);
                most_relative = most_relative.max(relative);
            }
        }
    }
    Check::Same { compared, most_ulps, most_relative }
}

/// How far two floating numbers lie apart, in representable numbers and relative; `None`: they are whole, or one of them is
/// no number.
fn distance(kind: Number, a: &[u8], b: &[u8]) -> Option<(u64, f64)> {
    // the order of bits is that of numbers, once those of negative ones are turned around
    let (x, y, ulps) = match kind {
        Number::F32 => {
            let (a, b) = (u32::from_le_bytes(a.try_into().ok()?), u32::from_le_bytes(b.try_into().ok()?));
            let place = |v: u32| if v >> 31 == 1 { -i64::from(v & 0x7FFF_FFFF) } else { i64::from(v) };
            (f64::from(f32::from_bits(a)), f64::from(f32::from_bits(b)), place(a).abs_diff(place(b)))
        }
        Number::F64 => {
            let (a, b) = (u64::from_le_bytes(a.try_into().ok()?), u64::from_le_bytes(b.try_into().ok()?));
            let place = |v: u64| match v >> 63 {
                1 => -i128::from(v & (u64::MAX >> 1)),
                _ => i128::from(v),
            };
            let ulps = u64::try_from(place(a).abs_diff(place(b))).unwrap_or(u64::MAX);
            (f64::from_bits(a), f64::from_bits(b), ulps)
        }
        _ => return None,
    };
    if x.is_nan() && y.is_nan() {
        return Some((0, 0.0));
    }
    Some((ulps, (x - y).abs() / x.abs().max(y.abs()).max(1.0)))
}

fn said(kind: Number, bytes: &[u8]) -> String {
    let whole = |bytes: &[u8]| {
        let mut wide = [if bytes.last().is_some_and(|b| *b > 127) { 255 } else { 0 }; 8];
        wide[..bytes.len()].copy_from_slice(bytes);
        i64::from_le_bytes(wide).to_string()
    };
    match (kind, bytes.try_into(), bytes.try_into()) {
        (Number::F32, Ok(b), _) => f32::from_le_bytes(b).to_string(),
        (Number::F64, _, Ok(b)) => f64::from_le_bytes(b).to_string(),
        _ => whole(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::Contents;

    fn check(kind: Number, want: &[u8], got: &[u8], tolerance: f64) -> Check {
        let memory = HostMemory {
            name: "a".into(),
            bytes: want.len() as u64,
            contents: Contents::Unset,
            links: Vec::new(),
            scalars: vec![(0, kind)],
            element_bytes: kind.scalar().size() as u64,
        };
        compare([(&memory, want, got)].into_iter(), tolerance)
    }

    #[test]
    fn how_far_apart() {
        let bytes = |x: [f32; 2]| x.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>();
        let next = f32::from_bits(1.5f32.to_bits() + 3);
        let (a, b) = (bytes([1.0, 1.5]), bytes([1.0, next]));
        let Check::Different { element: 1, .. } = check(Number::F32, &a, &b, 0.0) else { panic!() };
        let Check::Same { compared: 2, most_ulps: 3, most_relative } = check(Number::F32, &a, &b, 1e-6)
        else {
            panic!()
        };
        assert!(most_relative > 0.0 && most_relative < 1e-6);
        // a cell that nobody wrote, a number that is none, whole numbers
        assert!(matches!(check(Number::F32, &a, &[0xCB; 8], 1e-4), Check::Different { element: 0, .. }));
        let nan = bytes([f32::NAN, 1.5]);
        assert!(matches!(check(Number::F32, &a, &nan, 1e-4), Check::Different { .. }));
        assert!(matches!(check(Number::F32, &nan, &nan, 0.0), Check::Same { .. }));
        let different = check(Number::Whole4, &[1, 0, 0, 0], &[255, 255, 255, 255], 1.0);
        let Check::Different { want, got, .. } = different else { panic!() };
        assert_eq!((want.as_str(), got.as_str()), ("1", "-1"));
        // zero of both signs lie at one place
        let (p, m) = (0f64.to_le_bytes(), (-0f64).to_le_bytes());
        assert!(matches!(check(Number::F64, &p, &m, 1e-4), Check::Same { most_ulps: 0, .. }));
    }
}
