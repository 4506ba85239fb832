//! What a compiler says it defines, taken from recorded answers and from the compilers that are here.

mod common;

use std::sync::Arc;

use common::options;
use front::{lower, Language, Memo, Options, Parsed, Predefined, Taken, Unit};

const GCC: &str = include_str!("gcc_says.txt");
const CLANG: &str = include_str!("clang_says.txt");

fn asked(answer: &str, with_options: bool) -> Arc<Predefined> {
    Arc::new(Predefined::read(Language::C, answer, with_options).expect("an answer"))
}

fn unit(text: &str, compiler: Option<Arc<Predefined>>) -> Unit {
    let options = Options { compiler, ..Options::default() };
    lower(&Parsed::parse(Language::C, text), &options, &mut Memo::new())
}

/// Of each condition: whether it holds; `None`: not known.
fn decided(conditions: &[&str], compiler: Option<&Arc<Predefined>>, language: Language) -> Vec<Option<bool>> {
    let mut text = String::new();
    for (n, c) in conditions.iter().enumerate() {
        text += &format!("#if {c}\nint yes_{n};\n#else\nint no_{n};\n#endif\n");
    }
    let options = Options { compiler: compiler.cloned(), ..Options::default() };
    let unit = lower(&Parsed::parse(language, text.as_str()), &options, &mut Memo::new());
    let has = |name: String| unit.items.iter().any(|i| *i.name == *name);
    (0..conditions.len())
        .map(|n| match (has(format!("yes_{n}")), has(format!("no_{n}"))) {
            (true, false) => Some(true),
            (false, true) => Some(false),
            _ => None,
        })
        .collect()
}

/// What `-O2 -fopenmp -mavx2` adds.
const OPTIONS: &str =
    "#define _OPENMP 201511\n#define __OPTIMIZE__ 1\n#define __AVX__ 1\n#define __AVX2__ 1\n";

const YES: Option<bool> = Some(true);
const NO: Option<bool> = Some(false);

/// A condition, and how it is decided by nobody, gcc, clang, and gcc with the text's options.
const RELATIVES: [(&str, [Option<bool>; 4]); 34] = [
    // the target decides these
    ("defined(__linux__)", [YES; 4]),
    ("defined linux", [None, YES, YES, YES]),
    ("linux == 1 && unix", [None, YES, YES, YES]),
    ("defined(__SSE2__)", [None, YES, YES, YES]),
    ("__SSE2__ + __SSE__ == 2", [None, YES, YES, YES]),
    ("defined(__SSE2__) && defined(_WIN32)", [NO; 4]),
    ("__SIZEOF_LONG__ == 8 && __CHAR_BIT__ == 8", [YES; 4]),
    ("__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__", [YES; 4]),
    ("defined(_WIN32) || defined(__APPLE__)", [NO; 4]),
    ("defined(__arm__) || defined(__ARM_NEON)", [NO; 4]),
    ("'\\377' < 0 && !defined(__CHAR_UNSIGNED__)", [YES; 4]),
    // which compiler
    ("__GNUC__ >= 12", [YES, YES, NO, YES]),
    ("defined(__clang__)", [NO, NO, YES, NO]),
    ("__GNUC__ && !defined(__clang__)", [YES, YES, NO, YES]),
    ("defined(__has_feature)", [None, NO, YES, NO]),
    ("defined(__INTEL_COMPILER)", [NO; 4]),
    ("__STDC_VERSION__ >= 199901L", [YES; 4]),
    // options decide these
    ("defined(_OPENMP)", [None, None, None, YES]),
    ("_OPENMP >= 201307", [None, None, None, YES]),
    ("defined(__OPTIMIZE__)", [None, None, None, YES]),
    ("defined __AVX__", [None, None, None, YES]),
    ("__AVX2__", [None, None, None, YES]),
    ("__AVX512F__", [None, None, None, NO]),
    ("defined(__SSE4_2__) || defined(__FMA__)", [None, None, None, NO]),
    ("defined(__FAST_MATH__)", [None, None, None, NO]),
    ("__FINITE_MATH_ONLY__", [None, None, None, NO]),
    ("defined(__NO_INLINE__)", [None, None, None, YES]),
    ("defined(__BMI2__) || defined(__POPCNT__)", [None, None, None, NO]),
    // what does not depend on it is decided
    ("defined(__AVX__) && 0", [NO; 4]),
    ("__FINITE_MATH_ONLY__ || 1", [YES; 4]),
    ("defined(__AVX__) == defined(__AVX__) || 1 / 1", [YES; 4]),
    // names of the program, which only `-D` defines
    ("defined(NDEBUG)", [NO; 4]),
    ("defined(_FORTIFY_SOURCE)", [NO; 4]),
    ("USE_BLAS", [NO; 4]),
];

