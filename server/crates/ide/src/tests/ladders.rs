//! The first kernel of each ladder as people write it: other names, macros and constants for the block, types without a sign,
//! `double`, `max` and `min`, host code with memory of the device. Each goes up as far as is written beside it.

use base::CancelToken;

use crate::{
    apply_rules, check as check_doc, Ask, Doc, Language, Memo, Options, Refused, RuleSet, RuleTarget,
    Settings, Tier,
};

/// That a ladder takes these steps, and that what comes of it ran beside the program.
fn goes_up(ladder: &str, program: &str, steps: &[&str]) -> String {
    let text = text::Text::new(program).expect("a short text");
    let (doc, memo, cancel) =
        (Doc::open(Language::Cuda, "a.cu", text, Options::default()), Memo::new(), CancelToken::new());
    let ask = Ask::new(&doc, &memo, Tier::Full, &cancel);
    let findings = check_doc(&ask, &Settings::default()).expect("not cancelled");
    let done = apply_rules(&ask, &findings, &RuleSet::shipped(), ladder, &RuleTarget::File);
    let done = done.unwrap_or_else(|why| panic!("{why:?}\n{program}"));
    assert!(done.checked.starts_with("Same results"), "{}\n{}", done.checked, done.text);
    let taken = |step: &&&str| done.derivation.iter().any(|line| line.starts_with(**step));
    let missing: Vec<&&str> = steps.iter().filter(|s| !taken(s)).collect();
    assert!(
        missing.is_empty(),
        "not taken: {missing:?}\n{}\n{}\n{:#?}",
        done.checked,
        done.text,
        done.derivation
    );
    done.text
}

/// What a ladder says where it does nothing.
fn stays(ladder: &str, program: &str) -> String {
    let text = text::Text::new(program).expect("a short text");
    let (doc, memo, cancel) =
        (Doc::open(Language::Cuda, "a.cu", text, Options::default()), Memo::new(), CancelToken::new());
    let ask = Ask::new(&doc, &memo, Tier::Full, &cancel);
    let findings = check_doc(&ask, &Settings::default()).expect("not cancelled");
    match apply_rules(&ask, &findings, &RuleSet::shipped(), ladder, &RuleTarget::File) {
        Err(Refused::Because(why)) => why,
        other => panic!("{other:?}"),
    }
}

/// A sum in place, and who launches it.
fn in_place(block: &str, ty: &str, index: &str, names: [&str; 3]) -> String {
    let [kernel, tid, stride] = names;
    format!(
        "#define {block} 128
#define COUNT 512
{ty} numbers[COUNT];

__global__ void {kernel}(const {ty} *from, {ty} *to) {{
    {index} {tid} = threadIdx.x;
    {index} at = blockIdx.x * blockDim.x + threadIdx.x;
    to[at] = from[at];
    __syncthreads();
    for ({index} {stride} = 1; {stride} < blockDim.x; {stride} *= 2) {{
        if ({tid} % (2 * {stride}) == 0)
            to[at] += to[at + {stride}];
        __syncthreads();
    }}
}}

{ty} all(void) {{
    {ty} parts[COUNT];
    {kernel}<<<COUNT / {block}, {block}>>>(numbers, parts);
    {ty} result = 0;
    for (int p = 0; p < COUNT / {block}; p++)
        result += parts[p * {block}];
    return result;
}}
"
    )
}

const UP: [&str; 6] = [
    "reduction-shared",
    "reduction-halving",
    "reduction-first-add",
    "reduction-last-warp",
    "reduction-shuffle",
    "reduction-grid-stride",
];

#[test]
fn sums_in_place_under_other_names_go_up() {
    for (block, ty, index, names) in [
        ("BS", "float", "unsigned int", ["sum", "t", "s"]),
        ("THREADS_PER_BLOCK", "double", "int", ["reduce0", "tid", "stride"]),
        ("BLOCK", "int", "unsigned", ["addUp", "me", "step"]),
    ] {
        let text = goes_up("reduction", &in_place(block, ty, index, names), &UP);
        assert!(text.contains(&format!("__shared__ {ty} data[{block}];")), "{text}");
    }
}

