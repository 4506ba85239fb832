//! The methods themselves.

use std::fmt::Write;

use super::{Method, Of, Param, Shape};
use crate::rng::Rng;

/// An index in scope, and up to where it goes.
#[derive(Clone)]
struct Index {
    name: String,
    /// What bounds it, as the text of a length.
    bound: String,
}

struct Maker {
    rng: Rng,
    params: Vec<Param>,
    /// `int`s in scope that statements may set, and those they may not.
    free: Vec<String>,
    indices: Vec<Index>,
    /// Loop variables of element type: their values can be read.
    made: usize,
    out: String,
    depth: usize,
    helpers: bool,
}

/// A method of its seed; `size`: statements, about.
pub fn generate(seed: u64, size: usize) -> Method {
    let mut rng = Rng::new(seed ^ 0xC5);
    let mut params = vec![
        Param { name: "n".into(), of: Of::Int, shape: Shape::Number },
        Param { name: "m".into(), of: Of::Int, shape: Shape::Number },
        Param { name: "a".into(), of: Of::Int, shape: Shape::Array },
    ];
    for name in ["b", "c", "d"] {
        let of = match rng.below(3) {
            0 => Of::Int,
            1 => Of::Double,
            _ => *rng.pick(&Of::ALL),
        };
        params.push(Param { name: name.into(), of, shape: Shape::Array });
    }
    if rng.chance(40) {
        let of = *rng.pick(&[Of::Int, Of::Double, Of::Byte]);
        params.push(Param { name: "g".into(), of, shape: Shape::Rectangle });
        if rng.chance(50) {
            params.push(Param { name: "h".into(), of, shape: Shape::Rectangle });
        }
    }
    if rng.chance(35) {
        let of = *rng.pick(&[Of::Int, Of::Double]);
        params.push(Param { name: "r".into(), of, shape: Shape::Rows });
    }
    let helpers = rng.chance(25);
    let mut maker = Maker {
        rng,
        params,
        free: Vec::new(),
        indices: Vec::new(),
        made: 0,
        out: String::new(),
        depth: 2,
        helpers,
    };
    maker.line("int s = 0;");
    maker.free.push("s".into());
    if maker.rng.chance(40) {
        maker.line("double w = 0;");
    }
    if maker.rng.chance(30) {
        let v = maker.int(1);
        maker.line(&format!("int t = {v};"));
        maker.free.push("t".into());
    }
    if maker.rng.chance(20) {
        maker.guard();
    }
    let loops = 1 + maker.rng.below(2);
    for _ in 0..loops {
        maker.a_loop(size);
    }
    maker.line("return s;");
    let helper = "    static int H(int x) { return x * 3 - 1; }\n    static double K(double x, int k) { return x > k ? x - k : x * 0.5; }\n    static int Q(int[] v, int k) { return v[k] + 1; }\n    static int W(int x) { return x * x - 2; }\n    static int W(int x, int y) { return x < y ? y - x : x / (y | 1); }\n    static int W(int[] v, int k, int e) { return v[k] * e; }\n    static void W(int[] v, int k, int e, int z) { v[k] = e + z; }\n    static int P { get { return 7; } }\n";
    Method {
        seed,
        params: maker.params,
        returns: Of::Int,
        helpers: if helpers { helper.into() } else { String::new() },
        body: maker.out,
    }
}

/// Whether a member is used that is read in the place of its use.
fn is_inlined(text: &str) -> bool {
    text.contains("W(") || text.split(|c: char| !c.is_alphanumeric()).any(|w| w == "P")
}

