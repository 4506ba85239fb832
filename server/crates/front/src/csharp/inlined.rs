//! Members that are one expression: accessors of properties and indexers, methods. A use of one is that expression, read as the
//! member would read it, with what is given in the place of its parameters. All its terms stand where the use stands.
//!
//! What throws in it, or in what is given, throws at the use; which of two throws first is not kept.
//! Deliberately absent: members that may be another's (`virtual`), of generic types, and those of several statements.

use std::sync::Arc;

use base::Span;
use term::{BinOp, IntKind, Op, Origin, TermId};
use tree_sitter::Node;

use super::member::{Lower, Value};
use super::names::{assigned_in, Entity};
use super::one_expression::{changes, chooses, is_change, Inline, Property};
use super::outline::Method;
use super::read::children;
use super::types::Ty;
use crate::limits::csharp::{MAX_INLINED, MAX_IN_ALL, MAX_USES};

/// A member whose expression is lowered in the place of a use.
pub(super) struct Frame {
    of: Arc<str>,
    is_static: bool,
    /// The object, if it is not that of the member around.
    this: Option<Value>,
    /// Its expression, in the document.
    text: Span,
    /// The use, in the member around all.
    pub at: Span,
    /// Whether something of the object was asked for.
    asks: bool,
    /// How often each parameter was said.
    uses: Vec<(Arc<str>, usize)>,
}

/// Whose member it is.
enum Of {
    /// The object's, or type's, that the text around is of.
    Own,
    Object(Value),
}

/// Why a member is not followed that is not surely the one that is meant.
const WHICH: &str = "which member this means is not followed";

/// Why a constant is not followed.
const CONSTANT: &str = "the value of this constant is not followed";

/// What stands for a parameter.
type Given = (Arc<str>, Value);

impl<'a> Lower<'a> {
    /// The type whose text is lowered.
    pub(super) fn of(&self) -> Option<Arc<str>> {
        self.frames.last().map_or_else(|| self.member.of.clone(), |f| Some(f.of.clone()))
    }

    pub(super) fn is_static(&self) -> bool {
        self.frames.last().map_or(self.member.is_static, |f| f.is_static)
    }

    /// The object that `this` means, if it is another than the member's around.
    pub(super) fn object(&mut self) -> Option<Value> {
        let frame = self.frames.last_mut()?;
        frame.asks = true;
        let this = frame.this.clone()?;
        Some(self.given(&this))
    }

    /// A parameter of the member whose expression is lowered.
    pub(super) fn given_for(&mut self, name: &str, v: &Value) -> Value {
        let uses = self.frames.last_mut().map(|f| &mut f.uses);
        if let Some(one) = uses.and_then(|u| u.iter_mut().find(|u| *u.0 == *name)) {
            one.1 += 1;
        }
        self.given(v)
    }

    /// A value said again.
    fn given(&mut self, v: &Value) -> Value {
        Value { t: self.again(v.t), ..v.clone() }
    }

    fn again(&mut self, t: TermId) -> TermId {
        let (term, span) = (self.b.get(t).clone(), self.b.span(t));
        let args: Vec<TermId> = term.args.iter().map(|&a| self.again(a)).collect();
        self.b.term(term.op, args, term.ty, span)
    }

    // ---- properties

    /// The property of this name, or the indexer of so many subscripts, if nothing else can be meant.
    fn find_property(&self, of: &str, name: Option<&str>, subscripts: usize) -> Option<Property> {
        let ty = self.outline.types.get(of)?;
        let is_double = self.outline.uncertain.iter().any(|u| **u == *of);
        if is_double || !ty.parameters.is_empty() || !matches!(ty.kind, "class" | "struct" | "record") {
            return None;
        }
        let named = ty.properties.iter().filter(|p| p.name.as_deref() == name);
        // which of several indexers is meant, types decide: they differ in how many subscripts they have, or nothing is said
        if !named.clone().all(|p| p.is_plain) {
            return None;
        }
        let mut found = named.filter(|p| p.parameters.len() == subscripts);
        let property = found.next().filter(|_| found.next().is_none())?;
        Some(property.clone())
    }

