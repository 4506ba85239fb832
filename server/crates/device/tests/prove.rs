//! Z3 in the worker: questions answered, missing libraries told, limits kept.

mod common;

use base::CancelToken;
use common::{client, skipped};
use device::{Limits, ProveOutcome, ProveRequest, UnavailableKind};
use std::time::{Duration, Instant};

fn asked(script: &str) -> ProveRequest {
    ProveRequest { script: script.to_owned(), limit_ms: Some(20_000), library: None }
}

#[test]
fn questions_are_answered() {
    let mut client = client(Limits::default());
    let cancel = CancelToken::new();
    let mut ask = |what: &str| {
        let script = format!("(declare-const a (_ BitVec 8))(assert {what})(check-sat)(get-value (a))");
        client.prove(asked(&script), &cancel)
    };
    let text = match ask("(= (bvadd a a) #x06)") {
        ProveOutcome::Unavailable(why) if why.kind == UnavailableKind::NoLibrary => {
            return skipped("libz3 (cargo xtask test installs it; or set WARPWRIGHT_Z3)")
        }
        ProveOutcome::Answered { text, .. } => text,
        other => panic!("{other:?}"),
    };
    assert!(text.starts_with("sat") && (text.contains("#x03") || text.contains("#x83")), "{text}");
    // what is wrong in a question stands in the answer, and the worker goes on
    for (what, begins) in [("(= (bvadd a a) #x07)", "unsat"), ("(nonsense)", "(error")] {
        match ask(what) {
            ProveOutcome::Answered { text, .. } => assert!(text.starts_with(begins), "{what}: {text}"),
            other => panic!("{what}: {other:?}"),
        }
    }
}

#[test]
fn a_library_that_is_not_there_is_told() {
    let mut client = client(Limits::default());
    let request = ProveRequest { library: Some("/nowhere/libz3.so".into()), ..asked("(check-sat)") };
    match client.prove(request, &CancelToken::new()) {
        ProveOutcome::Unavailable(why) => {
            assert_eq!(why.kind, UnavailableKind::NoLibrary);
            assert!(why.next_step.contains("libz3-4"), "{why}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_takes_too_long_ends() {
    let mut client = client(Limits::default());
    // a factorization of a product of two primes of 30 bits
    let script = "(declare-const a (_ BitVec 64))(declare-const b (_ BitVec 64))(assert (and (bvult #x0000000000000001 a) \
                  (bvult a #x0000000100000000) (bvult b #x0000000100000000) (bvult #x0000000000000001 b) \
                  (= (bvmul a b) #x0d83f3f5c8a1f8e7)))(check-sat)";
    let start = Instant::now();
    let request = ProveRequest { limit_ms: Some(300), ..asked(script) };
    match client.prove(request, &CancelToken::new()) {
        ProveOutcome::Unavailable(why) if why.kind == UnavailableKind::NoLibrary => {
            skipped("libz3 (cargo xtask test installs it; or set WARPWRIGHT_Z3)");
        }
        // interrupted, or given up
        ProveOutcome::Answered { text, .. } => {
            assert!(!text.starts_with("sat\n") || start.elapsed() < Duration::from_secs(5))
        }
        ProveOutcome::Unavailable(_) => {}
    }
    assert!(start.elapsed() < Duration::from_secs(15));
}
