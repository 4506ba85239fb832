//! A document's items: every member that has a body, and what comments say to us.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use base::{CancelToken, Span};
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use term::{BodyBuilder, Op, RejectKind, Semantics};
use tree_sitter::Node;

use super::member::{self, Member};
use super::nested::{self, Which};
use super::outline::{self, type_around, Outline, Place};
use super::read::{child, children, is_aside, is_loop, walk, Read};
use super::COMMENTS;
use crate::marks::{self, Mark};
use crate::{Directive, DirectiveKind, Item, ItemKind, Unit};

/// What members were lowered to, by all that their meaning depends on.
#[derive(Default)]
pub(crate) struct Memo {
    /// A member and the functions in it, with places from where it begins.
    items: FxHashMap<u64, Vec<Item>>,
}

pub(super) fn lower(
    (text, read): (&Arc<str>, &Read),
    (memo, cancel): (&mut Memo, &CancelToken),
    unit: &mut Unit,
) {
    let Some(root) = read.tree.as_ref().map(|t| t.root_node()) else {
        return unit.rejects.push(term::Reject {
            kind: RejectKind::Unsupported,
            reason: "the parser gave up on it".into(),
            span: Span::new(0, text.len()),
            reach: term::Reach::Anything,
        });
    };
    let directives = directives(root, text);
    let marks = marks::by_place(&directives);
    let outline = outline::outline(root, text);
    let mut views: FxHashMap<Place, (Outline, u64)> = FxHashMap::default();
    let mut items = Vec::new();
    let mut kept = FxHashMap::default();
    for member in members(root, text, &outline) {
        if cancel.is_cancelled() {
            return;
        }
        let place = member.node.or(member.owner).or(member.bodies.first().copied());
        let place = place.map_or_else(Place::default, |n| Place::of(n, text));
        let (outline, around) = views.entry(place).or_insert_with_key(|place| {
            let seen = outline.seen_from(place);
            let signature = seen.signature();
            (seen, signature)
        });
        let key = key(&member, text, *around);
        let found = match memo.items.get(&key) {
            Some(known) => known.clone(),
            None => {
                let mut found = Vec::new();
                lowered(&member, text, outline, &marks, &mut found);
                let from = member.span.start;
                found
                    .iter_mut()
                    .for_each(|i| i.span = Span { start: i.span.start - from, end: i.span.end - from });
                found
            }
        };
        items.extend(found.iter().map(|i| Item { span: i.span.shifted(member.span.start), ..i.clone() }));
        kept.insert(key, found);
    }
    memo.items = kept;
    all_loops(root, text, &mut items);
    unit.items = items;
    unit.directives = directives;
    faults(root, text, unit);
}

fn key(member: &Member<'_>, text: &str, around: u64) -> u64 {
    let mut hasher = FxHasher::default();
    (text.get(member.span.range()), &member.name, &member.of, member.is_static, around).hash(&mut hasher);
    // of an accessor: what the property, indexer or event around says before it
    let owner = member.owner.map(|o| text.get(o.start_byte()..member.span.start as usize));
    (owner, member.is_constructor, member.is_lazy).hash(&mut hasher);
    hasher.finish()
}

/// The member as an item, and the functions in it.
fn lowered(
    member: &Member<'_>,
    text: &str,
    outline: &Outline,
    marks: &FxHashMap<u32, Mark>,
    out: &mut Vec<Item>,
) {
    match member::lower(member, text, outline, marks) {
        Ok(found) => {
            out.push(item(&member.name, member.span, found.body));
            for (number, inner) in found.inner.into_iter().enumerate() {
                lowered(&member.inner(inner, number + 1, text), text, outline, marks, out);
            }
        }
        Err((kind, reason)) => {
            let all = |n: Node<'_>| if is_loop(n.kind()) { Which::Take } else { Which::Enter };
            let loops = member.node.map(|n| nested::loops_below(n, &all)).unwrap_or_default();
            out.push(not_read(&member.name, member.span, (kind, &reason), &loops, &all));
        }
    }
}

