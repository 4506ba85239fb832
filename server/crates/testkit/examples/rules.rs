//! How long rewriting takes: a function of 500 lines by a system of twenty rules, the best of several rounds. Read by
//! `cargo xtask metrics rules`.
#![allow(clippy::print_stdout)]

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use front::{Language, Memo, Options, Parsed};
use rewrite::rules::{apply, load, run, Ground, Limits, Others, RuleSet, RuleSystem, Site, Subject, Trust};

const LINES: usize = 500;
const ROUNDS: usize = 30;

/// Twenty rules of the kinds that pages have: quoted, with conditions, of expressions, statements and loops.
const RULES: &str = "c`$x + 0` [type($x, integer)] -> c`$x`
c`0 + $x` [type($x, integer)] -> c`$x`
c`$x - 0` [type($x, integer)] -> c`$x`
c`$x * 1` [type($x, arithmetic)] -> c`$x`
c`1 * $x` [type($x, arithmetic)] -> c`$x`
c`$x / 1` [type($x, arithmetic)] -> c`$x`
c`$x % $n` [type($x, `unsigned int`), const($n), $n > 0, ($n & ($n - 1)) == 0] -> c`$x & ($n - 1)`
c`$x / 2` [type($x, `unsigned int`)] -> c`$x >> 1`
c`$x / 4` [type($x, `unsigned int`)] -> c`$x >> 2`
c`$x / 8` [type($x, `unsigned int`)] -> c`$x >> 3`
c`pow($x, 2)` [pure($x)] -> c`$x * $x`
c`fmax($x, $x)` [pure($x)] -> c`$x`
c`sqrt($x) * sqrt($x)` [pure($x)] -> c`$x`
c`if ($x > $x) $b` [pure($x)] -> NIL
c`$x = $x + $y;` [pure($x)] -> c`$x += $y;`
c`$x = $x - $y;` [pure($x)] -> c`$x -= $y;`
c`!!$x` [type($x, int), pure($x)] -> c`$x != 0`
c`-(-$x)` [type($x, floating)] -> c`$x`
c`$x ? $y : $y` [pure($x)] -> c`$y`
c`while ($x < $x) $b` [pure($x)] -> NIL
";

fn function() -> String {
    let mut out = String::from("double pow(double, double);\ndouble sqrt(double);\nvoid f(int n, unsigned u, double *restrict a, double *restrict b) {\n    double s = 0, t = 1;\n");
    let mut k = 0;
    while out.lines().count() < LINES - 2 {
        k += 1;
        let _ = write!(
            out,
            "    for (int i = {k}; i < n; i++) {{\n        a[i + 0] = b[i] * {k}.5 + pow(t, 2) - sqrt(a[i]);\n        s = s + a[i] * b[(u + i) % 8];\n        if (i > {k} && a[i] < s)\n            t = t - b[i / 1];\n    }}\n"
        );
    }
    out + "    a[0] = s + t;\n}\n"
}

fn best(mut f: impl FnMut()) -> Duration {
    let mut best = Duration::MAX;
    for _ in 0..ROUNDS {
        let clock = Instant::now();
        f();
        best = best.min(clock.elapsed());
    }
    best
}

fn main() -> Result<(), String> {
    let page = format!("# Clock\n\nTrust: exact\n\n```rules clock BottomUp\n{RULES}```\n");
    let (page, _) = load("clock", &page);
    let system: Arc<RuleSystem> = page.systems.first().cloned().ok_or("the rules were not read")?;
    if system.rules.len() != 20 {
        return Err(format!("{} rules were read", system.rules.len()));
    }
    let (text, options) = (function(), Options::default());
    let unit = front::lower(&Parsed::parse(Language::C, text.as_str()), &options, &mut Memo::new());
    let program = analysis::Program::of(unit.items.iter().map(|i| &i.body));
    let item = unit.items.iter().position(|i| &*i.name == "f").ok_or("there is no function")?;
    let budget = base::Budget::new(u64::MAX);
    let body = &unit.items[item].body;
    let facts = analysis::analyze(body, &program, analysis::SAVE, &budget);
    let together = rewrite::rules::Together::default();
    let memo = Default::default();
    let site = Site {
        unit: &unit,
        text: &text,
        language: Language::C,
        options: &options,
        program: &program,
        item,
        facts: &facts,
        budget: &budget,
        together: &together,
        memo: &memo,
        reading: rewrite::rules::Reading::Alone,
    };
    let systems = RuleSet::default().systems;
    let start = unit.items[item].span.start;
    let ground = Ground {
        body,
        program: &program,
        facts: &facts,
        budget: &budget,
        text: &text,
        start,
        together: &together,
        others: Others::default(),
    };
    let mut applied = 0;
    let rewriting = best(|| {
        let subject = Subject::of(body, &text, start, false, false);
        let out = run(&system, &systems, &subject, &subject.root, Some(ground), Limits::default());
        applied = out.derivation.steps.len();
    });
    let mut failed = None;
    let all = best(|| {
        if let Err(no) = apply(&site, &system, &systems, &Trust::Exact, None, Limits::default()) {
            failed = Some(no.because.clone());
        }
    });
    if let Some(why) = failed {
        return Err(format!("there is no result, because {why}"));
    }
    let ms = |d: Duration| d.as_secs_f64() * 1e3;
    println!(
        "{{\"lines\":{},\"rules\":{},\"applications\":{applied},\"terms\":{},\"rewriting_ms\":{:.3},\"all_ms\":{:.3}}}",
        text.lines().count(),
        system.rules.len(),
        body.len(),
        ms(rewriting),
        ms(all)
    );
    Ok(())
}
