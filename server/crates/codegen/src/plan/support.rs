//! What kernels can be written with: a walk over everything a kernel will print, that says what it cannot.

use std::collections::{BTreeMap, BTreeSet};

use term::{
    intrinsic, BinOp, Body, FloatKind, Intrinsic, Len, Op, Origin, RecordId, Storage, SymbolId, TermId,
    TypeId, TypeKind, UnOp,
};

use super::pointers::Pointers;
use super::refuse::{Reason, RefusalKind};
use crate::access::{address_sum, arrow_chain, chain, loaded, moved, Address};
pub(crate) use crate::limits::plan_support::MAX_DEPTH;

/// What a kernel's text will need.
pub(crate) struct Support<'a> {
    pub(super) body: &'a Body,
    /// Number of subscripts that reach an element, by buffer.
    ranks: BTreeMap<SymbolId, usize>,
    /// Pointers into buffers.
    pointers: Pointers,
    /// Cells that have an accumulator of their own: they are not reached in the kernel.
    pub(crate) cells: Vec<TermId>,
    /// Conditions that have one answer for all threads, which the host finds.
    pub(crate) choices: Vec<TermId>,
    /// The variables that the loops set, where the host can find one answer at all.
    pub(super) set: Option<BTreeSet<SymbolId>>,
    pub(crate) reasons: Vec<Reason>,
    /// Variables used by value, with their first use.
    pub(crate) used: BTreeMap<SymbolId, TermId>,
    /// Variables assigned to as a whole, with their first assignment.
    pub(crate) written: BTreeMap<SymbolId, TermId>,
    /// Variables declared inside.
    pub(crate) declared: BTreeMap<SymbolId, TermId>,
    pub(crate) buffers: BTreeSet<SymbolId>,
    /// The views among them that are used, with their first use.
    pub(crate) used_views: BTreeMap<SymbolId, TermId>,
    pub(crate) calls: BTreeSet<SymbolId>,
    /// Functions of the program that are called, with a call of each.
    pub(crate) functions: BTreeMap<SymbolId, TermId>,
    /// Structs, inner ones first.
    pub(crate) records: Vec<RecordId>,
}

