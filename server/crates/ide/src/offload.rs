//! From a loop to its kernel and host text: plan → print, then read back and checked before anybody sees it.

use base::{CancelToken, Span};
use text::{Edit, EditSet, Side};

use crate::actions::mark_removal;
use crate::check::{check, Cancelled, Findings, LoopFinding, Tier};
use crate::place::{line_column, Place};
use crate::plans::{with_plan, NOT_FROM_C};
use crate::words;
use crate::{Doc, FileEdit, Language, Memo, NewFile, Settings, WorkspaceEdit};

/// Which loops to offload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Which {
    /// The loop of this key.
    Key(String),
    /// The outermost loop that begins on this 1-based line.
    Line(u32),
    /// All loops the user marked; one inside another is left to the outer one.
    Marked,
}

/// A rewritten document.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Offloaded {
    /// The edit of the document and the new files.
    pub edit: WorkspaceEdit,
    /// The document's whole text afterwards.
    pub host: String,
    pub loops: Vec<OffloadedLoop>,
    /// What the user should know, a sentence each: loops left out and why, last bits that may differ.
    pub notes: Vec<String>,
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
pub fn offload(
    doc: &Doc,
    findings: &Findings,
    memo: &Memo,
    which: &Which,
    cancel: &CancelToken,
) -> Result<Offloaded, Refused> {
    if doc.language() != Language::C {
        return Err(Refused::Because(NOT_FROM_C.to_owned()));
    }
    let chosen = choose(findings, which);
    if chosen.is_empty() {
        return Err(match which {
            Which::Key(_) => Refused::Stale,
            Which::Line(line) => Refused::Because(format!("No loop begins on line {line}.")),
            Which::Marked => Refused::Because(
                "No loop is marked. Write `// warpwright: offload` above the loops to offload.".to_owned(),
            ),
        });
    }
    let mut work = Work::new(doc);
    let mut left_out: Vec<String> = Vec::new();
    // from the last to the first, so that what is inserted for one does not move the next; each sees the text that the
    // ones before it made, so that names stay apart and helpers are written once
    for finding in chosen.iter().rev() {
        let done = match work.loops.is_empty() {
            true => work.one(findings, finding, cancel),
            false => match check(&work.doc, memo, &Settings::default(), Tier::Full, cancel) {
                Ok(again) => match again.by_key(&finding.key) {
                    Some(moved) => work.one(&again, moved, cancel),
                    None => Err(Refused::Stale),
                },
                Err(Cancelled) => Err(Refused::Cancelled),
            },
        };
        match done {
            Ok(()) => {}
            Err(Refused::Because(why)) if chosen.len() > 1 => {
                // said of the original, so that lines are those the user sees
                let why = match Work::new(doc).one(findings, finding, cancel) {
                    Err(Refused::Because(why)) => why,
                    _ => why,
                };
                left_out.push(format!("The loop on line {} is left as it is. {why}", finding.line()));
            }
            Err(refused) => return Err(refused),
        }
    }
    left_out.reverse();
    if work.loops.is_empty() {
        return Err(Refused::Because(left_out.join(" ")));
    }
    let offloaded = work.finish(left_out);
    recheck(doc, &offloaded)?;
    Ok(offloaded)
}

/// The loops meant, none inside another.
pub(crate) fn choose<'a>(findings: &'a Findings, which: &Which) -> Vec<&'a LoopFinding> {
    let all = match which {
        Which::Key(key) => findings.by_key(key).into_iter().collect(),
        Which::Line(line) => findings.on_line(*line).into_iter().collect(),
        Which::Marked => findings.marked().collect::<Vec<_>>(),
    };
    let mut chosen: Vec<&LoopFinding> = Vec::new();
    for l in all {
        if !chosen.iter().any(|c| c.span.contains(l.span)) {
            chosen.push(l);
        }
    }
    chosen
}

/// Why a loop that a macro (or an included file) brings is not touched: the same text stands wherever that is used.
pub(crate) const IN_A_MACRO: &str = "The loop comes out of a macro, where no edit can be made.";

/// A document being rewritten, loop by loop.
struct Work<'a> {
    original: &'a Doc,
    /// As rewritten so far.
    doc: Doc,
    /// From the original to it.
    edits: EditSet,
    create: Vec<NewFile>,
    loops: Vec<OffloadedLoop>,
    notes: Vec<String>,
    build_flags: Vec<&'static str>,
}

