//! `cargo xtask metrics`: how long an editor waits, measured from outside on the release build; then the thirty kernels
//! ([`crate::kernels`]), programs of other people ([`crate::programs`]), rewriting ([`crate::rules`]) and how costs grow
//! ([`crate::growth`]). Each part can be had alone.
//!
//! Two C files of realistic functions (2,000 and 20,000 lines, the same on every machine) are opened in a fresh server
//! each: time to the first diagnostics (a long file's are shown in two steps) and to all, then 200 single-character edits inside one function, each waited for. Hover is
//! asked in between. Deliberately absent: profiling inside the server.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{ensure, Context, Result};
use serde_json::json;

use crate::client::Client;
use crate::program::{self, Profile};
use crate::sample::c_file;
use crate::{growth, kernels, programs, rules, sh, tools};

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Output {
    Print,
    Write,
}

/// A part of docs/performance.md that is written here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    Typing,
    Kernels,
    Programs,
    Rules,
    Growth,
}

impl Part {
    pub const ALL: [Part; 5] = [Part::Typing, Part::Kernels, Part::Programs, Part::Rules, Part::Growth];

    pub fn of(name: &str) -> Option<Part> {
        Part::ALL.into_iter().find(|p| p.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Part::Typing => "typing",
            Part::Kernels => "kernels",
            Part::Programs => "programs",
            Part::Rules => "rules",
            Part::Growth => "growth",
        }
    }

    /// The marks between which it stands.
    fn marks(self) -> (String, String) {
        let name = self.name();
        (
            format!("<!-- {name}: begin (written by `cargo xtask metrics --write`) -->"),
            format!("<!-- {name}: end -->"),
        )
    }
}

const EDITS: usize = 200;
/// How long nobody types after opening, at least.
const SOON: Duration = Duration::from_millis(50);
/// How quickly one types from there on: as a key repeats that is held down.
const REPEAT: Duration = Duration::from_millis(33);
/// Opening is measured this many times, each in a fresh process; the median counts.
const OPENINGS: usize = 5;

/// Goals, in milliseconds: cold opening, and the 99th percentile from a keystroke to its diagnostics.
struct Goal {
    lines: usize,
    cold: Option<f64>,
    keystroke: f64,
}

const GOALS: [Goal; 2] = [
    Goal { lines: 2_000, cold: None, keystroke: 5.0 },
    Goal { lines: 20_000, cold: Some(500.0), keystroke: 16.0 },
];

/// What was measured of one file.
struct Measured {
    lines: usize,
    kilobytes: f64,
    diagnostics: usize,
    /// Process start to the first diagnostics, opening included.
    cold: Duration,
    /// Opening to the first diagnostics, in a server that is already there.
    open: Duration,
    /// Opening to the diagnostics of all functions: a long document is shown in two steps.
    whole: Duration,
    /// From the edit to its diagnostics.
    edits: Vec<Duration>,
    /// Likewise, of the first edit, made right after opening: while the compiler is still being asked.
    first_edit: Duration,
    /// Likewise, of one made [`SOON`] after it, while the file is being read.
    soon_edit: Duration,
    /// Likewise, of all edits when one types from there on every [`REPEAT`], the first one too; of several openings.
    from_the_first: Vec<Duration>,
    hovers: Vec<Duration>,
    /// Peak resident memory of the server, in megabytes.
    memory: f64,
}

/// Measures these parts. What fails is said at the end, when the others are done.
pub fn run(parts: &[Part], output: Output) -> Result<()> {
    tools::for_building()?;
    let program = sh::step("release build", || program::build(Profile::Release))?;
    let mut failed = Vec::new();
    for part in parts {
        let section = match part {
            Part::Typing => typing(&program),
            Part::Kernels => kernels::section(),
            Part::Programs => programs::section(&program),
            Part::Rules => rules::section(),
            Part::Growth => growth::section(&program),
        };
        match section
            .and_then(|s| Ok(format!("Measured on {} with {}.\n\n{}", date()?, hardware()?, s.trim())))
        {
            Ok(section) => {
                println!("\n{section}");
                if output == Output::Write {
                    write(*part, &section)?;
                }
            }
            Err(e) => failed.push(format!("{}: {e:#}", part.name())),
        }
    }
    ensure!(failed.is_empty(), "not measured: {}", failed.join("; "));
    Ok(())
}

/// How long an editor waits.
fn typing(program: &PathBuf) -> Result<String> {
    let load = load()?;
    let mut measured = Vec::new();
    for goal in &GOALS {
        measured.push(sh::step(&format!("{} lines", goal.lines), || measure(program, goal.lines))?);
    }
    let size = fs::metadata(program)?.len() as f64 / 1e6;
    table(&measured, size, load)
}