impl<'a> Support<'a> {
    pub(crate) fn new(body: &'a Body, ranks: BTreeMap<SymbolId, usize>, pointers: Pointers) -> Support<'a> {
        Support {
            body,
            ranks,
            pointers,
            cells: Vec::new(),
            choices: Vec::new(),
            set: None,
            used_views: BTreeMap::new(),
            reasons: Vec::new(),
            used: BTreeMap::new(),
            written: BTreeMap::new(),
            declared: BTreeMap::new(),
            buffers: BTreeSet::new(),
            calls: BTreeSet::new(),
            functions: BTreeMap::new(),
            records: Vec::new(),
        }
    }

    /// The buffers that are rows of tables.
    pub(super) fn tables(&self) -> &crate::access::Tables {
        &self.pointers.tables
    }

    pub(crate) fn refuse(&mut self, kind: RefusalKind, term: TermId) {
        let reason = Reason { kind, term };
        if !self.reasons.contains(&reason) {
            self.reasons.push(reason);
        }
    }

    /// Looks at everything under `root`.
    pub(crate) fn visit(&mut self, root: TermId) {
        let mut stack = vec![(root, 0usize)];
        while let Some((t, depth)) = stack.pop() {
            if depth > MAX_DEPTH {
                self.refuse(RefusalKind::TooDeep, t);
                return;
            }
            let mut next = Vec::new();
            self.one(t, &mut next);
            stack.extend(next.into_iter().rev().map(|n| (n, depth + 1)));
        }
    }

    fn one(&mut self, t: TermId, next: &mut Vec<TermId>) {
        let body = self.body;
        let args = body.args(t);
        if let TypeKind::Float(FloatKind::Long) = body.types.kind(body.ty(t)) {
            self.refuse(RefusalKind::LongDouble, t);
        }
        if self.is_cell(t) {
            return self.value_type(body.ty(t), t);
        }
        if self.on_pointers(t, next) || self.choice(t) {
            return;
        }
        match body.op(t) {
            Op::Empty | Op::Int(_) | Op::Float(_) | Op::Break | Op::Continue | Op::Default | Op::Mark(_) => {}
            Op::Sym(s) => self.symbol(*s, t),
            // statements of a call in the middle of an expression
            Op::Comma if args.iter().any(|&a| *body.op(a) == Op::List) => {
                self.refuse(RefusalKind::Operation, t);
            }
            Op::Comma => next.extend(args),
            // assertions were proved, or are tested by the host
            Op::List => next.extend(args.iter().filter(|&&a| body.asserted(a).is_none())),
            Op::If | Op::Select | Op::Unary(UnOp::Not) | Op::Binary(BinOp::And | BinOp::Or) => {
                let conditions = match body.op(t) {
                    Op::If | Op::Select => 1,
                    _ => args.len(),
                };
                for (k, &a) in args.iter().enumerate() {
                    match k < conditions && self.is_asked(a) {
                        true => self.choices.push(a),
                        false => next.push(a),
                    }
                }
            }
            Op::Unary(_) | Op::For | Op::While | Op::DoWhile | Op::Switch | Op::Case | Op::Binary(_) => {
                next.extend(args)
            }
            Op::Assign | Op::Compound(_) | Op::Step { .. } => {
                let Some(&place) = args.first() else { return self.refuse(RefusalKind::Operation, t) };
                if let Some(s) = self.owner(place).filter(|_| !self.is_cell(place)) {
                    self.written.entry(s).or_insert(t);
                }
                // C++ has no ++ on bool.
                if matches!(body.op(t), Op::Step { .. }) && self.is_bool(body.ty(place)) {
                    self.refuse(RefusalKind::Operation, t);
                }
                next.extend(args);
            }
            Op::Cast => {
                match body.types.kind(body.ty(t)) {
                    TypeKind::Void | TypeKind::Int(_) | TypeKind::Float(_) => {}
                    _ => self.refuse(RefusalKind::Type(body.ty(t)), t),
                }
                next.extend(args);
            }
            Op::Index | Op::Deref => match chain(body, &self.pointers.tables, t) {
                Some((s, subs)) if self.rank(s).is_some() => self.cell(s, subs, t, next),
                Some((s, _)) if *body.op(t) == Op::Deref => self.refuse(RefusalKind::PointerValue(s), t),
                Some((s, subs)) => {
                    self.local_array(s, t);
                    next.extend(subs.into_iter().flatten());
                }
                None if *body.op(t) == Op::Index => next.extend(args),
                None => self.refuse(RefusalKind::Operation, t),
            },
            Op::Member { arrow, .. } => {
                self.value_type(body.ty(t), t);
                let Some(&base) = args.first() else { return self.refuse(RefusalKind::Operation, t) };
                if *arrow {
                    match arrow_chain(body, &self.pointers.tables, base) {
                        Some((s, subs)) if self.rank(s).is_some() => self.cell(s, subs, t, next),
                        Some((s, _)) => self.refuse(RefusalKind::PointerValue(s), t),
                        None => self.refuse(RefusalKind::Operation, t),
                    }
                } else {
                    next.push(base);
                }
            }
            Op::Call => {
                let Some(f) = body.callee(t) else { return self.refuse(RefusalKind::IndirectCall, t) };
                if let Some((rows, sub)) = super::row_length(body, &self.pointers.tables, t) {
                    self.buffers.insert(rows);
                    return next.push(sub);
                }
                if body.library.contains(&f) || body.symbols[f].storage != Storage::Function {
                    self.call(f, t);
                    next.extend(args.iter().skip(1));
                } else {
                    self.own_call(f, t, next);
                }
            }
            Op::SizeOfType(ty) => {
                if body.types.size_align(*ty).is_none() {
                    self.refuse(RefusalKind::Type(*ty), t);
                }
            }
            Op::SizeOf => {
                let size = args.first().and_then(|&a| body.types.size_align(body.ty(a)));
                if size.is_none() {
                    self.refuse(RefusalKind::Operation, t);
                }
            }
            Op::Declare(s) if self.is_view(*s) => {
                self.declared.insert(*s, t);
                match args.first().map(|&init| address_sum(body, &self.pointers.tables, init)) {
                    Some(Some(a)) => self.place(a, t, next),
                    None if self.pointers.moves(*s) => {}
                    _ => self.refuse(RefusalKind::PointerValue(*s), t),
                }
            }
            Op::Declare(s) => {
                self.declare(*s, t);
                for &init in args {
                    match body.op(init) {
                        Op::InitList => self.init_list(body.symbols[*s].ty, init, next),
                        _ if matches!(body.types.kind(body.symbols[*s].ty), TypeKind::Array { .. }) => {
                            self.refuse(RefusalKind::Operation, init)
                        }
                        _ => next.push(init),
                    }
                }
            }
            Op::Goto(_) | Op::Label(_) | Op::Return => self.refuse(RefusalKind::ControlFlow, t),
            Op::Reject(_) => self.refuse(RefusalKind::NotUnderstood, t),
            // A kernel computes as CUDA C++ does.
            Op::Arithmetic(_) => self.refuse(RefusalKind::Semantics, t),
            Op::Str(_)
            | Op::Name(_)
            | Op::Var(_)
            | Op::Cons
            | Op::AddrOf
            | Op::Launch
            | Op::InitList
            | Op::Function(_)
            | Op::Program
            | Op::Apply(_) => self.refuse(RefusalKind::Operation, t),
        }
    }

    fn is_cell(&self, t: TermId) -> bool {
        matches!(self.body.op(t), Op::Index | Op::Member { .. } | Op::Deref)
            && self.cells.iter().any(|&c| self.body.same(c, t))
    }

    /// The variable that an assignment to `place` changes, itself or a part of it.
    fn owner(&self, mut place: TermId) -> Option<SymbolId> {
        loop {
            if loaded(self.body, place).is_some() {
                return None;
            }
            match self.body.op(place) {
                Op::Sym(s) => return Some(*s).filter(|&s| self.rank(s).is_none()),
                Op::Member { arrow: false, .. } | Op::Index => place = *self.body.args(place).first()?,
                _ => return None,
            }
        }
    }

    fn is_bool(&self, ty: TypeId) -> bool {
        self.body.types.as_int(ty) == Some(term::IntKind::Bool)
    }

    /// Whether it is a local pointer into a buffer.
    pub(crate) fn is_view(&self, s: SymbolId) -> bool {
        self.pointers.into.contains_key(&s)
    }

    /// Whether it is a pointer that the loop moves.
    pub(crate) fn moves(&self, s: SymbolId) -> bool {
        self.pointers.moves(s)
    }

    /// An address in a buffer.
    fn place(&mut self, a: Address, t: TermId, next: &mut Vec<TermId>) {
        self.cell(a.base, a.subs, t, next);
        next.extend(a.more.into_iter().map(|m| m.0));
    }

    /// What is done with pointers that move: whether that is all of it.
    fn on_pointers(&mut self, t: TermId, next: &mut Vec<TermId>) -> bool {
        let body = self.body;
        let args = body.args(t);
        match (body.op(t), args) {
            (Op::Assign | Op::Compound(BinOp::Add | BinOp::Sub) | Op::Step { .. }, &[place, ..]) => {
                let Some(s) = body.as_symbol(place).filter(|&s| self.pointers.moves(s)) else { return false };
                self.cell(s, vec![None], t, next);
                match (body.op(t), args.get(1)) {
                    (Op::Assign, Some(&value)) => match address_sum(body, &self.pointers.tables, value) {
                        Some(a) if self.pointers.root(a.base) == self.pointers.root(s) => {
                            self.place(a, t, next)
                        }
                        _ => self.refuse(RefusalKind::PointerValue(s), t),
                    },
                    (_, Some(&by)) => next.push(by),
                    _ => {}
                }
                true
            }
            (Op::Index | Op::Deref | Op::Member { arrow: true, .. }, &[base, ..]) => {
                let moved = moved(body, base).filter(|&s| self.pointers.moves(s));
                if moved.is_some() {
                    next.extend(args);
                    self.value_type(body.ty(t), t);
                }
                moved.is_some()
            }
            (Op::Binary(op), &[a, b]) if op.is_comparison() || *op == BinOp::Sub => {
                let is_pointer = |t: TermId| body.types.element(body.ty(t)).is_some();
                if !is_pointer(a) || !is_pointer(b) {
                    return false;
                }
                let counts = |t: TermId, of: &Address| {
                    let kind = |e| body.types.kind(e);
                    let mut all = body.types.element(body.symbols[of.base].ty);
                    while let Some(TypeKind::Array { of, .. }) = all.map(kind) {
                        all = Some(*of);
                    }
                    body.types.element(body.ty(t)).map(kind) == all.map(kind)
                };
                match (
                    address_sum(body, &self.pointers.tables, a),
                    address_sum(body, &self.pointers.tables, b),
                ) {
                    (Some(x), Some(y))
                        if self.rank(x.base).is_some()
                            && counts(a, &x)
                            && counts(b, &y)
                            && self.pointers.root(x.base) == self.pointers.root(y.base) =>
                    {
                        self.place(x, t, next);
                        self.place(y, t, next);
                    }
                    _ if self.is_fixed(t) => return false,
                    _ => self.refuse(RefusalKind::Operation, t),
                }
                true
            }
            _ => false,
        }
    }

    /// Number of subscripts that reach an element of a buffer or view.
    fn rank(&self, s: SymbolId) -> Option<usize> {
        if self.is_view(s) {
            return Some(1);
        }
        self.ranks.get(&s).copied()
    }

    /// A cell of a buffer: all its dimensions must have a subscript.
    fn cell(&mut self, s: SymbolId, subs: Vec<Option<TermId>>, t: TermId, next: &mut Vec<TermId>) {
        if self.rank(s) != Some(subs.len()) {
            self.refuse(RefusalKind::PartialSubscript(s), t);
        }
        let mut at = s;
        while let Some(&base) = self.pointers.into.get(&at) {
            self.used_views.entry(at).or_insert(t);
            if base == at {
                break;
            }
            at = base;
        }
        self.buffers.insert(at);
        next.extend(subs.into_iter().flatten());
    }

    fn local_array(&mut self, s: SymbolId, t: TermId) {
        match self.body.types.kind(self.body.symbols[s].ty) {
            TypeKind::Array { .. } => {
                self.used.entry(s).or_insert(t);
                self.written.entry(s).or_insert(t);
            }
            _ => self.refuse(RefusalKind::PointerValue(s), t),
        }
    }

    fn symbol(&mut self, s: SymbolId, t: TermId) {
        let symbol = &self.body.symbols[s];
        match symbol.storage {
            Storage::Constant(_) => return,
            Storage::Undeclared => return self.refuse(RefusalKind::Undeclared(s), t),
            Storage::Function | Storage::Builtin | Storage::Shared => {
                return self.refuse(RefusalKind::Unclassified(s), t)
            }
            _ => {}
        }
        if self.rank(s).is_some() {
            return self.refuse(RefusalKind::PartialSubscript(s), t);
        }
        if matches!(self.body.types.kind(symbol.ty), TypeKind::Pointer { .. } | TypeKind::Array { .. }) {
            return self.refuse(RefusalKind::PointerValue(s), t);
        }
        self.variable_type(s, t);
        self.used.entry(s).or_insert(t);
    }

    fn variable_type(&mut self, s: SymbolId, t: TermId) {
        let ty = self.body.symbols[s].ty;
        let q = self.body.types.quals(ty);
        if q.is_volatile || q.is_atomic {
            self.refuse(RefusalKind::Volatile(s), t);
        }
        self.value_type(ty, t);
    }

    fn declare(&mut self, s: SymbolId, t: TermId) {
        self.declared.insert(s, t);
        let symbol = &self.body.symbols[s];
        if !symbol.storage.is_local() {
            return self.refuse(RefusalKind::StaticLocal(s), t);
        }
        let mut ty = symbol.ty;
        while let TypeKind::Array { of, len } = self.body.types.kind(ty) {
            if !matches!(len, Len::Const(n) if *n > 0) {
                return self.refuse(RefusalKind::VariableLengthLocal(s), t);
            }
            ty = *of;
        }
        if matches!(self.body.types.kind(ty), TypeKind::Pointer { .. }) {
            return self.refuse(RefusalKind::PointerValue(s), t);
        }
        self.variable_type(s, t);
    }

    fn init_list(&mut self, ty: TypeId, list: TermId, next: &mut Vec<TermId>) {
        let mut stack = vec![(ty, list)];
        while let Some((ty, list)) = stack.pop() {
            let types = &self.body.types;
            let of: Box<dyn Fn(usize) -> Option<TypeId>> = match types.kind(ty) {
                TypeKind::Array { of, .. } => {
                    let of = *of;
                    Box::new(move |_| Some(of))
                }
                TypeKind::Record(r) => {
                    let tys: Vec<TypeId> = types.record(*r).fields.iter().flatten().map(|f| f.ty).collect();
                    Box::new(move |k| tys.get(k).copied())
                }
                TypeKind::Int(_) | TypeKind::Float(_) => Box::new(move |k| (k == 0).then_some(ty)),
                _ => return self.refuse(RefusalKind::Operation, list),
            };
            for (k, &item) in self.body.args(list).iter().enumerate() {
                let Some(item_ty) = of(k) else {
                    self.refuse(RefusalKind::Operation, item);
                    continue;
                };
                match self.body.op(item) {
                    Op::InitList => stack.push((item_ty, item)),
                    // `{0}` sets everything to zero, whatever comes first.
                    Op::Int(0) if self.body.args(list).len() == 1 => {}
                    // Braces left out: a scalar begins an inner aggregate.
                    _ if !self.body.types.is_arithmetic(item_ty) => self.refuse(RefusalKind::Operation, item),
                    _ => next.push(item),
                }
            }
        }
    }

    /// Whether a value of this type can be in a kernel. Remembers the structs in it.
    pub(crate) fn value_type(&mut self, ty: TypeId, t: TermId) {
        let mut open = Vec::new();
        let why = self.plain(ty, &mut open);
        if let Some(kind) = why {
            self.refuse(kind, t);
        }
    }

    fn plain(&mut self, ty: TypeId, open: &mut Vec<RecordId>) -> Option<RefusalKind> {
        let types = &self.body.types;
        match types.kind(ty) {
            TypeKind::Int(_) | TypeKind::Float(FloatKind::F32 | FloatKind::F64) => None,
            TypeKind::Float(FloatKind::Long) => Some(RefusalKind::LongDouble),
            TypeKind::Array { of, len: Len::Const(_) } => self.plain(*of, open),
            // An untouched pointer member may be carried along; it cannot be followed.
            TypeKind::Pointer { .. } if !open.is_empty() => None,
            TypeKind::Record(r) => {
                let r = *r;
                let record = types.record(r);
                if self.records.contains(&r) {
                    return None;
                }
                let fields = match (&record.fields, record.is_union) {
                    (Some(f), false)
                        if !f.is_empty() && types.size_align(ty).is_some() && open.len() < 16 =>
                    {
                        f.clone()
                    }
                    _ => return Some(RefusalKind::Type(ty)),
                };
                if fields.iter().any(|f| f.bits.is_some() || f.name.is_empty()) {
                    return Some(RefusalKind::Type(ty));
                }
                if types.aligned_form(r).is_none() {
                    return Some(RefusalKind::Packed(ty));
                }
                open.push(r);
                for f in &fields {
                    let why = self.plain(f.ty, open);
                    if why.is_some() {
                        return why;
                    }
                }
                open.pop();
                self.records.push(r);
                None
            }
            _ => Some(RefusalKind::Type(ty)),
        }
    }

    /// A call of a function of the program: what it is given must be had in the kernel. Addresses are those of cells of
    /// buffers, of the kernel's own variables, or of its own arrays.
    fn own_call(&mut self, f: SymbolId, t: TermId, next: &mut Vec<TermId>) {
        let body = self.body;
        self.functions.entry(f).or_insert(t);
        let TypeKind::Function { params, .. } = body.types.kind(body.symbols[f].ty) else {
            return self.refuse(RefusalKind::NoDeviceVersion(f), t);
        };
        for (&a, &p) in body.args(t).iter().skip(1).zip(params) {
            if !matches!(body.types.kind(p), TypeKind::Pointer { .. }) {
                next.push(a);
                continue;
            }
            let pointee = body.types.element(p).map(|e| body.types.kind(e));
            let same = |s: SymbolId| {
                let mut ty = body.symbols[s].ty;
                while let TypeKind::Pointer { to: of, .. } | TypeKind::Array { of, .. } = body.types.kind(ty)
                {
                    ty = *of;
                }
                Some(body.types.kind(ty)) == pointee
            };
            match (address_sum(body, &self.pointers.tables, a), body.op(a), body.args(a)) {
                (Some(at), _, _) if self.rank(at.base).is_some() && same(at.base) => self.place(at, a, next),
                (None, Op::AddrOf, &[x]) => match body.as_symbol(x) {
                    Some(s) if self.rank(s).is_none() && same(s) && body.types.is_arithmetic(body.ty(x)) => {
                        self.variable_type(s, a);
                        self.used.entry(s).or_insert(a);
                        self.written.entry(s).or_insert(a);
                    }
                    _ => self.refuse(RefusalKind::Operation, a),
                },
                (_, Op::Sym(s), _)
                    if same(*s)
                        && self.rank(*s).is_none()
                        && matches!(
                            body.types.kind(body.symbols[*s].ty),
                            TypeKind::Array { of, .. } if !matches!(body.types.kind(*of), TypeKind::Array { .. })
                        ) =>
                {
                    self.local_array(*s, a)
                }
                _ => self.refuse(RefusalKind::Operation, a),
            }
        }
    }

    fn call(&mut self, f: SymbolId, t: TermId) {
        let body = self.body;
        match super::noticed(body, t) {
            Some(super::Noticed::Power(_)) => {
                self.calls.insert(f);
                return;
            }
            Some(_) => return,
            None => {}
        }
        let symbol = &body.symbols[f];
        let known = match term::of_dotnet(&symbol.name) {
            // of whole numbers the least has no absolute value
            Some(name) if body.types.as_float(body.ty(t)).is_some() => intrinsic(name),
            Some(_) => None,
            None => intrinsic(&symbol.name),
        };
        let arity = body.args(t).len() - 1;
        let ok = match known {
            Some(Intrinsic::Float { arity: a, .. } | Intrinsic::Int { arity: a, .. }) => arity == a as usize,
            Some(Intrinsic::Classify) => arity == 1,
            Some(Intrinsic::FloatInt { .. }) => arity == 2,
            Some(Intrinsic::ToInt { .. }) => arity == 1,
            None => false,
        };
        let arithmetic = body.args(t).iter().skip(1).all(|&a| body.types.is_arithmetic(body.ty(a)));
        if !ok || !arithmetic || !self.declared_as_known(f, known) {
            return self.refuse(RefusalKind::NoDeviceVersion(f), t);
        }
        self.calls.insert(f);
    }

    /// Whether a declaration, if there is one, gives the function its known type.
    fn declared_as_known(&self, f: SymbolId, known: Option<Intrinsic>) -> bool {
        let types = &self.body.types;
        let TypeKind::Function { ret, params, .. } = types.kind(self.body.symbols[f].ty) else {
            return true;
        };
        match known {
            Some(Intrinsic::Float { kind, .. }) => {
                types.as_float(*ret) == Some(kind) && params.iter().all(|&p| types.as_float(p) == Some(kind))
            }
            Some(Intrinsic::Int { kind, .. }) => {
                types.as_int(*ret) == Some(kind) && params.iter().all(|&p| types.as_int(p) == Some(kind))
            }
            Some(Intrinsic::FloatInt { kind }) => types.as_float(*ret) == Some(kind),
            Some(Intrinsic::ToInt { to, .. }) => types.as_int(*ret) == Some(to),
            Some(Intrinsic::Classify) => types.as_int(*ret).is_some(),
            None => false,
        }
    }
}

/// Whether all of the text under `root` is written there and not in a macro's definition, and may be said anywhere: fields of objects
/// that may not be there are not.
pub(crate) fn is_written_out(body: &Body, root: TermId) -> bool {
    let held = |t| body.as_symbol(t).is_some_and(|s| body.said.is_held(s));
    body.walk(root).all(|t| body.origin(t) == Origin::Source && !held(t))
}
