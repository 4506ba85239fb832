//! Guards that ask what a single term is: its type, its first word, a constant, a sum of variables, a value without effects;
//! and names that nothing else has.

use std::sync::Arc;

use term::{BinOp, IntKind, Op, Overflow, Storage, TypeKind};

use super::matching::Bindings;
use super::pattern::{Pattern, TypeTest};
use super::prove::Asking;
use super::tree::{Node, Tree};
use super::uniform;

impl Asking<'_> {
    pub(super) fn is_of_type(&self, x: &Tree, test: &TypeTest) -> Result<String, String> {
        match test.holds(self.types, x) {
            true => Ok(format!("its type is {}", test.word())),
            false => Err(format!("`{}` is not of type {}", self.subject.print(x), test.word())),
        }
    }

    /// Binds the name to the word of the number's type.
    pub(super) fn type_of(&mut self, x: &Tree, name: &Arc<str>, b: &mut Bindings) -> Result<String, String> {
        let kind = x.ty.map(|t| self.types.kind(t).clone());
        let Some(kind @ (TypeKind::Int(_) | TypeKind::Float(_))) = kind else {
            return Err(format!("`{}` is not known to be a number", self.subject.print(x)));
        };
        let ty = self.types.plain(kind);
        let text = term::notation::type_text(self.types, ty);
        let word = Node::new(Op::Name(text.as_str().into()), Vec::new(), Some(ty), None);
        match b.get(name) {
            Some(known) if !self.subject.same(known, &word) => {
                return Err(format!("`{}` has the type `{text}`", self.subject.print(x)));
            }
            Some(_) => {}
            None => b.bind(name, word),
        }
        Ok(format!("its type is {text}"))
    }

    pub(super) fn begins_with(&self, x: &Tree, word: &str) -> Result<String, String> {
        if self.subject.word(x) != Some(word) && super::show::head(&x.op) != *word {
            return Err(format!("`{}` does not begin with `{word}`", self.subject.print(x)));
        }
        Ok(format!("it begins with `{word}`"))
    }

    /// Binds a name made of these words, unless it has one.
    pub(super) fn fresh_name(
        &mut self,
        name: &Arc<str>,
        like: &[Pattern],
        b: &mut Bindings,
    ) -> Result<String, String> {
        if b.get(name).is_none() {
            let mut parts: Vec<String> = Vec::new();
            for p in like {
                let part = self.filled(p, b)?;
                let word = self.subject.word(&part).map(str::to_owned);
                parts.push(word.ok_or_else(|| {
                    format!("`{}` is no word to make a name of", self.subject.print(&part))
                })?);
            }
            let made = self.fresh(&parts.join("_"));
            b.bind(name, Node::name(&made));
        }
        Ok("nothing else in the file has this name".to_owned())
    }

    fn fresh(&mut self, like: &str) -> Arc<str> {
        let text = self.ground.map_or("", |g| g.text);
        let taken = |name: &str, made: &[Arc<str>]| {
            made.iter().any(|m| **m == *name)
                || self.subject.symbols.iter().any(|s| *s.name == *name)
                || words(text).any(|w| w == name)
        };
        let name = (0..)
            .map(|k| if k == 0 { like.to_owned() } else { format!("{like}_{k}") })
            .find(|n| !taken(n, self.made))
            .unwrap_or_default();
        let name: Arc<str> = name.into();
        self.made.push(name.clone());
        name
    }

    /// Whether its operator may be applied in another order.
    pub(super) fn associative(&self, x: &Tree) -> Result<String, String> {
        let wraps = |k: IntKind| self.subject.arithmetic().overflow(k.promoted()) == Overflow::Wraps;
        match x.ty.map(|t| self.types.kind(t)) {
            Some(TypeKind::Int(k)) if wraps(*k) => Ok("it is computed modulo a power of two".to_owned()),
            _ if matches!(x.op, Op::Binary(BinOp::BitAnd | BinOp::BitOr | BinOp::BitXor)) => {
                Ok("it works bit by bit".to_owned())
            }
            Some(TypeKind::Int(_)) => {
                Err("signed integers may overflow where they did not before".to_owned())
            }
            _ => Err("floating-point operations round, and rounding depends on the order".to_owned()),
        }
    }

    pub(super) fn number(&self, x: &Tree) -> Result<i128, String> {
        if let Some(v) = x.as_int() {
            return Ok(v);
        }
        if let (Op::Binary(op @ (BinOp::Add | BinOp::Sub | BinOp::Mul)), [a, b], None) =
            (&x.op, &*x.args, x.from)
        {
            let (a, b) = (self.number(a)?, self.number(b)?);
            let value = match op {
                BinOp::Add => a.checked_add(b),
                BinOp::Sub => a.checked_sub(b),
                _ => a.checked_mul(b),
            };
            return value.ok_or_else(|| format!("`{}` is too large", self.subject.print(x)));
        }
        let known = match (self.ground, x.from) {
            (Some(g), Some(t)) if self.subject.untouched(x) => analysis::constant(g.body, t),
            _ => None,
        };
        known.ok_or_else(|| format!("`{}` is no constant", self.subject.print(x)))
    }

    /// Reads variables and constants only, calls only what is known to be a function of its arguments.
    /// `memory`: whether it may read what stands in memory.
    pub(super) fn pure(&self, x: &Tree, memory: bool) -> Result<(), String> {
        for n in x.walk() {
            let shown = || self.subject.print(&n);
            match &n.op {
                op if op.is_write() => return Err(format!("`{}` writes", shown())),
                Op::Call => {
                    let callee = n.args.first().and_then(|c| c.as_symbol());
                    let by_name = callee.and_then(|s| {
                        self.subject.library.contains(&s).then(|| term::intrinsic(self.subject.name(s)))?
                    });
                    let by_summary = callee.and_then(|s| {
                        let summary = self.ground?.program.summary(self.subject.name(s))?;
                        (summary.is_pure() && !summary.recursive).then_some(())
                    });
                    if by_name.is_none() && by_summary.is_none() {
                        return Err(format!("nothing is known of the call `{}`", shown()));
                    }
                }
                Op::Index | Op::Deref => self.reads(&n, memory)?,
                // where a thread is never changes
                Op::Apply(h) if &**h == "Dot" && uniform::is_position(self.subject, &n) => {}
                Op::Apply(h) if matches!(&**h, "Dot" | "Arrow") => self.reads(&n, memory)?,
                Op::Sym(s) => {
                    let known = self.subject.symbol(*s);
                    let volatile = known.is_some_and(|k| {
                        let q = self.types.quals(k.ty);
                        q.is_volatile || q.is_atomic
                    });
                    let function = known.is_some_and(|k| matches!(k.storage, Storage::Function));
                    if volatile || (!memory && !function && known.is_some_and(|k| k.address_taken)) {
                        return Err(format!("`{}` may be changed from elsewhere", shown()));
                    }
                }
                Op::Launch | Op::Reject(_) | Op::List => {
                    return Err(format!("`{}` is no expression", shown()))
                }
                Op::Apply(h) if !matches!(&**h, "Cast" | "SizeOfType") => {
                    return Err(format!("nothing is known of `{}`", shown()));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn reads(&self, x: &Tree, allowed: bool) -> Result<(), String> {
        let shown = || self.subject.print(x);
        if !allowed {
            return Err(format!("`{}` reads memory", shown()));
        }
        let q = x.ty.map_or_else(Default::default, |t| self.types.quals(t));
        match q.is_volatile || q.is_atomic {
            true => Err(format!("`{}` may be changed from elsewhere", shown())),
            false => Ok(()),
        }
    }

    pub(super) fn affine(&self, x: &Tree) -> Result<(), String> {
        let no = || format!("`{}` is not linear", self.subject.print(x));
        match (&x.op, &*x.args) {
            (Op::Int(_), _) => Ok(()),
            (Op::Sym(s), _) => {
                let fine = self.subject.symbol(*s).is_some_and(|k| self.types.as_int(k.ty).is_some());
                fine.then_some(()).ok_or_else(no)
            }
            (Op::Unary(_), [a]) if matches!(x.op, Op::Unary(term::UnOp::Neg | term::UnOp::Plus)) => {
                self.affine(a)
            }
            (Op::Binary(BinOp::Add | BinOp::Sub), [a, b]) => {
                self.affine(a)?;
                self.affine(b)
            }
            (Op::Binary(BinOp::Mul), [a, b]) => match (self.number(a), self.number(b)) {
                (Ok(_), _) => self.affine(b),
                (_, Ok(_)) => self.affine(a),
                _ => Err(no()),
            },
            _ => Err(no()),
        }
    }
}

/// The words of a text.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_'))
}
