//! What is known at a place of a kernel, in the words of the profiler: of an access, a branch, a barrier, a fence, and of the whole
//! kernel on its header.
//!
//! Numbers are those of the launch that the document says; what a barrier or fence is there for is found by taking it away
//! and looking again.

use std::fmt::Write;

use analysis::{
    AccessFact, BarrierFact, BarrierVerdict, BranchFact, KernelFacts, KernelLaunch, Pattern, RaceVerdict,
    Uniformity, FOLLOWED_THREADS,
};
use base::Span;
use term::device::{Scope, Word};
use term::{Op, Space, TermId};
use text::{Edit, EditSet};

use super::facts::words;
use super::{launch_words, launched, line, looked_at, said};
use crate::hover::{escape, Hover};
use crate::words::plural;
use crate::{Ask, Doc};

/// Accesses that are named one by one.
const NAMED: usize = 3;

/// The hover at an offset of a kernel.
pub(crate) fn hover(ask: &Ask, offset: u32) -> Option<Hover> {
    let doc = &ask.doc;
    let item = doc.unit().items.iter().find(|i| {
        i.is_kernel && i.span.touches(offset) && matches!(i.body.op(i.body.root), Op::Function(_))
    })?;
    let header = crate::actions::kernel_header(doc, item);
    let (facts, launch) = match ask.only_known() {
        true => match ask.known_kernel_facts(item) {
            Some(known) => known,
            None => return header.touches(offset).then(|| Hover::not_yet(header)),
        },
        false => ask.kernel_facts(item),
    };
    let s = Shown { ask, doc, item, facts: &facts, launch: &launch };
    if header.touches(offset) {
        return Some(Hover { markdown: s.kernel(), span: header, more: None });
    }
    s.operation(offset).or_else(|| s.access(offset)).or_else(|| s.branch(offset))
}

/// `1 active thread`, `21.2 active threads`.
fn some(number: &str, noun: &str) -> String {
    format!("{number} {noun}{}", if number == "1" { "" } else { "s" })
}

struct Shown<'d> {
    ask: &'d Ask,
    doc: &'d Doc,
    item: &'d front::Item,
    facts: &'d KernelFacts,
    launch: &'d KernelLaunch,
}

