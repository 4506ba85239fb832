//! What a program gives its launches: blocks, grids and numbers, as far as the text says them.
//!
//! A function is looked at once for each way in which the program calls it, so that its parameters have values. What the text fixes is
//! exact. Else one value is taken of those that it names and the choice is told ([`Taken`]): what a variable begins with before
//! something else may be stored in it (`n = argc > 1 ? atoi(argv[1]) : 1 << 20`), an element of a constant array that a loop goes
//! through, what devices have. Where several are named, each gives a launch of its own.
//!
//! Deliberately absent: values that only a run can tell, functions of more than declarations and one `return`.

mod memory;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use term::{Body, Op, Storage, SymbolId, TermId, UnOp};

use super::launch_numbers::{binary, Num};
use super::launch_stores::{is_only_read, Stores};
use super::reaching::reaching;
use crate::limits::host_launch_given::{MAX_DEPTH, MAX_WAYS};
use crate::Program;

/// A value that was taken where the text leaves others open.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Taken {
    /// The function and the term in it that gives the value.
    pub function: Arc<str>,
    pub term: TermId,
    pub name: Arc<str>,
    pub value: i64,
    pub why: TakenAs,
}

/// Why a value was taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TakenAs {
    /// What it is unless something else is stored in it.
    Default,
    /// One of several that the program goes through.
    OneOf,
    /// One of the elements of an array that nobody changes, of which each gives a launch of its own: there are no others.
    Each,
    /// What a device has at most.
    Device,
}

/// What one launch gives, one way to come to it. What is `None` the text does not say.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LaunchGiven {
    pub grid: Option<[u32; 3]>,
    pub block: Option<[u32; 3]>,
    pub shared_bytes: Option<u64>,
    /// Of the kernel's integer parameters, by position.
    pub values: Vec<Option<i64>>,
    /// Bytes of the memory at whose start its pointers point, by position.
    pub bytes: Vec<Option<u64>>,
    /// In the order block, grid, shared memory, arguments; so many were taken for the block.
    pub taken: Vec<Taken>,
    pub block_taken: usize,
    /// Whether a caller's arguments went into it: others may call the function, too.
    pub called: bool,
}

/// A call of a function: where it stands.
pub type CallSite<'a> = (&'a Body, TermId);

/// What stands around the functions that launch.
pub struct LaunchContext<'a> {
    pub program: &'a Program,
    /// The calls of a function that the text has.
    pub callers: &'a dyn Fn(&str) -> Vec<CallSite<'a>>,
    /// The name at a callee that was not understood (a template whose arguments C++ deduces).
    pub name_at: &'a dyn Fn(&Body, TermId) -> Option<Arc<str>>,
    /// A function's text by name, or that of any instance of the template of this name.
    pub function: &'a dyn Fn(&str) -> Option<&'a Body>,
    /// Whether every `sizeof` of a function is that of a type which its text names, and none that a template leaves open.
    pub are_sizes_said: &'a dyn Fn(&Body) -> bool,
    /// The constant that a name of a header stands for wherever one of that name is defined.
    pub constant: &'a dyn Fn(&str) -> Option<i64>,
    pub limits: gpu::Limits,
}

/// Everything that a launch may be given, as far as the text says it: each once.
pub fn launch_given<'a>(cx: &LaunchContext<'a>, body: &'a Body, launch: TermId) -> Vec<LaunchGiven> {
    let reader = Reader { cx, stores: RefCell::default() };
    let mut out: Vec<LaunchGiven> = Vec::new();
    let frames = reader.ways(body, 0);
    let mut all = frames.len() < MAX_WAYS;
    for frame in frames {
        let mut pick = 0;
        loop {
            let way = Way {
                reader: &reader,
                frame: frame.clone(),
                launch,
                pick,
                taken: RefCell::default(),
                most: RefCell::new(1),
                called: RefCell::new(false),
                elements: RefCell::default(),
            };
            let given = way.launch(&frame, launch);
            let most = *way.most.borrow();
            let same = |g: &&mut LaunchGiven| {
                g.grid == given.grid && g.block == given.block && g.values == given.values
            };
            match out.iter_mut().find(same) {
                None => out.push(given),
                Some(known) => {
                    for (mine, other) in known.bytes.iter_mut().zip(&given.bytes) {
                        *mine = mine.filter(|_| mine == other);
                    }
                }
            }
            pick += 1;
            if pick >= most || out.len() >= MAX_WAYS {
                break;
            }
        }
        if out.len() >= MAX_WAYS {
            all = false;
            break;
        }
    }
    if !all {
        out.iter_mut().for_each(LaunchGiven::is_one_of_several);
    }
    out
}

