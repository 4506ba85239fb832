//! `local-array`: an array of a thread that registers cannot hold.

use analysis::LocalArray;
use base::Span;

use crate::kernels::line;
use crate::lints::{Find, Lint, Message};
use crate::{Ask, Doc, Related, Severity};

pub(super) const LINT: Lint = Lint {
    code: "local-array",
    severity: Severity::Warning,
    summary: "An array of a thread lies in local memory.",
    page: include_str!("../../../../../../docs/codes/local-array.md"),
    find: Find::Document(local_array),
    fixes: &[],
};

fn local_array(ask: &Ask) -> Vec<(Span, Message)> {
    let doc = &ask.doc;
    let mut found = Vec::new();
    for item in &doc.unit().items {
        let facts;
        let other;
        let list: &[LocalArray] = if item.is_kernel {
            facts = ask.kernel_facts(item).0;
            &facts.local_arrays
        } else if item.is_device {
            other = analysis::local_arrays(&item.body, doc.program(), false);
            &other
        } else {
            continue;
        };
        found.extend(list.iter().map(|l| said(doc, item, l)));
    }
    found
}

fn said(doc: &Doc, item: &front::Item, l: &LocalArray) -> (Span, Message) {
    let place = |t| item.body.span(t).shifted(item.span.start);
    let symbol = &item.body.symbols[l.array];
    let name = &symbol.name;
    let what = match l.index {
        None => format!("The {} bytes of `{name}` are more than the 255 registers of a thread hold", l.bytes),
        Some(i) => match l.around {
            Some(around) => format!(
                "The subscript `{}` of `{name}` changes with the loop on line {}, which cannot be unrolled away, and registers have no addresses",
                doc.slice(place(i)),
                line(doc, place(around))
            ),
            None => format!(
                "The subscript `{}` of `{name}` is known to a run alone, and registers have no addresses",
                doc.slice(place(i))
            ),
        },
    };
    let so = match l.certain {
        true => "the array lies in local memory",
        false => "the array goes to local memory, or every such access becomes a chain of selections",
    };
    let message = format!(
        "{what}: {so}. That is memory of the device behind the caches ({} bytes a thread); Nsight Compute: local memory, \
         `l1tex__t_sectors_pipe_lsu_mem_local_op_ld` and `…_st`. Use subscripts that are constants once loops of constant length are \
         unrolled, or keep the array in shared memory.",
        l.bytes
    );
    let mut related = Vec::new();
    if let Some(span) = symbol.span {
        let span = span.shifted(item.span.start);
        related.push(Related { span, message: format!("`{name}` is declared here").into() });
    }
    let severity = (!l.certain || l.around.is_none() && l.index.is_some()).then_some(Severity::Hint);
    (place(l.access), Message { message, related, severity, ..Message::of(item) })
}
