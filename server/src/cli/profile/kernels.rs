//! `warpwright profile FILE.cu`: kernels that the file has already.

use std::time::Duration;

use base::CancelToken;

use super::{shown_before, text, ProfileArgs};
use crate::cli::simulate::launches;
use crate::cli::{note, print, Done, Format};
use crate::contract::{pretty, VERSION};
use crate::files::Input;
use crate::profile::{client, run_kernel, simulated_kernel, Source};

pub fn run(args: &ProfileArgs, input: Input) -> anyhow::Result<Done> {
    if !args.loop_lines.is_empty() || args.function.is_some() || args.marked {
        anyhow::bail!(
            "{} has kernels, and these are named by --kernel; --loop, --function and --marked choose loops of C files.",
            args.file.display()
        );
    }
    if args.variants.is_some() {
        anyhow::bail!(
            "{} has kernels whose threads are laid out by their own text; --variants is for loops of C files.",
            args.file.display()
        );
    }
    let is_simulated = args.on == "simulator";
    let reader = args.source.reader(std::slice::from_ref(&args.file));
    let headers = reader.for_compiler(&input.path);
    let of_part = |place: &str| reader.for_compiler(std::path::Path::new(place));
    let memo = ide::Memo::new();
    let report = reader.analyze(input, &memo)?;
    let (ask, findings) = (&report.ask, &report.findings);
    let options = ide::SimulateOptions {
        kernel: args.kernel.clone(),
        launches: launches(&args.launches)?,
        ..Default::default()
    };
    // of several kernels each takes what is its own; one says itself what it has
    let known = ide::kernel_sizes(ask, options.kernel.as_deref());
    let is_known = |s: &(String, i128)| known.iter().flatten().any(|n| *n == s.0);
    if let (true, Some((name, _))) = (known.len() > 1, args.sizes.iter().find(|s| !is_known(s))) {
        anyhow::bail!(
            "`{name}` is no whole number and no array that a kernel of {} takes.",
            args.file.display()
        );
    }
    let recorded = ide::record_kernels(ask, &options, &args.sizes);
    if recorded.is_empty() {
        match &args.kernel {
            Some(k) => anyhow::bail!("{} has no kernel `{k}` that is understood. `warpwright analyze` lists its kernels and what is not understood.", args.file.display()),
            None => anyhow::bail!("{} has no kernel that is understood. `warpwright analyze` says what is not.", args.file.display()),
        }
    }
    let limit = Duration::from_secs(args.limit);
    let source = Source { path: &args.file, ask, findings, headers, of_part: &of_part, limit };
    let mut there = None;
    let (mut runs, mut all_good) = (Vec::new(), true);
    for (line, one) in recorded {
        let k = match one {
            Ok(k) => k,
            Err(why) => {
                all_good = false;
                note(&format!("{}, line {line}: not measured: {why}", args.file.display()));
                continue;
            }
        };
        let answer = if is_simulated {
            let (answer, is_clean) = simulated_kernel(&source, &k, &args.on, "");
            all_good &= is_clean;
            answer
        } else {
            let there = match &mut there {
                Some(there) => there,
                None => there.insert(client(args.there.worker(&args.on)?, limit)),
            };
            shown_before(&k.timed, &args.on);
            let mut tell = |what: &str| note(&format!("note: {what}"));
            let answer = run_kernel(&source, &k, &args.on, there, &CancelToken::new(), &mut tell);
            all_good &= answer.checked == "same" && answer.device.is_some();
            answer
        };
        if args.format == Format::Text {
            print(&text(&answer))?;
        }
        runs.push(answer);
    }
    all_good &= !runs.is_empty();
    if args.format == Format::Json {
        print(&pretty(&wire::Profile { version: VERSION, runs })?)?;
    }
    Ok(if all_good { Done::Ok } else { Done::Found })
}
