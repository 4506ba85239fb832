//! What typical questions cost. Not run by default: `cargo test -p ww-poly --test cost -- --ignored --nocapture`.

use base::Budget;
use poly::{scan, Access, Constraint, Flow, Map, MapSpace, Row, Set, Space, Statement};
use std::time::Instant;

fn big() -> Budget {
    Budget::new(1 << 40)
}

fn ge(row: Row) -> Constraint {
    Constraint::ge(row)
}

/// Two instances of a nest of depth three over `N`, the same cell `A[i][j + k]`, carried by the outermost loop.
fn pair() -> Vec<Constraint> {
    let mut rows = Vec::new();
    for d in 0..6 {
        rows.push(ge(Row::default().dim(d, 1)));
        rows.push(ge(Row::constant(-1).param(0, 1).dim(d, -1)));
    }
    rows.push(Constraint::eq(Row::default().dim(0, 1).dim(3, -1).dim(1, 2).dim(4, -2)));
    rows.push(Constraint::eq(Row::constant(1).dim(1, 1).dim(2, 1).dim(4, -1).dim(5, -1)));
    rows.push(ge(Row::constant(-1).dim(3, 1).dim(0, -1)));
    rows
}

fn time(what: &str, n: u32, mut work: impl FnMut(&Budget)) {
    let budget = big();
    work(&budget);
    let cost = (1u64 << 40) - budget.left();
    let start = Instant::now();
    for _ in 0..n {
        work(&budget);
    }
    eprintln!("{what}: {:?}, {cost} steps", start.elapsed() / n);
}

#[test]
#[ignore = "a measurement"]
fn costs() {
    let space = Space { params: 1, dims: 6 };
    let rows = pair();
    time("build", 2000, |b| drop(Set::from_constraints(space, 0, &rows, b).unwrap()));
    time("build + is_empty", 2000, |b| {
        assert!(!Set::from_constraints(space, 0, &rows, b).unwrap().is_empty(b).unwrap());
    });
    time("build + sample_point", 500, |b| {
        assert!(Set::from_constraints(space, 0, &rows, b).unwrap().sample_point(b).unwrap().is_some());
    });
    let map_space = MapSpace { params: 1, ins: 3, outs: 3 };
    time("build + deltas + disjuncts", 500, |b| {
        let m = Map::from_constraints(map_space, 0, &rows, b).unwrap();
        assert!(!m.deltas(b).unwrap().disjuncts(b).unwrap().is_empty());
    });
    time("matrix product: flow", 50, |b| drop(product(b)));
    time("matrix product: scan", 50, |b| drop(scanned(b)));
}

fn function(domain: &Set, forms: &[Row], b: &Budget) -> poly::Result<Map> {
    let Space { params, dims } = domain.space();
    let rows: Vec<_> =
        forms.iter().enumerate().map(|(i, f)| Constraint::eq(f.clone().dim(dims + i, -1))).collect();
    let space = MapSpace { params, ins: dims, outs: forms.len() };
    Map::from_constraints(space, 0, &rows, b)?.intersect_domain(domain, b)
}

fn cube(dims: usize, b: &Budget) -> poly::Result<Set> {
    let rows: Vec<_> = (0..dims)
        .flat_map(|d| [ge(Row::default().dim(d, 1)), ge(Row::constant(-1).param(0, 1).dim(d, -1))])
        .collect();
    Set::from_constraints(Space { params: 1, dims }, 0, &rows, b)
}

fn d(i: usize) -> Row {
    Row::default().dim(i, 1)
}

fn product(b: &Budget) -> poly::Result<usize> {
    let (two, three) = (cube(2, b)?, cube(3, b)?);
    let s0 = function(&two, &[d(0), d(1), Row::constant(0), Row::constant(0)], b)?;
    let s1 = function(&three, &[d(0), d(1), Row::constant(1), d(2)], b)?;
    let (c0, c1) = (function(&two, &[d(0), d(1)], b)?, function(&three, &[d(0), d(1)], b)?);
    let (a1, b1) = (function(&three, &[d(0), d(2)], b)?, function(&three, &[d(2), d(1)], b)?);
    let at = |statement, array, relation| Access { statement, array, relation };
    let flow = Flow {
        sinks: vec![at(1, 0, &c1), at(1, 1, &a1), at(1, 2, &b1)],
        must_sources: vec![at(0, 0, &c0), at(1, 0, &c1)],
        schedule: vec![(0, &s0), (1, &s1)],
        ..Flow::default()
    };
    Ok(flow.compute(b)?.must.len())
}

fn scanned(b: &Budget) -> poly::Result<poly::Ast> {
    let s0 = function(&cube(2, b)?, &[d(0), d(1), Row::constant(0), Row::constant(0)], b)?;
    let s1 = function(&cube(3, b)?, &[d(0), d(1), Row::constant(1), d(2)], b)?;
    let all = [Statement { id: 0, schedule: &s0 }, Statement { id: 1, schedule: &s1 }];
    let context = Set::universe(Space { params: 1, dims: 0 }, b)?;
    scan(&all, &context, &[], b)
}

/// Stops flow analysis and scanning after every possible number of steps (or each `stride`-th).
fn stopped_everywhere(stride: usize) {
    let (flow, ast) = (product(&big()).unwrap(), scanned(&big()).unwrap());
    let cost = |work: &dyn Fn(&Budget)| {
        let budget = big();
        work(&budget);
        (1u64 << 40) - budget.left()
    };
    let most = cost(&|b| drop(product(b)));
    for steps in (1..most + 2).step_by(stride) {
        match product(&Budget::new(steps)) {
            Ok(n) => assert_eq!(n, flow),
            Err(e) => assert_eq!(e, poly::Error::Spent, "{steps}"),
        }
    }
    let most = cost(&|b| drop(scanned(b)));
    for steps in (1..most + 2).step_by(stride) {
        match scanned(&Budget::new(steps)) {
            Ok(a) => assert_eq!(a, ast),
            Err(e) => assert_eq!(e, poly::Error::Spent, "{steps}"),
        }
    }
}

#[test]
fn work_can_be_stopped_anywhere() {
    stopped_everywhere(97);
}

#[test]
#[ignore = "takes a minute"]
fn work_can_be_stopped_at_every_step() {
    stopped_everywhere(1);
}
