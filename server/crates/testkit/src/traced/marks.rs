//! Marks in a program's text: where its loops and their iterations begin and end, where its variables live, and where
//! accumulating statements stand. Places come from the front end, brackets are counted in the text itself; a loop whose
//! text is not where it should be (it came out of a macro) is left unmarked and counted.

use analysis::{DependenceKind, Facts, LoopFacts, LoopId, ReductionOp, Witness};
use term::{Body, Op, Origin, Storage, SymbolId, TermId, TypeKind};

use super::print::Source;
use super::text::{after_semicolon, closing, skip_blank, word_at};

/// A variable that the runtime is told of.
#[derive(Clone, Debug)]
pub(super) struct Var {
    /// File, and function in it; file-scope variables have none.
    pub file: usize,
    pub item: Option<usize>,
    pub symbol: SymbolId,
    pub name: String,
}

/// A loop that is marked.
#[derive(Clone, Debug)]
pub(super) struct Loop {
    pub file: usize,
    pub item: usize,
    pub id: LoopId,
    /// The witnesses it is asked for: position among its dependences.
    pub queries: Vec<usize>,
}

/// What the runtime's tables hold.
#[derive(Default)]
pub(super) struct Tables {
    pub vars: Vec<Var>,
    pub loops: Vec<Loop>,
    pub queries: Vec<String>,
    pub members: Vec<String>,
    pub headers: Vec<String>,
    pub updates: usize,
    /// Loops that could not be marked.
    pub unmarked: usize,
}

/// Texts to put in at places: what closes goes first (inner before outer), then points, then what opens.
#[derive(Default)]
pub(super) struct Inserts(Vec<(usize, u8, i64, String)>);

impl Inserts {
    pub(super) fn wrap(&mut self, from: usize, to: usize, open: String, close: String) {
        let length = (to - from) as i64;
        self.0.push((from, 2, -length, open));
        self.0.push((to, 0, length, close));
    }
    pub(super) fn point(&mut self, at: usize, text: String) {
        self.0.push((at, 1, 0, text));
    }
    /// The text with everything put in.
    pub(super) fn apply(mut self, text: &str) -> String {
        self.0.sort_by_key(|i| (i.0, i.1, i.2));
        let (mut out, mut at) = (String::with_capacity(text.len() * 2), 0);
        for (place, _, _, new) in &self.0 {
            out += &text[at..*place];
            out += new;
            at = *place;
        }
        out + &text[at..]
    }
}

/// Number of witnesses of a loop that are looked for.
const QUERIES: usize = 12;

/// Marks one function. `fill` is put in at its beginning.
pub(super) fn function(
    src: Source<'_>,
    (file, item): (usize, usize),
    facts: &Facts,
    fill: &str,
    tables: &mut Tables,
    out: &mut Inserts,
) {
    let body = src.body;
    let &[params, block, ..] = body.args(body.root) else { return };
    let Some((open, _)) = src.place(block).filter(|(from, _)| src.text[*from..].starts_with('{')) else {
        return;
    };
    let mut first = fill.to_owned();
    for &p in body.args(params) {
        if let Op::Declare(s) = *body.op(p) {
            if !body.symbols[s].name.is_empty() {
                first += &variable(src, (file, item), s, "ww_var", "", tables);
            }
        }
    }
    out.point(open + 1, first);
    let mut headers: Vec<SymbolId> = Vec::new();
    for (id, l) in facts.loops.iter_ids() {
        if one_loop(src, (file, item, id), l, tables, out, &mut headers).is_none() {
            tables.unmarked += 1;
        }
    }
    for t in body.walk(block) {
        match *body.op(t) {
            Op::Declare(s) if !headers.contains(&s) => declared(src, (file, item), t, s, tables, out),
            Op::Assign => by_call(src, t, out),
            _ => {}
        }
    }
    updates(src, (file, item), facts, tables, out);
}

fn variable(
    src: Source<'_>,
    (file, item): (usize, usize),
    s: SymbolId,
    call: &str,
    between: &str,
    tables: &mut Tables,
) -> String {
    let name = src.body.symbols[s].name.to_string();
    let n = tables.vars.len();
    tables.vars.push(Var { file, item: Some(item), symbol: s, name: name.clone() });
    format!("{call}({n}, {between}(void *)&{name}, sizeof {name});")
}

