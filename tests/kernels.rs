//! `warpwright simulate` by its output: the shipped kernels' counts, launches from every source, and what goes wrong.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn warpwright(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_warpwright")).args(args).output().expect("it starts")
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/cuda")
}

/// The kernels of a text's report, and the exit status.
fn simulate(text: &str, more: &[&str]) -> (Vec<Value>, i32) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("k.cu");
    std::fs::write(&file, text).expect("written");
    let file = file.to_string_lossy().into_owned();
    let mut args = vec!["simulate", "--format", "json"];
    args.extend(more);
    args.push(&file);
    report(&args)
}

fn report(args: &[&str]) -> (Vec<Value>, i32) {
    let out = warpwright(args);
    let stdout = String::from_utf8_lossy(&out.stdout);
    let json: Value = serde_json::from_str(&stdout).unwrap_or_else(|e| panic!("{e}: {stdout}{out:?}"));
    let kernels = json["files"][0]["kernels"].as_array().expect("kernels").clone();
    (kernels, out.status.code().expect("an exit status"))
}

#[test]
fn every_shipped_kernel_runs_and_only_the_printed_last_warp_is_wrong() {
    let mut kernels = 0;
    for entry in std::fs::read_dir(fixtures()).expect("the fixtures") {
        let path = entry.expect("an entry").path();
        if path.file_name().is_some_and(|n| n.to_string_lossy().starts_with("defects")) {
            continue;
        }
        let (list, _) = report(&["simulate", "--format", "json", &path.to_string_lossy()]);
        for k in &list {
            kernels += 1;
            assert_eq!(k["refused"], Value::Null, "{k:#}");
            assert_eq!(k["exact"], true, "{}", k["name"]);
            assert_eq!(k["launch_from"], "comment");
            let wrong = !k["races"].as_array().expect("races").is_empty();
            assert_eq!(wrong, k["name"] == "tree_last_warp_printed", "{}: {:#}", k["name"], k["races"]);
            assert!(k["problems"].as_array().expect("problems").is_empty(), "{k:#}");
        }
    }
    assert!(kernels >= 27, "{kernels}");
}

/// `defects*.cu`: each wrong kernel shows what its comment says, each mended one nothing.
#[test]
fn defects_are_seen_and_their_repairs_are_clean() {
    let mut seen = 0;
    for entry in std::fs::read_dir(fixtures()).expect("the fixtures") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        // launches of billions of threads are not run
        if name.starts_with("defects") && name != "defects_large.cu" && name != "defects_unlaunched.cu" {
            seen += defects_of(&path);
        }
    }
    assert!(seen >= 100, "{seen}");
}

fn defects_of(path: &Path) -> usize {
    let text = std::fs::read_to_string(path).expect("the file");
    let (kernels, code) = report(&["simulate", "--format", "json", &path.to_string_lossy()]);
    assert_eq!(code, text.contains("// wrong: ") as i32);
    // the comment before each kernel
    let mut expected = Vec::new();
    let mut wrong: Option<&str> = None;
    for line in text.lines() {
        if let Some(w) = line.strip_prefix("// wrong: ") {
            wrong = Some(w);
        } else if let Some(rest) = line.split("__global__ void ").nth(1) {
            expected.push((rest.split('(').next().expect("a name").to_owned(), wrong.take()));
        }
    }
    assert_eq!(kernels.len(), expected.len());
    for (k, (name, wrong)) in kernels.iter().zip(&expected) {
        assert_eq!(k["name"], **name);
        assert_eq!(k["refused"], Value::Null, "{k:#}");
        let (races, problems) =
            (k["races"].as_array().expect("races"), k["problems"].as_array().expect("problems"));
        match wrong {
            None => assert!(races.is_empty() && problems.is_empty(), "{k:#}"),
            Some("race") => assert!(!races.is_empty(), "{k:#}"),
            Some(w) => match w.strip_prefix("missing ") {
                Some(m) => assert!(!races.is_empty() && races.iter().all(|r| r["missing"] == m), "{k:#}"),
                None => assert!(problems.iter().any(|p| p["kind"] == **w), "{k:#}"),
            },
        }
    }
    kernels.len()
}

