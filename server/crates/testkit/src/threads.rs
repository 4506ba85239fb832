//! Random nests that are likely to have a thread map, and a judge of maps: the nest is run with a record of every cell it
//! touches, and two instances that share a cell, one of them writing, must have one thread.

use std::collections::HashMap;

use analysis::{analyze, thread_map, LoopId, Program as Around, ThreadMap, SAVE};
use base::Budget;
use simulate::{
    compile, run_code, Access, AccessKind, Heap, Hooks, LoopEvent, Memory, ObjectId, Program, Space, Value,
};
use term::{Body, SymbolId, TermId};

use crate::pred::{self, Values};
use crate::rng::Rng;

/// A nest likely to have threads: each array is mostly reached along one direction.
pub fn nest(seed: u64) -> String {
    let mut rng = Rng::new(seed);
    let direction: Vec<(i64, i64)> =
        (0..2).map(|_| *rng.pick(&[(1, -1), (1, 1), (1, 0), (0, 1), (2, 1), (1, -2), (0, 2)])).collect();
    let mut out = String::from(
        "double X[64][64], Y[64][64];\nvoid f(int n, double *restrict a, double *restrict b)\n{\n",
    );
    let outer = *rng.pick(&[
        "for (int i = 0; i < n; i++)",
        "for (int i = 1; i <= n; i++)",
        "for (int i = n; i >= 1; i--)",
        "for (int i = 0; i < n; i += 2)",
    ]);
    out.push_str(&format!("    {outer} {{\n"));
    for _ in 0..rng.between(0, 1) {
        out.push_str(&format!("        {}\n", statement(&mut rng, &direction, false)));
    }
    for _ in 0..rng.between(1, 2) {
        let inner = *rng.pick(&[
            "for (int j = 0; j < n; j++)",
            "for (int j = 0; j <= i; j++)",
            "for (int j = i; j < n; j++)",
            "for (int j = n - 1; j >= 0; j--)",
            "for (int j = 1; j <= n; j += 3)",
        ]);
        out.push_str(&format!("        {inner} {{\n"));
        if rng.chance(25) {
            out.push_str(&format!("            double t = {};\n", cell(&mut rng, &direction, true)));
            out.push_str(&format!("            {} += t;\n", cell(&mut rng, &direction, true)));
        }
        for _ in 0..rng.between(1, 2) {
            out.push_str(&format!("            {}\n", statement(&mut rng, &direction, true)));
        }
        out.push_str("        }\n");
    }
    out.push_str("    }\n}\n");
    out
}

/// Bounds for n <= 6: forms stay within -18..=18, and 24 is added.
fn form(rng: &mut Rng, (p, q): (i64, i64), deep: bool) -> String {
    let shift = 24 + rng.between(-2, 2);
    match deep {
        true => format!("{p} * i + {q} * j + {shift}"),
        false => format!("{} * i + {shift}", if p == 0 { q } else { p }),
    }
}

fn cell(rng: &mut Rng, direction: &[(i64, i64)], deep: bool) -> String {
    let off = |rng: &mut Rng| rng.between(7, 9);
    match rng.below(4) {
        0 => format!("a[{}]", form(rng, direction[0], deep)),
        1 => format!("b[{}]", form(rng, direction[1], deep)),
        k => {
            let name = if k == 2 { "X" } else { "Y" };
            let (x, y) = (off(rng), off(rng));
            match (deep, rng.chance(85)) {
                (true, true) => format!("{name}[i + {x}][j + {y}]"),
                (true, false) => format!("{name}[j + {x}][i + {y}]"),
                _ => format!("{name}[i + {x}][{y}]"),
            }
        }
    }
}

fn statement(rng: &mut Rng, direction: &[(i64, i64)], deep: bool) -> String {
    let target = cell(rng, direction, deep);
    let op = *rng.pick(&["=", "+=", "+="]);
    let source = cell(rng, direction, deep);
    let text = format!("{target} {op} {source} + 1;");
    let guards: &[&str] = match deep {
        true => &["i == 1", "i != j", "j > 1", "i == 0 || j == 0", "(i + j) % 2 == 0", "i + j < n"],
        false => &["i > 1", "i != 2", "n > 3"],
    };
    match rng.chance(35) {
        true => format!("if ({}) {text}", rng.pick(guards)),
        false => text,
    }
}

