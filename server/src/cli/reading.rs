//! Files as every command reads them: what the compiler would be told of them, and their findings.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::CancelToken;
use clap::Args;

use crate::compiler::{project_of, Compilers, Wanted};
use crate::contract::FileReport;
use crate::files::Input;
use crate::includes::{Disk, Given};
use crate::project::Projects;

use super::written::Written;

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
    #[arg(long, value_name = "MODE", default_value = "same-bits", value_parser = fmad, action = clap::ArgAction::Set)]
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
    /// How these files, or those in these folders, are read.
    pub fn reader(&self, files: &[PathBuf]) -> Reader {
        Reader::new(disk_for(files, Wanted::read(&self.compiler)), self.given(), files)
    }

    /// Whose devices kernels are for.
    pub fn target(&self) -> ide::Target {
        self.target.fused(self.fmad)
    }

    /// What a compiler is told, too.
    pub fn told(&self) -> Vec<String> {
        let folders = self.includes.iter().map(|f| format!("-I{}", f.display()));
        self.defines.iter().map(|d| format!("-D{d}")).chain(folders).collect()
    }

    /// Macros and folders of headers.
    fn given(&self) -> Given {
        // as for the compiler, folders are below the current one
        let includes = self.includes.iter().map(|f| std::path::absolute(f).unwrap_or_else(|_| f.clone()));
        Given {
            defines: self.defines.clone(),
            includes: includes.collect(),
            target: self.target.fused(self.fmad),
        }
    }
}

/// Files as one command reads them: with the headers and the other files of their programs.
pub struct Reader {
    disk: Arc<Disk>,
    projects: Projects,
    given: Given,
}

impl Reader {
    /// Folders among `files` are source roots.
    pub fn new(disk: Arc<Disk>, given: Given, files: &[PathBuf]) -> Reader {
        let projects = Projects::fixed(disk.clone());
        projects.set_roots(files.iter().filter(|f| f.is_dir()).cloned());
        Reader { disk, projects, given }
    }

    /// The document that a file is.
    pub fn doc(&self, input: &Input) -> ide::Doc {
        let options = self.disk.options(Some(&input.path), input.language, &self.given);
        let doc = ide::Doc::open(input.language, &input.name, input.text.clone(), options);
        let project = self.projects.of(&doc, &input.path, &self.given, &CancelToken::new());
        doc.with_project(project)
    }

    /// The findings of a file with the full budget.
    pub fn analyze(&self, input: Input, memo: &ide::Memo) -> anyhow::Result<FileReport> {
        let doc = self.doc(&input);
        findings(input.path, doc, memo)
    }

    /// What a compiler is told of where a file's headers are.
    pub fn for_compiler(&self, path: &Path) -> Vec<String> {
        self.disk.for_compiler(path, &self.given)
    }
}

/// The findings of one document with the full budget.
pub fn findings(path: PathBuf, doc: ide::Doc, memo: &ide::Memo) -> anyhow::Result<FileReport> {
    let settings = ide::Settings::default();
    let ask = ide::Ask::new(&doc, memo, ide::Tier::Full, &CancelToken::new());
    let findings = ide::check(&ask, &settings)
        .map_err(|_| anyhow::anyhow!("the analysis of {} was cancelled", path.display()))?;
    Ok(FileReport { path, doc, ask, findings })
}

/// The files that are meant by files and folders: each with the folder, below the one that was named, that it lies in. Of folders
/// those are left out that are headers, that were written by an offload, or that lie in `but`.
pub fn chosen(given: &[PathBuf], but: &Path) -> anyhow::Result<Vec<(PathBuf, PathBuf)>> {
    let but = but.canonicalize().ok();
    let mut out = Vec::new();
    for path in given {
        if !path.is_dir() {
            out.push((path.clone(), PathBuf::new()));
            continue;
        }
        let before = out.len();
        for file in collect(path)? {
            let folder = file.parent().unwrap_or(Path::new("."));
            let name = file.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
            let is_offloadable = ide::LANGUAGES
                .iter()
                .any(|l| l.offloads && l.files.always.iter().any(|e| name.ends_with(&format!(".{e}"))));
            let is_left = !is_offloadable
                || name.ends_with(".h")
                || but.as_ref().is_some_and(|b| folder.canonicalize().is_ok_and(|f| f.starts_with(b)))
                || Written::of(folder).source(&name).is_some();
            if !is_left {
                let within = folder.strip_prefix(path).map(Path::to_owned).unwrap_or_default();
                out.push((file, within));
            }
        }
        if out.len() == before {
            anyhow::bail!(
                "{} has no C file whose loops could be offloaded. Name C files, or a folder of them.",
                path.display()
            );
        }
    }
    Ok(out)
}

/// The files of known languages that a path is, or that are in the folder that it is, in order.
pub fn collect(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    add(path, &mut found)?;
    found.sort();
    Ok(found)
}

fn add(path: &Path, into: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let metadata = std::fs::symlink_metadata(path)
        .map_err(|e| anyhow::anyhow!("{} cannot be read: {e}. Name a file or a folder.", path.display()))?;
    if !metadata.is_dir() {
        into.push(path.to_owned());
        return Ok(());
    }
    for entry in std::fs::read_dir(path)? {
        let entry = entry?.path();
        // links are not followed, so no folder is entered twice
        if entry.symlink_metadata()?.is_dir() || known_extension(&entry) {
            add(&entry, into)?;
        }
    }
    Ok(())
}

fn known_extension(path: &Path) -> bool {
    let extension = path.extension().and_then(|e| e.to_str());
    extension.is_some_and(|e| ide::LANGUAGES.iter().any(|l| l.files.always.contains(&e)))
}
