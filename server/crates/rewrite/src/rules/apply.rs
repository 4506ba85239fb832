//! A system applied to a function of a file: run, written as edits, read again.
//!
//! What comes out has passed every check that needs no machine: each variable means what it meant, the new text reads as
//! the very tree that the rules made, and where loops or statements moved, no dependence is turned around (`schedule`).
//! Deliberately absent: running the result beside the original (`ide`).

use std::cell::RefCell;
use std::sync::Arc;

use analysis::{Facts, Program};
use base::Budget;
use front::{Language, Options, Parsed, Unit};
use term::{Op, TermId, Types};
use text::{Edit, EditSet};

use super::derivation::{Derivation, NotApplied};
use super::emit::{self, EmittedFile, Preamble};
use super::exact::ROW;
use super::page::{RuleSystem, Trust};
use super::pieces::{self, Piece};
use super::prove::{Ground, Others};
use super::run::{run, Before, Emitted, Ended, Limits, Outcome, Systems};
use super::tree::{Node, Subject, Tree};
use super::write::Writer;
use super::{schedule, scope};
use crate::limits::rules_apply::BYTES_A_STEP;

/// How the reason ends where no place is even alike.
pub const NOTHING_MATCHES: &str = "rule matches anything here";

/// A file as it was read, and what is known of the function that is to be rewritten.
#[derive(Clone, Copy)]
pub struct Site<'a> {
    pub unit: &'a Unit,
    pub text: &'a str,
    pub language: Language,
    pub options: &'a Options,
    pub program: &'a Program,
    /// Position of the function among the unit's items.
    pub item: usize,
    pub facts: &'a Facts,
    pub budget: &'a Budget,
    pub together: &'a Together,
    /// What reading the file with one function changed remembers for the next function.
    pub memo: &'a RefCell<front::Memo>,
    pub reading: Reading,
}

/// When the new text is read again and compared with what the rules made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Reading {
    /// At once, by itself: the whole file is read for each function.
    #[default]
    Alone,
    /// By the caller, for all functions of the file that changed ([`read_together`]).
    Together,
}

/// What systems whose rules belong together have rewritten of a file so far: launches of other kernels are none of theirs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Together {
    /// Systems and kernels, by name.
    pub kernels: Vec<(Arc<str>, Arc<str>)>,
}

/// A result that may be offered once it has run beside the original.
#[derive(Clone, Debug)]
pub struct Application {
    /// Of the function; what stands before it is in the preamble.
    pub edits: EditSet,
    pub preamble: Preamble,
    pub files: Vec<EmittedFile>,
    /// What the function became.
    pub tree: Tree,
    pub subject: Subject,
    /// The subject's types and those made on the way.
    pub types: Types,
    pub derivation: Derivation,
    /// Whether loops or statements were added, removed or moved.
    pub moved: bool,
    /// What changed, if it was expressions in their places alone, as functions of their own.
    pub pieces: Option<Vec<Piece>>,
}

impl Application {
    /// The whole file with this function changed.
    pub fn applied_to(&self, file: &str) -> Option<String> {
        let mut all = self.edits.edits().to_vec();
        if !self.preamble.lines.is_empty() {
            let eol = if file.contains("\r\n") { "\r\n" } else { "\n" };
            all.push(Edit::insert(self.preamble.at, self.preamble.text(eol)));
        }
        Some(EditSet::new(all).ok()?.apply(&text::Text::new(file).ok()?).ok()?.to_string())
    }
}

/// Why there is no result.
#[derive(Clone, Debug)]
pub struct NoApplication {
    pub kind: NoResult,
    /// Words that continue "because".
    pub because: String,
    /// What was done all the same, for the explanation.
    pub derivation: Derivation,
    pub subject: Option<Subject>,
    /// Parts of the source of the rule that is told of, which matched.
    pub matched: usize,
}

/// Kinds of failure, told apart because they are somebody else's to mend.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoResult {
    /// No rule applies: nothing is wrong.
    NothingApplies,
    /// The run was ended by its limits.
    Limits,
    /// The result holds what no text can be made of, or an edit would fall into a macro.
    NotText,
    /// The result would not be right: the rule is wrong, or its guard too weak.
    Wrong,
}

