//! Programs with the expected verdict beside each loop.
//!
//! A marker stands at the end of the line on which a loop begins:
//!
//! ```c
//! for (int i = 0; i < n; i++)   //~ independent; offload; private t
//! for (int i = 1; i < n; i++)   //~ sequential a; no-offload
//! for (int i = 0; i < n; i++)   //~ reduction s
//! while (p)                     //~ unknown NotCounted
//! ```
//!
//! After `sequential` stand variables that dependences must name, after `reduction` the accumulators (exactly), after
//! `unknown` kinds of obstacle of which one must be there. What a marker says is what is true of the program. Where the
//! analysis does not see it yet, the clause `FIXME unknown` (or `FIXME sequential`, or both words) names the answers that
//! are let pass besides the true one; they are counted, and the clause goes when the true answer comes.
//!
//! A file that holds places which are not understood, on purpose, has the line `//~ gaps`.

use analysis::{Facts, LoopId, Program, Verdict};
use base::Budget;
use front::{Language, Options, Unit};

/// Says of a file that places in it are not understood.
const GAPS: &str = "gaps";

/// What is expected of one loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Expected {
    /// 1-based.
    pub line: u32,
    pub verdict: Verdict,
    /// Variables or kinds of obstacle.
    pub names: Vec<String>,
    /// Privates declared outside of the loop.
    pub private: Vec<String>,
    /// `Some(true)`: it can be offloaded; `Some(false)`: it cannot; `None`: nothing is said.
    pub offload: Option<bool>,
    /// Answers that are let pass for the time being.
    pub fixme: Vec<Verdict>,
}

/// Reads the markers of a file; an error names the line.
pub fn markers(text: &str) -> Result<Vec<Expected>, String> {
    let mut out = Vec::new();
    for (n, line) in text.lines().enumerate() {
        let Some((_, marker)) = line.split_once("//~") else {
            continue;
        };
        if marker.trim() == GAPS {
            continue;
        }
        let line = n as u32 + 1;
        let mut clauses = marker.split(';').map(str::trim);
        let mut words = clauses.next().unwrap_or("").split_whitespace();
        let read = |word: &str| match word {
            "independent" => Ok(Verdict::Independent),
            "reduction" => Ok(Verdict::Reduction),
            "sequential" => Ok(Verdict::Sequential),
            "unknown" => Ok(Verdict::Unknown),
            other => Err(format!("line {line}: `{other}` is no verdict")),
        };
        let verdict = read(words.next().unwrap_or(""))?;
        let mut e = Expected {
            line,
            verdict,
            names: words.map(str::to_owned).collect(),
            private: Vec::new(),
            offload: None,
            fixme: Vec::new(),
        };
        for clause in clauses {
            let mut words = clause.split_whitespace();
            match words.next() {
                Some("offload") => e.offload = Some(true),
                Some("no-offload") => e.offload = Some(false),
                Some("FIXME") => e.fixme = words.map(read).collect::<Result<_, _>>()?,
                Some("private") => e.private = words.map(str::to_owned).collect(),
                other => return Err(format!("line {line}: `{}` is no clause", other.unwrap_or(""))),
            }
        }
        out.push(e);
    }
    Ok(out)
}

/// A loop found in a file.
#[derive(Clone, Debug)]
pub struct Found {
    /// 1-based line of its first byte.
    pub line: u32,
    /// Position in [`Unit::items`].
    pub item: usize,
    pub id: LoopId,
}

/// A file with its facts.
pub struct Analyzed {
    pub text: String,
    pub unit: Unit,
    /// What is known of its functions where they are called.
    pub program: Program,
    /// Facts of each item.
    pub facts: Vec<Facts>,
    /// All loops, in textual order.
    pub loops: Vec<Found>,
}

/// Reads and analyzes a C text at full budget; headers are those of `fixtures/c`.
pub fn analyze(text: &str) -> Analyzed {
    analyze_with(text, &Options { headers: Some(crate::headers::of_fixtures()), ..Options::default() })
}

/// The same with macros and headers of one's own.
pub fn analyze_with(text: &str, options: &Options) -> Analyzed {
    analyze_in(Language::C, text, options)
}

