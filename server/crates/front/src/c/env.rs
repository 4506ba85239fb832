//! What earlier items of a file declare, as later items see it.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
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

/// All names of file scope, each with the items that declare it, in order.
#[derive(Debug, Default)]
pub(crate) struct Env {
    names: FxHashMap<Arc<str>, Vec<(u32, EnvName)>>,
    tags: FxHashMap<Arc<str>, Vec<(u32, EnvName)>>,
    /// Functions the file defines, wherever.
    defined: FxHashSet<Arc<str>>,
}

/// The names as an item sees them: those of the items before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    env: &'a Env,
    item: u32,
}

impl<'a> View<'a> {
    fn find(self, map: &'a FxHashMap<Arc<str>, Vec<(u32, EnvName)>>, name: &str) -> Option<&'a EnvName> {
        let all = map.get(name)?;
        let k = all.partition_point(|(item, _)| *item < self.item);
        all.get(k.checked_sub(1)?).map(|(_, e)| e)
    }
    pub(crate) fn name(self, name: &str) -> Option<&'a EnvName> {
        self.find(&self.env.names, name)
    }
    /// Whether the file defines a function of this name, here or further down.
    pub(crate) fn defines_function(self, name: &str) -> bool {
        self.env.defined.contains(name)
    }
    pub(crate) fn tag(self, name: &str) -> Option<&'a EnvName> {
        self.find(&self.env.tags, name)
    }

    /// Whether a name is a type's, here.
    pub(crate) fn is_type(self, name: &str, language: Language) -> bool {
        match self.name(name) {
            Some(e) => matches!(e.what, Exported::Typedef(_)),
            None => {
                !matches!(name, "char" | "short" | "int" | "long" | "float" | "double" | "void" | "bool")
                    && matches!(known::type_name(name, language), Some(k) if k != KnownType::Void)
            }
        }
    }
}

impl Env {
    /// The names that the item of this number sees.
    pub(crate) fn before(&self, item: u32) -> View<'_> {
        View { env: self, item }
    }

    /// Notes that an item with these exports is a function's definition.
    pub(crate) fn define(&mut self, exports: &[Export]) {
        let functions = exports.iter().filter(|e| matches!(e.what, Exported::Function { .. }));
        self.defined.extend(functions.map(|e| e.name.clone()));
    }

    /// Adds what an item leaves. `conditional`: it stands in an arm of a condition that is not known, for that reason.
    pub(crate) fn add(
        &mut self,
        item: u32,
        body: &Arc<Body>,
        exports: &[Export],
        conditional: Option<&Arc<str>>,
    ) {
        for e in exports {
            let is_tag = matches!(e.what, Exported::Tag(_));
            let map = if is_tag { &mut self.tags } else { &mut self.names };
            let all = map.entry(e.name.clone()).or_default();
            let what = match all.last() {
                Some((_, old)) => match merged(e, body, old, conditional) {
                    Some(what) => what,
                    None => continue,
                },
                None => e.what.clone(),
            };
            let entry = EnvName { body: body.clone(), what };
            match all.last_mut() {
                Some((at, last)) if *at == item => *last = entry,
                _ => all.push((item, entry)),
            }
        }
    }
}

/// A declaration after an earlier one; `None` where the earlier one says more.
fn merged(e: &Export, body: &Body, old: &EnvName, conditional: Option<&Arc<str>>) -> Option<Exported> {
    let mut what = e.what.clone();
    if let (Exported::Tag(ExportedTag::Record(r)), Exported::Tag(ExportedTag::Record(o))) = (&what, &old.what)
    {
        // A mention without members does not undo a definition.
        if body.types.record(*r).fields.is_none() && old.body.types.record(*o).fields.is_some() {
            return None;
        }
    }
    if let (Exported::Variable { defined, ty, .. }, Exported::Variable { defined: before, ty: t, .. }) =
        (&mut what, &old.what)
    {
        *defined |= *before;
        // `extern int a[];` after `int a[10];` does not take the length away.
        let open = |b: &Body, t: TypeId| {
            matches!(b.types.kind(t), term::TypeKind::Array { len: term::Len::Unknown, .. })
        };
        if open(body, *ty) && !open(&old.body, *t) {
            return None;
        }
    }
    let harmless = matches!((&what, &old.what), (Exported::Function { .. }, Exported::Function { .. }));
    if let Some(reason) = conditional.filter(|_| !harmless) {
        let words = format!("`{}` is declared differently: {reason}", e.name);
        what = Exported::Unknown(RejectKind::Conditional, words.into());
    }
    Some(what)
}
