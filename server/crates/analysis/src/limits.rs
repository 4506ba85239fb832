//! How far the analysis goes, and why: everything here is counted, so that answers are the same on every machine. What a limit
//! cuts off is `unknown`, never independent.

/// Of `algebra::bounds`.
pub(crate) mod algebra_bounds {
    /// Constraints looked at that are one step of the budget.
    pub(crate) const LOOKED: u64 = 16;
    /// Values tried for one question (of those that are proved, 99 in 100 need seven), in any order, for what suffices for it, for the question
    /// whether a piece is void, and for the sign of a factor.
    pub(crate) const FUEL: u32 = 60;
    pub(crate) const FUEL_IN_ANY_ORDER: u32 = 30;
    pub(crate) const FUEL_OF_ENDS: u32 = 300;
    pub(crate) const FUEL_OF_VOID: u32 = 40;
    pub(crate) const FUEL_OF_SIGN: u32 = 20;
    pub(crate) const DEPTH: u32 = 7;
    pub(crate) const SIGNS: u32 = 2;
    /// What a value is multiplied by at most, to take a constraint from it.
    pub(crate) const MAX_SCALE: i128 = 64;
    /// Counters that are tried at both their ends.
    pub(crate) const CORNERS: u32 = 2;
}

/// Of `algebra::poly`.
pub(crate) mod algebra_poly {
    /// Variables in one product at most; more are given up.
    pub(crate) const MAX_FACTORS: usize = 4;
    /// Coefficients beyond this are given up: sums of a few stay far from overflow.
    pub(crate) const LIMIT: i128 = 1 << 100;
    pub(crate) const MAX_PIECES: usize = 12;
}

/// Of `calls::inline::bind`.
pub(crate) mod calls_inline_bind {
    /// Larger arguments are evaluated once into a variable rather than copied to each use.
    pub(crate) const MAX_COPIED: usize = 24;
}

/// Of `calls::inline::copy`.
pub(crate) mod calls_inline_copy {
    /// Terms nested deeper than this are not copied: the copier recurses.
    pub(crate) const MAX_NESTING: usize = 200;
}

/// Of `calls::inline`.
pub(crate) mod calls_inline {
    /// Terms of a body that are one step of the budget where it is walked over: for what is written in it, and with small calls
    /// written out.
    pub(crate) const TERMS: u64 = 4;
    /// Calls in calls are followed so deep.
    pub(crate) const MAX_DEPTH: usize = 10;
    /// Terms added to one body at most.
    pub(crate) const MAX_ADDED: usize = 12_000;
    /// Likewise where large functions are replaced too, for an offload of several nests.
    pub(crate) const MAX_ADDED_LARGE: usize = 60_000;
    /// Terms of such a function.
    pub(crate) const MAX_LARGE: usize = 20_000;
    /// Terms of a function whose ways out are looked for.
    pub(crate) const MAX_GRANTED: usize = 1_000;
}

/// Of `calls::inline::structure`.
pub(crate) mod calls_inline_structure {
    /// Jumps in one list at most: each is a level of nesting.
    pub(crate) const MAX_JUMPS: usize = 40;
}

/// Of `calls::shape`.
pub(crate) mod calls_shape {
    /// Terms of a function that may be written in place of a call.
    pub(crate) const MAX_TERMS: usize = 500;
}

/// Of `classify::coverage`.
pub(crate) mod classify_coverage {
    /// Systems looked at for one question at most.
    pub(crate) const FUEL: u32 = 250;
}

/// Of `solve::fourier`.
pub(crate) mod solve_fourier {
    /// Rows beyond which the elimination is given up.
    pub(crate) const MAX_LINES: usize = 160;
}

/// Of `graph`.
pub(crate) mod graph {
    /// Pairs of accesses looked at in one nest at most.
    pub(crate) const MAX_PAIRS: usize = 4_000;
    /// Levels that vectors speak of at most; what lies deeper is not told apart.
    pub(crate) const MAX_LEVELS: usize = 5;
}

/// Of `solve`.
pub(crate) mod solve {
    /// Numbers in remembered systems: a deep nest asks many questions of many rows.
    pub(crate) const MOST_KEPT: usize = 1 << 20;
    /// A step of the budget is so many numbers of a system that the cheap tests look at.
    pub(crate) const NUMBERS: u64 = 128;
}

/// Of `solve::system`.
pub(crate) mod solve_system {
    /// Larger numbers are given up: products of two and sums of some stay inside 128 bits.
    pub(crate) const LIMIT: i128 = 1 << 52;
}

