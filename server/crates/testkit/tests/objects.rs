//! Random functions over structures with pointers and tables of rows, in runs where the pointers do and do not show the
//! same memory: what is said of each loop against what an interpreter sees. A claim counts in the runs whose conditions
//! hold at the loop's entry; there it must be right.

use std::collections::{BTreeMap, BTreeSet};

use analysis::{Condition, ConditionKind, MetBy, Verdict};
use base::Budget;
use simulate::{check_claim, run_traced, Aside, Heap, ObjectId, Options, Program, Value};
use term::{Body, SymbolId};
use testkit::rng::Rng;

/// Rows of a table and elements of a row: every subscript generated stays inside.
const ROWS: usize = 6;
const ROOM: usize = 40;

const HEAD: &str = "void *calloc(unsigned long, unsigned long);\nstruct g { int n; int m; double *u; double *v; double **rows; };\n";

/// What each pointer cell holds: numbers of arrays.
#[derive(Clone, Debug)]
struct Store {
    /// Which structure `g` and `h` are.
    structs: [usize; 2],
    /// `u`, `v` of each structure, and its table.
    fields: [[usize; 3]; 2],
    /// The rows of each of two tables.
    rows: [[usize; ROWS]; 2],
    a: usize,
    r: usize,
}

impl Store {
    fn random(rng: &mut Rng) -> Store {
        // Few arrays make many pairs equal; every third store has all different.
        let apart = rng.chance(34);
        let mut next = 0;
        let mut array = |rng: &mut Rng| {
            next += 1;
            if apart {
                next - 1
            } else {
                rng.below(24)
            }
        };
        let mut fields = [[0; 3]; 2];
        for f in &mut fields {
            f[0] = array(rng);
            f[1] = array(rng);
        }
        let mut rows = [[0; ROWS]; 2];
        rows.iter_mut().flatten().for_each(|r| *r = array(rng));
        let a = array(rng);
        let structs = if apart { [0, 1] } else { [0, rng.below(2)] };
        fields[0][2] = rng.below(2);
        fields[1][2] = if apart { 1 - fields[0][2] } else { rng.below(2) };
        Store { structs, fields, rows, a, r: if apart { fields[0][2] } else { rng.below(2) } }
    }

    /// The arrays a name may stand for; the outermost index is `i`. `None`: not a name of ours.
    fn arrays(&self, name: &str, i: Option<i64>) -> Option<BTreeSet<String>> {
        let one = |n: usize| Some(BTreeSet::from([format!("array {n}")]));
        let field = |s: usize, f: usize| self.fields[self.structs[s]][f];
        let table = |t: usize, sub: &str| -> Option<BTreeSet<String>> {
            let row = |k: i64| self.rows[t].get(usize::try_from(k).ok()?).copied();
            match sub.replace(' ', "").as_str() {
                "" => Some(self.rows[t].iter().map(|n| format!("array {n}")).collect()),
                "i" => one(row(i?)?),
                "i-1" => one(row(i? - 1)?),
                "i+1" => one(row(i? + 1)?),
                k => one(row(k.parse().ok()?)?),
            }
        };
        let inside = |text: &str, head: &str| {
            text.strip_prefix(head)?.strip_suffix(']')?.strip_prefix('[').map(str::to_owned)
        };
        match name {
            "g" | "h" => Some(BTreeSet::from([format!("struct {}", self.structs[usize::from(name == "h")])])),
            "g->u" => one(field(0, 0)),
            "g->v" => one(field(0, 1)),
            "h->u" => one(field(1, 0)),
            "h->v" => one(field(1, 1)),
            "a" => one(self.a),
            "r" => Some(BTreeSet::from([format!("table {}", self.r)])),
            "g->rows" => Some(BTreeSet::from([format!("table {}", field(0, 2))])),
            "h->rows" => Some(BTreeSet::from([format!("table {}", field(1, 2))])),
            "(*r)" => table(self.r, "0"),
            _ => match (inside(name, "r"), inside(name, "g->rows"), inside(name, "h->rows")) {
                (Some(s), _, _) => table(self.r, &s),
                (_, Some(s), _) => table(field(0, 2), &s),
                (_, _, Some(s)) => table(field(1, 2), &s),
                _ => None,
            },
        }
    }
}

const POINTERS: [&str; 10] =
    ["g->u", "g->v", "h->u", "a", "(*r)", "r[0]", "r[1]", "g->rows[0]", "g->rows[2]", "h->rows[0]"];

/// A function, and the local names in it with what they were set to before the first loop.
struct Made {
    text: String,
    locals: BTreeMap<&'static str, &'static str>,
    /// Whether pointers change while it runs.
    moves: bool,
}

fn place(rng: &mut Rng, at: &str) -> String {
    let off = ["", " + 1", " - 1", " + 2"][rng.below(4)];
    match rng.below(14) {
        0..=9 => format!("{}[{at}{off}]", rng.pick(&POINTERS)),
        10 => format!("p[{at}{off}]"),
        11 => format!("q[{at}{off}]"),
        12 => format!("g->u[2 * {at}]"),
        _ => format!("a[{at} + g->m]"),
    }
}

