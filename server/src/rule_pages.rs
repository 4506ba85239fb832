//! Rule pages: which files they are and which of them are in use, for the editor and the command line.
//!
//! What is in use is what is saved and passed every check, its examples included; of a page that does not pass, the last
//! text that did stays in use. Pages of a folder that is not trusted are not read. Deliberately absent: what rules mean.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use base::CancelToken;

use crate::limits::rule_pages::MAX_BYTES;
use crate::prove::Prover;

/// The pages in use.
#[derive(Clone, Default)]
pub struct Pages {
    pub set: Arc<ide::RuleSet>,
    /// Names of those that are not shipped.
    pub own: BTreeSet<String>,
    /// Text of each file's last good version.
    pub good: BTreeMap<PathBuf, Arc<str>>,
    /// Files whose newest text is not in use, with the first reason.
    pub refused: BTreeMap<PathBuf, String>,
    /// Text of each file as it was found when these pages were read.
    found: BTreeMap<PathBuf, Arc<str>>,
}

/// The pages that ship; they are checked by tests.
fn shipped() -> &'static ide::RuleSet {
    static SHIPPED: OnceLock<ide::RuleSet> = OnceLock::new();
    SHIPPED.get_or_init(ide::RuleSet::shipped)
}

impl Pages {
    pub fn shipped() -> Pages {
        Pages { set: Arc::new(shipped().clone()), ..Pages::default() }
    }
}

/// The folder of the user's own pages: below `XDG_CONFIG_HOME`, `APPDATA` or `~/.config`.
pub fn user_folder() -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let config = absolute("XDG_CONFIG_HOME")
        .or_else(|| absolute("APPDATA"))
        .or_else(|| absolute("HOME").map(|home| home.join(".config")))?;
    Some(config.join("warpwright").join("rules"))
}

/// Whether a file is a page, by its place: `.warpwright/rules/NAME.md` or a file of the user's folder.
pub fn is_page(path: &Path) -> bool {
    let folder = path.parent();
    let in_workspace = folder.is_some_and(|f| f.ends_with(Path::new(".warpwright").join("rules")));
    let is_markdown = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("md"));
    is_markdown && (in_workspace || (folder.is_some() && folder == user_folder().as_deref()))
}

/// A page's name: the file's without its ending.
pub fn name(path: &Path) -> String {
    path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The nearest folder of pages above a document.
fn folder_above(document: &Path) -> Option<PathBuf> {
    let mut folders = document.ancestors().skip(1).map(|f| f.join(".warpwright").join("rules"));
    folders.find(|f| f.is_dir())
}

/// Where pages are looked for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Where {
    /// Folders of the workspace.
    pub roots: BTreeSet<PathBuf>,
    /// Folders of open documents.
    pub near: BTreeSet<PathBuf>,
    /// Whether the workspace's pages may be used.
    pub trusted: bool,
}

/// Reads all pages that are to be used, checks them if any is new, and keeps the last good text of the others.
pub fn load(places: &Where, before: &Pages, cancel: &CancelToken) -> Pages {
    let mut folders: Vec<PathBuf> = user_folder().into_iter().collect();
    if places.trusted {
        let above = places.near.iter().filter_map(|n| folder_above(&n.join("document")));
        let roots = places.roots.iter().map(|r| r.join(".warpwright").join("rules"));
        for f in roots.chain(above) {
            if !folders.contains(&f) {
                folders.push(f);
            }
        }
    }
    let mut texts: BTreeMap<PathBuf, Arc<str>> = BTreeMap::new();
    for folder in folders {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for path in entries.flatten().map(|e| e.path()).filter(|p| is_page(p)) {
            let small = std::fs::metadata(&path).is_ok_and(|m| m.is_file() && m.len() <= MAX_BYTES);
            if let (true, Ok(text)) = (small, std::fs::read_to_string(&path)) {
                texts.insert(path, text.into());
            }
        }
    }
    if texts == before.found {
        return before.clone();
    }
    let found = texts.clone();
    let mut refused = BTreeMap::new();
    // A page may name systems of the others, so that all are there before one is checked.
    let mut set = set_of(&texts);
    let prover = Prover { cancel };
    let mut claims = Vec::new();
    loop {
        let mut worse = None;
        claims.clear();
        for (path, text) in &texts {
            let check = ide::check_rule_page(&set, &name(path), text, Some(&prover), cancel);
            claims.extend(check.claim);
            let first = check.findings.iter().find(|f| f.severity == ide::RuleSeverity::Error);
            if let Some(first) = first {
                worse = Some((path.clone(), format!("line {}: {}", first.line, first.message)));
                break;
            }
        }
        let Some((path, why)) = worse else { break };
        let again = !refused.contains_key(&path);
        refused.entry(path.clone()).or_insert(why);
        // the last good text, which may itself no longer fit the other pages
        match before.good.get(&path).filter(|_| again) {
            Some(good) => texts.insert(path, good.clone()),
            None => texts.remove(&path),
        };
        set = set_of(&texts);
    }
    for (hash, doubt) in claims {
        set.keep_judgement(hash, doubt);
    }
    let own = texts.keys().map(|p| name(p)).collect();
    Pages { set: Arc::new(set), own, good: texts, refused, found }
}

fn set_of(texts: &BTreeMap<PathBuf, Arc<str>>) -> ide::RuleSet {
    let mut set = shipped().clone();
    for (path, text) in texts {
        set.add(&name(path), text);
    }
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "# Squares\n\nPowers of two are products.\n\nTrust: reassociates\n\n```rules squares BottomUp\nsquare: c`pow($x, 2)` [pure($x), type($x, double)] -> c`$x * $x`\n```\n\n```c example\n#include <math.h>\ndouble f(double x) { return pow(x, 2); }\n```\n```c result\n#include <math.h>\ndouble f(double x) { return x * x; }\n```\n```c refused\ndouble g(void);\ndouble f(void) { return pow(g(), 2); }\n```\n";

    #[test]
    fn the_last_good_text_of_a_page_stays_in_use() -> anyhow::Result<()> {
        let root = tempfile::tempdir()?;
        let folder = root.path().join(".warpwright/rules");
        std::fs::create_dir_all(&folder)?;
        let page = folder.join("squares.md");
        std::fs::write(&page, GOOD)?;
        let places = Where { roots: [root.path().to_owned()].into(), trusted: true, ..Where::default() };
        let cancel = CancelToken::new();
        let first = load(&places, &Pages::shipped(), &cancel);
        assert_eq!(first.refused, BTreeMap::new());
        assert!(first.own.contains("squares") && first.set.find("squares").is_some());
        // an example that does not come out is as bad as a rule that cannot be read
        std::fs::write(&page, GOOD.replace("x * x; }", "x + x; }"))?;
        let second = load(&places, &first, &cancel);
        assert!(second.refused.contains_key(&page), "{:?}", second.refused);
        assert_eq!(second.good.get(&page).map(|t| &**t), Some(GOOD));
        assert!(second.set.find("squares").is_some());
        // nobody trusts the folder: nothing of it is used
        let nobody = load(&Where { trusted: false, ..places.clone() }, &Pages::shipped(), &cancel);
        assert!(nobody.set.find("squares").is_none());
        // found from a document below, too
        std::fs::write(&page, GOOD)?;
        let near = Where { near: [root.path().join("src")].into(), trusted: true, ..Where::default() };
        assert!(load(&near, &Pages::shipped(), &cancel).set.find("squares").is_some());
        std::fs::remove_file(&page)?;
        assert!(load(&places, &second, &cancel).set.find("squares").is_none());
        Ok(())
    }
}
