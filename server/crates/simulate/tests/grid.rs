//! Kernels in random interleavings: right results, and everything wrong that is in them.
mod common;
use base::Budget;
use common::B;
use simulate::*;
use term::*;

#[derive(Clone, Copy, PartialEq)]
enum Flaw {
    None,
    NoBarrier,
    DivergentBarrier,
    OutOfBounds,
    Uninitialized,
}

/// `__shared__ int s[64]; s[tid] = in[i]; barrier; for (k = 32; k > 0; k /= 2) { if (tid < k) s[tid] += s[tid + k];
/// barrier; } if (tid == 0) out[blockIdx.x] = s[0];`
fn tree_sum(flaw: Flaw) -> Body {
    let mut b = B::new("sum");
    let i32t = b.i32();
    let pt = b.ptr(i32t);
    let (input, out) = (b.param("in", pt), b.param("out", pt));
    let st = b.arr(i32t, 64);
    let s = b.symbol("s", st, Storage::Shared);
    let (tid, k) = (b.local("tid", i32t), b.local("k", i32t));
    let void = b.b.types.void();
    let barrier = |b: &mut B| b.call("__syncthreads", &[], void);
    let tx = b.special("threadIdx");
    let d1 = b.decl(tid, Some(tx));
    let vt = b.v(tid);
    let dst = b.at(s, vt);
    let (bx, bd, vt) = (b.special("blockIdx"), b.special("blockDim"), b.v(tid));
    let m = b.bin(BinOp::Mul, bx, bd);
    let mut i = b.bin(BinOp::Add, m, vt);
    if flaw == Flaw::OutOfBounds {
        let one = b.n(1);
        i = b.bin(BinOp::Add, i, one);
    }
    let src = b.at(input, i);
    let mut load = b.set(dst, src);
    if flaw == Flaw::Uninitialized {
        let (vt, lim) = (b.v(tid), b.n(60));
        let c = b.bin(BinOp::Lt, vt, lim);
        load = b.if_(c, &[load]);
    }
    let b1 = barrier(&mut b);
    let dk0 = b.n(32);
    let dk = b.decl(k, Some(dk0));
    let (vk, z) = (b.v(k), b.n(0));
    let cond = b.bin(BinOp::Gt, vk, z);
    let (vk, two) = (b.v(k), b.n(2));
    let step = b.comp(BinOp::Div, vk, two);
    let (vt, vk) = (b.v(tid), b.v(k));
    let c = b.bin(BinOp::Lt, vt, vk);
    let vt = b.v(tid);
    let l = b.at(s, vt);
    let (vt, vk) = (b.v(tid), b.v(k));
    let tk = b.bin(BinOp::Add, vt, vk);
    let r = b.at(s, tk);
    let add = b.comp(BinOp::Add, l, r);
    let b2 = barrier(&mut b);
    let items = match flaw {
        Flaw::NoBarrier => vec![b.if_(c, &[add])],
        Flaw::DivergentBarrier => vec![b.if_(c, &[add, b2])],
        _ => vec![b.if_(c, &[add]), b2],
    };
    let inner = b.list(&items);
    let lp = b.s(Op::For, &[dk, cond, step, inner]);
    let (vt, z) = (b.v(tid), b.n(0));
    let is0 = b.bin(BinOp::Eq, vt, z);
    let bx = b.special("blockIdx");
    let dst = b.at(out, bx);
    let z = b.n(0);
    let s0 = b.at(s, z);
    let st = b.set(dst, s0);
    let fin = b.if_(is0, &[st]);
    let ds = b.decl(s, None);
    b.finish_void(&[ds, d1, load, b1, lp, fin])
}

fn launch(body: &Body, seed: u64) -> (GridReport, Vec<Option<i32>>) {
    let mut heap = Heap::new();
    let data: Vec<i32> = (0..256).collect();
    let input = heap.buffer("in", &data).unwrap();
    let out = heap.alloc("out", 4, 4).unwrap();
    let p = Program::of([body]);
    let args = [Value::Pointer(input, 0), Value::Pointer(out, 0)];
    let options = Options { overloads: true, ..Options::default() };
    let r = run_grid(
        &p,
        &body.name,
        &args,
        &mut heap,
        &Launch::linear(4, 64),
        &Schedule::seeded(seed),
        &options,
        &Budget::new(20_000_000),
    )
    .unwrap();
    (r, heap.read(out))
}

#[test]
fn a_tree_reduction_is_right_in_every_interleaving() {
    let body = tree_sum(Flaw::None);
    for seed in 0..8 {
        let (r, out) = launch(&body, seed);
        assert!(r.is_clean(), "{:?}", r.findings);
        let want: Vec<Option<i32>> = (0..4).map(|b| Some((0..64).map(|t| b * 64 + t).sum())).collect();
        assert_eq!(out, want);
    }
}

#[test]
fn the_same_schedule_gives_the_same_run() {
    let body = tree_sum(Flaw::NoBarrier);
    let (a, b) = (launch(&body, 5), launch(&body, 5));
    assert_eq!(a.0.findings, b.0.findings);
    assert_eq!((a.0.steps, a.1), (b.0.steps, b.1));
}

#[test]
fn a_missing_barrier_is_a_race() {
    let (r, _) = launch(&tree_sum(Flaw::NoBarrier), 1);
    let race = r
        .findings
        .iter()
        .find_map(|f| match f {
            Finding::Race(r) => Some(r),
            _ => None,
        })
        .expect("a race");
    assert_eq!(&*race.name, "s");
    assert!(race.shared && race.first.thread.block == race.second.thread.block);
    assert_ne!(race.first.thread.thread, race.second.thread.thread);
}

