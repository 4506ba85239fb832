//! Launches as the host's text gives them: shapes, what was taken for them, and what is said with it.

use super::open_cuda;
use crate::{kernel_reports, Ask};

/// `grid block taken` of each launch of the only kernel.
fn launches(code: &str) -> Vec<String> {
    let doc = open_cuda(code);
    let reports = kernel_reports(&Ask::thorough(&doc), &[]);
    let size = |e: Option<[u32; 3]>| match e {
        Some([x, 1, 1]) => x.to_string(),
        Some([x, y, z]) => format!("{x}x{y}x{z}"),
        None => "?".to_owned(),
    };
    let one = |l: &crate::kernels::LaunchReport| {
        let all = format!("{} {} {}", size(l.grid), size(l.block), l.taken.join("; "));
        all.trim_end().to_owned()
    };
    reports[0].launches.iter().map(one).collect()
}

const ADD: &str = "__global__ void add(float *a, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) a[i] += 1; }\n";

fn host(text: &str) -> Vec<String> {
    launches(&format!("{ADD}{text}"))
}

#[test]
fn what_the_text_fixes() {
    // constants, helpers, macros, variables and their members
    for fixed in [
        "void f(float *a) { add<<<4, 32>>>(a, 100); }",
        "void f(float *a) { dim3 g(4), b; b.x = 32; add<<<g, b>>>(a, 100); }",
        "#define UP(n, b) (((n) + (b) - 1) / (b))\nvoid f(float *a) { const int n = 100; add<<<UP(n, 32), 32>>>(a, n); }",
        "int up(int n, int b) { return (n + b - 1) / b; }\nvoid f(float *a) { int n = 100; add<<<up(n, 32), 32>>>(a, n); }",
        "template <class T> T up(T n, T b) { return (n + b - 1) / b; }\nvoid f(float *a) { int n = 100; add<<<up(n, 32), 32>>>(a, n); }",
        "void f(float *a) { int n = 100; add<<<(int)ceil(n / 32.0), 32>>>(a, n); }",
        "dim3 size(int n) { return dim3((n + 31) / 32, 1, 1); }\nvoid f(float *a) { add<<<size(100), 32>>>(a, 100); }",
        "static void f(float *a, int n, int b) { add<<<(n + b - 1) / b, b>>>(a, n); }\nvoid g(float *a) { f(a, 100, 32); }",
        "void f(float *a, bool wide) { int n; n = 100; add<<<wide ? 4 : 4, 32>>>(a, n); }",
    ] {
        let all = host(fixed);
        // arms of a choice that is not known are told
        let same = all.iter().all(|l| l.starts_with("4 32"));
        assert!(same && (all == ["4 32"] || fixed.contains("wide")), "{fixed}: {all:?}");
    }
}

