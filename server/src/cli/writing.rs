//! What commands write: rewritten files, new files beside them, and why nothing was written.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use anstyle::AnsiColor;
use serde::Serialize;

use super::{note, print, Format};
use crate::contract::{named, pretty};
use crate::files::{self, Existing};

/// What a command writes, told at once or kept for its answer.
pub struct Told {
    format: Format,
    written: Vec<wire::Written>,
    /// What stands before the next thing that is printed, once.
    head: std::cell::RefCell<String>,
    has_head: bool,
}

impl Told {
    pub fn new(format: Format) -> Told {
        Told { format, written: Vec::new(), head: Default::default(), has_head: false }
    }

    /// What is said from now on is of this one of several files.
    pub fn head(&mut self, text: String) {
        self.has_head = !text.is_empty();
        *self.head.borrow_mut() = text;
    }

    pub fn has_head(&self) -> bool {
        self.has_head
    }

    /// A file was written.
    pub fn wrote(&mut self, path: &Path, text: &str) -> anyhow::Result<()> {
        self.written.push(wire::Written { path: named(path), bytes: text.len() as u64, text: None });
        self.print(&format!("wrote {}\n", path.display()))
    }

    /// A text that is wanted in no file; `before` stands before it where it is printed.
    pub fn text(&mut self, name: &str, before: &str, text: &str) -> anyhow::Result<()> {
        let bytes = text.len() as u64;
        self.written.push(wire::Written { path: name.to_owned(), bytes, text: Some(text.to_owned()) });
        self.print(&format!("{before}{text}"))
    }

    /// A difference, in colours on a terminal; nothing stands before it, so that `patch` can read what is printed.
    pub fn diff(&self, text: &str) -> anyhow::Result<()> {
        let colour = |line: &str| match line.as_bytes().first() {
            Some(b'+') => Some(AnsiColor::Green),
            Some(b'-') => Some(AnsiColor::Red),
            Some(b'@') => Some(AnsiColor::Cyan),
            _ => None,
        };
        let is_plain = !paints(&std::io::stdout());
        let line = |l: &str| match colour(l).filter(|_| !is_plain) {
            Some(c) => painted(true, c, l),
            None => l.to_owned(),
        };
        match self.format {
            Format::Text => print(&text.split_inclusive('\n').map(line).collect::<String>()),
            Format::Json => Ok(()),
        }
    }

    /// For people alone.
    pub fn print(&self, text: &str) -> anyhow::Result<()> {
        match self.format {
            Format::Text => print(&(self.head.take() + text)),
            Format::Json => Ok(()),
        }
    }

    /// For people alone, on standard error.
    pub fn note(&self, text: &str) {
        if self.format == Format::Text {
            note(text);
        }
    }

    /// What was written so far, for an answer.
    pub fn take_written(&mut self) -> Vec<wire::Written> {
        std::mem::take(&mut self.written)
    }

    /// For programs alone; `answer` makes it of what was written.
    pub fn answer<T: Serialize>(self, answer: impl FnOnce(Vec<wire::Written>) -> T) -> anyhow::Result<()> {
        match self.format {
            Format::Text => Ok(()),
            Format::Json => print(&pretty(&answer(self.written))?),
        }
    }
}

/// Whether a stream shows colours: it is a terminal, and nobody said otherwise (NO_COLOR, TERM=dumb).
pub fn paints(stream: &impl anstream::stream::RawStream) -> bool {
    anstream::AutoStream::choice(stream) != anstream::ColorChoice::Never
}

/// A text in a colour, if it is to be painted.
pub fn painted(is_painted: bool, colour: AnsiColor, text: &str) -> String {
    match is_painted {
        true => {
            let style = anstyle::Style::new().fg_color(Some(colour.into()));
            format!("{style}{text}{style:#}")
        }
        false => text.to_owned(),
    }
}

/// Which of several files is looked at, on a terminal's standard error, in a line that goes away.
pub struct Progress {
    all: usize,
    at: usize,
    is_shown: bool,
}

impl Progress {
    pub fn new(all: usize) -> Progress {
        let is_shown = all > 1 && std::io::stderr().is_terminal() && paints(&std::io::stderr());
        Progress { all, at: 0, is_shown }
    }

    pub fn at(&mut self, file: &Path) {
        self.at += 1;
        if self.is_shown {
            let _ = write!(std::io::stderr(), "\r\x1b[K[{}/{}] {}", self.at, self.all, file.display());
            HAS_PROGRESS.store(true, Ordering::Relaxed);
        }
    }
}

/// Whether a line of progress is on the terminal now.
static HAS_PROGRESS: AtomicBool = AtomicBool::new(false);

/// What is printed next stands on a line of its own.
pub fn clear_progress() {
    if HAS_PROGRESS.swap(false, Ordering::Relaxed) {
        let _ = write!(std::io::stderr(), "\r\x1b[K");
    }
}

