//! Whether all threads of a block compute the same value: a data-flow argument over one kernel, without addresses.
//!
//! A variable is uniform if everything ever assigned to it is, and every assignment stands under uniform control. The
//! greatest such set is found by taking away what is not. Deliberately absent: values loaded from memory, which are never
//! taken for uniform, and functions.

use rustc_hash::FxHashSet;
use term::device::{Index, Word};
use term::{Op, Storage, SymbolId};

use super::tree::{Subject, Tree};

/// Why the expression is uniform, or why that is not proved.
pub(super) fn uniform(subject: &Subject, x: &Tree) -> Result<String, String> {
    let mut varying: FxHashSet<SymbolId> = FxHashSet::default();
    loop {
        let before = varying.len();
        mark(subject, &subject.root, false, &mut varying);
        if varying.len() == before {
            break;
        }
    }
    match first_varying(subject, x, &varying) {
        None => Ok("it is made of what is the same for all threads of a block".to_owned()),
        Some(n) => Err(format!("`{}` may differ from thread to thread", subject.print(&n))),
    }
}

/// Whether it is a part of an index variable.
pub(super) fn is_position(subject: &Subject, n: &Tree) -> bool {
    let of = n.args.first().filter(|_| n.is("Dot")).and_then(|a| a.as_symbol());
    of.and_then(|s| subject.symbol(s))
        .is_some_and(|k| matches!(k.storage, Storage::Builtin) && matches!(k.device, Some(Word::Index(_))))
}

/// Takes variables away that some assignment makes differ; `under`: control differs here.
fn mark(subject: &Subject, n: &Tree, under: bool, varying: &mut FxHashSet<SymbolId>) {
    let mut under = under;
    let written = match &n.op {
        op if op.is_write() => n.args.first().and_then(|a| a.as_symbol()).map(|s| (s, n.args.get(1))),
        Op::Apply(h) if &**h == "DeclarationAssignment" => {
            n.args.first().and_then(|a| a.as_symbol()).map(|s| (s, n.args.get(2)))
        }
        _ => None,
    };
    if let Some((s, value)) = written {
        if under || value.is_some_and(|v| first_varying(subject, v, varying).is_some()) {
            varying.insert(s);
        }
    }
    if n.op.is_loop() || matches!(n.op, Op::If | Op::Switch | Op::Select) {
        let block = super::pattern::blocks(&n.op, n.args.len());
        let heads = n.args.iter().enumerate().filter(|(k, _)| !block.contains(k));
        let differs = heads.clone().any(|(_, h)| {
            !matches!(h.op, Op::Assign | Op::Apply(_)) && first_varying(subject, h, varying).is_some()
        });
        // a loop that some threads leave early runs a different number of times for each
        let left = n.op.is_loop()
            && n.args.iter().any(|a| {
                a.walk().any(|m| matches!(m.op, Op::Break | Op::Continue | Op::Return) || m.is("Goto"))
            });
        under |= differs || left;
    }
    for a in n.args.iter() {
        mark(subject, a, under, varying);
    }
}

/// Whether a word's value is the same for all threads of a block.
fn alike_in_block(word: Word) -> bool {
    matches!(word, Word::Index(Index::Block | Index::BlockSize | Index::GridSize) | Word::Lanes)
}

fn first_varying(subject: &Subject, x: &Tree, varying: &FxHashSet<SymbolId>) -> Option<Tree> {
    let differs = |n: &Tree| match &n.op {
        Op::Sym(s) => {
            let Some(known) = subject.symbol(*s) else { return true };
            match known.storage {
                Storage::Param(_) | Storage::Local => known.address_taken || varying.contains(s),
                Storage::Builtin => !known.device.is_some_and(alike_in_block),
                Storage::Constant(_) => false,
                _ => true,
            }
        }
        Op::Name(word) => {
            !gpu::CUDA.word(word).is_some_and(alike_in_block) && term::device::axis(word).is_none()
        }
        Op::Index | Op::Deref | Op::Call | Op::Launch | Op::AddrOf | Op::Reject(_) | Op::Step { .. } => true,
        Op::Apply(h) => !matches!(&**h, "Dot" | "Cast" | "SizeOfType"),
        _ => false,
    };
    let mut stack = vec![x.clone()];
    while let Some(n) = stack.pop() {
        if differs(&n) {
            return Some(n);
        }
        match &n.op {
            // a field or type is no value
            Op::Apply(h) if &**h == "Dot" => stack.extend(n.args.first().cloned()),
            Op::Apply(h) if &**h == "Cast" => stack.extend(n.args.get(1).cloned()),
            Op::Apply(_) => {}
            _ => stack.extend(n.args.iter().cloned()),
        }
    }
    None
}
