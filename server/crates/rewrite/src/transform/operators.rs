//! Arithmetic-operator expansion: `a += e` becomes `a = a + e`, and an expression of several operators one statement an
//! operator.
//!
//! Always legal and exact: the temporaries have the types that C gives the intermediate values (C11 6.3.1.8), the
//! operands are the same, and no operation is regrouped. Only operands without side effects and operators that evaluate
//! both sides are taken apart.

use term::strength::UNARY;
use term::{BinOp, FloatKind, Op, Origin, TermId, TypeKind};
use text::Edit;

use super::refusal::{shape, Refusal};
use super::site::Site;
use super::text::indentation;
use super::{Plan, Transformation, With};

pub(super) struct ExpandOperators;

impl Transformation for ExpandOperators {
    named!("expand-operators");
    fn about(&self) -> &'static str {
        "write each arithmetic operator of the body as a statement of its own"
    }
    fn enables(&self) -> bool {
        false
    }
    fn plan<'s>(&self, site: &'s Site<'_>, _with: &With) -> Result<Plan<'s>, Refusal> {
        let id = site.target;
        let body = site.body();
        site.header(id)?;
        let block = site.block(id)?;
        if !block.braces {
            return shape("its body has no braces to put more statements between");
        }
        let mut work: Vec<(usize, TermId)> = Vec::new();
        for (k, s) in block.statements.iter().enumerate() {
            let [t] = s.terms.as_slice() else { continue };
            if matches!(body.op(*t), Op::Assign | Op::Compound(_)) && expandable(site, *t) {
                work.push((k, *t));
            }
        }
        if work.is_empty() {
            return shape("no assignment in it has several plain operators");
        }
        Plan::new(format!("Expand the operators of {}", plural(work.len())), move || {
            let text = site.source.text;
            let eol = if text.contains("\r\n") { "\r\n" } else { "\n" };
            let mut edits = Vec::new();
            let mut number = 0;
            let base = site.fresh("t_op");
            for &(k, t) in &work {
                let chunk = block.statements[k].chunk;
                let indent = indentation(text, chunk.code.start as usize).to_owned();
                let mut lines: Vec<String> = Vec::new();
                let (place, value) = (body.args(t)[0], body.args(t)[1]);
                let target = site.text_of(place);
                let last = match *body.op(t) {
                    Op::Compound(op) => {
                        let right = operand(site, value, &base, &mut number, &mut lines);
                        format!("{target} = {target} {} {right};", op.symbol())
                    }
                    _ => format!("{target} = {};", whole(site, value, &base, &mut number, &mut lines)),
                };
                lines.push(last);
                edits.push(Edit::replace(chunk.code, lines.join(&format!("{eol}{indent}"))));
            }
            Ok(edits)
        })
    }
}

fn plural(n: usize) -> String {
    if n == 1 {
        "one statement".to_owned()
    } else {
        format!("{n} statements")
    }
}

/// Whether the statement can be taken apart and has more than one operator.
fn expandable(site: &Site<'_>, t: TermId) -> bool {
    let body = site.body();
    let pure = body
        .walk(t)
        .skip(1)
        .all(|x| !body.op(x).is_write() && !matches!(body.op(x), Op::Call | Op::Comma | Op::Reject(_)));
    let (place, value) = (body.args(t)[0], body.args(t)[1]);
    let written = body.origin(t) == Origin::Source && body.origin(place) == Origin::Source;
    let count = operators(site, value) + usize::from(matches!(body.op(t), Op::Compound(_)));
    let typed = !matches!(body.op(t), Op::Compound(_)) || same_arithmetic(site, place, value);
    pure && written && typed && (count > 1 || matches!(body.op(t), Op::Compound(_)))
}

/// `a op= b` is `a = a op b` (C11 6.5.16.2p3); said only of plain numbers.
fn same_arithmetic(site: &Site<'_>, a: TermId, b: TermId) -> bool {
    let types = &site.body().types;
    types.is_arithmetic(site.body().ty(a)) && types.is_arithmetic(site.body().ty(b))
}

fn splits(site: &Site<'_>, t: TermId) -> bool {
    let body = site.body();
    let arithmetic = matches!(body.op(t), Op::Binary(BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Div));
    arithmetic && body.origin(t) == Origin::Source && name_of(site, t).is_some()
}

fn operators(site: &Site<'_>, t: TermId) -> usize {
    if !splits(site, t) {
        return 0;
    }
    1 + site.body().args(t).iter().map(|&a| operators(site, a)).sum::<usize>()
}

fn name_of(site: &Site<'_>, t: TermId) -> Option<&'static str> {
    match site.body().types.kind(site.body().ty(t)) {
        TypeKind::Int(k) => Some(k.c_name()),
        TypeKind::Float(FloatKind::F32) => Some("float"),
        TypeKind::Float(FloatKind::F64) => Some("double"),
        _ => None,
    }
}

/// An expression with at most one operator; what is inside it stands in temporaries before.
fn whole(site: &Site<'_>, t: TermId, base: &str, number: &mut usize, lines: &mut Vec<String>) -> String {
    if !splits(site, t) {
        return site.text_of(t).to_owned();
    }
    let Op::Binary(op) = *site.body().op(t) else { return site.text_of(t).to_owned() };
    let (a, b) = (site.body().args(t)[0], site.body().args(t)[1]);
    let left = operand(site, a, base, number, lines);
    let right = operand(site, b, base, number, lines);
    format!("{left} {} {right}", op.symbol())
}

fn operand(site: &Site<'_>, t: TermId, base: &str, number: &mut usize, lines: &mut Vec<String>) -> String {
    match name_of(site, t) {
        Some(kind) if splits(site, t) => {
            let value = whole(site, t, base, number, lines);
            *number += 1;
            let name = format!("{base}_{number}");
            lines.push(format!("const {kind} {name} = {value};"));
            name
        }
        _ => site.operand(t, UNARY),
    }
}
