//! Where gcc puts the members of random structs, we put them too.

use testkit::layouts::{ours, records, theirs};

/// Records a program, and programs.
const RECORDS: usize = 120;
const PROGRAMS: u64 = 20;

#[test]
fn random_records_lie_as_gcc_lays_them() {
    if std::process::Command::new("gcc").arg("--version").output().is_err() {
        eprintln!("SKIPPED: gcc is not there, so no layout was compared");
        return;
    }
    let dir = tempfile::tempdir().expect("a folder to work in");
    let (mut compared, mut unknown) = (0, 0);
    let mut wrong: Vec<String> = Vec::new();
    for seed in 0..PROGRAMS {
        let program = records(seed, RECORDS);
        let theirs = theirs(&program, dir.path()).expect("gcc takes the program");
        let ours = ours(&program);
        assert_eq!(theirs.len(), program.records.len());
        for ((name, our), their) in program.records.iter().map(|r| &r.0).zip(&ours).zip(&theirs) {
            match our {
                Some(our) if our == their => {}
                Some(our) => {
                    let line = program.text.lines().find(|l| l.ends_with(&format!(" {name};")));
                    let line = line.unwrap_or("");
                    wrong.push(format!("seed {seed}: {our} for {their} (size, alignment, members):\n{line}"));
                }
                None => {
                    if unknown < 12 {
                        eprintln!(
                            "unknown {name} of {seed}: {}",
                            program.text.lines().find(|l| l.ends_with(&format!(" {name};"))).unwrap_or("")
                        );
                    }
                    unknown += 1;
                }
            }
            compared += 1;
        }
    }
    eprintln!("{compared} records, {unknown} of them unknown to us");
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(compared > 1000 && unknown * 50 < compared, "{unknown} of {compared} are unknown to us");
}