/// Of `flow::liveness`.
pub(crate) mod flow_liveness {
    /// Terms walked over, or variables copied where control parts, that are one step of the budget.
    pub(crate) const TERMS: u64 = 16;
    /// Deepest nesting followed: it recurses.
    pub(crate) const MAX_DEPTH: u32 = 400;
    /// More labels than that are not followed.
    pub(crate) const MAX_LABELS: usize = 60;
    /// Members of a structure that are looked at one by one.
    pub(crate) const MAX_PARTS: usize = 16;
}

/// Of `offload::live`.
pub(crate) mod offload_live {
    /// Steps for the arrays of one function.
    pub(crate) const STEPS: u64 = 1_500_000;
    /// Arrays of one function that are looked at together: each has a set of cells at each place.
    pub(crate) const MAX_ARRAYS: usize = 96;
    /// Loops in a loop that is looked at as a whole.
    pub(crate) const MAX_LOOPS: usize = 8;
    /// Dimensions of an array.
    pub(crate) const MAX_RANK: usize = 6;
    /// Parameters that sets of cells name.
    pub(crate) const MAX_FIXED: usize = 12;
    /// Deepest nesting followed: it recurses.
    pub(crate) const MAX_DEPTH: u32 = 400;
    /// More labels than that are not followed.
    pub(crate) const MAX_LABELS: usize = 60;
    /// Rounds of a loop after which what still grows is everything.
    pub(crate) const MAX_ROUNDS: usize = 6;
    /// Functions of a file that are looked at for its arrays.
    pub(crate) const MAX_FUNCTIONS: usize = 200;
}

/// Of `host::launch_given`.
pub(crate) mod host_launch_given {
    /// Calls above a launch, and ways to come to it (each gives a launch of its own).
    pub(crate) const MAX_DEPTH: u32 = 4;
    pub(crate) const MAX_WAYS: usize = 12;
}

/// Of `kernel::anyshape`.
pub(crate) mod kernel_anyshape {
    /// Statements and expressions followed at most, all warps of a kernel together, and how many are one step of the budget.
    pub(crate) const FUEL: u64 = 400_000;
    pub(crate) const PER_STEP: u64 = 16;
    /// Deepest nesting of statements and expressions, and of calls.
    pub(crate) const MAX_DEPTH: u32 = 180;
    pub(crate) const MAX_CALLS: usize = 6;
    /// Factors of a product, and terms of a sum.
    pub(crate) const MAX_FACTORS: usize = 4;
    pub(crate) const MAX_TERMS: usize = 24;
    /// Rounds of a loop walked one by one, and times that the rounds of another are tried.
    pub(crate) const MAX_ROUNDS: u32 = 40;
    pub(crate) const MAX_TRIES: u32 = 5;
}

/// Of `kernel::collect`.
pub(crate) mod kernel_collect {
    /// Deepest nesting of statements followed.
    pub(crate) const MAX_DEPTH: u32 = 200;
}

/// Of `kernel::eval`.
pub(crate) mod kernel_eval {
    /// Deepest nesting of expressions and calls followed: it recurses.
    pub(crate) const MAX_DEPTH: u32 = 100;
    /// Parameters that are varied together at most.
    pub(crate) const VARIED: usize = 2;
    /// Conditions evaluated for one thread that are one step of the budget.
    pub(crate) const PER_STEP: u64 = 16;
    /// Threads of a launch looked at at most.
    pub(crate) const MAX_THREADS: u64 = 1 << 16;
}

/// Of `kernel::local`.
pub(crate) mod kernel_local {
    /// Questions asked of the values of one function.
    pub(crate) const FUEL: u32 = 50_000;
}

/// Of `kernel::races`.
pub(crate) mod kernel_races {
    /// Witnesses listed at most.
    pub(crate) const MAX_LISTED: usize = 8;
}

/// Of `kernel::replay::meet`.
pub(crate) mod kernel_replay_meet {
    /// Comparisons at most.
    pub(crate) const MAX_PAIRS: u64 = 8_000_000;
    /// Pairs of places kept.
    pub(crate) const MAX_FOUND: usize = 64;
}

