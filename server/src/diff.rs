//! Texts compared line by line, written as `diff -u` does: what `patch` and `git apply` read.

use std::fmt::Write;
use std::ops::Range;

use crate::limits::diff::{AROUND, MAX_EDITS};

/// The difference of two texts under these names; empty where there is none. `old`: null for a file that is new.
pub fn unified(old: Option<&str>, new: &str, name: &str) -> String {
    let a: Vec<&str> = old.unwrap_or_default().split_inclusive('\n').collect();
    let b: Vec<&str> = new.split_inclusive('\n').collect();
    let hunks = hunks(&changes(&a, &b), a.len(), b.len());
    if hunks.is_empty() {
        return String::new();
    }
    let name = name.trim_start_matches('/');
    let from = old.map_or("/dev/null".to_owned(), |_| format!("a/{name}"));
    let mut out = format!("--- {from}\n+++ b/{name}\n");
    for hunk in hunks {
        let place = |r: &Range<usize>| match r.len() {
            0 => format!("{},0", r.start),
            1 => format!("{}", r.start + 1),
            n => format!("{},{n}", r.start + 1),
        };
        let _ = writeln!(out, "@@ -{} +{} @@", place(&hunk.old), place(&hunk.new));
        let mut line = |mark: char, text: &str| {
            let end = if text.ends_with('\n') { "" } else { "\n\\ No newline at end of file\n" };
            let _ = write!(out, "{mark}{text}{end}");
        };
        let mut at = hunk.old.start;
        for change in &hunk.changes {
            a.get(at..change.old.start).into_iter().flatten().for_each(|t| line(' ', t));
            a.get(change.old.clone()).into_iter().flatten().for_each(|t| line('-', t));
            b.get(change.new.clone()).into_iter().flatten().for_each(|t| line('+', t));
            at = change.old.end;
        }
        a.get(at..hunk.old.end).into_iter().flatten().for_each(|t| line(' ', t));
    }
    out
}

/// Lines of the old text that are replaced by lines of the new one.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Change {
    old: Range<usize>,
    new: Range<usize>,
}

/// Changes with the lines around them.
struct Hunk {
    old: Range<usize>,
    new: Range<usize>,
    changes: Vec<Change>,
}

fn hunks(changes: &[Change], old_lines: usize, new_lines: usize) -> Vec<Hunk> {
    let mut out: Vec<Hunk> = Vec::new();
    for change in changes {
        let wide = |r: &Range<usize>, most: usize| r.start.saturating_sub(AROUND)..(r.end + AROUND).min(most);
        // as many lines before on both sides
        let before = AROUND.min(change.old.start);
        let (old, new) = (wide(&change.old, old_lines), wide(&change.new, new_lines));
        match out.last_mut().filter(|h| h.old.end >= old.start) {
            Some(last) => {
                last.old.end = old.end;
                last.new.end = new.end;
                last.changes.push(change.clone());
            }
            None => {
                let new = change.new.start - before..new.end;
                out.push(Hunk { old, new, changes: vec![change.clone()] });
            }
        }
    }
    out
}

/// A shortest list of changes (Myers, "An O(ND) Difference Algorithm", 1986); where that is too long, one change for all that lies
/// between the first difference and the last.
fn changes(a: &[&str], b: &[&str]) -> Vec<Change> {
    let head = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let rest = a.len().min(b.len()) - head;
    let tail = a.iter().rev().zip(b.iter().rev()).take(rest).take_while(|(x, y)| x == y).count();
    let middle = |t: &'_ [&str]| head..t.len() - tail;
    let (old, new) = (middle(a), middle(b));
    if old.is_empty() && new.is_empty() {
        return Vec::new();
    }
    let all = Change { old: old.clone(), new: new.clone() };
    let (Some(x), Some(y)) = (a.get(old), b.get(new)) else { return vec![all] };
    match path(x, y) {
        None => vec![all],
        Some(steps) => {
            let mut out: Vec<Change> = Vec::new();
            for (i, j, is_old) in steps {
                let (i, j) = (i + head, j + head);
                let one = if is_old {
                    Change { old: i..i + 1, new: j..j }
                } else {
                    Change { old: i..i, new: j..j + 1 }
                };
                match out.last_mut().filter(|c| c.old.end == one.old.start && c.new.end == one.new.start) {
                    Some(last) => {
                        last.old.end = one.old.end;
                        last.new.end = one.new.end;
                    }
                    None => out.push(one),
                }
            }
            out
        }
    }
}

