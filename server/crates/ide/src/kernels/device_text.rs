//! The part of a CUDA file that a compiler of kernels takes: functions of the host are blank, and so is what is included, each line in
//! its place.
//!
//! NVRTC has no headers. What standard ones define and kernels use stands before the first line; a file's own headers are refused, for
//! they may decide what its text means.

use base::Span;

use crate::Doc;

/// Names of standard headers that kernels use, and what defines them.
const KNOWN: [(&str, &str); 22] = [
    ("int8_t", "typedef signed char int8_t;"),
    ("uint8_t", "typedef unsigned char uint8_t;"),
    ("int16_t", "typedef short int16_t;"),
    ("uint16_t", "typedef unsigned short uint16_t;"),
    ("int32_t", "typedef int int32_t;"),
    ("uint32_t", "typedef unsigned int uint32_t;"),
    ("int64_t", "typedef long int64_t;"),
    ("uint64_t", "typedef unsigned long uint64_t;"),
    ("CHAR_BIT", "#define CHAR_BIT 8"),
    ("INT_MAX", "#define INT_MAX 2147483647"),
    ("INT_MIN", "#define INT_MIN (-2147483647 - 1)"),
    ("UINT_MAX", "#define UINT_MAX 4294967295U"),
    ("LLONG_MAX", "#define LLONG_MAX 9223372036854775807LL"),
    ("ULLONG_MAX", "#define ULLONG_MAX 18446744073709551615ULL"),
    ("FLT_MAX", "#define FLT_MAX 3.402823466e+38F"),
    ("FLT_MIN", "#define FLT_MIN 1.175494351e-38F"),
    ("FLT_EPSILON", "#define FLT_EPSILON 1.192092896e-07F"),
    ("DBL_MAX", "#define DBL_MAX 1.7976931348623158e+308"),
    ("DBL_MIN", "#define DBL_MIN 2.2250738585072014e-308"),
    ("DBL_EPSILON", "#define DBL_EPSILON 2.2204460492503131e-16"),
    ("M_PI", "#define M_PI 3.14159265358979323846"),
    ("M_PI_2", "#define M_PI_2 1.57079632679489661923"),
];

/// Words that make a text outside of functions the device's.
const DEVICE: [&str; 5] = ["__device__", "__global__", "__constant__", "__shared__", "__managed__"];

/// The text. `Err`: a phrase.
pub(super) fn of(doc: &Doc) -> Result<String, String> {
    let unit = doc.unit();
    if let Some(own) = unit.headers.iter().find(|h| !h.is_system()) {
        return Err(format!(
            "the file includes {:?}, and headers of its own are not sent along yet: put what the kernel needs into the file",
            own.name()
        ));
    }
    let source = doc.source();
    let mut out = source.as_bytes().to_vec();
    let functions = unit.items.iter().filter(|i| i.kind == front::ItemKind::Function);
    let hosts = functions.filter(|i| !i.is_kernel && !i.is_device).chain(&unit.lenders).map(|i| i.span);
    // C++ that is not read, and is none of the device's
    let declared = unit.items.iter().filter(|i| i.kind == front::ItemKind::Declarations);
    let declared = declared.filter(|i| i.body.rejects().next().is_some()).map(|i| i.span);
    let unread = unit.rejects.iter().map(|r| r.span).chain(declared).filter(|s| {
        let text = doc.slice(*s);
        !DEVICE.iter().any(|w| text.contains(w)) && !is_template_of_types(text)
    });
    hosts.chain(unread).for_each(|span| blank(&mut out, source, span));
    let mut at = 0;
    for line in source.split_inclusive('\n') {
        let directive = line.trim_start().strip_prefix('#').map(str::trim_start);
        if directive.is_some_and(|d| d.starts_with("include")) {
            fill(&mut out, at..at + line.len());
        }
        at += line.len();
    }
    let text = String::from_utf8(out).map_err(|_| "its text could not be cut".to_owned())?;
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let used = |name: &str| text.split(|c| !is_word(c)).any(|w| w == name);
    let before: Vec<String> =
        KNOWN.iter().filter(|k| used(k.0)).map(|(name, says)| guarded(name, says)).collect();
    match before.is_empty() {
        true => Ok(text),
        false => Ok(format!("{}#line 1\n{text}", before.concat())),
    }
}

/// Whether it is a template of types or values, which kernels may use; not one of functions.
fn is_template_of_types(text: &str) -> bool {
    let Some(rest) = text.trim_start().strip_prefix("template") else { return false };
    let mut depth = 0;
    let end = rest.find(|c| {
        depth += i32::from(c == '<') - i32::from(c == '>');
        c == '>' && depth == 0
    });
    let declared = end.and_then(|end| rest.get(end + 1..)).unwrap_or("").trim_start();
    ["struct", "class", "union", "using", "constexpr"].iter().any(|w| declared.starts_with(w))
}

fn guarded(name: &str, says: &str) -> String {
    match says.starts_with('#') {
        true => format!("#ifndef {name}\n{says}\n#endif\n"),
        false => format!("{says}\n"),
    }
}

/// Blanks a span but for its directives, which other lines may need.
fn blank(out: &mut [u8], source: &str, span: Span) {
    let mut at = span.start as usize;
    for line in source.get(span.range()).unwrap_or("").split_inclusive('\n') {
        if !line.trim_start().starts_with('#') {
            fill(out, at..at + line.len());
        }
        at += line.len();
    }
}

fn fill(out: &mut [u8], range: std::ops::Range<usize>) {
    let bytes = out.get_mut(range).into_iter().flatten();
    bytes.filter(|b| **b != b'\n').for_each(|b| *b = b' ');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> String {
        let text = text::Text::new(text).expect("short");
        of(&Doc::open(crate::Language::Cuda, "k.cu", text, Default::default())).expect("no headers")
    }

    #[test]
    fn the_host_is_blank_and_lines_stay() {
        let text = cut("\
#include <cstdio>
#define N 4
__device__ float half(float x) { return x / 2; }
__host__ __device__ float twice(float x) { return x * 2; }
__global__ void k(float *x) { x[threadIdx.x] = half(twice(x[0])); }
template <typename T> void fill(std::vector<T> &v) { for (auto &x : v) x = T(1); }
class Timer { std::vector<float> t; public: void start() { t.clear(); } };
static void check(int e) {
#ifdef LOUD
    printf(\"%d\", e);
#endif
}
int main() { float *d; cudaMalloc(&d, N); k<<<1, N>>>(d); return 0; }
");
        expect_test::expect![[r#"

            #define N 4
            __device__ float half(float x) { return x / 2; }
            __host__ __device__ float twice(float x) { return x * 2; }
            __global__ void k(float *x) { x[threadIdx.x] = half(twice(x[0])); }



            #ifdef LOUD

            #endif


        "#]]
        .assert_eq(&text.lines().map(|l| format!("{}\n", l.trim_end())).collect::<String>());
    }

    #[test]
    fn templates_of_the_host() {
        assert!(is_template_of_types("template <int N, class T = V<1>> struct V { T x[N]; };"));
        for function in
            ["template <class T> void fill(std::vector<T> &v) { }", "class Timer { };", "template"]
        {
            assert!(!is_template_of_types(function), "{function}");
        }
    }

    #[test]
    fn names_of_standard_headers_are_there() {
        let text = cut("#include <stdint.h>\n__global__ void k(uint32_t *x) { x[0] = INT_MAX; }\n");
        assert!(text.starts_with("typedef unsigned int uint32_t;\n#ifndef INT_MAX\n"), "{text}");
        assert!(text.contains("#line 1\n") && !text.contains("uint64_t"), "{text}");
    }
}
