//! From a seed to a function.

use super::expr::{Gen, Index};
use super::{Array, Nest, Place, Stmt, Ty};
use crate::rng::Rng;

/// The function of a seed, with at most about `size` statements.
pub fn generate(seed: u64, size: usize) -> Nest {
    let mut g = Gen::new(Rng::new(seed), size);
    g.choose_parameters();
    // By the seed, so that all other functions stay what they are.
    g.patterns = seed % 4 == 3;
    if g.rng.chance(60) && !g.scalars.is_empty() {
        let all = g.scalars.clone();
        g.returns = Some(g.rng.pick(&all).clone());
    }
    let mut body = Vec::new();
    let nests = if g.rng.chance(25) { 2 } else { 1 };
    for _ in 0..nests {
        let l = g.outer_loop();
        body.extend(l);
    }
    let mut all: Vec<Stmt> = g.declarations();
    if g.patterns {
        all.extend(g.pattern_declarations());
    }
    all.extend(body);
    // What is read after the loops is live out of them.
    if g.returns.is_some() && g.rng.chance(20) && !g.outside.is_empty() {
        let index = g.outside[0].clone();
        all.push(Stmt::Line(format!("if ({} > 2) return {};", index.0, index.0)));
    }
    let ret = g.returns.as_ref().map(|r| r.1).or(g.patterns.then_some(Ty::Int));
    if g.patterns {
        let result = g.pattern_result();
        let also = g.returns.as_ref().map_or(String::new(), |r| format!(" + {}", r.0));
        all.push(Stmt::Line(format!("return {result}{also};")));
    } else if let Some((name, _)) = &g.returns {
        all.push(Stmt::Line(format!("return {name};")));
    }
    let mut nest = Nest {
        seed,
        sizes: g.sizes.iter().map(|i| (i.name.clone(), i.ty)).collect(),
        arrays: g.arrays,
        ret,
        body: all,
        helpers: Vec::new(),
    };
    super::helpers::add_helpers(&mut nest);
    super::jumps::add_jumps(&mut nest);
    super::ways_out::add_ways_out(&mut nest);
    nest
}

impl Gen {
    fn choose_parameters(&mut self) {
        for (name, percent) in [("n", 100), ("m", 60), ("k", 30)] {
            if self.rng.chance(percent) {
                let ty = match self.rng.below(20) {
                    0 => Ty::UInt,
                    1 => Ty::SizeT,
                    2 => Ty::Long,
                    3 => Ty::Short,
                    _ => Ty::Int,
                };
                self.sizes.push(Index { name: name.to_owned(), ty, bound: None });
            }
        }
        let lengths: Vec<String> = self.sizes.iter().take(2).map(|s| s.name.clone()).collect();
        let count = 1 + self.rng.below(3);
        let names = ["a", "b", "c"];
        let family = if self.rng.chance(50) {
            *self.rng.pick(&[Ty::Int, Ty::Int, Ty::UInt, Ty::Long, Ty::Short])
        } else {
            *self.rng.pick(&[Ty::Float, Ty::Double])
        };
        for name in names.iter().take(count) {
            let ty = if self.rng.chance(85) { family } else { *self.rng.pick(&[Ty::Int, Ty::Double]) };
            let rank = *self.rng.pick(&[1, 1, 1, 2, 2, 3]);
            let restrict = self.rng.chance(30);
            let place = match self.rng.below(10) {
                0..=4 => Place::Pointer { restrict },
                5..=6 => Place::Variable {
                    lengths: (0..rank.max(2)).map(|_| self.rng.pick(&lengths).clone()).collect(),
                    restrict,
                },
                7..=8 => Place::Global {
                    lengths: match rank {
                        1 => vec![160],
                        2 => vec![24, 20],
                        _ => vec![12, 14, 16],
                    },
                },
                _ => Place::Pairs,
            };
            self.arrays.push(Array { name: (*name).to_owned(), ty, place, subscripts: false });
        }
        if self.rng.chance(12) {
            self.arrays.push(Array {
                name: "p".to_owned(),
                ty: Ty::Int,
                place: Place::Pointer { restrict: self.rng.chance(50) },
                subscripts: true,
            });
        }
        let data = if family.is_int() { Ty::Int } else { family };
        for (name, percent) in [("t", 55), ("s", 50), ("u", 30), ("v", 20), ("q", 15)] {
            if self.rng.chance(percent) {
                let ty = if name == "q" {
                    Ty::Int
                } else if self.rng.chance(80) {
                    data
                } else {
                    *self.rng.pick(&[Ty::Int, Ty::Double, Ty::UInt])
                };
                self.scalars.push((name.to_owned(), ty));
            }
        }
        self.scratch = self.rng.chance(6);
        self.tidy = self.rng.chance(55);
        self.odd = self.rng.chance(30);
        self.forms = self.rng.chance(40);
    }

