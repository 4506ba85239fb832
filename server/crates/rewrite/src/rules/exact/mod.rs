//! Whether a rule is what its page says: exact, or a regrouping of floating-point operations.
//!
//! Both sides become values over the rule's variables, for every choice of types that its condition allows (`cases`, `lower`). The
//! result must do what the program does, compute the same bits, and bring nothing undefined; whether some values break that is
//! asked first of a list of awkward values (`witness`), which gives counter-examples, then of a decision procedure (`smt`), which
//! proves that there are none. What cannot be said so (loops that move, kernels) is left to theorems that ask for guards
//! (`shapes`), and else undecided: undecided is not exact. Proofs of the pages that ship are recorded (`record`).
//! Deliberately absent: the decision procedure itself, which the shell runs in a process of its own.

mod arith;
mod cases;
mod eval;
mod graph;
mod lower;
mod record;
mod roles;
mod shapes;
mod smt;
mod witness;

use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) use arith::ROW;
pub use record::{covered, hash, recorded};
pub(super) use shapes::keeps_order;

use self::cases::Case;
use self::graph::Id;
use self::lower::{Known, Lower, Side, Ty, World};
use super::page::{Rule, RulePage, Trust};
use super::pattern::Pattern;
use crate::limits::rules_exact::CHOICES;

/// Answers questions in SMT-LIB 2: what the solver prints, or why there is no answer (a sentence with what to do).
pub trait Prover {
    fn ask(&self, script: &str) -> Result<String, String>;
}

/// What is known of a rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Judgement {
    Proved,
    /// A counter-example, words that follow "the rule is not exact: ".
    Wrong(String),
    /// Why nothing is proved, words that follow "it is not proved that the rule is exact: ".
    Undecided(String),
}

/// A rule of a page that is not what the page says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Doubt {
    pub system: Arc<str>,
    pub rule: Arc<str>,
    /// In the page.
    pub place: base::Span,
    pub judgement: Judgement,
}

impl Doubt {
    /// A phrase.
    pub fn words(&self) -> String {
        match &self.judgement {
            Judgement::Proved => format!("rule {} of `{}` is proved", self.rule, self.system),
            Judgement::Wrong(why) => format!("rule {} of `{}` is not: {why}", self.rule, self.system),
            Judgement::Undecided(why) => {
                format!("it is not proved of rule {} of `{}`: {why}", self.rule, self.system)
            }
        }
    }
}

/// Whether this is a claim that is proved: a page that assumes something is right or wrong by that.
pub fn claims(trust: Option<&Trust>) -> bool {
    matches!(trust, Some(Trust::Exact | Trust::Reassociates))
}

/// The rules of a page for which its claim is not proved; none, if it claims nothing.
pub fn doubts(page: &RulePage, prover: Option<&dyn Prover>) -> Vec<Doubt> {
    let mut out = Vec::new();
    if !claims(page.trust.as_ref()) {
        return out;
    }
    let regroup = page.trust.as_ref().is_some_and(Trust::regroups);
    for s in &page.systems {
        for r in &s.rules {
            let judgement = judge(r, regroup, prover);
            if judgement != Judgement::Proved {
                let (system, rule) = (s.name.clone(), r.name.clone());
                out.push(Doubt { system, rule, place: r.place, judgement });
            }
        }
    }
    out
}

/// Judges one rule.
pub fn judge(rule: &Rule, regroup: bool, prover: Option<&dyn Prover>) -> Judgement {
    if let Some(done) = shapes::judge(rule, regroup, prover) {
        return done;
    }
    if !rule.actions.is_empty() {
        return Judgement::Undecided("what its actions do is not followed".to_owned());
    }
    let cases = match cases::cases(rule.guard.as_ref()) {
        Ok(cases) => cases,
        Err(why) => return Judgement::Undecided(why),
    };
    let statement = rule.run || roles::is_statement(&rule.source);
    between(&cases, &rule.source, &rule.destination, statement, regroup, prover)
}

/// Judges two sides in all cases.
fn between(
    cases: &[Case],
    source: &Pattern,
    destination: &Pattern,
    statement: bool,
    regroup: bool,
    prover: Option<&dyn Prover>,
) -> Judgement {
    for case in cases {
        let mut case = case.clone();
        roles::tests(source, &mut case);
        case.settle_loop(source);
        let mut keys = roles::Keys::default();
        for side in [source, destination] {
            if let Err(why) = keys.of(side, statement) {
                return Judgement::Undecided(why);
            }
        }
        // what the result declares for itself has the type it says
        keys.values.retain(|k, _| !case.fresh.iter().any(|f| *k == format!("${f}")));
        let done = choices(&case, &keys, source, destination, statement, regroup, prover);
        match done {
            Judgement::Proved => {}
            // a guard that was not used may keep the counter-example away
            Judgement::Wrong(why) if case.more => {
                return Judgement::Undecided(format!("{why}, unless its condition keeps that away"))
            }
            other => return other,
        }
    }
    Judgement::Proved
}

