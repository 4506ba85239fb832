//! `warpwright profile --variants mappings`: the ways to lay out a loop's threads, each run, in one table with the best first.

use base::CancelToken;

use super::{shown_before, ProfileArgs};
use crate::cli::{note, print, Done, Format};
use crate::contract::{pretty, VERSION};
use crate::profile::{best_first, client, run_variant, time, Source};

pub fn run(args: &ProfileArgs, source: &Source<'_>, whiches: &[ide::Which]) -> anyhow::Result<Done> {
    let mut there = match args.on.as_str() {
        "simulator" => None,
        on => Some(client(args.there.worker(on)?, source.limit)),
    };
    let (mut all, mut all_good) = (Vec::new(), true);
    for which in whiches {
        let mut sizes = args.sizes.clone();
        if whiches.len() > 1 {
            let names = ide::given_names(source.ask, source.findings, which);
            sizes.retain(|s| names.contains(&s.0));
        }
        for (line, variants) in ide::record_variants(source.ask, source.findings, which, &sizes) {
            let variants = match variants {
                Ok(variants) => variants,
                Err(why) => {
                    all_good = false;
                    note(&format!(
                        "{}, line {line}: not measured: {}",
                        args.file.display(),
                        why.trim_end_matches('.')
                    ));
                    continue;
                }
            };
            let mut runs = Vec::new();
            for (n, v) in variants.iter().enumerate() {
                note(&format!("note: {} of {}: {}", n + 1, variants.len(), v.name));
                if n == 0 && there.is_some() {
                    shown_before(&v.recorded, &args.on);
                }
                let mut tell = |what: &str| note(&format!("note: {what}"));
                runs.push(run_variant(source, v, &args.on, there.as_mut(), &CancelToken::new(), &mut tell));
            }
            let order = best_first(&mut runs);
            let is_good =
                |r: &wire::ProfileRun| r.checked == "same" && (there.is_none() || r.device.is_some());
            all_good &= runs.iter().all(is_good);
            if args.format == Format::Text {
                print(&table(&runs, order))?;
            }
            all.extend(runs);
        }
    }
    if all.is_empty() {
        anyhow::bail!("no loop here has ways to lay out threads that can be tried; see the notes above.");
    }
    if args.format == Format::Json {
        print(&pretty(&wire::Profile { version: VERSION, runs: all })?)?;
    }
    Ok(if all_good { Done::Ok } else { Done::Found })
}

/// One line a variant, and what is said of the first.
fn table(runs: &[wire::ProfileRun], order: &str) -> String {
    let Some(first) = runs.first() else { return String::new() };
    let sizes: Vec<String> = first.sizes.iter().map(|(n, v)| format!("{n}={v}")).collect();
    let sizes = if sizes.is_empty() { String::new() } else { format!(" ({})", sizes.join(", ")) };
    let mut out =
        format!("{}:{}: {}{sizes} on {}. {order}\n", first.file, first.line, first.function, first.target);
    let none = || "-".to_owned();
    let row = |r: &wire::ProfileRun| -> [String; 5] {
        [
            r.variant.clone().unwrap_or_default(),
            r.kernel_ns.map_or_else(none, |t| time(t.median)),
            r.rung.clone(),
            r.sectors.map_or_else(none, |s| s.to_string()),
            r.checked.clone(),
        ]
    };
    let heads = ["threads", "kernel", "by", "sectors", "results"].map(str::to_owned);
    let rows: Vec<[String; 5]> = std::iter::once(heads).chain(runs.iter().map(row)).collect();
    let width = |k: usize| rows.iter().map(|r| r[k].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..5).map(width).collect();
    for r in &rows {
        let cells: Vec<String> =
            r.iter().zip(&widths).map(|(cell, w)| format!("{cell:w$}", w = *w)).collect();
        out += &format!("  {}\n", cells.join("  ").trim_end());
    }
    out + &format!("The first: {}\n", first.said)
}
