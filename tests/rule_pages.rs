//! Rule pages in an editor: written, checked while they are written, used when they are saved, without a restart.

mod support;

use std::collections::HashMap;
use std::path::Path;

use serde_json::{json, Value};
use support::{apply, full_caps, Client};

const PAGE: &str = "# Write squares as products\n\nA call of `pow` with the exponent 2 is slower than a product.\n\nTrust: reassociates\n\n```rules squares BottomUp\nsquare: c`pow($x, 2)` [pure($x), type($x, double)] -> c`$x * $x`\n```\n\n```c example\n#include <math.h>\ndouble f(double x) { return pow(x, 2); }\n```\n```c result\n#include <math.h>\ndouble f(double x) { return x * x; }\n```\n```c refused because writes\n#include <math.h>\ndouble f(double x) { return pow(x++, 2); }\n```\n";

const PROGRAM: &str =
    "#include <math.h>\n\ndouble norm(double x, double y) {\n    return sqrt(pow(x, 2)   /* here */ + pow(y, 2));\n}\n";

fn uri(path: &Path) -> String {
    format!("file://{}", path.display())
}

fn log(client: &mut Client, words: &str) -> String {
    let message = client.wait(words, |m| {
        m["method"] == "window/logMessage"
            && m["params"]["message"].as_str().is_some_and(|t| t.contains(words))
    });
    message["params"]["message"].as_str().unwrap_or_default().to_owned()
}

fn by_rules(client: &mut Client, uri: &str) -> Vec<Value> {
    let all = client.actions(uri, 3, 20);
    all.into_iter().filter(|a| a["kind"] == "refactor.rewrite.warpwright.rules").collect()
}

#[test]
fn a_saved_page_is_used_at_once_and_a_wrong_one_is_not() {
    let root = tempfile::tempdir().expect("a folder");
    let folder = root.path().join(".warpwright/rules");
    std::fs::create_dir_all(&folder).expect("a folder");
    let (page, program) = (folder.join("squares.md"), root.path().join("norm.c"));
    let (page_uri, program_uri) = (uri(&page), uri(&program));
    let mut client = Client::start(&full_caps());
    client.open(&program_uri, PROGRAM);
    assert_eq!(by_rules(&mut client, &program_uri), Vec::<Value>::new());

    // the page is written: what is wrong is said on it, at its place, and it is not in use
    let wrong = PAGE.replace("[pure($x), ", "[pur($x), ");
    client.open_as(&page_uri, "markdown", &wrong);
    let found = client.diagnostics(&page_uri, 1);
    let first = found.first().expect("a finding");
    assert_eq!((&first["range"]["start"]["line"], &first["severity"]), (&json!(7), &json!(1)), "{found:#?}");
    assert!(first["message"].as_str().is_some_and(|m| m.contains("`pure`")), "{first:#}");
    // an example that does not come out
    client.change(&page_uri, 2, None, &PAGE.replace("x * x; }", "x + x; }"));
    let found = client.diagnostics(&page_uri, 2);
    assert!(
        found.iter().any(|d| d["message"].as_str().is_some_and(|m| m.contains("example 1"))),
        "{found:#?}"
    );
    client.change(&page_uri, 3, None, PAGE);
    assert_eq!(client.diagnostics(&page_uri, 3), Vec::<Value>::new());
    assert_eq!(by_rules(&mut client, &program_uri), Vec::<Value>::new(), "it is not saved");

    // words are completed and explained in rules, and only there
    let place = json!({"textDocument": {"uri": page_uri}, "position": {"line": 7, "character": 25}});
    let items = client.request("textDocument/completion", place);
    let labels: Vec<&str> =
        items.as_array().into_iter().flatten().filter_map(|i| i["label"].as_str()).collect();
    assert_eq!(labels, ["pure"], "{items:#}");
    let hover = client.hover(&page_uri, 7, 25);
    assert!(hover["contents"]["value"].as_str().is_some_and(|v| v.contains("writes nothing")), "{hover:#}");
    assert_eq!(client.hover(&page_uri, 2, 12), Value::Null);

    // saved: in use, as the editor tells
    std::fs::write(&page, PAGE).expect("written");
    let changed = json!({"changes": [{"uri": page_uri, "type": 1}]});
    client.notify("workspace/didChangeWatchedFiles", changed.clone());
    log(&mut client, "in use beside the shipped ones: squares");
    let offered = by_rules(&mut client, &program_uri);
    let titles: Vec<&str> = offered.iter().filter_map(|a| a["title"].as_str()).collect();
    assert_eq!(titles, ["Write squares as products (rules squares, reassociates)"]);
    let action = client.request("codeAction/resolve", offered[0].clone());
    let mut texts = HashMap::from([(program_uri.clone(), PROGRAM.to_owned())]);
    apply(&action["edit"], &mut texts);
    // the rest of the line is the user's, byte for byte
    let product = PROGRAM.replace("pow(x, 2)", "x * x").replace("pow(y, 2)", "y * y");
    assert_eq!(texts[&program_uri], product);

    // the command tells how it came about before anything is changed
    let argument = json!({"uri": program_uri, "system": "squares", "scope": "file", "preview": true});
    let command = json!({"command": "warpwright.applyRules", "arguments": [argument]});
    let told = client.request("workspace/executeCommand", command);
    assert_eq!(told["text"], product);
    assert!(told["checked"].as_str().is_some_and(|c| c.contains("Same results")), "{told:#}");
    assert!(told["derivation"][0].as_str().is_some_and(|d| d.contains("rule square")), "{told:#}");
    assert!(client.applied.is_empty());

    // a wrong page is not used, and says why; the last good one stays
    std::fs::write(&page, PAGE.replace("$x * $x", "$x * $y")).expect("written");
    client.notify("workspace/didChangeWatchedFiles", changed.clone());
    let why = log(&mut client, "is not used");
    assert!(why.contains("Nothing binds `$y`") && why.contains("last good version"), "{why}");
    assert_eq!(by_rules(&mut client, &program_uri).len(), 1);
    // and gone is gone
    std::fs::remove_file(&page).expect("removed");
    client.notify("workspace/didChangeWatchedFiles", changed);
    log(&mut client, "shipped ones: none");
    assert_eq!(by_rules(&mut client, &program_uri), Vec::<Value>::new());
    assert_eq!(client.finish(), Some(0));
}

