//! Kernels that rules make: the one that F1.6 prints, what the host does with it, and that nothing of it is given out unproved.

use base::CancelToken;

use crate::{apply_rules, check, Memo, NewFile, RuleSet, RuleTarget, Settings, Tier};

/// F1.9 as C, with `swap` as F1.6 has it.
fn sort(size: u32) -> String {
    format!(
        "#define ARR_SIZE {size}
int toSort[ARR_SIZE];

void swap(int *a, int x, int y)
{{
    int t = a[x];
    a[x] = a[y];
    a[y] = t;
}}

void sort(void)
{{
    int k, j;
    for (k = 2; k <= ARR_SIZE; k <<= 1)
        for (j = k >> 1; j > 0; j = j >> 1)
            // warpwright: offload(bitonic_kernel)
            for (int i = 0; i < ARR_SIZE; i++) {{
                int ixj = i ^ j;
                if ((ixj) > i) {{
                    if ((i & k) == 0 && toSort[i] > toSort[ixj]) {{
                        swap(toSort, i, ixj);
                    }}
                    if ((i & k) != 0 && toSort[i] < toSort[ixj]) {{
                        swap(toSort, i, ixj);
                    }}
                }}
            }}
}}
"
    )
}

/// F1.6's kernel as printed, less a bar and a bracket too many.
const PRINTED: &str = "extern \"C\" __global__ void
bitonic_kernel(int * toSort, int j,
int k)
{
    int i = threadIdx.x + blockDim.x
    * blockIdx.x;
    int ixj = i ^ j;
    if ((ixj) > i)
    {
        if ((i & k) == 0 && toSort[i]
    > toSort[ixj])
        {
            swap(toSort,i,ixj);
        }
        if ((i & k) != 0 && toSort[i]
        < toSort[ixj])
        {
            swap(toSort,i,ixj);
        }
    }
}
";

fn applied(text: &str) -> Result<(String, Vec<NewFile>, String), String> {
    let doc = super::open(text);
    let (memo, cancel) = (Memo::new(), CancelToken::new());
    let findings = check(&crate::Ask::new(&doc, &memo, Tier::Full, &cancel), &Settings::default())
        .expect("not cancelled");
    match apply_rules(
        &crate::Ask::new(&doc, &crate::Memo::new(), crate::Tier::Full, &cancel),
        &findings,
        &RuleSet::shipped(),
        "offload",
        &RuleTarget::File,
    ) {
        Ok(mut done) => {
            let files = done.edit.create.clone();
            done.explain_in_kernels();
            for (f, e) in files.iter().zip(&done.edit.create) {
                let said = e.text.lines().filter(|l| l.starts_with("//   ")).count();
                assert!(
                    said > 5 && e.text.trim_end().ends_with(f.text.lines().last().unwrap_or("")),
                    "{}",
                    e.text
                );
            }
            Ok((done.text, files, done.checked))
        }
        Err(why) => Err(format!("{why:?}")),
    }
}

fn unit(language: crate::Language, text: &str) -> front::Unit {
    let parsed = front::Parsed::parse(language, text);
    front::lower(&parsed, &front::Options::default(), &mut front::Memo::new())
}

/// A function as a term.
fn term_of(text: &str, name: &str) -> String {
    let unit = unit(crate::Language::Cuda, text);
    let item = unit.items.iter().find(|i| *i.name == *name).expect("a function");
    term::notation::print(&item.body, item.body.root)
}

/// But for the guard and the order of the index's sum, as the paper's rules have it.
#[test]
fn the_kernel_of_bitonic_sort_is_the_printed_one() {
    let (_, files, checked) = applied(&sort(64)).expect("a result");
    let [file] = files.as_slice() else { panic!("{files:?}") };
    assert_eq!(file.name, "bitonic_kernel.cu");
    assert!(checked.starts_with("Same results as before on 16 random inputs"), "{checked}");
    let swap = "void swap(int *a, int x, int y);\n";
    let index = "threadIdx.x + blockDim.x\n    * blockIdx.x;";
    assert!(PRINTED.contains(index));
    let printed = PRINTED.replace(index, "blockIdx.x * blockDim.x + threadIdx.x; if (i < 64) {") + "}\n";
    assert_eq!(
        term_of(&file.text, "bitonic_kernel"),
        term_of(&format!("{swap}{printed}"), "bitonic_kernel"),
        "{}",
        file.text
    );
    // the method that it calls is a function of the device
    assert!(file.text.contains("static __device__ void swap(int *a, int x, int y)"), "{}", file.text);
}

/// CUDA's run time, with every copy counted.
const RUN_TIME: &str = "enum { cudaSuccess, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost };
void *malloc(unsigned long n);
void free(void *p);
void *memcpy(void *a, const void *b, unsigned long n);
int copies;
int cudaMalloc(void **p, unsigned long n) { *p = malloc(n); return 0; }
int cudaFree(void *p) { free(p); return 0; }
int cudaMemcpy(void *a, const void *b, unsigned long n, int kind) { copies++; memcpy(a, b, n); return 0; }
void abort(void) { }
";