    /// A property of `this`, or a static one of a type.
    pub(super) fn own_property(&mut self, of: &Arc<str>, name: &str, node: Node<'a>) -> Option<Value> {
        let property = self.find_property(of, Some(name), 0)?;
        let is_known = self.outline.types.get(of).is_some_and(|t| !t.has_static_constructor)
            || self.of().is_some_and(|own| own == *of);
        if !property.is_static && self.is_static() || !is_known {
            return None;
        }
        Some(self.got(of, &property, Of::Own, Vec::new(), node))
    }

    /// A property of an object.
    pub(super) fn property_through(
        &mut self,
        of: &Arc<str>,
        name: &str,
        object: &Value,
        node: Node<'a>,
    ) -> Option<Value> {
        let property = self.find_property(of, Some(name), 0).filter(|p| !p.is_static)?;
        Some(self.got(of, &property, Of::Object(object.clone()), Vec::new(), node))
    }

    /// `grid[x, y]` of what has an indexer.
    pub(super) fn indexed(&mut self, base: Node<'a>, list: Node<'a>, node: Node<'a>) -> Option<Value> {
        let (of, property) = self.indexer(base, list)?;
        let whose = self.whose(base);
        let given = self.subscripts(list);
        Some(self.got(&of, &property, whose, given, node))
    }

    fn indexer(&self, base: Node<'a>, list: Node<'a>) -> Option<(Arc<str>, Property)> {
        let of = match self.quick_type(base)? {
            Ty::Class(of) | Ty::Struct(of) => of,
            _ => return None,
        };
        let property = self.find_property(&of, None, children(list).len())?;
        Some((of, property))
    }

    fn whose(&mut self, base: Node<'a>) -> Of {
        match base.kind() {
            "this" => Of::Own,
            _ => Of::Object(self.expr(base)),
        }
    }

    fn subscripts(&mut self, list: Node<'a>) -> Vec<Value> {
        let all: Vec<Node<'a>> =
            children(list).into_iter().map(|a| children(a).last().copied().unwrap_or(a)).collect();
        all.into_iter().map(|s| self.expr(s)).collect()
    }

    /// The value of a property.
    fn got(
        &mut self,
        of: &Arc<str>,
        property: &Property,
        whose: Of,
        given: Vec<Value>,
        node: Node<'a>,
    ) -> Value {
        let names = property.parameters.iter().map(|p| p.0.clone());
        let types: Vec<Ty> = property.parameters.iter().map(|p| self.type_of_text(&p.1)).collect();
        let Some(given) = self.converted(given, &types) else {
            return self.unknown(WHICH, node);
        };
        let given = names.zip(given).collect();
        let ty = self.type_of_text(&property.ty);
        match property.get.clone() {
            Some(get) => self.stand_for(&get, (of, property.is_static), whose, given, &ty, node),
            None => self.unknown(&self.more_than_one(node), node),
        }
    }

    /// Why an accessor is not followed: it has statements, or may be another's.
    fn more_than_one(&self, node: Node<'a>) -> String {
        format!("`{}` runs more than one expression", self.text(node))
    }

    /// The values as those of parameters of these types; `None`: one is converted in a way that is not followed, or not at all, and
    /// another member is meant.
    pub(super) fn converted(&mut self, given: Vec<Value>, types: &[Ty]) -> Option<Vec<Value>> {
        let fits =
            given.len() == types.len() && given.iter().zip(types).all(|(v, ty)| self.is_implicit(v, ty));
        fits.then(|| given.into_iter().zip(types).map(|(v, ty)| self.convert(v, ty)).collect())
    }

