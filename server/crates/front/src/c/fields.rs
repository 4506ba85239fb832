//! Children by field, with the grammar's field numbers looked up once.

use std::num::NonZeroU16;
use std::sync::OnceLock;

use rustc_hash::FxHashMap;
use tree_sitter::Node;

const NAMES: [&str; 20] = [
    "alternative",
    "argument",
    "arguments",
    "body",
    "condition",
    "consequence",
    "declarator",
    "field",
    "function",
    "index",
    "initializer",
    "label",
    "left",
    "name",
    "operator",
    "parameters",
    "right",
    "size",
    "type",
    "value",
];

/// The child in a field of the grammar.
pub(super) fn part_of<'t>(node: Node<'t>, name: &str) -> Option<Node<'t>> {
    static IDS: OnceLock<FxHashMap<&'static str, NonZeroU16>> = OnceLock::new();
    let ids = IDS.get_or_init(|| {
        let language: tree_sitter::Language = tree_sitter_c::LANGUAGE.into();
        NAMES.iter().filter_map(|n| Some((*n, language.field_id_for_name(n)?))).collect()
    });
    match ids.get(name) {
        Some(id) => node.child_by_field_id(id.get()),
        None => node.child_by_field_name(name),
    }
}
