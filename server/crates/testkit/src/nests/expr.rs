//! Expressions: subscripts, data, conditions.

use super::{Array, Place, Ty};
use crate::rng::Rng;

/// An integer variable that subscripts may use.
#[derive(Clone, Debug)]
pub(super) struct Index {
    pub name: String,
    pub ty: Ty,
    /// The parameter that bounds it, if one does simply.
    pub bound: Option<String>,
}

/// The state of the generation of one function.
pub(super) struct Gen {
    pub rng: Rng,
    /// Statements that may still be made.
    pub left: usize,
    pub sizes: Vec<Index>,
    pub arrays: Vec<Array>,
    pub scalars: Vec<(String, Ty)>,
    /// Indices declared at the top of the function.
    pub outside: Vec<(String, Ty)>,
    pub indices: Vec<Index>,
    /// Variables declared in bodies: name, type, number of loops around.
    pub locals: Vec<(String, Ty, usize)>,
    pub loops: usize,
    /// Whether there is an array `w[4]` at the top of the function.
    pub scratch: bool,
    /// Whether most writes go where no other iteration writes.
    pub tidy: bool,
    /// Whether there are statements that programs seldom have.
    pub odd: bool,
    /// Whether there are loops and subscripts in other forms than the plain ones.
    pub forms: bool,
    /// Whether there are reductions and work arrays of the kinds in `patterns`.
    pub patterns: bool,
    /// The variable whose value is returned.
    pub returns: Option<(String, Ty)>,
    next: usize,
}

impl Gen {
    pub fn new(rng: Rng, size: usize) -> Gen {
        Gen {
            rng,
            left: size,
            sizes: Vec::new(),
            arrays: Vec::new(),
            scalars: Vec::new(),
            outside: Vec::new(),
            indices: Vec::new(),
            locals: Vec::new(),
            loops: 0,
            scratch: false,
            tidy: false,
            odd: false,
            forms: false,
            patterns: false,
            returns: None,
            next: 0,
        }
    }

    pub fn fresh(&mut self, prefix: &str) -> String {
        self.next += 1;
        format!("{prefix}{}", self.next)
    }

    pub fn size_name(&mut self) -> String {
        let usable: Vec<String> =
            self.sizes.iter().filter(|s| s.name != "k").map(|s| s.name.clone()).collect();
        self.rng.pick(&usable).clone()
    }

    pub fn index_name(&mut self) -> String {
        match self.indices.is_empty() {
            true => "0".to_owned(),
            false => self.rng.pick(&self.indices).name.clone(),
        }
    }

    /// An index or, sometimes, a parameter.
    fn some_index(&mut self) -> String {
        if self.indices.is_empty() || self.rng.chance(12) {
            let all = self.sizes.clone();
            return self.rng.pick(&all).name.clone();
        }
        // the innermost is the likeliest
        if self.rng.chance(55) {
            return self.indices.last().map(|i| i.name.clone()).unwrap_or_default();
        }
        self.index_name()
    }

    /// `i + 1`, `2 * i - j`, `n - i`, …: with up to `terms` variables.
    pub fn affine(&mut self, terms: usize) -> String {
        let i = self.some_index();
        let mut out = match self.rng.below(12) {
            0 => format!("2 * {i}"),
            1 => format!("3 * {i}"),
            2 => {
                let n = self.size_name();
                return format!("{n} - 1 - {i}");
            }
            3 => {
                let n = self.size_name();
                format!("{i} + {n}")
            }
            4 => return self.rng.between(0, 3).to_string(),
            5 => format!("(int){i}"),
            _ => i,
        };
        if terms > 1 && self.rng.chance(30) {
            let j = self.some_index();
            out = match self.rng.below(3) {
                0 => format!("{out} - {j}"),
                _ => format!("{out} + {j}"),
            };
        }
        if self.rng.chance(40) {
            let c = self.rng.between(-3, 3);
            out = match c {
                0 => out,
                c if c < 0 => format!("{out} - {}", -c),
                c => format!("{out} + {c}"),
            };
        }
        out
    }

