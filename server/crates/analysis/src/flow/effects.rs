//! What a stretch of a body may write, and which values are fixed while it runs.
//!
//! Only variables are counted here; memory behind pointers is the business of `nest`.

mod told;

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};
use term::{Body, Op, Storage, SymbolId, TermId, TypeKind};

use crate::flow::called::{call, keeps, Called, Callees};
use crate::flow::ends::never_returns;
use crate::flow::library::only_computes;
use crate::flow::parts::written_part;
use crate::{ObstacleKind, Summary};

/// Memoised write sets of one body.
pub(crate) struct Effects<'a> {
    body: &'a Body,
    program: &'a dyn Callees,
    /// Variables that a term may write without naming them as a place: a call those whose address it is given and
    /// file-scope ones, a place that was not understood what it reaches.
    unseen: FxHashMap<TermId, Vec<SymbolId>>,
    /// Of each call of a known function that writes file-scope variables, the function; and these variables of each, once.
    callees: FxHashMap<TermId, SymbolId>,
    globals_written: FxHashMap<SymbolId, Vec<SymbolId>>,
    /// File-scope variables by name.
    globals: FxHashMap<&'a str, SymbolId>,
    /// Whether no call in the body runs it once more before it comes back, as far as somebody found out.
    pub is_never_entered_again: bool,
    /// Entries of the lists of what is written unseen: a gap has one for every variable it reaches.
    pub listed: usize,
    /// Variables that a place which was not understood may reach.
    in_gaps: FxHashSet<SymbolId>,
    memo: RefCell<FxHashMap<TermId, Rc<FxHashSet<SymbolId>>>>,
    /// The same with the variables of which a part is written.
    parts: RefCell<FxHashMap<TermId, Rc<FxHashSet<SymbolId>>>>,
    /// Whether a term writes memory.
    stores: RefCell<FxHashMap<TermId, bool>>,
    parents: OnceCell<Vec<Option<TermId>>>,
    /// What becomes known to whom, and when.
    known: told::Known,
    /// Labels and all terms around them.
    entered: OnceCell<FxHashSet<TermId>>,
    jumps: OnceCell<bool>,
    gaps: OnceCell<bool>,
    /// Declarations of the function's own variables.
    locals: OnceCell<Vec<(TermId, SymbolId)>>,
    telling: RefCell<FxHashMap<TermId, Rc<Vec<u32>>>>,
    /// How many terms write each variable in the whole body (its declaration's initialiser counts as one).
    pub writes: FxHashMap<SymbolId, Vec<TermId>>,
}

