//! How far this room goes in one thing before it says that it stops there: each limit with its reason, by the file that keeps it.

/// Of `cost` and `worth`.
pub(crate) mod cost {
    /// Iterations that must run at once: threads of a warp on every GPU of today, of which one alone keeps a hundredth of it busy.
    pub(crate) const LEAST_ITERATIONS: u64 = 32;
    /// Operations of a loop that is offloaded by itself: allocation, copies, launch and release take some ten microseconds at
    /// the least, in which a core of the host makes so many.
    pub(crate) const LEAST_OPERATIONS: u64 = 10_000;
    /// Operations of a launch among others whose data stay on the device: the launch takes some three microseconds.
    pub(crate) const LEAST_A_LAUNCH: u64 = 3_000;
    /// Bytes that the bus brings while a core of the host makes one operation on data in memory: with fewer operations to the
    /// byte the copies alone take longer than the loop.
    pub(crate) const BYTES_AN_OPERATION: u64 = 16;
    /// Depth of terms whose operations are counted, those of functions called too; ten times as many bytes of an expression are
    /// shown.
    pub(crate) const LONGEST: u32 = 60;
}

/// Of `enabling`.
pub(crate) mod enabling {
    /// Steps of a sequence at most.
    pub(crate) const LONGEST: usize = 3;
    /// Texts made and analysed at most, for one loop.
    pub(crate) const MOST: usize = 40;
    /// Counted steps of a search, and of each loop that is analysed again.
    pub(crate) const STEPS: u64 = 4_000_000;
    /// Those of a search for a list of actions: what they do not reach is not listed.
    pub(crate) const LISTED_STEPS: u64 = 400_000;
    /// Bytes of text that are read again in the time of a step.
    pub(crate) const BYTES_A_STEP: u64 = 8;
    pub(crate) const LOOPS: base::Effort = base::Effort { each_loop: 200_000, ..analysis::TYPING };
    /// Terms of a function at most: making and reading a longer one again many times would be felt.
    pub(crate) const LONGEST_BODY: usize = 4_000;
}

/// Of `function_view`.
pub(crate) mod function_view {
    /// Longest text of one term in a message, in characters.
    pub(crate) const LONGEST: usize = 48;
    /// Longest sentence that is quoted, in bytes.
    pub(crate) const LONGEST_SENTENCE: usize = 300;
}

/// Of `hover`.
pub(crate) mod hover {
    /// Dependences, conditions and obstacles listed at most, each.
    pub(crate) const LISTED: usize = 6;
    /// Lines of a hover at most, blank ones not counted: what a popup shows without scrolling.
    pub(crate) const MOST_LINES: usize = 8;
    /// Dependences, and reasons in sentences, that a hover has room for.
    pub(crate) const NAMED: usize = 3;
}

/// Of `kernels`.
pub(crate) mod kernels {
    /// Launches of one kernel that it is judged with.
    pub(crate) const LAUNCHES: usize = 64;
}

/// Of `kernels::beside`.
pub(crate) mod kernels_beside {
    /// Steps of one run, and launches looked at.
    pub(crate) const STEPS: u64 = 2_000_000;
    pub(crate) const MOST: usize = 28;
    /// Schedules tried behind the first.
    pub(crate) const INTERLEAVINGS: u64 = 2;
}

/// Of `kernels::inputs`.
pub(crate) mod kernels_inputs {
    /// Most bytes an array may grow to while its size is found.
    pub(crate) const MAX_BYTES: u64 = 1 << 26;
}

/// Of `kernels::printed`.
pub(crate) mod kernels_printed {
    /// Races of a kernel shown at most.
    pub(crate) const SHOWN_RACES: usize = 8;
}

