//! Holds what is said of loops to the records of runs.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;

use analysis::{LoopFacts, Param, ReductionOp, Step, Verdict};
use base::Span;
use term::{Storage, SymbolId, TypeKind};

use super::build::{Batch, Built, Record, Run};
use super::calls::{made_up, witness_run, EXACT, LIMITS, SIZES, TRIES};
use super::interpreter::{compare, Told};
use super::marks::{is_variable, Loop};
use crate::fixture::{verdict_name, Analyzed};

/// A claim that a run refutes.
#[derive(Clone, Debug)]
pub struct Failure {
    /// `claim`, `private`, `live-out`, `witness`, `unmet`, `counting`, `interpreter`, `static`.
    pub kind: &'static str,
    /// Position among the batch's files.
    pub file: usize,
    pub line: u32,
    pub what: String,
}

/// What came of a batch.
#[derive(Clone, Debug, Default)]
pub struct Judged {
    pub failures: Vec<Failure>,
    /// Calls that ended, and those that did not, by reason.
    pub runs: u64,
    pub faults: BTreeMap<String, u64>,
    /// Loops, and those whose text could not be marked.
    pub loops: u64,
    pub unmarked: u64,
    /// Claims of which some execution with two iterations met the conditions.
    pub claims: u64,
    /// Claims that no run could judge.
    pub unjudged: u64,
    /// Witnesses seen, those whose values no run had, and those that cannot be written as a question.
    pub witnesses: u64,
    pub unmet: u64,
    pub unasked: u64,
    /// Calls compared with the interpreter's, and those that cannot be, by reason.
    pub interpreted: u64,
    pub not_interpreted: BTreeMap<String, u64>,
    /// Functions never called or never ended, and why.
    pub never: Vec<String>,
    /// Unknown or sequential loops in whose runs nothing was carried, with two iterations or more: file and line.
    pub looked_parallel: Vec<(usize, u32)>,
    /// Loops in which an iteration read what an earlier one had left in memory: no marker may say "independent".
    pub flows: Vec<(usize, u32)>,
}

impl Judged {
    /// Adds another's.
    pub fn add(&mut self, o: Judged) {
        self.failures.extend(o.failures);
        self.runs += o.runs;
        for (k, v) in o.faults {
            *self.faults.entry(k).or_default() += v;
        }
        self.loops += o.loops;
        self.unmarked += o.unmarked;
        self.claims += o.claims;
        self.unjudged += o.unjudged;
        self.witnesses += o.witnesses;
        self.unmet += o.unmet;
        self.unasked += o.unasked;
        self.interpreted += o.interpreted;
        for (k, v) in o.not_interpreted {
            *self.not_interpreted.entry(k).or_default() += v;
        }
        self.never.extend(o.never);
        self.looked_parallel.extend(o.looked_parallel);
        self.flows.extend(o.flows);
    }
}

impl std::fmt::Display for Judged {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(
            f,
            "{} loops ({} not marked), {} calls; not ended: {:?}",
            self.loops, self.unmarked, self.runs, self.faults
        )?;
        write!(
            f,
            "interpreted alike: {}, not compared: {:?}\nclaims held to runs: {}, not judged: {}; witnesses seen: {}, whose values no run had: {}, not asked: {}; functions never run: {}; wrong: {}",
            self.interpreted, self.not_interpreted, self.claims, self.unjudged, self.witnesses, self.unmet, self.unasked, self.never.len(), self.failures.len()
        )
    }
}

#[derive(Default)]
struct Seen {
    twice: bool,
    held: bool,
    carried: bool,
    flows: bool,
    /// Per query: whether some run had its values, and whether the dependence was seen.
    met: Vec<bool>,
    seen: Vec<bool>,
    /// Per query: whether a run with exactly the inputs of its replay came to its end.
    replayed: Vec<bool>,
    /// Per query: a run that had its values and did not show it. Values need not be all that it depends on, so that its own
    /// run may show it yet.
    missed: Vec<Option<String>>,
    said: HashSet<String>,
}