/// Of `kernel::replay`.
pub(crate) mod kernel_replay {
    /// Steps of all threads together, and events, at most.
    pub(crate) const MAX_STEPS: u64 = 6_000_000;
    pub(crate) const MAX_EVENTS: usize = 1_500_000;
    /// Steps of the threads of a block that stands for all.
    pub(crate) const MAX_STEPS_OF_ANY: u64 = 1_500_000;
    /// Steps of threads, and events, that are one step of the budget.
    pub(crate) const PER_STEP: u64 = 16;
    /// Threads of a block at most.
    pub(crate) const MAX_THREADS: u64 = 1024;
    /// Threads of a launch of which a few are looked at first, and how many times too many steps they must promise.
    pub(crate) const MIN_GLANCED: u64 = 1024;
    pub(crate) const GLANCED_TIMES: u64 = 4;
}

/// Of `kernel::replay::run`.
pub(crate) mod kernel_replay_run {
    /// Deepest nesting of statements, expressions and calls.
    pub(crate) const MAX_DEPTH: u32 = 180;
    pub(crate) const MAX_CALLS: usize = 12;
}

/// Of `kernel::requests`.
pub(crate) mod kernel_requests {
    /// Places kept of an access.
    pub(crate) const MAX_PLACES: usize = 1 << 18;
}

/// Of `kernel::sampled`.
pub(crate) mod kernel_sampled {
    /// Steps looked at: whether a block fits at all, of several blocks, of one block alone.
    pub(crate) const GLANCE: u64 = 300_000;
    pub(crate) const SEVERAL: u64 = 1_500_000;
    pub(crate) const ALONE: u64 = 2_000_000;
}

/// Of `kernel::symbolic::eval`.
pub(crate) mod kernel_symbolic_eval {
    /// Deepest nesting of expressions and statements.
    pub(crate) const MAX_DEPTH: u32 = 240;
}

/// Of `kernel::symbolic`.
pub(crate) mod kernel_symbolic {
    /// Questions asked of the solver at most.
    pub(crate) const MAX_QUESTIONS: u32 = 6000;
}

/// Of `kernel::symbolic::pairs`.
pub(crate) mod kernel_symbolic_pairs {
    /// Unknowns of which the order is told apart at most.
    pub(crate) const MAX_SPLITS: usize = 5;
    /// Steps that isl is worth for one question: the least, the most, and which part of those that are left.
    pub(crate) const LEAST_ISL: u64 = 2_000;
    pub(crate) const MOST_ISL: u64 = 30_000;
    pub(crate) const A_QUESTION: u64 = 1_500;
}

/// Of `kernel::symbolic::ranges`.
pub(crate) mod kernel_symbolic_ranges {
    /// Rows of a question about a value's range at most.
    pub(crate) const MAX_ROWS: usize = 72;
    /// Terms of a value whose range is asked for at most.
    pub(crate) const MAX_TERMS: usize = 12;
}

/// Of `kernel::symbolic::rows`.
pub(crate) mod kernel_symbolic_rows {
    /// Digits of an offset told apart at most.
    pub(crate) const MAX_DIGITS: u32 = 7;
    /// Lengths of rows tried for a digit at most.
    pub(crate) const MAX_LENGTHS: usize = 8;
}

/// Of `kernel::trace`.
pub(crate) mod kernel_trace {
    /// Operations of warps followed at most.
    pub(crate) const FUEL: u64 = 600_000;
    /// Operations of a warp that are one step of the budget.
    pub(crate) const PER_STEP: u64 = 4;
    /// Threads of a launch followed at most.
    pub(crate) const MAX_THREADS: u64 = 1 << 16;
    /// Deepest nesting of statements and expressions followed.
    pub(crate) const MAX_DEPTH: u32 = 200;
    /// Warps of a launch of which a few are looked at first, and how many times too many operations they must promise.
    pub(crate) const MIN_GLANCED: u64 = 64;
    pub(crate) const GLANCED_TIMES: u64 = 4;
}

/// Of `kernel::uniformity`.
pub(crate) mod kernel_uniformity {
    /// Terms whose uniformity is asked that are one step of the budget.
    pub(crate) const TERMS: u64 = 16;
    /// Deepest nesting of expressions followed.
    pub(crate) const MAX_DEPTH: u32 = 200;
}

/// Of `loops`.
pub(crate) mod loops {
    /// Dependences listed per loop at most; more would not be read.
    pub(crate) const MAX_LISTED: usize = 12;
    /// Accesses whose pairs are put in order before they are tried.
    pub(crate) const MAX_SORTED: usize = 500;
    /// Counted steps for the proof that one object can be private: as many while typing as on save, or a verdict could turn
    /// from sequential to independent.
    pub(crate) const PRIVACY_STEPS: u64 = 100_000;
}

