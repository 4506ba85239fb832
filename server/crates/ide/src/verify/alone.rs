//! A loop as a function of what it uses, for functions that cannot be run as a whole.
//!
//! What stands before the loop in its function may ask the time, read a file or call what nobody knows. Then the loop
//! itself is run, original beside rewritten: scalars that it uses and nobody wants from it become parameters, what it
//! leaves behind (and arrays, structures) file-scope variables, and both get made-up contents. Variables that are set
//! once, where they are declared, and from what is known keep that declaration, so that `n` is 4096 and `q` is `p + n` here as well.
//!
//! That two such runs agree tells the same as elsewhere. That they differ tells something only where nothing is taken from
//! before the loop ([`is_same_alone`]): else the loop may never be come to with these values. Deliberately absent: what is
//! made of the answer (`cases.rs`).

use std::collections::BTreeMap;
use std::sync::Arc;

use base::{Budget, CancelToken, Span};
use rustc_hash::FxHashSet;
use term::{Body, BodyBuilder, Len, Op, Storage, Symbol, SymbolId, TermId, TypeId, TypeKind};

use super::inputs::{signature, Signature};
use crate::function_view::FunctionView;

/// Both sides of a loop alone.
pub(super) struct Alone {
    pub original: Body,
    /// The rewritten text's part.
    pub rewritten: Body,
    /// Number of the item of the rewritten text that it is a part of.
    pub item: usize,
    pub signature: Signature,
}

/// What becomes of a variable of the function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    /// Its declaration stands before the loop.
    Kept,
    Parameter,
    /// A file-scope variable. `dead`: nobody looks at it after the loop.
    Variable {
        dead: bool,
    },
}

/// Variables by name: what a loop names and does not declare, it names once.
type Roles = BTreeMap<Arc<str>, Role>;

/// The loop of a function, and what an offload has put in its place. `Err`: why it cannot stand alone, in words that follow
/// "because".
pub(super) fn alone(view: &FunctionView, id: analysis::LoopId, host: &front::Unit) -> Result<Alone, String> {
    let body = view.body();
    let term = view.of(id).term;
    let placed = body.walk(body.root).filter(|&t| matches!(body.op(t), Op::Reject(_))).count();
    if body.rejects().count() > placed {
        return Err("something in the function was not understood".to_owned());
    }
    let uses = Uses::of(body, term)?;
    let live = analysis::live_out(body, view.doc.program(), &view.facts, id);
    let unread = unread(view, term);
    let role = |s: SymbolId| {
        let symbol = &body.symbols[s];
        let own = symbol.is_own_scalar();
        let replaced = view.of(id).privates.iter().any(|p| p.symbol == s && !p.kept);
        let dead = replaced || own && !live.contains(&s) || unread.contains(&s);
        match (uses.kept.contains(&s), is_scalar(body, symbol)) {
            (true, _) => Role::Kept,
            // it stays where it is
            _ if variable_array(body, symbol).is_some() => Role::Parameter,
            (_, true) if own && dead => Role::Parameter,
            _ => Role::Variable { dead },
        }
    };
    let roles: Roles = uses.all.iter().map(|&s| (body.symbols[s].name.clone(), role(s))).collect();
    // only declarations compute lengths
    let is_sized = |s: &&SymbolId| {
        let mut terms = Vec::new();
        lengths(body, body.symbols[**s].ty, &mut terms);
        matches!(roles.get(&body.symbols[**s].name), Some(Role::Variable { .. })) && !terms.is_empty()
    };
    if let Some(&s) = uses.all.iter().find(is_sized) {
        return Err(format!("the lengths in the type of `{}` are variable", body.symbols[s].name));
    }
    let missing = || "the rewritten loop is not found in its text".to_owned();
    let (item, block) = rewritten(host, &body.name).ok_or_else(missing)?;
    let there = &host.items[item].body;
    let others = Uses::of_roles(there, block, &roles).ok_or_else(missing)?;
    let names = |uses: &Uses, body: &Body| -> Vec<Arc<str>> {
        uses.all.iter().map(|&s| body.symbols[s].name.clone()).collect()
    };
    if names(&uses, body) != names(&others, there) {
        return Err(missing());
    }
    let taken: FxHashSet<Arc<str>> = super::bodies(host)
        .flat_map(|b| b.symbols.iter())
        .filter(|s| matches!(s.storage, Storage::Global { .. } | Storage::Undeclared))
        .map(|s| s.name.clone())
        .collect();
    let original = part(body, term, &uses, &roles, &taken);
    let rewritten = part(there, block, &others, &roles, &taken);
    let mut signature = signature(&original)?;
    for g in &mut signature.globals {
        let is_dead = |(name, role): (&Arc<str>, &Role)| {
            *role == Role::Variable { dead: true } && outer_name(name, &taken) == g.name
        };
        g.dead = roles.iter().any(is_dead);
    }
    Ok(Alone { original, rewritten, item, signature })
}