/// Applies a system to the whole function, or to one term of it.
pub fn apply(
    site: &Site<'_>,
    system: &Arc<RuleSystem>,
    systems: &Systems,
    trust: &Trust,
    target: Option<TermId>,
    limits: Limits,
) -> Result<Application, Box<NoApplication>> {
    let fail = |kind, because: String, derivation, subject| {
        Err(Box::new(NoApplication { kind, because, derivation, subject, matched: 0 }))
    };
    let Some(item) = site.unit.items.get(site.item) else {
        let none = Derivation::default();
        return fail(NoResult::NothingApplies, "there is no such function".into(), none, None);
    };
    let body = &*item.body;
    if body.semantics != ROW || !body.is_uniform() {
        let other = "rules are proved for the arithmetic of C, and this function's is another";
        return fail(NoResult::NothingApplies, other.into(), Derivation::default(), None);
    }
    let subject = Subject::of(body, site.text, item.span.start, item.is_kernel, item.is_device);
    let root = target.and_then(|t| subject.original(t)).unwrap_or(&subject.root).clone();
    let ground = Ground {
        body,
        program: site.program,
        facts: site.facts,
        budget: site.budget,
        text: site.text,
        start: item.span.start,
        together: site.together,
        others: Others { items: &site.unit.items, item: site.item },
    };
    let out = run(system, systems, &subject, &root, Some(ground), limits);
    let Outcome { tree, types, derivation, emitted, before, ended } = out;
    if ended != Ended::Done {
        return fail(NoResult::Limits, words(ended, derivation.steps.len()), derivation, Some(subject));
    }
    if derivation.steps.is_empty() || subject.same(&tree, &root) {
        // what is only tried tells less of what is missing
        let mut tried = system.strategy.tried();
        let mut at = 0;
        while let Some(s) = tried.get(at).and_then(|name| systems.get(*name)) {
            let mut named = Vec::new();
            s.strategy.systems(&mut named);
            tried.extend(named.into_iter().filter(|n| !tried.contains(n)).collect::<Vec<_>>());
            at += 1;
        }
        // the one that asks for most came furthest, the first of those
        let furthest = |all: &mut dyn Iterator<Item = &NotApplied>| {
            all.fold(None, |best: Option<(usize, String, Arc<str>)>, r| match &best {
                Some((parts, ..)) if *parts >= r.parts => best,
                _ => Some((r.parts, r.because.clone(), r.rule.clone())),
            })
        };
        let told = furthest(&mut derivation.refused.iter().filter(|r| !tried.contains(&&r.system)));
        let told = told.or_else(|| furthest(&mut derivation.refused.iter()));
        let (matched, because) = match told {
            Some((parts, because, rule)) => {
                (parts, format!("the condition of rule {rule} is not proved: {because}"))
            }
            None => (0, format!("no {NOTHING_MATCHES}")),
        };
        return Err(Box::new(NoApplication {
            kind: NoResult::NothingApplies,
            because,
            derivation,
            subject: Some(subject),
            matched,
        }));
    }
    let mut types = types;
    let new_root =
        if Arc::ptr_eq(&root, &subject.root) { tree } else { put(&mut types, &subject.root, &root, &tree) };
    // what is proved of a rule at all places is not asked at this one
    let in_order = || {
        *trust == Trust::Exact
            && derivation.steps.iter().all(|step| {
                let named = systems.get(&step.system).unwrap_or(system);
                let mut rules = named.rules.iter().filter(|r| r.name == step.rule).peekable();
                rules.peek().is_some() && rules.all(super::exact::keeps_order)
            })
    };
    let made =
        Made { types: &types, root: &new_root, emitted: &emitted, before: &before, in_order: &in_order };
    match finished(site, &subject, &made, trust, &ground) {
        Ok(Finished { edits, preamble, files, moved }) => {
            let is_cuda = site.language.kernels;
            let writer = Writer::new(&subject, body, &types, site.text, item.span.start, is_cuda);
            let pieces = pieces::of(&subject, &types, &writer, &derivation, site.text);
            let tree = new_root;
            Ok(Application { edits, preamble, files, tree, subject, types, derivation, moved, pieces })
        }
        Err((kind, because)) => fail(kind, because, derivation, Some(subject)),
    }
}