impl<'a> Effects<'a> {
    pub(crate) fn new(body: &'a Body, program: &'a dyn Callees) -> Effects<'a> {
        let mut writes: FxHashMap<SymbolId, Vec<TermId>> = FxHashMap::default();
        for t in body.walk(body.root) {
            if let Some(s) = written(body, t) {
                writes.entry(s).or_default().push(t);
            }
        }
        let globals = globals(body);
        let mut unseen = FxHashMap::default();
        let mut in_gaps = FxHashSet::default();
        let (mut callees, mut globals_written) = (FxHashMap::default(), FxHashMap::default());
        let mut listed = 0;
        for t in body.walk(body.root) {
            let mut list = match body.op(t) {
                Op::Call => {
                    let called = call(body, program, t);
                    let summary = called.as_ref().ok().and_then(Called::summary);
                    if let Some((f, summary)) = body.callee(t).zip(summary) {
                        let written = || globals_of(summary, &globals);
                        let written: &mut Vec<SymbolId> = globals_written.entry(f).or_insert_with(written);
                        if !written.is_empty() {
                            callees.insert(t, f);
                        }
                    }
                    written_by_call(body, called.as_ref().ok(), t)
                }
                _ => body.written_by_gap(t),
            };
            for s in handed_to_a_stranger(body, program, t) {
                writes.entry(s).or_default().push(t);
                in_gaps.insert(s);
                list.push(s);
            }
            if list.is_empty() {
                continue;
            }
            listed += list.len();
            if body.reach(t).is_some() {
                // One more place that gives them a value, and not one that is seen.
                for &s in &list {
                    writes.entry(s).or_default().push(t);
                    in_gaps.insert(s);
                }
            }
            unseen.insert(t, list);
        }
        let (memo, parts, stores) = (RefCell::default(), RefCell::default(), RefCell::default());
        let parents = OnceCell::new();
        let (entered, jumps) = (OnceCell::new(), OnceCell::new());
        let (gaps, locals) = (OnceCell::new(), OnceCell::new());
        let telling = RefCell::default();
        Effects {
            body,
            program,
            unseen,
            callees,
            globals_written,
            globals,
            listed,
            is_never_entered_again: false,
            in_gaps,
            memo,
            parts,
            stores,
            parents,
            known: told::Known::default(),
            entered,
            jumps,
            gaps,
            locals,
            telling,
            writes,
        }
    }

    /// The file-scope variable of this name.
    pub(crate) fn global(&self, name: &str) -> Option<SymbolId> {
        self.globals.get(name).copied()
    }

    /// The term around another.
    pub(crate) fn parent(&self, t: TermId) -> Option<TermId> {
        self.parents.get_or_init(|| self.body.parents()).get(t.0 as usize).copied().flatten()
    }

    /// What is run each time anew when the term is reached once more in one call of the function: the outermost loop
    /// around it (itself, where there is none), or all of the function where jumps lead to labels.
    pub(crate) fn repeated_around(&self, t: TermId) -> TermId {
        if self.entered_by_label(self.body.root) || self.jumps_unseen() {
            return self.body.root;
        }
        let around = std::iter::successors(Some(t), |&x| self.parent(x));
        around.filter(|&x| self.body.op(x).is_loop()).last().unwrap_or(t)
    }

    /// Whether a label is the term or stands in it, so that control may come into it from elsewhere. Of a `switch` what stands deeper
    /// than its own parts is come to so: `{ h = 1; case 5: … }`.
    pub(crate) fn entered_by_label(&self, t: TermId) -> bool {
        let body = self.body;
        let around = || {
            let mut out = FxHashSet::default();
            for l in body.walk(body.root) {
                let is_case = match body.op(l) {
                    Op::Label(_) => false,
                    Op::Case | Op::Default => true,
                    _ => continue,
                };
                let is_part = |x: TermId| {
                    let up = self.parent(x);
                    up.and_then(|list| self.parent(list)).is_some_and(|s| *body.op(s) == Op::Switch)
                };
                if is_case && is_part(l) {
                    continue;
                }
                let mut at = Some(l);
                // What is around a term that is there is there.
                while let Some(x) = at.filter(|&x| out.insert(x)) {
                    at = self.parent(x).filter(|_| !(is_case && is_part(x)));
                }
            }
            out
        };
        self.entered.get_or_init(around).contains(&t)
    }

    /// Whether control may take ways in the body that are not seen.
    pub(crate) fn jumps_unseen(&self) -> bool {
        *self.jumps.get_or_init(|| self.body.jumps_unseen(self.body.root))
    }

    /// Whether some place of the body was not understood.
    pub(crate) fn has_gaps(&self) -> bool {
        let is_gap = |t: TermId| matches!(self.body.op(t), Op::Reject(_));
        *self.gaps.get_or_init(|| self.body.walk(self.body.root).any(is_gap))
    }

    /// The declarations of the function's own variables.
    pub(crate) fn locals(&self) -> &[(TermId, SymbolId)] {
        let body = self.body;
        let declared = |t: TermId| match body.op(t) {
            Op::Declare(s) if matches!(body.symbols[*s].storage, Storage::Local) => Some((t, *s)),
            _ => None,
        };
        self.locals.get_or_init(|| body.walk(body.root).filter_map(declared).collect())
    }

    /// Positions in a list of the statements that tell those behind them something of variables. The others are loops that
    /// write no variable but their own and whose condition is about these: every loop of a function reads what stands before
    /// it, and mostly that is such loops.
    pub(crate) fn telling(&self, list: TermId) -> Rc<Vec<u32>> {
        if let Some(known) = self.telling.borrow().get(&list) {
            return known.clone();
        }
        let body = self.body;
        let declared = |x: TermId| match body.op(x) {
            Op::Declare(s) => Some(*s),
            _ => None,
        };
        let silent = |t: TermId| {
            let Some(parts) = body.loop_parts(t) else { return false };
            if parts.condition.is_some_and(|c| !is_of_its_own(body, t, c)) || self.entered_by_label(t) {
                return false;
            }
            let own: FxHashSet<SymbolId> = body.walk(t).filter_map(declared).collect();
            self.writes_in(t).is_subset(&own)
        };
        let all = body.args(list).iter().zip(0..);
        let telling: Rc<Vec<u32>> = Rc::new(all.filter(|(&t, _)| !silent(t)).map(|(_, k)| k).collect());
        self.telling.borrow_mut().insert(list, telling.clone());
        telling
    }

    /// Whether a call of one of the program's functions gives memory that the call made, and that nothing else was given; nobody else
    /// was told of it either.
    pub(crate) fn makes_memory(&self, call: TermId) -> bool {
        self.program.called(self.body, call).is_some_and(Summary::makes_memory)
    }

    /// Whether a term, or what it calls, may write memory, or what is known of it is not enough to tell.
    pub(crate) fn writes_memory(&self, root: TermId) -> bool {
        if let Some(&known) = self.stores.borrow().get(&root) {
            return known;
        }
        let body = self.body;
        // a variable that pointers may show is memory, too
        let is_reached = |s: SymbolId| !body.symbols[s].is_own_scalar();
        let may = body.walk(root).any(|t| match body.op(t) {
            Op::Call => !call(body, self.program, t).is_ok_and(|c| c.writes_nothing()),
            Op::Reject(_) | Op::Launch | Op::Apply(_) => true,
            Op::Declare(s) => !body.args(t).is_empty() && is_reached(*s),
            op if op.is_write() => {
                body.args(t).first().is_none_or(|&p| body.as_symbol(p).is_none_or(is_reached))
            }
            _ => false,
        });
        self.stores.borrow_mut().insert(root, may);
        may
    }

    /// Whether the call never comes back.
    pub(crate) fn never_returns(&self, t: TermId) -> bool {
        never_returns(self.body, &|call| self.program.called(self.body, call), t)
    }

    /// Variables that a term under `root` writes directly (declared ones included), those that a call there may write by
    /// their address or as file-scope variables, and those that a place which was not understood may write.
    ///
    /// Takes no steps of its own: a walk over `root`, once for each, and the lists of what its terms write unseen, which
    /// whoever made this has paid for once. Terms asked about lie in one another as deep as statements are followed.
    pub(crate) fn writes_in(&self, root: TermId) -> Rc<FxHashSet<SymbolId>> {
        if let Some(set) = self.memo.borrow().get(&root) {
            return set.clone();
        }
        let mut set: FxHashSet<SymbolId> =
            self.body.walk(root).filter_map(|t| written(self.body, t)).collect();
        if !self.unseen.is_empty() {
            set.extend(self.body.walk(root).filter_map(|t| self.unseen.get(&t)).flatten());
        }
        if !self.callees.is_empty() {
            let called: FxHashSet<SymbolId> =
                self.body.walk(root).filter_map(|t| self.callees.get(&t).copied()).collect();
            set.extend(called.iter().filter_map(|f| self.globals_written.get(f)).flatten());
        }
        let set = Rc::new(set);
        self.memo.borrow_mut().insert(root, set.clone());
        set
    }

    /// Those of [`Effects::writes_in`], and variables of which a term under `root` writes a part by name: what reads them
    /// whole does not always find the same.
    pub(crate) fn changes_in(&self, root: TermId) -> Rc<FxHashSet<SymbolId>> {
        if let Some(set) = self.parts.borrow().get(&root) {
            return set.clone();
        }
        let mut set = (*self.writes_in(root)).clone();
        set.extend(self.body.walk(root).filter_map(|t| written_part(self.body, t)));
        let set = Rc::new(set);
        self.parts.borrow_mut().insert(root, set.clone());
        set
    }

    /// Whether the term has the same value each time it is evaluated while `during` runs, memory aside: it calls
    /// nothing that is not pure, writes nothing, and reads no variable that is written there. Reads of memory are
    /// allowed; whether that memory is written is decided with the accesses.
    pub(crate) fn is_invariant_in(&self, body: &Body, t: TermId, during: TermId) -> bool {
        let written_there = self.writes_in(during);
        let whole = |x: TermId, s: SymbolId| {
            let record = matches!(body.types.kind(body.symbols[s].ty), TypeKind::Record(_));
            let part =
                || self.parent(x).is_some_and(|p| matches!(body.op(p), Op::Member { .. } | Op::AddrOf));
            record && !part()
        };
        body.walk(t).all(|x| match body.op(x) {
            Op::Sym(s) if whole(x, *s) => !self.changes_in(during).contains(s),
            Op::Sym(s) => !written_there.contains(s),
            Op::Call => call(body, self.program, x).is_ok_and(|c| c.writes_nothing()),
            Op::Reject(_) | Op::Launch | Op::Apply(_) => false,
            op => !op.is_write(),
        })
    }

    /// Whether it is a file-scope variable to which nothing makes a pointer: what a pointer shows is never part of it.
    pub(crate) fn is_hidden(&self, s: SymbolId) -> bool {
        let symbol = &self.body.symbols[s];
        matches!(symbol.storage, Storage::Global { .. }) && self.program.hides(&symbol.name)
    }

    /// Whether a call is given a pointer made from the variable and may store it.
    pub(crate) fn is_handed_on(&self, s: SymbolId) -> bool {
        let body = self.body;
        let becomes_number = |t: TermId| {
            *body.op(t) == Op::Cast
                && body.types.is_arithmetic(body.ty(t))
                && body.walk(t).any(|x| body.as_symbol(x) == Some(s))
                && body.args(t).iter().any(|&x| body.types.element(body.ty(x)).is_some())
        };
        body.symbols[s].address_taken
            || body.walk(body.root).any(|t| match body.op(t) {
                Op::Call => body.args(t).iter().skip(1).enumerate().any(|(k, &a)| {
                    body.types.element(body.ty(a)).is_some()
                        && body.walk(a).any(|x| body.as_symbol(x) == Some(s))
                        && keeps(body, self.program, t, k)
                }),
                _ => becomes_number(t),
            })
    }

    /// Whether the variable keeps the value it has at its declaration (or at the body's start, for a parameter) for
    /// the whole body, its address being nobody's.
    pub(crate) fn is_single_valued(&self, s: SymbolId) -> bool {
        let symbol = &self.body.symbols[s];
        if symbol.address_taken {
            return false;
        }
        // A structure has a value as a whole.
        if matches!(self.body.types.kind(symbol.ty), TypeKind::Record(_)) {
            return self.body.walk(self.body.root).all(|t| written_part(self.body, t) != Some(s))
                && self.writes.get(&s).is_none_or(|w| w.len() <= 1 && symbol.storage == Storage::Local);
        }
        let n = self.writes.get(&s).map_or(0, Vec::len);
        match symbol.storage {
            Storage::Param(_) => n == 0,
            Storage::Local => n == 1,
            _ => false,
        }
    }
}

