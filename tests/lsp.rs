//! The real binary over the real protocol, when everything goes as it should.

mod support;

use std::collections::HashMap;

use serde_json::{json, Value};
use support::{apply, at, full_caps, Client, SAXPY};

const URI: &str = "file:///project/saxpy.c";

fn codes(diagnostics: &[Value]) -> Vec<String> {
    diagnostics.iter().map(|d| d["code"].as_str().unwrap_or_default().to_owned()).collect()
}

fn action<'a>(actions: &'a [Value], kind: &str) -> &'a Value {
    let is_it = |a: &&Value| a["kind"].as_str().is_some_and(|k| k.ends_with(&format!(".warpwright.{kind}")));
    let found = actions.iter().find(is_it);
    found.unwrap_or_else(|| panic!("no {kind} among {actions:#?}"))
}

#[test]
fn from_opening_to_findings() {
    let mut client = Client::start(&full_caps());
    client.open(URI, SAXPY);
    let diagnostics = client.diagnostics(URI, 1);
    assert_eq!(codes(&diagnostics), ["parallel-loop"], "{diagnostics:#?}");
    let d = diagnostics.first().expect("one");
    assert_eq!(d["source"], "warpwright");
    assert_eq!(d["range"]["start"], json!({"line": 1, "character": 4}));
    assert!(d["message"].as_str().is_some_and(|m| m.len() > 20), "{d:#}");

    let hover = client.hover(URI, 1, 6);
    assert_eq!(hover["contents"]["kind"], "markdown");
    assert!(hover["contents"]["value"].as_str().is_some_and(|v| v.contains("independent")), "{hover:#}");
    assert_eq!(client.hover(URI, 0, 0), Value::Null);

    let hints = client.request(
        "textDocument/inlayHint",
        json!({"textDocument": {"uri": URI}, "range": {"start": {"line": 0, "character": 0}, "end": {"line": 9, "character": 0}}}),
    );
    assert_eq!(hints[0]["position"]["line"], 1, "{hints:#}");
    let lenses = client.request("textDocument/codeLens", json!({"textDocument": {"uri": URI}}));
    assert_eq!(lenses[0]["command"]["command"], "warpwright.offload", "{lenses:#}");

    // an edit above moves the finding and nothing else
    client.change(URI, 2, Some([0, 0, 0, 0]), "// one\n// two\n");
    let moved = client.diagnostics(URI, 2);
    assert_eq!(moved[0]["range"]["start"], json!({"line": 3, "character": 4}));
    assert_eq!(moved[0]["message"], d["message"]);

    client.notify("textDocument/didClose", json!({"textDocument": {"uri": URI}}));
    let cleared = client.wait("an empty list", |m| {
        m["method"] == "textDocument/publishDiagnostics" && m["params"]["diagnostics"] == json!([])
    });
    assert_eq!(cleared["params"]["uri"], URI);
    assert_eq!(client.finish(), Some(0));
}

#[test]
fn what_is_advertised_follows_the_client() {
    let client = Client::start(&full_caps());
    let capabilities = &client.init["capabilities"];
    assert_eq!(capabilities["positionEncoding"], "utf-16");
    assert_eq!(capabilities["textDocumentSync"]["change"], 2);
    assert!(capabilities.get("diagnosticProvider").is_none(), "pushed and pulled would be shown twice");
    for absent in ["completionProvider", "renameProvider"] {
        assert!(capabilities.get(absent).is_none(), "{absent}");
    }
    drop(client);
    let caps =
        json!({"general": {"positionEncodings": ["utf-16", "utf-8"]}, "textDocument": {"diagnostic": {}}});
    let client = Client::start(&caps);
    assert_eq!(client.init["capabilities"]["positionEncoding"], "utf-8");
    assert!(client.init["capabilities"].get("diagnosticProvider").is_some());
}