/// Builds and judges files, all at once where gcc takes them together. What it refuses even alone is given back with why.
pub fn judge_files(
    files: &[(String, Analyzed)],
    dir: &Path,
    flags: &[&str],
    more: usize,
) -> Result<(Judged, Vec<(String, String)>), String> {
    let (mut left_out, mut refused) = (BTreeSet::new(), Vec::new());
    while left_out.len() < files.len() {
        let why = match Batch::without(files, &left_out).try_build(dir, flags) {
            Ok(built) => return Ok((judge(&built, more)?, refused)),
            Err(why) if why.files.is_empty() => break,
            Err(why) => why,
        };
        left_out.extend(why.files.keys().copied());
        refused.extend(why.files.into_iter().map(|(n, why)| (files[n].0.clone(), why)));
    }
    match files {
        _ if left_out.len() == files.len() => Ok((Judged::default(), refused)),
        [(name, _)] => {
            let why = Batch::new(files).build(dir, flags).err().unwrap_or_default();
            Ok((Judged::default(), vec![(name.clone(), why)]))
        }
        _ => {
            let (a, b) = files.split_at(files.len() / 2);
            let (mut all, mut refused) = judge_files(a, dir, flags, more)?;
            let (mut rest, others) = judge_files(b, dir, flags, more)?;
            let moved = rest.failures.iter_mut().map(|f| &mut f.file);
            let lines = rest.looked_parallel.iter_mut().chain(&mut rest.flows).map(|(f, _)| f);
            moved.chain(lines).for_each(|f| *f += a.len());
            all.add(rest);
            refused.extend(others);
            Ok((all, refused))
        }
    }
}

/// What `runtime.c` says where a static that begins anew in each call is read before it is written.
const ANOTHER_CALLS: &str = "another call's value";

/// Runs every function of the program, and compares. `more`: further rounds of calls.
pub fn judge(built: &Built<'_>, more: usize) -> Result<Judged, String> {
    let mut out = Judged::default();
    let batch = &built.batch;
    let mut seen: Vec<Seen> = batch
        .tables
        .loops
        .iter()
        .map(|l| Seen {
            met: vec![false; l.queries.len()],
            seen: vec![false; l.queries.len()],
            replayed: vec![false; l.queries.len()],
            missed: vec![None; l.queries.len()],
            ..Seen::default()
        })
        .collect();
    out.unmarked = batch.tables.unmarked as u64;
    out.loops = (batch.tables.loops.len() + batch.tables.unmarked) as u64;
    let limit = LIMITS[usize::from(more > 0)];
    let mut runs = Vec::new();
    for round in 0..SIZES.len() + more {
        for case in 0..batch.cases.len() {
            runs.push(made_up(built, case, round, limit));
        }
    }
    let mut ended: HashSet<usize> = HashSet::new();
    let mut why: HashMap<usize, String> = HashMap::new();
    let mut go = |runs: &[Run], seen: &mut Vec<Seen>, out: &mut Judged| -> Result<Vec<bool>, String> {
        let mut all = Vec::with_capacity(runs.len());
        for (run, record) in runs.iter().zip(built.run(runs)?) {
            all.push(record.fault.is_none());
            match &record.fault {
                Some(f) => {
                    if f == ANOTHER_CALLS {
                        let file = batch.cases.get(run.case).map_or(0, |c| c.file);
                        let what =
                            format!("a static that is said to hold nothing from call to call holds {f}");
                        out.failures.push(Failure { kind: "static", file, line: 0, what });
                    }
                    *out.faults.entry(f.clone()).or_default() += 1;
                    why.insert(run.case, f.clone());
                }
                None => {
                    out.runs += 1;
                    ended.insert(run.case);
                    hold(built, run, &record, seen, out);
                    if run.trace {
                        interpreted(built, run, &record, out);
                    }
                }
            }
            // what was seen was seen, whatever happened later
            for w in record.lines.iter().filter(|w| w[0] == "S") {
                let at = |n: usize| w.get(n).and_then(|w| w.parse::<usize>().ok());
                if let (Some(l), Some(q)) = (at(1), at(2)) {
                    if let Some(s) = seen.get_mut(l).and_then(|s| s.seen.get_mut(q)) {
                        *s = true;
                    }
                }
            }
        }
        Ok(all)
    };
    go(&runs, &mut seen, &mut out)?;
    // witnesses: calls with their values, until each has been met
    for round in 0..TRIES {
        let (mut runs, mut asked) = (Vec::new(), Vec::new());
        let mut open = false;
        for (n, l) in batch.tables.loops.iter().enumerate() {
            for (q, &d) in l.queries.iter().enumerate().filter(|(q, _)| !seen[n].seen[*q]) {
                // one that its own inputs did not show is not looked for with others
                if round >= EXACT && seen[n].replayed[q] {
                    continue;
                }
                open = true;
                if let Some(run) = witness_run(built, l, d, round, limit) {
                    runs.push(run);
                    asked.push((n, q));
                }
            }
        }
        if !open {
            break;
        }
        let ended = go(&runs, &mut seen, &mut out)?;
        for (k, (n, q)) in asked.iter().enumerate() {
            // not one of which a part could not be given
            let exact = runs[k].entries.iter().all(|e| e.owner != 9);
            seen[*n].replayed[*q] |= round < EXACT && ended[k] && exact;
        }
    }
    for (n, l) in batch.tables.loops.iter().enumerate() {
        let facts = facts(built, l);
        let s = &seen[n];
        let claim = matches!(facts.verdict, Verdict::Independent | Verdict::Reduction);
        if claim {
            out.claims += u64::from(s.held);
            out.unjudged += u64::from(!s.held);
        }
        if s.twice {
            let at = (l.file, line(built, l));
            if s.flows {
                out.flows.push(at);
            }
            // what reductions do is set aside by the runtime
            if !s.carried && !claim && facts.reductions.is_empty() {
                out.looked_parallel.push(at);
            }
        }
        let witnesses = facts.dependences.iter().filter(|d| d.witness.is_some()).count();
        out.unasked += witnesses.saturating_sub(l.queries.len()) as u64;
        for (q, &d) in l.queries.iter().enumerate() {
            match (s.met[q], s.seen[q]) {
                (_, true) => out.witnesses += 1,
                (true, false) => {
                    if let Some(what) = s.missed[q].clone() {
                        out.failures.push(Failure {
                            kind: "witness",
                            file: l.file,
                            line: line(built, l),
                            what,
                        });
                    }
                }
                (false, _) => {
                    out.unmet += 1;
                    // where a run with its own inputs does not end, or a part of them cannot be given, nothing is known
                    if s.replayed[q] {
                        let what = format!("no run met the witness: {}", witness(built, l, d));
                        out.failures.push(Failure {
                            kind: "unmet",
                            file: l.file,
                            line: line(built, l),
                            what,
                        });
                    }
                }
            }
        }
    }
    for (n, c) in batch.cases.iter().enumerate() {
        if !ended.contains(&n) {
            let (name, a) = &batch.files[c.file];
            let why = why.get(&n).map_or("", String::as_str);
            out.never.push(format!("{name}: {}: {why}", a.unit.items[c.item].name));
        }
    }
    out.never.extend(batch.not_called.iter().map(|(f, w)| format!("{f}: {w}")));
    Ok(out)
}

