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
        "{TABLE}extern \"C\" __global__ void k(int *a, const int *__restrict__ b, int n, int m) {{\n    __shared__ int s[{ELEMENTS}];\n    if (threadIdx.x < {ELEMENTS}) s[threadIdx.x] = threadIdx.x;\n{}    a[g & 63] = x + y + z;\n}}\n",
        g.out
    )
}

/// A table in constant memory that every kernel has.
const TABLE: &str = "__constant__ int c[64] = {5, 9, 2, 30, 17, 4, 8, 1, 3, 31, 0, 6, 12, 24, 7, 19};\n";

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
                let array = self.pick(&["a", "s", "b", "c"]);
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

/// Text of a kernel `k(int *a, const int *__restrict__ b, int n, int m)` whose accesses are mostly affine in the thread's
/// indices and mostly guarded, with uniform barriers, loops with barriers in them, atomics and warp barriers: many of them
/// have no race, and many do.
pub fn racing_kernel(rng: &mut Rng) -> String {
    let mut g = Generator {
        rng,
        careful: true,
        divided: 0,
        out: String::new(),
        loops: 0,
        names: 0,
        indent: 1,
        depth: 0,
    };
    g.line("int t = threadIdx.x;");
    g.line("int g = blockIdx.x * blockDim.x + threadIdx.x;");
    g.line("int x = 1, y = 2, z = 3;");
    // a kernel that names one axis may be launched with two
    match g.rng.below(4) {
        0 => g.line("for (int i = t; i < 64; i += blockDim.x) s[i] = b[i];"),
        _ => g.line(
            "for (int i = t + blockDim.x * threadIdx.y; i < 64; i += blockDim.x * blockDim.y) s[i] = i;",
        ),
    }
    g.line("__syncthreads();");
    for _ in 0..2 + g.rng.below(4) {
        g.racing(&[]);
    }
    format!(
        "__device__ void put(int *p, int at, int v) {{\n    p[at & 63] = v;\n}}\n\
         {TABLE}extern \"C\" __global__ void k(int *a, const int *__restrict__ b, int n, int m) {{\n    __shared__ int s[{ELEMENTS}];\n{}}}\n",
        g.out
    )
}

