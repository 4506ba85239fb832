//! How far this room goes in one thing before it says that it stops there: each limit with its reason, by the file that keeps it.

/// Of `constant`.
pub(crate) mod constant {
    /// Deepest nesting of constant expressions: it recurses.
    pub(crate) const MAX_DEPTH: u32 = 256;
}

/// Of `kept`.
pub(crate) mod kept {
    /// Deepest nesting that is walked: it recurses.
    pub(crate) const MAX_DEPTH: u32 = 200;
    /// Terms walked over in a function: each loop is walked at least twice.
    pub(crate) const MAX_STEPS: u32 = 200_000;
}

/// Of `notation::reader`.
pub(crate) mod notation_reader {
    /// Deepest nesting that is read.
    pub(crate) const MAX_DEPTH: u32 = 200;
}

/// Of `paths`.
pub(crate) mod paths {
    /// Longer texts name nothing.
    pub(crate) const MAX_TEXT: usize = 120;
    /// More paths than this are not named: what they reach stays unknown.
    pub(crate) const MAX_PATHS: usize = 400;
}
