//! Theorems about loops: shapes of rules that are right whenever their guards are proved.
//!
//! * Two loops, one directly in the other, swapped: `permutable` proves the order and that bounds may be evaluated earlier.
//! * A loop run backwards: `independent`, constant bounds, and the same iterations by arithmetic.
//! * A parameter `const … *__restrict__`: `onlyread` and `unwritten` are what the words promise.
//! * A loop unrolled: `straight`, `unwritten`, constant bounds and a count that the factor divides.
//!
//! Each result but the last, which keeps every order, is held against the dependence graph at its place besides
//! (`schedule`). Deliberately absent: what can be said of
//! values alone (`lower`).

use std::sync::Arc;

use term::{BinOp, IntKind, Op};

use super::super::action::Action;
use super::super::guard::Guard;
use super::super::page::Rule;
use super::super::pattern::{Literal, Pattern};
use super::cases::Case;
use super::{cases, Judgement, Prover};

/// The judgement of a rule that has one of the shapes. `None`: it has none.
pub(super) fn judge(rule: &Rule, regroup: bool, prover: Option<&dyn Prover>) -> Option<Judgement> {
    if qualified(rule) {
        return Some(Judgement::Proved);
    }
    if let Some(unrolled) = unrolled(rule) {
        return Some(unrolled.map_or_else(Judgement::Undecided, |()| Judgement::Proved));
    }
    let (from, to) = (Counted::of(&rule.source)?, Counted::of(&rule.destination)?);
    if !rule.actions.is_empty() {
        return None;
    }
    let cases = cases::cases(rule.guard.as_ref()).ok()?;
    if let (Some(inner), Some(outer)) = (from.only(), to.only()) {
        if from.header == outer.header
            && inner.header == to.header
            && inner.body == outer.body
            && from.index != inner.index
        {
            let proved = every(
                &cases,
                |g| matches!(g, Guard::Permutable(a, b) if *a == variable(&from.index) && *b == variable(&inner.index)),
            );
            return Some(match proved {
                true => Judgement::Proved,
                false => Judgement::Undecided(format!(
                    "nothing says that the loops may be swapped; ask `permutable(${},${})`",
                    from.index, inner.index
                )),
            });
        }
    }
    if from.index == to.index && from.body == to.body && (from.up, to.up) == (true, false) {
        let index = variable(&from.index);
        if !every(&cases, |g| matches!(g, Guard::Independent(a) if *a == index)) {
            return Some(Judgement::Undecided(format!(
                "nothing says that the iterations may run in another order; ask `independent(${})`",
                from.index
            )));
        }
        let constant = |p: &Pattern| {
            matches!(p, Pattern::Literal(Literal::Int(..)))
                || every(&cases, |g| matches!(g, Guard::Const(a) if a == p))
        };
        if !constant(&from.first) || !constant(&from.bound) {
            return Some(Judgement::Undecided(
                "counting the other way may leave the range of the index; ask `const(…)` of both bounds"
                    .to_owned(),
            ));
        }
        // [first, last] on both sides
        let (first, last) = from.range();
        let (low, high) = to.range();
        for (a, b) in [(&first, &low), (&last, &high)] {
            if a == b {
                continue;
            }
            match super::between(&cases, a, b, false, regroup, prover) {
                Judgement::Proved => {}
                Judgement::Wrong(_) => {
                    return Some(Judgement::Wrong(format!(
                        "the program's loop runs from `{}` to `{}`, the result's from `{}` to `{}`",
                        first.text(),
                        last.text(),
                        low.text(),
                        high.text()
                    )))
                }
                other => return Some(other),
            }
        }
        return Some(Judgement::Proved);
    }
    None
}

