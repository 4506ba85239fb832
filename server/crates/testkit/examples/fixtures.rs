//! Checks the markers of the C files named, or of all fixtures: `cargo run -p ww-testkit --example fixtures`.
#![allow(clippy::print_stdout)]

fn main() {
    let mut files: Vec<std::path::PathBuf> = std::env::args().skip(1).map(Into::into).collect();
    if files.is_empty() {
        let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../fixtures/c");
        files = std::fs::read_dir(dir).map(|d| d.flatten().map(|e| e.path()).collect()).unwrap_or_default();
    }
    files.sort();
    let mut wrong = 0;
    for f in files {
        let Ok(text) = std::fs::read_to_string(&f) else {
            println!("{}: cannot be read", f.display());
            continue;
        };
        let name = f.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let time = std::time::Instant::now();
        for w in testkit::fixture::check(&name, &text) {
            wrong += 1;
            println!("{w}");
        }
        if time.elapsed().as_millis() > 2000 {
            println!("{name}: took {} ms", time.elapsed().as_millis());
        }
    }
    println!("{wrong} mismatches");
}
