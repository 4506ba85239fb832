//! Variables of the user's file that stand for results during the call.

use crate::device::host_term::Term;

/// A result's place that has no address in C (`register`, a bit-field): a variable stands for it during the call.
pub(crate) struct StandIn {
    /// `double`
    pub(super) ty: String,
    pub(crate) name: String,
    pub(crate) place: String,
    /// What is then put there.
    pub(crate) value: String,
    /// Whether what it held before counts.
    pub(super) is_read: bool,
}

impl StandIn {
    /// `double sum_on_gpu = sum;`
    /// `otherwise`: what it begins with where nothing is read.
    pub(crate) fn declaration(&self, otherwise: Option<Term>) -> Term {
        let begins = if self.is_read { Some(Term::name(&self.place)) } else { otherwise };
        Term::declared(&self.name, &self.ty, begins)
    }
    /// `sum = sum_on_gpu;`
    pub(crate) fn put_back(&self) -> Term {
        Term::name(&self.place).assign(Term::name(&self.value))
    }
}
