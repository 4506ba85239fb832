//! What editors see of a whole folder, spoken of with the real binary: loops and kernels of files that nobody has opened, and edits of
//! several files at once.

mod support;

use std::collections::HashMap;
use std::path::Path;

use serde_json::{json, Value};
use support::{apply, full_caps, Client};

const SCALE: &str = "\
void scale(int n, double *restrict a, const double *restrict b)
{
    for (int i = 0; i < n; i++)
        a[i] = 2.0 * b[i];
}

void prefix(int n, double *a)
{
    for (int i = 1; i < n; i++)
        a[i] += a[i - 1];
}
";
const SUM: &str = "\
double sum(int n, const double *a)
{
    double s = 0.0;
    for (int i = 0; i < n; i++)
        s += a[i] * a[i];
    return s;
}

void zero(double *a)
{
    for (int i = 0; i < 4; i++)
        a[i] = 0.0;
}
";
const KERNEL: &str = "\
__global__ void twice(float *a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        a[i] = 2.0f * a[i];
}

void run(float *a, int n)
{
    twice<<<(n + 255) / 256, 256>>>(a, n);
}
";
const CPP: &str = "\
void shift(int n, double *__restrict a, const double *__restrict b)
{
    for (int i = 0; i < n; i++)
        a[i] = b[i] + 1.0;
}
";

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    };
    write("src/scale.c", SCALE);
    write("src/sum.c", SUM);
    write("gpu/twice.cu", KERNEL);
    write("shift.cpp", CPP);
    write("build/made.c", SCALE);
    write("notes.txt", "for (;;) ;");
    folder
}

fn uri(folder: &Path, name: &str) -> String {
    format!("file://{}", folder.canonicalize().expect("it is there").join(name).display())
}

fn start(folder: &Path, caps: &Value) -> Client {
    let mut client = Client::spawn(&[]);
    let params = json!({
        "processId": std::process::id(), "rootUri": null, "capabilities": caps,
        "workspaceFolders": [{"uri": uri(folder, ""), "name": "program"}],
    });
    client.init = client.request("initialize", params);
    client.notify("initialized", json!({}));
    client
}

fn listed(answer: &Value) -> wire::ListedLoops {
    serde_json::from_value(answer.clone()).unwrap_or_else(|e| panic!("{e}: {answer:#}"))
}

/// `function verdict worth offload`, a line each.
fn lines(file: &wire::ListedFile) -> Vec<String> {
    let one = |l: &wire::ListedLoop| {
        format!("{} {} {} {}", l.function, l.verdict, l.worth, if l.offload { "offload" } else { "-" })
    };
    file.loops.iter().map(one).collect()
}

#[test]
fn a_folder_is_listed_file_by_file() {
    let folder = folder();
    let mut client = start(folder.path(), &full_caps());
    let all = client.request("warpwright/loops", json!({"partialResultToken": "pieces"}));
    assert_eq!(listed(&all), wire::ListedLoops { files: Vec::new(), note: None });
    let mut files = Vec::new();
    for _ in 0..4 {
        let piece =
            client.wait("a piece", |m| m["method"] == "$/progress" && m["params"]["token"] == "pieces");
        let piece = piece["params"]["value"].clone();
        files.extend(serde_json::from_value::<Vec<wire::ListedFile>>(piece).expect("files"));
    }
    let names = ["gpu/twice.cu", "shift.cpp", "src/scale.c", "src/sum.c"];
    let told: Vec<&str> = files.iter().map(|f| f.uri.as_str()).collect();
    assert_eq!(told, names.map(|n| uri(folder.path(), n)));
    assert_eq!(lines(&files[0]), ["twice race-free open -"]);
    assert_eq!(files[0].loops[0].kind, "kernel");
    assert_eq!(lines(&files[1]), ["shift independent open -"]);
    assert_eq!(lines(&files[2]), ["scale independent worth offload", "prefix sequential open -"]);
    assert_eq!(lines(&files[3]), ["sum reduction worth offload", "zero independent small offload"]);
    assert_eq!(files[3].loops[0].range.start.line, 3);
    assert!(files[3].loops[1].reason.contains("fewer operations"), "{:?}", files[3].loops[1]);
    // one of them alone, as the editor has it
    let scale = uri(folder.path(), "src/scale.c");
    client.open(&scale, &SCALE.replace("i - 1", "i - n"));
    let again = listed(&client.request("warpwright/loops", json!({"uris": [&scale]})));
    assert_eq!(again.files.len(), 1);
    assert_ne!(again.files[0].text, files[2].text);
    assert_eq!(client.finish(), Some(0));
}

