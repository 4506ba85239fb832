//! Host files of several offloads, in every shape a file may have around them: gcc compiles all of them, for every
//! combination of the macros that the file asks for.

use std::path::Path;
use std::process::Command;

use base::CancelToken;
use ide::{check, offload, Doc, Language, Memo, Options, Settings, Tier, Which};
use text::Text;

/// Reads and writes through pointers that may overlap: needs the helper `apart`, memory and `memcpy`.
const F: &str = "void f(int n, float *a, float *b) {\n    // warpwright: offload\n    for (int i = 0; i < n; i++)\n        a[i] = b[i] + a[i];\n}\n";
const G: &str = "int g(int n, float *a, float *b) {\n    // warpwright: offload\n    for (int i = 0; i < n; i++)\n        a[i] = b[i] * a[i];\n    return n;\n}\n";
/// Needs `floor_div` besides.
const H: &str = "static void h(int n, double *x, double *y) {\n    // warpwright: offload\n    for (int k = 0; k < n; k += 3)\n        x[k] = x[k] + y[k];\n}\nvoid h_user(int n, double *x, double *y) { h(n, x, y); }\n";

struct Case {
    name: &'static str,
    text: String,
    /// Macros that decide which parts are there.
    macros: &'static [&'static str],
    /// Kernels made.
    kernels: usize,
}

fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    let mut add = |name, text: String, macros, kernels| all.push(Case { name, text, macros, kernels });
    add("no include at all", format!("{F}{G}{H}"), &[], 3);
    add("an include between", format!("{F}#include <math.h>\n{G}#include <stdlib.h>\n{H}"), &[], 3);
    add("includes first", format!("#include <stdio.h>\n#include <string.h>\n{F}{G}{H}"), &[], 3);
    add("an include after all", format!("{F}{G}#include <string.h>\n#include <stdint.h>\n"), &[], 2);
    add(
        "needed includes in a comment",
        format!("/* #include <stdint.h>\n#include <string.h>\n*/\n// #include <stdlib.h>\n{F}{G}"),
        &[],
        2,
    );
    add(
        "needed includes under if 0",
        format!("#if 0\n#include <stdint.h>\n#include <string.h>\n#endif\n{F}{G}"),
        &[],
        2,
    );
    add(
        "needed includes in one arm",
        format!("#ifdef A\n#include <stdint.h>\n#include <string.h>\n#include <stdlib.h>\n#endif\n{F}{G}"),
        &["A"],
        2,
    );
    add("one function in an arm", format!("#ifndef A\n{F}#endif\n{G}"), &["A"], 2);
    add("functions in both arms", format!("#ifdef A\n{F}#else\n{G}#endif\n{H}"), &["A"], 2);
    add(
        "arms within arms",
        format!("#if !defined A\n#include <math.h>\n#ifdef B\n{F}#elif 1\n{G}#endif\n#endif\n{H}"),
        &["A", "B"],
        2,
    );
    add(
        "a guarded file",
        format!("#ifndef FILE_C\n#define FILE_C\n#include <math.h>\n{F}#include <stdio.h>\n{G}#endif\n"),
        &[],
        2,
    );
    add("a table that is included", format!("#define ROW 1, 2\nstatic const int t[] = {{\n#include \"table.inc\"\n}};\n{F}static\n#include \"type.inc\"\nq(void) {{ return t[0]; }}\n{G}int use(void) {{ return q(); }}\n"), &[], 2);
    add(
        "prototypes only before",
        format!("void f(int n, float *a, float *b);\nint g(int, float *, float *);\n{F}{G}"),
        &[],
        2,
    );
    add(
        "static functions",
        format!("static {F}static {G}void all(int n, float *a, float *b) {{ f(n, a, b); g(n, a, b); }}\n"),
        &[],
        2,
    );
    add("a type of the file's own", format!("typedef float real;\nstruct p {{ real x, y; }};\nvoid s(int n, struct p *q, real *w) {{\n    // warpwright: offload\n    for (int i = 0; i < n; i++)\n        q[i].x = q[i].x + w[i];\n}}\n{F}"), &[], 2);
    add("two loops of one function", format!("{}{H}", F.replace("        a[i] = b[i] + a[i];\n", "        a[i] = b[i] + a[i];\n    // warpwright: offload\n    for (int i = 0; i < n; i++) b[i] = b[i] * a[i];\n")), &[], 3);
    add("loops one after the other on one line", "void f(int n, float *restrict a, float *restrict b) {\n    // warpwright: offload(p)\n    for (int i = 0; i < n; i++) a[i] = b[i]; /* warpwright: offload(q) */ for (int i = 0; i < n; i++) b[i] = 2 * a[i];\n}\n".to_string(), &[], 2);
    add("the mark of the next at the end of the line", "void f(int n, float *restrict a, float *restrict b) {\n    // warpwright: offload(p)\n    for (int i = 0; i < n; i++) a[i] = b[i]; // warpwright: offload(q)\n    for (int i = 0; i < n; i++) b[i] = 2 * a[i];\n}\n".to_string(), &[], 2);
    add("a function behind another's brace", format!("int z(void) {{\n    return 1;\n}} {F}{G}"), &[], 2);
    add(
        "windows line ends",
        format!("#include <math.h>\n{F}#include <stdio.h>\n{G}").replace('\n', "\r\n"),
        &[],
        2,
    );
    add("extern C", format!("#ifdef __cplusplus\nextern \"C\" {{\n#endif\n{F}#include <stdio.h>\n{G}#ifdef __cplusplus\n}}\n#endif\n"), &[], 2);
    add(
        "a helper of the user's by our name",
        format!("static int ww_apart(int x) {{ return x; }}\nint u(void) {{ return ww_apart(1); }}\n{F}{G}"),
        &[],
        2,
    );
    add("no brace, else after", "void f(int n, float *a, float *b) {\n    if (n > 3)\n        // warpwright: offload\n        for (int i = 0; i < n; i++)\n            a[i] = b[i] + a[i];\n    else\n        // warpwright: offload(other)\n        for (int i = 0; i < n; i++)\n            a[i] = b[i] - a[i];\n}\n".to_string(), &[], 2);
    add("a comment between pragma and loop", "void f(int n, float *a, float *b) {\n    // warpwright: offload\n    #pragma omp parallel for\n    // each on its own\n\n    /* really */\n    for (int i = 0; i < n; i++)\n        a[i] = b[i] + a[i];\n}\n".to_string(), &[], 1);
    add("a pragma over several lines", "void f(int n, float *a, float *b) {\n    int i;\n    #pragma omp parallel for \\\n        private(i) \\\n        shared(a, b)\n    /* warpwright: offload */\n    for (i = 0; i < n; i++)\n        a[i] = b[i] + a[i];\n}\n".to_string(), &[], 1);
    add("a pragma under a condition", "void f(int n, float *a, float *b) {\n    // warpwright: offload\n#ifdef _OPENMP\n    #pragma omp parallel for\n#endif\n    for (int i = 0; i < n; i++)\n        a[i] = b[i] + a[i];\n}\n".to_string(), &["_OPENMP"], 1);
    add("one pragma or another", "void f(int n, float *a, float *b) {\n    // warpwright: offload\n#ifdef _OPENMP\n    #pragma omp parallel for\n#else\n    #pragma GCC ivdep\n#endif\n    for (int i = 0; i < n; i++)\n        a[i] = b[i] + a[i];\n}\n".to_string(), &["_OPENMP"], 1);
    add("pragmas of the place stay", "void f(int n, float *a, float *b) {\n    // warpwright: offload\n    #pragma GCC diagnostic push\n    #pragma GCC ivdep\n    for (int i = 0; i < n; i++)\n        a[i] = b[i] + a[i];\n    #pragma GCC diagnostic pop\n}\n".to_string(), &[], 1);
    all
}

fn open(text: &str) -> Doc {
    let options = Options { defines: Vec::new(), ..Options::default() };
    Doc::open(Language::C, "case.c", Text::new(text).expect("text"), options)
}

fn gcc(folder: &Path, file: &str, flags: &[String]) -> Result<(), String> {
    let done = Command::new("gcc")
        .args(["-c", "-I.", "-Wall", "-Werror=implicit-function-declaration", "-Wno-unused-function"])
        .args(["-Wno-unknown-pragmas", "-o", "/dev/null"])
        .args(flags)
        .arg(file)
        .current_dir(folder)
        .output()
        .map_err(|e| e.to_string())?;
    match done.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&done.stderr).into_owned()),
    }
}

