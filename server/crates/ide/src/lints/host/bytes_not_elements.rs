//! `bytes-not-elements`: a size in elements where bytes are asked for.

use analysis::HostFault;

use super::{fixed, Edits};
use crate::lints::{Find, Lint};
use crate::repairs::Site;
use crate::Severity;
use term::{BinOp, Op, TermId};
use text::Edit;

pub(super) const LINT: Lint = Lint {
    code: "bytes-not-elements",
    severity: Severity::Error,
    summary: "A size is given in elements where bytes are asked for.",
    page: include_str!("../../../../../../docs/codes/bytes-not-elements.md"),
    find: Find::Document(|ask| super::told(ask, words)),
    fixes: &[|site, fact| fixed(site, fact, fix)],
};

fn words(doc: &crate::Doc, body: &term::Body, start: u32, fault: &HostFault) -> Option<String> {
    let text = |t| doc.slice(body.span(t).shifted(start));
    Some(match fault {
        HostFault::Elements(size, p) => format!(
            "`{}` counts elements (elsewhere it is multiplied by `sizeof`), and this size is in bytes: only a part of `{}` is meant here. \
             Write `{0} * sizeof(…)`.",
            text(*size),
            text(*p).trim_start_matches('&')
        ),
        _ => return None,
    })
}

fn fix(site: &Site, _: TermId, fault: &HostFault) -> Option<Edits> {
    let &HostFault::Elements(size, p) = fault else { return None };
    let body = site.body;
    let mut at = p;
    let symbol = loop {
        match (body.op(at), body.args(at)) {
            (Op::Sym(s), _) => break *s,
            (Op::Cast | Op::AddrOf, &[a]) | (Op::Binary(BinOp::Add) | Op::Index, &[a, _]) => at = a,
            _ => return None,
        }
    };
    let text = format!("{} * sizeof(*{})", site.text(size), body.symbols[symbol].name);
    Some((format!("Write `{text}`"), vec![Edit::replace(site.span(size), text.clone())]))
}
