//! Lines, positions and slices, each as the Language Server Protocol says it.

use text::{
    Edit, EditError, EditSet, LineEnding, Point, Position, PositionEncoding as Enc, PositionRange, Span,
    Text, TextError,
};

fn t(s: &str) -> Text {
    Text::new(s).expect("small")
}

fn at(line: u32, character: u32) -> Position {
    Position::new(line, character)
}

#[test]
fn only_three_line_terminators() {
    // vertical tab, form feed, next line, line and paragraph separator end no line
    let text = t("a\u{b}b\u{c}c\u{85}d\u{2028}e\u{2029}f");
    assert_eq!(text.line_count(), 1);
    let text = t("a\nb\r\nc\rd\n\re\r\r\n");
    let lines: Vec<_> = (0..text.line_count()).map(|l| text.line(l).into_owned()).collect();
    assert_eq!(lines, ["a", "b", "c", "d", "", "e", "", ""]);
    assert_eq!(t("").line_count(), 1);
    assert_eq!(t("\n").line_count(), 2);
    assert_eq!(t("x").line_span(1), None);
}

#[test]
fn positions_past_the_end_are_clamped() {
    let text = t("ab\r\nc𝒳é\rz");
    for enc in Enc::ALL {
        assert_eq!(text.offset_of(at(0, 2), enc), 2);
        assert_eq!(text.offset_of(at(0, 3), enc), 2, "before the terminator");
        assert_eq!(text.offset_of(at(0, u32::MAX), enc), 2);
        assert_eq!(text.offset_of(at(1, u32::MAX), enc), 11);
        assert_eq!(text.offset_of(at(2, 9), enc), 13);
        assert_eq!(text.offset_of(at(3, 0), enc), 13);
        assert_eq!(text.offset_of(at(u32::MAX, u32::MAX), enc), 13);
        assert_eq!(text.position_of(u32::MAX, enc), at(2, 1));
        assert_eq!(text.position_of(3, enc), at(0, 2), "between CR and LF is the line's end");
        assert_eq!(text.line_of(3), 0);
        assert_eq!(text.line_of(4), 1);
    }
}

#[test]
fn inside_a_character_is_its_start() {
    let text = t("c𝒳é!");
    assert_eq!(text.offset_of(at(0, 1), Enc::Utf16), 1);
    assert_eq!(text.offset_of(at(0, 2), Enc::Utf16), 1, "middle of the surrogate pair");
    assert_eq!(text.offset_of(at(0, 3), Enc::Utf16), 5);
    for inside in [2, 3, 4] {
        assert_eq!(text.offset_of(at(0, inside), Enc::Utf8), 1);
        assert_eq!(text.position_of(inside, Enc::Utf8), at(0, 1));
    }
    assert_eq!(text.offset_of(at(0, 6), Enc::Utf8), 5);
    assert_eq!(text.offset_of(at(0, 3), Enc::Utf32), 7);
    assert_eq!(text.position_of(7, Enc::Utf16), at(0, 4));
    assert_eq!(text.position_of(7, Enc::Utf32), at(0, 3));
    assert_eq!(text.slice(Span::new(2, 6)), "𝒳");
    assert_eq!(text.slice(Span::new(7, 99)), "!");
}

#[test]
fn names_of_encodings() {
    assert_eq!(Enc::from_name("utf-32"), Some(Enc::Utf32));
    assert_eq!(Enc::from_name("utf-7"), None);
    assert_eq!(Enc::default().name(), "utf-16");
    assert_eq!(Enc::ALL.map(|e| e.len_of("a𝒳é")), [7, 3, 4]);
}

#[test]
fn indentation_and_line_endings() {
    let text = t("\t  for (;;)\r\n    \r\nx");
    assert_eq!(text.indentation_of(0), "\t  ");
    assert_eq!(text.indentation_of(1), "    ");
    assert_eq!(text.indentation_of(2), "");
    assert_eq!(text.indentation_of(7), "");
    assert_eq!(text.line_ending(), LineEnding::CrLf);
    assert_eq!(t("a\rb\rc\n").line_ending(), LineEnding::Cr);
    assert_eq!(t("a\nb\r\n").line_ending(), LineEnding::Lf);
    assert_eq!(t("a").line_ending(), LineEnding::Lf);
}

