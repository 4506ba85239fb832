//! Conditions and witnesses' values as C text that the marked program evaluates where its loop begins. What cannot be
//! written there is `None`: not known.

use analysis::{Condition, ConditionKind, Expr, MetBy, Object, Param, Pred};
use base::Span;
use term::{Body, Op, Origin, Storage, SymbolId, TermId, TypeKind};

/// A function's text with its terms.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub text: &'a str,
    pub start: usize,
    pub body: &'a Body,
}

impl Source<'_> {
    /// Where a term stands in the file, if it is written there.
    pub(super) fn place(&self, t: TermId) -> Option<(usize, usize)> {
        let s: Span = self.body.span(t);
        let (from, to) = (self.start + s.start as usize, self.start + s.end as usize);
        (self.body.origin(t) == Origin::Source && from < to && self.text.get(from..to).is_some())
            .then_some((from, to))
    }

    /// A term's text, where evaluating it again changes nothing.
    pub(super) fn expression(&self, t: TermId) -> Option<String> {
        if self.body.walk(t).any(|x| self.body.op(x).is_write() || *self.body.op(x) == Op::Call) {
            return None;
        }
        let (from, to) = self.place(t)?;
        let text = &self.text[from..to];
        Some(if text.contains("//") { format!("{text}\n") } else { text.to_owned() })
    }

    /// A variable's name, where it can be named before the loop `l`.
    pub(super) fn variable(&self, s: SymbolId, l: TermId) -> Option<String> {
        let symbol = &self.body.symbols[s];
        match symbol.storage {
            Storage::Path => {
                let term = self.body.path_term(s)?;
                // all rows of a table are no one object
                let is_table = self.body.path_of(term).is_some_and(|p| p.family == s && p.own != s);
                (!is_table).then(|| self.expression(term))?
            }
            Storage::Constant(v) => Some(v.to_string()),
            Storage::Function | Storage::Undeclared | Storage::Builtin | Storage::Shared => None,
            _ => {
                let declared = symbol.span.filter(|d| {
                    let w = self.body.span(l);
                    d.start >= w.start && d.end <= w.end
                });
                (declared.is_none() && !symbol.name.is_empty()).then(|| symbol.name.to_string())
            }
        }
    }

    /// The address of what a variable names or refers to, and the size (0: of the object there).
    pub(super) fn object(&self, s: SymbolId, itself: bool, l: TermId) -> Option<(String, String)> {
        let name = self.variable(s, l)?;
        let symbol = &self.body.symbols[s];
        let pointer = matches!(self.body.types.kind(symbol.ty), TypeKind::Pointer { .. });
        Some(match pointer && !itself {
            true => (format!("(void *)({name})"), "0".to_owned()),
            false => (format!("(void *)&({name})"), format!("sizeof({name})")),
        })
    }

    fn number(&self, v: i128) -> Option<String> {
        let v = i64::try_from(v).ok().filter(|v| *v != i64::MIN)?;
        Some(format!("((__int128){v}ll)"))
    }

    pub(super) fn param(&self, p: &Param, l: TermId) -> Option<String> {
        Some(match p {
            Param::Symbol(s) => {
                self.body.types.as_int(self.body.symbols[*s].ty)?;
                format!("((__int128)({}))", self.variable(*s, l)?)
            }
            Param::Term(t) => {
                self.body.types.as_int(self.body.ty(*t))?;
                format!("((__int128)({}))", self.expression(*t)?)
            }
            Param::Distance { .. } | Param::Row(_) | Param::Longest(_) | Param::End { .. } => return None,
        })
    }

    fn value(&self, e: &Expr, l: TermId) -> Option<String> {
        let all = |es: &[Expr]| es.iter().map(|e| self.value(e, l)).collect::<Option<Vec<_>>>();
        let extreme = |es: &[Expr], rel: &str| {
            all(es)?.into_iter().reduce(|a, b| format!("({a} {rel} {b} ? {a} : {b})"))
        };
        Some(match e {
            Expr::Int(v) => self.number(*v)?,
            Expr::Param(p) => self.param(p, l)?,
            Expr::Add(es) if es.is_empty() => "0".to_owned(),
            Expr::Add(es) => format!("({})", all(es)?.join(" + ")),
            Expr::Mul(c, e) => format!("({} * {})", self.number(*c)?, self.value(e, l)?),
            Expr::Product(a, b) => format!("({} * {})", self.value(a, l)?, self.value(b, l)?),
            Expr::FloorDiv(e, d) => {
                let (e, d) = (self.value(e, l)?, self.number(*d)?);
                format!("({e} / {d} - ({e} % {d} < 0))")
            }
            Expr::Quotient(a, b) => {
                let (a, b) = (self.value(a, l)?, self.value(b, l)?);
                format!("({b} > 0 ? {a} / {b} - ({a} % {b} < 0) : 0)")
            }
            Expr::Min(es) => extreme(es, "<")?,
            Expr::Max(es) => extreme(es, ">")?,
            Expr::Select(c, a, b) => {
                format!("({} ? {} : {})", self.pred(c, l)?, self.value(a, l)?, self.value(b, l)?)
            }
        })
    }

    fn pred(&self, p: &Pred, l: TermId) -> Option<String> {
        let all = |ps: &[Pred], op: &str, none: &str| {
            let ps = ps.iter().map(|p| self.pred(p, l)).collect::<Option<Vec<_>>>()?;
            Some(if ps.is_empty() { none.to_owned() } else { format!("({})", ps.join(op)) })
        };
        Some(match p {
            Pred::True => "1".to_owned(),
            Pred::False => "0".to_owned(),
            Pred::NonNegative(e) => format!("({} >= 0)", self.value(e, l)?),
            Pred::Zero(e) => format!("({} == 0)", self.value(e, l)?),
            Pred::And(ps) => all(ps, " && ", "1")?,
            Pred::Or(ps) => all(ps, " || ", "0")?,
            Pred::Not(p) => format!("(!{})", self.pred(p, l)?),
        })
    }

    fn apart(&self, a: &Object, b: &Object, l: TermId) -> Option<String> {
        let (a, b) = (self.object(a.symbol, false, l)?.0, self.object(b.symbol, false, l)?.0);
        Some(format!("ww_apart({a}, {b})"))
    }

    /// All that the host would test, as one value: 0 no, 1 yes, 2 not known.
    pub(super) fn conditions(&self, conditions: &[Condition], l: TermId) -> String {
        let one = |c: &Condition| match (&c.kind, &c.check) {
            (ConditionKind::NoAlias(a, b), _) => self.apart(a, b, l),
            (_, Some(p)) => Some(format!("({} ? 1 : 0)", self.pred(p, l)?)),
            (_, None) => None,
        };
        let mut out = "1".to_owned();
        // of what the user promises, inputs keep nothing but what they always do
        let kept = |c: &&Condition| matches!(c.kind, ConditionKind::Size { .. } | ConditionKind::Pure(_));
        let counts = |c: &&Condition| match c.met_by {
            MetBy::RunTimeCheck => true,
            MetBy::Assumed => !kept(c),
            MetBy::Proof | MetBy::User => false,
        };
        for c in conditions.iter().filter(counts) {
            out = format!("ww_and({out}, {})", one(c).unwrap_or_else(|| "2".to_owned()));
        }
        out
    }
}
