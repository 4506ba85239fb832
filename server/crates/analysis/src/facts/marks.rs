//! The user's request to offload a loop.

use term::{Body, Op, TermId};

/// The user's mark on a loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MarkFacts {
    /// The `Mark` term.
    pub term: TermId,
    /// The kernel's name, if one was given.
    pub name: Option<String>,
    /// Number of nested loops asked for.
    pub collapse: Option<u32>,
}

pub(crate) fn mark_of(body: &Body, t: TermId) -> Option<MarkFacts> {
    if *body.op(t) != Op::For {
        return None;
    }
    let mark = body.args(t).iter().skip(4).copied().find(|&m| matches!(body.op(m), Op::Mark(_)))?;
    let Op::Mark(name) = body.op(mark) else {
        return None;
    };
    let collapse = body.args(mark).iter().find_map(|&c| match body.op(c) {
        Op::Apply(f) if &**f == "collapse" => {
            body.args(c).first().and_then(|&n| body.as_int(n)).and_then(|n| u32::try_from(n).ok())
        }
        _ => None,
    });
    Some(MarkFacts { term: mark, name: (!name.is_empty()).then(|| name.to_string()), collapse })
}
