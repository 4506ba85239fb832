//! `warpwright profile` on kernels that a CUDA file has already, on the stand-in for a driver: compared with the simulator, and GPUs that
//! do something else are found out. What is sent is compiled by the real compiler where it is installed.
#![cfg(target_os = "linux")]

#[path = "support/standin.rs"]
mod standin;
mod support;

use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::json;
use standin::StandIn;
use support::{full_caps, server, Client};
use tempfile::TempDir;

const PROGRAM: &str = "\
#include <cstdio>
#include <vector>
#define CHECK(x) do { if ((x) != cudaSuccess) printf(\"wrong\"); } while (0)

__global__ void scale(const float *in, float *out, float by, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] * by;
}

// warpwright: launch(2, 64)
__global__ void sums(const double *in, double *out) {
    __shared__ double part[64];
    int t = threadIdx.x;
    part[t] = in[blockIdx.x * 64 + t];
    __syncthreads();
    for (int s = 32; s > 0; s /= 2) {
        if (t < s) part[t] += part[t + s];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = part[0];
}

__global__ void nobody_launches(float *x) { x[threadIdx.x] = 1; }

template <typename T> void fill(std::vector<T> &v) { for (auto &x : v) x = T(1); }
class Timer { std::vector<float> t; public: void start() { t.clear(); } };

int main() {
    int n = 1000;
    float *a, *b;
    CHECK(cudaMalloc(&a, n * sizeof(float)));
    CHECK(cudaMalloc(&b, n * sizeof(float)));
    scale<<<(n + 255) / 256, 256>>>(a, b, 2.0f, n);
    CHECK(cudaDeviceSynchronize());
    return 0;
}
";

struct Here {
    folder: TempDir,
    standin: StandIn,
}

impl Here {
    fn new(program: &str) -> Here {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("program.cu"), program).expect("program");
        Here { folder, standin: StandIn::new() }
    }

    fn run(&self, wrong: &str, arguments: &[&str]) -> Output {
        let mut command = self.standin.server();
        command.current_dir(self.folder.path()).env("WARPWRIGHT_STANDIN_WRONG", wrong);
        command.args(["profile", "--format", "json", "program.cu"]).args(arguments).output().expect("runs")
    }

    fn profiled(&self, wrong: &str, arguments: &[&str]) -> (wire::Profile, Option<i32>, String) {
        let out = self.run(wrong, arguments);
        let errors = String::from_utf8_lossy(&out.stderr).into_owned();
        let profile = serde_json::from_slice(&out.stdout);
        (profile.unwrap_or_else(|e| panic!("{e}: {out:?}")), out.status.code(), errors)
    }
}

#[test]
fn a_kernel_of_a_file_on_a_gpu() {
    let here = Here::new(PROGRAM);
    let (profile, code, _) = here.profiled("", &["--kernel", "scale"]);
    let [run] = &profile.runs[..] else { panic!("{profile:#?}") };
    assert_eq!((run.line, run.function.as_str(), run.target.as_str()), (5, "scale", "local"));
    assert_eq!((&run.kernel[..], run.launches), (&["scale".to_owned()][..], 1));
    assert_eq!((run.checked.as_str(), code), ("same", Some(0)), "{}", run.said);
    for words in [
        "The same as the simulator computes, to the last bit (2048 numbers compared, inputs among them)",
        "Launched <<<4, 256>>> as launched on line 33 with in[1024] (made up), out[1024] (made up), by = 0.25 (from the launch), n = 1000.",
    ] {
        assert!(run.said.contains(words), "{}", run.said);
    }
    assert_eq!((run.sizes.get("n"), run.bytes), (Some(&1000), None));
    // what is only written is not brought there, and what is only read does not come back
    assert_eq!(run.copied_bytes, [4096, 4096]);
    // steps of a simulator are no times, and there is no original
    assert_eq!(
        (run.rung.as_str(), run.kernel_ns, run.copies_ns, run.cpu_ns.one),
        ("simulator", None, None, None)
    );
    assert!(run.device.as_ref().is_some_and(|d| d.contains("stand-in")));
}

#[test]
fn gpus_that_do_something_else_are_found_out() {
    let here = Here::new(PROGRAM);
    for wrong in ["skips", "zeros", "threads"] {
        for kernel in ["scale", "sums"] {
            let (profile, code, _) = here.profiled(wrong, &["--kernel", kernel]);
            let run = &profile.runs[0];
            assert_eq!(
                (run.checked.as_str(), code),
                ("different", Some(1)),
                "{wrong}, {kernel}: {}",
                run.said
            );
        }
    }
    let (profile, ..) = here.profiled("skips", &["--kernel", "sums"]);
    assert!(profile.runs[0].said.contains("`out[0]` is "), "{}", profile.runs[0].said);
}