#[test]
fn a_divergent_barrier_is_found() {
    let (r, _) = launch(&tree_sum(Flaw::DivergentBarrier), 1);
    assert!(r.findings.iter().any(|f| matches!(f, Finding::BarrierDivergence { .. })), "{:?}", r.findings);
}

#[test]
fn accesses_outside_and_unwritten_shared_memory_are_found() {
    let (r, _) = launch(&tree_sum(Flaw::OutOfBounds), 1);
    assert!(!r.completed);
    assert!(
        r.findings.iter().any(|f| matches!(
            f,
            Finding::Fault(Fault { kind: FaultKind::OutOfBounds { offset: 1024, .. }, thread: Some(t), .. })
                if t.block == [3, 0, 0] && t.thread == [63, 0, 0]
        )),
        "{:?}",
        r.findings
    );
    let (r, _) = launch(&tree_sum(Flaw::Uninitialized), 1);
    assert!(
        r.findings.iter().any(|f| matches!(
            f,
            Finding::Fault(Fault { kind: FaultKind::Uninitialized { object, .. }, .. }) if &**object == "s"
        )),
        "{:?}",
        r.findings
    );
}

/// One thread per element: `out[0] += 1` plainly or atomically; `out[0]` read afterwards.
fn counter(atomic: bool) -> Body {
    let mut b = B::new("count");
    let i32t = b.i32();
    let pt = b.ptr(i32t);
    let (_, out) = (b.param("in", pt), b.param("out", pt));
    let z = b.n(0);
    let o0 = b.at(out, z);
    let one = b.n(1);
    let s = if atomic {
        let p = b.addr(o0);
        b.call("atomicAdd", &[p, one], i32t)
    } else {
        b.comp(BinOp::Add, o0, one)
    };
    b.finish_void(&[s])
}

#[test]
fn atomics_do_not_race_and_plain_updates_do() {
    let run = |atomic| {
        let body = counter(atomic);
        let mut heap = Heap::new();
        let out = heap.buffer("out", &[0i32]).unwrap();
        let p = Program::of([&body]);
        let args = [Value::Null, Value::Pointer(out, 0)];
        let r = run_grid(
            &p,
            "count",
            &args,
            &mut heap,
            &Launch::linear(3, 40),
            &Schedule::seeded(7),
            &Options::default(),
            &Budget::new(1_000_000),
        )
        .unwrap();
        (r, heap.read::<i32>(out)[0])
    };
    let (r, n) = run(true);
    assert!(r.is_clean());
    assert_eq!(n, Some(120));
    let (r, n) = run(false);
    assert!(matches!(r.findings.first(), Some(Finding::Race(_))));
    assert_ne!(n, Some(120)); // updates were lost
}

/// Each warp sums its lane numbers with shuffles; lane 0 writes.
#[test]
fn shuffles_and_votes() {
    let mut b = B::new("warp");
    let i32t = b.i32();
    let pt = b.ptr(i32t);
    let out = b.param("out", pt);
    let (v, k) = (b.local("v", i32t), b.local("k", i32t));
    let tx = b.special("threadIdx");
    let dv = b.decl(v, Some(tx));
    let k0 = b.n(16);
    let dk = b.decl(k, Some(k0));
    let (vk, z) = (b.v(k), b.n(0));
    let cond = b.bin(BinOp::Gt, vk, z);
    let (vk, one) = (b.v(k), b.n(1));
    let step = b.comp(BinOp::Shr, vk, one);
    let mask = b.int(0xFFFF_FFFF, IntKind::UInt);
    let (vv, vk) = (b.v(v), b.v(k));
    let sh = b.call("__shfl_down_sync", &[mask, vv, vk], i32t);
    let vv = b.v(v);
    let add = b.comp(BinOp::Add, vv, sh);
    let inner = b.list(&[add]);
    let lp = b.s(Op::For, &[dk, cond, step, inner]);
    let (tx, w) = (b.special("threadIdx"), b.n(32));
    let lane = b.bin(BinOp::Rem, tx, w);
    let z = b.n(0);
    let is0 = b.bin(BinOp::Eq, lane, z);
    let (tx, w) = (b.special("threadIdx"), b.n(32));
    let wi = b.bin(BinOp::Div, tx, w);
    let (dst, vv) = (b.at(out, wi), b.v(v));
    let st = b.set(dst, vv);
    let fin = b.if_(is0, &[st]);
    let body = b.finish_void(&[dv, lp, fin]);
    let run = |threads| {
        let mut heap = Heap::new();
        let out = heap.alloc("out", 4, 2).unwrap();
        let p = Program::of([&body]);
        let r = run_grid(
            &p,
            "warp",
            &[Value::Pointer(out, 0)],
            &mut heap,
            &Launch::linear(1, threads),
            &Schedule::seeded(3),
            &Options::default(),
            &Budget::new(1_000_000),
        )
        .unwrap();
        (r, heap.read::<i32>(out))
    };
    let (r, out) = run(64);
    assert!(r.is_clean(), "{:?}", r.findings);
    assert_eq!(out, vec![Some((0..32).sum()), Some((32..64).sum())]);
    // half a warp: the upper lanes do not exist
    let (r, _) = run(16);
    assert!(r.findings.iter().any(|f| matches!(f, Finding::UndefinedShuffle { .. })));
}

/// No thread that comes to its end takes fewer steps than are said beforehand.
#[test]
fn what_a_launch_takes_at_least_is_known_before() {
    let body = tree_sum(Flaw::None);
    let (r, _) = launch(&body, 1);
    let options = Options { overloads: true, ..Options::default() };
    let least = simulate::compile(&Program::of([&body]), &body.name, &options).unwrap().least_steps();
    assert!(least > 5 && least * 4 * 64 <= r.steps, "{least} steps a thread, {} in all", r.steps);
}
