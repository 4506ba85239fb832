//! Faults planted in what was written for the host: each is seen when it runs.
//!
//! An edit changes the written text and nothing else, as a slip of a printer, of a page or of whoever edits the file
//! afterwards would. Deliberately absent: faults of kernels (`verifying.rs`, and the mutants of `testkit`).

use base::CancelToken;

use super::{full, open};
use crate::verify::Share;
use crate::{VerifyCase, VerifyOptions, Which};

const SAXPY: &str = "void saxpy(int n, float a, const float *x, float *y) {\n    for (int i = 0; i < n; i++)\n        y[i] = a * x[i] + y[i];\n}\n";
const FILL: &str = "void fill(int n, float a, const float *x, float *y) {\n    for (int i = 0; i < n; i++)\n        y[i] = a * x[i];\n}\n";
const SUM: &str = "long f(int n, const int *a) {\n    long s = 5;\n    for (int i = 0; i < n; i++)\n        s += a[i];\n    return s;\n}\n";
const SMOOTH: &str = "void smooth(double **a, double **b, int n, int m) {\n    for (int i = 1; i < n - 1; i++)\n        for (int j = 1; j < m - 1; j++)\n            b[i][j] = 0.25 * (a[i-1][j] + a[i+1][j] + a[i][j-1] + a[i][j+1]);\n}\n";
const SCALE: &str = "void scale(double **a, int n, int m) {\n    for (int i = 0; i < n; i++)\n        for (int j = 0; j < m; j++)\n            a[i][j] *= 2;\n}\n";
const EVERY_OTHER: &str = "void every_other(float **a, const float *x, int n) {\n    for (int i = 1; i < n; i += 2)\n        a[i][3] = x[i];\n}\n";
const REGIONS: &str = include_str!("../../../../../fixtures/c/regions.c");

/// What a text is offloaded from: the program, and the line of the loop.
#[derive(Clone, Copy)]
struct Program {
    code: &'static str,
    line: u32,
}

/// What is changed in it. Each piece stands there as often as it is replaced, once at least.
struct Planted {
    /// What it is.
    fault: &'static str,
    of: Program,
    edits: &'static [(&'static str, &'static str)],
    /// A piece of what is said.
    said: &'static str,
}

fn saxpy() -> Program {
    Program { code: SAXPY, line: 2 }
}

fn in_regions(function: &str) -> Program {
    let at = REGIONS.find(&format!("{function}(")).expect("the function");
    let first = REGIONS[..at].lines().count();
    let inside = REGIONS.lines().skip(first).position(|l| l.trim_start().starts_with("for "));
    Program { code: REGIONS, line: (first + 1 + inside.expect("a loop")) as u32 }
}

