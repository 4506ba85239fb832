//! `unchecked-launch`: launches of which nobody asks whether they failed.

use analysis::HostFault;

use super::{fixed, Edits};
use crate::lints::{Find, Lint};
use crate::repairs::Site;
use crate::Severity;
use base::Span;
use term::TermId;

pub(super) const LINT: Lint = Lint {
    code: "unchecked-launch",
    severity: Severity::Hint,
    summary: "Nobody asks whether a launch failed.",
    page: include_str!("../../../../../../docs/codes/unchecked-launch.md"),
    find: Find::Document(|ask| super::told(ask, words)),
    fixes: &[|site, fact| fixed(site, fact, fix)],
};

fn words(doc: &crate::Doc, body: &term::Body, start: u32, fault: &HostFault) -> Option<String> {
    // a place of C++ that is not read may ask as well
    let asks = || {
        let unread = body.rejects().map(|r| doc.slice(r.span.shifted(start)));
        let mut asked = unread
            .filter(|text| ["cudaGetLastError", "cudaPeekAtLastError"].iter().any(|n| text.contains(n)));
        asked.next().is_some()
    };
    Some(match fault {
        HostFault::Unchecked if asks() => return None,
        HostFault::Unchecked => "Nobody asks whether this launch failed: an invalid configuration or a missing kernel goes unnoticed. Call \
             `cudaGetLastError()` after it, and look at what `cudaDeviceSynchronize()` gives."
            .to_owned(),
        _ => return None,
    })
}

/// A look at the outcome, where the document can print.
fn fix(site: &Site, launch: TermId, fault: &HostFault) -> Option<Edits> {
    let HostFault::Unchecked = fault else { return None };
    let text = site.doc.slice(Span { start: 0, end: site.item.span.start });
    if !["<stdio.h>", "<cstdio>"].iter().any(|h| text.contains(h)) {
        return None;
    }
    let (error, name) = (site.unused("error")?, site.text(*site.body.args(launch).first()?));
    let lines = [
        format!("cudaError_t {error} = cudaGetLastError();"),
        format!("if ({error} != cudaSuccess)"),
        format!(
            "    fprintf(stderr, \"{}: %s\\n\", cudaGetErrorString({error}));",
            name.replace(['"', '\\', '%'], "")
        ),
    ];
    let edits = site.behind(site.statement(launch)?, &lines)?;
    Some(("Look at `cudaGetLastError()` behind it".into(), edits))
}
