//! How much the shell holds, and how long it waits.

/// Of `cli::analyze::sarif`.
pub(crate) mod cli_analyze_sarif {
    /// Results that GitHub takes in one run.
    pub(crate) const SARIF_MAX_RESULTS: usize = 25_000;
}

/// Of `cli::analyze::text`.
pub(crate) mod cli_analyze_text {
    /// Phrases of a file's configuration shown at most.
    pub(crate) const SHOWN_CHOICES: usize = 8;
    /// A source line is shown up to here.
    pub(crate) const SHOWN_LINE_CHARS: usize = 160;
}

/// Of `cli`.
pub(crate) mod cli {
    /// Deeply nested input recurses in parsers and printers.
    pub(crate) const STACK_BYTES: usize = 256 * 1024 * 1024;
}

/// Of `cli::run`.
pub(crate) mod cli_run {
    /// Kernels and arrays of which the counts are said.
    pub(crate) const SHOWN: usize = 12;
    /// Headers of kernel files that are looked through for launches.
    pub(crate) const HEADERS: usize = 200;
    /// Names in one message.
    pub(crate) const NAMES: usize = 8;
}

/// Of `compiler`.
pub(crate) mod compiler {
    use std::time::Duration;

    /// Sets of options that are asked about in one session at most.
    pub(crate) const MOST: usize = 64;
    /// For one answer.
    pub(crate) const LIMIT: Duration = Duration::from_secs(2);
}

/// Of `diff`.
pub(crate) mod diff {
    /// Lines shown around a change.
    pub(crate) const AROUND: usize = 3;
}

/// Of `includes`.
pub(crate) mod includes {
    /// Longer files are not read as headers.
    pub(crate) const MAX_BYTES: u64 = 8 << 20;
    /// How many folders above the document's are looked at, at most; not beyond the repository.
    pub(crate) const ABOVE: usize = 6;
    /// Names that are looked at where a folder of headers is looked for.
    pub(crate) const LOOKED_AT: usize = 20_000;
    /// Files in which is looked for one that includes a document.
    pub(crate) const PART_FILES: usize = 400;
    /// How much of those that name it is read.
    pub(crate) const PART_BYTES: usize = 8 << 20;
    /// How many files may stand around one that is included.
    pub(crate) const PART_NESTED: usize = 3;
}

/// Of `lsp::commands::profile`.
pub(crate) mod lsp_commands_profile {
    use std::time::Duration;

    /// How often it is looked whether the work was called off.
    pub(crate) const LOOK: Duration = Duration::from_millis(20);
}

/// Of `lsp::measured`.
pub(crate) mod lsp_measured {
    /// Of a file of measurements the newest part is read.
    pub(crate) const MOST_BYTES: u64 = 4 << 20;
    /// Characters of a name that is shown.
    pub(crate) const NAME: usize = 80;
}

/// Of `lsp::panel::reports`.
pub(crate) mod lsp_panel_reports {
    /// Measurements before the last one.
    pub(crate) const SHOWN: usize = 20;
}

/// Of `lsp::client_life`.
pub(crate) mod lsp_client_life {
    use std::time::Duration;

    /// How often is looked.
    pub(crate) const EVERY: Duration = Duration::from_secs(2);
}

/// Of `lsp::document`.
pub(crate) mod lsp_document {
    /// After so many unparsed edits the document is read afresh: cheaper than telling a parser of each.
    pub(crate) const MAX_PENDING_EDITS: usize = 512;
    /// A document whose analysis panicked so often is left alone until it is opened again.
    pub(crate) const MAX_PANICS: u8 = 2;
}

/// Of `lsp::edits`.
pub(crate) mod lsp_edits {
    /// Names that are tried for a new file: `a.cu`, `a_2.cu`, …
    pub(crate) const MAX_NAMES: u32 = 1000;
}

/// Of `lsp::frames`.
pub(crate) mod lsp_frames {
    /// A header line longer than this is none.
    pub(crate) const MAX_HEADER_LINE_BYTES: usize = 4 * 1024;
    /// What is reserved before the first byte of a body has come.
    pub(crate) const FIRST_RESERVATION_BYTES: usize = 64 * 1024;
}

