//! Types and functions of CUDA's headers that are written as templates: `texture<float, 2> image;`, `tex2D<float4>(t, x, y)`.
//!
//! What is read of them needs no template: a texture is a handle, and what reading one gives is unknown. Deliberately absent: surfaces.

use super::plain::Plain;
use crate::c::cut::Found;
use crate::c::lex::Kind;
use crate::c::pp::{Piece, Spliced};
use crate::c::unit::Walk;

impl Walk<'_, '_> {
    /// `texture<type, dimensions, mode> name;` at file scope, as a number that never changes.
    pub(super) fn texture(&mut self, k: usize, end: usize) -> Option<Found> {
        let word = if matches!(self.token(k), "static" | "extern") { k + 1 } else { k };
        if self.token(word) != "texture" || self.token(word + 1) != "<" {
            return None;
        }
        let close = (word + 2..end.min(word + 20))
            .take_while(|&j| !matches!(self.token(j), ";" | "{" | "("))
            .find(|&j| self.token(j) == ">")?;
        let named = self.tokens.get(close + 1)?.kind == Kind::Ident && self.token(close + 2) == ";";
        // a template of the program's own
        if !named || self.s.env.before(self.s.number.saturating_add(1)).name("texture").is_some() {
            return None;
        }
        let span = self.tokens.get(word)?.span();
        let mut f = self.item(k, end);
        if f.broken.is_some() || f.body.is_some() || f.next != close + 3 {
            return None;
        }
        let words = |all: &[(&str, Kind)]| {
            let one = |(text, kind): &(&str, Kind)| Spliced {
                kind: *kind,
                text: (*text).into(),
                spaced: true,
                span,
            };
            Piece::Spliced(all.iter().map(one).collect::<Vec<_>>().into())
        };
        let begins = words(&[("enum", Kind::Ident), ("{", Kind::Punct)]);
        let ends = words(&[("}", Kind::Punct)]);
        f.pieces =
            vec![begins, Piece::Tokens(close + 1..close + 2), ends, Piece::Tokens(close + 2..close + 3)];
        Some(f)
    }
}

impl Plain<'_, '_> {
    /// A call at `k` of what the toolkit has as a template; the index to go on at.
    pub(super) fn toolkit_call(&mut self, k: usize) -> Option<usize> {
        self.texture_read(k).or_else(|| self.collective(k))
    }

    /// `tex2D<float>(t, x, y)` at `k` without its type: the index of its parenthesis.
    fn texture_read(&mut self, k: usize) -> Option<usize> {
        if !gpu::toolkit::reads_texture(self.text(k)) || self.dialect.device.is_none() {
            return None;
        }
        let end = self.angles(k + 1).filter(|&end| self.text(end) == "(")?;
        self.keep(k);
        Some(end)
    }
}
