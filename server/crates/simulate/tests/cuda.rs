//! Kernels from CUDA text.
use base::Budget;
use front::{lower, Language, Memo, Parsed};
use simulate::*;
use term::Body;

fn bodies(text: &str) -> Vec<Body> {
    let parsed = Parsed::parse(Language::Cuda, text);
    let unit = lower(&parsed, &front::Options::default(), &mut Memo::default());
    unit.items.iter().map(|i| (*i.body).clone()).collect()
}

struct Grid {
    bodies: Vec<Body>,
    heap: Heap,
}

impl Grid {
    fn new(text: &str) -> Grid {
        Grid { bodies: bodies(text), heap: Heap::new() }
    }
    fn run(&mut self, kernel: &str, launch: Launch, args: &[Value], seed: u64) -> GridReport {
        let program = Program::of(&self.bodies);
        let options = Options { overloads: true, ..Options::default() };
        let budget = Budget::new(50_000_000);
        let schedule = Schedule::seeded(seed);
        run_grid(&program, kernel, args, &mut self.heap, &launch, &schedule, &options, &budget)
            .unwrap_or_else(|f| panic!("{f}"))
    }
}

fn ptr(o: ObjectId) -> Value {
    Value::Pointer(o, 0)
}

#[test]
fn saxpy_with_a_guard_and_a_device_function() {
    let mut g = Grid::new(
        "__device__ static float axpy(float a, float x, float y) { return a * x + y; }\n\
         extern \"C\" __global__ void saxpy(long long n, float a, const float * __restrict__ x, float * __restrict__ y) {\n\
           long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;\n\
           if (i < n) y[i] = axpy(a, x[i], y[i]);\n\
         }",
    );
    for n in [0usize, 1, 31, 32, 33, 127, 129] {
        let xs: Vec<f32> = (0..n).map(|i| i as f32 * 0.1).collect();
        let x = g.heap.buffer("x", &xs).unwrap();
        let y = g.heap.buffer("y", &vec![1.0f32; n]).unwrap();
        let args = [Value::Int(n as i128), Value::F32(3.0), ptr(x), ptr(y)];
        let r = g.run("saxpy", Launch::linear(n.div_ceil(64).max(1) as u32, 64), &args, n as u64);
        assert!(r.is_clean(), "{:?}", r.findings);
        let want: Vec<Option<f32>> = xs.iter().map(|x| Some(3.0 * x + 1.0)).collect();
        assert_eq!(g.heap.read::<f32>(y), want);
    }
}

const LAST_BLOCK: &str = "__device__ unsigned int done = 0;\n\
     extern \"C\" __global__ void sum(const double *in, double *partial, double *out, int n) {\n\
       __shared__ double s[32];\n\
       __shared__ int last;\n\
       int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;\n\
       s[t] = i < n ? in[i] : 0.0;\n\
       __syncthreads();\n\
       for (int k = blockDim.x / 2; k > 0; k >>= 1) { if (t < k) s[t] += s[t + k]; __syncthreads(); }\n\
       if (t == 0) {\n\
         partial[blockIdx.x] = s[0];\n\
         FENCE\n\
         unsigned int ticket = atomicInc(&done, gridDim.x - 1);\n\
         last = ticket == gridDim.x - 1;\n\
       }\n\
       __syncthreads();\n\
       if (last && t == 0) { double r = 0; for (unsigned b = 0; b < gridDim.x; b++) r += partial[b]; out[0] = r; }\n\
     }";

