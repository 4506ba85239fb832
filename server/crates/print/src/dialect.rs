//! Dialects as rows: the words in which languages that write expressions alike differ.

use term::{strength, FloatKind, IntKind};

/// A language that is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dialect {
    /// What C calls `_Bool`.
    pub truth: &'static str,
    /// What C calls `restrict`.
    pub restrict: &'static str,
    /// Suffixes of integer constants, of types that have one.
    pub suffixes: &'static [(IntKind, &'static str)],
    /// Integer types that are not called as in C.
    pub names: &'static [(IntKind, &'static str)],
}

const SUFFIXES: &[(IntKind, &str)] = &[
    (IntKind::UInt, "u"),
    (IntKind::Long, "l"),
    (IntKind::ULong, "ul"),
    (IntKind::LongLong, "ll"),
    (IntKind::ULongLong, "ull"),
];

/// C11.
pub const C: Dialect = Dialect { truth: "_Bool", restrict: "restrict", suffixes: SUFFIXES, names: &[] };
/// CUDA C++ and HIP C++.
pub const CPP: Dialect = Dialect { truth: "bool", restrict: "__restrict__", suffixes: SUFFIXES, names: &[] };
/// C#, whose `long` has 64 bits everywhere.
pub const CSHARP: Dialect = Dialect {
    truth: "bool",
    restrict: "",
    suffixes: &[
        (IntKind::UInt, "u"),
        (IntKind::Long, "L"),
        (IntKind::ULong, "UL"),
        (IntKind::LongLong, "L"),
        (IntKind::ULongLong, "UL"),
    ],
    names: &[
        (IntKind::Char, "sbyte"),
        (IntKind::SChar, "sbyte"),
        (IntKind::UChar, "byte"),
        (IntKind::UShort, "ushort"),
        (IntKind::UInt, "uint"),
        (IntKind::ULong, "ulong"),
        (IntKind::LongLong, "long"),
        (IntKind::ULongLong, "ulong"),
    ],
};

impl Dialect {
    /// An integer type.
    pub fn int_name(&self, kind: IntKind) -> &'static str {
        match kind {
            IntKind::Bool => self.truth,
            k => self.names.iter().find(|n| n.0 == k).map_or(k.c_name(), |n| n.1),
        }
    }
    /// A floating type.
    pub fn float_name(&self, kind: FloatKind) -> &'static str {
        match kind {
            FloatKind::F32 => "float",
            FloatKind::F64 => "double",
            FloatKind::Long => "long double",
        }
    }
    fn suffix(&self, kind: IntKind) -> &'static str {
        self.suffixes.iter().find(|s| s.0 == kind).map_or("", |s| s.1)
    }
}

/// An integer constant of a type, and how tightly it binds. The smallest value of a signed type has no literal of its own.
pub fn integer(d: &Dialect, v: i128, kind: IntKind) -> (String, u8) {
    let suffix = d.suffix(kind);
    let v = kind.wrap(v);
    if v < 0 && v == kind.min() && kind.promoted() == kind {
        return (format!("-{}{suffix} - 1", -(v + 1)), strength::ADD);
    }
    (format!("{v}{suffix}"), if v < 0 { strength::UNARY } else { strength::ATOM })
}

/// A floating constant that reads back as the same value, without headers.
pub fn float(v: f64, kind: FloatKind) -> (String, u8) {
    let suffix = match kind {
        FloatKind::F32 => "f",
        FloatKind::F64 => "",
        FloatKind::Long => "l",
    };
    if v.is_nan() {
        return (format!("(0.0{suffix} / 0.0{suffix})"), strength::ATOM);
    }
    if v.is_infinite() {
        let sign = if v < 0.0 { "-" } else { "" };
        return (format!("({sign}1.0{suffix} / 0.0{suffix})"), strength::ATOM);
    }
    // Rust prints the shortest decimal that reads back as the same value of the type.
    let digits = if kind == FloatKind::F32 { format!("{:?}", v as f32) } else { format!("{v:?}") };
    let binds = if v.is_sign_negative() { strength::UNARY } else { strength::ATOM };
    (format!("{digits}{suffix}"), binds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_read_back() {
        assert_eq!(float(0.1f32 as f64, FloatKind::F32).0, "0.1f");
        assert_eq!(float(1.0, FloatKind::F64).0, "1.0");
        assert_eq!(float(1e300, FloatKind::F64).0, "1e300");
        assert_eq!(float(-0.0, FloatKind::F64).0, "-0.0");
        assert_eq!(float(f64::INFINITY, FloatKind::F32).0, "(1.0f / 0.0f)");
        assert_eq!(integer(&C, -2147483648, IntKind::Int).0, "-2147483647 - 1");
        assert_eq!(integer(&C, 5, IntKind::ULong).0, "5ul");
        assert_eq!(integer(&C, -1, IntKind::UInt).0, "4294967295u");
        assert_eq!((C.int_name(IntKind::Bool), CPP.int_name(IntKind::Bool)), ("_Bool", "bool"));
    }
}