    /// Whether a value is one of a type without a word (C# 10.2), and without code that is not seen.
    pub(super) fn is_implicit(&self, v: &Value, to: &Ty) -> bool {
        match (&v.ty, to) {
            (Ty::Unknown(_) | Ty::Null | Ty::Void, _) | (_, Ty::Unknown(_) | Ty::Void) => false,
            // a `char` and a `ushort` are not told apart here, and neither becomes the other
            (_, &Ty::Int(IntKind::UShort)) => false,
            (from, to) if from == to => true,
            (&Ty::Int(from), &Ty::Int(to)) => {
                let number = from != IntKind::Bool && to != IntKind::Bool;
                let holds = to.min() <= from.min() && from.max() <= to.max();
                let small = self.constant(v.t).is_some_and(|c| to.min() <= c && c <= to.max());
                number && (holds || small && from == IntKind::Int)
            }
            (Ty::Int(from), Ty::Float(_)) => *from != IntKind::Bool,
            (Ty::Float(from), Ty::Float(to)) => from < to,
            _ => false,
        }
    }

    /// `place op= right` where the place is a property or an element of what has an indexer; without `right`: a step by one.
    /// `None`: it is neither.
    pub(super) fn set_property(
        &mut self,
        place: Node<'a>,
        op: Option<BinOp>,
        right: Option<Node<'a>>,
        node: Node<'a>,
    ) -> Option<Value> {
        let (of, property, base, list) = self.property_at(place)?;
        let is_statement = node.parent().is_some_and(|p| p.kind() == "expression_statement");
        if (right.is_none() || op.is_some()) && !is_statement {
            return Some(self.unknown("the value of this assignment is not followed", node));
        }
        let mut whose = match base {
            Some(base) => self.whose(base),
            None => Of::Own,
        };
        let types: Vec<Ty> = property.parameters.iter().map(|p| self.type_of_text(&p.1)).collect();
        let subscripts = list.map_or_else(Vec::new, |l| self.subscripts(l));
        let Some(subscripts) = self.converted(subscripts, &types) else {
            return Some(self.unknown(WHICH, node));
        };
        let Some(set) = property.set.clone() else {
            return Some(self.unknown(&self.more_than_one(place), node));
        };
        let ty = self.type_of_text(&property.ty);
        let value = match op {
            None => right.map(|r| self.expr(r)),
            Some(op) => {
                let again: Vec<Value> = subscripts.iter().map(|v| self.given(v)).collect();
                let object = match &whose {
                    Of::Own => Of::Own,
                    Of::Object(v) => Of::Object(self.given(v)),
                };
                let before = self.got(&of, &property, object, again, node);
                let by = match right {
                    Some(r) => self.expr(r),
                    None => self.number(1, Ty::INT, node),
                };
                Some(self.binary(op, before, by, node))
            }
        };
        let value = value?;
        // what an operator gives is made one of the type again (C# 12.21.4)
        let fits = self.is_implicit(&value, &ty) || op.is_some() && value.ty.is_number() && ty.is_number();
        if !fits {
            return Some(self.unknown("this conversion is not followed", node));
        }
        let value = self.convert(value, &ty);
        if let (Of::Object(v), Ty::Struct(_)) = (&whose, self.type_of_object(&whose)) {
            // what is set of a value that is no variable is lost
            if !matches!(self.b.get(v.t).op, Op::Sym(_) | Op::Index | Op::Deref | Op::Member { .. }) {
                whose = Of::Object(self.unknown("what is set here is not followed", place));
            }
        }
        let names = property.parameters.iter().map(|p| p.0.clone());
        let mut given: Vec<Given> = names.zip(subscripts).collect();
        given.push(("value".into(), value));
        Some(self.stand_for(&set, (&of, property.is_static), whose, given, &Ty::Void, node))
    }

    fn type_of_object(&self, whose: &Of) -> Ty {
        match whose {
            Of::Own => Ty::Void,
            Of::Object(v) => v.ty.clone(),
        }
    }

