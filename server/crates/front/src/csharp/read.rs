//! Texts to trees, from scratch and after edits.

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
    Read { tree: parser().and_then(|mut p| p.parse(text, None)) }
}

/// The tree of a text that was made of an earlier one. A tree without faults is the same however it came about; where there
/// are faults the parser's guesses depend on the way, so that it begins anew.
pub(crate) fn reread((before, earlier): (&str, &Read), text: &str) -> Read {
    let again = || {
        let mut tree = earlier.tree.as_ref().filter(|t| !t.root_node().has_error())?.clone();
        tree.edit(&edit(before, text));
        parser()?.parse(text, Some(&tree)).filter(|t| !t.root_node().has_error())
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
