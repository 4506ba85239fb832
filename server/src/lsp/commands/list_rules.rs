//! `warpwright.listRules`: the rule systems that can be applied.

use std::sync::Arc;

use serde_json::{json, Value};
use tower_lsp::jsonrpc::Result;

use super::Call;
use crate::lsp::backend::Backend;
use crate::lsp::host::{Context, Need};

pub async fn run(backend: &Backend, call: Call) -> Result<Option<Value>> {
    backend.ask(call.uri()?, Need::Newest, |context| Ok(Some(rules_value(context)))).await
}

/// The rule systems that can be applied, one a page.
fn rules_value(context: &Context) -> Value {
    let pages = &context.pages;
    let one = |page: &Arc<ide::RulePage>| {
        page.main().map(|system| {
            json!({
                "system": &*system.name, "title": page.title, "about": page.prose, "own": pages.own.contains(&*page.name),
                "trust": page.trust.as_ref().map(ide::RuleTrust::text),
            })
        })
    };
    json!({"systems": pages.set.pages.iter().filter_map(one).collect::<Vec<_>>()})
}
