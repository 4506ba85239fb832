//! Random C# methods compiled by mono's compiler and run beside our own machine: what they leave in memory, what they give, and
//! what they throw must agree.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use base::Budget;
use simulate::{run, FaultKind, Options, Program, Value};

use crate::csharp::{Call, Given, Method, Of};
use crate::rng::Rng;

/// What came of a batch.
#[derive(Clone, Debug, Default)]
pub struct Compared {
    /// Calls that were compared; how many of them threw.
    pub calls: usize,
    pub threw: usize,
    /// Calls that our machine does not run.
    pub left_out: usize,
    /// What differs, with the program.
    pub different: Vec<String>,
}

/// Whether there is a mono to ask.
pub fn is_available() -> bool {
    let runs = |tool: &str| Command::new(tool).arg("--version").output().is_ok_and(|o| o.status.success());
    runs("mcs") && runs("mono")
}

/// What is left: the name of an exception or nothing, the value, and the bytes of all arrays.
type Left = (String, i64, Vec<Vec<u8>>);

/// Compares a batch of methods, each on a few calls. `dir` is an empty folder to work in. An error says that mono could not
/// be used or refused the program.
pub fn compare(methods: &[Method], calls: usize, dir: &Path) -> Result<Compared, String> {
    let mut out = Compared::default();
    let mut cases: Vec<(usize, Call, Left)> = Vec::new();
    for (number, method) in methods.iter().enumerate() {
        let text = method.text();
        let parsed = front::Parsed::parse(front::Language::CSharp, text.as_str());
        let unit = front::lower(&parsed, &front::Options::default(), &mut front::Memo::new());
        let program = Program::of(unit.items.iter().map(|i| &*i.body));
        let mut rng = Rng::new(method.seed ^ 0x300);
        for n in 0..calls {
            let call = Call::random(method, &mut rng, n > 0);
            match ours(method, &program, &call) {
                Some(left) => cases.push((number, call, left)),
                None => out.left_out += 1,
            }
        }
    }
    let io = |e: std::io::Error| format!("{}: {e}", dir.display());
    let (source, binary) = (dir.join("methods.cs"), dir.join("methods.exe"));
    std::fs::write(&source, program_text(methods, &cases)).map_err(io)?;
    let compiled = Command::new("mcs")
        .args(["-nologo", "-warn:0", "-nowarn:0162,0219,0168", "-optimize+"])
        .arg(format!("-out:{}", binary.display()))
        .arg(&source)
        .output()
        .map_err(|e| format!("mcs: {e}"))?;
    if !compiled.status.success() {
        let all = String::from_utf8_lossy(&compiled.stderr).into_owned()
            + &String::from_utf8_lossy(&compiled.stdout);
        let some: Vec<&str> = all.lines().filter(|l| l.contains("error")).take(8).collect();
        return Err(format!("mcs refused {}: {}", source.display(), some.join("\n")));
    }
    let ran = Command::new("mono").arg(&binary).output().map_err(|e| format!("mono: {e}"))?;
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    let mut lines = said.lines();
    for (number, call, left) in &cases {
        out.calls += 1;
        out.threw += usize::from(!left.0.is_empty());
        let method = &methods[*number];
        let theirs = lines.next().unwrap_or("");
        let mut want = format!("{} {}", left.0, left.1);
        if !left.0.is_empty() {
            want = left.0.clone();
        }
        for (a, bytes) in call.arrays.iter().zip(&left.2) {
            if a.rows.is_empty() {
                want += " ";
                want += &hex(a.of, bytes);
            }
        }
        // a store into a rectangle throws after its right side does, which our machine has the other way round: of what such a
        // method throws only that it does is compared
        let rectangles = method.params.iter().any(|p| p.shape == crate::csharp::Shape::Rectangle);
        let unnamed = |s: &str| match s.split_once("Exception") {
            Some((_, rest)) if rectangles => rest.to_owned(),
            _ => s.to_owned(),
        };
        if unnamed(theirs) != unnamed(&want) {
            out.different.push(format!(
                "seed {}, called with {}:\nours   {want}\ntheirs {theirs}\n{}",
                method.seed,
                call.describe(method),
                method.text()
            ));
        }
    }
    if !ran.status.success() {
        let why = String::from_utf8_lossy(&ran.stderr).into_owned();
        return Err(format!("the compiled program ended with {}: {why}", ran.status));
    }
    Ok(out)
}

