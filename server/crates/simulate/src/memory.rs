//! Memory: objects of bytes, each byte with an "initialized" mark, and addresses that name object and offset.
//!
//! An address is one 64-bit number: the object's number in the high half, the byte offset plus 2^31 in the low half.
//! So pointers can be stored, cast to integers and back, and compared, and an access outside its object is always seen
//! (offsets up to ±2 GiB; objects are smaller than that). Object 0 does not exist: address 0 is the null pointer.
//!
//! Deliberately absent: page tables, endianness other than little, concurrency (see `grid`).

use std::sync::Arc;

use crate::fault::FaultKind;
use crate::limits::memory::QUARANTINE;

/// A piece of memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ObjectId(pub u32);

/// Who can reach a piece of memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Space {
    /// Buffers given by the caller, globals, `malloc`: seen by all threads of a grid.
    Global,
    /// `__constant__` variables: no thread of a grid may write them.
    Constant,
    /// One block's `__shared__` memory.
    Shared { block: u32 },
    /// A variable of one call.
    Local,
}

/// Whose memory a piece of memory is, and who runs: the host, the device, or both alike where nobody keeps them apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Sides(u8);

impl Sides {
    pub const HOST: Sides = Sides(1);
    pub const DEVICE: Sides = Sides(2);
    pub const BOTH: Sides = Sides(3);

    /// Whether some side is one of the other's.
    pub fn meets(self, other: Sides) -> bool {
        self.0 & other.0 != 0
    }
}

/// The middle of the low half: offset 0.
const BIAS: u64 = 1 << 31;
/// Largest object in bytes.
pub const MAX_OBJECT_BYTES: u64 = (1 << 31) - 4096;
/// Byte that uninitialized memory holds, so that reading it by mistake looks odd.
pub const POISON: u8 = 0xCB;

/// The address of a byte.
pub fn address(object: ObjectId, offset: i64) -> u64 {
    ((object.0 as u64) << 32 | BIAS).wrapping_add(offset as u64)
}

/// The byte an address names; `None` for null and integers that are no address.
pub fn locate(address: u64) -> Option<(ObjectId, i64)> {
    let object = (address >> 32) as u32;
    (object != 0).then_some((ObjectId(object), (address & 0xFFFF_FFFF) as i64 - BIAS as i64))
}

/// One object.
#[derive(Clone, Debug)]
pub struct MemoryObject {
    pub name: Arc<str>,
    pub data: Vec<u8>,
    /// 1 where the byte was written.
    pub init: Vec<u8>,
    /// Smallest scalar in it, in bytes: the unit of traces and race detection.
    pub grain: u32,
    pub space: Space,
    pub live: bool,
    pub read_only: bool,
    /// Which execution of a declaration this is: another number means other cells, though the bytes are reused.
    pub incarnation: u64,
    /// The byte whose address `free` takes, of what a caller made in the place of an allocation.
    pub freed_at: Option<i64>,
    /// For variables: the symbol's number and the function's (`u32::MAX` where there is none).
    pub variable: (u32, u32),
    /// Who can reach it.
    pub sides: Sides,
}

/// All objects of one run.
#[derive(Clone, Debug)]
pub struct Memory {
    objects: Vec<MemoryObject>,
    free: std::collections::VecDeque<u32>,
    bytes: u64,
    /// Most bytes alive at once.
    pub limit: u64,
    next_incarnation: u64,
    /// Who runs.
    side: Sides,
}

/// A byte of an object.
pub type Spot = (ObjectId, usize);

impl Default for Memory {
    fn default() -> Self {
        Memory::new(2 << 30)
    }
}

impl Memory {
    /// Empty, with a limit in bytes.
    pub fn new(limit: u64) -> Memory {
        let none = MemoryObject {
            name: "null".into(),
            data: Vec::new(),
            init: Vec::new(),
            grain: 1,
            space: Space::Global,
            live: false,
            read_only: true,
            incarnation: 0,
            freed_at: None,
            variable: (u32::MAX, u32::MAX),
            sides: Sides::BOTH,
        };
        Memory {
            objects: vec![none],
            free: Default::default(),
            bytes: 0,
            limit,
            next_incarnation: 1,
            side: Sides::BOTH,
        }
    }