#[test]
fn two_thousand_edits_in_order() {
    let mut client = Client::start(&full_caps());
    client.open(URI, SAXPY);
    let mut expected = SAXPY.to_owned();
    let mut random = 12345u64;
    let mut next = move |below: usize| {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (random >> 33) as usize % below
    };
    for version in 2..2002 {
        // single characters at places that depend on all edits before
        let lines: Vec<&str> = expected.split('\n').collect();
        let line = next(lines.len());
        let width = lines.get(line).map_or(0, |l| l.len());
        let from = next(width + 1);
        let to = (from + next(2)).min(width);
        let new = ["x", "/", "*", "\n", "", "{", "é"].get(next(7)).copied().unwrap_or("");
        let start: usize = expected.split_inclusive('\n').take(line).map(str::len).sum();
        let (mut a, mut b) = (start + from, start + to);
        while !expected.is_char_boundary(a) {
            a -= 1;
        }
        while !expected.is_char_boundary(b) {
            b -= 1;
        }
        let b = b.max(a);
        let units = |text: &str| text.encode_utf16().count() as u32;
        let from = units(expected.get(start..a).unwrap_or(""));
        let to = units(expected.get(start..b).unwrap_or(""));
        client.change(URI, version, Some([line as u32, from, line as u32, to]), new);
        expected.replace_range(a..b, new);
        if version % 400 == 0 {
            client.ask("textDocument/codeLens", json!({"textDocument": {"uri": URI}}));
        }
    }
    assert_eq!(client.text_of(URI), expected);
    // what was read edit by edit means what is read in one piece
    let edited = client.diagnostics(URI, 2001);
    client.open("file:///fresh.c", &expected);
    let fresh = client.diagnostics("file:///fresh.c", 1);
    let without_uri = |d: &[Value]| json!(d).to_string().replace("file:///fresh.c", URI);
    assert_eq!(without_uri(&edited), without_uri(&fresh));
    // whole again, in one piece
    client.change(URI, 3000, None, SAXPY);
    assert_eq!(codes(&client.diagnostics(URI, 3000)), ["parallel-loop"]);
    assert_eq!(client.text_of(URI), SAXPY);
    assert_eq!(client.finish(), Some(0));
}

#[test]
fn positions_in_all_encodings_with_astral_characters_and_crlf() {
    // an astral character: 4 bytes, 2 UTF-16 units, 1 scalar value
    let text = "void f(int n, float *x) {\r\n    /* 😀é */ for (int i = 0; i < n; i++)\r\n        x[i] = 2 * x[i];\r\n}\r\n";
    for (encoding, column) in [("utf-8", 4 + 6 + 6 + 1), ("utf-16", 4 + 6 + 3 + 1), ("utf-32", 4 + 6 + 2 + 1)]
    {
        let mut caps = full_caps();
        caps["general"] = json!({"positionEncodings": [encoding]});
        let mut client = Client::start(&caps);
        assert_eq!(client.init["capabilities"]["positionEncoding"], encoding);
        client.open(URI, text);
        let diagnostics = client.diagnostics(URI, 1);
        assert_eq!(diagnostics[0]["range"]["start"], json!({"line": 1, "character": column}), "{encoding}");
        // the character behind the astral one is replaced by itself
        let before = column - 1 - 3 - 1 - if encoding == "utf-8" { 1 } else { 0 };
        client.change(URI, 2, Some([1, before, 1, column - 1 - 3]), "è");
        assert_eq!(client.text_of(URI), text.replace('é', "è"), "{encoding}");
        assert!(client.hover(URI, 1, column + 1).is_object(), "{encoding}");
        assert_eq!(client.finish(), Some(0));
    }
}

