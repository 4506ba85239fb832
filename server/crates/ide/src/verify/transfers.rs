//! Copies between host and device, as a run of the written text made them: where, of what, and what each was good for.
//!
//! Whoever runs follows the cells ([`simulate::Ledger`]); here that becomes lines, and what several runs say together. Nothing
//! here knows why the text copies what it copies. Deliberately absent: what other inputs would need.

use std::cell::RefCell;

use rustc_hash::FxHashMap;
use simulate::{Ledger, Place, Stale};
use term::{Body, TermId};

use super::Copies;
use crate::words::plural;

/// A line of a text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct At {
    /// Which kernel file, by number; `None`: the program's own text.
    pub kernel_file: Option<usize>,
    /// From 1.
    pub line: u32,
}

/// Copies of one array, one way, at one place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Transferred {
    /// What the host calls it.
    pub array: String,
    pub to_device: bool,
    /// `None`: at no place of the texts.
    pub at: Option<At>,
    /// The innermost loop of the host around it, or around the call of what copies.
    pub in_loop: Option<At>,
    pub copies: Copies,
    /// Of how many of these it was followed who reads what they bring.
    pub judged: u64,
    /// How many of those brought what was read.
    pub needed: u64,
    /// How many brought nothing that was not there.
    pub unchanged: u64,
    /// Behind the first of a run, where they go to the device, and before the last where they come back.
    pub others: u64,
    pub others_needed: u64,
}

impl Transferred {
    /// Whether on the inputs tried nothing would have changed without it.
    pub fn can_be_left_out(&self) -> bool {
        self.judged > 0 && self.judged == self.copies.count && self.needed == 0
    }

    /// Whether one a run would have been enough.
    pub fn can_leave_its_loop(&self) -> bool {
        self.judged == self.copies.count && self.needed > 0 && self.others > 0 && self.others_needed == 0
    }

    /// What is too much of it, a sentence without its end; `files`: names of the kernel files.
    pub fn too_much(&self, files: &[String]) -> Option<String> {
        let place = self.at.map_or_else(String::new, |a| format!(" ({})", a.words(files)));
        let array = &self.array;
        if self.can_be_left_out() {
            return Some(match (self.to_device, self.unchanged == self.judged) {
                (true, true) => {
                    format!("`{array}` is copied to the GPU{place} though the same is there already")
                }
                (true, false) => {
                    format!("`{array}` is copied to the GPU{place} and not read there before it is written")
                }
                (false, true) => {
                    format!("`{array}` is copied back{place} though the GPU has not changed it")
                }
                (false, false) => format!("`{array}` is copied back{place} and not read afterwards"),
            });
        }
        let inside = self.in_loop.filter(|_| self.can_leave_its_loop())?.words(files);
        Some(match self.to_device {
            true => format!(
                "`{array}` is copied to the GPU{place} in each round of a loop ({inside}), of which only the first needs it"
            ),
            false => format!(
                "`{array}` is copied back{place} in each round of a loop ({inside}), of which only the last needs it"
            ),
        })
    }

    fn is_with(&self, other: &Transferred) -> bool {
        (&self.array, self.to_device, self.at, self.in_loop)
            == (&other.array, other.to_device, other.at, other.in_loop)
    }

    fn add(&mut self, other: &Transferred) {
        self.copies.count += other.copies.count;
        self.copies.bytes += other.copies.bytes;
        self.judged += other.judged;
        self.needed += other.needed;
        self.unchanged += other.unchanged;
        self.others += other.others;
        self.others_needed += other.others_needed;
    }
}

impl At {
    /// `line 12 of lu_k.cu`
    pub fn words(self, files: &[String]) -> String {
        match self.kernel_file.and_then(|k| files.get(k)) {
            Some(file) => format!("line {} of {file}", self.line),
            None if self.kernel_file.is_some() => format!("line {} of the kernel file", self.line),
            None => format!("line {} of the rewritten text", self.line),
        }
    }
}

/// Those of all runs, one for each array and place.
pub fn all_transferred<'t>(all: impl Iterator<Item = &'t Transferred>) -> Vec<Transferred> {
    let mut out: Vec<Transferred> = Vec::new();
    for t in all {
        match out.iter_mut().find(|o| o.is_with(t)) {
            Some(o) => o.add(t),
            None => out.push(t.clone()),
        }
    }
    out
}

/// What the copies of all runs were, and which of them were too much, in sentences. Empty where nothing was copied.
pub(super) fn said(all: &[Transferred], launches: u64, files: &[String]) -> Vec<String> {
    if all.is_empty() {
        return Vec::new();
    }
    let ways = |to_device: bool| {
        let mut out: Vec<String> = Vec::new();
        for t in all.iter().filter(|t| t.to_device == to_device) {
            let inside = match t.in_loop {
                Some(l) => format!(", in a loop of the host ({})", l.words(files)),
                None => String::new(),
            };
            let times = plural(t.copies.count as usize, "time");
            let bytes = plural(t.copies.bytes as usize, "byte");
            out.push(format!("`{}` {times} ({bytes}{inside})", t.array));
        }
        match out.is_empty() {
            true => "nothing".to_owned(),
            false => out.join(", "),
        }
    };
    let kernels = plural(launches as usize, "kernel");
    let mut out = vec![format!(
        "In these runs {kernels} ran; to the GPU went {}; back came {}.",
        ways(true),
        ways(false)
    )];
    out.extend(
        all.iter().filter_map(|t| t.too_much(files)).map(|s| format!("On none of these inputs needed: {s}.")),
    );
    out
}