    /// A new object of `bytes` uninitialized bytes.
    pub fn allocate(
        &mut self,
        name: &Arc<str>,
        bytes: u64,
        grain: u32,
        space: Space,
    ) -> Result<ObjectId, FaultKind> {
        if bytes > MAX_OBJECT_BYTES || self.bytes.saturating_add(bytes) > self.limit {
            return Err(FaultKind::MemoryLimit);
        }
        self.bytes += bytes;
        let incarnation = self.next_incarnation;
        self.next_incarnation += 1;
        let object = MemoryObject {
            name: name.clone(),
            data: vec![POISON; bytes as usize],
            init: vec![0; bytes as usize],
            grain: grain.max(1),
            space,
            live: true,
            read_only: false,
            incarnation,
            freed_at: None,
            variable: (u32::MAX, u32::MAX),
            // what a kernel makes is gone before the host runs again
            sides: if self.side == Sides::HOST { Sides::HOST } else { Sides::BOTH },
        };
        if self.free.len() > QUARANTINE {
            if let Some(i) = self.free.pop_front() {
                if let Some(slot) = self.objects.get_mut(i as usize) {
                    *slot = object;
                    return Ok(ObjectId(i));
                }
            }
        }
        if self.objects.len() >= u32::MAX as usize {
            return Err(FaultKind::MemoryLimit);
        }
        self.objects.push(object);
        Ok(ObjectId((self.objects.len() - 1) as u32))
    }

    /// Ends an object's life.
    pub fn release(&mut self, id: ObjectId) {
        if let Some(o) = self.objects.get_mut(id.0 as usize) {
            if o.live {
                self.bytes -= o.data.len() as u64;
                o.live = false;
                o.data = Vec::new();
                o.init = Vec::new();
                self.free.push_back(id.0);
            }
        }
    }

    /// The declaration runs again: the same bytes, uninitialized, as other cells.
    pub fn rebirth(&mut self, id: ObjectId) {
        let incarnation = self.next_incarnation;
        self.next_incarnation += 1;
        if let Some(o) = self.objects.get_mut(id.0 as usize) {
            o.data.fill(POISON);
            o.init.fill(0);
            o.incarnation = incarnation;
        }
    }

    /// From now on the host and the device have memory of their own: all that is there is the host's, who runs.
    pub fn keep_apart(&mut self) {
        self.side = Sides::HOST;
        self.objects.iter_mut().for_each(|o| o.sides = Sides::HOST);
    }

    /// Says who runs from now on, where they are kept apart. Gives who ran before.
    pub fn run_on(&mut self, side: Sides) -> Sides {
        match self.side {
            Sides::BOTH => Sides::BOTH,
            before => {
                self.side = side;
                before
            }
        }
    }

    /// Memory of the device that was not given back: of how many pieces, and bytes.
    pub fn left_on_device(&self) -> (usize, u64) {
        let left = self.objects.iter().filter(|o| o.live && o.sides == Sides::DEVICE);
        left.fold((0, 0), |(n, bytes), o| (n + 1, bytes + o.data.len() as u64))
    }

    /// An object, dead or alive.
    pub fn get(&self, id: ObjectId) -> Option<&MemoryObject> {
        self.objects.get(id.0 as usize).filter(|_| id.0 != 0)
    }
    /// An object to change.
    pub fn get_mut(&mut self, id: ObjectId) -> Option<&mut MemoryObject> {
        self.objects.get_mut(id.0 as usize).filter(|_| id.0 != 0)
    }
    /// Number of objects ever made (numbers are below it).
    pub fn len(&self) -> usize {
        self.objects.len()
    }
    /// Whether nothing was allocated yet.
    pub fn is_empty(&self) -> bool {
        self.objects.len() <= 1
    }

    /// Checks an access of `size` bytes and says where it is.
    #[inline]
    pub fn check(&self, addr: u64, size: u64, align: u64) -> Result<(ObjectId, usize), FaultKind> {
        let id = (addr >> 32) as u32;
        let offset = (addr & 0xFFFF_FFFF) as i64 - BIAS as i64;
        match self.objects.get(id as usize) {
            Some(o)
                if o.live
                    && o.sides.meets(self.side)
                    && offset >= 0
                    && (offset as u64).saturating_add(size) <= o.data.len() as u64
                    && (offset as u64) & (align - 1) == 0 =>
            {
                Ok((ObjectId(id), offset as usize))
            }
            _ => Err(self.why(id, offset, size)),
        }
    }

