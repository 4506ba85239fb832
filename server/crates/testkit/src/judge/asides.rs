//! What a claim leaves out of the comparison: each iteration's own, reductions, counters.

use analysis::{LoopFacts, ReductionOp};
use base::Budget;
use simulate::{Aside, Options, Program};
use term::{SymbolId, TermId};

use super::case::{fault_name, Case};
use super::Stats;
use crate::fixture::verdict_name;
use crate::nests::{Call, Nest};
use crate::permuted::{permuted, Order};

impl Case<'_> {
    /// Privates whose value nobody wants afterwards, and everything else that is set aside.
    pub(super) fn asides(&self, l: &LoopFacts) -> (Vec<SymbolId>, Vec<Aside>) {
        let privates: Vec<SymbolId> = l.privates.iter().filter(|p| !p.kept).map(|p| p.symbol).collect();
        let mut asides: Vec<Aside> = l.inductions.iter().map(|i| Aside::Variable(i.symbol)).collect();
        // An index that the body or the condition moves is held to its values by `counting`.
        asides.extend(l.control.iter().filter(|c| !c.header_only).map(|c| Aside::Variable(c.index)));
        asides.extend(l.privates.iter().filter(|p| p.kept).map(|p| Aside::Kept(p.symbol)));
        for r in &l.reductions {
            if r.op == ReductionOp::Last {
                asides.push(Aside::Kept(r.object.symbol));
                continue;
            }
            let places: Vec<TermId> = r.updates.iter().filter_map(|&u| self.place_of(u)).collect();
            let mine = |x: TermId| places.iter().chain([&r.place]).any(|&p| self.body.same(x, p));
            let terms = r
                .updates
                .iter()
                .flat_map(|&u| self.body.walk(u))
                .filter(|&x| mine(x) || r.updates.contains(&x))
                .collect();
            asides.push(Aside::Terms(terms));
        }
        (privates, asides)
    }

    /// Whether the function computes the same when the loop's iterations run in another order. Not asked of loops whose
    /// order decides (last writers, extremes with their place, floating sums) or that count along.
    pub(super) fn in_another_order(
        &self,
        nest: &Nest,
        call: &Call,
        l: &LoopFacts,
        stats: &mut Stats,
    ) -> Result<(), String> {
        use ReductionOp as R;
        let kept = l.privates.iter().any(|p| p.kept);
        let ordered = |r: &analysis::Reduction| match r.op {
            R::ArgMin { .. } | R::ArgMax { .. } => true,
            R::Last => !r.updates.is_empty(),
            R::Add | R::Mul | R::Min | R::Max => self.body.types.as_float(r.ty).is_some(),
            _ => false,
        };
        let plain = l.control.as_ref().is_ok_and(|c| c.is_plain());
        let interesting = !l.reductions.is_empty() || l.privates.iter().any(|p| !p.declared_inside);
        if !plain
            || !l.inductions.is_empty()
            || l.reductions.iter().any(ordered)
            || !(interesting || nest.seed.is_multiple_of(8))
        {
            return Ok(());
        }
        let text = nest.text();
        let order = if kept { Order::LastStays } else { Order::Reversed };
        let Some(other) = permuted(&text, self.start, self.body, l.term, order) else {
            return Ok(());
        };
        let parsed = front::Parsed::parse(front::Language::C, other.as_str());
        let unit = front::lower(&parsed, &front::Options::default(), &mut front::Memo::new());
        let program = Program::of(unit.items.iter().map(|i| &*i.body));
        let run = |program: &Program<'_>| {
            let mut memory = call.build(nest).map_err(|f| fault_name(&f.kind))?;
            let args = memory.args.clone();
            let budget = Budget::new(4_000_000);
            let out = simulate::run(program, "f", &args, &mut memory.heap, &Options::default(), &budget)
                .map_err(|f| fault_name(&f.kind))?;
            let bytes: Vec<Vec<u8>> = memory.own.iter().map(|&o| memory.heap.read_raw::<u8>(o)).collect();
            Ok::<_, String>((format!("{:?}", out.value), bytes))
        };
        let (Ok(first), second) = (run(self.program), run(&program)) else { return Ok(()) };
        let difference = match second {
            Err(why) if why.starts_with("OutOfFuel") => return Ok(()),
            Err(why) => why,
            Ok(second) if second == first => {
                stats.permuted += 1;
                return Ok(());
            }
            Ok(second) if second.0 != first.0 => format!("it returns {} instead of {}", second.0, first.0),
            Ok(_) => "its memory differs".to_owned(),
        };
        Err(format!(
            "`{}` is said to be {}{}; with its iterations in another order {difference}; called with {}",
            self.head(l),
            verdict_name(l.verdict),
            self.set_aside(l),
            call.describe(nest)
        ))
    }

    /// The place that an accumulating statement writes: of `if (x < m) m = x;` it is `m`.
    fn place_of(&self, update: TermId) -> Option<TermId> {
        let body = self.body;
        let write = body.walk(update).find(|&t| body.op(t).is_write())?;
        body.args(write).first().copied()
    }
}
