//! What overflow does is asked of the language's row: the same loops, read from C, under rows that differ in that alone.

use std::sync::Arc;

use analysis::{analyze, ConditionKind, Facts, MetBy, Program, Verdict};
use base::Budget;
use term::{BinOp, Body, IntKind, Op, Overflow, Semantics, Term};

/// The verdict of each loop and what is asked before it runs.
fn describe(facts: &Facts) -> String {
    let mut out = Vec::new();
    for l in facts.loops.iter() {
        let mut line = format!("{:?}", l.verdict).to_lowercase();
        for c in l.conditions.iter().filter(|c| c.met_by == MetBy::RunTimeCheck) {
            line += match c.kind {
                ConditionKind::NoAlias(..) => " no-alias",
                ConditionKind::NoWrap(_) => " no-wrap",
                ConditionKind::Terminates(_) => " terminates",
                _ => " other",
            };
        }
        if l.verdict == Verdict::Unknown {
            line += &format!(" {:?}", l.obstacles.first().map(|o| &o.kind));
        }
        out.push(line);
    }
    out.join(", ")
}

/// The body of the C function, as another language with the same terms would mean it.
fn under(row: Semantics, text: &str) -> Arc<Body> {
    let parsed = front::Parsed::parse(front::Language::C, text);
    let unit = front::lower(&parsed, &front::Options::default(), &mut front::Memo::new());
    let body = &unit.items[0].body;
    let mut b = body.to_builder();
    b.semantics = row;
    Arc::new(b.finish(body.root))
}

fn said(body: &Arc<Body>) -> String {
    let program = Program::of([body]);
    describe(&analyze(body, &program, analysis::SAVE, &Budget::new(u64::MAX)))
}

fn verdict(row: Semantics, text: &str) -> String {
    said(&under(row, text))
}

/// With `checked(…)` or `unchecked(…)` around every product.
fn saying(overflow: Overflow, body: &Body) -> Arc<Body> {
    let mut b = body.to_builder();
    let products: Vec<_> = body.walk(body.root).filter(|&t| *body.op(t) == Op::Binary(BinOp::Mul)).collect();
    assert!(!products.is_empty());
    for t in products {
        let Term { op, args, ty } = b.get(t).clone();
        let product = b.term(op, args, ty, body.span(t));
        b.set(t, Term { op: Op::Arithmetic(overflow), args: Box::new([product]), ty });
    }
    Arc::new(b.finish(body.root))
}

const ROWS: &str = "void f(int n, int m, double *restrict a) {
    for (int i = 0; i < n; i++)
        a[i * m + 3] = 1;
}";

#[test]
fn where_overflow_means_nothing_it_is_taken_not_to_happen() {
    let c = verdict(Semantics::C, ROWS);
    let wrapping = verdict(Semantics::WRAPPING_C, ROWS);
    assert!(!c.contains("no-wrap"), "{c}");
    assert!(wrapping.contains("independent") && wrapping.contains("no-wrap"), "{wrapping}");
}

/// A subscript that nothing can wrap needs no test: the index stays below `n`, which is an `int`.
#[test]
fn what_cannot_wrap_is_proved() {
    let text = "void f(int n, double *restrict a) { for (int i = 0; i < n; i++) a[i] = 2 * a[i]; }";
    assert_eq!(verdict(Semantics::C, text), "independent");
    assert_eq!(verdict(Semantics::WRAPPING_C, text), "independent");
}

/// With `i <= n` and an `n` that is the largest `int`, a wrapping index never ends.
#[test]
fn an_index_that_may_go_round_is_tested() {
    let text = "void f(int n, double *restrict a) { for (int i = 0; i <= n; i++) a[i] = 1; }";
    assert_eq!(verdict(Semantics::C, text), "independent");
    let wrapping = verdict(Semantics::WRAPPING_C, text);
    assert!(wrapping.starts_with("independent") && wrapping.contains("terminates"), "{wrapping}");
}

/// A closed form of what a loop adds holds as long as nothing wraps.
#[test]
fn inductions_wrap_as_their_type_does() {
    let text = "void f(int n, int k, double *restrict a) {
        for (int i = 0; i < n; i++) { a[k] = 1; k += 7; }
    }";
    let (c, wrapping) = (verdict(Semantics::C, text), verdict(Semantics::WRAPPING_C, text));
    assert!(c.starts_with("independent") && !c.contains("no-wrap"), "{c}");
    assert!(!wrapping.starts_with("independent") || wrapping.contains("no-wrap"), "{wrapping}");
}

/// What is true of the `int`s before a loop is read backwards; where they wrap, `m = n + 1` does not make `m` greater.
#[test]
fn what_stands_before_the_loop_is_asked_too() {
    let text = "void f(int n, double *a) {
        int m = n + 1;
        for (int i = 0; i < 100; i++) a[m * 100 + i] = a[n * 100 + i];
    }";
    assert_eq!(verdict(Semantics::C, text), "independent");
    let wrapping = verdict(Semantics::WRAPPING_C, text);
    assert!(wrapping != "independent", "{wrapping}");
}

#[test]
fn an_expression_speaks_for_itself() {
    let c = under(Semantics::C, ROWS);
    for overflow in [Overflow::Traps, Overflow::Wraps] {
        let body = saying(overflow, &c);
        assert_ne!(body.hash, c.hash);
        let said = said(&body);
        assert!(said.contains("independent") && said.contains("no-wrap"), "{overflow:?}: {said}");
    }
    let wrapping = under(Semantics::WRAPPING_C, ROWS);
    assert_ne!(wrapping.hash, c.hash, "facts are remembered by hash");
    let product = wrapping.ids().find(|&t| *wrapping.op(t) == Op::Binary(BinOp::Mul)).unwrap();
    assert_eq!(wrapping.overflow(IntKind::Int, product), Overflow::Wraps);
}

/// Modulo 2^32 a sum may be regrouped; one that raises an exception somewhere may not.
#[test]
fn sums_that_trap_are_not_regrouped() {
    let text =
        "int f(int n, const int *a) { int s = 1; for (int i = 0; i < n; i++) s = s * a[i]; return s; }";
    assert_eq!(verdict(Semantics::C, text), "reduction");
    assert_eq!(verdict(Semantics::WRAPPING_C, text), "reduction");
    let checked = said(&saying(Overflow::Traps, &under(Semantics::C, text)));
    assert!(!checked.starts_with("reduction"), "{checked}");
}

/// A truth value to which is added stays one, so `a[i + b]` is the next element; what is moved by half of all values at a time comes
/// back.
#[test]
fn counters_that_wrap_are_not_taken_for_sums() {
    let counted = "void f(int n, int *a) { for (int i = 0; i < n; i++) { _Bool b = 0; \
         for (int j = 0; j < 3; j++) b++; a[i + b] = a[i] + 1; } }";
    assert_ne!(verdict(Semantics::C, counted).split([',', ' ']).next(), Some("independent"), "{counted}");
    let twice = counted.replace("b++;", "for (int k = 0; k < 2; k++) b++;");
    assert_ne!(verdict(Semantics::C, &twice).split([',', ' ']).next(), Some("independent"), "{twice}");
    let hashed = "void f(int n, int *restrict a) { unsigned h = 0; for (int i = 0; i < n; i++) { a[h >> 31] = i; h += 0x80000000u; } }";
    assert_ne!(verdict(Semantics::C, hashed).split([',', ' ']).next(), Some("independent"), "{hashed}");
}
