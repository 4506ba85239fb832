//! What stands in the user's file: a declaration of the function that stands for the loop, and the call of it before the
//! loop. The loop stays as it was, for when the function says no.

use analysis::Param;
use base::Span;
use term::{BinOp, RecordId, TypeId, TypeKind};

use super::stand_in::{goes_on, StandIn, WayOut};
use super::{of_type, Host};
use crate::device::host_expr::{
    distance_text, kind_of, parameter_text, place_text, symbol_text, within, Named, Scope,
};
use crate::device::host_term::Term;
use crate::device::places::{Place, Places};
use crate::device::site::{closing, indentation, line_end, opening, stands_by_itself};
use crate::limits::host_call::COLUMNS;
use crate::plan::{Guard, Plan};
use crate::{HostEdit, HostHead, HostPages, HostSide, Placed};

/// The call as it stands in the user's file, and what it needs before it.
pub(crate) struct Call {
    placed: Placed,
    head: HostHead,
}

impl Call {
    /// How pages placed it, a line for each step.
    pub(crate) fn derivation(&self) -> &[String] {
        &self.placed.derivation
    }
}

impl Host<'_> {
    /// The call: `_Offloaded(name,params,words,kept,call,layouts,results)`, placed by pages. `runs`: that the loop runs at all, where
    /// something may only be evaluated then.
    pub(super) fn call(
        &self,
        name: &str,
        file_name: &str,
        runs: Option<Term>,
        pages: &dyn HostPages,
    ) -> Result<Call, String> {
        let plan = self.plan;
        let call = Term::call(name, self.given.all.iter().map(|g| Term::name(&g.value)).collect());
        let call = match runs {
            Some(runs) => Term::binary(BinOp::And, runs, call),
            None => call,
        };
        // what goes by reference has been set
        let begins = (plan.host() == HostSide::Method).then_some(Term::Int(0));
        let what = if self.kernel.dims.is_empty() { "the text" } else { "the loop" };
        let (stand_ins, ways_out) = (&self.given.stand_ins, &self.given.ways_out);
        let zero = |w: &WayOut| Term::declared(&w.name, &w.ty, Some(Term::Int(0)));
        let kept = stand_ins.iter().map(|s| s.declaration(begins.clone())).chain(ways_out.iter().map(zero));
        let goes_on = self.given.left.map(|l| goes_on(l, ways_out)).unwrap_or_default();
        let offloaded = Term::head(
            "_Offloaded",
            vec![
                Term::name(name),
                Term::List(of_type(&self.given.all, |g| &g.in_c)),
                Term::Words(format!("{file_name}; 0: {what} itself is to run")),
                Term::List(kept.collect()),
                call,
                Term::List(layouts(plan)),
                Term::List(stand_ins.iter().map(StandIn::put_back).chain(goes_on).collect()),
            ],
        );
        let indent = indentation(&plan.site).0.len();
        let mut placed = pages.placed(plan.host(), &offloaded.to_string(), COLUMNS.saturating_sub(indent))?;
        let head = HostHead {
            function_at: plan.site.base_offset,
            prototype: std::mem::take(&mut placed.ahead),
            includes: std::mem::take(&mut placed.includes),
        };
        Ok(Call { placed, head })
    }

    /// The loop's own comparison of the pointer that counts, before anything is subtracted from it.
    fn pointers_apart(&self) -> Option<Term> {
        let d = self.kernel.dims.first().filter(|d| d.pointer)?;
        let is_distance = |p: &Param| matches!(p, Param::Distance { .. });
        let bound = d.bound.filter(|_| self.plan.values.iter().any(|v| is_distance(&v.param)))?;
        let place = |t| Term::Name(place_text(&self.c, t));
        Some(Term::binary(d.relation, place(d.lower), place(bound)))
    }

    /// That the loop runs at all, in the user's own words, where something is evaluated for the call that is there only then.
    pub(super) fn runs(&self) -> Option<Term> {
        if !self.given.any_late() && self.plan.guards.is_empty() {
            return None;
        }
        let plan = self.plan;
        let asks_late = std::cell::Cell::new(false);
        let values = |p: &Param| -> Option<Named> {
            let text = match *p {
                Param::Symbol(s) => symbol_text(&self.c, s),
                Param::Term(t) => parameter_text(&self.c, t),
                Param::Distance { from, to } => distance_text(&self.c, from, to),
                Param::Row(_) | Param::Longest(_) | Param::End { .. } => return None,
            };
            asks_late.set(asks_late.get() || plan.values.iter().any(|v| v.param == *p && !v.early));
            Some(Named { term: Term::Name(text), kind: kind_of(plan, p)? })
        };
        let scope = Scope {
            helper: &plan.name,
            values: &values,
            helpers: None,
            truths: plan.host() == crate::HostSide::Function,
        };
        let is_early = |e: &analysis::Expr| {
            let mut used = Vec::new();
            crate::plan::expr_params(e, &mut used);
            plan.values.iter().filter(|v| used.contains(&v.param)).all(|v| v.early)
        };
        let mut parts: Vec<Term> = self.pointers_apart().into_iter().collect();
        // what is there only where the loops before run comes behind them
        for early in [true, false] {
            // that a loop runs at all is seldom told by its step, which is looked at only then
            let mut told_by_late = Vec::new();
            for d in self.kernel.dims.iter().filter(|d| is_early(&d.trips) == early) {
                asks_late.set(false);
                let runs = scope.positive(&d.trips);
                if early || asks_late.get() {
                    told_by_late.push(runs);
                } else {
                    parts.push(runs);
                }
            }
            for v in plan.values.iter().filter(|v| v.early == early && !v.guarded) {
                parts.extend(values(&v.param).and_then(|n| within(v, &n.term)));
            }
            parts.append(&mut told_by_late);
        }
        // and what is there only where loops inside run, behind those
        let text = |t| Term::Name(parameter_text(&self.c, t));
        parts.extend(plan.guards.iter().map(|g| match g {
            Guard::Enters { lower, relation, bound } => Term::binary(*relation, text(*lower), text(*bound)),
            Guard::Asserted(holds) => scope.pred(holds),
        }));
        for v in plan.values.iter().filter(|v| v.guarded) {
            parts.extend(values(&v.param).and_then(|n| within(v, &n.term)));
        }
        (!parts.is_empty()).then(|| Term::all(BinOp::And, parts.into_iter()))
    }
}

