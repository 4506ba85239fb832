//! The run time and a program's kernels as files, for who builds without this command.

use std::path::Path;

use super::super::writing::shell_line;
use super::super::{note, print};
use super::build;
use super::sources::Sources;
use super::CompilerArgs;

const NAME: &str = "BUILD.txt";

pub fn write(
    folder: &Path,
    sources: &Sources,
    given: &CompilerArgs,
    compiler: Option<&device::NativeCompiler>,
) -> anyhow::Result<()> {
    let names = match compiler {
        Some(c) => {
            c.programs().map(|p| p.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default())
        }
        None => ["gcc", "g++"].map(str::to_owned),
    };
    let [c, cpp] = &names;
    let mut plan = build::plan(folder, sources, given, [c, cpp])?;
    let lines: Vec<String> =
        plan.compile.iter().map(|s| &s.argv).chain([&plan.link]).map(|argv| shell_line(argv)).collect();
    let text = format!(
        "The program over a run time for CPUs, written by `warpwright run --write-runtime`. These lines build it, from the folder in\n\
         which that was said. Kernel files (.cu) are here as C++: their launches are calls of `ww_launch`. What the run time does and\n\
         which variables of the environment it knows stands at the beginning of ww_cuda_shim.cpp.\n\n{}\n",
        lines.join("\n")
    );
    plan.files.push((folder.join(NAME), text));
    // nothing is lost: what is there with another text was changed, or is somebody else's
    for (path, text) in &plan.files {
        if std::fs::read(path).is_ok_and(|old| old != text.as_bytes()) {
            anyhow::bail!(
                "{} exists with another text. Move it away, or name another folder.",
                path.display()
            );
        }
    }
    build::put(&plan)?;
    print(&(lines.join("\n") + "\n"))?;
    note(&format!("wrote the run time and these lines ({NAME}) into {}", folder.display()));
    Ok(())
}
