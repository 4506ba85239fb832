//! Races of kernels as programs have them: large grids, launches from a list of sizes, one block, structures of sizes.

use super::open_cuda;
use crate::{kernel_reports, Ask};

/// What is said of the races of each kernel, in one line.
fn all_races(code: &str) -> Vec<String> {
    let doc = open_cuda(code);
    kernel_reports(&Ask::thorough(&doc), &[]).iter().map(|r| r.races.words.clone()).collect()
}

fn races(code: &str) -> String {
    all_races(code).remove(0)
}

fn is_free(code: &str) -> bool {
    races(code).starts_with("no race, whatever memory holds")
}

/// Right for whole warps alone.
const WARPS: &str = "__global__ void k(float *a, int n) {
    int w = threadIdx.x / 32, l = threadIdx.x % 32;
    a[(blockIdx.x * (blockDim.x / 32) + w) * 32 + l] = n + threadIdx.x;
}
";

#[test]
fn every_element_of_a_list_gives_a_launch() {
    let with = |list: &str, loops: &str| {
        races(&format!("{WARPS}void g(int *s);\nvoid f(float *a, int i) {{ int s[] = {list}; {loops} }}"))
    };
    let each = "for (int j = 0; j < 2; j++) k<<<4, s[j]>>>(a, 7);";
    assert!(with("{32, 64}", each).starts_with("no race"), "{}", with("{32, 64}", each));
    assert_eq!(with("{32, 48}", each), "a race");
    // others may stand in the list
    for open in [
        "s[0] = i; for (int j = 0; j < 2; j++) k<<<4, s[j]>>>(a, 7);",
        "g(s); for (int j = 0; j < 2; j++) k<<<4, s[j]>>>(a, 7);",
        // and two choices are not tried with each other
        "for (int j = 0; j < 2; j++) k<<<s[i], s[j]>>>(a, 7);",
        // nor is all of a launch that has another choice
        "int b = 4; if (i) b = i; for (int j = 0; j < 2; j++) k<<<b, s[j]>>>(a, 7);",
    ] {
        let words = with("{32, 64}", open);
        assert!(words.starts_with("whether it has races is not known"), "{open}: {words}");
    }
}

#[test]
fn many_launches_of_many_kernels_are_all_answered() {
    let mut text = String::new();
    let mut calls = String::new();
    for k in 0..8 {
        text += &format!(
            "__global__ void k{k}(float *out, const float *in, int n, int c) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {{
        const float *x = in + i * c;
        float *y = out + i * c;
        float m = -1e30f;
        for (int j = 0; j < c; j++) m = fmaxf(m, x[j]);
        for (int j = 0; j < c; j++) y[j] = expf(x[j] - m) * {k};
    }}
}}
"
        );
        calls += &format!("k{k}<<<(8192 + b - 1) / b, b>>>(o, i, 8192, 50000); ");
    }
    text += &format!(
        "void all(float *o, const float *i, int b) {{ {calls} }}
int main() {{ float *o, *i; int sizes[] = {{32, 64, 128, 256, 512, 1024}}; for (int j = 0; j < 6; j++) all(o, i, sizes[j]); }}"
    );
    for (k, words) in all_races(&text).iter().enumerate() {
        assert!(words.starts_with("no race"), "k{k}: {words}");
    }
}

#[test]
fn a_block_alone_is_said() {
    let one = "__global__ void k(float *z, const float *w, int n) {
    z[threadIdx.x] = 0;
    for (int i = 0; i < n; i++) z[threadIdx.x] += w[threadIdx.x * n + i];
}
";
    assert_eq!(
        races(one),
        "no race, whatever memory holds, in launches of one block of one dimension, where `z` and `w` share no memory"
    );
    let known = format!("{one}void f(float *z, float *w, int g) {{ k<<<g, 32>>>(z, w, 4); }}");
    assert_eq!(
        races(&known),
        "no race, whatever memory holds, in launches of one block, where `z` and `w` share no memory"
    );
    // where there are more they meet
    let two = format!("{one}void f(float *z, float *w, int b) {{ k<<<2, b>>>(z, w, 4); }}");
    assert!(!is_free(&two), "{}", races(&two));
    // a block that is told from others is one of several
    let several = "__global__ void k(float *z) { if (blockIdx.x < 9) z[threadIdx.x] = 1; }";
    assert!(!is_free(several), "{}", races(several));
}

const SUM: &str = "__global__ void total(const float *v, float *out) {
    __shared__ float s[256];
    int t = threadIdx.x;
    s[t] = v[blockIdx.x * blockDim.x + t];
    __syncthreads();
    for (int h = 1; h < blockDim.x; h *= 2) {
        int k = 2 * h * t;
        if (k < blockDim.x) s[k] += s[k + h];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0];
}
";