#[test]
fn pages_of_a_folder_that_is_not_trusted_are_not_read() {
    let root = tempfile::tempdir().expect("a folder");
    let folder = root.path().join(".warpwright/rules");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("squares.md"), PAGE).expect("written");
    let program_uri = uri(&root.path().join("norm.c"));
    let mut client = Client::start_with(&full_caps(), &json!({"trusted": false}), &[]);
    client.open(&program_uri, PROGRAM);
    let argument = json!({"uri": program_uri, "system": "squares", "line": 3});
    let refused = client.refused(
        "workspace/executeCommand",
        json!({"command": "warpwright.applyRules", "arguments": [argument]}),
    );
    assert!(refused["message"].as_str().is_some_and(|m| m.contains("no rule system")), "{refused:#}");
    assert_eq!(by_rules(&mut client, &program_uri), Vec::<Value>::new());
    assert_eq!(client.finish(), Some(0));
}

/// Takes the next step of the kernel on a line as long as there is one: the systems, and the text afterwards.
fn next_steps(name: &str, text: &str, kernel: &str) -> (Vec<String>, String) {
    let program_uri = format!("file:///project/{name}");
    let mut client = Client::start(&full_caps());
    let mut texts = HashMap::from([(program_uri.clone(), text.to_owned())]);
    client.open_as(&program_uri, "cuda", text);
    let line = text.lines().position(|l| l.contains(kernel)).expect("the kernel") as u32;
    let mut done = Vec::new();
    for version in 2.. {
        let actions = client.actions(&program_uri, line + 1, 8);
        let titled =
            |words: &str| actions.iter().find(|a| a["title"].as_str().is_some_and(|t| t.starts_with(words)));
        let Some(next) = titled("Optimize this kernel, next step: ") else { break };
        assert!(titled("Optimize this kernel, all steps: ").is_some(), "{actions:#?}");
        let title = next["title"].as_str().unwrap_or_default();
        done.push(title.split("(rules ").nth(1).unwrap_or("").split(',').next().unwrap_or("").to_owned());
        let action = client.request("codeAction/resolve", next.clone());
        apply(&action["edit"], &mut texts);
        client.change(&program_uri, version, None, &texts[&program_uri]);
        assert!(done.len() < 12, "{done:?}");
    }
    assert_eq!(client.finish(), Some(0));
    (done, texts.remove(&program_uri).unwrap_or_default())
}