#[test]
fn hashes_ignore_places_and_chunks() {
    let long = "for (int i = 0; i < n; i++) { a[i] = b[i]; }\n".repeat(500);
    let (a, b) = (t(&format!("// one\n{long}")), t(&format!("{long}// two")));
    let span = Span::new(0, long.len());
    assert_eq!(a.hash_of(span.shifted(7)), b.hash_of(span));
    assert_eq!(t(&long).hash(), b.hash_of(span));
    assert_ne!(a.hash(), b.hash());
    assert_eq!(a.hash(), text::ContentHash::of(&a.to_string()));
    // the same on every machine and in every version: memos on disk rest on it
    assert_eq!(format!("{:?}", t("abc").hash()), "#f62f6f431c20d2cd64b4eeb45bb5ba18");
}

#[test]
fn chunks_are_the_text() {
    let s = "x𝒳\r\n".repeat(3000);
    let text = t(&s);
    let mut read = Vec::new();
    while !text.chunk_at(read.len() as u32).is_empty() {
        read.extend_from_slice(text.chunk_at(read.len() as u32));
    }
    assert_eq!(read, s.as_bytes());
    assert_eq!(text.chunk_at(u32::MAX), b"");
    assert_eq!(text.chunk_at(3), &s.as_bytes()[3..3 + text.chunk_at(3).len()], "inside a character");
}

#[test]
fn too_large_is_a_value() {
    assert_eq!(Text::with_limit("abcd", 3).err(), Some(TextError::TooLarge { bytes: 4, limit: 3 }));
    let text = Text::with_limit("abc", 4).expect("fits");
    let one = text.apply_lsp_change(None, "abcd", Enc::Utf8).expect("fits").text;
    assert_eq!(one.limit(), 4);
    let two = one.apply_lsp_change(Some(PositionRange::default()), "x", Enc::Utf8);
    assert_eq!(two.err(), Some(EditError::Text(TextError::TooLarge { bytes: 5, limit: 4 })));
    assert_eq!(one.to_string(), "abcd");
}

#[test]
fn rows_end_at_line_feeds_only() {
    let text = t("a\rb\r\nc");
    assert_eq!(text.line_of(5), 2);
    assert_eq!(text.point_of(5), Point { row: 1, column: 0 });
    assert_eq!(text.point_of(2), Point { row: 0, column: 2 });
    // making a lone CR by an edit switches to counting
    let text = t("a\r\nb");
    assert_eq!(text.point_of(3), Point { row: 1, column: 0 });
    let cut = EditSet::one(Edit::delete(Span::new(2, 3))).apply(&text).expect("fits");
    assert_eq!(cut.line_count(), 2);
    assert_eq!(cut.point_of(2), Point { row: 0, column: 2 });
}

#[test]
fn editing_in_the_middle_of_a_crlf() {
    let text = t("a\r\nb");
    let split = EditSet::one(Edit::insert(2, "x")).apply(&text).expect("fits");
    assert_eq!(split.to_string(), "a\rx\nb");
    assert_eq!(split.line_count(), 3);
    let joined = EditSet::one(Edit::delete(Span::new(2, 3))).apply(&split).expect("fits");
    assert_eq!(joined, text);
    assert_eq!(joined.line_count(), 2);
    // no position names that place: for an editor the edit is widened
    let set = EditSet::one(Edit::insert(2, "x"));
    let shown = set.to_positions(&text, Enc::Utf16).expect("fits");
    assert_eq!(shown.len(), 1);
    assert_eq!(shown[0].range, PositionRange::new(at(0, 1), at(1, 0)));
    assert_eq!(shown[0].text, "\rx\n");
}

