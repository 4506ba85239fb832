//! What attributes ask of the layout of types: `packed`, `aligned`, `_Alignas`. Deliberately absent: what they stand on
//! ([`crate::c::placing`]).

use std::sync::Arc;

use crate::c::dialect;
use crate::c::literal;

/// One attribute with its arguments' tokens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Attribute {
    /// Without the underscores around it; `aligned` for every way to ask for an alignment.
    pub name: Arc<str>,
    /// Between its parentheses.
    pub arguments: Vec<Arc<str>>,
}

/// Stands for `[[…]]` that asks for a layout: what such an attribute is on depends on the language's version.
pub(crate) const BRACKETS: &str = "[[]]";

/// Other rules of layout, which are not followed.
const ODD: [&str; 2] = ["ms_struct", "scalar_storage_order"];

/// Asks that stand together.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Asks {
    pub all: Vec<Attribute>,
}

/// An alignment asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Asked {
    Nothing,
    Bytes(u64),
    /// By an expression that is not understood.
    Unknown,
}

impl Asked {
    pub(crate) fn or(self, other: Asked) -> Asked {
        match self {
            Asked::Nothing => other,
            asked => asked,
        }
    }
}

/// `aligned` without a number (GCC manual: the largest alignment of any type on the target; 16 on x86-64).
const LARGEST: u64 = 16;

impl Asks {
    /// Reads an attribute list's tokens, its keyword and parentheses included.
    pub(crate) fn read(tokens: &[&str]) -> Asks {
        let mut all = match tokens {
            ["_Alignas" | "alignas" | "__align__" | "__builtin_align__", "(", inner @ .., ")"] => {
                let arguments = inner.iter().map(|&w| w.into()).collect();
                vec![Attribute { name: "aligned".into(), arguments }]
            }
            ["__declspec", "(", inner @ .., ")"] => list(inner),
            ["__attribute__" | "__attribute", "(", "(", inner @ .., ")", ")"] => list(inner),
            ["[", "[", inner @ .., "]", "]"]
                if inner.iter().any(|w| matches!(w.trim_matches('_'), "packed" | "aligned")) =>
            {
                vec![Attribute { name: BRACKETS.into(), arguments: Vec::new() }]
            }
            _ => Vec::new(),
        };
        all.retain(|a| {
            let name: &str = &a.name;
            matches!(name, "packed" | "aligned" | "align" | BRACKETS) || ODD.contains(&name)
        });
        Asks { all }
    }

    pub(crate) fn extend(&mut self, other: &Asks) {
        self.all.extend(other.all.iter().cloned());
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.all.iter().any(|a| &*a.name == name)
    }

    /// Whether something of them asks for rules of layout that are not followed.
    pub(crate) fn is_odd_layout(&self) -> bool {
        self.has(BRACKETS) || ODD.iter().any(|o| self.has(o))
    }

    /// The strictest alignment asked for.
    pub(crate) fn aligned(&self) -> Asked {
        let mut out = Asked::Nothing;
        for a in self.all.iter().filter(|a| matches!(&*a.name, "aligned" | "align")) {
            let words: Vec<&str> = a.arguments.iter().map(|w| &**w).collect();
            out = match (out, bytes(&words)) {
                (_, None) | (Asked::Unknown, _) => Asked::Unknown,
                (Asked::Bytes(a), Some(b)) => Asked::Bytes(a.max(b)),
                (Asked::Nothing, Some(b)) => Asked::Bytes(b),
            };
        }
        match out {
            // `_Alignas(0)` asks for nothing
            Asked::Bytes(0) => Asked::Nothing,
            Asked::Bytes(n) if !n.is_power_of_two() || n > 1 << 28 => Asked::Unknown,
            out => out,
        }
    }

    /// Whether different alignments are asked for: on a type compilers differ in which one holds.
    pub(crate) fn aligned_twice(&self) -> bool {
        let mut asked = self.all.iter().filter(|a| matches!(&*a.name, "aligned" | "align"));
        let first = asked.next();
        asked.any(|a| Some(a) != first)
    }
}