#[test]
fn what_is_taken_is_told() {
    let default = "int main(int argc, char **argv) { float *a; int n = argc > 1 ? atoi(argv[1]) : 1 << 10;\n add<<<n / 64, 64>>>(a, n); }";
    assert_eq!(host(default), ["16 64 the default `n` = 1024, line 2"]);
    let later = "int main(int argc, char **argv) { float *a; int n = 1024;\n if (argc > 1) n = atoi(argv[1]);\n add<<<n / 64, 64>>>(a, n); }";
    assert_eq!(host(later), ["16 64 the default `n` = 1024, line 2"]);
    let several = "void f(float *a, int b) { add<<<8, b>>>(a, 8 * b); }\nint main() { float *a; int sizes[] = {32, 64}; for (int j = 0; j < 2; j++) { int b = sizes[j]; f(a, b); } }";
    assert_eq!(
        host(several),
        ["8 32 `sizes` = 32, one of several, line 3", "8 64 `sizes` = 64, one of several, line 3"]
    );
    // where a device says it, the most that it has
    let device = "void f(float *a) { cudaDeviceProp p; cudaGetDeviceProperties(&p, 0); add<<<2, p.maxThreadsPerBlock>>>(a, 9); }";
    assert_eq!(host(device), ["2 1024 devices with `maxThreadsPerBlock` = 1024, line 2"]);
    let in_turn = "void f(float *a) { for (int b = 32; b <= 128; b *= 2) add<<<2, b>>>(a, 9); }";
    assert_eq!(host(in_turn), ["2 32 `b` = 32, one of several, line 2"]);
    // what another value surely replaces before the launch is none of them
    let members = "void f(float *a, int wide) { dim3 g(4), b; b.x = 32; if (wide) b.x = 64;\n add<<<g, b>>>(a, 9);\n b.x = 96; if (wide) b.x = 128; add<<<g, b>>>(a, 9); }";
    assert_eq!(
        host(members),
        [
            "4 32 `b.x` = 32, one of several, line 2",
            "4 64 `b.x` = 64, one of several, line 2",
            "4 96 `b.x` = 96, one of several, line 4",
            "4 128 `b.x` = 128, one of several, line 4"
        ]
    );
    let around = "void f(float *a, int n) { dim3 g(4), b; b.x = 32; for (int i = 0; i < n; i++) { add<<<g, b>>>(a, 9);\n b.x = 96; } }";
    assert_eq!(
        host(around),
        ["4 32 `b.x` = 32, one of several, line 2", "4 96 `b.x` = 96, one of several, line 3"]
    );
    // what a variable no longer holds is not taken
    let changed = "void f(float *a) { int b = 32; b *= 2; add<<<2, b>>>(a, 9); }";
    assert_eq!(host(changed), ["2 ?"]);
    let replaced = "void f(float *a, int n) { int b = 32; b = n; add<<<2, b>>>(a, 9); }";
    assert_eq!(host(replaced), ["2 ?"]);
}

#[test]
fn what_is_not_said_is_open() {
    // the block alone is a launch, too
    assert_eq!(host("void f(float *a, int n) { add<<<(n + 255) / 256, 256>>>(a, n); }"), ["? 256"]);
    assert_eq!(host("void f(float *a, int n) { dim3 b(16, 16); add<<<n, b>>>(a, n); }"), ["? 16x16x1"]);
    assert_eq!(host("int size();\nvoid f(float *a, int n) { add<<<n, size()>>>(a, n); }"), ["? ?"]);
    assert_eq!(
        host("void fill(int *b);\nvoid f(float *a) { int b; fill(&b); add<<<1, b>>>(a, 9); }"),
        ["1 ?"]
    );
    // a helper that may give one of two values gives none
    let two = "int size(int n) { int b = 32; if (n > 99) b = 64; return b; }\nvoid f(float *a, int n) { add<<<1, size(n)>>>(a, 9); }";
    assert_eq!(host(two), ["1 ?"]);
    // functions that C cannot say lend their launches
    let reference = "void f(Big &big, int n) { add<<<n, 128>>>(big.a, n); }";
    assert_eq!(host(reference), ["? 128"]);
}

/// What is said of a launch that was taken says what was taken for it.
#[test]
fn findings_name_what_was_taken() {
    let strided = "__global__ void k(float *a, const float *b, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) a[i] = b[64 * i]; }\nint main(int argc, char **argv) { float *a, *b; int n = argc > 1 ? atoi(argv[1]) : 256;\n k<<<n / 64, 64>>>(a, b, n); }";
    let all = super::kernels::say(strided);
    assert!(all.contains("4 blocks of 64 threads, `n` = 256 (for the default `n` = 256, line 2)"), "{all}");
    let fixed = strided.replace("argc > 1 ? atoi(argv[1]) : 256", "256");
    let all = super::kernels::say(&fixed);
    assert!(all.contains("4 blocks of 64 threads") && !all.contains("default"), "{all}");
}

/// How the host lays arrays out is not known to a kernel: with strides of one number rows overlap, which is no race of the program's.
#[test]
fn strides_that_nobody_says_make_no_race() {
    let text = |stride: &str| {
        format!("__global__ void k(float *a, int n, int m, int rows) {{ int t = blockIdx.x * blockDim.x + threadIdx.x; if (t < rows) for (int i = 0; i < n; i++) a[t * m + i * {stride}] = t; }}\nvoid f(float *a, int n, int m, int rows) {{ k<<<rows, 64>>>(a, n, m, rows); }}")
    };
    let all = super::kernels::say(&text("1"));
    assert!(!all.contains("race"), "{all}");
    // every thread of a block at one place is one, whatever the stride
    let all = super::kernels::say(&text("1").replace("a[t * m", "a[blockIdx.x * m"));
    assert!(all.contains("global-race"), "{all}");
}

