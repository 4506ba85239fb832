//! Small words.

use crate::function_view::{in_full, one_line};
use crate::hover::escape;
use crate::words::{list, plural};

#[test]
fn terms_become_one_short_line() {
    assert_eq!(one_line("a[ i ]\n\t+ b"), "a[ i ] + b");
    let long = "value[index_of_the_row * number_of_columns + index_of_the_column]";
    assert_eq!(one_line(long), "value[index_of_the_row * number_ … _the_column]");
    assert_eq!(one_line("ü".repeat(60).as_str()).chars().count(), 47);
}

#[test]
fn reasons_are_told_in_full() {
    let reason = "`PRINT_ARRAYS` may be a macro of a header that was not read";
    assert_eq!(in_full(reason), reason);
    let long = format!("the condition `#if {} 1` is not known here", "defined(SOMETHING)\n && ".repeat(20));
    let told = in_full(&long);
    assert!(told.len() < 310 && told.ends_with(" …`"), "{told}");
    assert!(in_full(&"ü".repeat(400)).ends_with('…'));
}

#[test]
fn what_could_be_markup_is_code() {
    assert_eq!(escape("(x[1], f(a_b), y_) of <stdio.h>:"), "(`x[1]`, `f(a_b)`, `y_`) of `<stdio.h>`:");
    assert_eq!(escape("a_b *c* `d_e *f*` [g]"), "`a_b` `*c*` `d_e *f*` `[g]`");
    assert_eq!(escape("a ` b_"), "a ' `b_`");
}

#[test]
fn lists_read_as_sentences() {
    let items = |n: usize| (0..n).map(|k| k.to_string()).collect::<Vec<_>>();
    assert_eq!(list(&items(1)), "0");
    assert_eq!(list(&items(2)), "0 and 1");
    assert_eq!(list(&items(3)), "0, 1 and 2");
    assert_eq!(plural(1, "loop"), "1 loop");
    assert_eq!(plural(3, "loop"), "3 loops");
}