#[test]
fn an_action_is_made_when_it_is_resolved_and_only_for_its_text() {
    let mut client = Client::start(&full_caps());
    client.open(URI, SAXPY);
    let actions = client.actions(URI, 1, 6);
    let mark = action(&actions, "mark").clone();
    assert!(mark.get("edit").is_none() && mark["data"]["version"] == 1, "{mark:#}");
    let offload = action(&actions, "offload").clone();
    let resolved = client.request("codeAction/resolve", offload.clone());
    let mut texts = HashMap::from([(URI.to_owned(), SAXPY.to_owned())]);
    apply(&resolved["edit"], &mut texts);
    assert_eq!(texts.len(), 2, "{resolved:#}");
    let kernel =
        texts.iter().find(|(uri, _)| uri.ends_with(".cu")).map(|(_, text)| text.clone()).unwrap_or_default();
    assert!(kernel.contains("__global__"), "{kernel}");
    let versioned = resolved["edit"]["documentChanges"].as_array().into_iter().flatten();
    assert!(versioned.clone().any(|c| c["textDocument"]["version"] == 1), "{resolved:#}");
    assert_ne!(texts[URI], SAXPY);

    let resolved = client.request("codeAction/resolve", mark.clone());
    let mut texts = HashMap::from([(URI.to_owned(), SAXPY.to_owned())]);
    apply(&resolved["edit"], &mut texts);
    assert!(texts[URI].contains("warpwright: offload"), "{}", texts[URI]);

    // a kernel that no page optimises in the end comes as it is, and that is said
    let id = offload["data"]["id"].as_str().expect("an id").replace("offload:", "optimize:");
    let optimize = json!({"title": "optimize", "data": {"uri": URI, "version": 1, "id": id}});
    let plain = client.request("codeAction/resolve", optimize);
    let mut texts = HashMap::from([(URI.to_owned(), SAXPY.to_owned())]);
    apply(&plain["edit"], &mut texts);
    assert!(texts.values().any(|t| t.contains("not optimized: No page optimises this kernel")), "{texts:?}");
    let told = client.wait("what is not as the title says", |m| m["method"] == "window/showMessage");
    assert_eq!(told["params"]["type"], 3);
    assert!(told["params"]["message"].as_str().is_some_and(|m| m.contains("is not optimised")), "{told:#}");

    // another text: never a wrong edit
    client.change(URI, 2, Some([0, 0, 0, 0]), "\n");
    for stale in [mark, offload] {
        assert_eq!(client.refused("codeAction/resolve", stale)["code"], -32801);
        // editors keep that error to themselves, so it is shown as well
        let shown = client.wait("why nothing happens", |m| m["method"] == "window/showMessage");
        let message = shown["params"]["message"].as_str().unwrap_or_default();
        assert!(message.contains("changed since the action was listed"), "{shown:#}");
    }
    let only = |kind: &str| {
        json!({"textDocument": {"uri": URI}, "context": {"diagnostics": [], "only": [kind]},
        "range": {"start": {"line": 2, "character": 6}, "end": {"line": 2, "character": 6}}})
    };
    let marks = client.request("textDocument/codeAction", only("refactor.rewrite.warpwright.mark"));
    assert_eq!(marks.as_array().map(Vec::len), Some(1), "{marks:#}");
    let fixes = client.request("textDocument/codeAction", only("quickfix"));
    let titles: Vec<&str> =
        fixes.as_array().into_iter().flatten().filter_map(|a| a["title"].as_str()).collect();
    assert!(titles.first().is_some_and(|t| t.starts_with("Offload to GPU")), "{fixes:#}");
    assert!(titles.last().is_some_and(|t| t.starts_with("Ignore")), "{fixes:#}");
    assert_eq!(fixes[0]["isPreferred"], true);
    let rewrites = client.request("textDocument/codeAction", only("refactor.rewrite"));
    assert_eq!(action(rewrites.as_array().expect("a list"), "offload")["title"], titles[0]);
    let none = client.request("textDocument/codeAction", only("source.organizeImports"));
    assert_eq!(none, json!([]));
    assert_eq!(client.finish(), Some(0));
}

