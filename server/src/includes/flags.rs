//! What the compiler is told about a file: options of the command line, `compile_commands.json` and
//! `compile_flags.txt` (the formats of Clang's tooling).
//!
//! No compiler that is named here is ever run. Options that decide what one defines ([`decides`]) are handed to the one of
//! this machine. Deliberately absent: what does not change how a file reads (warnings, outputs).

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::plain;

/// Options of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    pub defines: Vec<(String, Option<String>)>,
    pub undefines: Vec<String>,
    /// `-I`
    pub folders: Vec<PathBuf>,
    /// `-iquote`
    pub quoted: Vec<PathBuf>,
    /// `-isystem`, `-idirafter`
    pub system: Vec<PathBuf>,
    /// `-include`
    pub includes: Vec<String>,
    /// All options that decide what a compiler defines; `None`: they are not known, or only of a file nearby.
    pub deciding: Option<Vec<String>>,
}

/// What `-fopenmp` defines, where no compiler can be asked.
const OPENMP: (&str, &str) = ("_OPENMP", "201511");

impl Flags {
    /// Reads options; relative folders are below `folder`.
    fn read(arguments: &[String], folder: &Path) -> Flags {
        let deciding: Vec<String> = arguments.iter().filter(|a| decides(a)).cloned().collect();
        // a file of options may say anything
        let is_all = !arguments.iter().any(|a| a.starts_with('@'));
        let mut flags = Flags { deciding: Some(deciding).filter(|_| is_all), ..Flags::default() };
        let mut rest = arguments.iter().map(String::as_str);
        while let Some(argument) = rest.next() {
            let mut value = |name: &str| -> Option<String> {
                let tail = argument.strip_prefix(name)?;
                match tail.is_empty() {
                    true => rest.next().map(str::to_owned),
                    false => Some(tail.strip_prefix('=').unwrap_or(tail).to_owned()),
                }
            };
            let place = |text: String| plain(&folder.join(text));
            // longer names first: `-include` begins like `-I` to some
            if let Some(v) = value("-isystem").or_else(|| value("-idirafter")) {
                flags.system.push(place(v));
            } else if let Some(v) = value("-iquote") {
                flags.quoted.push(place(v));
            } else if let Some(v) = value("-include") {
                let path = place(v.clone());
                let name = if path.is_file() { path.to_string_lossy().into_owned() } else { v };
                flags.includes.push(name);
            } else if let Some(v) = value("-I") {
                flags.folders.push(place(v));
            } else if let Some(v) = value("-D") {
                let (name, value) = crate::settings::parse_define(&v);
                flags.undefines.retain(|n| *n != name);
                flags.defines.push((name, value));
            } else if let Some(v) = value("-U") {
                flags.defines.retain(|(n, _)| *n != v);
                flags.undefines.push(v);
            } else if argument == "-fopenmp" {
                flags.defines.push((OPENMP.0.to_owned(), Some(OPENMP.1.to_owned())));
            }
        }
        flags
    }

    /// A compiler was asked with the deciding options: what was taken for its answer goes.
    pub fn leave_to_compiler(&mut self) {
        self.defines.retain(|(n, v)| (n.as_str(), v.as_deref()) != (OPENMP.0, Some(OPENMP.1)));
    }
}