/// A body that runs: where its text begins in what was read, and which text that is.
pub(super) struct Written<'a> {
    pub body: &'a Body,
    pub start: u32,
    pub text: usize,
}

impl Written<'_> {
    /// A kernel file says what it has of the program's only by prototypes.
    fn defines(&self, place: &Place) -> bool {
        self.body.name == place.function && (place.term.0 as usize) < self.body.len()
    }
}

/// The texts that run.
pub(super) struct Places<'a> {
    written: Vec<Written<'a>>,
    /// The program's, then the kernel files: how many bytes were put before it, and the text.
    texts: Vec<(usize, &'a str)>,
    found: RefCell<FxHashMap<Place, Located>>,
}

/// Line of a place, and of the innermost loop around it.
#[derive(Clone, Copy, Default)]
struct Located {
    at: Option<At>,
    in_loop: Option<At>,
}

impl<'a> Places<'a> {
    pub fn of(written: Vec<Written<'a>>, texts: Vec<(usize, &'a str)>) -> Places<'a> {
        Places { written, texts, found: RefCell::default() }
    }

    fn find(&self, place: &Place) -> Located {
        if let Some(&found) = self.found.borrow().get(place) {
            return found;
        }
        let found = self.look_up(place).unwrap_or_default();
        self.found.borrow_mut().insert(place.clone(), found);
        found
    }

    fn look_up(&self, place: &Place) -> Option<Located> {
        let w = self.written.iter().rev().find(|w| w.defines(place))?;
        let (before, text) = *self.texts.get(w.text)?;
        let line = |t: TermId| {
            let offset = (w.start + w.body.span(t).start) as usize;
            let text = text.get(..offset.checked_sub(before)?)?;
            let line = 1 + text.matches('\n').count() as u32;
            Some(At { kernel_file: w.text.checked_sub(1), line })
        };
        let parents = w.body.parents();
        let mut around = parents.get(place.term.0 as usize).copied().flatten();
        while let Some(t) = around.filter(|&t| w.body.loop_parts(t).is_none()) {
            around = parents.get(t.0 as usize).copied().flatten();
        }
        Some(Located { at: line(place.term), in_loop: around.and_then(line) })
    }

    /// What a run copied.
    pub fn transferred(&self, ledger: &Ledger) -> Vec<Transferred> {
        let all = ledger.transfers();
        let mut out: Vec<Transferred> = Vec::new();
        for (k, t) in all.iter().enumerate() {
            let at = t.calls.iter().find_map(|c| self.find(c).at);
            let in_loop = t.calls.iter().find_map(|c| self.find(c).in_loop);
            let same = |o: &&simulate::Transfer| {
                (o.to_device, o.object, &o.calls) == (t.to_device, t.object, &t.calls)
            };
            let is_other = match t.to_device {
                true => all[..k].iter().rev().any(|o| same(&o)),
                false => all[k + 1..].iter().any(|o| same(&o)),
            };
            let is_judged = ledger.is_complete();
            let one = Transferred {
                array: self.name(t),
                to_device: t.to_device,
                at,
                in_loop,
                copies: Copies { count: 1, bytes: t.bytes },
                judged: u64::from(is_judged),
                needed: u64::from(is_judged && t.needed),
                unchanged: u64::from(is_judged && !t.changed),
                others: u64::from(is_other),
                others_needed: u64::from(is_other && if t.to_device { t.needed } else { t.needed_as_last }),
            };
            match out.iter_mut().find(|o| o.is_with(&one)) {
                Some(o) => o.add(&one),
                None => out.push(one),
            }
        }
        out
    }

    /// What the text calls the host's memory: that from `malloc` has no name of its own.
    fn name(&self, t: &simulate::Transfer) -> String {
        let call = t.calls.first().filter(|_| &*t.array == "malloc");
        let named = call.and_then(|place| {
            let w = self.written.iter().rev().find(|w| w.defines(place))?;
            let argument = *w.body.args(place.term).get(if t.to_device { 2 } else { 1 })?;
            w.body.walk(argument).find_map(|t| w.body.as_name(t))
        });
        named.unwrap_or(&t.array).to_string()
    }

    /// A read of an old value, a phrase.
    pub fn stale(&self, stale: &Stale, ledger: &Ledger) -> String {
        let words = |at: Option<At>| at.map_or_else(String::new, |a| format!(" ({})", a.words(&[])));
        let place = words(stale.place.as_ref().and_then(|p| self.find(p).at));
        let Stale { array, offset, .. } = stale;
        let who = match (&stale.place, stale.by_device) {
            (Some(p), true) => {
                format!("on the GPU `{}` reads `{array}` at byte {offset}{place}", p.function)
            }
            (Some(_), false) => format!("the host reads `{array}` at byte {offset}{place}"),
            (None, _) => format!("`{array}` at byte {offset} is left to the caller"),
        };
        match stale.overwritten_by.and_then(|t| ledger.transfers().get(t)) {
            Some(t) => {
                let at = words(t.calls.iter().find_map(|c| self.find(c).at));
                format!("{who}, of which a copy{at} had put an older value in the place of the newest")
            }
            None if stale.by_device => {
                format!("{who}, of which the host has a newer value that was not copied")
            }
            None => format!("{who}, of which the GPU has a newer value that was not copied back"),
        }
    }
}
