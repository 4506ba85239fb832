//! The contract as a page and as one schema, made from the types.

use std::fmt::Write;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{json, Map, Value};

/// Who gets an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Asker {
    CommandLine,
    Editor,
}

/// Something that is said or asked.
pub struct Answer {
    pub asker: Asker,
    /// The command with its options, or the editor's command or request.
    pub name: &'static str,
    /// The type's name in the schema.
    pub type_name: String,
}

struct Table {
    generator: SchemaGenerator,
    answers: Vec<Answer>,
}

impl Table {
    fn add<T: JsonSchema>(&mut self, asker: Asker, name: &'static str) {
        self.generator.subschema_for::<T>();
        self.answers.push(Answer { asker, name, type_name: T::schema_name().into_owned() });
    }
}

fn table() -> Table {
    use Asker::{CommandLine, Editor};
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut t = Table { generator, answers: Vec::new() };
    t.add::<crate::Analysis>(CommandLine, "analyze");
    t.add::<crate::Offloading>(CommandLine, "offload");
    t.add::<crate::OffloadingOfFiles>(CommandLine, "offload FILES");
    t.add::<crate::Verification>(CommandLine, "verify");
    t.add::<crate::VerificationOfFiles>(CommandLine, "verify FILES");
    t.add::<crate::Profile>(CommandLine, "profile");
    t.add::<crate::Hosts>(CommandLine, "hosts");
    t.add::<crate::Ran>(CommandLine, "run");
    t.add::<crate::Simulation>(CommandLine, "simulate");
    t.add::<crate::Transformation>(CommandLine, "transform NAME");
    t.add::<crate::Transformations>(CommandLine, "transform --list");
    t.add::<crate::RulesApplication>(CommandLine, "rules apply");
    t.add::<crate::RulesApplicationToFiles>(CommandLine, "rules apply FILES");
    t.add::<crate::RulesCheck>(CommandLine, "rules check");
    t.add::<crate::RulesList>(CommandLine, "rules list");
    t.add::<crate::Shown>(CommandLine, "show");
    t.add::<crate::Explanation>(CommandLine, "explain CODE");
    t.add::<crate::Codes>(CommandLine, "explain");
    t.add::<crate::Bench>(CommandLine, "bench");
    t.add::<crate::ServerContract>(Editor, "initialize (experimental.warpwright)");
    t.add::<crate::Target>(Editor, "the argument of every command");
    t.add::<crate::ActionData>(Editor, "the data of a code action");
    t.add::<crate::EditApplied>(Editor, "warpwright.offload, .mark, .unmark, .transform");
    t.add::<crate::FilesEdited>(Editor, "warpwright.offload, .mark with files");
    t.add::<crate::FullyAnalyzed>(Editor, "warpwright.analyzeFully");
    t.add::<crate::Text>(Editor, "warpwright.explain, .simulate");
    t.add::<crate::RulesApplied>(Editor, "warpwright.applyRules");
    t.add::<crate::RuleSystems>(Editor, "warpwright.listRules");
    t.add::<crate::Checks>(Editor, "warpwright.verify");
    t.add::<crate::Profile>(Editor, "warpwright.profile");
    t.add::<crate::LoopShown>(Editor, "warpwright.showDependences");
    t.add::<crate::Page>(Editor, "warpwright.showCallGraph, .showTerms");
    t.add::<crate::DocumentText>(Editor, "warpwright/documentText");
    t.add::<crate::LoopsAsked>(Editor, "the argument of warpwright/loops");
    t.add::<crate::ListedLoops>(Editor, "warpwright/loops");
    t.add::<crate::Panel>(Editor, "warpwright/showPanel");
    t
}

/// All answers, in the order of the page.
pub fn answers() -> Vec<Answer> {
    table().answers
}

/// The schema (JSON Schema 2020-12) of all answers: each is one of `$defs`.
pub fn schema() -> Value {
    let defs = table().generator.take_definitions(true);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Warpwright's contract",
        "version": crate::VERSION,
        "$defs": defs,
    })
}

