//! Variables that one iteration decides: each thread's, then the block's, then the host's choice.

use term::{BinOp, FloatKind, IntKind, TypeId, TypeKind};

use super::expr::{float, float_name, int_name, integer, Dialect};
use super::host_term::Term;
use crate::lines::Lines;
use crate::plan::{Choice, Kernel, KeyedPlan, KeyedVariable, Plan};

/// What a thread notes with its iteration, and blocks leave: the value compared first.
pub(crate) struct Noted<'p> {
    ty: TypeId,
    pub(crate) name: &'p str,
    pub(crate) partial_name: &'p str,
    pub(crate) device_name: &'p str,
    /// Begins with the value from before the loop, which is an argument.
    begun: bool,
}

pub(crate) fn noted(k: &KeyedPlan) -> impl Iterator<Item = Noted<'_>> {
    let compared = k.compared.iter().map(|c| Noted {
        ty: c.ty,
        name: &c.name,
        partial_name: &c.partial_name,
        device_name: &c.device_name,
        begun: false,
    });
    compared.chain(k.variables.iter().map(|v| Noted {
        ty: v.ty,
        name: &v.name,
        partial_name: &v.partial_name,
        device_name: &v.device_name,
        begun: v.begun,
    }))
}

/// The type of what is noted, and of its partial results.
pub(crate) fn type_name(plan: &Plan<'_>, v: &Noted<'_>, dialect: Dialect) -> &'static str {
    match plan.body.types.kind(v.ty) {
        TypeKind::Int(k) => int_name(*k, dialect),
        TypeKind::Float(k) => float_name(*k),
        _ => "void",
    }
}

/// Before the loops: nothing has been chosen. An extreme starts from the value that every other replaces; one that does
/// not replace it could not have replaced what the variable held before the loop either. What begins with the value from
/// before the loop is an argument.
pub(crate) fn declare(plan: &Plan<'_>, kernel: &Kernel, out: &mut Lines) {
    for k in &kernel.keyed {
        out.line(&format!("long long {} = -1; /* the iteration that decided, if any */", k.at_name));
        for (n, v) in noted(k).enumerate() {
            let first = match (k.choice, plan.body.types.kind(v.ty)) {
                (Choice::Extreme { least, .. }, kind) if n == 0 => bound(kind, least),
                _ => "0".to_string(),
            };
            let ty = type_name(plan, &v, Dialect::Device);
            if !v.begun {
                out.line(&format!("{ty} {} = {first};", v.name));
            }
        }
    }
}

fn bound(kind: &TypeKind, least: bool) -> String {
    match kind {
        TypeKind::Int(k) => integer(if least { IntKind::max(*k) } else { IntKind::min(*k) }, *k).0,
        TypeKind::Float(k) => {
            let kind = if *k == FloatKind::F32 { FloatKind::F32 } else { FloatKind::F64 };
            float(if least { f64::INFINITY } else { f64::NEG_INFINITY }, kind).0
        }
        _ => "0".to_string(),
    }
}

/// Whether choice `b` takes the place of choice `a`; both are printed by `of`, `at` with the iteration.
fn better(k: &KeyedPlan, a: &dyn Fn(&str) -> String, b: &dyn Fn(&str) -> String, key: &str) -> String {
    let (at_a, at_b) = (a(""), b(""));
    match k.choice {
        Choice::Last => format!("{at_b} > {at_a}"),
        Choice::Extreme { least, last } => {
            let (before, tie) = sides(least, last);
            let (before, tie) = (before.symbol(), tie.symbol());
            let (x, y) = (a(key), b(key));
            format!("{at_b} >= 0 && ({at_a} < 0 || {y} {before} {x} || ({y} == {x} && {at_b} {tie} {at_a}))")
        }
    }
}

/// Shared memory for the block's choice.
pub(crate) fn shared(plan: &Plan<'_>, kernel: &Kernel, threads: u32, out: &mut Lines) {
    let p = &plan.prefix;
    for k in &kernel.keyed {
        out.line(&format!("{} long long {}_all[{threads}];", plan.target.shared, k.at_name));
        for v in noted(k) {
            let ty = type_name(plan, &v, Dialect::Device);
            out.line(&format!("{} {ty} {p}all_{}[{threads}];", plan.target.shared, v.name));
        }
    }
}

/// Every thread puts its choice there.
pub(crate) fn store(plan: &Plan<'_>, kernel: &Kernel, out: &mut Lines) {
    let p = &plan.prefix;
    for k in &kernel.keyed {
        out.line(&format!("{0}_all[{p}thread] = {0};", k.at_name));
        for v in noted(k) {
            out.line(&format!("{p}all_{0}[{p}thread] = {0};", v.name));
        }
    }
}

