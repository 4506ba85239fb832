//! Integers of lanes: ranges, conversions, quotients, bits, and what comparisons say of each lane.

use term::{BinOp, IntKind, TermId};

use super::form::{gcd, lanes, Form, Mask, LANES};
use super::{Number, Truth, Undecided, Unknown, Unknowns, Val, WarpWalk, Way};

/// What indices and what is made of them do not pass, as is told.
const MOST_INDEX: i128 = i32::MAX as i128;

impl Unknowns {
    /// The least and the most that a sum is in a lane.
    fn range(&self, f: &Form, lane: usize) -> (Option<i128>, Option<i128>) {
        let number = i128::from(f.number().at(lane));
        if let Some([low, high]) = self.bounds.get(&f.rest()) {
            return (Some(low + number), Some(high + number));
        }
        let (mut low, mut high) = (Some(number), Some(number));
        for (m, p) in f.products() {
            let k = i128::from(p.at(lane));
            let (a, b) = self.product(m);
            let (a, b) = (a.and_then(|x| x.checked_mul(k)), b.and_then(|x| x.checked_mul(k)));
            let (a, b) = if k < 0 { (b, a) } else { (a, b) };
            if k != 0 {
                low = low.zip(a).and_then(|(x, y)| x.checked_add(y));
                high = high.zip(b).and_then(|(x, y)| x.checked_add(y));
            }
        }
        (low, high)
    }

    fn product(&self, m: &[super::form::Atom]) -> (Option<i128>, Option<i128>) {
        let each = || m.iter().map(|a| self.list[*a as usize]);
        if let [one] = m {
            let u = self.list[*one as usize];
            return (u.low, u.high);
        }
        if !each().all(|u| u.low.is_some_and(|l| l >= 0)) {
            return (None, None);
        }
        let low = each().try_fold(1i128, |p, u| p.checked_mul(u.low?));
        (low, each().try_fold(1i128, |p, u| p.checked_mul(u.high?)))
    }

    /// Whether a sum lies between two numbers in all lanes of a mask.
    fn within(&self, f: &Form, mask: Mask, low: i128, high: i128) -> bool {
        // one that is made of indices alone: its own most is taken for granted
        let index = !f.is_number() && f.atoms().all(|a| self.list[a as usize].index);
        lanes(mask).all(|l| {
            let (a, b) = self.range(f, l);
            let b = if index { Some(b.map_or(MOST_INDEX, |b| b.min(MOST_INDEX))) } else { b };
            a.is_some_and(|a| a >= low) && b.is_some_and(|b| b <= high)
        })
    }

    /// Whether a sum is 0 or more in all lanes of a mask.
    fn is_positive(&self, f: &Form, mask: Mask) -> bool {
        lanes(mask).all(|l| self.range(f, l).0.is_some_and(|low| low >= 0))
    }

    /// Whether it is one number for all lanes.
    pub(super) fn is_alike(&self, f: &Form) -> bool {
        f.is_flat() && f.atoms().all(|a| self.is_shared(a))
    }
    /// Whether what memory holds decides it.
    fn by_data(&self, f: &Form) -> bool {
        f.atoms().any(|a| self.is_data(a))
    }
}

