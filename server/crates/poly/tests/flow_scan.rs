//! Flow analysis, Farkas' lemma and code scanning: answers known by hand.

use base::Budget;
use poly::{
    scan, upper_bound, Access, Ast, Constraint, Error, Expr, Flow, Map, MapSpace, Point, Row, Set, Shape,
};
use poly::{Space, Statement};

fn b() -> Budget {
    Budget::new(50_000_000)
}

fn c(n: i128) -> Row {
    Row::constant(n)
}

fn ge(row: Row) -> Constraint {
    Constraint::ge(row)
}

fn eq(row: Row) -> Constraint {
    Constraint::eq(row)
}

fn set(params: usize, dims: usize, rows: &[Constraint]) -> Set {
    Set::from_constraints(Space { params, dims }, 0, rows, &b()).unwrap()
}

/// `[N] -> { [x0, …] : 0 <= x < N }`
fn cube(dims: usize) -> Set {
    let rows: Vec<_> =
        (0..dims).flat_map(|d| [ge(c(0).dim(d, 1)), ge(c(-1).param(0, 1).dim(d, -1))]).collect();
    set(1, dims, &rows)
}

/// From the points of `domain` to one form per right dimension (forms over left dimensions and parameters).
fn function(domain: &Set, forms: &[Row]) -> Map {
    let Space { params, dims } = domain.space();
    let rows: Vec<_> = forms.iter().enumerate().map(|(i, f)| eq(f.clone().dim(dims + i, -1))).collect();
    let space = MapSpace { params, ins: dims, outs: forms.len() };
    Map::from_constraints(space, 0, &rows, &b()).unwrap().intersect_domain(domain, &b()).unwrap()
}

fn d(i: usize) -> Row {
    c(0).dim(i, 1)
}

#[test]
fn flow_of_a_matrix_product() {
    // S0: C[i][j] = 0;  S1: C[i][j] += A[i][k] * B[k][j]   with arrays C = 0, A = 1, B = 2
    let (two, three) = (cube(2), cube(3));
    let s0 = function(&two, &[d(0), d(1), c(0), c(0)]);
    let s1 = function(&three, &[d(0), d(1), c(1), d(2)]);
    let c0 = function(&two, &[d(0), d(1)]);
    let c1 = function(&three, &[d(0), d(1)]);
    let a1 = function(&three, &[d(0), d(2)]);
    let b1 = function(&three, &[d(2), d(1)]);
    let flow = Flow {
        sinks: vec![
            Access { statement: 1, array: 0, relation: &c1 },
            Access { statement: 1, array: 1, relation: &a1 },
            Access { statement: 1, array: 2, relation: &b1 },
        ],
        must_sources: vec![
            Access { statement: 0, array: 0, relation: &c0 },
            Access { statement: 1, array: 0, relation: &c1 },
        ],
        schedule: vec![(0, &s0), (1, &s1)],
        ..Flow::default()
    };
    let budget = b();
    let flows = flow.compute(&budget).unwrap();
    let keys: Vec<_> = flows.must.iter().map(|d| (d.source, d.sink, d.array)).collect();
    assert_eq!(keys, [(0, 1, 0), (1, 1, 0)]);
    // S0[i, j] -> S1[i, j, 0]
    let first = function(&two, &[d(0), d(1), c(0)]);
    assert!(flows.must[0].relation.is_equal(&first, &b()).unwrap());
    // S1[i, j, k] -> S1[i, j, k + 1]
    let not_last = set(1, 3, &[ge(c(-2).param(0, 1).dim(2, -1))]).intersect(&three, &b()).unwrap();
    let next = function(&not_last, &[d(0), d(1), c(1).dim(2, 1)]);
    assert!(flows.must[1].relation.is_equal(&next, &b()).unwrap());
    assert_eq!(flows.may.len(), 2);
    let inputs: Vec<_> = flows.must_no_source.iter().map(|i| (i.statement, i.array)).collect();
    assert_eq!(inputs, [(1, 1), (1, 2)]);
    assert!(flows.may_no_source[0].relation.is_equal(&a1, &b()).unwrap());
}

