//! From a loop to its kernel and host text: plan → print, then read back and checked before anybody sees it.

use std::sync::Arc;

use analysis::{MetBy, Verdict};
use base::Span;
use rustc_hash::FxHashSet;
use term::{Storage, SymbolId};
use text::{Edit, EditSet};

use crate::actions::mark_removal;
use crate::check::{Findings, LoopFinding};
use crate::function_view::{line_column, FunctionView};
use crate::host_pages::HostPages;
use crate::lints::is_parallel;
use crate::optimize::{left_plain, optimized};
use crate::plans::{in_a_macro, not_from_c, with_plan_at, NoKernel, OffloadSite};
use crate::region_plan::with_region;
use crate::units::{units, Unit};
use crate::words;
use crate::worth::LeftOut;
use crate::{Ask, Doc, FileEdit, Language, NewFile, WorkspaceEdit};

/// Which loops to offload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Which {
    /// The loop of this key.
    Key(String),
    /// The loops of these keys; one inside another is left to the outer one.
    Keys(Vec<String>),
    /// The outermost loop that begins on this 1-based line.
    Line(u32),
    /// Likewise for each of these lines.
    Lines(Vec<u32>),
    /// All loops the user marked; one inside another is left to the outer one.
    Marked,
    /// Likewise in the function of this name.
    MarkedIn(String),
    /// All that is worth it: of the function of this name, or of the whole document.
    Worth(Option<String>),
}

/// A rewritten document.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Offloaded {
    /// The edit of the document and the new files.
    pub edit: WorkspaceEdit,
    /// The document's whole text afterwards.
    pub host: String,
    /// The kernels' texts, one for each loop: their files, unless these are in another language and hold them as strings.
    pub kernel_texts: Vec<String>,
    pub loops: Vec<OffloadedLoop>,
    /// What the user should know, a sentence each: loops left out and why, last bits that may differ.
    pub notes: Vec<String>,
    /// With [`Which::Worth`]: the other loops, in textual order.
    pub left_out: Vec<LeftOut>,
    /// Whether last bits of results may differ from the loop's: regrouped, in any order, fused, or by the device's library.
    pub may_round: bool,
    /// Compiler options without which results may differ in the last bits, such as `-fmad=false`.
    pub build_flags: Vec<&'static str>,
}

/// One loop that became kernels.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OffloadedLoop {
    pub key: String,
    /// 1-based line of the loop in the original document.
    pub line: u32,
    pub function: String,
    /// Name of the new file among [`WorkspaceEdit::create`].
    pub kernel_file: String,
    pub kernels: Vec<KernelShape>,
    /// Lines of the kernel file and the lines of the original document they come from, both 1-based, in order.
    pub line_map: Vec<(u32, u32)>,
    /// How rule pages made the host's side, a line for each step.
    pub derivation: Vec<String>,
    /// The pages that optimised the kernel, in order.
    pub optimized_by: Vec<String>,
}

/// A kernel and how it is launched.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelShape {
    /// The `__global__` function.
    pub name: String,
    /// The function the host calls.
    pub launcher: String,
    /// Threads per block along x, y, z.
    pub block: [u32; 3],
    /// Blocks along each used axis, as C expressions.
    pub grid: Vec<String>,
    /// Index of the loop along each used axis: `("x", "j")`.
    pub axes: Vec<(String, String)>,
}

/// Why nothing was rewritten.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refused {
    /// There is no such loop in this version of the document.
    Stale,
    /// A sentence for the user.
    Because(String),
    /// Nobody wants it any more.
    Cancelled,
}

