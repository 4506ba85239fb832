//! The loop that is to be transformed, with its text and its facts.
//!
//! Long because every transformation asks the same questions of its loop, and they share what they look up.

use std::cell::RefCell;
use std::rc::Rc;

use analysis::{Edge, Facts, Graph, LoopFacts, LoopId, Order, Step};
use base::{Budget, Span};
use rustc_hash::FxHashMap;
use term::strength::{self, ADD, ATOM};
use term::{Arithmetic, BinOp, Body, IntKind, Op, Origin, SymbolId, TermId, TypeKind};

use super::refusal::{shape, Refusal};
use super::text::{chunks, closing, tokens, Chunk, TokenKind};

/// A file as it was read.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    pub unit: &'a front::Unit,
    /// What is known of its functions where they are called.
    pub program: &'a analysis::Program,
    pub text: &'a str,
    /// How it was read: rewritten text is read in the same way.
    pub options: &'a front::Options,
}

/// A loop of a function of a file.
pub struct Site<'a> {
    pub source: Source<'a>,
    /// Position among the unit's items.
    pub index: usize,
    pub facts: &'a Facts,
    pub target: LoopId,
    pub budget: &'a Budget,
    graphs: RefCell<FxHashMap<LoopId, Rc<Graph>>>,
    parents: Vec<Option<TermId>>,
}

