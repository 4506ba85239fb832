//! Makes a failing function smaller while it keeps failing.

use super::{Nest, Stmt};

/// Leaves out statements, and puts blocks' bodies in their place, as long as `fails` says so.
pub fn shrink(nest: &Nest, mut fails: impl FnMut(&Nest) -> bool) -> Nest {
    let mut best = nest.clone();
    let mut tries = 400;
    loop {
        let mut changed = false;
        let count = count(&best.body);
        for at in (0..count).rev() {
            for unwrap in [false, true] {
                if tries == 0 {
                    return best;
                }
                let mut next = best.clone();
                let mut n = at;
                if !edit(&mut next.body, &mut n, unwrap) || next == best {
                    continue;
                }
                tries -= 1;
                if fails(&next) {
                    best = next;
                    changed = true;
                    break;
                }
            }
        }
        let mut i = best.arrays.len();
        while i > 0 {
            i -= 1;
            let mut next = best.clone();
            next.arrays.remove(i);
            if tries == 0 {
                return best;
            }
            tries -= 1;
            if fails(&next) {
                best = next;
                changed = true;
            }
        }
        if !changed {
            return best;
        }
    }
}

fn count(body: &[Stmt]) -> usize {
    body.iter()
        .map(|s| match s {
            Stmt::Line(_) => 1,
            Stmt::Block { body, .. } => 1 + count(body),
        })
        .sum()
}

fn edit(body: &mut Vec<Stmt>, n: &mut usize, unwrap: bool) -> bool {
    let mut i = 0;
    while i < body.len() {
        if *n == 0 {
            match (unwrap, body.remove(i)) {
                (false, _) => return true,
                (true, Stmt::Line(_)) => return false,
                (true, Stmt::Block { body: inner, .. }) => {
                    body.splice(i..i, inner);
                    return true;
                }
            }
        }
        *n -= 1;
        if let Stmt::Block { body: inner, .. } = &mut body[i] {
            if edit(inner, n, unwrap) {
                return true;
            }
        }
        i += 1;
    }
    false
}