fn cell(rng: &mut Rng, own_table: bool) -> String {
    let row = ["i", "i - 1", "i + 1", "1", "i"][rng.below(5)];
    let table = match own_table && rng.chance(70) {
        true => "t",
        false => ["r", "g->rows", "h->rows", "r"][rng.below(4)],
    };
    let off = ["", " + 1", " - 1"][rng.below(3)];
    format!("{table}[{row}][j{off}]")
}

fn made(rng: &mut Rng) -> Made {
    let mut locals = BTreeMap::new();
    let mut body = String::new();
    for name in ["p", "q"] {
        let of = *rng.pick(&POINTERS);
        let shift = ["", " + 1", ""][rng.below(3)];
        body += &format!("    double *{name} = {of}{shift};\n");
        locals.insert(name, of);
    }
    // A table of the function's own; sometimes a row of it is another's.
    let own_table = rng.chance(40);
    if own_table {
        body += "    double *t[6];\n    for (int k = 0; k < 6; k++)\n        t[k] = calloc(40, 8);\n";
        match rng.below(6) {
            0 => body += "    t[2] = t[3];\n",
            1 => body += "    t[1] = a;\n",
            2 => body += "    *(t + 4) = t[1];\n",
            3 => body += "    a = t[2];\n",
            _ => {}
        }
    }
    let mut moves = false;
    for _ in 0..rng.between(1, 3) {
        match rng.below(6) {
            0..=2 => {
                let bound = *rng.pick(&["n", "g->n", "h->n"]);
                body += &format!("    for (int i = 2; i < {bound}; i++) {{\n");
                for _ in 0..rng.between(1, 2) {
                    let (x, y, z) = (place(rng, "i"), place(rng, "i"), place(rng, "i"));
                    match rng.below(12) {
                        0 => body += &format!("        double *w = {}; w[i] = {y};\n", rng.pick(&POINTERS)),
                        1 => {
                            moves = true;
                            let (s, d) = (*rng.pick(&POINTERS[..3]), *rng.pick(&POINTERS[..3]));
                            body += &format!("        if (i == 4) {d} = {s};\n        {x} = {y};\n");
                        }
                        2 => body += &format!("        h->m = 2; {x} = {y};\n"),
                        _ => body += &format!("        {x} = {y} + 0.5 * {z};\n"),
                    }
                }
                body += "    }\n";
            }
            3 | 4 => {
                body += "    for (int i = 1; i < 5; i++)\n        for (int j = 1; j < n; j++)\n";
                if own_table && rng.chance(60) {
                    body += &format!(
                        "            t[i][j] = t[{}][j] + t[i][j];\n",
                        rng.pick(&["i", "i - 1", "i + 1"])
                    );
                    continue;
                }
                body += &format!(
                    "            {} = {} + {};\n",
                    cell(rng, own_table),
                    cell(rng, own_table),
                    cell(rng, own_table)
                );
            }
            _ => {
                moves = true;
                body += "    for (int t = 0; t < 3; t++) {\n        for (int i = 1; i < n; i++)\n";
                body += &format!(
                    "            {} = {} + {};\n",
                    place(rng, "i"),
                    place(rng, "i"),
                    place(rng, "i")
                );
                body += "        double *s = g->u; g->u = g->v; g->v = s;\n    }\n";
            }
        }
    }
    let text =
        format!("{HEAD}void f(struct g *g, struct g *h, double *a, double **r, int n)\n{{\n{body}}}\n");
    Made { text, locals, moves }
}

fn place_store(store: &Store, n: i32) -> (Heap, Vec<Value>) {
    let mut heap = Heap::new();
    let arrays: Vec<ObjectId> = (0..24)
        .map(|k| {
            let values: Vec<f64> = (0..ROOM).map(|x| (x * 7 + k) as f64 * 0.25).collect();
            heap.buffer(&format!("array {k}"), &values).expect("room")
        })
        .collect();
    let tables: Vec<ObjectId> = (0..2)
        .map(|t| {
            let o = heap.alloc("table", 8, ROWS as u64).expect("room");
            for (k, &row) in store.rows[t].iter().enumerate() {
                heap.write_pointer(o, 8 * k as u64, arrays[row], 16).expect("in range");
            }
            o
        })
        .collect();
    let structs: Vec<ObjectId> = (0..2)
        .map(|s| {
            let o = heap.alloc("struct", 4, 8).expect("room");
            heap.write(o, 0, &[n - s, 2]).expect("in range");
            for f in 0..2 {
                heap.write_pointer(o, 8 + 8 * f, arrays[store.fields[s as usize][f as usize]], 16)
                    .expect("in range");
            }
            heap.write_pointer(o, 24, tables[store.fields[s as usize][2]], 0).expect("in range");
            o
        })
        .collect();
    let args = vec![
        Value::Pointer(structs[store.structs[0]], 0),
        Value::Pointer(structs[store.structs[1]], 0),
        Value::Pointer(arrays[store.a], 16),
        Value::Pointer(tables[store.r], 0),
        Value::Int(i128::from(n)),
    ];
    (heap, args)
}