/// The variable a term itself writes.
pub(crate) fn written(body: &Body, t: TermId) -> Option<SymbolId> {
    match body.op(t) {
        op if op.is_write() => body.args(t).first().and_then(|&p| body.as_symbol(p)),
        // A parameter's declaration only names it.
        Op::Declare(s) if !matches!(body.symbols[*s].storage, Storage::Param(_)) => Some(*s),
        _ => None,
    }
}

/// The function's own numbers that are given, by name, to what is declared nowhere: `clip(m);` may be a macro of a header that
/// was not read, and change them.
fn handed_to_a_stranger(body: &Body, program: &dyn Callees, t: TermId) -> Vec<SymbolId> {
    let (Op::Call, [callee, args @ ..]) = (body.op(t), body.args(t)) else { return Vec::new() };
    let undeclared = body.as_symbol(*callee).is_some_and(|f| body.symbols[f].storage == Storage::Undeclared);
    if !undeclared || !matches!(call(body, program, t), Err(ObstacleKind::UnknownCall(_))) {
        return Vec::new();
    }
    let own = |s: &SymbolId| {
        let symbol = &body.symbols[*s];
        matches!(symbol.storage, Storage::Local | Storage::Param(_)) && body.types.is_arithmetic(symbol.ty)
    };
    args.iter().filter_map(|&a| body.as_symbol(a)).filter(own).collect()
}