#[test]
fn all_kernels_whose_launch_is_known() {
    let here = Here::new(PROGRAM);
    let (profile, code, errors) = here.profiled("", &[]);
    let names: Vec<&str> = profile.runs.iter().map(|r| r.function.as_str()).collect();
    assert_eq!((&names[..], code), (&["scale", "sums"][..], Some(1)), "{profile:#?}");
    assert!(profile.runs.iter().all(|r| r.checked == "same"), "{profile:#?}");
    assert!(errors.contains("line 23: not measured: how it is launched is not known"), "{errors}");
}

#[test]
fn sizes_and_launches_are_given() {
    let here = Here::new(PROGRAM);
    let (profile, code, _) =
        here.profiled("", &["--kernel", "scale", "--launch", "scale=8,128", "-s", "n=900", "-s", "out=2000"]);
    let run = &profile.runs[0];
    assert_eq!(
        (run.checked.as_str(), code, run.sizes.get("n")),
        ("same", Some(0), Some(&900)),
        "{}",
        run.said
    );
    assert!(run.said.contains("<<<8, 128>>> as asked with in[1024] (made up), out[2000],"), "{}", run.said);
    assert_eq!(run.copied_bytes, [4096, 8000]);
    // far more blocks than are compared
    let many = [
        "--kernel",
        "scale",
        "--launch",
        "scale=4096,256,n=1048576",
        "-s",
        "in=1048576",
        "-s",
        "out=1048576",
    ];
    let (profile, code, _) = here.profiled("", &many);
    let run = &profile.runs[0];
    assert_eq!((run.checked.as_str(), code), ("same", Some(0)), "{}", run.said);
    assert!(run.said.contains("in[1048576], out[1048576]"), "{}", run.said);
    assert!(run.said.contains(", 256>>> a smaller launch, to the last bit"), "{}", run.said);
    for (arguments, words) in [
        (&["-s", "m=3"][..], "`m` is no whole number and no array that a kernel of program.cu takes"),
        (&["--kernel", "other"][..], "no kernel `other` that is understood"),
        (&["--loop", "5"][..], "named by --kernel"),
        (&["--launch", "scale=4"][..], "does not name a grid and a block"),
        (
            &["--kernel", "scale", "-s", "by=3", "--on", "simulator"][..],
            "sizes can be given for: `in`, `out`, `n`",
        ),
    ] {
        let out = here.run("", arguments);
        let errors = String::from_utf8_lossy(&out.stderr);
        assert!(errors.contains(words) && out.status.code() != Some(0), "{errors}");
    }
}

#[test]
fn without_a_gpu_it_is_counted_and_nothing_is_compared() {
    let here = Here::new(PROGRAM);
    let (profile, code, _) = here.profiled("", &["--kernel", "scale", "--on", "simulator"]);
    let run = &profile.runs[0];
    assert_eq!(
        (run.checked.as_str(), run.rung.as_str(), code),
        ("not tried", "simulator", Some(0)),
        "{}",
        run.said
    );
    assert!(
        run.said.contains("No time was measured") && run.said.contains("1024 threads in 32 warps"),
        "{}",
        run.said
    );
    if device::gpus().list.is_empty() {
        let mut command = server();
        command.current_dir(here.folder.path()).args([
            "profile",
            "--format",
            "json",
            "program.cu",
            "--kernel",
            "scale",
        ]);
        let out = command.output().expect("runs");
        let profile: wire::Profile = serde_json::from_slice(&out.stdout).expect("the contract");
        let run = &profile.runs[0];
        assert!(run.said.contains("no GPU here") && run.device.is_none(), "{}", run.said);
        assert_eq!(out.status.code(), Some(1));
    }
}

#[test]
fn what_the_compiler_there_does_not_take_is_no_difference() {
    // the stand-in's compiler does not take it
    let here = Here::new(&PROGRAM.replace(
        "__global__ void sums",
        "__device__ float odd(float x) { asm(\"brkpt;\"); return x; }\n__global__ void sums",
    ));
    let (profile, code, _) = here.profiled("", &["--kernel", "scale"]);
    let run = &profile.runs[0];
    assert_eq!(
        (run.checked.as_str(), run.device.as_ref(), code),
        ("not tried", None, Some(1)),
        "{}",
        run.said
    );
    assert!(
        run.said.contains("do not compile") && run.said.contains("without its host functions"),
        "{}",
        run.said
    );
}

#[test]
fn an_editor_measures_the_kernel_at_the_cursor() {
    let standin = StandIn::new();
    let (lib, nvrtc) = (standin.folder().display().to_string(), standin.folder().join("libnvrtc.so"));
    let env = [("LD_LIBRARY_PATH", lib.as_str()), ("WARPWRIGHT_NVRTC", nvrtc.to_str().expect("plain"))];
    let mut client = Client::start_with(&full_caps(), &json!({}), &env);
    let uri = "file:///program.cu";
    client.open_as(uri, "cuda-cpp", PROGRAM);
    let profile = |line: u32, sizes: serde_json::Value| json!({"command": "warpwright.profile", "arguments": [{"uri": uri, "line": line, "sizes": sizes}]});
    let done = client.request("workspace/executeCommand", profile(6, json!({"n": 500})));
    let run = &done["runs"][0];
    assert_eq!((&run["function"], &run["checked"]), (&json!("scale"), &json!("same")), "{done:#}");
    assert_eq!(run["sizes"]["n"], 500);
    let no = client.refused("workspace/executeCommand", profile(22, json!({})));
    assert!(no["message"].as_str().is_some_and(|m| m.contains("how it is launched is not known")), "{no:#}");
    let no = client.refused("workspace/executeCommand", profile(28, json!({})));
    assert!(no["message"].as_str().is_some_and(|m| m.contains("no kernel at this place")), "{no:#}");
    assert_eq!(client.finish(), Some(0));
}

