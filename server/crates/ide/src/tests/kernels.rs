//! What is said of kernels: words, and silence where nothing is wrong.

use expect_test::{expect, Expect};

use super::{full, open_cuda};

/// Findings with their related places.
pub(super) fn say(code: &str) -> String {
    let doc = open_cuda(code);
    let mut out = String::new();
    // loops of a thread are another matter
    for d in full(&doc).diagnostics.into_iter().filter(|d| !d.code.ends_with("-loop")) {
        let at = crate::function_view::line_column(&doc, d.span.start);
        out.push_str(&format!("{}:{} {}[{}] {}\n", at.line, at.column, d.severity.name(), d.code, d.message));
        for r in d.related {
            let at = crate::function_view::line_column(&doc, r.span.start);
            out.push_str(&format!("  {}:{} {}\n", at.line, at.column, r.message));
        }
    }
    out
}

fn check(code: &str, expected: Expect) {
    expected.assert_eq(&say(code));
}

fn silent(code: &str) {
    assert_eq!(say(code), "", "{code}");
}

const REVERSE: &str = "// warpwright: launch(2, 64)\n__global__ void k(int *a) {\n    __shared__ int s[64];\n    int t = threadIdx.x;\n    s[t] = a[t + 64 * blockIdx.x];\n    BARRIER\n    a[t + 64 * blockIdx.x] = s[63 - t];\n}\n";

