//! Arguments for a kernel nobody described: scalars from the launch, arrays of random numbers that are as large as said,
//! or, where nothing is said, as large as the kernel turns out to need.

use simulate::{ElementKind, Heap, ObjectId, Rng, Value};
use term::{Body, FloatKind, Op, TypeKind};

use super::shape::Shape;
use crate::limits::kernels_inputs::MAX_BYTES;
use crate::verify::Layout;

/// A parameter and what it is given.
#[derive(Clone, Debug)]
pub(super) enum Argument {
    Scalar { name: String, value: Value, said: bool },
    Array { name: String, layout: Layout, elements: u64, said: bool },
}

/// What the kernel takes. `Err`: what cannot be made up.
pub(super) fn arguments(body: &Body, shape: &Shape) -> Result<Vec<Argument>, String> {
    let all = |e: &[u32; 3]| e.iter().fold(1u64, |p, &x| p.saturating_mul(x as u64));
    let extent = |axis: usize| shape.grid[axis] as u64 * shape.block[axis] as u64;
    let threads = all(&shape.grid).saturating_mul(all(&shape.block));
    // a launch of one dimension has one size, one of two has width and height
    let flat = shape.grid[1] * shape.block[1] * shape.grid[2] * shape.block[2] == 1;
    let mut axis = 0;
    let list = body.args(body.root).first().copied();
    let mut out = Vec::new();
    for &p in list.iter().flat_map(|&l| body.args(l)) {
        let Op::Declare(s) = *body.op(p) else { continue };
        let symbol = &body.symbols[s];
        let name = symbol.name.to_string();
        let written = shape.values.iter().rev().find(|(n, _)| *n == name).map(|(_, v)| v.as_str());
        let wrong = |v: &str| format!("`{v}` is no value for `{name}`");
        out.push(match body.types.kind(symbol.ty) {
            &TypeKind::Int(kind) => {
                let value = match written {
                    Some(v) => v.parse::<i128>().map_err(|_| wrong(v))?,
                    None if flat => threads as i128,
                    None => {
                        axis += 1;
                        extent((axis - 1) % 3) as i128
                    }
                };
                if value < kind.min() || value > kind.max() {
                    return Err(wrong(&value.to_string()));
                }
                Argument::Scalar { name, value: Value::Int(value), said: written.is_some() }
            }
            TypeKind::Float(kind @ (FloatKind::F32 | FloatKind::F64)) => {
                let value = match written {
                    Some(v) => v.trim_end_matches(['f', 'F']).parse::<f64>().map_err(|_| wrong(v))?,
                    None => 0.25,
                };
                let single = *kind == FloatKind::F32;
                let value = if single { Value::F32(value as f32) } else { Value::F64(value) };
                Argument::Scalar { name, value, said: written.is_some() }
            }
            TypeKind::Pointer { to, .. } => {
                let mut element = *to;
                while let TypeKind::Array { of, .. } = body.types.kind(element) {
                    element = *of;
                }
                let Some(layout) = Layout::of(&body.types, element, 0)
                    .filter(|l| l.pointers.is_empty() && l.raw.is_empty() && !l.leaves.is_empty())
                else {
                    return Err(format!("no contents can be made up for what `{name}` points to"));
                };
                let said = shape.elements.iter().rev().find(|(n, _)| *n == name).map(|(_, c)| *c);
                Argument::Array {
                    name,
                    layout,
                    elements: said.unwrap_or(threads.max(1)),
                    said: said.is_some(),
                }
            }
            _ => return Err(format!("no value can be made up for the parameter `{name}`")),
        });
    }
    for (name, _) in &shape.values {
        if !out.iter().any(|a| matches!(a, Argument::Scalar { name: n, .. } if n == name)) {
            return Err(format!("`{name}` is given a value, but no number is taken under that name"));
        }
    }
    for (name, _) in &shape.elements {
        if !out.iter().any(|a| matches!(a, Argument::Array { name: n, .. } if n == name)) {
            return Err(format!("`{name}` is given a size, but no array is taken under that name"));
        }
    }
    Ok(out)
}

/// Memory and values for one run: the same seed gives the same.
pub(super) fn make(list: &[Argument], seed: u64) -> Result<(Heap, Vec<Value>, Vec<ObjectId>), String> {
    let (mut heap, mut values, mut objects) = (Heap::new(), Vec::new(), Vec::new());
    for a in list {
        match a {
            Argument::Scalar { value, .. } => values.push(*value),
            Argument::Array { name, layout, elements, .. } => {
                let grain = layout.leaves.iter().map(|l| l.1.size()).min().unwrap_or(1) as u32;
                let bytes = elements.saturating_mul(layout.bytes);
                let units = bytes.div_ceil(grain as u64);
                let o = heap.alloc(name, grain, units).map_err(|f| format!("`{name}` is too large: {f}"))?;
                // every array has its own numbers, whatever the sizes of the others
                let mut rng = Rng(seed ^ (objects.len() as u64 + 1).wrapping_mul(0x9E37_79B9));
                let mut contents = Vec::with_capacity(bytes as usize);
                for _ in 0..*elements {
                    element(layout, &mut rng, &mut contents);
                }
                heap.write(o, 0, &contents).map_err(|f| f.to_string())?;
                objects.push(o);
                values.push(Value::Pointer(o, 0));
            }
        }
    }
    Ok((heap, values, objects))
}

fn element(layout: &Layout, rng: &mut Rng, out: &mut Vec<u8>) {
    let from = out.len();
    out.resize(from + layout.bytes as usize, 0);
    for &(at, kind) in &layout.leaves {
        let size = kind.size();
        let unit = (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let bits = match kind {
            ElementKind::F64 => (unit * 2.0 - 1.0).to_bits(),
            ElementKind::F32 => ((unit * 2.0 - 1.0) as f32).to_bits() as u64,
            // small enough to be an index or a colour
            _ => (unit * 100.0) as u64,
        };
        if let Some(d) = out.get_mut(from + at as usize..from + at as usize + size) {
            d.copy_from_slice(&bits.to_le_bytes()[..size]);
        }
    }
}

/// Makes room for an access that ended at byte `end` of an array whose size nobody said. `false`: there is none.
pub(super) fn grow(list: &mut [Argument], array: &str, end: u64) -> bool {
    for a in list {
        if let Argument::Array { name, layout, elements, said: false } = a {
            if name == array && end <= MAX_BYTES {
                // the next access of a sweep lies further on: some room ahead saves runs
                *elements =
                    end.div_ceil(layout.bytes).max(elements.saturating_mul(2).min(MAX_BYTES / layout.bytes));
                return true;
            }
        }
    }
    false
}
