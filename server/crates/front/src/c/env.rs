//! What earlier items of a file declare, as later items see it.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use term::{Body, IntKind, RecordId, RejectKind, TypeId};

use crate::c::asks::Asked;
use crate::c::dialect::Dialect;
use crate::c::known::{self, KnownType};
use crate::cpp::templates::Templates;
use crate::{Shared, SharedSet};

/// A name that an item leaves to those after it; types are of the item's own body.
#[derive(Clone, Debug)]
pub(crate) struct Export {
    pub name: Arc<str>,
    pub what: Exported,
}

#[derive(Clone, Debug)]
pub(crate) enum Exported {
    /// With the alignment that the name asks for.
    Typedef(TypeId, Asked),
    /// `value`: what it holds for good, an integer that nothing may change (C11 6.7.3p6). `constant`: `__constant__`.
    Variable {
        ty: TypeId,
        defined: bool,
        internal: bool,
        constant: bool,
        value: Option<i128>,
    },
    /// `library`: declared by a header of the C library. `weak`: another definition may replace it when the program is
    /// linked. `internal`: declared `static`.
    Function {
        ty: TypeId,
        library: bool,
        weak: bool,
        internal: bool,
    },
    Enumerator(i128, IntKind),
    Tag(ExportedTag),
    Unknown(RejectKind, Arc<str>),
    /// Another name of something that has a name already, in words: no later declaration makes it a thing of its own.
    SecondName(Arc<str>),
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

/// The items that declare a name, in order.
type Declared = Vec<(u32, EnvName)>;

/// Names of file scope, each with the items that declare it.
#[derive(Debug, Default)]
struct Layer {
    names: FxHashMap<Arc<str>, Declared>,
    tags: FxHashMap<Arc<str>, Declared>,
    /// Functions the file defines, wherever.
    defined: FxHashSet<Arc<str>>,
    /// Those of them that are defined again.
    twice: FxHashSet<Arc<str>>,
}

/// The same up to some header: copies share what they have in common.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frozen {
    names: Shared<Arc<str>, Arc<Declared>>,
    tags: Shared<Arc<str>, Arc<Declared>>,
    defined: SharedSet<Arc<str>>,
    twice: SharedSet<Arc<str>>,
}

/// All names of file scope.
#[derive(Debug, Default)]
pub(crate) struct Env {
    /// Up to the last header, which many documents share.
    base: Frozen,
    /// Since then.
    local: Layer,
    /// Function templates of the document.
    pub(crate) templates: Arc<Templates>,
    /// What is C++ in the text has C++'s meaning: functions of one name may differ in their parameters, types have code of their own.
    cpp: bool,
    /// Functions that could not be read, with the number of the item after each: what else has their name is one of several.
    unread: Vec<(Arc<str>, u32)>,
    /// Functions that take references, with the item that defines each: which of their parameters.
    referring: Vec<(Arc<str>, u32, Arc<[usize]>)>,
}

/// The names as an item sees them: those of the items before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    env: &'a Env,
    item: u32,
}

