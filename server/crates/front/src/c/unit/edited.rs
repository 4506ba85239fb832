//! One edit inside one function's body, which is most of what happens while somebody types: that function is read again,
//! and nothing else is looked at.
//!
//! What a function leaves to those after it is read off its header, so an edit behind the opening brace changes no other
//! item. That holds only of functions whose text is plain: in one piece, without a directive, a mark or a `_Pragma`, with
//! their braces in pairs. [`Last::edited`] asks all of it of the new text and answers `None` where something fails; then
//! the document is walked through as ever. The result is the same either way (`tests/mangled.rs`).

use std::hash::BuildHasher;
use std::ops::Range;
use std::sync::Arc;

use base::{CancelToken, Span};
use rustc_hash::{FxBuildHasher, FxHashMap};
use term::{Body, Storage};
use text::difference;

use super::{source, Entry, Left, Shared, Walk};
use crate::c::cut::Found;
use crate::c::dialect::Dialect;
use crate::c::env::Env;
use crate::c::include::{HeaderFunction, Including};
use crate::c::lex::{Kind, Lexed};
use crate::c::pp::{Macros, Piece};
use crate::c::row::COMMENTS;
use crate::c::{self, Lowered};
use crate::marks::of_comment;
use crate::{Directive, DirectiveKind, Item, Options, Unit};

/// The document as it was lowered last, with what is needed to lower one of its functions again.
#[derive(Debug)]
pub(crate) struct Last {
    pub(super) text: Arc<str>,
    pub(super) dialect: &'static Dialect,
    pub(super) options: Options,
    pub(super) env: Env,
    /// The functions that headers define.
    pub(super) of_headers: crate::Shared<Arc<str>, Arc<HeaderFunction>>,
    pub(super) plain: Vec<Plain>,
    pub(super) unit: Unit,
}

/// A function that an edit of its body can be confined to.
#[derive(Debug)]
pub(super) struct Plain {
    /// Which item it is.
    pub(super) item: usize,
    pub(super) at: Place,
    pub(super) number: u32,
    pub(super) key: (u64, u64),
    pub(super) macros: Arc<Macros>,
    pub(super) left: Left,
    pub(super) floating_environment: bool,
}

/// Where a function stands, in the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    pub(super) span: Span,
    /// The opening brace of its body.
    pub(super) body: u32,
}

/// The place of a function that was found so, if its text is plain.
pub(super) fn plain(text: &str, found: &Found) -> Option<Place> {
    let is_one_piece = matches!(found.pieces.as_slice(), [Piece::Tokens(_)]);
    let is_whole = found.broken.is_none() && found.missing == 0 && found.instance.is_none();
    let keeps_macros = found.macros.is_none() && found.packs.is_empty();
    let body = found.body.filter(|_| is_one_piece && is_whole && keeps_macros)?;
    // structures without a name are named after the whole text
    let header = text.get(found.start..body)?;
    let place = Place { span: Span::new(found.start, found.end), body: u32::try_from(body).ok()? };
    (!header.contains('{')).then_some(place)
}

/// Whether a text may hold what changes the text around it without being a directive.
pub(crate) fn has_operators(text: &str) -> bool {
    text.contains("_Pragma") || text.contains("__pragma")
}