/// A tree in shared memory whose kernel is told how many numbers there are, and a host with memory of the device.
fn guarded(ty: &str, index: &str, join: &str, blank: &str, host_join: &str) -> String {
    format!(
        "#define THREADS 128

__global__ void tree(const {ty} *g_in, {ty} *g_out, int n) {{
    __shared__ {ty} buf[THREADS];
    {index} tid = threadIdx.x;
    {index} i = blockIdx.x * blockDim.x + tid;
    buf[tid] = (i < n) ? g_in[i] : {blank};
    __syncthreads();
    for ({index} s = 1; s < blockDim.x; s *= 2) {{
        if (tid % (2 * s) == 0) {{
            {join}
        }}
        __syncthreads();
    }}
    if (tid == 0) g_out[blockIdx.x] = buf[0];
}}

{ty} total(const {ty} *x, int n) {{
    int blocks = (n + THREADS - 1) / THREADS;
    {ty} *d_x, *d_part;
    {ty} *part = ({ty} *)malloc(blocks * sizeof({ty}));
    cudaMalloc((void **)&d_x, n * sizeof({ty}));
    cudaMalloc((void **)&d_part, blocks * sizeof({ty}));
    cudaMemcpy(d_x, x, n * sizeof({ty}), cudaMemcpyHostToDevice);
    tree<<<blocks, THREADS>>>(d_x, d_part, n);
    cudaMemcpy(part, d_part, blocks * sizeof({ty}), cudaMemcpyDeviceToHost);
    {ty} r = {blank};
    for (int b = 0; b < blocks; b++)
        {host_join}
    cudaFree(d_x);
    cudaFree(d_part);
    free(part);
    return r;
}}
"
    )
}

const GUARDED: [&str; 4] =
    ["reduction-halving", "reduction-last-warp", "reduction-shuffle", "reduction-grid-stride-guarded"];

#[test]
fn trees_with_a_guard_and_memory_of_the_device_go_up() {
    for (ty, index) in [("double", "unsigned int"), ("float", "int"), ("int", "unsigned")] {
        goes_up(
            "reduction",
            &guarded(ty, index, "buf[tid] += buf[tid + s];", "0", "r += part[b];"),
            &GUARDED,
        );
    }
}

#[test]
fn trees_of_the_greatest_and_least_go_up() {
    for (ty, f, blank) in
        [("int", "max", "-2147483647"), ("int", "min", "2147483647"), ("float", "fmaxf", "-1e30f")]
    {
        let join = format!("buf[tid] = {f}(buf[tid], buf[tid + s]);");
        let less = if f == "min" { "<" } else { ">" };
        let host = format!("if (part[b] {less} r) r = part[b];");
        let text = goes_up("reduction", &guarded(ty, "int", &join, blank, &host), &GUARDED);
        assert!(text.contains(&format!("own = {f}(own, g_in[i]);")), "{text}");
    }
}

/// A later step whose result is not right leaves those before it and behind it standing.
#[test]
fn a_step_that_is_not_right_is_left_out() {
    let program = guarded(
        "int",
        "int",
        "buf[tid] = max(buf[tid], buf[tid + s]);",
        "0",
        "if (part[b] > r) r = part[b];",
    )
    .replace("(i < n) ? g_in[i] : 0", "g_in[i]")
    .replace("(n + THREADS - 1) / THREADS", "n / THREADS")
    .replace("int r = 0;", "int r = part[0];");
    goes_up("reduction", &program, &["reduction-halving", "reduction-last-warp", "reduction-shuffle"]);
}

fn product(block: &str, dims: &str, ty: &str, index: &str, loop_: &str) -> String {
    format!(
        "#define M 13
#define N 21
#define K 19
{block}
__global__ void mm(const {ty} *A, const {ty} *B, {ty} *C, {index} m, {index} n, {index} k) {{
    {index} r = blockIdx.y * blockDim.y + threadIdx.y;
    {index} c = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < m && c < n) {{
        {ty} acc = 0;
        {loop_}
        C[r * n + c] = acc;
    }}
}}

void multiply(const {ty} *a, const {ty} *b, {ty} *c) {{
    {ty} *da, *db, *dc;
    cudaMalloc(&da, M * K * sizeof({ty}));
    cudaMalloc(&db, K * N * sizeof({ty}));
    cudaMalloc(&dc, M * N * sizeof({ty}));
    cudaMemcpy(da, a, M * K * sizeof({ty}), cudaMemcpyHostToDevice);
    cudaMemcpy(db, b, K * N * sizeof({ty}), cudaMemcpyHostToDevice);
    {dims}
    dim3 grid((N + threads.x - 1) / threads.x, (M + threads.y - 1) / threads.y);
    mm<<<grid, threads>>>(da, db, dc, M, N, K);
    cudaMemcpy(c, dc, M * N * sizeof({ty}), cudaMemcpyDeviceToHost);
    cudaFree(da);
    cudaFree(db);
    cudaFree(dc);
}}
"
    )
}

