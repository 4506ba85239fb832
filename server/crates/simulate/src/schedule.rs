//! How a grid is launched, and how its threads interleave.

/// `<<<grid, block, shared>>>`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Launch {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared_bytes: u64,
}

impl Launch {
    /// A one-dimensional launch.
    pub fn linear(blocks: u32, threads: u32) -> Launch {
        Launch { grid: [blocks, 1, 1], block: [threads, 1, 1], shared_bytes: 0 }
    }
}

/// When a thread's turn ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Granularity {
    /// At every access to global or shared memory.
    Access,
    /// After a random number of instructions up to this.
    Quantum(u32),
    /// At barriers only: the fewest interleavings, the fastest run.
    Barrier,
    /// Warps step together and are counted: [`GridReport::counts`]. Branches are counted in code that was compiled
    /// with [`Options::decisions`].
    Lockstep,
}

/// How threads interleave. The same schedule gives the same run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Schedule {
    pub seed: u64,
    pub granularity: Granularity,
    /// Blocks that run at once.
    pub resident_blocks: u32,
}

impl Schedule {
    /// Turns end at every access, two blocks at once.
    pub fn seeded(seed: u64) -> Schedule {
        Schedule { seed, granularity: Granularity::Access, resident_blocks: 2 }
    }
    /// Warps in step, two blocks at once.
    pub fn counted(seed: u64) -> Schedule {
        Schedule { granularity: Granularity::Lockstep, ..Schedule::seeded(seed) }
    }
}
