//! An item's tokens with the C++ taken out of them: casts and simple `auto` as C says them, statements that cannot be said
//! in C as one gap each, other expressions of C++ as a gap in their place.
//!
//! What a gap may declare is named beside it ([`OPAQUE`]), so that a name from outside is never taken for it.

use base::Span;
use rustc_hash::{FxHashMap, FxHashSet};
use term::RejectKind;

use super::items::is_declared_once;
use crate::c::dialect::Dialect;
use crate::c::is_keyword;
use crate::c::lex::Kind;
use crate::c::pp::{Expander, PToken};
use crate::cuda::group::{declared, member, Group, Member};
pub(super) use crate::limits::cpp_plain::MAX_NESTED;

/// The call that stands for a statement of C++: the gap, then the names it declares.
pub(crate) const OPAQUE: &str = "__ww_opaque";

/// Functions of C++ libraries that are known, by the word that stands for each in a body and as they are written. Their
/// second argument is a reference: in a body it is the variable's address.
pub const LIBRARY_CALLS: [(&str, &str); 3] = [
    ("cub__DeviceReduce__Sum", "cub::DeviceReduce::Sum"),
    ("cub__DeviceReduce__Min", "cub::DeviceReduce::Min"),
    ("cub__DeviceReduce__Max", "cub::DeviceReduce::Max"),
];

const CASTS: [&str; 3] = ["static_cast", "reinterpret_cast", "const_cast"];
pub(super) const TYPE_WORDS: [&str; 10] =
    ["int", "char", "float", "double", "unsigned", "signed", "long", "short", "bool", "size_t"];

/// Takes the C++ out of an item's tokens. `is_type` knows the type names in force.
pub(crate) fn plain(
    tokens: Vec<PToken>,
    (source, dialect): (&str, &Dialect),
    is_type: &dyn Fn(&str) -> bool,
    expander: &mut Expander<'_>,
) -> Vec<PToken> {
    let mut p = Plain {
        tokens: &tokens,
        source,
        dialect,
        is_type,
        expander,
        out: Vec::with_capacity(tokens.len()),
        groups: FxHashMap::default(),
        refs: Vec::new(),
        made: FxHashSet::default(),
        closing: Vec::new(),
        collectives: FxHashSet::default(),
        parens: 0,
        outer: Vec::new(),
        depth: 0,
        nested: 0,
    };
    p.alias();
    let mut k = 0;
    let mut begins = false;
    while k < tokens.len() {
        k = if begins && p.depth > 0 { p.statement(k) } else { p.token(k) }.max(k + 1);
        begins = p.at_statement(k);
    }
    p.out
}

/// The operator that a word of C++ stands for.
fn alternative(word: &str) -> &'static str {
    match word {
        "and" => "&&",
        "or" => "||",
        "not" => "!",
        "and_eq" => "&=",
        "or_eq" => "|=",
        "xor_eq" => "^=",
        "xor" => "^",
        "bitand" => "&",
        "bitor" => "|",
        "compl" => "~",
        _ => "!=",
    }
}