/// One step of the tree.
pub(crate) fn combine(plan: &Plan<'_>, kernel: &Kernel, out: &mut Lines) {
    let p = &plan.prefix;
    for k in &kernel.keyed {
        let Some(first) = noted(k).next() else { continue };
        let key = first.name;
        let cell = |which: &str, index: &str| match which {
            "" => format!("{}_all[{index}]", k.at_name),
            v => format!("{p}all_{v}[{index}]"),
        };
        let (mine, other) = (format!("{p}thread"), format!("{p}thread + {p}half"));
        let (a, b) = (|v: &str| cell(v, &mine), |v: &str| cell(v, &other));
        let test = better(k, &a, &b, key);
        let line = format!("if ({test}) {{");
        out.open(&if line.len() > 100 { line.replace(" || (", "\n        || (") } else { line });
        out.line(&format!("{} = {};", a(""), b("")));
        for v in noted(k) {
            out.line(&format!("{} = {};", a(v.name), b(v.name)));
        }
        out.close("}");
    }
}

/// The block's choice to memory.
pub(crate) fn leave(plan: &Plan<'_>, kernel: &Kernel, block: &str, out: &mut Lines) {
    let p = &plan.prefix;
    for k in &kernel.keyed {
        out.line(&format!("{}[{block}] = {}_all[0];", k.partial_name, k.at_name));
        for v in noted(k) {
            out.line(&format!("{}[{block}] = {p}all_{}[0];", v.partial_name, v.name));
        }
    }
}

/// On the host: the best of `blocks` blocks, into the user's variables, which are `held` there.
pub(crate) fn on_host(plan: &Plan<'_>, k: &KeyedPlan, blocks: &Term, held: &[Term]) -> Vec<Term> {
    let Some(first) = noted(k).next() else { return Vec::new() };
    let (block, best) = (Term::Name(format!("{}block", plan.prefix)), Term::name(&k.best_name));
    let at = |index: &Term| Term::name(&k.partial_name).at(index.clone());
    let key = |index: &Term| Term::name(first.partial_name).at(index.clone());
    let both = |a, b| Term::binary(BinOp::And, a, b);
    let test = match k.choice {
        Choice::Last => Term::binary(BinOp::Gt, at(&block), at(&best)),
        Choice::Extreme { least, last } => {
            let (before, tie) = sides(least, last);
            let is_tie = both(
                Term::binary(BinOp::Eq, key(&block), key(&best)),
                Term::binary(tie, at(&block), at(&best)),
            );
            let is_first = Term::binary(BinOp::Lt, at(&best), Term::Int(0));
            let is_before = Term::binary(before, key(&block), key(&best));
            let is_better = Term::all(BinOp::Or, [is_first, is_before, is_tie].into_iter());
            both(Term::binary(BinOp::Ge, at(&block), Term::Int(0)), is_better)
        }
    };
    let mut out = vec![
        Term::declared(&k.best_name, "int", Some(Term::Int(0))),
        over_blocks(plan, 1, blocks, vec![Term::when(test, vec![best.clone().assign(block)])]),
    ];
    let mut test = Term::binary(BinOp::Ge, at(&best), Term::Int(0));
    // threads that begin with the value from before the loop have compared with it
    let held_key = held.first().filter(|_| k.compared.is_none());
    if let (Choice::Extreme { least, last }, Some(held)) = (k.choice, held_key) {
        let is_better = match (least, last) {
            (true, false) => BinOp::Lt,
            (true, true) => BinOp::Le,
            (false, false) => BinOp::Gt,
            (false, true) => BinOp::Ge,
        };
        test = both(test, Term::binary(is_better, key(&best), held.clone()));
    }
    let chosen = |v: &KeyedVariable| Term::name(&v.partial_name).at(best.clone());
    let all = k.variables.iter().zip(held).map(|(v, held)| held.clone().assign(chosen(v)));
    out.push(Term::when(test, all.collect()));
    out
}

/// How a key compares that comes before another, and the iteration that decides a tie.
fn sides(least: bool, last: bool) -> (BinOp, BinOp) {
    (if least { BinOp::Lt } else { BinOp::Gt }, if last { BinOp::Gt } else { BinOp::Lt })
}

/// A loop over blocks, from one of them on.
pub(crate) fn over_blocks(plan: &Plan<'_>, from: i128, blocks: &Term, body: Vec<Term>) -> Term {
    let name = format!("{}block", plan.prefix);
    let block = || Term::name(&name);
    let first = Term::declared(&name, "int", Some(Term::Int(from)));
    let test = Term::binary(BinOp::Lt, block(), blocks.clone());
    Term::head("For", vec![first, test, Term::head("Increment", vec![block()]), Term::List(body)])
}
