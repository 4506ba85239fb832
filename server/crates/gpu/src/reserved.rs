//! Words that cannot name anything in a kernel.

use term::device::Word;

/// C++ keywords that C does not have, and what compilers' own headers put at file scope (ISO C++17 [lex.key]). Sorted.
const RESERVED: &[&str] = &[
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "bitand",
    "bitor",
    "bool",
    "catch",
    "char16_t",
    "char32_t",
    "char8_t",
    "class",
    "clock",
    "co_await",
    "co_return",
    "co_yield",
    "compl",
    "concept",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "decltype",
    "delete",
    "dynamic_cast",
    "explicit",
    "export",
    "false",
    "friend",
    "linux",
    "max",
    "min",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "reinterpret_cast",
    "requires",
    "static_assert",
    "static_cast",
    "std",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typeid",
    "typename",
    "unix",
    "using",
    "virtual",
    "wchar_t",
    "xor",
    "xor_eq",
];

/// Whether a word means something else in a kernel, in C++ for whatever device.
pub fn is_reserved(name: &str) -> bool {
    let value = |w: &(&str, Word)| w.0 == name && matches!(w.1, Word::Index(_) | Word::Lanes);
    RESERVED.binary_search(&name).is_ok()
        || crate::ALL.iter().any(|r| r.words().any(value) || r.reserved.binary_search(&name).is_ok())
        || name.starts_with("__")
        || term::intrinsic(name).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted() {
        assert!(RESERVED.windows(2).all(|w| w[0] < w[1]), "{RESERVED:?}");
        assert!(crate::ALL.iter().all(|r| r.reserved.windows(2).all(|w| w[0] < w[1])));
        assert!(is_reserved("threadIdx") && is_reserved("__x") && is_reserved("sqrt") && !is_reserved("i"));
    }
}
