//! Which variables' values the model needs: those that decide which cells are touched, and whether. Where nothing else is made of a
//! value, it may wrap around as the language says, and nobody has to know.

use rustc_hash::{FxHashMap, FxHashSet};
use term::{Body, Op, SymbolId, TermId, TypeKind};

/// The variables under a loop that subscripts, conditions, bounds, pointers and calls are made of, directly or through others.
pub(super) fn needed(body: &Body, root: TermId) -> FxHashSet<SymbolId> {
    let mut out: FxHashSet<SymbolId> = FxHashSet::default();
    let mut made_of: FxHashMap<SymbolId, Vec<SymbolId>> = FxHashMap::default();
    let named = |t: TermId| body.walk(t).filter_map(|x| body.as_symbol(x)).collect::<Vec<_>>();
    let is_pointer = |s: SymbolId| matches!(body.types.kind(body.symbols[s].ty), TypeKind::Pointer { .. });
    for t in body.walk(root) {
        let args = body.args(t);
        let asked: &[TermId] = match body.op(t) {
            Op::Declare(s) => {
                if let Some(&init) = args.first() {
                    made_of.entry(*s).or_default().extend(named(init));
                }
                &[]
            }
            Op::Assign | Op::Compound(_) => {
                if let Some((s, value)) =
                    args.first().and_then(|&p| body.as_symbol(p)).zip(args.get(1).copied())
                {
                    made_of.entry(s).or_default().extend(named(value));
                    if is_pointer(s) {
                        out.insert(s);
                    }
                }
                &[]
            }
            // conditions stand first
            Op::If | Op::Select | Op::While | Op::Switch => args.get(..1).unwrap_or(args),
            Op::For => args.get(..3).unwrap_or(args),
            Op::DoWhile => args.get(1..).unwrap_or(args),
            Op::Sym(_)
            | Op::Int(_)
            | Op::Float(_)
            | Op::Str(_)
            | Op::Empty
            | Op::List
            | Op::Comma
            | Op::Cast
            | Op::Unary(_)
            | Op::Step { .. }
            | Op::Arithmetic(_)
            | Op::InitList => &[],
            Op::Binary(op) if !op.is_logical() => &[],
            _ => args,
        };
        for &a in asked {
            out.extend(named(a));
        }
    }
    let mut open: Vec<SymbolId> = out.iter().copied().collect();
    while let Some(s) = open.pop() {
        for &of in made_of.get(&s).into_iter().flatten() {
            if out.insert(of) {
                open.push(of);
            }
        }
    }
    out
}
