//! Counter-examples: awkward values tried, and what was found in words.
//!
//! Tried are 0, 1, -1, the limits of every type and what is beside them, the rule's own numbers and what is beside those, powers of
//! two, NaN, infinities, -0.0, the smallest and the largest numbers, and numbers that round. Deliberately absent: proofs.

use std::collections::BTreeMap;

use term::IntKind;

use super::eval;
use super::graph::{Act, Graph, Id, Sort};
use super::lower::{Side, Ty, World};
use crate::limits::rules_exact_witness::TRIED;

/// Whether an input makes it true. `None`: not known.
pub(super) fn breaks(w: &World, bad: Id, inputs: &[u128]) -> Option<bool> {
    let order = w.g.below(&[bad]);
    let mut out = Vec::new();
    eval::run(&w.g, &order, inputs, &mut out);
    out[bad.0 as usize].map(|v| v == 1)
}

/// Looks for inputs that make it true.
pub(super) fn search(w: &World, bad: Id) -> Option<Vec<u128>> {
    let order = w.g.below(&[bad]);
    let own = constants(&w.g);
    let values: Vec<Vec<u128>> = w.inputs.iter().map(|i| candidates(i.ty, &own)).collect();
    let all = values.iter().map(Vec::len).fold(1usize, usize::saturating_mul);
    let mut out = Vec::new();
    let mut try_one = |inputs: &[u128]| {
        eval::run(&w.g, &order, inputs, &mut out);
        out[bad.0 as usize] == Some(1)
    };
    if all <= TRIED {
        for n in 0..all {
            let (mut n, mut inputs) = (n, Vec::with_capacity(values.len()));
            for v in &values {
                inputs.push(v[n % v.len()]);
                n /= v.len();
            }
            if try_one(&inputs) {
                return Some(inputs);
            }
        }
        return None;
    }
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for _ in 0..TRIED {
        let inputs: Vec<u128> = values.iter().map(|v| v[(next() % v.len() as u64) as usize]).collect();
        if try_one(&inputs) {
            return Some(inputs);
        }
    }
    None
}

/// The numbers in the graph.
fn constants(g: &Graph) -> Vec<f64> {
    let mut out = Vec::new();
    for n in &g.nodes {
        let Act::Const(v) = n.act else { continue };
        let v = match n.sort {
            Sort::Bits(w) => eval::signed(v, w) as f64,
            Sort::Truth => continue,
            s => eval::number(v, s),
        };
        if v.is_finite() && !out.contains(&v) && out.len() < 24 {
            out.push(v);
        }
    }
    out
}

fn candidates(ty: Ty, own: &[f64]) -> Vec<u128> {
    let mut out: Vec<u128> = Vec::new();
    match ty {
        Ty::Int(k) => {
            let mut all: Vec<i128> =
                vec![0, 1, -1, 2, 3, -2, 4, 5, 7, -33, 100, k.max(), k.min(), k.max() - 1, k.min() + 1];
            all.extend(
                [7u32, 8, 15, 16, 31, 32, 62]
                    .iter()
                    .flat_map(|p| [1i128 << p, (1i128 << p) - 1, -(1i128 << p)]),
            );
            for c in own.iter().filter(|c| c.abs() < 1e18) {
                let c = *c as i128;
                all.extend([c, c + 1, c - 1, -c, 2 * c]);
            }
            for v in all {
                let fits = v >= k.min() && v <= k.max();
                let bits = (if fits { v } else { continue }) as u128 & eval::mask(k.bits());
                if !out.contains(&bits) {
                    out.push(bits);
                }
            }
        }
        Ty::F32 | Ty::F64 => {
            let narrow = ty == Ty::F32;
            let mut all: Vec<f64> = vec![
                0.0,
                -0.0,
                1.0,
                -1.0,
                2.0,
                0.5,
                3.0,
                0.1,
                0.3,
                -0.7,
                7.0,
                10.0,
                1.0 / 3.0,
                f64::NAN,
                f64::INFINITY,
                f64::NEG_INFINITY,
                2_147_483_648.0,
                4_294_967_296.0,
                9.3e18,
                2.5,
                -2.5,
                1e8,
                1e16,
                1e-20,
            ];
            all.extend(match narrow {
                true => [
                    f32::MAX,
                    f32::MIN,
                    f32::MIN_POSITIVE,
                    f32::from_bits(1),
                    1.0 + f32::EPSILON,
                    16_777_217.0,
                    3e38,
                ]
                .map(f64::from),
                false => [
                    f64::MAX,
                    f64::MIN,
                    f64::MIN_POSITIVE,
                    f64::from_bits(1),
                    1.0 + f64::EPSILON,
                    9_007_199_254_740_993.0,
                    1.7e308,
                ],
            });
            for c in own.iter().take(6) {
                all.extend([*c, -*c, c + 1.0, c - 1.0]);
            }
            for v in all {
                let bits = if narrow { u128::from((v as f32).to_bits()) } else { u128::from(v.to_bits()) };
                if !out.contains(&bits) {
                    out.push(bits);
                }
            }
        }
    }
    out
}

