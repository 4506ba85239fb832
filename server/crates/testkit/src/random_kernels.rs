//! Kernels nobody wrote: nested branches, loops with jumps, barriers, values from indices, parameters and memory.
//!
//! Every kernel ends, stays inside its arrays and overflows nowhere, so that whatever the simulator reports of one is about its
//! barriers and races. Deliberately absent: any care that barriers are reached by all, or that accesses do not race.

use crate::rng::Rng;

/// Elements of `a`, `b` and the shared array: subscripts are masked to them.
pub const ELEMENTS: usize = 64;

/// Text of a kernel `k(int *a, const int *__restrict__ b, int n, int m)`. `careful`: barriers stand only where nothing around
/// them depends on the thread, and no thread ends early.
pub fn kernel(rng: &mut Rng, careful: bool) -> String {
    let mut g =
        Generator { rng, careful, divided: 0, out: String::new(), loops: 0, names: 0, indent: 1, depth: 0 };
    g.line("int t = threadIdx.x;");
    g.line("int g = blockIdx.x * blockDim.x + threadIdx.x;");
    for v in VARIABLES {
        let e = g.expression(2);
        g.line(&format!("int {v} = ({e}) & 31;"));
    }
    let statements = 3 + g.rng.below(5);
    for _ in 0..statements {
        g.statement();
    }
    format!(
        "extern \"C\" __global__ void k(int *a, const int *__restrict__ b, int n, int m) {{\n    __shared__ int s[{ELEMENTS}];\n    if (threadIdx.x < {ELEMENTS}) s[threadIdx.x] = threadIdx.x;\n{}    a[g & 63] = x + y + z;\n}}\n",
        g.out
    )
}

const VARIABLES: [&str; 3] = ["x", "y", "z"];

struct Generator<'r> {
    rng: &'r mut Rng,
    careful: bool,
    /// Open statements whose condition may depend on the thread.
    divided: u32,
    out: String,
    /// Open loops.
    loops: u32,
    names: u32,
    indent: usize,
    depth: u32,
}