#[test]
fn a_whole_text_becomes_the_part_that_differs() {
    let text = t("int a;\nint b;\nint c;\n");
    let applied = text.apply_lsp_change(None, "int a;\nint xb;\nint c;\n", Enc::Utf16).expect("fits");
    assert_eq!(applied.edit, Some(Edit::insert(11, "x")));
    let points = applied.points.expect("changed");
    assert_eq!(points.new_end, Point { row: 1, column: 5 });
    assert!(text.apply_lsp_change(None, &text.to_string(), Enc::Utf8).expect("same").edit.is_none());
    // é (C3 A9) and ã (C3 A3) share a byte, and so do é and ũ (C5 A9); neither is cut
    assert_eq!(t("é").difference("ã"), Some(Edit::replace(Span::new(0, 2), "ã")));
    assert_eq!(t("aéb").difference("aũb"), Some(Edit::replace(Span::new(1, 3), "ũ")));
    assert_eq!(t("aa").difference("aaa"), Some(Edit::insert(2, "a")));
}

#[test]
fn overlap_names_the_two() {
    let edits =
        vec![Edit::insert(9, "z"), Edit::delete(Span::new(4, 8)), Edit::replace(Span::new(0, 5), "x")];
    let error = EditSet::new(edits).expect_err("overlap");
    assert_eq!(
        error,
        EditError::Overlap { first: 2, second: 1, first_span: Span::new(0, 5), second_span: Span::new(4, 8) }
    );
    assert!(error.to_string().contains("edit 1 (4..8)"), "{error}");
    let inside = vec![Edit::insert(3, "z"), Edit::delete(Span::new(2, 4))];
    assert!(matches!(EditSet::new(inside), Err(EditError::Overlap { first: 1, second: 0, .. })));
    let same = vec![Edit::delete(Span::new(2, 4)), Edit::delete(Span::new(2, 4))];
    assert!(matches!(EditSet::new(same), Err(EditError::Overlap { .. })));
}

#[test]
fn insertions_at_one_place_keep_their_order() {
    let edits = vec![
        Edit::insert(2, "1"),
        Edit::replace(Span::new(2, 3), "C"),
        Edit::insert(2, "2"),
        Edit::insert(3, "3"),
        Edit::delete(Span::new(0, 1)),
    ];
    let set = EditSet::new(edits).expect("no overlap");
    assert_eq!(set.apply(&t("abcd")).expect("fits").to_string(), "b12C3d");
}

#[test]
fn edits_that_do_not_fit_are_refused() {
    let text = t("a𝒳");
    let apply = |span| EditSet::one(Edit::delete(span)).apply(&text);
    assert_eq!(apply(Span::new(0, 9)).err(), Some(EditError::OutOfRange { span: Span::new(0, 9), len: 5 }));
    let cut = Span::new(0, 3);
    assert_eq!(apply(cut).err(), Some(EditError::InsideCharacter { span: cut, character: 1 }));
    let reversed = Edit::delete(Span { start: 3, end: 1 });
    assert!(matches!(EditSet::new(vec![reversed]), Err(EditError::OutOfRange { .. })));
    let first = EditSet::one(Edit::insert(0, "é"));
    let second = EditSet::one(Edit::insert(1, "x"));
    assert!(matches!(first.compose(&second), Err(EditError::InsideCharacter { character: 0, .. })));
}

#[test]
fn spans_are_carried() {
    let set = EditSet::new(vec![
        Edit::insert(4, "12"),
        Edit::replace(Span::new(10, 14), "x"),
        Edit::delete(Span::new(20, 24)),
    ])
    .expect("no overlap");
    let map = |a, b| {
        let m = set.map_span(Span::new(a, b));
        (m.span.start, m.span.end, m.changed)
    };
    assert_eq!(map(0, 3), (0, 3, false));
    assert_eq!(map(4, 8), (6, 10, false), "an insertion at the start stays outside");
    assert_eq!(map(2, 4), (2, 4, false), "and at the end");
    assert_eq!(map(2, 6), (2, 8, true));
    assert_eq!(map(10, 14), (12, 13, true), "replaced as a whole");
    assert_eq!(map(11, 13), (12, 13, true), "inside what was replaced");
    assert_eq!(map(8, 12), (10, 12, true));
    assert_eq!(map(12, 16), (13, 15, true));
    assert_eq!(map(20, 24), (19, 19, true), "deleted");
    assert_eq!(map(4, 4), (4, 4, false), "an empty span stays before");
    assert_eq!(map(30, 31), (25, 26, false));
}