/// Why a run ended early.
pub fn words(ended: Ended, applied: usize) -> String {
    match ended {
        Ended::Done => "nothing is left to do".to_owned(),
        Ended::OutOfSteps => format!("the rules did not come to an end within the steps allowed ({applied} applications)"),
        Ended::TooManyApplications => format!("the rules did not come to an end within {applied} applications"),
        Ended::TooLarge => format!("what the rules make grows beyond all bounds ({applied} applications)"),
        Ended::Circle => format!("the rules undo one another: after {applied} applications the program is one that was there before"),
    }
}

/// What rules made.
struct Made<'a> {
    types: &'a Types,
    root: &'a Tree,
    emitted: &'a [Emitted],
    before: &'a [Before],
    /// Whether all of it is proved to be done in the program's order.
    in_order: &'a dyn Fn() -> bool,
}

struct Finished {
    edits: EditSet,
    preamble: Preamble,
    files: Vec<EmittedFile>,
    moved: bool,
}

fn finished(
    site: &Site<'_>,
    subject: &Subject,
    made: &Made<'_>,
    trust: &Trust,
    ground: &Ground<'_>,
) -> Result<Finished, (NoResult, String)> {
    let (types, new) = (made.types, made.root);
    let wrong = |why: String| (NoResult::Wrong, why);
    let Some(item) = site.unit.items.get(site.item) else {
        return Err(wrong("there is no such function".into()));
    };
    scope::check(subject, new).map_err(wrong)?;
    sizes_stay(subject, types, new).map_err(wrong)?;
    let moved = schedule::moves(subject, new);
    let not_text = |why: String| (NoResult::NotText, why);
    let is_cuda = site.language.kernels;
    let mut writer = Writer::new(subject, &item.body, types, site.text, item.span.start, is_cuda);
    writer.gone = marks_gone(site, subject, new, &writer);
    let mut all: Vec<Edit> = writer.edits(&subject.root, new).map_err(not_text)?;
    let together = |e: text::EditError| not_text(format!("the edits do not fit together: {e}"));
    let edits = EditSet::new(all.clone()).map_err(together)?;
    let preamble = emit::preamble(&writer, made.before, item.span.start).map_err(not_text)?;
    if !preamble.lines.is_empty() {
        all.push(Edit::insert(preamble.at, preamble.text(writer.eol)));
    }
    let all = EditSet::new(all).map_err(|e| not_text(format!("the edits do not fit: {e}")))?;
    writer.is_cuda = true;
    let files: Vec<EmittedFile> =
        made.emitted.iter().map(|e| emit::file(&writer, e)).collect::<Result<_, _>>().map_err(not_text)?;
    let read_again = || {
        let file =
            text::Text::new(site.text).map_err(|e| not_text(format!("the file cannot be edited: {e}")))?;
        let text = all.apply(&file).map_err(|e| not_text(format!("the edits do not fit: {e}")))?.to_string();
        if site.budget.spend(read_again(&text)).is_err() {
            let spent = "the steps allowed were used up before the result was read again";
            return Err((NoResult::Limits, spent.to_owned()));
        }
        let again = Again::read(site, &text).map_err(wrong)?;
        again.is(site.item, subject, types, new).map_err(wrong)
    };
    if site.reading == Reading::Alone {
        read_again()?;
    }
    if moved {
        match schedule::check(ground, subject, new) {
            Ok(()) => {}
            Err(schedule::Fault::NotKnown(_)) if (made.in_order)() => {}
            // what the author assumes is told with the result, and it still runs beside the original
            Err(schedule::Fault::NotKnown(_)) if trust.assumed().is_some() => {}
            Err(schedule::Fault::NotKnown(why) | schedule::Fault::Broken(why)) => {
                // a text that reads otherwise is the greater fault
                if site.reading == Reading::Together {
                    read_again()?;
                }
                return Err(wrong(why));
            }
        }
    }
    Ok(Finished { edits, preamble, files, moved })
}