#[test]
fn commands_do_what_actions_do() {
    let mut client = Client::start(&full_caps());
    client.open(URI, SAXPY);
    let here = json!({"uri": URI, "position": {"line": 1, "character": 6}});
    let run = |command: &str, argument: &Value| json!({"command": command, "arguments": [argument]});
    let done = client.request("workspace/executeCommand", run("warpwright.offload", &here));
    assert_eq!(done["applied"], true);
    let edit = client.applied.pop().expect("an edit was applied");
    let mut texts = HashMap::from([(URI.to_owned(), SAXPY.to_owned())]);
    apply(&edit, &mut texts);
    assert_eq!(texts.len(), 2);

    let shown = client.request("workspace/executeCommand", run("warpwright.explain", &here));
    assert!(shown["markdown"].as_str().is_some_and(|m| !m.is_empty()), "{shown:#}");
    client.wait_notification("window/showMessage");
    let page = client
        .request("workspace/executeCommand", run("warpwright.explain", &json!({"code": "parallel-loop"})));
    assert!(page["markdown"].is_string());
    let facts = client.request("workspace/executeCommand", run("warpwright.showDependences", &here));
    assert_eq!(facts["verdict"], "independent");
    assert!(
        facts["markdown"].as_str().is_some_and(|m| m.contains("No iteration depends on another")),
        "{facts:#}"
    );
    assert!(facts["dot"].as_str().is_some_and(|d| d.starts_with("digraph")));
    let calls = client.request("workspace/executeCommand", run("warpwright.showCallGraph", &here));
    assert!(calls["markdown"].as_str().is_some_and(|m| m.contains("calls nothing")), "{calls:#}");
    let terms = client.request("workspace/executeCommand", run("warpwright.showTerms", &here));
    assert!(terms["markdown"].as_str().is_some_and(|m| m.contains("For(")), "{terms:#}");

    let profile = client.request("workspace/executeCommand", run("warpwright.profile", &here));
    let measured = &profile["runs"][0];
    // with a GPU or without one
    assert_eq!(measured["checked"], "same", "{profile:#}");
    assert!(measured["said"].as_str().is_some_and(|m| !m.is_empty()), "{profile:#}");
    client.refused("workspace/executeCommand", run("warpwright.mark", &json!({"uri": URI, "line": 0})));
    client.refused("workspace/executeCommand", run("warpwright.nonsense", &here));
    let which = client.refused("workspace/executeCommand", run("warpwright.transform", &here));
    assert!(which["message"].as_str().is_some_and(|m| m.starts_with("Which transformation?")), "{which:#}");
    client.refused("workspace/executeCommand", json!({"command": "warpwright.mark", "arguments": []}));

    // the editor says no
    client.apply_answer = json!({"applied": false, "failureReason": "read-only"});
    let no = client.refused("workspace/executeCommand", run("warpwright.mark", &here));
    assert!(no["message"].as_str().is_some_and(|m| m.contains("read-only")), "{no:#}");
    assert_eq!(client.finish(), Some(0));
}

#[test]
fn verify_shows_progress_and_an_outcome() {
    let mut client = Client::start(&full_caps());
    client.open(URI, SAXPY);
    let argument = json!({"uri": URI, "line": 1});
    let done = client.request(
        "workspace/executeCommand",
        json!({"command": "warpwright.verify", "arguments": [argument]}),
    );
    let report = &done["reports"][0];
    assert_eq!(report["function"].as_str().map(|f| !f.is_empty()), Some(true), "{done:#}");
    let begin = client.wait_notification("$/progress");
    assert_eq!(begin["value"]["kind"], "begin");
    let end = client.wait_notification("$/progress");
    assert_eq!(end["value"]["kind"], "end");
    assert_eq!(end["token"], begin["token"]);
    client.wait_notification("window/showMessage");
    assert_eq!(client.finish(), Some(0));
}

