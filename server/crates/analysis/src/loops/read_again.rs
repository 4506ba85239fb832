//! Numbers that a loop reads again behind each store to something of another type: no store changes one of them, as reading it then has
//! no meaning (C11 6.5p7). So it is with the bounds and steps of programs translated from Fortran: `for (j = 1; j <= *n; ++j)`,
//! `y[iy] = 0.; iy += *incy;`.

use term::{Body, IntKind, Op, SymbolId, TermId, TypeKind};

use crate::flow::liveness::early_exit;
use crate::nest::AffineAccess;

/// Whether all that is read of `read` is one number that is read again behind each store to `written`, whatever happens between, as another
/// type than what is stored.
pub(super) fn is_read_again(
    body: &Body,
    root: TermId,
    accesses: &[AffineAccess],
    read: SymbolId,
    written: SymbolId,
) -> bool {
    // a type that says so may be read as any other
    if body.said.reads_as_any_type {
        return false;
    }
    let of = |s: SymbolId| accesses.iter().filter(move |a| a.base == s);
    // through a union one type may be stored and another read (C11 6.5.2.3, note 95)
    let in_union = |t: TermId| match (body.op(t), body.args(t)) {
        (Op::Member { arrow, .. }, &[of]) => {
            let record = if *arrow { body.types.element(body.ty(of)) } else { Some(body.ty(of)) };
            record.is_some_and(|r| match body.types.kind(r) {
                TypeKind::Record(r) => body.types.record(*r).is_union,
                _ => true,
            })
        }
        _ => false,
    };
    let is_plain = |a: &AffineAccess| {
        let quals = body.types.quals(body.ty(a.term));
        a.inside.is_all() && !quals.is_volatile && !quals.is_atomic && !body.walk(a.term).any(in_union)
    };
    let cell = |a: &AffineAccess| -> Option<Vec<i128>> {
        a.subs.iter().map(|s| s.value.as_ref()?.as_constant()).collect()
    };
    let Some(first) = of(read).next() else { return false };
    let is_same = |a: &AffineAccess| {
        let kinds = body.types.kind(body.ty(a.term)) == body.types.kind(body.ty(first.term));
        !a.write && is_plain(a) && kinds && a.fields == first.fields && cell(a) == cell(first)
    };
    if cell(first).is_none() || !of(read).all(is_same) {
        return false;
    }
    let apart = |a: &AffineAccess| is_plain(a) && are_other_numbers(body, a.term, first.term);
    let reads_again = |l: TermId, store: TermId| {
        let Some(parts) = body.loop_parts(l) else { return false };
        let inside =
            [Some(parts.body), parts.step].into_iter().flatten().any(|p| body.walk(p).any(|x| x == store));
        let reads = |x: TermId| of(read).any(|a| a.term == x);
        let asks = || parts.condition.is_some_and(|c| always(body, c).any(reads));
        let goes_on = || parts.step.is_some_and(|c| c != store && always(body, c).any(reads));
        let follows = || {
            let jumps =
                body.walk(parts.body).any(|x| matches!(body.op(x), Op::Continue | Op::Break | Op::Switch));
            !jumps && behind(body, parts.body, store).any(reads)
        };
        inside && early_exit(body, l).is_none() && (asks() || goes_on() || follows())
    };
    let mut stores = of(written).filter(|a| a.write);
    stores.all(|a| apart(a) && body.loops(root).any(|l| reads_again(l, a.term)))
}

/// What is evaluated behind a term whenever the term is: in the statements that follow it in lists around it. Precondition: no jumps.
fn behind(body: &Body, list: TermId, term: TermId) -> impl Iterator<Item = TermId> + '_ {
    let mut found = Vec::new();
    let mut at = list;
    loop {
        let args = body.args(at);
        let Some(k) = args.iter().position(|&a| body.walk(a).any(|x| x == term)) else { break };
        if *body.op(at) == Op::List {
            found.extend_from_slice(&args[k + 1..]);
        }
        at = args[k];
    }
    found.into_iter().flat_map(|s| {
        let parts: Vec<TermId> = match body.op(s) {
            Op::If | Op::While => body.args(s).iter().take(1).copied().collect(),
            Op::For => body.args(s).iter().take(2).copied().collect(),
            Op::List | Op::DoWhile | Op::Switch => Vec::new(),
            _ => vec![s],
        };
        parts.into_iter().flat_map(|p| always(body, p)).collect::<Vec<_>>()
    })
}

/// What is evaluated whenever the term is.
fn always(body: &Body, t: TermId) -> impl Iterator<Item = TermId> + '_ {
    let mut open = vec![t];
    std::iter::from_fn(move || {
        let t = open.pop()?;
        match body.op(t) {
            Op::Select | Op::If | Op::While | Op::Switch => open.extend(body.args(t).first()),
            Op::For => open.extend(body.args(t).iter().take(2)),
            Op::DoWhile => {}
            Op::Binary(op) if op.is_logical() => open.extend(body.args(t).first()),
            Op::SizeOf => {}
            _ => open.extend(body.args(t)),
        }
        Some(t)
    })
}

/// Whether no number of the one type may be read as the other: characters may be, and an integer without its sign.
fn are_other_numbers(body: &Body, a: TermId, b: TermId) -> bool {
    let is_char = |k: &IntKind| matches!(k, IntKind::Char | IntKind::SChar | IntKind::UChar);
    match (body.types.kind(body.ty(a)), body.types.kind(body.ty(b))) {
        (TypeKind::Int(x), TypeKind::Float(_)) | (TypeKind::Float(_), TypeKind::Int(x)) => !is_char(x),
        (TypeKind::Float(x), TypeKind::Float(y)) => x != y,
        (TypeKind::Int(x), TypeKind::Int(y)) => !is_char(x) && !is_char(y) && x.bits() != y.bits(),
        _ => false,
    }
}
