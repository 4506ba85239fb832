//! The compiler that is asked what it defines: which one is run, which never is, and that nobody waits for it.
#![cfg(unix)]

mod support;

use std::os::unix::fs::{symlink, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{json, Value};
use support::{full_caps, server, Client};
use tempfile::TempDir;

const GCC: &str = include_str!("../server/crates/front/tests/gcc_says.txt");

/// Independent where `linux` is defined, sequential where it is not, unknown where nobody can be asked.
const BY_SYSTEM: &str = "\
#ifdef linux
#define BACK 0
#else
#define BACK 1
#endif
void f(int n, int *a) {
    for (int i = 1; i < n; i++)
        a[i] = a[i - BACK] + 1;
}
";

/// Folders `workspace`, with a sign that it is a project, and `beside`.
struct Place(TempDir);

impl Place {
    fn new() -> Place {
        let place = Place(tempfile::tempdir().expect("a folder"));
        std::fs::create_dir_all(place.path("workspace/.git")).expect("a folder");
        place.write("workspace/src/x.c", BY_SYSTEM);
        place.write("gcc_says.txt", GCC);
        place
    }
    fn path(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().expect("it is there").join(name)
    }
    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(&path, text).expect("written");
        path
    }
    /// A program that leaves a trace, then does this.
    fn program(&self, name: &str, then: &str) -> PathBuf {
        let trace = self.path("ran");
        let path = self.write(name, &format!("#!/bin/sh\necho \"$0 $*\" >> {}\n{then}\n", trace.display()));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("may run");
        path
    }
    /// One that answers as gcc does.
    fn compiler(&self, name: &str) -> PathBuf {
        self.program(name, &format!("/bin/cat {}", self.path("gcc_says.txt").display()))
    }
    fn ran(&self) -> String {
        std::fs::read_to_string(self.path("ran")).unwrap_or_default()
    }
    /// What `analyze` says of the file, with this search path.
    fn analyze(&self, path: &str, more: &[&str]) -> Value {
        let out = server()
            .args(["analyze", "--format", "json"])
            .args(more)
            .arg("src/x.c")
            .env("PATH", path)
            .current_dir(self.path("workspace"))
            .stdin(Stdio::null())
            .output()
            .expect("the program starts");
        let report: Value = serde_json::from_slice(&out.stdout).expect("JSON");
        report["files"][0].clone()
    }
}

fn verdict(file: &Value) -> &str {
    file["loops"][0]["verdict"].as_str().unwrap_or("none")
}

fn taken<'a>(file: &'a Value, name: &str) -> &'a Value {
    let all = file["configuration"].as_array().map_or(&[][..], Vec::as_slice);
    all.iter().find(|c| c["name"] == name).unwrap_or(&Value::Null)
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

#[test]
fn the_one_on_the_search_path_is_asked_and_named() {
    let place = Place::new();
    place.compiler("beside/bin/cc");
    let beside = place.path("beside/bin");
    let file = place.analyze(text(&beside), &[]);
    assert_eq!(verdict(&file), "independent", "{file:#}");
    assert_eq!(*taken(&file, "linux"), json!({"name": "linux", "taken": "compiler", "value": "gcc 12.2.0"}));
    assert_eq!(place.ran(), format!("{}/cc -dM -E -x c /dev/null\n", beside.display()), "asked once");
    // off, and one by its path
    let file = place.analyze(text(&beside), &["--compiler", "off"]);
    assert_eq!((verdict(&file), place.ran().lines().count()), ("unknown", 1), "{file:#}");
    assert_eq!(*taken(&file, "linux"), json!({"name": "linux", "taken": "either way"}));
    let named = place.compiler("elsewhere/my-cc");
    let file = place.analyze("", &["--compiler", text(&named)]);
    assert_eq!(verdict(&file), "independent", "{file:#}");
    assert!(place.ran().contains("my-cc"));
    // `cc` before `gcc` before `clang`
    let tried = |name: &str| {
        place.compiler(&format!("more/{name}"));
        place.analyze(text(&place.path("more")), &[]);
        place.ran().lines().last().unwrap_or("").to_owned()
    };
    assert!(tried("clang").contains("/clang "));
    assert!(tried("gcc").contains("/gcc "));
    assert!(tried("cc").contains("/cc "));
}

