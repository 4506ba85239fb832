//! Broken, deep and huge input: no panic, no overflow, and edits in steps give what a fresh reading gives.

mod common;
mod sane;

use common::unit_as;
use front::{item_at, lower, Item, ItemKind, Language, Memo, Options, Parsed, Unit};
use proptest::prelude::*;
use sane::sane;

const PROGRAM: &str = include_str!("program.txt");
const CUDA_PROGRAM: &str = include_str!("cuda_program.txt");

/// Functions of which few need others.
const PLAIN: &str = "
static int twice(int k) { return 2 * k; }
double sum(int n, const double *x) { double s = 0; for (int k = 0; k < n; k++) s += x[k]; return s; }
void scale(int n, double *x, struct point *p) { for (int k = 0; k < n; k++) { x[twice(k)] = IDX(k, 1); } }
point_t *middle(point_t *p, size_t n) { if (n > 1) { p[n / 2].x = sum(1, &p->y); } return p; }
void fill(real *x, unsigned n) {
    #pragma omp simd
    for (unsigned k = 0; k < n; k++)
        x[k] = grid[0][k] + FAST; /* { */
}
static void last(void) { fill(0, count); }
";

/// Everything that an item says.
fn dump_item(i: &Item) -> String {
    let mut out = format!("{:?} {:?} {} {:x}\n", i.span, i.kind, i.name, i.body.hash);
    let b = &i.body;
    out += &term::notation::print(b, b.root);
    for t in b.walk(b.root) {
        out += &format!(" {:?}{:?}", b.span(t), b.origin(t));
    }
    for s in b.symbols.iter() {
        out += &format!("\n{s:?}");
    }
    for r in b.rejects() {
        out += &format!("\n{r:?}");
    }
    out
}

/// Everything that a unit says, spans included.
fn dump(u: &Unit) -> String {
    let mut out: String = u.items.iter().map(dump_item).collect();
    for r in &u.rejects {
        out += &format!("\n{r:?}");
    }
    for d in &u.directives {
        out += &format!("\n{d:?}");
    }
    out
}

fn fresh(language: Language, text: &str) -> Unit {
    let u = unit_as(language, text, &[]);
    sane(text, &u);
    u
}

/// A cut of the text by bytes, replaced by a piece, made valid UTF-8 again.
fn splice(text: &str, at: usize, cut: usize, piece: &str) -> String {
    let b = text.as_bytes();
    let at = at % (b.len() + 1);
    let end = (at + cut).min(b.len());
    let mut v = b[..at].to_vec();
    v.extend_from_slice(piece.as_bytes());
    v.extend_from_slice(&b[end..]);
    String::from_utf8_lossy(&v).into_owned()
}

