//! Sets in which halves, quarters and parities decide, as loops from `n / 2` over odd numbers make them, against brute force.
//!
//! isl's own least elements are wrong for some of them (see `optima`): what is asked here must be right or an error.

use base::Budget;
use poly::{Constraint, Error, Extent, Point, Result, Row, Set, Space};
use proptest::prelude::*;

const SPACE: Space = Space { params: 1, dims: 2 };
const HIGH: i128 = 11;

fn b() -> Budget {
    Budget::new(20_000_000)
}

/// A number that a quotient is taken of, or that is compared: of the parameter and the two counters.
#[derive(Clone, Copy, Debug)]
enum Of {
    N,
    I,
    J,
    Sum,
}

impl Of {
    fn row(self) -> Row {
        match self {
            Of::N => Row::default().param(0, 1),
            Of::I => Row::default().dim(0, 1),
            Of::J => Row::default().dim(1, 1),
            Of::Sum => Row::default().dim(0, 1).dim(1, 1),
        }
    }
    fn at(self, (n, i, j): (i128, i128, i128)) -> i128 {
        match self {
            Of::N => n,
            Of::I => i,
            Of::J => j,
            Of::Sum => i + j,
        }
    }
}

/// `number >= of / by` (or `<=`), or `of % by == rest`.
#[derive(Clone, Copy, Debug)]
enum Fact {
    AtLeast(Of, Of, i128),
    AtMost(Of, Of, i128),
    Rest(Of, i128, i128),
    Less(Of, Of),
}

fn of() -> impl Strategy<Value = Of> {
    prop_oneof![Just(Of::N), Just(Of::I), Just(Of::J), Just(Of::Sum)]
}

fn fact() -> impl Strategy<Value = Fact> {
    prop_oneof![
        3 => (of(), of(), 2i128..=4).prop_map(|(a, b, k)| Fact::AtLeast(a, b, k)),
        1 => (of(), of(), 2i128..=4).prop_map(|(a, b, k)| Fact::AtMost(a, b, k)),
        3 => (of(), 2i128..=3, 0i128..3).prop_map(|(a, k, r)| Fact::Rest(a, k, r % k)),
        3 => (of(), of()).prop_map(|(a, b)| Fact::Less(a, b)),
    ]
}

fn holds(facts: &[Fact], p: (i128, i128, i128)) -> bool {
    facts.iter().all(|f| match *f {
        Fact::AtLeast(a, b, k) => a.at(p) >= b.at(p).div_euclid(k),
        Fact::AtMost(a, b, k) => a.at(p) <= b.at(p).div_euclid(k),
        Fact::Rest(a, k, r) => a.at(p).rem_euclid(k) == r,
        Fact::Less(a, b) => a.at(p) < b.at(p),
    })
}

fn sub(a: Row, b: &Row) -> Row {
    a.checked_sub(b).unwrap()
}

fn build(facts: &[Fact]) -> Set {
    let mut all = Vec::new();
    let mut exists = 0;
    // `of` = k·quotient + rest with 0 <= rest < k; the quotient's number
    let mut quotient = |of: Of, k: i128, all: &mut Vec<Constraint>| {
        let rest = sub(of.row(), &Row::default().exist(exists, k));
        all.push(Constraint::ge(rest.clone()));
        all.push(Constraint::ge(sub(Row::constant(k - 1), &rest)));
        exists += 1;
        (exists - 1, rest)
    };
    for f in facts {
        match *f {
            Fact::AtLeast(a, of, k) => {
                let (q, _) = quotient(of, k, &mut all);
                all.push(Constraint::ge(sub(a.row(), &Row::default().exist(q, 1))));
            }
            Fact::AtMost(a, of, k) => {
                let (q, _) = quotient(of, k, &mut all);
                all.push(Constraint::ge(sub(Row::default().exist(q, 1), &a.row())));
            }
            Fact::Rest(of, k, r) => {
                let (_, rest) = quotient(of, k, &mut all);
                all.push(Constraint::ge(sub(rest.clone(), &Row::constant(r))));
                all.push(Constraint::ge(sub(Row::constant(r), &rest)));
            }
            Fact::Less(a, b) => all.push(Constraint::ge(sub(sub(b.row(), &a.row()), &Row::constant(1)))),
        }
    }
    for r in [Of::N, Of::I, Of::J] {
        all.push(Constraint::ge(r.row()));
        all.push(Constraint::ge(sub(Row::constant(HIGH), &r.row())));
    }
    Set::from_constraints(SPACE, exists, &all, &b()).unwrap()
}

