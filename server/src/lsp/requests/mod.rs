//! A file for each request; `backend` names them to tower-lsp. Each sends one message to the owner of the state before
//! anything else, then waits for the answer, which is made on the pool.

pub mod cancel_progress;
pub mod code_action;
pub mod code_action_resolve;
pub mod code_lens;
pub mod completion;
pub mod diagnostic;
pub mod document_symbol;
pub mod document_text;
pub mod hover;
pub mod incoming_calls;
pub mod initialize;
pub mod initialized;
pub mod inlay_hint;
pub mod loops;
pub mod outgoing_calls;
pub mod prepare_call_hierarchy;
