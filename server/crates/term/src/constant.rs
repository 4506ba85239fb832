//! Integer constant expressions, computed in their types as the program does. The one evaluator of terms without variables:
//! of bodies, and of bodies that are still being built.
//!
//! Deliberately absent: what a variable holds (whoever follows values does that), and text (`#if` is evaluated where it is
//! read, before there are types).

use crate::limits::constant::MAX_DEPTH;
use crate::{Arithmetic, BinOp, Body, BodyBuilder, Op, Storage, SymbolId, Term, TermId, Types};

/// Where terms are.
trait Terms {
    fn term(&self, id: TermId) -> &Term;
    fn types(&self) -> &Types;
    fn storage(&self, s: SymbolId) -> Storage;
    fn arithmetic(&self, at: TermId) -> Arithmetic;
}

impl Terms for Body {
    fn term(&self, id: TermId) -> &Term {
        Body::term(self, id)
    }
    fn types(&self) -> &Types {
        &self.types
    }
    fn storage(&self, s: SymbolId) -> Storage {
        self.symbols[s].storage
    }
    fn arithmetic(&self, at: TermId) -> Arithmetic {
        Body::arithmetic(self, at)
    }
}

impl Terms for BodyBuilder {
    fn term(&self, id: TermId) -> &Term {
        self.get(id)
    }
    fn types(&self) -> &Types {
        &self.types
    }
    fn storage(&self, s: SymbolId) -> Storage {
        self.symbols[s].storage
    }
    /// An expression that speaks for itself is not looked into before the body is finished.
    fn arithmetic(&self, _: TermId) -> Arithmetic {
        self.semantics.arithmetic()
    }
}

impl Body {
    /// The value of an integer constant expression.
    pub fn constant(&self, t: TermId) -> Option<i128> {
        value(self, t, 0)
    }
}

impl BodyBuilder {
    /// The value of an integer constant expression.
    pub fn constant(&self, t: TermId) -> Option<i128> {
        value(self, t, 0)
    }
}

fn value(of: &impl Terms, id: TermId, depth: u32) -> Option<i128> {
    if depth > MAX_DEPTH {
        return None;
    }
    let t = of.term(id);
    let kind = of.types().as_int(t.ty)?;
    let kind_of = |k: usize| t.args.get(k).and_then(|&a| of.types().as_int(of.term(a).ty));
    let arg = |k: usize| t.args.get(k).and_then(|&a| value(of, a, depth + 1));
    match &t.op {
        Op::Int(v) => Some(*v),
        Op::Sym(s) => match of.storage(*s) {
            Storage::Constant(v) => Some(v),
            _ => None,
        },
        Op::Unary(op) => of.arithmetic(id).unary(*op, kind, arg(0)?).ok(),
        Op::Cast => Some(kind.wrap(arg(0)?)),
        Op::Select => {
            let chosen = if arg(0)? != 0 { 1 } else { 2 };
            Some(kind.wrap(arg(chosen)?))
        }
        Op::Binary(op) => {
            let (x, y) = (kind_of(0)?, kind_of(1)?);
            let (a, b) = (arg(0)?, arg(1)?);
            // Operands are converted to their common type before anything else is done (C11 6.3.1.8).
            let (a, b) = match op {
                BinOp::Shl | BinOp::Shr => (a, b),
                op if op.is_logical() => (a, b),
                _ => (x.common(y).wrap(a), x.common(y).wrap(b)),
            };
            of.arithmetic(id).binary(*op, kind, a, b).ok()
        }
        _ => None,
    }
}
