//! How far this room goes in one thing before it says that it stops there: each limit with its reason, by the file that keeps it.

/// Of `device::host::call`.
pub(crate) mod host_call {
    /// Columns of a line in the user's file.
    pub(crate) const COLUMNS: usize = 100;
}

/// Of `device::host::method_steps`.
pub(crate) mod host_method_steps {
    /// After so many launches the host looks whether something throws: each look waits for the device.
    pub(crate) const ROUNDS: u32 = 64;
}

/// Of `device::host::own_cells`.
pub(crate) mod host_own_cells {
    /// Bytes that the cells take which threads have for themselves of one array, unless those of one block take more.
    pub(crate) const MOST_BYTES: i128 = 1 << 28;
    /// Threads that have such cells, at most: as many as run at once on a large device.
    pub(crate) const MOST_THREADS: i128 = 1 << 18;
}

/// Of `plan::pages`.
pub(crate) mod plan_pages {
    /// Numbers of iterations and of elements are at most this where pages rewrite a kernel: what they add to an index, some blocks'
    /// sizes, is then an `int`, too.
    pub(crate) const LARGEST: i128 = (1 << 31) - 4096;
}

/// Of `plan::support`.
pub(crate) mod plan_support {
    /// Deeper terms are not printed: the printers recurse.
    pub(crate) const MAX_DEPTH: usize = 300;
}

/// Of `plan::threads`.
pub(crate) mod plan_threads {
    /// Values passed are kept below this by a test, so that nothing the code computes leaves 64 bits.
    pub(crate) const LARGEST: i128 = 1 << 40;
}