#[test]
fn a_missing_barrier_is_told_with_two_threads() {
    check(
        &REVERSE.replace("BARRIER", ""),
        expect![[r#"
        7:30 error[shared-race] Thread 63 of block 0 reads it, thread 0 of block 0 writes it on line 5: the same `s[0]`, and nothing orders the two. Seen with 2 blocks of 64 threads. Put `__syncthreads()` between the two, where all threads of the block come.
          5:5 thread 0 of block 0 writes it here
          7:30 thread 63 of block 0 reads it here
    "#]],
    );
    silent(&REVERSE.replace("BARRIER", "__syncthreads();"));
    // nobody says how it is launched: every block size tried shows it
    let unknown = REVERSE.replace("// warpwright: launch(2, 64)\n", "\n");
    assert!(say(&unknown.replace("BARRIER", "")).contains("shared-race"));
    silent(&unknown.replace("BARRIER", "__syncthreads();"));
    // a barrier in a function that is called
    let called =
        format!("__device__ void wait() {{ __syncthreads(); }}\n{}", REVERSE.replace("BARRIER", "wait();"));
    silent(&called);
}

#[test]
fn lanes_of_a_warp_are_not_in_step() {
    let k = "// warpwright: launch(1, 32)\n__global__ void k(int *a) {\n    volatile __shared__ int s[64];\n    int t = threadIdx.x;\n    s[t] = a[t]; s[t + 32] = 0;\n    WAIT\n    a[t] = s[t] + s[t + 16];\n}\n";
    check(
        &k.replace("WAIT", ""),
        expect![[r#"
            7:19 error[shared-race] Thread 0 of block 0 reads it, thread 16 of block 0 writes it on line 5: the same `s[16]`, and nothing orders the two. Seen with 1 block of 32 threads. Lanes of a warp do not run in step: put `__syncwarp()` between the two (every lane of the warp must come to it).
              5:5 thread 16 of block 0 writes it here
              7:19 thread 0 of block 0 reads it here
              5:18 Written here, and nothing orders it
        "#]],
    );
    silent(&k.replace("WAIT", "__syncwarp();"));
}

#[test]
fn an_update_by_many_threads_wants_an_atomic() {
    let k = "// warpwright: launch(4, 64, n = 256)\n__global__ void k(const int *a, int *total, int n) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n)\n        UPDATE\n}\n";
    check(
        &k.replace("UPDATE", "total[0] += a[i];"),
        expect![[r#"
        5:9 error[global-race] Thread 0 of block 0 and thread 0 of block 1 both read and write `total[0]` here, and nothing orders them: one of the two updates can be lost. Seen with 4 blocks of 64 threads, `n` = 256. Use an atomic operation, such as `atomicAdd`.
          5:9 thread 0 of block 0 reads and writes it here
    "#]],
    );
    silent(&k.replace("UPDATE", "atomicAdd(&total[0], a[i]);"));
    // a lock, a flag that all set alike, and blocks that fences order are not called races
    silent(
        &k.replace("UPDATE", "{ while (atomicCAS(total, 0, 1)) ; total[1] += a[i]; atomicExch(total, 0); }"),
    );
    silent(&k.replace("UPDATE", "total[0] = 1;"));
}

#[test]
fn neighbours_of_other_blocks_may_not_be_there_yet() {
    let k = "// warpwright: launch(2, 64)\n__global__ void k(int *a) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    a[i] = i;\n    __syncthreads();\n    OUT = a[(i + 1) % 128];\n}\n";
    check(
        &k.replace("OUT", "int x"),
        expect![[r#"
        6:13 error[global-race] Thread 63 of block 1 reads it, thread 0 of block 0 writes it on line 4: the same `a[0]`, and nothing orders the two. Seen with 2 blocks of 64 threads. There is no barrier between blocks inside a launch: let every block write places of its own, use atomic operations, or make two launches.
          4:5 thread 0 of block 0 writes it here
          6:13 thread 63 of block 1 reads it here
    "#]],
    );
    silent(&k.replace("(i + 1) % 128", "64 * blockIdx.x + (threadIdx.x + 1) % 64").replace("OUT", "int x"));
}

#[test]
fn accesses_outside_are_told() {
    let k = "// warpwright: launch(2, 64, n = 100, a[100])\n__global__ void k(int *a, int n) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i GUARD n) a[i] = 1;\n}\n";
    check(
        &k.replace("GUARD", "<="),
        expect![[r#"
        4:17 error[out-of-range] Thread 36 of block 1 touches `a[100]`, which has 100 elements, in 2 blocks of 64 threads, `n` = 100. What is read there is undefined, and what is written may be anything's. Guard the access, or make the array larger.
    "#]],
    );
    silent(&k.replace("GUARD", "<"));
    let k = "// warpwright: launch(1, 64, SHARED)\n__global__ void k(const int *a, int *b) {\n    extern __shared__ int s[];\n    s[threadIdx.x] = a[threadIdx.x];\n    __syncthreads();\n    b[threadIdx.x] = s[63 - threadIdx.x];\n}\n";
    check(
        &k.replace("SHARED", "128"),
        expect![[r#"
            4:5 error[out-of-range] Thread 32 of block 0 touches `s[32]`, which has 32 elements, and 31 more accesses like it, in 1 block of 64 threads. What is read there is undefined, and what is written may be anything's. Give the launch more bytes of shared memory (its third argument), or touch less.
            6:22 error[out-of-range] Thread 0 of block 0 touches `s[63]`, which has 32 elements, and 31 more accesses like it, in 1 block of 64 threads. What is read there is undefined, and what is written may be anything's. Give the launch more bytes of shared memory (its third argument), or touch less.
        "#]],
    );
    silent(&k.replace("SHARED", "256"));
}

#[test]
fn a_barrier_that_orders_nothing_is_a_hint() {
    let k = "// warpwright: launch(2, 64)\n__global__ void k(const int *__restrict__ a, int *__restrict__ b) {\n    __shared__ int s[64];\n    int t = threadIdx.x;\n    s[t] = a[t + 64 * blockIdx.x];\n    __syncthreads();\n    b[t + 64 * blockIdx.x] = s[OTHER];\n}\n";
    check(
        &k.replace("OTHER", "t"),
        expect![[r#"
        6:5 hint[redundant-barrier] This barrier orders nothing: without it no two threads of a block touch one place that they did not before, in 2 blocks of 64 threads. All threads of the block wait here for the slowest. Remove it if no other launch needs it.
    "#]],
    );
    silent(&k.replace("OTHER", "t ^ 1"));
    // the two pointers may be one array, whose neighbours are read before they are written
    let overlapping = "// warpwright: launch(1, 64)\n__global__ void k(int *a, int *b) {\n    int t = threadIdx.x;\n    int x = a[63 - t];\n    __syncthreads();\n    b[t] = x;\n}\n";
    silent(overlapping);
}

/// One finding of this code at this line, and none once `from` is replaced by `to`.
fn pair(code: &str, line: u32, wrong: &str, from: &str, to: &str) {
    let said = say(wrong);
    let own: Vec<&str> = said.lines().filter(|l| !l.starts_with(' ')).collect();
    assert!(own.len() == 1, "{code}: {said}");
    assert!(own[0].starts_with(&format!("{line}:")) && own[0].contains(&format!("[{code}]")), "{said}");
    let mended = wrong.replace(from, to);
    assert_ne!(mended, wrong);
    silent(&mended);
}

#[test]
fn memory_and_patterns_in_pairs() {
    let histogram = "__global__ void k(const int *d, int *h, int n) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n)\n        h[d[i] & 63] += 1;\n}\n";
    pair("missing-atomic", 4, histogram, "h[d[i] & 63] += 1", "atomicAdd(&h[d[i] & 63], 1)");
    // through a variable, and spelled out
    let spelled = histogram.replace("h[d[i] & 63] += 1;", "{ int b = d[i] & 63; h[b] = h[b] + 1; }");
    pair("missing-atomic", 4, &spelled, "h[b] = h[b] + 1", "atomicAdd(h + b, 1)");
    // a copy for each thread, and one thread alone
    silent(&histogram.replace("h[d[i] & 63]", "h[i * 64 + (d[i] & 63)]"));
    silent(&histogram.replace("i < n", "i == 0"));

    let last = "__device__ unsigned int done = 0;\n__global__ void k(const int *a, int *p, int *total) {\n    __shared__ bool last;\n    if (threadIdx.x == 0) {\n        p[blockIdx.x] = a[blockIdx.x];\n        FENCE\n        last = atomicInc(&done, gridDim.x - 1) == gridDim.x - 1;\n    }\n    __syncthreads();\n    if (last && threadIdx.x == 0) {\n        int sum = 0;\n        for (int b = 0; b < gridDim.x; b++) sum += p[b];\n        *total = sum;\n    }\n}\n";
    pair("missing-fence", 6 + 1, &last.replace("FENCE", ";;"), ";;", "__threadfence();");
    // a fence for the block alone is not enough
    assert!(say(&last.replace("FENCE", "__threadfence_block();")).contains("missing-fence"));

    let columns = "// warpwright: launch((2, 8), (32, 8), n = 64)\n__global__ void k(const float *a, float *b, int n) {\n    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;\n    b[y * n + x] = 2.0f * a[x * n + y];\n}\n";
    pair("strided-access", 4, columns, "a[x * n + y]", "a[y * n + x]");
    // a row that begins one element late costs a sector and no word
    silent(&columns.replace("a[x * n + y]", "a[y * n + x + 1]"));

    let tile = "// warpwright: launch(1, (32, 32))\n__global__ void k(const float *__restrict__ a, float *__restrict__ b) {\n    __shared__ float s[32][32];\n    int x = threadIdx.x, y = threadIdx.y;\n    s[y][x] = a[y * 32 + x];\n    __syncthreads();\n    b[y * 32 + x] = s[x][y];\n}\n";
    pair("bank-conflict", 7, tile, "[32][32]", "[32][33]");
    // one word for all lanes, and doubles, which need two passes anyway
    silent(&tile.replace("s[x][y]", "s[y][0]"));
    let doubles = "// warpwright: launch(1, 64)\n__global__ void k(const double *__restrict__ a, double *__restrict__ b) {\n    __shared__ double s[64];\n    int t = threadIdx.x;\n    s[t] = a[t];\n    __syncthreads();\n    b[t] = s[63 - t];\n}\n";
    silent(doubles);
}

#[test]
fn fences_before_the_counter() {
    let text = |before: &str, write: &str, counter: &str| {
        format!(
            "__device__ unsigned int done = 0;\n{before}\n__global__ void k(const int *a, int *p, int *total, int n) {{\n    __shared__ bool last;\n    int t = threadIdx.x;\n    {write}\n    {counter}\n    __syncthreads();\n    if (last && t == 0) {{\n        int sum = 0;\n        for (int b = 0; b < gridDim.x; b++) sum += p[b];\n        *total = sum;\n    }}\n}}\n"
        )
    };
    const WRITE: &str = "if (t == 0) p[blockIdx.x] = a[blockIdx.x];";
    const COUNTER: &str = "if (t == 0) last = atomicAdd(&done, 1) == gridDim.x - 1;";
    let fence = "__device__ void flush() { __threadfence(); }\n__device__ int twice(int x) { return 2 * x; }\n__device__ void more() { flush(); }";
    let wrong = [
        // behind the counter it comes too late
        (WRITE, "if (t == 0) { last = atomicAdd(&done, 1) == gridDim.x - 1; __threadfence(); }"),
        // in one way of two, in either
        (
            "if (t == 0) { if (n > 3) { p[blockIdx.x] = 1; __threadfence(); } else { p[blockIdx.x] = 2; } }",
            COUNTER,
        ),
        (
            "if (t == 0) { if (n > 3) { p[blockIdx.x] = 1; } else { p[blockIdx.x] = 2; __threadfence(); } }",
            COUNTER,
        ),
        // a barrier is for the block alone, and so is its fence
        (WRITE, "__syncthreads(); if (t == 0) last = atomicAdd(&done, 1) == gridDim.x - 1;"),
        (WRITE, "__threadfence_block(); if (t == 0) last = atomicAdd(&done, 1) == gridDim.x - 1;"),
        // a function without one
        (WRITE, "n = twice(n); if (t == 0) last = atomicAdd(&done, 1) == gridDim.x - 1;"),
    ];
    for (write, counter) in wrong {
        let said = say(&text(fence, write, counter));
        assert_eq!(said.matches("[missing-fence]").count(), 1, "{write} {counter}: {said}");
    }
    let right = [
        (WRITE, "__threadfence(); if (t == 0) last = atomicAdd(&done, 1) == gridDim.x - 1;"),
        (WRITE, "__threadfence_system(); if (t == 0) last = atomicAdd(&done, 1) == gridDim.x - 1;"),
        (WRITE, "more(); if (t == 0) last = atomicAdd(&done, 1) == gridDim.x - 1;"),
        // what nobody knows may be one
        (WRITE, "fence_of_the_library(); if (t == 0) last = atomicAdd(&done, 1) == gridDim.x - 1;"),
        (WRITE, "cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_device); if (t == 0) last = atomicAdd(&done, 1) == gridDim.x - 1;"),
        // all blocks are waited for
        (WRITE, "if (t == 0) last = atomicAdd(&done, 1) == gridDim.x - 1; wait_for_all(done);"),
        // by one thread for all, behind a barrier
        (WRITE, "__syncthreads(); if (t == 0) { __threadfence(); last = atomicAdd(&done, 1) == gridDim.x - 1; }"),
        ("if (t == 0) { if (n > 3) { p[blockIdx.x] = 1; __threadfence(); } else { p[blockIdx.x] = 2; __threadfence(); } }", COUNTER),
    ];
    for (write, counter) in right {
        let said = say(&text(fence, write, counter));
        assert!(!said.contains("[missing-fence]"), "{write} {counter}: {said}");
    }
    // a place in a list: the thread looks at what it wrote itself
    silent("__device__ int count = 0;\n__global__ void k(const int *__restrict__ a, int *__restrict__ b, int *__restrict__ list, int n) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i >= n) return;\n    b[i] = 2 * a[i];\n    int at = atomicAdd(&count, 1);\n    if (at < n)\n        list[at] = b[i];\n}\n");
}

/// The text after the repair of the first finding of a code, and the repair's title.
pub(super) fn mended(text: &str, code: &str) -> Option<(String, String)> {
    let doc = open_cuda(text);
    let findings = full(&doc);
    let d = findings.diagnostics.iter().find(|d| d.code == code).expect("the finding");
    let mend = crate::actions(&crate::Ask::thorough(&doc), &findings, d.span)
        .into_iter()
        .find(|a| a.id.to_string().starts_with("repair:"))?;
    assert_eq!(mend.kind, crate::ActionKind::QuickFix);
    let done = crate::resolve(&crate::Ask::thorough(&doc), &findings, &mend.id);
    let edit = match done {
        Ok(crate::Resolved::Edit(edit)) => edit,
        // what is listed is tried when it is chosen
        Err(crate::ResolveError::Refused(_)) => return None,
        other => panic!("{other:?}"),
    };
    let text = edit.edits[0].edits.apply(doc.text()).expect("it applies").to_string();
    Some((mend.title, text))
}

#[test]
fn repairs_leave_nothing_to_say() {
    let check = |text: &str, code: &str, title: &str, line: &str| {
        let (said, new) = mended(text, code).unwrap_or_else(|| panic!("no repair: {text}"));
        assert_eq!(said, title, "{new}");
        assert!(new.lines().any(|l| l == line), "{new}");
        silent(&new);
    };
    let reverse = REVERSE.replace("    BARRIER\n", "");
    check(&reverse, "shared-race", "Put `__syncthreads()` between the two", "    __syncthreads();");
    // under a condition of the thread it stands before the condition
    let guarded = reverse
        .replace("    a[t + 64 * blockIdx.x] =", "    if (t < 40) {\n        a[t + 64 * blockIdx.x] =")
        .replace("s[63 - t];", "s[63 - t];\n    }");
    check(&guarded, "shared-race", "Put `__syncthreads()` between the two", "    __syncthreads();");
    let warp = "// warpwright: launch(1, 32)\n__global__ void k(int *a) {\n    volatile __shared__ int s[32];\n    int t = threadIdx.x;\n    s[t] = a[t];\n    a[t] = s[t ^ 1];\n}\n";
    check(warp, "shared-race", "Put `__syncwarp()` between the two", "    __syncwarp();");
    let sum = "// warpwright: launch(4, 64, n = 200)\n__global__ void k(const int *a, int *total, int n) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n)\n        UPDATE;\n}\n";
    let atomic = |update: &str, line: &str, name: &str| {
        check(
            &sum.replace("UPDATE", update),
            "global-race",
            &format!("Replace by `{name}`"),
            &format!("        {line}"),
        );
    };
    atomic("total[0] += a[i]", "atomicAdd(&total[0], a[i]);", "atomicAdd");
    atomic("*total -= a[i] + 1", "atomicSub(&*total, a[i] + 1);", "atomicSub");
    atomic("total[0]++", "atomicAdd(&total[0], 1);", "atomicAdd");
    // there is no atomic product
    assert_eq!(mended(&sum.replace("UPDATE", "total[0] *= a[i]"), "global-race"), None);
    let histogram = "__global__ void k(const int *d, int *h, int n) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n)\n        h[d[i] & 63] = h[d[i] & 63] + 2;\n}\n";
    check(histogram, "missing-atomic", "Replace by `atomicAdd`", "        atomicAdd(&h[d[i] & 63], 2);");
    let redundant = "// warpwright: launch(2, 64)\n__global__ void k(int *a) {\n    int i = threadIdx.x + 64 * blockIdx.x;\n    a[i] = i;\n    __syncthreads();\n    a[i] += 1;\n}\n";
    check(redundant, "redundant-barrier", "Remove the barrier", "    a[i] += 1;");
    let tile = "// warpwright: launch(1, (32, 32))\n__global__ void k(const float *__restrict__ a, float *__restrict__ b) {\n    __shared__ float s[32][32];\n    int x = threadIdx.x, y = threadIdx.y;\n    s[y][x] = a[y * 32 + x];\n    __syncthreads();\n    b[y * 32 + x] = s[x][y];\n}\n";
    check(
        tile,
        "bank-conflict",
        "Make the rows of `s` one element longer",
        "    __shared__ float s[32][32 + 1];",
    );
    let last = "__device__ unsigned int done = 0;\n__global__ void k(const int *a, int *p, int *total) {\n    if (threadIdx.x == 0) {\n        p[blockIdx.x] = a[blockIdx.x];\n        if (atomicInc(&done, gridDim.x - 1) == gridDim.x - 1)\n            *total = p[0] + p[1];\n    }\n}\n";
    check(last, "missing-fence", "Put `__threadfence()` before the counter", "        __threadfence();");
    // neighbours in other blocks: no barrier helps
    let across = "// warpwright: launch(2, 64)\n__global__ void k(int *a) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    a[i] = i;\n    __syncthreads();\n    int x = a[(i + 1) % 128];\n}\n";
    assert_eq!(mended(across, "global-race"), None);
}

#[test]
fn host_code_in_pairs() {
    let k = "__global__ void k(float *a, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) a[i] = i; }\n";
    let host = |inside: &str| {
        format!("{k}void host(int n) {{\n    float *h = (float *)malloc(n * sizeof(float)), *d, *m;\n    {inside}\n}}\n")
    };
    let pairs = [
        ("block-size", "k<<<(n + 99) / 100, 100>>>(h, n); cudaGetLastError();", "100", "128"),
        ("block-size", "k<<<1, dim3(64, 32)>>>(h, n); cudaGetLastError();", "32", "16"),
        ("short-grid", "k<<<n / 256, 256>>>(h, n); cudaGetLastError();", "n / 256", "(n + 255) / 256"),
        ("short-grid", "int b = 64; k<<<n / b, b>>>(h, n); cudaGetLastError();", "n / b", "(n + b - 1) / b"),
        ("unchecked-launch", "k<<<1, 64>>>(h, n);", "(h, n);", "(h, n); cudaGetLastError();"),
        ("bytes-not-elements", "cudaMalloc(&d, n);", "&d, n", "&d, n * sizeof(float)"),
        ("bytes-not-elements", "cudaMemset(h, 0, n);", "0, n", "0, sizeof(float) * n"),
        (
            "copy-direction",
            "cudaMalloc((void **)&d, n * sizeof *d); cudaMemcpy(h, d, n * sizeof *d, cudaMemcpyHostToDevice);",
            "cudaMemcpyHostToDevice",
            "cudaMemcpyDeviceToHost",
        ),
        (
            "missing-synchronisation",
            "cudaMallocManaged(&m, n * sizeof *m); k<<<1, 64>>>(m, n); cudaGetLastError(); m[0] += 1;",
            "m[0]",
            "cudaDeviceSynchronize(); m[0]",
        ),
        (
            "use-after-free",
            "cudaMalloc(&d, n * sizeof *d); cudaFree(d); k<<<1, 64>>>(d, n); cudaGetLastError();",
            "cudaFree(d); k<<<1, 64>>>(d, n); cudaGetLastError();",
            "k<<<1, 64>>>(d, n); cudaGetLastError(); cudaFree(d);",
        ),
        ("device-pointer-on-host", "cudaMalloc(&d, n * sizeof *d); d[3] = 1;", "d[3]", "h[3]"),
    ];
    for (code, inside, from, to) in pairs {
        let wrong = host(inside);
        let at = wrong.find(inside).expect("it stands there");
        let mended = format!("{}{}", &wrong[..at], wrong[at..].replace(from, to));
        let said = say(&wrong);
        assert!(said.starts_with("4:") && said.contains(&format!("[{code}]")), "{code}: {said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        silent(&mended);
    }
    // what is set otherwise, or goes another way, is not judged
    for fine in [
        "cudaMalloc(&d, n * sizeof *d); d = h; d[0] = 1;",
        "cudaMalloc(&d, n * sizeof *d); cudaFree(d); cudaMalloc(&d, 4); k<<<1, 64>>>(d, n); cudaGetLastError();",
        "cudaMalloc(&d, n * sizeof *d); if (n < 0) { cudaFree(d); return; } k<<<1, 64>>>(d, n); cudaGetLastError();",
        "size_t bytes = n * sizeof *h; cudaMalloc(&d, bytes); cudaMemcpy(d, h, bytes, cudaMemcpyHostToDevice);",
        "cudaMalloc(&d, n * sizeof *d); cudaMemcpy(&d[1], &h[1], 4, cudaMemcpyHostToDevice);",
        "cudaMallocManaged(&m, n * sizeof *m); m[0] = 1; k<<<1, 64>>>(m, n); cudaGetLastError();",
        "int whole = 1024; k<<<whole / 256, 256>>>(h, whole); cudaGetLastError();",
    ] {
        silent(&host(fine));
    }
}

#[test]
fn a_kernel_is_simulated_from_its_lens() {
    let text = REVERSE.replace("BARRIER", ";");
    let doc = open_cuda(&text);
    let findings = full(&doc);
    let lenses = crate::lenses(&crate::Ask::thorough(&doc), &findings);
    let lens = lenses.iter().find(|l| l.title == "Simulate this kernel").expect("a lens");
    let action = crate::actions(&crate::Ask::thorough(&doc), &findings, lens.span)
        .into_iter()
        .find(|a| a.id == lens.action);
    assert_eq!(action.expect("the action").title, "Simulate `k`");
    let show = |doc: &crate::Doc| {
        let findings = full(doc);
        let shown = crate::resolve(&crate::Ask::thorough(doc), &findings, &lens.action);
        let Ok(crate::Resolved::Show { markdown, .. }) = shown else { panic!("{shown:?}") };
        markdown
    };
    let seen = show(&doc);
    assert!(seen.contains("a race.") && seen.contains("race in shared memory on lines 5 and 7"), "{seen}");
    assert!(seen.contains("<<<2, 64>>> from its comment"), "{seen}");
    let mended = open_cuda(&REVERSE.replace("BARRIER", "__syncthreads();"));
    let seen = show(&mended);
    assert!(
        seen.contains("no race") && seen.contains("1 of 1 barriers") && !seen.contains("race in"),
        "{seen}"
    );
    // nobody says how it is launched: no lens, and the action says what to write
    let unknown = open_cuda(&text.replace("// warpwright: launch(2, 64)\n", ""));
    assert!(crate::lenses(&crate::Ask::thorough(&unknown), &full(&unknown))
        .iter()
        .all(|l| l.title != "Simulate this kernel"));
    assert!(show(&unknown).contains("// warpwright: launch(grid, block)"));
}

const TEMPLATE: &str = "template <int N>\n__global__ void k(int *a) {\n    __shared__ int s[64];\n    int t = threadIdx.x;\n    s[t] = a[t];\n    BARRIER\n    a[t] = s[t ^ N];\n}\nvoid run(int *a) {\n    k<0><<<1, 64>>>(a);\n    k<1><<<1, 64>>>(a);\n    cudaGetLastError();\n}\n";

#[test]
fn findings_of_a_templates_instances_are_told_once() {
    let said = |barrier: &str| {
        let text = say(&TEMPLATE.replace("BARRIER", barrier));
        text.lines().filter(|l| !l.starts_with(' ')).map(str::to_owned).collect::<Vec<_>>()
    };
    // needless in one instance, needed in the other
    assert_eq!(said("__syncthreads();"), Vec::<String>::new());
    let one = said("");
    assert_eq!(one.len(), 1, "{one:?}");
    assert!(
        one[0].contains("shared-race") && one[0].ends_with("in the instance `k<1>` of the template."),
        "{one:?}"
    );
    // both instances say the same
    let both = TEMPLATE
        .replace("BARRIER", "")
        .replace("k<0>", "k<1>")
        .replace("k<1><<<1, 64>>>(a);\n    k<1>", "k<1><<<1, 64>>>(a);\n    k<1 + 0>");
    assert!(!say(&both).contains("instance"), "{}", say(&both));
    let (title, new) = mended(&TEMPLATE.replace("BARRIER", ""), "shared-race").expect("a repair");
    assert_eq!(title, "Put `__syncwarp()` between the two");
    silent(&new);
}

/// One partial sum a warp: the second step reads 8 of them, which are there if warps have 32 lanes.
const EIGHT_WARPS: &str = "// warpwright: launch(1, 256)\n__global__ void k(int *a, int *out) {\n    __shared__ int all[256], part[8];\n    int t = threadIdx.x;\n    all[t] = a[t];\n    __syncthreads();\n    if (t % warpSize == 0) {\n        int sum = 0;\n        for (int i = 0; i < warpSize; i++) sum += all[t + i];\n        part[t / warpSize] = sum;\n    }\n    __syncthreads();\n    if (t == 0) {\n        int sum = 0;\n        for (int w = 0; w < 8; w++) sum += part[w];\n        out[0] = sum;\n    }\n}\n";

const BY_SHUFFLE: &str = "// warpwright: launch(1, 64)\n__global__ void k(int *a) {\n    int v = a[threadIdx.x];\n    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);\n    a[threadIdx.x] = v;\n}\n";

fn run_for(text: &str, target: &str) -> crate::KernelRun {
    let target = crate::Target::of(target).expect("a target");
    let options = crate::Options { target, ..crate::Options::default() };
    let text = text::Text::new(text).unwrap();
    let doc = crate::Doc::open(crate::Language::Cuda, "a.cu", text, options);
    let mut runs = crate::simulate_kernels(&crate::Ask::thorough(&doc), &Default::default());
    assert_eq!(runs.len(), 1);
    runs.remove(0)
}

/// Runs well for CUDA; what HIP says of it.
fn only_for_32(text: &str) -> String {
    let right = run_for(text, "cuda");
    assert!(
        right.refused.is_none() && right.races.is_empty() && right.problems.is_empty(),
        "{text}\n{right:?}"
    );
    run_for(text, "hip").refused.unwrap_or_else(|| panic!("not refused: {text}"))
}

/// Runs well for both.
fn for_both(text: &str) {
    for target in ["cuda", "hip"] {
        let right = run_for(text, target);
        let is_right = right.refused.is_none() && right.races.is_empty() && right.problems.is_empty();
        assert!(is_right && right.completed, "{target}: {text}\n{right:?}");
    }
}

#[test]
fn words_that_a_target_lacks_refuse_by_their_names() {
    let refused = only_for_32(BY_SHUFFLE);
    assert!(refused.starts_with("HIP has no `__shfl_down_sync` (line 4): "), "{refused}");
    // the end of a reduction by one warp alone, with barriers of that warp
    let tail = "// warpwright: launch(1, 64)\n__global__ void k(int *a) {\n    __shared__ int s[64];\n    int t = threadIdx.x;\n    s[t] = a[t];\n    __syncthreads();\n    if (t < 32) {\n        for (int d = 32; d > 0; d /= 2) {\n            int v = t < d ? s[t + d] : 0;\n            __syncwarp();\n            s[t] += v;\n            __syncwarp();\n        }\n    }\n    if (t == 0) a[0] = s[0];\n}\n";
    let refused = only_for_32(tail);
    assert!(refused.starts_with("HIP has no `__syncwarp` (line 10): a wavefront has 64 lanes"), "{refused}");
    let blocks = "// warpwright: launch(1, 64)\n__global__ void k(int *a) {\n    __shared__ int s[64];\n    int t = threadIdx.x;\n    s[t] = a[t];\n    __syncthreads();\n    for (int d = 32; d > 0; d /= 2) {\n        int v = t < d ? s[t + d] : 0;\n        __syncthreads();\n        s[t] += v;\n        __syncthreads();\n    }\n    if (t == 0) a[0] = s[0];\n}\n";
    for_both(blocks);
    // lanes of a warp that hand values to each other
    let exchange = "// warpwright: launch(1, 64)\n__global__ void k(int *a) {\n    __shared__ int s[64];\n    int t = threadIdx.x, lane = t & 31, w = t >> 5;\n    s[w * 32 + lane] = a[t];\n    BARRIER;\n    a[t] = s[w * 32 + 31 - lane];\n}\n";
    let refused = only_for_32(&exchange.replace("BARRIER", "__syncwarp()"));
    assert!(refused.starts_with("HIP has no `__syncwarp` (line 6): "), "{refused}");
    for_both(&exchange.replace("BARRIER", "__syncthreads()"));
}

/// Found before anything runs, by the facts for the target's lanes.
#[test]
fn what_is_right_for_32_lanes_only_is_refused_for_64() {
    let says = |text: &str, line: u32, what: &str| {
        let refused = only_for_32(text);
        let begins = format!(
            "the kernel is right for warps of 32 threads only (line {line}): with HIP's 64 lanes {what}"
        );
        assert!(refused.starts_with(&begins), "{refused}");
    };
    says(EIGHT_WARPS, 15, "thread 0 of block 0 reads `part[4]`, which no thread of its block writes.");
    for_both(&EIGHT_WARPS.replace("w < 8", "w < blockDim.x / warpSize"));
    // one cell a warp, written by one thread of every 32
    let cells = "// warpwright: launch(1, 128)\n__global__ void k(int *a) {\n    __shared__ int first[4];\n    int t = threadIdx.x;\n    if (t % 32 == 0) first[t / warpSize] = a[t];\n    __syncthreads();\n    if (t % warpSize == 0) a[t] = first[t / warpSize];\n}\n";
    says(cells, 5, "thread 0 of block 0 and thread 32 of block 0 touch `first[0]` without order.");
    for_both(&cells.replace("t % 32", "t % warpSize"));
    // a row of lanes
    let row = "// warpwright: launch(1, 64)\n__global__ void k(int *a) {\n    __shared__ int row[32];\n    int t = threadIdx.x;\n    if (t / warpSize == 0) row[t % warpSize] = a[t];\n    __syncthreads();\n    a[t] = row[0];\n}\n";
    says(row, 5, "thread 32 of block 0 touches `row[32]`, and the array has 32 elements.");
    for_both(&row.replace("row[32]", "row[64]"));
    // a barrier in one warp's branch
    let barrier = "// warpwright: launch(1, 64)\n__global__ void k(int *a) {\n    int t = threadIdx.x;\n    if (warpSize == 32 || t < 32) __syncthreads();\n    a[t] = t;\n}\n";
    says(barrier, 4, "some threads of a block come to this barrier, and others do not.");
    for_both(&barrier.replace("|| t < 32", "|| blockDim.x < 32"));
}

#[test]
fn facts_are_those_of_the_targets_lanes() {
    let uniform = |target: &str| {
        let target = crate::Target::of(target).expect("a target");
        let options = crate::Options { target, ..crate::Options::default() };
        let code = "// warpwright: launch(1, 64)\n__global__ void k(int *a) {\n    if (threadIdx.x / 32 == 0) a[threadIdx.x] = 1;\n}\n";
        let text = text::Text::new(code).unwrap();
        let doc = crate::Doc::open(crate::Language::Cuda, "a.cu", text, options);
        crate::kernel_reports(&crate::Ask::thorough(&doc), &[])[0].branches[0].uniform
    };
    assert_eq!((uniform("cuda"), uniform("hip")), ("warp", "divergent"));
}

#[test]
fn sixty_four_lanes_that_ask_neighbouring_words_are_in_no_conflict() {
    let kernel = |at: &str| {
        format!(
            "// warpwright: launch(2, 128)\n__global__ void k(float *a) {{\n    __shared__ float s[256];\n    \
             s[{at}] = a[threadIdx.x];\n    __syncthreads();\n    a[threadIdx.x] = s[{at}];\n}}\n"
        )
    };
    for (target, at, conflicts) in [
        ("hip", "threadIdx.x", false),
        ("cuda", "threadIdx.x", false),
        ("hip", "2 * threadIdx.x", true),
        ("cuda", "2 * threadIdx.x", true),
    ] {
        let found = super::full(&super::open_for(target, &kernel(at))).diagnostics;
        assert_eq!(found.iter().any(|d| d.code == "bank-conflict"), conflicts, "{target} {at}: {found:?}");
    }
}

/// Of a launch with more threads than are looked at one by one, some blocks are: what they ask for is said, with how many they are.
#[test]
fn large_launches_are_looked_at_in_some_blocks() {
    let text = "__global__ void turn(float *out, const float *in) {\n    __shared__ float tile[32][32];\n    int x = blockIdx.x * 32 + threadIdx.x;\n    int y = blockIdx.y * 32 + threadIdx.y;\n    int width = gridDim.x * 32;\n    tile[threadIdx.x][threadIdx.y] = in[y * width + x];\n    __syncthreads();\n    out[x * width + y] = tile[threadIdx.x][threadIdx.y];\n}\nvoid go(float *out, const float *in) {\n    dim3 grid(64, 64), block(32, 32);\n    turn<<<grid, block>>>(out, in);\n}\n";
    let doc = open_cuda(text);
    let findings = full(&doc);
    let said = |code: &str| -> Vec<&str> {
        let of_code = findings.diagnostics.iter().filter(|d| d.code == code);
        of_code.map(|d| &*d.message).collect()
    };
    let (strided, banks) = (said("strided-access"), said("bank-conflict"));
    assert!(
        strided.len() == 1
            && strided[0].contains("writing `out`, a warp asks for 32 sectors")
            && strided[0].contains("in the 8 blocks looked at, of 64 by 64 blocks"),
        "{strided:?}"
    );
    assert!(
        banks.len() == 1
            && banks[0].starts_with("32-way bank conflict in the 8 blocks")
            && banks[0].ends_with("Such a conflict is also on line 8."),
        "{banks:?}"
    );
    let (facts, _) = crate::Ask::thorough(&doc).kernel_facts(&doc.unit().items[0]);
    let all: Vec<_> = facts.accesses.iter().filter_map(|a| a.requests.clone()).collect();
    assert!(
        all.len() == 4 && all.iter().all(|r| !r.exact && r.blocks == Some(8) && r.distinct.is_none()),
        "{all:?}"
    );
    assert!(facts.traffic.is_none());
}

#[test]
fn functions_of_the_device_are_run() {
    for text in [
        "// warpwright: launch(2, 32)\n__global__ void k(float *a) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    float s, c;\n    sincosf(a[i], &s, &c);\n    a[i] = rsqrtf(1.0f + s * s) * __expf(c) + erfcxf(s) + __saturatef(c) + __fdividef(s, 2.0f) + normcdff(s);\n}\n",
        "// warpwright: launch(2, 32)\n__global__ void k(unsigned *a) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    unsigned v = a[i];\n    a[i] = __mul24(i, 3) + __umulhi(v, v) + __byte_perm(v, v, 0x0123) + __funnelshift_l(v, v, 3) + __float_as_uint(__uint2float_rn(v)) + __popc(v) + __clz(i);\n}\n",
    ] {
        for_both(text);
    }
    // what lanes come to together
    let all = "// warpwright: launch(1, 64)\n__global__ void k(unsigned *a) {\n    unsigned v = __reduce_add_sync(0xffffffffu, a[threadIdx.x]);\n    a[threadIdx.x] = v + __match_any_sync(0xffffffffu, v);\n}\n";
    let run = run_for(all, "cuda");
    assert!(run.refused.is_none() && run.races.is_empty() && run.completed, "{run:?}");
    let facts = |text: &str| {
        let doc = open_cuda(text);
        crate::kernel_reports(&crate::Ask::thorough(&doc), &[])[0].races.words.clone()
    };
    assert!(facts(all).starts_with("no race"), "{}", facts(all));
    let pair = "__global__ void k(double *a, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) { double s, c; sincos(a[i], &s, &c); a[i] = s * rcbrt(c) + __hiloint2double(1, __double2loint(s)); } }";
    assert!(facts(pair).starts_with("no race"), "{}", facts(pair));
}

/// Memory of a block is nowhere where a host could know it.
#[test]
fn what_a_host_gives_is_not_memory_of_a_block() {
    let kernel = "__global__ void k(float *a, int n) {\n    extern __shared__ float s[];\n    for (int i = threadIdx.x; i < n; i += blockDim.x) s[i] = a[i] + 1;\n    __syncthreads();\n    a[threadIdx.x] = s[threadIdx.x];\n}\n";
    let asks = |text: &str| {
        let found = full(&open_cuda(text));
        assert_eq!(found.loops.len(), 1);
        let loop_ = found.loops[0].report();
        loop_.verdict != "independent" || loop_.conditions.iter().any(|c| c.kind == "no-alias")
    };
    assert!(!asks(kernel));
    // a function may be given it, and a parameter may be made to point there
    assert!(asks(&kernel.replace("__global__", "__device__")));
    assert!(asks(&kernel.replace("float s[];", "float s[];\n    if (n > 7) a = s + n;")));
}
