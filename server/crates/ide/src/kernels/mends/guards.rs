//! Guards around accesses that fall outside, and barriers that leave the branch they stand in.

use analysis::{KernelFacts, KernelLaunch};
use base::Span;
use term::device::Word;
use term::{BinOp, Body, Op, SymbolId, TermId};
use text::Edit;

use super::{Kernel, Mend};

/// `if (i < n)` before the statement of an access that falls outside, with the number that says how long the array is.
pub(super) fn guard(k: &Kernel<'_>, facts: &KernelFacts, launch: &KernelLaunch, span: Span) -> Option<Mend> {
    let all = facts.out_of_range.as_ref()?;
    let own = |f: &&analysis::OutOfRange| *f.side.function == *k.body.name;
    let first = all.iter().filter(own).find(|f| k.span(f.side.term) == span)?;
    let statement = alone(k, first.side.term)?;
    let mut parts: Vec<String> = Vec::new();
    for f in all.iter().filter(own).filter(|f| k.body.walk(statement).any(|t| t == f.side.term)) {
        let part = condition(k, f, launch)?;
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    // the guard is read before the statement, and must mean the same there
    let text = parts.join(" && ");
    let start = k.span(statement).start;
    let edits = match (k.body.op(statement), k.body.args(statement)) {
        // a declaration stays where it is seen
        (Op::Declare(_), &[v]) if k.span(v) == span => {
            let value = k.doc.slice(span);
            vec![Edit::replace(span, format!("{text} ? {value} : 0"))]
        }
        (Op::Assign | Op::Compound(_) | Op::Step { .. } | Op::Call, _) => {
            let new = match k.indentation(start) {
                Some(blanks) => format!("if ({text}){}{blanks}    ", k.doc.text().line_ending().as_str()),
                None => format!("if ({text}) "),
            };
            vec![Edit::insert(start, new)]
        }
        _ => return None,
    };
    k.checked(facts, format!("Guard it: `if ({text})`"), edits, None)
}

/// The statement of a term, if a condition can stand before it.
fn alone(k: &Kernel<'_>, t: TermId) -> Option<TermId> {
    let mut at = t;
    let list = loop {
        let up = k.parent(at)?;
        if matches!(k.body.op(up), Op::List) {
            break up;
        }
        at = up;
    };
    let header = k.parent(list).is_some_and(|p| match (k.body.op(p), k.body.args(p)) {
        // another arm would belong to the new condition
        (Op::If, args) => args.len() > 2 && !k.doc.slice(k.span(list)).starts_with('{'),
        (Op::For, args) => args[0] == list,
        _ => false,
    });
    let asks = |x: TermId| {
        let known = k.body.args(x).first().is_some_and(|&c| k.body.as_symbol(c).is_some());
        let waits = |w| matches!(w, Word::Barrier(..) | Word::Shuffle(_));
        matches!(k.body.op(x), Op::Call) && (!known || k.body.called_word(x).is_some_and(waits))
    };
    (!header && !k.body.walk(at).any(asks)).then_some(at)
}

/// `i < n`, or `i >= 0` where it is below.
fn condition(k: &Kernel<'_>, f: &analysis::OutOfRange, launch: &KernelLaunch) -> Option<String> {
    let (Op::Index, &[base, index]) = (k.body.op(f.side.term), k.body.args(f.side.term)) else { return None };
    k.body.as_symbol(base)?;
    let changes = |t: TermId| {
        matches!(
            k.body.op(t),
            Op::Assign | Op::Compound(_) | Op::Step { .. } | Op::Call | Op::Index | Op::Deref
        )
    };
    if k.body.walk(index).any(changes) {
        return None;
    }
    let index_text = k.doc.slice(k.span(index));
    let below = |t: TermId| match k.body.op(t) {
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

/// `if (c) { A; barrier; B }` becomes `if (c) { A } barrier; if (c) { B }`.
pub(super) fn move_out(k: &Kernel<'_>, facts: &KernelFacts, barrier: TermId) -> Option<Mend> {
    let body = k.body;
    let list = k.parent(barrier)?;
    let branch = k.parent(list)?;
    let (Op::List, Op::If, &[condition, then]) = (body.op(list), body.op(branch), body.args(branch)) else {
        return None;
    };
    let at = body.args(list).iter().position(|t| *t == barrier)?;
    let (before, behind) = (&body.args(list)[..at], &body.args(list)[at + 1..]);
    let braced = k.doc.slice(k.span(list)).starts_with('{');
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
    let call = format!("{};", k.doc.slice(k.span(barrier)));
    let blanks = k.indentation(k.span(branch).start)?;
    let end = k.doc.text().line_ending().as_str();
    let edits = match (before.is_empty(), behind.is_empty()) {
        (_, true) => vec![k.removed(barrier)?, k.after(branch, &call)],
        (true, false) => vec![k.removed(barrier)?, k.before(branch, &call)],
        (false, false) => {
            let span = k.with_semicolon(barrier);
            let inner = k.indentation(span.start)?;
            let whole = Span { start: span.start - inner.len() as u32, end: span.end };
            let text = k.doc.slice(k.span(condition));
            vec![Edit::replace(whole, format!("{blanks}}}{end}{blanks}{call}{end}{blanks}if ({text}) {{"))]
        }
    };
    k.checked(facts, "Move the barrier out of the branch".into(), edits, None)
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
