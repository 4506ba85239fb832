//! Random functions × every transformation that applies to one of their loops: the result is read again without gaps and
//! computes the same as the original in the simulator, bit for bit. 6 functions, or as many as `WARPWRIGHT_TRANSFORMS`
//! says.

use base::CancelToken;
use ide::{check, transform, transformations, Doc, Memo, Options, Refused, Settings, Tier, Which};
use testkit::nests::generate;

fn wanted() -> u64 {
    std::env::var("WARPWRIGHT_TRANSFORMS").ok().and_then(|n| n.parse().ok()).unwrap_or(6)
}

/// Transformations made and run, and what is wrong.
fn all_of(seed: u64) -> (u64, Vec<String>) {
    let text = generate(seed, 10).text();
    let (memo, cancel) = (Memo::new(), CancelToken::new());
    let source = text::Text::new(&text).expect("a short text");
    let doc = Doc::open(ide::Language::C, "nest.c", source, Options::default());
    let findings =
        check(&ide::Ask::new(&doc, &memo, Tier::Full, &cancel), &Settings::default()).expect("not cancelled");
    let (mut made, mut wrong) = (0, Vec::new());
    for l in &findings.loops {
        let which = Which::Key(l.key.to_string());
        let Ok(listed) = transformations(
            &ide::Ask::new(&doc, &ide::Memo::new(), ide::Tier::Full, &cancel),
            &findings,
            &which,
        ) else {
            continue;
        };
        let mut wishes: Vec<(&str, &str)> =
            listed.iter().filter(|t| t.title.is_ok()).map(|t| (t.name, "")).collect();
        // those that ask where
        wishes.extend([
            ("split", "middle"),
            ("split", "at=3"),
            ("peel", "last"),
            ("distribute", "max"),
            ("strip-mine", "4"),
        ]);
        if l.enabling().is_some() {
            wishes.push(("enable", ""));
        }
        for (name, with) in wishes {
            match transform(
                &ide::Ask::new(&doc, &memo, ide::Tier::Full, &cancel),
                &findings,
                &which,
                name,
                with,
            ) {
                Ok(done) => made += u64::from(done.checked.starts_with("Same")),
                Err(Refused::Because(why)) if why.contains("Please report") => {
                    wrong.push(format!("seed {seed}, line {}, {name} {with}: {why}\n{text}", l.line()));
                }
                Err(_) => {}
            }
        }
    }
    (made, wrong)
}

#[test]
fn transformed_loops_compute_the_same() {
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get()) as u64;
    let results: Vec<(u64, Vec<String>)> = std::thread::scope(|s| {
        let work = |t| move || (t..wanted()).step_by(threads as usize).map(all_of).collect::<Vec<_>>();
        let handles: Vec<_> = (0..threads).map(|t| s.spawn(work(t))).collect();
        handles.into_iter().flat_map(|h| h.join().expect("no panic")).collect()
    });
    let made: u64 = results.iter().map(|r| r.0).sum();
    let wrong: Vec<String> = results.into_iter().flat_map(|r| r.1).collect();
    eprintln!("{made} transformations made and run");
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong[..wrong.len().min(4)].join("\n\n"));
    assert!(made > wanted(), "too little was transformed");
}
