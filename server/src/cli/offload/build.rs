//! How what was written is built, in lines that a person types.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::super::writing::{shell_line, Told};
use super::one::One;
use super::OffloadArgs;

/// Files that are named one by one; of more than these all of the folder are.
const NAMED: usize = 4;

pub fn tell(args: &OffloadArgs, done: &[One], told: &Told) -> anyhow::Result<()> {
    let done: Vec<&One> = done.iter().filter(|o| !o.answer.written.is_empty()).collect();
    if done.is_empty() || args.diff {
        return Ok(());
    }
    // a project builds its own files
    let (managed, done): (Vec<&One>, Vec<&One>) =
        done.into_iter().partition(|o| o.host.extension().is_some_and(|e| e == "cs"));
    if !managed.is_empty() {
        told.print("to build it: these files belong to the project; nothing else is needed. Without a GPU the loops run as they were.\n")?;
    }
    if done.is_empty() {
        return Ok(());
    }
    let target = args.source.target();
    let is_kernel = |p: &PathBuf| p.extension().is_some_and(|e| e == target.extension());
    let written: BTreeSet<PathBuf> = done
        .iter()
        .flat_map(|o| &o.answer.written)
        .map(|w| PathBuf::from(&w.path))
        .filter(is_kernel)
        .collect();
    let hosts: BTreeSet<PathBuf> = done.iter().map(|o| o.host.clone()).collect();
    let kernels = spelled(&written);
    let mut headers: BTreeSet<String> = BTreeSet::new();
    if !args.in_place {
        headers.extend(done.iter().map(|o| folder(&o.file).display().to_string()));
    }
    let around = headers.iter().flat_map(|h| ["-I".to_owned(), h.clone()]).chain(args.source.told());
    let cc: Vec<String> = ["cc".to_owned()].into_iter().chain(around).chain(["-c".to_owned()]).collect();
    let compiler = target.compile().split(' ').next().unwrap_or_default();
    let folders = outer(done.iter().map(|o| folder(&o.host)));
    let sources = outer(done.iter().map(|o| folder(&o.file)));
    let mut run: Vec<String> = ["warpwright", "run"].map(str::to_owned).to_vec();
    let others = sources.iter().filter(|s| !folders.contains(s));
    run.extend(folders.iter().chain(others).map(|f| f.display().to_string()));
    told.print(&format!(
        "to build it:\n  {} {kernels}\n  {} {}\n  {compiler} …  to link these objects with the program's others\nwithout a GPU: {}\n",
        target.compile(),
        shell_line(&cc),
        spelled(&hosts),
        shell_line(&run),
    ))
}

/// The folder that a file is in, as a person names it.
fn folder(file: &Path) -> PathBuf {
    file.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned()
}

/// Of folders those that lie in no other one.
fn outer(all: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    let all: BTreeSet<PathBuf> = all.collect();
    let is_outer = |f: &&PathBuf| !all.iter().any(|o| o != *f && f.starts_with(o));
    all.iter().filter(is_outer).cloned().collect()
}

/// Files for a shell: a few by their names, many by their folders.
fn spelled(files: &BTreeSet<PathBuf>) -> String {
    if files.len() <= NAMED {
        let names: Vec<String> = files.iter().map(|f| f.display().to_string()).collect();
        return shell_line(&names);
    }
    let pattern = |f: &PathBuf| {
        let folder = f.parent().map(|p| p.display().to_string()).filter(|p| !p.is_empty());
        let extension = f.extension().map(|e| e.to_string_lossy().into_owned()).unwrap_or_default();
        let quoted = folder.map(|f| shell_line(&[f]) + "/").unwrap_or_default();
        format!("{quoted}*.{extension}")
    };
    files.iter().map(pattern).collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(" ")
}
