//! Loops and subscripts in other forms: `while` and `do`, indices moved in the condition or the body, symbolic steps,
//! walking pointers, coupled inductions, bit operations, values known from before the loop.

use super::expr::{Gen, Index};
use super::{Place, Stmt, Ty};

fn line(s: String) -> Stmt {
    Stmt::Line(s)
}

fn block(head: String, body: Vec<Stmt>, tail: &str) -> Stmt {
    Stmt::Block { head, body, tail: tail.to_owned() }
}

impl Gen {
    /// A loop that counts without the plain form, around a body of random statements; nearly counted ones among them.
    pub(super) fn formed_loop(&mut self, depth: usize) -> Vec<Stmt> {
        let name = format!("{}{}", ["i", "j", "l"][depth.min(2)], self.fresh("w"));
        let n = self.size_name();
        let ty = *self.rng.pick(&[Ty::Int, Ty::Int, Ty::Int, Ty::Long, Ty::UInt, Ty::SizeT, Ty::Short]);
        let signed = matches!(ty, Ty::Int | Ty::Long | Ty::Short);
        let first = self.rng.between(0, 2);
        let declare = |value: &str| line(format!("{} {name} = {value};", ty.c()));
        let bound = if first == 0 { Some(n.clone()) } else { None };
        self.indices.push(Index { name: name.clone(), ty, bound });
        self.loops += 1;
        let mut body = Vec::new();
        for _ in 0..1 + self.rng.below(2) {
            body.extend(self.statement(depth, depth < 1));
        }
        self.loops -= 1;
        self.indices.pop();
        self.locals.retain(|l| l.2 <= self.loops);
        let step = *self.rng.pick(&["++", "++", "++", " += 2", " += 3"]);
        let mut moved = body.clone();
        moved.push(line(format!("{name}{step};")));
        match self.rng.below(14) {
            0..=3 => vec![declare(&first.to_string()), block(format!("while ({name} < {n})"), moved, "")],
            // moved first: the body sees the next value
            4 => {
                let mut early = vec![line(format!("{name}{step};"))];
                early.extend(body);
                vec![declare(&first.to_string()), block(format!("while ({name} < {n})"), early, "")]
            }
            5 => vec![declare(&n), block(format!("while ({name}-- > 0)"), body, "")],
            6 if signed => vec![declare(&n), block(format!("while (--{name} >= 0)"), body, "")],
            7 => vec![declare(&n), block(format!("for (; {name}; {name}--)"), body, "")],
            8 => vec![
                declare(&first.to_string()),
                block("do".to_owned(), moved, &format!(" while ({name} < {n});")),
            ],
            9 => vec![
                declare(&first.to_string()),
                block("do".to_owned(), body, &format!(" while (++{name} < {n});")),
            ],
            10 if signed => vec![block(
                format!("for ({} {name} = {first}; {name} + 1 < {n}; {name} += 2)", ty.c()),
                body,
                "",
            )],
            11 => {
                vec![declare(&first.to_string()), block(format!("for (; {name} < {n}; {name}++)"), moved, "")]
            }
            12 => {
                // moved only sometimes
                let c = self.condition();
                let mut some = body;
                some.push(line(format!("if ({c}) {name}++; else {name} += {};", self.rng.between(1, 2))));
                vec![declare(&first.to_string()), block(format!("while ({name} < {n})"), some, "")]
            }
            _ => {
                // what is known before
                let guard = *self.rng.pick(&[">", ">=", "<", "=="]);
                let other = self.size_name();
                let l = block(format!("while ({name} < {n})"), moved, "");
                vec![block(format!("if ({n} {guard} {other})"), vec![declare(&first.to_string()), l], "")]
            }
        }
    }

