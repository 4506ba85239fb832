//! Random programs with OpenMP directives: most right, some with one planted fault whose code is known.
//!
//! Every function takes `(int n, long *a, long *b)` with `n` elements each and returns a `long`: right ones give the same for
//! any number of threads, since all arithmetic is of unsigned wrap-around or small values.

use crate::rng::Rng;

/// A program.
pub struct OmpProgram {
    pub text: String,
    /// Functions, and what must be found in each: nothing, or a code.
    pub functions: Vec<(String, Option<&'static str>)>,
}

/// A function's parts.
struct Piece {
    text: String,
    fault: Option<&'static str>,
}

/// Forms a directive is written in.
struct Pen<'r> {
    rng: &'r mut Rng,
}

impl Pen<'_> {
    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.rng.below(of.len())]
    }
    fn yes(&mut self) -> bool {
        self.rng.below(2) == 0
    }
    /// A directive, on lines of its own, and perhaps something before its statement.
    fn omp(&mut self, words: &str) -> String {
        let line = match self.rng.below(8) {
            0 => format!("_Pragma(\"omp {words}\")"),
            1 => format!("OMP({words})"),
            2 => format!("#pragma omp {}", words.replacen(' ', " \\\n        ", 1)),
            3 => format!("#ifdef _OPENMP\n#pragma omp {words}\n#endif"),
            4 => format!("#  pragma   omp  {words} // in parallel"),
            _ => format!("#pragma omp {words}"),
        };
        let between = match self.rng.below(6) {
            0 => "\n    // on its own",
            1 => "\n    /* over\n       two lines */",
            2 => "\n",
            _ => "",
        };
        format!("    {line}{between}\n")
    }
    fn schedule(&mut self) -> &'static str {
        ["", " schedule(static)", " schedule(dynamic, 3)", " schedule(guided)", " schedule(static, 1)"]
            [self.rng.below(5)]
    }
}

/// A program of `count` functions.
pub fn program(seed: u64, count: usize) -> OmpProgram {
    let mut rng = Rng::new(seed ^ 0x0709);
    let mut text = String::from(
        "#include <stdio.h>\n#include <stdlib.h>\n#define PRAGMA(x) _Pragma(#x)\n#define OMP(x) PRAGMA(omp x)\n\
         static long own;\n#pragma omp threadprivate(own)\n\n",
    );
    let mut functions = Vec::new();
    for k in 0..count {
        let name = format!("f{k}");
        let wrong = rng.below(3) == 0;
        let mut pen = Pen { rng: &mut rng };
        let piece = piece(&mut pen, &name, wrong);
        text.push_str(&piece.text);
        text.push('\n');
        functions.push((name, piece.fault));
    }
    text.push_str("int main(void) {\n    enum { N = 37 };\n    long a[N], b[N];\n");
    for (name, fault) in &functions {
        if fault.is_none() {
            text.push_str(&format!(
                "    for (int i = 0; i < N; i++) a[i] = i * 7 % 11, b[i] = i * 5 % 13;\n    printf(\"{name} %ld\", {name}(N, a, b));\n    {{ unsigned long h = 1; for (int i = 0; i < N; i++) h = h * 31 + (unsigned long)a[i] * 3 + (unsigned long)b[i]; printf(\" %lu\\n\", h); }}\n"
            ));
        }
    }
    text.push_str("    return 0;\n}\n");
    OmpProgram { text, functions }
}

