//! What is known of a loop, as Markdown, when the pointer rests on its header.
//!
//! Short and made to be scanned: eight lines at most, and nothing that the finding beside it says already; all of it is what
//! "Why is this loop …?" shows ([`loop_markdown`]). Everything taken from the program's text stands in code spans, so that nothing in
//! it can be read as markup, and no backslash is needed.

mod brief;

use std::fmt::Write;

use analysis::{LoopId, Verdict};
use base::Span;
use term::TermId;

use crate::check::{Findings, LoopFinding};
use crate::function_view::FunctionView;
use crate::limits::hover::{LISTED, MOST_LINES};
use crate::plans::{self, Outline, Planned};
use crate::words::{self, list, quoted};
use crate::{ActionId, Ask};

/// Text to show, and what it is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hover {
    pub markdown: String,
    /// Bytes of the document.
    pub span: Span,
    /// The action that shows what is left out, if something is.
    pub more: Option<ActionId>,
}

/// What is said in place of what is not known yet.
pub const STILL: &str = "Still being analyzed.";

/// Likewise, of a loop that calls what other files may define.
const STILL_READING: &str =
    "**Still reading the other files of the folder**, which may define what the loop calls";

impl Hover {
    /// For a place of which nothing is known yet.
    pub fn not_yet(span: Span) -> Hover {
        Hover { markdown: STILL.to_owned(), span, more: None }
    }
}

/// The hover at an offset: on a loop's header, or on what a kernel does there. With [`crate::Tier::Known`] nothing is found out, and
/// what is not known yet is said to be so.
pub fn hover(ask: &Ask, findings: &Findings, offset: u32) -> Option<Hover> {
    if let Some(h) = crate::kernels::hover(ask, offset) {
        let lines: Vec<String> = h.markdown.lines().map(str::to_owned).collect();
        let filled = lines.iter().filter(|l| !l.trim().is_empty()).count();
        let mut kept = first(lines, if filled > MOST_LINES { MOST_LINES - 1 } else { MOST_LINES });
        if filled > MOST_LINES {
            kept.push(format!("- and {} more", filled + 1 - MOST_LINES));
        }
        return Some(Hover { markdown: kept.join("\n"), ..h });
    }
    // headers do not nest save in macros, where the outermost speaks for all
    let l = findings.loops.iter().find(|l| l.header.touches(offset))?;
    let view = findings.view(ask, l.item)?;
    if findings.awaits_others
        && view.of(l.id).verdict == Verdict::Unknown
        && words::rests_on_others(&view, l.id)
    {
        let markdown = format!("{STILL_READING} ({})", escape(&view.loop_name(l.id)));
        return Some(Hover { markdown, span: l.header, more: None });
    }
    let is_told = findings.diagnostics.iter().any(|d| d.span == l.header && d.is_of_loop());
    let (markdown, is_all) = loop_brief(&view, l, is_told);
    let more = (!is_all).then(|| ActionId::explain(&l.key));
    Some(Hover { markdown, span: l.header, more })
}

/// So many lines and those that are blank between them.
fn first(lines: Vec<String>, count: usize) -> Vec<String> {
    let mut left = count;
    let mut out: Vec<String> = Vec::new();
    for line in lines {
        let is_blank = line.trim().is_empty();
        if !is_blank && left == 0 {
            break;
        }
        left -= usize::from(!is_blank);
        out.push(line);
    }
    while out.last().is_some_and(|l| l.trim().is_empty()) {
        out.pop();
    }
    out
}

/// What is known of one loop in a few lines, and whether that is all. `is_told`: a finding on it is shown beside.
fn loop_brief(view: &FunctionView, finding: &LoopFinding, is_told: bool) -> (String, bool) {
    let id = finding.id;
    let mut lines: Vec<String> = vec![headline(view, id), String::new()];
    match view.of(id).verdict {
        Verdict::Independent | Verdict::Reduction if view.item.is_device_only() => {
            by_a_thread(view, id, &mut lines)
        }
        Verdict::Independent | Verdict::Reduction => brief::parallel(view, id, is_told, &mut lines),
        Verdict::Sequential => brief::sequential(view, finding, is_told, &mut lines),
        Verdict::Unknown => brief::unknown(view, id, is_told, &mut lines),
    }
    other_files(view, id, &mut lines);
    configuration(view, &mut lines);
    let whole = loop_markdown(view, finding);
    let filled = |all: &mut dyn Iterator<Item = &str>| all.filter(|l| !l.trim().is_empty()).count();
    let count = filled(&mut lines.iter().map(String::as_str));
    let is_all = count <= MOST_LINES && filled(&mut whole.lines()) <= count;
    // one line is for the way to the rest
    let lines = first(lines, if is_all { MOST_LINES } else { MOST_LINES - 1 });
    (lines.join("\n"), is_all)
}

