//! What is known of the functions that a body may call: the program around it, as far as it was read.
//!
//! Built once a unit and shared by the analyses of all its bodies. Every function of the unit has a [`Summary`]; small
//! ones can also be written in place of their calls (`inline`). Functions of other files ([`OtherFiles`]) are in it as far as the
//! unit's reach them, under names that are theirs alone (`files`); which definition a name means is found in `link`.

use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;

use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet, FxHasher};
use term::{Body, Op, Storage, SymbolId, TermId};

use crate::calls::circles::components;
use crate::calls::constants::{constants, written_out, Constant};
use crate::calls::files::{FilePart, Linkage, OtherFile, OtherFiles, Unlinked};
use crate::calls::function::{arguments_fit, called, is_declared_as, own_callee, DefinedIn, Function, Local};
use crate::calls::held::{values, Stored};
use crate::calls::link::{Known, Link, OwnFile};
use crate::calls::read::{
    constants_beside, function as read_function, hidden_beside, named_beside, note_globals, stored_beside,
    touched,
};
use crate::calls::summaries::solve;
use crate::calls::watch::Watch;
use crate::flow::called::Callees;
use crate::limits::calls_inline::MAX_GRANTED;
use crate::Summary;

/// The functions of a program by name. Immutable; a clone shares. The empty program knows nothing of any function that
/// is not the library's.
#[derive(Clone, Debug, Default)]
pub struct Program {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    functions: FxHashMap<Arc<str>, Known>,
    /// File-scope variables that functions use, each with a function that does.
    globals: FxHashMap<Arc<str>, (Arc<Body>, SymbolId)>,
    /// File-scope variables that keep their first value.
    constants: FxHashMap<Arc<str>, Constant>,
    /// The file's own variables that no pointer shows, in order, with a hash of them.
    hidden: Arc<(Vec<Arc<str>>, u64)>,
    /// What is stored in those.
    stored: Arc<FxHashMap<Arc<str>, Vec<Stored>>>,
    /// Functions that declarations name.
    named: Arc<FxHashSet<Arc<str>>>,
    watch: Watch,
    /// What it was made of: the file's own, and who may use each.
    bodies: Vec<Arc<Body>>,
    uses: Vec<(Linkage, bool)>,
    others: Arc<OtherFiles>,
    /// Functions of other files that may look at what these leave behind, though nothing here calls them.
    beside: Arc<[Arc<Function>]>,
}