/// One finding a document, and none where somebody may ask later in a way that is not followed.
#[test]
fn unchecked_launches_are_told_once() {
    let said = |host: &str| {
        let all = super::kernels::say(&format!("{ADD}{host}"));
        let lines = all.split_inclusive('\n').skip_while(|l| !l.contains("unchecked-launch"));
        lines.collect::<String>()
    };
    let launch = "add<<<4, 32>>>(a, 100);\n";
    let all =
        said(&format!("void f(float *a) {{\n{}}}\nvoid g(float *a) {{\n{launch}}}\n", launch.repeat(6)));
    assert_eq!(all.matches("unchecked-launch").count(), 1, "{all}");
    assert!(all.contains("3:1 hint") && all.contains("those on lines 4, 5, 6, 7 and 2 more did"), "{all}");
    assert_eq!(all.matches("either").count(), 4, "{all}");
    let f = format!("void f(float *a) {{ {launch} }}\n");
    let ask = "int last() { return cudaGetLastError(); }\n";
    for silent in [
        // a caller asks, itself or by another
        format!("{f}void g(float *a) {{ f(a); int e = cudaGetLastError(); }}"),
        format!("{ask}{f}void h(float *a) {{ f(a); }}\nvoid g(float *a) {{ h(a); last(); }}"),
        // where a condition of the build leaves the call out
        format!("#define B\n{f}void g(float *a) {{\n#ifndef B\nf(a);\n#endif\ncudaGetLastError(); }}"),
        // it is called by another name
        format!("{f}template <class F> void each(F f, float *a) {{ f(a); cudaGetLastError(); }}\nvoid g(float *a) {{ each(f, a); }}"),
        format!("{ask}{f}void (*table[])(float *) = {{f}};"),
        format!("{ask}{f}#define RUN f(a)\n"),
    ] {
        assert_eq!(said(&silent), "", "{silent}");
    }
    for told in
        [f.clone(), format!("{ask}{f}"), format!("{ask}void f(float *a);\n{f}void g(float *a) {{ f(a); }}")]
    {
        assert!(said(&told).contains("unchecked-launch"), "{told}");
    }
}

/// What is right with one launch and wrong with another is wrong.
#[test]
fn every_launch_is_judged() {
    let report = |code: &str| kernel_reports(&Ask::thorough(&open_cuda(code)), &[]).remove(0);
    let turned = "__global__ void turned(const int *a, int *o) {
        __shared__ int s[64];
        int t = threadIdx.x;
        s[t] = a[blockIdx.x * blockDim.x + t];
        __syncwarp();
        o[blockIdx.x * blockDim.x + t] = s[blockDim.x - 1 - t];
    }\n";
    let launched = |sizes: &[&str]| {
        let all = sizes.iter().map(|s| format!("turned<<<{s}>>>(a, o);")).collect::<String>();
        report(&format!("{turned}void f(int *a, int *o) {{ {all} }}"))
    };
    assert_eq!(launched(&["8, 32"]).races.verdict, "race-free");
    for sizes in [["8, 32", "8, 64"], ["8, 64", "8, 32"]] {
        let r = launched(&sizes);
        assert_eq!(r.races.verdict, "race", "{sizes:?}");
        assert_eq!(r.shape.expect("a launch").0.block, [64, 1, 1]);
    }
    let half = "__global__ void half(float *d, int n) {
        int t = threadIdx.x;
        if (t < n) { d[t] += 1; __syncthreads(); d[t] *= 2; }
    }
    void f(float *d) { half<<<1, 128>>>(d, 128); half<<<1, 128>>>(d, 100); }";
    assert_eq!(report(half).barriers[0].verdict, "divergent");
    // a race with one launch does not hide a barrier that not all threads reach with another
    let both = "__global__ void both(float *d, float *e, int n, int s) {
        int t = threadIdx.x;
        if (t < n) { d[t] += 1; __syncthreads(); d[t] *= 2; }
        e[t] = e[t + s];
    }
    void f(float *d, float *e) { both<<<1, 128>>>(d, e, 128, 1); both<<<1, 128>>>(d, e, 100, 0); }";
    let found = report(both);
    assert_eq!((found.races.verdict, found.barriers[0].verdict), ("race", "divergent"));
    // the thirteenth of thirteen
    let many: Vec<String> = (1..13).map(|k| format!("{k}, 32")).chain(["13, 64".to_owned()]).collect();
    assert_eq!(launched(&many.iter().map(String::as_str).collect::<Vec<_>>()).races.verdict, "race");
}

