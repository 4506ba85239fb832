//! Expressions: C's meaning in CUDA C++ text, and back in C for the host.
//!
//! What differs between the two languages and is seen to here: math functions are overloaded in C++ (arguments get the
//! type C would convert them to), comparisons are `bool` in C++ (`sizeof` is printed as a number), infinities and NaN
//! have no header, names may be C++ keywords, arrays have no variable lengths (subscripts are flattened).

use term::{
    intrinsic, BinOp, Body, FloatKind, IntKind, Intrinsic, Op, RecordId, Storage, SymbolId, TermId, TypeId,
    TypeKind, UnOp,
};

pub(crate) use print::float;
use print::Source;
use term::strength::{ASSIGN, ATOM, POSTFIX, UNARY};

use crate::access::{address_sum, arrow_chain, chain, moved, Address, Subscript};
use crate::plan::{BufferPlan, Kernel, Plan, ReductionPlan, StrideSource};
use crate::HostSide;

/// Which language is printed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// Inside the kernel.
    Device,
    /// In the C file, among its own variables.
    Host,
    /// In the C# file, likewise.
    CSharp,
    /// In a method of C# that has variables of its own.
    Steps,
}

impl Dialect {
    fn words(self) -> &'static print::Dialect {
        match self {
            Dialect::Device => &print::CPP,
            Dialect::Host => &print::C,
            Dialect::CSharp | Dialect::Steps => &print::CSHARP,
        }
    }
    /// That of the user's file.
    pub(crate) fn of_host(plan: &Plan<'_>) -> Dialect {
        match plan.host() {
            HostSide::Function => Dialect::Host,
            HostSide::Method => Dialect::CSharp,
        }
    }
}

/// Prints expressions of one kernel.
#[derive(Clone, Copy)]
pub(crate) struct Exprs<'p> {
    pub(crate) plan: &'p Plan<'p>,
    pub(crate) kernel: &'p Kernel,
    pub(crate) dialect: Dialect,
}

