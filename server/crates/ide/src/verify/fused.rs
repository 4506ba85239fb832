//! Kernels with products that sums take unrounded, as compilers may write them: `a * b + c` as `fma(a, b, c)`.
//!
//! What is fused here is what stands in one expression, of one type, at every such place; a compiler may do so at fewer places, or
//! through variables as well. Deliberately absent: the bound that results are compared by.

use base::Span;
use front::Language;
use term::{BinOp, Body, FloatKind, Op, Origin, TermId};

/// A kernel file's text with its products fused.
pub(super) fn contracted(language: Language, text: &str) -> String {
    let parsed = front::Parsed::parse(language, text);
    let unit = front::lower(&parsed, &front::Options::default(), &mut front::Memo::new());
    let mut edits: Vec<(Span, String)> = Vec::new();
    let of_device = |i: &&front::Item| i.kind == front::ItemKind::Function && (i.is_kernel || i.is_device);
    for item in unit.items.iter().filter(of_device) {
        let at = Source { body: &item.body, text, start: item.span.start };
        at.outermost(item.body.root, &mut edits);
    }
    edits.sort_by_key(|(span, _)| span.start);
    let (mut out, mut done) = (String::with_capacity(text.len()), 0);
    for (span, new) in edits {
        out += text.get(done..span.start as usize).unwrap_or("");
        out += &new;
        done = span.end as usize;
    }
    out + text.get(done..).unwrap_or("")
}

/// A function of the file.
struct Source<'a> {
    body: &'a Body,
    text: &'a str,
    start: u32,
}

/// A sum of a product and a term: `x * y + z`, with signs before the product and before the term.
struct Sum {
    kind: FloatKind,
    product: TermId,
    term: TermId,
    negative: [bool; 2],
}

impl Source<'_> {
    fn span(&self, t: TermId) -> Span {
        self.body.span(t).shifted(self.start)
    }

    /// The places farthest out where something is fused, with what is written there.
    fn outermost(&self, t: TermId, out: &mut Vec<(Span, String)>) {
        match self.fused(t) {
            Some(text) => out.push((self.span(t), text)),
            None => self.body.args(t).iter().for_each(|&a| self.outermost(a, out)),
        }
    }

    /// A term's own text, with what is fused in it.
    fn written(&self, t: TermId) -> String {
        let mut edits = Vec::new();
        self.outermost(t, &mut edits);
        edits.sort_by_key(|(span, _)| span.start);
        let whole = self.span(t);
        let (mut out, mut done) = (String::new(), whole.start as usize);
        for (span, new) in edits {
            out += self.text.get(done..span.start as usize).unwrap_or("");
            out += &new;
            done = span.end as usize;
        }
        out + self.text.get(done..whole.end as usize).unwrap_or("")
    }

    /// A product of floating numbers of a type, written where it stands.
    fn product(&self, t: TermId, kind: FloatKind) -> bool {
        matches!(self.body.op(t), Op::Binary(BinOp::Mul))
            && self.body.types.as_float(self.body.ty(t)) == Some(kind)
            && self.body.origin(t) == Origin::Source
    }

    fn sum(&self, t: TermId) -> Option<Sum> {
        let body = self.body;
        let kind = body.types.as_float(body.ty(t)).filter(|k| *k != FloatKind::Long)?;
        let (op, &[left, right]) = (body.op(t), body.args(t)) else { return None };
        let (minus, is_assigned) = match op {
            Op::Binary(BinOp::Add) => (false, false),
            Op::Binary(BinOp::Sub) => (true, false),
            Op::Compound(BinOp::Add) => (false, true),
            Op::Compound(BinOp::Sub) => (true, true),
            _ => return None,
        };
        if body.origin(t) != Origin::Source {
            return None;
        }
        match () {
            () if !is_assigned && self.product(left, kind) => {
                Some(Sum { kind, product: left, term: right, negative: [false, minus] })
            }
            () if self.product(right, kind) && (!is_assigned || self.is_plain(left)) => {
                Some(Sum { kind, product: right, term: left, negative: [minus, false] })
            }
            () => None,
        }
    }

    /// Whether a place may be named twice.
    fn is_plain(&self, place: TermId) -> bool {
        let changes = |t: TermId| self.body.op(t).is_write() || *self.body.op(t) == Op::Call;
        !self.body.walk(place).any(changes)
    }

    fn fused(&self, t: TermId) -> Option<String> {
        let Sum { kind, product, term, negative: [minus_product, minus_term] } = self.sum(t)?;
        let &[x, y] = self.body.args(product) else { return None };
        let signed = |minus: bool, text: String| if minus { format!("-({text})") } else { text };
        let name = if kind == FloatKind::F32 { "fmaf" } else { "fma" };
        let call = format!(
            "{name}({}, {}, {})",
            signed(minus_product, self.written(x)),
            self.written(y),
            signed(minus_term, self.written(term))
        );
        Some(match self.body.op(t) {
            Op::Compound(_) => format!("{} = {call}", self.written(term)),
            _ => call,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{contracted, Language};

    #[test]
    fn products_are_fused_with_the_sums_around_them() {
        let kernel =
            |body: &str| format!("__global__ void k(int n, float f, double d, double *a) {{ {body} }}\n");
        let check =
            |body: &str, fused: &str| assert_eq!(contracted(Language::Cuda, &kernel(body)), kernel(fused));
        check("d = d * a[n] + 1;", "d = fma(d, a[n], 1);");
        check("d = a[0] - d * (a[1] + d * d);", "d = fma(-(d), fma(d, d, a[1]), a[0]);");
        check("a[n] += d * d;", "a[n] = fma(d, d, a[n]);");
        check("a[n] -= d * d;", "a[n] = fma(-(d), d, a[n]);");
        check("f = f * f - f;", "f = fmaf(f, f, -(f));");
        // of another type, of integers, and where a place would be named twice with effect
        check("d = f * f + d;", "d = f * f + d;");
        check("n = n * n + n;", "n = n * n + n;");
        check("a[n++] += d * d;", "a[n++] += d * d;");
    }
}
