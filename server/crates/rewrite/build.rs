//! Lists the pages in `rules/`, so that a new page is a new file and nothing else.

use std::path::Path;

fn main() -> std::io::Result<()> {
    let folder = Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../../../rules");
    println!("cargo:rerun-if-changed={}", folder.display());
    let mut pages: Vec<(String, std::path::PathBuf)> = Vec::new();
    if let Ok(entries) = std::fs::read_dir(&folder) {
        for e in entries.flatten() {
            let path = e.path();
            if path.extension().is_some_and(|x| x == "md") {
                println!("cargo:rerun-if-changed={}", path.display());
                let name = path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
                pages.push((name, path.canonicalize()?));
            }
        }
    }
    pages.sort();
    let mut out = String::from("&[\n");
    for (name, path) in pages {
        out += &format!("    ({name:?}, include_str!({:?})),\n", path.to_string_lossy());
    }
    out += "]\n";
    let to = Path::new(&std::env::var("OUT_DIR").unwrap_or_default()).join("shipped.rs");
    std::fs::write(to, out)
}
