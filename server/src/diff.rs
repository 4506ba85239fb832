//! Texts compared line by line, written as `diff -u` does: what `patch` and `git apply` read.

use similar::TextDiff;

use crate::limits::diff::AROUND;

/// The difference of two texts under these names; empty where there is none. `old`: null for a file that is new.
pub fn unified(old: Option<&str>, new: &str, name: &str) -> String {
    let name = name.trim_start_matches('/');
    let from = old.map_or("/dev/null".to_owned(), |_| format!("a/{name}"));
    let diff = TextDiff::from_lines(old.unwrap_or_default(), new);
    diff.unified_diff().context_radius(AROUND).header(&from, &format!("b/{name}")).to_string()
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