    /// The property that a place is, of which type, with its object and its subscripts.
    #[allow(clippy::type_complexity)]
    fn property_at(
        &self,
        place: Node<'a>,
    ) -> Option<(Arc<str>, Property, Option<Node<'a>>, Option<Node<'a>>)> {
        match place.kind() {
            "identifier" => {
                let (of, name) = (self.of()?, self.text(place));
                let hidden = self.lookup(name).is_some() || self.find(&of, name).is_some();
                let property = self.find_property(&of, Some(name), 0).filter(|_| !hidden)?;
                (property.is_static || !self.is_static()).then_some((of, property, None, None))
            }
            "member_access_expression" => {
                let base = place.child_by_field_name("expression")?;
                let name = self.text(place.child_by_field_name("name")?);
                let of = match self.quick_type(base)? {
                    Ty::Class(of) | Ty::Struct(of) => of,
                    _ => return None,
                };
                let property = self.find_property(&of, Some(name), 0).filter(|p| !p.is_static)?;
                Some((of, property, Some(base), None))
            }
            "element_access_expression" => {
                let base = place.child_by_field_name("expression")?;
                let list = place.child_by_field_name("subscript")?;
                let (of, property) = self.indexer(base, list)?;
                Some((of, property, Some(base), Some(list)))
            }
            "parenthesized_expression" => self.property_at(children(place).first().copied()?),
            _ => None,
        }
    }

    /// The type of a variable, a field, an element or a property, without lowering it.
    pub(super) fn quick_type(&self, node: Node<'_>) -> Option<Ty> {
        let of_member = |of: &str, name: &str| {
            let field = self.find(of, name).map(|f| f.ty);
            let ty = field.or_else(|| self.find_property(of, Some(name), 0).map(|p| p.ty))?;
            Some(self.type_of_text(&ty))
        };
        match node.kind() {
            "identifier" => {
                let name = self.text(node);
                match self.lookup(name) {
                    Some(Entity::Var(var)) => Some(var.ty.clone()),
                    Some(Entity::Captured(ty) | Entity::Constant(_, ty)) => Some(ty.clone()),
                    Some(Entity::Given(v)) => Some(v.ty.clone()),
                    Some(Entity::Unknown(_)) => None,
                    None => of_member(&self.of()?, name),
                }
            }
            "this" if !self.is_static() => {
                let of = self.of()?;
                match self.outline.types.get(&of)?.kind {
                    "struct" => Some(Ty::Struct(of)),
                    _ => Some(Ty::Class(of)),
                }
            }
            "parenthesized_expression" => self.quick_type(children(node).first().copied()?),
            "member_access_expression" => {
                let base = node.child_by_field_name("expression")?;
                let name = self.text(node.child_by_field_name("name")?);
                match self.quick_type(base)? {
                    Ty::Class(of) | Ty::Struct(of) => of_member(&of, name),
                    Ty::Array(..) | Ty::Span(_) if name == "Length" => Some(Ty::INT),
                    _ => None,
                }
            }
            "element_access_expression" => {
                let base = node.child_by_field_name("expression")?;
                let subscripts = node.child_by_field_name("subscript").map(children)?.len();
                match self.quick_type(base)? {
                    Ty::Class(of) | Ty::Struct(of) => {
                        let property = self.find_property(&of, None, subscripts)?;
                        Some(self.type_of_text(&property.ty))
                    }
                    ty => ty.elements().filter(|(_, rank)| *rank == subscripts).map(|(of, _)| (**of).clone()),
                }
            }
            _ => None,
        }
    }

    // ---- methods

