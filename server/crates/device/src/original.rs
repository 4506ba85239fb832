//! The original of a bundle on the CPU of the machine where the bundle runs: built by the C compiler there, one core, in a
//! process of its own with limits.
//!
//! Deliberately absent: what it should leave.

use crate::bundle::{Bundle, Original, Word};
use crate::limits::original::{RUNS, TIMED_NS, WHOLE};
use crate::native::{native_compiler, run_by};
use base::CancelToken;
use serde::{Deserialize, Serialize};
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::Path;

const DRIVER: &str = include_str!("original.c");
/// As fast as a compiler makes it that keeps to C's arithmetic.
const OPTIONS: [&str; 4] = ["-O3", "-march=native", "-ffp-contract=off", "-w"];

/// What the original took.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CpuTimes {
    /// `gcc 12.2.0 -O3 -march=native`
    pub compiler: String,
    /// Of each run.
    pub ns: Vec<u64>,
    /// What the function returned, as a word: a whole number, or the bits of a double.
    pub value: u64,
}

/// Builds and runs it. Gives what it took, and the memory that it leaves, parallel to the bundle's. `Err`: a phrase.
pub(crate) fn run(
    bundle: &Bundle,
    original: &Original,
    cancel: &CancelToken,
) -> Result<(CpuTimes, Vec<Vec<u8>>), String> {
    let words = |e: std::io::Error| e.to_string();
    let folder = tempfile::Builder::new().prefix("warpwright-").tempdir().map_err(words)?;
    let folder = folder.path();
    let compiler = native_compiler(folder)
        .ok_or("there is no C compiler (gcc or clang on the search path) on that machine")?;
    let binary = build(&compiler, folder, original)?;
    if cancel.is_cancelled() {
        return Err("the request was cancelled".to_owned());
    }
    let (input, output) = (folder.join("input"), folder.join("output"));
    write_input(bundle, original, &input).map_err(words)?;
    let argv: Vec<String> = [&binary, &input, &output].map(|p| p.to_string_lossy().into_owned()).into();
    let argv = [argv, vec![RUNS.to_string(), TIMED_NS.to_string()]].concat();
    run_by(1, &argv, WHOLE).map_err(|why| format!("the original did not run there: {why}"))?;
    let (ns, value, memory) = read_output(bundle, &output).map_err(words)?;
    let compiler = format!("{} {} {}", compiler.name, OPTIONS[0], OPTIONS[1]);
    Ok((CpuTimes { compiler, ns, value }, memory))
}

fn build(
    compiler: &crate::NativeCompiler,
    folder: &Path,
    original: &Original,
) -> Result<std::path::PathBuf, String> {
    let text = |p: &Path| p.to_string_lossy().into_owned();
    let c = text(compiler.programs()[0]);
    let mut objects = Vec::new();
    let driver = (DRIVER.to_owned(), Vec::new());
    for (n, (source, flags)) in [&driver].into_iter().chain(&original.texts).enumerate() {
        let (file, object) = (folder.join(format!("{n}.c")), text(&folder.join(format!("{n}.o"))));
        std::fs::write(&file, source).map_err(|e| e.to_string())?;
        let mut argv = vec![c.clone()];
        argv.extend(OPTIONS.map(str::to_owned));
        argv.extend(flags.iter().cloned());
        argv.extend(["-c".to_owned(), "-o".to_owned(), object.clone(), text(&file)]);
        run_by(1, &argv, crate::limits::native::COMPILE)
            .map_err(|why| format!("{} says of the original: {why}", compiler.name))?;
        objects.push(object);
    }
    let binary = folder.join("original");
    let mut argv = vec![c];
    argv.extend(objects);
    argv.extend(["-o".to_owned(), text(&binary), "-lm".to_owned()]);
    if cfg!(target_os = "linux") {
        // other functions of the file may call what other files have; a run does not get there
        argv.extend(["-no-pie", "-Wl,--unresolved-symbols=ignore-all"].map(str::to_owned));
    }
    run_by(1, &argv, crate::limits::native::COMPILE)
        .map_err(|why| format!("the original is not linked: {why}"))?;
    Ok(binary)
}

fn write_input(bundle: &Bundle, original: &Original, path: &Path) -> std::io::Result<()> {
    let mut out = BufWriter::new(std::fs::File::create(path)?);
    let put = |w: u64, out: &mut BufWriter<std::fs::File>| out.write_all(&w.to_le_bytes());
    put(bundle.host.len() as u64, &mut out)?;
    for (n, m) in bundle.host.iter().enumerate() {
        let global = original.globals.iter().position(|g| *g as usize == n);
        put(global.map_or(0, |g| g as u64 + 1), &mut out)?;
        put(m.bytes, &mut out)?;
        let contents = m.make().ok_or_else(|| std::io::Error::other("an input is too large"))?;
        out.write_all(&contents)?;
    }
    let links = bundle.host.iter().enumerate().flat_map(|(n, m)| m.links.iter().map(move |l| (n as u64, l)));
    let links: Vec<[u64; 4]> = links.map(|(n, (at, to))| [n, *at, u64::from(to.memory), to.offset]).collect();
    put(links.len() as u64, &mut out)?;
    links.into_iter().flatten().try_for_each(|w| put(w, &mut out))?;
    put(original.arguments.len() as u64, &mut out)?;
    for a in &original.arguments {
        let three = match a {
            Word::Whole { value } => [0, *value as u64, 0],
            Word::Floating { bits } => [1, *bits, 0],
            Word::Memory { place } => [2, u64::from(place.memory), place.offset],
        };
        three.into_iter().try_for_each(|w| put(w, &mut out))?;
    }
    out.flush()
}

type Left = (Vec<u64>, u64, Vec<Vec<u8>>);

fn read_output(bundle: &Bundle, path: &Path) -> std::io::Result<Left> {
    let mut from = BufReader::new(std::fs::File::open(path)?);
    let word = |from: &mut BufReader<std::fs::File>| {
        let mut bytes = [0; 8];
        from.read_exact(&mut bytes).map(|()| u64::from_le_bytes(bytes))
    };
    let runs = word(&mut from)?;
    let ns = (0..runs.min(256)).map(|_| word(&mut from)).collect::<std::io::Result<Vec<_>>>()?;
    let value = word(&mut from)?;
    let mut memory = Vec::new();
    for m in &bundle.host {
        let mut bytes = vec![0; m.bytes as usize];
        from.read_exact(&mut bytes)?;
        memory.push(bytes);
    }
    Ok((ns, value, memory))
}
