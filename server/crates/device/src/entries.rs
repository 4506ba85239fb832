//! Which kernel of what was compiled is the one that a program calls by a name: C++ makes other names of them (Itanium C++ ABI,
//! "Mangling"), unless they are `extern "C"`.
//!
//! Deliberately absent: parameters and arguments of templates. Where only these tell kernels apart, none is meant.

/// The one of `compiled` that is called `name` (`add`, or `ns::add`); `None`: there is none. `Err`: so many are.
pub(crate) fn named<'n>(name: &str, compiled: &[&'n str]) -> Result<Option<&'n str>, usize> {
    if let Some(same) = compiled.iter().find(|c| **c == name) {
        return Ok(Some(same));
    }
    let plain = name.rsplit("::").next().unwrap_or(name);
    let called = |c: &&&str| {
        parts(c).is_some_and(|parts| match name.contains("::") {
            true => parts.join("::") == name,
            false => parts.last() == Some(&plain),
        })
    };
    let found: Vec<&&str> = compiled.iter().filter(called).collect();
    match found[..] {
        [] => Ok(None),
        [one] => Ok(Some(one)),
        _ => Err(found.len()),
    }
}

/// The names that a mangled one is made of, the outermost first: `["ns", "add"]` of `_ZN2ns3addEPf`. `None`: it is none.
fn parts(mangled: &str) -> Option<Vec<&str>> {
    let mut rest = mangled.strip_prefix("_Z")?;
    let nested = rest.strip_prefix('N');
    rest = nested.unwrap_or(rest);
    let mut out = Vec::new();
    loop {
        // `L`: of this file alone
        let of_file = rest.strip_prefix('L').unwrap_or(rest);
        let digits = of_file.bytes().take_while(u8::is_ascii_digit).count();
        let Some(length) = of_file.get(..digits).and_then(|d| d.parse::<usize>().ok()) else { break };
        let end = digits.checked_add(length)?;
        let part = of_file.get(digits..end)?;
        rest = of_file.get(end..)?;
        // namespaces without a name, and what the compiler puts around what is a file's own
        if !part.starts_with("_GLOBAL__N_") && !part.starts_with("_INTERNAL_") {
            out.push(part);
        }
        if nested.is_none() {
            break;
        }
    }
    (!out.is_empty()).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recorded from NVRTC 13.0 here: `add`, a `static` one, one in `ns`, those of namespaces without a name, an instance of a template,
    /// two of one name, an `extern "C"` one.
    const COMPILED: [&str; 9] = [
        "_Z3addPf",
        "_Z3ownPf",
        "_ZN2ns5scaleEPfi",
        "_ZN2ns36_GLOBAL__N__00000000_4_k_cu__Z3addPf6hiddenEPf",
        "_ZN36_GLOBAL__N__00000000_4_k_cu__Z3addPf6secretEPf",
        "_Z4tmplILi3EEvPf",
        "_Z5twicePd",
        "_Z5twicePf",
        "plain",
    ];

    #[test]
    fn kernels_by_the_names_that_programs_call_them() {
        for (name, compiled) in [
            ("add", 0),
            ("own", 1),
            ("scale", 2),
            ("ns::scale", 2),
            ("hidden", 3),
            ("ns::hidden", 3),
            ("secret", 4),
            ("plain", 8),
        ] {
            assert_eq!(named(name, &COMPILED), Ok(Some(COMPILED[compiled])), "{name}");
        }
        assert_eq!(named("twice", &COMPILED), Err(2));
        for none in ["ad", "add2", "Pf", "other::scale", ""] {
            assert_eq!(named(none, &COMPILED), Ok(None), "{none}");
        }
        // what is cut off, or none of C++'s
        for wrong in ["_Z", "_Z9add", "_ZN2ns", "_Z99999999999999999999add", "_ZL"] {
            assert_eq!(named("add", &[wrong]), Ok(None), "{wrong}");
        }
        assert_eq!(named("add", &["_ZL3addPf"]), Ok(Some("_ZL3addPf")));
    }
}
