//! Local and constant memory of kernels: what is said of arrays that registers cannot hold, of addresses that part a warp, and what
//! is left alone because a compiler may do better.

use super::{cursor, full, open_cuda};
use crate::{hover, Severity};

/// What is said under a code: lines, levels.
fn said(code: &str, text: &str) -> Vec<(u32, Severity)> {
    let doc = open_cuda(text);
    let found = full(&doc).diagnostics.into_iter().filter(|d| d.code == code);
    found.map(|d| (crate::function_view::line_column(&doc, d.span.start).line, d.severity)).collect()
}

/// What is said of the arrays in the body of a kernel, whose first line is the second of the text.
fn arrays(body: &str) -> Vec<(u32, Severity)> {
    let head = "__global__ void k(float *o, const int *__restrict__ x, int n) {\n";
    said("local-array", &format!("{head}{body}\n}}\n"))
}

/// NVRTC 12.9 gives these a stack frame of the array's size for `sm_80`.
#[test]
fn arrays_that_registers_cannot_hold() {
    let warned = |body: &str, line: u32| assert_eq!(arrays(body), [(line, Severity::Warning)], "{body}");
    warned("float w[8], s = 0;\nfor (int i = 0; i < n; i++)\n w[i] = o[i];\nfor (int i = 0; i < n; i++) s += w[i];\no[0] = s;", 4);
    warned("int w[16];\nfor (int i = 0; i < 16; i++) w[i] = 0;\nfor (int i = 0; i < n; i++)\n w[x[i]]++;\nfor (int i = 0; i < 16; i++) o[i] = w[i];", 5);
    // a cursor that memory moves, in a loop that memory ends
    warned("int st[16], top = 0, s = 0;\nst[top++] = n;\nwhile (top > 0) {\n int v = st[--top];\n s += v;\n if (x[v] > 0) st[top++] = x[v];\n}\no[0] = s;", 5);
    warned(
        "int w[16], c = 0;\nfor (;;) {\n if (x[c] < 0) break;\n w[c++] = x[n];\n}\no[0] = w[3] + w[c];",
        5,
    );
    // larger than all registers, whatever is unrolled
    warned("float w[400], s = 0;\nfor (int i = 0; i < 400; i++)\n w[i] = o[i];\nfor (int i = 0; i < 400; i++) s += w[399 - i] * w[i];\no[0] = s;", 4);
    // a row of a structure
    warned("struct { float v[16]; int k; } r;\nr.k = 0;\nfor (int i = 0; i < n; i++)\n r.v[i] = o[i];\no[0] = r.v[3];", 5);
}

#[test]
fn arrays_of_which_one_element_is_chosen_outside_of_loops_are_a_hint() {
    let body = "float w[8];\nfor (int i = 0; i < 8; i++) w[i] = o[i];\no[0] = w[threadIdx.x % 8];";
    assert_eq!(arrays(body), [(4, Severity::Hint)]);
    assert_eq!(arrays(&body.replace("threadIdx.x % 8", "n")), [(4, Severity::Hint)]);
    assert_eq!(arrays(&body.replace("threadIdx.x % 8", "x[0]")), [(4, Severity::Hint)]);
}

#[test]
fn arrays_whose_subscripts_may_become_constants_are_left_alone() {
    for body in [
        // constant lengths
        "float w[8], s = 0;\nfor (int i = 0; i < 8; i++) w[i] = o[i];\nfor (int i = 0; i < 8; i++) s += w[7 - i];\no[0] = s;",
        "float w[8], s = 0;\nfor (int j = 0; j < n; j++) {\n for (int i = 0; i < 8; i++) w[i] = o[j];\n for (int i = 1; i < 8; i *= 2) s += w[i];\n}\no[0] = s;",
        // a constant bound beside another
        "float w[8], s = 0;\nfor (int i = 0; i < n && i < 8; i++) w[i] = o[i];\nfor (int i = 0; i < 8; i++) s += w[i];\no[0] = s;",
        "float w[8], s = 0;\nfor (int i = 0; i < (n & 7); i++) w[i] = o[i];\nfor (int i = 0; i < 8; i++) s += w[i];\no[0] = s;",
        // a ring that partial unrolling makes constant
        "float w[16], s = 0;\nfor (int i = 0; i < 16; i++) w[i] = 0;\nfor (int i = 0; i < n; i++) { s += w[i & 15]; w[i & 15] = o[i]; }\no[0] = s;",
        // a window that moves by copies
        "float w[5], s = 0;\nfor (int i = 0; i < 5; i++) w[i] = o[i];\nfor (int j = 5; j < n; j++) {\n for (int i = 0; i < 4; i++) w[i] = w[i + 1];\n w[4] = o[j];\n s += w[0] + w[4];\n}\no[0] = s;",
        // a table of constants, and one that nobody reads
        "const float w[5] = {1, 2, 3, 4, 5};\no[0] = w[n];",
        "float w[16];\nfor (int i = 0; i < n; i++) w[i] = o[i];\no[0] = 1;",
        // a choice of two
        "float w[2];\nw[0] = o[0];\nw[1] = o[1];\no[2] = w[n & 1];",
        // filled up to a count, in a loop of constant length
        "float w[8];\nint c = 0;\nfor (int i = 0; i < 8; i++) if (o[i] > 0) w[c++] = o[i];\no[0] = w[0];",
    ] {
        assert_eq!(arrays(body), [], "{body}");
    }
    // what a function is given may be a constant where it is called
    let pick = "__device__ float pick(const float *p, int k, int n) {\n float w[16];\n for (int i = 0; i < n; i++) w[i] = p[i];\n return w[k];\n}\n";
    assert_eq!(said("local-array", pick), []);
    let own = pick.replace("i < n", "i < blockDim.x");
    assert_eq!(said("local-array", &own), [(3, Severity::Warning)]);
}

