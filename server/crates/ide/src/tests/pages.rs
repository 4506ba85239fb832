//! Lists and pages: every lint has a file, a row and a page, and the pages' examples are run.

use std::collections::BTreeSet;
use std::path::Path;

use super::{annotate, full, open, open_cuda, open_for, plain, without_steps};
use crate::lints::lints;
use crate::{codes, explain};

fn stems(folder: &Path, extension: &str) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).expect("a folder of this repository");
    let names = entries.filter_map(|e| e.ok()?.file_name().into_string().ok());
    names.filter_map(|n| n.strip_suffix(extension).map(str::to_owned)).collect()
}

#[test]
fn the_list_of_lints_is_sorted_and_equals_folders_and_pages() {
    let listed: Vec<&str> = crate::codes().map(|c| c.code).collect();
    assert!(listed.windows(2).all(|w| w[0] < w[1]), "sorted, and no code twice: {listed:?}");
    let expected: BTreeSet<String> = listed.iter().map(|c| c.to_string()).collect();
    let room = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders =
        ["directives", "host", "kernels", "loops"].map(|f| stems(&room.join("src/lints").join(f), ".rs"));
    let files = folders.iter().flatten().filter(|f| *f != "mod");
    let files: BTreeSet<String> = files.map(|f| f.replace('_', "-")).collect();
    assert_eq!(files, expected);
    assert_eq!(stems(&room.join("../../../docs/codes"), ".md"), expected);
}

#[test]
fn pages_have_a_title_the_level_and_their_parts() {
    for code in codes() {
        let page = explain(code.code).expect("a page");
        assert!(page.starts_with(&format!("# `{}`: ", code.code)), "{}", code.code);
        assert!(page.contains(&format!("*Default level: {}.*", code.severity.name())), "{}", code.code);
        for part in ["## What it says", "## Why it matters", "## Example", "## What to do"] {
            assert!(page.contains(part), "{}: {part}", code.code);
        }
    }
    assert_eq!(explain("no-such-code"), None);
}

#[test]
fn examples_on_pages_are_true() {
    for lint in lints() {
        let cuda = lint.page.contains("```cuda\n");
        let fence = if cuda { "```cuda\n" } else { "```c\n" };
        let (_, rest) = lint.page.split_once(fence).expect("an example");
        let (example, _) = rest.split_once("```").expect("the example's end");
        let hip = lint.page.contains("With the target `hip`:");
        let doc = match (cuda, hip) {
            (_, true) => open_for("hip", &plain(example)),
            (true, _) => open_cuda(&plain(example)),
            (false, _) => open(&plain(example)),
        };
        let found = match lint.page.contains("took all steps:") {
            true => without_steps(&doc),
            false => full(&doc),
        };
        assert_eq!(annotate(&doc, &found), example, "page {}", lint.code);
        assert!(example.contains(lint.code), "the example of {} shows it", lint.code);
    }
}
