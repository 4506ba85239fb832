//! Quick fixes of kernels: guards, barriers out of branches, exchanged axes, swizzled tiles, qualifiers.

use super::kernels::say;
use super::{full, open_cuda};

/// All repairs of the first finding of a code: title and new text.
fn mends(text: &str, code: &str) -> Vec<(String, String)> {
    let doc = open_cuda(text);
    let findings = full(&doc);
    let d =
        findings.diagnostics.iter().find(|d| d.code == code).unwrap_or_else(|| panic!("no {code}: {text}"));
    let offered = crate::actions(&doc, &findings, d.span);
    let own = offered.into_iter().filter(|a| a.id.as_str().starts_with("mend:"));
    own.map(|a| {
        let done = crate::resolve(&doc, &findings, &crate::Memo::new(), &a.id, &base::CancelToken::new());
        let Ok(crate::Resolved::Edit(edit)) = done else { panic!("{done:?}") };
        (a.title, edit.edits[0].edits.apply(doc.text()).expect("it applies").to_string())
    })
    .collect()
}

/// The repair of this title leaves nothing to say, and these lines.
fn mended(text: &str, code: &str, title: &str, lines: &[&str]) {
    let all = mends(text, code);
    let found = all.iter().find(|(t, _)| t == title).unwrap_or_else(|| panic!("{title}: {all:#?}"));
    for line in lines {
        assert!(found.1.lines().any(|l| l == *line), "{line}: {}", found.1);
    }
    assert_eq!(say(&found.1), "", "{}", found.1);
}

#[test]
fn accesses_outside_are_guarded() {
    let k = "// warpwright: launch(2, 64, n = 100, a[100], b[100])\n__global__ void k(const float *__restrict__ a, float *__restrict__ b, int n) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    b[i] = 2.0f * a[i];\n}\n";
    mended(k, "out-of-range", "Guard it: `if (i < n)`", &["    if (i < n)", "        b[i] = 2.0f * a[i];"]);
    // a declaration keeps its place
    let v = k.replace("    b[i] = 2.0f * a[i];", "    float v = a[i];\n    if (i < n)\n        b[i] = v;");
    mended(&v, "out-of-range", "Guard it: `if (i < n)`", &["    float v = i < n ? a[i] : 0;"]);
    // below
    let left = k.replace("b[i] = 2.0f * a[i];", "if (i < n)\n        b[i] = a[i] - a[i - 1];");
    mended(&left, "out-of-range", "Guard it: `if (i - 1 >= 0)`", &["        if (i - 1 >= 0)"]);
    // two sides and their product
    let image = "// warpwright: launch((2, 3), (16, 16), w = 32, h = 40, a[1280])\n__global__ void k(unsigned char *a, int w, int h) {\n    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;\n    a[y * w + x] = 255 - a[y * w + x];\n}\n";
    mended(image, "out-of-range", "Guard it: `if (y * w + x < w * h)`", &["    if (y * w + x < w * h)"]);
    // nobody says how long the array is
    let unknown = k.replace("n = 100", "n = 99");
    assert_eq!(mends(&unknown, "out-of-range"), []);
}

#[test]
fn barriers_leave_the_branch_they_stand_in() {
    let k = "// warpwright: launch(2, 64, n = 100, a[100], b[100])\n__global__ void k(const int *__restrict__ a, int *__restrict__ b, int n) {\n    __shared__ int s[64];\n    int i = blockIdx.x * 64 + threadIdx.x;\n    s[threadIdx.x] = 0;\n    if (i < n) {\n        s[threadIdx.x] = a[i];\n        __syncthreads();\n        b[i] = s[63 - threadIdx.x];\n    }\n}\n";
    let title = "Move the barrier out of the branch";
    mended(
        k,
        "divergent-barrier",
        title,
        &["    }", "    __syncthreads();", "    if (i < n) {", "        b[i] = s[63 - threadIdx.x];"],
    );
    let tree = "// warpwright: launch(2, 64)\n__global__ void k(const int *__restrict__ a, int *__restrict__ b) {\n    __shared__ int s[64];\n    int t = threadIdx.x;\n    s[t] = a[blockIdx.x * 64 + t];\n    __syncthreads();\n    for (int d = 32; d > 0; d /= 2) {\n        if (t < d) {\n            s[t] += s[t + d];\n            __syncthreads();\n        }\n    }\n    if (t == 0)\n        b[blockIdx.x] = s[0];\n}\n";
    mended(tree, "divergent-barrier", title, &["        }", "        __syncthreads();"]);
    // what is declared in front is used behind; the condition changes on the way; another arm
    let declared = k
        .replace(
            "s[threadIdx.x] = a[i];\n        __",
            "int v = a[i];\n        s[threadIdx.x] = v;\n        __",
        )
        .replace("b[i] = s[63", "b[i] = v + s[63");
    assert_eq!(mends(&declared, "divergent-barrier"), []);
    assert_eq!(mends(&k.replace("= a[i];", "= a[i]; n = n - 1;"), "divergent-barrier"), []);
}