fn ours(method: &Method, program: &Program<'_>, call: &Call) -> Option<Left> {
    let (mut heap, args, objects) = call.build(method).ok()?;
    let ran = run(program, "T.F", &args, &mut heap, &Options::default(), &Budget::new(Call::STEPS));
    let (threw, value) = match ran {
        Ok(out) => ("", out.value),
        Err(fault) => (name_of(&fault.kind)?, None),
    };
    let value = match value {
        Some(Value::Int(v)) => v as i64,
        _ => 0,
    };
    Some((threw.to_owned(), value, objects.iter().map(|&o| heap.read_raw::<u8>(o)).collect()))
}

/// The exception that C# has for it; `None`: our machine has no opinion.
fn name_of(kind: &FaultKind) -> Option<&'static str> {
    Some(match kind {
        FaultKind::NullDereference => "NullReferenceException",
        FaultKind::OutOfBounds { .. } | FaultKind::PointerRange => "IndexOutOfRangeException",
        FaultKind::DivisionByZero => "DivideByZeroException",
        FaultKind::SignedOverflow => "OverflowException",
        _ => return None,
    })
}

/// Elements as hexadecimal digits; any NaN is one.
fn hex(of: Of, bytes: &[u8]) -> String {
    let mut out = String::from("[");
    for e in bytes.chunks(of.size()) {
        let nan = match of {
            Of::Float => e.try_into().is_ok_and(|b| f32::from_le_bytes(b).is_nan()),
            Of::Double => e.try_into().is_ok_and(|b| f64::from_le_bytes(b).is_nan()),
            _ => false,
        };
        if nan {
            out += "NaN";
        } else {
            for b in e {
                let _ = write!(out, "{b:02x}");
            }
        }
        out += ".";
    }
    out + "]"
}

fn program_text(methods: &[Method], cases: &[(usize, Call, Left)]) -> String {
    let mut out = String::from("using System;\nusing System.Text;\n");
    for (number, method) in methods.iter().enumerate() {
        out += &method.class(&format!("T{number}"));
    }
    out += RUNTIME;
    let mut main = String::from("static class Program {\n    static void Main() {\n");
    for (k, (number, call, _)) in cases.iter().enumerate() {
        let _ = writeln!(main, "        C{k}.Run();");
        let _ = writeln!(out, "static class C{k} {{ public static void Run() {{");
        for (n, a) in call.arrays.iter().enumerate() {
            let name = a.of.name();
            if !a.rows.is_empty() {
                let _ = writeln!(out, "    var o{n} = new {name}[{}][];", a.rows.len());
                for (k, row) in a.rows.iter().enumerate() {
                    let row = row.map_or("null".to_owned(), |r| format!("o{r}"));
                    let _ = writeln!(out, "    o{n}[{k}] = {row};");
                }
                continue;
            }
            let sizes: Vec<String> = a.sizes.iter().map(usize::to_string).collect();
            let dimensions = sizes.join(", ");
            let digits: String = a.content.iter().map(|b| format!("{b:02x}")).collect();
            let _ = writeln!(out, "    var o{n} = new {name}[{dimensions}]; R.Fill(o{n}, \"{digits}\");");
        }
        let args: Vec<String> = call
            .given
            .iter()
            .map(|g| match g {
                Given::Number(v) => v.to_string(),
                Given::Array(None) => "null".into(),
                Given::Array(Some(k)) => format!("o{k}"),
            })
            .collect();
        let shown: String = call
            .arrays
            .iter()
            .enumerate()
            .filter(|(_, a)| a.rows.is_empty())
            .map(|(n, _)| format!(" + \" \" + R.Hex(o{n})"))
            .collect();
        let _ = writeln!(
            out,
            "    string said; try {{ said = \" \" + T{number}.F({}); }} catch (Exception e) {{ said = e.GetType().Name; }}\n    Console.WriteLine(said{shown}); }} }}",
            args.join(", ")
        );
    }
    out + &main + "    }\n}\n"
}

const RUNTIME: &str = r#"
static class R {
    public static void Fill(Array a, string digits) {
        int size = Buffer.ByteLength(a);
        for (int k = 0; k < size; k++) Buffer.SetByte(a, k, Convert.ToByte(digits.Substring(2 * k, 2), 16));
    }
    public static string Hex(Array a) {
        var said = new StringBuilder("[");
        int each = a.Length == 0 ? 1 : Buffer.ByteLength(a) / a.Length, at = 0;
        foreach (object e in a) {
            bool nan = e is float && float.IsNaN((float)e) || e is double && double.IsNaN((double)e);
            if (nan) said.Append("NaN");
            else for (int k = 0; k < each; k++) said.Append(Buffer.GetByte(a, at + k).ToString("x2"));
            said.Append('.');
            at += each;
        }
        return said.Append(']').ToString();
    }
}
"#;