/// Rewrites loops into kernels. `findings` are those of this version of the document.
///
/// A single loop that cannot be rewritten is refused; of several, those that cannot are left out with a note, unless
/// none is left.
pub fn offload(ask: &Ask, findings: &Findings, which: &Which) -> Result<Offloaded, Refused> {
    let doc = &ask.doc;
    if !doc.offloads() {
        return Err(Refused::Because(not_from_c(doc)));
    }
    if let Which::Lines(lines) = which {
        if let Some(line) = lines.iter().find(|&&l| findings.on_line(l).is_none()) {
            return Err(Refused::Because(format!("No loop begins on line {line}.")));
        }
    }
    let chosen = choose(ask, findings, which);
    if chosen.is_empty() {
        return Err(match which {
            Which::Key(_) | Which::Keys(_) | Which::Lines(_) => Refused::Stale,
            Which::Line(line) => Refused::Because(format!("No loop begins on line {line}.")),
            Which::Worth(_) => Refused::Because(none_worth(&crate::units::worth(ask, findings, which).1)),
            Which::Marked => Refused::Because(format!("No loop is marked. {TO_MARK}")),
            Which::MarkedIn(name) => {
                Refused::Because(format!("No loop is marked in the function `{name}`. {TO_MARK}"))
            }
        });
    }
    let mut work = Work::new(ask);
    let mut left_out: Vec<String> = Vec::new();
    // all are planned on the text as it stands: no loop sees what another became
    let (units, mut others) = match which {
        Which::Worth(_) => crate::units::worth(ask, findings, which),
        _ => (units(ask, findings, which), Vec::new()),
    };
    if units.is_empty() {
        return Err(Refused::Because(none_worth(&others)));
    }
    for unit in &units {
        match work.one(findings, unit) {
            Ok(()) => {}
            Err(Refused::Because(reason)) if matches!(which, Which::Worth(_)) => {
                let function = unit.first.report().function.clone();
                others.push(LeftOut { line: unit.first.line(), function, around: false, reason });
            }
            Err(Refused::Because(why)) if units.len() > 1 => {
                left_out.push(format!("The loop on line {} is left as it is. {why}", unit.first.line()));
            }
            Err(refused) => return Err(refused),
        }
    }
    if work.loops.is_empty() {
        return Err(Refused::Because(match which {
            Which::Worth(_) => none_worth(&others),
            _ => left_out.join(" "),
        }));
    }
    let stay = if matches!(which, Which::Keys(_)) { left_out.clone() } else { Vec::new() };
    let mut offloaded = work.finish(left_out)?;
    offloaded.edit.left_out = stay;
    others.sort_by_key(|l| l.line);
    offloaded.left_out = others;
    recheck(doc, &offloaded)?;
    Ok(offloaded)
}

/// Rewrites one unit alone.
pub(crate) fn offload_unit(ask: &Ask, findings: &Findings, unit: &Unit) -> Result<Offloaded, Refused> {
    let mut work = Work::new(ask);
    work.one(findings, unit)?;
    let offloaded = work.finish(Vec::new())?;
    recheck(&ask.doc, &offloaded)?;
    Ok(offloaded)
}

/// Why none of the loops is worth it.
fn none_worth(left_out: &[LeftOut]) -> String {
    let why = left_out.iter().map(|l| format!(" Line {}, in `{}`: {}", l.line, l.function, l.reason));
    format!("No loop here is worth an offload.{}", why.collect::<String>())
}

/// The loops meant, none inside another.
pub(crate) fn choose<'a>(ask: &Ask, findings: &'a Findings, which: &Which) -> Vec<&'a LoopFinding> {
    match which {
        Which::Worth(function) => crate::worth::choice(ask, findings, function.as_deref()).loops,
        which => named(findings, which),
    }
}

/// The loops that keys, lines or marks name, none inside another.
pub(crate) fn named<'a>(findings: &'a Findings, which: &Which) -> Vec<&'a LoopFinding> {
    let all = match which {
        Which::Key(key) => findings.by_key(key).into_iter().collect(),
        Which::Line(line) => findings.on_line(*line).into_iter().collect(),
        Which::Lines(lines) => {
            let mut all: Vec<&LoopFinding> = lines.iter().filter_map(|&l| findings.on_line(l)).collect();
            all.sort_by_key(|l| (l.span.start, std::cmp::Reverse(l.span.end)));
            all
        }
        Which::Keys(keys) => {
            let mut all: Vec<&LoopFinding> = keys.iter().filter_map(|k| findings.by_key(k)).collect();
            all.sort_by_key(|l| (l.span.start, std::cmp::Reverse(l.span.end)));
            all
        }
        Which::Marked => findings.marked().collect::<Vec<_>>(),
        Which::Worth(_) => Vec::new(),
        Which::MarkedIn(name) => findings.marked().filter(|l| l.report().function == *name).collect(),
    };
    let mut chosen: Vec<&LoopFinding> = Vec::new();
    for l in all {
        if !chosen.iter().any(|c| c.span.contains(l.span)) {
            chosen.push(l);
        }
    }
    chosen
}