impl Generator<'_> {
    /// A subscript from 0 to 63: of the thread's own place, a neighbour's, a mirrored one, any.
    fn subscript(&mut self, loops: &[String]) -> String {
        let own = self.pick(&["t", "t", "t", "g"]).to_owned();
        let inner = match self.rng.below(14) {
            0..=4 => own,
            5 => format!("{own} + {}", 1 + self.rng.below(33)),
            6 => format!("63 - {own}"),
            7 => format!("{own} ^ {}", self.pick(&["1", "2", "16", "32"])),
            8 => format!("2 * {own}"),
            9 => "blockIdx.x".to_owned(),
            10 => self.rng.below(4).to_string(),
            11 => format!("t % {}", self.pick(&["32", "4", "3"])),
            12 => "b[t & 63]".to_owned(),
            _ => "n".to_owned(),
        };
        match loops.last() {
            Some(i) if self.rng.below(2) == 0 => format!("({inner} + {i}) & 63"),
            _ => format!("({inner}) & 63"),
        }
    }

    fn racing(&mut self, loops: &[String]) {
        let choice = if self.depth > 2 { self.rng.below(9) } else { self.rng.below(16) };
        let array = self.pick(&["s", "s", "s", "a"]);
        match choice {
            0 | 1 => {
                let i = self.subscript(loops);
                let v = self.pick(&["x", "t", "y + z", "7"]);
                self.line(&format!("{array}[{i}] = {v};"));
            }
            2 | 3 => {
                let i = self.subscript(loops);
                let (v, with) = (self.pick(&VARIABLES), self.pick(&["s", "s", "a", "b", "c"]));
                self.line(&format!("{v} = {with}[{i}];"));
            }
            4 => {
                let i = self.subscript(loops);
                let j = self.subscript(loops);
                self.line(&format!("{array}[{i}] += {array}[{j}] & 7;"));
            }
            5 => {
                let i = self.subscript(loops);
                self.line(&format!("atomicAdd(&{array}[{i}], 1);"));
            }
            6 if self.divided == 0 => self.line("__syncwarp();"),
            6 => {
                let i = self.subscript(loops);
                self.line(&format!("put({array}, {i}, x);"));
            }
            7 | 8 | 14 | 15 if self.divided == 0 => self.line("__syncthreads();"),
            7 | 8 | 14 | 15 => {
                let i = self.subscript(loops);
                self.line(&format!("{{ int *p = {array} + ({i}); *p = y; }}"));
            }
            9..=11 => {
                let (c, divided) = match self.rng.below(8) {
                    0 => ("n > 20".to_owned(), 0),
                    1 => ("t < n".to_owned(), 1),
                    2 => ("t < 32".to_owned(), 1),
                    3 => ("t % 2 == 0".to_owned(), 1),
                    4 => ("x > 3".to_owned(), 1),
                    5 => (format!("t == {}", self.rng.below(40)), 1),
                    6 => ("g < n".to_owned(), 1),
                    _ => ("b[t & 63] > 9".to_owned(), 1),
                };
                self.divided += divided;
                self.line(&format!("if ({c}) {{"));
                self.inside(loops);
                if self.rng.below(3) == 0 {
                    self.line("} else {");
                    self.inside(loops);
                }
                self.divided -= divided;
                self.line("}");
            }
            _ => {
                self.names += 1;
                let i = format!("i{}", self.names);
                let header = match self.rng.below(6) {
                    0 => (format!("int {i} = 1; {i} < 64; {i} *= 2"), 0),
                    1 => (format!("int {i} = 16; {i} > 0; {i} >>= 1"), 0),
                    2 => (format!("int {i} = t; {i} < 64; {i} += blockDim.x"), 1),
                    3 => (format!("int {i} = 0; {i} < (n & 7); {i}++"), 0),
                    4 => (format!("int {i} = 0; {i} < (b[{}] & 3); {i}++", self.pick(&["t & 63", "3"])), 1),
                    _ => (format!("int {i} = 0; {i} < 3; {i}++"), 0),
                };
                self.divided += header.1;
                self.line(&format!("for ({}) {{", header.0));
                let mut inner = loops.to_vec();
                inner.push(i);
                self.loops += 1;
                self.inside(&inner);
                if self.rng.below(6) == 0 {
                    let jump = self.pick(&["break", "continue"]);
                    let c = self.pick(&["t > 40", "x > 3", "n > 20"]);
                    // after a jump of some threads no barrier may follow in the loop
                    self.divided += 1;
                    self.line(&format!("    if ({c}) {jump};"));
                    self.inside(&inner);
                    self.divided -= 1;
                }
                self.loops -= 1;
                self.divided -= header.1;
                self.line("}");
            }
        }
    }

    fn inside(&mut self, loops: &[String]) {
        self.indent += 1;
        self.depth += 1;
        for _ in 0..1 + self.rng.below(3) {
            self.racing(loops);
        }
        self.depth -= 1;
        self.indent -= 1;
    }
}

/// Text of a kernel of the same header in which indices, parameters and loops over them decide nearly everything: values
/// through variables, functions and pointers, `while`, `switch`, jumps, and now and then a value out of memory.
pub fn stepping_kernel(rng: &mut Rng) -> String {
    let mut g = Generator {
        rng,
        careful: true,
        divided: 0,
        out: String::new(),
        loops: 0,
        names: 0,
        indent: 1,
        depth: 0,
    };
    g.line("int t = threadIdx.x + blockDim.x * threadIdx.y;");
    g.line("int g = blockIdx.x * blockDim.x + threadIdx.x;");
    g.line("int u = t, v = g & 7, w = 3;");
    g.line("if (t < 64) s[t] = t;");
    g.line("__syncthreads();");
    for _ in 0..3 + g.rng.below(5) {
        g.stepping(&[]);
    }
    let end = if g.rng.below(4) == 0 { "    if (u > 40) return;\n" } else { "" };
    format!(
        "__device__ int row(int i, int k) {{\n    if (k > i) return k - i;\n    for (int j = 0; j < 3; j++) i += j & k;\n    return i;\n}}\n\
         {TABLE}extern \"C\" __global__ void k(int *a, const int *__restrict__ b, int n, int m) {{\n    __shared__ int s[{ELEMENTS}];\n{}{end}    a[u & 63] = v;\n}}\n",
        g.out
    )
}