/// Of `nest::builder`.
pub(crate) mod nest_builder {
    /// Deepest nesting of statements and expressions: the builder recurses.
    pub(crate) const MAX_DEPTH: u32 = 300;
    /// A sum of two of three pieces each has nine: to which side a lattice's neighbour leaves, along each axis.
    pub(crate) const MAX_VALUE_PIECES: usize = 9;
    pub(crate) const MAX_ACCESSES: usize = 2000;
}

/// Of `nest::constants`.
pub(crate) mod nest_constants {
    /// Elements of an array that are looked at each time a loop reads it.
    pub(crate) const MOST_ELEMENTS: u64 = 4096;
}

/// Of `nest::flatten`.
pub(crate) mod nest_flatten {
    /// From so many rows on a subscript is not told to lie in an earlier one.
    pub(crate) const MAX_ROWS_BACK: i128 = 3;
}

/// Of `nest::origin`.
pub(crate) mod nest_origin {
    /// Terms looked at on the way back to where a value came from.
    pub(crate) const MAX_STEPS: usize = 2000;
}

/// Of `nest::paths::cases`.
pub(crate) mod nest_paths_cases {
    /// Cases followed at once, and kept.
    pub(crate) const MAX_CASES: usize = 10;
    pub(crate) const MAX_KEPT: usize = 5;
    /// Steps of isl that one question is worth.
    pub(crate) const MAX_ISL: u64 = 30_000;
    /// Variables of a case beyond which nobody asks whether it can be.
    pub(crate) const MAX_COLUMNS: usize = 30;
    /// Constraints of one case while versions are eliminated.
    pub(crate) const MAX_LINES: usize = 60;
}

/// Of `nest::paths`.
pub(crate) mod nest_paths {
    /// Facts of a case that are looked through for such as say nothing any more.
    pub(crate) const MANY: usize = 32;
}

/// Of `nest::promises`.
pub(crate) mod nest_promises {
    /// Arrays of one loop that are taken to be sorted.
    pub(crate) const MOST_SORTED: usize = 4;
}

/// Of `nest::together`.
pub(crate) mod nest_together {
    /// Variables that stand for one another, one behind the other.
    pub(crate) const MAX_STEPS: u32 = 8;
}

/// Of `replay_witness::calls`.
pub(crate) mod replay_witness_calls {
    /// Deepest nesting of calls.
    pub(crate) const MAX_CALLS: usize = 16;
    /// Bytes that are filled one by one at most.
    pub(crate) const FAR: i64 = 1 << 40;
}

/// Of `replay_witness::formula`.
pub(crate) mod replay_witness_formula {
    /// Nodes of one tree.
    pub(crate) const MAX_NODES: u32 = 120;
}

/// Of `replay_witness`.
pub(crate) mod replay_witness {
    /// Steps of one run, and of all runs for one loop.
    pub(crate) const RUN_STEPS: u64 = 60_000;
    pub(crate) const ALL_STEPS: u64 = 400_000;
}

/// Of `replay_witness::run::loops`.
pub(crate) mod replay_witness_run_loops {
    /// Steps after which a loop is cut short.
    pub(crate) const LOOP_STEPS: u64 = 6_000;
    /// Iterations behind the witness's in which another meeting is still looked for.
    pub(crate) const FURTHER: i128 = 40;
    /// Executions of the root in which nothing met.
    pub(crate) const MISSES: u32 = 12;
}

/// Of `replay_witness::run`.
pub(crate) mod replay_witness_run {
    /// Events of one run that are remembered.
    pub(crate) const MAX_EVENTS: usize = 600;
    /// Places in one run where both ways are followed.
    pub(crate) const MAX_CHOICES: usize = 6;
    /// Deepest nesting of statements and expressions: the run recurses.
    pub(crate) const MAX_DEPTH: u32 = 220;
}

/// Of `replay_witness::run::variables`.
pub(crate) mod replay_witness_run_variables {
    /// Items of a constant table that count as one step.
    pub(crate) const ITEMS_PER_STEP: u64 = 16;
}

/// Of `replay_witness::run::watch`.
pub(crate) mod replay_witness_run_watch {
    /// Accesses of the source that are remembered in one execution of the root.
    pub(crate) const MAX_SOURCES: usize = 4_000;
    /// Bytes that one access has at most, but for copies of large objects.
    pub(crate) const REACH: i64 = 4_096;
}