    /// Subscripts and moving variables in other forms.
    pub(super) fn formed_statement(&mut self) -> Vec<Stmt> {
        let i = self.index_name();
        let e = self.leaf();
        let k = match self.sizes.iter().any(|s| s.name == "k") {
            true => "k".to_owned(),
            false => self.size_name(),
        };
        let n = self.size_name();
        let target =
            self.arrays.iter().find(|a| matches!(a.place, Place::Pointer { .. }) && !a.subscripts).cloned();
        let Some(a) = target else {
            let p = self.place();
            return vec![line(format!("{p} = {e};"))];
        };
        let (name, ty) = (a.name.clone(), a.ty.c());
        let q = self.scalars.iter().any(|s| s.0 == "q");
        let x = self.fresh("x");
        match self.rng.below(20) {
            0 | 1 => {
                let guard = *self.rng.pick(&[">", ">", ">=", "<", "!="]);
                let against = if self.rng.chance(80) { i.clone() } else { n };
                let by = if self.rng.chance(60) { k } else { self.rng.between(1, 5).to_string() };
                vec![
                    line(format!("int {x} = {i} ^ {by};")),
                    block(
                        format!("if ({x} {guard} {against})"),
                        vec![
                            line(format!("{name}[{i}] = {name}[{x}] + 1;")),
                            line(format!("{name}[{x}] = {e};")),
                        ],
                        "",
                    ),
                ]
            }
            2 => vec![line(format!("{name}[{i} ^ {}] = {e};", self.rng.between(1, 7)))],
            3 => {
                let op = *self.rng.pick(&["&", "|", "^"]);
                let mask = *self.rng.pick(&["1", "3", "4", "7", "~1", "~3", "-8", "6"]);
                vec![line(format!("{name}[({i} {op} {mask}) + 16] = {e};"))]
            }
            4 => vec![line(format!("{name}[{i} << {}] = {e};", self.rng.between(1, 2)))],
            5 => vec![line(format!("{name}[{i} >> {}] = {e};", self.rng.between(1, 2)))],
            6 => {
                let c = self.rng.between(0, 2);
                vec![line(format!("if ({n} > 0) {name}[({i} + {c}) % {n}] = {e};"))]
            }
            7 => vec![line(format!("if ({n} > 0) {name}[{i} / {n} + {i}] = {e};"))],
            8 => vec![line(format!("{name}[{i} + (1 << ({k} & 3))] = {name}[{i}] + 1;"))],
            9 if q => {
                let mut out = super::generate::stored_in_turn(&name, &e);
                out.push(line(format!("{name}[q++] = 1;")));
                out
            }
            10 if q => {
                let c = self.condition();
                vec![
                    block(format!("if ({c})"), vec![line(format!("q++; {name}[q] = {e};"))], " else"),
                    block(String::new(), vec![line(format!("{name}[q] = 2; q++;"))], ""),
                ]
            }
            11 if q => vec![line(format!("{name}[q] = {e};")), line(format!("q += {k};"))],
            12 if q => vec![line(format!("{name}[q] = {e};")), line(format!("q += {i};"))],
            13 => {
                // the end is a pointer
                let body = vec![line(format!("*{x} = {e};"))];
                let rel = *self.rng.pick(&["<", "!=", "<"]);
                vec![block(format!("for ({ty} *{x} = {name}; {x} {rel} {name} + {n}; {x}++)"), body, "")]
            }
            14 => {
                let y = self.fresh("y");
                vec![
                    line(format!("{ty} *{x} = {name} + {i} * 3;")),
                    block(
                        format!("for (int {y} = 0; {y} < {}; {y}++)", self.rng.between(1, 4)),
                        vec![line(format!("*{x}++ = {e};"))],
                        "",
                    ),
                ]
            }
            15 => {
                let y = self.fresh("y");
                vec![
                    line(format!("{ty} *{x} = {name} + {i};")),
                    line(format!("int {y} = 3;")),
                    block(format!("while ({y}--)"), vec![line(format!("*{x}++ = {e};"))], ""),
                ]
            }
            16 => vec![
                line(format!("int {x} = {i} < {n} ? (int){i} : (int){n};")),
                line(format!("{name}[{x}] = {e};")),
            ],
            17 => {
                let y = self.fresh("y");
                vec![block(
                    format!("for (int {y} = 1; {y} < {n}; {y} *= 2)"),
                    vec![line(format!("{name}[{y}] = {e};"))],
                    "",
                )]
            }
            18 => {
                let y = self.fresh("y");
                vec![block(
                    format!("for (int {y} = 0; {y} * {y} < {n}; {y}++)"),
                    vec![line(format!("{name}[{y}] = {e};"))],
                    "",
                )]
            }
            _ => {
                let y = self.fresh("y");
                vec![
                    line(format!("int {x} = {i} & 3;")),
                    block(
                        format!("for (int {y} = {x}; {y} < {n}; {y} += {k})"),
                        vec![line(format!("{name}[{y}] = {e};"))],
                        "",
                    ),
                ]
            }
        }
    }
}
