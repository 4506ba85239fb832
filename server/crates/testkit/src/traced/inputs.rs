//! Inputs for a function of which only the types are known. Members are named, never laid out: sizes and offsets are gcc's.

use term::{Body, Len, Op, Storage, Symbol, SymbolId, TypeId, TypeKind, Types};

use super::print::Source;

/// How deep pointers in structures are followed.
const DEPTH: u32 = 2;

/// One integer that a run gives: a parameter, by position, or a file-scope variable.
#[derive(Clone, Debug)]
pub(super) struct Given {
    pub symbol: SymbolId,
    pub name: String,
}

/// C text around a function that is called.
pub(super) struct Call {
    /// At the function's beginning.
    pub fill: String,
    /// After the file's end.
    pub after: String,
    /// By number of `ww_arg`: what it sets.
    pub given: Vec<Option<Given>>,
}

fn is_name(s: &str) -> bool {
    !s.is_empty() && s.chars().all(|c| c.is_alphanumeric() || c == '_')
}

struct Filler<'a> {
    types: &'a Types,
    out: String,
    names: u32,
}

impl Filler<'_> {
    fn fresh(&mut self, of: &str) -> String {
        self.names += 1;
        format!("ww_{of}{}", self.names)
    }

    /// Whether members of it are pointers.
    fn has_pointers(&self, ty: TypeId, depth: u32) -> bool {
        match self.types.kind(ty) {
            TypeKind::Pointer { .. } => true,
            TypeKind::Array { of, .. } => self.has_pointers(*of, depth),
            TypeKind::Record(r) if depth < 4 => {
                let fields = self.types.record(*r).fields.as_deref().unwrap_or(&[]);
                fields.iter().any(|f| self.has_pointers(f.ty, depth + 1))
            }
            _ => false,
        }
    }

    /// The scalars of a type as rows of a table, `of` a C expression of it that is not evaluated; nothing where there are
    /// pointers, bit-fields or arrays of structures: those need code.
    fn rows(&self, ty: TypeId, of: &str, member: &str, out: &mut Vec<String>) -> Option<()> {
        let offset = match member.strip_prefix('.') {
            Some(m) => format!("__builtin_offsetof(__typeof__({of}), {m})"),
            None => "0".to_owned(),
        };
        let kind = |ty: TypeId| match self.types.kind(ty) {
            TypeKind::Int(term::IntKind::Bool) => Some(2),
            TypeKind::Int(_) => Some(0),
            TypeKind::Float(_) => Some(1),
            _ => None,
        };
        let whole = format!("({of}){member}");
        match self.types.kind(ty) {
            TypeKind::Array { .. } => {
                let (mut leaf, mut one) = (ty, whole.clone());
                while let TypeKind::Array { of, len: Len::Const(_) } = self.types.kind(leaf) {
                    leaf = *of;
                    one += "[0]";
                }
                out.push(format!("{{{offset},sizeof({one}),sizeof({whole})/sizeof({one}),{}}}", kind(leaf)?));
            }
            TypeKind::Record(r) => {
                let record = self.types.record(*r);
                let fields = record.fields.as_deref()?;
                for f in fields.iter().take(if record.is_union { 1 } else { 100 }) {
                    if is_name(&f.name) {
                        f.bits.is_none().then_some(())?;
                        self.rows(f.ty, of, &format!("{member}.{}", f.name), out)?;
                    }
                }
            }
            _ => out.push(format!("{{{offset},sizeof({whole}),1,{}}}", kind(ty)?)),
        }
        Some(())
    }

    /// Fills `count` elements from `at` on by a table, if one will do.
    fn by_table(&mut self, ty: TypeId, of: &str, at: &str, count: &str) -> bool {
        let mut rows = Vec::new();
        if self.rows(ty, of, "", &mut rows).is_none() || rows.is_empty() {
            return false;
        }
        let table = self.fresh("t");
        self.out += &format!(
            "{{static const ww_row {table}[]={{{}}};ww_rows((void *){at},sizeof({of}),{count},{table},{});}}",
            rows.join(","),
            rows.len()
        );
        true
    }

    /// Fills a place of the type.
    fn place(&mut self, ty: TypeId, place: &str, depth: u32) {
        if self.by_table(ty, place, &format!("&({place})"), "1") {
            return;
        }
        match self.types.kind(ty).clone() {
            TypeKind::Int(term::IntKind::Bool) => {
                self.out += &format!("*(_Bool *)&({place}) = ww_small() & 1;");
            }
            TypeKind::Int(_) => self.out += &format!("ww_int((void *)&({place}), sizeof({place}));"),
            TypeKind::Float(_) => self.out += &format!("ww_float((void *)&({place}), sizeof({place}));"),
            TypeKind::Array { of, len: Len::Const(n) } => {
                let k = self.fresh("k");
                self.out += &format!("for (long {k} = 0; {k} < {}; {k}++) {{", n.min(100_000));
                self.place(of, &format!("({place})[{k}]"), depth);
                self.out += "}";
            }
            TypeKind::Array { of, .. } => self.place(of, &format!("({place})[0]"), depth),
            TypeKind::Pointer { to, .. } => self.pointer(to, place, depth),
            TypeKind::Record(r) => {
                let record = self.types.record(r).clone();
                let Some(fields) = record.fields else { return };
                for f in fields.iter().take(if record.is_union { 1 } else { 100 }) {
                    let member = format!("({place}).{}", f.name);
                    if !is_name(&f.name) {
                        continue;
                    }
                    match f.bits {
                        None => self.place(f.ty, &member, depth),
                        Some(_) if !self.types.quals(f.ty).is_const => {
                            self.out += &format!("{member} = ww_small();");
                        }
                        Some(_) => {}
                    }
                }
            }
            _ => {}
        }
    }

    fn pointer(&mut self, to: TypeId, place: &str, depth: u32) {
        if depth >= DEPTH {
            return;
        }
        let known = match self.types.kind(to) {
            TypeKind::Void | TypeKind::Opaque(_) => false,
            TypeKind::Function { .. } => return,
            TypeKind::Record(r) => self.types.record(*r).fields.is_some(),
            _ => true,
        };
        if !known {
            self.out += &format!("*(void **)&({place}) = ww_room(-1, 1, 0);");
            return;
        }
        let p = self.fresh("p");
        self.out += &format!(
            "{{ __typeof__(&({place})[0]) {p} = (void *)ww_room(-1, sizeof *({place}), 0);*(void **)&({place}) = (void *){p};"
        );
        self.elements(to, &p, depth + 1);
        self.out += "}";
    }

    /// Fills what `p` points to.
    fn elements(&mut self, of: TypeId, p: &str, depth: u32) {
        let (mut leaf, mut inner) = (of, format!("{p}[0]"));
        while let TypeKind::Array { of, .. } = self.types.kind(leaf) {
            leaf = *of;
            inner += "[0]";
        }
        let (q, k) = (self.fresh("q"), self.fresh("k"));
        let count = match self.has_pointers(leaf, 0) {
            true => "24".to_owned(),
            false => {
                format!("(ww_count(0) * (long)sizeof(*{p}) / (long)(sizeof({inner}) ? sizeof({inner}) : 1))")
            }
        };
        if self.by_table(leaf, &inner, p, &count) {
            return;
        }
        self.out += &format!(
            "__typeof__(&{inner}) {q} = (void *){p};for (long {k} = 0, ww_n = {count}; {k} < ww_n && {k} < 20000; {k}++) {{"
        );
        self.place(leaf, &format!("{q}[{k}]"), depth);
        self.out += "}";
    }
}

