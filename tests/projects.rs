//! Programs of several files, through the real binary: what is said of a loop that calls functions of other files, on the command
//! line and in an editor.

mod support;

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use serde_json::{json, Value};
use support::{full_caps, server, Client};
use tempfile::TempDir;

struct Folder(TempDir);

impl Folder {
    fn new(files: &[(&str, &str)]) -> Folder {
        let folder = Folder(tempfile::tempdir().expect("a folder"));
        for (name, text) in files {
            folder.write(name, text);
        }
        folder
    }
    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(&path, text).expect("written");
        path
    }
    fn uri(&self, name: &str) -> String {
        format!("file://{}", self.0.path().join(name).display())
    }
    fn run(&self, args: &[&str]) -> Output {
        run_in(self.0.path(), args)
    }
}

fn run_in(folder: &Path, args: &[&str]) -> Output {
    server().args(args).current_dir(folder).stdin(Stdio::null()).output().expect("the program starts")
}

fn solver() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/projects/solver")
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Each file's loops: path, line, verdict.
fn verdicts(folder: &Path, args: &[&str]) -> Vec<(String, u64, String)> {
    let output = run_in(folder, &[&["analyze", "--format", "json"], args].concat());
    let report: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", err(&output)));
    let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
    let mut all: Vec<(String, u64, String)> = report["files"]
        .as_array()
        .expect("files")
        .iter()
        .flat_map(|f| {
            let name =
                Path::new(&text(&f["path"])).file_name().expect("a name").to_string_lossy().into_owned();
            let loops = f["loops"].as_array().expect("loops").clone();
            loops.into_iter().map(move |l| {
                (
                    name.clone(),
                    l["line"].as_u64().unwrap_or(0),
                    l["verdict"].as_str().unwrap_or("").to_owned(),
                )
            })
        })
        .collect();
    all.sort();
    all
}

/// Verdicts of the solver's `main.c`, by the function that each loop stands in.
const MAIN: [(&str, &str); 9] = [
    ("slopes", "independent"),
    ("step", "independent"),
    ("smooth", "independent"),
    ("positive", "independent"),
    ("scale", "independent"),
    ("visit", "sequential"),
    ("ask", "unknown"),
    ("own", "sequential"),
    ("main", "independent"),
];

#[test]
fn the_folder_is_the_program() {
    let all = verdicts(&solver(), &["main.c"]);
    let found: Vec<&str> = all.iter().map(|(_, _, v)| v.as_str()).collect();
    assert_eq!(found, MAIN.map(|(_, v)| v), "{all:?}");
    // the whole folder, and files in any order: the same of the same file
    let whole = verdicts(&solver(), &["."]);
    let of_main: Vec<_> = whole.iter().filter(|(f, ..)| f == "main.c").cloned().collect();
    assert_eq!(of_main, all);
    assert_eq!(
        verdicts(&solver(), &["grid.c", "main.c", "flux.c"]),
        verdicts(&solver(), &["flux.c", "main.c", "grid.c"])
    );
    // without the others nothing is known of their functions
    let alone = Folder::new(&[]);
    for name in ["main.c", "solver.h"] {
        alone.write(name, &std::fs::read_to_string(solver().join(name)).expect("a text"));
    }
    let found = verdicts(alone.0.path(), &["main.c"]);
    let unknown = found.iter().filter(|(_, _, v)| v == "unknown").count();
    assert_eq!(unknown, 7, "{found:?}");
}

/// The line of the loop of a function of the solver.
fn line(function: &str) -> String {
    let text = std::fs::read_to_string(solver().join("main.c")).expect("a text");
    let at = text.lines().position(|l| l.contains(&format!("void {function}("))).expect("a function");
    let of_loop = text.lines().skip(at).position(|l| l.contains("for (")).expect("a loop");
    (at + of_loop + 1).to_string()
}

