//! Random edits against the simplest possible model: a `String`, re-read from its start for every question.

use proptest::prelude::*;
use text::{Edit, EditSet, Point, Position, PositionEncoding as Enc, PositionRange, Side, Span, Text};

/// The lines of a string: spans without their terminators.
fn model_lines(s: &str) -> Vec<(usize, usize)> {
    let bytes = s.as_bytes();
    let (mut lines, mut start, mut i) = (Vec::new(), 0, 0);
    while i < bytes.len() {
        let size = match bytes[i] {
            b'\r' if bytes.get(i + 1) == Some(&b'\n') => 2,
            b'\r' | b'\n' => 1,
            _ => 0,
        };
        if size > 0 {
            lines.push((start, i));
            start = i + size;
        }
        i += size.max(1);
    }
    lines.push((start, bytes.len()));
    lines
}

fn model_offset(s: &str, p: Position, enc: Enc) -> usize {
    let lines = model_lines(s);
    let Some(&(start, end)) = lines.get(p.line as usize) else {
        return s.len();
    };
    let mut units = 0;
    for (i, c) in s[start..end].char_indices() {
        units += enc.len_of(c.encode_utf8(&mut [0; 4]));
        if units > p.character as usize {
            return start + i;
        }
    }
    end
}

fn model_position(s: &str, mut offset: usize, enc: Enc) -> Position {
    offset = offset.min(s.len());
    while !s.is_char_boundary(offset) {
        offset -= 1;
    }
    let lines = model_lines(s);
    let line = lines.iter().rposition(|l| l.0 <= offset).unwrap_or(0);
    let (start, end) = lines[line];
    Position::new(line as u32, enc.len_of(&s[start..offset.min(end)]) as u32)
}

fn model_point(s: &str, offset: usize) -> Point {
    let before = &s[..offset];
    let row = before.matches('\n').count() as u32;
    Point { row, column: (offset - before.rfind('\n').map_or(0, |i| i + 1)) as u32 }
}

fn piece() -> impl Strategy<Value = String> {
    let atom = prop_oneof![
        4 => Just("\r\n"), 3 => Just("\n"), 3 => Just("\r"), 3 => Just("𝒳"), 2 => Just("é"), 2 => Just("€"),
        1 => Just("\u{2028}"), 1 => Just("\u{b}"), 6 => Just("a"), 2 => Just("for (;;) "),
    ];
    prop::collection::vec(atom, 0..12).prop_map(|v| v.concat())
}

/// Long enough for a rope of several nodes.
fn document() -> impl Strategy<Value = String> {
    (prop::collection::vec(piece(), 0..8), 0..60usize)
        .prop_map(|(p, n)| format!("{}{}", p.concat().repeat(n), p.concat()))
}

fn encoding() -> impl Strategy<Value = Enc> {
    prop::sample::select(Enc::ALL.to_vec())
}

fn position() -> impl Strategy<Value = Position> {
    (prop_oneof![0..6u32, 0..400u32, Just(u32::MAX)], prop_oneof![0..9u32, Just(u32::MAX)])
        .prop_map(|(l, c)| Position::new(l, c))
}

fn floor(s: &str, at: usize) -> usize {
    (0..=at.min(s.len())).rev().find(|i| s.is_char_boundary(*i)).unwrap_or(0)
}

/// A set of edits of `s` out of random numbers.
fn edits_of(s: &str, seeds: &[(usize, usize, String)]) -> EditSet {
    let mut cuts: Vec<usize> = seeds
        .iter()
        .flat_map(|(a, b, _)| [floor(s, a % (s.len() + 1)), floor(s, b % (s.len() + 1))])
        .collect();
    cuts.sort_unstable();
    let spans = cuts.chunks(2).map(|c| Span::new(c[0], c[1]));
    let edits: Vec<Edit> = spans.zip(seeds).map(|(span, seed)| Edit::replace(span, seed.2.clone())).collect();
    EditSet::new(edits).expect("sorted spans do not overlap")
}

fn seeds() -> impl Strategy<Value = Vec<(usize, usize, String)>> {
    prop::collection::vec((any::<usize>(), any::<usize>(), piece()), 0..6)
}

fn model_apply(s: &str, set: &EditSet) -> String {
    let (mut out, mut done) = (String::new(), 0);
    for e in set.edits() {
        out.push_str(&s[done..e.span.start as usize]);
        out.push_str(&e.text);
        done = e.span.end as usize;
    }
    out + &s[done..]
}

