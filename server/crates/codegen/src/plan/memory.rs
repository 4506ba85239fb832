//! Device copies: of what, how much, in which direction.

use analysis::{Buffer, Expr, Holders, Length, Offload, Pred, Search};
use term::{Body, Op, Storage, SymbolId, TermId, TypeId, TypeKind};

use super::build::Builder;
use super::names::part;
use super::support::Support;
use super::{bounds, simplify, RefusalKind, RowsPlan, Stride, StrideSource, Test, TestKind, View};
use crate::access::chain;

/// A device copy of a stretch of host memory.
#[derive(Clone, Debug)]
pub struct BufferPlan {
    pub symbol: SymbolId,
    pub element: TypeId,
    /// Bytes of one element.
    pub element_size: u64,
    /// Number of subscripts that reach an element.
    pub rank: usize,
    pub(crate) strides: Vec<StrideSource>,
    pub read: bool,
    pub written: bool,
    /// Whether the kernel uses it; the host alone may, for a bound.
    pub on_device: bool,
    /// Whether its contents must be on the device before the launch.
    pub copy_in: bool,
    /// Of a region's array: whether nothing of it is brought before its nests ask for what they use.
    pub(crate) late: bool,
    /// Whether a region has it for itself: the host has none.
    pub own: bool,
    /// What each thread has of it for itself.
    pub each: Option<EachPlan>,
    /// Whether results are kept aside until all of them have arrived: the original loop could not run again otherwise.
    pub staged: bool,
    /// Whether there is room on the device from element 0 on, so that the kernel's subscripts are the program's.
    pub from_zero: bool,
    /// First and last element; `None`: the whole declared array.
    pub extent: Option<(Expr, Expr)>,
    /// First and last element that come back, where these are fewer.
    pub back: Option<(Expr, Expr)>,
    /// Of a region's array that may grow: the elements that are surely there at first. Of a nest in a region: the elements that
    /// it uses, where these may have to be fetched before it runs.
    pub(crate) part: Option<(Expr, Expr)>,
    /// How the host finds first and last element where no expression says them.
    pub search: Option<Search>,
    /// Rows that a table shows. First and last element are then those of the array that they are on the device.
    pub rows: Option<RowsPlan>,
    /// Names in the host block.
    pub first_name: String,
    pub count_name: String,
    pub bytes_name: String,
    pub device_name: String,
    pub staging_name: String,
    pub back_name: String,
    pub back_bytes_name: String,
    /// Name in the kernel.
    pub kernel_name: String,
}

/// Cells of an array that each thread of a kernel has for itself, in memory on the device: those of one element lie side by side, a
/// thread after the other.
#[derive(Clone, Debug)]
pub struct EachPlan {
    /// Whether the last iteration uses the array itself.
    pub kept: bool,
    /// The last element that the kernel uses.
    pub last: Expr,
    /// Elements that a thread has, and bytes of all; names in the host block.
    pub row_name: String,
    pub bytes_name: String,
    /// All of them, on the host and in the kernel.
    pub device_name: String,
    pub kernel_name: String,
    /// In the kernel, where those of an iteration begin and how far apart they are.
    pub at_name: String,
    pub step_name: String,
}

impl BufferPlan {
    /// Whether the kernel is given the array itself.
    pub fn is_given(&self) -> bool {
        self.on_device && self.each.as_ref().is_none_or(|e| e.kept)
    }

    /// After how many other searches its ends are found, among the buffers of its plan: what a search reads must be known to keep apart
    /// from what the loop writes before it is read.
    pub(crate) fn rank(&self, buffers: &[BufferPlan]) -> usize {
        let Some(search) = self.search.as_ref().filter(|s| !s.reads.is_empty()) else { return 0 };
        // none reads what it looks for, and what is read is looked for without it
        let read = buffers.iter().filter(|b| b.symbol != self.symbol && search.reads.contains(&b.symbol));
        // of those that may be made before all are known to be apart what they find comes first
        1 + usize::from(search.chained) + read.map(|b| b.rank(buffers)).max().unwrap_or(0)
    }
    /// What the last element is called in the host block where a search finds it; no other name ends as that of the first.
    pub(crate) fn last_name(&self) -> String {
        match self.first_name.rsplit_once("first") {
            Some((before, after)) => format!("{before}last{after}"),
            None => format!("{}_last", self.first_name),
        }
    }

