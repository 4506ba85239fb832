//! What instructions do to memory: accesses that are checked and told, the lives of objects, and arithmetic on addresses.

use term::device::AtomicOp;
use term::TermId;

use super::{Access, AccessKind, Hooks};
use crate::arith;
use crate::code::*;
use crate::fault::FaultKind;
use crate::memory::{address, locate, Memory, ObjectId, Sides, Space};

/// An instruction that touches memory. Each of its operations gives whether the observer ends the turn.
pub(super) struct Touch<'t, H> {
    pub mem: &'t mut Memory,
    pub hooks: &'t mut H,
    /// Where it stands.
    pub func: u32,
    pub pc: u32,
    /// Of all instructions of the function.
    pub terms: &'t [TermId],
    /// Whether the observer is to know of it.
    pub told: bool,
}

impl<H: Hooks> Touch<'_, H> {
    #[inline(always)]
    fn tell(&mut self, (object, offset): (ObjectId, usize), size: u32, kind: AccessKind) -> bool {
        if !self.told {
            return false;
        }
        let (offset, term) = (offset as u32, self.terms[self.pc as usize]);
        self.hooks.access(self.mem, Access { object, offset, size, kind, func: self.func, term })
    }

    #[inline(always)]
    pub fn load(&mut self, kind: Mem, p: u64, to: &mut u64) -> Result<bool, FaultKind> {
        let (v, o, at) = load(self.mem, kind, p)?;
        *to = v;
        Ok(self.tell((o, at), kind.size(), AccessKind::Read))
    }

    #[inline(always)]
    pub fn store(&mut self, kind: Mem, p: u64, v: u64) -> Result<bool, FaultKind> {
        let cell = store(self.mem, kind, p, v)?;
        Ok(self.tell(cell, kind.size(), AccessKind::Write))
    }

    /// `to` gets what the cell held before.
    pub fn atomic(
        &mut self,
        op: AtomicOp,
        ty: AtomicTy,
        p: u64,
        [second, third]: [u64; 2],
        to: &mut u64,
    ) -> Result<bool, FaultKind> {
        let kind = match ty {
            AtomicTy::I32 => Mem::I32,
            AtomicTy::U32 | AtomicTy::F32 => Mem::U32,
            _ => Mem::B64,
        };
        let (old, o, at) = load(self.mem, kind, p)?;
        store(self.mem, kind, p, arith::atomic(op, ty, old, second, third))?;
        *to = old;
        Ok(self.tell((o, at), kind.size(), AccessKind::Atomic))
    }

    pub fn copy(&mut self, to: u64, from: u64, size: u64) -> Result<bool, FaultKind> {
        let (to, from) = self.mem.copy(to, from, size)?;
        if self.told && self.hooks.copied(self.mem, to, from, size as u32) {
            return Ok(false);
        }
        let read = self.tell(from, size as u32, AccessKind::Read);
        let written = self.tell(to, size as u32, AccessKind::Write);
        Ok(read || written)
    }

    pub fn fill(&mut self, to: u64, byte: u8, size: u64) -> Result<bool, FaultKind> {
        let cells = self.mem.fill(to, byte, size)?;
        Ok(self.tell(cells, size as u32, AccessKind::Write))
    }
}

/// `p + i` elements of `scale` bytes.
#[inline(always)]
pub(super) fn pointer_sum(p: u64, i: i64, scale: i64) -> Result<u64, FaultKind> {
    // |i| < 2^32 keeps the product exact; leaving the 4 GiB around an object would name another
    let near = (i.wrapping_add(1 << 32) as u64) < 1 << 33;
    let by = i.wrapping_mul(scale);
    let by_fits = near && (by.wrapping_add(1 << 32) as u64) < 1 << 33;
    let q = p.wrapping_add(by as u64);
    if q >> 32 != p >> 32 || !by_fits {
        return Err(if p >> 32 == 0 { FaultKind::NullDereference } else { FaultKind::PointerRange });
    }
    Ok(q)
}

/// `a - b` in elements of `scale` bytes.
pub(super) fn pointer_difference(a: u64, b: u64, scale: i64) -> Result<u64, FaultKind> {
    if a >> 32 != b >> 32 {
        return Err(FaultKind::PointerRange);
    }
    Ok(((a.wrapping_sub(b)) as i64 / scale) as u64)
}

pub(super) fn malloc(mem: &mut Memory, bytes: u64, zero: bool) -> Result<u64, FaultKind> {
    let o = mem.allocate(&"malloc".into(), bytes, 1, Space::Global)?;
    if zero && bytes > 0 {
        mem.fill(address(o, 0), 0, bytes)?;
    }
    Ok(address(o, 0))
}

