//! Prints what is said of each loop of C files.
#![allow(clippy::print_stdout)]
fn main() {
    for path in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let parsed = front::Parsed::parse(front::Language::C, text.as_str());
        let unit = front::lower(&parsed, &front::Options::default(), &mut front::Memo::new());
        let program = analysis::Program::of(unit.items.iter().map(|i| &i.body));
        for item in &unit.items {
            let body = &item.body;
            let facts = analysis::analyze(body, &program, analysis::SAVE, &base::Budget::new(u64::MAX));
            let src = |t: term::TermId| {
                let s = body.span(t);
                let at = item.span.start as usize;
                text.get(at + s.start as usize..at + s.end as usize)
                    .unwrap_or("?")
                    .lines()
                    .next()
                    .unwrap_or("")
                    .to_string()
            };
            if !facts.loops.is_empty() {
                println!("== {}", item.name);
            }
            for (id, l) in facts.loops.iter_ids() {
                println!("{}{:?}  `{}`", "  ".repeat(l.depth as usize), l.verdict, src(l.term));
                let pad = "  ".repeat(l.depth as usize + 2);
                for c in l.conditions.iter().filter(|c| c.met_by != analysis::MetBy::Proof) {
                    println!("{pad}? {:?} {:?}", c.kind, c.met_by);
                }
                for o in &l.obstacles {
                    println!("{pad}! {:?} at `{}`", o.kind, src(o.term));
                }
                for d in l.dependences.iter().take(2) {
                    println!(
                        "{pad}- {:?} {} `{}` -> `{}` {:?}",
                        d.kind,
                        body.symbols[d.object.symbol].name,
                        src(d.source),
                        src(d.sink),
                        d.witness.as_ref().map(|w| (
                            w.params.len(),
                            w.source_iteration,
                            w.sink_iteration,
                            w.cell.clone()
                        ))
                    );
                }
                if matches!(l.verdict, analysis::Verdict::Independent | analysis::Verdict::Reduction) {
                    if let Err(o) =
                        analysis::offload(body, &program, &facts, id, None, &base::Budget::new(u64::MAX))
                    {
                        println!(
                            "{pad}(no offload: {:?})",
                            o.iter().map(|o| format!("{:?}", o.kind)).collect::<Vec<_>>()
                        );
                    }
                }
            }
        }
    }
}
