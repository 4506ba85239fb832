//! Tokens → the text that tree-sitter parses, with a table back to the source.
//!
//! What the C grammar cannot know or does not take is settled here on tokens: type names become a type keyword (so that
//! a cast is never taken for a call), GNU attributes go, CUDA's qualifiers and launches take a C shape. tree-sitter's own
//! CUDA grammar is not used on purpose: being C++, it reads `i < n && j > (k)` as a template's call.

mod dialects;

use std::sync::Arc;

use base::Span;
use rustc_hash::FxHashSet;
use term::RejectKind;

use crate::c::attributes::{self, Attributes};
use crate::c::dialect::Dialect;
use crate::c::lex::{self, Kind};
use crate::c::pp::{pack, Expander, PToken, Text};
use crate::c::says::{self, Says};
use crate::cpp::is_vector;
use crate::limits::c_render::{MAX_CASES, MAX_INITIALISER};

pub(crate) use dialects::is_old_header;

/// The keyword that stands for every type name; the table has the name.
const TYPE: &str = "max_align_t";
/// The C qualifier that stands for CUDA's memory spaces; the table has the name.
const SPACE: &str = "_Nonnull";
/// `dim3(…)` as a call.
pub(crate) const VECTOR_CALL: &str = "__ww_construct";
/// Stands for the name of a template's instance.
const INSTANCE: &str = "__ww_instance";
/// The name of a bit-field that has none; the table has the empty one.
const UNNAMED: &str = "__ww_unnamed";
/// `k<<<…>>>` as a call that gives the function to be called.
pub(crate) const LAUNCH: &str = "__ww_launch";

/// What is known of a token of the rendered text.
#[derive(Clone, Debug)]
pub(crate) struct Info {
    pub span: Span,
    pub expansion: u32,
    /// What the text really says, where something else stands for it.
    pub original: Option<Arc<str>>,
}

#[derive(Debug, Default)]
pub(crate) struct Rendered {
    pub text: String,
    pub starts: Vec<u32>,
    pub infos: Vec<Info>,
    pub is_kernel: bool,
    pub is_device: bool,
    pub is_host: bool,
    pub launch_bounds: Option<u32>,
    /// Attributes, each list with the number of the token that follows it.
    pub attributes: Vec<(usize, Attributes)>,
    /// What pragmas written as operators say.
    pub says: Vec<Says>,
    /// `_Pragma("pack(…)")`, with the number of the token that follows it.
    pub packs: Vec<(usize, pack::Op)>,
}

impl Rendered {
    fn push(&mut self, text: &str, span: Span, expansion: u32, original: Option<Arc<str>>) {
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        self.starts.push(self.text.len() as u32);
        self.text.push_str(text);
        self.infos.push(Info { span, expansion, original });
    }
    fn last(&self) -> &str {
        self.starts.last().and_then(|&s| self.text.get(s as usize..)).unwrap_or("")
    }
    /// Whether it ends with `type)` or `*)`: what follows is converted, and not called.
    fn ends_cast(&self) -> bool {
        let [.., of, close] = self.starts[..] else { return false };
        let of = self.text.get(of as usize..close as usize).unwrap_or("").trim_end();
        self.last() == ")" && (TYPE_WORDS.contains(&of) || of == "*")
    }
    fn pop(&mut self) -> Option<(String, Info)> {
        let start = self.starts.pop()? as usize;
        let text = self.text.get(start..)?.to_owned();
        self.text.truncate(start.saturating_sub(1));
        Some((text, self.infos.pop()?))
    }
    /// Index of the token at a byte of the text.
    pub(crate) fn index(&self, byte: usize) -> usize {
        self.starts.partition_point(|&s| s as usize <= byte).saturating_sub(1)
    }
}

const TYPE_WORDS: [&str; 12] =
    ["int", "char", "float", "double", "void", "unsigned", "signed", "long", "short", "bool", "size_t", TYPE];

