//! `thread-race`: see its page.

use analysis::FaultKind;

use text::{Edit, EditSet, PositionEncoding};

use crate::check::check;
use crate::lints::{Find, Lint};
use crate::repairs::{Repair, Site};
use crate::{regions, Doc, Fact, Settings, Severity};

pub(super) const LINT: Lint = Lint {
    code: "thread-race",
    severity: Severity::Error,
    summary: "Threads of an OpenMP region write a variable that they share, with nothing that orders them.",
    page: include_str!("../../../../../../docs/codes/thread-race.md"),
    find: Find::Function(|place| regions::said(place, is_mine)),
    fixes: &[fix],
};

/// The clauses that are missing, behind the others. It is checked that the finding is gone with it and no other of threads came.
fn fix(site: &Site, fact: &Fact) -> Option<Repair> {
    let Fact::Clause(clause) = fact else { return None };
    let edit = Edit::insert(site.finding.end, format!(" {clause}"));
    let repair = Repair { title: format!("Add `{clause}`"), edits: EditSet::one(edit) };
    if site.is_listed() {
        return Some(repair);
    }
    let doc = site.doc;
    let made = repair.edits.apply(doc.text()).ok()?.to_string();
    let applied = doc.text().apply_lsp_change(None, &made, PositionEncoding::Utf8).ok()?;
    let again = doc.edit(std::slice::from_ref(&applied));
    let faults = |doc: &Doc| {
        let ask = site.ask.of(doc);
        let found = check(&ask, &Settings::default()).ok()?;
        let of_threads = |code: &str| matches!(code, "thread-race" | "thread-dependence" | "wrong-clause");
        Some(found.diagnostics.iter().filter(|d| of_threads(d.code)).count())
    };
    (faults(&again)? < faults(doc)?).then_some(repair)
}

fn is_mine(kind: &FaultKind) -> bool {
    matches!(kind, FaultKind::Race { .. })
}
