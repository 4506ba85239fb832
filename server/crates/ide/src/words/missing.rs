//! What nobody declares: names, types and lengths of rows that an analysis would have to know, in words, with the header that
//! was not found.

use analysis::{LoopId, NotCounted, Obstacle, ObstacleKind, TroubleKind};
use term::{Body, Len, Op, Storage, SymbolId, TermId, TypeId, TypeKind};

use super::obstacles::ObstacleWords;
use super::plural;
use crate::function_view::FunctionView;

/// The name of a type that nothing declares, where one of it, of its elements, or of the members of these is.
pub(crate) fn type_without_declaration(body: &Body, ty: TypeId) -> Option<&str> {
    /// Structures in structures looked at.
    const DEPTH: u32 = 3;
    fn inner(body: &Body, mut ty: TypeId, depth: u32) -> Option<&str> {
        loop {
            match body.types.kind(ty) {
                TypeKind::Pointer { to, .. } => ty = *to,
                TypeKind::Array { of, .. } => ty = *of,
                TypeKind::Record(r) if depth < DEPTH => {
                    let fields = body.types.record(*r).fields.as_deref().unwrap_or_default();
                    return fields.iter().find_map(|f| inner(body, f.ty, depth + 1));
                }
                // names with an underscore in front are the compiler's own
                TypeKind::Opaque(word) => {
                    let is_name = word.starts_with(|c: char| c.is_ascii_alphabetic())
                        && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
                    return (is_name && **word != *"auto").then_some(&**word);
                }
                _ => return None,
            }
        }
    }
    inner(body, ty, 0)
}

/// Whether an obstacle is that a header was not found: of that `missing-header` speaks once for the file.
pub(crate) fn rests_on_a_header(view: &FunctionView, o: &Obstacle) -> bool {
    // a function that such a header would declare
    let is_called = match &o.kind {
        ObstacleKind::UnknownCall(f) => view.body().symbols[*f].storage == Storage::Undeclared,
        _ => false,
    };
    let is_missed = || missing(view, o).is_some();
    !crate::lints::missing_headers(view.doc).is_empty() && (is_called || is_missed())
}

/// Whether another file of the program, once it is read, may say what stands in a loop's way: it calls a function that this one does not
/// define.
pub(crate) fn rests_on_others(view: &FunctionView, id: LoopId) -> bool {
    let (body, program) = (view.body(), view.doc.program());
    let may_be_elsewhere = |name: &str| program.body(name).is_none() && program.unlinked(name).is_none();
    let nobody_looked = program.searched().is_none();
    nobody_looked
        && view.of(id).obstacles.iter().any(|o| match &o.kind {
            ObstacleKind::UnknownCall(f) => {
                let f = &body.symbols[*f];
                f.storage == Storage::Function && may_be_elsewhere(&f.name)
            }
            ObstacleKind::Call { name, why: TroubleKind::UnknownCall, .. } => may_be_elsewhere(name),
            _ => false,
        })
}

/// Which header to look for, or what else to do.
pub(super) fn where_it_is(view: &FunctionView, otherwise: &str) -> String {
    let mut headers = crate::lints::missing_headers(view.doc);
    if headers.is_empty() {
        let span = base::Span::default();
        headers.extend(crate::lints::toolkit_headers(view.doc).into_iter().take(1).map(|h| (span, h)));
    }
    // the toolkit's header is included mostly, and not here
    let otherwise = if crate::quiet::offers_nothing(view.doc) { "" } else { otherwise };
    let (which, folder) = match &headers[..] {
        [] => return otherwise.to_owned(),
        [(_, one)] => {
            let by = if view.doc.source().contains(&**one) { "the file" } else { "one of its headers" };
            (format!("`{one}`, which {by} includes, was not found"), "its folder")
        }
        // which of them declares it nobody can know
        [(_, one), rest @ ..] => {
            let more = plural(rest.len(), "more header");
            (
                format!("`{one}` and {more}, which the file or its headers include, were not found"),
                "their folders",
            )
        }
    };
    format!("{which}: name {folder} with `-I`, or in the setting `warpwright.includePaths`.")
}

