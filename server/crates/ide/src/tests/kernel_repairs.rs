//! Quick fixes of kernels: guards, barriers out of branches, exchanged axes, swizzled tiles, qualifiers.

use super::kernels::say;
use super::{full, open_cuda};

/// All repairs of the first finding of a code that hold when they are tried: title and new text.
fn repairs(text: &str, code: &str) -> Vec<(String, String)> {
    let doc = open_cuda(text);
    let findings = full(&doc);
    let d =
        findings.diagnostics.iter().find(|d| d.code == code).unwrap_or_else(|| panic!("no {code}: {text}"));
    let offered = crate::actions(&crate::Ask::thorough(&doc), &findings, d.span);
    let own = offered.into_iter().filter(|a| a.id.to_string().starts_with("repair:"));
    // what is offered holds
    own.map(|a| match crate::resolve(&crate::Ask::thorough(&doc), &findings, &a.id) {
        Ok(crate::Resolved::Edit(edit)) => {
            (a.title, edit.edits[0].edits.apply(doc.text()).expect("it applies").to_string())
        }
        other => panic!("{other:?}"),
    })
    .collect()
}

/// The repair of this title leaves nothing to say, and these lines.
fn repaired(text: &str, code: &str, title: &str, lines: &[&str]) {
    let all = repairs(text, code);
    let found = all.iter().find(|(t, _)| t == title).unwrap_or_else(|| panic!("{title}: {all:#?}"));
    for line in lines {
        assert!(found.1.lines().any(|l| l == *line), "{line}: {}", found.1);
    }
    assert_eq!(say(&found.1), "", "{}", found.1);
}

#[test]
fn accesses_outside_are_guarded() {
    let k = "// warpwright: launch(2, 64, n = 100, a[100], b[100])\n__global__ void k(const float *__restrict__ a, float *__restrict__ b, int n) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    b[i] = 2.0f * a[i];\n}\n";
    repaired(k, "out-of-range", "Guard it: `if (i < n)`", &["    if (i < n)", "        b[i] = 2.0f * a[i];"]);
    // a declaration keeps its place
    let v = k.replace("    b[i] = 2.0f * a[i];", "    float v = a[i];\n    if (i < n)\n        b[i] = v;");
    repaired(&v, "out-of-range", "Guard it: `if (i < n)`", &["    float v = i < n ? a[i] : 0;"]);
    // below
    let left = k.replace("b[i] = 2.0f * a[i];", "if (i < n)\n        b[i] = a[i] - a[i - 1];");
    repaired(&left, "out-of-range", "Guard it: `if (i - 1 >= 0)`", &["        if (i - 1 >= 0)"]);
    // two sides and their product
    let image = "// warpwright: launch((2, 3), (16, 16), w = 32, h = 40, a[1280])\n__global__ void k(unsigned char *a, int w, int h) {\n    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;\n    a[y * w + x] = 255 - a[y * w + x];\n}\n";
    repaired(image, "out-of-range", "Guard it: `if (y * w + x < w * h)`", &["    if (y * w + x < w * h)"]);
    // nobody says how long the array is
    let unknown = k.replace("n = 100", "n = 99");
    assert_eq!(repairs(&unknown, "out-of-range"), []);
}