#[test]
fn a_block_stands_for_all_of_a_large_grid() {
    let launch = |kernel: &str, grid: &str| {
        format!("{kernel}void f(float *v, float *o, int n) {{ total<<<{grid}, 256>>>(v, o); }}")
    };
    for grid in ["100000", "n"] {
        assert!(is_free(&launch(SUM, grid)), "{grid}: {}", races(&launch(SUM, grid)));
    }
    for (of, to) in [
        // no barrier between the rounds
        ("\n        __syncthreads();\n    }", "\n    }"),
        // nor behind the first write
        ("__syncthreads();\n    for", "for"),
        // other blocks write the result, too
        ("out[blockIdx.x]", "out[blockIdx.x / 2]"),
        // which element a thread writes the block decides
        ("s[t] = v", "s[t + blockIdx.x & 255] = v"),
        // some blocks are done before the others
        ("s[t] = v", "if (v[blockIdx.x] > t) s[t + 1] = 0;\n    s[t] = v"),
    ] {
        let other = SUM.replacen(of, to, 1);
        assert_ne!(other, SUM);
        for grid in ["100000", "n"] {
            let text = launch(&other, grid);
            assert!(!is_free(&text), "{to}: {}", races(&text));
        }
    }
}

#[test]
fn products_of_what_is_given_are_indices() {
    let rows = |index: &str| {
        format!(
            "__global__ void k(float *a, const float *b, int n) {{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int row = {index};
    if (t >= n) return;
    for (int i = t; i < n; i++) a[row + i * n + t] = b[row + i * n + t];
}}"
        )
    };
    let free = rows("blockIdx.y * n * n");
    assert!(is_free(&free), "{}", races(&free));
    for other in ["blockIdx.y * n", "blockIdx.y * n * n / 2", "blockIdx.y + n * n"] {
        assert!(!is_free(&rows(other)), "{other}: {}", races(&rows(other)));
    }
}

#[test]
fn sizes_in_a_structure_are_numbers() {
    let halo = |width: &str, more: &str| {
        format!(
            "struct size {{ int x, y; }};
__global__ void k(float *block, const float *left, const float *right, struct size s) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    {more}
    if (i < s.y) {{
        int start = (i + 1) * ({width});
        block[start] = left[i];
        block[start + s.x + 1] = right[i];
    }}
}}"
        )
    };
    let free = races(&halo("s.x + 2", ""));
    assert!(
        free.starts_with("no race, whatever memory holds") && free.contains("`s.x` is 1 at least"),
        "{free}"
    );
    assert!(!is_free(&halo("s.x + 1", "")), "{}", races(&halo("s.x + 1", "")));
    // not what was given any more
    assert!(!is_free(&halo("s.x + 2", "s.x = left[i];")));
}

#[test]
fn the_smaller_of_two_bounds_a_part() {
    let parts = |end: &str| {
        format!(
            "__global__ void k(float *a, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int from = 4 * i, to = {end};
    for (int j = from; j < to; j++) a[j] = j;
}}"
        )
    };
    assert!(is_free(&parts("min(n, from + 4)")), "{}", races(&parts("min(n, from + 4)")));
    assert!(!is_free(&parts("min(n, from + 5)")));
    assert!(!is_free(&parts("max(n, from + 4)")));
}

/// The messages of one code.
fn messages(code: &str, of: &str) -> Vec<String> {
    let findings = super::full(&open_cuda(code));
    findings.diagnostics.iter().filter(|d| *d.code == *of).map(|d| d.message.to_string()).collect()
}

#[test]
fn lost_updates_of_all_threads_are_found() {
    let with = |statement: &str| {
        let code = format!(
            "__global__ void k(int *c, const int *x, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {{ {statement} }}
}}"
        );
        messages(&code, "missing-atomic")
    };
    for found in ["if (x[i] > 3) (*c)++;", "if (x[i] == n) *c += x[i];", "if (x[i]) c[0]++;"] {
        let said = with(found);
        assert!(said.len() == 1 && said[0].contains("one of the two updates is lost"), "{found}: {said:?}");
        assert!(said[0].contains("atomicAdd") && !said[0].contains("&*"), "{said:?}");
    }
    // one thread alone, perhaps; a place of each thread; what is a race with its two threads is told as that
    for other in [
        "if (i == x[0] - 1) (*c)++;",
        "if (i < 1 && x[i] > 3) (*c)++;",
        "if (x[i] > 3) c[i]++;",
        "if (x[i] > 3) { int *d = c + i; (*d)++; }",
        "(*c)++;",
    ] {
        assert!(with(other).is_empty(), "{other}: {:?}", with(other));
    }
    // updates whose order counts
    let ordered = with("if (x[i] > 3) *c = 2 * *c + x[i];");
    assert!(ordered.len() == 1 && !ordered[0].contains("atomicCAS"), "{ordered:?}");
    let product = with("if (x[i] > 3) *c = *c * x[i];");
    assert!(product.len() == 1 && product[0].contains("atomicCAS"), "{product:?}");
}

