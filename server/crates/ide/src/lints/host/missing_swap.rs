//! `missing-swap`: two buffers of a time loop that are never exchanged.

use analysis::HostFault;

use super::{fixed, Edits};
use crate::kernels::line;
use crate::lints::{Find, Lint};
use crate::repairs::Site;
use crate::Severity;
use term::{Op, SymbolId, TermId};
use text::Edit;

pub(super) const LINT: Lint = Lint {
    code: "missing-swap",
    severity: Severity::Warning,
    summary: "Every step of a time loop computes the first one again.",
    page: include_str!("../../../../../../docs/codes/missing-swap.md"),
    find: Find::Document(|ask| super::told(ask, words)),
    fixes: &[|site, fact| fixed(site, fact, fix)],
};

fn words(doc: &crate::Doc, body: &term::Body, start: u32, fault: &HostFault) -> Option<String> {
    let at = |t| line(doc, body.span(t).shifted(start));
    let name = |s: term::SymbolId| body.symbols[s].name.clone();
    Some(match fault {
        HostFault::MissingSwap(l, from, to) => format!(
            "Every round of the loop on line {} computes `{}` from the same `{}`: the steps do not build on one another. Exchange the two \
                 pointers behind the launch.",
            at(*l),
            name(*to),
            name(*from)
        ),
        _ => return None,
    })
}

/// The two buffers exchanged behind the launch; what is brought back after the loop comes from the one that was written last.
fn fix(site: &Site, launch: TermId, fault: &HostFault) -> Option<Edits> {
    let &HostFault::MissingSwap(l, from, to) = fault else { return None };
    let body = site.body;
    let (a, b) = (&body.symbols[from], &body.symbols[to]);
    let plain = |s: &term::Symbol| {
        matches!(body.types.kind(s.ty), term::TypeKind::Pointer { .. })
            && !body.types.quals(s.ty).is_const
            && matches!(s.storage, term::Storage::Local | term::Storage::Param(_))
    };
    // nobody else keeps the address of one of them
    let kept = body.walk(body.root).any(|t| {
        let of = body.args(t).first().and_then(|&p| body.as_symbol(p));
        let taken = matches!(body.op(t), Op::AddrOf) && of.is_some_and(|s| s == from || s == to);
        let up = site.parent(with_casts(site, t));
        taken && !up.and_then(|c| site.body.callee_name(c)).is_some_and(|n| n.starts_with("cudaMalloc"))
    });
    if kept {
        return None;
    }
    let element = |s: &term::Symbol| body.types.element(s.ty).map(|e| body.types.quals(e).is_const);
    if !plain(a) || !plain(b) || element(a)? || element(b)? {
        return None;
    }
    let arguments = body.args(launch).get(5..)?;
    let itself = |s: SymbolId| arguments.iter().any(|&x| body.as_symbol(x) == Some(s));
    if !itself(from) || !itself(to) {
        return None;
    }
    let third = site.unused("last")?;
    let lines = [
        format!("auto {third} = {};", a.name),
        format!("{} = {};", a.name, b.name),
        format!("{} = {third};", b.name),
    ];
    let mut edits = site.behind(site.statement(launch)?, &lines)?;
    let behind = site.span(l).end;
    for t in body.walk(body.root).filter(|&t| site.span(t).start >= behind) {
        match body.as_symbol(t) {
            Some(s) if s == from || s == to => {
                let given = with_casts(site, t);
                let call = site.parent(given)?;
                let args = body.args(call);
                match site.body.callee_name(call)? {
                    "cudaFree" => {}
                    "cudaMemcpy" | "cudaMemcpyAsync" if s == to && args.get(2) == Some(&given) => {
                        edits.push(Edit::replace(site.span(t), a.name.to_string()));
                    }
                    _ => return None,
                }
            }
            _ => {}
        }
    }
    Some((format!("Exchange `{}` and `{}` after each step: the last is in `{0}`", a.name, b.name), edits))
}

/// The term with the casts around it.
fn with_casts(site: &Site, t: TermId) -> TermId {
    let mut at = t;
    while let Some(up) = site.parent(at).filter(|&up| matches!(site.body.op(up), Op::Cast)) {
        at = up;
    }
    at
}
