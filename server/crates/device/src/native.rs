//! Programs built and run by the machine's own compiler: `gcc` or `clang` as the search path gives them, in a folder of
//! the caller's, each step with a limit of time, in a process group that is ended with it.
//!
//! Where it is looked for, and where not, says [`crate::found`]. Deliberately absent: what the programs mean.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::found::{self, text};
use crate::limits::native::{COMPILE, RUN};
use crate::process::{Heard, Process};

/// By how many threads OpenMP regions are run.
pub const NATIVE_THREADS: u32 = 3;

/// A C compiler and its C++ one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NativeCompiler {
    c: PathBuf,
    cpp: PathBuf,
    /// `gcc 12.2.0`
    pub name: String,
}

/// Texts that become one program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NativeProgram<'a> {
    /// Name of the binary.
    pub name: &'a str,
    pub c: Vec<&'a str>,
    /// More C.
    pub parts: &'a [NativePart],
    /// C with the `main`, if none of the others has it: one for all programs of a folder, without the flags.
    pub driver: Option<&'a str>,
    /// C++ with `include` before it, and C++ without.
    pub cpp: &'a [String],
    pub include: &'a str,
    pub support: Vec<&'a str>,
    /// For the C texts; how much is optimised counts for C++ before which `include` stands, too.
    pub flags: &'a [String],
}

/// A C text that is part of a program, with options of its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NativePart {
    pub text: String,
    pub flags: Vec<String>,
}

/// An original and a rewritten program with their driver, to be run on one input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NativeTrial<'a> {
    pub original: &'a str,
    pub rewritten: &'a str,
    /// What both call.
    pub parts: &'a [NativePart],
    /// C++ that wants `include` before it.
    pub kernels: &'a [String],
    pub include: &'a str,
    /// The `main` of both.
    pub driver: &'a str,
    /// Names and texts beside them; those that end in `.cpp` are part of the rewritten program.
    pub support: &'a [(String, String)],
    /// For the C texts.
    pub flags: &'a [String],
    pub input: &'a [u8],
}

/// What the programs of a trial wrote.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NativeRuns {
    pub original: Vec<u8>,
    /// Original and rewritten without their OpenMP regions (with one thread where they ask for threads), where they have some.
    pub alone: Option<(Vec<u8>, Vec<u8>)>,
    pub rewritten: Vec<u8>,
}

/// The compiler of the search path; `None` where there is none. `outside`: nothing below it is taken.
pub fn native_compiler(outside: &Path) -> Option<NativeCompiler> {
    let outside = [std::path::absolute(outside).ok()?];
    [("gcc", "g++"), ("clang", "clang++")].into_iter().find_map(|(c, cpp)| {
        let (c_path, cpp) = (found::on_path(c, &outside)?, found::on_path(cpp, &outside)?);
        let version = run(
            &[text(&c_path), "-dumpfullversion".to_owned(), "-dumpversion".to_owned()],
            Duration::from_secs(10),
        )
        .ok()?;
        Some(NativeCompiler { c: c_path, cpp, name: format!("{c} {}", version.trim()) })
    })
}

/// Runs a command to its end and gives its output; the error is in words.
fn run(argv: &[String], limit: Duration) -> Result<String, String> {
    run_by(NATIVE_THREADS, argv, limit)
}

