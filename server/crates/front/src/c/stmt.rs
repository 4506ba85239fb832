//! Statements.

use base::Span;
use term::{BinOp, Op, RejectKind, Term, TermId};
use tree_sitter::Node;

use crate::c::decl::declared_name;
use crate::c::fields::part_of;
use crate::c::{Lower, MAX_DEPTH};
use crate::cpp::plain::OPAQUE;

/// Parts of a statement that are statements themselves: an error in them is theirs.
const BODIES: [&str; 3] = ["body", "consequence", "alternative"];

impl Lower<'_> {
    /// All statements of a block, in the current scope.
    pub(super) fn statements(&mut self, block: Node<'_>, out: &mut Vec<TermId>) {
        let mut cursor = block.walk();
        for child in block.children(&mut cursor) {
            if child.is_named() {
                self.stmt(child, out);
            } else if child.is_missing() {
                out.push(self.reject(RejectKind::Syntax, "something is missing here", child, vec![]));
            }
        }
    }

    /// A statement as a block with its own scope.
    pub(super) fn block(&mut self, node: Node<'_>) -> TermId {
        self.scopes.push(Default::default());
        let mut items = Vec::new();
        if node.kind() == "compound_statement" && self.depth < MAX_DEPTH {
            self.depth += 1;
            self.statements(node, &mut items);
            self.depth -= 1;
        } else {
            self.stmt(node, &mut items);
        }
        self.clean_up(node, &mut items);
        self.scopes.pop();
        self.statement(Op::List, items, node)
    }

    /// Whether a part of a statement that is not a statement itself has an error.
    fn header_broken(&self, node: Node<'_>) -> bool {
        if !node.has_error() {
            return false;
        }
        let mut cursor = node.walk();
        if !cursor.goto_first_child() {
            return true;
        }
        loop {
            let child = cursor.node();
            let own = !cursor.field_name().is_some_and(|f| BODIES.contains(&f));
            if own && (child.has_error() || child.is_error() || child.is_missing()) {
                return true;
            }
            if !cursor.goto_next_sibling() {
                return false;
            }
        }
    }

    /// Whether a `break` or `continue` under the block would belong to a loop around it.
    fn jumps(&self, block: TermId) -> bool {
        let mut stack = vec![block];
        while let Some(t) = stack.pop() {
            let term = self.b.get(t);
            match term.op {
                Op::Break | Op::Continue => return true,
                Op::For | Op::While | Op::DoWhile => {}
                _ => stack.extend(term.args.iter()),
            }
        }
        false
    }

    /// A statement of C++ that was cut out: a gap, and names that it may have declared.
    fn opaque(&mut self, node: Node<'_>, out: &mut Vec<TermId>) -> bool {
        let function = part_of(node, "function").filter(|_| node.kind() == "call_expression");
        let Some(list) = function.filter(|f| self.text(*f) == OPAQUE).and(part_of(node, "arguments")) else {
            return false;
        };
        let mut cursor = list.walk();
        for (k, child) in list.named_children(&mut cursor).enumerate() {
            let name = self.text(child);
            if k > 0 {
                self.poison_name(name.into());
            } else if let Some(gap) = self.gap(name, child) {
                out.push(gap);
            }
        }
        true
    }

    /// Lowers a statement; several terms may come of it.
    pub(super) fn stmt(&mut self, node: Node<'_>, out: &mut Vec<TermId>) {
        if node.is_error() || node.is_missing() {
            out.push(self.reject(RejectKind::Syntax, "the parser reports an error here", node, vec![]));
            return;
        }
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            out.push(self.reject(RejectKind::TooDeep, "it is nested too deeply", node, vec![]));
        } else {
            self.stmt_inner(node, out);
        }
        self.depth -= 1;
    }

    fn stmt_inner(&mut self, node: Node<'_>, out: &mut Vec<TermId>) {
        if matches!(node.kind(), "if_statement" | "switch_statement") {
            return self.stmt_in_scope(node, out);
        }
        if !matches!(node.kind(), "for_statement" | "while_statement" | "do_statement") {
            return self.stmt_of_kind(node, out);
        }
        // names in promises are those before the loop's header
        let (before, promises) = (out.len(), self.promises_of_loop(node));
        self.stmt_in_scope(node, out);
        let made = out.iter().skip(before).copied().find(|&t| self.b.get(t).op.is_loop());
        if let Some(of) = made {
            self.promise(Some(of), promises);
        }
    }

    /// A statement that is a block, whatever its body is: what its header declares ends with it (C11 6.8.4p3, 6.8.5p5).
    fn stmt_in_scope(&mut self, node: Node<'_>, out: &mut Vec<TermId>) {
        self.scopes.push(Default::default());
        self.stmt_of_kind(node, out);
        self.scopes.pop();
    }

    fn stmt_of_kind(&mut self, node: Node<'_>, out: &mut Vec<TermId>) {
        let kind = node.kind();
        let compound = matches!(
            kind,
            "compound_statement"
                | "if_statement"
                | "for_statement"
                | "while_statement"
                | "do_statement"
                | "switch_statement"
                | "case_statement"
                | "labeled_statement"
                | "else_clause"
                | "attributed_statement"
        );
        if matches!(
            kind,
            "declaration" | "type_definition" | "struct_specifier" | "union_specifier" | "enum_specifier"
        ) {
            return self.declaration(node, out);
        }
        if node.has_error() && (!compound || (self.header_broken(node) && !has_statements(kind))) {
            out.push(self.reject(RejectKind::Syntax, "the parser reports an error here", node, vec![]));
            return;
        }
        match kind {
            "compound_statement" => {
                let b = self.block(node);
                out.push(b);
            }
            "expression_statement" => {
                if let Some(e) = node.named_child(0) {
                    if self.opaque(e, out) {
                        return;
                    }
                    if let Some(block) = statement_expression(e) {
                        // Nobody uses its value: a block.
                        let b = self.block(block);
                        out.push(b);
                        return;
                    }
                    let t = self.expr(e);
                    let undeclared = match self.b.get(t).op {
                        Op::Sym(s) => self.b.symbols[s].storage == term::Storage::Undeclared,
                        _ => false,
                    };
                    if undeclared {
                        // Nobody writes a variable as a statement.
                        let reason =
                            format!("`{}` may be a macro of a header that was not read", self.text(e));
                        out.push(self.reject(RejectKind::Macro, &reason, node, vec![t]));
                        return;
                    }
                    out.push(t);
                }
            }
            "if_statement" => self.if_statement(node, out),
            "for_statement" => self.for_statement(node, out),
            "while_statement" | "switch_statement" => {
                let (Some(c), Some(b)) = (part_of(node, "condition"), part_of(node, "body")) else {
                    return self.odd(node, out);
                };
                let c = self.expr(c);
                let b = self.block(b);
                let op = if kind == "while_statement" { Op::While } else { Op::Switch };
                out.push(self.statement(op, [c, b], node));
            }
            "do_statement" => {
                let (Some(c), Some(b)) = (part_of(node, "condition"), part_of(node, "body")) else {
                    return self.odd(node, out);
                };
                let b = self.block(b);
                let c = self.expr(c);
                // `do { … } while (0)` of a macro runs once: a block, unless something jumps out of it.
                if self.b.get(c).op == Op::Int(0) && !self.jumps(b) {
                    out.push(b);
                } else {
                    out.push(self.statement(Op::DoWhile, [b, c], node));
                }
            }
            "case_statement" => self.case_statement(node, out),
            "labeled_statement" => {
                let Some(label) = part_of(node, "label") else { return self.odd(node, out) };
                let name = self.text(label);
                out.push(self.statement(Op::Label(name.into()), [], label));
                let mut cursor = node.walk();
                for child in node.named_children(&mut cursor) {
                    if child.id() != label.id() {
                        self.stmt(child, out);
                    }
                }
            }
            "attributed_statement" => {
                let mut cursor = node.walk();
                for child in node.named_children(&mut cursor) {
                    if child.kind() != "attribute_declaration" {
                        self.stmt(child, out);
                    }
                }
            }
            "break_statement" => out.push(self.statement(Op::Break, [], node)),
            "continue_statement" => out.push(self.statement(Op::Continue, [], node)),
            "goto_statement" => match part_of(node, "label") {
                Some(l) => {
                    let name = self.text(l);
                    out.push(self.statement(Op::Goto(name.into()), [], node));
                }
                None => self.odd(node, out),
            },
            "return_statement" => {
                let args: Vec<TermId> = match node.named_child(0) {
                    Some(e) => {
                        let t = self.expr(e);
                        self.escape(t);
                        vec![t]
                    }
                    None => vec![],
                };
                out.push(self.statement(Op::Return, args, node));
            }
            "function_definition" => {
                // It may be called from anywhere, and then uses the variables it names.
                for s in self.names_in(node).unwrap_or_default() {
                    self.b.symbols[s].address_taken = true;
                }
                let reason = "nested functions are not followed";
                out.push(self.reject_named(RejectKind::Unsupported, reason, node, vec![]));
                if let Some(name) = part_of(node, "declarator").and_then(declared_name) {
                    let name = self.text(name).into();
                    self.poison_name(name);
                }
            }
            _ => self.odd(node, out),
        }
    }

    fn odd(&mut self, node: Node<'_>, out: &mut Vec<TermId>) {
        let reason = format!("`{}` is not followed", node.kind().replace('_', " "));
        out.push(self.reject(RejectKind::Unsupported, &reason, node, vec![]));
    }

    fn if_statement(&mut self, node: Node<'_>, out: &mut Vec<TermId>) {
        let (Some(c), Some(then)) = (part_of(node, "condition"), part_of(node, "consequence")) else {
            return self.odd(node, out);
        };
        let c = self.expr(c);
        let mut args = vec![c, self.block(then)];
        if let Some(clause) = part_of(node, "alternative") {
            let mut cursor = clause.walk();
            let found = clause.named_children(&mut cursor).find(|n| n.kind() != "ERROR");
            args.push(match found {
                Some(e) if !self.header_broken_clause(clause) => self.block(e),
                _ => {
                    let r =
                        self.reject(RejectKind::Syntax, "the parser reports an error here", clause, vec![]);
                    self.statement(Op::List, [r], clause)
                }
            });
        }
        out.push(self.statement(Op::If, args, node));
    }

    /// An `else` with stray tokens of its own.
    fn header_broken_clause(&self, clause: Node<'_>) -> bool {
        let mut cursor = clause.walk();
        let broken = clause.children(&mut cursor).any(|c| c.is_error() || c.is_missing());
        broken
    }

    fn case_statement(&mut self, node: Node<'_>, out: &mut Vec<TermId>) {
        let value = part_of(node, "value");
        match value {
            Some(v) => {
                let t = self.expr(v);
                out.push(self.statement(Op::Case, [t], v));
            }
            None => {
                let word = node.child(0).unwrap_or(node);
                out.push(self.statement(Op::Default, [], word));
            }
        }
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            if value.map(|v| v.id()) != Some(child.id()) {
                self.stmt(child, out);
            }
        }
    }

    fn for_statement(&mut self, node: Node<'_>, out: &mut Vec<TermId>) {
        let Some(body) = part_of(node, "body") else {
            return self.odd(node, out);
        };
        self.scopes.push(Default::default());
        // Where absent parts would stand: before the semicolons and the closing parenthesis.
        let mut stops: Vec<Span> = Vec::new();
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            if matches!(child.kind(), ";" | ")") {
                let s = self.span(child);
                stops.push(Span { start: s.start, end: s.start });
            }
        }
        let at = |from_end: usize| stops.len().checked_sub(from_end).and_then(|k| stops.get(k)).copied();
        let whole = self.span(node);
        let void = self.b.types.void();
        let init = match part_of(node, "initializer") {
            Some(i) if i.kind() == "declaration" => {
                let mut items = Vec::new();
                self.declaration(i, &mut items);
                match items.as_slice() {
                    [only] => *only,
                    _ => self.statement(Op::List, items, i),
                }
            }
            Some(i) => self.expr(i),
            None => self.b.term(Op::Empty, [], void, at(3).unwrap_or(whole)),
        };
        let condition = match part_of(node, "condition") {
            Some(c) => self.expr(c),
            None => self.b.term(Op::Empty, [], void, at(2).unwrap_or(whole)),
        };
        let step = match part_of(node, "update") {
            Some(u) => self.expr(u),
            None => self.b.term(Op::Empty, [], void, at(1).unwrap_or(whole)),
        };
        let mut block = self.block(body);
        let mut condition = condition;
        if let Some((test, moves)) = self.test_and_move(condition) {
            let span = self.b.span(block);
            (condition, block) = (test, self.b.term(Op::List, [moves, block], void, span));
        }
        let mut cleaned = Vec::new();
        self.clean_up(node, &mut cleaned);
        self.scopes.pop();
        let mut args = vec![init, condition, step, block];
        if let Some(m) = self.mark(node) {
            args.push(m);
        }
        out.push(self.statement(Op::For, args, node));
        out.append(&mut cleaned);
    }

    /// Of `i > 0 && i--` the test and the move: what is not 0 is true, so the move is the first thing that happens in the body.
    fn test_and_move(&self, condition: TermId) -> Option<(TermId, TermId)> {
        let both = |t: TermId| match (&self.b.get(t).op, &*self.b.get(t).args) {
            (Op::Binary(BinOp::And), &[a, b]) => Some((a, b)),
            _ => None,
        };
        let (test, moves) = both(condition)?;
        let index = |t: TermId| match self.b.get(t).op {
            Op::Sym(s) => Some(s),
            _ => None,
        };
        let Term { op: Op::Step { delta: -1, prefix: false }, args, ty } = self.b.get(moves) else {
            return None;
        };
        let moved = index(*args.first()?)?;
        self.b.types.as_int(*ty)?;
        let mut last = test;
        while let Some((_, behind)) = both(last) {
            last = behind;
        }
        let uncast = |mut t: TermId| {
            while let Term { op: Op::Cast, args, .. } = self.b.get(t) {
                t = args[0];
            }
            t
        };
        let (op, sides) = match (&self.b.get(last).op, &*self.b.get(last).args) {
            (Op::Binary(op), &[a, b]) => (*op, [uncast(a), b]),
            _ => return None,
        };
        let is_positive = matches!(op, BinOp::Gt | BinOp::Ne) && self.value(sides[1]) == Some(0);
        (is_positive && index(sides[0]) == Some(moved)).then_some((test, moves))
    }

    /// The mark that stands before a loop, unless the loop came out of a macro.
    fn mark(&mut self, node: Node<'_>) -> Option<TermId> {
        let info = self.r.infos.get(self.r.index(node.start_byte()))?;
        if info.expansion != 0 {
            return None;
        }
        let mark = self.marks.get(&info.span.start)?.offload.clone()?;
        let span = self.span(node);
        let at = Span { start: span.start, end: span.start };
        let void = self.b.types.void();
        let mut clauses = Vec::new();
        if let Some(n) = mark.collapse {
            let int = self.b.types.int(term::IntKind::Int);
            let value = self.b.term(Op::Int(i128::from(n)), [], int, at);
            clauses.push(self.b.term(Op::Apply("collapse".into()), [value], void, at));
        }
        let name = mark.name.unwrap_or_else(|| "".into());
        Some(self.b.term(Op::Mark(name), clauses, void, at))
    }
}

/// The block of `({ … })`.
pub(super) fn statement_expression(mut node: Node<'_>) -> Option<Node<'_>> {
    loop {
        match node.kind() {
            "parenthesized_expression" => node = node.named_child(0)?,
            "compound_statement" => return Some(node),
            _ => return None,
        }
    }
}

/// Blocks whose errors are their statements' own.
fn has_statements(kind: &str) -> bool {
    matches!(kind, "compound_statement" | "else_clause" | "attributed_statement")
}