/// A value as C writes it.
fn shown(v: u128, ty: Ty) -> String {
    match ty {
        Ty::Int(IntKind::Bool) => u8::from(v != 0).to_string(),
        Ty::Int(k) if k.signed() => eval::signed(v, k.bits()).to_string(),
        Ty::Int(_) => v.to_string(),
        t => {
            let n = eval::number(v, t.sort());
            match t {
                _ if n.is_nan() => "NaN".to_owned(),
                _ if n.is_infinite() => (if n > 0.0 { "Inf" } else { "-Inf" }).to_owned(),
                Ty::F32 => format!("{:?}f", f32::from_bits(v as u32)),
                _ => format!("{n:?}"),
            }
        }
    }
}

/// ` (for $x of type int)`
pub(super) fn types(types: &BTreeMap<String, Ty>) -> String {
    let all: Vec<String> = types.iter().map(|(k, t)| format!("{k} of type {}", t.name())).collect();
    match all.is_empty() {
        true => String::new(),
        false => format!(" (for {})", all.join(", ")),
    }
}

/// What goes wrong on these inputs.
pub(super) fn words(w: &World, inputs: &[u128], program: &Side, result: &Side) -> String {
    let given: Vec<String> = w
        .inputs
        .iter()
        .zip(inputs)
        .map(|(i, v)| format!("{} = {} ({})", i.shown, shown(*v, i.ty), i.ty.name()))
        .collect();
    let given = match given.is_empty() {
        true => "always".to_owned(),
        false => format!("for {}", given.join(", ")),
    };
    let mut roots: Vec<Id> = result.undefined.iter().map(|u| u.when).collect();
    roots.extend(program.value.iter().chain(&result.value).map(|v| v.id));
    let events = program.events.iter().zip(&result.events);
    for (a, b) in events.clone() {
        roots.extend([a.path, b.path]);
        roots.extend(a.values.iter().chain(&b.values));
    }
    let mut out = Vec::new();
    eval::run(&w.g, &w.g.below(&roots), inputs, &mut out);
    let of = |id: Id| out.get(id.0 as usize).copied().flatten();
    let undefined = |s: &Side| {
        let found = s.undefined.iter().find(|u| of(u.when) == Some(1));
        found.map(|u| u.words.clone())
    };
    if let (Some(what), None) = (undefined(result), undefined(program)) {
        return format!("{given} the result {what}, and the program does not");
    }
    if let (Some(a), Some(b)) = (program.value, result.value) {
        if let (Some(x), Some(y)) = (of(a.id), of(b.id)) {
            let (x, y) = (shown(x, a.ty), shown(y, b.ty));
            if x != y {
                return format!("{given} the result is {y} instead of {x}");
            }
        }
    }
    for (a, b) in events {
        if of(a.path) != of(b.path) {
            let (who, not) =
                if of(a.path) == Some(1) { ("program", "result") } else { ("result", "program") };
            return format!(
                "{given} the {who} comes to `{}` and the {not} does not",
                a.what.trim_end_matches(" =")
            );
        }
        for (x, y) in a.values.iter().zip(&b.values) {
            if let (Some(x), Some(y)) = (of(*x), of(*y)) {
                if x != y {
                    return format!("{given} `{}` differs", a.what.trim_end_matches(" ="));
                }
            }
        }
    }
    format!("{given} the result evaluates what the program does not, or after something else was done")
}

/// Events that do not correspond.
pub(super) fn mismatch(program: &Side, result: &Side, k: usize) -> String {
    let name = |s: &Side| s.events.get(k).map(|e| e.what.clone());
    let plain = |w: &str| {
        let one = !w.contains(' ');
        let word = w.trim_end_matches(" =").trim_start_matches("place of ").to_owned();
        (word, one || w.starts_with("place of "))
    };
    let hint = |w: &str| {
        let (word, evaluates) = plain(w);
        match evaluates && word.starts_with('$') {
            true => format!("; ask `pure({word})` or `readonly({word})`, for it may have an effect"),
            false => String::new(),
        }
    };
    let does = |w: &str| match plain(w) {
        (word, true) => format!("evaluates `{word}`"),
        _ if w.ends_with(" =") => format!("sets `{}`", plain(w).0),
        _ => format!("has the {w}"),
    };
    match (name(program), name(result)) {
        (Some(a), None) => format!("the program {}, and the result does not{}", does(&a), hint(&a)),
        (None, Some(b)) => format!("the result {} once more than the program{}", does(&b), hint(&b)),
        (Some(a), Some(b)) => {
            let hint = if hint(&b).is_empty() { hint(&a) } else { hint(&b) };
            format!("the program {} where the result {}{hint}", does(&a), does(&b))
        }
        (None, None) => "both sides do other things".to_owned(),
    }
}