    /// Number of elements, if it is a known constant.
    pub fn constant_count(&self) -> Option<i128> {
        let (first, last) = self.extent.as_ref()?;
        bounds::constant(last)?.checked_sub(bounds::constant(first)?)?.checked_add(1)
    }
    /// The element that the kernel calls 0, if it is a known constant.
    pub(crate) fn counted_from(&self) -> Option<i128> {
        if self.from_zero {
            return Some(0);
        }
        self.constant_first()
    }
    /// The first element, if it is a known constant.
    pub fn constant_first(&self) -> Option<i128> {
        match &self.extent {
            None if self.search.is_some() => None,
            None => Some(0),
            Some((first, _)) => bounds::constant(first),
        }
    }
}

impl<'a> Builder<'_, 'a> {
    pub(super) fn buffers(
        &mut self,
        support: &mut Support<'a>,
        strides: &mut Vec<Stride>,
        positive: &[Expr],
    ) -> Vec<BufferPlan> {
        let body = self.body;
        let mut out = Vec::new();
        for b in memory(body, self.input.offload) {
            let symbol = &body.symbols[b.symbol];
            let t = self.target;
            // The type must be: pointer or array, arrays inside, then the element.
            let mut ty = symbol.ty;
            let mut levels = 0;
            // of rows the symbol is a pointer to the elements of one
            let in_type = b.inner_lengths.len() + 1;
            while levels < in_type {
                let q = body.types.quals(ty);
                if q.is_volatile || q.is_atomic {
                    self.refuse(RefusalKind::Volatile(b.symbol), t);
                }
                ty = match body.types.kind(ty) {
                    TypeKind::Pointer { to, .. } if levels == 0 => *to,
                    TypeKind::Array { of, .. } => *of,
                    _ => break,
                };
                levels += 1;
            }
            let q = body.types.quals(ty);
            if q.is_volatile || q.is_atomic {
                self.refuse(RefusalKind::Volatile(b.symbol), t);
            }
            let size = body.types.size_align(ty).map(|s| s.0);
            let (Some(element_size), true) = (size.filter(|&s| s > 0), levels == in_type) else {
                self.refuse(RefusalKind::PartialSubscript(b.symbol), t);
                continue;
            };
            if matches!(body.types.kind(ty), TypeKind::Array { .. } | TypeKind::Pointer { .. }) {
                self.refuse(RefusalKind::PartialSubscript(b.symbol), t);
                continue;
            }
            // pointers to rows are followed where the loop does
            let loaded = match &b.rows {
                Some(rows) => Some(rows.table).filter(|&table| body.as_symbol(table).is_none()),
                None => body.path_term(b.symbol).filter(|_| symbol.storage == Storage::Path),
            };
            if let Some(early) = loaded.filter(|&p| !self.may_load(p)) {
                self.refuse(RefusalKind::ReadsTooEarly, early);
            }
            if b.extent.is_none() && b.search.is_none() && b.rows.is_none() {
                let whole = matches!(body.types.kind(symbol.ty), TypeKind::Array { len, .. } if *len != term::Len::Unknown);
                if !whole {
                    self.refuse(RefusalKind::UnknownExtent(b.symbol), t);
                }
            }
            let n = match symbol.storage {
                Storage::Path => part(&symbol.name),
                _ => super::naming::word(&symbol.name),
            };
            let rank = b.rank();
            let (mut rows, mut extent, mut sources) = (None, None, Vec::new());
            if let Some((plan, lengths, all)) = self.rows(b, &n, positive, (out.len(), strides)) {
                (rows, extent, sources) = (Some(plan), Some(all), lengths);
            }
            for (d, length) in b.inner_lengths.iter().enumerate() {
                sources.push(match *length {
                    Length::Const(c) => StrideSource::Const(c),
                    Length::Term(l) => match (body.as_int(l), body.as_symbol(l)) {
                        (Some(c), _) if c > 0 && c <= u64::MAX as i128 => StrideSource::Const(c as u64),
                        (_, Some(s)) if self.keeps_its_value(s) => {
                            support.used.entry(s).or_insert(l);
                            StrideSource::Symbol(s)
                        }
                        _ => {
                            let dim = if rank == 2 { String::new() } else { (d + 1).to_string() };
                            strides.push(Stride {
                                buffer: out.len(),
                                dimension: d + 1,
                                name: self.host_name(&format!("{n}_row{dim}")),
                            });
                            StrideSource::Passed(strides.len() - 1)
                        }
                    },
                });
            }
            out.push(BufferPlan {
                symbol: b.symbol,
                element: ty,
                element_size,
                rank,
                strides: sources,
                read: b.read,
                written: b.written,
                copy_in: !b.wholly_written,
                late: false,
                own: false,
                each: self.each(b, element_size, positive, &n),
                // rows come back into memory of their own anyway
                staged: b.read && b.written && !b.wholly_written && rows.is_none(),
                on_device: true,
                from_zero: false,
                extent: extent.or_else(|| {
                    let (f, l) = b.extent.as_ref()?;
                    Some((simplify::under(f, positive), simplify::under(l, positive)))
                }),
                back: None,
                part: None,
                search: b.search.clone(),
                rows,
                first_name: self.host_name(&format!("{n}_first")),
                count_name: self.host_name(&format!("{n}_count")),
                bytes_name: self.host_name(&format!("{n}_bytes")),
                device_name: self.host_name(&format!("gpu_{n}")),
                staging_name: self.host_name(&format!("new_{n}")),
                back_name: String::new(),
                back_bytes_name: String::new(),
                kernel_name: String::new(),
            });
        }
        out
    }

    /// What each thread has of an array for itself, if it has anything.
    fn each(&mut self, b: &Buffer, size: u64, positive: &[Expr], name: &str) -> Option<EachPlan> {
        let kept = match b.holders {
            Holders::All => return None,
            Holders::Each => false,
            Holders::EachButLast => true,
        };
        let types = &self.body.types;
        let last = match &b.extent {
            Some((_, last)) => simplify::under(last, positive),
            None => {
                let all = types.size_align(self.body.symbols[b.symbol].ty).map_or(0, |s| s.0);
                Expr::Int(i128::from(all / size) - 1)
            }
        };
        let mut named = |wish: String| self.host_name(&wish);
        Some(EachPlan {
            kept,
            last,
            row_name: named(format!("{name}_row_count")),
            bytes_name: named(format!("{name}_rows_bytes")),
            device_name: named(format!("gpu_{name}_rows")),
            kernel_name: named(format!("{name}_rows")),
            at_name: named(format!("my_{name}")),
            step_name: named(format!("my_{name}_step")),
        })
    }

    /// Refuses what threads cannot have for themselves: only subscripts that reach an element are written otherwise.
    pub(super) fn check_each(&mut self, buffers: &[BufferPlan], views: &[View], inner: TermId) {
        let body = self.body;
        for b in buffers.iter().filter(|b| b.each.is_some()) {
            let mine = |t: &TermId| body.as_symbol(*t) == Some(b.symbol);
            let reaches = |t: TermId| {
                let full = chain(body, &Default::default(), t)
                    .is_some_and(|(s, subs)| s == b.symbol && subs.len() == b.rank);
                full && matches!(body.op(t), Op::Index | Op::Deref)
            };
            let mentions = body.walk(inner).filter(mine).count();
            let cells = body.walk(inner).filter(|&t| reaches(t)).count();
            let shown = body
                .walk(inner)
                .any(|t| *body.op(t) == Op::AddrOf && body.args(t).first().is_some_and(|&a| reaches(a)));
            let viewed = views.iter().any(|v| v.into == b.symbol || v.symbol == b.symbol);
            if mentions != cells || shown || viewed || self.input.offload.threads.is_some() {
                self.refuse(RefusalKind::PointerValue(b.symbol), self.target);
            }
        }
    }

    /// Settles which part of each array comes back, and what has to be tested for it.
    pub(super) fn parts_back(
        &mut self,
        buffers: &mut [BufferPlan],
        positive: &[Expr],
        tests: &mut Vec<Test>,
    ) {
        for (k, b) in buffers.iter_mut().enumerate() {
            if !b.staged || !b.on_device || b.own || b.part.is_some() {
                continue;
            }
            let of = memory(self.body, self.input.offload).find(|o| o.symbol == b.symbol);
            let Some((first, last)) = of.and_then(|o| o.written_part.as_ref()) else { continue };
            let (first, last) = (simplify::under(first, positive), simplify::under(last, positive));
            let all = b.extent.as_ref().map(|e| &e.1);
            let (last, has_elements) = match (last, all) {
                // something is used where this holds, and then something is written, too
                (Expr::Select(c, some, _), Some(Expr::Select(used, ..))) if c == *used => (*some, true),
                (last, _) => (last, false),
            };
            if b.extent.as_ref().is_some_and(|e| e.0 == first && (e.1 == last)) {
                continue;
            }
            let n = crate::plan::name_part(&self.body.symbols[b.symbol].name);
            b.back_name = self.host_name(&format!("{n}_back"));
            b.back_bytes_name = self.host_name(&format!("{n}_back_bytes"));
            b.back = Some((first, last));
            if !has_elements && b.comes_back().is_some_and(|p| !simplify::follows(&p, positive)) {
                tests.push(Test { kind: TestKind::Back(k), meets: None });
            }
        }
    }

    /// Whether an integer variable is never assigned in the whole function, so that it still says what it said where
    /// an array was declared with it.
    pub(super) fn keeps_its_value(&self, s: SymbolId) -> bool {
        let body = self.body;
        let symbol = &body.symbols[s];
        symbol.is_own_scalar()
            && body.types.as_int(symbol.ty).is_some()
            && body.symbols.iter().filter(|o| o.name == symbol.name).count() == 1
            && !self.is_assigned(s)
    }

    pub(super) fn is_assigned(&self, s: SymbolId) -> bool {
        let body = self.body;
        body.walk(body.root).any(|t| {
            body.op(t).is_write() && body.args(t).first().is_some_and(|&p| body.as_symbol(p) == Some(s))
        })
    }

    /// Whether `restrict` promises that the two show different cells (one of which is written): one is a restricted
    /// parameter, the other a parameter or array that nothing in the function sets.
    pub(super) fn restrict_parts(&self, a: SymbolId, b: SymbolId) -> bool {
        let body = self.body;
        let param =
            |s: SymbolId| matches!(body.symbols[s].storage, Storage::Param(_)) && !self.is_assigned(s);
        let restricted = |s: SymbolId| param(s) && body.types.quals(body.symbols[s].ty).is_restrict;
        let steady =
            |s: SymbolId| param(s) || matches!(body.types.kind(body.symbols[s].ty), TypeKind::Array { .. });
        (restricted(a) && steady(b)) || (restricted(b) && steady(a))
    }
}

impl BufferPlan {
    /// That the part which comes back has elements.
    pub(crate) fn comes_back(&self) -> Option<Pred> {
        let (first, last) = self.back.as_ref()?;
        let minus = Expr::Mul(-1, Box::new(first.clone()));
        Some(Pred::NonNegative(Expr::Add(vec![last.clone(), minus])))
    }
}

/// The buffers that are memory reached by subscripts; a struct variable is passed by value instead.
pub(super) fn memory<'o>(body: &'o Body, offload: &'o Offload) -> impl Iterator<Item = &'o Buffer> {
    offload.buffers.iter().filter(|b| {
        matches!(
            body.types.kind(body.symbols[b.symbol].ty),
            TypeKind::Pointer { .. } | TypeKind::Array { .. }
        )
    })
}