/// All loops at once, and one after the other, from the first on and from the last on, each into the text before.
#[test]
fn every_host_file_compiles() {
    if Command::new("gcc").arg("--version").output().is_err() {
        eprintln!("SKIPPED: gcc was not found; host texts were not compiled");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in simulate::shim::FILES {
        std::fs::create_dir_all(folder.path().join(name).parent().unwrap()).unwrap();
        std::fs::write(folder.path().join(name), text).expect("written");
    }
    std::fs::write(folder.path().join("table.inc"), "ROW, 3\n").expect("written");
    std::fs::write(folder.path().join("type.inc"), "int\n").expect("written");
    let mut wrong = Vec::new();
    for case in cases() {
        let mut texts = Vec::new();
        match made(&case.text, &Which::Marked) {
            Ok((host, kernels)) if kernels.len() == case.kernels => texts.push(("at once", host)),
            Ok((_, kernels)) => wrong.push(format!("{}: {} kernels", case.name, kernels.len())),
            Err(why) => wrong.push(format!("{}: {why}", case.name)),
        }
        for (way, last) in [("from the first on", false), ("from the last on", true)] {
            let mut text = case.text.clone();
            let mut seen = Vec::new();
            for _ in 0..case.kernels {
                let Some(key) = marked(&text, last) else { break };
                match made(&text, &Which::Key(key)) {
                    Ok((host, kernels)) => {
                        text = host;
                        seen.extend(kernels);
                    }
                    Err(why) => {
                        wrong.push(format!("{}, {way}: {why}", case.name));
                        break;
                    }
                }
            }
            seen.sort();
            seen.dedup();
            if seen.len() != case.kernels {
                wrong.push(format!("{}, {way}: the kernels are {seen:?}", case.name));
            }
            texts.push((way, text));
        }
        for (way, text) in texts {
            std::fs::write(folder.path().join("case.c"), &text).expect("written");
            for standard in ["-std=c99", "-std=gnu11"] {
                for set in 0..1 << case.macros.len() {
                    let mut flags = vec![standard.to_string()];
                    for (k, m) in case.macros.iter().enumerate() {
                        if set >> k & 1 == 1 {
                            flags.push(format!("-D{m}"));
                        }
                    }
                    if let Err(why) = gcc(folder.path(), "case.c", &flags) {
                        wrong.push(format!("{}, {way}, {flags:?}:\n{why}\n{text}", case.name));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}

fn marked(text: &str, last: bool) -> Option<String> {
    let doc = open(text);
    let findings =
        check(&ide::Ask::new(&doc, &Memo::new(), Tier::Full, &CancelToken::new()), &Settings::default())
            .ok()?;
    let mut marked = findings.marked();
    let found = if last { marked.last() } else { marked.next() };
    found.map(|l| l.key.to_string())
}

fn made(text: &str, which: &Which) -> Result<(String, Vec<String>), String> {
    let doc = open(text);
    let memo = Memo::new();
    let cancel = CancelToken::new();
    let findings = check(&ide::Ask::new(&doc, &memo, Tier::Full, &cancel), &Settings::default())
        .map_err(|_| "cancelled".to_string())?;
    let done = offload(&ide::Ask::new(&doc, &memo, ide::Tier::Full, &cancel), &findings, which)
        .map_err(|r| format!("{r:?}"))?;
    for l in &done.loops {
        let file = done.edit.create.iter().find(|f| f.name == l.kernel_file).ok_or("no kernel file")?;
        let said = format!("line {}:", l.line);
        let begins = ["", "from "].map(|from| format!("/* case.c, {from}{said}"));
        let line = text.lines().nth(l.line as usize - 1).unwrap_or("");
        if !begins.iter().any(|b| file.text.starts_with(b)) || !line.contains("for") {
            return Err(format!("{} does not begin with `{said}`: {}", file.name, file.text));
        }
    }
    if !done.notes.iter().all(|n| !n.contains("left as it is")) {
        return Err(done.notes.join(" "));
    }
    let kernels = done.loops.iter().flat_map(|l| &l.kernels).map(|k| k.name.clone());
    Ok((done.host, kernels.collect()))
}

#[test]
fn a_loop_torn_between_arms_is_refused() {
    let text = "void f(int n, float *a) {\n    int i;\n#ifndef A\n    // warpwright: offload\n    for (i = 0; i < n; i++)\n#else\n    for (i = n - 1; i >= 0; i--)\n#endif\n        a[i] = 0;\n}\n";
    let why = made(text, &Which::Marked).expect_err("no block can be put around it");
    assert!(why.contains("different arms"), "{why}");
}