/// `a, b(c, d), __c__`
fn list(tokens: &[&str]) -> Vec<Attribute> {
    let mut out = Vec::new();
    let mut k = 0;
    while k < tokens.len() {
        let word = tokens[k];
        k += 1;
        if !word.bytes().next().is_some_and(crate::c::lex::is_ident_start) {
            continue;
        }
        let mut arguments = Vec::new();
        if tokens.get(k) == Some(&"(") {
            let mut open = 0usize;
            while let Some(&t) = tokens.get(k) {
                k += 1;
                match t {
                    "(" => open += 1,
                    ")" => open -= 1,
                    _ => {}
                }
                if open == 0 {
                    break;
                }
                if !(open == 1 && t == "(" && arguments.is_empty()) {
                    arguments.push(t.into());
                }
            }
        }
        // `gnu::packed`
        if tokens.get(k) == Some(&"::") || (tokens.get(k) == Some(&":") && tokens.get(k + 1) == Some(&":")) {
            continue;
        }
        let name = word.strip_prefix("__").and_then(|w| w.strip_suffix("__")).unwrap_or(word);
        out.push(Attribute { name: name.into(), arguments });
    }
    out
}

/// The number of bytes that an alignment's argument says.
fn bytes(words: &[&str]) -> Option<u64> {
    match words {
        [] => Some(LARGEST),
        ["(", inner @ .., ")"] if closes_last(words) => bytes(inner),
        ["sizeof" | "_Alignof" | "__alignof__" | "alignof", "(", inner @ .., ")"]
            if !inner.contains(&")") =>
        {
            of_type(inner)
        }
        [one] => match literal::integer(one, &dialect::C) {
            Some((n, _)) => u64::try_from(n).ok(),
            None => of_type(words),
        },
        _ => {
            if let Some(k) = words.iter().position(|w| *w == "<<") {
                let by = u32::try_from(bytes(&words[k + 1..])?).ok().filter(|&b| b < 32)?;
                return bytes(&words[..k])?.checked_shl(by);
            }
            match words.iter().rposition(|w| *w == "*") {
                Some(k) if k > 0 && k + 1 < words.len() => {
                    bytes(&words[..k])?.checked_mul(bytes(&words[k + 1..])?)
                }
                _ => of_type(words),
            }
        }
    }
}

/// Whether the first parenthesis is closed by the last.
fn closes_last(words: &[&str]) -> bool {
    let mut open = 0i32;
    for (k, w) in words.iter().enumerate() {
        match *w {
            "(" => open += 1,
            ")" => open -= 1,
            _ => {}
        }
        if open == 0 {
            return k + 1 == words.len();
        }
    }
    false
}

/// The alignment, which for these is the size, of a type of the language.
fn of_type(words: &[&str]) -> Option<u64> {
    Some(match words {
        ["char"] | ["signed" | "unsigned", "char"] | ["_Bool"] => 1,
        ["short"] | ["unsigned", "short"] => 2,
        ["int"] | ["unsigned"] | ["unsigned", "int"] | ["float"] => 4,
        ["double"] | ["long"] | ["unsigned", "long"] | ["long", "long"] | ["unsigned", "long", "long"] => 8,
        ["max_align_t"] | ["long", "double"] => 16,
        [.., "*"] => 8,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Asks {
        let words = crate::c::pp::words(text);
        Asks::read(&words.iter().map(|w| &**w).collect::<Vec<_>>())
    }

    #[test]
    fn names_and_arguments() {
        let a = read("__attribute__((__packed__, alias(\"f\"), aligned (4), cleanup(g)))");
        let names: Vec<&str> = a.all.iter().map(|a| &*a.name).collect();
        assert_eq!(names, ["packed", "aligned"]);
        assert_eq!(a.aligned(), Asked::Bytes(4));
        assert_eq!(a.all[1].arguments, ["4".into()]);
        assert!(read("[[gnu::packed]]").is_odd_layout() && read("[[maybe_unused]]").all.is_empty());
        assert!(read("__attribute__(())").all.is_empty());
    }

    #[test]
    fn alignments() {
        let cases = [
            ("__attribute__((aligned))", Asked::Bytes(16)),
            ("__attribute__((aligned(2 * sizeof(double))))", Asked::Bytes(16)),
            ("__attribute__((aligned(1 << 5)))", Asked::Bytes(32)),
            ("__attribute__((aligned((8))))", Asked::Bytes(8)),
            ("__attribute__((aligned(8), aligned(4)))", Asked::Bytes(8)),
            ("__attribute__((aligned(N)))", Asked::Unknown),
            ("__attribute__((aligned(12)))", Asked::Unknown),
            ("_Alignas(double)", Asked::Bytes(8)),
            ("_Alignas(struct S)", Asked::Unknown),
            ("_Alignas(0)", Asked::Nothing),
            ("__align__(16)", Asked::Bytes(16)),
            ("__declspec(align(32))", Asked::Bytes(32)),
            ("__attribute__((packed))", Asked::Nothing),
        ];
        for (text, asked) in cases {
            assert_eq!(read(text).aligned(), asked, "{text}");
        }
    }
}
