//! GPU architectures by the names NVRTC uses: `sm_90` (machine code) and `compute_90` (PTX, the portable form).

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// What is generated.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum ArchKind {
    /// `compute_…`: PTX only, so no registers are known.
    Virtual,
    /// `sm_…`: machine code (a cubin).
    Real,
}

/// An architecture, such as `sm_90`, `sm_90a` or `compute_75`. Serialized as that name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Arch {
    /// Machine code or PTX.
    pub kind: ArchKind,
    /// Compute capability times ten: 90 for 9.0.
    pub number: u16,
    /// `a` (features of this architecture only) or `f` (of its family).
    pub suffix: Option<char>,
}

/// A name that is no architecture.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("\"{0}\" is not a GPU architecture. Write sm_NN or compute_NN, for example sm_90.")]
pub struct ArchError(pub String);

impl Arch {
    /// `sm_NUMBER`.
    pub const fn sm(number: u16) -> Arch {
        Arch { kind: ArchKind::Real, number, suffix: None }
    }
    /// `compute_NUMBER`.
    pub const fn compute(number: u16) -> Arch {
        Arch { kind: ArchKind::Virtual, number, suffix: None }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = match self.kind {
            ArchKind::Real => "sm_",
            ArchKind::Virtual => "compute_",
        };
        write!(f, "{prefix}{}", self.number)?;
        self.suffix.map_or(Ok(()), |s| write!(f, "{s}"))
    }
}

impl FromStr for Arch {
    type Err = ArchError;
    fn from_str(name: &str) -> Result<Arch, ArchError> {
        let error = || ArchError(name.to_owned());
        let (kind, rest) = match (name.strip_prefix("sm_"), name.strip_prefix("compute_")) {
            (Some(rest), _) => (ArchKind::Real, rest),
            (_, Some(rest)) => (ArchKind::Virtual, rest),
            _ => return Err(error()),
        };
        let digits = rest.trim_end_matches(['a', 'f']);
        let suffix = match rest.get(digits.len()..) {
            Some("") => None,
            Some("a") => Some('a'),
            Some("f") => Some('f'),
            _ => return Err(error()),
        };
        if !(2..=4).contains(&digits.len()) || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(error());
        }
        Ok(Arch { kind, number: digits.parse().map_err(|_| error())?, suffix })
    }
}

impl TryFrom<String> for Arch {
    type Error = ArchError;
    fn try_from(name: String) -> Result<Arch, ArchError> {
        name.parse()
    }
}

impl From<Arch> for String {
    fn from(arch: Arch) -> String {
        arch.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for name in ["sm_70", "sm_90a", "compute_75", "sm_121", "compute_100f"] {
            assert_eq!(name.parse::<Arch>().map(|a| a.to_string()), Ok(name.to_owned()));
        }
        for name in ["", "sm_", "sm_x", "sm_9", "sm_90aa", "sm_90b", "70", "sm_+70", "sm_99999", "ampere"] {
            assert!(name.parse::<Arch>().is_err(), "{name}");
        }
    }
}