#[test]
fn a_client_that_cannot_create_files_gets_them_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("saxpy.c");
    std::fs::write(&path, SAXPY).expect("written");
    let uri = format!("file://{}", path.display());
    let mut caps = full_caps();
    caps["workspace"]["workspaceEdit"] = json!({});
    let mut client = Client::start(&caps);
    client.open(&uri, SAXPY);
    let actions = client.actions(&uri, 1, 6);
    let offload = action(&actions, "offload").clone();
    assert!(
        offload.get("edit").is_none() && offload["command"]["command"] == "warpwright.offload",
        "{offload:#}"
    );
    let run = json!({"command": "warpwright.offload", "arguments": offload["command"]["arguments"]});

    // refused by the editor: nothing stays behind
    client.apply_answer = json!({"applied": false});
    client.refused("workspace/executeCommand", run.clone());
    assert_eq!(std::fs::read_dir(folder.path()).expect("there").count(), 1);

    client.apply_answer = json!({"applied": true});
    let done = client.request("workspace/executeCommand", run.clone());
    let created =
        done["created"][0].as_str().and_then(|u| u.strip_prefix("file://")).expect("a file").to_owned();
    assert!(std::fs::read_to_string(&created).expect("written").contains("__global__"));
    let edit = client.applied.pop().expect("the document's part");
    assert!(edit.get("documentChanges").is_none(), "{edit:#}");
    let mut texts = HashMap::from([(uri.clone(), SAXPY.to_owned())]);
    apply(&edit, &mut texts);
    assert_ne!(texts[&uri], SAXPY);

    // a file that is there is never replaced
    std::fs::write(&created, "mine\n").expect("written");
    client.request("workspace/executeCommand", run);
    assert_eq!(std::fs::read_to_string(&created).expect("there"), "mine\n");
    assert_eq!(client.finish(), Some(0));
}

#[test]
fn diagnostics_can_be_pulled() {
    let mut caps = full_caps();
    caps["textDocument"]["diagnostic"] = json!({});
    let mut client = Client::start(&caps);
    client.open(URI, SAXPY);
    let pull = |before: &Value| json!({"textDocument": {"uri": URI}, "previousResultId": before});
    let first = client.request("textDocument/diagnostic", pull(&Value::Null));
    assert_eq!(first["kind"], "full");
    assert_eq!(codes(first["items"].as_array().expect("items")), ["parallel-loop"]);
    let again = client.request("textDocument/diagnostic", pull(&first["resultId"]));
    assert_eq!(again, json!({"kind": "unchanged", "resultId": first["resultId"]}));
    client.change(URI, 2, Some([0, 0, 0, 0]), "\n");
    let moved = client.request("textDocument/diagnostic", pull(&first["resultId"]));
    assert_eq!(moved["kind"], "full");
    assert!(!client.inbox.iter().any(|m| m["method"] == "textDocument/publishDiagnostics"));
    assert_eq!(client.finish(), Some(0));
}

#[test]
fn a_plain_client_gets_plain_text() {
    let mut client = Client::start(&json!({}));
    client.open(URI, SAXPY);
    let diagnostics = client.diagnostics(URI, 1);
    assert!(diagnostics.iter().all(|d| d.get("relatedInformation").is_none()));
    let hover = client.hover(URI, 1, 6);
    assert_eq!(hover["contents"]["kind"], "plaintext");
    assert!(
        hover["contents"]["value"].as_str().is_some_and(|v| !v.contains("**") && !v.contains('`')),
        "{hover:#}"
    );
    // no literals: commands
    let actions = client.actions(URI, 1, 6);
    assert!(actions.iter().all(|a| a["command"].is_string()), "{actions:#?}");
    assert_eq!(client.finish(), Some(0));
}

#[test]
fn settings_come_three_ways_and_wrong_ones_are_named_once() {
    let mut caps = full_caps();
    caps["workspace"]["configuration"] = json!(true);
    let mut client = Client::spawn(&[]);
    client.configuration = json!({"levels": {"parallel-loop": "warning"}, "server": {"path": ""}});
    client.initialize(&caps, &json!({"levels": {"parallel-loop": "error"}, "nonsense": 1}));
    let said = client.wait_notification("window/logMessage");
    assert!(said["message"].as_str().is_some_and(|m| m.contains("nonsense")), "{said:#}");
    client.wait("the pull", |m| m["method"] == "workspace/configuration");
    client.open(URI, SAXPY);
    client.wait("the severity that was pulled", |m| m["params"]["diagnostics"][0]["severity"] == 2);
    let settings = json!({"warpwright": {"levels": {"parallel-loop": "off"}, "nonsense": 2}});
    client.notify("workspace/didChangeConfiguration", json!({"settings": settings}));
    client.wait("no finding", |m| {
        m["method"] == "textDocument/publishDiagnostics" && m["params"]["diagnostics"] == json!([])
    });
    assert!(!client.inbox.iter().any(|m| m["method"] == "window/logMessage"), "complained twice");
    assert_eq!(client.finish(), Some(0));
}

