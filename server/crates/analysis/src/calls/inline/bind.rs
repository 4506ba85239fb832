//! Arguments: what each parameter stands for.

use super::*;
use crate::limits::calls_inline_bind::MAX_COPIED;

impl Expander<'_> {
    /// Decides for each parameter and returns the declarations that must come first.
    pub(super) fn bind(
        &mut self,
        args: &[TermId],
        shape: &Shape,
        frame: &mut CopiedFunction<'_>,
        place: CallSite,
    ) -> Result<Vec<TermId>, No> {
        let from = frame.from;
        let params: Vec<SymbolId> = match (from.op(from.root), from.args(from.root)) {
            (Op::Function(_), &[list, _]) => from
                .args(list)
                .iter()
                .filter_map(|&p| match from.op(p) {
                    Op::Declare(s) => Some(*s),
                    _ => None,
                })
                .collect(),
            _ => return Err(No),
        };
        if params.len() != args.len() {
            return Err(No);
        }
        for (&p, &a) in params.iter().zip(args) {
            if !fits(&self.b.types, self.b.get(a).ty, &from.types, from.symbols[p].ty) {
                return Err(No);
            }
        }
        let changed = changed_symbols(from);
        // An expression that writes nothing may read its arguments as often and as late as it likes.
        let still = matches!(shape, Shape::Value(e) if !calls_something(from, *e));
        // An argument is evaluated before the call (C11 6.5.2.2p10); a load may stand for itself only where it happens
        // whatever the function decides.
        let always = match shape {
            Shape::Value(e) if still => always_used(from, *e),
            _ => FxHashSet::default(),
        };
        let void = self.b.types.void();
        let mut first = Vec::new();
        for (&p, &a) in params.iter().zip(args) {
            let a = self.as_it_was(a, from, from.symbols[p].ty);
            let keeps = !changed.contains(&p) && !from.symbols[p].address_taken;
            // of a variable the conditions that the function asks say something, of one more copy they do not
            let is_asked =
                place != CallSite::Header && !self.is_large && self.is_unknown(a) && uses(from, p) > 1;
            // What the function writes are no pointers, and where one is overwritten as something else, it and what is written
            // overlap: that is asked of all that is written as long as the pointer is loaded where it is used.
            let is_path = self.is_loaded_pointer(a) && !changes_pointers(from);
            if keeps && !is_asked && (is_path || self.may_be_copied(a, still && always.contains(&p))) {
                let ty = self.parameter_cast(a, p, frame)?;
                frame.bound.insert(p, Bound::Argument(a, ty));
                continue;
            }
            if place == CallSite::Header {
                return Err(No);
            }
            // Its type may have lengths that are earlier parameters: they are bound by now.
            let ty = self.import(from.symbols[p].ty, frame, &mut Vec::new())?;
            let v = self.variable(&from.symbols[p].name.clone(), ty);
            self.b.symbols[v].address_taken = from.symbols[p].address_taken;
            let value = self.own_copy(a);
            let value = self.converted(value, ty);
            let d = self.term(Op::Declare(v), [value], void);
            first.push(d);
            frame.bound.insert(p, Bound::Variable(v));
        }
        Ok(first)
    }

    /// An argument without a conversion to `void *`, if the parameter is one of what it was before (C11 6.3.2.3p1).
    fn as_it_was(&self, a: TermId, from: &Body, parameter: TypeId) -> TermId {
        let mut at = a;
        while let Term { op: Op::Cast, args, ty } = self.b.get(at) {
            let void = self.b.types.element(*ty).is_some_and(|e| *self.b.types.kind(e) == TypeKind::Void);
            if !void {
                break;
            }
            at = args[0];
        }
        match (self.b.types.element(self.b.get(at).ty), from.types.element(parameter)) {
            (Some(x), Some(y)) if same_type(&self.b.types, x, &from.types, y) => at,
            _ => a,
        }
    }

    /// The type an argument is converted to, where the conversion may change its value or what it points to.
    fn parameter_cast(
        &mut self,
        a: TermId,
        p: SymbolId,
        frame: &mut CopiedFunction<'_>,
    ) -> Result<Option<TypeId>, No> {
        let from = frame.from;
        let pty = from.symbols[p].ty;
        let aty = self.b.get(a).ty;
        let number = |k: &TypeKind| matches!(k, TypeKind::Int(_) | TypeKind::Float(_));
        if number(from.types.kind(pty)) {
            let kind = from.types.kind(pty).clone();
            let same = *self.b.types.kind(aty) == kind;
            return Ok((!same).then(|| self.b.types.plain(kind)));
        }
        let pointee = (self.b.types.element(aty), from.types.element(pty));
        if let (Some(x), Some(y)) = pointee {
            if !same_type(&self.b.types, x, &from.types, y) {
                return Ok(Some(self.import(pty, frame, &mut Vec::new())?));
            }
        }
        Ok(None)
    }

    /// Whether the argument is an integer that comes out of memory or of floating-point numbers.
    fn is_unknown(&self, a: TermId) -> bool {
        let mut stack = vec![a];
        let mut found = self.b.types.as_int(self.b.get(a).ty).is_some();
        while let Some(t) = stack.pop().filter(|_| found) {
            let term = self.b.get(t);
            match term.op {
                Op::Index | Op::Deref => return true,
                Op::Cast if self.b.types.as_float(self.b.get(term.args[0]).ty).is_some() => return true,
                Op::SizeOf => {}
                Op::Call => found = false,
                _ => stack.extend(&term.args),
            }
        }
        false
    }

    /// Whether the argument is a pointer that members lead to from a variable that nobody else reaches: `w->knots`, `s.m->row`.
    fn is_loaded_pointer(&self, a: TermId) -> bool {
        let is_pointer = |t: TermId| matches!(self.b.types.kind(self.b.get(t).ty), TypeKind::Pointer { .. });
        let (mut at, mut depth) = (a, 0);
        while let Op::Member { .. } = self.b.get(at).op {
            at = self.b.get(at).args[0];
            depth += 1;
        }
        let Op::Sym(s) = self.b.get(at).op else { return false };
        let v = &self.b.symbols[s];
        is_pointer(a) && (1..MAX_COPIED).contains(&depth) && v.storage.is_of_call() && !v.address_taken
    }

    /// Whether the argument has the same value wherever the function uses it. `still`: the function writes nothing.
    fn may_be_copied(&self, a: TermId, still: bool) -> bool {
        let mut stack = vec![(a, false)];
        let mut count = 0;
        while let Some((t, address)) = stack.pop() {
            count += 1;
            if count > MAX_COPIED {
                return false;
            }
            let term = self.b.get(t);
            let ok = match &term.op {
                Op::Int(_) | Op::Float(_) | Op::Str(_) | Op::SizeOfType(_) => true,
                Op::SizeOf => continue,
                Op::Sym(s) => {
                    let v = &self.b.symbols[*s];
                    let array = matches!(self.b.types.kind(v.ty), TypeKind::Array { .. });
                    match v.storage {
                        Storage::Constant(_) => true,
                        // An array's name and `&x` are the same address whatever is written.
                        _ if array || address => true,
                        Storage::Local | Storage::Param(_) => still || !v.address_taken,
                        Storage::Global { .. } | Storage::StaticLocal { .. } => still,
                        _ => false,
                    }
                }
                Op::Unary(_) | Op::Binary(_) | Op::Cast | Op::Select => true,
                Op::AddrOf => {
                    stack.extend(term.args.iter().map(|&x| (x, true)));
                    continue;
                }
                // `&s.f`, `&a[i]`, and rows of an array of arrays: addresses, not loads.
                Op::Member { arrow: false, .. } if address => {
                    stack.extend(term.args.iter().map(|&x| (x, true)));
                    continue;
                }
                Op::Member { arrow: false, .. } => {
                    // A member of a variable that nobody else reaches, or an array inside it.
                    true
                }
                Op::Index if address || matches!(self.b.types.kind(term.ty), TypeKind::Array { .. }) => {
                    if let [base, sub] = term.args[..] {
                        let array = matches!(self.b.types.kind(self.b.get(base).ty), TypeKind::Array { .. });
                        stack.push((base, array));
                        stack.push((sub, false));
                    }
                    continue;
                }
                Op::Deref if address => {
                    stack.extend(term.args.iter().map(|&x| (x, false)));
                    continue;
                }
                Op::Member { arrow: true, .. } if address => {
                    stack.extend(term.args.iter().map(|&x| (x, false)));
                    continue;
                }
                Op::Index | Op::Deref | Op::Member { .. } => still,
                Op::Call => {
                    let f = term.args.first().map(|&f| &self.b.get(f).op);
                    match f {
                        Some(Op::Sym(f)) => {
                            self.b.library.contains(f) && term::intrinsic(&self.b.symbols[*f].name).is_some()
                        }
                        _ => false,
                    }
                }
                _ => false,
            };
            if !ok {
                return false;
            }
            let skip = usize::from(term.op == Op::Call);
            stack.extend(term.args.iter().skip(skip).map(|&x| (x, false)));
        }
        true
    }
}

