//! How far this room goes in one thing before it says that it stops there: each limit with its reason, by the file that keeps it.

/// Of `ctx`.
pub(crate) mod ctx {
    /// More dimensions, parameters and existentials together than this are refused: isl's algorithms are exponential in
    /// them, and no loop nest has as many.
    pub(crate) const MAX_COLUMNS: usize = 256;
    /// Columns up to which an operation is one step.
    pub(crate) const PLAIN_COLUMNS: u64 = 8;
    /// More constraints than this are refused: isl compares them pairwise before it counts an operation.
    pub(crate) const MAX_ROWS: usize = 4096;
}

/// Of `expr`.
pub(crate) mod expr {
    /// Deeper expressions than this are refused, so that recursion over an expression is safe everywhere.
    pub(crate) const MAX_DEPTH: usize = 512;
}

/// Of `optima`.
pub(crate) mod optima {
    /// Operations for the least of the small points; some hundred are usual. isl looks for it by cutting planes (Gomory), and
    /// every cut makes the next operation dearer: where many are needed, some point, which it finds by reduction of the
    /// lattice's basis, has to do.
    pub(crate) const LEAST_STEPS: u64 = 2_000;
}

/// Of `scan`.
pub(crate) mod scan {
    /// Deeper trees than this are refused, so that recursion over a tree is safe everywhere.
    pub(crate) const MAX_DEPTH: usize = 512;
}
