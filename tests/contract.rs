//! Every answer of the program is what the room `wire` says it is: read into its type, which knows no other fields, and
//! held to the schema that `docs/contract.md` shows.

mod support;

use std::path::PathBuf;
use std::process::{Output, Stdio};

use serde::de::DeserializeOwned;
use serde::Serialize;
use serde_json::{json, Value};
use support::{full_caps, server, Client};
use tempfile::TempDir;

/// A marked loop, a loop that carries something, a reduction, and a loop that nothing is known of.
const PROGRAM: &str = "\
#ifdef NDEBUG
#endif
void saxpy(int n, float a, const float *restrict x, float *restrict y) {
    // warpwright: offload
    for (int i = 0; i < n; i++)
        y[i] = a * x[i] + y[i];
}
void scan(int n, float *a) {
    for (int i = 1; i < n; i++)
        a[i] = a[i] + a[i - 1];
}
int sum(int n, const int *a) {
    int s = 0;
    for (int i = 0; i < n; i++)
        s += a[i];
    return s;
}
void walk(char *s) {
    while (*s) s++;
}
";

/// Everything a kernel can have: shared memory, a barrier, a warp operation, an atomic, branches, a race.
const KERNELS: &str = "\
// warpwright: launch(4, 64)
__global__ void sums(int n, const float *x, float *y, int *count) {
    __shared__ float s[64];
    int i = blockIdx.x * 64 + threadIdx.x;
    s[threadIdx.x] = i < n ? x[i] : 0;
    __syncthreads();
    if (threadIdx.x < 32) s[threadIdx.x] += s[threadIdx.x + 32];
    __syncwarp();
    if (threadIdx.x == 0) { y[blockIdx.x] = s[0]; atomicAdd(count, 1); }
}
// warpwright: launch(1, 64)
__global__ void races(float *x) {
    x[0] = threadIdx.x;
}
";

struct Folder(TempDir);

impl Folder {
    fn new() -> Folder {
        let folder = Folder(tempfile::tempdir().expect("a folder"));
        folder.file("program.c", PROGRAM);
        folder.file("kernels.cu", KERNELS);
        folder
    }

    fn file(&self, name: &str, content: &str) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, content).expect("written");
        path
    }

    fn run(&self, args: &[&str]) -> Output {
        let mut command = server();
        command.args(args).args(["--format", "json"]).current_dir(self.0.path()).stdin(Stdio::null());
        command.output().expect("the program starts")
    }

    /// What a command answers, held to its type; and the status it ends with.
    fn answer<T: DeserializeOwned + Serialize>(&self, args: &[&str]) -> (T, Option<i32>) {
        let output = self.run(args);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        let value: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{args:?}: {e}: {error}"));
        assert_eq!(value["version"], wire::VERSION, "{args:?}");
        (held::<T>(&args.join(" "), value), output.status.code())
    }
}

/// A value read into its type, which must say the same again, and held to the type's schema.
fn held<T: DeserializeOwned + Serialize>(what: &str, value: Value) -> T {
    let schema = wire::schema();
    let name = std::any::type_name::<T>().rsplit("::").next().unwrap_or_default();
    let def = schema["$defs"].get(name).unwrap_or_else(|| panic!("{name} is in no schema"));
    let mut wrong = Vec::new();
    validate(&schema, def, &value, what, &mut wrong);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let read: T = serde_json::from_value(value.clone()).unwrap_or_else(|e| panic!("{what}: {e}: {value:#}"));
    assert_eq!(json!(read), value, "{what}");
    read
}

