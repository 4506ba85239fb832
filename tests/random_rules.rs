//! Rules against what really happens: programs that nobody wrote are rewritten by every system that ships and by systems that
//! apply nearly everywhere, and each result must read as what the rules made and compute what its program computed. Half of the
//! programs are random functions of C, half are the examples of the pages, C and CUDA, with random changes: what nearly
//! matches, and what matches with another meaning.
//! 200 programs, or as many as `WARPWRIGHT_RULES` says, from the seed `WARPWRIGHT_RULES_FROM` on; every system, or those that
//! `WARPWRIGHT_RULES_SYSTEMS` names, with blanks between; `WARPWRIGHT_RULES_KIND` is `nests` or `examples` where only functions of
//! C or only changed examples are wanted.

use base::CancelToken;
use ide::{
    apply_rules, check, Doc, Level, Memo, Options, Refused, RuleLanguage, RuleSet, RuleTarget, Settings, Tier,
};
use testkit::mutants::{is_understood, mutant};
use testkit::nests::generate;
use testkit::rng::Rng;

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
c`if ($x < $y) $b` [readonly($x), readonly($y)] -> c`if ($y > $x) $b`
c`if ($x <= $y) $b` [readonly($x), readonly($y)] -> c`if ($y >= $x) { $b }`
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
c`nothing + 0` -> c`0 + nothing`
```
```c example
int nothing(int nothing) { return nothing; }
```
```c result
int nothing(int nothing) { return nothing; }
```
";

fn number(variable: &str, or: u64) -> u64 {
    std::env::var(variable).map_or(or, |n| n.parse().unwrap_or_else(|_| panic!("{variable} is no number")))
}

/// Z3 in this process.
struct Z3;

impl ide::RuleProver for Z3 {
    fn ask(&self, script: &str) -> Result<String, String> {
        let request = device::ProveRequest { script: script.to_owned(), limit_ms: None, library: None };
        match device::prove(&request, &CancelToken::new()) {
            device::ProveOutcome::Answered { text, .. } => Ok(text),
            device::ProveOutcome::Unavailable(why) => Err(why.to_string()),
        }
    }
}

/// A program to be rewritten.
struct Program {
    name: String,
    language: ide::Language,
    text: String,
}

/// Examples of the shipped pages.
fn examples(set: &RuleSet) -> Vec<Program> {
    let mut all = Vec::new();
    for page in &set.pages {
        for (k, e) in page.examples.iter().enumerate() {
            let language = match e.language {
                RuleLanguage::Source(language) => language,
                RuleLanguage::Term => continue,
            };
            all.push(Program { name: format!("{} {}", page.name, k + 1), language, text: e.before.clone() });
        }
    }
    all
}

/// The program of a seed.
fn program(examples: &[Program], seed: u64) -> Program {
    let nest = match std::env::var("WARPWRIGHT_RULES_KIND").as_deref() {
        Ok("nests") => true,
        Ok("examples") => false,
        _ => seed.is_multiple_of(2),
    };
    if nest {
        let mut text = generate(seed, SIZE).text();
        let mut rng = Rng::new(seed);
        if rng.chance(50) {
            text = marked(&text, &mut rng);
        }
        return Program { name: format!("seed {seed}, nest"), language: ide::Language::C, text };
    }
    let mut rng = Rng::new(seed);
    let e = rng.pick(examples);
    let steps = rng.below(4);
    let text = mutant(&e.text, steps, &mut rng);
    Program { name: format!("seed {seed}, {steps} changes of {}", e.name), language: e.language, text }
}

/// The text with a mark before one of its loops.
fn marked(text: &str, rng: &mut Rng) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let loops: Vec<usize> =
        (0..lines.len()).filter(|&k| lines[k].trim_start().starts_with("for (")).collect();
    let Some(&at) = loops.get(rng.below(loops.len())) else { return text.to_owned() };
    let mut out = String::new();
    for (k, line) in lines.iter().enumerate() {
        if k == at {
            out += "// warpwright: offload(device)\n";
        }
        out += line;
        out.push('\n');
    }
    out
}

fn open(p: &Program, text: &str) -> Doc {
    let file = format!("program.{}", p.language.extension);
    Doc::open(p.language, &file, text::Text::new(text).expect("a short text"), Options::default())
}

/// What came of the systems for one program.
#[derive(Default)]
struct Judged {
    applied: u64,
    ran: u64,
    /// Systems with results.
    by: Vec<String>,
    wrong: Vec<String>,
}

fn judge(set: &RuleSet, p: &Program) -> Judged {
    // findings are nothing to rules
    let levels = ide::codes().map(|c| (c.code.to_owned(), Level::Off)).collect();
    let (memo, settings, cancel) = (Memo::default(), Settings { levels }, CancelToken::new());
    let doc = open(p, &p.text);
    let findings = check(&ide::Ask::new(&doc, &memo, Tier::Full, &cancel), &settings).expect("not cancelled");
    let mut out = Judged::default();
    let chosen = std::env::var("WARPWRIGHT_RULES_SYSTEMS").ok();
    let is_chosen = |s: &str| chosen.as_ref().is_none_or(|c| c.split_whitespace().any(|w| w == s));
    for system in set.systems.keys().filter(|s| is_chosen(s)) {
        match apply_rules(
            &ide::Ask::new(&doc, &ide::Memo::new(), ide::Tier::Full, &cancel),
            &findings,
            set,
            system,
            &RuleTarget::File,
        ) {
            Ok(done) => {
                out.applied += 1;
                out.by.push(system.to_string());
                out.ran += u64::from(done.checked.starts_with("Same results"));
                let again = open(p, &done.text);
                if check(&ide::Ask::new(&again, &memo, Tier::Typing, &cancel), &settings).is_err() {
                    out.wrong.push(format!("{}, {system}: not analyzed again", p.name));
                }
            }
            Err(Refused::Because(why)) => {
                let ours = ["the text reads otherwise", "not understood when read again", "do not fit"];
                // a page that assumes something is held to it by the run, and its result is not shown
                let trust = set.find(system).and_then(|(page, _)| page.trust.as_ref());
                // no call of CUDA fails here
                let assumed = **system != *"offload" && trust.is_some_and(|t| t.text().contains("assumes"));
                // whoever moves or adds is told where that is not proved; everything else must come out
                let limits = ["come to an end", "undo one another", "beyond all bounds"];
                let ours = ours.iter().any(|w| why.contains(w)) && is_understood(p.language, &p.text);
                let limit = limits.iter().any(|w| why.contains(w));
                let different = !assumed && why.contains("computes something else");
                if limit || different || ours {
                    out.wrong.push(format!("{}, {system}: {why}\n{}", p.name, p.text));
                }
            }
            Err(other) => out.wrong.push(format!("{}, {system}: {other:?}", p.name)),
        }
    }
    out
}

#[test]
fn results_compute_what_their_sources_computed() {
    let mut set = RuleSet::shipped();
    let examples = examples(&set);
    let errors: Vec<String> = set.add("stir", STIRRING).into_iter().map(|f| format!("{f:?}")).collect();
    assert!(set.find("stir-names").is_some(), "{errors:#?}");
    set.judge(Some(&Z3));
    let (page, _) = set.find("stir-names").expect("the page");
    assert_eq!(set.claim(page), Some(Ok(())));
    let (count, from) = (number("WARPWRIGHT_RULES", 200), number("WARPWRIGHT_RULES_FROM", 0));
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get()) as u64;
    let results: Vec<_> = std::thread::scope(|s| {
        let (set, examples) = (&set, &examples);
        let work = move |t| {
            let mine = (t..count).step_by(threads as usize);
            mine.map(|n| judge(set, &program(examples, from + n))).collect::<Vec<_>>()
        };
        let handles: Vec<_> = (0..threads).map(|t| s.spawn(move || work(t))).collect();
        handles.into_iter().flat_map(|h| h.join().expect("no panic")).collect()
    });
    let (applied, ran) = results.iter().fold((0, 0), |(a, r), x| (a + x.applied, r + x.ran));
    let mut by = std::collections::BTreeMap::<&str, u64>::new();
    results.iter().flat_map(|x| &x.by).for_each(|s| *by.entry(s).or_default() += 1);
    let wrong: Vec<&String> = results.iter().flat_map(|x| &x.wrong).collect();
    eprintln!("{count} programs, {applied} results, {ran} of them run beside their sources\n{by:?}");
    let shown: Vec<&str> = wrong.iter().take(6).map(|w| w.as_str()).collect();
    assert!(wrong.is_empty(), "{} wrong results\n{}", wrong.len(), shown.join("\n\n"));
    // a test that rewrites nothing proves nothing
    let few = std::env::var_os("WARPWRIGHT_RULES_SYSTEMS").is_some();
    assert!(
        few || (applied > count && ran > count / 2),
        "too little was judged: {applied} results, {ran} run"
    );
}