fn piece(p: &mut Pen, name: &str, wrong: bool) -> Piece {
    let head = format!("long {name}(int n, long *restrict a, long *restrict b) {{\n");
    let fault = |code| wrong.then_some(code);
    let schedule = p.schedule();
    match p.rng.below(20) {
        0 => {
            // a temporary
            let clause = if wrong { "" } else { " private(t)" };
            let d = p.omp(&format!("parallel for{clause}{schedule}"));
            let text = format!("{head}    long t;\n{d}    for (int i = 0; i < n; i++) {{\n        t = a[i] * 3;\n        b[i] = t + 1;\n    }}\n    return b[n - 1];\n}}\n");
            Piece { text, fault: fault("thread-race") }
        }
        1 => {
            // an accumulator
            let (op, start, update) = [
                ("+", "0", "s += a[i];"),
                ("+", "0", "s = s + a[i] * b[i];"),
                ("-", "5", "s -= a[i];"),
                ("^", "0", "s ^= a[i];"),
                ("|", "0", "s |= a[i];"),
                ("&", "-1", "s &= a[i] | 2;"),
                ("max", "-100", "if (a[i] > s) s = a[i];"),
                ("min", "100", "if (s > a[i]) s = a[i];"),
            ][p.rng.below(8)];
            let missing = p.yes();
            let said = match (wrong, missing) {
                (false, _) => format!(" reduction({op}:s)"),
                (true, true) => String::new(),
                (true, false) => format!(" reduction({}:s)", if op == "+" || op == "-" { "*" } else { "+" }),
            };
            let d = p.omp(&format!("parallel for{said}{schedule}"));
            let text = format!("{head}    long s = {start};\n{d}    for (int i = 0; i < n; i++) {update}\n    return s;\n}}\n");
            Piece { text, fault: fault(if missing { "thread-race" } else { "wrong-clause" }) }
        }
        2 => {
            // the index of an inner loop
            let clause = if wrong { "" } else { " private(j)" };
            let d = p.omp(&format!("parallel for{clause}{schedule}"));
            let text = format!("{head}    int i, j;\n{d}    for (i = 0; i < n; i++)\n        for (j = 0; j < 4; j++)\n            b[i] += a[i] * j;\n    return b[0];\n}}\n");
            Piece { text, fault: fault("thread-race") }
        }
        3 => {
            // collapse, and what may stand between the loops
            let between = if wrong { "        b[i] = 1;\n" } else { "" };
            let d = p.omp(&format!("parallel for collapse(2){schedule}"));
            let text = format!("{head}    int m = n / 6;\n{d}    for (int i = 0; i < m; i++) {{\n{between}        for (int j = 0; j < 6; j++)\n            a[i * 6 + j] = i + j;\n    }}\n    return m;\n}}\n");
            Piece { text, fault: fault("bad-directive") }
        }
        4 => {
            // rows that carry
            let clause = if wrong { " collapse(2)" } else { "" };
            let d = p.omp(&format!("parallel for{clause}{schedule}"));
            let text = format!("{head}    static long g[8][9];\n    g[0][0] = n;\n{d}    for (int i = 0; i < 8; i++)\n        for (int j = 1; j < 9; j++)\n            g[i][j] = g[i][j - 1] + i;\n    return g[7][8] + a[0] + b[0];\n}}\n");
            Piece { text, fault: fault("thread-dependence") }
        }
        5 => {
            // a recurrence, or its parts
            let (from, to) = if wrong { ("a", "a") } else { ("a", "b") };
            let d = p.omp(&format!("parallel for{schedule}"));
            let text = format!("{head}{d}    for (int i = 1; i < n; i++)\n        {to}[i] = {from}[i - 1] + 2;\n    return a[n - 1] + b[n - 1];\n}}\n");
            Piece { text, fault: fault("thread-dependence") }
        }
        6 => {
            // a value from before
            let clause = if wrong { "private" } else { p.one(&["firstprivate", "shared"]) };
            let d = p.omp(&format!("parallel for {clause}(c){schedule}"));
            let text = format!("{head}    long c = n + 3;\n{d}    for (int i = 0; i < n; i++)\n        b[i] = a[i] + c;\n    return b[1];\n}}\n");
            Piece { text, fault: fault("wrong-clause") }
        }
        7 => {
            // a value for afterwards
            let clause = if wrong { "private" } else { "lastprivate" };
            let d = p.omp(&format!("parallel for {clause}(x){schedule}"));
            let text = format!("{head}    long x = 0;\n{d}    for (int i = 0; i < n; i++) {{\n        x = a[i] + i;\n        b[i] = x;\n    }}\n    return x;\n}}\n");
            Piece { text, fault: fault("wrong-clause") }
        }
        8 => {
            // a region with its loop inside
            let share = if wrong { "" } else { " reduction(+:s)" };
            let (d, e) = (p.omp("parallel"), p.omp(&format!("for{share}{schedule}")));
            let text = format!("{head}    long s = 0;\n{d}    {{\n    long mine = 2;\n{e}    for (int i = 0; i < n; i++) {{\n        s += a[i] * mine;\n        b[i] = mine;\n    }}\n    }}\n    return s;\n}}\n");
            Piece { text, fault: fault("thread-race") }
        }
        9 => {
            // who writes in a region
            let one = p.one(&["single", "master", "critical", "single nowait"]);
            let inner = if wrong { String::new() } else { p.omp(one) };
            let (d, e) = (p.omp("parallel shared(k)"), p.omp("barrier"));
            let text = format!("{head}    long k = 1;\n{d}    {{\n{inner}    k = n;\n{e}    ;\n    }}\n    return k + a[0] + b[0];\n}}\n");
            Piece { text, fault: fault("thread-race") }
        }
        10 => {
            // one cell
            let way = p_atomic(p.yes());
            let inner = if wrong { String::new() } else { p.omp(way) };
            let d = p.omp(&format!("parallel for{schedule}"));
            let text = format!("{head}    b[0] = 0;\n{d}    for (int i = 0; i < n; i++) {{\n{inner}        b[0] += a[i];\n    }}\n    return b[0];\n}}\n");
            Piece { text, fault: fault("thread-race") }
        }
        11 => {
            // a histogram
            let d = p.omp(&format!("parallel for{schedule}"));
            let way = p_atomic(p.yes());
            let inner = p.omp(way);
            let text = format!("{head}{d}    for (int i = 0; i < n; i++) {{\n{inner}        b[a[i] & 7]++;\n    }}\n    return b[3];\n}}\n");
            Piece { text, fault: None }
        }
        12 => {
            // everything listed
            let listed = if wrong { "a, n" } else { "a, b, n" };
            let d = p.omp(&format!("parallel for default(none) shared({listed}) private(t){schedule}"));
            let text = format!("{head}    long t;\n{d}    for (int i = 0; i < n; i++) {{\n        t = a[i];\n        b[i] = t * t;\n    }}\n    return b[2];\n}}\n");
            Piece { text, fault: fault("bad-directive") }
        }
        13 => {
            let (d, e, f) = (p.omp("parallel sections"), p.omp("section"), p.omp("section"));
            let text = format!("{head}    long x = 0, y = 0;\n{d}    {{\n{e}        x = n;\n{f}        y = n + 1;\n    }}\n    return x + y + a[0] + b[0];\n}}\n");
            Piece { text, fault: None }
        }
        14 => {
            // leaving early
            let leave = if wrong { "if (a[i] == 100) break;" } else { "if (a[i] == 100) continue;" };
            let d = p.omp(&format!("parallel for{schedule}"));
            let text = format!("{head}{d}    for (int i = 0; i < n; i++) {{\n        {leave}\n        b[i] = a[i];\n    }}\n    return b[0];\n}}\n");
            Piece { text, fault: fault("bad-directive") }
        }
        15 => {
            // a worksharing loop without a region of its own
            let (d, e) = (p.omp("for"), p.omp("parallel"));
            let text = format!("static void {name}_part(int n, long *a, long *b) {{\n    long t;\n{d}    for (int i = 0; i < n; i++) {{\n        t = a[i];\n        b[i] = t + 2;\n    }}\n}}\n{head}{e}    {name}_part(n, a, b);\n    return b[n - 1];\n}}\n");
            Piece { text, fault: None }
        }
        16 => {
            let text = format!("{head}    long s = 0;\n{}    {{\n    own = 3;\n{}    for (int i = 0; i < n; i++)\n        s += own * a[i];\n    }}\n    return s + b[0];\n}}\n", p.omp("parallel"), p.omp(&format!("for reduction(+:s){schedule}")));
            Piece { text, fault: None }
        }
        17 => {
            // lanes
            let (distance, safe) = if wrong { (2, 4) } else { (4, 4) };
            let d = p.omp(&format!("simd safelen({safe})"));
            let text = format!("{head}{d}    for (int i = {distance}; i < n; i++)\n        a[i] = a[i - {distance}] + b[i];\n    return a[n - 1];\n}}\n");
            Piece { text, fault: fault("thread-dependence") }
        }
        18 => {
            // in order
            let inner = if wrong { String::new() } else { p.omp("ordered") };
            let ordered = if wrong { "" } else { " ordered" };
            let d = p.omp(&format!("parallel for{ordered}{schedule}"));
            let text = format!("{head}    long s = 1;\n{d}    for (int i = 0; i < n; i++) {{\n        b[i] = a[i] * 2;\n{inner}        s = s * 3 % 1009 + a[i];\n    }}\n    return s;\n}}\n");
            Piece { text, fault: fault("thread-race") }
        }
        _ => {
            // steps in time, each in parallel
            let clause = if wrong { "" } else { " private(t)" };
            let d = p.omp(&format!("parallel for{clause}{schedule}"));
            let text = format!("{head}    static long t;\n    for (int k = 0; k < 3; k++) {{\n{d}    for (int i = 1; i < n - 1; i++) {{\n        t = a[i - 1] + a[i + 1];\n        b[i] = t;\n    }}\n    for (int i = 1; i < n - 1; i++) a[i] = b[i] & 255;\n    }}\n    return a[1];\n}}\n");
            Piece { text, fault: fault("thread-race") }
        }
    }
}

fn p_atomic(update: bool) -> &'static str {
    if update {
        "atomic"
    } else {
        "critical (sums)"
    }
}