#[test]
fn barriers_leave_the_branch_they_stand_in() {
    let k = "// warpwright: launch(2, 64, n = 100, a[100], b[100])\n__global__ void k(const int *__restrict__ a, int *__restrict__ b, int n) {\n    __shared__ int s[64];\n    int i = blockIdx.x * 64 + threadIdx.x;\n    s[threadIdx.x] = 0;\n    if (i < n) {\n        s[threadIdx.x] = a[i];\n        __syncthreads();\n        b[i] = s[63 - threadIdx.x];\n    }\n}\n";
    let title = "Move the barrier out of the branch";
    repaired(
        k,
        "divergent-barrier",
        title,
        &["    }", "    __syncthreads();", "    if (i < n) {", "        b[i] = s[63 - threadIdx.x];"],
    );
    let tree = "// warpwright: launch(2, 64)\n__global__ void k(const int *__restrict__ a, int *__restrict__ b) {\n    __shared__ int s[64];\n    int t = threadIdx.x;\n    s[t] = a[blockIdx.x * 64 + t];\n    __syncthreads();\n    for (int d = 32; d > 0; d /= 2) {\n        if (t < d) {\n            s[t] += s[t + d];\n            __syncthreads();\n        }\n    }\n    if (t == 0)\n        b[blockIdx.x] = s[0];\n}\n";
    repaired(tree, "divergent-barrier", title, &["        }", "        __syncthreads();"]);
    // what is declared in front is used behind; the condition changes on the way; another arm
    let declared = k
        .replace(
            "s[threadIdx.x] = a[i];\n        __",
            "int v = a[i];\n        s[threadIdx.x] = v;\n        __",
        )
        .replace("b[i] = s[63", "b[i] = v + s[63");
    assert_eq!(repairs(&declared, "divergent-barrier"), []);
    assert_eq!(repairs(&k.replace("= a[i];", "= a[i]; n = n - 1;"), "divergent-barrier"), []);
}

#[test]
fn axes_are_exchanged_where_memory_ends_up_the_same() {
    let k = "// warpwright: launch((2, 8), (32, 8), n = 64, a[4096], b[4096])\n__global__ void k(const float *__restrict__ a, float *__restrict__ b, int n) {\n    int row = blockIdx.x * blockDim.x + threadIdx.x, col = blockIdx.y * blockDim.y + threadIdx.y;\n    if (row < n && col < n)\n        b[row * n + col] = 2.0f * a[row * n + col];\n}\n";
    repaired(
        k,
        "strided-access",
        "Exchange the axes: `threadIdx.x` along the last subscript",
        &["    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;"],
    );
    // a transposition is as bad the other way
    assert_eq!(repairs(&k.replace("b[row * n + col] =", "b[col * n + row] ="), "strided-access"), []);
    // the launch covers another part then
    assert_eq!(repairs(&k.replace("(2, 8), (32, 8)", "(2, 4), (32, 8)"), "strided-access"), []);
}

#[test]
fn tiles_are_padded_or_swizzled() {
    let k = "// warpwright: launch(1, (32, 32))\n__global__ void k(const float *__restrict__ a, float *__restrict__ b) {\n    __shared__ float s[32][32];\n    int x = threadIdx.x, y = threadIdx.y;\n    s[y][x] = a[y * 32 + x];\n    __syncthreads();\n    b[y * 32 + x] = s[x][y];\n}\n";
    repaired(
        k,
        "bank-conflict",
        "Make the rows of `s` one element longer",
        &["    __shared__ float s[32][32 + 1];"],
    );
    repaired(
        k,
        "bank-conflict",
        "Swizzle the columns of `s`: `c ^ r`",
        &["    s[y][x ^ y] = a[y * 32 + x];", "    b[y * 32 + x] = s[x][y ^ x];"],
    );
    // rows of another length
    let wide = k.replace("[32][32]", "[32][48]").replace("s[x][y]", "s[x & ~1][y]");
    assert!(repairs(&wide, "bank-conflict").iter().all(|(t, _)| !t.starts_with("Swizzle")));
}

#[test]
fn readers_are_declared() {
    let k = "// warpwright: launch(1, 64, n = 64)\n__global__ void k(const float *a, float *y, int n) {\n    int i = threadIdx.x;\n    for (int j = 0; j < n; j++)\n        y[i] += a[j];\n}\n";
    repaired(
        k,
        "missing-restrict",
        "Declare `const … *__restrict__ a` (assumes no overlap)",
        &["__global__ void k(const float *__restrict__ a, float *y, int n) {"],
    );
    let plain = k.replace("const float *a", "float* a");
    let all = repairs(&plain, "missing-restrict");
    assert!(all[0].1.contains("(const float* __restrict__ a, float *y"), "{all:?}");
}

