//! How far this room goes in one thing before it says that it stops there: each limit with its reason, by the file that keeps it.

/// Of `c::cut::words`.
pub(crate) mod c_cut_words {
    /// Most words of a conditional's arms, those of macros too.
    pub(crate) const MAX_WORDS: usize = 400;
}

/// Of `c::call`.
pub(crate) mod c_call {
    /// Members noted of one structure that is handed to a function.
    pub(crate) const MOST_MEMBERS: usize = 16;
    /// Members noted in one function.
    pub(crate) const MOST_HANDED: usize = 96;
    /// Members on the way to such a structure.
    pub(crate) const MOST_STEPS: usize = 6;
}

/// Of `c::headers`.
pub(crate) mod c_headers {
    /// Runs of headers kept at most; beyond it all are forgotten.
    pub(crate) const CAPACITY: usize = 512;
    /// Runs of headers kept for the same lines in different projects.
    pub(crate) const VARIANTS: usize = 4;
}

/// Of `c::include`.
pub(crate) mod c_include {
    /// Deepest nesting of headers.
    pub(crate) const MAX_DEPTH: u32 = 64;
    /// Most bytes of headers read for one document.
    pub(crate) const MAX_BYTES: usize = 48 << 20;
    /// How often a header may stand inside itself.
    pub(crate) const MAX_SELF: usize = 16;
    /// Most functions of headers that are lowered for one document.
    pub(crate) const MAX_FUNCTIONS: usize = 512;
    /// Most tokens included inside items.
    pub(crate) const MAX_SPLICED: usize = 500_000;
}

/// Of `c::initialise`.
pub(crate) mod c_initialise {
    /// Longest list that designators are written out to.
    pub(crate) const MAX_WRITTEN_OUT: usize = 256;
}

/// Of `c`.
pub(crate) mod c {
    /// Deepest nesting of expressions and statements that is followed.
    pub(crate) const MAX_DEPTH: u32 = 200;
    /// Longest chain of left-associative operators that is followed.
    pub(crate) const MAX_CHAIN: usize = 1000;
}

/// Of `c::lex`.
pub(crate) mod c_lex {
    /// Bytes between the quote and the parenthesis of a raw literal: no compiler takes more (C++20 5.13.5).
    pub(crate) const MAX_DELIMITER: usize = 16;
}

/// Of `c::objects`.
pub(crate) mod c_objects {
    /// Deepest nesting of structures looked into.
    pub(crate) const MAX_NESTED: u32 = 16;
}

/// Of `c::part`.
pub(crate) mod c_part {
    /// Most bytes of a part: it is to be there before the whole, which is read at some three bytes a microsecond.
    pub(crate) const MAX_BYTES: usize = 100_000;
}

/// Of `c::pp`.
pub(crate) mod c_pp {
    /// Deepest nesting of arguments and conditions followed.
    pub(crate) const MAX_DEPTH: u32 = 64;
    /// So many macros are copied with a set of them.
    pub(crate) const FEW: usize = 64;
}

/// Of `c::pp::expand`.
pub(crate) mod c_pp_expand {
    /// Most tokens one item may expand to.
    pub(crate) const MAX_TOKENS: usize = 2_000_000;
}

/// Of `c::pp::pack`.
pub(crate) mod c_pp_pack {
    /// Deepest stack.
    pub(crate) const MAX_STACK: usize = 256;
}

/// Of `c::render`.
pub(crate) mod c_render {
    /// Initialisers of more tokens than this are not looked into.
    pub(crate) const MAX_INITIALISER: usize = 65_536;
    /// Ranges of more cases than this are not written out.
    pub(crate) const MAX_CASES: i128 = 256;
}

/// Of `c::promises`.
pub(crate) mod c_promises {
    /// Most promises before one loop or function: each is an expression to be parsed.
    pub(crate) const MAX_PROMISES: usize = 64;
}

/// Of `c::unit::directives`.
pub(crate) mod c_unit_directives {
    /// Deepest nesting of conditionals between items.
    pub(crate) const MAX_NESTED: u32 = 64;
}

/// Of `c::unit::finish`.
pub(crate) mod c_unit_finish {
    /// Most threads that lower functions, and fewest functions worth a thread.
    pub(crate) const MAX_THREADS: usize = 8;
    pub(crate) const JOBS_PER_THREAD: usize = 16;
}

/// Of `cpp::plain`.
pub(crate) mod cpp_plain {
    /// Deepest nesting of casts rewritten inside one another, and of statements looked through.
    pub(crate) const MAX_NESTED: u32 = 60;
}

/// Of `cpp::statements`.
pub(crate) mod cpp_statements {
    /// Longest launch of a template looked for, in tokens.
    pub(crate) const MAX_LAUNCH: usize = 200;
}

/// Of `cpp::templates`.
pub(crate) mod cpp_templates {
    /// Instances of one template, and of all together, at most.
    pub(crate) const MAX_EACH: usize = 8;
    pub(crate) const MAX_ALL: usize = 48;
    /// Deepest nesting of an argument's expression, of names that stand for one another.
    pub(crate) const MAX_DEPTH: u32 = 16;
}

/// Of `csharp`.
pub(crate) mod csharp {
    /// Calls of the library in an expression that is written twice in terms (`Math.Max` is a comparison): each doubles it again.
    pub(crate) const MAX_AGAIN: usize = 3;
    /// Deepest nesting of expressions and statements that is followed.
    pub(crate) const MAX_DEPTH: u32 = 150;
    /// Longest chain of left-associative operators that is followed.
    pub(crate) const MAX_CHAIN: usize = 1000;
    /// How often a text is read again for casts that are none: one in another is seen after it.
    pub(crate) const MAX_ROUNDS: usize = 8;
    /// Members in members whose expressions stand for uses of them.
    pub(crate) const MAX_INLINED: usize = 8;
    /// Uses of such members in one member, those in others counted.
    pub(crate) const MAX_IN_ALL: usize = 2000;
    /// Operations that are said again where a parameter is used several times.
    pub(crate) const MAX_USES: usize = 64;
}
