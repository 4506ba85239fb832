//! A small editor for tests: speaks to the real binary, waits for messages and never for time, and is kept honest on
//! drop: no error was left unread and every request was answered exactly once.
#![allow(dead_code)]

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError};
use std::time::Duration;

use serde_json::{json, Value};

/// Only a hang lasts so long.
pub const PATIENCE: Duration = Duration::from_secs(120);

pub const SAXPY: &str = "\
void saxpy(int n, float a, const float *restrict x, float *restrict y) {
    for (int i = 0; i < n; i++)
        y[i] = a * x[i] + y[i];
}
";

pub fn server() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpwright"));
    command.env_remove("WARPWRIGHT_LOG").env("RUST_BACKTRACE", "0");
    command
}

/// What VS Code can do, as far as it matters here, with pushed diagnostics.
pub fn full_caps() -> Value {
    json!({
        "workspace": {
            "applyEdit": true,
            "workspaceEdit": {"documentChanges": true, "resourceOperations": ["create", "rename", "delete"]},
        },
        "textDocument": {
            "publishDiagnostics": {"relatedInformation": true, "versionSupport": true},
            "hover": {"contentFormat": ["markdown", "plaintext"]},
            "completion": {"dynamicRegistration": true},
            "codeAction": {
                "codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["", "quickfix", "refactor"]}},
                "dataSupport": true, "disabledSupport": true, "isPreferredSupport": true,
                "resolveSupport": {"properties": ["edit"]},
            },
        },
        "window": {"workDoneProgress": true},
    })
}

pub struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    messages: Receiver<Value>,
    next_id: i64,
    /// Requests without an answer yet.
    open: BTreeSet<i64>,
    /// Answers nobody has taken.
    answers: BTreeMap<i64, Value>,
    /// Messages that are no answers, in order.
    pub inbox: VecDeque<Value>,
    /// Edits that the server had applied, and what is answered to them.
    pub applied: Vec<Value>,
    pub apply_answer: Value,
    /// What the user says to a question.
    pub message_answer: Value,
    /// What `workspace/configuration` is answered.
    pub configuration: Value,
    /// Asked at the end: errors without an id that no test has looked at.
    checked: bool,
    pub init: Value,
}

