//! What a system's own text shows to be wrong or doubtful: variables that nothing binds, rules that never apply, rules
//! whose order decides, rules that may go on for ever.
//!
//! Deliberately absent: proofs of termination; every run ends by its limits, so these are warnings.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use term::Op;

use super::action::Action;
use super::guard::Guard;
use super::page::{Finding, Rule, RuleSystem, Severity, Strategy};
use super::pattern::Pattern;

pub(super) fn system(s: &RuleSystem, findings: &mut Vec<Finding>) {
    for rule in &s.rules {
        unbound(rule, findings);
        let inner = match &s.strategy {
            Strategy::Together(inner) | Strategy::Planned(inner) => inner,
            other => other,
        };
        if !matches!(inner, Strategy::Once(_)) {
            endless(rule, findings);
        }
    }
    for (k, later) in s.rules.iter().enumerate() {
        for earlier in &s.rules[..k] {
            pair(earlier, later, findings);
        }
    }
}

fn warn(findings: &mut Vec<Finding>, rule: &Rule, message: String) {
    findings.push(Finding { severity: Severity::Warning, message, place: rule.place });
}

fn unbound(rule: &Rule, findings: &mut Vec<Finding>) {
    let mut bound: Vec<&Arc<str>> = Vec::new();
    rule.source.variables(&mut bound);
    let mut check = |needs: Vec<&Arc<str>>, bound: &[&Arc<str>], what: &str| {
        let mut told: Vec<&Arc<str>> = Vec::new();
        for v in needs {
            if !bound.contains(&v) && !told.contains(&v) {
                told.push(v);
                let near = super::near::nearest(v, bound.iter().map(|b| &***b));
                let now = match near {
                    Some(n) => format!("Is `${n}` meant?"),
                    None => format!("Use it in the source, or bind it with `fresh(${v})` or an action."),
                };
                findings.push(Finding {
                    severity: Severity::Error,
                    message: format!("Nothing binds `${v}` in {what} of rule {}. {now}", rule.name),
                    place: rule.place,
                });
            }
        }
    };
    if let Some(g) = &rule.guard {
        let mut needs = Vec::new();
        g.needs(&mut needs);
        let mut with = bound.clone();
        g.binds(&mut with);
        check(needs, &with, "the condition");
        bound = with;
    }
    for a in &rule.actions {
        let mut needs = Vec::new();
        a.needs(&mut needs);
        check(needs, &bound, "an action");
        bound.extend(a.binds());
    }
    let mut needs = Vec::new();
    rule.destination.variables(&mut needs);
    check(needs, &bound, "the destination");
}

/// Whether what the rule makes is matched by it again without having become smaller.
fn endless(rule: &Rule, findings: &mut Vec<Finding>) {
    // what is qualified already is not qualified again
    let stops = rule.actions.iter().any(|a| matches!(a, Action::Qualify { .. }));
    if stops || rule.guard.as_ref().is_some_and(limits) {
        return;
    }
    let mut inside = Vec::new();
    parts(&rule.destination, &mut inside);
    for d in inside {
        // a variable alone is what was there before
        if matches!(d, Pattern::Variable { .. }) || !unify(&rule.source, d) || smaller(d, &rule.source) {
            continue;
        }
        warn(
            findings,
            rule,
            format!(
                "Rule {} may go on for ever: it makes `{}`, which it matches again. Make what it matches smaller, or say \
                 in the condition when to stop.",
                rule.name,
                d.text()
            ),
        );
        return;
    }
}

/// Whether a guard can stop a recursion.
fn limits(g: &Guard) -> bool {
    match g {
        Guard::Compare(..) | Guard::Head(..) | Guard::Has(..) | Guard::Equals(..) | Guard::Box(..) => true,
        Guard::Not(g) => limits(g),
        Guard::And(gs) | Guard::Or(gs) => gs.iter().any(limits),
        _ => false,
    }
}

