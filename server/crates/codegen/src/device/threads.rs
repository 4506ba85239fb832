//! The code of a kernel by thread map: this thread's id, then the instances of that id in the order of the program.

use analysis::{Rounding, Scan, ThreadValue};
use term::strength::{self, ADD, AND, ATOM, COMPARE, MUL, OR, SELECT, UNARY};
use term::{Op, SymbolId, TermId};

use super::expr::{int_name, Dialect, Exprs};
use super::rounds;
use super::stmt::Stmts;
use crate::lines::Lines;
use crate::plan::{comparison, Dim, Plan, ThreadPlan};

/// One coordinate of the id, with its guard.
pub(super) fn id(plan: &Plan<'_>, d: &Dim, out: &mut Lines) {
    let (a, t) = (d.axis.letter(), &d.counter_name);
    let (start, round) = rounds(plan, a);
    if d.strided {
        out.from(
            d.term,
            &format!("for (long long {t} = {start}; {t} < {};\n     {t} += {round}) {{", d.trips_name),
        );
    } else {
        out.from(d.term, &format!("const long long {t} = {start};"));
        out.from(d.term, &format!("if ({t} < {}) {{", d.trips_name));
    }
    out.indent();
}

/// What the thread runs.
pub(super) fn code(exprs: &Exprs<'_>, plan: &ThreadPlan, out: &mut Lines) {
    Threads { exprs: *exprs, plan }.inside(&plan.code.code, out);
}

/// Whether it runs a statement at these indices.
fn runs_at(code: &Scan, indices: &[(SymbolId, ThreadValue)]) -> bool {
    matches!(code, Scan::Run { indices: i, .. } if i == indices)
}

struct Threads<'p> {
    exprs: Exprs<'p>,
    plan: &'p ThreadPlan,
}

