//! Rules against what really happens: random functions are rewritten by every system of C that ships and by systems that
//! apply nearly everywhere, and each result must read as what the rules made and compute what its function computed.
//! 100 functions, or as many as `WARPWRIGHT_RULES` says, from the seed `WARPWRIGHT_RULES_FROM` on.

use base::CancelToken;
use ide::{apply_rules, check, Doc, Memo, Options, Refused, RuleSet, RuleTarget, Settings, Tier};
use testkit::nests::generate;

/// Statements in a function, about.
const SIZE: usize = 12;

/// Exact rules that apply to much: whoever writes text gets many places to write it in.
const STIRRING: &str = "# Stir\n\nTrust: exact\n
```rules stir-places BottomUp
c`$a[$i]` [type($a, pointer)] -> c`*($a + $i)`
```
```rules stir-operators BottomUp
c`$x + $y` [type($x, floating), type($y, floating)] -> c`$x - -$y`
c`$x + 1` [type($x, int)] -> c`$x - -1`
c`$x - $y` [type($x, int), const($y), $y > 0, $y < 1000] -> c`$x + -1 * $y`
```
```rules stir-conditions BottomUp
c`if ($x < $y) $b` -> c`if ($y > $x) $b`
c`if ($x <= $y) $b` -> c`if ($y >= $x) { $b }`
c`if ($c) $t else $e` [!head($c, Not)] -> c`if (!$c) $e else $t`
```
```rules stir-compounds TopDown
c`$x += $y;` [type($x, arithmetic), pure($x)] -> c`$x = $x + $y;`
c`$x -= $y;` [type($x, arithmetic), pure($x)] -> c`$x = $x - $y;`
```
```rules stir-names once(TopDown)
c`$x = $y;` [fresh($t), type($y, int), type($x, int), pure($x)] -> c`int $t = $y; $x = $t;`
c`$x = $y;` [fresh($t), type($y, double), pure($x)] -> c`double $t = $y; $x = $t;`
c`$x = $y;` [fresh($t), type($y, float), pure($x)] -> c`float $t = $y; $x = $t;`
```
```rules stir-blocks once(BottomUp)
c`for (int $i = $a; $i < $n; $i++) $b` -> c`for (int $i = $a; $i < $n; ++$i) { $b }`
c`for ($i = $a; $i < $n; $i++) $b` -> c`for ($i = $a; $i < $n; ++$i) { $b }`
```
```rules stir TopDown
nothing -> to_do
```
```c example
int nothing(int nothing) { return nothing; }
```
```c result
int nothing(int nothing) { return nothing; }
```
";

/// Systems that make C of C.
const SYSTEMS: [&str; 11] = [
    "neutral-elements",
    "strength-reduction",
    "power-of-two",
    "interchange",
    "reversal",
    "stir-places",
    "stir-operators",
    "stir-conditions",
    "stir-compounds",
    "stir-names",
    "stir-blocks",
];

fn number(variable: &str, or: u64) -> u64 {
    std::env::var(variable).map_or(or, |n| n.parse().unwrap_or_else(|_| panic!("{variable} is no number")))
}

/// What is wrong with the results for one function; how many there were, and how many of them ran.
fn judge(set: &RuleSet, seed: u64) -> (u64, u64, Vec<String>) {
    let nest = generate(seed, SIZE);
    let text = nest.text();
    let (memo, settings, cancel) = (Memo::default(), Settings::default(), CancelToken::new());
    let doc = Doc::open(
        ide::Language::C,
        "nest.c",
        text::Text::new(&text).expect("a short text"),
        Options::default(),
    );
    let findings = check(&doc, &memo, &settings, Tier::Full, &cancel).expect("not cancelled");
    let (mut applied, mut ran, mut wrong) = (0, 0, Vec::new());
    for system in SYSTEMS {
        match apply_rules(&doc, &findings, set, system, &RuleTarget::File, &cancel) {
            Ok(done) => {
                applied += 1;
                ran += u64::from(done.checked.starts_with("Same results"));
                let again = Doc::open(
                    ide::Language::C,
                    "nest.c",
                    text::Text::new(&done.text).expect("a short text"),
                    Options::default(),
                );
                if check(&again, &memo, &settings, Tier::Typing, &cancel).is_err() {
                    wrong.push(format!("seed {seed}, {system}: not analyzed again"));
                }
            }
            Err(Refused::Because(why)) => {
                let ours = [
                    "computes something else",
                    "reads otherwise",
                    "not understood when read again",
                    "do not fit",
                ];
                // whoever moves or adds is told where that is not proved; everything else must come out
                let limits = ["come to an end", "undo one another", "beyond all bounds"];
                let limit = limits.iter().any(|w| why.contains(w));
                if limit || ours.iter().any(|w| why.contains(w)) {
                    wrong.push(format!("seed {seed}, {system}: {why}\n{text}"));
                }
            }
            Err(other) => wrong.push(format!("seed {seed}, {system}: {other:?}")),
        }
    }
    (applied, ran, wrong)
}

#[test]
fn results_compute_what_their_sources_computed() {
    let mut set = RuleSet::shipped();
    let errors: Vec<String> = set.add("stir", STIRRING).into_iter().map(|f| format!("{f:?}")).collect();
    assert!(set.find("stir-names").is_some(), "{errors:#?}");
    let (count, from) = (number("WARPWRIGHT_RULES", 100), number("WARPWRIGHT_RULES_FROM", 0));
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get()) as u64;
    let results: Vec<_> = std::thread::scope(|s| {
        let set = &set;
        let work =
            move |t| (t..count).step_by(threads as usize).map(|n| judge(set, from + n)).collect::<Vec<_>>();
        let handles: Vec<_> = (0..threads).map(|t| s.spawn(move || work(t))).collect();
        handles.into_iter().flat_map(|h| h.join().expect("no panic")).collect()
    });
    let (applied, ran) = results.iter().fold((0, 0), |(a, r), x| (a + x.0, r + x.1));
    let wrong: Vec<&String> = results.iter().flat_map(|x| &x.2).collect();
    eprintln!("{count} functions, {applied} results, {ran} of them run beside their sources");
    let shown: Vec<&str> = wrong.iter().take(4).map(|w| w.as_str()).collect();
    assert!(wrong.is_empty(), "{} wrong results\n{}", wrong.len(), shown.join("\n\n"));
    // a test that rewrites nothing proves nothing
    assert!(applied > count && ran > count / 2, "too little was judged: {applied} results, {ran} run");
}
