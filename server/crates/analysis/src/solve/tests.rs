//! Every test against all points of small boxes, and the whole against isl: who says "never" must be right, and each
//! test must answer all questions its precondition covers.

use base::Budget;
use poly::{Constraint, Row, Space};

use super::fourier::{fourier, Solution};
use super::system::System;
use super::*;

/// A small generator (xorshift), so that each run is the same.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, low: i128, high: i128) -> i128 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        low + (self.0 % (high - low + 1) as u64) as i128
    }
}

/// Dimensions 0 and 1: one loop around both accesses; 2 and 3: another, or one around each.
struct Case {
    space: Space,
    pairs: Vec<(usize, usize)>,
    constraints: Vec<Constraint>,
    /// Equations among them.
    equations: usize,
    /// Whether dimension 0 is to be smaller than dimension 1.
    carried: bool,
}

/// Everything lies between these.
const LOW: i128 = -1;
const HIGH: i128 = 5;

fn dim(k: usize, c: i128, constant: i128) -> Row {
    Row::constant(constant).dim(k, c)
}

fn case(d: &mut Dice, single: bool) -> Case {
    let dims = if single { 2 } else { 2 + 2 * d.roll(0, 1) as usize };
    let params = if single { 0 } else { d.roll(0, 1) as usize };
    let mut constraints = Vec::new();
    let (mut lows, mut highs) = (Vec::new(), Vec::new());
    for k in 0..dims {
        // both sides of a pair have one range, unless they stand under guards of their own
        let same = k % 2 == 1 && (single || d.roll(0, 2) > 0);
        let (l, h) = if same { (lows[k - 1], highs[k - 1]) } else { (d.roll(LOW, 3), d.roll(1, HIGH)) };
        lows.push(l);
        highs.push(h);
        constraints.push(Constraint::ge(dim(k, 1, -l)));
        constraints.push(Constraint::ge(dim(k, -1, h)));
    }
    for p in 0..params {
        constraints.push(Constraint::ge(Row::constant(1).param(p, 1)));
        constraints.push(Constraint::ge(Row::constant(HIGH).param(p, -1)));
        if d.roll(0, 1) == 0 {
            // the first loop ends at the parameter
            for k in 0..2 {
                constraints.push(Constraint::ge(dim(k, -1, -1).param(p, 1)));
            }
        }
    }
    if dims == 4 && d.roll(0, 2) == 0 {
        // a triangle: the inner counter stays below the outer one
        for k in 0..2 {
            constraints.push(Constraint::ge(dim(k, 1, -1).dim(2 + k, -1)));
        }
    }
    let carried = single || d.roll(0, 3) > 0;
    if carried {
        constraints.push(Constraint::ge(dim(1, 1, -1).dim(0, -1)));
    }
    let equations = if single { 1 } else { 1 + usize::from(d.roll(0, 3) == 0) };
    for _ in 0..equations {
        let a = d.roll(1, 3) * if d.roll(0, 1) == 0 { 1 } else { -1 };
        let (mut row, at) = (Row::constant(d.roll(-5, 5)), 2 * d.roll(0, dims as i128 / 2 - 1) as usize);
        row = match d.roll(0, 5) {
            0 => row.dim(at, a).dim(at + 1, -a),
            1 => row.dim(at + d.roll(0, 1) as usize, a),
            2 => row.dim(at, a).dim(at + 1, a),
            3 => row.dim(at, a).dim(at + 1, d.roll(-3, 3)),
            4 => row,
            _ => (0..dims).fold(row, |r, k| r.dim(k, d.roll(-3, 3))),
        };
        if params > 0 && d.roll(0, 2) == 0 {
            row = row.param(0, d.roll(-2, 2));
        }
        constraints.push(Constraint::eq(row));
    }
    let pairs = if dims == 4 && d.roll(0, 1) == 0 { vec![(0, 1), (2, 3)] } else { vec![(0, 1)] };
    Case { space: Space { params, dims }, pairs, constraints, equations, carried }
}

/// Tries all points.
fn brute(c: &Case) -> bool {
    let n = c.space.params + c.space.dims;
    let width = (HIGH - LOW + 1) as usize;
    (0..width.pow(n as u32)).any(|code| {
        let mut rest = code;
        let values: Vec<i128> = (0..n)
            .map(|_| {
                let v = LOW + (rest % width) as i128;
                rest /= width;
                v
            })
            .collect();
        let (params, dims) = values.split_at(c.space.params);
        c.constraints.iter().all(|x| x.holds(params, dims, &[]) == Some(true))
    })
}

fn system(c: &Case) -> System {
    System::new(c.space, 0, c.pairs.clone(), c.carried, &c.constraints).expect("small numbers")
}

