//! `warpwright.listRules`: the rule systems that can be applied.

use std::sync::Arc;

use serde_json::Value;
use tower_lsp::jsonrpc::Result;

use super::{answer, Call};
use crate::lsp::backend::Backend;
use crate::lsp::host::{Context, Need};

pub async fn run(backend: &Backend, call: Call) -> Result<Option<Value>> {
    backend.ask(call.uri()?, Need::Newest, |context| Ok(answer(&systems(context)))).await
}

/// The rule systems that can be applied, one a page.
fn systems(context: &Context) -> wire::RuleSystems {
    let pages = &context.pages;
    let one = |page: &Arc<ide::RulePage>| {
        page.main().map(|system| wire::RuleSystem {
            system: system.name.to_string(),
            title: page.title.to_string(),
            about: page.prose.to_string(),
            own: pages.own.contains(&*page.name),
            trust: page.trust.as_ref().map(ide::RuleTrust::text),
        })
    };
    wire::RuleSystems { systems: pages.set.pages.iter().filter_map(one).collect() }
}