/// Whether a rule has a shape of which guards alone speak.
pub(super) fn is_one(rule: &Rule) -> bool {
    qualified(rule)
        || unrolled(rule).is_some()
        || match (Counted::of(&rule.source), Counted::of(&rule.destination)) {
            (Some(a), Some(b)) => {
                let swapped = a
                    .only()
                    .zip(b.only())
                    .is_some_and(|(i, o)| a.header == o.header && i.header == b.header && a.index != i.index);
                swapped || (a.index == b.index && a.up != b.up)
            }
            _ => false,
        }
}

/// Whether it is proved, without asking anybody, that the result of a rule does the same things in the program's order, so that
/// no dependence is asked.
pub fn keeps_order(rule: &Rule) -> bool {
    match unrolled(rule) {
        Some(done) => done.is_ok(),
        None => !is_one(rule) && super::judge(rule, false, None) == Judgement::Proved,
    }
}

/// `for (int $i = first; $i < bound; $i += k) { $b $next … }` of `for (int $i = first; $i < bound; $i++) $b`, where actions make
/// `$next` of `$b` with `$i + 1`, and so on. `None`: it is something else. `Err`: what its condition does not say.
fn unrolled(rule: &Rule) -> Option<Result<(), String>> {
    let from = Counted::of(&rule.source)?;
    let Pattern::Term(Op::For, parts) = &rule.destination else { return None };
    let [init, condition, step, Pattern::Term(Op::List, bodies)] = parts.as_slice() else { return None };
    let i = variable(&from.index);
    let Pattern::Term(Op::Compound(BinOp::Add), moved) = step else { return None };
    let [place, Pattern::Literal(Literal::Int(factor, None))] = moved.as_slice() else { return None };
    if *init != from.header[0]
        || *condition != from.header[1]
        || *place != i
        || !from.up
        || rule.actions.is_empty()
    {
        return None;
    }
    if from.relation != BinOp::Lt || !matches!(from.body, Pattern::Variable { .. }) {
        return None;
    }
    let whole = bodies.len() as i128 == *factor && *factor > 1 && bodies.first() == Some(&from.body);
    let copies = bodies.iter().enumerate().skip(1).all(|(k, b)| {
        let number = Pattern::Literal(Literal::Int(k as i128, None));
        let then = Pattern::Term(Op::Binary(BinOp::Add), vec![i.clone(), number]);
        rule.actions.iter().any(|a| match a {
            Action::Replace { of, old, new, result } => {
                *of == from.body && *old == i && *new == then && *b == variable(result)
            }
            _ => false,
        })
    });
    if !whole || !copies || rule.actions.len() + 1 != bodies.len() {
        return Some(Err(format!("the copies of the body are not those for `{0}`, `{0} + 1`, …", i.text())));
    }
    let Ok(cases) = cases::cases(rule.guard.as_ref()) else { return None };
    let constant = |p: &Pattern| {
        matches!(p, Pattern::Literal(Literal::Int(..)))
            || every(&cases, |g| matches!(g, Guard::Const(a) if a == p))
    };
    let zero = Pattern::Literal(Literal::Int(0, None));
    let count = match from.first == zero {
        true => from.bound.clone(),
        false => Pattern::Term(Op::Binary(BinOp::Sub), vec![from.bound.clone(), from.first.clone()]),
    };
    let rest =
        Pattern::Term(Op::Binary(BinOp::Rem), vec![count, Pattern::Literal(Literal::Int(*factor, None))]);
    let asks: [(bool, String); 4] = [
        (constant(&from.first) && constant(&from.bound), "`const(…)` of its bounds".to_owned()),
        (
            every(&cases, |g| matches!(g, Guard::Compare(BinOp::Eq, a, b) if *a == rest && *b == zero)),
            format!("`({}) == 0`", rest.text()),
        ),
        (
            every(&cases, |g| matches!(g, Guard::Straight(s) if *s == from.body)),
            format!("`straight({})`", from.body.text()),
        ),
        (
            every(&cases, |g| matches!(g, Guard::Unwritten(a, s) if *a == i && *s == from.body)),
            format!("`unwritten({},{})`", i.text(), from.body.text()),
        ),
    ];
    Some(match asks.into_iter().find(|(asked, _)| !asked) {
        None => Ok(()),
        Some((_, what)) => Err(format!("an unrolled loop needs {what} in its condition")),
    })
}

