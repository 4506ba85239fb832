//! Inputs at random and outputs side by side: what every check of "computes the same" needs.
//!
//! Deliberately absent: which buffers to compare and how far they may differ; the caller's plan says.

use crate::grid::Rng;
use crate::machine::{Heap, Snapshot};
use crate::memory::ObjectId;

/// The element type of a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ElementKind {
    /// A byte that holds 0 or 1.
    Bool,
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
}

impl ElementKind {
    /// Bytes.
    pub fn size(self) -> usize {
        match self {
            ElementKind::Bool | ElementKind::I8 | ElementKind::U8 => 1,
            ElementKind::I16 | ElementKind::U16 => 2,
            ElementKind::I32 | ElementKind::U32 | ElementKind::F32 => 4,
            ElementKind::I64 | ElementKind::U64 | ElementKind::F64 => 8,
        }
    }
    /// Writes a number of this kind over an element's bytes: the real one where its elements are floating, else the whole one's
    /// lowest bytes, or bit.
    pub fn put(self, element: &mut [u8], real: f64, whole: i64) {
        match self {
            ElementKind::F64 => element.copy_from_slice(&real.to_le_bytes()),
            ElementKind::F32 => element.copy_from_slice(&(real as f32).to_le_bytes()),
            ElementKind::Bool => element.copy_from_slice(&[(whole & 1) as u8]),
            _ => element.copy_from_slice(&whole.to_le_bytes()[..self.size()]),
        }
    }
    /// Whether its elements are floating.
    pub fn is_float(self) -> bool {
        matches!(self, ElementKind::F32 | ElementKind::F64)
    }
    /// The element kind of a scalar type; `None` for `long double` and everything that is no number.
    pub fn of(types: &term::Types, ty: term::TypeId) -> Option<ElementKind> {
        use term::{FloatKind, TypeKind};
        Some(match types.kind(ty) {
            TypeKind::Float(FloatKind::F32) => ElementKind::F32,
            TypeKind::Float(FloatKind::F64) => ElementKind::F64,
            TypeKind::Int(term::IntKind::Bool) => ElementKind::Bool,
            TypeKind::Int(k) => match (k.bits(), k.signed()) {
                (8, true) => ElementKind::I8,
                (8, false) => ElementKind::U8,
                (16, true) => ElementKind::I16,
                (16, false) => ElementKind::U16,
                (32, true) => ElementKind::I32,
                (32, false) => ElementKind::U32,
                (_, true) => ElementKind::I64,
                (_, false) => ElementKind::U64,
            },
            _ => return None,
        })
    }
}

/// Fills a buffer with random values that ordinary programs do not overflow on: floats in (-2, 2) with all mantissa
/// bits in use, integers in -100..=100 (0..=100 unsigned).
pub fn fill_random(heap: &mut Heap, o: ObjectId, kind: ElementKind, rng: &mut Rng) {
    let Some(object) = heap.mem.get_mut(o) else { return };
    let size = kind.size();
    for (d, i) in object.data.chunks_exact_mut(size).zip(object.init.chunks_exact_mut(size)) {
        let whole = rng.below(201) as i64 - 100;
        let unit = (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let v = unit * 4.0 - 2.0;
        match kind {
            ElementKind::F64 => d.copy_from_slice(&v.to_le_bytes()),
            ElementKind::F32 => d.copy_from_slice(&(v as f32).to_le_bytes()),
            ElementKind::Bool => d.copy_from_slice(&[(whole & 1) as u8]),
            ElementKind::U8 | ElementKind::U16 | ElementKind::U32 | ElementKind::U64 => {
                d.copy_from_slice(&whole.abs().to_le_bytes()[..size])
            }
            _ => d.copy_from_slice(&whole.to_le_bytes()[..size]),
        }
        i.fill(1);
    }
}

/// How far two results may differ.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Tolerance {
    /// Bit for bit. (NaNs of any payload count as equal.)
    Exact,
    /// Floating elements within this relative error, or this absolute one near zero; the rest bit for bit.
    Relative { relative: f64, absolute: f64 },
}

/// One element that differs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Difference {
    /// Element number.
    pub index: usize,
    /// Both values as doubles (exact but for large 64-bit integers).
    pub expected: f64,
    pub found: f64,
    /// Whether it was written on one side only.
    pub one_sided: bool,
}

/// Two buffers side by side.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Comparison {
    pub elements: usize,
    /// How many differ by more than allowed.
    pub different: usize,
    /// The first of them.
    pub first: Option<Difference>,
    /// Largest distance in units in the last place, of floating elements that are both finite.
    pub max_ulp: u64,
    /// Largest relative error of those.
    pub max_relative: f64,
}