/// An item of which nothing is known but that it has these loops.
fn not_read(
    name: &Arc<str>,
    span: Span,
    (kind, reason): (RejectKind, &str),
    loops: &[Node<'_>],
    counts: &dyn Fn(Node<'_>) -> Which,
) -> Item {
    let mut b = BodyBuilder::new(name, Semantics::CSHARP);
    let whole = Span::new(0, span.len());
    let mut all = vec![b.reject(kind, reason, whole, Vec::new())];
    all.extend(loops.iter().map(|&l| nested::unread(&mut b, span.start as usize, l, reason, counts)));
    let void = b.types.void();
    let root = b.term(Op::Program, all, void, whole);
    item(name, span, b.finish(root))
}

/// Every loop of the text is one of an item: those that none has, between members or in what faults took away, get their own.
fn all_loops(root: Node<'_>, text: &str, items: &mut Vec<Item>) {
    let mut listed: FxHashSet<(u32, u32)> = FxHashSet::default();
    for i in items.iter() {
        let spans = i.body.loops(i.body.root).map(|l| i.body.span(l).shifted(i.span.start));
        listed.extend(spans.map(|s| (s.start, s.end)));
    }
    let counts = |n: Node<'_>| {
        let known = listed.contains(&(n.start_byte() as u32, n.end_byte() as u32));
        if is_loop(n.kind()) && !known {
            Which::Take
        } else {
            Which::Enter
        }
    };
    let left = nested::loops_below(root, &counts);
    for node in left {
        let span = Span::new(node.start_byte(), node.end_byte());
        if span.end as usize > text.len() {
            continue;
        }
        let around = items.iter().filter(|i| i.span.contains(span)).min_by_key(|i| i.span.len());
        let reason = around.and_then(|i| {
            let holds = |r: &&term::Reject| r.span.shifted(i.span.start).contains(span);
            i.body.rejects().filter(holds).min_by_key(|r| r.span.len()).map(|r| r.reason.clone())
        });
        let reason = reason.unwrap_or_else(|| match node.has_error() || root.has_error() {
            true => "the parser reports an error here".into(),
            false => "it stands in no member that is read".into(),
        });
        let name = around.map_or_else(|| Arc::from("loops outside members"), |i| i.name.clone());
        let item = not_read(&name, span, (RejectKind::Unsupported, &reason), &[node], &counts);
        items.push(item);
    }
    items.sort_by_key(|i| (i.span.start, std::cmp::Reverse(i.span.end)));
}

fn item(name: &Arc<str>, span: Span, body: term::Body) -> Item {
    Item {
        span,
        kind: ItemKind::Function,
        name: name.clone(),
        body: Arc::new(body),
        is_kernel: false,
        is_device: false,
        is_host: true,
        is_static: false,
        launch_bounds: None,
    }
}

/// Places outside of members that the parser did not understand.
fn faults(root: Node<'_>, text: &str, unit: &mut Unit) {
    if !root.has_error() {
        return;
    }
    let items: Vec<Span> = unit.items.iter().map(|i| i.span).collect();
    let mut found: Vec<Span> = Vec::new();
    walk(root, |node| {
        let span = Span::new(node.start_byte(), node.end_byte());
        if items.contains(&span) {
            return false;
        }
        if node.is_error() || node.is_missing() {
            found.push(span);
            return false;
        }
        node.has_error()
    });
    let inside = |s: &Span| items.iter().any(|i| i.start <= s.start && s.end <= i.end);
    for span in found.into_iter().filter(|s| !inside(s) && s.end as usize <= text.len()) {
        unit.rejects.push(term::Reject {
            kind: RejectKind::Syntax,
            reason: "the parser reports an error here".into(),
            span,
            reach: term::Reach::Named,
        });
    }
}

/// The members with bodies, in textual order.
fn members<'t>(root: Node<'t>, text: &str, outline: &Outline) -> Vec<Member<'t>> {
    let mut out: Vec<Member<'t>> = Vec::new();
    let mut top: Vec<Node<'t>> = Vec::new();
    walk(root, |node| {
        match node.kind() {
            "global_statement" => {
                top.push(node);
                return false;
            }
            "method_declaration"
            | "constructor_declaration"
            | "operator_declaration"
            | "conversion_operator_declaration"
            | "destructor_declaration"
            | "accessor_declaration" => {
                if let Some(body) = node.child_by_field_name("body") {
                    out.push(Member::of(node, body, text, outline));
                }
                return false;
            }
            "property_declaration" | "indexer_declaration" => {
                let value = node.child_by_field_name("value");
                if let Some(body) = value.filter(|v| v.kind() == "arrow_expression_clause") {
                    out.push(Member::of(node, body, text, outline));
                    return false;
                }
            }
            kind if nested::is_function(kind) => {
                // of a field's first value
                out.extend(Member::of_value(node, text, outline));
                return false;
            }
            "delegate_declaration" | "enum_declaration" => return false,
            _ => {}
        }
        true
    });
    // statements of the program itself stand one after the other
    let mut run: Vec<Node<'t>> = Vec::new();
    for node in top {
        let follows = run.last().is_none_or(|l| {
            let between = out
                .iter()
                .any(|m| m.span.start as usize >= l.end_byte() && (m.span.end as usize) <= node.start_byte());
            !between
        });
        if !follows {
            out.extend(Member::program(&std::mem::take(&mut run)));
        }
        run.push(node);
    }
    out.extend(Member::program(&run));
    out.sort_by_key(|m| m.span.start);
    // a tree with faults may hold members in members
    let mut end = 0;
    out.retain(|m| {
        let apart = m.span.start >= end;
        end = if apart { m.span.end } else { end };
        apart
    });
    out
}

