//! What holds of every unit, whatever its text.

use base::Span;
use front::{item_at, loop_header_span, term_at, Unit};

/// Spans lie inside what holds them, and helpers answer everywhere.
pub fn sane(text: &str, u: &Unit) {
    let (mut last, mut around) = (0, Vec::new());
    for i in &u.items {
        assert!(i.span.start >= last && i.span.end as usize <= text.len(), "{:?}", i.span);
        last = i.span.start;
        around.retain(|a: &Span| a.end > i.span.start);
        assert!(around.iter().all(|a| a.contains(i.span)), "{:?} stands across another", i.span);
        around.push(i.span);
        let (b, whole) = (&i.body, Span::new(0, i.span.len()));
        let mut seen = vec![false; b.len()];
        for t in b.walk(b.root) {
            assert!(whole.contains(b.span(t)), "{:?} outside {whole:?}", b.span(t));
            assert!(!std::mem::replace(&mut seen[t.0 as usize], true), "a term with two parents");
            loop_header_span(b, t);
        }
        for at in 0..(i.span.len() as u32).min(40) {
            term_at(b, at);
        }
    }
    item_at(u, 3);
}