/// Sizes below a block, of a block and of several: sorted, the array copied once each way, one launch a round.
#[test]
fn bitonic_sort_by_rules_sorts() {
    for log in [1u32, 3, 6, 8, 9] {
        let size = 1u32 << log;
        let (host, files, _) = applied(&sort(size)).expect("a result");
        let host = format!(
            "{RUN_TIME}{host}int run(void)\n{{\n    unsigned x = 12345;\n    for (int i = 0; i < ARR_SIZE; i++) {{\n        x = x * 1103515245u + 12345u;\n        toSort[i] = (int)(x >> 8);\n    }}\n    sort();\n    for (int i = 1; i < ARR_SIZE; i++)\n        if (toSort[i - 1] > toSort[i])\n            return -i;\n    return copies;\n}}\n"
        );
        let host = unit(crate::Language::C, &host);
        let kernels = unit(
            crate::Language::Cuda,
            &format!("extern \"C\" int cudaGetLastError(void);\n{}", files[0].text),
        );
        let last = unit(crate::Language::C, "int cudaGetLastError(void) { return 0; }\n");
        let mut program = simulate::Program::of(host.items.iter().chain(&last.items).map(|i| &*i.body));
        program.add_kernels(kernels.items.iter().map(|i| &*i.body));
        let mut heap = simulate::Heap::new();
        let (schedule, budget) = (simulate::Schedule::seeded(5), base::Budget::new(200_000_000));
        let (outcome, launched) =
            simulate::run_hosted(&program, "run", &[], &mut heap, &schedule, &budget).expect("it runs");
        assert!(launched.iter().all(|l| l.report.is_clean()), "{size}");
        assert_eq!(
            outcome.expect("an end").value,
            Some(simulate::Value::Int(2)),
            "{size}: sorted, copied once each way"
        );
        assert_eq!(launched.len() as u32, log * (log + 1) / 2, "{size}");
        assert!(launched.iter().all(|l| l.launch.grid[0] == size.div_ceil(256)), "{size}");
    }
}

/// What may not be: statements that use the array, jumps, other names of its memory, changed sizes.
#[test]
fn copies_stay_where_they_must() {
    let copies = |middle: &str, parameters: &str| {
        let text = format!(
            "int g;\nint f(int n, int m, {parameters})\n{{\n    for (int t = 0; t < m; t++) {{\n        // warpwright: offload(first)\n        for (int i = 0; i < n; i++)\n            a[i] += t;\n        {middle}\n    }}\n    return 0;\n}}\n"
        );
        let (host, _, _) = applied(&text).unwrap_or_else(|e| panic!("{middle}: {e}"));
        let inside = host.split("for (int t").nth(1).expect("the loop");
        inside.contains("cudaMemcpyHostToDevice")
    };
    assert!(!copies("b[t & 1] = g;", "int *restrict a, int *restrict b"), "b is other memory");
    assert!(!copies("if (t == 3) g = 1;", "int *restrict a"));
    assert!(copies("if (t == 3) g = a[0];", "int *restrict a"), "the host reads it");
    assert!(copies("if (t == 3) return 1;", "int *restrict a"), "the copy would be jumped over");
    assert!(copies("if (t == 3) break;", "int *restrict a"), "the copy would be jumped over");
    assert!(copies("n = n - 1;", "int *restrict a"), "another part is copied");
    assert!(copies("b[t & 1] = t;", "int *a, int *b"), "b may be the same memory");
    let other = "// warpwright: offload(second)\n        for (int i = 0; i < n; i++)\n            b[i] += i;";
    assert!(copies(other, "int *a, int *b"), "both kernels may use one memory");
    assert!(!copies(other, "int *restrict a, int *restrict b"));
}

/// Whatever is not proved, or would mean something else in CUDA, is refused with the reason.
#[test]
fn what_is_not_proved_is_refused() {
    let refused = |text: &str, why: &str| {
        let said = applied(text).map(|(host, ..)| host).expect_err(text);
        assert!(said.contains(why), "{said}");
    };
    let marked = |before: &str, header: &str, body: &str| {
        format!("{before}\nvoid f({header})\n{{\n    // warpwright: offload(k)\n    for (int i = 0; i < n; i++)\n        {body}\n}}\n")
    };
    refused(&marked("", "int n, int *a", "a[i] = a[i + 1];"), "iterations depend on one another");
    refused(&marked("", "int n, int *a, int *b", "a[i] = b[i];"), "only under a condition");
    refused(&marked("", "int n, int *restrict a, const int *restrict b", "a[b[i] & 7] = 1;"), "depend");
    refused(&marked("", "int n, int *a", "if (a[i] > 2) a[i ^ 3] = a[i ^ 3];"), "not proved");
    refused(&marked("", "int n, int *a", "a[i - 1] = 1;"), "not a constant from 0 on");
    refused(&marked("struct p { int x; };", "int n, struct p *a", "a[i].x = i;"), "no numbers");
    refused(
        &marked("#include <math.h>", "int n, float *a", "a[i] = sqrt(a[i]);"),
        "CUDA would call another function",
    );
    refused(
        &marked("int max(int a, int b) { return a > b ? a : b; }", "int n, int *a", "a[i] = max(a[i], 3);"),
        "means something else",
    );
    refused(
        &marked("int g; int get(int x) { return x + g; }", "int n, int *restrict a", "a[i] = get(i);"),
        "host's memory",
    );
    refused(
        &marked("int fib(int n) { return n < 2 ? n : fib(n - 1); }", "int n, int *a", "a[i] = fib(2);"),
        "may call itself",
    );
    refused(
        &marked("void k(void);", "int n, int *k", "k[i] = 1;").replace("offload(k)", "offload(f)"),
        "as a function of the program",
    );
}
