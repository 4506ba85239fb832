//! Generated code run beside the original: gcc compiles the host text and the original, g++ the kernel text against a
//! stand-in for the CUDA runtime in which every call can fail.

mod common;

use std::path::Path;
use std::process::Command;

use common::{offload_for, Outcome};

const CASES: &str = include_str!("run/cases.c");

fn tool(name: &str, dir: &Path, args: &[&str]) -> String {
    let out =
        Command::new(name).args(args).current_dir(dir).output().unwrap_or_else(|e| panic!("{name}: {e}"));
    let text = format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert!(out.status.success(), "{name} {}: {text}", args.join(" "));
    text
}

/// `k<<<g, b>>>(a, …);` as a call that plain C++ knows.
fn without_chevrons(kernel: &str) -> String {
    let mut out = String::new();
    let mut rest = kernel;
    while let Some(at) = rest.find("<<<") {
        let name_at = rest[..at].rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |k| k + 1);
        let close = at + rest[at..].find(">>>").expect(">>>");
        let end = close + rest[close..].find(");").expect(");");
        let (name, shape, args) = (&rest[name_at..at], &rest[at + 3..close], &rest[close + 3..=end]);
        out.push_str(&rest[..name_at]);
        out.push_str(&format!("shim_launch({shape}, [&] {{ {name}{args}; }})"));
        rest = &rest[end + 1..];
    }
    out.push_str(rest);
    out
}

fn functions() -> Vec<&'static str> {
    CASES
        .lines()
        .filter(|l| !l.starts_with([' ', '#', '/', '{', '}']) && l.ends_with(')'))
        .filter_map(|l| l.split('(').next()?.split(' ').next_back())
        .collect()
}

#[test]
fn generated_code_computes_what_the_original_computes() {
    computes_the_same(&gpu::CUDA);
}

#[test]
fn so_does_the_code_for_hip() {
    computes_the_same(&gpu::HIP);
}

fn computes_the_same(target: &'static gpu::Row) {
    let dir = tempfile::tempdir().expect("temporary folder");
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).expect("write");
    // One function after the other, each on the text the one before left.
    let mut host = CASES.to_string();
    let mut kernels = String::new();
    let names = functions();
    let mut renames = vec!["-Dcoefficients=orig_coefficients".to_string(), "-Dshift=orig_shift".to_string()];
    assert!(names.len() > 20);
    let (mut left, mut stand_ins) = (Vec::new(), Vec::new());
    for f in &names {
        renames.push(format!("-D{f}=orig_{f}"));
        match offload_for(target, &host, f, 0) {
            Outcome::Done { host: h, output } => {
                host = h;
                // Each is a file of its own; structs of several may have one name.
                kernels.push_str(&format!("namespace file_{f} {{\n{}}}\n", output.kernel_file.text));
                stand_ins.push((format!("{f}.c"), output.kernel_file.text.clone()));
            }
            Outcome::Refused(r) => left.push(format!("{f}: refused {r:?}")),
            Outcome::NotParallel(why) => left.push(format!("{f}: {why}")),
        }
    }
    assert!(left.is_empty(), "{}", left.join("\n"));
    if let Ok(keep) = std::env::var("KEEP_GENERATED") {
        std::fs::write(Path::new(&keep).join("host.c"), &host).expect("write");
        std::fs::write(Path::new(&keep).join("kernels.cu"), &kernels).expect("write");
    }
    write("host.c", &host);
    write("original.c", CASES);
    write("kernels.cpp", &without_chevrons(&kernels));
    let shim = here.join("shim");
    let (include, source) = (format!("-I{}", shim.display()), shim.join("shim.cpp"));
    // HIP's names are the simulator's stand-ins, over the `cuda_runtime.h` that stands here
    let names = format!("-I{}", here.join("../../simulate/shim").display());
    let driver = here.join("run/driver.c");
    let sanitize = "-fsanitize=address,undefined";
    let strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wno-implicit-fallthrough"];
    let c = |args: &[&str]| {
        let mut all = vec![
            "-c",
            "-g",
            "-O1",
            "-ffp-contract=off",
            "-fno-sanitize-recover=all",
            sanitize,
            &include,
            &names,
        ];
        all.extend(args);
        tool("gcc", dir.path(), &all)
    };
    let mut host_args = strict.to_vec();
    host_args.extend(["host.c", "-o", "host.o"]);
    c(&host_args);
    // Without CUDA a C compiler makes of each kernel file the function that leaves the loop to itself.
    let off = format!("-D{}", target.host.off_switch);
    for (name, text) in &stand_ins {
        write(name, text);
        let mut args = strict.to_vec();
        args.extend([&**name, &*off, "-fsyntax-only"]);
        c(&args);
    }
    let mut original: Vec<&str> = renames.iter().map(String::as_str).collect();
    original.extend(["-std=c99", "original.c", "-o", "original.o"]);
    c(&original);
    c(&["-std=c99", driver.to_str().expect("UTF-8"), "-o", "driver.o"]);
    let source = source.to_str().expect("UTF-8");
    let cpp = [
        "-std=c++17",
        "-g",
        "-O1",
        "-ffp-contract=off",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-Wno-implicit-fallthrough",
        "-fno-sanitize-recover=all",
        sanitize,
        &include,
        &names,
    ];
    let mut args = cpp.to_vec();
    args.extend([
        "-include",
        "cuda_runtime.h",
        // what is included in a namespace would be declared there
        "-include",
        "stdint.h",
        "-include",
        "stdlib.h",
        "-include",
        "string.h",
        "kernels.cpp",
        source,
        "host.o",
        "original.o",
        "driver.o",
        "-o",
        "both",
        "-lm",
    ]);
    tool("g++", dir.path(), &args);
    let out = tool("./both", dir.path(), &[]);
    assert!(out.contains("all equal"), "{out}");
}