impl<'a> Site<'a> {
    /// The site of a loop; `None` where there is no such item or loop.
    pub fn new(
        source: Source<'a>,
        index: usize,
        facts: &'a Facts,
        target: LoopId,
        budget: &'a Budget,
    ) -> Option<Site<'a>> {
        let item = source.unit.items.get(index)?;
        facts.loops.get(target)?;
        let parents = item.body.parents();
        Some(Site { source, index, facts, target, budget, graphs: RefCell::default(), parents })
    }

    /// Another function of the same file, for its text.
    pub(crate) fn beside(&self, index: usize) -> Option<Site<'a>> {
        let item = self.source.unit.items.get(index)?;
        Some(Site { index, graphs: RefCell::default(), parents: item.body.parents(), ..*self })
    }
    pub(crate) fn item(&self) -> &'a front::Item {
        &self.source.unit.items[self.index]
    }
    pub(crate) fn body(&self) -> &'a Body {
        &self.item().body
    }
    /// What arithmetic means in the function.
    pub(crate) fn arithmetic(&self) -> Arithmetic {
        self.body().semantics.arithmetic()
    }
    pub(crate) fn of(&self, id: LoopId) -> &'a LoopFacts {
        &self.facts.loops[id]
    }
    pub(crate) fn term(&self, id: LoopId) -> TermId {
        self.of(id).term
    }
    /// A term's place in the file.
    pub(crate) fn span(&self, t: TermId) -> Span {
        self.body().span(t).shifted(self.item().span.start)
    }
    pub(crate) fn slice(&self, span: Span) -> &'a str {
        self.source.text.get(span.range()).unwrap_or("")
    }
    pub(crate) fn text_of(&self, t: TermId) -> &'a str {
        self.slice(self.span(t))
    }
    pub(crate) fn name(&self, s: Option<SymbolId>) -> &'a str {
        s.and_then(|s| self.body().symbols.get(s)).map_or("?", |s| &s.name)
    }
    pub(crate) fn parent(&self, t: TermId) -> Option<TermId> {
        self.parents.get(t.0 as usize).copied().flatten()
    }

    // ---- facts

    /// The complete dependence graph of a loop, whatever it rests on.
    pub(crate) fn graph(&self, id: LoopId) -> Rc<Graph> {
        if let Some(g) = self.graphs.borrow().get(&id) {
            return g.clone();
        }
        let steps = analysis::FULL_STEPS.min(self.budget.left());
        let part = self.budget.part(steps);
        let g = Rc::new(analysis::nest_dependences(self.body(), self.source.program, self.facts, id, &part));
        // whoever gave a budget for many loops has it used up
        let _ = self.budget.spend(steps.saturating_sub(part.left()));
        self.graphs.borrow_mut().insert(id, g.clone());
        g
    }
    /// The graph if it may be relied on.
    pub(crate) fn sure(&self, id: LoopId) -> Result<Rc<Graph>, Refusal> {
        let g = self.graph(id);
        if let Some(o) = g.obstacles.first() {
            return Err(Refusal::Obstacle(o.clone()));
        }
        if let Some(c) = g.conditions.first() {
            return Err(Refusal::Condition(Box::new(c.clone())));
        }
        Ok(g)
    }
    /// Whether somebody may read the variable after the loop.
    pub(crate) fn live_after(&self, id: LoopId, s: SymbolId) -> bool {
        analysis::live_out(self.body(), self.source.program, self.facts, id).contains(&s)
    }
    /// Scalars that each iteration of a loop writes before it reads them.
    pub(crate) fn own_scalars(&self, id: LoopId) -> Vec<SymbolId> {
        analysis::own_scalars(self.body(), self.facts, id)
    }
    /// Whether a variable is written by name in a term.
    pub(crate) fn written_in(&self, t: TermId, s: SymbolId) -> bool {
        let body = self.body();
        body.walk(t).any(|x| match body.op(x) {
            op if op.is_write() => body.as_symbol(body.args(x)[0]) == Some(s),
            _ => false,
        })
    }
    /// Scalars whose cells do not matter when whole iterations of `inner` are reordered within `outer`: each iteration
    /// writes them before it reads them and nobody reads them after `outer`; and the indices of the loops given.
    pub(crate) fn aside(&self, graph: &Graph, inner: LoopId, indices: &[SymbolId]) -> Vec<SymbolId> {
        let body = self.body();
        let scalar = |s: SymbolId| {
            matches!(
                body.types.kind(body.symbols[s].ty),
                TypeKind::Int(_) | TypeKind::Float(_) | TypeKind::Pointer { .. }
            )
        };
        let own = self.own_scalars(inner).into_iter();
        let mut out: Vec<SymbolId> = own.filter(|&s| scalar(s) && !graph.live_out.contains(&s)).collect();
        out.extend(indices);
        out
    }

    // ---- shape

    /// How the loop counts, in a form that can be written again: one index with an invariant range made of scalars and
    /// a constant step, nothing else in the header, all of it written in the file.
    pub(crate) fn counted(&self, id: LoopId) -> Result<Counted<'a>, Refusal> {
        let body = self.body();
        let l = self.of(id);
        let c = match &l.control {
            Ok(c) => c,
            Err(o) => return Err(Refusal::Obstacle(o.clone())),
        };
        let header = self.header(id)?;
        let Some(bound) = c.bound.filter(|_| c.is_plain()) else {
            return shape("its index is moved by more than its header, or compared with nothing");
        };
        let args = body.args(l.term);
        let (init, step_term) = (args[0], args[2]);
        let Step::Const(step) = c.step else {
            return shape("its step is not a constant");
        };
        let decl = match body.op(init) {
            Op::Declare(s) if *s == c.index => {
                let name = body.symbols[c.index].span.map(|s| s.shifted(self.item().span.start));
                let Some(name) = name.filter(|n| header.init.contains(*n)) else {
                    return shape("its index is declared in an unusual way");
                };
                let text = self.slice(Span { start: header.init.start, end: name.start });
                if text.contains('*') || text.contains("/*") {
                    return shape("its index is declared in an unusual way");
                }
                text.trim_start()
            }
            Op::Assign if body.as_symbol(body.args(init)[0]) == Some(c.index) => "",
            _ => return shape("its header sets more than its index"),
        };
        let alone = matches!(body.op(step_term), Op::Step { .. } | Op::Compound(_) | Op::Assign);
        if !alone {
            return shape("its header moves more than its index");
        }
        if body.op(init) == &Op::Assign && body.args(init)[1] != c.lower {
            return shape("its header sets more than its index");
        }
        for t in [c.lower, bound] {
            self.fixed_scalar(t)?;
        }
        let symbol = &body.symbols[c.index];
        Ok(Counted {
            term: l.term,
            index: c.index,
            name: &symbol.name,
            ty: c.index_type,
            decl,
            lower: c.lower,
            bound,
            relation: c.relation,
            step,
            header,
        })
    }

    /// Whether index and range have one type, so that comparisons mean the same wherever they are written.
    pub(crate) fn one_type(&self, c: &Counted<'_>) -> Result<(), Refusal> {
        let body = self.body();
        let same = |t| match self.constant(t) {
            Some(v) => {
                c.ty.wrap(v) == v && c.ty.common(body.types.as_int(body.ty(t)).unwrap_or(c.ty)) == c.ty
            }
            None => body.types.as_int(body.ty(t)) == Some(c.ty),
        };
        if !same(c.lower) || !same(c.bound) || self.arithmetic().promotes(c.ty) {
            return shape("its index and its range are not of one type of at least 32 bits");
        }
        Ok(())
    }

    /// Whether a term may be evaluated elsewhere and more often: scalars and constants only, nothing that can fail.
    pub(crate) fn fixed_scalar(&self, t: TermId) -> Result<(), Refusal> {
        let body = self.body();
        for x in body.walk(t) {
            let fine = match body.op(x) {
                Op::Int(_) | Op::Unary(_) | Op::Cast | Op::Select | Op::SizeOfType(_) => true,
                Op::Sym(s) => !matches!(
                    body.types.kind(body.symbols[*s].ty),
                    TypeKind::Array { .. } | TypeKind::Record(_) | TypeKind::Opaque(_)
                ),
                Op::Binary(BinOp::Div | BinOp::Rem | BinOp::Shl | BinOp::Shr) => {
                    body.args(x).get(1).and_then(|&d| body.as_int(d)).is_some_and(|d| d > 0)
                }
                Op::Binary(_) => true,
                _ => false,
            };
            if !fine {
                return shape(format!("its range reads memory (`{}`)", self.text_of(t)));
            }
        }
        Ok(())
    }

    /// The parts of a `for` header, all written in the file.
    pub(crate) fn header(&self, id: LoopId) -> Result<Header, Refusal> {
        let body = self.body();
        let t = self.term(id);
        if *body.op(t) != Op::For {
            return shape("it is no `for` loop");
        }
        if body.origin(t) != Origin::Source {
            return shape("it comes out of a macro, where no edit can be made");
        }
        let whole = self.span(t);
        let ts = tokens(self.source.text, whole);
        let odd = || Refusal::Shape("its header is partly a macro".into());
        let first = ts.first().filter(|k| self.slice(k.span) == "for").ok_or_else(odd)?;
        let close = closing(&ts, 1).ok_or_else(odd)?;
        let mut semicolons = Vec::new();
        let mut depth = 0;
        for k in &ts[1..close] {
            match k.kind {
                TokenKind::Sign(b'(' | b'[' | b'{') => depth += 1,
                TokenKind::Sign(b')' | b']' | b'}') => depth -= 1,
                TokenKind::Sign(b';') if depth == 1 => semicolons.push(k.span),
                TokenKind::Directive => return Err(odd()),
                _ => {}
            }
        }
        let [a, b] = semicolons.as_slice() else { return Err(odd()) };
        let (open, close) = (ts[1].span, ts[close].span);
        let trimmed = |start: u32, end: u32| {
            let s = self.slice(Span { start, end });
            let lead = (s.len() - s.trim_start().len()) as u32;
            let len = s.trim().len() as u32;
            Span { start: start + lead, end: start + lead + len }
        };
        Ok(Header {
            whole: Span { start: first.span.start, end: close.end },
            inside: Span { start: open.end, end: close.start },
            init: trimmed(open.end, a.start),
            condition: trimmed(a.end, b.start),
            step: trimmed(b.end, close.start),
        })
    }

    /// The body's text, cut into statements.
    pub(crate) fn block(&self, id: LoopId) -> Result<Block, Refusal> {
        let header = self.header(id)?;
        let whole = self.span(self.term(id));
        let rest = Span { start: header.whole.end, end: whole.end };
        let ts = tokens(self.source.text, rest);
        if ts.iter().any(|t| t.kind == TokenKind::Directive) {
            return shape("a preprocessor line stands in it");
        }
        let text = self.slice(whole);
        if text.contains("\\\n") || text.contains("\\\r\n") {
            return shape("a line of it is continued with a backslash");
        }
        let odd = || Refusal::Shape("its text cannot be taken apart".into());
        let first = ts.first().ok_or_else(odd)?;
        let braces = first.kind == TokenKind::Sign(b'{');
        let inside = if braces {
            let end = closing(&ts, 0).ok_or_else(odd)?;
            if end + 1 != ts.len() {
                return Err(odd());
            }
            Span { start: first.span.end, end: ts[end].span.start }
        } else {
            rest
        };
        let below =
            braces && self.slice(Span { start: header.whole.end, end: first.span.start }).contains('\n');
        let chunks = chunks(self.source.text, inside).ok_or_else(odd)?;
        let list = self.inside(id);
        let terms: Vec<TermId> = match self.body().op(list) {
            Op::List => self.body().args(list).to_vec(),
            _ => vec![list],
        };
        let mut statements: Vec<Statement> =
            chunks.into_iter().map(|chunk| Statement { chunk, terms: Vec::new() }).collect();
        for t in terms {
            if matches!(self.body().op(t), Op::Empty | Op::Mark(_)) {
                continue;
            }
            let at = self.span(t).start;
            match statements.iter_mut().find(|s| s.chunk.code.start <= at && at < s.chunk.code.end) {
                Some(s) => s.terms.push(t),
                None => return Err(odd()),
            }
        }
        Ok(Block { inside, braces, below, statements })
    }

    /// The loop's body term.
    pub(crate) fn inside(&self, id: LoopId) -> TermId {
        let t = self.term(id);
        self.body().loop_parts(t).map_or(t, |p| p.body)
    }

    /// The one loop that is the whole body of this one.
    pub(crate) fn only_inside(&self, id: LoopId) -> Option<LoopId> {
        let body = self.body();
        let list = body.loop_parts(self.term(id))?.body;
        let mut all = body.args(list).iter().filter(|t| !matches!(body.op(**t), Op::Empty));
        let (first, rest) = (*all.next()?, all.next());
        let inner = self.facts.of_term(first)?;
        (rest.is_none() && self.of(inner).parent == Some(id)).then_some(inner)
    }

    /// Nothing in the loop may stand twice or in another place: jumps out of the loop, labels, statics; a `continue` of
    /// its own only where it stays in a loop (`continues`).
    pub(crate) fn movable(&self, id: LoopId, continues: bool) -> Result<(), Refusal> {
        let body = self.body();
        let t = self.term(id);
        let mut stack = vec![(body.loop_parts(t).map_or(t, |p| p.body), true, true)];
        while let Some((x, ours, breaks)) = stack.pop() {
            match body.op(x) {
                Op::Break if breaks => return shape("a `break` leaves it"),
                Op::Continue if ours && !continues => return shape("a `continue` ends its iterations early"),
                Op::Goto(_) | Op::Label(_) => return shape("a label or `goto` stands in it"),
                Op::Return => return shape("a `return` leaves it"),
                Op::Reject(_) | Op::Launch => return shape("a part of it is not understood"),
                Op::Declare(s) if body.symbols[*s].storage.is_static_local() => {
                    return shape("a static variable is declared in it")
                }
                op => {
                    let ours = ours && !op.is_loop();
                    let breaks = breaks && !op.is_loop() && !matches!(op, Op::Switch);
                    stack.extend(body.args(x).iter().map(|&a| (a, ours, breaks)));
                }
            }
        }
        Ok(())
    }

    /// Statements may be parted only where each stands for itself: no type is declared, no length is computed.
    pub(crate) fn separable(&self, id: LoopId, block: &Block) -> Result<(), Refusal> {
        let body = self.body();
        let silent = |s: &Statement| s.terms.is_empty() && self.slice(s.chunk.code) != ";";
        if block.statements.iter().any(silent) {
            return shape("something is declared in it that other statements may need");
        }
        let is_declaration = |t: TermId| matches!(body.op(t), Op::Declare(_));
        let computed =
            body.walk(self.inside(id)).any(|t| is_declaration(t) && body.lengths_at(t).next().is_some());
        if computed {
            return shape("an array of variable length is declared in it");
        }
        Ok(())
    }

    /// A pragma of another tool says something of the loop as it stands.
    pub(crate) fn unpragmaed(&self, id: LoopId) -> Result<(), Refusal> {
        let start = self.span(self.term(id)).start;
        let foreign = self
            .source
            .unit
            .directives
            .iter()
            .any(|d| d.before == start && matches!(d.kind, front::DirectiveKind::Foreign(_)));
        if foreign {
            return shape("a `#pragma` of another tool speaks of it");
        }
        Ok(())
    }

    /// Number of iterations of the site's loop, where it is a known constant.
    pub fn known_trips(&self) -> Option<i128> {
        self.trips(&self.counted(self.target).ok()?)
    }
    /// The difference `a - b` of two integer terms where it is one constant.
    pub(crate) fn difference(&self, a: TermId, b: TermId) -> Option<i128> {
        analysis::difference(self.body(), a, b)
    }
    pub(crate) fn constant(&self, t: TermId) -> Option<i128> {
        analysis::constant(self.body(), t)
    }
    /// Number of iterations, where it is a known constant.
    pub(crate) fn trips(&self, c: &Counted<'_>) -> Option<i128> {
        let fits = |t| match self.constant(t) {
            Some(v) => c.ty.wrap(v) == v,
            None => self.arithmetic().is_exact(c.ty),
        };
        if !fits(c.lower) || !fits(c.bound) {
            return None;
        }
        let span = self.difference(c.bound, c.lower)?;
        let n = match (c.relation, c.step) {
            (BinOp::Lt, s) if s > 0 => (span + s - 1).div_euclid(s),
            (BinOp::Le, s) if s > 0 => span.div_euclid(s) + 1,
            (BinOp::Gt, s) if s < 0 => (-span - s - 1).div_euclid(-s),
            (BinOp::Ge, s) if s < 0 => (-span).div_euclid(-s) + 1,
            (BinOp::Ne, 1) if span >= 0 => span,
            (BinOp::Ne, -1) if span <= 0 => -span,
            _ => return None,
        };
        Some(n.max(0))
    }

    /// An expression's text and how tightly it binds.
    pub(crate) fn expr(&self, t: TermId) -> (String, u8) {
        let body = self.body();
        let text = self.text_of(t).to_owned();
        let strength = match body.op(t) {
            _ if text.starts_with('(') && wrapped(&text) => ATOM,
            _ if body.origin(t) != Origin::Source => {
                let word = text.chars().all(|c| c.is_alphanumeric() || c == '_');
                if word && body.args(t).is_empty() {
                    ATOM
                } else {
                    0
                }
            }
            op => strength::of(op),
        };
        (text, strength)
    }
    /// An expression that can stand as an operand of an operator that binds this tightly.
    pub(crate) fn operand(&self, t: TermId, needed: u8) -> String {
        let (text, own) = self.expr(t);
        strength::enclosed(text, own, needed)
    }
    /// `t + k`, folded where `t` is a number.
    pub(crate) fn plus(&self, t: TermId, k: i128) -> String {
        if let (Op::Int(v), Origin::Source) = (self.body().op(t), self.body().origin(t)) {
            if self.text_of(t).chars().all(|c| c.is_ascii_digit()) {
                return (v + k).to_string();
            }
        }
        match k {
            0 => self.text_of(t).to_owned(),
            k if k < 0 => format!("{} - {}", self.operand(t, ADD), -k),
            k => format!("{} + {k}", self.operand(t, ADD)),
        }
    }

    /// A name that occurs nowhere in the file.
    pub(crate) fn fresh(&self, wish: &str) -> String {
        let words: rustc_hash::FxHashSet<&str> =
            tokens(self.source.text, Span::new(0, self.source.text.len()))
                .into_iter()
                .filter(|t| t.kind == TokenKind::Word)
                .map(|t| self.slice(t.span))
                .collect();
        let directives = self.source.text.lines().filter(|l| l.trim_start().starts_with('#'));
        let in_directives: String = directives.collect::<Vec<_>>().join(" ");
        let mut name = wish.to_owned();
        let mut n = 2;
        while words.contains(name.as_str()) || in_directives.contains(name.as_str()) {
            name = format!("{wish}{n}");
            n += 1;
        }
        name
    }

    /// Variables used in the terms.
    pub(crate) fn names_in(&self, terms: &[TermId]) -> Vec<&'a str> {
        let body = self.body();
        let symbols = terms.iter().flat_map(|&t| body.walk(t)).filter_map(|t| body.as_symbol(t));
        symbols.map(|s| self.name(Some(s))).collect()
    }
    /// Whether the loop's body declares a variable of one of these names.
    pub(crate) fn declares_any(&self, root: TermId, names: &[&str]) -> bool {
        let body = self.body();
        body.walk(root).any(|t| match body.op(t) {
            Op::Declare(s) => names.contains(&self.name(Some(*s))),
            _ => false,
        })
    }
}

