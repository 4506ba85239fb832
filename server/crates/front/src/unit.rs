//! Items of a document and their memo.

use base::Span;
use term::{Reject, RejectKind};

use crate::{marks, Language, Options, Parsed, Unit};

/// What lowering remembers between versions of a document.
#[derive(Debug, Default)]
pub struct Memo {}

/// Lowers a document.
pub fn lower(parsed: &Parsed, _options: &Options, _memo: &mut Memo) -> Unit {
    let reason = match parsed.language() {
        Language::CSharp => "C# is not lowered yet",
        _ => "this front end does not lower functions yet",
    };
    Unit {
        language: parsed.language(),
        items: Vec::new(),
        rejects: vec![Reject {
            kind: RejectKind::Unsupported,
            reason: reason.into(),
            span: Span::new(0, parsed.text().len()),
        }],
        directives: marks::directives(parsed.text(), parsed.lexed()),
    }
}
