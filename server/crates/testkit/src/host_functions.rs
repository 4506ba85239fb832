//! Random functions of a host: loops that stay where they are around nests that become kernels, with branches, jumps, ways out,
//! exchanged pointers, sums that decide, calls of small functions, nests with triangular bounds, arrays that are used in part, and
//! tables of rows.
//!
//! All numbers are small whole ones, so that results are the same to the bit. Deliberately absent: what the nests look like
//! inside ([`crate::nests`] has those).

use std::fmt::Write;

use crate::rng::Rng;

/// A function `f`, the same for the same seed.
pub fn generate(seed: u64) -> String {
    let mut rng = Rng::new(seed ^ 0x4057_F00C);
    let (calls, jumps) = (rng.chance(40), rng.chance(40));
    let tables = tables(seed);
    let (out, ends) = Default::default();
    let mut w = Writer { rng, out, depth: 1, loops: 0, names: 0, calls, jumps, ends, tables };
    w.function();
    w.out
}

/// Whether the function has tables of rows.
pub fn has_tables(seed: u64) -> bool {
    tables(seed).is_some()
}

/// A choice of its own, so that the other functions are what they were without it.
fn tables(seed: u64) -> Option<Rng> {
    let mut rng = Rng::new(seed ^ 0x007A_B1E5);
    rng.chance(15).then_some(rng)
}

struct Writer {
    rng: Rng,
    out: String,
    depth: usize,
    /// Host loops around.
    loops: usize,
    names: usize,
    /// Whether small functions are there to be called.
    calls: bool,
    /// Whether control may jump: `goto`, `switch`, a way out.
    jumps: bool,
    /// Labels at the function's end that something jumps to.
    ends: Vec<String>,
    /// Where the function has tables of rows: what is chosen of them.
    tables: Option<Rng>,
}

const FLAT: [&str; 3] = ["a", "b", "c"];