impl LaunchGiven {
    /// There may be other launches than those that are listed.
    fn is_one_of_several(&mut self) {
        self.taken.iter_mut().filter(|t| t.why == TakenAs::Each).for_each(|t| t.why = TakenAs::OneOf);
    }
}

/// A function as it is called: by whom, and with which arguments.
struct CalledAs<'a> {
    body: &'a Body,
    by: Option<(Rc<CalledAs<'a>>, TermId)>,
    /// A function that is looked into for its value: it has one or none.
    inside: bool,
    depth: u32,
}

struct Reader<'c, 'a> {
    cx: &'c LaunchContext<'a>,
    stores: RefCell<FxHashMap<(*const Body, SymbolId), Rc<Stores>>>,
}

/// One choice of values.
struct Way<'r, 'c, 'a> {
    reader: &'r Reader<'c, 'a>,
    /// The function that launches, as it is called, and where.
    frame: Rc<CalledAs<'a>>,
    launch: TermId,
    /// Which of several values is taken.
    pick: usize,
    taken: RefCell<Vec<Taken>>,
    most: RefCell<usize>,
    called: RefCell<bool>,
    /// Where elements were taken that each give a launch of their own.
    elements: RefCell<Vec<(*const Body, TermId)>>,
}

impl<'a> Reader<'_, 'a> {
    /// The ways to come to a function, from functions that nobody calls down to it.
    fn ways(&self, body: &'a Body, depth: u32) -> Vec<Rc<CalledAs<'a>>> {
        let alone = || vec![Rc::new(CalledAs { body, by: None, inside: false, depth: 0 })];
        if depth >= MAX_DEPTH || !body.symbols.iter().any(|s| matches!(s.storage, Storage::Param(_))) {
            return alone();
        }
        let mut out: Vec<Rc<CalledAs<'a>>> = Vec::new();
        for (caller, call) in (self.cx.callers)(&body.name) {
            if std::ptr::eq(caller, body) {
                continue;
            }
            for by in self.ways(caller, depth + 1) {
                let depth = by.depth + 1;
                out.push(Rc::new(CalledAs { body, by: Some((by, call)), inside: false, depth }));
            }
            if out.len() >= MAX_WAYS {
                break;
            }
        }
        out.truncate(MAX_WAYS);
        match out.is_empty() {
            true => alone(),
            false => out,
        }
    }

    fn stores(&self, body: &Body, s: SymbolId) -> Rc<Stores> {
        let key = (body as *const Body, s);
        if let Some(known) = self.stores.borrow().get(&key) {
            return known.clone();
        }
        let out = Rc::new(Stores::of(body, s));
        self.stores.borrow_mut().insert(key, out.clone());
        out
    }
}

impl<'a> Way<'_, '_, 'a> {
    fn launch(&self, frame: &Rc<CalledAs<'a>>, launch: TermId) -> LaunchGiven {
        let mut out = LaunchGiven::default();
        let [_, grid, block, shared, _stream, args @ ..] = frame.body.args(launch) else { return out };
        out.block = self.whole(frame, *block);
        out.block_taken = self.taken.borrow().len();
        out.grid = self.whole(frame, *grid);
        out.shared_bytes = match frame.body.op(*shared) {
            Op::Empty => Some(0),
            _ => self.settled(|| self.int(frame, *shared)).and_then(|v| u64::try_from(v).ok()),
        };
        let number = |a: TermId| frame.body.types.as_int(frame.body.ty(a)).is_some();
        let value = |&a: &TermId| number(a).then(|| self.settled(|| self.int(frame, a))).flatten();
        out.values = args.iter().map(value).collect();
        out.bytes = args.iter().map(|&a| self.bytes(frame, a)).collect();
        for t in self.taken.take() {
            if !out.taken.contains(&t) {
                out.taken.push(t);
            }
        }
        out.called = *self.called.borrow();
        // two choices are not tried with each other
        if self.elements.borrow().len() > 1 || out.taken.iter().any(|t| t.why != TakenAs::Each) {
            out.is_one_of_several();
        }
        out
    }

