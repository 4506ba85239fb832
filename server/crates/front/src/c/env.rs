//! What earlier items of a file declare, as later items see it.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use term::{Body, IntKind, RecordId, RejectKind, TypeId};

use crate::c::known::{self, KnownType};
use crate::Language;

/// A name that an item leaves to those after it; types are of the item's own body.
#[derive(Clone, Debug)]
pub(crate) struct Export {
    pub name: Arc<str>,
    pub what: Exported,
}

#[derive(Clone, Debug)]
pub(crate) enum Exported {
    Typedef(TypeId),
    Variable { ty: TypeId, defined: bool, internal: bool },
    Function { ty: TypeId },
    Enumerator(i128, IntKind),
    Tag(ExportedTag),
    Unknown(RejectKind, Arc<str>),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum ExportedTag {
    Record(RecordId),
    Enum(IntKind),
}

/// A name with the body its types belong to.
#[derive(Clone, Debug)]
pub(crate) struct EnvName {
    pub body: Arc<Body>,
    pub what: Exported,
}

#[derive(Debug, Default)]
pub(crate) struct Env {
    pub names: FxHashMap<Arc<str>, EnvName>,
    pub tags: FxHashMap<Arc<str>, EnvName>,
}

impl Env {
    /// Adds what an item leaves. `conditional`: it stands in an arm of a condition that is not known, for that reason.
    pub(crate) fn add(&mut self, body: &Arc<Body>, exports: &[Export], conditional: Option<&Arc<str>>) {
        for e in exports {
            let is_tag = matches!(e.what, Exported::Tag(_));
            let map = if is_tag { &mut self.tags } else { &mut self.names };
            let mut what = e.what.clone();
            if let Some(old) = map.get(&e.name) {
                if let (Exported::Tag(ExportedTag::Record(r)), Exported::Tag(ExportedTag::Record(o))) =
                    (&what, &old.what)
                {
                    // A mention without members does not undo a definition.
                    if body.types.record(*r).fields.is_none() && old.body.types.record(*o).fields.is_some() {
                        continue;
                    }
                }
                if let (
                    Exported::Variable { defined, ty, .. },
                    Exported::Variable { defined: before, ty: t, .. },
                ) = (&mut what, &old.what)
                {
                    *defined |= *before;
                    // `extern int a[];` after `int a[10];` does not take the length away.
                    let open = |b: &Body, t: TypeId| {
                        matches!(b.types.kind(t), term::TypeKind::Array { len: term::Len::Unknown, .. })
                    };
                    if open(body, *ty) && !open(&old.body, *t) {
                        continue;
                    }
                }
                let harmless =
                    matches!((&what, &old.what), (Exported::Function { .. }, Exported::Function { .. }));
                if let Some(reason) = conditional.filter(|_| !harmless) {
                    let words = format!("`{}` is declared differently: {reason}", e.name);
                    what = Exported::Unknown(RejectKind::Conditional, words.into());
                }
            }
            let body = body.clone();
            map.insert(e.name.clone(), EnvName { body, what });
        }
    }

    /// Whether a name is a type's, here.
    pub(crate) fn is_type(&self, name: &str, language: Language) -> bool {
        match self.names.get(name) {
            Some(e) => matches!(e.what, Exported::Typedef(_)),
            None => {
                !matches!(name, "char" | "short" | "int" | "long" | "float" | "double" | "void" | "bool")
                    && matches!(known::type_name(name, language), Some(k) if k != KnownType::Void)
            }
        }
    }
}
