//! Random functions for two evaluators: the one that replays witnesses (`analysis`) and the one that judges (`simulate`).
//! From equal arguments they have to come to equal values, in what the function returns and in every cell it leaves.
//!
//! What C leaves undefined is noticed by `simulate`, and such a run is not compared. Deliberately absent: pointers beyond the arrays
//! given, calls of the library, and bit-fields, which `simulate` does not have.

use std::fmt::Write as _;

use analysis::{Argument, Followed};
use base::Budget;
use simulate::{Heap, Value};

use crate::rng::Rng;

const INTS: [&str; 10] = [
    "int",
    "unsigned",
    "long",
    "unsigned long",
    "short",
    "unsigned short",
    "signed char",
    "unsigned char",
    "char",
    "_Bool",
];

struct Maker {
    rng: Rng,
    /// Names of integer and of floating variables in scope.
    ints: Vec<String>,
    reals: Vec<String>,
    made: usize,
}

impl Maker {
    fn constant(&mut self) -> String {
        const SOME: [&str; 12] =
            ["0", "1", "-1", "2", "3", "7", "100", "255", "65535u", "2147483647", "5000000000", "'a'"];
        self.rng.pick(&SOME).to_string()
    }

    /// An integer place.
    fn place(&mut self) -> String {
        match self.rng.below(9) {
            0 => format!("p[{} & 7]", self.rng.below(8)),
            1 => format!("*(p + ({} & 7))", self.rng.below(8)),
            2 => "s.lo".into(),
            3 => "s.hi".into(),
            4 => "s.flag".into(),
            5 => "t->mid".into(),
            6 => self.rng.pick(&["s.c", "s.w", "s.mid", "t->w", "u.whole", "u.half[1]"]).to_string(),
            _ => {
                let k = self.rng.below(self.ints.len());
                self.ints[k].clone()
            }
        }
    }

    fn int(&mut self, depth: u32) -> String {
        if depth == 0 {
            return if self.rng.chance(40) { self.constant() } else { self.place() };
        }
        let d = depth - 1;
        match self.rng.below(14) {
            0..=3 => {
                let op = *self.rng.pick(&["+", "-", "*", "&", "|", "^"]);
                format!("({} {op} {})", self.int(d), self.int(d))
            }
            4 => {
                let op = *self.rng.pick(&["/", "%"]);
                format!("({} {op} (({} & 15) + 1))", self.int(d), self.int(d))
            }
            5 => {
                let op = *self.rng.pick(&["<<", ">>"]);
                format!("({} {op} ({} & 7))", self.int(d), self.int(d))
            }
            6 => {
                let op = *self.rng.pick(&["<", "<=", ">", ">=", "==", "!=", "&&", "||"]);
                format!("({} {op} {})", self.int(d), self.int(d))
            }
            7 => format!("({}){}", self.rng.pick(&INTS).to_owned(), self.int(d)),
            8 => format!("({} ? {} : {})", self.int(d), self.int(d), self.int(d)),
            9 => format!("{}{}", self.rng.pick(&["-", "~", "!", "+"]).to_owned(), self.int(0)),
            10 => format!(
                "({} {} {})",
                self.real(d),
                self.rng.pick(&["<", ">", "==", "!=", "<="]).to_owned(),
                self.real(d)
            ),
            11 => format!("clamped({}, {})", self.int(d), self.int(d)),
            12 => format!("p[({}) & 7]", self.int(d)),
            _ => self.int(0),
        }
    }

    fn real(&mut self, depth: u32) -> String {
        let leaf = depth == 0;
        match self.rng.below(if leaf { 3 } else { 8 }) {
            0 => self.rng.pick(&["0.5", "1.0", "-2.25", "3.0f", "1e10", "0.1"]).to_string(),
            1 => format!("q[{} & 3]", self.rng.below(4)),
            2 => {
                let k = self.rng.below(self.reals.len());
                self.reals[k].clone()
            }
            3 => format!("(double){}", self.int(depth - 1)),
            4 => format!("(float){}", self.real(depth - 1)),
            _ => {
                let op = *self.rng.pick(&["+", "-", "*", "/"]);
                format!("({} {op} {})", self.real(depth - 1), self.real(depth - 1))
            }
        }
    }

