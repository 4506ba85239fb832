//! The structs of the command line's JSON contract (DESIGN, "What the command line promises"); the shell serialises.
//!
//! Field names and order are those of the contract. Lines and columns are 1-based; columns count UTF-8 bytes.

use analysis::{Condition, Dependence, LoopId, Obstacle};

use crate::cost::Cost;
use crate::function_view::FunctionView;
use crate::lints::is_parallel;
use crate::plans::Planned;
use crate::region_plan::may_hold_nests;
use crate::words;

/// A place. 1-based; columns in UTF-8 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct LineColumn {
    pub line: u32,
    pub column: u32,
}

/// One loop, counted or not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoopReport {
    /// Where the loop's keyword (or the macro that makes the loop) begins.
    pub line: u32,
    pub column: u32,
    /// One past the last byte of the whole loop.
    pub end_line: u32,
    pub end_column: u32,
    pub function: String,
    /// `independent`, `reduction`, `sequential`, `unknown`.
    pub verdict: &'static str,
    pub conditions: Vec<ConditionReport>,
    /// Names of the privatised scalars, and of the inductions.
    pub private: Vec<String>,
    /// Variables that move by a fixed amount: each thread computes its own from the number of the iteration.
    pub inductions: Vec<InductionReport>,
    pub reductions: Vec<ReductionReport>,
    pub dependences: Vec<DependenceReport>,
    pub obstacles: Vec<ObstacleReport>,
    /// For `independent` and `reduction`; else where the statements of the nest, taken one by one, can be spread over
    /// threads that need no synchronisation.
    pub thread_map: Option<ThreadMapReport>,
    /// Whether a kernel can be made; `None` where the loop does not run at once as it stands.
    pub offload: Option<OffloadReport>,
    /// Of an offload that is possible.
    pub cost: Option<Cost>,
}

/// Whether "Offload to GPU" makes a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OffloadReport {
    /// Why not, a sentence.
    pub refused: Option<String>,
    /// The same in a few words: `call of printf`.
    pub label: Option<String>,
}

/// Something the verdict needs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConditionReport {
    /// `no-alias`, `no-wrap`, `bounds`, `in-row`, `asserted`, `injective`, `sorted`, `at-most`, `pure`, `reassociate`, `step-sign`, `terminates`.
    pub kind: &'static str,
    /// `no-alias(a,b)`
    pub text: String,
    /// `proof`, `run-time check` or `user`.
    pub met_by: &'static str,
}

/// A variable that moves with the iterations.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InductionReport {
    pub variable: String,
    /// How much each iteration adds; `None` where it is not one constant.
    pub step: Option<i64>,
}

/// A recognised reduction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReductionReport {
    pub variable: String,
    /// `+`, `*`, `min`, `max`, `&`, `|`, `^`, `&&`, `||`.
    pub operator: &'static str,
}

/// A dependence carried by the loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DependenceReport {
    /// `flow`, `anti`, `output`.
    pub kind: &'static str,
    pub variable: String,
    pub source: LineColumn,
    pub sink: LineColumn,
    /// Per loop around both, from the one that carries it inwards: `<`, `=`, `>`, `<=`, `>=`, `<>`, `*`.
    pub direction: Vec<&'static str>,
    /// Likewise; `None` where it is not one constant. Text where the number does not fit 64 bits never occurs: such
    /// a distance is `None`.
    pub distance: Vec<Option<i64>>,
    /// `i=3 writes a[4], i=4 reads a[4]`; `None` where the dependence may exist but is not proved to.
    pub witness: Option<String>,
}

/// Why nothing (more) can be said.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ObstacleReport {
    /// Kebab-case name of the kind, such as `unknown-call`.
    pub kind: &'static str,
    pub text: String,
    pub line: u32,
    pub column: u32,
}

/// How iterations become threads if the loop is offloaded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThreadMapReport {
    /// Coordinates of a thread, 1 to 3: for a parallel loop the number of nested loops whose iterations run at once.
    pub dimension: u32,
    /// Per statement, in textual order (`S1`, `S2`, …), the thread coordinates its instances run at: `i`, `(i, j)`,
    /// `i - j + N`.
    pub maps: Vec<(String, String)>,
    /// Number of threads that do work, as an expression in the program's variables: `n` or `(n) * (m)`.
    pub threads: String,
}

