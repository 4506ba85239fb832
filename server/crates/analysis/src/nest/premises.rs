//! What holds whenever the root of a model runs, and what is only taken to hold.

use std::cell::RefCell;
use std::rc::Rc;

use crate::algebra::bounds::Known;
use crate::algebra::poly::{Constraint, Poly};
use crate::nest::vars::Vars;

#[derive(Clone)]
pub(crate) struct Premises {
    /// What is known of the parameters.
    pub context: Vec<Constraint>,
    /// Values of the parameters that are not 0.
    pub differs: Vec<Poly>,
    /// What assertions before the root say, if they are there when the program is built: no more than that other assertions hold follows.
    pub asserted: Vec<Constraint>,
    /// Beside `context`: one of these holds. Empty: nothing more is known.
    pub cases: Vec<Vec<Constraint>>,
    /// What is asked for besides, while another witness is looked for: one way to the root.
    pub way: RefCell<Vec<Constraint>>,
    /// Ranges that types give; for the small prover only, the integer sets do without.
    pub(super) ranges: Vec<Constraint>,
    /// Values that must not be negative for the model to be the program, and that are not proved not to be: a witness
    /// has to choose iterations where they are not. `None`: one of them is not linear, and a run has to tell.
    pub unproved: Option<Vec<Poly>>,
    /// See [`Premises::prover`].
    prover: RefCell<Option<Rc<Known>>>,
}

impl Default for Premises {
    fn default() -> Premises {
        Premises {
            context: Vec::new(),
            differs: Vec::new(),
            asserted: Vec::new(),
            cases: Vec::new(),
            way: RefCell::default(),
            ranges: Vec::new(),
            unproved: Some(Vec::new()),
            prover: RefCell::default(),
        }
    }
}

impl Premises {
    /// Whether a value is known not to be 0: it is a multiple of one that is.
    pub(crate) fn is_not_zero(&self, p: &Poly) -> bool {
        let is_multiple = |d: &Poly| {
            let (m, by) = d.terms().find(|(m, _)| !m.is_empty())?;
            let c = p.terms().find(|(of, _)| *of == m)?.1;
            Some(c != 0 && c % by == 0 && d.scale(c / by)? == *p)
        };
        self.differs.iter().any(|d| is_multiple(d) == Some(true))
    }

    /// The small prover with all that always holds, of parameters, of types, and of quotients by their definition; and with what
    /// it was asked before in the same context.
    pub(super) fn prover(&self, vars: &Vars) -> Rc<Known> {
        let context = self.context.iter().chain(vars.definitions().flatten()).chain(&self.ranges);
        let mut prover = self.prover.borrow_mut();
        match &*prover {
            Some(p) if p.context.iter().eq(context.clone()) => p.clone(),
            _ => prover.insert(Rc::new(Known::new(context.cloned().collect()))).clone(),
        }
    }
}
