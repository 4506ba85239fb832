//! Nests of C read as C++: the same verdicts, or less. `WARPWRIGHT_CPP=10000` reads more of them.

use analysis::Verdict;
use front::{Language, Options};
use testkit::fixture::{analyze, analyze_in};
use testkit::nests::generate;

#[test]
fn what_is_said_of_c_is_said_of_the_same_in_cpp() {
    let count = std::env::var("WARPWRIGHT_CPP").map_or(150, |n| n.parse().expect("a number"));
    let (mut all, mut less, mut wrong) = (0, 0, Vec::new());
    for seed in 0..count {
        // C++ has no `restrict`, and no `_Bool`
        let text = generate(seed, 12).text().replace("restrict", "__restrict");
        // of C++'s there are several, and that of `float` accumulates in `float`
        if text.contains("fmax") || text.contains("fmin") {
            continue;
        }
        let c = analyze(&text);
        let cpp = analyze_in(Language::Cpp, &text, &Options::default());
        for l in &c.loops {
            let verdict = c.facts[l.item].loops[l.id].verdict;
            let other = cpp.loops.iter().filter(|o| o.line == l.line).collect::<Vec<_>>();
            let [other] = other.as_slice() else { continue };
            all += 1;
            match cpp.facts[other.item].loops[other.id].verdict {
                v if v == verdict => {}
                Verdict::Unknown => less += 1,
                v => wrong.push(format!("seed {seed}, line {}: {v:?} and not {verdict:?}\n{text}", l.line)),
            }
        }
    }
    eprintln!("{all} loops, {less} of them unknown in C++ alone");
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.first().map_or("", String::as_str));
    assert!(all > 2 * count && less * 10 < all, "too little was judged");
}