#[test]
fn cancelled_requests_are_answered_once() {
    let mut client = Client::start(&full_caps());
    client.open(URI, &SAXPY.repeat(200));
    let ids: Vec<i64> = (0..50).map(|_| client.ask("textDocument/hover", at(URI, 1, 6))).collect();
    for id in &ids {
        client.notify("$/cancelRequest", json!({"id": id}));
    }
    for id in ids {
        let answer = client.answer(id);
        let code = answer["error"]["code"].as_i64();
        assert!(answer.get("result").is_some() || code == Some(-32800), "{answer:#}");
    }
    assert_eq!(client.finish(), Some(0));
}

#[test]
fn a_long_document_is_shown_in_steps_that_only_add() {
    const FUNCTIONS: usize = 600;
    let function = |k: usize| {
        format!(
            "void f{k}(int n, float *a) {{\n  for (int i = 1; i < n; i++)\n    a[i] = a[i - 1] * {k};\n}}\n"
        )
    };
    let text: String = (0..FUNCTIONS).map(function).collect();
    let mut client = Client::start(&full_caps());
    client.open(URI, &text);
    let mut steps = vec![client.diagnostics(URI, 1)];
    // answered when everything is known (a hover is not: it says what is known by then)
    client.request("textDocument/codeLens", json!({"textDocument": {"uri": URI}}));
    while client.inbox.iter().any(|m| m["method"] == "textDocument/publishDiagnostics") {
        steps.push(client.diagnostics(URI, 1));
    }
    let last = steps.last().expect("at least one");
    assert_eq!(last.len(), FUNCTIONS);
    for step in &steps {
        assert!(!step.is_empty() && step.iter().all(|d| last.contains(d)));
    }

    // edited before it was known: above all functions, and in one of them, which is then judged alone
    let mut edited = |other: &str, [line, column]: [u32; 2], insert: &str| {
        client.open(other, &text.replace("float", "double"));
        let place = json!({"line": line, "character": column});
        let change = json!({"range": {"start": place, "end": place}, "text": insert});
        client.notify(
            "textDocument/didChange",
            json!({"textDocument": {"uri": other, "version": 2}, "contentChanges": [change]}),
        );
        client.request("textDocument/codeLens", json!({"textDocument": {"uri": other}}));
        // of the other documents of the program there may be news, too
        let is_news = |m: &Value| {
            m["method"] == "textDocument/publishDiagnostics"
                && m["params"]["version"] == 2
                && m["params"]["uri"] == other
        };
        let mut steps = vec![client.diagnostics(other, 2)];
        while client.inbox.iter().any(is_news) {
            steps.push(client.diagnostics(other, 2));
        }
        let last = steps.pop().expect("at least one");
        for step in &steps {
            assert!(!step.is_empty() && step.iter().all(|d| last.contains(d)));
        }
        last
    };
    let in_one = edited("file:///third.c", [4 * 300 + 2, 4], "a[0] = ");
    assert_eq!(in_one.len(), FUNCTIONS);
    assert_eq!(in_one[300]["range"]["start"]["line"], 4 * 300 + 1);
    let last = edited("file:///other.c", [0, 0], "\n");
    assert_eq!(last.len(), FUNCTIONS);
    assert_eq!(last[0]["range"]["start"]["line"], 2);
    client.inbox.retain(|m| m["method"] != "textDocument/publishDiagnostics");
    assert_eq!(client.finish(), Some(0));
}