/// Whether an option decides what a compiler defines by itself. None of these reads or writes a file, or starts a program.
fn decides(option: &str) -> bool {
    const WORDS: [&str; 22] = [
        "-ansi",
        "-pthread",
        "-fopenmp",
        "-fopenmp-simd",
        "-fopenacc",
        "-ffast-math",
        "-ffinite-math-only",
        "-funsafe-math-optimizations",
        "-fassociative-math",
        "-freciprocal-math",
        "-fmath-errno",
        "-fsigned-zeros",
        "-ftrapping-math",
        "-frounding-math",
        "-fsignaling-nans",
        "-finline",
        "-fPIC",
        "-fpic",
        "-fPIE",
        "-fpie",
        "-funsigned-char",
        "-fsigned-char",
    ];
    const LEVELS: [&str; 10] = ["", "0", "1", "2", "3", "s", "g", "fast", "z", "4"];
    const PARTS: [&str; 41] = [
        "avx",
        "sse",
        "ssse",
        "fma",
        "bmi",
        "f16c",
        "popcnt",
        "lzcnt",
        "aes",
        "pclmul",
        "gfni",
        "vaes",
        "vpclmulqdq",
        "sha",
        "rdrnd",
        "rdseed",
        "adx",
        "xsave",
        "abm",
        "tbm",
        "xop",
        "3dnow",
        "movbe",
        "crc32",
        "fsgsbase",
        "cx16",
        "sahf",
        "prfchw",
        "rtm",
        "hle",
        "clflushopt",
        "clwb",
        "amx",
        "mmx",
        "64",
        "32",
        "x32",
        "16",
        "lwp",
        "fxsr",
        "prefer-vector-width=",
    ];
    let is_word = |w: &str| {
        w.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '+' | '-' | ':' | '='))
    };
    let positive = option.strip_prefix("-fno-").map(|rest| format!("-f{rest}"));
    let value = |names: &[&str]| names.iter().any(|n| option.starts_with(n));
    let level = option.strip_prefix("-O").is_some_and(|l| LEVELS.contains(&l));
    let part = option.strip_prefix("-m").map(|p| p.strip_prefix("no-").unwrap_or(p));
    is_word(option)
        && (WORDS.contains(&positive.as_deref().unwrap_or(option))
            || level
            || value(&[
                "-std=",
                "-march=",
                "-mcpu=",
                "-mtune=",
                "-mfpmath=",
                "-fsanitize=",
                "-fstack-protector",
            ])
            || part.is_some_and(|p| PARTS.iter().any(|x| p.starts_with(x))))
}

/// What a folder says of files in and below it.
#[derive(Debug, Default)]
pub struct Project {
    /// File and its options.
    commands: Vec<(PathBuf, Flags)>,
    /// For every file.
    all: Option<Flags>,
}

impl Project {
    /// Reads what stands in a folder, or in its `build`.
    pub fn read(folder: &Path) -> Project {
        let database = [folder.join("compile_commands.json"), folder.join("build/compile_commands.json")];
        let commands = database.iter().find_map(|path| commands(path)).unwrap_or_default();
        let all = std::fs::read_to_string(folder.join("compile_flags.txt")).ok().map(|text| {
            let lines: Vec<String> =
                text.lines().map(str::trim).filter(|l| !l.is_empty()).map(str::to_owned).collect();
            Flags::read(&lines, folder)
        });
        Project { commands, all }
    }

    /// Whether a file is listed.
    pub fn lists(&self, file: &Path) -> bool {
        self.commands.iter().any(|(path, _)| path == file)
    }

    /// All files that are listed, if this one is; but for those that are compiled in several ways.
    pub fn compiled_with(&self, file: &Path) -> Option<Vec<PathBuf>> {
        let is_listed = self.lists(file);
        let mut ways: std::collections::BTreeMap<&PathBuf, Option<&Flags>> = Default::default();
        for (path, flags) in &self.commands {
            ways.entry(path).and_modify(|w| *w = w.filter(|f| *f == flags)).or_insert(Some(flags));
        }
        let one_way = ways.into_iter().filter(|(_, w)| w.is_some()).map(|(path, _)| path.clone());
        is_listed.then(|| one_way.collect())
    }

    /// The options of a file: its own, or those of the file that is nearest to it.
    pub fn flags_of(&self, file: &Path) -> Option<Flags> {
        let own = self.commands.iter().find(|(path, _)| path == file);
        let shared =
            |path: &Path| path.components().zip(file.components()).take_while(|(a, b)| a == b).count();
        if let Some((_, flags)) = own {
            return Some(flags.clone());
        }
        // the first of equally near ones; that they are compiled for the same processor is not said
        let nearest = self.commands.iter().rev().max_by_key(|(path, _)| shared(path));
        let nearest = nearest.map(|(_, flags)| Flags { deciding: None, ..flags.clone() });
        nearest.or_else(|| self.all.clone())
    }
}

fn commands(path: &Path) -> Option<Vec<(PathBuf, Flags)>> {
    let text = std::fs::read_to_string(path).ok()?;
    let value: Value = serde_json::from_str(&text)
        .map_err(|e| tracing::warn!("{} is not used: {e}", path.display()))
        .ok()?;
    let entries = value.as_array()?.iter().filter_map(|entry| {
        let text = |key: &str| entry.get(key).and_then(Value::as_str);
        let folder = match text("directory") {
            Some(folder) => plain(&path.parent()?.join(folder)),
            None => path.parent()?.to_owned(),
        };
        let arguments: Vec<String> = match entry.get("arguments").and_then(Value::as_array) {
            Some(list) => list.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            None => words(text("command")?),
        };
        Some((plain(&folder.join(text("file")?)), Flags::read(&arguments, &folder)))
    });
    Some(entries.collect())
}

