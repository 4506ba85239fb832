//! What is written for HIP: every loop of the fixtures that can be offloaded prints, and compiles for gfx90a where `hipcc` is.

mod common;

use std::path::Path;
use std::process::Command;

use common::{offload_for, Outcome};
use front::{ItemKind, Language, Memo, Options, Parsed};

/// Functions of a text with the number of their outermost loops.
fn functions(text: &str) -> Vec<(String, usize)> {
    let options = Options { headers: Some(testkit::headers::of_fixtures()), ..Options::default() };
    let unit = front::lower(&Parsed::parse(Language::C, text), &options, &mut Memo::default());
    let program = analysis::Program::of(unit.items.iter().map(|i| &i.body));
    let functions = unit.items.iter().filter(|i| i.kind == ItemKind::Function);
    functions
        .map(|i| {
            let budget = base::Budget::new(u64::MAX);
            let facts = analysis::analyze(&i.body, &program, analysis::SAVE, &budget);
            (i.name.to_string(), facts.loops.iter().filter(|l| l.parent.is_none()).count())
        })
        .collect()
}

fn hipcc() -> bool {
    // it asks for devices first, and fails where there is none
    Command::new("hipcc").arg("--version").output().is_ok()
}

#[test]
fn the_fixtures_print_and_compile_for_gfx90a() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fixtures/c");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).expect("fixtures").flatten().map(|e| e.path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "c"));
    files.sort();
    let (mut kernels, mut done) = (String::from("#include <hip/hip_runtime.h>\n"), 0);
    for file in &files {
        let text = std::fs::read_to_string(file).expect("read");
        for (f, loops) in functions(&text) {
            for k in 0..loops {
                let cuda = offload_for(&gpu::CUDA, &text, &f, k);
                let hip = offload_for(&gpu::HIP, &text, &f, k);
                let (Outcome::Done { output, .. }, Outcome::Done { host, output: other }) = (&cuda, &hip)
                else {
                    let done = |o: &Outcome| matches!(o, Outcome::Done { .. });
                    assert_eq!(done(&cuda), done(&hip), "{} {f} {k}", file.display());
                    continue;
                };
                assert_eq!(
                    output.kernel_file.name.strip_suffix("cu"),
                    other.kernel_file.name.strip_suffix("hip")
                );
                for text in [host, &other.kernel_file.text] {
                    assert!(
                        !text.contains("cuda") && !text.contains("CUDA"),
                        "{} {f} {k}: {text}",
                        file.display()
                    );
                }
                // several files have functions of one name
                let text = other.kernel_file.text.replace("extern \"C\" ", "");
                kernels.push_str(&format!("namespace file_{done} {{\n{text}}}\n"));
                done += 1;
            }
        }
    }
    assert!(done >= 25, "only {done} loops");
    if !hipcc() {
        eprintln!("\n*** NOT CHECKED: hipcc is not installed (cargo xtask test installs it), so no HIP was compiled ***\n");
        return;
    }
    let dir = tempfile::tempdir().expect("temporary folder");
    std::fs::write(dir.path().join("kernels.hip"), &kernels).expect("write");
    let args =
        ["-ffp-contract=off", "--offload-arch=gfx90a", "-O0", "-w", "-c", "kernels.hip", "-o", "kernels.o"];
    let out = Command::new("hipcc").args(args).current_dir(dir.path()).output().expect("hipcc");
    let said = String::from_utf8_lossy(&out.stderr);
    let errors: Vec<&str> = said.lines().filter(|l| l.contains("error")).take(20).collect();
    assert!(dir.path().join("kernels.o").exists(), "{done} kernels: {}\n{said}", errors.join("\n"));
}

const CELLS: &str = "long long m[16];
int bits[16];
void g(int n, const int *restrict at, const long long *restrict v) {
    for (int i = 0; i < n; i++) m[at[i] & 15] = v[i] < m[at[i] & 15] ? v[i] : m[at[i] & 15];
}
void h(int n, const int *restrict at) {
    for (int i = 0; i < n; i++) bits[at[i] & 15] ^= i;
}
";

/// The kernel's text, or a panic that says why there is none.
fn kernel(target: &'static gpu::Row, function: &str) -> String {
    match offload_for(target, CELLS, function, 0) {
        Outcome::Done { output, .. } => output.kernel_file.text.clone(),
        Outcome::Refused(r) => panic!("{function}: {r:?}"),
        Outcome::NotParallel(why) => panic!("{function}: {why}"),
    }
}

/// HIP 5.2 has no such atomic: it is written as a loop of comparing and exchanging.
#[test]
fn what_hip_lacks_is_written_otherwise() {
    let text = kernel(&gpu::HIP, "g");
    assert!(text.contains("ww_old = atomicCAS(ww_cell, ww_seen,") && !text.contains("atomicMin"), "{text}");
    let text = kernel(&gpu::CUDA, "g");
    assert!(text.contains("atomicMin((long long *)"), "{text}");
}

/// A vendor without atomics and barriers.
static POORER: gpu::Row = gpu::Row {
    name: "poorer",
    title: "Poorer",
    words: &[&[
        ("threadIdx", term::device::Word::Index(term::device::Index::Thread)),
        ("blockIdx", term::device::Word::Index(term::device::Index::Block)),
        ("blockDim", term::device::Word::Index(term::device::Index::BlockSize)),
        ("gridDim", term::device::Word::Index(term::device::Index::GridSize)),
    ]],
    ..gpu::HIP_ROW
};

#[test]
fn what_a_target_lacks_is_refused_by_its_name() {
    let Outcome::Refused(refusal) = offload_for(&POORER, CELLS, "h", 0) else { panic!("not refused") };
    let lacking = refusal.reasons.iter().find_map(|r| match &r.kind {
        codegen::RefusalKind::NoWord(w) => Some(POORER.said(*w)),
        _ => None,
    });
    assert_eq!(lacking, Some("atomicXor"));
}
