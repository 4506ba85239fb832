//! `warpwright rules`: exit statuses, and what is printed where.

mod support;

use std::process::{Output, Stdio};

use expect_test::expect;
use support::server;
use tempfile::TempDir;

const PAGE: &str = "# Halve by shifting\n\nTrust: exact\n\n```rules halve BottomUp\nc`$x / 2` [type($x, `unsigned int`)] -> c`$x >> 1`\n```\n\n```c example\nunsigned f(unsigned x) { return x / 2; }\n```\n```c result\nunsigned f(unsigned x) { return x >> 1; }\n```\n```c refused\nint f(int x) { return x / 2; }\n```\n";
const PROGRAM: &str = "unsigned half(unsigned a, int b) {\n    return a / 2 + b / 2; // both\n}\n";

fn run(folder: &TempDir, args: &[&str]) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = server()
        .arg("rules")
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
