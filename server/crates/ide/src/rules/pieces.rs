//! Changed expressions run by themselves, where the function they stand in cannot be run.
//!
//! Each is a function over its variables, put behind the document's text so that its macros, types and functions are there.

use rewrite::rules::{Application, Piece};

use crate::function_view::FunctionView;
use crate::limits::rules_pieces::{MAX_BYTES, STEPS};
use crate::memo::FunctionFacts;
use crate::verify::{same_but, Beside, How, Sameness, VerifyOptions};
use crate::{Ask, Doc};

/// What running the pieces came to.
pub(super) enum Pieces {
    /// Every one ran and gave the same.
    Same,
    /// A phrase.
    Different(String),
    /// There is something that is no piece, or that does not run.
    NotTried,
}

pub(super) fn run(ask: &Ask, done: &[&Application], regrouped: bool, options: &VerifyOptions) -> Pieces {
    let doc = &ask.doc;
    let mut whole = doc.source().len() <= MAX_BYTES;
    for a in done {
        let Some(pieces) = a.pieces.as_ref().filter(|_| doc.source().len() <= MAX_BYTES) else {
            whole = false;
            continue;
        };
        for p in pieces {
            match one(ask, p, regrouped, options) {
                Sameness::Same(..) => {}
                Sameness::Different(what) => return Pieces::Different(format!("`{}` {what}", p.shown)),
                Sameness::NotTried(_) | Sameness::Cancelled => whole = false,
            }
        }
    }
    match whole && !done.is_empty() {
        true => Pieces::Same,
        false => Pieces::NotTried,
    }
}

fn one(ask: &Ask, p: &Piece, regrouped: bool, options: &VerifyOptions) -> Sameness {
    let doc = &ask.doc;
    let with = |function: &str| format!("{}{function}", doc.source());
    let Ok(text) = text::Text::new(&with(&p.before)) else {
        return Sameness::NotTried("the document is too long".to_owned());
    };
    let before = Doc::open(doc.language(), doc.name(), text, doc.options().clone());
    let Some(index) = before.unit().items.iter().position(|i| *i.name == *p.name) else {
        return Sameness::NotTried("it does not read as a function".to_owned());
    };
    let ask = ask.of(&before);
    let budget = ask.budget(u64::MAX);
    let facts = analysis::analyze(
        &before.unit().items[index].body,
        before.program(),
        base::Effort::each_loop(STEPS),
        &budget,
    );
    let view = FunctionView::new(&ask, index, FunctionFacts::new(facts));
    let how = How { regrouped, wild: true, ..How::default() };
    let beside = Beside::read(&before, &with(&p.after), &[]);
    same_but(&view, &beside, how, options)
}
