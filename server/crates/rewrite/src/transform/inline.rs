//! Inlining of a call that is a statement of the loop.
//!
//! The callee's body takes the call's place with the arguments in the place of the parameters (Bacon et al. 6.9.1).
//! Right where the callee is a plain function of this file: it returns nothing and at its end only, changes no parameter,
//! and no name means something else in its new surroundings; and where every argument has the parameter's type and may be
//! evaluated again, that is, is made of numbers and of variables that nothing in the callee writes.

use rustc_hash::FxHashMap;
use term::{BinOp, Body, Op, Origin, SymbolId, TermId, TypeKind};
use text::Edit;

use super::refusal::{shape, Refusal};
use super::site::Site;
use super::subst::{render, Replacement};
use super::text::{chunks, indentation, reindent, tokens, TokenKind};
use super::{Plan, Transformation, With};
use base::Span;

pub(super) struct Inline;

impl Transformation for Inline {
    named!("inline");
    fn about(&self) -> &'static str {
        "put the body of a function in the place of its call"
    }
    fn with(&self) -> &'static str {
        "function=NAME"
    }
    fn enables(&self) -> bool {
        true
    }
    fn plan<'s>(&self, site: &'s Site<'_>, with: &With) -> Result<Plan<'s>, Refusal> {
        let body = site.body();
        let wanted = with.get("function");
        let mut reason =
            Refusal::Shape("no call of a function of this file stands in it as a statement".into());
        for t in body.walk(site.inside(site.target)) {
            if *body.op(t) != Op::Call || site.parent(t).is_none_or(|p| *body.op(p) != Op::List) {
                continue;
            }
            let Some(f) = body.as_symbol(body.args(t)[0]) else { continue };
            let name = site.name(Some(f));
            if wanted.is_some_and(|w| w != name) {
                continue;
            }
            let callee = site.source.unit.items.iter().position(|i| {
                i.kind == front::ItemKind::Function
                    && &*i.name == name
                    && matches!(i.body.op(i.body.root), Op::Function(_))
            });
            let Some(index) = callee.filter(|&k| k != site.index) else { continue };
            match inlined(site, t, index) {
                Ok(edit) => {
                    return Plan::new(format!("Inline {name}"), move || Ok(vec![edit]));
                }
                Err(r) => reason = r,
            }
        }
        Err(reason)
    }
}

fn inlined(site: &Site<'_>, call: TermId, index: usize) -> Result<Edit, Refusal> {
    let item = &site.source.unit.items[index];
    let callee = Callee { index, item, block: item.body.args(item.body.root)[1] };
    if site.body().origin(call) != Origin::Source {
        return shape(format!("the call of `{}` comes out of a macro", item.name));
    }
    callee.may_stand_elsewhere()?;
    let arguments = &site.body().args(call)[1..];
    let with = replacements(site, &callee, arguments)?;
    names_stay(site, &callee, arguments)?;
    let out = block_text(site, call, &callee, &with)?;
    // with its semicolon
    let (text, span) = (site.source.text, site.span(call));
    let rest = Span { start: span.end, end: text.len() as u32 };
    let semicolon = tokens(text, Span { end: (rest.start + 200).min(rest.end), ..rest });
    let semicolon = semicolon.first().filter(|t| t.kind == TokenKind::Sign(b';'));
    let end = semicolon.ok_or_else(|| callee.odd())?.span.end;
    Ok(Edit::replace(Span { start: span.start, end }, out))
}

/// The function that is called.
struct Callee<'a> {
    /// Among the items of the file.
    index: usize,
    item: &'a front::Item,
    /// What stands in its braces.
    block: TermId,
}

