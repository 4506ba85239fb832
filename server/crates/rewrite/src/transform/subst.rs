//! A variable replaced in the user's text.

use base::Span;
use rustc_hash::FxHashMap;
use term::strength::{enclosed, of_part, ADD, ATOM, UNARY};
use term::{BinOp, Op, Origin, SymbolId, TermId};

use super::refusal::{shape, Refusal};
use super::site::Site;

/// What stands in a variable's place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Replacement {
    /// `base + offset`; without a base the number alone.
    Shift { base: Option<String>, offset: i128 },
    /// Any expression with the binding strength of its loosest operator (16: a name, number or subscript).
    Text { text: String, strength: u8 },
}

impl Replacement {
    pub(crate) fn shift(base: &str, offset: i128) -> Replacement {
        Replacement::Shift { base: Some(base.to_owned()), offset }
    }
    pub(crate) fn text(text: &str, strength: u8) -> Replacement {
        Replacement::Text { text: text.to_owned(), strength }
    }
    /// The text with `more` added, and its strength.
    fn print(&self, more: i128) -> (String, u8) {
        match self {
            Replacement::Shift { base: None, offset } => {
                let v = offset + more;
                (v.to_string(), if v < 0 { UNARY } else { ATOM })
            }
            Replacement::Shift { base: Some(b), offset } => match offset + more {
                0 => (b.clone(), ATOM),
                v if v < 0 => (format!("{b} - {}", -v), ADD),
                v => (format!("{b} + {v}"), ADD),
            },
            Replacement::Text { text, strength } => match more {
                0 => (text.clone(), *strength),
                _ => {
                    let inner = if *strength < ADD { format!("({text})") } else { text.clone() };
                    match more {
                        v if v < 0 => (format!("{inner} - {}", -v), ADD),
                        v => (format!("{inner} + {v}"), ADD),
                    }
                }
            },
        }
    }
}

/// The text of `span` with the variables replaced; `root` holds all terms of it. Occurrences that come out of a macro
/// cannot be, nor written ones unless the replacement is a place (`writable`).
pub(crate) fn render(
    site: &Site<'_>,
    root: TermId,
    span: Span,
    with: &FxHashMap<SymbolId, Replacement>,
    writable: bool,
) -> Result<String, Refusal> {
    let body = site.body();
    let mut edits: Vec<(Span, String)> = Vec::new();
    let mut stack: Vec<(TermId, Option<(TermId, usize)>)> = vec![(root, None)];
    // parents are needed two levels up
    let mut parent_of: FxHashMap<TermId, (TermId, usize)> = FxHashMap::default();
    while let Some((t, parent)) = stack.pop() {
        if let Some(p) = parent {
            parent_of.insert(t, p);
        }
        stack.extend(body.args(t).iter().enumerate().map(|(k, &a)| (a, Some((t, k)))));
        if matches!(body.op(t), Op::Declare(_)) && body.lengths_at(t).next().is_some() {
            return shape("an array of variable length is declared in the loop");
        }
        let Some(replacement) = body.as_symbol(t).and_then(|s| with.get(&s)) else { continue };
        let at = site.span(t);
        if !span.contains(at) {
            continue;
        }
        if body.origin(t) != Origin::Source {
            return shape(format!("`{}` is used inside a macro", site.name(body.as_symbol(t))));
        }
        let up = parent_of.get(&t).copied();
        if let Some((p, 0)) = up {
            if !writable && (body.op(p).is_write() || matches!(body.op(p), Op::AddrOf)) {
                return shape(format!("`{}` is written in the loop", site.name(body.as_symbol(t))));
            }
            if matches!(body.op(p), Op::SizeOf) {
                return shape("its size is taken");
            }
        }
        // `i + 1` and `i - 1` are folded
        let folded = up.and_then(|(p, k)| {
            let sign = match body.op(p) {
                Op::Binary(BinOp::Add) => 1,
                Op::Binary(BinOp::Sub) if k == 0 => -1,
                _ => return None,
            };
            let other = *body.args(p).get(1 - k)?;
            let plain = [p, other].iter().all(|&x| body.origin(x) == Origin::Source);
            let int = matches!(body.types.as_int(body.ty(other)), Some(term::IntKind::Int));
            let number = site.text_of(other).chars().all(|c| c.is_ascii_digit());
            let value = body.as_int(other).filter(|_| plain && int && number)?;
            let simple = matches!(replacement, Replacement::Shift { .. });
            simple.then_some((p, sign * value))
        });
        let (unit, more) = folded.unwrap_or((t, 0));
        // the text of a folded sum must be just that: no parentheses or comments that would be lost
        let (unit, more) = match site.text_of(unit).chars().any(|c| matches!(c, '(' | ')' | '/')) {
            true => (t, 0),
            false => (unit, more),
        };
        let (text, strength) = replacement.print(more);
        let needed = parent_of.get(&unit).map_or(0, |&(p, k)| of_part(body.op(p), k));
        let text = enclosed(text, strength, needed);
        edits.push((site.span(unit), text));
    }
    edits.sort();
    edits.dedup();
    if edits.windows(2).any(|w| w[1].0.start < w[0].0.end) {
        return shape("its text cannot be taken apart");
    }
    let mut out = String::new();
    let mut from = span.start;
    for (at, text) in edits {
        out.push_str(site.slice(Span { start: from, end: at.start }));
        // `-` before a negative number would read as `--`
        if text.starts_with('-') && out.ends_with('-') {
            out.push(' ');
        }
        out.push_str(&text);
        from = at.end;
    }
    out.push_str(site.slice(Span { start: from, end: span.end }));
    Ok(out)
}
