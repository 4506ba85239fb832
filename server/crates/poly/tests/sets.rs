//! Sets: small specifications with answers known by hand.

use base::{Budget, CancelToken};
use poly::{Constraint, Error, Extent, Point, Row, Set, Space};

fn b() -> Budget {
    Budget::new(10_000_000)
}

fn ge(row: Row) -> Constraint {
    Constraint::ge(row)
}

fn c(n: i128) -> Row {
    Row::constant(n)
}

/// `[N] -> { [i, j] : 0 <= j <= i < N }`
fn triangle() -> Set {
    let rows = [ge(c(0).dim(1, 1)), ge(c(0).dim(0, 1).dim(1, -1)), ge(c(-1).param(0, 1).dim(0, -1))];
    Set::from_constraints(Space { params: 1, dims: 2 }, 0, &rows, &b()).unwrap()
}

#[test]
fn triangle_is_bounded_and_not_empty_for_positive_n_only() {
    let t = triangle();
    assert!(!t.is_empty(&b()).unwrap());
    assert!(t.is_bounded(&b()).unwrap());
    let n = t.params(&b()).unwrap();
    let positive =
        Set::from_constraints(Space { params: 1, dims: 0 }, 0, &[ge(c(-1).param(0, 1))], &b()).unwrap();
    assert!(n.is_equal(&positive, &b()).unwrap());
    let with_upper = t.project_out(1..2, &b()).unwrap();
    assert_eq!(with_upper.space(), Space { params: 1, dims: 1 });
}

#[test]
fn lexmin_of_two_lower_bounds_is_their_maximum() {
    // [n] -> { [i] : i >= n and i >= 3 }
    let rows = [ge(c(0).dim(0, 1).param(0, -1)), ge(c(-3).dim(0, 1))];
    let s = Set::from_constraints(Space { params: 1, dims: 1 }, 0, &rows, &b()).unwrap();
    let low = s.lexmin_exprs(&b()).unwrap();
    for n in -5..10 {
        assert_eq!(low[0].eval(&[n], &b()).unwrap(), Some(n.max(3)));
    }
    assert!(!s.is_bounded(&b()).unwrap());
    assert!(s.max_of(&c(0).dim(0, 1), &b()).unwrap().is_none());
    assert_eq!(s.lexmax(&b()).unwrap_err(), Error::Unbounded);
    let all = Set::universe(Space { params: 1, dims: 0 }, &b()).unwrap();
    let min = s.min_of(&c(0).dim(0, 1), &b()).unwrap().unwrap();
    let e = min.expr(&all, &b()).unwrap();
    for n in -5..10 {
        assert_eq!(e.eval(&[n], &[]), Some(n.max(3)), "{e:?}");
    }
}

#[test]
fn greatest_value_of_a_form_over_a_triangle() {
    let t = triangle();
    // max of 2i + 3j + 1 at i = j = N - 1
    let form = c(1).dim(0, 2).dim(1, 3);
    let max = t.max_of(&form, &b()).unwrap().unwrap();
    for n in 1..6 {
        assert_eq!(max.eval(&[n], &b()).unwrap(), Some(5 * (n - 1) + 1));
    }
    assert_eq!(max.eval(&[0], &b()).unwrap(), None);
    assert_eq!(t.max_value(&form, &b()).unwrap(), Extent::Infinite);
    assert_eq!(t.min_value(&form, &b()).unwrap(), Extent::Value(1));
    let none = Set::empty(t.space(), &b()).unwrap();
    assert_eq!(none.min_value(&form, &b()).unwrap(), Extent::Empty);
}

