//! What the command line promises (DESIGN, "What the command line promises").

mod support;

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use serde_json::Value;
use support::{server, SAXPY};
use tempfile::TempDir;

const THREE: &str = "\
void saxpy(int n, float a, const float *restrict x, float *restrict y) {
    for (int i = 0; i < n; i++)
        y[i] = a * x[i] + y[i];
}
int sum(int n, const int *a) {
    int s = 0;
    for (int i = 0; i < n; i++)
        s += a[i];
    return s;
}
void scan(int n, float *a) {
    for (int i = 1; i < n; i++)
        a[i] = a[i] + a[i - 1];
}
";

/// Loops without a finding are listed, those inside unknown ones too.
#[test]
fn analyze_lists_the_loops_that_no_finding_speaks_of() {
    let folder = Folder::new();
    let text = "#include <stdio.h>\nint g(int);\nvoid f(int n, int *restrict a) {\n    for (int i = 0; i < n; i++)\n        for (int j = 0; j < n; j++)\n            a[j] = g(a[i]);\n    for (int k = 0; k < n; k++)\n        printf(\"%d\", a[k]);\n}\n";
    folder.file("x.c", text);
    let said = out(&folder.run(&["analyze", "x.c"]));
    assert!(said.contains("x.c:4:5: information[unknown-loop]"), "{said}");
    assert!(said.contains("x.c:5:9: loop `j`: unknown: call of g\n"), "{said}");
    assert!(said.contains("x.c:7:5: loop `k`: unknown: call of printf\n"), "{said}");
}

struct Folder(TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().expect("a folder"))
    }
    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, content).expect("written");
        path
    }
    fn run(&self, args: &[&str]) -> Output {
        server()
            .args(args)
            .current_dir(self.0.path())
            .stdin(Stdio::null())
            .output()
            .expect("the program starts")
    }
    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).expect("there");
        let mut names: Vec<String> =
            entries.map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("a file")
}