/// Of `lsp::host`.
pub(crate) mod lsp_host {
    /// Messages that may wait before the reader of the input waits too.
    pub(crate) const INBOX: usize = 4096;
}

/// Of `lsp::outgoing`.
pub(crate) mod lsp_outgoing {
    /// No new request is read while more than this waits to be written.
    pub(crate) const FULL_BYTES: usize = 32 * 1024 * 1024;
    /// Progress reports and log messages are dropped beyond this.
    pub(crate) const CROWDED_BYTES: usize = 1024 * 1024;
    /// A shorter list of diagnostics is copied into its message, so that the client is woken by one write.
    pub(crate) const SHORT_LIST_BYTES: usize = 16 * 1024;
}

/// Of `lsp::requests::code_action_resolve`.
pub(crate) mod lsp_requests_code_action_resolve {
    use std::time::Duration;

    /// How long an edit is made before that is shown.
    pub(crate) const PATIENCE: Duration = Duration::from_secs(1);
}

/// Of `lsp::requests::hover`.
pub(crate) mod lsp_requests_hover {
    use std::time::Duration;

    /// How long the whole answer may take; what is known is said in the rest of 50 ms.
    pub(crate) const PATIENCE: Duration = Duration::from_millis(30);
}

/// Of `lsp::transport`.
pub(crate) mod lsp_transport {
    use std::time::Duration;

    /// How long the last answers may take to get out once the session is over.
    pub(crate) const LAST_WORDS: Duration = Duration::from_millis(1500);
    /// More unanswered requests than any editor has.
    pub(crate) const CROWD: usize = 4096;
}

/// Of `lsp::work`.
pub(crate) mod lsp_work {
    use std::time::Duration;

    /// Shorter documents are analyzed before more threads have started.
    pub(crate) const WARM_LINES: u32 = 200;
    /// Documents this long are shown in two steps when they are opened: what is known after this time, then all.
    pub(crate) const EARLY_LINES: u32 = 2_000;
    pub(crate) const EARLY: Duration = Duration::from_millis(250);
    /// The analysis gets this long before the first step even where reading took longer than that.
    pub(crate) const LEAST: Duration = Duration::from_millis(50);
}

/// Of `profile`.
pub(crate) mod profile {
    use std::time::Duration;

    /// Until a worker says hello: a login may be slow.
    pub(crate) const START: Duration = Duration::from_secs(30);
    /// For one loop: compiled, run, beside the original.
    pub(crate) const LIMIT: Duration = Duration::from_secs(240);
}

/// Of `project`.
pub(crate) mod project {
    /// Files around a document that are looked through for names, and how far below the source root.
    pub(crate) const FILES: usize = 4000;
    pub(crate) const DEPTH: usize = 8;
    /// Files and folders of whatever kind that are passed on the way.
    pub(crate) const ENTRIES: usize = 100_000;
    /// Longer files are not looked at.
    pub(crate) const FILE_BYTES: u64 = 4 << 20;
    /// Files that are read for one document, and bytes of them.
    pub(crate) const READ_FILES: usize = 400;
    pub(crate) const READ_BYTES: u64 = 16 << 20;
    /// So many bytes of new texts are looked through before their names are kept on disk, and so many texts are kept there.
    pub(crate) const WORTH_CACHING: u64 = 1 << 20;
    pub(crate) const CACHED: usize = 50_000;
    /// Files kept read: the newest.
    pub(crate) const KEPT: usize = 2000;
    /// Files that a part of others is followed through to those that it is read in.
    pub(crate) const PARTS_IN: usize = 12;
    /// Files that are read for their launches of one document's kernels.
    pub(crate) const LAUNCHING: usize = 20;
}

/// Of `prove`.
pub(crate) mod prove {
    use std::time::Duration;

    /// Wall-clock limit of a question; the questions have limits of their own in steps.
    pub(crate) const LIMIT: Duration = Duration::from_secs(60);
    /// Answers kept.
    pub(crate) const KEPT: usize = 4096;
}

/// Of `rule_pages`.
pub(crate) mod rule_pages {
    /// A page larger than this is none.
    pub(crate) const MAX_BYTES: u64 = 1 << 20;
}
