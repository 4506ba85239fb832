//! The host's side in C#: a method that stands for the loop, in a class of which each offload writes a part. The same terms as
//! for C, of which other pages make statements; here is what differs: arrays know their lengths and have no addresses, results
//! go by reference, and the kernel's text is a string beside the method.

use term::{BinOp, IntKind, SymbolId, TypeKind};

use super::checks::test;
use super::given::{Givens, Key};
use super::left::left_by_blocks;
use super::{let_, of_type, Host, HostText, SIZE};
use crate::device::host_term::{Term, LONG_LONG};
use crate::plan::{length_of, name_part, BufferPlan, RowsPlan, TestKind};
use crate::HostPages;

/// `SmoothRowsOnGpu` of `Smooth_rows`.
pub(super) fn method_name(name: &str) -> String {
    let mut out = String::new();
    for part in name.split('_').filter(|p| !p.is_empty()) {
        let mut letters = part.chars();
        out.extend(letters.next().map(|c| c.to_ascii_uppercase()));
        out.push_str(letters.as_str());
    }
    out + term::ON_GPU_METHOD
}

impl Givens<'_> {
    /// The length of an array, which the function is given itself, if the variable is one.
    pub(super) fn length(&mut self, s: SymbolId) -> Option<Term> {
        let plan = self.plan;
        if self.steps.is_some() {
            // the steps have it
            return None;
        }
        let (array, dimension) = length_of(plan.body, s).filter(|_| self.is_csharp())?;
        let rank = plan.body.said.lengths.iter().filter(|l| l.array == array).count();
        let is_shown = |b: &&BufferPlan| b.symbol == array || self.shown_by(b) == Some(array);
        let name = match plan.buffers.iter().find(is_shown) {
            Some(b) => self.array(b),
            None => {
                let name = self.c.name(array);
                let key = Key::Text("Array".to_owned(), name.clone());
                self.add(key, &name_part(&name), ["Array", "Array"], name, false)
            }
        };
        Some(Term::Name(match rank {
            1 => format!("{name}.Length"),
            _ => format!("{name}.GetLength({dimension})"),
        }))
    }

    /// The array of arrays whose rows a buffer is.
    fn shown_by(&self, b: &BufferPlan) -> Option<SymbolId> {
        self.plan.body.as_symbol(b.rows.as_ref()?.table)
    }

    /// An array as C# has it.
    pub(super) fn managed_array(&mut self, b: &BufferPlan) -> String {
        let k = self.plan.buffers.iter().position(|o| o.symbol == b.symbol).unwrap_or_default();
        if self.steps.is_some() {
            let name = self.caller.name(b.symbol);
            return self.add(Key::Array(k), &name_part(&name), ["ulong", "ulong"], name, false);
        }
        let name = self.c.name(self.shown_by(b).unwrap_or(b.symbol));
        let ty = self.managed_type(b);
        self.add(Key::Array(k), &name_part(&name), [&ty, &ty], name, false)
    }

    /// `float[,]`
    pub(super) fn managed_type(&self, b: &BufferPlan) -> String {
        if let Some(span) = self.span_type(b) {
            return span;
        }
        let types = &self.plan.body.types;
        let element = match types.kind(b.element) {
            // of `char` or of `ushort`; of a structure that may be seen where it is declared alone
            TypeKind::Int(IntKind::UShort) | TypeKind::Record(_) => {
                let rows = if b.rows.is_some() { "[]" } else { "" };
                return format!("Array{rows}");
            }
            _ => self.element_name(b),
        };
        match b.rows {
            Some(_) => format!("{element}[][]"),
            None => format!("{element}[{}]", ",".repeat(b.rank.saturating_sub(1))),
        }
    }
}