/// The call of a function, or why none can be written. `globals`: file-scope variables, each with a body that knows it and
/// whether nothing ever writes it.
pub(super) fn call(
    src: Source<'_>,
    name: &str,
    function: usize,
    globals: &[(usize, &Body, SymbolId, bool)],
) -> Result<Call, String> {
    let body = src.body;
    let list = body.args(body.root).first().copied();
    let params: Vec<_> = list.iter().flat_map(|&l| body.args(l)).copied().collect();
    let mut given: Vec<Option<Given>> = Vec::new();
    let mut f = Filler { types: &body.types, out: String::new(), names: 0 };
    let (mut real, mut probe) = (Vec::new(), Vec::new());
    for (n, &p) in params.iter().enumerate() {
        let Op::Declare(s) = *body.op(p) else { return Err("parameters not understood".to_owned()) };
        let symbol = &body.symbols[s];
        let mut slot = None;
        match body.types.kind(symbol.ty) {
            TypeKind::Int(_) => {
                slot = Some(Given { symbol: s, name: symbol.name.to_string() });
                real.push(format!("ww_arg({n})"));
                probe.push(format!("ww_arg({n})"));
            }
            TypeKind::Float(_) => {
                real.push(format!("ww_real_arg({n})"));
                probe.push("0".to_owned());
            }
            TypeKind::Pointer { to, .. } => {
                real.push(format!("ww_given({n})"));
                probe.push("0".to_owned());
                pointer_parameter(&mut f, n, symbol, *to);
            }
            TypeKind::Record(_) => {
                let (from, to) = src.place(p).ok_or("a structure from a macro")?;
                let text = &src.text[from..to];
                let ty = text.rfind(&*symbol.name).map(|at| text[..at].trim()).ok_or("an odd parameter")?;
                real.push(format!("*({ty} *)ww_given({n})"));
                probe.push(format!("*({ty} *)ww_zero"));
                f.out += &format!("{{ __typeof__({0}) *ww_s = ww_room({n}, sizeof {0}, 0);", symbol.name);
                f.place(symbol.ty, "(*ww_s)", 0);
                f.out += "}";
            }
            _ => return Err(format!("no input for `{}`", symbol.name)),
        }
        given.push(slot);
    }
    let mut g = Filler { types: &body.types, out: String::new(), names: 0 };
    let mut set = String::new();
    for &(var, known, s, fixed) in globals {
        let symbol = &known.symbols[s];
        set += &format!("ww_static({var}, (void *)&{0}, sizeof {0});", symbol.name);
        if fixed || is_fixed(&known.types, symbol) {
            continue;
        }
        if known.types.as_int(symbol.ty).is_some() {
            set += &format!("{} = ww_arg({});", symbol.name, given.len());
            given.push(Some(Given { symbol: s, name: symbol.name.to_string() }));
            continue;
        }
        let mut own = Filler { types: &known.types, out: String::new(), names: g.names };
        own.place(symbol.ty, &symbol.name, 0);
        g.names = own.names;
        set += &own.out;
    }
    let fill = format!("if (ww_filling == {}) {{ {} ww_filled(); }}", function + 1, f.out);
    let tells = match returned(body) {
        Some(TypeKind::Int(_)) => "ww_whole",
        Some(TypeKind::Float(_)) => "ww_floating",
        _ => "",
    };
    let after = format!(
        "WW_QUIET static void ww_call_{function}(void) {{ {tells}({name}({})); }}\n\
         WW_QUIET static void ww_probe_{function}(void) {{ {name}({}); }}\n\
         WW_QUIET static void ww_fill_{function}(void) {{ {set} ww_fill({}, ww_probe_{function}); }}\n",
        real.join(", "),
        probe.join(", "),
        function + 1
    );
    Ok(Call { fill, after, given })
}

