//! One loop's inputs, one after the other: which are tried, what is made of those that the original does not take, and when it
//! is enough. Deliberately absent: how inputs are made (`inputs.rs`), how two runs are compared (`sides.rs`).

use base::{Budget, CancelToken};
use simulate::{FaultKind, Program};

use super::effort::{of_bytes, Share};
use super::sides::Sides;
use super::{
    bodies, inputs, native, runtime, too_large, Trial, VerifyCase, VerifyOptions, GENTLE_SIZES, SIZES,
};
use crate::check::LoopFinding;
use crate::place::Place;
use crate::{Doc, Language};

/// Runs the original beside the texts given: a trial for a machine, and a sentence on what was stood in for. `Err` says why
/// nothing was compared.
#[allow(clippy::too_many_arguments)]
pub(crate) fn run_cases(
    doc: &Doc,
    place: &Place,
    finding: &LoopFinding,
    (host, kernels): (&str, &[&str]),
    options: &VerifyOptions,
    share: &Share,
    cancel: &CancelToken,
    cases: &mut Vec<VerifyCase>,
) -> Result<(Option<Trial>, String), String> {
    let body = place.body();
    let regrouped = place.of(finding.id).reductions.iter().any(|r| {
        body.types.as_float(r.ty).is_some()
            && matches!(r.op, analysis::ReductionOp::Add | analysis::ReductionOp::Mul)
    });
    let read = |language: Language, before: &str, text: &str| {
        let parsed = front::Parsed::parse(language, format!("{before}{text}"));
        front::lower(&parsed, &doc.options().to_front(), &mut front::Memo::new())
    };
    let mut units = vec![read(doc.language(), runtime::HOST, host)];
    units.extend(kernels.iter().map(|k| read(Language::Cuda, runtime::DEVICE, k)));
    let offloaded = Program::of(units.iter().flat_map(bodies));
    let original = Program::of(bodies(doc.unit()));
    let signature = inputs::signature(body).map_err(|why| format!("Nothing was compared, because {why}."))?;
    let (names, values) = inputs::stand_ins(&original, body);
    let all: Vec<String> = signature
        .sizes()
        .iter()
        .map(|s| (*s).to_owned())
        .chain(values.iter().map(|v| v.name.to_string()))
        .collect();
    if let Some((name, _)) = options.given.iter().find(|g| !all.contains(&g.0)) {
        return Err(format!(
            "`{name}` is no integer that `{}` gets from outside. Values can be given for: {}.",
            body.name,
            or_none(&all)
        ));
    }
    let allowed = options.steps.saturating_mul(ALL_RUNS).min(share.budget.left());
    let total = Budget::with_cancel(allowed, cancel.clone());
    let mut tried = Tried { doc, options, cancel, total: &total, cases, failed: None, uncompared: false };
    let mut wider = signature.clone();
    wider.globals.extend(values);
    let mut sides = Sides {
        original,
        offloaded,
        function: &body.name,
        signature: &signature,
        regrouped,
        launches: false,
        options,
        cancel,
        total: &total,
        not_run: Default::default(),
    };
    let mut collector = native::Collector::new(body, &signature);
    tried.plain(&sides, &mut collector)?;
    let mut stood_in = String::new();
    if !tried.is_enough() {
        // once more with what the function calls and what it may want of memory
        drop(collector);
        let Sides { mut original, mut offloaded, not_run, .. } = sides;
        original.stand_in(names.iter().cloned());
        offloaded.stand_in(names.iter().cloned());
        sides = Sides {
            original,
            offloaded,
            function: &body.name,
            signature: &wider,
            regrouped,
            launches: false,
            options,
            cancel,
            total: &total,
            not_run,
        };
        tried.failed = None;
        collector = native::Collector::new(body, &wider);
        tried
            .gentle(&sides, (names.is_empty() && doc.language() == Language::C).then_some(&mut collector))?;
        let names: Vec<String> =
            names.iter().filter(|n| !simulate::Program::is_ending(n)).map(|n| format!("`{n}`")).collect();
        if !names.is_empty() {
            stood_in = format!(
                "Functions whose bodies are not known were stood in for by ones that do nothing and give made-up values: {}.",
                some_of(&names)
            );
        }
    }
    let Tried { cases, failed, uncompared, .. } = tried;
    let _ = share.budget.spend(allowed - total.left());
    let not_run = sides.not_run.take();
    if let (Some(what), false) = (not_run, cases.iter().any(|c| c.difference.is_some())) {
        return Err(format!("The rewritten code was not run: {what}. Please report this loop."));
    }
    if cases.is_empty() {
        if uncompared {
            return Err(UNCOMPARED.to_owned());
        }
        let why = failed.unwrap_or_else(|| "every run took more steps than allowed".to_owned());
        let ask = match (all.is_empty(), options.given.is_empty()) {
            (false, true) => format!(" Give values that it takes: `--given {}`.", ask_for(&all)),
            _ => String::new(),
        };
        return Err(format!(
            "Nothing was compared, because the original itself did not run on any input that was made up: {why}.{ask}"
        ));
    }
    if cases.iter().all(|c| c.launches == 0 && c.difference.is_none()) {
        if uncompared {
            return Err(UNCOMPARED.to_owned());
        }
        return Err("The kernel never ran: on all inputs tried its conditions did not hold, and the original loop ran."
            .to_owned());
    }
    let mut trial = collector.finish(doc.source(), host, kernels, regrouped);
    if let Some(t) = &mut trial {
        let o = doc.options();
        t.defines = o
            .defines
            .iter()
            .map(|(n, v)| v.as_ref().map_or(format!("-D{n}"), |v| format!("-D{n}={v}")))
            .collect();
        t.defines.extend(o.undefines.iter().map(|n| format!("-U{n}")));
    }
    Ok((trial, stood_in))
}

