//! C's meaning, one small function at a time.
mod common;
use base::Budget;
use common::B;
use simulate::*;
use term::*;

fn eval(body: &Body, args: &[Value], heap: &mut Heap) -> Result<Option<Value>, FaultKind> {
    let program = Program::of([body]);
    run(&program, &body.name, args, heap, &Options::default(), &Budget::new(50_000_000))
        .map(|o| o.value)
        .map_err(|f| f.kind)
}

/// The value of one expression of the type it has.
fn expr(make: impl FnOnce(&mut B) -> TermId) -> Result<Value, FaultKind> {
    let mut b = B::default();
    let e = make(&mut b);
    let ty = b.ty_of(e);
    let r = b.ret(e);
    let body = b.finish(ty, &[r]);
    eval(&body, &[], &mut Heap::new()).map(|v| v.expect("a value"))
}

#[test]
fn arithmetic_follows_c() {
    use BinOp::*;
    use IntKind::*;
    let int = |op, a: (i128, IntKind), b: (i128, IntKind)| {
        expr(|x| {
            let (p, q) = (x.int(a.0, a.1), x.int(b.0, b.1));
            x.bin(op, p, q)
        })
    };
    let cases = [
        (Add, (2147483647, Int), (1, Int), Err(FaultKind::SignedOverflow)),
        (Add, (4294967295, UInt), (1, Int), Ok(0)),
        (Sub, (0, UInt), (1, Int), Ok(4294967295)),
        (Sub, (0, ULong), (1, Int), Ok(u64::MAX as i128)),
        (Lt, (-1, Int), (1, UInt), Ok(0)), // -1 becomes the largest unsigned
        (Lt, (-1, Long), (1, UInt), Ok(1)),
        (Add, (200, UChar), (100, UChar), Ok(300)), // promoted to int
        (Mul, (65535, UShort), (65535, UShort), Err(FaultKind::SignedOverflow)),
        (Div, (-7, Int), (2, Int), Ok(-3)),
        (Rem, (-7, Int), (2, Int), Ok(-1)),
        (Div, (1, Int), (0, Int), Err(FaultKind::DivisionByZero)),
        (Div, (i32::MIN as i128, Int), (-1, Int), Err(FaultKind::SignedOverflow)),
        (Shl, (1, Int), (32, Int), Err(FaultKind::ShiftRange { count: 32 })),
        (Shl, (1, Int), (-1, Int), Err(FaultKind::ShiftRange { count: -1 })),
        (Shl, (1, Int), (40, Long), Err(FaultKind::ShiftRange { count: 40 })),
        (Shl, (1, Long), (40, Int), Ok(1 << 40)),
        (Shr, (-8, Int), (1, Int), Ok(-4)),
        (Shr, (0xFFFF_FFF8, UInt), (1, Int), Ok(0x7FFF_FFFC)),
        (Eq, (-1, Int), (u64::MAX as i128, ULong), Ok(1)),
        (And, (2, Int), (4, Int), Ok(1)),
        (Or, (0, Int), (0, Int), Ok(0)),
        (BitXor, (-1, Char), (1, Int), Ok(-2)),
    ];
    for (op, a, b, want) in cases {
        let got = int(op, a, b).map(|v| match v {
            Value::Int(v) => v,
            _ => panic!("an integer"),
        });
        assert_eq!(got, want, "{a:?} {} {b:?}", op.symbol());
    }
}

#[test]
fn floats_keep_their_precision() {
    let sum = expr(|b| {
        let (x, y) = (b.fl(0.1), b.fl(0.2));
        b.bin(BinOp::Add, x, y)
    });
    assert_eq!(sum, Ok(Value::F32(0.1f32 + 0.2f32)));
    let mixed = expr(|b| {
        let (x, y) = (b.fl(0.1), b.d(0.2));
        b.bin(BinOp::Add, x, y)
    });
    assert_eq!(mixed, Ok(Value::F64(0.1f32 as f64 + 0.2)));
    let big = expr(|b| {
        let x = b.d(3e9);
        let ty = b.i32();
        b.cast(ty, x)
    });
    assert_eq!(big, Err(FaultKind::ConversionRange));
    // C's sqrt is the double one whatever its argument
    let root = expr(|b| {
        let x = b.fl(2.0);
        let ty = b.f64();
        b.call("sqrt", &[x], ty)
    });
    assert_eq!(root, Ok(Value::F64(2f64.sqrt())));
}

