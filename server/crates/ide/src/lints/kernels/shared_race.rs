//! `shared-race`: two threads of a block touch one place of shared memory, one of them writing, with nothing between them. `global-race` finds,
//! says and repairs with the same functions.

use crate::kernels::{function_of, launch_words, line, missing, place, thread_words, touches};
use crate::lints::{Find, Lint, Message};
use crate::repairs::{Repair, Site};
use crate::words::list;
use crate::{Ask, Doc, Fact, Related, Severity};
use analysis::{RaceSide, RaceVerdict, RaceWitness, Touch};
use base::Span;
use term::device::{AtomicOp, Scope, Tally, Word};
use term::{Op, TermId};
use text::Edit;

pub(super) const LINT: Lint = Lint {
    code: "shared-race",
    severity: Severity::Error,
    summary: "Two threads touch one place of shared memory without order.",
    page: include_str!("../../../../../../docs/codes/shared-race.md"),
    find: Find::Document(|ask| races(ask, true)),
    fixes: &[fix],
};

/// Places tried for a barrier.
const TRIED: usize = 8;

/// Places beside the first that are named.
const NAMED: usize = 8;

/// The races of all kernels of a document, in shared or in global memory, one a cause and one a place.
pub(super) fn races(ask: &Ask, shared: bool) -> Vec<(Span, Message)> {
    let doc = &ask.doc;
    let mut found: Vec<(Span, Message)> = Vec::new();
    for item in doc.unit().items.iter().filter(|i| i.is_kernel) {
        let (facts, _) = ask.kernel_facts(item);
        let RaceVerdict::Race(list) = &facts.races else { continue };
        for causes in by_cause(list.iter().filter(|w| w.shared == shared && !is_look(w))) {
            let (span, said) = words(doc, item, &causes);
            if !found.iter().any(|(s, o)| *s == span && o.instance == said.instance) {
                found.push((span, said));
            }
        }
    }
    found
}

/// Guarding an atomic by a plain look at the same cell is common, and at worst does it once too often.
fn is_look(w: &RaceWitness) -> bool {
    let look = |s: &RaceSide, o: &RaceSide| s.touch == Touch::Read && o.touch == Touch::Atomic;
    look(&w.first, &w.second) || look(&w.second, &w.first)
}

/// Races with one cause together, in their order: of one array that lanes of a warp use as if they ran in step, or of one access of it
/// that lacks the same order towards several others.
fn by_cause<'w>(all: impl Iterator<Item = &'w RaceWitness>) -> Vec<Vec<RaceWitness>> {
    let same_access = |a: &RaceSide, b: &RaceSide| a.function == b.function && a.term == b.term;
    let is_one = |a: &RaceWitness, b: &RaceWitness| {
        let sides = || [&a.first, &a.second].into_iter().flat_map(|x| [(x, &b.first), (x, &b.second)]);
        let alike = a.object == b.object && missing(a) == missing(b);
        alike && (missing(a) == Some("syncwarp") || sides().any(|(x, y)| same_access(x, y)))
    };
    let mut out: Vec<Vec<RaceWitness>> = Vec::new();
    for w in all {
        match out.iter_mut().find(|group| group.iter().any(|g| is_one(g, w))) {
            Some(group) => group.push(w.clone()),
            None => out.push(vec![w.clone()]),
        }
    }
    out
}

