//! What was measured of a loop stands where the loop stands, in a real session of an editor, until the loop is another; what measures
//! is a process that is gone when it is called off.
#![cfg(target_os = "linux")]

#[path = "support/standin.rs"]
mod standin;
mod support;

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{json, Value};
use standin::StandIn;
use support::{full_caps, Client};

const PROGRAM: &str = "\
float x[500], y[500];

static float twice(float v) { return 2 * v; }

void scale(void) {
    for (int i = 0; i < 500; i++)
        y[i] = twice(x[i]) + 1;
}

void other(void) {
    for (int i = 0; i < 500; i++)
        x[i] = y[i];
}
";

/// A workspace with a program, and a user with a state folder.
struct Desk {
    standin: StandIn,
    folder: tempfile::TempDir,
}

impl Desk {
    fn new(program: &str) -> Desk {
        let folder = tempfile::tempdir().expect("temporary folder");
        std::fs::create_dir(folder.path().join("work")).expect("folder");
        std::fs::write(folder.path().join("work/program.c"), program).expect("program");
        Desk { standin: StandIn::new(), folder }
    }

    fn uri(&self) -> String {
        format!("file://{}", self.folder.path().join("work/program.c").display())
    }

    fn editor(&self, env: &[(&str, &str)]) -> Client {
        let lib = self.standin.folder().display().to_string();
        let nvrtc = format!("{lib}/libnvrtc.so");
        let state = self.folder.path().join("state").display().to_string();
        let memory = (64 << 20).to_string();
        let mut all = vec![
            ("LD_LIBRARY_PATH", lib.as_str()),
            ("WARPWRIGHT_NVRTC", nvrtc.as_str()),
            ("WARPWRIGHT_STANDIN_MEMORY", memory.as_str()),
            ("XDG_STATE_HOME", state.as_str()),
        ];
        all.extend_from_slice(env);
        Client::start_with(&full_caps(), &Value::Null, &all)
    }

    /// The only file of measurements.
    fn history(&self) -> std::path::PathBuf {
        let files = std::fs::read_dir(self.folder.path().join("state/warpwright/measurements"));
        let files: Vec<_> = files.into_iter().flatten().flatten().map(|e| e.path()).collect();
        assert_eq!(files.len(), 1, "{files:?}");
        files[0].clone()
    }
}

fn profile(uri: &str, line: u32) -> Value {
    json!({"command": "warpwright.profile", "arguments": [{"uri": uri, "line": line}], "workDoneToken": "measuring"})
}

/// Titles of the lenses of measurements, with their lines.
fn lenses(client: &mut Client, uri: &str) -> Vec<(u64, String)> {
    let all = client.request("textDocument/codeLens", json!({"textDocument": {"uri": uri}}));
    let all = all.as_array().cloned().unwrap_or_default();
    let is_ours = |l: &&Value| l["command"]["command"] == "warpwright.profile";
    let words = |l: &Value| l["command"]["title"].as_str().expect("a title").to_owned();
    all.iter()
        .filter(is_ours)
        .map(|l| (l["range"]["start"]["line"].as_u64().expect("a line"), words(l)))
        .collect()
}

fn hints(client: &mut Client, uri: &str) -> Vec<String> {
    let range = json!({"start": {"line": 0, "character": 0}, "end": {"line": 30, "character": 0}});
    let all = client.request("textDocument/inlayHint", json!({"textDocument": {"uri": uri}, "range": range}));
    let label = |h: &Value| h["label"].as_str().map(str::to_owned);
    all.as_array().into_iter().flatten().filter_map(label).collect()
}

#[test]
fn a_measurement_stands_at_its_loop_until_that_is_another() {
    let desk = Desk::new(PROGRAM);
    let uri = desk.uri();
    let mut client = desk.editor(&[]);
    client.open(&uri, PROGRAM);
    assert!(lenses(&mut client, &uri).is_empty());
    let done = client.request("workspace/executeCommand", profile(&uri, 5));
    assert_eq!(done["runs"][0]["checked"], "same", "{done:#}");
    // never a number without how it was got
    let is_said = |words: &str| {
        words.starts_with("same on Warpwright stand-in") && words.contains("(by simulator: no times)")
    };
    let shown = lenses(&mut client, &uri);
    assert!(matches!(&shown[..], [(5, words)] if is_said(words)), "{shown:?}");
    let hover = client.hover(&uri, 5, 6);
    assert!(
        hover["contents"]["value"].as_str().is_some_and(|h| h.contains("Measured: same on")),
        "{hover:#}"
    );
    let hover = client.hover(&uri, 10, 6);
    assert!(!hover["contents"]["value"].as_str().is_some_and(|h| h.contains("Measured")), "{hover:#}");
    // above it: nothing of it changes
    client.change(&uri, 2, Some([0, 0, 0, 0]), "/* A program. */\n");
    assert!(matches!(&lenses(&mut client, &uri)[..], [(6, _)]));
    // in it, and back
    let change = |client: &mut Client, version, from: &str, to: &str| {
        let text = client.text_of(&uri).replace(from, to);
        client.change(&uri, version, None, &text);
    };
    change(&mut client, 3, "+ 1;", "+ 2;");
    assert!(lenses(&mut client, &uri).is_empty());
    let hover = client.hover(&uri, 6, 6);
    assert!(!hover["contents"]["value"].as_str().is_some_and(|h| h.contains("Measured")), "{hover:#}");
    change(&mut client, 4, "+ 2;", "+ 1;");
    assert_eq!(lenses(&mut client, &uri).len(), 1);
    // in what it calls, and back; in another function
    change(&mut client, 5, "return 2 * v", "return 3 * v");
    assert!(lenses(&mut client, &uri).is_empty());
    change(&mut client, 6, "return 3 * v", "return 2 * v");
    change(&mut client, 7, "x[i] = y[i];", "x[i] = y[i] + 3;");
    assert_eq!(lenses(&mut client, &uri).len(), 1);
    // how often it runs
    change(&mut client, 8, "x[500], y[500];", "x[600], y[600];");
    assert!(lenses(&mut client, &uri).is_empty());
    assert_eq!(client.finish(), Some(0));
}