impl Callee<'_> {
    /// That its statements do the same in the place of a call, for all that their kinds say.
    fn may_stand_elsewhere(&self) -> Result<(), Refusal> {
        let (body, name) = (&self.item.body, &self.item.name);
        if body.rejects().next().is_some() {
            return shape(format!("`{name}` is not fully understood"));
        }
        for t in body.walk(self.block) {
            match body.op(t) {
                Op::Return => return shape(format!("`{name}` returns from within")),
                Op::Goto(_) | Op::Label(_) => return shape(format!("a label or `goto` stands in `{name}`")),
                Op::Declare(s) if body.symbols[*s].storage.is_static_local() => {
                    return shape(format!("`{name}` has a static variable"))
                }
                Op::Sym(s) if body.symbols[*s].name == *name => {
                    return shape(format!("`{name}` calls itself"))
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn parameters(&self) -> Vec<SymbolId> {
        let body = &self.item.body;
        let list = body.args(body.args(body.root)[0]).iter();
        let symbol = |&p: &TermId| match body.op(p) {
            Op::Declare(s) => Some(*s),
            _ => None,
        };
        list.filter_map(symbol).collect()
    }

    fn odd(&self) -> Refusal {
        Refusal::Shape(format!("the text of `{}` cannot be taken apart", self.item.name))
    }
}

/// What takes the place of each parameter.
fn replacements(
    site: &Site<'_>,
    callee: &Callee<'_>,
    arguments: &[TermId],
) -> Result<FxHashMap<SymbolId, Replacement>, Refusal> {
    let (there, name) = (&callee.item.body, &callee.item.name);
    let parameters = callee.parameters();
    if parameters.len() != arguments.len() {
        return shape(format!("the call of `{name}` has another number of arguments"));
    }
    let mut with = FxHashMap::default();
    for (&p, &a) in parameters.iter().zip(arguments) {
        let symbol = &there.symbols[p];
        let written = there
            .walk(callee.block)
            .any(|t| there.op(t).is_write() && there.as_symbol(there.args(t)[0]) == Some(p));
        if written || symbol.address_taken {
            return shape(format!("`{name}` changes its parameter `{}`", symbol.name));
        }
        if !same_type(site, there, a, symbol.ty) {
            return shape(format!("the argument for `{}` has another type", symbol.name));
        }
        if !may_be_repeated(site.body(), a) {
            return shape(format!("the argument for `{}` is more than numbers and variables", symbol.name));
        }
        let (text, strength) = site.expr(a);
        with.insert(p, Replacement::text(&text, strength));
    }
    Ok(with)
}

/// Whether an argument is worth the same wherever it stands in the callee, and evaluating it does nothing.
fn may_be_repeated(body: &Body, argument: TermId) -> bool {
    body.walk(argument).all(|x| match body.op(x) {
        Op::Int(_) | Op::Float(_) | Op::Binary(BinOp::Add | BinOp::Sub | BinOp::Mul) => true,
        // a variable of the caller that the callee cannot know, or an array's name
        Op::Sym(s) => {
            let v = &body.symbols[*s];
            v.is_own_scalar() || matches!(body.types.kind(v.ty), TypeKind::Array { .. })
        }
        _ => false,
    })
}

/// That what the callee declares does not catch an argument, and what the caller declares does not catch the callee's.
fn names_stay(site: &Site<'_>, callee: &Callee<'_>, arguments: &[TermId]) -> Result<(), Refusal> {
    let (body, there, name) = (site.body(), &callee.item.body, &callee.item.name);
    let used = site.names_in(arguments);
    if declared(there, callee.block).iter().any(|n| used.contains(n)) {
        return shape(format!("`{name}` declares a variable of a name that an argument uses"));
    }
    let (own, caller) = (declared(there, there.root), declared(body, body.root));
    let symbols = there.walk(callee.block).filter_map(|t| there.as_symbol(t));
    let mut outer = symbols.map(|s| &*there.symbols[s].name).filter(|n| !own.contains(n));
    match outer.find(|n| caller.contains(n)) {
        Some(n) => shape(format!("`{n}` means something else where `{name}` is called")),
        None => Ok(()),
    }
}

fn declared(body: &Body, root: TermId) -> Vec<&str> {
    let symbol = |t| match body.op(t) {
        Op::Declare(s) => Some(&*body.symbols[*s].name),
        _ => None,
    };
    body.walk(root).filter_map(symbol).collect()
}

/// The callee's block with the arguments in it, indented for the place of the call.
fn block_text(
    site: &Site<'_>,
    call: TermId,
    callee: &Callee<'_>,
    with: &FxHashMap<SymbolId, Replacement>,
) -> Result<String, Refusal> {
    let (text, item) = (site.source.text, callee.item);
    let odd = || callee.odd();
    let whole = item.body.span(callee.block).shifted(item.span.start);
    let ts = tokens(text, whole);
    let (first, last) = (ts.first().ok_or_else(odd)?, ts.last().ok_or_else(odd)?);
    if first.kind != TokenKind::Sign(b'{') || last.kind != TokenKind::Sign(b'}') {
        return Err(odd());
    }
    if ts.iter().any(|t| t.kind == TokenKind::Directive) {
        return shape(format!("a preprocessor line stands in `{}`", item.name));
    }
    let inside = Span { start: first.span.end, end: last.span.start };
    let parts = chunks(text, inside).ok_or_else(odd)?;
    let there = site.beside(callee.index).ok_or_else(odd)?;
    let indent = indentation(text, site.span(call).start as usize);
    let deeper = format!("{indent}{}", site.indent_unit(site.target));
    let eol = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut out = String::from("{");
    for c in parts {
        let code = render(&there, callee.block, c.whole, with, false)?;
        let code = reindent(&code, indentation(text, c.whole.start as usize), &deeper);
        out.push_str(&format!("{eol}{deeper}{code}"));
    }
    out.push_str(&format!("{eol}{indent}}}"));
    Ok(out)
}

/// Whether an argument has the parameter's type: the same number, or a pointer (or array) to the same.
fn same_type(site: &Site<'_>, callee: &Body, a: TermId, ty: term::TypeId) -> bool {
    let body = site.body();
    let (x, y) = (body.types.kind(body.ty(a)), callee.types.kind(ty));
    match (x, y) {
        (TypeKind::Int(p), TypeKind::Int(q)) => p == q,
        (TypeKind::Float(p), TypeKind::Float(q)) => p == q,
        (TypeKind::Pointer { .. } | TypeKind::Array { .. }, TypeKind::Pointer { .. }) => {
            let (Some(p), Some(q)) = (body.types.element(body.ty(a)), callee.types.element(ty)) else {
                return false;
            };
            match (body.types.kind(p), callee.types.kind(q)) {
                (TypeKind::Int(p), TypeKind::Int(q)) => p == q,
                (TypeKind::Float(p), TypeKind::Float(q)) => p == q,
                _ => false,
            }
        }
        _ => false,
    }
}
