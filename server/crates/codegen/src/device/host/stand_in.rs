//! Variables of the user's file that stand for results during the call.

use analysis::{Left, Way};
use term::{BinOp, SymbolId};

use super::given::{wish_of, Givens, Key};
use crate::device::host_term::Term;
use crate::plan::Namer;

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

/// A variable that says where control has left a region, or what the function returns there; zero where it has not.
pub(crate) struct WayOut {
    pub(super) symbol: SymbolId,
    /// `int`
    pub(super) ty: String,
    pub(super) name: String,
}

impl Givens<'_> {
    /// A variable that stands for a place without an address: its name. `first`: what its value is added to.
    pub(super) fn stand_in(&mut self, ty: String, place: String, is_read: bool, first: &str) -> String {
        let body = self.body();
        let mut names = Namer::beside(body);
        self.stand_ins.iter().for_each(|s| {
            names.fresh(&s.name);
        });
        let mut wish = wish_of(&place, "result");
        while body.symbols.iter().any(|s| *s.name == format!("{wish}{}", crate::ON_GPU)) {
            wish.push('_');
        }
        let name = names.fresh(&format!("{wish}{}", crate::ON_GPU));
        let value = format!("{first}{name}");
        self.stand_ins.push(StandIn { ty, name: name.clone(), place, value, is_read });
        name
    }

    /// The address of a variable that is made for a region that control may leave: what it says is done behind the call.
    pub(super) fn way_out(&mut self, s: SymbolId) -> String {
        let symbol = &self.body().symbols[s];
        let ty = [self.c.type_name(symbol.ty), self.cpp.type_name(symbol.ty)];
        let name = Namer::beside(self.body()).fresh(&format!("{}_{}", self.plan.name, symbol.name));
        let value = format!("&{name}");
        self.ways_out.push(WayOut { symbol: s, ty: ty[0].clone(), name });
        let ty = ty.map(|t| format!("{t}*"));
        self.add(Key::At(s), &symbol.name, [&ty[0], &ty[1]], value, false)
    }
}

/// What is done behind a call as these variables say: `if (left == 1) return value;`
pub(super) fn goes_on(left: &Left, all: &[WayOut]) -> Vec<Term> {
    let name = |s: SymbolId| all.iter().find(|w| w.symbol == s).map(|w| Term::name(&w.name));
    let Some(flag) = name(left.flag) else { return Vec::new() };
    let goes = |way: &Way| match way {
        Way::Return => Term::head("Return", left.value.and_then(name).into_iter().collect()),
        Way::Goto(l) => Term::head("Goto", vec![Term::name(l)]),
    };
    let numbered = left.ways.iter().zip(1..);
    let one = |(way, n)| {
        let is_it = Term::binary(BinOp::Eq, flag.clone(), Term::Int(n));
        Term::head("If", vec![is_it, Term::List(vec![goes(way)])])
    };
    numbered.map(one).collect()
}