#[test]
fn loops_arrays_and_vlas() {
    // int f(int n, int m, double a[n][m]) { double s = 0; for i for j s += a[i][j] * (i + 1); return s; }
    let mut b = B::default();
    let i32t = b.i32();
    let n = b.param("n", i32t);
    let m = b.param("m", i32t);
    let f64t = b.f64();
    let len = b.v(m);
    let row = b.vla(f64t, len);
    let pa = b.ptr(row);
    let a = b.param("a", pa);
    let s = b.local("s", f64t);
    let (i, j) = (b.local("i", i32t), b.local("j", i32t));
    let zero = b.d(0.0);
    let ds = b.decl(s, Some(zero));
    let (vi, vj) = (b.v(i), b.v(j));
    let ai = b.at(a, vi);
    let aij = b.idx(ai, vj);
    let (vi2, one) = (b.v(i), b.n(1));
    let w = b.bin(BinOp::Add, vi2, one);
    let prod = b.bin(BinOp::Mul, aij, w);
    let vs = b.v(s);
    let acc = b.comp(BinOp::Add, vs, prod);
    let (z1, vm) = (b.n(0), b.v(m));
    let inner = b.for_up(j, z1, vm, &[acc]);
    let (z2, vn) = (b.n(0), b.v(n));
    let outer = b.for_up(i, z2, vn, &[inner]);
    let rs = b.v(s);
    let r = b.ret(rs);
    let body = b.finish(f64t, &[ds, outer, r]);
    let mut heap = Heap::new();
    let data: Vec<f64> = (0..6).map(|x| x as f64).collect();
    let buf = heap.buffer("a", &data).unwrap();
    let args = [Value::Int(2), Value::Int(3), Value::Pointer(buf, 0)];
    assert_eq!(eval(&body, &args, &mut heap), Ok(Some(Value::F64(3.0 + 2.0 * 12.0))));
    // one row too many
    let args = [Value::Int(3), Value::Int(3), Value::Pointer(buf, 0)];
    let e = eval(&body, &args, &mut heap).unwrap_err();
    assert!(matches!(e, FaultKind::OutOfBounds { offset: 48, size: 8, .. }), "{e:?}");
    // null and uninitialized
    let args = [Value::Int(1), Value::Int(1), Value::Null];
    assert_eq!(eval(&body, &args, &mut heap), Err(FaultKind::NullDereference));
    heap.poison(buf);
    let args = [Value::Int(1), Value::Int(1), Value::Pointer(buf, 0)];
    assert!(matches!(eval(&body, &args, &mut heap), Err(FaultKind::Uninitialized { .. })));
    let args = [Value::Int(1), Value::Int(1), Value::Pointer(buf, 4)];
    assert!(matches!(eval(&body, &args, &mut heap), Err(FaultKind::Misaligned { .. })));
}

#[test]
fn deep_terms_are_refused_not_overflowed_and_long_sums_are_fine() {
    let deep = expr(|b| {
        let mut e = b.n(1);
        for _ in 0..20_000 {
            e = b.un(UnOp::BitNot, e);
        }
        e
    });
    assert!(matches!(deep, Err(FaultKind::NotSupported { .. })));
    let long = expr(|b| {
        let mut e = b.n(1);
        for _ in 0..20_000 {
            let one = b.n(1);
            e = b.bin(BinOp::Add, e, one);
        }
        e
    });
    assert_eq!(long, Ok(Value::Int(20_001)));
}

#[test]
fn uninitialized_locals_are_seen_and_fuel_ends() {
    let mut b = B::default();
    let i32t = b.i32();
    let x = b.local("x", i32t);
    let d = b.decl(x, None);
    let v = b.v(x);
    let r = b.ret(v);
    let body = b.finish(i32t, &[d, r]);
    assert!(matches!(
        eval(&body, &[], &mut Heap::new()),
        Err(FaultKind::Uninitialized { object, .. }) if &*object == "x"
    ));
    let mut b = B::default();
    let one = b.n(1);
    let l = b.list(&[]);
    let w = b.s(Op::While, &[one, l]);
    let body = b.finish_void(&[w]);
    assert_eq!(eval(&body, &[], &mut Heap::new()), Err(FaultKind::OutOfFuel));
}

#[test]
fn calls_recurse_and_have_a_limit() {
    let mut b = B::new("fib");
    let i32t = b.i32();
    let n = b.param("n", i32t);
    let (v, two) = (b.v(n), b.n(2));
    let c = b.bin(BinOp::Lt, v, two);
    let v1 = b.v(n);
    let r0 = b.ret(v1);
    let base = b.if_(c, &[r0]);
    let (a1, k1) = (b.v(n), b.n(1));
    let m1 = b.bin(BinOp::Sub, a1, k1);
    let (a2, k2) = (b.v(n), b.n(2));
    let m2 = b.bin(BinOp::Sub, a2, k2);
    let (c1, c2) = (b.call("fib", &[m1], i32t), b.call("fib", &[m2], i32t));
    let s = b.bin(BinOp::Add, c1, c2);
    let r = b.ret(s);
    let body = b.finish(i32t, &[base, r]);
    assert_eq!(eval(&body, &[Value::Int(15)], &mut Heap::new()), Ok(Some(Value::Int(610))));

    let mut b = B::new("down");
    let i32t = b.i32();
    let n = b.param("n", i32t);
    let v = b.v(n);
    let c = b.call("down", &[v], i32t);
    let r = b.ret(c);
    let body = b.finish(i32t, &[r]);
    assert_eq!(eval(&body, &[Value::Int(1)], &mut Heap::new()), Err(FaultKind::DepthLimit));
}

