//! Bundles whose host is a program: it decides by what kernels left, writes between them, and keeps things for itself.
#![cfg(target_os = "linux")]

mod common;
#[path = "common/standin.rs"]
mod standin;

use base::CancelToken;
use device::bundle::{Bundle, Contents, HostMemory, Number, Original, Place, Program, Word};
use device::{Check, Client, DeviceError, Limits, ProfileOutcome, WorkerCommand};
use standin::StandIn;

const N: u64 = 500;

const HEADER: &str = "
#include <stddef.h>
enum cudaError_t { cudaSuccess = 0, cudaErrorUnknown = 999 };
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2 };
typedef struct ww_stream *cudaStream_t;
struct dim3 { unsigned x, y, z; dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {} };
struct ww_thread { int none; };
extern \"C\" {
cudaError_t cudaMalloc(void **p, size_t bytes);
cudaError_t cudaFree(void *p);
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaGetLastError(void);
}
";

/// Halves until the first is small: how often, only the numbers say.
const KERNEL: &str = "extern \"C\" __global__ void halve(float *x, long long n) {
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= 0.5f;
}";

const LAUNCH: &str = "extern \"C\" void halve(float *, long long) {}
extern \"C\" int halved(float *x, long long n) {
    float *there;
    if (cudaMalloc((void **)&there, n * sizeof *x) != cudaSuccess) return 0;
    bool ok = cudaMemcpy(there, x, n * sizeof *x, cudaMemcpyHostToDevice) == cudaSuccess;
    ww_launch_there(\"halve\", (unsigned)((n + 255) / 256), 256, 0, 0, halve, there, n);
    ok = ok && cudaGetLastError() == cudaSuccess;
    ok = ok && cudaMemcpy(x, there, n * sizeof *x, cudaMemcpyDeviceToHost) == cudaSuccess;
    cudaFree(there);
    return ok;
}";

fn host(half: &str) -> String {
    format!(
        "union ww_native_word {{ long long i; double d; void *p; }};
         int halved(float *x, long long n);
         long long calls;
         static int before;
         static long long until_small(float *x, float **other, long long n) {{
             long long rounds = before++;
             calls += 1;
             for (x[0] = 100; x[0] > 1; rounds++) {{ {half} x[n - 1] += 1; (*other)[rounds] = x[n - 1]; }}
             return rounds;
         }}
         void ww_native_call(union ww_native_word *a, union ww_native_word *r) {{ r->i = until_small(a[0].p, a[1].p, a[2].i); }}
         void *ww_native_global(int n, unsigned long *size) {{ *size = sizeof calls; return n == 0 ? &calls : 0; }}"
    )
}

fn bundle() -> Bundle {
    let memory = |name: &str, bytes, kind: Number, contents| HostMemory {
        name: name.into(),
        bytes,
        contents,
        links: Vec::new(),
        scalars: vec![(0, kind)],
        element_bytes: kind.scalar().size() as u64,
    };
    let at = |memory| Place { memory, offset: 0 };
    let x = memory("x", 4 * N, Number::F32, Contents::Made { seed: 1, below: 0 });
    let other = memory("other", 4 * N, Number::F32, Contents::Made { seed: 2, below: 0 });
    let calls = memory("calls", 8, Number::Whole8, Contents::Bytes { hex: "05".into() });
    let mut rows = memory("rows", 8, Number::Whole8, Contents::Unset);
    rows.links = vec![(0, Place { memory: 1, offset: 8 })];
    (rows.scalars, rows.element_bytes) = (Vec::new(), 1);
    Bundle {
        name: "until_small".into(),
        source: KERNEL.into(),
        fmad: None,
        options: Vec::new(),
        arch: None,
        library: None,
        host: vec![x, other, calls, rows],
        steps: Vec::new(),
        expected: Vec::new(),
        untimed: false,
        original: Some(Original {
            texts: vec![(host("for (long long i = 0; i < n; i++) x[i] *= 0.5f;"), Vec::new())],
            arguments: vec![
                Word::Memory { place: at(0) },
                Word::Memory { place: at(3) },
                Word::Whole { value: N as i64 },
            ],
            globals: vec![2],
        }),
        program: Some(Program {
            because: "the host decides by what kernels compute".into(),
            texts: vec![(host("if (!halved(x, n)) return -1;"), Vec::new())],
            kernels: vec![LAUNCH.into()],
            headers: vec![("mini.h".into(), HEADER.into())],
            include: "mini.h".into(),
        }),
        tolerance: 0.0,
        limit_ms: None,
    }
}

