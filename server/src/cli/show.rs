//! `warpwright show`: dependences, calls or terms of a file, as a Markdown page or as a graph for Graphviz.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::reading::SourceArgs;
use super::writing::refusal;
use super::{note, print, Done};
use crate::contract::{named, page, pretty, VERSION};
use crate::files;

#[derive(Args)]
pub struct ShowArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// The loop that begins on this line (from 1); else all loops, or the whole file
    #[arg(long = "loop", value_name = "LINE")]
    loop_line: Option<u32>,
    /// A page to read, a graph for Graphviz, or both for programs
    #[arg(long, value_enum, default_value_t = Format::Markdown)]
    format: Format,
    /// What to show
    #[arg(value_enum)]
    what: What,
    /// The file
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// The dependences each loop carries
    Dependences,
    /// Who calls whom
    Calls,
    /// What the program was read as
    Terms,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Markdown,
    Dot,
    Json,
}

pub fn run(args: &ShowArgs) -> anyhow::Result<Done> {
    let input = files::read(&args.file)?;
    let memo = ide::Memo::new();
    let reader = args.source.reader(std::slice::from_ref(&input.path));
    let report = reader.analyze(input, &memo)?;
    let (doc, findings) = (&report.doc, &report.findings);
    let chosen = args.loop_line.map(ide::Which::Line);
    let view = match (args.what, &chosen) {
        (What::Calls, _) => Ok(ide::show_call_graph(doc)),
        (What::Terms, which) => ide::show_terms(doc, findings, which.as_ref()),
        (What::Dependences, Some(which)) => ide::show_dependences(&report.ask, findings, which),
        (What::Dependences, None) => ide::show_all_dependences(&report.ask, findings),
    };
    let view = match view {
        Ok(view) => view,
        Err(refused) => {
            let which = chosen.unwrap_or(ide::Which::Marked);
            let why = refusal(&refused, &which, findings);
            note(&format!("{}: {why}", args.file.display()));
            if args.format == Format::Json {
                print(&pretty(&answer(args, Some(why), None))?)?;
            }
            return Ok(Done::Found);
        }
    };
    let shown = page(&view);
    match (args.format, view.dot) {
        (Format::Dot, Some(dot)) => print(&dot)?,
        (Format::Dot, None) => anyhow::bail!("terms are no graph: leave --format dot out"),
        (Format::Json, _) => print(&pretty(&answer(args, None, Some(shown)))?)?,
        (Format::Markdown, _) => print(&format!("{}\n", view.markdown.trim_end()))?,
    }
    Ok(Done::Ok)
}

fn answer(args: &ShowArgs, refused: Option<String>, page: Option<wire::Page>) -> wire::Shown {
    let what = match args.what {
        What::Dependences => "dependences",
        What::Calls => "calls",
        What::Terms => "terms",
    };
    wire::Shown { version: VERSION, path: named(&args.file), what: what.to_owned(), refused, page }
}
