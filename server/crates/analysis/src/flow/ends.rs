//! Calls that never come back, and loops that never end: what stands behind them is not reached from there.

use term::{Body, Op, TermId};

use crate::flow::liveness::early_exit;
use crate::Summary;

/// What is known of the function that a call calls.
type Known<'k> = dyn Fn(TermId) -> Option<&'k Summary> + 'k;

/// Whether it is a function that does not come back, or comes back elsewhere: of C (C11 7.13.2, 7.22.4), of systems, of compilers.
pub(crate) fn never_comes_back(name: &str) -> bool {
    matches!(
        name,
        "exit"
            | "abort"
            | "_Exit"
            | "_exit"
            | "quick_exit"
            | "longjmp"
            | "siglongjmp"
            | "err"
            | "errx"
            | "verr"
            | "verrx"
            | "__assert_fail"
            | "__builtin_trap"
            | "__builtin_unreachable"
    )
}

/// Whether the term is a call of such a function of the library, or of one of its functions that does so whatever happens.
pub(crate) fn never_returns(body: &Body, known: &Known<'_>, t: TermId) -> bool {
    let Some(f) = body.callee(t) else { return false };
    if body.library.contains(&f) {
        return never_comes_back(&body.symbols[f].name);
    }
    known(t).is_some_and(|s| s.never_returns)
}

/// Whether control neither passes the end of a function's statements nor returns before.
pub(crate) fn never_comes_to_its_end(body: &Body, statements: TermId, known: &Known<'_>) -> bool {
    let is_way_out =
        |t: &TermId| matches!(body.op(*t), Op::Return | Op::Goto(_) | Op::Label(_) | Op::Reject(_));
    stops(body, statements, known, 0)
        && !body.jumps_unseen(body.root)
        && body.walk(statements).filter(is_way_out).all(|t| is_behind(body, statements, known, t))
}

/// Whether control never passes the end of a statement.
fn stops(body: &Body, t: TermId, known: &Known<'_>, depth: u32) -> bool {
    let args = body.args(t);
    let next = |&a: &TermId| stops(body, a, known, depth + 1);
    depth < 20
        && match body.op(t) {
            Op::List => args.iter().any(next),
            Op::If => args.len() == 3 && args[1..].iter().all(next),
            Op::Call => never_returns(body, known, t),
            Op::For | Op::While | Op::DoWhile => endless(body, t),
            _ => false,
        }
}

/// Whether a term stands behind one of the statements that stop.
fn is_behind(body: &Body, statements: TermId, known: &Known<'_>, t: TermId) -> bool {
    let all = body.args(statements);
    let at = all.iter().position(|&s| body.walk(s).any(|x| x == t));
    let stop = all.iter().position(|&s| stops(body, s, known, 0));
    matches!(*body.op(statements), Op::List) && at.zip(stop).is_some_and(|(at, stop)| at > stop)
}

/// Whether a loop's condition is a constant that never ends it, and nothing leaves it: C11 6.8.5p6 promises an end only
/// of loops whose condition is no constant.
pub(crate) fn endless(body: &Body, t: TermId) -> bool {
    let args = body.args(t);
    let condition = match body.op(t) {
        Op::For => args.get(1),
        Op::While => args.first(),
        _ => args.get(1),
    };
    let constant = condition.is_some_and(|&c| match body.op(c) {
        Op::Empty => true,
        Op::Int(v) => *v != 0,
        _ => false,
    });
    constant && early_exit(body, t).is_none()
}
