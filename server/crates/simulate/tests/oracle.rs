//! The oracle on loops whose conflicts are known.
mod common;
use base::Budget;
use common::B;
use simulate::*;
use term::*;

struct Case {
    body: Body,
    watch: Vec<TermId>,
}

/// `void f(int n, double *a, …)`: builds one function around what `make` returns (statements, loops to watch).
fn case(make: impl FnOnce(&mut B, SymbolId, SymbolId) -> (Vec<TermId>, Vec<TermId>)) -> Case {
    let mut b = B::default();
    let i32t = b.i32();
    let f64t = b.f64();
    let pt = b.ptr(f64t);
    let n = b.param("n", i32t);
    let a = b.param("a", pt);
    let (st, watch) = make(&mut b, n, a);
    Case { body: b.finish_void(&st), watch }
}

fn trace(c: &Case, n: i128) -> Trace {
    let mut heap = Heap::new();
    let data: Vec<f64> = (0..64).map(|x| x as f64).collect();
    let buf = heap.buffer("a", &data).unwrap();
    let p = Program::of([&c.body]);
    let args = [Value::Int(n), Value::Pointer(buf, 0)];
    run_traced(&p, "f", &args, &mut heap, &c.watch, &Options::default(), &Budget::new(10_000_000)).unwrap()
}

#[test]
fn a_shifted_write_is_a_flow_conflict_with_its_witness() {
    let mut parts = None;
    let c = case(|b, n, a| {
        // for (int i = 0; i < n; i++) a[i + 1] = a[i];
        let i32t = b.i32();
        let i = b.local("i", i32t);
        let (vi, one) = (b.v(i), b.n(1));
        let ip = b.bin(BinOp::Add, vi, one);
        let dst = b.at(a, ip);
        let vi = b.v(i);
        let src = b.at(a, vi);
        let s = b.set(dst, src);
        let (z, vn) = (b.n(0), b.v(n));
        let l = b.for_up(i, z, vn, &[s]);
        parts = Some((l, dst, src, a));
        (vec![l], vec![l])
    });
    let (l, dst, src, a) = parts.unwrap();
    let t = trace(&c, 10);
    let e = check_claim(&t, l, &[], &[]).unwrap_err();
    let Refutation::Conflict(conflict) = e else { panic!("{e:?}") };
    assert_eq!((conflict.kind, conflict.source, conflict.sink), (ConflictKind::Flow, dst, src));
    assert_eq!((conflict.source_iteration, conflict.sink_iteration, conflict.count), (0, 1, 9));
    assert!(conflict.passes);
    assert!(check_claim(&t, l, &[], &[Aside::Variable(a)]).is_ok());
    let q = |s, k| WitnessQuery {
        kind: Some(ConflictKind::Flow),
        source: Some(dst),
        sink: Some(src),
        source_iteration: s,
        sink_iteration: k,
        variable: Some(a),
        outer: vec![],
    };
    assert_eq!(check_witness(&t, l, &q(3, 4)), Seen::Yes);
    assert_eq!(check_witness(&t, l, &q(3, 5)), Seen::No);
    // one iteration: nothing to conflict with
    assert!(check_claim(&trace(&c, 1), l, &[], &[]).is_ok());
}

#[test]
fn privates_and_reductions_are_told_apart() {
    let mut parts = None;
    let c = case(|b, n, a| {
        // double t, s = 0; for (i…) { t = a[i] * 2; a[i] = t; s += t; } a[0] = s;
        let (i32t, f64t) = (b.i32(), b.f64());
        let (i, t, s) = (b.local("i", i32t), b.local("t", f64t), b.local("s", f64t));
        let dt = b.decl(t, None);
        let z = b.d(0.0);
        let ds = b.decl(s, Some(z));
        let vi = b.v(i);
        let (ai, two) = (b.at(a, vi), b.d(2.0));
        let m = b.bin(BinOp::Mul, ai, two);
        let vt = b.v(t);
        let s1 = b.set(vt, m);
        let vi = b.v(i);
        let (dst, vt) = (b.at(a, vi), b.v(t));
        let s2 = b.set(dst, vt);
        let (vs, vt) = (b.v(s), b.v(t));
        let s3 = b.comp(BinOp::Add, vs, vt);
        let (z, vn) = (b.n(0), b.v(n));
        let l = b.for_up(i, z, vn, &[s1, s2, s3]);
        let z = b.n(0);
        let (a0, vs) = (b.at(a, z), b.v(s));
        let out = b.set(a0, vs);
        parts = Some((l, t, s));
        (vec![dt, ds, l, out], vec![l])
    });
    let (l, t, s) = parts.unwrap();
    let tr = trace(&c, 8);
    assert!(check_claim(&tr, l, &[t], &[Aside::Variable(s)]).is_ok());
    assert!(matches!(check_claim(&tr, l, &[t], &[]), Err(Refutation::Conflict(_))));
    assert!(matches!(check_claim(&tr, l, &[], &[Aside::Variable(s)]), Err(Refutation::Conflict(_))));
    // `s` is no private: it is read before it is written, and after the loop
    assert!(matches!(
        check_claim(&tr, l, &[t, s], &[]),
        Err(Refutation::ExposedPrivate { symbol, iteration: 0, .. }) if symbol == s
    ));
    let lt = tr.of(l).unwrap();
    let v = &lt.variables[&Variable::Symbol(s)];
    assert!(v.read_after.is_some() && !v.escapes && !v.private_like());
    let v = &lt.variables[&Variable::Symbol(t)];
    assert!(v.read_after.is_none() && v.private_like());
}

