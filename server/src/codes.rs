//! Codes of what only the shell can say, beside those of `ide`. No level can be set for them: they speak of Warpwright
//! itself or of its rules.

const NOT_ANALYZED: &str = "\
# `not-analyzed`: a document that is left alone

*Level: information; it cannot be changed.*

## What it says

The analysis of this document failed twice inside Warpwright, so the document is left alone. Other documents are not
concerned.

## Why it matters

Nothing is said of the loops of this document: they are neither found safe nor found unsafe.

## What to do

Close the document and open it again to try once more. The server's log (standard error; the output channel in VS Code)
names the place in Warpwright that failed: report it, with the document if you can share it.
";

const KERNEL_DOES_NOT_COMPILE: &str = "\
# `kernel-does-not-compile`: the compiler refuses a generated kernel

*Level: error; it cannot be changed.*

## What it says

NVRTC, NVIDIA's compiler, refused the kernel that Warpwright made of this marked loop.

## Why it matters

Every generated kernel is meant to compile for every architecture; one that does not is a defect of Warpwright and never
of your program. Your file is not changed by this check.

## What to do

Remove the mark from the loop and report the message. If the message speaks of the architecture, correct the setting
`warpwright.architecture`.
";

const RULE_PAGE: &str = "\
# `rule-page`: something is wrong with a rule page

*Level: error, or warning where the page can be used all the same; it cannot be changed.*

## What it says

A page of rewrite rules cannot be read, has a rule that cannot be right, or has an example that does not come out as the
page says. The message names the line and what to write instead.

## Why it matters

A page is documentation, definition and test in one: a rule that does not do what its own page shows is not offered to
anybody. Until the page is mended, its last good version stays in use.

## What to do

Change the line as the message says and save the page; nothing has to be started again. `warpwright rules check FILE` says
the same on the command line, and docs/rules.md tells how pages are written.
";

/// The page of a code, whoever says it.
pub fn explain(code: &str) -> Option<&'static str> {
    match code {
        "not-analyzed" => Some(NOT_ANALYZED),
        "rule-page" => Some(RULE_PAGE),
        "kernel-does-not-compile" => Some(KERNEL_DOES_NOT_COMPILE),
        _ => ide::explain(code),
    }
}
