//! From terms to instructions: names become registers or objects, types become the operations that C prescribes.
//!
//! What is not understood becomes an instruction that faults when it is reached, so a gap in a branch that is never
//! taken costs nothing and one that is taken is never guessed.
//!
//! Deliberately absent: any judgment about the program. Type errors that no front end lets through are "not supported".

mod call;
mod emit;
mod expr;
mod homes;
mod init;
mod launch;
mod place;
mod scopes;
mod stand_in;
mod stmt;
mod throws;
mod types;

use std::sync::Arc;

use base::IndexId;
use rustc_hash::{FxHashMap, FxHashSet};
use term::{Body, Len, Op, SymbolId, TermId, TypeId, TypeKind, Types};

use crate::code::*;
use crate::fault::{Fault, FaultKind};
use crate::limits::compile::MAX_DEPTH;

/// The functions and file-level declarations that may be executed together.
#[derive(Clone, Default)]
pub struct Program<'a> {
    functions: FxHashMap<Arc<str>, &'a Body>,
    declarations: Vec<&'a Body>,
    /// Names that several functions have.
    several: FxHashSet<Arc<str>>,
    /// Functions of files of kernels: there they are meant, whatever else has their names.
    device: FxHashMap<Arc<str>, &'a Body>,
    /// Functions without a body that host code may call all the same (see `stand_in.rs`).
    stand_ins: FxHashSet<Arc<str>>,
}

impl<'a> Program<'a> {
    /// Nothing.
    pub fn new() -> Program<'a> {
        Program::default()
    }
    /// Sorts bodies into functions (by name) and declarations. A name that several of them have is left out.
    pub fn of(bodies: impl IntoIterator<Item = &'a Body>) -> Program<'a> {
        let mut p = Program::new();
        let mut seen = FxHashSet::default();
        for b in bodies {
            p.add(b);
            let function = matches!(b.op(b.root), Op::Function(_));
            if function && !seen.insert(b.name.clone()) {
                // overloads of C++: which one a call means is not known here
                p.several.insert(b.name.clone());
            }
        }
        for name in &p.several {
            p.functions.remove(name);
        }
        p
    }
    /// Adds a file of kernels beside the host's: each of the two has its own functions of a name.
    pub fn add_kernels(&mut self, bodies: impl IntoIterator<Item = &'a Body>) {
        for b in bodies {
            match b.op(b.root) {
                Op::Function(_) => {
                    self.device.insert(b.name.clone(), b);
                    if !self.several.contains(&b.name) {
                        self.functions.entry(b.name.clone()).or_insert(b);
                    }
                }
                _ => self.declarations.push(b),
            }
        }
    }
    /// As kernels see it.
    pub(crate) fn for_kernels(&self) -> Program<'a> {
        let mut p = self.clone();
        p.stand_ins.clear();
        p.several.retain(|name| !self.device.contains_key(name));
        p.functions.extend(self.device.iter().map(|(name, b)| (name.clone(), *b)));
        p
    }
    /// Adds a function or file-level declarations; a later function of the same name takes the place of the earlier.
    pub fn add(&mut self, body: &'a Body) {
        match body.op(body.root) {
            Op::Function(_) => {
                self.functions.insert(body.name.clone(), body);
            }
            _ => self.declarations.push(body),
        }
    }
    /// The function's body.
    pub fn function(&self, name: &str) -> Option<&'a Body> {
        self.functions.get(name).copied()
    }
}

/// How to compile.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// C++ overloads of `math.h` (`sqrt(float)` is float) and CUDA's `min`, `max`.
    pub overloads: bool,
    /// Loops of the entry function to watch: its variables then live in memory, so that every access is seen.
    pub watch: Option<Vec<TermId>>,
    /// One jump a condition, so that branches can be counted ([`Code::decisions`]).
    pub decisions: bool,
    /// What the device has of threads and lanes.
    pub limits: gpu::Limits,
}