impl<'a> View<'a> {
    fn latest(self, all: &'a Declared) -> Option<&'a EnvName> {
        let k = all.partition_point(|(item, _)| *item < self.item);
        all.get(k.checked_sub(1)?).map(|(_, e)| e)
    }
    pub(crate) fn name(self, name: &str) -> Option<&'a EnvName> {
        let (local, base) = (&self.env.local, &self.env.base);
        let found = local.names.get(name).and_then(|all| self.latest(all));
        found.or_else(|| self.latest(base.names.get(name)?))
    }
    /// Whether the file defines a function of this name, here or further down.
    pub(crate) fn defines_function(self, name: &str) -> bool {
        self.env.local.defined.contains(name) || self.env.base.defined.contains(name)
    }
    /// Whether there are two definitions of functions of this name.
    pub(crate) fn defines_twice(self, name: &str) -> bool {
        let (local, base) = (&self.env.local, &self.env.base);
        local.twice.contains(name)
            || base.twice.contains(name)
            || local.defined.contains(name) && base.defined.contains(name)
    }
    /// Whether C++ says what the text means, and the text is no pattern.
    pub(crate) fn is_cpp(self) -> bool {
        self.env.cpp
    }
    /// Whether a name is an enumeration's, or another name of an integer type.
    pub(crate) fn is_enumeration(self, name: &str) -> bool {
        let tag = self.tag(name).is_some_and(|e| matches!(e.what, Exported::Tag(ExportedTag::Enum(_))));
        let named = self.name(name).is_some_and(|e| match e.what {
            Exported::Typedef(t, _) => e.body.types.as_int(t).is_some(),
            _ => false,
        });
        tag || named
    }
    /// The names of all enumerators.
    pub(crate) fn enumerators(self) -> Vec<Arc<str>> {
        let base = self.env.base.names.iter().map(|(name, all)| (name, &**all));
        let all = self.env.local.names.iter().chain(base);
        let last = |list: &[(u32, EnvName)]| {
            list.last().is_some_and(|(_, e)| matches!(e.what, Exported::Enumerator(..)))
        };
        let mut out: Vec<Arc<str>> = all.filter(|(_, l)| last(l)).map(|(n, _)| n.clone()).collect();
        out.sort();
        out
    }
    pub(crate) fn templates(self) -> &'a Templates {
        &self.env.templates
    }
    pub(crate) fn tag(self, name: &str) -> Option<&'a EnvName> {
        let (local, base) = (&self.env.local, &self.env.base);
        let found = local.tags.get(name).and_then(|all| self.latest(all));
        found.or_else(|| self.latest(base.tags.get(name)?))
    }

    /// The parameters of a function that are references, read as pointers.
    pub(crate) fn referred(self, name: &str) -> &'a [usize] {
        let known = self.env.referring.iter().find(|(n, item, _)| &**n == name && *item < self.item);
        known.map_or(&[], |(.., places)| places)
    }

    /// Whether a name is a type's, here.
    pub(crate) fn is_type(self, name: &str, dialect: &Dialect) -> bool {
        match self.name(name) {
            Some(e) => matches!(e.what, Exported::Typedef(..)),
            None if dialect.cpp && self.tag(name).is_some() => true,
            None => {
                !matches!(name, "char" | "short" | "int" | "long" | "float" | "double" | "void" | "bool")
                    && matches!(known::type_name(name, dialect), Some(k) if k != KnownType::Void)
            }
        }
    }
}

impl Env {
    /// Without names, in a document with these templates.
    pub(crate) fn with(templates: Templates, cpp: bool) -> Env {
        Env { templates: Arc::new(templates), cpp, ..Env::default() }
    }

    /// Notes functions that could not be read.
    pub(crate) fn unread(&mut self, names: &[Arc<str>], item: u32) {
        self.unread.extend(names.iter().map(|n| (n.clone(), item)));
    }

    /// Notes that the item before this one defines a function whose parameters at these places are references.
    pub(crate) fn refer(&mut self, name: &Arc<str>, item: u32, places: Vec<usize>) {
        self.referring.push((name.clone(), item, places.into()));
    }

    /// The names that the item of this number sees.
    pub(crate) fn before(&self, item: u32) -> View<'_> {
        View { env: self, item }
    }

    /// Notes that functions are defined.
    pub(crate) fn define(&mut self, names: impl IntoIterator<Item = Arc<str>>) {
        for name in names {
            if !self.local.defined.insert(name.clone()) {
                self.local.twice.insert(name);
            }
        }
    }

    /// Whether a function under a name of the library is defined.
    pub(crate) fn defines_library(&self, dialect: &Dialect) -> bool {
        let mut defined = self.local.defined.iter().chain(&self.base.defined);
        defined.any(|n| known::is_library_name(n, dialect))
    }

    /// The names that items after number `from` left become unknown for those after number `at`.
    pub(crate) fn hide(&mut self, from: u32, at: u32, reason: &str) {
        self.unread.retain(|(_, item)| *item <= from);
        for (name, all) in &mut self.local.names {
            if let Some((_, last)) = all.last().filter(|(item, _)| *item > from) {
                let words = format!("`{name}` {reason}");
                let what = Exported::Unknown(RejectKind::Foreign, words.into());
                let body = last.body.clone();
                all.push((at, EnvName { body, what }));
            }
        }
    }

    /// Makes all names so far a layer that can be shared.
    pub(crate) fn freeze(&mut self) -> Frozen {
        let local = std::mem::take(&mut self.local);
        let base = &mut self.base;
        for (from, to) in [(local.names, &mut base.names), (local.tags, &mut base.tags)] {
            for (name, entries) in from {
                Arc::make_mut(to.entry(name).or_default()).extend(entries);
            }
        }
        base.twice.extend(local.twice);
        for name in local.defined {
            if base.defined.insert(name.clone()).is_some() {
                base.twice.insert(name);
            }
        }
        base.clone()
    }

    /// Goes on after such a layer, which holds all names so far.
    pub(crate) fn resume(&mut self, layer: Frozen) {
        self.base = layer;
        self.local = Layer::default();
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
            let (map, base) = match e.what {
                Exported::Tag(_) => (&mut self.local.tags, &self.base.tags),
                _ => (&mut self.local.names, &self.base.names),
            };
            let all = map.get(&e.name).or_else(|| base.get(&e.name).map(|all| &**all));
            let last = all.and_then(|all| all.last());
            let mut what = match last {
                Some((_, old)) => match merged(e, body, old, conditional) {
                    Some(what) => what,
                    None => continue,
                },
                None => e.what.clone(),
            };
            if let (true, Exported::Function { ty, library, .. }) = (self.cpp, &what) {
                let other = match last.map(|(_, old)| (old, &old.what)) {
                    Some((old, Exported::Function { ty: before, library: known, .. })) => {
                        !library && !known && !same_parameters((body, *ty), (&old.body, *before))
                    }
                    // a template may be the better match
                    _ => self.unread.iter().any(|(n, _)| *n == e.name) || self.templates.has(&e.name),
                };
                if other {
                    let words = format!("`{}` is overloaded, which is not followed", e.name);
                    what = Exported::Unknown(RejectKind::Foreign, words.into());
                }
            }
            let entry = EnvName { body: body.clone(), what };
            let all = map.entry(e.name.clone()).or_default();
            match all.last_mut() {
                Some((at, last)) if *at == item => *last = entry,
                _ => all.push((item, entry)),
            }
        }
    }
}

