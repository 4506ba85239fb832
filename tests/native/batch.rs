//! Many trials built together: two programs for all of them, started once a trial with an input of that trial's number.

use std::collections::BTreeSet;
use std::path::Path;

use device::{NativeCompiler, NativeProgram};
use ide::{Natively, Trial};
use testkit::traced::renamed;

/// A trial with what its programs share with others.
pub struct Part<'a> {
    pub trial: &'a Trial,
    /// `None`: no name at file scope is another one's, too. Else each program is a file of its own, and these get numbers.
    pub shared: Option<Shared<'a>>,
}

/// Names that several programs may have.
#[derive(Clone, Copy)]
pub struct Shared<'a> {
    /// Of the program, whose headers may say them, too.
    pub of_program: &'a [String],
    /// Of functions that host and kernels have.
    pub launches: &'a [String],
}

/// Chooses a trial's functions by the number at the end of the input's name.
const CHOICE: &str = "#include <stdlib.h>\n#include <string.h>\nunion ww_native_word;\n\
    static int ww_chosen;\n\
    __attribute__((constructor)) static void ww_choose(int argc, char **argv)\n{\n\
        const char *at = argc > 1 ? argv[1] + strlen(argv[1]) : \"\";\n\
        while (argc > 1 && at > argv[1] && at[-1] >= '0' && at[-1] <= '9') at--;\n\
        ww_chosen = atoi(at);\n}\n\
    void ww_native_call(union ww_native_word *a, union ww_native_word *r) { ww_calls[ww_chosen](a, r); }\n\
    void *ww_native_global(int n, unsigned long *size) { return ww_globals[ww_chosen](n, size); }\n";

const NAMES: [&str; 3] = ["ww_native_call", "ww_native_global", "ww_native_word"];

/// One file for all programs, or one each and the one that chooses. `number`: whose text a part has.
pub fn together(parts: &[Part<'_>], number: &[usize], text: impl Fn(&Trial) -> &str) -> Vec<String> {
    let (mut files, mut one, mut calls, mut globals) =
        (Vec::new(), String::new(), String::new(), String::new());
    for (k, (part, &n)) in parts.iter().zip(number).enumerate() {
        calls += &format!("[{k}] = (ww_call_type)ww_native_call_{n}, ");
        globals += &format!("[{k}] = ww_native_global_{n}, ");
        if k != n {
            continue;
        }
        let text = text(part.trial);
        let Some(shared) = part.shared else {
            one += &(renamed(text, &NAMES, n as u64) + "\n");
            continue;
        };
        let names = shared.of_program.iter().chain(shared.launches).map(String::as_str);
        let names: Vec<&str> = names.chain(NAMES).collect();
        // in words, for some stand in strings; as macros for what headers say
        let apart: String = names.iter().map(|name| format!("#define {name} {name}_{n}\n")).collect();
        files.push(apart + &renamed(text, &names, n as u64));
        one += &format!(
            "void ww_native_call_{n}(void *, void *);\nvoid *ww_native_global_{n}(int, unsigned long *);\n"
        );
    }
    files.push(format!(
        "{one}typedef void (*ww_call_type)(void *, void *);\n\
         static const ww_call_type ww_calls[] = {{ {calls} }};\n\
         static void *(*const ww_globals[])(int, unsigned long *) = {{ {globals} }};\n{CHOICE}"
    ));
    files
}

/// Builds and runs trials; what each says, `Err` where it cannot be told. `flags`: for the C texts.
pub fn run(
    parts: &[Part<'_>],
    flags: &[String],
    compiler: &NativeCompiler,
    folder: &Path,
) -> Vec<Result<Natively, String>> {
    match built(parts, flags, compiler, folder) {
        Ok(()) => parts.iter().enumerate().map(|(n, p)| one(n, p.trial, compiler, folder)).collect(),
        Err(why) if parts.len() == 1 => vec![Err(why)],
        // one that is refused must not take the others along
        Err(why) => {
            eprintln!("{} programs are built in two parts: {why}", parts.len());
            let (a, b) = parts.split_at(parts.len() / 2);
            let mut out = run(a, flags, compiler, folder);
            out.extend(run(b, flags, compiler, folder));
            out
        }
    }
}

fn built(
    parts: &[Part<'_>],
    flags: &[String],
    compiler: &NativeCompiler,
    folder: &Path,
) -> Result<(), String> {
    let Some(first) = parts.first().map(|p| p.trial) else { return Ok(()) };
    for (name, text) in &first.support {
        let path = folder.join(name);
        let within = path.parent().unwrap_or(folder);
        std::fs::create_dir_all(within)
            .and_then(|()| std::fs::write(&path, text))
            .map_err(|e| e.to_string())?;
    }
    let own: Vec<usize> = (0..parts.len()).collect();
    // several loops of one function
    let first_of =
        |p: &Part<'_>| parts.iter().position(|q| q.trial.original == p.trial.original).unwrap_or(0);
    let alike = parts.iter().map(first_of).collect::<Vec<_>>();
    let originals = together(parts, &alike, |t| t.original.as_str());
    let rewritten = together(parts, &own, |t| t.rewritten.as_str());
    // the names of kernels carry their functions', those of what they call need not
    let is_header = |l: &&str| l.starts_with("#include <");
    let headers: BTreeSet<&str> =
        parts.iter().flat_map(|p| &p.trial.kernels).flat_map(|k| k.lines()).filter(is_header).collect();
    // a header's own guard would leave its names to the first namespace that asks for them
    let headers = headers.into_iter().map(|line| format!("{line}\n"));
    let kernels = parts.iter().enumerate().map(|(n, p)| {
        let text = p.trial.kernels.join("\n");
        let names: Vec<&str> = p.shared.iter().flat_map(|s| s.launches).map(String::as_str).collect();
        format!("namespace ww_trial_{n} {{\n{}\n}}\n", renamed(&text, &names, n as u64))
    });
    let kernels: String = headers.chain(kernels).collect();
    let support: Vec<&str> =
        first.support.iter().map(|s| s.0.as_str()).filter(|n| n.ends_with(".cpp")).collect();
    let kernels = [kernels];
    let program = |name, c: &'_ [String], cpp, support| {
        compiler.build(
            folder,
            &NativeProgram {
                name,
                c: c.iter().map(String::as_str).collect(),
                parts: &[],
                driver: Some(&first.driver),
                cpp,
                include: first.include,
                support,
                flags,
            },
        )
    };
    program("original", &originals, &[], Vec::new())?;
    program("rewritten", &rewritten, &kernels, support)?;
    Ok(())
}

fn one(n: usize, trial: &Trial, compiler: &NativeCompiler, folder: &Path) -> Result<Natively, String> {
    let (input, output) = (folder.join(format!("input_{n}")), folder.join("output"));
    std::fs::write(&input, &trial.input).map_err(|e| e.to_string())?;
    let mut all = Vec::new();
    for name in ["original", "rewritten"] {
        all.push(
            compiler
                .run(device::NATIVE_THREADS, &folder.join(name), &input, &output)
                .map_err(|e| format!("{name}: {e}"))?,
        );
    }
    let _ = std::fs::remove_file(&input);
    Ok(trial.compare(&all[0], None, &all[1]))
}
