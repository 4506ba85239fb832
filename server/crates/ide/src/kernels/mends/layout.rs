//! Repairs that change where data lie or which thread takes what: a swizzled tile, exchanged axes, `const … *__restrict__`. Each must leave
//! in memory what the kernel left before.

use analysis::KernelFacts;
use term::device::{Index, Word};
use term::{Len, Op, Storage, SymbolId, TermId, TypeKind};
use text::Edit;

use super::{Care, Kernel, Mend};
use crate::Doc;

/// `s[r][c]` everywhere becomes `s[r][c ^ r]`, for rows of a power of two.
pub(super) fn swizzle(k: &Kernel<'_>, facts: &KernelFacts, name: &str) -> Option<Mend> {
    let body = k.body;
    let (s, symbol) =
        body.symbols.iter_ids().find(|(_, s)| s.storage == Storage::Shared && *s.name == *name)?;
    let TypeKind::Array { of: row, len: Len::Const(rows) } = body.types.kind(symbol.ty) else { return None };
    let TypeKind::Array { of: element, len: Len::Const(width) } = body.types.kind(*row) else { return None };
    let scalar = matches!(body.types.kind(*element), TypeKind::Int(_) | TypeKind::Float(_));
    if !scalar || !width.is_power_of_two() || *width < 2 || symbol.address_taken {
        return None;
    }
    let mut edits = Vec::new();
    for t in body.walk(body.root).filter(|&t| body.as_symbol(t) == Some(s)) {
        let first = k.parent(t)?;
        let second = k.parent(first)?;
        let (Op::Index, &[_, r]) = (body.op(first), body.args(first)) else { return None };
        let (Op::Index, &[base, c]) = (body.op(second), body.args(second)) else { return None };
        if base != first || !is_plain(k, r) || !is_plain(k, c) {
            return None;
        }
        let (row, column) = (in_parentheses(k, r), in_parentheses(k, c));
        let row = if rows > width { format!("({row} & {})", width - 1) } else { row };
        edits.push(Edit::replace(k.span(c), format!("{column} ^ {row}")));
    }
    // an expression that a macro gives several times has one place
    edits.sort_by_key(|e| e.span.start);
    edits.dedup_by_key(|e| e.span);
    k.same(facts, format!("Swizzle the columns of `{name}`: `c ^ r`"), edits)
}

/// Made of variables and numbers alone.
fn is_plain(k: &Kernel<'_>, t: TermId) -> bool {
    k.body.walk(t).all(|x| {
        matches!(
            k.body.op(x),
            Op::Sym(_) | Op::Int(_) | Op::Binary(_) | Op::Cast | Op::Member { arrow: false, .. }
        )
    })
}

fn in_parentheses(k: &Kernel<'_>, t: TermId) -> String {
    let text = k.doc.slice(k.span(t));
    match k.body.op(t) {
        Op::Sym(_) | Op::Int(_) | Op::Member { .. } => text.to_owned(),
        _ => format!("({text})"),
    }
}

/// Exchanges `x` and `y` of all indices, so that neighbouring threads move along the other subscript.
pub(super) fn exchange(k: &Kernel<'_>, facts: &KernelFacts) -> Option<Mend> {
    let body = k.body;
    let mut edits = Vec::new();
    let (mut xs, mut ys) = (0, 0);
    for t in body.walk(body.root) {
        let (Op::Member { field, .. }, &[base]) = (body.op(t), body.args(t)) else { continue };
        if body.index_variable(base).is_none() {
            continue;
        }
        let (to, count) = match &**field {
            "x" => ("y", &mut xs),
            "y" => ("x", &mut ys),
            _ => return None,
        };
        *count += 1;
        let span = k.span(t);
        let text = k.doc.slice(span);
        if !text.ends_with(&**field) {
            // written by a macro
            return None;
        }
        let last = base::Span { start: span.end - 1, end: span.end };
        edits.push(Edit::replace(last, to));
    }
    edits.sort_by_key(|e| e.span.start);
    edits.dedup_by_key(|e| e.span);
    if xs == 0 || ys == 0 {
        return None;
    }
    let thread = gpu::CUDA.said(Word::Index(Index::Thread));
    k.same(facts, format!("Exchange the axes: `{thread}.x` along the last subscript"), edits)
}

/// `const T *__restrict__ p`.
pub(super) fn qualify(k: &Kernel<'_>, facts: &KernelFacts, pointer: SymbolId) -> Option<Mend> {
    let symbol = &k.body.symbols[pointer];
    let name = symbol.span?.shifted(k.item.span.start);
    let before = k.doc.slice(base::Span { start: k.item.span.start, end: name.start });
    let open = before.rfind(['(', ','])?;
    let declared = &before[open + 1..];
    // `T *p`, and nothing more involved
    if declared.matches('*').count() != 1 || declared.contains(['(', '[']) || declared.contains("restrict") {
        return None;
    }
    let mut edits = vec![Edit::insert(name.start, "__restrict__ ")];
    if !declared.contains("const") {
        let first = open + 1 + (declared.len() - declared.trim_start().len());
        edits.push(Edit::insert(k.item.span.start + first as u32, "const "));
    }
    let title = format!(
        "Declare `const … *__restrict__ {}` (assumes that nothing the kernel writes overlaps it)",
        symbol.name
    );
    k.same(facts, title, edits)
}

const WIDER: &str = "Compute the index in 64 bits";

/// Rounds of widening: an operation, then the variable that takes its value, and so on.
const ROUNDS: usize = 8;

/// Computes subscripts in 64 bits: casts first operands, and widens variables.
pub(super) fn widen(k: &Kernel<'_>, facts: &KernelFacts) -> Option<Mend> {
    let mut text = k.doc.text().clone();
    for round in 0..ROUNDS {
        let doc = match round {
            0 => k.doc.clone(),
            _ => Doc::open(k.doc.language(), k.doc.name(), text.clone(), k.doc.options().clone()),
        };
        let item = doc.unit().items.iter().find(|i| i.is_kernel && i.name == k.item.name)?;
        let ask = k.ask.of(&doc);
        let (now, _) = ask.kernel_facts(item);
        let here = Kernel::new(&ask, item, k.care);
        let Some(first) = now.overflows.first() else {
            // all rounds as one edit
            let new = doc.slice(item.span).to_owned();
            let edits = vec![Edit::replace(k.item.span, new)];
            return k.same(facts, WIDER.into(), edits);
        };
        let edit = match first.variable {
            Some(s) => here.wider_type(s)?,
            None => {
                let span = here.span(first.term);
                if span.is_empty() || here.doc.slice(span).starts_with("(long long)") {
                    return None;
                }
                Edit::insert(span.start, "(long long)")
            }
        };
        if k.care == Care::Listed {
            return k.same(facts, WIDER.into(), vec![edit]);
        }
        text = text::EditSet::new(vec![edit]).ok()?.apply(&text).ok()?;
    }
    None
}

impl Kernel<'_> {
    /// `int i` becomes `long long i`.
    fn wider_type(&self, s: SymbolId) -> Option<Edit> {
        let name = self.body.symbols[s].span?.shifted(self.item.span.start);
        let before = self.doc.slice(base::Span { start: self.item.span.start, end: name.start });
        let from = before.rfind([';', '{', '(', '}'])? + 1;
        let declared = &before[from..];
        let word = ["unsigned int", "unsigned", "int"]
            .into_iter()
            .find_map(|w| declared.find(w).map(|at| (at, w)))?;
        let start = self.item.span.start + (from + word.0) as u32;
        let whole = base::Span { start, end: start + word.1.len() as u32 };
        Some(Edit::replace(whole, "long long"))
    }
}
