//! The rule pages that write what kernels need on the host: those that ship, unless an answer is asked with others.

use std::sync::{Arc, OnceLock};

use rewrite::rules::{host_functions, plain_functions, HostFunctions, RuleSet};

/// Rule pages as the planner's printer asks them.
#[derive(Clone, Debug)]
pub(crate) struct HostPages(Arc<RuleSet>);

impl HostPages {
    pub(crate) fn of(set: &Arc<RuleSet>) -> HostPages {
        HostPages(set.clone())
    }
}

impl Default for HostPages {
    fn default() -> HostPages {
        static SHIPPED: OnceLock<Arc<RuleSet>> = OnceLock::new();
        HostPages(SHIPPED.get_or_init(|| Arc::new(RuleSet::shipped())).clone())
    }
}

impl codegen::HostPages for HostPages {
    fn written(
        &self,
        target: Option<&'static gpu::Row>,
        functions: &str,
    ) -> Result<codegen::Written, String> {
        let HostFunctions { text, includes, derivation } = match target {
            Some(row) => host_functions(&self.0, row.host.page, functions)?,
            None => HostFunctions { text: plain_functions(functions)?, ..HostFunctions::default() },
        };
        Ok(codegen::Written { text, includes, derivation })
    }
}
