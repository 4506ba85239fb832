//! Names: what is taken, what may not be used in CUDA C++, what is free.

use std::collections::BTreeSet;

use term::{Body, TermId};

/// Hands out names that differ from all before.
#[derive(Default)]
pub(crate) struct Namer {
    used: BTreeSet<String>,
    /// Names that somebody will ask for as they are.
    wanted: BTreeSet<String>,
}

impl Namer {
    /// Makes up no name that a variable of the body has.
    pub(crate) fn beside(body: &Body) -> Namer {
        Namer { used: BTreeSet::new(), wanted: body.symbols.iter().map(|s| s.name.to_string()).collect() }
    }
    /// `wish`, or the first free of `wish_2`, `wish_3`, …; without underscores in front that no name of ours may have.
    pub(crate) fn fresh(&mut self, wish: &str) -> String {
        let plain = match wish.strip_prefix("__") {
            Some(rest) => rest.trim_start_matches('_'),
            None => wish,
        };
        let is_name = plain.starts_with(|c: char| c == '_' || c.is_alphabetic());
        let wish = if is_name { plain.to_owned() } else { format!("v{plain}") };
        let mut name = wish.clone();
        let mut n = 2;
        while gpu::is_reserved(&name) || self.used.contains(&name) || n > 2 && self.wanted.contains(&name) {
            name = format!("{wish}_{n}");
            n += 1;
        }
        self.used.insert(name.clone());
        name
    }
}

/// A beginning that no name used in the loop has: `ww_`, or `ww2_` and so on.
pub(crate) fn free_prefix(body: &Body, target: TermId) -> String {
    let names: BTreeSet<&str> =
        body.walk(target).filter_map(|t| body.as_symbol(t)).map(|s| &*body.symbols[s].name).collect();
    let mut prefix = "ww_".to_string();
    let mut n = 2;
    while names.iter().any(|n| n.starts_with(&prefix)) {
        prefix = format!("ww{n}_");
        n += 1;
    }
    prefix
}

/// Whether the word stands in the text by itself.
pub fn has_word(text: &str, word: &str) -> bool {
    let part = |c: char| c == '_' || c.is_alphanumeric();
    text.match_indices(word).any(|(at, _)| {
        !text[..at].chars().next_back().is_some_and(part)
            && !text[at + word.len()..].chars().next().is_some_and(part)
    })
}

/// A path's text as part of a name: `g->u` gives `g_u`.
pub(crate) fn part(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if c.is_ascii_alphanumeric() || c == '_' {
            out.push(c);
        } else if !out.is_empty() && !out.ends_with('_') {
            out.push('_');
        }
    }
    out.trim_end_matches('_').to_string()
}

/// A wish made an identifier.
pub(crate) fn identifier(wish: &str) -> String {
    let mut out: String =
        wish.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
    if out.is_empty() || out.starts_with(|c: char| c.is_ascii_digit()) {
        out.insert(0, 'k');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_free_and_legal() {
        let mut n = Namer::default();
        assert_eq!(n.fresh("x"), "x");
        assert_eq!(n.fresh("x"), "x_2");
        assert_eq!(n.fresh("class"), "class_2");
        assert_eq!(n.fresh("sqrt"), "sqrt_2");
        assert_eq!(n.fresh("__i"), "i");
        assert_eq!(n.fresh("__i"), "i_2");
        assert_eq!(n.fresh("___"), "v");
        assert_eq!(n.fresh("__1"), "v1");
        assert_eq!(n.fresh(""), "v_2");
        assert_eq!(identifier("3-d"), "k3_d");
        assert_eq!(part("(*g).rows[i - 1]"), "g_rows_i_1");
        assert!(has_word("a ww_n b", "ww_n") && !has_word("aww_n", "ww_n"));
    }
}