/// As much of JSON Schema as the contract's schema uses; what else a schema may say is an error here.
fn validate(root: &Value, schema: &Value, value: &Value, at: &str, wrong: &mut Vec<String>) {
    let known = [
        "$ref",
        "additionalProperties",
        "anyOf",
        "allOf",
        "description",
        "enum",
        "format",
        "items",
        "maxItems",
        "minItems",
        "minimum",
        "maximum",
        "properties",
        "required",
        "type",
        "unevaluatedProperties",
    ];
    for key in schema.as_object().into_iter().flatten().map(|(k, _)| k.as_str()) {
        assert!(known.contains(&key), "{at}: the schema says `{key}`");
    }
    if let Some(name) = schema["$ref"].as_str() {
        let def = root.pointer(name.trim_start_matches('#')).expect("a definition");
        validate(root, def, value, at, wrong);
    }
    if let Some(all) = schema["anyOf"].as_array() {
        let fits = |s: &Value| {
            let mut wrong = Vec::new();
            validate(root, s, value, at, &mut wrong);
            wrong.is_empty()
        };
        if !all.iter().any(fits) {
            wrong.push(format!("{at}: {value} fits none of {schema}"));
        }
    }
    if let Some(values) = schema["enum"].as_array() {
        if !values.contains(value) {
            wrong.push(format!("{at}: {value} is none of {}", schema["enum"]));
        }
    }
    let is = |name: &str| match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("a type `{other}`"),
    };
    let fits = match &schema["type"] {
        Value::String(name) => is(name),
        Value::Array(names) => names.iter().filter_map(Value::as_str).any(is),
        _ => true,
    };
    if !fits {
        wrong.push(format!("{at}: {value} is no {}", schema["type"]));
    }
    for (k, item) in value.as_array().into_iter().flatten().enumerate() {
        validate(root, &schema["items"], item, &format!("{at}[{k}]"), wrong);
    }
    let Some(fields) = value.as_object() else { return };
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !fields.contains_key(name) {
            wrong.push(format!("{at} has no `{name}`"));
        }
    }
    for (name, field) in fields {
        let at = format!("{at}.{name}");
        match (schema["properties"].get(name), &schema["additionalProperties"]) {
            (Some(of), _) => validate(root, of, field, &at, wrong),
            (None, Value::Bool(false)) => wrong.push(format!("{at} is not in the schema")),
            (None, of) => validate(root, of, field, &at, wrong),
        }
    }
}

#[test]
fn what_is_wrong_does_not_pass() {
    let schema = wire::schema();
    let faults = |name: &str, value: Value| {
        let mut wrong = Vec::new();
        validate(&schema, &schema["$defs"][name], &value, "it", &mut wrong);
        wrong
    };
    assert_eq!(faults("Place", json!({"line": 1, "column": 2})), Vec::<String>::new());
    assert_eq!(faults("Place", json!({"line": 1})).len(), 1);
    assert_eq!(faults("Place", json!({"line": "1", "column": 2})).len(), 1);
    assert_eq!(faults("Place", json!({"line": 1, "column": 2, "more": 3})).len(), 1);
    assert_eq!(faults("Reduction", json!({"variable": "s", "operator": "%"})).len(), 1);
}

#[test]
fn findings() {
    let folder = Folder::new();
    let (all, status) =
        folder.answer::<wire::Analysis>(&["analyze", "--enabling", "program.c", "kernels.cu"]);
    assert_eq!(status, Some(1));
    let verdicts: Vec<&str> = all.files[0].loops.iter().map(|l| l.verdict.as_str()).collect();
    assert_eq!(verdicts, ["independent", "sequential", "reduction", "unknown"]);
    let kernels: Vec<&str> = all.files[1].kernels.iter().map(|k| k.name.as_str()).collect();
    assert_eq!(kernels, ["sums", "races"]);
    assert_eq!(all.files[1].kernels[1].race_verdict.verdict, "race");
    let (run, status) = folder.answer::<wire::Simulation>(&["simulate", "kernels.cu"]);
    assert_eq!(status, Some(1));
    assert_eq!(run.files[0].kernels[0].grid, Some([4, 1, 1]));
    assert!(!run.files[0].kernels[1].races.is_empty());
}