struct Render<'a, 'e> {
    tokens: &'a [PToken],
    /// Closing parentheses to be written twice, the next one last.
    doubled: Vec<usize>,
    source: &'a str,
    dialect: &'static Dialect,
    is_type: &'a dyn Fn(&str) -> bool,
    expander: &'a mut Expander<'e>,
    out: Rendered,
    local_types: FxHashSet<&'a str>,
    /// Type names that the item declares as something else.
    shadowed: FxHashSet<&'a str>,
    /// Local type names and the token after which they are in force.
    pending: Vec<(usize, &'a str)>,
    depth: usize,
    /// The name of a function that is defined without a type: it returns `int` (C89 3.5.2).
    implicit_int: Option<usize>,
}

/// What an item's text lacks at its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Closing {
    pub text: &'static str,
    pub count: usize,
}

/// Renders an item's tokens, and what closes them.
pub(crate) fn render(
    tokens: &[PToken],
    source: &str,
    dialect: &'static Dialect,
    is_type: &dyn Fn(&str) -> bool,
    expander: &mut Expander<'_>,
    closing: Closing,
) -> Rendered {
    let mut r = Render {
        tokens,
        source,
        dialect,
        is_type,
        expander,
        out: Rendered::default(),
        local_types: FxHashSet::default(),
        shadowed: FxHashSet::default(),
        pending: Vec::new(),
        doubled: Vec::new(),
        depth: 0,
        implicit_int: None,
    };
    r.implicit_int = if dialect.cpp { None } else { r.untyped_function(closing) };
    let mut k = 0;
    while k < tokens.len() {
        k = r.step(k).max(k + 1);
    }
    let end = tokens.last().map_or(Span::default(), |t| Span::new(t.span.end as usize, t.span.end as usize));
    for _ in 0..closing.count {
        r.out.push(closing.text, end, 0, None);
    }
    r.out
}

