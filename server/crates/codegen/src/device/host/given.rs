//! What the function that stands for a loop is given: values, arrays, and where results go. Each once, whoever asks.

use std::collections::BTreeMap;

use analysis::{Left, Param};
use term::{Body, IntKind, Op, Storage, SymbolId, TermId, TypeId, TypeKind};

use super::stand_in::{StandIn, WayOut};
use crate::device::expr::{int_name, Dialect, Exprs};
use crate::device::host_expr::{
    distance_text, element_name, parameter_text, pointer_text, symbol_text, term_text, Named,
};
use crate::device::host_term::Term;
use crate::plan::{has_word, may_trap, name_part, BufferPlan, Kernel, Namer, Plan};
use crate::HostSide;

/// One parameter, and what the user's file passes for it.
pub(crate) struct Given {
    /// In the function.
    pub(crate) name: String,
    /// The type in C, as the notation has it.
    pub(crate) in_c: String,
    /// The type in C++, where structs have names.
    pub(crate) ty: String,
    /// The user's own expression.
    pub(crate) value: String,
    /// Whether the program evaluates it only where the loop runs.
    late: bool,
}

/// A number that only the user's file can compute, handed on to where it is used.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct FixedNumber {
    pub(crate) kind: IntKind,
    pub(crate) wish: String,
    /// As the user's file computes it.
    pub(crate) text: String,
    /// As it is called in between.
    pub(crate) name: String,
}

/// The function that calls for a nest of a region: it runs the host's statements between kernels.
pub(crate) struct Steps<'p> {
    /// The plan whose kernel holds the names of variables there.
    pub(crate) outer: &'p Plan<'p>,
    pub(crate) fixed: std::cell::RefCell<Vec<FixedNumber>>,
    /// Names of ends of arrays, found where the region begins, that nests are given.
    pub(crate) ends: std::cell::RefCell<Vec<String>>,
    /// Pointers that they assign to one another.
    pub(crate) exchanged: Vec<SymbolId>,
    /// Arrays that may grow, in the order of their table.
    pub(crate) growing: Vec<SymbolId>,
    /// Memory on the device that kernels leave results in, taken once for all rounds.
    pub(crate) rooms: std::cell::RefCell<Vec<Room>>,
    /// Whether some kernel looks at what may throw.
    pub(crate) looks: std::cell::Cell<bool>,
}

/// Memory on the device for what blocks leave.
#[derive(Clone, PartialEq)]
pub(crate) struct Room {
    /// As it is called where it is taken, and in between.
    pub(crate) name: String,
    pub(crate) ty: String,
    pub(crate) size: RoomSize,
}

/// How large a room is.
#[derive(Clone, PartialEq)]
pub(crate) enum RoomSize {
    Elements(i128),
    /// What threads have for themselves of an array: so many threads, in rounds of a block's, unless these are too many.
    Own {
        of: SymbolId,
        trips: Vec<analysis::Expr>,
    },
}

/// The first element of an array that a region has on the device.
#[derive(Clone)]
pub(crate) enum First {
    Number(i128),
    /// As it is called in the steps.
    Named(String),
}

impl Steps<'_> {
    /// Of an array that the region has.
    pub(crate) fn first(&self, s: SymbolId) -> Option<First> {
        let b = self.outer.buffers.iter().find(|b| b.symbol == s)?;
        Some(b.constant_first().map_or_else(|| First::Named(b.first_name.clone()), First::Number))
    }

    fn fixed(&self, kind: IntKind, wish: &str, text: &str) -> String {
        let mut all = self.fixed.borrow_mut();
        if let Some(known) = all.iter().find(|f| f.kind == kind && f.text == text) {
            return known.name.clone();
        }
        let is_taken = |n: &str| {
            let names = self.outer.kernels.iter().flat_map(|k| k.names.values());
            names.map(String::as_str).chain(all.iter().map(|f| f.name.as_str())).any(|o| o == n)
        };
        let mut name = format!("{}{wish}", self.outer.prefix);
        while is_taken(&name) {
            name.push('_');
        }
        all.push(FixedNumber { kind, wish: wish.to_owned(), text: text.to_owned(), name: name.clone() });
        name
    }
}

