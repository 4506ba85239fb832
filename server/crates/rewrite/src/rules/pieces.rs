//! Changed expressions as functions of their own, so that they can be run where their function cannot.
//!
//! A step that puts one expression in the place of another becomes a pair of functions over the variables that occur in it.
//! Deliberately absent: steps whose guards hold only where the expression stands (`noalias`, `uniform`, …), and expressions that
//! write or whose variables have no simple types: of those nothing is said.

use rustc_hash::FxHashSet;
use term::notation::type_text;
use term::{Op, Storage, SymbolId, TypeId, TypeKind, Types};

use super::derivation::{Applied, Derivation};
use super::tree::{Subject, Tree};
use super::write::Writer;
use crate::limits::rules_pieces::MOST;

/// One changed expression: two definitions of the same function, each to stand behind the whole file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Piece {
    /// Of the function: nothing in the file is called so.
    pub name: String,
    pub before: String,
    pub after: String,
    /// `x * 2 -> x + x`, for people.
    pub shown: String,
}

/// Guards that speak of the expression alone, wherever it stands.
const LOCAL: [&str; 7] = ["pure(", "readonly(", "affine(", "const(", "assoc(", "type(", "head("];

/// Every step as a piece; `None` if one of them is none.
pub(super) fn of(
    subject: &Subject,
    types: &Types,
    writer: &Writer<'_>,
    derivation: &Derivation,
    file: &str,
) -> Option<Vec<Piece>> {
    let name = (0..).map(|k| format!("piece{k}")).find(|n| !file.contains(n.as_str()))?;
    let mut pieces: Vec<Piece> = Vec::new();
    for step in &derivation.steps {
        let piece = of_step(subject, types, writer, step, &name)?;
        if !pieces.contains(&piece) {
            pieces.push(piece);
        }
        if pieces.len() > MOST {
            return None;
        }
    }
    (!pieces.is_empty()).then_some(pieces)
}

fn of_step(
    subject: &Subject,
    types: &Types,
    writer: &Writer<'_>,
    step: &Applied,
    name: &str,
) -> Option<Piece> {
    if !step.proofs.iter().all(|p| is_local(&p.guard)) {
        return None;
    }
    let result = step.before.ty?;
    if !is_arithmetic(types, result) {
        return None;
    }
    let mut parameters: Vec<(SymbolId, String)> = Vec::new();
    let mut seen = FxHashSet::default();
    for n in step.before.walk().chain(step.after.walk()) {
        if !evaluates(&n) {
            return None;
        }
        let Some(s) = n.as_symbol().filter(|s| seen.insert(*s)) else { continue };
        let known = subject.symbol(s)?;
        match known.storage {
            // the file's own are there
            Storage::Global { .. } | Storage::Function | Storage::Constant(_) => {}
            Storage::Param(_) | Storage::Local | Storage::StaticLocal { .. } => {
                parameters.push((s, parameter(types, known.ty)?));
            }
            _ => return None,
        }
    }
    let list: Vec<String> = parameters.iter().map(|(s, ty)| format!("{ty} {}", subject.name(*s))).collect();
    let list = if list.is_empty() { "void".to_owned() } else { list.join(", ") };
    let text = |t: &Tree| writer.expression(t, 0).ok();
    let (before, after) = (text(&step.before)?, text(&step.after)?);
    let of = |e: &str| format!("\n{} {name}({list}) {{\n    return {e};\n}}\n", unqualified(types, result));
    Some(Piece {
        name: name.to_owned(),
        shown: format!("{before} -> {after}"),
        before: of(&before),
        after: of(&after),
    })
}

fn is_local(guard: &str) -> bool {
    let named = LOCAL.iter().any(|l| guard.trim_start_matches('!').starts_with(l));
    // comparisons are of constants
    named || ["<", ">", "==", "!="].iter().any(|o| guard.contains(o))
}

/// Whether a head is part of an expression that writes nothing.
fn evaluates(n: &Tree) -> bool {
    match &n.op {
        op if op.is_write() => false,
        Op::Sym(_)
        | Op::Int(_)
        | Op::Float(_)
        | Op::Unary(_)
        | Op::Binary(_)
        | Op::Select
        | Op::Index
        | Op::Deref
        | Op::Call
        | Op::Name(_) => true,
        Op::Apply(h) => matches!(&**h, "Cast"),
        _ => false,
    }
}

fn is_arithmetic(types: &Types, t: TypeId) -> bool {
    matches!(types.kind(t), TypeKind::Int(_) | TypeKind::Float(_))
}

fn unqualified(types: &Types, t: TypeId) -> String {
    let text = type_text(types, t);
    text.split(' ').filter(|w| !matches!(*w, "const" | "volatile" | "_Atomic")).collect::<Vec<_>>().join(" ")
}

/// The type of a parameter that has the variable's value: a number, or where numbers begin.
fn parameter(types: &Types, t: TypeId) -> Option<String> {
    match types.kind(t) {
        _ if is_arithmetic(types, t) => Some(unqualified(types, t)),
        TypeKind::Pointer { to, .. } if is_arithmetic(types, *to) => {
            Some(format!("{} *", unqualified(types, *to)))
        }
        TypeKind::Array { of, .. } if is_arithmetic(types, *of) => {
            Some(format!("{} *", unqualified(types, *of)))
        }
        _ => None,
    }
}
