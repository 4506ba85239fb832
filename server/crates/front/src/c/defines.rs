//! The names that a text of C may define for other files, or declare at all, told by the look of its tokens alone: whoever looks for
//! a definition among many files reads those that may have it, and nobody is told that a name is declared nowhere that a place of C++
//! declares which was not understood. More names than it does define, but for those that macros put together.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::c::lex::{self, Kind, Lexed, Token};
use crate::c::pp::{self, Line};

/// What a text may define for other files.
#[derive(Default)]
pub struct Definitions {
    /// Names of functions with a body, and of variables between functions.
    pub names: FxHashSet<Arc<str>>,
    /// How names begin and end that macros put together: `FUNCTION (matrix, get) (int i) { … }`.
    pub made: Vec<(Arc<str>, Arc<str>)>,
    /// Sources that it includes, by the names of their files; what they define it does.
    pub parts: Vec<Arc<str>>,
}

/// What a text may define, by the look of its tokens.
pub fn may_define(text: &str) -> Definitions {
    let lexed = lex::lex(text);
    let directives = lexed.tokens.iter().filter(|t| t.kind == Kind::Directive);
    let included = directives.filter_map(|t| match pp::line(text.get(t.span().range())?) {
        Line::Include(included) => source_of(&included.name),
        _ => None,
    });
    let mut parts: Vec<Arc<str>> = included.collect();
    parts.sort();
    parts.dedup();
    let tokens: Vec<&Token> = lexed.tokens.iter().filter(|t| t.kind != Kind::Directive).collect();
    let word = |k: usize| tokens.get(k).and_then(|t| text.get(t.span().range())).unwrap_or("");
    let is_name = |k: usize| tokens.get(k).is_some_and(|t| t.kind == Kind::Ident);
    let mut out = Definitions { parts, ..Definitions::default() };
    // of each open parenthesis, where it stands
    let mut open: Vec<usize> = Vec::new();
    // what a macro is given, before another parenthesis opens
    let mut given: Option<(Arc<str>, Arc<str>)> = None;
    let mut braces = 0usize;
    for (k, t) in tokens.iter().enumerate() {
        match word(k) {
            "(" => open.push(k),
            ")" => {
                let Some(from) = open.pop() else { continue };
                // what follows a header's parameters: its body, declarations of parameters, or a word for the compiler
                let is_header = is_name(k + 1) || word(k + 1) == "{";
                let name = from.checked_sub(1).filter(|&n| is_name(n) && is_header);
                out.names.extend(name.map(|n| Arc::from(word(n))));
                if braces == 0 && open.is_empty() {
                    let made = given.take().filter(|_| word(k + 1) == "{");
                    out.made.extend(made.filter(|m| !out.made.contains(m)));
                    if word(k + 1) == "(" {
                        let pieces: Vec<usize> =
                            (from + 1..k).filter(|&n| is_name(n) && word(n + 1) != "(").collect();
                        given = pieces
                            .first()
                            .zip(pieces.last())
                            .filter(|(a, b)| a != b)
                            .map(|(&a, &b)| (word(a).into(), word(b).into()));
                    }
                }
            }
            "{" => braces += 1,
            // arms of conditionals may open more than they close
            "}" if t.column_zero => (braces, open) = (0, Vec::new()),
            "}" => braces = braces.saturating_sub(1),
            _ if t.kind == Kind::Ident && braces == 0 && open.is_empty() => {
                if matches!(word(k + 1), ";" | "=" | "[" | ",") {
                    out.names.insert(word(k).into());
                }
            }
            _ => {}
        }
    }
    out
}

/// The file that an `#include` names, if it is a source and no header.
pub(crate) fn source_of(name: &str) -> Option<Arc<str>> {
    let file = name.rsplit('/').next()?;
    let (_, extension) = file.rsplit_once('.')?;
    matches!(extension, "c" | "inc" | "cc" | "cpp" | "cxx").then(|| file.into())
}

/// Whether a text declares a name by the look of it: behind a type or `struct`, `class` and the like, with what follows names that are
/// declared; or as a macro. Those in arms that conditions leave out count, too.
pub(crate) fn may_declare(text: &str, lexed: &Lexed, name: &str) -> bool {
    let word = |t: &Token| text.get(t.span().range()).unwrap_or("");
    let is_macro = |t: &Token| matches!(pp::line(word(t)), Line::Define(n, _) if *n == *name);
    let tokens = &lexed.tokens;
    tokens.iter().enumerate().any(|(k, t)| match t.kind {
        Kind::Directive => is_macro(t),
        Kind::Ident if word(t) == name => {
            let after = tokens.get(k + 1).map_or("", word);
            is_behind_type(text, &tokens[..k], t)
                && matches!(after, ";" | "," | "=" | "(" | ")" | "[" | "{" | ":" | "::" | "<")
        }
        _ => false,
    })
}

/// The macro of the nearest `#ifdef` around a text's definition of a function of this name.
pub(crate) fn defined_under(text: &str, lexed: &Lexed, name: &str) -> Option<Arc<str>> {
    let word = |t: &Token| text.get(t.span().range()).unwrap_or("");
    // of each condition around, the macro that has to be defined
    let mut around: Vec<Option<Arc<str>>> = Vec::new();
    let tokens = &lexed.tokens;
    for (k, t) in tokens.iter().enumerate() {
        if t.kind != Kind::Directive {
            if t.kind == Kind::Ident && word(t) == name && has_body(text, &tokens[k + 1..]) {
                return around.iter().rev().find_map(Clone::clone);
            }
            continue;
        }
        match pp::line(word(t)) {
            Line::Ifdef(macro_, is_defined) => around.push(Some(macro_).filter(|_| is_defined)),
            Line::If(_) => around.push(None),
            Line::Elif(_) | Line::Elifdef(..) | Line::Else => {
                if let Some(last) = around.last_mut() {
                    *last = None;
                }
            }
            Line::Endif => {
                around.pop();
            }
            _ => {}
        }
    }
    None
}

