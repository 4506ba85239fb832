//! Random nests whose loops wait for each other: recurrences in one and two dimensions, imperfect and triangular, counted up and down.
//! Most have no loop that runs at once as they are written, and some have one in another order.

use std::fmt::Write;

use crate::rng::Rng;

/// Elements around what the indices reach, so that subscripts a little apart stay inside.
const MARGIN: i64 = 3;

/// A function `f` with one nest, as C.
pub fn generate(seed: u64) -> String {
    let mut w = Writer { rng: Rng::new(seed ^ 0x7761_7665), out: String::new(), indices: Vec::new() };
    let side = 2 * MARGIN;
    let _ = writeln!(
        w.out,
        "void f(int n, double a[n + {side}][n + {side}], double b[n + {side}][n + {side}], double x[n + {side}])\n{{"
    );
    w.nest();
    w.out.push_str("}\n");
    w.out
}

struct Writer {
    rng: Rng,
    out: String,
    indices: Vec<&'static str>,
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
                true => self.nest(),
                false => self.statement(),
            }
        }
        self.indices.pop();
        self.pad();
        self.out.push_str("}\n");
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

    fn statement(&mut self) {
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
