//! The command lines that build a program over the run time for CPUs, and what compilers' complaints mean here.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ide::cpu_runtime;

use super::super::note;
use super::super::reading::disk_for;
use super::super::reasons::{is_ours, with_reasons};
use super::sources::{Kind, Source, Sources};
use super::CompilerArgs;
use crate::compiler::Wanted;
use crate::files::{self, Existing};
use crate::limits::cli_run::{HEADERS, NAMES};

/// How a program is built in a folder.
pub struct Plan {
    /// Paths and texts that are written first.
    pub files: Vec<(PathBuf, String)>,
    /// A command line for each source that is compiled.
    pub compile: Vec<Step>,
    pub link: Vec<String>,
    pub program: PathBuf,
}

pub struct Step {
    pub source: PathBuf,
    is_kernels: bool,
    pub argv: Vec<String>,
}

/// Makes the plan. Compilers are named as `c` and `cpp` say.
pub fn plan(
    folder: &Path,
    sources: &Sources,
    given: &CompilerArgs,
    [c, cpp]: [&str; 2],
) -> anyhow::Result<Plan> {
    let text = |p: &Path| p.to_string_lossy().into_owned();
    let paths: Vec<PathBuf> = sources.all.iter().map(|s| s.path.clone()).collect();
    let disk = disk_for(&paths, Wanted::None);
    let runtime = cpu_runtime::shipped();
    let mut files: Vec<(PathBuf, String)> = runtime.into_iter().map(|(n, t)| (folder.join(n), t)).collect();
    let (mut compile, mut linked) = (Vec::new(), Vec::new());
    let here = ["-I".to_owned(), text(folder)];
    let level = format!("-O{}", given.level.as_deref().unwrap_or("2"));
    let kernels_way = ["-std=c++17", &level, "-w", "-ffp-contract=off", "-fwrapv"].map(str::to_owned);
    let object = |n: usize, source: &Path| {
        let stem = source.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
        text(&folder.join(format!("{n}_{stem}.o")))
    };
    let mut step = |source: &Path, is_kernels: bool, mut argv: Vec<String>, from: String, to: String| {
        argv.extend(["-c".to_owned(), from, "-o".to_owned(), to.clone()]);
        compile.push(Step { source: source.to_owned(), is_kernels, argv });
        to
    };
    for (n, source) in sources.all.iter().enumerate() {
        let to = object(n, &source.path);
        let around = disk.for_building(&source.origin);
        let mut argv = match source.kind {
            Kind::Linked => {
                linked.push(text(&std::path::absolute(&source.path)?));
                continue;
            }
            Kind::C => [&[c.to_owned(), level.clone(), "-w".to_owned()][..], &here].concat(),
            Kind::Cpp => [&[cpp.to_owned(), level.clone(), "-w".to_owned()][..], &here].concat(),
            Kind::Kernels => {
                let before = ["-include".to_owned(), cpu_runtime::HEADER.to_owned()];
                let mut argv = [&[cpp.to_owned()][..], &kernels_way, &here, &before].concat();
                let headers = headers(source, given)?;
                if !headers.is_empty() {
                    let place = folder.join(format!("{n}_headers"));
                    argv.extend(["-iquote".to_owned(), text(&place)]);
                    files.extend(headers.into_iter().map(|(name, t)| (place.join(name), t)));
                }
                argv
            }
        };
        argv.extend(around);
        argv.extend(given.compiling(source.kind != Kind::C));
        let from = match source.kind {
            Kind::Kernels => {
                argv.extend(["-x", "c++"].map(str::to_owned));
                let name =
                    source.path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
                let place = folder.join(format!("{n}_{name}.cpp"));
                files.push((place.clone(), translated(&source.path, &mut argv)?));
                text(&place)
            }
            _ => text(&source.path),
        };
        linked.push(step(&source.path, source.kind == Kind::Kernels, argv, from, to));
    }
    let argv = [&[cpp.to_owned()][..], &kernels_way, &here].concat();
    let source = folder.join(cpu_runtime::SOURCE);
    let runtime = step(&source, false, argv, text(&source), text(&folder.join("runtime.o")));
    let program = folder.join("program");
    // what is linked first begins first and ends last: it counts what the others do at the end, too
    let mut link = vec![cpp.to_owned(), runtime];
    link.extend(linked);
    link.extend(["-o".to_owned(), text(&program)]);
    link.extend(given.linking());
    Ok(Plan { files, compile, link, program })
}

