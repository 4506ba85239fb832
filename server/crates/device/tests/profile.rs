//! Bundles run by a real worker through cudarc, on the stand-in for the driver.
#![cfg(target_os = "linux")]

mod common;
#[path = "common/standin.rs"]
mod standin;

use base::CancelToken;
use device::bundle::{hex, Argument, Bundle, Contents, HostMemory, Number, Original, Place, Step, Word};
use device::{Check, Client, DeviceError, Limits, Measured, ProfileOutcome, WorkerCommand};
use standin::StandIn;

const N: u64 = 1000;

/// `y = a * x + y` as a loop becomes it: copies, a launch, a copy back.
fn saxpy() -> Bundle {
    let memory = |name: &str, seed| HostMemory {
        name: name.into(),
        bytes: 4 * N,
        contents: Contents::Made { seed, below: 0 },
        links: Vec::new(),
        scalars: vec![(0, Number::F32)],
        element_bytes: 4,
    };
    let at = |memory| Place { memory, offset: 0 };
    let value = |bytes: &[u8]| Argument::Value { hex: hex(bytes) };
    let c = "void saxpy(float a, const float *x, float *y, long n) { for (long i = 0; i < n; i++) y[i] = a * x[i] + y[i]; }
             union ww_native_word { long long i; double d; void *p; };
             void ww_native_call(union ww_native_word *a, union ww_native_word *r) { saxpy(a[0].d, a[1].p, a[2].p, a[3].i); r->i = 7; }
             void *ww_native_global(int n, unsigned long *s) { return 0; }";
    Bundle {
        name: "saxpy".into(),
        source: common::SAXPY.into(),
        fmad: Some(false),
        options: Vec::new(),
        arch: None,
        library: None,
        host: vec![memory("x", 1), memory("y", 2)],
        steps: vec![
            Step::Allocate { bytes: 4 * N },
            Step::Allocate { bytes: 4 * N },
            Step::ToDevice { to: at(0), from: at(0), bytes: 4 * N },
            Step::ToDevice { to: at(1), from: at(1), bytes: 4 * N },
            Step::Launch {
                kernel: "saxpy".into(),
                grid: [4, 1, 1],
                block: [256, 1, 1],
                shared_bytes: 0,
                arguments: vec![
                    value(&2.5f32.to_le_bytes()),
                    Argument::Memory { place: at(0) },
                    Argument::Memory { place: at(1) },
                    value(&N.to_le_bytes()),
                ],
            },
            Step::FromDevice { to: at(1), from: at(1), bytes: 4 * N, wanted: false },
            Step::Free { memory: 0 },
            Step::Free { memory: 1 },
        ],
        expected: Vec::new(),
        untimed: false,
        original: Some(Original {
            texts: vec![(c.to_owned(), Vec::new())],
            arguments: vec![
                Word::Floating { bits: 2.5f64.to_bits() },
                Word::Memory { place: at(0) },
                Word::Memory { place: at(1) },
                Word::Whole { value: N as i64 },
            ],
            globals: Vec::new(),
        }),
        program: None,
        tolerance: 0.0,
        limit_ms: None,
    }
}

fn limits() -> Limits {
    Limits { memory_bytes: None, request: std::time::Duration::from_secs(120), ..Limits::default() }
}

fn run(command: WorkerCommand, bundle: Bundle) -> Result<ProfileOutcome, DeviceError> {
    let mut client = Client::spawn(command, limits()).expect("starts");
    client.profile(bundle, &CancelToken::new(), &mut |_| {})
}

fn measured(outcome: Result<ProfileOutcome, DeviceError>) -> Measured {
    match outcome {
        Ok(ProfileOutcome::Measured(m)) => *m,
        other => panic!("{other:?}"),
    }
}

fn said(outcome: Result<ProfileOutcome, DeviceError>) -> String {
    match outcome {
        Ok(ProfileOutcome::Broken { reason, .. }) => reason,
        Ok(ProfileOutcome::Unavailable(u)) => u.to_string(),
        Err(e) => e.to_string(),
        Ok(ProfileOutcome::Measured(m)) => panic!("{m:?}"),
    }
}

#[test]
fn a_bundle_is_run_measured_and_compared() {
    let standin = StandIn::new();
    let mut client = Client::spawn(standin.worker(), limits()).expect("starts");
    let mut heard = Vec::new();
    let m = measured(client.profile(saxpy(), &CancelToken::new(), &mut |t| heard.push(t.to_owned())));
    assert!(m.simulated, "{}", m.gpu.name);
    assert_eq!(heard.first().map(String::as_str), Some("compiling the kernels"));
    assert_eq!(m.kernels.len(), 1);
    assert_eq!((m.kernels[0].name.as_str(), m.kernels[0].launches), ("saxpy", 1));
    assert!(m.kernels_ns.len() >= 7 && m.kernels_ns.iter().all(|ns| *ns > 0), "{:?}", m.kernels_ns);
    assert_eq!((m.to_device.count, m.to_device.bytes), (2, 8 * N));
    assert_eq!((m.from_device.count, m.from_device.bytes), (1, 4 * N));
    let Some(cpu) = m.cpu else { return common::skipped("gcc") };
    assert!(!cpu.ns.is_empty() && cpu.value == 7, "{cpu:?}");
    assert_eq!(m.check, Check::Same { compared: 2 * N, most_ulps: 0, most_relative: 0.0 });
}