    /// What `find` gives; what was taken for nothing is not told.
    fn settled<T>(&self, find: impl FnOnce() -> Option<T>) -> Option<T> {
        let before = self.taken.borrow().len();
        let found = find();
        if found.is_none() {
            self.taken.borrow_mut().truncate(before);
        }
        found
    }

    fn whole(&self, frame: &Rc<CalledAs<'a>>, t: TermId) -> Option<[u32; 3]> {
        self.settled(|| {
            let [x, y, z] = self.extents(frame, t)?;
            let one = |v: Option<i64>| v.and_then(|v| u32::try_from(v).ok()).filter(|v| *v > 0);
            Some([one(x)?, one(y)?, one(z)?])
        })
    }

    /// The three extents that a term stands for.
    fn extents(&self, frame: &Rc<CalledAs<'a>>, t: TermId) -> Option<[Option<i64>; 3]> {
        let body = frame.body;
        let of = |parts: &[TermId]| {
            let mut out = [Some(1); 3];
            for (d, &p) in out.iter_mut().zip(parts) {
                *d = self.settled(|| self.int(frame, p));
            }
            out
        };
        let vector = body.types.as_int(body.ty(t)).is_none() && body.types.as_float(body.ty(t)).is_none();
        match (body.op(t), body.args(t)) {
            (Op::Cast, &[a]) if vector => self.extents(frame, a),
            (Op::InitList, parts) if parts.len() <= 3 => Some(of(parts)),
            (Op::Call, [callee, parts @ ..]) if body.as_name(*callee).is_some_and(|n| &**n == "dim3") => {
                match parts {
                    // a copy
                    &[one] if body.types.as_int(body.ty(one)).is_none() => self.extents(frame, one),
                    _ => (parts.len() <= 3).then(|| of(parts)),
                }
            }
            (Op::Call, [callee, ..]) if vector => {
                let (inner, value) = self.returned(frame, t, *callee)?;
                self.extents(&inner, value)
            }
            (Op::Select, &[c, a, b]) if vector => match self.settled(|| self.number(frame, c)) {
                Some(v) => self.extents(frame, if v.is_true() { a } else { b }),
                None => None,
            },
            (Op::Sym(s), _) if vector => self.variable_extents(frame, *s),
            _ => Some([self.int(frame, t), Some(1), Some(1)]),
        }
    }

    fn variable_extents(&self, frame: &Rc<CalledAs<'a>>, s: SymbolId) -> Option<[Option<i64>; 3]> {
        let body = frame.body;
        if let Storage::Param(k) = body.symbols[s].storage {
            let (by, argument) = self.argument(frame, s, k)?;
            return self.extents(&by, argument);
        }
        if body.symbols[s].storage != Storage::Local {
            return None;
        }
        let stores = self.reader.stores(body, s);
        if stores.others {
            return None;
        }
        let mut out = match stores.whole.len() {
            0 => [Some(1); 3],
            1 => self.extents(frame, stores.whole[0])?,
            n => {
                let k = self.choose(frame, n)?;
                self.extents(frame, stores.whole[k])?
            }
        };
        for (d, axis) in out.iter_mut().zip(["x", "y", "z"]) {
            let of_axis = stores.fields.iter().filter(|(f, _)| **f == *axis);
            let mut set: Vec<TermId> = of_axis.map(|(_, v)| *v).collect();
            if Rc::ptr_eq(frame, &self.frame) {
                set = reaching(body, self.launch, &set);
            }
            match set.len() {
                0 => {}
                1 => *d = self.settled(|| self.int(frame, set[0])),
                n => {
                    let k = self.choose(frame, n)?;
                    *d = self.settled(|| self.int(frame, set[k]));
                    self.take(frame, set[k], &format!("{}.{axis}", body.symbols[s].name), *d, TakenAs::OneOf);
                }
            }
        }
        if stores.whole.len() > 1 {
            let k = self.choose(frame, stores.whole.len())?;
            self.take(frame, stores.whole[k], &body.symbols[s].name, out[0], TakenAs::OneOf);
        }
        Some(out)
    }

