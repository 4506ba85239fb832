//! Random conditions of `#if`, decided by us and by `gcc -E`.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use front::{Language, Memo, Options, Parsed, Predefined};

use crate::rng::Rng;

/// Macros that the conditions use.
const HEAD: &str = "#define ONE 1
#define MINUS (-1)
#define BIG 0x8000000000000000u
#define ADD(a, b) ((a) + (b))
#define SELF SELF + 2
#define CALLED(x) x
#define HAS_ONE defined(ONE)
#define HAS_NONE defined NOWHERE
#define PASTE(a, b) a ## b
#define EMPTY
";

/// So many random conditions.
pub fn conditions(seed: u64, count: usize) -> Vec<String> {
    let mut rng = Rng::new(seed);
    (0..count).map(|_| expression(&mut rng, 4)).collect()
}

fn expression(rng: &mut Rng, depth: usize) -> String {
    if depth == 0 || rng.chance(15) {
        return leaf(rng);
    }
    let mut part = || {
        let inner = expression(rng, depth - 1);
        if rng.chance(60) {
            format!("({inner})")
        } else {
            inner
        }
    };
    let (a, b, c) = (part(), part(), part());
    match rng.below(12) {
        0 | 1 => format!("{a} ? {b} : {c}"),
        2 => format!("{} {a}", rng.pick(&["-", "!", "~", "+"])),
        3 => format!("({a}) {} ({})", rng.pick(&["<<", ">>"]), rng.below(66)),
        4 => format!("ADD({a}, {b})"),
        5 | 6 => format!("{a} {} {b}", rng.pick(&["&&", "||"])),
        7 | 8 => format!("({a}) {} ({b})", rng.pick(&["<", "<=", ">", ">=", "==", "!="])),
        _ => format!("{a} {} {b}", rng.pick(&["+", "-", "*", "/", "%", "&", "|", "^"])),
    }
}

fn leaf(rng: &mut Rng) -> String {
    let words = [
        "0",
        "1",
        "2",
        "3u",
        "0u",
        "7L",
        "10UL",
        "-1",
        "0x7fffffffffffffff",
        "0xffffffffffffffff",
        "9223372036854775807",
        "0x8000000000000000",
        "BIG",
        "ONE",
        "MINUS",
        "NOWHERE",
        "SELF",
        "CALLED",
        "CALLED(4)",
        "HAS_ONE",
        "HAS_NONE",
        "defined(ONE)",
        "defined NOWHERE",
        "defined ( CALLED )",
        "'a'",
        "'\\0'",
        "'\\377'",
        "'\\n'",
        "PASTE(1, 2u)",
        "010",
        "0b101",
        "1 EMPTY",
        "4294967296",
        "(1/0)",
        "(0 && 1/0)",
        "int",
        "__LINE__",
        // a compiler's own, which its target decides, and which its options decide
        "linux",
        "defined(unix)",
        "defined(__linux__)",
        "__SSE2__",
        "defined __SSE__",
        "__x86_64__",
        "__SIZEOF_LONG__",
        "(__GNUC__ > 3)",
        "defined(__clang__)",
        "__INT_MAX__",
        "__LONG_MAX__",
        "(__STDC_VERSION__ > 199000L)",
        "__BYTE_ORDER__",
        "defined(__has_feature)",
        "_WIN32",
        "__AVX__",
        "defined(_OPENMP)",
        "__OPTIMIZE__",
        "__NO_INLINE__",
    ];
    (*rng.pick(&words)).to_owned()
}

/// The program: one condition after the other.
fn text(all: &[String]) -> String {
    let mut out = String::from(HEAD);
    for (n, c) in all.iter().enumerate() {
        writeln!(out, "#if {c}\nint yes_{n};\n#else\nint no_{n};\n#endif").ok();
    }
    out
}

/// What gcc says it defines, when it is called so. `known`: we are told how.
pub fn gcc_says(options: &[&str], known: bool) -> Result<Predefined, String> {
    let out = Command::new("gcc")
        .args(options)
        .args(["-dM", "-E", "-x", "c", "/dev/null"])
        .output()
        .map_err(|e| format!("gcc: {e}"))?;
    Predefined::read(Language::C, &String::from_utf8_lossy(&out.stdout), known)
}

/// What we say with what a compiler said; `None`: not known.
pub fn ours(all: &[String], compiler: Option<Predefined>) -> Vec<Option<bool>> {
    let parsed = Parsed::parse(Language::C, text(all).as_str());
    let unit = front::lower(
        &parsed,
        &Options { compiler: compiler.map(Arc::new), ..Options::default() },
        &mut Memo::new(),
    );
    let mut said = vec![(false, false); all.len()];
    for name in unit.items.iter().map(|i| &i.name) {
        let number = |prefix: &str| name.strip_prefix(prefix)?.parse::<usize>().ok();
        if let Some(s) = number("yes_").and_then(|n| said.get_mut(n)) {
            s.0 = true;
        }
        if let Some(s) = number("no_").and_then(|n| said.get_mut(n)) {
            s.1 = true;
        }
    }
    said.into_iter().map(|s| if s.0 != s.1 { Some(s.0) } else { None }).collect()
}

/// What gcc says when it is called so; `None`: it refuses the condition.
pub fn theirs(all: &[String], options: &[&str], dir: &Path) -> Result<Vec<Option<bool>>, String> {
    let file = dir.join("conditions.c");
    std::fs::write(&file, text(all)).map_err(|e| e.to_string())?;
    let out = Command::new("gcc")
        .args(["-E", "-P", "-w", "-fmax-errors=0"])
        .args(options)
        .arg(&file)
        .output()
        .map_err(|e| format!("gcc: {e}"))?;
    let mut said: Vec<Option<bool>> = vec![None; all.len()];
    for line in String::from_utf8_lossy(&out.stdout).split(';') {
        let number = |prefix: &str| line.trim().strip_prefix(prefix)?.parse::<usize>().ok();
        if let Some(s) = number("int yes_").and_then(|n| said.get_mut(n)) {
            *s = Some(true);
        }
        if let Some(s) = number("int no_").and_then(|n| said.get_mut(n)) {
            *s = Some(false);
        }
    }
    // a condition in error counts as false, which says nothing
    let head = HEAD.lines().count();
    for line in String::from_utf8_lossy(&out.stderr).lines().filter(|l| l.contains(" error: ")) {
        let at = line.split(':').nth(1).and_then(|n| n.parse::<usize>().ok());
        if let Some(s) = at.and_then(|at| said.get_mut((at.checked_sub(head + 1)?) / 5)) {
            *s = None;
        }
    }
    Ok(said)
}