#[test]
fn a_header_is_read_from_the_disk_and_from_the_editor() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("written");
    let uri = |name: &str| format!("file://{}", folder.path().join(name).display());
    let (source, header) = (uri("x.c"), uri("x.h"));
    let text = "#include \"x.h\"\nvoid f(double *a, int n) {\n    for (int i = 0; i < n; i++)\n        a[i] = a[i + SHIFT] + 1;\n}\n";
    write("x.h", "#define SHIFT 0\n");
    let mut client = Client::start(&full_caps());
    client.open(&source, text);
    assert_eq!(codes(&client.diagnostics(&source, 1)), ["parallel-loop"]);

    // edited on disk
    write("x.h", "#define SHIFT -1\n");
    client.notify("workspace/didChangeWatchedFiles", json!({"changes": [{"uri": header, "type": 2}]}));
    let carried = |m: &Value| {
        m["method"] == "textDocument/publishDiagnostics"
            && m["params"]["uri"] == source.as_str()
            && m["params"]["diagnostics"][0]["code"] == "carried-dependence"
    };
    client.wait("the new header's meaning", carried);

    // edited in the editor, not saved: after a pause
    client.open(&header, "#define SHIFT -1\n");
    client.change(&header, 2, None, "#define SHIFT 0\n");
    let parallel = |m: &Value| {
        m["method"] == "textDocument/publishDiagnostics"
            && m["params"]["uri"] == source.as_str()
            && m["params"]["diagnostics"][0]["code"] == "parallel-loop"
    };
    client.wait("the edited header's meaning", parallel);

    // saved: at once; closed without saving: the file's text counts again
    client.change(&header, 3, None, "#define SHIFT -1 // one back\n");
    client.notify("textDocument/didSave", json!({"textDocument": {"uri": header}}));
    client.wait("the saved header's meaning", carried);
    client.change(&header, 4, None, "#define SHIFT 0\n");
    client.wait("the newer meaning", parallel);
    client.notify("textDocument/didClose", json!({"textDocument": {"uri": header}}));
    client.wait("the file's meaning", carried);
    assert_eq!(client.finish(), Some(0));
}

const COLUMNS: &str = "double a[64][64];\nvoid f(void) {\n    for (int i = 1; i < 64; i++)\n        for (int j = 0; j < 64; j++)\n            a[i][j] = a[i - 1][j];\n}\n";

#[test]
fn transformations_are_offered_and_made_when_resolved() {
    let mut client = Client::start(&full_caps());
    client.open(URI, COLUMNS);
    let before = client.diagnostics(URI, 1);
    let hover = client.hover(URI, 2, 6);
    let said = hover["contents"]["value"].as_str().unwrap_or_default();
    assert!(said.contains("What would make it parallel"), "{said}");

    let bulb = client.actions(URI, 2, 6);
    assert!(
        bulb.iter().any(|a| a["title"].as_str().is_some_and(|t| t.starts_with("Make parallel"))),
        "{bulb:#?}"
    );
    // the whole menu is for who asks for refactorings
    let menu = json!({"textDocument": {"uri": URI}, "context": {"diagnostics": [], "only": ["refactor.rewrite"]},
        "range": {"start": {"line": 2, "character": 6}, "end": {"line": 2, "character": 6}}});
    let menu = client.request("textDocument/codeAction", menu);
    let actions = menu.as_array().expect("a list").clone();
    assert!(actions.len() > bulb.len(), "{actions:#?}");
    let titled = |words: &str| {
        let found = actions.iter().find(|a| a["title"].as_str().is_some_and(|t| t.starts_with(words)));
        found.unwrap_or_else(|| panic!("no `{words}` among {actions:#?}")).clone()
    };
    let enable = titled("Make parallel: interchange");
    let strip = titled("Strip-mine i");
    assert_eq!(enable["kind"], "refactor.rewrite.warpwright.enable");
    assert!(strip["kind"].as_str().is_some_and(|k| k.starts_with("refactor.rewrite")), "{strip:#}");
    assert!(actions.iter().all(|a| !a["title"].as_str().is_some_and(|t| t.starts_with("Reverse"))));
    for a in [&enable, &strip] {
        assert!(a.get("edit").is_none(), "made when it is wanted: {a:#}");
        let resolved = client.request("codeAction/resolve", a.clone());
        let mut texts = HashMap::from([(URI.to_owned(), COLUMNS.to_owned())]);
        apply(&resolved["edit"], &mut texts);
        assert_ne!(texts[URI], COLUMNS, "{resolved:#}");
        assert!(texts[URI].contains("a[i][j] = a[i - 1][j];"), "{}", texts[URI]);
    }

    let resolved = client.request("codeAction/resolve", enable.clone());
    let mut texts = HashMap::from([(URI.to_owned(), COLUMNS.to_owned())]);
    apply(&resolved["edit"], &mut texts);
    client.change(URI, 2, None, &texts[URI]);
    let after = client.diagnostics(URI, 2);
    assert_eq!(after[0]["code"], "parallel-loop", "{after:#?}");
    assert_ne!(codes(&before), codes(&after));
    // another text: never a wrong edit
    for stale in [enable, strip] {
        assert_eq!(client.refused("codeAction/resolve", stale)["code"], -32801);
    }
    assert_eq!(client.finish(), Some(0));
}

