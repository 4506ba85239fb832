//! Kernels through real NVRTC libraries, in a worker.

mod common;

use base::CancelToken;
use common::{client, libraries, slow_kernel, with_library, SAXPY};
use device::{
    Arch, CompileOutcome, CompileRequest, Limits, MessageStage, Severity, Unavailable, UnavailableKind,
};
use std::time::{Duration, Instant};

fn never() -> CancelToken {
    CancelToken::new()
}

fn unavailable(outcome: CompileOutcome) -> Unavailable {
    match outcome {
        CompileOutcome::Unavailable(reason) => reason,
        other => panic!("expected unavailable, got {other:?}"),
    }
}

#[test]
fn a_good_kernel_for_every_wanted_architecture() {
    let mut client = client(Limits::default());
    let mut sm_70 = false;
    for library in libraries() {
        let machine = client.machine(Some(library.clone()), &never()).expect("answers");
        let info = machine.nvrtc.expect("the library loads");
        let newest = info.archs.last().copied().expect("knows some");
        for number in [70, 90, newest] {
            let request = CompileRequest {
                fmad: Some(false),
                ..CompileRequest::new(SAXPY, "saxpy.cu", Arch::sm(number))
            };
            let outcome = client.compile(with_library(request, &library), &never());
            if !info.archs.contains(&number) {
                let reason = unavailable(outcome);
                assert_eq!(reason.kind, UnavailableKind::NoSuchArch);
                assert!(reason.reason.contains("does not know sm_70"), "{reason}");
                assert!(reason.next_step.contains("nvidia-cuda-nvrtc-cu12"), "{reason}");
                continue;
            }
            let CompileOutcome::Compiled(done) = outcome else {
                panic!("sm_{number}: {outcome:?}");
            };
            sm_70 |= number == 70;
            assert_eq!(done.library, info);
            assert!(done.ptx_bytes > 100 && done.cubin_bytes > Some(100), "{done:?}");
            assert_eq!(done.kernels.len(), 1);
            let kernel = &done.kernels[0];
            assert_eq!(kernel.name, "saxpy");
            assert!(kernel.registers.is_some_and(|r| (4..64).contains(&r)), "{kernel:?}");
            assert_eq!((kernel.spill_store_bytes, kernel.spill_load_bytes), (Some(0), Some(0)));
            assert_eq!((kernel.shared_bytes, kernel.stack_bytes), (Some(0), Some(0)));
        }
        let request = CompileRequest::new(SAXPY, "saxpy.cu", Arch::compute(newest));
        let CompileOutcome::Compiled(ptx) = client.compile(with_library(request, &library), &never()) else {
            panic!("PTX only");
        };
        assert!(ptx.cubin_bytes.is_none() && ptx.kernels.is_empty() && ptx.ptx_bytes > 100);
    }
    if !sm_70 && !libraries().is_empty() {
        common::skipped("libnvrtc 12 (sm_70)");
    }
}

#[test]
fn of_several_libraries_the_one_that_knows_the_architecture_is_taken() {
    let files = libraries();
    let [old, new] = files.as_slice() else {
        if !files.is_empty() {
            common::skipped("libnvrtc in two versions (12 and 13)");
        }
        return;
    };
    // as in a Python environment with both wheels
    let dir = tempfile::tempdir().expect("temporary folder");
    for (file, package) in [(old, "cuda_nvrtc"), (new, "cu13")] {
        let package = dir.path().join("lib/python3.99/site-packages/nvidia").join(package);
        std::fs::create_dir_all(&package).expect("folder");
        std::os::unix::fs::symlink(file.parent().expect("folder"), package.join("lib")).expect("link");
    }
    let mut client = client(Limits::default());
    for (number, major) in [(70, 12), (90, 13), (121, 13)] {
        let request = CompileRequest::new(SAXPY, "saxpy.cu", Arch::sm(number));
        match client.compile(with_library(request, dir.path()), &never()) {
            CompileOutcome::Compiled(done) => assert_eq!(done.library.version.0, major),
            other => panic!("sm_{number}: {other:?}"),
        }
    }
}

