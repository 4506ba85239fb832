//! Promises of the user's, and the like, in the kernel file: functions that test them on the host, and words about those that nobody tests.

use analysis::ConditionKind;
use term::BinOp;

use super::expr::{Dialect, Exprs};
use super::host_expr::quoted;
use super::host_term::{Term, LONG_LONG};
use crate::plan::{name_part, BufferPlan, Note, Plan, TestKind};

/// What the functions that test elements are called behind the array's name.
pub(crate) const IN_RANGE: &str = "in_range";
pub(crate) const DISTINCT: &str = "distinct";
pub(crate) const SORTED: &str = "sorted";

/// Values may lie this many times as far apart as there are elements, and this much more: a mark is kept for each.
const MARKS_AN_ELEMENT: i128 = 64;
const MARKS: i128 = 1 << 20;

/// The function that tests the elements of a buffer.
pub(crate) fn function_name(plan: &Plan<'_>, b: &BufferPlan, helper: &str) -> String {
    format!("{}_{}_{helper}", plan.name, name_part(&plan.body.symbols[b.symbol].name))
}

/// Whether a test needs memory of its own.
pub(crate) fn need_memory(plan: &Plan<'_>) -> bool {
    plan.tests.iter().any(|t| matches!(t.kind, TestKind::Distinct(_)))
}

/// The functions that tests of elements call.
pub(crate) fn functions(plan: &Plan<'_>, cpp: &Exprs<'_>) -> Vec<Term> {
    let mut out = Vec::new();
    let mut written: Vec<(usize, &str)> = Vec::new();
    for t in &plan.tests {
        let (k, helper) = match t.kind {
            TestKind::InRange { buffer, .. } => (buffer, IN_RANGE),
            TestKind::Distinct(buffer) => (buffer, DISTINCT),
            TestKind::Sorted(buffer) => (buffer, SORTED),
            _ => continue,
        };
        // elements of one array are tested against several ends by one function
        if written.contains(&(k, helper)) {
            continue;
        }
        written.push((k, helper));
        let Some(b) = plan.buffers.get(k) else { continue };
        let mut parameters = vec![
            Term::declared("values", &format!("const {}*", cpp.type_name(b.element)), None),
            Term::declared("count", "size_t", None),
        ];
        let unsigned = plan.body.types.as_int(b.element).is_some_and(|k| !k.signed());
        let body = match helper {
            IN_RANGE => {
                parameters.extend(["low", "high"].map(|n| Term::declared(n, LONG_LONG, None)));
                in_range(unsigned)
            }
            SORTED => vec![each_from(1, vec![Term::when(decreases(), vec![returns(0)])]), returns(1)],
            _ => distinct(),
        };
        let name = function_name(plan, b, helper);
        out.push(Term::function(&["static"], "_Bool", &name, parameters, body));
    }
    out
}

fn name(n: &str) -> Term {
    Term::name(n)
}

/// The element of this number, as 64 bits with a sign.
fn value() -> Term {
    Term::cast(LONG_LONG, name("values").at(name("k")))
}

fn each(body: Vec<Term>) -> Term {
    each_from(0, body)
}

fn each_from(first: i128, body: Vec<Term>) -> Term {
    let first = Term::declared("k", "size_t", Some(Term::Int(first)));
    let test = Term::binary(BinOp::Lt, name("k"), name("count"));
    Term::head("For", vec![first, test, Term::head("Increment", vec![name("k")]), Term::List(body)])
}

/// Whether an element is less than the one before it, by their own type.
fn decreases() -> Term {
    let before = Term::binary(BinOp::Sub, name("k"), Term::Int(1));
    Term::binary(BinOp::Lt, name("values").at(name("k")), name("values").at(before))
}

fn returns(v: i128) -> Term {
    Term::head("Return", vec![Term::Int(v)])
}

fn in_range(unsigned: bool) -> Vec<Term> {
    let below = Term::binary(BinOp::Lt, value(), name("low"));
    let above = Term::binary(BinOp::Ge, value(), name("high"));
    // what is too large for the sign
    let too_large = unsigned.then(|| Term::binary(BinOp::Lt, value(), Term::Int(0)));
    let out = Term::all(BinOp::Or, [below, above].into_iter().chain(too_large));
    vec![each(vec![Term::when(out, vec![returns(0)])]), returns(1)]
}

