//! Several files in a few lines: what was offloaded where, most first.

use std::fmt::Write;

use super::one::One;

pub fn words(done: &[One]) -> String {
    let calls = |o: &One| o.answer.loops.len();
    let left = |o: &One| o.answer.left_out.iter().filter(|l| !l.around).count();
    let all: usize = done.iter().map(calls).sum();
    let left_alone: usize = done.iter().map(left).sum();
    let with = done.iter().filter(|o| calls(o) > 0).count();
    let many = |n: usize, one: &str| format!("{n} {one}{}", if n == 1 { "" } else { "s" });
    let mut out =
        format!("{}: {} offloaded in {}", many(done.len(), "file"), many(all, "loop"), many(with, "file"));
    if left_alone > 0 {
        let how = if left_alone == 1 { "it is" } else { "they are" };
        let _ = write!(out, ", {} left as {how}", many(left_alone, "loop"));
    }
    out.push('\n');
    let mut rows: Vec<&One> = done.iter().filter(|o| calls(o) > 0).collect();
    rows.sort_by_key(|o| std::cmp::Reverse(calls(o)));
    let wide = rows.iter().map(|o| o.file.display().to_string().chars().count()).max().unwrap_or(0);
    for o in rows {
        let name = o.file.display().to_string();
        let _ = writeln!(out, "  {name:wide$}  {:3} offloaded, {:3} left", calls(o), left(o));
    }
    out
}