pub(super) struct Plain<'a, 'e> {
    pub(super) tokens: &'a [PToken],
    pub(super) source: &'a str,
    pub(super) dialect: &'a Dialect,
    pub(super) is_type: &'a dyn Fn(&str) -> bool,
    expander: &'a mut Expander<'e>,
    out: Vec<PToken>,
    pub(super) groups: FxHashMap<&'a str, Group>,
    /// References, with how many braces are open around each.
    refs: Vec<(&'a str, usize)>,
    /// Pointers to arrays of numbers that `new` made.
    pub(super) made: FxHashSet<&'a str>,
    /// Closing parentheses that are followed by one more.
    closing: Vec<usize>,
    /// Names of classes by which threads compute together.
    pub(super) collectives: FxHashSet<&'a str>,
    /// Open parentheses since the last open brace, and those outside of each open brace.
    pub(super) parens: usize,
    outer: Vec<usize>,
    /// Open braces.
    pub(super) depth: usize,
    pub(super) nested: u32,
}

impl<'a> Plain<'a, '_> {
    pub(super) fn text(&self, k: usize) -> &'a str {
        self.tokens.get(k).map_or("", |t| t.text(self.source))
    }
    pub(super) fn is_ident(&self, k: usize) -> bool {
        self.tokens.get(k).is_some_and(|t| t.kind == Kind::Ident)
    }
    /// An identifier that names something.
    pub(super) fn is_name(&self, k: usize) -> bool {
        self.is_ident(k) && !is_keyword(self.text(k))
    }

    pub(super) fn keep(&mut self, k: usize) -> usize {
        if let Some(t) = self.tokens.get(k) {
            self.out.push(t.clone());
        }
        k + 1
    }

    /// A token of ours at the place of token `k`.
    pub(super) fn put(&mut self, k: usize, text: &str) {
        if let Some(t) = self.tokens.get(k) {
            let kind = match text.bytes().next() {
                Some(c) if crate::c::lex::is_ident_start(c) => Kind::Ident,
                Some(c) if c.is_ascii_digit() => Kind::Number,
                _ => Kind::Punct,
            };
            self.out.push(t.instead(kind, text.into()));
        }
    }

    pub(super) fn put_words(&mut self, k: usize, words: &str) {
        for t in words.split(' ') {
            self.put(k, t);
        }
    }

    /// A gap in place of `from..to`; its span covers them.
    pub(super) fn gap(&mut self, from: usize, to: usize, reason: &str) -> usize {
        let (Some(a), Some(b)) = (self.tokens.get(from), self.tokens.get(to.saturating_sub(1))) else {
            return to;
        };
        let span = Span { start: a.span.start, end: b.span.end.max(a.span.end) };
        let gap = self.expander.gap(RejectKind::Foreign, reason.into(), span, a.expansion);
        self.out.push(gap);
        to
    }

    /// A gap in place of the statement `from..to`, which may declare these names.
    pub(super) fn opaque(&mut self, from: usize, to: usize, reason: &str, names: &[&str]) -> usize {
        self.put(from, OPAQUE);
        self.put(from, "(");
        self.gap(from, to, reason);
        for name in names {
            self.put(from, ",");
            self.put(from, name);
        }
        let last = to.saturating_sub(1);
        self.put(last, ")");
        self.put(last, ";");
        to
    }

    /// Index after the group that opens at `k`, or `k` if none opens there.
    pub(super) fn group(&self, k: usize) -> usize {
        if !matches!(self.text(k), "(" | "{" | "[") {
            return k;
        }
        let mut depth = 0usize;
        for j in k..self.tokens.len() {
            match self.text(j) {
                "(" | "{" | "[" => depth += 1,
                ")" | "}" | "]" => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return j + 1;
                    }
                }
                _ => {}
            }
        }
        self.tokens.len()
    }

    /// Index after the `<…>` that opens at `k`, if that can be a template's arguments.
    pub(super) fn angles(&self, k: usize) -> Option<usize> {
        if self.text(k) != "<" {
            return None;
        }
        let mut depth = 0usize;
        let mut j = k;
        while j < self.tokens.len().min(k + 200) {
            match self.text(j) {
                "<" => depth += 1,
                ">" => depth = depth.checked_sub(1)?,
                ">>" => depth = depth.checked_sub(2)?,
                "(" | "[" => {
                    j = self.group(j);
                    continue;
                }
                ";" | "{" | "}" | ")" | "]" | "&&" | "||" | "=" => return None,
                _ => {}
            }
            j += 1;
            if depth == 0 {
                return Some(j);
            }
        }
        None
    }

    /// The token at `k`, and what it begins.
    pub(super) fn token(&mut self, k: usize) -> usize {
        let before = self.text(k.wrapping_sub(1));
        let text = self.text(k);
        match text {
            "{" => {
                self.depth += 1;
                self.outer.push(std::mem::take(&mut self.parens));
            }
            "}" => {
                self.depth = self.depth.saturating_sub(1);
                self.parens = self.outer.pop().unwrap_or(0);
                let depth = self.depth;
                self.refs.retain(|r| r.1 <= depth);
            }
            "(" => self.parens += 1,
            ")" => self.parens = self.parens.saturating_sub(1),
            _ => {}
        }
        if self.depth == 0 && self.parens > 0 && matches!(before, "(" | ",") {
            if let Some(next) = self.group_parameter(k) {
                return next;
            }
        }
        let (in_header, named) = (self.depth == 0 && self.parens > 0, self.text(k + 1));
        let ends = in_header && text == "&" && self.is_name(k + 1) && matches!(self.text(k + 2), "," | ")");
        let of_type = TYPE_WORDS.contains(&before) || (self.is_type)(before);
        if ends && of_type && !self.is_declared_again(named, k + 2) {
            self.put(k, "*");
            self.keep(k + 1);
            self.refs.push((named, 1));
            return k + 2;
        }
        match text {
            // an argument that a call may leave out: such calls do not fit the function
            "=" if self.depth == 0 && self.parens > 0 => return self.argument_end(k),
            "noexcept" if self.depth == 0 => {
                return if self.text(k + 1) == "(" { self.group(k + 1) } else { k + 1 }
            }
            ")" if self.closing.last() == Some(&k) => {
                self.closing.pop();
                self.nested = self.nested.saturating_sub(1);
                self.keep(k);
                self.put(k, ")");
                return k + 1;
            }
            "[" if self.depth > 0 && self.is_lambda(k, before) => {
                let mut end = self.group(k);
                while end < self.tokens.len() && !matches!(self.text(end), "{" | ";" | ")") {
                    end = if self.text(end) == "(" { self.group(end).max(end + 1) } else { end + 1 };
                }
                return self.gap(k, self.group(end).max(end), "functions without a name are not followed");
            }
            "and" | "or" | "not" | "and_eq" | "or_eq" | "xor_eq" | "xor" | "bitand" | "bitor" | "compl"
            | "not_eq"
                if self.depth > 0 && self.is_ident(k) =>
            {
                self.put(k, alternative(text));
                return k + 1;
            }
            // what is discarded is not run either
            "constexpr" if before == "if" => return k + 1,
            "new" if self.depth > 0 => return self.new_expression(k),
            _ => {}
        }
        if !self.is_ident(k) && text != "::" {
            return self.keep(k);
        }
        let member = matches!(before, "." | "->" | "::") || self.text(k + 1) == "::";
        if !member && self.refs.iter().any(|r| r.0 == text) {
            self.put_words(k, "( *");
            self.keep(k);
            self.put(k, ")");
            return k + 1;
        }
        if CASTS.contains(&text) && self.text(k + 1) == "<" {
            return self.cast(k);
        }
        let operand = matches!(
            before,
            "(" | ","
                | "="
                | "return"
                | "+"
                | "-"
                | "*"
                | "/"
                | "%"
                | "<"
                | ">"
                | "<="
                | ">="
                | "=="
                | "!="
                | "&&"
                | "||"
                | "&"
                | "|"
                | "^"
                | "!"
                | "~"
                | "?"
                | ":"
                | "["
                | "+="
                | "-="
                | "*="
                | "/="
                | "<<"
                | ">>"
        );
        // `float(x)`: the words of a parameter's declaration are never followed by an operand in parentheses
        if self.depth > 0
            && operand
            && TYPE_WORDS.contains(&text)
            && self.text(k + 1) == "("
            && !matches!(self.text(k + 2), "*" | ")" | "&")
            && self.nested < MAX_NESTED
        {
            self.nested += 1;
            for t in ["(", "("] {
                self.put(k, t);
            }
            self.keep(k);
            self.put(k, ")");
            self.closing.push(self.group(k + 1) - 1);
            return k + 1;
        }
        if self.text(k + 1) == "::" || text == "::" {
            return self.qualified(k);
        }
        let read =
            self.group_call(k, k).or_else(|| self.launched_by_call(k)).or_else(|| self.toolkit_call(k));
        if let Some(next) = read {
            return next;
        }
        // something else by that name
        let types = |k: usize| {
            self.is_ident(k) && !matches!(self.text(k), "return" | "else" | "case" | "goto" | "sizeof" | "do")
        };
        let at = k.wrapping_sub(1);
        if types(at) || before == "*" && types(at.wrapping_sub(1)) && !self.is_value(at.wrapping_sub(1)) {
            self.groups.remove(text);
        }
        // handed on as an argument
        let alone = matches!(before, "(" | ",") && matches!(self.text(k + 1), "," | ")");
        if alone && self.depth > 0 && self.groups.contains_key(text) {
            self.put(k, "0");
            return k + 1;
        }
        if matches!(self.text(k + 1), "." | "->")
            && self.text(k + 3) == "("
            && before != "."
            && before != "->"
        {
            let group = self.groups.get(self.text(k)).copied();
            if let Some(next) = group.and_then(|g| self.member(g, k, k + 2)) {
                return next;
            }
        }
        self.keep(k)
    }

    /// From here to the end of the block the name is a reference's.
    pub(super) fn refer(&mut self, name: &'a str) {
        self.refs.push((name, self.depth));
    }

    fn is_lambda(&self, k: usize, before: &str) -> bool {
        let begins = matches!(before, "=" | "(" | "," | "return" | "{" | ";" | "&&" | "||" | "?" | ":");
        begins && self.text(k + 1) != "["
    }

    /// `static_cast<type>(x)` → `((type)(x))`.
    fn cast(&mut self, k: usize) -> usize {
        let plain_type = |this: &Self, end: usize| {
            (k + 2..end - 1).all(|j| this.is_ident(j) || this.text(j) == "*")
                && (k + 2..end - 1).any(|j| {
                    let t = this.text(j);
                    TYPE_WORDS.contains(&t) || t == "void" || (this.is_type)(t)
                })
        };
        match self.angles(k + 1) {
            Some(end) if self.text(end) == "(" && plain_type(self, end) && self.nested < MAX_NESTED => {
                self.nested += 1;
                for t in ["(", "("] {
                    self.put(k, t);
                }
                for j in k + 2..end - 1 {
                    self.keep(j);
                }
                self.put(end - 1, ")");
                self.closing.push(self.group(end) - 1);
                end
            }
            Some(end) => {
                let to = self.group(end);
                self.gap(k, to, "this cast of C++ is not followed")
            }
            None => self.gap(k, k + 1, "this cast of C++ is not followed"),
        }
    }

    /// `a::b`: the library's means what it means without `std::`, all else is a gap.
    fn qualified(&mut self, k: usize) -> usize {
        let mut last = if self.text(k) == "::" { k + 1 } else { k + 2 };
        while self.text(last + 1) == "::" {
            last += 2;
        }
        let name = self.text(last);
        if last == k + 2 && self.text(k) == "std" && super::is_std_of_c(name, self.dialect) {
            return last;
        }
        if let Some(next) = self.library_call(k, last) {
            return next;
        }
        if let Some(next) = self.group_call(k, last) {
            return next;
        }
        // the only kernel of that name in the file is meant, whatever namespace it stands in
        let launches = self.text(last + 1) == "<<" && self.text(last + 2) == "<" && self.is_ident(last);
        if launches && is_declared_once(self.source, name) {
            return last;
        }
        let mut end = (last + 1).min(self.tokens.len());
        if let Some(e) = self.angles(end).filter(|&e| self.text(e) == "(") {
            end = e;
        }
        self.gap(k, end, "names with `::` are not followed")
    }

    /// `cub::DeviceReduce::Sum(temp, bytes, …)`, a call of a function of [`LIBRARY_CALLS`] whose second argument is a reference.
    fn library_call(&mut self, k: usize, last: usize) -> Option<usize> {
        let written: String = (k..=last).map(|j| self.text(j)).collect();
        let Some((word, _)) = LIBRARY_CALLS.iter().find(|l| l.1 == written) else {
            return self.collective(k);
        };
        let end = self.group(last + 1);
        let mut commas = Vec::new();
        let mut j = last + 2;
        while j + 1 < end {
            if self.text(j) == "," {
                commas.push(j);
            }
            j = self.group(j).max(j + 1);
        }
        // with a stream, or with a reference to something that is no variable, it stays a gap
        let [first, second, _, _] = commas.as_slice() else { return None };
        let (first, second) = (*first, *second);
        if second != first + 2 || !self.is_name(first + 1) {
            return None;
        }
        self.put(k, word);
        let mut j = last + 1;
        while j <= first {
            j = self.token(j).max(j + 1);
        }
        self.put(first + 1, "&");
        Some(first + 1)
    }

    /// A group among parameters says nothing but which threads it is.
    fn group_parameter(&mut self, k: usize) -> Option<usize> {
        let (group, name) = declared(|j| self.text(j), k)?;
        if !matches!(self.text(name + 1), "," | ")") {
            return None;
        }
        self.groups.insert(self.text(name), group);
        self.put(k, "int");
        self.keep(name);
        Some(name + 1)
    }

    /// Index of the `,` or `)` that ends what stands at `k` among parameters.
    fn argument_end(&self, k: usize) -> usize {
        let mut j = k + 1;
        while j < self.tokens.len() && !matches!(self.text(j), "," | ")" | ";") {
            j = self.angles(j).unwrap_or_else(|| self.group(j)).max(j + 1);
        }
        j
    }

    /// Whether the file knows cooperative groups, so that their names may stand without `cg::`.
    pub(super) fn has_groups(&self) -> bool {
        self.source.contains("cooperative_groups")
    }

    /// Whether an identifier cannot name a type.
    pub(super) fn is_value(&self, k: usize) -> bool {
        let text = self.text(k);
        !TYPE_WORDS.contains(&text) && text != "void" && !(self.is_type)(text) && !is_keyword(text)
    }

    /// The group that stands at `k`, and the index after it: a name, or `cg::this_thread_block()`.
    fn named_group(&self, k: usize) -> Option<(Group, usize)> {
        let mut last = k;
        while self.text(last + 1) == "::" {
            last += 2;
        }
        if let (Some(g), true) = (self.groups.get(self.text(last)), last == k) {
            return Some((*g, k + 1));
        }
        let qualified = last > k || self.has_groups();
        let g = Group::made_by(self.text(last)).filter(|_| qualified)?;
        (self.text(last + 1) == "(" && self.text(last + 2) == ")").then_some((g, last + 3))
    }

    /// `sync(block)`, `cg::synchronize(tile)` and `cg::this_thread_block().sync()`: from `k`, the last of its names at `last`.
    fn group_call(&mut self, k: usize, last: usize) -> Option<usize> {
        let member_of = matches!(self.text(k.wrapping_sub(1)), "." | "->");
        if member_of || self.text(last + 1) != "(" || self.depth == 0 {
            return None;
        }
        if matches!(self.text(last), "sync" | "synchronize") {
            let (group, end) = self.named_group(last + 2)?;
            let Member::Whole(list) = member(group, "sync", true).filter(|_| self.text(end) == ")")? else {
                return None;
            };
            self.put_words(k, list);
            return Some(end + 1);
        }
        if self.text(last) == "reduce" {
            return self.group_reduce(k, last + 2);
        }
        let (group, end) = self.named_group(k)?;
        (self.text(end) == "." && self.text(end + 2) == "(").then_some(())?;
        self.member(group, k, end + 1)
    }

    /// `cg::reduce(tile, value, cg::plus<float>{})` over a warp: an operation of its lanes; the group stands at `at`.
    fn group_reduce(&mut self, k: usize, at: usize) -> Option<usize> {
        let (group, comma) = self.named_group(at)?;
        let end = self.group(at - 1).checked_sub(1)?;
        if group != Group::Warp || self.text(comma) != "," || self.text(end) != ")" {
            return None;
        }
        // the operation is the last argument; the value is written in C
        let operation = (comma + 1..end).rev().find(|&j| {
            self.text(j) == "," && !self.text(j + 1).is_empty() && self.angles_balance(j + 1, end)
        })?;
        let plain = (comma + 1..operation).all(|j| {
            !matches!(self.text(j), "{" | "[" | "::" | "<") || self.text(j) == "[" && self.is_ident(j - 1)
        });
        if !plain || operation == comma {
            return None;
        }
        self.put(k, crate::cuda::group::reduction((operation + 1..end).map(|j| self.text(j))));
        self.put(k, "(");
        self.put_words(k, "0xffffffffu ,");
        let mut j = comma + 1;
        let parens = self.parens;
        self.parens += 1;
        while j < operation {
            j = self.token(j).max(j + 1);
        }
        self.parens = parens;
        self.put(end, ")");
        Some(end + 1)
    }

    /// Whether no comma stands outside of brackets in `from..to`, and all brackets that open there close there.
    fn angles_balance(&self, from: usize, to: usize) -> bool {
        let mut j = from;
        while j < to {
            if self.text(j) == "," {
                return false;
            }
            j = self.angles(j).unwrap_or_else(|| self.group(j)).max(j + 1);
        }
        j == to
    }

    /// `block.sync()`: a group at `k`, the member's name at `name`.
    fn member(&mut self, group: Group, k: usize, name: usize) -> Option<usize> {
        let bare = self.text(name + 2) == ")";
        match member(group, self.text(name), bare)? {
            Member::Whole(list) => {
                self.put_words(k, list);
                Some(name + 3)
            }
            Member::Call(call, first) => {
                self.put(k, call);
                self.put(k, "(");
                self.parens += 1;
                self.put_words(k, first);
                Some(name + 2)
            }
        }
    }
}