/// Of `replay_witness::run::ways`.
pub(crate) mod replay_witness_run_ways {
    /// Conditions that are looked through for what set a variable.
    pub(crate) const MAX_FEEDING: usize = 100;
}

/// Of `replay_witness::search`.
pub(crate) mod replay_witness_search {
    /// Runs for a loop's first witness, and for another, which begins with the inputs that came to the loop.
    pub(crate) const MAX_RUNS: usize = 60;
    pub(crate) const FEW_RUNS: usize = 30;
    pub(crate) const MAX_ARRIVED: usize = 4;
    /// Lists of constant arguments that the function is run for.
    pub(crate) const MAX_CALLS: usize = 4;
    /// Ways through what is not known, of one choice of inputs.
    pub(crate) const MAX_WAYS: usize = 12;
    /// What a run that came no farther than the one before is worth less.
    pub(crate) const STALLED: i64 = 5;
    /// Inputs waiting to be tried.
    pub(crate) const MAX_WAITING: usize = 300;
}

/// Of `replay_witness::solve`.
pub(crate) mod replay_witness_solve {
    /// Columns of a system that is solved.
    pub(crate) const MAX_COLUMNS: usize = 40;
    /// Values tried for two inputs together.
    pub(crate) const MAX_PAIRS: usize = 1_500;
    /// Inputs of one tree of which some values are tried, and of which all; and how many some are.
    pub(crate) const MANY: usize = 12;
    pub(crate) const FEW: usize = 4;
    pub(crate) const FIRST: usize = 14;
    /// Steps that trying pairs takes at most.
    pub(crate) const PAIR_STEPS: usize = 16_000;
}

/// Of `replay_witness::values`.
pub(crate) mod replay_witness_values {
    /// Coefficients beyond this are given up.
    pub(crate) const LIMIT: i128 = 1 << 50;
}

/// Of `threadmap::scan`.
pub(crate) mod threadmap_scan {
    /// Larger texts are no kernels.
    pub(crate) const MAX_RUNS: usize = 200;
}

/// Of `threadmap::solve`.
pub(crate) mod threadmap_solve {
    /// Coordinates of the thread space at most (F4.3).
    pub(crate) const MAX_DIMENSION: usize = 3;
    /// A greater constant in a bound comes from the range of a type, not from the program: ids would begin that far from 0,
    /// and nearly all threads would have nothing to do.
    pub(crate) const FAR: i128 = 1 << 16;
}

/// Of `threadmap::statements`.
pub(crate) mod threadmap_statements {
    /// Statements beyond this number, and pairs of accesses, are not looked at.
    pub(crate) const MAX_STATEMENTS: usize = 40;
    pub(crate) const MAX_PAIRS: usize = 300;
}

/// Of `threadmap::rounds`.
pub(crate) mod threadmap_rounds {
    /// Nests with more statements have no rounds, nor those for which so many times were tried.
    pub(crate) const MAX_UNITS: usize = 12;
    pub(crate) const MAX_TRIED: usize = 4000;
    /// Launches of a round of a nest whose statements are cut in pieces.
    pub(crate) const MAX_LAUNCHES: usize = 8;
    /// Ways to run units of a nest a round later that are tried, and ways to place units in threads.
    pub(crate) const MAX_SHIFTED: usize = 256;
    pub(crate) const MAX_PLACED: usize = 20_000;
    /// Instances of statements in the text of the loops.
    pub(crate) const MAX_RUNS: usize = 24;
}

/// Of `offload::own_cells`.
pub(crate) mod offload_own_cells {
    /// Bytes of an array that each thread may have as a variable of its own: what many threads have at once must fit into the
    /// device's memory.
    pub const MAX_THREADS_OWN: u64 = 4096;
}

/// Of `offload::extent`.
pub(crate) mod offload_extent {
    /// Steps to find what lies between the cells of an array of several dimensions.
    pub(crate) const BETWEEN_STEPS: u64 = 3_000;
    /// Likewise where elements that may be touched have to lie there, or nothing can be copied.
    pub(crate) const STRETCH_STEPS: u64 = 15_000;
}

/// Of `offload::region::alone`.
pub(crate) mod offload_region {
    /// Elements of an array of a block that begin with statements.
    pub(crate) const MAX_BEGUN: u64 = 1 << 20;
    /// Values in a list that begin an array.
    pub(crate) const MAX_LISTED: u64 = 64;
    /// Parts of tables that are asked for before kernels: a bit each.
    pub(crate) const MAX_ASKED: usize = 60;
}