/// Whether the text is one pair of parentheses.
fn wrapped(text: &str) -> bool {
    let ts = tokens(text, Span::new(0, text.len()));
    closing(&ts, 0).is_some_and(|k| k + 1 == ts.len())
}

/// The first edge with a vector that offends.
pub(crate) fn offending<'e>(
    mut edges: impl Iterator<Item = &'e Edge>,
    bad: impl Fn(&[Order]) -> bool,
) -> Option<&'e Edge> {
    edges.find(|e| e.vectors.iter().any(|v| bad(v)))
}

/// A statement of a loop's body with its text.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    pub chunk: Chunk,
    /// Several where one declaration declares several variables.
    pub terms: Vec<TermId>,
}

/// A loop's body.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// Between the braces, or the one statement.
    pub inside: Span,
    pub braces: bool,
    /// Whether the opening brace stands on a line of its own.
    pub below: bool,
    pub statements: Vec<Statement>,
}

impl Block {
    pub(crate) fn all(&self) -> Vec<&Statement> {
        self.statements.iter().collect()
    }
}

/// The places of a header's parts in the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Header {
    /// `for (…)`
    pub whole: Span,
    /// Between the parentheses.
    pub inside: Span,
    pub init: Span,
    pub condition: Span,
    pub step: Span,
}