pub(super) fn facts<'a>(built: &Built<'a>, l: &Loop) -> &'a LoopFacts {
    &built.batch.files[l.file].1.facts[l.item].loops[l.id]
}

fn line(built: &Built<'_>, l: &Loop) -> u32 {
    let a = &built.batch.files[l.file].1;
    a.loops.iter().find(|f| f.item == l.item && f.id == l.id).map_or(0, |f| f.line)
}

fn source(built: &Built<'_>, l: &Loop, span: Span) -> String {
    let a = &built.batch.files[l.file].1;
    let s = span.shifted(a.unit.items[l.item].span.start);
    let text = a.text.get(s.range()).unwrap_or("");
    text.lines().next().unwrap_or("").to_owned()
}

/// The loop's head and what its verdict sets aside.
fn said(built: &Built<'_>, l: &Loop) -> String {
    let a = &built.batch.files[l.file].1;
    let (body, f) = (&a.unit.items[l.item].body, facts(built, l));
    let mut out =
        format!("`{}` is said to be {}", source(built, l, body.span(f.term)), verdict_name(f.verdict));
    for p in &f.privates {
        out += &format!(", private {}{}", body.symbols[p.symbol].name, if p.kept { " (kept)" } else { "" });
    }
    for r in &f.reductions {
        out += &format!(", {:?} {}", r.op, source(built, l, body.span(r.place)));
    }
    for i in &f.inductions {
        out += &format!(", induction {}", body.symbols[i.symbol].name);
    }
    out
}