/// Arrays that an offload of the loop leaves in any state.
fn unread(view: &FunctionView, term: TermId) -> Vec<SymbolId> {
    let (unknown, cancel) = (analysis::FileArrays::default(), &view.ask.cancel);
    let file = crate::file_arrays::of(view.doc, cancel, &std::cell::Cell::new(0)).unwrap_or(&unknown);
    let budget = Budget::with_cancel(analysis::OFFLOAD_STEPS, cancel.clone());
    analysis::unread_after(view.body(), view.doc.program(), term, file, &budget)
}

/// Whether the loop alone is analyzed and rewritten as it is in its function, so that the kernel and its host text rest on
/// nothing that only the function knows.
pub(super) fn is_same_alone(view: &FunctionView, id: analysis::LoopId, cancel: &CancelToken) -> bool {
    let body = view.body();
    let term = view.of(id).term;
    let Ok(uses) = Uses::of(body, term) else { return false };
    let live = analysis::live_out(body, view.doc.program(), &view.facts, id);
    let written = |view: &FunctionView, id| {
        let pages = view.ask.host_pages();
        let printed = |plan: &codegen::Plan, _: &FunctionView| codegen::print(plan, &pages);
        let output = crate::plans::with_plan(view, id, cancel, printed).ok()?.ok()?;
        let host = codegen::host_edits(view.doc.source(), &[&output]);
        let host: Vec<_> = host.into_iter().map(|e| (e.span, e.text)).collect();
        Some((output.kernel_file.text, host))
    };
    let Some(whole) = written(view, id) else { return false };
    view.with_body(part_that_is_read(body, term, &uses, &live), cancel, |part, _| {
        part.facts.of_term(term).is_some_and(|there| written(part, there).as_ref() == Some(&whole))
    })
}

/// What an offload has written around the loop of a function: the call, the loop, and results that the call keeps in variables
/// of its own.
fn rewritten(host: &front::Unit, function: &str) -> Option<(usize, TermId)> {
    let mut found = host.items.iter().enumerate().filter_map(|(k, item)| {
        let body = &*item.body;
        let is_it = matches!(body.op(body.root), Op::Function(_)) && *body.name == *function;
        let is_call = |t: &TermId| crate::function_view::is_fallback(body, *t);
        is_it.then(|| body.walk(body.root).filter(is_call).map(move |t| (k, t)).collect::<Vec<_>>())
    });
    // a text that has been offloaded before has several
    let (item, call) = match (found.next().as_deref(), found.next()) {
        (Some(&[one]), None) => one,
        _ => return None,
    };
    let body = &*host.items[item].body;
    let declares = |t: TermId| match body.op(t) {
        Op::Declare(s) => body.symbols[*s].name.ends_with(codegen::ON_GPU),
        _ => false,
    };
    let around = body.walk(body.root).find(|&t| {
        let inside = body.args(t);
        matches!(body.op(t), Op::List) && inside.contains(&call) && declares(inside[0])
    });
    Some((item, around.unwrap_or(call)))
}

/// Variables of a function that a part of it uses and does not declare.
struct Uses {
    all: Vec<SymbolId>,
    /// Those whose declarations go with the part.
    kept: Vec<SymbolId>,
}

impl Uses {
    fn of(body: &Body, part: TermId) -> Result<Uses, String> {
        let uses = Uses::with(body, part, |s| is_set_once(body, s));
        let mut names = FxHashSet::default();
        match uses.all.iter().find(|&&s| !names.insert(body.symbols[s].name.clone())) {
            Some(&s) => Err(format!("two variables `{}` are needed for it", body.symbols[s].name)),
            None => Ok(uses),
        }
    }

    /// Likewise of another text, where the names have these roles. `None`: some name has none.
    fn of_roles(body: &Body, part: TermId, roles: &Roles) -> Option<Uses> {
        let uses = Uses::with(body, part, |s| roles.get(&body.symbols[s].name) == Some(&Role::Kept));
        uses.all.iter().all(|&s| roles.contains_key(&body.symbols[s].name)).then_some(uses)
    }

    fn with(body: &Body, part: TermId, keep: impl Fn(SymbolId) -> bool) -> Uses {
        let mut inside = FxHashSet::default();
        let mut uses = Uses { all: Vec::new(), kept: Vec::new() };
        let mut queue = vec![part];
        let mut seen = FxHashSet::default();
        while let Some(t) = queue.pop() {
            let terms: Vec<TermId> = body.walk(t).collect();
            if t == part {
                inside.extend(terms.iter().filter_map(|&t| declared(body, t)));
            }
            for s in terms.iter().filter_map(|&t| body.as_symbol(t).or_else(|| declared(body, t))) {
                if !seen.insert(s) {
                    continue;
                }
                lengths(body, body.symbols[s].ty, &mut queue);
                let storage = body.symbols[s].storage;
                if inside.contains(&s)
                    || !matches!(storage, Storage::Param(_) | Storage::Local | Storage::StaticLocal { .. })
                {
                    continue;
                }
                uses.all.push(s);
                if let Some(declaration) = keep(s).then(|| declaration(body, s)).flatten() {
                    uses.kept.push(s);
                    queue.push(declaration);
                }
            }
        }
        uses.all.sort_by_key(|&s| body.symbols[s].name.clone());
        uses
    }
}

