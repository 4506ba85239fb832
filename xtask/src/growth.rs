//! `cargo xtask metrics growth`: how time and memory grow with the input. Twelve families of programs, each at n, 2n and 4n;
//! what grows faster than n·log n is named.
//!
//! Time is the processor time of the program and all that it starts, from the kernel's counters (proc(5), `stat`, fields 16
//! and 17: ticks of 10 ms), less that of an empty file, so that other work on the machine does not count. Memory is the
//! program's peak (`VmHWM`). Deliberately absent: what is said of these programs.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::json;

use crate::client::Client;
use crate::{program, sh};

/// Longer is ended, and counts as that.
const PATIENCE: Duration = Duration::from_secs(120);
/// Seconds below which two times say nothing about growth.
const LEAST: f64 = 0.05;
/// How much more than n·log n is still taken for it: counters have 10 ms.
const TOLERANCE: f64 = 1.25;

/// Programs of one shape, as large as a number says.
struct Family {
    /// What grows.
    name: &'static str,
    /// The smallest of its three sizes.
    n: usize,
    /// Words of the command before the file; none: an editor opens the first and types into it.
    command: &'static [&'static str],
    /// The files of a size; the first is given to the command.
    files: fn(usize) -> Vec<(String, String)>,
    /// Why it may grow faster than n·log n, where that is known.
    reason: Option<&'static str>,
}

/// A program that used to take long, and the seconds that it may take.
struct Limited {
    name: &'static str,
    file: &'static str,
    text: fn() -> String,
    command: &'static [&'static str],
    seconds: f64,
}

const ANALYZE: &[&str] = &["analyze", "--fail-on", "never"];

const FAMILIES: [Family; 12] = [
    Family { name: "functions", n: 250, command: ANALYZE, files: |n| c(functions(n)), reason: None },
    Family { name: "loops in one function", n: 50, command: ANALYZE, files: |n| c(loops(n)), reason: Some("each loop reads the statements before it that say something of variables") },
    Family { name: "depth of a nest", n: 6, command: ANALYZE, files: |n| c(depth(n)), reason: Some("each loop of a nest is judged with all inside it, and the pairs of its instances have two counters a loop") },
    Family { name: "statements in one loop", n: 100, command: ANALYZE, files: |n| c(statements(n)), reason: None },
    Family { name: "accesses to one array", n: 60, command: ANALYZE, files: |n| c(accesses(n)), reason: None },
    Family { name: "macros in macros", n: 1000, command: ANALYZE, files: |n| c(macros(n)), reason: None },
    Family { name: "headers", n: 50, command: ANALYZE, files: headers, reason: None },
    Family { name: "kernels", n: 60, command: ANALYZE, files: |n| cuda(kernels(n, 0)), reason: None },
    Family { name: "launches", n: 60, command: ANALYZE, files: |n| cuda(kernels(1, n)), reason: None },
    Family {
        name: "functions rewritten by rules",
        n: 25,
        command: &["rules", "apply", "neutral-elements"],
        files: |n| c(sums(n)),
        reason: None,
    },
    Family { name: "edits", n: 250, command: &[], files: |_| c(functions(40)), reason: None },
    Family { name: "open brackets", n: 4000, command: ANALYZE, files: |n| c(brackets(n)), reason: None },
];

/// What took minutes once, with what a save may take; ends of limits are among the answers.
const CASES: [Limited; 8] = [
    Limited { name: "16 nested loops", file: "a.c", text: || depth(16), command: ANALYZE, seconds: 10.0 },
    Limited { name: "24 nested loops", file: "a.c", text: || depth(24), command: ANALYZE, seconds: 10.0 },
    Limited {
        name: "48 nested, triangular",
        file: "a.c",
        text: || triangular(48),
        command: ANALYZE,
        seconds: 10.0,
    },
    Limited { name: "60 tile loops", file: "a.c", text: || tiles(10), command: ANALYZE, seconds: 10.0 },
    Limited {
        name: "unrolled tiles of products",
        file: "a.c",
        text: || unrolled(66),
        command: ANALYZE,
        seconds: 10.0,
    },
    Limited { name: "tiled stencils", file: "a.c", text: || stencils(6), command: ANALYZE, seconds: 10.0 },
    Limited {
        name: "one long kernel",
        file: "a.cu",
        text: || long_kernel(40),
        command: ANALYZE,
        seconds: 10.0,
    },
    Limited {
        name: "a launch too large",
        file: "a.cu",
        text: large_launch,
        command: &["simulate"],
        seconds: 2.0,
    },
];

