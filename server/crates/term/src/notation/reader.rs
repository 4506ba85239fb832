//! Notation → terms.

use std::sync::Arc;

use base::Span;
use rustc_hash::FxHashMap;

use super::{compound, head, UNARY};
use crate::limits::notation_reader::MAX_DEPTH;
use crate::{
    BinOp, Body, BodyBuilder, FloatKind, IntKind, Op, Overflow, RejectKind, Semantics, Storage, Symbol,
    SymbolId, TermId, TypeId, TypeKind, UnOp, F64,
};

/// Why a text is not a term, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotationError {
    /// What is wrong, as "… here".
    pub message: String,
    /// In the text read.
    pub span: Span,
}

impl std::fmt::Display for NotationError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} (at byte {})", self.message, self.span.start)
    }
}

impl std::error::Error for NotationError {}

/// Reads one term. Its expressions have an unknown type; a name declared in the term is a symbol from there on.
pub fn read(text: &str) -> Result<Body, NotationError> {
    let (body, end) = read_prefix(text, 0)?;
    let rest = &text[end..];
    match rest.trim_start().chars().next() {
        None => Ok(body),
        Some(c) => {
            let at = text.len() - rest.trim_start().len();
            let message = "one term ends and something else begins".into();
            Err(NotationError { message, span: Span::new(at, at + c.len_utf8()) })
        }
    }
}

/// Reads the term that begins at a byte of the text, and says where it ends: for texts that hold more than terms.
pub fn read_prefix(text: &str, from: usize) -> Result<(Body, usize), NotationError> {
    let b = BodyBuilder::new("", Semantics::C);
    let mut r = Reader { text, at: from, depth: 0, in_list: false, b, declared: FxHashMap::default() };
    let root = r.term(0)?;
    Ok((r.b.finish(root), r.at))
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: u32,
    /// Directly in a list: `$x:int` is the variable `$x` followed by a tail.
    in_list: bool,
    b: BodyBuilder,
    declared: FxHashMap<Arc<str>, SymbolId>,
}