    fn declarations(&mut self) -> Vec<Stmt> {
        let mut out = Vec::new();
        for (name, ty) in &self.scalars.clone() {
            let value = match name.as_str() {
                "q" => self.rng.between(0, 3).to_string(),
                // left without a value: only right if every path writes it first
                "t" if self.rng.chance(12) => {
                    out.push(Stmt::Line(format!("{} {name};", ty.c())));
                    continue;
                }
                _ => self.rng.between(0, 2).to_string(),
            };
            out.push(Stmt::Line(format!("{} {name} = {value};", ty.c())));
        }
        for (name, ty) in &self.outside {
            out.push(Stmt::Line(format!("{} {name};", ty.c())));
        }
        if self.scratch {
            out.push(Stmt::Line("int w[4] = {0, 0, 0, 0};".to_owned()));
        }
        out
    }

    fn outer_loop(&mut self) -> Vec<Stmt> {
        if self.left == 0 {
            self.left = 1;
        }
        self.a_loop(0)
    }

    /// A counted loop (or a `while`), possibly with statements before it.
    fn a_loop(&mut self, depth: usize) -> Vec<Stmt> {
        if self.forms && self.rng.chance(45) {
            return self.formed_loop(depth);
        }
        let name = ["i", "j", "l"][depth.min(2)].to_owned();
        let (head, ty, bound, before) = self.header(&name);
        self.indices.push(Index { name: name.clone(), ty, bound });
        self.loops += 1;
        let mut body = Vec::new();
        let statements = 1 + self.rng.below(3);
        for n in 0..statements {
            if n > 0 && self.left == 0 {
                break;
            }
            body.extend(self.statement(depth, true));
        }
        self.loops -= 1;
        self.indices.pop();
        self.locals.retain(|l| l.2 <= self.loops);
        let mut out: Vec<Stmt> = before.into_iter().map(Stmt::Line).collect();
        out.push(Stmt::Block { head, body, tail: String::new() });
        out
    }