/// Lines that go (`true`) or come, in order, each with its place in both texts.
fn path(a: &[&str], b: &[&str]) -> Option<Vec<(usize, usize, bool)>> {
    let (n, m) = (a.len() as isize, b.len() as isize);
    let most = (a.len() + b.len()).min(MAX_EDITS) as isize;
    let at = |k: isize| usize::try_from(k + most + 1).unwrap_or(0);
    let mut ends = vec![0isize; 2 * most as usize + 3];
    let mut rounds: Vec<Vec<isize>> = Vec::new();
    let end = |ends: &[isize], k: isize| ends.get(at(k)).copied().unwrap_or(0);
    let goes_down =
        |ends: &[isize], k: isize, d: isize| k == -d || (k != d && end(ends, k - 1) < end(ends, k + 1));
    let same = |x: isize, y: isize| {
        let (x, y) = (usize::try_from(x).ok(), usize::try_from(y).ok());
        x.and_then(|x| a.get(x)).zip(y.and_then(|y| b.get(y))).is_some_and(|(p, q)| p == q)
    };
    let found = 'rounds: {
        for d in 0..=most {
            rounds.push(ends.clone());
            let mut k = -d;
            while k <= d {
                let mut x = if goes_down(&ends, k, d) { end(&ends, k + 1) } else { end(&ends, k - 1) + 1 };
                while same(x, x - k) {
                    x += 1;
                }
                if let Some(place) = ends.get_mut(at(k)) {
                    *place = x;
                }
                if x >= n && x - k >= m {
                    break 'rounds Some(d);
                }
                k += 2;
            }
        }
        None
    }?;
    let (mut x, mut y) = (n, m);
    let mut out = Vec::new();
    for d in (1..=found).rev() {
        let ends = rounds.get(usize::try_from(d).ok()?)?;
        let k = x - y;
        let is_down = goes_down(ends, k, d);
        let before = if is_down { k + 1 } else { k - 1 };
        let from = end(ends, before);
        (x, y) = (from, from - before);
        out.push((usize::try_from(x).ok()?, usize::try_from(y).ok()?, !is_down));
    }
    out.reverse();
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_diff_writes_it() {
        let old = "a\nb\nc\nd\ne\nf\ng\nh\ni\n";
        assert_eq!(unified(Some(old), old, "x.c"), "");
        assert_eq!(
            unified(Some(old), "a\nb\nc\nX\nd\ne\nf\ng\ni\n", "x.c"),
            "--- a/x.c\n+++ b/x.c\n@@ -1,9 +1,9 @@\n a\n b\n c\n+X\n d\n e\n f\n g\n-h\n i\n"
        );
        assert_eq!(
            unified(None, "one\ntwo", "new.cu"),
            "--- /dev/null\n+++ b/new.cu\n@@ -0,0 +1,2 @@\n+one\n+two\n\\ No newline at end of file\n"
        );
        assert_eq!(unified(Some("a\n"), "b\n", "/tmp/x"), "--- a/tmp/x\n+++ b/tmp/x\n@@ -1 +1 @@\n-a\n+b\n");
        let far = format!("{}y\n", "x\n".repeat(20));
        let end = unified(Some(&far), &far.replace('y', "z"), "f");
        assert!(end.contains("@@ -18,4 +18,4 @@\n x\n x\n x\n-y\n+z\n"), "{end}");
    }

    /// What a patch says, done to a text.
    fn patched(old: &str, patch: &str) -> String {
        let old: Vec<&str> = old.split_inclusive('\n').collect();
        let (mut out, mut at) = (String::new(), 0);
        for line in patch.lines().skip(2) {
            match line.split_at(1) {
                ("@", _) => {
                    let first: usize = line[4..].split([',', ' ']).next().unwrap().parse().unwrap();
                    let to =
                        if line[4..].split(' ').next().unwrap().ends_with(",0") { first } else { first - 1 };
                    old[at..to].iter().for_each(|l| out += l);
                    at = to;
                }
                ("-", _) => at += 1,
                ("+", text) => out += &format!("{text}\n"),
                (_, text) => {
                    assert_eq!(old[at], format!("{text}\n"));
                    out += old[at];
                    at += 1;
                }
            }
        }
        old[at..].iter().for_each(|l| out += l);
        out
    }

    #[test]
    fn patches_make_the_new_text() {
        let mut seed = 1u64;
        let mut next = |below: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % below
        };
        for _ in 0..400 {
            let mut text = || -> String { (0..next(40)).map(|_| format!("{}\n", next(6))).collect() };
            let (a, b) = (text(), text());
            assert_eq!(patched(&a, &unified(Some(&a), &b, "f")), b, "{a:?} {b:?}");
        }
    }
}