/// Compiles `entry` and all it calls.
pub fn compile(program: &Program<'_>, entry: &str, options: &Options) -> Result<Code, Fault> {
    let mut unit = Unit {
        program,
        options,
        code: Code { limits: options.limits, ..Code::default() },
        functions: FxHashMap::default(),
        globals: FxHashMap::default(),
        shared: FxHashMap::default(),
        queue: Vec::new(),
        inits: Vec::new(),
    };
    if unit.function(entry).is_none() {
        return Err(Fault::bad_call(&format!("no function `{entry}`")));
    }
    loop {
        if let Some((index, body)) = unit.queue.pop() {
            let func = Cx::function(&mut unit, body, index);
            unit.code.funcs[index as usize] = func;
        } else if let Some((body, symbol, init, global)) = unit.inits.pop() {
            let func = Cx::global_init(&mut unit, body, symbol, init);
            unit.code.init.push((global, unit.code.funcs.len() as u32));
            unit.code.funcs.push(func);
        } else {
            break;
        }
    }
    Ok(unit.code)
}

/// Why a term is not executed.
pub(crate) struct Gap {
    reason: Arc<str>,
    term: TermId,
}
pub(crate) type R<T> = Result<T, Gap>;

struct Unit<'u, 'a> {
    program: &'u Program<'a>,
    options: &'u Options,
    code: Code,
    functions: FxHashMap<Arc<str>, u32>,
    globals: FxHashMap<Arc<str>, u32>,
    shared: FxHashMap<(Arc<str>, u32), u32>,
    queue: Vec<(u32, &'a Body)>,
    inits: Vec<(&'a Body, SymbolId, TermId, u32)>,
}

impl<'a> Unit<'_, 'a> {
    /// The index of a function with a body; compiled later.
    fn function(&mut self, name: &str) -> Option<u32> {
        if let Some(&f) = self.functions.get(name) {
            return Some(f);
        }
        let body = self.program.function(name)?;
        let index = self.code.funcs.len() as u32;
        let (params, ret) = types::signature(body);
        self.code.funcs.push(Func {
            name: body.name.clone(),
            params,
            ret,
            code: Vec::new(),
            terms: Vec::new(),
            consts: Vec::new(),
            vars: Vec::new(),
            reasons: Vec::new(),
            regs: 0,
            slots: 0,
        });
        self.functions.insert(body.name.clone(), index);
        self.queue.push((index, body));
        Some(index)
    }

    fn push_global(&mut self, global: Global) -> u32 {
        self.code.globals.push(global);
        (self.code.globals.len() - 1) as u32
    }
}

/// Where a symbol lives.
#[derive(Clone, Copy, Debug)]
enum Home {
    /// A register; `flag` tells whether it was written, where that is not plain from the text.
    Reg {
        reg: Reg,
        flag: Option<Reg>,
    },
    /// An object whose address is in a register.
    Mem {
        addr: Reg,
        var: u32,
    },
    Global(u32),
    Shared(u32),
}

/// A value in a register.
#[derive(Clone, Copy, Debug)]
struct V {
    reg: Reg,
    ty: TypeId,
}

/// Something that can be assigned.
#[derive(Clone, Copy, Debug)]
enum Assignable {
    Reg { reg: Reg, flag: Option<Reg>, symbol: SymbolId, ty: TypeId },
    Mem { addr: Reg, ty: TypeId },
}

impl Assignable {
    fn ty(&self) -> TypeId {
        match self {
            Assignable::Reg { ty, .. } | Assignable::Mem { ty, .. } => *ty,
        }
    }
}

#[derive(Default)]
struct LoopCx {
    breaks: Vec<usize>,
    continues: Vec<usize>,
    is_switch: bool,
}

/// Compiles one function.
struct Cx<'c, 'u, 'a> {
    unit: &'c mut Unit<'u, 'a>,
    body: &'a Body,
    index: u32,
    types: Types,
    ins: Vec<Ins>,
    terms: Vec<TermId>,
    consts: Vec<u64>,
    pool: FxHashMap<u64, u32>,
    vars: Vec<Var>,
    reasons: Vec<Arc<str>>,
    homes: FxHashMap<SymbolId, Home>,
    lens: FxHashMap<TermId, Reg>,
    fixed: Reg,
    tmp: Reg,
    regs: Reg,
    at: TermId,
    /// Where control may arrive other than from the instruction before.
    joined: usize,
    nest: Vec<LoopCx>,
    labels: FxHashMap<Arc<str>, u32>,
    gotos: Vec<(usize, Arc<str>, TermId)>,
    cases: FxHashMap<TermId, u32>,
    watched: FxHashMap<TermId, u32>,
    watch_depth: u32,
    traced: bool,
    jumps: bool,
    scopes: scopes::Scopes,
    depth: u32,
    ret: RetKind,
    ret_ty: Option<TypeId>,
    ret_addr: Reg,
}

