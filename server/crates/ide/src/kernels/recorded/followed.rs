//! A launch followed in the simulator: how large its arrays must be, which of them it reads and writes, and what they hold behind it.

use base::Budget;
use rustc_hash::FxHashSet;
use simulate::{AccessKind, Fault, FaultKind, Finding, Heap, Launch, ObjectId, Schedule, Value};

use term::Space;

use super::super::inputs::{self, Argument};
use super::super::Shape;
use super::{array_name, bytes_of, launch_words, pieces, Recorder};
use crate::limits::kernels_recorded::{
    COMPARED_BYTES, COMPARED_STEPS, INTERLEAVINGS, MADE_BYTES, NEAR, STEPS,
};

/// What memory holds that nothing has written: the worker's byte.
pub(super) const POISON: u8 = 0xCB;

/// Why a launch was not followed.
#[derive(Clone)]
pub(super) enum Stop {
    TooLarge,
    /// What goes wrong in it, a phrase, and with which launch.
    Wrong(String, Box<Shape>),
}

impl Stop {
    pub fn words(&self) -> String {
        match self {
            Stop::TooLarge => {
                "one block of it takes more steps or memory than the simulator is given here".to_owned()
            }
            Stop::Wrong(why, at) => {
                format!("{} goes wrong in the simulator: {why}", launch_words(at, "").trim_end())
            }
        }
    }
}

/// A launch that was followed.
#[derive(Clone)]
pub(super) struct Followed {
    pub arguments: Vec<Argument>,
    /// Arrays whose first contents nothing reads, and those that something writes.
    pub unread: FxHashSet<String>,
    pub written: FxHashSet<String>,
    /// What each array holds behind it.
    pub left: Vec<Vec<u8>>,
    /// The same to the last bit in every order of threads that was tried.
    pub exact: bool,
    /// Why what is left says nothing, a phrase.
    pub unsure: Option<String>,
}