/// Whether parameters follow, and then a body.
fn has_body(text: &str, after: &[Token]) -> bool {
    let word = |t: &Token| text.get(t.span().range()).unwrap_or("");
    let mut depth = 0usize;
    for (k, t) in after.iter().enumerate() {
        match word(t) {
            "(" => depth += 1,
            ")" if depth == 1 => return after.get(k + 1).is_some_and(|next| word(next) == "{"),
            ")" => depth = depth.saturating_sub(1),
            _ if depth == 0 => return false,
            _ => {}
        }
    }
    false
}

/// Words behind which a name is used.
const USES: [&str; 9] = ["return", "else", "case", "goto", "sizeof", "do", "new", "delete", "throw"];
/// Words before a type, which are none: what stands behind them alone is a type that is used.
const NO_TYPES: [&str; 7] = ["const", "volatile", "restrict", "static", "extern", "register", "inline"];

/// Whether what stands before a name may be a type: `T a`, `T *a`, and `LIST(T) *a` where macros write types. In products signs stand
/// apart or together, `a * b` and `a*b`.
fn is_behind_type(text: &str, before: &[Token], name: &Token) -> bool {
    let word = |t: &Token| text.get(t.span().range()).unwrap_or("");
    let signs = before.iter().rev().take_while(|t| matches!(word(t), "*" | "&")).count();
    let (before, signs) = before.split_at(before.len() - signs);
    let Some(last) = before.last() else { return false };
    let is_type =
        |t: &Token| t.kind == Kind::Ident && !USES.contains(&word(t)) && !NO_TYPES.contains(&word(t));
    let opens =
        before.iter().rposition(|t| word(t) == "(").filter(|_| word(last) == ")" && !signs.is_empty());
    let made = opens.and_then(|k| before[..k].last()).is_some_and(|t| {
        let w = word(t);
        w.chars().any(|c| c.is_ascii_uppercase()) && !w.chars().any(|c| c.is_ascii_lowercase())
    });
    if made {
        return true;
    }
    if let (Some(first), Some(end)) = (signs.first(), signs.last()) {
        let (first, end) = (first.span(), end.span());
        if end.end != name.span().start || last.span().end == first.start {
            return false;
        }
    }
    is_type(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_macros_make_and_sources_that_are_included_are_told() {
        let text = "#include \"copy_source.c\"
#include <a/b.h>
#include \"sub/init.inc\"
int
FUNCTION (gsl_vector, memcpy) (TYPE (gsl_vector) * dest, const int n)
{
  FUNCTION (gsl_vector, not) (1);
  return 0;
}
TYPE (gsl_vector) *FUNCTION (TYPE (v), view) (int n) { return 0; }
int plain (int a) { return NAME (a, b) (1); }
DECLARED (x, y) (int);
";
        let found = may_define(text);
        let pair = |a: &str, b: &str| (Arc::<str>::from(a), Arc::<str>::from(b));
        assert_eq!(found.made, [pair("gsl_vector", "memcpy"), pair("v", "view")]);
        assert_eq!(found.parts, [Arc::from("copy_source.c"), Arc::from("init.inc")]);
        assert!(found.names.contains("plain"));
    }

    #[test]
    fn a_definition_is_told_with_the_macro_that_it_takes() {
        let text = "#ifndef H
#define H
double get(const double *v, int i);
#ifdef FAST
static inline double get(const double *v, int (i)) { return v[i]; }
#else
double set(double *v) { return get(v, 0); }
#if 1
#ifdef DEEP
int deep(void) { return 1; }
#endif
#endif
#endif
#endif";
        let lexed = lex::lex(text);
        let under = |name: &str| defined_under(text, &lexed, name);
        assert_eq!(under("get").as_deref(), Some("FAST"));
        assert_eq!(under("deep").as_deref(), Some("DEEP"));
        assert_eq!((under("set"), under("v"), under("other")), (None, None, None));
    }

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
        let mut found: Vec<Arc<str>> = may_define(text).names.into_iter().collect();
        found.sort();
        let found: Vec<&str> = found.iter().map(|n| &**n).collect();
        for name in ["rate", "list", "N", "one", "old", "four"] {
            assert!(found.contains(&name), "{name} in {found:?}");
        }
        for name in ["two", "three", "five", "elsewhere"] {
            assert!(!found.contains(&name), "{name} in {found:?}");
        }
    }

    #[test]
    fn declarations_are_told_from_uses() {
        let text = "template <int N> class Box { typedef int Inner; };
            #define LIMIT(a) \\
                (a)
            // struct Said;
            void f() { return used; goto there; Box<3>::Inner kept; int x = plain * other; CALL(arg); }
            #ifdef ELSEWHERE
            #endif
            double rates[4];";
        let lexed = lex::lex(text);
        let declared = |name: &str| may_declare(text, &lexed, name);
        assert!(["Box", "LIMIT", "kept", "x", "rates", "f"].iter().all(|n| declared(n)));
        assert!(["used", "there", "Said", "plain", "other", "arg", "ELSEWHERE", "CALL", "Bo"]
            .iter()
            .all(|n| !declared(n)));
    }
}