#[test]
fn resources_and_fused_multiply_add() {
    let source = "extern \"C\" __global__ void k(float *a, int n) {
        __shared__ float t[64];
        float l[100];
        for (int i = 0; i < 100; i++) l[i] = a[i * n];
        t[threadIdx.x] = a[threadIdx.x] * a[n] + a[n + 1];
        __syncthreads();
        a[threadIdx.x] = t[63 - threadIdx.x] + l[(n * 7) % 100];
    }";
    let mut client = client(Limits::default());
    for library in libraries() {
        let sizes: Vec<u64> = [None, Some(false)]
            .into_iter()
            .map(|fmad| {
                let request = CompileRequest { fmad, ..CompileRequest::new(source, "k.cu", Arch::sm(90)) };
                match client.compile(with_library(request, &library), &never()) {
                    CompileOutcome::Compiled(done) => {
                        assert_eq!(done.kernels[0].shared_bytes, Some(256));
                        assert_eq!(done.kernels[0].barriers, Some(1));
                        assert!(done.kernels[0].stack_bytes >= Some(400), "{:?}", done.kernels);
                        done.ptx_bytes
                    }
                    other => panic!("{other:?}"),
                }
            })
            .collect();
        assert_ne!(sizes[0], sizes[1], "one multiply-add more or less");
    }
}

#[test]
fn messages_carry_their_line() {
    let source = "extern \"C\" __global__ void k(float *a)\n{\n    int unused;\n\ta[0] = missing + 1;\n#line 40 \"loop.c\"\n    a[1] = lost;\n}\n";
    let mut client = client(Limits::default());
    for library in libraries() {
        let request = CompileRequest::new(source, "k.cu", Arch::sm(90));
        let CompileOutcome::Failed(failed) = client.compile(with_library(request, &library), &never()) else {
            panic!("it must not compile");
        };
        let errors: Vec<_> = failed.messages.iter().filter(|m| m.severity == Severity::Error).collect();
        assert_eq!(errors.len(), 2, "{errors:?}");
        assert_eq!(
            (errors[0].file.as_deref(), errors[0].line, errors[0].column),
            (Some("k.cu"), Some(4), Some(9))
        );
        assert!(errors[0].text.contains("\"missing\" is undefined"));
        assert_eq!(
            (errors[1].file.as_deref(), errors[1].line, errors[1].column),
            (Some("loop.c"), Some(40), None)
        );
        assert!(failed.messages.iter().any(|m| m.severity == Severity::Warning && m.line == Some(3)));

        let assembler = "extern \"C\" __global__ void k() { asm(\"bogus;\"); }";
        let request = CompileRequest::new(assembler, "k.cu", Arch::sm(90));
        let CompileOutcome::Failed(failed) = client.compile(with_library(request, &library), &never()) else {
            panic!("it must not assemble");
        };
        assert!(
            failed.messages.iter().any(|m| m.stage == MessageStage::Assembler && m.line.is_none()),
            "{failed:?}"
        );

        let nul = CompileRequest::new("int a;\nint\0b;\n", "k.cu", Arch::sm(90));
        let CompileOutcome::Failed(failed) = client.compile(with_library(nul, &library), &never()) else {
            panic!("a NUL is no CUDA");
        };
        assert_eq!(failed.messages[0].line, Some(2));

        let options = vec!["--bogus".to_owned()];
        let request = CompileRequest { options, ..CompileRequest::new(SAXPY, "k.cu", Arch::sm(90)) };
        let reason = unavailable(client.compile(with_library(request, &library), &never()));
        assert_eq!(reason.kind, UnavailableKind::BadOption);
        assert_eq!(reason.reason, "NVRTC did not take the options: unrecognized option --bogus found.");
    }
}