/// Functions that are called on the host and in nests.
const SMALL: &str = "static int step(int v, int by) { return (v * 7 + by) & 31; }
static int least(int v, int w) { if (v < w) return v; return w; }
static void fill(int count, int *to, int value)
{
    for (int i = 0; i < count; i++)
        to[i] = (value + i) & 63;
}
static int total(int count, const int *from)
{
    int sum = 0;
    for (int i = 0; i < count; i++)
        sum += from[i] & 3;
    return sum;
}
";

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
        if self.calls {
            self.out.push_str(SMALL);
        }
        let tables = if self.tables.is_some() { ", int **g, int **h" } else { "" };
        let _ = writeln!(
            self.out,
            "int w[40];\n\nint f(int n, int m, int rounds, int start, int *a, int *b, int *c, int q[n][m]{tables})\n{{",
        );
        self.line("int r = start & 63, k = start & 1, s = 1;");
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
        for end in std::mem::take(&mut self.ends) {
            let _ = writeln!(self.out, "{end}:");
            self.line("r += 2;");
        }
        let results = ["r", "r + k", "s + r + k", "r + x[3]", "k", "r + a[n / 2]", "b[1] + c[n - 1]"];
        let result = *self.rng.pick(&results);
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
        if self.calls && self.rng.chance(25) {
            return self.call(t);
        }
        if self.jumps && self.rng.chance(25) {
            return self.jump(t);
        }
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

    /// A call of a small function.
    fn call(&mut self, t: &str) {
        let (x, y) = (self.flat(), self.flat());
        match self.rng.below(6) {
            0 => self.line(&format!("k = step(k, {t});")),
            1 => self.line("r = least(r, s + k);"),
            2 => self.line(&format!("fill(n, {x}, {t});")),
            3 => self.line(&format!("r = total(n - 1, {x});")),
            _ => {
                self.open("for (int i = 0; i < n; i++)");
                self.line(&format!("{x}[i] = least(step({y}[i], {t}), i);"));
                self.close("");
            }
        }
    }

    /// Control that goes elsewhere: over a nest, to another case, to the end of the function or out of it.
    fn jump(&mut self, t: &str) {
        let when = self.condition(t);
        match self.rng.below(5) {
            0 => {
                let over = self.fresh("over");
                self.line(&format!("if ({when})"));
                self.line(&format!("    goto {over};"));
                self.nest(t);
                let _ = writeln!(self.out, "{over}:");
                self.line("s ^= 1;");
            }
            1 => {
                let end = self.fresh("end");
                self.line(&format!("if ({when})"));
                self.line(&format!("    goto {end};"));
                self.ends.push(end);
            }
            2 => {
                self.line(&format!("if ({when} && r > 9)"));
                self.line("    return r + k;");
            }
            _ => {
                self.open(&format!("switch ({t} % 3)"));
                self.line("case 0:");
                self.nest(t);
                if self.rng.chance(70) {
                    self.line("break;");
                }
                self.line("case 1:");
                self.plain(true);
                self.line("break;");
                self.line("default:");
                match self.rng.chance(50) {
                    true => self.nest(t),
                    false => self.plain(true),
                }
                self.close("");
            }
        }
    }

    /// A statement of the host's; `inside`: of a loop, where others would keep nests apart.
    fn plain(&mut self, inside: bool) {
        if inside && self.of_table(6) {
            return self.line("r += g[1][2] & 7;");
        }
        let lines =
            ["k++;", "s = (s * 5 + r) & 63;", "r = r / 2 + k;", "k = (k + s) % 17;", "s = r > k ? r : k;"];
        match self.rng.below(if inside { 24 } else { 8 }) {
            0 => self.line("a[1] = r;"),
            1 => self.line("r += c[2] & 7;"),
            2 if !inside => self.line("for (int i = n / 2; i < n; i++) r = (r + b[i]) & 127;"),
            _ => {
                let line = *self.rng.pick(&lines);
                self.line(line);
            }
        }
    }

    fn exchange(&mut self) {
        if self.of_table(60) {
            let hold = self.fresh("hold");
            self.line(&format!("int **{hold} = g;"));
            self.line("g = h;");
            return self.line(&format!("h = {hold};"));
        }
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

    /// Whether tables are spoken of, where the function has any.
    fn of_table(&mut self, percent: u64) -> bool {
        self.tables.as_mut().is_some_and(|r| r.chance(percent))
    }

    /// A nest over rows of tables.
    fn table_nest(&mut self, t: &str) {
        let Some(r) = &mut self.tables else { return };
        let (to, from) = *r.pick(&[("g", "h"), ("h", "g"), ("g", "g"), ("h", "h")]);
        let (low, high) =
            *r.pick(&[("0", "n"), ("1", "n - 1"), ("1", "n"), ("n / 2", "n"), ("k & 3", "n - 1")]);
        let (first, last) = *r.pick(&[("0", "m"), ("1", "m - 1"), ("i", "m"), ("0", "m - i"), ("0", "3")]);
        let near = if to == from { "i" } else { *r.pick(&["i", "i - 1", "n - 1 - i"]) };
        let low = if near == "i - 1" && low.starts_with(['0', 'k']) { "1" } else { low };
        let row = *r.pick(&["0", "1", "n - 1"]);
        match r.below(6) {
            0 => {
                self.open("for (int j = 0; j < m; j++)");
                self.line(&format!("{to}[{row}][j] = ({to}[{row}][j] + {t}) & 63;"));
                self.close("");
            }
            1 => {
                self.open(&format!("for (int i = {low}; i < {high}; i++)"));
                self.line("int sum = 0;");
                self.line(&format!("for (int j = 0; j < m; j++) sum += {from}[i][j] & 7;"));
                self.line(&format!("a[i] = sum + {t};"));
                self.close("");
            }
            2 => {
                self.line("r = 0;");
                self.open(&format!("for (int i = {low}; i < {high}; i++)"));
                self.line(&format!("r += {from}[i][2] & 15;"));
                self.close("");
            }
            _ => {
                self.open(&format!("for (int i = {low}; i < {high}; i++)"));
                self.open(&format!("for (int j = {first}; j < {last}; j++)"));
                self.line(&format!("{to}[i][j] = ({from}[{near}][j] * 3 + {t} + s) & 127;"));
                self.close("");
                self.close("");
            }
        }
    }

    fn nest(&mut self, t: &str) {
        if self.of_table(50) {
            return self.table_nest(t);
        }
        match self.rng.below(8) {
            6 => {
                let from = *self.rng.pick(&["0", "1", "k & 1"]);
                self.open(&format!("for (int i = {from}; i < n; i++)"));
                let (first, last) =
                    *self.rng.pick(&[("i", "m"), ("i + 1", "m"), ("0", "m - i"), ("k & 3", "m - i")]);
                self.open(&format!("for (int j = {first}; j < {last}; j++)"));
                let from = *self.rng.pick(&["q[i][j]", "q[i][j] * 2", "c[i]"]);
                self.line(&format!("q[i][j] = ({from} + {t} + i) & 127;"));
                self.close("");
                self.close("");
            }
            7 => {
                let to = *self.rng.pick(&FLAT);
                let from = *self.rng.pick(&FLAT);
                self.open(&format!("for (int i = {t} + 1; i < n; i++)"));
                match from == to {
                    true => self.line(&format!("{to}[i] = ({to}[i] + 5) & 255;")),
                    false => self.line(&format!("{to}[i] = ({to}[i] + {from}[i - 1] + {t}) & 255;")),
                }
                self.close("");
            }
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
