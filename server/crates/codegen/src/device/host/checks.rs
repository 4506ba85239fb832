//! What the function that stands for a loop tests before it does anything: that sizes do not overflow, and what the verdict
//! rests on and nobody proved.

use analysis::ConditionKind;
use term::TypeKind;

use super::call::is_nameless;
use super::Host;
use crate::device::host_expr::{number, quoted, within, Named};
use crate::lines::Lines;
use crate::plan::{BufferPlan, TestKind};

impl Host<'_> {
    /// That no size computed below overflows.
    pub(super) fn limits(&mut self, out: &mut Lines) {
        let mut limits: Vec<(String, String)> = Vec::new();
        for v in self.plan.values.iter() {
            let Some(Named { name, .. }) = self.given.value(&v.param).filter(|_| v.limit.is_some()) else {
                continue;
            };
            limits.extend(within(v, &name).map(|text| (text, String::new())));
        }
        if let Some(last) = limits.last_mut() {
            last.1 = "no size below overflows".to_string();
            unless(&limits, out);
        }
    }

    pub(super) fn tests(&mut self, out: &mut Lines) {
        let plan = self.plan;
        let mut parts: Vec<(String, String)> = Vec::new();
        let laid_out = "laid out as the kernel takes it";
        for t in &plan.tests {
            match &t.kind {
                TestKind::Extent(k) => {
                    let b = &plan.buffers[*k];
                    let name = &plan.body.symbols[b.symbol].name;
                    if is_nameless(plan, b.element) {
                        let of = format!("{name}{}", "[0]".repeat(b.rank));
                        let theirs = self.given.bytes(&format!("{}_size", crate::plan::name_part(name)), &of);
                        parts.push((format!("{theirs} == {}", b.element_size), laid_out.to_string()));
                    }
                    let (used, most) = plan.count_tests(*k);
                    let is_used = format!("{} > 0", b.count_name);
                    let fits = |most: i128| format!("{} <= {}", b.count_name, number(most));
                    match (used, most) {
                        (true, Some(most)) => {
                            let why = format!("{name} is used, and its size fits");
                            parts.push((format!("{is_used} && {}", fits(most)), why));
                        }
                        (true, None) => parts.push((is_used, format!("{name} is used"))),
                        (false, Some(most)) => parts.push((fits(most), format!("the size of {name} fits"))),
                        (false, None) => {}
                    }
                }
                TestKind::Apart(i, j) => {
                    let (a, b) = (&plan.buffers[*i], &plan.buffers[*j]);
                    let (left, right) = (self.pointer(a), self.pointer(b));
                    let text = self.apart([&left, &a.bytes_name], [&right, &b.bytes_name]);
                    let name = |b: &BufferPlan| plan.body.symbols[b.symbol].name.clone();
                    parts.push((text, format!("{} and {} do not overlap", name(a), name(b))));
                }
                TestKind::Outside { symbol, buffer } => {
                    let b = &plan.buffers[*buffer];
                    let (at, size) = self.variable_place(*symbol);
                    let other = self.pointer(b);
                    let text = self.apart([&at, &size], [&other, &b.bytes_name]);
                    let name = |s| &plan.body.symbols[s].name;
                    parts.push((text, format!("{} does not lie in {}", name(*symbol), name(b.symbol))));
                }
                TestKind::CellInBuffer { .. }
                | TestKind::CellInCell { .. }
                | TestKind::CellInVariable { .. } => {
                    parts.extend(self.cell_test(&t.kind));
                }
                TestKind::RecordSize { symbol, .. } if !is_nameless(plan, plan.body.symbols[*symbol].ty) => {}
                TestKind::RecordSize { symbol, bytes } => {
                    let name = plan.body.symbols[*symbol].name.to_string();
                    let theirs = self.given.bytes(&format!("{}_size", crate::plan::name_part(&name)), &name);
                    parts.push((format!("{theirs} == {bytes}"), laid_out.to_string()));
                }
                TestKind::Holds(p) => {
                    let text = self.pred(p, 6);
                    parts.push((text, t.meets.as_ref().map_or_else(String::new, |c| self.why(c))));
                }
                TestKind::FirstNotNegative(lower) => {
                    let first = self.given.term(*lower, "first");
                    parts.push((format!("{first} >= 0"), "compared as unsigned".to_string()));
                }
            }
        }
        if !parts.is_empty() {
            unless(&parts, out);
        }
    }

    fn apart(&self, [a, a_bytes]: [&str; 2], [b, b_bytes]: [&str; 2]) -> String {
        self.helpers.apart.set(true);
        format!("{}_apart({a}, {a_bytes}, {b}, {b_bytes})", self.plan.name)
    }

    /// A variable's address and its size.
    fn variable_place(&mut self, s: term::SymbolId) -> (String, String) {
        let ty = self.plan.body.symbols[s].ty;
        let at = self.given.at(s);
        let size = match self.plan.body.types.kind(ty) {
            TypeKind::Record(_) => self.plan.body.types.size_align(ty).map_or(0, |s| s.0).to_string(),
            _ => format!("sizeof(*{at})"),
        };
        (at, size)
    }

    /// That the cell of a reduction is nothing else that the kernel uses.
    fn cell_test(&mut self, kind: &TestKind) -> Option<(String, String)> {
        let plan = self.plan;
        let place = |k: usize| self.kernel.reductions.get(k).map(|r| quoted(&self.c, r.place));
        let (k, words) = match *kind {
            TestKind::CellInBuffer { cell, buffer } => {
                let name = plan.body.symbols[plan.buffers.get(buffer)?.symbol].name.to_string();
                (cell, format!("{} does not lie in {name}", place(cell)?))
            }
            TestKind::CellInCell { cell, other } => {
                (cell, format!("{} does not lie in {}", place(cell)?, place(other)?))
            }
            TestKind::CellInVariable { cell, symbol } => {
                (cell, format!("{} does not lie in {}", place(cell)?, plan.body.symbols[symbol].name))
            }
            _ => return None,
        };
        let cell = self.given.cell(k);
        let (other, bytes) = match *kind {
            TestKind::CellInBuffer { buffer, .. } => {
                let b = plan.buffers.get(buffer)?;
                (self.pointer(b), b.bytes_name.clone())
            }
            TestKind::CellInCell { other, .. } => {
                let other = self.given.cell(other);
                (other.clone(), format!("sizeof(*{other})"))
            }
            TestKind::CellInVariable { symbol, .. } => self.variable_place(symbol),
            _ => return None,
        };
        Some((self.apart([&cell, &format!("sizeof(*{cell})")], [&other, &bytes]), words))
    }

    /// Which condition of the verdict a test meets.
    fn why(&self, c: &ConditionKind) -> String {
        let q = |t| quoted(&self.c, t);
        match c {
            ConditionKind::NoWrap(t) => format!("{} does not wrap around", q(*t)),
            ConditionKind::Bounds { access, .. } => format!("{} stays inside its dimensions", q(*access)),
            ConditionKind::InRow { access, stride } => {
                format!("{} stays in its row of {}", q(*access), q(*stride))
            }
            ConditionKind::Injective(t) => format!("no two iterations see the same {}", q(*t)),
            ConditionKind::StepSign(t) => format!("{} has the sign the comparison needs", q(*t)),
            ConditionKind::Terminates(_) => "the loop ends".to_string(),
            ConditionKind::Trips(_) => "an inner loop runs as often as its bounds say".to_string(),
            ConditionKind::NoAlias(..)
            | ConditionKind::DistinctRows(_)
            | ConditionKind::Pure(_)
            | ConditionKind::Reassociate(..) => String::new(),
        }
    }
}

/// `if (!(a /* why */ && b)) { return 0; }`
fn unless(parts: &[(String, String)], out: &mut Lines) {
    for (k, (text, why)) in parts.iter().enumerate() {
        let lead = if k == 0 { "if (!(" } else { "      && " };
        let end = if k + 1 == parts.len() { ")) {" } else { "" };
        let why = if why.is_empty() { String::new() } else { format!(" /* {why} */") };
        out.line(&format!("{lead}{text}{end}{why}"));
    }
    out.indent();
    out.line("return 0;");
    out.close("}");
}
