//! Numbers and characters as C# writes them.

use term::{FloatKind, IntKind};

/// The value of a whole number, and the first type that holds it (C# 6.4.5.3).
pub(super) fn integer(text: &str) -> Option<(i128, IntKind)> {
    let plain: String = text.trim().chars().filter(|c| *c != '_').collect();
    let lower = plain.to_ascii_lowercase();
    let (digits, radix) = match (lower.strip_prefix("0x"), lower.strip_prefix("0b")) {
        (Some(hex), _) => (hex, 16),
        (_, Some(binary)) => (binary, 2),
        _ => (&*lower, 10),
    };
    let number = digits.trim_end_matches(['u', 'l']);
    let suffix = &digits[number.len()..];
    let value = i128::from_str_radix(number, radix).ok().filter(|_| !number.starts_with(['+', '-']))?;
    let kinds: &[IntKind] = match suffix {
        "" => &[IntKind::Int, IntKind::UInt, IntKind::LongLong, IntKind::ULongLong],
        "u" => &[IntKind::UInt, IntKind::ULongLong],
        "l" => &[IntKind::LongLong, IntKind::ULongLong],
        "ul" | "lu" => &[IntKind::ULongLong],
        _ => return None,
    };
    let kind = kinds.iter().copied().find(|&k| value <= IntKind::max(k))?;
    Some((value, kind))
}

/// The value of a floating number, rounded to its type; none of a `decimal`.
pub(super) fn real(text: &str) -> Option<(f64, FloatKind)> {
    let plain: String = text.chars().filter(|c| *c != '_').collect();
    match plain.chars().last()? {
        'f' | 'F' => {
            let v: f32 = plain[..plain.len() - 1].parse().ok()?;
            Some((f64::from(v), FloatKind::F32))
        }
        'd' | 'D' => Some((plain[..plain.len() - 1].parse().ok()?, FloatKind::F64)),
        'm' | 'M' => None,
        _ => Some((plain.parse().ok()?, FloatKind::F64)),
    }
}

/// The number of a character: a unit of UTF-16.
pub(super) fn character(text: &str) -> Option<i128> {
    let inner = text.strip_prefix('\'')?.strip_suffix('\'')?;
    let mut chars = inner.chars();
    let first = chars.next()?;
    if first != '\\' {
        let unit = u32::from(first);
        return (chars.next().is_none() && unit <= 0xffff).then_some(i128::from(unit));
    }
    let escape = chars.next()?;
    let rest: String = chars.collect();
    let simple = match escape {
        '\'' => 0x27,
        '"' => 0x22,
        '\\' => 0x5c,
        '0' => 0,
        'a' => 7,
        'b' => 8,
        'e' => 0x1b,
        'f' => 12,
        'n' => 10,
        'r' => 13,
        't' => 9,
        'v' => 11,
        'u' | 'x' => return i128::from_str_radix(&rest, 16).ok().filter(|v| (0..=0xffff).contains(v)),
        _ => return None,
    };
    rest.is_empty().then_some(simple)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_first_type_that_holds_them() {
        assert_eq!(integer("2_147_483_647"), Some((2_147_483_647, IntKind::Int)));
        assert_eq!(integer("2147483648"), Some((2_147_483_648, IntKind::UInt)));
        assert_eq!(integer("0xFFFF_FFFFUL"), Some((0xffff_ffff, IntKind::ULongLong)));
        assert_eq!(integer("0b101L"), Some((5, IntKind::LongLong)));
        assert_eq!(integer("99999999999999999999"), None);
        assert_eq!(integer("-1"), None);
        assert_eq!(real("1.5f"), Some((1.5, FloatKind::F32)));
        assert_eq!(real("1e3"), Some((1000.0, FloatKind::F64)));
        assert_eq!(real("3m"), None);
        assert_eq!(character("'\\n'"), Some(10));
        assert_eq!(character("'\\u0041'"), Some(65));
        assert_eq!(character("'ä'"), Some(0xe4));
        assert_eq!(character("'ab'"), None);
    }
}