    #[cold]
    fn why(&self, id: u32, offset: i64, size: u64) -> FaultKind {
        match self.objects.get(id as usize) {
            _ if id == 0 => FaultKind::NullDereference,
            None => FaultKind::NullDereference,
            Some(o) if !o.live => FaultKind::DeadObject { object: o.name.clone() },
            Some(o) if offset < 0 || (offset as u64).saturating_add(size) > o.data.len() as u64 => {
                FaultKind::OutOfBounds {
                    object: o.name.clone(),
                    object_bytes: o.data.len() as u64,
                    offset,
                    size,
                }
            }
            Some(o) if !o.sides.meets(self.side) => {
                FaultKind::OtherSide { object: o.name.clone(), on_device: o.sides == Sides::DEVICE }
            }
            Some(_) => FaultKind::Misaligned { offset, size },
        }
    }

    /// Loads `N` bytes that must be initialized.
    #[inline]
    pub fn load<const N: usize>(&self, addr: u64) -> Result<([u8; N], ObjectId, usize), FaultKind> {
        let (id, at) = self.check(addr, N as u64, N as u64)?;
        let o = &self.objects[id.0 as usize];
        match (o.init.get(at..at + N), o.data.get(at..at + N)) {
            (Some(init), Some(data)) if init == [1u8; N] => {
                let mut out = [0u8; N];
                out.copy_from_slice(data);
                Ok((out, id, at))
            }
            _ => Err(FaultKind::Uninitialized { object: o.name.clone(), offset: at as i64 }),
        }
    }

    /// Stores `N` bytes.
    #[inline]
    pub fn store<const N: usize>(
        &mut self,
        addr: u64,
        bytes: [u8; N],
    ) -> Result<(ObjectId, usize), FaultKind> {
        let (id, at) = self.check(addr, N as u64, N as u64)?;
        let o = &mut self.objects[id.0 as usize];
        if o.read_only {
            return Err(FaultKind::WriteToConst { object: o.name.clone() });
        }
        if let (Some(data), Some(init)) = (o.data.get_mut(at..at + N), o.init.get_mut(at..at + N)) {
            data.copy_from_slice(&bytes);
            init.fill(1);
        }
        Ok((id, at))
    }

    /// Copies bytes with their marks (struct assignment, `memcpy`); overlapping is allowed.
    pub fn copy(&mut self, to: u64, from: u64, size: u64) -> Result<(Spot, Spot), FaultKind> {
        let (fid, fat) = self.check(from, size, 1)?;
        let (tid, tat) = self.check(to, size, 1)?;
        let n = size as usize;
        let f = &self.objects[fid.0 as usize];
        let data = f.data[fat..fat + n].to_vec();
        let init = f.init[fat..fat + n].to_vec();
        let t = &mut self.objects[tid.0 as usize];
        if t.read_only && n > 0 {
            return Err(FaultKind::WriteToConst { object: t.name.clone() });
        }
        t.data[tat..tat + n].copy_from_slice(&data);
        t.init[tat..tat + n].copy_from_slice(&init);
        Ok(((tid, tat), (fid, fat)))
    }

    /// Copies between the sides, whoever runs: `to` and `from` say whose memory each must be.
    pub fn transfer(
        &mut self,
        (to, to_side): (u64, Sides),
        (from, from_side): (u64, Sides),
        size: u64,
    ) -> Result<(), FaultKind> {
        if size == 0 {
            return Ok(());
        }
        let runs = self.side;
        for (address, side) in [(to, to_side), (from, from_side)] {
            self.side = side;
            let found = self.check(address, size, 1);
            self.side = runs;
            found?;
        }
        self.side = Sides::BOTH;
        let copied = self.copy(to, from, size);
        self.side = runs;
        copied.map(|_| ())
    }

    /// Zeros where nobody wrote yet, from an address to the end of its object. Gives the number of bytes looked at.
    pub fn settle(&mut self, from: u64) -> u64 {
        let Some((id, at)) = locate(from) else { return 0 };
        let Some(o) = self.get_mut(id).filter(|o| o.live && !o.read_only) else { return 0 };
        let at = at.clamp(0, o.data.len() as i64) as usize;
        for (byte, init) in o.data[at..].iter_mut().zip(&mut o.init[at..]).filter(|(_, init)| **init == 0) {
            (*byte, *init) = (0, 1);
        }
        (o.data.len() - at) as u64
    }

    /// Sets bytes and marks them initialized.
    pub fn fill(&mut self, to: u64, byte: u8, size: u64) -> Result<(ObjectId, usize), FaultKind> {
        let (id, at) = self.check(to, size, 1)?;
        let o = &mut self.objects[id.0 as usize];
        if o.read_only && size > 0 {
            return Err(FaultKind::WriteToConst { object: o.name.clone() });
        }
        let n = size as usize;
        o.data[at..at + n].fill(byte);
        o.init[at..at + n].fill(1);
        Ok((id, at))
    }
}
