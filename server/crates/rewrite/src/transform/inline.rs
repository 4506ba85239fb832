//! Inlining of a call that is a statement of the loop.
//!
//! The callee's body takes the call's place with the arguments in the place of the parameters (Bacon et al. 6.9.1).
//! Right where the callee is a plain function of this file: it returns nothing and at its end only, changes no parameter,
//! and no name means something else in its new surroundings; and where every argument has the parameter's type and may be
//! evaluated again, that is, is made of numbers and of variables that nothing in the callee writes.

use rustc_hash::FxHashMap;
use term::{BinOp, Op, Origin, Storage, SymbolId, TermId, TypeKind};
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
    let body = site.body();
    let item = &site.source.unit.items[index];
    let callee = &item.body;
    let name = &item.name;
    if body.origin(call) != Origin::Source {
        return shape(format!("the call of `{name}` comes out of a macro"));
    }
    if callee.rejects().next().is_some() {
        return shape(format!("`{name}` is not fully understood"));
    }
    let (params, block) = (callee.args(callee.root)[0], callee.args(callee.root)[1]);
    for t in callee.walk(block) {
        match callee.op(t) {
            Op::Return => return shape(format!("`{name}` returns from within")),
            Op::Goto(_) | Op::Label(_) => return shape(format!("a label or `goto` stands in `{name}`")),
            Op::Declare(s) if callee.symbols[*s].storage == Storage::StaticLocal => {
                return shape(format!("`{name}` has a static variable"))
            }
            Op::Sym(s) if callee.symbols[*s].name == *name => return shape(format!("`{name}` calls itself")),
            _ => {}
        }
    }
    let parameters: Vec<SymbolId> = callee
        .args(params)
        .iter()
        .filter_map(|&p| match callee.op(p) {
            Op::Declare(s) => Some(*s),
            _ => None,
        })
        .collect();
    let arguments = &body.args(call)[1..];
    if parameters.len() != arguments.len() {
        return shape(format!("the call of `{name}` has another number of arguments"));
    }
    let mut with: FxHashMap<SymbolId, Replacement> = FxHashMap::default();
    let mut used: Vec<&str> = Vec::new();
    for (&p, &a) in parameters.iter().zip(arguments) {
        let symbol = &callee.symbols[p];
        let written = callee
            .walk(block)
            .any(|t| callee.op(t).is_write() && callee.as_symbol(callee.args(t)[0]) == Some(p));
        if written || symbol.address_taken {
            return shape(format!("`{name}` changes its parameter `{}`", symbol.name));
        }
        if !same_type(site, callee, a, symbol.ty) {
            return shape(format!("the argument for `{}` has another type", symbol.name));
        }
        let plain = body.walk(a).all(|x| match body.op(x) {
            Op::Int(_) | Op::Float(_) | Op::Binary(BinOp::Add | BinOp::Sub | BinOp::Mul) => true,
            // a variable of the caller that the callee cannot know, or an array's name
            Op::Sym(s) => {
                let v = &body.symbols[*s];
                v.is_own_scalar() || matches!(body.types.kind(v.ty), TypeKind::Array { .. })
            }
            _ => false,
        });
        if !plain {
            return shape(format!("the argument for `{}` is more than numbers and variables", symbol.name));
        }
        used.extend(site.names_in(&[a]));
        let (text, strength) = site.expr(a);
        with.insert(p, Replacement::text(&text, strength));
    }
    // names: what the callee declares must not catch an argument, what the caller declares must not catch the callee's
    let declared = |b: &term::Body, root: TermId| -> Vec<String> {
        let all = b.walk(root).filter_map(|t| match b.op(t) {
            Op::Declare(s) => Some(b.symbols[*s].name.to_string()),
            _ => None,
        });
        all.collect()
    };
    if declared(callee, block).iter().any(|n| used.contains(&n.as_str())) {
        return shape(format!("`{name}` declares a variable of a name that an argument uses"));
    }
    let own: Vec<String> = declared(callee, callee.root);
    let outer =
        callee.walk(block).filter_map(|t| callee.as_symbol(t)).map(|s| callee.symbols[s].name.to_string());
    let caller = declared(body, body.root);
    for n in outer.filter(|n| !own.contains(n)) {
        if caller.contains(&n) {
            return shape(format!("`{n}` means something else where `{name}` is called"));
        }
    }
    // the callee's text
    let base = item.span.start;
    let whole = callee.span(block).shifted(base);
    let ts = tokens(site.source.text, whole);
    let odd = || Refusal::Shape(format!("the text of `{name}` cannot be taken apart"));
    let (first, last) = (ts.first().ok_or_else(odd)?, ts.last().ok_or_else(odd)?);
    if first.kind != TokenKind::Sign(b'{') || last.kind != TokenKind::Sign(b'}') {
        return Err(odd());
    }
    if ts.iter().any(|t| t.kind == TokenKind::Directive) {
        return shape(format!("a preprocessor line stands in `{name}`"));
    }
    let inside = Span { start: first.span.end, end: last.span.start };
    let parts = chunks(site.source.text, inside).ok_or_else(odd)?;
    let there = site.beside(index).ok_or_else(odd)?;
    let text = site.source.text;
    let span = site.span(call);
    let indent = indentation(text, span.start as usize);
    let unit = site.indent_unit(site.target);
    let eol = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut out = String::from("{");
    for c in parts {
        let code = render(&there, block, c.whole, &with, false)?;
        let deeper = format!("{indent}{unit}");
        let code = reindent(&code, indentation(text, c.whole.start as usize), &deeper);
        out.push_str(&format!("{eol}{deeper}{code}"));
    }
    out.push_str(&format!("{eol}{indent}}}"));
    // with its semicolon
    let rest = Span { start: span.end, end: text.len() as u32 };
    let semicolon = tokens(text, Span { end: (rest.start + 200).min(rest.end), ..rest });
    let end = semicolon.first().filter(|t| t.kind == TokenKind::Sign(b';')).ok_or_else(odd)?.span.end;
    Ok(Edit::replace(Span { start: span.start, end }, out))
}

/// Whether an argument has the parameter's type: the same number, or a pointer (or array) to the same.
fn same_type(site: &Site<'_>, callee: &term::Body, a: TermId, ty: term::TypeId) -> bool {
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