/// A kernel is optimized step by step, or all at once.
#[test]
fn a_kernel_has_a_next_step() {
    // with the function that launches it: where nobody does, steps that need another launch are refused
    let text = example(include_str!("../rules/reduction.md"));
    let (done, after) = next_steps("sum.cu", text, "void parallelAdd(");
    assert_eq!(
        done[..6],
        [
            "reduction-shared",
            "reduction-undivided",
            "reduction-halving",
            "reduction-first-add",
            "reduction-last-warp",
            "reduction-shuffle"
        ]
    );
    assert_ne!(after, text);
}

/// The first example of a page that ships.
fn example(page: &str) -> &str {
    let first = page.split("```cuda example\n").nth(1).and_then(|t| t.split("```").next());
    first.expect("an example")
}

/// Stencils and products have steps of their own; launches are rewritten with their kernels.
#[test]
fn stencils_and_products_have_next_steps() {
    let (done, after) = next_steps("heat.cu", example(include_str!("../rules/stencil.md")), "void heat(");
    assert_eq!(done, ["stencil-halo", "stencil-tile", "stencil-strip"]);
    assert!(after.contains("dim3(1, (NY + TY - 1) / TY), block>>>"), "{after}");
    let (done, after) =
        next_steps("product.cu", example(include_str!("../rules/product.md")), "void product(");
    assert_eq!(done, ["sum-in-register", "product-tile", "product-registers"]);
    assert!(after.contains("((M + TILE - 1) / TILE + 3) / 4), block>>>"), "{after}");
}

const MARKED: &str = "void twice(int n, int *a)\n{\n    // warpwright: offload(twice_kernel)\n    for (int i = 0; i < n; i++)\n        a[i] *= 2;\n}\n";

/// The kernel comes with the edit where the editor creates files; else the server writes it.
#[test]
fn kernels_that_rules_make_come_with_the_edit() {
    for creates in [true, false] {
        let root = tempfile::tempdir().expect("a folder");
        let program = root.path().join("twice.c");
        std::fs::write(&program, MARKED).expect("written");
        let (program_uri, kernel) = (uri(&program), root.path().join("twice_kernel.cu"));
        let mut caps = full_caps();
        if !creates {
            caps["workspace"]["workspaceEdit"] = json!({"documentChanges": true});
        }
        let mut client = Client::start(&caps);
        client.open(&program_uri, MARKED);
        let mut argument = json!({"uri": program_uri, "system": "offload", "scope": "file", "preview": true});
        let ask = |client: &mut Client, argument: &Value| {
            let command = json!({"command": "warpwright.applyRules", "arguments": [argument]});
            client.request("workspace/executeCommand", command)
        };
        let told = ask(&mut client, &argument);
        let (host, file) = (told["text"].as_str().expect("a text"), &told["files"][0]);
        assert!(host.contains("twice_kernel_on_gpu"), "{told:#}");
        assert_eq!(file["name"], "twice_kernel.cu", "{told:#}");
        assert!(client.applied.is_empty() && !kernel.exists());

        argument["preview"] = json!(false);
        let done = ask(&mut client, &argument);
        assert_eq!((&done["applied"], &done["created"]), (&json!(true), &json!([uri(&kernel)])));
        let mut texts = HashMap::from([(program_uri.clone(), MARKED.to_owned())]);
        apply(&client.applied[0], &mut texts);
        assert_eq!(texts[&program_uri], host);
        let written = std::fs::read_to_string(&kernel).ok();
        let found = if creates { texts.get(&uri(&kernel)).cloned() } else { written.clone() };
        assert_eq!((found.as_deref(), written.is_some()), (file["text"].as_str(), !creates));
        assert_eq!(client.finish(), Some(0));
    }
}
