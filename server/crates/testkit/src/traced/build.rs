//! From analyzed files to a binary that runs their functions, and one run's record.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use term::{Body, Storage, SymbolId, TypeKind};

use super::inputs::{call, Given};
use super::marks::{function, Inserts, Tables, Var};
use super::print::Source;
use crate::fixture::Analyzed;

const RUNTIME: &str = concat!(include_str!("runtime.c"), include_str!("runs.c"));
const HEADER: &str = include_str!("runtime.h");

/// Functions that the runtime stands in for.
const LIBRARY: [&str; 15] = [
    "malloc",
    "calloc",
    "realloc",
    "free",
    "memcpy",
    "memmove",
    "memset",
    "memcmp",
    "strlen",
    "strcpy",
    "rand",
    "exit",
    "abort",
    "__builtin_trap",
    "__assert_fail",
];

/// The runtime, compiled once.
static OBJECT: OnceLock<Result<Vec<u8>, String>> = OnceLock::new();

/// A function that is called.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub file: usize,
    pub item: usize,
    pub given: Vec<Option<Given>>,
}

/// Several files that are built into one program.
pub struct Batch<'a> {
    pub(super) files: &'a [(String, Analyzed)],
    pub(super) tables: Tables,
    pub(super) cases: Vec<Case>,
    /// Functions that are not called, and why.
    pub not_called: Vec<(String, String)>,
    text: String,
}

/// Why gcc does not build a batch: its words, by file where it names a line of one.
pub(super) struct Refused {
    pub why: String,
    pub files: BTreeMap<usize, String>,
}

/// A program with what is known of its loops.
pub struct Built<'a> {
    pub(super) batch: Batch<'a>,
    binary: PathBuf,
    dir: PathBuf,
}

impl<'a> Batch<'a> {
    /// Marks files. All are put behind each other into one text, so that their file-scope names must differ.
    pub fn new(files: &'a [(String, Analyzed)]) -> Batch<'a> {
        Batch::without(files, &BTreeSet::new())
    }

    /// The same without some of them.
    pub(super) fn without(files: &'a [(String, Analyzed)], left_out: &BTreeSet<usize>) -> Batch<'a> {
        let mut b = Batch {
            files,
            tables: Tables::default(),
            cases: Vec::new(),
            not_called: Vec::new(),
            text: String::new(),
        };
        let mut out = String::from(
            "#include \"ww_traced.h\"\n#define main ww_users_main\n#define register\nstatic char ww_zero[1 << 16];\n",
        );
        for n in (0..files.len()).filter(|n| !left_out.contains(n)) {
            // its own numbers of lines, and its number where gcc complains
            out += &format!("#line 1 \"traced_{n}.c\"\n");
            b.file(n, &mut out);
        }
        b.text = out + &b.end();
        b
    }

    fn file(&mut self, n: usize, out: &mut String) {
        let (name, a) = &self.files[n];
        let mut globals: BTreeMap<String, (usize, &Body, SymbolId)> = BTreeMap::new();
        let mut after = String::new();
        for item in &a.unit.items {
            for (s, symbol) in item.body.symbols.iter_ids() {
                let is_object = !matches!(
                    item.body.types.kind(symbol.ty),
                    TypeKind::Function { .. } | TypeKind::Opaque(_)
                );
                let Storage::Global { .. } = symbol.storage else { continue };
                let known = globals.contains_key(&*symbol.name) || !is_object;
                if known || symbol.span.is_some_and(|s| s.is_empty()) || !declared_in(&a.text, &symbol.name) {
                    continue;
                }
                let var = Var { file: n, item: None, symbol: s, name: symbol.name.to_string() };
                globals.insert(symbol.name.to_string(), (self.tables.vars.len(), &item.body, s));
                self.tables.vars.push(var);
                // what another file would define
                let elsewhere = matches!(symbol.storage, Storage::Global { defined_here: false, .. });
                if elsewhere && item.body.types.size_align(symbol.ty).is_some() {
                    after += &format!("__typeof__({0}) {0} __attribute__((weak));\n", symbol.name);
                }
            }
        }
        // functions of the library's names are the file's own: the process itself needs the library's
        let own: Vec<&str> = a.unit.items.iter().map(|i| &*i.name).filter(|n| LIBRARY.contains(n)).collect();
        own.iter().for_each(|n| *out += &format!("#define {n} ww_own_{n}\n"));
        let mut inserts = Inserts::default();
        // what nothing writes is no input: the fourth says so
        let fixed = |name: &str| a.program.keeps_first_value(name);
        let all: Vec<_> = globals.iter().map(|(name, &(var, b, s))| (var, b, s, fixed(name))).collect();
        for (i, item) in a.unit.items.iter().enumerate() {
            let source = Source { text: &a.text, start: item.span.start as usize, body: &item.body };
            let mut fill = String::new();
            if !a.facts[i].loops.is_empty() {
                match call(source, &item.name, self.cases.len(), &all) {
                    Ok(c) => {
                        fill = c.fill;
                        after += &c.after;
                        self.cases.push(Case { file: n, item: i, given: c.given });
                    }
                    Err(why) => self.not_called.push((format!("{name}: {}", item.name), why)),
                }
            }
            function(source, (n, i), &a.facts[i], &fill, &mut self.tables, &mut inserts);
        }
        let marked = inserts.apply(&a.text);
        for line in marked.lines() {
            let pragma = line.trim_start().strip_prefix('#').map(str::trim_start);
            // these want a loop right behind them
            let wants_loop = pragma.is_some_and(|p| p.starts_with("pragma GCC"));
            *out += if wants_loop { "" } else { line };
            *out += "\n";
        }
        *out += &after;
        own.iter().for_each(|n| *out += &format!("#undef {n}\n"));
    }

    fn end(&self) -> String {
        let t = &self.tables;
        let table = |of: &str, rows: &[String], last: &str| {
            format!(
                "const {of}[] = {{ {} }};\n",
                rows.iter().map(String::as_str).chain([last]).collect::<Vec<_>>().join(", ")
            )
        };
        let cases: Vec<String> =
            (0..self.cases.len()).map(|n| format!("{{ \"{n}\", ww_fill_{n}, ww_call_{n} }}")).collect();
        let mut out = table("ww_query ww_queries", &t.queries, "{ -1, 0, 0, 0 }");
        let mut first = 0;
        let firsts: Vec<String> = t
            .loops
            .iter()
            .map(|l| {
                first += l.queries.len();
                (first - l.queries.len()).to_string()
            })
            .collect();
        out += &table("int ww_first_query", &firsts, "0");
        out += &table("ww_member ww_members", &t.members, "{ -1, -1, 0 }");
        out += &format!("const int ww_member_count = {};\n", t.members.len());
        out += &table("int ww_header_vars", &t.headers, "-1, -1");
        out += &format!("const int ww_header_count = {};\n", t.headers.len());
        out += &format!("const int ww_var_count = {};\n", t.vars.len() + 1);
        out += &table("ww_case ww_cases", &cases, "{ 0, 0, 0 }");
        out += &format!("const int ww_case_count = {};\n", cases.len());
        out
    }

    /// Compiles and links in a folder; the error is gcc's.
    pub fn build(self, dir: &Path, flags: &[&str]) -> Result<Built<'a>, String> {
        self.try_build(dir, flags).map_err(|r| r.why)
    }

    pub(super) fn try_build(self, dir: &Path, flags: &[&str]) -> Result<Built<'a>, Refused> {
        let plain = |why: String| Refused { why, files: BTreeMap::new() };
        self.prepare(dir).map_err(plain)?;
        self.compile(dir, flags).map_err(|why| Refused { files: self.named(&why), why })?;
        link(dir).map_err(plain)?;
        Ok(Built { batch: self, binary: dir.join("traced"), dir: dir.to_owned() })
    }

