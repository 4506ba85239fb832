//! Calls of a generated function: sizes, which pointers share memory, and what is in it.

use simulate::{Fault, Heap, ObjectId, Value};

use super::{Array, Nest, Place, Ty};
use crate::rng::Rng;

/// Elements before and after the place a pointer points to.
pub const MARGIN: usize = 400;

/// The arguments of one call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Call {
    /// In the order of [`Nest::sizes`].
    pub sizes: Vec<i128>,
    /// For each array the number of its object (globals have their own) and by how many elements it is moved.
    pub objects: Vec<(usize, i64)>,
    /// Of the contents.
    pub seed: u64,
    pub margin: usize,
}

/// A call's memory.
pub struct Memory {
    pub heap: Heap,
    pub args: Vec<Value>,
    /// What each array names, in the order of [`Nest::arrays`].
    pub objects: Vec<ObjectId>,
    /// All objects, by number.
    pub own: Vec<ObjectId>,
}

fn signed(ty: Ty) -> bool {
    matches!(ty, Ty::Int | Ty::Long | Ty::Short)
}

impl Call {
    /// A random call.
    pub fn random(nest: &Nest, rng: &mut Rng, may_share: bool) -> Call {
        let small = rng.chance(20);
        let sizes = nest
            .sizes
            .iter()
            .map(|(name, ty)| match name.as_str() {
                // a step of the wrong sign, or of none
                "k" if signed(*ty) && rng.chance(15) => rng.between(-2, 0) as i128,
                "k" => rng.between(1, 3) as i128,
                _ if signed(*ty) && rng.chance(4) => -1,
                _ if small => rng.between(0, 2) as i128,
                _ => rng.between(2, 8) as i128,
            })
            .collect();
        let mut objects: Vec<(usize, i64)> = Vec::new();
        for (n, a) in nest.arrays.iter().enumerate() {
            let mut here = (n, 0);
            let free = |a: &Array| {
                a.is_param() && !a.is_restrict() && !a.subscripts && !matches!(a.place, Place::Pairs)
            };
            if may_share && free(a) && rng.chance(40) {
                let other = nest.arrays[..n].iter().position(|b| free(b) && b.ty == a.ty);
                if let Some(o) = other {
                    here = (objects[o].0, if rng.chance(50) { 0 } else { rng.between(-6, 6) });
                }
            }
            objects.push(here);
        }
        Call { sizes, objects, seed: rng.bits(), margin: MARGIN }
    }

    /// A call in which no two arrays share memory.
    pub fn apart(nest: &Nest, sizes: Vec<i128>, margin: usize) -> Call {
        Call { sizes, objects: (0..nest.arrays.len()).map(|n| (n, 0)).collect(), seed: 1, margin }
    }

    /// Bytes of each object, by number, as they are before the call.
    pub fn contents(&self, nest: &Nest) -> Vec<Vec<u8>> {
        nest.arrays
            .iter()
            .enumerate()
            .map(|(n, a)| {
                let mut rng = Rng::new(self.seed ^ (n as u64 + 1));
                let count = match &a.place {
                    Place::Global { lengths } => lengths.iter().product(),
                    Place::Pairs => 4 * self.margin,
                    _ => 2 * self.margin,
                };
                let mut out = Vec::with_capacity(count * a.ty.size());
                for _ in 0..count {
                    let v = if a.subscripts { rng.between(0, 9) } else { rng.between(-1, 9) };
                    match a.ty {
                        Ty::Short => out.extend((v as i16).to_le_bytes()),
                        Ty::Int => out.extend((v as i32).to_le_bytes()),
                        Ty::UInt => out.extend((v.unsigned_abs() as u32).to_le_bytes()),
                        Ty::Long => out.extend(v.to_le_bytes()),
                        Ty::SizeT => out.extend(v.unsigned_abs().to_le_bytes()),
                        Ty::Float => out.extend((v as f32 * 0.5).to_le_bytes()),
                        Ty::Double => out.extend((v as f64 * 0.25).to_le_bytes()),
                    }
                }
                out
            })
            .collect()
    }

    /// Makes the memory and the arguments.
    pub fn build(&self, nest: &Nest) -> Result<Memory, Fault> {
        let mut heap = Heap::new();
        let contents = self.contents(nest);
        let mut own = Vec::new();
        for (a, bytes) in nest.arrays.iter().zip(&contents) {
            let o = heap.alloc(&a.name, a.ty.size() as u32, (bytes.len() / a.ty.size()) as u64)?;
            heap.write(o, 0, bytes)?;
            if !a.is_param() {
                heap.provide(&a.name, o);
            }
            own.push(o);
        }
        let objects: Vec<ObjectId> = self.objects.iter().map(|(n, _)| own[*n]).collect();
        let mut args: Vec<Value> = self.sizes.iter().map(|v| Value::Int(*v)).collect();
        for (n, a) in nest.arrays.iter().enumerate() {
            if a.is_param() {
                args.push(Value::Pointer(objects[n], self.offset(a, n)));
            }
        }
        Ok(Memory { heap, args, objects, own })
    }

    /// Byte offset of an array parameter in its object.
    pub fn offset(&self, a: &Array, n: usize) -> i64 {
        let unit = a.ty.size() as i64 * if matches!(a.place, Place::Pairs) { 2 } else { 1 };
        (self.margin as i64 + self.objects[n].1) * unit
    }

    /// `n=3 m=2, b shares the memory of a (+1)`
    pub fn describe(&self, nest: &Nest) -> String {
        let mut out: Vec<String> =
            nest.sizes.iter().zip(&self.sizes).map(|((n, _), v)| format!("{n}={v}")).collect();
        for (n, (o, at)) in self.objects.iter().enumerate() {
            if *o != n {
                out.push(format!("{} is {} moved by {at}", nest.arrays[n].name, nest.arrays[*o].name));
            }
        }
        out.push(format!("contents of seed {}", self.seed));
        out.join(", ")
    }

    /// Steps a run may take.
    pub const STEPS: u64 = 400_000;
}