#[test]
fn kernels_written_and_run() {
    let folder = Folder::new();
    let (done, status) = folder.answer::<wire::Offloading>(&["offload", "--verify", "program.c"]);
    assert_eq!((status, &done.refused), (Some(0), &None));
    assert_eq!(done.loops.iter().map(|l| l.line).collect::<Vec<_>>(), [5]);
    for w in &done.written {
        let there = std::fs::read_to_string(folder.0.path().join(&w.path)).expect("it is there");
        assert_eq!(there.len() as u64, w.bytes, "{w:?}");
    }
    assert!(done.written.len() >= 2, "{:?}", done.written);
    let checks = done.checks.expect("it was verified");
    assert_eq!(checks[0].outcome, "same");
    let (checked, status) =
        folder.answer::<wire::Verification>(&["verify", "--on", "simulator", "program.c"]);
    assert_eq!(status, Some(0));
    assert_eq!(checked.loops, checks);
    // `n` floats of each array go to the device and `n` of `y` come back
    let check = &checked.loops[0];
    for case in &check.cases {
        let n: u64 = case
            .input
            .split(", ")
            .find_map(|p| p.strip_prefix("n=")?.parse().ok())
            .unwrap_or_else(|| panic!("{case:?}"));
        let ran = case.launches;
        assert_eq!((case.to_device.count, case.to_device.bytes), (2 * ran, 8 * n * ran), "{case:?}");
        assert_eq!((case.from_device.count, case.from_device.bytes), (ran, 4 * n * ran), "{case:?}");
    }
    let sum = |of: fn(&wire::Case) -> u64| check.cases.iter().map(of).sum::<u64>();
    assert!(check.counted.launches > 1, "{check:?}");
    assert_eq!(check.counted.launches, sum(|c| c.launches));
    assert_eq!(check.counted.to_device.bytes, sum(|c| c.to_device.bytes));
}

#[test]
fn several_files_and_a_difference() {
    let folder = Folder::new();
    folder.file("none.c", "int x;\n");
    let (done, status) = folder.answer::<wire::OffloadingOfFiles>(&["offload", "program.c", "none.c"]);
    assert_eq!((status, done.files.len(), done.files[0].loops.len()), (Some(0), 2, 1));
    assert!(done.files[1].refused.is_some());
    let (done, status) =
        folder.answer::<wire::VerificationOfFiles>(&["verify", "--on", "simulator", "program.c", "none.c"]);
    assert_eq!((status, done.files.len(), done.files[0].loops.len()), (Some(0), 2, 1));
    let (done, status) = folder.answer::<wire::Offloading>(&["offload", "--diff", "program.c"]);
    assert_eq!((status, done.written.len()), (Some(0), 0));
    assert!(done.diff.is_some_and(|d| d.starts_with("--- a/program.c\n+++ b/program.c\n@@ ")));
}

