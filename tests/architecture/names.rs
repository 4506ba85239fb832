//! Names that once were those of several types, each for another thing.

use super::{product, product_sources};
use std::collections::BTreeMap;

/// Each is the name of one type of these rooms now, or of none: what else one would call so has a name that says more.
const NAMES: [&str; 5] = ["Access", "Found", "Frame", "Object", "Place"];
const ROOMS: [&str; 3] = ["analysis", "simulate", "ide"];

#[test]
fn a_name_means_one_thing() {
    let mut declared: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (path, text) in product_sources() {
        if !ROOMS.iter().any(|r| path.starts_with(&format!("server/crates/{r}/src/"))) {
            continue;
        }
        for line in product(&text).lines() {
            // what a trait or an implementation calls so is indented
            let words: Vec<&str> =
                line.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|w| !w.is_empty()).collect();
            let at = words.iter().position(|w| ["struct", "enum", "type", "trait"].contains(w));
            let is_declaration = line.starts_with(|c: char| c.is_ascii_lowercase());
            let Some(name) = at.filter(|_| is_declaration).and_then(|at| words.get(at + 1)) else { continue };
            if let Some(name) = NAMES.iter().find(|n| *n == name) {
                declared.entry(name).or_default().push(path.clone());
            }
        }
    }
    assert!(declared.contains_key("Object"), "{declared:?}");
    declared.retain(|_, paths| paths.len() > 1);
    assert!(declared.is_empty(), "name them by what they are: {declared:#?}");
}