fn witness(built: &Built<'_>, l: &Loop, d: usize) -> String {
    let a = &built.batch.files[l.file].1;
    let (body, f) = (&a.unit.items[l.item].body, facts(built, l));
    let d = &f.dependences[d];
    let Some(w) = &d.witness else { return String::new() };
    let params: Vec<String> = w
        .params
        .iter()
        .map(|(p, v)| match p {
            Param::Symbol(s) => format!("{}={v}", body.symbols[*s].name),
            Param::Term(t) => format!("{}={v}", source(built, l, body.span(*t))),
            Param::Distance { .. } => format!("a distance={v}"),
            Param::Row(_) | Param::Longest(_) | Param::End { .. } => format!("a subscript={v}"),
        })
        .collect();
    format!(
        "`{}`: {:?} on {} from `{}` in iteration {} to `{}` in iteration {} for {}",
        source(built, l, body.span(f.term)),
        d.kind,
        body.symbols[d.object.symbol].name,
        source(built, l, body.span(d.source)),
        w.source_iteration,
        source(built, l, body.span(d.sink)),
        w.sink_iteration,
        params.join(", ")
    )
}

/// Holds the interpreter to a call that was told byte by byte.
fn interpreted(built: &Built<'_>, run: &Run, record: &Record, out: &mut Judged) {
    let case = &built.batch.cases[run.case];
    match compare(built, run, record) {
        Told::Same => out.interpreted += 1,
        Told::Not(why) => *out.not_interpreted.entry(why).or_default() += 1,
        Told::Different(what) => {
            let a = &built.batch.files[case.file].1;
            let line = a.loops.iter().find(|f| f.item == case.item).map_or(0, |f| f.line);
            let what = format!("{what}; called with {}", run.words(case));
            out.failures.push(Failure { kind: "interpreter", file: case.file, line, what });
        }
    }
}

/// Compares one call's record with what is said.
fn hold(built: &Built<'_>, run: &Run, record: &Record, seen: &mut [Seen], out: &mut Judged) {
    let batch = &built.batch;
    let words = || run.words(&batch.cases[run.case]);
    let number = |w: &[String], n: usize| w.get(n).and_then(|w| w.parse::<i64>().ok()).unwrap_or(-1);
    let mut kept: HashSet<(i64, i64)> = HashSet::new();
    let mut met: HashSet<(i64, i64)> = HashSet::new();
    let mut found: HashSet<(i64, i64)> = HashSet::new();
    for w in &record.lines {
        match w[0].as_str() {
            "K" => {
                kept.insert((number(w, 1), number(w, 2)));
            }
            "M" => {
                met.insert((number(w, 1), number(w, 2)));
            }
            "S" => {
                found.insert((number(w, 1), number(w, 2)));
            }
            _ => {}
        }
    }
    for w in &record.lines {
        let n = number(w, 1);
        let Some(l) = usize::try_from(n).ok().and_then(|n| batch.tables.loops.get(n)) else { continue };
        let (state, f) = (&mut seen[n as usize], facts(built, l));
        let claim = matches!(f.verdict, Verdict::Independent | Verdict::Reduction);
        let mut fail = |kind: &'static str, key: String, what: String| {
            if state.said.insert(format!("{kind} {key}")) {
                out.failures.push(Failure { kind, file: l.file, line: line(built, l), what });
            }
        };
        let holds = number(w, 2);
        let owner = number(w, 4);
        match w[0].as_str() {
            "L" if number(w, 3) > 1 => {
                // what is carried counts where arrays are apart
                state.twice |= !run.overlap;
                state.held |= holds == 1;
            }
            "I" if claim => {
                if let Ok(c) = &f.control {
                    if let (Step::Const(s), false) = (&c.step, c.pointer) {
                        let by = i128::from(number(w, 2));
                        if c.index_type.wrap(by) != c.index_type.wrap(*s) {
                            fail(
                                "counting",
                                String::new(),
                                format!(
                                    "{}; its index moved by {by}, by the facts {s}; called with {}",
                                    said(built, l),
                                    words()
                                ),
                            );
                        }
                    }
                }
            }
            "X" => {
                let own = is_own(built, l, f, owner);
                let set_aside = own.is_some() || kept.contains(&(n, owner)) || owner == -1;
                state.carried |= !set_aside && !run.overlap;
                if !set_aside && claim && holds == 1 {
                    let kinds = [
                        "a flow",
                        "an anti",
                        "an output",
                        "a mixed reduction",
                        "an outside access and reduction",
                        "an outside access and reduction",
                    ];
                    let what = format!(
                        "{}; {} dependence on {} (offset {}) between iterations {} and {}; called with {}",
                        said(built, l),
                        kinds.get(number(w, 3) as usize).copied().unwrap_or("?"),
                        owner_name(built, owner),
                        number(w, 5),
                        number(w, 6),
                        number(w, 7),
                        words()
                    );
                    fail("claim", owner.to_string(), what);
                }
            }
            "E" if number(w, 3) == 1 && !run.overlap && !claim && is_memory(built, owner) => {
                state.flows = true
            }
            "E" | "O" if claim && holds == 1 => {
                let own = is_own(built, l, f, owner);
                let (kind, wrong) = match w[0].as_str() {
                    "E" => (
                        "private",
                        matches!(own, Some(Own::Private | Own::Kept))
                            || own.is_none() && kept.contains(&(n, owner)),
                    ),
                    _ => ("live-out", own == Some(Own::Private)),
                };
                if wrong {
                    let did = if kind == "private" {
                        "is read in an iteration before it is written"
                    } else {
                        "is read after the loop"
                    };
                    let what = format!(
                        "{}; {} {did} (offset {}); called with {}",
                        said(built, l),
                        owner_name(built, owner),
                        number(w, 5),
                        words()
                    );
                    fail(kind, owner.to_string(), what);
                }
            }
            _ => {}
        }
    }
    for &(n, q) in &met {
        let Some(state) = usize::try_from(n).ok().and_then(|n| seen.get_mut(n)) else { continue };
        let l = &batch.tables.loops[n as usize];
        let q = q as usize;
        if q >= state.met.len() {
            continue;
        }
        state.met[q] = true;
        if found.contains(&(n, q as i64)) {
            state.seen[q] = true;
        } else if facts(built, l).verdict == Verdict::Sequential && state.missed[q].is_none() {
            let what = witness(built, l, l.queries[q]);
            state.missed[q] = Some(format!("the witness did not happen: {what}; called with {}", words()));
        }
    }
}

