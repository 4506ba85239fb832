//! What older and other dialects of C write: functions without a type, ranges of cases, attributes and assembler names.

use super::*;

impl<'a> Render<'a, '_> {
    /// Notes the attribute list from `k` to `end` for what is declared around it.
    pub(super) fn attributes(&mut self, k: usize, end: usize) -> usize {
        let tokens: Vec<&str> = (k..end).map(|j| self.text(j)).collect();
        let read = attributes::read(&tokens);
        if !read.is_empty() {
            self.out.attributes.push((self.out.infos.len(), read));
        }
        end
    }

    /// Whether `asm("…")` at `k` gives the thing declared before it a name of the assembler's, rather than being a
    /// statement.
    pub(super) fn is_assembler_name(&self, k: usize) -> bool {
        let end = self.group(k + 1);
        let strings =
            end > k + 3 && (k + 2..end - 1).all(|j| self.tokens.get(j).is_some_and(|t| t.kind == Kind::Str));
        let declares = match self.out.last() {
            "]" => true,
            ")" => self.depth == 0,
            last => {
                last.bytes().next().is_some_and(crate::c::lex::is_ident_start)
                    && !matches!(last, "else" | "do" | "return" | "volatile" | "goto" | "inline")
            }
        };
        let goes_on = matches!(self.text(end), ";" | "," | "=" | "__attribute__" | "__attribute" | "{");
        strings && declares && goes_on
    }

    /// The index of the name that begins a function's definition, where no type stands before it. What may be a macro of a
    /// header that was not read is left alone.
    pub(super) fn untyped_function(&self, closing: Closing) -> Option<usize> {
        let mut k = 0;
        loop {
            match self.text(k) {
                "static" | "extern" | "inline" | "__inline" | "__inline__" | "const" | "register" => k += 1,
                "__attribute__" | "__attribute" => k = self.group(k + 1),
                _ => break,
            }
        }
        let name = self.text(k);
        let is_name = self.tokens.get(k).is_some_and(|t| t.kind == Kind::Ident)
            && !crate::c::is_keyword(name)
            && !(self.is_type)(name)
            && !crate::c::looks_like_macro(name)
            && !name.starts_with(crate::c::pp::GAP);
        if !is_name || self.text(k + 1) != "(" {
            return None;
        }
        let end = self.group(k + 1);
        let mut body = end;
        // Declarations of parameters in the style before C89.
        while body < self.tokens.len() && self.text(body) != "{" {
            body += 1;
        }
        let declared = body == end || self.text(body - 1) == ";";
        let header = closing.text != "}";
        (declared && (header || body < self.tokens.len())).then_some(k)
    }

    /// The values of `case a ... b :` at `k`, and the index of its colon.
    pub(super) fn range(&self, k: usize) -> Option<(i128, i128, usize)> {
        let value = |j: usize| -> Option<(i128, usize)> {
            let negative = self.text(j) == "-";
            let j = j + usize::from(negative);
            let (v, _) = crate::c::literal::integer(self.text(j), self.dialect)?;
            Some((if negative { -v } else { v }, j + 1))
        };
        let (first, j) = value(k + 1)?;
        if self.text(j) != "..." {
            return None;
        }
        let (last, j) = value(j + 1)?;
        (self.text(j) == ":" && first <= last && last - first < MAX_CASES).then_some((first, last, j))
    }

    /// A range of cases as one label for each value.
    pub(super) fn cases(&mut self, k: usize) -> usize {
        let (Some((first, last, colon)), Some(token)) = (self.range(k), self.tokens.get(k)) else {
            return self.keep(k);
        };
        let (span, expansion) = (token.span, token.expansion);
        for v in first..=last {
            self.out.push("case", span, expansion, None);
            if v < 0 {
                self.out.push("-", span, expansion, None);
            }
            self.out.push(&v.abs().to_string(), span, expansion, None);
            self.put(colon, Some(":"), None);
        }
        colon + 1
    }
}

/// Whether the tokens of a function's header name its parameters without types (C11 6.9.1p6).
pub(crate) fn is_old_header(tokens: &[PToken], source: &str, is_type: &dyn Fn(&str) -> bool) -> bool {
    let text = |k: usize| tokens.get(k).map_or("", |t| t.text(source));
    if tokens.last().is_some_and(|t| t.text(source) == ";") {
        return true;
    }
    let Some(open) = (0..tokens.len()).find(|&k| text(k) == "(") else { return false };
    let list = tokens.get(open + 1..tokens.len().saturating_sub(1)).unwrap_or(&[]);
    let is_name = |t: &PToken| {
        let word = t.text(source);
        let plain = t.kind == Kind::Ident && !crate::c::is_keyword(word) && !crate::c::looks_like_macro(word);
        plain && !is_type(word)
    };
    let named = |(k, t): (usize, &PToken)| if k % 2 == 0 { is_name(t) } else { t.text(source) == "," };
    text(tokens.len() - 1) == ")" && !list.is_empty() && list.iter().enumerate().all(named)
}