/// A command line as a shell reads it.
pub fn shell_line(argv: &[String]) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=+,:@%".contains(c);
    let quoted = |a: &String| match !a.is_empty() && a.chars().all(is_plain) {
        true => a.clone(),
        false => format!("'{}'", a.replace('\'', "'\\''")),
    };
    argv.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// Puts a rewritten file where it is wanted: into its own place, into a folder, or on standard output.
pub fn put(
    told: &mut Told,
    text: &str,
    file: &Path,
    (file_name, form): (&str, files::Form),
    (out, in_place): (Option<&Path>, bool),
) -> anyhow::Result<()> {
    let path = match (out, in_place) {
        (_, true) => file.to_owned(),
        (Some(folder), _) => {
            std::fs::create_dir_all(folder).map_err(|e| files::unmade(folder, &e))?;
            folder.join(file_name)
        }
        (None, false) => return told.text(file_name, "", text),
    };
    if !in_place && same_file(&path, file) {
        anyhow::bail!("{} is the original. Name another folder, or say --in-place.", path.display());
    }
    files::rewrite(&path, text, form).map_err(|e| files::unwritten(&path, &e))?;
    told.wrote(&path, text)
}

/// Writes new files into a folder. One that is there with another text is replaced only if that was asked for.
pub fn put_new(told: &mut Told, folder: &Path, new: &[ide::NewFile], replace: bool) -> anyhow::Result<()> {
    let existing = if replace { Existing::Replace } else { Existing::Keep };
    for file in new {
        let path = folder.join(&file.name);
        let same = std::fs::read_to_string(&path).is_ok_and(|text| text == file.text);
        if !same {
            files::write(&path, &file.text, existing).map_err(|e| match e.kind() {
                std::io::ErrorKind::AlreadyExists => anyhow::anyhow!(
                    "{} exists and is not replaced. Move it away, or write elsewhere with --out.",
                    path.display()
                ),
                _ => files::unwritten(&path, &e),
            })?;
        }
        told.wrote(&path, &file.text)?;
    }
    Ok(())
}

pub fn same_file(a: &Path, b: &Path) -> bool {
    match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    }
}

/// Why nothing was written, with what to do.
pub fn refusal(refused: &ide::Refused, which: &ide::Which, findings: &ide::Findings) -> String {
    let lines: &[u32] = match which {
        ide::Which::Line(line) => std::slice::from_ref(line),
        ide::Which::Lines(lines) => lines,
        _ => &[],
    };
    if let Some(line) = lines.iter().find(|l| findings.on_line(**l).is_none()) {
        return no_loop(*line, findings);
    }
    match refused {
        ide::Refused::Because(reason) => reason.clone(),
        ide::Refused::Cancelled => "Cancelled.".to_owned(),
        ide::Refused::Stale => {
            let (all, _) = begins(findings);
            format!("No loop is marked. Put `// warpwright: offload` before one, or name its line with --loop. {all}")
        }
    }
}

/// Where loops begin: all of them in a sentence, and the lines.
fn begins(findings: &ide::Findings) -> (String, Vec<u32>) {
    let mut lines: Vec<u32> = findings.loops.iter().map(|l| l.line()).collect();
    lines.sort_unstable();
    lines.dedup();
    let shown: Vec<String> = lines.iter().map(u32::to_string).collect();
    let words = match shown.as_slice() {
        [] => "The file has no loops.".to_owned(),
        [one] => format!("The only loop begins on line {one}."),
        all => format!("Loops begin on the lines {}.", all.join(", ")),
    };
    (words, lines)
}

/// That no loop begins on a line, with the nearest that do.
pub fn no_loop(line: u32, findings: &ide::Findings) -> String {
    let (all, lines) = begins(findings);
    let before = lines.iter().rev().find(|l| **l < line);
    let after = lines.iter().find(|l| **l > line);
    let nearest = match (before, after) {
        (Some(a), Some(b)) => format!("The nearest begin on the lines {a} and {b}."),
        (Some(one), None) | (None, Some(one)) if lines.len() > 1 => {
            format!("The nearest begins on line {one}.")
        }
        _ => all,
    };
    format!("No loop begins on line {line}. {nearest}")
}

/// That no function of this name has loops, if that is so.
pub fn no_function(name: &str, findings: &ide::Findings) -> Option<String> {
    let mut names: Vec<&str> = findings.loops.iter().map(|l| l.report().function.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    if names.contains(&name) {
        return None;
    }
    Some(match names.is_empty() {
        true => format!("No function `{name}` has loops here: the file has none."),
        false => {
            format!("No function `{name}` has loops here. Functions with loops are: {}.", names.join(", "))
        }
    })
}
