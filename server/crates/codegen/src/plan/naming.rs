//! What things are called in the kernel.

use std::collections::BTreeMap;

use term::{Body, Op, Storage, SymbolId, TermId};

use super::build::Builder;
use super::names::{has_word, identifier, part, Namer};
use super::threads::index_names;
use super::{BufferPlan, Dim, InductionPlan, KeyedPlan, ReductionPlan, Scalar, View};

/// What a variable or path is called.
pub(super) fn variable(body: &Body, s: SymbolId) -> String {
    let symbol = &body.symbols[s];
    match symbol.storage {
        Storage::Path => part(&symbol.name),
        _ => word(&symbol.name),
    }
}

/// A variable's name; of one whose name is more than a word (`a.Length`) what its parts make.
pub(super) fn word(name: &str) -> String {
    match name.chars().all(|c| c == '_' || c.is_alphanumeric()) {
        true => name.to_owned(),
        false => part(name),
    }
}

impl<'a> Builder<'_, 'a> {
    pub(super) fn name(&self) -> String {
        let wish = match self.input.name {
            "" => {
                let index = self.band.first().map_or("loop", |b| &self.body.symbols[b.1.index].name);
                format!("{}_{index}", self.body.name)
            }
            n => n.to_string(),
        };
        let wish = identifier(&wish);
        // as names of files, for some of which capitals are the same letters
        let taken = |n: &str| {
            self.input.taken.iter().any(|t| t.eq_ignore_ascii_case(n))
                || ["kernel", "on_gpu"].iter().any(|k| has_word(self.input.file_text, &format!("{n}_{k}")))
        };
        let mut name = wish.clone();
        let mut n = 2;
        while taken(&name) {
            name = format!("{wish}_{n}");
            n += 1;
        }
        name
    }

    #[allow(clippy::too_many_arguments)] // one list for each kind of variable
    pub(super) fn kernel_names(
        &mut self,
        buffers: &[BufferPlan],
        scalars: &[Scalar],
        reductions: &mut [ReductionPlan],
        privates: &[SymbolId],
        keyed: &mut [KeyedPlan],
        inductions: &[InductionPlan],
        views: &[View],
        dims: &[Dim],
        inner: &[TermId],
    ) -> BTreeMap<SymbolId, String> {
        let body = self.body;
        let mut namer = Namer::beside(body);
        let mut names = BTreeMap::new();
        let outer = (scalars.iter().map(|s| s.symbol))
            .chain(buffers.iter().map(|b| b.symbol))
            .chain(reductions.iter().filter(|r| !r.cell).map(|r| r.symbol))
            .chain(privates.iter().copied())
            .chain(keyed.iter().flat_map(|k| &k.variables).filter(|v| !v.cell).map(|v| v.symbol))
            .chain(inductions.iter().map(|i| i.symbol))
            .chain(views.iter().filter(|v| !v.declared_inside).map(|v| v.symbol))
            .chain(dims.iter().map(|d| d.index).filter(|_| self.input.offload.threads.is_none()));
        for s in outer {
            names.entry(s).or_insert_with(|| namer.fresh(&variable(body, s)));
        }
        let prefix = &self.prefix;
        let mut own = |symbol: SymbolId, cell: bool| match cell {
            true => namer.fresh(&format!("{prefix}my_{}", variable(body, symbol))),
            false => names.get(&symbol).cloned().unwrap_or_default(),
        };
        for r in reductions {
            r.name = own(r.symbol, r.cell);
        }
        for v in keyed.iter_mut().flat_map(|k| &mut k.variables) {
            v.name = own(v.symbol, v.cell);
        }
        if let Some(code) = &self.input.offload.threads {
            let indices = self.thread_indices(code);
            names.extend(index_names(&indices, |s| body.symbols[s].name.to_string(), &mut namer));
            return names;
        }
        // Locals keep their names unless something around them is called the same: C lets a loop's body redeclare the
        // loop's own variable, C++ does not.
        let mut locals: Vec<(TermId, String)> = Vec::new();
        for t in inner.iter().flat_map(|&t| body.walk(t)) {
            let Op::Declare(s) = body.op(t) else { continue };
            let scope = self.scope(t);
            let wish = word(&body.symbols[*s].name);
            let beside = locals.iter().any(|l| l.1 == wish);
            let inside = locals.iter().any(|l| l.1 == wish && self.encloses(l.0, scope));
            let name = if inside || !beside { namer.fresh(&wish) } else { wish.clone() };
            // A sibling scope may use the name again; one that had to change keeps it from doing so.
            if name == wish {
                locals.push((scope, wish));
            }
            names.insert(*s, name);
        }
        names
    }

    pub(super) fn scope(&self, declaration: TermId) -> TermId {
        let mut at = declaration;
        while let Some(p) = self.parents[at.0 as usize] {
            let grand = self.parents[p.0 as usize];
            let in_header = |g: TermId| *self.body.op(g) == Op::For && self.body.args(g).first() == Some(&p);
            match self.body.op(p) {
                Op::List if !grand.is_some_and(in_header) => return p,
                Op::For => return p,
                _ => at = p,
            }
        }
        at
    }

    pub(super) fn encloses(&self, outer: TermId, inner: TermId) -> bool {
        let mut at = inner;
        while let Some(p) = self.parents[at.0 as usize] {
            if at == outer {
                return true;
            }
            at = p;
        }
        at == outer
    }
}