pub(crate) fn run_by(threads: u32, argv: &[String], limit: Duration) -> Result<String, String> {
    let mut child = Process::start_within(
        argv,
        &[("LC_ALL".to_owned(), "C".to_owned()), ("OMP_NUM_THREADS".to_owned(), threads.to_string())],
        1 << 16,
    )
    .map_err(|e| e.to_string())?;
    let (end, mut out) = (Instant::now() + limit, String::new());
    loop {
        match child.hear(Duration::from_millis(20)) {
            Heard::Line(line) if out.len() < 1 << 20 => out += &(line + "\n"),
            Heard::Line(_) | Heard::Garbage(_) => {}
            Heard::Closed => break,
            Heard::Nothing if Instant::now() > end => {
                child.kill();
                return Err(format!("it took more than {} seconds", limit.as_secs()));
            }
            Heard::Nothing => {}
        }
    }
    let how = child.end(end.saturating_duration_since(Instant::now()).min(Duration::from_secs(5)));
    let complaint = child.stderr();
    if how != "exit status: 0" {
        let line = complaint.lines().find(|l| l.contains("error")).or_else(|| complaint.lines().next());
        return Err(line.map_or(how, str::to_owned));
    }
    Ok(out)
}

/// Of options those that say where headers are.
fn folders(flags: &[String]) -> impl Iterator<Item = String> + '_ {
    let is_folder = |w: &&[String]| matches!(&*w[0], "-iquote" | "-I" | "-isystem" | "-idirafter");
    flags.windows(2).filter(is_folder).flatten().cloned()
}

impl NativeCompiler {
    /// The C compiler, and the one of C++.
    pub fn programs(&self) -> [&Path; 2] {
        [&self.c, &self.cpp]
    }

    /// Builds a program in a folder. The error is the compiler's first.
    pub fn build(&self, folder: &Path, p: &NativeProgram<'_>) -> Result<PathBuf, String> {
        let (c, cpp) = (text(&self.c), text(&self.cpp));
        let place = |name: &str| text(&folder.join(name));
        let here = format!("-I{}", text(folder));
        let mut objects = Vec::new();
        let step = |argv: Vec<String>, name: &str| {
            let object = place(&format!("{name}.o"));
            let mut argv = argv;
            argv.extend(["-c".to_owned(), "-o".to_owned(), object.clone(), here.clone()]);
            run(&argv, COMPILE).map(|_| object)
        };
        let write = |name: &str, of: &str| std::fs::write(folder.join(name), of).map_err(|e| e.to_string());
        let own = p.c.iter().map(|t| (*t, p.flags));
        let parts = p.parts.iter().map(|o| (o.text.as_str(), o.flags.as_slice()));
        for (n, (t, flags)) in own.chain(parts).enumerate() {
            let name = format!("{}_{n}", p.name);
            write(&format!("{name}.c"), t)?;
            let mut argv = vec![c.clone(), place(&format!("{name}.c"))];
            argv.extend(
                ["-O1", "-w", "-ffp-contract=off", "-fno-strict-aliasing", "-fwrapv"].map(str::to_owned),
            );
            argv.extend(flags.iter().cloned());
            objects.push(step(argv, &name)?);
        }
        if let Some(t) = p.driver {
            // the same for every program in this folder, whatever the flags of the others are
            let object = place("driver.o");
            if !Path::new(&object).exists() {
                write("driver.c", t)?;
                step(vec![c.clone(), place("driver.c"), "-O1".to_owned(), "-w".to_owned()], "driver")?;
            }
            objects.push(object);
        }
        let general =
            ["-std=c++17", "-O1", "-w", "-ffp-contract=off", "-fwrapv", "-x", "c++"].map(str::to_owned);
        for (n, t) in p.cpp.iter().enumerate() {
            let name = format!("{}_kernels_{n}", p.name);
            write(&format!("{name}.cpp"), t)?;
            let mut argv = vec![cpp.clone(), "-include".to_owned(), p.include.to_owned()];
            argv.extend(general.iter().cloned());
            argv.extend(p.flags.iter().filter(|f| f.starts_with("-O")).cloned());
            argv.extend(folders(p.flags));
            argv.push(place(&format!("{name}.cpp")));
            objects.push(step(argv, &name)?);
        }
        for name in &p.support {
            // the same for every program in this folder
            let object = place(&format!("{name}.o"));
            if Path::new(&object).exists() {
                objects.push(object);
                continue;
            }
            let mut argv = vec![cpp.clone()];
            argv.extend(general.iter().cloned());
            argv.push(place(name));
            objects.push(step(argv, name)?);
        }
        let binary = folder.join(p.name);
        let linker = if p.cpp.is_empty() && p.support.is_empty() { c } else { cpp };
        let mut argv = vec![linker];
        argv.extend(objects);
        argv.extend(["-o".to_owned(), text(&binary), "-lm".to_owned()]);
        // other functions of the file may call what other files have; a run does not get there
        if cfg!(target_os = "linux") {
            argv.extend(["-no-pie", "-Wl,--unresolved-symbols=ignore-all"].map(str::to_owned));
        }
        argv.extend(p.flags.iter().filter(|f| *f == "-fopenmp").cloned());
        run(&argv, COMPILE)?;
        Ok(binary)
    }

