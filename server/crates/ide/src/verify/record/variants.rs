//! The ways in which threads can be laid out for a loop: which of its loops runs along x, and how large a block is. Each is the plan's
//! own text with another shape, recorded as any, and counted in the simulator at a small size.
//!
//! Deliberately absent: which is best. Other loop orders, tiles and other kernels are transformations.

use term::{IntKind, TypeKind};

use super::{made, offloaded, KernelArgument, Recorded};
use crate::check::Findings;
use crate::kernels::{simulate_kernels, Shape, SimulateOptions};
use crate::limits::verify_record_variants::{BLOCKS, SMALL_SIZE, STEPS};
use crate::offload::{kernel_file, KernelShape};
use crate::units::Unit;
use crate::{Ask, HostStep, Options, Which};

/// One of them.
#[derive(Clone, Debug)]
pub struct Variant {
    /// `j along x, i along y, blocks of 32 by 8`
    pub name: String,
    /// Whether an offload writes this one.
    pub is_own: bool,
    pub recorded: Recorded,
    /// With what it is verified: the document whose kernels are laid out so.
    pub ask: Ask,
    /// `Err`: why nothing was counted, a phrase.
    pub counted: Result<CountedRequests, String>,
}

/// What a run's warps ask of memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CountedRequests {
    /// Sectors of all requests, and those that would do if no request asked for more than its lanes need.
    pub sectors: u64,
    pub ideal: u64,
    /// With which values.
    pub sizes: Vec<(String, i128)>,
}

/// Records each way for each loop chosen, with its line; the offload's own comes first. All have the same sizes.
pub fn record_variants(
    ask: &Ask,
    findings: &Findings,
    which: &Which,
    given: &[(String, i128)],
) -> Vec<(u32, Result<Vec<Variant>, String>)> {
    let units = crate::units::units(ask, findings, which);
    units.iter().map(|u| (u.first.line(), all(ask, findings, u, given))).collect()
}

fn all(
    ask: &Ask,
    findings: &Findings,
    unit: &Unit,
    given: &[(String, i128)],
) -> Result<Vec<Variant>, String> {
    if !ask.doc.language().interpreted {
        return Err(format!("host text in {} is not recorded yet", ask.doc.language().title));
    }
    let own = one(ask, findings, unit, given)?;
    let sizes = own.1.recorded.sizes.clone();
    let axes = own.0.axes.len();
    let mut seen = vec![(own.0.axes.clone(), own.0.block)];
    let mut out = vec![Variant { is_own: true, ..own.1 }];
    for x in 0..axes {
        for block in BLOCKS.iter().filter(|b| used(b) == axes) {
            if ask.cancel.is_cancelled() {
                return Err("cancelled".to_owned());
            }
            let threads = codegen::ThreadShape { x: Some(x), block: Some(*block) };
            let doc = ask.doc.with_options(Options { threads, ..ask.doc.options().clone() });
            let ask = Ask { doc, ..ask.clone() };
            let (shape, variant) = one(&ask, findings, unit, &sizes)?;
            // one that the plan does not take is another one
            let known = (shape.axes, shape.block);
            if known.1 == *block && !seen.contains(&known) {
                seen.push(known);
                out.push(variant);
            }
        }
    }
    Ok(out)
}

/// Axes that a block has threads along.
fn used(block: &[u32; 3]) -> usize {
    block.iter().rposition(|n| *n > 1).map_or(0, |last| last + 1)
}

