//! What we say of a condition of `#if`, gcc says too: with nothing known of the compiler, with what it says of itself, and
//! with its options.

use testkit::conditions::{conditions, gcc_says, ours, theirs};

const COUNT: usize = 3000;

/// How many are decided, and which are left though gcc decides them.
fn compared(all: &[String], ours: &[Option<bool>], theirs: &[Option<bool>], how: &str) -> (usize, usize) {
    let mut wrong: Vec<String> = Vec::new();
    let (mut decided, mut left) = (0, Vec::new());
    for ((condition, our), their) in all.iter().zip(ours).zip(theirs) {
        match (our, their) {
            (Some(a), Some(b)) if a == b => decided += 1,
            (Some(a), Some(b)) => wrong.push(format!("{a} for {b}: #if {condition}")),
            (None, Some(_)) => left.push(condition),
            // gcc refuses the program: nothing can be said wrong
            (_, None) => {}
        }
    }
    eprintln!("{how}: {decided} decided, {} left, such as {:?}", left.len(), left.get(..4));
    assert!(wrong.is_empty(), "{how}: {} are wrong:\n{}", wrong.len(), wrong.join("\n"));
    (decided, left.len())
}

#[test]
fn random_conditions_are_decided_as_gcc_decides_them() {
    if std::process::Command::new("gcc").arg("--version").output().is_err() {
        eprintln!("SKIPPED: gcc is not there, so no condition was compared");
        return;
    }
    let dir = tempfile::tempdir().expect("a folder to work in");
    let all = conditions(1, COUNT);
    let theirs = |options: &[&str]| theirs(&all, options, dir.path()).expect("gcc runs");
    let asked = |options: &[&str], known| Some(gcc_says(options, known).expect("gcc answers"));
    let plain = theirs(&[]);
    let alone = compared(&all, &ours(&all, None), &plain, "nobody asked");
    let told = compared(&all, &ours(&all, asked(&[], false)), &plain, "gcc asked");
    let known = compared(&all, &ours(&all, asked(&[], true)), &plain, "gcc asked, options known");
    assert!(alone.0 > COUNT / 4, "{alone:?}");
    assert!(told.0 > alone.0 + COUNT / 40 && known.0 > told.0 + COUNT / 40, "{alone:?} {told:?} {known:?}");
    assert!(known.1 * 20 < COUNT, "{known:?}");
    // what options decide, and what is left open because they may
    let options = ["-O2", "-mavx2", "-fopenmp", "-std=gnu11"];
    let other = theirs(&options);
    compared(&all, &ours(&all, asked(&options, true)), &other, "other options, known");
    // the version of the language is taken as the compiler has it by itself
    let kept = ["-O2", "-mavx2", "-fopenmp"];
    compared(&all, &ours(&all, asked(&[], false)), &theirs(&kept), "other options, not known");
    compared(&all, &ours(&all, None), &theirs(&kept), "other options, nobody asked");
}
