//! Statements that programs seldom have.

use super::expr::Gen;
use super::{Place, Stmt, Ty};

impl Gen {
    /// What programs seldom do and analyses easily get wrong: moved bounds and indices, hidden writes, other names for
    /// the same memory, conversions that lose bits.
    pub(super) fn odd_statement(&mut self, depth: usize) -> Vec<Stmt> {
        let line = |s: String| vec![Stmt::Line(s)];
        let place = self.place();
        let i = self.index_name();
        let scalar = |g: &Gen| g.scalars.iter().find(|s| s.0 != "q").cloned();
        let pointer =
            self.arrays.iter().find(|a| matches!(a.place, Place::Pointer { .. }) && !a.subscripts).cloned();
        let pairs = self.arrays.iter().find(|a| a.place == Place::Pairs).cloned();
        let flat = self
            .arrays
            .iter()
            .find(|a| matches!(&a.place, Place::Variable { lengths, .. } if lengths.len() == 2))
            .cloned();
        match self.rng.below(20) {
            0 => {
                let n = self.size_name();
                let c = self.condition();
                line(format!("if ({c}) {n} = 3;"))
            }
            1 if i != "0" => {
                let c = self.condition();
                line(format!("if ({c}) {i}++;"))
            }
            2 => match scalar(self) {
                Some((s, ty)) => {
                    let name = self.fresh("h");
                    let e = if ty.is_int() { self.int_data() } else { self.data(1) };
                    vec![
                        Stmt::Line(format!("{} *{name} = &{s};", ty.c())),
                        Stmt::Line(format!("*{name} = {e};")),
                        Stmt::Line(format!("{place} = {s};")),
                    ]
                }
                None => line(format!("{place} = 1;")),
            },
            3 => match scalar(self) {
                Some((s, _)) => {
                    let e = self.int_data();
                    line(format!("{place} = ({s} = {e}) + 1;"))
                }
                None => line(format!("{place} = 2;")),
            },
            4 => match scalar(self) {
                Some((s, _)) => {
                    let (c, e) = (self.condition(), self.int_data());
                    line(format!("if ({c} && ({s} = {e}) > 2) {place} = {s};"))
                }
                None => line(format!("{place} = 3;")),
            },
            5 => match (pointer, self.rng.below(3)) {
                (Some(a), n) => {
                    let s = self.affine(1);
                    let cast = ["(unsigned char)", "(short)", "(unsigned)"][n];
                    let e = self.leaf();
                    line(format!("{}[{cast}({s})] = {e};", a.name))
                }
                _ => line(format!("{place} = 4;")),
            },
            6 => match flat {
                Some(a) => {
                    let name = self.fresh("row");
                    let (r, c) = (self.affine(1), self.affine(1));
                    let e = self.leaf();
                    vec![
                        Stmt::Line(format!("{} *{name} = {}[{r}];", a.ty.c(), a.name)),
                        Stmt::Line(format!("{name}[{c}] = {e};")),
                    ]
                }
                None => line(format!("{place} = 5;")),
            },
            7 => match pairs {
                Some(a) => {
                    let name = self.fresh("h");
                    let (s, t) = (self.affine(1), self.affine(1));
                    vec![
                        Stmt::Line(format!("struct pair_{0} {name} = {0}[{s}];", a.name)),
                        Stmt::Line(format!("{name}.x += 1;")),
                        Stmt::Line(format!("{}[{t}] = {name};", a.name)),
                    ]
                }
                None => line(format!("{place} = 6;")),
            },
            8 => {
                let (other, e) = (self.place(), self.leaf());
                line(format!("{place} = {other} = {e};"))
            }
            9 => {
                let other = self.int_arrays().first().cloned();
                match other {
                    Some(a) if !a.subscripts => {
                        let e = self.element(&a);
                        line(format!("{place} = ({e})++;"))
                    }
                    _ => line(format!("{place} = 7;")),
                }
            }
            10 if depth < 2 => {
                // a bound in memory
                match self.int_arrays().first().cloned() {
                    Some(a) => {
                        let b = self.element(&a);
                        let name = self.fresh("y");
                        let target = self.place();
                        vec![Stmt::Block {
                            head: format!("for (int {name} = 0; {name} < {b}; {name}++)"),
                            body: line(format!("{target} = {name};")),
                            tail: String::new(),
                        }]
                    }
                    None => line(format!("{place} = 8;")),
                }
            }
            11 => {
                let name = self.fresh("y");
                let c = self.condition();
                vec![
                    Stmt::Line(format!("int {name} = 0;")),
                    Stmt::Block {
                        head: "do".to_owned(),
                        body: vec![
                            Stmt::Line(format!("{place} = {name};")),
                            Stmt::Line(format!("{name}++;")),
                        ],
                        tail: format!(" while ({name} < 2 && {c});"),
                    },
                ]
            }
            12 => match pointer {
                Some(a) => {
                    let name = self.fresh("r");
                    let e = self.leaf();
                    vec![
                        Stmt::Line(format!("{} *{name} = &{}[{i}];", a.ty.c(), a.name)),
                        Stmt::Line(format!("{name}++;")),
                        Stmt::Line(format!("*{name} = {e};")),
                    ]
                }
                None => line(format!("{place} = 9;")),
            },
            13 => {
                let name = self.fresh("y");
                let (a, b) = (self.place(), self.fresh("z"));
                let n = self.size_name();
                let _ = &a;
                vec![Stmt::Block {
                    head: format!("for (int {name} = 0, {b} = {n}; {name} < {b}; {name}++, {b}--)"),
                    body: line(format!("{place} = {name} + {b};")),
                    tail: String::new(),
                }]
            }
            14 => match scalar(self) {
                Some((s, ty)) => {
                    let inner = self.fresh("y");
                    let e = self.leaf();
                    vec![
                        // hides the outer variable
                        Stmt::Block {
                            head: String::new(),
                            body: vec![
                                Stmt::Line(format!("{} {inner} = {e};", ty.c())),
                                Stmt::Line(format!("{s} = {inner};")),
                            ],
                            tail: String::new(),
                        },
                        Stmt::Line(format!("{place} = {s};")),
                    ]
                }
                None => line(";".to_owned()),
            },
            15 => {
                let c = self.condition();
                line(format!(
                    "if ({c}) return{};",
                    if self.returns.is_some() || self.patterns { " 0" } else { "" }
                ))
            }
            16 => {
                let (c, d) = (self.condition(), self.condition());
                let (e, other) = (self.leaf(), self.place());
                line(format!("if ({c}) {place} = {e}; else if ({d}) {other} = 1;"))
            }
            17 => match self.arrays.iter().find(|a| a.subscripts).map(|a| a.name.clone()) {
                Some(p) => line(format!("{p}[{i}] = ({i} + 1) & 7;")),
                None => line(format!("{place} = {i};")),
            },
            18 => {
                let n = self.size_name();
                let name = self.fresh("x");
                let e = self.int_data();
                self.locals.push((name.clone(), Ty::Int, self.loops));
                vec![
                    Stmt::Line(format!("int {name} = {i} < {n} / 2 ? (int){i} : (int){n} - 1 - (int){i};")),
                    Stmt::Line(format!("{place} = {name} + {e};")),
                ]
            }
            _ => {
                let a = self.rng.below(3);
                let cast = ["(short)", "(float)", "(unsigned char)"][a];
                let e = self.int_data();
                line(format!("{place} = {cast}({e});"))
            }
        }
    }
}