fn one(
    ask: &Ask,
    findings: &Findings,
    unit: &Unit,
    given: &[(String, i128)],
) -> Result<(KernelShape, Variant), String> {
    let done = offloaded(ask, findings, unit)?;
    let kernels: Vec<&KernelShape> = done.loops.iter().flat_map(|l| &l.kernels).collect();
    let [shape] = kernels[..] else {
        return Err(format!(
            "it becomes {} kernels, and ways to lay out threads are tried for one; choose a loop inside it",
            kernels.len()
        ));
    };
    let recorded = made(ask, findings, (unit, &done), given)?;
    let small: Vec<(String, i128)> =
        recorded.sizes.iter().map(|(n, v)| (n.clone(), (*v).min(SMALL_SIZE))).collect();
    let counted =
        made(ask, findings, (unit, &done), &small).map_err(|why| why.trim_end_matches('.').to_owned());
    let counted = counted.and_then(|r| count(ask, &r));
    let mut along: Vec<&(String, String)> = shape.axes.iter().collect();
    along.sort();
    let along: Vec<String> = along.iter().map(|(axis, index)| format!("{index} along {axis}")).collect();
    let block: Vec<String> = shape.block.iter().take(shape.axes.len()).map(u32::to_string).collect();
    let name = format!("{}, blocks of {}", along.join(", "), block.join(" by "));
    Ok((shape.clone(), Variant { name, is_own: false, recorded, ask: ask.clone(), counted }))
}

/// Runs its launches in the simulator with inputs made up. `Err`: a phrase.
fn count(ask: &Ask, recorded: &Recorded) -> Result<CountedRequests, String> {
    let doc = kernel_file(ask, &recorded.kernel_file, &recorded.source)?;
    let ask = Ask::thorough(&doc);
    let mut out = CountedRequests { sectors: 0, ideal: 0, sizes: recorded.sizes.clone() };
    let mut is_launched = false;
    for step in &recorded.steps {
        let HostStep::Launch { kernel, grid, block, shared_bytes, arguments } = step else { continue };
        let item = doc.unit().items.iter().find(|i| i.is_kernel && *i.name == **kernel);
        let item = item.ok_or_else(|| format!("`{kernel}` is not understood"))?;
        let body = &item.body;
        let parameters = body.args(body.root).first().map(|&l| body.args(l)).unwrap_or_default();
        let mut values = Vec::new();
        for (p, argument) in parameters.iter().zip(arguments) {
            let (term::Op::Declare(s), KernelArgument::Plain(bytes)) = (body.op(*p), argument) else {
                continue;
            };
            let symbol = &body.symbols[*s];
            values.extend(said(body.types.kind(symbol.ty), bytes).map(|v| (symbol.name.to_string(), v)));
        }
        let shape =
            Shape { grid: *grid, block: *block, shared_bytes: *shared_bytes, values, ..Shape::default() };
        let options = SimulateOptions {
            kernel: Some(kernel.clone()),
            launches: vec![(kernel.clone(), shape)],
            steps: STEPS,
            interleavings: 0,
            ..SimulateOptions::default()
        };
        let run = simulate_kernels(&ask, &options).into_iter().next();
        let run = run.ok_or_else(|| format!("`{kernel}` is not understood"))?;
        match run.refused {
            Some(why) => return Err(why),
            None if !run.completed => return Err("it did not come to its end in the simulator".to_owned()),
            None => {}
        }
        is_launched = true;
        out.sectors += run.accesses.iter().map(|a| a.count.sectors).sum::<u64>();
        out.ideal += run.accesses.iter().map(|a| a.count.ideal).sum::<u64>();
    }
    match is_launched {
        true => Ok(out),
        false => Err("its steps do not tell what is launched".to_owned()),
    }
}

/// A number as `--launch` takes it; `None`: an address.
fn said(kind: &TypeKind, bytes: &[u8]) -> Option<String> {
    match kind {
        TypeKind::Int(k) => {
            let mut wide = [0; 16];
            wide.get_mut(..bytes.len())?.copy_from_slice(bytes);
            let value = i128::from_le_bytes(wide);
            let is_negative = value > IntKind::max(*k);
            Some((if is_negative { value - (1i128 << k.bits()) } else { value }).to_string())
        }
        TypeKind::Float(term::FloatKind::F32) => Some(f32::from_le_bytes(bytes.try_into().ok()?).to_string()),
        TypeKind::Float(term::FloatKind::F64) => Some(f64::from_le_bytes(bytes.try_into().ok()?).to_string()),
        _ => None,
    }
}
