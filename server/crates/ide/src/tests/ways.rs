//! The ways to offload give the same bytes on all fixtures: the editor's action, `offload`, and the rule page `offload`.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;

use text::Text;

use crate::rules::planned_loops;
use crate::{
    apply_rules, check, offload, resolve, ActionId, Ask, Doc, Language, Options, Refused, ResolveError,
    Resolved, RuleSet, RuleTarget, Settings, Which, WorkspaceEdit,
};

/// Fixtures whose loops are also run.
const RUN: [&str; 4] = ["bitonic.c", "marks.c", "saxpy.c", "structs.c"];

fn add_fixtures(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the fixtures").filter_map(Result::ok) {
        match entry.path() {
            path if path.is_dir() => add_fixtures(&path, out),
            path if path.extension().is_some_and(|e| e == "c") => out.push(path),
            _ => {}
        }
    }
}

/// The changed text and the files that are made, or why there are none.
type Came = Result<(String, Vec<(String, String)>), String>;

fn edited(doc: &Doc, edit: &WorkspaceEdit) -> (String, Vec<(String, String)>) {
    let text = edit.edits[0].edits.apply(doc.text()).expect("edits of this text").to_string();
    (text, edit.create.iter().map(|f| (f.name.clone(), f.text.clone())).collect())
}

fn refused(why: Refused) -> String {
    match why {
        Refused::Because(why) => why,
        other => format!("{other:?}"),
    }
}

/// Loops offloaded in every way, those refused in every way, and where the ways part.
#[derive(Default)]
struct Tally {
    offloaded: usize,
    refused: usize,
    apart: Vec<String>,
}

impl Tally {
    fn add(&mut self, place: &str, ways: [(&str, Came); 3]) {
        let [(_, first), ..] = &ways;
        match first {
            Ok(_) => self.offloaded += 1,
            Err(_) => self.refused += 1,
        }
        for (name, came) in &ways[1..] {
            let same = match (first, came) {
                (Ok(a), Ok(b)) => a == b,
                (Err(_), Err(_)) => true,
                _ => false,
            };
            if !same {
                self.apart.push(format!("{place}: {} says {first:?}, {name} says {came:?}", ways[0].0));
            }
        }
    }
}

/// Every loop of a file alone, and the marked ones together.
fn judge(file: &Path, set: &RuleSet) -> Tally {
    let mut out = Tally::default();
    let name = file.file_name().and_then(|n| n.to_str()).expect("a name");
    let code = std::fs::read_to_string(file).expect("a fixture");
    let options = Options { headers: Some(testkit::headers::of_fixtures()), ..Options::default() };
    let doc = Doc::open(Language::C, name, Text::new(&code).expect("small"), options);
    let ask = Ask::thorough(&doc);
    let findings = check(&ask, &Settings::default()).expect("nobody cancels");
    // where nothing says so, what `apply_rules` gives out is taken before it is run: runs of all fixtures are others' tests
    let rules = |target: &RuleTarget| -> Came {
        let (edit, text) = match RUN.contains(&name) {
            true => {
                let done = apply_rules(&ask, &findings, set, "offload", target).map_err(refused)?;
                (done.edit, done.text)
            }
            false => {
                let (_, system) = set.find("offload").expect("the page that ships");
                let done = planned_loops(&ask, &findings, set, system, target).map_err(refused)?;
                (done.edit, done.host)
            }
        };
        let edited = edited(&doc, &edit);
        assert_eq!(edited.0, text);
        Ok(edited)
    };
    let command = |which: &Which| -> Came {
        let done = offload(&ask, &findings, which).map_err(refused)?;
        let edited = edited(&doc, &done.edit);
        assert_eq!(edited.0, done.host);
        Ok(edited)
    };
    let action = |key: &str| -> Came {
        let id = ActionId::parse(&format!("offload:{key}")).expect("an id");
        match resolve(&ask, &findings, &id) {
            Ok(Resolved::Edit(edit)) => Ok(edited(&doc, &edit)),
            Ok(Resolved::Show { .. }) => Err("a text".to_owned()),
            Err(ResolveError::Refused(why)) => Err(why),
            Err(other) => Err(format!("{other:?}")),
        }
    };
    for l in &findings.loops {
        // of several on one line the outermost is meant by its number
        if findings.on_line(l.line()).is_none_or(|first| first.key != l.key) {
            continue;
        }
        let place = format!("{}:{} {}", file.display(), l.line(), l.report().function);
        let ways = [
            ("the action", action(l.key.as_ref())),
            ("`offload`", command(&Which::Line(l.line()))),
            ("the page", rules(&RuleTarget::Loop(l.line()))),
        ];
        out.add(&place, ways);
    }
    if findings.marked().next().is_some() {
        let together = [command(&Which::Marked), rules(&RuleTarget::File)];
        let same = match &together {
            [Ok(a), Ok(b)] => a == b,
            [Err(_), Err(_)] => true,
            _ => false,
        };
        if !same {
            out.apart.push(format!("{}, marked: {together:?}", file.display()));
        }
    }
    out
}

#[test]
fn all_ways_of_offloading_give_the_same_bytes() {
    // WW_FIXTURE=lu looks at one file
    let only = std::env::var("WW_FIXTURE").unwrap_or_default();
    let mut files = Vec::new();
    add_fixtures(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fixtures/c"), &mut files);
    files.retain(|f| f.to_string_lossy().contains(only.as_str()));
    files.sort();
    let (next, set, all) = (AtomicUsize::new(0), RuleSet::shipped(), Mutex::new(Tally::default()));
    let work = || {
        while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            let one = judge(file, &set);
            let mut all = all.lock().expect("no panic");
            all.offloaded += one.offloaded;
            all.refused += one.refused;
            all.apart.extend(one.apart);
        }
    };
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(2, |n| n.get());
        (0..threads).for_each(|_| drop(scope.spawn(work)));
    });
    let all = all.into_inner().expect("no panic");
    assert!(all.apart.is_empty(), "{}", all.apart.join("\n"));
    assert!(
        !only.is_empty() || all.offloaded > 900,
        "{} loops are offloaded, {} in no way",
        all.offloaded,
        all.refused
    );
}
