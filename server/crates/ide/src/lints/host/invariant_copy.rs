//! `invariant-copy`: a copy in a loop of the host that could be made once.

use analysis::HostFault;

use super::{fixed, Edits};
use crate::kernels::line;
use crate::lints::{Find, Lint};
use crate::repairs::Site;
use crate::Severity;
use term::{BinOp, Op, TermId};

pub(super) const LINT: Lint = Lint {
    code: "invariant-copy",
    severity: Severity::Warning,
    summary: "A loop copies the same data between host and device in every round.",
    page: include_str!("../../../../../../docs/codes/invariant-copy.md"),
    find: Find::Document(|ask| super::told(ask, words)),
    fixes: &[|site, fact| fixed(site, fact, fix)],
};

fn words(doc: &crate::Doc, body: &term::Body, start: u32, fault: &HostFault) -> Option<String> {
    let at = |t| line(doc, body.span(t).shifted(start));
    Some(match fault {
        HostFault::InvariantCopy(l, true) => format!(
            "This copy moves the same data to the device in every round of the loop on line {}: nothing in the loop changes it. Copy once \
                 before the loop.",
            at(*l)
        ),
        HostFault::InvariantCopy(l, false) => format!(
            "This copy brings the data back in every round of the loop on line {}, and nothing in the loop looks at it. Copy once behind \
                 the loop.",
            at(*l)
        ),
        _ => return None,
    })
}

/// A copy out of its loop, to where it is made if the loop has a round at all.
fn fix(site: &Site, t: TermId, fault: &HostFault) -> Option<Edits> {
    let &HostFault::InvariantCopy(l, to_device) = fault else { return None };
    let body = site.body;
    let statement = site.statement(t)?;
    // what becomes of its outcome stays with it
    let removed = site.removed(statement).filter(|_| statement == t)?;
    let call = site.doc.slice(site.with_semicolon(statement)).to_owned();
    let guard = match rounds(site, l)? {
        Rounds::Some => String::new(),
        Rounds::If(c) => format!("if ({c}) "),
    };
    let list = site.parent(l)?;
    if !matches!(body.op(list), Op::List) || !site.doc.slice(site.span(list)).starts_with('{') {
        return None;
    }
    let line = format!("{guard}{call}");
    let (place, edit) = match to_device {
        true => ("before", site.before(l, &line)),
        false => ("behind", site.after(l, &line)),
    };
    Some((format!("Copy once {place} the loop"), vec![removed, edit]))
}

enum Rounds {
    Some,
    If(String),
}

/// Whether a counted loop has a round: surely, or under a condition that its header gives.
fn rounds(site: &Site, l: TermId) -> Option<Rounds> {
    let body = site.body;
    let (Op::For, &[init, condition, ..]) = (body.op(l), body.args(l)) else { return None };
    let declared = match (body.op(init), body.args(init)) {
        (Op::List, &[one]) => one,
        _ => init,
    };
    let (index, begin) = match (body.op(declared), body.args(declared)) {
        (Op::Declare(s), &[v]) => (*s, v),
        (Op::Assign, &[p, v]) => (body.as_symbol(p)?, v),
        _ => return None,
    };
    let (Op::Binary(op @ (BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge)), &[a, b]) =
        (body.op(condition), body.args(condition))
    else {
        return None;
    };
    let plain = |t: TermId| matches!(body.op(t), Op::Sym(_) | Op::Int(_));
    if body.as_symbol(a) != Some(index) || body.as_symbol(b) == Some(index) || !plain(begin) || !plain(b) {
        return None;
    }
    let number = |t: TermId| match body.op(t) {
        Op::Int(v) => Some(*v),
        _ => None,
    };
    if let (Some(x), Some(y)) = (number(begin), number(b)) {
        let holds = match op {
            BinOp::Lt => x < y,
            BinOp::Le => x <= y,
            BinOp::Gt => x > y,
            _ => x >= y,
        };
        return holds.then_some(Rounds::Some);
    }
    // read from the bound's side: `steps > 0`
    let sign = match op {
        BinOp::Lt => ">",
        BinOp::Le => ">=",
        BinOp::Gt => "<",
        _ => "<=",
    };
    Some(Rounds::If(format!("{} {sign} {}", site.text(b), site.text(begin))))
}