impl Threads<'_> {
    /// What stands alone between braces that are there already.
    fn inside(&self, code: &Scan, out: &mut Lines) {
        let all = match code {
            Scan::Block(all) => all.as_slice(),
            one => std::slice::from_ref(one),
        };
        match all.first() {
            Some(Scan::Run { indices, .. }) if all.iter().all(|c| runs_at(c, indices)) => {
                self.run(all, indices, out)
            }
            _ => self.block(all, out),
        }
    }

    fn scan(&self, code: &Scan, out: &mut Lines) {
        match code {
            Scan::Loop { counter, first, last, step, body } => {
                let c = self.plan.counters.get(counter).map_or("c", String::as_str);
                let by = if *step == 1 { format!("++{c}") } else { format!("{c} += {step}") };
                let (first, last) = (self.value(first, 0), self.value(last, COMPARE + 1));
                out.open(&format!("for (long long {c} = {first}; {c} <= {last}; {by}) {{"));
                self.inside(body, out);
                out.close("}");
            }
            Scan::If { condition, then, otherwise } => {
                out.open(&format!("if ({}) {{", self.value(condition, 0)));
                self.inside(then, out);
                if let Some(o) = otherwise {
                    out.close("} else {");
                    out.indent();
                    self.inside(o, out);
                }
                out.close("}");
            }
            Scan::Block(all) => self.block(all, out),
            Scan::Run { .. } => self.block(std::slice::from_ref(code), out),
        }
    }

    /// Instances that follow one another with the same indices share a scope.
    fn block(&self, all: &[Scan], out: &mut Lines) {
        let mut k = 0;
        while k < all.len() {
            let Scan::Run { indices, .. } = &all[k] else {
                self.scan(&all[k], out);
                k += 1;
                continue;
            };
            let run = all[k..].iter().take_while(|c| runs_at(c, indices)).count();
            out.open("{");
            self.run(&all[k..k + run], indices, out);
            out.close("}");
            k += run;
        }
    }

    /// Statements of one instance of the loops around them.
    fn run(&self, all: &[Scan], indices: &[(SymbolId, ThreadValue)], out: &mut Lines) {
        for (s, v) in indices {
            let ty = self.exprs.plan.body.symbols[*s].ty;
            let kind = self.exprs.plan.body.types.as_int(ty).unwrap_or(term::IntKind::LongLong);
            let ty = int_name(kind, Dialect::Device);
            let used = all.iter().any(|c| match c {
                Scan::Run { term, .. } => self.mentions(*term, *s),
                _ => false,
            });
            if used {
                let value = match v {
                    ThreadValue::Int(n) => n.to_string(),
                    _ => format!("({ty}){}", self.value(v, UNARY)),
                };
                out.line(&format!("const {ty} {} = {value};", self.exprs.name(*s)));
            }
        }
        for c in all {
            if let Scan::Run { term, .. } = c {
                self.statement(*term, out);
            }
        }
    }

    fn mentions(&self, t: TermId, s: SymbolId) -> bool {
        let body = self.exprs.plan.body;
        body.walk(t).any(|x| body.as_symbol(x) == Some(s))
    }

    /// A declaration has become the thread's own variable; what is left of it is its first value.
    fn statement(&self, t: TermId, out: &mut Lines) {
        let body = self.exprs.plan.body;
        match (body.op(t), body.args(t).first()) {
            (Op::Declare(s), Some(&init)) => {
                out.from(t, &format!("{} = {};", self.exprs.name(*s), self.exprs.at(init, 2)));
            }
            _ => Stmts { exprs: self.exprs, out, instead: &[] }.block(t),
        }
    }

    fn value(&self, v: &ThreadValue, around: u8) -> String {
        let (text, own) = self.print(v);
        strength::enclosed(text, own, around)
    }

    /// In `long long` throughout; truth values are only ever asked, never computed with.
    fn print(&self, v: &ThreadValue) -> (String, u8) {
        use ThreadValue as V;
        let at = |v: &V, around: u8| self.value(v, around);
        let infix =
            |a: &V, sign: &str, b: &V, own: u8| (format!("{} {sign} {}", at(a, own), at(b, own + 1)), own);
        let call = |name: &str, all: &[V]| {
            let mut parts: Vec<String> = all.iter().rev().map(|v| at(v, 0)).collect();
            let mut text = if parts.is_empty() { "0ll".to_string() } else { parts.remove(0) };
            for p in parts {
                text = format!("{name}({p}, {text})");
            }
            (text, ATOM)
        };
        match v {
            V::Int(n) if *n < 0 => (format!("-{}ll", n.unsigned_abs()), UNARY),
            V::Int(n) => (format!("{n}ll"), ATOM),
            V::Param(k) => {
                let n = self.plan.params.len();
                let name = match k.checked_sub(n) {
                    None => self.plan.params.get(*k),
                    Some(id) => self.plan.ids.get(id),
                };
                (name.cloned().unwrap_or_default(), ATOM)
            }
            V::Iter(i) => (self.plan.counters.get(i).cloned().unwrap_or_default(), ATOM),
            V::Neg(a) => (format!("-{}", at(a, ATOM)), UNARY),
            V::Add(a, b) => match (&**a, &**b) {
                (V::Neg(a), b) if !matches!(b, V::Neg(_) | V::Int(_)) => infix(b, "-", a, ADD),
                (_, V::Neg(b)) => infix(a, "-", b, ADD),
                (_, V::Int(n)) if *n < 0 => (format!("{} - {}ll", at(a, ADD), n.unsigned_abs()), ADD),
                _ => infix(a, "+", b, ADD),
            },
            V::Sub(a, b) => infix(a, "-", b, ADD),
            V::Mul(a, b) => infix(a, "*", b, MUL),
            V::Div(a, n, Rounding::Floor) => {
                // Towards minus infinity: C rounds towards zero.
                let x = at(a, ATOM);
                let low = format!("-((-{x} + {}ll) / {n}ll)", n - 1);
                (format!("{} >= 0ll ? {} / {n}ll : {low}", at(a, COMPARE + 1), at(a, MUL)), SELECT)
            }
            V::Div(a, n, _) => (format!("{} / {n}ll", at(a, MUL)), MUL),
            V::Mod(a, n, _) => (format!("{} % {n}ll", at(a, MUL)), MUL),
            V::Min(all) => call("min", all),
            V::Max(all) => call("max", all),
            V::Select(c, a, b) => {
                (format!("{} ? {} : {}", at(c, SELECT + 1), at(a, SELECT + 1), at(b, SELECT + 1)), SELECT)
            }
            V::Compare(c, a, b) => {
                (format!("{} {} {}", at(a, COMPARE + 1), comparison(*c), at(b, COMPARE + 1)), COMPARE)
            }
            V::And(a, b) => (format!("{} && {}", at(a, AND + 1), at(b, AND + 1)), AND),
            V::Or(a, b) => (format!("{} || {}", at(a, OR + 2), at(b, OR + 2)), OR),
        }
    }
}