#[test]
fn what_is_said_names_the_file() {
    let said = out(&run_in(&solver(), &["analyze", "main.c"]));
    assert!(said.contains("not found with a body in the C files below the folder `solver`"), "{said}");
    assert!(said.contains("visited.visits"), "{said}");
    let to = tempfile::tempdir().expect("a folder");
    let to = to.path().to_string_lossy().into_owned();
    let refused = err(&run_in(&solver(), &["offload", "--loop", &line("scale"), "--out", &to, "main.c"]));
    assert!(refused.contains("`scaled` of `flux.c` (line 34)") && refused.contains("`gain`"), "{refused}");
}

#[test]
fn a_kernel_gets_copies_of_functions_of_other_files() {
    let to = tempfile::tempdir().expect("a folder");
    let to = to.path().to_string_lossy().into_owned();
    let offloaded = ["slopes", "step", "positive"].map(line);
    let [a, b, c] = &offloaded;
    let args = ["offload", "--loop", a, "--loop", b, "--loop", c, "--out", &to, "main.c"];
    let done = run_in(&solver(), &args);
    assert_eq!(done.status.code(), Some(0), "{}{}", out(&done), err(&done));
    let written: String = std::fs::read_dir(&to)
        .expect("a folder")
        .flatten()
        .filter(|e| e.path().extension().is_some_and(|e| e == "cu"))
        .map(|e| std::fs::read_to_string(e.path()).expect("a text"))
        .collect();
    for copy in ["limited(", "smaller_ww_in_flux_c(", "flux(", "above("] {
        let starts = |l: &str| l.starts_with("static __device__ double") && l.contains(copy);
        assert!(written.lines().any(starts), "{copy}\n{written}");
    }
    let line_of_step = line("step");
    for line in offloaded.iter().chain([&line("smooth")]) {
        let checked = run_in(&solver(), &["verify", "--loop", line, "main.c"]);
        assert_eq!(checked.status.code(), Some(0), "{}{}", out(&checked), err(&checked));
        let natively = run_in(&solver(), &["verify", "--on", "machine", "--loop", line, "main.c"]);
        let said = out(&natively);
        assert_eq!(natively.status.code(), Some(0), "{said}{}", err(&natively));
        // what a file declares `extern const` cannot be given values from outside
        if device::native_compiler(&solver()).is_some() && *line != line_of_step {
            assert!(said.contains("Natively, built by"), "{said}");
        }
    }
}

const CALLER: &str = "double f(double);\nvoid g(int n, double *restrict a) {\n    for (int i = 0; i < n; i++)\n        a[i] = f(a[i]);\n}\n";

fn verdict(folder: &Folder) -> String {
    let all = verdicts(folder.0.path(), &["a.c"]);
    all.first().map(|(_, _, v)| v.clone()).unwrap_or_default()
}

#[test]
fn several_programs_in_a_folder_are_not_mixed() {
    let main = "int main(void) { return 0; }\n";
    let folder = Folder::new(&[("a.c", CALLER), ("b.c", "double f(double x) { return x; }\n")]);
    assert_eq!(verdict(&folder), "independent");
    folder.write("c.c", "double f(double x) { return x + 1; }\n");
    assert_eq!(verdict(&folder), "unknown");
    let said = out(&folder.run(&["analyze", "a.c"]));
    assert!(said.contains("`b.c` and `c.c` define it differently"), "{said}");
    // two whole programs
    folder.write("a.c", &format!("{CALLER}{main}"));
    folder.write("c.c", "int main(void) { return 1; }\n");
    assert_eq!(verdict(&folder), "independent");
    folder.write("b.c", "double f(double x) { return x; }\nint main(void) { return 2; }\n");
    assert_eq!(verdict(&folder), "unknown");
    let said = out(&folder.run(&["analyze", "a.c"]));
    assert!(said.contains("is of another program"), "{said}");
}