impl WarpWalk<'_> {
    /// A number of a type of which nothing else is known.
    pub(super) fn any_int(&mut self, kind: IntKind, shared: bool, data: bool) -> Val {
        Val::Int(Number { form: self.any_form(Some([kind.min(), kind.max()]), shared, data), exact: true })
    }
    pub(super) fn any_form(&mut self, range: Option<[i128; 2]>, shared: bool, data: bool) -> Form {
        let (low, high) = (range.map(|r| r[0]), range.map(|r| r[1]));
        Form::atom(self.unknowns.add(Unknown { shared, data, low, high, index: false }))
    }
    /// A number of a type, as much alike and as far from memory as what it is made of.
    fn like(&mut self, kind: IntKind, of: &[&Form]) -> Number {
        let shared = of.iter().all(|f| self.unknowns.is_alike(f));
        let data = of.iter().any(|f| self.unknowns.by_data(f));
        let form = self.any_form(Some([kind.min(), kind.max()]), shared, data);
        Number { form, exact: true }
    }

    /// A value as a number of its type.
    pub(super) fn number_of(&mut self, t: TermId, v: Val) -> Option<(Number, IntKind)> {
        let kind = self.body.types.as_int(self.body.ty(t))?;
        let n = match v {
            Val::Int(n) => n,
            Val::Truth(c) => match c.yes | c.no == Mask::MAX {
                true => Number { form: Form::of_lanes(|l| (c.yes >> l & 1).into())?, exact: true },
                false => {
                    let data = c.undecided == Undecided::Data;
                    let shared = c.together && c.yes | c.no == 0;
                    Number { form: self.any_form(Some([0, 1]), shared, data), exact: true }
                }
            },
            _ => return None,
        };
        Some((n, kind))
    }

    /// A number in another type.
    pub(super) fn converted(&mut self, n: Number, from: IntKind, to: IntKind, way: Way) -> Number {
        if from == to {
            return n;
        }
        let fits = n.exact && self.unknowns.within(&n.form, way.may, to.min(), to.max());
        let wider = n.exact && from.min() >= to.min() && from.max() <= to.max();
        if to != IntKind::Bool && (fits || wider) {
            return n;
        }
        if n.exact && n.form.is_number() {
            let wrapped = |l: usize| i64::try_from(to.wrap(n.form.number().at(l).into())).ok();
            let all: Option<Vec<i64>> = (0..LANES).map(wrapped).collect();
            if let Some(form) = all.and_then(|v| Form::of_lanes(|l| v[l])) {
                return Number { form, exact: true };
            }
        }
        if to == IntKind::Bool || to.promoted() != to {
            return self.like(to, &[&n.form]);
        }
        // up to what the narrower holds; what is wrapped and made wider no more
        match n.exact || to.bits() <= from.bits() {
            true => Number { exact: false, ..n },
            // a subscript that has wrapped leaves the array: the distance between lanes stays
            false => n,
        }
    }

    /// The result of an operation in a type.
    fn result(
        &mut self,
        form: Option<Form>,
        exact: bool,
        at: (TermId, IntKind),
        of: [&Form; 2],
        way: Way,
    ) -> Number {
        let (t, kind) = at;
        let Some(form) = form else { return self.like(kind, &of) };
        if exact && (self.body.arithmetic(t).is_exact(kind) || self.fits(&form, kind, way)) {
            return Number { form, exact: true };
        }
        // lanes that lie far apart may wrap each for itself
        let close = form.is_number() || lanes(way.may).all(|l| form.number().at(l).abs() < 1 << 24);
        match close {
            true if !form.is_number() => Number { form, exact: false },
            _ => self.like(kind, &of),
        }
    }

    fn fits(&self, form: &Form, kind: IntKind, way: Way) -> bool {
        if self.unknowns.within(form, way.may, kind.min(), kind.max()) {
            return true;
        }
        // sums and products of 64 bits that are no hashes
        let small = form.products().all(|(_, p)| (0..LANES).all(|l| p.at(l).abs() < 1 << 31));
        kind.bits() >= 64 && small && self.unknowns.is_positive(form, way.may)
    }

    pub(super) fn arithmetic(
        &mut self,
        t: TermId,
        op: BinOp,
        (x, ka): (Number, IntKind),
        (y, kb): (Number, IntKind),
        way: Way,
    ) -> Number {
        let kind = match op {
            BinOp::Shl | BinOp::Shr => ka.promoted(),
            _ => ka.promoted().common(kb.promoted()),
        };
        let x = self.converted(x, ka, kind, way);
        let y = if matches!(op, BinOp::Shl | BinOp::Shr) { y } else { self.converted(y, kb, kind, way) };
        let near = matches!(op, BinOp::Add | BinOp::Sub | BinOp::Mul) && kind == IntKind::UInt;
        let [p, q] = [&x.form, &y.form].map(|f| if near { nearest(f) } else { f.clone() });
        let (p, q) = (&p, &q);
        let both = x.exact && y.exact;
        let power = |f: &Form| f.as_constant().filter(|n| (0..31).contains(n)).map(|n| 1i64 << n);
        match op {
            BinOp::Add => self.result(p.add(q), both, (t, kind), [p, q], way),
            BinOp::Sub => self.result(p.sub(q), both, (t, kind), [p, q], way),
            BinOp::Mul => self.result(p.mul(q), both, (t, kind), [p, q], way),
            BinOp::Shl if power(q).is_some() => {
                let form = power(q).and_then(|k| p.scale(k));
                self.result(form, both, (t, kind), [p, q], way)
            }
            BinOp::Shl if p.is_number() && q.is_number() => {
                let shifted = |l: usize| {
                    let by = u32::try_from(q.number().at(l)).ok().filter(|b| *b < 31)?;
                    p.number().at(l).checked_mul(1 << by)
                };
                let all: Option<Vec<i64>> = (0..LANES).map(shifted).collect();
                let form = all.and_then(|v| Form::of_lanes(|l| v[l]));
                self.result(form, both, (t, kind), [p, q], way)
            }
            BinOp::Div | BinOp::Rem | BinOp::Shr => self.quotient((op, kind), (&x, &y), way),
            BinOp::BitAnd | BinOp::BitOr | BinOp::BitXor => self.bits((op, kind), (&x, &y), way),
            _ => self.like(kind, &[p, q]),
        }
    }

    fn quotient(&mut self, (op, kind): (BinOp, IntKind), (x, y): (&Number, &Number), way: Way) -> Number {
        let by = match (op, y.form.as_constant()) {
            (BinOp::Shr, Some(n)) if (0..31).contains(&n) => Some(1i64 << n),
            (BinOp::Shr, _) => return self.like(kind, &[&x.form, &y.form]),
            (_, k) => k,
        };
        let positive = self.unknowns.is_positive(&x.form, way.may);
        let found = match by.filter(|k| *k > 0 && (positive || op == BinOp::Shr) && x.exact) {
            Some(k) => self.by_number(&x.form, k, way),
            None => None,
        };
        let parts = match found {
            Some(parts) => Some(parts),
            // whatever the quotient is, the remainder is what it leaves
            None if x.exact && y.exact && (positive || op != BinOp::Shr) => {
                let shift = by.filter(|_| op == BinOp::Shr).and_then(|k| Form::constant(k.into()));
                self.by_unknown(&x.form, &shift.unwrap_or_else(|| y.form.clone()), kind)
            }
            None => None,
        };
        match parts {
            Some((q, _)) if op != BinOp::Rem => Number { form: q, exact: true },
            Some((_, r)) => Number { form: r, exact: true },
            None => self.like(kind, &[&x.form, &y.form]),
        }
    }

    /// Quotient (downwards) and remainder, where lanes do not carry differently.
    fn by_number(&mut self, x: &Form, k: i64, way: Way) -> Option<(Form, Form)> {
        let (whole, rest) = x.divided(k);
        let number = x.number();
        if rest == Form::default() {
            let q = whole.with_number(|l| number.at(l).div_euclid(k))?;
            return Some((q, Form::of_lanes(|l| number.at(l).rem_euclid(k))?));
        }
        if !self.unknowns.is_alike(&rest) {
            return None;
        }
        // what is unknown of it is a multiple of this, and so are steps that do not carry
        let g = gcd(rest.divisor(Mask::MAX), k);
        let mut over = lanes(way.may).map(|l| number.at(l).div_euclid(g));
        let first = over.next().unwrap_or(0);
        if over.any(|c| c != first) {
            return None;
        }
        let base = rest.with_number(|_| g * first)?;
        let divisor = Form::constant(k.into())?;
        let key = (true, base.clone(), divisor);
        let atom = match self.unknowns.quotients.get(&key) {
            Some(a) => *a,
            None => {
                let (low, high) = self.unknowns.range(&base, 0);
                let a = self.unknowns.add(Unknown {
                    shared: true,
                    data: self.unknowns.by_data(&base),
                    low: low.map(|v| v.div_euclid(k.into())),
                    high: high.map(|v| v.div_euclid(k.into())),
                    index: base.atoms().all(|a| self.unknowns.list[a as usize].index),
                });
                self.unknowns.quotients.insert(key, a);
                a
            }
        };
        let left = base.sub(&Form::atom(atom).scale(k)?)?;
        let shift = i128::from(left.number().at(0));
        self.unknowns.bounds.insert(left.rest(), [-shift, i128::from(k - g) - shift]);
        let within = Form::of_lanes(|l| number.at(l).rem_euclid(g))?;
        Some((whole.add(&Form::atom(atom))?, left.add(&within)?))
    }

    /// A quotient that is not known, and what it leaves.
    fn by_unknown(&mut self, x: &Form, y: &Form, kind: IntKind) -> Option<(Form, Form)> {
        let key = (false, x.clone(), y.clone());
        let atom = match self.unknowns.quotients.get(&key) {
            Some(a) => *a,
            None => {
                let shared = self.unknowns.is_alike(x) && self.unknowns.is_alike(y);
                let data = self.unknowns.by_data(x) || self.unknowns.by_data(y);
                let positive = (0..LANES).all(|l| {
                    let low = |f: &Form| self.unknowns.range(f, l).0.is_some_and(|v| v >= 0);
                    low(x) && low(y)
                });
                let low = if positive { 0 } else { kind.min() };
                let a = self.unknowns.add(Unknown {
                    shared,
                    data,
                    low: Some(low),
                    high: Some(kind.max()),
                    index: false,
                });
                self.unknowns.quotients.insert(key, a);
                a
            }
        };
        let q = Form::atom(atom);
        let r = x.sub(&q.mul(y)?)?;
        Some((q, r))
    }

    fn bits(&mut self, (op, kind): (BinOp, IntKind), (x, y): (&Number, &Number), way: Way) -> Number {
        let (x, y) = if x.form.is_number() && !y.form.is_number() { (y, x) } else { (x, y) };
        let (p, q) = (&x.form, &y.form);
        let act = |a: i64, b: i64| match op {
            BinOp::BitAnd => a & b,
            BinOp::BitOr => a | b,
            _ => a ^ b,
        };
        if x.exact && y.exact && q.is_number() {
            let most = (0..LANES).map(|l| q.number().at(l)).fold(0i64, |m, v| m.max(v));
            let least = (0..LANES).map(|l| q.number().at(l)).fold(0i64, |m, v| m.min(v));
            // the bits that the known side has, and the others, which it leaves or clears
            let size = u64::try_from(most.max(!least) + 1).ok().and_then(u64::checked_next_power_of_two);
            let size = size.and_then(|s| i64::try_from(s).ok());
            if let Some(size) = size {
                let form = match p.is_number() {
                    true => Form::of_lanes(|l| act(p.number().at(l), q.number().at(l))),
                    false if least >= 0 || op == BinOp::BitAnd => self.low_bits(p, size, way, |low, l| {
                        let c = q.number().at(l);
                        match (op, c < 0) {
                            // clears some of the low bits
                            (BinOp::BitAnd, true) => (low & c.rem_euclid(size), true),
                            (BinOp::BitAnd, false) => (low & c, false),
                            _ => (act(low, c), true),
                        }
                    }),
                    false => None,
                };
                if let Some(form) = form {
                    return Number { form, exact: true };
                }
            }
        }
        self.like(kind, &[p, q])
    }

    /// A number whose low bits (below `size`) are others: what they become, and whether those above stay.
    fn low_bits(
        &mut self,
        p: &Form,
        size: i64,
        way: Way,
        act: impl Fn(i64, usize) -> (i64, bool),
    ) -> Option<Form> {
        let (q, r) = self.by_number(p, size, way)?;
        match r.is_number() {
            true => {
                let low = Form::of_lanes(|l| act(r.number().at(l), l).0)?;
                let stay = lanes(way.may).all(|l| act(0, l).1);
                let go = lanes(way.may).all(|l| !act(0, l).1);
                match (stay, go) {
                    (true, _) => q.scale(size)?.add(&low),
                    (_, true) => Some(low),
                    _ => None,
                }
            }
            // all of the low bits
            false if lanes(way.may).all(|l| act(size - 1, l) == (size - 1, false)) => Some(r),
            false => None,
        }
    }

    // ---- conditions

    /// What a comparison says of each lane.
    pub(super) fn compared(
        &mut self,
        op: BinOp,
        (x, ka): (Number, IntKind),
        (y, kb): (Number, IntKind),
        way: Way,
    ) -> Truth {
        let kind = ka.promoted().common(kb.promoted());
        let x = self.converted(x, ka, kind, way);
        let y = self.converted(y, kb, kind, way);
        let u = &self.unknowns;
        let alike = u.is_alike(&x.form) && u.is_alike(&y.form);
        let data = u.by_data(&x.form) || u.by_data(&y.form);
        let unknown = |together| Truth {
            yes: 0,
            no: 0,
            together,
            one: false,
            undecided: match (together, data) {
                (true, _) => Undecided::No,
                _ => Undecided::Data,
            },
        };
        if !x.exact || !y.exact {
            return unknown(alike);
        }
        let Some(d) = y.form.sub(&x.form) else { return unknown(alike) };
        let mut out = unknown(u.is_alike(&d));
        for l in lanes(way.may) {
            match self.sign(&d, l, op) {
                Some(true) => out.yes |= 1 << l,
                Some(false) => out.no |= 1 << l,
                None => {}
            }
        }
        let open: Vec<usize> = lanes(way.may & !(out.yes | out.no)).collect();
        let shared = d.atoms().all(|a| u.is_shared(a));
        let same = |w: &[usize]| d.alike(w[0], w[1]);
        let number = d.number();
        if open.len() < 2 || out.together {
            out.together |= shared || open.is_empty();
            out.undecided = if out.together { Undecided::No } else { out.undecided };
        } else if shared && open.windows(2).all(same) {
            // what is unknown of it is a multiple of this: which one decides
            let g = d.divisor(1 << open[0]).max(1);
            let over = match op {
                BinOp::Lt | BinOp::Ge => 1,
                _ => 0,
            };
            let exact = matches!(op, BinOp::Eq | BinOp::Ne);
            let step = |v: i64| if exact { v } else { (v - over).div_euclid(g) };
            let at: Vec<i64> = open.iter().map(|&l| step(number.at(l))).collect();
            out.together = at.iter().all(|v| *v == at[0]);
            let rising = at.windows(2).all(|w| w[0] <= w[1]) || at.windows(2).all(|w| w[0] >= w[1]);
            out.undecided = match out.together {
                true => Undecided::No,
                false if rising && !matches!(op, BinOp::Eq | BinOp::Ne) => Undecided::Bound,
                false => out.undecided,
            };
        }
        // two lanes that hold would have to be one number
        let mut at: Vec<i64> = open.iter().map(|&l| number.at(l)).collect();
        at.sort_unstable();
        at.dedup();
        let apart = at.len() == open.len() && open.windows(2).all(same);
        out.one = op == BinOp::Eq
            && shared
            && (apart && out.yes == 0 || open.is_empty() && out.yes.count_ones() <= 1);
        if out.one && out.undecided == Undecided::Data {
            out.undecided = Undecided::Bound;
        }
        out
    }

    /// Whether `0 op d` holds in a lane.
    fn sign(&self, d: &Form, lane: usize, op: BinOp) -> Option<bool> {
        let (low, high) = self.unknowns.range(d, lane);
        let above =
            |k: i128| low.filter(|v| *v >= k).map(|_| true).or(high.filter(|v| *v < k).map(|_| false));
        match op {
            // x < y: d > 0
            BinOp::Lt => above(1),
            BinOp::Le => above(0),
            BinOp::Gt => above(0).map(|b| !b),
            BinOp::Ge => above(1).map(|b| !b),
            BinOp::Eq | BinOp::Ne => {
                let zero = match (low, high) {
                    (Some(0), Some(0)) => Some(true),
                    (Some(l), _) if l > 0 => Some(false),
                    (_, Some(h)) if h < 0 => Some(false),
                    _ => {
                        // what is unknown of it is a multiple of this
                        let g = d.divisor(1 << lane);
                        (g > 0 && d.number().at(lane) % g != 0).then_some(false)
                    }
                };
                zero.map(|z| z == (op == BinOp::Eq))
            }
            _ => None,
        }
    }
}