    /// Which of so many values is taken.
    fn choose(&self, frame: &CalledAs<'a>, of: usize) -> Option<usize> {
        if frame.inside {
            return None;
        }
        let mut most = self.most.borrow_mut();
        *most = (*most).max(of);
        Some(self.pick.min(of - 1))
    }

    fn take(&self, frame: &CalledAs<'a>, term: TermId, name: &str, value: Option<i64>, why: TakenAs) {
        let Some(value) = value else { return };
        let one = Taken { function: frame.body.name.clone(), term, name: name.into(), value, why };
        let mut all = self.taken.borrow_mut();
        if !all.contains(&one) {
            all.push(one);
        }
    }

    /// The caller's frame, and what it gives a parameter that the function does not change.
    fn argument(
        &self,
        frame: &Rc<CalledAs<'a>>,
        s: SymbolId,
        position: u32,
    ) -> Option<(Rc<CalledAs<'a>>, TermId)> {
        let stores = self.reader.stores(frame.body, s);
        if stores.others || !stores.whole.is_empty() || !stores.fields.is_empty() {
            return None;
        }
        let (by, call) = frame.by.as_ref()?;
        let &argument = by.body.args(*call).get(position as usize + 1)?;
        *self.called.borrow_mut() |= !frame.inside;
        Some((by.clone(), argument))
    }

    /// The only value that a function gives, and the function as it is called here.
    fn returned(
        &self,
        frame: &Rc<CalledAs<'a>>,
        call: TermId,
        callee: TermId,
    ) -> Option<(Rc<CalledAs<'a>>, TermId)> {
        let cx = self.reader.cx;
        if frame.depth > MAX_DEPTH * 2 {
            return None;
        }
        let name = match frame.body.as_name(callee) {
            Some(n) => n.clone(),
            None => (cx.name_at)(frame.body, callee)?,
        };
        let body = (cx.function)(&name)?;
        let mut found = None;
        for t in body.walk(body.root) {
            match (body.op(t), body.args(t)) {
                (Op::Return, &[v]) if found.is_none() => found = Some(v),
                (Op::Return | Op::Goto(_) | Op::Label(_) | Op::Reject(_), _) => return None,
                _ => {}
            }
        }
        let by = Some((frame.clone(), call));
        Some((Rc::new(CalledAs { body, by, inside: true, depth: frame.depth + 1 }), found?))
    }

    fn int(&self, frame: &Rc<CalledAs<'a>>, t: TermId) -> Option<i64> {
        self.number(frame, t)?.int()
    }