/// All that is given, in the order in which it was asked for.
pub(crate) struct Givens<'p> {
    pub(super) plan: &'p Plan<'p>,
    /// As the user's file writes it.
    pub(super) c: Exprs<'p>,
    /// As the caller writes it.
    pub(super) caller: Exprs<'p>,
    /// The caller, if it is not the user's file.
    pub(super) steps: Option<&'p Steps<'p>>,
    pub(super) cpp: Exprs<'p>,
    pub(crate) all: Vec<Given>,
    pub(crate) stand_ins: Vec<StandIn>,
    /// Where control may leave the region that is called, and the variables of the user's file that say so.
    pub(crate) left: Option<&'p Left>,
    pub(crate) ways_out: Vec<WayOut>,
    names: Namer,
    /// Numbers in `all`, by what it is.
    pub(super) known: BTreeMap<Key, usize>,
    /// Variables that results go to: their values are read there, too.
    results: Vec<SymbolId>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    Variable(SymbolId),
    /// Where a variable is.
    At(SymbolId),
    /// The cell of a reduction.
    Cell(usize),
    Array(usize),
    /// Anything else, by type and the user's text.
    Text(String, String),
}

impl<'p> Givens<'p> {
    pub(crate) fn new(plan: &'p Plan<'p>, kernel: &'p Kernel, steps: Option<&'p Steps<'p>>) -> Givens<'p> {
        let mut results: Vec<SymbolId> = Vec::new();
        results.extend(kernel.reductions.iter().filter(|r| !r.cell).map(|r| r.symbol));
        results.extend(kernel.keyed.iter().flat_map(|k| &k.variables).filter(|v| !v.cell).map(|v| v.symbol));
        results.extend(plan.finals.iter().map(|f| f.symbol));
        let mut names = Namer::default();
        for taken in ["malloc", "free", "memcpy", &kernel.name].into_iter().chain(plan.target.host.names()) {
            names.fresh(taken);
        }
        let c = Exprs { plan, kernel, dialect: Dialect::of_host(plan) };
        let caller = match steps.and_then(|s| s.outer.kernels.first()) {
            Some(of_names) => {
                let is_method = plan.host() == HostSide::Method;
                let dialect = if is_method { Dialect::Steps } else { Dialect::Device };
                Exprs { plan, kernel: of_names, dialect }
            }
            None => c,
        };
        Givens {
            plan,
            c,
            caller,
            steps,
            cpp: Exprs { plan, kernel, dialect: Dialect::Device },
            all: Vec::new(),
            stand_ins: Vec::new(),
            left: None,
            ways_out: Vec::new(),
            names,
            known: BTreeMap::new(),
            results,
        }
    }

    pub(super) fn body(&self) -> &'p Body {
        self.plan.body
    }

    /// Adds a parameter unless there is one, and gives its name. The types are those in C and in C++.
    pub(super) fn add(
        &mut self,
        key: Key,
        wish: &str,
        [in_c, ty]: [&str; 2],
        value: String,
        late: bool,
    ) -> String {
        if let Some(&k) = self.known.get(&key) {
            return self.all[k].name.clone();
        }
        let name = self.names.fresh(wish);
        // what a plan for C# is given may always be read
        let late = late && !self.is_csharp();
        self.known.insert(key, self.all.len());
        self.all.push(Given { name: name.clone(), in_c: in_c.to_owned(), ty: ty.to_owned(), value, late });
        name
    }

    /// A value with its own integer type.
    fn int(&mut self, kind: IntKind, wish: &str, value: String, late: bool) -> String {
        // in C# a truth value is no number, and is handed over as one
        let kind = if self.is_csharp() && kind == IntKind::Bool { IntKind::Int } else { kind };
        let in_c = int_name(kind, Dialect::of_host(self.plan));
        let ty = if self.is_csharp() { in_c } else { int_name(kind, Dialect::Device) };
        self.add(Key::Text(in_c.to_owned(), value.clone()), wish, [in_c, ty], value, late)
    }

    pub(super) fn is_csharp(&self) -> bool {
        self.plan.host() == HostSide::Method
    }

