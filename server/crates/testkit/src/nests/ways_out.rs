//! Branches that leave a loop where a size or an index says so, put into some functions after the fact, so that all other seeds' functions
//! stay what they were.

use super::helpers::index_of;
use super::{Nest, Stmt};
use crate::rng::Rng;

pub(super) fn add_ways_out(nest: &mut Nest) {
    let mut rng = Rng::new(nest.seed ^ 0x00e5_c4be_1a7e);
    if !rng.chance(12) {
        return;
    }
    let sizes: Vec<String> = nest.sizes.iter().map(|s| s.0.clone()).collect();
    let leave = match nest.ret {
        Some(_) => "return 0;",
        None => "return;",
    };
    let mut body = std::mem::take(&mut nest.body);
    visit(&mut body, &mut Vec::new(), &mut rng, (&sizes, leave));
    nest.body = body;
}

fn visit(body: &mut [Stmt], indices: &mut Vec<String>, rng: &mut Rng, with: (&[String], &str)) {
    for s in body {
        let Stmt::Block { head, body, .. } = s else { continue };
        let index = index_of(head);
        let is_loop = index.is_some();
        indices.extend(index);
        visit(body, indices, rng, with);
        if is_loop && rng.chance(60) {
            let c = condition(indices, rng, with.0);
            // no declaration stands between, and no `else` is taken from its `if`
            let at = if rng.chance(50) { 0 } else { body.len() };
            let text = match rng.below(5) {
                0 | 1 => format!("if ({c}) break;"),
                2 => format!("if ({c}) {{ if (n > 2) break; {} }}", with.1),
                3 => format!("if (!({c})) ; else {}", with.1),
                _ => format!("if ({c}) {}", with.1),
            };
            body.insert(at, Stmt::Line(text));
        }
        if is_loop {
            indices.pop();
        }
    }
}

fn condition(indices: &[String], rng: &mut Rng, sizes: &[String]) -> String {
    let n = rng.pick(sizes).clone();
    let i = rng.pick(indices).clone();
    match rng.below(10) {
        0 => format!("{n} > {}", rng.between(1, 6)),
        1 => format!("{n} == {}", rng.between(0, 5)),
        2 => format!("{n} != {}", rng.between(0, 5)),
        3 => format!("{n} % 2"),
        4 | 5 => format!("{i} >= {n}"),
        6 => format!("{i} + {} > {n}", rng.between(0, 3)),
        7 => format!("{i} > {}", rng.between(2, 9)),
        8 => format!("{i} == {n}"),
        _ => format!("{i} >= {n} || {n} > 7"),
    }
}
