//! The same inputs on the machine itself: texts for a compiler, the inputs as bytes, and what is expected of them.
//!
//! The original and the rewritten program become two programs of their own, each with a driver that reads the inputs and
//! writes what is in memory afterwards. Types are the compiler's: the driver calls the function as C does. Who compiles and
//! runs them is not known here ([`Trial`] is plain data); [`Trial::compare`] reads what came back.
//!
//! Deliberately absent: what the front end thinks of the program's meaning, but for where scalars lie in memory.

use simulate::{ElementKind, Program, Value};
use term::{Body, TypeKind};

use super::inputs::{Given, Input, Signature};
use super::Layout;
use crate::limits::verify_native::MAX_BYTES;

const DRIVER: &str = include_str!("driver.c");
/// What the program's own `main` is called.
const USERS_MAIN: &str = "ww_users_main";

/// A file of the program that both call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TrialPart {
    pub text: String,
    /// See [`crate::ProjectFile::place`].
    pub place: String,
    /// `-D` and `-U` of its own.
    pub flags: Vec<String>,
}

/// What a machine needs to try one loop's offload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trial {
    /// C: the program as it is, and as it was rewritten, each with the function that the driver calls.
    pub original: String,
    pub rewritten: String,
    /// What both call in other files.
    pub parts: Vec<TrialPart>,
    /// C++ over the headers in `support`.
    pub kernels: Vec<String>,
    /// The same as written for the target.
    pub written: Vec<String>,
    /// The driver's `main`, C.
    pub driver: String,
    /// Names and texts of files beside these.
    pub support: Vec<(String, String)>,
    /// What kernels want before them.
    pub include: &'static str,
    /// `-D` and `-U` of the document.
    pub(super) defines: Vec<String>,
    /// Whether the program has OpenMP directives.
    openmp: bool,
    /// What the driver reads.
    pub input: Vec<u8>,
    regrouped: bool,
    /// Whether regrouped sums may decide whole numbers, too.
    rounded: bool,
    returns: Option<ElementKind>,
    cases: Vec<Expected>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Expected {
    text: String,
    /// Buffers, then file-scope variables.
    places: Vec<MemoryPiece>,
    value: Option<[u8; 8]>,
}

/// A piece of memory.
#[derive(Clone, PartialEq, Eq, Debug)]
struct MemoryPiece {
    name: String,
    /// Of an element: where its scalars are, and how many bytes it has.
    scalars: Vec<(usize, ElementKind)>,
    bytes: usize,
    /// What the simulator's run left; addresses have no value here.
    left: simulate::Snapshot,
}

/// What the machine says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Natively {
    /// On so many inputs.
    Same(usize),
    /// The rewritten program differs from the original, a phrase with the input.
    Different(String),
    /// The simulator and the machine do not agree on the original: our fault. A phrase with the input.
    Disagree(String),
    /// No kernel ran: the host's checks chose the original loop, always.
    NoKernel,
    /// On every input on which a kernel ran, something else is left with several threads than with one.
    Raced,
    /// What came back cannot be read.
    Unreadable,
}

/// Inputs collected while the simulator runs them.
pub(super) struct Collector<'a> {
    body: &'a Body,
    signature: &'a Signature,
    input: Vec<u8>,
    cases: Vec<Expected>,
}

