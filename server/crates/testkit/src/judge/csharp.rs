//! Holds what is said of a random C# method to what its runs really did, exceptions included.
//!
//! A run that throws speaks against a claim if nothing in the claim's conditions says that it may; one that does not is held
//! to the record of every cell, and to runs of the loop in other orders.

use analysis::{ConditionKind, LoopFacts, MetBy, ReductionOp, Verdict};
use base::Budget;
use simulate::{run, run_traced, Fault, FaultKind, Options, Program, Value};
use term::{Body, Op, TermId};

use super::case::{fault_name, Case, Given};
use super::Stats;
use crate::csharp::{Call, Method};
use crate::fixture::{kind_name, verdict_name};
use crate::permuted::{permuted, Order};
use crate::rng::Rng;

/// A wrong claim.
#[derive(Clone, Debug)]
pub struct Wrong {
    pub kind: &'static str,
    pub what: String,
}

/// Number of calls each method is judged on.
pub const CALLS: usize = 6;

const NAME: &str = "T.F";

/// Everything that is wrong about what is said of the method.
pub fn judge_csharp(method: &Method, stats: &mut Stats) -> Vec<Wrong> {
    let text = method.text();
    let parsed = front::Parsed::parse(front::Language::CSharp, text.as_str());
    let unit = front::lower(&parsed, &front::Options::default(), &mut front::Memo::new());
    let mut wrong = Vec::new();
    stats.functions += 1;
    let Some(item) = unit.items.iter().find(|i| &*i.name == NAME) else {
        return vec![Wrong { kind: "front", what: "no method was found".into() }];
    };
    let gaps: Vec<String> = unit
        .rejects
        .iter()
        .chain(unit.items.iter().flat_map(|i| i.body.rejects()))
        .map(|r| r.reason.to_string())
        .collect();
    if !gaps.is_empty() {
        return vec![Wrong { kind: "front", what: format!("not understood: {}", gaps.join("; ")) }];
    }
    let body = &*item.body;
    let around = analysis::Program::of(unit.items.iter().map(|i| &i.body));
    let facts = analysis::analyze(body, &around, analysis::SAVE, &Budget::new(u64::MAX));
    let program = Program::of(unit.items.iter().map(|i| &*i.body));
    let apart = |_: &[Option<i128>], _: usize| Err("witnesses are not arranged".to_owned());
    let mut case = Case::new(&text, item.span.start as usize, NAME, body, &facts, &program, &apart);
    case.steps = Call::STEPS;
    for l in facts.loops.iter() {
        *stats.verdicts.entry(verdict_name(l.verdict)).or_default() += 1;
        if l.verdict == Verdict::Unknown {
            let why = l.obstacles.first().map_or("none".to_owned(), |o| kind_name(&o.kind));
            stats.example(&why, || format!("seed {}: `{}`", method.seed, case.head(l)));
            *stats.missed.entry(why).or_default() += 1;
        }
        wrong.extend(case.form(l).into_iter().map(|what| Wrong { kind: "form", what }));
    }
    let mut rng = Rng::new(method.seed ^ 0xCA11);
    for n in 0..CALLS {
        let call = Call::random(method, &mut rng, n >= 2);
        let Ok((mut heap, args, _)) = call.build(method) else { continue };
        let sizes = args.iter().map(|a| if let Value::Int(v) = a { Some(*v) } else { None }).collect();
        let budget = Budget::new(Call::STEPS);
        let trace = run_traced(&program, NAME, &args, &mut heap, &case.watch, &Options::default(), &budget);
        let words = call.describe(method);
        let trace = match trace {
            Ok(trace) => trace,
            Err(fault) => {
                *stats.faults.entry(fault_name(&fault.kind)).or_default() += 1;
                let loops = facts.loops.iter().filter(|l| is_parallel(l) && holds(body, l.term, &fault));
                for l in loops.filter(|l| !may_throw(l, &fault)) {
                    let what = format!(
                        "`{}` is said to be {} and nothing of it to throw this; called with {words}: {fault} at `{}`",
                        case.head(l),
                        verdict_name(l.verdict),
                        fault.term.map(|t| case.source(t)).unwrap_or_default()
                    );
                    wrong.push(Wrong { kind: "throws", what });
                }
                continue;
            }
        };
        stats.runs += 1;
        let given = Given { sizes, words: words.clone(), heap, args, apart: false };
        for (id, l) in facts.loops.iter_ids().filter(|(_, l)| is_parallel(l)) {
            let judged = case.claim(&given, &trace, id, l, stats);
            let judged = judged.and_then(|all| match all {
                true => in_other_orders(&case, method, &call, l, stats),
                false => Ok(()),
            });
            if let Err(what) = judged {
                wrong.push(Wrong { kind: "claim", what });
            }
        }
    }
    wrong
}