    fn number(&self, frame: &Rc<CalledAs<'a>>, t: TermId) -> Option<Num> {
        let body = frame.body;
        let of = |t: TermId| self.number(frame, t);
        let found = match (body.op(t), body.args(t)) {
            (Op::Reject(_), _) => {
                let name = (self.reader.cx.name_at)(body, t)?;
                (self.reader.cx.constant)(&name).map(Num::Int)
            }
            (Op::Int(v), _) => i64::try_from(*v).ok().map(Num::Int),
            (Op::Float(v), _) => Some(Num::Real(v.get())),
            (Op::Cast | Op::Arithmetic(_), &[a]) => of(a),
            (Op::Unary(UnOp::Neg), &[a]) => match of(a)? {
                Num::Int(v) => v.checked_neg().map(Num::Int),
                Num::Real(v) => Some(Num::Real(-v)),
            },
            (Op::Unary(UnOp::Plus), &[a]) => of(a),
            (Op::Unary(UnOp::Not), &[a]) => Some(Num::Int(!of(a)?.is_true() as i64)),
            (Op::Binary(op), &[a, b]) => binary(*op, of(a)?, of(b)?),
            (Op::Select, &[c, a, b]) => match self.settled(|| of(c)) {
                Some(v) => of(if v.is_true() { a } else { b }),
                None => self.either(frame, a, b),
            },
            (Op::Member { field, arrow: false }, &[base]) => self.member(frame, t, base, field),
            (Op::Index, &[array, at]) => self.element(frame, t, array, at),
            (Op::Call, [callee, args @ ..]) => self.call(frame, t, *callee, args),
            (Op::Sym(s), _) => self.variable(frame, *s),
            _ => None,
        }?;
        // as its type has it
        match (found, body.types.as_int(body.ty(t))) {
            (Num::Real(v), Some(_)) => Num::Real(v).int().map(Num::Int),
            (Num::Int(v), None) if body.types.as_float(body.ty(t)).is_some() => Some(Num::Real(v as f64)),
            (v, _) => Some(v),
        }
    }

    /// `argc > 1 ? atoi(argv[1]) : 1024`: the arm whose value is known.
    fn either(&self, frame: &Rc<CalledAs<'a>>, a: TermId, b: TermId) -> Option<Num> {
        if frame.inside {
            return None;
        }
        let (x, y) = (self.settled(|| self.number(frame, a)), self.settled(|| self.number(frame, b)));
        let (t, v, why) = match (x, y) {
            (Some(x), Some(y)) => match self.choose(frame, 2)? {
                0 => (a, x, TakenAs::OneOf),
                _ => (b, y, TakenAs::OneOf),
            },
            (Some(x), None) => (a, x, TakenAs::Default),
            (None, Some(y)) => (b, y, TakenAs::Default),
            (None, None) => return None,
        };
        self.take(frame, t, "", v.int(), why);
        Some(v)
    }

    fn member(&self, frame: &Rc<CalledAs<'a>>, t: TermId, base: TermId, field: &Arc<str>) -> Option<Num> {
        let body = frame.body;
        let s = body.as_symbol(base)?;
        if let Some(axis) = ["x", "y", "z"].iter().position(|f| **f == **field) {
            return self.extents(frame, base)?[axis].map(Num::Int);
        }
        if &**field == "maxThreadsPerBlock" {
            let most = self.reader.cx.limits.block_threads as i64;
            self.take(frame, t, field, Some(most), TakenAs::Device);
            return Some(Num::Int(most));
        }
        if body.symbols[s].storage != Storage::Local {
            return None;
        }
        let stores = self.reader.stores(body, s);
        let set: Vec<TermId> = stores.fields.iter().filter(|(f, _)| f == field).map(|(_, v)| *v).collect();
        if !stores.whole.is_empty() {
            return None;
        }
        self.one_of(frame, &format!("{}.{field}", body.symbols[s].name), &set, stores.others, false)
    }

    /// An element of an array whose elements the text says: that of a known place, else each in turn.
    fn element(&self, frame: &Rc<CalledAs<'a>>, t: TermId, array: TermId, at: TermId) -> Option<Num> {
        let body = frame.body;
        let s = body.as_symbol(array)?;
        let stores = self.reader.stores(body, s);
        if stores.others || stores.whole.len() != 1 {
            return None;
        }
        let list = stores.whole[0];
        if !matches!(body.op(list), Op::InitList) {
            return None;
        }
        let items = body.args(list).to_vec();
        // a loop's index begins with one of them and goes on
        let index = body.as_symbol(at).is_none().then(|| self.settled(|| self.int(frame, at))).flatten();
        if let Some(k) = index.and_then(|k| usize::try_from(k).ok()) {
            return self.number(frame, *items.get(k)?);
        }
        if items.is_empty() {
            return None;
        }
        let k = self.choose(frame, items.len())?;
        let v = self.number(frame, items[k])?;
        let site = (body as *const Body, t);
        if !self.elements.borrow().contains(&site) {
            self.elements.borrow_mut().push(site);
        }
        let why = if is_only_read(body, s) { TakenAs::Each } else { TakenAs::OneOf };
        self.take(frame, items[k], &body.symbols[s].name, v.int(), why);
        Some(v)
    }

