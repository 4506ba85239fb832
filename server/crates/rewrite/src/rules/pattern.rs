//! What a rule looks for and what it puts there: the same shapes on both sides of the arrow.
//!
//! Deliberately absent: reading them from text (`syntax`, `quoted`) and matching (`matching`).

use std::sync::Arc;

use term::device::{Scope, Tally, Word};
use term::{FloatKind, IntKind, Op, TypeKind};

use super::tree::{Node, Subject, Tree};

/// A tree with places left open.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Pattern {
    /// `$x`, `$x:int`. The same variable twice stands for equal trees.
    Variable { name: Arc<str>, test: Option<TypeTest> },
    /// `[$head:$tail]`: a list of at least one.
    Cons(Box<Pattern>, Box<Pattern>),
    /// A word, number or text.
    Literal(Literal),
    /// A head with its arguments, each in its place; `NIL` is the list of none.
    Term(Op, Vec<Pattern>),
}

/// What has no parts.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Literal {
    /// A variable, function, field, type or macro by its name.
    Word(Arc<str>),
    /// `None`: of type `int`, as in notation.
    Int(i128, Option<IntKind>),
    /// `None`: of type `double`.
    Float(term::F64, Option<FloatKind>),
    Text(Arc<str>),
}

/// What `$x:…` and `type($x,…)` ask of an expression's type.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum TypeTest {
    /// `integer`: any integer type.
    Integer,
    /// `floating`: `float` or `double`.
    Floating,
    /// `arithmetic`
    Arithmetic,
    /// `pointer`: an array counts.
    Pointer,
    /// A type by its text, qualifiers aside.
    Exactly(Arc<str>),
}

impl TypeTest {
    pub fn of(word: &str) -> TypeTest {
        match word {
            "integer" => TypeTest::Integer,
            "floating" => TypeTest::Floating,
            "arithmetic" => TypeTest::Arithmetic,
            "pointer" => TypeTest::Pointer,
            other => TypeTest::Exactly(other.into()),
        }
    }
    pub fn word(&self) -> &str {
        match self {
            TypeTest::Integer => "integer",
            TypeTest::Floating => "floating",
            TypeTest::Arithmetic => "arithmetic",
            TypeTest::Pointer => "pointer",
            TypeTest::Exactly(t) => t,
        }
    }
    /// Whether the expression has such a type; one whose type is not known has not.
    pub fn holds(&self, types: &term::Types, n: &Node) -> bool {
        let Some(ty) = n.ty else { return false };
        match (self, types.kind(ty)) {
            (TypeTest::Integer, TypeKind::Int(_)) => true,
            (TypeTest::Floating, TypeKind::Float(FloatKind::F32 | FloatKind::F64)) => true,
            (TypeTest::Arithmetic, TypeKind::Int(_) | TypeKind::Float(_)) => true,
            (TypeTest::Pointer, TypeKind::Pointer { .. } | TypeKind::Array { .. }) => true,
            // in notation a type is its text
            (TypeTest::Pointer, TypeKind::Opaque(text)) => text.ends_with('*'),
            (TypeTest::Exactly(text), kind) => match kind {
                TypeKind::Int(k) => **text == *k.c_name() || (&**text == "unsigned" && *k == IntKind::UInt),
                TypeKind::Float(k) => {
                    **text
                        == *match k {
                            FloatKind::F32 => "float",
                            FloatKind::F64 => "double",
                            FloatKind::Long => "long double",
                        }
                }
                _ => **text == *term::notation::type_text(types, ty),
            },
            _ => false,
        }
    }
}

/// Words of the papers' notation that stand for something a program writes otherwise.
const CALLS: [(&str, Word); 2] = [
    ("SyncThreads", Word::Barrier(Scope::Block, Tally::Nothing)),
    ("SyncWarp", Word::Barrier(Scope::Warp, Tally::Nothing)),
];

/// Which arguments of a head are blocks: a lone statement there is a list of one.
pub(super) fn blocks(op: &Op, args: usize) -> &'static [usize] {
    match op {
        Op::If if args > 2 => &[1, 2],
        Op::If | Op::While | Op::Switch => &[1],
        Op::For => &[3],
        Op::DoWhile => &[0],
        Op::Apply(h) if &**h == "Function" && args == 5 => &[4],
        _ => &[],
    }
}

fn is_statement_hole(subject: &Subject, n: &Node) -> bool {
    subject.word(n).is_some_and(|w| w.starts_with(super::quoted::STATEMENT))
}

impl Pattern {
    pub fn variable(name: &str) -> Pattern {
        Pattern::Variable { name: name.into(), test: None }
    }
    pub fn word(text: &str) -> Pattern {
        Pattern::Literal(Literal::Word(text.into()))
    }
    pub fn as_variable(&self) -> Option<Arc<str>> {
        match self {
            Pattern::Variable { name, .. } => Some(name.clone()),
            _ => None,
        }
    }
    pub fn nil() -> Pattern {
        Pattern::Term(Op::List, Vec::new())
    }

