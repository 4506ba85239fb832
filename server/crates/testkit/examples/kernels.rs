//! How long the 30 programs of `fixtures/c/polybench` take, read and analyzed in one process:
//! `cargo run --release -p ww-testkit --example kernels [--json] [--rounds N] [FOLDER]`. The allocator is the product's.
#![allow(clippy::print_stdout)]

use std::path::PathBuf;
use std::time::Duration;

fn main() -> std::io::Result<()> {
    let mut folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../fixtures/c/polybench"));
    let (mut json, mut rounds) = (false, 5);
    let mut args = std::env::args().skip(1);
    while let Some(a) = args.next() {
        match a.as_str() {
            "--json" => json = true,
            "--rounds" => rounds = args.next().and_then(|n| n.parse().ok()).unwrap_or(rounds),
            _ => folder = a.into(),
        }
    }
    let t = testkit::kernels::measure(&folder, rounds)?;
    let ms = |d: Duration| d.as_secs_f64() * 1e3;
    let loops: usize = t.files.iter().map(|f| f.loops).sum();
    let front: Duration = t.files.iter().map(|f| f.front).sum();
    let worst = t.files.iter().max_by_key(|f| f.total());
    let function = t.files.iter().max_by_key(|f| f.worst.1);
    let name = |f: Option<&testkit::kernels::FileTime>| f.map_or(String::new(), |f| f.name.clone());
    let processor = t.processor.map_or(-1.0, ms);
    if json {
        let c = &t.tests;
        let tests = format!(
            "{{\"ziv\":{},\"strong_siv\":{},\"weak_zero_siv\":{},\"weak_crossing_siv\":{},\"gcd\":{},\"exact_siv\":{},\
             \"banerjee\":{},\"elimination\":{},\"point\":{},\"memo\":{},\"isl\":{}}}",
            c.ziv,
            c.strong_siv,
            c.weak_zero_siv,
            c.weak_crossing_siv,
            c.gcd,
            c.exact_siv,
            c.banerjee,
            c.elimination,
            c.point,
            c.memo,
            c.isl
        );
        println!(
            "{{\"files\":{},\"loops\":{loops},\"total_ms\":{:.2},\"processor_ms\":{processor:.2},\"threads\":{},\
             \"parallel_ms\":{:.2},\"front_ms\":{:.2},\"worst_file\":\"{}\",\"worst_file_ms\":{:.2},\
             \"worst_function\":\"{}\",\"worst_function_ms\":{:.2},\"tests\":{tests}}}",
            t.files.len(),
            ms(t.total),
            t.threads,
            ms(t.parallel),
            ms(front),
            name(worst),
            worst.map_or(0.0, |f| ms(f.total())),
            name(function),
            function.map_or(0.0, |f| ms(f.worst.1)),
        );
        return Ok(());
    }
    for f in &t.files {
        let (name, took, of) = &f.worst;
        println!(
            "{:24} {:3} loops {:8.2} ms (read {:6.2}, analyzed {:7.2}); longest: {name}, {:.2} ms, {of} loops",
            f.name,
            f.loops,
            ms(f.total()),
            ms(f.front),
            ms(f.analysis),
            ms(*took),
        );
    }
    println!("{:?}", t.tests);
    println!(
        "{} files, {loops} loops: {:.1} ms one after the other ({:.1} ms reading; processor {processor:.1} ms), {:.1} ms on {} threads",
        t.files.len(),
        ms(t.total),
        ms(front),
        ms(t.parallel),
        t.threads,
    );
    Ok(())
}
