//! The other judge: files with which generated CUDA text compiles as plain C++ and runs on a CPU, one fiber a thread.
//!
//! Write [`FILES`] into a folder, pass the kernel text through [`rewrite`], and there:
//! `g++ -std=c++17 -ffp-contract=off -w -I. -include ww_cuda_shim.h -x c++ kernels.cu -c`, the same for
//! `ww_cuda_shim.cpp` (without `-include`), `gcc -I.` for the C host, and link all with g++.
//!
//! Deliberately absent: starting compilers. Tests do that.

/// File names and texts.
pub const FILES: [(&str, &str); 5] = [
    ("hip/hip_runtime_api.h", include_str!("../shim/hip/hip_runtime_api.h")),
    ("hip/hip_runtime.h", include_str!("../shim/hip/hip_runtime.h")),
    ("cuda_runtime.h", include_str!("../shim/cuda_runtime.h")),
    ("ww_cuda_shim.h", include_str!("../shim/ww_cuda_shim.h")),
    ("ww_cuda_shim.cpp", include_str!("../shim/ww_cuda_shim.cpp")),
];

/// Kernel launches become calls of `ww_launch`, `extern __shared__` arrays pointers: all that C++ cannot say by macro.
pub fn rewrite(cuda: &str) -> String {
    dynamic_shared(&launches(cuda))
}

/// `k<<<g, b, s, t>>>(a, …)` → `ww_launch(g, b, s, t, [=]() { k(a, …); })`. Text in comments and strings is not told
/// apart: generated text has no launches there.
fn launches(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("<<<") {
        let Some((head, kernel)) = split_name(&rest[..at]) else {
            out.push_str(&rest[..at + 3]);
            rest = &rest[at + 3..];
            continue;
        };
        let after = &rest[at + 3..];
        let call = after.find(">>>").and_then(|end| {
            let args = after[end + 3..].trim_start();
            let args_len = closing(args)?;
            let used = after.len() - args.len() + args_len;
            Some((&after[..end], &args[..args_len], used))
        });
        match call {
            Some((config, args, used)) => {
                let mut parts = split_commas(config);
                for default in ["1", "1", "0", "0"].iter().skip(parts.len()) {
                    parts.push(default);
                }
                out.push_str(head);
                out.push_str(&format!("ww_launch({}, [=]() {{ {kernel}{args}; }})", parts.join(", ")));
                rest = &after[used..];
            }
            None => {
                out.push_str(&rest[..at + 3]);
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

/// Text before a name, and the name (with template arguments) at the end.
fn split_name(text: &str) -> Option<(&str, &str)> {
    let trimmed = text.trim_end();
    let mut depth = 0i32;
    let mut start = trimmed.len();
    for (i, c) in trimmed.char_indices().rev() {
        match c {
            '>' => depth += 1,
            '<' => depth -= 1,
            c if depth > 0 || c.is_alphanumeric() || c == '_' || c == ':' => {}
            _ => break,
        }
        start = i;
    }
    (start < trimmed.len()).then(|| (&text[..start], &trimmed[start..]))
}

/// Length of a parenthesized text up to its closing parenthesis.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (i, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => {
                depth -= 1;
                if depth == 0 {
                    return Some(i + 1);
                }
            }
            _ if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

fn split_commas(text: &str) -> Vec<&str> {
    let (mut depth, mut from, mut out) = (0, 0, Vec::new());
    for (i, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                out.push(text[from..i].trim());
                from = i + 1;
            }
            _ => {}
        }
    }
    out.push(text[from..].trim());
    out
}

/// `extern __shared__ T name[];` → `T *name = (T *)ww_dynamic_shared;`
fn dynamic_shared(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("extern __shared__") {
        let after = &rest[at + "extern __shared__".len()..];
        let parts = after.find(';').and_then(|end| {
            let declaration = after[..end].trim().strip_suffix("[]")?.trim_end();
            let name_at = declaration.rfind(|c: char| !(c.is_alphanumeric() || c == '_'))? + 1;
            let (ty, name) = declaration.split_at(name_at);
            Some((ty.trim(), name, end))
        });
        out.push_str(&rest[..at]);
        match parts {
            Some((ty, name, end)) => {
                out.push_str(&format!("{ty} *{name} = ({ty} *)ww_dynamic_shared;"));
                rest = &after[end + 1..];
            }
            None => {
                out.push_str("extern __shared__");
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_and_dynamic_shared_memory_are_rewritten() {
        assert_eq!(
            rewrite("  k<<<grid, dim3(2, 3)>>>(a, f(b), 1);\n"),
            "  ww_launch(grid, dim3(2, 3), 0, 0, [=]() { k(a, f(b), 1); });\n"
        );
        assert_eq!(
            rewrite("if (n) t<int, 4><<<(n + 1) / 2, 256, s * 4, st>>> (p); x << 3; y <<<"),
            "if (n) ww_launch((n + 1) / 2, 256, s * 4, st, [=]() { t<int, 4>(p); }); x << 3; y <<<"
        );
        assert_eq!(
            rewrite("extern __shared__ unsigned char buf[];"),
            "unsigned char *buf = (unsigned char *)ww_dynamic_shared;"
        );
    }
}
