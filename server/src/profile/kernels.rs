//! Kernels that a file has already, on a machine with a GPU: compared at a size whose results the simulator knows, timed at the one
//! that was asked for.

use base::CancelToken;
use device::bundle::Bundle;
use device::{Check, Measured, ProfileOutcome};

use super::{apart, bundle_of, by_whom, ms, times, Source};

/// All that is known without a run. What a kernel must move is not counted: arrays may have room that it does not touch.
fn plain(source: &Source<'_>, k: &ide::RecordedKernel, target: &str, said: String) -> wire::ProfileRun {
    wire::ProfileRun { bytes: None, ..super::plain(source, &k.timed, target, said) }
}

/// Runs a recorded kernel there.
pub fn run_kernel(
    source: &Source<'_>,
    k: &ide::RecordedKernel,
    target: &str,
    client: &mut device::Client,
    cancel: &CancelToken,
    tell: &mut dyn FnMut(&str),
) -> wire::ProfileRun {
    let known = plain(source, k, target, String::new());
    let with = |checked: &str, said: String| wire::ProfileRun {
        checked: checked.to_owned(),
        said,
        ..plain(source, k, target, String::new())
    };
    let unmeasured = |why: &str| simulated_kernel(source, k, target, why).0;
    let (checked, compared) = match &k.compared {
        Err(why) => ("not tried", format!("Results were not compared: {why}.")),
        Ok(c) => {
            let expected = c.expected.iter().map(|(at, b)| (*at as u32, device::bundle::hex(b)));
            let bundle = Bundle {
                options: k.options.clone(),
                expected: expected.collect(),
                untimed: true,
                ..bundle_of(source, &c.recorded)
            };
            match client.profile(bundle, cancel, tell) {
                Ok(ProfileOutcome::Measured(m)) => compared_words(k, c, &m),
                Ok(ProfileOutcome::Broken { reason, uncompiled: true }) => {
                    return with("not tried", uncompiled(&reason))
                }
                Ok(ProfileOutcome::Broken { reason, .. }) => {
                    let said = format!("{reason} In the simulator it comes to its end{}.", at(&c.launch));
                    return with("different", said);
                }
                Ok(ProfileOutcome::Unavailable(why)) => return unmeasured(&why.to_string()),
                Err(error) => return unmeasured(&error.to_string()),
            }
        }
    };
    let bundle = Bundle { options: k.options.clone(), ..bundle_of(source, &k.timed) };
    let m = match client.profile(bundle, cancel, tell) {
        Ok(ProfileOutcome::Measured(m)) => m,
        Ok(ProfileOutcome::Broken { reason, uncompiled: true }) => {
            return with("not tried", uncompiled(&reason))
        }
        Ok(ProfileOutcome::Broken { reason, .. }) => {
            let said =
                format!("{reason} That was launched {}; its arrays: {}. {compared}", k.launch, arrays(k));
            return with("different", said);
        }
        Ok(ProfileOutcome::Unavailable(why)) => return with(checked, format!("{why} {compared}")),
        Err(error) => return with(checked, format!("{error} {compared}")),
    };
    // steps of a simulator are no times
    let of_gpu = |ns: &[u64]| if m.simulated { None } else { times(ns) };
    let copies: Vec<u64> = m.to_device.ns.iter().zip(&m.from_device.ns).map(|(a, b)| a + b).collect();
    let run = wire::ProfileRun {
        device: Some(m.gpu.name.clone()),
        rung: if m.simulated { "simulator" } else { "events" }.to_owned(),
        checked: checked.to_owned(),
        kernel_ns: of_gpu(&m.kernels_ns),
        copies_ns: of_gpu(&copies),
        call_ns: of_gpu(&m.call_ns),
        ..known
    };
    wire::ProfileRun { said: said(k, &run, &m, &compared), ..run }
}