/// The type of the function's value.
pub(super) fn returned(body: &Body) -> Option<&TypeKind> {
    let Op::Function(s) = *body.op(body.root) else { return None };
    match body.types.kind(body.symbols[s].ty) {
        TypeKind::Function { ret, .. } => Some(body.types.kind(*ret)),
        _ => None,
    }
}

fn pointer_parameter(f: &mut Filler<'_>, n: usize, symbol: &Symbol, to: TypeId) {
    let shares = i32::from(!f.types.quals(symbol.ty).is_restrict);
    let name = &symbol.name;
    let known = match f.types.kind(to) {
        TypeKind::Void | TypeKind::Opaque(_) => false,
        TypeKind::Function { .. } => return,
        TypeKind::Record(r) => f.types.record(*r).fields.is_some(),
        _ => true,
    };
    if !known {
        f.out += &format!("ww_room({n}, 1, {shares});");
        return;
    }
    let p = f.fresh("p");
    let shares = if f.has_pointers(to, 0) { 0 } else { shares };
    f.out += &format!("{{ __typeof__(&{name}[0]) {p} = (void *)ww_room({n}, sizeof *{name}, {shares});");
    f.elements(to, &p, 0);
    f.out += "}";
}

/// Whether a file-scope variable keeps what its text gives it.
fn is_fixed(types: &Types, symbol: &Symbol) -> bool {
    types.is_constant(symbol.ty) || !matches!(symbol.storage, Storage::Global { .. })
}