#[test]
fn the_build_description_says_which_files_and_with_which_macros() {
    let other = "#ifdef PLUS\nstatic int s;\ndouble f(double x) { s++; return x + s; }\n#else\ndouble f(double x) { return x; }\n#endif\n";
    let folder = Folder::new(&[
        ("src/a.c", CALLER),
        ("lib/b.c", other),
        ("src/c.c", "double f(double x) { return 0; }\n"),
    ]);
    let root = folder.0.path().to_path_buf();
    let describe = |define: &str| {
        let entry = |file: &str, define: &str| json!({"directory": root, "file": file, "command": format!("cc {define} -c {file}")});
        let all = json!([entry("src/a.c", ""), entry("lib/b.c", define)]);
        folder.write("compile_commands.json", &all.to_string());
    };
    let verdict = || verdicts(&root, &["src/a.c"])[0].2.clone();
    describe("");
    assert_eq!(verdict(), "independent");
    describe("-DPLUS");
    assert_ne!(verdict(), "independent");
}

fn shows<'a>(uri: &'a str, code: &'a str) -> impl Fn(&Value) -> bool + 'a {
    move |m: &Value| {
        m["method"] == "textDocument/publishDiagnostics"
            && m["params"]["uri"] == uri
            && m["params"]["diagnostics"][0]["code"] == code
    }
}

#[test]
fn an_editor_is_told_when_another_file_changes() {
    let folder = Folder::new(&[("a.c", CALLER), ("b.c", "double f(double x) { return x; }\n")]);
    let (a, b) = (folder.uri("a.c"), folder.uri("b.c"));
    let mut client = Client::start(&full_caps());
    client.open(&a, CALLER);
    client.wait("what the other file says", |m: &Value| {
        let is_of_a = m["method"] == "textDocument/publishDiagnostics" && m["params"]["uri"] == a;
        // nothing was said before it was read
        assert!(!is_of_a || !m.to_string().contains("unknown-loop"), "{m}");
        is_of_a && shows(&a, "parallel-loop")(m)
    });
    let hover = client.hover(&a, 2, 6);
    let said = hover["contents"]["value"].as_str().unwrap_or_default();
    assert!(said.contains("`f` of `b.c` (line 1)"), "{said}");
    // an open text stands for its file, once it is saved
    let state = "static double s;\ndouble f(double x) { s = s + x; return s; }\n";
    client.open(&b, "double f(double x) { return x; }\n");
    client.change(&b, 2, None, state);
    client.notify("textDocument/didSave", json!({"textDocument": {"uri": b}}));
    client.wait("the saved file's meaning", shows(&a, "carried-dependence"));
    // closed: the file on disk counts again
    client.notify("textDocument/didClose", json!({"textDocument": {"uri": b}}));
    client.wait("the file's meaning", shows(&a, "parallel-loop"));
    // changed on disk by somebody else
    folder.write("b.c", state);
    client.notify("workspace/didChangeWatchedFiles", json!({"changes": [{"uri": b, "type": 2}]}));
    client.wait("the changed file's meaning", shows(&a, "carried-dependence"));
    assert_eq!(client.finish(), Some(0));
}

#[test]
fn an_editor_is_told_of_a_function_that_no_file_has() {
    let folder = Folder::new(&[("a.c", CALLER)]);
    let a = folder.uri("a.c");
    let mut client = Client::start(&full_caps());
    client.open(&a, CALLER);
    client.wait("that nobody defines it", shows(&a, "unknown-loop"));
    assert_eq!(client.finish(), Some(0));
}

/// A tile of a transposition whose size, element and launch are the including file's.
const TILE: &str = "__global__ void turn(const real *a, real *b, int n) {\n\
                    \x20 __shared__ real t[SIDE][SIDE];\n\
                    \x20 int x = blockIdx.x * SIDE + threadIdx.x, y = blockIdx.y * SIDE + threadIdx.y;\n\
                    \x20 t[threadIdx.y][threadIdx.x] = a[y * n + x];\n\
                    \x20 __syncthreads();\n\
                    \x20 b[(blockIdx.x * SIDE + threadIdx.y) * n + blockIdx.y * SIDE + threadIdx.x] = t[threadIdx.x][threadIdx.y];\n}\n";
