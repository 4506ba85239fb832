//! Where no rule applies: the rule that came nearest, and where it failed.
//!
//! Deliberately absent: rules whose source matched and whose condition did not hold; they say so themselves, and are told of
//! first where nothing else came further.

use std::sync::Arc;

use rewrite::rules::{nearest, Miss, NoResult, RuleSet, RuleSystem, Subject};

use super::rewriting::targets;
use super::{NotDone, RuleTarget};
use crate::check::Findings;
use crate::Ask;

/// A sentence without its end. `None`: nothing is near, or what is told of already is nearer.
pub(super) fn said(
    ask: &Ask,
    findings: &Findings,
    set: &RuleSet,
    system: &Arc<RuleSystem>,
    target: &RuleTarget,
    no: &NotDone,
) -> Option<String> {
    if no.kind != NoResult::NothingApplies {
        return None;
    }
    let doc = &ask.doc;
    let mut best: Option<(Miss, u32)> = None;
    for (item, _) in targets(doc, findings, target).ok()? {
        let Some(function) = doc.unit().items.get(item) else { continue };
        let (body, start) = (&*function.body, function.span.start);
        let subject = Subject::of(body, doc.source(), start, function.is_kernel, function.is_device);
        let Some(miss) = nearest(system, &set.systems, body, &subject) else { continue };
        if best.as_ref().is_none_or(|(known, _)| known.matched < miss.matched) {
            best = Some((miss, start));
        }
    }
    let (miss, start) = best.filter(|(m, _)| m.matched > no.matched)?;
    let line = miss.place.map(|p| doc.text().line_of(p.shifted(start).start) + 1);
    Some(miss.said(line))
}
