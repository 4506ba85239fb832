//! `cargo xtask codegen`: files written from the server's own description of itself, so that they cannot differ from it.
//!
//! Today: the settings in the extension's `package.json` and in `docs/settings.md`, both from the schema that the hidden
//! command `warpwright settings-schema` prints; and `docs/contract.md`, which `warpwright contract` prints. `--check` writes nothing and names what is stale.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use anyhow::{bail, ensure, Context, Result};
use serde_json::{Map, Value};

use crate::program::{self, Profile};
use crate::sh;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Write,
    Check,
}

const PACKAGE: &str = "vscode-extension/package.json";
const REFERENCE: &str = "docs/settings.md";
const CONTRACT: &str = "docs/contract.md";
/// The setting of the extension itself that names a program; settings of the server that name one are added to it.
const OWN_RESTRICTED: &str = "warpwright.server.path";

pub fn run(mode: Mode) -> Result<()> {
    let program = program::build(Profile::Debug)?;
    let settings = settings(&program)?;
    let package = fs::read_to_string(sh::root().join(PACKAGE)).context(PACKAGE)?;
    let files = [
        (PACKAGE, package_json(&package, &settings)?),
        (REFERENCE, reference(&settings)?),
        (CONTRACT, contract(&program)?),
    ];
    let mut stale = Vec::new();
    for (name, text) in files {
        let path = sh::root().join(name);
        if fs::read_to_string(&path).is_ok_and(|old| old == text) {
            continue;
        }
        stale.push(name);
        if mode == Mode::Write {
            fs::write(&path, text).with_context(|| format!("writing {name}"))?;
            println!("written: {name}");
        }
    }
    if mode == Mode::Check && !stale.is_empty() {
        bail!("stale: {}; run `cargo xtask codegen`", stale.join(", "));
    }
    if stale.is_empty() {
        println!("generated files are fresh");
    }
    Ok(())
}

fn contract(program: &PathBuf) -> Result<String> {
    let printed = sh::output(program::command(program).arg("contract"))?;
    ensure!(printed.status.success(), "`warpwright contract` failed");
    String::from_utf8(printed.stdout).context("`warpwright contract` prints no UTF-8")
}

fn settings(program: &PathBuf) -> Result<Map<String, Value>> {
    let printed = sh::output(program::command(program).arg("settings-schema"))?;
    let said = String::from_utf8_lossy(&printed.stderr).into_owned();
    ensure!(printed.status.success(), "`warpwright settings-schema` failed: {said}");
    let schema: Value =
        serde_json::from_slice(&printed.stdout).context("`warpwright settings-schema` prints no JSON")?;
    schema["properties"].as_object().cloned().context("the settings' schema has no properties")
}

/// The extension's manifest with the settings' section and the list of restricted settings replaced. The rest of the file
/// is kept as people wrote it, to the byte.
fn package_json(old: &str, settings: &Map<String, Value>) -> Result<String> {
    let mut section = Map::new();
    for (order, (name, schema)) in settings.iter().enumerate() {
        section.insert(name.clone(), for_vscode(name, schema, order));
    }
    let restricted: Vec<Value> = std::iter::once(OWN_RESTRICTED.to_owned())
        .chain(settings.iter().filter(|(_, schema)| is_restricted(schema)).map(|(name, _)| name.clone()))
        .map(Value::String)
        .collect();
    let text =
        replace_value(old, &["\"title\": \"Analysis\"", "\"properties\":"], &Value::Object(section), 8)?;
    let text = replace_value(&text, &["\"restrictedConfigurations\":"], &Value::Array(restricted), 6)?;
    serde_json::from_str::<Value>(&text).context("the new package.json is no JSON")?;
    Ok(text)
}

/// A setting that names a file to load or run: a folder that is not trusted must not set it.
fn is_restricted(schema: &Value) -> bool {
    schema["description"].as_str().is_some_and(|words| words.starts_with("Absolute path"))
}

/// What is one for all documents; other settings may differ from folder to folder of a workspace.
const OF_THE_WINDOW: [&str; 2] = ["warpwright.analysis.idleDelay", "warpwright.outline"];

/// What only the user says, in no workspace.
const OF_THE_MACHINE: [&str; 1] = ["warpwright.hosts"];

fn for_vscode(name: &str, schema: &Value, order: usize) -> Value {
    let restricted = is_restricted(schema);
    let mut out = Map::new();
    for (key, value) in schema.as_object().into_iter().flatten() {
        match key.as_str() {
            // Headings are made from the setting's name; the words are Markdown.
            // Number formats are Rust's, not JSON schema's.
            "title" | "format" => {}
            "description" => {
                let words = value.as_str().unwrap_or_default().replace('\n', " ");
                out.insert("markdownDescription".to_owned(), Value::from(words));
            }
            _ => drop(out.insert(key.clone(), value.clone())),
        }
    }
    out.insert("order".to_owned(), Value::from(order + 1));
    let scope = match (restricted || OF_THE_MACHINE.contains(&name), schema["description"].as_str()) {
        // what is started is no folder's to say, trusted or not
        (true, Some(words)) if words.contains("is never run") => "machine",
        (true, _) if OF_THE_MACHINE.contains(&name) => "machine",
        (true, _) => "machine-overridable",
        _ if OF_THE_WINDOW.contains(&name) => "window",
        _ => "resource",
    };
    out.insert("scope".to_owned(), Value::from(scope));
    Value::Object(out)
}