fn pieces() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        "[-+*/%&|^<>=!~?:;,.(){}\\[\\]#\"'\\\\a-z0-9 \n]{1,6}",
        prop::sample::select(vec![
            "{",
            "}",
            "(",
            ")",
            ";",
            "#if X\n",
            "\n#endif\n",
            "\n#else\n",
            "/*",
            "*/",
            "\n#define n 3\n",
            "for(",
            "\"",
            "\\\n",
            "é",
            "#define f(x) x f(x\n",
            "struct",
            "typedef",
            "int",
            "\0",
            "\n#include \"x.h\"\n",
            "<<<",
            "else",
            "// warpwright: offload(a)\n",
            "case",
            "if",
            "= {",
            "sizeof",
            "template <",
            "::",
            "auto",
            "[=](",
            "namespace",
            "static_cast<",
            "operator",
            "new",
            "__attribute__((",
            "??",
            "'",
            "/",
            "#",
            "\r",
        ])
        .prop_map(str::to_owned),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn edits_in_steps_give_what_a_fresh_reading_gives(
        edits in prop::collection::vec((any::<usize>(), 0usize..30, pieces()), 1..8),
        cuda in any::<bool>(),
    ) {
        let language = if cuda { Language::Cuda } else { Language::C };
        let options = Options::default();
        let mut memo = Memo::new();
        let mut text = if cuda { CUDA_PROGRAM } else { PROGRAM }.to_owned();
        let mut parsed = Parsed::parse(language, text.as_str());
        lower(&parsed, &options, &mut memo);
        for (at, cut, piece) in edits {
            text = splice(&text, at, cut, &piece);
            parsed = parsed.reparse(&[], text.as_str());
            let stepped = lower(&parsed, &options, &mut memo);
            prop_assert_eq!(dump(&stepped), dump(&fresh(language, &text)), "{}", text);
        }
    }

    #[test]
    fn a_function_reads_the_same_without_those_it_does_not_need(
        edits in prop::collection::vec((any::<usize>(), 0usize..12, pieces()), 0..4),
    ) {
        let mut text = format!("{PROGRAM}{PLAIN}");
        for (at, cut, piece) in edits {
            text = splice(&text, at, cut, &piece);
        }
        let parsed = Parsed::parse(Language::C, text.as_str());
        let whole = fresh(Language::C, &text);
        for item in whole.items.iter().filter(|i| i.kind == ItemKind::Function) {
            let Some(brace) = text[item.span.range()].find('{') else { continue };
            let at = item.span.start + brace as u32 + 1;
            let Some(part) = parsed.part(at, &["errno"]) else { continue };
            prop_assert_eq!(part.parsed.text().len(), text.len());
            let unit = lower(&part.parsed, &Options::default(), &mut Memo::new());
            if !part.is_like_the_whole(&unit, at) {
                continue;
            }
            let alone = item_at(&unit, at).map(dump_item);
            prop_assert_eq!(alone, Some(dump_item(item)), "{}", text);
        }
    }

    #[test]
    fn any_text_is_read(text in "[ -~\n]{0,200}|\\PC{0,100}") {
        fresh(Language::C, &text);
        fresh(Language::Cuda, &text);
    }
}

#[test]
fn every_prefix_and_suffix_of_a_program_is_read() {
    for k in (0..=PROGRAM.len()).step_by(3).filter(|&k| PROGRAM.is_char_boundary(k)) {
        fresh(Language::C, &PROGRAM[..k]);
        if k % 2 == 0 {
            fresh(Language::Cuda, &PROGRAM[k..]);
        }
    }
    for k in (0..=CUDA_PROGRAM.len()).step_by(7) {
        fresh(Language::Cuda, &CUDA_PROGRAM[..k]);
        fresh(Language::Cuda, &CUDA_PROGRAM[k..]);
    }
}

