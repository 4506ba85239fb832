//! Random structs and unions with all that moves their members, laid out by us and by gcc.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use front::{Language, Memo, Options, Parsed};

use crate::rng::Rng;

/// A program of random records.
#[derive(Debug, Default)]
pub struct Records {
    /// The definitions.
    pub text: String,
    /// The type's name and its members' names, with whether each is a bit-field.
    pub records: Vec<(String, Vec<(String, bool)>)>,
}

struct Maker {
    rng: Rng,
    out: Records,
    /// Names of types without a flexible array, and whether arrays of them are allowed.
    types: Vec<(String, bool)>,
    pushed: usize,
    next: usize,
}

/// So many records.
pub fn records(seed: u64, count: usize) -> Records {
    let plain = [
        "char",
        "signed char",
        "unsigned char",
        "short",
        "unsigned short",
        "int",
        "unsigned",
        "long",
        "long long",
        "unsigned long long",
        "float",
        "double",
        "_Bool",
        "long double",
        "cp",
        "unsigned long",
    ];
    let types = plain.iter().map(|t| (t.to_string(), true)).collect();
    let out = Records { text: "typedef char *cp;\n".into(), ..Records::default() };
    let mut m = Maker { rng: Rng::new(seed), out, types, pushed: 0, next: 0 };
    for _ in 0..count {
        m.item();
    }
    m.out
}

impl Maker {
    fn name(&mut self, prefix: &str) -> String {
        self.next += 1;
        format!("{prefix}{}", self.next)
    }

    fn item(&mut self) {
        match self.rng.below(12) {
            0..=2 => {
                let n = *self.rng.pick(&[1, 2, 4, 8, 16]);
                let line = match self.rng.below(6) {
                    0 => "pack()".to_string(),
                    1 => format!("pack({n})"),
                    2 => {
                        self.pushed += 1;
                        format!("pack(push, {n})")
                    }
                    3 => {
                        self.pushed += 1;
                        "pack(push)".to_string()
                    }
                    _ => {
                        self.pushed = self.pushed.saturating_sub(1);
                        "pack(pop)".to_string()
                    }
                };
                match self.rng.below(5) {
                    0 => writeln!(self.out.text, "_Pragma(\"{line}\")").ok(),
                    _ => writeln!(self.out.text, "#pragma {line}").ok(),
                };
            }
            3 => {
                let name = self.name("t");
                let (of, _) = self.rng.pick(&self.types).clone();
                let length = if self.rng.chance(25) { "[3]" } else { "" };
                let align = *self.rng.pick(&["", "(2)", "(4)", "(8)", "(16)", "(1)"]);
                let attribute = match self.rng.below(3) {
                    0 => String::new(),
                    _ => format!("__attribute__((aligned{align}))"),
                };
                // gcc takes no array of elements that are aligned to more than their size
                let length = if self.is_over_aligned(&of) { "" } else { length };
                match self.rng.chance(70) {
                    true => writeln!(self.out.text, "typedef {of} {name}{length} {attribute};"),
                    false => writeln!(self.out.text, "typedef {attribute} {of} {name}{length};"),
                }
                .ok();
                self.types.push((name, false));
            }
            4 => {
                let name = self.name("e");
                let value = *self.rng.pick(&[
                    "1",
                    "-1",
                    "127",
                    "128",
                    "255",
                    "256",
                    "-129",
                    "32767",
                    "65535",
                    "65536",
                    "0x7fffffff",
                    "0xffffffff",
                    "0x100000000",
                    "-0x80000001LL",
                    "0xffffffffffffffff",
                ]);
                let packed = *self.rng.pick(&["", "__attribute__((packed))", "__attribute__((__packed__))"]);
                let (before, after) = if self.rng.chance(50) { (packed, "") } else { ("", packed) };
                writeln!(
                    self.out.text,
                    "typedef enum {before} {{ {name}_a, {name}_b = {value} }} {after} {name};"
                )
                .ok();
                self.types.push((name, true));
            }
            _ => {
                let name = self.name("r");
                let mut members = Vec::new();
                let flexible = self.rng.chance(8);
                let body = self.record(&mut members, 0, flexible);
                writeln!(self.out.text, "typedef {body} {name};").ok();
                self.out.records.push((name.clone(), members));
                if !flexible {
                    self.types.push((name, false));
                }
            }
        }
    }

