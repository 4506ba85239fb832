//! Names for what is reached through memory: `g->u`, `rows[i]`, `p->dx`.
//!
//! A pointer that a program loads from a member or an array stands for an object as much as a variable does. Each such
//! *path* therefore gets a symbol of [`Storage::Path`], so that whoever speaks of objects (accesses, conditions,
//! buffers) speaks of one thing. A path is only a name: whether what it loads keeps its value while a loop runs is for
//! the analysis to prove, loop by loop.
//!
//! Paths that differ in the subscripts of their last load alone (`rows[i]`, `rows[0]`) also share a *family* symbol
//! (`rows[]`): together they are the rows of one table. Where the last loads are subscripts of subscripts (`f[i][j]` of
//! `float ***f`), the subscripts of all of them make the family (`f[][]`). Deliberately absent: any statement on aliasing.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::limits::paths::{MAX_PATHS, MAX_TEXT};
use crate::{strength, BinOp, Body, IntKind, Op, Storage, Symbol, SymbolId, TermId, TypeId, TypeKind, UnOp};

/// What a term's path is called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Path {
    /// The path itself.
    pub own: SymbolId,
    /// All paths that differ in the subscripts of the last load alone; equal to `own` for values that are no pointers.
    pub family: SymbolId,
}

/// The pointer to a row taken apart: `a[i]` of `double **a`, `f[i][j]` of `float ***f`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RowOfTable {
    /// The table: `a`, `f`, `g->u`.
    pub table: TermId,
    /// The subscripts that lead to the row, outermost first.
    pub subscripts: Vec<TermId>,
}

/// The paths of one body.
#[derive(Clone, Default, Debug)]
pub(crate) struct Paths {
    of: FxHashMap<TermId, Path>,
    /// A term that is the path or one of the family, by symbol.
    terms: FxHashMap<SymbolId, TermId>,
    /// Number of symbols that are variables: those of paths come after them.
    pub(crate) variables: usize,
}

