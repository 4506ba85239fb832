//! Loops offloaded by their page: bitonic sort (F1.9), where copies stand, and that nothing is given out unproved.

use crate::{apply_rules, check, Counted, NewFile, RuleSet, RuleTarget, Settings};

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

/// What became of a program, its kernels' files, what was checked, and what the runs counted.
type Came = (String, Vec<NewFile>, String, Option<Counted>);

fn applied(text: &str) -> Result<Came, String> {
    let doc = super::open(text);
    let ask = crate::Ask::thorough(&doc);
    let findings = check(&ask, &Settings::default()).expect("not cancelled");
    match apply_rules(&ask, &findings, &RuleSet::shipped(), "offload", &RuleTarget::File) {
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
            Ok((done.text, files, done.checked, done.counted))
        }
        Err(why) => Err(format!("{why:?}")),
    }
}

/// F1.9: the two outer loops stay on the host, the method that the body calls is a function of the device, and the array is
/// copied once each way, with one launch a round. Sizes below a block, of a block and of several.
#[test]
fn bitonic_sort_by_rules_sorts() {
    for log in [1u64, 3, 6, 8, 9] {
        let (_, files, checked, counted) = applied(&sort(1 << log)).expect("a result");
        let [file] = files.as_slice() else { panic!("{files:?}") };
        assert!(file.text.contains("static __device__ void ww_swap(int *a, int x, int y)"), "{}", file.text);
        assert!(checked.starts_with("Same results as before on "), "{checked}");
        let counted = counted.expect("it was run");
        let runs = counted.to_device.count;
        assert!(runs > 0 && counted.from_device.count == runs, "{counted:?}");
        assert_eq!(counted.launches, runs * log * (log + 1) / 2, "{log}");
    }
}

/// The arrays stay on the device for all rounds of the loop around, unless the host uses them there or changes what is copied.
#[test]
fn copies_stay_where_they_must() {
    let copies = |middle: &str, parameters: &str| {
        let text = format!(
            "int g;\nint f(int n, int m, {parameters})\n{{\n    for (int t = 0; t < m; t++) {{\n        // warpwright: offload(first)\n        for (int i = 0; i < n; i++)\n            a[i] = a[i] * 3 + t;\n        {middle}\n    }}\n    return 0;\n}}\n"
        );
        let (host, ..) = applied(&text).unwrap_or_else(|e| panic!("{middle}: {e}"));
        let inside = host.split("for (int t").nth(1).expect("the loop");
        inside.contains("_on_gpu(")
    };
    assert!(copies("if (t == 3) g = a[0];", "int *restrict a"), "the host reads it");
    assert!(!copies("if (t == 3) return 1;", "int *restrict a"), "the call says that the function returns");
    assert!(copies("n = n - 1;", "int *restrict a"), "another part is copied");
    assert!(
        !copies("b[t & 1] = t;", "int *a, int *b"),
        "that is done on the device, and whether b is a is tested before"
    );
    assert!(!copies("if (t == 3) break;", "int *restrict a"), "the rounds end there as well");
    let other = "// warpwright: offload(second)\n        for (int i = 0; i < n; i++)\n            b[i] = b[i] * 3 + i;";
    assert!(!copies(other, "int *restrict a, int *restrict b"));
    assert!(!copies(other, "int *a, int *b"), "that they are one memory is tested before");
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
    refused(&marked("", "int n, int *a", "a[i] = a[i + 1];"), "anti dependence");
    refused(
        &marked("", "int n, int *restrict a, const int *restrict b", "a[b[i] & 7] = 1;"),
        "may have the same value twice",
    );
    refused(&marked("", "int n, int *a", "if (a[i] > 2) a[i ^ 3] = a[i ^ 3];"), "depends on data");
    // what the function reads of the host's memory is handed over
    let reads = marked("int g; int get(int x) { return x + g; }", "int n, int *restrict a", "a[i] = get(i);");
    let (host, ..) = applied(&reads).expect("its call is written out");
    assert!(host.contains("k_on_gpu(n, g, a, &g)"), "{host}");
    refused(
        &marked("int fib(int n) { return n < 2 ? n : fib(n - 1); }", "int n, int *a", "a[i] = fib(2);"),
        "may call itself",
    );
}

/// What the page does not place is not offloaded, by whichever way; what it places otherwise stands so in all of them.
#[test]
fn a_page_of_the_users_places_every_offload() {
    let text = "void twice(int n, int *a)\n{\n    // warpwright: offload\n    for (int i = 0; i < n; i++)\n        a[i] *= 2;\n}\n";
    let doc = super::open(text);
    let ours = include_str!("../../../../../rules/offload.md");
    let placed = |page: &str| {
        let mut set = RuleSet::shipped();
        set.add("offload", page);
        let ask = crate::Ask::thorough(&doc).with_pages(&std::sync::Arc::new(set.clone()));
        let findings = check(&ask, &Settings::default()).expect("not cancelled");
        let command = crate::offload(&ask, &findings, &crate::Which::Marked);
        let rules = apply_rules(&ask, &findings, &set, "offload", &RuleTarget::File);
        let command = command.map(|o| o.host).map_err(|why| format!("{why:?}"));
        assert_eq!(command, rules.map(|r| r.text).map_err(|why| format!("{why:?}")));
        command
    };
    let told =
        "If(Not($call),[MethodCall(puts,\"no kernel ran\"),_Laid($layouts),_Loop])]\n  [Include(`stdio.h`)]";
    let theirs = ours.replacen("If(Not($call),[_Laid($layouts),_Loop])]", told, 1);
    let host = placed(&theirs).expect("it is offloaded");
    assert!(host.starts_with("#include <stdio.h>\n/* "), "{host}");
    assert!(host.contains("        puts(\"no kernel ran\");\n    for (int i"), "{host}");
    let why = placed(&ours.replace(",_Loop]", "]")).expect_err("the loop is gone");
    assert!(why.contains("keeps the program's own text 0 times"), "{why}");
    let why = placed(&ours.replace("_Laid(NIL) -> NIL\n", "")).expect_err("something is left");
    assert!(why.contains("leaves `_Laid(NIL)` unwritten"), "{why}");
}
