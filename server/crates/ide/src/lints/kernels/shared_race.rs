//! `shared-race`: two threads of a block touch one place of shared memory, one of them writing, with nothing between them. `global-race` finds,
//! says and repairs with the same functions.

use crate::kernels::{launch_words, line, missing, place, thread_words, touches};
use crate::lints::{Find, Lint, Message};
use crate::repairs::{Repair, Site};
use crate::{Ask, Doc, Fact, Related, Severity};
use analysis::{RaceSide, RaceVerdict, RaceWitness, Touch};
use base::Span;
use term::device::{AtomicOp, Scope, Tally, Word};

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

/// The races of all kernels of a document, in shared or in global memory, one a place.
pub(super) fn races(ask: &Ask, shared: bool) -> Vec<(Span, Message)> {
    let doc = &ask.doc;
    let mut found: Vec<(Span, Message)> = Vec::new();
    for item in doc.unit().items.iter().filter(|i| i.is_kernel) {
        let (facts, _) = ask.kernel_facts(item);
        let RaceVerdict::Race(list) = &facts.races else { continue };
        for w in list.iter().filter(|w| w.shared == shared) {
            // guarding an atomic by a plain look at the same cell is common, and at worst does it once too often
            let look = |s: &RaceSide, o: &RaceSide| s.touch == Touch::Read && o.touch == Touch::Atomic;
            if look(&w.first, &w.second) || look(&w.second, &w.first) {
                continue;
            }
            let (span, said) = words(doc, item, w);
            if !found.iter().any(|(s, o)| *s == span && o.instance == said.instance) {
                found.push((span, said));
            }
        }
    }
    found
}

/// A race as a finding: where, the words, and the two places.
fn words(doc: &Doc, kernel: &front::Item, w: &RaceWitness) -> (Span, Message) {
    let (a, b) = (
        place(doc, kernel, &w.first.function, w.first.term),
        place(doc, kernel, &w.second.function, w.second.term),
    );
    let ((first, a), (second, b)) =
        if a.start <= b.start { ((&w.first, a), (&w.second, b)) } else { ((&w.second, b), (&w.first, a)) };
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
    let launch = launch_words(&w.launch);
    let barrier = |scope| gpu::CUDA.said(Word::Barrier(scope, Tally::Nothing));
    let (of_block, of_warp) = (barrier(Scope::Block), barrier(Scope::Warp));
    let add = gpu::CUDA.said(Word::Atomic(Some(AtomicOp::Add), Scope::Device));
    let now = match (missing(w), w.shared) {
        (Some("atomic"), _) => &*format!("Use an atomic operation, such as `{add}`."),
        (Some("syncwarp"), _) => {
            &format!("Lanes of a warp do not run in step: put `{of_warp}()` between the two (every lane of the warp must come to it).")
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
    let said = Message {
        message: format!("{message} Seen with {launch}. {now}"),
        related: places,
        ..Message::on(kernel, Fact::Race(w.clone()))
    };
    (b, said)
}

/// What orders the two: an atomic operation, or a barrier at the first place where it does.
pub(super) fn fix(site: &Site, fact: &Fact) -> Option<Repair> {
    let Fact::Race(w) = fact else { return None };
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
            let own = |s: &analysis::RaceSide| *s.function == *site.body.name;
            if !own(&w.first) || !own(&w.second) {
                return None;
            }
            let (first, second) = match site.span(w.first.term).start <= site.span(w.second.term).start {
                true => (w.first.term, w.second.term),
                false => (w.second.term, w.first.term),
            };
            let before = site.statements(second).into_iter().map(|s| site.before(s, call));
            let after = site.statements(first).into_iter().map(|s| site.after(s, call));
            let title = format!("Put `{}` between the two", call.trim_end_matches(';'));
            before.chain(after).take(TRIED).find_map(|e| site.checked_of_race(title.clone(), vec![e], w))
        }
    }
}