    fn call(&self, frame: &Rc<CalledAs<'a>>, t: TermId, callee: TermId, args: &[TermId]) -> Option<Num> {
        let of = |t: TermId| self.number(frame, t);
        let name = frame.body.as_name(callee).cloned();
        let name = name.as_deref().map(|n| n.strip_prefix("std::").unwrap_or(n));
        match (name, args) {
            (Some("ceil" | "ceilf"), &[a]) => return Some(Num::Real(of(a)?.real().ceil())),
            (Some("floor" | "floorf"), &[a]) => return Some(Num::Real(of(a)?.real().floor())),
            (Some("min" | "max"), &[a, b]) if (self.reader.cx.function)(name?).is_none() => {
                let (x, y) = (of(a)?, of(b)?);
                let first = if name == Some("min") { x.real() <= y.real() } else { x.real() >= y.real() };
                return Some(if first { x } else { y });
            }
            _ => {}
        }
        let (inner, value) = self.returned(frame, t, callee)?;
        self.number(&inner, value)
    }

    fn variable(&self, frame: &Rc<CalledAs<'a>>, s: SymbolId) -> Option<Num> {
        let body = frame.body;
        let symbol = &body.symbols[s];
        match symbol.storage {
            Storage::Constant(v) => i64::try_from(v).ok().map(Num::Int),
            Storage::Param(k) => {
                let (by, argument) = self.argument(frame, s, k)?;
                self.number(&by, argument)
            }
            Storage::Local => {
                let stores = self.reader.stores(body, s);
                if stores.moves_on || stores.replaced && !self.are_known(frame, &stores.whole) {
                    return None;
                }
                let begins = stores.declared && !stores.replaced && !stores.goes_on;
                self.one_of(frame, &symbol.name, &stores.whole, stores.others, begins)
            }
            Storage::Global { .. } => {
                let c = self.reader.cx.program.constant(&symbol.name)?;
                crate::launch_value(&c.body, c.init?).map(Num::Int)
            }
            _ => None,
        }
    }

    /// Whether all of these values are known.
    fn are_known(&self, frame: &Rc<CalledAs<'a>>, values: &[TermId]) -> bool {
        let before = self.taken.borrow().len();
        let known = values.iter().all(|&t| self.number(frame, t).is_some());
        self.taken.borrow_mut().truncate(before);
        known
    }

    /// What a variable holds in which these values are stored.
    fn one_of(
        &self,
        frame: &Rc<CalledAs<'a>>,
        name: &str,
        values: &[TermId],
        others: bool,
        begins: bool,
    ) -> Option<Num> {
        if let (&[only], false) = (values, others) {
            // what C++ says of its first value goes for a choice in it, too
            let before = self.taken.borrow().len();
            let v = self.number(frame, only)?;
            for t in self.taken.borrow_mut().iter_mut().skip(before).filter(|t| t.name.is_empty()) {
                t.name = name.into();
            }
            return Some(v);
        }
        if frame.inside {
            return None;
        }
        let known: Vec<(TermId, Num)> =
            values.iter().filter_map(|&t| Some((t, self.settled(|| self.number(frame, t))?))).collect();
        // its first value, unless something else comes in between
        let first = begins && known.first().is_some_and(|(t, _)| Some(t) == values.first());
        let why = if first { TakenAs::Default } else { TakenAs::OneOf };
        let k = match known.len() {
            0 => return None,
            _ if first => 0,
            n => self.choose(frame, n)?,
        };
        let (t, v) = known[k];
        self.take(frame, t, name, v.int(), why);
        Some(v)
    }
}
