//! Random functions of a host whose nests reach arrays through others: rows of a sparse matrix, gathers, under conditions and in loops
//! that stay on the host. Which parts of the arrays they use nobody knows before some of these are read.
//!
//! All numbers are small whole ones, so that results are the same to the bit.

use std::fmt::Write;

use crate::rng::Rng;

/// A function `f`, the same for the same seed.
pub fn generate(seed: u64) -> String {
    let mut rng = Rng::new(seed ^ 0x6A74_E250);
    let promises = rng.chance(35);
    let mut w = Writer { rng, out: String::new(), depth: 1, names: 0, has_product: false };
    let keyword = if promises { " restrict" } else { "" };
    w.function(keyword);
    let product = if w.has_product { PRODUCT } else { "" };
    format!("{product}{}", w.out)
}

const PRODUCT: &str =
    "static void product(int n, const int *row, const int *col, const int *e, const int *from, int *to)
{
    for (int i = 0; i < n; i++) {
        int sum = 0;
        for (int k = row[i]; k < row[i + 1]; k++)
            sum += e[k] * from[col[k]];
        to[i] = sum & 255;
    }
}

";
const FLAT: [&str; 3] = ["a", "b", "c"];

struct Writer {
    rng: Rng,
    out: String,
    depth: usize,
    names: usize,
    has_product: bool,
}

impl Writer {
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{}{text}", "    ".repeat(self.depth));
    }

    fn open(&mut self, text: &str) {
        self.line(&format!("{text} {{"));
        self.depth += 1;
    }

    fn close(&mut self) {
        self.depth -= 1;
        self.line("}");
    }

    fn pick(&mut self, of: &[&str]) -> String {
        (*self.rng.pick(of)).to_owned()
    }

    fn function(&mut self, keyword: &str) {
        let array = |name: &str| format!("int *{}{name}", if keyword.is_empty() { "" } else { "restrict " });
        let read = |name: &str| format!("const {}", array(name));
        let arrays = [read("row"), array("col"), read("e"), array("a"), array("b"), array("c")].join(", ");
        let _ = writeln!(self.out, "int f(int n, int rounds, int start, {arrays})\n{{");
        self.line("int r = start & 63, s = 1;");
        if self.rng.chance(60) {
            self.nest("1");
        }
        self.host_loop();
        if self.rng.chance(25) {
            self.nest("s");
        }
        let result = self.pick(&["r", "r + s", "r + a[n / 2]", "b[1] + c[n - 1]"]);
        self.line(&format!("return {result};"));
        self.out.push_str("}\n");
    }

    fn host_loop(&mut self) {
        let head = match self.rng.below(5) {
            0 => "for (int t = rounds; t > 0; t--)".to_owned(),
            1 => "for (int t = 0; t < 4; t++)".to_owned(),
            2 => {
                self.line("int t = 0;");
                "while (t < rounds && r < 900)".to_owned()
            }
            _ => "for (int t = 0; t < rounds; t++)".to_owned(),
        };
        self.open(&head);
        for _ in 0..1 + self.rng.below(4) {
            self.statement();
        }
        if head.starts_with("while") {
            self.line("t++;");
        }
        self.close();
    }

    fn statement(&mut self) {
        match self.rng.below(14) {
            0 => {
                let when = self.pick(&["t == 2", "r > 30", "(s & 1) == 0", "n > 6"]);
                self.open(&format!("if ({when})"));
                self.nest("t");
                self.close();
            }
            1 => {
                let when = self.pick(&["r > 200", "s == 13", "t > 2"]);
                self.line(&format!("if ({when}) break;"));
            }
            2 | 3 => {
                let x = self.pick(&FLAT);
                self.line("r = 0;");
                self.line(&format!("for (int i = 0; i < n; i++) r += {x}[i] & 15;"));
            }
            4 => {
                let line = self.pick(&["s = (s * 5 + r) & 63;", "r = r / 2 + s;"]);
                self.line(&line);
            }
            5 => {
                let (p, q) = *self.rng.pick(&[("a", "b"), ("b", "c")]);
                self.names += 1;
                let hold = format!("hold{}", self.names);
                self.line(&format!("int *{hold} = {p}; {p} = {q}; {q} = {hold};"));
            }
            6 => {
                let (x, y) = (self.pick(&FLAT), self.pick(&FLAT));
                self.line(&format!("for (int i = 0; i < n; i++) {x}[i] = ({y}[i] * 3 + t) & 127;"));
            }
            7 if self.rng.chance(30) => {
                self.line("for (int i = 0; i < n; i++) col[i] = (col[i] + 1) % n;");
            }
            _ => self.nest("t"),
        }
    }

    /// A loop that goes through other arrays.
    fn nest(&mut self, t: &str) {
        let to = self.rng.below(3);
        let from = (to + 1 + self.rng.below(2)) % 3;
        let (to, from) = (FLAT[to], FLAT[from]);
        let low = self.pick(&["0", "0", "0", "1", "s & 1", "n / 2"]);
        match self.rng.below(8) {
            0 | 1 => {
                self.has_product = true;
                let count = self.pick(&["n", "n", "n - 1"]);
                self.line(&format!("product({count}, row, col, e, {from}, {to});"));
            }
            2 | 3 => {
                self.open(&format!("for (int i = {low}; i < n; i++)"));
                self.line("int sum = 0;");
                let step = self.pick(&["k++", "k++", "k += 2"]);
                self.open(&format!("for (int k = row[i]; k < row[i + 1]; {step})"));
                let part =
                    self.pick(&["e[k] * F[col[k]]", "F[col[k]]", "e[k]", "(e[k] > 2 ? F[col[k]] : 1)"]);
                self.line(&format!("sum += {};", part.replace('F', from)));
                self.close();
                self.line(&format!("{to}[i] = (sum + {t}) & 255;"));
                self.close();
            }
            4 => {
                let when = self.pick(&["col[i] > 3", "e[i] != 0", "b[i] > 20"]);
                self.open(&format!("for (int i = {low}; i < n; i++)"));
                self.line(&format!("if ({when}) {to}[i] = ({from}[col[i]] + {t}) & 127;"));
                self.close();
            }
            5 => {
                self.open(&format!("for (int i = {low}; i < n; i++)"));
                self.line(&format!("{to}[i] = (e[row[i]] + {from}[i] + {t}) & 127;"));
                self.close();
            }
            6 => {
                self.line("r = 0;");
                self.line(&format!("for (int i = {low}; i < n; i++) r += {from}[col[i]] & 7;"));
            }
            _ => {
                self.open(&format!("for (int i = {low}; i < n; i++)"));
                self.line(&format!("{to}[i] = ({from}[col[i]] * 3 + {t}) & 127;"));
                self.close();
            }
        }
    }
}