/// The faults of one array's way to the device and back.
fn of_a_loop() -> Vec<Planted> {
    const X_IN: &str =
        "    ok = ok && cudaMemcpy(ww_gpu_x, x, ww_x_bytes, cudaMemcpyHostToDevice) == cudaSuccess;\n";
    const BACK: &str =
        "    ok = ok && cudaMemcpy(ww_new_y, ww_gpu_y, ww_y_bytes, cudaMemcpyDeviceToHost) == cudaSuccess;\n";
    let planted = |fault, edits, said| Planted { fault, of: saxpy(), edits, said };
    vec![
        planted(
            "the host reads a device pointer",
            &[("memcpy(y, ww_new_y, ww_y_bytes)", "memcpy(y, ww_gpu_y, ww_y_bytes)")],
            "the host uses memory of the device",
        ),
        planted(
            "the host writes through a device pointer",
            &[("    if (ok)\n        memcpy(y,", "    if (ok)\n        ww_gpu_y[0] = 0;\n    if (ok)\n        memcpy(y,")],
            "the host uses memory of the device",
        ),
        planted(
            "a kernel gets a pointer of the host",
            &[("ww_gpu_x, ww_gpu_y);", "x, ww_gpu_y);")],
            "is used where memory of the device must be",
        ),
        planted(
            "a copy to the device names the other direction",
            &[("x, ww_x_bytes, cudaMemcpyHostToDevice", "x, ww_x_bytes, cudaMemcpyDeviceToHost")],
            "the host uses memory of the device",
        ),
        planted(
            "a copy back names the other direction",
            &[("ww_gpu_y, ww_y_bytes, cudaMemcpyDeviceToHost", "ww_gpu_y, ww_y_bytes, cudaMemcpyHostToDevice")],
            "is used where memory of the device must be",
        ),
        planted(
            "the result goes the wrong way, with arguments and direction exchanged",
            &[("ww_new_y, ww_gpu_y, ww_y_bytes, cudaMemcpyDeviceToHost", "ww_gpu_y, y, ww_y_bytes, cudaMemcpyHostToDevice")],
            "is written by one of the two only",
        ),
        planted("the result is not copied back", &[(BACK, "")], "is written by one of the two only"),
        planted("an input is not copied", &[(X_IN, "")], "use of an uninitialized value"),
        planted(
            "a copy goes to another array",
            &[("cudaMemcpy(ww_gpu_x, x,", "cudaMemcpy(ww_gpu_y, x,")],
            "in `saxpy_i_kernel`",
        ),
        planted(
            "the result is taken from another array",
            &[("ww_new_y, ww_gpu_y, ww_y_bytes", "ww_new_y, ww_gpu_x, ww_y_bytes")],
            "instead of",
        ),
        planted(
            "too few bytes are copied to the device",
            &[("x, ww_x_bytes, cudaMemcpyHostToDevice", "x, ww_x_bytes / 2, cudaMemcpyHostToDevice")],
            "in `saxpy_i_kernel`",
        ),
        planted(
            "too few bytes are copied back",
            &[("ww_gpu_y, ww_y_bytes, cudaMemcpyDeviceToHost", "ww_gpu_y, ww_y_bytes / 2, cudaMemcpyDeviceToHost")],
            "is written by one of the two only",
        ),
        planted(
            "too many bytes are copied back",
            &[("ww_gpu_y, ww_y_bytes, cudaMemcpyDeviceToHost", "ww_gpu_y, ww_y_bytes + 4, cudaMemcpyDeviceToHost")],
            "access of",
        ),
        planted(
            "too little memory is taken",
            &[("(void **)&ww_gpu_x, ww_x_bytes)", "(void **)&ww_gpu_x, ww_x_bytes / 2)")],
            "access of",
        ),
        planted(
            "the kernel is launched before the copy",
            &[(X_IN, ""), (BACK, "    ok = ok && cudaMemcpy(ww_gpu_x, x, ww_x_bytes, cudaMemcpyHostToDevice) == cudaSuccess;\n    ok = ok && cudaMemcpy(ww_new_y, ww_gpu_y, ww_y_bytes, cudaMemcpyDeviceToHost) == cudaSuccess;\n")],
            "use of an uninitialized value",
        ),
        planted("memory is not given back", &[("    (void)cudaFree(ww_gpu_x);\n", "")], "not given back"),
        planted(
            "memory is given back twice",
            &[("    (void)cudaFree(ww_gpu_x);\n", "    (void)cudaFree(ww_gpu_x);\n    (void)cudaFree(ww_gpu_x);\n")],
            "after its life",
        ),
        planted(
            "memory is given back before the result is taken",
            &[("    ok = ok && cudaDeviceSynchronize()", "    (void)cudaFree(ww_gpu_y);\n    ok = ok && cudaDeviceSynchronize()")],
            "after its life",
        ),
        planted(
            "a way out of the function leaves memory there",
            &[("    ok = ok && cudaDeviceSynchronize()", "    if (n == 5)\n        return 0;\n    ok = ok && cudaDeviceSynchronize()")],
            "not given back",
        ),
        planted(
            "a copy's error is not looked at",
            &[("ok = ok && cudaMemcpy(ww_gpu_x, x, ww_x_bytes, cudaMemcpyHostToDevice) == cudaSuccess;", "(void)cudaMemcpy(ww_gpu_x, x, ww_x_bytes, cudaMemcpyHostToDevice);")],
            "of the run time fails",
        ),
        planted(
            "that there is no memory is not looked at",
            &[("ok = ok && cudaMalloc((void **)&ww_gpu_x, ww_x_bytes) == cudaSuccess;", "(void)cudaMalloc((void **)&ww_gpu_x, ww_x_bytes);")],
            "of the run time fails",
        ),
        planted(
            "a launch's error is not looked at",
            &[("    ok = ok && cudaGetLastError() == cudaSuccess;\n", "")],
            "where launch 1 fails",
        ),
        planted(
            "the result is used though its copy failed",
            &[("    if (ok)\n        memcpy(y,", "    memcpy(y,")],
            "fails",
        ),
        planted(
            "success is said whatever failed",
            &[("    return ok;", "    return 1;")],
            "fails",
        ),
        planted(
            "what the host writes after the copy does not arrive",
            &[(
                "    if (ok)\n        saxpy_i_kernel",
                "    y[0] = y[0];\n    if (ok)\n        saxpy_i_kernel",
            )],
            "of which the host has a newer value",
        ),
        planted(
            "an array is copied to the device twice",
            &[(X_IN, "    ok = ok && cudaMemcpy(ww_gpu_x, x, ww_x_bytes, cudaMemcpyHostToDevice) == cudaSuccess;\n    ok = ok && cudaMemcpy(ww_gpu_x, x, ww_x_bytes, cudaMemcpyHostToDevice) == cudaSuccess;\n")],
            "though the same is there already",
        ),
        planted(
            "what is only read is copied back",
            &[(BACK, "    ok = ok && cudaMemcpy((void *)x, ww_gpu_x, ww_x_bytes, cudaMemcpyDeviceToHost) == cudaSuccess;\n    ok = ok && cudaMemcpy(ww_new_y, ww_gpu_y, ww_y_bytes, cudaMemcpyDeviceToHost) == cudaSuccess;\n")],
            "though the GPU has not changed it",
        ),
    ]
}

