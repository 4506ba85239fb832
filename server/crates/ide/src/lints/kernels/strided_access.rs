//! `strided-access`: a warp asks for more sectors of global memory than its data would fill.

use base::Span;

use crate::kernels::{assumed, launch_words, looked_at, named, wherever};
use crate::lints::{Find, Lint, Message};
use crate::repairs::{Repair, Site};
use crate::{Ask, Fact, Severity};
use analysis::{AccessFact, AnyShape, Assumed, Pattern};
use term::device::{Index, Word};
use term::{BinOp, Body, Op, Storage, TermId};
use text::Edit;

pub(super) const LINT: Lint = Lint {
    code: "strided-access",
    severity: Severity::Warning,
    summary: "Neighbouring threads read or write places far apart.",
    page: include_str!("../../../../../../docs/codes/strided-access.md"),
    find: Find::Document(strided_access),
    fixes: &[fix],
};

/// Elements that neighbours may lie apart where all between them are asked for beside it: the sectors are filled, and found in the cache.
const SECTOR: u64 = 4;

fn strided_access(ask: &Ask) -> Vec<(Span, Message)> {
    let doc = &ask.doc;
    let mut found = Vec::new();
    for item in doc.unit().items.iter().filter(|i| i.is_kernel) {
        let (facts, launch) = ask.kernel_facts(item);
        let mut told: Vec<Span> = Vec::new();
        let mut all: Vec<((&str, Apart), Span, Message)> = Vec::new();
        for a in facts.accesses.iter().filter(|a| a.space == term::Space::Global && !a.atomic) {
            let span = item.body.span(a.term).shifted(item.span.start);
            if let Some(any) = a.any_shape.as_ref().filter(|_| !told.contains(&span)) {
                let with = wherever(&ask.doc, item, &launch, any.assumed);
                let apart = named(&item.body, any);
                if let Some((message, severity)) =
                    for_every_launch(&item.body, a, any, &facts.accesses, (&with, apart.as_deref()))
                {
                    told.push(span);
                    let on = Message::on(item, Fact::StridedAccess);
                    let apart = Apart::of(any);
                    all.push(((&a.object, apart), span, Message { message, severity, ..on }));
                }
            }
            let Some(r) = &a.requests else { continue };
            // an offset costs one sector more and needs no word
            let wasted = r.worst_sectors >= 2 * r.worst_ideal && r.worst_sectors >= r.worst_ideal + 4;
            if !wasted || r.sectors < 2 * r.ideal || told.contains(&span) {
                continue;
            }
            // the other half of the sectors is asked for beside it
            let partner = facts.accesses.iter().any(|b| {
                b.term != a.term
                    && b.object == a.object
                    && b.reads == a.reads
                    && b.requests.as_ref().is_some_and(|q| q.stride == r.stride && q.count == r.count)
            });
            if partner && r.worst_sectors <= 2 * r.worst_ideal + 1 {
                continue;
            }
            told.push(span);
            let apart = match r.stride {
                Some(b) => format!("Neighbouring threads touch places {} bytes apart", b.abs()),
                None => "The threads of a warp touch places far apart".to_owned(),
            };
            let how = how(a);
            let rounds = looked_at(r);
            let remedy =
                wider(launch.block, a.bytes, r.worst_sectors).unwrap_or_else(|| NEIGHBOURS.to_owned());
            let message = format!(
                "{apart}: {how} `{}`, a warp asks for {} sectors of 32 bytes where {} would hold its data ({} against {}{rounds}{} {}). \
                 Nsight Compute: uncoalesced global access. {remedy}",
                a.object,
                r.worst_sectors,
                r.worst_ideal,
                r.sectors,
                r.ideal,
                if r.blocks.is_some() { ", of" } else { " over" },
                launch_words(&ask.doc, item, &launch)
            );
            let mild = r.worst_sectors < 4 * r.worst_ideal;
            let severity = mild.then_some(Severity::Hint);
            let on = Message::on(item, Fact::StridedAccess);
            all.push(((&a.object, Apart::Bytes(r.stride)), span, Message { message, severity, ..on }));
        }
        found.extend(super::told_once(doc, all, LINT.severity, "Places as far apart are touched"));
    }
    found
}

/// How far apart neighbouring threads touch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Apart {
    RunTime,
    Elements(Pattern),
    Bytes(Option<i64>),
}

impl Apart {
    fn of(any: &AnyShape) -> Apart {
        match any.run_time {
            true => Apart::RunTime,
            false => Apart::Elements(any.pattern),
        }
    }
}

/// What to do about the shape of blocks, where each of their rows touches neighbouring places and is shorter than a warp: so wide they are.
fn wider(block: Option<[u32; 3]>, bytes: u64, sectors: u64) -> Option<String> {
    let width = u64::from(block?[0]);
    let is_short = width > 0 && width < 32 && 32 % width == 0;
    let whole = (32 / width.max(1)) * (width * bytes).div_ceil(32);
    (is_short && sectors == whole).then(|| {
        format!(
            "Make the blocks wider along x: their rows are {width} threads, {} bytes, long.",
            width * bytes
        )
    })
}