/// A mark for each value from the least to the largest.
fn distinct() -> Vec<Term> {
    let wider = |op, end: &str| {
        let further = Term::binary(op, value(), name(end));
        Term::when(further, vec![name(end).assign(value())])
    };
    let start = || Term::cast(LONG_LONG, name("values").at(Term::Int(0)));
    // the difference of two numbers of 64 bits may need one more
    let wide = |n: &str| Term::cast("unsigned long long", name(n));
    let far = Term::binary(BinOp::Sub, wide("most"), wide("least"));
    let limit = Term::binary(
        BinOp::Add,
        Term::binary(
            BinOp::Mul,
            Term::cast("unsigned long long", name("count")),
            Term::Int(MARKS_AN_ELEMENT),
        ),
        Term::Int(MARKS),
    );
    let at = Term::binary(BinOp::Sub, wide_value(), wide("least"));
    let seen = || name("seen").at(name("at"));
    let marks = Term::call(
        "calloc",
        vec![Term::binary(BinOp::Add, Term::cast("size_t", name("span")), Term::Int(1)), Term::Int(1)],
    );
    vec![
        Term::when(Term::binary(BinOp::Eq, name("count"), Term::Int(0)), vec![returns(1)]),
        Term::declared("least", LONG_LONG, Some(start())),
        Term::declared("most", LONG_LONG, Some(start())),
        each(vec![wider(BinOp::Lt, "least"), wider(BinOp::Gt, "most")]),
        Term::declared("span", "const unsigned long long", Some(far)),
        Term::comment("a mark for each value, unless these are too far apart"),
        Term::when(Term::binary(BinOp::Gt, name("span"), limit), vec![returns(0)]),
        Term::declared("seen", "unsigned char*", Some(Term::cast("unsigned char*", marks))),
        Term::when(Term::binary(BinOp::Eq, name("seen"), Term::Int(0)), vec![returns(0)]),
        Term::declared("all", "_Bool", Some(Term::Int(1))),
        each(vec![
            Term::declared("at", "const size_t", Some(Term::cast("size_t", at))),
            Term::when(Term::binary(BinOp::Ne, seen(), Term::Int(0)), vec![name("all").assign(Term::Int(0))]),
            seen().assign(Term::Int(1)),
        ]),
        Term::call("free", vec![name("seen")]),
        Term::head("Return", vec![name("all")]),
    ]
}

fn wide_value() -> Term {
    Term::cast("unsigned long long", value())
}

/// A line for each promise that nobody tests.
pub(crate) fn relied_on(plan: &Plan<'_>) -> Vec<String> {
    let Some(kernel) = plan.kernels.first() else { return Vec::new() };
    let c = Exprs { plan, kernel, dialect: Dialect::Host };
    let promises = plan.notes.iter().filter_map(|n| match n {
        Note::Promise(kind) => Some(said(plan, &c, kind)),
        _ => None,
    });
    promises.map(|p| format!("Relies on your promise {p}, which nobody tests.")).collect()
}

/// A promise as one writes it.
pub(crate) fn said(plan: &Plan<'_>, c: &Exprs<'_>, kind: &ConditionKind) -> String {
    let q = |t| quoted(c, t);
    let name = |s| &plan.body.symbols[s].name;
    match kind {
        ConditionKind::Size { array, length } => format!("size({}) = {}", q(*array), q(*length)),
        ConditionKind::InRange { array, low, high } => {
            format!("in-range({}, {}, {})", q(*array), q(*low), q(*high))
        }
        ConditionKind::Injective(array) => format!("injective({})", q(*array)),
        ConditionKind::NoAlias(a, b) => format!("no-alias({}, {})", name(a.symbol), name(b.symbol)),
        ConditionKind::DistinctRows(o) => format!("distinct-rows({})", name(o.symbol)),
        ConditionKind::Pure(f) => format!("pure({})", name(*f)),
        _ => "of the comment".to_owned(),
    }
}
