//! Random C# methods, compiled by mono's compiler and run by mono, against our machine: memory, value and exception.
//!
//! mono's compiler knows about C# 7: what the methods are made of is in it. Where there is no mono the test says so and
//! leaves the methods to our machine alone.

use testkit::csharp::generate;
use testkit::mono::{compare, is_available};

#[test]
fn random_methods_leave_what_mono_leaves() {
    if !is_available() {
        eprintln!("LEFT OUT: mono is not installed (apt-get install mono-mcs mono-runtime); nothing was compared with it");
        return;
    }
    let methods: Vec<_> = (0..250).map(|seed| generate(seed, 12)).collect();
    let dir = tempfile::tempdir().expect("a folder");
    let c = compare(&methods, 4, dir.path()).expect("mono runs");
    let some: Vec<&String> = c.different.iter().take(4).collect();
    assert!(c.different.is_empty(), "{} of {} differ: {some:#?}", c.different.len(), c.calls);
    assert!(c.calls >= 700 && c.threw >= 50 && c.left_out * 10 <= c.calls, "{c:?}");
}
