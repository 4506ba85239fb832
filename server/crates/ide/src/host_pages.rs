//! The rule pages that write what kernels need on the host: those that ship, unless an answer is asked with others.

use std::sync::{Arc, OnceLock};

use crate::optimize::Optimized;
use rewrite::rules::{
    host_functions, host_methods, placed_call, plain_functions, HostFunctions, PlacedCall, RuleSet, PLACING,
    PLACING_CSHARP,
};

/// Rule pages as the planner's printer asks them.
#[derive(Clone, Debug)]
pub(crate) struct HostPages {
    set: Arc<RuleSet>,
    /// The system that puts calls into the user's file.
    placing: Arc<str>,
    /// Kernels that pages have optimised, where they are to be.
    optimized: Option<Arc<Optimized>>,
}

impl HostPages {
    pub(crate) fn of(set: &Arc<RuleSet>) -> HostPages {
        HostPages { set: set.clone(), placing: PLACING.into(), optimized: None }
    }
    /// With another system that puts calls into the user's file.
    pub(crate) fn placing(self, system: &str) -> HostPages {
        HostPages { placing: system.into(), ..self }
    }
    /// With kernels that pages optimise.
    pub(crate) fn optimizing(self, or_plain: bool) -> HostPages {
        HostPages { optimized: Some(Arc::new(Optimized::new(or_plain))), ..self }
    }
    pub(crate) fn set(&self) -> &Arc<RuleSet> {
        &self.set
    }
    pub(crate) fn optimized(&self) -> Option<&Arc<Optimized>> {
        self.optimized.as_ref()
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

    fn methods(&self, functions: &str) -> Result<codegen::Written, String> {
        let HostFunctions { text, includes, derivation } = host_methods(&self.set, functions)?;
        Ok(codegen::Written { text, includes, derivation })
    }

    fn placed(&self, side: codegen::HostSide, call: &str, columns: usize) -> Result<codegen::Placed, String> {
        let is_csharp = side == codegen::HostSide::Method;
        let system = if is_csharp { PLACING_CSHARP } else { &self.placing };
        let PlacedCall { ahead, before, behind, several, includes, derivation } =
            placed_call(&self.set, system, call, (columns, is_csharp))?;
        Ok(codegen::Placed { ahead, before, behind, several, includes, derivation })
    }
}
