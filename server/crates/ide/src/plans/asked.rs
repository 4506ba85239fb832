//! What every way to a plan is given.

use std::cell::Cell;

use base::CancelToken;

use super::OffloadSite;

/// How a plan is asked for, and where its steps are counted.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) site: &'a OffloadSite<'a>,
    pub(super) cancel: &'a CancelToken,
    pub(super) counted: &'a Cell<u64>,
}

impl Asked<'_> {
    pub(super) fn count(&self, steps: u64) {
        self.counted.set(self.counted.get() + steps);
    }
}
