//! Steps a second: `cargo run --release -p ww-simulate --example speed`.

#[path = "../tests/common/mod.rs"]
mod common;
use base::Budget;
use common::B;
use simulate::*;
use term::*;

/// Matrix product of n×n doubles, row-major.
fn matmul() -> (Body, Vec<TermId>) {
    let mut b = B::new("matmul");
    let (i32t, f64t) = (b.i32(), b.f64());
    let pt = b.ptr(f64t);
    let n = b.param("n", i32t);
    let (x, y, z) = (b.param("x", pt), b.param("y", pt), b.param("z", pt));
    let (i, j, k, s) = (b.local("i", i32t), b.local("j", i32t), b.local("k", i32t), b.local("s", f64t));
    let at = |b: &mut B, a, r, c| {
        let (vr, vn) = (b.v(r), b.v(n));
        let m = b.bin(BinOp::Mul, vr, vn);
        let vc = b.v(c);
        let e = b.bin(BinOp::Add, m, vc);
        b.at(a, e)
    };
    let (xik, ykj) = (at(&mut b, x, i, k), at(&mut b, y, k, j));
    let m = b.bin(BinOp::Mul, xik, ykj);
    let vs = b.v(s);
    let acc = b.comp(BinOp::Add, vs, m);
    let (z0, vn) = (b.n(0), b.v(n));
    let lk = b.for_up(k, z0, vn, &[acc]);
    let zero = b.d(0.0);
    let ds = b.decl(s, Some(zero));
    let zij = at(&mut b, z, i, j);
    let vs = b.v(s);
    let st = b.set(zij, vs);
    let (z0, vn) = (b.n(0), b.v(n));
    let lj = b.for_up(j, z0, vn, &[ds, lk, st]);
    let (z0, vn) = (b.n(0), b.v(n));
    let li = b.for_up(i, z0, vn, &[lj]);
    (b.finish_void(&[li]), vec![li, lj, lk])
}

fn main() {
    steps_a_second();
    grid_steps_a_second();
}

fn steps_a_second() {
    let (body, loops) = matmul();
    let p = Program::of([&body]);
    for (n, traced) in [(128usize, false), (48, true)] {
        let mut heap = Heap::new();
        let data: Vec<f64> = (0..n * n).map(|v| v as f64).collect();
        let (x, y) = (heap.buffer("x", &data).unwrap(), heap.buffer("y", &data).unwrap());
        let z = heap.alloc("z", 8, (n * n) as u64).unwrap();
        let args = [Value::Int(n as i128), Value::Pointer(x, 0), Value::Pointer(y, 0), Value::Pointer(z, 0)];
        let budget = Budget::new(1 << 40);
        let start = std::time::Instant::now();
        let steps = if traced {
            let t = run_traced(&p, "matmul", &args, &mut heap, &loops, &Options::default(), &budget).unwrap();
            assert!(check_claim(&t, loops[0], &[], &[]).is_ok());
            assert!(check_claim(&t, loops[1], &[], &[]).is_ok());
            assert!(check_claim(&t, loops[2], &[], &[]).is_err());
            t.outcome.steps
        } else {
            run(&p, "matmul", &args, &mut heap, &Options::default(), &budget).unwrap().steps
        };
        let s = start.elapsed().as_secs_f64();
        eprintln!("n={n} traced={traced}: {steps} steps, {:.1} million a second", steps as f64 / s / 1e6);
    }
}

fn grid_steps_a_second() {
    let text = "extern \"C\" __global__ void k(long long n, const double *x, double *y) {\n\
       long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;\n\
       if (i < n) { double s = 0; for (int j = 0; j < 16; j++) s += x[(i + j) % n]; y[i] = s; } }";
    let parsed = front::Parsed::parse(front::Language::Cuda, text);
    let unit = front::lower(&parsed, &front::Options::default(), &mut front::Memo::default());
    let bodies: Vec<Body> = unit.items.iter().map(|i| (*i.body).clone()).collect();
    let p = Program::of(&bodies);
    for granularity in [Granularity::Access, Granularity::Quantum(64), Granularity::Barrier] {
        let mut heap = Heap::new();
        let n = 65_536usize;
        let x = heap.buffer("x", &vec![1.0f64; n]).unwrap();
        let y = heap.alloc("y", 8, n as u64).unwrap();
        let args = [Value::Int(n as i128), Value::Pointer(x, 0), Value::Pointer(y, 0)];
        let schedule = Schedule { granularity, ..Schedule::seeded(1) };
        let start = std::time::Instant::now();
        let options = Options { overloads: true, ..Options::default() };
        let launch = Launch::linear(256, 256);
        let budget = Budget::new(1 << 40);
        let r = run_grid(&p, "k", &args, &mut heap, &launch, &schedule, &options, &budget).unwrap();
        assert!(r.is_clean());
        let s = start.elapsed().as_secs_f64();
        eprintln!("{granularity:?}: {} steps, {:.1} million a second", r.steps, r.steps as f64 / s / 1e6);
    }
}