/// Those of others: what is only written, partial sums, and arrays that stay on the device between kernels.
fn of_others() -> Vec<Planted> {
    let lu = || in_regions("void lu_scaled");
    let exchanged = || in_regions("void exchanged");
    let sum = || Program { code: SUM, line: 3 };
    vec![
        Planted {
            fault: "what is only written is copied to the device",
            of: Program { code: FILL, line: 2 },
            edits: &[(
                "    if (ok)\n        fill_i_kernel",
                "    ok = ok && cudaMemcpy(ww_gpu_y, y, ww_y_bytes, cudaMemcpyHostToDevice) == cudaSuccess;\n    if (ok)\n        fill_i_kernel",
            )],
            said: "not read there before it is written",
        },
        Planted {
            fault: "too few partial sums come back",
            of: sum(),
            edits: &[("(size_t)ww_blocks * sizeof(ww_part_s[0])", "(size_t)ww_blocks * sizeof(ww_part_s[0]) / 2")],
            said: "uninitialized",
        },
        Planted {
            fault: "the array comes back in every round, too",
            of: lu(),
            edits: &[(
                "        if (!lu_scaled_k_i_launch(k, n, a))\n            return 0;\n",
                "        if (!lu_scaled_k_i_launch(k, n, a))\n            return 0;\n        if (cudaMemcpy((void *)kept, a + 1, ((size_t)n * n - 1) * sizeof(double), cudaMemcpyDeviceToHost) != cudaSuccess)\n            return 0;\n",
            ), ("lu_scaled_k_steps(int n, double *a)", "lu_scaled_k_steps(int n, double *a, double *kept)"),
               ("lu_scaled_k_steps(n, ww_gpu_a)", "lu_scaled_k_steps(n, ww_gpu_a, ww_new_a)")],
            said: "in each round of a loop",
        },
        Planted {
            fault: "older values are copied over newer ones in every round",
            of: lu(),
            edits: &[(
                "        if (!lu_scaled_k_i_launch(k, n, a))\n",
                "        if (cudaMemcpy(a, kept, (size_t)n * n * sizeof(double), cudaMemcpyHostToDevice) != cudaSuccess)\n            return 0;\n        if (!lu_scaled_k_i_launch(k, n, a))\n",
            ), ("lu_scaled_k_steps(int n, double *a)", "lu_scaled_k_steps(int n, double *a, const double *kept)"),
               ("lu_scaled_k_steps(n, ww_gpu_a)", "lu_scaled_k_steps(n, ww_gpu_a, a)")],
            said: "had put an older value in the place of the newest",
        },
        Planted {
            fault: "the array comes back before its kernels have run",
            of: lu(),
            edits: &[
                ("    ok = ok && cudaMemcpy(ww_new_a, ww_gpu_a + 1, ww_a_back_bytes,\n        cudaMemcpyDeviceToHost) == cudaSuccess;\n", ""),
                (
                    "    ok = ok && lu_scaled_k_steps(n, ww_gpu_a);\n",
                    "    ok = ok && cudaMemcpy(ww_new_a, ww_gpu_a + 1, ww_a_back_bytes, cudaMemcpyDeviceToHost) == cudaSuccess;\n    ok = ok && lu_scaled_k_steps(n, ww_gpu_a);\n",
                ),
            ],
            said: "without a copy back",
        },
        Planted {
            fault: "the ends of a buffer are not fetched when they are first used",
            of: exchanged(),
            edits: &[("if (first < arrays[k].first) {", "if (false) {")],
            said: "exchanged_t_i_kernel",
        },
        Planted {
            fault: "the exchanged buffers come back to each other's places",
            of: exchanged(),
            edits: &[
                ("ww_gpu_a + (ww_arrays[0].first - ww_arrays[0].lowest),\n        (size_t)", "ww_gpu_b + (ww_arrays[0].first - ww_arrays[0].lowest),\n        (size_t)"),
            ],
            said: "instead of",
        },
    ]
}