fn c(text: String) -> Vec<(String, String)> {
    vec![("program.c".to_owned(), text)]
}

fn cuda(text: String) -> Vec<(String, String)> {
    vec![("program.cu".to_owned(), text)]
}

/// The text of `of` for each number below n.
fn each(n: usize, of: impl Fn(usize) -> String) -> String {
    (0..n).map(of).collect()
}

fn functions(n: usize) -> String {
    each(n, |k| {
        format!("void f{k}(int n, float *a, const float *b)\n{{\n    for (int i = 1; i < n; i++)\n        a[i] = b[i] + 0.5f * b[i - 1];\n}}\n\n")
    })
}

fn loops(n: usize) -> String {
    let body =
        each(n, |k| format!("    for (int i = 0; i < n; i++)\n        a[i] = a[i] * {k} + b[i + {k}];\n"));
    format!("void f(int n, double *restrict a, const double *restrict b)\n{{\n{body}}}\n")
}

fn depth(n: usize) -> String {
    let heads = each(n, |k| format!("{:k$}for (int i{k} = 0; i{k} < n; i{k}++)\n", ""));
    let sum: Vec<String> = (0..n).map(|k| format!("i{k}")).collect();
    format!("void f(int n, double *a)\n{{\n{heads}{:n$}a[{}] += 1;\n}}\n", "", sum.join(" + "))
}

fn triangular(n: usize) -> String {
    let first = |k: usize| if k == 0 { "0".to_owned() } else { format!("i{}", k - 1) };
    let heads = each(n, |k| format!("{:k$}for (int i{k} = {}; i{k} < n; i{k}++)\n", "", first(k)));
    let sum: Vec<String> = (0..n).map(|k| format!("i{k}")).collect();
    format!("void f(int n, double *a)\n{{\n{heads}{:n$}a[{}] += 1;\n}}\n", "", sum.join(" + "))
}

const MIN_MAX: &str =
    "#define MIN(a, b) ((a) < (b) ? (a) : (b))\n#define MAX(a, b) ((a) > (b) ? (a) : (b))\n#define FLOOR(n, d) (((n) < 0) ? -((-(n) + (d) - 1) / (d)) : (n) / (d))\n";

/// Matrix products in tiles.
fn tiles(n: usize) -> String {
    let nest = "    for (int it = 0; it < n; it += 32)\n    for (int jt = 0; jt < n; jt += 32)\n    for (int kt = 0; kt < n; kt += 32)\n    for (int i = it; i < MIN(n, it + 32); i++)\n    for (int j = jt; j < MIN(n, jt + 32); j++)\n    for (int k = kt; k < MIN(n, kt + 32); k++)\n        C[i][j] += A[i][k] * B[k][j];\n";
    format!(
        "{MIN_MAX}void f(int n, double A[][1024], double B[][1024], double C[][1024])\n{{\n{}}}\n",
        nest.repeat(n)
    )
}