#[test]
fn all_that_is_worth_it_is_one_edit_to_look_at() {
    let text = "void f(int n, double *restrict a, double *restrict b)\n{\n    for (int i = 0; i < n; i++)\n        a[i] = 2.0 * b[i];\n    \
                if (n > 5)\n        return;\n    for (int i = 0; i < n; i++)\n        b[i] = a[i] + 1.0;\n}\n\
                double g(int n, double *a)\n{\n    for (int i = 1; i < n; i++)\n        a[i] = a[i - 1] * a[i];\n    double s = 0.0;\n    \
                for (int i = 0; i < n; i++)\n        s += a[i] * a[i];\n    return s;\n}\n";
    let mut caps = full_caps();
    caps["workspace"]["workspaceEdit"]["changeAnnotationSupport"] = json!({"groupsOnLabel": true});
    let mut client = Client::start(&caps);
    client.open(URI, text);
    let actions = client.actions(URI, 0, 6);
    let titles: Vec<&str> = actions.iter().filter_map(|a| a["title"].as_str()).collect();
    assert!(titles.iter().all(|t| t.len() < 60), "{titles:?}");
    let of = |title: &str| {
        actions.iter().find(|a| a["title"] == title).cloned().unwrap_or_else(|| panic!("{titles:?}"))
    };
    let here = client.request("codeAction/resolve", of("Offload all that is worth it in this function"));
    let everywhere = client.request("codeAction/resolve", of("Offload all that is worth it in this file"));
    for (resolved, kernels) in [(here, 2), (everywhere, 3)] {
        let edit = &resolved["edit"];
        let annotation = &edit["changeAnnotations"]["offload"];
        assert_eq!(annotation["needsConfirmation"], true, "{resolved:#}");
        let said = annotation["description"].as_str().unwrap_or_default();
        assert_eq!(said.contains("line 12: Loop is sequential"), kernels == 3, "{said}");
        let changes = edit["documentChanges"].as_array().expect("changes");
        let annotated = changes.iter().all(|c| {
            let edits = c["edits"].as_array().into_iter().flatten();
            c["annotationId"] == "offload"
                || edits.clone().count() > 0 && edits.clone().all(|e| e["annotationId"] == "offload")
        });
        assert!(annotated, "{resolved:#}");
        let mut texts = HashMap::from([(URI.to_owned(), text.to_owned())]);
        apply(edit, &mut texts);
        assert_eq!(texts.len(), 1 + kernels, "{resolved:#}");
        assert_eq!(texts[URI].matches("_on_gpu(").count(), 2 * kernels, "{}", texts[URI]);
    }
    // on a loop nothing of it is offered
    let on_loop = client.actions(URI, 2, 6);
    assert!(
        on_loop.iter().all(|a| !a["title"].as_str().unwrap_or_default().contains("worth")),
        "{on_loop:#?}"
    );
    assert_eq!(client.finish(), Some(0));
}
