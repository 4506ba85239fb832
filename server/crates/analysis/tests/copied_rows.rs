//! Rows that `memcpy` and its like copy: that a row stays in its row is asked of each array for itself.

mod common;

use analysis::{ConditionKind, LoopFacts, Verdict};
use common::last_of_depth_zero;

fn asks_for_rows(l: &LoopFacts) -> bool {
    l.conditions.iter().any(|c| matches!(c.kind, ConditionKind::InRow { .. }))
}

/// What is read needs no rows, and says nothing of what is written.
#[test]
fn what_is_written_stays_in_its_rows_whatever_is_read() {
    let text = |copy: &str| {
        format!(
            "#include <string.h>\nvoid f(int n, int m, int k, int *restrict a, const int *restrict c) {{ for (int i = 0; i < n; i++) {copy} }}"
        )
    };
    for copy in [
        "memcpy(a + (n - i) * m, c + i * m, k * sizeof *a);",
        "memcpy(a + i * m, c + 2 * i * m, k * sizeof *a);",
        "memmove(a + (n - i) * m, c + i * m, k * sizeof *a);",
        "memcpy(a + (n - i) * m, c + i * m, 4 * sizeof *a);",
        "memset(a + i * m, i, k * sizeof *a);",
        // of one column of rows that may go either way
        "memcpy(a + i * m, c + 2 * i * m + i, sizeof *a);",
    ] {
        let l = last_of_depth_zero(&text(copy));
        assert!(l.verdict != Verdict::Independent || asks_for_rows(&l), "{copy}: {:?}", l.conditions);
    }
}
