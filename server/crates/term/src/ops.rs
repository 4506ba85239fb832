//! The heads of terms.

use std::sync::Arc;

use crate::{Overflow, RejectId, SymbolId, TypeId};

/// A double by its bits, so that terms compare and hash.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct F64(u64);

impl F64 {
    /// Wraps a value; the bits are kept.
    pub fn new(value: f64) -> F64 {
        F64(value.to_bits())
    }
    /// The value.
    pub fn get(self) -> f64 {
        f64::from_bits(self.0)
    }
}

impl std::fmt::Debug for F64 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.get())
    }
}

/// Prefix operators without side effects.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UnOp {
    /// `+a`
    Plus,
    /// `-a`
    Neg,
    /// `~a`
    BitNot,
    /// `!a`
    Not,
}

/// Infix operators without side effects of their own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BinOp {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Shl,
    Shr,
    BitAnd,
    BitOr,
    BitXor,
    Lt,
    Le,
    Gt,
    Ge,
    Eq,
    Ne,
    /// `&&`: the right side is evaluated only if the left is true.
    And,
    /// `||`: the right side is evaluated only if the left is false.
    Or,
}

/// The head of a term. The legend after each says its arguments.
///
/// Statements and expressions share one type: an expression that stands where a statement may stand is an
/// expression statement (F1.1 writes `Assignment(k,2)` so).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    // ---- leaves
    /// Nothing: an absent part of a `For`, an empty statement. `[]`
    Empty,
    /// An integer, character or Boolean constant; the term's type says which. `[]`
    Int(i128),
    /// A floating constant, already rounded to the term's type. `[]`
    Float(F64),
    /// A string literal, unescaped. `[]`
    Str(Arc<str>),
    /// A use of a variable or function. `[]`
    Sym(SymbolId),
    /// A name without a symbol: in terms read from notation, and type names as arguments. `[]`
    Name(Arc<str>),
    /// A rule's variable `$x`. `[]`
    Var(Arc<str>),

    // ---- lists
    /// `[t1, …]`: a block (and a scope), or any sequence. `[items…]`
    List,
    /// `[$head : $tail]` in rules. `[head, tail]`
    Cons,

    // ---- expressions
    /// `[operand]`
    Unary(UnOp),
    /// `[left, right]`
    Binary(BinOp),
    /// `left = right`. `[left, right]`
    Assign,
    /// `left op= right`. `[left, right]`
    Compound(BinOp),
    /// `++a`, `a--`, …. `[place]`
    Step {
        /// +1 or −1.
        delta: i8,
        /// Whether the value is that after the step.
        prefix: bool,
    },
    /// `c ? a : b`. `[condition, then, else]`
    Select,
    /// `a, b`. `[first, second]`
    Comma,
    /// A written conversion to the term's own type. Implicit conversions are not terms; see [`crate::Types`]. `[operand]`
    Cast,
    /// `checked(a)`, `unchecked(a)`: what overflow does in the operations written in `a`; see [`crate::Body::overflow`].
    /// `[operand]`
    Arithmetic(Overflow),
    /// `a[i]`; several dimensions nest. `[base, subscript]`
    Index,
    /// `a.f` or `a->f`. `[base]`
    Member {
        /// Field name.
        field: Arc<str>,
        /// Whether written `->`: the base is a pointer.
        arrow: bool,
    },
    /// `*p`. `[pointer]`
    Deref,
    /// `&a`. `[place]`
    AddrOf,
    /// `f(a…)`. `[callee, arguments…]`
    Call,
    /// `f<<<grid, block, shared, stream>>>(a…)`; absent configuration parts are `Empty`. `[callee, grid, block, shared, stream, arguments…]`
    Launch,
    /// `sizeof(type)`. `[]`
    SizeOfType(TypeId),
    /// `sizeof expr` (unevaluated). `[operand]`
    SizeOf,
    /// `{a, b, …}` as an initialiser. `[items…]`
    InitList,

    // ---- statements
    /// A local declaration. `[]` or `[initialiser]`
    Declare(SymbolId),
    /// `[condition, then-List]` or `[condition, then-List, else-List]`
    If,
    /// `[init, condition, step, body-List, marks…]`; absent parts are `Empty`, an init of several declarations is a `List`.
    For,
    /// `[condition, body-List]`
    While,
    /// `[body-List, condition]`
    DoWhile,
    /// `[]`
    Break,
    /// `[]`
    Continue,
    /// `[]`
    Goto(Arc<str>),
    /// A label before the next statement of its list. `[]`
    Label(Arc<str>),
    /// `[value, body-List]`; the body's list holds `Case` and `Default` labels between statements.
    Switch,
    /// A label. `[value]`
    Case,
    /// A label. `[]`
    Default,
    /// `[]` or `[value]`
    Return,

    // ---- the whole
    /// A function. `[parameters-List of Declare, body-List]`
    Function(SymbolId),
    /// File-level declarations or a whole file. `[items…]`
    Program,

    // ---- marks, rules, gaps
    /// The user's request to offload the loop it stands in (F1.4), with an optional kernel name. `[clauses…]`,
    /// a clause being `Apply("collapse")[Int]` and the like.
    Mark(Arc<str>),
    /// Any other head, for rewrite rules: `_InitCuda`, …. `[arguments…]`
    Apply(Arc<str>),
    /// Something not understood; see [`crate::Body::reject`]. Whoever reads terms must treat it as able to do
    /// anything. `[sub-terms that were understood…]`
    Reject(RejectId),
}

