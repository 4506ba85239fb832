//! What every answer is made from: a document, what is remembered, how much work the answer is worth, and who may call
//! it off. Lints, hovers, hints, lenses and actions get one of these and nothing else to find things out with.

use std::sync::Arc;

use base::{Budget, CancelToken, Effort};
use rewrite::rules::RuleSet;

use crate::check::Tier;
use crate::host_pages::HostPages;
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
    /// Who writes the host's side of kernels.
    pub(crate) pages: Option<HostPages>,
    /// Whether the other files of the document's program are still being looked for.
    pub(crate) awaits_others: bool,
}

impl Ask {
    /// A question about `doc` whose answer is worth `tier`, until `cancel` is set.
    pub fn new(doc: &Doc, memo: &Memo, tier: Tier, cancel: &CancelToken) -> Ask {
        let kernels = doc.unit().items.iter().filter(|i| i.is_kernel).count() as u64;
        let by_kernels = if tier.plans() { analysis::STEPS_A_KERNEL * kernels } else { 0 };
        let by_size = analysis::STEPS_A_BYTE * u64::from(doc.text().len()) + by_kernels;
        let steps = Budget::with_cancel(tier.effort().file.saturating_add(by_size), cancel.clone());
        let (doc, memo, cancel) = (doc.clone(), memo.clone(), cancel.clone());
        Ask { doc, memo, tier, cancel, steps, pages: None, awaits_others: false }
    }

    /// The same question before the other files of the program are known: of loops that these may say more of nothing is said yet.
    pub fn awaiting_others(mut self, awaits: bool) -> Ask {
        self.awaits_others = awaits;
        self
    }

    /// The same question with the user's rule pages, by which what is offloaded is written.
    pub fn with_pages(mut self, set: &Arc<RuleSet>) -> Ask {
        self.pages = Some(HostPages::of(set));
        self
    }

    /// The same question with calls put into the user's file by this system of these pages.
    pub(crate) fn with_placing(mut self, set: &Arc<RuleSet>, system: &str) -> Ask {
        self.pages = Some(HostPages::of(set).placing(system));
        self
    }

    /// The same question with kernels that rule pages optimise, as far as they can.
    ///
    /// `or_plain`: one that no page optimises is taken as it is.
    pub(crate) fn optimizing(mut self, or_plain: bool) -> Ask {
        self.pages = Some(self.host_pages().optimizing(or_plain));
        self
    }

    /// The pages that write the host's side of kernels.
    pub(crate) fn host_pages(&self) -> HostPages {
        self.pages.clone().unwrap_or_default()
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
        Ask { pages: self.pages.clone(), ..Ask::new(doc, &self.memo, self.tier, &self.cancel) }
    }

    /// The same question at another price.
    pub fn at(&self, tier: Tier) -> Ask {
        Ask { pages: self.pages.clone(), ..Ask::new(&self.doc, &self.memo, tier, &self.cancel) }
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