    /// The files that gcc complains of.
    fn named(&self, why: &str) -> BTreeMap<usize, String> {
        let mut out: BTreeMap<usize, String> = BTreeMap::new();
        for line in why.lines() {
            let number =
                line.split_once("traced_").and_then(|(_, rest)| rest.split('.').next()?.parse().ok());
            if let Some(n) = number.filter(|n| *n < self.files.len()) {
                out.entry(n).or_insert_with(|| line.to_owned());
            }
        }
        out
    }

    /// Puts the runtime into a folder.
    fn prepare(&self, dir: &Path) -> Result<(), String> {
        let io = |e: std::io::Error| format!("{}: {e}", dir.display());
        let runtime = dir.join("ww_runtime.o");
        if !runtime.exists() {
            std::fs::write(dir.join("ww_traced.h"), HEADER).map_err(io)?;
            let object = OBJECT.get_or_init(|| {
                std::fs::write(dir.join("runtime.h"), HEADER).map_err(io)?;
                std::fs::write(dir.join("ww_runtime.c"), RUNTIME).map_err(io)?;
                let flags = "-O2 -fno-omit-frame-pointer -fno-builtin -w -c ww_runtime.c -o ww_runtime.o";
                gcc(dir, &flags.split(' ').collect::<Vec<_>>())?;
                std::fs::read(&runtime).map_err(io)
            });
            std::fs::write(&runtime, object.as_ref().map_err(String::clone)?).map_err(io)?;
        }
        Ok(())
    }

    fn compile(&self, dir: &Path, flags: &[&str]) -> Result<(), String> {
        let io = |e: std::io::Error| format!("{}: {e}", dir.display());
        std::fs::write(dir.join("traced.c"), &self.text).map_err(io)?;
        let mut all = vec![
            "-std=gnu11",
            "-O0",
            "-w",
            "-ffp-contract=off",
            "-fno-omit-frame-pointer",
            "-fsanitize=thread",
        ];
        // what a signal tells as well is not asked for
        all.extend([
            "-fsanitize=undefined",
            "-fsanitize-undefined-trap-on-error",
            "-fno-sanitize=alignment,vptr,null,pointer-overflow,object-size,bool,enum,builtin",
        ]);
        all.extend(["-fno-builtin", "-I."]);
        all.extend(flags);
        all.extend(["-c", "traced.c", "-o", "traced.o"]);
        gcc(dir, &all)
    }
}