impl<'a> Render<'a, '_> {
    fn text(&self, k: usize) -> &'a str {
        self.tokens.get(k).map_or("", |t| t.text(self.source))
    }

    /// Index after the group that opens at `k`, or `k` if none opens there.
    fn group(&self, k: usize) -> usize {
        let (open, close) = match self.text(k) {
            "(" => ("(", ")"),
            "{" => ("{", "}"),
            "[" => ("[", "]"),
            _ => return k,
        };
        let mut depth = 0usize;
        for j in k..self.tokens.len() {
            let t = self.text(j);
            if t == open {
                depth += 1;
            } else if t == close {
                depth -= 1;
                if depth == 0 {
                    return j + 1;
                }
            }
        }
        self.tokens.len()
    }

    fn keep(&mut self, k: usize) -> usize {
        self.put(k, None, None)
    }

    fn put(&mut self, k: usize, text: Option<&str>, original: Option<Arc<str>>) -> usize {
        if let Some(t) = self.tokens.get(k) {
            let text = text.unwrap_or_else(|| t.text(self.source));
            self.out.push(text, t.span, t.expansion, original);
        }
        k + 1
    }

    fn gap(&mut self, k: usize, kind: RejectKind, reason: &str) -> usize {
        if let Some(t) = self.tokens.get(k) {
            let gap = self.expander.gap(kind, reason.into(), t.span, t.expansion);
            if let Text::Own(text) = &gap.text {
                self.out.push(text, t.span, t.expansion, None);
            }
        }
        k + 1
    }

    /// Renders the token at `k` and returns the index of the next one to look at.
    fn step(&mut self, k: usize) -> usize {
        let text = self.text(k);
        match self.tokens.get(k).map(|t| t.kind) {
            Some(Kind::Ident) => self.word(k, text),
            Some(Kind::Punct) => self.punct(k, text),
            Some(Kind::Str) => self.put(k, lex::raw_as_plain(text).as_deref(), None),
            _ => self.keep(k),
        }
    }

    fn punct(&mut self, k: usize, text: &str) -> usize {
        match text {
            "{" => {
                let end = if self.out.last() == "=" { self.group(k) } else { k };
                if end - k > MAX_INITIALISER {
                    self.keep(k);
                    self.gap(k + 1, RejectKind::Unsupported, "a long initialiser is not looked into");
                    return self.keep(end - 1);
                }
                self.depth += 1;
                self.keep(k)
            }
            "}" => {
                self.depth = self.depth.saturating_sub(1);
                self.keep(k)
            }
            // An unnamed bit-field, which the grammar does not know: it gets a name that the table takes away.
            ":" if self.is_unnamed(k) => {
                self.put(k, Some(UNNAMED), Some("".into()));
                self.keep(k)
            }
            // `(i) + x`, `(a[i]) - x` where `i`, `a` are no types: in two pairs of parentheses it is never taken for a cast.
            "(" if self.is_wrapped_name(k) => {
                self.doubled.push(self.group(k) - 1);
                self.keep(k);
                self.keep(k)
            }
            ")" if self.doubled.last() == Some(&k) => {
                self.doubled.pop();
                self.keep(k);
                self.keep(k)
            }
            // [[attributes]]
            "[" if self.text(k + 1) == "["
                && !self.tokens.get(k + 1).is_some_and(|t| t.spaced)
                && (matches!(self.out.last(), "" | ";" | "{" | "}" | ")")) =>
            {
                self.attributes(k, self.group(k))
            }
            "<<" if self.dialect.device.is_some() && self.text(k + 1) == "<" => {
                self.launch(k).unwrap_or_else(|| self.keep(k))
            }
            _ => self.keep(k),
        }
    }

    /// Whether the `:` at `k` begins a member's width without a name before it.
    fn is_unnamed(&self, k: usize) -> bool {
        let is_word = |j: usize| {
            let t = self.text(j);
            TYPE_WORDS.contains(&t) || matches!(t, "const" | "volatile" | "_Bool") || (self.is_type)(t)
        };
        let mut j = k;
        while j > 0 && is_word(j - 1) {
            j -= 1;
        }
        // `_Generic(x, int: 1)` has a comma before the type
        match j.checked_sub(1).map(|j| self.text(j)) {
            Some("{" | ";") => j < k,
            Some(",") => j == k,
            _ => false,
        }
    }

    /// Whether `(name)`, or a place that begins with a name, begins at `k`, is an operand, and could be read as a cast of what follows.
    fn is_wrapped_name(&self, k: usize) -> bool {
        let name = self.text(k + 1);
        let is_name = self.tokens.get(k + 1).is_some_and(|t| t.kind == Kind::Ident)
            && !TYPE_WORDS.contains(&name)
            && !(self.is_type)(name)
            && !self.local_types.contains(name)
            && !self.pending.iter().any(|p| p.1 == name);
        let before = self.out.last();
        let called = before.bytes().next().is_some_and(crate::c::lex::is_ident_start)
            && !matches!(before, "return" | "case");
        if !is_name || !matches!(self.text(k + 2), ")" | "[" | "(" | "." | "->") {
            return false;
        }
        let end = self.group(k);
        self.text(end - 2) != "*"
            && matches!(self.text(end), "+" | "-" | "*" | "&" | "&&")
            && !called
            && (!matches!(before, ")" | "]" | "") || self.out.ends_cast())
    }

    /// `name<<<a, b>>>` → `__ww_launch(name, a, b)`.
    fn launch(&mut self, k: usize) -> Option<usize> {
        let mut depth = 0usize;
        let mut close = None;
        for j in k + 2..self.tokens.len() {
            match self.text(j) {
                "(" | "[" => depth += 1,
                ")" | "]" if depth == 0 => return None,
                ")" | "]" => depth -= 1,
                ";" | "{" | "}" => return None,
                ">>" if depth == 0 && self.text(j + 1) == ">" && self.text(j + 2) == "(" => {
                    close = Some(j);
                    break;
                }
                _ => {}
            }
        }
        let close = close?;
        let named = self.out.last().bytes().next().is_some_and(crate::c::lex::is_ident_start);
        if !named {
            return None;
        }
        let (name, info) = self.out.pop()?;
        let (span, expansion) = (info.span, info.expansion);
        self.out.push(LAUNCH, span, expansion, None);
        self.out.push("(", span, expansion, None);
        self.out.push(&name, span, expansion, info.original);
        self.out.push(",", span, expansion, None);
        let mut j = k + 2;
        while j < close {
            j = self.step(j).max(j + 1);
        }
        self.put(close, Some(")"), None);
        Some(close + 2)
    }

    fn word(&mut self, k: usize, text: &'a str) -> usize {
        let Some(token) = self.tokens.get(k) else { return k + 1 };
        // a template's instance
        if text.contains('<') {
            return self.put(k, Some(INSTANCE), Some(text.into()));
        }
        match text {
            "__attribute__" | "__attribute" => {
                let end = self.group(k + 1);
                let harmful = (k + 1..end).any(|j| {
                    let w = self.text(j).trim_matches('_');
                    matches!(
                        w,
                        "vector_size"
                            | "ext_vector_type"
                            | "mode"
                            | "scalar_storage_order"
                            | "transparent_union"
                            | "address_space"
                    )
                });
                if harmful {
                    self.gap(k, RejectKind::Unsupported, "an attribute changes the meaning of a type");
                }
                self.attributes(k, end)
            }
            "__declspec" | "_Alignas" | "alignas" | "__align__" | "__builtin_align__" => {
                self.attributes(k, self.group(k + 1))
            }
            "__extension__" | "register" | "_Noreturn" | "__noreturn__" => k + 1,
            "__restrict" | "__restrict__" => self.put(k, Some("restrict"), None),
            "__inline" | "__inline__" => self.put(k, Some("inline"), None),
            "__const" | "__const__" | "constexpr" => self.put(k, Some("const"), None),
            "__volatile" | "__volatile__" => self.put(k, Some("volatile"), None),
            "__signed" | "__signed__" => self.put(k, Some("signed"), None),
            "__builtin_offsetof" => self.put(k, Some("offsetof"), None),
            "_Thread_local" => self.put(k, Some("__thread"), None),
            // A pragma as an operator.
            "_Pragma" | "__pragma" => {
                let end = self.group(k + 1);
                let words: Vec<&str> = (k + 2..end.saturating_sub(1)).map(|j| self.text(j)).collect();
                let op = match words.as_slice() {
                    [literal] if text == "_Pragma" => {
                        let said = crate::c::literal::string(literal).unwrap_or_default();
                        self.out.says.extend(says::pragma(&said));
                        pack::of_string(literal)
                    }
                    words => pack::read(words),
                };
                self.out.packs.extend(op.map(|op| (self.out.infos.len(), op)));
                end
            }
            "_Static_assert" | "static_assert" if self.text(k + 1) == "(" => {
                let end = self.group(k + 1);
                if self.text(end) == ";" {
                    end + 1
                } else {
                    end
                }
            }
            // An assembler name after a declarator.
            "__asm__" | "__asm" | "asm" if self.is_assembler_name(k) => self.attributes(k, self.group(k + 1)),
            "_Complex" | "__complex__" | "_Imaginary" | "_Decimal64" => {
                self.gap(k, RejectKind::Unsupported, "complex and decimal numbers are not followed")
            }
            "case" if self.range(k).is_some() => self.cases(k),
            _ if Some(k) == self.implicit_int => {
                self.out.push("int", token.span, token.expansion, None);
                self.name(k, text)
            }
            "typedef" => {
                if self.depth > 0 {
                    self.local_typedef(k);
                }
                self.keep(k)
            }
            _ => {
                let cuda = self.dialect.device.and_then(|_| self.cuda_word(k, text, token));
                let cpp = || if self.dialect.cpp { self.cpp_word(k, text) } else { None };
                match cuda.or_else(cpp) {
                    Some(next) => next,
                    None => self.name(k, text),
                }
            }
        }
    }

    fn local_typedef(&mut self, k: usize) {
        let mut depth = 0usize;
        let mut name = None;
        for j in k + 1..self.tokens.len() {
            match self.text(j) {
                "{" | "[" => depth += 1,
                "}" | "]" => depth = depth.saturating_sub(1),
                ";" if depth == 0 => {
                    if let Some(n) = name {
                        self.pending.push((j, n));
                    }
                    return;
                }
                w if depth == 0 && self.tokens[j].kind == Kind::Ident => name = Some(w),
                _ => {}
            }
        }
    }

    fn name(&mut self, k: usize, text: &'a str) -> usize {
        while let Some(&(at, name)) = self.pending.first() {
            if at >= k {
                break;
            }
            self.local_types.insert(name);
            self.pending.remove(0);
        }
        if !(self.is_type)(text) && !self.local_types.contains(text) {
            return self.keep(k);
        }
        let before = self.out.last();
        // A tag, a member, or a name being declared: not a use of the type.
        if matches!(before, "struct" | "union" | "enum" | "goto" | "." | "->") || self.shadowed.contains(text)
        {
            return self.keep(k);
        }
        if TYPE_WORDS.contains(&before) || before == "*" {
            self.shadowed.insert(text);
            return self.keep(k);
        }
        self.put(k, Some(TYPE), Some(text.into()))
    }

    fn cpp_word(&mut self, k: usize, text: &'a str) -> Option<usize> {
        Some(match text {
            "extern" if self.tokens.get(k + 1).is_some_and(|t| t.kind == Kind::Str) => k + 2,
            "static_cast" | "reinterpret_cast" | "const_cast" | "dynamic_cast" | "template" | "class"
            | "namespace" | "operator" | "new" | "delete" | "throw" | "try" | "catch" | "this"
            | "typename" | "using" | "decltype" | "virtual" | "friend" => {
                self.gap(k, RejectKind::Foreign, &format!("`{text}` belongs to C++, which is not followed"))
            }
            // the initialiser says which
            "auto" => self.put(k, Some(TYPE), Some(text.into())),
            _ => return None,
        })
    }

    fn cuda_word(&mut self, k: usize, text: &'a str, token: &PToken) -> Option<usize> {
        Some(match text {
            "__global__" => {
                self.out.is_kernel = true;
                k + 1
            }
            "__device__" => {
                self.out.is_device = true;
                k + 1
            }
            "__host__" => {
                self.out.is_host = true;
                k + 1
            }
            "__forceinline__" | "__noinline__" | "__grid_constant__" => k + 1,
            "__launch_bounds__" => {
                let end = self.group(k + 1);
                if matches!(self.text(k + 3), ")" | ",") {
                    self.out.launch_bounds = self.text(k + 2).parse().ok();
                }
                end
            }
            "__shared__" | "__constant__" | "__managed__" => self.put(k, Some(SPACE), Some(text.into())),
            // `make_float2(a, b)` is what the constructor `float2(a, b)` would be
            _ if self.text(k + 1) == "("
                && text.strip_prefix("make_").is_some_and(|v| is_vector(v, self.dialect)) =>
            {
                self.put(k, Some(VECTOR_CALL), text.strip_prefix("make_").map(Arc::from))
            }
            _ if self.text(k + 1) == "(" && is_vector(text, self.dialect) => {
                self.put(k, Some(VECTOR_CALL), Some(text.into()))
            }
            // `dim3 grid(a, b);`, `dim3 grid{a, b}, block(c);`
            _ if is_vector(text, self.dialect) && self.depth > 0 && self.is_constructed(k + 1) => {
                self.put(k, Some(TYPE), Some(text.into()));
                self.constructed(k + 1, token, text)
            }
            _ => return None,
        })
    }

    /// Whether `name(` or `name{` stands at `k`.
    fn is_constructed(&self, k: usize) -> bool {
        matches!(self.text(k + 1), "(" | "{") && self.tokens.get(k).is_some_and(|t| t.kind == Kind::Ident)
    }

    /// Declarators with a constructor's arguments, as ones with an initialiser.
    fn constructed(&mut self, mut k: usize, token: &PToken, vector: &'a str) -> usize {
        loop {
            self.keep(k);
            self.out.push("=", token.span, token.expansion, None);
            self.out.push(VECTOR_CALL, token.span, token.expansion, Some(vector.into()));
            let end = self.group(k + 1);
            self.put(k + 1, Some("("), None);
            let mut j = k + 2;
            while j + 1 < end {
                j = self.step(j).max(j + 1);
            }
            self.put(end - 1, Some(")"), None);
            if self.text(end) != "," || !self.is_constructed(end + 1) {
                return end;
            }
            self.keep(end);
            k = end + 1;
        }
    }
}