#[test]
fn deep_and_long_input() {
    let n = 10_000;
    let wrap =
        |inner: String| format!("int f(int a, int *p) {{ {inner} return a; }}\nint g(void) {{ return 1; }}");
    let inputs = [
        format!("a = {}a{};", "(".repeat(n), ")".repeat(n)),
        format!("{}{}", "{".repeat(n), "}".repeat(n)),
        format!("a = a{};", "+a".repeat(5_000)),
        format!("a = {}a;", "-".repeat(n).replace('-', "- ")),
        format!("a = {}a;", "a=".repeat(n)),
        format!("a = p{};", "[0]".repeat(n)),
        format!("a = {}p;", "*".repeat(n)),
        format!("a = {};", vec!["a"; n].join(",")),
        format!("a = a{};", "?a:a".repeat(n)),
        format!("{};", "if (a) ".repeat(n)),
        format!("{} a = 1;", "if (a) a = 2; else ".repeat(n)),
        format!("{} a = 1;", "for (;;) ".repeat(n)),
        format!("int {}x;", "*".repeat(n)),
        format!("int x{};", "[2]".repeat(n)),
        format!("int {}x{};", "(".repeat(n), ")".repeat(n)),
        format!("a = {}1{};", "f(".repeat(n), ")".repeat(n)),
        format!("{}int x;{}", "struct { ".repeat(n), "} y;".repeat(n)),
        format!("{} a = 1;", (0..n).map(|k| format!("l{k}: ")).collect::<String>()),
        format!("switch (a) {{ {} }}", "case 1: ".repeat(n)),
        format!("a = {}1;", "(int)".repeat(n)),
        format!("a = {}1;", "sizeof ".repeat(n)),
        "(".repeat(n),
        "{".repeat(n),
        "[".repeat(n),
        "int f(".repeat(n),
        format!("#define a {}\n a", "(a".repeat(n)),
    ];
    for inner in inputs {
        let text = wrap(inner);
        for language in [Language::C, Language::Cuda] {
            let u = unit_as(language, &text, &[]);
            let b = &u.items[0].body;
            // Depth is bounded for whoever walks terms by recursion.
            let mut depth = vec![0u32; b.len()];
            for t in b.walk(b.root) {
                for &a in b.args(t) {
                    depth[a.0 as usize] = depth[t.0 as usize] + 1;
                }
            }
            assert!(depth.iter().max().unwrap_or(&0) < &1500);
        }
    }
    let top = format!("{}int x{};", "int (*".repeat(n), ")(void)".repeat(n));
    fresh(Language::C, &top);
    let ifs = format!("#include \"a.h\"\n{}int x;\n{}", "#if X\n".repeat(n), "#endif\n".repeat(n));
    fresh(Language::C, &ifs);
    let condition = format!("#if {}1{}\nint x;\n#endif\n", "(".repeat(n), ")".repeat(n));
    fresh(Language::C, &condition);
    let macros: String = (0..200).map(|k| format!("#define m{k} m{} m{}\n", k + 1, k + 1)).collect();
    fresh(Language::C, &format!("{macros}int f(void) {{ return m0; }}\nint g(void) {{ return 1; }}"));
    let nested: String =
        format!("#define i(x) x\nint f(int a) {{ return {}a{}; }}", "i(".repeat(n), ")".repeat(n));
    fresh(Language::C, &nested);
}

#[test]
fn a_long_table_is_not_looked_into() {
    let text = format!("static int t[] = {{ {} }};\nint f(void) {{ return t[1]; }}", "1,".repeat(1_000_000));
    let u = fresh(Language::C, &text);
    assert!(u.items[0].body.len() < 100);
    assert_eq!(u.items.len(), 2);
}

#[test]
fn many_functions_give_the_same_on_many_threads() {
    let functions = |n: usize| -> String {
        (0..n)
            .map(|k| {
                format!(
                    "#define K{k} {k}\ntypedef int t{k};\nt{k} f{k}(t{k} x) {{ return f{}(x) + K{k}; }}\n",
                    k / 2
                )
            })
            .collect()
    };
    let text = functions(100);
    let all = dump(&fresh(Language::C, &text));
    assert_eq!(all, dump(&fresh(Language::C, &text)));
    // Few at a time: one thread.
    let options = Options::default();
    let mut memo = Memo::new();
    let mut stepped = String::new();
    for n in (0..=100).step_by(10) {
        let parsed = Parsed::parse(Language::C, functions(n));
        stepped = dump(&lower(&parsed, &options, &mut memo));
    }
    assert_eq!(all, stepped);
}

#[test]
fn what_breaks_an_item_may_stand_behind_it() {
    let text = |then: &str| {
        let over = "__global__ void over(int *x) { x[0] = f(1.5f); }";
        format!("__device__ int f(n (int)a + 1; }}\n{over}\n__device__ {then}(float2 a) {{ return a; }}\n")
    };
    let (options, mut memo) = (Options::default(), Memo::new());
    for then in ["a::b", "float2 operator+", "float2 c", "a::b"] {
        let parsed = Parsed::parse(Language::Cuda, text(then));
        let stepped = lower(&parsed, &options, &mut memo);
        assert_eq!(dump(&stepped), dump(&fresh(Language::Cuda, &text(then))));
    }
}
