//! Functions that the host's side calls: the lesser and the greater of two numbers, quotients rounded down, whether memory is apart.

use term::BinOp;

use super::Host;
use crate::device::host_term::{Term, LONG_LONG};
use crate::device::promises;
use crate::HostSide;

/// What the function is called behind the kernel's name that finds out how the host rounds.
pub(super) const ROUNDS: &str = "rounds_to_nearest";

impl Host<'_> {
    pub(super) fn helper_functions(&self) -> Vec<Term> {
        // several kernel files may be one text
        let p = self.helper;
        let h = &self.helpers;
        let (a, b) = (|| Term::name("a"), || Term::name("b"));
        let binary = Term::binary;
        let chosen = |op| Term::head("Select", vec![binary(op, a(), b()), a(), b()]);
        let wide = |names: &[&str]| names.iter().map(|n| Term::declared(n, LONG_LONG, None)).collect();
        let mut out = Vec::new();
        let mut add = |is_used: bool, name: &str, parameters: Vec<Term>, ty: &str, value: Term| {
            if is_used {
                let body = vec![Term::head("Return", vec![value])];
                out.push(Term::function(&["static"], ty, &format!("{p}_{name}"), parameters, body));
            }
        };
        add(h.min.get(), "min", wide(&["a", "b"]), LONG_LONG, chosen(BinOp::Lt));
        add(h.max.get(), "max", wide(&["a", "b"]), LONG_LONG, chosen(BinOp::Gt));
        // the remainder has the dividend's sign
        let is_below_zero = || {
            let is = binary(BinOp::Lt, binary(BinOp::Rem, a(), b()), Term::Int(0));
            match self.plan.host() {
                HostSide::Function => is,
                // a condition is no number there
                HostSide::Method => Term::head("Select", vec![is, Term::Int(1), Term::Int(0)]),
            }
        };
        let floor = binary(BinOp::Sub, binary(BinOp::Div, a(), b()), is_below_zero());
        add(h.floor_div.get(), "floor_div", wide(&["a", "b"]), LONG_LONG, floor);
        let down = binary(BinOp::Sub, binary(BinOp::Div, a(), b()), is_below_zero());
        let is_positive = binary(BinOp::Gt, b(), Term::Int(0));
        let quotient = Term::head("Select", vec![is_positive, down, Term::Int(0)]);
        add(h.quotient.get(), "quotient", wide(&["a", "b"]), LONG_LONG, quotient);
        let at = |name| Term::cast("uintptr_t", Term::name(name));
        let ends = |name, bytes| binary(BinOp::Add, at(name), Term::name(bytes));
        let before = |(x, bytes), y| binary(BinOp::Le, ends(x, bytes), at(y));
        let apart = binary(BinOp::Or, before(("a", "a_bytes"), "b"), before(("b", "b_bytes"), "a"));
        let stretches =
            [("a", "const void*"), ("a_bytes", "size_t"), ("b", "const void*"), ("b_bytes", "size_t")];
        let stretches = stretches.iter().map(|(n, ty)| Term::declared(n, ty, None)).collect();
        add(h.apart.get(), "apart", stretches, "_Bool", apart);
        if h.rounds.get() {
            let name = format!("{p}_{ROUNDS}");
            out.push(Term::function(&["static"], "_Bool", &name, Vec::new(), rounds_to_nearest()));
        }
        out.extend(promises::functions(self.plan, &self.cpp));
        out
    }
}

/// Whether the host computes as the device does, found out by computing, which needs no header and sees every way to change it: that
/// 1 ± 2^-30 is neither rounded up nor down (IEEE 754-2019, 4.3), and that half of the least normal number is not taken for zero.
fn rounds_to_nearest() -> Vec<Term> {
    let name = Term::name;
    let number = |n: &str, value| Term::declared(n, "const volatile float", Some(value));
    let times = |a, b| Term::binary(BinOp::Mul, a, b);
    let fourth = times(times(name("little"), name("little")), times(name("little"), name("little")));
    let stays = |op| Term::binary(BinOp::Eq, Term::binary(op, name("one"), name("little")), name("one"));
    let is_kept =
        Term::binary(BinOp::Gt, Term::binary(BinOp::Div, name("least"), Term::Int(2)), Term::Int(0));
    let all = Term::all(BinOp::And, [stays(BinOp::Add), stays(BinOp::Sub), is_kept].into_iter());
    vec![
        number("one", Term::Int(1)),
        number("little", Term::binary(BinOp::Div, name("one"), Term::Int(1 << 30))),
        number("least", Term::binary(BinOp::Div, fourth, Term::Int(64))),
        Term::head("Return", vec![all]),
    ]
}
