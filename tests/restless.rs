//! The real binary under a user who never rests: edits that build and break deep nests, brackets and macros, with requests
//! between them. Every request is answered, hovers at once, and in the end nothing is left running.

mod support;

use std::time::{Duration, Instant};

use serde_json::{json, Value};
use support::{at, full_caps, Client, SAXPY};

const URI: &str = "file:///project/restless.c";

/// Edits, some seconds' worth; `WARPWRIGHT_RANDOM_EDITS` asks for another number.
const EDITS: usize = 10_000;

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n.max(1)
    }
}

/// Loops inside one another, as deep as is asked.
fn nest(depth: usize) -> String {
    let header = |k: usize| {
        let lower = if k == 0 { "0".to_owned() } else { format!("i{}", k - 1) };
        format!("for (int i{k} = {lower}; i{k} < n; i{k}++)\n")
    };
    let sum: Vec<String> = (0..depth).map(|k| format!("i{k}")).collect();
    format!("{}a[{}] += b[i0];\n", (0..depth).map(header).collect::<String>(), sum.join(" + "))
}

/// What a restless user writes.
fn piece(random: &mut Random) -> String {
    const PIECES: [&str; 14] = [
        "{",
        "}",
        "(",
        ")",
        "\n",
        "/*",
        "*/",
        "#if n\n",
        "#endif\n",
        "#define LOOP(i) for (int i = 0; i < n; i++)\n",
        "LOOP(p) LOOP(q) a[p * n + q] = b[q];\n",
        "#define TWICE(x) x x\n",
        "TWICE(TWICE(a[0] += 1;))\n",
        "void g(int n, float *a, float *b) {\n",
    ];
    match random.below(4) {
        0 => nest(1 + random.below(24)),
        _ => PIECES[random.below(PIECES.len())].to_owned(),
    }
}

#[test]
fn ten_thousand_edits_leave_no_request_unanswered_and_no_worker_running() {
    let wanted = std::env::var("WARPWRIGHT_RANDOM_EDITS").ok().and_then(|n| n.parse().ok());
    let edits: usize = wanted.unwrap_or(EDITS);
    let mut client = Client::start(&full_caps());
    let mut random = Random(20_261_123);
    let whole = format!("void f(int n, float *a, float *b) {{\n{}}}\n", nest(12));
    let mut text = whole.clone();
    client.open(URI, &text);
    let mut asked: Vec<i64> = Vec::new();
    let mut version = 1;
    for _ in 0..edits {
        version += 1;
        let lines: Vec<&str> = text.split('\n').collect();
        let line = random.below(lines.len());
        let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
        // whole lines go, so that what was opened is closed nowhere
        let gone = if random.below(3) == 0 { random.below(4) } else { 0 };
        let end: usize = text.split_inclusive('\n').take(line + gone).map(str::len).sum();
        let (line, last) = (line as u32, line as u32 + text[start..end].matches('\n').count() as u32);
        let tail = if end == text.len() && !text.ends_with('\n') { text[start..end].len() as u32 } else { 0 };
        let new = piece(&mut random);
        client.change(URI, version, Some([line, 0, last, tail]), &new);
        text.replace_range(start..end, &new);
        // now and then it is whole again, and no longer than a screen or two
        if random.below(25) == 0 || text.len() > 6_000 {
            text = whole.clone();
            version += 1;
            client.change(URI, version, None, &text);
        }
        let place = at(URI, random.below(20) as u32, random.below(12) as u32);
        let here = json!({"textDocument": {"uri": URI}});
        match random.below(8) {
            0 => asked.push(client.ask("textDocument/hover", place)),
            1 => {
                let range = json!({"start": place["position"], "end": place["position"]});
                let params =
                    json!({"textDocument": {"uri": URI}, "range": range, "context": {"diagnostics": []}});
                asked.push(client.ask("textDocument/codeAction", params));
            }
            2 => asked.push(client.ask("textDocument/codeLens", here)),
            3 => client.notify("textDocument/didSave", here),
            4 if random.below(10) == 0 => drop(client.hover(URI, 3, 2)),
            _ => {}
        }
    }
    for id in asked {
        let answer = client.answer(id);
        let fine = answer.get("error").is_none_or(|e| e["code"] == -32801);
        assert!(fine, "neither an answer nor a changed text: {answer:#}");
    }
    assert_eq!(client.text_of(URI), text);
    // a text that needs nothing, and then nothing is at work
    version += 1;
    client.change(URI, version, None, SAXPY);
    client.diagnostics(URI, version);
    rests(&client);
    assert_eq!(client.finish(), Some(0));
}

/// Waits until the server takes no processor time for a while.
fn rests(client: &Client) {
    let started = Instant::now();
    let mut before = ticks(client.pid());
    while started.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_secs(1));
        let now = ticks(client.pid());
        if now == before {
            return;
        }
        before = now;
    }
    panic!("something is still running a minute after the last question");
}

/// Processor time of a process; where that cannot be read nothing is known of it.
fn ticks(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
    Some(fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?)
}

#[test]
fn a_hover_does_not_wait_for_a_nest_that_takes_long() {
    let mut client = Client::start(&full_caps());
    let functions: String =
        (0..12).map(|k| format!("void f{k}(int n, float *a, float *b) {{\n{}}}\n", nest(20))).collect();
    client.open(URI, &functions);
    for line in [1, 5, 1] {
        let started = Instant::now();
        let hover = client.hover(URI, line, 2);
        // 50 ms on an idle machine; a test machine is none
        assert!(started.elapsed() < Duration::from_secs(2), "{:?}: {hover:#}", started.elapsed());
        let words = hover["contents"]["value"].as_str().unwrap_or_default().to_owned();
        assert!(!words.is_empty(), "{hover:#}");
    }
    // an edit in between: what was known stands beside what is not
    client.change(URI, 2, Some([0, 0, 0, 0]), "// one more line\n");
    let hover = client.hover(URI, 2, 2);
    assert_ne!(hover, Value::Null);
    assert_eq!(client.finish(), Some(0));
}

#[test]
fn all_of_a_file_is_analyzed_on_request() {
    let mut client = Client::start(&full_caps());
    client.open(URI, SAXPY);
    client.diagnostics(URI, 1);
    let run = |uri: &str| json!({"command": "warpwright.analyzeFully", "arguments": [{"uri": uri}], "workDoneToken": "t"});
    assert_eq!(client.request("workspace/executeCommand", run(URI)), json!({"done": true}));
    let end = client.wait("the end of the progress", |m| {
        m["method"] == "$/progress" && m["params"]["value"]["kind"] == "end"
    });
    assert_eq!(end["params"]["token"], "t");
    assert_eq!(client.finish(), Some(0));
}
