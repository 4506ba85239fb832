//! Conditions in words: the contract's short text, and what must be true as the rest of a sentence.

use analysis::ConditionKind;
use term::{FloatKind, TypeKind};

use super::operator;
use crate::place::Place;

/// A condition in words.
pub(crate) struct Condition {
    /// Kebab-case.
    pub kind: &'static str,
    /// `no-alias(a,b)`
    pub text: String,
    /// Continues "it is checked that …".
    pub sentence: String,
}

/// The words of a condition.
pub(crate) fn condition(place: &Place, kind: &ConditionKind) -> Condition {
    let (kind, argument, sentence) = match kind {
        ConditionKind::NoAlias(a, b) => {
            let (a, b) = (place.object(a), place.object(b));
            ("no-alias", format!("{a},{b}"), format!("`{a}` and `{b}` do not overlap"))
        }
        ConditionKind::NoWrap(term) => {
            let text = place.text(*term);
            let sentence = format!("`{text}` does not wrap around");
            ("no-wrap", text, sentence)
        }
        ConditionKind::Bounds { access, length_term, length } => {
            let subscript = match place.body().args(*access) {
                [_, subscript, ..] => place.text(*subscript),
                _ => place.text(*access),
            };
            let length = match (length_term, length) {
                (Some(term), _) => place.text(*term),
                (None, Some(n)) => n.to_string(),
                (None, None) => "length".to_owned(),
            };
            let text = format!("0<={subscript}<{length}");
            let sentence = format!("`{subscript}` is never outside its dimension of length `{length}`");
            ("bounds", text, sentence)
        }
        ConditionKind::InRow { access, stride } => {
            let (access, stride) = (place.text(*access), place.text(*stride));
            let sentence = match access == stride {
                // the length of the row has no words of its own there
                true => format!("rows do not overlap: the column that `{access}` uses stays in its row"),
                false => format!("rows do not overlap: the column in `{access}` stays below `{stride}`"),
            };
            ("in-row", format!("{access},{stride}"), sentence)
        }
        ConditionKind::Injective(term) => {
            let text = place.text(*term);
            let sentence = format!("no two iterations have the same `{text}`");
            ("injective", text, sentence)
        }
        ConditionKind::DistinctRows(rows) => {
            let name = place.object(rows);
            let sentence = format!("no two of the pointers `{name}` show the same memory");
            ("distinct-rows", name, sentence)
        }
        ConditionKind::Pure(function) => {
            let name = place.symbol(*function).to_owned();
            let sentence = format!("`{name}` reads and writes no memory");
            ("pure", name, sentence)
        }
        ConditionKind::Reassociate(op, ty) => {
            let op = operator(*op);
            let name = match place.body().types.kind(*ty) {
                TypeKind::Float(FloatKind::F32) => "float",
                TypeKind::Float(FloatKind::F64) => "double",
                TypeKind::Float(FloatKind::Long) => "long double",
                TypeKind::Int(kind) => kind.c_name(),
                _ => "value",
            };
            let sentence = format!("`{op}` on {name} is regrouped, so the last bits may differ");
            ("reassociate", format!("{name} {op}"), sentence)
        }
        ConditionKind::StepSign(term) => {
            let text = place.text(*term);
            let sentence = format!("the step `{text}` has the sign that the comparison needs");
            ("step-sign", text, sentence)
        }
        ConditionKind::Trips(term) => {
            let line = place.line(*term);
            let sentence = format!("the bound of the loop on line {line} is not below its first value");
            ("trips", format!("line {line}"), sentence)
        }
        ConditionKind::Terminates(term) => {
            let text = place.text(*term);
            let sentence = format!("the loop ends: the index meets `{text}`");
            ("terminates", text, sentence)
        }
    };
    Condition { kind, text: format!("{kind}({argument})"), sentence }
}
