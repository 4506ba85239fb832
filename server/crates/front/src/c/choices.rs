//! What conditions take for granted, where it could as well be otherwise: told with the unit.

use std::sync::Arc;

use crate::c::pp::{self, predefined, Line, MacroState, MacroToken};
use crate::c::unit::Walk;
use crate::{Choice, Taken};

impl Walk<'_, '_> {
    /// Notes the names a condition tests whose meaning could as well be another.
    pub(crate) fn note_choices(&mut self, k: usize, line: &Line) {
        if self.header.is_some_and(|h| h.is_system()) {
            return;
        }
        match line {
            Line::Ifdef(n, want) | Line::Elifdef(n, want) => {
                // What a text tests and then defines as nothing guards it.
                let is_guard =
                    !want && matches!(self.line(k + 1), Line::Define(m, d) if m == *n && d.is_empty());
                if !is_guard {
                    self.note_choice(n);
                }
            }
            Line::If(tokens) | Line::Elif(tokens) => {
                if pp::not_defined(tokens)
                    .is_some_and(|n| matches!(self.line(k + 1), Line::Define(m, d) if m == n && d.is_empty()))
                {
                    return;
                }
                let mut k = 0;
                while let Some(t) = tokens.get(k) {
                    // what is between its parentheses is no name
                    if let Some((close, inside)) = Self::asked_header(tokens, k) {
                        self.note_header(inside);
                        k = close;
                    } else if t.is_name() {
                        self.note_choice(t.text());
                    }
                    k += 1;
                }
            }
            _ => {}
        }
    }

    /// Notes a header that a condition asks for and that is not there.
    fn note_header(&mut self, inside: &[MacroToken]) {
        let Some((name, _)) = self.header_asked(inside) else { return };
        if !self.has_header(inside, false) {
            self.note(name.into(), Taken::NotFound);
        }
    }

    fn note_choice(&mut self, name: &Arc<str>) {
        let dialect = self.s.dialect;
        let asked = self.s.macros.asked().map(|c| Taken::Compiler(c.name().into()));
        let platform = asked.clone().unwrap_or(Taken::Platform);
        let given = self.s.including.options.defines.iter().find(|(n, _)| **n == **name);
        let taken = match self.s.macros.get(name) {
            Some(MacroState::Defined(_)) => match given {
                Some((_, value)) => Taken::Given(value.as_str().into()),
                None if self.s.macros.is_predefined(name) => platform,
                None => return,
            },
            Some(MacroState::ByOptions(_)) => Taken::EitherWay,
            Some(_) => return,
            None if matches!(&**name, "__cplusplus" | "__CUDACC__" | "__STDC_VERSION__") => return,
            None if predefined::by_options(name) || predefined::is_compilers_choice(name) => {
                match self.s.macros.is_defined(name) {
                    Some(_) => platform,
                    None => Taken::EitherWay,
                }
            }
            None if dialect.switch(name) == Some(true) => Taken::Given("1".into()),
            None if predefined::is_absent(name, dialect) => platform,
            None if self.s.macros.is_defined(name) == Some(false) => Taken::NotDefined,
            None => return,
        };
        self.note(name.clone(), taken);
    }

    pub(crate) fn note(&mut self, name: Arc<str>, taken: Taken) {
        let all = &mut self.s.unit.configuration;
        if !all.iter().any(|c| c.name == name && c.taken == taken) {
            all.push(Choice { name, taken });
        }
    }
}