impl<'a> Collector<'a> {
    pub(super) fn new(body: &'a Body, signature: &'a Signature) -> Collector<'a> {
        Collector { body, signature, input: Vec::new(), cases: Vec::new() }
    }

    /// Notes an input on which original and rewritten program agreed in the simulator.
    pub(super) fn add(&mut self, input: &Input, original: &Program<'_>, budget: &base::Budget) {
        let all = input.buffers.iter().chain(&input.globals);
        if all.clone().map(|c| c.snapshot.data.len()).sum::<usize>() > MAX_BYTES || input.buffers.len() > 4000
        {
            return;
        }
        let Ok((mut heap, args, buffers, globals)) = input.place(self.signature) else { return };
        let plain = simulate::Options::default();
        let Ok(out) = simulate::run(original, &self.body.name, &args, &mut heap, &plain, budget) else {
            return;
        };
        // what the function frees is no more to be looked at
        if buffers.iter().chain(&globals).any(|&o| heap.bytes(o).is_none()) {
            return;
        }
        let scalars = |l: &Layout| l.leaves.iter().map(|&(at, k)| (at as usize, k)).collect();
        let left = |o, dead: bool| {
            let mut left = heap.snapshot(o);
            // what nobody looks at may be left in any state
            if dead {
                left.init.fill(0);
            }
            forget_addresses(&heap, &mut left);
            left
        };
        let dead =
            std::iter::repeat_n(false, buffers.len()).chain(self.signature.globals.iter().map(|g| g.dead));
        let places = all
            .zip(buffers.iter().chain(&globals))
            .zip(dead)
            .map(|((c, &o), dead)| MemoryPiece {
                name: c.name.to_string(),
                scalars: scalars(&c.layout),
                bytes: c.layout.bytes.max(1) as usize,
                left: left(o, dead),
            })
            .collect();
        let value = match out.value {
            Some(Value::Int(v)) if is_address(&heap, v as u64) => None,
            Some(Value::Int(v)) => Some((v as i64).to_le_bytes()),
            Some(Value::F32(v)) => Some(f64::from(v).to_le_bytes()),
            Some(Value::F64(v)) => Some(v.to_le_bytes()),
            _ => None,
        };
        self.cases.push(Expected { text: input.text.clone(), places, value });
        let bytes = encode(input);
        self.input.extend((bytes.len() as u64).to_le_bytes());
        self.input.extend(bytes);
    }

    /// The trial; `None` where the driver cannot call the function or nothing was collected.
    pub(super) fn finish(
        self,
        original: &str,
        rewritten: &str,
        kernels: &[&str],
        (regrouped, rounded): (bool, bool),
    ) -> Option<Trial> {
        if self.cases.is_empty() {
            return None;
        }
        let returns = callable(self.body, self.signature)?;
        let call = call(self.body, self.signature, returns);
        let mut input = (self.cases.len() as u64).to_le_bytes().to_vec();
        input.extend(self.input);
        let support = simulate::shim::FILES.iter().map(|(n, t)| ((*n).to_owned(), (*t).to_owned()));
        Some(Trial {
            original: format!("{original}\n{call}"),
            rewritten: format!("{rewritten}\n{call}"),
            parts: Vec::new(),
            kernels: kernels.iter().map(|k| simulate::shim::rewrite(k)).collect(),
            written: kernels.iter().map(|k| (*k).to_owned()).collect(),
            driver: DRIVER.to_owned(),
            include: simulate::shim::HEADER,
            support: support.collect(),
            defines: Vec::new(),
            openmp: original.contains("pragma omp"),
            input,
            regrouped,
            rounded,
            returns,
            cases: self.cases,
        })
    }
}

/// What a function returns to a driver, if one can call it.
fn callable(body: &Body, signature: &Signature) -> Option<Option<ElementKind>> {
    let returns = match body.types.kind(returned(body)?) {
        TypeKind::Int(_) => Some(ElementKind::I64),
        TypeKind::Float(term::FloatKind::F32 | term::FloatKind::F64) => Some(ElementKind::F64),
        _ => None,
    };
    let by_value = |p: &super::inputs::Parameter| matches!(p, super::inputs::Parameter::Whole { .. });
    let is_callable = signature.parameters.len() <= 60
        && !signature.parameters.iter().any(by_value)
        && !signature.globals.iter().any(|g| g.constant);
    is_callable.then_some(returns)
}

/// A text with the function that a driver calls, and what that gives.
pub(super) fn with_call(
    body: &Body,
    signature: &Signature,
    text: &str,
) -> Option<(String, Option<ElementKind>)> {
    let returns = callable(body, signature)?;
    Some((format!("{text}\n{}", call(body, signature, returns)), returns))
}