/// A kernel file as C++, with its own name in complaints; `argv` gets what it needs.
fn translated(path: &Path, argv: &mut Vec<String>) -> anyhow::Result<String> {
    let text = std::fs::read_to_string(path).map_err(|e| {
        anyhow::anyhow!("{} cannot be read: {e}. Kernel files are UTF-8 texts.", path.display())
    })?;
    if !is_ours(&text) {
        argv.push("-DWW_PLAIN_SHARED".to_owned());
    }
    let shown = path.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\"");
    Ok(format!("#line 1 \"{shown}\"\n{}", cpu_runtime::rewrite(&with_reasons(&text))))
}

/// Headers of a kernel file that say what C++ cannot, rewritten: the names by which they are included, and their texts.
fn headers(source: &Source, given: &CompilerArgs) -> anyhow::Result<Vec<(String, String)>> {
    let read = |p: &Path| std::fs::read_to_string(p).ok();
    let folder_of = |p: &Path| p.parent().map(Path::to_owned).unwrap_or_default();
    let mut left = vec![(source.path.clone(), folder_of(&source.origin))];
    let (mut seen, mut out) = (BTreeSet::new(), Vec::new());
    while let Some((file, folder)) = left.pop() {
        let Some(text) = read(&file) else { continue };
        for name in text.lines().filter_map(included) {
            let folders = [folder.clone(), folder_of(&source.origin)];
            let places = folders.into_iter().chain(given.includes.iter().map(PathBuf::from));
            let Some(place) = places.map(|f| f.join(name)).find(|p| p.is_file()) else { continue };
            if !seen.insert(place.clone()) || seen.len() > HEADERS {
                continue;
            }
            let leaves = name.split('/').any(|part| part == "..") || name.starts_with('/');
            if let (false, Some(text)) = (leaves, read(&place)) {
                if cpu_runtime::rewrite(&text) != text {
                    out.push((name.to_owned(), translated(&place, &mut Vec::new())?));
                }
            }
            let around = folder_of(&place);
            left.push((place, around));
        }
    }
    Ok(out)
}

/// `#include "name"`
fn included(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?;
    rest.trim_start().strip_prefix('"')?.split('"').next()
}

impl CompilerArgs {
    /// What a compiler is told of a C++ file, or of a C one.
    fn compiling(&self, is_cpp: bool) -> Vec<String> {
        let with = |option: &str, all: &[String]| -> Vec<String> {
            all.iter().map(|v| format!("-{option}{v}")).collect()
        };
        let standard = self.standard.iter().filter(|s| s.contains("++") == is_cpp).map(|s| format!("-s{s}"));
        let debug = self.debug.then(|| "-g".to_owned());
        let plain = [with("D", &self.defines), with("I", &self.includes), with("W", &self.warnings)].concat();
        plain.into_iter().chain(standard).chain(debug).chain(self.both()).collect()
    }

    fn linking(&self) -> Vec<String> {
        let with = |option: &str, all: &[String]| -> Vec<String> {
            all.iter().map(|v| format!("-{option}{v}")).collect()
        };
        let mut out = self.both();
        out.extend(with("L", &self.library_folders));
        out.extend(with("l", &self.libraries));
        out.push("-lm".to_owned());
        out
    }