#[test]
fn a_write_that_may_happen_hides_nothing() {
    // for i: x = i (S0); if (?) x = 0 (S1); use x (S2)
    let one = cube(1);
    let t = |n| function(&one, &[d(0), c(n)]);
    let x = function(&one, &[]);
    let (t0, t1, t2) = (t(0), t(1), t(2));
    let at = |statement| Access { statement, array: 7, relation: &x };
    let flow = Flow {
        sinks: vec![at(2)],
        must_sources: vec![at(0)],
        may_sources: vec![at(1)],
        schedule: vec![(0, &t0), (1, &t1), (2, &t2)],
        ..Flow::default()
    };
    let flows = flow.compute(&b()).unwrap();
    let keys: Vec<_> = flows.may.iter().map(|d| (d.source, d.sink, d.array)).collect();
    assert_eq!(keys, [(0, 2, 7), (1, 2, 7)]);
    assert!(flows.must.iter().all(|d| d.relation.is_empty(&b()).unwrap()));
    assert!(flows.may_no_source.iter().all(|i| i.relation.is_empty(&b()).unwrap()));
}

#[test]
fn a_flow_that_would_lose_instances_is_refused() {
    let one = cube(1);
    let x = function(&one, &[d(0)]);
    let short = set(1, 1, &[ge(c(-2).param(0, 1).dim(0, -1))]).intersect(&one, &b()).unwrap();
    let (full, cut) = (function(&one, &[d(0)]), function(&short, &[d(0)]));
    let flow = |schedule| Flow {
        sinks: vec![Access { statement: 0, array: 0, relation: &x }],
        schedule,
        ..Flow::default()
    };
    assert!(flow(vec![(0, &full)]).compute(&b()).is_ok());
    assert!(matches!(flow(vec![(0, &cut)]).compute(&b()), Err(Error::Mismatch(_))));
    assert!(matches!(flow(vec![(1, &full)]).compute(&b()), Err(Error::Mismatch(_))));
    assert!(matches!(flow(vec![]).compute(&b()), Err(Error::Mismatch(_))));
    for steps in [1, 10, 100, 200, 300] {
        let small = Budget::new(steps);
        assert_eq!(flow(vec![(0, &full)]).compute(&small).err(), Some(Error::Spent), "{steps}");
    }
}

#[test]
fn farkas_on_an_interval_and_back() {
    // { [x] : 0 <= x <= 10 }: c0 + c1 x >= 0 there iff c0 >= 0 and c0 + 10 c1 >= 0
    let s = set(0, 1, &[ge(d(0)), ge(c(10).dim(0, -1))]);
    let forms = s.coefficients(&b()).unwrap();
    assert!(forms.is_equal(&set(0, 2, &[ge(d(0)), ge(d(0).dim(1, 10))]), &b()).unwrap());
    let back = Set::solutions(&forms, s.space(), &b()).unwrap();
    assert!(back.is_equal(&s, &b()).unwrap());
    // A union: both must hold.
    let u = s.union(&set(0, 1, &[eq(c(20).dim(0, -1))]), &b()).unwrap();
    let forms = u.coefficients(&b()).unwrap();
    assert!(forms.is_equal(&set(0, 2, &[ge(d(0)), ge(d(0).dim(1, 20))]), &b()).unwrap());
}

#[test]
fn farkas_with_a_parameter() {
    // [N] -> { [x] : 0 <= x <= N }: (c0, cN, cx) with c0 >= 0, cN >= 0, cN + cx >= 0
    let s = set(1, 1, &[ge(d(0)), ge(c(0).param(0, 1).dim(0, -1))]);
    let forms = s.coefficients(&b()).unwrap();
    let expected = set(0, 3, &[ge(d(0)), ge(d(1)), ge(d(1).dim(2, 1))]);
    assert!(forms.is_equal(&expected, &b()).unwrap(), "{forms:?}");
    assert!(Set::solutions(&forms, s.space(), &b()).unwrap().is_equal(&s, &b()).unwrap());
    let strided = Set::from_constraints(s.space(), 1, &[eq(d(0).exist(0, -2))], &b()).unwrap();
    assert!(matches!(strided.coefficients(&b()), Err(Error::Unsupported(_))));
    // On the empty set every form is valid.
    let none = set(1, 1, &[ge(c(-1))]);
    assert!(none
        .coefficients(&b())
        .unwrap()
        .is_equal(&Set::universe(expected.space(), &b()).unwrap(), &b())
        .unwrap());
}

