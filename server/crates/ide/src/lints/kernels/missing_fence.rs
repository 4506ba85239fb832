//! `missing-fence`: what other blocks wrote is read after an atomic counter, without a fence.

use base::Span;

use crate::kernels::line;
use crate::lints::{Find, Lint, Message};
use crate::repairs::{Repair, Site};
use crate::{Ask, Fact, Related, Severity};
use term::device::{Scope, Word};

pub(super) const LINT: Lint = Lint {
    code: "missing-fence",
    severity: Severity::Warning,
    summary: "Results of other blocks are read without a fence.",
    page: include_str!("../../../../../../docs/codes/missing-fence.md"),
    find: Find::Document(missing_fence),
    fixes: &[fix],
};

fn missing_fence(ask: &Ask) -> Vec<(Span, Message)> {
    let doc = &ask.doc;
    let mut found = Vec::new();
    for item in doc.unit().items.iter().filter(|i| i.is_kernel) {
        let (facts, _) = ask.kernel_facts(item);
        let at = |t| item.body.span(t).shifted(item.span.start);
        for m in &facts.missing_fences {
            let (write, read) = (at(m.write), at(m.read));
            let text = doc.slice(write);
            let fence = gpu::CUDA.said(Word::Fence(Scope::Device));
            let message = format!(
                "The block that this counter lets on reads on line {} what others wrote to `{text}` on line {}, and no fence stands between \
                 that write and the counter: it may see the count before the data. Put `{fence}();` before the atomic operation.",
                line(doc, read),
                line(doc, write)
            );
            let related = vec![
                Related { span: write, message: "written here".into() },
                Related { span: read, message: "read here by the block that goes on".into() },
            ];
            found.push((
                at(m.counter),
                Message { message, related, ..Message::on(item, Fact::MissingFence(m.clone())) },
            ));
        }
    }
    found
}

fn fix(site: &Site, fact: &Fact) -> Option<Repair> {
    let Fact::MissingFence(m) = fact else { return None };
    let s = *site.statements(m.counter).first()?;
    let fence = gpu::CUDA.said(Word::Fence(Scope::Device));
    let title = format!("Put `{fence}()` before the counter");
    site.checked(title, vec![site.before(s, &format!("{fence}();"))])
}
