//! Arrays of numbers that `new` makes and `delete` gives back, as `malloc` and `free` would.
//!
//! Deliberately absent: objects, which may have code of their own, and single numbers.

use super::plain::{Plain, MAX_NESTED, TYPE_WORDS};

impl Plain<'_, '_> {
    /// `new` and what belongs to it, at `k`.
    pub(super) fn new_expression(&mut self, k: usize) -> usize {
        let mut end = k + 1;
        while self.is_ident(end) || matches!(self.text(end), "::" | "*") {
            end += 1;
            if let Some(e) = self.angles(end) {
                end = e;
            }
        }
        let (words, open) = (k + 1..end, end);
        while matches!(self.text(end), "(" | "[" | "{") {
            end = self.group(end);
        }
        let plain = !words.is_empty() && words.clone().all(|j| TYPE_WORDS.contains(&self.text(j)));
        let one_group = self.text(open) == "[" && self.group(open) == end && end > open + 2;
        if plain && one_group && self.nested < MAX_NESTED {
            return self.new_array(k, words, end);
        }
        self.gap(k, end, "`new` of C++ is not followed")
    }

    /// `new double[n]` of numbers: `((double *)malloc(sizeof(double) * (n)))`.
    fn new_array(&mut self, k: usize, words: std::ops::Range<usize>, end: usize) -> usize {
        let declared = self.text(k.wrapping_sub(1)) == "=" && self.is_name(k.wrapping_sub(2));
        if declared {
            self.made.insert(self.text(k - 2));
        }
        self.put_words(k, "( (");
        for j in words.clone() {
            self.keep(j);
        }
        self.put_words(k, "* ) malloc ( sizeof (");
        for j in words.clone() {
            self.keep(j);
        }
        self.put_words(k, ") * (");
        self.nested += 1;
        let mut j = words.end + 1;
        while j + 1 < end {
            j = self.token(j).max(j + 1);
        }
        self.nested -= 1;
        self.put_words(end - 1, ") ) )");
        end
    }

    /// `delete[] t;` of what [`Plain::new_array`] made: `free(t);`.
    pub(super) fn delete_array(&mut self, k: usize) -> Option<usize> {
        let name = k + 3;
        let is_ours =
            self.text(k + 1) == "[" && self.text(k + 2) == "]" && self.made.contains(self.text(name));
        if !is_ours || self.text(name + 1) != ";" {
            return None;
        }
        self.put_words(k, "free (");
        self.keep(name);
        self.put_words(name + 1, ") ;");
        Some(name + 2)
    }
}