    /// For compilers and the linker.
    fn both(&self) -> Vec<String> {
        let with = |option: &str, all: &[String]| -> Vec<String> {
            all.iter().map(|v| format!("-{option}{v}")).collect()
        };
        [with("f", &self.f), with("m", &self.m), with("p", &self.threads), self.others.clone()].concat()
    }
}

/// Writes what a plan needs.
pub fn put(plan: &Plan) -> anyhow::Result<()> {
    for (path, text) in &plan.files {
        let folder = path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)
            .and_then(|()| files::write(path, text, Existing::Replace))
            .map_err(|e| files::unwritten(path, &e))?;
    }
    Ok(())
}

/// Builds the program in the folder.
pub fn build(
    folder: &Path,
    sources: &Sources,
    given: &CompilerArgs,
    compiler: &device::NativeCompiler,
    stop: &(dyn Fn() -> bool + Sync),
) -> anyhow::Result<PathBuf> {
    let [c, cpp] = compiler.programs().map(|p| p.to_string_lossy().into_owned());
    let plan = plan(folder, sources, given, [&c, &cpp])?;
    put(&plan)?;
    let lines: Vec<Vec<String>> = plan.compile.iter().map(|s| s.argv.clone()).collect();
    let done = device::run_steps(&lines, stop);
    let mut failed = Vec::new();
    for (step, done) in plan.compile.iter().zip(&done) {
        if !done.said.trim().is_empty() {
            note(done.said.trim_end());
        }
        if !done.is_done {
            failed.push(complaint(step, &done.said));
        }
    }
    if let Some(first) = failed.first() {
        let more = match failed.len() - 1 {
            0 => String::new(),
            n => format!(" (and {n} more files)"),
        };
        anyhow::bail!("{first}{more}");
    }
    let linked = device::run_steps(std::slice::from_ref(&plan.link), stop);
    match linked.first() {
        Some(l) if l.is_done => Ok(plan.program),
        Some(l) => {
            note(l.said.trim_end());
            anyhow::bail!("{}", unlinked(&l.said))
        }
        None => anyhow::bail!("nothing was linked. Run the command again."),
    }
}

/// What a failed compilation means: what is missing of CUDA is named.
fn complaint(step: &Step, said: &str) -> String {
    let file = step.source.display();
    if let Some(header) = said.lines().find_map(|l| between(l, "fatal error: ", ": No such file")) {
        let first = header.split(['/', '.', '_']).next().unwrap_or_default();
        let of_toolkit = step.is_kernels
            && ([
                "thrust",
                "cub",
                "cuda",
                "cooperative",
                "nvtx3",
                "cutlass",
                "mma",
                "math",
                "helper",
                "nv",
                "device",
            ]
            .contains(&first)
                || first.starts_with("cu"));
        return match of_toolkit {
            true => format!("{file} needs `{header}` of the CUDA toolkit, which the run time for CPUs does not have. {ELSEWHERE}"),
            false => format!("{file} includes `{header}`, which is not found. Name its folder with -I."),
        };
    }
    let missing: BTreeSet<&str> = said.lines().filter_map(undeclared).filter(|n| is_cudas(n)).collect();
    if step.is_kernels && !missing.is_empty() {
        let names: Vec<String> = missing.iter().take(NAMES).map(|n| format!("`{n}`")).collect();
        return format!(
            "{file} uses {}, which the run time for CPUs does not have. {ELSEWHERE}",
            names.join(", ")
        );
    }
    format!("{file} does not compile; the compiler's words are above. Options for it: -I, -D, -std=, or any with -X.")
}

const ELSEWHERE: &str = "Leave it out where the program is to run here (the macro WW_CUDA_SHIM_H is defined in kernel files), or \
                         build it with nvcc on a machine with a GPU; `warpwright run --write-runtime DIR FILES` shows what there is.";

fn between<'t>(line: &'t str, before: &str, after: &str) -> Option<&'t str> {
    line.split_once(before)?.1.split_once(after).map(|(name, _)| name)
}

