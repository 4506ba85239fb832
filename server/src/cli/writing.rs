//! What commands write: rewritten files, new files beside them, and why nothing was written.

use std::path::Path;

use serde::Serialize;

use super::{note, print, Format};
use crate::contract::{named, pretty};
use crate::files::{self, Existing};

/// What a command writes, told at once or kept for its answer.
pub struct Told {
    format: Format,
    written: Vec<wire::Written>,
}

impl Told {
    pub fn new(format: Format) -> Told {
        Told { format, written: Vec::new() }
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

    /// For people alone.
    pub fn print(&self, text: &str) -> anyhow::Result<()> {
        match self.format {
            Format::Text => print(text),
            Format::Json => Ok(()),
        }
    }

    /// For people alone, on standard error.
    pub fn note(&self, text: &str) {
        if self.format == Format::Text {
            note(text);
        }
    }

    /// For programs alone; `answer` makes it of what was written.
    pub fn answer<T: Serialize>(self, answer: impl FnOnce(Vec<wire::Written>) -> T) -> anyhow::Result<()> {
        match self.format {
            Format::Text => Ok(()),
            Format::Json => print(&pretty(&answer(self.written))?),
        }
    }
}

/// Puts a rewritten file where it is wanted: into its own place, into a folder, or on standard output.
pub fn put(
    told: &mut Told,
    text: &str,
    file: &Path,
    file_name: &str,
    (out, in_place): (Option<&Path>, bool),
) -> anyhow::Result<()> {
    let path = match (out, in_place) {
        (_, true) => file.to_owned(),
        (Some(folder), _) => {
            std::fs::create_dir_all(folder)
                .map_err(|e| anyhow::anyhow!("the folder {} cannot be made: {e}", folder.display()))?;
            folder.join(file_name)
        }
        (None, false) => return told.text(file_name, "", text),
    };
    if !in_place && same_file(&path, file) {
        anyhow::bail!("{} is the original. Name another folder, or say --in-place.", path.display());
    }
    files::write(&path, text, Existing::Replace)
        .map_err(|e| anyhow::anyhow!("{} cannot be written: {e}", path.display()))?;
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
                _ => anyhow::anyhow!("{} cannot be written: {e}", path.display()),
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
    let lines: Vec<String> = findings.loops.iter().map(|l| l.line().to_string()).collect();
    let loops = match lines.is_empty() {
        true => "The file has no loops.".to_owned(),
        false => format!("Loops begin on the lines {}.", lines.join(", ")),
    };
    match (refused, which) {
        (ide::Refused::Because(reason), _) => reason.clone(),
        (ide::Refused::Cancelled, _) => "Cancelled.".to_owned(),
        (ide::Refused::Stale, ide::Which::Line(line)) => format!("No loop begins on line {line}. {loops}"),
        (ide::Refused::Stale, _) => {
            format!("No loop is marked. Put `// warpwright: offload` before one, or name its line with --loop. {loops}")
        }
    }
}
