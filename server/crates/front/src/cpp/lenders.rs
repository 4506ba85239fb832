//! Functions of the host that are C++ and launch kernels: read for their launches, and for what they give those.
//!
//! What of a parameter's type C cannot say is a pointer to anything; a template's parameters stand for what an instance says, else types for
//! `float`; a class's function is one without its class, wherever it is defined. Nothing else is said of such functions, and nobody calls them: their
//! names mean what they meant ([`crate::Unit::lenders`]).

use std::sync::Arc;

use crate::c::cut::Found;
use crate::c::is_keyword;
use crate::c::lex::Kind;
use crate::c::pp::{Macro, MacroState, Piece, Spliced};
use crate::c::unit::Walk;

impl Walk<'_, '_> {
    /// Takes the function at `k` for its launches, if it has any.
    pub(super) fn lend(&mut self, k: usize, end: usize) {
        if self.header.is_some() || self.s.nested > 0 {
            return;
        }
        let template = self.token(k) == "template" && self.token(k + 1) == "<";
        let from = if template { self.after_angles(k + 1, end) } else { k };
        let to = self.extent(k, end);
        let launches = |j: usize| self.token(j) == "<<" && self.token(j + 1) == "<";
        if to <= from || !(from..to).any(launches) {
            return;
        }
        let templates = self.s.env.templates.clone();
        // a specialisation has no parameters
        let bound = match template && self.token(k + 2) != ">" {
            true => templates.lent(k),
            false => vec![Vec::new()],
        };
        let members = self.launching_members(from, to);
        let functions = if members.is_empty() { vec![(from, to)] } else { members };
        for (bound, &(from, to)) in bound.iter().flat_map(|b| functions.iter().map(move |f| (b, f))) {
            if let Some(mut f) = self.lender(from, to) {
                let begin = if functions.len() > 1 { from } else { k };
                f.start = self.tokens.get(begin).map_or(f.start, |t| t.start as usize);
                let words: Vec<&str> = bound.iter().map(|b: &(Arc<str>, String)| &*b.1).collect();
                f.instance = Some(format!("lends <{}>", words.join(", ")).into());
                let set = bound.iter().map(|(name, text)| {
                    Piece::Set(name.clone(), MacroState::Defined(Arc::new(Macro::object(text))))
                });
                f.pieces.splice(0..0, set.collect::<Vec<_>>());
                self.take_lent(f);
            }
        }
    }

    /// The functions with launches that a class at `from` defines where it declares them.
    fn launching_members(&self, from: usize, to: usize) -> Vec<(usize, usize)> {
        let mut out = Vec::new();
        let tag = matches!(self.token(from), "class" | "struct");
        let Some(open) = (from..to).find(|&j| matches!(self.token(j), "{" | "(" | ";")) else { return out };
        if !tag || self.token(open) != "{" {
            return out;
        }
        if self.hides(open, to) {
            return out;
        }
        let (mut depth, mut begin, mut launches) = (0usize, open + 1, false);
        for j in open + 1..to {
            match self.token(j) {
                "{" => depth += 1,
                "}" => {
                    depth = match depth.checked_sub(1) {
                        Some(d) => d,
                        None => break,
                    };
                    if depth == 0 {
                        out.extend(std::mem::take(&mut launches).then_some((begin, j + 1)));
                        begin = j + 1;
                    }
                }
                ";" if depth == 0 => begin = j + 1,
                ":" if depth == 0 && matches!(self.token(j - 1), "public" | "private" | "protected") => {
                    begin = j + 1
                }
                "<<" if depth > 0 => launches |= self.token(j + 1) == "<",
                _ => {}
            }
        }
        out
    }

    /// Names that are declared between two tokens, at no depth.
    fn declared_directly(&self, from: usize, to: usize) -> Vec<&str> {
        let (mut depth, mut out) = (0usize, Vec::new());
        for j in from..to {
            match self.token(j) {
                "{" | "(" => depth += 1,
                "}" | ")" => depth = depth.saturating_sub(1),
                // perhaps by a macro
                t if t.starts_with('#') => {
                    out.extend(t.split_whitespace().nth(1).map(|w| w.split('(').next().unwrap_or(w)))
                }
                name if depth == 0
                    && self.tokens.get(j).is_some_and(|t| t.kind == Kind::Ident)
                    && matches!(self.token(j + 1), ";" | "=" | "," | "[" | "{") =>
                {
                    out.push(name);
                }
                _ => {}
            }
        }
        out
    }

    /// Whether a class whose body opens at `open` declares a name that the file has declared before: without the class it would be
    /// taken for that.
    fn hides(&self, open: usize, to: usize) -> bool {
        let before = self.declared_directly(0, open);
        self.declared_directly(open + 1, to.saturating_sub(1)).iter().any(|name| before.contains(name))
    }