impl<'c, 'u, 'a> Cx<'c, 'u, 'a> {
    fn new(unit: &'c mut Unit<'u, 'a>, body: &'a Body, index: u32) -> Self {
        Cx {
            unit,
            body,
            index,
            types: body.types.clone(),
            ins: Vec::new(),
            terms: Vec::new(),
            consts: Vec::new(),
            pool: FxHashMap::default(),
            vars: Vec::new(),
            reasons: Vec::new(),
            homes: FxHashMap::default(),
            lens: FxHashMap::default(),
            fixed: 0,
            tmp: 0,
            regs: 0,
            at: body.root,
            joined: 0,
            nest: Vec::new(),
            labels: FxHashMap::default(),
            gotos: Vec::new(),
            cases: FxHashMap::default(),
            watched: FxHashMap::default(),
            watch_depth: 0,
            traced: false,
            jumps: false,
            scopes: scopes::Scopes::default(),
            depth: 0,
            ret: RetKind::Void,
            ret_ty: None,
            ret_addr: NONE,
        }
    }

    fn function(unit: &'c mut Unit<'u, 'a>, body: &'a Body, index: u32) -> Func {
        let watch = unit.options.watch.clone();
        let mut cx = Cx::new(unit, body, index);
        // the entry function is the first one
        if index == 0 {
            if let Some(loops) = watch {
                cx.traced = true;
                cx.unit.code.traced = Some(index);
                cx.watch(&loops);
            }
        }
        if let Err(gap) = cx.whole() {
            cx.gap(gap);
        }
        cx.finish()
    }

    fn global_init(unit: &'c mut Unit<'u, 'a>, body: &'a Body, symbol: SymbolId, init: TermId) -> Func {
        let mut cx = Cx::new(unit, body, u32::MAX);
        cx.reserve_lens();
        let r = cx.init_global(symbol, init);
        if let Err(gap) = r {
            cx.gap(gap);
        }
        cx.emit(Ins::Ret { a: NONE });
        let name: Arc<str> = format!("initializer of {}", body.symbols[symbol].name).into();
        let mut f = cx.finish();
        f.name = name;
        f
    }

    fn init_global(&mut self, symbol: SymbolId, init: TermId) -> R<()> {
        let place = self.symbol_place(symbol, init)?;
        match place {
            Assignable::Mem { addr, ty } => self.init(addr, ty, init, false),
            Assignable::Reg { .. } => Err(self.err("a global in a register")),
        }
    }

    fn watch(&mut self, loops: &[TermId]) {
        for &l in loops {
            if !self.body.op(l).is_loop() || self.watched.contains_key(&l) {
                continue;
            }
            let args = self.body.args(l);
            let mut header = FxHashSet::default();
            let mut index = None;
            if let (Op::For, [init, cond, step, ..]) = (self.body.op(l), args) {
                for part in [init, cond, step] {
                    header.extend(self.body.walk(*part));
                }
                index = self.index_of(*init).or_else(|| self.index_of(*step));
            }
            let n = self.unit.code.watched.len() as u32;
            self.unit.code.watched.push(Watched { term: l, index, header });
            self.watched.insert(l, n);
        }
    }

    /// The variable that an initialization or step moves.
    fn index_of(&self, t: TermId) -> Option<SymbolId> {
        match self.body.op(t) {
            Op::Declare(s) => Some(*s),
            Op::Assign | Op::Compound(_) | Op::Step { .. } => {
                self.body.as_symbol(*self.body.args(t).first()?)
            }
            Op::List => match self.body.args(t) {
                [one] => self.index_of(*one),
                _ => None,
            },
            _ => None,
        }
    }

    /// A register for every VLA length in any type of the body.
    fn reserve_lens(&mut self) {
        let ids: Vec<TypeId> = self.types.ids().collect();
        for ty in ids {
            let len = match self.types.kind(ty) {
                TypeKind::Array { len, .. } => len.clone(),
                _ => continue,
            };
            if let Len::Term(t) = len {
                if !self.lens.contains_key(&t) {
                    let r = self.fix();
                    self.lens.insert(t, r);
                }
            }
        }
    }

