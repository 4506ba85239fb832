//! Conditions that have one answer for all threads, which the host finds: a device has other pointers, and may round otherwise.

use analysis::is_choice;
use term::{BinOp, Body, Op, TermId};

use super::build::Builder;
use super::support::Support;
use super::HostCondition;

impl<'a> Support<'a> {
    /// The same for what loops do, where the host finds what is the same for all threads.
    pub(crate) fn in_loops(mut self, loops: TermId) -> Support<'a> {
        let body = self.body;
        let set = |t: TermId| match (body.op(t), body.args(t)) {
            (Op::Declare(s), _) => Some(*s),
            (op, &[place, ..]) if op.is_write() => body.as_symbol(place),
            _ => None,
        };
        self.set = Some(body.walk(loops).filter_map(set).collect());
        self
    }

    /// Whether a condition has one answer for all threads, so that the host can find it.
    pub(super) fn is_fixed(&self, t: TermId) -> bool {
        let Some(set) = &self.set else { return false };
        let changes = |x: TermId| self.body.as_symbol(x).is_some_and(|s| set.contains(&s));
        is_choice(self.body, t) && !self.body.walk(t).any(changes)
    }

    /// Whether a pointer is asked whether it points anywhere, as a condition by itself.
    pub(super) fn is_asked(&self, t: TermId) -> bool {
        let is_pointer = self.body.types.element(self.body.ty(t)).is_some();
        is_pointer && *self.body.op(t) != Op::Cast && self.is_fixed(t)
    }

    /// A comparison that the host makes; whether it is one: of pointers, and of what a device may round otherwise, for the host has
    /// to know which parts of arrays it is about.
    pub(super) fn choice(&mut self, t: TermId) -> bool {
        let body = self.body;
        let is_pointer = |a: &TermId| body.types.element(body.ty(*a)).is_some();
        let is_float = |a: &TermId| body.types.as_float(body.ty(*a)).is_some();
        let is_comparison = matches!(body.op(t), Op::Binary(op) if op.is_comparison());
        let rounds = |x: TermId| {
            matches!(body.op(x), Op::Binary(op) if !op.is_comparison()) || *body.op(x) == Op::Call
        };
        let args = body.args(t);
        let is_hosts = args.iter().any(is_pointer) || args.iter().any(is_float) && body.walk(t).any(rounds);
        let found = is_comparison && is_hosts && self.is_fixed(t);
        if found {
            self.choices.push(t);
        }
        found
    }
}

impl<'a> Builder<'_, 'a> {
    /// The conditions that the host finds, with their names in the kernel.
    pub(super) fn choices(&mut self, support: &Support<'_>) -> Vec<HostCondition> {
        let body = self.body;
        let mut out: Vec<HostCondition> = Vec::new();
        for &term in &support.choices {
            let known = out.iter().find(|c| body.same(c.term, term)).map(|c| c.name.clone());
            let name = known.unwrap_or_else(|| self.host_name(&choice_name(body, term)));
            out.push(HostCondition { term, name });
        }
        out
    }
}

/// `has_p` of `p` and `p != NULL`, `no_p` of `p == NULL`.
fn choice_name(body: &Body, term: TermId) -> String {
    let pointers: Vec<&str> = body
        .walk(term)
        .filter_map(|t| body.as_symbol(t))
        .filter(|&s| body.types.element(body.symbols[s].ty).is_some())
        .map(|s| &*body.symbols[s].name)
        .collect();
    match (body.op(term), pointers.as_slice()) {
        (Op::Binary(BinOp::Eq), [one]) => format!("no_{one}"),
        (Op::Binary(BinOp::Ne) | Op::Sym(_), [one]) => format!("has_{one}"),
        _ => "choice".to_owned(),
    }
}