const TURNING: &str = "#include <stdlib.h>\n#define SIDE 32\ntypedef float real;\n#include \"tile.cu\"\n\
                       void run(float *a, float *b) {\n  turn<<<dim3(8, 8), dim3(SIDE, SIDE)>>>(a, b, 256);\n}\n";

#[test]
fn a_kernel_file_is_read_behind_the_file_that_includes_it() {
    let folder = Folder::new(&[("tile.cu", TILE), ("main.cu", TURNING)]);
    let output = folder.run(&["analyze", "--format", "json", "tile.cu"]);
    let report: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", err(&output)));
    let file = &report["files"][0];
    let taken = json!({"name": "main.cu", "taken": "includes this file", "value": "4"});
    assert!(file["configuration"].as_array().is_some_and(|c| c.contains(&taken)), "{file:#}");
    let launch = &file["kernels"][0]["launches"][0];
    assert_eq!(
        (&launch["block"], &launch["file"], &launch["line"]),
        (&json!([32, 32, 1]), &json!("main.cu"), &json!(6))
    );
    let words = file["diagnostics"][0]["message"].as_str().unwrap_or_default();
    assert!(words.starts_with("32-way bank conflict"), "{words}");
    assert!(words.contains("(the launch on line 6 of `main.cu`)"), "{words}");
}

#[test]
fn a_template_of_loops_is_judged_with_one_of_its_types_and_not_rewritten() {
    let folder = Folder::new(&[
        ("axpy.inc.c", "void NAME(int n, T *restrict y, const T *restrict x) {\n  for (int i = 0; i < n; i++)\n    y[i] += x[i];\n}\n"),
        ("all.c", "#define T float\n#define NAME axpyf\n#include \"axpy.inc.c\"\n#undef T\n#undef NAME\n#define T double\n#define NAME axpyd\n#include \"axpy.inc.c\"\n"),
    ]);
    let said = out(&folder.run(&["analyze", "axpy.inc.c"]));
    assert!(said.contains("independent"), "{said}");
    assert!(
        said.contains("what stands in `all.c` before line 3, which includes this file, as 1 more place does"),
        "{said}"
    );
    let refused = folder.run(&["offload", "axpy.inc.c", "--loop", "2"]);
    assert!(err(&refused).contains("this file is a part of `all.c`"), "{}", err(&refused));
    assert_ne!(refused.status.code(), Some(0));
}

#[test]
fn an_editor_learns_of_a_launch_in_another_file_and_of_its_change() {
    let folder = Folder::new(&[("tile.cu", TILE), ("main.cu", TURNING)]);
    let (tile, main) = (folder.uri("tile.cu"), folder.uri("main.cu"));
    let mut client = Client::start(&full_caps());
    client.open_as(&tile, "cuda-cpp", TILE);
    client.wait("the conflict with the other file's launch", says(&tile, "32-way bank conflict"));
    // what stands before the place is the text in the editor, before it is saved
    let padded = TURNING.replace("#define SIDE 32", "#define SIDE 16");
    client.open_as(&main, "cuda-cpp", &padded);
    client.notify("textDocument/didSave", json!({"textDocument": {"uri": main}}));
    client.wait("the conflict with tiles of 16", says(&tile, "8-way bank conflict"));
    assert_eq!(client.finish(), Some(0));
}

/// A document's diagnostics have these words.
fn says<'a>(uri: &'a str, words: &'a str) -> impl FnMut(&Value) -> bool + 'a {
    move |m| {
        let of = &m["params"]["diagnostics"];
        let has = |d: &Value| d["message"].as_str().is_some_and(|t| t.contains(words));
        m["method"] == "textDocument/publishDiagnostics"
            && m["params"]["uri"] == *uri
            && of.as_array().is_some_and(|all| all.iter().any(has))
    }
}
