//! Kernels that take the number of a thread apart into digits and put them together in another order, right or wrong: judged as those
//! of [`crate::shapeless`] are.

use crate::rng::Rng;

/// The kernel of a number: `k(int *a, int *b, int n, int m)`.
pub fn text(seed: u64) -> String {
    let mut rng = Rng::new(seed ^ 0xD161);
    let count = 2 + rng.below(3);
    let radices: Vec<&str> = (0..count).map(|_| *rng.pick(&["n", "m", "n", "m", "3", "4"])).collect();
    let total = radices.join(" * ");
    let mut lines = vec!["int g = blockIdx.x * blockDim.x + threadIdx.x;".to_owned()];
    match rng.below(8) {
        0 => {
            lines[0] = "int g = (blockIdx.x + blockIdx.y * gridDim.x) * blockDim.x + threadIdx.x;".to_owned()
        }
        // one more than there are
        1 => lines.push(format!("if (g > {total}) return;")),
        2 => lines.push("if (g < 0) return;".to_owned()),
        _ => lines.push(format!("if (g >= {total}) return;")),
    }
    take_apart(&mut rng, &radices, &mut lines);
    let offset = put_together(&mut rng, &radices);
    match rng.below(4) {
        0 => lines.push(format!("a[{offset}] += b[g];")),
        1 => lines.extend([format!("int *p = a + {offset};"), "*p = g;".to_owned()]),
        _ => lines.push(format!("a[{offset}] = b[g];")),
    }
    format!("__global__ void k(int *a, int *b, int n, int m) {{\n    {}\n}}\n", lines.join("\n    "))
}

/// `d0`, the first of the digits, counts slowest.
fn take_apart(rng: &mut Rng, radices: &[&str], lines: &mut Vec<String>) {
    let last = radices.len() - 1;
    match rng.below(4) {
        // from the last one up, on one variable
        0 => {
            lines.push("int r = g;".to_owned());
            for k in (1..=last).rev() {
                lines.push(format!("int d{k} = r % {0}; r /= {0};", radices[k]));
            }
            lines.push("int d0 = r;".to_owned());
        }
        // from the first one down
        1 => {
            let mut rest = "g".to_owned();
            for k in 0..last {
                let unit = radices[k + 1..].join(" * ");
                lines.push(format!("int d{k} = {rest} / ({unit}), r{k} = {rest} % ({unit});"));
                rest = format!("r{k}");
            }
            lines.push(format!("int d{last} = {rest};"));
        }
        // each of the whole
        way => {
            for k in 0..=last {
                let unit = radices[k + 1..].join(" * ");
                let above = if unit.is_empty() { "g".to_owned() } else { format!("(g / ({unit}))") };
                let modulo = if k == 0 && way == 2 { String::new() } else { format!(" % {}", radices[k]) };
                lines.push(format!("int d{k} = {above}{modulo};"));
            }
        }
    }
}

/// A sum of all digits in some order; one in four is wrong.
fn put_together(rng: &mut Rng, radices: &[&str]) -> String {
    let mut order: Vec<usize> = (0..radices.len()).collect();
    for k in (1..order.len()).rev() {
        order.swap(k, rng.below(k + 1));
    }
    let mut used: Vec<&str> = order.iter().map(|&k| radices[k]).collect();
    match rng.below(8) {
        0 => {
            let k = rng.below(used.len());
            used[k] = *rng.pick(&["n", "m", "3"]);
        }
        1 => order[0] = order[1],
        _ => {}
    }
    if rng.below(2) == 0 {
        let first = format!("d{}", order[0]);
        return (1..order.len()).fold(first, |sum, k| format!("({sum}) * {} + d{}", used[k], order[k]));
    }
    let term = |k: usize| {
        let unit: Vec<&str> = used[k + 1..].to_vec();
        match unit.is_empty() {
            true => format!("d{}", order[k]),
            false => format!("d{} * {}", order[k], unit.join(" * ")),
        }
    };
    (0..order.len()).map(term).collect::<Vec<_>>().join(" + ")
}
