//! Random nests whose loops wait for each other: recurrences in one and two dimensions, imperfect and triangular, counted up and down,
//! numbers accumulated in variables before they go to memory, and updates by a row and a column of what is updated.
//! Most have no loop that runs at once as they are written, and some have one in another order.

use std::fmt::Write;

use crate::rng::Rng;

/// Elements around what the indices reach, so that subscripts a little apart stay inside.
const MARGIN: i64 = 3;

/// A function `f` with one nest, as C.
pub fn generate(seed: u64) -> String {
    let mut w =
        Writer { rng: Rng::new(seed ^ 0x7761_7665), out: String::new(), indices: Vec::new(), outer: false };
    let side = 2 * MARGIN;
    let _ = writeln!(
        w.out,
        "void f(int n, double a[n + {side}][n + {side}], double b[n + {side}][n + {side}], double x[n + {side}])\n{{"
    );
    if w.rng.chance(20) {
        w.out.push_str("    double v;\n");
        w.outer = true;
    }
    match w.below(10) {
        0 => w.shortest(),
        1 | 2 => w.worked(),
        _ => w.nest(),
    }
    w.out.push_str("}\n");
    w.out
}

struct Writer {
    rng: Rng,
    out: String,
    indices: Vec<&'static str>,
    /// Whether `v` is declared before all loops.
    outer: bool,
}

impl Writer {
    fn below(&mut self, n: usize) -> usize {
        self.rng.below(n)
    }

    fn pad(&mut self) {
        let depth = self.indices.len() + 1;
        self.out.push_str(&"    ".repeat(depth));
    }

    fn nest(&mut self) {
        let index = ["i", "j", "k"][self.indices.len()];
        let around = self.indices.last().copied();
        let header = match (self.below(7), around) {
            (0 | 1, Some(o)) => format!("for (int {index} = 0; {index} < {o}; {index}++)"),
            (2, Some(o)) => format!("for (int {index} = {o} + 1; {index} < n; {index}++)"),
            (3, Some(o)) => format!("for (int {index} = {o}; {index} < n; {index}++)"),
            (4, _) => format!("for (int {index} = n - 1; {index} >= 0; {index}--)"),
            (5, _) => format!("for (int {index} = 1; {index} < n - 1; {index}++)"),
            _ => format!("for (int {index} = 0; {index} < n; {index}++)"),
        };
        self.pad();
        let _ = writeln!(self.out, "{header} {{");
        self.indices.push(index);
        let depth = self.indices.len();
        let inner = match depth {
            1 => 1 + self.below(2),
            2 => usize::from(self.below(3) == 0),
            _ => 0,
        };
        let single = if inner == 0 { 1 + self.below(2) } else { self.below(3) };
        let mut kinds: Vec<bool> =
            std::iter::repeat_n(true, inner).chain(std::iter::repeat_n(false, single)).collect();
        for k in (1..kinds.len()).rev() {
            let other = self.below(k + 1);
            kinds.swap(k, other);
        }
        for is_nest in kinds {
            match is_nest {
                true if self.below(3) == 0 => self.accumulated(),
                true => self.nest(),
                false => self.statement(),
            }
        }
        self.indices.pop();
        self.pad();
        self.out.push_str("}\n");
    }

    /// `v = …; for (…) v -= …; cell = v / …;`, sometimes with something else between, or more of the cell.
    fn accumulated(&mut self) {
        let depth = self.indices.len();
        let (index, around) = (["i", "j", "k"][depth], self.indices[depth - 1]);
        let cell = self.place(false);
        let first = if self.below(2) == 0 { cell.clone() } else { self.place(true) };
        self.pad();
        let name = if self.outer { "v".to_owned() } else { format!("w{depth}") };
        let declared = if self.outer { "" } else { "double " };
        let _ = writeln!(self.out, "{declared}{name} = {first};");
        if self.below(5) == 0 {
            self.statement();
        }
        let header = match self.below(4) {
            0 => format!("for (int {index} = 0; {index} < n; {index}++)"),
            1 => format!("for (int {index} = n - 1; {index} > {around}; {index}--)"),
            2 => format!("for (int {index} = {around} + 1; {index} < n; {index}++)"),
            _ => format!("for (int {index} = 0; {index} < {around}; {index}++)"),
        };
        self.pad();
        let _ = writeln!(self.out, "{header} {{");
        self.indices.push(index);
        let (p, q) = (self.place(true), self.place(self.out.len().is_multiple_of(3)));
        self.pad();
        let choice = match self.below(6) {
            0 => format!("if ({p} > {q}) "),
            1 => format!("if ({name} < {q} && n > 3) "),
            _ => String::new(),
        };
        let _ = writeln!(self.out, "{choice}{name} -= 0.125 * {p} * {q};");
        self.indices.pop();
        self.pad();
        self.out.push_str("}\n");
        self.pad();
        let goes = match self.below(4) {
            0 => name,
            1 => format!("0.5 * {name} + 0.25 * {}", self.place(true)),
            2 => format!("0.5 * {name} + {name} * {cell}"),
            _ => format!("0.75 * {name}"),
        };
        let _ = writeln!(self.out, "{cell} = {goes};");
    }