impl Truth {
    /// Of which nothing is known: whether lanes decide alike, and whether memory decides.
    pub(super) fn unknown(together: bool) -> Truth {
        let undecided = if together { Undecided::No } else { Undecided::Data };
        Truth { yes: 0, no: 0, together, one: false, undecided }
    }
    pub(super) fn not(self) -> Truth {
        let one = false;
        Truth { yes: self.no, no: self.yes, one, ..self }
    }
    fn open(&self) -> Mask {
        !(self.yes | self.no)
    }
    /// Both hold; lanes outside of `mask` do not matter.
    pub(super) fn and(self, other: Truth, mask: Mask) -> Truth {
        let (yes, no) = (self.yes & other.yes, self.no | other.no);
        let open = mask & !(yes | no);
        let (a, b) = (self.open() & open, other.open() & open);
        let together = match (a, b) {
            (_, 0) => self.together,
            (0, _) => other.together,
            (a, b) => self.together && other.together && a == b,
        };
        let worse = match (self.undecided, other.undecided) {
            (Undecided::Data, _) | (_, Undecided::Data) => Undecided::Data,
            _ => Undecided::Bound,
        };
        let undecided = if open == 0 || together { Undecided::No } else { worse };
        Truth { yes, no, together: together || open == 0, one: self.one || other.one, undecided }
    }
}

impl Way {
    /// Those for which a condition holds; `None`: nobody.
    pub(super) fn under(self, c: &Truth) -> Option<Way> {
        let may = self.may & !c.no;
        // if it holds for nobody who is known, all others come or nobody does
        let sure = if c.together && c.yes & self.may == 0 { !c.no } else { c.yes };
        let way = Way { may, must: self.must & sure & may, one: self.one || c.one };
        (may != 0).then_some(way)
    }
}

/// The same of 32 bits, where what is added to an index or multiplied with it is near zero: `4294967295u` as `-1`.
fn nearest(f: &Form) -> Form {
    let number = f.number();
    let near = |l: usize| match number.at(l) {
        n if n > i64::from(i32::MAX) => n - (1 << 32),
        n => n,
    };
    f.with_number(near).unwrap_or_else(|| f.clone())
}