#[test]
fn inner_loops_are_judged_per_execution_and_fresh_locals_are_fresh() {
    let mut parts = None;
    let c = case(|b, n, a| {
        // for i { double t = 0; for j { t += a[j]; } a[i + 32] = t; }
        let (i32t, f64t) = (b.i32(), b.f64());
        let (i, j, t) = (b.local("i", i32t), b.local("j", i32t), b.local("t", f64t));
        let z = b.d(0.0);
        let dt = b.decl(t, Some(z));
        let vj = b.v(j);
        let (vt, aj) = (b.v(t), b.at(a, vj));
        let acc = b.comp(BinOp::Add, vt, aj);
        let (z, vn) = (b.n(0), b.v(n));
        let inner = b.for_up(j, z, vn, &[acc]);
        let (vi, k) = (b.v(i), b.n(32));
        let ik = b.bin(BinOp::Add, vi, k);
        let (dst, vt2) = (b.at(a, ik), b.v(t));
        let s = b.set(dst, vt2);
        let (z, vn) = (b.n(0), b.v(n));
        let outer = b.for_up(i, z, vn, &[dt, inner, s]);
        parts = Some((outer, inner, t, vt, i));
        (vec![outer], vec![outer, inner])
    });
    let (outer, inner, t, vt, i) = parts.unwrap();
    let tr = trace(&c, 5);
    assert!(check_claim(&tr, outer, &[], &[]).is_ok());
    assert!(matches!(check_claim(&tr, inner, &[], &[]), Err(Refutation::Conflict(_))));
    assert!(check_claim(&tr, inner, &[], &[Aside::Terms([vt].into_iter().collect())]).is_ok());
    assert!(check_claim(&tr, inner, &[], &[Aside::Variable(t)]).is_ok());
    let li = tr.of(inner).unwrap();
    assert_eq!(li.instances.len(), 5);
    assert_eq!(li.instances[3].outer, vec![(i, 3)]);
    assert_eq!(li.instances[3].index, vec![0, 1, 2, 3, 4, 5]);
    let q = WitnessQuery {
        kind: Some(ConflictKind::Flow),
        source_iteration: 1,
        sink_iteration: 2,
        variable: Some(t),
        outer: vec![(i, 4)],
        ..Default::default()
    };
    assert_eq!(check_witness(&tr, inner, &q), Seen::Yes);
    let q = WitnessQuery { outer: vec![(i, 5)], ..q };
    assert_eq!(check_witness(&tr, inner, &q), Seen::No);
}

#[test]
fn breaks_and_gotos_leave_loops_in_order() {
    let mut parts = None;
    let c = case(|b, n, a| {
        // for i { for j { if (j == i) break; a[j] = 0; if (j == 3) goto out; } a[i + 8] = 1; } out: a[40] = 1;
        let i32t = b.i32();
        let (i, j) = (b.local("i", i32t), b.local("j", i32t));
        let (vj, vi) = (b.v(j), b.v(i));
        let eq = b.bin(BinOp::Eq, vj, vi);
        let br = b.s(Op::Break, &[]);
        let s1 = b.if_(eq, &[br]);
        let vj = b.v(j);
        let (aj, z) = (b.at(a, vj), b.d(0.0));
        let s2 = b.set(aj, z);
        let (vj, three) = (b.v(j), b.n(3));
        let eq3 = b.bin(BinOp::Eq, vj, three);
        let go = b.s(Op::Goto("out".into()), &[]);
        let s3 = b.if_(eq3, &[go]);
        let (z, vn) = (b.n(0), b.v(n));
        let inner = b.for_up(j, z, vn, &[s1, s2, s3]);
        let (vi, eight) = (b.v(i), b.n(8));
        let ie = b.bin(BinOp::Add, vi, eight);
        let (dst, one) = (b.at(a, ie), b.d(1.0));
        let s4 = b.set(dst, one);
        let (z, vn) = (b.n(0), b.v(n));
        let outer = b.for_up(i, z, vn, &[inner, s4]);
        let label = b.s(Op::Label("out".into()), &[]);
        let (k, one) = (b.n(40), b.d(1.0));
        let dst = b.at(a, k);
        let s5 = b.set(dst, one);
        parts = Some((outer, inner));
        (vec![outer, label, s5], vec![outer, inner])
    });
    let (outer, inner) = parts.unwrap();
    let tr = trace(&c, 8);
    assert!(check_claim(&tr, inner, &[], &[]).is_ok());
    let e = check_claim(&tr, outer, &[], &[]).unwrap_err();
    assert!(matches!(e, Refutation::Conflict(c) if c.kind == ConflictKind::Output));
    // i = 0..=4: the goto leaves at i = 4, j = 3
    assert_eq!(tr.of(outer).unwrap().instances[0].starts, 5);
    assert_eq!(tr.of(inner).unwrap().instances.len(), 5);
}