#[test]
fn nothing_is_put_between_the_parts_of_one_statement() {
    let shift = |body: &str, block: u32| {
        let code = format!(
            "__global__ void k(float *a) {{
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = a[t];
    __syncthreads();
    {body}
    __syncthreads();
    a[t] = s[t];
}}
void f(float *a) {{ k<<<1, {block}>>>(a); }}"
        );
        messages(&code, "shared-race")
    };
    for block in [32, 64] {
        let one = shift("if (t > 0) s[t] = s[t - 1];", block);
        assert!(
            one[0].contains("ead into a variable first") && !one[0].contains("between the two"),
            "{one:?}"
        );
    }
    let two = shift("float v = s[t - (t > 0)];\n    s[t] = v;", 64);
    assert!(two[0].contains("between the two"), "{two:?}");
}

#[test]
fn distances_are_those_of_all_neighbours() {
    let said = |index: &str| {
        let code = format!(
            "__global__ void k(float *y, const float *x) {{
    int i = threadIdx.x;
    y[i] = x[{index}];
}}
void f(float *y, float *x) {{ k<<<1, 32>>>(y, x); }}"
        );
        messages(&code, "strided-access").join("\n")
    };
    let pairs = said("i % 2 + i / 2 * 64");
    assert!(pairs.contains("far apart") && !pairs.contains("bytes apart"), "{pairs}");
    assert!(said("i * 16").contains("64 bytes apart"), "{}", said("i * 16"));
}

#[test]
fn short_arrays_have_no_bank_conflicts() {
    let said = |length: u32, index: &str| {
        let code = format!(
            "__global__ void k(float *y, int n) {{
    __shared__ float s[{length}];
    int t = threadIdx.x;
    if (t < {length}) s[t] = n;
    __syncthreads();
    y[t] = s[{index}];
}}"
        );
        messages(&code, "bank-conflict")
    };
    assert!(said(32, "t * 2").is_empty(), "{:?}", said(32, "t * 2"));
    assert_eq!(said(2048, "t * 2").len(), 1);
}

#[test]
fn a_programs_own_headers_are_missed() {
    let said = |header: &str| {
        let code =
            format!("#include \"{header}\"\n__global__ void k(float *y) {{ y[threadIdx.x] = scale_of(y); }}");
        messages(&code, "missing-header")
    };
    assert!(said("cuda_utils.h").join("").contains("cuda_utils.h"), "{:?}", said("cuda_utils.h"));
    assert!(said("cuda_fp16.h").is_empty());
}

#[test]
fn extents_are_positive() {
    let doc = open_cuda("__global__ void k(float *y, int n) {\n    for (int i = threadIdx.x; i < n; i += blockDim.x)\n        y[i] = i;\n}");
    let findings = super::full(&doc);
    let conditions = &findings.loops[0].report().conditions;
    assert!(conditions.iter().all(|c| c.kind != "step-sign" || c.met_by == "proof"));
}

#[test]
fn one_pointer_given_twice_by_one_of_several_launches() {
    let sum =
        format!("{SUM}void f(float *v, float *r) {{ total<<<256, 256>>>(v, r); total<<<1, 256>>>(r, r); }}");
    assert!(is_free(&sum), "{}", races(&sum));
    // with many blocks they meet
    let other = sum.replace("<<<1, 256>>>(r, r)", "<<<4, 256>>>(r, r)");
    assert!(!is_free(&other), "{}", races(&other));
    let add = "__global__ void add(float *y, float *a, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = a[i] + 1; }\n";
    let with = |arguments: &str| {
        format!(
            "{add}float *next();\nvoid f(float *d, int i, int n) {{ add<<<n / 64, 64>>>({arguments}, n); }}"
        )
    };
    assert!(is_free(&with("d + i * n, d + i * n")), "{}", races(&with("d + i * n, d + i * n")));
    for other in ["d + i * n, d + i * n + 1", "d + i++, d + i++", "d + n, d + i"] {
        assert!(!is_free(&with(other)), "{other}: {}", races(&with(other)));
    }
}