fn context(params: usize, rows: &[Constraint]) -> Set {
    set(params, 0, rows)
}

fn visited(ast: &Ast, params: &[i128]) -> Vec<(usize, Vec<i128>)> {
    let mut all = Vec::new();
    ast.run(params, 1_000_000, &mut |s, at| {
        all.push((s, at.to_vec()));
        true
    })
    .unwrap();
    all
}

#[test]
fn the_instances_of_one_thread_run_from_max_to_min() {
    // Row F4.6: [N, ID] -> { [i, j] : 0 <= i, j <= N, i + j = ID }: i from max(0, ID - N) to min(N, ID)
    let rows = [
        ge(d(0)),
        ge(d(1)),
        ge(c(0).param(0, 1).dim(0, -1)),
        ge(c(0).param(0, 1).dim(1, -1)),
        eq(d(0).dim(1, 1).param(1, -1)),
    ];
    let schedule = function(&set(2, 2, &rows), &[d(0), d(1)]);
    let inside = context(2, &[ge(c(0).param(0, 1)), ge(c(0).param(1, 1)), ge(c(0).param(0, 2).param(1, -1))]);
    let ast = scan(&[Statement { id: 3, schedule: &schedule }], &inside, &[], &b()).unwrap();
    let Ast::For { iter: 0, init, cond, step: 1, body } = &ast else { panic!("{ast:?}") };
    let upper = upper_bound(cond, 0).unwrap();
    assert!(matches!(init, Expr::Max(v) if v.len() == 2), "{init:?}");
    assert!(matches!(upper, Expr::Min(ref v) if v.len() == 2), "{upper:?}");
    for n in 0..6 {
        for id in 0..=2 * n {
            assert_eq!(init.eval(&[n, id], &[]), Some(0.max(id - n)));
            assert_eq!(upper.eval(&[n, id], &[]), Some(n.min(id)));
        }
    }
    let user = match &**body {
        Ast::Let { body, .. } => body,
        other => other,
    };
    assert!(matches!(user, Ast::User { statement: 3, .. }), "{body:?}");
    assert_eq!(visited(&ast, &[3, 4]), [(3, vec![1, 3]), (3, vec![2, 2]), (3, vec![3, 1])]);
}

#[test]
fn two_statements_are_interleaved_as_their_schedules_say() {
    let one = cube(1);
    let s0 = function(&one, &[d(0), c(0)]);
    let s1 = function(&one, &[c(1).dim(0, 1), c(1)]);
    let all = [Statement { id: 0, schedule: &s0 }, Statement { id: 1, schedule: &s1 }];
    let ctx = context(1, &[ge(c(-1).param(0, 1))]);
    let expected = [(0, vec![0]), (0, vec![1]), (1, vec![0]), (0, vec![2]), (1, vec![1]), (1, vec![2])];
    for shape in [Shape::Default, Shape::Separate, Shape::Atomic] {
        let ast = scan(&all, &ctx, &[shape], &b()).unwrap();
        assert_eq!(visited(&ast, &[3]), expected, "{shape:?}");
    }
    // Separate peels the first and the last iteration.
    let peeled = scan(&all, &ctx, &[Shape::Separate], &b()).unwrap();
    assert!(matches!(&peeled, Ast::Block(parts) if parts.len() == 3), "{peeled:?}");
}