#[test]
fn strides_come_back_as_divisions() {
    // { [i] : exists e: i = 4e + 1 and 0 <= i < 20 }
    let rows = [Constraint::eq(c(-1).dim(0, 1).exist(0, -4)), ge(c(0).dim(0, 1)), ge(c(19).dim(0, -1))];
    let space = Space { params: 0, dims: 1 };
    let s = Set::from_constraints(space, 1, &rows, &b()).unwrap();
    let back = s.disjuncts(&b()).unwrap();
    for i in -10..30 {
        let inside = (0..20).contains(&i) && i % 4 == 1;
        assert_eq!(back.iter().any(|d| d.contains(&[], &[i]).unwrap()), inside, "{i}");
        assert_eq!(s.contains(&Point { params: vec![], dims: vec![i] }, &b()).unwrap(), inside);
    }
    assert!(Set::from_disjuncts(space, &back, &b()).unwrap().is_equal(&s, &b()).unwrap());
    assert_eq!(s.min_value(&c(0).dim(0, 1), &b()).unwrap(), Extent::Value(1));
    assert_eq!(s.max_value(&c(0).dim(0, 1), &b()).unwrap(), Extent::Value(17));
}

#[test]
fn no_integer_between_thirds() {
    // { [i] : 1 <= 3i <= 2 }: rational points only
    let rows = [ge(c(-1).dim(0, 3)), ge(c(2).dim(0, -3))];
    assert!(Set::from_constraints(Space { params: 0, dims: 1 }, 0, &rows, &b())
        .unwrap()
        .is_empty(&b())
        .unwrap());
}

#[test]
fn algebra_of_two_intervals() {
    let space = Space { params: 0, dims: 1 };
    let interval = |low: i128, high: i128| {
        Set::from_constraints(space, 0, &[ge(c(-low).dim(0, 1)), ge(c(high).dim(0, -1))], &b()).unwrap()
    };
    let (x, y) = (interval(0, 9), interval(5, 14));
    assert!(x.intersect(&y, &b()).unwrap().is_equal(&interval(5, 9), &b()).unwrap());
    assert!(x.union(&y, &b()).unwrap().coalesce(&b()).unwrap().is_equal(&interval(0, 14), &b()).unwrap());
    assert_eq!(x.union(&y, &b()).unwrap().coalesce(&b()).unwrap().disjunct_count(&b()).unwrap(), 1);
    assert!(x.subtract(&y, &b()).unwrap().is_equal(&interval(0, 4), &b()).unwrap());
    assert!(x.complement(&b()).unwrap().is_disjoint(&x, &b()).unwrap());
    assert!(interval(6, 7).is_subset(&x, &b()).unwrap());
    assert!(x.gist(&interval(0, 100), &b()).unwrap().disjuncts(&b()).unwrap()[0].constraints.len() == 1);
    assert_eq!(interval(7, 7).fixed_value(0, &b()).unwrap(), Some(7));
    assert_eq!(x.fixed_value(0, &b()).unwrap(), None);
    let p = x.product(&y, &b()).unwrap();
    assert_eq!(p.lexmin_point(&b()).unwrap().unwrap().dims, [0, 5]);
}

#[test]
fn sample_points_are_small_and_inside() {
    let t = triangle();
    assert_eq!(t.sample_point(&b()).unwrap(), Some(Point { params: vec![1], dims: vec![0, 0] }));
    // Far away: { [i] : i >= 10^30 }
    let far = 10i128.pow(30);
    let s = Set::from_constraints(Space { params: 0, dims: 1 }, 0, &[ge(c(-far).dim(0, 1))], &b()).unwrap();
    let p = s.sample_point(&b()).unwrap().unwrap();
    assert!(p.dims[0] >= far);
    assert_eq!(Set::empty(t.space(), &b()).unwrap().sample_point(&b()).unwrap(), None);
    // Negative only
    let s = Set::from_constraints(Space { params: 0, dims: 1 }, 0, &[ge(c(-3).dim(0, -1))], &b()).unwrap();
    assert!(s.sample_point(&b()).unwrap().unwrap().dims[0] <= -3);
}

#[test]
fn dimensions_become_parameters_and_back() {
    let t = triangle();
    let inner = t.dims_to_params(1, &b()).unwrap();
    assert_eq!(inner.space(), Space { params: 2, dims: 1 });
    let max = inner.max_of(&c(0).dim(0, 1), &b()).unwrap().unwrap();
    // With N = 10 and i = 4 the greatest j is 4.
    assert_eq!(max.eval(&[10, 4], &b()).unwrap(), Some(4));
    let flat = inner.params_to_dims(&b()).unwrap();
    assert_eq!(flat.space(), Space { params: 0, dims: 3 });
    assert!(flat.contains(&Point { params: vec![], dims: vec![10, 4, 3] }, &b()).unwrap());
}