impl Generator<'_> {
    fn line(&mut self, text: &str) {
        self.out.push_str(&"    ".repeat(self.indent));
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.rng.below(list.len())]
    }

    /// A value between 0 and a few thousand.
    fn expression(&mut self, depth: u32) -> String {
        if depth == 0 || self.rng.below(3) == 0 {
            return match self.rng.below(12) {
                0 | 1 => "t".to_owned(),
                2 => "g".to_owned(),
                3 | 4 => "n".to_owned(),
                5 => "m".to_owned(),
                6 => self
                    .pick(&["(int)blockIdx.x", "(int)blockDim.x", "(int)gridDim.x", "(int)threadIdx.y"])
                    .to_owned(),
                7 => self.rng.below(9).to_string(),
                _ if self.out.contains("int z") => self.pick(&VARIABLES).to_owned(),
                _ => "t / 32".to_owned(),
            };
        }
        let a = self.expression(depth - 1);
        match self.rng.below(9) {
            0 | 1 => format!("({a} + {})", self.expression(depth - 1)),
            2 => format!("({a} & {})", self.pick(&["1", "3", "7", "31", "32"])),
            3 => format!("({a} % {})", 2 + self.rng.below(5)),
            4 => format!("({a} / {})", self.pick(&["2", "32", "3"])),
            5 => format!("(({a} & 15) * {})", self.expression(0).replace('g', "t")) + " % 64",
            6 => format!("b[({a}) & 63] % 8"),
            7 => {
                let array = self.pick(&["a", "s", "b"]);
                format!("({array}[({a}) & 63] & 7)")
            }
            _ => {
                let c = self.condition(0);
                format!("({c} ? {a} : {})", self.expression(depth - 1))
            }
        }
    }

    fn condition(&mut self, depth: u32) -> String {
        let a = self.expression(1 + depth);
        let op = self.pick(&["<", "<=", ">", "==", "!="]);
        let b = self.expression(depth);
        let one = format!("({a}) {op} ({b})");
        match self.rng.below(6) {
            0 if depth > 0 => format!("({one}) && ({})", self.condition(depth - 1)),
            1 if depth > 0 => format!("({one}) || ({})", self.condition(depth - 1)),
            _ => one,
        }
    }

    /// A condition, and whether it may depend on the thread.
    fn decide(&mut self, depth: u32) -> (String, u32) {
        if self.careful && self.rng.below(2) == 0 {
            let (a, b) = (self.pick(&["n", "m", "(int)blockIdx.x"]), self.rng.below(40));
            return (format!("{a} > {b}"), 0);
        }
        (self.condition(depth), 1)
    }

    fn block(&mut self) {
        self.indent += 1;
        self.depth += 1;
        for _ in 0..1 + self.rng.below(3) {
            self.statement();
        }
        self.depth -= 1;
        self.indent -= 1;
    }

    fn statement(&mut self) {
        let choice = if self.depth > 2 { self.rng.below(6) } else { self.rng.below(14) };
        match choice {
            0 | 1 => {
                let v = self.pick(&VARIABLES);
                let e = self.expression(2);
                self.line(&format!("{v} = ({e}) & 31;"));
            }
            2 => {
                let (i, e) = (self.expression(1), self.expression(1));
                let array = self.pick(&["a", "s", "s"]);
                self.line(&format!("{array}[({i}) & 63] = ({e}) & 31;"));
            }
            3..=5 if self.careful && self.divided > 0 => self.line("z = (x + y) & 31;"),
            12 if self.careful => self.line("y = (y + 1) & 31;"),
            3 | 4 => self.line("__syncthreads();"),
            5 => {
                let v = self.pick(&VARIABLES);
                let c = self.condition(0);
                let f = self.pick(&["__syncthreads_or", "__syncthreads_and", "__syncthreads_count"]);
                self.line(&format!("{v} = {f}({c});"));
            }
            6..=8 => {
                let (c, divided) = self.decide(1);
                self.divided += divided;
                self.line(&format!("if ({c}) {{"));
                self.block();
                if self.rng.below(2) == 0 {
                    self.line("} else {");
                    self.block();
                }
                self.divided -= divided;
                self.line("}");
            }
            9 | 10 => {
                let uniform = self.careful && self.rng.below(2) == 0;
                let (from, to) = match uniform {
                    true => ("0".to_owned(), self.pick(&["n", "m", "3"]).to_owned()),
                    false => (self.expression(0), self.expression(1)),
                };
                self.divided += !uniform as u32;
                self.names += 1;
                let i = format!("i{}", self.names);
                self.line(&format!("for (int {i} = ({from}) & 3; {i} < (({to}) & 7); {i}++) {{"));
                self.loops += 1;
                self.block();
                if !uniform && self.rng.below(3) == 0 {
                    let (c, jump) = (self.condition(0), self.pick(&["break", "continue"]));
                    self.indent += 1;
                    self.line(&format!("if ({c}) {jump};"));
                    self.statement();
                    self.indent -= 1;
                }
                self.loops -= 1;
                self.divided -= !uniform as u32;
                self.line("}");
            }
            11 => {
                let (c, divided) = self.decide(0);
                self.divided += divided;
                self.names += 1;
                let i = format!("i{}", self.names);
                self.line(&format!("int {i} = 0;"));
                self.line(&format!("do {{ {i}++;"));
                self.block();
                self.divided -= divided;
                self.line(&format!("}} while ({i} < 3 && ({c}));"));
            }
            12 => {
                let c = self.condition(0);
                self.line(&format!("if ({c}) return;"));
            }
            _ => {
                let (v, e) = (self.expression(1), self.expression(1));
                self.divided += 1;
                self.line(&format!("switch (({v}) & 3) {{"));
                self.line("case 0:");
                self.block();
                self.line("break;");
                self.line("case 1:");
                self.block();
                self.line("default:");
                self.line(&format!("x = ({e}) & 31;"));
                self.divided -= 1;
                self.line("}");
            }
        }
    }
}
