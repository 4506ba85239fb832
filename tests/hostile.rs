//! The real binary and clients that misbehave: nothing hangs, nothing grows, nothing falls.

mod support;

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{json, Value};
use support::{at, full_caps, server, Client, PATIENCE, SAXPY};

const URI: &str = "file:///project/saxpy.c";

/// The error without an id that came.
fn nameless_error(client: &mut Client) -> Value {
    client.wait("an error", |m| m.get("error").is_some())["error"].clone()
}

#[test]
fn malformed_messages_are_answered_and_the_session_goes_on() {
    let mut client = Client::start(&full_caps());
    let frame = |body: &str| format!("Content-Length: {}\r\n\r\n{body}", body.len());
    for (bytes, code) in [
        (frame("{\"jsonrpc\":\"2.0\",\"method\":"), -32700),
        (frame("[]"), -32600),
        (frame("{}"), -32600),
        (frame("{\"jsonrpc\":\"1.0\",\"method\":\"x\",\"id\":null}"), -32600),
        (frame("{\"jsonrpc\":\"2.0\",\"method\":3}"), -32600),
        (frame(&"[".repeat(100_000)), -32700),
        ("Content-Length: many\r\n\r\n".to_owned(), -32700),
        ("Content-Length: 1073741824\r\n\r\n{\"jsonrpc\"".to_owned(), -32700),
    ] {
        client.send_raw(bytes.as_bytes());
        // a good message behind the bad one is heard
        client.notify("$/unknown", json!({}));
        assert_eq!(
            nameless_error(&mut client)["code"],
            code,
            "{}",
            bytes.chars().take(60).collect::<String>()
        );
    }
    client.send_raw(b"Content-Length: 5\r\n\r\n\xff\xfe\xfd\xfc\xfb");
    assert_eq!(nameless_error(&mut client)["code"], -32700);
    client.open(URI, SAXPY);
    assert!(!client.diagnostics(URI, 1).is_empty());
    assert_eq!(client.finish(), Some(0));
}

#[test]
fn unknown_methods_and_documents() {
    let mut client = Client::start(&full_caps());
    assert_eq!(client.refused("textDocument/unheardOf", json!({}))["code"], -32601);
    client.notify("textDocument/unheardOf", json!({}));
    client.notify("$/unheardOf", json!({}));
    assert_eq!(client.refused("textDocument/hover", at("file:///not-open.c", 0, 0))["code"], -32602);
    assert_eq!(client.refused("textDocument/hover", json!({"nonsense": true}))["code"], -32602);
    assert_eq!(client.refused("initialize", json!({"capabilities": {}}))["code"], -32600);
    client.change("file:///not-open.c", 2, None, "int x;");
    client.notify("textDocument/didSave", json!({"textDocument": {"uri": "file:///not-open.c"}}));
    client.notify("textDocument/didClose", json!({"textDocument": {"uri": "file:///not-open.c"}}));
    client.notify("textDocument/didOpen", json!({"textDocument": 3}));

    // opened twice, versions backwards: the order of arrival counts
    client.open(URI, "int x;\n");
    client.open(URI, SAXPY);
    client.change(URI, 9, Some([0, 0, 0, 0]), "// nine\n");
    client.change(URI, 4, Some([0, 0, 0, 0]), "// four\n");
    assert_eq!(client.text_of(URI), format!("// four\n// nine\n{SAXPY}"));
    // beyond the end means the end
    client.change(URI, 10, Some([999, 999, 9999, 0]), "// end\n");
    assert!(client.text_of(URI).ends_with("// end\n"));

    // a language nobody reads
    client.open_as("file:///notes.txt", "plaintext", "for (;;) {}\n");
    assert_eq!(client.hover("file:///notes.txt", 0, 0), Value::Null);
    assert_eq!(client.actions("file:///notes.txt", 0, 0), Vec::<Value>::new());
    // none at all before `initialize`, and nothing but `exit` after `shutdown`
    client.request("shutdown", Value::Null);
    assert_eq!(client.refused("textDocument/hover", at(URI, 0, 0))["code"], -32600);
    client.notify("exit", Value::Null);
    assert_eq!(client.exit_code(), Some(0));
    let mut early = Client::spawn(&[]);
    assert_eq!(early.refused("textDocument/hover", at(URI, 0, 0))["code"], -32002);
}

#[test]
fn exit_codes() {
    let mut client = Client::start(&full_caps());
    client.notify("exit", Value::Null);
    assert_eq!(client.exit_code(), Some(1), "exit without shutdown");
    let mut client = Client::start(&full_caps());
    client.hang_up();
    assert_eq!(client.exit_code(), Some(1), "the client closed the connection");
    let mut client = Client::spawn(&[]);
    client.notify("exit", Value::Null);
    assert_eq!(client.exit_code(), Some(1), "exit before initialize");
}