/// What is proved of races, beside what runs show: nothing called free shows one, what is told is seen at those lines, and of
/// most kernels something is said.
#[test]
fn races_of_the_shipped_kernels_are_proved_or_told() {
    let (mut free, mut told) = (0, 0);
    for entry in std::fs::read_dir(fixtures()).expect("the fixtures") {
        let path = entry.expect("an entry").path();
        // launches of billions of threads are not run
        if path.ends_with("defects_large.cu") {
            continue;
        }
        let path = path.to_string_lossy();
        let (proved, _) = report(&["analyze", "--format", "json", "--fail-on", "never", &path]);
        let (run, _) = report(&["simulate", "--format", "json", &path]);
        for (p, r) in proved.iter().zip(&run) {
            let (name, seen) = (&p["name"], r["races"].as_array().expect("races"));
            let verdict = p["race_verdict"]["verdict"].as_str().expect("a verdict");
            match verdict {
                "race-free" => {
                    assert!(seen.is_empty() && p["races"] == serde_json::json!([]), "{name} {seen:#?}");
                    let problems = r["problems"].as_array().expect("problems");
                    assert!(problems.iter().all(|x| x["kind"] != "barrier-divergence"), "{name}");
                    free += 1;
                }
                "race" => {
                    for x in p["races"].as_array().expect("races") {
                        let same = |y: &&Value| {
                            // the widest reach is told; a run may have met threads that are nearer first
                            let reach = |v: &Value| match v["missing"].as_str() {
                                Some("syncwarp") => 0,
                                Some("barrier") => 1,
                                None => 2,
                                _ => 3,
                            };
                            let fits = reach(y) == reach(x) || reach(x) < 3 && reach(y) < reach(x);
                            fits && ["line", "other_line", "space"].iter().all(|k| x[k] == y[k])
                        };
                        // a run ends where memory is read that nobody wrote in this order
                        let ended = r["problems"].as_array().is_some_and(|p| {
                            p.iter().any(|x| x["kind"] == "uninitialised") && r["completed"] == false
                        });
                        assert!(ended || seen.iter().any(|y| same(&y)), "{name} {x:#} {seen:#?}");
                        told += 1;
                    }
                }
                _ => {
                    assert_eq!(p["races"], Value::Null, "{name}");
                    assert!(p["race_verdict"]["reason"].is_string(), "{name}");
                }
            }
            let outside = p["out_of_range"].as_array().map_or(0, Vec::len) > 0;
            let fell =
                r["problems"].as_array().expect("problems").iter().any(|x| x["kind"] == "out-of-range");
            assert_eq!(outside, fell, "{name}");
        }
    }
    assert!(free >= 36 && told >= 10, "{free} {told}");
}

/// The store of a function that is given two arrays races in both, and both are told.
#[test]
fn one_store_races_in_every_array_it_is_given() {
    let text = "\
__device__ void put(int *p, int v) { p[0] = v; }
// warpwright: launch(1, 64, a[64])
__global__ void k(int *a) {
    __shared__ int s[64];
    put(s, threadIdx.x);
    put(a, threadIdx.x);
}
";
    let (kernels, _) = simulate(text, &[]);
    let races = kernels[0]["races"].as_array().expect("races");
    let mut arrays: Vec<&str> = races.iter().filter_map(|r| r["array"].as_str()).collect();
    arrays.sort();
    assert_eq!(arrays, ["a", "s"], "{races:#?}");
}

/// What is said of the shipped kernels as one types: each defect that is no matter of values has a finding, its repair and
/// the kernels beside it have no error and nothing said of races, ranges, atomics or fences.
#[test]
fn findings_stand_on_wrong_kernels_and_on_no_others() {
    let grave = [
        "shared-race",
        "global-race",
        "out-of-range",
        "missing-atomic",
        "missing-fence",
        "divergent-barrier",
        "index-overflow",
        "constant-write",
    ];
    let (mut silent, mut told) = (0, 0);
    for entry in std::fs::read_dir(fixtures()).expect("the fixtures") {
        let path = entry.expect("an entry").path();
        let text = std::fs::read_to_string(&path).expect("the file");
        let out = warpwright(&["analyze", "--format", "json", "--fail-on", "never", &path.to_string_lossy()]);
        let json: Value = serde_json::from_slice(&out.stdout).expect("a report");
        let said: Vec<(usize, String)> = json["files"][0]["diagnostics"]
            .as_array()
            .expect("diagnostics")
            .iter()
            .map(|d| {
                (d["line"].as_u64().expect("a line") as usize, d["code"].as_str().expect("a code").to_owned())
            })
            .filter(|(_, code)| grave.contains(&code.as_str()))
            .collect();
        let lines: Vec<&str> = text.lines().collect();
        let starts: Vec<usize> =
            (0..lines.len()).filter(|&n| lines[n].contains("__global__ void ")).map(|n| n + 1).collect();
        for (k, &from) in starts.iter().enumerate() {
            let to = starts.get(k + 1).copied().unwrap_or(usize::MAX);
            let name = lines[from - 1].split("__global__ void ").nth(1).and_then(|r| r.split('(').next());
            let here: Vec<_> = said.iter().filter(|(l, _)| (from..to).contains(l)).collect();
            let above = lines[..from - 1].iter().rev().take_while(|l| l.starts_with("//"));
            let wrong =
                above.clone().any(|l| l.starts_with("// wrong: ")) || name == Some("tree_last_warp_printed");
            // what a shuffle reads and what memory holds are matters of a run
            let of_values = ["// wrong: shuffle", "// wrong: uninitialised"];
            if above.clone().any(|l| of_values.contains(l)) {
                continue;
            }
            assert_eq!(!here.is_empty(), wrong, "{name:?}: {here:?}");
            told += wrong as usize;
            silent += !wrong as usize;
        }
    }
    assert!(told >= 10 && silent >= 36, "{told} {silent}");
}