fn measure(program: &PathBuf, lines: usize) -> Result<Measured> {
    let text = c_file(lines);
    let uri = "file:///metrics/generated.c";
    let mut cold = Vec::new();
    let mut open = Vec::new();
    let mut whole = Vec::new();
    for _ in 1..OPENINGS {
        let (client, times) = opened(program, uri, &text)?;
        client.stop()?;
        cold.push(times.first);
        open.push(times.open);
        whole.push(times.whole);
    }
    let (mut client, times) = opened(program, uri, &text)?;
    cold.push(times.first);
    open.push(times.open);
    whole.push(times.whole);

    let (line, column) = place_to_edit(&text)?;
    let mut edits = Vec::new();
    let mut hovers = Vec::new();
    for version in 2..2 + EDITS {
        edits.push(edited(&mut client, uri, (line, column), version)?);
        if version % 10 == 0 {
            let start = Instant::now();
            let position = json!({"line": line - 1, "character": 6});
            client.request(
                "textDocument/hover",
                &json!({"textDocument": {"uri": uri}, "position": position}),
            )?;
            hovers.push(start.elapsed());
        }
    }
    let memory = peak_memory(client.id())?;
    let diagnostics = times.count;
    client.stop()?;

    let place = (line, column);
    let (first_edit, _) = typed_from_the_first(program, (uri, &text), place, (Duration::ZERO, 1))?;
    let (soon_edit, from_the_first) = typed_from_the_first(program, (uri, &text), place, (SOON, EDITS))?;
    Ok(Measured {
        lines: text.lines().count(),
        kilobytes: text.len() as f64 / 1e3,
        diagnostics,
        cold: quantile(&mut cold, 0.5),
        open: quantile(&mut open, 0.5),
        whole: quantile(&mut whole, 0.5),
        edits,
        first_edit,
        soon_edit,
        from_the_first,
        hovers,
        memory,
    })
}

/// What it takes to answer the first edit, made so long after opening (the median of several openings), and so many edits
/// from that one on, in each of them.
fn typed_from_the_first(
    program: &PathBuf,
    (uri, text): (&str, &str),
    place: (usize, usize),
    (after, edits): (Duration, usize),
) -> Result<(Duration, Vec<Duration>)> {
    let mut first = Vec::new();
    let mut all = Vec::new();
    for _ in 0..OPENINGS {
        let (mut client, _) = opening(program, uri, text)?;
        std::thread::sleep(after);
        let begun = Instant::now();
        for version in 2..2 + edits {
            let due = begun + REPEAT * u32::try_from(version - 2)?;
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            let time = edited(&mut client, uri, place, version)?;
            if version == 2 {
                first.push(time);
            }
            all.push(time);
        }
        client.stop()?;
    }
    Ok((quantile(&mut first, 0.5), all))
}

/// A constant in the middle of the file: line and column of its second digit.
fn place_to_edit(text: &str) -> Result<(usize, usize)> {
    let lines = text.lines().enumerate().skip(text.lines().count() / 2);
    let place = |(line, words): (usize, &str)| words.find("0.5f").map(|column| (line, column + 3));
    lines.into_iter().find_map(place).context("the generated file has no constant to edit")
}

/// Types a digit there (versions are even) or takes it back, and waits for the diagnostics.
fn edited(
    client: &mut Client,
    uri: &str,
    (line, column): (usize, usize),
    version: usize,
) -> Result<Duration> {
    let inserting = version.is_multiple_of(2);
    let end = if inserting { column } else { column + 1 };
    let change = json!({
        "range": {"start": {"line": line, "character": column}, "end": {"line": line, "character": end}},
        "text": if inserting { "2" } else { "" },
    });
    let start = Instant::now();
    client.notify(
        "textDocument/didChange",
        &json!({"textDocument": {"uri": uri, "version": version}, "contentChanges": [change]}),
    )?;
    let (at, _) = client.diagnostics(uri, i64::try_from(version)?)?;
    Ok(at.duration_since(start))
}

/// What opening a file took.
struct Opened {
    /// From the process's start to the first diagnostics.
    first: Duration,
    /// From opening to the first diagnostics.
    open: Duration,
    /// From opening to those of the whole file.
    whole: Duration,
    /// Findings in the whole file.
    count: usize,
}

/// A fresh server that was just told to open the file, and when.
fn opening(program: &PathBuf, uri: &str, text: &str) -> Result<(Client, Instant)> {
    let mut client = Client::start(program)?;
    let opening = Instant::now();
    client.notify(
        "textDocument/didOpen",
        &json!({"textDocument": {"uri": uri, "languageId": "c", "version": 1, "text": text}}),
    )?;
    Ok((client, opening))
}

