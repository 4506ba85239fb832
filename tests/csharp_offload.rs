//! Loops of C# offloaded, compiled by mono's compiler and run by mono: on the stand-in for a driver, without a driver, and with
//! each call of the driver failing once. What is printed is what the program as it was written prints
//! (`tests/csharp_offload/Calls.cs` calls every method with many arguments: exceptions and what arrays hold afterwards count).
#![cfg(target_os = "linux")]

#[path = "support/standin.rs"]
mod standin;
mod support;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::{json, Value};
use standin::StandIn;
use support::{apply, full_caps, server, Client};
use tempfile::TempDir;

/// What mono's compiler, about C# 7, does not take: written all the same, and not run here.
const NEWER: [&str; 2] = ["parts.cs", "places.cs"];

fn has_mono() -> bool {
    static KNOWN: OnceLock<bool> = OnceLock::new();
    *KNOWN.get_or_init(|| {
        let there = |tool: &str| Command::new(tool).arg("--version").output().is_ok();
        let both = there("mcs") && there("mono");
        if !both {
            eprintln!("not run: `mcs` and `mono` are not installed (`cargo xtask test` installs them)");
        }
        both
    })
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// A folder for programs, and the stand-in.
struct Here {
    folder: TempDir,
    standin: StandIn,
}

/// How a program ended.
#[derive(PartialEq, Eq, Debug)]
struct Ran {
    said: String,
    counts: Value,
}

impl Here {
    fn new() -> Here {
        let folder = tempfile::tempdir().expect("a folder");
        Here { folder, standin: StandIn::new() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Offloads loops of a file into `out`; what is said where nothing is written.
    fn offload(&self, file: &Path, lines: &[u64]) -> Result<(), String> {
        let _ = std::fs::remove_dir_all(self.path("out"));
        let mut command = server();
        command.arg("offload").arg(file).arg("--out").arg(self.path("out"));
        for line in lines {
            command.arg("--loop").arg(line.to_string());
        }
        let ran = command.output().expect("the server runs");
        match ran.status.success() {
            true => Ok(()),
            false => Err(String::from_utf8_lossy(&ran.stderr).into_owned()),
        }
    }

    /// Compiles files to a program; a warning is an error where `strict`, but for what fixtures have on purpose.
    fn compile(&self, program: &str, files: &[PathBuf], strict: bool) {
        let mut command = Command::new("mcs");
        command.args(["-nowarn:0649,0169,0219", &format!("-out:{}", self.path(program).display())]);
        if strict {
            command.args(["-warnaserror", "-warn:4"]);
        }
        let ran = command.args(files).output().expect("mcs runs");
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(ran.status.success(), "{files:?}: {said}");
    }

    /// The files that an offload wrote.
    fn written(&self) -> Vec<PathBuf> {
        let all = std::fs::read_dir(self.path("out")).expect("written").flatten().map(|e| e.path());
        all.filter(|p| p.extension().is_some_and(|e| e == "cs")).collect()
    }

    fn run(&self, program: &str, has_driver: bool, fails: Option<u64>, words: &[&str]) -> Ran {
        let counts = self.path("counts.json");
        let _ = std::fs::remove_file(&counts);
        let mut command = Command::new("mono");
        command.arg(self.path(program)).args(words).env_remove("LD_LIBRARY_PATH");
        if has_driver {
            command.env("LD_LIBRARY_PATH", self.standin.folder()).env("WARPWRIGHT_STANDIN_COUNTS", &counts);
        }
        if let Some(k) = fails {
            command.env("WARPWRIGHT_STANDIN_FAIL", k.to_string());
        }
        let ran = command.output().expect("mono runs");
        let errors = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(ran.status.success(), "{program}: {errors}");
        let counts = std::fs::read_to_string(&counts).ok().and_then(|t| serde_json::from_str(&t).ok());
        Ran { said: String::from_utf8_lossy(&ran.stdout).into_owned(), counts: counts.unwrap_or(Value::Null) }
    }
}

/// Loops of a file that are parallel, or hold kernels that share their arrays: line, and whether an offload is promised.
fn loops(file: &Path) -> Vec<(u64, bool)> {
    let run = server().args(["analyze", "--format", "json"]).arg(file).output().expect("the server runs");
    let said: Value = serde_json::from_slice(&run.stdout).expect("JSON");
    let all = said["files"][0]["loops"].as_array().cloned().unwrap_or_default();
    let of = |l: &Value| {
        let is_parallel = matches!(l["verdict"].as_str(), Some("independent" | "reduction"));
        let is_promised = l["offload"]["possible"].as_bool();
        let known = is_parallel || is_promised == Some(true);
        Some((l["line"].as_u64().filter(|_| known)?, is_promised?))
    };
    all.iter().filter_map(of).collect()
}

fn calls() -> PathBuf {
    root().join("tests/csharp_offload/Calls.cs")
}

/// Sums whose parts are put together in another order, and functions of which a GPU's last bits may differ.
fn is_rounded(file: &str) -> bool {
    ["black_scholes.cs", "mathematics.cs", "matrices.cs", "sums.cs"].contains(&file)
}

fn same_as_written(files: &[&str]) {
    if !has_mono() {
        return;
    }
    let here = Here::new();
    let (mut wrong, mut ran) = (Vec::new(), 0);
    for name in files {
        let file = root().join("fixtures/csharp").join(name);
        let words: &[&str] = if is_rounded(name) { &["rounded"] } else { &[] };
        here.compile("plain.exe", &[file.clone(), calls()], false);
        let plain = here.run("plain.exe", false, None, words).said;
        for (line, is_promised) in loops(&file) {
            match (here.offload(&file, &[line]), is_promised) {
                (Ok(()), true) => {}
                (Err(_), false) => continue,
                (done, _) => {
                    wrong.push(format!("{name}:{line}: promised: {is_promised}, {done:?}"));
                    continue;
                }
            }
            let all: Vec<PathBuf> = here.written().into_iter().chain([calls()]).collect();
            here.compile("gpu.exe", &all, true);
            let gpu = here.run("gpu.exe", true, None, words);
            if gpu.said != plain {
                let differs = plain.lines().zip(gpu.said.lines()).find(|(a, b)| a != b);
                wrong.push(format!("{name}:{line}: {differs:?}"));
            }
            if gpu.counts["launches"].as_u64().is_none_or(|n| n == 0) {
                wrong.push(format!("{name}:{line}: no kernel ran: {}", gpu.counts));
            }
            if gpu.counts["left"]["allocations"] != 0 {
                wrong.push(format!("{name}:{line}: memory is left: {}", gpu.counts["left"]));
            }
            ran += 1;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(ran >= files.len(), "{ran} loops of {} files", files.len());
}

#[test]
fn loops_on_arrays_of_one_dimension_compute_what_they_did() {
    same_as_written(&["bitonic.cs", "black_scholes.cs", "histogram.cs", "kmeans.cs", "names.cs"]);
}

#[test]
fn loops_on_rectangles_compute_what_they_did() {
    same_as_written(&["blur.cs", "matrices.cs"]);
}

#[test]
fn loops_of_objects_narrow_numbers_and_exceptions_compute_what_they_did() {
    same_as_written(&["accessors.cs", "effects.cs", "narrow.cs", "sums.cs", "throwing.cs"]);
}

#[test]
fn loops_on_spans_compute_what_they_did() {
    same_as_written(&["spans.cs"]);
}

#[test]
fn loops_on_structures_compute_what_they_did() {
    same_as_written(&["particles.cs", "which_member.cs"]);
}

#[test]
fn loops_on_arrays_of_arrays_compute_what_they_did() {
    same_as_written(&["jagged.cs"]);
}

#[test]
fn loops_that_compute_with_every_kind_of_number_compute_what_they_did() {
    same_as_written(&["calls.cs", "checks.cs", "mathematics.cs", "several.cs"]);
}

/// What mcs cannot compile is written and read again.
#[test]
fn programs_in_newer_words_are_written() {
    let here = Here::new();
    for name in NEWER {
        let file = root().join("fixtures/csharp").join(name);
        for (line, is_promised) in loops(&file) {
            assert_eq!(here.offload(&file, &[line]).is_ok(), is_promised, "{name}:{line}");
        }
    }
}

/// Random methods, of which everything that a kernel is promised for is offloaded at once: 40 of them, or as many as
/// `WARPWRIGHT_CSHARP_OFFLOADS` says, from the seed `WARPWRIGHT_CSHARP_FROM` on.
#[test]
fn random_methods_compute_what_they_did() {
    if !has_mono() {
        return;
    }
    let number = |variable: &str, or: u64| {
        std::env::var(variable)
            .map_or(or, |n| n.parse().unwrap_or_else(|_| panic!("{variable} is no number")))
    };
    let (from, count) = (number("WARPWRIGHT_CSHARP_FROM", 0), number("WARPWRIGHT_CSHARP_OFFLOADS", 40));
    let here = Here::new();
    let (mut wrong, mut offloaded, mut launches) = (Vec::new(), 0, 0);
    for first in (from..from + count).step_by(20) {
        let classes =
            (first..from + count).take(20).map(|s| testkit::csharp::generate(s, 12).class(&format!("T{s}")));
        let text: String = std::iter::once("using System;\n".to_owned()).chain(classes).collect();
        let file = here.path("random.cs");
        std::fs::write(&file, text).expect("written");
        here.compile("plain.exe", &[file.clone(), calls()], false);
        let lines: Vec<u64> = loops(&file).into_iter().filter(|l| l.1).map(|l| l.0).collect();
        if let Err(why) = here.offload(&file, &lines) {
            wrong.push(format!("seeds from {first}: {why}"));
            continue;
        }
        let all: Vec<PathBuf> = here.written().into_iter().chain([calls()]).collect();
        here.compile("gpu.exe", &all, false);
        let words = ["rounded", "small"];
        let (plain, gpu) =
            (here.run("plain.exe", false, None, &words), here.run("gpu.exe", true, None, &words));
        let differ = plain.said.lines().zip(gpu.said.lines()).filter(|(a, b)| a != b);
        wrong.extend(differ.take(3).map(|(a, b)| format!("{a}\n{b}")));
        offloaded += all.len() as u64 - 3;
        launches += gpu.counts["launches"].as_u64().unwrap_or(0);
    }
    eprintln!("{count} methods from seed {from} on: {offloaded} offloads, {launches} launches");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(offloaded >= count / 4 && launches >= count, "{offloaded} offloads, {launches} launches");
}

const BITONIC: &str = "\
using System;

static class Program
{
    static void Main(string[] words)
    {
        foreach (string word in words)
        {
            int n = int.Parse(word);
            var a = new int[n];
            uint x = 7;
            for (int i = 0; i < n; i++)
            {
                x = x * 1664525u + 1013904223u;
                a[i] = (int)x;
            }
            var sorted = (int[])a.Clone();
            Array.Sort(sorted);
            string end = \"done\";
            try { typeof(Bitonic).GetMethod(\"Sort\", (System.Reflection.BindingFlags)(-1)).Invoke(null, new object[] { a }); }
            catch (Exception e) { end = e.InnerException.GetType().Name; }
            bool same = true;
            foreach (int k in a)
                end += \" \" + k;
            for (int i = 0; i < n; i++)
                same &= a[i] == sorted[i];
            Console.WriteLine(n + \" \" + same + \" \" + end);
        }
    }
}
";

/// F1.9: sizes that are powers of two are sorted, others leave the original's exception and array.
#[test]
fn bitonic_sort_sorts() {
    if !has_mono() {
        return;
    }
    let here = Here::new();
    let file = root().join("fixtures/csharp/bitonic.cs");
    std::fs::write(here.path("Program.cs"), BITONIC).expect("written");
    here.compile("plain.exe", &[file.clone(), here.path("Program.cs")], false);
    here.offload(&file, &[10]).expect("offloaded");
    let all: Vec<PathBuf> = here.written().into_iter().chain([here.path("Program.cs")]).collect();
    here.compile("gpu.exe", &all, true);
    let sizes = ["16", "32", "64", "128", "256", "512", "1024", "3", "100", "1000"];
    let (plain, gpu) = (here.run("plain.exe", false, None, &sizes), here.run("gpu.exe", true, None, &sizes));
    assert_eq!(plain.said, gpu.said);
    let sorted = gpu.said.lines().filter(|l| l.contains(" True done ")).count();
    let thrown = gpu.said.lines().filter(|l| l.contains("IndexOutOfRangeException")).count();
    assert_eq!((sorted, thrown), (7, 3), "{}", gpu.said);
    // one launch a round, but where the first fault leaves all to the loop itself
    assert!(gpu.counts["launches"].as_u64().is_some_and(|n| n >= 7 * 10), "{}", gpu.counts);

    // both host loops around it: the array goes there and back once, with the word that tells of faults
    here.offload(&file, &[8]).expect("offloaded");
    let all: Vec<PathBuf> = here.written().into_iter().chain([here.path("Program.cs")]).collect();
    here.compile("whole.exe", &all, true);
    let whole = here.run("whole.exe", true, None, &sizes);
    assert_eq!(plain.said, whole.said);
    let called = |name: &str| whole.counts["calls"][name].as_u64();
    assert_eq!(called("nvrtcCompileProgram"), Some(1));
    assert_eq!(called("cuInit"), Some(1));
    assert_eq!(called("cuMemcpyHtoD_v2"), Some(2 * 10), "{}", whole.counts);
    // of those that fault nothing comes back but that word
    assert_eq!(called("cuMemcpyDtoH_v2"), Some(2 * 7 + 3), "{}", whole.counts);
    assert_eq!(whole.counts["left"]["allocations"], 0);
}

/// Without a driver, and where any one call of it fails, the loops run as they were written, and nothing is left on the device.
#[test]
fn whatever_fails_the_loop_runs() {
    if !has_mono() {
        return;
    }
    let here = Here::new();
    let text = "\
using System;

static class Program
{
    static int Work(int[] a, int[] b, float[] c, double[][] d, Span<short> e)
    {
        int s = 0;
        for (int i = 0; i < a.Length; i++)
            a[b[i]] += 3;
        for (int i = 0; i < c.Length; i++)
            c[i] = c[i] * 0.5f + 1;
        for (int i = 0; i < a.Length; i++)
            s += a[i] * 31;
        for (int i = 0; i < d.Length; i++)
            for (int j = 0; j < d[i].Length; j++)
                d[i][j] += Math.Max(i, j) * 0.5;
        for (int i = 0; i < e.Length; i++)
            e[i] += (short)(a[i % 5] * 4);
        return s;
    }

    static void Main()
    {
        var a = new int[300];
        var b = new int[300];
        var c = new float[70];
        for (int i = 0; i < a.Length; i++)
            b[i] = i * 7 % 300;
        var d = new double[9][];
        for (int i = 0; i < d.Length; i++)
            d[i] = new double[i % 4 + 1];
        var e = new short[50];
        int s = Work(a, b, c, d, new Span<short>(e, 3, 40));
        Console.WriteLine(s + \" \" + c[5] + \" \" + a[7] + \" \" + a[299]);
        foreach (double[] row in d)
            Console.WriteLine(string.Join(\" \", row));
        Console.WriteLine(string.Join(\" \", e));
    }
}
";
    std::fs::write(here.path("program.cs"), text).expect("written");
    here.compile("plain.exe", &[here.path("program.cs")], false);
    here.offload(&here.path("program.cs"), &[8, 10, 12, 14, 17]).expect("offloaded");
    here.compile("gpu.exe", &here.written(), true);
    let plain = here.run("plain.exe", false, None, &[]).said;
    assert_eq!(here.run("gpu.exe", false, None, &[]).said, plain, "without a driver");
    let all = here.run("gpu.exe", true, None, &[]);
    assert_eq!(all.said, plain);
    assert_eq!(all.counts["launches"], 5, "{}", all.counts);
    let calls: u64 = all.counts["calls"].as_object().expect("calls").values().filter_map(Value::as_u64).sum();
    assert!(calls > 40, "{calls}");
    for k in 1..=calls {
        let ran = here.run("gpu.exe", true, Some(k), &[]);
        assert_eq!(ran.said, plain, "call {k} fails");
        let freed = ran.counts["calls"]["cuMemFree_v2"].as_u64();
        // the one call that cannot give memory back is the one that fails
        let most = u64::from(freed.is_some() && ran.counts["left"]["allocations"] == 1);
        assert!(ran.counts["left"]["allocations"].as_u64() <= Some(most), "call {k}: {}", ran.counts);
    }
}

/// The action in the editor: the call in the document, the method and the binding in new files; a binding that is there is left.
#[test]
fn the_action_creates_the_files() {
    let here = Here::new();
    let (text, uri) = (
        std::fs::read_to_string(root().join("fixtures/csharp/sums.cs")).expect("a fixture"),
        |name: &str| format!("file://{}", here.path(name).display()),
    );
    let mut client = Client::start(&full_caps());
    let document = uri("sums.cs");
    client.open_as(&document, "csharp", &text);
    client.diagnostics(&document, 1);
    let actions = client.actions(&document, 6, 9);
    let is_offload = |a: &&Value| a["title"].as_str().is_some_and(|t| t.starts_with("Offload to GPU"));
    let offload = actions.iter().find(is_offload).unwrap_or_else(|| panic!("{actions:#?}"));
    let resolved = client.request("codeAction/resolve", offload.clone());
    let mut texts = std::collections::HashMap::from([(document.clone(), text.clone())]);
    apply(&resolved["edit"], &mut texts);
    assert!(texts[&document].contains("if (!Warpwright.SumsDotIOnGpu(a, b, ref s))"), "{}", texts[&document]);
    assert!(texts[&uri("SumsDotIOnGpu.cs")].contains("internal static bool SumsDotIOnGpu("));
    assert_eq!(resolved["edit"]["changeAnnotations"], json!(null), "one loop is not asked about");
    // the binding of another offload is there
    std::fs::write(here.path("WarpwrightCuda.cs"), &texts[&uri("WarpwrightCuda.cs")]).expect("written");
    let again = client.request("codeAction/resolve", offload.clone());
    let mut texts = std::collections::HashMap::from([(document.clone(), text)]);
    apply(&again["edit"], &mut texts);
    assert_eq!(texts.len(), 2, "{:?}", texts.keys());
    assert_eq!(client.finish(), Some(0));
}

/// What was offloaded is not offered again, and is told from other loops.
#[test]
fn an_offloaded_loop_is_offloaded_once() {
    let here = Here::new();
    let file = root().join("fixtures/csharp/sums.cs");
    here.offload(&file, &[7]).expect("offloaded");
    let again = here.path("again");
    std::fs::create_dir(&again).expect("a folder");
    std::fs::copy(here.path("out/sums.cs"), again.join("sums.cs")).expect("copied");
    let why = here.offload(&again.join("sums.cs"), &[9]).expect_err("refused");
    assert!(why.contains("belongs to an offload that was made before"), "{why}");
}

/// A loop that only an exception ends, with its array on the device: the exception comes.
#[test]
fn what_only_an_exception_ends_ends() {
    if !has_mono() {
        return;
    }
    let here = Here::new();
    let text = "\
using System;

static class Program
{
    static int Shift(int[] a, int[] b)
    {
        int k = 0;
        while (true)
        {
            for (int i = 0; i < a.Length; i++)
                a[i] = b[i + k] + 1;
            k++;
        }
    }

    static void Main()
    {
        var a = new int[20];
        string end = \"none\";
        try { Shift(a, new int[120]); }
        catch (IndexOutOfRangeException e) { end = e.GetType().Name; }
        foreach (int x in a)
            end += \" \" + x;
        Console.WriteLine(end);
    }
}
";
    std::fs::write(here.path("program.cs"), text).expect("written");
    here.compile("plain.exe", &[here.path("program.cs")], false);
    let plain = here.run("plain.exe", false, None, &[]).said;
    assert!(plain.starts_with("IndexOutOfRangeException 1 1"), "{plain}");
    for line in [8, 10] {
        if here.offload(&here.path("program.cs"), &[line]).is_err() {
            assert_eq!(line, 8, "the inner loop is offloaded");
            continue;
        }
        here.compile("gpu.exe", &here.written(), true);
        assert_eq!(here.run("gpu.exe", true, None, &[]).said, plain, "line {line}");
    }
}