pub(super) fn free(mem: &mut Memory, p: u64) -> Result<(), FaultKind> {
    if p == 0 {
        return Ok(());
    }
    match locate(p) {
        Some((o, at))
            if mem
                .get(o)
                .is_some_and(|x| x.live && (at == 0 && &*x.name == "malloc" || x.freed_at == Some(at))) =>
        {
            mem.release(o);
            Ok(())
        }
        _ => Err(FaultKind::DeadObject { object: "free".into() }),
    }
}

/// What a device's run time does to memory. Gives the function's value and the bytes that were moved.
pub(super) fn device(mem: &mut Memory, op: DeviceOp, args: &[u64]) -> Result<(u64, u64), FaultKind> {
    let (host, device) = (Sides::HOST, Sides::DEVICE);
    match (op, args) {
        (DeviceOp::Allocate, &[bytes]) => {
            let o = mem.allocate(&ON_DEVICE.into(), bytes, 1, Space::Global)?;
            if mem.run_on(host) != Sides::BOTH {
                if let Some(x) = mem.get_mut(o) {
                    x.sides = device;
                }
            }
            Ok((address(o, 0), bytes))
        }
        (DeviceOp::Free, &[0]) => Ok((0, 0)),
        (DeviceOp::Free, &[p]) => {
            let is_whole = |(o, at): &(ObjectId, i64)| {
                *at == 0 && mem.get(*o).is_some_and(|x| x.live && &*x.name == ON_DEVICE)
            };
            match locate(p).filter(is_whole) {
                Some((o, _)) => {
                    mem.release(o);
                    Ok((0, 0))
                }
                None => Err(FaultKind::DeadObject { object: "device memory given back".into() }),
            }
        }
        (DeviceOp::Copy, &[to, from, bytes, direction]) => {
            let (to_side, from_side) = match direction {
                0 => (host, host),
                1 => (device, host),
                2 => (host, device),
                3 => (device, device),
                _ => (Sides::BOTH, Sides::BOTH),
            };
            mem.transfer((to, to_side), (from, from_side), bytes)?;
            Ok((0, bytes))
        }
        (DeviceOp::Fill, &[to, byte, bytes]) => {
            let runs = mem.run_on(device);
            let filled = mem.fill(to, byte as u8, bytes);
            mem.run_on(runs);
            filled?;
            Ok((0, bytes))
        }
        _ => Err(FaultKind::BadCall { reason: "arguments of the device's run time".into() }),
    }
}

/// What memory of the device is called.
const ON_DEVICE: &str = "device memory";

/// (Re)creates a variable's object.
pub(super) fn born(
    mem: &mut Memory,
    slot: &mut u32,
    v: &Var,
    size: u64,
    func: u32,
) -> Result<u64, FaultKind> {
    let old = ObjectId(*slot);
    let same = *slot != 0 && mem.get(old).is_some_and(|o| o.live && o.data.len() as u64 == size);
    if same {
        mem.rebirth(old);
        return Ok(address(old, 0));
    }
    mem.release(old);
    let o = mem.allocate(&v.name, size, v.grain, Space::Local)?;
    if let Some(x) = mem.get_mut(o) {
        x.variable = (v.symbol.0, func);
    }
    *slot = o.0;
    Ok(address(o, 0))
}

#[inline(always)]
fn load(mem: &Memory, kind: Mem, p: u64) -> Result<(u64, ObjectId, usize), FaultKind> {
    let (v, o, at) = match kind.size() {
        1 => {
            let (b, o, at) = mem.load::<1>(p)?;
            (b[0] as u64, o, at)
        }
        2 => {
            let (b, o, at) = mem.load::<2>(p)?;
            (u16::from_le_bytes(b) as u64, o, at)
        }
        4 => {
            let (b, o, at) = mem.load::<4>(p)?;
            (u32::from_le_bytes(b) as u64, o, at)
        }
        _ => {
            let (b, o, at) = mem.load::<8>(p)?;
            (u64::from_le_bytes(b), o, at)
        }
    };
    Ok((arith::from_memory(kind, v), o, at))
}

#[inline(always)]
fn store(mem: &mut Memory, kind: Mem, p: u64, v: u64) -> Result<(ObjectId, usize), FaultKind> {
    match kind.size() {
        1 => mem.store(p, [v as u8]),
        2 => mem.store(p, (v as u16).to_le_bytes()),
        4 => mem.store(p, (v as u32).to_le_bytes()),
        _ => mem.store(p, v.to_le_bytes()),
    }
}

/// An index's value without an access; `None` if it is not set.
pub(super) fn peek(mem: &Memory, kind: u8, p: u64) -> Option<i64> {
    const KINDS: [Mem; 8] = [Mem::Bool, Mem::I8, Mem::U8, Mem::I16, Mem::U16, Mem::I32, Mem::U32, Mem::B64];
    load(mem, *KINDS.get(kind as usize)?, p).ok().map(|(v, _, _)| v as i64)
}
