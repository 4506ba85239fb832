//! Statements of a kernel's body.

use term::strength::UNARY;
use term::{Body, Op, Origin, SymbolId, TermId, TypeKind};

use super::expr::Exprs;
use super::{atomics, reduce};
use crate::access::address_sum;
use crate::lines::Lines;

/// Prints statements into `out`.
pub(crate) struct Stmts<'p, 'l> {
    pub(crate) exprs: Exprs<'p>,
    pub(crate) out: &'l mut Lines,
    /// Statements in whose place another line stands, or nothing.
    pub(crate) instead: &'l [(TermId, String)],
}

impl Stmts<'_, '_> {
    fn body(&self) -> &Body {
        self.exprs.plan.body
    }

    /// The statements of a block, or the one statement that stands for it.
    pub(crate) fn block(&mut self, list: TermId) {
        if *self.body().op(list) == Op::List {
            for s in self.body().args(list).to_vec() {
                self.statement(s, false);
            }
        } else {
            self.statement(list, false);
        }
    }

    /// One statement.
    pub(crate) fn one(&mut self, t: TermId) {
        self.statement(t, false);
    }

    fn statement(&mut self, t: TermId, in_switch: bool) {
        let body = self.exprs.plan.body;
        let args = body.args(t);
        if let Some((_, line)) = self.instead.iter().find(|i| i.0 == t) {
            if !line.is_empty() {
                self.out.from(t, line);
            }
            return;
        }
        let parts = self.exprs.kernel.atomics.iter().filter(|a| a.statement == t);
        let lines: Vec<String> = parts.map(|a| atomics::line(&self.exprs, a)).collect();
        if let [only] = &lines[..] {
            return self.out.from(t, only);
        }
        if !lines.is_empty() {
            self.out.open("{");
            lines.iter().for_each(|line| self.out.from(t, line));
            return self.out.close("}");
        }
        match (body.op(t), args) {
            (Op::Empty | Op::Mark(_), _) => {}
            _ if says_nothing(body, t) => {}
            // of a call that is written out
            (Op::List, all) if body.origin(t) == Origin::Made && !all.iter().any(|&s| declares(body, s)) => {
                all.iter().for_each(|&s| self.statement(s, in_switch));
            }
            (Op::List, _) => {
                self.out.open("{");
                self.block(t);
                self.out.close("}");
            }
            (Op::Declare(_), _) => {
                for line in self.declaration(t, in_switch) {
                    self.out.from(t, &line);
                }
            }
            (Op::If, _) => self.branch(t),
            (Op::For, &[init, condition, step, inner, ..]) => {
                let several = *body.op(init) == Op::List;
                let mut head = String::new();
                if several {
                    self.out.open("{");
                    self.block(init);
                } else {
                    head = match body.op(init) {
                        Op::Empty => String::new(),
                        Op::Declare(_) => {
                            self.declaration(init, false).concat().trim_end_matches(';').to_string()
                        }
                        _ => self.typed(init) + &self.exprs.top(init),
                    };
                }
                let part = |p: TermId| match body.op(p) {
                    Op::Empty => String::new(),
                    _ => format!(" {}", self.exprs.top(p)),
                };
                let line = format!("for ({head};{};{}) {{", part(condition), self.stepped(step));
                self.out.from(t, &line);
                self.inside(inner);
                self.out.line("}");
                if several {
                    self.out.close("}");
                }
            }
            (Op::While, &[condition, inner]) => {
                let line = format!("while ({}) {{", self.exprs.top(condition));
                self.out.from(t, &line);
                self.inside(inner);
                self.out.line("}");
            }
            (Op::DoWhile, &[inner, condition]) => {
                self.out.from(t, "do {");
                self.inside(inner);
                let line = format!("}} while ({});", self.exprs.top(condition));
                self.out.line(&line);
            }
            (Op::Switch, &[value, inner]) => {
                let line = format!("switch ({}) {{", self.exprs.top(value));
                self.out.from(t, &line);
                let all = body.args(inner).to_vec();
                let last = all.iter().rposition(|&s| !says_nothing(body, s));
                for (k, &s) in all.iter().enumerate() {
                    let label = matches!(body.op(s), Op::Case | Op::Default);
                    if !label {
                        self.out.indent();
                    }
                    self.statement(s, true);
                    if !label {
                        self.out.dedent();
                    } else if Some(k) == last {
                        // a label stands before a statement (C11 6.8.1p1)
                        self.out.indent();
                        self.out.line(";");
                        self.out.dedent();
                    }
                }
                self.out.line("}");
            }
            (Op::Case, &[value, ..]) => {
                let line = format!("case {}:", self.exprs.at(value, 4));
                self.out.from(t, &line);
            }
            (Op::Default, _) => self.out.from(t, "default:"),
            (Op::Return, args) => {
                let line = match args.first() {
                    Some(&value) => format!("return {};", self.exprs.top(value)),
                    None => "return;".to_string(),
                };
                self.out.from(t, &line);
            }
            (Op::Break, _) => self.out.from(t, "break;"),
            (Op::Continue, _) => self.out.from(t, "continue;"),
            _ => {
                let line = format!("{};", self.exprs.top(t));
                self.out.from(t, &line);
            }
        }
        for k in self.exprs.kernel.keyed.iter().filter(|k| k.marks.contains(&t)) {
            let counter = self.exprs.kernel.dims.first().map_or("0", |d| d.counter_name.as_str());
            self.out.from(t, &format!("{} = {counter};", k.at_name));
            if let Some(c) = &k.compared {
                let line = format!("{} = {};", c.name, self.exprs.top(c.term));
                self.out.from(t, &line);
            }
        }
        let within = |u: &TermId| match self.exprs.plan.body.op(t) {
            Op::Comma => self.exprs.plan.body.walk(t).any(|x| x == *u),
            _ => *u == t,
        };
        for r in self.exprs.kernel.reductions.iter().filter(|r| r.updates.iter().any(within)) {
            let name = r.name.clone();
            if let Some(flag) = reduce::nan_flag(self.exprs.plan, r, &name) {
                self.out.from(t, &format!("if ({name} != {name}) {flag} = true;"));
            }
        }
    }

