//! Random OpenMP programs: planted faults are found and right ones are silent; right ones give the same with several
//! threads as with one, before and after their loops are offloaded (the host over the stand-in run time, beside gcc's OpenMP).

use std::path::Path;
use std::process::Command;

use base::CancelToken;
use ide::{check, offload, Doc, Findings, Language, Memo, Options, Settings, Tier, Which};
use testkit::openmp::{program, OmpProgram};
use text::Text;

const CODES: [&str; 4] = ["thread-race", "wrong-clause", "thread-dependence", "bad-directive"];

fn open(text: &str) -> (Doc, Findings) {
    let doc = Doc::open(Language::C, "omp.c", Text::new(text).expect("text"), Options::default());
    let findings =
        check(&ide::Ask::new(&doc, &Memo::new(), Tier::Full, &CancelToken::new()), &Settings::default());
    (doc.clone(), findings.unwrap_or_else(|_| panic!("cancelled")))
}

/// What is wrong of what was said.
fn judged(p: &OmpProgram, findings: &Findings) -> Vec<String> {
    let mut wrong = Vec::new();
    for (k, (name, fault)) in p.functions.iter().enumerate() {
        let at = |name: &str| p.text.find(&format!("\nlong {name}(")).unwrap_or(p.text.len());
        let end = p.functions.get(k + 1).map_or(p.text.len(), |next| at(&next.0));
        let inside = |d: &&ide::Diagnostic| (at(name)..end).contains(&(d.span.start as usize));
        let said: Vec<&ide::Diagnostic> =
            findings.diagnostics.iter().filter(inside).filter(|d| CODES.contains(&d.code)).collect();
        let fine = match fault {
            None => said.is_empty(),
            Some(code) => said.iter().any(|d| d.code == *code) && said.iter().all(|d| d.code == *code),
        };
        if !fine {
            let words: Vec<String> = said.iter().map(|d| format!("{}: {}", d.code, d.message)).collect();
            wrong.push(format!("{name}: wanted {fault:?}, said {words:?}\n{}", &p.text[at(name)..end]));
        }
    }
    wrong
}

#[test]
fn planted_faults_are_found_and_right_clauses_are_silent() {
    let mut wrong = Vec::new();
    let (mut right, mut planted) = (0, 0);
    for seed in 0..25 {
        let p = program(seed, 8);
        let (_, findings) = open(&p.text);
        planted += p.functions.iter().filter(|f| f.1.is_some()).count();
        right += p.functions.iter().filter(|f| f.1.is_none()).count();
        wrong.extend(judged(&p, &findings));
    }
    assert!(planted > 40 && right > 80, "{planted} {right}");
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}

fn built(folder: &Path, host: &str, kernels: &[String]) -> Result<(), String> {
    let run = |program: &str, args: &[&str]| -> Result<(), String> {
        let done =
            Command::new(program).args(args).current_dir(folder).output().map_err(|e| e.to_string())?;
        match done.status.success() {
            true => Ok(()),
            false => Err(String::from_utf8_lossy(&done.stderr).into_owned()),
        }
    };
    std::fs::write(folder.join("omp.c"), host).map_err(|e| e.to_string())?;
    run("gcc", &["-std=gnu11", "-O1", "-w", "-fopenmp", "-I.", "-c", "omp.c", "-o", "omp.o"])?;
    if kernels.is_empty() {
        return run("gcc", &["-fopenmp", "omp.o", "-o", "program", "-lm"]);
    }
    // all kernels as one text: their names differ
    std::fs::write(folder.join("all.cu"), simulate::shim::rewrite(&kernels.concat()))
        .map_err(|e| e.to_string())?;
    let flags = ["-std=c++17", "-O1", "-ffp-contract=off", "-w", "-I."];
    run(
        "g++",
        &[&flags[..], &["-include", "ww_cuda_shim.h", "-x", "c++", "-c", "all.cu", "-o", "all.o"]].concat(),
    )?;
    if !folder.join("shim.o").exists() {
        run("g++", &[&flags[..], &["-c", "ww_cuda_shim.cpp", "-o", "shim.o"]].concat())?;
    }
    run("g++", &["-fopenmp", "omp.o", "all.o", "shim.o", "-o", "program", "-lm"])
}

fn ran(folder: &Path, threads: u32) -> Result<String, String> {
    let done = Command::new("./program")
        .current_dir(folder)
        .env("OMP_NUM_THREADS", threads.to_string())
        .output()
        .map_err(|e| e.to_string())?;
    match done.status.success() {
        true => Ok(String::from_utf8_lossy(&done.stdout).into_owned()),
        false => Err(format!("{}", done.status)),
    }
}