/// Kernels of the fixtures that are not compared: words of the reason, and of how many at most. The numbers only ever go down.
const NOT_COMPARED: [(&str, usize); 2] =
    [("threads touch `data` without order", 1), ("the file-scope variable `done`", 1)];

/// The fixtures of kernels that do nothing wrong.
fn fixtures() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/cuda");
    let all = std::fs::read_dir(folder).expect("the fixtures").flatten().map(|e| e.path());
    let is_meant = |p: &PathBuf| {
        let name = p.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.ends_with(".cu") && !name.starts_with("defects")
    };
    let mut files: Vec<PathBuf> = all.filter(is_meant).collect();
    files.sort();
    files
}

fn recorded(path: &Path) -> Vec<(u32, Result<ide::RecordedKernel, String>)> {
    let text = std::fs::read_to_string(path).expect("a text");
    let text = text::Text::new(&text).expect("short");
    let doc = ide::Doc::open(ide::Language::Cuda, "k.cu", text, ide::Options::default());
    ide::record_kernels(&ide::Ask::thorough(&doc), &ide::SimulateOptions::default(), &[])
}

#[test]
fn the_fixtures_on_the_stand_in() {
    let standin = StandIn::new();
    let (mut same, mut left) = (0, Vec::new());
    for path in fixtures() {
        let mut command = standin.server();
        let out = command.args(["profile", "--format", "json"]).arg(&path).output().expect("runs");
        let errors = String::from_utf8_lossy(&out.stderr).into_owned();
        let profile: wire::Profile = serde_json::from_slice(&out.stdout)
            .unwrap_or_else(|e| panic!("{}: {e}: {errors}", path.display()));
        for run in profile.runs {
            match run.checked.as_str() {
                "same" => same += 1,
                "not tried" => left.push(format!("{}: {}", run.function, run.said)),
                _ => panic!("{}: {}", run.function, run.said),
            }
        }
        left.extend(errors.lines().filter_map(|l| Some(l.split_once("not measured: ")?.1.to_owned())));
    }
    eprintln!("{same} kernels are the same, {} are not compared", left.len());
    assert!(same >= 40, "{same}");
    for (words, most) in NOT_COMPARED {
        let all = left.iter().filter(|l| l.contains(words)).count();
        assert!(all <= most, "{words}: {left:#?}");
        left.retain(|l| !l.contains(words));
    }
    assert!(left.is_empty(), "{left:#?}");
}

#[test]
fn what_is_sent_is_what_the_real_compiler_takes() {
    let command = device::WorkerCommand::new([env!("CARGO_BIN_EXE_warpwright"), "worker"]);
    let mut client = device::Client::spawn(command, device::Limits::default()).expect("starts");
    let mut texts: Vec<(String, Vec<String>)> = Vec::new();
    let own = tempfile::tempdir().expect("a folder");
    let program = own.path().join("program.cu");
    let standard = "#include <stdint.h>\n__global__ void k(uint32_t *x) { x[0] = INT_MAX - (M_PI > 3); }\nvoid h(uint32_t *x) { k<<<1, 1>>>(x); }\n";
    for text in [PROGRAM.to_owned(), format!("#include <limits.h>\n#include <math.h>\n{standard}")] {
        std::fs::write(&program, text).expect("program");
        let all = recorded(&program).into_iter().filter_map(|(_, k)| k.ok());
        texts.extend(all.map(|k| (k.timed.source, k.options)));
    }
    for path in fixtures() {
        let first = recorded(&path).into_iter().find_map(|(_, k)| k.ok());
        texts.extend(first.map(|k| (k.timed.source, k.options)));
    }
    assert!(texts.len() > 10);
    for (source, options) in texts {
        let mut request = device::CompileRequest::new(&source, "k.cu", device::Arch::sm(80));
        request.options = options;
        match client.compile(request, &base::CancelToken::new()) {
            device::CompileOutcome::Compiled(c) => assert!(!c.kernels.is_empty()),
            device::CompileOutcome::Unavailable(u) => {
                assert!(std::env::var_os("CI").is_none_or(|v| v != "true"), "missing tool: {u}");
                eprintln!("SKIPPED: {u}; `cargo xtask test` installs it");
                return;
            }
            device::CompileOutcome::Failed(f) => panic!("{}\n{source}", f.log),
        }
    }
}
