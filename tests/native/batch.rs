//! Many trials built together: two programs for all of them, started once a trial with an input of that trial's number.

use std::path::Path;

use device::{NativeCompiler, NativeProgram};
use ide::{Natively, Trial};
use testkit::traced::renamed;

/// Chooses a trial's functions by the number at the end of the input's name.
const CHOICE: &str = "#include <stdlib.h>\n#include <string.h>\nunion ww_native_word;\n\
    static int ww_chosen;\n\
    __attribute__((constructor)) static void ww_choose(int argc, char **argv)\n{\n\
        const char *at = argc > 1 ? argv[1] + strlen(argv[1]) : \"\";\n\
        while (argc > 1 && at > argv[1] && at[-1] >= '0' && at[-1] <= '9') at--;\n\
        ww_chosen = atoi(at);\n}\n\
    void ww_native_call(union ww_native_word *a, union ww_native_word *r) { ww_calls[ww_chosen](a, r); }\n\
    void *ww_native_global(int n, unsigned long *size) { return ww_globals[ww_chosen](n, size); }\n";

fn together<'a>(parts: impl Iterator<Item = (usize, &'a str)>) -> String {
    let (mut out, mut calls, mut globals) = (String::new(), String::new(), String::new());
    let names = ["ww_native_call", "ww_native_global", "ww_native_word"];
    for (n, text) in parts {
        out += &renamed(text, &names, n as u64);
        out += "\n";
        calls += &format!("[{n}] = (ww_call_type)ww_native_call_{n}, ");
        globals += &format!("[{n}] = ww_native_global_{n}, ");
    }
    format!(
        "{out}typedef void (*ww_call_type)(void *, void *);\n\
         static const ww_call_type ww_calls[] = {{ {calls} }};\n\
         static void *(*const ww_globals[])(int, unsigned long *) = {{ {globals} }};\n{CHOICE}"
    )
}

/// Builds and runs trials of programs no two of which share a name; what each says, `Err` where it cannot be told.
pub fn run(trials: &[&Trial], compiler: &NativeCompiler, folder: &Path) -> Vec<Result<Natively, String>> {
    match built(trials, compiler, folder) {
        Ok(()) => trials.iter().enumerate().map(|(n, t)| one(n, t, compiler, folder)).collect(),
        Err(why) if trials.len() == 1 => vec![Err(why)],
        // one that is refused must not take the others along
        Err(_) => {
            let (a, b) = trials.split_at(trials.len() / 2);
            let mut out = run(a, compiler, folder);
            out.extend(run(b, compiler, folder));
            out
        }
    }
}

fn built(trials: &[&Trial], compiler: &NativeCompiler, folder: &Path) -> Result<(), String> {
    let Some(first) = trials.first() else { return Ok(()) };
    for (name, text) in &first.support {
        let path = folder.join(name);
        let within = path.parent().unwrap_or(folder);
        std::fs::create_dir_all(within)
            .and_then(|()| std::fs::write(&path, text))
            .map_err(|e| e.to_string())?;
    }
    let originals = together(trials.iter().map(|t| t.original.as_str()).enumerate());
    let rewritten = together(trials.iter().map(|t| t.rewritten.as_str()).enumerate());
    // the names of kernels carry their functions', those of what they call need not
    let kernels: String = trials
        .iter()
        .enumerate()
        .map(|(n, t)| format!("namespace ww_trial_{n} {{\n{}\n}}\n", t.kernels.join("\n")))
        .collect();
    let parts: Vec<&str> =
        first.support.iter().map(|s| s.0.as_str()).filter(|n| n.ends_with(".cpp")).collect();
    let (kernels, flags) = ([kernels], first.flags());
    let program = |name, text, cpp, support| NativeProgram {
        name,
        c: vec![text],
        driver: Some(&first.driver),
        cpp,
        include: first.include,
        support,
        flags: &flags,
    };
    compiler.build(folder, &program("original", originals.as_str(), &[], Vec::new()))?;
    compiler.build(folder, &program("rewritten", rewritten.as_str(), &kernels, parts))?;
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
