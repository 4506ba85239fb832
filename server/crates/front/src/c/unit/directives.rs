//! Directives between items and inside them: what is defined, which arm of a conditional is taken, and where that is not known.

use std::sync::Arc;

use base::Span;
use term::RejectKind;

use super::{Slot, Walk, Way};
use crate::c::arms::Arm;
use crate::c::pp::{self, Line, MacroState, Macros};
use crate::c::says;
use crate::limits::c_unit_directives::MAX_NESTED;
use crate::Item;

impl Walk<'_, '_> {
    /// A directive between items.
    pub(super) fn between(&mut self, k: usize, end: usize) -> usize {
        match self.line(k) {
            Line::If(_) | Line::Ifdef(..) => {}
            Line::Include(ask) => {
                self.include(k, &ask);
                return k + 1;
            }
            _ => {
                return match self.inside(k) {
                    Way::On(n) => n,
                    Way::Unknown => k + 1,
                }
            }
        }
        match self.inside(k) {
            Way::On(n) => n,
            Way::Unknown => self.all_arms(k, end),
        }
    }

    /// All arms of a condition that is not known, one after the other, each from the same start.
    fn all_arms(&mut self, k: usize, end: usize) -> usize {
        let Some(&Arm { end: endif, .. }) = self.arms.get(&k) else { return k + 1 };
        let head = pp::in_one_line(self.token(k));
        let reason: Arc<str> = format!("it depends on `{head}`").into();
        let span = self.tokens[k].span();
        if self.s.nested >= MAX_NESTED {
            self.reject(RejectKind::TooDeep, "conditionals are nested too deeply", span);
            return endif + 1;
        }
        let start = self.s.macros.clone();
        let outer = self.s.conditional.replace(match &self.s.conditional {
            Some(o) => o.clone(),
            None => reason.clone(),
        });
        self.s.nested += 1;
        let items = self.s.slots.len();
        let mut states = Vec::new();
        let mut at = k;
        let mut has_else = false;
        while let Some(&Arm { next, .. }) = self.arms.get(&at) {
            has_else |= matches!(self.line(at), Line::Else);
            self.s.macros = start.clone();
            // `#ifndef N` / `#define N` is understood to define N where it was not: inside, it is not.
            match self.line(at) {
                Line::Ifdef(n, false) => Arc::make_mut(&mut self.s.macros).set(n, MacroState::Undefined),
                Line::Ifdef(n, true) if self.s.macros.get(&n).is_none() => Arc::make_mut(&mut self.s.macros)
                    .set(n.clone(), MacroState::Unknown(format!("its value is not known, {reason}").into())),
                _ => {}
            }
            self.range(at + 1..next.min(end));
            states.push(Macros::clone(&self.s.macros));
            at = next;
            if at >= endif {
                break;
            }
        }
        if !has_else {
            states.push(Macros::clone(&start));
        }
        self.s.macros = start;
        Arc::make_mut(&mut self.s.macros).merge(&states, &reason);
        self.s.nested -= 1;
        self.s.conditional = outer;
        // what a header declares is known by its own reason where it is used
        if self.s.slots.len() > items {
            let words = format!(
                "this condition is not known here, so what stands under it may or may not be there ({head})"
            );
            self.reject(RejectKind::Conditional, &words, span);
        }
        endif + 1
    }

    /// What a conditional tests and marks at once is its own, and a guard: no other text says whether it is defined, however many
    /// are missing.
    fn not_guarded_yet(&mut self, k: usize) {
        let name = match self.line(k) {
            Line::Ifdef(name, false) => name,
            Line::If(tokens) => match pp::not_defined(&tokens) {
                Some(name) => name,
                None => return,
            },
            _ => return,
        };
        let is_marked = matches!(self.line(k + 1), Line::Define(n, m) if n == name && m.is_mere_mark());
        let holds_more = self.arms.get(&k).is_some_and(|a| a.next > k + 2);
        if is_marked && holds_more && self.s.macros.get(&name).is_none() {
            Arc::make_mut(&mut self.s.macros).set(name, MacroState::Undefined);
        }
    }

    /// Applies a directive wherever it stands; for a conditional, says where to go on.
    pub(crate) fn inside(&mut self, k: usize) -> Way {
        let line = self.line(k);
        let is_pragma = matches!(line, Line::Other);
        if !is_pragma && self.header.is_none() {
            let text: Arc<str> = self.token(k).into();
            self.link(("directive", text));
        }
        match line {
            Line::Define(n, m) => {
                let state = match self.is_library(&n) {
                    true => MacroState::Library,
                    false => MacroState::Defined(m),
                };
                Arc::make_mut(&mut self.s.macros).set(n, state);
            }
            Line::Undef(n) => Arc::make_mut(&mut self.s.macros).set(n, MacroState::Undefined),
            Line::Pack(op) => Arc::make_mut(&mut self.s.macros).apply_pack(&op),
            // Between items and inside one, this was dealt with before.
            Line::Include(_) => {}
            Line::If(_) | Line::Ifdef(..) => {
                self.not_guarded_yet(k);
                return self.choose(k);
            }
            // Met only at the end of an arm that was taken.
            Line::Elif(_) | Line::Elifdef(..) | Line::Else => {
                return match self.arms.get(&k) {
                    Some(a) => Way::On(a.end + 1),
                    None => Way::On(k + 1),
                }
            }
            Line::Other => self.pragma(k),
            Line::Endif => {}
        }
        Way::On(k + 1)
    }

    /// A pragma that says something of the program. In a header it is left out.
    fn pragma(&mut self, k: usize) {
        let Some(says) = says::pragma(self.token(k)).filter(|_| self.header.is_none()) else { return };
        let text: Arc<str> = self.token(k).into();
        self.link(("pragma", text));
        match says {
            says::Says::FloatingEnvironment(on) => self.s.floating_environment = on,
            says::Says::Weak(_) | says::Says::SecondName(..) => {
                let (name, other) = match says {
                    says::Says::SecondName(name, other) => (name, Some(other)),
                    says::Says::Weak(name) => (name, None),
                    says::Says::FloatingEnvironment(_) => return,
                };
                let mut b = term::BodyBuilder::new("", term::Semantics::C);
                let span = self.tokens.get(k).map_or(Span::default(), |t| t.span());
                b.said.weak.push(name.clone());
                b.said.also_named.extend(other);
                let void = b.types.void();
                let root = b.term(term::Op::Program, [], void, Span::new(0, span.len()));
                let body = Arc::new(b.finish(root));
                self.s.slots.push(Slot::Done(Item::declarations(span, name, body)));
            }
        }
    }

    /// The arm of a conditional to be taken.
    fn choose(&mut self, k: usize) -> Way {
        let mut at = k;
        loop {
            let Some(&Arm { next, end }) = self.arms.get(&at) else { return Way::On(at + 1) };
            let line = self.line(at);
            self.note_choices(at, &line);
            let holds = match line {
                Line::If(c) | Line::Elif(c) => self.condition(at, &c),
                Line::Ifdef(n, want) | Line::Elifdef(n, want) => {
                    self.s.macros.is_defined(&n).map(|d| d == want)
                }
                Line::Else => Some(true),
                _ => Some(false),
            };
            match holds {
                Some(true) => return Way::On(at + 1),
                None => return Way::Unknown,
                Some(false) if next >= end => return Way::On(end + 1),
                Some(false) => at = next,
            }
        }
    }
}
