//! One function of a program: its text, and what is read off it once.

use std::sync::Arc;

use term::{Body, Op, Storage, SymbolId, TermId, TypeId, TypeKind};

use crate::calls::compatible::{fits, same_type};
use crate::calls::constants::Touched;
use crate::calls::held::CalledWith;
use crate::calls::mentions::Mentions;
use crate::calls::shape::Shape;
use crate::Summary;

/// A function of the program.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub name: Arc<str>,
    pub body: Arc<Body>,
    /// Its type and what it returns, in its own body's types.
    pub ty: TypeId,
    pub returns: TypeId,
    /// How it can be written in place of a call.
    pub shape: Option<Shape>,
    pub local: Arc<Local>,
    pub summary: Summary,
    /// Whether another definition may take its place when the program is linked.
    pub weak: bool,
    /// Where it is written, if that is another file.
    pub home: Option<Arc<DefinedIn>>,
    /// Changes when anything changes that facts of a caller may rest on.
    pub(super) key: u64,
    /// Changes when what is said of other files does, of those that it calls, directly or not; 0 where nothing is.
    pub(super) doubt: u64,
}

/// Where a function is written.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct DefinedIn {
    /// The file, as people know it.
    pub file: Arc<str>,
    /// 1-based.
    pub line: u32,
}

/// What is read off a function once, whatever is known of others.
#[derive(Debug)]
pub(crate) struct Local {
    /// Functions of the program that it calls, by name.
    pub calls: Vec<Arc<str>>,
    /// A hash of all in its text that facts about its effects can depend on: not the values of floating constants and
    /// strings.
    pub meaning: u64,
    /// A hash of its type.
    pub signature: u64,
    /// File-scope variables that it may change or point to; `None`: any.
    pub touched: Option<Touched>,
    /// With what it calls functions, by their names.
    pub called_with: Vec<CalledWith>,
    /// What it has to do with `errno` and the floating environment.
    pub mentions: Mentions,
}

/// The function of the program that a call names, and whose type it was declared with; not one of the library.
pub(crate) fn own_callee(body: &Body, call: TermId) -> Option<&term::Symbol> {
    body.callee(call).filter(|&f| is_own(body, f)).map(|f| &body.symbols[f])
}

/// Whether a symbol is a function that is not the library's.
fn is_own(body: &Body, f: SymbolId) -> bool {
    body.symbols[f].storage == Storage::Function && !body.library.contains(&f)
}

/// Whether a call's arguments are as many as a function's parameters, and fit their types. `ty`: the function's, in `from`.
pub(crate) fn arguments_fit(body: &Body, call: TermId, from: &Body, ty: TypeId) -> bool {
    let TypeKind::Function { params, .. } = from.types.kind(ty) else { return false };
    let args = body.args(call).get(1..).unwrap_or(&[]);
    args.len() == params.len()
        && args.iter().zip(params).all(|(&a, &p)| fits(&body.types, body.ty(a), &from.types, p))
}

/// Whether a call by a declaration does what a definition of that type (`ty`, in `from`) does. Besides equal types: where one of the
/// two says `int` and the other `void`, as in programs of an age when only `int` was there, and the call's value is not used. C11 6.2.7p2
/// leaves it undefined; wherever a number comes back in a register nothing else is different.
pub(crate) fn is_declared_as(body: &Body, call: TermId, from: &Body, ty: TypeId) -> bool {
    let Some(symbol) = own_callee(body, call) else { return false };
    let (a, b) = (&body.types, &from.types);
    if same_type(a, symbol.ty, b, ty) {
        return true;
    }
    let (
        TypeKind::Function { ret: declared, params: ps, variadic: false },
        TypeKind::Function { ret: defined, params: qs, variadic: false },
    ) = (a.kind(symbol.ty), b.kind(ty))
    else {
        return false;
    };
    let is_no_value = match (a.kind(*declared), b.kind(*defined)) {
        (TypeKind::Void, TypeKind::Int(_)) => true,
        (TypeKind::Int(_), TypeKind::Void) => !is_value_used(body, call),
        _ => false,
    };
    is_no_value && ps.len() == qs.len() && ps.iter().zip(qs).all(|(&p, &q)| same_type(a, p, b, q))
}

/// Whether anything is made of a term's value: it is no statement.
fn is_value_used(body: &Body, value: TermId) -> bool {
    let is_statement_of = |t: TermId| match body.op(t) {
        Op::List => true,
        Op::If => body.args(t).first() != Some(&value),
        _ => body.loop_parts(t).is_some_and(|parts| parts.body == value),
    };
    body.walk(body.root).any(|t| body.args(t).contains(&value) && !is_statement_of(t))
}

/// The functions a body calls by name, each as often as it does.
pub(crate) fn called(body: &Body) -> impl Iterator<Item = SymbolId> + '_ {
    body.callees().filter(|&f| is_own(body, f))
}
