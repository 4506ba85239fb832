//! Trials of the fixtures for a machine with a GPU, where there is neither Rust nor this checkout's target folder: with
//! `WARPWRIGHT_TRIALS_TO=FOLDER WARPWRIGHT_NATIVE_TARGET=cuda` they are written there instead of being run, with a script that
//! builds them by nvcc and runs them; with `WARPWRIGHT_TRIALS_FROM=FOLDER` what came back is compared.

use std::path::{Path, PathBuf};

use ide::Natively;
use testkit::traced::renamed;

use crate::batch::{together, Part};

/// Counts launches, as the stand-in's run time does.
const COUNTED: &str = "#include <cuda_runtime.h>\nextern \"C\" { unsigned long ww_launch_count = 0; }\n\
    #define cudaGetLastError() (ww_launch_count += 1, cudaGetLastError())\n";

const SCRIPTS: [(&str, &str); 2] =
    [("run.sh", include_str!("elsewhere.sh")), ("same.py", include_str!("same.py"))];

/// Where trials go to or come from.
pub struct Elsewhere {
    folder: PathBuf,
    writes: bool,
}

impl Elsewhere {
    /// `None` without the variables.
    pub fn asked() -> Option<Elsewhere> {
        let place = |variable| std::env::var_os(variable).map(PathBuf::from);
        let to = place("WARPWRIGHT_TRIALS_TO").map(|folder| Elsewhere { folder, writes: true });
        to.or_else(|| place("WARPWRIGHT_TRIALS_FROM").map(|folder| Elsewhere { folder, writes: false }))
    }

    pub fn only_writes(&self) -> bool {
        self.writes
    }

    /// The trials of one program: written, or what came of them.
    pub fn at(&self, program: &str, parts: &[Part<'_>], main: &str) -> Vec<Result<Natively, String>> {
        let folder = self.folder.join(program.replace('/', "__"));
        if self.writes {
            if !parts.is_empty() {
                write(&folder, parts, main).expect("a folder that can be written to");
                for (name, text) in SCRIPTS {
                    std::fs::write(self.folder.join(name), text).expect("a file that can be written");
                }
            }
            return Vec::new();
        }
        let name = folder.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let said = std::fs::read_to_string(self.folder.join("said")).expect("what `run.sh` said");
        let one = |(n, p): (usize, &Part<'_>)| {
            let read = |of: &str| {
                let path = folder.join(format!("{of}_{n}"));
                std::fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))
            };
            let mut of_program = said.lines().filter_map(|l| l.strip_prefix(&*name));
            let mut of_trial = of_program.clone().filter_map(|l| l.strip_prefix(&format!(" {n}: ")));
            match of_trial.next_back() {
                Some("same") => Ok(Natively::Same(1)),
                Some("same, but no kernel ran") => Ok(Natively::NoKernel),
                Some("other") => Ok(p.trial.compare(&read("original")?, None, &read("rewritten")?)),
                Some(other) => Err(other.to_owned()),
                // what stands in the way of all
                None => Err(of_program.next_back().unwrap_or(": not run").to_owned()),
            }
        };
        parts.iter().enumerate().map(one).collect()
    }
}

fn write(folder: &Path, parts: &[Part<'_>], main: &str) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let own: Vec<usize> = (0..parts.len()).collect();
    for (name, texts) in [
        ("original", together(parts, &own, |t| t.original.as_str())),
        ("rewritten", together(parts, &own, |t| t.rewritten.as_str())),
    ] {
        for (n, text) in texts.iter().enumerate() {
            std::fs::write(folder.join(format!("{name}_{n}.c")), text)?;
        }
    }
    let (mut head, mut kernels) = (String::new(), String::new());
    for (n, p) in parts.iter().enumerate() {
        let names: Vec<&str> = p.shared.iter().flat_map(|s| s.launches).map(String::as_str).collect();
        let text = renamed(&p.trial.written.join("\n"), &names, n as u64);
        let (includes, rest): (Vec<&str>, Vec<&str>) =
            text.lines().partition(|l| l.trim_start().starts_with("#include"));
        includes.iter().for_each(|l| head += &format!("{l}\n"));
        kernels += &format!("namespace ww_trial_{n} {{\n{}\n}}\n", rest.join("\n"));
        std::fs::write(folder.join(format!("input_{n}")), &p.trial.input)?;
    }
    std::fs::write(folder.join("kernels.cu"), format!("{head}{COUNTED}{kernels}"))?;
    if let Some(first) = parts.first() {
        std::fs::write(folder.join("driver.c"), &first.trial.driver)?;
    }
    std::fs::write(folder.join("flags"), format!("-Dmain={main}\n"))
}
