//! What a function takes from outside: its parameters, and the file-scope variables that it uses. Deliberately absent: values.

use std::sync::Arc;

use term::{BinOp, Body, Len, Op, Storage, SymbolId, TermId, TypeId, TypeKind, UnOp};

use super::layout::{pointee, Layout};
use super::promised::{kept, Kept};

/// What the function takes.
#[derive(Clone, Debug)]
pub(in crate::verify) enum Parameter {
    Size {
        name: Arc<str>,
        max: i128,
        /// Of another value the function leaves at once: the size of a structure, say.
        only: Option<i128>,
        /// One that has a branch entered that leaves, or reports.
        enters: Option<i128>,
    },
    Real {
        double: bool,
    },
    Buffer {
        name: Arc<str>,
        layout: Layout,
        may_alias: bool,
        /// Elements of an array whose rows have the declared length, and that is as long as a row is wide; 0 for plain pointers.
        square: u64,
        /// Whether the function asks whether it points anywhere, so that it may be null.
        asked: bool,
    },
    /// A structure handed over whole, or the place of one that is returned.
    Whole {
        name: Arc<str>,
        layout: Layout,
    },
}

/// A file-scope variable the function uses.
#[derive(Clone, Debug)]
pub(in crate::verify) struct Global {
    pub name: Arc<str>,
    pub layout: Layout,
    pub count: u64,
    pub(in crate::verify) is_size: bool,
    /// Whether nothing may be written into it, and this text does not say what it holds.
    pub(in crate::verify) constant: bool,
    /// Whether nobody looks at it after the run.
    pub(in crate::verify) dead: bool,
}

/// All a run of the function depends on.
#[derive(Clone, Debug)]
pub(in crate::verify) struct Signature {
    pub parameters: Vec<Parameter>,
    pub globals: Vec<Global>,
    /// What inputs must keep to.
    pub promises: Vec<Kept>,
}

impl Signature {
    /// Names of the integers whose values are made up.
    pub(in crate::verify) fn sizes(&self) -> Vec<&str> {
        let parameters = self.parameters.iter().filter_map(|p| match p {
            Parameter::Size { name, .. } => Some(&**name),
            _ => None,
        });
        parameters.chain(self.globals.iter().filter(|g| g.is_size).map(|g| &*g.name)).collect()
    }

    /// Whether some input can have two names for one piece of memory.
    pub(in crate::verify) fn may_overlap(&self) -> bool {
        let places: usize = (self.parameters.iter())
            .map(|p| match p {
                Parameter::Buffer { layout, may_alias, .. } => {
                    usize::from(*may_alias) + 2 * layout.pointers.len()
                }
                _ => 0,
            })
            .sum();
        places > 1
    }
}

