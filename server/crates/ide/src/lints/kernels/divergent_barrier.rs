//! `divergent-barrier`: a barrier in a kernel that some threads of a block reach and others do not, with two of them.

use analysis::{BarrierVerdict, Split};
use base::{IndexId, Span};

use crate::kernels::{blocks_of, line, thread_words};
use crate::lints::{Find, Lint, Message};
use crate::repairs::{Repair, Site};
use crate::words::list;
use crate::{Ask, Fact, Related, Severity};
use term::{Body, Op, SymbolId, TermId};
use text::Edit;

pub(super) const LINT: Lint = Lint {
    code: "divergent-barrier",
    severity: Severity::Error,
    summary: "A barrier that not all threads of a block reach.",
    page: include_str!("../../../../../../docs/codes/divergent-barrier.md"),
    find: Find::Document(divergent_barrier),
    fixes: &[fix],
};

fn divergent_barrier(ask: &Ask) -> Vec<(Span, Message)> {
    let doc = &ask.doc;
    let mut found = Vec::new();
    for item in doc.unit().items.iter().filter(|i| i.is_kernel) {
        // what holds for the launch that is known, else for some launch
        let (facts, _) = ask.kernel_facts(item);
        // what parts the threads at several barriers is one fault
        let mut told: Vec<(Vec<TermId>, usize)> = Vec::new();
        for b in &facts.barriers {
            if let BarrierVerdict::Divergent(split) = &b.verdict {
                let exits = exits(&item.body, b.term);
                let place = |t: TermId| item.body.span(t).shifted(item.span.start);
                let span = place(b.term);
                match told.iter().find(|(same, _)| *same == exits && !exits.is_empty()) {
                    Some(&(_, first)) => {
                        let too = Related { span, message: "not all reach this barrier, either".into() };
                        let (_, message): &mut (Span, Message) = &mut found[first];
                        message.related.push(too);
                        continue;
                    }
                    None => told.push((exits.clone(), found.len())),
                }
                let lines: Vec<u32> = exits.iter().map(|&t| line(doc, place(t))).collect();
                let related = exits.iter().map(|&t| Related {
                    span: place(t),
                    message: "threads that come here do not reach the barrier".into(),
                });
                found.push((
                    span,
                    Message {
                        message: words(split, &lines),
                        related: related.collect(),
                        ..Message::on(item, Fact::DivergentBarrier(b.term))
                    },
                ));
            }
        }
    }
    found
}

/// The `return`s before a barrier that stands in no condition: what else could part its threads.
fn exits(body: &Body, barrier: TermId) -> Vec<TermId> {
    let parents = body.parents();
    let around = |t: TermId| parents.get(t.index()).copied().flatten();
    let mut up = around(barrier);
    while let Some(at) = up {
        if matches!(body.op(at), Op::If | Op::Switch | Op::Select | Op::Binary(_)) || body.op(at).is_loop() {
            return Vec::new();
        }
        up = around(at);
    }
    let before = |t: &TermId| body.span(*t).end <= body.span(barrier).start;
    body.walk(body.root).filter(|&t| matches!(body.op(t), Op::Return)).filter(before).collect()
}

fn words(split: &Split, exits: &[u32]) -> String {
    let values: Vec<String> = split.values.iter().map(|(n, v)| format!(" and `{n}` = {v}")).collect();
    let lines: Vec<String> = exits.iter().map(u32::to_string).collect();
    let (leaves, remedy) = match exits {
        [] => (String::new(), "Move the barrier out of the condition"),
        [one] => (
            format!(": `return` on line {one} leaves before it"),
            "Let those threads skip their work instead, and come to the barrier",
        ),
        _ => (
            format!(": `return` leaves before it, on lines {}", list(&lines)),
            "Let those threads skip their work instead, and come to the barrier",
        ),
    };
    format!(
        "Not all threads of a block reach this barrier{leaves}. With {}{}, {} reaches it and {} does not. Those that \
         wait may wait for ever, or go on before the others have written. {remedy}, or let the whole block decide alike.",
        blocks_of(split.grid, split.block),
        values.concat(),
        thread_words(split.yes, split.block_index),
        thread_words(split.no, split.block_index),
    )
}

/// `if (c) { A; barrier; B }` becomes `if (c) { A } barrier; if (c) { B }`.
fn fix(site: &Site, fact: &Fact) -> Option<Repair> {
    let &Fact::DivergentBarrier(barrier) = fact else { return None };
    let body = site.body;
    let list = site.parent(barrier)?;
    let branch = site.parent(list)?;
    let (Op::List, Op::If, &[condition, then]) = (body.op(list), body.op(branch), body.args(branch)) else {
        return None;
    };
    let at = body.args(list).iter().position(|t| *t == barrier)?;
    let (before, behind) = (&body.args(list)[..at], &body.args(list)[at + 1..]);
    let braced = site.doc.slice(site.span(list)).starts_with('{');
    if then != list || !braced || !is_steady(body, condition, then) {
        return None;
    }
    // what is declared in front is seen in front alone
    let declared: Vec<SymbolId> = before
        .iter()
        .filter_map(|&t| match body.op(t) {
            Op::Declare(s) => Some(*s),
            _ => None,
        })
        .collect();
    let used = |&t: &TermId| body.walk(t).any(|x| body.as_symbol(x).is_some_and(|s| declared.contains(&s)));
    let leaves = |&t: &TermId| {
        body.walk(t).any(|x| matches!(body.op(x), Op::Return | Op::Break | Op::Continue | Op::Goto(_)))
    };
    if behind.iter().any(used) || before.iter().any(leaves) {
        return None;
    }
    let call = format!("{};", site.doc.slice(site.span(barrier)));
    let blanks = site.indentation(site.span(branch).start)?;
    let end = site.doc.text().line_ending().as_str();
    let edits = match (before.is_empty(), behind.is_empty()) {
        (_, true) => vec![site.removed(barrier)?, site.after(branch, &call)],
        (true, false) => vec![site.removed(barrier)?, site.before(branch, &call)],
        (false, false) => {
            let span = site.with_semicolon(barrier);
            let inner = site.indentation(span.start)?;
            let whole = Span { start: span.start - inner.len() as u32, end: span.end };
            let text = site.doc.slice(site.span(condition));
            vec![Edit::replace(whole, format!("{blanks}}}{end}{blanks}{call}{end}{blanks}if ({text}) {{"))]
        }
    };
    site.checked("Move the barrier out of the branch".into(), edits)
}

/// Whether a condition is the same after the statements of its branch: made of variables that none of them sets.
fn is_steady(body: &Body, condition: TermId, then: TermId) -> bool {
    let plain = |t: TermId| {
        matches!(
            body.op(t),
            Op::Sym(_)
                | Op::Int(_)
                | Op::Binary(_)
                | Op::Unary(_)
                | Op::Cast
                | Op::Member { arrow: false, .. }
        )
    };
    let set: Vec<SymbolId> = body
        .walk(then)
        .filter(|&t| matches!(body.op(t), Op::Assign | Op::Compound(_) | Op::Step { .. } | Op::AddrOf))
        .filter_map(|t| body.as_symbol(*body.args(t).first()?))
        .collect();
    body.walk(condition).all(|t| {
        plain(t)
            && body.as_symbol(t).is_none_or(|s| {
                let private = matches!(
                    body.symbols[s].storage,
                    term::Storage::Local
                        | term::Storage::Param(_)
                        | term::Storage::Builtin
                        | term::Storage::Constant(_)
                );
                private && !body.symbols[s].address_taken && !set.contains(&s)
            })
    })
}