    fn statement(&mut self, depth: u32, out: &mut String) {
        let kind = self.rng.below(if depth == 0 { 6 } else { 11 });
        let _ = match kind {
            0 | 1 => writeln!(out, "{} = {};", self.place(), self.int(3)),
            2 => {
                let op = *self.rng.pick(&["+", "-", "*", "&", "|", "^"]);
                writeln!(out, "{} {op}= {};", self.place(), self.int(2))
            }
            3 => {
                let step = *self.rng.pick(&["++", "--"]);
                match self.rng.chance(50) {
                    true => writeln!(out, "{}{step};", self.place()),
                    false => writeln!(out, "{} = {step}{};", self.place(), self.ints[0].clone()),
                }
            }
            4 => writeln!(out, "q[{}] = {};", self.rng.below(4), self.real(3)),
            5 => writeln!(
                out,
                "{}",
                self.rng
                    .pick(&["s = r;", "r = s;", "s = *t;", "r.c += s.w;", "t = &r;", "t = &s;"])
                    .to_owned()
            ),
            6 => {
                let name = format!("v{}", self.made);
                self.made += 1;
                let done = match self.rng.chance(70) {
                    true => {
                        let ty = *self.rng.pick(&INTS);
                        writeln!(out, "{ty} {name} = {};", self.int(2)).map(|()| self.ints.push(name))
                    }
                    false => {
                        let ty = *self.rng.pick(&["double", "float"]);
                        writeln!(out, "{ty} {name} = {};", self.real(2)).map(|()| self.reals.push(name))
                    }
                };
                done
            }
            7 => {
                let _ = writeln!(out, "if ({}) {{", self.int(2));
                self.block(depth - 1, out);
                let _ = writeln!(out, "}} else {{");
                self.block(depth - 1, out);
                writeln!(out, "}}")
            }
            8 => {
                let name = format!("i{}", self.made);
                self.made += 1;
                let _ =
                    writeln!(out, "for (int {name} = 0; {name} < {}; {name}++) {{", 1 + self.rng.below(5));
                let (ints, reals) = (self.ints.len(), self.reals.len());
                let _ = writeln!(
                    out,
                    "p[{name}] ^= {name}; if ({} > {name}) {};",
                    self.int(1),
                    self.rng.pick(&["continue", "break", "p[0] = 3"]).to_owned()
                );
                for _ in 0..2 {
                    self.statement(depth - 1, out);
                }
                self.ints.truncate(ints);
                self.reals.truncate(reals);
                writeln!(out, "}}")
            }
            9 => {
                let _ = writeln!(out, "switch ({} & 3) {{ case 0:", self.int(2));
                self.block(depth - 1, out);
                let _ = writeln!(out, "break; case 2: p[1] = 9; default:");
                self.block(depth - 1, out);
                writeln!(out, "}}")
            }
            _ => writeln!(out, "if ({} == 77) return {};", self.int(1), self.int(1)),
        };
    }

    /// Statements of which no declaration is seen behind them.
    fn block(&mut self, depth: u32, out: &mut String) {
        let (ints, reals) = (self.ints.len(), self.reals.len());
        out.push_str("{\n");
        for _ in 0..1 + self.rng.below(2) {
            self.statement(depth, out);
        }
        out.push_str("}\n");
        self.ints.truncate(ints);
        self.reals.truncate(reals);
    }
}

