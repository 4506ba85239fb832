//! What we say of a condition of `#if`, gcc says too.

use testkit::conditions::{conditions, ours, theirs};

const COUNT: usize = 3000;

#[test]
fn random_conditions_are_decided_as_gcc_decides_them() {
    if std::process::Command::new("gcc").arg("--version").output().is_err() {
        eprintln!("SKIPPED: gcc is not there, so no condition was compared");
        return;
    }
    let dir = tempfile::tempdir().expect("a folder to work in");
    let all = conditions(1, COUNT);
    let (ours, theirs) = (ours(&all), theirs(&all, dir.path()).expect("gcc runs"));
    let mut wrong: Vec<String> = Vec::new();
    let (mut decided, mut left) = (0, Vec::new());
    for ((condition, our), their) in all.iter().zip(&ours).zip(&theirs) {
        match (our, their) {
            (Some(a), Some(b)) if a == b => decided += 1,
            (Some(a), Some(b)) => wrong.push(format!("{a} for {b}: #if {condition}")),
            (None, Some(_)) => left.push(condition),
            // gcc refuses the program: nothing can be said wrong
            (_, None) => {}
        }
    }
    eprintln!("{decided} decided, {} left, such as {:?}", left.len(), left.get(..12));
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(decided > COUNT / 3 && left.len() * 5 < COUNT, "{decided} decided, {} left", left.len());
}