fn link(dir: &Path) -> Result<(), String> {
    let mut link = vec!["traced.o", "ww_runtime.o", "-o", "traced", "-no-pie", "-lm"];
    let wraps: Vec<String> = LIBRARY.iter().map(|w| format!("-Wl,--wrap={w}")).collect();
    link.extend(wraps.iter().map(String::as_str));
    link.push("-Wl,--unresolved-symbols=ignore-all");
    gcc(dir, &link)
}

/// Whether the file's own text names it: a header's variables need not be there.
fn declared_in(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        let edge = |c: Option<char>| !c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        edge(text[..at].chars().next_back()) && edge(text[at + name.len()..].chars().next())
    })
}

fn gcc(dir: &Path, args: &[&str]) -> Result<(), String> {
    let out = Command::new("gcc").args(args).current_dir(dir).output().map_err(|e| format!("gcc: {e}"))?;
    if out.status.success() {
        return Ok(());
    }
    let all = String::from_utf8_lossy(&out.stderr).into_owned();
    let some: Vec<&str> =
        all.lines().filter(|l| l.contains("error") || l.contains("undefined")).take(60).collect();
    Err(format!("gcc: {}", some.join("\n")))
}

/// A call of one of the functions.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub case: usize,
    pub seed: u64,
    pub size: i64,
    pub overlap: bool,
    /// Whether every byte that is touched is told.
    pub trace: bool,
    pub limit: u64,
    pub args: Vec<i64>,
    /// What a replay began with.
    pub entries: Vec<Cell>,
}

/// A scalar of it, in the runtime's numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Cell {
    pub owner: u8,
    pub index: i64,
    pub offset: i64,
    pub size: u32,
    pub kind: u8,
    pub into: u32,
    pub bits: u64,
}

impl Run {
    pub(super) fn words(&self, case: &Case) -> String {
        let given = case.given.iter().zip(&self.args);
        let mut all: Vec<String> =
            given.filter_map(|(g, v)| Some(format!("{}={v}", g.as_ref()?.name))).collect();
        if self.overlap {
            all.push("arrays may overlap".to_owned());
        }
        if !self.entries.is_empty() {
            all.push("what the replay began with".to_owned());
        }
        all.push(format!("seed {}", self.seed));
        all.join(", ")
    }
}

/// What one call's record says: lines of words.
#[derive(Clone, Debug, Default)]
pub(super) struct Record {
    pub lines: Vec<Vec<String>>,
    /// Why it did not end.
    pub fault: Option<String>,
}

impl Built<'_> {
    /// Runs calls; one record each.
    pub(super) fn run(&self, runs: &[Run]) -> Result<Vec<Record>, String> {
        let mut out = Vec::new();
        // what takes the whole process down ends its own record alone
        while out.len() < runs.len() {
            let before = out.len();
            self.run_some(&runs[before..], &mut out)?;
            if out.len() == before {
                let why = Some("the traced program does not start".to_owned());
                out.resize(runs.len(), Record { lines: Vec::new(), fault: why });
            }
        }
        Ok(out)
    }

    fn run_some(&self, runs: &[Run], out: &mut Vec<Record>) -> Result<(), String> {
        let io = |e: std::io::Error| format!("{}: {e}", self.dir.display());
        let mut input = String::new();
        for r in runs {
            let mut args: Vec<String> = r.args.iter().map(i64::to_string).collect();
            args.extend(r.entries.iter().map(|e| {
                format!("@ {} {} {} {} {} {} {}", e.owner, e.index, e.offset, e.size, e.kind, e.into, e.bits)
            }));
            input += &format!(
                "{} {} {} {} {} {} {}\n",
                r.case,
                r.seed,
                r.size,
                i32::from(r.overlap),
                i32::from(r.trace),
                r.limit,
                args.join(" ")
            );
        }
        let mut child = Command::new(&self.binary)
            .arg("record")
            .current_dir(&self.dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(io)?;
        if let Some(mut pipe) = child.stdin.take() {
            // a program that ended early does not read it all
            let _ = pipe.write_all(input.as_bytes());
        }
        child.wait().map_err(io)?;
        let text = std::fs::read_to_string(self.dir.join("record")).unwrap_or_default();
        let mut now: Option<(Record, bool)> = None;
        for line in text.lines() {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            match words.first().map(String::as_str) {
                Some("C" | "end") => {
                    if let Some((mut r, ended)) = now.take() {
                        if !ended && r.fault.is_none() {
                            r.fault = Some("the process ended".to_owned());
                        }
                        out.push(r);
                    }
                    now = (words[0] == "C").then(Default::default);
                }
                Some(first) => {
                    let Some((r, ended)) = &mut now else { continue };
                    match first {
                        "F" => r.fault = Some(words[1..].join(" ")),
                        "R" => *ended = true,
                        _ => r.lines.push(words),
                    }
                }
                None => {}
            }
        }
        if let Some((mut r, _)) = now {
            r.fault.get_or_insert_with(|| "the process ended".to_owned());
            out.push(r);
        }
        Ok(())
    }
}