/// Watches which thread touches which cell.
struct Watch<'a> {
    body: &'a Body,
    map: &'a ThreadMap,
    owner: HashMap<TermId, usize>,
    indices: Vec<Option<SymbolId>>,
    values: Values,
    extents: Vec<i128>,
    cells: HashMap<(ObjectId, u32), (Vec<i128>, bool, bool)>,
    wrong: Option<String>,
}

impl Hooks for Watch<'_> {
    fn access(&mut self, mem: &Memory, a: Access) -> bool {
        let shared = mem.get(a.object).is_some_and(|o| matches!(o.space, Space::Global));
        let (true, Some(&s)) = (shared, self.owner.get(&a.term)) else { return false };
        let ids: Option<Vec<i128>> = self.map.statements[s]
            .coordinates
            .iter()
            .map(|e| pred::value(self.body, e, &self.values))
            .collect();
        let Some(ids) = ids else {
            self.wrong.get_or_insert(format!("S{} has no thread", s + 1));
            return false;
        };
        if ids.iter().zip(&self.extents).any(|(id, n)| id < &0 || id >= n) {
            self.wrong.get_or_insert(format!("S{} runs at {ids:?} of {:?}", s + 1, self.extents));
        }
        let write = !matches!(a.kind, AccessKind::Read);
        let known = self.cells.entry((a.object, a.offset)).or_insert((ids.clone(), false, false));
        known.1 |= write;
        known.2 |= known.0 != ids;
        if known.1 && known.2 {
            self.wrong.get_or_insert(format!("S{}: a cell of thread {:?} in {ids:?}", s + 1, known.0));
        }
        false
    }
    fn looped(&mut self, e: LoopEvent) {
        if let LoopEvent::Iterate(l, Some(v)) = e {
            if let Some(Some(s)) = self.indices.get(l as usize) {
                self.values.insert(*s, i128::from(v));
            }
        }
    }
}

/// What is wrong with the map of the text's nest; whether it has one.
pub fn judge(text: &str) -> (bool, Option<String>) {
    let parsed = front::Parsed::parse(front::Language::C, text);
    let unit = front::lower(&parsed, &front::Options::default(), &mut front::Memo::new());
    let body = &unit.items.iter().find(|i| &*i.name == "f").expect("f").body;
    let (around, budget) = (Around::default(), Budget::new(u64::MAX));
    let facts = analyze(body, &around, SAVE, &budget);
    let Ok(map) = thread_map(body, &around, &facts, LoopId(0), &budget) else { return (false, None) };
    let mut owner = HashMap::new();
    for (k, s) in map.statements.iter().enumerate() {
        owner.extend(body.walk(s.term).map(|t| (t, k)));
    }
    let program = Program::of(unit.items.iter().map(|i| &*i.body));
    let watch: Vec<TermId> = body.loops(body.root).collect();
    let options = simulate::Options { watch: Some(watch), ..simulate::Options::default() };
    let code = compile(&program, "f", &options).expect("a program");
    let n_symbol = body.symbols.iter_ids().find(|(_, s)| &*s.name == "n").expect("n").0;
    for n in 0..=6i128 {
        let mut values = Values::new();
        values.insert(n_symbol, n);
        let extents: Option<Vec<i128>> = map.extents.iter().map(|e| pred::value(body, e, &values)).collect();
        let Some(extents) = extents else { return (true, Some("an extent has no value".into())) };
        let mut heap = Heap::new();
        let mut args = vec![Value::Int(n)];
        for name in ["a", "b"] {
            let o = heap.buffer(name, &[1.0f64; 80]).expect("memory");
            args.push(Value::Pointer(o, 0));
        }
        let mut hooks = Watch {
            body,
            map: &map,
            owner: owner.clone(),
            indices: code.watched.iter().map(|w| w.index).collect(),
            values,
            extents,
            cells: HashMap::new(),
            wrong: None,
        };
        if let Err(fault) = run_code(&code, &args, &mut heap, &Budget::new(4_000_000), &mut hooks) {
            return (true, Some(format!("n={n}: {fault:?}")));
        }
        if let Some(wrong) = hooks.wrong {
            return (true, Some(format!("n={n}: {wrong}")));
        }
    }
    (true, None)
}