fn call(body: &Body, signature: &Signature, returns: Option<ElementKind>) -> String {
    use super::inputs::Parameter;
    let parameters = signature.parameters.iter().enumerate();
    let arguments: Vec<String> = parameters
        .map(|(n, p)| match p {
            Parameter::Size { .. } => format!("ww_a[{n}].i"),
            Parameter::Real { .. } => format!("ww_a[{n}].d"),
            Parameter::Buffer { .. } => format!("ww_a[{n}].p"),
            // told apart in `finish`
            Parameter::Whole { .. } => String::new(),
        })
        .collect();
    let result = match returns {
        Some(ElementKind::F64) => "ww_r->d = ",
        Some(_) => "ww_r->i = ",
        None => "(void)ww_r; ",
    };
    let globals: String = signature
        .globals
        .iter()
        .enumerate()
        .map(|(n, g)| {
            format!("    if (ww_n == {n}) {{ *ww_size = sizeof {0}; return (void *)&{0}; }}\n", g.name)
        })
        .collect();
    // what another file of the program defines stands in none of these texts
    let is_elsewhere = |name: &str| {
        let here = |s: &term::Symbol| {
            !matches!(s.storage, term::Storage::Global { defined_here: false, internal: false, .. })
        };
        let mut named = body.symbols.iter().filter(|s| &*s.name == name).peekable();
        named.peek().is_some() && !named.any(here)
    };
    let elsewhere: String = (signature.globals.iter())
        .filter(|g| is_elsewhere(&g.name))
        .map(|g| format!("__typeof__({0}) {0};\n", g.name))
        .collect();
    format!(
        "#undef main\n{elsewhere}union ww_native_word {{ long long i; double d; void *p; }};\n\
         void ww_native_call(union ww_native_word *ww_a, union ww_native_word *ww_r) {{ (void)ww_a; {result}{}({}); }}\n\
         void *ww_native_global(int ww_n, unsigned long *ww_size) {{\n{globals}    (void)ww_n; (void)ww_size; return 0;\n}}\n",
        // the driver has another one
        if &*body.name == "main" { USERS_MAIN } else { &*body.name },
        arguments.join(", ")
    )
}

/// Whether a number is where the simulator has an object: a machine has it elsewhere.
fn is_address(heap: &simulate::Heap, word: u64) -> bool {
    simulate::locate(word).is_some_and(|(o, offset)| {
        heap.memory().get(o).is_some_and(|o| (0..=o.data.len() as i64).contains(&offset))
    })
}

/// What stands where an address does, whatever its type says, may be anything on a machine.
fn forget_addresses(heap: &simulate::Heap, s: &mut simulate::Snapshot) {
    for (word, init) in s.data.chunks_exact(8).zip(s.init.chunks_exact_mut(8)) {
        if word.try_into().is_ok_and(|w| is_address(heap, u64::from_le_bytes(w))) {
            init.fill(0);
        }
    }
}

fn returned(body: &Body) -> Option<term::TypeId> {
    let term::Op::Function(s) = *body.op(body.root) else { return None };
    match body.types.kind(body.symbols[s].ty) {
        TypeKind::Function { ret, .. } => Some(*ret),
        _ => None,
    }
}

fn encode(input: &Input) -> Vec<u8> {
    let mut out: Vec<u8> = Vec::new();
    let words = |out: &mut Vec<u8>, all: &[u64]| all.iter().for_each(|w| out.extend(w.to_le_bytes()));
    words(&mut out, &[input.values.len() as u64]);
    for v in &input.values {
        let three = match v {
            Given::Plain(Value::Int(i)) => [0, *i as i64 as u64, 0],
            Given::Plain(Value::F32(f)) => [1, f64::from(*f).to_bits(), 0],
            Given::Plain(Value::F64(f)) => [1, f.to_bits(), 0],
            Given::Plain(_) => [0, 0, 0],
            Given::Pointer(b, offset) => [2, *b as u64, *offset as u64],
        };
        words(&mut out, &three);
    }
    let mut links = Vec::new();
    for (side, all) in [&input.buffers, &input.globals].into_iter().enumerate() {
        words(&mut out, &[all.len() as u64]);
        for (n, c) in all.iter().enumerate() {
            words(&mut out, &[c.snapshot.data.len() as u64]);
            out.extend(&c.snapshot.data);
            links.extend(
                c.links.iter().map(|l| [side as u64, n as u64, l.at, l.buffer as u64, l.offset as u64]),
            );
        }
    }
    words(&mut out, &[links.len() as u64]);
    links.iter().for_each(|l| words(&mut out, l));
    out
}

