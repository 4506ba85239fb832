//! Why an answer is missing. Every arm means "unknown", never "no".

use base::Stop;

/// Why isl gave no answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Error {
    /// The counted steps are used up.
    Spent,
    /// Somebody no longer wants the answer.
    Cancelled,
    /// The optimum asked for does not exist: the set is unbounded in that direction.
    Unbounded,
    /// A number does not fit into 128 bits, or a size is beyond what this room accepts.
    Overflow(&'static str),
    /// The operands do not fit together (numbers of parameters or dimensions differ).
    Mismatch(&'static str),
    /// Something this room does not express.
    Unsupported(&'static str),
    /// isl's own message.
    Isl(String),
}

/// The result of every function of this room that asks isl.
pub type Result<T> = std::result::Result<T, Error>;

impl From<Stop> for Error {
    fn from(stop: Stop) -> Error {
        match stop {
            Stop::Spent => Error::Spent,
            Stop::Cancelled => Error::Cancelled,
        }
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Spent => write!(f, "the counted steps are used up"),
            Error::Cancelled => write!(f, "cancelled"),
            Error::Unbounded => write!(f, "the set is unbounded in the direction asked for"),
            Error::Overflow(what) => write!(f, "too large: {what}"),
            Error::Mismatch(what) => write!(f, "operands do not fit: {what}"),
            Error::Unsupported(what) => write!(f, "not supported: {what}"),
            Error::Isl(message) => write!(f, "isl: {message}"),
        }
    }
}

impl std::error::Error for Error {}
