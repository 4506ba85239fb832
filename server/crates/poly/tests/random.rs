//! Random systems on small boxes against brute force.

use base::Budget;
use poly::{Constraint, Error, Extent, Kind, Point, Row, Set, Space};
use proptest::prelude::*;

const LOW: i128 = -4;
const HIGH: i128 = 5;
const SPACE: Space = Space { params: 1, dims: 2 };

fn b() -> Budget {
    Budget::new(20_000_000)
}

fn row() -> impl Strategy<Value = Row> {
    (prop::collection::vec(-4i128..=4, 4), -12i128..=12).prop_map(|(v, constant)| Row {
        params: v[0..1].to_vec(),
        dims: v[1..3].to_vec(),
        exists: v[3..4].to_vec(),
        constant,
    })
}

fn system() -> impl Strategy<Value = Vec<Constraint>> {
    let kind = prop_oneof![1 => Just(Kind::Eq), 4 => Just(Kind::Ge)];
    prop::collection::vec((kind, row()).prop_map(|(kind, row)| Constraint { kind, row }), 1..5)
}

fn boxed() -> Vec<Constraint> {
    let ends = |r: Row| {
        let high = r.checked_scale(-1).unwrap();
        [Constraint::ge(Row { constant: -LOW, ..r }), Constraint::ge(Row { constant: HIGH, ..high })]
    };
    [Row::default().param(0, 1), Row::default().dim(0, 1), Row::default().dim(1, 1)]
        .into_iter()
        .flat_map(ends)
        .collect()
}

/// Existentials range widely enough: with coefficients of at most 4 and values of at most 5 a solution, if there is
/// one, has one within this range, because the feasible values form an interval that a constraint's other terms bound.
fn holds(system: &[Constraint], p: i128, x: i128, y: i128) -> bool {
    (-80..=80).any(|e| system.iter().all(|c| c.holds(&[p], &[x, y], &[e]).unwrap()))
}

fn points(system: &[Constraint]) -> Vec<(i128, i128, i128)> {
    let range = || LOW..=HIGH;
    let all = range().flat_map(|p| range().flat_map(move |x| range().map(move |y| (p, x, y))));
    all.filter(|&(p, x, y)| holds(system, p, x, y)).collect()
}

fn build(system: &[Constraint]) -> Set {
    let all: Vec<_> = system.iter().cloned().chain(boxed()).collect();
    Set::from_constraints(SPACE, 1, &all, &b()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sets_agree_with_brute_force(first in system(), second in system()) {
        let (s, t) = (build(&first), build(&second));
        let (ps, pt) = (points(&first), points(&second));
        prop_assert_eq!(s.is_empty(&b()).unwrap(), ps.is_empty());
        let inside = |set: &Set| {
            let parts = set.disjuncts(&b()).unwrap();
            points(&[]).into_iter().filter(|&(p, x, y)| parts.iter().any(|d| d.contains(&[p], &[x, y]).unwrap())).collect::<Vec<_>>()
        };
        prop_assert_eq!(inside(&s), ps.clone());
        let only: Vec<_> = ps.iter().copied().filter(|p| !pt.contains(p)).collect();
        prop_assert_eq!(inside(&s.subtract(&t, &b()).unwrap()), only.clone());
        let both: Vec<_> = ps.iter().copied().filter(|p| pt.contains(p)).collect();
        let meet = s.intersect(&t, &b()).unwrap();
        prop_assert_eq!(inside(&meet), both.clone());
        prop_assert_eq!(s.is_subset(&t, &b()).unwrap(), only.is_empty());
        prop_assert_eq!(s.is_disjoint(&t, &b()).unwrap(), both.is_empty());
        let least = s.lexmin_point(&b()).unwrap();
        let expected = ps.iter().min().map(|&(p, x, y)| Point { params: vec![p], dims: vec![x, y] });
        prop_assert_eq!(least, expected);
        let sample = s.sample_point(&b()).unwrap();
        prop_assert_eq!(sample.is_none(), ps.is_empty());
        if let Some(Point { params, dims }) = sample {
            prop_assert!(ps.contains(&(params[0], dims[0], dims[1])));
        }
        let u = s.union(&t, &b()).unwrap();
        let back = Set::from_disjuncts(SPACE, &u.disjuncts(&b()).unwrap(), &b()).unwrap();
        prop_assert!(back.is_equal(&u, &b()).unwrap());
    }

    #[test]
    fn optima_agree_with_brute_force(system in system(), form in row()) {
        let form = Row { exists: vec![], ..form };
        let s = build(&system);
        let all = points(&system);
        let value = |&(p, x, y): &(i128, i128, i128)| form.eval(&[p], &[x, y], &[]).unwrap();
        let extent = |v: Option<i128>| v.map_or(Extent::Empty, Extent::Value);
        prop_assert_eq!(s.max_value(&form, &b()).unwrap(), extent(all.iter().map(value).max()));
        prop_assert_eq!(s.min_value(&form, &b()).unwrap(), extent(all.iter().map(value).min()));
        let max = s.max_of(&form, &b()).unwrap().unwrap();
        let low = s.lexmin_exprs(&b()).unwrap();
        let everything = Set::universe(Space { params: 1, dims: 0 }, &b()).unwrap();
        let expr = max.expr(&everything, &b());
        let condition = s.params(&b()).unwrap().condition(&everything, &b()).unwrap();
        for p in LOW..=HIGH {
            let here: Vec<_> = all.iter().copied().filter(|q| q.0 == p).collect();
            let expected = here.iter().map(value).max();
            prop_assert_eq!(max.eval(&[p], &b()).unwrap(), expected);
            if let (Some(v), Ok(e)) = (expected, &expr) {
                prop_assert_eq!(e.eval(&[p], &[]), Some(v));
            }
            prop_assert_eq!(condition.eval(&[p], &[]), Some(i128::from(!here.is_empty())));
            let least = here.iter().min();
            prop_assert_eq!(low[0].eval(&[p], &b()).unwrap(), least.map(|q| q.1));
            prop_assert_eq!(low[1].eval(&[p], &b()).unwrap(), least.map(|q| q.2));
        }
        prop_assert!(all.is_empty() || expr.is_ok(), "{:?}", expr);
    }

    #[test]
    fn a_small_budget_never_changes_an_answer(system in system(), steps in 1u64..3000) {
        let small = Budget::new(steps);
        let all: Vec<_> = system.iter().cloned().chain(boxed()).collect();
        let ask = |budget: &Budget| -> poly::Result<(bool, Option<Point>)> {
            let s = Set::from_constraints(SPACE, 1, &all, budget)?;
            Ok((s.is_empty(budget)?, s.lexmin_point(budget)?))
        };
        match ask(&small) {
            Ok(answer) => prop_assert_eq!(Ok(answer), ask(&b())),
            Err(e) => prop_assert_eq!(e, Error::Spent),
        }
    }
}
