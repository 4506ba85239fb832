//! Terms as C, for messages about what comes out of a macro and so stands nowhere in the text.
//!
//! Not a code generator: it is cut off when long and its output is read by people alone.

use std::cell::Cell;

use print::Source;
use term::strength::{self, ASSIGN, ATOM, NONE};
use term::{Body, Op, SymbolId, TermId};

use crate::limits::words_terms::{DEPTH, LIMIT};

/// The term as C.
pub(crate) fn term_text(body: &Body, term: TermId) -> String {
    let shown = Shown { body, terms: Cell::new(0), depth: Cell::new(0) };
    print::expression(&shown, term, NONE).unwrap_or_else(|NoText| "…".to_owned())
}

struct Shown<'b> {
    body: &'b Body,
    terms: Cell<u32>,
    depth: Cell<u32>,
}

struct NoText;

impl Source for Shown<'_> {
    type Node = TermId;
    type Error = NoText;
    fn op(&self, t: TermId) -> Op {
        match self.body.op(t) {
            // where every access is looked at there are references, and no pointers
            Op::Member { field, .. } if self.body.semantics.checked_bounds => {
                Op::Member { field: field.clone(), arrow: false }
            }
            op => op.clone(),
        }
    }
    fn len(&self, t: TermId) -> usize {
        self.body.args(t).len()
    }
    fn part(&self, t: TermId, k: usize) -> TermId {
        self.body.args(t)[k]
    }
    /// The type's spelling adds little to a message.
    fn cast(&self, _: TermId) -> Result<Option<String>, NoText> {
        Ok(None)
    }
    fn no_text(&self, _: TermId) -> NoText {
        NoText
    }
    fn within<T>(&self, f: impl FnOnce() -> Result<T, NoText>) -> Result<T, NoText> {
        self.depth.set(self.depth.get() + 1);
        let done = f();
        self.depth.set(self.depth.get() - 1);
        done
    }
    fn own(&self, t: TermId) -> Result<Option<(String, u8)>, NoText> {
        self.terms.set(self.terms.get() + 1);
        if self.depth.get() > DEPTH || self.terms.get() > LIMIT {
            return Ok(Some(("…".to_owned(), ATOM)));
        }
        let body = self.body;
        let text = match (body.op(t), body.args(t)) {
            (Op::Int(v), _) => v.to_string(),
            (Op::Float(v), _) => format!("{:?}", v.get()),
            (Op::Str(s), _) => format!("{s:?}"),
            (Op::Sym(s), _) => name(body, *s).to_owned(),
            (Op::Name(n) | Op::Var(n), _) => n.to_string(),
            (Op::SizeOf | Op::SizeOfType(_), _) => "sizeof(…)".to_owned(),
            (Op::Declare(s), &[]) => name(body, *s).to_owned(),
            (Op::Declare(s), &[init, ..]) => {
                format!("{} = {}", name(body, *s), print::expression(self, init, ASSIGN)?)
            }
            (Op::Return, _) => "return".to_owned(),
            (Op::Break, _) => "break".to_owned(),
            (Op::Continue, _) => "continue".to_owned(),
            (Op::Goto(label), _) => format!("goto {label}"),
            (Op::For, _) => "for (…)".to_owned(),
            (Op::While, _) => "while (…)".to_owned(),
            (Op::DoWhile, _) => "do … while (…)".to_owned(),
            (Op::If, _) => "if (…)".to_owned(),
            (Op::Switch, _) => "switch (…)".to_owned(),
            (Op::Unary(_) | Op::Step { .. } | Op::Cast | Op::Member { .. }, &[_]) => return Ok(None),
            (Op::Deref | Op::AddrOf, &[_]) => return Ok(None),
            (Op::Binary(_) | Op::Assign | Op::Compound(_) | Op::Comma | Op::Index, &[_, _]) => {
                return Ok(None)
            }
            (Op::Select, &[_, _, _]) | (Op::Call, &[_, ..]) => return Ok(None),
            _ => return Ok(Some(("…".to_owned(), ATOM))),
        };
        Ok(Some((text, strength::of(body.op(t)))))
    }
}

fn name(body: &Body, symbol: SymbolId) -> &str {
    body.symbols.get(symbol).map_or("?", |s| &s.name)
}