/// How loops are marked.
const TO_MARK: &str = "Write `// warpwright: offload` above the loops to offload.";

/// Why pages that optimise kernels are not asked.
const SEVERAL: &str = "It stays on the host, and the nests in it share their arrays on the GPU: pages optimise the kernel of one nest. \
                       \"Offload to GPU\" offloads it.";

/// What is said of kernels whose sums take products unrounded.
const FUSED: &str = "Products are fused with the sums that they are terms of: results may differ from the loop's. `verify` fuses \
                     them, too, and allows a difference of 0.0001, relative, or absolute below 1.";

/// Why a loop that ends under another condition than it begins is left alone.
const TORN: &str =
    "The loop begins and ends in different arms of a `#if`, so no block can be put around it. Put the \
                    whole loop into each arm.";

/// What becomes of a document.
struct Work<'a> {
    ask: &'a Ask,
    doc: &'a Doc,
    pages: HostPages,
    outputs: Vec<codegen::Output>,
    /// Marks that are followed; left in place they would stand before no loop.
    marks: Vec<Edit>,
    /// Bases of the names given so far.
    taken: Vec<String>,
    loops: Vec<OffloadedLoop>,
    notes: Vec<String>,
    may_round: bool,
}

impl<'a> Work<'a> {
    fn new(ask: &'a Ask) -> Work<'a> {
        Work {
            ask,
            doc: &ask.doc,
            pages: ask.host_pages(),
            outputs: Vec::new(),
            marks: Vec::new(),
            taken: Vec::new(),
            loops: Vec::new(),
            notes: Vec::new(),
            may_round: false,
        }
    }

    /// Makes the kernels of one unit; on refusal nothing has changed.
    fn one(&mut self, findings: &Findings, unit: &Unit) -> Result<(), Refused> {
        let finding = unit.first;
        let view = findings.view(self.ask, finding.item).ok_or(Refused::Stale)?;
        if !view.is_source(finding.id) {
            return Err(Refused::Because(in_a_macro(&view, finding.id)));
        }
        let ends = [unit.statements.first(), unit.statements.last()];
        let [Some(&begin), Some(&end)] = ends else { return Err(Refused::Stale) };
        let span = Span { start: view.span(begin).start, end: view.span(end).end };
        let site =
            OffloadSite { opening: opening(self.doc, span)?, taken: &self.taken, ..Default::default() };
        let cancel = &self.ask.cancel;
        let said = |plan: &codegen::Plan, view: &FunctionView| -> (Vec<String>, bool) {
            let may_round = plan.notes.iter().any(|n| !matches!(n, codegen::Note::Promise(_)));
            let mut notes: Vec<String> = plan.notes.iter().map(|n| note(view, n)).collect();
            notes.dedup();
            (notes, may_round)
        };
        let made = match unit.alone {
            true => with_plan_at(&view, finding.id, &site, cancel, |plan, view| {
                let plain = || codegen::print(plan, &self.pages).map(|o| (o, Vec::new(), None));
                let output = match self.pages.optimized() {
                    Some(known) => match optimized(self.ask, &self.pages, known, plan, finding.line()) {
                        Err(why) if known.or_plain => {
                            plain().map(|(o, by, _)| (o, by, Some(left_plain(finding.line(), &why))))
                        }
                        done => done.map(|(o, by)| (o, by, None)),
                    },
                    None => plain(),
                };
                (output, plan.name.clone(), said(plan, view))
            }),
            false => Err(NoKernel::NotParallel),
        };
        let made = made.or_else(|why| {
            let statements = &unit.statements;
            let steps = std::cell::Cell::new(0);
            let together = with_region(&view, finding.id, statements, &site, cancel, &steps, |plan, view| {
                let outer = &plan.outer;
                let plain = || codegen::print_region(plan, &self.pages).map(|o| (o, Vec::new(), None));
                let output = match self.pages.optimized() {
                    Some(known) if known.or_plain => {
                        plain().map(|(o, by, _)| (o, by, Some(left_plain(finding.line(), SEVERAL))))
                    }
                    Some(_) => Err(SEVERAL.to_owned()),
                    None => plain(),
                };
                (output, outer.name.clone(), said(outer, view))
            });
            // of a loop that is parallel its own reason says more
            let own = is_parallel(view.of(finding.id));
            together.map_err(|other| other.why(&view, statements).filter(|_| !own).unwrap_or(why))
        });
        let (output, name, (notes, may_round)) = made.map_err(|why| why.refused(&view, finding.id))?;
        let (output, optimized_by, left) = output.map_err(Refused::Because)?;
        let line = |offset: u32| line_column(self.doc, offset).line;
        self.loops.push(OffloadedLoop {
            key: finding.key.to_string(),
            line: line(span.start),
            function: finding.report().function.clone(),
            kernel_file: output.kernel_file.name.clone(),
            kernels: output.kernels.iter().cloned().map(shape).collect(),
            line_map: output.line_map.iter().map(|o| (o.line, line(view.absolute(o.span).start))).collect(),
            derivation: said_of_plan(&view, unit)
                .into_iter()
                .chain(output.derivation.iter().cloned())
                .collect(),
            optimized_by,
        });
        let marked = |l: &&LoopFinding| l.marked && span.contains(l.span);
        for l in findings.loops.iter().filter(marked) {
            self.marks.extend(mark_removal(self.doc, l.span.start));
        }
        if unit.alone && !finding.marked {
            self.marks.extend(mark_removal(self.doc, finding.span.start));
        }
        self.notes.extend(notes);
        self.may_round |= may_round;
        self.notes.extend(left);
        self.taken.push(name);
        self.outputs.push(output);
        Ok(())
    }

    fn finish(mut self, left_out: Vec<String>) -> Result<Offloaded, Refused> {
        let outputs: Vec<&codegen::Output> = self.outputs.iter().collect();
        let host = codegen::host_edits(self.doc.source(), &outputs);
        let mut edits: Vec<Edit> = host.into_iter().map(|e| Edit::replace(e.span, e.text)).collect();
        edits.append(&mut self.marks);
        let broken = |e: text::EditError| Refused::Because(format!("The edits do not fit together: {e}"));
        let edits = EditSet::new(edits).map_err(broken)?;
        let text = edits.apply(self.doc.text()).map_err(broken)?;
        self.notes.extend(left_out);
        let mut build_flags: Vec<&'static str> = Vec::new();
        for &flag in self.outputs.iter().flat_map(|o| &o.build_flags) {
            if !build_flags.contains(&flag) {
                build_flags.push(flag);
            }
        }
        if self.doc.options().target.is_fused() {
            self.notes.push(FUSED.to_owned());
            self.may_round = true;
        }
        let kernels =
            self.outputs.iter().map(|o| o.kernel_text.clone().unwrap_or(o.kernel_file.text.clone()));
        let kernel_texts = kernels.collect();
        let is_bound = self.outputs.iter().any(|o| o.kernel_text.is_some());
        let binding = is_bound.then(codegen::csharp_binding).map(|f| NewFile {
            name: f.name,
            text: f.text,
            is_shared: true,
        });
        let file = |o: codegen::Output| NewFile {
            name: o.kernel_file.name,
            text: o.kernel_file.text,
            is_shared: false,
        };
        Ok(Offloaded {
            host: text.to_string(),
            kernel_texts,
            edit: WorkspaceEdit {
                create: self.outputs.into_iter().map(file).chain(binding).collect(),
                edits: vec![FileEdit { file: None, edits }],
                ..Default::default()
            },
            loops: self.loops,
            notes: self.notes,
            left_out: Vec::new(),
            may_round: self.may_round,
            build_flags,
        })
    }
}

/// Where the block around a loop begins: before the pragmas of other tools that belong to the loop. Those that stand for
/// themselves stay outside.
fn opening(doc: &Doc, span: Span) -> Result<u32, Refused> {
    let mut first = span.start;
    let before = doc.unit().directives.iter().filter(|d| d.before == span.start && d.span.start < span.start);
    for d in before.rev() {
        match &d.kind {
            front::DirectiveKind::Foreign(text) if stands_alone(text) => break,
            front::DirectiveKind::Foreign(_) => first = d.span.start,
            _ => {}
        }
    }
    codegen::block_start(doc.source(), first, span).ok_or_else(|| Refused::Because(TORN.to_owned()))
}

/// Whether a pragma says something of its place, and not of the loop after it.
fn stands_alone(pragma: &str) -> bool {
    let mut words = pragma.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|w| !w.is_empty());
    match (words.next(), words.next()) {
        (Some("GCC" | "gcc"), Some(w)) => !matches!(w, "ivdep" | "unroll"),
        (Some("clang"), Some(w)) => w != "loop",
        (Some("omp"), Some(w)) => matches!(
            w,
            "barrier"
                | "flush"
                | "taskwait"
                | "taskyield"
                | "threadprivate"
                | "declare"
                | "requires"
                | "cancel"
        ),
        (Some(w), _) => matches!(
            w,
            "STDC"
                | "pack"
                | "push_macro"
                | "pop_macro"
                | "message"
                | "warning"
                | "region"
                | "endregion"
                | "weak"
        ),
        _ => true,
    }
}