/// Steps that reading a text again takes.
pub fn read_again(text: &str) -> u64 {
    text.len() as u64 / BYTES_A_STEP
}

/// That the text that all these changes make of the file, read once, holds what each of the functions became; whoever calls
/// it has paid for that ([`read_again`]). `Err`: words that continue "because"; which function it is about is seen by reading
/// each [alone](Reading::Alone).
pub fn read_together(site: &Site<'_>, text: &str, all: &[(usize, Application)]) -> Result<(), String> {
    let again = Again::read(site, text)?;
    all.iter().try_for_each(|(item, a)| again.is(*item, &a.subject, &a.types, &a.tree))
}

/// That `sizeof` of an expression is what it was: it sees the type before any promotion.
fn sizes_stay(subject: &Subject, types: &Types, new: &Tree) -> Result<(), String> {
    for n in new.walk().filter(|n| n.op == Op::SizeOf) {
        let old = n.from.and_then(|t| subject.original(t)).and_then(|o| o.args.first().cloned());
        let (Some(old), Some(now)) = (old, n.args.first()) else { continue };
        let size = |t: &Tree| t.ty.and_then(|t| types.size_align(t)).map(|s| s.0);
        if !Arc::ptr_eq(&old, now) && size(&old) != size(now) {
            return Err(format!("`{}` would be another size", subject.print(&n)));
        }
    }
    Ok(())
}

/// A changed file, read.
struct Again<'a> {
    before: &'a Unit,
    text: &'a str,
    unit: Unit,
    /// Positions of the functions in both.
    functions: [Vec<usize>; 2],
}

impl<'a> Again<'a> {
    /// Reads it; nothing in it may be understood less than before.
    fn read(site: &Site<'a>, text: &'a str) -> Result<Again<'a>, String> {
        let parsed = Parsed::parse(site.language, text);
        let unit = front::lower(&parsed, site.options, &mut site.memo.borrow_mut());
        let gaps =
            |u: &Unit| u.rejects.len() + u.items.iter().map(|i| i.body.rejects().count()).sum::<usize>();
        if gaps(&unit) > gaps(site.unit) {
            let all = unit.rejects.iter().chain(unit.items.iter().flat_map(|i| i.body.rejects()));
            let reason = all.last().map_or("", |r| &r.reason).to_owned();
            return Err(format!("the result is not understood when read again: {reason}"));
        }
        // declarations may stand before it now
        let functions = |u: &Unit| -> Vec<usize> {
            let all = u.items.iter().enumerate().filter(|(_, i)| i.kind == front::ItemKind::Function);
            all.map(|(k, _)| k).collect()
        };
        let functions = [functions(site.unit), functions(&unit)];
        Ok(Again { before: site.unit, text, unit, functions })
    }

    /// That one of its functions is the new tree, with types and without gaps.
    fn is(&self, item: usize, subject: &Subject, types: &Types, new: &Tree) -> Result<(), String> {
        let Again { before, text, unit, functions: [old, now] } = self;
        let mine = old.binary_search(&item).ok().filter(|_| old.len() == now.len());
        let found = match mine {
            Some(k) => now.get(k).and_then(|&k| unit.items.get(k)),
            None => unit.items.get(item).filter(|_| unit.items.len() == before.items.len()),
        };
        let Some(found) = found else {
            return Err("the result has other functions than the file".to_owned());
        };
        let again = Subject::of(&found.body, text, found.span.start, found.is_kernel, found.is_device);
        let undeclared = |s: &Subject| -> Vec<Arc<str>> {
            let all = s.symbols.iter().filter(|k| k.storage == term::Storage::Undeclared);
            all.map(|k| k.name.clone()).collect()
        };
        let known = undeclared(subject);
        // what the run time's header declares, where that header is not found
        let run_time = |n: &Arc<str>| n.starts_with("cuda") && text.contains("#include <cuda_runtime.h>");
        let strange = |n: &Arc<str>| !known.contains(n) && !run_time(n);
        if let Some(stranger) = undeclared(&again).into_iter().find(strange) {
            return Err(format!("`{stranger}` is declared nowhere"));
        }
        // names in a rule's words and variables are the same in print
        let (wanted, found) = (sized(types, &plain(new)), plain(&again.root));
        let (wanted, found) = (subject.print(&wanted), again.print(&found));
        if wanted == found {
            return Ok(());
        }
        if let Some(gap) = before.items.get(item).and_then(|i| i.body.rejects().next()) {
            return Err(format!(
                "a part of the function is not understood ({}), and it reads otherwise after the change",
                gap.reason
            ));
        }
        let at = wanted.bytes().zip(found.bytes()).take_while(|(a, b)| a == b).count();
        let near = |s: &str| -> String {
            let from =
                (0..=at.min(s.len())).rev().take(20).filter(|&k| s.is_char_boundary(k)).last().unwrap_or(0);
            s[from..].chars().take(60).collect()
        };
        Err(format!(
            "the text reads otherwise than the rules have it (`{}` instead of `{}`)",
            near(&found),
            near(&wanted)
        ))
    }
}