/// The two places of a race in the order of the text.
fn in_order<'w>(doc: &Doc, kernel: &front::Item, w: &'w RaceWitness) -> [(&'w RaceSide, Span); 2] {
    let [a, b] = [&w.first, &w.second].map(|s| (s, place(doc, kernel, &s.function, s.term)));
    if a.1.start <= b.1.start {
        [a, b]
    } else {
        [b, a]
    }
}

/// Lines on which else the cause shows: ` So it is on lines 12 and 14.`
fn elsewhere(doc: &Doc, kernel: &front::Item, all: &[RaceWitness], told: Span) -> String {
    let own = line(doc, told);
    let mut lines: Vec<u32> =
        all.iter().map(|w| line(doc, in_order(doc, kernel, w)[1].1)).filter(|l| *l != own).collect();
    lines.sort_unstable();
    lines.dedup();
    let more = lines.len().saturating_sub(NAMED);
    lines.truncate(NAMED);
    let mut named: Vec<String> = lines.iter().map(u32::to_string).collect();
    named.extend((more > 0).then(|| format!("{more} more")));
    match named.len() {
        0 => String::new(),
        1 => format!(" So it is on line {}.", named[0]),
        _ => format!(" So it is on lines {}.", list(&named)),
    }
}

/// A race as a finding: where, the words, and the places; those of the others with the same cause behind them.
fn words(doc: &Doc, kernel: &front::Item, all: &[RaceWitness]) -> (Span, Message) {
    let w = &all[0];
    let [(first, a), (second, b)] = in_order(doc, kernel, w);
    let who = |s: &RaceSide| thread_words(s.thread, s.block);
    let name = format!("`{}[{}]`", w.object, w.index);
    let (one, two) = (who(first), who(second));
    let what = if w.update {
        format!(
            "{one} and {two} both read and write {name} here, and nothing orders them: one of the two updates can be lost."
        )
    } else if a == b {
        format!(
            "{one} {} and {two} {}, the same {name}, and nothing orders them: unless they write one value, what is there afterwards depends on who comes last.",
            touches(w, first),
            touches(w, second)
        )
    } else {
        format!(
            "{two} {}, {one} {} on line {}: the same {name}, and nothing orders the two.",
            touches(w, second),
            touches(w, first),
            line(doc, a)
        )
    };
    let launch = launch_words(doc, kernel, &w.launch);
    let barrier = |scope| gpu::CUDA.said(Word::Barrier(scope, Tally::Nothing));
    let (of_block, of_warp) = (barrier(Scope::Block), barrier(Scope::Warp));
    let add = gpu::CUDA.said(Word::Atomic(Some(AtomicOp::Add), Scope::Device));
    let now = match (missing(w), w.shared) {
        (Some("atomic"), _) => &*format!("Use an atomic operation, such as `{add}`."),
        (Some("syncwarp"), _) if a == b => {
            "Let every lane write a place of its own, or let one lane write."
        }
        (Some("syncwarp"), _) if within_one_statement(doc, kernel, first, second) => &format!(
            "Lanes of a warp do not run in step: read into a variable first, and put `{of_warp}()` between that and the write (every lane of the \
             warp must come to it)."
        ),
        (Some("barrier"), _) if a != b && within_one_statement(doc, kernel, first, second) => &format!(
            "Read into a variable first, and put `{of_block}()` between that and the write, where all threads of the block come."
        ),
        (Some("syncwarp"), _) => {
            let both = [first, second].into_iter().find(|s| also_writes(doc, kernel, s));
            let and = both.map_or(String::new(), |s| {
                let at = line(doc, place(doc, kernel, &s.function, s.term));
                format!(
                    " Line {at} reads what other lanes write there: read into a variable first, and put one between that and the write."
                )
            });
            &format!("Lanes of a warp do not run in step: put `{of_warp}()` between the two (every lane of the warp must come to it).{and}")
        }
        (Some("barrier"), _) if a == b => {
            &format!("Let every thread write a place of its own, or put `{of_block}()` between the rounds.")
        }
        (Some("barrier"), _) => &format!("Put `{of_block}()` between the two, where all threads of the block come."),
        _ => {
            "There is no barrier between blocks inside a launch: let every block write places of its own, use atomic operations, or \
             make two launches."
        }
    };
    let mut message = what;
    if let Some(first) = message.get(..1).map(str::to_uppercase) {
        message.replace_range(..1, &first);
    }
    let related =
        |s: &RaceSide, span| Related { span, message: format!("{} {} here", who(s), touches(w, s)).into() };
    let mut places = vec![related(first, a)];
    if a != b {
        places.push(related(second, b));
    }
    for (s, span) in all[1..].iter().flat_map(|w| in_order(doc, kernel, w)) {
        if places.len() <= NAMED && places.iter().all(|p| p.span != span) {
            places.push(Related {
                span,
                message: format!("{} here, and nothing orders it", touched(s)).into(),
            });
        }
    }
    let said = Message {
        message: format!("{message} Seen with {launch}.{} {now}", elsewhere(doc, kernel, all, b)),
        related: places,
        ..Message::on(kernel, Fact::Race(all.to_vec()))
    };
    (b, said)
}

/// Whether the two are parts of one assignment, so that nothing can be put between them.
fn within_one_statement(doc: &Doc, kernel: &front::Item, a: &RaceSide, b: &RaceSide) -> bool {
    let Some(body) = function_of(doc, kernel, &a.function).map(|i| &i.body) else { return false };
    let writes = body
        .walk(body.root)
        .filter(|&t| matches!(body.op(t), Op::Assign | Op::Compound(_) | Op::Step { .. }));
    a.function == b.function
        && writes.into_iter().any(|t| {
            let has = |x: TermId| body.walk(t).any(|y| y == x);
            has(a.term) && has(b.term)
        })
}

/// Whether the statement that reads another lane's element of an array writes one of it: `s[t] += s[t + 16]`.
fn also_writes(doc: &Doc, kernel: &front::Item, s: &RaceSide) -> bool {
    let Some(body) = function_of(doc, kernel, &s.function).map(|i| &i.body) else { return false };
    let base = |t: TermId| body.walk(t).find_map(|x| body.as_symbol(x));
    let parents = body.parents();
    let mut at = s.term;
    while let Some(up) = parents.get(at.0 as usize).copied().flatten() {
        if body.op(up).is_write() {
            let place = body.args(up).first().copied();
            return s.touch == Touch::Read
                && place.is_some_and(|p| p != at && base(p).is_some() && base(p) == base(s.term));
        }
        at = up;
    }
    false
}

fn touched(s: &RaceSide) -> &'static str {
    match s.touch {
        Touch::Read => "Read",
        Touch::Write => "Written",
        Touch::Atomic => "Updated atomically",
    }
}