fn pair(earlier: &Rule, later: &Rule, findings: &mut Vec<Finding>) {
    if earlier.run != later.run {
        return;
    }
    let undo = earlier.guard.is_none()
        && later.guard.is_none()
        && subsumes(&later.source, &earlier.destination)
        && subsumes(&earlier.source, &later.destination)
        && !matches!(earlier.destination, Pattern::Variable { .. });
    if undo {
        warn(
            findings,
            later,
            format!("Rules {} and {} undo one another. Leave one out.", earlier.name, later.name),
        );
        return;
    }
    if earlier.guard.is_some() || !unify(&earlier.source, &later.source) {
        return;
    }
    if subsumes(&earlier.source, &later.source) {
        warn(
            findings,
            later,
            format!(
                "Rule {} never applies: rule {} before it matches all that it matches. Put it first, or give rule {} a \
                 condition.",
                later.name, earlier.name, earlier.name
            ),
        );
    } else if !subsumes(&later.source, &earlier.source) && later.guard.is_none() {
        warn(
            findings,
            later,
            format!(
                "Rules {} and {} match some terms both, and their order decides. If that is not meant, make the sources \
                 differ.",
                earlier.name, later.name
            ),
        );
    }
}

fn parts<'a>(p: &'a Pattern, out: &mut Vec<&'a Pattern>) {
    out.push(p);
    match p {
        Pattern::Cons(h, t) => {
            parts(h, out);
            parts(t, out);
        }
        Pattern::Term(_, args) => args.iter().for_each(|a| parts(a, out)),
        _ => {}
    }
}

fn size(p: &Pattern) -> usize {
    match p {
        Pattern::Cons(h, t) => 1 + size(h) + size(t),
        Pattern::Term(_, args) => 1 + args.iter().map(size).sum::<usize>(),
        _ => 1,
    }
}

/// Whether every instance of `d` is smaller than the instance of `s` it came from.
fn smaller(d: &Pattern, s: &Pattern) -> bool {
    let count = |p: &Pattern| {
        let mut all = Vec::new();
        p.variables(&mut all);
        let mut n: FxHashMap<Arc<str>, usize> = FxHashMap::default();
        all.into_iter().for_each(|v| *n.entry(v.clone()).or_default() += 1);
        n
    };
    let (in_d, in_s) = (count(d), count(s));
    size(d) < size(s) && in_d.iter().all(|(v, n)| in_s.get(v).is_some_and(|m| n <= m))
}

/// Whether some term is matched by both; variables of the two are different ones. An over-estimate: that one variable
/// stands for one thing is not asked.
fn unify(a: &Pattern, b: &Pattern) -> bool {
    match (a, b) {
        (Pattern::Variable { test: Some(x), .. }, Pattern::Variable { test: Some(y), .. }) => x == y,
        (Pattern::Variable { .. }, _) | (_, Pattern::Variable { .. }) => true,
        (Pattern::Literal(x), Pattern::Literal(y)) => x == y,
        (Pattern::Cons(h, t), Pattern::Cons(k, u)) => unify(h, k) && unify(t, u),
        (Pattern::Cons(h, t), Pattern::Term(Op::List, items))
        | (Pattern::Term(Op::List, items), Pattern::Cons(h, t)) => match items.split_first() {
            Some((first, rest)) => unify(h, first) && unify(t, &Pattern::Term(Op::List, rest.to_vec())),
            None => false,
        },
        (Pattern::Term(o, xs), Pattern::Term(p, ys)) => {
            o == p && xs.len() == ys.len() && xs.iter().zip(ys).all(|(x, y)| unify(x, y))
        }
        _ => false,
    }
}

/// Whether `general` matches all that `special` matches.
fn subsumes(general: &Pattern, special: &Pattern) -> bool {
    fn go<'a>(g: &'a Pattern, s: &'a Pattern, bound: &mut FxHashMap<&'a Arc<str>, &'a Pattern>) -> bool {
        match (g, s) {
            (Pattern::Variable { name, test }, s) => {
                let fits = match (test, s) {
                    (None, _) => true,
                    (Some(t), Pattern::Variable { test: Some(u), .. }) => t == u,
                    _ => false,
                };
                fits && **bound.entry(name).or_insert(s) == *s
            }
            (Pattern::Literal(x), Pattern::Literal(y)) => x == y,
            (Pattern::Cons(h, t), Pattern::Cons(k, u)) => go(h, k, bound) && go(t, u, bound),
            (Pattern::Term(o, xs), Pattern::Term(p, ys)) => {
                o == p && xs.len() == ys.len() && xs.iter().zip(ys).all(|(x, y)| go(x, y, bound))
            }
            _ => false,
        }
    }
    go(general, special, &mut FxHashMap::default())
}
