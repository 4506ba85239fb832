//! Faults that have a shape: updates through subscripts out of memory, and results of other blocks read without a fence.
//!
//! These are no proofs: two threads need not find one subscript, and what a fence lacks shows on some machines only. They are
//! told apart from races for that.

use rustc_hash::FxHashSet;
use term::device::{Index, Scope, Word};
use term::{Body, Op, Space, Storage, SymbolId, TermId, TypeKind};

use super::access;
use super::collect::{AccessKind, Seen};
use super::{callee, uniformity};
use crate::Program;

/// An update `x[i] += …` that two threads make if they find the same subscript in memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LostUpdate {
    /// The whole statement.
    pub term: TermId,
    pub place: TermId,
    /// The subscript that memory decides; `None`: all threads mean one place.
    pub subscript: Option<TermId>,
    pub shared: bool,
    /// `if (v > x[i]) x[i] = v`: the value, and whether the larger one is kept.
    pub extreme: Option<(TermId, bool)>,
}

/// The last block reads what others wrote, and no fence stands between their writes and the counter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MissingFence {
    /// The atomic operation on the counter.
    pub counter: TermId,
    pub write: TermId,
    pub read: TermId,
}

pub(super) fn lost_updates(body: &Body, seen: &Seen) -> Vec<LostUpdate> {
    let mut out = Vec::new();
    for t in body.walk(body.root) {
        let &[place, ..] = body.args(t) else { continue };
        let updates = match body.op(t) {
            Op::Compound(_) | Op::Step { .. } => true,
            Op::Assign => body.args(t).get(1).is_some_and(|&v| body.walk(v).any(|x| body.same(x, place))),
            _ => false,
        };
        if !updates || !matches!(body.op(place), Op::Index | Op::Deref) {
            continue;
        }
        let Some(p) = access::place(body, place) else { continue };
        let mut open = FxHashSet::default();
        let kinds: Vec<From> = p.parts.iter().map(|&(i, _)| from(body, seen, i, &mut open)).collect();
        // a row of the thread's own is nobody else's
        if kinds.contains(&From::Thread) || kinds.contains(&From::Block) && p.space != Space::Shared {
            continue;
        }
        let Some(k) = kinds.iter().position(|k| *k == From::Memory) else {
            if is_one_place(body, seen, place, &p) {
                let shared = p.space == Space::Shared;
                out.push(LostUpdate { term: t, place, subscript: None, shared, extreme: None });
            }
            continue;
        };
        // one thread alone loses nothing
        let alone = seen.accesses.iter().filter(|a| a.place == place).any(|a| {
            a.at.guards.iter().any(|&(c, holds)| {
                holds
                    && body.walk(c).any(|x| {
                        matches!(body.op(x), Op::Binary(term::BinOp::Eq) | Op::Unary(term::UnOp::Not))
                    })
            })
        });
        if !alone {
            out.push(LostUpdate {
                term: t,
                place,
                subscript: Some(p.parts[k].0),
                shared: p.space == Space::Shared,
                extreme: None,
            });
        }
    }
    out
}

/// Whether all threads that come to a place mean one, and more than one may come: `(*count)++` behind no condition but the end of what
/// is worked on, and what memory holds.
fn is_one_place(body: &Body, seen: &Seen, place: TermId, p: &access::ByteOffset) -> bool {
    let fixed = |t: TermId| {
        body.walk(t).all(|x| match body.op(x) {
            Op::Sym(s) => !seen.definitions.contains_key(s) && !seen.exposed.contains(s),
            Op::Call | Op::Index | Op::Deref => false,
            _ => true,
        })
    };
    let by_thread = |t: TermId| from(body, seen, t, &mut FxHashSet::default()) >= From::Block;
    let by_number = |t: TermId| body.walk(t).any(|x| matches!(body.op(x), Op::Int(_)));
    let lets_many = |&(c, holds): &(TermId, bool)| match (body.op(c), body.args(c)) {
        _ if !by_thread(c) => !narrows(body, c) || body.walk(c).any(|x| matches!(body.op(x), Op::Index)),
        (Op::Binary(term::BinOp::Lt | term::BinOp::Le), &[a, b]) => {
            holds && by_thread(a) && !by_thread(b) && !by_number(b)
        }
        (Op::Binary(term::BinOp::Ge | term::BinOp::Gt), &[a, b]) => {
            !holds && by_thread(a) && !by_thread(b) && !by_number(b)
        }
        _ => false,
    };
    // a lock may be held, by whatever is called
    let calls = |t: TermId| matches!(body.op(t), Op::Call) && !uniformity::is_harmless(body, t);
    if body.walk(body.root).any(calls) {
        return false;
    }
    let uses = body.uses_index(body.root, Index::Thread) && p.parts.iter().all(|&(i, _)| fixed(i));
    let mut all = seen.accesses.iter().filter(|a| a.place == place).peekable();
    uses && !p.moved(seen) && all.peek().is_some() && all.all(|a| a.at.guards.iter().all(lets_many))
}

