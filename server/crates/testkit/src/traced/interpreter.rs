//! The interpreter, held to the machine: the function runs in `simulate` on what its native run began with, and every byte
//! that either touches is compared: how often it was read and written, and what it holds at the end; and the value.
//!
//! Deliberately absent: the order of accesses (C leaves much of it open), and the program's own variables, which
//! only their effects show.

use std::collections::BTreeMap;

use base::Budget;
use simulate::{
    compile, run_code, Access, AccessKind, FaultKind, Heap, Hooks, Memory, ObjectId, Options, Program, Value,
};
use term::{FloatKind, Op, TypeId, TypeKind, Types};

use super::build::{Built, Record, Run};
use super::inputs::returned;

/// Steps of one run.
const STEPS: u64 = 3_000_000;

/// A byte of the native run.
struct Byte {
    was: u8,
    is: u8,
    reads: u32,
    writes: u32,
}

/// What a byte belongs to: a parameter's memory, or a file-scope variable.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Place {
    Parameter(usize),
    Global(String),
}

#[derive(Default)]
struct Counts(BTreeMap<(ObjectId, u32), (u32, u32)>);

impl Hooks for Counts {
    fn access(&mut self, _mem: &Memory, a: Access) -> bool {
        for at in a.offset..a.offset + a.size {
            let (reads, writes) = self.0.entry((a.object, at)).or_default();
            *(if a.kind == AccessKind::Read { reads } else { writes }) += 1;
        }
        false
    }
}

/// What the two runs say.
pub(super) enum Told {
    Same,
    /// They cannot be compared, and why.
    Not(String),
    Different(String),
}

/// Whether the type has bit-fields: how much around them is read and written is the machine's own choice.
fn has_bits(types: &Types, ty: TypeId, depth: u32) -> bool {
    match types.kind(ty) {
        TypeKind::Array { of, .. } => has_bits(types, *of, depth),
        TypeKind::Pointer { to, .. } if depth == 0 => has_bits(types, *to, 1),
        TypeKind::Record(r) if depth < 6 => {
            let fields = types.record(*r).fields.as_deref().unwrap_or(&[]);
            fields.iter().any(|f| f.bits.is_some() || has_bits(types, f.ty, depth + 2))
        }
        _ => false,
    }
}

fn has_pointers(types: &Types, ty: TypeId, depth: u32) -> bool {
    match types.kind(ty) {
        TypeKind::Array { of, .. } => has_pointers(types, *of, depth),
        TypeKind::Pointer { to, .. } => depth > 0 || has_pointers(types, *to, 1),
        TypeKind::Record(r) if depth < 6 => {
            let fields = types.record(*r).fields.as_deref().unwrap_or(&[]);
            fields.iter().any(|f| has_pointers(types, f.ty, depth + 2))
        }
        _ => false,
    }
}

/// Whether structures are handed to functions, or come out of them: gcc tells nobody of those reads and writes.
fn by_value(items: &[front::Item]) -> bool {
    let record = |body: &term::Body, t| matches!(body.types.kind(body.ty(t)), TypeKind::Record(_));
    items.iter().any(|i| {
        let body = &i.body;
        let calls = body.walk(body.root).filter(|&t| *body.op(t) == Op::Call);
        calls.into_iter().any(|c| record(body, c) || body.args(c).iter().any(|&a| record(body, a)))
    })
}

pub(super) fn compare(built: &Built<'_>, run: &Run, record: &Record) -> Told {
    match told(built, run, record) {
        Told::Different(_) if by_value(&built.batch.files[built.batch.cases[run.case].file].1.unit.items) => {
            Told::Not("structures by value".to_owned())
        }
        told => told,
    }
}