#[test]
fn what_is_known_is_what_was_said() {
    let conditions: Vec<&str> = RELATIVES.iter().map(|r| r.0).collect();
    let with = GCC.to_owned() + OPTIONS;
    let compilers = [None, Some(asked(GCC, false)), Some(asked(CLANG, false)), Some(asked(&with, true))];
    for (k, compiler) in compilers.iter().enumerate() {
        let said = decided(&conditions, compiler.as_ref(), Language::C);
        for ((condition, expected), said) in RELATIVES.iter().zip(said) {
            let name = compiler.as_ref().map_or("nobody", |c| c.name());
            assert_eq!(said, expected[k], "#if {condition}, {name} ({k})");
        }
    }
}

#[test]
fn texts_of_cuda_have_the_host_s_names_and_cuda_s() {
    let gcc = Arc::new(Predefined::read(Language::Cuda, GCC, false).expect("an answer"));
    let conditions =
        ["defined(linux)", "defined(__SSE2__)", "defined(__CUDACC__)", "__cplusplus >= 201703L", "__AVX__"];
    assert_eq!(decided(&conditions, Some(&gcc), Language::Cuda), [YES, YES, YES, YES, None]);
    // an answer for one language says nothing of another
    assert_eq!(decided(&conditions[..2], Some(&gcc), Language::C), [None, None]);
}

#[test]
fn answers_that_are_none_are_refused() {
    let why = |answer: &str| Predefined::read(Language::C, answer, false).expect_err("refused");
    assert!(why("").contains("0 lines"));
    assert!(why("#define A 1\n").contains("1 lines"));
    assert!(why("cc: fatal error: no input files\n").contains("fatal error"));
    assert!(why(&format!("{GCC}int main(void) {{}}\n")).contains("int main"));
    assert!(why(&format!("{GCC}#include \"/etc/passwd\"\n")).contains("#include"));
    assert!(why(&format!("{GCC}#undef linux\n")).contains("#undef"));
    assert!(why(&"#define X 1\n".repeat(50_000)).contains("50000"));
    assert!(why(&"#define X 1\n".repeat(500)).contains("__STDC__"));
    // another machine's types, another sign of `char`
    let other = |name: &str, from: &str, to: &str| {
        let (old, new) = (format!("#define {name} {from}\n"), format!("#define {name} {to}\n"));
        assert!(GCC.contains(&old), "{old}");
        why(&GCC.replace(&old, &new))
    };
    assert!(other("__SIZEOF_POINTER__", "8", "4").contains("`__SIZEOF_POINTER__` is `4` there"));
    assert!(other("__SIZEOF_LONG__", "8", "4").contains("other types"));
    assert!(other("__SIZE_TYPE__", "long unsigned int", "unsigned int").contains("other types"));
    assert!(
        other("__BYTE_ORDER__", "__ORDER_LITTLE_ENDIAN__", "__ORDER_BIG_ENDIAN__").contains("other types")
    );
    assert!(why(&format!("{GCC}#define __CHAR_UNSIGNED__ 1\n")).contains("no sign"));
    assert!(why(&GCC.replace("__x86_64__", "__aarch64__")).contains("__x86_64__"));
    assert!(why(&GCC.replace("#define __GNUC__ 12", "#define __TINYC__ 927")).contains("neither"));
}

#[test]
fn what_was_taken_is_told() {
    let text =
        "#ifdef linux\nint a;\n#endif\n#ifdef _WIN32\nint b;\n#endif\n#ifdef __AVX__\nint c;\n#endif\n\
                #ifndef NDEBUG\nint d;\n#endif\n#if defined(__GNUC__) && __NO_INLINE__\nint e;\n#endif\n";
    let told = |compiler| -> Vec<String> {
        let unit = unit(text, compiler);
        unit.configuration.iter().map(|c| format!("{} {:?}", c.name, c.taken)).collect()
    };
    let compiler = |name: &str| format!("{name} {:?}", Taken::Compiler("gcc 12.2.0".into()));
    assert_eq!(
        told(Some(asked(GCC, false))),
        [
            compiler("linux"),
            compiler("_WIN32"),
            "__AVX__ EitherWay".into(),
            "NDEBUG NotDefined".into(),
            compiler("__GNUC__"),
            "__NO_INLINE__ EitherWay".into()
        ]
    );
    assert_eq!(
        told(None),
        [
            "linux EitherWay",
            "_WIN32 Platform",
            "__AVX__ EitherWay",
            "NDEBUG NotDefined",
            "__GNUC__ Platform",
            "__NO_INLINE__ EitherWay"
        ]
    );
    let with = asked(&format!("{GCC}{OPTIONS}"), true);
    assert!(told(Some(with)).contains(&compiler("__AVX__")));
}