/// The same with both outer loops unrolled, as generators write it: about forty lines each.
fn unrolled(n: usize) -> String {
    let products = [("C", "A", "B"), ("D", "C", "A"), ("E", "C", "D")];
    let nests = each(n, |q| {
        let (c, a, b) = products[q % 3];
        let k = "for (k = MAX(0, 32 * kt); k <= MIN(n - 1, 32 * kt + 31); k++)";
        let at = |x: usize, y: usize| {
            format!("            {c}[i + {x}][j + {y}] += {a}[i + {x}][k] * {b}[k][j + {y}];\n")
        };
        let (all, column) = (each(16, |x| at(x / 4, x % 4)), each(4, |x| at(x, 0)));
        format!(
            "    for (it = 0; it <= (n - 1) / 32; it++)\n    for (jt = 0; jt <= (n - 1) / 32; jt++)\n    for (kt = 0; kt <= (n - 1) / 32; kt++) {{\n        for (i = 32 * it; i <= MIN(n - 1, 32 * it + 31) - 3; i = i + 4) {{\n            for (j = 32 * jt; j <= MIN(n - 1, 32 * jt + 31) - 3; j = j + 4) {{\n            {k} {{\n{all}            }}\n            }}\n            for (; j <= MIN(n - 1, 32 * jt + 31); j++) {{\n            {k} {{\n{column}            }}\n            }}\n        }}\n        for (; i <= MIN(n - 1, 32 * it + 31); i++)\n            for (j = 32 * jt; j <= MIN(n - 1, 32 * jt + 31); j++)\n            {k}\n{}    }}\n",
            at(0, 0)
        )
    });
    let arrays = ["A", "B", "C", "D", "E"].map(|x| format!("double {x}[][1024]")).join(", ");
    format!("{MIN_MAX}void f(int n, {arrays})\n{{\n    int it, jt, kt, i, j, k;\n{nests}}}\n")
}

/// Stencils over time, skewed and tiled.
fn stencils(n: usize) -> String {
    let nest = "    for (t1 = 0; t1 <= FLOOR(T - 1, 32); t1++)\n    for (t2 = 2 * t1; t2 <= MIN(FLOOR(2 * T + n - 3, 32), FLOOR(64 * t1 + n + 61, 32)); t2++)\n    for (t3 = MAX(2 * t1, t2 - 4); t3 <= MIN(FLOOR(2 * T + n - 3, 32), FLOOR(32 * t2 + n + 27, 32)); t3++)\n    for (t4 = MAX(32 * t1, MAX(16 * t2 - n / 2, 16 * t3 - n / 2)); t4 <= MIN(MIN(T - 1, 32 * t1 + 31), MIN(16 * t2 + 14, 16 * t3 + 14)); t4++)\n    for (t5 = MAX(32 * t2, 2 * t4 + 2); t5 <= MIN(32 * t2 + 31, 2 * t4 + n - 2); t5++)\n    for (t6 = MAX(32 * t3, 2 * t4 + 2); t6 <= MIN(32 * t3 + 31, 2 * t4 + n - 2); t6++) {\n        b[t5 - 2 * t4][t6 - 2 * t4] = 0.2 * (a[t5 - 2 * t4][t6 - 2 * t4] + a[t5 - 2 * t4][t6 - 2 * t4 - 1] + a[t5 - 2 * t4 + 1][t6 - 2 * t4]);\n        a[t5 - 2 * t4 - 1][t6 - 2 * t4 - 1] = b[t5 - 2 * t4 - 1][t6 - 2 * t4 - 1];\n    }\n";
    format!(
        "{MIN_MAX}void f(int T, int n, double a[][4000], double b[][4000])\n{{\n    int t1, t2, t3, t4, t5, t6;\n{}}}\n",
        nest.repeat(n)
    )
}

fn long_kernel(n: usize) -> String {
    let round = "    s[threadIdx.x] = i < n ? b[i] : 0.0f;\n    t[y][x] = s[255 - threadIdx.x];\n    __syncthreads();\n    for (int w = 128; w > 0; w /= 2) {\n        if (threadIdx.x < w)\n            s[threadIdx.x] += s[threadIdx.x + w] * t[x][y];\n        __syncthreads();\n    }\n    if (threadIdx.x == 0)\n        a[blockIdx.x] = s[0];\n    __syncthreads();\n";
    format!(
        "__global__ void k(int n, float *a, const float *b)\n{{\n    __shared__ float s[256];\n    __shared__ float t[16][17];\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    int x = threadIdx.x % 16, y = threadIdx.x / 16;\n{}}}\n\nvoid host(int n, float *a, const float *b)\n{{\n    k<<<(n + 255) / 256, 256>>>(n, a, b);\n}}\n",
        round.repeat(n)
    )
}