/// Of `kernels::recorded`.
pub(crate) mod kernels_recorded {
    /// Steps of a launch whose results are compared, and bytes of its arrays: they are sent.
    pub(crate) const COMPARED_STEPS: u64 = 10_000_000;
    pub(crate) const COMPARED_BYTES: u64 = 2 << 20;
    /// Steps of one that is followed for the sizes of its arrays alone, and bytes of these.
    pub(crate) const STEPS: u64 = 100_000_000;
    pub(crate) const MADE_BYTES: u64 = 256 << 20;
    /// Orders of threads that are tried besides.
    pub(crate) const INTERLEAVINGS: u64 = 2;
    /// How far floating results may lie apart, relative, or absolute below 1: what `profile` allows.
    pub(crate) const NEAR: f64 = 1e-4;
    /// Whole numbers in arrays are below this where no parameter is a size; smaller ones are factors and radii mostly.
    pub(crate) const BELOW: u64 = 100;
    pub(crate) const LEAST_SIZE: u64 = 16;
}

/// Of `memo`.
pub(crate) mod memo {
    /// Functions kept at most. Beyond it the half used longest ago is forgotten.
    pub(crate) const CAPACITY: usize = 16_384;
    /// Kernels kept: more than a document has, or every keystroke would prove all of them again.
    pub(crate) const KERNELS: usize = 2048;
    /// Repairs of which it is remembered whether they hold.
    pub(crate) const REPAIRS: usize = 512;
}

/// Of `actions`.
pub(crate) mod actions {
    /// Characters of a title: editors cut longer ones off where they like.
    pub(crate) const TITLE: usize = 60;
    /// Most loops of which a list finds out what comes of an offload: a cursor touches few, a selection many.
    pub(crate) const ASKED: usize = 8;
}

/// Of `promises`.
pub(crate) mod promises {
    /// Most promises in one comment that is proposed.
    pub(crate) const MOST_PROMISES: usize = 6;
    /// Bytes of a document that is read again with a promise which cost a step.
    pub(crate) const BYTES_A_STEP: u64 = 4;
}

/// Of `plans`.
pub(crate) mod plans {
    /// Steps for the plans of one function and the maps of its threads, beyond the first, however long it is: some five seconds
    /// where all sets have many dimensions.
    pub(crate) const FUNCTION_STEPS: u64 = 6_000_000;
    /// Steps for the plans of one document: each of its functions has an equal share, so that no answer depends on which is
    /// planned first.
    pub(crate) const FILE_STEPS: u64 = 4_000_000;
    /// Steps that a function gets besides for each of its bytes: plain code takes some twenty, tiled products a hundred.
    pub(crate) const STEPS_A_BYTE: u64 = 160;
    /// Steps that a short function gets in any case, and what all of these may come to: a nest of four loops over products of
    /// sizes takes some 450,000.
    pub(crate) const LEAST_STEPS: u64 = 450_000;
    pub(crate) const ALL_LEAST_STEPS: u64 = 24_000_000;
    /// Steps for what is planned of one function while the user types: so many for each byte and some more, whatever else is in the
    /// document, some thirty milliseconds at most.
    pub(crate) const QUICK_STEPS_A_BYTE: u64 = 16;
    pub(crate) const QUICK_LEAST_STEPS: u64 = 12_000;
    pub(crate) const QUICK_FUNCTION_STEPS: u64 = 40_000;
    /// Steps that a plan takes for each term of its function, besides those it counts itself.
    pub(crate) const STEPS_A_TERM: u64 = 8;
    /// Steps for the threads of a parallel loop whose inner loops are parallel, too, and its terms at most.
    pub(crate) const MORE_THREADS_STEPS: u64 = 120_000;
    pub(crate) const MORE_THREADS_TERMS: usize = 400;
    /// Rounds of an inner loop that are worth threads of their own.
    pub(crate) const MORE_THREADS_ROUNDS: i128 = 16;
}

/// Of `quiet`.
pub(crate) mod quiet {
    /// Operators of the statements of a nest that only fills: what makes more is computing.
    pub(crate) const FEW: usize = 16;
    /// Kinds of reasons why a loop is unknown; what has more is far from a verdict.
    pub(crate) const KINDS: usize = 2;
    /// Reasons why a loop is unknown, of whatever kind, likewise.
    pub(crate) const MANY: usize = 6;
    /// Pairs of arrays that may overlap, where nothing is known that would keep all of them apart.
    pub(crate) const OVERLAPS: usize = 2;
    /// Functions around one that makes or frees memory.
    pub(crate) const AROUND: u32 = 3;
}