    /// Names made with an alignment of their own.
    fn is_over_aligned(&self, name: &str) -> bool {
        self.types.iter().any(|(t, may)| t == name && !may)
    }

    fn attributes(&mut self, of_record: bool) -> String {
        let n = *self.rng.pick(&[1, 2, 4, 8, 16, 32]);
        match self.rng.below(if of_record { 9 } else { 12 }) {
            0 | 1 => "__attribute__((packed))".into(),
            2 => format!("__attribute__((aligned({n})))"),
            3 => format!("__attribute__((packed, aligned({n})))"),
            4 if !of_record => "__attribute__((aligned))".into(),
            _ => String::new(),
        }
    }

    fn record(&mut self, members: &mut Vec<(String, bool)>, depth: usize, flexible: bool) -> String {
        let word = if !flexible && self.rng.chance(20) { "union" } else { "struct" };
        let attributes = self.attributes(true);
        let (before, after) =
            if self.rng.chance(50) { (attributes, String::new()) } else { (String::new(), attributes) };
        let mut out = format!("{word} {before} {{");
        let count = self.rng.below(6) + usize::from(flexible);
        for k in 0..count {
            let last = flexible && k + 1 == count;
            self.member(&mut out, members, depth, flexible && k == 0, last && k > 0);
        }
        format!("{out} }} {after}")
    }

    fn member(
        &mut self,
        out: &mut String,
        members: &mut Vec<(String, bool)>,
        depth: usize,
        plain: bool,
        flexible: bool,
    ) {
        if !plain && !flexible && depth < 2 && self.rng.chance(12) {
            // anonymous: its members are the record's own
            let inner = self.record(members, depth + 1, false);
            // gcc takes no bit-fields apart here any more than elsewhere
            write!(out, " {inner};").ok();
            return;
        }
        let name = self.name("m");
        if !plain && !flexible && self.rng.chance(30) {
            let (ty, most) = *self.rng.pick(&[
                ("int", 32),
                ("unsigned", 32),
                ("char", 8),
                ("short", 16),
                ("long", 64),
                ("unsigned long long", 64),
                ("_Bool", 1),
                ("unsigned char", 8),
            ]);
            let width = 1 + self.rng.below(most);
            match self.rng.below(8) {
                0 => write!(out, " {ty} : 0;").ok(),
                1 => write!(out, " {ty} : {width};").ok(),
                2 => {
                    let attributes = self.attributes(false);
                    write!(out, " {ty} {name} : {width} {attributes};").ok();
                    members.push((name, true));
                    return;
                }
                _ => {
                    write!(out, " {ty} {name} : {width};").ok();
                    members.push((name, true));
                    return;
                }
            };
            return;
        }
        let (ty, may_repeat) = self.rng.pick(&self.types).clone();
        let attributes = self.attributes(false);
        let length = match self.rng.below(6) {
            _ if flexible && may_repeat => "[]",
            0 if may_repeat => "[3]",
            1 if may_repeat => "[0]",
            _ => "",
        };
        match self.rng.below(4) {
            0 => write!(out, " {attributes} {ty} {name}{length};").ok(),
            1 => write!(out, " {ty} {attributes} {name}{length};").ok(),
            2 if self.rng.chance(30) => write!(out, " _Alignas(64) {ty} {name}{length};").ok(),
            3 if self.rng.chance(30) => {
                let more = self.name("m");
                write!(out, " {ty} {more}, {name}{length} {attributes};").ok();
                members.push((more, false));
                Some(())
            }
            _ => write!(out, " {ty} {name}{length} {attributes};").ok(),
        };
        members.push((name, false));
    }
}

