//! What a command's argument speaks of: `{"uri", "version"?, "id"?}` for a listed action, or `{"uri", "position"}` or
//! `{"uri", "line"}` (from 0) for the loop there.

use serde_json::Value;
use tower_lsp::jsonrpc::{Error, Result};
use tower_lsp::ls_types as lsp;
use wire::Target;

use crate::lsp::actions::{failed, stale};
use crate::lsp::document::{position_from_lsp, Analyzed};
use crate::lsp::host::Context;

/// The one argument of a command.
pub fn read(command: &str, arguments: Vec<Value>) -> Result<Target> {
    let first = arguments.into_iter().next().unwrap_or(Value::Null);
    serde_json::from_value(first).map_err(|e| {
        let example = "{\"uri\": …, \"position\": {\"line\": 0, \"character\": 0}}";
        Error::invalid_params(format!("{command} needs one argument such as {example}: {e}."))
    })
}

/// The analysis of the document.
pub fn analyzed(context: &Context) -> Result<&Analyzed> {
    context.view.analyzed.as_ref().ok_or_else(|| {
        failed("This document is not analyzed: its language is not read, or its analysis failed.".to_owned())
    })
}

/// The loop an argument speaks of: by an action's id, or the innermost around a place.
pub fn loop_of<'a>(context: &'a Context, target: &Target) -> Result<(&'a Analyzed, &'a ide::LoopFinding)> {
    let analyzed = analyzed(context)?;
    if target.version.is_some_and(|version| version != context.view.version) {
        return Err(stale());
    }
    let finding = match &target.id {
        Some(id) => id.split_once(':').and_then(|(_, key)| analyzed.findings.by_key(key)),
        None => {
            let offset = offset(context, target)?;
            let on_line = || {
                let line = context.view.text.line_of(offset) + 1;
                analyzed.findings.on_line(line)
            };
            analyzed.findings.loop_around(offset).or_else(on_line)
        }
    };
    let nothing = || failed("There is no loop at this place. Put the cursor on a loop.".to_owned());
    finding.map(|finding| (analyzed, finding)).ok_or_else(nothing)
}

/// Where in the text the argument points.
pub fn offset(context: &Context, target: &Target) -> Result<u32> {
    let text = &context.view.text;
    match (target.position, target.line) {
        (Some(wire::Position { line, character }), _) => {
            let position = lsp::Position { line, character };
            Ok(text.offset_of(position_from_lsp(position), context.caps.encoding))
        }
        (None, Some(line)) => {
            let indentation = text.indentation_of(line).len() as u32;
            Ok(text.line_span(line).map_or(text.len(), |span| span.start + indentation))
        }
        (None, None) => Err(Error::invalid_params("The argument needs an id, a position or a line.")),
    }
}
