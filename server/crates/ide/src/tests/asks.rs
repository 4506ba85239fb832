//! What a question may cost: typing and lists plan nothing, what is known is said at once, what a budget does not reach is
//! never promised, and nothing is found out twice.

use analysis::LoopId;
use base::CancelToken;

use super::{everywhere, full, open, open_cuda};
use crate::plans::{NoKernel, Planned, Spent};
use crate::{actions, check, hover, Ask, Doc, Memo, Settings, Tier};

const PLAIN: &str = "void f(int n, float *a) {\n    for (int i = 0; i < n; i++)\n        a[i] *= 2;\n}\n";
const REFUSED: &str = "#include <stdio.h>\nvoid f(int n, long double *restrict a) {\n    // warpwright: offload\n    for (int i = 0; i < n; i++)\n        a[i] = 2;\n}\n";

/// More than is planned while somebody types.
pub(super) const HARD: &str = "struct image { int w, h, c; float *data; };\nvoid turn(struct image im)\n{\n    int x, y, c, n = im.w;\n    for (c = 0; c < im.c; ++c)\n        for (x = 0; x < n / 2; ++x)\n            for (y = 0; y < (n - 1) / 2 + 1; ++y) {\n                float t = im.data[y + im.w * (x + im.h * c)];\n                im.data[y + im.w * (x + im.h * c)] = im.data[n - 1 - x + im.w * (y + im.h * c)];\n                im.data[n - 1 - x + im.w * (y + im.h * c)] = im.data[n - 1 - y + im.w * (n - 1 - x + im.h * c)];\n                im.data[n - 1 - y + im.w * (n - 1 - x + im.h * c)] = im.data[x + im.w * (n - 1 - y + im.h * c)];\n                im.data[x + im.w * (n - 1 - y + im.h * c)] = t;\n            }\n}\n";

fn ask(doc: &Doc, memo: &Memo, tier: Tier) -> Ask {
    Ask::new(doc, memo, tier, &CancelToken::new())
}

#[test]
fn what_stands_against_a_kernel_is_a_fact_that_everybody_knows() {
    let (doc, memo) = (open(REFUSED), Memo::new());
    let typing = ask(&doc, &memo, Tier::Typing);
    let thorough = ask(&doc, &memo, Tier::Full);
    // once it was planned
    let findings = check(&thorough, &Settings::default()).expect("nobody cancels");
    assert_eq!(findings.diagnostics.iter().map(|d| d.code).collect::<Vec<_>>(), ["marked-refused"]);
    let place = findings.view(&typing, findings.loops[0].item).expect("a function");
    let Some(Planned::No(NoKernel::Refused(why))) = place.remembered_plan(LoopId(0)) else {
        panic!("a refusal")
    };
    assert!(!why.reasons.is_empty());
    let offered = actions(&typing, &findings, everywhere(&doc));
    let offload = offered.iter().find(|a| a.title.starts_with("Offload")).expect("listed all the same");
    assert!(
        offload
            .disabled
            .as_ref()
            .is_some_and(|w| w.starts_with("Not yet offloadable (long double). No kernel is made")),
        "{offload:#?}"
    );
}

#[test]
fn what_is_known_is_said_at_once() {
    let (doc, memo) = (open(HARD), Memo::new());
    let typing = ask(&doc, &memo, Tier::Typing);
    let findings = check(&typing, &Settings::default()).expect("nobody cancels");
    let glance = typing.at(Tier::Known);
    let words = |ask: &Ask| {
        hover(ask, &findings, HARD.find("for").expect("a loop") as u32).expect("a hover").markdown
    };
    let before = words(&glance);
    assert!(
        before.contains("can be executed independently") && before.contains(crate::hover::STILL),
        "{before}"
    );
    let whole = words(&typing);
    assert!(whole.contains("on the GPU") && !whole.contains(crate::hover::STILL), "{whole}");
    // what was found out for one is known to all
    assert_eq!(words(&glance), whole);

    let kernel = open_cuda("__global__ void k(float *a) {\n    a[threadIdx.x] = 1;\n}\n");
    let memo = Memo::new();
    let nothing =
        hover(&ask(&kernel, &memo, Tier::Known), &crate::Findings::default(), 20).expect("a header");
    assert_eq!(nothing.markdown, crate::hover::STILL);
    let whole = hover(&ask(&kernel, &memo, Tier::Typing), &crate::Findings::default(), 20).expect("a header");
    let again = hover(&ask(&kernel, &memo, Tier::Known), &crate::Findings::default(), 20).expect("a header");
    assert_eq!(again, whole);
}

#[test]
fn what_was_not_tried_is_not_promised() {
    // many loops in one function: each plan costs as much as the function is long
    let one = |k: usize| format!("    for (int i = 0; i < n; i++)\n        a{0}[i] = b[i] * {k};\n", k % 3);
    let loops: String = (0..600).map(one).collect();
    let text = format!("void f(int n, float *a0, float *a1, float *a2, const float *b) {{\n{loops}}}\n");
    let doc = open(&text);
    let findings = full(&doc);
    let thorough = Ask::thorough(&doc);
    let place = findings.view(&thorough, findings.loops[0].item).expect("a function");
    let plans: Vec<Planned> = findings.loops.iter().filter_map(|l| place.remembered_plan(l.id)).collect();
    assert_eq!(plans.len(), 600);
    assert!(matches!(plans.first(), Some(Planned::Kernel(_))), "the first is planned");
    let untried = |p: &&Planned| matches!(p, Planned::No(NoKernel::NotTried(Spent::Function)));
    assert!(plans.iter().filter(untried).count() > 0, "the steps never end");
    let last = findings.diagnostics.last().expect("one a loop");
    assert!(
        last.message.starts_with("Parallel: ") && last.message.contains("was not tried"),
        "{}",
        last.message
    );
    // and whoever chooses it all the same is served
    let which = crate::Which::Key(findings.loops[599].key.to_string());
    assert!(crate::offload(&thorough, &findings, &which).is_ok());
}

#[test]
fn what_is_promised_depends_on_what_surrounds_it() {
    let memo = Memo::new();
    let said = |code: &str| {
        let thorough = ask(&open(code), &memo, Tier::Full);
        check(&thorough, &Settings::default()).expect("nobody cancels").diagnostics[0].message.clone()
    };
    let alone = said(PLAIN);
    assert!(alone.starts_with("Can run on the GPU"), "{alone}");
    // below the function, which stays as it was
    let with_own = said(&format!("{PLAIN}void free(void *p) {{ (void)p; }}\n"));
    assert!(with_own.contains("has its own `free`"), "{with_own}");
    assert_eq!(said(PLAIN), alone);
}
