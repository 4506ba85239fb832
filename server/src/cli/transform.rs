//! `warpwright transform`: a loop transformed, printed or written; or what applies to a loop and why the rest does not.

use std::path::{Path, PathBuf};

use clap::Args;

use super::reading::SourceArgs;
use super::writing::{put, refusal, Told};
use super::{note, Done, Format};
use crate::contract::{applicable, named, VERSION};
use crate::files;

#[derive(Args)]
pub struct TransformArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// The loop that begins on this line (from 1)
    #[arg(long = "loop", value_name = "LINE")]
    loop_line: u32,
    /// List what applies to the loop, and why the rest does not
    #[arg(long, conflicts_with_all = ["with", "out", "in_place"])]
    list: bool,
    /// What the transformation is told, such as `factor=8` or `at=m`
    #[arg(long, value_name = "OPTIONS", default_value = "")]
    with: String,
    /// Write the result into this folder instead of printing it
    #[arg(long, value_name = "DIR", conflicts_with = "in_place")]
    out: Option<PathBuf>,
    /// Rewrite the file itself
    #[arg(long)]
    in_place: bool,
    /// How the answer is printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// `[NAME] FILE`: the transformation and the file; the name is left out with --list
    #[arg(value_name = "NAME FILE", num_args = 1..=2, required = true)]
    names: Vec<String>,
}

pub fn run(args: &TransformArgs) -> anyhow::Result<Done> {
    let (name, file) = match (args.names.as_slice(), args.list) {
        ([file], true) => (None, Path::new(file)),
        ([name, file], false) => (Some(name.as_str()), Path::new(file)),
        ([_, _], true) => anyhow::bail!("--list takes no name: warpwright transform --list --loop LINE FILE"),
        _ => anyhow::bail!("name a transformation and a file: warpwright transform NAME --loop LINE FILE"),
    };
    let input = files::read(file)?;
    let (file_name, form) = (input.name.clone(), input.form);
    let memo = ide::Memo::new();
    let reader = args.source.reader(std::slice::from_ref(&input.path));
    let report = reader.analyze(input, &memo)?;
    let which = ide::Which::Line(args.loop_line);
    let findings = &report.findings;
    let mut told = Told::new(args.format);
    let because = |refused: &ide::Refused| {
        let why = refusal(refused, &which, findings);
        note(&format!("{}: {why}", file.display()));
        Some(why)
    };
    let Some(name) = name else {
        let mut answer = wire::Transformations {
            version: VERSION,
            path: named(file),
            line: args.loop_line,
            refused: None,
            transformations: Vec::new(),
        };
        let ended = match ide::transformations(&report.ask, findings, &which) {
            Ok(all) => {
                told.print(&listing(&all))?;
                answer.transformations = all.iter().map(applicable).collect();
                Done::Ok
            }
            Err(refused) => {
                answer.refused = because(&refused);
                Done::Found
            }
        };
        told.answer(|_| answer)?;
        return Ok(ended);
    };
    let mut answer = wire::Transformation {
        version: VERSION,
        path: named(file),
        line: args.loop_line,
        name: name.to_owned(),
        refused: None,
        title: None,
        checked: None,
        written: Vec::new(),
    };
    let done = match ide::transform(&report.ask, findings, &which, name, &args.with) {
        Ok(done) => done,
        Err(refused) => {
            answer.refused = because(&refused);
            told.answer(|_| answer)?;
            return Ok(Done::Found);
        }
    };
    let text = format!("{}{}", form.mark, done.text);
    put(&mut told, &text, file, (&file_name, form), (args.out.as_deref(), args.in_place))?;
    told.note(&format!("{}. {}", done.title, done.checked));
    told.answer(|written| wire::Transformation {
        title: Some(done.title),
        checked: Some(done.checked),
        written,
        ..answer
    })?;
    Ok(Done::Ok)
}

fn listing(all: &[ide::Listed]) -> String {
    let width = all.iter().map(|l| l.name.len()).max().unwrap_or(0);
    let mut out = String::new();
    for l in all.iter().filter(|l| l.title.is_ok()) {
        let with = if l.with.is_empty() { String::new() } else { format!(" [--with {}]", l.with) };
        let title = l.title.as_deref().unwrap_or("");
        out.push_str(&format!("{:width$}  {title}{with}\n", l.name));
    }
    for l in all {
        if let Err(why) = &l.title {
            out.push_str(&format!("{:width$}  - {}. {why}\n", l.name, l.about));
        }
    }
    out
}
