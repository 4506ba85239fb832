//! C's row among the languages, and the front end that reads C and CUDA.

use std::sync::Arc;

use base::CancelToken;
use term::{Reach, Reject, RejectKind};

use crate::c::dialect::{self, Dialect};
use crate::c::lex::{self, Lexed};
use crate::c::{defines, part, unit};
use crate::language::{Claims, Comments, Compiler, FrontEnd, PartRead, Quoted, Row, Standard};
use crate::{Edit, Options, Unit};

/// C.
pub(crate) static ROW: Row = Row {
    name: "c",
    title: "C",
    files: Claims { always: &["c", "h"], by_text: &[] },
    ids: Claims { always: &["c"], by_text: &[] },
    extension: "c",
    comments: COMMENTS,
    kernels: false,
    offloads: true,
    interpreted: true,
    linked: &["c"],
    compiler: Some(Compiler { standard: Standard::C, reads_all: true, besides: "" }),
    quotes: Some(quoted),
    front: &Family(&dialect::C),
};

/// As in all languages of the family.
pub(crate) const COMMENTS: Comments = Comments { line: "//", block: Some(("/*", "*/")) };

/// Reads texts of a dialect of C.
pub(crate) struct Family(pub(crate) &'static Dialect);

impl FrontEnd for Family {
    type Read = Lexed;
    type Memo = unit::Memo;

    fn is_written_in(&self, text: &str) -> bool {
        (self.0.is_written_in)(text)
    }
    fn first_loop(&self, text: &str) -> Option<usize> {
        let is_loop = |t: &&lex::Token| text.get(t.span().range()).is_some_and(is_loop_word);
        lex::lex(text).tokens.iter().find(is_loop).map(|t| t.start as usize)
    }
    fn may_declare(&self, (text, lexed): (&str, &Lexed), name: &str) -> bool {
        defines::may_declare(text, lexed, name)
    }
    fn read(&self, text: &str) -> Lexed {
        lex::lex(text)
    }
    /// What changed is found by comparing the texts, so that a wrong edit cannot give a wrong answer.
    fn reread(&self, (before, lexed): (&str, &Lexed), _edits: &[Edit], text: &str) -> Lexed {
        lex::relex(before, lexed, text)
    }
    /// C++ has functions of one name, and templates whose instances depend on all of the text.
    fn part(&self, (text, lexed): (&str, &Lexed), at: u32, watched: &[&str]) -> Option<PartRead<Lexed>> {
        if self.0.cpp {
            return None;
        }
        part::part(text, lexed, at, watched)
    }
    fn lower(
        &self,
        source: (&Arc<str>, &Lexed),
        options: &Options,
        memory: (&mut unit::Memo, &CancelToken),
        unit: &mut Unit,
    ) {
        if let Err(reason) = unit::lower(source, self.0, options, memory, unit) {
            let span = base::Span::new(0, source.0.len());
            let (kind, reach) = (RejectKind::Unsupported, Reach::Anything);
            unit.rejects.push(Reject { kind, reason: reason.into(), span, reach });
        }
    }
}

/// Whether a loop begins so.
pub(crate) fn is_loop_word(word: &str) -> bool {
    matches!(word, "for" | "while" | "do")
}

fn quoted(piece: &Quoted<'_>) -> String {
    types(piece) + &function(piece)
}

/// Declarations of the words that stand for types: structures.
pub(crate) fn types(piece: &Quoted<'_>) -> String {
    piece.types.iter().map(|word| format!("typedef struct {word} {{ int x; }} {word};\n")).collect()
}

/// The function that holds the piece.
pub(crate) fn function(piece: &Quoted<'_>) -> String {
    let Quoted { text, function, value, .. } = piece;
    match piece.statements {
        true => format!("void {function}(void) {{ {text} }}\n"),
        false => format!("void {function}(void) {{ {value} = ({text}); }}\n"),
    }
}
