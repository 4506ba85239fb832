//! Expressions: values as polynomials, with what must hold for them to be the mathematical ones.

use term::{BinOp, IntKind, Op, Storage, SymbolId, TermId, TypeId, TypeKind, UnOp};

use crate::algebra::poly::{Domain, Poly, VarKind};
use crate::flow::counted_loop;
use crate::nest::builder::{Builder, MAX_ACCESSES, MAX_DEPTH, MAX_VALUE_PIECES};
use crate::nest::pieces::Pieces;
use crate::nest::{Need, Obligation};
use crate::{ObstacleKind, Param};

impl Builder<'_> {
    /// A pure value in the current environment, single-pieced and linear or not; records nothing.
    pub(super) fn plain_value(&mut self, t: TermId) -> Option<Poly> {
        if self
            .body
            .walk(t)
            .any(|x| self.body.op(x).is_write() || matches!(self.body.op(x), Op::Call | Op::Reject(_)))
        {
            return None;
        }
        let (accesses, obligations, obstacles) =
            (self.accesses.len(), self.obligations.len(), self.obstacles.len());
        let v = self.visit(t);
        self.accesses.truncate(accesses);
        let _ = obligations;
        self.obstacles.truncate(obstacles);
        match v {
            Some(p) if p.len() == 1 => p.into_iter().next().map(|p| p.1),
            _ => None,
        }
    }

    pub(super) fn value_of_symbol(&mut self, s: SymbolId, at: TermId) -> Option<Pieces> {
        let symbol = &self.body.symbols[s];
        self.body.types.as_int(symbol.ty)?;
        if let Storage::Constant(v) = symbol.storage {
            return Some(vec![(Domain::always(), Poly::constant(v))]);
        }
        if let Some(v) = self.env.get(&s) {
            // What others reach may have changed since it was last looked at.
            if !self.is_left_alone(s) {
                let v = self.fresh_value();
                return Some(vec![(Domain::always(), v)]);
            }
            return v.clone();
        }
        // Not written in the loop: fixed. A local that is set once from fixed values is those values.
        let _ = at;
        if let Some(p) = self.definition(s) {
            return Some(vec![(Domain::always(), p)]);
        }
        self.entry_value(s)
    }

    /// Whether nothing but its own name reaches a number while the root runs: its address is taken nowhere, or elsewhere alone and by
    /// nobody who keeps it.
    fn is_left_alone(&self, s: SymbolId) -> bool {
        let (body, symbol) = (self.body, &self.body.symbols[s]);
        let is_taken =
            |t: TermId| *body.op(t) == Op::AddrOf && body.walk(t).any(|x| body.as_symbol(x) == Some(s));
        symbol.is_own_scalar()
            || symbol.storage == Storage::Local
                && body.types.as_int(symbol.ty).is_some()
                && self.effects.stays_home_until(Some(self.root), s)
                && !body.walk(self.root).any(is_taken)
    }

    /// The affine definition of a variable that has one value for the whole body and whose operands do too.
    pub(super) fn definition(&mut self, s: SymbolId) -> Option<Poly> {
        if !matches!(self.body.symbols[s].storage, Storage::Local) || !self.effects.is_single_valued(s) {
            return None;
        }
        let declare = *self.effects.writes.get(&s)?.first()?;
        let Op::Declare(_) = self.body.op(declare) else {
            return None;
        };
        let init = *self.body.args(declare).first()?;
        let kind = self.body.types.as_int(self.body.symbols[s].ty)?;
        if let Some(c) = counted_loop::constant(self.body, init).filter(|c| kind.wrap(*c) == *c) {
            return Some(Poly::constant(c));
        }
        let plain = self.body.walk(init).all(|x| match self.body.op(x) {
            Op::Int(_) | Op::Unary(_) | Op::Binary(BinOp::Add | BinOp::Sub | BinOp::Mul) | Op::Cast => true,
            Op::Sym(u) => {
                matches!(self.body.symbols[*u].storage, Storage::Constant(_))
                    || (self.effects.is_single_valued(*u) && *u != s)
            }
            _ => false,
        });
        let small = self.body.walk(init).take(40).count() < 40;
        let exact = self.body.walk(init).all(|x| {
            let (k, arithmetic) = (self.body.types.as_int(self.body.ty(x)), self.body.arithmetic(x));
            // a variable or number is itself, whatever sums do
            let leaf = matches!(self.body.op(x), Op::Sym(_) | Op::Int(_));
            k.is_some_and(|k| (leaf && k.signed() || arithmetic.is_exact(k)) && k.bits() <= kind.bits())
        }) && kind.signed();
        if !plain || !small || !exact {
            return None;
        }
        self.depth += 1;
        let v = if self.depth < MAX_DEPTH { self.plain_value(init) } else { None };
        self.depth -= 1;
        v
    }

    pub(super) fn assign_symbol(&mut self, s: SymbolId, value: Option<Pieces>, from: TypeId, at: TermId) {
        let ty = self.body.symbols[s].ty;
        let kinds = self.body.types.as_int(from).zip(self.body.types.as_int(ty));
        let converted = match (value, kinds) {
            (Some(v), Some((from, to))) => self.convert(v, from, to, at),
            _ => None,
        };
        match converted {
            Some(v) if self.is_left_alone(s) => {
                self.env.insert(s, Some(v));
                self.pointers.remove(&s);
            }
            _ => self.forget(s),
        }
    }

    /// The value after conversion between integer types; an obligation says where it stays the same.
    pub(super) fn convert(&mut self, v: Pieces, from: IntKind, to: IntKind, at: TermId) -> Option<Pieces> {
        if to == IntKind::Bool && from != IntKind::Bool {
            // whether it is not 0 (C11 6.3.1.2): of numbers alone that is a number again
            let truly = |(d, p): (Domain, Poly)| Some((d, Poly::constant(i128::from(p.as_constant()? != 0))));
            return v.into_iter().map(truly).collect();
        }
        if to.min() <= from.min() && from.max() <= to.max() {
            return Some(v);
        }
        for (d, p) in &v {
            if let Some(c) = p.as_constant() {
                if c < to.min() || c > to.max() {
                    return None;
                }
                continue;
            }
            let dom = self.dom.and(d);
            if self.idle || !self.vars.is_between(p, &dom) {
                return None;
            }
            let (above, below) = (p.add_constant(-to.min())?, p.scale(-1)?.add_constant(to.max())?);
            let needed = [(above, from.min() < to.min()), (below, from.max() > to.max())];
            self.stays_in_type(p, needed, dom, at)?;
        }
        Some(v)
    }

    /// Asks for what keeps a value in its type, save where it rests on what nobody knows and the host cannot test it: then the value
    /// is not known.
    fn stays_in_type(
        &mut self,
        value: &Poly,
        needed: [(Poly, bool); 2],
        domain: Domain,
        at: TermId,
    ) -> Option<()> {
        let is_fresh = value.vars().any(|x| *self.vars.kind(x) == VarKind::Fresh);
        let needed: Vec<Poly> = needed.into_iter().filter_map(|(p, asks)| asks.then_some(p)).collect();
        if is_fresh && !needed.iter().all(|p| self.can_be_tested(p, &domain)) {
            return None;
        }
        needed.into_iter().for_each(|p| self.oblige(Need::NoWrap(at), p, domain.clone()));
        Some(())
    }

    /// The value of an operation in `kind`, obliged to be the mathematical one where overflow has a meaning.
    pub(super) fn in_type(&mut self, v: Option<Pieces>, kind: IntKind, at: TermId) -> Option<Pieces> {
        let v = v?;
        if self.body.arithmetic(at).is_exact(kind) {
            return Some(v);
        }
        for (d, p) in &v {
            if let Some(c) = p.as_constant() {
                if c < kind.min() || c > kind.max() {
                    return None;
                }
                continue;
            }
            let dom = self.dom.and(d);
            if self.idle || !self.vars.is_between(p, &dom) {
                return None;
            }
            let (above, below) = (p.add_constant(-kind.min())?, p.scale(-1)?.add_constant(kind.max())?);
            // made to wrap around: of a table of hashes nobody tests that it does not
            if mixes(p, kind) && !(self.is_non_negative(&above, &dom) && self.is_non_negative(&below, &dom)) {
                return None;
            }
            if self.fills_a_multiple(at, p, kind) {
                continue;
            }
            self.stays_in_type(p, [(above, true), (below, true)], dom, at)?;
        }
        Some(v)
    }

    /// Whether less is added than is missing to the next multiple of a power of two, which the largest value of an unsigned type is just
    /// below: the `+ 1` of `2 * i * s + 1`.
    fn fills_a_multiple(&self, at: TermId, sum: &Poly, kind: IntKind) -> bool {
        let body = self.body;
        let (Op::Binary(BinOp::Add), &[a, b]) = (body.op(at), body.args(at)) else { return false };
        let (of, by) = match (body.constant(a), body.constant(b)) {
            (None, Some(by)) => (a, by),
            (Some(by), None) => (b, by),
            _ => return false,
        };
        let Some(rest) = sum.add_constant(-by) else { return false };
        let common = rest.terms().fold(0, |g, (_, c)| base::gcd(g, c));
        let power = 1i128 << common.trailing_zeros().min(30);
        !kind.signed()
            && body.types.as_int(body.ty(of)) == Some(kind)
            && (0..power).contains(&by)
            && common != 0
    }

    /// Whether the value is never negative in the domain, or the host can tell before the loop that it is not.
    fn can_be_tested(&self, p: &Poly, domain: &Domain) -> bool {
        let prover = self.prover();
        prover.non_negative(p, domain, &self.budget)
            || prover
                .sufficient(p, domain, &|v| self.is_param(v), &self.budget)
                .is_some_and(|ps| ps.iter().all(|p| p.as_constant().is_none_or(|c| c >= 0)))
    }

    /// Whether the value that a variable is given here may be any, for all that the model says.
    pub(super) fn is_idle(&self, place: TermId) -> bool {
        match self.body.as_symbol(place) {
            Some(s) => self.is_idle_variable(s),
            None => true,
        }
    }

    pub(super) fn is_idle_variable(&self, s: SymbolId) -> bool {
        let symbol = &self.body.symbols[s];
        symbol.is_own_scalar()
            && !symbol.address_taken
            && self.declared_inside(s)
            && !self.needed.contains(&s)
    }

    pub(super) fn oblige(&mut self, kind: Need, poly: Poly, domain: Domain) {
        if poly.as_constant().is_some_and(|c| c >= 0) {
            return;
        }
        let same = |o: &Obligation| o.poly == poly && o.domain.pieces == domain.pieces && o.kind == kind;
        if !self.obligations.iter().any(same) {
            self.obligations.push(Obligation { kind, poly, domain });
        }
    }

    /// Evaluates: records accesses, updates variables, and gives the integer value where it is known.
    pub(crate) fn visit(&mut self, t: TermId) -> Option<Pieces> {
        self.depth += 1;
        if self.depth > MAX_DEPTH
            || self.accesses.len() > MAX_ACCESSES
            || !self.pay(1 + self.dom.pieces.len())
        {
            self.obstacle(ObstacleKind::Budget(crate::Work::Model), t);
            self.depth -= 1;
            return None;
        }
        let (obligations, accesses) = (self.obligations.len(), self.accesses.len());
        let v = self.visit_inner(t);
        self.depth -= 1;
        if v.is_none() {
            self.leave_unused(t, obligations, accesses);
        }
        v.filter(|p| !p.is_empty() && p.len() <= MAX_VALUE_PIECES)
    }

    fn visit_inner(&mut self, t: TermId) -> Option<Pieces> {
        let body = self.body;
        let args = body.args(t);
        match *body.op(t) {
            Op::Int(v) => Some(vec![(Domain::always(), Poly::constant(v))]),
            Op::SizeOfType(_) | Op::SizeOf if self.measures_what_changes(t) => None,
            Op::Float(_) | Op::Str(_) | Op::Empty | Op::SizeOfType(_) | Op::SizeOf => {
                body.types.as_int(body.ty(t)).and_then(|_| self.opaque_param(t))
            }
            Op::Sym(s) => self.read_symbol(s, t),
            Op::Index | Op::Member { .. } | Op::Deref => self.read_place(t),
            Op::AddrOf => {
                // The address alone reads nothing, but the subscripts in it are evaluated.
                self.visit_subscripts(args[0]);
                None
            }

            // of a value that nobody needs, what it reads and writes is all there is to know
            Op::Unary(UnOp::Not) if !self.idle => self.truth(t),
            Op::Unary(op) => self.unary(op, t),
            Op::Binary(op) if op.is_logical() && self.idle => {
                self.condition(t);
                None
            }
            Op::Binary(op) if (op.is_logical() || op.is_comparison()) && !self.idle => self.truth(t),
            Op::Binary(op) => self.binary(op, t),
            Op::Select => self.select(t),
            Op::Cast => {
                self.visit_lengths(t);
                let v = self.visit(args[0])?;
                let from = body.types.as_int(body.ty(args[0]))?;
                self.convert(v, from, body.types.as_int(body.ty(t))?, t)
            }
            Op::Arithmetic(_) => self.visit(args[0]),
            Op::Comma => {
                self.visit(args[0]);
                self.visit(args[1])
            }

            Op::Assign | Op::Compound(_) | Op::Step { .. } if self.pointer_variable(args[0]).is_some() => {
                if let Some(s) = self.pointer_variable(args[0]) {
                    self.write_pointer(t, s);
                }
                None
            }
            Op::Assign => {
                let idle = self.is_idle(args[0]);
                let around = std::mem::replace(&mut self.idle, idle);
                let value = self.visit(args[1]);
                let written = self.write_place(args[0], value, body.ty(args[1]), args[1]);
                self.idle = around;
                written
            }
            Op::Compound(op) => self.compound(op, t),
            Op::Step { delta, prefix } => self.step(delta as i128, prefix, t),

            Op::Call => self.visit_call(t),
            // What a call was replaced by.
            Op::List => {
                self.visit_statement(t);
                None
            }
            Op::InitList => {
                for &a in args {
                    self.visit(a);
                }
                None
            }
            _ => {
                self.obstacle(ObstacleKind::NotUnderstood, t);
                None
            }
        }
    }

    fn pointer_variable(&self, place: TermId) -> Option<SymbolId> {
        let s = self.body.as_symbol(place)?;
        matches!(self.body.types.kind(self.body.symbols[s].ty), TypeKind::Pointer { .. }).then_some(s)
    }

    /// The value of a condition: 1 where it holds and 0 where not (C11 6.5.3.3p5, 6.5.8p6, 6.5.13p3), if it is known where that is.
    fn truth(&mut self, t: TermId) -> Option<Pieces> {
        let (yes, no) = self.condition(t);
        self.body.types.as_int(self.body.ty(t))?;
        let known = yes.exact && no.exact;
        let of = |(d, value): (Domain, i128)| (d, Poly::constant(value));
        known.then(|| [(yes, 1), (no, 0)].into_iter().filter(|(d, _)| !d.pieces.is_empty()).map(of).collect())
    }

    /// What is computed for the type that stands at `t` reads what it reads; its value is not followed.
    pub(super) fn visit_lengths(&mut self, t: TermId) {
        let body = self.body;
        for length in body.lengths_at(t) {
            self.visit(length);
        }
    }

    /// Whether iterations may measure different sizes: of a type whose length is computed in the loop.
    fn measures_what_changes(&mut self, t: TermId) -> bool {
        let body = self.body;
        self.visit_lengths(t);
        match *body.op(t) {
            Op::SizeOfType(ty) => {
                body.types.lengths_in(ty).any(|l| !self.effects.is_invariant_in(body, l, self.root))
            }
            _ => body.args(t).iter().any(|&of| {
                let made_here =
                    || body.walk(of).filter_map(|x| body.as_symbol(x)).any(|s| self.declared_inside(s));
                body.types.lengths_in(body.ty(of)).next().is_some() && made_here()
            }),
        }
    }

    pub(super) fn opaque_param(&mut self, t: TermId) -> Option<Pieces> {
        let v = self.param(Param::Term(t));
        Some(vec![(Domain::always(), Poly::var(v))])
    }

    /// Where nothing is made of the value of `t`, the values in it may wrap around. `obligations`, `accesses`: how many there
    /// were before it.
    pub(super) fn leave_unused(&mut self, t: TermId, obligations: usize, accesses: usize) {
        if self.obligations.len() > obligations && self.accesses.len() == accesses && self.is_plain(t) {
            let is_kept = |o: &Obligation| !matches!(o.kind, Need::NoWrap(_));
            let since = self.obligations.split_off(obligations);
            self.obligations.extend(since.into_iter().filter(is_kept));
        }
    }

    /// Whether it only computes.
    fn is_plain(&self, t: TermId) -> bool {
        let computes = |x: TermId| {
            matches!(
                self.body.op(x),
                Op::Sym(_) | Op::Int(_) | Op::Unary(_) | Op::Binary(_) | Op::Cast | Op::Arithmetic(_)
            )
        };
        self.body.walk(t).all(computes)
    }
}

/// Whether a product of this size is one of hashing or of random numbers: a variable times more than half of the bits say.
fn mixes(p: &Poly, kind: IntKind) -> bool {
    p.terms().any(|(of, c)| !of.is_empty() && is_mixing(c, kind))
}

/// Whether a variable of this type that is multiplied by the factor, or moved by it over and over, is made to wrap around.
pub(super) fn is_mixing(factor: i128, kind: IntKind) -> bool {
    !kind.signed() && factor.unsigned_abs() >> (kind.bits() / 2) > 1
}
