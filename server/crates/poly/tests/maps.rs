//! Relations: small specifications with answers known by hand.

use base::Budget;
use poly::{Constraint, Error, Map, MapSpace, Row, Set, Space};

fn b() -> Budget {
    Budget::new(10_000_000)
}

fn c(n: i128) -> Row {
    Row::constant(n)
}

/// `[N] -> { [i] : 0 <= i < N }`
fn domain() -> Set {
    let rows = [Constraint::ge(c(0).dim(0, 1)), Constraint::ge(c(-1).param(0, 1).dim(0, -1))];
    Set::from_constraints(Space { params: 1, dims: 1 }, 0, &rows, &b()).unwrap()
}

/// `{ [i] -> [a i + k] : 0 <= i < N }`
fn access(a: i128, k: i128) -> Map {
    let rows = [Constraint::eq(c(k).dim(0, a).dim(1, -1))];
    let m = Map::from_constraints(MapSpace { params: 1, ins: 1, outs: 1 }, 0, &rows, &b()).unwrap();
    m.intersect_domain(&domain(), &b()).unwrap()
}

#[test]
fn the_distance_of_a_i_plus_2_and_a_i_is_two() {
    // a[i+2] = a[i]: the write of i is read by i + 2.
    let (write, read) = (access(1, 2), access(1, 0));
    let before = Map::lex_lt(1, 1, &b()).unwrap();
    let dep = write.then(&read.reverse(&b()).unwrap(), &b()).unwrap().intersect(&before, &b()).unwrap();
    let deltas = dep.deltas(&b()).unwrap();
    assert_eq!(deltas.fixed_value(0, &b()).unwrap(), Some(2));
    assert!(!dep.is_empty(&b()).unwrap());
    let pair = dep.sample_pair(&b()).unwrap().unwrap();
    assert_eq!((pair.params, pair.ins, pair.outs), (vec![3], vec![0], vec![2]));
    // It needs three iterations.
    let n = dep.params(&b()).unwrap();
    let three =
        Set::from_constraints(Space { params: 1, dims: 0 }, 0, &[Constraint::ge(c(-3).param(0, 1))], &b());
    assert!(n.is_equal(&three.unwrap(), &b()).unwrap());
}

#[test]
fn odd_and_even_cells_never_meet() {
    let (write, read) = (access(2, 0), access(2, 1));
    assert!(write.then(&read.reverse(&b()).unwrap(), &b()).unwrap().is_empty(&b()).unwrap());
}

#[test]
fn values_and_injectivity() {
    assert!(access(2, 1).is_single_valued(&b()).unwrap());
    assert!(access(2, 1).is_injective(&b()).unwrap());
    assert!(!access(0, 1).is_injective(&b()).unwrap());
    assert!(!access(0, 1).reverse(&b()).unwrap().is_single_valued(&b()).unwrap());
    let id = Map::identity(&domain(), &b()).unwrap();
    assert!(id.is_equal(&access(1, 0), &b()).unwrap());
    assert!(id.is_subset(&Map::lex_le(1, 1, &b()).unwrap(), &b()).unwrap());
    assert!(id.is_disjoint(&Map::lex_lt(1, 1, &b()).unwrap(), &b()).unwrap());
}

#[test]
fn domain_range_apply_wrap() {
    let a = access(3, 1);
    assert!(a.domain(&b()).unwrap().is_equal(&domain(), &b()).unwrap());
    let first = domain().fix_dim(0, 4, &b()).unwrap();
    assert_eq!(a.apply(&first, &b()).unwrap().fixed_value(0, &b()).unwrap(), Some(13));
    let wrapped = a.wrap(&b()).unwrap();
    assert_eq!(wrapped.space(), Space { params: 1, dims: 2 });
    assert!(Map::unwrap(&wrapped, 1, &b()).unwrap().is_equal(&a, &b()).unwrap());
    let both = a.range_product(&access(1, 0), &b()).unwrap();
    assert_eq!(both.space().outs, 2);
    assert!(both.project_out_range(1, 1, &b()).unwrap().is_equal(&a, &b()).unwrap());
    assert!(Map::between(&domain(), &domain(), &b())
        .unwrap()
        .domain(&b())
        .unwrap()
        .is_equal(&domain(), &b())
        .unwrap());
}

#[test]
fn algebra() {
    let (x, y) = (access(1, 0), access(1, 1));
    let u = x.union(&y, &b()).unwrap();
    assert!(u.subtract(&y, &b()).unwrap().is_equal(&x, &b()).unwrap());
    assert!(u.intersect(&x, &b()).unwrap().is_equal(&x, &b()).unwrap());
    assert!(u.lexmin(&b()).unwrap().is_equal(&x, &b()).unwrap());
    assert!(u.lexmax(&b()).unwrap().is_equal(&y, &b()).unwrap());
    assert!(!u.is_single_valued(&b()).unwrap());
    let (closure, exact) = y.transitive_closure(&b()).unwrap();
    assert!(exact);
    assert!(!closure.intersect(&Map::lex_lt(1, 1, &b()).unwrap(), &b()).unwrap().is_empty(&b()).unwrap());
    assert!(matches!(x.union(&Map::lex_lt(0, 1, &b()).unwrap(), &b()), Err(Error::Mismatch(_))));
}

#[test]
fn rows_of_a_relation_come_back() {
    let a = access(3, 1);
    let back = a.disjuncts(&b()).unwrap();
    for i in -1..6 {
        for x in -2..20 {
            let inside = (0..5).contains(&i) && x == 3 * i + 1;
            assert_eq!(back.iter().any(|d| d.contains(&[5], &[i, x]).unwrap()), inside);
        }
    }
}