fn declared(
    src: Source<'_>,
    at: (usize, usize),
    t: TermId,
    s: SymbolId,
    tables: &mut Tables,
    out: &mut Inserts,
) {
    let body = src.body;
    let symbol = &body.symbols[s];
    let call = match symbol.storage {
        Storage::Local => "ww_var",
        Storage::StaticLocal { kept: false } => "ww_of_call",
        Storage::StaticLocal { .. } => "ww_static",
        _ => return,
    };
    if matches!(body.types.kind(symbol.ty), TypeKind::Function { .. }) || symbol.name.is_empty() {
        return;
    }
    let Some(end) = src.place(t).and_then(|(_, to)| {
        // the term may end with the declaration's own semicolon
        if src.text[..to].ends_with(';') {
            Some(to)
        } else {
            after_semicolon(src.text, to)
        }
    }) else {
        return;
    };
    let mut text = variable(src, at, s, call, "", tables);
    let initial = body.args(t).first().is_some_and(|&e| *body.op(e) == Op::Call);
    if initial && matches!(body.types.kind(symbol.ty), TypeKind::Record(_)) {
        text += &format!("ww_wrote((void *)&{0}, sizeof {0});", symbol.name);
    } else if !body.args(t).is_empty() && symbol.storage == Storage::Local {
        // its birth is told after its initialiser ran
        let constant = body.types.quals(symbol.ty).is_const;
        if !constant || !matches!(body.types.kind(symbol.ty), TypeKind::Array { .. }) {
            text += &format!("ww_wrote((void *)&{0}, sizeof {0});", symbol.name);
        }
    }
    out.point(end, text);
}

/// A structure that a call's result is assigned to: gcc tells nobody of that write.
fn by_call(src: Source<'_>, t: TermId, out: &mut Inserts) {
    let body = src.body;
    let &[left, right] = body.args(t) else { return };
    if *body.op(right) != Op::Call || !matches!(body.types.kind(body.ty(left)), TypeKind::Record(_)) {
        return;
    }
    let (Some((from, to)), Some(place)) = (src.place(t), src.expression(left)) else { return };
    if src.text[skip_blank(src.text, to)..].starts_with(';') {
        out.wrap(from, to, String::new(), format!(", ww_wrote((void *)&({place}), sizeof({place}))"));
    }
}

fn one_loop(
    src: Source<'_>,
    (file, item, id): (usize, usize, LoopId),
    l: &LoopFacts,
    tables: &mut Tables,
    out: &mut Inserts,
    headers: &mut Vec<SymbolId>,
) -> Option<()> {
    let (body, text) = (src.body, src.text);
    let (from, mut to) = src.place(l.term)?;
    let op = body.op(l.term);
    let (inner_from, inner_to) = match op {
        Op::For | Op::While => {
            let word = if *op == Op::For { "for" } else { "while" };
            let open = word_at(text, from, word).then(|| skip_blank(text, from + word.len()))?;
            let close = text[open..].starts_with('(').then(|| closing(text, open))??;
            (close, to)
        }
        Op::DoWhile => {
            let open = word_at(text, from, "do").then(|| skip_blank(text, from + 2))?;
            let close = text[open..].starts_with('{').then(|| closing(text, open))??;
            to = if text[..to].ends_with(';') { to } else { after_semicolon(text, to)? };
            (from + 2, close)
        }
        _ => return None,
    };
    (inner_from <= inner_to && text[..to].ends_with(['}', ';'])).then_some(())?;
    let number = tables.loops.len();
    let mut begin = String::new();
    let (mut matched, mut queries) = (Vec::new(), Vec::new());
    for (n, d) in l.dependences.iter().enumerate() {
        let Some(w) = d.witness.as_ref().filter(|_| queries.len() < QUERIES) else { continue };
        let Some(text) = values(src, w, l.term) else { continue };
        let kind = match d.kind {
            DependenceKind::Flow => 0,
            DependenceKind::Anti => 1,
            DependenceKind::Output => 2,
        };
        tables.queries.push(format!("{{ {number}, {kind}, {}, {} }}", w.source_iteration, w.sink_iteration));
        matched.push(format!("(({text}) ? {}u : 0)", 1 << queries.len()));
        queries.push(n);
    }
    let holds = src.conditions(&l.conditions, l.term);
    let matched = matched.join(" | ");
    begin += &format!("ww_begin({number}, {holds});");
    // what is fixed while it runs may be set by its header, and changed again by its condition
    let condition = (*op == Op::For).then(|| after_semicolon(text, skip_blank(text, from + 3) + 1)).flatten();
    match condition {
        _ if matched.is_empty() => {}
        Some(at) => {
            let rest = if text[skip_blank(text, at)..].starts_with(';') { ", 1" } else { "," };
            out.point(at, format!("(ww_fresh({number}) ? (ww_off(), ww_match({number}, {matched}), ww_on()) : (void)0){rest}"));
        }
        None => begin += &format!("ww_match({number}, {matched});"),
    }
    for (n, (object, size, kept)) in objects(src, l).into_iter().enumerate() {
        begin += &format!("ww_object({n}, {object}, {size}, {kept});");
    }
    out.wrap(
        from,
        to,
        format!("{{ww_off();__attribute__((cleanup(ww_leave)))int ww_loop={number};{begin}ww_on();"),
        "}".to_owned(),
    );
    let index = l.control.as_ref().ok().filter(|c| !c.pointer).and_then(|c| {
        let s = &body.symbols[c.index];
        let named = !matches!(s.storage, Storage::Path) && !s.name.is_empty();
        named.then(|| s.name.to_string())
    });
    let mut start = format!(" {{ww_iter({number}, (long long)({}));", index.as_deref().unwrap_or("0"));
    if *op == Op::For {
        for t in body.walk(body.args(l.term)[0]) {
            let Op::Declare(s) = *body.op(t) else { continue };
            headers.push(s);
            if body.origin(t) == Origin::Source {
                tables.headers.push(format!("{number}, {}", tables.vars.len()));
                start += &variable(src, (file, item), s, "ww_header", &format!("{number}, "), tables);
            }
        }
    }
    out.wrap(inner_from, inner_to, start, "}".to_owned());
    tables.loops.push(Loop { file, item, id, queries });
    Some(())
}