/// Whether a condition holds; `None`: cannot be told.
fn holds(body: &Body, made: &Made, store: &Store, c: &Condition, i: Option<i64>) -> Option<bool> {
    if c.met_by == MetBy::Proof {
        return Some(true);
    }
    let arrays = |s: SymbolId| {
        let name = &*body.symbols[s].name;
        store.arrays(made.locals.get(name).copied().unwrap_or(name), i)
    };
    match &c.kind {
        ConditionKind::NoAlias(a, b) => Some(arrays(a.symbol)?.is_disjoint(&arrays(b.symbol)?)),
        _ => None,
    }
}

#[derive(Default, Debug)]
struct Counts {
    loops: usize,
    parallel: usize,
    judged: usize,
    refused_by_condition: usize,
    untold: usize,
    faults: usize,
}

fn judge(seed: u64, counts: &mut Counts) -> Option<String> {
    let mut rng = Rng::new(seed);
    let made = made(&mut rng);
    let parsed = front::Parsed::parse(front::Language::C, made.text.as_str());
    let unit = front::lower(&parsed, &front::Options::default(), &mut front::Memo::new());
    let body = &unit.items.iter().find(|i| &*i.name == "f").expect("a function").body;
    let facts =
        analysis::analyze(body, &analysis::Program::default(), analysis::SAVE, &Budget::new(u64::MAX));
    let program = Program::of(unit.items.iter().map(|i| &*i.body));
    let watch: Vec<_> = body.loops(body.root).collect();
    counts.loops += watch.len();
    for _ in 0..4 {
        let store = Store::random(&mut rng);
        let (mut heap, args) = place_store(&store, 14);
        let run =
            run_traced(&program, "f", &args, &mut heap, &watch, &Options::default(), &Budget::new(1 << 22));
        let trace = match run {
            Ok(t) => t,
            Err(_) => {
                counts.faults += 1;
                continue;
            }
        };
        for l in facts.loops.iter() {
            if !matches!(l.verdict, Verdict::Independent | Verdict::Reduction) {
                continue;
            }
            counts.parallel += 1;
            let Some(t) = trace.of(l.term) else { continue };
            let moves = made.moves;
            let met: Vec<Option<bool>> = (t.instances.iter())
                .map(|x| {
                    let i = x.outer.iter().find(|o| &*body.symbols[o.0].name == "i").map(|o| o.1);
                    let all: Vec<Option<bool>> =
                        l.conditions.iter().map(|c| holds(body, &made, &store, c, i)).collect();
                    match () {
                        // Names may stand for other arrays by now; without conditions nothing depends on it.
                        _ if moves && !l.conditions.iter().all(|c| c.met_by == MetBy::Proof) => None,
                        _ if all.contains(&Some(false)) => Some(false),
                        _ if all.contains(&None) => None,
                        _ => Some(true),
                    }
                })
                .collect();
            if met.iter().all(|m| *m == Some(false)) {
                counts.refused_by_condition += 1;
                continue;
            }
            if !met.contains(&Some(true)) {
                counts.untold += 1;
                continue;
            }
            counts.judged += 1;
            let mut some = trace.clone();
            for x in some.loops.iter_mut().filter(|x| x.term == l.term) {
                x.conflicts.retain(|c| met.get(c.instance as usize).copied().flatten() == Some(true));
            }
            let privates: Vec<SymbolId> = l.privates.iter().map(|p| p.symbol).collect();
            let mut asides: Vec<Aside> = l.inductions.iter().map(|i| Aside::Variable(i.symbol)).collect();
            for r in &l.reductions {
                let terms = (r.updates.iter().flat_map(|&u| body.walk(u)))
                    .filter(|&x| body.same(x, r.place) || r.updates.contains(&x))
                    .collect();
                asides.push(Aside::Terms(terms));
            }
            if let Err(why) = check_claim(&some, l.term, &privates, &asides) {
                return Some(format!("seed {seed}: {why:?}\n{store:?}\n{:?}\n{}", l.conditions, made.text));
            }
        }
    }
    None
}

#[test]
fn claims_hold_where_pointers_are_loaded() {
    let many = std::env::var("OBJECTS_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(150);
    let mut counts = Counts::default();
    let wrong: Vec<String> = (0..many).filter_map(|s| judge(s, &mut counts)).take(3).collect();
    eprintln!("{counts:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(counts.judged > many as usize / 4, "few claims were judged: {counts:?}");
    assert!(counts.refused_by_condition > 0, "no run had pointers that show the same memory: {counts:?}");
}