#[test]
fn hovers_say_what_local_and_constant_memory_cost() {
    let at = |text: &str| {
        let (code, offset) = cursor(text);
        let doc = open_cuda(&code);
        hover(&crate::Ask::thorough(&doc), &full(&doc), offset).map(|h| h.markdown).unwrap_or_default()
    };
    let tally = "__global__ void k(int *o, const int *x, int n) {\n int w[16];\n for (int i = 0; i < 16; i++) w[i] = 0;\n for (int i = 0; i < n; i++) $0w[x[i]]++;\n for (int i = 0; i < 16; i++) o[i] = w[i];\n}\n";
    let h = at(tally);
    for words in [
        "of `w`**: local memory, 4 bytes a lane",
        "with the loop on line 4",
        "64 bytes a thread",
        "_lsu_mem_local_op_ld",
        "_lsu_mem_local_op_st",
    ] {
        assert!(h.contains(words), "{words}: {h}");
    }
    let table = "__constant__ int t[64];\n// warpwright: launch(2, 64)\n__global__ void k(int *o) {\n int i = threadIdx.x;\n o[i] = $0t[i / 4] + t[3];\n}\n";
    let h = at(table);
    for words in
        ["**Read of `t`**: constant memory", "4 requests of warps", "8 different addresses", "28 more passes"]
    {
        assert!(h.contains(words), "{words}: {h}");
    }
    let h = at(&table.replace("$0", "").replace("t[3]", "$0t[3]"));
    assert!(h.contains("one address at a time"), "{h}");
}

#[test]
fn constant_memory_is_the_same_for_all_that_ask_for_one_place() {
    // whatever the kernel stores elsewhere
    let text = "__constant__ int t[64];\n__global__ void k(int *o) {\n o[threadIdx.x] = 1;\n if (t[blockIdx.x] > 3) __syncthreads();\n}\n";
    assert_eq!(said("divergent-barrier", text), []);
    let doc = open_cuda(text);
    let k = &crate::kernel_reports(&crate::Ask::thorough(&doc), &[])[0];
    assert_eq!((k.branches[0].uniform, k.barriers[0].verdict), ("block", "safe"));
    let doc = open_cuda(&text.replace("__constant__", "__device__"));
    assert_eq!(crate::kernel_reports(&crate::Ask::thorough(&doc), &[])[0].branches[0].uniform, "unknown");
}

/// Findings in instances of a template are said once where they agree, else with the instance's name.
#[test]
fn findings_of_memory_name_the_instances_they_hold_for() {
    let text = "__constant__ int table[64];\ntemplate <int N>\n__global__ void k(int *o, const int *x, int n) {\n int w[N], t = threadIdx.x;\n for (int i = 0; i < N; i++) w[i] = 0;\n for (int i = 0; i < n; i++)\n  w[x[i]] += table[t / N];\n if (t % N == 1)\n  for (int i = 0; i < N; i++) o[i] = w[i];\n}\nvoid run(int *o, const int *x) {\n k<FIRST><<<2, 64>>>(o, x, 5);\n k<SECOND><<<2, 64>>>(o, x, 5);\n cudaGetLastError();\n}\n";
    let of = |code: &str, first: &str, second: &str| -> Vec<String> {
        let doc = open_cuda(&text.replace("FIRST", first).replace("SECOND", second));
        let list = full(&doc).diagnostics.into_iter().filter(|d| d.code == code);
        list.map(|d| d.message.to_string()).collect()
    };
    let one = |code: &str, first: &str, second: &str| {
        let list = of(code, first, second);
        assert_eq!(list.len(), 1, "{code} {first} {second}: {list:?}");
        list[0].clone()
    };
    let named = |m: &str, n: u32| m.ends_with(&format!("So in the instance `k<{n}>` of the template."));
    // two elements become selections
    assert!(named(&one("local-array", "1", "16"), 16));
    assert!(named(&one("local-array", "16", "32"), 16), "the bytes differ");
    // a quarter of the warp at a time, or all of it
    assert!(named(&one("constant-divergence", "8", "32"), 8));
    assert!(named(&one("divergent-branch", "1", "2"), 2));
    assert!(of("constant-divergence", "32", "64").is_empty());
}