fn run(command: WorkerCommand, bundle: Bundle) -> Result<ProfileOutcome, DeviceError> {
    let limits =
        Limits { memory_bytes: None, request: std::time::Duration::from_secs(120), ..Limits::default() };
    Client::spawn(command, limits)?.profile(bundle, &CancelToken::new(), &mut |_| {})
}

fn has_compiler() -> bool {
    let has = device::native_compiler(std::path::Path::new("/nowhere")).is_some();
    if !has {
        common::skipped("gcc");
    }
    has
}

#[test]
fn the_host_decides_by_what_kernels_left() {
    if !has_compiler() {
        return;
    }
    let standin = StandIn::new();
    let outcome = run(standin.worker(), bundle());
    let Ok(ProfileOutcome::Measured(m)) = outcome else { panic!("{outcome:?}") };
    // the pieces that the arguments and variables name; addresses differ between any two processes
    let Check::Same { compared, .. } = m.check else { panic!("{:?}", m.check) };
    assert_eq!(compared, N + N + 1 + 8);
    assert_eq!(m.value, Some(7));
    assert_eq!((m.kernels.len(), m.kernels[0].launches), (1, 7));
    assert_eq!((m.to_device.count, m.to_device.bytes, m.from_device.bytes), (7, 7 * 4 * N, 7 * 4 * N));
    // a variable of its own would make later runs longer
    assert!(m.call_ns.len() >= 7 && m.cpu.is_some_and(|c| c.value == 7));
}

#[test]
fn wrong_kernels_are_seen() {
    if !has_compiler() {
        return;
    }
    let standin = StandIn::new();
    let with = |how: &str| run(standin.worker().with_env("WARPWRIGHT_STANDIN_WRONG", how), bundle());
    let different = |outcome: Result<ProfileOutcome, DeviceError>| match outcome {
        Ok(ProfileOutcome::Measured(m)) => {
            assert!(matches!(m.check, Check::Different { .. }), "{:?}", m.check)
        }
        other => panic!("{other:?}"),
    };
    different(with("zeros"));
    let mut wrong = bundle();
    wrong.source = wrong.source.replace("i < n", "i < n - 1");
    different(run(standin.worker(), wrong));
    // a kernel that writes out of bounds, and one that is none
    let mut wild = bundle();
    wild.source = wild.source.replace("x[i]", "x[i + (1 << 20)]");
    let Ok(ProfileOutcome::Broken { reason, .. }) = run(standin.worker(), wild) else { panic!() };
    assert!(reason.contains("`halve` (launch 1)") && reason.contains("illegal memory access"), "{reason}");
}

#[test]
fn what_the_program_needs_and_is_not_there_is_said() {
    if !has_compiler() {
        return;
    }
    let standin = StandIn::new();
    let said = |outcome: Result<ProfileOutcome, DeviceError>| match outcome {
        Ok(ProfileOutcome::Unavailable(why)) => why.to_string(),
        other => panic!("{other:?}"),
    };
    let none = said(run(standin.worker().with_env("PATH", "/nowhere"), bundle()));
    assert!(none.contains("no C compiler") && none.contains("Install gcc"), "{none}");
    let mut broken = bundle();
    if let Some(p) = &mut broken.program {
        p.texts[0].0.push_str("\nint x = ;\n");
    }
    let broken = said(run(standin.worker(), broken));
    assert!(broken.contains("of the host's program") && broken.contains("error"), "{broken}");
    let mut outside = bundle();
    if let Some(p) = &mut outside.program {
        p.headers.push(("../outside.h".into(), String::new()));
    }
    let outside = said(run(standin.worker(), outside));
    assert!(outside.contains("no name of a header"), "{outside}");
    // its crash is the worker's, and is told
    let mut crashes = bundle();
    if let Some(p) = &mut crashes.program {
        p.texts[0].0 = p.texts[0].0.replace("calls += 1;", "*(volatile int *)0 = 1;");
    }
    let crashed = run(standin.worker(), crashes);
    let words = match &crashed {
        Err(e) => e.to_string(),
        other => panic!("{other:?}"),
    };
    assert!(words.contains("signal") || words.contains("ended"), "{words}");
}