impl Client {
    /// The server as a process, nothing said yet.
    pub fn spawn(env: &[(&str, &str)]) -> Client {
        let mut command = server();
        command.args(["lsp", "--stdio"]).envs(env.iter().copied());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().expect("the server starts");
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().expect("piped");
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            let mut reader = BufReader::new(stdout);
            while let Some(message) = read_message(&mut reader) {
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        Client {
            child,
            stdin,
            messages,
            next_id: 1,
            open: BTreeSet::new(),
            answers: BTreeMap::new(),
            inbox: VecDeque::new(),
            applied: Vec::new(),
            apply_answer: json!({"applied": true}),
            message_answer: Value::Null,
            configuration: Value::Null,
            checked: true,
            init: Value::Null,
        }
    }

    /// An initialized session.
    pub fn start(caps: &Value) -> Client {
        Client::start_with(caps, &Value::Null, &[])
    }

    pub fn start_with(caps: &Value, options: &Value, env: &[(&str, &str)]) -> Client {
        let mut client = Client::spawn(env);
        client.initialize(caps, options);
        client
    }

    pub fn initialize(&mut self, caps: &Value, options: &Value) {
        let params = json!({
            "processId": std::process::id(), "rootUri": null, "capabilities": caps, "initializationOptions": options,
        });
        self.init = self.request("initialize", params);
        self.notify("initialized", json!({}));
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn send_raw(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("still open");
        stdin.write_all(bytes).and_then(|()| stdin.flush()).expect("the server reads");
    }

    pub fn send(&mut self, message: &Value) {
        let body = message.to_string();
        self.send_raw(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Sends a request and does not wait.
    pub fn ask(&mut self, method: &str, params: Value) -> i64 {
        let id = self.next_id;
        self.next_id += 1;
        self.open.insert(id);
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// The result of a request; an error is a failed test.
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        let answer = self.answer(id);
        assert!(answer.get("error").is_none(), "{method}: {answer:#}");
        answer["result"].clone()
    }

    /// The error of a request that must fail.
    pub fn refused(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        let answer = self.answer(id);
        assert!(answer.get("error").is_some(), "{method} was answered: {answer:#}");
        answer["error"].clone()
    }

    /// The whole answer to a request.
    pub fn answer(&mut self, id: i64) -> Value {
        loop {
            if let Some(answer) = self.answers.remove(&id) {
                return answer;
            }
            self.take_in();
        }
    }

    /// The first message that is no answer and fits; earlier ones stay.
    pub fn wait(&mut self, what: &str, mut fits: impl FnMut(&Value) -> bool) -> Value {
        loop {
            if let Some(at) = self.inbox.iter().position(&mut fits) {
                return self.inbox.remove(at).expect("found");
            }
            assert!(!self.ended(), "the server ended while the test waited for {what}");
            self.take_in();
        }
    }

    pub fn wait_notification(&mut self, method: &str) -> Value {
        self.wait(method, |m| m["method"] == method)["params"].clone()
    }

    /// Diagnostics of this version of the document, the first that come.
    pub fn diagnostics(&mut self, uri: &str, version: i64) -> Vec<Value> {
        let message = self.wait(&format!("diagnostics of version {version}"), |m| {
            m["method"] == "textDocument/publishDiagnostics"
                && m["params"]["uri"] == uri
                && m["params"]["version"] == version
        });
        message["params"]["diagnostics"].as_array().cloned().unwrap_or_default()
    }

    fn ended(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)))
    }

    /// Takes in one message; answers what the server asks.
    fn take_in(&mut self) {
        let message = match self.messages.recv_timeout(PATIENCE) {
            Ok(message) => message,
            Err(RecvTimeoutError::Timeout) => {
                panic!("nothing came for {PATIENCE:?}; unanswered: {:?}", self.open)
            }
            Err(RecvTimeoutError::Disconnected) => panic!("the server is gone; unanswered: {:?}", self.open),
        };
        let method = message["method"].as_str().map(str::to_owned);
        match (method, message.get("id")) {
            (None, Some(Value::Number(id))) => {
                let id = id.as_i64().expect("our ids are integers");
                assert!(self.open.remove(&id), "an answer to no open request: {message:#}");
                self.answers.insert(id, message);
            }
            (Some(method), Some(id)) => {
                let result = match method.as_str() {
                    "workspace/configuration" => {
                        let asked = message["params"]["items"].as_array().map_or(&[][..], Vec::as_slice);
                        asked.iter().map(|i| self.settings_for(i)).collect()
                    }
                    "workspace/applyEdit" => {
                        self.applied.push(message["params"]["edit"].clone());
                        self.apply_answer.clone()
                    }
                    "window/showMessageRequest" => self.message_answer.clone(),
                    "window/showDocument" => json!({"success": true}),
                    _ => Value::Null,
                };
                let id = id.clone();
                self.inbox.push_back(message);
                self.send(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
            }
            _ => self.inbox.push_back(message),
        }
    }

    /// What a user has set: `configuration`, or what it says of the folder that is asked for.
    fn settings_for(&self, item: &Value) -> Value {
        let folder = item["scopeUri"].as_str().and_then(|uri| self.configuration.get(uri));
        folder.unwrap_or(&self.configuration).clone()
    }

    pub fn open(&mut self, uri: &str, text: &str) {
        self.open_as(uri, "c", text);
    }

    pub fn open_as(&mut self, uri: &str, language: &str, text: &str) {
        let document = json!({"uri": uri, "languageId": language, "version": 1, "text": text});
        self.notify("textDocument/didOpen", json!({"textDocument": document}));
    }

    /// One change; `range` as `[line, character, line, character]`, or all of it.
    pub fn change(&mut self, uri: &str, version: i64, range: Option<[u32; 4]>, text: &str) {
        let change = match range {
            Some([l, c, l2, c2]) => json!({"text": text,
                "range": {"start": {"line": l, "character": c}, "end": {"line": l2, "character": c2}}}),
            None => json!({"text": text}),
        };
        let params = json!({"textDocument": {"uri": uri, "version": version}, "contentChanges": [change]});
        self.notify("textDocument/didChange", params);
    }

    /// The text as the server has it.
    pub fn text_of(&mut self, uri: &str) -> String {
        let answer = self.request("warpwright/documentText", json!({"textDocument": {"uri": uri}}));
        answer["text"].as_str().expect("a text").to_owned()
    }

    pub fn hover(&mut self, uri: &str, line: u32, character: u32) -> Value {
        self.request("textDocument/hover", at(uri, line, character))
    }

    pub fn actions(&mut self, uri: &str, line: u32, character: u32) -> Vec<Value> {
        let place = json!({"line": line, "character": character});
        let params = json!({"textDocument": {"uri": uri}, "range": {"start": place, "end": place},
            "context": {"diagnostics": []}});
        self.request("textDocument/codeAction", params).as_array().cloned().unwrap_or_default()
    }

    /// Says `shutdown` and `exit`; the exit code.
    pub fn finish(mut self) -> Option<i32> {
        self.request("shutdown", Value::Null);
        self.notify("exit", Value::Null);
        self.exit_code()
    }

    /// Closes the server's input.
    pub fn hang_up(&mut self) {
        self.stdin = None;
    }

    /// Waits for the end of the process.
    pub fn exit_code(&mut self) -> Option<i32> {
        let started = std::time::Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("our child") {
                return status.code();
            }
            assert!(started.elapsed() < PATIENCE, "the server did not end");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Leaves out the checks on drop: the test itself makes a mess.
    pub fn unchecked(mut self) -> Client {
        self.checked = false;
        self
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() || !self.checked {
            return;
        }
        assert!(self.open.is_empty(), "unanswered requests: {:?}", self.open);
        let unread: Vec<&Value> = self.answers.values().filter(|a| a.get("error").is_some()).collect();
        assert!(unread.is_empty(), "unread errors: {unread:#?}");
        let nameless: Vec<&Value> = self.inbox.iter().filter(|m| m.get("error").is_some()).collect();
        assert!(nameless.is_empty(), "unread errors: {nameless:#?}");
    }
}

pub fn at(uri: &str, line: u32, character: u32) -> Value {
    json!({"textDocument": {"uri": uri}, "position": {"line": line, "character": character}})
}

pub fn read_message(reader: &mut impl BufRead) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("Content-Length: ") {
            length = value.parse().expect("a length");
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(serde_json::from_slice(&body).expect("the server writes JSON"))
}

/// Applies the text edits of a workspace edit to texts by address; new files appear in the result. UTF-16, ASCII texts.
pub fn apply(edit: &Value, texts: &mut HashMap<String, String>) {
    let mut parts: Vec<(String, Vec<Value>)> = Vec::new();
    for change in edit["documentChanges"].as_array().into_iter().flatten() {
        if change["kind"] == "create" {
            let uri = change["uri"].as_str().expect("uri").to_owned();
            assert!(texts.insert(uri, String::new()).is_none(), "a file was created twice");
            continue;
        }
        let uri = change["textDocument"]["uri"].as_str().expect("uri").to_owned();
        parts.push((uri, change["edits"].as_array().cloned().expect("edits")));
    }
    for (uri, edits) in edit["changes"].as_object().into_iter().flatten() {
        parts.push((uri.clone(), edits.as_array().cloned().expect("edits")));
    }
    for (uri, mut edits) in parts {
        let text = texts.get_mut(&uri).expect("a known document");
        let key = |e: &Value| {
            (
                e["range"]["start"]["line"].as_u64().expect("line"),
                e["range"]["start"]["character"].as_u64().expect("c"),
            )
        };
        edits.sort_by_key(key);
        for edit in edits.iter().rev() {
            let offset = |place: &Value| {
                let line = place["line"].as_u64().expect("line") as usize;
                let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
                start + place["character"].as_u64().expect("character") as usize
            };
            let range = offset(&edit["range"]["start"])..offset(&edit["range"]["end"]);
            let new = edit["newText"].as_str().expect("text");
            text.replace_range(range, new);
        }
    }
}
