//! `warpwright simulate`: kernels of a CUDA file run in the simulator, and what they asked of the hardware.

use std::path::PathBuf;

use clap::Args;

use super::reading::SourceArgs;
use super::{print, Done, Format};
use crate::contract::{kernel_run, named, pretty, VERSION};
use crate::files;

#[derive(Args)]
pub struct SimulateArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// Only this kernel
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
    /// A kernel's launch: NAME=GXxGYxGZ,BXxBYxBZ[,SHARED BYTES][,parameter=VALUE][,array[ELEMENTS]]
    #[arg(long = "launch", value_name = "NAME=GRID,BLOCK")]
    launches: Vec<String>,
    /// Seed of inputs and interleavings
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How counts are printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// The file
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

pub fn run(args: &SimulateArgs) -> anyhow::Result<Done> {
    let input = files::read(&args.file)?;
    let doc = args.source.reader(std::slice::from_ref(&input.path)).doc(&input);
    let mut wanted =
        ide::SimulateOptions { kernel: args.kernel.clone(), seed: args.seed, ..Default::default() };
    wanted.launches = launches(&args.launches)?;
    let runs = ide::simulate_kernels(&ide::Ask::thorough(&doc), &wanted);
    shown(args, &doc, &wanted, &runs)
}

/// The launches of `--launch`, by kernel.
pub fn launches(texts: &[String]) -> anyhow::Result<Vec<(String, ide::Shape)>> {
    let mut out = Vec::new();
    for launch in texts {
        let Some((kernel, shape)) = launch.split_once('=') else {
            anyhow::bail!("--launch {launch}: write NAME=GRID,BLOCK, such as k=16x1,256");
        };
        let shape = ide::parse_shape(shape).map_err(|why| anyhow::anyhow!("--launch {launch}: {why}"))?;
        out.push((kernel.to_owned(), shape));
    }
    Ok(out)
}

fn shown(
    args: &SimulateArgs,
    doc: &ide::Doc,
    wanted: &ide::SimulateOptions,
    runs: &[ide::KernelRun],
) -> anyhow::Result<Done> {
    if runs.is_empty() {
        match &args.kernel {
            Some(k) => anyhow::bail!("{} has no kernel `{k}` that is understood. `warpwright analyze` lists its kernels and what is not understood.", args.file.display()),
            None => anyhow::bail!("{} has no kernel that is understood. `warpwright analyze` says what is not.", args.file.display()),
        }
    }
    if let Some((stray, _)) = wanted
        .launches
        .iter()
        .find(|(n, _)| !runs.iter().any(|r| r.name == *n || r.name.starts_with(&format!("{n}<"))))
    {
        anyhow::bail!(
            "--launch names `{stray}`, which is no kernel of {}. `warpwright analyze` lists them.",
            args.file.display()
        );
    }
    match args.format {
        Format::Text => print(&runs.iter().map(|r| ide::kernel_text(doc, r)).collect::<Vec<_>>().join("\n"))?,
        Format::Json => {
            let kernels = runs.iter().map(|r| kernel_run(doc, r)).collect();
            let files = vec![wire::SimulatedFile { kernels, path: named(&args.file) }];
            print(&pretty(&wire::Simulation { files, version: VERSION })?)?;
        }
    }
    let wrong = runs.iter().any(|r| r.refused.is_some() || !r.races.is_empty() || !r.problems.is_empty());
    Ok(if wrong { Done::Found } else { Done::Ok })
}