/// Variables that the function assigns to or takes the address of.
fn changed_symbols(body: &Body) -> FxHashSet<SymbolId> {
    body.walk(body.root)
        .filter(|&t| body.op(t).is_write() || *body.op(t) == Op::AddrOf)
        .filter_map(|t| {
            let mut at = *body.args(t).first()?;
            // A part of a struct parameter; what its pointers show is none.
            let is_array = |t: TermId| matches!(body.types.kind(body.ty(t)), TypeKind::Array { .. });
            loop {
                match (body.op(at), body.args(at)) {
                    (Op::Sym(s), _) => return Some(*s),
                    (Op::Member { arrow: false, .. }, &[of, ..]) => at = of,
                    (Op::Index, &[of, ..]) if is_array(of) => at = of,
                    _ => return None,
                }
            }
        })
        // `p[i] = x` changes what p points to, not p.
        .filter(|&s| !matches!(body.types.kind(body.symbols[s].ty), TypeKind::Pointer { .. }))
        .chain(
            body.walk(body.root)
                .filter(|&t| body.op(t).is_write() || *body.op(t) == Op::AddrOf)
                .filter_map(|t| body.as_symbol(*body.args(t).first()?)),
        )
        .collect()
}

/// Whether the function sets pointers, or structures with pointers, that others may reach, or calls something.
fn changes_pointers(body: &Body) -> bool {
    let is_own = |t: TermId| body.as_symbol(t).is_some_and(|s| body.symbols[s].is_own_scalar());
    body.walk(body.root).any(|t| match body.op(t) {
        Op::Call | Op::Launch | Op::Reject(_) | Op::Apply(_) => true,
        op if op.is_write() => body
            .args(t)
            .first()
            .is_none_or(|&place| !is_own(place) && crate::flow::parts::holds_pointer(body, body.ty(place))),
        _ => false,
    })
}

/// How often the function names the variable.
fn uses(body: &Body, s: SymbolId) -> usize {
    body.walk(body.root).filter(|&t| *body.op(t) == Op::Sym(s)).count()
}

/// Variables that are read whenever the expression is evaluated.
fn always_used(body: &Body, e: TermId) -> FxHashSet<SymbolId> {
    let mut out = FxHashSet::default();
    let mut stack = vec![e];
    while let Some(t) = stack.pop() {
        match body.op(t) {
            Op::Sym(s) => {
                out.insert(*s);
            }
            Op::SizeOf => {}
            Op::Select => stack.extend(body.args(t).first()),
            Op::Binary(b) if b.is_logical() => stack.extend(body.args(t).first()),
            _ => stack.extend(body.args(t)),
        }
    }
    out
}

fn calls_something(body: &Body, e: TermId) -> bool {
    body.walk(e).any(|t| {
        *body.op(t) == Op::Call
            && !body
                .args(t)
                .first()
                .and_then(|&f| body.as_symbol(f))
                .is_some_and(|f| crate::flow::effects::is_pure_callee(body, f))
    })
}
