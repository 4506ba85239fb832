//! `warpwright.profile`: refused, with what to do in its place.

use serde_json::Value;
use tower_lsp::jsonrpc::Result;

use crate::lsp::actions::failed;

pub fn run() -> Result<Option<Value>> {
    let why = "Profiling is not supported yet: this version launches no kernels on a GPU. Use the command \
               warpwright.verify to compare results in the simulator.";
    Err(failed(why.to_owned()))
}
