//! Texts to trees, from scratch and after edits.

use crate::limits::csharp::MAX_ROUNDS;
use tree_sitter::{InputEdit, Node, Parser, Point, Tree};

/// What reading a text gives.
pub(crate) struct Read {
    /// `None`: the parser gave up.
    pub tree: Option<Tree>,
}

fn parser() -> Option<Parser> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_c_sharp::LANGUAGE.into()).ok()?;
    Some(parser)
}

pub(crate) fn read(text: &str) -> Read {
    let tree = parser().and_then(|mut p| p.parse(text, None));
    Read { tree: tree.map(|t| settled(t, text)) }
}

/// The tree with what the grammar takes for a cast, `(n) - 1`, as the difference that it is (C# 12.9.7): such parentheses are
/// shown to the parser as the sign `~`, which binds as tightly. Who reads that sign finds a parenthesis in the text.
fn settled(mut tree: Tree, text: &str) -> Tree {
    let mut shown = String::new();
    for _ in 0..MAX_ROUNDS {
        let found = no_casts(tree.root_node(), text);
        if found.is_empty() {
            break;
        }
        if shown.is_empty() {
            shown = text.to_owned();
        }
        for (open, close) in found {
            for (at, sign) in [(open, "~"), (close, " ")] {
                shown.replace_range(at..at + 1, sign);
                let place = point(text.as_bytes(), at);
                let behind = Point { column: place.column + 1, ..place };
                tree.edit(&InputEdit {
                    start_byte: at,
                    old_end_byte: at + 1,
                    new_end_byte: at + 1,
                    start_position: place,
                    old_end_position: behind,
                    new_end_position: behind,
                });
            }
        }
        match parser().and_then(|mut p| p.parse(&shown, Some(&tree))) {
            Some(again) => tree = again,
            None => break,
        }
    }
    tree
}

/// The parentheses of what is no cast: a name or an element in them, and behind them a sign that also stands between operands.
fn no_casts(root: Node<'_>, text: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    walk(root, |node| {
        if node.kind() != "cast_expression" {
            return true;
        }
        let (Some(ty), Some(value)) = (node.child_by_field_name("type"), node.child_by_field_name("value"))
        else {
            return true;
        };
        // also where it is the first word of a longer operand: `(n) * Math.Abs(m)`
        let between = text.as_bytes().get(value.start_byte()).is_some_and(|s| b"-+&*^".contains(s));
        let close = (ty.end_byte()..value.start_byte()).find(|&k| text.as_bytes().get(k) == Some(&b')'));
        if let (true, true, Some(close)) = (between, is_operand(ty), close) {
            found.push((node.start_byte(), close));
        }
        true
    });
    found
}

/// Whether what stands as a type may as well be an operand: no type has a keyword's name then, and no array type a number.
fn is_operand(ty: Node<'_>) -> bool {
    match ty.kind() {
        "identifier" | "qualified_name" => true,
        "array_type" => {
            let rank = ty.child_by_field_name("rank").map(children).unwrap_or_default();
            !rank.is_empty() && ty.child_by_field_name("type").is_some_and(is_operand)
        }
        _ => false,
    }
}

/// The tree of a text that was made of an earlier one. A tree without faults is the same however it came about; where there
/// are faults the parser's guesses depend on the way, so that it begins anew.
pub(crate) fn reread((before, earlier): (&str, &Read), text: &str) -> Read {
    let again = || {
        let mut tree = earlier.tree.as_ref().filter(|t| !t.root_node().has_error())?.clone();
        tree.edit(&edit(before, text));
        let tree = parser()?.parse(text, Some(&tree)).map(|t| settled(t, text));
        tree.filter(|t| !t.root_node().has_error())
    };
    match again() {
        Some(tree) => Read { tree: Some(tree) },
        None => read(text),
    }
}

/// The one replacement that makes `after` of `before`.
fn edit(before: &str, after: &str) -> InputEdit {
    let (a, b) = (before.as_bytes(), after.as_bytes());
    let shorter = a.len().min(b.len());
    let mut start = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    while !before.is_char_boundary(start) || !after.is_char_boundary(start) {
        start -= 1;
    }
    let behind = a.iter().rev().zip(b.iter().rev()).take(shorter - start).take_while(|(x, y)| x == y).count();
    let (mut old_end, mut new_end) = (a.len() - behind, b.len() - behind);
    while !before.is_char_boundary(old_end) || !after.is_char_boundary(new_end) {
        old_end += 1;
        new_end += 1;
    }
    InputEdit {
        start_byte: start,
        old_end_byte: old_end,
        new_end_byte: new_end,
        start_position: point(a, start),
        old_end_position: point(a, old_end),
        new_end_position: point(b, new_end),
    }
}

fn point(bytes: &[u8], at: usize) -> Point {
    let before = bytes.get(..at).unwrap_or(bytes);
    let row = before.iter().filter(|&&b| b == b'\n').count();
    let line = before.iter().rposition(|&b| b == b'\n').map_or(0, |n| n + 1);
    Point { row, column: before.len() - line }
}

/// Whether a loop begins so.
pub(crate) fn is_loop(kind: &str) -> bool {
    matches!(kind, "for_statement" | "foreach_statement" | "while_statement" | "do_statement")
}

/// Where the first word of a loop stands in a piece of text. The piece need not be a whole program: words are enough.
pub(crate) fn first_loop(text: &str) -> Option<usize> {
    let read = read(text);
    let mut found = None;
    walk(read.tree.as_ref()?.root_node(), |node| {
        let is_word = !node.is_named() && matches!(node.kind(), "for" | "foreach" | "while" | "do");
        // in faulty text words are no statements
        let is_name = node.kind() == "identifier"
            && text.get(node.byte_range()).is_some_and(|w| matches!(w, "for" | "foreach" | "while" | "do"));
        if found.is_none() && (is_word || is_name) && node.end_byte() > node.start_byte() {
            found = Some(node.start_byte());
        }
        found.is_none()
    });
    found
}

/// Visits nodes, parents first; what `visit` says no to is not entered. Not recursive: depth costs no stack.
pub(crate) fn walk<'t>(root: Node<'t>, mut visit: impl FnMut(Node<'t>) -> bool) {
    let mut cursor = root.walk();
    loop {
        if visit(cursor.node()) && cursor.goto_first_child() {
            continue;
        }
        loop {
            if cursor.node() == root {
                return;
            }
            if cursor.goto_next_sibling() {
                break;
            }
            if !cursor.goto_parent() {
                return;
            }
        }
    }
}

/// The named children of a node, comments left out.
pub(crate) fn children<'t>(node: Node<'t>) -> Vec<Node<'t>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).filter(|n| !is_aside(*n)).collect()
}

/// What stands between the words of the language and is none of them.
pub(crate) fn is_aside(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "comment" | "preproc_region" | "preproc_endregion" | "preproc_pragma" | "preproc_nullable"
    )
}

/// The first child of this kind.
pub(crate) fn child<'t>(node: Node<'t>, kind: &str) -> Option<Node<'t>> {
    children(node).into_iter().find(|c| c.kind() == kind)
}