#[test]
fn the_largest_is_kept_atomically() {
    let k = "__global__ void k(const int *__restrict__ a, int *best) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (a[i] > *best)\n        *best = a[i];\n}\n";
    repaired(k, "missing-atomic", "Replace by `atomicMax`", &["    atomicMax(&*best, a[i]);"]);
    let k = k.replace("a[i] > *best", "best[0] > a[i]").replace("*best = a[i];", "{ best[0] = a[i]; }");
    repaired(&k, "missing-atomic", "Replace by `atomicMin`", &["    atomicMin(&best[0], a[i]);"]);
}

#[test]
fn subscripts_are_computed_in_64_bits() {
    let k = "// warpwright: launch((3125, 50000), 16, n = 50000)\n__global__ void k(float *a, float s, int n) {\n    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;\n    if (x < n)\n        a[y * n + x] *= s;\n}\n";
    repaired(k, "index-overflow", "Compute the index in 64 bits", &["        a[(long long)y * n + x] *= s;"]);
    // a variable on the way
    let v = k.replace("a[y * n + x] *= s;", "{\n        int i = y * n + x;\n        a[i] *= s;\n    }");
    repaired(
        &v,
        "index-overflow",
        "Compute the index in 64 bits",
        &["        long long i = (long long)y * n + x;"],
    );
    // what wraps on purpose, and what the guard keeps small
    let wraps = say(&k.replace("y * n + x]", "(unsigned)(y * 50000u * 3u + x) % 64u]"));
    assert!(wraps.contains("global-race") && !wraps.contains("index-overflow"), "{wraps}");
    assert_eq!(say(&k.replace("x < n", "y < 100 && x < n")), "");
    // below zero on the way
    let below = "// warpwright: launch(2, 64)\n__global__ void k(float *a) {\n    int first = blockIdx.x * 64 - 4;\n    int i = first + threadIdx.x;\n    if (i >= 0)\n        a[i] = 1.0f;\n}\n";
    assert_eq!(say(below), "");
}

const HOST: &str = "#include <stdio.h>\n// warpwright: launch(8, 128, n = 1000, u[1000], v[1000])\n__global__ void heat(const float *__restrict__ u, float *__restrict__ v, float k, int n) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i > 0 && i < n - 1)\n        v[i] = u[i] + k * (u[i - 1] - 2.0f * u[i] + u[i + 1]);\n}\n// warpwright: launch(2, 128, 512)\n__global__ void reversed(const float *__restrict__ in, float *__restrict__ out) {\n    extern __shared__ float s[];\n    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;\n    s[t] = in[i];\n    __syncthreads();\n    out[i] = s[blockDim.x - 1 - t];\n}\n// warpwright: launch(8, 128, n = 1000, a[1000])\n__global__ void scale(float *a, float s, int n) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n)\n        a[i] *= s;\n}\n";

fn host(function: &str) -> String {
    format!("{HOST}{function}")
}

#[test]
fn buffers_are_exchanged_after_each_step() {
    let f = host("void f(float *h, int n) {\n    float *u, *v;\n    cudaMalloc(&u, n * sizeof(float));\n    cudaMalloc(&v, n * sizeof(float));\n    for (int t = 0; t < 100; t++)\n        heat<<<(n + 127) / 128, 128>>>(u, v, 0.1f, n);\n    cudaGetLastError();\n    cudaMemcpy(h, v, n * sizeof(float), cudaMemcpyDeviceToHost);\n    cudaFree(u);\n    cudaFree(v);\n}\n");
    let title = "Exchange `u` and `v` after each step: the last is in `u`";
    repaired(
        &f,
        "missing-swap",
        title,
        &[
            "    for (int t = 0; t < 100; t++) {",
            "        auto last = u;",
            "        u = v;",
            "        v = last;",
            "    }",
            "    cudaMemcpy(h, u, n * sizeof(float), cudaMemcpyDeviceToHost);",
        ],
    );
    let braces = f.replace("t++)\n", "t++) {\n").replace("0.1f, n);\n", "0.1f, n);\n    }\n");
    repaired(&braces, "missing-swap", title, &["        auto last = u;"]);
    // what else looks at the buffers may mean the old ones
    assert_eq!(repairs(&f.replace("h, v,", "h, u,"), "missing-swap"), []);
    let more = "heat<<<(n + 127) / 128, 128>>>(v, u, 0.1f, n);\n    cudaFree(u);";
    assert_eq!(repairs(&f.replace("cudaFree(u);", more), "missing-swap"), []);
    // what repeats to be measured says so
    assert!(say(&f).contains("missing-swap"));
    for (from, to) in
        [("    for (int t", "    cudaDeviceSynchronize();\n    for (int t"), ("t < 100", "t < repeats")]
    {
        let measured = f.replace("int n) {\n    float", "int n, int repeats) {\n    float").replace(from, to);
        assert!(!say(&measured).contains("missing-swap"), "{measured}");
    }
}

