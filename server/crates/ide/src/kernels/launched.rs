//! What is said of kernels whose launch is not known in full.

use crate::function_view::line_column;
use crate::words::quoted;
use crate::Doc;

use super::said::number;

/// Which part of a launch is known, and which is not. `shown`: the kernel's name as people see it.
pub(super) fn in_part(doc: &Doc, name: &str, shown: &str) -> String {
    let given = doc.given(name);
    // of several launches the one of which most is known
    let known =
        |g: &&super::GivenLaunch| usize::from(g.given.block.is_some()) + usize::from(g.given.grid.is_some());
    let best = given.iter().rev().max_by_key(known).filter(|g| known(g) > 0);
    match best {
        Some(g) => {
            let at = super::said::launch_place(doc, &g.at);
            match (&g.given.grid, &g.given.block) {
                (None, Some(block)) => format!(
                    "the launch {at} has blocks of {} threads{}; its grid is not known as a number",
                    number(*block),
                    taken_for_block(doc, g)
                ),
                (Some(grid), None) => format!(
                    "the launch {at} has {} blocks; how many threads a block has is not known as a number",
                    number(*grid)
                ),
                _ => format!("what the launch {at} gives {} is not known", quoted(shown)),
            }
        }
        None => match launched_on(doc, shown) {
            Some(line) => format!("what its launch on line {line} gives it is not followed"),
            None => "how it is launched is not known".to_owned(),
        },
    }
}

/// ` (for the default `size` = 256, line 4)`, of what its block was taken from.
fn taken_for_block(doc: &Doc, g: &super::GivenLaunch) -> String {
    let all = super::shape::taken(doc, g);
    super::said::taken_words(doc, all.get(..g.given.block_taken).unwrap_or(&[]))
}

/// The line of the first launch that a document writes of a kernel, in whatever C++ stands around it.
fn launched_on(doc: &Doc, kernel: &str) -> Option<u32> {
    let plain = kernel.split('<').next().unwrap_or(kernel);
    let source = doc.source();
    let at = source.match_indices("<<<").map(|(at, _)| at).find(|&at| {
        let mut before = source[..at].trim_end();
        if before
            .rsplit('\n')
            .next()
            .is_some_and(|line| line.contains("//") || line.trim_start().starts_with('*'))
        {
            return false;
        }
        // the arguments of a template
        if before.ends_with('>') {
            let mut open = 0;
            let start = before.char_indices().rev().find(|(_, c)| {
                open += match c {
                    '>' => 1,
                    '<' => -1,
                    _ => 0,
                };
                open == 0
            });
            before = start.map_or("", |(k, _)| before[..k].trim_end());
        }
        let is_other = |c: char| !(c.is_alphanumeric() || c == '_');
        before.strip_suffix(plain).is_some_and(|rest| rest.chars().next_back().is_none_or(is_other))
    })?;
    Some(line_column(doc, at as u32).line)
}