#[test]
fn the_last_block_adds_the_partial_sums() {
    let run = |text: &str, seed| {
        let mut g = Grid::new(text);
        let data: Vec<f64> = (0..200).map(f64::from).collect();
        let x = g.heap.buffer("in", &data).unwrap();
        let p = g.heap.alloc("partial", 8, 7).unwrap();
        let o = g.heap.alloc("out", 8, 1).unwrap();
        let args = [ptr(x), ptr(p), ptr(o), Value::Int(200)];
        let r = g.run("sum", Launch::linear(7, 32), &args, seed);
        (r, g.heap.read::<f64>(o)[0])
    };
    for seed in 0..4 {
        let (r, v) = run(&LAST_BLOCK.replace("FENCE", "__threadfence();"), seed);
        assert!(r.is_clean(), "{:?}", r.findings);
        assert_eq!(v, Some(19900.0));
    }
    // without the fence nothing orders the partial sums
    let (r, _) = run(&LAST_BLOCK.replace("FENCE", ""), 1);
    assert!(
        r.findings.iter().any(|f| matches!(f, Finding::Race(r) if &*r.name == "partial" && !r.shared)),
        "{:?}",
        r.findings
    );
}

#[test]
fn grids_of_two_dimensions_dynamic_shared_memory_and_overloads() {
    let mut g = Grid::new(
        "extern \"C\" __global__ void k(const float *in, float *out, int n, int m) {\n\
           extern __shared__ float tile[];\n\
           int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;\n\
           int t = threadIdx.y * blockDim.x + threadIdx.x;\n\
           tile[t] = i < n && j < m ? in[i * m + j] : 0.0f;\n\
           __syncthreads();\n\
           if (i < n && j < m) out[j * n + i] = sqrt(tile[t]) + min(i, 1) * max(0.5f, 0.25f);\n\
         }",
    );
    let (n, m) = (5usize, 9usize);
    let xs: Vec<f32> = (0..n * m).map(|i| i as f32).collect();
    let x = g.heap.buffer("in", &xs).unwrap();
    let y = g.heap.alloc("out", 4, (n * m) as u64).unwrap();
    let launch = Launch { grid: [3, 2, 1], block: [4, 4, 1], shared_bytes: 64 };
    let args = [ptr(x), ptr(y), Value::Int(n as i128), Value::Int(m as i128)];
    let r = g.run("k", launch, &args, 9);
    assert!(r.is_clean(), "{:?}", r.findings);
    let out = g.heap.read::<f32>(y);
    for i in 0..n {
        for j in 0..m {
            let want = ((i * m + j) as f32).sqrt() + i.min(1) as f32 * 0.5;
            assert_eq!(out[j * n + i], Some(want));
        }
    }
    // too little shared memory is an access outside of it
    let r = g.run("k", Launch { shared_bytes: 60, ..launch }, &args, 9);
    assert!(
        matches!(r.findings.last(), Some(Finding::Fault(Fault { kind: FaultKind::OutOfBounds { .. }, .. }))),
        "{:?}",
        r.findings
    );
}

#[test]
fn printing_changes_nothing_and_its_arguments_are_evaluated() {
    let mut g = Grid::new(
        "#include <stdio.h>\nextern \"C\" __global__ void k(int *a) {\n\
           int t = threadIdx.x; printf(\"%d of %s\\n\", a[t]++, \"a\"); if (a[t] > 40) printf(\"large\\n\");\n\
         }",
    );
    let a = g.heap.buffer("a", &(0..32).collect::<Vec<i32>>()).unwrap();
    let r = g.run("k", Launch::linear(1, 32), &[ptr(a)], 3);
    assert!(r.is_clean(), "{:?}", r.findings);
    assert_eq!(g.heap.read::<i32>(a), (1..33).map(Some).collect::<Vec<_>>());
}

#[test]
fn early_exit_before_a_barrier_is_divergence() {
    let mut g = Grid::new(
        "extern \"C\" __global__ void k(int *out, int n) {\n\
           if (threadIdx.x >= n) return;\n\
           out[threadIdx.x] = 1;\n\
           __syncthreads();\n\
           out[threadIdx.x] += 1;\n\
         }",
    );
    let o = g.heap.alloc("out", 4, 64).unwrap();
    let r = g.run("k", Launch::linear(1, 64), &[ptr(o), Value::Int(64)], 1);
    assert!(r.is_clean(), "{:?}", r.findings);
    let r = g.run("k", Launch::linear(1, 64), &[ptr(o), Value::Int(60)], 1);
    assert!(
        r.findings.iter().any(|f| matches!(f, Finding::BarrierDivergence { other_term: None, .. })),
        "{:?}",
        r.findings
    );
}