impl Maker {
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{}{text}", "    ".repeat(self.depth));
    }

    fn fresh(&mut self, stem: &str) -> String {
        self.made += 1;
        format!("{stem}{}", self.made)
    }

    fn array(&mut self, wanted: impl Fn(&Param) -> bool) -> Option<Param> {
        let all: Vec<Param> = self.params.iter().filter(|p| wanted(p)).cloned().collect();
        (!all.is_empty()).then(|| self.rng.pick(&all).clone())
    }

    /// `if (n > a.Length) return 0;`
    fn guard(&mut self) {
        let p = self.array(|p| p.shape == Shape::Array).map_or("a".into(), |p| p.name);
        let text = match self.rng.below(4) {
            0 => format!("if (n > {p}.Length) return -1;"),
            1 => format!("if ({p} == null || {p}.Length < n) return -2;"),
            2 => format!("if (m < 1 || {p}.Length < n * m) return -3;"),
            _ => "if (a == b2) return 1;".replace("b2", "null"),
        };
        self.line(&text);
    }

    /// What a loop runs up to.
    fn bound(&mut self) -> String {
        let rows = self.array(|p| p.shape == Shape::Rows);
        if let Some(p) = rows.filter(|_| !self.indices.is_empty() && self.rng.chance(40)) {
            return format!("{}[{}].Length", p.name, self.index());
        }
        match self.rng.below(12) {
            0..=2 => "n".into(),
            3 => "m".into(),
            4..=6 => {
                let p = self.array(|p| p.shape == Shape::Array).map_or("a".into(), |p| p.name);
                format!("{p}.Length")
            }
            7 => {
                let p = self.array(|p| p.shape == Shape::Array).map_or("a".into(), |p| p.name);
                format!("{p}.Length - 1")
            }
            8 => (2 + self.rng.below(6)).to_string(),
            9 | 10 => match self.array(|p| p.shape == Shape::Rectangle) {
                Some(p) => format!("{}.GetLength({})", p.name, self.rng.below(2)),
                None => "n".into(),
            },
            _ => match (self.array(|p| p.shape == Shape::Rows), self.indices.last().cloned()) {
                (Some(p), None) => format!("{}.Length", p.name),
                (Some(p), Some(i)) => format!("{}[{}].Length", p.name, i.name),
                _ => "n - 1".into(),
            },
        }
    }

    fn a_loop(&mut self, size: usize) {
        let i = self.fresh("i");
        let bound = self.bound();
        let first = self.rng.pick(&["0", "0", "0", "0", "1", "2", "m"]).to_string();
        let header = match self.rng.below(20) {
            0..=10 => format!("for (int {i} = {first}; {i} < {bound}; {i}++)"),
            11 => format!("for (int {i} = {first}; {i} < {bound}; {i} += 2)"),
            12 => format!("for (int {i} = {bound} - 1; {i} >= 0; {i}--)"),
            13 => format!("for (int {i} = {first}; {i} <= {bound}; {i}++)"),
            14 => format!("for (long {i} = 0; {i} < {bound}; {i}++)"),
            15 => format!("for (byte {i} = 0; {i} < {bound}; {i}++)"),
            16 => {
                self.line(&format!("int {i} = {first};"));
                format!("for (; {i} < {bound}; ++{i})")
            }
            17 => {
                self.line(&format!("int {i} = {first};"));
                self.line(&format!("while ({i} < {bound})"));
                self.line("{");
                self.inside(size, &i, &bound);
                self.depth += 1;
                self.line(&format!("{i}++;"));
                self.depth -= 1;
                return self.line("}");
            }
            18 => return self.foreach(size),
            _ => format!("for (int {i} = 0; {i} < {bound} && {i} < {}; {i}++)", 3 + self.rng.below(9)),
        };
        self.line(&header);
        self.line("{");
        self.inside(size, &i, &bound);
        self.line("}");
    }

    fn foreach(&mut self, size: usize) {
        let Some(p) = self.array(|p| p.shape == Shape::Array) else { return };
        let x = self.fresh("x");
        self.line(&format!("foreach ({} {x} in {})", p.of.name(), p.name));
        self.line("{");
        let text = match p.of {
            Of::Int | Of::Short | Of::Byte | Of::SByte | Of::UShort => x.clone(),
            _ => format!("(int){x}"),
        };
        let float = p.of.is_float();
        self.depth += 1;
        let known = self.free.len();
        let y = self.fresh("y");
        match float {
            true => self.line(&format!("int {y} = {x} > 1 ? 2 : 0;")),
            false => self.line(&format!("int {y} = {text};")),
        }
        self.free.push(y);
        self.statements(size.min(3));
        self.free.truncate(known);
        self.depth -= 1;
        self.line("}");
    }

    fn inside(&mut self, size: usize, i: &str, bound: &str) {
        let known = self.free.len();
        self.indices.push(Index { name: i.into(), bound: bound.into() });
        self.depth += 1;
        let count = 1 + self.rng.below(3);
        self.statements(count.min(size));
        self.depth -= 1;
        self.indices.pop();
        self.free.truncate(known);
    }

    fn statements(&mut self, count: usize) {
        for _ in 0..count {
            self.statement();
        }
    }

    fn statement(&mut self) {
        let nested = self.indices.len();
        match self.rng.below(24) {
            0..=7 => self.store(),
            8 | 9 => {
                let v = self.fresh("v");
                let e = self.int(2);
                self.line(&format!("int {v} = {e};"));
                self.free.push(v);
            }
            10 | 11 => {
                let (op, e) = (*self.rng.pick(&["+=", "+=", "-=", "*=", "^=", "|="]), self.int(1));
                self.line(&format!("s {op} {e};"));
            }
            12 => {
                let e = self.int(1);
                self.line(&format!("if ({e} > s) s = {e};"));
            }
            13 | 14 => {
                let c = self.condition();
                self.line(&format!("if ({c})"));
                self.block(1);
                if self.rng.chance(30) {
                    self.line("else");
                    self.block(1);
                }
            }
            15..=17 if nested < 3 => self.a_loop(2),
            18 => {
                let c = self.condition();
                let jump = if self.rng.chance(80) { "continue" } else { "break" };
                // in a `while` it would never end
                match self.out.lines().any(|l| l.trim_start().starts_with("while")) {
                    true => self.store(),
                    false if self.indices.is_empty() => self.store(),
                    false => self.line(&format!("if ({c}) {jump};")),
                }
            }
            19 => self.swap(),
            20 if self.helpers && self.rng.chance(60) => {
                let (k, e, z) = (self.index_as_int(), self.leaf(), self.leaf());
                self.line(&format!("W(a, {k}, {e}, {z});"));
            }
            20 => {
                let (t, e) = (self.fresh("t"), self.int(1));
                self.line(&format!("int[] {t} = new int[4];"));
                self.line(&format!("{t}[{}] = {e};", self.made % 4));
                self.line(&format!("s += {t}[{}];", (self.made + 1) % 4));
            }
            21 => {
                let e = self.int(1);
                let v = self.free.last().cloned().unwrap_or("s".into());
                self.line(&format!("{v} = {e};"));
            }
            22 if self.indices.len() == 1 => {
                // an index that moves along
                let (k, e) = (self.fresh("k"), self.int(1));
                self.line(&format!("int {k} = s & 7;"));
                self.line(&format!("a[{k}] += {e};"));
            }
            _ => self.store(),
        }
    }

    fn block(&mut self, count: usize) {
        self.line("{");
        self.depth += 1;
        let known = self.free.len();
        self.statements(count);
        self.free.truncate(known);
        self.depth -= 1;
        self.line("}");
    }

    fn swap(&mut self) {
        let Some(p) = self.array(|p| p.shape == Shape::Array) else { return };
        let (x, y) = (self.subscript(&p.name), self.subscript(&p.name));
        let t = self.fresh("t");
        let name = &p.name;
        self.line(&format!("{} {t} = {name}[{x}];", p.of.name()));
        self.line(&format!("{name}[{x}] = {name}[{y}];"));
        self.line(&format!("{name}[{y}] = {t};"));
    }

    /// `a[i] = e;`, `a[i] += e;`, `a[i]++;`
    fn store(&mut self) {
        let Some(p) = self.array(|p| p.shape != Shape::Number) else { return };
        let place = match p.shape == Shape::Rows && self.rng.chance(40) {
            // a row in a variable
            true => {
                let (row, i) = (self.fresh("q"), self.subscript(&p.name));
                self.line(&format!("{}[] {row} = {}[{i}];", p.of.name(), p.name));
                format!("{row}[{}]", self.subscript(&p.name))
            }
            false => self.place(&p),
        };
        let narrow = p.of != Of::Int;
        if self.rng.chance(12) {
            let op = if self.rng.chance(60) { "++" } else { "--" };
            return self.line(&format!("{place}{op};"));
        }
        if self.rng.chance(35) {
            let op = *self.rng.pick(&["+=", "+=", "-=", "*="]);
            let e = self.of_type(p.of, 2);
            return self.line(&format!("{place} {op} {e};"));
        }
        let e = self.of_type(p.of, 2);
        let e = match self.rng.chance(6) && !p.of.is_float() && !is_inlined(&e) {
            true if narrow => format!("checked(({})({e}))", p.of.name()),
            true => format!("checked({e} + {})", self.leaf()),
            false => e,
        };
        self.line(&format!("{place} = {e};"));
    }

    fn place(&mut self, p: &Param) -> String {
        match p.shape {
            Shape::Number => p.name.clone(),
            Shape::Array => format!("{}[{}]", p.name, self.subscript(&p.name)),
            Shape::Rectangle => {
                let (i, j) = (self.subscript(&p.name), self.subscript(&p.name));
                format!("{}[{i}, {j}]", p.name)
            }
            Shape::Rows => {
                let (i, j) = (self.subscript(&p.name), self.subscript(&p.name));
                format!("{}[{i}][{j}]", p.name)
            }
        }
    }

    fn index(&mut self) -> String {
        match self.indices.len() {
            0 => self.rng.below(3).to_string(),
            k => {
                let k = if self.rng.chance(70) { k - 1 } else { self.rng.below(k) };
                self.indices[k].name.clone()
            }
        }
    }

    fn subscript(&mut self, array: &str) -> String {
        let i = self.index();
        match self.rng.below(22) {
            0..=9 => i,
            10 => format!("{i} + {}", 1 + self.rng.below(2)),
            11 => format!("{i} - 1"),
            12 => format!("n - 1 - {i}"),
            13 => format!("2 * {i}"),
            14 if self.indices.len() > 1 => {
                let (x, y) = (self.indices[0].name.clone(), self.indices[1].name.clone());
                format!("{x} * {} + {y}", self.rng.pick(&["m", "4", "n"]).to_owned())
            }
            15 => format!("{i} / 2"),
            16 => format!("{i} % 3"),
            17 => format!("{i} ^ 1"),
            18 => format!("a[{i}]"),
            19 => format!("{i} & 7"),
            20 if array.len() == 1 && self.rng.chance(50) => self.rng.below(4).to_string(),
            _ => i,
        }
    }

    /// An expression of this type.
    fn of_type(&mut self, of: Of, depth: usize) -> String {
        match of {
            Of::Int => self.int(depth),
            Of::Double => self.real(depth),
            Of::Float => format!("(float)({})", self.real(depth)),
            Of::Long => {
                let e = self.int(depth);
                match self.rng.chance(40) {
                    true => format!("{}L * ({e})", 1 + self.rng.below(9)),
                    false => format!("({e}) * 1000000007L"),
                }
            }
            _ => format!("({})({} * {})", of.name(), self.leaf(), self.int(depth)),
        }
    }

    /// A number that is no constant.
    fn leaf(&mut self) -> String {
        match self.rng.below(10) {
            0..=3 => match self.indices.len() {
                0 => "n".into(),
                _ => {
                    let i = self.index();
                    format!("(int){i}")
                }
            },
            4 => "n".into(),
            5 => "m".into(),
            6 => {
                let k = self.rng.below(self.free.len());
                self.free[k].clone()
            }
            _ => match self.array(|p| p.shape != Shape::Number && !p.of.is_float()) {
                Some(p) => {
                    let place = self.place(&p);
                    match p.of {
                        Of::UInt | Of::Long => format!("(int){place}"),
                        _ => place,
                    }
                }
                None => "n".into(),
            },
        }
    }

    fn constant(&mut self) -> String {
        self.rng.pick(&["1", "2", "3", "5", "7", "100", "255", "2147483647", "-1", "40000"]).to_string()
    }

    fn int(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.leaf();
        }
        let d = depth - 1;
        match self.rng.below(20) {
            0..=3 => self.leaf(),
            4..=8 => {
                let op = *self.rng.pick(&["+", "+", "-", "*", "&", "|", "^"]);
                let right = if self.rng.chance(45) { self.constant() } else { self.int(d) };
                format!("({} {op} {right})", self.int(d))
            }
            9 => {
                let op = *self.rng.pick(&["/", "%"]);
                let right = match self.rng.chance(75) {
                    true => (2 + self.rng.below(7)).to_string(),
                    false => self.leaf(),
                };
                format!("({} {op} {right})", self.int(d))
            }
            10 => {
                let op = *self.rng.pick(&["<<", ">>"]);
                let by = if self.rng.chance(60) { self.rng.below(40).to_string() } else { self.leaf() };
                format!("({} {op} {by})", self.int(d))
            }
            11 => format!("-({})", self.int(d)),
            12 => format!("~({})", self.int(d)),
            13 => format!("({} ? {} : {})", self.condition(), self.int(d), self.int(d)),
            14 => format!(
                "Math.{}({}, {})",
                self.rng.pick(&["Max", "Min"]).to_owned(),
                self.int(d),
                self.int(d)
            ),
            15 => match self.rng.below(4) {
                0 => format!("Math.Sign({})", self.leaf()),
                1 => format!(
                    "Math.Clamp((int)({}), {}, {})",
                    self.leaf(),
                    self.rng.pick(&["0", "-7", "3"]),
                    3 + self.rng.below(200)
                ),
                _ => format!("Math.Abs({})", self.int(d)),
            },
            16 => format!("unchecked({} * {})", self.int(d), self.constant()),
            17 if self.rng.chance(20) => {
                let (x, y) = (self.int(d), self.int(d));
                // under `checked` no member is read in the place of its use
                match is_inlined(&x) || is_inlined(&y) {
                    true => format!("({x} + {y})"),
                    false => format!("checked({x} + {y})"),
                }
            }
            18 if self.helpers => match self.rng.below(10) {
                0..=3 => format!("H({})", self.int(d)),
                4 => format!("Q(a, {})", self.index_as_int()),
                5 => format!("W({})", self.leaf()),
                6 | 7 => format!("W({}, {})", self.index_as_int(), self.rng.pick(&["n", "m", "3", "s - n"])),
                8 => format!("W(a, {}, {})", self.index_as_int(), self.leaf()),
                _ => "P".into(),
            },
            19 => format!(
                "(int)({})({})",
                self.rng.pick(&["byte", "short", "sbyte", "long"]).to_owned(),
                self.int(d)
            ),
            _ => self.leaf(),
        }
    }

    fn index_as_int(&mut self) -> String {
        format!("(int)({})", self.index())
    }

    fn real(&mut self, depth: usize) -> String {
        if depth == 0 {
            return match self.array(|p| p.shape != Shape::Number && p.of == Of::Double) {
                Some(p) if self.rng.chance(70) => self.place(&p),
                _ => format!("(double){}", self.leaf()),
            };
        }
        let d = depth - 1;
        match self.rng.below(9) {
            0..=3 => {
                let op = *self.rng.pick(&["+", "-", "*", "/"]);
                format!("({} {op} {})", self.real(d), self.real(d))
            }
            4 => format!("Math.Sqrt(Math.Abs({}))", self.real(d)),
            5 => format!("({} ? {} : 0.25)", self.condition(), self.real(d)),
            6 => match self.rng.below(5) {
                0 => format!("Math.Max({}, {})", self.real(d), self.real(0)),
                1 => format!("Math.Min({}, {})", self.real(d), self.real(0)),
                2 => format!("Math.Floor({})", self.real(d)),
                _ => format!("{} * 0.5", self.real(d)),
            },
            7 if self.helpers => format!("K({}, {})", self.real(d), self.int(0)),
            _ => self.real(0),
        }
    }

    fn condition(&mut self) -> String {
        match self.rng.below(7) {
            // what proves that a subscript is one
            0 | 1 if !self.indices.is_empty() => {
                let p = self.array(|p| p.shape == Shape::Array).map_or("a".into(), |p| p.name);
                let i = self.index();
                format!("{i} + {} < {p}.Length", 1 + self.rng.below(2))
            }
            2 => {
                let i = self.index();
                format!("{i} > 0")
            }
            3 => format!("({} & 1) == 0", self.leaf()),
            4 if !self.indices.is_empty() => {
                let k = self.rng.below(self.indices.len());
                let i = self.indices[k].clone();
                format!("{} + 1 < {}", i.name, i.bound)
            }
            _ => {
                let op = *self.rng.pick(&["<=", ">=", "==", "!="]);
                format!("({} + 0) {op} {}", self.leaf(), self.leaf())
            }
        }
    }
}
