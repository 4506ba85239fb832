//! Fusion: two neighboring loops over the same range become one.
//!
//! Legal iff no dependence of the two becomes one that the fused loop carries backwards, from the second body to the
//! first (Allen & Kennedy 6.2.5: "fusion-preventing"; Kennedy & McKinley, LCPC 1993). The fused text is made, read and
//! analysed, and its graph is asked: an instance of the second body that touches a cell before an earlier-standing one of
//! the first does is exactly a carried edge from the second part to the first.

use analysis::LoopId;
use base::{Budget, Span};
use rustc_hash::FxHashMap;
use term::strength::ATOM;
use term::{Op, TermId};
use text::{Edit, EditSet, Text};

use super::refusal::{shape, Refusal};
use super::site::{Counted, Site};
use super::subst::{render, Replacement};
use super::text::{indentation, tokens};
use super::{Plan, Transformation, With};

pub(super) struct Fuse;

impl Transformation for Fuse {
    named!("fuse");
    fn about(&self) -> &'static str {
        "make one loop of this one and the one behind it"
    }
    fn enables(&self) -> bool {
        false
    }
    fn plan<'s>(&self, site: &'s Site<'_>, _with: &With) -> Result<Plan<'s>, Refusal> {
        let first = site.target;
        let Some(second) = following(site, first) else {
            return shape("no loop stands directly behind it");
        };
        let (a, b) = (site.counted(first)?, site.counted(second)?);
        for id in [first, second] {
            site.movable(id, false)?;
            site.unpragmaed(id)?;
        }
        same_range(site, &a, &b)?;
        if a.index != b.index {
            if b.decl.is_empty() && site.live_after(second, b.index) {
                return shape(format!("`{}` is used after the loops", b.name));
            }
            let inside = site.inside(second);
            let used = site.names_in(&[inside]).contains(&a.name) && a.name != b.name;
            if used || site.declares_any(inside, &[a.name]) {
                return shape(format!("the second loop uses another `{}`", a.name));
            }
        }
        let edits = written(site, first, second, &a, &b)?;
        legal(site, first, second, &edits)?;
        Plan::new(format!("Fuse {} with the loop behind it", a.name), move || Ok(edits))
    }
}

/// The loop that is the next statement.
fn following(site: &Site<'_>, id: LoopId) -> Option<LoopId> {
    let body = site.body();
    let t = site.term(id);
    let list = site.parent(t).filter(|&p| *body.op(p) == Op::List)?;
    let all = body.args(list);
    let at = all.iter().position(|&x| x == t)?;
    let next = all.get(at + 1)?;
    let found = site.facts.of_term(*next)?;
    let between = Span { start: site.span(t).end, end: site.span(*next).start };
    (site.in_braces(t) && tokens(site.source.text, between).is_empty()).then_some(found)
}

fn same_range(site: &Site<'_>, a: &Counted<'_>, b: &Counted<'_>) -> Result<(), Refusal> {
    let body = site.body();
    let equal = |x, y| body.same(x, y) || site.difference(x, y) == Some(0);
    let same = a.ty == b.ty
        && a.relation == b.relation
        && a.step == b.step
        && equal(a.lower, b.lower)
        && equal(a.bound, b.bound);
    if !same {
        return shape("the two loops have different ranges");
    }
    // what one loop writes the range of the other must not read
    let reads = [b.lower, b.bound];
    let moved = reads.iter().flat_map(|&t| body.walk(t)).any(|x| match body.op(x) {
        Op::Sym(s) => site.written_in(a.term, *s),
        _ => false,
    });
    if moved {
        return shape("the first loop changes the range of the second");
    }
    Ok(())
}