    /// The whole function: parameters, locals, body.
    fn whole(&mut self) -> R<()> {
        let body = self.body;
        let (params, statements) = match (body.op(body.root), body.args(body.root)) {
            (Op::Function(_), [p, b]) => (*p, *b),
            _ => return Err(self.err("a function without parameters and body")),
        };
        self.unplaced_rejects()?;
        if let Op::Function(f) = body.op(body.root) {
            if let TypeKind::Function { ret, variadic, .. } = self.types.kind(body.symbols[*f].ty) {
                if *variadic {
                    return Err(self.err("a function with a variable number of arguments"));
                }
                self.ret_ty = Some(*ret);
            }
        }
        let kinds = self.unit.code.funcs[self.index as usize].params.clone();
        self.ret = self.unit.code.funcs[self.index as usize].ret;
        let declared: Vec<SymbolId> = body
            .args(params)
            .iter()
            .filter_map(|&p| match body.op(p) {
                Op::Declare(s) => Some(*s),
                _ => None,
            })
            .collect();
        if declared.len() != kinds.len() || body.args(params).len() != kinds.len() {
            return Err(self.err("parameters of a kind this machine does not pass"));
        }
        for _ in &kinds {
            self.fix();
        }
        if matches!(self.ret, RetKind::Record(_)) {
            self.ret_addr = self.fix();
        }
        let taken = self.scan(statements);
        if self.jumps {
            self.scopes(statements);
        }
        // homes first: temporaries come after the last fixed register
        let mut entry: Vec<(SymbolId, Reg)> = Vec::new();
        for (i, &s) in declared.iter().enumerate() {
            let scalar = !matches!(kinds[i], ParamKind::Record(_));
            if scalar && !taken.contains(&s) && !self.traced {
                self.homes.insert(s, Home::Reg { reg: i as Reg, flag: None });
            } else {
                self.memory_home(s);
                entry.push((s, i as Reg));
            }
        }
        self.local_homes(statements, &taken);
        self.reserve_lens();
        self.tmp = self.fixed;
        // variables in memory exist from the start, so that a jump past a declaration finds them
        let all: Vec<(Reg, u32)> = self
            .homes
            .values()
            .filter_map(|h| match h {
                Home::Mem { addr, var } if self.vars[*var as usize].size != u64::MAX => Some((*addr, *var)),
                _ => None,
            })
            .collect();
        let mut all = all;
        all.sort_by_key(|&(_, v)| v);
        for (d, var) in all {
            self.emit(Ins::Alloc { d, var });
        }
        for (s, from) in entry {
            self.at = body.root;
            let ty = self.decayed_param(body.symbols[s].ty);
            let addr = match self.homes.get(&s) {
                Some(Home::Mem { addr, .. }) => *addr,
                _ => continue,
            };
            match self.types.kind(ty) {
                TypeKind::Record(_) => {
                    let size = self.const_size(ty)?;
                    self.emit(Ins::Copy { p: addr, a: from, size: size as u32 });
                }
                _ => {
                    let kind = self.mem_kind(ty)?;
                    self.emit(Ins::Store { kind, p: addr, a: from });
                }
            }
        }
        for &s in &declared {
            let ty = body.symbols[s].ty;
            self.lengths_of(ty)?;
        }
        self.statics(statements);
        self.stmt(statements);
        self.at = body.root;
        self.emit(Ins::Ret { a: NONE });
        self.patch_gotos();
        Ok(())
    }

    /// Gaps that stand at no term could be anywhere: the whole function is not executed.
    fn unplaced_rejects(&self) -> R<()> {
        let placed =
            self.body.walk(self.body.root).filter(|&t| matches!(self.body.op(t), Op::Reject(_))).count();
        match self.body.rejects().nth(placed) {
            Some(r) => Err(Gap { reason: r.reason.clone(), term: self.body.root }),
            None => Ok(()),
        }
    }

    /// A parameter of array type is a pointer (C11 6.7.6.3p7).
    fn decayed_param(&mut self, ty: TypeId) -> TypeId {
        match self.types.kind(ty) {
            TypeKind::Array { of, .. } => {
                let of = *of;
                self.types.pointer(of)
            }
            _ => ty,
        }
    }
}

/// "Not supported" as a fault of the caller's making.
pub(crate) fn not_supported(reason: &str) -> FaultKind {
    FaultKind::NotSupported { reason: reason.into() }
}

/// Number of a symbol for tables that know no types.
pub(crate) fn symbol_number(s: SymbolId) -> u32 {
    s.index() as u32
}