impl UnOp {
    /// As written in C.
    pub fn symbol(self) -> &'static str {
        match self {
            UnOp::Plus => "+",
            UnOp::Neg => "-",
            UnOp::BitNot => "~",
            UnOp::Not => "!",
        }
    }
}

impl BinOp {
    /// Every operator, loosest first is not implied.
    pub const ALL: [BinOp; 18] = [
        BinOp::Add,
        BinOp::Sub,
        BinOp::Mul,
        BinOp::Div,
        BinOp::Rem,
        BinOp::Shl,
        BinOp::Shr,
        BinOp::BitAnd,
        BinOp::BitOr,
        BinOp::BitXor,
        BinOp::Lt,
        BinOp::Le,
        BinOp::Gt,
        BinOp::Ge,
        BinOp::Eq,
        BinOp::Ne,
        BinOp::And,
        BinOp::Or,
    ];

    /// As written in C.
    pub fn symbol(self) -> &'static str {
        match self {
            BinOp::Add => "+",
            BinOp::Sub => "-",
            BinOp::Mul => "*",
            BinOp::Div => "/",
            BinOp::Rem => "%",
            BinOp::Shl => "<<",
            BinOp::Shr => ">>",
            BinOp::BitAnd => "&",
            BinOp::BitOr => "|",
            BinOp::BitXor => "^",
            BinOp::Lt => "<",
            BinOp::Le => "<=",
            BinOp::Gt => ">",
            BinOp::Ge => ">=",
            BinOp::Eq => "==",
            BinOp::Ne => "!=",
            BinOp::And => "&&",
            BinOp::Or => "||",
        }
    }

    /// Binding strength in C; higher binds tighter. All are left-associative.
    pub fn precedence(self) -> u8 {
        match self {
            BinOp::Mul | BinOp::Div | BinOp::Rem => 13,
            BinOp::Add | BinOp::Sub => 12,
            BinOp::Shl | BinOp::Shr => 11,
            BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge => 10,
            BinOp::Eq | BinOp::Ne => 9,
            BinOp::BitAnd => 8,
            BinOp::BitXor => 7,
            BinOp::BitOr => 6,
            BinOp::And => 5,
            BinOp::Or => 4,
        }
    }

    /// `<`, `<=`, `>`, `>=`, `==`, `!=`.
    pub fn is_comparison(self) -> bool {
        matches!(self, BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge | BinOp::Eq | BinOp::Ne)
    }

    /// The comparison that holds where this one does not (of whole numbers): `<` for `>=`. Others stay.
    pub fn negated(self) -> BinOp {
        match self {
            BinOp::Lt => BinOp::Ge,
            BinOp::Le => BinOp::Gt,
            BinOp::Gt => BinOp::Le,
            BinOp::Ge => BinOp::Lt,
            BinOp::Eq => BinOp::Ne,
            BinOp::Ne => BinOp::Eq,
            other => other,
        }
    }

    /// The comparison that says the same with its sides exchanged: `<` for `>`. Others stay.
    pub fn mirrored(self) -> BinOp {
        match self {
            BinOp::Lt => BinOp::Gt,
            BinOp::Le => BinOp::Ge,
            BinOp::Gt => BinOp::Lt,
            BinOp::Ge => BinOp::Le,
            other => other,
        }
    }

    /// `&&`, `||`.
    pub fn is_logical(self) -> bool {
        matches!(self, BinOp::And | BinOp::Or)
    }
}

impl Op {
    /// Whether evaluating this node itself writes its first argument.
    pub fn is_write(&self) -> bool {
        matches!(self, Op::Assign | Op::Compound(_) | Op::Step { .. })
    }

    /// Whether the node is a `for`, `while` or `do` loop.
    pub fn is_loop(&self) -> bool {
        matches!(self, Op::For | Op::While | Op::DoWhile)
    }
}
