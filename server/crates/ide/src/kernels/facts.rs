//! What analysis proves of a document's kernels, at its places: the `kernels` of the command line's JSON.

use analysis::{BarrierVerdict, KernelFacts, RaceVerdict, Split, Uniformity};
use base::Span;
use term::Op;

use super::{known_launch, needless_everywhere, said, shape, thread_words, LaunchPlace, Origin, Shape};
use crate::{Ask, Doc};

/// A kernel and what is proved of it.
#[derive(Clone, Debug)]
pub struct KernelReport {
    pub name: String,
    pub span: Span,
    /// With which launch, if one is known; else all holds for every launch.
    pub shape: Option<(Shape, Origin)>,
    /// What launches of it say, as far as they say it; in words what was taken where others are possible.
    pub launches: Vec<LaunchReport>,
    /// What was taken for the launch that the rest is said of.
    pub taken: Vec<String>,
    pub branches: Vec<BranchReport>,
    pub barriers: Vec<BarrierReport>,
    pub accesses: Vec<AccessReport>,
    pub races: RacesReport,
    /// Accesses that are sure to fall outside; `None`: the launch is not known.
    pub out_of_range: Option<Vec<RangeReport>>,
}

/// A launch of a kernel.
#[derive(Clone, Debug)]
pub struct LaunchReport {
    pub at: LaunchPlace,
    pub grid: Option<[u32; 3]>,
    pub block: Option<[u32; 3]>,
    pub taken: Vec<String>,
}

/// What is known of a kernel's races.
#[derive(Clone, Debug)]
pub struct RacesReport {
    /// `race-free`, `race` or `unknown`.
    pub verdict: &'static str,
    /// Why it is unknown.
    pub reason: Option<String>,
    /// All of it for people: `no race, whatever memory holds, where `a` and `b` share no memory`.
    pub words: String,
    /// Pairs of parameters that must not overlap, where it is free.
    pub apart: Vec<[String; 2]>,
    /// Parameters that must be 1 at least, where it is free.
    pub positive: Vec<String>,
    /// For which launches it is free, in words; `None`: for the one that is known.
    pub shapes: Option<String>,
    pub list: Vec<RaceReport>,
}

/// Two accesses that nothing orders.
#[derive(Clone, Debug)]
pub struct RaceReport {
    /// In textual order.
    pub span: Span,
    pub other: Span,
    pub object: String,
    pub index: i64,
    pub shared: bool,
    pub witness: String,
    /// `barrier`, `syncwarp`, `atomic`; `None`: nothing inside a launch would do.
    pub missing: Option<&'static str>,
}

/// An access outside of an array.
#[derive(Clone, Debug)]
pub struct RangeReport {
    pub span: Span,
    pub object: String,
    pub when: String,
}

/// An access of a kernel.
#[derive(Clone, Debug)]
pub struct AccessReport {
    pub span: Span,
    pub fact: analysis::AccessFact,
}

/// A branch of a kernel.
#[derive(Clone, Debug)]
pub struct BranchReport {
    pub span: Span,
    /// `if`, `loop`, `select` or `switch`.
    pub kind: &'static str,
    /// `grid`, `block`, `warp`, `divergent` or `unknown`.
    pub uniform: &'static str,
    pub witness: Option<String>,
    /// (active lanes, lanes for which the condition holds, warps): exact where it is there.
    pub lanes: Option<Vec<(u32, u32, u64)>>,
    /// Else, where that is known: how a warp decides it whatever the launch.
    pub any_shape: Option<analysis::AnyDecision>,
}

/// A barrier of a kernel.
#[derive(Clone, Debug)]
pub struct BarrierReport {
    pub span: Span,
    /// `safe`, `divergent` or `unknown`.
    pub verdict: &'static str,
    pub witness: Option<String>,
    /// Whether it orders nothing, where that is known.
    pub redundant: Option<bool>,
    /// With a known launch.
    pub count: Option<analysis::BarrierCount>,
}

/// What is proved of the kernels of a document. `launches` asked for come before what the document says.
pub fn kernel_reports(ask: &Ask, launches: &[(String, Shape)]) -> Vec<KernelReport> {
    let doc = &ask.doc;
    let kernels =
        doc.unit().items.iter().filter(|i| i.is_kernel && matches!(i.body.op(i.body.root), Op::Function(_)));
    kernels.map(|item| one(ask, item, launches)).collect()
}