/// Replaces the JSON value that follows the marks (found one after the other) by `value`, indented for its column.
fn replace_value(text: &str, marks: &[&str], value: &Value, indent: usize) -> Result<String> {
    let mut at = 0;
    for mark in marks {
        let rest = text.get(at..).unwrap_or_default();
        at += rest.find(mark).with_context(|| format!("{PACKAGE} has no `{mark}` where it should"))?
            + mark.len();
    }
    let (before, rest) = text.split_at(at);
    let spaces = rest.len() - rest.trim_start().len();
    let mut values = serde_json::Deserializer::from_str(rest.trim_start()).into_iter::<Value>();
    values.next().with_context(|| format!("{PACKAGE} has no value after {marks:?}"))??;
    let after = rest.get(spaces + values.byte_offset()..).unwrap_or_default();
    let pretty = serde_json::to_string_pretty(value)?.replace('\n', &format!("\n{}", " ".repeat(indent)));
    Ok(format!("{before} {pretty}{after}"))
}

fn reference(settings: &Map<String, Value>) -> Result<String> {
    let mut out = String::from(
        "<!-- Written by `cargo xtask codegen` from the server's settings type (server/src/settings.rs); do not edit. -->\n\n\
         # Settings\n\n\
         In VS Code each is a setting of that name. Other editors send the object `warpwright` as the server's settings or\n\
         initialization options: `{\"warpwright\": {\"inlayHints\": {\"enable\": false}}}`. What is unknown or of a wrong type is\n\
         reported, and its default is used. The settings of the VS Code extension itself (`warpwright.server.path`,\n\
         `warpwright.trace.server`) are described in its README.\n",
    );
    for (name, schema) in settings {
        let words = |key: &str| schema[key].as_str().with_context(|| format!("{name} has no {key}"));
        writeln!(out, "\n## `{name}`\n")?;
        writeln!(
            out,
            "**{}.** {}\n",
            words("title")?.trim_end_matches('.'),
            words("description")?.trim_end()
        )?;
        writeln!(out, "Type: {}. Default: `{}`.", type_in_words(schema), schema["default"])?;
    }
    Ok(out)
}

fn type_in_words(schema: &Value) -> String {
    if let Some(values) = schema["enum"].as_array() {
        return values.iter().map(|v| format!("`{v}`")).collect::<Vec<_>>().join(", ");
    }
    match schema["type"].as_str() {
        Some("array") => format!("list ({} each)", type_in_words(&schema["items"])),
        Some("object") => match schema.get("additionalProperties") {
            Some(inner) if inner.is_object() => format!("object ({} each)", type_in_words(inner)),
            _ => "object".to_owned(),
        },
        Some("integer") => "whole number".to_owned(),
        Some("boolean") => "`true` or `false`".to_owned(),
        Some(other) => other.to_owned(),
        None => "any".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const OLD: &str = r#"{
  "restrictedConfigurations": ["a"],
  "configuration": [
      {
        "title": "Editor",
        "properties": { "x": "}" }
      },
      {
        "title": "Analysis",
        "properties": { "old": {"description": "\"properties\": {"} }
      }
  ],
  "kept":   [ 1,2 ]
}
"#;

    fn settings() -> Map<String, Value> {
        let all = json!({
            "warpwright.nvrtc": {"type": "string", "title": "NVRTC", "description": "Absolute path of it.", "default": ""},
            "warpwright.hints": {"type": "boolean", "title": "Hints", "description": "Show them.", "default": true},
        });
        all.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn only_the_generated_values_change() {
        let new = package_json(OLD, &settings()).expect("a new manifest");
        assert!(new.contains(r#""properties": { "x": "}" }"#), "{new}");
        assert!(new.contains(r#""kept":   [ 1,2 ]"#), "{new}");
        assert!(!new.contains("old"), "{new}");
        let read: Value = serde_json::from_str(&new).expect("JSON");
        let section = &read["configuration"][1]["properties"];
        assert_eq!(section["warpwright.hints"]["markdownDescription"], "Show them.");
        assert_eq!(section["warpwright.nvrtc"]["scope"], "machine-overridable");
        assert_eq!(section["warpwright.hints"]["scope"], "resource");
        assert_eq!(read["restrictedConfigurations"], json!(["warpwright.server.path", "warpwright.nvrtc"]));
        assert_eq!(package_json(&new, &settings()).expect("again"), new, "a second run changes nothing");
    }

    #[test]
    fn a_setting_without_words_is_refused() {
        let mut all = settings();
        all.insert("warpwright.silent".to_owned(), json!({"type": "string", "default": ""}));
        assert!(reference(&all).is_err());
        assert!(reference(&settings()).expect("a page").contains("## `warpwright.hints`"));
    }
}
