//! How far this room goes in one thing before it says that it stops there: each limit with its reason, by the file that keeps it.

/// Of `rules::algebra`.
pub(crate) mod rules_algebra {
    /// Deepest nesting of expressions that are compared: it recurses.
    pub(crate) const MAX_DEPTH: u32 = 60;
    /// Products of one sum at most.
    pub(crate) const MAX_TERMS: usize = 200;
}

/// Of `rules::apply`.
pub(crate) mod rules_apply {
    /// Bytes of text that are read again in the time of a step.
    pub(crate) const BYTES_A_STEP: u64 = 8;
}

/// Of `rules::exact::cases`.
pub(crate) mod rules_exact_cases {
    /// More cases than these are not looked at.
    pub(crate) const MOST: usize = 32;
}

/// Of `rules::exact`.
pub(crate) mod rules_exact {
    /// Choices of types that are looked at.
    pub(crate) const CHOICES: usize = 1500;
}

/// Of `rules::exact::smt`.
pub(crate) mod rules_exact_smt {
    /// Steps that the solver may take: the same answer on every machine.
    pub(crate) const STEPS: u32 = 15_000_000;
}

/// Of `rules::exact::witness`.
pub(crate) mod rules_exact_witness {
    /// Inputs tried for one choice of types.
    pub(crate) const TRIED: usize = 6_000;
}

/// Of `rules::host`.
pub(crate) mod rules_host {
    /// Terms for which the usual steps and applications are meant: those of some ten nests.
    pub(crate) const TERMS: u32 = 4_000;
    /// Items of a list that pages may take apart from the front; the walk recurses.
    pub(crate) const LONGEST_LIST: u32 = 400;
}

/// Of `rules::nearest`.
pub(crate) mod rules_nearest {
    /// Rules held against places at most.
    pub(crate) const MOST: usize = 200_000;
    /// Parts of a source that must match for the rule to be near.
    pub(crate) const FEWEST: usize = 5;
}

/// Of `rules::pieces`.
pub(crate) mod rules_pieces {
    /// More different pieces than these are not run.
    pub(crate) const MOST: usize = 32;
}

/// Of `rules::run`.
pub(crate) mod rules_run {
    /// Systems that call one another go so deep.
    pub(crate) const MAX_DEPTH: u32 = 30;
    /// Reasons kept of rules that did not apply.
    pub(crate) const MAX_REFUSED: usize = 40;
}

/// Of `rules::show`.
pub(crate) mod rules_show {
    /// Characters after which the print breaks off.
    pub(crate) const LIMIT: usize = 200_000;
}

/// Of `rules::write`.
pub(crate) mod rules_write {
    /// Deepest nesting that is written.
    pub(crate) const MAX_DEPTH: u32 = 400;
    /// Columns of a line of functions that rules make as a whole.
    pub(crate) const COLUMNS: usize = 100;
}

/// Of `transform::expand_scalar`.
pub(crate) mod transform_expand_scalar {
    /// Bytes on the stack at most where the number of iterations is known.
    pub(crate) const MOST_BYTES: u64 = 1 << 16;
}

/// Of `transform::skew`.
pub(crate) mod transform_skew {
    /// Factors tried at most: a larger one leaves little to run at once.
    pub(crate) const MOST: i128 = 4;
}

/// Of `transform::unroll`.
pub(crate) mod transform_unroll {
    /// Copies of the body at most.
    pub(crate) const MOST: i128 = 64;
}
