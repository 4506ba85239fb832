//! Expressions: C's meaning in CUDA C++ text, and back in C for the host.
//!
//! What differs between the two languages and is seen to here: math functions are overloaded in C++ (arguments get the
//! type C would convert them to), comparisons are `bool` in C++ (`sizeof` is printed as a number), infinities and NaN
//! have no header, names may be C++ keywords, arrays have no variable lengths (subscripts are flattened).

use term::{
    intrinsic, BinOp, Body, FloatKind, IntKind, Intrinsic, Op, RecordId, Storage, SymbolId, TermId, TypeId,
    TypeKind, UnOp,
};

use crate::access::{address, arrow_chain, chain, Subscript};
use crate::plan::{BufferPlan, Kernel, Plan, ReductionPlan, StrideSource};

/// Which language is printed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// Inside the kernel.
    Device,
    /// In the C file, among its own variables.
    Host,
}

const COMMA: u8 = 1;
const ASSIGN: u8 = 2;
const SELECT: u8 = 3;
const UNARY: u8 = 14;
const POSTFIX: u8 = 15;
const PRIMARY: u8 = 16;

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
        let (text, strength) = self.print(t);
        if strength < min {
            format!("({text})")
        } else {
            text
        }
    }

    /// The name of a variable.
    pub(crate) fn name(&self, s: SymbolId) -> String {
        let known = match self.dialect {
            Dialect::Device => self.kernel.names.get(&s).cloned(),
            Dialect::Host => None,
        };
        known.unwrap_or_else(|| self.body().symbols[s].name.to_string())
    }

    fn print(&self, t: TermId) -> (String, u8) {
        let body = self.body();
        let args = body.args(t);
        if self.dialect == Dialect::Device && matches!(body.op(t), Op::Index | Op::Member { .. } | Op::Deref)
        {
            let cell = |r: &&ReductionPlan| r.cell && body.same(r.place, t);
            if let Some(r) = self.kernel.reductions.iter().find(cell) {
                return (r.name.clone(), PRIMARY);
            }
        }
        match (body.op(t), args) {
            (Op::Int(v), _) => integer(*v, body.types.as_int(body.ty(t)).unwrap_or(IntKind::Int)),
            (Op::Float(v), _) => float(v.get(), body.types.as_float(body.ty(t)).unwrap_or(FloatKind::F64)),
            (Op::Sym(s), _) => match body.symbols[*s].storage {
                Storage::Constant(v) => integer(v, body.types.as_int(body.ty(t)).unwrap_or(IntKind::Int)),
                _ => (self.name(*s), PRIMARY),
            },
            (Op::Unary(op), &[a]) => {
                let operand = self.at(a, UNARY);
                // `- -x`, `+ +x`: never let two signs meet.
                let meets = matches!(op, UnOp::Plus | UnOp::Neg) && operand.starts_with(['-', '+']);
                let operand = if meets { format!("({operand})") } else { operand };
                (format!("{}{operand}", op.symbol()), UNARY)
            }
            (Op::Binary(op), &[a, b]) => {
                let (l, r) = (self.operand(*op, a, false), self.operand(*op, b, true));
                (format!("{l} {} {r}", op.symbol()), op.precedence())
            }
            (Op::Assign, &[a, b]) => (format!("{} = {}", self.at(a, UNARY), self.at(b, ASSIGN)), ASSIGN),
            (Op::Compound(op), &[a, b]) => {
                (format!("{} {}= {}", self.at(a, UNARY), op.symbol(), self.at(b, ASSIGN)), ASSIGN)
            }
            (Op::Step { delta, prefix }, &[a]) => {
                let sign = if *delta > 0 { "++" } else { "--" };
                if *prefix {
                    (format!("{sign}{}", self.at(a, UNARY)), UNARY)
                } else {
                    (format!("{}{sign}", self.at(a, POSTFIX)), POSTFIX)
                }
            }
            (Op::Select, &[c, a, b]) => {
                let least = SELECT + 1;
                (format!("{} ? {} : {}", self.at(c, least), self.at(a, least), self.at(b, least)), SELECT)
            }
            (Op::Comma, &[a, b]) => (format!("{}, {}", self.at(a, COMMA), self.at(b, ASSIGN)), COMMA),
            (Op::Cast, &[a]) => (format!("({}){}", self.type_name(body.ty(t)), self.at(a, UNARY)), UNARY),
            (Op::Index | Op::Deref, &[first, ..]) => {
                if self.dialect == Dialect::Device {
                    if let Some((s, subs)) = chain(body, t).filter(|(s, _)| self.base(*s).is_some()) {
                        return (self.cell(s, &subs), POSTFIX);
                    }
                }
                match args.get(1) {
                    Some(&sub) => (format!("{}[{}]", self.at(first, POSTFIX), self.at(sub, 0)), POSTFIX),
                    None => (format!("*{}", self.at(first, UNARY)), UNARY),
                }
            }
            (Op::Member { field, arrow }, &[base]) => {
                if *arrow && self.dialect == Dialect::Device {
                    if let Some((s, subs)) = arrow_chain(body, base).filter(|(s, _)| self.base(*s).is_some())
                    {
                        return (format!("{}.{}", self.cell(s, &subs), self.field(field)), POSTFIX);
                    }
                }
                let dot = if *arrow { "->" } else { "." };
                (format!("{}{dot}{}", self.at(base, POSTFIX), self.field(field)), POSTFIX)
            }
            (Op::AddrOf, &[a]) => (format!("&{}", self.at(a, UNARY)), UNARY),
            (Op::Call, _) => (self.call(t), POSTFIX),
            (Op::SizeOfType(ty), _) => size(body.types.size_align(*ty).map(|s| s.0)),
            (Op::SizeOf, &[a]) => size(body.types.size_align(body.ty(a)).map(|s| s.0)),
            // The plan lets nothing else through; what is printed here could not be compiled.
            _ => (format!("{}unsupported", self.plan.prefix), PRIMARY),
        }
    }

    /// An operand of an infix operator, with the parentheses that compilers and readers ask for.
    fn operand(&self, op: BinOp, t: TermId, right: bool) -> String {
        let body = self.body();
        let min = op.precedence() + right as u8;
        let clearer = match (op, body.op(t)) {
            (BinOp::Shl | BinOp::Shr | BinOp::BitAnd | BinOp::BitOr | BinOp::BitXor, Op::Binary(inner)) => {
                *inner != op
            }
            (BinOp::Or, Op::Binary(BinOp::And)) => true,
            (_, Op::Binary(inner)) => op.is_comparison() && inner.is_comparison(),
            _ => false,
        };
        let text = self.at(t, if clearer { UNARY } else { min });
        // `a - -1`
        if right && text.starts_with('-') {
            format!("({text})")
        } else {
            text
        }
    }

    fn call(&self, t: TermId) -> String {
        let body = self.body();
        let Some(f) = body.callee(t) else { return format!("{}unsupported()", self.plan.prefix) };
        let name = &body.symbols[f].name;
        let own = !body.library.contains(&f) && body.symbols[f].storage == Storage::Function;
        if own && self.dialect == Dialect::Device {
            return self.own_call(f, t);
        }
        let args: Vec<String> = body
            .args(t)
            .iter()
            .skip(1)
            .enumerate()
            .map(|(k, &a)| match self.dialect {
                Dialect::Host => self.at(a, ASSIGN),
                Dialect::Device => self.argument(intrinsic(name), k, a),
            })
            .collect();
        format!("{name}({})", args.join(", "))
    }

    /// The name of a function of the program in the kernel file.
    pub(crate) fn function_name(&self, name: &str) -> String {
        format!("{}{name}", self.plan.prefix)
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
            let buffer = address(body, a).filter(|(s, _)| self.base(*s).is_some());
            match (pointer, buffer) {
                // A buffer that is only read is `const` here; the function may not say so.
                (Some(p), Some((s, subs))) => {
                    format!("({})&{}", self.variable(p, "").trim_end(), self.cell(s, &subs))
                }
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
        while let Some(v) = self.kernel.views.iter().find(|v| v.symbol == at) {
            at = v.into;
        }
        self.plan.buffers.iter().find(|b| b.symbol == at)
    }

    fn field(&self, name: &str) -> String {
        match self.dialect {
            Dialect::Device => super::field_name(name),
            Dialect::Host => name.to_string(),
        }
    }

    /// A cell of a buffer, counted from the first element copied.
    fn cell(&self, s: SymbolId, subs: &[Subscript]) -> String {
        let Some(b) = self.base(s) else { return format!("{}unsupported", self.plan.prefix) };
        let first = match b.constant_first() {
            Some(0) => None,
            Some(c) => Some(c.to_string()),
            None => Some(b.first_name.clone()),
        };
        let flat = match (&first, subs) {
            (None, [Some(only)]) if s == b.symbol => self.at(*only, 0),
            _ => self.flat(s, subs),
        };
        let flat = match first.as_deref().map(|f| (f, f.strip_prefix('-'))) {
            None => flat,
            Some((_, Some(positive))) => format!("{flat} + {positive}"),
            Some((first, None)) => format!("{flat} - {first}"),
        };
        format!("{}[{flat}]", b.kernel_name)
    }

    /// A 64-bit position in a buffer, in elements from where the variable points on the host: a sum.
    pub(crate) fn flat(&self, s: SymbolId, subs: &[Subscript]) -> String {
        let body = self.body();
        let wide = |s: &Subscript| match s {
            None => "0LL".to_string(),
            Some(t) => match (body.op(*t), body.types.as_int(body.ty(*t))) {
                (Op::Int(v), _) if *v >= 0 => format!("{v}LL"),
                (_, Some(IntKind::LongLong)) => self.at(*t, UNARY),
                _ => format!("(long long){}", self.at(*t, UNARY)),
            },
        };
        // Added to a 64-bit value, a signed subscript may stay as it is written.
        let added = |s: &Subscript| match s {
            None => "0".to_string(),
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

/// `bool` is C++'s name for `_Bool`; the two are the same in memory and in calls.
pub(crate) fn int_name(kind: IntKind, dialect: Dialect) -> &'static str {
    match (kind, dialect) {
        (IntKind::Bool, Dialect::Device) => "bool",
        _ => kind.c_name(),
    }
}

pub(crate) fn float_name(kind: FloatKind) -> &'static str {
    match kind {
        FloatKind::F32 => "float",
        FloatKind::F64 => "double",
        FloatKind::Long => "long double",
    }
}

fn size(bytes: Option<u64>) -> (String, u8) {
    (bytes.map_or_else(|| "unsupported".to_string(), |b| format!("{b}ul")), PRIMARY)
}

/// An integer constant of a type. The smallest value of a signed type has no literal of its own.
pub(crate) fn integer(v: i128, kind: IntKind) -> (String, u8) {
    let suffix = match kind {
        IntKind::UInt => "u",
        IntKind::Long => "l",
        IntKind::ULong => "ul",
        IntKind::LongLong => "ll",
        IntKind::ULongLong => "ull",
        _ => "",
    };
    let v = kind.wrap(v);
    if v < 0 && v == kind.min() && kind.promoted() == kind {
        return (format!("-{}{suffix} - 1", -(v + 1)), BinOp::Sub.precedence());
    }
    (format!("{v}{suffix}"), if v < 0 { UNARY } else { PRIMARY })
}

/// A floating constant that reads back as the same value, without headers.
pub(crate) fn float(v: f64, kind: FloatKind) -> (String, u8) {
    let suffix = if kind == FloatKind::F32 { "f" } else { "" };
    if v.is_nan() {
        return (format!("(0.0{suffix} / 0.0{suffix})"), PRIMARY);
    }
    if v.is_infinite() {
        let sign = if v < 0.0 { "-" } else { "" };
        return (format!("({sign}1.0{suffix} / 0.0{suffix})"), PRIMARY);
    }
    // Rust prints the shortest decimal that reads back as the same value of the type.
    let digits = if kind == FloatKind::F32 { format!("{:?}", v as f32) } else { format!("{v:?}") };
    let strength = if v.is_sign_negative() { UNARY } else { PRIMARY };
    (format!("{digits}{suffix}"), strength)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_read_back() {
        assert_eq!(float(0.1f32 as f64, FloatKind::F32).0, "0.1f");
        assert_eq!(float(1.0, FloatKind::F64).0, "1.0");
        assert_eq!(float(1e300, FloatKind::F64).0, "1e300");
        assert_eq!(float(-0.0, FloatKind::F64).0, "-0.0");
        assert_eq!(float(f64::INFINITY, FloatKind::F32).0, "(1.0f / 0.0f)");
        assert_eq!(integer(-2147483648, IntKind::Int).0, "-2147483647 - 1");
        assert_eq!(integer(5, IntKind::ULong).0, "5ul");
        assert_eq!(integer(-1, IntKind::UInt).0, "4294967295u");
    }
}