impl Body {
    /// The path a term is: a pointer loaded from memory, or a number loaded through a pointer.
    pub fn path_of(&self, t: TermId) -> Option<Path> {
        self.paths.of.get(&t).copied()
    }
    /// A term that is the path of this symbol, or one path of this family.
    pub fn path_term(&self, s: SymbolId) -> Option<TermId> {
        self.paths.terms.get(&s).copied()
    }
    /// The path of the pointer through which the place `t` is reached, nearest first: for `g->u[i]` that of `g->u`.
    pub fn loaded_base(&self, t: TermId) -> Option<Path> {
        let mut at = t;
        for _ in 0..1000 {
            at = match self.op(at) {
                Op::Index => {
                    let &[a, b] = self.args(at) else { return None };
                    if self.types.as_int(self.ty(a)).is_some() {
                        b
                    } else {
                        a
                    }
                }
                Op::Member { .. } | Op::Deref | Op::AddrOf | Op::Cast => *self.args(at).first()?,
                Op::Binary(BinOp::Add | BinOp::Sub) => {
                    let &[a, b] = self.args(at) else { return None };
                    if self.types.as_int(self.ty(a)).is_some() {
                        b
                    } else {
                        a
                    }
                }
                _ => return None,
            };
            if matches!(self.types.kind(self.ty(at)), TypeKind::Pointer { .. }) {
                if let Some(p) = self.path_of(at) {
                    return Some(p);
                }
            }
        }
        None
    }
    /// What is subscripted by what: `a[i]`, or `*(a + i)`, which is the same (C11 6.5.2.1p2).
    pub fn subscripted(&self, t: TermId) -> Option<(TermId, TermId)> {
        let is_address = |t: TermId| {
            matches!(self.types.kind(self.ty(t)), TypeKind::Pointer { .. } | TypeKind::Array { .. })
        };
        let (a, b) = match (self.op(t), self.args(t)) {
            (Op::Index, &[a, b]) => (a, b),
            (Op::Deref, &[sum]) => match (self.op(sum), self.args(sum)) {
                (Op::Binary(BinOp::Add), &[a, b]) => (a, b),
                _ => return None,
            },
            _ => return None,
        };
        is_address(a).then_some((a, b))
    }
    /// The table that a loaded pointer lies in and its subscripts there, where these are all that leads to it.
    pub fn row_of_table(&self, pointer: TermId) -> Option<RowOfTable> {
        let is_pointer = |t: TermId| matches!(self.types.kind(self.ty(t)), TypeKind::Pointer { .. });
        let (mut table, mut subscripts) = (pointer, Vec::new());
        while let Some((base, sub)) = self.subscripted(table).filter(|_| is_pointer(table)) {
            subscripts.push(sub);
            table = base;
        }
        subscripts.reverse();
        // `double *rows[8]`
        let is_array = self.as_symbol(table).is_some()
            && matches!(self.types.kind(self.ty(table)), TypeKind::Array { .. });
        (!subscripts.is_empty() && (is_pointer(table) || is_array))
            .then_some(RowOfTable { table, subscripts })
    }
    /// Names the paths; called once, when the body is finished.
    pub(crate) fn name_paths(&mut self) {
        let mut found: Vec<(TermId, String, String)> = Vec::new();
        let mut paths = Paths { variables: self.symbols.len(), ..Paths::default() };
        let handed = self.said.members.iter().flat_map(|&m| self.walk(m));
        for t in self.walk(self.root).chain(handed) {
            if !matches!(self.op(t), Op::Index | Op::Member { .. } | Op::Deref) {
                continue;
            }
            let pointer = matches!(self.types.kind(self.ty(t)), TypeKind::Pointer { .. });
            if !pointer && !self.is_loaded_number(t) {
                continue;
            }
            let Some(text) = postfix(self, t, &mut 0, false) else { continue };
            let family = if pointer { postfix(self, t, &mut 0, true) } else { None };
            found.push((t, text, family.unwrap_or_default()));
        }
        let mut own: FxHashMap<String, Vec<(TermId, Path)>> = FxHashMap::default();
        let mut families: FxHashMap<(String, TypeId), Vec<(TermId, SymbolId)>> = FxHashMap::default();
        for (t, text, family) in found {
            if let Some((_, path)) = own.get(&text).and_then(|ps| ps.iter().find(|(u, _)| self.same(*u, t))) {
                paths.of.insert(t, *path);
                continue;
            }
            if paths.terms.len() >= MAX_PATHS {
                continue;
            }
            let ty = self.ty(t);
            let symbol = |this: &mut Body, name: &str| {
                this.symbols.push(Symbol {
                    name: Arc::from(name),
                    ty,
                    storage: Storage::Path,
                    device: None,
                    address_taken: true,
                    span: None,
                })
            };
            let me = symbol(self, &text);
            let family = if family.is_empty() || family == text {
                me
            } else {
                let known = families
                    .get(&(family.clone(), ty))
                    .and_then(|fs| fs.iter().find(|(u, _)| same_family(self, *u, t)).map(|f| f.1));
                match known {
                    Some(f) => f,
                    None => {
                        let f = symbol(self, &family);
                        families.entry((family, ty)).or_default().push((t, f));
                        paths.terms.insert(f, t);
                        f
                    }
                }
            };
            let path = Path { own: me, family };
            paths.of.insert(t, path);
            paths.terms.insert(me, t);
            own.entry(text).or_default().push((t, path));
        }
        self.paths = paths;
    }

    /// `p->n`, `(*p).n`, `p->dims[2]`, `*n`: a number behind a pointer at a place that no index moves.
    fn is_loaded_number(&self, t: TermId) -> bool {
        if !self.types.is_arithmetic(self.ty(t)) {
            return false;
        }
        let (mut at, mut loaded, mut member) = (t, false, *self.op(t) == Op::Deref);
        for _ in 0..100 {
            match self.op(at) {
                Op::Member { arrow, .. } => {
                    member = true;
                    loaded |= arrow;
                    at = self.args(at)[0];
                }
                Op::Deref => {
                    loaded = true;
                    at = self.args(at)[0];
                }
                Op::Index if matches!(self.op(self.args(at)[1]), Op::Int(_)) => {
                    loaded |= matches!(self.types.kind(self.ty(self.args(at)[0])), TypeKind::Pointer { .. });
                    at = self.args(at)[0];
                }
                Op::Sym(_) => return loaded && member,
                _ => return false,
            }
        }
        false
    }
}

/// Whether the two loads differ in the subscripts of the load itself alone.
fn same_family(body: &Body, a: TermId, b: TermId) -> bool {
    match (load(body, a), load(body, b)) {
        (Some((xs, x)), Some((ys, y))) => xs == ys && body.same(x, y),
        _ => false,
    }
}

/// Whether the pointer's own subscript is one of those that a family leaves open.
fn leads_on(body: &Body, pointer: TermId) -> bool {
    body.subscripted(pointer).is_some()
}

