//! What nobody declares: names, types and lengths of rows that an analysis would have to know, in words, with the header that
//! was not found.

use analysis::{NotCounted, Obstacle, ObstacleKind};
use term::{Body, Len, Op, Storage, SymbolId, TermId, TypeId, TypeKind};

use super::obstacles::ObstacleWords;
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

/// That a declaration which decides is missing: of a name, or of the lengths of an array's rows.
pub(super) fn missing(view: &FunctionView, o: &Obstacle) -> Option<ObstacleWords> {
    let (body, line) = (view.body(), view.line(o.term));
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
        _ if body.op(o.term).is_loop() => Vec::new(),
        _ => vec![o.term],
    };
    let written = whole.iter().flat_map(|&t| body.walk(t)).filter_map(own);
    let all: Vec<SymbolId> = named.into_iter().chain(written).collect();
    let header = view.doc.configuration().iter().find(|c| c.taken == crate::Taken::NotFound);
    let where_it_is = |else_: &str| {
        match header {
        Some(h) => format!(
            "`{}`, which the file includes, was not found: name its folder with `-I`, or in the setting `warpwright.includePaths`.",
            h.name
        ),
        None => else_.to_owned(),
    }
    };
    if let Some(&s) = all.iter().find(|&&s| body.symbols[s].storage == Storage::Undeclared) {
        let reason = format!("no declaration of `{}` (line {line}) was found", view.symbol(s));
        return Some(ObstacleWords {
            kind: "undeclared",
            reason,
            remedy: where_it_is("Declare it, or include the header that does."),
        });
    }
    let of_no_type = |s: SymbolId| Some((s, type_without_declaration(body, body.symbols[s].ty)?));
    if let Some((s, ty)) = all.iter().find_map(|&s| of_no_type(s)) {
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
