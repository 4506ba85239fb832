//! What the user can set: one struct, the only source of the settings reference and of the extension's settings.
//!
//! `cargo xtask codegen` asks for [`schema`] through the hidden command `settings-schema`. A setting that is unknown or
//! of the wrong type is named to the user and its default is used; it never stops anything.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{json, Map, Value};

use crate::compiler::Wanted;
use crate::includes::Given;

/// All settings, each under `warpwright.` in editors.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Settings {
    /// # Levels of findings
    ///
    /// How a finding is shown, by its code, where that differs from the code's own default: `off`, `hint`,
    /// `information`, `warning` or `error`. Example: `{ "carried-dependence": "off" }`.
    pub levels: BTreeMap<String, LevelName>,
    /// # Macro definitions
    ///
    /// What the compiler's `-D` options define: `NAME` or `NAME=VALUE`. Loop bounds and array sizes are read with them.
    pub defines: Vec<String>,
    /// # Folders of headers
    ///
    /// Where `#include` looks, before the compiler's own folders: absolute, or below the document's folder or the nearest
    /// one above it that has it. Options of `compile_commands.json` and `compile_flags.txt` are found without this.
    pub include_paths: Vec<String>,
    pub analysis: AnalysisSettings,
    pub inlay_hints: InlayHintSettings,
    pub code_lens: CodeLensSettings,
    pub results: ResultSettings,
    /// # Outline and call hierarchy
    ///
    /// Whether functions, kernels and loops with their verdicts are told for outlines, and kernels, launches and calls for call
    /// hierarchies. `auto`: unless another extension of VS Code that does so for C (clangd, Microsoft's C/C++) is installed: there each
    /// adds an outline of its own, and only one call hierarchy is shown; the view "Loops and Kernels" says more there. Other editors
    /// ask the server they are told to. `on`, `off`: always, never. It is decided when the server starts.
    pub outline: String,
    pub compile_check: CompileCheckSettings,
    /// # Compiler that is asked
    ///
    /// Absolute path of the C compiler that is asked what it defines (`cc -dM -E -x c /dev/null`, in the background, for two
    /// seconds at most). Empty: `cc`, `gcc` or `clang` of the search path. `off`: none; macros that compilers define by their
    /// version and defaults are then unknown. A compiler in a folder of the workspace is never run.
    pub compiler: String,
    /// # NVRTC library
    ///
    /// Absolute path of `libnvrtc`, NVIDIA's run-time compiler. Empty: the one the system's loader finds. Without one
    /// everything else works; generated kernels are then not compiled before they are offered.
    pub nvrtc: String,
    /// # GPU architecture
    ///
    /// What generated kernels are compiled for in the compile check, such as `sm_80`.
    pub architecture: String,
    /// # Target
    ///
    /// Whose devices kernels are written and judged for: NVIDIA's (`cuda`) or AMD's with 64 lanes (`hip`).
    pub target: String,
    /// # Hosts with a GPU
    ///
    /// Machines on which kernels may be measured, by the names that `ssh` knows them by, or `slurm:PARTITION` for a GPU that `srun` asks
    /// for; where a command names none, the first is taken.
    /// `local` is the machine where the server runs, and is taken where there are none. Only the user's own settings count: what a
    /// workspace or a folder says of hosts does nothing. Before something is run on a host for the first time you are asked.
    pub hosts: Vec<String>,
    /// # Fused multiply-adds
    ///
    /// Whether kernels compute the same bits as the loop (`same-bits`: compiled with `-fmad=false`) or fuse products with sums, which is
    /// faster (`fast`: results may differ by 0.0001, which is what `verify` then allows).
    pub fmad: String,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            levels: BTreeMap::new(),
            defines: Vec::new(),
            include_paths: Vec::new(),
            analysis: AnalysisSettings::default(),
            inlay_hints: InlayHintSettings::default(),
            code_lens: CodeLensSettings::default(),
            results: ResultSettings::default(),
            outline: "auto".to_owned(),
            compile_check: CompileCheckSettings::default(),
            compiler: String::new(),
            nvrtc: String::new(),
            architecture: "sm_80".to_owned(),
            target: "cuda".to_owned(),
            hosts: Vec::new(),
            fmad: "same-bits".to_owned(),
        }
    }
}

/// A level as settings name it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LevelName {
    Off,
    Hint,
    Information,
    Warning,
    Error,
}