/// The report of one loop.
pub(crate) fn loop_report(view: &FunctionView, id: LoopId) -> LoopReport {
    let l = view.of(id);
    let span = view.span(l.term);
    let thread_map = thread_map(view, id);
    let together =
        !is_parallel(l) && may_hold_nests(view, id) && matches!(view.planned(id), Planned::Together(_));
    let may_run = is_parallel(l) || thread_map.is_some() || together;
    let no_kernel = if may_run { view.no_kernel(id) } else { None };
    let offload = may_run.then(|| OffloadReport {
        refused: no_kernel.as_ref().map(|why| why.words(view, id)),
        label: no_kernel.as_ref().and_then(|why| why.label(view)),
    });
    let cost = may_run.then(|| match view.planned(id) {
        Planned::Kernel(outline) => Some(outline.cost.clone()),
        Planned::Together(shared) => Some(shared.cost.clone()),
        Planned::No(_) => None,
    });
    let (start, end) = (view.line_column(span.start), view.line_column(span.end));
    LoopReport {
        line: start.line,
        column: start.column,
        end_line: end.line,
        end_column: end.column,
        function: view.item.name.to_string(),
        verdict: words::verdict(l.verdict),
        conditions: l.conditions.iter().map(|c| condition_report(view, c)).collect(),
        private: {
            let privates = l.privates.iter().filter(|p| !p.kept).map(|p| p.symbol);
            privates.chain(l.inductions.iter().map(|i| i.symbol)).map(|s| view.symbol(s).to_owned()).collect()
        },
        inductions: l
            .inductions
            .iter()
            .map(|i| InductionReport {
                variable: view.symbol(i.symbol).to_owned(),
                step: i.step.and_then(|s| i64::try_from(s).ok()),
            })
            .collect(),
        reductions: l
            .reductions
            .iter()
            .map(|r| ReductionReport {
                variable: words::accumulator(view, r),
                operator: words::operator(r.op),
            })
            .collect(),
        dependences: l.dependences.iter().map(|d| dependence_report(view, d)).collect(),
        obstacles: l.obstacles.iter().map(|o| obstacle_report(view, o)).collect(),
        thread_map,
        offload,
        cost: cost.flatten(),
    }
}

fn condition_report(view: &FunctionView, c: &Condition) -> ConditionReport {
    let words = words::condition(view, &c.kind);
    ConditionReport { kind: words.kind, text: words.text, met_by: words::met_by(c.met_by) }
}

fn dependence_report(view: &FunctionView, d: &Dependence) -> DependenceReport {
    DependenceReport {
        kind: words::kind_name(d.kind),
        variable: view.object(&d.object),
        source: view.line_column(view.span(d.source).start),
        sink: view.line_column(view.span(d.sink).start),
        direction: d.direction.iter().map(|x| x.symbol()).collect(),
        distance: d.distance.iter().map(|x| x.and_then(|v| i64::try_from(v).ok())).collect(),
        witness: words::witness(view, d),
    }
}

fn obstacle_report(view: &FunctionView, o: &Obstacle) -> ObstacleReport {
    let words = words::obstacle(view, o);
    let at = view.line_column(view.span(o.term).start);
    ObstacleReport { kind: words.kind, text: words.reason, line: at.line, column: at.column }
}

fn thread_map(view: &FunctionView, id: LoopId) -> Option<ThreadMapReport> {
    if !is_parallel(view.of(id)) {
        let map = view.thread_map(id)?;
        return Some(ThreadMapReport {
            dimension: map.dimension,
            maps: words::affine_maps(view, &map),
            threads: words::threads(view, &map),
        });
    }
    let band = view.band(id);
    Some(ThreadMapReport {
        dimension: band.len() as u32,
        maps: words::statement_maps(view, &band),
        threads: words::thread_count(view, &band)?,
    })
}