impl Shown<'_> {
    fn span(&self, t: TermId) -> Span {
        self.item.body.span(t).shifted(self.item.span.start)
    }

    fn text(&self, t: TermId) -> &str {
        self.doc.slice(self.span(t))
    }

    fn known(&self) -> Option<String> {
        let words = launch_words(self.doc, self.item, self.launch);
        (!words.is_empty()).then_some(words)
    }

    /// Of the launch.
    fn threads(&self) -> Option<u64> {
        let count = |e: [u32; 3]| e.iter().fold(1u64, |p, &x| p.saturating_mul(u64::from(x)));
        Some(count(self.launch.grid?).saturating_mul(count(self.launch.block?)))
    }

    // ---- accesses

    fn access(&self, offset: u32) -> Option<Hover> {
        let here = self.facts.accesses.iter().filter(|a| self.span(a.term).touches(offset));
        // what stands in a subscript is nearer
        let width = |a: &&AccessFact| self.span(a.term).end - self.span(a.term).start;
        let nearest = here.min_by_key(width)?;
        let all: Vec<&AccessFact> =
            self.facts.accesses.iter().filter(|a| self.span(a.term) == self.span(nearest.term)).collect();
        let mut out = String::new();
        for a in all {
            if !out.is_empty() {
                out.push_str("\n\n");
            }
            out.push_str(&self.access_words(a));
        }
        Some(Hover { markdown: out, span: self.span(nearest.term), more: None })
    }

    fn access_words(&self, a: &AccessFact) -> String {
        let how = match (a.atomic, a.reads, a.writes) {
            (true, ..) => "Atomic update",
            (_, true, false) => "Read",
            (_, false, true) => "Write",
            _ => "Update",
        };
        let space = a.space.name();
        let mut out = format!("**{how} of `{}`**: {space} memory, {} bytes a lane\n", a.object, a.bytes);
        if a.space == Space::Local {
            out.push_str(&self.local(a));
            return out;
        }
        if let Some(any) = &a.any_shape {
            let with = super::said::wherever(self.doc, self.item, self.launch, any.assumed);
            super::said::any_shape(&self.item.body, a, any, &with, &mut out);
            return out;
        }
        let Some(r) = &a.requests else {
            let why = match self.known() {
                None => {
                    "how the kernel is launched is not known (`// warpwright: launch(grid, block)` says it)"
                        .to_owned()
                }
                Some(_) => match self.threads() {
                    Some(n) if n > FOLLOWED_THREADS => {
                        format!("the launch has {n} threads, and {FOLLOWED_THREADS} at most are followed")
                    }
                    _ => "its subscripts depend on what memory holds".to_owned(),
                },
            };
            let _ = write!(out, "\n- what its warps ask for is not known: {why}");
            return out;
        };
        if r.count == 0 {
            out.push_str("\n- no warp comes here");
            return out;
        }
        let rounds = match looked_at(r) {
            none if none.is_empty() => none,
            some => format!(",{some}"),
        };
        let _ = write!(
            out,
            "\n- {} of warps, {} each on average{rounds}",
            plural(r.count as usize, "request"),
            some(&mean(r.lanes, r.count), "active thread")
        );
        if let Some(stride) = r.stride {
            let _ = match stride.unsigned_abs() {
                0 => write!(out, "\n- neighbouring threads ask for the same place"),
                d if d == a.bytes => write!(out, "\n- neighbouring threads ask for neighbouring places"),
                d => write!(out, "\n- neighbouring threads ask for places {d} bytes apart"),
            };
        }
        match a.space {
            Space::Shared => self.banks(a, r, &mut out),
            Space::Constant => self.addresses(r, &mut out),
            _ => self.sectors(a, r, &mut out),
        }
        out
    }

    /// Why an array lies in local memory, and what that costs.
    fn local(&self, a: &AccessFact) -> String {
        let mut out = String::new();
        let Some(l) = self.facts.local_arrays.iter().find(|l| l.accesses.contains(&a.term)) else {
            return out;
        };
        let why = match (l.index, l.around) {
            (Some(i), Some(around)) => format!(
                "the subscript `{}` changes with the loop on line {}, which is not unrolled away, and registers have no addresses",
                self.text(i),
                line(self.doc, self.span(around))
            ),
            (Some(i), None) => {
                format!("the subscript `{}` is known to a run alone, and registers have no addresses", self.text(i))
            }
            (None, _) => "it is larger than the 255 registers of a thread".to_owned(),
        };
        let _ = write!(out, "\n- {}", escape(&why));
        if !l.certain {
            out.push_str(
                "\n- a compiler may choose among registers instead, with a selection for each element",
            );
        }
        let _ = write!(
            out,
            "\n- {} bytes a thread, in memory of the device behind the caches; accesses of a warp are coalesced where all lanes use the same subscript \
             (Nsight Compute: `l1tex__t_sectors_pipe_lsu_mem_local_op_{}`)",
            l.bytes,
            if a.writes { "st" } else { "ld" }
        );
        out
    }

    fn banks(&self, a: &AccessFact, r: &analysis::Requests, out: &mut String) {
        let needed = (a.bytes / 4).max(1);
        if r.ways <= needed {
            out.push_str("\n- no bank conflict");
        } else {
            let lanes = match r.collide {
                Some((x, y, bank)) => format!(": lanes {x} and {y} both ask bank {bank}"),
                None => String::new(),
            };
            let _ = write!(
                out,
                "\n- {}-way bank conflict at worst{}{lanes}\n- {} more passes than needed in all",
                r.ways,
                if needed > 1 { format!(" ({needed} passes are needed)") } else { String::new() },
                r.conflicts
            );
        }
        out.push_str(" (Nsight Compute: `l1tex__data_bank_conflicts_pipe_lsu_mem_shared`)");
    }

    fn addresses(&self, r: &analysis::Requests, out: &mut String) {
        if r.ways <= 1 {
            out.push_str("\n- the lanes of a warp ask for one address at a time: each request is one pass of the constant cache");
            return;
        }
        let lanes = match r.collide {
            Some((x, y, _)) => format!(" (lanes {x} and {y} ask for different ones)"),
            None => String::new(),
        };
        let _ = write!(
            out,
            "\n- {} different addresses in the worst request{lanes}: it takes as many passes, one after the other\n- {} more passes than requests in all",
            r.ways, r.conflicts
        );
    }

    fn sectors(&self, a: &AccessFact, r: &analysis::Requests, out: &mut String) {
        let coalesced = r.sectors <= r.ideal;
        let share = 100 * r.ideal / r.sectors.max(1);
        let _ = write!(
            out,
            "\n- {} of 32 bytes where {} would hold the data{} (Nsight Compute: `memory_l2_theoretical_sectors_global`, `…_ideal`)",
            plural(r.sectors as usize, "sector"),
            r.ideal,
            if coalesced { ": coalesced".to_owned() } else { format!(": {share} % of the traffic is of use") }
        );
        let worst = plural(r.worst_sectors as usize, "sector");
        let _ = write!(out, "\n- worst request: {worst}, {} ideal", r.worst_ideal);
        if !coalesced
            && r.worst_sectors == r.worst_ideal + 1
            && r.stride.map(i64::unsigned_abs) == Some(a.bytes)
        {
            out.push_str(" (it does not begin at a sector)");
        }
        if let Some(d) = r.distinct.filter(|&d| d > 0) {
            let _ = match r.lanes > d {
                true => write!(
                    out,
                    "\n- reuse: {} different elements, each asked for {} times",
                    d,
                    mean(r.lanes, d)
                ),
                false => write!(out, "\n- no reuse: every element is asked for once"),
            };
        }
    }

    // ---- branches

    fn branch(&self, offset: u32) -> Option<Hover> {
        let body = &self.item.body;
        let condition = |b: &BranchFact| {
            let args = body.args(b.term);
            match body.op(b.term) {
                Op::If | Op::Select | Op::While | Op::Switch => args.first(),
                Op::For => args.get(1),
                Op::DoWhile => args.get(1),
                _ => None,
            }
            .copied()
        };
        let part = |b: &BranchFact| condition(b).map(|c| self.span(c));
        let here = self.facts.branches.iter().filter_map(|b| Some((b, part(b)?)));
        let (b, span) = here.filter(|(_, s)| s.touches(offset)).min_by_key(|(_, s)| s.end - s.start)?;
        let what = match body.op(b.term) {
            Op::For | Op::While | Op::DoWhile => "Loop condition",
            Op::Switch => "Switch",
            _ => "Condition",
        };
        let of = match &b.uniformity {
            Uniformity::Grid => "the same for all threads of the launch",
            Uniformity::Block => "the same for all threads of a block",
            Uniformity::Warp => "the same for all threads of a warp: no warp is divided",
            // one launch shows it
            Uniformity::Divergent(_) if b.lanes.is_none() => "divergent: threads of a warp may go both ways",
            Uniformity::Divergent(_) => "divergent: threads of a warp go both ways",
            Uniformity::Unknown(_) if condition(b).is_some_and(|c| !crate::words::rests_on_data(body, c)) => {
                "whether it divides warps is not known: it depends on how the kernel is launched and on its parameters"
            }
            Uniformity::Unknown(_) => {
                "whether it divides warps is not known: it depends on what memory holds or a call gives"
            }
        };
        let mut out = format!("**{what}**: {of}\n");
        if let Uniformity::Divergent(s) = &b.uniformity {
            let _ = write!(out, "\n- {}", escape(&words(s, "decides yes", "decides no")));
        }
        if let Some(lanes) = &b.lanes {
            let decisions: u64 = lanes.values().sum();
            let divided: u64 = lanes.iter().filter(|((a, h), _)| *h > 0 && h < a).map(|(_, n)| n).sum();
            let (warps, active) = lanes
                .iter()
                .filter(|((_, h), _)| *h > 0)
                .fold((0, 0), |(w, s), ((_, h), n)| (w + n, s + *h as u64 * n));
            let _ = write!(
                out,
                "\n- {divided} of {decisions} decisions of warps are divergent (Nsight Compute: `smsp__sass_branch_targets_threads_divergent`)"
            );
            if warps > 0 {
                let _ = write!(
                    out,
                    "\n- behind it {} of {} threads of a warp are active on average",
                    mean(active, warps),
                    self.launch.limits.lanes
                );
            }
            for ((a, h), n) in lanes.iter().rev().take(6) {
                let _ = write!(
                    out,
                    "\n- {h} of {}: {}",
                    some(&a.to_string(), "active lane"),
                    plural(*n as usize, "time")
                );
            }
            if lanes.len() > 6 {
                let _ = write!(out, "\n- and {} more", lanes.len() - 6);
            }
        }
        Some(Hover { markdown: out, span, more: None })
    }

    // ---- barriers and fences

    fn operation(&self, offset: u32) -> Option<Hover> {
        let body = &self.item.body;
        if let Some(b) = self.facts.barriers.iter().find(|b| self.span(b.term).touches(offset)) {
            return Some(Hover { markdown: self.barrier(b), span: self.span(b.term), more: None });
        }
        let named = |&t: &TermId| {
            let &callee = body.args(t).first()?;
            let name = match (body.op(t), body.op(callee)) {
                (Op::Call, Op::Sym(s)) => &*body.symbols[*s].name,
                (Op::Call, Op::Name(n)) => n,
                _ => return None,
            };
            (self.span(t).touches(offset)).then_some((t, name))
        };
        let (t, name) = body.walk(body.root).filter_map(|t| named(&t)).last()?;
        let name = said::as_written(self.doc, self.span(t), name);
        let words = match body.called_word(t)? {
            Word::Fence(Scope::Block) => {
                "what this thread wrote before it is seen by the other threads of its block before what it writes after it"
            }
            Word::Fence(Scope::Device) => {
                "what this thread wrote before it is seen by all threads of the device before what it writes after it"
            }
            Word::Fence(Scope::System) => {
                "what this thread wrote before it is seen by all threads of all devices and by the host before what it writes after it"
            }
            Word::Barrier(Scope::Warp, _) => {
                let out = "the lanes of the warp that are named (all without a mask) wait for one another, and see what the others wrote \
                     to shared and global memory before.\n\n- orders nothing between warps";
                let needed = self.without(t);
                return Some(Hover { markdown: format!("**`{name}()`**: {out}{needed}"), span: self.span(t), more: None });
            }
            _ => return None,
        };
        let mut out = format!(
            "**`{name}()`**: {words}.\n\n- waits for nobody, and orders nothing for threads that read before they have seen the later write"
        );
        out.push_str(&self.remembered(t, Self::fence_is_for));
        Some(Hover { markdown: out, span: self.span(t), more: None })
    }

    fn barrier(&self, b: &BarrierFact) -> String {
        let call = self.text(b.term);
        let mut out = format!(
            "**`{}`**: all threads of the block wait for one another, and see what the others wrote to shared and global memory before.\n\n\
             - orders nothing between blocks",
            call.split('(').next().unwrap_or(call).to_owned() + "()"
        );
        let reached = match &b.verdict {
            BarrierVerdict::Safe => "all threads of the block reach it, equally often".to_owned(),
            BarrierVerdict::Divergent(s) => {
                format!("not all threads reach it: {}", escape(&words(s, "reaches it", "does not")))
            }
            BarrierVerdict::Unknown(_) => "whether all threads reach it is not known".to_owned(),
        };
        let _ = write!(out, "\n- {reached}");
        if let Some(c) = &b.count {
            let with = self.known().map(|launch| format!("with {launch} it ")).unwrap_or_default();
            let _ = write!(out, "\n- {with}opens {} times for {} threads in all", c.opened, c.threads);
            if let Some(idle) = c.idle {
                let _ =
                    write!(out, "; {idle} of them touched no memory since the barrier before (idle threads)");
            }
        }
        match b.redundant {
            Some(true) => out.push_str("\n- not needed: it orders nothing with this launch"),
            _ if matches!(b.verdict, BarrierVerdict::Safe) => out.push_str(&self.without(b.term)),
            _ => {}
        }
        out
    }

    /// The facts with a statement taken out, if it stands alone.
    fn again(&self, t: TermId) -> Option<(Doc, std::sync::Arc<KernelFacts>)> {
        let span = self.span(t);
        let blank = EditSet::new(vec![Edit::replace(span, "")]).ok()?;
        let text = blank.apply(self.doc.text()).ok()?;
        let doc = Doc::open(self.doc.language(), self.doc.name(), text, self.doc.options().clone());
        let item = doc.unit().items.iter().find(|i| i.is_kernel && i.name == self.item.name)?;
        let (facts, _) = self.ask.of(&doc).kernel_facts(item);
        Some((doc, facts))
    }

    /// `- needed: without it …`
    fn without(&self, t: TermId) -> String {
        match self.facts.races {
            RaceVerdict::Race(_) => String::new(),
            _ => self.remembered(t, Self::needed),
        }
    }

    /// What is found out by taking a statement away, once for a document.
    fn remembered(&self, t: TermId, find: impl Fn(&Self, TermId) -> String) -> String {
        if let Some(known) = self.doc.without().get(&self.span(t)) {
            return known.clone();
        }
        if self.ask.only_known() {
            return "\n- What the others see without it is still being analyzed.".to_owned();
        }
        let found = find(self, t);
        if !self.ask.is_cancelled() {
            self.doc.without().insert(self.span(t), found.clone());
        }
        found
    }

    fn needed(&self, t: TermId) -> String {
        let Some((doc, facts)) = self.again(t) else { return String::new() };
        let Some(item) = doc.unit().items.iter().find(|i| i.is_kernel && i.name == self.item.name) else {
            return String::new();
        };
        match &facts.races {
            RaceVerdict::Race(list) => match list.first() {
                Some(w) => format!("\n- needed: without it {}", escape(&said::witness(&doc, item, w))),
                None => String::new(),
            },
            RaceVerdict::Free { .. } => match self.facts.races {
                RaceVerdict::Free { .. } => "\n- no two threads would meet without it".to_owned(),
                _ => String::new(),
            },
            RaceVerdict::Unknown(_) => String::new(),
        }
    }

    fn fence_is_for(&self, t: TermId) -> String {
        let Some((doc, facts)) = self.again(t) else { return String::new() };
        let item = doc.unit().items.iter().find(|i| i.is_kernel && i.name == self.item.name);
        let at = |t| item.map_or(0, |i| line(&doc, i.body.span(t).shifted(i.span.start)));
        let new = facts.missing_fences.len() > self.facts.missing_fences.len();
        match facts.missing_fences.first().filter(|_| new) {
            Some(m) => format!(
                "\n- needed: the block that the counter on line {} lets on reads on line {} what others wrote on line {}",
                at(m.counter),
                at(m.read),
                at(m.write)
            ),
            None => "\n- no reader in this kernel is found that depends on it".to_owned(),
        }
    }

    // ---- the kernel

    /// `- no race, whatever memory holds`
    fn races(&self) -> String {
        let races = said::races(self.doc, self.item, self.facts);
        races.map(|words| format!("\n- {}", escape(&words))).unwrap_or_default()
    }

    /// What holds of it as far as its launch is known: its races, and how its warps ask for global memory.
    fn whatever_the_launch(&self) -> String {
        let mut out = self.races();
        let global = self.facts.accesses.iter().filter(|a| a.space == Space::Global);
        let all: Vec<_> = global.filter_map(|a| Some((a, a.any_shape.as_ref()?))).collect();
        let is_simple = |p: &Pattern| matches!(p, Pattern::Uniform | Pattern::Coalesced);
        let others: Vec<_> = all.iter().filter(|(_, any)| !is_simple(&any.pattern)).collect();
        if all.is_empty() {
            return out;
        }
        let _ = write!(
            out,
            "\n- accesses of global memory that ask for neighbouring places, or all lanes for one: {} of {}",
            all.len() - others.len(),
            all.len()
        );
        for (a, any) in others.iter().take(NAMED) {
            let how = match any.pattern {
                Pattern::Strided(Some(k)) => format!("for elements {} apart", k.abs()),
                Pattern::Strided(None) => match said::named(&self.item.body, any) {
                    Some(by) => format!("for elements {by} apart"),
                    None => "for elements a distance apart that only the run decides".to_owned(),
                },
                Pattern::Gather => "where memory says".to_owned(),
                _ => "in an order that is not followed".to_owned(),
            };
            let _ = write!(out, "; on line {} {how} in `{}`", line(self.doc, self.span(a.term)), a.object);
        }
        if others.len() > NAMED {
            let _ = write!(out, "; of {} more it was not found", others.len() - NAMED);
        }
        out
    }

    fn kernel(&self) -> String {
        let name = &*self.item.name;
        let Some(launch) = self.known() else {
            // arguments of a template that nobody wrote
            let is_written = || self.doc.slice(self.doc.text().span()).contains(name);
            let shown = self.item.template().filter(|_| !is_written()).unwrap_or(name);
            let what = launched::in_part(self.doc, &self.item.name, shown);
            return format!(
                "**Kernel `{shown}`**\n{}\n- {what} (say it in a comment before it: `// warpwright: launch(grid, block)`)",
                self.whatever_the_launch()
            );
        };
        let mut out = format!("**Kernel `{name}`**");
        let _ = writeln!(out, " with {launch}");
        out.push_str(&self.races());
        // what moves in functions that are not followed is not counted
        let any = |all: &&Vec<analysis::Traffic>| all.iter().any(|t| t.read + t.written > 0);
        if let Some(traffic) = self.facts.traffic.as_ref().filter(any) {
            let moved: u64 = traffic.iter().map(|t| t.read + t.written).sum();
            let least: u64 = traffic.iter().map(|t| t.places_read + t.places_written).sum();
            let _ = write!(out, "\n- global memory: {moved} elements moved, {least} if each were moved once");
            if least > 0 && moved > least {
                let _ = write!(out, ": tiling can save at most {}×", mean(moved, least));
            }
            let one = |t: &analysis::Traffic| {
                let mut parts = Vec::new();
                if t.read > 0 {
                    parts.push(format!("{} read, {} different", t.read, t.places_read));
                }
                if t.written > 0 {
                    parts.push(format!("{} written, {} different", t.written, t.places_written));
                }
                format!("`{}` {}", t.object, parts.join(", "))
            };
            let all: Vec<String> = traffic.iter().map(one).collect();
            if !all.is_empty() {
                let _ = write!(out, "\n- {}", all.join("; "));
            }
        }
        let exact = |space: Space| {
            let list = self.facts.accesses.iter().filter(move |a| a.space == space);
            list.map(|a| a.requests.as_ref().filter(|r| r.exact)).collect::<Option<Vec<_>>>()
        };
        if let Some(list) = exact(Space::Global).filter(|l| !l.is_empty()) {
            let (sectors, ideal): (u64, u64) =
                list.iter().fold((0, 0), |s, r| (s.0 + r.sectors, s.1 + r.ideal));
            let _ = write!(out, "\n- {}, {ideal} ideal", plural(sectors as usize, "sector"));
        }
        if let Some(list) = exact(Space::Shared).filter(|l| !l.is_empty()) {
            let conflicts: u64 = list.iter().map(|r| r.conflicts).sum();
            let _ = write!(out, "\n- shared memory: {conflicts} bank conflicts");
        }
        if let Some(list) = exact(Space::Constant).filter(|l| !l.is_empty()) {
            let (count, more) = list.iter().fold((0, 0), |s, r| (s.0 + r.count, s.1 + r.conflicts));
            let _ = write!(
                out,
                "\n- constant memory: {count} requests, {more} more passes for different addresses"
            );
        }
        let statements =
            self.facts.branches.iter().filter(|b| !matches!(self.item.body.op(b.term), Op::Select));
        if let Some(lanes) = statements.map(|b| b.lanes.as_ref()).collect::<Option<Vec<_>>>() {
            let all: u64 = lanes.iter().flat_map(|l| l.values()).sum();
            let divided: u64 = lanes
                .iter()
                .flat_map(|l| l.iter())
                .filter(|((a, h), _)| *h > 0 && h < a)
                .map(|(_, n)| n)
                .sum();
            if all > 0 {
                let _ = write!(out, "\n- {divided} of {all} decisions of warps are divergent");
            }
        }
        let idle =
            self.facts.barriers.iter().map(|b| b.count.as_ref()?.idle.zip(Some(b.count.as_ref()?.threads)));
        if let Some(list) = idle.collect::<Option<Vec<_>>>().filter(|l| !l.is_empty()) {
            let (idle, threads) = list.iter().fold((0, 0), |s, x| (s.0 + x.0, s.1 + x.1));
            let _ = write!(out, "\n- barriers: {idle} of {threads} waiting threads were idle");
        }
        out
    }
}

/// `5.5`, or `32` where it is whole.
fn mean(sum: u64, count: u64) -> String {
    match sum.is_multiple_of(count.max(1)) {
        true => (sum / count.max(1)).to_string(),
        false => format!("{:.1}", sum as f64 / count as f64),
    }
}
