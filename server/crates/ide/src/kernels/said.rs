//! Launches, places and verdicts of kernels in words.

use std::fmt::Write;

use analysis::{
    AccessFact, AnyShape, KernelFacts, KernelLaunch, Pattern, RaceObstacle, RaceSide, RaceVerdict,
    RaceWitness, Reach, Requests, Touch,
};
use base::Span;

use super::thread_words;
use crate::Doc;

/// Where a term of a function stands in the document; that of the kernel's name where it stands elsewhere.
pub(crate) fn place(doc: &Doc, kernel: &front::Item, function: &str, term: term::TermId) -> Span {
    let item = match &*kernel.body.name == function {
        true => Some(kernel),
        false => doc.unit().items.iter().find(|i| *i.body.name == *function),
    };
    match item {
        Some(i) => i.body.span(term).shifted(i.span.start),
        None => Span { start: kernel.span.start, end: kernel.span.start },
    }
}

/// 1-based.
pub(crate) fn line(doc: &Doc, span: Span) -> u32 {
    doc.range_of(span, text::PositionEncoding::Utf8).start.line + 1
}

/// Which of an access's requests were looked at, where not all were: for the middle of a sentence, with a blank before it.
pub(crate) fn looked_at(r: &Requests) -> String {
    let round = match !r.exact && (r.first_round || r.blocks.is_none()) {
        true => " in the first round of its loop",
        false => "",
    };
    match r.blocks {
        None => round.to_owned(),
        Some(n) => format!("{round} in the {n} blocks looked at"),
    }
}

/// What would order the two, by the contract's names.
pub(crate) fn missing(w: &RaceWitness) -> Option<&'static str> {
    match (w.update, w.reach) {
        (true, _) => Some("atomic"),
        (_, Reach::Warp) => Some("syncwarp"),
        (_, Reach::Block) => Some("barrier"),
        (_, Reach::Grid) => None,
    }
}

/// `s[3]: thread 0 of block 0 writes it on line 4, thread 1 of block 0 reads it on line 5`
pub(crate) fn witness(doc: &Doc, kernel: &front::Item, w: &RaceWitness) -> String {
    let one = |s: &RaceSide| {
        let line = line(doc, place(doc, kernel, &s.function, s.term));
        format!("{} {} on line {line}", thread_words(s.thread, s.block), touches(w, s))
    };
    format!("{}[{}]: {}, {}", w.object, w.index, one(&w.first), one(&w.second))
}

pub(crate) fn touches(w: &RaceWitness, s: &RaceSide) -> &'static str {
    match s.touch {
        _ if w.update => "reads and writes it",
        Touch::Read => "reads it",
        Touch::Write => "writes it",
        Touch::Atomic => "updates it atomically",
    }
}

/// ` (2 blocks of 64 threads, n = 100)`
pub(crate) fn launch_words(launch: &KernelLaunch) -> String {
    let (Some(grid), Some(block)) = (launch.grid, launch.block) else { return String::new() };
    let product = |e: [u32; 3]| match e {
        [x, 1, 1] => x.to_string(),
        [x, y, 1] => format!("{x} by {y}"),
        [x, y, z] => format!("{x} by {y} by {z}"),
    };
    let values: Vec<String> = launch.values.iter().map(|(n, v)| format!(", `{n}` = {v}")).collect();
    let blocks = if grid == [1, 1, 1] { "block" } else { "blocks" };
    format!("{} {blocks} of {} threads{}", product(grid), product(block), values.concat())
}

/// What is taken for granted of blocks where no launch is known: behind *with*.
pub fn assumed(a: analysis::Assumed) -> String {
    match a {
        analysis::Assumed::RowsOfWarps => "blocks a multiple of 32 threads wide".to_owned(),
        analysis::Assumed::Launch(b) => format!("blocks of {} threads", extents(b)),
        analysis::Assumed::Tile(b) => {
            format!("blocks of {} threads, which a shared array suggests", extents(b))
        }
    }
}

