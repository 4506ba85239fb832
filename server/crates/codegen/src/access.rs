//! Array references taken apart: the variable and its subscripts.

use term::{BinOp, Body, Op, SymbolId, TermId, TypeKind};

/// A subscript; `None` is the 0 of `*p` and `p->f`.
pub(crate) type Subscript = Option<TermId>;

/// The symbols of rows that are one array on the device: their pointers are no variables, but subscripts of that.
pub(crate) type Tables = std::collections::BTreeSet<SymbolId>;

/// The variable and the subscripts, outermost dimension first, of `a[i][j]`, `*p`, `*(p + i)`; a bare variable has
/// none. A pointer loaded from memory counts as a variable: its path; one to a row of `tables` as subscripts of all rows. `None`
/// for anything else.
pub(crate) fn chain(body: &Body, tables: &Tables, term: TermId) -> Option<(SymbolId, Vec<Subscript>)> {
    let mut subscripts = Vec::new();
    let mut at = term;
    loop {
        if let Some(path) = loaded(body, at) {
            let rows = body.path_of(at).map(|p| p.family).filter(|f| tables.contains(f));
            if let Some(rows) = rows {
                subscripts.extend(body.row_of_table(at)?.subscripts.into_iter().rev().map(Some));
                subscripts.reverse();
                return Some((rows, subscripts));
            }
            subscripts.reverse();
            return Some((path, subscripts));
        }
        let args = body.args(at);
        match body.op(at) {
            Op::Sym(s) => {
                subscripts.reverse();
                return Some((*s, subscripts));
            }
            Op::Index => {
                let (&base, &sub) = (args.first()?, args.get(1)?);
                if !is_address(body, base) {
                    return None;
                }
                subscripts.push(Some(sub));
                at = base;
            }
            Op::Deref => {
                let &p = args.first()?;
                let sum = body.args(p);
                match body.op(p) {
                    Op::Binary(BinOp::Add) if is_address(body, *sum.first()?) => {
                        subscripts.push(Some(*sum.get(1)?));
                        at = *sum.first()?;
                    }
                    Op::Binary(BinOp::Add) if is_address(body, *sum.get(1)?) => {
                        subscripts.push(Some(*sum.first()?));
                        at = *sum.get(1)?;
                    }
                    _ => {
                        subscripts.push(None);
                        at = p;
                    }
                }
            }
            _ => return None,
        }
    }
}

/// The path that a pointer loaded from memory is.
pub(crate) fn loaded(body: &Body, t: TermId) -> Option<SymbolId> {
    let load = matches!(body.op(t), Op::Index | Op::Member { .. } | Op::Deref)
        && matches!(body.types.kind(body.ty(t)), TypeKind::Pointer { .. });
    body.path_of(t).filter(|_| load).map(|p| p.own)
}

fn is_address(body: &Body, t: TermId) -> bool {
    matches!(body.types.kind(body.ty(t)), TypeKind::Pointer { .. } | TypeKind::Array { .. })
}

/// The buffer cell that `p->f` or `a[i]->f` reaches through, with its subscripts.
pub(crate) fn arrow_chain(body: &Body, tables: &Tables, base: TermId) -> Option<(SymbolId, Vec<Subscript>)> {
    let (s, mut subs) = match body.op(base) {
        // `(p + i)->f`
        Op::Binary(BinOp::Add) => {
            let &[a, b] = body.args(base) else { return None };
            let (p, i) = if is_address(body, a) { (a, b) } else { (b, a) };
            let (s, mut subs) = chain(body, tables, p)?;
            subs.push(Some(i));
            return Some((s, subs));
        }
        _ => chain(body, tables, base)?,
    };
    subs.push(None);
    Some((s, subs))
}

/// Whether the variable occurs in the term.
pub(crate) fn mentions(body: &Body, term: TermId, symbol: SymbolId) -> bool {
    body.walk(term).any(|t| body.as_symbol(t) == Some(symbol))
}

/// The cell an address expression points at: the variable and its subscripts, the last of which counts elements.
/// `a + k`, `&a[k]`, `a`, `m[i]` and `m[i] + k` of a two-dimensional `m`, with conversions between pointers left out.
pub(crate) fn address(body: &Body, tables: &Tables, term: TermId) -> Option<(SymbolId, Vec<Subscript>)> {
    let mut t = term;
    while *body.op(t) == Op::Cast {
        t = *body.args(t).first()?;
    }
    match (body.op(t), body.args(t)) {
        (Op::AddrOf, &[cell]) => match body.op(cell) {
            Op::Index | Op::Deref => chain(body, tables, cell),
            _ => None,
        },
        (Op::Binary(BinOp::Add), &[_, _]) => arrow_chain(body, tables, t),
        (Op::Sym(_) | Op::Index | Op::Member { .. } | Op::Deref, _) => arrow_chain(body, tables, t),
        _ => None,
    }
}

