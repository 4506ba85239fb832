//! Which definition a name means: the file's own, or another file's where that is certain.
//!
//! A function of another file is taken for what a name means if it is the only one, if its file can be of one program with the
//! file that asks (they do not both define a name: C11 6.9p5), and if no name in it means something else where it is asked.
//! What is not certain is a name of which nothing is known, with the reason ([`Unlinked`]).

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use term::{Body, Storage};

use crate::calls::compatible::same_type;
use crate::calls::constants::Constant;
use crate::calls::files::{
    defined_name, defined_variables, internal_names, names_of_others, says_mark, Definer, FilePart, Linkage,
    OtherFiles, OtherFunction, Unlinked,
};
use crate::calls::function::Function;

/// What is known of a name that functions have.
#[derive(Clone, Debug)]
pub(super) enum Known {
    One(Arc<Function>),
    /// Two definitions of one name in the file: neither is believed.
    Several,
    /// Other files have it, and none of them is believed.
    Not(Unlinked),
}

/// The file that asks.
pub(super) struct OwnFile<'a> {
    pub parts: Vec<FilePart<'a>>,
}

impl<'a> OwnFile<'a> {
    pub fn of(parts: impl IntoIterator<Item = FilePart<'a>>) -> OwnFile<'a> {
        OwnFile { parts: parts.into_iter().collect() }
    }

    /// Each part with whether others may name what it keeps to itself.
    pub fn declared(&self) -> impl Iterator<Item = (&Arc<Body>, bool)> {
        self.parts.iter().map(|p| (p.body, p.is_shared))
    }

    /// Of each part, in order, who may use it.
    pub fn uses(&self) -> Vec<(Linkage, bool)> {
        self.parts.iter().map(|p| (p.linkage, p.is_shared)).collect()
    }

    /// The names of which a program has no other definition than the file's.
    fn definitions(&self) -> FxHashSet<Arc<str>> {
        let functions = self.parts.iter().filter(|p| p.linkage == Linkage::External);
        let functions = functions.filter_map(|p| defined_name(p.body));
        let variables = self.parts.iter().flat_map(|p| {
            let external = |s: &term::Symbol| matches!(s.storage, Storage::Global { internal: false, .. });
            let with_value = defined_variables(p.body).filter(move |(s, value)| *value && external(s));
            with_value.map(|(s, _)| &s.name)
        });
        functions.chain(variables).cloned().collect()
    }
}

/// The search for what the names of a file mean.
pub(super) struct Link<'a> {
    own: &'a OwnFile<'a>,
    others: &'a OtherFiles,
    internal: FxHashSet<Arc<str>>,
    defined: FxHashSet<Arc<str>>,
    /// Of files, by number: a name that both they and the asking file define.
    clashes: FxHashMap<usize, Option<Arc<str>>>,
    reached: Vec<Arc<Body>>,
}

impl<'a> Link<'a> {
    pub fn new(own: &'a OwnFile<'a>, others: &'a OtherFiles) -> Link<'a> {
        let clashes = FxHashMap::default();
        let mut out = Link {
            own,
            others,
            internal: FxHashSet::default(),
            defined: FxHashSet::default(),
            clashes,
            reached: Vec::new(),
        };
        if !others.is_empty() {
            out.internal = internal_names(&own.parts);
            out.defined = own.definitions();
        }
        out
    }

    /// Adds the functions of other files that those of this one reach. `before`: what was known earlier, whose answers are taken
    /// over.
    pub fn functions(&mut self, known: &mut FxHashMap<Arc<str>, Known>, before: &FxHashMap<Arc<str>, Known>) {
        // a text that says our own names means what it likes
        if self.others.is_empty() || self.own.parts.iter().any(|p| says_mark(p.body)) {
            return;
        }
        self.doubt_inline(known);
        let calls = |f: &Function| f.local.calls.clone();
        let mut open: Vec<Arc<str>> = known
            .values()
            .flat_map(|k| match k {
                Known::One(f) => calls(f),
                Known::Several | Known::Not(_) => Vec::new(),
            })
            .collect();
        open.sort();
        while let Some(name) = open.pop() {
            if known.contains_key(&name) || self.internal.contains(&name) {
                continue;
            }
            let Some(found) = self.definition(&name) else { continue };
            let found = match found {
                Err(why) => Known::Not(why),
                Ok(f) => {
                    open.extend(calls(&f.function));
                    self.reached.push(f.function.body.clone());
                    let same = |o: &&Arc<Function>| {
                        Arc::ptr_eq(&o.body, &f.function.body) && o.home == f.function.home
                    };
                    match before.get(&name) {
                        Some(Known::One(o)) if same(&o) => Known::One(o.clone()),
                        _ => Known::One(f.function.clone()),
                    }
                }
            };
            known.insert(name, found);
        }
    }

    /// A call may mean another file's definition of an `inline` function.
    fn doubt_inline(&self, known: &mut FxHashMap<Arc<str>, Known>) {
        for part in self.own.parts.iter().filter(|p| p.linkage == Linkage::Inline) {
            let Some(name) = defined_name(part.body) else { continue };
            if self.others.differs(name, part.body.hash) {
                known.insert(name.clone(), Known::Several);
            }
        }
    }

    /// What a name means that the file does not define; `None` where no file has it as a function.
    fn definition(&mut self, name: &str) -> Option<Result<&'a OtherFunction, Unlinked>> {
        let others = self.others;
        let named = |k: usize| -> Arc<str> { others.file(k).map_or("", |f| f.name()).into() };
        let number = match others.definer(name)? {
            Definer::One(k) => k,
            Definer::Several(a, b) => return Some(Err(Unlinked::Twice(named(a), named(b)))),
        };
        let found = others.file(number)?.function(name)?;
        if others.is_doubtful(number, name) {
            return Some(Err(Unlinked::Replaceable(named(number))));
        }
        if let Some(clash) = self.clash(number) {
            return Some(Err(Unlinked::OtherProgram(named(number), clash)));
        }
        let elsewhere = |n: &Arc<str>| self.defined.contains(n) || others.define(n);
        let own = found.names.iter().filter(|n| self.internal.contains(*n));
        let library = found.library.iter().filter(|n| elsewhere(n));
        if let Some(other) = own.chain(library).min() {
            return Some(Err(Unlinked::OtherMeaning(named(number), other.clone())));
        }
        Some(Ok(found))
    }