/// Of `repairs::trial`.
pub(crate) mod repairs_trial {
    /// Steps of a run.
    pub(crate) const RUN_STEPS: u64 = 4_000_000;
    /// Threads of a launch that is run.
    pub(crate) const MAX_THREADS: u64 = 1 << 20;
}

/// Of `region_plan`.
pub(crate) mod region_plan {
    /// Steps for the plan of one region, in all the forms in which it is tried: those of a long file on save, and half as many.
    pub(crate) const STEPS: u64 = 9_000_000;
}

/// Of `rules`.
pub(crate) mod rules {
    /// Steps of a ladder that are left out at most: each is looked for with some runs.
    pub(crate) const LEFT_OUT: usize = 3;
    /// Steps for all functions of a file: rules compared with places, what conditions ask of the analysis, text read again.
    /// A function has two millions at most.
    pub(crate) const FILE_STEPS: u64 = 20_000_000;
    /// Steps for all systems that are looked at for a list of actions, at one place.
    pub(crate) const LISTED_STEPS: u64 = 400_000;
    /// Steps of all runs that show the result to be right.
    pub(crate) const ALL_RUNS: u64 = 600_000_000;
    /// Steps of each run in the simulator, and of one that launches emitted kernels.
    pub(crate) const STEPS: u64 = 3_000_000;
    pub(crate) const KERNEL_STEPS: u64 = 20_000_000;
    /// Inputs tried before an edit is handed out.
    pub(crate) const CASES: u32 = 16;
}

/// Of `rules::pieces`.
pub(crate) mod rules_pieces {
    /// Documents longer than this are not read once more for it.
    pub(crate) const MAX_BYTES: usize = 400_000;
    /// Steps of the analysis, which says how much memory a pointer needs.
    pub(crate) const STEPS: u64 = 10_000;
}

/// Of `transform`.
pub(crate) mod transform {
    /// Steps for all transformations of one loop that are looked at for a list of actions.
    pub(crate) const LISTED_STEPS: u64 = 400_000;
    /// Steps of each run in the simulator: small sizes end well within.
    pub(crate) const STEPS: u64 = 3_000_000;
    /// Inputs tried before an edit is handed out.
    pub(crate) const CASES: u32 = 6;
}

/// Of `optimize`.
pub(crate) mod optimize {
    /// The shortest array of a program with smaller ones, in which steps are run: more than two blocks, and no whole number of them.
    pub(crate) const SMALLER: u64 = 33;
}

/// Of `verify::smaller`.
pub(crate) mod verify_smaller {
    /// The shortest array of a program with smaller ones.
    pub(crate) const FIRST: u64 = 8;
}

/// Of `verify::cases`.
pub(crate) mod verify_cases {
    /// All runs for one loop together take as many steps as so many of one.
    pub(crate) const ALL_RUNS: u64 = 6;
    /// Inputs of the second attempt, and with how many launches among them it ends.
    pub(crate) const GENTLE: u32 = 24;
    pub(crate) const ENOUGH: usize = 6;
    /// Inputs with sizes that lie apart, where kernels ran on fewer.
    pub(crate) const APART: u32 = 12;
}

/// Of `verify::effort`.
pub(crate) mod verify_effort {
    /// Steps of all runs, and what else is counted as such.
    pub(crate) const STEPS: u64 = 600_000_000;
    /// With fewer left a loop is not begun.
    pub(crate) const LEAST: u64 = 4_000_000;
    /// Steps for a byte of text that is read again, and bytes of an input for a step.
    pub(crate) const PER_TEXT_BYTE: u64 = 16;
    pub(crate) const BYTES_PER_STEP: u64 = 8;
    /// Bytes of text that a compiler of the machine gets, headers and the driver counted as so many.
    pub(crate) const BUILT: u64 = 6 << 20;
    pub(crate) const BUILT_BESIDE: u64 = 96 << 10;
}

/// Of `verify::inputs`.
pub(crate) mod verify_inputs {
    /// Bytes made up for one input; halfway there, what is left gets small. Several copies of an input are alive at once.
    pub(crate) const MOST_BYTES: u64 = 32 << 20;
    /// Bytes that a run may hold.
    pub(crate) const MOST_HELD: u64 = 128 << 20;
}