impl<'p> Exprs<'p> {
    fn body(&self) -> &'p Body {
        self.plan.body
    }

    /// The expression as a statement or between parentheses.
    pub(crate) fn top(&self, t: TermId) -> String {
        self.at(t, 0)
    }

    /// The expression as an operand of a binding strength of at least `min`.
    pub(crate) fn at(&self, t: TermId, min: u8) -> String {
        // The plan lets nothing else through; what is printed here could not be compiled.
        print::expression(self, t, min)
            .unwrap_or_else(|Unsupported| format!("{}unsupported", self.plan.prefix))
    }

    /// The name of a variable.
    pub(crate) fn name(&self, s: SymbolId) -> String {
        let known = match self.dialect {
            Dialect::Device | Dialect::Steps => self.kernel.names.get(&s).cloned(),
            Dialect::Host => None,
            Dialect::CSharp => self.of_an_object(s),
        };
        known.unwrap_or_else(|| self.body().symbols[s].name.to_string())
    }

    /// A field of an object in C#, which is read whether there is one or not: where there is none, that is seen to.
    fn of_an_object(&self, s: SymbolId) -> Option<String> {
        let body = self.body();
        let (object, field) = body.symbols[s].name.split_once('.').filter(|_| body.said.is_held(s))?;
        Some(match body.types.is_arithmetic(body.symbols[s].ty) {
            true => format!("({object}?.{field} ?? 0)"),
            false => format!("{object}?.{field}"),
        })
    }

    fn call(&self, t: TermId) -> String {
        let body = self.body();
        let Some(f) = body.callee(t) else { return format!("{}unsupported()", self.plan.prefix) };
        let name = &body.symbols[f].name;
        let own = !body.library.contains(&f) && body.symbols[f].storage == Storage::Function;
        if own && self.dialect == Dialect::Device {
            return self.own_call(f, t);
        }
        if let Some(length) = self.row_length(t).filter(|_| self.dialect == Dialect::Device) {
            return length;
        }
        let noticed = crate::plan::noticed(body, t).filter(|_| self.dialect == Dialect::Device);
        if let Some(noticed) = noticed {
            let args: Vec<String> = body.args(t).iter().skip(1).map(|&a| self.at(a, ASSIGN)).collect();
            let (function, fault) =
                (super::checked::of_library(self.plan, noticed), &self.kernel.checked.fault_name);
            return format!("{function}({}, {fault})", args.join(", "));
        }
        // of .NET's functions those that the device has
        let known = match self.dialect {
            Dialect::Device => term::of_dotnet(name).unwrap_or(name),
            Dialect::Host | Dialect::CSharp | Dialect::Steps => name,
        };
        let args: Vec<String> = body
            .args(t)
            .iter()
            .skip(1)
            .enumerate()
            .map(|(k, &a)| match self.dialect {
                Dialect::Host | Dialect::CSharp | Dialect::Steps => self.at(a, ASSIGN),
                Dialect::Device => self.argument(intrinsic(known), k, a),
            })
            .collect();
        format!("{known}({})", args.join(", "))
    }

    /// The type of whole numbers of 64 bits.
    pub(crate) fn wide_name(&self) -> &'static str {
        int_name(IntKind::LongLong, self.dialect)
    }

    /// The name of a function of the program in the kernel file.
    pub(crate) fn function_name(&self, name: &str) -> String {
        format!("{}{}", self.plan.prefix, crate::plan::name_part(name))
    }

    /// A call of a function of the program. Addresses in buffers are those of the device's copies.
    fn own_call(&self, f: SymbolId, t: TermId) -> String {
        let body = self.body();
        let params = match body.types.kind(body.symbols[f].ty) {
            TypeKind::Function { params, .. } => params.as_slice(),
            _ => &[],
        };
        let one = |(k, &a): (usize, &TermId)| {
            let pointer = params.get(k).copied().filter(|&p| body.types.element(p).is_some());
            let at = address_sum(body, &self.kernel.tables, a);
            let cell = at.and_then(|at| match at.more.is_empty() {
                true => self.base(at.base).map(|_| self.cell(at.base, &at.subs)),
                false => self.base(at.base).map(|b| self.element(b, self.place(&at))),
            });
            match (pointer, cell) {
                // A buffer that is only read is `const` here; the function may not say so.
                (Some(p), Some(cell)) => format!("({})&{cell}", self.variable(p, "").trim_end()),
                _ => self.at(a, ASSIGN),
            }
        };
        let args: Vec<String> = body.args(t).iter().skip(1).enumerate().map(one).collect();
        format!("{}({})", self.function_name(&body.symbols[f].name), args.join(", "))
    }

    /// `double t[3]`, `const double *p`: a variable or parameter.
    pub(crate) fn variable(&self, ty: TypeId, name: &str) -> String {
        let types = &self.body().types;
        match types.kind(ty) {
            TypeKind::Pointer { to, .. } if matches!(types.kind(*to), TypeKind::Pointer { .. }) => {
                // a table is where its rows are
                format!("{} *{name}", self.type_name(types.behind_pointers(*to)))
            }
            TypeKind::Pointer { to, .. } => {
                let quals = if types.quals(*to).is_const { "const " } else { "" };
                format!("{quals}{} *{name}", self.type_name(*to))
            }
            _ => self.declarator(ty, name),
        }
    }

    /// An argument converted as C's prototype would.
    fn argument(&self, function: Option<Intrinsic>, k: usize, a: TermId) -> String {
        let body = self.body();
        let types = &body.types;
        let (int, float) = (types.as_int(body.ty(a)), types.as_float(body.ty(a)));
        // A comparison has type `int` in C and `bool` in C++.
        let truly = match body.op(a) {
            Op::Binary(op) if op.is_comparison() || op.is_logical() => None,
            Op::Unary(UnOp::Not) => None,
            _ => int,
        };
        let cast = |to: &str, same: bool| {
            if same {
                self.at(a, ASSIGN)
            } else {
                format!("({to}){}", self.at(a, UNARY))
            }
        };
        let to_float = |kind: FloatKind| cast(float_name(kind), float == Some(kind));
        match function {
            Some(Intrinsic::Float { kind, .. }) => to_float(kind),
            Some(Intrinsic::Int { kind, .. }) => cast(kind.c_name(), truly == Some(kind)),
            Some(Intrinsic::FloatInt { kind }) if k == 0 => to_float(kind),
            Some(Intrinsic::FloatInt { .. }) => cast("int", truly == Some(IntKind::Int)),
            Some(Intrinsic::ToInt { from, .. }) => to_float(from),
            Some(Intrinsic::Classify) => cast("double", float.is_some()),
            None => self.at(a, ASSIGN),
        }
    }

    /// The buffer that a variable is, or a local pointer points into.
    fn base(&self, s: SymbolId) -> Option<&'p BufferPlan> {
        let mut at = s;
        while let Some(v) = self.kernel.views.iter().find(|v| v.symbol == at && v.into != at) {
            at = v.into;
        }
        self.plan.buffers.iter().find(|b| b.symbol == at)
    }

    fn field(&self, name: &str) -> String {
        match self.dialect {
            Dialect::Device => super::field_name(name),
            Dialect::Host | Dialect::CSharp | Dialect::Steps => name.to_string(),
        }
    }

    /// A cell of a buffer, counted from the first element copied.
    fn cell(&self, s: SymbolId, subs: &[Subscript]) -> String {
        let Some(b) = self.base(s) else { return format!("{}unsupported", self.plan.prefix) };
        let is_position = self.kernel.views.iter().any(|v| v.symbol == s);
        let flat = match (b.counted_from(), subs) {
            (Some(0), [Some(only)]) if s == b.symbol && !is_position => self.subscript(*only, 0),
            _ => self.flat(s, subs),
        };
        self.element(b, flat)
    }

    /// The element of a buffer at a position, which is a sum.
    fn element(&self, b: &BufferPlan, flat: String) -> String {
        let first = match b.counted_from() {
            Some(0) => None,
            Some(c) => Some(c.to_string()),
            None => Some(b.first_name.clone()),
        };
        let flat = match first.as_deref().map(|f| (f, f.strip_prefix('-'))) {
            None => flat,
            Some((_, Some(positive))) => format!("{flat} + {positive}"),
            Some((first, None)) => format!("{flat} - {first}"),
        };
        match &b.each {
            None => format!("{}[{flat}]", b.kernel_name),
            Some(each) => {
                let is_one = flat.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
                let flat = if is_one { flat } else { format!("({flat})") };
                format!("{}[{flat} * {}]", each.at_name, each.step_name)
            }
        }
    }

    /// A 64-bit position in a buffer.
    pub(crate) fn place(&self, a: &Address) -> String {
        let mut text = self.flat(a.base, &a.subs);
        for &(t, is_taken) in &a.more {
            let signed = self.body().types.as_int(self.body().ty(t)).is_some_and(|k| k.promoted().signed());
            let part = match signed {
                true => self.at(t, BinOp::Add.precedence() + 1),
                false => format!("(long long){}", self.at(t, UNARY)),
            };
            text = format!("{text} {} {part}", if is_taken { '-' } else { '+' });
        }
        text
    }

    /// What stands for something done with pointers that move.
    fn on_pointers(&self, t: TermId) -> Option<(String, u8)> {
        let body = self.body();
        let position = |s: &SymbolId| self.kernel.views.iter().any(|v| v.symbol == *s && v.moves);
        match (body.op(t), body.args(t)) {
            (Op::Assign, &[place, value]) => {
                let s = body.as_symbol(place).filter(position)?;
                let at = address_sum(body, &self.kernel.tables, value)?;
                Some((format!("{} = {}", self.name(s), self.place(&at)), ASSIGN))
            }
            (Op::Index | Op::Deref | Op::Member { arrow: true, .. }, &[base, ..]) => {
                let s = moved(body, base).filter(position)?;
                let at = match body.op(base) {
                    Op::Step { .. } => self.at(base, UNARY),
                    _ => format!("({})", self.top(base)),
                };
                let at = match (body.op(t), body.args(t).get(1)) {
                    (Op::Index, Some(&sub)) => {
                        format!("{at} + {}", self.at(sub, BinOp::Add.precedence() + 1))
                    }
                    _ => at,
                };
                let cell = self.element(self.base(s)?, at);
                Some(match body.op(t) {
                    Op::Member { field, .. } => (format!("{cell}.{}", self.field(field)), POSTFIX),
                    _ => (cell, POSTFIX),
                })
            }
            (Op::Binary(op), &[a, b]) if op.is_comparison() || *op == BinOp::Sub => {
                let place = |t: TermId| {
                    body.types.element(body.ty(t))?;
                    let at = address_sum(body, &self.kernel.tables, t)?;
                    self.base(at.base).map(|_| self.place(&at))
                };
                let (a, b) = (place(a)?, place(b)?);
                let b = if *op == BinOp::Sub && b.contains(' ') { format!("({b})") } else { b };
                Some((format!("{a} {} {b}", op.symbol()), op.precedence()))
            }
            _ => None,
        }
    }

    /// A 64-bit position in a buffer, in elements from where the variable points on the host: a sum.
    pub(crate) fn flat(&self, s: SymbolId, subs: &[Subscript]) -> String {
        let body = self.body();
        let wide = |s: &Subscript| match s {
            None => "0LL".to_string(),
            Some(t) if self.is_checked(*t) => self.subscript(*t, UNARY),
            Some(t) => match (body.op(*t), body.types.as_int(body.ty(*t))) {
                (Op::Int(v), _) if *v >= 0 => format!("{v}LL"),
                (_, Some(IntKind::LongLong)) => self.at(*t, UNARY),
                _ => format!("(long long){}", self.at(*t, UNARY)),
            },
        };
        // Added to a 64-bit value, a signed subscript may stay as it is written.
        let added = |s: &Subscript| match s {
            None => "0".to_string(),
            Some(t) if self.is_checked(*t) => self.subscript(*t, BinOp::Add.precedence() + 1),
            Some(t) if body.types.as_int(body.ty(*t)).is_some_and(|k| k.promoted().signed()) => {
                self.at(*t, BinOp::Add.precedence() + 1)
            }
            Some(_) => wide(s),
        };
        if self.kernel.views.iter().any(|v| v.symbol == s) {
            let sub = subs.first().map_or_else(|| "0".to_string(), added);
            let name = self.name(s);
            return if sub == "0" { name } else { format!("{name} + {sub}") };
        }
        let Some((first, rest)) = subs.split_first() else { return "0LL".to_string() };
        let mut text = wide(first);
        let Some(b) = self.base(s) else { return text };
        for (d, s) in rest.iter().enumerate() {
            let length = b.strides.get(d).map_or_else(|| "0".to_string(), |l| self.length(l));
            let product = if d == 0 { format!("{text} * {length}") } else { format!("({text}) * {length}") };
            let sub = added(s);
            text = if sub == "0" { product } else { format!("{product} + {sub}") };
        }
        text
    }

    fn length(&self, source: &StrideSource) -> String {
        match source {
            StrideSource::Const(c) => c.to_string(),
            StrideSource::Symbol(s) => self.name(*s),
            StrideSource::Passed(k) => {
                self.kernel.strides.get(*k).map_or_else(String::new, |s| s.name.clone())
            }
        }
    }

    /// A variable by that name in an expression: where the user's file declares it as `void *`, converted to what it is used as.
    pub(crate) fn seen(&self, s: SymbolId, name: String) -> String {
        let body = self.plan.body;
        let is_seen = self.dialect == Dialect::Host && body.said.seen.contains(&s);
        match body.types.element(body.symbols[s].ty).filter(|_| is_seen) {
            Some(element) => format!("(({} *){name})", self.type_name(element)),
            None => name,
        }
    }

    /// A type as written.
    pub(crate) fn type_name(&self, ty: TypeId) -> String {
        let types = &self.body().types;
        match types.kind(ty) {
            TypeKind::Void => "void".to_string(),
            TypeKind::Int(k) => int_name(*k, self.dialect).to_string(),
            TypeKind::Float(k) => float_name(*k).to_string(),
            TypeKind::Record(r) => format!("struct {}", self.record_name(*r)),
            TypeKind::Array { of, .. } => self.type_name(*of),
            _ => "void *".to_string(),
        }
    }

    /// A struct's name in the kernel file: prefixed, for CUDA has types such as `float3` of its own.
    pub(crate) fn record_name(&self, r: RecordId) -> String {
        let types = &self.body().types;
        let records = &self.plan.records;
        let at = records.iter().position(|&o| o == r).unwrap_or(records.len());
        let name = &types.record(r).name;
        let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let twin = records.iter().take(at).any(|&o| types.record(o).name == *name);
        match (plain, twin) {
            (true, false) => format!("{}{name}", self.plan.prefix),
            (true, true) => format!("{}{name}_{}", self.plan.prefix, at + 1),
            (false, _) => format!("{}struct_{}", self.plan.prefix, at + 1),
        }
    }

    /// `double t[3][4]`
    pub(crate) fn declarator(&self, ty: TypeId, name: &str) -> String {
        let types = &self.body().types;
        let mut dims = String::new();
        let mut at = ty;
        while let TypeKind::Array { of, len } = types.kind(at) {
            if let term::Len::Const(n) = len {
                dims.push_str(&format!("[{n}]"));
            }
            at = *of;
        }
        let base = self.type_name(at);
        let space = if base.ends_with('*') { "" } else { " " };
        format!("{base}{space}{name}{dims}")
    }
}