fn same(text: &Text, s: &str) {
    assert_eq!(text.to_string(), s);
    assert_eq!(text.hash(), Text::new(s).expect("small").hash());
    let lines = model_lines(s);
    assert_eq!(text.line_count() as usize, lines.len());
    for (i, (start, end)) in lines.iter().enumerate() {
        assert_eq!(text.line_span(i as u32), Some(Span::new(*start, *end)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn positions_agree_with_the_model(s in document(), p in position(), offset in 0..900u32, enc in encoding()) {
        let text = Text::new(&s).expect("small");
        prop_assert_eq!(text.offset_of(p, enc) as usize, model_offset(&s, p, enc));
        prop_assert_eq!(text.position_of(offset, enc), model_position(&s, offset as usize, enc));
        let inside = floor(&s, offset as usize);
        prop_assert_eq!(text.point_of(offset), model_point(&s, inside));
        prop_assert_eq!(text.floor_char_boundary(offset) as usize, inside);
    }

    #[test]
    fn incremental_is_fresh(
        s in document(),
        changes in prop::collection::vec((position(), position(), piece(), any::<u8>()), 1..25),
        enc in encoding(),
    ) {
        let (mut text, mut model) = (Text::new(&s).expect("small"), s);
        for (a, b, new, kind) in changes {
            let (snapshot, before) = (text.clone(), model.clone());
            let range = (kind > 20).then_some(PositionRange::new(a, b));
            let (x, y) = match range {
                Some(_) => (model_offset(&model, a, enc), model_offset(&model, b, enc)),
                None => (0, model.len()),
            };
            model.replace_range(x.min(y)..x.max(y), &new);
            let applied = text.apply_lsp_change(range, &new, enc).expect("small");
            same(&applied.text, &model);
            prop_assert_eq!(&snapshot.to_string(), &before, "snapshots stay");
            if let (Some(edit), Some(p)) = (&applied.edit, applied.points) {
                prop_assert_eq!(model_apply(&before, &EditSet::one(edit.clone())), model.clone());
                prop_assert_eq!(p.start, model_point(&before, p.start_byte as usize));
                prop_assert_eq!(p.old_end, model_point(&before, p.old_end_byte as usize));
                prop_assert_eq!(p.new_end, model_point(&model, p.new_end_byte as usize));
            } else {
                prop_assert_eq!(&before, &model);
            }
            text = applied.text;
        }
    }

    #[test]
    fn sets_apply_compose_and_undo(s in document(), first in seeds(), second in seeds()) {
        let text = Text::new(&s).expect("small");
        let a = edits_of(&s, &first);
        let middle = model_apply(&s, &a);
        let applied = a.apply(&text).expect("fits");
        same(&applied, &middle);
        prop_assert_eq!(&a.inverse(&text).expect("fits").apply(&applied).expect("fits"), &text);
        let b = edits_of(&middle, &second);
        let end = model_apply(&middle, &b);
        let both = a.compose(&b).expect("boundaries");
        prop_assert_eq!(both.apply(&text).expect("fits").to_string(), end);
        prop_assert!(EditSet::new(both.edits().to_vec()).is_ok_and(|set| set == both), "composed sets are sets");
        // what is carried and not changed is the same text
        for at in (0..s.len()).step_by(7) {
            let span = Span::new(floor(&s, at), floor(&s, at + 5));
            let mapped = a.map_span(span);
            if !mapped.changed && !span.is_empty() {
                prop_assert_eq!(applied.slice(mapped.span), text.slice(span));
            }
            prop_assert!(a.map_offset(span.start, Side::Before) <= a.map_offset(span.start, Side::After));
        }
    }

    #[test]
    fn an_editor_does_the_same(s in document(), set in seeds(), enc in encoding()) {
        let text = Text::new(&s).expect("small");
        let set = edits_of(&s, &set);
        let shown = set.to_positions(&text, enc).expect("fits");
        // an editor turns positions of the old text into places, and applies them from the back
        let mut done = s.clone();
        for e in shown.iter().rev() {
            let (a, b) = (model_offset(&s, e.range.start, enc), model_offset(&s, e.range.end, enc));
            done.replace_range(a..b, &e.text);
        }
        prop_assert_eq!(done, model_apply(&s, &set));
    }

    #[test]
    fn the_difference_is_one_edit(a in document(), b in document(), cut in any::<usize>(), new in piece()) {
        let mut near = a.clone();
        near.insert_str(floor(&a, cut % (a.len() + 1)), &new);
        for b in [b, near] {
            let text = Text::new(&a).expect("small");
            match text.difference(&b) {
                None => prop_assert_eq!(&a, &b),
                Some(edit) => prop_assert_eq!(EditSet::one(edit).apply(&text).expect("fits").to_string(), b),
            }
        }
    }
}