/// That a declaration which decides is missing: of a name, or of the lengths of an array's rows.
pub(super) fn missing(view: &FunctionView, o: &Obstacle) -> Option<ObstacleWords> {
    let (body, line) = (view.body(), view.line(o.term));
    // only C declares in headers what a file uses
    if body.semantics.checked_bounds {
        return None;
    }
    let named = match &o.kind {
        ObstacleKind::UnknownPointer(s) | ObstacleKind::Unsized(s) => Some(*s),
        ObstacleKind::MayAlias(a, _)
            if type_without_declaration(body, body.symbols[a.symbol].ty).is_some() =>
        {
            Some(a.symbol)
        }
        ObstacleKind::MayAlias(_, b) => Some(b.symbol),
        ObstacleKind::NotCounted(NotCounted::IndexType) => None,
        ObstacleKind::NotUnderstood
        | ObstacleKind::NotCounted(NotCounted::Condition)
        | ObstacleKind::NonAffineSubscript
        | ObstacleKind::NoExtent
        | ObstacleKind::IndirectSubscript(_) => None,
        _ => return None,
    };
    let own = |t: TermId| match body.op(t) {
        Op::Sym(s) => Some(*s),
        _ => None,
    };
    let whole: Vec<TermId> = match &o.kind {
        ObstacleKind::MayAlias(..) => Vec::new(),
        ObstacleKind::NotCounted(NotCounted::Condition) => {
            body.loop_parts(o.term).and_then(|parts| parts.condition).into_iter().collect()
        }
        _ if body.op(o.term).is_loop() => Vec::new(),
        _ => vec![o.term],
    };
    let written = whole.iter().flat_map(|&t| body.walk(t)).filter_map(own);
    let all: Vec<SymbolId> = named.into_iter().chain(written).collect();
    let where_it_is = |else_: &str| where_it_is(view, else_);
    // what the toolkit's headers declare is missed by nobody
    let is_missed = |s: SymbolId| {
        body.symbols[s].storage == Storage::Undeclared && !crate::lints::is_provided(&body.symbols[s].name)
    };
    if let Some(&s) = all.iter().find(|&&s| is_missed(s)) {
        let name = view.symbol(s);
        let (reason, otherwise) = match crate::lints::is_declared(view.doc, name) {
            true => (format!("the declaration of `{name}`, which line {line} uses, was not understood"), ""),
            false => (
                format!("no declaration of `{name}` (line {line}) was found"),
                "Declare it, or include the header that does.",
            ),
        };
        return Some(ObstacleWords { kind: "undeclared", reason, remedy: where_it_is(otherwise) });
    }
    let of_no_type = |s: SymbolId| Some((s, type_without_declaration(body, body.symbols[s].ty)?));
    if let Some((s, ty)) = all.iter().find_map(|&s| of_no_type(s)) {
        if crate::lints::is_declared(view.doc, ty) {
            return Some(ObstacleWords {
                kind: "undeclared",
                reason: format!(
                    "the declaration of the type `{ty}`, which `{}` (line {line}) needs, was not understood",
                    view.symbol(s)
                ),
                // what a header defines may decide it
                remedy: where_it_is("Write it in plain form."),
            });
        }
        return Some(ObstacleWords {
            kind: "undeclared",
            reason: format!(
                "no declaration of the type `{ty}` was found, which `{}` (line {line}) needs",
                view.symbol(s)
            ),
            remedy: where_it_is("Declare it, or include the header that does."),
        });
    }
    let rows = |s: SymbolId| {
        let mut ty = body.symbols[s].ty;
        let mut outermost = true;
        while let TypeKind::Array { of, len } = body.types.kind(ty) {
            if !outermost && *len == Len::Unknown {
                return true;
            }
            (ty, outermost) = (*of, false);
        }
        false
    };
    let &s = all.iter().find(|&&s| rows(s))?;
    Some(ObstacleWords {
        kind: "unknown-rows",
        reason: format!("how long the rows of `{}` (line {line}) are is not known", view.symbol(s)),
        remedy: where_it_is("Declare it with the lengths of all its dimensions but the first."),
    })
}