/// Variables of the body whose value the call may change by their address; `called`: what it does, if that is known.
fn written_by_call(body: &Body, called: Option<&Called<'_>>, t: TermId) -> Vec<SymbolId> {
    let mut out = Vec::new();
    for (k, &a) in body.args(t).iter().skip(1).enumerate() {
        let may = called.is_none_or(|c| c.through(k).written);
        let address = body.types.element(body.ty(a)).is_some();
        if may && address {
            // Memory behind a pointer is the business of `nest`; a variable's own address names the variable.
            let base = crate::flow::parts::base_symbol(body, a);
            out.extend(base.filter(|&s| {
                !matches!(body.types.kind(body.symbols[s].ty), TypeKind::Pointer { .. })
                    || is_address_of(body, a, s)
            }));
        }
    }
    out
}

/// File-scope variables that a function writes.
fn globals_of(summary: &Summary, globals: &FxHashMap<&str, SymbolId>) -> Vec<SymbolId> {
    let written = summary.globals.iter().filter(|(_, used)| used.own.written);
    written.filter_map(|(name, _)| globals.get(&**name).copied()).collect()
}

/// Whether the argument is `&s` or a part of it, not a pointer that `s` holds.
fn is_address_of(body: &Body, mut t: TermId, s: SymbolId) -> bool {
    while *body.op(t) == Op::Cast {
        let Some(&a) = body.args(t).first() else { return false };
        t = a;
    }
    *body.op(t) == Op::AddrOf && body.args(t).first().and_then(|&x| body.as_symbol(x)) == Some(s)
}

