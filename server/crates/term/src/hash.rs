//! Structural hashes that ignore positions: equal hashes may share facts.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

use crate::{Body, Op};

/// Hash of a body's meaning. Two independent 64-bit streams would be safer still; one is enough for a memo inside a
/// process, whose keys also carry the body's text hash.
pub(crate) fn hash_body(body: &Body) -> u64 {
    let mut h = FxHasher::default();
    body.name.hash(&mut h);
    body.semantics.hash(&mut h);
    let promised = body.said.promises.iter().flat_map(|p| p.says.terms());
    for id in body.walk(body.root).chain(promised.flat_map(|t| body.walk(t))) {
        let term = body.term(id);
        term.op.hash(&mut h);
        term.ty.hash(&mut h);
        term.args.len().hash(&mut h);
        body.origin(id).hash(&mut h);
        if let Op::Reject(r) = term.op {
            (&body.reject(r).reason, body.reject(r).reach).hash(&mut h);
        }
    }
    for id in body.types.ids() {
        body.types.get(id).hash(&mut h);
    }
    for (_, r) in body.types.records() {
        r.hash(&mut h);
    }
    body.library.hash(&mut h);
    body.said.hash(&mut h);
    for s in body.symbols.iter() {
        (&s.name, s.ty, s.storage, s.device, s.address_taken).hash(&mut h);
    }
    h.finish()
}
