//! Terms of the host's side. Rule pages read them in the notation (F1.1), which is their `Display`, and make of them the kernel
//! file's functions and what stands in the user's file.

use std::fmt;

use term::{notation, BinOp, Body, Op, SymbolId, TermId, UnOp};

/// The type that sizes and numbers of iterations are computed in.
pub(crate) const LONG_LONG: &str = "long long";

/// A term. Its text (`Display`) is the notation's, with a head for every operator.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Term {
    /// A name or a type; in the user's file any text of his that binds as a name does.
    Name(String),
    Int(i128),
    /// A number that is 64 bits wide.
    Wide(i128),
    /// A double.
    Float(f64),
    /// Words between quotation marks.
    Words(String),
    List(Vec<Term>),
    /// A head with its arguments.
    Head(&'static str, Vec<Term>),
}

/// The head of a minus before an operand, which the notation writes as a sign.
const NEGATIVE: &str = "-";

impl Term {
    pub(crate) fn name(name: &str) -> Term {
        Term::Name(name.to_owned())
    }
    pub(crate) fn head(head: &'static str, args: Vec<Term>) -> Term {
        Term::Head(head, args)
    }
    pub(crate) fn binary(op: BinOp, left: Term, right: Term) -> Term {
        Term::Head(notation::head(op), vec![left, right])
    }
    pub(crate) fn not(self) -> Term {
        Term::Head("Not", vec![self])
    }
    /// An expression of the program over numbers, with the names that its variables have here; `None`: it is of another kind.
    pub(crate) fn of(
        body: &Body,
        t: TermId,
        named: &mut dyn FnMut(SymbolId) -> Option<Term>,
    ) -> Option<Term> {
        let args = body.args(t);
        Some(match (body.op(t), args) {
            (Op::Int(v), _) => match body.types.as_int(body.ty(t))? {
                term::IntKind::Int => Term::Int(*v),
                kind => Term::cast(kind.c_name(), Term::Int(*v)),
            },
            (Op::Float(v), _) if body.types.as_float(body.ty(t)) == Some(term::FloatKind::F64) => {
                Some(v.get()).filter(|v| v.is_finite() && *v >= 0.0).map(Term::Float)?
            }
            (Op::Sym(s), _) => match body.symbols[*s].storage {
                term::Storage::Constant(v) => Term::Int(v),
                _ => named(*s)?,
            },
            (Op::Unary(UnOp::Not), &[a]) => Term::of(body, a, named)?.not(),
            (Op::Unary(UnOp::Neg), &[a]) => Term::of(body, a, named)?.negative(),
            (Op::Binary(op), &[a, b]) => {
                Term::binary(*op, Term::of(body, a, named)?, Term::of(body, b, named)?)
            }
            (Op::Cast, &[a]) => {
                let ty = body.ty(t);
                let name = match (body.types.as_int(ty), body.types.as_float(ty)) {
                    (Some(k), _) => k.c_name(),
                    (_, Some(term::FloatKind::F64)) => "double",
                    (_, Some(term::FloatKind::F32)) => "float",
                    _ => return None,
                };
                Term::cast(name, Term::of(body, a, named)?)
            }
            _ => return None,
        })
    }
    pub(crate) fn negative(self) -> Term {
        match self {
            Term::Int(v) => Term::Int(-v),
            other => Term::Head(NEGATIVE, vec![other]),
        }
    }
    /// All of several, or one of them; of none: what changes nothing.
    pub(crate) fn all(op: BinOp, items: impl Iterator<Item = Term>) -> Term {
        let joined = items.reduce(|a, b| Term::binary(op, a, b));
        joined.unwrap_or(Term::Int(i128::from(op == BinOp::And)))
    }
    pub(crate) fn cast(ty: &str, of: Term) -> Term {
        Term::Head("Cast", vec![Term::name(ty), of])
    }
    pub(crate) fn call(function: &str, args: Vec<Term>) -> Term {
        let mut all = vec![Term::name(function)];
        all.extend(args);
        Term::Head("MethodCall", all)
    }
    pub(crate) fn deref(self) -> Term {
        Term::Head("Deref", vec![self])
    }
    pub(crate) fn at(self, index: Term) -> Term {
        Term::Head("ArrayElement", vec![self, index])
    }
    pub(crate) fn assign(self, value: Term) -> Term {
        Term::Head("Assignment", vec![self, value])
    }
    pub(crate) fn size_of(self) -> Term {
        Term::Head("SizeOf", vec![self])
    }
    pub(crate) fn declared(name: &str, ty: &str, value: Option<Term>) -> Term {
        let (name, ty) = (Term::name(name), Term::name(ty));
        match value {
            Some(value) => Term::Head("DeclarationAssignment", vec![name, ty, value]),
            None => Term::Head("Declaration", vec![name, ty]),
        }
    }
    /// A sentence for who reads the text; on lines of its own.
    pub(crate) fn comment(words: &str) -> Term {
        Term::Head("Comment", vec![Term::Words(words.to_owned())])
    }
    pub(crate) fn function(
        modifiers: &[&str],
        ty: &str,
        name: &str,
        parameters: Vec<Term>,
        body: Vec<Term>,
    ) -> Term {
        let modifiers = Term::List(modifiers.iter().map(|m| Term::name(m)).collect());
        let all = vec![modifiers, Term::name(ty), Term::name(name), Term::List(parameters), Term::List(body)];
        Term::Head("Function", all)
    }
    pub(crate) fn when(test: Term, then: Vec<Term>) -> Term {
        Term::Head("If", vec![test, Term::List(then)])
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let listed = |f: &mut fmt::Formatter<'_>, all: &[Term]| {
            all.iter().enumerate().try_for_each(|(k, t)| match k {
                0 => write!(f, "{t}"),
                _ => write!(f, ",{t}"),
            })
        };
        match self {
            Term::Name(name) if is_plain(name) => f.write_str(name),
            Term::Name(name) => write!(f, "`{}`", name.replace('\\', "\\\\").replace('`', "\\`")),
            Term::Int(v) => write!(f, "{v}"),
            Term::Wide(v) => write!(f, "{}", Term::cast(LONG_LONG, Term::Int(*v))),
            Term::Float(v) => write!(f, "{v:?}"),
            Term::Words(text) => {
                let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
                write!(f, "\"{text}\"")
            }
            Term::List(items) => {
                f.write_str("[")?;
                listed(f, items)?;
                f.write_str("]")
            }
            Term::Head(NEGATIVE, args) => {
                f.write_str("-(")?;
                listed(f, args)?;
                f.write_str(")")
            }
            Term::Head(head, args) if args.is_empty() => f.write_str(head),
            Term::Head(head, args) => {
                write!(f, "{head}(")?;
                listed(f, args)?;
                f.write_str(")")
            }
        }
    }
}

/// Whether the notation can take a name for nothing else: its own words begin in capitals, but for three.
fn is_plain(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && name.chars().all(is_part)
        && !name.starts_with("bit_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_notation_reads_what_is_written() {
        let n = || Term::name("n");
        let two = Term::binary(BinOp::Sub, Term::cast(LONG_LONG, n()), Term::Int(2));
        let term = Term::List(vec![
            Term::declared("ww_trips_i", LONG_LONG, Some(two.clone().negative())),
            Term::head("Comment", vec![Term::Words("a \"b\" \\ c\nd".to_owned())]),
            Term::when(Term::binary(BinOp::Lt, Term::name("For"), Term::Int(-1)).not(), vec![]),
        ]);
        let read = notation::read(&term.to_string()).unwrap();
        let again = notation::print(&read, read.root);
        assert_eq!(
            again,
            "[DeclarationAssignment(ww_trips_i,`long long`,-(Cast(`long long`,n)-2)),Comment(\"a \\\"b\\\" \\\\ \
             c\\nd\"),If(Not(`For`<(-1)),NIL)]"
        );
    }
}