/// The marks of loops that stand there no more: left in place they would stand before no loop.
fn marks_gone(site: &Site<'_>, subject: &Subject, new: &Tree, writer: &Writer<'_>) -> Vec<base::Span> {
    let marked = |root: &Tree| -> Vec<TermId> {
        let loops = root.walk().filter(|n| n.op == Op::For && n.args.len() == 5);
        loops.filter_map(|n| n.from).collect()
    };
    let kept = marked(new);
    let Some(item) = site.unit.items.get(site.item) else { return Vec::new() };
    let gone = marked(&subject.root).into_iter().filter(|t| !kept.contains(t));
    let starts: Vec<u32> = gone.map(|t| item.body.span(t).shifted(item.span.start).start).collect();
    let marks = site.unit.directives.iter().filter(|d| {
        matches!(d.kind, front::DirectiveKind::Mark { attached: true, .. }) && starts.contains(&d.before)
    });
    marks.map(|d| writer.whole_lines(d.span)).collect()
}

/// With the numbers that sizes of types are read as.
fn sized(types: &Types, n: &Tree) -> Tree {
    let size = |t: &Tree| types.size_align(t.ty?).map(|s| i128::from(s.0));
    if let Some(bytes) = n.args.first().filter(|_| n.is("SizeOfType")).and_then(size) {
        return Node::int(bytes);
    }
    let args: Vec<Tree> = n.args.iter().map(|a| sized(types, a)).collect();
    match args.iter().zip(n.args.iter()).all(|(a, b)| Arc::ptr_eq(a, b)) {
        true => n.clone(),
        false => n.with_args(args, n.ty),
    }
}

/// Without what text does not show: the empty statements.
pub(super) fn plain(n: &Tree) -> Tree {
    let is_list = n.op == Op::List;
    let args: Vec<Tree> = n.args.iter().filter(|a| !(is_list && a.op == Op::Empty)).map(plain).collect();
    match args.len() == n.args.len() && args.iter().zip(n.args.iter()).all(|(a, b)| Arc::ptr_eq(a, b)) {
        true => n.clone(),
        false => n.with_args(args, n.ty),
    }
}

/// The tree with one part replaced; a list that stands for statements is spliced.
fn put(types: &mut Types, at: &Tree, old: &Tree, new: &Tree) -> Tree {
    if Arc::ptr_eq(at, old) {
        return new.clone();
    }
    let mut args: Vec<Tree> = Vec::with_capacity(at.args.len());
    let mut changed = false;
    for a in at.args.iter() {
        let b = put(types, a, old, new);
        changed |= !Arc::ptr_eq(a, &b);
        if at.op == Op::List && !Arc::ptr_eq(a, &b) && b.op == Op::List && b.from.is_none() {
            args.extend(b.args.iter().cloned());
        } else {
            args.push(b);
        }
    }
    match changed {
        true => super::matching::build(types, at.op.clone(), args, Some(at)),
        false => at.clone(),
    }
}