#[test]
fn ends_when_the_client_is_killed_though_its_input_stays_open() {
    let mut fake = Command::new("sleep").arg("1000").spawn().expect("sleep");
    let mut client = Client::spawn(&[]);
    client.request("initialize", json!({"processId": fake.id(), "capabilities": {}}));
    fake.kill().expect("killed");
    // not reaped: a zombie is dead as well
    assert_eq!(client.exit_code(), Some(1));
    fake.wait().expect("reaped");
}

#[test]
fn a_client_that_does_not_read_is_served_when_it_reads_again() {
    let mut child = server()
        .args(["lsp"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the server starts");
    let mut stdin = child.stdin.take().expect("piped");
    let mut send = |message: Value| {
        let body = message.to_string();
        let frame = format!("Content-Length: {}\r\n\r\n{body}", body.len());
        stdin.write_all(frame.as_bytes()).expect("the server reads though nobody reads what it writes");
    };
    let request = |id: i64, method: &str, params: Value| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    let notification =
        |method: &str, params: Value| json!({"jsonrpc": "2.0", "method": method, "params": params});
    send(request(0, "initialize", json!({"capabilities": {}})));
    send(notification("initialized", json!({})));
    let text = SAXPY.repeat(20);
    let document = json!({"uri": URI, "languageId": "c", "version": 1, "text": text});
    send(notification("textDocument/didOpen", json!({"textDocument": document})));
    const ROUNDS: i64 = 3000;
    for round in 1..=ROUNDS {
        let change = json!({"text": " ", "range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}});
        let version = json!({"uri": URI, "version": round + 1});
        send(notification(
            "textDocument/didChange",
            json!({"textDocument": version, "contentChanges": [change]}),
        ));
        send(request(round, "textDocument/codeLens", json!({"textDocument": {"uri": URI}})));
    }
    let rss = rss_mib(child.id());
    // only now somebody reads: each request has one answer, and the diagnostics that came last are the newest
    let (sender, receiver) = std::sync::mpsc::channel();
    let stdout = child.stdout.take().expect("piped");
    std::thread::spawn(move || {
        let mut reader = std::io::BufReader::new(stdout);
        while let Some(message) = support::read_message(&mut reader) {
            if sender.send(message).is_err() {
                return;
            }
        }
    });
    let mut answered = std::collections::BTreeSet::new();
    let (mut published, mut newest) = (0, 0);
    while answered.len() <= ROUNDS as usize || newest <= ROUNDS {
        let message = receiver.recv_timeout(PATIENCE).expect("more");
        match message["id"].as_i64() {
            Some(id) => assert!(answered.insert(id), "answered twice: {id}"),
            None if message["method"] == "textDocument/publishDiagnostics" => {
                published += 1;
                newest = message["params"]["version"].as_i64().expect("a version");
            }
            None => {}
        }
    }
    assert!(published < ROUNDS, "stale diagnostics were kept: {published}");
    if let Some(rss) = rss {
        assert!(rss < 600, "{rss} MiB");
    }
    child.kill().expect("killed");
    child.wait().expect("reaped");
}

/// Resident memory; `None` where the system does not say.
fn rss_mib(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find(|l| l.starts_with("VmRSS:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? / 1024)
}

#[test]
fn a_gigabyte_is_not_reserved() {
    let mut client = Client::start(&full_caps());
    client.send_raw(b"Content-Length: 1073741824\r\n\r\n");
    assert_eq!(nameless_error(&mut client)["code"], -32700);
    if let Some(rss) = rss_mib(client.pid()) {
        assert!(rss < 200, "{rss} MiB");
    }
    // what is within the limit is not reserved before it comes either
    let mut client = Client::start(&full_caps());
    client.send_raw(b"Content-Length: 200000000\r\n\r\n{");
    std::thread::sleep(Duration::from_millis(50));
    if let Some(rss) = rss_mib(client.pid()) {
        assert!(rss < 200, "{rss} MiB");
    }
}

#[test]
fn random_bytes_end_in_an_exit() {
    let mut random = 88172645463325252u64;
    let mut next = move || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    let words: [&[u8]; 12] = [
        b"Content-Length: ",
        b"\r\n\r\n",
        b"{\"jsonrpc\":\"2.0\",",
        b"\"id\":1,",
        b"\"method\":\"initialize\"}",
        b"\r\n",
        b"17",
        b"99999999999999999999",
        b"\xff\x00",
        b"{}",
        b"\"method\":\"exit\"",
        b"content-length:2\r\n\r\n{}",
    ];
    for round in 0..40 {
        let mut bytes = Vec::new();
        for _ in 0..next() % 60 {
            match next() % 3 {
                0 => bytes.extend((0..next() % 40).map(|_| next() as u8)),
                _ => {
                    bytes.extend_from_slice(words.get(next() as usize % words.len()).copied().unwrap_or(b""))
                }
            }
        }
        let mut child = server()
            .arg("lsp")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the server starts");
        // the server may have left before all is written
        let _ = child.stdin.take().expect("piped").write_all(&bytes);
        let started = Instant::now();
        let output = child.wait_with_output().expect("it ends");
        assert!(started.elapsed() < Duration::from_secs(20), "round {round} took {:?}", started.elapsed());
        assert_eq!(output.status.code(), Some(1), "round {round}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!said.contains("panicked"), "round {round}: {said}");
    }
}

#[test]
fn every_request_is_answered_once_whatever_is_in_it() {
    let mut client = Client::start(&full_caps());
    client.open(URI, SAXPY);
    let mut random = 2463534242u64;
    let mut next = move |below: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % below
    };
    let methods = [
        "textDocument/hover",
        "textDocument/codeAction",
        "codeAction/resolve",
        "textDocument/codeLens",
        "textDocument/inlayHint",
        "textDocument/diagnostic",
        "workspace/executeCommand",
        "warpwright/documentText",
        "textDocument/completion",
        "workspace/symbol",
    ];
    let ids = ["mark:saxpy#0", "offload:", "x"];
    let commands = ["warpwright.mark", "warpwright.explain", "warpwright.showDependences", "ls"];
    let mut asked = Vec::new();
    for round in 0..1500 {
        // parameters that are nearly right: one of their parts is replaced by something else
        let mut params = json!({
            "textDocument": {"uri": URI, "version": 1},
            "position": {"line": next(6), "character": next(40)},
            "range": {"start": {"line": next(6), "character": 0}, "end": {"line": next(6), "character": next(40)}},
            "context": {"diagnostics": []},
            "title": "t", "data": {"uri": URI, "version": next(3), "id": ids[next(3) as usize]},
            "command": commands[next(4) as usize],
            "arguments": [{"uri": URI, "line": next(6)}],
        });
        let odd = [
            json!(null),
            json!(-1),
            json!(4294967295u64),
            json!("é\u{0}"),
            json!([]),
            json!({}),
            json!(1e300),
        ];
        let paths = [
            "/textDocument",
            "/textDocument/uri",
            "/position",
            "/position/line",
            "/range/start/line",
            "/range/end",
            "/context",
            "/data",
            "/data/id",
            "/data/version",
            "/arguments",
            "/arguments/0",
            "/arguments/0/line",
            "/command",
            "/title",
        ];
        if round % 3 > 0 {
            let path = paths[next(paths.len() as u64) as usize];
            if let Some(place) = params.pointer_mut(path) {
                *place = odd[next(odd.len() as u64) as usize].clone();
            }
        }
        asked.push(client.ask(methods[next(methods.len() as u64) as usize], params));
        if round % 50 == 0 {
            client.change(URI, round + 2, Some([0, 0, 0, 0]), " ");
        }
    }
    for id in asked {
        let answer = client.answer(id);
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(!message.contains("failed inside"), "{answer:#}");
    }
    assert_eq!(client.finish(), Some(0));
}

#[test]
fn a_panic_ends_one_analysis_and_two_give_the_document_up() {
    let mut client = Client::start_with(&full_caps(), &Value::Null, &[("WARPWRIGHT_TEST_PANIC", "1")]);
    client.open("file:///good.c", SAXPY);
    assert_eq!(client.diagnostics("file:///good.c", 1).len(), 1);
    client.open(URI, &format!("// panic in the analysis, please\n{SAXPY}"));
    let note = client.diagnostics(URI, 1);
    assert_eq!(note[0]["code"], "not-analyzed", "{note:#?}");
    assert_eq!(client.hover(URI, 2, 6), Value::Null);
    // the others go on
    client.change("file:///good.c", 2, Some([0, 0, 0, 0]), "\n");
    assert_eq!(client.diagnostics("file:///good.c", 2).len(), 1);
    // opened again it gets another chance
    client.notify("textDocument/didClose", json!({"textDocument": {"uri": URI}}));
    client.open(URI, SAXPY);
    client.wait("findings", |m| {
        m["params"]["uri"] == URI && m["params"]["diagnostics"][0]["code"] == "parallel-loop"
    });
    assert_eq!(client.finish(), Some(0));
}