impl Generator<'_> {
    fn index(&mut self, loops: &[String]) -> String {
        let one = |g: &mut Self| match loops.last() {
            Some(i) if g.rng.below(2) == 0 => i.clone(),
            _ => g.pick(&["t", "t", "g", "u", "w", "n", "m", "5", "(int)blockIdx.x"]).to_owned(),
        };
        let (a, b) = (one(self), one(self));
        match self.rng.below(8) {
            0 | 1 => a,
            2 => format!("{a} + {b}"),
            3 => format!("{a} * {}", 1 + self.rng.below(9)),
            4 => format!("({a} ^ {b})"),
            5 => format!("(({a} & 63) << {})", self.rng.below(4)),
            6 => format!("({a} & 63) % {}", 2 + self.rng.below(30)),
            _ => format!("({a} > {b} ? {b} : {a} / 2)"),
        }
    }

    fn decision(&mut self, loops: &[String]) -> String {
        let (a, b) = (self.index(loops), self.index(loops));
        match self.rng.below(9) {
            0 => format!("v > {}", self.rng.below(20)),
            1 => format!("(t & {}) == 0", (2 << self.rng.below(5)) - 1),
            2 => format!("t < {}", self.rng.below(70)),
            3 => format!("u != 7 && {a} < ({b})"),
            4 => format!("t % 3 == 1 || {a} == ({b})"),
            5 => "g < n".to_owned(),
            _ => format!("({a}) < ({b})"),
        }
    }

    fn steps(&mut self, loops: &[String]) {
        self.indent += 1;
        self.depth += 1;
        self.divided += 1;
        for _ in 0..1 + self.rng.below(3) {
            self.stepping(loops);
        }
        self.divided -= 1;
        self.depth -= 1;
        self.indent -= 1;
    }

    fn stepping(&mut self, loops: &[String]) {
        let choice = if self.depth > 2 { self.rng.below(10) } else { self.rng.below(18) };
        let e = self.index(loops);
        match choice {
            0 => self.line(&format!("u = ({e}) & 63;")),
            1 | 2 => {
                let array = self.pick(&["s", "a"]);
                self.line(&format!("{array}[({e}) & 63] = w;"));
            }
            3 => {
                let array = self.pick(&["s", "a", "b", "c"]);
                self.line(&format!("v = (v + {array}[({e}) & 63]) & 31;"));
            }
            4 => {
                let by = self.rng.below(16);
                self.line(&format!(
                    "{{ const int *p = b + (({e}) & 31); p += {by}; v = p[1] & 31; w = *p++ & 7; v += p[-1]; }}"
                ));
            }
            5 => self.line(&format!("u = row(u, ({e}) & 63) & 63;")),
            6 => self.line(&format!("atomicAdd(&s[({e}) & 63], 1);")),
            7 => self.line(&format!(
                "{{ unsigned int h = (unsigned int)({e}) * 2654435761u; w = (h >> 24) + (signed char)u; }}"
            )),
            8 => self.line(&format!("s[({e}) & 63] += u;")),
            9 if self.divided == 0 => self.line("__syncthreads();"),
            9 => self.line("w ^= u & 15;"),
            10..=12 => {
                let c = self.decision(loops);
                self.line(&format!("if ({c}) {{"));
                self.steps(loops);
                if self.rng.below(2) == 0 {
                    self.line("} else {");
                    self.steps(loops);
                }
                self.line("}");
            }
            13 | 14 => {
                self.names += 1;
                let i = format!("i{}", self.names);
                let header = match self.rng.below(5) {
                    0 => format!("int {i} = 1; {i} < 64; {i} *= 2"),
                    1 => format!("int {i} = 32; {i} > 0; {i} >>= 1"),
                    2 => format!("int {i} = t; {i} < 60; {i} += 17"),
                    3 => format!("int {i} = 0; {i} < ({e} & 3); ++{i}"),
                    _ => format!("int {i} = 0, c{i} = n & 7; {i} < c{i}; {i}++, c{i}--"),
                };
                self.line(&format!("for ({header}) {{"));
                self.in_loop(loops, &i);
                self.line("}");
            }
            15 => {
                self.names += 1;
                let i = format!("i{}", self.names);
                self.line(&format!("int {i} = ({e}) & 7;"));
                self.line(&format!("while ({i} > 0) {{ {i}--;"));
                self.in_loop(loops, &i);
                self.line("}");
            }
            16 => {
                self.names += 1;
                let i = format!("i{}", self.names);
                let c = self.decision(loops);
                self.line(&format!("int {i} = 0;"));
                self.line(&format!("do {{ {i}++;"));
                self.in_loop(loops, &i);
                self.line(&format!("}} while ({i} < 4 && ({c}));"));
            }
            _ => {
                self.line(&format!("switch (({e}) & 3) {{"));
                for label in ["case 2:", "case 0:", "default:"] {
                    self.line(label);
                    self.steps(loops);
                    if self.rng.below(2) == 0 {
                        self.line("break;");
                    }
                }
                self.line("}");
            }
        }
    }

    fn in_loop(&mut self, loops: &[String], i: &str) {
        let mut inner = loops.to_vec();
        inner.push(i.to_owned());
        self.steps(&inner);
        if self.rng.below(3) == 0 {
            let (c, jump) = (self.decision(&inner), self.pick(&["break", "continue"]));
            self.line(&format!("    if ({c}) {jump};"));
            self.steps(&inner);
        }
    }
}