#[test]
fn several_files_are_edited_at_once_and_shown_before() {
    let folder = folder();
    let mut caps = full_caps();
    caps["workspace"]["workspaceEdit"]["changeAnnotationSupport"] = json!({"groupsOnLabel": true});
    let mut client = start(folder.path(), &caps);
    let (scale, sum) = (uri(folder.path(), "src/scale.c"), uri(folder.path(), "src/sum.c"));
    client.open(&sum, SUM);
    let files = listed(&client.request("warpwright/loops", json!({"uris": [&scale, &sum]}))).files;
    let meant = |keys: [&[usize]; 2]| -> Value {
        let of = |(file, keys): (&wire::ListedFile, &[usize])| {
            let keys: Vec<&str> = keys.iter().map(|&k| file.loops[k].key.as_str()).collect();
            json!({"uri": file.uri, "text": file.text, "keys": keys})
        };
        files.iter().zip(keys).map(of).collect()
    };
    let command = |name: &str, files: Value| json!({"command": name, "arguments": [{"files": files}]});
    let texts = || HashMap::from([(scale.clone(), SCALE.to_owned()), (sum.clone(), SUM.to_owned())]);

    let done =
        client.request("workspace/executeCommand", command("warpwright.offload", meant([&[0, 1], &[0]])));
    let done: wire::FilesEdited = serde_json::from_value(done).expect("an answer of the contract");
    assert!(done.applied && done.created.len() == 2, "{done:?}");
    assert!(
        done.left_out.len() == 1 && done.left_out[0].starts_with("scale.c: The loop on line 9"),
        "{done:?}"
    );
    let edit = client.applied.pop().expect("an edit");
    assert_eq!(edit["changeAnnotations"]["offload"]["needsConfirmation"], true, "{edit:#}");
    let changes = edit["documentChanges"].as_array().expect("changes");
    let versions: Vec<&Value> =
        changes.iter().map(|c| &c["textDocument"]["version"]).filter(|v| v.is_i64()).collect();
    assert_eq!(versions, [1], "only one of them is open: {edit:#}");
    let mut after = texts();
    apply(&edit, &mut after);
    assert_eq!(after.len(), 4);
    assert!(after[&scale].contains("scale_i_on_gpu(") && after[&sum].contains("sum_i_on_gpu("), "{after:#?}");

    client.request("workspace/executeCommand", command("warpwright.mark", meant([&[0], &[0, 1]])));
    let edit = client.applied.pop().expect("an edit");
    let mut after = texts();
    apply(&edit, &mut after);
    let marks: usize = after.values().map(|t| t.matches("// warpwright: offload\n").count()).sum();
    assert_eq!(marks, 3, "{after:#?}");

    // one loop is nothing to look through
    client.request("workspace/executeCommand", command("warpwright.mark", meant([&[], &[0]])));
    assert!(client.applied.pop().expect("an edit")["changeAnnotations"].is_null());
    // thrown away by who was shown it
    client.apply_answer = json!({"applied": false});
    let thrown = client.request("workspace/executeCommand", command("warpwright.mark", meant([&[0], &[0]])));
    assert_eq!(thrown["applied"], false);
    // another text than the one that was listed
    client.change(&sum, 2, None, &SUM.replace("a[i] * a[i]", "a[i]"));
    let refused = client.refused("workspace/executeCommand", command("warpwright.mark", meant([&[], &[0]])));
    assert!(refused["message"].as_str().is_some_and(|m| m.contains("sum.c: it has changed")), "{refused:#}");
    assert_eq!(client.finish(), Some(0));
}