/// What the plan of a unit rests on, a line for each loop chosen.
fn said_of_plan(view: &FunctionView, unit: &Unit) -> Vec<String> {
    let one = |l: &&LoopFinding| {
        let conditions = |by| words::conditions_met(view, l.id, by).join(", ");
        let mut parts = vec![match view.of(l.id).verdict {
            Verdict::Independent => "no two iterations use one cell of which one writes it",
            Verdict::Reduction => "iterations meet in reductions alone",
            _ => "what iterations do in order stays in order",
        }
        .to_owned()];
        for (by, how) in [
            (MetBy::RunTimeCheck, "tested at run time"),
            (MetBy::Assumed, "the user promises"),
            (MetBy::User, "the user accepts"),
        ] {
            let all = conditions(by);
            if !all.is_empty() {
                parts.push(format!("{how}: {all}"));
            }
        }
        format!("plan: line {}, {}: {}", l.line(), view.loop_name(l.id), parts.join("; "))
    };
    unit.loops.iter().map(one).collect()
}

fn shape(info: codegen::KernelInfo) -> KernelShape {
    KernelShape {
        name: info.name,
        launcher: info.launcher,
        block: info.block,
        grid: info.grid,
        axes: info.axes.into_iter().map(|(a, index)| (a.letter().to_string(), index)).collect(),
    }
}

