//! Changed expressions run by themselves, where the function they stand in cannot be run.
//!
//! Each is a function over its variables, put behind the document's text so that its macros, types and functions are there.

use base::Budget;
use rewrite::rules::{Application, Piece};
use rustc_hash::FxHashMap;

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

/// All of them stand behind the document in one text, which is read once.
pub(super) fn run(
    ask: &Ask,
    done: &[&Application],
    regrouped: bool,
    options: &VerifyOptions,
    steps: &Budget,
) -> Pieces {
    let doc = &ask.doc;
    if doc.source().len() > MAX_BYTES {
        return Pieces::NotTried;
    }
    // of all functions the names are the same, and nothing in the file begins so
    let named = |text: &str, p: &Piece, k: usize| text.replace(&p.name, &format!("{}_{k}", p.name));
    let all: Vec<&Piece> = done.iter().filter_map(|a| a.pieces.as_ref()).flatten().collect();
    let with = |side: fn(&Piece) -> &str| {
        let functions = all.iter().enumerate().map(|(k, p)| named(side(p), p, k));
        functions.fold(doc.source().to_owned(), |text, function| text + &function)
    };
    let mut whole = !done.is_empty() && done.iter().all(|a| a.pieces.is_some());
    let Ok(text) = text::Text::new(&with(|p| &p.before)) else { return Pieces::NotTried };
    let before = Doc::open(doc.language(), doc.name(), text, doc.options().clone());
    let beside = Beside::read(&before, &with(|p| &p.after), &[]).within(steps);
    let ask = ask.of(&before);
    let functions: FxHashMap<&str, usize> =
        before.unit().items.iter().enumerate().map(|(k, i)| (&*i.name, k)).collect();
    for (k, p) in all.iter().enumerate() {
        let item = functions.get(&*format!("{}_{k}", p.name)).copied();
        match item.map(|item| one(&ask, item, &beside, regrouped, options)) {
            Some(Sameness::Same(..)) => {}
            Some(Sameness::Different(what)) => return Pieces::Different(format!("`{}` {what}", p.shown)),
            Some(Sameness::NotTried(_) | Sameness::Cancelled) | None => whole = false,
        }
    }
    match whole {
        true => Pieces::Same,
        false => Pieces::NotTried,
    }
}

fn one(ask: &Ask, item: usize, beside: &Beside, regrouped: bool, options: &VerifyOptions) -> Sameness {
    let doc = &ask.doc;
    let budget = ask.budget(u64::MAX);
    let effort = base::Effort::each_loop(STEPS);
    let facts = analysis::analyze(&doc.unit().items[item].body, doc.program(), effort, &budget);
    let view = FunctionView::new(ask, item, FunctionFacts::new(facts));
    let how = How { regrouped, wild: true, ..How::default() };
    same_but(&view, beside, how, options)
}
