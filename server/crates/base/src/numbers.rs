//! Whole numbers.

/// The greatest common divisor, never negative; of 0 and a number, that number's size.
pub fn gcd(a: i128, b: i128) -> i128 {
    let (mut a, mut b) = (a.abs(), b.abs());
    // Nearly all numbers are small, and division of large ones is slow.
    if let (Ok(mut x), Ok(mut y)) = (u64::try_from(a), u64::try_from(b)) {
        while y != 0 {
            (x, y) = (y, x % y);
        }
        return i128::from(x);
    }
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::gcd;

    #[test]
    fn divisors() {
        assert_eq!((gcd(12, -18), gcd(0, -7), gcd(0, 0)), (6, 7, 0));
        let large = 1i128 << 100;
        assert_eq!(gcd(3 * large, 2 * large), large);
    }
}