#[test]
fn a_wrong_kernel_a_missing_launch_and_zeros_are_found() {
    let standin = StandIn::new();
    let different = |bundle: Bundle| match measured(run(standin.worker(), bundle)) {
        Measured { cpu: None, .. } => common::skipped("gcc"),
        Measured { check: Check::Different { memory, .. }, .. } => assert_eq!(memory, "y"),
        other => panic!("{other:?}"),
    };
    let mut wrong = saxpy();
    wrong.source = wrong.source.replace("i < n", "i < n - 1");
    different(wrong);
    let mut skipped = saxpy();
    skipped.steps.remove(4);
    different(skipped);
    let mut zeros = saxpy();
    zeros.steps[4] = Step::Set { to: Place { memory: 1, offset: 0 }, byte: 0, bytes: 4 * N };
    different(zeros);
}

#[test]
fn what_stops_a_run_is_a_sentence() {
    let standin = StandIn::new();
    let with = |source: &str| Bundle { source: source.into(), ..saxpy() };
    let head = "extern \"C\" __global__ void saxpy(float a, const float *x, float *y, long long n)";
    let wild = said(run(standin.worker(), with(&format!("{head} {{ y[1 << 20] = 1; }}"))));
    assert!(wild.contains("`saxpy`") && wild.contains("illegal memory access"), "{wild}");
    let broken = said(run(standin.worker(), with(&format!("{head} {{ y[0] = ; }}"))));
    assert!(broken.contains("do not compile"), "{broken}");
    let forever = with(&format!("{head} {{ while (x[0] < 2) y[0] = 0; }}"));
    let steps = ("WARPWRIGHT_STANDIN_STEPS", "100000");
    let forever = run(standin.worker().with_env(steps.0, steps.1), forever);
    // that is no difference
    assert!(matches!(forever, Ok(ProfileOutcome::Unavailable(_))), "{forever:?}");
    let forever = said(forever);
    assert!(forever.contains("timed out"), "{forever}");
    let small = standin.worker().with_env("WARPWRIGHT_STANDIN_MEMORY", "5000");
    let small = said(run(small, saxpy()));
    assert!(small.contains("of the GPU's memory") && small.contains("smaller sizes"), "{small}");
    let mut outside = saxpy();
    outside.steps[5] = Step::FromDevice {
        to: Place { memory: 1, offset: 4 },
        from: Place { memory: 1, offset: 0 },
        bytes: 4 * N,
        wanted: false,
    };
    let outside = said(run(standin.worker(), outside));
    assert!(outside.contains("step 5 is outside of memory"), "{outside}");
    if !device::gpus().list.is_empty() {
        return;
    }
    let none = said(run(WorkerCommand::new([common::WORKER]), saxpy()));
    assert!(none.contains("no GPU here") && none.contains("--on simulator"), "{none}");
}

#[test]
fn a_run_without_end_is_stopped_and_the_next_one_works() {
    let standin = StandIn::new();
    let mut forever = saxpy();
    forever.source = forever.source.replace("if (i < n)", "while (x[0] < 2 && i < n)");
    forever.limit_ms = Some(1500);
    let worker = standin.worker().with_env("WARPWRIGHT_STANDIN_STEPS", u64::MAX.to_string());
    let mut client = Client::spawn(worker, limits()).expect("starts");
    let stopped = said(client.profile(forever, &CancelToken::new(), &mut |_| {}));
    assert!(stopped.contains("longer than 1.500 s"), "{stopped}");
    measured(client.profile(saxpy(), &CancelToken::new(), &mut |_| {}));
}

#[test]
fn every_call_that_fails_is_told() {
    let standin = StandIn::new();
    let mut seen = std::collections::BTreeSet::new();
    // allocations, copies, the module, the launch, events, what is given back
    let calls = [
        "cuInit",
        "cuDeviceGet",
        "cuDevicePrimaryCtxRetain",
        "cuCtxSetCurrent",
        "cuMemGetInfo_v2",
        "cuMemAlloc_v2",
        "cuMemcpyHtoD_v2",
        "cuMemcpyDtoH_v2",
        "cuMemsetD8_v2",
        "cuModuleLoadData",
        "cuModuleGetFunction",
        "cuLaunchKernel",
        "cuCtxSynchronize",
        "cuEventCreate",
        "cuEventRecord",
        "cuEventElapsedTime",
        "cuMemFree_v2",
        "nvrtcCompileProgram",
    ];
    for call in calls {
        let worker = standin.worker().with_env("WARPWRIGHT_STANDIN_FAIL", format!("{call}:1"));
        let words = said(run(worker, saxpy()));
        assert!(words.contains('.') && words.len() > 30, "{call}: {words}");
        seen.insert(words);
    }
    assert!(seen.len() > 12, "{seen:#?}");
}