fn declared(body: &Body, t: TermId) -> Option<SymbolId> {
    match body.op(t) {
        Op::Declare(s) => Some(*s),
        _ => None,
    }
}

/// Terms that lengths in a type are made of.
fn lengths(body: &Body, ty: TypeId, out: &mut Vec<TermId>) {
    let mut at = ty;
    loop {
        let len = match body.types.kind(at) {
            TypeKind::Array { of, len } => {
                at = *of;
                len
            }
            TypeKind::Pointer { to, declared, .. } => {
                at = *to;
                declared
            }
            _ => return,
        };
        if let Len::Term(t) = len {
            out.push(*t);
        }
    }
}

/// The declaration with a value.
fn declaration(body: &Body, s: SymbolId) -> Option<TermId> {
    body.walk(body.root).find(|&t| declared(body, t) == Some(s) && !body.args(t).is_empty())
}

/// Whether a variable has the value that its declaration gives, and that can be computed from others.
fn is_set_once(body: &Body, s: SymbolId) -> bool {
    let symbol = &body.symbols[s];
    let constant = body.types.quals(symbol.ty).is_const;
    if !(symbol.storage == Storage::Local || symbol.storage.is_static_local() && constant) {
        return false;
    }
    let Some(declaration) = declaration(body, s) else { return false };
    let is_changed = |t: TermId| match (body.op(t), body.args(t)) {
        (op, &[place, ..]) if op.is_write() => base_of(body, place) == Some(s),
        (Op::AddrOf, &[place]) => base_of(body, place) == Some(s),
        (Op::Reject(_), _) => body.touched_by_gap(t).contains(&s),
        _ => false,
    };
    let is_known = |t: TermId| match body.op(t) {
        Op::Int(_) | Op::Float(_) | Op::Unary(_) | Op::Binary(_) | Op::Select | Op::Cast | Op::InitList => {
            true
        }
        Op::SizeOf | Op::SizeOfType(_) | Op::Index | Op::Member { .. } | Op::Deref => true,
        Op::Sym(x) => match body.symbols[*x].storage {
            Storage::Function => is_function(body, t),
            Storage::Undeclared => false,
            _ => *x != s,
        },
        Op::Call => body.args(t).first().is_some_and(|&f| is_function(body, f)),
        _ => false,
    };
    let arrays_only = !matches!(body.types.kind(symbol.ty), TypeKind::Array { .. }) || !symbol.address_taken;
    arrays_only && body.walk(declaration).skip(1).all(is_known) && !body.walk(body.root).any(is_changed)
}

/// A function of the library that does nothing but compute.
fn is_function(body: &Body, t: TermId) -> bool {
    let of_library = |s: SymbolId| {
        body.library.contains(&s)
            && matches!(body.symbols[s].storage, Storage::Function)
            && term::intrinsic(&body.symbols[s].name).is_some()
    };
    body.as_symbol(t).is_some_and(of_library)
}

/// The variable that a place is a part of, by name.
fn base_of(body: &Body, place: TermId) -> Option<SymbolId> {
    let mut at = place;
    loop {
        match (body.op(at), body.args(at)) {
            (Op::Sym(s), _) => return Some(*s),
            // what a pointer points to is no part of it
            (Op::Index, &[base, _]) if matches!(body.types.kind(body.ty(base)), TypeKind::Pointer { .. }) => {
                return None
            }
            (Op::Index, &[base, _]) | (Op::Member { arrow: false, .. }, &[base]) => at = base,
            _ => return None,
        }
    }
}

/// Numbers and pointers.
fn is_scalar(body: &Body, symbol: &Symbol) -> bool {
    match body.types.kind(symbol.ty) {
        TypeKind::Int(_) | TypeKind::Float(_) | TypeKind::Pointer { .. } => !symbol.storage.is_static_local(),
        _ => false,
    }
}

/// What an array of variable length is an array of.
fn variable_array(body: &Body, symbol: &Symbol) -> Option<TypeId> {
    match body.types.kind(symbol.ty) {
        TypeKind::Array { of, .. } if body.types.size_align(symbol.ty).is_none() => Some(*of),
        _ => None,
    }
}