#[test]
fn copies_are_made_once_and_only_if_there_is_a_round() {
    let f = host("void f(float *h, float *d, int n, int steps) {\n    for (int t = 0; t < steps; t++) {\n        cudaMemcpy(d, h, n * sizeof(float), cudaMemcpyHostToDevice);\n        scale<<<(n + 127) / 128, 128>>>(d, 0.99f, n);\n        cudaGetLastError();\n        cudaMemcpy(h, d, n * sizeof(float), cudaMemcpyDeviceToHost);\n    }\n}\n");
    let into = "    if (steps > 0) cudaMemcpy(d, h, n * sizeof(float), cudaMemcpyHostToDevice);";
    let all = repairs(&f, "invariant-copy");
    assert_eq!(all.len(), 1, "{all:#?}");
    assert_eq!(all[0].0, "Copy once before the loop");
    assert!(all[0].1.lines().any(|l| l == into), "{}", all[0].1);
    // then the other
    repaired(
        &all[0].1,
        "invariant-copy",
        "Copy once behind the loop",
        &[into, "    if (steps > 0) cudaMemcpy(h, d, n * sizeof(float), cudaMemcpyDeviceToHost);"],
    );
    let ten = all[0].1.replace("t < steps", "t < 10").replace("if (steps > 0) ", "");
    repaired(
        &ten,
        "invariant-copy",
        "Copy once behind the loop",
        &["    cudaMemcpy(h, d, n * sizeof(float), cudaMemcpyDeviceToHost);"],
    );
    // whether there is a round is not said by the header
    let until = f.replace("for (int t = 0; t < steps; t++)", "while (steps--)");
    assert_eq!(repairs(&until, "invariant-copy"), []);
}

#[test]
fn launches_get_room_for_an_element_a_thread() {
    let f = "void f(const float *in, float *out, int blocks, int threads) {\n    reversed<<<blocks, threads>>>(in, out);\n    cudaGetLastError();\n}\n";
    let title = "Give it an element of `s` for each thread, in bytes";
    let right = "    reversed<<<blocks, threads, threads * sizeof(float)>>>(in, out);";
    repaired(&host(f), "short-shared", title, &[right]);
    repaired(&host(&f.replace("threads>>>", "threads, threads>>>")), "short-shared", title, &[right]);
    repaired(&host(&f.replace("threads>>>", "threads, 0>>>")), "short-shared", title, &[right]);
    // more than an element a thread, or less
    let wide = host(f).replace("s[t] = in[i];", "s[t] = in[i];\n    if (t == 0) s[blockDim.x] = 0.0f;");
    assert_eq!(repairs(&wide, "short-shared"), []);
    let narrow = host(f)
        .replace("s[t] = in[i];", "if (t < 32) s[t] = in[i];")
        .replace("s[blockDim.x - 1 - t]", "s[t % 32]");
    assert_eq!(repairs(&narrow, "short-shared"), []);
}