fn choices(
    case: &Case,
    keys: &roles::Keys,
    source: &Pattern,
    destination: &Pattern,
    statement: bool,
    regroup: bool,
    prover: Option<&dyn Prover>,
) -> Judgement {
    let names: Vec<&String> = keys.values.keys().collect();
    let every = |k: &str| keys.values[k] || case.named.values().any(|n| n == k);
    let allowed: Vec<Vec<Ty>> = names.iter().map(|k| case.allowed(k, every(k))).collect();
    if allowed.iter().map(Vec::len).product::<usize>() > CHOICES {
        return Judgement::Undecided(
            "its variables may have too many types; ask for some of them, as in `type($x,integer)`"
                .to_owned(),
        );
    }
    let mut undecided = None;
    let mut asked: Vec<(String, Judgement)> = Vec::new();
    let mut at = vec![0; names.len()];
    if allowed.iter().any(Vec::is_empty) {
        return Judgement::Undecided(
            "its condition asks for types of which nothing is decided: numbers are integers, `float` and `double`"
                .to_owned(),
        );
    }
    loop {
        let types: BTreeMap<String, Ty> =
            names.iter().zip(&at).zip(&allowed).map(|((n, k), a)| ((*n).clone(), a[*k])).collect();
        // what is undecided once is undecided; but a counter-example tells more
        let asks = prover.filter(|_| undecided.is_none());
        match choice(case, &types, source, destination, statement, regroup, asks, &mut asked) {
            Judgement::Proved => {}
            Judgement::Undecided(why) => undecided = undecided.or(Some(why)),
            wrong => return wrong,
        }
        let mut k = 0;
        loop {
            if k == at.len() {
                return undecided.map_or(Judgement::Proved, Judgement::Undecided);
            }
            at[k] += 1;
            if at[k] < allowed[k].len() {
                break;
            }
            at[k] = 0;
            k += 1;
        }
    }
}

#[allow(clippy::too_many_arguments)]
fn choice(
    case: &Case,
    types: &BTreeMap<String, Ty>,
    source: &Pattern,
    destination: &Pattern,
    statement: bool,
    regroup: bool,
    prover: Option<&dyn Prover>,
    asked: &mut Vec<(String, Judgement)>,
) -> Judgement {
    let known = Known { types, case };
    let mut w = World::new(regroup);
    for p in &case.assoc {
        let bits = matches!(p, Pattern::Term(term::Op::Binary(o), _)
            if matches!(o, term::BinOp::BitAnd | term::BinOp::BitOr | term::BinOp::BitXor));
        match Lower::new(&mut World::new(false), &known, false).value(p) {
            Ok(v) => match v.ty {
                Ty::Int(k) if bits || !k.signed() => {}
                // what a variable stands for may combine bits
                Ty::Int(_) if matches!(p, Pattern::Variable { .. }) => {}
                _ => return Judgement::Proved,
            },
            Err(_) => return Judgement::Undecided(format!("nothing is decided of `assoc({})`", p.text())),
        }
    }
    let mut sides = Vec::new();
    for (p, result) in [(source, false), (destination, true)] {
        let mut l = Lower::new(&mut w, &known, result);
        let done = match statement {
            true => l.statement(p),
            false => l.value(p).map(|v| l.side.value = Some(v)),
        };
        let side = l.side;
        // an operation that these types do not have: the source matches nothing then
        match done {
            Ok(()) => sides.push(side),
            Err(why) if !result && is_no_program(&why) => return Judgement::Proved,
            Err(why) => return Judgement::Undecided(why),
        }
    }
    let (Some(result), Some(program)) = (sides.pop(), sides.pop()) else {
        return Judgement::Undecided("it has no sides".to_owned());
    };
    let mut bad = match differ(&mut w, &program, &result, types) {
        Ok(bad) => bad,
        Err(wrong) => return wrong,
    };
    let facts = facts(case, types, &mut w);
    bad = w.g.and(bad, facts);
    if w.g.constant(bad) == Some(0) {
        return Judgement::Proved;
    }
    let found = witness::search(&w, bad);
    if let Some(inputs) = found {
        return Judgement::Wrong(witness::words(&w, &inputs, &program, &result));
    }
    let script = smt::script(&w.g, bad);
    if let Some((_, known)) = asked.iter().find(|a| a.0 == script) {
        return known.clone();
    }
    let done = decided(&w, bad, &script, &program, &result, prover);
    asked.push((script, done.clone()));
    done
}

fn is_no_program(why: &str) -> bool {
    why.starts_with("floating numbers") || why.starts_with("bits of a floating")
}

fn facts(case: &Case, types: &BTreeMap<String, Ty>, w: &mut World) -> Id {
    let mut symbols = BTreeMap::new();
    for (key, ty) in types {
        if case.effects.get(key) == Some(&lower::Effect::Constant) {
            symbols.insert(key.clone(), (w.symbol(key, *ty, 0), *ty));
        }
    }
    let mut of = |_: &mut graph::Graph, key: &str| symbols.get(key).copied();
    case.facts(&mut w.g, &mut of)
}