    /// A subscript for a dimension of `length` (a parameter's name, a constant, or any).
    fn subscript(&mut self, length: Option<&str>) -> String {
        // prefer an index that runs over this dimension
        if let Some(l) = length {
            let fit: Vec<String> = self
                .indices
                .iter()
                .filter(|i| i.bound.as_deref() == Some(l))
                .map(|i| i.name.clone())
                .collect();
            if !fit.is_empty() && self.rng.chance(75) {
                let i = self.rng.pick(&fit).clone();
                return match self.rng.below(8) {
                    0 => format!("{i} - 1"),
                    1 => format!("{i} + 1"),
                    _ => i,
                };
            }
            return self.affine(1);
        }
        match self.rng.below(30) {
            0 => format!("({}) % 3", self.affine(1)),
            1 => format!("{} / 2", self.some_index()),
            2 => format!("({}) & 7", self.affine(1)),
            3 | 4 => match self.arrays.iter().find(|a| a.subscripts).map(|a| a.name.clone()) {
                Some(p) => {
                    let i = self.affine(1);
                    format!("{p}[{i}]")
                }
                None => self.affine(2),
            },
            5..=12 if self.indices.len() > 1 => {
                // a row and a column
                let n = self.size_name();
                let (i, j) = (self.index_name(), self.index_name());
                let row = match self.rng.below(5) {
                    0 => format!("({i} + 1) * {n}"),
                    1 => format!("{n} * {i}"),
                    _ => format!("{i} * {n}"),
                };
                match self.rng.below(6) {
                    0 => format!("{row} + {j} + 1"),
                    1 => format!("{row} - 1 + {j}"),
                    _ => format!("{row} + {j}"),
                }
            }
            _ => self.affine(2),
        }
    }

    pub fn element(&mut self, a: &Array) -> String {
        let mut out = a.name.clone();
        match &a.place {
            Place::Pointer { .. } => {
                let s = self.subscript(None);
                if self.rng.chance(4) {
                    // in parentheses: `++` may follow
                    return format!("(*({out} + ({s})))");
                }
                out += &format!("[{s}]");
            }
            Place::Pairs => {
                let s = self.subscript(None);
                let f = *self.rng.pick(&["x", "y"]);
                out += &format!("[{s}].{f}");
            }
            Place::Variable { lengths, .. } => {
                for l in lengths {
                    let s = self.subscript(Some(l));
                    out += &format!("[{s}]");
                }
            }
            Place::Global { lengths } => {
                for l in lengths {
                    let s = if lengths.len() == 1 { self.subscript(None) } else { self.affine(1) };
                    // keep clear of the beginning
                    if self.rng.chance(85) {
                        out += &format!("[{s} + {}]", (l / 6).min(30));
                    } else {
                        out += &format!("[{s}]");
                    }
                }
            }
        }
        out
    }

    fn array(&mut self, write: bool) -> Array {
        let all: Vec<Array> = self.arrays.iter().filter(|a| !(write && a.subscripts)).cloned().collect();
        if self.tidy && self.rng.chance(80) {
            // results go to the first, operands come from the others
            let first = if write { all.first() } else { all.iter().skip(1).last() };
            if let Some(a) = first {
                return a.clone();
            }
        }
        self.rng.pick(&all).clone()
    }

    /// Something to write to.
    pub fn place(&mut self) -> String {
        let a = self.array(true);
        if self.tidy && self.rng.chance(85) {
            if let Some(p) = self.own_place(&a) {
                return p;
            }
        }
        self.element(&a)
    }

    /// An element that differs in every iteration of all loops around: `a[i]`, `a[i * n + j]`, `a[i][j]`.
    fn own_place(&mut self, a: &Array) -> Option<String> {
        let all = self.indices.clone();
        let name = &a.name;
        let first = all.first()?;
        let n = all.last().and_then(|i| i.bound.clone()).unwrap_or_else(|| "n".to_owned());
        let last = |l: &Index| l.name.clone();
        Some(match (&a.place, all.as_slice()) {
            (Place::Pointer { .. }, [i]) => match self.rng.below(6) {
                0 => format!("{name}[{} + {}]", i.name, self.rng.between(1, 3)),
                1 => format!("{name}[2 * {}]", i.name),
                _ => format!("{name}[{}]", i.name),
            },
            (Place::Pointer { .. }, [i, j]) => format!("{name}[{} * {n} + {}]", i.name, j.name),
            (Place::Pointer { .. }, [i, j, k]) => {
                format!("{name}[({} * {n} + {}) * {n} + {}]", i.name, j.name, k.name)
            }
            (Place::Pairs, [i]) => {
                let f = *self.rng.pick(&["x", "y"]);
                format!("{name}[{}].{f}", i.name)
            }
            (Place::Variable { lengths, .. }, is) => {
                let mut out = name.clone();
                for d in 0..lengths.len() {
                    let i = is.get(d).map_or_else(|| self.rng.between(0, 1).to_string(), last);
                    out += &format!("[{i}]");
                }
                out
            }
            (Place::Global { lengths }, is) => {
                let mut out = name.clone();
                for d in 0..lengths.len() {
                    let i = is.get(d).map_or_else(|| "1".to_owned(), last);
                    out += &format!("[{i}]");
                }
                out
            }
            _ => format!("{name}[{}]", first.name),
        })
        .filter(|_| !matches!(a.place, Place::Pairs) || all.len() == 1)
    }

