//! What files cost: for each function its loops, the counted steps that its facts took, and the time here and now. Used to
//! set the limits of `analysis::TYPING` and `analysis::SAVE`.
//!
//! `cargo run -p ww-analysis --example steps -- FILE …`; `--offload` describes a kernel for each loop besides.
#![allow(clippy::print_stdout)]

use std::time::Instant;

use analysis::{analyze, offload, Program, FULL_STEPS, SAVE};
use base::Budget;

fn main() {
    let (flags, files): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|a| a.starts_with("--"));
    let with_offload = flags.iter().any(|f| f == "--offload");
    for file in files {
        let Ok(text) = std::fs::read_to_string(&file) else {
            eprintln!("{file}: cannot be read");
            continue;
        };
        let parsed = front::Parsed::parse(front::Language::C, text);
        let unit = front::lower(&parsed, &front::Options::default(), &mut front::Memo::new());
        let program = Program::of(unit.items.iter().map(|i| &i.body));
        let budget = Budget::new(u64::MAX);
        for item in &unit.items {
            let start = Instant::now();
            let facts = analyze(&item.body, &program, SAVE, &budget);
            let time = start.elapsed();
            if facts.loops.is_empty() {
                continue;
            }
            let per_step = time.as_nanos() as u64 / facts.steps.max(1);
            println!(
                "{file} {}: {} loops, {} steps, {time:.1?}, {per_step} ns a step{}",
                item.name,
                facts.loops.len(),
                facts.steps,
                if facts.out_of_budget { ", limit met" } else { "" }
            );
            if with_offload {
                let (start, part) = (Instant::now(), Budget::new(FULL_STEPS * facts.loops.len() as u64));
                for id in facts.loops.ids() {
                    let of_loop = part.part(FULL_STEPS);
                    let _ = offload(&item.body, &program, &facts, id, None, &of_loop);
                    let _ = part.spend(of_loop.taken());
                }
                println!("    kernels described: {} steps, {:.1?}", part.taken(), start.elapsed());
            }
        }
    }
}