/// `if (v > x[i]) x[i] = v;` where threads may mean one place: between the look and the store others come.
pub(super) fn lost_extremes(body: &Body, seen: &Seen) -> Vec<LostUpdate> {
    let mut out = Vec::new();
    for b in seen.branches.iter().filter(|b| matches!(body.op(b.term), Op::If)) {
        let (Op::Binary(op), &[l, r]) = (body.op(b.condition), body.args(b.condition)) else { continue };
        let greater = match op {
            term::BinOp::Gt | term::BinOp::Ge => true,
            term::BinOp::Lt | term::BinOp::Le => false,
            _ => continue,
        };
        let &[_, then, ref rest @ ..] = body.args(b.term) else { continue };
        let inside = match (body.op(then), body.args(then)) {
            (Op::List, &[one]) => one,
            (Op::List, _) => continue,
            _ => then,
        };
        let (Op::Assign, &[place, v]) = (body.op(inside), body.args(inside)) else { continue };
        // `v > x` and `x < v` keep the larger
        let largest = match (body.same(place, r) && body.same(v, l), body.same(place, l) && body.same(v, r)) {
            (true, _) => greater,
            (_, true) => !greater,
            _ => continue,
        };
        let Some(p) = access::place(body, place).filter(|_| rest.is_empty()) else { continue };
        let mut open = FxHashSet::default();
        let kinds: Vec<From> = p.parts.iter().map(|&(i, _)| from(body, seen, i, &mut open)).collect();
        if kinds.contains(&From::Thread) || kinds.contains(&From::Block) && p.space != Space::Shared {
            continue;
        }
        // a round's own element, or a guard that lets one thread through, is no shared place for sure
        let guarded = b.at.guards.iter().any(|&(c, holds)| holds && narrows(body, c));
        let moves = p.parts.iter().any(|&(i, _)| {
            body.walk(i).any(|x| body.as_symbol(x).is_some_and(|s| seen.definitions.contains_key(&s)))
        });
        let by_memory = kinds.iter().position(|k| *k == From::Memory);
        if guarded || moves && by_memory.is_none() {
            continue;
        }
        let subscript = by_memory.map(|k| p.parts[k].0);
        out.push(LostUpdate {
            term: b.term,
            place,
            subscript,
            shared: p.space == Space::Shared,
            extreme: Some((v, largest)),
        });
    }
    out
}

/// Whether a condition may let one thread through alone.
fn narrows(body: &Body, c: TermId) -> bool {
    body.walk(c)
        .any(|x| matches!(body.op(x), Op::Binary(term::BinOp::Eq) | Op::Unary(term::UnOp::Not) | Op::Call))
}

/// What a subscript is made of, the strongest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum From {
    Nothing,
    /// Loaded from memory, and no thread index beside it.
    Memory,
    Block,
    Thread,
}

fn from(body: &Body, seen: &Seen, t: TermId, open: &mut FxHashSet<SymbolId>) -> From {
    let args = body.args(t);
    match body.op(t) {
        Op::Index | Op::Deref => From::Memory,
        Op::Member { .. } => match body.as_symbol(args[0]).map(|s| &body.symbols[s]) {
            Some(s) if s.storage == Storage::Builtin => match s.device {
                Some(Word::Index(Index::Thread)) => From::Thread,
                Some(Word::Index(Index::Block)) => From::Block,
                _ => From::Nothing,
            },
            _ => From::Memory,
        },
        Op::Call => match callee(body, t) {
            Some("min" | "max" | "__ldg" | "abs") => {
                args[1..].iter().map(|&a| from(body, seen, a, open)).max().unwrap_or(From::Nothing)
            }
            // what a call gives may be a place of the thread's own
            _ => From::Thread,
        },
        Op::Sym(s) => {
            let symbol = &body.symbols[*s];
            match symbol.storage {
                Storage::Param(_) | Storage::Local if !open.insert(*s) => From::Nothing,
                Storage::Param(_) | Storage::Local => {
                    if matches!(body.types.kind(symbol.ty), TypeKind::Pointer { .. }) {
                        return From::Nothing;
                    }
                    let list = seen.definitions.get(s).into_iter().flatten();
                    list.flat_map(|d| d.from.iter())
                        .map(|&x| from(body, seen, x, open))
                        .max()
                        .unwrap_or(From::Nothing)
                }
                Storage::Shared | Storage::Global { .. } => From::Memory,
                _ => From::Nothing,
            }
        }
        _ => args.iter().map(|&a| from(body, seen, a, open)).max().unwrap_or(From::Nothing),
    }
}

/// What a call is to those who hand results to other blocks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fencing {
    Fence,
    /// Another function, or one that nobody knows: it may be anything.
    Perhaps,
    Not,
}