/// A function `f` and what it is called with.
pub fn made(seed: u64) -> (String, Vec<Argument>) {
    let mut m = Maker {
        rng: Rng::new(seed),
        ints: ["a", "b", "c", "d"].map(String::from).to_vec(),
        reals: vec!["x".into()],
        made: 0,
    };
    let mut text = String::from(
        "struct bits { unsigned char lo; signed char hi; _Bool flag; int c; unsigned long w; short mid; };\n\
         union both { unsigned whole; unsigned short half[2]; };\n\
         static int clamped(int v, int most) { if (v > most) return most; return v < -most ? -most : v; }\n\
         long f(int a, unsigned b, long c, unsigned char d, double x, int *p, double *q)\n{\n\
         struct bits s = {1, -2, 1, 4, 5, 6}, r = {.c = 3}, *t = &r;\nunion both u = {7};\n",
    );
    for _ in 0..4 + m.rng.below(6) {
        m.statement(2, &mut text);
    }
    let last = m.int(3);
    let _ = writeln!(text, "return (long){last};\n}}");
    let small = |rng: &mut Rng| {
        i128::from(if rng.chance(80) { rng.between(-5, 12) } else { rng.between(-100_000, 100_000) })
    };
    let rng = &mut m.rng;
    let args = vec![
        Argument::Int(small(rng)),
        Argument::Int(small(rng).unsigned_abs() as i128),
        Argument::Int(small(rng)),
        Argument::Int(i128::from(rng.between(0, 255))),
        Argument::Real(rng.between(-20, 20) as f64 / 4.0),
        Argument::Ints((0..8).map(|_| small(rng)).collect()),
        Argument::Reals((0..4).map(|_| rng.between(-9, 9) as f64 / 2.0).collect()),
    ];
    (text, args)
}

/// How a function's two runs went.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Held {
    /// Something undefined happens, says `simulate`.
    Undefined,
    /// The replay gave up where `simulate` did not.
    Left(String),
    /// Values compared, and those that the replay does not know.
    Equal {
        known: usize,
        unknown: usize,
    },
    Different(String),
}

/// Runs a function in both and compares.
pub fn hold(text: &str, args: &[Argument]) -> Held {
    let parsed = front::Parsed::parse(front::Language::C, text);
    let unit = front::lower(&parsed, &front::Options::default(), &mut front::Memo::new());
    let Some(item) = unit.items.iter().find(|i| &*i.name == "f") else {
        return Held::Different("no function was read".into());
    };
    if let Some(r) = item.body.rejects().next() {
        return Held::Different(format!("not understood: {}", r.reason));
    }
    let judge = simulate::Program::of(unit.items.iter().map(|i| &*i.body));
    let mut heap = Heap::new();
    let mut arrays = Vec::new();
    let mut given = Vec::new();
    for a in args {
        let made = match a {
            Argument::Int(v) => Ok(Value::Int(*v)),
            Argument::Real(v) => Ok(Value::F64(*v)),
            Argument::Ints(all) => {
                let all: Vec<i32> = all.iter().map(|v| *v as i32).collect();
                heap.buffer("p", &all).map(|o| {
                    arrays.push((o, true));
                    Value::Pointer(o, 0)
                })
            }
            Argument::Reals(all) => heap.buffer("q", all).map(|o| {
                arrays.push((o, false));
                Value::Pointer(o, 0)
            }),
        };
        match made {
            Ok(v) => given.push(v),
            Err(f) => return Held::Different(format!("{f:?}")),
        }
    }
    let options = simulate::Options::default();
    let Ok(outcome) = simulate::run(&judge, "f", &given, &mut heap, &options, &Budget::new(2_000_000)) else {
        return Held::Undefined;
    };
    let mut want: Vec<Option<Followed>> = vec![match outcome.value {
        Some(Value::Int(v)) => Some(Followed::Int(v)),
        _ => None,
    }];
    for (o, ints) in arrays {
        match ints {
            true => want.extend(heap.read::<i32>(o).into_iter().map(|v| v.map(|v| Followed::Int(v.into())))),
            false => want.extend(heap.read::<f64>(o).into_iter().map(|v| v.map(Followed::Real))),
        }
    }
    let program = analysis::Program::of(unit.items.iter().map(|i| &i.body));
    let Some((value, cells)) = analysis::follow(&item.body, &program, args) else {
        return Held::Left("the replay ended".into());
    };
    let mut known = 0;
    let mut unknown = 0;
    for (k, (want, got)) in
        want.iter().zip(std::iter::once(value).chain(cells.into_iter().flatten())).enumerate()
    {
        match (want, got) {
            (None, _) => {}
            (_, Followed::Unknown) => unknown += 1,
            (Some(Followed::Real(x)), Followed::Real(y))
                if x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan() =>
            {
                known += 1
            }
            (Some(w), g) if *w == g && !matches!(g, Followed::Real(_)) => known += 1,
            (Some(w), g) => {
                return Held::Different(format!("value {k}: {w:?} in simulate, {g:?} in the replay"))
            }
        }
    }
    Held::Equal { known, unknown }
}
