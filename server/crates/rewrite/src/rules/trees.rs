//! Trees made by rules as the printer reads them, in whatever language: what is that language's own it says itself.

use print::Source;
use term::Op;

use super::tree::Tree;
use super::write::{Unwritable, Writer};

/// A text and how strongly it binds; `None`: the printer knows it. Or that there is none.
pub(super) type OwnText = Result<Option<(String, u8)>, Unwritable>;

/// A language that trees are written in.
pub(super) struct Words {
    /// As people call it.
    pub(super) name: &'static str,
    /// What it writes in its own way.
    pub(super) own: fn(&Writer<'_>, &Tree) -> OwnText,
}

impl Words {
    /// That a tree cannot be written.
    pub(super) fn no_text<T>(&self, w: &Writer<'_>, n: &Tree) -> Result<T, Unwritable> {
        let short: String = w.subject.print(n).chars().take(60).collect();
        Err(format!("`{short}` has no form in {}", self.name))
    }
    /// An expression's text, in parentheses if its place asks for them.
    pub(super) fn expression(&self, w: &Writer<'_>, n: &Tree, needed: u8) -> Result<String, Unwritable> {
        print::expression(&Trees { w, words: self, of: std::marker::PhantomData }, n, needed)
    }
}

struct Trees<'w, 't> {
    w: &'w Writer<'w>,
    words: &'w Words,
    of: std::marker::PhantomData<&'t Tree>,
}

impl<'t> Source for Trees<'_, 't> {
    type Node = &'t Tree;
    type Error = Unwritable;
    fn op(&self, n: &'t Tree) -> Op {
        n.op.clone()
    }
    fn len(&self, n: &'t Tree) -> usize {
        n.args.len()
    }
    fn part(&self, n: &'t Tree, k: usize) -> &'t Tree {
        &n.args[k]
    }
    fn cast(&self, n: &'t Tree) -> Result<Option<String>, Unwritable> {
        self.words.no_text(self.w, n)
    }
    fn no_text(&self, n: &'t Tree) -> Unwritable {
        self.words.no_text::<()>(self.w, n).err().unwrap_or_default()
    }
    fn within<T>(&self, f: impl FnOnce() -> Result<T, Unwritable>) -> Result<T, Unwritable> {
        self.w.deeper(f)
    }
    fn own(&self, n: &'t Tree) -> OwnText {
        (self.words.own)(self.w, n)
    }
}