#[test]
fn warp_synchronous_code_needs_its_barriers() {
    let text = "extern \"C\" __global__ void k(int *out) {\n\
           volatile __shared__ int s[64];\n\
           int t = threadIdx.x;\n\
           s[t] = t; s[t + 32] = t; __syncwarp();\n\
           for (int k = 32; k > 0; k /= 2) { int v = s[t] + s[t + k % 32]; SYNC s[t] = v; SYNC }\n\
           out[t] = s[t];\n\
         }";
    let run = |sync: &str| {
        let mut g = Grid::new(&text.replace("SYNC", sync));
        let o = g.heap.alloc("out", 4, 32).unwrap();
        g.run("k", Launch::linear(1, 32), &[ptr(o)], 4)
    };
    let r = run("__syncwarp();");
    assert!(r.is_clean(), "{:?}", r.findings);
    let r = run("");
    assert!(matches!(r.findings.first(), Some(Finding::Race(r)) if r.shared), "{:?}", r.findings);
}

/// A function of a library is the one for the type of numbers, which whoever wants it gives.
#[test]
fn library_templates_are_chosen_by_their_numbers() {
    let run = |element: &str, given: &str| {
        let text = format!(
            "int cub__DeviceReduce__Sum__{given}(void *t, unsigned long *b, const {given} *in, {given} *out, int n) {{\n\
               if (t == 0) {{ *b = 7; return 0; }}\n  *out = 0; for (int i = 0; i < n; i++) *out += in[i]; return 0; }}\n\
             int f(void) {{ {element} in[3] = {{1, 2, 4}}, out[1]; size_t bytes = 0; char temp[8];\n\
               cub::DeviceReduce::Sum(0, bytes, in, out, 3); cub::DeviceReduce::Sum(temp, bytes, in, out, 3);\n\
               return (int)(100 * bytes) + (int)out[0]; }}\n"
        );
        let bodies = bodies(&text);
        let program = Program::of(&bodies);
        let budget = Budget::new(100_000);
        run(&program, "f", &[], &mut Heap::new(), &Options::default(), &budget).map(|o| o.value)
    };
    assert_eq!(run("int", "int").unwrap(), Some(Value::Int(707)));
    assert_eq!(run("float", "float").unwrap(), Some(Value::Int(707)));
    assert!(run("double", "float").is_err());
}

#[test]
fn functions_of_the_device_have_values() {
    let mut g = Grid::new(
        "__device__ void order(float &a, float &b) { if (a > b) { float t = a; a = b; b = t; } }\n\
         __global__ void k(float *a, unsigned *u) {\n\
           int t = threadIdx.x;\n\
           float x = a[t], s, c, low = 3, high = 2;\n\
           sincosf(0.0f * x, &s, &c);\n\
           order(low, high);\n\
           a[t] = rsqrtf(4.0f) + rsqrt(16.0f) + s + c + low * 10 + high * 100 + __saturatef(x) * 1000;\n\
           u[t] = __reduce_max_sync(0xffffffffu, u[t]) + __umul24(t, 1000) + 1000000 * __popc(__match_any_sync(0xffffffffu, t / 16));\n\
         }",
    );
    let a = g.heap.buffer("a", &[2.0f32; 32]).unwrap();
    let numbers: Vec<u32> = (0..32).collect();
    let u = g.heap.buffer("u", &numbers).unwrap();
    let r = g.run("k", Launch::linear(1, 32), &[ptr(a), ptr(u)], 3);
    assert!(r.is_clean(), "{:?}", r.findings);
    assert_eq!(g.heap.read::<f32>(a), vec![Some(0.5 + 0.25 + 0.0 + 1.0 + 20.0 + 300.0 + 1000.0); 32]);
    let want: Vec<Option<u32>> = (0..32).map(|t| Some(31 + 1000 * t + 16_000_000)).collect();
    assert_eq!(g.heap.read::<u32>(u), want);
}