/// A program that prints a line for each record: size, alignment, the first bit of every member.
fn program(r: &Records) -> String {
    let mut out = String::from("#include <stdio.h>\n#include <string.h>\n");
    out.push_str(
        "static long bit(const unsigned char *p, long n) {\n    for (long i = 0; i < 8 * n; i++)\n        \
         if (p[i / 8] >> i % 8 & 1) return i;\n    return -1;\n}\n",
    );
    out.push_str(&r.text);
    out.push_str("\n#pragma pack()\nint main(void) {\n");
    for (name, members) in &r.records {
        writeln!(out, "    {{ static {name} v; printf(\"%zu %zu\", sizeof(v), _Alignof({name}));").ok();
        for (m, is_bits) in members {
            match is_bits {
                true => writeln!(
                    out,
                    "    memset(&v, 0, sizeof v); v.{m} = -1; printf(\" %ld\", bit((void *)&v, sizeof v));"
                ),
                false => writeln!(out, "    printf(\" %ld\", 8L * __builtin_offsetof({name}, {m}));"),
            }
            .ok();
        }
        writeln!(out, "    printf(\"\\n\"); }}").ok();
    }
    out.push_str("    return 0;\n}\n");
    out
}

/// What we say of each record, in the same words; `None` where we say that we do not know.
pub fn ours(r: &Records) -> Vec<Option<String>> {
    let mut text = r.text.clone();
    text.push_str("\n#pragma pack()\n");
    for (name, _) in &r.records {
        writeln!(text, "{name} v_{name};").ok();
    }
    let parsed = Parsed::parse(Language::C, text.as_str());
    let unit = front::lower(&parsed, &Options::default(), &mut Memo::new());
    let line = |name: &str, members: &[(String, bool)]| -> Option<String> {
        let variable = format!("v_{name}");
        unit.items.iter().find_map(|i| {
            let types = &i.body.types;
            let symbol = i.body.symbols.iter().find(|s| *s.name == *variable)?;
            let (size, align) = types.size_align(symbol.ty)?;
            let term::TypeKind::Record(record) = types.kind(symbol.ty) else { return None };
            let mut out = format!("{size} {align}");
            for (m, _) in members {
                write!(out, " {}", first_bit(types, *record, m)?).ok();
            }
            Some(out)
        })
    };
    r.records.iter().map(|(name, members)| line(name, members)).collect()
}

fn first_bit(types: &term::Types, r: term::RecordId, name: &str) -> Option<u64> {
    let (layout, fields) = (types.layout(r)?, types.record(r).fields.as_ref()?);
    fields.iter().zip(&layout.members).find_map(|(f, m)| match types.kind(f.ty) {
        _ if *f.name == *name => Some(m.bit),
        term::TypeKind::Record(inner) if f.name.is_empty() => Some(m.bit + first_bit(types, *inner, name)?),
        _ => None,
    })
}

/// What gcc says; an error says that it could not be used or refused the program.
pub fn theirs(r: &Records, dir: &Path) -> Result<Vec<String>, String> {
    let io = |e: std::io::Error| format!("{}: {e}", dir.display());
    let (source, binary) = (dir.join("layouts.c"), dir.join("layouts"));
    std::fs::write(&source, program(r)).map_err(io)?;
    let compiled = Command::new("gcc")
        .args(["-std=gnu11", "-O0", "-w", "-o"])
        .arg(&binary)
        .arg(&source)
        .output()
        .map_err(|e| format!("gcc: {e}"))?;
    if !compiled.status.success() {
        return Err(format!("gcc refused {}", String::from_utf8_lossy(&compiled.stderr)));
    }
    let ran = Command::new(&binary).output().map_err(io)?;
    Ok(String::from_utf8_lossy(&ran.stdout).lines().map(str::to_owned).collect())
}