fn note(view: &FunctionView, note: &codegen::Note) -> String {
    match note {
        codegen::Note::Regrouped { symbol, op, .. } => format!(
            "The `{}` operations on `{}` are regrouped, always in the same way: two runs give the same bits, but the \
             last ones may differ from the loop's.",
            words::operator(*op),
            view.symbol(*symbol)
        ),
        codegen::Note::AnyOrder { symbol, op, .. } => format!(
            "The `{}` operations on the cells of `{}` are atomic and come in another order in every run: the last bits \
             may differ from the loop's, and from run to run.",
            words::operator(*op),
            view.symbol(*symbol)
        ),
        codegen::Note::MathLibrary(symbol) => format!(
            "`{}` on the GPU may differ from the host's library in the last bits.",
            view.symbol(*symbol)
        ),
        codegen::Note::Searched(arrays) => format!(
            "Before each launch the host goes through the loop's subscripts, to find which {} it uses: that takes time of its own.",
            parts_of(view, arrays)
        ),
        codegen::Note::SearchedOnce(arrays) => format!(
            "Before the first launch the host goes through a loop's subscripts, to find which {} it uses: that takes time of its own.",
            parts_of(view, arrays)
        ),
        codegen::Note::Promise(kind) => {
            format!("It relies on your promise that {}; nobody tests that.", words::condition(view, kind).sentence)
        }
    }
}

/// `part of `a``, `parts of `a` and `b``
fn parts_of(view: &FunctionView, arrays: &[SymbolId]) -> String {
    let names: Vec<String> = arrays.iter().map(|&s| format!("`{}`", view.symbol(s))).collect();
    format!("{} {}", if arrays.len() == 1 { "part of" } else { "parts of" }, words::list(&names))
}