#[test]
fn sizes_and_directions_of_copies() {
    let f = host("void f(int n) {\n    float *h = (float *)malloc(n * sizeof(float)), *d;\n    cudaMalloc(&d, n * sizeof(float));\n    cudaMemcpy(d, h, n * sizeof(float), cudaMemcpyHostToDevice);\n    cudaMemcpy(h, d, n * sizeof(float), cudaMemcpyDeviceToHost);\n    cudaFree(d);\n    free(h);\n}\n");
    let short = f.replace("(d, h, n * sizeof(float), ", "(d, h, n, ");
    repaired(
        &short,
        "bytes-not-elements",
        "Write `n * sizeof(*d)`",
        &["    cudaMemcpy(d, h, n * sizeof(*d), cudaMemcpyHostToDevice);"],
    );
    let back = f.replace("cudaMemcpyDeviceToHost", "cudaMemcpyHostToDevice");
    repaired(
        &back,
        "copy-direction",
        "Write `cudaMemcpyDeviceToHost`",
        &["    cudaMemcpy(h, d, n * sizeof(float), cudaMemcpyDeviceToHost);"],
    );
}

#[test]
fn the_host_waits_and_looks() {
    let f = host("float f(int n) {\n    float *a, s = 0.0f;\n    cudaMallocManaged(&a, n * sizeof(float));\n    scale<<<(n + 127) / 128, 128>>>(a, 2.0f, n);\n    cudaGetLastError();\n    for (int i = 0; i < n; i++)\n        s += a[i];\n    cudaFree(a);\n    return s;\n}\n");
    repaired(
        &f,
        "missing-synchronisation",
        "Put `cudaDeviceSynchronize()` before it",
        &["    cudaDeviceSynchronize();", "    for (int i = 0; i < n; i++)"],
    );
    let blind = host("void f(float *a, int n) {\n    int error = 0;\n    scale<<<(n + 127) / 128, 128>>>(a, 2.0f, n + error);\n    cudaDeviceSynchronize();\n}\n");
    repaired(
        &blind,
        "unchecked-launch",
        "Look at `cudaGetLastError()` behind it",
        &[
            "    cudaError_t error2 = cudaGetLastError();",
            "    if (error2 != cudaSuccess)",
            "        fprintf(stderr, \"scale: %s\\n\", cudaGetErrorString(error2));",
        ],
    );
    assert_eq!(repairs(&blind.replace("#include <stdio.h>\n", ""), "unchecked-launch"), []);
}

#[test]
fn variables_that_threads_share_get_the_clauses_they_lack() {
    let text = "void f(int n, int m, const float *restrict a, float *restrict b) {\n    int i, j;\n    float t;\n    float sum = 0;\n    #pragma omp parallel for\n    for (i = 0; i < n; i++)\n        for (j = 0; j < m; j++) {\n            t = a[i * m + j];\n            b[i * m + j] = t * t;\n        }\n}\n";
    let doc = super::open(text);
    let findings = full(&doc);
    let races: Vec<_> = findings.diagnostics.iter().filter(|d| d.code == "thread-race").collect();
    assert_eq!(races.len(), 2, "{:#?}", findings.diagnostics);
    let ask = crate::Ask::thorough(&doc);
    let offered = crate::actions(&ask, &findings, races[0].span);
    let repairs: Vec<_> = offered.iter().filter(|a| a.id.to_string().starts_with("repair:")).collect();
    assert_eq!(repairs.iter().map(|a| &*a.title).collect::<Vec<_>>(), ["Add `private(j, t)`"]);
    let Ok(crate::Resolved::Edit(edit)) = crate::resolve(&ask, &findings, &repairs[0].id) else {
        panic!("an edit")
    };
    let made = edit.edits[0].edits.apply(doc.text()).expect("it applies").to_string();
    assert!(made.contains("#pragma omp parallel for private(j, t)\n    for"), "{made}");
    assert!(full(&super::open(&made)).diagnostics.iter().all(|d| !d.code.starts_with("thread")), "{made}");
}
