//! Every file of `fixtures/cuda` is CUDA that NVRTC takes.

mod common;

use base::CancelToken;
use common::{client, libraries, with_library};
use device::{Arch, CompileOutcome, CompileRequest, Limits};

#[test]
fn every_kernel_of_the_fixtures_compiles() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../fixtures/cuda");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .expect("the fixtures")
        .map(|e| e.expect("an entry").path())
        .filter(|p| p.extension().is_some_and(|e| e == "cu"))
        .collect();
    files.sort();
    assert!(!files.is_empty());
    let mut client = client(Limits::default());
    for library in libraries() {
        for file in &files {
            let text = std::fs::read_to_string(file).expect("readable");
            let name = file.file_name().expect("a name").to_string_lossy().into_owned();
            let written = text.matches("__global__ void").count();
            let request = CompileRequest::new(&text, &name, Arch::sm(80));
            match client.compile(with_library(request, &library), &CancelToken::new()) {
                CompileOutcome::Compiled(done) => assert_eq!(done.kernels.len(), written, "{name}"),
                other => panic!("{name}: {other:?}"),
            }
        }
    }
}