impl LevelName {
    fn to_ide(self) -> ide::Level {
        ide::Level::At(match self {
            LevelName::Off => return ide::Level::Off,
            LevelName::Hint => ide::Severity::Hint,
            LevelName::Information => ide::Severity::Information,
            LevelName::Warning => ide::Severity::Warning,
            LevelName::Error => ide::Severity::Error,
        })
    }
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AnalysisSettings {
    /// # Delay before the thorough analysis
    ///
    /// Milliseconds without typing after which a document is analyzed with the full budget. Saving does so at once.
    pub idle_delay: u32,
}

impl Default for AnalysisSettings {
    fn default() -> Self {
        AnalysisSettings { idle_delay: 400 }
    }
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct InlayHintSettings {
    /// # Hints in the text
    ///
    /// Show each loop's verdict at the end of its first line, where the editor shows inlay hints.
    pub enable: bool,
}

impl Default for InlayHintSettings {
    fn default() -> Self {
        InlayHintSettings { enable: true }
    }
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CodeLensSettings {
    /// # Lenses above loops
    ///
    /// Show what can be done with a loop above it, where the editor shows code lenses.
    pub enable: bool,
}

impl Default for CodeLensSettings {
    fn default() -> Self {
        CodeLensSettings { enable: true }
    }
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ResultSettings {
    /// # Results at lines
    ///
    /// After a kernel was simulated, show behind its lines what they cost, until the text changes. In editors that show inlay hints.
    pub at_lines: bool,
}

impl Default for ResultSettings {
    fn default() -> Self {
        ResultSettings { at_lines: true }
    }
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CompileCheckSettings {
    /// # Compile check on save
    ///
    /// On saving, compile the kernels of marked loops with NVRTC where it is installed, and show its errors at the loop.
    pub enable: bool,
}

impl Default for CompileCheckSettings {
    fn default() -> Self {
        CompileCheckSettings { enable: true }
    }
}

/// Settings of the editor's side that arrive in the same section.
const OF_THE_CLIENT: [&str; 5] = ["outlinedElsewhere", "panels", "server", "trace", "trusted"];

/// What the setting `outline` may be.
const OUTLINES: [&str; 3] = ["auto", "on", "off"];

impl Settings {
    /// Settings out of what a client sent: the object of the section `warpwright`, or one that has it as a member.
    /// Also says, in sentences, what could not be used.
    pub fn read(sent: &Value) -> (Settings, Vec<String>) {
        let sent = match sent.get("warpwright") {
            Some(inner @ Value::Object(_)) => inner,
            _ => sent,
        };
        let mut complaints = Vec::new();
        let Value::Object(sent) = sent else {
            if !sent.is_null() {
                complaints.push("The settings are not an object; the defaults are used.".to_owned());
            }
            return (Settings::default(), complaints);
        };
        let mut full = json!(Settings::default());
        for (key, value) in sent {
            if !OF_THE_CLIENT.contains(&key.as_str()) {
                overlay(&mut full, &mut vec![key.clone()], value, &mut complaints);
            }
        }
        let mut settings: Settings = serde_json::from_value(full).unwrap_or_default();
        settings.levels.retain(|code, _| {
            let is_known = ide::codes().any(|c| c.code == code);
            if !is_known {
                complaints.push(format!("The setting `warpwright.levels` names the unknown code `{code}`."));
            }
            is_known
        });
        if ide::Target::of(&settings.target).is_none() {
            complaints.push(format!(
                "The setting `warpwright.target` names the unknown target `{}`.",
                settings.target
            ));
            settings.target = Settings::default().target;
        }
        if !OUTLINES.contains(&settings.outline.as_str()) {
            let mode = &settings.outline;
            complaints.push(format!("The setting `warpwright.outline` names the unknown mode `{mode}`."));
            settings.outline = Settings::default().outline;
        }
        if fuses(&settings.fmad).is_none() {
            let mode = &settings.fmad;
            complaints.push(format!("The setting `warpwright.fmad` names the unknown mode `{mode}`."));
            settings.fmad = Settings::default().fmad;
        }
        (settings, complaints)
    }

    /// The part that changes findings.
    pub fn to_ide(&self) -> ide::Settings {
        ide::Settings {
            levels: self.levels.iter().map(|(code, level)| (code.clone(), level.to_ide())).collect(),
        }
    }

    /// Which compiler is asked.
    pub fn wanted_compiler(&self) -> Wanted {
        Wanted::read(&self.compiler)
    }