fn written(
    site: &Site<'_>,
    first: LoopId,
    second: LoopId,
    a: &Counted<'_>,
    b: &Counted<'_>,
) -> Result<Vec<Edit>, Refusal> {
    let (p, q) = (site.block(first)?, site.block(second)?);
    let header = site.slice(a.header.whole);
    let text = site.source.text;
    let mut with = FxHashMap::default();
    if a.index != b.index {
        with.insert(b.index, Replacement::text(a.name, ATOM));
    }
    // what both declare stays apart
    let declared = |id| {
        let names = site.body().walk(site.inside(id)).filter_map(|t| match site.body().op(t) {
            Op::Declare(s) => Some(site.name(Some(*s))),
            _ => None,
        });
        names.collect::<Vec<_>>()
    };
    let clash = declared(first)
        .iter()
        .any(|n| declared(second).contains(n) || site.names_in(&[site.inside(second)]).contains(n));
    let span = site.span(a.term).cover(site.span(b.term));
    let between = site.slice(Span { start: site.span(a.term).end, end: site.span(b.term).start });
    let indent = indentation(text, span.start as usize).to_owned();
    let mut lines = site.lines(first);
    lines.open(header);
    if clash {
        lines.open("");
    }
    for s in &p.statements {
        site.copy(&mut lines, s, a.term, &FxHashMap::default())?;
    }
    if clash {
        lines.close();
        lines.open("");
    }
    for comment in between.lines().map(str::trim).filter(|l| !l.is_empty()) {
        lines.line(comment);
    }
    for s in &q.statements {
        let code = render(site, site.inside(second), s.chunk.whole, &with, false)?;
        lines.code(&code, indentation(text, s.chunk.whole.start as usize));
    }
    if clash {
        lines.close();
    }
    lines.close();
    Ok(vec![Edit::replace(span, lines.finish(&indent))])
}

fn legal(site: &Site<'_>, first: LoopId, second: LoopId, edits: &[Edit]) -> Result<(), Refusal> {
    let again = || Refusal::Shape("the fused loop could not be analysed".into());
    let source = Text::new(site.source.text).map_err(|_| again())?;
    let set = EditSet::new(edits.to_vec()).map_err(|_| again())?;
    let after = set.apply(&source).map_err(|_| again())?.to_string();
    let parsed = front::Parsed::parse(site.source.unit.language, after.as_str());
    let unit = front::lower(&parsed, site.source.options, &mut front::Memo::new());
    let item = unit.items.get(site.index).ok_or_else(again)?;
    let program = analysis::Program::of(unit.items.iter().map(|i| &i.body));
    let budget: &Budget = site.budget;
    let facts = analysis::analyze(&item.body, &program, analysis::TYPING, budget);
    let start = site.span(site.term(first)).start;
    let fused = facts.loops.iter_ids().find(|(_, l)| item.span.start + item.body.span(l.term).start == start);
    let fused = fused.ok_or_else(again)?.0;
    let part = budget.part(analysis::FULL_STEPS);
    let g = analysis::nest_dependences(&item.body, &program, &facts, fused, &part);
    if !g.obstacles.is_empty() {
        return Err(Refusal::Shape("nothing can be told of the fused loop".to_owned()));
    }
    if !g.conditions.is_empty() {
        let o = site.sure(first).err().or_else(|| site.sure(second).err());
        return Err(o.unwrap_or_else(|| {
            Refusal::Shape("memory of the two loops may overlap, or more must be promised".into())
        }));
    }
    // statements of the first body come first
    let count = site.graph(first).statements.len();
    let both: Vec<_> = {
        let names = |id: LoopId| {
            let live = analysis::live_out(site.body(), site.source.program, site.facts, id);
            let privates = site.own_scalars(id).into_iter().filter(move |s| !live.contains(s));
            privates.map(|s| site.name(Some(s)).to_owned()).collect::<Vec<_>>()
        };
        let second = names(second);
        names(first).into_iter().filter(|n| second.contains(n)).collect()
    };
    let own = |s: term::SymbolId| {
        let symbol = &item.body.symbols[s];
        symbol.is_own_scalar()
            && (g.local.contains(&s) || (both.iter().any(|n| *n == *symbol.name) && !g.live_out.contains(&s)))
    };
    let braced = g.statements.len() == 2 && item.body.op(g.statements[0]) == &Op::List;
    let in_first = |k: Option<usize>| k.is_some_and(|k| if braced { k < 1 } else { k < count });
    for e in &g.edges {
        if e.object.fields.is_empty() && own(e.object.symbol) {
            continue;
        }
        if e.carried() && !in_first(e.from) && in_first(e.to) {
            let name = &item.body.symbols[e.object.symbol].name;
            let at = |t: TermId| {
                let s = item.body.span(t).shifted(item.span.start);
                after.get(s.range()).unwrap_or("").to_owned()
            };
            return Err(Refusal::Shape(format!(
                "the second loop would touch `{}` before the first loop touches `{}` in a later iteration \
                 (a fusion-preventing dependence on `{name}`)",
                at(e.source),
                at(e.sink)
            )));
        }
        if e.from.is_none() || e.to.is_none() {
            return shape("the range takes part in a dependence");
        }
    }
    Ok(())
}
