//! Launches, places and verdicts of kernels in words.

use std::fmt::Write;

use analysis::{
    AccessFact, AnyShape, KernelFacts, KernelLaunch, Pattern, RaceObstacle, RaceSide, RaceVerdict,
    RaceWitness, Reach, Requests, TakenAs, Touch,
};
use base::Span;

use super::shape::{Origin, Shape, Taken};
use super::{shape, thread_words, LaunchPlace};
use crate::function_view::in_full;
use crate::words::{list, quoted};
use crate::Doc;

/// Pairs of parameters that are named one by one.
const PAIRS: usize = 3;

/// Where a term of a function stands in the document; that of the kernel's name where it stands elsewhere.
pub(crate) fn place(doc: &Doc, kernel: &front::Item, function: &str, term: term::TermId) -> Span {
    match function_of(doc, kernel, function) {
        Some(i) => i.body.span(term).shifted(i.span.start),
        None => Span { start: kernel.span.start, end: kernel.span.start },
    }
}

/// The kernel, or the function of the document that it calls.
pub(crate) fn function_of<'d>(
    doc: &'d Doc,
    kernel: &'d front::Item,
    function: &str,
) -> Option<&'d front::Item> {
    match &*kernel.body.name == function {
        true => Some(kernel),
        false => doc.unit().items.iter().find(|i| *i.body.name == *function),
    }
}

/// 1-based.
pub(crate) fn line(doc: &Doc, span: Span) -> u32 {
    doc.range_of(span, text::PositionEncoding::Utf8).start.line + 1
}