#[test]
fn measurements_are_the_users_and_outlive_editors() {
    let desk = Desk::new(PROGRAM);
    let uri = desk.uri();
    let mut first = desk.editor(&[]);
    let mut second = desk.editor(&[]);
    for client in [&mut first, &mut second] {
        client.open(&uri, PROGRAM);
    }
    first.request("workspace/executeCommand", profile(&uri, 5));
    second.request("workspace/executeCommand", profile(&uri, 10));
    // an editor that shows no lenses shows hints
    let shown = hints(&mut first, &uri);
    assert_eq!(shown.iter().filter(|h| h.contains("by simulator")).count(), 2, "{shown:?}");
    assert_eq!(lenses(&mut first, &uri).len(), 2);
    drop(first.unchecked());
    let history = desk.history();
    let lines = std::fs::read_to_string(&history).expect("a file");
    assert_eq!(lines.lines().count(), 2);
    assert!(std::fs::read_dir(desk.folder.path().join("work")).expect("a folder").count() == 1);
    // a crash in the middle of a line, and somebody who would like to be shown
    let evil = lines
        .replace("Warpwright stand-in (simulated)", "[click](command:evil)")
        .replace("\"at\":", "\"at\":9");
    std::fs::write(&history, format!("{lines}{evil}{{\"version\":1,\"at\":17")).expect("written");
    second.request("workspace/executeCommand", profile(&uri, 5));
    let mut third = desk.editor(&[]);
    third.open(&uri, PROGRAM);
    let shown = lenses(&mut third, &uri);
    assert!(shown.len() == 2 && shown.iter().all(|l| l.1.contains("stand-in")), "{shown:?}");
    assert_eq!(std::fs::read_to_string(&history).expect("a file").lines().count(), 6);
    assert_eq!((second.finish(), third.finish()), (Some(0), Some(0)));
}

/// Processes that were started with this in their environment.
fn processes(mark: &str) -> usize {
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let has =
        |p: &Path| std::fs::read(p.join("environ")).is_ok_and(|e| String::from_utf8_lossy(&e).contains(mark));
    all.filter(|e| has(&e.path())).count()
}

#[test]
fn what_is_called_off_is_gone() {
    let forever = "\
float x[500];

void spin(void) {
    for (int i = 0; i < 500; i++)
        for (long k = 0; k < 4000000000000; k++)
            x[i] = x[i] * 0.5f + 1;
}
";
    let desk = Desk::new(forever);
    let uri = desk.uri();
    let mark = format!("called-off-{}", std::process::id());
    let mut client = desk.editor(&[("WARPWRIGHT_STANDIN_STEPS", "18446744073709551615"), ("WW_MARK", &mark)]);
    client.open(&uri, forever);
    for by_request in [true, false] {
        assert_eq!(processes(&mark), 1, "the server alone");
        let id = client.ask("workspace/executeCommand", profile(&uri, 3));
        let is_running = |m: &Value| {
            m["method"] == "$/progress"
                && m["params"]["value"]["message"].as_str().is_some_and(|w| w.contains("running it once"))
        };
        client.wait("the kernel", is_running);
        assert_eq!(processes(&mark), 2, "the server and a worker");
        let began = Instant::now();
        match by_request {
            true => client.notify("$/cancelRequest", json!({"id": id})),
            false => client.notify("window/workDoneProgress/cancel", json!({"token": "measuring"})),
        }
        let answer = client.answer(id);
        let took = began.elapsed();
        assert_eq!(answer["error"]["code"], -32800, "{answer:#}");
        // a tenth of a second where nothing else runs
        assert!(took < Duration::from_millis(1500), "{took:?}");
        eprintln!("called off after {took:?}");
        let end = Instant::now() + Duration::from_secs(10);
        while processes(&mark) > 1 {
            assert!(Instant::now() < end, "{} processes are left", processes(&mark) - 1);
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    assert_eq!(client.finish(), Some(0));
    assert_eq!(processes(&mark), 0);
}