#[test]
fn structs_pointers_switch_and_goto() {
    // struct P { int x; double y; } p, q; p.x = 3; p.y = 2.5; q = p; int *r = &q.x; *r += 4;
    // switch (q.x) { case 7: q.y *= 2; case 8: q.y += 1; break; default: q.y = 0; }  goto out; q.y = -1; out: return q.y;
    let mut b = B::default();
    let (i32t, f64t) = (b.i32(), b.f64());
    let rec = b.b.types.add_record(Record::new("P", false));
    let members = vec![Field::new("x", i32t), Field::new("y", f64t)];
    b.b.types.complete_record(rec, members, Default::default());
    let pt = b.b.types.plain(TypeKind::Record(rec));
    let (p, q) = (b.local("p", pt), b.local("q", pt));
    let ip = b.ptr(i32t);
    let r = b.local("r", ip);
    let mut st = Vec::new();
    st.push(b.decl(p, None));
    st.push(b.decl(q, None));
    let vp = b.v(p);
    let px = b.member(vp, "x", i32t);
    let three = b.n(3);
    st.push(b.set(px, three));
    let vp = b.v(p);
    let py = b.member(vp, "y", f64t);
    let d = b.d(2.5);
    st.push(b.set(py, d));
    let (vq, vp) = (b.v(q), b.v(p));
    st.push(b.set(vq, vp));
    let vq = b.v(q);
    let qx = b.member(vq, "x", i32t);
    let a = b.addr(qx);
    st.push(b.decl(r, Some(a)));
    let vr = b.v(r);
    let dr = b.deref(vr);
    let four = b.n(4);
    st.push(b.comp(BinOp::Add, dr, four));
    let vq = b.v(q);
    let qx = b.member(vq, "x", i32t);
    let qy = |b: &mut B| {
        let vq = b.v(q);
        b.member(vq, "y", f64t)
    };
    let seven = b.n(7);
    let c7 = b.s(Op::Case, &[seven]);
    let (y, two) = (qy(&mut b), b.n(2));
    let m = b.comp(BinOp::Mul, y, two);
    let eight = b.n(8);
    let c8 = b.s(Op::Case, &[eight]);
    let (y, one) = (qy(&mut b), b.n(1));
    let p1 = b.comp(BinOp::Add, y, one);
    let br = b.s(Op::Break, &[]);
    let df = b.s(Op::Default, &[]);
    let (y, z) = (qy(&mut b), b.n(0));
    let s0 = b.set(y, z);
    let l = b.list(&[c7, m, c8, p1, br, df, s0]);
    st.push(b.s(Op::Switch, &[qx, l]));
    st.push(b.s(Op::Goto("out".into()), &[]));
    let (y, z) = (qy(&mut b), b.n(-1));
    st.push(b.set(y, z));
    st.push(b.s(Op::Label("out".into()), &[]));
    let y = qy(&mut b);
    st.push(b.ret(y));
    let body = b.finish(f64t, &st);
    assert_eq!(eval(&body, &[], &mut Heap::new()), Ok(Some(Value::F64(6.0))));
}

#[test]
fn deep_nesting_of_every_kind_is_refused() {
    let depth = 5_000;
    // statements: if { for { while { … } } }
    let mut b = B::default();
    let i32t = b.i32();
    let i = b.local("i", i32t);
    let mut s = b.s(Op::Empty, &[]);
    for k in 0..depth {
        let (z, one) = (b.n(0), b.n(1));
        s = match k % 4 {
            0 => b.if_(one, &[s]),
            1 => b.for_up(i, z, one, &[s]),
            2 => {
                let br = b.s(Op::Break, &[]);
                let l = b.list(&[s, br]);
                b.s(Op::While, &[one, l])
            }
            _ => {
                let l = b.list(&[s]);
                b.s(Op::Switch, &[one, l])
            }
        };
    }
    let body = b.finish_void(&[s]);
    assert!(matches!(eval(&body, &[], &mut Heap::new()), Err(FaultKind::NotSupported { .. }) | Ok(None)));
    // expressions
    for kind in 0..5 {
        let r = expr(|b| {
            let mut e = b.n(1);
            for _ in 0..depth {
                let one = b.n(1);
                let i32t = b.i32();
                e = match kind {
                    0 => b.sel(one, e, one),
                    1 => b.bin(BinOp::Add, one, e),
                    2 => b.call("abs", &[e], i32t),
                    3 => b.bin(BinOp::And, one, e),
                    _ => b.t(Op::Comma, &[one, e], i32t),
                };
            }
            e
        });
        assert!(matches!(r, Err(FaultKind::NotSupported { .. })), "{kind}: {r:?}");
    }
    // a chain of `else if` is no nesting
    let mut b = B::default();
    let i32t = b.i32();
    let mut s = b.list(&[]);
    for k in 0..depth {
        let (a, c) = (b.n(k), b.n(0));
        let cond = b.bin(BinOp::Lt, a, c);
        let then = b.list(&[]);
        let f = b.s(Op::If, &[cond, then, s]);
        s = b.list(&[f]);
    }
    let r = b.n(5);
    let r = b.ret(r);
    let body = b.finish(i32t, &[s, r]);
    assert_eq!(eval(&body, &[], &mut Heap::new()), Ok(Some(Value::Int(5))));
}