fn how(a: &AccessFact) -> &'static str {
    match (a.reads, a.writes) {
        (true, false) => "reading",
        (false, true) => "writing",
        _ => "updating",
    }
}

const NEIGHBOURS: &str =
    "Let neighbouring threads touch neighbouring elements, or stage a tile in shared memory.";

/// The parameter that a subscript is a multiple of and no more: the increment of a vector, as in the BLAS.
fn increment(body: &Body, access: TermId) -> Option<&str> {
    let (Op::Index, &[_, subscript]) = (body.op(access), body.args(access)) else { return None };
    let (Op::Binary(BinOp::Mul), factors) = (body.op(subscript), body.args(subscript)) else { return None };
    let mut given = factors.iter().filter_map(|&t| body.as_symbol(t)).map(|s| &body.symbols[s]);
    given.find(|s| matches!(s.storage, Storage::Param(_))).map(|s| &*s.name)
}

/// What is said without a launch that is known.
fn for_every_launch(
    body: &Body,
    a: &AccessFact,
    any: &AnyShape,
    all: &[AccessFact],
    (everywhere, apart): (&str, Option<&str>),
) -> Option<(String, Option<Severity>)> {
    let how = how(a);
    let with = assumed(any.assumed);
    let block = match any.assumed {
        Assumed::RowsOfWarps => None,
        Assumed::Launch(block) | Assumed::Tile(block) => Some(block),
    };
    let remedy = wider(block, a.bytes, any.worst).unwrap_or_else(|| NEIGHBOURS.to_owned());
    let lanes = any.lanes;
    if any.run_time && any.lanes > 1 {
        let touched = match apart {
            Some(by) => format!("elements of `{}` {by} apart", a.object),
            None => format!("places of `{}` whose distance only the run decides", a.object),
        };
        let remedy = match increment(body, a.term) {
            Some(by) => {
                format!("With `{by}` = 1 they are neighbouring elements: keep the data so where you can.")
            }
            None => remedy,
        };
        let message = format!(
            "Neighbouring threads touch {touched}: {how} it, a warp asks for up to {} sectors of 32 \
             bytes, from a distance of 32 bytes on one for each of its threads, with {with}. {remedy}",
            any.full[1]
        );
        return Some((message, Some(Severity::Hint)));
    }
    let much = any.wastes_sectors()?;
    // the other elements between two neighbours are asked for beside it
    if let Pattern::Strided(Some(k)) = any.pattern {
        let same = |b: &&AccessFact| {
            let stride = b.any_shape.as_ref().map(|s| s.pattern);
            b.object == a.object && b.reads == a.reads && stride == Some(any.pattern)
        };
        let beside = all.iter().filter(same).count() as u64;
        if k.unsigned_abs() <= SECTOR && beside >= k.unsigned_abs() {
            return None;
        }
    }
    let apart = match any.pattern {
        Pattern::Strided(Some(k)) => format!("Neighbouring threads touch elements {} apart", k.abs()),
        _ => "The threads of a warp touch places far apart".to_owned(),
    };
    let who = match any.partial {
        false => "a warp".to_owned(),
        true if lanes == 32 => "a warp of which all threads come here".to_owned(),
        true => format!("a warp of which {lanes} threads come here"),
    };
    let message = format!(
        "{apart}: {how} `{}`, {who} asks for at least {} sectors of 32 bytes where {} would hold its data, with {everywhere}. \
         Nsight Compute: uncoalesced global access. {remedy}",
        a.object, any.worst, any.ideal
    );
    Some((message, (!much).then_some(Severity::Hint)))
}

/// Exchanges `x` and `y` of all indices, so that neighbouring threads move along the other subscript.
fn fix(site: &Site, fact: &Fact) -> Option<Repair> {
    let Fact::StridedAccess = fact else { return None };
    let body = site.body;
    let mut edits = Vec::new();
    let (mut xs, mut ys) = (0, 0);
    for t in body.walk(body.root) {
        let (Op::Member { field, .. }, &[base]) = (body.op(t), body.args(t)) else { continue };
        if body.index_variable(base).is_none() {
            continue;
        }
        let (to, count) = match &**field {
            "x" => ("y", &mut xs),
            "y" => ("x", &mut ys),
            _ => return None,
        };
        *count += 1;
        let span = site.span(t);
        let text = site.doc.slice(span);
        if !text.ends_with(&**field) {
            // written by a macro
            return None;
        }
        let last = Span { start: span.end - 1, end: span.end };
        edits.push(Edit::replace(last, to));
    }
    edits.sort_by_key(|e| e.span.start);
    edits.dedup_by_key(|e| e.span);
    if xs == 0 || ys == 0 {
        return None;
    }
    let thread = gpu::CUDA.said(Word::Index(Index::Thread));
    site.same(format!("Exchange the axes: `{thread}.x` along the last subscript"), edits)
}