/// A barrier called redundant can go: without it a run shows no race.
#[test]
fn redundant_barriers_can_go() {
    let path = fixtures().join("scan.cu");
    let text = std::fs::read_to_string(&path).expect("the file");
    let (kernels, _) =
        report(&["analyze", "--format", "json", "--fail-on", "never", &path.to_string_lossy()]);
    let (mut gone, mut kept) = (0, 0);
    for k in &kernels {
        for b in k["barriers"].as_array().expect("barriers") {
            let line = b["line"].as_u64().expect("a line") as usize - 1;
            let without: Vec<String> = text
                .lines()
                .enumerate()
                .map(|(n, l)| if n == line { l.replace("__syncthreads();", ";") } else { l.to_owned() })
                .collect();
            let name = k["name"].as_str().expect("a name");
            let (runs, _) = simulate(&without.join("\n"), &["--kernel", name]);
            // a thread may also come to what nobody has written yet
            let nothing = |k: &str| runs[0][k].as_array().expect("a list").is_empty();
            let clean = nothing("races") && nothing("problems");
            match b["redundant"].as_bool() {
                Some(true) => {
                    assert!(clean, "{b:#}");
                    gone += 1;
                }
                Some(false) => {
                    assert!(!clean, "{b:#}");
                    kept += 1;
                }
                None => {}
            }
        }
    }
    assert!(gone >= 2 && kept >= 5, "{gone} {kept}");
}

#[test]
fn counts_stand_at_their_lines() {
    let text = "extern \"C\" __global__ void k(const float *a, float *b) {\n\
        __shared__ float s[64];\n\
        int t = threadIdx.x;\n\
        s[t] = a[2 * t];\n\
        __syncthreads();\n\
        if (t % 2 == 0)\n\
        b[t] = s[(2 * t) % 64];\n\
        }\n";
    let (kernels, code) = simulate(text, &["--launch", "k=1,64"]);
    assert_eq!(code, 0);
    let k = &kernels[0];
    let find = |array: &str, rw: &str| {
        let list = k["accesses"].as_array().expect("accesses");
        list.iter().find(|a| a["array"] == array && a["rw"] == rw).expect("the access").clone()
    };
    let a = find("a", "r");
    // 32 lanes read every second of 64 floats: 8 sectors where 4 could hold them
    assert_eq!((&a["line"], &a["space"], &a["bytes"]), (&4.into(), &"global".into(), &4.into()));
    assert_eq!((&a["sectors"], &a["ideal"], &a["requests"]), (&8.into(), &4.into(), &2.into()));
    let s = find("s", "r");
    // 16 lanes, 4 words apart: banks 0, 4, … 28, two words each
    assert_eq!((&s["line"], &s["ways"], &s["active"]), (&7.into(), &2.into(), &16.into()));
    let branch = &k["branches"][0];
    assert_eq!(
        (&branch["line"], &branch["kind"], &branch["divergent"]),
        (&6.into(), &"if".into(), &2.into())
    );
    let barrier = &k["barriers"][0];
    assert_eq!((&barrier["line"], &barrier["opened"], &barrier["idle"]), (&5.into(), &1.into(), &0.into()));
}

#[test]
fn launches_come_from_options_comments_and_the_file() {
    let kernel = "extern \"C\" __global__ void k(int *a, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) a[i] = i; }\n";
    let host = "void host(int *d) { const int n = 300; dim3 block(64); dim3 grid((n + block.x - 1) / block.x); k<<<grid, block>>>(d, n); }\n";
    let from = |text: &str, more: &[&str]| {
        let (kernels, code) = simulate(text, more);
        let k = &kernels[0];
        (k["launch_from"].clone(), k["grid"][0].clone(), k["block"][0].clone(), code)
    };
    assert_eq!(from(&format!("{kernel}{host}"), &[]), ("launch".into(), 5.into(), 64.into(), 0));
    let commented = format!("// warpwright: launch(2, 32)\n{kernel}{host}");
    assert_eq!(from(&commented, &[]), ("comment".into(), 2.into(), 32.into(), 0));
    assert_eq!(from(&commented, &["--launch", "k=3,96"]), ("option".into(), 3.into(), 96.into(), 0));
    // nobody says: it is not run, and that is said
    let (kernels, code) = simulate(kernel, &[]);
    assert_eq!(code, 1);
    assert!(kernels[0]["refused"].as_str().is_some_and(|r| r.contains("launch")), "{:#}", kernels[0]);
    for wrong in [["--launch", "k=3"], ["--launch", "k"], ["--launch", "other=1,1"], ["--kernel", "other"]] {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("k.cu");
        std::fs::write(&file, kernel).expect("written");
        let file = file.to_string_lossy().into_owned();
        let out = warpwright(&["simulate", wrong[0], wrong[1], &file]);
        assert_eq!(out.status.code(), Some(2), "{wrong:?}");
    }
}