    /// Builds and runs both programs in a folder: what each wrote, and, where they have OpenMP regions, what both write
    /// without them. Several trials may have one folder, one after the other:
    /// what all have is compiled once.
    pub fn try_both(&self, folder: &Path, t: &NativeTrial<'_>) -> Result<NativeRuns, String> {
        let words = |e: std::io::Error| e.to_string();
        for (name, text) in t.support {
            let path = folder.join(name);
            if let Some(around) = path.parent() {
                std::fs::create_dir_all(around).map_err(words)?;
            }
            std::fs::write(path, text).map_err(words)?;
        }
        let (input, output) = (folder.join("input"), folder.join("output"));
        std::fs::write(&input, t.input).map_err(words)?;
        let parts: Vec<&str> =
            t.support.iter().map(|s| s.0.as_str()).filter(|n| n.ends_with(".cpp")).collect();
        let program = |name, text, cpp, support| NativeProgram {
            name,
            c: vec![text],
            parts: t.parts,
            driver: Some(t.driver),
            cpp,
            include: t.include,
            support,
            flags: t.flags,
        };
        let original = self.build(folder, &program("original", t.original, &[], Vec::new()))?;
        let first = self.run(NATIVE_THREADS, &original, &input, &output)?;
        let rewritten = self.build(folder, &program("rewritten", t.rewritten, t.kernels, parts.clone()))?;
        let second = self.run(NATIVE_THREADS, &rewritten, &input, &output)?;
        let alone = match t.flags.iter().position(|f| f == "-fopenmp") {
            // what asks for threads' numbers is built with them
            Some(_) if t.original.contains("omp_") => {
                Some((self.run(1, &original, &input, &output)?, self.run(1, &rewritten, &input, &output)?))
            }
            Some(at) => {
                let flags = [&t.flags[..at], &t.flags[at + 1..]].concat();
                let plain = |p: NativeProgram<'_>| self.build(folder, &NativeProgram { flags: &flags, ..p });
                let original = plain(program("original", t.original, &[], Vec::new()))?;
                let rewritten = plain(program("rewritten", t.rewritten, t.kernels, parts))?;
                Some((self.run(1, &original, &input, &output)?, self.run(1, &rewritten, &input, &output)?))
            }
            None => None,
        };
        Ok(NativeRuns { original: first, alone, rewritten: second })
    }

    /// Runs a program that reads one file of the folder and writes another one, which is given back.
    pub fn run(&self, threads: u32, binary: &Path, input: &Path, output: &Path) -> Result<Vec<u8>, String> {
        run_by(threads, &[text(binary), text(input), text(output)], RUN)?;
        std::fs::read(output).map_err(|e| e.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_too_long_is_ended() {
        let slept = run(&["sleep".to_owned(), "50".to_owned()], Duration::from_millis(200));
        assert!(slept.is_err_and(|e| e.contains("seconds")));
        assert!(run(&["false".to_owned()], Duration::from_secs(5)).is_err());
    }

    #[test]
    fn a_compiler_below_the_workspace_is_not_taken() {
        assert_eq!(native_compiler(Path::new("/")), None);
    }
}
