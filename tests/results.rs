//! Results as pages, spoken of with the real binary: panels, read-only documents, words at lines; and no message that holds a result.

mod support;

use serde_json::{json, Value};
use support::{full_caps, Client, SAXPY};

const URI: &str = "file:///saxpy.c";
const KERNEL: &str = "// warpwright: launch(2, 64, n = 128)\n__global__ void columns(const float *a, float *b, int n) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i % 3 == 0)\n        b[i] = a[i * 32 % n];\n}\n";

fn command(name: &str, argument: Value) -> Value {
    json!({"command": format!("warpwright.{name}"), "arguments": [argument]})
}

fn panel(client: &mut Client) -> wire::Panel {
    let sent = client.wait_notification("warpwright/showPanel");
    serde_json::from_value(sent.clone()).unwrap_or_else(|e| panic!("{e}: {sent:#}"))
}

fn no_messages(client: &Client) {
    let said = client.inbox.iter().find(|m| m["method"] == "window/showMessage");
    assert!(said.is_none(), "{said:?}");
}

#[test]
fn a_verification_opens_a_panel_and_fills_it() {
    let mut client = Client::start_with(&full_caps(), &json!({"panels": true}), &[]);
    client.open(URI, SAXPY);
    let answer =
        client.request("workspace/executeCommand", command("verify", json!({"uri": URI, "line": 1})));
    assert_eq!(answer["reports"][0]["outcome"], "same");
    let working = panel(&mut client);
    assert!(!working.replaces && working.html.contains("progressbar"), "{}", working.html);
    assert!(working.html.contains("command:warpwright.cancelWork?"), "{}", working.html);
    let result = panel(&mut client);
    assert_eq!(result.name, working.name);
    assert!(result.replaces && result.title.starts_with("Verification of saxpy"), "{result:?}");
    assert!(result.html.contains("<table>") && result.html.contains("class=\"bar\""), "{}", result.html);
    assert!(
        result.html.contains("command:warpwright.openPlace?") && !result.html.contains("<script"),
        "{}",
        result.html
    );
    no_messages(&client);
    assert_eq!(client.finish(), Some(0));
}

#[test]
fn dependences_are_drawn_and_verdicts_explained() {
    let scan =
        "void scan(int n, float *a) {\n    for (int i = 1; i < n; i++)\n        a[i] = a[i] + a[i - 1];\n}\n";
    let mut client = Client::start_with(&full_caps(), &json!({"panels": true}), &[]);
    client.open(URI, scan);
    let here = json!({"uri": URI, "line": 1});
    client.request("workspace/executeCommand", command("showDependences", here.clone()));
    let drawn = panel(&mut client);
    assert!(drawn.html.contains("<svg") && drawn.html.contains("a[i - 1]"), "{}", drawn.html);
    client.request("workspace/executeCommand", command("explain", here));
    let why = panel(&mut client);
    assert_eq!(why.title, "Why is loop i sequential?");
    // the hover's way there
    let hover = client.hover(URI, 1, 6);
    let words = hover["contents"]["value"].as_str().unwrap_or_default();
    assert!(words.contains("[More](command:warpwright.explain?"), "{words}");
    assert_eq!(client.finish(), Some(0));
}

#[test]
fn a_simulation_says_what_lines_cost_until_the_text_changes() {
    let uri = "file:///columns.cu";
    let everywhere = json!({"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}});
    let hints = |client: &mut Client| {
        let asked = json!({"textDocument": {"uri": uri}, "range": everywhere});
        client.request("textDocument/inlayHint", asked).as_array().cloned().unwrap_or_default()
    };
    for at_lines in [true, false] {
        let options = json!({"panels": true, "results": {"atLines": at_lines}});
        let mut client = Client::start_with(&full_caps(), &options, &[]);
        client.open_as(uri, "cuda-cpp", KERNEL);
        client.request("workspace/executeCommand", command("simulate", json!({"uri": uri, "line": 1})));
        assert!(panel(&mut client).html.contains("progressbar"));
        let counts = panel(&mut client);
        assert!(counts.html.contains("sectors, ideal"), "{}", counts.html);
        let shown = hints(&mut client);
        let lines: Vec<u64> = shown.iter().filter_map(|h| h["position"]["line"].as_u64()).collect();
        assert_eq!(lines, if at_lines { vec![3, 4] } else { vec![] }, "{shown:#?}");
        client.change(uri, 2, Some([0, 0, 0, 0]), "\n");
        assert_eq!(hints(&mut client), [] as [Value; 0]);
        no_messages(&client);
        assert_eq!(client.finish(), Some(0));
    }
}

#[test]
fn an_editor_without_panels_gets_a_document_that_cannot_be_written() {
    let mut caps = full_caps();
    caps["window"]["showDocument"] = json!({"support": true});
    let mut client = Client::start(&caps);
    client.open(URI, SAXPY);
    client.request("workspace/executeCommand", command("verify", json!({"uri": URI, "line": 1})));
    let shown =
        client.inbox.iter().find(|m| m["method"] == "window/showDocument").expect("a document").clone();
    let path =
        shown["params"]["uri"].as_str().and_then(|u| u.strip_prefix("file://")).expect("a file").to_owned();
    let file = std::path::Path::new(&path);
    let text = std::fs::read_to_string(file).expect("it is there");
    assert!(text.contains("# Verification of `saxpy`") && text.contains("█"), "{text}");
    assert!(file.metadata().expect("it is there").permissions().readonly());
    assert_eq!(client.finish(), Some(0));
    assert!(!file.exists(), "results stay behind");
}
