//! Flow analysis and code scanning of the matrix product, for tests and measurements.

use base::Budget;
use poly::{scan, Access, Constraint, Flow, Map, MapSpace, Row, Set, Space, Statement};

pub fn big() -> Budget {
    Budget::new(1 << 40)
}

pub fn ge(row: Row) -> Constraint {
    Constraint::ge(row)
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

pub fn product(b: &Budget) -> poly::Result<usize> {
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

pub fn scanned(b: &Budget) -> poly::Result<poly::Ast> {
    let s0 = function(&cube(2, b)?, &[d(0), d(1), Row::constant(0), Row::constant(0)], b)?;
    let s1 = function(&cube(3, b)?, &[d(0), d(1), Row::constant(1), d(2)], b)?;
    let all = [Statement { id: 0, schedule: &s0 }, Statement { id: 1, schedule: &s1 }];
    let context = Set::universe(Space { params: 1, dims: 0 }, b)?;
    scan(&all, &context, &[], b)
}
