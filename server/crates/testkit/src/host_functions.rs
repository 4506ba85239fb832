//! Random functions of a host: loops that stay where they are around nests that become kernels, with branches, exchanged
//! pointers, sums that decide, and arrays that are used in part.
//!
//! All numbers are small whole ones, so that results are the same to the bit. Deliberately absent: what the nests look like
//! inside ([`crate::nests`] has those).

use std::fmt::Write;

use crate::rng::Rng;

/// A function `f`, the same for the same seed.
pub fn generate(seed: u64) -> String {
    let mut w =
        Writer { rng: Rng::new(seed ^ 0x4057_F00C), out: String::new(), depth: 1, loops: 0, names: 0 };
    w.function();
    w.out
}

struct Writer {
    rng: Rng,
    out: String,
    depth: usize,
    /// Host loops around.
    loops: usize,
    names: usize,
}

const FLAT: [&str; 3] = ["a", "b", "c"];

impl Writer {
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{}{text}", "    ".repeat(self.depth));
    }

    fn open(&mut self, text: &str) {
        self.line(&format!("{text} {{"));
        self.depth += 1;
    }

    fn close(&mut self, text: &str) {
        self.depth -= 1;
        self.line(&format!("}}{text}"));
    }

    fn fresh(&mut self, wish: &str) -> String {
        self.names += 1;
        format!("{wish}{}", self.names)
    }

    fn function(&mut self) {
        self.out.push_str(
            "int w[40];\n\nint f(int n, int m, int rounds, int *a, int *b, int *c, int q[n][m])\n{\n",
        );
        self.line("int r = 3, k = 0, s = 1;");
        if self.rng.chance(50) {
            self.line("int x[24];");
            self.line("for (int i = 0; i < 24; i++) x[i] = i;");
        } else {
            self.line("int *x = w;");
        }
        if self.rng.chance(30) {
            self.plain(false);
        }
        self.host_loop(0);
        if self.rng.chance(30) {
            self.host_loop(0);
        }
        if self.rng.chance(30) {
            self.plain(false);
        }
        let result = *self.rng.pick(&["r", "r + k", "s + r + k", "r + x[3]", "k"]);
        self.line(&format!("return {result};"));
        self.out.push_str("}\n");
    }

    /// A loop of the host with nests in it.
    fn host_loop(&mut self, level: usize) {
        let t = ["t", "u", "v"][level.min(2)];
        let (head, tail) = match self.rng.below(7) {
            0 => (format!("for (int {t} = rounds; {t} > 0; {t}--)"), String::new()),
            1 => (format!("for (int {t} = 0; {t} < 5; {t} += 2)"), String::new()),
            2 => (format!("for (int {t} = 1; {t} < n - 1; {t}++)"), String::new()),
            3 => (
                format!("int {t} = 0;\n{}while ({t} < rounds)", "    ".repeat(self.depth)),
                format!("{t}++;"),
            ),
            4 => (format!("int {t} = 0;\n{}do", "    ".repeat(self.depth)), format!("{t}++;")),
            _ => (format!("for (int {t} = 0; {t} < rounds; {t}++)"), String::new()),
        };
        let is_do = head.ends_with("do");
        self.open(&head);
        self.loops += 1;
        let count = 1 + self.rng.below(4);
        for _ in 0..count {
            self.statement(level, t);
        }
        if self.rng.chance(20) && tail.is_empty() && !is_do {
            let what = *self.rng.pick(&["break", "continue"]);
            let when = self.condition(t);
            self.line(&format!("if ({when})"));
            self.line(&format!("    {what};"));
            self.nest(t);
        }
        if !tail.is_empty() {
            self.line(&tail);
        }
        self.loops -= 1;
        self.close("");
        if is_do {
            self.out.truncate(self.out.trim_end().len());
            let _ = writeln!(self.out, " while ({t} < rounds);");
        }
    }

    fn condition(&mut self, t: &str) -> String {
        match self.rng.below(5) {
            0 => format!("{t} % 3 == 1"),
            1 => "r > 40".to_owned(),
            2 => "(k & 1) == 0".to_owned(),
            3 => format!("{t} == 2 || r < 9"),
            _ => "n > 6".to_owned(),
        }
    }

    fn statement(&mut self, level: usize, t: &str) {
        match self.rng.below(12) {
            0 => {
                let when = self.condition(t);
                self.open(&format!("if ({when})"));
                self.nest(t);
                if self.rng.chance(40) {
                    self.plain(true);
                }
                if self.rng.chance(30) {
                    self.close(" else {");
                    self.depth += 1;
                    self.nest(t);
                }
                self.close("");
            }
            1 if level < 1 => self.host_loop(level + 1),
            2 | 3 => self.plain(true),
            4 => self.exchange(),
            5 => self.sum(),
            _ => self.nest(t),
        }
    }

    /// A statement of the host's; `inside`: of a loop, where others would keep nests apart.
    fn plain(&mut self, inside: bool) {
        let lines =
            ["k++;", "s = (s * 5 + r) & 63;", "r = r / 2 + k;", "k = (k + s) % 17;", "s = r > k ? r : k;"];
        match self.rng.below(if inside { 24 } else { 8 }) {
            0 => self.line("a[1] = r;"),
            1 => self.line("r += c[2] & 7;"),
            _ => {
                let line = *self.rng.pick(&lines);
                self.line(line);
            }
        }
    }

    fn exchange(&mut self) {
        let (p, q) = *self.rng.pick(&[("a", "b"), ("a", "b"), ("b", "c")]);
        let hold = self.fresh("hold");
        self.line(&format!("int *{hold} = {p};"));
        self.line(&format!("{p} = {q};"));
        self.line(&format!("{q} = {hold};"));
    }

    fn sum(&mut self) {
        let (x, (low, high)) = (self.flat(), self.bounds());
        self.line("r = 0;");
        self.open(&format!("for (int i = {low}; i < {high}; i++)"));
        match self.rng.below(3) {
            0 => self.line(&format!("if ({x}[i] > r) r = {x}[i];")),
            _ => self.line(&format!("r += {x}[i] & 15;")),
        }
        self.close("");
    }

    fn flat(&mut self) -> &'static str {
        match self.rng.below(8) {
            0 => "x",
            _ => FLAT[self.rng.below(FLAT.len())],
        }
    }

    /// For all arrays alike: below 24, and below n.
    fn bounds(&mut self) -> (String, String) {
        let low = self.rng.pick(&["0", "1", "2", "k & 3"]).to_string();
        let high = self.rng.pick(&["n", "n - 1", "n - 1", "n - 2", "n / 2"]).to_string();
        (low, high)
    }

    fn value(&mut self, target: &str, t: &str) -> String {
        let mut parts = Vec::new();
        for _ in 0..=self.rng.below(2) {
            let from = self.flat();
            let moved = match from == target {
                true => "i",
                false => self.rng.pick(&["i", "i", "i + 1", "i - 1", "n - 1 - i"]),
            };
            let moved = moved.to_string();
            parts.push(format!("{from}[{moved}]"));
        }
        let number = self.rng.pick(&["s", "k", "r", "3", "i"]).to_string();
        let number = if self.rng.chance(20) { t.to_owned() } else { number };
        format!("({} * 3 + {number}) & 255", parts.join(" + "))
    }

    fn nest(&mut self, t: &str) {
        match self.rng.below(6) {
            0 => {
                self.open("for (int i = 0; i < n; i++)");
                let ends = *self.rng.pick(&["m", "m - 1"]);
                self.open(&format!("for (int j = 0; j < {ends}; j++)"));
                let from = *self.rng.pick(&["q[i][j]", "a[i]", "b[i]"]);
                self.line(&format!("q[i][j] = ({from} + {t} + j) & 127;"));
                self.close("");
                self.close("");
            }
            1 => {
                let to = self.flat();
                self.open("for (int i = 0; i < n; i++)");
                self.line("int sum = 0;");
                self.open("for (int j = 0; j < m; j++)");
                self.line("sum += q[i][j] & 7;");
                self.close("");
                self.line(&format!("{to}[i] = sum + {t};"));
                self.close("");
            }
            _ => {
                let to = self.flat();
                let (low, high) =
                    if self.rng.chance(50) { ("1".to_owned(), "n - 1".to_owned()) } else { self.bounds() };
                let value = self.value(to, t);
                self.open(&format!("for (int i = {low}; i < {high}; i++)"));
                match self.rng.chance(15) {
                    true => self.line(&format!("if (i % 3 != 1) {to}[i] = {value};")),
                    false => self.line(&format!("{to}[i] = {value};")),
                }
                self.close("");
            }
        }
    }
}