/// The same in another language.
pub fn analyze_in(language: Language, text: &str, options: &Options) -> Analyzed {
    let parsed = front::Parsed::parse(language, text);
    let unit = front::lower(&parsed, options, &mut front::Memo::new());
    let mut loops = Vec::new();
    let mut facts = Vec::new();
    let program =
        Program::of(unit.items.iter().chain(unit.included.iter().map(|i| &i.item)).map(|i| &i.body));
    for (item, i) in unit.items.iter().enumerate() {
        let f = analysis::analyze(&i.body, &program, analysis::SAVE, &Budget::new(u64::MAX));
        for (id, l) in f.loops.iter_ids() {
            let at = (i.span.start + i.body.span(l.term).start) as usize;
            let line = text.as_bytes().iter().take(at).filter(|b| **b == b'\n').count() as u32 + 1;
            loops.push(Found { line, item, id });
        }
        facts.push(f);
    }
    loops.sort_by_key(|l| l.line);
    Analyzed { text: text.to_owned(), unit, program, facts, loops }
}

/// What a C text itself defines or declares at file scope: functions, and variables. Not names that are the compiler's.
pub fn names(text: &str) -> Vec<String> {
    let options = Options { headers: Some(crate::headers::of_fixtures()), ..Options::default() };
    let unit = front::lower(&front::Parsed::parse(Language::C, text), &options, &mut front::Memo::new());
    // of declarations the first name, where nothing else was understood
    let items = unit.items.iter().map(|i| &i.name);
    let symbols = unit.items.iter().flat_map(|i| i.body.symbols.iter());
    let variables = symbols.filter(|s| matches!(s.storage, term::Storage::Global { .. })).map(|s| &s.name);
    let mut out: Vec<String> = items.chain(variables).map(|n| n.to_string()).collect();
    out.retain(|n| !n.is_empty() && !n.starts_with("__"));
    out.sort_unstable();
    out.dedup();
    out
}

/// Compares every loop of a text with its marker. One line a mismatch; empty: all as expected.
pub fn check(name: &str, text: &str) -> Vec<String> {
    compare_all(name, text).wrong
}

/// What a comparison of all loops of a text with their markers gives, one line each.
#[derive(Clone, Default, Debug)]
pub struct Compared {
    pub wrong: Vec<String>,
    /// Loops with a `FIXME` whose answer is not the true one yet.
    pub missed: Vec<String>,
    /// Loops whose `FIXME` can go.
    pub mended: Vec<String>,
    pub loops: usize,
}

/// Compares every loop of a text with its marker.
pub fn compare_all(name: &str, text: &str) -> Compared {
    let mut out = Compared::default();
    let expected = match markers(text) {
        Ok(e) => e,
        Err(e) => return Compared { wrong: vec![format!("{name}: {e}")], ..out },
    };
    let a = analyze(text);
    out.loops = a.loops.len();
    let wrong = &mut out.wrong;
    for r in &a.unit.rejects {
        wrong.push(format!("{name}: not understood outside of functions: {}", r.reason));
    }
    let gaps = text.lines().any(|l| l.trim().strip_prefix("//~").is_some_and(|m| m.trim() == GAPS));
    for i in a.unit.items.iter().filter(|_| !gaps) {
        for r in i.body.rejects() {
            wrong.push(format!("{name}: not understood in `{}`: {}", i.name, r.reason));
        }
    }
    for e in &expected {
        let here: Vec<&Found> = a.loops.iter().filter(|l| l.line == e.line).collect();
        match here.as_slice() {
            [] => wrong.push(format!("{name}:{}: no loop begins here", e.line)),
            [l] => {
                let verdict = a.facts[l.item].loops[l.id].verdict;
                let found = compare(&a, l, e).into_iter().map(|w| format!("{name}:{}: {w}", e.line));
                if verdict != e.verdict && e.fixme.contains(&verdict) {
                    out.missed.extend(found);
                    continue;
                }
                if verdict == e.verdict && !e.fixme.is_empty() {
                    out.mended.push(format!("{name}:{}: {}", e.line, verdict_name(verdict)));
                }
                wrong.extend(found);
            }
            _ => wrong.push(format!("{name}:{}: several loops on one line", e.line)),
        }
    }
    for l in &a.loops {
        if !expected.iter().any(|e| e.line == l.line) {
            wrong.push(format!("{name}:{}: a loop without marker", l.line));
        }
    }
    out
}