/// A fresh server with the file open and analyzed.
fn opened(program: &PathBuf, uri: &str, text: &str) -> Result<(Client, Opened)> {
    let start = Instant::now();
    let (mut client, opening) = opening(program, uri, text)?;
    let (first, mut count) = client.diagnostics(uri, 1)?;
    let mut last = first;
    // answered once the whole file is known, after its diagnostics were sent; a hover says what is known before
    let id = client.ask("textDocument/codeLens", &json!({"textDocument": {"uri": uri}}))?;
    while let Some((at, more)) = client.diagnostics_before_answer(uri, 1, id)? {
        (last, count) = (at, more);
    }
    let times = Opened {
        first: first.duration_since(start),
        open: first.duration_since(opening),
        whole: last.duration_since(opening),
        count,
    };
    Ok((client, times))
}

/// The largest resident size of a process so far, in megabytes (Linux: VmHWM of proc(5), in KiB).
fn peak_memory(process: u32) -> Result<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).context("the server's memory")?;
    let kib = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).and_then(|l| l.split_whitespace().next());
    Ok(kib.and_then(|k| k.parse::<f64>().ok()).unwrap_or(0.0) * 1024.0 / 1e6)
}

/// The value below which the share `q` of all lies (nearest rank).
fn quantile(times: &mut [Duration], q: f64) -> Duration {
    times.sort();
    let rank = (q * times.len() as f64).ceil() as usize;
    times.get(rank.clamp(1, times.len().max(1)) - 1).copied().unwrap_or_default()
}

fn table(all: &[Measured], program_megabytes: f64, load: f64) -> Result<String> {
    let mut out = String::new();
    writeln!(out, "The release build has {program_megabytes:.1} MB.")?;
    if load > 0.5 {
        writeln!(
            out,
            "Other work was running on the machine (load average {load:.1}): the times are too long."
        )?;
    }
    writeln!(out)?;
    let heads: Vec<String> =
        all.iter().map(|m| format!("{} lines ({:.0} kB)", thousands(m.lines), m.kilobytes)).collect();
    writeln!(out, "| | {} | ratio | goal |", heads.join(" | "))?;
    writeln!(out, "|---|{}---|---|", "---|".repeat(all.len()))?;
    let mut row = |name: &str, values: Vec<f64>, unit: &str, goal: String| -> Result<()> {
        let cells: Vec<String> = values.iter().map(|v| format!("{} {unit}", three_digits(*v))).collect();
        let ratio = match values.as_slice() {
            [first, .., last] if *first > 0.0 => format!("{:.1}", last / first),
            _ => String::new(),
        };
        Ok(writeln!(out, "| {name} | {} | {ratio} | {goal} |", cells.join(" | "))?)
    };
    let goals = |pick: &dyn Fn(&Goal) -> Option<f64>| -> String {
        let words =
            GOALS.iter().filter_map(|g| pick(g).map(|ms| format!("< {ms} ms at {}", thousands(g.lines))));
        words.collect::<Vec<_>>().join(", ")
    };
    let edits =
        |q: f64| all.iter().map(|m| milliseconds(quantile(&mut m.edits.clone(), q))).collect::<Vec<_>>();
    let hovers =
        |q: f64| all.iter().map(|m| milliseconds(quantile(&mut m.hovers.clone(), q))).collect::<Vec<_>>();
    row(
        "start of the process to first diagnostics",
        all.iter().map(|m| milliseconds(m.cold)).collect(),
        "ms",
        goals(&|g| g.cold),
    )?;
    row(
        "opening to first diagnostics",
        all.iter().map(|m| milliseconds(m.open)).collect(),
        "ms",
        String::new(),
    )?;
    row(
        "opening to all diagnostics",
        all.iter().map(|m| milliseconds(m.whole)).collect(),
        "ms",
        String::new(),
    )?;
    row("keystroke to diagnostics, median", edits(0.5), "ms", String::new())?;
    row("keystroke to diagnostics, 99th percentile", edits(0.99), "ms", goals(&|g| Some(g.keystroke)))?;
    row("keystroke to diagnostics, worst", edits(1.0), "ms", String::new())?;
    let from_the_first = |q: f64| {
        all.iter().map(|m| milliseconds(quantile(&mut m.from_the_first.clone(), q))).collect::<Vec<_>>()
    };
    let first = all.iter().map(|m| milliseconds(m.first_edit)).collect();
    row("first keystroke, sent together with the opening", first, "ms", String::new())?;
    let soon = all.iter().map(|m| milliseconds(m.soon_edit)).collect();
    let name = format!("first keystroke, {} ms after opening", SOON.as_millis());
    row(&name, soon, "ms", String::new())?;
    row(
        "keystrokes from that one on, 30 a second, 99th percentile",
        from_the_first(0.99),
        "ms",
        goals(&|g| Some(g.keystroke)),
    )?;
    row("hover, median", hovers(0.5), "ms", String::new())?;
    row("hover, worst", hovers(1.0), "ms", String::new())?;
    row("peak memory", all.iter().map(|m| m.memory).collect(), "MB", String::new())?;
    row("findings", all.iter().map(|m| m.diagnostics as f64).collect(), "", String::new())?;
    for (m, goal) in all.iter().zip(&GOALS) {
        let keystrokes = [&m.edits, &m.from_the_first].map(|all| quantile(&mut all.clone(), 0.99));
        let met = keystrokes.into_iter().all(|k| milliseconds(k) < goal.keystroke)
            && goal.cold.is_none_or(|c| milliseconds(m.cold) < c);
        writeln!(
            out,
            "\nGoals at {} lines: {}.",
            thousands(goal.lines),
            if met { "met" } else { "not met" }
        )?;
    }
    Ok(out)
}

