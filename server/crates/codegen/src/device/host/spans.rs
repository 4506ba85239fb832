//! Spans in C#: parts of arrays, or of other memory, that no driver is given. All of one is copied into an array before, and back
//! when all is over; whether two of them overlap is asked of .NET itself.

use super::checks::test;
use super::given::Givens;
use super::Host;
use crate::device::expr::{int_name, Dialect};
use crate::device::host_term::Term;
use crate::plan::{is_span, BufferPlan};

impl Givens<'_> {
    /// `ReadOnlySpan<float>`
    pub(super) fn span_type(&self, b: &BufferPlan) -> Option<String> {
        let name = if b.written { "Span" } else { "ReadOnlySpan" };
        is_span(self.plan.body, b.symbol).then(|| format!("{name}<{}>", self.element_name(b)))
    }

    /// The type of an element that is a number.
    pub(super) fn element_name(&self, b: &BufferPlan) -> String {
        match self.plan.body.types.as_int(b.element) {
            Some(k) => int_name(k, Dialect::CSharp).to_owned(),
            None => self.c.type_name(b.element),
        }
    }
}

impl Host<'_> {
    /// That a span and another, or an array, lie apart.
    pub(super) fn spans_apart(&mut self, a: &BufferPlan, b: &BufferPlan, why: &str) -> Option<Term> {
        let spans = [a, b].map(|x| is_span(self.plan.body, x.symbol));
        if spans == [false, false] {
            return None;
        }
        let mut bytes = |x: &BufferPlan, is_span: bool| {
            let (name, of) = (self.given.array(x), self.given.element_name(x));
            let span = if is_span { name } else { format!("new ReadOnlySpan<{of}>({name})") };
            Term::Name(format!("System.Runtime.InteropServices.MemoryMarshal.AsBytes({span})"))
        };
        let both = vec![bytes(a, spans[0]), bytes(b, spans[1])];
        Some(test(Term::call("MemoryExtensions.Overlaps", both).not(), why))
    }

    /// A span on the device: `_Span(span,copy,device,type,take,put,first,bytes,way)`.
    pub(super) fn managed_span(&mut self, b: &BufferPlan, first: Term, way: Term) -> Option<Term> {
        self.given.span_type(b)?;
        let (span, of) = (self.given.array(b), self.given.element_name(b));
        let copy = &b.staging_name;
        let names = [span.clone(), copy.clone(), b.device_name.clone(), format!("{of}[]")];
        let take = Term::Name(format!("{span}.ToArray"));
        let put = Term::Name(format!("new ReadOnlySpan<{of}>({copy}).CopyTo"));
        let rest = [take, put, first, Term::name(&b.bytes_name), way];
        Some(Term::head("_Span", names.map(Term::Name).into_iter().chain(rest).collect()))
    }
}