type Read<T> = Result<T, NotationError>;

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or("")
    }
    fn error(&self, message: &str) -> NotationError {
        let end = self.rest().chars().next().map_or(0, char::len_utf8);
        NotationError { message: message.into(), span: Span::new(self.at, self.at + end) }
    }
    fn space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }
    fn peek(&mut self) -> Option<char> {
        self.space();
        self.rest().chars().next()
    }
    fn eat(&mut self, what: &str) -> bool {
        self.space();
        let found = self.rest().starts_with(what);
        if found {
            self.at += what.len();
        }
        found
    }
    fn expect(&mut self, what: &str) -> Read<()> {
        if self.eat(what) {
            Ok(())
        } else {
            Err(self.error(&format!("`{what}` is expected")))
        }
    }

    fn make(&mut self, op: Op, args: Vec<TermId>, start: usize) -> TermId {
        let statement = matches!(
            op,
            Op::Empty
                | Op::List
                | Op::Cons
                | Op::Declare(_)
                | Op::If
                | Op::For
                | Op::While
                | Op::DoWhile
                | Op::Break
                | Op::Continue
                | Op::Goto(_)
                | Op::Label(_)
                | Op::Switch
                | Op::Case
                | Op::Default
                | Op::Return
                | Op::Function(_)
                | Op::Program
                | Op::Mark(_)
        );
        let ty = match op {
            _ if statement => self.b.types.void(),
            Op::Int(_) => self.b.types.int(IntKind::Int),
            Op::Float(_) => self.b.types.float(FloatKind::F64),
            _ => self.b.types.plain(TypeKind::Opaque("?".into())),
        };
        self.make_typed(op, args, ty, start)
    }
    fn make_typed(&mut self, op: Op, args: Vec<TermId>, ty: TypeId, start: usize) -> TermId {
        self.b.term(op, args, ty, Span::new(start, self.at))
    }

    /// A term whose infix operators bind at least as tightly as `min`.
    fn term(&mut self, min: u8) -> Read<TermId> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.error("the term is nested too deeply"));
        }
        self.space();
        let start = self.at;
        let mut left = self.prefix()?;
        while let Some(op) = self.operator(min) {
            let right = self.term(op.precedence() + 1)?;
            left = self.make(Op::Binary(op), vec![left, right], start);
        }
        self.depth -= 1;
        Ok(left)
    }

    /// The infix operator here, taken if it binds tightly enough.
    fn operator(&mut self, min: u8) -> Option<BinOp> {
        self.space();
        let rest = self.rest();
        // A rule's arrow is not a minus; of two operators the longer one is meant.
        if rest.starts_with("->") {
            return None;
        }
        let op = BinOp::ALL
            .into_iter()
            .filter(|o| rest.starts_with(o.symbol()))
            .max_by_key(|o| o.symbol().len())?;
        if op.precedence() < min {
            return None;
        }
        self.at += op.symbol().len();
        Some(op)
    }

    fn prefix(&mut self) -> Read<TermId> {
        self.space();
        let start = self.at;
        let mut ops: Vec<(UnOp, usize)> = Vec::new();
        loop {
            self.space();
            let here = self.at;
            match UNARY.into_iter().find(|o| self.rest().starts_with(o.symbol())) {
                Some(op) => {
                    self.at += op.symbol().len();
                    ops.push((op, here));
                    if ops.len() > MAX_DEPTH as usize {
                        return Err(self.error("the term is nested too deeply"));
                    }
                }
                None => break,
            }
        }
        // A sign before a number is the number's own.
        let sign = matches!(ops.last(), Some((UnOp::Neg, _)))
            && self.rest().starts_with(|c: char| c.is_ascii_digit());
        if sign {
            ops.pop();
        }
        let mut t = if sign { self.number(true, start)? } else { self.primary()? };
        while let Some((op, here)) = ops.pop() {
            t = self.make(Op::Unary(op), vec![t], here);
        }
        Ok(t)
    }

    /// The type of `$x:int`, if one follows.
    fn variable_type(&mut self) -> Read<Option<TypeId>> {
        if self.in_list || !self.rest().starts_with(':') {
            return Ok(None);
        }
        self.at += 1;
        let word = if self.rest().starts_with('`') { self.quoted('`')? } else { self.word() };
        if word.is_empty() {
            return Err(self.error("the variable's type is expected, as in `$x:int`"));
        }
        Ok(Some(self.type_of(&word)))
    }

    fn primary(&mut self) -> Read<TermId> {
        if self.peek() == Some('(') {
            self.at += 1;
            let outer = std::mem::replace(&mut self.in_list, false);
            let t = self.term(0);
            self.in_list = outer;
            let t = t?;
            self.expect(")")?;
            return Ok(t);
        }
        self.leaf()
    }

    fn leaf(&mut self) -> Read<TermId> {
        let start = self.at;
        match self.peek() {
            Some('[') => {
                self.at += 1;
                self.list(start)
            }
            Some('$') => {
                self.at += 1;
                let n = self.word();
                if n.is_empty() {
                    return Err(self.error("a variable's name is expected"));
                }
                match self.variable_type()? {
                    Some(ty) => Ok(self.make_typed(Op::Var(n.into()), vec![], ty, start)),
                    None => Ok(self.make(Op::Var(n.into()), vec![], start)),
                }
            }
            Some('"') => {
                let s = self.quoted('"')?;
                Ok(self.make(Op::Str(s.into()), vec![], start))
            }
            Some('`') => {
                let n = self.quoted('`')?;
                if self.rest().starts_with('(') {
                    let args = self.arguments()?;
                    return Ok(self.make(Op::Apply(n.into()), args, start));
                }
                Ok(self.name(n.into(), start))
            }
            Some(c) if c.is_ascii_digit() => self.number(false, start),
            Some(c) if is_word(c) => {
                let n = self.word();
                self.headed(n, start)
            }
            Some(_) => Err(self.error("a term is expected")),
            None => Err(self.error("the text ends where a term is expected")),
        }
    }

    fn word(&mut self) -> String {
        let rest = self.rest();
        let end = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
        let w = rest.get(..end).unwrap_or("").to_owned();
        self.at += end;
        w
    }

    fn quoted(&mut self, quote: char) -> Read<String> {
        let mut out = String::new();
        let mut escaped = false;
        let open = self.at;
        let mut chars = self.rest().char_indices().skip(1);
        for (k, c) in &mut chars {
            match c {
                _ if escaped => {
                    out.push(if c == 'n' && quote == '"' { '\n' } else { c });
                    escaped = false;
                }
                '\\' => escaped = true,
                c if c == quote => {
                    self.at = open + k + c.len_utf8();
                    return Ok(out);
                }
                c => out.push(c),
            }
        }
        Err(self.error("a quotation is not closed"))
    }

    fn number(&mut self, negative: bool, start: usize) -> Read<TermId> {
        let rest = self.rest();
        let b = rest.as_bytes();
        let mut end = 0;
        while let Some(&c) = b.get(end) {
            let exponent = matches!(c, b'+' | b'-') && end > 0 && matches!(b[end - 1], b'e' | b'E');
            if c.is_ascii_digit() || c == b'.' || (matches!(c, b'e' | b'E') && end > 0) || exponent {
                end += 1;
            } else {
                break;
            }
        }
        let text = rest.get(..end).unwrap_or("").to_owned();
        let sign = if negative { "-" } else { "" };
        let op = if text.bytes().all(|c| c.is_ascii_digit()) {
            format!("{sign}{text}").parse().ok().map(Op::Int)
        } else {
            format!("{sign}{text}").parse().ok().map(|v: f64| Op::Float(F64::new(v)))
        };
        match op {
            Some(op) => {
                self.at += end;
                let Some((letters, ty)) = self.suffix(&op) else { return Ok(self.make(op, vec![], start)) };
                self.at += letters;
                Ok(self.make_typed(op, vec![], ty, start))
            }
            None => Err(self.error("this number cannot be read")),
        }
    }

    /// The letters behind a number, as C has them, and the type that they give it.
    fn suffix(&mut self, op: &Op) -> Option<(usize, TypeId)> {
        let rest = self.rest();
        let letters = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
        let word = rest.get(..letters)?.to_lowercase();
        let types = &mut self.b.types;
        let ty = match (op, &*word) {
            (Op::Int(_), "u") => types.int(IntKind::UInt),
            (Op::Int(_), "l") => types.int(IntKind::Long),
            (Op::Int(_), "ul" | "lu") => types.int(IntKind::ULong),
            (Op::Int(_), "ll") => types.int(IntKind::LongLong),
            (Op::Int(_), "ull" | "llu") => types.int(IntKind::ULongLong),
            (Op::Float(_), "f") => types.float(FloatKind::F32),
            (Op::Float(_), "l") => types.float(FloatKind::Long),
            _ => return None,
        };
        Some((letters, ty))
    }

    /// A part of a list: a `:` after a variable is the list's there, not the variable's.
    fn element(&mut self) -> Read<TermId> {
        let outer = std::mem::replace(&mut self.in_list, true);
        let t = self.term(0);
        self.in_list = outer;
        t
    }

    fn list(&mut self, start: usize) -> Read<TermId> {
        let mut items = Vec::new();
        if self.eat("]") {
            return Ok(self.make(Op::List, items, start));
        }
        loop {
            items.push(self.element()?);
            if self.eat("]") {
                return Ok(self.make(Op::List, items, start));
            }
            if self.eat(":") {
                let mut tail = self.element()?;
                // `[a:b:c]` is `[a:[b:c]]`, `[a,b:c]` as well
                while self.eat(":") {
                    items.push(tail);
                    tail = self.element()?;
                }
                self.expect("]")?;
                while let Some(head) = items.pop() {
                    tail = self.make(Op::Cons, vec![head, tail], start);
                }
                return Ok(tail);
            }
            self.expect(",")?;
        }
    }

    /// A part between parentheses.
    fn argument(&mut self) -> Read<TermId> {
        let outer = std::mem::replace(&mut self.in_list, false);
        let t = self.term(0);
        self.in_list = outer;
        t
    }

    /// `(a, b)`, the opening parenthesis included.
    fn arguments(&mut self) -> Read<Vec<TermId>> {
        self.expect("(")?;
        let mut items = Vec::new();
        if self.eat(")") {
            return Ok(items);
        }
        loop {
            items.push(self.argument()?);
            if self.eat(")") {
                return Ok(items);
            }
            self.expect(",")?;
        }
    }

    fn name(&mut self, n: Arc<str>, start: usize) -> TermId {
        match self.declared.get(&n) {
            Some(&s) => self.make(Op::Sym(s), vec![], start),
            None => self.make(Op::Name(n), vec![], start),
        }
    }

    fn headed(&mut self, word: String, start: usize) -> Read<TermId> {
        let simple = match word.as_str() {
            "NIL" => Some(Op::List),
            "Empty" => Some(Op::Empty),
            "Break" => Some(Op::Break),
            "Continue" => Some(Op::Continue),
            "Default" => Some(Op::Default),
            "Return" if self.peek() != Some('(') => Some(Op::Return),
            "_MARK_CUDA" if self.peek() != Some('(') => Some(Op::Mark("".into())),
            _ => None,
        };
        if let Some(op) = simple {
            return Ok(self.make(op, vec![], start));
        }
        if self.peek() != Some('(') {
            return Ok(self.name(word.as_str().into(), start));
        }
        if matches!(word.as_str(), "Declaration" | "DeclarationAssignment" | "Function") {
            return self.declaration(&word, start);
        }
        let args = self.arguments()?;
        Ok(self.build(&word, args, start))
    }

    /// The name a term consists of.
    fn as_name(&self, id: TermId) -> Option<Arc<str>> {
        match &self.b.get(id).op {
            Op::Name(n) => Some(n.clone()),
            Op::Sym(s) => Some(self.b.symbols[*s].name.clone()),
            _ => None,
        }
    }

    /// A declaration's name must be in force before what follows it is read.
    fn declaration(&mut self, word: &str, start: usize) -> Read<TermId> {
        self.expect("(")?;
        let mut args = vec![self.argument()?];
        let mut symbol = None;
        while self.eat(",") {
            args.push(self.argument()?);
            if let ([n, t], None) = (args.as_slice(), symbol) {
                if let (Some(n), Some(t)) = (self.as_name(*n), self.as_name(*t)) {
                    let ty = self.type_of(&t);
                    let (ty, storage) = if word == "Function" {
                        let f = TypeKind::Function { ret: ty, params: Vec::new(), variadic: true };
                        (self.b.types.plain(f), Storage::Function)
                    } else {
                        (ty, Storage::Local)
                    };
                    let s = self.b.symbols.push(Symbol {
                        name: n.clone(),
                        ty,
                        storage,
                        device: None,
                        address_taken: false,
                        span: None,
                    });
                    self.declared.insert(n, s);
                    symbol = Some(s);
                }
            }
        }
        self.expect(")")?;
        let rest: Vec<TermId> = args.iter().skip(2).copied().collect();
        let op = match (word, symbol, rest.len()) {
            ("Declaration", Some(s), 0) | ("DeclarationAssignment", Some(s), 1) => Op::Declare(s),
            ("Function", Some(s), 2) => Op::Function(s),
            _ => return Ok(self.make(Op::Apply(word.into()), args, start)),
        };
        Ok(self.make(op, rest, start))
    }

    /// Types are read as far as single words go; all others keep their text.
    fn type_of(&mut self, text: &str) -> TypeId {
        let t = &mut self.b.types;
        match text {
            "void" => t.void(),
            "float" => t.float(FloatKind::F32),
            "double" => t.float(FloatKind::F64),
            "long double" => t.float(FloatKind::Long),
            _ => {
                use IntKind::*;
                let all =
                    [Bool, Char, SChar, UChar, Short, UShort, Int, UInt, Long, ULong, LongLong, ULongLong];
                match all.into_iter().find(|k| k.c_name() == text) {
                    Some(k) => t.int(k),
                    None => t.plain(TypeKind::Opaque(text.into())),
                }
            }
        }
    }

    /// A head with its arguments; one that does not fit its head stays an `Apply`.
    fn build(&mut self, word: &str, args: Vec<TermId>, start: usize) -> TermId {
        let n = args.len();
        let name = |this: &Self, k: usize| args.get(k).and_then(|&a| this.as_name(a));
        if let Some(op) = BinOp::ALL.into_iter().find(|&o| head(o) == word).filter(|_| n == 2) {
            return self.make(Op::Binary(op), args, start);
        }
        if word.ends_with("Assignment") && n == 2 {
            if let Some(op) = BinOp::ALL.into_iter().find(|&o| compound(o) == word) {
                return self.make(Op::Compound(op), args, start);
            }
        }
        let step = |delta, prefix| Op::Step { delta, prefix };
        let op = match (word, n) {
            ("Not", 1) => Op::Unary(UnOp::Not),
            ("Assignment", 2) => Op::Assign,
            ("Increment", 1) => step(1, false),
            ("PreIncrement", 1) => step(1, true),
            ("Decrement", 1) => step(-1, false),
            ("PreDecrement", 1) => step(-1, true),
            ("Select", 3) => Op::Select,
            ("Comma", 2) => Op::Comma,
            ("Checked", 1) => Op::Arithmetic(Overflow::Traps),
            ("Unchecked", 1) => Op::Arithmetic(Overflow::Wraps),
            ("ArrayElement", 2) => Op::Index,
            ("Deref", 1) => Op::Deref,
            ("AddressOf", 1) => Op::AddrOf,
            ("MethodCall", 1..) => Op::Call,
            ("SizeOf", 1) => Op::SizeOf,
            ("InitList", _) => Op::InitList,
            ("If", 2 | 3) => Op::If,
            ("For", 4..) => Op::For,
            ("While", 2) => Op::While,
            ("DoWhile", 2) => Op::DoWhile,
            ("Switch", 2) => Op::Switch,
            ("Case", 1) => Op::Case,
            ("Return", 1) => Op::Return,
            ("Program", _) => Op::Program,
            ("Cast", 2) => {
                if let Some(t) = name(self, 0) {
                    let ty = self.type_of(&t);
                    return self.make_typed(Op::Cast, vec![args[1]], ty, start);
                }
                Op::Apply(word.into())
            }
            ("Dot" | "Arrow", 2) => match name(self, 1) {
                Some(field) => {
                    let arrow = word == "Arrow";
                    return self.make(Op::Member { field, arrow }, vec![args[0]], start);
                }
                None => Op::Apply(word.into()),
            },
            ("SizeOfType", 1) => match name(self, 0) {
                Some(t) => {
                    let ty = self.type_of(&t);
                    return self.make(Op::SizeOfType(ty), vec![], start);
                }
                None => Op::Apply(word.into()),
            },
            ("Goto", 1) | ("Label", 1) => match name(self, 0) {
                Some(l) => {
                    let op = if word == "Goto" { Op::Goto(l) } else { Op::Label(l) };
                    return self.make(op, vec![], start);
                }
                None => Op::Apply(word.into()),
            },
            ("_MARK_CUDA", 1..) => match name(self, 0) {
                Some(m) => return self.make(Op::Mark(m), args[1..].to_vec(), start),
                None => Op::Apply(word.into()),
            },
            ("CallKernel", 3) => match self.launch(&args) {
                Some(parts) => return self.make(Op::Launch, parts, start),
                None => Op::Apply(word.into()),
            },
            ("Reject", 2..) => match (name(self, 0).and_then(|k| kind(&k)), self.b.get(args[1]).op.clone()) {
                (Some(k), Op::Str(reason)) => {
                    let span = Span::new(start, self.at);
                    return self.b.reject(k, &reason, span, args[2..].to_vec());
                }
                _ => Op::Apply(word.into()),
            },
            _ => Op::Apply(word.into()),
        };
        self.make(op, args, start)
    }

    fn launch(&self, args: &[TermId]) -> Option<Vec<TermId>> {
        let (shape, list) = (self.b.get(*args.first()?), self.b.get(*args.get(2)?));
        let fits = matches!(&shape.op, Op::Apply(s) if &**s == "Shape")
            && shape.args.len() == 4
            && list.op == Op::List;
        fits.then(|| {
            let mut parts = vec![args[1]];
            parts.extend(shape.args.iter());
            parts.extend(list.args.iter());
            parts
        })
    }
}

fn kind(word: &str) -> Option<RejectKind> {
    Some(match word {
        "Syntax" => RejectKind::Syntax,
        "Unsupported" => RejectKind::Unsupported,
        "Macro" => RejectKind::Macro,
        "Unread" => RejectKind::Unread,
        "Conditional" => RejectKind::Conditional,
        "TooDeep" => RejectKind::TooDeep,
        "Foreign" => RejectKind::Foreign,
        _ => return None,
    })
}
