//! One run on given arguments: what it returns and leaves, for the tests that hold this evaluator to another one.

use term::{Body, Op, TermId, TypeKind};

use super::memory::{Contents, ReplayObject, Rest};
use super::run::{Goal, Run};
use super::values::{Address, Number, Value};
use super::{Givens, Search, RUN_STEPS};
use crate::{DependenceKind, Program, Witness};

/// An argument of a run.
#[derive(Clone, PartialEq, Debug)]
pub enum Argument {
    Int(i128),
    Real(f64),
    /// A pointer to the first of these; the parameter says of which type they are.
    Ints(Vec<i128>),
    Reals(Vec<f64>),
}

/// A value that a run came to; `Unknown`: it may be anything.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Followed {
    Int(i128),
    Real(f64),
    Unknown,
}

/// Runs the function on these arguments: its value, and what each array holds in the end. `None`: something undefined happens,
/// or something that is not followed.
pub fn follow(body: &Body, program: &Program, args: &[Argument]) -> Option<(Followed, Vec<Vec<Followed>>)> {
    let goal = Goal {
        body,
        root: body.root,
        around: Default::default(),
        controls: Default::default(),
        kind: DependenceKind::Flow,
        witness: Witness {
            params: Vec::new(),
            source: Vec::new(),
            sink: Vec::new(),
            source_iteration: 0,
            sink_iteration: 0,
            cell: Vec::new(),
            on_data: false,
            entry: Vec::new(),
        },
        places: &Default::default(),
        ways: &Default::default(),
        marks: Default::default(),
        arguments: Box::default(),
    };
    let (mut search, given) = (Search::new(), Givens::default());
    let mut run = Run::new(&goal, program, &mut search.inputs, &given, &[], RUN_STEPS);
    let &[parameters, statements] = body.args(body.root) else { return None };
    let declared: Vec<TermId> = body.args(parameters).to_vec();
    let mut arrays: Vec<(u32, i64, usize)> = Vec::new();
    for (&p, a) in declared.iter().zip(args) {
        let Op::Declare(s) = *body.op(p) else { return None };
        let ty = body.symbols[s].ty;
        let size = |run: &mut Run<'_, '_>| body.types.element(ty).and_then(|e| run.size_of(e));
        let mut array = |run: &mut Run<'_, '_>, values: Vec<Value>| -> Option<Value> {
            let size = size(run)?;
            let mut object = ReplayObject::new(Rest::Any, Some(size * values.len() as i64));
            let n = values.len();
            for (k, v) in values.into_iter().enumerate() {
                object.store(k as i64 * size, size, v);
            }
            let object = run.memory.add(object);
            arrays.push((object, size, n));
            Some(Value::pointer(Address { object, offset: 0 }))
        };
        let v = match a {
            Argument::Int(v) => Value::int(*v),
            Argument::Real(v) => Value::real(*v),
            Argument::Ints(all) => array(&mut run, all.iter().map(|v| Value::int(*v)).collect())?,
            Argument::Reals(all) => array(&mut run, all.iter().map(|v| Value::real(*v)).collect())?,
        };
        let object = run.make_variable(s, Rest::Any);
        let v = run.convert(v, ty);
        run.write(Address { object, offset: 0 }, ty, v, None).ok()?;
    }
    let v = run.function(statements).ok()?;
    // One of several ways: which one it is depends on a value that is not followed.
    if !run.taken.is_empty() {
        return None;
    }
    let TypeKind::Function { ret, .. } = body.types.kind(body.ty(body.root)) else {
        return Some((Followed::of(&v), left(&run, &arrays)));
    };
    let v = run.convert(v, *ret);
    Some((Followed::of(&v), left(&run, &arrays)))
}

fn left(run: &Run<'_, '_>, arrays: &[(u32, i64, usize)]) -> Vec<Vec<Followed>> {
    let cell = |object: u32, at: i64, size: i64| match run
        .memory
        .objects
        .get(object as usize)
        .map(|o| o.load(at, size))
    {
        Some(Contents::Value(v)) => Followed::of(&v),
        _ => Followed::Unknown,
    };
    arrays.iter().map(|&(o, size, n)| (0..n as i64).map(|k| cell(o, k * size, size)).collect()).collect()
}

impl Followed {
    fn of(v: &Value) -> Followed {
        match v.number {
            Number::Int(n) => Followed::Int(n),
            Number::Real(r) => Followed::Real(r),
            _ => Followed::Unknown,
        }
    }
}