#[test]
fn conditions_on_parameters_become_expressions() {
    // { : exists e: N = 2e, N >= 4 } or { : M < 0 }
    let space = Space { params: 2, dims: 0 };
    let even = [Constraint::eq(c(0).param(0, 1).exist(0, -2)), ge(c(-4).param(0, 1))];
    let s = Set::from_constraints(space, 1, &even, &b()).unwrap();
    let s =
        s.union(&Set::from_constraints(space, 0, &[ge(c(-1).param(1, -1))], &b()).unwrap(), &b()).unwrap();
    let e = s.condition(&Set::universe(space, &b()).unwrap(), &b()).unwrap();
    for n in -3..8 {
        for m in -2..3 {
            let expected = (n % 2 == 0 && n >= 4) || m < 0;
            assert_eq!(e.eval(&[n, m], &[]), Some(i128::from(expected)), "{n} {m} {e:?}");
        }
    }
}

#[test]
fn a_spent_budget_is_an_error_and_the_thread_goes_on() {
    // A knapsack-like set that needs more than a few operations.
    let space = Space { params: 0, dims: 8 };
    let mut rows: Vec<_> = (0..8).flat_map(|i| [ge(c(0).dim(i, 1)), ge(c(50).dim(i, -1))]).collect();
    let weights = [12223, 12224, 36674, 61119, 85569, 89643, 94317, 98765];
    rows.push(Constraint::eq(weights.iter().enumerate().fold(c(-89_643_482), |r, (i, w)| r.dim(i, *w))));
    for steps in [1, 2, 5, 10, 30, 100, 300, 1000, 3000] {
        let small = Budget::new(steps);
        let r = Set::from_constraints(space, 0, &rows, &small).and_then(|s| s.is_empty(&small));
        if r.is_err() {
            assert_eq!(r, Err(Error::Spent));
            assert_eq!(small.left(), 0);
        }
        assert!(!triangle().is_empty(&b()).unwrap());
    }
    let one = Budget::new(20);
    assert_eq!(
        Set::from_constraints(space, 0, &rows, &one).and_then(|s| s.is_empty(&one)),
        Err(Error::Spent)
    );
    let cancel = CancelToken::new();
    cancel.cancel();
    let cancelled = Budget::with_cancel(1000, cancel);
    assert_eq!(Set::universe(space, &cancelled).unwrap_err(), Error::Cancelled);
}

#[test]
fn the_same_work_costs_the_same() {
    let cost = || {
        let budget = b();
        let t = triangle().intersect(&triangle(), &budget).unwrap();
        t.lexmin(&budget).unwrap().is_empty(&budget).unwrap();
        10_000_000 - budget.left()
    };
    let first = cost();
    assert!(first > 10);
    assert_eq!(first, cost());
    assert_eq!(first, std::thread::spawn(cost).join().unwrap());
}

#[test]
fn wrong_shapes_are_errors() {
    let t = triangle();
    let other = Set::universe(Space { params: 0, dims: 2 }, &b()).unwrap();
    assert!(matches!(t.intersect(&other, &b()), Err(Error::Mismatch(_))));
    assert!(matches!(t.project_out(1..3, &b()), Err(Error::Mismatch(_))));
    assert!(matches!(t.fix_param(1, 0, &b()), Err(Error::Mismatch(_))));
    assert!(matches!(t.fix_dim(usize::MAX, 0, &b()), Err(Error::Mismatch(_))));
    assert!(matches!(t.insert_dims(usize::MAX, 1, &b()), Err(Error::Mismatch(_))));
    assert!(matches!(t.insert_dims(0, usize::MAX, &b()), Err(Error::Overflow(_))));
    let row = [ge(c(0).dim(2, 1))];
    assert!(matches!(Set::from_constraints(t.space(), 0, &row, &b()), Err(Error::Mismatch(_))));
    let huge = Space { params: 0, dims: usize::MAX };
    assert!(matches!(Set::universe(huge, &b()), Err(Error::Overflow(_))));
    assert!(matches!(Set::from_constraints(huge, 1, &[], &b()), Err(Error::Overflow(_))));
}

