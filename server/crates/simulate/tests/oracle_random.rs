//! The oracle against a brute-force count of conflicts, on random loops over arrays and scalars.
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use base::Budget;
use front::{lower, Language, Memo, Parsed};
use simulate::*;
use term::*;

/// `a[c*i + d]`, or a scalar if `c` and `d` are none.
#[derive(Clone, Copy)]
enum Ref {
    Cell(i64, i64),
    Scalar,
}

impl Ref {
    fn text(self) -> String {
        match self {
            Ref::Cell(c, d) => format!("a[{c} * i + {d}]"),
            Ref::Scalar => "t".into(),
        }
    }
    fn cell(self, i: i64) -> (bool, i64) {
        match self {
            Ref::Cell(c, d) => (true, c * i + d),
            Ref::Scalar => (false, 0),
        }
    }
}

struct Stmt {
    write: Ref,
    reads: Vec<Ref>,
    /// Only in iterations divisible by this.
    every: i64,
}

fn random(rng: &mut Rng) -> Vec<Stmt> {
    let one = |rng: &mut Rng| {
        if rng.below(4) == 0 {
            Ref::Scalar
        } else {
            Ref::Cell(rng.below(3) as i64, rng.below(6) as i64)
        }
    };
    (0..1 + rng.below(3))
        .map(|_| Stmt {
            write: one(rng),
            reads: (0..rng.below(3)).map(|_| one(rng)).collect(),
            every: 1 + rng.below(3) as i64,
        })
        .collect()
}

#[test]
fn conflicts_and_privates_are_those_that_brute_force_finds() {
    let mut rng = Rng(2024);
    let (mut independent, mut private) = (0, 0);
    for round in 0..600 {
        let stmts = random(&mut rng);
        let n = rng.below(7) as i64;
        let mut text = String::from("void f(int n, int *a) { int t = 1; for (int i = 0; i < n; i++) {\n");
        for s in &stmts {
            let mut e = String::from("1");
            for r in &s.reads {
                write!(e, " + ({} & 7)", r.text()).unwrap();
            }
            writeln!(text, "if (i % {} == 0) {} = {e};", s.every, s.write.text()).unwrap();
        }
        text.push_str("} }\n");
        // brute force: cells touched by each iteration, in order
        let mut order: Vec<Vec<((bool, i64), bool)>> = Vec::new();
        for i in 0..n {
            let mut touched = Vec::new();
            for s in stmts.iter().filter(|s| i % s.every == 0) {
                touched.extend(s.reads.iter().map(|r| (r.cell(i), false)));
                touched.push((s.write.cell(i), true));
            }
            order.push(touched);
        }
        let mut conflicts: HashSet<(i64, i64, bool, ConflictKind)> = HashSet::new();
        for (x, first) in order.iter().enumerate() {
            for (y, second) in order.iter().enumerate().skip(x + 1) {
                for (c, w) in first {
                    for (d, v) in second.iter().filter(|(d, _)| d == c) {
                        let kind = match (*w, *v) {
                            (true, false) => ConflictKind::Flow,
                            (false, true) => ConflictKind::Anti,
                            (true, true) => ConflictKind::Output,
                            _ => continue,
                        };
                        conflicts.insert((x as i64, y as i64, d.0, kind));
                    }
                }
            }
        }
        let scalar_written = order.iter().flatten().any(|(c, w)| !c.0 && *w);
        let exposed = scalar_written
            && order.iter().any(|t| {
                let first = t.iter().find(|(c, _)| !c.0);
                first.is_some_and(|(_, w)| !w)
            });
        // the oracle
        let parsed = Parsed::parse(Language::C, text.as_str());
        let unit = lower(&parsed, &front::Options::default(), &mut Memo::default());
        let body: Body = (*unit.items[0].body).clone();
        let l = body.loops(body.root).next().unwrap();
        let symbol = |name: &str| body.symbols.iter_ids().find(|(_, s)| &*s.name == name).unwrap().0;
        let (t, a) = (symbol("t"), symbol("a"));
        let mut heap = Heap::new();
        let buf = heap.buffer("a", &[1i32; 40]).unwrap();
        let p = Program::of([&body]);
        let args = [Value::Int(n as i128), Value::Pointer(buf, 0)];
        let tr =
            run_traced(&p, "f", &args, &mut heap, &[l], &Options::default(), &Budget::new(1 << 20)).unwrap();
        assert_eq!(check_claim(&tr, l, &[], &[]).is_ok(), conflicts.is_empty(), "{round}: {text}");
        let array_only = conflicts.iter().all(|c| !c.2);
        assert_eq!(check_claim(&tr, l, &[t], &[]).is_ok(), array_only && !exposed, "{round}: {text}");
        independent += conflicts.is_empty() as u32;
        private += (array_only && !exposed && scalar_written) as u32;
        // witnesses: every pair, every kind, both variables
        let mut seen: HashMap<ConflictKind, u32> = HashMap::new();
        for x in 0..n {
            for y in x + 1..n {
                for kind in [ConflictKind::Flow, ConflictKind::Anti, ConflictKind::Output] {
                    for is_array in [false, true] {
                        let q = WitnessQuery {
                            kind: Some(kind),
                            source_iteration: x,
                            sink_iteration: y,
                            variable: Some(if is_array { a } else { t }),
                            ..Default::default()
                        };
                        let real = conflicts.contains(&(x, y, is_array, kind));
                        let want = if real { Seen::Yes } else { Seen::No };
                        assert_eq!(check_witness(&tr, l, &q), want, "{round}: {text} {q:?}");
                        *seen.entry(kind).or_default() += real as u32;
                    }
                }
            }
        }
        // kinds listed per pair of terms are those that occur
        let lt = tr.of(l).unwrap();
        for (kind, n) in seen {
            let listed = lt.conflicts.iter().any(|c| c.kind == kind && !c.header);
            assert_eq!(listed, n > 0, "{round}: {kind:?} {text}");
        }
    }
    // both answers must occur, or nothing was tested
    assert!(independent > 50 && private > 5, "{independent} {private}");
}