    /// How the caller writes what it gives.
    pub(crate) fn caller(&self) -> Exprs<'p> {
        self.caller
    }

    /// Also the value of a variable counts that is set, so it is given by its address.
    pub(crate) fn keep(&mut self, s: SymbolId) {
        self.results.push(s);
    }

    /// A number of 64 bits that the caller computes.
    pub(crate) fn number(&mut self, wish: &str, value: &str) -> String {
        self.int(IntKind::LongLong, wish, value.to_string(), true)
    }

    /// A number that only the user's file can compute.
    pub(crate) fn fixed(&mut self, kind: IntKind, wish: &str, text: &str, late: bool) -> String {
        let value = self.steps.map_or_else(|| text.to_owned(), |s| s.fixed(kind, wish, text));
        self.int(kind, wish, value, late)
    }

    /// A size in bytes of something that only the user's file can name.
    pub(crate) fn bytes(&mut self, wish: &str, of: &str) -> String {
        self.fixed(IntKind::ULongLong, wish, &format!("sizeof({of})"), false)
    }

    /// A value that the plan's expressions are made of.
    pub(crate) fn value(&mut self, p: &Param) -> Option<Named> {
        let v = self.plan.values.iter().find(|v| v.param == *p)?;
        let term = match *p {
            Param::Symbol(s) if !self.plan.first_values.contains_key(&s) => self.variable(s),
            Param::Symbol(s) => {
                let wish = format!("first_{}", self.body().symbols[s].name);
                Term::Name(self.int(v.kind, &wish, symbol_text(&self.caller, s), !v.early))
            }
            Param::Term(t) => {
                let text = parameter_text(&self.caller, t);
                let wish = self.kernel_choice(t).unwrap_or_else(|| wish_of(&text, "value"));
                Term::Name(self.int(v.kind, &wish, text, !v.early))
            }
            Param::Row(_) => return None,
            Param::Longest(s) => Term::name(&self.plan.lengths_of_rows(s)?.longest_name),
            Param::End { last, .. } => self.end(*p, last)?,
            Param::Distance { from, to } => {
                let text = distance_text(&self.c, from, to);
                // of pointers into one array only, which the loop's own comparison is about
                Term::Name(self.int(v.kind, "distance", text, true))
            }
        };
        Some(Named { term, kind: v.kind })
    }

    /// The end of an array that the region has found.
    fn end(&mut self, p: Param, last: bool) -> Option<Term> {
        let outer = self.steps.map_or(self.plan, |s| s.outer);
        let e = outer.ends.iter().find(|e| e.is(p))?;
        let name = if last { &e.last_name } else { &e.first_name };
        let Some(steps) = self.steps else { return Some(Term::name(name)) };
        let mut handed = steps.ends.borrow_mut();
        if !handed.contains(name) {
            handed.push(name.clone());
        }
        let own = name.strip_prefix(&outer.prefix).unwrap_or(name);
        Some(Term::Name(self.number(own, name)))
    }

    /// What a condition that a kernel is given is called there.
    fn kernel_choice(&self, t: TermId) -> Option<String> {
        let mut all = self.plan.kernels.iter().flat_map(|k| &k.choices);
        let found = all.find(|c| self.body().same(c.term, t))?;
        Some(found.name.strip_prefix(&self.plan.prefix).unwrap_or(&found.name).to_owned())
    }

    /// A term's value, in its own type.
    pub(crate) fn term(&mut self, t: TermId, wish: &str) -> String {
        let kind = self.body().types.as_int(self.body().ty(t)).unwrap_or(IntKind::LongLong);
        self.int(kind, wish, term_text(&self.caller, t), may_trap(self.body(), t))
    }

    /// A variable's value; of a struct its address.
    pub(crate) fn variable(&mut self, s: SymbolId) -> Term {
        if self.results.contains(&s) {
            return Term::Name(self.at(s)).deref();
        }
        if let Some(length) = self.length(s) {
            return length;
        }
        let (body, symbol) = (self.body(), &self.body().symbols[s]);
        let (name, late) = (self.caller.name(s), self.is_late(s));
        let wish = wish_of(&name, "value");
        Term::Name(match body.types.kind(symbol.ty) {
            TypeKind::Record(_) => {
                let ty = format!("const {}*", self.cpp.type_name(symbol.ty));
                self.add(Key::Variable(s), &wish, ["const void*", &ty], format!("&{name}"), late)
            }
            TypeKind::Int(IntKind::Bool) if self.is_csharp() && self.steps.is_none() => {
                return Term::Name(self.int(IntKind::Int, &wish, format!("({name} ? 1 : 0)"), late));
            }
            _ => {
                let in_c = self.c.type_name(symbol.ty);
                let ty = if self.is_csharp() { in_c.clone() } else { self.cpp.type_name(symbol.ty) };
                self.add(Key::Variable(s), &wish, [&in_c, &ty], name, late)
            }
        })
    }

    /// The address of a variable.
    pub(crate) fn at(&mut self, s: SymbolId) -> String {
        let (plan, symbol) = (self.plan, &self.body().symbols[s]);
        let key = Key::At(s);
        if let Some(&k) = self.known.get(&key) {
            return self.all[k].name.clone();
        }
        if self.left.is_some_and(|l| l.flag == s || l.value == Some(s)) {
            return self.way_out(s);
        }
        let place = self.caller.name(s);
        let is_result = self.results.contains(&s);
        if is_result && matches!(self.body().types.kind(symbol.ty), TypeKind::Pointer { .. }) {
            return self.moved(s);
        }
        // an index is only set, unless it begins with what it holds
        let begins = plan.values.iter().any(|v| v.param == Param::Symbol(s));
        let is_read =
            !plan.finals.iter().any(|f| f.symbol == s) || begins && !plan.first_values.contains_key(&s);
        let path = plan.body.path_term(s).filter(|_| symbol.storage == Storage::Path);
        let has_address = match plan.host() {
            HostSide::Function => !is_register(plan, s) && path.is_none_or(|t| !is_bit_field(plan.body, t)),
            // a property has none, and what goes by reference has been set
            HostSide::Method => is_read && symbol.is_own_scalar(),
        };
        let wish = match is_result {
            true => wish_of(&place, "result"),
            false => format!("at_{}", wish_of(&place, "value")),
        };
        let late =
            path.is_some_and(|t| leads_through_memory(plan.body, t)) || symbol.is_member_behind_pointer();
        // it is only compared
        if !is_result && !self.is_csharp() && self.body().types.is_arithmetic(symbol.ty) {
            let of = [self.c.type_name(symbol.ty), self.cpp.type_name(symbol.ty)];
            let ty = of.map(|t| format!("const {}*", t.trim_start_matches("const ")));
            return self.add(key, &wish, [&ty[0], &ty[1]], format!("&{place}"), late);
        }
        self.result(key, &wish, symbol.ty, (place, has_address || !is_result), [is_read, late], "")
    }

    /// Memory for results, which the caller has.
    pub(crate) fn room(&mut self, room: Room, wish: &str) -> String {
        let (ty, value) = (format!("{}*", room.ty), room.name.clone());
        if let Some(steps) = self.steps {
            steps.rooms.borrow_mut().push(room);
        }
        self.add(Key::Text(ty.clone(), value.clone()), wish, [&ty, &ty], value, false)
    }

    /// Where an array of the region's lies on the device.
    pub(crate) fn resident(&mut self, s: SymbolId, ty: &str) -> String {
        let (value, wish) = (self.caller.name(s), wish_of(&self.body().symbols[s].name, "array"));
        self.add(Key::Text(ty.to_owned(), value.clone()), &wish, [ty, ty], value, false)
    }

    /// The table of arrays that may grow, which the caller has.
    pub(crate) fn table(&mut self, ty: &str, value: &str) -> String {
        self.handed("arrays", ty, value)
    }

    /// What the caller has and hands on.
    pub(crate) fn handed(&mut self, wish: &str, ty: &str, value: &str) -> String {
        let key = Key::Text(ty.to_owned(), value.to_owned());
        self.add(key, wish, [ty, ty], value.to_owned(), false)
    }

    /// The address of a pointer that is set.
    pub(crate) fn pointer_at(&mut self, s: SymbolId, element: [&str; 2]) -> String {
        let name = self.caller.name(s);
        let ty = element.map(|e| format!("{e}**"));
        self.add(Key::At(s), &wish_of(&name, "result"), [&ty[0], &ty[1]], format!("&{name}"), false)
    }

    /// The address of the cell that a result goes into, by its number in [`Kernel::held`].
    pub(crate) fn cell(&mut self, k: usize) -> String {
        let plan = self.plan;
        let Some(r) = self.c.kernel.held().get(k).copied() else { return String::new() };
        let place = term_text(&self.c, r.place);
        let wish = match self.is_csharp() {
            true => wish_of(&place, "result"),
            false => wish_of(&plan.body.symbols[r.symbol].name, "result"),
        };
        let late = leads_through_memory(plan.body, r.place);
        let has_address = !is_bit_field(plan.body, r.place) && !self.is_csharp();
        self.result(Key::Cell(k), &wish, r.ty, (place, has_address), [true, late], "")
    }

    /// By how many elements a pointer has moved.
    fn moved(&mut self, s: SymbolId) -> String {
        let body = self.body();
        let place = body.symbols[s].name.to_string();
        let first = format!("{} + ", pointer_text(&self.c, s));
        self.result(
            Key::At(s),
            &format!("moved_{place}"),
            body.symbols[s].ty,
            (place, false),
            [false; 2],
            &first,
        )
    }

    fn result(
        &mut self,
        key: Key,
        wish: &str,
        ty: TypeId,
        (place, has_address): (String, bool),
        [is_read, late]: [bool; 2],
        first: &str,
    ) -> String {
        if let Some(&k) = self.known.get(&key) {
            return self.all[k].name.clone();
        }
        let declared = match self.body().types.kind(ty) {
            TypeKind::Record(_) => ["const void*".to_string(), "const void*".to_string()],
            TypeKind::Pointer { .. } => ["long long*".to_string(), "long long*".to_string()],
            _ => [format!("{}*", self.c.type_name(ty)), format!("{}*", self.cpp.type_name(ty))],
        };
        let (declared, to) = match self.is_csharp() {
            true => ([0; 2].map(|_| format!("ref {}", self.c.type_name(ty))), "ref "),
            false => (declared, "&"),
        };
        let value = match has_address {
            true => format!("{to}{place}"),
            false => {
                let ty = declared[0].trim_end_matches('*').trim_start_matches(to).to_owned();
                format!("{to}{}", self.stand_in(ty, place, is_read, first))
            }
        };
        self.add(key, wish, [&declared[0], &declared[1]], value, late)
    }

    /// An array, by its first element.
    pub(crate) fn array(&mut self, b: &BufferPlan) -> String {
        let k = self.plan.buffers.iter().position(|o| o.symbol == b.symbol).unwrap_or_default();
        let symbol = &self.body().symbols[b.symbol];
        if self.is_csharp() {
            return self.managed_array(b);
        }
        if let Some(rows) = b.rows.as_ref().filter(|_| self.steps.is_none()) {
            let element = match has_type(self.plan, b) {
                true => self.cpp.type_name(b.element),
                false => element_name(&self.c, b).to_string(),
            };
            let own = self.body().as_symbol(rows.table);
            let value = own.map_or_else(|| term_text(&self.c, rows.table), |s| pointer_text(&self.c, s));
            let late = own.is_none_or(|s| self.is_late(s));
            let ty = super::rows::table_type(rows, &element, b.written);
            let wish = wish_of(symbol.name.trim_end_matches("[]"), "rows");
            return self.add(Key::Array(k), &wish, ["const void*", &ty], value, late);
        }
        let fixed = if b.written { "" } else { "const " };
        let in_c = format!("{fixed}{}*", element_name(&self.c, b));
        let ty = match has_type(self.plan, b) {
            true => format!("{fixed}{}*", self.cpp.type_name(b.element)),
            false => format!("{fixed}{}*", element_name(&self.c, b)),
        };
        let value = match b.rank {
            _ if self.steps.is_some() => self.caller.name(b.symbol),
            1 => pointer_text(&self.c, b.symbol),
            rank => format!("&{}{}", symbol.name, "[0]".repeat(rank)),
        };
        let late = self.is_late(b.symbol);
        self.add(Key::Array(k), &wish_of(&symbol.name, "array"), [&in_c, &ty], value, late)
    }

    /// Whether the program may read the variable only where the loop runs: it lies behind a pointer, or nothing says that it
    /// has been set before.
    fn is_late(&self, s: SymbolId) -> bool {
        let (body, symbol) = (self.body(), &self.body().symbols[s]);
        match symbol.storage {
            // a variable that is read has been set
            _ if self.is_csharp() => false,
            _ if symbol.is_member_behind_pointer() => true,
            Storage::Local if symbol.is_member_of_variable() => false,
            Storage::Param(_)
            | Storage::Global { .. }
            | Storage::StaticLocal { .. }
            | Storage::Constant(_) => false,
            Storage::Local if matches!(body.types.kind(symbol.ty), TypeKind::Array { .. }) => false,
            Storage::Local => {
                let is_set = |t: TermId| *body.op(t) == Op::Declare(s) && !body.args(t).is_empty();
                !body.walk(body.root).any(is_set) && !self.is_set_before(s)
            }
            _ => true,
        }
    }

    /// Whether a statement before the loop, in the same block or around it, sets the variable.
    fn is_set_before(&self, s: SymbolId) -> bool {
        let body = self.body();
        let jumps = |t: TermId| matches!(body.op(t), Op::Goto(_) | Op::Label(_) | Op::Switch);
        // of a region the first statement
        let mut at = self.c.kernel.dims.first().map_or(self.c.kernel.body, |d| d.term);
        if body.walk(body.root).any(jumps) {
            return false;
        }
        // `a = b = c` sets both
        let chain = |t: TermId| {
            std::iter::successors(Some(t), |&t| match (body.op(t), body.args(t)) {
                (Op::Assign, &[_, value]) => Some(value),
                _ => None,
            })
        };
        let sets = |&t: &TermId| {
            chain(t).any(|t| match (body.op(t), body.args(t).first()) {
                (Op::Assign, Some(&place)) => body.as_symbol(place) == Some(s),
                _ => false,
            })
        };
        let parents = body.parents();
        while let Some(around) = parents.get(at.0 as usize).copied().flatten() {
            let is_block = *body.op(around) == Op::List;
            if is_block && body.args(around).iter().take_while(|&&t| t != at).any(&sets) {
                return true;
            }
            // what a loop begins with
            let begins = body.args(around).first().filter(|&&t| *body.op(around) == Op::For && t != at);
            if begins.is_some_and(&sets) {
                return true;
            }
            at = around;
        }
        false
    }

    /// Whether something is evaluated for the call that the program evaluates only where the loop runs.
    pub(crate) fn any_late(&self) -> bool {
        self.all.iter().any(|g| g.late)
    }
}