/// A name or expression that can be given with `--given`, quoted where a shell wants that.
fn ask_for(names: &[String]) -> String {
    match names.first() {
        Some(n) if n.contains('(') => format!("'{n}=16'"),
        Some(n) => format!("{n}=16"),
        None => String::new(),
    }
}

/// A list of which the end may be left out.
fn some_of(names: &[String]) -> String {
    const SHOWN: usize = 6;
    match names.len() {
        n if n > SHOWN => format!("{} and {} more", names[..SHOWN].join(", "), n - SHOWN),
        _ => names.join(", "),
    }
}

/// All runs for one loop together take as many steps as so many of one.
const ALL_RUNS: u64 = 6;
/// Inputs of the second attempt, and with how many launches among them it ends.
const GENTLE: u32 = 24;
const ENOUGH: usize = 6;

/// What was tried of one loop.
struct Tried<'a, 'c> {
    doc: &'a Doc,
    options: &'a VerifyOptions,
    cancel: &'a CancelToken,
    /// Steps of all runs.
    total: &'a Budget,
    cases: &'c mut Vec<VerifyCase>,
    failed: Option<String>,
    /// Whether a kernel ran and what was left cannot be compared.
    uncompared: bool,
}

/// What is said where a kernel ran, and never on an input of which it can be told whether the same is left.
const UNCOMPARED: &str = "Nothing was compared: where the kernel ran, the runs took more steps than allowed, or left what \
                          cannot be compared: pointers to memory of unknown types, or regrouped sums in memory that the \
                          program uses as another type.";

impl Tried<'_, '_> {
    /// Whether a kernel ran, or something is wrong.
    fn is_enough(&self) -> bool {
        self.cases.iter().any(|c| c.launches > 0 || c.difference.is_some())
    }

    /// Inputs for functions that take everything.
    fn plain(&mut self, sides: &Sides<'_>, collector: &mut native::Collector<'_>) -> Result<(), String> {
        let may_overlap = sides.signature.may_overlap();
        for case in 0..self.options.cases.max(1) {
            let k = case as usize;
            let choice = inputs::Choice {
                size: SIZES[k % SIZES.len()],
                equal: k % 3 != 2,
                overlap: may_overlap && k % 4 == 3,
                ..self.choice(case)
            };
            let collector = (self.doc.language() == Language::C).then_some(&mut *collector);
            if !self.one(sides, choice, case, collector)? {
                break;
            }
        }
        Ok(())
    }

    /// Inputs for functions that take little of what there is: numbers from 0 to 1, lengths and steps of one, few sizes.
    fn gentle(
        &mut self,
        sides: &Sides<'_>,
        mut collector: Option<&mut native::Collector<'_>>,
    ) -> Result<(), String> {
        for case in 0..GENTLE.max(self.options.cases) {
            let k = case as usize;
            let choice = inputs::Choice {
                size: GENTLE_SIZES[k % GENTLE_SIZES.len()],
                equal: k % 5 != 4,
                room: inputs::Room::SMALL,
                held: [inputs::Held::Gentle, inputs::Held::Alike, inputs::Held::Any, inputs::Held::Alike]
                    [k % 4],
                ..self.choice(case)
            };
            if !self.one(sides, choice, case, collector.as_deref_mut())?
                || self.cases.iter().filter(|c| c.launches > 0).count() >= ENOUGH
            {
                break;
            }
        }
        Ok(())
    }

    fn choice(&self, case: u32) -> inputs::Choice {
        inputs::Choice {
            size: 0,
            equal: true,
            overlap: false,
            seed: self.options.seed.wrapping_mul(0x9E37_79B9).wrapping_add(u64::from(case)),
            room: inputs::Room::WIDE,
            launches: false,
            wild: false,
            held: inputs::Held::Any,
            awkward: false,
        }
    }

    /// Runs both sides on one input. `false`: the steps for all are used up.
    fn one(
        &mut self,
        sides: &Sides<'_>,
        choice: inputs::Choice,
        case: u32,
        collector: Option<&mut native::Collector<'_>>,
    ) -> Result<bool, String> {
        if self.cancel.is_cancelled() {
            return Err("Cancelled.".to_owned());
        }
        let steps = self.options.steps.min(self.total.left());
        if steps == 0 {
            return Ok(false);
        }
        let budget = Budget::with_cancel(steps, self.cancel.clone());
        let mut bytes = 0;
        let made = inputs::make_counted(
            &sides.original,
            sides.function,
            sides.signature,
            choice,
            &self.options.given,
            &budget,
            &mut bytes,
        );
        let taken = steps - budget.left() + of_bytes(bytes);
        let _ = self.total.spend(taken.min(self.total.left()));
        let input = match made {
            Ok(i) => i,
            Err(fault) => {
                self.failed.get_or_insert(match fault.kind {
                    FaultKind::MemoryLimit => too_large(),
                    _ => fault.to_string(),
                });
                return Ok(true);
            }
        };
        let (difference, launches) = sides.compare(&input, case);
        if let (Ok(None), Some(collector)) = (&difference, collector) {
            collector.add(
                &input,
                &sides.original,
                &Budget::with_cancel(self.options.steps, self.cancel.clone()),
            );
        }
        // Too long for the steps given is no result.
        match difference {
            Ok(difference) => self.cases.push(VerifyCase { input: input.text, launches, difference }),
            Err(_) => self.uncompared |= launches > 0,
        }
        Ok(true)
    }
}

fn or_none(names: &[String]) -> String {
    match names.is_empty() {
        true => "none".to_owned(),
        false => names.join(", "),
    }
}