/// Reads what a function takes; `Err`: what cannot be made up, in words that follow "because".
pub(in crate::verify) fn signature(body: &Body) -> Result<Signature, String> {
    let list = body.args(body.root).first().copied();
    let mut parameters = Vec::new();
    for &p in list.iter().flat_map(|&l| body.args(l)) {
        let Op::Declare(s) = *body.op(p) else { continue };
        let symbol = &body.symbols[s];
        let unknown = || Err(format!("no input can be made up for the parameter `{}`", symbol.name));
        parameters.push(match body.types.kind(symbol.ty) {
            &TypeKind::Int(k) => {
                let (only, enters) = only(body, s);
                Parameter::Size { name: symbol.name.clone(), max: k.max(), only, enters }
            }
            TypeKind::Float(term::FloatKind::F32) => Parameter::Real { double: false },
            TypeKind::Float(term::FloatKind::F64) => Parameter::Real { double: true },
            TypeKind::Pointer { to, .. } => match pointee(&body.types, *to, 0) {
                Some(layout) => Parameter::Buffer {
                    name: symbol.name.clone(),
                    layout,
                    may_alias: !body.types.quals(symbol.ty).is_restrict,
                    square: square(&body.types, *to),
                    asked: is_asked(body, s),
                },
                None => return unknown(),
            },
            TypeKind::Record(_) => match Layout::of(&body.types, symbol.ty, 0) {
                Some(layout) => Parameter::Whole { name: symbol.name.clone(), layout },
                None => return unknown(),
            },
            _ => return unknown(),
        });
    }
    if let Some(ret) = returned(body).filter(|r| matches!(body.types.kind(*r), TypeKind::Record(_))) {
        match Layout::of(&body.types, ret, 0) {
            Some(layout) => parameters.push(Parameter::Whole { name: "what is returned".into(), layout }),
            None => return Err("what the function returns cannot be compared".to_owned()),
        }
    }
    let mut globals = Vec::new();
    let used: rustc_hash::FxHashSet<SymbolId> =
        body.walk(body.root).filter_map(|t| body.as_symbol(t)).collect();
    'symbols: for (id, symbol) in body.symbols.iter_ids() {
        if !used.contains(&id) || !matches!(symbol.storage, Storage::Global { .. }) {
            continue;
        }
        // the library's own (C11 7.21.1): what is handed over as one is made up by nobody
        let is_pointer = matches!(body.types.kind(symbol.ty), TypeKind::Pointer { .. });
        if is_pointer && matches!(&*symbol.name, "stdin" | "stdout" | "stderr") {
            continue;
        }
        let (mut element, mut count) = (symbol.ty, 1u64);
        while let TypeKind::Array { of, len } = body.types.kind(element) {
            let Len::Const(n) = len else {
                // `const int t[] = { … }` has the length that its text gives
                if body.types.quals(*of).is_const
                    && matches!(symbol.storage, Storage::Global { defined_here: true, .. })
                {
                    continue 'symbols;
                }
                return Err(format!("the size of the array `{}` is not known", symbol.name));
            };
            count = count.saturating_mul(*n);
            element = *of;
        }
        // a constant has the value that its text gives, and may lie where nothing is written; of an array the elements are it
        let constant = [symbol.ty, element].into_iter().any(|t| body.types.quals(t).is_const);
        if constant && matches!(symbol.storage, Storage::Global { defined_here: true, .. }) {
            continue;
        }
        let Some(layout) = Layout::of(&body.types, element, 0) else {
            return Err(format!("no contents can be made up for the variable `{}`", symbol.name));
        };
        let is_size = matches!(body.types.kind(symbol.ty), TypeKind::Int(_));
        globals.push(Global { name: symbol.name.clone(), layout, count, is_size, constant, dead: false });
    }
    Ok(Signature { parameters, globals, promises: kept(body) })
}

/// Whether somewhere it is asked whether a pointer points anywhere: `p != NULL`, `if (p)`, `!p`, `p && …`.
fn is_asked(body: &Body, s: SymbolId) -> bool {
    let is = |t: Option<&TermId>| t.is_some_and(|&t| body.as_symbol(t) == Some(s));
    let is_null = |t: TermId| body.walk(t).all(|x| matches!(body.op(x), Op::Cast | Op::Int(0)));
    body.walk(body.root).any(|t| match (body.op(t), body.args(t)) {
        (Op::Binary(BinOp::Eq | BinOp::Ne), &[a, b]) => {
            is(Some(&a)) && is_null(b) || is(Some(&b)) && is_null(a)
        }
        (Op::Binary(BinOp::And | BinOp::Or), args) => args.iter().any(|a| is(Some(a))),
        (Op::Unary(UnOp::Not) | Op::If | Op::Select, args) => is(args.first()),
        _ => false,
    })
}

