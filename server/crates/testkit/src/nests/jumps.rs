//! `goto` and more `switch`, put into some functions after the fact so that all other seeds' functions stay what they were.

use super::helpers::index_of;
use super::{Nest, Place, Stmt};
use crate::rng::Rng;

/// Puts jumps into some functions: forwards over statements, out of blocks, loops and `switch`, backwards once, and
/// sometimes into a block.
pub(super) fn add_jumps(nest: &mut Nest) {
    let mut rng = Rng::new(nest.seed ^ 0x0090_7013_beef);
    if !rng.chance(14) {
        return;
    }
    let mut jumps = Jumps { tests: vec!["n > 3".to_owned()], next: 0 };
    for a in &nest.arrays {
        if matches!(a.place, Place::Pointer { .. }) {
            jumps.tests.push(format!("{}[@] > 1", a.name));
        }
    }
    let mut body = std::mem::take(&mut nest.body);
    // No label behind the `return`: what the caller gets would not be determined.
    let last = body.pop_if(|s| matches!(s, Stmt::Line(l) if l.starts_with("return")));
    visit(&mut body, &mut Vec::new(), &mut rng, &mut jumps);
    body.extend(last);
    nest.body = body;
}

struct Jumps {
    /// Conditions; `@` stands for an index.
    tests: Vec<String>,
    next: usize,
}

impl Jumps {
    fn condition(&self, indices: &[String], rng: &mut Rng) -> String {
        let Some(i) = (!indices.is_empty()).then(|| rng.pick(indices).clone()) else {
            return self.tests[0].clone();
        };
        match rng.below(6) {
            0 => rng.pick(&self.tests).replace('@', &i),
            1 => format!("{i} & 1"),
            2 => format!("{i} == {}", rng.between(0, 3)),
            3 => format!("{i} > {}", rng.between(0, 3)),
            4 => format!("{i} % 3 == 1"),
            _ => rng.pick(&self.tests).replace('@', &i),
        }
    }
}

fn visit(body: &mut Vec<Stmt>, indices: &mut Vec<String>, rng: &mut Rng, jumps: &mut Jumps) {
    for s in body.iter_mut() {
        let Stmt::Block { head, body, .. } = s else { continue };
        let index = index_of(head);
        indices.extend(index.clone());
        visit(body, indices, rng, jumps);
        if index.is_some() {
            indices.pop();
        }
    }
    // At the top of the function there is a loop or two to leave, seldom anything else.
    if indices.is_empty() && !rng.chance(40) || body.is_empty() {
        return;
    }
    if rng.chance(25) {
        choose(body, indices, rng);
    }
    if rng.chance(55) {
        jump(body, indices, rng, jumps);
    }
}

/// Where a statement may be put: not between an `if` and its `else`.
fn places(body: &[Stmt]) -> Vec<usize> {
    let parts = |s: &Stmt| matches!(s, Stmt::Block { tail, .. } if tail.contains("else"));
    (0..=body.len()).filter(|&at| at == 0 || !parts(&body[at - 1])).collect()
}