#[test]
fn nobody_waits_for_a_listing_that_was_called_off() {
    let folder = folder();
    for k in 0..60 {
        std::fs::write(folder.path().join(format!("copy{k}.c")), SCALE).expect("a file");
    }
    let mut client = start(folder.path(), &full_caps());
    let id = client.ask("warpwright/loops", json!({"partialResultToken": "pieces"}));
    client.wait("a piece", |m| m["method"] == "$/progress");
    client.notify("$/cancelRequest", json!({"id": id}));
    assert_eq!(client.answer(id)["error"]["code"], -32800);
    let count = client.inbox.iter().filter(|m| m["method"] == "$/progress").count();
    assert!(count < 60, "all was listed all the same");
    assert_eq!(client.finish(), Some(0));
}

/// `name (detail)`, a line each, with what is in it behind two blanks.
fn outline(symbols: &Value, depth: usize) -> String {
    let mut out = String::new();
    for s in symbols.as_array().into_iter().flatten() {
        let detail = s["detail"].as_str().unwrap_or("-");
        out += &format!("{}{} ({detail})\n", "  ".repeat(depth), s["name"].as_str().expect("a name"));
        out += &outline(&s["children"], depth + 1);
    }
    out
}

#[test]
fn an_outline_has_the_loops_with_their_verdicts() {
    let nest = "void f(int n, int m, double (*a)[m])\n{\n    for (int i = 0; i < n; i++)\n        for (int j = 1; j < m; j++)\n            a[i][j] += a[i][j - 1];\n}\nstatic int g(void);\n";
    let mut client = Client::start(&full_caps());
    client.open("file:///nest.c", nest);
    let symbols =
        client.request("textDocument/documentSymbol", json!({"textDocument": {"uri": "file:///nest.c"}}));
    assert_eq!(outline(&symbols, 0), "f (-)\n  loop i (parallel)\n    loop j (sequential: a)\n");
    assert_eq!(symbols[0]["selectionRange"]["start"], json!({"line": 0, "character": 5}));
    client.open_as("file:///twice.cu", "cuda-cpp", KERNEL);
    let symbols =
        client.request("textDocument/documentSymbol", json!({"textDocument": {"uri": "file:///twice.cu"}}));
    assert_eq!(outline(&symbols, 0), "twice (kernel)\nrun (-)\n");
    assert_eq!(client.finish(), Some(0));
    // where another extension does so, nothing is offered
    let elsewhere = Client::start_with(&full_caps(), &json!({"outlinedElsewhere": true}), &[]);
    for what in ["documentSymbolProvider", "callHierarchyProvider"] {
        assert!(elsewhere.init["capabilities"][what].is_null(), "{:#}", elsewhere.init);
    }
    assert_eq!(elsewhere.finish(), Some(0));
    let asked = Client::start_with(&full_caps(), &json!({"outlinedElsewhere": true, "outline": "on"}), &[]);
    assert_eq!(asked.init["capabilities"]["callHierarchyProvider"], true);
    assert_eq!(asked.finish(), Some(0));
}

