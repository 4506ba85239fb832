//! What the host does when nobody has typed for a while: thorough analyses, and what an edited header changes.

use std::time::{Duration, Instant};

use super::{Document, Host};

impl Host {
    /// When the next document has been left in peace long enough for a thorough analysis.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        let delay = Duration::from_millis(u64::from(self.settings.analysis.idle_delay));
        let header = self.edited_header.iter().map(|(_, at)| *at + delay);
        self.documents.values().filter(|d| d.awaits_idle()).map(|d| d.last_change + delay).chain(header).min()
    }

    pub(super) fn idle(&mut self) {
        let delay = Duration::from_millis(u64::from(self.settings.analysis.idle_delay));
        if self.edited_header.as_ref().is_some_and(|(_, at)| at.elapsed() >= delay) {
            self.read_edited_header();
        }
        let due: Vec<String> = self
            .documents
            .iter()
            .filter(|(_, d)| d.awaits_idle() && d.last_change.elapsed() >= delay)
            .map(|(uri, _)| uri.clone())
            .collect();
        for uri in due {
            if let Some(document) = self.documents.get_mut(&uri) {
                document.wants_full = true;
            }
            self.analyze(&uri);
        }
    }
}

impl Document {
    /// Known as far as typing asks, and nothing runs or is wanted.
    fn awaits_idle(&self) -> bool {
        self.running.is_none()
            && !self.wants_full
            && self.current().is_some_and(|v| v.tier < ide::Tier::Full && v.analyzed.is_some())
    }
}
