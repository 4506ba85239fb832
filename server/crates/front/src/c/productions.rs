//! Which productions of C's grammar occur in a text: what a judge of verdicts has met. Text is parsed as it stands, without
//! preprocessing; names are tree-sitter-c's. Deliberately absent: any meaning.

use std::collections::BTreeMap;

/// How often each named production occurs, and how often each attribute (`attribute packed`).
pub fn productions(text: &str) -> BTreeMap<String, usize> {
    let mut out = BTreeMap::new();
    let mut parser = tree_sitter::Parser::new();
    if parser.set_language(&tree_sitter_c::LANGUAGE.into()).is_err() {
        return out;
    }
    let Some(tree) = parser.parse(text, None) else { return out };
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        if node.is_named() && !node.is_error() {
            *out.entry(node.kind().to_owned()).or_default() += 1;
            let within = node.parent().map(|p| p.kind());
            if within == Some("argument_list")
                && node.parent().and_then(|p| p.parent()).is_some_and(|p| p.kind() == "attribute_specifier")
            {
                let name = node
                    .utf8_text(text.as_bytes())
                    .unwrap_or("")
                    .split('(')
                    .next()
                    .unwrap_or("")
                    .trim()
                    .to_owned();
                *out.entry(format!("attribute {name}")).or_default() += 1;
            }
        }
        if cursor.goto_first_child() || cursor.goto_next_sibling() {
            continue;
        }
        loop {
            if !cursor.goto_parent() {
                return out;
            }
            if cursor.goto_next_sibling() {
                break;
            }
        }
    }
}

/// All named productions of the grammar.
pub fn all_productions() -> Vec<String> {
    let language: tree_sitter::Language = tree_sitter_c::LANGUAGE.into();
    let kinds = 0..language.node_kind_count() as u16;
    let named = kinds.filter(|&k| language.node_kind_is_named(k) && language.node_kind_is_visible(k));
    let mut out: Vec<String> =
        named.filter_map(|k| language.node_kind_for_id(k)).map(str::to_owned).collect();
    out.sort();
    out.dedup();
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn productions_and_attributes_are_counted() {
        let met = productions("struct __attribute__((packed, aligned(4))) P { int x; };\nvoid f(int n) { do n--; while (n); }\n");
        assert_eq!(met.get("do_statement"), Some(&1));
        assert_eq!(met.get("attribute packed"), Some(&1));
        assert_eq!(met.get("attribute aligned"), Some(&1));
        assert!(all_productions().contains(&"gnu_asm_expression".to_owned()));
    }
}