#[test]
fn kernels_are_followed_to_their_launches_and_callers_across_files() {
    let folder = folder();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("a file");
    write(
        "gpu/twice.cu",
        &KERNEL
            .replace("2.0f * a[i]", "halve(a[i]) * 4.0f")
            .replace("__global__", "__device__ float halve(float x) { return 0.5f * x; }\n\n__global__"),
    );
    write(
        "src/main.c",
        "extern void run(float *a, int n);\nvoid work(float *a)\n{\n    run(a, 100);\n    run(a, 10);\n}\n",
    );
    // another function of the same name
    write("src/own.c", "static void run(float *a, int n) { }\nvoid other(float *a) { run(a, 1); }\n");
    let mut client = start(folder.path(), &full_caps());
    let main = uri(folder.path(), "src/main.c");
    client.open(&main, &std::fs::read_to_string(folder.path().join("src/main.c")).expect("a file"));
    let names = |calls: &Value, end: &str| -> Vec<String> {
        let one = |c: &Value| {
            let ranges = c["fromRanges"].as_array().map_or(0, Vec::len);
            format!(
                "{} {} x{ranges}",
                c[end]["name"].as_str().expect("a name"),
                c[end]["detail"].as_str().expect("words")
            )
        };
        calls.as_array().into_iter().flatten().map(one).collect()
    };
    // from a call of it to the host function, to the kernel, to what its threads call
    let at = json!({"textDocument": {"uri": &main}, "position": {"line": 3, "character": 5}});
    let run = client.request("textDocument/prepareCallHierarchy", at)[0].clone();
    assert_eq!(run["uri"], uri(folder.path(), "gpu/twice.cu"));
    let kernels = client.request("callHierarchy/outgoingCalls", json!({"item": run}));
    assert_eq!(names(&kernels, "to"), ["twice kernel, twice.cu x1"]);
    let kernel = kernels[0]["to"].clone();
    let devices = client.request("callHierarchy/outgoingCalls", json!({"item": kernel}));
    assert_eq!(names(&devices, "to"), ["halve device function, twice.cu x1"]);
    // and back
    let launches = client.request("callHierarchy/incomingCalls", json!({"item": kernel}));
    assert_eq!(names(&launches, "from"), ["run twice.cu x1"]);
    let callers = client.request("callHierarchy/incomingCalls", json!({"item": launches[0]["from"]}));
    assert_eq!(names(&callers, "from"), ["work main.c x2"]);
    let nobody = client.request("callHierarchy/incomingCalls", json!({"item": callers[0]["from"]}));
    assert_eq!(nobody, json!([]));
    assert_eq!(client.finish(), Some(0));
}

#[test]
fn settings_of_a_folder_count_for_its_documents() {
    let folder = folder();
    let (gpu, src) = (uri(folder.path(), "gpu"), uri(folder.path(), "src"));
    let mut caps = full_caps();
    caps["workspace"]["configuration"] = json!(true);
    let mut client = Client::spawn(&[]);
    // of the folder `gpu` a level is set; asked without a folder nothing is
    let of_gpu = json!({"levels": {"carried-dependence": "off"}});
    client.configuration = json!({&gpu: of_gpu, &src: {}});
    let folders = json!([{"uri": &gpu, "name": "gpu"}, {"uri": &src, "name": "src"}]);
    let params = json!({"processId": std::process::id(), "rootUri": null, "capabilities": caps, "workspaceFolders": folders});
    client.init = client.request("initialize", params);
    client.notify("initialized", json!({}));
    client.wait("the question for the folders", |m| {
        m["method"] == "workspace/configuration"
            && m["params"]["items"].as_array().is_some_and(|i| i.len() == 2)
    });
    let (there, here) = (format!("{gpu}/scale.c"), format!("{src}/scale.c"));
    client.open(&there, SCALE);
    client.open(&here, SCALE);
    let told = |client: &mut Client, uri: &str, wanted: bool| {
        client.wait("diagnostics", |m| {
            let of = m["params"]["diagnostics"].as_array().into_iter().flatten();
            m["method"] == "textDocument/publishDiagnostics"
                && m["params"]["uri"] == *uri
                && of.clone().any(|d| d["code"] == "parallel-loop")
                && of.clone().any(|d| d["code"] == "carried-dependence") == wanted
        })
    };
    told(&mut client, &there, false);
    told(&mut client, &here, true);
    // the list of the workspace, too, is told with them
    assert_eq!(client.request("warpwright/loops", json!({"uris": [&here]}))["files"][0]["language"], "C");
    assert_eq!(client.finish(), Some(0));
}