impl<'a> Work<'a> {
    fn new(doc: &'a Doc) -> Work<'a> {
        Work {
            original: doc,
            doc: doc.clone(),
            edits: EditSet::default(),
            create: Vec::new(),
            loops: Vec::new(),
            notes: Vec::new(),
            build_flags: Vec::new(),
        }
    }

    /// Rewrites one loop; on refusal nothing has changed. `findings` are those of the document as rewritten so far.
    fn one(
        &mut self,
        findings: &Findings,
        finding: &LoopFinding,
        cancel: &CancelToken,
    ) -> Result<(), Refused> {
        let doc = self.doc.clone();
        let place = findings.place(&doc, finding.item).ok_or(Refused::Stale)?;
        if !place.is_source(finding.id) {
            return Err(Refused::Because(IN_A_MACRO.to_owned()));
        }
        let (output, notes) = with_plan(&place, finding.id, cancel, |plan| {
            let notes: Vec<String> = plan.notes.iter().map(|n| note(&place, n)).collect();
            (codegen::print(plan, codegen::Target::CudaC), notes)
        })?;
        if self.create.iter().any(|f| f.name == output.kernel_file.name) {
            return Err(Refused::Because(format!(
                "Another loop makes the same file `{}`. Give the kernels names: `// warpwright: offload(name)`.",
                output.kernel_file.name
            )));
        }
        let mut edits: Vec<Edit> =
            output.host_edits.into_iter().map(|e| Edit::replace(e.span, e.text)).collect();
        // the mark is followed; left in place it would stand before no loop
        edits.extend(mark_removal(&doc, finding.span.start));
        let broken = |e: text::EditError| Refused::Because(format!("The edits do not fit together: {e}"));
        let edits = EditSet::new(edits).map_err(broken)?;
        let text = edits.apply(doc.text()).map_err(broken)?;
        let all = self.edits.compose(&edits).map_err(broken)?;
        let back = self.edits.inverse(self.original.text()).map_err(broken)?;
        let line = |offset: u32| line_column(self.original, back.map_offset(offset, Side::After)).line;
        self.loops.push(OffloadedLoop {
            key: finding.key.to_string(),
            line: line(finding.span.start),
            function: finding.report().function.clone(),
            kernel_file: output.kernel_file.name.clone(),
            kernels: output.kernels.into_iter().map(shape).collect(),
            line_map: output.line_map.iter().map(|o| (o.line, line(place.span(o.term).start))).collect(),
        });
        self.notes.extend(notes);
        self.create.push(NewFile { name: output.kernel_file.name, text: output.kernel_file.text });
        for flag in output.build_flags {
            if !self.build_flags.contains(&flag) {
                self.build_flags.push(flag);
            }
        }
        self.edits = all;
        self.doc = Doc::open(doc.language(), doc.name(), text, doc.options().clone());
        Ok(())
    }

    fn finish(mut self, left_out: Vec<String>) -> Offloaded {
        self.loops.reverse();
        self.create.reverse();
        self.notes.reverse();
        self.notes.extend(left_out);
        Offloaded {
            host: self.doc.text().to_string(),
            edit: WorkspaceEdit {
                create: self.create,
                edits: vec![FileEdit { file: None, edits: self.edits }],
            },
            loops: self.loops,
            notes: self.notes,
            build_flags: self.build_flags,
        }
    }
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

fn note(place: &Place, note: &codegen::Note) -> String {
    match note {
        codegen::Note::Regrouped { symbol, op, .. } => format!(
            "The `{}` operations on `{}` are regrouped, always in the same way: two runs give the same bits, but the \
             last ones may differ from the loop's.",
            words::operator(*op),
            place.symbol(*symbol)
        ),
        codegen::Note::AnyOrder { symbol, op, .. } => format!(
            "The `{}` operations on the cells of `{}` are atomic and come in another order in every run: the last bits \
             may differ from the loop's, and from run to run.",
            words::operator(*op),
            place.symbol(*symbol)
        ),
        codegen::Note::MathLibrary(symbol) => format!(
            "`{}` on the GPU may differ from the host's library in the last bits.",
            place.symbol(*symbol)
        ),
    }
}

/// What was generated is read again: a kernel or host text that we would not understand is not offered.
///
/// Runs at every offload; running the code (in the simulator or on a GPU) is [`crate::verify`]'s.
fn recheck(doc: &Doc, offloaded: &Offloaded) -> Result<(), Refused> {
    for file in &offloaded.edit.create {
        if let Some((line, reason)) = first_reject(Language::Cuda, doc, &file.text, &[]) {
            return Err(Refused::Because(format!(
                "The generated `{}` was not understood when read again (line {line}: {reason}), so it is not offered. \
                 Please report this loop.",
                file.name
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