#[test]
fn axes_are_exchanged_where_memory_ends_up_the_same() {
    let k = "// warpwright: launch((2, 8), (32, 8), n = 64, a[4096], b[4096])\n__global__ void k(const float *__restrict__ a, float *__restrict__ b, int n) {\n    int row = blockIdx.x * blockDim.x + threadIdx.x, col = blockIdx.y * blockDim.y + threadIdx.y;\n    if (row < n && col < n)\n        b[row * n + col] = 2.0f * a[row * n + col];\n}\n";
    mended(
        k,
        "strided-access",
        "Exchange the axes: `threadIdx.x` along the last subscript",
        &["    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;"],
    );
    // a transposition is as bad the other way
    assert_eq!(mends(&k.replace("b[row * n + col] =", "b[col * n + row] ="), "strided-access"), []);
    // the launch covers another part then
    assert_eq!(mends(&k.replace("(2, 8), (32, 8)", "(2, 4), (32, 8)"), "strided-access"), []);
}

#[test]
fn tiles_are_padded_or_swizzled() {
    let k = "// warpwright: launch(1, (32, 32))\n__global__ void k(const float *__restrict__ a, float *__restrict__ b) {\n    __shared__ float s[32][32];\n    int x = threadIdx.x, y = threadIdx.y;\n    s[y][x] = a[y * 32 + x];\n    __syncthreads();\n    b[y * 32 + x] = s[x][y];\n}\n";
    mended(
        k,
        "bank-conflict",
        "Make the rows of `s` one element longer",
        &["    __shared__ float s[32][32 + 1];"],
    );
    mended(
        k,
        "bank-conflict",
        "Swizzle the columns of `s`: `c ^ r`",
        &["    s[y][x ^ y] = a[y * 32 + x];", "    b[y * 32 + x] = s[x][y ^ x];"],
    );
    // rows of another length
    let wide = k.replace("[32][32]", "[32][48]").replace("s[x][y]", "s[x & ~1][y]");
    assert!(mends(&wide, "bank-conflict").iter().all(|(t, _)| !t.starts_with("Swizzle")));
}

#[test]
fn readers_are_declared() {
    let k = "// warpwright: launch(1, 64, n = 64)\n__global__ void k(const float *a, float *y, int n) {\n    int i = threadIdx.x;\n    for (int j = 0; j < n; j++)\n        y[i] += a[j];\n}\n";
    mended(
        k,
        "missing-restrict",
        "Declare `const … *__restrict__ a` (assumes that nothing the kernel writes overlaps it)",
        &["__global__ void k(const float *__restrict__ a, float *y, int n) {"],
    );
    let plain = k.replace("const float *a", "float* a");
    let all = mends(&plain, "missing-restrict");
    assert!(all[0].1.contains("(const float* __restrict__ a, float *y"), "{all:?}");
}

#[test]
fn the_largest_is_kept_atomically() {
    let k = "__global__ void k(const int *__restrict__ a, int *best) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (a[i] > *best)\n        *best = a[i];\n}\n";
    mended(k, "missing-atomic", "Replace by `atomicMax`", &["    atomicMax(&*best, a[i]);"]);
    let k = k.replace("a[i] > *best", "best[0] > a[i]").replace("*best = a[i];", "{ best[0] = a[i]; }");
    mended(&k, "missing-atomic", "Replace by `atomicMin`", &["    atomicMin(&best[0], a[i]);"]);
}

#[test]
fn subscripts_are_computed_in_64_bits() {
    let k = "// warpwright: launch((3125, 50000), 16, n = 50000)\n__global__ void k(float *a, float s, int n) {\n    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;\n    if (x < n)\n        a[y * n + x] *= s;\n}\n";
    mended(k, "index-overflow", "Compute the index in 64 bits", &["        a[(long long)y * n + x] *= s;"]);
    // a variable on the way
    let v = k.replace("a[y * n + x] *= s;", "{\n        int i = y * n + x;\n        a[i] *= s;\n    }");
    mended(
        &v,
        "index-overflow",
        "Compute the index in 64 bits",
        &["        long long i = (long long)y * n + x;"],
    );
    // what wraps on purpose, and what the guard keeps small
    assert_eq!(say(&k.replace("y * n + x]", "(unsigned)(y * 50000u * 3u + x) % 64u]")), "");
    assert_eq!(say(&k.replace("x < n", "y < 100 && x < n")), "");
    // below zero on the way
    let below = "// warpwright: launch(2, 64)\n__global__ void k(float *a) {\n    int first = blockIdx.x * 64 - 4;\n    int i = first + threadIdx.x;\n    if (i >= 0)\n        a[i] = 1.0f;\n}\n";
    assert_eq!(say(below), "");
}