    fn header(&mut self, name: &str) -> (String, Ty, Option<String>, Option<String>) {
        let ty = match self.rng.below(24) {
            0 | 1 => Ty::UInt,
            2 => Ty::SizeT,
            3 => Ty::Long,
            4 => Ty::Short,
            _ => Ty::Int,
        };
        let declared = self.rng.chance(70);
        let init = |value: &str| {
            if declared {
                format!("{} {name} = {value}", ty.c())
            } else {
                format!("{name} = {value}")
            }
        };
        let size = self.size_name();
        let outer = self.indices.last().map(|i| i.name.clone());
        let signed = matches!(ty, Ty::Int | Ty::Long | Ty::Short);
        let mut bound = None;
        let head = match self.rng.below(20) {
            // downwards
            0 | 1 => {
                let step = *self.rng.pick(&[1, 1, 2]);
                let step = if step == 1 { format!("{name}--") } else { format!("{name} -= {step}") };
                bound = Some(size.clone());
                if signed {
                    let rel = *self.rng.pick(&[">= 0", "> 0", ">= 1"]);
                    format!("for ({}; {name} {rel}; {step})", init(&format!("{size} - 1")))
                } else {
                    format!("for ({}; {name} > 0; {name}--)", init(&size))
                }
            }
            2 => format!("for ({}; {name} != {size}; {name}++)", init("0")),
            3 => {
                let c = self.rng.between(1, 9);
                format!("for ({}; {name} < {c}; ++{name})", init("0"))
            }
            4 => format!("for ({}; {size} > {name}; {name} = {name} + 1)", init("0")),
            5 if self.sizes.iter().any(|s| s.name == "k") => {
                format!("for ({}; {name} < {size}; {name} += k)", init("0"))
            }
            6..=9 if outer.is_some() => {
                let o = outer.unwrap_or_default();
                match self.rng.below(6) {
                    0 => format!("for ({}; {name} <= {o}; {name}++)", init("0")),
                    1 => format!("for ({}; {name} < {o}; {name}++)", init("0")),
                    2 => {
                        bound = Some(size.clone());
                        format!("for ({}; {name} < {size}; {name}++)", init(&format!("{o} + 1")))
                    }
                    3 => {
                        bound = Some(size.clone());
                        format!("for ({}; {name} < {size}; {name}++)", init(&o))
                    }
                    4 => format!("for ({}; {name} < {o} + 3; {name}++)", init(&o)),
                    _ => format!("for ({}; {name} < {size} - {o}; {name}++)", init("0")),
                }
            }
            _ => {
                let low = *self.rng.pick(&["0", "0", "0", "0", "1", "1", "2", "3"]);
                let step = *self.rng.pick(&[1, 1, 1, 1, 1, 2, 3]);
                let step = if step == 1 { format!("{name}++") } else { format!("{name} += {step}") };
                bound = Some(size.clone());
                let (rel, high) = match self.rng.below(8) {
                    0 => ("<=", size.clone()),
                    1 => ("<", format!("{size} - 1")),
                    2 => ("<=", format!("{size} - 1")),
                    3 if low == "0" => ("<", format!("{size} * 2")),
                    4 => ("<", format!("{size} / 2")),
                    _ => ("<", size.clone()),
                };
                format!("for ({}; {name} {rel} {high}; {step})", init(low))
            }
        };
        let before = None;
        if !declared && !self.outside.iter().any(|o| o.0 == name) {
            self.outside.push((name.to_owned(), ty));
        }
        let ty = if declared { ty } else { self.outside.iter().find(|o| o.0 == name).map_or(ty, |o| o.1) };
        // An index declared outside keeps its first type: an unsigned one must not be taken below zero.
        if !matches!(ty, Ty::Int | Ty::Long | Ty::Short) && head.contains(">= 0") {
            return (format!("for ({name} = {size}; {name} > 0; {name}--)"), ty, None, before);
        }
        (head, ty, bound, before)
    }