/// What the call needs before it, and its own edits.
pub(crate) fn edits(plan: &Plan<'_>, call: Call) -> (HostHead, Vec<HostEdit>) {
    let site = &plan.site;
    let eol = line_end(site.file_text);
    let (base, step) = indentation(site);
    let Placed { before, behind, several, .. } = call.placed;
    let is_block = several || !stands_by_itself(site);
    let (open, close) = if is_block { ("{\n", "}\n") } else { ("", "") };
    let inner = if is_block { step.as_str() } else { "" };
    let before = open.to_owned() + &indented(&before, inner, &step);
    let behind = indented(&behind, inner, &step) + close;
    let (open_at, own_line) = opening(site);
    let mut before = indented(&before, &base, "");
    if !own_line {
        // The loop's own indentation stands before the first line already, and must stand before the loop again.
        before = format!("{}{base}", &before[base.len().min(before.len())..]);
    }
    let behind = format!("\n{}", indented(&behind, &base, "").trim_end());
    let edit =
        |from: usize, text: &str| HostEdit { span: Span::new(from, from), text: text.replace('\n', eol) };
    (call.head, vec![edit(open_at, &before), edit(closing(site), &behind)])
}

/// What pages indent a level by.
const LEVEL: &str = "    ";

/// Every line but directives and empty ones moved right, and its own levels written as others.
fn indented(text: &str, base: &str, step: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let mut rest = line;
        if !line.is_empty() && !line.starts_with('#') {
            out.push_str(base);
            while let Some(deeper) = rest.strip_prefix(LEVEL).filter(|_| !step.is_empty()) {
                out.push_str(step);
                rest = deeper;
            }
        }
        out.push_str(rest);
        out.push('\n');
    }
    out
}

