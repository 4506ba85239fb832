//! Functions of the program that kernels call: each becomes a `__device__` function, with all that it needs.

use std::collections::BTreeMap;
use std::sync::Arc;

use analysis::Program;
use term::{intrinsic, Body, FloatKind, Len, Op, RecordId, Storage, SymbolId, TermId, TypeId, TypeKind};

use super::names::Namer;
use super::support::MAX_DEPTH;

/// A function to be printed for the device.
#[derive(Clone, Debug)]
pub struct DeviceFunction {
    /// Its name in the program.
    pub name: Arc<str>,
    pub body: Arc<Body>,
    /// Names of its variables in the kernel file.
    pub names: BTreeMap<SymbolId, String>,
    /// The structs it uses, in its own body.
    pub records: Vec<RecordId>,
    /// A call of it in the loop, directly or through others.
    pub called_at: TermId,
}

/// Why a function of the program gets no version for the device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FunctionTrouble {
    /// Its text was not read, or calls do not fit it.
    Unknown,
    NotUnderstood,
    /// It may call itself: a kernel's stack has no room for what is not bounded.
    Recursion,
    /// It uses a variable of the host's memory.
    Global(Arc<str>),
    /// It keeps a variable from one call to the next.
    State(Arc<str>),
    /// It calls a function that has no version for the device.
    Calls(Arc<str>),
    /// A type that kernels cannot have, or `long double`.
    Type,
    /// A pointer that is kept in memory or handed back.
    Pointer,
    /// `goto` and labels.
    ControlFlow,
    /// An operation kernels are not written with.
    Operation,
}

/// The functions that these calls need, callees first, or the first that cannot be had.
pub(crate) fn device_functions(
    program: &Program,
    body: &Body,
    calls: &BTreeMap<SymbolId, TermId>,
) -> Result<Vec<DeviceFunction>, (SymbolId, TermId, Arc<str>, FunctionTrouble)> {
    let mut out: Vec<DeviceFunction> = Vec::new();
    for (&f, &at) in calls {
        let name = body.symbols[f].name.clone();
        let mut open = Vec::new();
        if let Err((who, why)) = add(program, &name, at, &mut open, &mut out) {
            return Err((f, at, who, why));
        }
    }
    Ok(out)
}

fn add(
    program: &Program,
    name: &Arc<str>,
    at: TermId,
    open: &mut Vec<Arc<str>>,
    out: &mut Vec<DeviceFunction>,
) -> Result<(), (Arc<str>, FunctionTrouble)> {
    if out.iter().any(|f| f.name == *name) {
        return Ok(());
    }
    let fail = |why| Err((name.clone(), why));
    if open.contains(name) {
        return fail(FunctionTrouble::Recursion);
    }
    if open.len() > 30 {
        return fail(FunctionTrouble::Operation);
    }
    let Some(body) = program.body(name) else { return fail(FunctionTrouble::Unknown) };
    let body = &program.with_constants(body);
    let mut look = Look { body, records: Vec::new(), calls: Vec::new() };
    if let Err(why) = look.function() {
        return fail(why);
    }
    let (records, calls) = (look.records, look.calls);
    open.push(name.clone());
    for c in &calls {
        add(program, c, at, open, out)?;
    }
    open.pop();
    // Each variable a name of its own: C++ forbids some shadowing that C allows.
    let mut namer = Namer::beside(body);
    let mut names = BTreeMap::new();
    for t in body.walk(body.root) {
        if let Op::Declare(s) = body.op(t) {
            let wish = match super::naming::word(&body.symbols[*s].name) {
                unnamed if unnamed.is_empty() => "unnamed".to_owned(),
                word => word,
            };
            names.entry(*s).or_insert_with(|| namer.fresh(&wish));
        }
    }
    out.push(DeviceFunction { name: name.clone(), body: body.clone(), names, records, called_at: at });
    Ok(())
}

struct Look<'b> {
    body: &'b Body,
    records: Vec<RecordId>,
    calls: Vec<Arc<str>>,
}