/// Parameters that must not overlap, and a launch that gives both one array.
#[test]
fn a_launch_may_give_one_array_twice() {
    let verdict = |host: &str| {
        let code = format!(
            "__global__ void copy(const float *x, float *y, int n) {{
                int i = blockIdx.x * blockDim.x + threadIdx.x;
                if (i < n) y[i] = x[i];
            }}
            void f(float *a, float *b) {{ {host} }}"
        );
        let races = kernel_reports(&Ask::thorough(&open_cuda(&code)), &[]).remove(0).races;
        (races.verdict, races.reason.unwrap_or_default())
    };
    assert_eq!(verdict("copy<<<15, 256>>>(a, b, 3840);").0, "race-free");
    let (word, why) = verdict("copy<<<15, 256>>>(a, a + 1, 3840);");
    assert_eq!(word, "unknown");
    assert!(why.contains("`x` and `y`") && why.contains("line 5"), "{why}");
    assert_eq!(verdict("copy<<<15, 256>>>(&a[0], &a[1], 3840);").0, "unknown");
}

/// Kernels of a namespace, launched from outside by their full names or with `using`.
#[test]
fn kernels_of_namespaces_are_launched_from_outside() {
    let kernel = "namespace ns { __global__ void turn(float *a) { __shared__ float s[64];
        s[threadIdx.x] = a[threadIdx.x]; a[threadIdx.x] = s[63 - threadIdx.x]; } }\n";
    for host in [
        "void f(float *a) { ns::turn<<<1, 64>>>(a); }",
        "using namespace ns;\nvoid f(float *a) { turn<<<1, 64>>>(a); }",
        "namespace ns { void f(float *a) { turn<<<1, 64>>>(a); } }",
    ] {
        let code = format!("{kernel}{host}");
        assert_eq!(launches(&code), ["1 64"], "{host}");
        assert_eq!(kernel_reports(&Ask::thorough(&open_cuda(&code)), &[])[0].races.verdict, "race");
    }
}

/// Of two kernels of one name a launch in full names means one: neither is judged by the other's.
#[test]
fn kernels_of_two_namespaces_are_two() {
    let of = |space: &str| {
        format!("namespace {space} {{ __global__ void k(float *a) {{ a[threadIdx.x] = 1; }} }}\n")
    };
    let code = format!("{}namespace b {{ __global__ void k(float *a) {{ a[0] = threadIdx.x; }}\nvoid f(float *x) {{ a::k<<<1, 64>>>(x); }} }}", of("a"));
    let all = kernel_reports(&Ask::thorough(&open_cuda(&code)), &[]);
    assert!(
        all.iter().all(|r| r.launches.is_empty()),
        "{:?}",
        all.iter().map(|r| &r.launches).collect::<Vec<_>>()
    );
}

/// What a function without a name does on the device is not the host's doing.
#[test]
fn a_function_without_a_name_is_not_the_host() {
    let code =
        "template <class F> __global__ void apply(F f, int n) { int i = threadIdx.x; if (i < n) f(i); }
        void host(int n) {
            float *f;
            cudaMalloc(&f, n * sizeof(float));
            apply<<<4, 256>>>([=] __device__(int k) { f[k] = k; }, n);
            cudaDeviceSynchronize();
        }";
    let said = super::full(&open_cuda(code)).diagnostics;
    assert!(said.iter().all(|d| d.code != "device-pointer-on-host"), "{said:?}");
}