fn fencing(body: &Body, call: TermId, program: &Program, depth: u32) -> Fencing {
    let Some(name) = callee(body, call) else { return Fencing::Perhaps };
    if let Some(f) = program.function(name) {
        let f = &f.body;
        let unclear = depth > 8 || f.rejects().next().is_some();
        let calls = f.walk(f.root).filter(|&t| matches!(f.op(t), Op::Call));
        let fences = unclear || calls.into_iter().any(|t| fencing(f, t, program, depth + 1) != Fencing::Not);
        return if fences { Fencing::Perhaps } else { Fencing::Not };
    }
    let silent = matches!(name, "printf" | "assert" | "__assume") || uniformity::is_vector(name);
    match body.called_word(call) {
        Some(Word::Fence(Scope::Device | Scope::System)) => Fencing::Fence,
        Some(Word::Atomic(..)) => Fencing::Not,
        _ if uniformity::is_harmless(body, call) || silent => Fencing::Not,
        _ => Fencing::Perhaps,
    }
}

pub(super) fn missing_fences(body: &Body, program: &Program, seen: &Seen) -> Vec<MissingFence> {
    // what is not understood may be a fence
    if seen.unstructured.is_some() {
        return Vec::new();
    }
    let order: Vec<TermId> = body.walk(body.root).collect();
    let at = |t: TermId| order.iter().position(|x| *x == t).unwrap_or(usize::MAX);
    let calls: Vec<(usize, TermId, Fencing)> = order
        .iter()
        .enumerate()
        .filter(|(_, &t)| matches!(body.op(t), Op::Call))
        .map(|(k, &t)| (k, t, fencing(body, t, program, 0)))
        .filter(|c| c.2 != Fencing::Not)
        .collect();
    let mut out = Vec::new();
    for a in seen.accesses.iter().filter(|a| a.kind == AccessKind::Atomic) {
        let Some(counter) = access::place(body, a.place).filter(|p| p.space != Space::Shared) else {
            continue;
        };
        let tainted = tainted(body, a.term);
        let decides = |c: &TermId| {
            body.walk(*c).any(|x| x == a.term || body.as_symbol(x).is_some_and(|s| tainted.contains(&s)))
        };
        let here = at(a.term);
        let reads = seen.accesses.iter().filter(|r| {
            r.kind == AccessKind::Read && at(r.term) > here && r.at.conditions.iter().any(decides)
        });
        for r in reads {
            let Some(p) = access::place(body, r.place)
                .filter(|p| p.space != Space::Shared && p.object != counter.object)
            else {
                continue;
            };
            let until = at(r.term);
            // before the counter a fence will do, behind it something that waits for all blocks
            let unfenced = |w: usize, write: TermId| {
                !calls.iter().any(|&(k, t, what)| {
                    w < k && !other_way(body, write, t) && (k < here || k < until && what == Fencing::Perhaps)
                })
            };
            let write = seen.accesses.iter().find(|w| {
                w.kind == AccessKind::Write
                    && at(w.term) < here
                    && !other_way(body, w.term, a.term)
                    // a thread that looks at what it wrote itself waits for nobody
                    && !body.same(w.place, r.place)
                    && access::place(body, w.place).is_some_and(|q| q.space != Space::Shared && q.object == p.object)
                    && unfenced(at(w.term), w.term)
            });
            if let Some(w) = write {
                out.push(MissingFence { counter: a.term, write: w.term, read: r.term });
                break;
            }
        }
    }
    out
}

/// Whether two terms stand in the two ways of one `if`.
fn other_way(body: &Body, a: TermId, b: TermId) -> bool {
    body.walk(body.root).any(|t| match (body.op(t), body.args(t)) {
        (Op::If | Op::Select, &[_, yes, no]) => {
            let inside = |arm: TermId, x: TermId| body.walk(arm).any(|y| y == x);
            inside(yes, a) && inside(no, b) || inside(no, a) && inside(yes, b)
        }
        _ => false,
    })
}

/// Variables whose values the term's value may decide.
fn tainted(body: &Body, t: TermId) -> FxHashSet<SymbolId> {
    let mut out: FxHashSet<SymbolId> = FxHashSet::default();
    loop {
        let before = out.len();
        for x in body.walk(body.root) {
            let (s, value) = match (body.op(x), body.args(x)) {
                (Op::Declare(s), &[v]) => (Some(*s), v),
                (Op::Assign | Op::Compound(_), &[p, v]) => (body.as_symbol(p), v),
                _ => continue,
            };
            let Some(s) = s else { continue };
            if body.walk(value).any(|y| y == t || body.as_symbol(y).is_some_and(|z| out.contains(&z))) {
                out.insert(s);
            }
        }
        if out.len() == before {
            return out;
        }
    }
}