    /// Whether the function of a class whose list of parameters opens at `open`, defined outside it, uses a name that the file declares and
    /// that may be one of the class: all may be where the class is not seen, or is made of others.
    fn may_use_members(&self, open: usize, to: usize) -> bool {
        let back = |k: usize| open.checked_sub(k).map_or("", |j| self.token(j));
        if back(2) != "::" {
            return false;
        }
        let is_name = |j: usize| self.tokens.get(j).is_some_and(|t| t.kind == Kind::Ident);
        let free = |j: &usize| is_name(*j) && !matches!(self.token(*j - 1), "." | "->" | "::");
        let used: Vec<&str> = (open..to).filter(free).map(|j| self.token(j)).collect();
        let mut theirs = self.declared_directly(0, open);
        theirs.retain(|name| used.contains(name));
        let defined = |j: &usize| {
            matches!(self.token(*j), "class" | "struct")
                && self.token(*j + 1) == back(3)
                && self.token(*j + 2) == "{"
        };
        !theirs.is_empty()
            && (0..open).find(defined).is_none_or(|class| {
                let body = class + 2..self.extent(class, open);
                body.filter(|&j| is_name(j)).any(|j| theirs.contains(&self.token(j)))
            })
    }

    /// The function whose header begins at `from`, with a header that C can say.
    fn lender(&self, from: usize, to: usize) -> Option<Found> {
        let no = ["class", "struct", "union", "enum", "namespace", "extern", "typedef", "using"];
        if no.contains(&self.token(from)) {
            return None;
        }
        let open = (from..to).find(|&j| self.token(j) == "(")?;
        let device = |j: usize| matches!(self.token(j), "__global__" | "__device__" | "operator" | "{" | "=");
        let name = self.before_angles(open.checked_sub(1)?, from);
        let is_name = self.tokens.get(name)?.kind == Kind::Ident;
        if (from..open).any(device) || !is_name || is_keyword(self.token(name)) {
            return None;
        }
        if self.may_use_members(open, to) {
            return None;
        }
        let span = self.tokens.get(open)?.span();
        let word = |text: &str, kind| Spliced { kind, text: text.into(), spaced: true, span };
        let mut header =
            vec![word("void", Kind::Ident), word(self.token(name), Kind::Ident), word("(", Kind::Punct)];
        let mut at = open + 1;
        loop {
            let stop = self.parameter_end(at, to)?;
            if stop > at {
                let value = (at..stop).find(|&j| self.token(j) == "=").unwrap_or(stop);
                self.plain_parameter(at, value, &word, &mut header);
            }
            let last = self.token(stop) == ")";
            header.push(word(self.token(stop), Kind::Punct));
            at = stop + 1;
            if last {
                break;
            }
        }
        let body = (at..to).find(|&j| matches!(self.token(j), "{" | ":" | ";" | "="))?;
        if self.token(body) != "{" {
            return None;
        }
        let mut f = Found { next: to, ..Found::default() };
        f.start = self.tokens.get(from)?.start as usize;
        f.end = self.tokens.get(to - 1)?.end as usize;
        f.body = Some(self.tokens.get(body)?.start as usize);
        f.pieces.push(Piece::Spliced(header.into()));
        // directives inside it are left out: what stands in either of their arms may be run
        let mut piece = body;
        for j in body..to {
            if self.tokens.get(j)?.kind == Kind::Directive {
                f.pieces.push(Piece::Tokens(piece..j));
                piece = j + 1;
            }
        }
        f.pieces.push(Piece::Tokens(piece..to));
        Some(f)
    }

    /// The name before the arguments that a specialisation is for (`scale<float>(`), or the token itself.
    fn before_angles(&self, last: usize, from: usize) -> usize {
        let mut depth = 0usize;
        for j in (from..=last).rev() {
            match self.token(j) {
                ">" => depth += 1,
                "<" if depth > 0 => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return if j == last { last } else { j.saturating_sub(1) };
            }
        }
        last
    }

    /// Index of the `,` or `)` that ends the parameter at `k`.
    fn parameter_end(&self, k: usize, to: usize) -> Option<usize> {
        let (mut depth, mut angles) = (0usize, 0usize);
        for j in k..to {
            match self.token(j) {
                ")" if depth == 0 => return Some(j),
                "," if depth == 0 && angles == 0 => return Some(j),
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                "<" => angles += 1,
                ">" => angles = angles.saturating_sub(1),
                ">>" => angles = angles.saturating_sub(2),
                ";" => return None,
                _ => {}
            }
        }
        None
    }

    fn plain_parameter(
        &self,
        from: usize,
        to: usize,
        word: &dyn Fn(&str, Kind) -> Spliced,
        out: &mut Vec<Spliced>,
    ) {
        let kind = |j: usize| self.tokens.get(j).map_or(Kind::Punct, |t| t.kind);
        let plain = (from..to).all(|j| {
            kind(j) == Kind::Ident || matches!(self.token(j), "*" | "[" | "]") || kind(j) == Kind::Number
        });
        if plain {
            out.extend((from..to).map(|j| word(self.token(j), kind(j))));
            return;
        }
        out.push(word("void", Kind::Ident));
        out.push(word("*", Kind::Punct));
        // a reference to a number is mostly that number
        if to > from + 1 && kind(to - 1) == Kind::Ident {
            out.push(word(self.token(to - 1), Kind::Ident));
        }
    }
}
