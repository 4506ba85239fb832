//! Why no example of two iterations that meet is shown.

use analysis::NotReplayed;

/// The reason, and what to do.
pub(super) fn not_replayed(why: NotReplayed, text: &str, line: u32, is_call: bool) -> (String, &'static str) {
    let found = match text.contains('[') {
        true => "by their subscripts two iterations may meet in",
        false => "two iterations may meet in",
    };
    match why {
        // where runs end before they come to it
        NotReplayed::NotReached if is_call => (
            format!("iterations may depend on each other, but no run that shows it was found: runs end on line {line}"),
            "",
        ),
        NotReplayed::NotReached => (
            format!("{found} `{text}` (line {line}), but no run of the function was found in which they do"),
            "",
        ),
        NotReplayed::NotMet => (
            format!("{found} `{text}` (line {line}), but none of the runs that were followed shows it"),
            "",
        ),
        NotReplayed::Value => (
            format!("iterations may depend on each other; no run was found that shows it, as runs could be followed only as far as `{text}` on line {line}, whose value is not known"),
            "",
        ),
        NotReplayed::NotUnderstood => (
            format!("iterations may depend on each other, but no run that shows it could be followed: `{text}` on line {line} was not understood"),
            "",
        ),
        NotReplayed::Steps => (
            format!("iterations may depend on each other, but a run that shows it is longer than is followed (up to `{text}` on line {line})"),
            "A function with the loop alone, given its values as parameters, can be judged.",
        ),
    }
}
