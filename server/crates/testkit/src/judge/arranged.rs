//! Calls that begin with what a witness's run began with.

use analysis::{Entry, EntryOwner, EntryValue};
use simulate::Value;
use term::Storage;

use super::case::{Case, Given};

impl Case<'_> {
    /// The integers that the run was given for parameters.
    pub(super) fn given_sizes(&self, entry: &[Entry], sizes: &mut [Option<i128>]) {
        for e in entry {
            let (EntryOwner::Parameter(s), EntryValue::Int(v), 0) = (&e.owner, e.value, e.offset) else {
                continue;
            };
            let Storage::Param(n) = self.body.symbols[*s].storage else { continue };
            if let Some(size @ None) = sizes.get_mut(n as usize) {
                *size = Some(v);
            }
        }
    }

    /// Puts what the run was given into memory; why it cannot be, else.
    pub(super) fn arrange(&self, entry: &[Entry], call: &mut Given) -> Result<(), &'static str> {
        for e in entry {
            let bytes = match (e.value, e.size) {
                (EntryValue::Int(v), 1 | 2 | 4 | 8) => v.to_le_bytes()[..e.size as usize].to_vec(),
                (EntryValue::Real(bits), 4) => (f64::from_bits(bits) as f32).to_le_bytes().to_vec(),
                (EntryValue::Real(bits), 8) => f64::from_bits(bits).to_le_bytes().to_vec(),
                // pointers that are given: the call has its own
                (EntryValue::Apart, _) if matches!(e.owner, EntryOwner::Parameter(_)) => continue,
                _ => return Err("a value of memory"),
            };
            let (object, base) = match &e.owner {
                EntryOwner::Parameter(s) => {
                    let Storage::Param(n) = self.body.symbols[*s].storage else {
                        return Err("a value of memory");
                    };
                    match (call.args.get_mut(n as usize), e.value) {
                        (Some(arg @ Value::Int(_)), EntryValue::Int(v)) => *arg = Value::Int(v),
                        (Some(arg @ Value::F64(_)), EntryValue::Real(v)) => {
                            *arg = Value::F64(f64::from_bits(v))
                        }
                        (Some(arg @ Value::F32(_)), EntryValue::Real(v)) => {
                            *arg = Value::F32(f64::from_bits(v) as f32)
                        }
                        _ => return Err("a value of memory"),
                    }
                    continue;
                }
                EntryOwner::Global(name) => match call.heap.global(name) {
                    Some(object) => (object, 0),
                    None => return Err("a value of memory"),
                },
                EntryOwner::Behind(n) => {
                    let Some(Entry { owner: EntryOwner::Parameter(s), offset: 0, .. }) =
                        entry.get(*n as usize)
                    else {
                        return Err("a value of memory");
                    };
                    let Storage::Param(n) = self.body.symbols[*s].storage else {
                        return Err("a value of memory");
                    };
                    match call.args.get(n as usize) {
                        Some(&Value::Pointer(object, at)) => (object, at),
                        _ => return Err("a value of memory"),
                    }
                }
                EntryOwner::Other => return Err("a value of memory"),
            };
            let at = u64::try_from(base + e.offset).map_err(|_| "OutOfBounds")?;
            call.heap.write(object, at, &bytes).map_err(|_| "OutOfBounds")?;
        }
        Ok(())
    }
}
