//! Calls of small functions, put into loops after the fact so that a seed's own function stays what it was.

use super::{Nest, Place, Stmt, Ty};
use crate::rng::Rng;

/// A function of the file that `f` calls, or a variable that such functions share.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Helper {
    pub name: String,
    pub text: String,
}

/// Puts calls into some loops.
pub(super) fn add_helpers(nest: &mut Nest) {
    let mut rng = Rng::new(nest.seed ^ 0x0048_e19e_5e11);
    if !rng.chance(30) {
        return;
    }
    let pointers: Vec<(String, Ty)> = nest
        .arrays
        .iter()
        .filter(|a| matches!(a.place, Place::Pointer { .. }) && !a.subscripts)
        .map(|a| (a.name.clone(), a.ty))
        .collect();
    if pointers.is_empty() {
        return;
    }
    let mut used = Vec::new();
    let mut body = std::mem::take(&mut nest.body);
    let mut indices = Vec::new();
    visit(&mut body, &mut indices, &mut rng, &pointers, &mut used);
    nest.body = body;
    nest.helpers = used;
}

fn visit(
    body: &mut [Stmt],
    indices: &mut Vec<String>,
    rng: &mut Rng,
    pointers: &[(String, Ty)],
    used: &mut Vec<Helper>,
) {
    for s in body {
        let Stmt::Block { head, body, .. } = s else { continue };
        let index = index_of(head);
        indices.extend(index.clone());
        visit(body, indices, rng, pointers, used);
        if index.is_some() && rng.chance(60) {
            let lines = call(indices, rng, pointers, used);
            let at = if rng.chance(50) { 0 } else { body.len() };
            body.splice(at..at, lines);
        }
        if index.is_some() {
            indices.pop();
        }
    }
}

/// The variable that `for (int i = …` or `for (i = …` counts with.
pub(super) fn index_of(head: &str) -> Option<String> {
    let inner = head.strip_prefix("for (")?;
    let (left, _) = inner.split_once('=')?;
    let name = left.split_whitespace().last()?;
    name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_').then(|| name.to_owned())
}

fn call(indices: &[String], rng: &mut Rng, pointers: &[(String, Ty)], used: &mut Vec<Helper>) -> Vec<Stmt> {
    let (a, ty) = rng.pick(pointers).clone();
    let same: Vec<&(String, Ty)> = pointers.iter().filter(|p| p.1 == ty).collect();
    let b = rng.pick(&same).0.clone();
    let i = rng.pick(indices).clone();
    let j = rng.pick(indices).clone();
    let sub = |rng: &mut Rng, i: &str| match rng.below(7) {
        0 => format!("{i} + 1"),
        1 => format!("2 * {i}"),
        2 => rng.between(0, 3).to_string(),
        3 => format!("{i} - 1"),
        _ => i.to_owned(),
    };
    let (s, r) = (sub(rng, &i), sub(rng, &j));
    let value = match rng.below(3) {
        0 => "1".to_owned(),
        1 => i.clone(),
        _ => format!("{b}[{r}]"),
    };
    let t = ty.c();
    let mut need = |name: &str, text: String| -> String {
        let name = format!("{name}_{t}");
        let text = text.replace('@', &name).replace('T', t);
        if !used.iter().any(|h| h.name == name) {
            used.push(Helper { name: name.clone(), text });
        }
        name
    };
    let line = |s: String| vec![Stmt::Line(s)];
    match rng.below(13) {
        0 | 1 => {
            let f = need("put", "static void @(T *p, int k, T v) { p[k] = v; }".into());
            line(format!("{f}({a}, {s}, {value});"))
        }
        2 => {
            let f = need("pair", "static T @(const T *p, int k) { return p[k] + p[k + 1]; }".into());
            line(format!("{a}[{s}] = {f}({b}, {r});"))
        }
        3 => {
            let f =
                need("fill", "static void @(T *p, int n) { for (int k = 0; k < n; k++) p[k] = k; }".into());
            line(format!("{f}({a} + {s}, {});", rng.between(1, 3)))
        }
        4 => {
            let f = need("half", "static void @(T v, T *r) { *r = v / 2; }".into());
            vec![Stmt::Block {
                head: String::new(),
                body: vec![
                    Stmt::Line(format!("{t} h;")),
                    Stmt::Line(format!("{f}({value}, &h);")),
                    Stmt::Line(format!("{a}[{s}] = h;")),
                ],
                tail: String::new(),
            }]
        }
        5 => {
            let text = "static int @(int x, int lo, int hi) { if (x < lo) return lo; if (x > hi) return hi; return x; }";
            let f = need("clamp", text.into());
            line(format!("{a}[{f}({s}, {}, {})] = {value};", rng.between(0, 2), rng.between(3, 9)))
        }
        6 => {
            let text = "static int @(T *p, int n) { if (n < 0) return 0; p[n] = n; return @(p, n - 1) + 1; }";
            let f = need("down", text.into());
            line(format!("{f}({a}, {});", rng.between(0, 2)))
        }
        7 => {
            let text = "static T @_last;\nstatic T @(T v) { T r = @_last; @_last = v; return r; }";
            let f = need("previous", text.into());
            line(format!("{a}[{s}] = {f}({value});"))
        }
        8 => {
            let text =
                "static void @(T *p, int n) { while (n > 0) { n--; if (p[n] > 2) return; p[n] = 3; } }";
            let f = need("seek", text.into());
            line(format!("{f}({a} + {s}, 2);"))
        }
        9 => {
            let f = need("swap", "static void @(T *x, T *y) { T t = *x; *x = *y; *y = t; }".into());
            line(format!("{f}(&{a}[{s}], &{b}[{r}]);"))
        }
        10 => {
            let f = need("next", "static int @(int k) { return k + 1; }".into());
            line(format!("{a}[{f}({s})] = {b}[{f}({f}({r}))];"))
        }
        11 => {
            let text = "static T *@_at(T *p, int k) { return p + k; }\nstatic void @(T *p, int k, T v) { *@_at(p, k) += v; }";
            let f = need("add", text.into());
            line(format!("{f}({a}, {s}, {value});"))
        }
        _ => {
            let text = "static T @(const T *p, int n) { T s = 0; for (int k = 0; k < n; k++) { if (p[k] > 3) return s; s += p[k]; } return s; }";
            let f = need("until", text.into());
            line(format!("{a}[{s}] = {f}({b} + {r}, 2);"))
        }
    }
}