/// Puts a section between its marks in docs/performance.md.
fn write(part: Part, section: &str) -> Result<()> {
    let path = sh::root().join("docs/performance.md");
    let page = fs::read_to_string(&path).context("docs/performance.md")?;
    fs::write(&path, placed(&page, part, section)?).context("writing docs/performance.md")?;
    println!("written to docs/performance.md");
    Ok(())
}

fn placed(page: &str, part: Part, section: &str) -> Result<String> {
    let (begin, end) = part.marks();
    let missing = |mark: &str| format!("docs/performance.md has no line `{mark}`");
    let (before, rest) = page.split_once(&begin).with_context(|| missing(&begin))?;
    let (_, after) = rest.split_once(&end).with_context(|| missing(&end))?;
    Ok(format!("{before}{begin}\n\n{}\n\n{end}{after}", section.trim()))
}

/// The load average of the last minute, before the measurement (proc(5)).
fn load() -> Result<f64> {
    let text = fs::read_to_string("/proc/loadavg").context("the load average")?;
    Ok(text.split(' ').next().and_then(|first| first.parse().ok()).unwrap_or(0.0))
}

fn date() -> Result<String> {
    let out = sh::output(std::process::Command::new("date").args(["-u", "+%Y-%m-%d"]))?;
    Ok(String::from_utf8_lossy(&out.stdout).trim().to_owned())
}

fn hardware() -> Result<String> {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu
        .lines()
        .find_map(|l| l.strip_prefix("model name"))
        .map_or("an unknown processor", |l| l.trim_start_matches([' ', '\t', ':']));
    let cores = std::thread::available_parallelism()?.get();
    Ok(format!("{model}, {cores} cores"))
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn three_digits(value: f64) -> String {
    if value >= 100.0 || value == value.trunc() {
        format!("{value:.0}")
    } else if value >= 10.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

fn thousands(n: usize) -> String {
    if n >= 1000 {
        format!("{},{:03}", n / 1000, n % 1000)
    } else {
        n.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_the_asked_length_and_are_the_same_each_time() {
        for lines in [2_000, 20_000] {
            let text = c_file(lines);
            let got = text.lines().count();
            assert!(got <= lines && got + 30 > lines, "{got} lines for {lines}");
            assert_eq!(text, c_file(lines));
            assert_eq!(text.matches('{').count(), text.matches('}').count());
        }
    }

    #[test]
    fn sections_are_put_between_their_marks() {
        let page = Part::ALL.iter().fold(String::from("# Performance\n"), |page, p| {
            let (begin, end) = p.marks();
            format!("{page}\nOf {}.\n\n{begin}\nold\n{end}\n", p.name())
        });
        let new = placed(&page, Part::Kernels, "new\n").unwrap();
        assert_eq!(
            (new.matches("old").count(), new.matches("\n\nnew\n\n").count()),
            (Part::ALL.len() - 1, 1)
        );
        assert_eq!(placed(&new, Part::Kernels, "new").unwrap(), new);
        assert!(placed("nothing", Part::Typing, "new").is_err());
        assert_eq!(Part::of("programs"), Some(Part::Programs));
        assert!(Part::of("everything").is_none());
    }

    #[test]
    fn quantiles_are_nearest_ranks() {
        let mut times: Vec<Duration> = (1..=200).rev().map(Duration::from_millis).collect();
        assert_eq!(quantile(&mut times, 0.5), Duration::from_millis(100));
        assert_eq!(quantile(&mut times, 0.99), Duration::from_millis(198));
        assert_eq!(quantile(&mut times, 1.0), Duration::from_millis(200));
    }
}