impl Comparison {
    /// Whether nothing differs by more than allowed.
    pub fn same(&self) -> bool {
        self.different == 0
    }
}

/// Compares the bytes of two buffers (or of one before and after) element by element.
pub fn compare(expected: &Snapshot, found: &Snapshot, kind: ElementKind, tolerance: Tolerance) -> Comparison {
    let size = kind.size();
    let mut out = Comparison { elements: expected.data.len() / size, ..Comparison::default() };
    if expected.data.len() != found.data.len() {
        out.different = out.elements.max(found.data.len() / size).max(1);
        return out;
    }
    let pairs = expected
        .data
        .chunks_exact(size)
        .zip(found.data.chunks_exact(size))
        .zip(expected.init.chunks_exact(size).zip(found.init.chunks_exact(size)));
    for (index, ((a, b), (ia, ib))) in pairs.enumerate() {
        let (x, y) = (as_f64(kind, a), as_f64(kind, b));
        let one_sided = ia != ib;
        let written = ia.iter().all(|&v| v == 1);
        let ok = if one_sided {
            false
        } else if !written || a == b {
            true
        } else if kind.is_float() {
            close(kind, a, b, x, y, tolerance, &mut out)
        } else {
            false
        };
        if !ok {
            out.different += 1;
            out.first.get_or_insert(Difference { index, expected: x, found: y, one_sided });
        }
    }
    out
}

fn close(
    kind: ElementKind,
    a: &[u8],
    b: &[u8],
    x: f64,
    y: f64,
    tolerance: Tolerance,
    out: &mut Comparison,
) -> bool {
    if x.is_nan() && y.is_nan() {
        return true;
    }
    if !(x.is_finite() && y.is_finite()) {
        return false;
    }
    out.max_ulp = out.max_ulp.max(ulps(kind, a, b));
    let error = (x - y).abs();
    let scale = x.abs().max(y.abs());
    if scale > 0.0 {
        out.max_relative = out.max_relative.max(error / scale);
    }
    match tolerance {
        Tolerance::Exact => false,
        Tolerance::Relative { relative, absolute } => error <= relative * scale || error <= absolute,
    }
}

fn as_f64(kind: ElementKind, bytes: &[u8]) -> f64 {
    let mut wide = [0u8; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    let v = u64::from_le_bytes(wide);
    match kind {
        ElementKind::F64 => f64::from_bits(v),
        ElementKind::F32 => f32::from_bits(v as u32) as f64,
        ElementKind::I8 => v as i8 as f64,
        ElementKind::I16 => v as i16 as f64,
        ElementKind::I32 => v as i32 as f64,
        ElementKind::I64 => v as i64 as f64,
        _ => v as f64,
    }
}

/// Representable numbers between two finite values.
fn ulps(kind: ElementKind, a: &[u8], b: &[u8]) -> u64 {
    // sign and magnitude on a line
    let line = |bytes: &[u8]| -> i64 {
        let mut wide = [0u8; 8];
        wide[..bytes.len()].copy_from_slice(bytes);
        let v = u64::from_le_bytes(wide);
        if kind == ElementKind::F32 {
            let v = v as u32;
            let m = (v & 0x7FFF_FFFF) as i64;
            if v >> 31 == 1 {
                -m
            } else {
                m
            }
        } else {
            let m = (v & (u64::MAX >> 1)) as i64;
            if v >> 63 == 1 {
                -m
            } else {
                m
            }
        }
    };
    line(a).abs_diff(line(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snap(v: &[f64]) -> Snapshot {
        let data: Vec<u8> = v.iter().flat_map(|x| x.to_le_bytes()).collect();
        Snapshot { init: vec![1; data.len()], data }
    }

    #[test]
    fn tolerances_and_distances() {
        let next = f64::from_bits(1f64.to_bits() + 3);
        let (a, b) = (snap(&[1.0, f64::NAN, 2.0]), snap(&[next, f64::NAN, 2.0]));
        let c = compare(&a, &b, ElementKind::F64, Tolerance::Exact);
        assert_eq!((c.different, c.max_ulp, c.first.map(|d| d.index)), (1, 3, Some(0)));
        let near = Tolerance::Relative { relative: 1e-12, absolute: 0.0 };
        assert!(compare(&a, &b, ElementKind::F64, near).same());
        let mut p = snap(&[1.0, 1.0, 1.0]);
        p.init[8..16].fill(0);
        let c = compare(&snap(&[1.0, 1.0, 1.0]), &p, ElementKind::F64, near);
        assert!(c.first.is_some_and(|d| d.one_sided && d.index == 1));
        assert_eq!(ulps(ElementKind::F64, &0f64.to_le_bytes(), &(-0f64).to_le_bytes()), 0);
    }
}