/// The variable whose value the term is after or before it has been moved: `p++`, `p += k`, `p = q`.
pub(crate) fn moved(body: &Body, term: TermId) -> Option<SymbolId> {
    let moves = matches!(body.op(term), Op::Step { .. } | Op::Compound(BinOp::Add | BinOp::Sub) | Op::Assign);
    body.args(term).first().filter(|_| moves).and_then(|&p| body.as_symbol(p))
}

/// An address to which elements are added, or from which they are taken, after all.
pub(crate) struct Address {
    pub(crate) base: SymbolId,
    pub(crate) subs: Vec<Subscript>,
    /// What is added, in order, and whether it is subtracted.
    pub(crate) more: Vec<(TermId, bool)>,
}

/// The cell that an address expression points at, where it may be several sums: `a + i * m + j`, `p - 1`.
pub(crate) fn address_sum(body: &Body, tables: &Tables, term: TermId) -> Option<Address> {
    let (mut t, mut more) = (term, Vec::new());
    let element = |t: TermId| body.types.element(body.ty(t)).map(|e| body.types.kind(e));
    loop {
        // What is added counts elements of the type that the sum has.
        if *body.op(t) == Op::Cast && !more.is_empty() {
            let &of = body.args(t).first()?;
            if element(of).is_none() || element(of) != element(t) {
                return None;
            }
        }
        if let Some((base, subs)) = address(body, tables, t) {
            more.reverse();
            return Some(Address { base, subs, more });
        }
        match (body.op(t), body.args(t)) {
            (Op::Cast, &[of]) if element(of).is_some() && element(of) == element(t) => t = of,
            (Op::Binary(BinOp::Add), &[a, b]) if is_address(body, a) => {
                more.push((b, false));
                t = a;
            }
            (Op::Binary(BinOp::Add), &[a, b]) if is_address(body, b) => {
                more.push((a, false));
                t = b;
            }
            (Op::Binary(BinOp::Sub), &[a, b]) if is_address(body, a) && !is_address(body, b) => {
                more.push((b, true));
                t = a;
            }
            _ => return None,
        }
    }
}

/// For every local pointer that keeps one address inside one of `roots`: the variable it points into, itself perhaps
/// such a pointer. `known`: pointers of which the facts say it.
pub(crate) fn views(
    body: &Body,
    tables: &Tables,
    roots: &[SymbolId],
    known: &[(SymbolId, SymbolId)],
) -> std::collections::BTreeMap<SymbolId, SymbolId> {
    let pointee = |s: SymbolId| body.types.element(body.symbols[s].ty).map(|e| body.types.kind(e));
    let element = |s: SymbolId| {
        let mut ty = body.types.element(body.symbols[s].ty)?;
        while let TypeKind::Array { of, .. } = body.types.kind(ty) {
            ty = *of;
        }
        Some(body.types.kind(ty))
    };
    let fits = |s: SymbolId, base: SymbolId| {
        !roots.contains(&s) && pointee(s).is_some() && pointee(s) == element(base)
    };
    let mut out: std::collections::BTreeMap<SymbolId, SymbolId> =
        known.iter().copied().filter(|&(s, base)| roots.contains(&base) && fits(s, base)).collect();
    let mut defined = Vec::new();
    for t in body.walk(body.root) {
        if let (Op::Declare(s), &[init]) = (body.op(t), body.args(t)) {
            if matches!(body.types.kind(body.symbols[*s].ty), TypeKind::Pointer { .. })
                && body.symbols[*s].is_own_scalar()
            {
                defined.push((*s, init));
            }
        }
    }
    defined.retain(|(s, _)| !out.contains_key(s));
    if defined.is_empty() {
        return out;
    }
    let assigned: Vec<SymbolId> = body
        .walk(body.root)
        .filter(|&t| body.op(t).is_write())
        .filter_map(|t| body.as_symbol(*body.args(t).first()?))
        .collect();
    // In textual order: a pointer into another comes after it.
    for (s, init) in defined {
        let Some(Address { base, .. }) = address_sum(body, tables, init) else { continue };
        let known = roots.contains(&base) || out.contains_key(&base);
        if known && !assigned.contains(&s) && fits(s, base) {
            out.insert(s, base);
        }
    }
    out
}