/// The faults of rows that lie wherever they lie.
fn of_rows() -> Vec<Planted> {
    let smooth = || Program { code: SMOOTH, line: 2 };
    let planted = |fault, edits, said| Planted { fault, of: smooth(), edits, said };
    vec![
        planted(
            "rows that overlap are taken for rows that do not",
            &[("if (!smooth_i_rows_apart(b, n, m, a))", "if (!smooth_i_rows_apart(b, n, m, a) && n < 0)")],
            "instead of",
        ),
        Planted {
            fault: "of two rows that are written it does not matter whether they overlap",
            of: Program { code: SCALE, line: 2 },
            edits: &[(
                "spans[3 * s] < changed || (spans[3 * s + 2] != 0 && spans[3 * s] < all)",
                "spans[3 * s] < changed && spans[3 * s + 2] == 0",
            )],
            said: "instead of",
        },
        planted(
            "more is read of the first row than the loop does",
            &[("n >= ww_r0 + 2 && ww_r0 > 0 ? m - 1 : m - 2", "m - 1")],
            "in `smooth_i_take_a`",
        ),
        planted("rows are not put back", &[("smooth_i_give_b(b, n, m, ww_b_rows);", ";")], "instead of"),
        planted(
            "rows are put back a column too far",
            &[("memcpy(b[ww_r0] + ww_first1, packed", "memcpy(b[ww_r0] + ww_first1 - 1, packed")],
            "instead of",
        ),
        planted(
            "a row comes from the place of another",
            &[(
                "memcpy(packed + (ww_r0 * m + ww_first1), a[ww_r0]",
                "memcpy(packed + (ww_r0 * m + ww_first1), a[0]",
            )],
            "instead of",
        ),
        Planted {
            fault: "pointers are followed that the loop does not follow",
            of: Program { code: EVERY_OTHER, line: 2 },
            edits: &[("(long long)3 : (long long)2", "(long long)3 : (long long)3")],
            said: "null",
        },
    ]
}

/// All that is said of a text with these edits.
fn said_of(planted: &Planted) -> Vec<String> {
    let Program { code, line } = planted.of;
    let doc = open(code);
    let findings = full(&doc);
    let ask = crate::Ask::thorough(&doc);
    let done = crate::offload(&ask, &findings, &Which::Line(line)).expect("offloaded");
    let mut kernel = done.edit.create[0].text.clone();
    for (from, to) in planted.edits {
        assert!(kernel.contains(from), "{}: no `{from}` in\n{kernel}", planted.fault);
        kernel = kernel.replace(from, to);
    }
    let finding = findings.on_line(line).expect("a loop");
    let view = findings.view(&ask, finding.item).expect("a function");
    let options = VerifyOptions { steps: 3_000_000, cases: 8, ..VerifyOptions::default() };
    let unit = crate::units::units(&ask, &findings, &Which::Line(line)).remove(0);
    let (mut cases, cancel): (Vec<VerifyCase>, _) = (Vec::new(), CancelToken::new());
    let texts = (done.host.as_str(), &[kernel.as_str()][..]);
    let tried =
        crate::verify::run_cases(&doc, &view, &unit, texts, &options, &Share::plenty(), &cancel, &mut cases);
    let wrong = cases.iter().filter_map(|c| c.difference.clone());
    let files = [done.edit.create[0].name.clone()];
    let copies = crate::verify::too_much(&cases, &files);
    tried.err().into_iter().chain(wrong).chain(copies).collect()
}

#[test]
fn every_planted_fault_is_seen() {
    let all: Vec<Planted> = of_a_loop().into_iter().chain(of_rows()).chain(of_others()).collect();
    assert!(all.len() >= 20, "{} faults", all.len());
    let mut missed = Vec::new();
    for planted in &all {
        let said = said_of(planted);
        eprintln!("{}: {}", planted.fault, said.first().map_or("nothing", |s| s));
        if !said.iter().any(|s| s.contains(planted.said)) {
            missed.push(format!("{}: {said:?}", planted.fault));
        }
    }
    assert!(missed.is_empty(), "of {} faults not seen:\n{}", all.len(), missed.join("\n"));
}

#[test]
fn nothing_is_said_where_nothing_is_planted() {
    for of in [
        saxpy(),
        Program { code: FILL, line: 2 },
        Program { code: SUM, line: 3 },
        Program { code: SMOOTH, line: 2 },
        Program { code: SCALE, line: 2 },
        Program { code: EVERY_OTHER, line: 2 },
        in_regions("void lu_scaled"),
    ] {
        let said = said_of(&Planted { fault: "none", of, edits: &[], said: "" });
        assert!(said.is_empty(), "{said:?}");
    }
}
