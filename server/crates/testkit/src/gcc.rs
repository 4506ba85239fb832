//! Random functions compiled by gcc and run beside our own machine: final memory and value must agree, and where our
//! machine sees no fault the undefined-behavior sanitizer must see none.
//!
//! Sanitizer checks of array bounds are left out: generated subscripts may leave a row on purpose.

use std::path::Path;
use std::process::Command;

use base::Budget;
use simulate::{run, Options, Program, Value};

use crate::nests::{Call, Nest, Place, Ty};
use crate::rng::Rng;

/// What came of a batch.
#[derive(Clone, Debug, Default)]
pub struct Compared {
    /// Calls that ended on our machine and were compared.
    pub calls: usize,
    /// Calls that our machine faulted on; not compared.
    pub faults: usize,
    /// What differs, with the program.
    pub different: Vec<String>,
}

struct Case<'a> {
    nest: &'a Nest,
    call: Call,
    before: Vec<Vec<u8>>,
    after: Vec<Vec<u8>>,
    value: Vec<u8>,
}

/// Compares a batch of functions, each on a few calls. `dir` is an empty folder to work in. An error says that gcc could
/// not be used or refused the program.
pub fn compare(nests: &[Nest], calls: usize, dir: &Path) -> Result<Compared, String> {
    let mut out = Compared::default();
    let mut cases: Vec<Case<'_>> = Vec::new();
    for nest in nests {
        let text = nest.text();
        let parsed = front::Parsed::parse(front::Language::C, text.as_str());
        let unit = front::lower(&parsed, &front::Options::default(), &mut front::Memo::new());
        let program = Program::of(unit.items.iter().map(|i| &*i.body));
        let mut rng = Rng::new(nest.seed ^ 0x6CC);
        // What a helper keeps between calls would pass from one to the next in the compiled program.
        let calls = if text.contains("_last;") { calls.min(1) } else { calls };
        for n in 0..calls {
            let call = Call::random(nest, &mut rng, n > 0);
            let Ok(mut m) = call.build(nest) else { continue };
            let args = m.args.clone();
            match run(&program, "f", &args, &mut m.heap, &Options::default(), &Budget::new(Call::STEPS)) {
                Ok(outcome) => cases.push(Case {
                    nest,
                    before: call.contents(nest),
                    after: m.own.iter().map(|o| m.heap.snapshot(*o).data).collect(),
                    value: value_bytes(nest.ret, outcome.value),
                    call,
                }),
                Err(_) => out.faults += 1,
            }
        }
    }
    let io = |e: std::io::Error| format!("{}: {e}", dir.display());
    let (source, binary) = (dir.join("nests.c"), dir.join("nests"));
    std::fs::write(&source, program_text(&cases)).map_err(io)?;
    let input: Vec<u8> = cases.iter().flat_map(|c| c.before.concat()).collect();
    std::fs::write(dir.join("in"), input).map_err(io)?;
    let compiled = Command::new("gcc")
        .args(["-std=c99", "-O0", "-w", "-ffp-contract=off", "-fsanitize=undefined"])
        .args(["-fno-sanitize=bounds,vla-bound,object-size,alignment", "-o"])
        .arg(&binary)
        .arg(&source)
        .arg("-lm")
        .output()
        .map_err(|e| format!("gcc: {e}"))?;
    if !compiled.status.success() {
        let all = String::from_utf8_lossy(&compiled.stderr).into_owned();
        let some: Vec<&str> = all.lines().filter(|l| l.contains("error")).take(8).collect();
        return Err(format!("gcc refused {}: {}", source.display(), some.join("\n")));
    }
    let ran = Command::new(&binary).current_dir(dir).output().map_err(io)?;
    let errors = sanitizer(&String::from_utf8_lossy(&ran.stderr), cases.len());
    let got = std::fs::read(dir.join("out")).map_err(io)?;
    let mut at = 0;
    for (n, c) in cases.iter().enumerate() {
        out.calls += 1;
        let mut wrong: Vec<String> = errors[n].iter().map(|e| format!("the sanitizer says: {e}")).collect();
        for (o, want) in c.after.iter().enumerate() {
            let a = &c.nest.arrays[o];
            let have = got.get(at..at + want.len()).unwrap_or(&[]);
            at += want.len();
            if let Some(k) = first_difference(a.ty, want, have) {
                wrong.push(format!("the memory of {} differs at element {k}", a.name));
            }
        }
        let have = got.get(at..at + c.value.len()).unwrap_or(&[]);
        at += c.value.len();
        if let Some(ty) = c.nest.ret {
            if first_difference(ty, &c.value, have).is_some() {
                wrong.push(format!("the value differs: ours {:?}, gcc's {have:?}", c.value));
            }
        }
        if !wrong.is_empty() {
            out.different.push(format!(
                "seed {}, called with {}: {}\n{}",
                c.nest.seed,
                c.call.describe(c.nest),
                wrong.join("; "),
                c.nest.text()
            ));
        }
    }
    if !ran.status.success() {
        out.different.push(format!("the compiled program ended with {}", ran.status));
    }
    Ok(out)
}