#[test]
fn a_text_may_say_otherwise() {
    let given = |defines: &[(&str, &str)], undefines: &[&str], text: &str| {
        let options = Options {
            defines: defines.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect(),
            undefines: undefines.iter().map(|n| n.to_string()).collect(),
            compiler: Some(asked(GCC, false)),
            ..Options::default()
        };
        let unit = lower(&Parsed::parse(Language::C, text), &options, &mut Memo::new());
        unit.items.iter().map(|i| i.name.to_string()).collect::<Vec<_>>()
    };
    let text = "#ifdef linux\nint yes;\n#else\nint no;\n#endif\n";
    assert_eq!(given(&[], &[], text), ["yes"]);
    assert_eq!(given(&[], &["linux"], text), ["no"]);
    assert_eq!(given(&[], &[], &format!("#undef linux\n{text}")), ["no"]);
    let text = "#ifdef __AVX__\nint yes;\n#else\nint no;\n#endif\n";
    assert_eq!(given(&[("__AVX__", "1")], &[], text), ["yes"]);
    assert_eq!(given(&[], &["__AVX__"], text), ["no"]);
    assert_eq!(given(&[], &[], &format!("#define __AVX__\n{text}")), ["yes"]);
    assert_eq!(
        given(&[], &[], &format!("#undef __NO_INLINE__\n{}", text.replace("__AVX__", "__NO_INLINE__"))),
        ["no"]
    );
}

#[test]
fn the_system_s_headers_are_read_as_without_options() {
    let sys =
        "#ifdef __AVX__\ntypedef int wide;\n#endif\n#ifdef __NO_INLINE__\ntypedef int narrow;\n#endif\n\
               #if __FINITE_MATH_ONLY__ > 0\ntypedef int finite;\n#endif\n";
    let files = common::Files::new(&[("sys/math.h", sys)]);
    let mut o = options(&files, &Arc::default(), &[]);
    o.compiler = Some(asked(GCC, false));
    let text = "#include <math.h>\nnarrow a;\nwide b;\n#ifdef __NO_INLINE__\nint c;\n#endif\n";
    let unit = lower(&Parsed::parse(Language::C, text), &o, &mut Memo::new());
    assert!(unit.configuration.iter().any(|c| &*c.name == "__NO_INLINE__" && c.taken == Taken::EitherWay));
    // one reject, of the document's own condition
    assert_eq!(unit.rejects.len(), 1, "{:?}", unit.rejects);
    assert!(unit.rejects[0].reason.contains("#ifdef __NO_INLINE__"));
}

#[test]
fn an_openmp_header_under_a_condition_is_no_matter() {
    let text = "#ifdef _OPENMP\n#include <omp.h>\n#endif\n#ifdef DEBUG\nint d;\n#endif\nint n;\n";
    let unit = unit(text, None);
    assert!(unit.rejects.is_empty(), "{:?}", unit.rejects);
    assert_eq!(unit.items.iter().map(|i| &*i.name).collect::<Vec<_>>(), ["n"]);
}