/// All that is known of one loop.
pub(crate) fn loop_markdown(view: &FunctionView, finding: &LoopFinding) -> String {
    let id = finding.id;
    let l = view.of(id);
    let mut lines: Vec<String> = vec![headline(view, id), String::new()];
    match l.verdict {
        Verdict::Independent | Verdict::Reduction if view.item.is_device_only() => {
            by_a_thread(view, id, &mut lines)
        }
        Verdict::Independent | Verdict::Reduction => parallel(view, id, &mut lines),
        Verdict::Sequential => sequential(view, finding, &mut lines),
        Verdict::Unknown => unknown(view, id, &mut lines),
    }
    other_files(view, id, &mut lines);
    configuration(view, &mut lines);
    lines.join("\n")
}

/// The functions of other files that a loop calls: what is said of it rests on them.
fn other_files(view: &FunctionView, id: LoopId, lines: &mut Vec<String>) {
    let body = view.body();
    let calls = body.walk(view.of(id).term).filter_map(|t| body.callee(t));
    let mut names: Vec<&str> = calls.map(|f| &*body.symbols[f].name).collect();
    names.sort_unstable();
    names.dedup();
    let program = view.doc.program();
    let of_others: Vec<&str> = names.into_iter().filter(|n| program.defined_in(n).is_some()).collect();
    let called = of_others.iter().take(LISTED).map(|n| words::called(view, n));
    let called: Vec<String> = called.collect();
    if !called.is_empty() {
        lines.push(format!("- calls {}", list(&called)));
        more(of_others.len(), lines);
    }
}