    /// An element whose place does not depend on the innermost index.
    pub fn fixed_place(&mut self) -> (String, Ty) {
        let a = self.array(true);
        let inner = self.indices.pop();
        let p = self.element(&a);
        self.indices.extend(inner);
        (p, a.ty)
    }

    pub fn leaf(&mut self) -> String {
        match self.rng.below(12) {
            0 => self.rng.between(0, 4).to_string(),
            1 => format!("(double){}", self.some_index()),
            2 if !self.scalars.is_empty() => {
                let all = self.scalars.clone();
                self.rng.pick(&all).0.clone()
            }
            3 if !self.locals.is_empty() => {
                let all = self.locals.clone();
                self.rng.pick(&all).0.clone()
            }
            _ => {
                let a = self.array(false);
                self.element(&a)
            }
        }
    }

    /// Any arithmetic value.
    pub fn data(&mut self, depth: usize) -> String {
        if depth == 0 || self.rng.chance(35) {
            return self.leaf();
        }
        let a = self.data(depth - 1);
        match self.rng.below(10) {
            0..=3 => {
                let b = self.data(depth - 1);
                format!("{a} + {b}")
            }
            4 | 5 => {
                let b = self.leaf();
                format!("{a} - {b}")
            }
            6 => format!("2 * ({a})"),
            7 => format!("fabs({a})"),
            8 => format!("-({a})"),
            _ => {
                let c = self.condition();
                let b = self.leaf();
                format!("({c} ? {a} : {b})")
            }
        }
    }

    pub fn int_arrays(&self) -> Vec<Array> {
        self.arrays.iter().filter(|a| a.ty.is_int()).cloned().collect()
    }

    pub fn int_leaf(&mut self) -> String {
        let arrays = self.int_arrays();
        if !arrays.is_empty() && self.rng.chance(70) {
            let a = self.rng.pick(&arrays).clone();
            return self.element(&a);
        }
        if self.rng.chance(20) {
            return self.rng.between(0, 5).to_string();
        }
        self.some_index()
    }

    /// An integer value that stays small.
    pub fn int_data(&mut self) -> String {
        let a = self.int_leaf();
        match self.rng.below(5) {
            0 => format!("({a} & 15)"),
            1 => {
                let b = self.some_index();
                format!("{a} + {b}")
            }
            2 => format!("({a} > 2)"),
            _ => a,
        }
    }

    /// A condition on indices or on data.
    pub fn condition(&mut self) -> String {
        let i = self.some_index();
        let c = match self.rng.below(14) {
            0 => format!("{i} != 0"),
            1 => format!("{i} > 1"),
            2 => format!("{i} % 2 == 0"),
            3 | 4 => {
                let j = self.some_index();
                let op = *self.rng.pick(&["<", "<=", ">", "==", "!="]);
                format!("{i} {op} {j}")
            }
            5 => {
                let n = self.size_name();
                format!("{i} < {n} - 1")
            }
            6 => {
                let j = self.some_index();
                let n = self.size_name();
                format!("{i} + {j} < {n}")
            }
            7..=11 => {
                let a = self.array(false);
                let e = self.element(&a);
                let op = *self.rng.pick(&["<", ">", ">=", "!="]);
                format!("{e} {op} {}", self.rng.between(0, 8))
            }
            _ => match self.scalars.is_empty() {
                true => format!("{i} == 2"),
                false => {
                    let all = self.scalars.clone();
                    format!("{} > {}", self.rng.pick(&all).0, self.rng.between(0, 6))
                }
            },
        };
        match self.rng.below(20) {
            0 => {
                let j = self.some_index();
                format!("{c} && {j} > 0")
            }
            1 => {
                let j = self.some_index();
                format!("{c} || {j} == 3")
            }
            2 => format!("!({c})"),
            _ => c,
        }
    }
}