/// A name that no variable outside of functions has.
fn outer_name(name: &Arc<str>, taken: &FxHashSet<Arc<str>>) -> Arc<str> {
    match taken.contains(name) {
        true => format!("{name} (local)").into(),
        false => name.clone(),
    }
}

/// A part of a function as one.
fn part(body: &Body, part: TermId, uses: &Uses, roles: &Roles, taken: &FxHashSet<Arc<str>>) -> Body {
    let mut new = body.to_builder();
    let void = new.types.void();
    let span = body.span(part);
    let (mut parameters, mut declared) = (Vec::new(), kept(body, uses));
    for &s in &uses.all {
        let symbol = &body.symbols[s];
        if let Some(of) = variable_array(body, symbol) {
            new.symbols[s].ty = new.types.pointer(of);
        }
        match roles.get(&symbol.name) {
            Some(Role::Parameter) => {
                let storage = Storage::Param(parameters.len() as u32);
                let handed = match flat(body, symbol.ty) {
                    // rows have their lengths once what these are made of is declared
                    Some(element) => {
                        let ty = new.types.pointer(element);
                        let symbol = Symbol { ty, storage, address_taken: false, ..symbol.clone() };
                        let handed = new.symbols.push(symbol);
                        let value = new.term(Op::Sym(handed), [], ty, span);
                        new.symbols[s].storage = Storage::Local;
                        declared.push((position(body, s), new.term(Op::Declare(s), [value], void, span)));
                        handed
                    }
                    None => {
                        new.symbols[s].storage = storage;
                        s
                    }
                };
                parameters.push(new.term(Op::Declare(handed), [], void, span));
            }
            Some(Role::Variable { .. }) => {
                new.symbols[s].name = outer_name(&symbol.name, taken);
                // `defined_here` would promise a value that a text gives
                new.symbols[s].storage =
                    Storage::Global { defined_here: false, internal: false, constant: false };
            }
            Some(Role::Kept) | None => {}
        }
    }
    let mut statements = in_order(declared);
    statements.push(part);
    function(body, new, parameters, statements, span)
}

/// Likewise for the analysis: variables are those of a function, and what is read after the part is read here.
fn part_that_is_read(body: &Body, part: TermId, uses: &Uses, live: &[SymbolId]) -> Body {
    let mut new = body.to_builder();
    let void = new.types.void();
    let span = body.span(part);
    let (mut parameters, mut all) = (Vec::new(), kept(body, uses));
    for &s in uses.all.iter().filter(|s| !uses.kept.contains(s)) {
        let declared = new.term(Op::Declare(s), [], void, span);
        match is_scalar(body, &body.symbols[s]) {
            true => {
                new.symbols[s].storage = Storage::Param(parameters.len() as u32);
                parameters.push(declared);
            }
            false => all.push((position(body, s), declared)),
        }
    }
    let mut statements = in_order(all);
    statements.push(part);
    for &s in live.iter().filter(|s| uses.all.contains(s)) {
        statements.push(new.term(Op::Sym(s), [], body.symbols[s].ty, span));
    }
    function(body, new, parameters, statements, span)
}

/// The declarations that go with a part, each with its place in the text.
fn kept(body: &Body, uses: &Uses) -> Vec<(u32, TermId)> {
    uses.kept.iter().filter_map(|&s| Some((position(body, s), declaration(body, s)?))).collect()
}

fn in_order(mut declarations: Vec<(u32, TermId)>) -> Vec<TermId> {
    declarations.sort_by_key(|d| d.0);
    declarations.into_iter().map(|d| d.1).collect()
}

/// Where a variable is declared.
fn position(body: &Body, s: SymbolId) -> u32 {
    let at = body.walk(body.root).find(|&t| declared(body, t) == Some(s));
    at.map_or(0, |t| body.span(t).start)
}

/// What rows of variable length consist of; `None` for other types.
fn flat(body: &Body, ty: TypeId) -> Option<TypeId> {
    let mut terms = Vec::new();
    lengths(body, ty, &mut terms);
    let mut at = ty;
    while let TypeKind::Array { of, .. } | TypeKind::Pointer { to: of, .. } = body.types.kind(at) {
        at = *of;
    }
    (!terms.is_empty()).then_some(at)
}

/// A function without a value.
fn function(
    body: &Body,
    mut new: BodyBuilder,
    parameters: Vec<TermId>,
    statements: Vec<TermId>,
    span: Span,
) -> Body {
    let void = new.types.void();
    let root = body.root;
    if let Op::Function(f) = *body.op(root) {
        let kind = TypeKind::Function { ret: void, params: Vec::new(), variadic: false };
        new.symbols[f].ty = new.types.plain(kind);
    }
    let parameters = new.term(Op::List, parameters, void, span);
    let statements = new.term(Op::List, statements, void, span);
    let root = new.term(body.op(root).clone(), [parameters, statements], body.ty(root), span);
    new.finish_part(root)
}
