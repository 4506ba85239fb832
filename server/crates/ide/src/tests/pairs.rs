//! `fixtures/cuda/defects_*.cu`: pairs of functions, one with a defect and one that mends it. The line of a defect ends with
//! `// says CODE: words`; what is said must be said there, in those words, and nothing else anywhere.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::{full, open_cuda, open_for};

struct Expected {
    line: u32,
    code: String,
    words: String,
}

fn expectations(text: &str) -> Vec<Expected> {
    let mut out = Vec::new();
    for (k, line) in text.lines().enumerate() {
        let Some((_, list)) = line.split_once("// says ") else { continue };
        for one in list.split(" | ") {
            let (code, words) = one.split_once(": ").unwrap_or((one, ""));
            out.push(Expected {
                line: k as u32 + 1,
                code: code.trim().to_owned(),
                words: words.trim().to_owned(),
            });
        }
    }
    out
}

/// What is wrong with a file, a line each; the pairs it has, and the codes.
fn judge(text: &str, codes: &mut BTreeSet<String>, pairs: &mut usize) -> Vec<String> {
    let doc = match text.starts_with("// target: hip\n") {
        true => open_for("hip", text),
        false => open_cuda(text),
    };
    let expected = expectations(text);
    let mut wrong = Vec::new();
    let mut met = vec![false; expected.len()];
    for d in full(&doc).diagnostics.into_iter().filter(|d| !d.code.ends_with("-loop")) {
        let line = crate::function_view::line_column(&doc, d.span.start).line;
        let fits = |e: &Expected| e.line == line && e.code == d.code && d.message.contains(&e.words);
        let unmet = expected.iter().zip(&met).position(|(e, met)| !met && fits(e));
        let at = unmet.or_else(|| expected.iter().position(fits));
        match at {
            Some(k) => met[k] = true,
            None => wrong.push(format!("{line}: {} too much: {}", d.code, d.message)),
        }
    }
    for (e, met) in expected.iter().zip(&met) {
        codes.insert(e.code.clone());
        if !met {
            wrong.push(format!("{}: {} missing: {}", e.line, e.code, e.words));
        }
    }
    // every defect has its repair, and something to say
    let mut names: BTreeMap<String, [bool; 2]> = BTreeMap::new();
    for item in &doc.unit().items {
        let lines = |at| crate::function_view::line_column(&doc, at).line;
        let said = expected.iter().any(|e| (lines(item.span.start)..=lines(item.span.end)).contains(&e.line));
        for (k, end) in ["_wrong", "_right"].into_iter().enumerate() {
            let Some(stem) = item.name.strip_suffix(end) else { continue };
            names.entry(stem.to_owned()).or_default()[k] = true;
            if said != (k == 0) {
                wrong.push(format!("{}: what is expected of it?", item.name));
            }
        }
    }
    wrong.extend(
        names.iter().filter(|(_, both)| **both != [true; 2]).map(|(n, _)| format!("{n} has no partner")),
    );
    *pairs += names.len();
    wrong
}

#[test]
fn every_defect_is_told_at_its_line_and_its_repair_is_silent() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fixtures/cuda");
    let (mut pairs, mut codes, mut wrong) = (0, BTreeSet::new(), Vec::new());
    let mut files: Vec<_> =
        std::fs::read_dir(folder).expect("the fixtures").map(|e| e.expect("an entry").path()).collect();
    files.sort();
    for file in files {
        let name = file.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        if name.starts_with("defects_") {
            let text = std::fs::read_to_string(&file).expect("a text");
            let said = judge(&text, &mut codes, &mut pairs);
            wrong.extend(said.into_iter().map(|w| format!("{name}:{w}")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(pairs >= 60, "{pairs}");
    // every lint of CUDA documents has a pair, but for what is said of limits
    let of_cuda =
        crate::lints::lints().filter(|l| l.page.contains("```cuda\n") && l.code != "unknown-kernel");
    let missing: Vec<&str> = of_cuda.map(|l| l.code).filter(|c| !codes.contains(*c)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