#[test]
fn what_goes_wrong_is_told_with_threads_and_lines() {
    let text = "extern \"C\" __global__ void k(int *a, int n) {\n\
        int i = blockIdx.x * blockDim.x + threadIdx.x;\n\
        a[i] = n;\n\
        }\n";
    let (kernels, code) = simulate(text, &["--launch", "k=2,64,n=100,a[100]"]);
    assert_eq!(code, 1);
    let problem = &kernels[0]["problems"][0];
    assert_eq!((&problem["kind"], &problem["line"]), (&"out-of-range".into(), &3.into()));
    let text = problem["text"].as_str().expect("words");
    assert!(text.contains("of block 1") && text.contains("of 100 elements"), "{text}");
    assert_eq!(kernels[0]["completed"], false);
}

#[test]
fn analysis_takes_a_launch_and_says_what_it_does_not_know() {
    let text = "extern \"C\" __global__ void k(const float *a, float *b, int n) {\n\
        int t = threadIdx.x;\n\
        if (t < n)\n\
        b[t] = a[32 * t];\n\
        }\n";
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("k.cu");
    std::fs::write(&file, text).expect("written");
    let file = file.to_string_lossy().into_owned();
    let (kernels, _) = report(&["analyze", "--format", "json", &file]);
    let k = &kernels[0];
    // it names no block: with one there is no race
    assert_eq!((&k["block"], &k["races"]), (&Value::Null, &serde_json::json!([])));
    let shapes = k["race_verdict"]["shapes"].as_str().expect("for which launches");
    assert!(shapes.starts_with("every launch of one block of one dimension"), "{shapes}");
    assert_eq!(
        (&k["branches"][0]["uniform"], &k["branches"][0]["active_lanes"]),
        (&"divergent".into(), &Value::Null)
    );
    // what holds of every launch: least and most
    let a = k["accesses"].as_array().expect("accesses").iter().find(|a| a["array"] == "a").expect("the read");
    assert_eq!((&a["sectors"][1], &a["exact"]), (&32.into(), &false.into()));
    assert_eq!(
        (&a["pattern"], &a["assumes"]),
        (&"strided".into(), &"blocks a multiple of 32 threads wide".into())
    );
    let (kernels, _) = report(&["analyze", "--format", "json", "--launch", "k=1,64,n=40", &file]);
    let k = &kernels[0];
    assert_eq!(k["block"], serde_json::json!([64, 1, 1]));
    let lanes =
        serde_json::json!([{"active": 32, "taken": 8, "times": 1}, {"active": 32, "taken": 32, "times": 1}]);
    assert_eq!(k["branches"][0]["active_lanes"], lanes);
    let a = k["accesses"].as_array().expect("accesses").iter().find(|a| a["array"] == "a").expect("the read");
    assert_eq!((&a["sectors"], &a["ideal"], &a["exact"]), (&32.into(), &4.into(), &true.into()));
}

/// A launch without blocks or threads starts nothing: the kernel is judged as if nobody had said how it is launched.
#[test]
fn a_launch_of_nothing_says_nothing() {
    for shape in ["0, 64", "2, 0", "dim3(4, 0), 32"] {
        let text = format!(
            "__global__ void k(int *a, int n) {{\n    if (threadIdx.x < 7) {{\n        a[blockIdx.x] = n;\n        __syncthreads();\n    }}\n}}\nvoid run(int *a) {{ k<<<{shape}>>>(a, 3); }}\n"
        );
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("k.cu");
        std::fs::write(&file, text).expect("written");
        let out = warpwright(&["analyze", "--format", "json", &file.to_string_lossy()]);
        let said = String::from_utf8_lossy(&out.stdout);
        let json: Value = serde_json::from_str(&said).unwrap_or_else(|e| panic!("{shape}: {e}: {out:?}"));
        let kernel = &json["files"][0]["kernels"][0];
        assert_eq!(kernel["barriers"][0]["verdict"], "divergent", "{shape}: {kernel:#}");
    }
}