/// Whether two declarations of functions are of one function.
fn same_parameters(a: (&Body, TypeId), b: (&Body, TypeId)) -> bool {
    let texts = |(body, ty): (&Body, TypeId)| -> Option<Vec<String>> {
        let term::TypeKind::Function { params, .. } = body.types.kind(ty) else { return None };
        // qualifiers of the parameter itself do not count
        let text = |p: &TypeId| match body.types.element(*p) {
            Some(to) => format!("{} *", term::notation::type_text(&body.types, to)),
            None => {
                let text = term::notation::type_text(&body.types, *p);
                text.trim_start_matches("const ").trim_start_matches("volatile ").to_owned()
            }
        };
        Some(params.iter().map(text).collect())
    };
    texts(a) == texts(b)
}

/// A declaration after an earlier one; `None` where the earlier one says more.
fn merged(e: &Export, body: &Body, old: &EnvName, conditional: Option<&Arc<str>>) -> Option<Exported> {
    let mut what = e.what.clone();
    if matches!(old.what, Exported::SecondName(_)) {
        return None;
    }
    if let (Exported::Tag(ExportedTag::Record(r)), Exported::Tag(ExportedTag::Record(o))) = (&what, &old.what)
    {
        // A mention without members does not undo a definition.
        if body.types.record(*r).fields.is_none() && old.body.types.record(*o).fields.is_some() {
            return None;
        }
    }
    if let (
        Exported::Variable { defined, ty, constant, value, .. },
        Exported::Variable { defined: before, ty: t, constant: was, value: v, .. },
    ) = (&mut what, &old.what)
    {
        *defined |= *before;
        *constant |= *was;
        *value = value.or(*v);
        // `extern int a[];` after `int a[10];` does not take the length away.
        let open = |b: &Body, t: TypeId| {
            matches!(b.types.kind(t), term::TypeKind::Array { len: term::Len::Unknown, .. })
        };
        if open(body, *ty) && !open(&old.body, *t) {
            return None;
        }
    }
    if let (
        Exported::Function { library, weak, internal, .. },
        Exported::Function { library: before, weak: was_weak, internal: was_internal, .. },
    ) = (&mut what, &old.what)
    {
        *library |= *before;
        *weak |= *was_weak;
        *internal |= *was_internal;
    }
    let number =
        |b: &Body, t: TypeId| Some((b.types.as_int(t), b.types.as_float(t))).filter(|n| *n != (None, None));
    let harmless = match (&what, &old.what) {
        (Exported::Function { .. }, Exported::Function { .. }) => true,
        // a header that was read before, for certain or not, says the same again
        (Exported::Typedef(t, asked), Exported::Typedef(o, before)) => {
            asked == before && number(body, *t).is_some_and(|n| number(&old.body, *o) == Some(n))
        }
        (Exported::Enumerator(v, k), Exported::Enumerator(o, before)) => (v, k) == (o, before),
        _ => false,
    };
    if let Some(reason) = conditional.filter(|_| !harmless) {
        let words = format!("`{}` is declared differently: {reason}", e.name);
        what = Exported::Unknown(RejectKind::Conditional, words.into());
    }
    Some(what)
}
