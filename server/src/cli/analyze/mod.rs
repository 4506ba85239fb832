//! `warpwright analyze`: the findings of files, in the format asked for.

mod github;
mod sarif;
mod text;

use std::path::PathBuf;

pub use text::{tally, text as as_text};

use clap::{Args, ValueEnum};

use super::reading::{collect, SourceArgs};
use super::writing::{paints, Progress};
use super::{note, print, Done};
use crate::{contract, files};

#[derive(Args)]
pub struct AnalyzeArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// How findings are printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Exit with status 1 from this severity on
    #[arg(long, value_enum, default_value_t = FailOn::Warning, value_name = "LEVEL")]
    fail_on: FailOn,
    /// With JSON: search for transformations that would make sequential loops parallel
    #[arg(long)]
    enabling: bool,
    /// With JSON: a kernel's launch, NAME=GXxGYxGZ,BXxBYxBZ[,SHARED BYTES][,parameter=VALUE]
    #[arg(long = "launch", value_name = "NAME=GRID,BLOCK")]
    launches: Vec<String>,
    /// C, C# or CUDA files, or folders of them
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
    Sarif,
    Github,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FailOn {
    Hint,
    Information,
    Warning,
    Error,
    Never,
}

impl FailOn {
    fn severity(self) -> Option<ide::Severity> {
        Some(match self {
            FailOn::Hint => ide::Severity::Hint,
            FailOn::Information => ide::Severity::Information,
            FailOn::Warning => ide::Severity::Warning,
            FailOn::Error => ide::Severity::Error,
            FailOn::Never => return None,
        })
    }
}

pub fn run(args: &AnalyzeArgs) -> anyhow::Result<Done> {
    let launches = super::simulate::launches(&args.launches)?;
    let reader = args.source.reader(&args.files);
    let memo = ide::Memo::new();
    let mut reports = Vec::new();
    let mut failed = false;
    let mut paths = Vec::new();
    for path in &args.files {
        // a missing file is told of below
        let found = if path.is_dir() { collect(path)? } else { vec![path.clone()] };
        if found.is_empty() {
            failed = true;
            note(&format!(
                "error: {} is a folder without files in a language that is known.",
                path.display()
            ));
        }
        paths.extend(found);
    }
    let mut progress = Progress::new(paths.len());
    for path in &paths {
        progress.at(path);
        match files::read(path) {
            Ok(input) => reports.push(reader.analyze(input, &memo)?),
            Err(e) => {
                failed = true;
                note(&format!("error: {e}"));
            }
        }
    }
    print(&match args.format {
        Format::Text => text::text(&reports, &launches, paints(&std::io::stdout())),
        Format::Json => contract::pretty(&contract::analysis(&reports, args.enabling, &launches))?,
        Format::Sarif => sarif::sarif(&reports)?,
        Format::Github => github::github(&reports),
    })?;
    let level = args.fail_on.severity();
    let found =
        reports.iter().flat_map(|r| &r.findings.diagnostics).any(|d| level.is_some_and(|l| d.severity >= l));
    Ok(match (failed, found) {
        (true, _) => Done::Code(2),
        (false, true) => Done::Found,
        (false, false) => Done::Ok,
    })
}
