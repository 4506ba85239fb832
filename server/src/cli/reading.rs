//! Files as every command reads them: what the compiler would be told of them, and their findings.

use std::path::PathBuf;
use std::sync::Arc;

use base::CancelToken;
use clap::Args;

use crate::compiler::{project_of, Compilers, Wanted};
use crate::contract::FileReport;
use crate::files::Input;
use crate::includes::{Disk, Given};

/// What the compiler would be told.
#[derive(Args, Clone, Debug, Default)]
pub struct SourceArgs {
    /// Define a macro, as for the compiler
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    defines: Vec<String>,
    /// Look for headers here, as the compiler does
    #[arg(short = 'I', value_name = "DIR")]
    includes: Vec<PathBuf>,
    /// The compiler that is asked what it defines, by its absolute path; `off`: none. Without this it is the search path's,
    /// unless it lies in the project of a file
    #[arg(long, value_name = "PATH", default_value = "", hide_default_value = true)]
    compiler: String,
    /// Whose devices kernels are written and judged for: `cuda` or `hip`
    #[arg(long, value_name = "NAME", default_value = "cuda", value_parser = target)]
    target: ide::Target,
    /// Whether kernels compute the same bits as the loop, or fuse products with sums, which is faster: `same-bits` or `fast`
    #[arg(long, value_name = "MODE", default_value = "same-bits", value_parser = fmad)]
    fmad: bool,
}

/// Whether products are fused, by the name of the mode.
fn fmad(mode: &str) -> Result<bool, String> {
    crate::settings::fuses(mode).ok_or_else(|| "there are same-bits and fast".to_owned())
}

/// A target by its name.
fn target(name: &str) -> Result<ide::Target, String> {
    let known: Vec<&str> = ide::Target::all().map(ide::Target::name).collect();
    ide::Target::of(name).ok_or_else(|| format!("there are {}", known.join(" and ")))
}

/// Where headers and compilers are found for these files.
pub fn disk_for(files: &[PathBuf], wanted: Wanted) -> Arc<Disk> {
    let here = std::env::current_dir().ok().filter(|f| f.parent().is_some());
    let outside = files.iter().filter_map(|f| project_of(f)).chain(here).collect();
    Arc::new(Disk::asking(Arc::new(Compilers::now(wanted, outside))))
}

impl SourceArgs {
    /// Where headers and compilers are found for these files.
    pub fn disk(&self, files: &[PathBuf]) -> Arc<Disk> {
        disk_for(files, Wanted::read(&self.compiler))
    }

    /// How the only file is read.
    pub fn options_of(&self, input: &Input) -> ide::Options {
        self.options(&self.disk(std::slice::from_ref(&input.path)), input)
    }

    /// How a file is read.
    pub fn options(&self, disk: &Arc<Disk>, input: &Input) -> ide::Options {
        disk.options(Some(&input.path), input.language, &self.given())
    }

    /// Macros and folders of headers.
    pub fn given(&self) -> Given {
        // as for the compiler, folders are below the current one
        let includes = self.includes.iter().map(|f| std::path::absolute(f).unwrap_or_else(|_| f.clone()));
        Given {
            defines: self.defines.clone(),
            includes: includes.collect(),
            target: self.target.fused(self.fmad),
        }
    }
}

/// The findings of one file with the full budget.
pub fn analyze(input: Input, options: &ide::Options, memo: &ide::Memo) -> anyhow::Result<FileReport> {
    let doc = ide::Doc::open(input.language, &input.name, input.text, options.clone());
    let settings = ide::Settings::default();
    let ask = ide::Ask::new(&doc, memo, ide::Tier::Full, &CancelToken::new());
    let findings = ide::check(&ask, &settings)
        .map_err(|_| anyhow::anyhow!("the analysis of {} was cancelled", input.path.display()))?;
    Ok(FileReport { path: input.path, doc, ask, findings })
}
