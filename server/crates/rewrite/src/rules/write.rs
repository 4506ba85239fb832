//! A rewritten tree as edits of the text that the old one was read from.
//!
//! What is the same node is the user's own characters, wherever it stands now; what changed is written in the file's
//! indentation, in as few and as small edits as the two trees differ in. Nothing is written into a macro's expansion: a
//! macro's use stays, or goes as a whole. Deliberately absent: whether the text means the tree (it is read again and
//! compared, see `apply`).

use std::cell::Cell;
use std::sync::Arc;

use base::Span;
use term::{strength, Body, Op, Origin, TermId, Types};
use text::Edit;

use super::ctext;
use super::tree::{Subject, Tree};
use crate::limits::rules_write::MAX_DEPTH;
use crate::transform::text::{indentation, line_end, line_start, reindent};

/// Why a tree has no text: words that continue "because".
pub type Unwritable = String;

/// What is needed to write.
pub(super) struct Writer<'a> {
    pub subject: &'a Subject,
    pub body: &'a Body,
    /// The subject's, and those of what rules made.
    pub types: &'a Types,
    /// The file.
    pub text: &'a str,
    /// Where the body begins in it.
    pub start: u32,
    pub(super) parents: Vec<Option<TermId>>,
    /// One level of indentation.
    pub unit: String,
    pub eol: &'static str,
    /// Whether opening braces stand on lines of their own.
    pub brace_below: bool,
    /// Whether the text is CUDA: some words are written otherwise there.
    pub is_cuda: bool,
    /// What goes wherever it stands, such as the marks of loops that are calls now.
    pub gone: Vec<Span>,
    /// What stands where the program's own text stays, with names that are any expression of it; blocks around it have braces.
    pub hole: Option<&'static str>,
    depth: Cell<u32>,
}

/// Where a tree stands, which decides how it is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stands {
    /// In an expression that binds so tightly.
    Inside(u8),
    /// As a statement.
    Statement,
    /// First in a `for`.
    Init,
}

type Out<'o> = &'o mut Vec<Edit>;