/// What orders the two: an atomic operation, or a barrier at the first place where it does.
pub(super) fn fix(site: &Site, fact: &Fact) -> Option<Repair> {
    let Fact::Race(all) = fact else { return None };
    let w = all.first()?;
    match missing(w)? {
        "atomic" => {
            let t = site.updating(w.first.term)?;
            let (title, edit) = site.atomic(t)?;
            site.checked_of_race(title, vec![edit], w)
        }
        missing => {
            let scope = if missing == "barrier" { Scope::Block } else { Scope::Warp };
            let call = format!("{}();", gpu::CUDA.said(Word::Barrier(scope, Tally::Nothing)));
            let call = call.as_str();
            let ordered: Option<Vec<[TermId; 2]>> = all.iter().map(|w| in_text(site, w)).collect();
            let [first, second] = in_text(site, w)?;
            let title = format!("Put `{}` between the two", call.trim_end_matches(';'));
            let every = ordered.filter(|o| o.len() > 1).and_then(|o| everywhere(site, &o, call, w));
            let before = site.statements(second).into_iter().map(|s| site.before(s, call));
            let after = site.statements(first).into_iter().map(|s| site.after(s, call));
            let mut each = before.chain(after).take(TRIED);
            every.or_else(|| each.find_map(|e| site.checked_of_race(title.clone(), vec![e], w)))
        }
    }
}

/// The accesses of a race in the order of the text, where both stand in the kernel itself.
fn in_text(site: &Site, w: &RaceWitness) -> Option<[TermId; 2]> {
    let is_own = |s: &RaceSide| *s.function == *site.body.name;
    let (a, b) = (w.first.term, w.second.term);
    let ordered = if site.span(a).start <= site.span(b).start { [a, b] } else { [b, a] };
    (is_own(&w.first) && is_own(&w.second)).then_some(ordered)
}

/// The call at every place where races with one cause lack it: before what comes second, or after what comes first.
fn everywhere(site: &Site, all: &[[TermId; 2]], call: &str, w: &RaceWitness) -> Option<Repair> {
    let innermost = |t: TermId| site.statements(t).into_iter().next();
    let before: Option<Vec<Edit>> =
        all.iter().map(|[_, b]| Some(site.before(innermost(*b)?, call))).collect();
    let after: Option<Vec<Edit>> = all.iter().map(|[a, _]| Some(site.after(innermost(*a)?, call))).collect();
    [before, after].into_iter().flatten().find_map(|mut edits| {
        edits.sort_by_key(|e| e.span.start);
        edits.dedup_by_key(|e| e.span);
        let places = match edits.len() {
            1 => "between the two".to_owned(),
            n => format!("at {n} places"),
        };
        site.checked_of_race(format!("Put `{}` {places}", call.trim_end_matches(';')), edits, w)
    })
}