fn one(ask: &Ask, item: &front::Item, launches: &[(String, Shape)]) -> KernelReport {
    let doc = &ask.doc;
    let asked = launches.iter().rev().find(|(n, _)| item.is_called(n)).map(|(_, s)| s.clone());
    let (facts, launch) = match &asked {
        Some(s) => {
            let launch = known_launch(doc, s);
            (ask.kernel_facts_with(item, &launch), launch)
        }
        None => ask.kernel_facts(item),
    };
    let shape = match asked {
        Some(s) => Some((s, Origin::Asked)),
        None => said::which(doc, item, &launch),
    };
    let list = match &shape {
        Some((s, _)) => s.taken.clone(),
        None => shape::block_of(doc, item).map(|(_, t)| t).unwrap_or_default(),
    };
    let span = |t| item.body.span(t).shifted(item.span.start);
    let branches = facts.branches.iter().map(|b| BranchReport {
        span: span(b.term),
        kind: match item.body.op(b.term) {
            Op::If => "if",
            Op::Select => "select",
            Op::Switch => "switch",
            _ => "loop",
        },
        uniform: b.uniformity.name(),
        witness: match &b.uniformity {
            Uniformity::Divergent(s) => Some(words(s, "decides yes", "decides no")),
            _ => None,
        },
        lanes: b.lanes.as_ref().map(|l| l.iter().map(|(&(a, h), &n)| (a, h, n)).collect()),
        any_shape: b.any_shape.clone(),
    });
    let barriers = facts.barriers.iter().map(|b| {
        let (verdict, witness) = match &b.verdict {
            BarrierVerdict::Safe => ("safe", None),
            BarrierVerdict::Divergent(s) => ("divergent", Some(words(s, "reaches it", "does not"))),
            BarrierVerdict::Unknown(_) => ("unknown", None),
        };
        let asked = matches!(&shape, Some((_, Origin::Asked)));
        let redundant = b.redundant.map(|r| r && (asked || needless_everywhere(ask, item, span(b.term))));
        BarrierReport { span: span(b.term), verdict, witness, redundant, count: b.count.clone() }
    });
    KernelReport {
        name: item.name.to_string(),
        span: item.span,
        branches: branches.collect(),
        barriers: barriers.collect(),
        accesses: facts
            .accesses
            .iter()
            .map(|a| AccessReport { span: span(a.term), fact: a.clone() })
            .collect(),
        races: races(doc, item, &facts),
        out_of_range: facts.out_of_range.as_ref().map(|list| {
            let one = |o: &analysis::OutOfRange| RangeReport {
                span: said::place(doc, item, &o.side.function, o.side.term),
                object: o.object.to_string(),
                when: format!(
                    "{}[{}] of {} elements: {}",
                    o.object,
                    o.index,
                    o.length,
                    thread_words(o.side.thread, o.side.block)
                ),
            };
            list.iter().map(one).collect()
        }),
        launches: doc.given(&item.name).iter().map(|g| launch_report(doc, g)).collect(),
        taken: list.iter().map(|t| said::taken_word(doc, t)).collect(),
        shape,
    }
}

fn launch_report(doc: &Doc, g: &super::GivenLaunch) -> LaunchReport {
    let taken = shape::taken(doc, g).iter().map(|t| said::taken_word(doc, t)).collect();
    LaunchReport { at: g.at.clone(), grid: g.given.grid, block: g.given.block, taken }
}

fn races(doc: &Doc, item: &front::Item, facts: &KernelFacts) -> RacesReport {
    let (verdict, reason) = said::verdict(doc, item, facts);
    let mut out = RacesReport {
        verdict,
        reason,
        words: said::races(doc, item, facts).unwrap_or_default(),
        apart: Vec::new(),
        positive: Vec::new(),
        shapes: None,
        list: Vec::new(),
    };
    match &facts.races {
        RaceVerdict::Free { apart, positive, shapes } => {
            out.positive = positive.iter().map(|n| n.to_string()).collect();
            out.shapes = shapes.as_ref().map(said::shapes);
            out.apart = apart.iter().map(|[a, b]| [a.to_string(), b.to_string()]).collect();
        }
        RaceVerdict::Race(list) => {
            for w in list {
                let a = said::place(doc, item, &w.first.function, w.first.term);
                let b = said::place(doc, item, &w.second.function, w.second.term);
                out.list.push(RaceReport {
                    span: if a.start <= b.start { a } else { b },
                    other: if a.start <= b.start { b } else { a },
                    object: w.object.to_string(),
                    index: w.index,
                    shared: w.shared,
                    witness: said::witness(doc, item, w),
                    missing: said::missing(w),
                });
            }
        }
        RaceVerdict::Unknown(_) => {}
    }
    out
}

pub(super) fn words(s: &Split, yes: &str, no: &str) -> String {
    let values: Vec<String> = s.values.iter().map(|(n, v)| format!(", {n} = {v}")).collect();
    format!(
        "{}{}: {} {yes}, {} {no}",
        said::blocks_of(s.grid, s.block),
        values.concat(),
        thread_words(s.yes, s.block_index),
        thread_words(s.no, s.block_index)
    )
}