fn points(facts: &[Fact]) -> Vec<(i128, i128, i128)> {
    let range = || 0..=HIGH;
    let all = range().flat_map(|n| range().flat_map(move |i| range().map(move |j| (n, i, j))));
    all.filter(|&p| holds(facts, p)).collect()
}

/// The answer, if isl's was found right; an error of isl's own is no answer.
fn said<T>(answer: Result<T>) -> Option<T> {
    match answer {
        Ok(x) => Some(x),
        Err(Error::Isl(_)) => None,
        Err(e) => panic!("{e}"),
    }
}

#[test]
fn the_set_in_which_isl_finds_no_least_element_has_a_point() {
    let half_of_n = |of| Fact::AtLeast(of, Of::N, 2);
    let odd = |of| Fact::Rest(of, 2, 1);
    let facts = [
        half_of_n(Of::I),
        Fact::Less(Of::I, Of::N),
        odd(Of::I),
        half_of_n(Of::J),
        Fact::Less(Of::J, Of::N),
        odd(Of::J),
        Fact::Less(Of::I, Of::J),
    ];
    let set = build(&facts);
    assert!(!set.is_empty(&b()).unwrap());
    let p = set.sample_point(&b()).unwrap().expect("n = 6, i = 3, j = 5 is one");
    assert!(holds(&facts, (p.params[0], p.dims[0], p.dims[1])), "{p:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sets_with_quotients_agree_with_brute_force(
        first in prop::collection::vec(fact(), 2..7),
        second in prop::collection::vec(fact(), 1..4),
    ) {
        let (s, t) = (build(&first), build(&second));
        let (ps, pt) = (points(&first), points(&second));
        prop_assert_eq!(s.is_empty(&b()).unwrap(), ps.is_empty());
        let point = s.sample_point(&b()).unwrap();
        prop_assert_eq!(point.is_none(), ps.is_empty());
        if let Some(Point { params, dims }) = point {
            prop_assert!(ps.contains(&(params[0], dims[0], dims[1])));
        }
        let only = ps.iter().any(|p| !pt.contains(p));
        prop_assert_eq!(s.is_subset(&t, &b()).unwrap(), !only);
        prop_assert_eq!(s.subtract(&t, &b()).unwrap().is_empty(&b()).unwrap(), !only);
        prop_assert_eq!(s.is_disjoint(&t, &b()).unwrap(), !ps.iter().any(|p| pt.contains(p)));
        let form = Of::Sum.row();
        let extent = |v: Option<i128>| v.map_or(Extent::Empty, Extent::Value);
        prop_assert_eq!(s.max_value(&form, &b()).unwrap(), extent(ps.iter().map(|&p| Of::Sum.at(p)).max()));
        prop_assert_eq!(s.min_value(&form, &b()).unwrap(), extent(ps.iter().map(|&p| Of::Sum.at(p)).min()));
        let max = said(s.max_of(&form, &b()));
        let low = said(s.lexmin_exprs(&b()));
        let least = said(s.lexmin_point(&b()));
        for n in 0..=HIGH {
            let here: Vec<_> = ps.iter().copied().filter(|p| p.0 == n).collect();
            if let Some(max) = &max {
                let expected = here.iter().map(|&p| Of::Sum.at(p)).max();
                prop_assert_eq!(max.as_ref().expect("it is bounded").eval(&[n], &b()).unwrap(), expected);
            }
            if let Some(low) = &low {
                let expected = here.iter().min();
                prop_assert_eq!(low[0].eval(&[n], &b()).unwrap(), expected.map(|p| p.1));
                prop_assert_eq!(low[1].eval(&[n], &b()).unwrap(), expected.map(|p| p.2));
            }
        }
        if let Some(least) = least {
            let expected = ps.iter().min().map(|&(n, i, j)| Point { params: vec![n], dims: vec![i, j] });
            prop_assert_eq!(least, expected);
        }
    }
}