/// What was generated is read again: a kernel or host text that we would not understand is not offered.
///
/// Runs at every offload; running the code (in the simulator or on a GPU) is [`crate::verify`]'s.
fn recheck(doc: &Doc, offloaded: &Offloaded) -> Result<(), Refused> {
    for (text, file) in offloaded.kernel_texts.iter().zip(&offloaded.edit.create) {
        if let Some((line, reason)) = first_reject(Language::Cuda, doc, text, &[]) {
            return Err(Refused::Because(format!(
                "The generated `{}` was not understood when read again (line {line}: {reason}), so it is not offered. \
                 Please report this loop.",
                file.name
            )));
        }
    }
    let own = declared(doc.unit());
    let texts = offloaded.kernel_texts.iter().map(|text| (Language::Cuda, &**text));
    let texts = texts.chain([(doc.language(), &*offloaded.host)]);
    for (language, text) in texts {
        if let Some(name) = missing(language, doc, text, &own) {
            return Err(Refused::Because(format!(
                "The generated code names `{name}`, which nothing declares there, so it is not offered. Please report this \
                 loop."
            )));
        }
    }
    let known: Vec<String> = rejects(doc.unit()).map(|(_, r)| r.to_owned()).collect();
    if let Some((line, reason)) = first_reject(doc.language(), doc, &offloaded.host, &known) {
        return Err(Refused::Because(format!(
            "The rewritten host text was not understood when read again (line {line}: {reason}), so it is not offered. \
             Please report this loop."
        )));
    }
    Ok(())
}

/// Names of the variables that a document's functions declare.
fn declared(unit: &front::Unit) -> FxHashSet<Arc<str>> {
    let symbols = unit.items.iter().flat_map(|i| i.body.symbols.iter());
    let variables = symbols
        .filter(|s| matches!(s.storage, Storage::Local | Storage::Param(_) | Storage::StaticLocal { .. }));
    variables.map(|s| s.name.clone()).collect()
}

/// A name of ours, or of a variable that the document declares, which a generated text uses and does not declare.
fn missing(language: Language, doc: &Doc, text: &str, own: &FxHashSet<Arc<str>>) -> Option<Arc<str>> {
    let generated = front::Parsed::parse(language, text);
    let unit = front::lower(&generated, &doc.options().to_front(), &mut front::Memo::new());
    // the document's own functions may use what we have not seen
    let known: FxHashSet<Arc<str>> = undeclared(doc.unit()).collect();
    let found = undeclared(&unit).find(|n| !known.contains(n) && (n.starts_with("ww_") || own.contains(n)));
    found
}

fn undeclared(unit: &front::Unit) -> impl Iterator<Item = Arc<str>> + '_ {
    let symbols = unit.items.iter().flat_map(|i| i.body.symbols.iter());
    symbols.filter(|s| s.storage == Storage::Undeclared).map(|s| s.name.clone())
}

/// A kernel's file as a document. `Err`: why it is none, a sentence.
pub(crate) fn kernel_file(ask: &Ask, name: &str, text: &str) -> Result<Doc, String> {
    let text = text::Text::new(text).map_err(|e| format!("The kernel's file cannot be read again: {e}."))?;
    Ok(Doc::open(Language::Cuda, name, text, ask.doc.options().clone()))
}

/// The first place of a text that is not understood, with its 1-based line; as many as are `known` are let through.
pub(crate) fn first_reject(
    language: Language,
    doc: &Doc,
    text: &str,
    known: &[String],
) -> Option<(u32, String)> {
    let text = text::Text::new(text).ok()?;
    let again = Doc::open(language, doc.name(), text, doc.options().clone());
    let mut known = known.to_vec();
    for (span, reason) in rejects(again.unit()) {
        match known.iter().position(|k| k == reason) {
            Some(k) => {
                known.swap_remove(k);
            }
            None => {
                let line = again.text().line_of(span.start) + 1;
                return Some((line, reason.to_owned()));
            }
        }
    }
    None
}

/// All places that were not understood, in the document.
pub(crate) fn rejects(unit: &front::Unit) -> impl Iterator<Item = (Span, &str)> {
    let inside = unit
        .items
        .iter()
        .flat_map(|i| i.body.rejects().map(move |r| (r.span.shifted(i.span.start), &*r.reason)));
    unit.rejects.iter().map(|r| (r.span, &*r.reason)).chain(inside)
}
