//! A document's items: every member that has a body, and what comments say to us.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use base::{CancelToken, Span};
use rustc_hash::{FxHashMap, FxHasher};
use term::{BodyBuilder, Op, RejectKind, Semantics};
use tree_sitter::Node;

use super::member::{self, Member};
use super::outline::{self, type_around, Outline};
use super::read::{children, is_aside, is_loop, walk, Read};
use super::COMMENTS;
use crate::marks::{self, Mark};
use crate::{Directive, DirectiveKind, Item, ItemKind, Unit};

/// What members were lowered to, by all that their meaning depends on.
#[derive(Default)]
pub(crate) struct Memo {
    items: FxHashMap<u64, Item>,
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
    let around = outline.signature();
    let mut items = Vec::new();
    let mut kept = FxHashMap::default();
    for member in members(root, text, &outline) {
        if cancel.is_cancelled() {
            return;
        }
        let key = key(&member, text, around);
        let item = match memo.items.get(&key) {
            Some(known) => Item { span: member.span, ..known.clone() },
            None => lowered(&member, text, &outline, &marks),
        };
        kept.insert(key, item.clone());
        items.push(item);
    }
    memo.items = kept;
    unit.items = items;
    unit.directives = directives;
    faults(root, text, unit);
}

fn key(member: &Member<'_>, text: &str, around: u64) -> u64 {
    let mut hasher = FxHasher::default();
    (text.get(member.span.range()), &member.name, &member.of, member.is_static, around).hash(&mut hasher);
    hasher.finish()
}

fn lowered(member: &Member<'_>, text: &str, outline: &Outline, marks: &FxHashMap<u32, Mark>) -> Item {
    let body = member::lower(member, text, outline, marks).unwrap_or_else(|(kind, reason)| {
        let mut b = BodyBuilder::new(&member.name, Semantics::CSHARP);
        let whole = Span::new(0, member.span.len());
        let gap = b.reject(kind, &reason, whole, Vec::new());
        let void = b.types.void();
        let root = b.term(Op::Program, [gap], void, whole);
        b.finish(root)
    });
    Item {
        span: member.span,
        kind: ItemKind::Function,
        name: member.name.clone(),
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
            "field_declaration" | "event_field_declaration" | "delegate_declaration" | "enum_declaration" => {
                return false
            }
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
        }
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
