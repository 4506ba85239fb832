//! What the editor says while a rule page is written: completions and hovers.
//!
//! Only inside fenced blocks of rules and on the lines that open them; elsewhere a page is the author's prose. Deliberately
//! absent: findings (see `pages`).

use base::Span;
use rewrite::rules::{RuleSet, ACTIONS, GUARDS};

use crate::Hover;

/// What a completion stands for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PageWord {
    Variable,
    Guard,
    Action,
    Strategy,
    System,
}

/// Something that may be written at a place of a page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PageCompletion {
    pub word: PageWord,
    pub label: String,
    /// How it is used, and what it means.
    pub detail: String,
    pub meaning: String,
    /// What is replaced, in the page.
    pub replaces: Span,
    pub insert: String,
}

/// Strategies and combinators: name, use, meaning.
const STRATEGIES: [(&str, &str, &str); 10] = [
    ("TopDown", "TopDown", "a term before its parts, again and again until nothing applies anywhere"),
    ("BottomUp", "BottomUp", "the parts of a term before the term"),
    ("FirstTop", "FirstTop", "the first place from the top, then from the top again"),
    ("once", "once(TopDown)", "at most one rule, once"),
    ("repeat", "repeat(TopDown)", "until it changes nothing"),
    ("try", "try(TopDown)", "that nothing applies is no failure"),
    ("or", "or(first, second)", "the first of them that changes something"),
    ("then", "then(first, second)", "one after the other; if one applies nowhere, none counts"),
    (
        "together",
        "together(TopDown)",
        "every rule of the system applies somewhere in the file, at every launch of the kernel it rewrites, or none counts",
    ),
    (
        "planned",
        "planned(TopDown)",
        "the loops meant are planned, and the call of each, `_Offloaded(…)`, is rewritten: how offloads stand in the program",
    ),
];

/// Where a place of a page is.
enum Inside<'a> {
    /// In a block of rules: its text and where that begins.
    Rules(&'a str, usize),
    /// On the line that opens one, behind the word `rules`.
    Opening,
}

/// What may be written at an offset of a page.
pub fn page_completions(set: &RuleSet, text: &str, offset: u32) -> Vec<PageCompletion> {
    let at = (offset as usize).min(text.len());
    let Some(inside) = inside(text, at) else { return Vec::new() };
    let start = word_start(text, at);
    let replaces = Span::new(start, at);
    let written = &text[start..at];
    let mut all: Vec<PageCompletion> = Vec::new();
    let mut add = |word, label: &str, detail: &str, meaning: &str, insert: &str| {
        if label.starts_with(written) {
            all.push(PageCompletion {
                word,
                label: label.to_owned(),
                detail: detail.to_owned(),
                meaning: meaning.to_owned(),
                replaces,
                insert: insert.to_owned(),
            });
        }
    };
    match inside {
        Inside::Opening => {
            for (name, usage, meaning) in STRATEGIES {
                add(PageWord::Strategy, name, usage, meaning, usage);
            }
            for page in &set.pages {
                for s in &page.systems {
                    add(PageWord::System, &s.name, &page.title, &page.prose, &s.name);
                }
            }
        }
        Inside::Rules(block, begins) => {
            let mut known: Vec<&str> = variables(block, begins, at).collect();
            known.sort_unstable();
            known.dedup();
            for v in known {
                add(PageWord::Variable, v, "a variable of this block", "", v);
            }
            if !written.starts_with('$') {
                for (name, usage, meaning) in GUARDS {
                    add(PageWord::Guard, name, usage, meaning, usage);
                }
                for (name, usage, meaning) in ACTIONS {
                    add(PageWord::Action, name, usage, meaning, usage);
                }
            }
        }
    }
    all
}

