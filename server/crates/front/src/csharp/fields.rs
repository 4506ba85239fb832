//! Fields. One that a member only reads, where nothing in it might set the field otherwise, is a parameter of it: it has one value
//! for as long as the member runs. The others are cells of an object, or variables of the program.

use std::sync::Arc;

use term::{Op, Quals, Storage, TermId};
use tree_sitter::Node;

use super::literal;
use super::member::{Lower, Value};
use super::outline::{Field, Type};
use super::types::Ty;

impl<'a> Lower<'a> {
    /// A field of the type around, or a static one of those around that.
    pub(super) fn field_named(&mut self, name: &str, node: Node<'a>) -> Option<Value> {
        let of = self.of()?;
        if let Some(v) = self.own_value(&of, name, node) {
            return Some(v);
        }
        // a nearer type that has the name, or may inherit it, means its own
        let has = |t: &Type| {
            let mut names =
                t.fields.iter().map(|f| &f.name).chain(&t.others).chain(t.methods.iter().map(|m| &m.name));
            names.any(|n| **n == *name)
        };
        let mut nearer = self.outline.types.get(&of)?;
        let (mut is_nearer, mut inherits) = (has(nearer), nearer.has_bases);
        for _ in 0..16 {
            let of = nearer.outer.clone()?;
            let ty = self.outline.types.get(&of)?;
            if has(ty) && (is_nearer || inherits) {
                return Some(self.unknown("which of two members this name means is not followed", node));
            }
            if let Some(v) = self.static_field(&of, name, node) {
                return Some(v);
            }
            nearer = ty;
            is_nearer |= has(ty);
            inherits |= ty.has_bases;
        }
        None
    }

    pub(super) fn is_field(&self, name: &str) -> bool {
        let of = self.of().and_then(|of| self.outline.types.get(&of));
        of.is_some_and(|t| t.fields.iter().any(|f| *f.name == *name) || t.others.iter().any(|o| **o == *name))
    }

    /// A field, or a property, of `this`, or a static one of its type.
    pub(super) fn own_value(&mut self, of: &Arc<str>, name: &str, node: Node<'a>) -> Option<Value> {
        let field = self.field_of(of, name, node);
        field.or_else(|| self.own_property(of, name, node))
    }

    pub(super) fn find(&self, of: &str, name: &str) -> Option<Field> {
        let ty = self.outline.types.get(of)?;
        // two declarations of one name, or of one type
        let mut found = ty.fields.iter().filter(|f| *f.name == *name);
        let field = found.next().filter(|_| found.next().is_none())?;
        let is_double = self.outline.uncertain.iter().any(|u| **u == *of) && !ty.is_partial;
        (!is_double).then(|| field.clone())
    }

    /// A field of `this`, or a static one of its type.
    pub(super) fn field_of(&mut self, of: &Arc<str>, name: &str, node: Node<'a>) -> Option<Value> {
        let field = self.find(of, name)?;
        if field.is_static {
            return self.static_field(of, name, node);
        }
        if self.is_static() {
            return None;
        }
        if let Some(object) = self.object() {
            let arrow = matches!(object.ty, Ty::Class(_));
            return self.field_through(of, name, object.t, arrow, node);
        }
        let is_struct = self.outline.types.get(of).is_some_and(|t| t.kind == "struct");
        let kept = field.is_readonly && !self.member.is_constructor && !is_struct;
        if self.keeps(&field, kept) {
            let path = if self.hides(name) { format!("this.{name}") } else { name.to_owned() };
            return Some(self.as_parameter(&path, &field, node));
        }
        let this = self.this(node);
        self.cell(this.t, true, &field, node)
    }

    /// Whether something that the member declares has this name, too: it is what the name alone means in places.
    fn hides(&self, name: &str) -> bool {
        self.own_names.contains(name.trim_start_matches('@'))
    }

    /// Whether the field has one value while the member runs. `kept`: nobody may set it.
    fn keeps(&self, field: &Field, kept: bool) -> bool {
        let quiet = self.promotes && !self.member.is_constructor && !self.assigned.contains(&*field.name);
        !field.is_volatile && (kept || quiet)
    }

    fn as_parameter(&mut self, name: &str, field: &Field, node: Node<'a>) -> Value {
        let var = match self.promoted.get(name) {
            Some(var) => var.clone(),
            None => {
                let ty = self.type_of_text(&field.ty);
                let var = self.new_parameter(name, ty, None);
                self.promoted.insert(name.into(), var.clone());
                var
            }
        };
        self.variable_value(&var, node)
    }