/// The number that a parameter has to be so that no branch is entered that leaves, or reports: `if (s != 16) return …`,
/// `if (verbose) printf(…)`; none where what is made up for it will do. And one with which such a branch is entered.
fn only(body: &Body, s: SymbolId) -> (Option<i128>, Option<i128>) {
    let mut in_the_way: Vec<(TermId, bool)> = Vec::new();
    let mut stack = vec![(body.root, false)];
    while let Some((t, in_loop)) = stack.pop() {
        let in_loop = in_loop || body.op(t).is_loop();
        if let (Op::If, &[condition, ref branches @ ..]) = (body.op(t), body.args(t)) {
            let is_asked_alone = |v: i128| says(body, condition, s, v).is_some();
            if [0, 1].into_iter().any(is_asked_alone) {
                let left = branches.iter().zip([true, false]);
                in_the_way.extend(left.filter(|b| leads_out(body, *b.0, in_loop)).map(|b| (condition, b.1)));
            }
        }
        stack.extend(body.args(t).iter().map(|&a| (a, in_loop)));
    }
    let is_open = |v: &i128| {
        in_the_way.iter().all(|&(c, enters)| says(body, c, s, *v).is_none_or(|says| (says != 0) != enters))
    };
    let named = in_the_way.iter().flat_map(|&(c, _)| body.walk(c)).filter_map(|t| body.as_int(t));
    let kind = body.types.as_int(body.symbols[s].ty);
    let fits = |v: &i128| kind.is_some_and(|k| (k.min()..=k.max()).contains(v));
    let near = named.flat_map(|v| [v, v + 1, v - 1]);
    let all: Vec<i128> = [0, 1, -1].into_iter().chain(near).filter(fits).collect();
    let enters = all.iter().copied().find(|v| !is_open(v));
    let only = if [2, 17].iter().all(is_open) { None } else { all.iter().copied().find(is_open) };
    (only, enters)
}

/// Whether a branch ends the function, or in a loop what is done at once: it leaves it, prints, calls.
fn leads_out(body: &Body, branch: TermId, in_loop: bool) -> bool {
    let is_end = |t: TermId| matches!(body.op(t), Op::Return | Op::Goto(_));
    match body.op(branch) {
        _ if in_loop => body.walk(branch).any(|t| is_end(t) || matches!(body.op(t), Op::Break | Op::Call)),
        Op::List => body.args(branch).last().is_some_and(|&last| is_end(last)),
        _ => is_end(branch),
    }
}

/// What an expression is where the variable has the value. `None`: something else is asked, too.
fn says(body: &Body, t: TermId, s: SymbolId, value: i128) -> Option<i128> {
    let of = |t: TermId| says(body, t, s, value);
    match (body.op(t), body.args(t)) {
        (Op::Int(v), _) => Some(*v),
        (Op::Sym(x), _) => (*x == s).then_some(value),
        (Op::Cast, &[inner]) => of(inner),
        (Op::Unary(UnOp::Neg), &[inner]) => of(inner).map(|v| -v),
        (Op::Unary(UnOp::Not), &[inner]) => of(inner).map(|v| i128::from(v == 0)),
        (Op::Binary(op), &[a, b]) => {
            let (a, b) = (of(a)?, of(b)?);
            let holds = match op {
                BinOp::Lt => a < b,
                BinOp::Le => a <= b,
                BinOp::Gt => a > b,
                BinOp::Ge => a >= b,
                BinOp::Eq => a == b,
                BinOp::Ne => a != b,
                BinOp::And => a != 0 && b != 0,
                BinOp::Or => a != 0 || b != 0,
                _ => return None,
            };
            Some(i128::from(holds))
        }
        _ => None,
    }
}

/// How many elements `a` of `double a[][400]` may be used for: a row for each of a row's.
fn square(types: &term::Types, row: TypeId) -> u64 {
    let (mut ty, mut elements, mut longest) = (row, 1u64, 0);
    while let &TypeKind::Array { of, len: Len::Const(n) } = types.kind(ty) {
        (ty, elements, longest) = (of, elements.saturating_mul(n), longest.max(n));
    }
    elements.saturating_mul(longest)
}

fn returned(body: &Body) -> Option<TypeId> {
    let Op::Function(s) = *body.op(body.root) else { return None };
    match body.types.kind(body.symbols[s].ty) {
        TypeKind::Function { ret, .. } => Some(*ret),
        _ => None,
    }
}