#[test]
fn extreme_coefficients_give_an_answer_or_an_error() {
    let space = Space { params: 1, dims: 2 };
    for x in [i128::MAX, i128::MIN, i128::MIN + 1, i128::from(i64::MAX) + 1, i128::from(i64::MIN) - 1] {
        for y in [i128::MAX, i128::MIN, 1, -1, 0] {
            let rows = [ge(c(x).dim(0, y).dim(1, x).param(0, 1)), ge(c(y).dim(0, x).dim(1, -1))];
            let s = Set::from_constraints(space, 0, &rows, &b()).unwrap();
            let _ = s.is_empty(&b());
            let _ = s.disjuncts(&b());
            let _ = s.sample_point(&b());
            let _ = s.max_of(&c(x).dim(0, y), &b()).map(|m| m.map(|m| m.pieces(&b())));
        }
        let exact =
            Set::from_constraints(space, 0, &[ge(c(x).dim(0, -1)), ge(c(0).dim(0, 1))], &b()).unwrap();
        let max = exact.max_value(&c(0).dim(0, 1), &b()).unwrap();
        assert_eq!(max, if x >= 0 { Extent::Value(x) } else { Extent::Empty });
    }
}

#[test]
fn four_threads_at_once() {
    let work = || {
        for n in 1..40 {
            let t = triangle().fix_param(0, n, &b()).unwrap();
            let p = t.lexmax(&b()).unwrap().sample_point(&b()).unwrap().unwrap();
            assert_eq!(p.dims, [n - 1, n - 1]);
            let _ = t.lexmin(&Budget::new(7));
        }
    };
    let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(work)).collect();
    for t in threads {
        t.join().unwrap();
    }
}

#[test]
fn what_has_no_bound_says_so() {
    let space = Space { params: 1, dims: 2 };
    // { [i, j] : i >= j }
    let half = Set::from_constraints(space, 0, &[ge(c(0).dim(0, 1).dim(1, -1))], &b()).unwrap();
    assert_eq!(half.lexmin(&b()).unwrap_err(), Error::Unbounded);
    assert_eq!(half.lexmin_point(&b()).unwrap_err(), Error::Unbounded);
    assert!(half.min_of(&c(0).dim(1, 1), &b()).unwrap().is_none());
    assert_eq!(half.min_value(&c(0).dim(0, 1).dim(1, -1), &b()).unwrap(), Extent::Value(0));
    // One bounded disjunct and one without a bound above
    let up =
        Set::from_constraints(space, 0, &[ge(c(0).dim(0, 1)), Constraint::eq(c(0).dim(1, 1))], &b()).unwrap();
    let both = triangle().union(&up, &b()).unwrap();
    assert!(both.max_of(&c(0).dim(0, 1), &b()).unwrap().is_none());
    assert_eq!(both.max_value(&c(0).dim(0, 1), &b()).unwrap(), Extent::Infinite);
    assert!(!both.is_bounded(&b()).unwrap());
    let max = both.max_of(&c(0).dim(1, 1), &b()).unwrap().unwrap();
    assert_eq!(max.eval(&[4], &b()).unwrap(), Some(3));
    assert_eq!(max.eval(&[-4], &b()).unwrap(), Some(0));
}

#[test]
fn an_object_may_outlive_its_threads_context_table() {
    use std::cell::RefCell;
    thread_local!(static KEPT: RefCell<Option<Set>> = const { RefCell::new(None) });
    // Thread-local values are dropped in an order that nobody promises.
    let thread = std::thread::spawn(|| {
        KEPT.with(|k| k.borrow_mut().replace(triangle()));
        triangle().is_empty(&b()).unwrap()
    });
    assert!(!thread.join().unwrap());
}
