//! What the host of an offloaded loop does at sizes of a GPU, found without its kernels.

use super::{full, open};
use crate::{record, returned, Ask, Holds, HostStep, KernelArgument, Recorded, Spot, Which};

fn recorded(code: &str, line: u32, given: &[(&str, i128)]) -> Result<Recorded, String> {
    let doc = open(code);
    let findings = full(&doc);
    let given: Vec<(String, i128)> = given.iter().map(|(n, v)| ((*n).to_owned(), *v)).collect();
    record(&Ask::thorough(&doc), &findings, &Which::Line(line), &given).remove(0).1
}

const SAXPY: &str = "void saxpy(int n, float a, const float *restrict x, float *restrict y) {\n    for (int i = 0; i < n; i++)\n        y[i] = a * x[i] + y[i];\n}\n";

#[test]
fn a_loop_becomes_copies_a_launch_and_a_copy_back() {
    let r = recorded(SAXPY, 2, &[("n", 1_000_000)]).expect("recorded");
    let at = |memory| Spot { memory, offset: 0 };
    let bytes = 4_000_000;
    let wanted = false;
    let expected = [
        HostStep::Allocate { bytes },
        HostStep::Allocate { bytes },
        HostStep::ToDevice { to: at(0), from: at(0), bytes },
        HostStep::ToDevice { to: at(1), from: at(1), bytes },
        HostStep::Launch {
            kernel: "saxpy_i_kernel".to_owned(),
            grid: [3907, 1, 1],
            block: [256, 1, 1],
            shared_bytes: 0,
            arguments: vec![
                KernelArgument::Plain(1_000_000i32.to_le_bytes().to_vec()),
                KernelArgument::Plain(0.625f32.to_le_bytes().to_vec()),
                KernelArgument::Device(at(0)),
                KernelArgument::Device(at(1)),
            ],
        },
        HostStep::FromDevice { to: at(2), from: at(1), bytes, wanted },
        HostStep::OnHost { to: at(1), from: at(2), bytes },
        HostStep::Free { memory: 0 },
        HostStep::Free { memory: 1 },
    ];
    assert_eq!(r.steps, expected, "{:#?}", r.steps);
    assert_eq!(r.host.iter().map(|p| p.bytes).collect::<Vec<_>>(), [bytes; 3]);
    assert!(matches!(r.host[0].holds, Holds::Made(_)) && r.host[2].holds == Holds::Nothing);
    assert!(r.unfused && !r.regrouped && !r.returns_copied);
    let original = r.original.expect("it can be called");
    assert!(original.texts[0].0.contains("ww_native_call"));
}

#[test]
fn sizes_that_nobody_gives_make_arrays_of_64_mib() {
    let r = recorded(SAXPY, 2, &[]).expect("recorded");
    assert_eq!(r.sizes, [("n".to_owned(), 1 << 24)]);
    let square = "void f(int n, double a[n][n], const double *restrict b) {\n    for (int i = 0; i < n; i++)\n        for (int j = 0; j < n; j++)\n            a[i][j] = b[j] + i;\n}\n";
    let r = recorded(square, 2, &[]).expect("recorded");
    assert_eq!(r.sizes, [("n".to_owned(), 2048)]);
    let why = recorded(SAXPY, 2, &[("m", 3)]).expect_err("no such size");
    assert!(why.contains("`m` is no integer") && why.contains("`n`"), "{why}");
}

#[test]
fn a_sum_is_put_together_from_what_comes_back() {
    let code = "double dot(int n, const double *x, const double *y) {\n    double s = 0.5;\n    for (int i = 0; i < n; i++) s += x[i] * y[i];\n    return s;\n}\n";
    let doc = open(code);
    let findings = full(&doc);
    let ask = Ask::thorough(&doc);
    let given = [("n".to_owned(), 512)];
    let r = record(&ask, &findings, &Which::Line(3), &given).remove(0).1.expect("recorded");
    assert!(r.regrouped && r.returns_copied);
    let HostStep::FromDevice { bytes: 16, wanted: true, .. } = r.steps[r.steps.len() - 4] else {
        panic!("{:#?}", r.steps)
    };
    let parts: Vec<u8> = [1.0f64, 2.25].iter().flat_map(|x| x.to_le_bytes()).collect();
    let value = returned(&ask, &findings, &r, &[parts]).expect("known");
    assert_eq!(f64::from_bits(value), 3.75);
    assert_ne!(returned(&ask, &findings, &r, &[]), Ok(value));
}

#[test]
fn where_last_bits_may_differ() {
    let taps = "void taps(int n, const float *restrict x, const float *restrict h, float *restrict y) {\n    for (int k = 0; k < 7; k++)\n        for (int i = 0; i < n; i++)\n            y[i] += h[k] * x[i + k];\n}\n";
    assert!(recorded(taps, 2, &[("n", 64)]).expect("recorded").regrouped);
    let sines = "#include <math.h>\nvoid sines(int n, const double *restrict x, double *restrict y) {\n    for (int i = 0; i < n; i++)\n        y[i] = sin(x[i]);\n}\n";
    assert!(recorded(sines, 3, &[("n", 64)]).expect("recorded").regrouped);
}

#[test]
fn what_the_host_reads_is_there() {
    let code = "void f(int m, const int *restrict n, float *restrict y) {\n    for (int i = 0; i < n[0]; i++)\n        y[i] = m;\n}\n";
    let r = recorded(code, 2, &[("m", 1000)]).expect("recorded");
    let copied = r.steps.iter().find_map(|s| match s {
        HostStep::Allocate { bytes } => Some(*bytes),
        _ => None,
    });
    assert!(copied.is_some_and(|bytes| (4..4000).contains(&bytes)), "{:#?}", r.steps);
}

#[test]
fn a_host_that_decides_by_results_is_run_there() {
    let code = "int relax(int n, const double *restrict a, double *restrict b) {\n    int rounds = 0;\n    double most = 1;\n    while (most > 0.001 && rounds < 100) {\n        most = 0;\n        for (int i = 0; i < n; i++) {\n            double d = a[i] * b[i];\n            b[i] = d;\n            if (d > most) most = d;\n        }\n        rounds++;\n    }\n    return rounds;\n}\n";
    let doc = open(code);
    let findings = full(&doc);
    for (_, r) in record(&Ask::thorough(&doc), &findings, &Which::Line(6), &[("n".to_owned(), 64)]) {
        let r = r.expect("recorded");
        let program = r.program.expect("what its steps do not tell");
        assert!(program.because.contains("decides by what kernels compute"), "{}", program.because);
        assert!(r.steps.is_empty(), "{:?}", r.steps);
    }
}

#[test]
fn rows_behind_pointers_are_those_of_verification() {
    let code = "void f(int n, double **a) {\n    for (int i = 0; i < n; i++)\n        a[0][i] = i;\n}\n";
    let r = recorded(code, 2, &[("n", 64)]).expect("recorded");
    assert!(r.program.is_some(), "{:?}", r.steps);
    // a table of one row, and the row
    assert!(r.host.len() >= 2, "{:?}", r.host);
}