/// A command as a shell cuts it: quotes and backslashes, nothing else.
fn words(command: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = command.chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            ('\'' | '"', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, Some(q)) if c == q => quote = None,
            ('\\', None | Some('"')) => word.get_or_insert_default().extend(chars.next()),
            (c, None) if c.is_whitespace() => out.extend(word.take()),
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    out.extend(word);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_as_a_shell_and_a_compiler_read_them() {
        let command = r#"cc -c -DA -D B=2 '-DS="x y"' -Iinc -I ../up -isystem sys -iquote q -UA -fopenmp -include pre.h -O2 x.c"#;
        let flags = Flags::read(&words(command), Path::new("/p/build"));
        let defines: Vec<String> =
            flags.defines.iter().map(|(n, v)| format!("{n}={}", v.as_deref().unwrap_or("-"))).collect();
        assert_eq!(defines, ["B=2", "S=\"x y\"", "_OPENMP=201511"]);
        assert_eq!(flags.undefines, ["A"]);
        assert_eq!(flags.folders, [PathBuf::from("/p/build/inc"), PathBuf::from("/p/up")]);
        assert_eq!(flags.system, [PathBuf::from("/p/build/sys")]);
        assert_eq!(flags.quoted, [PathBuf::from("/p/build/q")]);
        assert_eq!(flags.includes, ["pre.h"]);
        assert_eq!(flags.deciding, Some(vec!["-fopenmp".to_owned(), "-O2".to_owned()]));
    }

    #[test]
    fn options_that_decide_are_passed_on_and_no_others() {
        let deciding =
            |command: &str| Flags::read(&words(command), Path::new("/p")).deciding.map(|d| d.join(" "));
        let passed =
            "-O3 -march=native -mavx2 -mno-sse4.2 -std=gnu11 -ffast-math -fno-math-errno -fopenmp -fPIC";
        assert_eq!(deciding(&format!("cc {passed} -c x.c -o x.o")).as_deref(), Some(passed));
        // what reads, writes or starts something, or takes the word after it
        let kept = "-B/evil -fplugin=evil.so -specs=evil -wrapper evil,--args -Xclang -load -imacros x -MF out -dumpdir d \
                    -save-temps -fprofile-use=x -o x -E --sysroot=/x -Wp,-MD,out -mllvm -I/x -std=c11$(x) -fdump-tree-all";
        assert_eq!(deciding(kept).as_deref(), Some(""));
        assert_eq!(deciding("cc @options -O2 x.c"), None);
    }

    #[test]
    fn a_file_without_an_entry_has_its_neighbours_options() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let root = folder.path();
        let database = serde_json::json!([
            {"directory": root, "file": "one/a.c", "command": "cc -DONE a.c"},
            {"directory": root.join("two"), "file": "b.c", "arguments": ["cc", "-DTWO"]},
        ]);
        std::fs::write(root.join("compile_commands.json"), database.to_string())?;
        let project = Project::read(root);
        let name = |file: &str| {
            let flags = project.flags_of(&root.join(file)).unwrap_or_default();
            flags.defines.first().map(|d| d.0.clone()).unwrap_or_default()
        };
        assert_eq!([name("one/a.c"), name("two/c.c"), name("two/b.c")], ["ONE", "TWO", "TWO"]);
        let deciding = |file: &str| project.flags_of(&root.join(file)).unwrap_or_default().deciding;
        assert_eq!(
            (deciding("one/a.c"), deciding("two/c.c")),
            (Some(Vec::new()), None),
            "those of another file"
        );
        std::fs::write(root.join("compile_flags.txt"), "-DALL\n\n-Iinc\n")?;
        std::fs::remove_file(root.join("compile_commands.json"))?;
        let project = Project::read(root);
        assert_eq!(project.flags_of(&root.join("x.c")).unwrap_or_default().folders, [root.join("inc")]);
        Ok(())
    }
}