    /// All pairs by way of one, in any order of the loops and with any of their indices.
    fn shortest(&mut self) {
        for index in ["k", "i", "j"] {
            self.pad();
            let _ = writeln!(self.out, "for (int {index} = 0; {index} < n; {index}++) {{");
            self.indices.push(index);
        }
        let mut of = ["i", "j", "k"];
        for k in (1..3).rev() {
            let other = self.below(k + 1);
            of.swap(k, other);
        }
        let at = |p: &str, q: &str| format!("a[{p} + {MARGIN}][{q} + {MARGIN}]");
        let [p, q, r] = if self.below(3) > 0 { ["i", "j", "k"] } else { of };
        let (cell, by) = (at(p, q), (at(p, r), at(r, q)));
        self.pad();
        let _ = match self.below(3) {
            0 => writeln!(self.out, "if ({0} + {1} < {cell}) {cell} = {0} + {1};", by.0, by.1),
            1 => writeln!(self.out, "{cell} = {cell} < {0} + {1} ? {cell} : {0} + {1};", by.0, by.1),
            _ => writeln!(self.out, "{cell} = 0.5 * {cell} + 0.125 * {0} * {1};", by.0, by.1),
        };
        for _ in 0..3 {
            self.indices.pop();
            self.pad();
            self.out.push_str("}\n");
        }
    }

    /// Each round fills a part of `x`, mostly before it reads it, and uses it behind that.
    fn worked(&mut self) {
        let around = 1 + self.below(2);
        for index in ["i", "k"].into_iter().take(around) {
            self.pad();
            let _ = writeln!(self.out, "for (int {index} = 0; {index} < n; {index}++) {{");
            self.indices.push(index);
        }
        let ranges =
            ["j = 0; j < n; j++", "j = 1; j < n - 1; j++", "j = n - 1; j >= 0; j--", "j = 0; j <= i; j++"];
        let first = self.below(8);
        let step = if self.below(4) == 0 { 2 } else { 1 };
        for part in 0..2 + self.below(2) {
            let range = match part {
                0 => ranges[[0, 0, 0, 0, 1, 2, 2, 3][first]],
                _ => ranges[[0, 1, 1, 1, 2, 3][self.below(6)]],
            };
            self.pad();
            let _ = writeln!(self.out, "for (int {range}) {{");
            self.indices.push("j");
            let value = self.place(true);
            let at = |by: i64| match step {
                1 => format!("x[j + {}]", MARGIN + by),
                _ => format!("x[(j / 2) * 2 + {}]", MARGIN + by),
            };
            let apart = self.below(3) as i64 - 1;
            self.pad();
            let _ = match (part, self.below(6)) {
                (0, _) => writeln!(self.out, "{} = 0.5 * {};", at(0), value.replace("x[", "b[i][")),
                (_, 0) => writeln!(self.out, "{} = 0.5 * {} + {};", at(0), at(0), at(apart)),
                (_, 1) => writeln!(self.out, "if ({} > {value}) {} = 0.25;", at(0), at(0)),
                _ => writeln!(self.out, "b[i + {MARGIN}][j + {MARGIN}] = {} + 0.25 * {};", at(apart), at(0)),
            };
            self.indices.pop();
            self.pad();
            self.out.push_str("}\n");
        }
        for _ in 0..around {
            self.indices.pop();
            self.pad();
            self.out.push_str("}\n");
        }
    }

    fn subscript(&mut self, apart: bool) -> String {
        let k = self.below(self.indices.len());
        let index = self.indices[k];
        let by = match (apart, self.below(5)) {
            (true, 0) => -1,
            (true, 1) => 1,
            _ => 0,
        };
        format!("[{index} + {}]", MARGIN + by)
    }

    fn place(&mut self, apart: bool) -> String {
        match self.below(8) {
            0 => format!("x{}", self.subscript(apart)),
            k => {
                let array = if k < 6 { "a" } else { "b" };
                // mostly the indices in their order
                let (first, second) = match self.indices.as_slice() {
                    [.., o, i] if self.rng.below(3) > 0 => {
                        let mut by = |index: &str| {
                            let by = if apart { self.rng.below(3) as i64 - 1 } else { 0 };
                            format!("[{index} + {}]", MARGIN + by)
                        };
                        (by(o), by(i))
                    }
                    _ => (self.subscript(apart), self.subscript(apart)),
                };
                format!("{array}{first}{second}")
            }
        }
    }

    /// A statement, sometimes one or the other as data decide.
    fn statement(&mut self) {
        if self.below(6) > 0 {
            return self.assignment();
        }
        let (p, q) = (self.place(true), self.place(true));
        let at = self.below(self.indices.len());
        let index = self.indices[at];
        let choice = match self.below(5) {
            0 => format!("if ({p} < {q} || {index} == 2)"),
            1 => format!("if ({index} > 1 && {p} > 0.25)"),
            2 => format!("if ({index} < n - 2) if ({p} < {q})"),
            _ => format!("if ({p} < {q})"),
        };
        self.pad();
        let _ = writeln!(self.out, "{choice} {{");
        self.assignment();
        match self.below(4) {
            0 => {
                self.pad();
                self.out.push_str("} else {\n");
                self.assignment();
            }
            1 => self.assignment(),
            _ => {}
        }
        self.pad();
        self.out.push_str("}\n");
    }

    fn assignment(&mut self) {
        let target = self.place(false);
        let mut value = Vec::new();
        for _ in 0..1 + self.below(2) {
            value.push(format!("0.25 * {}", self.place(true)));
        }
        if self.below(3) == 0 {
            let (p, q) = (self.place(true), self.place(true));
            value.push(format!("0.125 * {p} * {q}"));
        }
        let own = self.below(2) == 0;
        self.pad();
        let value = value.join(" + ");
        let _ = match own {
            true => writeln!(self.out, "{target} = 0.5 * {target} + {value};"),
            false => writeln!(self.out, "{target} = {value};"),
        };
    }
}