    /// A call of a method that is one expression. `object`: what stands before its name.
    pub(super) fn inlined_call(
        &mut self,
        of: &Arc<str>,
        method: &Method,
        object: Option<Node<'a>>,
        values: &[Node<'a>],
        node: Node<'a>,
    ) -> Option<Value> {
        let inline = method.inline.clone()?;
        let types: Vec<Ty> = method.parameters.iter().map(|p| self.type_of_text(p)).collect();
        let returns = self.type_of_text(&method.returns);
        if !method.is_static && object.is_none() && self.is_static() {
            return None;
        }
        let whose = match object.filter(|_| !method.is_static) {
            Some(object) => self.whose(object),
            None => Of::Own,
        };
        let given: Vec<Value> = values.iter().map(|v| self.expr(*v)).collect();
        let Some(given) = self.converted(given, &types) else {
            return Some(self.unknown(WHICH, node));
        };
        let given = method.names.iter().cloned().zip(given).collect();
        Some(self.stand_for(&inline, (of, method.is_static), whose, given, &returns, node))
    }

    // ---- the expression in the place of the use

    fn stand_for(
        &mut self,
        what: &Inline,
        (of, is_static): (&Arc<str>, bool),
        whose: Of,
        given: Vec<Given>,
        ty: &Ty,
        node: Node<'a>,
    ) -> Value {
        let again = self.frames.iter().any(|f| f.text == what.at);
        if again || self.frames.len() >= MAX_INLINED {
            return self.unknown("members that use themselves are not followed", node);
        }
        // arithmetic is checked where its own text says so
        if self.checked || self.is_checked_around(node) {
            return self.unknown("what this member does is not followed under `checked`", node);
        }
        let Some(expression) = self.expression_at(what.at) else {
            return self.unknown("what this member does is not followed", node);
        };
        self.inlined += 1;
        if self.inlined > MAX_IN_ALL {
            return self.unknown("there are too many such members", node);
        }
        let set = assigned_in(&[expression], self.document);
        let changes = changes(expression);
        let this = match whose {
            Of::Own => self.frames.last().and_then(|f| f.this.clone()),
            Of::Object(v) => Some(v),
        };
        if this.is_some() && (chooses(expression) || !set.is_empty()) {
            return self.unknown("what this member does to its object is not followed", node);
        }
        // what is given is looked at where it is said, not before
        let structure = given.iter().any(|(_, v)| matches!(v.ty, Ty::Struct(_)));
        let own = given.iter().any(|(name, _)| set.contains(&**name));
        let is_one = changes == 0 || changes == 1 && is_change(expression);
        let objects = this.iter().map(|v| v.t);
        let pure = given.iter().map(|(_, v)| v.t).chain(objects).all(|t| self.is_pure(t));
        if own || !is_one || !pure || changes > 0 && structure {
            return self.unknown("what is given to this member is not followed", node);
        }
        // it may set fields of the object, which are no parameters then
        self.is_open |= !set.is_empty();
        let at = self.span(node);
        let outside = this.is_some();
        let uses = given.iter().map(|(name, _)| (name.clone(), 0)).collect();
        let frame = Frame { of: of.clone(), is_static, this, text: what.at, at, asks: false, uses };
        let mut scope = rustc_hash::FxHashMap::default();
        scope.extend(given.iter().map(|(name, v)| (name.clone(), Entity::Given(v.clone()))));
        let scopes = std::mem::replace(&mut self.scopes, vec![scope]);
        self.frames.push(frame);
        let before = self.b.count();
        let v = self.expr(expression);
        // as out of a macro: its text stands elsewhere
        self.b.came_from(before, Origin::Macro);
        let frame = self.frames.pop();
        self.scopes = scopes;
        let (asks, uses) = frame.map_or((false, Vec::new()), |f| (f.asks, f.uses));
        if outside && !is_static && !asks {
            // an object that is null throws all the same
            return self.unknown("what this member does is not followed", node);
        }
        // what throws in what is given throws as well, and calls may change what is said behind them
        let said = given.iter().zip(&uses).all(|((_, v), (_, n))| {
            let (quiet, size) = self.weight(v.t);
            (quiet || *n > 0 && !chooses(expression)) && n * size <= MAX_USES
        });
        if !said || !given.is_empty() && self.has_calls(v.t) {
            return self.unknown("what is given to this member is not followed", node);
        }
        match ty {
            Ty::Void => Value { ty: Ty::Void, ..v },
            ty if v.ty == *ty || self.is_implicit(&v, ty) => {
                let v = self.convert(v, ty);
                let v = self.known_number(v, node);
                self.b.came_from(before, Origin::Macro);
                v
            }
            _ if self.b.reason(v.t).is_some() => v,
            _ => self.unknown("this conversion is not followed", node),
        }
    }

    /// The value of a constant of a type, whose text stands there.
    pub(super) fn constant_field(&mut self, of: &Arc<str>, value: &Inline, ty: &Ty, node: Node<'a>) -> Value {
        let again = self.frames.iter().any(|f| f.text == value.at) || self.frames.len() >= MAX_INLINED;
        let expression = self.expression_at(value.at).filter(|_| !again);
        let Some(expression) = expression else {
            return self.unknown(CONSTANT, node);
        };
        let (at, uses) = (self.span(node), Vec::new());
        let frame =
            Frame { of: of.clone(), is_static: true, this: None, text: value.at, at, asks: false, uses };
        let scopes = std::mem::replace(&mut self.scopes, vec![Default::default()]);
        self.frames.push(frame);
        let v = self.expr(expression);
        self.frames.pop();
        self.scopes = scopes;
        let fits = self.is_implicit(&v, ty) || v.ty == *ty;
        match self.constant(v.t).filter(|_| fits) {
            Some(c) => self.number(c, ty.clone(), node),
            None => self.unknown(CONSTANT, node),
        }
    }

    /// The expression that stands at a place of the document.
    fn expression_at(&self, at: Span) -> Option<Node<'a>> {
        let mut root = self.member.bodies.first().copied()?;
        while let Some(parent) = root.parent() {
            root = parent;
        }
        let node = root.named_descendant_for_byte_range(at.start as usize, at.end as usize)?;
        (node.byte_range() == at.range()).then_some(node)
    }