/// What one run of one case left.
enum Ran<'a> {
    /// Kernels launched, the value's bytes, and those of the places one after the other.
    Ended(u64, &'a [u8], Vec<&'a [u8]>),
    /// How it ended, a phrase.
    Broke(String),
}

/// `-D` and `-U` as a compiler is told them.
pub(super) fn defines(o: &crate::Options) -> Vec<String> {
    let defined = |(n, v): &(String, Option<String>)| match v {
        Some(v) => format!("-D{n}={v}"),
        None => format!("-D{n}"),
    };
    o.defines.iter().map(defined).chain(o.undefines.iter().map(|n| format!("-U{n}"))).collect()
}

/// A file of the program beside the document.
pub(super) fn part(file: &crate::ProjectFile) -> TrialPart {
    let mut flags = defines(file.options());
    flags.push(format!("-Dmain={USERS_MAIN}"));
    TrialPart { text: file.text().to_string(), place: file.place().to_owned(), flags }
}

impl Trial {
    /// Whether the programs have OpenMP directives, and are built for them.
    pub fn has_regions(&self) -> bool {
        self.openmp
    }

    /// Options for the C texts: what the document was read with; OpenMP, if it has any; its `main` is not ours.
    pub fn flags(&self) -> Vec<String> {
        let mut out = vec![format!("-Dmain={USERS_MAIN}")];
        out.extend(self.defines.iter().cloned());
        if self.openmp {
            out.push("-fopenmp".to_owned());
        }
        out
    }

