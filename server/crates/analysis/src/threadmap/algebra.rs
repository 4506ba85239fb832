//! Exact linear algebra over the rationals: reduced echelon forms and null spaces of small matrices.
//!
//! Everything is checked: beyond 128 bits the answer is `None`, and the caller then knows nothing.

/// A fraction in lowest terms, the denominator positive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Frac {
    pub num: i128,
    pub den: i128,
}

impl Frac {
    pub(super) const ZERO: Frac = Frac { num: 0, den: 1 };
    pub(super) const ONE: Frac = Frac { num: 1, den: 1 };

    pub(super) fn int(n: i128) -> Frac {
        Frac { num: n, den: 1 }
    }
    fn new(num: i128, den: i128) -> Option<Frac> {
        if den == 0 {
            return None;
        }
        let g = base::gcd(num.checked_abs()?, den.checked_abs()?).max(1);
        let sign = if den < 0 { -1 } else { 1 };
        Some(Frac { num: (num / g).checked_mul(sign)?, den: (den / g).checked_mul(sign)? })
    }
    pub(super) fn is_zero(self) -> bool {
        self.num == 0
    }
    pub(super) fn add(self, o: Frac) -> Option<Frac> {
        let num = self.num.checked_mul(o.den)?.checked_add(o.num.checked_mul(self.den)?)?;
        Frac::new(num, self.den.checked_mul(o.den)?)
    }
    pub(super) fn neg(self) -> Option<Frac> {
        Some(Frac { num: self.num.checked_neg()?, den: self.den })
    }
    pub(super) fn sub(self, o: Frac) -> Option<Frac> {
        self.add(o.neg()?)
    }
    pub(super) fn mul(self, o: Frac) -> Option<Frac> {
        Frac::new(self.num.checked_mul(o.num)?, self.den.checked_mul(o.den)?)
    }
    pub(super) fn div(self, o: Frac) -> Option<Frac> {
        Frac::new(self.num.checked_mul(o.den)?, self.den.checked_mul(o.num)?)
    }
}

/// Rows of equal length.
pub(super) type Matrix = Vec<Vec<Frac>>;

/// Brings the rows into reduced echelon form, pivots taken in the order of `columns`; zero rows go. Gives the pivot
/// column of each row.
pub(super) fn reduce(m: &mut Matrix, columns: &[usize]) -> Option<Vec<usize>> {
    let mut pivots = Vec::new();
    for &c in columns {
        let top = pivots.len();
        let Some(found) = (top..m.len()).find(|&r| !m[r][c].is_zero()) else { continue };
        m.swap(top, found);
        let lead = m[top][c];
        for x in &mut m[top] {
            *x = x.div(lead)?;
        }
        let pivot_row = m[top].clone();
        for (r, row) in m.iter_mut().enumerate() {
            let by = row[c];
            if r == top || by.is_zero() {
                continue;
            }
            for (x, p) in row.iter_mut().zip(&pivot_row) {
                *x = x.sub(p.mul(by)?)?;
            }
        }
        pivots.push(c);
    }
    m.truncate(pivots.len());
    Some(pivots)
}

/// Number of independent rows.
pub(super) fn rank(mut m: Matrix) -> Option<usize> {
    let n = m.first().map_or(0, Vec::len);
    reduce(&mut m, &(0..n).collect::<Vec<_>>()).map(|p| p.len())
}

/// A basis of the vectors of length `n` that every row of `m` sends to zero.
pub(super) fn null_space(mut m: Matrix, n: usize) -> Option<Matrix> {
    let all: Vec<usize> = (0..n).collect();
    let pivots = reduce(&mut m, &all)?;
    let mut basis = Vec::new();
    for free in all.iter().copied().filter(|c| !pivots.contains(c)) {
        let mut v = vec![Frac::ZERO; n];
        v[free] = Frac::ONE;
        for (row, &p) in m.iter().zip(&pivots) {
            v[p] = row[free].neg()?;
        }
        basis.push(v);
    }
    Some(basis)
}

/// The shortest integer vector on the ray of a rational one.
pub(super) fn primitive(v: &[Frac]) -> Option<Vec<i128>> {
    let mut den = 1i128;
    for x in v {
        den = den.checked_mul(x.den / base::gcd(den, x.den))?;
    }
    let whole: Option<Vec<i128>> = v.iter().map(|x| x.num.checked_mul(den / x.den)).collect();
    let whole = whole?;
    let g = whole.iter().fold(0, |g, x| base::gcd(g, x.abs())).max(1);
    Some(whole.into_iter().map(|x| x / g).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn m(rows: &[&[i128]]) -> Matrix {
        rows.iter().map(|r| r.iter().map(|&x| Frac::int(x)).collect()).collect()
    }

    #[test]
    fn null_spaces_are_orthogonal_and_complete() {
        let a = m(&[&[1, 1, 0, 2], &[2, 2, 1, 0], &[3, 3, 1, 2]]);
        let basis = null_space(a.clone(), 4).unwrap();
        assert_eq!(basis.len(), 2, "the third row is the sum of the others");
        for row in &a {
            for v in &basis {
                let dot = row.iter().zip(v).fold(Frac::ZERO, |s, (x, y)| s.add(x.mul(*y).unwrap()).unwrap());
                assert!(dot.is_zero());
            }
        }
        assert_eq!(rank(a), Some(2));
    }

    #[test]
    fn primitive_vectors_have_no_common_factor() {
        let v = [Frac::new(2, 3).unwrap(), Frac::int(-4), Frac::ZERO];
        assert_eq!(primitive(&v), Some(vec![1, -6, 0]));
    }

    #[test]
    fn overflow_is_given_up() {
        let big = Frac::int(i128::MAX);
        assert_eq!(big.mul(big), None);
        assert_eq!(big.add(Frac::ONE), None);
    }
}