/// What a word of a page means.
pub fn page_hover(set: &RuleSet, text: &str, offset: u32) -> Option<Hover> {
    let at = (offset as usize).min(text.len());
    let inside = inside(text, at)?;
    let start = word_start(text, at);
    let end = at + text[at..].find(|c: char| !is_word(c)).unwrap_or(text.len() - at);
    let word = text.get(start..end).filter(|w| !w.is_empty())?;
    let known = |kind: &str, (name, usage, meaning): &(&str, &str, &str)| {
        (*name == word).then(|| format!("`{usage}` ({kind}): {meaning}."))
    };
    let markdown = match inside {
        Inside::Opening => STRATEGIES.iter().find_map(|s| known("strategy", s)),
        Inside::Rules(block, begins) if word.starts_with('$') => {
            let times = variables(block, begins, usize::MAX).filter(|v| *v == word).count();
            Some(format!(
                "`{word}` is a variable: it stands for one term, or for the rest of a list behind `:`. It must be the same \
                 term wherever it stands in a rule. This block has it {}.",
                crate::words::plural(times, "time")
            ))
        }
        Inside::Rules(..) => GUARDS
            .iter()
            .find_map(|g| known("condition, proved by the analysis", g))
            .or_else(|| ACTIONS.iter().find_map(|a| known("action", a))),
    };
    let system = || {
        set.find(word).map(|(page, s)| {
            format!("The system `{}` of the page \"{}\".\n\n{}", s.name, page.title, page.prose)
        })
    };
    let markdown = markdown.or_else(system)?;
    Some(Hover { markdown, span: Span::new(start, end), more: None })
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Where the word begins that ends at an offset, a `$` before it included.
fn word_start(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or("");
    let start = before
        .rfind(|c: char| !is_word(c))
        .map_or(0, |k| k + before[k..].chars().next().map_or(1, char::len_utf8));
    start - usize::from(before[..start].ends_with('$'))
}

/// The variables of a block, save the one that is being written.
fn variables(block: &str, begins: usize, writing: usize) -> impl Iterator<Item = &str> {
    block.match_indices('$').filter_map(move |(k, _)| {
        let len = block[k + 1..].find(|c: char| !is_word(c)).unwrap_or(block.len() - k - 1);
        let whole = &block[k..k + 1 + len];
        (len > 0 && begins + k + 1 + len != writing).then_some(whole)
    })
}

fn inside(text: &str, at: usize) -> Option<Inside<'_>> {
    let mut open: Option<(bool, usize)> = None;
    let mut begins = 0;
    for line in text.split_inclusive('\n') {
        let ends = begins + line.len();
        let here = begins <= at && (at < ends || (at == ends && !line.ends_with('\n')));
        match (line.trim_start().strip_prefix("```"), open) {
            (Some(info), None) => {
                let rules = info.trim_start().strip_prefix("rules").filter(|r| !r.starts_with(is_word));
                if here {
                    let behind = line.len() - rules?.len();
                    return (at >= begins + behind).then_some(Inside::Opening);
                }
                open = Some((rules.is_some(), ends));
            }
            (Some(_), Some(_)) => {
                if here {
                    return None;
                }
                open = None;
            }
            (None, Some((rules, first))) if here => {
                let rest = &text[first..];
                let last = rest.find("\n```").map_or(rest.len(), |k| k + 1);
                return rules.then_some(Inside::Rules(&rest[..last], first));
            }
            (None, None) if here => return None,
            _ => {}
        }
        begins = ends;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str =
        "# Squares\n\nPowers of two; `pure` is said here too.\n\n```rules squares BottomUp\npow($base, 2) [pu] -> $base * $b\n```\n\n```c example\npu\n```\n";

    fn labels(mark: &str, behind: usize) -> Vec<String> {
        let offset = PAGE.find(mark).expect("in the page") + behind;
        page_completions(&RuleSet::default(), PAGE, offset as u32).into_iter().map(|c| c.label).collect()
    }

    #[test]
    fn what_is_written_decides_what_is_offered() {
        assert_eq!(labels("[pu]", 3), ["pure"]);
        assert_eq!(labels("$b\n", 2), ["$base"]);
        assert_eq!(labels("BottomUp", 1), ["BottomUp"]);
        assert_eq!(labels("BottomUp", 0).len(), STRATEGIES.len());
        // prose and programs are the author's
        assert_eq!(labels("`pure`", 3), [""; 0]);
        assert_eq!(labels("example\npu", 10), [""; 0]);
        assert_eq!(labels("# Squ", 3), [""; 0]);
    }

    #[test]
    fn words_are_explained_where_they_are_rules() {
        let page = PAGE.replace("[pu]", "[pure($base)]");
        let say = |mark: &str, behind: usize| {
            let offset = page.find(mark).expect("in the page") + behind;
            page_hover(&RuleSet::default(), &page, offset as u32).map(|h| h.markdown)
        };
        assert!(say("[pure", 2).is_some_and(|m| m.contains("writes nothing")));
        assert!(say("$base * ", 3).is_some_and(|m| m.contains("3 times")));
        assert!(say("BottomUp", 3).is_some_and(|m| m.contains("parts of a term")));
        assert_eq!(say("`pure` is", 3), None);
    }
}