fn large_launch() -> String {
    "__global__ void add(int n, float *a, const float *b)\n{\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n)\n        a[i] += b[i];\n}\n\nvoid host(float *a, const float *b)\n{\n    add<<<65536, 1024>>>(1 << 26, a, b);\n}\n".to_owned()
}

fn statements(n: usize) -> String {
    let body = each(n, |k| format!("        double t{k} = b[i] * {k};\n        a[i] += t{k};\n"));
    format!("void f(int n, double *restrict a, const double *restrict b)\n{{\n    for (int i = 0; i < n; i++) {{\n{body}    }}\n}}\n")
}

fn accesses(n: usize) -> String {
    let terms: Vec<String> = (0..n).map(|k| format!("a[{} * i + {k}]", k % 3 + 1)).collect();
    format!(
        "void f(int n, double *a)\n{{\n    for (int i = 0; i < n; i++)\n        a[i] = {};\n}}\n",
        terms.join(" + ")
    )
}

fn macros(n: usize) -> String {
    let all = each(n, |k| format!("#define M{}(x) (M{k}(x) + {k})\n", k + 1));
    format!("#define M0(x) (x)\n{all}void f(int n, long *a)\n{{\n    for (int i = 0; i < n; i++)\n        a[i] = M{n}(i);\n}}\n")
}

fn headers(n: usize) -> Vec<(String, String)> {
    let includes = each(n, |k| format!("#include \"h{k}.h\"\n"));
    let mut all = c(format!("{includes}{}", functions(1)));
    all.extend((0..n).map(|k| {
        let text = each(40, |j| {
            format!(
                "struct s{k}_{j} {{ int a; double b[{}]; }};\nextern int g{k}_{j}(struct s{k}_{j} *p);\n",
                j + 1
            )
        });
        (format!("h{k}.h"), format!("#ifndef H{k}\n#define H{k}\n{text}#endif\n"))
    }));
    all
}

fn kernels(n: usize, launches: usize) -> String {
    let all = each(n, |k| {
        format!("__global__ void k{k}(int n, float *a, const float *b)\n{{\n    __shared__ float s[256];\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    s[threadIdx.x] = i < n ? b[i] : 0.0f;\n    __syncthreads();\n    for (int w = 128; w > 0; w /= 2) {{\n        if (threadIdx.x < w)\n            s[threadIdx.x] += s[threadIdx.x + w];\n        __syncthreads();\n    }}\n    if (threadIdx.x == 0)\n        a[blockIdx.x] = s[0];\n}}\n\n")
    });
    let all_launches =
        each(launches, |k| format!("    k0<<<(n + 255) / 256, 256>>>(n - {k}, a + {k}, b);\n"));
    let host = format!("void host(int n, float *a, const float *b)\n{{\n{all_launches}}}\n");
    format!("{all}{}", if launches > 0 { host } else { String::new() })
}

fn sums(n: usize) -> String {
    each(n, |k| {
        format!("int f{k}(int n, const int *a)\n{{\n    int s = 0;\n    for (int i = 0; i < n; i++)\n        s += a[i] * 1 + 0;\n    return s;\n}}\n\n")
    })
}

fn brackets(n: usize) -> String {
    format!(
        "void f(int n, int *a)\n{{\n    a[0] = {}n;\n    for (int i = 0; i < n; i++)\n        a[i] = i;\n}}\n",
        "(".repeat(n)
    )
}

/// What one run took.
#[derive(Clone, Copy, Default)]
struct Cost {
    seconds: f64,
    megabytes: f64,
    /// Whether it was ended for taking too long.
    cut: bool,
}