/// Without a GPU: what the simulator counts, and why nothing was measured; and whether nothing is wrong there.
pub fn simulated_kernel(
    source: &Source<'_>,
    k: &ide::RecordedKernel,
    target: &str,
    why: &str,
) -> (wire::ProfileRun, bool) {
    let shape = k.compared.as_ref().map_or(&k.shape, |c| &c.shape);
    let launch = k.compared.as_ref().map_or("", |c| &c.launch);
    let launch = if launch.is_empty() { &k.launch } else { launch };
    let kernel = k.timed.function.clone();
    let launches = vec![(kernel.clone(), shape.clone())];
    let options = ide::SimulateOptions { kernel: Some(kernel), launches, ..Default::default() };
    let run = ide::simulate_kernels(source.ask, &options).into_iter().next();
    let (counted, is_clean) = run.map_or(("the kernel is not there any more".to_owned(), false), |r| {
        let is_clean = r.refused.is_none() && r.completed && r.races.is_empty() && r.problems.is_empty();
        (counted(&r), is_clean)
    });
    let before = if why.is_empty() { String::new() } else { format!("{why} ") };
    let said = format!("{before}No time was measured. In the simulator, launched {launch}: {counted}. There is no original to compare with.");
    (plain(source, k, target, said), is_clean)
}

/// What the simulator counted, a phrase.
fn counted(r: &ide::KernelRun) -> String {
    if let Some(why) = &r.refused {
        return format!("it was not run: {why}");
    }
    let c = &r.counts;
    let sum = |of: fn(&ide::CountedAccess) -> u64| r.accesses.iter().map(of).sum::<u64>();
    let wrong = match r.races.len() + r.problems.len() {
        0 => "nothing wrong was seen".to_owned(),
        n => format!("{n} things wrong were seen (`warpwright simulate` names them)"),
    };
    format!(
        "{} threads in {} warps, {} sectors asked of memory where {} would do, {} bank conflicts, {} divergent branches; {wrong}",
        c.threads,
        c.warps,
        sum(|a| a.count.sectors),
        sum(|a| a.count.ideal),
        c.bank_conflicts(),
        r.divergent()
    )
}

/// ` launched <<<4, 256>>> …`; nothing for the launch that is timed.
fn at(launch: &str) -> String {
    match launch {
        "" => String::new(),
        other => format!(", launched {other}"),
    }
}

fn uncompiled(reason: &str) -> String {
    let own = reason.trim_end();
    let end = if own.ends_with('.') { "" } else { "." };
    format!(
        "{own}{end} Nothing was run: the compiler there gets the file without its host functions and without what it includes. Where a \
         header is missing, put what the kernel needs into the file."
    )
}

/// Whether what is left is what the simulator computes, with a sentence.
fn compared_words(k: &ide::RecordedKernel, c: &ide::ComparedKernel, m: &Measured) -> (&'static str, String) {
    let launched = at(&c.launch);
    match &m.check {
        Check::NotTried { why } => ("not tried", format!("Results were not compared: {why}.")),
        Check::Different { memory, element, want, got } => {
            let of = &k.timed.function;
            let said = format!("Different: behind `{of}`{launched}, `{memory}[{element}]` is {got}, and the simulator computes {want}.");
            ("different", said)
        }
        Check::Same { compared, most_ulps, most_relative } => {
            let apart = apart(*most_ulps, *most_relative);
            ("same", format!("The same as the simulator computes{launched}, {apart} ({compared} numbers compared, inputs among them)."))
        }
    }
}

fn arrays(k: &ide::RecordedKernel) -> String {
    if k.inputs.is_empty() {
        "none".to_owned()
    } else {
        k.inputs.join(", ")
    }
}

fn said(k: &ide::RecordedKernel, run: &wire::ProfileRun, m: &Measured, compared: &str) -> String {
    let mut out: Vec<String> = by_whom(m).into_iter().collect();
    out.push(format!("Launched {} with {}.", k.launch, arrays(k)));
    if let Some(t) = run.kernel_ns {
        out.push(format!(
            "The kernel {} by events on {}; what it must move is not counted.",
            ms(t),
            m.gpu.name
        ));
    }
    if let Some(t) = run.copies_ns {
        out.push(format!(
            "Bringing those arrays there and back {}: the program's own copies were not run.",
            ms(t)
        ));
    }
    out.push(compared.to_owned());
    out.join(" ")
}