impl Program {
    /// The program that these bodies make: those of one file, and those of the headers it includes. It keeps those it
    /// has a use for.
    pub fn of<'a>(bodies: impl IntoIterator<Item = &'a Arc<Body>>) -> Program {
        Program::after(&Program::default(), bodies)
    }

    /// The program of part of a file: functions with all they call, and all declarations. `None` where what is found out
    /// of those functions may depend on the others: they use a variable that only the others tell to be written or not.
    /// That nothing in the file says one of [`crate::watched_words`] is the caller's to see to.
    pub fn of_part<'a>(
        file: impl IntoIterator<Item = FilePart<'a>>,
        others: &Arc<OtherFiles>,
    ) -> Option<Program> {
        let program = Program::among(&Program::default(), file, others);
        let inner = &*program.inner;
        let declarations = inner.bodies.iter().filter(|b| !matches!(b.op(b.root), Op::Function(_)));
        let certain = constants(declarations.map(|b| (b, false)), None);
        // those of other files are certain
        let is_own = |c: &Constant| inner.bodies.iter().any(|b| Arc::ptr_eq(b, &c.body));
        let is_open = |(name, c): (&Arc<str>, &Constant)| {
            !certain.contains_key(name) && inner.globals.contains_key(name) && is_own(c)
        };
        let is_told = !inner.constants.iter().any(is_open);
        // and whether a pointer shows one
        let is_shown = inner.hidden.0.iter().all(|name| !inner.globals.contains_key(name));
        (is_told && is_shown).then_some(program)
    }

    /// The same, taking over from an earlier program what was found out about bodies that are still there.
    pub fn after<'a>(before: &Program, bodies: impl IntoIterator<Item = &'a Arc<Body>>) -> Program {
        let parts = bodies.into_iter().map(FilePart::external);
        Program::among(before, parts, &before.inner.others)
    }

    /// The same, of one file among others of its program: what it names and does not define is theirs, where that is certain.
    pub fn among<'a>(
        before: &Program,
        file: impl IntoIterator<Item = FilePart<'a>>,
        others: &Arc<OtherFiles>,
    ) -> Program {
        let own = OwnFile::of(file);
        let bodies: Vec<&Arc<Body>> = own.parts.iter().map(|p| p.body).collect();
        if let Some(edited) = before.with_one_edited(&own, &bodies, others) {
            return edited;
        }
        // as large as they will be: every edit makes them anew
        let mut functions: FxHashMap<Arc<str>, Known> = with_room(bodies.len());
        let mut globals = with_room(before.inner.globals.len());
        let weak: FxHashSet<&Arc<str>> = bodies.iter().flat_map(|b| &b.said.weak).collect();
        for &body in &bodies {
            let &Op::Function(f) = body.op(body.root) else { continue };
            note_globals(body, &mut globals);
            let name = body.symbols[f].name.clone();
            let is_weak = weak.contains(&name);
            let before = match before.inner.functions.get(&name) {
                Some(Known::One(o)) if Arc::ptr_eq(&o.body, body) && o.home.is_none() => Some(o),
                _ => None,
            };
            if let Some(same) = before.filter(|o| o.weak == is_weak && !functions.contains_key(&name)) {
                functions.insert(name, Known::One(same.clone()));
                continue;
            }
            let known = match functions.contains_key(&name) {
                true => Known::Several,
                false => match read_function(body, is_weak, before.map(|o| &**o)) {
                    Some(function) => Known::One(Arc::new(function)),
                    None => continue,
                },
            };
            functions.insert(name, known);
        }
        let read = functions.values().map(|k| match k {
            Known::One(f) => Some(&**f),
            Known::Several | Known::Not(_) => None,
        });
        let touched = touched(read);
        let mut constants = constants_beside(touched.as_deref(), own.declared());
        let hidden = hidden_beside(touched.as_deref(), own.declared());
        let stored = Arc::new(stored_beside(touched.as_deref(), own.declared(), &hidden));
        let named = Arc::new(named_beside(own.declared()));
        let mut link = Link::new(&own, others);
        link.functions(&mut functions, &before.inner.functions);
        for body in link.reached() {
            note_globals(body, &mut globals);
        }
        link.constants(&functions, &mut constants);
        let bodies = bodies.into_iter().cloned().collect();
        let watch = Watch::default();
        let (others, uses) = (others.clone(), own.uses());
        let beside = link.beside();
        let hash = FxBuildHasher.hash_one(&hidden);
        let hidden = Arc::new((hidden, hash));
        let mut program = Inner {
            functions,
            globals,
            constants,
            hidden,
            stored,
            named,
            watch,
            bodies,
            uses,
            others,
            beside,
        };
        program.summarize(&before.inner);
        program.watch = Watch::of(program.watched(), before.watch(), |name| before.function(name));
        Program { inner: Arc::new(program) }
    }

    /// The program that these bodies make, if they are this one's but for the text of one function, which names the same
    /// variables of the file and may change the same: while somebody types it mostly is.
    fn with_one_edited(
        &self,
        own: &OwnFile<'_>,
        bodies: &[&Arc<Body>],
        others: &Arc<OtherFiles>,
    ) -> Option<Program> {
        let old = &self.inner.bodies;
        if !OtherFiles::are_same(others, &self.inner.others) || own.uses() != self.inner.uses {
            return None;
        }
        let is_other = |k: &usize| !Arc::ptr_eq(&old[*k], bodies[*k]);
        let mut edited = (0..bodies.len()).filter(|_| bodies.len() == old.len()).filter(is_other);
        let (Some(k), None) = (edited.next(), edited.next()) else { return None };
        let (was, body) = (&old[k], bodies[k]);
        let (Op::Function(f), true) =
            (body.op(body.root), was.said.weak.is_empty() && body.said.weak.is_empty())
        else {
            return None;
        };
        let symbol = &body.symbols[*f];
        let function = match self.inner.functions.get(&symbol.name)? {
            // whether others define it alike decides what else is theirs
            Known::One(f) if Arc::ptr_eq(&f.body, was) && !others.define(&symbol.name) => f,
            _ => return None,
        };
        let globals = |body: &Body| -> FxHashSet<Arc<str>> {
            let of_file = body.symbols.iter().filter(|s| matches!(s.storage, Storage::Global { .. }));
            of_file.map(|s| s.name.clone()).collect()
        };
        let new = read_function(body, function.weak, None)?;
        if globals(was) != globals(body) || function.local.touched != new.local.touched {
            return None;
        }
        // and which names the same functions of other files
        let of_others = |f: &Function| -> Vec<Arc<str>> {
            f.local.calls.iter().filter(|n| others.define(n)).cloned().collect()
        };
        if of_others(function) != of_others(&new) {
            return None;
        }
        let mut program = Inner {
            functions: self.inner.functions.clone(),
            globals: self.inner.globals.clone(),
            constants: self.inner.constants.clone(),
            hidden: self.inner.hidden.clone(),
            stored: self.inner.stored.clone(),
            named: self.inner.named.clone(),
            watch: Watch::default(),
            bodies: bodies.iter().map(|b| (*b).clone()).collect(),
            uses: self.inner.uses.clone(),
            others: others.clone(),
            beside: self.inner.beside.clone(),
        };
        program.functions.insert(new.name.clone(), Known::One(Arc::new(new)));
        for (id, s) in body.symbols.iter_ids() {
            if let Some(known) = program.globals.get_mut(&s.name).filter(|(b, _)| Arc::ptr_eq(b, was)) {
                *known = (body.clone(), id);
            }
        }
        program.summarize(&self.inner);
        program.watch = Watch::of(program.watched(), self.watch(), |name| self.function(name));
        Some(Program { inner: Arc::new(program) })
    }

    /// The names that a file leaves to others.
    pub fn names_wanted<'a>(file: impl IntoIterator<Item = FilePart<'a>>) -> Vec<Arc<str>> {
        Link::wanted(&OwnFile::of(file))
    }

    /// Whether no function is known.
    pub(crate) fn is_empty(&self) -> bool {
        self.inner.functions.is_empty()
    }

    pub(crate) fn function(&self, name: &str) -> Option<&Function> {
        self.inner.function(name)
    }

    /// What is looked at beside variables and memory.
    pub(crate) fn watch(&self) -> &Watch {
        &self.inner.watch
    }

    /// A function that uses the file-scope variable, and the variable there.
    pub(crate) fn global(&self, name: &str) -> Option<(&Arc<Body>, SymbolId)> {
        self.inner.globals.get(name).map(|(b, s)| (b, *s))
    }

    /// Whether the file-scope variable of this name is known to hold its first value for as long as the program runs.
    pub fn keeps_first_value(&self, name: &str) -> bool {
        self.constant(name).is_some()
    }

    /// The file-scope variable that keeps its first value.
    pub(crate) fn constant(&self, name: &str) -> Option<&Constant> {
        self.inner.constants.get(name)
    }

    /// Whether the name is a variable of the file's own, to which nothing in it makes a pointer.
    pub(crate) fn hides(&self, name: &str) -> bool {
        self.inner.hidden.0.binary_search_by(|n| (**n).cmp(name)).is_ok()
    }

    /// The numbers that a part of a file-scope variable may hold, in order, and beside them none that anybody here may choose; `None`:
    /// any. `first`: whether it may still hold what it began with.
    pub(crate) fn held(&self, name: &str, part: &[Arc<str>], first: bool) -> Option<Vec<i128>> {
        let own = self.hides(name).then(|| self.inner.stored.get(name).map_or(&[][..], |s| s))?;
        values(own.iter(), part, first)
    }

    /// Whether only its own file calls the function.
    pub(crate) fn is_internal(&self, name: &str) -> bool {
        let all = self.inner.bodies.iter().zip(&self.inner.uses).filter(|(b, _)| *b.name == *name);
        all.into_iter().any(|(_, use_of)| *use_of == (Linkage::Internal, false))
    }

    /// The constant arguments that the calls of a function have, each list once; where others than its own file may call it, or nobody
    /// does, one without any.
    pub(crate) fn called_with(&self, name: &str) -> Vec<&[Option<i128>]> {
        let mut all: Vec<&[Option<i128>]> = Vec::new();
        if self.is_internal(name) && !self.inner.named.contains(name) {
            let here = self.inner.all().flat_map(|f| &f.local.called_with).filter(|c| *c.name == *name);
            all.extend(here.map(|c| &*c.arguments));
        }
        // the freest first
        all.sort_by_key(|c| (c.iter().flatten().count(), *c));
        all.dedup();
        if all.is_empty() {
            all.push(&[]);
        }
        all
    }

    /// A hash of the text that a function or constant has, and of what is stored in other variables; none where no text is. With `(`
    /// behind a name, of what the function is called with. Facts that rest on what was seen in it (see [`crate::Facts::rests_on`]) hold as long as it is the same.
    pub fn text_of(&self, name: &str) -> u64 {
        if let Some(function) = name.strip_suffix('(') {
            return FxBuildHasher.hash_one(self.called_with(function));
        }
        match (self.function(name), self.constant(name)) {
            (Some(f), _) => f.body.hash,
            (None, Some(c)) => c.body.hash,
            (None, None) => self.inner.stored.get(name).map_or(0, |s| FxBuildHasher.hash_one(s)),
        }
    }

    /// A function's text with the values of constants in place of their names, where they are literals.
    pub fn with_constants(&self, body: &Arc<Body>) -> Arc<Body> {
        written_out(body, |name| self.constant(name)).map_or_else(|| body.clone(), Arc::new)
    }

    /// What a function of the program does.
    pub fn summary(&self, name: &str) -> Option<&Summary> {
        self.function(name).map(|f| &f.summary)
    }

    /// The text of a function of the program.
    pub fn body(&self, name: &str) -> Option<&Arc<Body>> {
        self.function(name).map(|f| &f.body)
    }

    /// A file's name as people see it from this one ([`OtherFiles::seen_from_here`]).
    pub fn seen_from_here<'n>(&self, file: &'n str) -> &'n str {
        self.inner.others.seen_from_here(file)
    }

    /// Where a function of another file is written; `None` for those of the file itself and for what is not known.
    pub fn defined_in(&self, name: &str) -> Option<&DefinedIn> {
        self.function(name)?.home.as_deref()
    }

    /// Whether what a body uses can be written in the file: every file-scope variable, and every function that it does not only
    /// call, is one that the file itself uses. What is called becomes a kernel's copy, or is refused where it stays a call.
    pub(crate) fn can_say(&self, body: &Body) -> bool {
        let of_file = |s: &&term::Symbol| matches!(s.storage, Storage::Function | Storage::Global { .. });
        let own = self.inner.bodies.iter().flat_map(|b| b.symbols.iter().filter(of_file));
        let here: FxHashSet<&Arc<str>> = own.map(|s| &s.name).collect();
        let called = body.walk(body.root).filter(|&t| *body.op(t) == Op::Call);
        let called: FxHashSet<TermId> = called.filter_map(|t| body.args(t).first().copied()).collect();
        body.walk(body.root).filter(|t| !called.contains(t)).all(|t| match body.op(t) {
            Op::Sym(s) => {
                let s = &body.symbols[*s];
                !of_file(&s) || s.name == body.name || here.contains(&s.name)
            }
            _ => true,
        })
    }

    /// Where other files were looked for: continues "not found with a body in".
    pub fn searched(&self) -> Option<&str> {
        self.inner.others.searched()
    }

    /// Why a function that other files have is not taken for theirs.
    pub fn unlinked(&self, name: &str) -> Option<&Unlinked> {
        match self.inner.functions.get(name)? {
            Known::Not(why) => Some(why),
            Known::One(_) | Known::Several => None,
        }
    }

    /// The functions of other files that the file reaches, and the declarations of the variables which these use, by name:
    /// with the file's own bodies all that runs when its functions do.
    pub fn other_bodies(&self) -> Vec<Arc<Body>> {
        let mut linked: Vec<&Function> = self.inner.all().filter(|f| f.home.is_some()).collect();
        linked.sort_by(|a, b| a.name.cmp(&b.name));
        let declared = self.inner.others.declarations(linked.iter().map(|f| &*f.body));
        linked.iter().map(|f| f.body.clone()).chain(declared).collect()
    }

    /// The files whose functions the file reaches, or whose variables these use.
    pub fn other_files(&self) -> Vec<Arc<OtherFile>> {
        let linked = || self.inner.all().filter(|f| f.home.is_some());
        self.inner.others.used(linked().map(|f| &*f.body))
    }

    /// Every function of the file with what it does, by name: with [`Summary::calls`] the call graph.
    pub fn functions(&self) -> Vec<(&Arc<str>, &Summary)> {
        let own = self.inner.all().filter(|f| f.home.is_none());
        let mut out: Vec<_> = own.map(|f| (&f.name, &f.summary)).collect();
        out.sort_by(|a, b| a.0.cmp(b.0));
        out
    }

    /// A number that is the same wherever all that this program says of the functions called in `body`, directly or
    /// not, is the same: facts of the body may be remembered under it.
    pub fn key_for(&self, body: &Body) -> u64 {
        // Of a function of this program the names are known.
        let own = match body.op(body.root) {
            Op::Function(f) => self.function(&body.symbols[*f].name).filter(|o| std::ptr::eq(&*o.body, body)),
            _ => None,
        };
        let names: Vec<&str> = match own {
            Some(f) => f.local.calls.iter().map(|n| &**n).collect(),
            None => {
                let mut names: Vec<&str> = called(body).map(|f| &*body.symbols[f].name).collect();
                names.sort_unstable();
                names.dedup();
                names
            }
        };
        let mut h = FxHasher::default();
        self.inner.watch.key(&body.name).hash(&mut h);
        self.inner.hidden.1.hash(&mut h);
        for n in names {
            match self.inner.functions.get(n) {
                Some(Known::One(f)) => {
                    (n, f.key).hash(&mut h);
                    if f.home.is_some() || f.doubt != 0 {
                        (&f.home, f.doubt).hash(&mut h);
                    }
                }
                Some(Known::Several) => (n, 1u8).hash(&mut h),
                Some(Known::Not(why)) => (n, why).hash(&mut h),
                None => {
                    if let Some(searched) = self.inner.others.searched() {
                        (n, searched).hash(&mut h);
                    }
                }
            }
        }
        h.finish()
    }

    /// The function a call reaches, if it is one of this program and the call fits its definition.
    pub(crate) fn callee(&self, body: &Body, call: TermId) -> Option<&Function> {
        let symbol = own_callee(body, call)?;
        let function = self.called_by_name(&symbol.name, body, call)?;
        is_declared_as(body, call, &function.body, function.ty).then_some(function)
    }

    /// The function of this name, if it is one of this program and the arguments of the call fit its definition.
    pub(crate) fn called_by_name(&self, name: &str, body: &Body, call: TermId) -> Option<&Function> {
        let function = self.function(name)?;
        arguments_fit(body, call, &function.body, function.ty).then_some(function)
    }
}