fn is_parallel(l: &LoopFacts) -> bool {
    matches!(l.verdict, Verdict::Independent | Verdict::Reduction)
}

/// Whether what threw is in the loop, or in what it calls.
fn holds(body: &Body, l: TermId, fault: &Fault) -> bool {
    match (&*fault.function == NAME, fault.term) {
        // a test that throws does so before the first iteration, if what it looks into stays
        (true, Some(t)) if fault.kind == FaultKind::NullDereference && is_header(body, l, t) => false,
        (true, Some(t)) => body.walk(l).any(|x| x == t),
        (true, None) => false,
        (false, _) => body.walk(l).any(|x| {
            *body.op(x) == Op::Call && body.callee(x).is_some_and(|f| body.symbols[f].name == fault.function)
        }),
    }
}

fn is_header(body: &Body, l: TermId, t: TermId) -> bool {
    let parts = body.loop_parts(l).filter(|p| p.tests_first);
    parts.into_iter().flat_map(|p| [p.init, p.condition]).flatten().any(|h| body.walk(h).any(|x| x == t))
}

/// Whether the conditions of a claim leave room for what was thrown.
fn may_throw(l: &LoopFacts, fault: &Fault) -> bool {
    let open = |wanted: fn(&ConditionKind) -> bool| {
        l.conditions.iter().any(|c| c.met_by != MetBy::Proof && wanted(&c.kind))
    };
    match &fault.kind {
        FaultKind::OutOfBounds { .. } | FaultKind::PointerRange => {
            open(|k| matches!(k, ConditionKind::Bounds { .. }))
        }
        FaultKind::NullDereference => open(|k| matches!(k, ConditionKind::NotNull(_))),
        FaultKind::DivisionByZero => open(|k| matches!(k, ConditionKind::NonZero(_))),
        FaultKind::SignedOverflow => {
            open(|k| matches!(k, ConditionKind::NonZero(_) | ConditionKind::NoOverflow(_)))
        }
        // of these a claim says nothing
        _ => true,
    }
}

/// Whether the method leaves the same when the loop's iterations run in other orders. Not asked where the order decides what is
/// said to be kept: extremes with their place, last values, floating sums.
fn in_other_orders(
    case: &Case<'_>,
    method: &Method,
    call: &Call,
    l: &LoopFacts,
    stats: &mut Stats,
) -> Result<(), String> {
    use ReductionOp as R;
    let ordered = |r: &analysis::Reduction| match r.op {
        R::ArgMin { .. } | R::ArgMax { .. } | R::Last => true,
        R::Add | R::Mul | R::Min | R::Max => case.body.types.as_float(r.ty).is_some(),
        _ => false,
    };
    let plain = l.control.as_ref().is_ok_and(|c| c.is_plain());
    if !plain || !l.inductions.is_empty() || l.reductions.iter().any(ordered) {
        return Ok(());
    }
    let leaves = |program: &Program<'_>| {
        let (mut heap, args, objects) = call.build(method).map_err(|f| fault_name(&f.kind))?;
        let budget = Budget::new(4_000_000);
        let out = run(program, NAME, &args, &mut heap, &Options::default(), &budget)
            .map_err(|f| fault_name(&f.kind))?;
        let bytes: Vec<Vec<u8>> = objects.iter().map(|&o| heap.read_raw::<u8>(o)).collect();
        Ok::<_, String>((format!("{:?}", out.value), bytes))
    };
    let Ok(first) = leaves(case.program) else { return Ok(()) };
    let kept = l.privates.iter().any(|p| p.kept);
    let orders: &[Order] = if kept { &[Order::LastStays] } else { &[Order::Reversed, Order::Shuffled] };
    for &order in orders {
        let Some(other) = permuted(case.text, case.start, case.body, l.term, order) else { return Ok(()) };
        let parsed = front::Parsed::parse(front::Language::CSharp, other.as_str());
        let unit = front::lower(&parsed, &front::Options::default(), &mut front::Memo::new());
        let difference = match leaves(&Program::of(unit.items.iter().map(|i| &*i.body))) {
            Ok(second) if second == first => {
                stats.permuted += 1;
                continue;
            }
            Err(why) if why.starts_with("OutOfFuel") => continue,
            Err(why) => why,
            Ok(second) if second.0 != first.0 => format!("it gives {} instead of {}", second.0, first.0),
            Ok(_) => "its memory differs".to_owned(),
        };
        return Err(format!(
            "`{}` is said to be {}{}; {order:?} {difference}; called with {}",
            case.head(l),
            verdict_name(l.verdict),
            case.set_aside(l),
            call.describe(method)
        ));
    }
    Ok(())
}
