//! `bank-conflict`: lanes of a warp ask one bank of shared memory for different words.

use base::Span;

use crate::kernels::{launch_words, looked_at, wherever};
use crate::lints::{Find, Lint, Message};
use crate::repairs::{Repair, Site};
use crate::{Ask, Fact, Severity};
use analysis::{AccessFact, AnyShape};
use term::{Body, Len, Op, Storage, SymbolId, TermId, TypeKind};
use text::Edit;

pub(super) const LINT: Lint = Lint {
    code: "bank-conflict",
    severity: Severity::Warning,
    summary: "Lanes of a warp wait for one another at a bank of shared memory.",
    page: include_str!("../../../../../../docs/codes/bank-conflict.md"),
    find: Find::Document(bank_conflict),
    fixes: &[pad, swizzle],
};

/// Of shared memory, each four bytes wide.
const BANKS: u64 = 32;

fn bank_conflict(ask: &Ask) -> Vec<(Span, Message)> {
    let doc = &ask.doc;
    let mut found = Vec::new();
    for item in doc.unit().items.iter().filter(|i| i.is_kernel) {
        let (facts, launch) = ask.kernel_facts(item);
        let mut told: Vec<Span> = Vec::new();
        let mut all: Vec<((&str, u64), Span, Message)> = Vec::new();
        for a in facts.accesses.iter().filter(|a| a.space == term::Space::Shared && !a.atomic) {
            let span = item.body.span(a.term).shifted(item.span.start);
            let needed = (a.bytes / 4).max(1);
            let most = most_ways(&item.body, &a.object);
            let fits = |ways: u64| most.is_none_or(|m| ways <= m);
            let conflict = |any: &&AnyShape| any.worst > needed && fits(any.worst) && !told.contains(&span);
            if let Some(any) = a.any_shape.as_ref().filter(conflict) {
                told.push(span);
                let mild = any.worst <= 2 * needed;
                let with = wherever(doc, item, &launch, any.assumed);
                let message = for_every_launch(a, any, needed, &with);
                let severity = mild.then_some(Severity::Hint);
                let on = Message::on(item, Fact::BankConflict(a.object.clone()));
                all.push(((&a.object, any.worst), span, Message { message, severity, ..on }));
            }
            let Some(r) = &a.requests else { continue };
            if r.ways <= needed || !fits(r.ways) || told.contains(&span) {
                continue;
            }
            told.push(span);
            let lanes = match r.collide {
                Some((x, y, bank)) => format!(" (lanes {x} and {y} both ask bank {bank})"),
                None => String::new(),
            };
            let rounds = looked_at(r);
            let message = format!(
                "{}-way bank conflict{rounds}: lanes of a warp ask one bank of `{}` for {0} different words{lanes}, and the request takes {} passes \
                 instead of {needed}, with {}. Nsight Compute: shared-memory bank conflict. Pad the rows by one element, or let neighbouring \
                 lanes touch neighbouring words.",
                r.ways,
                a.object,
                r.ways,
                launch_words(&ask.doc, item, &launch)
            );
            // one more pass is often cheaper than what would save it
            let mild = r.ways <= 2 * needed;
            let severity = mild.then_some(Severity::Hint);
            let on = Message::on(item, Fact::BankConflict(a.object.clone()));
            all.push(((&a.object, r.ways), span, Message { message, severity, ..on }));
        }
        found.extend(super::told_once(doc, all, LINT.severity, "Such a conflict is also"));
    }
    found
}

/// Words that an array can have in one bank at most, where the text fixes its size: what asks for more leaves it.
fn most_ways(body: &Body, object: &str) -> Option<u64> {
    let of_name = |s: &&term::Symbol| s.storage == Storage::Shared && *s.name == *object;
    let mut all = body.symbols.iter().filter(of_name);
    let (Some(symbol), None) = (all.next(), all.next()) else { return None };
    let (bytes, _) = body.types.size_align(symbol.ty)?;
    // an array that begins at any bank
    (bytes > 0).then(|| bytes.div_ceil(4).div_ceil(BANKS))
}