/// The last load taken apart: the variable or pointer it starts from, and the fields (`None`: a subscript) after it,
/// last first.
fn load(body: &Body, t: TermId) -> Option<(Vec<Option<Arc<str>>>, TermId)> {
    let mut steps = Vec::new();
    let mut at = t;
    for _ in 0..1000 {
        let base = body.subscripted(at).map(|s| s.0).or_else(|| body.args(at).first().copied())?;
        match body.op(at) {
            Op::Index | Op::Deref => steps.push(None),
            Op::Member { field, arrow } => {
                steps.push(Some(field.clone()));
                if *arrow {
                    steps.push(None);
                }
            }
            _ => return None,
        }
        at = base;
        let is_pointer = matches!(body.types.kind(body.ty(at)), TypeKind::Pointer { .. });
        if is_pointer && !leads_on(body, at) || body.as_symbol(at).is_some() {
            return Some((steps, at));
        }
    }
    None
}

/// The term as C that binds as tightly as a name followed by subscripts; `None` where it is more than names, numbers
/// and operators. `blank`: the subscripts of the last load left out.
fn postfix(body: &Body, t: TermId, depth: &mut u32, blank: bool) -> Option<String> {
    *depth += 1;
    if *depth > 60 {
        return None;
    }
    let args = body.args(t);
    let text = match (body.op(t), args) {
        (Op::Sym(s), _) => match body.symbols[*s].storage {
            Storage::Constant(v) => v.to_string(),
            Storage::Function | Storage::Path => return None,
            _ => body.symbols[*s].name.to_string(),
        },
        (Op::Int(v), _) => match body.types.as_int(body.ty(t))? {
            IntKind::Int | IntKind::Char if *v >= 0 => v.to_string(),
            _ => return None,
        },
        (Op::Index, &[base, sub]) => {
            if body.types.as_int(body.ty(base)).is_some() {
                return None;
            }
            let pointer = matches!(body.types.kind(body.ty(base)), TypeKind::Pointer { .. });
            let base = postfix(body, base, depth, blank && (!pointer || leads_on(body, base)))?;
            let sub = if blank { String::new() } else { expression(body, sub, depth)? };
            format!("{base}[{sub}]")
        }
        (Op::Member { field, arrow }, &[base]) => {
            if field.is_empty() || !field.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
                return None;
            }
            let base = postfix(body, base, depth, blank && !arrow)?;
            match (arrow, blank) {
                (true, true) => format!("{base}[].{field}"),
                (true, false) => format!("{base}->{field}"),
                (false, _) => format!("{base}.{field}"),
            }
        }
        (Op::Deref, &[_]) if body.subscripted(t).is_some() => {
            let (base, sub) = body.subscripted(t)?;
            let pointer = matches!(body.types.kind(body.ty(base)), TypeKind::Pointer { .. });
            let base = postfix(body, base, depth, blank && (!pointer || leads_on(body, base)))?;
            let sub = if blank { String::new() } else { expression(body, sub, depth)? };
            format!("{base}[{sub}]")
        }
        (Op::Deref, &[p]) if blank => format!("{}[]", postfix(body, p, depth, false)?),
        (Op::Deref, &[p]) => format!("(*{})", postfix(body, p, depth, false)?),
        (Op::AddrOf, &[p]) => format!("(&{})", postfix(body, p, depth, false)?),
        _ => return None,
    };
    (text.len() <= MAX_TEXT).then_some(text)
}

/// A subscript.
fn expression(body: &Body, t: TermId, depth: &mut u32) -> Option<String> {
    *depth += 1;
    if *depth > 60 {
        return None;
    }
    match (body.op(t), body.args(t)) {
        (Op::Binary(op @ (BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Div | BinOp::Rem)), &[a, b]) => {
            let mut side = |k: usize, part: TermId| {
                let text = expression(body, part, depth)?;
                let needed = strength::needed(body.op(t), k, body.op(part));
                // `a - (-b)`
                let needed = if k == 1 && text.starts_with(['-', '+']) { strength::ATOM } else { needed };
                Some(strength::enclosed(text, strength::of(body.op(part)), needed))
            };
            Some(format!("{} {} {}", side(0, a)?, op.symbol(), side(1, b)?))
        }
        (Op::Unary(op @ (UnOp::Neg | UnOp::Plus)), &[a]) => {
            let text = expression(body, a, depth)?;
            // `-(-a)`
            let text = strength::enclosed(text, strength::of(body.op(a)), strength::POSTFIX);
            Some(format!("{}{text}", op.symbol()))
        }
        _ => postfix(body, t, depth, false),
    }
}
