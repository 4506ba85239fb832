//! Small stories of two sides, told to a ledger step by step.

use super::*;
use crate::memory::{address, Sides, Space};

/// A host array of eight bytes, its copy on the device, and what happens to them.
struct Story {
    mem: Memory,
    ledger: Ledger,
    host: ObjectId,
    device: ObjectId,
}

const AT: (u32, TermId) = (0, TermId(0));

impl Story {
    fn new() -> Story {
        let mut mem = Memory::default();
        let host = mem.allocate(&"a".into(), 8, 4, Space::Global).expect("small");
        mem.keep_apart();
        let device = mem.allocate(&"device memory".into(), 8, 1, Space::Global).expect("small");
        mem.get_mut(device).expect("alive").sides = Sides::DEVICE;
        let mut story = Story { mem, ledger: Ledger::default(), host, device };
        story.does(DeviceOp::Allocate, &[8], address(device, 0));
        story
    }

    fn does(&mut self, op: DeviceOp, args: &[u64], value: u64) {
        self.ledger.of_device(&self.mem, op, args, value, AT);
    }

    fn copied_in(&mut self) {
        let (host, device) = (address(self.host, 0), address(self.device, 0));
        self.does(DeviceOp::Copy, &[device, host, 8, 1], 0);
    }

    fn back(&mut self) {
        let (host, device) = (address(self.host, 0), address(self.device, 0));
        self.does(DeviceOp::Copy, &[host, device, 8, 2], 0);
    }

    fn accesses(&mut self, object: ObjectId, kind: AccessKind, (offset, size): (u32, u32)) {
        let a = Access { object, offset, size, kind, func: 0, term: TermId(0) };
        self.ledger.touched(&self.mem, &a);
    }

    fn kernel(&mut self, kind: AccessKind, cells: (u32, u32)) {
        self.accesses(self.device, kind, cells);
    }

    fn program(&mut self, kind: AccessKind, cells: (u32, u32)) {
        self.accesses(self.host, kind, cells);
    }

    /// Which transfers were needed, after the caller has looked at all that is left.
    fn needed(&mut self) -> Vec<bool> {
        self.ledger.read_by_caller(&self.mem, &[]);
        self.ledger.transfers.iter().map(|t| t.needed).collect()
    }

    fn is_stale(&self) -> bool {
        !self.ledger.stale().is_empty()
    }
}

use AccessKind::{Read, Write};

#[test]
fn what_is_read_on_the_other_side_is_needed() {
    let mut s = Story::new();
    s.copied_in();
    s.kernel(Read, (0, 8));
    s.kernel(Write, (0, 8));
    s.back();
    assert_eq!(s.needed(), [true, true]);
    assert!(!s.is_stale());
}

#[test]
fn what_is_written_before_it_is_read_need_not_come() {
    let mut s = Story::new();
    s.copied_in();
    s.kernel(Write, (0, 8));
    s.back();
    assert_eq!(s.needed(), [false, true]);
}

#[test]
fn what_comes_back_unwritten_must_have_gone_there() {
    let mut s = Story::new();
    s.copied_in();
    s.kernel(Write, (0, 4));
    s.back();
    assert_eq!(s.needed(), [true, true]);
    assert!(!s.is_stale());
}

#[test]
fn a_copy_of_what_is_there_is_not_needed() {
    let mut s = Story::new();
    s.copied_in();
    s.copied_in();
    s.kernel(Read, (0, 8));
    s.back();
    assert_eq!(s.needed(), [true, false, false]);
    assert!(!s.ledger.transfers()[1].changed && !s.ledger.transfers()[2].changed);
}

#[test]
fn a_copy_back_that_is_copied_over_is_not_needed() {
    let mut s = Story::new();
    s.copied_in();
    for _ in 0..3 {
        s.kernel(Read, (0, 8));
        s.kernel(Write, (0, 8));
        s.back();
    }
    assert_eq!(s.needed(), [true, false, false, true]);
}

#[test]
fn newer_values_of_the_other_side_are_missed() {
    let mut s = Story::new();
    s.copied_in();
    s.kernel(Write, (4, 4));
    s.program(Read, (0, 4));
    assert!(!s.is_stale());
    s.program(Read, (4, 4));
    let stale = &s.ledger.stale()[0];
    assert!(!stale.by_device && &*stale.array == "a" && stale.offset == 4, "{stale:?}");

    let mut s = Story::new();
    s.copied_in();
    s.program(Write, (0, 4));
    s.kernel(Read, (4, 4));
    assert!(!s.is_stale());
    s.kernel(Read, (0, 4));
    let stale = &s.ledger.stale()[0];
    assert!(stale.by_device && &*stale.array == "a" && stale.overwritten_by.is_none(), "{stale:?}");
}

#[test]
fn older_values_over_newer_ones_are_missed_when_they_are_read() {
    let mut s = Story::new();
    s.copied_in();
    s.kernel(Write, (0, 8));
    s.copied_in();
    assert!(!s.is_stale());
    s.kernel(Read, (0, 4));
    assert_eq!(s.ledger.stale()[0].overwritten_by, Some(1));
    // what is written anew is new
    let mut s = Story::new();
    s.copied_in();
    s.kernel(Write, (0, 8));
    s.copied_in();
    s.kernel(Write, (0, 8));
    s.back();
    s.program(Read, (0, 8));
    assert!(!s.is_stale());
}

#[test]
fn what_only_the_device_had_is_lost_with_it() {
    let mut s = Story::new();
    s.copied_in();
    s.kernel(Write, (0, 4));
    let device = address(s.device, 0);
    s.does(DeviceOp::Free, &[device], 0);
    assert!(s.ledger.is_lost(s.host));
    // who starts over reads what it had
    s.program(Read, (0, 8));
    assert!(!s.is_stale());
    s.program(Write, (0, 8));
    assert!(!s.ledger.is_lost(s.host));
}

#[test]
fn a_copy_on_one_side_hands_on_what_is_known() {
    let mut s = Story::new();
    let room = s.mem.allocate(&"malloc".into(), 8, 1, Space::Global).expect("small");
    s.copied_in();
    s.kernel(Write, (0, 4));
    let (to, from) = (address(room, 0), address(s.device, 0));
    s.does(DeviceOp::Copy, &[to, from, 8, 2], 0);
    s.ledger.moved((s.host, 0), (room, 0), 8, &s.mem);
    assert_eq!(s.needed(), [true, true]);
    assert_eq!(&*s.ledger.transfers()[1].array, "a");
    // it is the host's array again that the device has a copy of
    s.kernel(Write, (0, 4));
    s.program(Read, (0, 4));
    assert!(s.is_stale());
}

#[test]
fn room_that_nobody_copies_from_needs_no_transfer() {
    let mut s = Story::new();
    let room = s.mem.allocate(&"malloc".into(), 8, 1, Space::Global).expect("small");
    s.kernel(Write, (0, 8));
    let (to, from) = (address(room, 0), address(s.device, 0));
    s.does(DeviceOp::Copy, &[to, from, 8, 2], 0);
    s.mem.release(room);
    assert_eq!(s.needed(), [false]);
}