/// What an access asks for whatever the launch, as items of a list.
pub(crate) fn any_shape(a: &AccessFact, any: &AnyShape, out: &mut String) {
    let neighbours = match any.pattern {
        Pattern::Uniform => "all threads of a warp ask for the same place".to_owned(),
        Pattern::Coalesced => "the threads of a warp ask for neighbouring places".to_owned(),
        Pattern::Strided(Some(k)) => format!("neighbouring threads ask for elements {} apart", k.abs()),
        Pattern::Strided(None) => {
            "neighbouring threads ask for places a distance apart that only the run decides".to_owned()
        }
        Pattern::Irregular => "the threads of a warp ask for places in no simple order".to_owned(),
        Pattern::Gather => "what memory holds decides which places the threads of a warp ask for".to_owned(),
    };
    let what = match a.space {
        term::Space::Global => "sectors of 32 bytes",
        term::Space::Constant => "different addresses",
        _ => "passes",
    };
    let between = |[least, most]: [u64; 2]| match least == most {
        true => least.to_string(),
        false => format!("{least} to {most}"),
    };
    let full = match any.partial {
        false => String::new(),
        true => format!("; one of all {} that may come here, {}", any.lanes, between(any.full)),
    };
    let _ = write!(
        out,
        "\n- {neighbours}\n- a request takes {} {what}{full}: with whatever launch of {}",
        between(any.cost),
        assumed(any.assumed)
    );
}

/// A block by its extents: `64 by 1` are not any 64 threads.
fn extents(e: [u32; 3]) -> String {
    match e {
        [x, y, 1] => format!("{x} by {y}"),
        [x, y, z] => format!("{x} by {y} by {z}"),
    }
}

/// For which launches something is proved.
pub(crate) fn shapes(s: &analysis::Shapes) -> String {
    let axes = match s.axes {
        1 => "one dimension",
        2 => "two dimensions",
        _ => "three dimensions",
    };
    let blocks = s.block.map(|b| format!(" with blocks of {} threads", extents(b))).unwrap_or_default();
    format!("every launch of {axes}{blocks}, as long as no index passes 2147483647")
}

/// The verdict by the contract's name, and what stands against a better one.
pub(crate) fn verdict(
    doc: &Doc,
    kernel: &front::Item,
    facts: &KernelFacts,
) -> (&'static str, Option<String>) {
    let at = |function: &str, term| line(doc, place(doc, kernel, function, term));
    let own = |term| at(&kernel.body.name, term);
    match &facts.races {
        RaceVerdict::Free { .. } => ("race-free", None),
        RaceVerdict::Race(_) => ("race", None),
        RaceVerdict::Unknown(why) => {
            let why = match why {
                RaceObstacle::Kernel(k) => obstacle(k, own),
                RaceObstacle::OtherBlocks(s) => {
                    let blocks = s.block.map(extents).unwrap_or_default();
                    format!("proved for blocks of {blocks} threads, which a shared array suggests, and not for others")
                }
                RaceObstacle::OutOfRange(f, t) => {
                    format!("the access on line {} falls outside of its array", at(f, *t))
                }
                RaceObstacle::Barrier(t) => {
                    format!(
                        "whether all threads of a block reach the barrier on line {} is not known",
                        own(*t)
                    )
                }
                RaceObstacle::MayMeet { object, first, second } => {
                    let (a, b) = (at(&first.0, first.1), at(&second.0, second.1));
                    let lines = if a == b { format!("line {a}") } else { format!("lines {a} and {b}") };
                    format!("whether two threads meet in `{object}` on {lines} depends on what is not known")
                }
                RaceObstacle::Fenced { object, first, second } => {
                    let (a, b) = (at(&first.0, first.1), at(&second.0, second.1));
                    let lines = if a == b { format!("line {a}") } else { format!("lines {a} and {b}") };
                    format!(
                        "two blocks meet in `{object}` on {lines}, and only fences and atomic operations order them: whether they do depends on \
                         what the counters hold when the kernel starts"
                    )
                }
                RaceObstacle::SameValue { object, term } => {
                    format!("threads write one value to one place of `{object}` on line {}", own(*term))
                }
            };
            ("unknown", Some(why))
        }
    }
}

fn obstacle(k: &analysis::KernelObstacle, line: impl Fn(term::TermId) -> u32) -> String {
    use analysis::KernelObstacle::*;
    match k {
        Value(t) => format!("what line {} touches is not known", line(*t)),
        Structure(t) => format!("what stands on line {} is not followed", line(*t)),
        NotFound => "no two threads were found".to_owned(),
        NoLaunch => "nothing says how the kernel is launched".to_owned(),
        TooLarge => "the launch is too large to look at thread by thread".to_owned(),
        Budget => "the analysis stopped at its limit of counted steps while it compared the kernel's threads; saving the file gives it a larger one".to_owned(),
    }
}
