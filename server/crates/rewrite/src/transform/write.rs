//! Writing: statements and loops put where the loop stood, in the file's own indentation.

use analysis::LoopId;
use rustc_hash::FxHashMap;
use term::{Op, SymbolId, TermId};
use text::Edit;

use super::refusal::Refusal;
use super::site::{Block, Site, Statement};
use super::subst::{render, Replacement};
use super::text::{indentation, line_start, Lines};

impl Site<'_> {
    /// Lines to be written in the place of a loop.
    pub(crate) fn lines(&self, id: LoopId) -> Lines {
        let text = self.source.text;
        let start = self.span(self.term(id)).start as usize;
        let indent = indentation(text, start);
        let eol = if text.contains("\r\n") { "\r\n" } else { "\n" };
        Lines::new(indent, &self.indent_unit(id), eol, self.block(id).is_ok_and(|b| b.below))
    }
    /// One level of indentation as this function has it.
    pub(crate) fn indent_unit(&self, id: LoopId) -> String {
        let text = self.source.text;
        let item = self.item().span;
        let own = indentation(text, self.span(self.term(id)).start as usize);
        let inner = self.block(id).ok().and_then(|b| b.statements.first().map(|s| s.chunk.whole.start));
        if let Some(at) = inner {
            let deeper = indentation(text, at as usize);
            let alone = line_start(text, at as usize) > self.span(self.term(id)).start as usize;
            if let Some(unit) = deeper.strip_prefix(own).filter(|u| !u.is_empty() && alone) {
                return unit.to_owned();
            }
        }
        let lines = self.slice(item).lines().skip(1);
        let first = lines.map(|l| &l[..l.len() - l.trim_start().len()]).find(|w| !w.is_empty());
        match first {
            Some(w) if w.starts_with('\t') => "\t".to_owned(),
            Some(w) if w.len() <= 8 => w.to_owned(),
            _ => "    ".to_owned(),
        }
    }
    /// Writes a statement of the loop's body with variables replaced.
    pub(crate) fn copy(
        &self,
        lines: &mut Lines,
        s: &Statement,
        root: TermId,
        with: &FxHashMap<SymbolId, Replacement>,
    ) -> Result<(), Refusal> {
        let text = if with.is_empty() {
            self.slice(s.chunk.whole).to_owned()
        } else {
            render(self, root, s.chunk.whole, with, false)?
        };
        lines.code(&text, indentation(self.source.text, s.chunk.whole.start as usize));
        Ok(())
    }
    /// A loop with a header and statements as they stand; braces where it takes them.
    pub(crate) fn write_loop(
        &self,
        lines: &mut Lines,
        header: &str,
        block: &Block,
        statements: &[&Statement],
    ) -> Result<(), Refusal> {
        self.write_loop_with(lines, header, block, statements, TermId(0), &FxHashMap::default())
    }
    pub(crate) fn write_loop_with(
        &self,
        lines: &mut Lines,
        header: &str,
        block: &Block,
        statements: &[&Statement],
        root: TermId,
        with: &FxHashMap<SymbolId, Replacement>,
    ) -> Result<(), Refusal> {
        let bare = !block.braces && statements.len() == 1;
        if bare {
            lines.line(header);
            lines.deeper();
        } else {
            lines.open(header);
        }
        for s in statements {
            self.copy(lines, s, root, with)?;
        }
        if bare {
            lines.shallower();
        } else {
            lines.close();
        }
        Ok(())
    }

    /// The edit that puts lines in the place of a loop; `statements`: how many statements they are, so that a loop that
    /// is the only statement of something else gets braces. An `if` counts as none: it must not take an `else` that
    /// stands behind it.
    pub(crate) fn replace(
        &self,
        id: LoopId,
        statements: usize,
        write: impl FnOnce(&mut Lines) -> Result<(), Refusal>,
    ) -> Result<Vec<Edit>, Refusal> {
        let t = self.term(id);
        let span = self.span(t);
        let text = self.source.text;
        let indent = indentation(text, span.start as usize).to_owned();
        let mut lines = self.lines(id);
        let bare = statements != 1 && !self.in_braces(t);
        if bare {
            lines.open("");
        }
        write(&mut lines)?;
        if bare {
            lines.close();
        }
        Ok(vec![Edit::replace(span, lines.finish(&indent))])
    }
    /// Whether the statement stands among others in a block with braces.
    pub(crate) fn in_braces(&self, t: TermId) -> bool {
        let Some(list) = self.parent(t) else { return false };
        // behind a label only one statement, and no declaration, may stand
        let all = self.body().args(list);
        let before = all.iter().position(|&x| x == t).and_then(|k| all.get(k.checked_sub(1)?));
        if before.is_some_and(|&x| matches!(self.body().op(x), Op::Label(_) | Op::Case | Op::Default)) {
            return false;
        }
        *self.body().op(list) == Op::List
            && self.text_of(list).starts_with('{')
            && self.text_of(list).ends_with('}')
            && self.span(list) != self.span(t)
    }
}