    /// The pattern a tree read from notation or from quoted source is; `hole` says which words are variables there.
    pub(super) fn of(subject: &Subject, n: &Tree, hole: &dyn Fn(&str) -> Option<Arc<str>>) -> Pattern {
        if let Some(word) = subject.word(n) {
            if let Some(name) = hole(word) {
                return Pattern::Variable { name, test: None };
            }
            if let Some((_, function)) = CALLS.iter().find(|c| c.0 == word) {
                return Pattern::Term(Op::Call, vec![Pattern::word(gpu::CUDA.said(*function))]);
            }
            return Pattern::word(word);
        }
        let kind = n.ty.map(|t| subject.types.kind(t));
        match &n.op {
            Op::Var(name) => {
                let test = kind.map(|k| match k {
                    TypeKind::Opaque(word) => TypeTest::of(word),
                    TypeKind::Int(k) => TypeTest::of(k.c_name()),
                    TypeKind::Float(FloatKind::F32) => TypeTest::of("float"),
                    TypeKind::Float(FloatKind::F64) => TypeTest::of("double"),
                    _ => TypeTest::of(&term::notation::type_text(
                        &subject.types,
                        n.ty.unwrap_or(term::TypeId(0)),
                    )),
                });
                Pattern::Variable { name: name.clone(), test }
            }
            Op::Cons if n.args.len() == 2 => Pattern::Cons(
                Box::new(Pattern::of(subject, &n.args[0], hole)),
                Box::new(Pattern::of(subject, &n.args[1], hole)),
            ),
            Op::Int(v) => Pattern::Literal(Literal::Int(
                *v,
                match kind {
                    Some(TypeKind::Int(k)) if *k != IntKind::Int => Some(*k),
                    _ => None,
                },
            )),
            Op::Float(v) => Pattern::Literal(Literal::Float(
                *v,
                match kind {
                    Some(TypeKind::Float(k)) if *k != FloatKind::F64 => Some(*k),
                    _ => None,
                },
            )),
            Op::Str(s) => Pattern::Literal(Literal::Text(s.clone())),
            // a call of nothing stands for a statement, see `quoted`
            Op::Call if n.args.len() == 1 && is_statement_hole(subject, &n.args[0]) => {
                Pattern::of(subject, &n.args[0], hole)
            }
            op => {
                let mut args: Vec<Pattern> = n.args.iter().map(|a| Pattern::of(subject, a, hole)).collect();
                // `for (…) $body` speaks of the whole block, with or without braces
                for &k in blocks(op, args.len()) {
                    let lone = n.args[k].args.first().filter(|_| n.args[k].args.len() == 1);
                    let whole =
                        lone.and_then(|l| l.args.first()).is_some_and(|c| is_statement_hole(subject, c));
                    if let (true, Pattern::Term(Op::List, items)) = (whole, &mut args[k]) {
                        if let Some(v) = items.pop() {
                            args[k] = v;
                        }
                    }
                }
                Pattern::term(op.clone(), args)
            }
        }
    }

    /// A head with arguments; lone statements become the blocks they stand for.
    pub fn term(op: Op, mut args: Vec<Pattern>) -> Pattern {
        for &k in blocks(&op, args.len()) {
            let Some(a) = args.get_mut(k) else { continue };
            let is_list =
                matches!(a, Pattern::Variable { .. } | Pattern::Cons(..) | Pattern::Term(Op::List, _));
            if !is_list {
                let lone = std::mem::replace(a, Pattern::nil());
                *a = Pattern::Term(Op::List, vec![lone]);
            }
        }
        Pattern::Term(op, args)
    }

    /// Every variable in it, as often as it stands there.
    pub fn variables<'a>(&'a self, out: &mut Vec<&'a Arc<str>>) {
        match self {
            Pattern::Variable { name, .. } => out.push(name),
            Pattern::Cons(h, t) => {
                h.variables(out);
                t.variables(out);
            }
            Pattern::Literal(_) => {}
            Pattern::Term(_, args) => args.iter().for_each(|a| a.variables(out)),
        }
    }

    /// In the notation of F1.1.
    pub fn text(&self) -> String {
        let mut out = String::new();
        self.write(0, &mut out);
        out
    }
    fn write(&self, min: u8, out: &mut String) {
        let listed = |args: &[Pattern], out: &mut String| {
            for (k, a) in args.iter().enumerate() {
                if k > 0 {
                    out.push(',');
                }
                a.write(0, out);
            }
        };
        match self {
            Pattern::Variable { name, test: None } => out.push_str(&format!("${name}")),
            Pattern::Variable { name, test: Some(t) } => out.push_str(&format!("(${name}:{})", t.word())),
            Pattern::Cons(h, t) => {
                out.push('[');
                h.write(0, out);
                out.push(':');
                t.write(0, out);
                out.push(']');
            }
            Pattern::Literal(Literal::Word(w)) => out.push_str(w),
            Pattern::Literal(Literal::Int(v, _)) => out.push_str(&v.to_string()),
            Pattern::Literal(Literal::Float(v, _)) => out.push_str(&format!("{:?}", v.get())),
            Pattern::Literal(Literal::Text(s)) => out.push_str(&format!("{s:?}")),
            Pattern::Term(Op::List, args) if args.is_empty() => out.push_str("NIL"),
            Pattern::Term(Op::List, args) => {
                out.push('[');
                listed(args, out);
                out.push(']');
            }
            Pattern::Term(Op::Empty, _) => out.push_str("Empty"),
            Pattern::Term(Op::Binary(op), args) if args.len() == 2 => {
                let p = op.precedence();
                if p < min {
                    out.push('(');
                }
                args[0].write(p, out);
                out.push_str(op.symbol());
                args[1].write(p + 1, out);
                if p < min {
                    out.push(')');
                }
            }
            Pattern::Term(op, args) => {
                out.push_str(&super::show::head(op));
                if !(args.is_empty() && matches!(op, Op::Apply(_) | Op::Break | Op::Continue | Op::Return)) {
                    out.push('(');
                    listed(args, out);
                    out.push(')');
                }
            }
        }
    }
}
