//! Expressions, each with the type C11 6.5 gives it.

use std::sync::Arc;

use term::{BinOp, IntKind, Len, Op, Quals, RejectKind, Storage, TermId, TypeId, TypeKind, UnOp};
use tree_sitter::Node;

use crate::c::fields::part_of;
use crate::c::{literal, Lower, MAX_CHAIN, MAX_DEPTH};

fn binary_op(text: &str) -> Option<BinOp> {
    BinOp::ALL.into_iter().find(|o| o.symbol() == text)
}

impl Lower<'_> {
    /// Lowers an expression.
    pub(super) fn expr(&mut self, node: Node<'_>) -> TermId {
        self.depth += 1;
        let t = if self.depth > MAX_DEPTH {
            self.reject(RejectKind::TooDeep, "it is nested too deeply", node, vec![])
        } else {
            self.expr_inner(node)
        };
        self.depth -= 1;
        t
    }

    pub(super) fn field<'t>(&self, node: Node<'t>, name: &str) -> Option<Node<'t>> {
        part_of(node, name)
    }

    pub(super) fn part(&mut self, node: Node<'_>, name: &str) -> TermId {
        match self.field(node, name) {
            Some(n) => self.expr(n),
            None => self.reject(RejectKind::Syntax, "a part of this expression is missing", node, vec![]),
        }
    }

    pub(super) fn ty(&self, id: TermId) -> TypeId {
        self.b.get(id).ty
    }

    /// The type of an expression's value: unqualified.
    pub(super) fn rvalue(&mut self, ty: TypeId) -> TypeId {
        self.b.types.with_quals(ty, Quals::default())
    }

    /// As `rvalue`, and arrays are pointers to their first elements.
    pub(super) fn decayed(&mut self, ty: TypeId) -> TypeId {
        match *self.b.types.kind(ty) {
            TypeKind::Array { of, .. } => self.b.types.pointer(of),
            TypeKind::Function { .. } => self.b.types.pointer(ty),
            _ => self.rvalue(ty),
        }
    }

    pub(super) fn is_pointer(&self, ty: TypeId) -> bool {
        matches!(self.b.types.kind(ty), TypeKind::Pointer { .. } | TypeKind::Array { .. })
    }

    pub(super) fn expr_inner(&mut self, node: Node<'_>) -> TermId {
        match node.kind() {
            "identifier" => self.name(node),
            "number_literal" | "char_literal" => self.number(node),
            "string_literal" | "concatenated_string" => self.string(node),
            "true" | "false" => {
                let ty = self.truth();
                let v = i128::from(node.kind() == "true");
                self.term(Op::Int(v), [], ty, node)
            }
            "null" => {
                let int = self.b.types.int(IntKind::Int);
                let void = self.b.types.void();
                let ty = self.b.types.pointer(void);
                let span = self.span(node);
                let zero = self.b.term_from(Op::Int(0), [], int, span, term::Origin::Macro);
                self.b.term_from(Op::Cast, [zero], ty, span, term::Origin::Macro)
            }
            "parenthesized_expression" => match node.named_child(0) {
                Some(n) if n.kind() == "compound_statement" => self.statement_expression(n),
                Some(n) => self.expr(n),
                None => self.reject(RejectKind::Syntax, "a part of this expression is missing", node, vec![]),
            },
            "binary_expression" => self.binary_chain(node),
            "unary_expression" => self.unary(node),
            "pointer_expression" => self.pointer_expression(node),
            "update_expression" => self.update(node),
            "assignment_expression" => self.assignment(node),
            "conditional_expression" => self.conditional(node),
            "comma_expression" => {
                let (a, b) = (self.part(node, "left"), self.part(node, "right"));
                let ty = self.ty(b);
                let ty = self.rvalue(ty);
                self.term(Op::Comma, [a, b], ty, node)
            }
            "cast_expression" => self.cast(node),
            "subscript_expression" => self.subscript(node),
            "field_expression" => self.member(node),
            "call_expression" => self.call(node),
            "sizeof_expression" => self.sizeof(node),
            "offsetof_expression" => self.offsetof(node),
            "extension_expression" => match node.named_child(0) {
                Some(n) => self.expr(n),
                None => self.reject(RejectKind::Syntax, "a part of this expression is missing", node, vec![]),
            },
            "gnu_asm_expression" => self.assembly(node),
            "generic_expression" => self.generic(node),
            "compound_literal_expression" => self.compound_literal(node),
            "alignof_expression" => {
                // Nothing in it is evaluated (C11 6.5.3.4p3); an array's is that of its elements.
                let mut ty = match self.field(node, "type") {
                    Some(t) => self.evaluated_type_name(t).0,
                    None => self.unknown(),
                };
                while let TypeKind::Array { of, .. } = self.b.types.kind(ty) {
                    ty = *of;
                }
                match self.b.types.size_align(ty) {
                    Some((_, align)) => {
                        let ulong = self.b.types.int(IntKind::ULong);
                        self.term(Op::Int(i128::from(align)), [], ulong, node)
                    }
                    None => {
                        let reason = "the alignment of this type is not known";
                        self.reject_named(RejectKind::Unsupported, reason, node, vec![])
                    }
                }
            }
            "ERROR" => self.reject(RejectKind::Syntax, "the parser reports an error here", node, vec![]),
            kind => {
                let reason = format!("a {} is not followed", kind.replace('_', " "));
                self.reject(RejectKind::Unsupported, &reason, node, vec![])
            }
        }
    }

    pub(super) fn number(&mut self, node: Node<'_>) -> TermId {
        let text = self.text(node);
        if let Some((v, k)) = literal::integer(text, self.dialect) {
            let ty = self.b.types.int(k);
            return self.term(Op::Int(v), [], ty, node);
        }
        if let Some((v, k)) = literal::floating(text) {
            let ty = self.b.types.float(k);
            return self.term(Op::Float(term::F64::new(v)), [], ty, node);
        }
        self.reject(RejectKind::Unsupported, "this constant's value is not understood", node, vec![])
    }

    pub(super) fn string(&mut self, node: Node<'_>) -> TermId {
        let mut out = String::new();
        let mut ok = true;
        if node.kind() == "string_literal" {
            match literal::string(self.text(node)) {
                Some(s) => out = s,
                None => ok = false,
            }
        } else {
            let mut cursor = node.walk();
            for child in node.named_children(&mut cursor) {
                match literal::string(self.text(child)).filter(|_| child.kind() == "string_literal") {
                    Some(s) => out.push_str(&s),
                    None => ok = false,
                }
            }
        }
        if !ok {
            return self.reject(
                RejectKind::Unsupported,
                "this string's bytes are not understood",
                node,
                vec![],
            );
        }
        let of = self.b.types.int(IntKind::Char);
        let ty = self.b.types.plain(TypeKind::Array { of, len: Len::Const(out.len() as u64 + 1) });
        self.term(Op::Str(out.into()), [], ty, node)
    }

    /// `a + b - c …`: the left spine is walked, not recursed into.
    pub(super) fn binary_chain(&mut self, node: Node<'_>) -> TermId {
        let mut spine = vec![node];
        let mut at = node;
        while let Some(left) = self.field(at, "left").filter(|l| l.kind() == "binary_expression") {
            spine.push(left);
            at = left;
            if spine.len() > MAX_CHAIN {
                return self.reject(
                    RejectKind::TooDeep,
                    "it is a very long chain of operators",
                    node,
                    vec![],
                );
            }
        }
        let mut left = self.part(at, "left");
        while let Some(n) = spine.pop() {
            let Some(op) = self.field(n, "operator").and_then(|o| binary_op(self.text(o))) else {
                return self.reject(RejectKind::Unsupported, "this operator is not followed", n, vec![left]);
            };
            if let Some(r) = self.suspicious(node, n, op, left) {
                return r;
            }
            let right = self.part(n, "right");
            left = self.binary(n, op, left, right);
        }
        left
    }

    /// `(name) - x` where nothing is known of `name`: perhaps a cast to a type of a header that was not read. In CUDA
    /// `f < n > (x)` may be a template's call.
    pub(super) fn suspicious(
        &mut self,
        whole: Node<'_>,
        node: Node<'_>,
        op: BinOp,
        left: TermId,
    ) -> Option<TermId> {
        let unknown = |this: &Self, id: TermId| match this.b.get(id).op {
            Op::Sym(s) => matches!(this.b.symbols[s].storage, Storage::Undeclared),
            _ => false,
        };
        let l = self.field(node, "left")?;
        let maybe_cast = l.kind() == "parenthesized_expression"
            && matches!(op, BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::BitAnd)
            && unknown(self, left);
        if maybe_cast {
            let reason = "a name in parentheses that is declared nowhere here may be a type";
            return Some(self.reject(RejectKind::Unsupported, reason, whole, vec![left]));
        }
        if self.dialect.cpp && op == BinOp::Lt {
            if matches!(self.b.get(left).op, Op::Reject(_)) {
                // `static_cast<int>(x)` and the like: the whole is one gap.
                return Some(self.reject(
                    RejectKind::Foreign,
                    "casts and templates of C++ are not followed",
                    whole,
                    vec![],
                ));
            }
            let function = match self.b.get(left).op {
                Op::Sym(s) => matches!(self.b.symbols[s].storage, Storage::Undeclared | Storage::Function),
                _ => false,
            };
            if function {
                return Some(self.reject(
                    RejectKind::Foreign,
                    "this may be a template's call",
                    whole,
                    vec![left],
                ));
            }
        }
        None
    }

    pub(super) fn binary(&mut self, node: Node<'_>, op: BinOp, left: TermId, right: TermId) -> TermId {
        let (l, r) = (self.ty(left), self.ty(right));
        let ty = self.binary_type(op, l, r);
        self.term(Op::Binary(op), [left, right], ty, node)
    }

    pub(super) fn truth(&mut self) -> TypeId {
        let kind = if self.dialect.cpp { IntKind::Bool } else { IntKind::Int };
        self.b.types.int(kind)
    }

    pub(super) fn binary_type(&mut self, op: BinOp, l: TypeId, r: TypeId) -> TypeId {
        if op.is_comparison() || op.is_logical() {
            return self.truth();
        }
        let bits =
            matches!(op, BinOp::Rem | BinOp::BitAnd | BinOp::BitOr | BinOp::BitXor | BinOp::Shl | BinOp::Shr);
        if let Some(t) = self.b.types.operation_type(op, l, r) {
            if !(bits && self.b.types.as_float(t).is_some()) {
                return t;
            }
            return self.unknown();
        }
        let (lp, rp) = (self.is_pointer(l), self.is_pointer(r));
        let (li, ri) = (self.b.types.as_int(l).is_some(), self.b.types.as_int(r).is_some());
        match op {
            BinOp::Add | BinOp::Sub if lp && ri => self.plain_pointer(l),
            BinOp::Add if li && rp => self.plain_pointer(r),
            BinOp::Sub if lp && rp => self.b.types.int(IntKind::Long),
            _ => self.unknown(),
        }
    }

    /// The pointer type of an address computed from this one: no promise of a declared length goes with it.
    pub(super) fn plain_pointer(&mut self, ty: TypeId) -> TypeId {
        match self.b.types.element(ty) {
            Some(e) => self.b.types.pointer(e),
            None => self.unknown(),
        }
    }

    pub(super) fn promoted(&mut self, ty: TypeId) -> TypeId {
        if let Some(k) = self.b.types.as_int(ty) {
            return self.b.types.int(k.promoted());
        }
        if self.b.types.as_float(ty).is_some() {
            return self.rvalue(ty);
        }
        self.unknown()
    }

    pub(super) fn unary(&mut self, node: Node<'_>) -> TermId {
        let op = match self.field(node, "operator").map(|o| self.text(o)) {
            Some("-") => UnOp::Neg,
            Some("+") => UnOp::Plus,
            Some("~") => UnOp::BitNot,
            Some("!") => UnOp::Not,
            _ => return self.reject(RejectKind::Unsupported, "this operator is not followed", node, vec![]),
        };
        let a = self.part(node, "argument");
        let t = self.ty(a);
        let ty = if op == UnOp::Not { self.truth() } else { self.promoted(t) };
        self.term(Op::Unary(op), [a], ty, node)
    }

    /// What the address is taken of, in `&e` and `(&e)`.
    fn addressed<'n>(&self, mut node: Node<'n>) -> Option<Node<'n>> {
        while node.kind() == "parenthesized_expression" {
            node = node.named_child(0)?;
        }
        let is_address = node.kind() == "pointer_expression"
            && self.field(node, "operator").is_some_and(|o| self.text(o) == "&");
        self.field(node, "argument").filter(|_| is_address)
    }

    pub(super) fn pointer_expression(&mut self, node: Node<'_>) -> TermId {
        let address = self.field(node, "operator").is_some_and(|o| self.text(o) == "&");
        // `*&e` is `e` (C11 6.5.3.2p3)
        let of = self.field(node, "argument").filter(|_| !address).and_then(|n| self.addressed(n));
        if let Some(of) = of {
            return self.expr(of);
        }
        // Under `&` a constant object is meant, not its value.
        let outer = self.wants_place;
        self.wants_place |= address;
        let a = self.part(node, "argument");
        self.wants_place = outer;
        let t = self.ty(a);
        if address && matches!(self.b.get(a).op, Op::AddrOf) {
            return self.reject(
                RejectKind::Unsupported,
                "addresses of labels are not followed",
                node,
                vec![],
            );
        }
        if address {
            self.take_address(a);
            let ty = self.b.types.pointer(t);
            return self.term(Op::AddrOf, [a], ty, node);
        }
        let ty = match self.b.types.kind(t) {
            TypeKind::Function { .. } => t,
            _ => match self.b.types.element(t) {
                Some(e) => e,
                None => self.unknown(),
            },
        };
        self.term(Op::Deref, [a], ty, node)
    }

    pub(super) fn update(&mut self, node: Node<'_>) -> TermId {
        let (Some(operator), Some(argument)) = (self.field(node, "operator"), self.field(node, "argument"))
        else {
            return self.reject(RejectKind::Syntax, "a part of this expression is missing", node, vec![]);
        };
        let delta = if self.text(operator) == "--" { -1 } else { 1 };
        let prefix = operator.start_byte() < argument.start_byte();
        let a = self.expr(argument);
        if !prefix && argument.kind() == "unary_expression" {
            return self.stepped_inside(argument, a, delta, node);
        }
        let t = self.ty(a);
        let ty = self.rvalue(t);
        self.term(Op::Step { delta, prefix }, [a], ty, node)
    }

    /// `-k++` is `-(k++)` (C11 6.5.2.4 before 6.5.3); tree-sitter's grammar has it as `(-k)++`. `t`: the term of `node`,
    /// `whole`: with the operator behind it.
    fn stepped_inside(&mut self, node: Node<'_>, t: TermId, delta: i8, whole: Node<'_>) -> TermId {
        let (span, origin) = (self.span(node).cover(self.span(whole)), self.origin(whole));
        let inner = self.field(node, "argument").filter(|_| node.kind() == "unary_expression");
        match (inner, self.b.get(t).clone()) {
            (Some(inner), term::Term { op: op @ Op::Unary(_), args, ty }) => {
                let void = self.b.types.void();
                self.b.set(t, term::Term { op: Op::Empty, args: Box::new([]), ty: void });
                let inner = self.stepped_inside(inner, args[0], delta, whole);
                self.b.term_from(op, [inner], ty, span, origin)
            }
            _ => {
                let ty = self.ty(t);
                let ty = self.rvalue(ty);
                self.b.term_from(Op::Step { delta, prefix: false }, [t], ty, span, origin)
            }
        }
    }

    pub(super) fn assignment(&mut self, node: Node<'_>) -> TermId {
        let left = self.part(node, "left");
        let right = self.part(node, "right");
        let t = self.ty(left);
        let ty = self.rvalue(t);
        let text = self.field(node, "operator").map_or("", |o| self.text(o));
        self.escape(right);
        if text == "=" {
            return self.term(Op::Assign, [left, right], ty, node);
        }
        match text.strip_suffix('=').and_then(binary_op) {
            Some(op) => self.term(Op::Compound(op), [left, right], ty, node),
            None => {
                self.reject(RejectKind::Unsupported, "this operator is not followed", node, vec![left, right])
            }
        }
    }

    pub(super) fn conditional(&mut self, node: Node<'_>) -> TermId {
        if self.field(node, "consequence").is_none() {
            // `a ?: b` evaluates `a` once.
            let c = self.part(node, "condition");
            if self.does_something(c) {
                let b = self.part(node, "alternative");
                let reason = "`a ?: b` whose condition does something is not followed";
                return self.reject_named(RejectKind::Unsupported, reason, node, vec![c, b]);
            }
            let a = self.part(node, "condition");
            let b = self.part(node, "alternative");
            let (x, y) = (self.ty(a), self.ty(b));
            let ty = self.common(a, x, b, y);
            return self.term(Op::Select, [c, a, b], ty, node);
        }
        let c = self.part(node, "condition");
        let a = self.part(node, "consequence");
        let b = self.part(node, "alternative");
        let (x, y) = (self.ty(a), self.ty(b));
        let ty = self.common(a, x, b, y);
        self.term(Op::Select, [c, a, b], ty, node)
    }

    /// C11 6.5.15p5, p6; C++17 8.16p6, where two of one type keep it.
    pub(super) fn common(&mut self, a: TermId, x: TypeId, b: TermId, y: TypeId) -> TypeId {
        let same = self.b.types.as_int(x).filter(|_| self.b.types.as_int(x) == self.b.types.as_int(y));
        if let (true, Some(kind)) = (self.env.is_cpp(), same) {
            return self.b.types.int(kind);
        }
        if let Some(t) = self.b.types.operation_type(BinOp::Add, x, y) {
            return t;
        }
        let (x, y) = (self.decayed(x), self.decayed(y));
        let null = |this: &Self, id: TermId| match &this.b.get(id).op {
            Op::Int(0) => true,
            Op::Cast => this.b.get(id).args.first().is_some_and(|&z| this.b.get(z).op == Op::Int(0)),
            _ => false,
        };
        if self.b.types.kind(x) == self.b.types.kind(y) {
            return x;
        }
        match (self.is_pointer(x), self.is_pointer(y)) {
            (true, _) if null(self, b) => x,
            (_, true) if null(self, a) => y,
            (true, true) => {
                let is_void = |this: &Self, t: TypeId| {
                    this.b.types.element(t).is_some_and(|e| matches!(this.b.types.kind(e), TypeKind::Void))
                };
                if is_void(self, y) {
                    y
                } else {
                    x
                }
            }
            _ => self.unknown(),
        }
    }

    pub(super) fn cast(&mut self, node: Node<'_>) -> TermId {
        let Some(t) = self.field(node, "type") else {
            return self.reject(RejectKind::Syntax, "a part of this expression is missing", node, vec![]);
        };
        let (ty, sizes) = self.evaluated_type_name(t);
        let ty = self.rvalue(ty);
        let a = self.part(node, "value");
        if !self.is_pointer(ty) {
            self.escape(a);
        }
        let cast = self.term(Op::Cast, [a], ty, node);
        self.after(sizes, cast, node)
    }

    pub(super) fn subscript(&mut self, node: Node<'_>) -> TermId {
        let mut base = self.part(node, "argument");
        let mut index = match self.field(node, "index").or_else(|| node.named_child(1)) {
            Some(n) => self.expr(n),
            None => return self.reject(RejectKind::Syntax, "a subscript is missing", node, vec![base]),
        };
        // `i[a]`
        if self.b.types.as_int(self.ty(base)).is_some() && self.is_pointer(self.ty(index)) {
            std::mem::swap(&mut base, &mut index);
        }
        let t = self.ty(base);
        let ty = match self.b.types.element(t) {
            Some(e) => e,
            None => self.unknown(),
        };
        self.term(Op::Index, [base, index], ty, node)
    }

    pub(super) fn member(&mut self, node: Node<'_>) -> TermId {
        let arrow = self.field(node, "operator").is_some_and(|o| self.text(o) == "->");
        // `(&e)->f` is `e.f` (C11 6.5.3.2p3)
        let of = self.field(node, "argument").filter(|_| arrow).and_then(|n| self.addressed(n));
        let (base, arrow) = match of {
            Some(of) => (self.expr(of), false),
            None => (self.part(node, "argument"), arrow),
        };
        let name: Arc<str> = self.field(node, "field").map_or("", |f| self.text(f)).into();
        let t = self.ty(base);
        let holder = if arrow { self.b.types.element(t) } else { Some(t) };
        let found = holder.and_then(|h| {
            let r = self.record_of(h)?;
            Some((h, self.member_type(r, &name, 0)?))
        });
        let ty = match found {
            Some((h, f)) => {
                let (outer, inner) = (self.b.types.quals(h), self.b.types.quals(f));
                self.b.types.with_quals(
                    f,
                    Quals {
                        is_const: outer.is_const || inner.is_const,
                        is_volatile: outer.is_volatile || inner.is_volatile,
                        is_restrict: inner.is_restrict,
                        is_atomic: inner.is_atomic,
                    },
                )
            }
            None => self.unknown(),
        };
        self.term(Op::Member { field: name, arrow }, [base], ty, node)
    }

    /// `offsetof(type, member)`, where the layout is known.
    fn offsetof(&mut self, node: Node<'_>) -> TermId {
        let ty = self.field(node, "type").map(|t| self.type_name(t));
        let member = self.field(node, "member").map(|m| self.text(m)).unwrap_or("");
        let found = ty.and_then(|t| self.b.types.member_at(self.record_of(t)?, member));
        let ulong = self.b.types.int(IntKind::ULong);
        match found {
            Some((bytes, _)) => self.term(Op::Int(i128::from(bytes)), [], ulong, node),
            None => {
                let reason = "where this member lies is not known";
                self.reject(RejectKind::Unsupported, reason, node, vec![])
            }
        }
    }

    pub(super) fn sizeof(&mut self, node: Node<'_>) -> TermId {
        let ulong = self.b.types.int(IntKind::ULong);
        if let Some(t) = self.field(node, "type") {
            let (ty, sizes) = self.evaluated_type_name(t);
            if sizes.is_empty() {
                return match self.b.types.size_align(ty) {
                    Some((size, _)) => self.term(Op::Int(i128::from(size)), [], ulong, node),
                    None => self.term(Op::SizeOfType(ty), [], ulong, node),
                };
            }
            // `sizeof(int[m++])` is evaluated (C11 6.5.3.4p2): the number of elements times the size of one.
            if let (&[size], TypeKind::Array { of, .. }) = (&sizes[..], self.b.types.kind(ty).clone()) {
                let one =
                    self.b.types.size_align(of).filter(|_| self.b.types.as_int(self.ty(size)).is_some());
                if let Some((one, _)) = one {
                    let one = self.term(Op::Int(i128::from(one)), [], ulong, node);
                    let count = self.term(Op::Cast, [size], ulong, node);
                    return self.term(Op::Binary(BinOp::Mul), [one, count], ulong, node);
                }
            }
            let size = match self.b.types.size_align(ty) {
                Some((size, _)) => self.term(Op::Int(i128::from(size)), [], ulong, node),
                None => {
                    let reason = "the size of this type is not followed";
                    return self.reject_named(RejectKind::Unsupported, reason, node, sizes);
                }
            };
            return self.after(sizes, size, node);
        }
        if let Some((size, _)) = self.named_type(node).and_then(|ty| self.b.types.size_align(ty)) {
            return self.term(Op::Int(i128::from(size)), [], ulong, node);
        }
        let operand = self.part(node, "value");
        let t = self.ty(operand);
        match self.b.types.size_align(t) {
            Some((size, _)) => self.term(Op::Int(i128::from(size)), [], ulong, node),
            // Of an array of variable length the operand is evaluated (C11 6.5.3.4p2).
            None if self.may_vary(t) && (self.does_something(operand) || self.makes_a_length(operand)) => {
                let reason = "`sizeof` evaluates an operand of variable length, which is not followed";
                self.reject_named(RejectKind::Unsupported, reason, node, vec![operand])
            }
            None => self.term(Op::SizeOf, [operand], ulong, node),
        }
    }

    /// Whether a conversion in an expression is to a type whose lengths are computed there.
    fn makes_a_length(&self, id: TermId) -> bool {
        let term = self.b.get(id);
        let here = term.op == Op::Cast && self.b.types.lengths_in(term.ty).next().is_some();
        here || term.args.iter().any(|&a| self.makes_a_length(a))
    }

    /// Whether a type may be that of an array of variable length.
    fn may_vary(&self, ty: TypeId) -> bool {
        match self.b.types.kind(ty) {
            TypeKind::Array { of, len } => !matches!(len, Len::Const(_)) || self.may_vary(*of),
            TypeKind::Opaque(_) => true,
            _ => false,
        }
    }
}
