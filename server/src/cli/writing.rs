//! What commands write: rewritten files, new files beside them, and why nothing was written.

use std::path::Path;

use super::print;
use crate::files::{self, Existing};

/// Puts a rewritten file where it is wanted: into its own place, into a folder, or on standard output.
pub fn put(
    text: &str,
    file: &Path,
    file_name: &str,
    out: Option<&Path>,
    in_place: bool,
) -> anyhow::Result<()> {
    let path = match (out, in_place) {
        (_, true) => file.to_owned(),
        (Some(folder), _) => {
            std::fs::create_dir_all(folder)
                .map_err(|e| anyhow::anyhow!("the folder {} cannot be made: {e}", folder.display()))?;
            folder.join(file_name)
        }
        (None, false) => return print(text),
    };
    if !in_place && same_file(&path, file) {
        anyhow::bail!("{} is the original. Name another folder, or say --in-place.", path.display());
    }
    files::write(&path, text, Existing::Replace)
        .map_err(|e| anyhow::anyhow!("{} cannot be written: {e}", path.display()))?;
    print(&format!("wrote {}\n", path.display()))
}

/// Writes new files into a folder. One that is there with another text is replaced only if that was asked for.
pub fn put_new(folder: &Path, new: &[ide::NewFile], replace: bool) -> anyhow::Result<()> {
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
        print(&format!("wrote {}\n", path.display()))?;
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
