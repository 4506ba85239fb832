//! Whether a statement leaves a variable, what it points to, or the flow of control alone.
//!
//! Terms that stand for kernel calls take numbers by value and reach memory through what they name; of other terms that
//! are no C it is not known what they do with what they name. Deliberately absent: loops (see `prove`).

use term::{Op, Storage, SymbolId, TypeKind};

use super::memory::is_barrier;
use super::prove::Asking;
use super::tree::Tree;

/// Heads that do what their parts do.
const KNOWN: [&str; 11] = [
    "Declaration",
    "DeclarationAssignment",
    "ArrayDeclaration",
    "Dot",
    "Arrow",
    "Cast",
    "SizeOfType",
    "Goto",
    "Label",
    // parts of arrays
    "_Part",
    "_PartIf",
];

/// Kernel calls: numbers go by value.
const CALLS: [&str; 5] = ["_CallCudaKernel", "_ExecuteKernel", "_SetParameters", "_Arrays", "_Stretches"];

/// A stretch of program in which its first part lies in the graphics memory.
const STRETCH: &str = "_OnDevice";

impl Asking<'_> {
    /// That a statement does not write (or, `reads` too, not even read) a variable or what it points to; of an
    /// expression, any variable in it.
    pub(super) fn left_alone(&self, x: &Tree, s: &Tree, reads: bool) -> Result<String, String> {
        let mut symbols: Vec<SymbolId> = Vec::new();
        match x.as_symbol() {
            Some(sym) => symbols.push(sym),
            None => {
                for n in x.walk() {
                    let shown = || self.subject.print(&n);
                    let memory =
                        matches!(n.op, Op::Index | Op::Deref | Op::Call | Op::Launch | Op::Reject(_))
                            || n.is("Dot")
                            || n.is("Arrow");
                    if memory {
                        return Err(format!("`{}` is more than variables", shown()));
                    }
                    symbols.extend(n.as_symbol().filter(|s| !symbols.contains(s)));
                }
                if symbols.is_empty() && x.args.is_empty() && x.as_int().is_none() && !self.is_own_word(x) {
                    return Err(format!("`{}` is no variable", self.subject.print(x)));
                }
            }
        }
        symbols.iter().try_for_each(|&sym| self.symbol_left_alone(sym, s, reads))?;
        Ok(format!("nothing in it {} it", if reads { "uses" } else { "writes" }))
    }
    /// A word by which terms tell one another something (`_Whole`).
    fn is_own_word(&self, x: &Tree) -> bool {
        self.subject.word(x).is_some_and(|w| w.starts_with('_'))
    }

    fn symbol_left_alone(&self, sym: SymbolId, s: &Tree, reads: bool) -> Result<(), String> {
        let known = self.subject.symbol(sym);
        let reached = known.is_some_and(|k| {
            k.address_taken
                || !matches!(k.storage, Storage::Local | Storage::Param(_) | Storage::Shared)
                || matches!(self.types.kind(k.ty), TypeKind::Pointer { .. })
        });
        let mentions = |t: &Tree| t.walk().any(|m| m.as_symbol() == Some(sym));
        // names of memory in a tree that may be this
        let touches = |t: &Tree| {
            t.walk().filter_map(|m| m.as_symbol()).any(|v| {
                v != sym && self.is_memory(v) && (reached || self.is_memory(sym)) && !self.apart(v, sym)
            })
        };
        // at a barrier other threads go on, with any statement of the function: all of them are looked at, or none waits
        let whole = self.subject.root.args.last().is_some_and(|body| std::sync::Arc::ptr_eq(body, s));
        let mut open = vec![s.clone()];
        while let Some(n) = open.pop() {
            let shown = || self.subject.print(&n);
            // what a kernel call declares are its parameters
            let is_call = matches!(&n.op, Op::Apply(h) if CALLS.contains(&&**h));
            if is_call {
                if touches(&n) || ((reads || self.is_memory(sym)) && mentions(&n)) {
                    return Err(format!("`{}` may use it", shown()));
                }
                continue;
            }
            open.extend(n.args.iter().cloned());
            match &n.op {
                Op::Call | Op::Launch | Op::Reject(_) => {
                    let known = n.args.first().and_then(|c| c.as_symbol()).is_some_and(|f| {
                        let name = self.subject.name(f);
                        self.subject.library.contains(&f)
                            && (term::intrinsic(name).is_some() || (whole && is_barrier(name)))
                    });
                    if !known && (reached || mentions(&n)) {
                        return Err(format!("`{}` may use it", shown()));
                    }
                }
                Op::Apply(h) if &**h == STRETCH => {
                    let what = n.args.first().unwrap_or(&n);
                    if touches(what) || (self.is_memory(sym) && mentions(what)) {
                        return Err(format!("`{}` may use it", shown()));
                    }
                }
                // what is no C may do anything to what it names
                Op::Apply(h) if !KNOWN.contains(&&**h) && (mentions(&n) || touches(&n)) => {
                    return Err(format!("`{}` may use it", shown()));
                }
                Op::Apply(h)
                    if h.contains("Declaration")
                        && n.args.first().is_some_and(|a| a.as_symbol() == Some(sym)) =>
                {
                    return Err("it is declared there".to_owned());
                }
                op if op.is_write() => {
                    let place = n.args.first().ok_or_else(shown)?;
                    let base = self.base_of(place);
                    if base.is_none_or(|b| b == sym || (reached && place.as_symbol().is_none())) {
                        let fine = base
                            .is_some_and(|b| b != sym && (self.apart(b, sym) || self.written_alone(b, sym)));
                        if !fine {
                            return Err(format!("`{}` may write it", shown()));
                        }
                    }
                }
                Op::Sym(v) if reads && *v == sym => return Err("it is read there".to_owned()),
                Op::Index | Op::Deref if reads && reached => {
                    let base = self.base_of(&n);
                    if !base.is_some_and(|b| b != sym && self.apart(b, sym)) {
                        return Err(format!("`{}` may read it", shown()));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
    fn is_memory(&self, s: SymbolId) -> bool {
        self.subject.symbol(s).is_some_and(|k| match self.types.kind(k.ty) {
            TypeKind::Pointer { .. } | TypeKind::Array { .. } => true,
            // in notation a type is its text
            TypeKind::Opaque(text) => text.ends_with('*'),
            _ => false,
        })
    }

    /// That no jump leads into a statement or out of it.
    pub(super) fn straight(&self, s: &Tree) -> Result<String, String> {
        self.jumps(s, false, false)?;
        Ok("no jump leads into it or out of it".to_owned())
    }
    fn jumps(&self, n: &Tree, in_loop: bool, in_switch: bool) -> Result<(), String> {
        let out = match &n.op {
            Op::Return | Op::Case | Op::Default | Op::Reject(_) => true,
            Op::Break => !(in_loop || in_switch),
            Op::Continue => !in_loop,
            op => n.is("Goto") || n.is("Label") || matches!(op, Op::Goto(_) | Op::Label(_)),
        };
        // the labels of a switch are its own
        let own = in_switch && matches!(n.op, Op::Case | Op::Default);
        if out && !own {
            return Err(format!("`{}` is a jump", self.subject.print(n)));
        }
        let (l, s) = (in_loop || n.op.is_loop(), in_switch || n.op == Op::Switch);
        n.args.iter().try_for_each(|a| self.jumps(a, l, s))
    }
}
