//! What typical questions cost: `cargo run --release -p ww-poly --example cost`.

#[path = "../tests/work/mod.rs"]
mod work;

use base::Budget;
use poly::{Constraint, Map, MapSpace, Row, Set, Space};
use std::time::Instant;
use work::{big, ge, product, scanned};

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

fn main() {
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