/// The name that a complaint is about, if it says that nobody declared it.
fn undeclared(line: &str) -> Option<&str> {
    const GCC: [&str; 4] =
        ["was not declared", "has not been declared", "does not name a type", "is not a member of"];
    const CLANG: [&str; 3] = ["use of undeclared identifier", "unknown type name", "no member named"];
    let error = line.split_once("error: ")?.1;
    let is_one = GCC.iter().chain(&CLANG).any(|w| error.contains(w));
    let mut quoted = error.split('\'');
    is_one.then(|| quoted.nth(1)).flatten()
}

/// Whether a name is one that CUDA gives, by how it begins.
fn is_cudas(name: &str) -> bool {
    const BEGIN: [&str; 14] = [
        "cuda",
        "__",
        "atomic",
        "tex",
        "surf",
        "half",
        "cooperative_groups",
        "nvcuda",
        "wmma",
        "curand",
        "cublas",
        "cufft",
        "cusparse",
        "thrust",
    ];
    let is_driver = name.strip_prefix("cu").is_some_and(|r| r.starts_with(|c: char| c.is_ascii_uppercase()));
    is_driver || BEGIN.iter().any(|b| name.starts_with(b))
}

/// What a failed link means.
fn unlinked(said: &str) -> String {
    let quoted = |line: &str| between(line, "undefined reference to `", "'").map(str::to_owned);
    let missing: BTreeSet<String> = said.lines().filter_map(quoted).collect();
    if missing.contains("main") {
        return "none of the files has a `main`. Name all files of the program; `warpwright verify` runs functions that have none."
            .to_owned();
    }
    let doubled = said.lines().find_map(|l| between(l, "multiple definition of `", "'"));
    if let Some(name) = doubled {
        return format!(
            "`{name}` is defined in several files. Name one of them alone; of a file and what was rewritten from it, the rewritten one \
             stands where folders are named (`run gpu src`)."
        );
    }
    if missing.is_empty() {
        return "the program cannot be linked; the linker's words are above.".to_owned();
    }
    let names: Vec<String> = missing.iter().take(NAMES).map(|n| format!("`{n}`")).collect();
    let kernels = match missing.iter().any(|n| n.ends_with("_on_gpu")) {
        true => " Functions that end in `_on_gpu` are in the .cu files that `offload` wrote.",
        false => "",
    };
    format!(
        "none of the files defines {}. Name the file that does, too, or its library with -l.{kernels}",
        names.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaints_say_what_is_missing() {
        let step = Step { source: "k.cu".into(), is_kernels: true, argv: Vec::new() };
        let says = |said: &str| complaint(&step, said);
        assert!(says("k.cu:1:2: fatal error: cooperative_groups.h: No such file or directory")
            .contains("CUDA toolkit"));
        assert!(says("k.cu:1:2: fatal error: mine.h: No such file or directory").contains("with -I"));
        let two = "k.cu:3:5: error: 'cudaGraphLaunch' was not declared in this scope\nk.cu:4:5: error: 'cu' was not declared\n";
        assert!(says(two).starts_with("k.cu uses `cudaGraphLaunch`, which"), "{}", says(two));
        assert!(says("k.cu:3:5: error: use of undeclared identifier '__hadd'").contains("`__hadd`"));
        assert!(says("k.cu:3:5: error: 'mine' was not declared in this scope").contains("does not compile"));
        let link = "ld: a.o: undefined reference to `f_on_gpu'\nld: undefined reference to `g'\n";
        assert!(unlinked(link).starts_with("none of the files defines `f_on_gpu`, `g`."));
        assert!(unlinked("undefined reference to `main'").contains("`main`"));
        assert!(unlinked("multiple definition of `f'; a.o").contains("`run gpu src`"));
    }

    #[test]
    fn includes_are_seen() {
        assert_eq!(included("  # include \"a/b.cuh\" // x"), Some("a/b.cuh"));
        assert_eq!(included("#include <a.h>"), None);
    }
}