/// A counted loop that can be written again.
#[derive(Clone)]
pub(crate) struct Counted<'a> {
    pub term: TermId,
    pub index: SymbolId,
    pub name: &'a str,
    pub ty: IntKind,
    /// `int ` where the header declares the index, else nothing.
    pub decl: &'a str,
    pub lower: TermId,
    pub bound: TermId,
    pub relation: BinOp,
    pub step: i128,
    pub header: Header,
}

impl Counted<'_> {
    /// `for (int i = 0; i < n; i++)` with another first value or bound; the rest as it was written.
    pub(crate) fn written(&self, site: &Site<'_>, lower: Option<&str>, bound: Option<&str>) -> String {
        let mut parts: Vec<(Span, String)> = Vec::new();
        if let Some(l) = lower {
            parts.push((site.span(self.lower), l.to_owned()));
        }
        if let Some(b) = bound {
            parts.push((site.span(self.bound), b.to_owned()));
        }
        parts.sort();
        let whole = self.header.whole;
        let mut out = String::new();
        let mut from = whole.start;
        for (span, text) in parts {
            out.push_str(site.slice(Span { start: from, end: span.start }));
            out.push_str(&text);
            from = span.end;
        }
        out.push_str(site.slice(Span { start: from, end: whole.end }));
        out
    }
    /// Whether it counts up by one from `lower` while `index < bound` (or `<=`).
    pub(crate) fn ascending_by_one(&self) -> bool {
        self.step == 1 && matches!(self.relation, BinOp::Lt | BinOp::Le)
    }
    /// The first value that is not reached any more, as an expression: `bound`, or `bound + 1`.
    pub(crate) fn end(&self, site: &Site<'_>) -> String {
        match self.relation {
            BinOp::Le => site.plus(self.bound, 1),
            BinOp::Ge => site.plus(self.bound, -1),
            _ => site.text_of(self.bound).to_owned(),
        }
    }
}