impl Host<'_> {
    /// The method, and the call of it in the user's file.
    pub(super) fn methods(mut self, file_name: &str, pages: &dyn HostPages) -> Result<HostText, String> {
        let plan = self.plan;
        let name = method_name(&plan.name);
        let call = self.kernel_call();
        let start = Term::head("_InitCudaKernel", vec![Term::name(&self.kernel.name)]);
        let body = vec![Term::head("_InitCuda", Vec::new()), start, call];
        let mut methods = self.helper_functions();
        methods.push(Term::comment(&format!(
            "Runs the loop of {}, line {}, on the GPU. False: it did not, nothing has changed that the loop reads, and the \
             loop itself is to run.",
            plan.site.file_name, plan.site.line,
        )));
        let given = of_type(&self.given.all, |g| &g.ty);
        methods.push(Term::function(&["internal", "static"], "bool", &name, given, body));
        let written = pages.methods(&Term::List(methods).to_string())?;
        let called = format!("{}.{name}", term::HOST_CLASS);
        let call = self.call(&called, file_name, None, pages)?;
        let derivation = call.derivation().iter().cloned().chain(written.derivation).collect();
        let (functions, stand_in, includes) = (written.text, String::new(), Vec::new());
        Ok(HostText { functions, stand_in, includes, call, derivation })
    }

    /// That there are the arrays, before anything is asked of them.
    pub(super) fn no_nulls(&mut self) -> Vec<Term> {
        let mut out = Vec::new();
        if self.steps.is_some() {
            return out;
        }
        for t in &self.plan.tests {
            let TestKind::NotNull(s) = t.kind else { continue };
            if self.plan.body.said.is_object(s) {
                let name = self.plan.body.symbols[s].name.to_string();
                let key = Key::Text("object".to_owned(), name.clone());
                let object = self.given.add(key, &name_part(&name), ["object", "object"], name, false);
                out.push(test(Term::binary(BinOp::Ne, Term::Name(object), Term::name("null")), ""));
                continue;
            }
            let Some(l) = self.plan.body.said.lengths.iter().find(|l| l.array == s) else { continue };
            let is_shown = |b: &&BufferPlan| b.symbol == s || self.given.shown_by(b) == Some(s);
            let array = match self.plan.buffers.iter().find(is_shown) {
                Some(b) => Some(Term::Name(self.given.array(b))),
                // one of which only the length is asked
                None => self.given.length(l.length).and_then(|length| match length {
                    Term::Name(text) => text.split('.').next().map(Term::name),
                    _ => None,
                }),
            };
            let null = || Term::name("null");
            out.extend(array.map(|array| test(Term::binary(BinOp::Ne, array, null()), "")));
        }
        for b in &self.plan.buffers {
            let Some(lengths) = b.rows.as_ref().and_then(|r| r.lengths.as_ref()) else { continue };
            let rows = Term::Name(self.given.array(b));
            let asked = |what: &str| Term::call(&format!("WarpwrightCuda.{what}"), vec![rows.clone()]);
            out.push(let_(&lengths.longest_name, LONG_LONG, asked("Longest")));
            let all = [Term::name(&lengths.lengths_name), Term::name("int[]"), asked("RowLengths")];
            out.push(Term::head("_Let", all.to_vec()));
        }
        out
    }

    /// That two variables are not one array.
    pub(super) fn two_arrays(&mut self, a: &BufferPlan, b: &BufferPlan) -> Term {
        let name = |b: &BufferPlan| self.plan.body.symbols[b.symbol].name.clone();
        let why = format!("{} and {} are two arrays", name(a), name(b));
        if let Some(apart) = self.spans_apart(a, b, &why) {
            return apart;
        }
        let [left, right] = [a, b].map(|b| Term::Name(self.given.array(b)));
        test(Term::call("ReferenceEquals", vec![left, right]).not(), &why)
    }

    /// That what is written is no array that is used by another name, too: rows are arrays of their own.
    pub(super) fn arrays_apart(&mut self) -> Term {
        let (plan, mut names) = (self.plan, Vec::new());
        let mut listed = |written: bool| {
            let of = plan.buffers.iter().filter(|b| b.written == written);
            let all: Vec<String> = of.map(|b| self.given.array(b)).collect();
            names.push(format!("new Array[] {{ {} }}", all.join(", ")));
        };
        listed(true);
        listed(false);
        let apart = names.iter().map(|n| Term::name(n)).collect();
        test(Term::call("WarpwrightCuda.AreApart", apart), "what is written is not used by another name, too")
    }

    /// Rows on the device, and their lengths: `_Rows(array,packed,device,longest,bytes,way)`.
    fn managed_rows(&mut self, b: &BufferPlan, rows: &RowsPlan, out: &mut Vec<Term>) {
        let Some(lengths) = &rows.lengths else { return };
        let name = |n: &String| Term::name(n);
        let array = Term::Name(self.given.array(b));
        let way = Term::name(if b.written { "inout" } else { "in" });
        let count = Term::cast(SIZE, Term::Name(format!("{}.Length", lengths.lengths_name)));
        let bytes = Term::binary(BinOp::Mul, count, Term::head("SizeOfType", vec![Term::name("int")]));
        let here = Term::head("_Slice", vec![name(&lengths.lengths_name), Term::Int(0)]);
        let of_lengths = [here, name(&lengths.device_name), Term::name("int[]"), bytes, Term::name("in")];
        out.push(Term::head("_Array", of_lengths.to_vec()));
        let parts = [&rows.packed_name, &b.device_name, &lengths.longest_name, &b.bytes_name].map(name);
        out.push(Term::head("_Rows", [array].into_iter().chain(parts).chain([way]).collect()));
    }

    /// What lies on the device: `_Slice(array,first)` says where what is copied begins.
    pub(super) fn managed_arrays(&mut self) -> Vec<Term> {
        let (plan, kernel) = (self.plan, self.kernel);
        let mut out = Vec::new();
        if let Some(steps) = self.steps {
            // all is there
            if kernel.checked.is_any() {
                steps.looks.set(true);
                self.given.handed(&kernel.checked.device_name, "ulong", &steps.outer.fault_place());
            }
            return out;
        }
        for b in plan.device_buffers() {
            let way = match (b.copy_in, b.written) {
                (true, true) => "inout",
                (true, false) => "in",
                (false, true) => "out",
                (false, false) => "none",
            };
            if let Some(rows) = &b.rows {
                self.managed_rows(b, rows, &mut out);
                continue;
            }
            let first = b.constant_first().map_or_else(|| Term::name(&b.first_name), Term::Int);
            if let Some(span) = self.managed_span(b, first.clone(), Term::name(way)) {
                out.push(span);
                continue;
            }
            let here = Term::head("_Slice", vec![Term::Name(self.given.array(b)), first]);
            let (there, bytes) = (Term::name(&b.device_name), Term::name(&b.bytes_name));
            let (ty, way) = (Term::Name(self.given.managed_type(b)), Term::name(way));
            out.push(match b.staged {
                true => {
                    let aside = Term::name(&b.staging_name);
                    Term::head("_Aside", vec![here, there, aside, ty, bytes, way])
                }
                false => Term::head("_Array", vec![here, there, ty, bytes, way]),
            });
        }
        if kernel.checked.is_any() {
            let names = [&kernel.checked.fault_name, &kernel.checked.device_name];
            out.push(Term::head("_Fault", names.map(|n| Term::name(n)).to_vec()));
        }
        let most: i128 = kernel.most_blocks.iter().take(kernel.dims.len()).map(|&m| i128::from(m)).product();
        for left in left_by_blocks(plan, kernel) {
            let names =
                [Term::name(left.partial), Term::name(left.ty), Term::Int(most), Term::name(left.device)];
            let count = [Term::Name(format!("{}*", left.ty)), self.blocks()];
            out.push(Term::head("_Parts", names.into_iter().chain(count).collect()));
        }
        out
    }
}