/// What stands under a condition that is not known touches what it names, and what others can reach; where control may
/// leave it, or text is hidden, anything.
#[test]
fn arms_touch_what_they_name() {
    let reach = |head: &str, arm: &str| -> String {
        let text = format!(
            "{head}\nint g;\nvoid f(int n, int *a) {{\n  int first = 0, other = 1;\n#ifdef _OPENMP\n{arm}\n#endif\n  \
             for (int i = 0; i < n; i++) a[i] = first + other;\n}}\n"
        );
        let unit = unit(&text, None);
        let f = unit.items.iter().find(|i| &*i.name == "f").expect("f");
        let gaps: Vec<_> = f.body.walk(f.body.root).filter(|&t| f.body.reach(t).is_some()).collect();
        let [gap] = gaps.as_slice() else { return format!("{} gaps", gaps.len()) };
        let mut names: Vec<&str> = f
            .body
            .touched_by_gap(*gap)
            .iter()
            .map(|&s| &*f.body.symbols[s].name)
            .filter(|n| *n != "i")
            .collect();
        names.sort();
        format!("{:?} {}", f.body.reach(*gap).expect("a gap"), names.join(" "))
    };
    let named = |head: &str, arm: &str, names: &str| {
        assert_eq!(reach(head, arm), format!("Named {names}"), "{head} {arm}")
    };
    named("", "omp_set_num_threads(4);", "");
    named("", "first = omp_get_num_threads();", "first");
    named("", "first = n;\n#else\nother++;", "first n other");
    named("", "if (n > 3) {\n#if LATER\nfirst = 2;\n#endif\n}", "first n");
    named("#define SET(x) first = x", "SET(3);", "first");
    named("#define INNER other\n#define SET(x) (void)(INNER = x)", "SET(n);", "n other");
    named("", "int mine = other;", "other");
    let anything = |head: &str, arm: &str| {
        let reach = reach(head, arm);
        assert!(reach.starts_with("Anything"), "{head} {arm}: {reach}");
    };
    for arm in [
        "goto out;",
        "return;",
        "if (n) return;",
        "again: first = 2;",
        "switch (n) { case 1: first = 2; }",
        "__asm__(\"\" : : : \"memory\");",
        "asm volatile(\"nop\");",
        "if (setjmp(env)) other = 2;",
        "SOMETHING(n);",
        "first = n ? 1 : 2;",
        "\n#include \"statements.h\"",
        "\n#define third first\nthird = 2;",
        "_Pragma(\"omp barrier\")",
    ] {
        anything("", arm);
    }
    // a macro without its arguments is a name, and so is one in itself
    named("#define other other", "other = 2;", "other");
    named("#define first other\n#define other first", "first = 2;", "first");
    anything("#define first(x) x", "first = 2;");
    anything("#define CALL first\n#define first(x) x", "CALL (3);");
    anything("#define LEAVE return", "LEAVE;");
    anything("#define LEAVE() do { if (1) goto out; } while (0)", "LEAVE();");
    anything("#define GLUE(a, b) a ## b", "GLUE(fir, st) = 2;");
    anything("#ifdef __AVX__\n#define SET first = 2\n#else\n#define SET other = 2\n#endif", "SET;");
}

/// All that options of gcc and clang change is left open as long as they are not known.
#[test]
fn options_change_only_what_is_left_open() {
    let ask = |compiler: &str, options: &str| -> Option<Vec<String>> {
        let out = std::process::Command::new(compiler)
            .args(options.split_whitespace())
            .args(["-dM", "-E", "-x", "c", "/dev/null"])
            .output()
            .ok()
            .filter(|o| o.status.success())?;
        let mut lines: Vec<String> =
            String::from_utf8_lossy(&out.stdout).lines().map(str::to_owned).collect();
        lines.sort();
        Some(lines)
    };
    let ways = [
        "-O2",
        "-Os",
        "-Og",
        "-Ofast",
        "-ffast-math",
        "-fopenmp",
        "-fno-pie",
        "-fPIC",
        "-fsanitize=address",
        "-fsanitize=thread",
        "-fstack-protector-all",
        "-frounding-math",
        "-pthread",
        "-fcf-protection",
        "-fno-math-errno",
        "-fno-inline",
        "-mavx512fp16",
        "-march=sapphirerapids",
        "-march=x86-64-v3",
        "-march=bdver4",
        "-mabm -mtbm -mlwp -mxop",
        "-mrtm -mhle",
        "-mcmodel=large",
        "-fno-asynchronous-unwind-tables",
        "-flto",
        "-g",
    ];
    let mut seen = 0;
    for compiler in ["gcc", "clang"] {
        let Some(plain) = ask(compiler, "") else {
            eprintln!("SKIPPED: {compiler} is not there");
            continue;
        };
        for way in ways {
            let Some(other) = ask(compiler, way) else { continue };
            let changed = plain
                .iter()
                .filter(|l| !other.contains(l))
                .chain(other.iter().filter(|l| !plain.contains(l)));
            let name = |l: &String| l.split([' ', '(']).nth(1).unwrap_or("").to_owned();
            // which processor it is has a name of its own
            let is_processor = |n: &str| way.contains("-march") && way.contains(n.trim_matches('_'));
            let names: Vec<String> = changed.map(name).filter(|n| !is_processor(n)).collect();
            let conditions: Vec<String> = names.iter().map(|n| format!("defined({n})")).collect();
            let conditions: Vec<&str> = conditions.iter().map(String::as_str).collect();
            for (name, known) in names.iter().zip(decided(&conditions, None, Language::C)) {
                assert_eq!(known, None, "{compiler} {way}: `{name}`");
                seen += 1;
            }
        }
    }
    eprintln!("{seen} macros that options change");
}