    /// A name that both the file of this number and the asking one define.
    fn clash(&mut self, number: usize) -> Option<Arc<str>> {
        let (others, defined) = (self.others, &self.defined);
        let find = || others.file(number)?.definitions().filter(|n| defined.contains(*n)).min().cloned();
        self.clashes.entry(number).or_insert_with(find).clone()
    }

    /// The functions of other files that were reached.
    pub fn reached(&self) -> &[Arc<Body>] {
        &self.reached
    }

    /// Adds the variables of other files that keep their first value and that these functions name.
    pub fn constants(
        &mut self,
        known: &FxHashMap<Arc<str>, Known>,
        constants: &mut FxHashMap<Arc<str>, Constant>,
    ) {
        if self.others.is_empty() {
            return;
        }
        let own = self.own.parts.iter().flat_map(|p| defined_variables(p.body));
        let own: FxHashSet<&Arc<str>> = own.map(|(s, _)| &s.name).collect();
        let mut seen: FxHashMap<Arc<str>, bool> = FxHashMap::default();
        for f in known.values() {
            let Known::One(f) = f else { continue };
            for s in f.body.symbols.iter().filter(|s| matches!(s.storage, Storage::Global { .. })) {
                let is_own = own.contains(&s.name) || self.internal.contains(&s.name);
                if is_own || seen.get(&s.name) == Some(&false) {
                    continue;
                }
                let Some(Definer::One(k)) = self.others.definer(&s.name) else { continue };
                let file = self.others.file(k).cloned();
                let found = file.as_ref().and_then(|f| f.constant(&s.name));
                let found = found.filter(|(_, names)| !names.iter().any(|n| self.internal.contains(n)));
                let found = found.filter(|_| self.clash(k).is_none());
                let Some((constant, _)) = found else { continue };
                let (types, theirs) = (&f.body.types, &constant.body.types);
                let ty = constant.body.symbols[constant.symbol].ty;
                let is_const = |t: &term::Types, ty| t.is_constant(ty);
                // one object seen through two types is not followed
                let fits =
                    same_type(types, s.ty, theirs, ty) && is_const(types, s.ty) == is_const(theirs, ty);
                if fits {
                    constants.insert(s.name.clone(), constant.clone());
                } else {
                    constants.remove(&s.name);
                }
                seen.insert(s.name.clone(), fits);
            }
        }
    }

    /// If something in the other files looks at what functions leave behind (`watch`): all their functions, of those files that
    /// can be of one program with this one.
    pub fn beside(&mut self) -> Arc<[Arc<Function>]> {
        let mut out: Vec<Arc<Function>> = Vec::new();
        let numbers = 0..self.others.files().count();
        let looks = |f: &OtherFunction| f.function.local.mentions.looks_or_rounds();
        let program: Vec<usize> = numbers.filter(|&k| self.clash(k).is_none()).collect();
        let files: Vec<_> = program.iter().filter_map(|&k| self.others.file(k)).collect();
        if files.iter().any(|f| f.functions().any(looks)) {
            for file in files {
                let mut functions: Vec<Arc<Function>> =
                    file.functions().map(|f| f.function.clone()).collect();
                functions.sort_by(|a, b| a.name.cmp(&b.name));
                out.extend(functions);
            }
        }
        out.into()
    }

    /// The names that the file leaves to others.
    pub fn wanted(own: &OwnFile<'_>) -> Vec<Arc<str>> {
        let internal = internal_names(&own.parts);
        let functions = own.parts.iter().filter_map(|p| defined_name(p.body));
        let variables = own.parts.iter().flat_map(|p| defined_variables(p.body)).map(|(s, _)| &s.name);
        let defined: FxHashSet<&Arc<str>> = functions.chain(variables).collect();
        let all = own.parts.iter().flat_map(|p| names_of_others(p.body).to_vec());
        let mut out: Vec<Arc<str>> = all.filter(|n| !internal.contains(n) && !defined.contains(n)).collect();
        out.sort();
        out.dedup();
        out
    }
}
