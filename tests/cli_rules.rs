//! `warpwright rules`: exit statuses, and what is printed where.

mod support;

use std::process::{Output, Stdio};

use expect_test::expect;
use support::server;
use tempfile::TempDir;

const PAGE: &str = "# Halve by shifting\n\nTrust: exact\n\n```rules halve BottomUp\nc`$x / 2` [type($x, `unsigned int`)] -> c`$x >> 1`\n```\n\n```c example\nunsigned f(unsigned x) { return x / 2; }\n```\n```c result\nunsigned f(unsigned x) { return x >> 1; }\n```\n```c refused\nint f(int x) { return x / 2; }\n```\n";
const PROGRAM: &str = "unsigned half(unsigned a, int b) {\n    return a / 2 + b / 2; // both\n}\n";

fn run(folder: &TempDir, args: &[&str]) -> (Option<i32>, String, String) {
    run_as("rules", folder, args)
}

fn run_as(command: &str, folder: &TempDir, args: &[&str]) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = server()
        .arg(command)
        .args(args)
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .output()
        .expect("the program starts");
    let text = |b: Vec<u8>| String::from_utf8_lossy(&b).into_owned();
    (status.code(), text(stdout), text(stderr))
}

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, text).expect("written");
    }
    folder
}

#[test]
fn pages_are_checked() {
    let wrong = PAGE.replace("[type(", "[tpye(").replace("x >> 1; }", "x >> 2; }");
    let folder = folder(&[("pages/halve.md", PAGE), ("wrong.md", &wrong), ("other/note.txt", "")]);
    assert_eq!(
        run(&folder, &["check", "pages"]),
        (Some(0), String::new(), "1 page, 1 rule, 2 examples as written, 0 errors.\n".into())
    );
    let (code, said, _) = run(&folder, &["check", "wrong.md"]);
    assert_eq!(code, Some(1));
    expect![[r#"
        wrong.md:6:12: error: There is no guard `tpye`. Is `type` meant?
    "#]]
    .assert_eq(&said);
    let (code, _, why) = run(&folder, &["check", "missing.md"]);
    assert_eq!(code, Some(2));
    assert!(why.contains("missing.md cannot be read"), "{why}");
}

#[test]
fn systems_are_listed_and_applied() {
    let folder = folder(&[("pages/halve.md", PAGE), ("half.c", PROGRAM)]);
    let (code, said, _) = run(&folder, &["list", "--pages", "pages"]);
    assert_eq!(code, Some(0));
    assert!(
        said.lines().any(|l| l.starts_with("halve ") && l.ends_with("Halve by shifting (exact; BottomUp)")),
        "{said}"
    );
    assert!(said.lines().any(|l| l.starts_with("interchange ")), "{said}");

    let (code, text, note) = run(&folder, &["apply", "halve", "--pages", "pages", "--explain", "half.c"]);
    assert_eq!(code, Some(0), "{note}");
    assert_eq!(text, PROGRAM.replace("a / 2", "(a >> 1)"));
    expect![[r#"
        halve rule 1: a/2 -> a>>1; $x = a; type(a,unsigned int) because its type is unsigned int
        Halve by shifting: 1 application. Same results as before on 16 random inputs of 1 function in the simulator.
    "#]].assert_eq(&note);

    let (code, text, why) = run(&folder, &["apply", "interchange", "half.c"]);
    assert_eq!((code, text.as_str()), (Some(1), ""));
    expect![[r#"
        half.c: interchange: No rule matches anything here.
    "#]]
    .assert_eq(&why);
    let (code, _, why) = run(&folder, &["apply", "interchnage", "half.c"]);
    assert_eq!(code, Some(1));
    assert!(why.contains("Is `interchange` meant?"), "{why}");
    assert_eq!(run(&folder, &["apply", "halve", "--pages", "pages", "missing.c"]).0, Some(2));

    let (code, said, _) = run(&folder, &["apply", "halve", "--pages", "pages", "--in-place", "half.c"]);
    assert_eq!((code, said.as_str()), (Some(0), "wrote half.c\n"));
    let now = std::fs::read_to_string(folder.path().join("half.c")).expect("a file");
    assert_eq!(now, PROGRAM.replace("a / 2", "(a >> 1)"));
}

const MARKED: &str = "void twice(int n, int *a)\n{\n    // warpwright: offload(twice_kernel)\n    for (int i = 0; i < n; i++)\n        a[i] *= 2;\n}\n";

/// Kernels that rules make are printed behind the result, or written beside it; what is there is not touched unasked.
#[test]
fn kernels_are_written_beside_their_program() {
    let folder = folder(&[("twice.c", MARKED), ("there/twice_kernel.cu", "mine\n")]);
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap_or_default();
    let (code, said, note) = run(&folder, &["apply", "offload", "twice.c"]);
    assert_eq!(code, Some(0), "{note}");
    let (host, kernel) = said.split_once("# twice_kernel.cu\n").expect("a file behind the result");
    assert!(host.contains("if (!twice_kernel_on_gpu(n, a)) {"), "{host}");
    assert!(!host.contains("warpwright: offload"), "{host}");
    assert!(kernel.contains("extern \"C\" __global__ void twice_kernel_kernel("), "{kernel}");
    assert!(note.contains("Same results as before on "), "{note}");

    let (code, said, _) =
        run(&folder, &["apply", "offload", "--explain-in-kernel", "--out", "out", "twice.c"]);
    assert_eq!((code, said.as_str()), (Some(0), "wrote out/twice_kernel.cu\nwrote out/twice.c\n"));
    assert_eq!(read("out/twice.c"), host);
    let explained = read("out/twice_kernel.cu");
    assert!(explained.contains("\n//   offload rule 1: _Offloaded(twice_kernel_on_gpu,"), "{explained}");
    assert!(explained.contains("\n//   plan: line 4, "), "{explained}");
    assert!(explained.contains(": no two iterations use one cell of which one writes it\n"), "{explained}");
    assert!(explained.ends_with(kernel.split_once("extern \"C\"").expect("a kernel").1), "{explained}");
    // the command writes the same
    let (code, _, why) = run_as("offload", &folder, &["--out", "command", "twice.c"]);
    assert_eq!(code, Some(0), "{why}");
    assert_eq!(
        (read("command/twice_kernel.cu"), read("command/twice.c")),
        (kernel.to_owned(), host.to_owned())
    );

    // a file of this name is somebody's: neither it nor the program is touched
    let args = ["apply", "offload", "--out", "there", "twice.c"];
    let (code, said, why) = run(&folder, &args);
    assert_eq!((code, said.as_str()), (Some(2), ""));
    assert!(why.contains("exists and is not replaced"), "{why}");
    assert_eq!((read("there/twice_kernel.cu").as_str(), read("there/twice.c").as_str()), ("mine\n", ""));
    let (code, _, why) = run(&folder, &[&args[..], &["--replace"]].concat());
    assert_eq!(code, Some(0), "{why}");
    assert_eq!((read("there/twice_kernel.cu"), read("there/twice.c")), (kernel.to_owned(), host.to_owned()));

    let (code, said, _) = run(&folder, &["apply", "offload", "--in-place", "twice.c"]);
    assert_eq!((code, said.as_str()), (Some(0), "wrote twice_kernel.cu\nwrote twice.c\n"));
    assert_eq!((read("twice_kernel.cu"), read("twice.c")), (kernel.to_owned(), host.to_owned()));
}

/// What could not be run beside the original is written all the same, and has a status of its own.
#[test]
fn what_was_not_run_has_its_own_status() {
    const PAGE: &str = "# Double behind\n\nTrust: assumes what is said\n\n```rules behind once(TopDown)\ncuda`2 * $i` -> cuda`$i * 2`\n```\n\n```cuda example\n__global__ void k(int *a) {\n    a[threadIdx.x] = 2 * a[threadIdx.x];\n}\n```\n```cuda result\n__global__ void k(int *a) {\n    a[threadIdx.x] = a[threadIdx.x] * 2;\n}\n```\n";
    let kernel = "struct Node { Node *next; int v; };\n__global__ void walk(Node *list, int n) {\n    int i = threadIdx.x;\n    if (i < n)\n        list[i].v = 2 * i;\n}\n";
    let runs = "__global__ void twice(int *a) {\n    a[threadIdx.x] = 2 * a[threadIdx.x];\n}\n";
    let folder = folder(&[("pages/behind.md", PAGE), ("walk.cu", kernel), ("twice.cu", runs)]);
    let (code, text, note) = run(&folder, &["apply", "behind", "--pages", "pages", "walk.cu"]);
    assert_eq!((code, text), (Some(3), kernel.replace("2 * i", "i * 2")), "{note}");
    assert!(note.contains("Not run beside the original: no contents can be made up"), "{note}");
    let (code, _, note) = run(&folder, &["apply", "behind", "--pages", "pages", "twice.cu"]);
    assert_eq!(code, Some(0), "{note}");
}

#[test]
fn results_are_written_anew() {
    let stale = PAGE.replace("x >> 1; }", "x >> 2; }");
    let folder = folder(&[("halve.md", &stale)]);
    let (code, said, _) = run(&folder, &["check", "halve.md"]);
    assert!(code == Some(1) && said.contains("The program becomes something else than this"), "{said}");
    let (code, _, note) = run(&folder, &["check", "--update", "halve.md"]);
    assert!(code == Some(0) && note.starts_with("halve.md: 1 result written anew\n"), "{note}");
    assert_eq!(std::fs::read_to_string(folder.path().join("halve.md")).expect("the page"), PAGE);
    let (code, _, note) = run(&folder, &["check", "--update", "halve.md"]);
    assert!(code == Some(0) && !note.contains("written anew"), "{note}");
}

#[test]
fn many_files_are_changed_or_shown() {
    let other = PROGRAM.replace("half", "other");
    let none = "int third(int a) { return a / 3; }\n";
    let files =
        [("pages/halve.md", PAGE), ("src/half.c", PROGRAM), ("src/other.c", &*other), ("src/none.c", none)];
    let folder = folder(&files);
    let (code, diff, note) = run(&folder, &["apply", "halve", "--pages", "pages", "--diff", "src"]);
    assert_eq!(code, Some(0), "{note}");
    assert!(note.contains("2 of 3 files changed by `halve`."), "{note}");
    assert_eq!(diff.matches("\n+    return (a >> 1) + b / 2; // both\n").count(), 2, "{diff}");
    assert!(diff.contains("--- a/src/half.c\n+++ b/src/half.c\n") && !diff.contains("none.c"), "{diff}");
    for (name, text) in &files[1..] {
        assert_eq!(std::fs::read_to_string(folder.path().join(name)).expect("a file"), *text, "only shown");
    }
}