#[test]
fn none_of_the_workspace_is_ever_run() {
    let place = Place::new();
    let inside = place.compiler("workspace/bin/cc");
    place.compiler("workspace/cc");
    std::fs::create_dir_all(place.path("beside/links")).expect("a folder");
    symlink(&inside, place.path("beside/links/cc")).expect("a link");
    symlink(place.path("workspace"), place.path("beside/way")).expect("a link");
    symlink(place.path("beside"), place.path("workspace/out")).expect("a link");
    let absolute = |name: &str| text(&place.path(name)).to_owned();
    let paths = [
        absolute("workspace/bin"),
        absolute("beside/../workspace/bin"),
        "bin".to_owned(),
        ".".to_owned(),
        ":".to_owned(),
        "../workspace/bin".to_owned(),
        absolute("beside/links"),
        absolute("beside/way/bin"),
        absolute("workspace/out/links"),
    ];
    for path in &paths {
        let file = place.analyze(path, &[]);
        assert_eq!((verdict(&file), place.ran().as_str()), ("unknown", ""), "{path}");
    }
    for named in [text(&inside), "bin/cc", "cc", &absolute("beside/links/cc"), &absolute("beside/way/cc")] {
        let file = place.analyze("", &["--compiler", named]);
        assert_eq!((verdict(&file), place.ran().as_str()), ("unknown", ""), "{named}");
    }
    // a compiler named by the workspace's own files is no compiler either; the next one on the path is asked
    place.compiler("beside/bin/gcc");
    let database = json!([{"directory": place.path("workspace"), "file": "src/x.c",
        "command": format!("{} -O2 -B{} -c src/x.c", inside.display(), place.path("workspace/bin").display())}]);
    place.write("workspace/compile_commands.json", &database.to_string());
    let path = format!("{}:{}", absolute("workspace/bin"), absolute("beside/bin"));
    let file = place.analyze(&path, &[]);
    assert_eq!(verdict(&file), "independent", "{file:#}");
    assert_eq!(place.ran(), format!("{} -O2 -dM -E -x c /dev/null\n", absolute("beside/bin/gcc")));
}

#[test]
fn answers_that_are_none_are_given_up() {
    let place = Place::new();
    let bin = place.path("beside/bin");
    let says = |then: &str| {
        place.program("beside/bin/cc", then);
        let started = Instant::now();
        let file = place.analyze(text(&bin), &[]);
        assert_eq!(verdict(&file), "unknown", "{then}: {file:#}");
        assert_eq!(taken(&file, "linux")["taken"], "either way", "{then}");
        started.elapsed()
    };
    assert!(says("exec /bin/sleep 100") < Duration::from_secs(60), "a slow one is given up");
    says("/bin/sleep 100 &");
    says("echo 'usage: cc [options] file'");
    says("exit 1");
    says(&format!("/bin/cat {}; exit 1", place.path("gcc_says.txt").display()));
    says(&format!("/bin/cat {}; echo 'int x;'", place.path("gcc_says.txt").display()));
    says(&format!(
        "/bin/cat {0}; /bin/cat {0} {0} {0} >/dev/null; echo '#define __CHAR_UNSIGNED__ 1'",
        place.path("gcc_says.txt").display()
    ));
    says("while :; do echo '#define X 1'; done");
}

/// What options decide is open until they are known; those of a compile database are passed on, and only those that decide.
#[test]
fn options_decide_where_they_are_known() {
    let place = Place::new();
    let by_options = BY_SYSTEM.replace("linux", "__AVX2__");
    place.write("workspace/src/x.c", &by_options);
    let answer = place.path("gcc_says.txt");
    let then =
        format!("/bin/cat {}\ncase \"$*\" in *-mavx2*) echo '#define __AVX2__ 1';; esac", answer.display());
    place.program("beside/bin/cc", &then);
    let bin = place.path("beside/bin");
    let file = place.analyze(text(&bin), &[]);
    assert_eq!(
        (verdict(&file), &taken(&file, "__AVX2__")["taken"]),
        ("unknown", &json!("either way")),
        "{file:#}"
    );
    let flags = |flags: &str| place.write("workspace/compile_flags.txt", flags);
    flags("-O2\n-mavx2\n-fplugin=evil.so\n-specs=evil\n");
    let file = place.analyze(text(&bin), &[]);
    assert_eq!(
        (verdict(&file), &taken(&file, "__AVX2__")["taken"]),
        ("independent", &json!("compiler")),
        "{file:#}"
    );
    assert!(place.ran().lines().last().is_some_and(|l| l.ends_with("cc -O2 -mavx2 -dM -E -x c /dev/null")));
    flags("-O2\n");
    let file = place.analyze(text(&bin), &[]);
    assert_eq!(
        (verdict(&file), &taken(&file, "__AVX2__")["taken"]),
        ("sequential", &json!("compiler")),
        "{file:#}"
    );
    // options of which nobody knows what they say
    flags("-O2\n@more\n");
    assert_eq!(verdict(&place.analyze(text(&bin), &[])), "unknown");
    // one that this compiler refuses: asked without
    place.program(
        "beside/bin/cc",
        &format!("case \"$*\" in *-mamx*) exit 1;; esac\n/bin/cat {}", answer.display()),
    );
    flags("-mamx-next\n");
    place.write("workspace/src/x.c", BY_SYSTEM);
    assert_eq!(verdict(&place.analyze(text(&bin), &[])), "independent");
}