fn decided(
    w: &World,
    bad: Id,
    script: &str,
    program: &Side,
    result: &Side,
    prover: Option<&dyn Prover>,
) -> Judgement {
    let Some(prover) = prover else {
        return Judgement::Undecided(
            "no counter-example is known, and without Z3 none is proved impossible. Install it (Debian and Ubuntu: \
             the package libz3-4; macOS: brew install z3), or name its library in WARPWRIGHT_Z3"
                .to_owned(),
        );
    };
    match prover.ask(script) {
        Err(why) => Judgement::Undecided(format!(
            "no counter-example is known, and the decision procedure gave no answer: {}",
            why.trim_end_matches('.')
        )),
        Ok(text) => match smt::read(&text) {
            smt::Said::Never => Judgement::Proved,
            smt::Said::For(values) => {
                let mut inputs = vec![0u128; w.inputs.len()];
                for (k, v) in values {
                    if let Some(place) = inputs.get_mut(k as usize) {
                        *place = v;
                    }
                }
                match witness::breaks(w, bad, &inputs) {
                    Some(true) => Judgement::Wrong(witness::words(w, &inputs, program, result)),
                    _ => Judgement::Undecided(
                        "nothing is known of a function that it calls but that equal arguments give equal results"
                            .to_owned(),
                    ),
                }
            }
            smt::Said::Nothing => Judgement::Undecided(
                "no counter-example is known, and the decision procedure found no proof within its limits; ask for \
                 narrower types in the condition, or make the rule smaller"
                    .to_owned(),
            ),
        },
    }
}

/// When both sides differ. `Err`: they always may.
fn differ(
    w: &mut World,
    program: &Side,
    result: &Side,
    types: &BTreeMap<String, Ty>,
) -> Result<Id, Judgement> {
    for k in 0..program.events.len().max(result.events.len()) {
        let name = |s: &Side| s.events.get(k).map(|e| (e.what.clone(), e.values.len()));
        if name(program) != name(result) {
            return Err(Judgement::Wrong(witness::mismatch(program, result, k)));
        }
    }
    let mut bad = w.g.truth(false);
    // what is undefined in the program by then need not be looked at
    let before = |w: &mut World, at: usize, scope: &[u32]| {
        let mut all = w.g.truth(false);
        for u in program.undefined.iter().filter(|u| u.at <= at && scope.starts_with(&u.scope)) {
            all = w.g.or(all, u.when);
        }
        w.g.not(all)
    };
    for u in &result.undefined {
        let mut alike = program.undefined.iter().filter(|l| l.when == u.when && l.at <= u.at);
        if alike.any(|l| u.scope.starts_with(&l.scope)) {
            continue;
        }
        let open = before(w, u.at, &u.scope);
        let one = w.g.and(u.when, open);
        bad = w.g.or(bad, one);
    }
    for (k, (a, b)) in program.events.iter().zip(&result.events).enumerate() {
        let open = before(w, k, &a.scope);
        let same = w.g.equal(a.path, b.path);
        let mut one = w.g.not(same);
        for (x, y) in a.values.iter().zip(&b.values) {
            if w.g.sort(*x) != w.g.sort(*y) {
                return Err(Judgement::Wrong(format!("another type is {}", a.what)));
            }
            let same = w.g.equal(*x, *y);
            let not = w.g.not(same);
            let here = w.g.and(a.path, not);
            one = w.g.or(one, here);
        }
        let one = w.g.and(one, open);
        bad = w.g.or(bad, one);
    }
    for r in &result.reads {
        let open = before(w, r.at, &r.scope);
        let mut licensed = w.g.truth(false);
        for l in program
            .reads
            .iter()
            .filter(|l| l.symbol == r.symbol && l.at <= r.at && r.scope.starts_with(&l.scope))
        {
            licensed = w.g.or(licensed, l.path);
        }
        let not = w.g.not(licensed);
        let mut one = w.g.and(r.path, not);
        one = w.g.and(one, open);
        bad = w.g.or(bad, one);
    }
    if let (Some(a), Some(b)) = (program.value, result.value) {
        let (ta, tb) = (a.ty.promoted(), b.ty.promoted());
        if !ta.like(tb) {
            return Err(Judgement::Wrong(format!(
                "the result has the type `{}` instead of `{}`{}",
                tb.name(),
                ta.name(),
                witness::types(types)
            )));
        }
        let end = program.events.len();
        let open = before(w, end, &[]);
        let convert = |w: &mut World, v: lower::Val, to: Ty| {
            let none = Case::default();
            let none = Known { types, case: &none };
            Lower::new(w, &none, false).convert(v, to).id
        };
        let (x, y) = (convert(w, a, ta), convert(w, b, ta));
        let same = w.g.equal(x, y);
        let not = w.g.not(same);
        let one = w.g.and(not, open);
        bad = w.g.or(bad, one);
    }
    Ok(bad)
}