/// Whether it is a struct of which nothing in the user's file checks where its members lie: it has no tag, or the kernel does not
/// know it.
pub(super) fn is_nameless(plan: &Plan<'_>, ty: TypeId) -> bool {
    match plan.body.types.kind(ty) {
        TypeKind::Record(r) => tag(plan, *r).is_none(),
        _ => false,
    }
}

/// The name in the user's file of a struct that the kernel knows.
fn tag(plan: &Plan<'_>, r: RecordId) -> Option<String> {
    let name = &plan.body.types.record(r).name;
    let is_tag = plan.records.contains(&r)
        && !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_tag.then(|| format!("struct {name}"))
}

/// That structs are laid out as in the kernel, which a compiler is to see: `_Layout(same)`.
fn layouts(plan: &Plan<'_>) -> Vec<Term> {
    let types = &plan.body.types;
    let mut records: Vec<RecordId> = Vec::new();
    let scalars = plan.kernels.iter().flat_map(|k| &k.scalars).map(|s| s.ty);
    for mut ty in plan.buffers.iter().map(|b| b.element).chain(scalars) {
        while let TypeKind::Array { of, .. } = types.kind(ty) {
            ty = *of;
        }
        match types.kind(ty) {
            TypeKind::Record(r) if !records.contains(r) => records.push(*r),
            _ => {}
        }
    }
    let same = |r: &RecordId| {
        let (record, layout, name) = (types.record(*r), types.layout(*r)?, tag(plan, *r)?);
        let is = |what, value: u64| Term::binary(BinOp::Eq, what, Term::Int(value.into()));
        let size = is(Term::head("SizeOfType", vec![Term::name(&name)]), layout.size);
        let members = record.fields.iter().flatten().zip(&layout.members).map(|(f, m)| {
            let at = Term::call("__builtin_offsetof", vec![Term::name(&name), Term::name(&f.name)]);
            is(at, m.bit / 8)
        });
        let same = Term::all(BinOp::And, std::iter::once(size).chain(members));
        Some(Term::head("_Layout", vec![same]))
    };
    records.iter().filter_map(same).collect()
}

/// The edits of all heads: one for each place between the file's declarations, each thing once where it is seen.
pub(crate) fn heads(file: &str, heads: &[&HostHead]) -> Vec<HostEdit> {
    let places = Places::of(file);
    let mut at: Vec<(Place, Vec<&HostHead>)> = Vec::new();
    for h in heads {
        let place = places.prologue(h.function_at as usize);
        match at.iter_mut().find(|a| a.0 == place) {
            Some(a) => a.1.push(h),
            None => at.push((place, vec![h])),
        }
    }
    at.sort_by_key(|a| a.0.at);
    let eol = line_end(file);
    let mut out = Vec::new();
    for (place, heads) in &at {
        let mut includes: Vec<String> = heads.iter().flat_map(|h| &h.includes).cloned().collect();
        includes.sort();
        includes.dedup();
        let lines = includes.iter().map(|h| format!("#include {h}"));
        let lines = lines.filter(|l| !file.lines().any(|own| own.trim() == l));
        let mut text: String = lines.map(|l| l + "\n").collect();
        text.extend(heads.iter().map(|h| h.prototype.as_str()));
        if place.at > 0 && !file[..place.at].ends_with(['\n', '\r']) {
            text.insert(0, '\n');
        }
        out.push(HostEdit { span: Span::new(place.at, place.at), text: text.replace('\n', eol) });
    }
    out
}
