//! `out-of-range`: an access that is sure to fall outside of its array, with the launch and the sizes that are known.

use base::Span;

use crate::kernels::{launch_words, place, thread_words};
use crate::lints::{Find, Lint, Message};
use crate::repairs::{Repair, Site};
use crate::{Ask, Fact, Severity};
use analysis::KernelLaunch;
use term::device::Word;
use term::{BinOp, Op, TermId};
use text::Edit;

pub(super) const LINT: Lint = Lint {
    code: "out-of-range",
    severity: Severity::Error,
    summary: "A thread touches a place outside of an array.",
    page: include_str!("../../../../../../docs/codes/out-of-range.md"),
    find: Find::Document(out_of_range),
    fixes: &[fix],
};

fn out_of_range(ask: &Ask) -> Vec<(Span, Message)> {
    let doc = &ask.doc;
    let mut found: Vec<(Span, Message)> = Vec::new();
    for item in doc.unit().items.iter().filter(|i| i.is_kernel) {
        let (facts, launch) = ask.kernel_facts(item);
        for o in facts.out_of_range.iter().flatten() {
            let span = place(doc, item, &o.side.function, o.side.term);
            if found.iter().any(|f| f.0 == span) {
                continue;
            }
            let now = if o.dynamic {
                "Give the launch more bytes of shared memory (its third argument), or touch less."
            } else {
                "Guard the access, or make the array larger."
            };
            let others = match o.threads {
                None | Some(1) => String::new(),
                Some(n) => format!(", and {} more accesses like it", n - 1),
            };
            let message = format!(
                "{} touches `{}[{}]`, which has {} elements{others}, in {}. What is read there is undefined, and what is written may be \
                 anything's. {now}",
                capital(thread_words(o.side.thread, o.side.block)),
                o.object,
                o.index,
                o.length,
                launch_words(&ask.doc, item, &launch)
            );
            found.push((span, Message { message, ..Message::on(item, Fact::OutOfRange(o.clone())) }));
        }
    }
    found
}

fn capital(mut text: String) -> String {
    if let Some(first) = text.get(..1).map(str::to_uppercase) {
        text.replace_range(..1, &first);
    }
    text
}

/// `if (i < n)` before the statement of an access that falls outside, with the number that says how long the array is.
fn fix(site: &Site, fact: &Fact) -> Option<Repair> {
    let Fact::OutOfRange(_) = fact else { return None };
    let (facts, launch) = site.facts();
    let span = site.finding;
    let all = facts.out_of_range.as_ref()?;
    let own = |f: &&analysis::OutOfRange| *f.side.function == *site.body.name;
    let first = all.iter().filter(own).find(|f| site.span(f.side.term) == span)?;
    let statement = alone(site, first.side.term)?;
    let mut parts: Vec<String> = Vec::new();
    for f in all.iter().filter(own).filter(|f| site.body.walk(statement).any(|t| t == f.side.term)) {
        let part = condition(site, f, &launch)?;
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    // the guard is read before the statement, and must mean the same there
    let text = parts.join(" && ");
    let start = site.span(statement).start;
    let edits = match (site.body.op(statement), site.body.args(statement)) {
        // a declaration stays where it is seen
        (Op::Declare(_), &[v]) if site.span(v) == span => {
            let value = site.doc.slice(span);
            vec![Edit::replace(span, format!("{text} ? {value} : 0"))]
        }
        (Op::Assign | Op::Compound(_) | Op::Step { .. } | Op::Call, _) => {
            let new = match site.indentation(start) {
                Some(blanks) => format!("if ({text}){}{blanks}    ", site.doc.text().line_ending().as_str()),
                None => format!("if ({text}) "),
            };
            vec![Edit::insert(start, new)]
        }
        _ => return None,
    };
    site.checked(format!("Guard it: `if ({text})`"), edits)
}

/// The statement of a term, if a condition can stand before it.
fn alone(site: &Site, t: TermId) -> Option<TermId> {
    let mut at = t;
    let list = loop {
        let up = site.parent(at)?;
        if matches!(site.body.op(up), Op::List) {
            break up;
        }
        at = up;
    };
    let header = site.parent(list).is_some_and(|p| match (site.body.op(p), site.body.args(p)) {
        // another arm would belong to the new condition
        (Op::If, args) => args.len() > 2 && !site.doc.slice(site.span(list)).starts_with('{'),
        (Op::For, args) => args[0] == list,
        _ => false,
    });
    let asks = |x: TermId| {
        let known = site.body.args(x).first().is_some_and(|&c| site.body.as_symbol(c).is_some());
        let waits = |w| matches!(w, Word::Barrier(..) | Word::Shuffle(_));
        matches!(site.body.op(x), Op::Call) && (!known || site.body.called_word(x).is_some_and(waits))
    };
    (!header && !site.body.walk(at).any(asks)).then_some(at)
}

/// `i < n`, or `i >= 0` where it is below.
fn condition(site: &Site, f: &analysis::OutOfRange, launch: &KernelLaunch) -> Option<String> {
    let (Op::Index, &[base, index]) = (site.body.op(f.side.term), site.body.args(f.side.term)) else {
        return None;
    };
    site.body.as_symbol(base)?;
    let changes = |t: TermId| {
        matches!(
            site.body.op(t),
            Op::Assign | Op::Compound(_) | Op::Step { .. } | Op::Call | Op::Index | Op::Deref
        )
    };
    if site.body.walk(index).any(changes) {
        return None;
    }
    let index_text = site.doc.slice(site.span(index));
    let below = |t: TermId| match site.body.op(t) {
        Op::Sym(_) | Op::Int(_) | Op::Member { .. } | Op::Call => true,
        Op::Binary(op) => matches!(op, BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Div | BinOp::Rem),
        _ => false,
    };
    let sub = if below(index) { index_text.to_owned() } else { format!("({index_text})") };
    if f.index < 0 {
        return Some(format!("{sub} >= 0"));
    }
    let named = |v: i128| launch.values.iter().find(|(_, x)| *x == v).map(|(n, _)| n.to_string());
    let product = || {
        let pairs = launch
            .values
            .iter()
            .enumerate()
            .flat_map(|(k, a)| launch.values[k + 1..].iter().map(move |b| (a, b)));
        pairs
            .filter(|((_, a), (_, b))| a.checked_mul(*b) == Some(f.length as i128))
            .map(|((a, _), (b, _))| format!("{a} * {b}"))
            .next()
    };
    let constant = || {
        let local = f.shared && !f.dynamic;
        local.then(|| f.length.to_string())
    };
    let bound = match f.shared {
        true => constant()?,
        false => named(f.length as i128).or_else(product)?,
    };
    Some(format!("{sub} < {bound}"))
}
