//! The known word that a mistyped one is nearest to.

use base::Span;

/// The nearest of `known`, if it is near enough to be meant: at most a third of its letters differ.
pub(super) fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let best = known.map(|k| (distance(&word.to_lowercase(), &k.to_lowercase()), k)).min()?;
    let len = best.1.chars().count();
    (best.0 < len && best.0 <= (len / 3).max(1)).then_some(best.1)
}

/// Where a page has the word in whose place a message offers another, `… Is `independent` meant?`, and that other: of the
/// words at the message's place the one that is nearest to it.
pub fn misspelt(page: &str, place: Span, message: &str) -> Option<(Span, String)> {
    let (_, offer) = message.strip_suffix("meant?")?.trim_end().rsplit_once("Is ")?;
    let meant = offer.trim_matches('`').trim_start_matches('$');
    let text = page.get(place.start as usize..place.end as usize)?;
    let letter = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let words = text.split(|c| !letter(c)).filter(|w| !w.is_empty() && *w != meant);
    let word = nearest(meant, words)?;
    let at = text.match_indices(word).find(|(k, w)| {
        let apart = |c: Option<char>| c.is_none_or(|c| !letter(c));
        apart(text[..*k].chars().next_back()) && apart(text[k + w.len()..].chars().next())
    })?;
    let start = place.start as usize + at.0;
    Some((Span::new(start, start + word.len()), meant.to_owned()))
}

/// Letters to change, insert or leave out, or neighbours to swap (optimal string alignment).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(64).collect(), b.chars().take(64).collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let mut d = (rows[i - 1][j] + 1).min(row[j - 1] + 1);
            d = d.min(rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]));
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                d = d.min(rows[i - 2][j - 2] + 1);
            }
            row.push(d);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_found_and_strangers_are_not() {
        let known = ["independent", "pure", "const"];
        assert_eq!(nearest("indpendent", known.into_iter()), Some("independent"));
        assert_eq!(nearest("Pure", known.into_iter()), Some("pure"));
        assert_eq!(nearest("cosnt", known.into_iter()), Some("const"));
        assert_eq!(nearest("vectorize", known.into_iter()), None);
    }
}
