//! Linear constraints without some of their variables: what follows for the others (Fourier and Motzkin).

use crate::algebra::poly::{Constraint, Poly, Var};
use crate::limits::nest_paths_cases::MAX_LINES;

/// What follows for the wanted variables.
pub(crate) fn project(facts: &[Constraint], wanted: impl Fn(Var) -> bool) -> Vec<Constraint> {
    let mut lines: Vec<Constraint> = facts.iter().filter(|k| k.poly.is_linear()).cloned().collect();
    for _ in 0..200 {
        let Some(v) = lines.iter().flat_map(|k| k.poly.vars()).find(|v| !wanted(*v)) else { break };
        let solved = lines.iter().position(|k| k.equality && k.poly.coefficient(v).abs() == 1);
        if let Some(at) = solved {
            let by = lines.swap_remove(at);
            let c = by.poly.coefficient(v);
            lines = lines
                .into_iter()
                .filter_map(|k| {
                    if k.poly.coefficient(v) == 0 {
                        return Some(k);
                    }
                    let poly = k.poly.add_scaled(&by.poly, -k.poly.coefficient(v) * c)?;
                    Some(Constraint { poly, equality: k.equality })
                })
                .collect();
            continue;
        }
        let (with, mut rest): (Vec<_>, Vec<_>) = lines.into_iter().partition(|k| k.poly.coefficient(v) != 0);
        let mut bounds: Vec<Poly> = Vec::new();
        for k in with {
            if k.equality {
                bounds.extend(k.poly.scale(-1));
            }
            bounds.push(k.poly);
        }
        let (up, down): (Vec<_>, Vec<_>) = bounds.into_iter().partition(|p| p.coefficient(v) > 0);
        // Where there would be too many, less is said.
        if up.len() * down.len() + rest.len() <= MAX_LINES {
            for a in &up {
                for b in &down {
                    let (x, y) = (a.coefficient(v), -b.coefficient(v));
                    let sum = a.scale(y).and_then(|a| a.add_scaled(b, x));
                    if let Some(p) = sum.filter(|p| p.vars().next().is_some()) {
                        let k = Constraint::non_negative(p);
                        if !rest.contains(&k) {
                            rest.push(k);
                        }
                    }
                }
            }
        }
        lines = rest;
    }
    lines.retain(|k| k.poly.vars().next().is_some() && k.poly.vars().all(&wanted));
    lines.sort_by_cached_key(|k| format!("{k:?}"));
    lines.dedup();
    lines
}
