//! What is live after loops, in nests too deep for a walk whose work doubles with each loop around.

use std::sync::Arc;

use term::{Body, TermId};

use super::{is_read_after, Liveness};

fn body(text: &str) -> Arc<Body> {
    let parsed = front::Parsed::parse(front::Language::C, text);
    let unit = front::lower(&parsed, &front::Options::default(), &mut front::Memo::new());
    unit.items.first().map(|i| i.body.clone()).expect("a function")
}

/// Of each loop, from the outermost, the names that are live after it, in order.
fn live_after(body: &Body) -> Vec<Vec<String>> {
    let live = Liveness::new(body, &base::Budget::new(u64::MAX));
    let loops: Vec<TermId> = body.walk(body.root).filter(|&t| body.op(t).is_loop()).collect();
    let names = |t: TermId| {
        let mut all: Vec<String> = body
            .symbols
            .iter_ids()
            .filter(|&(s, _)| live.is_live_after(t, s))
            .map(|(_, s)| s.name.to_string())
            .collect();
        all.sort();
        all.dedup();
        all
    };
    loops.into_iter().map(names).collect()
}

#[test]
fn sixty_loops_in_one_another_end() {
    const DEPTH: usize = 60;
    for jumps in [false, true] {
        let mut text = String::from("int f(int n, int *a) { int s = 0, last = 0, dead = 0;\nagain:\n");
        for k in 0..DEPTH {
            text += &match k % 3 {
                0 => format!("for (int i{k} = 0; i{k} < n; i{k}++) {{\n"),
                1 => format!("int i{k} = 0; while (i{k}++ < n) {{\n"),
                _ => format!("int i{k} = 0; do {{\n"),
            };
        }
        text += "dead = n; a[s] = dead; s = s + last; last = n;\n";
        for k in (0..DEPTH).rev() {
            text += if k % 3 == 2 { "} while (s < n);\n" } else { "}\n" };
        }
        text += if jumps { "if (s < n) goto again;\n" } else { "" };
        text += "return s; }\n";
        let body = body(&text);
        let live = live_after(&body);
        assert_eq!(live.len(), DEPTH);
        // behind the outermost one `s` alone is read, unless the way back leads into the nest again
        let outermost = &live[0];
        assert!(outermost.contains(&"s".to_owned()) && !outermost.contains(&"dead".to_owned()));
        assert_eq!(outermost.contains(&"last".to_owned()), jumps, "{outermost:?}");
        // behind the innermost one everything that another round of those around it reads
        let innermost = &live[DEPTH - 1];
        for name in ["s", "last", "n", "a", "i0", "i1", "i57"] {
            assert!(innermost.contains(&name.to_owned()), "{name} is read later: {innermost:?}");
        }
        assert!(!innermost.contains(&"dead".to_owned()));
    }
}

/// Steps by the terms that are walked over; where they do not suffice, everything is live.
#[test]
fn liveness_takes_steps_and_ends_with_them() {
    let text = |n: usize| {
        let all: String = (0..n)
            .map(|k| format!("for (int i = 0; i < n; i++) {{ int t{k} = a[i]; a[i] = t{k} * {k}; }}\n"))
            .collect();
        format!("void f(int n, int *a) {{\n{all}}}\n")
    };
    let taken = |n: usize| {
        let budget = base::Budget::new(u64::MAX);
        assert!(!Liveness::new(&body(&text(n)), &budget).is_cut_short());
        budget.taken()
    };
    let all = [20, 40, 80].map(taken);
    // what is live is a set of as many variables as there are, 256 of them as one term
    assert!(all[0] > 20 && all[1] <= 3 * all[0] && all[2] <= 3 * all[1], "{all:?}");
    let (body, budget) = (body(&text(40)), base::Budget::new(50));
    let few = Liveness::new(&body, &budget);
    assert!(few.is_cut_short() && budget.taken() <= 50);
    let loops = body.walk(body.root).filter(|&t| body.op(t).is_loop());
    assert!(loops.into_iter().all(|t| body.symbols.iter_ids().all(|(s, _)| few.is_live_after(t, s))));
}

/// Of a structure that a loop sets by its members: whether something of it may be read behind the first loop.
#[test]
fn members_that_are_written_again_are_dead() {
    let after = |rest: &str| {
        let text = format!(
            "double f(int n, double *restrict a) {{ struct q {{ int a, b; }}; \
             struct p {{ double x, y; struct q q; double v[4]; }}; struct p t; int i;\n\
             for (i = 0; i < n; i++) {{ t.x = a[i]; t.y = 2 * t.x; t.q.a = i; a[i] = t.x * t.y + t.q.a; }}\n\
             {rest} }}\n"
        );
        let body = body(&text);
        let first = body.loops(body.root).next().expect("a loop");
        let t = body.symbols.iter_ids().find(|(_, s)| &*s.name == "t").expect("a variable").0;
        is_read_after(&body, first, t, &base::Budget::new(u64::MAX))
    };
    let dead = [
        "return 0;",
        "for (i = 0; i < n; i++) { t.x = a[i] + 1; t.y = t.x; a[i] = t.y; } return 0;",
        "t.y = 3; return t.y;",
        "if (n > 3) t.q.a = 1; else t.q.a = 2; return t.q.a;",
        "t.q.a = 1; t.q.a += 2; return t.q.a;",
        "{ struct p u = { 0 }; t = u; } return t.x + t.v[2];",
    ];
    for rest in dead {
        assert!(!after(rest), "{rest}");
    }
    let live = [
        "return t.x;",
        "t.x = 1; return t.x + t.y;",
        "if (n > 3) t.y = 2; return t.y;",
        "t.y += 1; return 0;",
        "for (i = 0; i < n; i++) { a[i] = t.x; t.x = 0; } return 0;",
        "while (n-- > 0) t.x = n; return t.x;",
        "{ struct p u = t; a[0] = u.x; } return 0;",
        "t.x = t.y = 0; { struct p u = t; a[0] = u.v[1]; } return 0;",
        "t.q.b = 1; return t.q.a;",
        "t.v[1] = 1; return t.v[n];",
        "switch (n) { case 1: t.x = 1; break; default: a[0] = t.x; } return 0;",
        "goto end; t.x = 0; end: return t.x;",
    ];
    for rest in live {
        assert!(after(rest), "{rest}");
    }
}