/// What conditions of the document took for granted.
fn configuration(view: &FunctionView, lines: &mut Vec<String>) {
    let words = view.doc.configuration_words();
    if words.is_empty() {
        return;
    }
    let shown: Vec<String> = words.iter().take(LISTED).map(|w| escape(w)).collect();
    let rest = match words.len() - shown.len() {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    lines.push(String::new());
    lines.push(format!("Read with: {}{rest}.", shown.join(", ")));
}

fn headline(view: &FunctionView, id: LoopId) -> String {
    let verdict = match view.of(id).verdict {
        Verdict::Independent => "Loop iterations can be executed independently",
        Verdict::Reduction => "Loop iterations can be executed independently, as a reduction",
        Verdict::Sequential => "Loop is sequential",
        Verdict::Unknown => "Unknown whether loop iterations are independent",
    };
    let mark = match &view.of(id).mark {
        Some(_) => ", marked for the GPU",
        None => "",
    };
    format!("**{verdict}** ({}{mark})", escape(&view.loop_name(id)))
}

/// What runs at once: ` across 2 nested loops (`i` and `j`)`, `, `n * m` threads`.
struct Across {
    loops: String,
    threads: String,
}

impl Across {
    /// `outline`: the kernel that is made, whose loops count.
    fn of(view: &FunctionView, id: LoopId, outline: Option<&Outline>) -> Across {
        let of_kernel = outline.and_then(|o| o.band.as_ref()).map(|(band, _)| band.clone());
        let band = of_kernel.unwrap_or_else(|| view.band(id));
        let names: Vec<String> = band.iter().filter_map(|b| view.index_name(*b)).map(quoted).collect();
        let loops = match band.len() {
            1 => String::new(),
            n => format!(" across {n} nested loops ({})", list(&names)),
        };
        let threads = words::thread_count(view, &band).map(|c| format!(", {} threads", code(&c)));
        Across { loops, threads: threads.unwrap_or_default() }
    }

    fn on_the_gpu(&self, blocks: &str) -> String {
        format!("- on the GPU: one thread per iteration{}{}{blocks}", self.loops, self.threads)
    }

    fn could_run(&self) -> String {
        format!("- could run with one thread per iteration{}{}", self.loops, self.threads)
    }
}

/// Whether a kernel is made; while only what is known counts, `None` is not known yet.
fn on_device(view: &FunctionView, id: LoopId) -> Option<Planned> {
    match view.ask.only_known() {
        true => view.known_plan(id),
        false => Some(view.planned(id)),
    }
}

fn together(shared: &crate::plans::Shared) -> String {
    match shared.kernels {
        1 => {
            "- on the GPU: a kernel for what is in it, whose arrays stay there from round to round".to_owned()
        }
        n => format!("- on the GPU: {n} kernels for what is in it, between which arrays stay there"),
    }
}

fn parallel(view: &FunctionView, id: LoopId, lines: &mut Vec<String>) {
    let l = view.of(id);
    let could_run = || Across::of(view, id, None).could_run();
    match on_device(view, id) {
        Some(Planned::Kernel(outline)) => {
            let across = Across::of(view, id, Some(&outline));
            lines.push(across.on_the_gpu(&blocks(view, &outline)));
            if let Some(m) = words::mappings(view, &outline) {
                lines.extend(words::prediction(view, &m).lines);
            }
        }
        Some(Planned::Together(shared)) => lines.push(together(&shared)),
        Some(Planned::No(why)) => {
            lines.push(could_run());
            let what = match why.label(view) {
                Some(label) => format!("{} ({})", words::NOT_YET, escape(&label)),
                None => "as a kernel".to_owned(),
            };
            lines.push(format!("- {what}: {}", escape(&why.words(view, id))));
        }
        None if !view.can_offload() => {
            lines.push(could_run());
            let (label, why) = (plans::not_from_c_label(view.doc), plans::not_from_c(view.doc));
            lines.push(format!("- {} ({}): {}", words::NOT_YET, escape(&label), escape(&why)));
        }
        None => {
            lines.push(could_run());
            lines.push(format!("- as a kernel: {STILL}"));
        }
    }
    if l.verdict == Verdict::Independent {
        lines.push(format!("- because: {}", because(view, l)));
    }
    for r in &l.reductions {
        lines.push(format!(
            "- reduction: {} with {}",
            code(&words::accumulator(view, r)),
            code(words::operator(r.op))
        ));
    }
    privates(view, id, lines);
    let conditions = &l.conditions;
    for c in conditions.iter().take(LISTED) {
        let words = words::condition(view, &c.kind);
        let how = match c.met_by {
            _ if matches!(c.kind, analysis::ConditionKind::Reassociate(..)) => "you accept it by offloading",
            analysis::MetBy::Proof => "proved",
            analysis::MetBy::RunTimeCheck => "checked before the launch, else the loop runs as it is",
            analysis::MetBy::Assumed => "your promise, in a comment",
            analysis::MetBy::User => "your promise",
        };
        lines.push(format!("- condition {}: {} ({how})", code(&words.text), escape(&words.sentence)));
    }
    more(conditions.len(), lines);
}

/// Of a loop that each thread of a kernel goes through: nothing tests what it rests on, and no kernel is made of it.
/// Why a loop's iterations are independent; of what counts along each finds its value by itself.
fn because(view: &FunctionView, l: &analysis::LoopFacts) -> String {
    let mut text = "no iteration writes a cell that another one reads or writes".to_owned();
    let along: Vec<String> = l.inductions.iter().map(|i| code(view.symbol(i.symbol))).collect();
    if !along.is_empty() {
        text.push_str(&format!(", and {} can be computed from the loop's index", words::list(&along)));
    }
    text
}

fn by_a_thread(view: &FunctionView, id: LoopId, lines: &mut Vec<String>) {
    let l = view.of(id);
    lines.push("- each thread that comes here runs it by itself".to_owned());
    for r in l.reductions.iter().take(LISTED) {
        let (of, with) = (words::accumulator(view, r), words::operator(r.op));
        lines.push(format!("- reduction: {} with {}", code(&of), code(with)));
    }
    let is_word = |c: &&analysis::Condition| {
        c.met_by != analysis::MetBy::Proof
            && match &c.kind {
                analysis::ConditionKind::Reassociate(..) => false,
                // a device has no mode
                analysis::ConditionKind::RoundsToNearest | analysis::ConditionKind::KeepsSmall => false,
                // what is only read may be read from anywhere
                analysis::ConditionKind::InRow { access, .. } => {
                    words::is_written_in(view.body(), l.term, *access)
                }
                // a block has threads
                analysis::ConditionKind::StepSign(step) => !is_of_the_launch(view.body(), *step),
                _ => true,
            }
    };
    let rests: Vec<&analysis::Condition> = l.conditions.iter().filter(is_word).collect();
    for c in rests.iter().take(LISTED) {
        lines.push(format!("- holds where {}", escape(&words::condition(view, &c.kind).sentence)));
    }
    more(rests.len(), lines);
}

/// Whether a number is made of the sizes of the launch alone.
fn is_of_the_launch(body: &term::Body, t: TermId) -> bool {
    let mut variables = body.walk(t).filter_map(|x| body.as_symbol(x)).peekable();
    variables.peek().is_some() && variables.all(|s| body.symbols[s].device.is_some())
}

/// ` in blocks of 32 × 8 (x: j, y: i)`
fn blocks(view: &FunctionView, plan: &Outline) -> String {
    let Some(block) = plan.block else {
        return String::new();
    };
    let used = block.iter().rposition(|n| *n > 1).map_or(1, |k| k + 1);
    let sizes: Vec<String> = block.iter().take(used).map(u32::to_string).collect();
    let axis = |(axis, index): &(codegen::Axis, term::SymbolId)| {
        format!("{}: {}", axis.letter(), view.symbol(*index))
    };
    let axes = match plan.axes.len() {
        0 | 1 => String::new(),
        _ => format!(" ({})", plan.axes.iter().rev().map(axis).collect::<Vec<_>>().join(", ")),
    };
    format!(" in blocks of {}{}", sizes.join(" × "), escape(&axes))
}

fn privates(view: &FunctionView, id: LoopId, lines: &mut Vec<String>) {
    // what is declared inside is private by itself
    let privates = view.of(id).privates.iter().filter(|p| !p.declared_inside && !p.kept);
    let names: Vec<String> = privates.map(|p| quoted(view.symbol(p.symbol))).collect();
    if !names.is_empty() {
        lines.push(format!("- private to each thread: {}", names.join(", ")));
    }
}

fn sequential(view: &FunctionView, finding: &LoopFinding, lines: &mut Vec<String>) {
    let id = finding.id;
    // what passes a value on comes first, as in the finding
    let mut all: Vec<&analysis::Dependence> = view.of(id).dependences.iter().collect();
    all.sort_by_key(|d| words::rank(d));
    for d in all.iter().take(LISTED) {
        lines.push(format!("- {}{}", escape(&words::dependence(view, d)), directions(d)));
    }
    more(all.len(), lines);
    thread_map(view, id, lines);
    lines.push(String::new());
    match enabling(view, finding) {
        Some(enabling) => lines.push(enabling),
        None => lines.extend(Some(escape(&words::remedy(view, id))).filter(|r| !r.is_empty())),
    }
    named(view, id, lines);
    inside(view, id, lines);
}

/// `, directions `(<, =)`` of a dependence that several loops carry or hold.
fn directions(d: &analysis::Dependence) -> String {
    let symbols: Vec<&str> = d.direction.iter().map(|x| x.symbol()).collect();
    match symbols.len() {
        0 | 1 => String::new(),
        _ => format!(", directions {}", code(&format!("({})", symbols.join(", ")))),
    }
}

/// What would make it parallel, as far as that is known or may be found out.
fn enabling(view: &FunctionView, finding: &LoopFinding) -> Option<String> {
    let enabling = match view.ask.only_known() {
        true => finding.known_enabling(),
        false => finding.enabling_until(&view.ask.cancel),
    };
    Some(format!("What would make it parallel: {}", escape(&enabling?.sentence)))
}

fn unknown(view: &FunctionView, id: LoopId, lines: &mut Vec<String>) {
    let all = words::reasons(view, id);
    lines.extend(all.iter().take(LISTED).map(|r| format!("- {}", escape(r))));
    more(all.len(), lines);
    thread_map(view, id, lines);
    let remedy = words::remedy_of_unknown(view, id);
    if !remedy.is_empty() {
        lines.push(String::new());
        lines.push(escape(&remedy));
    }
    named(view, id, lines);
    inside(view, id, lines);
}

/// What runs at once though no loop does: `- without synchronisation: 2 * N + 1 threads, S1 at i - j + N`.
fn thread_map(view: &FunctionView, id: LoopId, lines: &mut Vec<String>) {
    let Some(map) = view.thread_map(id) else { return };
    let maps = words::affine_maps(view, &map);
    let named = |(name, at): &(String, String)| format!("{name} at {}", code(at));
    // one map for all is said once
    let all = match maps.iter().all(|m| m.1 == maps[0].1) {
        true if maps.len() > 1 => format!("every statement at {}", code(&maps[0].1)),
        _ => maps.iter().take(LISTED).map(named).collect::<Vec<_>>().join(", "),
    };
    let left_out = match maps.len() > LISTED && !all.starts_with("every") {
        true => format!(", and {} more", maps.len() - LISTED),
        false => String::new(),
    };
    lines.push(format!(
        "- but without synchronisation: {} threads ({all}{left_out}); what touches one cell runs in one thread, in order",
        code(&words::threads(view, &map)),
    ));
    for c in map.conditions.iter().filter(|c| c.met_by != analysis::MetBy::Proof).take(LISTED) {
        let words = words::condition(view, &c.kind);
        lines.push(format!("- where {}: {}", code(&words.text), escape(&words.sentence)));
    }
}

fn named(view: &FunctionView, id: LoopId, lines: &mut Vec<String>) {
    for r in view.of(id).recurrences.iter().take(LISTED) {
        lines.push(String::new());
        lines.push(escape(&words::recurrence(view, r)));
    }
}

fn inside(view: &FunctionView, id: LoopId, lines: &mut Vec<String>) {
    let all = crate::lints::parallel_inside(&view.facts, id);
    let place = |inner: &LoopId| {
        format!("{} on line {}", escape(&view.loop_name(*inner)), view.line(view.of(*inner).term))
    };
    let mut said: Vec<(&str, Vec<String>)> = Vec::new();
    for inner in all.iter().take(LISTED) {
        let what = match view.is_offered(*inner) {
            true => "can run on the GPU",
            false => words::is_parallel(view, *inner),
        };
        match said.iter_mut().find(|s| s.0 == what) {
            Some((_, these)) => these.push(place(inner)),
            None => said.push((what, vec![place(inner)])),
        }
    }
    for (what, these) in said {
        lines.push(String::new());
        let what = if these.len() > 1 { what.replacen("is ", "are ", 1) } else { what.to_owned() };
        lines.push(format!("Inside it, {} {what}.", words::list(&these)));
    }
    if let Some(shared) = view.together(id) {
        lines.push(String::new());
        lines.push(words::together(view, &shared));
    }
}

fn more(count: usize, lines: &mut Vec<String>) {
    if count > LISTED {
        lines.push(format!("- and {} more", count - LISTED));
    }
}

/// A code span; its fence is longer than any run of backticks inside (CommonMark 6.1).
fn code(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    if longest == 0 {
        return format!("`{text}`");
    }
    let fence = "`".repeat(longest + 1);
    format!("{fence} {text} {fence}")
}

/// Words with code spans in backticks, as messages have them: what stands outside the spans and could be read as markup becomes one.
pub(crate) fn escape(message: &str) -> String {
    let mut out = String::with_capacity(message.len() + 8);
    let parts: Vec<&str> = message.split('`').collect();
    // an odd number of backticks would leave a span open: then none is one
    let paired = parts.len() % 2 == 1;
    for (k, part) in parts.iter().enumerate() {
        if k > 0 {
            out.push(if paired { '`' } else { '\'' });
        }
        match paired && k % 2 == 1 {
            true => out.push_str(part),
            false => part.split_inclusive(' ').for_each(|word| in_span(word, &mut out)),
        }
    }
    out
}

/// A word with the blank behind it; as a code span where Markdown would read something into it. Punctuation around it stays outside.
fn in_span(word: &str, out: &mut String) {
    let is_markup =
        |c| matches!(c, '\\' | '*' | '_' | '{' | '}' | '[' | ']' | '<' | '>' | '#' | '|' | '~' | '&');
    if !word.contains(is_markup) {
        out.push_str(word);
        return;
    }
    let own = word.trim_matches(|c| matches!(c, ' ' | '(' | ')' | ',' | '.' | ';' | ':' | '!' | '?'));
    // a call keeps its parentheses
    let own = match word.split_once(own) {
        Some((_, rest)) if own.contains('(') && !own.ends_with(')') && rest.starts_with(')') => {
            let start = own.as_ptr() as usize - word.as_ptr() as usize;
            word.get(start..start + own.len() + 1).unwrap_or(own)
        }
        _ => own,
    };
    match word.split_once(own) {
        Some((before, after)) => {
            let _ = write!(out, "{before}`{own}`{after}");
        }
        None => out.push_str(word),
    }
}