    /// A loop's step; as pages read it, where they are to.
    fn stepped(&self, step: TermId) -> String {
        let body = self.exprs.plan.body;
        match (body.op(step), body.args(step)) {
            (Op::Empty, _) => String::new(),
            (Op::Step { delta: 1, prefix: true }, &[index]) if self.exprs.kernel.for_pages => {
                format!(" {}++", self.exprs.at(index, UNARY))
            }
            _ => format!(" {}", self.exprs.top(step)),
        }
    }

    /// The type before what a loop's header sets, where it is to declare that.
    fn typed(&self, init: TermId) -> String {
        let body = self.exprs.plan.body;
        let own = |s: &SymbolId| self.exprs.kernel.loop_indices.contains(s);
        match (body.op(init), body.args(init).first().and_then(|&t| body.as_symbol(t))) {
            (Op::Assign, Some(s)) if own(&s) => format!("{} ", self.exprs.type_name(body.symbols[s].ty)),
            _ => String::new(),
        }
    }

    fn inside(&mut self, list: TermId) {
        self.out.indent();
        self.block(list);
        self.out.dedent();
    }

    fn branch(&mut self, t: TermId) {
        let body = self.exprs.plan.body;
        let mut at = t;
        let mut lead = String::new();
        loop {
            let args = body.args(at);
            let line = format!("{lead}if ({}) {{", self.exprs.top(args[0]));
            self.out.from(at, &line);
            if let Some(&then) = args.get(1) {
                self.inside(then);
            }
            let Some(&other) = args.get(2) else { break };
            // `else if` keeps a ladder flat.
            let only = match (body.op(other), body.args(other)) {
                (Op::List, &[one]) if *body.op(one) == Op::If => Some(one),
                (Op::If, _) => Some(other),
                _ => None,
            };
            match only {
                Some(one) => {
                    lead = "} else ".to_string();
                    at = one;
                }
                None => {
                    self.out.line("} else {");
                    self.inside(other);
                    break;
                }
            }
        }
        self.out.line("}");
    }

    /// A declaration, in one line or, in a `switch`, as declaration and assignment: C++ lets no label jump past an
    /// initialisation.
    fn declaration(&self, t: TermId, in_switch: bool) -> Vec<String> {
        let body = self.exprs.plan.body;
        let Op::Declare(s) = body.op(t) else { return Vec::new() };
        let ty = body.symbols[*s].ty;
        let name = self.exprs.name(*s);
        if let Some(v) = self.exprs.kernel.views.iter().find(|v| v.symbol == *s) {
            // A pointer into a buffer is a position in it.
            let at =
                body.args(t).first().and_then(|&init| address_sum(body, &self.exprs.kernel.tables, init));
            let at = at.map(|a| self.exprs.place(&a));
            return match (at, v.moves, in_switch) {
                (Some(at), true, true) => vec![format!("long long {name};"), format!("{name} = {at};")],
                (Some(at), true, false) => vec![format!("long long {name} = {at};")],
                (Some(at), false, _) => vec![format!("const long long {name} = {at};")],
                (None, ..) => vec![format!("long long {name};")],
            };
        }
        let place = self.exprs.variable(ty, &name);
        match body.args(t).first() {
            None => vec![format!("{place};")],
            Some(&init) if *body.op(init) == Op::InitList => {
                vec![format!("{place} = {};", self.list(ty, init))]
            }
            Some(&init) if in_switch => {
                vec![format!("{place};"), format!("{name} = {};", self.exprs.at(init, 2))]
            }
            Some(&init) => vec![format!("{place} = {};", self.exprs.at(init, 2))],
        }
    }

    /// `{(float)a, (float)b}`: C++ allows no narrowing between braces.
    fn list(&self, ty: term::TypeId, list: TermId) -> String {
        let body = self.exprs.plan.body;
        let types = &body.types;
        let item_type = |k: usize| match types.kind(ty) {
            TypeKind::Array { of, .. } => Some(*of),
            TypeKind::Record(r) => types.record(*r).fields.as_ref()?.get(k).map(|f| f.ty),
            _ => Some(ty),
        };
        if let &[zero] = body.args(list) {
            let inner = item_type(0).is_some_and(|of| !types.is_arithmetic(of));
            if inner && *body.op(zero) == Op::Int(0) {
                return "{}".to_string();
            }
        }
        let items: Vec<String> = body
            .args(list)
            .iter()
            .enumerate()
            .map(|(k, &item)| match (item_type(k), body.op(item)) {
                (Some(of), Op::InitList) => self.list(of, item),
                (Some(of), _) if types.kind(of) != types.kind(body.ty(item)) => {
                    format!("({}){}", self.exprs.type_name(of), self.exprs.at(item, UNARY))
                }
                _ => self.exprs.at(item, 2),
            })
            .collect();
        format!("{{{}}}", items.join(", "))
    }
}

/// Whether nothing is left of a statement in a kernel: assertions were proved, or tested by the host.
fn says_nothing(body: &Body, t: TermId) -> bool {
    match body.op(t) {
        Op::Empty | Op::Mark(_) => true,
        Op::List => body.args(t).iter().all(|&s| says_nothing(body, s)),
        _ => body.asserted(t).is_some(),
    }
}

fn declares(body: &Body, t: TermId) -> bool {
    matches!(body.op(t), Op::Declare(_))
}