fn value_bytes(ret: Option<Ty>, value: Option<Value>) -> Vec<u8> {
    match (ret, value) {
        (Some(ty), Some(Value::Int(v))) => v.to_le_bytes()[..ty.size()].to_vec(),
        (Some(_), Some(Value::F32(v))) => v.to_le_bytes().to_vec(),
        (Some(_), Some(Value::F64(v))) => v.to_le_bytes().to_vec(),
        _ => Vec::new(),
    }
}

/// The first element that differs. Two NaNs do not, nor do two zeros: which of them `fmax` gives is not said (C11 F.10.9).
fn first_difference(ty: Ty, want: &[u8], have: &[u8]) -> Option<usize> {
    if want.len() != have.len() {
        return Some(0);
    }
    let float = |b: &[u8]| match ty {
        Ty::Float => b.try_into().ok().map(|b| f64::from(f32::from_le_bytes(b))),
        Ty::Double => b.try_into().ok().map(f64::from_le_bytes),
        _ => None,
    };
    want.chunks(ty.size()).zip(have.chunks(ty.size())).position(|(w, h)| {
        let same = match (float(w), float(h)) {
            (Some(x), Some(y)) => x == y || (x.is_nan() && y.is_nan()),
            _ => false,
        };
        w != h && !same
    })
}

/// Complaints by case: the program writes `case N` before each.
fn sanitizer(stderr: &str, cases: usize) -> Vec<Vec<String>> {
    let mut out = vec![Vec::new(); cases];
    let mut now = None;
    for l in stderr.lines() {
        if let Some(n) = l.strip_prefix("case ") {
            now = n.parse::<usize>().ok().filter(|n| *n < cases);
        } else if let (Some(n), true) = (now, l.contains("runtime error")) {
            if out[n].len() < 3 {
                let what = l.split("runtime error: ").last().unwrap_or(l);
                out[n].push(what.to_owned());
            }
        }
    }
    out
}

fn program_text(cases: &[Case<'_>]) -> String {
    let mut out = String::from(
        "#include <stddef.h>\n#include <math.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\
         static FILE *in, *out;\n\
         static char *load(size_t n) { char *p = malloc(n + 16); if (fread(p, 1, n, in) != n) exit(9); return p; }\n",
    );
    let mut main = String::from(
        "int main(void) {\n    in = fopen(\"in\", \"rb\");\n    out = fopen(\"out\", \"wb\");\n    if (!in || !out) return 9;\n",
    );
    let mut last: Option<(&Nest, usize)> = None;
    for (n, c) in cases.iter().enumerate() {
        // calls of one function stand together
        let number = match last {
            Some((nest, number)) if std::ptr::eq(nest, c.nest) => number,
            _ => {
                out += &c.nest.function_as(&format!("f_{n}"), &format!("_{n}"));
                last = Some((c.nest, n));
                n
            }
        };
        main += &format!("    {{\n        fprintf(stderr, \"case {n}\\n\");\n");
        for (o, bytes) in c.before.iter().enumerate() {
            main += &format!("        char *o{o} = load({});\n", bytes.len());
        }
        let mut args: Vec<String> = c.call.sizes.iter().map(|v| v.to_string()).collect();
        let mut back = String::new();
        for (k, a) in c.nest.arrays.iter().enumerate() {
            if let Place::Global { .. } = a.place {
                let size = c.before[k].len();
                main += &format!("        memcpy({}_{number}, o{k}, {size});\n", a.name);
                back += &format!("        memcpy(o{k}, {}_{number}, {size});\n", a.name);
            } else {
                args.push(format!("(void *)(o{} + {})", c.call.objects[k].0, c.call.offset(a, k)));
            }
        }
        let call = format!("f_{number}({})", args.join(", "));
        match c.nest.ret {
            Some(ty) => main += &format!("        {} r = {call};\n", ty.c()),
            None => main += &format!("        {call};\n"),
        }
        main += &back;
        for (o, bytes) in c.before.iter().enumerate() {
            main += &format!("        fwrite(o{o}, 1, {}, out);\n        free(o{o});\n", bytes.len());
        }
        if c.nest.ret.is_some() {
            main += "        fwrite(&r, 1, sizeof r, out);\n";
        }
        main += "    }\n";
    }
    out + &main + "    return fclose(out) != 0;\n}\n"
}