#[test]
fn strides_and_tiles_and_unrolling() {
    // Tiles of 4: time (floor(i / 4), i)
    let one = cube(1);
    let rows = [ge(d(0).dim(1, -4)), ge(c(3).dim(0, -1).dim(1, 4)), eq(d(0).dim(2, -1))];
    let space = MapSpace { params: 1, ins: 1, outs: 2 };
    let tiled = Map::from_constraints(space, 0, &rows, &b()).unwrap().intersect_domain(&one, &b()).unwrap();
    let ctx = context(1, &[]);
    let ast = scan(&[Statement { id: 0, schedule: &tiled }], &ctx, &[], &b()).unwrap();
    for n in [0, 1, 4, 10] {
        let expected: Vec<_> = (0..n).map(|i| (0, vec![i])).collect();
        assert_eq!(visited(&ast, &[n]), expected);
    }
    // { [i] : i mod 3 = 2 }: steps of three
    let strided =
        Set::from_constraints(Space { params: 1, dims: 1 }, 1, &[eq(c(-2).dim(0, 1).exist(0, -3))], &b());
    let strided = function(&strided.unwrap().intersect(&one, &b()).unwrap(), &[d(0)]);
    let ast = scan(&[Statement { id: 0, schedule: &strided }], &ctx, &[], &b()).unwrap();
    assert!(matches!(ast, Ast::For { step: 3, .. }), "{ast:?}");
    assert_eq!(visited(&ast, &[9]), [(0, vec![2]), (0, vec![5]), (0, vec![8])]);
    // Unrolled
    let fixed = set(1, 1, &[ge(d(0)), ge(c(3).dim(0, -1))]);
    let ast =
        scan(&[Statement { id: 0, schedule: &function(&fixed, &[d(0)]) }], &ctx, &[Shape::Unroll], &b())
            .unwrap();
    assert!(matches!(&ast, Ast::Block(parts) if parts.len() == 4), "{ast:?}");
}

#[test]
fn scanning_refuses_and_runs_out_politely() {
    let one = cube(1);
    let s = function(&one, &[d(0)]);
    let ctx = context(1, &[]);
    let twice = [Statement { id: 0, schedule: &s }, Statement { id: 0, schedule: &s }];
    assert!(matches!(scan(&twice, &ctx, &[], &b()), Err(Error::Mismatch(_))));
    assert!(matches!(scan(&[], &ctx, &[], &b()), Err(Error::Mismatch(_))));
    let all = Map::between(&one, &one, &b()).unwrap();
    assert!(matches!(
        scan(&[Statement { id: 0, schedule: &all }], &ctx, &[], &b()),
        Err(Error::Unsupported(_))
    ));
    let unbounded = function(&set(1, 1, &[ge(d(0))]), &[d(0)]);
    let r = scan(&[Statement { id: 0, schedule: &unbounded }], &ctx, &[Shape::Unroll], &b());
    assert!(r.is_err(), "{r:?}");
    for steps in (1..400).step_by(7) {
        let r = scan(&[Statement { id: 0, schedule: &s }], &ctx, &[], &Budget::new(steps));
        assert!(matches!(r, Err(Error::Spent)), "{steps} {r:?}");
        assert!(s.contains_pair());
    }
}

#[test]
fn scanning_nothing_and_one_instance() {
    let ctx = context(1, &[]);
    let none = function(&set(1, 1, &[ge(c(-1))]), &[d(0)]);
    assert_eq!(visited(&scan(&[Statement { id: 0, schedule: &none }], &ctx, &[], &b()).unwrap(), &[3]), []);
    let once = function(&set(1, 0, &[ge(c(-2).param(0, 1))]), &[]);
    let ast = scan(&[Statement { id: 5, schedule: &once }], &ctx, &[], &b()).unwrap();
    assert_eq!(visited(&ast, &[2]), [(5, vec![])]);
    assert_eq!(visited(&ast, &[1]), []);
}

trait Probe {
    fn contains_pair(&self) -> bool;
}

impl Probe for Map {
    fn contains_pair(&self) -> bool {
        let p = Point { params: vec![5], dims: vec![2, 2] };
        self.wrap(&b()).and_then(|w| w.contains(&p, &b())).unwrap()
    }
}