/// Measures all, and gives the section of docs/performance.md.
pub fn section(warpwright: &PathBuf) -> Result<String> {
    let folder = sh::root().join("target/growth");
    let mut rows = Vec::new();
    for family in &FAMILIES {
        let costs = sh::step(family.name, || {
            let empty = measure(warpwright, family, &folder, 0)?;
            let mut costs = Vec::new();
            for times in [1, 2, 4] {
                let cost = measure(warpwright, family, &folder, times * family.n)?;
                costs.push(Cost { seconds: (cost.seconds - empty.seconds).max(0.0), ..cost });
            }
            Ok(costs)
        })?;
        rows.push((family, costs));
    }
    let mut out = table(&rows)?;
    out.push_str("\n| a program | s | MB | may take s | |\n|---|---|---|---|---|\n");
    for case in &CASES {
        let cost = sh::step(case.name, || limited(warpwright, case, &folder))?;
        let met = if cost.cut || cost.seconds > case.seconds { "**missed**" } else { "met" };
        let (name, may) = (case.name, case.seconds);
        writeln!(out, "| {name} | {:.2} | {:.0} | {may} | {met} |", cost.seconds, cost.megabytes)?;
    }
    Ok(out)
}

fn limited(warpwright: &PathBuf, case: &Limited, folder: &Path) -> Result<Cost> {
    fs::create_dir_all(folder)?;
    let file = folder.join(case.file);
    fs::write(&file, (case.text)())?;
    let before = children()?;
    let (megabytes, cut) = ran(program::command(warpwright).args(case.command).arg(&file))?;
    Ok(Cost { seconds: children()? - before, megabytes, cut })
}

fn measure(warpwright: &PathBuf, family: &Family, folder: &Path, n: usize) -> Result<Cost> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    let files = (family.files)(n);
    for (name, text) in &files {
        fs::write(folder.join(name), text)?;
    }
    let (name, text) = files.first().context("a family without files")?;
    let before = children()?;
    let (megabytes, cut) = match family.command {
        [] => (typed(warpwright, text, n)?, false),
        words => ran(program::command(warpwright).args(words).arg(folder.join(name)))?,
    };
    Ok(Cost { seconds: children()? - before, megabytes, cut })
}

/// Runs a command to its end: its peak memory, and whether it was ended for its time.
fn ran(command: &mut Command) -> Result<(f64, bool)> {
    let start = Instant::now();
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().context("warpwright")?;
    let mut most = 0.0_f64;
    let mut cut = false;
    while child.try_wait()?.is_none() {
        most = most.max(peak(child.id()));
        if start.elapsed() > PATIENCE && !cut {
            child.kill()?;
            cut = true;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok((most, cut))
}

/// An editor that types so many characters, each waited for; the server's peak memory.
fn typed(warpwright: &PathBuf, text: &str, edits: usize) -> Result<f64> {
    let uri = "file:///growth/program.c";
    let mut client = Client::start(warpwright)?;
    let open = json!({"textDocument": {"uri": uri, "languageId": "c", "version": 1, "text": text}});
    client.notify("textDocument/didOpen", &open)?;
    client.diagnostics(uri, 1)?;
    // a digit behind the first `0.5`, and away again
    let (line, column) = text
        .lines()
        .enumerate()
        .find_map(|(n, l)| l.find("0.5f").map(|c| (n, c + 3)))
        .context("nothing to type into")?;
    for k in 0..edits {
        let end = column + k % 2;
        let change = json!({
            "range": {"start": {"line": line, "character": column}, "end": {"line": line, "character": end}},
            "text": if k % 2 == 0 { "2" } else { "" },
        });
        let version = k as i64 + 2;
        client.notify(
            "textDocument/didChange",
            &json!({"textDocument": {"uri": uri, "version": version}, "contentChanges": [change]}),
        )?;
        client.diagnostics(uri, version)?;
    }
    let most = peak(client.id());
    client.stop()?;
    Ok(most)
}

/// Peak resident megabytes of a process so far; 0 once it has ended.
fn peak(process: u32) -> f64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).unwrap_or_default();
    let kib: f64 = line.split_whitespace().next().and_then(|k| k.parse().ok()).unwrap_or(0.0);
    kib * 1024.0 / 1e6
}