fn owner_name(built: &Built<'_>, owner: i64) -> String {
    match usize::try_from(owner).ok().and_then(|o| built.batch.tables.vars.get(o)) {
        Some(v) => v.name.clone(),
        None if owner == -1 => "a temporary".to_owned(),
        None if owner == -1_000_000 => "memory of something else".to_owned(),
        None => format!("allocation {}", -2 - owner),
    }
}

/// Whether it is an allocation, an array or a structure: no variable that a closed form could give.
fn is_memory(built: &Built<'_>, owner: i64) -> bool {
    let Some(var) = usize::try_from(owner).ok().and_then(|o| built.batch.tables.vars.get(o)) else {
        return owner < -1;
    };
    let items = &built.batch.files[var.file].1.unit.items;
    let symbols =
        items.iter().enumerate().filter(|(n, _)| var.item.is_none_or(|i| i == *n)).filter_map(|(_, i)| {
            let s = i
                .body
                .symbols
                .iter_ids()
                .find(|(s, x)| *x.name == *var.name && (var.item.is_none() || *s == var.symbol))?;
            Some(matches!(i.body.types.kind(s.1.ty), TypeKind::Array { .. }))
        });
    symbols.into_iter().any(|is| is)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Own {
    Private,
    Kept,
    /// An induction or the index: its value follows from the iteration's number.
    Counted,
}

/// What a verdict says of a variable: each iteration has its own, or can compute it.
fn is_own(built: &Built<'_>, l: &Loop, f: &LoopFacts, owner: i64) -> Option<Own> {
    let var = built.batch.tables.vars.get(usize::try_from(owner).ok()?)?;
    let body = &built.batch.files[l.file].1.unit.items[l.item].body;
    let is = |s: SymbolId| match var.item {
        Some(item) => (var.file, item) == (l.file, l.item) && var.symbol == s,
        None => {
            let symbol = &body.symbols[s];
            var.file == l.file
                && *symbol.name == *var.name
                && matches!(symbol.storage, Storage::Global { .. })
        }
    };
    if let Some(p) = f.privates.iter().find(|p| is(p.symbol)) {
        return Some(if p.kept { Own::Kept } else { Own::Private });
    }
    if f.reductions
        .iter()
        .any(|r| r.op == ReductionOp::Last && is_variable(body, r.place) && is(r.object.symbol))
    {
        return Some(Own::Kept);
    }
    let counted = f.inductions.iter().any(|i| is(i.symbol)) || f.control.as_ref().is_ok_and(|c| is(c.index));
    counted.then_some(Own::Counted)
}