impl Callees for Program {
    fn called(&self, body: &Body, call: TermId) -> Option<&Summary> {
        self.callee(body, call).map(|f| &f.summary)
    }

    fn hides(&self, name: &str) -> bool {
        Program::hides(self, name)
    }
}

impl Inner {
    fn all(&self) -> impl Iterator<Item = &Function> {
        self.functions.values().filter_map(|k| match k {
            Known::One(f) => Some(&**f),
            Known::Several | Known::Not(_) => None,
        })
    }

    /// Whoever may look at what the functions leave behind.
    fn watched(&self) -> impl Iterator<Item = &Function> {
        self.all().chain(self.beside.iter().map(|f| &**f))
    }

    fn function(&self, name: &str) -> Option<&Function> {
        match self.functions.get(name)? {
            Known::One(f) => Some(f),
            Known::Several | Known::Not(_) => None,
        }
    }

    /// The functions whose summaries may be others than in `before`, sorted.
    fn affected(&self, before: &Inner) -> Vec<Arc<str>> {
        let same = |name: &str| match (self.functions.get(name), before.functions.get(name)) {
            (Some(Known::One(new)), Some(Known::One(old))) => Arc::ptr_eq(new, old),
            (None, None) => true,
            (Some(Known::One(_)), _) | (_, Some(Known::One(_))) | (None, _) | (_, None) => false,
            _ => true,
        };
        let mut callers: FxHashMap<&str, Vec<&Arc<str>>> = FxHashMap::default();
        let mut open: Vec<&Arc<str>> = Vec::new();
        // what is said of what is not known is said anew
        let elsewhere = !OtherFiles::are_same(&self.others, &before.others);
        let same = |name: &str| same(name) && !(elsewhere && self.function(name).is_none());
        for f in self.all() {
            for called in &f.local.calls {
                callers.entry(called).or_default().push(&f.name);
            }
            if !same(&f.name) || f.local.calls.iter().any(|c| !same(c)) {
                open.push(&f.name);
            }
        }
        let mut out: FxHashSet<Arc<str>> = FxHashSet::default();
        while let Some(name) = open.pop() {
            if out.insert(name.clone()) {
                open.extend(callers.get(&**name).into_iter().flatten());
            }
        }
        let mut out: Vec<Arc<str>> = out.into_iter().collect();
        out.sort();
        out
    }