    fn read<'a>(&self, bytes: &'a [u8]) -> Option<Vec<Ran<'a>>> {
        let mut at = 0;
        let mut take = |n: usize| {
            let part = bytes.get(at..at + n)?;
            at += n;
            Some(part)
        };
        let mut out = Vec::new();
        for c in &self.cases {
            let status = u64::from_le_bytes(take(8)?.try_into().ok()?);
            out.push(match status {
                1 => {
                    let launches = u64::from_le_bytes(take(8)?.try_into().ok()?);
                    let value = take(8)?;
                    let places =
                        c.places.iter().map(|p| take(p.left.data.len())).collect::<Option<Vec<_>>>()?;
                    Ran::Ended(launches, value, places)
                }
                270 => Ran::Broke("does not end within ten seconds".to_owned()),
                256..=511 => Ran::Broke(format!("is ended by signal {}", status - 256)),
                _ => Ran::Broke(format!("ends with status {}", status.saturating_sub(512))),
            });
        }
        Some(out)
    }

    /// Compares what both programs wrote, and the original's with what the simulator found. `alone`: what both wrote
    /// without OpenMP; an input on which the regions leave something else is none: their threads race, or OpenMP leaves it open.
    pub fn compare(&self, original: &[u8], alone: Option<&(Vec<u8>, Vec<u8>)>, rewritten: &[u8]) -> Natively {
        let (Some(want), Some(got)) = (self.read(original), self.read(rewritten)) else {
            return Natively::Unreadable;
        };
        let alone = alone.and_then(|(a, b)| self.read(a).zip(self.read(b)));
        let (mut launches, mut compared) = (0, 0);
        for (k, ((c, want), got)) in self.cases.iter().zip(&want).zip(&got).enumerate() {
            let pair = alone.as_ref().and_then(|(a, b)| a.get(k).zip(b.get(k)));
            if let Some((a, b)) = pair {
                let is_right = self.disagrees(c, a).is_none() && self.wrong(c, a, b).is_none();
                if is_right && (self.disagrees(c, want).is_some() || self.wrong(c, want, got).is_some()) {
                    continue;
                }
            }
            compared += 1;
            let with = |what: String| format!("for {}: {what}", super::or_nothing(&c.text));
            if let Some(what) = self.disagrees(c, want) {
                return Natively::Disagree(with(what));
            }
            if let Some(what) = self.wrong(c, want, got) {
                return Natively::Different(with(what));
            }
            if let Ran::Ended(n, ..) = got {
                launches += n;
            }
        }
        match (compared, launches) {
            (n, 0) if n < self.cases.len() => Natively::Raced,
            (_, 0) => Natively::NoKernel,
            (n, _) => Natively::Same(n),
        }
    }

    /// What the rewritten program leaves otherwise than the original, a phrase.
    fn wrong(&self, c: &Expected, want: &Ran<'_>, got: &Ran<'_>) -> Option<String> {
        let Ran::Ended(_, value, places) = want else { return None };
        let near = if self.regrouped { 1e-4 } else { 0.0 };
        let (v, now) = match got {
            Ran::Broke(how) => return Some(format!("the rewritten program {how}")),
            Ran::Ended(_, v, now) => (v, now),
        };
        for (p, (a, b)) in c.places.iter().zip(places.iter().zip(now)) {
            if let Some(k) = differs(p, a, b, near, self.rounded) {
                return Some(format!("`{}[{k}]` differs", p.name));
            }
        }
        // none, or an address
        c.value?;
        let kind = self.returns.unwrap_or(ElementKind::I64);
        differs(&MemoryPiece::value(kind), value, v, near, self.rounded)
            .map(|_| "the function returns another value".to_owned())
    }

    /// What a run of the original leaves otherwise than the simulator's, a phrase.
    fn disagrees(&self, c: &Expected, ran: &Ran<'_>) -> Option<String> {
        let (value, places) = match ran {
            Ran::Ended(_, v, p) => (v, p),
            Ran::Broke(how) => return Some(format!("the original {how}, and ended well in the simulator")),
        };
        for (p, now) in c.places.iter().zip(places) {
            if let Some(k) = differs(p, &p.left.data, now, 1e-5, false) {
                return Some(format!("the original leaves another `{}[{k}]`", p.name));
            }
        }
        let (kind, v) = (self.returns?, c.value?);
        differs(&MemoryPiece::value(kind), &v, value, 1e-5, false)
            .map(|_| "the original returns another value".to_owned())
    }
}

impl MemoryPiece {
    fn value(kind: ElementKind) -> MemoryPiece {
        let left = simulate::Snapshot { data: vec![0; 8], init: vec![1; 8] };
        MemoryPiece { name: String::new(), scalars: vec![(0, kind)], bytes: 8, left }
    }
}

/// The first element of which some scalar differs by more than `near` (of floating ones, relative and absolute). What the
/// simulator left without a value may be anything, and whole numbers where they are `rounded`.
fn differs(place: &MemoryPiece, a: &[u8], b: &[u8], near: f64, rounded: bool) -> Option<usize> {
    let real = |kind: ElementKind, x: &[u8]| match kind {
        ElementKind::F32 => x.try_into().ok().map(|x| f64::from(f32::from_le_bytes(x))),
        ElementKind::F64 => x.try_into().ok().map(f64::from_le_bytes),
        _ => None,
    };
    (0..a.len() / place.bytes).find(|&n| {
        place.scalars.iter().any(|&(at, kind)| {
            let from = n * place.bytes + at;
            let range = from..from + kind.size();
            let (Some(x), Some(y)) = (a.get(range.clone()), b.get(range.clone())) else { return true };
            let has_value = place.left.init.get(range).is_none_or(|i| i.iter().all(|&i| i == 1));
            if x == y || !has_value || rounded && !kind.is_float() {
                return false;
            }
            match (real(kind, x), real(kind, y)) {
                (Some(x), Some(y)) if x.is_nan() && y.is_nan() => false,
                (Some(x), Some(y)) if x.is_finite() && y.is_finite() => {
                    (x - y).abs() > near * x.abs().max(y.abs()).max(1.0)
                }
                _ => true,
            }
        })
    })
}
