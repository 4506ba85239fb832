//! Index-set splitting (fragmentation): the range of a loop in two parts, each a loop.
//!
//! Always legal: the order of the iterations stays (Allen & Kennedy 5.7; Wolfe 9.6). What it removes are dependences
//! between the parts, and conditions on the index that hold in one part and not in the other.

use term::strength::{MUL, SHIFT};
use term::{BinOp, Op, TermId};

use super::refusal::{shape, Refusal};
use super::site::{Counted, Site};
use super::text::{tokens, TokenKind};
use super::{Plan, Transformation, With};
use base::Span;

pub(super) struct Split;

impl Transformation for Split {
    named!("split");
    fn about(&self) -> &'static str {
        "cut the range of a loop in two"
    }
    fn with(&self) -> &'static str {
        "at=EXPR | middle"
    }
    fn enables(&self) -> bool {
        true
    }
    fn plan<'s>(&self, site: &'s Site<'_>, with: &With) -> Result<Plan<'s>, Refusal> {
        let id = site.target;
        let c = site.counted(id)?;
        site.movable(id, true)?;
        site.unpragmaed(id)?;
        site.one_type(&c)?;
        let block = site.block(id)?;
        if !c.ascending_by_one() {
            return shape("it does not count up by one");
        }
        if c.decl.is_empty() && site.live_after(id, c.index) {
            return shape(format!("`{}` is used after the loop", c.name));
        }
        let point = match with.get("at") {
            Some("middle") => middle(site, &c)?,
            Some(text) => asked(site, &c, text)?,
            None => from_condition(site, &c)?,
        };
        Plan::new(format!("Split {} at {}", c.name, point.text), move || {
            let at = point.text.clone();
            // each stands beside a comparison: `n & 3` is to be compared as a whole
            let end = match c.relation {
                BinOp::Lt => site.operand(c.bound, SHIFT),
                _ => c.end(site),
            };
            let first_end = match point.below_end {
                true => at.clone(),
                false => format!("({at} < {end} ? {at} : {end})"),
            };
            let lower = site.operand(c.lower, SHIFT);
            let second = match point.above_start {
                true => at.clone(),
                false => format!("({at} > {lower} ? {at} : {lower})"),
            };
            let head = |from: &str, to: &str| {
                format!(
                    "for ({}{} = {from}; {} < {to}; {})",
                    c.decl,
                    c.name,
                    c.name,
                    site.slice(c.header.step)
                )
            };
            site.replace(id, 2, |lines| {
                site.write_loop(lines, &head(&lower, &first_end), &block, &block.all())?;
                let rest = c.written(site, Some(&second), None);
                site.write_loop(lines, &rest, &block, &block.all())
            })
        })
    }
}

/// The first value of the second part.
struct Point {
    text: String,
    /// Whether it is known not to lie past the end, or the first part is empty there all the same.
    below_end: bool,
    above_start: bool,
}

/// Whether `at` certainly lies between first value and end, by constants.
fn placed(site: &Site<'_>, c: &Counted<'_>, at: TermId, more: i128) -> (bool, bool) {
    let one = i128::from(c.relation == BinOp::Le);
    let below = site.difference(c.bound, at).is_some_and(|d| d + one - more >= 0);
    let above = site.difference(at, c.lower).is_some_and(|d| d + more >= 0);
    (below, above)
}

/// `n / 2` of a range that begins at 0: never past `n` where `n` is positive, and where it is not both parts are empty
/// (`n / 2` rounds towards 0: it is at most 0, and not below `n`).
fn middle(site: &Site<'_>, c: &Counted<'_>) -> Result<Point, Refusal> {
    if site.constant(c.lower) != Some(0) || c.relation != BinOp::Lt || !c.ty.signed() {
        return shape("its range does not begin at 0 with a signed index");
    }
    if let Some(n) = site.constant(c.bound) {
        return Ok(Point { text: (n / 2).to_string(), below_end: true, above_start: true });
    }
    Ok(Point { text: format!("{} / 2", site.operand(c.bound, MUL)), below_end: true, above_start: true })
}