#[test]
fn products_as_people_write_them_go_up() {
    let plain = |index: &str| format!("for ({index} p = 0; p < k; p++) acc += A[r * k + p] * B[p * n + c];");
    let other = "for (int p = 0; p < k; ++p) acc = acc + A[r * k + p] * B[p * n + c];".to_owned();
    for (block, dims, ty, index, loop_) in [
        ("#define BS 16", "dim3 threads(BS, BS);", "double", "unsigned int", plain("unsigned int")),
        ("", "const int bs = 16; dim3 threads(bs, bs);", "float", "int", other),
        ("", "dim3 threads(8, 8);", "float", "size_t", plain("size_t")),
    ] {
        goes_up(
            "product",
            &product(block, dims, ty, index, &loop_),
            &["product-tile-kernel", "product-registers"],
        );
    }
}

#[test]
fn a_product_with_a_return_before_goes_up() {
    let loop_ = "for (int p = 0; p < k; ++p) acc = acc + A[r * k + p] * B[p * n + c];";
    let program = product("#define BS 16", "dim3 threads(BS, BS);", "float", "int", loop_)
        .replace(
            "    if (r < m && c < n) {\n        float acc = 0;",
            "    float acc = 0;\n    if (r >= m || c >= n) return;\n    {",
        )
        .replace("    {\n        for", "        for")
        .replace("C[r * n + c] = acc;\n    }", "C[r * n + c] = acc;");
    goes_up("product", &program, &["product-tile-kernel", "product-registers"]);
}

fn stencil(ty: &str, index: &str) -> String {
    format!(
        "#define BS 16
__global__ void heat(const {ty} *u, {ty} *v, {index} nx, {index} ny) {{
    {index} ix = blockIdx.x * blockDim.x + threadIdx.x;
    {index} iy = blockIdx.y * blockDim.y + threadIdx.y;
    if (ix > 0 && iy > 0 && ix < nx - 1 && iy < ny - 1)
        v[iy * nx + ix] = 0.25f * (u[iy * nx + ix - 1] + u[iy * nx + ix + 1] + u[(iy - 1) * nx + ix] + u[(iy + 1) * nx + ix]);
}}

void step(const {ty} *u, {ty} *v, int nx, int ny) {{
    {ty} *du, *dv;
    cudaMalloc((void **)&du, nx * ny * sizeof({ty}));
    cudaMalloc((void **)&dv, nx * ny * sizeof({ty}));
    cudaMemcpy(du, u, nx * ny * sizeof({ty}), cudaMemcpyHostToDevice);
    cudaMemcpy(dv, v, nx * ny * sizeof({ty}), cudaMemcpyHostToDevice);
    dim3 threads(BS, BS);
    dim3 grid((nx + BS - 1) / BS, (ny + BS - 1) / BS);
    heat<<<grid, threads>>>(du, dv, nx, ny);
    cudaMemcpy(v, dv, nx * ny * sizeof({ty}), cudaMemcpyDeviceToHost);
    cudaFree(du);
    cudaFree(dv);
}}
"
    )
}

#[test]
fn stencils_as_people_write_them_go_up() {
    goes_up(
        "stencil",
        &stencil("double", "int"),
        &["stencil-halo-kernel", "stencil-tile-halo", "stencil-strip-kernel"],
    );
    // a strip walks over columns with a sign
    for index in ["unsigned int", "size_t"] {
        goes_up("stencil", &stencil("float", index), &["stencil-tile-nodes"]);
    }
}

/// Where nothing applies it is said which rule came nearest and where it failed.
#[test]
fn the_nearest_rule_is_named() {
    let program = in_place("BS", "int", "int", ["sum", "t", "s"])
        .replace("to[at] += to[at + s]", "to[at] -= to[at + s]");
    let why = stays("reduction", &program);
    assert!(
        why.contains(
            "Rule kernel of `reduction-shared` comes nearest on line 12: where it has `PlusAssignment("
        ),
        "{why}"
    );
}