    pub(super) fn static_field(&mut self, of: &Arc<str>, name: &str, node: Node<'a>) -> Option<Value> {
        let field = self.find(of, name).filter(|f| f.is_static)?;
        let own = self.member.of.as_deref() == Some(&**of);
        let first_use_runs_code = self.outline.types.get(of).is_some_and(|t| t.has_static_constructor);
        if first_use_runs_code && !own {
            return None;
        }
        let ty = self.type_of_text(&field.ty);
        let kept = field.is_const || field.is_readonly && !self.member.is_constructor;
        let literal = field.value.as_ref().and_then(|v| literal::integer(v));
        let settled = field.is_const || field.is_readonly && !first_use_runs_code;
        if let (Some((v, _)), Some(k), true) = (literal, ty.as_int(), settled) {
            if k.wrap(v) == v {
                let number = self.number(v, ty, node);
                return Some(if field.is_const { number } else { self.known_number(number, node) });
            }
        }
        if let (Some(value), Some(_), true) = (&field.constant, ty.as_int(), field.is_const) {
            return Some(self.constant_field(of, value, &ty, node));
        }
        let hidden = self.hides(name);
        let is_generic = self.outline.types.get(of).is_some_and(|t| !t.parameters.is_empty());
        if (hidden || !own) && (is_generic || self.hides(of) || self.is_field(of)) {
            // nothing that is written without its arguments names it
            return None;
        }
        // nor what the text there may not name
        if !own && (!field.is_shown || !self.frames.is_empty()) {
            return None;
        }
        let path = if own && !hidden { name.to_owned() } else { format!("{of}.{name}") };
        if self.keeps(&field, kept) {
            return Some(self.as_parameter(&path, &field, node));
        }
        let symbol = match self.outside.get(path.as_str()) {
            Some(&s) => s,
            None => {
                let mut repr = self.repr(&ty);
                if field.is_volatile {
                    repr = self.b.types.with_quals(repr, Quals { is_volatile: true, ..Default::default() });
                }
                let storage = Storage::Global { defined_here: true, internal: false, constant: false };
                let s = self.symbol(&path, repr, storage, None);
                self.outside.insert(path.into(), s);
                s
            }
        };
        let repr = self.b.symbols[symbol].ty;
        let t = self.term(Op::Sym(symbol), [], repr, node);
        Some(self.value(t, ty))
    }

    pub(super) fn this(&mut self, node: Node<'a>) -> Value {
        if let Some(object) = self.object() {
            return object;
        }
        let Some(of) = self.of() else {
            return self.unknown("there is no `this` here", node);
        };
        let known = self.outline.types.get(&of).map_or("", |t| t.kind);
        if !matches!(known, "class" | "struct" | "record") {
            return self.unknown("the type of `this` is not followed", node);
        }
        let symbol = match self.this {
            Some(s) => s,
            None => {
                let ty = self.repr(&Ty::Class(of.clone()));
                let place = Storage::Param(self.params.len() as u32);
                let s = self.symbol("this", ty, place, None);
                self.params.push(s);
                self.b.said.never_null.push(s);
                self.this = Some(s);
                s
            }
        };
        let ty = self.b.symbols[symbol].ty;
        let t = self.term(Op::Sym(symbol), [], ty, node);
        self.value(t, Ty::Class(of))
    }

    /// A field of an object.
    pub(super) fn field_through(
        &mut self,
        of: &Arc<str>,
        name: &str,
        base: TermId,
        arrow: bool,
        node: Node<'a>,
    ) -> Option<Value> {
        let field = self.find(of, name).filter(|f| !f.is_static)?;
        let ty = self.outline.types.get(of)?;
        // an object of a derived type is one of its base, and the records of the two are not one
        if arrow && (ty.has_bases || self.outline.derived_from.iter().any(|d| **d == **of)) {
            return None;
        }
        if let Some(v) = self.held_by(of, base, arrow, &field, node) {
            return Some(v);
        }
        self.cell(base, arrow, &field, node)
    }

    /// A field of an object that a parameter always means: a parameter, too, if the program's text there may name it.
    fn held_by(
        &mut self,
        of: &Arc<str>,
        base: TermId,
        arrow: bool,
        field: &Field,
        node: Node<'a>,
    ) -> Option<Value> {
        let Op::Sym(object) = self.b.get(base).op else { return None };
        let symbol = &self.b.symbols[object];
        let keeps_object = matches!(symbol.storage, Storage::Param(_))
            && !symbol.address_taken
            && !self.b.said.never_null.contains(&object)
            && !symbol.name.starts_with('@')
            && !self.assigned.contains(&*symbol.name);
        let shown = field.is_shown || self.member.of.as_deref() == Some(&**of);
        let plain = match self.type_of_text(&field.ty) {
            // `char` is not told apart from `ushort`
            Ty::Int(k) => !matches!(k, term::IntKind::Bool | term::IntKind::UShort),
            Ty::Float(_) => true,
            Ty::Array(of, 1) => of.is_number(),
            _ => false,
        };
        let is_class = self.outline.types.get(of).is_some_and(|t| t.kind == "class");
        let kept = field.is_readonly && !self.member.is_constructor;
        if !(arrow && keeps_object && shown && plain && is_class && self.keeps(field, kept)) {
            return None;
        }
        let path = format!("{}.{}", symbol.name, field.name);
        let v = self.as_parameter(&path, field, node);
        let value = self.promoted.get(&*path)?.symbol;
        let held = term::Held { object, value };
        if !self.b.said.held.contains(&held) {
            self.b.said.held.push(held);
        }
        Some(v)
    }

    fn cell(&mut self, base: TermId, arrow: bool, field: &Field, node: Node<'a>) -> Option<Value> {
        let ty = self.type_of_text(&field.ty);
        let mut repr = self.repr(&ty);
        if field.is_volatile {
            repr = self.b.types.with_quals(repr, Quals { is_volatile: true, ..Default::default() });
        }
        let t = self.term(Op::Member { field: field.name.clone(), arrow }, [base], repr, node);
        Some(self.value(t, ty))
    }
}