/// `docs/contract.md`.
pub fn page() -> String {
    let schema = schema();
    let empty = Map::new();
    let defs = schema["$defs"].as_object().unwrap_or(&empty);
    let mut out = format!(
        "<!-- Written by `cargo xtask codegen` from the types of server/crates/wire; do not edit. -->\n\n\
         # What other programs are told\n\n\
         Version {} of the contract. Every command that says something takes `--format json` and prints one JSON value, whose\n\
         `version` is the contract's; a field that goes away or means something else makes a new version, a new field does not.\n\
         Lines and columns are from 1 and columns count UTF-8 bytes. A command that refuses what was asked says why in\n\
         `refused` and ends with status 1; one that could not run says so on standard error, prints no JSON and ends with\n\
         status 2. The server announces the version in its answer to `initialize`, and its positions are LSP's.\n\n\
         | said by | type |\n|---|---|\n",
        crate::VERSION
    );
    for a in answers() {
        let name = match a.asker {
            Asker::CommandLine => format!("`warpwright {} --format json`", a.name),
            Asker::Editor => a.name.to_owned(),
        };
        let _ = writeln!(out, "| {name} | [{0}](#{1}) |", a.type_name, a.type_name.to_lowercase());
    }
    for (name, def) in defs {
        section(&mut out, name, def);
    }
    let lines: Vec<String> = defs.iter().map(|(name, def)| format!("\"{name}\": {def}")).collect();
    let _ = write!(
        out,
        "\n## The schema\n\n`warpwright contract --schema` prints it on its own.\n\n```json\n{{\"$schema\": {}, \"version\": \
         {}, \"$defs\": {{\n{}\n}}}}\n```\n",
        schema["$schema"],
        schema["version"],
        lines.join(",\n")
    );
    out
}

fn section(out: &mut String, name: &str, def: &Value) {
    let words = |v: &Value| v["description"].as_str().unwrap_or_default().replace('\n', " ");
    let _ = write!(out, "\n## {name}\n\n{}\n\n", words(def));
    if def["properties"].is_null() {
        let _ = writeln!(out, "It is: {}.", kind(def));
        return;
    }
    out.push_str("| field | type | meaning |\n|---|---|---|\n");
    let required: Vec<&str> =
        def["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let empty = Map::new();
    let fields = def["properties"].as_object().unwrap_or(&empty);
    // those that are always there in the order they come in, then those that may be left out
    let always = required.iter().filter_map(|r| fields.get_key_value(*r));
    let sometimes = fields.iter().filter(|(f, _)| !required.contains(&f.as_str()));
    for (field, schema) in always.chain(sometimes) {
        let may = if required.contains(&field.as_str()) { "" } else { ", may be left out" };
        let _ =
            writeln!(out, "| `{field}` | {}{may} | {} |", kind(schema), words(schema).replace('|', "\\|"));
    }
}

/// A type in words.
fn kind(schema: &Value) -> String {
    if let Some(values) = schema["enum"].as_array() {
        return values.iter().map(|v| format!("`{v}`").replace('|', "\\|")).collect::<Vec<_>>().join(", ");
    }
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.rsplit('/').next().unwrap_or(name);
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(all) = schema["anyOf"].as_array() {
        return all.iter().map(kind).collect::<Vec<_>>().join(" or ");
    }
    let one = |name: &str| match name {
        "array" => match schema["maxItems"].as_u64() {
            Some(n) => format!("list of {n}: {}", kind(&schema["items"])),
            None => format!("list of: {}", kind(&schema["items"])),
        },
        "object" if schema["additionalProperties"].is_object() => {
            format!("object of: {}", kind(&schema["additionalProperties"]))
        }
        "integer" => "whole number".to_owned(),
        "boolean" => "`true` or `false`".to_owned(),
        "string" => "text".to_owned(),
        other => other.to_owned(),
    };
    match &schema["type"] {
        Value::String(name) => one(name),
        Value::Array(names) => {
            names.iter().filter_map(Value::as_str).map(one).collect::<Vec<_>>().join(" or ")
        }
        _ => "any".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    /// `cargo xtask codegen` writes it.
    #[test]
    fn the_page_is_up_to_date() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/contract.md");
        let there = std::fs::read_to_string(path).unwrap_or_default();
        assert!(there == super::page(), "docs/contract.md is stale: run `cargo xtask codegen`");
    }

    #[test]
    fn every_field_has_a_type_and_every_type_words() {
        let schema = super::schema();
        let defs = schema["$defs"].as_object().expect("definitions");
        assert!(defs.len() > 40, "{}", defs.len());
        for (name, def) in defs {
            assert!(def["description"].is_string(), "{name} has no words");
            match def["properties"].as_object() {
                Some(fields) => {
                    for (field, of) in fields {
                        assert_ne!(super::kind(of), "any", "{name}.{field}");
                    }
                }
                None => assert_ne!(super::kind(def), "any", "{name}"),
            }
        }
    }
}