/// What a call calls, as it is written there: the name of an operation on groups (`cg::reduce`) is ours where nobody wrote it.
pub(crate) fn as_written<'d>(doc: &'d Doc, call: Span, name: &'d str) -> &'d str {
    let text = doc.slice(Span { start: call.start, end: doc.text().span().end });
    let is_part = |c: char| c.is_alphanumeric() || "_:.<>-".contains(c);
    let written = text.split('(').next().unwrap_or("").trim_end();
    match written.contains(name) || written.is_empty() || !written.chars().all(is_part) {
        true => name,
        false => written,
    }
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

/// `2 blocks of 64 threads, n = 100`, which launch of several that is, and what was taken for it.
pub(crate) fn launch_words(doc: &Doc, kernel: &front::Item, launch: &KernelLaunch) -> String {
    let (Some(grid), Some(block)) = (launch.grid, launch.block) else { return String::new() };
    let of_file = which(doc, kernel, launch);
    let taken = match (launch.taken.is_empty(), &of_file) {
        (false, Some((s, _))) => taken_words(doc, &s.taken),
        _ => String::new(),
    };
    let which = match of_file {
        Some((_, Origin::Launch(at))) => match at {
            LaunchPlace::Here(at) if !is_launched_again(doc, kernel, at) => String::new(),
            at => format!(" (the launch {})", launch_place(doc, &at)),
        },
        _ => String::new(),
    };
    let values: Vec<String> = launch.values.iter().map(|(n, v)| format!(", `{n}` = {v}")).collect();
    format!("{}{}{which}{taken}", blocks_of(grid, block), values.concat())
}

/// `2 blocks of 64 threads`, `2 by 2 blocks of 8 by 8 threads`
pub(crate) fn blocks_of(grid: [u32; 3], block: [u32; 3]) -> String {
    let blocks = if grid == [1, 1, 1] { "block" } else { "blocks" };
    let threads = if block == [1, 1, 1] { "thread" } else { "threads" };
    format!("{} {blocks} of {} {threads}", number(grid), number(block))
}

/// `256`, `16 by 16`
pub(super) fn number(e: [u32; 3]) -> String {
    match e {
        [x, 1, 1] => x.to_string(),
        e => extents(e),
    }
}

/// Which of the file's launches it is that a kernel is judged with; one that was tried is none of them.
pub(super) fn which(doc: &Doc, kernel: &front::Item, launch: &KernelLaunch) -> Option<(Shape, Origin)> {
    let all = shape::known_of(doc, kernel).ok()?;
    let exact = all.iter().find(|(s, _)| super::known_launch(doc, s) == *launch);
    let alike = || all.iter().find(|(s, _)| (Some(s.grid), Some(s.block)) == (launch.grid, launch.block));
    exact.or_else(alike).cloned()
}

/// `on line 10`, `on line 10 of main.cu`
pub(super) fn launch_place(doc: &Doc, at: &LaunchPlace) -> String {
    match at {
        LaunchPlace::Here(at) => format!("on line {}", line(doc, *at)),
        LaunchPlace::Elsewhere { file, line } => format!("on line {line} of {}", quoted(file)),
    }
}

/// Whether other places of the document launch the kernel, too.
fn is_launched_again(doc: &Doc, kernel: &front::Item, at: Span) -> bool {
    let place = |host: &front::Item, t| host.body.span(t).shifted(host.span.start);
    doc.launches(&kernel.name).any(|(host, t)| line(doc, place(host, t)) != line(doc, at))
}

/// ` (for the default `n` = 1048576, line 12)`; nothing was taken: nothing.
pub(crate) fn taken_words(doc: &Doc, taken: &[Taken]) -> String {
    let all: Vec<String> = taken.iter().map(|t| taken_word(doc, t)).collect();
    match all.is_empty() {
        true => String::new(),
        false => format!(" (for {})", all.join(", ")),
    }
}

/// ``the default `n` = 1048576, line 12``
pub(crate) fn taken_word(doc: &Doc, t: &Taken) -> String {
    let place = t.at.map(|s| format!(", line {}", line(doc, s))).unwrap_or_default();
    let name = match &*t.name {
        "" => String::new(),
        n => format!(" `{n}` ="),
    };
    match t.why {
        TakenAs::Default => format!("the default{name} {}{place}", t.value),
        TakenAs::OneOf | TakenAs::Each => {
            format!("{} {}, one of several{place}", name.trim_start(), t.value).trim_start().to_owned()
        }
        TakenAs::Device => format!("devices with{name} {}{place}", t.value),
    }
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

/// For which launches something holds that is said of all launches of such blocks: behind *with*. What the launch gives the kernel's
/// parameters was believed, so it is told.
pub(crate) fn wherever(
    doc: &Doc,
    kernel: &front::Item,
    launch: &KernelLaunch,
    a: analysis::Assumed,
) -> String {
    let known = launch_words(doc, kernel, launch);
    match (known.is_empty(), launch.values.is_empty()) {
        (false, _) => known,
        (true, true) => format!("whatever launch of {}", assumed(a)),
        (true, false) => {
            let values: Vec<String> = launch.values.iter().map(|(n, v)| format!("`{n}` = {v}")).collect();
            format!("whatever launch of {}, {}", assumed(a), values.join(", "))
        }
    }
}

/// By which parameter neighbouring threads are apart, in elements: `n`, 4 × `n`.
pub(crate) fn named(body: &term::Body, any: &AnyShape) -> Option<String> {
    let (s, times) = any.by?;
    let name = format!("`{}`", body.symbols[s].name);
    Some(if times == 1 { name } else { format!("{times} × {name}") })
}

/// What an access asks for whatever the launch, as items of a list. `with`: for which launches that is.
pub(crate) fn any_shape(body: &term::Body, a: &AccessFact, any: &AnyShape, with: &str, out: &mut String) {
    let neighbours = match any.pattern {
        Pattern::Uniform => "all threads of a warp ask for the same place".to_owned(),
        Pattern::Coalesced => "the threads of a warp ask for neighbouring places".to_owned(),
        Pattern::Strided(Some(k)) => format!("neighbouring threads ask for elements {} apart", k.abs()),
        Pattern::Strided(None) => match named(body, any) {
            Some(by) => format!("neighbouring threads ask for elements {by} apart"),
            None => {
                "neighbouring threads ask for places a distance apart that only the run decides".to_owned()
            }
        },
        Pattern::Irregular => {
            "in which order the threads of a warp ask for places is not followed".to_owned()
        }
        Pattern::Gather => "what memory holds decides which places the threads of a warp ask for".to_owned(),
    };
    let (one, what) = match a.space {
        term::Space::Global => ("sector of 32 bytes", "sectors of 32 bytes"),
        term::Space::Constant => ("address", "different addresses"),
        _ => ("pass", "passes"),
    };
    let between = |[least, most]: [u64; 2]| match least == most {
        true => least.to_string(),
        false => format!("{least} to {most}"),
    };
    let full = match any.partial {
        false => String::new(),
        true => format!("; one of all {} that may come here, {}", any.lanes, between(any.full)),
    };
    let what = if any.cost == [1, 1] { one } else { what };
    let _ =
        write!(out, "\n- {neighbours}\n- a request takes {} {what}{full}: with {with}", between(any.cost));
}

/// A block by its extents: `64 by 1` are not any 64 threads.
pub(super) fn extents(e: [u32; 3]) -> String {
    match e {
        [x, y, 1] => format!("{x} by {y}"),
        [x, y, z] => format!("{x} by {y} by {z}"),
    }
}

/// `one dimension`, `blocks of one dimension in a grid of two dimensions`
fn axes(s: &analysis::Shapes) -> String {
    let words = |n| match n {
        1 => "one dimension",
        2 => "two dimensions",
        _ => "three dimensions",
    };
    match s.axes == s.block_axes {
        true => words(s.axes).to_owned(),
        false if s.block_axes == 0 => format!("one block of {}", words(s.axes)),
        false => format!("blocks of {} in a grid of {}", words(s.axes), words(s.block_axes)),
    }
}

/// For which launches something is proved.
pub(crate) fn shapes(s: &analysis::Shapes) -> String {
    let axes = axes(s);
    let suggests = if s.suggested { ", which a shared array suggests" } else { "" };
    let blocks =
        s.block.map(|b| format!(" with blocks of {} threads{suggests}", extents(b))).unwrap_or_default();
    format!("every launch of {axes}{blocks}, as long as nothing computed from indices passes 2147483647")
}

/// What a proof of freedom from races asks for: behind *whatever memory holds*. `open`: no launch says how many dimensions it has.
pub(crate) fn conditions(facts: &KernelFacts, open: bool) -> String {
    let RaceVerdict::Free { apart, positive, shapes } = &facts.races else { return String::new() };
    let mut out = String::new();
    if let Some(s) = shapes.as_ref().filter(|s| s.suggested) {
        let blocks = s.block.map(extents).unwrap_or_default();
        let _ = write!(out, ", with blocks of {blocks} threads, which a shared array suggests");
    }
    let few = |s: &analysis::Shapes| open && !s.suggested && s.axes.min(s.block_axes) < 3;
    if let Some(s) = shapes.as_ref().filter(|s| few(s) || s.block_axes == 0) {
        let of = if open { axes(s) } else { "one block".to_owned() };
        let _ = write!(out, ", in launches of {of}");
    }
    if shapes.as_ref().is_some_and(|s| s.indices) {
        out.push_str(", as long as nothing computed from indices passes 2147483647");
    }
    if !positive.is_empty() {
        let names: Vec<String> = positive.iter().map(|n| format!("`{n}`")).collect();
        let verb = if names.len() == 1 { "is" } else { "are" };
        let _ = write!(out, ", where {} {verb} 1 at least", names.join(", "));
    }
    if !apart.is_empty() {
        let shown = apart.iter().take(PAIRS).map(|[a, b]| format!("`{a}` and `{b}`"));
        let _ = write!(out, ", where {}", shown.collect::<Vec<_>>().join(", "));
        if let n @ 1.. = apart.len().saturating_sub(PAIRS) {
            let _ = write!(out, ", and {n} more pairs of parameters");
        }
        out.push_str(" share no memory");
    }
    out
}

/// `no race, whatever memory holds, where `a` and `b` share no memory`
pub(super) fn races(doc: &Doc, kernel: &front::Item, facts: &KernelFacts) -> Option<String> {
    match verdict(doc, kernel, facts) {
        ("race-free", _) => {
            let known = super::shape::known_of(doc, kernel).is_ok_and(|l| !l.is_empty());
            let open = !known && super::shape::block_of(doc, kernel).is_none();
            Some(format!("no race, whatever memory holds{}", conditions(facts, open)))
        }
        ("race", _) => Some("a race".to_owned()),
        (_, why) => why.map(|why| format!("whether it has races is not known: {why}")),
    }
}

/// The verdict by the contract's name, and what stands against a better one.
pub(crate) fn verdict(
    doc: &Doc,
    kernel: &front::Item,
    facts: &KernelFacts,
) -> (&'static str, Option<String>) {
    match &facts.races {
        RaceVerdict::Free { .. } => ("race-free", None),
        RaceVerdict::Race(_) => ("race", None),
        RaceVerdict::Unknown(why) => ("unknown", Some(race_obstacle(doc, kernel, facts, why))),
    }
}

/// What stands against a verdict, behind *whether it has races is not known:*.
fn race_obstacle(doc: &Doc, kernel: &front::Item, facts: &KernelFacts, why: &RaceObstacle) -> String {
    let at = |function: &str, term| line(doc, place(doc, kernel, function, term));
    let own = |term| at(&kernel.body.name, term);
    match why {
        RaceObstacle::Kernel(k) => obstacle(&kernel.body, k, own),
        RaceObstacle::Barrier(t) if is_parted(facts, *t) => {
            format!("not all threads of a block reach the barrier on line {}", own(*t))
        }
        RaceObstacle::OutOfRange(f, t) => {
            format!("the access on line {} falls outside of its array", at(f, *t))
        }
        RaceObstacle::Barrier(t) => {
            format!("whether all threads of a block reach the barrier on line {} is not known", own(*t))
        }
        RaceObstacle::MayMeet { object, first, second, strides } => {
            let (a, b) = (at(&first.0, first.1), at(&second.0, second.1));
            let lines = if a == b { format!("line {a}") } else { format!("lines {a} and {b}") };
            let strides: Vec<String> = strides.iter().map(|n| format!("`{n}`")).collect();
            let on = match strides.is_empty() {
                true => String::new(),
                false => format!(
                    ", perhaps on how large {} {}",
                    list(&strides),
                    if strides.len() == 1 { "is" } else { "are" }
                ),
            };
            format!("whether two threads meet in `{object}` on {lines} depends on what is not known{on}")
        }
        RaceObstacle::Fenced { object, first, second } => {
            let (a, b) = (at(&first.0, first.1), at(&second.0, second.1));
            let lines = if a == b { format!("line {a}") } else { format!("lines {a} and {b}") };
            format!(
                "two blocks meet in `{object}` on {lines}, and only fences and atomic operations order them: whether they do depends on \
                 what the counters hold when the kernel starts"
            )
        }
        RaceObstacle::Given { parameters: [a, b], at } => format!(
            "the launch on line {} gives `{a}` and `{b}` pointers into what may be one array",
            line(doc, *at)
        ),
        RaceObstacle::Taken(values) => {
            let of = |(name, v): &(std::sync::Arc<str>, i64)| match &**name {
                "" => v.to_string(),
                n => format!("`{n}` = {v}"),
            };
            let values: Vec<String> = values.iter().map(of).collect();
            format!("it has none for {}, and the program may launch it with other values", values.join(", "))
        }
        RaceObstacle::SameValue { object, term } => {
            format!("threads write one value to one place of `{object}` on line {}", own(*term))
        }
        RaceObstacle::Unfollowed(why) => {
            let why = race_obstacle(doc, kernel, facts, why);
            format!("{why}; and the launch has too many threads, or they take too many steps, to follow them one by one")
        }
    }
}

/// Whether threads were found of which one reaches a barrier and one does not.
fn is_parted(facts: &KernelFacts, barrier: term::TermId) -> bool {
    let parts = |v: &analysis::BarrierVerdict| matches!(v, analysis::BarrierVerdict::Divergent(_));
    facts.barriers.iter().any(|b| b.term == barrier && parts(&b.verdict))
}

fn obstacle(body: &term::Body, k: &analysis::KernelObstacle, line: impl Fn(term::TermId) -> u32) -> String {
    use analysis::KernelObstacle::*;
    let unread = |t: term::TermId| {
        body.walk(t).find_map(|x| match body.op(x) {
            term::Op::Reject(r) => {
                Some(format!("line {} was not understood ({})", line(x), in_full(&body.reject(*r).reason)))
            }
            _ => None,
        })
    };
    if let Structure(t) | Value(t) = k {
        if let Some(why) = unread(*t) {
            return why;
        }
    }
    match k {
        Value(t) => format!("what line {} touches is not known", line(*t)),
        Structure(t) => format!("what stands on line {} is not followed", line(*t)),
        NotFound => "no two threads were found".to_owned(),
        NoLaunch => "how the kernel is launched is not known".to_owned(),
        TooLarge => {
            "its threads take more steps together, or touch more places, than are followed one by one".to_owned()
        }
        Questions => {
            "its accesses are too many, or their subscripts too long, to compare them two by two for every launch".to_owned()
        }
        Wraps => "numbers computed from its indices may pass what their types hold in so large a launch; compute them in 64 bits".to_owned(),
        OtherLaunches => "it has none with the launches that are known, and of others the text does not say all; say them in a comment (`// warpwright: launch(…)`)".to_owned(),
        Budget => "the analysis stopped at its limit of counted steps while it compared the kernel's threads; in an editor, the command Analyze Fully has a far larger one".to_owned(),
    }
}