fn variable(name: &Arc<str>) -> Pattern {
    Pattern::variable(name)
}
fn every(cases: &[Case], holds: impl Fn(&Guard) -> bool) -> bool {
    !cases.is_empty() && cases.iter().all(|c| c.guards.iter().any(&holds))
}

/// `Function(m,t,k,all,body)` with one of `all` read only and written by nobody.
fn qualified(rule: &Rule) -> bool {
    let [Action::Qualify { params, name, result }] = rule.actions.as_slice() else { return false };
    let (Pattern::Term(a, from), Pattern::Term(b, to)) = (&rule.source, &rule.destination) else {
        return false;
    };
    let function = |op: &Op| matches!(op, Op::Apply(h) if &**h == "Function");
    if !function(a) || !function(b) || from.len() != 5 || to.len() != 5 {
        return false;
    }
    let same = (0..5).all(|k| if k == 3 { to[3] == variable(result) } else { from[k] == to[k] });
    let Ok(cases) = cases::cases(rule.guard.as_ref()) else { return false };
    let body = &from[4];
    same && from[3] == *params
        && every(&cases, |g| matches!(g, Guard::OnlyRead(p, s) if p == name && s == body))
        && every(&cases, |g| matches!(g, Guard::Unwritten(p, s) if p == name && s == body))
}

/// `for (int $i = first; $i < bound; $i++) body`, or the like downwards.
struct Counted {
    index: Arc<str>,
    header: [Pattern; 3],
    first: Pattern,
    relation: BinOp,
    bound: Pattern,
    up: bool,
    body: Pattern,
}

impl Counted {
    fn of(p: &Pattern) -> Option<Counted> {
        let Pattern::Term(Op::For, parts) = p else { return None };
        let [init, condition, step, body] = parts.as_slice() else { return None };
        let Pattern::Term(Op::Apply(h), declared) = init else { return None };
        let [Pattern::Variable { name: index, .. }, Pattern::Literal(Literal::Word(ty)), first] =
            declared.as_slice()
        else {
            return None;
        };
        let Pattern::Term(Op::Binary(relation), sides) = condition else { return None };
        let Pattern::Term(Op::Step { delta, .. }, moved) = step else { return None };
        let i = variable(index);
        if &**h != "DeclarationAssignment"
            || &**ty != IntKind::Int.c_name()
            || sides.first() != Some(&i)
            || moved.first() != Some(&i)
        {
            return None;
        }
        let up = *delta > 0;
        let fits = match relation {
            BinOp::Lt | BinOp::Le => up,
            BinOp::Gt | BinOp::Ge => !up,
            _ => false,
        };
        fits.then(|| Counted {
            index: index.clone(),
            header: [init.clone(), condition.clone(), step.clone()],
            first: first.clone(),
            relation: *relation,
            bound: sides[1].clone(),
            up,
            body: body.clone(),
        })
    }
    /// The loop that is all of the body.
    fn only(&self) -> Option<Counted> {
        match &self.body {
            Pattern::Term(Op::List, items) => match items.as_slice() {
                [one] => Counted::of(one),
                _ => None,
            },
            _ => None,
        }
    }
    /// Smallest and largest value of the index.
    fn range(&self) -> (Pattern, Pattern) {
        let one = || Pattern::Literal(Literal::Int(1, None));
        let moved = |op, p: &Pattern| Pattern::Term(Op::Binary(op), vec![p.clone(), one()]);
        let end = match self.relation {
            BinOp::Lt => moved(BinOp::Sub, &self.bound),
            BinOp::Gt => moved(BinOp::Add, &self.bound),
            _ => self.bound.clone(),
        };
        if self.up {
            (self.first.clone(), end)
        } else {
            (end, self.first.clone())
        }
    }
}
