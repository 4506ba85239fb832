//! Literals: values and types as C11 6.4.4 has them.

use term::{FloatKind, IntKind};

use crate::c::dialect::Dialect;

/// An integer or character literal.
pub(crate) fn integer(text: &str, dialect: &Dialect) -> Option<(i128, IntKind)> {
    if text.ends_with('\'') {
        return character(text, dialect);
    }
    let lower = text.replace('\'', "").to_ascii_lowercase();
    let (radix, digits) = match lower.as_bytes() {
        [b'0', b'x', ..] => (16, &lower[2..]),
        [b'0', b'b', ..] => (2, &lower[2..]),
        [b'0', _, ..] => (8, &lower[1..]),
        _ => (10, &lower[..]),
    };
    let end = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
    let (digits, suffix) = digits.split_at(end);
    // `0u`: the zero itself is the digit that announced octal.
    let value = if digits.is_empty() && radix == 8 { 0 } else { i128::from_str_radix(digits, radix).ok()? };
    use IntKind::*;
    let (signed, unsigned): (&[IntKind], &[IntKind]) = match suffix {
        "" if radix == 10 => (&[Int, Long, LongLong], &[]),
        "" => (&[Int, UInt, Long, ULong, LongLong, ULongLong], &[]),
        "u" => (&[], &[UInt, ULong, ULongLong]),
        "l" if radix == 10 => (&[Long, LongLong], &[]),
        "l" => (&[Long, ULong, LongLong, ULongLong], &[]),
        "ll" if radix == 10 => (&[LongLong], &[]),
        "ll" => (&[LongLong, ULongLong], &[]),
        "ul" | "lu" => (&[], &[ULong, ULongLong]),
        "ull" | "llu" => (&[], &[ULongLong]),
        _ => return None,
    };
    let kind = signed.iter().chain(unsigned).find(|&&k| value <= IntKind::max(k))?;
    Some((value, *kind))
}

/// A floating literal, rounded to its type.
pub(crate) fn floating(text: &str) -> Option<(f64, FloatKind)> {
    let lower = text.replace('\'', "").to_ascii_lowercase();
    let hex = lower.starts_with("0x");
    let (digits, kind) = match lower.as_bytes().last()? {
        b'f' if !hex || lower.contains('p') => (&lower[..lower.len() - 1], FloatKind::F32),
        b'l' => (&lower[..lower.len() - 1], FloatKind::Long),
        _ => (&lower[..], FloatKind::F64),
    };
    if hex {
        let v = hex_float(&digits[2..])?;
        return Some((if kind == FloatKind::F32 { f64::from(v as f32) } else { v }, kind));
    }
    if !digits.contains(['.', 'e']) || !digits.bytes().all(|b| b.is_ascii_digit() || b".e+-".contains(&b)) {
        return None;
    }
    let value = match kind {
        // Straight to the narrow type: by way of double it would round twice.
        FloatKind::F32 => f64::from(digits.parse::<f32>().ok()?),
        _ => digits.parse::<f64>().ok()?,
    };
    Some((value, kind))
}

/// `1.8p3` without its `0x`; only where the value is exact.
fn hex_float(text: &str) -> Option<f64> {
    let (mantissa, exponent) = text.split_once('p')?;
    let exponent: i32 = exponent.parse().ok()?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let bits = u64::from_str_radix(&digits, 16).ok()?;
    let scale = exponent.checked_sub(i32::try_from(fraction.len()).ok()?.checked_mul(4)?)?;
    if bits >= 1 << 53 || scale.abs() > 1000 {
        return None;
    }
    let value = bits as f64 * 2f64.powi(scale);
    value.is_normal().then_some(value).or((bits == 0).then_some(0.0))
}

fn character(text: &str, dialect: &Dialect) -> Option<(i128, IntKind)> {
    // Wide ones have types of their own, multi-character ones values of the compiler's choice.
    let inner = text.strip_prefix('\'')?.strip_suffix('\'')?;
    let bytes = unescape(inner)?;
    let [only] = bytes.as_slice() else { return None };
    let kind = if dialect.cpp { IntKind::Char } else { IntKind::Int };
    Some((i128::from(*only as i8), kind))
}

/// The bytes of a literal's inside.
fn unescape(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let b = text.as_bytes();
    let mut i = 0;
    while let Some(&c) = b.get(i) {
        i += 1;
        if c != b'\\' {
            out.push(c);
            continue;
        }
        let e = *b.get(i)?;
        i += 1;
        out.push(match e {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'a' => 7,
            b'b' => 8,
            b'f' => 12,
            b'v' => 11,
            b'e' => 27,
            b'\\' | b'\'' | b'"' | b'?' => e,
            b'0'..=b'7' => {
                let mut v = u32::from(e - b'0');
                for _ in 0..2 {
                    match b.get(i) {
                        Some(d @ b'0'..=b'7') => {
                            v = v * 8 + u32::from(d - b'0');
                            i += 1;
                        }
                        _ => break,
                    }
                }
                u8::try_from(v).ok()?
            }
            b'x' => {
                let start = i;
                while b.get(i).is_some_and(u8::is_ascii_hexdigit) {
                    i += 1;
                }
                u8::from_str_radix(text.get(start..i)?, 16).ok()?
            }
            b'\n' => continue,
            _ => return None,
        });
    }
    Some(out)
}

/// A narrow string literal's value, if it is text.
pub(crate) fn string(text: &str) -> Option<String> {
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    String::from_utf8(unescape(inner)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::c::dialect;

    #[test]
    fn integers_have_the_types_of_c11() {
        let check = |t: &str, v: i128, k: IntKind| assert_eq!(integer(t, &dialect::C), Some((v, k)), "{t}");
        check("0", 0, IntKind::Int);
        check("0u", 0, IntKind::UInt);
        check("017", 15, IntKind::Int);
        check("2147483647", 2147483647, IntKind::Int);
        check("2147483648", 2147483648, IntKind::Long);
        check("0x80000000", 0x8000_0000, IntKind::UInt);
        check("0xFFFFFFFFFFFFFFFF", u64::MAX as i128, IntKind::ULong);
        check("1ull", 1, IntKind::ULongLong);
        check("1LL", 1, IntKind::LongLong);
        check("'a'", 97, IntKind::Int);
        check("'\\n'", 10, IntKind::Int);
        check("'\\377'", -1, IntKind::Int);
        check("'\\0'", 0, IntKind::Int);
        for bad in ["08", "'ab'", "L'a'", "1.0", "99999999999999999999", "", "0xg", "1z"] {
            assert_eq!(integer(bad, &dialect::C), None, "{bad}");
        }
        assert_eq!(integer("'a'", &crate::cuda::DIALECT), Some((97, IntKind::Char)));
    }

    #[test]
    fn floats_are_rounded_once() {
        let check = |t: &str, v: f64, k: FloatKind| assert_eq!(floating(t), Some((v, k)), "{t}");
        check("1e-3f", f64::from(1e-3f32), FloatKind::F32);
        check("1.", 1.0, FloatKind::F64);
        check(".5", 0.5, FloatKind::F64);
        check("1E5", 1e5, FloatKind::F64);
        check("1e5f", 1e5, FloatKind::F32);
        check("0x1.8p1", 3.0, FloatKind::F64);
        check("2.5L", 2.5, FloatKind::Long);
        for bad in ["1", "1f", "0x1", "inf.", "1e", "nan.e", "0x1p"] {
            assert_eq!(floating(bad), None, "{bad}");
        }
    }
}
