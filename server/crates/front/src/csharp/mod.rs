//! C#: its documents are recognised, and refused with a reason until they are lowered.

use std::sync::Arc;

use base::{CancelToken, Span};
use term::{Reach, Reject, RejectKind};

use crate::language::{Claims, Comments, FrontEnd, Row};
use crate::{Options, Unit};

/// C#.
pub(crate) static ROW: Row = Row {
    name: "csharp",
    title: "C#",
    files: Claims { always: &["cs"], by_text: &[] },
    ids: Claims { always: &["csharp", "c-sharp", "cs"], by_text: &[] },
    extension: "cs",
    comments: Comments { line: "//", block: Some(("/*", "*/")) },
    kernels: false,
    offloads: false,
    linked: &[],
    compiler: None,
    quotes: None,
    front: &CSharp,
};

struct CSharp;

impl FrontEnd for CSharp {
    type Read = ();
    type Memo = ();

    fn read(&self, _text: &str) {}
    /// Any such word: nothing tells comments apart yet.
    fn first_loop(&self, text: &str) -> Option<usize> {
        let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
        let word = words.find(|w| matches!(*w, "for" | "while" | "do" | "foreach"))?;
        Some(word.as_ptr() as usize - text.as_ptr() as usize)
    }
    fn lower(
        &self,
        (text, ()): (&Arc<str>, &()),
        _options: &Options,
        _memory: (&mut (), &CancelToken),
        unit: &mut Unit,
    ) {
        unit.rejects.push(Reject {
            kind: RejectKind::Unsupported,
            reason: "C# is not lowered yet".into(),
            span: Span::new(0, text.len()),
            reach: Reach::Anything,
        });
    }
}