    /// A number for what is said of other files about functions that these names mean; 0 where nothing is.
    fn doubt(&self, called: &[&Arc<str>]) -> u64 {
        let mut h = FxHasher::default();
        let mut any = false;
        for c in called {
            match self.functions.get(*c) {
                Some(Known::One(f)) if f.home.is_none() && f.doubt == 0 => continue,
                Some(Known::One(f)) => (c, &f.home, f.doubt).hash(&mut h),
                Some(Known::Not(why)) => (c, why).hash(&mut h),
                Some(Known::Several) | None => match self.others.searched() {
                    Some(searched) => (c, searched).hash(&mut h),
                    None => continue,
                },
            }
            any = true;
        }
        if any {
            h.finish() | 1
        } else {
            0
        }
    }

    /// Summaries from callees to callers, the functions of a recursion together. A summary is made of the bodies of its
    /// group and of what their calls reach, so only functions that are not those of `before`, and who calls them, directly or
    /// not, are asked; the others came with their answers.
    fn summarize(&mut self, before: &Inner) {
        let names = self.affected(before);
        for group in components(&names, |n| self.function(n).map(|f| &f.local.calls[..])) {
            let summaries = {
                let members: Vec<&Function> = group.iter().filter_map(|n| self.function(n)).collect();
                let parts: Vec<(&Arc<str>, &Body, &Local)> =
                    members.iter().map(|f| (&f.name, &*f.body, &*f.local)).collect();
                solve(&parts, |n| self.function(n), |n| self.function(n).is_some_and(|f| f.weak))
            };
            // What a caller's facts rest on: the summary, and of a function written in place of its calls its terms,
            // with the same of all it calls.
            let mut outer = FxHasher::default();
            let mut called: Vec<&Arc<str>> = group
                .iter()
                .filter_map(|n| self.function(n))
                .flat_map(|f| &f.local.calls)
                .filter(|c| !group.contains(c))
                .collect();
            called.sort();
            called.dedup();
            for &c in &called {
                (c, self.function(c).map(|f| f.key)).hash(&mut outer);
            }
            let outer = outer.finish();
            let doubt = self.doubt(&called);
            let meaning: Vec<u64> =
                group.iter().filter_map(|n| self.function(n)).map(|f| f.local.meaning).collect();
            for (name, summary) in group.iter().zip(summaries) {
                if let Some(Known::One(f)) = self.functions.get_mut(name) {
                    let f = Arc::make_mut(f);
                    let mut h = FxHasher::default();
                    summary.hash(&mut h);
                    match f.shape.is_some() || f.body.len() <= MAX_GRANTED {
                        true => (&meaning, outer).hash(&mut h),
                        false => 0u8.hash(&mut h),
                    }
                    // The type decides whether a call fits.
                    f.local.signature.hash(&mut h);
                    f.key = h.finish();
                    f.summary = summary;
                    f.doubt = doubt;
                }
            }
        }
    }
}

fn with_room<K, V>(room: usize) -> FxHashMap<K, V> {
    FxHashMap::with_capacity_and_hasher(room, rustc_hash::FxBuildHasher)
}