/// What `--with at=…` said: numbers and variables of the index's type, `+ - * /` and parentheses.
fn asked(site: &Site<'_>, c: &Counted<'_>, text: &str) -> Result<Point, Refusal> {
    let body = site.body();
    let bad = |why: &str| Refusal::Option(format!("`{text}` {why}"));
    if let Ok(n) = text.parse::<i128>() {
        let (l, end) = (site.constant(c.lower), site.constant(c.bound));
        let one = i128::from(c.relation == BinOp::Le);
        return Ok(Point {
            text: n.to_string(),
            below_end: end.is_some_and(|e| n <= e + one),
            above_start: l.is_some_and(|l| n >= l),
        });
    }
    for t in tokens(text, Span::new(0, text.len())) {
        let word = &text[t.span.range()];
        match t.kind {
            TokenKind::Word => {
                // the same name may be declared several times: every one of them must do
                let mut named = body.symbols.iter_ids().filter(|(_, s)| &*s.name == word).peekable();
                if named.peek().is_none() {
                    return Err(bad("names a variable that the function does not use"));
                }
                let written = |s| {
                    body.walk(c.term)
                        .any(|x| body.op(x).is_write() && body.as_symbol(body.args(x)[0]) == Some(s))
                };
                for (s, symbol) in named {
                    if body.types.as_int(symbol.ty) != Some(c.ty) || !symbol.is_own_scalar() {
                        return Err(bad("is not made of variables of the index's type"));
                    }
                    if written(s) {
                        return Err(bad("changes in the loop"));
                    }
                }
            }
            TokenKind::Literal if word.chars().all(|c| c.is_ascii_digit()) => {}
            TokenKind::Sign(b'+' | b'-' | b'*' | b'/' | b'(' | b')') => {}
            _ => return Err(bad("is not an expression of numbers and variables")),
        }
    }
    let simple = text.chars().all(|c| c.is_alphanumeric() || c == '_');
    let text = if simple { text.to_owned() } else { format!("({text})") };
    Ok(Point { text, below_end: false, above_start: false })
}

/// Where a condition of the body on the index changes its value.
fn from_condition(site: &Site<'_>, c: &Counted<'_>) -> Result<Point, Refusal> {
    let body = site.body();
    for t in body.walk(body.args(c.term)[3]) {
        let Op::If = body.op(t) else { continue };
        let cond = body.args(t)[0];
        let Op::Binary(op) = *body.op(cond) else { continue };
        let (x, y) = (body.args(cond)[0], body.args(cond)[1]);
        let (op, other) = match (body.as_symbol(x), body.as_symbol(y)) {
            (Some(s), _) if s == c.index => (op, y),
            (_, Some(s)) if s == c.index => (op.mirrored(), x),
            _ => continue,
        };
        let more = match op {
            BinOp::Lt | BinOp::Ge => 0,
            BinOp::Le | BinOp::Gt => 1,
            _ => continue,
        };
        let fixed = body.walk(other).all(|z| match body.op(z) {
            Op::Sym(s) => body.symbols[*s].is_own_scalar() && !site.written_in(c.term, *s),
            Op::Int(_) | Op::Binary(BinOp::Add | BinOp::Sub) => true,
            _ => false,
        });
        let same_type = body.types.as_int(body.ty(other)) == Some(c.ty);
        if !fixed || !same_type {
            continue;
        }
        let (below_end, above_start) = placed(site, c, other, more);
        let text = site.plus(other, more);
        let simple = text.chars().all(|c| c.is_alphanumeric() || c == '_');
        let text = if simple || (below_end && above_start) { text } else { format!("({text})") };
        return Ok(Point { text, below_end, above_start });
    }
    shape("no condition in it says where; say it: --with at=EXPR")
}