    /// One or a few statements.
    pub(super) fn statement(&mut self, depth: usize, loops: bool) -> Vec<Stmt> {
        self.left = self.left.saturating_sub(1);
        if self.odd && self.rng.chance(25) {
            return self.odd_statement(depth);
        }
        if self.forms && self.rng.chance(22) {
            return self.formed_statement();
        }
        if self.patterns && self.rng.chance(45) {
            return self.pattern();
        }
        let line = |s: String| vec![Stmt::Line(s)];
        let choice = self.rng.below(100);
        match choice {
            0..=27 if loops && depth < 2 && self.left > 0 => self.a_loop(depth + 1),
            0..=47 => {
                let place = self.place();
                let e = self.data(2);
                line(format!("{place} = {e};"))
            }
            48..=56 => {
                let place = self.place();
                let op = *self.rng.pick(&["+=", "+=", "+=", "-=", "*="]);
                let e = if op == "*=" { self.rng.between(0, 2).to_string() } else { self.data(1) };
                line(format!("{place} {op} {e};"))
            }
            57..=63 => self.temporary(),
            64..=74 => line(self.accumulation()),
            75..=83 if self.left > 0 => {
                let c = self.condition();
                let known = self.locals.len();
                let mut body = self.statement(depth, loops && depth < 1);
                if self.rng.chance(30) {
                    body.extend(self.statement(depth, false));
                }
                self.locals.truncate(known);
                let mut out = vec![Stmt::Block { head: format!("if ({c})"), body, tail: String::new() }];
                if self.rng.chance(35) {
                    if let Some(Stmt::Block { tail, .. }) = out.last_mut() {
                        tail.push_str(" else");
                    }
                    let other = self.statement(depth, false);
                    self.locals.truncate(known);
                    out.push(Stmt::Block { head: String::new(), body: other, tail: String::new() });
                }
                out
            }
            84 | 85 => {
                let c = self.condition();
                line(format!("if ({c}) continue;"))
            }
            86 => {
                let c = self.condition();
                line(format!("if ({c}) break;"))
            }
            87 | 88 => line(self.carried()),
            89 => self.inner_while(depth),
            90..=92 => self.induction(),
            93 => {
                let c = self.condition();
                match self.scalars.iter().find(|s| s.0 == "t").cloned() {
                    Some((t, _)) => {
                        let e = self.data(1);
                        let place = self.place();
                        vec![
                            Stmt::Line(format!("if ({c}) {t} = {e};")),
                            Stmt::Line(format!("{place} = {t};")),
                        ]
                    }
                    None => line(";".to_owned()),
                }
            }
            94 if self.scratch => {
                let (e, f) = (self.int_data(), self.int_data());
                let place = self.place();
                let i = self.rng.below(4);
                vec![
                    Stmt::Line(format!("w[{i}] = {e};")),
                    Stmt::Line(format!("w[({f}) & 3] += 1;")),
                    Stmt::Line(format!("{place} = w[{}];", self.rng.below(4))),
                ]
            }
            94 => {
                // a small array of the iteration's own
                let name = self.fresh("z");
                let (e, f) = (self.data(1), self.data(1));
                let place = self.place();
                vec![
                    Stmt::Line(format!("double {name}[2];")),
                    Stmt::Line(format!("{name}[0] = {e};")),
                    Stmt::Line(format!("{name}[1] = {f};")),
                    Stmt::Line(format!("{place} = {name}[1] - {name}[0];")),
                ]
            }
            95 => {
                let i = self.index_name();
                let known = self.locals.len();
                let a = self.statement(depth, false);
                self.locals.truncate(known);
                let b = self.statement(depth, false);
                self.locals.truncate(known);
                // a declaration may not follow a label
                let block = |body| Stmt::Block { head: String::new(), body, tail: String::new() };
                let mut body = vec![Stmt::Line("case 0:".to_owned())];
                body.push(block(a));
                if self.rng.chance(70) {
                    body.push(Stmt::Line("break;".to_owned()));
                }
                body.push(Stmt::Line("case 1:".to_owned()));
                body.push(Stmt::Line("break;".to_owned()));
                body.push(Stmt::Line("default:".to_owned()));
                body.push(block(b));
                vec![Stmt::Block { head: format!("switch ((int){i} % 3)"), body, tail: String::new() }]
            }
            96 => {
                // another name for a place in an array
                match self
                    .arrays
                    .iter()
                    .find(|a| matches!(a.place, Place::Pointer { restrict: false }) && !a.subscripts)
                    .cloned()
                {
                    Some(a) => {
                        let name = self.fresh("r");
                        let s = self.affine(1);
                        let e = self.data(1);
                        let i = self.index_name();
                        vec![
                            Stmt::Line(format!("{} *{name} = {} + {s};", a.ty.c(), a.name)),
                            Stmt::Line(format!("{name}[{i}] = {e};")),
                        ]
                    }
                    None => line(";".to_owned()),
                }
            }
            97 => {
                let a = self.place();
                let b = self.place();
                let e = self.data(1);
                line(format!("{a} = {e}, {b} = 1;"))
            }
            _ => {
                let place = self.place();
                let c = self.condition();
                let (e, f) = (self.data(1), self.data(1));
                line(format!("{place} = {c} ? {e} : {f};"))
            }
        }
    }

    fn temporary(&mut self) -> Vec<Stmt> {
        let e = self.data(2);
        let ty = if self.rng.chance(60) { Ty::Double } else { Ty::Int };
        let e = if ty == Ty::Int { self.int_data() } else { e };
        let (name, first) = match self.scalars.iter().find(|s| s.0 == "t").cloned() {
            Some((t, t_ty)) if self.rng.chance(60) => {
                let e = if t_ty.is_int() { self.int_data() } else { e };
                (t.clone(), format!("{t} = {e};"))
            }
            _ => {
                let name = self.fresh("x");
                self.locals.push((name.clone(), ty, self.loops));
                let c = if self.rng.chance(20) { "const " } else { "" };
                (name.clone(), format!("{c}{} {name} = {e};", ty.c()))
            }
        };
        let place = self.place();
        vec![Stmt::Line(first), Stmt::Line(format!("{place} = {name} + 1;"))]
    }