#[test]
fn a_program_that_ran() {
    if device::native_compiler(std::path::Path::new("/nowhere")).is_none() {
        eprintln!("SKIPPED: no compiler for C and C++ was found; nothing was run");
        return;
    }
    let folder = Folder::new();
    folder.file(
        "main.cu",
        "__global__ void k(int *a) { a[threadIdx.x] = 1; }\nint main() {\n    int *a, b[4];\n    cudaMalloc(&a, 16);\n    \
         k<<<1, 4>>>(a);\n    cudaMemcpy(b, a, 16, cudaMemcpyDeviceToHost);\n    cudaFree(a);\n    return b[3];\n}\n",
    );
    let output = folder.run(&["run", "main.cu"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let line = said.lines().last().and_then(|l| serde_json::from_str(l).ok()).expect("JSON");
    let ran: wire::Ran = held("run", line);
    let counted = ran.counted.expect("it told");
    assert_eq!((ran.status, counted.launches, counted.kernels[0].threads), (Some(1), 1, 4));
    assert_eq!((counted.copies[0].way.as_str(), counted.copies[0].bytes), ("from_device", 16));
}

#[test]
fn refusals() {
    let folder = Folder::new();
    let (no, status) = folder.answer::<wire::Offloading>(&["offload", "--loop", "9", "program.c"]);
    assert_eq!((status, no.written.len()), (Some(1), 0));
    assert!(no.refused.is_some_and(|why| !why.is_empty()));
    let (no, status) = folder.answer::<wire::Verification>(&["verify", "--loop", "1", "program.c"]);
    assert_eq!((status, no.loops.len()), (Some(1), 0));
    assert!(no.refused.is_some_and(|why| why.contains("line 1")));
    let (no, status) =
        folder.answer::<wire::Transformation>(&["transform", "interchange", "--loop", "9", "program.c"]);
    assert_eq!((status, no.title), (Some(1), None));
    assert!(no.refused.is_some());
    let (no, status) =
        folder.answer::<wire::Transformations>(&["transform", "--list", "--loop", "1", "program.c"]);
    assert_eq!((status, no.transformations.len()), (Some(1), 0));
    let (no, status) = folder.answer::<wire::RulesApplication>(&["rules", "apply", "product", "program.c"]);
    assert_eq!((status, no.ran), (Some(1), false));
    assert!(no.refused.is_some());
    let (no, status) = folder.answer::<wire::Shown>(&["show", "dependences", "--loop", "1", "program.c"]);
    assert_eq!((status, no.page), (Some(1), None));
    assert!(no.refused.is_some());
    // what could not run says nothing that a program would read
    let output = folder.run(&["offload", "missing.c"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
}

#[test]
fn texts_rewritten() {
    let folder = Folder::new();
    let listed = ["transform", "--list", "--loop", "9", "program.c"];
    let (all, _) = folder.answer::<wire::Transformations>(&listed);
    assert!(all.transformations.iter().all(|t| t.title.is_some() != t.refused.is_some()));
    let name = &all.transformations.iter().find(|t| t.title.is_some()).expect("something applies").name;
    let (done, status) =
        folder.answer::<wire::Transformation>(&["transform", name, "--loop", "9", "program.c"]);
    assert_eq!(status, Some(0));
    assert!(done.title.is_some() && done.checked.is_some_and(|c| c.contains("Same results")));
    assert!(done.written[0].text.as_ref().is_some_and(|t| t.contains("void scan") && t != PROGRAM));
    folder.file("masks.c", "unsigned f(unsigned x) {\n    return (x + 1) % 8;\n}\n");
    let rules = ["rules", "apply", "strength-reduction", "--in-place", "masks.c"];
    let (done, status) = folder.answer::<wire::RulesApplication>(&rules);
    assert_eq!((status, done.ran, &done.refused), (Some(0), true, &None));
    assert!(!done.derivation.is_empty() && done.written[0].path == "masks.c");
    assert!(done.counted.is_some_and(|c| c.launches == 0));
}

#[test]
fn rules_that_make_kernels_say_what_ran() {
    let folder = Folder::new();
    let args = ["rules", "apply", "offload", "--function", "saxpy", "program.c"];
    let (done, status) = folder.answer::<wire::RulesApplication>(&args);
    assert_eq!((status, &done.refused), (Some(0), &None));
    let counted = done.counted.expect("it was run");
    assert!(counted.launches > 0 && counted.to_device.bytes > counted.from_device.bytes, "{counted:?}");
}

#[test]
fn pages() {
    let folder = Folder::new();
    let page = folder.file("wrong.md", "# Wrong\n\nNo rules.\n");
    let (checked, _) = folder.answer::<wire::RulesCheck>(&["rules", "check", &page.to_string_lossy()]);
    assert_eq!(checked.pages.len(), 1);
    assert!(!checked.pages[0].findings.is_empty());
    let (all, status) = folder.answer::<wire::RulesList>(&["rules", "list"]);
    assert_eq!(status, Some(0));
    assert!(all.systems.iter().any(|s| s.system == "strength-reduction"));
    for what in ["dependences", "calls", "terms"] {
        let (shown, status) = folder.answer::<wire::Shown>(&["show", what, "program.c"]);
        assert_eq!((status, shown.what.as_str()), (Some(0), what));
        assert!(shown.page.is_some_and(|p| !p.markdown.is_empty()));
    }
    let (codes, _) = folder.answer::<wire::Codes>(&["explain"]);
    for c in &codes.codes {
        assert!(!c.summary.is_empty());
    }
    let (one, _) = folder.answer::<wire::Explanation>(&["explain", &codes.codes[0].code]);
    assert!(one.markdown.starts_with("# "), "{}", one.markdown);
}

#[test]
fn measurements() {
    let folder = Folder::new();
    let (bench, _) = folder.answer::<wire::Bench>(&["bench", "program.c"]);
    assert_eq!(bench.totals.loops, 4);
    assert_eq!(bench.totals.offloaded, bench.files[0].offloads.len() as u64);
    assert_eq!(bench.totals.same, 2, "{bench:?}");
}

/// Each command that the table of answers has takes `--format json`: so says the program's own help.
#[test]
fn the_table_names_commands_that_answer() {
    for answer in wire::answers().iter().filter(|a| a.asker == wire::Asker::CommandLine) {
        let words = answer.name.split(' ').filter(|w| w.chars().all(|c| c.is_ascii_lowercase()));
        let help = server().args(words).arg("--help").output().expect("help");
        let text = String::from_utf8_lossy(&help.stdout).into_owned();
        assert!(help.status.success() && text.contains("json"), "{}: {text}", answer.name);
    }
}

#[test]
fn what_editors_are_answered() {
    let mut client = Client::start(&full_caps());
    let told = client.init["capabilities"]["experimental"]["warpwright"].clone();
    assert_eq!(held::<wire::ServerContract>("initialize", told).contract, wire::VERSION);
    let uri = "file:///program.c";
    client.open(uri, PROGRAM);
    let mut ask = |command: &str, mut argument: Value| {
        argument["uri"] = json!(uri);
        held::<wire::Target>(command, argument.clone());
        let params = json!({"command": format!("warpwright.{command}"), "arguments": [argument]});
        client.request("workspace/executeCommand", params)
    };
    let shown: wire::LoopShown = held("showDependences", ask("showDependences", json!({"line": 8})));
    assert_eq!((shown.report.line, shown.report.verdict.as_str()), (9, "sequential"));
    let page: wire::Page = held("showCallGraph", ask("showCallGraph", json!({})));
    assert!(page.dot.is_some());
    held::<wire::Page>("showTerms", ask("showTerms", json!({"line": 8})));
    held::<wire::Text>("explain", ask("explain", json!({"line": 8})));
    let code: wire::Text = held("explain", ask("explain", json!({"code": "carried-dependence"})));
    assert_eq!(code.title, "carried-dependence");
    let checks: wire::Checks = held("verify", ask("verify", json!({"line": 4})));
    assert_eq!(checks.reports[0].outcome, "same");
    let systems: wire::RuleSystems = held("listRules", ask("listRules", json!({})));
    assert!(systems.systems.len() > 5);
    let argument = json!({"line": 4, "system": "offload", "preview": true});
    let told: wire::RulesApplied = held("applyRules", ask("applyRules", argument));
    assert!(told.applied.is_none() && !told.files.is_empty(), "{told:?}");
    let done: wire::EditApplied = held("mark", ask("offload", json!({"line": 13})));
    assert!(done.applied);
    let params = json!({"textDocument": {"uri": uri}});
    let text: wire::DocumentText = held("documentText", client.request("warpwright/documentText", params));
    assert_eq!(text.text, PROGRAM);
}