fn jump(body: &mut Vec<Stmt>, indices: &mut Vec<String>, rng: &mut Rng, jumps: &mut Jumps) {
    jumps.next += 1;
    let label = format!("L{}", jumps.next);
    let all = places(body);
    let line = |s: String| Stmt::Line(s);
    if rng.chance(12) {
        // backwards, once at most
        let (a, b) = (*rng.pick(&all), *rng.pick(&all));
        let (from, to) = (a.max(b), a.min(b));
        let c = jumps.condition(indices, rng);
        let count = format!("bk{}", jumps.next);
        body.insert(from, line(format!("if ({count}++ < 1 && {c}) goto {label};")));
        body.insert(to, line(format!("{label}: ;")));
        // a declaration may not follow a label
        body.insert(to, line(format!("; int {count} = 0;")));
        return;
    }
    if rng.chance(8) {
        // into a block
        let blocks: Vec<usize> =
            (0..body.len()).filter(|&b| matches!(&body[b], Stmt::Block { .. })).collect();
        if !blocks.is_empty() {
            let b = *rng.pick(&blocks);
            let before: Vec<usize> = all.iter().copied().filter(|&at| at <= b).collect();
            let Stmt::Block { body: inner, .. } = &mut body[b] else { return };
            let at = *rng.pick(&places(inner));
            inner.insert(at, line(format!("{label}: ;")));
            let c = jumps.condition(indices, rng);
            body.insert(*rng.pick(&before), line(format!("if ({c}) goto {label};")));
            return;
        }
    }
    let to = *rng.pick(&all);
    body.insert(to, line(format!("{label}: ;")));
    let blocks: Vec<usize> = (0..to).filter(|&b| matches!(&body[b], Stmt::Block { .. })).collect();
    if !blocks.is_empty() && rng.chance(65) {
        let b = *rng.pick(&blocks);
        leave(&mut body[b], indices, rng, jumps, &label);
        return;
    }
    let before: Vec<usize> = places(body).into_iter().filter(|&at| at <= to).collect();
    let c = jumps.condition(indices, rng);
    body.insert(*rng.pick(&before), line(format!("if ({c}) goto {label};")));
}

/// Puts a jump to `label` somewhere into a block.
fn leave(s: &mut Stmt, indices: &mut Vec<String>, rng: &mut Rng, jumps: &Jumps, label: &str) {
    let Stmt::Block { head, body, .. } = s else { return };
    let index = index_of(head);
    indices.extend(index.clone());
    let deeper: Vec<usize> = (0..body.len()).filter(|&b| matches!(&body[b], Stmt::Block { .. })).collect();
    if !deeper.is_empty() && rng.chance(60) {
        let b = *rng.pick(&deeper);
        leave(&mut body[b], indices, rng, jumps, label);
    } else {
        let c = jumps.condition(indices, rng);
        let at = *rng.pick(&places(body));
        body.insert(at, Stmt::Line(format!("if ({c}) goto {label};")));
    }
    if index.is_some() {
        indices.pop();
    }
}

/// Puts two neighbouring runs of statements under a `switch`.
fn choose(body: &mut Vec<Stmt>, indices: &[String], rng: &mut Rng) {
    let Some(i) = (!indices.is_empty()).then(|| rng.pick(indices).clone()) else { return };
    let all = places(body);
    let (a, b, c) = (*rng.pick(&all), *rng.pick(&all), *rng.pick(&all));
    let (from, to) = (a.min(b).min(c), a.max(b).max(c));
    let middle = a.max(b).min(a.min(b).max(c));
    // What is declared there may be used after it, and a `case` is its own switch's.
    let stays = |s: &Stmt| match s {
        Stmt::Line(l) => declaration(l) || l.starts_with("case") || l.starts_with("default"),
        Stmt::Block { .. } => false,
    };
    if from == to || body[from..to].iter().any(stays) {
        return;
    }
    let second: Vec<Stmt> = body.drain(middle..to).collect();
    let first: Vec<Stmt> = body.drain(from..middle).collect();
    let block = |body| Stmt::Block { head: String::new(), body, tail: String::new() };
    let line = |s: &str| Stmt::Line(s.to_owned());
    let mut inner = vec![line("case 0:"), block(first)];
    if rng.chance(50) {
        inner.push(line("break;"));
    }
    if rng.chance(40) {
        inner.push(line("case 2:"));
    }
    inner.push(line(if rng.chance(50) { "default:" } else { "case 1:" }));
    inner.push(block(second));
    if rng.chance(30) {
        inner.push(line("break;"));
    }
    let on = format!("(int){i} {} 3", rng.pick(&["%", "&"]));
    body.insert(from, Stmt::Block { head: format!("switch ({on})"), body: inner, tail: String::new() });
}

fn declaration(line: &str) -> bool {
    let first = line.trim_start_matches("; ").split([' ', '*']).next().unwrap_or_default();
    matches!(
        first,
        "int" | "unsigned" | "short" | "long" | "size_t" | "float" | "double" | "const" | "struct"
    )
}
