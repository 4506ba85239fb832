//! `warpwright run`: programs with kernels, built and run on this machine's CPU, as a user calls it.

mod support;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use device::native_compiler;
use support::server;
use tempfile::TempDir;

const PROGRAM: &str = "\
#include <stdio.h>
#include <stdlib.h>
#include \"scale.h\"
void smooth(int n, const double *restrict a, double *restrict b) {
    for (int i = 1; i < n - 1; i++)
        b[i] = SCALE * (a[i - 1] + a[i] + a[i + 1]);
}
int main(int argc, char **argv) {
    static double a[1000], b[1000];
    int n = argc > 1 ? atoi(argv[1]) : 1000, c;
    for (int i = 0; i < 1000; i++) { a[i] = i; b[i] = 0; }
    smooth(n, a, b);
    while ((c = getchar()) != EOF) putchar(c);
    printf(\"%.1f %d\\n\", b[n / 2], argc);
    return argc > 2 ? 41 : 0;
}
";

/// Written by hand: templates, shared memory of both kinds, symbols, streams and events, a launch over several lines.
const BY_HAND: &str = r#"
#include <cstdio>
#include <cuda_runtime.h>
#include "check.cuh"
static __constant__ float weights[3];
__device__ int blocks_done;
template <int B> __global__ void sum(const float *x, float *y, int n) {
    static __shared__ float s[B];
    extern __shared__ int counts[];
    int i = blockIdx.x * B + threadIdx.x;
    s[threadIdx.x] = i < n ? x[i] * weights[1] : 0;
    if (threadIdx.x == 0) counts[0] = 0;
    __syncthreads();
    if (i < n) atomicAdd(&counts[0], 1);
    for (int k = B / 2; k > 0; k /= 2) {
        if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k];
        __syncthreads();
    }
    if (threadIdx.x == 0) { atomicAdd(y, s[0]); atomicAdd(y + 1, (float)counts[0]); atomicAdd(&blocks_done, 1); }
}
__global__ void warps(int *out) {
    int v = threadIdx.x;
    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);
    if (threadIdx.x % 32 == 0) out[threadIdx.x / 32] = v;
}
int main() {
    const int n = 1000;
    float x[n], w[3] = {0, 2, 0}, *d, *y, r[2];
    int *o, sums[2], done;
    for (int i = 0; i < n; i++) x[i] = 1;
    CHECK(cudaMalloc(&d, sizeof x));
    CHECK(cudaMallocManaged(&y, 2 * sizeof(float)));
    CHECK(cudaMalloc((void **)&o, sizeof sums));
    y[0] = y[1] = 0;
    cudaStream_t s;
    cudaEvent_t a, b;
    float ms;
    CHECK(cudaStreamCreate(&s));
    CHECK(cudaEventCreate(&a));
    CHECK(cudaEventCreate(&b));
    CHECK(cudaEventRecord(a, s));
    CHECK(cudaMemcpyAsync(d, x, sizeof x, cudaMemcpyHostToDevice, s));
    CHECK(cudaMemcpyToSymbol(weights, w, sizeof w));
    sum<64><<<(n + 63) / 64, 64,
              sizeof(int), s>>>(
        d, y, n);
    CHECK(cudaEventRecord(b, s));
    CHECK(cudaEventSynchronize(b));
    CHECK(cudaEventElapsedTime(&ms, a, b));
    warps<<<1, 64>>>(o); // not k<<<1, 2>>>(this)
    CHECK(cudaMemcpy(sums, o, sizeof sums, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(r, y, sizeof r, cudaMemcpyDefault));
    CHECK(cudaMemcpyFromSymbol(&done, blocks_done, sizeof done));
    twice<<<1, 1>>>(d);
    printf("k<<<1, 2>>>(x): %g %g %d %d %d %s\n", r[0], r[1], done, sums[0], sums[1], ms >= 0 ? "timed" : "?");
    return cudaDeviceSynchronize();
}
"#;

/// A header with a kernel.
const CHECK: &str = r#"
#include <cstdlib>
#define CHECK(call) do { if ((call) != cudaSuccess) { printf("%s:%d\n", #call, __LINE__); exit(9); } } while (0)
__global__ void once(float *x) { extern __shared__ float t[]; t[0] = x[0]; x[0] = 2 * t[0]; }
static inline void launch(float *x) { once<<<1, 1, 4>>>(x); }
inline __device__ float shared_one(float v) { __shared__ float one; one = v; return one; }
__global__ void twice(float *x) { __shared__ float two[2]; two[0] = shared_one(x[0]); x[0] = 2 * two[0]; }
"#;

struct Folder(TempDir);

impl Folder {
    fn new(files: &[(&str, &str)]) -> Folder {
        let folder = Folder(tempfile::tempdir().expect("a folder"));
        for (name, text) in files {
            let path = folder.path(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            std::fs::write(path, text).expect("written");
        }
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = server();
        // what is built stays below the folder, so that what is left there is seen
        std::fs::create_dir_all(self.path("tmp")).expect("made");
        command.args(args).current_dir(self.0.path()).env("TMPDIR", self.path("tmp")).stdin(Stdio::null());
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("the program starts")
    }

    /// Nothing is left of what was built.
    fn is_clean(&self) -> bool {
        std::fs::read_dir(self.path("tmp")).map_or(true, |mut d| d.next().is_none())
    }
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Whether there are compilers; where tests must not be left out, there are.
fn compilers() -> bool {
    let there = native_compiler(Path::new("/nowhere")).is_some();
    assert!(there || std::env::var("CI").as_deref() != Ok("true"), "gcc and g++ are needed where CI=true");
    if !there {
        eprintln!("SKIPPED: no compiler for C and C++ was found; nothing was run");
    }
    there
}

/// The program in `src`, and what `offload` makes of it in `gpu`.
fn offloaded() -> Folder {
    let folder = Folder::new(&[("src/smooth.c", PROGRAM), ("src/scale.h", "#define SCALE (1.0 / 3)\n")]);
    let done = folder.run(&["offload", "--loop", "5", "--out", "gpu", "src/smooth.c"]);
    assert_eq!(done.status.code(), Some(0), "{}", err(&done));
    folder
}

#[test]
fn a_rewritten_program_runs_with_its_input_arguments_and_status() {
    if !compilers() {
        return;
    }
    let folder = offloaded();
    let mut command = folder.command(&["run", "gpu", "src", "--", "500", "-O", "--help"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    child.stdin.take().expect("piped").write_all(b"what it was given\n").expect("written");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(out(&output), "what it was given\n250.0 4\n", "{}", err(&output));
    assert_eq!(output.status.code(), Some(41));
    let said = err(&output);
    assert!(said.contains("note: src/smooth.c is left out: gpu/smooth.c stands for it."), "{said}");
    let counted = "1 launch of 1 kernel on this machine's CPU";
    assert!(
        said.contains(counted)
            && said.contains("1 copy (4000 bytes) to the device, 1 copy (3984 bytes) back"),
        "{said}"
    );
    assert!(
        said.contains("kernel smooth_i_kernel: 1 launch")
            && said.contains("to the device, a, in smooth_i_on_gpu"),
        "{said}"
    );
    assert!(folder.is_clean());
}

#[test]
fn counts_are_for_programs_too() {
    if !compilers() {
        return;
    }
    let folder = offloaded();
    let files = ["gpu/smooth.c", "gpu/smooth_i.cu"];
    let output = folder.run(&[&["run", "--format", "json"], &files[..]].concat());
    assert_eq!((out(&output).as_str(), output.status.code()), ("500.0 1\n", Some(0)), "{}", err(&output));
    let said = err(&output);
    let ran: wire::Ran =
        serde_json::from_str(said.lines().last().unwrap_or_default()).expect("the last line");
    assert_eq!((ran.status, ran.signal), (Some(0), None));
    let counted = ran.counted.expect("it told");
    assert_eq!((counted.launches, counted.kernels.len(), counted.never_freed.count), (1, 1, 0));
    assert_eq!(counted.to_device, wire::Copies { count: 1, bytes: 8000 });
    // in a file, and nothing on standard error; the device is not there
    let mut command = folder.command(&[&["run", "--stats", "counts.json"], &files[..]].concat());
    let output = command.env("WW_NO_DEVICE", "1").output().expect("it runs");
    assert_eq!((out(&output).as_str(), err(&output).as_str()), ("500.0 1\n", ""));
    let text = std::fs::read_to_string(folder.path("counts.json")).expect("written");
    let ran: wire::Ran = serde_json::from_str(&text).expect("the file");
    assert_eq!(ran.counted.map(|c| (c.launches, c.to_device.count)), Some((0, 0)));
    // why the loop itself ran, at the end, and at once where that is wanted
    let mut command = folder.command(&[&["run"], &files[..], &["--", "2"]].concat());
    let output = command.env("WW_VERBOSE", "1").output().expect("it runs");
    let why = "because ww_trips_i <= 0";
    assert_eq!(
        err(&output),
        format!(
            "warpwright: smooth_i_on_gpu: the program's own loop runs, {why}\nwarpwright: no kernel was launched; the program's own \
             loops ran.\n  smooth_i_on_gpu: 1 time the program's own loop, {why}\n"
        )
    );
    let mut command = folder.command(&[&["run"], &files[..]].concat());
    let output = command.env("WW_VERBOSE", "1").output().expect("it runs");
    assert!(err(&output).starts_with("warpwright: smooth_i_on_gpu: ran on the device\n"), "{}", err(&output));
    let quiet = folder.run(&[&["run", "-q"], &files[..]].concat());
    assert_eq!((out(&quiet).as_str(), err(&quiet).as_str()), ("500.0 1\n", ""));
}

/// Without `warpwright run`, what is written can say the same of itself.
#[test]
fn what_is_written_says_at_run_time_where_a_loop_ran() {
    if !compilers() {
        return;
    }
    let folder = offloaded();
    let done = folder.run(&["offload", "--loop", "5", "--out", "told", "--with-reasons", "src/smooth.c"]);
    assert_eq!(done.status.code(), Some(0), "{}", err(&done));
    let kernels = std::fs::read_to_string(folder.path("told/smooth_i.cu")).expect("written");
    assert!(kernels.contains("return ww_says(__func__, 0, \"because ww_trips_i <= 0\");"), "{kernels}");
    // the part that any compiler for C takes, in a program of its own
    let from = kernels.find("#if !defined(WW_SAYS)").expect("said once");
    let says = &kernels[from..from + kernels[from..].find("#endif\n").expect("its end") + 7];
    let text = format!(
        "{says}int main(int n, char **v) {{ (void)v; return ww_says(\"f\", n > 1, \"because n <= 0\"); }}\n"
    );
    std::fs::write(folder.path("says.c"), text).expect("written");
    let built = Command::new("gcc")
        .args(["-Wall", "-Wextra", "-Werror", "-o"])
        .args([folder.path("says"), folder.path("says.c")])
        .output()
        .expect("gcc starts");
    assert!(built.status.success(), "{}", err(&built));
    for (arguments, verbose, said) in [
        (&[][..], "1", "warpwright: f: the program's own loop runs, because n <= 0\n"),
        (&["x"][..], "1", "warpwright: f: ran on the device\n"),
        (&[][..], "0", ""),
    ] {
        let ran = Command::new(folder.path("says"))
            .args(arguments)
            .env("WW_VERBOSE", verbose)
            .output()
            .expect("it starts");
        assert_eq!((err(&ran).as_str(), ran.status.code()), (said, Some(arguments.len() as i32)));
    }
    // and here it says it once
    let mut command = folder.command(&["run", "-q", "told/smooth.c", "told/smooth_i.cu"]);
    let output = command.env("WW_VERBOSE", "1").output().expect("it runs");
    assert_eq!(err(&output), "warpwright: smooth_i_on_gpu: ran on the device\n");
}

#[test]
fn a_program_of_the_fixtures_prints_what_it_printed() {
    if !compilers() {
        return;
    }
    let folder = Folder::new(&[]);
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/c/gemver_macros.c");
    let program = program.to_string_lossy();
    let done = folder.run(&["offload", "--worth", "--out", "gpu", &program]);
    assert_eq!(done.status.code(), Some(0), "{}", err(&done));
    let original = folder.run(&["run", "-q", &program]);
    // the rewritten file stands for it
    let rewritten = folder.run(&["run", "--stats", "counts.json", &program, "gpu"]);
    assert!(out(&original).lines().count() > 100, "{}", err(&original));
    assert_eq!((out(&rewritten), rewritten.status.code()), (out(&original), original.status.code()));
    let text = std::fs::read_to_string(folder.path("counts.json")).expect("written");
    let ran: wire::Ran = serde_json::from_str(&text).expect("the file");
    assert!(ran.counted.is_some_and(|c| c.launches > 3 && c.declined.is_empty()), "{text}");
}

#[test]
fn kernels_written_by_hand_run() {
    if !compilers() {
        return;
    }
    let folder = Folder::new(&[("by_hand.cu", BY_HAND), ("check.cuh", CHECK)]);
    let output = folder.run(&[
        "run",
        "by_hand.cu",
        "-O1",
        "-std=c++17",
        "-g",
        "-Wall",
        "-lm",
        "-fno-omit-frame-pointer",
    ]);
    assert_eq!(out(&output), "k<<<1, 2>>>(x): 2000 1000 16 496 1520 timed\n", "{}", err(&output));
    assert_eq!(output.status.code(), Some(0));
    let said = err(&output);
    assert!(
        said.contains("3 launches of 3 kernels")
            && said.contains("kernel sum<64>: 1 launch, 16 blocks, 1024 threads"),
        "{said}"
    );
    assert!(said.contains("never freed: 3 arrays"), "{said}");
}

#[test]
fn what_the_run_time_lacks_is_named() {
    if !compilers() {
        return;
    }
    let folder = Folder::new(&[
        ("graph.cu", "#include <cuda_runtime.h>\nint main() {\n    return cudaGraphLaunch(0, 0);\n}\n"),
        ("groups.cu", "#include <cooperative_groups.h>\nint main() { return 0; }\n"),
        ("slip.cu", "__global__ void k(int *a) { a[0] = mine; }\n"),
        ("part.c", "int f(int *a); int main(void) { return f(0); }\n"),
        ("piece.c", "int f(int *a) { return 0; }\n"),
    ]);
    for (files, says) in [
        (&["graph.cu"][..], "graph.cu uses `cudaGraphLaunch`, which the run time for CPUs does not have."),
        (&["groups.cu"], "groups.cu needs `cooperative_groups.h` of the CUDA toolkit"),
        (&["slip.cu"], "slip.cu does not compile"),
        (&["part.c"], "none of the files defines `f`. Name the file that does, too"),
        (&["piece.c"], "none of the files has a `main`"),
        (&["none.c"], "none.c cannot be read"),
        (&["tmp"], "tmp has no C, C++ or CUDA file"),
    ] {
        let output = folder.run(&[&["run"], files].concat());
        assert_eq!((output.status.code(), out(&output).as_str()), (Some(125), ""), "{files:?}");
        assert!(err(&output).contains(says), "{files:?}: {}", err(&output));
        assert!(folder.is_clean(), "{files:?}");
    }
    // complaints are about the user's own file and line
    let graph = err(&folder.run(&["run", "graph.cu"]));
    assert!(graph.contains("graph.cu:3:"), "{graph}");
    let without = folder
        .command(&["run", "part.c", "piece.c"])
        .env("PATH", folder.path("tmp"))
        .output()
        .expect("it starts");
    assert_eq!(without.status.code(), Some(125));
    assert!(
        err(&without).contains("no compiler for C and C++ was found")
            && err(&without).contains("apt install g++")
    );
}

#[test]
fn ends_are_passed_through() {
    if !compilers() {
        return;
    }
    let folder = Folder::new(&[
        ("crash.c", "#include <signal.h>\nint main(void) { raise(SIGSEGV); return 0; }\n"),
        ("leave.c", "#include <unistd.h>\nint main(void) { _exit(7); }\n"),
        ("loop.c", "#include <stdio.h>\nint main(void) { puts(\"on\"); fflush(stdout); for (;;) ; }\n"),
        (
            "outside.cu",
            "#include <cuda_runtime.h>\n__global__ void k(int *a) { a[threadIdx.x] = 1; }\nint main() {\n    int *a;\n    \
             cudaMalloc(&a, 40);\n    k<<<1, 11>>>(a);\n    return cudaFree(a);\n}\n",
        ),
        (
            "waits.cu",
            "#include <cuda_runtime.h>\n__global__ void k() { if (threadIdx.x < 3) __syncthreads(); }\nint main() {\n    \
             k<<<1, 11>>>();\n    return cudaDeviceSynchronize();\n}\n",
        ),
    ]);
    for (file, code, says) in [
        ("crash.c", 128 + 11, "ended by signal 11"),
        ("leave.c", 7, "ended without telling"),
        ("outside.cu", 98, "a device buffer was written outside its bounds"),
        ("waits.cu", 97, "a barrier that some threads never reach (waits.cu:2)"),
    ] {
        let output = folder.run(&["run", file]);
        assert_eq!(output.status.code(), Some(code), "{file}: {}", err(&output));
        assert!(err(&output).contains(says), "{file}: {}", err(&output));
        assert!(folder.is_clean(), "{file}");
    }
    // one that does not end is ended with the command, and nothing is left of it
    let mut child = folder.command(&["run", "loop.c"]).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut line = [0; 3];
    std::io::Read::read_exact(child.stdout.as_mut().expect("piped"), &mut line).expect("it says so");
    let ended = Command::new("kill").arg(child.id().to_string()).status().expect("`kill` is there");
    assert!(ended.success());
    let begin = Instant::now();
    assert_eq!(child.wait().expect("it ends").code(), Some(128 + 9));
    assert!(begin.elapsed() < Duration::from_secs(20));
    assert!(folder.is_clean());
}

#[test]
fn the_run_time_is_written_for_who_builds_alone() {
    if !compilers() {
        return;
    }
    let folder = offloaded();
    let output = folder.run(&["run", "--write-runtime", "cpu", "gpu", "src"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let lines = out(&output);
    assert!(std::fs::read_to_string(folder.path("cpu/BUILD.txt"))
        .expect("written")
        .contains(lines.trim_end()));
    assert!(folder.path("cpu/ww_cuda_shim.h").exists() && folder.path("cpu/cuda_runtime.h").exists());
    // the lines are what a person would type
    let built =
        Command::new("sh").arg("-ec").arg(&lines).current_dir(folder.0.path()).output().expect("a shell");
    assert!(built.status.success(), "{lines}{}", err(&built));
    let ran = Command::new(folder.path("cpu/program"))
        .stdin(Stdio::null())
        .env("WW_STATS", "-")
        .output()
        .expect("it runs");
    assert_eq!(out(&ran), "500.0 1\n");
    assert!(err(&ran).contains("copy in 1 8000 smooth_i_on_gpu a\n"), "{}", err(&ran));
    // again the same is written; what somebody changed stays
    assert_eq!(folder.run(&["run", "--write-runtime", "cpu", "gpu", "src"]).status.code(), Some(0));
    std::fs::write(folder.path("cpu/cuda_runtime.h"), "mine").expect("written");
    let refused = folder.run(&["run", "--write-runtime", "cpu", "gpu", "src"]);
    assert!(
        refused.status.code() == Some(125)
            && err(&refused).contains("cuda_runtime.h exists with another text")
    );
}

#[test]
fn what_is_built_can_be_kept() {
    if !compilers() {
        return;
    }
    let folder = Folder::new(&[("one.c", "int main(void) { return X; }\n")]);
    let output = folder.run(&["run", "-DX=5", "--keep", "built", "one.c"]);
    assert_eq!(output.status.code(), Some(5), "{}", err(&output));
    let status = Command::new(folder.path("built/program")).status().expect("it is there");
    assert_eq!(status.code(), Some(5));
}
