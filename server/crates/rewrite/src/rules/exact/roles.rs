//! What stands on a rule's sides: numbers, places that are written, statements.
//!
//! Deliberately absent: what they mean (`lower`).

use std::collections::BTreeMap;
use std::sync::Arc;

use term::Op;

use super::super::pattern::{Literal, Pattern, TypeTest};
use super::cases::Case;
use super::lower;

/// Whether a pattern is a statement that is no expression.
pub(super) fn is_statement(p: &Pattern) -> bool {
    match p {
        Pattern::Term(op, _) => {
            op.is_loop()
                || matches!(
                    op,
                    Op::If
                        | Op::List
                        | Op::Switch
                        | Op::Break
                        | Op::Continue
                        | Op::Return
                        | Op::Empty
                        | Op::Cons
                )
                || matches!(op, Op::Apply(h) if h.starts_with("Declaration") || &**h == "Function")
        }
        Pattern::Cons(..) => true,
        _ => false,
    }
}

/// Tests that variables of a source bring along: `$x:int`.
pub(super) fn tests(p: &Pattern, case: &mut Case) {
    match p {
        Pattern::Variable { name, test: Some(t) } => {
            case.types.push((format!("${name}"), t.clone(), false));
        }
        Pattern::Cons(a, b) => {
            tests(a, case);
            tests(b, case);
        }
        Pattern::Term(op, args) => {
            // what it declares has the type it says
            if let (Op::Apply(h), [place, Pattern::Literal(Literal::Word(ty)), ..]) = (op, args.as_slice()) {
                if let (true, Some(key)) = (h.starts_with("Declaration"), lower::key(place)) {
                    case.types.push((key, TypeTest::Exactly(ty.clone()), false));
                }
            }
            args.iter().for_each(|a| tests(a, case));
        }
        _ => {}
    }
}

/// The keys of numbers, and whether they are written somewhere (or may be: what is declared).
#[derive(Default, Debug)]
pub(super) struct Keys {
    pub values: BTreeMap<String, bool>,
    statements: Vec<Arc<str>>,
}

impl Keys {
    pub fn of(&mut self, p: &Pattern, statement: bool) -> Result<(), String> {
        match statement {
            true => self.statement(p),
            false => self.value(p),
        }
    }
    fn add(&mut self, key: String, written: bool) -> Result<(), String> {
        if self.statements.iter().any(|s| format!("${s}") == key) {
            return Err(format!("`{key}` is a statement and a value"));
        }
        *self.values.entry(key).or_insert(false) |= written;
        Ok(())
    }
    fn statement(&mut self, p: &Pattern) -> Result<(), String> {
        match p {
            Pattern::Variable { name, .. } => {
                if self.values.contains_key(&format!("${name}")) {
                    return Err(format!("`${name}` is a statement and a value"));
                }
                self.statements.push(name.clone());
                Ok(())
            }
            Pattern::Term(Op::List, all) => all.iter().try_for_each(|s| self.statement(s)),
            Pattern::Term(Op::Empty | Op::Break | Op::Continue, _) => Ok(()),
            Pattern::Term(Op::If, parts) if parts.len() >= 2 => {
                self.value(&parts[0])?;
                parts[1..].iter().try_for_each(|s| self.statement(s))
            }
            Pattern::Term(Op::For, parts) if parts.len() == 4 => {
                self.statement(&parts[0])?;
                if !matches!(parts[1], Pattern::Term(Op::Empty, _)) {
                    self.value(&parts[1])?;
                }
                self.statement(&parts[2])?;
                self.statement(&parts[3])
            }
            Pattern::Term(Op::While, parts) if parts.len() == 2 => {
                self.value(&parts[0])?;
                self.statement(&parts[1])
            }
            Pattern::Term(Op::DoWhile, parts) if parts.len() == 2 => {
                self.statement(&parts[0])?;
                self.value(&parts[1])
            }
            Pattern::Term(Op::Return, parts) => parts.iter().try_for_each(|v| self.value(v)),
            Pattern::Term(Op::Apply(h), parts) if h.starts_with("Declaration") && parts.len() <= 3 => {
                // what is declared may be used behind it
                if let Some(key) = parts.first().and_then(lower::key) {
                    self.add(key, true)?;
                }
                parts.iter().skip(2).try_for_each(|v| self.value(v))
            }
            p if is_statement(p) => Err(format!("`{}` is not followed", p.text())),
            p => self.value(p),
        }
    }
    fn value(&mut self, p: &Pattern) -> Result<(), String> {
        if let Some(key) = lower::key(p) {
            return self.add(key, false);
        }
        match p {
            Pattern::Literal(Literal::Int(..) | Literal::Float(..)) => Ok(()),
            Pattern::Term(Op::Assign | Op::Compound(_), args) if args.len() == 2 => {
                let key =
                    lower::key(&args[0]).ok_or_else(|| format!("`{}` is not followed", args[0].text()))?;
                self.add(key, true)?;
                self.value(&args[1])
            }
            Pattern::Term(Op::Step { .. }, args) if args.len() == 1 => {
                let key =
                    lower::key(&args[0]).ok_or_else(|| format!("`{}` is not followed", args[0].text()))?;
                self.add(key, true)
            }
            Pattern::Term(Op::Apply(h), args) if &**h == "Cast" && args.len() == 2 => self.value(&args[1]),
            Pattern::Term(Op::Call, args) => args.iter().skip(1).try_for_each(|a| self.value(a)),
            Pattern::Term(Op::Binary(_) | Op::Unary(_) | Op::Select | Op::Comma, args) => {
                args.iter().try_for_each(|a| self.value(a))
            }
            p => Err(format!("`{}` is not followed", p.text())),
        }
    }
}
