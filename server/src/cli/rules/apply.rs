//! `warpwright rules apply`: a system of rules applied to a file.

use std::path::{Path, PathBuf};

use clap::Args;

use super::set;
use crate::cli::reading::SourceArgs;
use crate::cli::writing::{put, put_new, Told};
use crate::cli::{note, Done, Format};
use crate::contract::{counted, named, VERSION};
use crate::files;
use crate::prove::Prover;

#[derive(Args)]
pub struct ApplyArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// The loop that begins on this line (from 1) instead of the whole file
    #[arg(long = "loop", value_name = "LINE", conflicts_with = "function")]
    loop_line: Option<u32>,
    /// The function of this name instead of the whole file
    #[arg(long, value_name = "NAME")]
    function: Option<String>,
    /// Further pages, or folders of pages
    #[arg(long = "pages", value_name = "FILE|DIR")]
    pages: Vec<PathBuf>,
    /// Print each application: rule, bindings, proofs
    #[arg(long)]
    explain: bool,
    /// Write the same as a comment into the files that the rules make
    #[arg(long)]
    explain_in_kernel: bool,
    /// Write the result into this folder instead of printing it
    #[arg(long, value_name = "DIR", conflicts_with = "in_place")]
    out: Option<PathBuf>,
    /// Rewrite the file itself; files that the rules make are put beside it
    #[arg(long)]
    in_place: bool,
    /// Replace files of the names that the rules make
    #[arg(long)]
    replace: bool,
    /// How the answer is printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// The system; `rules list` names them
    #[arg(value_name = "SYSTEM")]
    system: String,
    /// A C or CUDA file
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

pub fn run(args: &ApplyArgs) -> anyhow::Result<Done> {
    let file: &Path = &args.file;
    let mut set = set(file.parent().unwrap_or(Path::new("")), &args.pages)?;
    set.judge(Some(&Prover { cancel: &base::CancelToken::new() }));
    let input = files::read(file)?;
    let (file_name, form) = (input.name.clone(), input.form);
    let memo = ide::Memo::new();
    let reader = args.source.reader(std::slice::from_ref(&input.path));
    let report = reader.analyze(input, &memo)?;
    let target = match (args.loop_line, &args.function) {
        (Some(line), _) => ide::RuleTarget::Loop(line),
        (None, Some(name)) => ide::RuleTarget::Function(name.clone()),
        (None, None) => ide::RuleTarget::File,
    };
    let mut told = Told::new(args.format);
    let mut answer = wire::RulesApplication {
        version: VERSION,
        path: named(file),
        system: args.system.clone(),
        refused: None,
        title: None,
        checked: None,
        ran: false,
        counted: None,
        derivation: Vec::new(),
        written: Vec::new(),
    };
    let mut done = match ide::apply_rules(&report.ask, &report.findings, &set, &args.system, &target) {
        Ok(done) => done,
        Err(ide::Refused::Because(why)) => {
            note(&format!("{}: {why}", file.display()));
            answer.refused = Some(why);
            told.answer(|_| answer)?;
            return Ok(Done::Found);
        }
        Err(_) => anyhow::bail!("the file changed while it was read. Run the command again."),
    };
    if args.explain_in_kernel {
        done.explain_in_kernels();
    }
    let text = format!("{}{}", form.mark, done.text);
    match (&args.out, args.in_place) {
        (None, false) => {
            told.text(&file_name, "", &text)?;
            for f in &done.edit.create {
                told.text(&f.name, &format!("# {}\n", f.name), &f.text)?;
            }
        }
        _ => {
            // kernels first: a host file without its kernels would not link
            let folder = match args.in_place {
                true => file.parent().map(Path::to_owned).unwrap_or_default(),
                false => args.out.clone().unwrap_or_default(),
            };
            if !args.in_place && !done.edit.create.is_empty() {
                std::fs::create_dir_all(&folder).map_err(|e| files::unmade(&folder, &e))?;
            }
            put_new(&mut told, &folder, &done.edit.create, args.replace)?;
            put(&mut told, &text, file, (&file_name, form), (args.out.as_deref(), args.in_place))?;
        }
    }
    if args.explain {
        for line in &done.derivation {
            told.note(line);
        }
    }
    told.note(&format!("{}. {}", done.title, done.checked));
    answer.ran = done.ran;
    answer.counted = done.counted.map(counted);
    told.answer(|written| wire::RulesApplication {
        title: Some(done.title),
        checked: Some(done.checked),
        derivation: done.derivation,
        written,
        ..answer
    })?;
    Ok(if done.ran { Done::Ok } else { Done::Code(3) })
}