#[test]
fn right_programs_compute_the_same_after_offloads() {
    let folder = tempfile::tempdir().expect("a folder");
    let have = |c: &str| Command::new(c).args(["-fopenmp", "--version"]).output().is_ok();
    if !have("gcc") || !have("g++") {
        eprintln!("SKIPPED: gcc or g++ was not found; OpenMP programs were not run");
        return;
    }
    for (name, text) in simulate::shim::FILES {
        std::fs::create_dir_all(folder.path().join(name).parent().unwrap()).unwrap();
        std::fs::write(folder.path().join(name), text).expect("written");
    }
    let (mut loops, mut refused, mut wrong) = (0, 0, Vec::new());
    for seed in 100..110 {
        let p = program(seed, 8);
        // those with faults are no programs
        let (doc, findings) = open(&p.text);
        let mut lines: Vec<u32> = Vec::new();
        let faulty = |line: u32| {
            let before = p.text.lines().take(line as usize).filter_map(|l| l.strip_prefix("long "));
            let name = before.last().and_then(|l| l.split('(').next()).unwrap_or("");
            p.functions.iter().any(|f| f.0 == name && f.1.is_some())
        };
        let main = p.text.lines().position(|l| l.starts_with("int main")).unwrap_or(0) as u32;
        for l in findings.loops.iter().filter(|l| l.line() < main && !faulty(l.line())) {
            let made = offload(&ide::Ask::thorough(&doc), &findings, &Which::Key(l.key.to_string()));
            match made {
                Ok(_) if !lines.contains(&l.line()) => lines.push(l.line()),
                Ok(_) => {}
                Err(_) => refused += 1,
            }
        }
        loops += lines.len();
        let mut texts = vec![("as written", p.text.clone(), Vec::new())];
        if !lines.is_empty() {
            match offload(&ide::Ask::thorough(&doc), &findings, &Which::Lines(lines)) {
                Ok(done) => texts.push((
                    "offloaded",
                    done.host,
                    done.edit.create.into_iter().map(|f| f.text).collect(),
                )),
                Err(why) => wrong.push(format!("seed {seed}: {why:?}")),
            }
        }
        // functions with planted faults that compilers refuse are left out of what is built
        let mut want: Option<String> = None;
        for (what, text, kernels) in texts {
            let text = without_faulty(&text, &p);
            if let Err(why) = built(folder.path(), &text, &kernels) {
                wrong.push(format!(
                    "seed {seed}, {what}: {}",
                    why.lines().take(6).collect::<Vec<_>>().join("\n")
                ));
                break;
            }
            for threads in [1, 2, 4] {
                match ran(folder.path(), threads) {
                    Ok(got) if want.as_ref().is_none_or(|w| *w == got) => want = Some(got),
                    Ok(got) => wrong.push(format!(
                        "seed {seed}, {what}, {threads} threads: {got}\ninstead of {}",
                        want.as_deref().unwrap_or("")
                    )),
                    Err(why) => wrong.push(format!("seed {seed}, {what}, {threads} threads: {why}")),
                }
            }
        }
    }
    assert!(loops > 20 && refused > 5, "{loops} loops offloaded, {refused} refused");
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}

/// The text with functions that have planted faults cut out: nobody calls them.
fn without_faulty(text: &str, p: &OmpProgram) -> String {
    let mut out = text.to_owned();
    for (name, fault) in &p.functions {
        if fault.is_some() {
            let Some(from) = out.find(&format!("\nlong {name}(")) else { continue };
            let Some(len) = out[from + 1..].find("\n}\n") else { continue };
            out.replace_range(from + 1..from + 1 + len + 3, "");
        }
    }
    out
}

/// What is said of one function: codes, in order.
fn codes(text: &str) -> Vec<&'static str> {
    let (_, findings) = open(text);
    findings.diagnostics.iter().map(|d| d.code).filter(|c| CODES.contains(c)).collect()
}