#[test]
fn deep_parentheses_are_an_answer() {
    let depth = 10_000;
    let deep = format!("__device__ int d = {}1{};", "(".repeat(depth), ")".repeat(depth));
    let mut client = client(Limits::default());
    for library in libraries() {
        let request = CompileRequest::new(deep.clone(), "k.cu", Arch::sm(90));
        // compiled, refused or crashed: in each case a value, and the next request is served
        let _ = client.compile(with_library(request, &library), &never());
        let next = client
            .compile(with_library(CompileRequest::new(SAXPY, "k.cu", Arch::sm(90)), &library), &never());
        assert!(matches!(next, CompileOutcome::Compiled(_)), "{next:?}");
    }
}

#[test]
fn an_absent_library_is_a_note() {
    let mut client = client(Limits::default());
    let dir = tempfile::tempdir().expect("temporary folder");
    let request = with_library(CompileRequest::new(SAXPY, "k.cu", Arch::sm(90)), dir.path());
    let reason = unavailable(client.compile(request, &never()));
    assert_eq!(reason.kind, UnavailableKind::NoLibrary);
    assert!(reason.reason.starts_with("libnvrtc was not found"), "{reason}");
    assert_eq!(
        reason.next_step,
        "Install the CUDA toolkit, `pip install nvidia-cuda-nvrtc-cu12`, or set warpwright.nvrtc."
    );
    // a file that is no library, and a library that is no NVRTC
    let fake = dir.path().join("libnvrtc.so.12");
    std::fs::write(&fake, "not a library").expect("file");
    let reason = unavailable(
        client.compile(with_library(CompileRequest::new(SAXPY, "k", Arch::sm(90)), &fake), &never()),
    );
    assert!(reason.reason.starts_with("libnvrtc could not be loaded"), "{reason}");
}

#[test]
fn the_time_limit_stops_the_compiler() {
    for library in libraries() {
        let mut client = client(Limits::default());
        let slow = CompileRequest {
            limit_ms: Some(700),
            ..CompileRequest::new(slow_kernel(), "slow.cu", Arch::sm(90))
        };
        let began = Instant::now();
        let reason = unavailable(client.compile(with_library(slow, &library), &never()));
        assert_eq!(reason.kind, UnavailableKind::TimeLimit, "{reason}");
        assert!(reason.reason.contains("0.700 s"), "{reason}");
        assert!(began.elapsed() < Duration::from_secs(8), "took {:?}", began.elapsed());
        let next = client
            .compile(with_library(CompileRequest::new(SAXPY, "k.cu", Arch::sm(90)), &library), &never());
        assert!(matches!(next, CompileOutcome::Compiled(_)), "{next:?}");
    }
}

#[test]
fn cancelling_is_heard() {
    for library in libraries() {
        let mut client = client(Limits::default());
        let cancel = CancelToken::new();
        let setter = cancel.clone();
        let waiting = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            setter.cancel();
        });
        let slow = CompileRequest::new(slow_kernel(), "slow.cu", Arch::sm(90));
        let began = Instant::now();
        let reason = unavailable(client.compile(with_library(slow, &library), &cancel));
        assert_eq!(reason.kind, UnavailableKind::Cancelled);
        assert!(began.elapsed() < Duration::from_secs(5), "took {:?}", began.elapsed());
        waiting.join().expect("no panic");
        client.stop();
    }
}

#[test]
fn the_memory_limit_is_a_value() {
    for library in libraries() {
        let mut client = client(Limits { memory_bytes: Some(300 << 20), ..Limits::default() });
        let request = with_library(CompileRequest::new(slow_kernel(), "k.cu", Arch::sm(90)), &library);
        let reason = unavailable(client.compile(request, &never()));
        assert_ne!(reason.kind, UnavailableKind::Cancelled, "{reason}");
    }
}