type Test = (&'static str, fn(&System) -> bool);

const TESTS: [Test; 7] = [
    ("ziv", ziv::ziv),
    ("gcd", gcd::gcd),
    ("strong_siv", strong_siv::strong_siv),
    ("weak_zero_siv", weak_zero_siv::weak_zero_siv),
    ("weak_crossing_siv", weak_crossing_siv::weak_crossing_siv),
    ("exact_siv", exact_siv::exact_siv),
    ("banerjee", banerjee::banerjee),
];

#[test]
fn who_says_never_is_right() {
    let mut d = Dice(0x5EED);
    let mut said = [0; TESTS.len()];
    let (mut none, mut empty, mut points, mut unknown) = (0, 0, 0, 0);
    for _ in 0..1_200 {
        let c = case(&mut d, false);
        let (s, truth) = (system(&c), brute(&c));
        none += i32::from(!truth);
        for ((name, test), count) in TESTS.iter().zip(&mut said) {
            if test(&s) {
                assert!(!truth, "{name}: {:?}", c.constraints);
                *count += 1;
            }
        }
        match fourier(&s) {
            Solution::Empty => {
                assert!(!truth, "fourier: {:?}", c.constraints);
                empty += 1;
            }
            Solution::Point(p) => {
                assert!(truth && s.holds(&p), "fourier: {:?} at {p:?}", c.constraints);
                points += 1;
            }
            Solution::Unknown => unknown += 1,
        }
    }
    assert!(said.iter().all(|&n| n > 10), "a test that never answers: {said:?}");
    assert!(
        none > 200 && empty > none * 9 / 10 && points > 80 && unknown < 60,
        "{none} {empty} {points} {unknown}"
    );
}

/// One equation over one loop with numbers for bounds: each test answers wholly where its precondition holds.
#[test]
fn answers_are_exact_where_they_apply() {
    let mut d = Dice(77);
    let mut seen = [0; 4];
    for _ in 0..4_000 {
        let c = case(&mut d, true);
        assert_eq!(c.equations, 1);
        let (s, truth) = (system(&c), brute(&c));
        let l = &s.equal[0];
        // bounds that leave the loop fewer than two iterations are not the subscripts' business
        let r = s.range(0);
        if r.low.zip(r.high).is_none_or(|(l, h)| l >= h) {
            continue;
        }
        let (which, answer) = match (l[0], l[1]) {
            (0, 0) => continue,
            (a, b) if a == -b => (0, strong_siv::strong_siv(&s)),
            (0, _) | (_, 0) => (1, weak_zero_siv::weak_zero_siv(&s)),
            (a, b) if a == b => (2, weak_crossing_siv::weak_crossing_siv(&s)),
            _ => (3, exact_siv::exact_siv(&s)),
        };
        assert_eq!(answer, !truth, "test {which}: {:?}", c.constraints);
        seen[which] += 1;
        if l[0] != 0 && l[1] != 0 {
            assert_eq!(exact_siv::exact_siv(&s), !truth, "exact: {:?}", c.constraints);
        }
    }
    assert!(seen.iter().all(|&n| n > 200), "{seen:?}");
}

#[test]
fn isl_agrees_and_the_second_time_is_free() {
    let mut d = Dice(4242);
    let (solver, budget) = (Solver::default(), Budget::new(u64::MAX));
    for n in 0..400 {
        let c = case(&mut d, false);
        let set = poly::Set::from_constraints(c.space, 0, &c.constraints, &budget).expect("a set");
        let any = vec![Conjunction { exists: 0, constraints: c.constraints.clone() }];
        let q = Question { space: c.space, pairs: c.pairs.clone(), carried: c.carried, any };
        let found = solver.any(&q, &budget).expect("an answer");
        assert_eq!(set.is_empty(&budget), Ok(found.is_none()), "{n}: {:?}", c.constraints);
        if let Some(p) = &found {
            assert_eq!(set.contains(p, &budget), Ok(true), "{n}: {:?}", c.constraints);
        }
        let before = *solver.counts.borrow();
        assert_eq!(solver.any(&q, &budget), Ok(found));
        assert_eq!(solver.counts.borrow().memo, before.memo + 1);
    }
}

/// Numbers near the ends of 64 bits: given up, never wrong.
#[test]
fn large_numbers_are_left_to_isl() {
    let big = i128::from(i64::MAX);
    let budget = Budget::new(u64::MAX);
    // x' - x = 2^63 - 1 with x' <= 2^63 - 1, 0 <= x: exactly one pair
    let constraints = vec![
        Constraint::ge(dim(0, 1, 0)),
        Constraint::ge(dim(1, -1, big)),
        Constraint::eq(Row::constant(-big).dim(0, -1).dim(1, 1)),
    ];
    let any = vec![Conjunction { exists: 0, constraints }];
    let q = Question { space: Space { params: 0, dims: 2 }, pairs: vec![(0, 1)], carried: false, any };
    let found = Solver::default().any(&q, &budget).expect("an answer").expect("a pair");
    assert_eq!(found.dims, [0, big]);
}
