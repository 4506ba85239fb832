//! Work arrays, histograms, extremes with their place and last values: forms that are reductions or private, and their
//! nearest look-alikes.

use super::expr::Gen;
use super::{Place, Stmt, Ty};

impl Gen {
    /// Variables that the patterns use.
    pub(super) fn pattern_declarations(&mut self) -> Vec<Stmt> {
        let first = self.rng.between(0, 6);
        ["int wk[6] = {1, 2, 3, 4, 5, 6};", "int bk = -1, bj = 0;", "int lw = 0, tc = 1;"]
            .iter()
            .map(|l| Stmt::Line((*l).to_owned()))
            .chain([Stmt::Line(format!("int bm = {first};"))])
            .collect()
    }

    /// What is looked at after the loops: the more, the more is live out of them.
    pub(super) fn pattern_result(&mut self) -> String {
        let parts = ["bk", "bm", "bj", "lw", "tc", "wk[0]", "wk[1]", "wk[2]", "wk[3]"];
        let chosen: Vec<&str> = parts.iter().copied().filter(|_| self.rng.chance(35)).collect();
        if chosen.is_empty() {
            "0".to_owned()
        } else {
            chosen.join(" * 3 + ")
        }
    }

    pub(super) fn pattern(&mut self) -> Vec<Stmt> {
        let line = |s: String| vec![Stmt::Line(s)];
        let (i, place) = (self.index_name(), self.place());
        let e = self.int_leaf();
        let c = self.condition();
        let one_line = |a: &super::Array| matches!(a.place, Place::Pointer { .. }) && !a.subscripts;
        let target = self.arrays.iter().find(|a| one_line(a)).cloned();
        let y = self.fresh("y");
        match (self.rng.below(17), target) {
            // histograms, and two operators or a look at the count
            (0..=2, Some(a)) => {
                let s = self.int_data();
                let cell = format!("{}[({s}) & 7]", a.name);
                let int = a.ty.is_int();
                match self.rng.below(9) {
                    0 if int => line(format!("{cell}++;")),
                    1 => line(format!("{cell} -= {e};")),
                    2 if int => line(format!("{cell} ^= {e};")),
                    3 if int && a.ty == Ty::Int => line(format!("if ({e} < {cell}) {cell} = {e};")),
                    4 => line(format!("{cell} = {e} - {cell};")),
                    5 => {
                        vec![Stmt::Line(format!("{cell} += {e};")), Stmt::Line(format!("{place} = {cell};"))]
                    }
                    6 => {
                        let t = self.int_data();
                        let other = format!("{}[({t}) & 7]", a.name);
                        vec![Stmt::Line(format!("{cell} += {e};")), Stmt::Line(format!("{other} += 2;"))]
                    }
                    7 => line(format!("{cell} = {cell} + {e};")),
                    _ => line(format!("{cell} += {e};")),
                }
            }
            // a section of cells
            (3, Some(a)) => {
                let op = *self.rng.pick(&["+=", "+=", "-=", "="]);
                vec![block(
                    format!("for (int {y} = 0; {y} < 4; {y}++)"),
                    vec![format!("{}[{y}] {op} {e};", a.name)],
                )]
            }
            // work arrays
            (4..=6, _) => {
                let high = ["4", "6", "(n & 3)", "5"][self.rng.below(4)];
                let low = self.rng.below(2);
                let (p, q) = (self.rng.below(6), self.rng.below(6));
                let fill = match self.rng.below(4) {
                    0 => format!("wk[{y}] = {e} + {y};"),
                    1 => format!("if ({c}) wk[{y}] = {e};"),
                    2 => format!("wk[{y}] = (int){i} * {y};"),
                    _ => format!("wk[{y}] = {y} > 0 ? wk[{y} - ({y} > 0)] + 1 : {e};"),
                };
                let mut out = Vec::new();
                if self.rng.chance(40) {
                    out.push(Stmt::Line(format!("wk[{p}] = {e};")));
                }
                out.push(block(format!("for (int {y} = {low}; {y} < {high}; {y}++)"), vec![fill]));
                out.push(Stmt::Line(match self.rng.below(3) {
                    0 => format!("{place} = wk[{q}] + wk[{p}];"),
                    1 => format!("{place} = wk[({e}) & 3];"),
                    _ => format!("for (int {y} = 1; {y} < 4; {y}++) {place} = wk[{y}] - wk[{y} - 1];"),
                }));
                out
            }
            // extremes with their place
            (7..=9, _) => self.extreme(&i, &e, &c, &place),
            // last values
            (10, _) => line(format!("if ({c}) lw = {e};")),
            (11, _) => line(format!("if ({c}) lw = {e}; else lw = (int){i};")),
            (12, _) => vec![Stmt::Line(format!("tc = {e};")), Stmt::Line(format!("{place} = tc;"))],
            (13, _) => {
                let d = self.condition();
                vec![Stmt::Line(format!("if ({c}) tc = {e};")), Stmt::Line(format!("if ({d}) {place} = tc;"))]
            }
            (14, _) => vec![Stmt::Line(format!("wk[{}] += {e};", self.rng.below(3)))],
            _ => self.carried_sum(&y, &e, &c, &place),
        }
    }
    /// An extreme with its place, and what may happen to them on the way.
    fn extreme(&mut self, i: &str, e: &str, c: &str, place: &str) -> Vec<Stmt> {
        let rel = *self.rng.pick(&["<", "<=", ">", ">="]);
        // in variables, or in memory that other statements use, too
        let key = *self.rng.pick(&["bm", "bm", "bm", "wk[1]"]);
        let at = *self.rng.pick(&["bk", "bk", "bk", "wk[2]"]);
        let kept = if self.rng.chance(85) { e.to_owned() } else { format!("{e} + 1") };
        let test = if self.rng.chance(50) { format!("{e} {rel} {key}") } else { format!("{key} {rel} {e}") };
        let test = if self.rng.chance(25) { format!("{c} && {test}") } else { test };
        let mut body = vec![format!("{key} = {kept};"), format!("{at} = (int){i};")];
        if self.rng.chance(40) {
            body.push(format!("bj = {e} * 2;"));
        }
        if self.rng.chance(30) {
            body.reverse();
        }
        let mut out = vec![block(format!("if ({test})"), body)];
        if self.rng.chance(15) {
            out.push(Stmt::Line(format!("{place} = {};", *self.rng.pick(&[at, key]))));
        }
        out
    }
    /// A sum that goes through a variable, and what may happen to it on the way.
    fn carried_sum(&mut self, y: &str, e: &str, c: &str, place: &str) -> Vec<Stmt> {
        let sum = *self.rng.pick(&["bj", "bj", "wk[1]", "lw"]);
        let op = *self.rng.pick(&["+", "+", "-", "^"]);
        let (declared, carrier) =
            if self.rng.chance(50) { ("int ", y.to_owned()) } else { ("", "tc".to_owned()) };
        let value = match self.rng.below(6) {
            0 => format!("{e} {op} {sum}"),
            1 => format!("{sum} > {e} ? {sum} : {e}"),
            _ => format!("{sum} {op} {e}"),
        };
        let mut body = vec![format!("{declared}{carrier} = {value};")];
        match self.rng.below(8) {
            0 => body.push(format!("{sum} += 1;")),
            1 => body.push(format!("{place} = {carrier};")),
            2 => body.push(format!("{place} = {e};")),
            3 => body.push(format!("{carrier} += 1;")),
            _ => {}
        }
        body.push(match self.rng.chance(85) {
            true => format!("{sum} = {carrier};"),
            false => format!("if ({c}) {sum} = {carrier};"),
        });
        let head = if self.rng.chance(30) { format!("if ({c})") } else { String::new() };
        let body = body.into_iter().map(Stmt::Line).collect();
        vec![Stmt::Block { head, body, tail: String::new() }]
    }
}

fn block(head: String, body: Vec<String>) -> Stmt {
    Stmt::Block { head, body: body.into_iter().map(Stmt::Line).collect(), tail: String::new() }
}