/// What is said without a launch that is known.
fn for_every_launch(a: &AccessFact, any: &AnyShape, needed: u64, with: &str) -> String {
    let (upto, who) = match any.partial {
        false => ("", "lanes of a warp ask".to_owned()),
        true => ("Up to ", format!("the {} lanes of a warp that may come here ask", any.lanes)),
    };
    let ways = any.worst;
    format!(
        "{upto}{ways}-way bank conflict: {who} one bank of `{}` for {ways} different words, and the request takes {ways} passes instead of \
         {needed}, with {with}. Nsight Compute: shared-memory bank conflict. Pad the rows by one element, or let \
         neighbouring lanes touch neighbouring words.",
        a.object
    )
}

/// Rows of a shared array one element longer.
fn pad(site: &Site, fact: &Fact) -> Option<Repair> {
    let Fact::BankConflict(name) = fact else { return None };
    let of_name = |(_, s): &(SymbolId, &term::Symbol)| s.storage == Storage::Shared && s.name == *name;
    let (_, symbol) = site.body.symbols.iter_ids().find(of_name)?;
    let TypeKind::Array { of, .. } = site.body.types.kind(symbol.ty) else { return None };
    if !matches!(site.body.types.kind(*of), TypeKind::Array { .. }) || symbol.address_taken {
        return None;
    }
    let start = symbol.span?.shifted(site.item.span.start).end;
    let rest = site.doc.slice(Span { start, end: site.item.span.end });
    let declarator = &rest[..rest.find([';', ',', '='])?];
    let close = declarator.rfind(']')? as u32;
    let title = format!("Make the rows of `{name}` one element longer");
    site.same(title, vec![Edit::insert(start + close, " + 1")])
}

/// `s[r][c]` everywhere becomes `s[r][c ^ r]`, for rows of a power of two.
fn swizzle(site: &Site, fact: &Fact) -> Option<Repair> {
    let Fact::BankConflict(name) = fact else { return None };
    let body = site.body;
    let (s, symbol) =
        body.symbols.iter_ids().find(|(_, s)| s.storage == Storage::Shared && s.name == *name)?;
    let TypeKind::Array { of: row, len: Len::Const(rows) } = body.types.kind(symbol.ty) else { return None };
    let TypeKind::Array { of: element, len: Len::Const(width) } = body.types.kind(*row) else { return None };
    let scalar = matches!(body.types.kind(*element), TypeKind::Int(_) | TypeKind::Float(_));
    if !scalar || !width.is_power_of_two() || *width < 2 || symbol.address_taken {
        return None;
    }
    let mut edits = Vec::new();
    for t in body.walk(body.root).filter(|&t| body.as_symbol(t) == Some(s)) {
        let first = site.parent(t)?;
        let second = site.parent(first)?;
        let (Op::Index, &[_, r]) = (body.op(first), body.args(first)) else { return None };
        let (Op::Index, &[base, c]) = (body.op(second), body.args(second)) else { return None };
        if base != first || !is_plain(site, r) || !is_plain(site, c) {
            return None;
        }
        let (row, column) = (in_parentheses(site, r), in_parentheses(site, c));
        let row = if rows > width { format!("({row} & {})", width - 1) } else { row };
        edits.push(Edit::replace(site.span(c), format!("{column} ^ {row}")));
    }
    // an expression that a macro gives several times has one place
    edits.sort_by_key(|e| e.span.start);
    edits.dedup_by_key(|e| e.span);
    site.same(format!("Swizzle the columns of `{name}`: `c ^ r`"), edits)
}

/// Made of variables and numbers alone.
fn is_plain(site: &Site, t: TermId) -> bool {
    site.body.walk(t).all(|x| {
        matches!(
            site.body.op(x),
            Op::Sym(_) | Op::Int(_) | Op::Binary(_) | Op::Cast | Op::Member { arrow: false, .. }
        )
    })
}

fn in_parentheses(site: &Site, t: TermId) -> String {
    let text = site.doc.slice(site.span(t));
    match site.body.op(t) {
        Op::Sym(_) | Op::Int(_) | Op::Member { .. } => text.to_owned(),
        _ => format!("({text})"),
    }
}