/// Functions that a class defines where it declares them launch as others do, and so do calls of the runtime's.
#[test]
fn launches_of_members_and_of_the_runtime_are_launches() {
    let member = "class Runner {\n    float *a_;\npublic:\n    int size() const { return 3; }\n    void go(int n) { add<<<4, 128>>>(a_, n); }\n};\n";
    assert_eq!(host(member), ["4 128"]);
    let call = |given: &str| {
        host(&format!(
            "int f(float *a) {{ int n = 100; void *all[] = {{ (void *)&a, &n }}; {given} return 0; }}"
        ))
    };
    assert_eq!(
        call("cudaLaunchKernel((void *)add, dim3(4), dim3(64), all, 0, 0);"),
        ["4 64 the default `n` = 100, line 2"]
    );
    assert_eq!(
        call("cudaError_t e = cudaLaunchCooperativeKernel((const void *)&add, 2, 32, all); if (e) return 1; cudaLaunchKernel((void *)add, 4, 96, all);"),
        ["2 32 the default `n` = 100, line 2", "4 96 the default `n` = 100, line 2"]
    );
    // what they point to is not said
    assert_eq!(
        call("all[1] = &a; cudaLaunchKernel((void *)add, dim3(4), dim3(64), all, 0, 0);"),
        [] as [&str; 0]
    );
    for other in [
        "change(all); cudaLaunchKernel((void *)add, 4, 64, all, 0, 0);",
        "{ int n = 1; cudaLaunchKernel((void *)add, 4, 64, all, 0, 0); }",
        "const void *add = pick(); cudaLaunchKernel(add, 4, 64, all, 0, 0);",
    ] {
        assert_eq!(call(other), [] as [&str; 0], "{other}");
    }
    // a member by the name of a constant is another
    let hides =
        "static const int n = 2;\nstruct R { float *x; int n; void go() { add<<<1, 64>>>(x, n); } };\n";
    assert_eq!(host(hides), [] as [&str; 0]);
    let outside = |class: &str| {
        host(&format!("const int n = 2;\n{class}\nvoid R::go(float *x) {{ add<<<4, 64>>>(x, n); }}\n"))
    };
    for hides in ["struct R : Base { void go(float *x); };", "struct R { int n; void go(float *x); };", ""] {
        assert_eq!(outside(hides), [] as [&str; 0], "{hides}");
    }
    assert_eq!(outside("struct R { int m; void go(float *x); };"), ["4 64"]);
    // the error that such a call gives is asked for
    let text = format!("{ADD}int f(float *a) {{ int n = 9; void *all[] = {{ &a, &n }}; return cudaLaunchKernel((void *)add, 4, 64, all, 0, 0); }}");
    let told: Vec<_> =
        super::full(&open_cuda(&text)).diagnostics.iter().map(|d| d.code.to_string()).collect();
    assert!(!told.contains(&"unchecked-launch".to_owned()), "{told:?}");
}

/// What is right for the values taken for a launch is said to be right only if it is for all that the program may give.
#[test]
fn no_race_is_said_of_values_that_were_taken_alone() {
    let said = |kernel: &str, host: &str| {
        let doc = open_cuda(&format!("{kernel}\n{host}"));
        let reports = kernel_reports(&Ask::thorough(&doc), &[]);
        reports[0].races.words.clone()
    };
    let shift = "__global__ void k(float *a, int n, int s) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i + s < n) a[i] = a[i + s]; }";
    let apart = "__global__ void k(float *a, int n, int s) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i + s < n) a[i] = s; }";
    let whole = "__global__ void k(float *a, int n, int s) { if (threadIdx.x == 0) a[s] = n; }";
    let meet = "__global__ void k(float *a, int n, int s) { int i = threadIdx.x; if (i < s) __syncthreads(); a[i] = n; }";
    let rounds = "void f(float *a) { for (int s = 0; s < 4; s++) k<<<4, 256>>>(a, 1024, s); }";
    let given = "void f(float *a, int argc) { int s = 0; if (argc > 1) s = 4; k<<<4, 256>>>(a, 1024, s); }";
    let blocks =
        "void f(float *a, int argc) { int b = 1; if (argc > 1) b = argc; k<<<b, 256>>>(a, 1024, 0); }";
    for host in [rounds, given] {
        let words = said(shift, host);
        assert_eq!(
            words,
            "whether it has races is not known: it has none for `s` = 0, and the program may launch it with other values"
        );
        assert!(said(apart, host).starts_with("no race"), "{host}: {}", said(apart, host));
    }
    assert!(said(whole, blocks).starts_with("whether it has races is not known"), "{}", said(whole, blocks));
    let full = "void f(float *a) { for (int s = 256; s > 0; s -= 10) k<<<1, 256>>>(a, 1, s); }";
    assert!(said(meet, full).starts_with("whether it has races is not known"), "{}", said(meet, full));
}

