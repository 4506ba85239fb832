//! Whether every variable of a rewritten tree still means what it meant: moving a use under another declaration of its
//! name, or out of its own, would make another program of it.
//!
//! Deliberately absent: words that a rule wrote; they mean what they mean where they stand.

use rustc_hash::FxHashMap;
use std::sync::Arc;
use term::{Op, Storage, SymbolId};

use super::tree::{Subject, Tree};

/// What a name is declared as: by the program, or by a rule.
type Declared = Option<SymbolId>;

/// `Err`: which variable means something else now; words that continue "because".
pub(super) fn check(subject: &Subject, root: &Tree) -> Result<(), String> {
    Scopes { subject, open: vec![FxHashMap::default()] }.tree(root)
}

struct Scopes<'a> {
    subject: &'a Subject,
    open: Vec<FxHashMap<Arc<str>, Declared>>,
}

impl Scopes<'_> {
    fn inside(&mut self, f: impl FnOnce(&mut Self) -> Result<(), String>) -> Result<(), String> {
        self.open.push(FxHashMap::default());
        let result = f(self);
        self.open.pop();
        result
    }
    fn declare(&mut self, n: &Tree) -> Result<(), String> {
        let Some(name) = n.args.first() else { return Ok(()) };
        let Some(word) = self.subject.word(name) else { return Ok(()) };
        let known = self.open.last_mut().and_then(|s| s.insert(word.into(), name.as_symbol()));
        match known {
            Some(_) => Err(format!("`{word}` would be declared twice")),
            None => Ok(()),
        }
    }
    fn tree(&mut self, n: &Tree) -> Result<(), String> {
        match &n.op {
            Op::Sym(s) => self.used(*s),
            Op::List => self.inside(|all| n.args.iter().try_for_each(|a| all.tree(a))),
            Op::For => self.inside(|all| {
                // several declarations in the header are a list, not a block
                let mut parts = n.args.iter();
                if let Some(init) = parts.next() {
                    match init.op {
                        Op::List => init.args.iter().try_for_each(|a| all.tree(a))?,
                        _ => all.tree(init)?,
                    }
                }
                parts.try_for_each(|a| all.tree(a))
            }),
            Op::Apply(h) if h.starts_with("Declaration") || &**h == "ArrayDeclaration" => {
                // a variable is in scope in its own initialiser (C11 6.2.1p7)
                self.declare(n)?;
                n.args.iter().skip(2).try_for_each(|a| self.tree(a))
            }
            Op::Apply(h) if &**h == "Function" && n.args.len() == 5 => self.inside(|all| {
                n.args[3].args.iter().try_for_each(|p| all.declare(p))?;
                // parameters and the outermost block are one scope (6.2.1p4)
                n.args[4].args.iter().try_for_each(|a| all.tree(a))
            }),
            Op::Apply(h) if matches!(&**h, "Dot" | "Arrow") => {
                n.args.first().map_or(Ok(()), |a| self.tree(a))
            }
            _ => n.args.iter().try_for_each(|a| self.tree(a)),
        }
    }
    fn used(&self, s: SymbolId) -> Result<(), String> {
        let Some(known) = self.subject.symbol(s) else { return Ok(()) };
        let found = self.open.iter().rev().find_map(|scope| scope.get(&known.name));
        let local = matches!(
            known.storage,
            Storage::Param(_) | Storage::Local | Storage::StaticLocal { .. } | Storage::Shared
        );
        match found {
            Some(Some(d)) if *d == s => Ok(()),
            Some(_) => Err(format!("`{}` would mean another variable of that name", known.name)),
            None if local => Err(format!("`{}` would be used where it is not declared", known.name)),
            None => Ok(()),
        }
    }
}