fn told(built: &Built<'_>, run: &Run, record: &Record) -> Told {
    let case = &built.batch.cases[run.case];
    let a = &built.batch.files[case.file].1;
    let body = &a.unit.items[case.item].body;
    let types = &body.types;
    if !record.lines.iter().any(|w| w[0] == "Z") {
        return Told::Not("too much was touched".to_owned());
    }
    let number = |w: &[String], n: usize| w.get(n).and_then(|w| w.parse::<i128>().ok()).unwrap_or(0);
    let mut bytes: BTreeMap<Place, BTreeMap<i64, Byte>> = BTreeMap::new();
    let mut reals: BTreeMap<usize, u64> = BTreeMap::new();
    let mut value = None;
    for w in &record.lines {
        match w[0].as_str() {
            "D" => drop(reals.insert(number(w, 1) as usize, number(w, 2) as u64)),
            "V" => value = Some(number(w, 1)),
            "B" => {
                let (parameter, owner) = (number(w, 1), number(w, 2));
                let var = usize::try_from(owner).ok().and_then(|n| built.batch.tables.vars.get(n));
                let place = match (usize::try_from(parameter), var) {
                    (Ok(n), _) => Place::Parameter(n),
                    (_, Some(v)) if v.item.is_none() => Place::Global(v.name.clone()),
                    // its own static variables
                    (_, Some(_)) => continue,
                    _ => return Told::Not("memory that no parameter leads to".to_owned()),
                };
                let (was, is) = (number(w, 4) as u8, number(w, 5) as u8);
                let byte = Byte { was, is, reads: number(w, 6) as u32, writes: number(w, 7) as u32 };
                bytes.entry(place).or_default().insert(number(w, 3) as i64, byte);
            }
            _ => {}
        }
    }
    let mut heap = Heap::limited(64 << 20);
    let mut args = Vec::new();
    // objects with the offset in them at which the parameter points, or the variable begins
    let mut objects: BTreeMap<Place, (ObjectId, i64, bool)> = BTreeMap::new();
    let parameters = body.args(body.root).first().map_or(&[][..], |&l| body.args(l));
    for (n, &p) in parameters.iter().enumerate() {
        let Op::Declare(s) = *body.op(p) else { return Told::Not("parameters".to_owned()) };
        let ty = body.symbols[s].ty;
        args.push(match types.kind(ty) {
            TypeKind::Int(k) => Value::Int(k.wrap(i128::from(run.args.get(n).copied().unwrap_or(0)))),
            TypeKind::Float(FloatKind::F32) => {
                Value::F32(f64::from_bits(reals.get(&n).copied().unwrap_or(0)) as f32)
            }
            TypeKind::Float(FloatKind::F64) => {
                Value::F64(f64::from_bits(reals.get(&n).copied().unwrap_or(0)))
            }
            TypeKind::Pointer { .. } if !has_pointers(types, ty, 0) => {
                let place = Place::Parameter(n);
                let touched = bytes.entry(place.clone()).or_default();
                let low = touched.keys().next().copied().unwrap_or(0).min(0);
                let high = touched.keys().next_back().map_or(1, |k| k + 1).max(1);
                // sixteen bytes around: what is aligned stays so
                let low = low.div_euclid(64) * 64;
                let Ok(o) = heap.alloc(&format!("p{n}"), 1, (high - low) as u64) else {
                    return Told::Not("memory".to_owned());
                };
                objects.insert(place, (o, -low, has_bits(types, ty, 0)));
                Value::Pointer(o, -low)
            }
            _ => return Told::Not("a parameter that is not made up".to_owned()),
        });
    }
    for place in bytes.keys() {
        let Place::Global(name) = place else { continue };
        let found = a.unit.items.iter().find_map(|i| {
            let (_, s) = i
                .body
                .symbols
                .iter_ids()
                .find(|(_, s)| *s.name == **name && matches!(s.storage, term::Storage::Global { .. }))?;
            let bits = has_bits(&i.body.types, s.ty, 1);
            (!has_pointers(&i.body.types, s.ty, 1)).then_some(())?;
            Some((i.body.types.size_align(s.ty)?.0, bits))
        });
        let Some((size, bits)) = found else { return Told::Not("a variable that is not made up".to_owned()) };
        let Ok(o) = heap.alloc(name, 1, size) else { return Told::Not("memory".to_owned()) };
        heap.provide(name, o);
        objects.insert(place.clone(), (o, 0, bits));
    }
    for (place, all) in &bytes {
        let Some(&(o, base, _)) = objects.get(place) else {
            return Told::Not("memory of something else".to_owned());
        };
        for (at, b) in all {
            if heap.write(o, (at + base) as u64, &[b.was]).is_err() {
                return Told::Not("a variable of another size".to_owned());
            }
        }
    }
    let program = Program::of(a.unit.items.iter().map(|i| &*i.body));
    let code = match compile(&program, &body.name, &Options::default()) {
        Ok(code) => code,
        Err(f) => return Told::Not(format!("not compiled: {:?}", f.kind)),
    };
    let mut counts = Counts::default();
    let out = match run_code(&code, &args, &mut heap, &Budget::new(STEPS), &mut counts) {
        Ok(out) => out,
        Err(f) => {
            let ours = |object: &str| {
                objects.values().any(|(o, ..)| heap.memory().get(*o).is_some_and(|o| *o.name == *object))
            };
            return match f.kind.clone() {
                FaultKind::NotSupported { reason } => Told::Not(format!("not supported: {reason}")),
                _ if f.is_unknown() => Told::Not("too long".to_owned()),
                FaultKind::ConversionRange => Told::Not("a conversion out of range".to_owned()),
                // gcc drops what cannot matter (`!x > 2`): its memory was not told
                FaultKind::OutOfBounds { object, .. } | FaultKind::Uninitialized { object, .. }
                    if ours(&object) =>
                {
                    Told::Not("read by the interpreter alone".to_owned())
                }
                FaultKind::Uninitialized { .. } => Told::Not("an uninitialized variable".to_owned()),
                FaultKind::BadCall { .. } => Told::Not("a variable that is not made up".to_owned()),
                FaultKind::BadLength { .. } => Told::Not("a length that is not positive".to_owned()),
                // it asks of packed members what C asks of all others
                FaultKind::Misaligned { .. } => Told::Not("not aligned".to_owned()),
                FaultKind::PointerRange => Told::Not("a pointer out of range".to_owned()),
                kind => Told::Different(format!("the interpreter ends with {kind:?}")),
            };
        }
    };
    let same_value = match (returned(body), out.value, value) {
        (Some(TypeKind::Int(k)), Some(Value::Int(v)), Some(w)) => k.wrap(v) == k.wrap(w),
        (Some(TypeKind::Float(_)), Some(Value::F32(v)), Some(w)) => alike(f64::from(v), w),
        (Some(TypeKind::Float(_)), Some(Value::F64(v)), Some(w)) => alike(v, w),
        _ => true,
    };
    if !same_value {
        return Told::Different(format!("the value is {value:?}, in the interpreter {:?}", out.value));
    }
    for (place, (o, base, bits)) in &objects {
        let none = BTreeMap::new();
        let all = bytes.get(place).unwrap_or(&none);
        let now = heap.snapshot(*o);
        for (at, b) in all {
            let offset = (at + base) as usize;
            // what was never set may be anything
            let known = now.init.get(offset) == Some(&1);
            if known && now.data.get(offset) != Some(&b.is) {
                return Told::Different(format!(
                    "byte {at} of {place:?} is {} in the end, in the interpreter {:?}",
                    b.is,
                    now.data.get(offset)
                ));
            }
            // gcc evaluates parts twice where it checks them, reads back what it wrote (`x = y = z`), and once what is
            // written twice: how often says nothing
            let (reads, writes) = counts.0.get(&(*o, offset as u32)).copied().unwrap_or_default();
            let unread = reads == 0 && b.reads > 0 && b.writes == 0;
            if !bits && (unread || (writes == 0) != (b.writes == 0)) {
                return Told::Different(format!(
                    "byte {at} of {place:?} is read {} and written {} times, in the interpreter {reads} and {writes}",
                    b.reads, b.writes
                ));
            }
        }
        let touched = counts.0.range((*o, 0)..=(*o, u32::MAX));
        let mut more =
            touched.filter(|((_, at), (_, w))| *w > 0 && !all.contains_key(&(i64::from(*at) - base)));
        if let Some(((_, at), _)) = more.next().filter(|_| !bits) {
            return Told::Different(format!(
                "byte {} of {place:?} is written in the interpreter alone",
                i64::from(*at) - base
            ));
        }
    }
    Told::Same
}

fn alike(a: f64, bits: i128) -> bool {
    let b = f64::from_bits(bits as u64);
    a == b || a.is_nan() && b.is_nan()
}
