//! A language that is in no list, from its text to verdicts: a row and a front end of its own, which shares nothing with C's.
//!
//! Every line is a function with one loop over `i`, of the form `name: to[i+3] <- from[i]`; `;` begins a comment.

use std::sync::Arc;

use base::Span;
use front::{Claims, Comments, Directive, DirectiveKind, FrontEnd, Item, ItemKind, Language, Row, Unit};
use term::{
    BinOp, BodyBuilder, FloatKind, IntKind, Op, Reach, RejectKind, Semantics, Storage, TermId, TypeKind,
};

use super::full;
use crate::{actions, offload, resolve, ActionKind, Doc, Options, Refused, Resolved, Which};

static ROW: Row = Row {
    name: "lines",
    title: "Lines",
    files: Claims { always: &["lines"], by_text: &["txt"] },
    ids: Claims { always: &["lines"], by_text: &[] },
    extension: "lines",
    comments: Comments { line: ";", block: None },
    kernels: false,
    offloads: false,
    interpreted: true,
    linked: &[],
    compiler: None,
    quotes: None,
    front: &Lines,
};
const LINES: Language = Language::of(&ROW);

struct Lines;

impl FrontEnd for Lines {
    /// Where its lines are.
    type Read = Vec<Span>;
    /// What a line was lowered to.
    type Memo = rustc_hash::FxHashMap<String, Item>;

    fn is_written_in(&self, text: &str) -> bool {
        text.contains("<-")
    }
    fn read(&self, text: &str) -> Vec<Span> {
        let mut start = 0;
        text.split_inclusive('\n')
            .map(|line| {
                let at = start;
                start += line.len();
                Span::new(at, at + line.trim_end().len())
            })
            .collect()
    }
    fn lower(
        &self,
        (text, lines): (&std::sync::Arc<str>, &Vec<Span>),
        _options: &front::Options,
        (memo, _cancel): (&mut Self::Memo, &base::CancelToken),
        unit: &mut Unit,
    ) {
        let old = std::mem::take(memo);
        for (k, &span) in lines.iter().enumerate() {
            let line = &text[span.range()];
            if let Some(kind) = front::of_comment(line, &ROW.comments) {
                let before = lines.get(k + 1).map_or(text.len() as u32, |next| next.start);
                unit.directives.push(Directive { kind, span, line: k as u32, before });
                continue;
            }
            if line.is_empty() {
                continue;
            }
            let item = match old.get(line) {
                Some(known) => Item { span, ..known.clone() },
                None => lowered(line, span).unwrap_or_else(|| refused(span)),
            };
            memo.insert(line.to_owned(), item.clone());
            unit.items.push(item);
        }
    }
}

fn item(span: Span, kind: ItemKind, name: &str, body: term::Body) -> Item {
    Item {
        span,
        kind,
        name: name.into(),
        body: Arc::new(body),
        is_kernel: false,
        is_device: false,
        is_host: true,
        is_static: false,
        launch_bounds: None,
    }
}

fn refused(span: Span) -> Item {
    let mut b = BodyBuilder::new("", Semantics::C);
    let whole = Span::new(0, span.len());
    let gap = b.reject(RejectKind::Syntax, "this is no line of the language", whole, Vec::new());
    let void = b.types.void();
    let root = b.term(Op::Program, [gap], void, whole);
    item(span, ItemKind::Declarations, "", b.finish(root))
}

/// `a[i+3]`: the name and what is added.
fn place(text: &str) -> Option<(&str, i128)> {
    let (name, index) = text.trim().strip_suffix(']')?.split_once('[')?;
    let shift = index.strip_prefix('i')?;
    Some((name, if shift.is_empty() { 0 } else { shift.parse().ok()? }))
}

fn lowered(line: &str, at: Span) -> Option<Item> {
    let (name, rest) = line.split_once(':')?;
    let (to, from) = rest.split_once("<-")?;
    let (to, from) = (place(to)?, place(from)?);
    let whole = Span::new(0, line.len());
    let mut b = BodyBuilder::new(name, Semantics::C);
    let (void, int) = (b.types.void(), b.types.int(IntKind::Int));
    let truth = int;
    let float = b.types.float(FloatKind::F32);
    let pointer = b.types.pointer(float);
    let symbol = |b: &mut BodyBuilder, name: &str, ty, storage| {
        b.symbols.push(term::Symbol {
            name: name.into(),
            ty,
            storage,
            device: None,
            address_taken: false,
            span: None,
        })
    };
    let mut names = vec![to.0];
    if from.0 != to.0 {
        names.push(from.0);
    }
    let count = symbol(&mut b, "n", int, Storage::Param(0));
    let arrays: Vec<_> =
        names.iter().zip(1..).map(|(n, k)| symbol(&mut b, n, pointer, Storage::Param(k))).collect();
    let i = symbol(&mut b, "i", int, Storage::Local);
    let ty = b.types.plain(TypeKind::Function {
        ret: void,
        params: [int].into_iter().chain(arrays.iter().map(|_| pointer)).collect(),
        variadic: false,
    });
    let function = symbol(&mut b, name, ty, Storage::Function);
    let cell = |b: &mut BodyBuilder, (array, shift): (&str, i128)| -> TermId {
        let k = names.iter().position(|n| *n == array).unwrap_or(0);
        let base = b.term(Op::Sym(arrays[k]), [], pointer, whole);
        let index = b.term(Op::Sym(i), [], int, whole);
        let shift = b.term(Op::Int(shift), [], int, whole);
        let sum = b.term(Op::Binary(BinOp::Add), [index, shift], int, whole);
        b.term(Op::Index, [base, sum], float, whole)
    };
    let (left, right) = (cell(&mut b, to), cell(&mut b, from));
    let assign = b.term(Op::Assign, [left, right], float, whole);
    let block = b.term(Op::List, [assign], void, whole);
    let zero = b.term(Op::Int(0), [], int, whole);
    let init = b.term(Op::Declare(i), [zero], void, whole);
    let (index, limit) = (b.term(Op::Sym(i), [], int, whole), b.term(Op::Sym(count), [], int, whole));
    let condition = b.term(Op::Binary(BinOp::Lt), [index, limit], truth, whole);
    let index = b.term(Op::Sym(i), [], int, whole);
    let step = b.term(Op::Step { delta: 1, prefix: true }, [index], int, whole);
    let the_loop = b.term(Op::For, [init, condition, step, block], void, whole);
    let body = b.term(Op::List, [the_loop], void, whole);
    let declared: Vec<TermId> =
        [count].iter().chain(&arrays).map(|&s| b.term(Op::Declare(s), [], void, whole)).collect();
    let params = b.term(Op::List, declared, void, whole);
    let root = b.term(Op::Function(function), [params, body], void, whole);
    Some(item(at, ItemKind::Function, name, b.finish(root)))
}

