//! From a source to kernels. What our NVRTC gives for PTX is the source itself behind a first line that says so.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::Budget;
use front::{lower, Language, Memo, Parsed, Unit};
use simulate::{compile, Code, Heap, Options, ParamKind, Program};

use crate::codes::*;
use crate::state::{setting, Module};

/// How a program of ours begins.
pub const FIRST_LINE: &str = "// Warpwright stand-in program 1: the source, for the simulator; no PTX\n";

/// For whoever reads the log of a test.
pub fn say(words: &str) {
    use std::io::Write as _;
    // a closed standard error is no reason to fail
    let _ = writeln!(std::io::stderr(), "warpwright stand-in: {words}");
}

/// How a parameter stands in C's memory.
pub enum Kind {
    Int { size: usize, signed: bool },
    F32,
    F64,
    Pointer,
    Record(usize),
}

/// The kernel's parameters.
pub fn kinds(code: &Code) -> Vec<Kind> {
    let params = code.funcs.first().map(|f| &f.params[..]).unwrap_or_default();
    params
        .iter()
        .map(|p| match p {
            ParamKind::Int(k) => Kind::Int { size: k.bits().div_ceil(8) as usize, signed: k.signed() },
            ParamKind::F32 => Kind::F32,
            ParamKind::F64 => Kind::F64,
            ParamKind::Pointer => Kind::Pointer,
            ParamKind::Record(n) => Kind::Record(*n as usize),
        })
        .collect()
}

fn read(source: &str, defines: Vec<(String, String)>) -> (Parsed, Unit) {
    let parsed = Parsed::parse(Language::Cuda, source);
    let options = front::Options { defines, ..front::Options::default() };
    let unit = lower(&parsed, &options, &mut Memo::default());
    (parsed, unit)
}

/// What the front end does not understand, a line each; nothing where it understands all.
pub fn faults(source: &str, defines: Vec<(String, String)>) -> Vec<String> {
    let (_, unit) = read(source, defines);
    let line = |at: u32| source.as_bytes().iter().take(at as usize).filter(|b| **b == b'\n').count() + 1;
    let outside = unit.rejects.iter().map(|r| (r.span.start, r));
    let inside =
        unit.items.iter().flat_map(|i| i.body.rejects().map(move |r| (i.span.start + r.span.start, r)));
    outside.chain(inside).map(|(at, r)| format!("line {}: error: {}", line(at), r.reason)).collect()
}

/// Compiles all kernels of a program of ours and makes its variables.
pub fn load(text: &str, heap: &mut Heap) -> Result<Module> {
    let Some(source) = text.strip_prefix(FIRST_LINE) else {
        say("this is no program of the stand-in's NVRTC (PTX and cubins are not executed; compile the source)");
        let is_ptx = text.lines().any(|l| l.trim_start().starts_with(".version"));
        return Err(if is_ptx { INVALID_PTX } else { NO_BINARY_FOR_GPU });
    };
    let (_, unit) = read(source, Vec::new());
    let program = Program::of(unit.items.iter().map(|i| &*i.body));
    let options = Options { overloads: true, ..Options::default() };
    let mut module = Module { globals: Default::default(), kernels: BTreeMap::new() };
    heap.swap_globals(&mut module.globals);
    let budget = Budget::new(setting("WARPWRIGHT_STANDIN_STEPS", 200_000_000));
    let made = unit.items.iter().filter(|i| i.is_kernel).try_for_each(|i| {
        let code = compile(&program, &i.name, &options)?;
        heap.make_globals(&code, &budget)?;
        module.kernels.insert(i.name.to_string(), Arc::new(code));
        Ok(())
    });
    heap.swap_globals(&mut module.globals);
    made.map_err(|f: simulate::Fault| {
        module.globals.values().for_each(|o| heap.free(*o));
        say(&format!("a module is not loaded: {f}"));
        INVALID_IMAGE
    })?;
    Ok(module)
}