    /// The part that changes how documents are read.
    pub fn given(&self) -> Given {
        Given {
            defines: self.defines.clone(),
            includes: self.include_paths.iter().map(|f| f.trim().into()).collect(),
            target: ide::Target::of(&self.target)
                .unwrap_or_default()
                .fused(fuses(&self.fmad).unwrap_or_default()),
        }
    }
}

/// Whether products are fused with sums, by the name of the mode.
pub fn fuses(mode: &str) -> Option<bool> {
    match mode {
        "same-bits" => Some(false),
        "fast" => Some(true),
        _ => None,
    }
}

/// `NAME` or `NAME=VALUE`.
pub fn parse_define(text: &str) -> (String, Option<String>) {
    match text.split_once('=') {
        Some((name, value)) => (name.trim().to_owned(), Some(value.trim().to_owned())),
        None => (text.trim().to_owned(), None),
    }
}

/// Puts `value` at `path` into `full`, member by member, and keeps what still reads as [`Settings`].
fn overlay(full: &mut Value, path: &mut Vec<String>, value: &Value, complaints: &mut Vec<String>) {
    let name = path.join(".");
    // editors may send flat keys: "inlayHints.enable"
    if let [only] = path.as_slice() {
        if only.contains('.') {
            let mut parts: Vec<String> = only.split('.').map(str::to_owned).collect();
            return overlay(full, &mut parts, value, complaints);
        }
    }
    let pointer = format!("/{}", path.join("/"));
    let Some(place) = full.pointer(&pointer).cloned() else {
        complaints.push(format!("The setting `warpwright.{name}` is not known."));
        return;
    };
    match (&place, value) {
        (_, Value::Null) => return,
        (Value::Object(_), Value::Object(members)) if path.as_slice() != ["levels"] => {
            for (key, value) in members {
                path.push(key.clone());
                overlay(full, path, value, complaints);
                path.pop();
            }
            return;
        }
        (Value::Object(_), Value::Object(members)) => {
            let mut kept = Map::new();
            for (code, level) in members {
                if serde_json::from_value::<LevelName>(level.clone()).is_ok() {
                    kept.insert(code.clone(), level.clone());
                } else {
                    complaints.push(format!(
                        "The setting `warpwright.{name}.{code}` is {level}; it must be off, hint, information, \
                         warning or error."
                    ));
                }
            }
            set(full, &pointer, Value::Object(kept));
            return;
        }
        _ => {}
    }
    set(full, &pointer, value.clone());
    if let Err(e) = serde_json::from_value::<Settings>(full.clone()) {
        complaints.push(format!(
            "The setting `warpwright.{name}` is not usable ({e}); its default, {place}, is used."
        ));
        set(full, &pointer, place);
    }
}

fn set(full: &mut Value, pointer: &str, value: Value) {
    if let Some(place) = full.pointer_mut(pointer) {
        *place = value;
    }
}

/// The JSON schema of all settings under their full names, in the order of [`Settings`].
pub fn schema() -> Value {
    let generator =
        schemars::generate::SchemaSettings::draft07().with(|s| s.inline_subschemas = true).into_generator();
    let root = generator.into_root_schema_for::<Settings>().to_value();
    let defaults = json!(Settings::default());
    let mut properties = Map::new();
    flatten("warpwright", &root, &defaults, &mut properties);
    if let Some(levels) = properties.get_mut("warpwright.levels") {
        name_codes(levels);
    }
    json!({"title": "Warpwright", "type": "object", "properties": properties})
}

/// The codes that a level can be set for, for completion: each with its title and the levels there are.
fn name_codes(levels: &mut Value) {
    let level = levels["additionalProperties"].clone();
    let one = |c: ide::Code| {
        let mut of = level.clone();
        of["description"] = json!(format!("{} By default: {}.", c.summary, c.severity.name()));
        (c.code.to_owned(), of)
    };
    let codes: Map<String, Value> = ide::codes().map(one).collect();
    levels["propertyNames"] = json!({"enum": codes.keys().collect::<Vec<_>>()});
    levels["properties"] = Value::Object(codes);
}

fn flatten(prefix: &str, schema: &Value, defaults: &Value, into: &mut Map<String, Value>) {
    let Some(Value::Object(members)) = schema.get("properties") else { return };
    for (key, member) in members {
        let name = format!("{prefix}.{key}");
        let default = defaults.get(key).cloned().unwrap_or(Value::Null);
        if member.get("properties").is_some() {
            flatten(&name, member, &default, into);
            continue;
        }
        let mut member = member.clone();
        if let Value::Object(member) = &mut member {
            member.insert("default".to_owned(), default);
        }
        into.insert(name, member);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_settings_are_named_and_the_rest_is_used() {
        let (settings, complaints) = Settings::read(&json!({
            "server": {"path": ""}, "trace": {"server": "off"}, "nonsense": 1,
            "defines": ["N=100"], "architecture": 80, "inlayHints": {"enable": false, "colour": 1},
            "codeLens.enable": false, "analysis": 3,
        }));
        assert_eq!(settings.defines, ["N=100"]);
        assert_eq!(settings.architecture, "sm_80");
        assert!(!settings.inlay_hints.enable && !settings.code_lens.enable);
        let all = complaints.join("\n");
        for name in ["nonsense", "architecture", "inlayHints.colour", "analysis"] {
            assert!(all.contains(&format!("`warpwright.{name}`")), "{name} in {all}");
        }
        assert_eq!(complaints.len(), 4, "{all}");
    }

    #[test]
    fn the_schema_has_every_setting_with_words_and_default() {
        let schema = schema();
        let properties = schema["properties"].as_object().cloned().unwrap_or_default();
        assert!(properties.len() >= 8, "{schema:#}");
        for (name, property) in &properties {
            for field in ["title", "description", "default"] {
                assert!(property.get(field).is_some(), "{name} has no {field}: {property:#}");
            }
        }
        assert!(properties.contains_key("warpwright.inlayHints.enable"));
    }

    #[test]
    fn codes_are_offered_where_levels_are_set() {
        let levels = &schema()["properties"]["warpwright.levels"];
        assert_eq!(levels["properties"]["carried-dependence"]["enum"][0], "off", "{levels:#}");
        let names = levels["propertyNames"]["enum"].as_array().map_or(0, Vec::len);
        assert_eq!(names, ide::codes().count());
    }
}
