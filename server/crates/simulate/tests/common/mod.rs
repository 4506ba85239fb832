//! Builds bodies by hand, so that these tests need no front end.
#![allow(dead_code)]

use base::Span;
use term::*;

pub struct B {
    pub b: BodyBuilder,
    params: Vec<TermId>,
}

impl Default for B {
    fn default() -> Self {
        Self::new("f")
    }
}

impl B {
    pub fn new(name: &str) -> B {
        B { b: BodyBuilder::new(name, Semantics::C), params: Vec::new() }
    }
    pub fn ty(&mut self, k: IntKind) -> TypeId {
        self.b.types.int(k)
    }
    pub fn i32(&mut self) -> TypeId {
        self.b.types.int(IntKind::Int)
    }
    pub fn f64(&mut self) -> TypeId {
        self.b.types.float(FloatKind::F64)
    }
    pub fn f32(&mut self) -> TypeId {
        self.b.types.float(FloatKind::F32)
    }
    pub fn ptr(&mut self, to: TypeId) -> TypeId {
        self.b.types.pointer(to)
    }
    pub fn arr(&mut self, of: TypeId, n: u64) -> TypeId {
        self.b.types.plain(TypeKind::Array { of, len: Len::Const(n) })
    }
    pub fn vla(&mut self, of: TypeId, n: TermId) -> TypeId {
        self.b.types.plain(TypeKind::Array { of, len: Len::Term(n) })
    }
    pub fn t(&mut self, op: Op, args: &[TermId], ty: TypeId) -> TermId {
        self.b.term(op, args.to_vec(), ty, Span::default())
    }
    pub fn s(&mut self, op: Op, args: &[TermId]) -> TermId {
        let v = self.b.types.void();
        self.t(op, args, v)
    }
    pub fn symbol(&mut self, name: &str, ty: TypeId, storage: Storage) -> SymbolId {
        self.b.symbols.push(Symbol {
            name: name.into(),
            ty,
            storage,
            device: None,
            address_taken: false,
            span: None,
        })
    }
    pub fn param(&mut self, name: &str, ty: TypeId) -> SymbolId {
        let s = self.symbol(name, ty, Storage::Param(self.params.len() as u32));
        let d = self.s(Op::Declare(s), &[]);
        self.params.push(d);
        s
    }
    pub fn local(&mut self, name: &str, ty: TypeId) -> SymbolId {
        self.symbol(name, ty, Storage::Local)
    }
    pub fn v(&mut self, s: SymbolId) -> TermId {
        let ty = self.b.symbols[s].ty;
        self.t(Op::Sym(s), &[], ty)
    }
    pub fn n(&mut self, v: i128) -> TermId {
        let ty = self.i32();
        self.t(Op::Int(v), &[], ty)
    }
    pub fn int(&mut self, v: i128, k: IntKind) -> TermId {
        let ty = self.ty(k);
        self.t(Op::Int(v), &[], ty)
    }
    pub fn d(&mut self, v: f64) -> TermId {
        let ty = self.f64();
        self.t(Op::Float(F64::new(v)), &[], ty)
    }
    pub fn fl(&mut self, v: f32) -> TermId {
        let ty = self.f32();
        self.t(Op::Float(F64::new(v as f64)), &[], ty)
    }
    pub fn ty_of(&self, t: TermId) -> TypeId {
        self.b.get(t).ty
    }
    pub fn decl(&mut self, s: SymbolId, init: Option<TermId>) -> TermId {
        let a: Vec<TermId> = init.into_iter().collect();
        self.s(Op::Declare(s), &a)
    }
    pub fn bin(&mut self, op: BinOp, a: TermId, b: TermId) -> TermId {
        let (x, y) = (self.ty_of(a), self.ty_of(b));
        let ty = if op.is_comparison() || op.is_logical() {
            self.i32()
        } else {
            match self.b.types.operation_type(op, x, y) {
                Some(t) => t,
                None => x,
            }
        };
        self.t(Op::Binary(op), &[a, b], ty)
    }
    pub fn un(&mut self, op: UnOp, a: TermId) -> TermId {
        let x = self.ty_of(a);
        let ty = match (op, self.b.types.as_int(x)) {
            (UnOp::Not, _) => self.i32(),
            (_, Some(k)) => self.ty(k.promoted()),
            _ => x,
        };
        self.t(Op::Unary(op), &[a], ty)
    }
    pub fn cast(&mut self, ty: TypeId, a: TermId) -> TermId {
        self.t(Op::Cast, &[a], ty)
    }
    pub fn sel(&mut self, c: TermId, a: TermId, b: TermId) -> TermId {
        let (x, y) = (self.ty_of(a), self.ty_of(b));
        let ty = self.b.types.operation_type(BinOp::Add, x, y).unwrap_or(x);
        self.t(Op::Select, &[c, a, b], ty)
    }
    pub fn idx(&mut self, a: TermId, i: TermId) -> TermId {
        let x = self.ty_of(a);
        let ty = self.b.types.element(x).expect("an array");
        self.t(Op::Index, &[a, i], ty)
    }
    pub fn at(&mut self, a: SymbolId, i: TermId) -> TermId {
        let v = self.v(a);
        self.idx(v, i)
    }
    pub fn addr(&mut self, a: TermId) -> TermId {
        let x = self.ty_of(a);
        let ty = self.ptr(x);
        self.t(Op::AddrOf, &[a], ty)
    }
    pub fn deref(&mut self, a: TermId) -> TermId {
        let x = self.ty_of(a);
        let ty = self.b.types.element(x).expect("a pointer");
        self.t(Op::Deref, &[a], ty)
    }
    pub fn member(&mut self, a: TermId, field: &str, ty: TypeId) -> TermId {
        let op = Op::Member { field: field.into(), arrow: false };
        self.t(op, &[a], ty)
    }
    pub fn set(&mut self, l: TermId, r: TermId) -> TermId {
        let ty = self.ty_of(l);
        self.t(Op::Assign, &[l, r], ty)
    }
    pub fn comp(&mut self, op: BinOp, l: TermId, r: TermId) -> TermId {
        let ty = self.ty_of(l);
        self.t(Op::Compound(op), &[l, r], ty)
    }
    pub fn inc(&mut self, s: SymbolId) -> TermId {
        let v = self.v(s);
        let ty = self.ty_of(v);
        self.t(Op::Step { delta: 1, prefix: false }, &[v], ty)
    }
    pub fn list(&mut self, items: &[TermId]) -> TermId {
        self.s(Op::List, items)
    }
    /// `for (i = lo; i < hi; i++) { body }`, with `i` declared in the header if it is `local`.
    pub fn for_up(&mut self, i: SymbolId, lo: TermId, hi: TermId, body: &[TermId]) -> TermId {
        let init = self.decl(i, Some(lo));
        let v = self.v(i);
        let cond = self.bin(BinOp::Lt, v, hi);
        let step = self.inc(i);
        let body = self.list(body);
        self.s(Op::For, &[init, cond, step, body])
    }
    pub fn if_(&mut self, c: TermId, then: &[TermId]) -> TermId {
        let l = self.list(then);
        self.s(Op::If, &[c, l])
    }
    pub fn call(&mut self, name: &str, args: &[TermId], ret: TypeId) -> TermId {
        let fty = self.b.types.plain(TypeKind::Function { ret, params: Vec::new(), variadic: false });
        let s = self.symbol(name, fty, Storage::Function);
        let callee = self.v(s);
        let mut all = vec![callee];
        all.extend_from_slice(args);
        self.t(Op::Call, &all, ret)
    }
    pub fn ret(&mut self, v: TermId) -> TermId {
        self.s(Op::Return, &[v])
    }
    /// `threadIdx.x` and its kin as an `int`.
    pub fn special(&mut self, name: &str) -> TermId {
        let ty = self.b.types.plain(TypeKind::Opaque("uint3".into()));
        let s = self.symbol(name, ty, Storage::Builtin);
        let v = self.v(s);
        let u = self.ty(IntKind::UInt);
        let m = self.member(v, "x", u);
        let i = self.i32();
        self.cast(i, m)
    }
    pub fn finish(mut self, ret: TypeId, body: &[TermId]) -> Body {
        self.b.resolve_words(|name| gpu::CUDA.word(name));
        let body = self.list(body);
        let ps = self.params.clone();
        let params = self.list(&ps);
        let fty = self.b.types.plain(TypeKind::Function { ret, params: Vec::new(), variadic: false });
        let name = self.b.name.clone();
        let f = self.symbol(&name, fty, Storage::Function);
        let root = self.s(Op::Function(f), &[params, body]);
        self.b.finish(root)
    }
    pub fn finish_void(mut self, body: &[TermId]) -> Body {
        let v = self.b.types.void();
        self.finish(v, body)
    }
}
