//! Kernels that take a thread's number apart by `/` and `%`, and branches that a parameter decides for all threads.

use super::open_cuda;
use crate::{kernel_reports, Ask};

fn verdict(parameters: &str, body: &str) -> (String, String) {
    let code = format!(
        "__global__ void f({parameters}) {{ int id = blockIdx.x * blockDim.x + threadIdx.x; {body} }}\n"
    );
    let report = &kernel_reports(&Ask::thorough(&open_cuda(&code)), &[])[0];
    (report.races.verdict.to_string(), report.races.reason.clone().unwrap_or_default())
}

#[test]
fn what_is_put_together_again_is_the_number_itself() {
    let parts = "if (id >= n) return; int j = id % w; id /= w; int i = id % h; id /= h; int k = id % c; id /= c; int b = id;";
    // of the lengths nothing is known, not even their signs
    for lengths in ["int w, int h, int c", "int a, int s"] {
        let made = if lengths.contains('w') {
            ""
        } else {
            "int w = (a - 3) / s + 1, h = (a - 2) / s + 1, c = a - s;"
        };
        let (verdict, why) = verdict(
            &format!("int n, {lengths}, float *out"),
            &format!("{made} {parts} out[j + w * (i + h * (k + c * b))] = 1;"),
        );
        assert_eq!(verdict, "race-free", "{lengths}: {why}");
    }
    for place in [
        "i + w * (j + h * (k + c * b))",
        "j + h * (i + w * (k + c * b))",
        "j + w * (i + h * (k + b))",
        "j + w * (i + h * k)",
        "w * (i + h * (k + c * b))",
    ] {
        let (verdict, _) =
            verdict("int n, int w, int h, int c, float *out", &format!("{parts} out[{place}] = id;"));
        assert_ne!(verdict, "race-free", "{place}");
    }
    // a quotient that was known to be positive is not where it stands elsewhere
    let code = "__global__ void f(int n, int w, float *out) { int id = blockIdx.x * blockDim.x + threadIdx.x; if (id >= n) return; int k; if (w > 0) k = id / w; else k = -(id / w); if (w < 0) out[k - id / w] = id; }\n";
    let report = &kernel_reports(&Ask::thorough(&open_cuda(code)), &[])[0];
    assert!(report.races.verdict != "race-free" || report.races.positive == ["w"], "{:?}", report.races);
}

#[test]
fn a_parameter_that_decides_keeps_branches_apart() {
    let both = |condition: &str| {
        format!("if (id >= n) return; int k = id / 4; if ({condition}) out[id] = x[k]; else atomicAdd(x + k, out[id]);")
    };
    for condition in ["forward", "!forward", "forward == 2", "forward != 3", "n - forward"] {
        let (verdict, why) = verdict("int n, int forward, float *x, float *out", &both(condition));
        assert_eq!(verdict, "race-free", "{condition}: {why}");
    }
    for condition in ["id - forward", "flags[id]", "threadIdx.x == forward", "x[0] > 0"] {
        let (verdict, _) =
            verdict("int n, int forward, const int *flags, float *x, float *out", &both(condition));
        assert_ne!(verdict, "race-free", "{condition}");
    }
    // the parameter is another number by then
    let (verdict, _) = verdict("int n, int forward, float *x, float *out", "if (id >= n) return; if (forward) out[id] = x[id / 4]; forward = id & 1; if (!forward) atomicAdd(x + id / 4, out[id]);");
    assert_ne!(verdict, "race-free");
}
