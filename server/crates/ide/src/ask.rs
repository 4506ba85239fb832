//! What every answer is made from: a document, what is remembered, how much work the answer is worth, and who may call
//! it off. Lints, hovers, hints, lenses and actions get one of these and nothing else to find things out with.

use base::{Budget, CancelToken, Effort};

use crate::check::Tier;
use crate::{Doc, Memo};

/// One question about a document. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Ask {
    pub(crate) doc: Doc,
    pub(crate) memo: Memo,
    pub(crate) tier: Tier,
    pub(crate) cancel: CancelToken,
    /// What is left for the functions of the document.
    pub(crate) steps: Budget,
}

impl Ask {
    /// A question about `doc` whose answer is worth `tier`, until `cancel` is set.
    pub fn new(doc: &Doc, memo: &Memo, tier: Tier, cancel: &CancelToken) -> Ask {
        let by_length = analysis::STEPS_A_BYTE * u64::from(doc.text().len());
        let steps = Budget::with_cancel(tier.effort().file.saturating_add(by_length), cancel.clone());
        Ask { doc: doc.clone(), memo: memo.clone(), tier, cancel: cancel.clone(), steps }
    }

    /// A thorough answer that nobody calls off, with a memory of its own: what a command line asks.
    pub fn thorough(doc: &Doc) -> Ask {
        Ask::new(doc, &Memo::new(), Tier::Full, &CancelToken::new())
    }

    /// The document.
    pub fn doc(&self) -> &Doc {
        &self.doc
    }

    /// The same question about another text.
    pub(crate) fn of(&self, doc: &Doc) -> Ask {
        Ask::new(doc, &self.memo, self.tier, &self.cancel)
    }

    /// The same question at another price.
    pub fn at(&self, tier: Tier) -> Ask {
        Ask::new(&self.doc, &self.memo, tier, &self.cancel)
    }

    /// The same question for lists, which plan and run nothing: what they offer is checked when it is chosen.
    pub(crate) fn listing(&self) -> Ask {
        self.at(self.tier.min(Tier::Typing))
    }

    /// Whether only what is remembered may be said.
    pub(crate) fn only_known(&self) -> bool {
        self.tier == Tier::Known
    }

    /// How much work the next function is worth.
    pub(crate) fn effort(&self) -> Effort {
        self.tier.effort().with_left(self.steps.left())
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// Steps that end when the question is called off.
    pub(crate) fn budget(&self, steps: u64) -> Budget {
        Budget::with_cancel(steps, self.cancel.clone())
    }
}