impl Recorder<'_> {
    /// The launch, or as many blocks of it as the simulator manages.
    pub(super) fn compared(&self, shape: &Shape) -> Result<(Followed, Shape), Stop> {
        let mut at = shape.clone();
        loop {
            match self.follow(&at, COMPARED_STEPS, COMPARED_BYTES) {
                Ok(mut followed) => {
                    self.interleave(&mut followed, &at)?;
                    return Ok((followed, at));
                }
                Err(Stop::TooLarge) if at.grid != [1; 3] || !at.elements.is_empty() => {
                    at.elements.clear();
                    if let Some(most) = at.grid.iter_mut().max_by_key(|e| **e) {
                        *most = most.div_ceil(2);
                    }
                }
                Err(stop) => return Err(stop),
            }
        }
    }

    /// What the launch needs, at a size whose results nobody knows.
    pub(super) fn sized(&self, shape: &Shape) -> Result<Followed, String> {
        let arguments = inputs::arguments(&self.item.body, shape)?;
        let open = arguments.iter().filter_map(|a| match a {
            Argument::Array { name, said: false, .. } => Some(format!("-s {name}=ELEMENTS")),
            _ => None,
        });
        let open: Vec<String> = open.collect();
        if open.is_empty() {
            // all is brought there and back
            let written = arguments.iter().filter_map(array_name).map(str::to_owned).collect();
            let (unread, left) = (FxHashSet::default(), Vec::new());
            return Ok(Followed { arguments, unread, written, left, exact: false, unsure: None });
        }
        match self.follow(shape, STEPS, MADE_BYTES) {
            Ok(followed) => Ok(followed),
            Err(Stop::Wrong(why, _)) => Err(why),
            Err(Stop::TooLarge) => Err(format!(
                "the launch {} is too large for the simulator, which finds out how large arrays must be: say it ({}), or ask for a \
                 smaller launch (--launch {}=GRID,BLOCK)",
                launch_words(shape, "").trim_end(),
                open.join(" "),
                self.item.name
            )),
        }
    }

    /// One run of warps in step, with arrays as large as it turns out to need.
    fn follow(&self, shape: &Shape, steps: u64, most_bytes: u64) -> Result<Followed, Stop> {
        let wrong = |why: String| Stop::Wrong(why, Box::new(shape.clone()));
        let threads = shape.grid.iter().chain(&shape.block).fold(1u64, |p, &x| p.saturating_mul(x.into()));
        if threads.saturating_mul(self.code.least_steps()) > steps {
            return Err(Stop::TooLarge);
        }
        let mut arguments = inputs::arguments(&self.item.body, shape).map_err(wrong)?;
        let budget = Budget::with_cancel(steps, self.ask.cancel.clone());
        let none = FxHashSet::default();
        let counts = loop {
            if bytes_of(&arguments) > most_bytes {
                return Err(Stop::TooLarge);
            }
            let (report, _) = self.run(&arguments, &none, shape, Schedule::counted(1), &budget)?;
            let short = report.findings.iter().find_map(|f| match f {
                Finding::Fault(Fault {
                    kind: FaultKind::OutOfBounds { object, offset, size, .. }, ..
                }) if *offset >= 0 => Some((object.to_string(), *offset as u64 + size)),
                _ => None,
            });
            match short {
                Some((object, end)) if inputs::grow(&mut arguments, &object, end) => {}
                _ => {
                    self.judged(&report, shape)?;
                    break report.counts.unwrap_or_default();
                }
            }
        };
        let of = |wanted: &[AccessKind]| -> FxHashSet<String> {
            let global = counts.accesses.iter().filter(|a| a.space == Space::Global);
            global.filter(|a| wanted.contains(&a.kind)).map(|a| a.object.to_string()).collect()
        };
        let read = of(&[AccessKind::Read, AccessKind::Atomic]);
        let written = of(&[AccessKind::Write, AccessKind::Atomic]);
        let names = arguments.iter().filter_map(array_name);
        if let Some(kept) = written.iter().find(|w| !arguments.iter().any(|a| array_name(a) == Some(w))) {
            return Err(wrong(format!(
                "it writes the file-scope variable `{kept}`, which keeps what earlier runs left in it, so that a second run is another one"
            )));
        }
        let unread = names.filter(|n| !read.contains(*n)).map(str::to_owned).collect();
        let (report, left) = self.run(&arguments, &unread, shape, Schedule::counted(1), &budget)?;
        let raced = report.findings.iter().find_map(|f| match f {
            Finding::Race(r) => Some(format!("threads touch `{}` without order", r.name)),
            _ => None,
        });
        Ok(Followed { arguments, unread, written, left, exact: true, unsure: raced })
    }

    /// Further runs, in which threads come in other orders.
    fn interleave(&self, followed: &mut Followed, shape: &Shape) -> Result<(), Stop> {
        for seed in 0..INTERLEAVINGS {
            let budget = Budget::with_cancel(4 * COMPARED_STEPS, self.ask.cancel.clone());
            let schedule = Schedule::seeded(seed);
            let ran = self.run(&followed.arguments, &followed.unread, shape, schedule, &budget)?;
            self.judged(&ran.0, shape)?;
            let raced = ran.0.findings.iter().find_map(|f| match f {
                Finding::Race(r) => Some(format!("threads touch `{}` without order", r.name)),
                _ => None,
            });
            followed.unsure = followed.unsure.take().or(raced);
            followed.exact &= followed.left == ran.1;
            let arrays = followed.arguments.iter().filter(|a| array_name(a).is_some());
            let far = arrays.zip(&followed.left).zip(&ran.1).find(|((a, x), y)| !is_near(a, x, y));
            if let (Some(((a, _), _)), None) = (far, &followed.unsure) {
                let name = array_name(a).unwrap_or_default();
                followed.unsure =
                    Some(format!("what it leaves in `{name}` depends on the order of its threads"));
            }
        }
        Ok(())
    }

    /// Whether all went well, but for races.
    fn judged(&self, report: &simulate::GridReport, shape: &Shape) -> Result<(), Stop> {
        let found = report.findings.iter().find_map(|f| match f {
            Finding::Race(_) => None,
            Finding::Fault(fault) => Some(format!("{fault}, with what was made up for it")),
            Finding::BarrierDivergence { .. } => {
                Some("not all threads of a block reach a barrier".to_owned())
            }
            Finding::WarpMask { .. } => Some("a mask names other lanes than arrive".to_owned()),
            Finding::UndefinedShuffle { .. } => {
                Some("a shuffle reads from a lane that takes no part".to_owned())
            }
        });
        match found {
            Some(what) => Err(Stop::Wrong(what, Box::new(shape.clone()))),
            None if !report.completed => {
                Err(Stop::Wrong("it does not come to its end".to_owned(), Box::new(shape.clone())))
            }
            None => Ok(()),
        }
    }

    fn run(
        &self,
        arguments: &[Argument],
        unread: &FxHashSet<String>,
        shape: &Shape,
        schedule: Schedule,
        budget: &Budget,
    ) -> Result<(simulate::GridReport, Vec<Vec<u8>>), Stop> {
        let wrong = |why: String| Stop::Wrong(why, Box::new(shape.clone()));
        let (mut heap, mut values, mut objects) = (Heap::new(), Vec::new(), Vec::<ObjectId>::new());
        for (a, piece) in arguments.iter().zip(pieces(arguments)) {
            match a {
                Argument::Scalar { value, .. } => values.push(*value),
                Argument::Array { name, layout, .. } => {
                    let made = piece.ok_or_else(|| wrong(format!("nothing can be made up for `{name}`")))?;
                    let bytes =
                        usize::try_from(bytes_of(std::slice::from_ref(a))).map_err(|_| Stop::TooLarge)?;
                    let grain = layout.leaves.iter().map(|l| l.1.size()).min().unwrap_or(1);
                    let count = bytes.div_ceil(grain) as u64;
                    let o = heap.alloc(name, grain as u32, count).map_err(|_| Stop::TooLarge)?;
                    let mut contents = vec![POISON; bytes];
                    if !unread.contains(name) {
                        made.fill(&mut contents);
                    }
                    heap.write(o, 0, &contents).map_err(|f| wrong(f.to_string()))?;
                    objects.push(o);
                    values.push(Value::Pointer(o, 0));
                }
            }
        }
        let launch = Launch { grid: shape.grid, block: shape.block, shared_bytes: shape.shared_bytes };
        let report = simulate::run_grid_code(self.code, &values, &mut heap, &launch, &schedule, budget);
        let report = report.map_err(|f| match f.kind {
            FaultKind::OutOfFuel | FaultKind::MemoryLimit => Stop::TooLarge,
            _ => wrong(f.to_string()),
        })?;
        Ok((report, objects.iter().map(|o| heap.read_raw::<u8>(*o)).collect()))
    }
}

/// Whether two contents of an array differ in last bits of floating numbers at most.
fn is_near(a: &Argument, x: &[u8], y: &[u8]) -> bool {
    let Argument::Array { layout, .. } = a else { return true };
    let size = layout.bytes.max(1) as usize;
    let number = |bytes: &[u8]| match bytes.len() {
        4 => bytes.try_into().map(|b| f64::from(f32::from_le_bytes(b))).ok(),
        _ => bytes.try_into().map(f64::from_le_bytes).ok(),
    };
    x.chunks(size).zip(y.chunks(size)).all(|(x, y)| {
        layout.leaves.iter().all(|(at, kind)| {
            let range = *at as usize..*at as usize + kind.size();
            let (Some(x), Some(y)) = (x.get(range.clone()), y.get(range)) else { return true };
            match (x == y, kind.is_float(), number(x), number(y)) {
                (true, ..) => true,
                (_, true, Some(x), Some(y)) => (x - y).abs() <= NEAR * x.abs().max(y.abs()).max(1.0),
                _ => false,
            }
        })
    })
}