impl<'a> Writer<'a> {
    pub fn new(
        subject: &'a Subject,
        body: &'a Body,
        types: &'a Types,
        text: &'a str,
        start: u32,
        is_cuda: bool,
    ) -> Writer<'a> {
        let span = body.span(body.root).shifted(start);
        let own = text.get(span.range()).unwrap_or("");
        let base = indentation(text, span.start as usize).len();
        let widths = own.lines().skip(1).filter(|l| !l.trim().is_empty());
        let unit = widths
            .map(|l| &l[..l.len() - l.trim_start().len()])
            .find(|w| w.len() > base)
            .map_or("    ".to_owned(), |w| w[base.min(w.len())..].to_owned());
        let below = own.lines().filter(|l| l.trim() == "{").count();
        let beside =
            own.lines().filter(|l| l.trim_end().ends_with(") {") || l.trim_end().ends_with("else {")).count();
        Writer {
            subject,
            body,
            types,
            text,
            start,
            parents: body.parents(),
            unit,
            eol: if text.contains("\r\n") { "\r\n" } else { "\n" },
            brace_below: below > beside,
            is_cuda,
            gone: Vec::new(),
            hole: None,
            depth: Cell::new(0),
        }
    }

    /// The edits that make the old root's text the new one's.
    pub fn edits(&self, old: &Tree, new: &Tree) -> Result<Vec<Edit>, Unwritable> {
        let mut out = Vec::new();
        self.change(old, new, Stands::Statement, &mut out)?;
        self.without_gone(Span::new(0, self.text.len()), &mut out);
        out.sort_by_key(|e| (e.span.start, e.span.end));
        Ok(out)
    }
    /// Takes away what goes, where no other edit does.
    fn without_gone(&self, inside: Span, out: Out<'_>) {
        for &g in self.gone.iter().filter(|g| inside.start <= g.start && g.end <= inside.end) {
            if !out.iter().any(|e| e.span.start < g.end && g.start < e.span.end) {
                out.push(Edit::delete(g));
            }
        }
    }

    pub fn slice(&self, span: Span) -> &'a str {
        self.text.get(span.range()).unwrap_or("")
    }
    fn absolute(&self, t: TermId) -> Span {
        self.body.span(t).shifted(self.start)
    }
    /// Where the text of a tree as it was read stands, if it has text of its own.
    pub fn place(&self, n: &Tree) -> Option<Span> {
        self.span(n)
    }
    pub(super) fn span(&self, n: &Tree) -> Option<Span> {
        let t = n.from?;
        if self.body.origin(t) == Origin::Macro {
            let parent = self.parents.get(t.0 as usize).copied().flatten()?;
            // the expansion's outermost term is the macro's use; what is inside it stands nowhere
            if self.body.origin(parent) == Origin::Macro && self.body.span(parent) == self.body.span(t) {
                return None;
            }
        }
        Some(self.absolute(t))
    }
    /// A statement's text with the semicolon that ends it.
    pub(super) fn extent(&self, n: &Tree) -> Result<Span, Unwritable> {
        let shown = || self.subject.print(n);
        let span = self.span(n).ok_or_else(|| format!("`{}` comes out of a macro", shown()))?;
        if matches!(n.op, Op::Case | Op::Default) || n.is("Label") {
            return Err(format!("the label `{}` cannot be moved or replaced", self.slice(span)));
        }
        if n.is("Declaration") || n.is("DeclarationAssignment") || n.is("ArrayDeclaration") {
            let name = n.args.first().and_then(|a| self.subject.word(a)).unwrap_or("");
            if self.slice(span).trim_start_matches(['*', ' ']).starts_with(name) {
                return Err(format!("`{name}` is declared together with others"));
            }
        }
        let text = self.slice(span);
        if text.ends_with(';') || text.ends_with('}') {
            return Ok(span);
        }
        let rest = self.text.get(span.end as usize..).unwrap_or("");
        let gap = rest.len() - rest.trim_start().len();
        match rest.trim_start().starts_with(';') {
            true => Ok(Span { start: span.start, end: span.end + gap as u32 + 1 }),
            false => Err(format!("the end of `{}` is not found", shown())),
        }
    }
    pub fn indent_at(&self, at: u32) -> &'a str {
        indentation(self.text, at as usize)
    }

    // ---- differences

    fn change(&self, old: &Tree, new: &Tree, stands: Stands, out: Out<'_>) -> Result<(), Unwritable> {
        if Arc::ptr_eq(old, new) {
            return Ok(());
        }
        self.deeper(|| {
            let before = out.len();
            let inner = match self.descend(old, new, out) {
                Some(Ok(())) => return Ok(()),
                Some(Err(why)) => Some(why),
                None => None,
            };
            out.truncate(before);
            // of two reasons the one nearer to what is wrong
            self.replace(old, new, stands, out).map_err(|why| inner.unwrap_or(why))
        })
    }
    pub(super) fn deeper<T>(&self, f: impl FnOnce() -> Result<T, Unwritable>) -> Result<T, Unwritable> {
        if self.depth.get() > MAX_DEPTH {
            return Err("it is nested too deeply".to_owned());
        }
        self.depth.set(self.depth.get() + 1);
        let result = f();
        self.depth.set(self.depth.get() - 1);
        result
    }

    fn replace(&self, old: &Tree, new: &Tree, stands: Stands, out: Out<'_>) -> Result<(), Unwritable> {
        let no = || format!("`{}` comes out of a macro", self.subject.print(old));
        match stands {
            Stands::Inside(min) => {
                let span = self.span(old).ok_or_else(no)?;
                // what binds less tightly than its place stood in parentheses, which stay
                let min = if strength::of(&old.op) < min { strength::NONE } else { min };
                out.push(Edit::replace(span, self.expression(new, min)?));
            }
            Stands::Init => {
                let span = self.span(old).ok_or_else(no)?;
                let text = self.slice(span);
                let span = Span {
                    start: span.start,
                    end: span.start + text.trim_end_matches([';', ' ']).len() as u32,
                };
                out.push(Edit::replace(span, ctext::init(self, new)?));
            }
            Stands::Statement => {
                let span = self.extent(old)?;
                let indent = self.indent_at(span.start);
                let text = self.statement(new, indent)?;
                let kept = self.lost_comments(span, &text, indent);
                out.push(Edit::replace(span, kept + &text));
            }
        }
        Ok(())
    }

    /// The comments of a statement that its new text has no more, on lines before it: they are the user's.
    fn lost_comments(&self, span: Span, new: &str, indent: &str) -> String {
        let text = self.slice(span);
        let mut out = String::new();
        let mut at = 0;
        for t in crate::transform::text::tokens(self.text, span) {
            let (start, end) = ((t.span.start - span.start) as usize, (t.span.end - span.start) as usize);
            let gap = text.get(at..start).unwrap_or("");
            let from = span.start + at as u32;
            at = end;
            if self.gone.iter().any(|g| from <= g.start && g.end <= t.span.start) {
                continue;
            }
            for line in gap.lines().map(str::trim).filter(|l| l.starts_with("//") || l.starts_with("/*")) {
                let whole = line.starts_with("//") || line.ends_with("*/");
                if whole && !new.contains(line) {
                    out += &format!("{line}{}{indent}", self.eol);
                }
            }
        }
        out
    }

    /// Changes the parts alone, where the head stays. `None`: they do not fit.
    fn descend(&self, old: &Tree, new: &Tree, out: Out<'_>) -> Option<Result<(), Unwritable>> {
        if old.op != new.op || self.span(old).is_none() {
            return None;
        }
        if old.op == Op::List {
            return Some(self.list(old, new, out));
        }
        if old.args.len() != new.args.len() || old.args.is_empty() {
            return None;
        }
        let same = |k: usize| self.subject.same(&old.args[k], &new.args[k]);
        if let Op::Apply(head) = &old.op {
            return match &**head {
                "DeclarationAssignment" if (0..old.args.len()).all(|k| k == 2 || same(k)) => {
                    Some(self.change(&old.args[2], &new.args[2], Stands::Inside(strength::ASSIGN), out))
                }
                "Dot" | "Arrow" if same(1) => {
                    Some(self.change(&old.args[0], &new.args[0], Stands::Inside(strength::POSTFIX), out))
                }
                "Cast" if same(0) => {
                    Some(self.change(&old.args[1], &new.args[1], Stands::Inside(strength::UNARY), out))
                }
                "Function" => Some(self.function(old, new, out)),
                _ => None,
            };
        }
        if old.args.iter().any(|a| a.from.is_none()) {
            return None;
        }
        for (k, (a, b)) in old.args.iter().zip(new.args.iter()).enumerate() {
            let stands = match (&old.op, k) {
                (Op::For, 0) => Stands::Init,
                (op, k) => Stands::Inside(strength::of_part(op, k)),
            };
            if Arc::ptr_eq(a, b) || self.subject.same(a, b) {
                continue;
            }
            let done = self.change(a, b, stands, out);
            if done.is_err() {
                return Some(done);
            }
        }
        Some(Ok(()))
    }

    fn function(&self, old: &Tree, new: &Tree, out: Out<'_>) -> Result<(), Unwritable> {
        let [mods, ret, name, params, body] = &*old.args else {
            return Err("it is no function".to_owned());
        };
        if !self.subject.same(mods, &new.args[0]) || !self.subject.same(ret, &new.args[1]) {
            return Err("a function's qualifiers and its type are not rewritten yet".to_owned());
        }
        self.parameters(name, params, &new.args[3], out)?;
        if !self.subject.same(name, &new.args[2]) {
            let word = self.subject.word(&new.args[2]).ok_or("a function's name is to be a word")?;
            let span = name.as_symbol().and_then(|s| self.body.symbols.get(s)?.span);
            let span = span.ok_or("the function's name is not found in the text")?.shifted(self.start);
            out.push(Edit::replace(span, word));
        }
        self.change(body, &new.args[4], Stands::Statement, out)
    }

    /// Parameters that are declared otherwise, and new ones behind the others.
    fn parameters(&self, name: &Tree, old: &Tree, new: &Tree, out: Out<'_>) -> Result<(), Unwritable> {
        if self.subject.same(old, new) {
            return Ok(());
        }
        if new.args.len() < old.args.len() {
            return Err("parameters of a function are not taken away".to_owned());
        }
        let places = name
            .as_symbol()
            .and_then(|s| self.body.symbols.get(s)?.span)
            .and_then(|s| parameter_spans(self.text, s.shifted(self.start).end))
            .filter(|p| p.len() == old.args.len())
            .ok_or("the function's parameters are not found in the text")?;
        let written = |p: &Tree| match &*p.args {
            [name, ty] if p.is("Declaration") => {
                let name = self.subject.word(name).ok_or("a parameter's name is to be a word")?;
                ctext::declared(self, ty, name)
            }
            _ => Err(format!("`{}` is no parameter", self.subject.print(p))),
        };
        for ((a, b), span) in old.args.iter().zip(new.args.iter()).zip(&places) {
            if !self.subject.same(a, b) {
                out.push(Edit::replace(*span, written(b)?));
            }
        }
        let Some(last) = places.last() else {
            return Err("a function without parameters is given none".to_owned());
        };
        let mut more = String::new();
        for p in &new.args[old.args.len()..] {
            more += &format!(", {}", written(p)?);
        }
        if !more.is_empty() {
            out.push(Edit::insert(last.end, more));
        }
        Ok(())
    }

    fn list(&self, old: &Tree, new: &Tree, out: Out<'_>) -> Result<(), Unwritable> {
        let Some(span) = self.span(old) else { return Err("a block comes out of a macro".to_owned()) };
        let text = self.slice(span);
        if !text.starts_with('{') {
            if let ([a], [b]) = (&*old.args, &*new.args) {
                let fits = ctext::stands_alone(b) && (b.op != Op::If || a.op == Op::If);
                let fits = fits && self.said_above(new, b).is_empty();
                if fits {
                    return self.change(a, b, Stands::Statement, out);
                }
            }
            let owner = old.from.and_then(|t| self.parents.get(t.0 as usize).copied().flatten());
            let at = owner.map_or(span.start, |p| self.absolute(p).start);
            // the brace goes behind the header, and comments that stand between into the block
            let header = Span { start: at.min(span.start), end: span.start };
            let end = crate::transform::text::tokens(self.text, header).last().map_or(at, |t| t.span.end);
            let between = self.slice(Span { start: end, end: span.start });
            let indent = self.indent_at(at);
            let mut block = ctext::block(self, new, indent)?;
            let mut kept = String::new();
            let mut at = end;
            for g in self.gone.iter().filter(|g| end <= g.start && g.end <= span.start) {
                kept += self.slice(Span { start: at, end: g.start });
                at = g.end;
            }
            kept += self.slice(Span { start: at, end: span.start });
            let said = kept.trim();
            let lost = !said.is_empty() && !block.contains(said);
            if let Some(rest) = block.strip_prefix("{").filter(|_| lost) {
                let inner = format!("{}{indent}{}", self.eol, self.unit);
                let by = if rest.starts_with(self.eol) { "" } else { &inner };
                block = format!("{{{inner}{said}{by}{rest}");
            }
            let line = between.contains('\n') && self.brace_below;
            let by = if line { format!("{}{indent}", self.eol) } else { " ".to_owned() };
            let whole = Span { start: end, end: span.end };
            out.push(Edit::replace(whole, format!("{by}{block}")));
            return Ok(());
        }
        if new.from.is_some() && new.from != old.from {
            out.push(self.other_block(old, span, new)?);
            return Ok(());
        }
        let mut i = 0;
        let mut j = 0;
        for (oi, nj) in self.pairs(old, new).into_iter().chain([(old.args.len(), new.args.len())]) {
            self.gap(old, (i, oi), &new.args[j..nj], out)?;
            if let (Some(a), Some(b)) = (old.args.get(oi), new.args.get(nj)) {
                self.change(a, b, Stands::Statement, out)?;
            }
            (i, j) = (oi + 1, nj + 1);
        }
        Ok(())
    }
    /// Items that are the same or came from the same place, in order.
    fn pairs(&self, old: &Tree, new: &Tree) -> Vec<(usize, usize)> {
        let mut out = Vec::new();
        let mut from = 0;
        for (j, n) in new.args.iter().enumerate() {
            let same = |o: &Tree| Arc::ptr_eq(o, n) || (o.from.is_some() && o.from == n.from && o.op == n.op);
            if let Some(k) = old.args[from..].iter().position(same) {
                out.push((from + k, j));
                from += k + 1;
            }
        }
        out
    }
    /// Statements `range` of a block with braces, replaced by others.
    fn gap(&self, list: &Tree, range: (usize, usize), new: &[Tree], out: Out<'_>) -> Result<(), Unwritable> {
        let old = &list.args[range.0..range.1];
        if old.is_empty() {
            return if new.is_empty() { Ok(()) } else { self.insert(list, range.0, new, out) };
        }
        if old.len() == new.len() {
            for (a, b) in old.iter().zip(new) {
                self.change(a, b, Stands::Statement, out)?;
            }
            return Ok(());
        }
        let mut rest = old;
        if let [first, ..] = new {
            let span = self.extent(&old[0])?;
            let indent = self.indent_at(span.start);
            let alone = self.is_first_on_line(span.start);
            // the first keeps its comments; what can be changed in place is
            if new.len() == 1 || !alone {
                let mut texts = Vec::new();
                for n in new {
                    texts.push(self.statement(n, indent)?);
                }
                let by = if alone { format!("{}{indent}", self.eol) } else { " ".to_owned() };
                out.push(Edit::replace(span, texts.join(&by)));
            } else {
                self.change(&old[0], first, Stands::Statement, out)?;
                let mut text = String::new();
                for n in &new[1..] {
                    text += &format!("{}{indent}{}", self.eol, self.statement(n, indent)?);
                }
                out.push(Edit::insert(self.after(span.end), text));
            }
            rest = &old[1..];
        }
        for gone in rest {
            out.push(Edit::delete(self.whole_lines(self.extent(gone)?)));
        }
        Ok(())
    }
    pub fn is_first_on_line(&self, at: u32) -> bool {
        let start = line_start(self.text, at as usize);
        self.text.get(start..at as usize).is_some_and(|s| s.trim().is_empty())
    }
    /// Behind a statement and the comment that follows it on its line.
    fn after(&self, end: u32) -> u32 {
        let line = line_end(self.text, end as usize);
        let rest = self.text.get(end as usize..line).unwrap_or("");
        let said = rest.trim();
        let comment =
            said.starts_with("//") || (said.starts_with("/*") && said.find("*/") == Some(said.len() - 2));
        if comment && !rest.ends_with('\\') {
            end + rest.trim_end().len() as u32
        } else {
            end
        }
    }
    /// A statement's extent, with its lines if it has them for itself.
    pub fn whole_lines(&self, span: Span) -> Span {
        let end = line_end(self.text, span.end as usize);
        let behind = self.text.get(span.end as usize..end).unwrap_or("").trim();
        if !self.is_first_on_line(span.start) || !behind.is_empty() {
            return span;
        }
        let start = line_start(self.text, span.start as usize);
        let next = self
            .text
            .get(end..)
            .map_or(end, |t| end + if t.starts_with("\r\n") { 2 } else { usize::from(t.starts_with('\n')) });
        Span::new(start, next)
    }
    fn insert(&self, list: &Tree, at: usize, new: &[Tree], out: Out<'_>) -> Result<(), Unwritable> {
        let span = self.span(list).ok_or("a block comes out of a macro")?;
        let first = list.args.iter().find_map(|a| self.extent(a).ok());
        let before = at.checked_sub(1).and_then(|k| list.args.get(k));
        let open = span.start + 1;
        let place = match before {
            Some(b) => self.after(self.extent(b)?.end),
            None => open,
        };
        let one_line =
            !self.slice(span).contains('\n') || first.is_some_and(|f| !self.is_first_on_line(f.start));
        let indent = match first {
            Some(f) if !one_line => self.indent_at(f.start).to_owned(),
            _ => format!("{}{}", self.indent_at(span.start), self.unit),
        };
        let mut text = String::new();
        for n in new {
            let written = self.statement(n, &indent)?;
            text += &if one_line { format!(" {written}") } else { format!("{}{indent}{written}", self.eol) };
        }
        out.push(Edit::insert(place, text));
        Ok(())
    }

    // ---- text

    /// An expression's text, in parentheses if its place asks for them.
    pub fn expression(&self, n: &Tree, min: u8) -> Result<String, Unwritable> {
        ctext::expression(self, n, min)
    }
    /// A statement's text without the indentation before it; its other lines are indented by `indent`.
    pub fn statement(&self, n: &Tree, indent: &str) -> Result<String, Unwritable> {
        self.deeper(|| {
            let bare = n.op == Op::List && self.span(n).is_none_or(|s| !self.slice(s).starts_with('{'));
            if !bare && self.original_of(n).is_some() {
                if let Ok(span) = self.extent(n) {
                    let (text, own) = (self.patched(n, span), self.indent_at(span.start));
                    if let Ok(text) = text {
                        return Ok(reindent(&text, own, indent));
                    }
                }
            }
            ctext::statement(self, n, indent)
        })
    }
    /// What a tree is a changed form of: the node that was read there, with the same head.
    pub(super) fn original_of(&self, n: &Tree) -> Option<&Tree> {
        let old = self.subject.original(n.from?)?;
        (old.op == n.op && self.span(old).is_some()).then_some(old)
    }
    pub(super) fn own_text(&self, n: &Tree) -> Option<Result<String, Unwritable>> {
        self.original_of(n)?;
        let span = self.span(n)?;
        match self.patched(n, span) {
            Ok(text) => Some(Ok(text)),
            Err(_) => None,
        }
    }
    /// The text of a place with its changed parts written anew.
    pub(super) fn patched(&self, n: &Tree, span: Span) -> Result<String, Unwritable> {
        let old = self.original_of(n).ok_or("it was not read from the text")?;
        let mut edits = Vec::new();
        if !Arc::ptr_eq(old, n) {
            match self.descend(old, n, &mut edits) {
                Some(Ok(())) => {}
                Some(Err(why)) => return Err(why),
                None => return Err("its parts changed".to_owned()),
            }
        }
        self.without_gone(span, &mut edits);
        edits.sort_by_key(|e| (e.span.start, e.span.end));
        let mut out = String::new();
        let mut at = span.start;
        for e in edits {
            if e.span.start < at || e.span.end > span.end {
                return Err("its parts overlap".to_owned());
            }
            out.push_str(self.slice(Span { start: at, end: e.span.start }));
            out.push_str(&e.text);
            at = e.span.end;
        }
        out.push_str(self.slice(Span { start: at, end: span.end }));
        Ok(out)
    }
}

/// Where each parameter of the list that opens behind `at` stands: without the white space and comments around it.
fn parameter_spans(text: &str, at: u32) -> Option<Vec<Span>> {
    let rest = Span::new(at as usize, text.len());
    let (mut depth, mut out, mut open): (i32, Vec<Span>, Option<Span>) = (0, Vec::new(), None);
    for t in crate::transform::text::tokens(text, rest) {
        let word = text.get(t.span.range())?;
        match word {
            "(" | "[" => depth += 1,
            ")" | "]" => depth -= 1,
            "{" | ";" => return None,
            _ if depth == 0 => return None,
            _ => {}
        }
        if depth == 0 {
            out.extend(open);
            return Some(out);
        }
        if depth == 1 && word == "(" {
            continue;
        }
        match (word, depth) {
            (",", 1) => out.push(open.take()?),
            _ => open = Some(open.map_or(t.span, |o| Span { start: o.start, end: t.span.end })),
        }
    }
    None
}