#[test]
fn relatives_right_and_wrong() {
    let f = |body: &str| {
        format!("int omp_get_thread_num(void);\nint omp_get_num_threads(void);\nvoid omp_set_lock(void *);\nvoid use(long);\nstatic long g, own;\n#pragma omp threadprivate(own)\nvoid f(int n, int m, double *restrict a, double *restrict b, int *restrict h) {{\n{body}\n}}\n")
    };
    let loops: [(&str, &[&str]); 44] = [
        // whose a variable is
        ("double t;\n#pragma omp parallel for private(t)\nfor (int i = 0; i < n; i++) { t = b[i]; a[i] = t; }", &[]),
        ("double t;\n#pragma omp parallel for\nfor (int i = 0; i < n; i++) { t = b[i]; a[i] = t; }", &["thread-race"]),
        ("double t;\n#pragma omp parallel for shared(t)\nfor (int i = 0; i < n; i++) { t = b[i]; a[i] = t; }", &["thread-race"]),
        ("double t;\n#pragma omp parallel for default(shared)\nfor (int i = 0; i < n; i++) { t = b[i]; a[i] = t; }", &["thread-race"]),
        ("double t;\n#pragma omp parallel for default(private) shared(a, b, n)\nfor (int i = 0; i < n; i++) { t = b[i]; a[i] = t; }", &[]),
        ("double t;\n{ double t;\n#pragma omp parallel for private(t)\nfor (int i = 0; i < n; i++) { t = b[i]; a[i] = t; } }", &[]),
        ("double t;\n#pragma omp parallel for private(t)\nfor (int i = 0; i < n; i++) { double t = b[i]; a[i] = t; }", &[]),
        ("double t = 0;\n#pragma omp parallel\n{ double t;\n#pragma omp for\nfor (int i = 0; i < n; i++) { t = b[i]; a[i] = t; } }", &[]),
        ("double t = 0;\n#pragma omp parallel private(t)\n{\n#pragma omp for\nfor (int i = 0; i < n; i++) { t = b[i]; a[i] = t; } }", &[]),
        ("double t = 0;\n#pragma omp parallel\n#pragma omp for\nfor (int i = 0; i < n; i++) { t = b[i]; a[i] = t; }", &["thread-race"]),
        ("double t;\n#pragma omp for\nfor (int i = 0; i < n; i++) { t = b[i]; a[i] = t; }", &[]),
        ("#pragma omp parallel for\nfor (int i = 0; i < n; i++) { g = h[i]; a[i] = g; }", &["thread-race"]),
        ("#pragma omp parallel for\nfor (int i = 0; i < n; i++) { own = h[i]; a[i] = own; }", &[]),
        ("static double t;\n#pragma omp parallel for\nfor (int i = 0; i < n; i++) { t = b[i]; a[i] = t; }", &["thread-race"]),
        ("double t;\n#pragma omp parallel for LIST\nfor (int i = 0; i < n; i++) { t = b[i]; a[i] = t; }", &[]),
        ("double t;\n#pragma omp parallel for num_threads(1)\nfor (int i = 0; i < n; i++) { t = b[i]; a[i] = t; }", &[]),
        ("double t;\n#pragma omp parallel for if(0)\nfor (int i = 0; i < n; i++) { t = b[i]; a[i] = t; }", &[]),
        ("double t;\n#pragma omp parallel for if(n > 100)\nfor (int i = 0; i < n; i++) { t = b[i]; a[i] = t; }", &["thread-race"]),
        ("double t;\n#pragma omp parallel for\nfor (int i = 0; i < 1; i++) { t = b[i]; a[i] = t; }", &[]),
        // who writes
        ("int k = 0;\n#pragma omp parallel for\nfor (int i = 0; i < n; i++) { a[i] = b[i]; if (i == 3) k = i; }\nuse(k);", &[]),
        ("int k = 0;\n#pragma omp parallel for\nfor (int i = 0; i < n; i++) { if (i != 3) continue; k = i; }\nuse(k);", &[]),
        ("int k = 0;\n#pragma omp parallel for\nfor (int i = 0; i < n; i++) if (h[i] > 3) k += 2;\nuse(k);", &["thread-race"]),
        ("int k = 0;\n#pragma omp parallel for\nfor (int i = 0; i < n; i++) {\n#pragma omp atomic\nk += h[i]; }\nuse(k);", &[]),
        ("int k = 0;\n#pragma omp parallel for\nfor (int i = 0; i < n; i++) {\n#pragma omp critical\n{ k += h[i]; } }\nuse(k);", &[]),
        ("int k = 0;\n#pragma omp parallel for\nfor (int i = 0; i < n; i++) { omp_set_lock(h); k += h[i]; omp_set_lock(a); }\nuse(k);", &[]),
        ("volatile int k = 0;\n#pragma omp parallel for\nfor (int i = 0; i < n; i++) k = 1;", &[]),
        ("int id = 0;\n#pragma omp parallel\n{ id = omp_get_thread_num(); a[id] = id; }", &["thread-race"]),
        ("int id = 0;\n#pragma omp parallel private(id)\n{ id = omp_get_thread_num(); a[id] = id; }", &[]),
        ("int k = 0;\n#pragma omp parallel\n{ if (omp_get_thread_num() == 0) k = omp_get_num_threads(); }\nuse(k);", &[]),
        ("int i;\n#pragma omp parallel\nfor (i = 0; i < n; i++) a[i] = b[i];", &["thread-race"]),
        ("#pragma omp parallel\n#pragma omp critical\ng += n;", &[]),
        ("#pragma omp parallel sections\n{\n#pragma omp section\ng = n;\n#pragma omp section\nown = m; }", &[]),
        // loops
        ("int i;\n#pragma omp parallel for\nfor (i = 0; i < n; i++) a[i] = 0;\nuse(i);", &["wrong-clause"]),
        ("int i;\n#pragma omp parallel for lastprivate(i)\nfor (i = 0; i < n; i++) a[i] = 0;\nuse(i);", &[]),
        ("int i;\n#pragma omp parallel for\nfor (i = 0; i < n; i++) a[i] = 0;\nfor (i = 0; i < n; i++) use(i);", &[]),
        ("#pragma omp parallel for collapse(2)\nfor (int i = 0; i < n; i++)\nfor (int j = 0; j < m; j++) a[i * m + j] = i;", &[]),
        ("#pragma omp parallel for collapse(3)\nfor (int i = 0; i < n; i++)\nfor (int j = 0; j < m; j++) a[i * m + j] = i;", &["bad-directive"]),
        ("#pragma omp parallel for\nwhile (n-- > 0) a[n] = 0;", &["bad-directive"]),
        ("#pragma omp parallel for\nfor (int i = 0; i < n; i++) { for (int j = 0; j < m; j++) if (h[j]) break; a[i] = 1; }", &[]),
        ("#pragma omp parallel for\nfor (int i = 0; i < n - 1; i++) a[i] = a[i + 1];", &["thread-dependence"]),
        ("#pragma omp simd\nfor (int i = 0; i < n - 1; i++) a[i] = a[i + 1];", &[]),
        ("#pragma omp simd\nfor (int i = 1; i < n; i++) a[i] = a[i - 1];", &["thread-dependence"]),
        ("double s = 0;\n#pragma omp simd\nfor (int i = 0; i < n; i++) s += a[i];\nuse((long)s);", &["thread-race"]),
        ("double s = 0;\n#pragma omp parallel for reduction(max:s)\nfor (int i = 0; i < n; i++) if (a[i] < s) s = a[i];\nuse((long)s);", &["wrong-clause"]),
    ];
    let mut wrong = Vec::new();
    for (body, want) in loops {
        let said = codes(&f(body));
        if said != want {
            wrong.push(format!("wanted {want:?}, said {said:?}:\n{body}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n\n"));
}

/// Why the loops of a text are not offloaded; empty where they are.
fn refusals(text: &str) -> Vec<String> {
    let (doc, findings) = open(text);
    let one = |l: &ide::LoopFinding| match offload(
        &ide::Ask::thorough(&doc),
        &findings,
        &Which::Key(l.key.to_string()),
    ) {
        Ok(_) => String::new(),
        Err(why) => format!("{why:?}"),
    };
    findings.loops.iter().map(one).collect()
}

#[test]
fn no_launch_is_put_where_threads_run() {
    let plain = "void f(int n, double *restrict a, const double *restrict b) {\n    HEAD\n    for (int i = 0; i < n; i++)\n        a[i] = b[i];\n}\n";
    for (head, refused) in [
        ("", false),
        ("#pragma omp parallel for", false),
        ("#pragma omp simd", false),
        ("#pragma omp for", false),
        ("#pragma omp single", false),
        ("#pragma omp parallel", true),
        ("#pragma omp parallel\n    #pragma omp for", true),
        ("#pragma omp parallel\n    #pragma omp single", true),
        ("#pragma omp task", true),
        ("#pragma omp target teams distribute parallel for", false),
        ("#pragma omp parallel if (n > 3)\n    if (n > 2)", true),
        ("#pragma omp parallel for\n    for (int k = 0; k < 3; k++)", true),
    ] {
        let got = refusals(&plain.replace("HEAD", head));
        let inner = got.last().map_or("", String::as_str);
        assert_eq!(!inner.is_empty(), refused, "{head}: {got:?}");
        assert!(!refused || inner.contains("every thread would run the launch"), "{inner}");
    }
    // called by threads, through another function
    let called = format!("{}void g(int n, double *a, double *b) {{ f(n, a, b); }}\nvoid h(int n, double *a, double *b) {{\n    #pragma omp parallel\n    {{ g(n, a, b); }}\n}}\n", plain.replace("HEAD", ""));
    assert!(
        refusals(&called)[0].contains("is called inside `#pragma omp parallel` (line 8, in `h`)"),
        "{:?}",
        refusals(&called)
    );
}