/// A verdict as markers write it.
pub fn verdict_name(v: Verdict) -> &'static str {
    match v {
        Verdict::Independent => "independent",
        Verdict::Reduction => "reduction",
        Verdict::Sequential => "sequential",
        Verdict::Unknown => "unknown",
    }
}

/// The first word of a value's debug form: `UnknownCall(s3)` → `UnknownCall`.
pub fn kind_name(kind: &impl std::fmt::Debug) -> String {
    let all = format!("{kind:?}");
    all.split(|c: char| !c.is_alphanumeric()).next().unwrap_or("").to_owned()
}

fn compare(a: &Analyzed, l: &Found, e: &Expected) -> Vec<String> {
    let facts = &a.facts[l.item].loops[l.id];
    let body = &a.unit.items[l.item].body;
    let start = a.unit.items[l.item].span.start;
    let at = |t| {
        let s = body.span(t).shifted(start);
        a.text.get(s.range()).unwrap_or("").to_owned()
    };
    let symbol = |s| body.symbols[s].name.to_string();
    let obstacles: Vec<String> = facts
        .obstacles
        .iter()
        .map(|o| format!("{} at `{}`", kind_name(&o.kind), first_line(&at(o.term))))
        .collect();
    let dependences: Vec<String> = facts
        .dependences
        .iter()
        .map(|d| {
            format!(
                "{:?} on {} from `{}` to `{}`{}",
                d.kind,
                symbol(d.object.symbol),
                at(d.source),
                at(d.sink),
                if d.witness.is_some() { "" } else { " (maybe)" }
            )
        })
        .collect();
    let mut wrong = Vec::new();
    if facts.verdict != e.verdict {
        let mut w = format!("expected {}, got {}", verdict_name(e.verdict), verdict_name(facts.verdict));
        if !obstacles.is_empty() {
            w += &format!("; obstacles: {}", obstacles.join(", "));
        }
        if !dependences.is_empty() {
            w += &format!("; dependences: {}", dependences.join(", "));
        }
        wrong.push(w);
        return wrong;
    }
    let mut private: Vec<String> =
        facts.privates.iter().filter(|p| !p.declared_inside).map(|p| symbol(p.symbol)).collect();
    private.sort();
    for p in &e.private {
        if !private.contains(p) {
            wrong.push(format!("`{p}` is not private; private: {}", private.join(" ")));
        }
    }
    match e.verdict {
        Verdict::Reduction => {
            let mut got: Vec<String> = facts.reductions.iter().map(|r| symbol(r.object.symbol)).collect();
            let mut want = e.names.clone();
            got.sort();
            want.sort();
            if got != want {
                wrong.push(format!("expected reductions {}, got {}", want.join(" "), got.join(" ")));
            }
        }
        Verdict::Sequential => {
            for n in &e.names {
                let named =
                    facts.dependences.iter().any(|d| d.witness.is_some() && symbol(d.object.symbol) == *n);
                if !named {
                    wrong.push(format!(
                        "no proved dependence on `{n}`; dependences: {}",
                        dependences.join(", ")
                    ));
                }
            }
        }
        Verdict::Unknown => {
            let kinds: Vec<String> = facts.obstacles.iter().map(|o| kind_name(&o.kind)).collect();
            if !e.names.is_empty() && !e.names.iter().any(|n| kinds.contains(n)) {
                wrong.push(format!("expected {}; obstacles: {}", e.names.join(" or "), obstacles.join(", ")));
            }
        }
        Verdict::Independent => {}
    }
    wrong
}

fn first_line(s: &str) -> String {
    let mut l = s.lines().next().unwrap_or("").to_owned();
    if l.len() < s.len() {
        l.push('…');
    }
    l
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_read() {
        let m =
            markers("a //~ sequential x y; no-offload\nb\nc //~ independent; private t; offload").unwrap();
        assert_eq!(m.len(), 2);
        assert_eq!((m[0].line, m[0].verdict, m[0].offload), (1, Verdict::Sequential, Some(false)));
        assert_eq!(m[0].names, ["x", "y"]);
        assert_eq!((m[1].line, m[1].offload), (3, Some(true)));
        assert_eq!(m[1].private, ["t"]);
        let m = markers("//~ independent; FIXME unknown sequential").unwrap();
        assert_eq!(m[0].fixme, [Verdict::Unknown, Verdict::Sequential]);
        assert!(markers("//~ maybe").is_err());
        assert!(markers("//~ unknown; perhaps").is_err());
    }
}