/// Whether everything that is fixed has the witness's values.
fn values(src: Source<'_>, w: &Witness, l: TermId) -> Option<String> {
    let mut all = vec!["1".to_owned()];
    for (p, v) in &w.params {
        all.push(format!("{} == {}ll", src.param(p, l)?, i64::try_from(*v).ok()?));
    }
    Some(all.join(" && "))
}

/// Whether a reduction's place is the variable itself, not what it points to.
pub(super) fn is_variable(body: &Body, place: TermId) -> bool {
    match body.op(place) {
        Op::Sym(_) | Op::Declare(_) => true,
        o if o.is_write() => body.args(place).first().is_some_and(|&l| body.as_symbol(l).is_some()),
        _ => false,
    }
}

/// The objects of a loop's reductions and kept privates: address, size, whether it is kept.
pub(super) fn objects(src: Source<'_>, l: &LoopFacts) -> Vec<(String, String, i32)> {
    l.reductions
        .iter()
        .map(|r| {
            let itself = is_variable(src.body, r.place);
            let kept = i32::from(r.op == ReductionOp::Last);
            match src.object(r.object.symbol, itself, l.term) {
                Some((a, s)) => (a, s, kept),
                None => ("(void *)0".to_owned(), "-1ul".to_owned(), kept),
            }
        })
        .collect()
}

/// Marks accumulating statements, each with the reductions it belongs to.
fn updates(src: Source<'_>, at: (usize, usize), facts: &Facts, tables: &mut Tables, out: &mut Inserts) {
    let mut all: Vec<(TermId, Vec<(usize, usize)>)> = Vec::new();
    for (id, l) in facts.loops.iter_ids() {
        let Some(number) = tables.loops.iter().position(|m| (m.file, m.item) == at && m.id == id) else {
            continue;
        };
        for (n, r) in l.reductions.iter().enumerate().filter(|(_, r)| r.op != ReductionOp::Last) {
            for &u in &r.updates {
                match all.iter_mut().find(|(t, _)| *t == u) {
                    Some((_, of)) => of.push((number, n)),
                    None => all.push((u, vec![(number, n)])),
                }
            }
        }
    }
    for (u, of) in all {
        // of a declaration what it computes
        let value = match (src.body.op(u), src.body.args(u)) {
            (Op::Declare(_), &[value]) => Some(value),
            _ => None,
        };
        let Some((from, to)) = src.place(value.unwrap_or(u)) else { continue };
        let number = tables.updates;
        tables.updates += 1;
        tables.members.extend(of.iter().map(|(l, r)| format!("{{ {number}, {l}, {r} }}")));
        let (open, close) = (format!("ww_update({number});"), "ww_updated();");
        let statement = value.is_none()
            && !src.body.op(u).is_write()
            && *src.body.op(u) != Op::Call
            && *src.body.op(u) != Op::Select;
        if statement || is_void(src.body, u) {
            let expression = !statement;
            let (before, after) = if expression { ("({", ";") } else { ("{", "") };
            let end = if expression { "})" } else { "}" };
            out.wrap(from, to, format!("{before}{open}"), format!("{after}{close}{end}"));
        } else {
            out.wrap(from, to, format!("({{{open}__auto_type ww_t=("), format!(");{close}ww_t;}})"));
        }
    }
}

fn is_void(body: &Body, t: TermId) -> bool {
    matches!(body.types.kind(body.ty(t)), TypeKind::Void)
}