    /// Whether computing a value changes nothing.
    fn is_pure(&self, t: TermId) -> bool {
        let term = self.b.get(t);
        let changes =
            matches!(term.op, Op::Assign | Op::Compound(_) | Op::Step { .. } | Op::Comma | Op::AddrOf);
        !changes && !self.is_call(t) && term.args.iter().all(|&a| self.is_pure(a))
    }

    /// Whether it is a call of what the library is not known to have.
    fn is_call(&self, t: TermId) -> bool {
        let term = self.b.get(t);
        let function = term.args.first().map(|&f| &self.b.get(f).op);
        let known = matches!(function, Some(Op::Sym(f)) if self.b.library.contains(f));
        term.op == Op::Call && !known
    }

    fn has_calls(&self, t: TermId) -> bool {
        self.is_call(t) || self.b.get(t).args.iter().any(|&a| self.has_calls(a))
    }

    /// Whether computing a value throws nothing, and the number of its operations.
    fn weight(&self, t: TermId) -> (bool, usize) {
        let term = self.b.get(t);
        let own = match &term.op {
            // a length is asked of its array, and a field of its object
            Op::Sym(s) => {
                let of = self.b.said.lengths.iter().find(|l| l.length == *s).map(|l| l.array);
                let object = self.b.said.object_of(*s);
                let there = |x: term::SymbolId| self.b.said.never_null.contains(&x);
                of.into_iter().chain(object).all(there)
            }
            Op::Int(_) | Op::Float(_) | Op::Unary(_) | Op::Cast | Op::Select => true,
            Op::Binary(op) => !matches!(op, BinOp::Div | BinOp::Rem),
            Op::Member { .. } => {
                let of = term.args.first().map(|&of| &self.b.get(of).op);
                matches!(of, Some(Op::Sym(s)) if self.b.said.never_null.contains(s))
            }
            _ => false,
        };
        let parts = term.args.iter().map(|&a| self.weight(a));
        parts.fold((own, 1), |(quiet, n), (q, m)| (quiet && q, n + m))
    }
}
