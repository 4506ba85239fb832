//! C#: documents are parsed whole by tree-sitter, and each member with a body (method, accessor, constructor, operator, the
//! statements of a program without a `Main`) becomes an item and a [`term::Body`] of its own.
//!
//! Terms say what C# says in the words that all languages share. Every conversion that C# makes is a `Cast`; a variable of
//! array type is a pointer with hidden variables beside it that hold its lengths ([`term::Said::lengths`]), so that `a.Length`
//! is a plain variable; fields that a method only reads are parameters of it. Accesses are plain subscripts: that one outside
//! the array throws is said by the row's semantics ([`term::Semantics::CSHARP`]).
//! Members that are one expression are read in the place of their use (`inlined`), and a field of an object that is handed in is a
//! parameter that asks for its object ([`term::Held`]).
//!
//! Deliberately absent: what any loop may do, inference of types across files, and generics beyond their being there. What is
//! not followed is a gap with its reason.

mod access;
mod arrays;
mod calls;
mod conversions;
mod expr;
mod fields;
mod gaps;
mod guarded;
mod inlined;
mod items;
mod literal;
mod loops;
mod member;
mod names;
mod nested;
mod one_expression;
mod operators;
mod outline;
mod parallel;
mod read;
mod stmt;
mod types;

use std::sync::Arc;

use base::CancelToken;

use crate::language::{Claims, Comments, FrontEnd, Row};
use crate::{Edit, Options, Unit};

/// C#.
pub(crate) static ROW: Row = Row {
    name: "csharp",
    title: "C#",
    files: Claims { always: &["cs"], by_text: &[] },
    ids: Claims { always: &["csharp", "c-sharp", "cs"], by_text: &[] },
    extension: "cs",
    comments: COMMENTS,
    kernels: false,
    offloads: true,
    interpreted: false,
    linked: &[],
    compiler: None,
    quotes: None,
    front: &CSharp,
};

const COMMENTS: Comments = Comments { line: "//", block: Some(("/*", "*/")) };

struct CSharp;

impl FrontEnd for CSharp {
    type Read = read::Read;
    type Memo = items::Memo;

    fn read(&self, text: &str) -> read::Read {
        read::read(text)
    }
    /// What changed is found by comparing the texts, so that a wrong edit cannot give a wrong answer.
    fn reread(&self, earlier: (&str, &read::Read), _edits: &[Edit], text: &str) -> read::Read {
        read::reread(earlier, text)
    }
    fn first_loop(&self, text: &str) -> Option<usize> {
        read::first_loop(text)
    }
    fn lower(
        &self,
        source: (&Arc<str>, &read::Read),
        _options: &Options,
        memory: (&mut items::Memo, &CancelToken),
        unit: &mut Unit,
    ) {
        items::lower(source, memory, unit);
    }
}