/// File-scope variables by name, the first of each.
fn globals(body: &Body) -> FxHashMap<&str, SymbolId> {
    let mut out = FxHashMap::default();
    for (id, v) in body.symbols.iter_ids().filter(|(_, v)| matches!(v.storage, Storage::Global { .. })) {
        out.entry(&*v.name).or_insert(id);
    }
    out
}

/// Whether a called function is known to be pure: one of the library's that this file does not define otherwise.
pub(crate) fn is_pure_callee(body: &Body, f: SymbolId) -> bool {
    body.library.contains(&f) && only_computes(&body.symbols[f].name)
}

/// Whether a loop's condition compares a variable that the loop declares with something else: that it is false behind the
/// loop says nothing of others.
pub(crate) fn is_of_its_own(body: &Body, t: TermId, c: TermId) -> bool {
    let (Op::Binary(op), &[a, b]) = (body.op(c), body.args(c)) else { return false };
    let declares = |s: SymbolId| {
        let init = body.loop_parts(t).and_then(|p| p.init);
        init.is_some_and(|i| body.walk(i).any(|x| *body.op(x) == Op::Declare(s)))
    };
    let own = |x: TermId, y: TermId| {
        let s = body.as_symbol(x).filter(|&s| declares(s));
        s.is_some_and(|s| body.walk(y).all(|z| body.as_symbol(z) != Some(s)))
    };
    op.is_comparison() && (own(a, b) || own(b, a))
}