/// A term that no plan lets through.
pub(crate) struct Unsupported;

impl Source for Exprs<'_> {
    type Node = TermId;
    type Error = Unsupported;
    fn op(&self, t: TermId) -> Op {
        self.body().op(t).clone()
    }
    fn len(&self, t: TermId) -> usize {
        self.body().args(t).len()
    }
    fn part(&self, t: TermId, k: usize) -> TermId {
        self.body().args(t)[k]
    }
    fn cast(&self, t: TermId) -> Result<Option<String>, Unsupported> {
        Ok(Some(self.type_name(self.body().ty(t))))
    }
    fn no_text(&self, _: TermId) -> Unsupported {
        Unsupported
    }
    fn own(&self, t: TermId) -> Result<Option<(String, u8)>, Unsupported> {
        let (body, device) = (self.body(), self.dialect == Dialect::Device);
        if let Some(found) = self.wrapping(t).filter(|_| device) {
            return Ok(Some(found));
        }
        if let Some(c) = self.kernel.choices.iter().find(|c| c.term == t).filter(|_| device) {
            return Ok(Some((c.name.clone(), ATOM)));
        }
        if device && matches!(body.op(t), Op::Index | Op::Member { .. } | Op::Deref) {
            let cell = |r: &&ReductionPlan| r.cell && body.same(r.place, t);
            if let Some(r) = self.kernel.reductions.iter().find(cell) {
                return Ok(Some((r.name.clone(), ATOM)));
            }
            let mut chosen = self.kernel.keyed.iter().flat_map(|k| &k.variables);
            if let Some(v) = chosen.find(|v| v.cell && body.same(v.place, t)) {
                return Ok(Some((v.name.clone(), ATOM)));
            }
        }
        if let Some(found) = self.on_pointers(t).filter(|_| device) {
            return Ok(Some(found));
        }
        let int = || body.types.as_int(body.ty(t)).unwrap_or(IntKind::Int);
        let ours = |found: Option<(SymbolId, Vec<Subscript>)>| {
            found.filter(|(s, _)| device && self.base(*s).is_some()).map(|(s, subs)| self.cell(s, &subs))
        };
        Ok(Some(match (body.op(t), body.args(t)) {
            (Op::Int(v), _) => print::integer(self.dialect.words(), *v, int()),
            (Op::Float(v), _) => float(v.get(), body.types.as_float(body.ty(t)).unwrap_or(FloatKind::F64)),
            (Op::Sym(s), _) => match body.symbols[*s].storage {
                Storage::Constant(v) => integer(v, int()),
                _ => (self.seen(*s, self.name(*s)), ATOM),
            },
            (Op::Index | Op::Deref, _) => match ours(chain(body, &self.kernel.tables, t)) {
                Some(cell) => (cell, POSTFIX),
                None => return Ok(None),
            },
            (Op::Member { field, arrow }, &[base]) => {
                let text =
                    match ours(if *arrow { arrow_chain(body, &self.kernel.tables, base) } else { None }) {
                        Some(cell) => format!("{cell}.{}", self.field(field)),
                        None => {
                            let dot = if *arrow { "->" } else { "." };
                            format!("{}{dot}{}", self.at(base, POSTFIX), self.field(field))
                        }
                    };
                (text, POSTFIX)
            }
            (Op::Call, _) => (self.call(t), POSTFIX),
            (Op::SizeOfType(ty), _) => size(body.types.size_align(*ty).map(|s| s.0)),
            (Op::SizeOf, &[a]) => size(body.types.size_align(body.ty(a)).map(|s| s.0)),
            _ => return Ok(None),
        }))
    }
}

/// `bool` is C++'s name for `_Bool`; the two are the same in memory and in calls.
pub(crate) fn int_name(kind: IntKind, dialect: Dialect) -> &'static str {
    dialect.words().int_name(kind)
}

pub(crate) fn float_name(kind: FloatKind) -> &'static str {
    print::C.float_name(kind)
}

fn size(bytes: Option<u64>) -> (String, u8) {
    (bytes.map_or_else(|| "unsupported".to_string(), |b| format!("{b}ul")), ATOM)
}

/// An integer constant of a type, which C and C++ write alike.
pub(crate) fn integer(v: i128, kind: IntKind) -> (String, u8) {
    print::integer(&print::C, v, kind)
}