#[test]
fn json_is_as_promised() {
    let folder = Folder::new();
    folder.file("three.c", THREE);
    let output = folder.run(&["analyze", "--format", "json", "three.c"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(report["version"], 1);
    let file = &report["files"][0];
    assert_eq!((file["path"].as_str(), file["language"].as_str()), (Some("three.c"), Some("c")));
    let loops = file["loops"].as_array().expect("loops");
    let verdicts: Vec<_> = loops.iter().map(|l| (l["line"].as_u64(), l["verdict"].as_str())).collect();
    assert_eq!(
        verdicts,
        [(Some(2), Some("independent")), (Some(7), Some("reduction")), (Some(12), Some("sequential"))]
    );
    let keys = |value: &Value| {
        let mut keys: Vec<String> =
            value.as_object().map(|o| o.keys().cloned().collect()).unwrap_or_default();
        keys.sort();
        keys
    };
    let mut promised = vec![
        "line",
        "column",
        "end_line",
        "end_column",
        "function",
        "verdict",
        "conditions",
        "cost",
        "private",
        "reductions",
        "dependences",
        "obstacles",
        "thread_map",
        "offload",
    ];
    promised.sort_unstable();
    for l in loops {
        assert_eq!(keys(l), promised, "{l:#}");
    }
    assert_eq!(loops[0]["column"], 5);
    assert_eq!(loops[0]["thread_map"]["dimension"], 1);
    assert_eq!(loops[0]["offload"], serde_json::json!({"possible": true, "reason": null, "label": null}));
    assert!(loops[2]["offload"].is_null());
    assert_eq!(loops[1]["reductions"][0]["variable"], "s");
    assert_eq!(loops[1]["reductions"][0]["operator"], "+");
    let dependence = &loops[2]["dependences"][0];
    assert_eq!(dependence["kind"], "flow");
    assert_eq!(dependence["variable"], "a");
    assert_eq!(dependence["distance"][0], 1);
    assert!(dependence["witness"].as_str().is_some_and(|w| w.contains("a[")), "{dependence:#}");
    let promised = ["code", "column", "end_column", "end_line", "line", "message", "severity"];
    for d in file["diagnostics"].as_array().expect("diagnostics") {
        assert_eq!(keys(d), promised, "{d:#}");
    }
}

#[test]
fn exit_codes() {
    let folder = Folder::new();
    folder.file("three.c", THREE);
    folder.file("none.c", "int x;\n");
    let code = |args: &[&str]| folder.run(args).status.code();
    assert_eq!(code(&["analyze", "three.c"]), Some(0), "hints do not fail");
    assert_eq!(code(&["analyze", "--fail-on", "hint", "three.c"]), Some(1));
    assert_eq!(code(&["analyze", "--fail-on", "hint", "none.c"]), Some(0));
    assert_eq!(code(&["analyze", "--fail-on", "never", "three.c"]), Some(0));
    assert_eq!(code(&["analyze", "missing.c"]), Some(2));
    assert_eq!(code(&["analyze", "three.c", "missing.c"]), Some(2));
    assert_eq!(code(&["analyze"]), Some(2));
    assert_eq!(code(&["analyze", "--format", "yaml", "three.c"]), Some(2));
    assert_eq!(code(&["nonsense"]), Some(2));
    assert_eq!(code(&["--version"]), Some(0));
}

#[test]
fn bad_input_is_told_what_to_do() {
    let folder = Folder::new();
    folder.file("notes.txt", "hello\n");
    folder.file("good.c", SAXPY);
    std::fs::create_dir(folder.0.path().join("sub")).expect("made");
    for (args, words) in [
        (vec!["analyze", "missing.c"], "does not exist"),
        (vec!["analyze", "sub"], "is a folder"),
        (vec!["analyze", "notes.txt"], "no language"),
        (vec!["offload", "--loop", "1", "good.c"], "line 1"),
        (vec!["offload", "good.c"], "warpwright: offload"),
        (vec!["verify", "--on=-oProxyCommand=x", "good.c"], "no name of a host"),
        (vec!["explain", "nonsense"], "lists all codes"),
        (vec!["bench", "missing"], "cannot be read"),
    ] {
        let output = folder.run(&args);
        assert_ne!(output.status.code(), Some(0), "{args:?}");
        assert!(err(&output).contains(words), "{args:?}: {}", err(&output));
        assert!(!err(&output).contains("panicked"), "{}", err(&output));
    }
    // what can be read is analyzed all the same
    let output = folder.run(&["analyze", "missing.c", "good.c"]);
    assert!(out(&output).contains("good.c: 1 loop: 1 independent"), "{}", out(&output));
}

#[test]
fn text_shows_the_line_and_counts() {
    let folder = Folder::new();
    folder.file("three.c", THREE);
    let text = out(&folder.run(&["analyze", "three.c"]));
    assert!(text.contains("three.c:12:5: information[carried-dependence]: "), "{text}");
    assert!(
        text.contains(" 12 |     for (int i = 1; i < n; i++)\n    |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"),
        "{text}"
    );
    assert!(text.ends_with("three.c: 3 loops: 1 independent, 1 reduction, 1 sequential\n\n"), "{text}");
}

#[test]
fn sarif_and_github() {
    let folder = Folder::new();
    folder.file("three, or so.c", THREE);
    let output = folder.run(&["analyze", "--format", "sarif", "three, or so.c"]);
    let log: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    let results = run["results"].as_array().expect("results");
    assert_eq!(results.len(), 3);
    let rules: Vec<&Value> =
        run["tool"]["driver"]["rules"].as_array().expect("rules").iter().map(|r| &r["id"]).collect();
    for result in results {
        assert!(rules.contains(&&result["ruleId"]), "{result:#}");
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "three%2C%20or%20so.c");
    }
    let text = out(&folder.run(&["analyze", "--format", "github", "three, or so.c"]));
    assert_eq!(text.lines().count(), 3);
    assert!(text.starts_with("::notice file=three%2C or so.c,line=2,endLine=2,col=5,"), "{text}");
}

#[test]
fn macros_can_be_defined() {
    let folder = Folder::new();
    folder.file("macro.c", "void f(float *a) {\n    for (int i = 0; i < N; i++)\n        a[i] = i;\n}\n");
    let verdict = |args: &[&str]| {
        let report: Value = serde_json::from_slice(&folder.run(args).stdout).expect("JSON");
        report["files"][0]["loops"][0]["thread_map"]["threads"].clone()
    };
    assert_eq!(verdict(&["analyze", "--format", "json", "-D", "N=100", "macro.c"]), "100");
    assert_eq!(verdict(&["analyze", "--format", "json", "-DN=7", "macro.c"]), "7");
}

#[test]
fn offload_writes_files_and_leaves_the_original() {
    let folder = Folder::new();
    let original = folder.file("saxpy.c", SAXPY);
    let output = folder.run(&["offload", "--loop", "2", "--out", "new/deep", "saxpy.c"]);
    assert_eq!(output.status.code(), Some(0), "{}{}", out(&output), err(&output));
    assert_eq!(read(&original), SAXPY);
    assert_eq!(folder.names(), ["new", "saxpy.c"]);
    let new = folder.0.path().join("new/deep");
    let host = read(&new.join("saxpy.c"));
    assert_ne!(host, SAXPY);
    let written: Vec<String> =
        out(&output).lines().filter_map(|l| l.strip_prefix("wrote ")).map(str::to_owned).collect();
    let kernel = written.iter().find(|w| w.ends_with(".cu")).expect("a kernel file");
    assert!(read(&folder.0.path().join(kernel)).contains("__global__"));
    assert!(written.iter().all(|w| folder.0.path().join(w).exists()), "{written:?}");

    // again: the same; never over the original without being told to
    assert_eq!(
        folder.run(&["offload", "--loop", "2", "--out", "new/deep", "saxpy.c"]).status.code(),
        Some(0)
    );
    let output = folder.run(&["offload", "--loop", "2", "--out", ".", "saxpy.c"]);
    assert!(err(&output).contains("is the original"), "{}", err(&output));
    assert_eq!(read(&original), SAXPY);
    let output = folder.run(&["offload", "--loop", "2", "--in-place", "saxpy.c"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert_eq!(read(&original), host);
    assert_eq!(folder.names().len(), 3, "{:?}", folder.names());
}

#[test]
fn folders_and_functions_are_offloaded_and_verified() {
    let folder = Folder::new();
    folder.below("src/three.c", THREE);
    folder.below("src/deep/saxpy.c", SAXPY);
    folder.below("src/deep/none.c", "int x;\n");
    folder.below("src/saxpy.h", SAXPY);
    let output = folder.run(&["offload", "--worth", "--out", "src/gpu", "src"]);
    assert_eq!(output.status.code(), Some(0), "{}{}", out(&output), err(&output));
    let said = out(&output);
    assert!(said.contains("3 files: 3 loops offloaded in 2 files, 1 loop left as it is\n"), "{said}");
    assert!(
        said.contains(
            "  src/three.c         2 offloaded,   1 left\n  src/deep/saxpy.c    1 offloaded,   0 left\n"
        ),
        "{said}"
    );
    let how =
        "to build it:\n  nvcc -fmad=false -c src/gpu/deep/saxpy_i.cu src/gpu/saxpy_i.cu src/gpu/sum_i.cu\n  \
               cc -I src -I src/deep -c src/gpu/deep/saxpy.c src/gpu/three.c\n";
    assert!(said.contains(how) && said.ends_with("without a GPU: warpwright run src/gpu src\n"), "{said}");
    let at = |name: &str| folder.0.path().join("src/gpu").join(name);
    assert!(at("three.c").exists() && at("sum_i.cu").exists() && at("deep/saxpy.c").exists());
    assert!(!at("none.c").exists() && !at("saxpy.h").exists());
    // what was written is not offloaded again, nor named twice
    let output = folder.run(&["offload", "--worth", "--out", "src/gpu", "src"]);
    assert!(out(&output).contains("3 files: 3 loops offloaded"), "{}{}", out(&output), err(&output));
    let output = folder.run(&["verify", "--on", "simulator", "--cases", "3", "src"]);
    assert_eq!(output.status.code(), Some(0), "{}{}", out(&output), err(&output));
    assert!(
        out(&output).ends_with("3 files: 3 loops the same, 0 different, 0 not tried\n"),
        "{}",
        out(&output)
    );
    let fast = folder.run(&["offload", "--worth", "--fmad", "fast", "--out", "fast", "src/three.c"]);
    assert!(out(&fast).contains("\n  nvcc -fmad=true -c fast/"), "{}{}", out(&fast), err(&fast));
    // a function, and several loops
    let one = folder.run(&["offload", "--function", "sum", "--out", "one", "src/three.c"]);
    assert_eq!(one.status.code(), Some(0), "{}", err(&one));
    let host = read(&folder.0.path().join("one/three.c"));
    assert!(host.contains("sum_i_on_gpu(") && !host.contains("saxpy_i_on_gpu("), "{host}");
    let two = folder.run(&["verify", "--on", "simulator", "--loop", "2", "--loop", "7", "src/three.c"]);
    assert_eq!((two.status.code(), out(&two).matches("Same results").count()), (Some(0), 2), "{}", out(&two));
    let one = folder.run(&["verify", "--on", "simulator", "--function", "sum", "src/three.c"]);
    assert_eq!((one.status.code(), out(&one).matches("Same results").count()), (Some(0), 1), "{}", out(&one));
    for (args, says) in [
        (vec!["offload", "--function", "none", "src/three.c"], "Functions with loops are: saxpy, scan, sum."),
        (vec!["verify", "--function", "none", "src/three.c"], "Functions with loops are: saxpy, scan, sum."),
        (
            vec!["offload", "--loop", "9", "src/three.c"],
            "No loop begins on line 9. The nearest begin on the lines 7 and 12.",
        ),
        (
            vec!["offload", "--loop", "2", "--loop", "20", "src/three.c"],
            "line 20. The nearest begins on line 12.",
        ),
        (
            vec!["verify", "--loop", "1", "src/three.c"],
            "No loop begins on line 1. The nearest begins on line 2.",
        ),
        (vec!["offload", "--loop", "1", "src/deep/saxpy.c"], "The only loop begins on line 2."),
        (vec!["offload", "--loop", "1", "src/deep/none.c"], "The file has no loops."),
        (vec!["offload", "--loop", "2", "src"], "Name one file, or use --worth."),
        (vec!["verify", "--loop", "2", "src", "src/three.c"], "Name one file."),
    ] {
        let output = folder.run(&args);
        assert!(matches!(output.status.code(), Some(1 | 2)), "{args:?}");
        assert!(err(&output).contains(says), "{args:?}: {}", err(&output));
    }
}

#[test]
fn a_difference_is_shown_and_nothing_is_written() {
    let folder = Folder::new();
    let original = folder.file("saxpy.c", SAXPY);
    let output = folder.run(&["offload", "--diff", "--loop", "2", "saxpy.c"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert_eq!((read(&original).as_str(), folder.names().len()), (SAXPY, 1));
    let diff = out(&output);
    assert!(
        diff.starts_with("--- a/saxpy.c\n+++ b/saxpy.c\n@@ ")
            && diff.contains("\n--- /dev/null\n+++ b/saxpy_i.cu\n"),
        "{diff}"
    );
    // `patch` makes of it what `--in-place` writes
    let Ok(mut patch) = std::process::Command::new("patch")
        .args(["-p1", "--quiet"])
        .current_dir(folder.0.path())
        .stdin(Stdio::piped())
        .spawn()
    else {
        eprintln!("SKIPPED: patch was not found");
        return;
    };
    std::io::Write::write_all(&mut patch.stdin.take().expect("piped"), diff.as_bytes()).expect("read");
    assert!(patch.wait().expect("it ends").success());
    let (host, kernel) = (read(&original), read(&folder.0.path().join("saxpy_i.cu")));
    std::fs::remove_file(folder.0.path().join("saxpy_i.cu")).expect("it was there");
    folder.file("saxpy.c", SAXPY);
    assert_eq!(folder.run(&["offload", "--in-place", "--loop", "2", "saxpy.c"]).status.code(), Some(0));
    assert_eq!((read(&original), read(&folder.0.path().join("saxpy_i.cu"))), (host, kernel));
}

#[test]
fn an_offload_is_optimized_by_pages_or_not_made() {
    let sum = "float f(int n, const float *a) {\n    float s = 0;\n    for (int i = 0; i < n; i++)\n        s += a[i];\n    return s;\n}\n";
    let folder = Folder::new();
    folder.file("sum.c", sum);
    folder.file("product.c", sum.replace("s += a[i]", "s *= a[i]"));
    let output = folder.run(&["offload", "--optimize", "--loop", "3", "--out", "out", "sum.c"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let pages = "reduction-last-warp, reduction-shuffle, reduction-last-block";
    assert!(out(&output).contains(pages) && out(&output).contains("Same results on"), "{}", out(&output));
    let kernel = read(&folder.0.path().join("out/f_i.cu"));
    assert!(kernel.contains("optimized by the page reduction-last-block"), "{kernel}");
    let output = folder.run(&["offload", "--optimize", "--loop", "3", "--out", "other", "product.c"]);
    assert_eq!(output.status.code(), Some(1), "{}", out(&output));
    assert!(err(&output).contains("No page optimises this kernel"), "{}", err(&output));
    assert!(!folder.0.path().join("other").exists());
}

#[test]
fn an_offload_never_loses_what_is_there() {
    let folder = Folder::new();
    let three = folder.file("three.c", THREE);
    let run = |more: &[&str], file: &str| {
        let mut args = vec!["offload", "--out", "out"];
        args.extend(more);
        args.push(file);
        folder.run(&args)
    };
    let host = folder.0.path().join("out/three.c");
    assert_eq!(run(&["--loop", "2"], "three.c").status.code(), Some(0));
    let first = read(&host);
    // another loop: its kernel would stand alone
    let refused = run(&["--loop", "7"], "three.c");
    assert_eq!(refused.status.code(), Some(2), "{}", out(&refused));
    assert!(err(&refused).contains("--loop 2 --loop 7"), "{}", err(&refused));
    assert_eq!(read(&host), first);
    // as it says
    assert_eq!(run(&["--loop", "2", "--loop", "7"], "three.c").status.code(), Some(0));
    let both = read(&host);
    assert!(both.contains("saxpy_i_on_gpu(") && both.contains("sum_i_on_gpu("));
    // after an edit of the source the files are made anew
    std::fs::write(&three, THREE.replace("a * x[i]", "2 * a * x[i]")).expect("written");
    assert_eq!(run(&["--loop", "2", "--loop", "7"], "three.c").status.code(), Some(0));
    let again = read(&host);
    assert!(again.contains("2 * a * x[i]"));
    // what the user changed there stays
    std::fs::write(&host, format!("{again}// mine\n")).expect("written");
    std::fs::write(&three, THREE).expect("written");
    let refused = run(&["--loop", "2", "--loop", "7"], "three.c");
    assert!(err(&refused).contains("was changed after it was written"), "{}", err(&refused));
    assert!(read(&host).ends_with("// mine\n"));
    // another file of that name, another file with a function of that name, and a file that nobody offloaded
    std::fs::write(&host, &again).expect("written");
    folder.below("sub/three.c", THREE);
    let refused = run(&["--loop", "2"], "sub/three.c");
    assert!(err(&refused).contains("was written for"), "{}", err(&refused));
    folder.file("other.c", SAXPY);
    let refused = run(&["--loop", "2"], "other.c");
    assert!(err(&refused).contains("saxpy_i.cu was written for"), "{}", err(&refused));
    assert!(!folder.0.path().join("out/other.c").exists());
    folder.below("out/mine.c", "int x;\n");
    folder.file("mine.c", SAXPY.replace("saxpy", "mine"));
    let refused = run(&["--loop", "2"], "mine.c");
    assert!(err(&refused).contains("was not written by an offload"), "{}", err(&refused));
    assert_eq!(read(&folder.0.path().join("out/mine.c")), "int x;\n");
    assert!(!folder.0.path().join("out/mine_i.cu").exists());
    assert_eq!(read(&host), again);
}

#[test]
fn a_refusal_explains_and_writes_nothing() {
    let folder = Folder::new();
    folder.file("three.c", THREE);
    let output = folder.run(&["offload", "--loop", "12", "three.c"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(err(&output).contains("three.c: ") && err(&output).contains("`a`"), "{}", err(&output));
    assert_eq!(folder.names(), ["three.c"]);
}

#[test]
fn a_file_that_is_not_utf_8_keeps_its_bytes() {
    let folder = Folder::new();
    let text = b"/* d\xe9j\xe0 */\nvoid f(int n, float *restrict a, const float *restrict b)\n{\n\
                 // warpwright: offload\n    for (int i = 0; i < n; i++) /* \xe9t\xe9 */\n        a[i] = 2 * b[i];\n}\n";
    folder.file("latin.c", text);
    let output = folder.run(&["offload", "--in-place", "latin.c"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let written = std::fs::read(folder.0.path().join("latin.c")).expect("a file");
    let has = |part: &[u8]| written.windows(part.len()).any(|w| w == part);
    assert!(has(b"/* d\xe9j\xe0 */") && has(b"/* \xe9t\xe9 */") && has(b"_on_gpu("), "{written:?}");
}

#[test]
fn kernels_are_not_offloaded_again() {
    let folder = Folder::new();
    folder.file("k.cu", "__global__ void k(int n, float *a) {\n  for (int i = 0; i < n; i++) a[i] = 1;\n}\n");
    for which in [["--loop", "2"], ["--out", "new"]] {
        let output = folder.run(&["offload", which[0], which[1], "k.cu"]);
        assert_eq!(output.status.code(), Some(1));
        assert!(
            err(&output).contains("Offloading starts from C files, and this one is read as CUDA."),
            "{}",
            err(&output)
        );
    }
    assert_eq!(folder.names().len(), 1, "{:?}", folder.names());
}

#[test]
fn codes_are_explained() {
    let folder = Folder::new();
    let list = out(&folder.run(&["explain"]));
    assert!(list.lines().count() >= 8, "{list}");
    for code in list.lines().filter_map(|l| l.split_whitespace().next()) {
        let page = folder.run(&["explain", code]);
        assert_eq!(page.status.code(), Some(0), "{code}");
        assert!(out(&page).contains(code), "{code}: {}", out(&page));
    }
    let schema: Value = serde_json::from_slice(&folder.run(&["settings-schema"]).stdout).expect("JSON");
    assert!(schema["properties"]["warpwright.levels"].is_object());
}

const MM: &str = "\
#include <stdio.h>
#include <polybench.h>
#include \"mm.h\"

static void kernel_mm(int ni, int nj, DATA_TYPE POLYBENCH_2D(C,NI,NJ,ni,nj), DATA_TYPE POLYBENCH_1D(x,NJ,nj))
{
  int i, j;
  for (i = 0; i < _PB_NI; i++)
    for (j = 0; j < _PB_NJ; j++)
      C[i][j] = SCALAR_VAL(2.0) * SQRT_FUN(x[j]);
}
";

const MM_SIZES: &str = "\
#ifndef _MM_H
# define _MM_H
# if !defined(MINI_DATASET) && !defined(LARGE_DATASET)
#  define LARGE_DATASET
# endif
# ifdef MINI_DATASET
#  define NI 16
#  define NJ 18
# endif
# ifdef LARGE_DATASET
#  define NI 1000
#  define NJ 1100
# endif
# define _PB_NI POLYBENCH_LOOP_BOUND(NI,ni)
# define _PB_NJ POLYBENCH_LOOP_BOUND(NJ,nj)
# define DATA_TYPE double
# define SCALAR_VAL(x) x
# define SQRT_FUN(x) sqrt(x)
#endif
";

impl Folder {
    fn below(&self, name: &str, content: &str) {
        let path = self.0.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, content).expect("written");
    }
    /// The only file of `analyze --format json`.
    fn json(&self, args: &[&str]) -> Value {
        let output = self.run(&[&["analyze", "--format", "json"], args].concat());
        let report: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", err(&output)));
        report["files"][0].clone()
    }
}

fn verdicts(file: &Value) -> Vec<&str> {
    file["loops"].as_array().into_iter().flatten().filter_map(|l| l["verdict"].as_str()).collect()
}

#[test]
fn headers_are_found_as_the_compiler_finds_them() {
    let folder = Folder::new();
    folder.below("linear/kernels/mm/mm.c", MM);
    folder.below("linear/kernels/mm/mm.h", MM_SIZES);
    let file = "linear/kernels/mm/mm.c";
    // without polybench.h our own text stands for it, and that is said
    let stood_in = folder.json(&[file]);
    assert_eq!(verdicts(&stood_in), ["independent", "independent"], "{stood_in:#}");
    let choices = stood_in["configuration"].as_array().expect("choices").clone();
    assert!(choices.iter().any(|c| c["name"] == "polybench.h" && c["taken"] == "stand-in"), "{choices:#?}");
    assert!(
        choices.iter().any(|c| c["name"] == "MINI_DATASET" && c["taken"] == "not defined"),
        "{choices:#?}"
    );
    // with it, given by -I, it is read
    folder.below(
        "utilities/polybench.h",
        "#define POLYBENCH_1D(v,a,b) v[a]\n#define POLYBENCH_2D(v,a,b,c,d) v[a][b]\n#define POLYBENCH_LOOP_BOUND(a,b) b\n",
    );
    let read = folder.json(&["-I", "utilities", "-DMINI_DATASET", file]);
    assert_eq!(verdicts(&read), ["independent", "independent"], "{read:#}");
    let choices = read["configuration"].as_array().expect("choices").clone();
    assert!(choices.iter().all(|c| c["taken"] != "stand-in"), "{choices:#?}");
    assert!(choices.iter().any(|c| c["name"] == "MINI_DATASET" && c["taken"] == "defined"), "{choices:#?}");
    // or named by the project
    folder.below("linear/compile_flags.txt", "-I../utilities\n-DMINI_DATASET\n");
    let flags = folder.json(&[file]);
    assert_eq!(flags["configuration"], read["configuration"]);
    std::fs::remove_file(folder.0.path().join("linear/compile_flags.txt")).expect("removed");
    let database = serde_json::json!([{"directory": folder.0.path(), "file": file, "command": "cc -Iutilities -D MINI_DATASET=1 -c mm.c"}]);
    folder.below("build/compile_commands.json", &database.to_string());
    let commands = folder.json(&[file]);
    assert_eq!(commands["configuration"], read["configuration"]);
    let text = out(&folder.run(&["analyze", file]));
    assert!(text.contains("read with `MINI_DATASET` defined"), "{text}");
}

#[test]
fn a_compiler_finds_the_headers_that_are_found_here() {
    let folder = Folder::new();
    folder.below("proj/src/deep/a.h", "#include \"b.h\"\n#include \"near.h\"\n");
    folder.below("proj/include/b.h", "#define FACTOR 3\n");
    folder.below("proj/src/near.h", "#define MORE 1\n");
    folder.below(
        "proj/src/deep/f.c",
        "#include \"a.h\"\nvoid f(int n, int *a) {\n    for (int i = 0; i < n; i++)\n        a[i] = a[i] * FACTOR + MORE;\n}\n",
    );
    let said = |()| out(&folder.run(&["verify", "proj/src/deep/f.c"]));
    let all = [
        ("around it", None),
        ("by options", Some("-I../../include -I .. -c f.c")),
        (
            "as the system's",
            Some("-isystem ../../include -iquote .. -wrapper touch,owned -B. -specs=x -c f.c"),
        ),
    ];
    for (how, command) in all {
        if let Some(command) = command {
            let at = folder.0.path().join("proj/src/deep");
            let database =
                serde_json::json!([{"directory": at, "file": "f.c", "command": format!("./gcc {command}")}]);
            folder.below("proj/compile_commands.json", &database.to_string());
        }
        let text = said(());
        let skipped = text.contains("Same results") && !text.contains("ativel");
        assert!(skipped || text.contains("Natively, built by"), "{how}: {text}");
        assert!(!skipped || std::env::var_os("CI").is_none(), "native runs were skipped in CI");
    }
    assert!(!folder.names().contains(&"owned".to_owned()));
}

#[test]
fn loops_inside_of_one_without_a_kernel_are_verified() {
    let folder = Folder::new();
    let text = "void f(int n, int m, double *restrict out, const double *in, const double *bias, const double *use) {\n    for (int i = 0; i < n; i++) {\n        double s = 2 * use[i] + 1 > 3 ? bias[i] : 0;\n        for (int j = 0; j < m; j++)\n            s += in[i * m + j];\n        out[i] = s;\n    }\n}\n";
    folder.below("rows.c", text);
    let said = out(&folder.run(&["verify", "--on", "simulator", "rows.c"]));
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines.iter().any(|l| l.contains("line 2: No kernel is made")), "{said}");
    assert!(lines.iter().any(|l| l.contains("line 4: Same results")), "{said}");
    // what is asked for is what is tried
    let said = out(&folder.run(&["verify", "--on", "simulator", "--loop", "2", "rows.c"]));
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[test]
fn structs_of_headers_are_understood() {
    let folder = Folder::new();
    folder.below("x.h", "#pragma once\nstruct grid { int n; double *cell; };\ntypedef struct grid grid;\n");
    let text = "#include \"x.h\"\nvoid clear(const grid *g, double *restrict a) {\n    for (int i = 0; i < g->n; i++)\n        a[i] = 0;\n}\n";
    folder.file("x.c", text);
    let found = folder.json(&["x.c"]);
    assert_eq!(found["loops"][0]["verdict"], "independent", "{found:#}");
    assert!(found.get("configuration").is_none(), "{found:#}");
    // a header that is not there leaves the member unknown, and that is said
    std::fs::remove_file(folder.0.path().join("x.h")).expect("removed");
    let lost = folder.json(&["x.c"]);
    assert_eq!(lost["loops"][0]["verdict"], "unknown", "{lost:#}");
    assert_eq!(lost["configuration"][0]["taken"], "not found", "{lost:#}");
}

#[test]
fn what_macros_and_included_files_bring_is_not_edited() {
    let folder = Folder::new();
    folder.below("loop.inc", "for (int i = 0; i < n; i++) a[i] = 0;\n");
    let text = "#define ALL(a, n) { for (int i = 0; i < n; i++) a[i] = 0; }\n\
                void f(int *a, int n) {\n    ALL(a, n);\n}\nvoid g(int *a, int n) {\n#include \"loop.inc\"\n}\n";
    folder.file("m.c", text);
    let found = folder.json(&["m.c"]);
    let lines: Vec<u64> =
        found["loops"].as_array().into_iter().flatten().filter_map(|l| l["line"].as_u64()).collect();
    assert_eq!(lines, [3, 6], "{found:#}");
    for (line, by) in [("3", "a macro"), ("6", "the file that line 6 includes")] {
        let refused = folder.run(&["offload", "--loop", line, "--out", "out", "m.c"]);
        assert_eq!(refused.status.code(), Some(1), "{}", out(&refused));
        assert!(err(&refused).contains(&format!("comes out of {by}")), "{}", err(&refused));
    }
    assert!(!folder.0.path().join("out").exists());
}

#[test]
fn show_gives_pages_and_graphs() {
    let folder = Folder::new();
    folder.file("three.c", THREE);
    let page = folder.run(&["show", "dependences", "--loop", "12", "three.c"]);
    assert_eq!(page.status.code(), Some(0), "{}", err(&page));
    let text = out(&page);
    assert!(
        text.contains("iteration i=1 writes a[1] on line 13; iteration i=2 reads it on line 13"),
        "{text}"
    );
    assert!(text.contains("what removes it"), "{text}");
    let graph = folder.run(&["show", "dependences", "--format", "dot", "three.c"]);
    assert!(out(&graph).starts_with("digraph dependences {"), "{}", out(&graph));
    assert!(out(&folder.run(&["show", "calls", "three.c"])).contains("`saxpy` on line 1 calls nothing"));
    assert!(out(&folder.run(&["show", "terms", "--loop", "2", "three.c"])).contains("For("));
    let none = folder.run(&["show", "dependences", "--loop", "1", "three.c"]);
    assert_eq!(none.status.code(), Some(1));
    let no_graph = folder.run(&["show", "terms", "--format", "dot", "three.c"]);
    assert_eq!(no_graph.status.code(), Some(2));
}

const COLUMNS: &str = "\
double a[64][64];
void f(void) {
    for (int i = 1; i < 64; i++)
        for (int j = 0; j < 64; j++)
            a[i][j] = a[i - 1][j];
}
void g(int n, double *x) {
    for (int i = 1; i < n; i++)
        x[i] = x[i - 1] + 1;
}
";

#[test]
fn a_loop_is_transformed_and_the_original_is_left() {
    let folder = Folder::new();
    let file = folder.file("columns.c", COLUMNS);
    let listed = folder.run(&["transform", "--list", "--loop", "3", "columns.c"]);
    assert_eq!(listed.status.code(), Some(0), "{}", err(&listed));
    let said = out(&listed);
    let line = |name: &str| said.lines().find(|l| l.starts_with(name)).unwrap_or("").to_owned();
    assert!(line("interchange ").contains("Interchange i and j"), "{said}");
    assert!(line("reverse ").contains("Illegal"), "what does not apply has its reason: {said}");

    let done = folder.run(&["transform", "interchange", "--loop", "3", "columns.c"]);
    assert_eq!(done.status.code(), Some(0), "{}", err(&done));
    assert!(err(&done).contains("Same results"), "it was run beside the original: {}", err(&done));
    let text = out(&done);
    let order = |text: &str| text.find("int j = 0") < text.find("int i = 1");
    assert!(order(&text) && !order(COLUMNS), "{text}");
    assert!(text.ends_with(COLUMNS.split_once("void g").expect("two functions").1), "{text}");
    assert_eq!(read(&file), COLUMNS);
    // what was printed is a program of which the inner loop's place is now parallel
    folder.file("after.c", &text);
    let report = folder.run(&["analyze", "--format", "json", "after.c"]);
    let report: Value = serde_json::from_slice(&report.stdout).expect("JSON");
    assert_eq!(report["files"][0]["loops"][0]["verdict"], "independent", "{report:#}");

    let done = folder.run(&["transform", "enable", "--loop", "3", "--out", "new", "columns.c"]);
    assert_eq!(done.status.code(), Some(0), "{}", err(&done));
    assert_eq!(read(&file), COLUMNS);
    assert!(order(&read(&file.with_file_name("new").join("columns.c"))));
    let same = folder.run(&["transform", "interchange", "--loop", "3", "--out", ".", "columns.c"]);
    assert_eq!(same.status.code(), Some(2), "the original is replaced only when it is said");
    assert_eq!(read(&file), COLUMNS);
    let done = folder.run(&["transform", "interchange", "--loop", "3", "--in-place", "columns.c"]);
    assert_eq!(done.status.code(), Some(0), "{}", err(&done));
    assert_eq!(read(&file), text);
}

#[test]
fn what_cannot_be_transformed_says_why_and_changes_nothing() {
    let folder = Folder::new();
    let file = folder.file("columns.c", COLUMNS);
    let refused = |args: &[&str], words: &[&str]| {
        let output = folder.run(&[&["transform"], args, &["columns.c"]].concat());
        assert_eq!(output.status.code(), Some(1), "{args:?}: {}", err(&output));
        for word in words {
            assert!(err(&output).contains(word), "{args:?}: no `{word}` in {}", err(&output));
        }
        assert_eq!(out(&output), "");
    };
    refused(&["reverse", "--loop", "8", "--in-place"], &["Illegal", "line 9", "flow dependence"]);
    refused(&["interchange", "--loop", "8"], &["Not possible here"]);
    refused(&["nonsense", "--loop", "3"], &["no transformation `nonsense`", "interchange"]);
    refused(&["interchange", "--loop", "1"], &["No loop begins on line 1"]);
    refused(&["strip-mine", "--loop", "8", "--with", "size=none"], &["size"]);
    refused(&["strip-mine", "--loop", "8", "--with", "factor=8"], &["factor"]);
    assert_eq!(read(&file), COLUMNS);
    assert_eq!(folder.names(), ["columns.c"]);
    for args in [&["transform", "--loop", "3", "columns.c"][..], &["transform", "--list", "columns.c"]] {
        assert_eq!(folder.run(args).status.code(), Some(2), "{args:?}");
    }
}

#[test]
fn a_file_without_loops_and_one_that_is_not_understood_are_told_apart() {
    let folder = Folder::new();
    folder.file(
        "broken.c",
        "void f(int n, float *a) {\n    for (int i = 0; i < n; i++ {\n        a[i] = 0;\n    }\n}\n",
    );
    let said = out(&folder.run(&["analyze", "broken.c"]));
    assert!(
        said.contains("broken.c: no loop could be analyzed") && said.contains("not-understood"),
        "{said}"
    );
    // findings of kernels are no loops that were not read
    folder.file("k.cu", "__global__ void k(int n, float *a) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) a[i] = 1;\n}\nvoid f(int n, float *a) {\n    k<<<n / 256, 256>>>(n, a);\n}\n");
    let said = out(&folder.run(&["analyze", "--fail-on", "never", "k.cu"]));
    assert!(said.contains("k.cu: no loops; 1 kernel: 1 race-free") && said.contains("short-grid"), "{said}");
    assert!(said.contains("k.cu:1:1: kernel `k`: no race, whatever memory holds\n"), "{said}");
}