/// Of `verify::inputs::layout`.
pub(crate) mod verify_inputs_layout {
    /// Pointers are followed so far: parameter to structure to array of rows to row.
    pub(crate) const MAX_LEVELS: u32 = 3;
    /// Scalars and pointers of a parameter, all levels together; what is beyond is null.
    pub(crate) const MOST_PARTS: usize = 40_000;
}

/// Of `verify::inputs::making`.
pub(crate) mod verify_inputs_making {
    /// Elements behind a pointer that lies in memory itself, where many such pointers share [`SHARED_ROOM`].
    pub(crate) const LEAST_ROOM: u64 = 1 << 10;
    pub(crate) const SHARED_ROOM: u64 = 1 << 18;
    /// Scalars and pointers of a table of structures.
    pub(crate) const SHARED_PARTS: u64 = 1 << 14;
    /// Elements before the target of such a pointer.
    pub(crate) const INNER_MARGIN: u64 = 64;
    /// Bytes of one buffer, whatever its elements are.
    pub(crate) const LARGEST_BUFFER: u64 = 4 << 20;
}

/// Of `verify::native`.
pub(crate) mod verify_native {
    /// An input of more bytes is not tried: it would be written and read several times.
    pub(crate) const MAX_BYTES: usize = 8 << 20;
}

/// Of `verify::record`.
pub(crate) mod verify_record {
    /// Steps of the host's part of a function, its kernels left out.
    pub(crate) const STEPS: u64 = 50_000_000;
    /// The largest array of the device where nobody gives sizes.
    pub(crate) const ARRAY_BYTES: u64 = 64 << 20;
    /// Of an array that the host goes through itself.
    pub(crate) const MADE_BYTES: u64 = 64 << 20;
    /// Memory that the host's part makes is there up to so many bytes; of more only the address.
    pub(crate) const SMALL: u64 = 64 << 10;
    /// Sizes of inputs that are made as verification makes them, the largest first.
    pub(crate) const INPUT_SIZES: [u64; 5] = [256, 64, 33, 16, 5];
    /// What a run tells: calls of the run time, pieces of memory without contents, bytes that go to the device from variables of
    /// the host, and those that come back.
    pub(crate) const TOLD: usize = 40_000;
    pub(crate) const HOLLOW: usize = 256;
    pub(crate) const SAVED: usize = 1 << 20;
    pub(crate) const ANSWERS: usize = 8 << 20;
}

/// Of `verify::record::variants`.
pub(crate) mod verify_record_variants {
    /// Blocks that are tried: from few warps to many, and flat to square.
    pub(crate) const BLOCKS: [[u32; 3]; 14] = [
        [64, 1, 1],
        [128, 1, 1],
        [256, 1, 1],
        [512, 1, 1],
        [1024, 1, 1],
        [32, 4, 1],
        [32, 8, 1],
        [32, 16, 1],
        [16, 16, 1],
        [64, 4, 1],
        [128, 2, 1],
        [32, 4, 2],
        [16, 4, 4],
        [64, 2, 2],
    ];
    /// Integers are no larger where requests are counted, and steps of a launch.
    pub(crate) const SMALL_SIZE: i128 = 96;
    pub(crate) const STEPS: u64 = 20_000_000;
}

/// Of `words::mapping`.
pub(crate) mod words_mapping {
    /// Accesses named in one line at most.
    pub(crate) const NAMED: usize = 4;
}

/// Of `words::terms`.
pub(crate) mod words_terms {
    /// Terms after which the text breaks off; the caller shortens further.
    pub(crate) const LIMIT: u32 = 400;
    /// Nesting after which an ellipsis stands for the rest.
    pub(crate) const DEPTH: u32 = 40;
}

/// Of `verify::sides`.
pub(crate) mod verify_sides {
    /// Calls of the run time that fail in turn, and launches, at most: what is written makes some twenty.
    pub(crate) const FAILURES: u64 = 64;
    /// Runs that took more steps are not made again for every call.
    pub(crate) const FAILURE_STEPS: u64 = 400_000;
}