/// Processor seconds of all children that have ended, and of theirs.
fn children() -> Result<f64> {
    let stat = fs::read_to_string("/proc/self/stat").context("the processor time of children")?;
    // the name in brackets may have blanks; the third field stands behind it
    let rest = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
    let field = |n: usize| rest.split(' ').nth(n - 3).and_then(|w| w.parse::<f64>().ok());
    let ticks = field(16).zip(field(17)).context("proc(5) has another form here")?;
    Ok((ticks.0 + ticks.1) / 100.0)
}

/// How often more time four times the input takes if it grows as n·log n.
fn n_log_n(n: usize) -> f64 {
    let n = n.max(2) as f64;
    4.0 * (4.0 * n).ln() / n.ln()
}

/// Whether the times of n and 4n are those of more than n·log n; `None`: too short to say.
fn is_worse(n: usize, costs: &[Cost]) -> Option<bool> {
    let (first, last) = (costs.first()?, costs.last()?);
    if last.cut {
        return Some(true);
    }
    // a first time below what the counters tell is taken as that
    let ratio = last.seconds / first.seconds.max(LEAST);
    (last.seconds > 4.0 * LEAST).then_some(ratio > TOLERANCE * n_log_n(n))
}

fn table(rows: &[(&Family, Vec<Cost>)]) -> Result<String> {
    let mut out = String::from("| what grows | n | s at n | 2n | 4n | MB at n | 2n | 4n | grows |\n|---|---|---|---|---|---|---|---|---|\n");
    let mut worse = Vec::new();
    for (family, costs) in rows {
        let seconds: Vec<String> = costs
            .iter()
            .map(|c| if c.cut { format!("> {}", PATIENCE.as_secs()) } else { format!("{:.2}", c.seconds) })
            .collect();
        let megabytes: Vec<String> = costs.iter().map(|c| format!("{:.0}", c.megabytes)).collect();
        let grows = match is_worse(family.n, costs) {
            None => "too short to say",
            Some(false) => "as its input",
            Some(true) => {
                worse.push(match family.reason {
                    Some(reason) => format!("{} ({reason})", family.name),
                    None => family.name.to_owned(),
                });
                "**faster**"
            }
        };
        writeln!(
            out,
            "| {} | {} | {} | {} | {grows} |",
            family.name,
            family.n,
            seconds.join(" | "),
            megabytes.join(" | ")
        )?;
    }
    let list = if worse.is_empty() { "none".to_owned() } else { worse.join("; ") };
    writeln!(out, "\nFaster than n·log n: {list}.")?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_judged() {
        let costs = |times: [f64; 3]| times.map(|seconds| Cost { seconds, ..Cost::default() });
        assert_eq!(is_worse(100, &costs([0.01, 0.02, 0.05])), None);
        assert_eq!(is_worse(100, &costs([1.0, 2.1, 4.4])), Some(false));
        assert_eq!(is_worse(100, &costs([1.0, 4.0, 16.0])), Some(true));
        let cut = [Cost::default(), Cost::default(), Cost { cut: true, ..Cost::default() }];
        assert_eq!(is_worse(6, &cut), Some(true));
    }

    #[test]
    fn families_have_programs_of_every_size() {
        for f in &FAMILIES {
            let size = |n: usize| (f.files)(n).iter().map(|(_, t)| t.len()).sum::<usize>();
            assert!(f.command.is_empty() || size(2 * f.n) > size(f.n), "{}", f.name);
            assert!(!(f.files)(0).is_empty(), "{}", f.name);
        }
    }

    #[test]
    fn cases_are_as_large_as_they_say() {
        let lines = |name: &str| {
            let case = CASES.iter().find(|c| c.name == name).unwrap();
            (case.text)().lines().count()
        };
        assert!(
            (2400..3000).contains(&lines("unrolled tiles of products")),
            "{}",
            lines("unrolled tiles of products")
        );
        assert!(lines("one long kernel") > 400);
        assert_eq!((CASES[3].text)().matches("for (").count(), 60);
    }

    #[test]
    fn children_are_counted() {
        let before = children().unwrap();
        let mut busy = Command::new("sh")
            .args(["-c", "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done"])
            .spawn()
            .unwrap();
        busy.wait().unwrap();
        assert!(children().unwrap() > before);
    }
}