impl<'t> Member<'t> {
    fn of(node: Node<'t>, body: Node<'t>, text: &str, outline: &Outline) -> Member<'t> {
        let of = type_around(node, text);
        let owner = accessed(node);
        let word = |n: Option<Node<'_>>| n.and_then(|n| text.get(n.byte_range())).unwrap_or("").to_owned();
        let named = word(node.child_by_field_name("name"));
        let simple = match node.kind() {
            "accessor_declaration" => {
                let of = owner.map(|p| word(p.child_by_field_name("name"))).filter(|n| !n.is_empty());
                format!("{named}_{}", of.as_deref().unwrap_or("Item"))
            }
            "operator_declaration" => format!("operator {}", word(node.child_by_field_name("operator"))),
            "conversion_operator_declaration" => "operator".to_owned(),
            "destructor_declaration" => format!("~{named}"),
            "property_declaration" => format!("get_{named}"),
            "indexer_declaration" => "get_Item".to_owned(),
            _ => named,
        };
        let has = |word: &str| {
            [Some(node), owner].into_iter().flatten().any(|n| outline::has_modifier(n, text, word))
        };
        let mut name = match &of {
            Some(of) => format!("{of}.{simple}"),
            None => simple.clone(),
        };
        if outline.overloads(of.as_deref(), &simple) > 1 || node.kind() == "constructor_declaration" {
            let list = node.child_by_field_name("parameters").map(children).unwrap_or_default();
            let types: Vec<String> = list.iter().map(|p| word(p.child_by_field_name("type"))).collect();
            name = format!("{name}({})", types.join(","));
        }
        Member {
            span: Span::new(node.start_byte(), node.end_byte()),
            node: Some(node),
            owner,
            bodies: vec![body],
            name: name.into(),
            of,
            is_static: has("static") || node.kind().ends_with("operator_declaration"),
            is_constructor: node.kind() == "constructor_declaration"
                || (node.kind() == "accessor_declaration" && simple.starts_with("init_")),
            is_lazy: has("async"),
            captured: Vec::new(),
        }
    }

    /// A function in the first value of a field or property.
    fn of_value(node: Node<'t>, text: &str, outline: &Outline) -> Option<Member<'t>> {
        let body = nested::body_of(node)?;
        let mut declared = node;
        while !declared.kind().ends_with("_declaration") || declared.kind() == "variable_declaration" {
            declared = declared.parent()?;
        }
        let member = Member::of(declared, body, text, outline);
        let named = child(declared, "variable_declaration").and_then(|d| child(d, "variable_declarator"));
        let name = named.and_then(|d| d.child_by_field_name("name")).and_then(|n| text.get(n.byte_range()));
        let of = member.of.as_deref().map_or(String::new(), |of| format!("{of}."));
        Some(Member {
            span: Span::new(node.start_byte(), node.end_byte()),
            node: Some(node),
            name: name.map_or(member.name.clone(), |n| format!("{of}{n}").into()),
            is_constructor: true,
            is_lazy: outline::has_modifier(node, text, "async"),
            ..member
        })
    }

    /// The statements of a program that stand in no method.
    fn program(run: &[Node<'t>]) -> Option<Member<'t>> {
        let (first, last) = (run.first()?, run.last()?);
        Some(Member {
            span: Span::new(first.start_byte(), last.end_byte()),
            node: None,
            owner: None,
            bodies: run.to_vec(),
            name: "Main".into(),
            of: None,
            is_static: true,
            is_constructor: false,
            is_lazy: false,
            captured: Vec::new(),
        })
    }
}

/// The property, indexer or event that an accessor belongs to.
fn accessed(node: Node<'_>) -> Option<Node<'_>> {
    (node.kind() == "accessor_declaration").then(|| node.parent()?.parent()).flatten()
}

/// What comments say to us.
fn directives(root: Node<'_>, text: &str) -> Vec<Directive> {
    let mut comments: Vec<Node<'_>> = Vec::new();
    if !text.contains("warpwright:") {
        return Vec::new();
    }
    let mut loops: Vec<u32> = Vec::new();
    walk(root, |node| {
        if node.kind() == "comment" {
            comments.push(node);
        }
        if is_loop(node.kind()) {
            loops.push(node.start_byte() as u32);
        }
        true
    });
    let mut out = Vec::new();
    for comment in comments {
        let words = text.get(comment.byte_range()).unwrap_or("");
        let Some(mut kind) = marks::of_comment(words, &COMMENTS) else { continue };
        let before = behind(root, comment.end_byte(), text);
        if let DirectiveKind::Mark { attached, .. } = &mut kind {
            *attached = loops.contains(&before);
        }
        out.push(Directive {
            kind,
            span: Span::new(comment.start_byte(), comment.end_byte()),
            line: comment.start_position().row as u32,
            before,
        });
    }
    out.sort_by_key(|d| d.span.start);
    out
}

/// Where the first token behind a place begins, comments left out.
fn behind(root: Node<'_>, mut at: usize, text: &str) -> u32 {
    loop {
        let rest = text.get(at..).unwrap_or("");
        at += rest.len() - rest.trim_start().len();
        if at >= text.len() {
            return text.len() as u32;
        }
        match root.descendant_for_byte_range(at, at + 1) {
            Some(node) if is_aside(node) && node.end_byte() > at => at = node.end_byte(),
            _ => return at as u32,
        }
    }
}

impl Outline {
    /// How many methods of this name the type has.
    pub(super) fn overloads(&self, of: Option<&str>, name: &str) -> usize {
        let methods = of.and_then(|of| self.types.get(of)).map(|t| &t.methods);
        methods.map_or(0, |m| m.iter().filter(|m| *m.name == *name).count())
    }
}