/// Whether the kernel file knows the type of the elements: structs of which only the host needs the place are not defined there.
pub(crate) fn has_type(plan: &Plan<'_>, b: &BufferPlan) -> bool {
    match plan.body.types.kind(b.element) {
        TypeKind::Record(r) => plan.records.contains(r),
        _ => true,
    }
}

/// What it is called in the function: a path's words, where it is one.
pub(super) fn wish_of(text: &str, otherwise: &str) -> String {
    let part = name_part(text);
    let is_name = part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && part.len() <= 40;
    if is_name {
        part
    } else {
        otherwise.to_string()
    }
}

/// Whether finding the place, without touching it, follows a pointer that lies in memory or computes what may fault.
fn leads_through_memory(body: &Body, mut place: TermId) -> bool {
    loop {
        let args = body.args(place);
        match (body.op(place), args.first()) {
            (Op::Member { arrow: false, .. }, Some(&of)) => place = of,
            (Op::Sym(_), _) => return false,
            _ => return args.iter().any(|&a| may_trap(body, a)),
        }
    }
}

fn is_bit_field(body: &Body, place: TermId) -> bool {
    let (Op::Member { field, arrow }, Some(&of)) = (body.op(place), body.args(place).first()) else {
        return false;
    };
    let types = &body.types;
    let record = match (arrow, types.kind(body.ty(of))) {
        (false, TypeKind::Record(r)) => Some(*r),
        (true, TypeKind::Pointer { to, .. }) => match types.kind(*to) {
            TypeKind::Record(r) => Some(*r),
            _ => None,
        },
        _ => None,
    };
    let fields = record.map(|r| types.record(r).fields.iter().flatten());
    fields.is_some_and(|mut all| all.any(|f| f.name == *field && f.bits.is_some()))
}

/// Whether the function's text may declare the variable `register`.
fn is_register(plan: &Plan<'_>, s: SymbolId) -> bool {
    let name = &*plan.body.symbols[s].name;
    let is_part = |c: char| c == '_' || c.is_alphanumeric();
    let text = plan.site.text;
    text.match_indices("register").any(|(at, word)| {
        let rest = &text[at + word.len()..];
        let is_word = !text[..at].ends_with(is_part) && !rest.starts_with(is_part);
        let declared = rest.split([';', ')']).next().unwrap_or(rest);
        is_word && has_word(declared, name)
    })
}
