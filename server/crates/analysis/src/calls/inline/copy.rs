//! The function's terms, one by one, into the new body.

use super::*;
use crate::calls::shape::{always_returns, has_return};
use crate::limits::calls_inline_copy::MAX_NESTING;

impl Expander<'_> {
    /// A statement of a list; a call there is replaced by statements.
    pub(super) fn copy_statement(
        &mut self,
        t: TermId,
        frame: &mut CopiedFunction<'_>,
        chain: &mut Vec<Arc<str>>,
    ) -> Result<TermId, No> {
        self.copy(t, frame, chain, CallSite::Statement)
    }

    /// A term with all it contains. `place`: what may stand where the term stands.
    pub(super) fn copy(
        &mut self,
        t: TermId,
        frame: &mut CopiedFunction<'_>,
        chain: &mut Vec<Arc<str>>,
        place: CallSite,
    ) -> Result<TermId, No> {
        self.copy_at(t, frame, chain, place, 0)
    }

    fn copy_at(
        &mut self,
        t: TermId,
        frame: &mut CopiedFunction<'_>,
        chain: &mut Vec<Arc<str>>,
        place: CallSite,
        depth: usize,
    ) -> Result<TermId, No> {
        if depth > MAX_NESTING || self.homes.len() > 2 * self.most_added() {
            return Err(No);
        }
        let from = frame.from;
        let args = from.args(t);
        let ty = self.import(from.ty(t), frame, chain)?;
        let inner = if place == CallSite::Header { CallSite::Header } else { CallSite::Expression };
        match from.op(t) {
            Op::Sym(s) => {
                let (s, symbol) = (*s, &from.symbols[*s]);
                match frame.bound.get(&s).cloned() {
                    Some(Bound::Argument(a, cast)) => {
                        let a = self.own_copy(a);
                        return Ok(match cast {
                            Some(to) => self.term(Op::Cast, [a], to),
                            None => a,
                        });
                    }
                    Some(Bound::Variable(v)) => return Ok(self.term(Op::Sym(v), [], ty)),
                    None => {}
                }
                let s = match symbol.storage {
                    Storage::Local | Storage::StaticLocal { .. } => self.inner_symbol(s, frame, chain)?,
                    // A parameter that nothing binds: the declaration and the list of parameters disagree.
                    Storage::Param(_) | Storage::Shared | Storage::Undeclared => return Err(No),
                    _ => self.outer_symbol(s, frame, chain)?,
                };
                Ok(self.term(Op::Sym(s), [], ty))
            }
            // What an argument's own type is does not matter here: the parameter's does.
            Op::SizeOf => {
                let of = args.first().map(|&a| from.ty(a)).ok_or(No)?;
                let of = self.import(of, frame, chain)?;
                Ok(self.term(Op::SizeOfType(of), [], ty))
            }
            Op::Declare(s) => {
                let v = self.inner_symbol(*s, frame, chain)?;
                let mut parts = Vec::new();
                for &a in args {
                    parts.push(self.copy_at(a, frame, chain, inner, depth + 1)?);
                }
                Ok(self.term(Op::Declare(v), parts, ty))
            }
            Op::For => {
                let &[init, condition, step, body, ..] = args else { return Err(No) };
                let mut parts = Vec::new();
                for (a, place) in [
                    (init, CallSite::Header),
                    (condition, CallSite::Header),
                    (step, CallSite::Header),
                    (body, CallSite::Statement),
                ] {
                    parts.push(self.copy_at(a, frame, chain, place, depth + 1)?);
                }
                Ok(self.term(Op::For, parts, ty))
            }
            Op::While | Op::DoWhile => {
                let mut parts = Vec::new();
                for &a in args {
                    let place = if *from.op(a) == Op::List { CallSite::Statement } else { CallSite::Header };
                    parts.push(self.copy_at(a, frame, chain, place, depth + 1)?);
                }
                Ok(self.term(from.op(t).clone(), parts, ty))
            }
            Op::List => {
                let mut parts = Vec::new();
                for &a in args {
                    let place =
                        if place == CallSite::Header { CallSite::Header } else { CallSite::Statement };
                    parts.push(self.copy_at(a, frame, chain, place, depth + 1)?);
                }
                Ok(self.term(Op::List, parts, ty))
            }
            Op::Return | Op::Goto(_) | Op::Label(_) | Op::Reject(_) | Op::Function(_) => Err(No),
            Op::Deref => {
                let p = self.copy_at(*args.first().ok_or(No)?, frame, chain, inner, depth + 1)?;
                Ok(match self.pointee(p) {
                    Some(x) => x,
                    None => self.term(Op::Deref, [p], ty),
                })
            }
            Op::Index => {
                let &[a, b] = args else { return Err(No) };
                let a = self.copy_at(a, frame, chain, inner, depth + 1)?;
                let b = self.copy_at(b, frame, chain, inner, depth + 1)?;
                if self.b.get(b).op == Op::Int(0) {
                    if let Some(x) = self.pointee(a) {
                        return Ok(x);
                    }
                }
                Ok(self.term(Op::Index, [a, b], ty))
            }
            Op::Member { field, arrow } => {
                let a = self.copy_at(*args.first().ok_or(No)?, frame, chain, inner, depth + 1)?;
                let direct = if *arrow { self.pointee(a) } else { None };
                let (base, arrow) = match direct {
                    Some(x) => (x, false),
                    None => (a, *arrow),
                };
                let ty = self.as_the_argument_says(field, arrow, base, ty);
                Ok(self.term(Op::Member { field: field.clone(), arrow }, [base], ty))
            }
            Op::AddrOf => {
                let x = self.copy_at(*args.first().ok_or(No)?, frame, chain, inner, depth + 1)?;
                if self.b.get(x).op == Op::Deref {
                    let p = self.b.get(x).args[0];
                    self.unlink(x);
                    return Ok(p);
                }
                Ok(self.term(Op::AddrOf, [x], ty))
            }
            Op::Cast => {
                let x = self.copy_at(*args.first().ok_or(No)?, frame, chain, inner, depth + 1)?;
                // `(double *)(void *)a` of a `double *` is `a`.
                if let (Some(to), Op::Cast) = (self.b.types.element(ty), &self.b.get(x).op) {
                    let y = self.b.get(x).args[0];
                    let kind = |e: &Self, t| e.b.types.kind(t).clone();
                    let through = self.b.types.element(self.b.get(x).ty).is_some();
                    let same = self
                        .b
                        .types
                        .element(self.b.get(y).ty)
                        .is_some_and(|e| kind(self, e) == kind(self, to));
                    if through && same {
                        self.unlink(x);
                        return Ok(y);
                    }
                }
                Ok(self.term(Op::Cast, [x], ty))
            }
            op => {
                let op = self.op_of(op, frame, chain)?;
                let call = op == Op::Call;
                let mut parts = Vec::new();
                for &a in args {
                    // Blocks of statements stay blocks.
                    let to = if *from.op(a) == Op::List { CallSite::Statement } else { inner };
                    parts.push(self.copy_at(a, frame, chain, to, depth + 1)?);
                }
                let new = self.term(op, parts, ty);
                if call {
                    self.call(new, place, chain);
                }
                Ok(new)
            }
        }
    }

    /// The type of a member without the `const` that only the parameter's type gave it (C11 6.5.2.3p3): in the body itself the
    /// same member has none, and is to be the same.
    fn as_the_argument_says(&mut self, field: &str, arrow: bool, base: TermId, ty: TypeId) -> TypeId {
        let types = &self.b.types;
        let object = match arrow {
            true => types.element(self.b.get(base).ty),
            false => Some(self.b.get(base).ty),
        };
        let Some(object) = object else { return ty };
        let TypeKind::Record(r) = types.kind(object) else { return ty };
        let only_const = types.quals(ty) == term::Quals { is_const: true, ..term::Quals::default() };
        let declared = types.member_at(*r, field).is_none_or(|(_, t)| types.quals(t).is_const);
        if !only_const || declared || types.quals(object).is_const {
            return ty;
        }
        let kind = types.kind(ty).clone();
        self.b.types.plain(kind)
    }

    /// The place that the address is one of: `&x` gives `x`, which then is nobody else's part.
    fn pointee(&mut self, p: TermId) -> Option<TermId> {
        if self.b.get(p).op != Op::AddrOf {
            return None;
        }
        let x = *self.b.get(p).args.first()?;
        self.unlink(p);
        // Where the address went, the place is read or written; only its subscripts were evaluated before.
        if let Some(home) = x.index().checked_sub(self.own_terms).and_then(|k| self.homes.get_mut(k)) {
            *home = self.home;
        }
        Some(x)
    }

    /// Takes a made term's parts away from it.
    fn unlink(&mut self, t: TermId) {
        let void = self.b.types.void();
        self.b.set(t, Term { op: Op::Empty, args: Box::new([]), ty: void });
    }

    /// Another copy of a term of the new body itself, standing for the same terms as the first.
    pub(super) fn own_copy(&mut self, t: TermId) -> TermId {
        let term = self.b.get(t).clone();
        let args: Vec<TermId> = term.args.iter().map(|&a| self.own_copy(a)).collect();
        let home = self.home_of(t);
        let span = self.b.span(t);
        let id = self.b.term_from(term.op, args, term.ty, span, Origin::Made);
        self.homes.push(home);
        id
    }

    /// Statements that return from branches, as statements that run to their end and leave the value in `result`.
    ///
    /// What follows `if (c) return a;` runs only where the branch did not return, so it becomes the `else` part. Every
    /// statement is copied at most once.
    pub(super) fn branches(
        &mut self,
        list: Vec<TermId>,
        result: Option<SymbolId>,
        frame: &mut CopiedFunction<'_>,
        chain: &mut Vec<Arc<str>>,
        out: &mut Vec<TermId>,
    ) -> Result<(), No> {
        let from = frame.from;
        let void = self.b.types.void();
        let mut rest: Vec<TermId> = list.into_iter().rev().collect();
        while let Some(t) = rest.pop() {
            if !has_return(from, t) {
                let t = self.copy_statement(t, frame, chain)?;
                out.push(t);
                continue;
            }
            let args = from.args(t);
            match from.op(t) {
                Op::Return => {
                    if let (Some(&e), Some(s)) = (args.first(), result) {
                        let v = self.copy(e, frame, chain, CallSite::Expression)?;
                        let ty = self.b.symbols[s].ty;
                        let v = self.converted(v, ty);
                        let place = self.term(Op::Sym(s), [], ty);
                        let a = self.term(Op::Assign, [place, v], ty);
                        out.push(a);
                    } else if let Some(&e) = args.first() {
                        let v = self.copy(e, frame, chain, CallSite::Statement)?;
                        out.push(v);
                    }
                    return Ok(());
                }
                Op::List => rest.extend(args.iter().rev()),
                Op::If => {
                    let condition = self.copy(args[0], frame, chain, CallSite::Expression)?;
                    let items = |l: Option<&TermId>| l.map_or(Vec::new(), |&l| from.args(l).to_vec());
                    let (mut yes, mut no) = (items(args.get(1)), items(args.get(2)));
                    let ends = |l: Option<&TermId>| l.is_some_and(|&l| always_returns(from, l));
                    let after: Vec<TermId> = rest.drain(..).rev().collect();
                    match (ends(args.get(1)), ends(args.get(2))) {
                        (true, true) => {}
                        (true, false) => no.extend(after),
                        (false, true) => yes.extend(after),
                        // What follows would be needed twice.
                        (false, false) => return Err(No),
                    }
                    let (mut a, mut b) = (Vec::new(), Vec::new());
                    self.branches(yes, result, frame, chain, &mut a)?;
                    self.branches(no, result, frame, chain, &mut b)?;
                    let a = self.term(Op::List, a, void);
                    let b = self.term(Op::List, b, void);
                    let branch = self.term(Op::If, [condition, a, b], void);
                    out.push(branch);
                    return Ok(());
                }
                _ => return Err(No),
            }
        }
        Ok(())
    }
}
