//! Whether types of two bodies are the same, or fit as argument and parameter.

use term::{FloatKind, Len, RecordId, TypeId, TypeKind, Types};

/// Whether an argument of type `x` is taken by a parameter of type `y` of another body as C takes it without a word:
/// numbers are converted, arrays become pointers to their first element, `void *` takes and gives any pointer.
pub(crate) fn fits(a: &Types, x: TypeId, b: &Types, y: TypeId) -> bool {
    let number = |k: &TypeKind| matches!(k, TypeKind::Int(_) | TypeKind::Float(_));
    match (a.kind(x), b.kind(y)) {
        (k, l) if number(k) && number(l) => true,
        (
            TypeKind::Pointer { to: from, .. } | TypeKind::Array { of: from, .. },
            TypeKind::Pointer { to, .. },
        ) => {
            matches!(a.kind(*from), TypeKind::Void)
                || matches!(b.kind(*to), TypeKind::Void)
                || same_type(a, *from, b, *to)
        }
        (TypeKind::Record(_), TypeKind::Record(_)) => same_type(a, x, b, y),
        _ => false,
    }
}

/// Whether two types of different bodies are the same, qualifiers aside. Lengths that are not constants are taken to
/// fit: C11 6.7.6.2p6 makes it undefined where they do not.
pub(crate) fn same_type(a: &Types, x: TypeId, b: &Types, y: TypeId) -> bool {
    same(a, x, b, y, 0, &mut Vec::new())
}

fn same(a: &Types, x: TypeId, b: &Types, y: TypeId, depth: u32, met: &mut Vec<(RecordId, RecordId)>) -> bool {
    if depth > 24 {
        return false;
    }
    let mut deeper = |x: TypeId, y: TypeId| same(a, x, b, y, depth + 1, met);
    match (a.kind(x), b.kind(y)) {
        (TypeKind::Void, TypeKind::Void) => true,
        (TypeKind::Int(p), TypeKind::Int(q)) => p == q,
        (TypeKind::Float(p), TypeKind::Float(q)) => p == q,
        (TypeKind::Pointer { to: p, .. }, TypeKind::Pointer { to: q, .. }) => deeper(*p, *q),
        (TypeKind::Array { of: p, len: m }, TypeKind::Array { of: q, len: n }) => {
            let lengths = match (m, n) {
                (Len::Const(m), Len::Const(n)) => m == n,
                _ => true,
            };
            lengths && deeper(*p, *q)
        }
        (
            TypeKind::Function { ret: r, params: ps, variadic: v },
            TypeKind::Function { ret: s, params: qs, variadic: w },
        ) => {
            // `int f()` says nothing of the arguments (C11 6.7.6.3p15): a function of that type takes them as they are promoted
            let says_nothing = |ps: &[TypeId], variadic: bool| variadic && ps.is_empty();
            if says_nothing(ps, *v) || says_nothing(qs, *w) {
                let takes = |t: &Types, ps: &[TypeId], variadic: bool| {
                    says_nothing(ps, variadic) || !variadic && ps.iter().all(|&p| is_promoted(t, p))
                };
                return takes(a, ps, *v) && takes(b, qs, *w) && deeper(*r, *s);
            }
            // of `int f(int, ...)` they are looked for at run time
            !v && !w
                && ps.len() == qs.len()
                && deeper(*r, *s)
                && ps.iter().zip(qs).all(|(&p, &q)| deeper(p, q))
        }
        (TypeKind::Opaque(p), TypeKind::Opaque(q)) => p == q,
        (&TypeKind::Record(p), &TypeKind::Record(q)) => same_record(a, p, b, q, depth, met),
        _ => false,
    }
}

/// Whether an argument of the type is handed over as it is where no parameter says otherwise (C11 6.5.2.2p6).
fn is_promoted(types: &Types, ty: TypeId) -> bool {
    match types.kind(ty) {
        TypeKind::Int(k) => k.promoted() == *k,
        TypeKind::Float(f) => *f != FloatKind::F32,
        _ => true,
    }
}

pub(crate) fn same_record(
    a: &Types,
    p: RecordId,
    b: &Types,
    q: RecordId,
    depth: u32,
    met: &mut Vec<(RecordId, RecordId)>,
) -> bool {
    // Asked before: either it is, or the whole answer is no.
    if met.contains(&(p, q)) {
        return true;
    }
    let (x, y) = (a.record(p), b.record(q));
    // two without a tag are alike by their members (C11 6.2.7p1)
    let untagged = |name: &str| name.starts_with('<');
    let alike = x.name == y.name || untagged(&x.name) && untagged(&y.name);
    if !alike || x.is_union != y.is_union {
        return false;
    }
    let (Some(f), Some(g)) = (&x.fields, &y.fields) else {
        return true;
    };
    if x.placing != y.placing {
        return false;
    }
    met.push((p, q));
    f.len() == g.len()
        && f.iter().zip(g).all(|(f, g)| {
            let alike = f.name == g.name && f.bits == g.bits && f.placing == g.placing;
            alike && same(a, f.ty, b, g.ty, depth + 1, met)
        })
}