    fn accumulation(&mut self) -> String {
        let all: Vec<(String, Ty)> =
            self.scalars.iter().filter(|s| matches!(s.0.as_str(), "s" | "u" | "v")).cloned().collect();
        let fixed;
        let (s, ty) = if all.is_empty() || self.rng.chance(12) {
            fixed = self.fixed_place();
            (fixed.0, fixed.1)
        } else {
            self.rng.pick(&all).clone()
        };
        let e = if ty.is_int() { self.int_data() } else { self.data(1) };
        let simple = if ty.is_int() { self.int_leaf() } else { self.leaf() };
        match self.rng.below(16) {
            0..=4 => format!("{s} += {e};"),
            5 => format!("{s} = {s} + {e};"),
            6 => format!("{s} = {e} + {s};"),
            7 => format!("{s} -= {e};"),
            8 => format!("if ({simple} < {s}) {s} = {simple};"),
            9 => format!("if ({s} < {simple}) {s} = {simple};"),
            10 => format!("{s} = {simple} > {s} ? {simple} : {s};"),
            11 if ty.is_int() => format!("{s} ^= {e};"),
            12 if ty.is_int() => format!("{s} |= {e};"),
            13 if ty.is_int() => format!("{s} = {s} & {e};"),
            14 => {
                let c = self.condition();
                if ty.is_int() {
                    format!("if ({c}) {s}++;")
                } else {
                    format!("if ({c}) {s} += {e};")
                }
            }
            15 if !ty.is_int() => format!("{s} = fmax({s}, {simple});"),
            _ => format!("{s} = {s} - {e} + 1;"),
        }
    }

    fn carried(&mut self) -> String {
        match self.scalars.iter().find(|s| s.0 == "v" || s.0 == "u").cloned() {
            Some((v, ty)) => {
                let place = self.place();
                let e = if ty.is_int() { self.int_data() } else { self.data(1) };
                match self.rng.below(3) {
                    0 => format!("{place} = {v}; {v} = {e};"),
                    1 => format!("{v} = {v} / 2 + {e};"),
                    _ => format!("{v} += {e}; {place} = {v};"),
                }
            }
            None => {
                let (a, b) = (self.place(), self.leaf());
                format!("{a} = {b};")
            }
        }
    }

    fn inner_while(&mut self, depth: usize) -> Vec<Stmt> {
        let name = self.fresh("y");
        let c = self.condition();
        let known = self.locals.len();
        let inner = self.statement(depth.max(2), false);
        self.locals.truncate(known);
        let mut body = vec![Stmt::Line(format!("{name}++;"))];
        body.extend(inner);
        vec![
            Stmt::Line(format!("int {name} = 0;")),
            Stmt::Block { head: format!("while ({name} < 3 && {c})"), body, tail: String::new() },
        ]
    }

    fn induction(&mut self) -> Vec<Stmt> {
        if !self.scalars.iter().any(|s| s.0 == "q") {
            let (a, e) = (self.place(), self.data(1));
            return vec![Stmt::Line(format!("{a} = {e};"))];
        }
        let move_by = (*self.rng.pick(&["q++;", "q += 2;", "q--;", "q = q + 3;"])).to_owned();
        let target =
            self.arrays.iter().find(|a| matches!(a.place, Place::Pointer { .. }) && !a.subscripts).cloned();
        let e = self.data(1);
        let Some(a) = target else {
            return vec![Stmt::Line(move_by)];
        };
        let mut out = match self.rng.below(5) {
            0 => return stored_in_turn(&a.name, &e),
            1 => vec![Stmt::Line(move_by), Stmt::Line(format!("{}[q] = {e};", a.name))],
            _ => vec![Stmt::Line(format!("{}[q] = {e};", a.name)), Stmt::Line(move_by)],
        };
        if self.rng.chance(15) {
            let c = self.condition();
            out = vec![Stmt::Block { head: format!("if ({c})"), body: out, tail: String::new() }];
        }
        out
    }
}

/// `name[q++] = e;`, in two statements where `e` reads `q` too: C does not say which comes first (C11 6.5p2).
pub(super) fn stored_in_turn(name: &str, e: &str) -> Vec<Stmt> {
    let reads = e.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == "q");
    if reads {
        vec![Stmt::Line(format!("{name}[q] = {e};")), Stmt::Line("q++;".to_owned())]
    } else {
        vec![Stmt::Line(format!("{name}[q++] = {e};"))]
    }
}