impl Last {
    /// The document with this text, if it differs from this one inside the body of one plain function.
    pub(super) fn edited(
        &mut self,
        source: (&Arc<str>, &Lexed),
        (dialect, options): (&'static Dialect, &Options),
        entries: &mut FxHashMap<(u64, u64), Entry>,
    ) -> Option<Unit> {
        if !std::ptr::eq(dialect, self.dialect) || *options != self.options {
            return None;
        }
        let (text, lexed) = source;
        let (was, is) = difference(&self.text, text);
        let by = is.len() as i64 - was.len() as i64;
        let k = self.plain.partition_point(|p| (p.at.span.start as usize) < was.start).checked_sub(1)?;
        let Plain { at: old, .. } = *self.plain.get(k)?;
        // behind the opening brace and before the closing one
        if was.start <= old.body as usize || was.end >= old.span.end as usize {
            return None;
        }
        let at = Place { span: Span { start: old.span.start, end: moved(old.span.end, by) }, ..old };
        let tokens = self.plain_tokens(source, old, at)?;
        let lowered = self.lowered(&self.plain[k], source, at, tokens)?;
        // functions of headers come in by the names that the document's functions mention
        let before = &self.unit.items.get(self.plain[k].item)?.body;
        if !self.names_of_headers(before).eq(self.names_of_headers(&lowered.body)) {
            return None;
        }
        self.text = text.clone();
        self.follow(k, lowered.into_item(at.span), by, lexed, entries);
        Some(self.unit.clone())
    }

    /// The tokens of a plain function that stands here now, if nothing in it speaks of more than itself.
    fn plain_tokens(
        &self,
        (text, lexed): (&Arc<str>, &Lexed),
        old: Place,
        at: Place,
    ) -> Option<Range<usize>> {
        let meets = |s: Span| s.start < old.span.end && old.span.start < s.end;
        let speaks = |d: &Directive| {
            let promises = matches!(d.kind, DirectiveKind::Assume(_)) && d.before == old.span.start;
            meets(d.span) || promises
        };
        if has_operators(text.get(at.span.range())?) || self.unit.directives.iter().any(speaks) {
            return None;
        }
        let from = lexed.tokens.partition_point(|t| t.start < at.span.start);
        let to = lexed.tokens.partition_point(|t| t.start < at.span.end);
        let tokens = lexed.tokens.get(from..to)?;
        let is_apart = tokens.first()?.start == at.span.start && tokens.last()?.end == at.span.end;
        if !is_apart || tokens.iter().any(|t| t.kind == Kind::Directive) {
            return None;
        }
        let first = lexed.comments.partition_point(|c| c.span.end <= at.span.start);
        let comments = lexed.comments.get(first..)?.iter().take_while(|c| c.span.start < at.span.end);
        let mut said = comments.filter_map(|c| of_comment(text.get(c.span.range())?, &COMMENTS));
        said.next().is_none().then_some(from..to)
    }

    /// Finds and lowers the function again, if these tokens are one, and a plain one.
    fn lowered(
        &self,
        function: &Plain,
        (text, lexed): (&Arc<str>, &Lexed),
        at: Place,
        tokens: Range<usize>,
    ) -> Option<Lowered> {
        let mut parser = tree_sitter::Parser::new();
        parser.set_language(&tree_sitter_c::LANGUAGE.into()).ok()?;
        let (arms, marks) = (FxHashMap::default(), FxHashMap::default());
        let found = {
            let (mut unit, never) = (Unit::empty(self.unit.language), CancelToken::new());
            let mut shared = Shared {
                dialect: self.dialect,
                macros: function.macros.clone(),
                chain: 0,
                env: Env::default(),
                conditional: None,
                floating_environment: function.floating_environment,
                nested: 0,
                cancel: &never,
                number: function.number,
                parser: &mut parser,
                old: FxHashMap::default(),
                fresh: FxHashMap::default(),
                slots: Vec::new(),
                lent: Vec::new(),
                plain: Vec::new(),
                unit: &mut unit,
                including: Including::new(&self.options),
            };
            let mut walk = Walk {
                text,
                tokens: &lexed.tokens,
                arms: &arms,
                open: Vec::new(),
                marks: &marks,
                header: None,
                s: &mut shared,
            };
            let found = walk.item(tokens.start, tokens.end);
            if found.next != tokens.end || walk.packs_in_body(&found) {
                return None;
            }
            found
        };
        if plain(text, &found) != Some(at) {
            return None;
        }
        let source = source(text, &lexed.tokens, &found, &found.pieces, false);
        let view = self.env.before(function.number);
        Some(c::lower_item(&source, self.dialect, &function.macros, view, &marks, false, &mut parser))
    }

    /// The functions of headers that a body names, in the order in which it does.
    fn names_of_headers<'b>(&'b self, body: &'b Body) -> impl Iterator<Item = &'b Arc<str>> {
        let functions = body.symbols.iter().filter(|s| s.storage == Storage::Function).map(|s| &s.name);
        functions.filter(|name| self.of_headers.get(*name).is_some())
    }

    /// Puts an item in the place of a function, and moves what stands behind it.
    fn follow(
        &mut self,
        k: usize,
        item: Item,
        by: i64,
        lexed: &Lexed,
        entries: &mut FxHashMap<(u64, u64), Entry>,
    ) {
        let end = self.plain[k].at.span.end;
        let follow = |at: &mut u32| *at = if *at >= end { moved(*at, by) } else { *at };
        for p in &mut self.plain[k + 1..] {
            follow(&mut p.at.span.start);
            follow(&mut p.at.span.end);
            follow(&mut p.at.body);
        }
        let function = &mut self.plain[k];
        entries.remove(&function.key);
        let new_text = self.text.get(item.span.range()).unwrap_or("");
        function.key.1 = FxBuildHasher.hash_one(new_text);
        function.at.span = item.span;
        let entry = Entry { text: new_text.into(), item: item.clone(), left: function.left.clone() };
        entries.insert(function.key, entry);

        let index = function.item;
        let lenders = self.unit.lenders.iter_mut();
        for later in self.unit.items[index + 1..].iter_mut().chain(lenders) {
            follow(&mut later.span.start);
            follow(&mut later.span.end);
        }
        self.unit.items[index] = item;
        for d in &mut self.unit.directives {
            follow(&mut d.span.start);
            follow(&mut d.span.end);
            follow(&mut d.before);
            d.line = lexed.line(d.span.start);
        }
        for r in &mut self.unit.rejects {
            follow(&mut r.span.start);
            follow(&mut r.span.end);
        }
    }
}

fn moved(at: u32, by: i64) -> u32 {
    (i64::from(at) + by).clamp(0, i64::from(u32::MAX)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::c::dialect;
    use crate::c::lex;
    use crate::c::unit::{lower, Memo};

    const TEXT: &str = "#define N 8\n\
        static inline int twice(int x) { return 2 * x; }\n\
        void f(float *a) {\n    for (int i = 0; i < N; i++)\n        a[i] = 1;\n}\n\
        // warpwright: offload\n\
        void g(float *a) {\n    for (int i = 0; i < N; i++)\n        a[i] = twice(i);\n}\n\
        int k(void) {\n#ifdef M\n    return 1;\n#endif\n    return 0;\n}\n";

    fn read(text: &str, memo: &mut Memo) -> Unit {
        let (text, lexed) = (Arc::from(text), lex::lex(text));
        let mut unit = Unit::empty(crate::Language::C);
        let memory = (memo, &CancelToken::new());
        lower((&text, &lexed), &dialect::C, &Options::default(), memory, &mut unit).unwrap();
        unit
    }

    /// Whether the edit was confined to a function; the document is the same either way.
    fn is_confined(old: &str, new: &str) -> bool {
        let replaced = TEXT.replacen(old, new, 1);
        assert_ne!(replaced, TEXT);
        let mut memo = Memo::default();
        let before = read(TEXT, &mut memo);
        let (text, lexed) = (Arc::from(replaced.as_str()), lex::lex(&replaced));
        let Memo { entries, last } = &mut memo;
        let asked = (&dialect::C, &Options::default());
        let edited = last.as_mut().unwrap().edited((&text, &lexed), (asked.0, asked.1), entries);
        let fresh = read(&replaced, &mut Memo::default());
        let stepped = edited.clone().unwrap_or_else(|| read(&replaced, &mut memo));
        let show = |u: &Unit| format!("{:?} {:?} {:?}", u.items, u.rejects, u.directives);
        assert_eq!(show(&stepped), show(&fresh), "{replaced}");
        if edited.is_some() {
            let kept = before.items.iter().zip(&stepped.items).filter(|(a, b)| Arc::ptr_eq(&a.body, &b.body));
            assert_eq!(kept.count() + 1, stepped.items.len());
        }
        // and goes on from there
        let again = read(TEXT, &mut memo);
        assert_eq!(show(&again), show(&before));
        edited.is_some()
    }

    #[test]
    fn an_edit_of_a_body_is_confined_to_it() {
        for (old, new) in [
            ("a[i] = 1", "a[i] = 12"),
            ("a[i] = 1;", "a[i] = 1;\n\n        // and\n        a[i]++;"),
            ("a[i] = 1", "{ a[i] = N; }"),
            ("2 * x", "x"),
            ("i++)\n        a[i] = twice(i)", ""),
            ("return 2", "return ((("),
            ("a[i] = 1;", "a[i] = 1; \""),
        ] {
            assert!(is_confined(old, new), "{old} {new}");
        }
    }

    #[test]
    fn what_speaks_of_more_than_the_body_is_not() {
        for (old, new) in [
            ("a[i] = 1;", "a[i] = 1; }"),
            ("a[i] = 1;", "a[i] = 1; {"),
            ("a[i] = 1;", "a[i] = 1; /*"),
            ("a[i] = 1;", "a[i] = 1;\n#undef N\n"),
            ("a[i] = 1;", "_Pragma(\"omp parallel\") a[i] = 1;"),
            ("    for", "    // warpwright: offload\n    for"),
            ("float *a", "double *a"),
            ("#define N 8", "#define N 9"),
            ("return 0", "return 2"),
            ("// warpwright: offload\n", ""),
            ("a[i] = 1;\n}\n", "a[i] = 1;\n}"),
        ] {
            assert!(!is_confined(old, new), "{old} {new}");
        }
    }
}