fn codes(diagnostics: &[Value]) -> Vec<&str> {
    diagnostics.iter().filter_map(|d| d["code"].as_str()).collect()
}

fn uri(path: &Path) -> String {
    format!("file://{}", text(path))
}

#[test]
fn an_editor_never_waits_and_reads_again_when_the_answer_is_there() {
    let place = Place::new();
    let go = place.path("go");
    let then = format!(
        "while [ ! -e {0} ]; do /bin/sleep 0.05; done\n/bin/cat {1}",
        go.display(),
        place.path("gcc_says.txt").display()
    );
    place.program("beside/bin/cc", &then);
    let bin = place.path("beside/bin");
    // in builds for tests the limit can be made long, so that a busy machine does not matter
    let env = [("PATH", text(&bin)), ("WARPWRIGHT_TEST_ASK_SECONDS", "100")];
    let mut client = Client::start_with(&full_caps(), &Value::Null, &env);
    let uri = uri(&place.path("workspace/src/x.c"));
    client.open(&uri, BY_SYSTEM);
    let first = client.diagnostics(&uri, 1);
    assert_eq!(codes(&first), ["unknown-loop"], "{first:#?}");
    client.change(&uri, 2, Some([0, 0, 0, 0]), "// typed\n");
    let typed = client.diagnostics(&uri, 2);
    assert_eq!(codes(&typed), ["unknown-loop"], "{typed:#?}");
    assert!(client.hover(&uri, 7, 6)["contents"]["value"]
        .as_str()
        .is_some_and(|v| v.contains("`linux` defined or not")));
    std::fs::write(&go, "").expect("written");
    let mut answered = client.diagnostics(&uri, 2);
    while codes(&answered) == ["unknown-loop"] {
        answered = client.diagnostics(&uri, 2);
    }
    assert_eq!(codes(&answered), ["parallel-loop"], "{answered:#?}");
    assert!(client.hover(&uri, 7, 6)["contents"]["value"]
        .as_str()
        .is_some_and(|v| v.contains("gcc 12.2.0 as found here")));
    // known for whatever is opened now
    let other = format!("{uri}2.c");
    client.open(&other, BY_SYSTEM);
    assert_eq!(codes(&client.diagnostics(&other, 1)), ["parallel-loop"]);
    assert_eq!(place.ran().lines().count(), 1, "{}", place.ran());
    assert_eq!(client.finish(), Some(0));
}

#[test]
fn an_editor_runs_none_of_the_workspace_and_none_against_the_settings() {
    let place = Place::new();
    place.compiler("workspace/bin/cc");
    place.compiler("other/bin/cc");
    place.compiler("beside/bin/cc");
    let file = uri(&place.path("workspace/src/x.c"));
    let loose = place.write("loose/x.c", BY_SYSTEM);
    let paths =
        |names: &[&str]| names.iter().map(|n| text(&place.path(n)).to_owned()).collect::<Vec<_>>().join(":");
    let mut caps = full_caps();
    caps["workspace"]["configuration"] = json!(true);
    let ask = |path: &str, options: &Value, configuration: &Value, roots: &[&str], document: &str| {
        let mut client = Client::spawn(&[("PATH", path)]);
        client.configuration = configuration.clone();
        let folders: Vec<Value> =
            roots.iter().map(|r| json!({"name": r, "uri": uri(&place.path(r))})).collect();
        let params = json!({"processId": std::process::id(), "rootUri": null, "capabilities": caps,
            "workspaceFolders": folders, "initializationOptions": options});
        client.init = client.request("initialize", params);
        client.notify("initialized", json!({}));
        client.open(document, BY_SYSTEM);
        client.diagnostics(document, 1);
        // the thorough analysis comes after the settings
        client.notify("textDocument/didSave", json!({"textDocument": {"uri": document}}));
        client.hover(document, 6, 6);
        assert_eq!(client.finish(), Some(0));
    };
    ask(&paths(&["workspace/bin"]), &Value::Null, &Value::Null, &["workspace"], &file);
    ask(&paths(&["workspace/bin"]), &Value::Null, &Value::Null, &[], &file);
    ask(&paths(&["other/bin"]), &Value::Null, &Value::Null, &["workspace", "other"], &uri(&loose));
    let named = text(&place.path("workspace/bin/cc")).to_owned();
    ask("", &json!({"compiler": named}), &json!({"compiler": named}), &["workspace"], &file);
    ask("", &json!({"compiler": "bin/cc"}), &json!({"compiler": "bin/cc"}), &["workspace"], &file);
    ask(
        &paths(&["beside/bin"]),
        &json!({"compiler": "off"}),
        &json!({"compiler": "off"}),
        &["workspace"],
        &file,
    );
    // nothing is asked before the settings are there
    ask(
        &paths(&["beside/bin"]),
        &json!({"trusted": true}),
        &json!({"compiler": "off"}),
        &["workspace"],
        &file,
    );
    assert_eq!(place.ran(), "");
}