/// What is said of the races of the only kernel, in one line.
fn races(code: &str) -> String {
    let doc = open_cuda(code);
    kernel_reports(&Ask::thorough(&doc), &[])[0].races.words.clone()
}

#[test]
fn pointers_to_kernels_and_specialisations_launch() {
    let other = "__global__ void other(float *a, int n) { a[0] = n; }\n";
    let pointer = "void f(float *a, int w) { void (*k)(float *, int); if (w) k = add; else k = other; k<<<4, 32>>>(a, 100); }";
    assert_eq!(host(&format!("{other}{pointer}")), ["4 32"]);
    // a pointer that is given: nobody knows whose
    let given = "void f(float *a, void (*k)(float *, int)) { k<<<4, 32>>>(a, 100); }";
    assert!(host(given).is_empty());
    let of_float = "template <typename T> void scale(T *a, int n);\ntemplate <> void scale<float>(float *a, int n) { add<<<4, 32>>>(a, 100); }";
    assert_eq!(host(of_float), ["4 32"]);
}

#[test]
fn one_pointer_given_twice_is_one_array() {
    let own = "__global__ void k(float *y, const float *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[i] + 1; }\n";
    let neighbours = "__global__ void k(float *y, const float *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i > 0 && i < n - 1) y[i] = x[i - 1] + x[i + 1]; }\n";
    let with = |kernel: &str, arguments: &str| {
        races(&format!("{kernel}void f(float *d) {{ k<<<4, 64>>>({arguments}, 256); }}"))
    };
    for same in ["d, d", "d + 2, d + 2"] {
        assert!(with(own, same).starts_with("no race"), "{same}: {}", with(own, same));
    }
    assert_eq!(with(neighbours, "d, d"), "a race");
    // elsewhere in it, or perhaps
    for other in ["d, d + 1", "d + 1, d", "d + 2, d + 3"] {
        let words = with(own, other);
        assert!(words.contains("pointers into what may be one array"), "{other}: {words}");
    }
    let apart = "void f(float *d, float *e) { k<<<4, 64>>>(d, e, 256); }";
    assert!(races(&format!("{neighbours}{apart}")).starts_with("no race"));
    // another launch with other pointers says nothing against it
    let both = "void f(float *d, float *e) { k<<<4, 64>>>(d, d, 256); k<<<4, 64>>>(e, d, 256); }";
    assert_eq!(races(&format!("{neighbours}{both}")), "a race");
}

#[test]
fn a_thread_alone_and_a_block_alone() {
    let list = "struct node { struct node *next; int v; };\n__global__ void k(struct node *p) { p->next->v = p->v; }\n";
    assert!(races(&format!("{list}void f(struct node *p) {{ k<<<1, 1>>>(p); }}")).starts_with("no race"));
    assert!(!races(&format!("{list}void f(struct node *p) {{ k<<<1, 2>>>(p); }}")).starts_with("no race"));
    let block = "__global__ void k(float *a, float v) { a[threadIdx.x] -= v; }\n";
    let words = races(&format!("{block}void f(float *a, int n) {{ k<<<1, n>>>(a, 2); }}"));
    assert!(words.starts_with("no race"), "{words}");
    assert!(
        !races(&format!("{block}void f(float *a, int n) {{ k<<<2, n>>>(a, 2); }}")).starts_with("no race")
    );
}

#[test]
fn without_a_launch_the_dimensions_are_said() {
    assert_eq!(races(ADD), "no race, whatever memory holds, in launches of one dimension");
    let launched = format!("{ADD}void f(float *a, int n) {{ add<<<n / 256, 256>>>(a, n); }}");
    assert_eq!(races(&launched), "no race, whatever memory holds");
}
