//! The names that a text of C may define for other files, told by the look of its tokens alone: whoever looks for a definition among
//! many files reads those that may have it. More names than it does define, but for those that macros put together.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::c::lex::{self, Kind, Token};

/// Names of functions with a body, and of variables between functions.
pub fn may_define(text: &str) -> FxHashSet<Arc<str>> {
    let lexed = lex::lex(text);
    let tokens: Vec<&Token> = lexed.tokens.iter().filter(|t| t.kind != Kind::Directive).collect();
    let word = |k: usize| tokens.get(k).and_then(|t| text.get(t.span().range())).unwrap_or("");
    let is_name = |k: usize| tokens.get(k).is_some_and(|t| t.kind == Kind::Ident);
    let mut out: FxHashSet<Arc<str>> = FxHashSet::default();
    // of each open parenthesis, the name before it
    let mut open: Vec<Option<usize>> = Vec::new();
    let mut braces = 0usize;
    for (k, t) in tokens.iter().enumerate() {
        match word(k) {
            "(" => open.push(k.checked_sub(1).filter(|&n| is_name(n))),
            ")" => {
                // what follows a header's parameters: its body, declarations of parameters, or a word for the compiler
                let name = open.pop().flatten().filter(|_| is_name(k + 1) || word(k + 1) == "{");
                out.extend(name.map(|n| Arc::from(word(n))));
            }
            "{" => braces += 1,
            // arms of conditionals may open more than they close
            "}" if t.column_zero => (braces, open) = (0, Vec::new()),
            "}" => braces = braces.saturating_sub(1),
            _ if t.kind == Kind::Ident && braces == 0 && open.is_empty() => {
                if matches!(word(k + 1), ";" | "=" | "[" | ",") {
                    out.insert(word(k).into());
                }
            }
            _ => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_among_the_names_and_calls_are_not() {
        let text = "extern int elsewhere(int);
            static double rate = 0.5, *list[3];
            const int N = 4;
            #ifdef A
            int one(int a) {
            #else
            int one(long a) {
            #endif
                if (two(a)) { return three((a)); }
                return 0;
}
            int old(a) int a; { return a; }
            double four(double x, double (*f)(double))
            { return f(x) + five(x); }";
        let mut found: Vec<Arc<str>> = may_define(text).into_iter().collect();
        found.sort();
        let found: Vec<&str> = found.iter().map(|n| &**n).collect();
        for name in ["rate", "list", "N", "one", "old", "four"] {
            assert!(found.contains(&name), "{name} in {found:?}");
        }
        for name in ["two", "three", "five", "elsewhere"] {
            assert!(!found.contains(&name), "{name} in {found:?}");
        }
    }
}
