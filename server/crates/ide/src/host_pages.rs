//! The rule pages that write what kernels need on the host: those that ship, unless an answer is asked with others.

use std::sync::{Arc, OnceLock};

use rewrite::rules::{
    host_functions, placed_call, plain_functions, HostFunctions, PlacedCall, RuleSet, PLACING,
};

/// Rule pages as the planner's printer asks them.
#[derive(Clone, Debug)]
pub(crate) struct HostPages {
    set: Arc<RuleSet>,
    /// The system that puts calls into the user's file.
    placing: Arc<str>,
}

impl HostPages {
    pub(crate) fn of(set: &Arc<RuleSet>) -> HostPages {
        HostPages { set: set.clone(), placing: PLACING.into() }
    }
    /// With another system that puts calls into the user's file.
    pub(crate) fn placing(self, system: &str) -> HostPages {
        HostPages { placing: system.into(), ..self }
    }
}

impl Default for HostPages {
    fn default() -> HostPages {
        static SHIPPED: OnceLock<Arc<RuleSet>> = OnceLock::new();
        HostPages::of(SHIPPED.get_or_init(|| Arc::new(RuleSet::shipped())))
    }
}

impl codegen::HostPages for HostPages {
    fn written(
        &self,
        target: Option<&'static gpu::Row>,
        functions: &str,
    ) -> Result<codegen::Written, String> {
        let HostFunctions { text, includes, derivation } = match target {
            Some(row) => host_functions(&self.set, row.host.page, functions)?,
            None => HostFunctions { text: plain_functions(functions)?, ..HostFunctions::default() },
        };
        Ok(codegen::Written { text, includes, derivation })
    }

    fn placed(&self, call: &str, columns: usize) -> Result<codegen::Placed, String> {
        let PlacedCall { ahead, before, behind, several, includes, derivation } =
            placed_call(&self.set, &self.placing, call, columns)?;
        Ok(codegen::Placed { ahead, before, behind, several, includes, derivation })
    }
}
