//! The least of a language client: enough to measure a server as an editor would meet it.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use anyhow::{bail, Context, Result};
use serde_json::{json, Value};

use crate::program;

/// How long one answer may take before the measurement is given up.
const PATIENCE: Duration = Duration::from_secs(120);

pub struct Client {
    child: Child,
    to_server: Option<ChildStdin>,
    from_server: Receiver<(Instant, Value)>,
    next_id: i64,
    /// The last message with diagnostics, whoever waited for something else.
    pub latest: Option<Value>,
}

impl Client {
    /// Starts `program lsp` and initializes it.
    pub fn start(program: &std::path::PathBuf) -> Result<Client> {
        let caps = json!({"textDocument": {"publishDiagnostics": {"versionSupport": true, "relatedInformation": true}}});
        Client::start_as(program, &caps, None)
    }

    /// Likewise as an editor that can do this, with this folder open.
    pub fn start_as(program: &std::path::PathBuf, caps: &Value, root: Option<&str>) -> Result<Client> {
        let mut child = program::command(program)
            .arg("lsp")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("the server could not be started")?;
        let to_server = child.stdin.take();
        let stdout = child.stdout.take().context("the server has no output")?;
        let (send, from_server) = mpsc::channel();
        std::thread::spawn(move || {
            let mut reader = BufReader::new(stdout);
            // The time is taken when a message is complete: what this client makes of it is not the server's time.
            while let Some(body) = read_message(&mut reader) {
                let at = Instant::now();
                let Ok(message) = serde_json::from_slice(&body) else { break };
                if send.send((at, message)).is_err() {
                    break;
                }
            }
        });
        let mut client = Client { child, to_server, from_server, next_id: 1, latest: None };
        client.request(
            "initialize",
            &json!({
                "processId": std::process::id(),
                "rootUri": root,
                "capabilities": caps,
            }),
        )?;
        client.notify("initialized", &json!({}))?;
        Ok(client)
    }

    /// Opens a file in its first version; the answer is its address.
    pub fn open(&mut self, file: &std::path::Path, text: &str) -> Result<String> {
        let uri = format!("file://{}", file.display());
        let language = if file.extension().is_some_and(|e| e == "cu") { "cuda-cpp" } else { "c" };
        self.notify(
            "textDocument/didOpen",
            &json!({"textDocument": {"uri": uri, "languageId": language, "version": 1, "text": text}}),
        )?;
        Ok(uri)
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn notify(&mut self, method: &str, params: &Value) -> Result<()> {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}))
    }

    /// Asks and waits; requests of the server that come meanwhile are answered with null.
    pub fn request(&mut self, method: &str, params: &Value) -> Result<Value> {
        let id = self.ask(method, params)?;
        let (_, answer) =
            self.wait(&format!("the answer to {method}"), |m| m["id"] == id && m.get("method").is_none())?;
        if let Some(error) = answer.get("error") {
            bail!("{method}: {error}");
        }
        Ok(answer["result"].clone())
    }

    /// Asks and waits for the whole answer, which may be an error.
    pub fn answer(&mut self, method: &str, params: &Value) -> Result<Value> {
        let id = self.ask(method, params)?;
        let (_, answer) =
            self.wait(&format!("the answer to {method}"), |m| m["id"] == id && m.get("method").is_none())?;
        Ok(answer)
    }

    /// The first message with diagnostics of this version.
    pub fn diagnostics_of(&mut self, uri: &str, version: i64) -> Result<Value> {
        self.wait("diagnostics", |m| is_diagnostics(m, uri, version)).map(|(_, m)| m)
    }

    /// The next one, if it comes in time.
    pub fn next_diagnostics(&mut self, uri: &str, time: Duration) -> Result<Option<Value>> {
        self.wait_until(Instant::now() + time, |m| is_diagnostics(m, uri, 0)).map(|m| m.map(|(_, m)| m))
    }

    /// Asks without waiting and gives the request's id.
    pub fn ask(&mut self, method: &str, params: &Value) -> Result<i64> {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        Ok(id)
    }

    /// The next diagnostics of this version that come before the answer to request `id`, if any do.
    pub fn diagnostics_before_answer(
        &mut self,
        uri: &str,
        version: i64,
        id: i64,
    ) -> Result<Option<(Instant, usize)>> {
        let is_answer = |m: &Value| m["id"] == id && m.get("method").is_none();
        let (at, message) =
            self.wait("diagnostics or an answer", |m| is_answer(m) || is_diagnostics(m, uri, version))?;
        Ok((!is_answer(&message)).then(|| (at, count(&message))))
    }

    /// Waits for diagnostics of this version of the document (or a newer one) and gives the time they came.
    pub fn diagnostics(&mut self, uri: &str, version: i64) -> Result<(Instant, usize)> {
        let (at, message) =
            self.wait(&format!("diagnostics of version {version}"), |m| is_diagnostics(m, uri, version))?;
        Ok((at, count(&message)))
    }

    pub fn stop(mut self) -> Result<()> {
        self.request("shutdown", &Value::Null)?;
        self.notify("exit", &Value::Null)?;
        self.to_server = None;
        self.child.wait().context("waiting for the server's end")?;
        Ok(())
    }

    fn wait(&mut self, what: &str, wanted: impl Fn(&Value) -> bool) -> Result<(Instant, Value)> {
        let found = self.wait_until(Instant::now() + PATIENCE, wanted)?;
        found.with_context(|| format!("waited in vain for {what}"))
    }

    fn wait_until(
        &mut self,
        end: Instant,
        wanted: impl Fn(&Value) -> bool,
    ) -> Result<Option<(Instant, Value)>> {
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let Ok((at, message)) = self.from_server.recv_timeout(left) else { return Ok(None) };
            if message["method"] == "textDocument/publishDiagnostics" {
                self.latest = Some(message.clone());
            }
            if wanted(&message) {
                return Ok(Some((at, message)));
            }
            if let (Some(id), Some(_)) = (message.get("id"), message.get("method")) {
                let answer = if message["method"] == "workspace/configuration" {
                    let asked = message["params"]["items"].as_array().map_or(0, Vec::len);
                    Value::Array(vec![Value::Null; asked])
                } else if message["method"] == "workspace/applyEdit" {
                    json!({"applied": true})
                } else {
                    Value::Null
                };
                self.send(&json!({"jsonrpc": "2.0", "id": id, "result": answer}))?;
            }
        }
    }

    fn send(&mut self, message: &Value) -> Result<()> {
        let body = message.to_string();
        let pipe = self.to_server.as_mut().context("the server's input is closed")?;
        write!(pipe, "Content-Length: {}\r\n\r\n{body}", body.len()).context("writing to the server")?;
        pipe.flush().context("writing to the server")
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // After `stop` it has ended already; after an error nobody else ends it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn is_diagnostics(message: &Value, uri: &str, version: i64) -> bool {
    message["method"] == "textDocument/publishDiagnostics"
        && message["params"]["uri"] == uri
        && message["params"]["version"].as_i64().is_some_and(|v| v >= version)
}

/// Number of findings in a message with diagnostics.
fn count(message: &Value) -> usize {
    message["params"]["diagnostics"].as_array().map_or(0, Vec::len)
}

fn read_message(reader: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end() {
            "" => break,
            header => {
                if let Some(n) = header.strip_prefix("Content-Length:") {
                    length = n.trim().parse().ok()?;
                }
            }
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(body)
}