impl Look<'_> {
    fn function(&mut self) -> Result<(), FunctionTrouble> {
        let body = self.body;
        let (&Op::Function(f), &[params, list]) = (body.op(body.root), body.args(body.root)) else {
            return Err(FunctionTrouble::NotUnderstood);
        };
        if body.rejects().next().is_some() {
            return Err(FunctionTrouble::NotUnderstood);
        }
        let TypeKind::Function { ret, variadic: false, .. } = body.types.kind(body.symbols[f].ty) else {
            return Err(FunctionTrouble::Type);
        };
        match body.types.kind(*ret) {
            TypeKind::Void => {}
            TypeKind::Pointer { .. } => return Err(FunctionTrouble::Pointer),
            _ => self.value(*ret)?,
        }
        for &p in body.args(params) {
            if let Op::Declare(s) = body.op(p) {
                self.variable(*s)?;
            }
        }
        let mut stack = vec![(list, 0usize)];
        while let Some((t, depth)) = stack.pop() {
            if depth > MAX_DEPTH {
                return Err(FunctionTrouble::Operation);
            }
            self.term(t)?;
            let skip = usize::from(*body.op(t) == Op::Call);
            let parts = body.args(t).iter().skip(skip).copied();
            // assertions were proved, or tested by the host
            let says_nothing = |a: TermId| *body.op(t) == Op::List && body.asserted(a).is_some();
            stack.extend(parts.filter(|&a| !says_nothing(a)).map(|a| (a, depth + 1)));
        }
        Ok(())
    }

    fn term(&mut self, t: TermId) -> Result<(), FunctionTrouble> {
        let body = self.body;
        let ty = body.ty(t);
        if let TypeKind::Float(FloatKind::Long) = body.types.kind(ty) {
            return Err(FunctionTrouble::Type);
        }
        let pointer = matches!(body.types.kind(ty), TypeKind::Pointer { .. });
        match body.op(t) {
            Op::Empty
            | Op::Int(_)
            | Op::Float(_)
            | Op::List
            | Op::Unary(_)
            | Op::Binary(_)
            | Op::Assign
            | Op::Compound(_)
            | Op::Select
            | Op::Comma
            | Op::If
            | Op::For
            | Op::While
            | Op::DoWhile
            | Op::Break
            | Op::Continue
            | Op::Switch
            | Op::Case
            | Op::Default
            | Op::Return
            | Op::Mark(_)
            | Op::AddrOf
            | Op::InitList => Ok(()),
            Op::Step { .. } => match body.args(t).first().map(|&p| body.types.as_int(body.ty(p))) {
                // C++ has no ++ on bool.
                Some(Some(term::IntKind::Bool)) => Err(FunctionTrouble::Operation),
                _ => Ok(()),
            },
            Op::Sym(s) => self.symbol(*s),
            Op::Declare(s) => self.variable(*s),
            Op::Index | Op::Deref | Op::Member { .. } if pointer => Err(FunctionTrouble::Pointer),
            Op::Index | Op::Deref => Ok(()),
            Op::Member { .. } => match body.args(t).first().map(|&b| body.ty(b)) {
                Some(b) => {
                    let record = body.types.element(b).unwrap_or(b);
                    self.value(record)
                }
                None => Err(FunctionTrouble::Operation),
            },
            Op::Cast => match body.types.kind(ty) {
                TypeKind::Void | TypeKind::Int(_) | TypeKind::Float(_) => Ok(()),
                _ => Err(FunctionTrouble::Pointer),
            },
            Op::SizeOfType(of) => body.types.size_align(*of).map(|_| ()).ok_or(FunctionTrouble::Type),
            Op::SizeOf => body
                .args(t)
                .first()
                .and_then(|&a| body.types.size_align(body.ty(a)))
                .map(|_| ())
                .ok_or(FunctionTrouble::Type),
            Op::Call => self.call(t),
            Op::Goto(_) | Op::Label(_) => Err(FunctionTrouble::ControlFlow),
            Op::Reject(_) => Err(FunctionTrouble::NotUnderstood),
            _ => Err(FunctionTrouble::Operation),
        }
    }

    fn symbol(&mut self, s: SymbolId) -> Result<(), FunctionTrouble> {
        let symbol = &self.body.symbols[s];
        match symbol.storage {
            Storage::Local | Storage::Param(_) | Storage::Constant(_) => Ok(()),
            Storage::StaticLocal { .. } if self.is_constant(symbol.ty) => Ok(()),
            Storage::StaticLocal { .. } => Err(FunctionTrouble::State(symbol.name.clone())),
            Storage::Global { .. } => Err(FunctionTrouble::Global(symbol.name.clone())),
            Storage::Undeclared => Err(FunctionTrouble::NotUnderstood),
            _ => Err(FunctionTrouble::Operation),
        }
    }

    fn is_constant(&self, mut ty: TypeId) -> bool {
        while let TypeKind::Array { of, .. } = self.body.types.kind(ty) {
            ty = *of;
        }
        self.body.types.quals(ty).is_const
    }

    fn variable(&mut self, s: SymbolId) -> Result<(), FunctionTrouble> {
        let symbol = &self.body.symbols[s];
        self.symbol(s)?;
        let mut ty = symbol.ty;
        if let TypeKind::Pointer { to, .. } = self.body.types.kind(ty) {
            return match self.body.types.kind(*to) {
                TypeKind::Int(_) | TypeKind::Float(_) | TypeKind::Record(_) => self.value(*to),
                _ => Err(FunctionTrouble::Pointer),
            };
        }
        while let TypeKind::Array { of, len } = self.body.types.kind(ty) {
            if !matches!(len, Len::Const(n) if *n > 0) {
                return Err(FunctionTrouble::Type);
            }
            ty = *of;
        }
        self.value(ty)
    }

    fn value(&mut self, ty: TypeId) -> Result<(), FunctionTrouble> {
        let types = &self.body.types;
        let q = types.quals(ty);
        if q.is_volatile || q.is_atomic {
            return Err(FunctionTrouble::Type);
        }
        match types.kind(ty) {
            TypeKind::Int(_) | TypeKind::Float(FloatKind::F32 | FloatKind::F64) => Ok(()),
            TypeKind::Record(r) => {
                if types.record(*r).is_union || types.aligned_form(*r).is_none() {
                    return Err(FunctionTrouble::Type);
                }
                if !self.records.contains(r) {
                    self.records.push(*r);
                }
                Ok(())
            }
            _ => Err(FunctionTrouble::Type),
        }
    }

    fn call(&mut self, t: TermId) -> Result<(), FunctionTrouble> {
        let body = self.body;
        let Some(f) = body.args(t).first().and_then(|&f| body.as_symbol(f)) else {
            return Err(FunctionTrouble::Operation);
        };
        let name = body.symbols[f].name.clone();
        if body.library.contains(&f) {
            let arithmetic = body.args(t).iter().skip(1).all(|&a| body.types.is_arithmetic(body.ty(a)));
            let of_dotnet = term::of_dotnet(&name).filter(|_| body.types.as_float(body.ty(t)).is_some());
            return match intrinsic(of_dotnet.unwrap_or(&name)) {
                Some(_) if arithmetic => Ok(()),
                _ => Err(FunctionTrouble::Calls(name)),
            };
        }
        if body.symbols[f].storage != Storage::Function {
            return Err(FunctionTrouble::Operation);
        }
        if !self.calls.contains(&name) {
            self.calls.push(name);
        }
        Ok(())
    }
}