fn open(text: &str) -> Doc {
    Doc::open(LINES, "a.lines", text::Text::new(text).expect("a short text"), Options::default())
}

fn verdicts(doc: &Doc) -> Vec<(Arc<str>, &'static str)> {
    full(doc).loops.iter().map(|l| (l.key.clone(), l.report().verdict)).collect()
}

const TEXT: &str = "scale: a[i] <- a[i]\nshift: a[i+1] <- a[i]\nback: a[i] <- a[i+1]\n";

#[test]
fn it_is_found_among_others() {
    let mut all = front::LANGUAGES.to_vec();
    all.push(LINES);
    let found = |path, id, text| front::detect_among(&all, path, id, text);
    assert_eq!(found("a.lines", Some("c"), ""), Some(LINES));
    assert_eq!(found("a.txt", None, "f: a[i] <- b[i]"), Some(LINES));
    assert_eq!(found("a.txt", Some("c"), "nothing of it"), None);
    assert_eq!(found("untitled", Some("lines"), ""), Some(LINES));
    assert_eq!(found("a.c", Some("lines"), ""), Some(Language::C));
    assert_eq!(front::detect("a.lines", None, ""), None);
}

#[test]
fn its_loops_get_verdicts() {
    let doc = open(TEXT);
    let expected = [("scale#0", "independent"), ("shift#0", "sequential"), ("back#0", "sequential")];
    assert_eq!(verdicts(&doc), expected.map(|(k, v)| (Arc::from(k), v)));
    // what the line says, its distance decides: between two arrays, too
    let two = verdicts(&open("f: a[i+3] <- b[i]\n"));
    let c = Doc::open(
        Language::C,
        "a.c",
        text::Text::new("void f(int n, float *a, float *b) { for (int i = 0; i < n; ++i) a[i+3] = b[i+0]; }")
            .expect("a short text"),
        Options::default(),
    );
    assert_eq!(two, verdicts(&c));
}

#[test]
fn an_edit_costs_one_line() {
    let doc = open(TEXT);
    let after = super::incremental::replaced(&doc, 1, 7, 13, "a[i]");
    assert_eq!(verdicts(&after)[1], ("shift#0".into(), "independent"));
    let same: Vec<bool> = doc
        .unit()
        .items
        .iter()
        .zip(&after.unit().items)
        .map(|(a, b)| Arc::ptr_eq(&a.body, &b.body))
        .collect();
    assert_eq!(same, [true, false, true]);
    let broken = open("what is this\n");
    assert_eq!(broken.unit().items[0].body.rejects().count(), 1);
    assert!(verdicts(&broken).is_empty());
}

/// Words addressed to us are read in its comments and written as such.
#[test]
fn its_comments_speak_to_us() {
    let doc = open(TEXT);
    let findings = full(&doc);
    let carried = findings.diagnostics.iter().find(|d| d.code == "carried-dependence").expect("a finding");
    let offered = actions(&crate::Ask::thorough(&doc), &findings, carried.span);
    let ignore = offered.iter().find(|a| a.title.starts_with("Ignore")).expect("it can be ignored");
    let Ok(Resolved::Edit(edit)) = resolve(&crate::Ask::thorough(&doc), &findings, &ignore.id) else {
        panic!("it can be done")
    };
    let after = edit.edits[0].edits.apply(doc.text()).expect("the edit fits").to_string();
    assert!(after.contains("\n; warpwright: ignore[carried-dependence]\nshift:"), "{after}");
    let again = open(&after);
    assert!(matches!(&again.unit().directives[0].kind, DirectiveKind::Ignore(codes) if codes.len() == 1));
    let left = full(&again).diagnostics.iter().filter(|d| d.code == "carried-dependence").count();
    assert_eq!(left, findings.diagnostics.iter().filter(|d| d.code == "carried-dependence").count() - 1);
}

/// What its row says it has not is offered nowhere.
#[test]
fn what_it_has_not_is_refused() {
    let doc = open(TEXT);
    let findings = full(&doc);
    let kinds: Vec<ActionKind> = actions(&crate::Ask::thorough(&doc), &findings, super::everywhere(&doc))
        .into_iter()
        .map(|a| a.kind)
        .collect();
    assert!(!kinds.contains(&ActionKind::Offload) && !kinds.contains(&ActionKind::Mark), "{kinds:?}");
    let which = Which::Line(0);
    let made = offload(&crate::Ask::thorough(&doc), &findings, &which);
    assert!(matches!(made, Err(Refused::Because(_))), "{made:?}");
    assert_eq!(doc.unit().rejects.iter().filter(|r| r.reach == Reach::Anything).count(), 0);
}
