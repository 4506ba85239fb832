//! The other files of a program, as one of them sees them.
//!
//! A name with external linkage means the same function or variable in all files, one with internal linkage is its file's own
//! (C11 6.2.2p2). So what a file keeps to itself gets a name that no other file has ([`MARK`]), and bodies of all files can
//! stand beside one another and be asked by name. Of two different external definitions of a name neither is believed: 6.9p5 allows one in a
//! program, and a folder may hold several programs. Which definition a name means for one file is found in `link`.
//! Deliberately absent: where files come from, and how a function's text is found again (it says its file and line).

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use term::{Body, Op, Storage, Symbol};

use crate::calls::constants::Constant;
use crate::calls::function::{DefinedIn, Function};
use crate::calls::read::{constants_beside, function, touched};

/// Stands between a name that a file keeps to itself and the file's tag. A file that says it is not read.
const MARK: &str = "_ww_in_";

/// The name as its file has it.
pub fn plain_name(name: &str) -> &str {
    name.split_once(MARK).map_or(name, |(plain, _)| plain)
}

/// Who can name a function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Linkage {
    /// Every file.
    External,
    /// Every file, and others may have definitions of their own, either of which a call may mean (C11 6.7.4p7).
    Inline,
    /// Its file.
    Internal,
}

/// A function or a stretch of declarations of a file.
#[derive(Clone, Copy, Debug)]
pub struct FilePart<'a> {
    pub body: &'a Arc<Body>,
    /// The header that it came from, as people know it.
    pub header: Option<&'a str>,
    /// Of a function: the 1-based line on which it begins.
    pub line: u32,
    /// Of a function; variables say it themselves.
    pub linkage: Linkage,
    /// Whether texts that are not among the parts may name what it keeps to itself: those of headers that are included behind it, or of
    /// a source that includes the file.
    pub is_shared: bool,
}

/// A file as others see it. Made once for each text.
#[derive(Debug)]
pub struct OtherFile {
    name: Arc<str>,
    tag: String,
    functions: FxHashMap<Arc<str>, OtherFunction>,
    variables: FxHashMap<Arc<str>, OtherVariable>,
}

/// A function of another file.
#[derive(Debug)]
pub(super) struct OtherFunction {
    pub(super) function: Arc<Function>,
    /// What it means by names that other files may define, sorted.
    pub(super) names: Arc<[Arc<str>]>,
    /// What it takes for the library's.
    pub(super) library: Arc<[Arc<str>]>,
    /// Whether other files may have definitions of their own.
    is_inline: bool,
    /// Whether there are two of the name in the file, or another may take its place.
    doubtful: bool,
}

/// A file-scope variable of another file.
#[derive(Debug)]
struct OtherVariable {
    declared: Arc<Body>,
    is_initialised: bool,
    names: Arc<[Arc<str>]>,
    constant: Option<Constant>,
    doubtful: bool,
}

impl<'a> FilePart<'a> {
    /// A part that every file can name.
    pub fn external(body: &'a Arc<Body>) -> FilePart<'a> {
        FilePart { body, header: None, line: 0, linkage: Linkage::External, is_shared: false }
    }
}

impl OtherFile {
    /// A file out of its bodies. `name`: as people know it; `tag`: letters and digits that no other file of the program has.
    pub fn of<'a>(name: &str, tag: &str, parts: impl IntoIterator<Item = FilePart<'a>>) -> OtherFile {
        let tag: String = tag.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let parts: Vec<FilePart<'a>> = parts.into_iter().collect();
        let (name, functions, variables) = (name.into(), FxHashMap::default(), FxHashMap::default());
        let mut out = OtherFile { name, tag, functions, variables };
        if parts.iter().any(|p| says_mark(p.body)) {
            return out;
        }
        let own = internal_names(&parts);
        let weak: FxHashSet<&Arc<str>> = parts.iter().flat_map(|p| &p.body.said.weak).collect();
        let bodies: Vec<Arc<Body>> = parts.iter().map(|p| renamed(p.body, &own, &out.tag)).collect();
        for (part, body) in parts.iter().zip(&bodies) {
            let is_weak = defined_name(part.body).is_some_and(|n| weak.contains(n));
            let Some(mut f) = function(body, is_weak, None) else { continue };
            let file = part.header.map_or_else(|| out.name.clone(), Arc::from);
            f.home = Some(Arc::new(DefinedIn { file, line: part.line }));
            let names = names_of_others(body);
            let library = body.library.iter().map(|&s| body.symbols[s].name.clone()).collect();
            let doubtful = is_weak || out.functions.contains_key(&f.name);
            let (name, is_inline) = (f.name.clone(), part.linkage == Linkage::Inline);
            let function = Arc::new(f);
            out.functions.insert(name, OtherFunction { function, names, library, is_inline, doubtful });
        }
        let functions = out.functions.values().map(|f| Some(&*f.function).filter(|_| !f.doubtful));
        let declared = bodies.iter().zip(&parts).map(|(b, p)| (b, p.is_shared));
        let constants = constants_beside(touched(functions).as_deref(), declared);
        for body in &bodies {
            for (symbol, is_initialised) in defined_variables(body) {
                let before = out.variables.remove(&symbol.name);
                // a tentative definition gives way to one with a value (C11 6.9.2p2)
                if let Some(b) = before.filter(|b| b.is_initialised && !is_initialised) {
                    out.variables.insert(symbol.name.clone(), b);
                    continue;
                }
                let variable = OtherVariable {
                    declared: body.clone(),
                    is_initialised,
                    names: names_of_others(body),
                    constant: constants.get(&symbol.name).cloned(),
                    doubtful: body.said.weak.contains(&symbol.name) || weak.contains(&symbol.name),
                };
                out.variables.insert(symbol.name.clone(), variable);
            }
        }
        out
    }

    /// As people know it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it defines a function or variable of this name that others can name.
    pub fn defines(&self, name: &str) -> bool {
        self.functions.contains_key(name) || self.variables.contains_key(name)
    }

    /// The names that other files may define and that its definition of `name` needs, directly or through what the file keeps to
    /// itself.
    pub fn needs(&self, name: &str) -> Vec<Arc<str>> {
        let mut seen: FxHashSet<Arc<str>> = FxHashSet::default();
        let mut open: Vec<Arc<str>> = vec![name.into()];
        let mut out = Vec::new();
        while let Some(name) = open.pop() {
            let names = match (self.functions.get(&name), self.variables.get(&name)) {
                (Some(f), _) => &f.names,
                (None, Some(v)) => &v.names,
                (None, None) => continue,
            };
            for n in names.iter().filter(|n| seen.insert((*n).clone())) {
                match self.defines(n) {
                    true => open.push(n.clone()),
                    false => out.push(n.clone()),
                }
            }
        }
        out.sort();
        out
    }

    /// The names of other files that any of its definitions needs.
    pub fn all_needs(&self) -> Vec<Arc<str>> {
        let functions = self.functions.values().map(|f| &f.names);
        let all = functions.chain(self.variables.values().map(|v| &v.names)).flat_map(|n| n.iter());
        let mut out: Vec<Arc<str>> = all.filter(|n| !self.defines(n)).cloned().collect();
        out.sort();
        out.dedup();
        out
    }

    pub(super) fn function(&self, name: &str) -> Option<&OtherFunction> {
        self.functions.get(name)
    }

    pub(super) fn functions(&self) -> impl Iterator<Item = &OtherFunction> {
        self.functions.values()
    }

    /// A hash of a definition: equal ones are the same.
    fn definition(&self, name: &str) -> Option<u64> {
        let function = self.functions.get(name).map(|f| f.function.body.hash);
        function.or_else(|| self.variables.get(name).map(|v| v.declared.hash))
    }

    fn is_doubtful(&self, name: &str) -> bool {
        self.functions.get(name).is_some_and(|f| f.doubtful)
            || self.variables.get(name).is_some_and(|v| v.doubtful)
    }

    /// The names of which a program has no other definition than the file's: those of functions, and of variables with a value.
    pub(super) fn definitions(&self) -> impl Iterator<Item = &Arc<str>> {
        let functions = self.functions.iter().filter(|(_, f)| !f.is_inline).map(|(n, _)| n);
        let variables = self.variables.iter().filter(|(_, v)| v.is_initialised).map(|(n, _)| n);
        functions.chain(variables).filter(|n| !n.contains(MARK))
    }

    /// The variable's first value, where it keeps it, and the names of others that this needs.
    pub(super) fn constant(&self, name: &str) -> Option<(&Constant, &Arc<[Arc<str>]>)> {
        let v = self.variables.get(name).filter(|v| !v.doubtful)?;
        Some((v.constant.as_ref()?, &v.names))
    }
}

/// Why a function that other files have is not taken for theirs; files by name.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Unlinked {
    /// These define it differently.
    Twice(Arc<str>, Arc<str>),
    /// The first defines it, and the other name like the file that asks: they are of different programs (C11 6.9p5).
    OtherProgram(Arc<str>, Arc<str>),
    /// The first defines it, and the other name means something else there than where it is asked.
    OtherMeaning(Arc<str>, Arc<str>),
    /// Another definition may take the place of the file's.
    Replaceable(Arc<str>),
}

/// The other files of a program.
#[derive(Debug, Default)]
pub struct OtherFiles {
    files: Vec<Arc<OtherFile>>,
    /// How many of them are of the folder of the file that asks: they come first.
    near: usize,
    definers: FxHashMap<Arc<str>, Definer>,
    /// Where was looked for them: continues "not found with a body in".
    searched: Arc<str>,
}

/// Who defines a name, by number of the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Definer {
    One(usize),
    Several(usize, usize),
}

impl OtherFiles {
    /// Files of a program. A name that one of `near` defines is theirs; it is looked for in `far` otherwise. The order of the
    /// files does not matter, as long as it is the same.
    pub fn of(near: &[Arc<OtherFile>], far: &[Arc<OtherFile>], searched: &str) -> OtherFiles {
        let mut out = OtherFiles { searched: searched.into(), ..OtherFiles::default() };
        let mut tags: FxHashSet<&str> = FxHashSet::default();
        for (files, are_near) in [(near, true), (far, false)] {
            let mut definers: FxHashMap<Arc<str>, Definer> = FxHashMap::default();
            for file in files.iter().filter(|f| tags.insert(&f.tag)) {
                let number = out.files.len();
                out.files.push(file.clone());
                for name in file.functions.keys().chain(file.variables.keys()) {
                    let definer = match definers.get(name) {
                        None => Definer::One(number),
                        Some(&Definer::One(k)) if out.files[k].definition(name) != file.definition(name) => {
                            Definer::Several(k, number)
                        }
                        Some(&same) => same,
                    };
                    definers.insert(name.clone(), definer);
                }
            }
            for (name, definer) in definers {
                out.definers.entry(name).or_insert(definer);
            }
            if are_near {
                out.near = out.files.len();
            }
        }
        out
    }

    /// A file's name as people see it from the file that asks: of its own folder the last part says all, whatever folder the
    /// program is taken to begin at.
    pub fn seen_from_here<'n>(&self, name: &'n str) -> &'n str {
        let is_near = self.files[..self.near].iter().any(|f| f.name() == name);
        name.rsplit(['/', '\\']).next().filter(|_| is_near).unwrap_or(name)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Whether two are one, or there are none in either.
    pub(super) fn are_same(a: &Arc<OtherFiles>, b: &Arc<OtherFiles>) -> bool {
        let nothing = |o: &OtherFiles| o.is_empty() && o.searched().is_none();
        Arc::ptr_eq(a, b) || nothing(a) && nothing(b)
    }

    /// Where was looked for them: continues "not found with a body in"; `None`: nowhere.
    pub fn searched(&self) -> Option<&str> {
        Some(&*self.searched).filter(|s| !s.is_empty())
    }

    /// Whether one of them defines the name for all.
    pub fn define(&self, name: &str) -> bool {
        self.definers.contains_key(name)
    }

    pub(super) fn definer(&self, name: &str) -> Option<Definer> {
        self.definers.get(name).copied()
    }

    pub(super) fn file(&self, number: usize) -> Option<&Arc<OtherFile>> {
        self.files.get(number)
    }

    pub(super) fn files(&self) -> impl Iterator<Item = &Arc<OtherFile>> {
        self.files.iter()
    }

    /// Whether the file's definition of the name is none to rely on.
    pub(super) fn is_doubtful(&self, number: usize, name: &str) -> bool {
        self.file(number).is_none_or(|f| f.is_doubtful(name))
    }

    /// Whether the one definition of a name is another one than this.
    pub(super) fn differs(&self, name: &str, from: u64) -> bool {
        match self.definer(name) {
            None => false,
            Some(Definer::Several(..)) => true,
            Some(Definer::One(k)) => self.file(k).and_then(|f| f.definition(name)) != Some(from),
        }
    }

    /// The files that define these functions, and what they name.
    pub(super) fn used<'a>(&self, users: impl Iterator<Item = &'a Body>) -> Vec<Arc<OtherFile>> {
        let names = users.flat_map(|b| b.symbols.iter_ids().filter(|(id, s)| is_of_all(b, *id, s)));
        let mut numbers: Vec<usize> = names
            .filter_map(|(_, s)| match self.definer(&s.name)? {
                Definer::One(k) => Some(k),
                Definer::Several(..) => None,
            })
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers.into_iter().filter_map(|k| self.file(k).cloned()).collect()
    }

    /// The declarations of the variables that these bodies use, and of those that these need, each once.
    pub(super) fn declarations<'a>(&self, users: impl Iterator<Item = &'a Body>) -> Vec<Arc<Body>> {
        let mut open: Vec<Arc<str>> = users.flat_map(|b| variables_used(b).cloned()).collect();
        open.sort();
        let mut seen: FxHashSet<Arc<str>> = FxHashSet::default();
        let mut out: Vec<Arc<Body>> = Vec::new();
        while let Some(name) = open.pop() {
            let Some(Definer::One(k)) = self.definer(&name) else { continue };
            let Some(v) = self.file(k).and_then(|f| f.variables.get(&name)) else { continue };
            if !seen.insert(name) || out.iter().any(|b| Arc::ptr_eq(b, &v.declared)) {
                continue;
            }
            open.extend(variables_used(&v.declared).cloned());
            out.push(v.declared.clone());
        }
        out
    }
}

/// The names of file-scope variables that a body says.
fn variables_used(body: &Body) -> impl Iterator<Item = &Arc<str>> {
    body.symbols.iter().filter(|s| matches!(s.storage, Storage::Global { .. })).map(|s| &s.name)
}

/// The name of the function that a body is.
pub(super) fn defined_name(body: &Body) -> Option<&Arc<str>> {
    match body.op(body.root) {
        Op::Function(f) => Some(&body.symbols[*f].name),
        _ => None,
    }
}

/// The variables that a stretch of declarations defines, and whether with a value.
pub(super) fn defined_variables(body: &Body) -> impl Iterator<Item = (&Symbol, bool)> {
    let declares = match body.op(body.root) {
        Op::Function(_) => None,
        _ => Some(body.walk(body.root)),
    };
    declares.into_iter().flatten().filter_map(|t| match body.op(t) {
        Op::Declare(s) => {
            let symbol = &body.symbols[*s];
            let is_here = matches!(symbol.storage, Storage::Global { defined_here: true, .. });
            is_here.then(|| (symbol, !body.args(t).is_empty()))
        }
        _ => None,
    })
}

/// What a file keeps to itself.
pub(super) fn internal_names(parts: &[FilePart<'_>]) -> FxHashSet<Arc<str>> {
    let functions = parts.iter().filter(|p| p.linkage == Linkage::Internal);
    let functions = functions.filter_map(|p| defined_name(p.body).cloned());
    let internal = |s: &&Symbol| matches!(s.storage, Storage::Global { internal: true, .. });
    let variables = parts.iter().flat_map(|p| p.body.symbols.iter().filter(internal));
    functions.chain(variables.map(|s| s.name.clone())).collect()
}

/// Whether a symbol is one that other files may define.
fn is_of_all(body: &Body, id: term::SymbolId, s: &Symbol) -> bool {
    match s.storage {
        Storage::Function => !body.library.contains(&id),
        Storage::Global { .. } => true,
        _ => false,
    }
}

/// The names in a body that other files may define, its own left out; sorted.
pub(super) fn names_of_others(body: &Body) -> Arc<[Arc<str>]> {
    let own = defined_name(body);
    let all = body.symbols.iter_ids().filter(|(id, s)| is_of_all(body, *id, s) && Some(&s.name) != own);
    let mut names: Vec<Arc<str>> = all.map(|(_, s)| s.name.clone()).collect();
    names.sort();
    names.dedup();
    names.into()
}

pub(super) fn says_mark(body: &Body) -> bool {
    body.symbols.iter().any(|s| s.name.contains(MARK))
}

/// The body with names of its own for what its file keeps to itself.
fn renamed(body: &Arc<Body>, own: &FxHashSet<Arc<str>>, tag: &str) -> Arc<Body> {
    let is_own = |id, s: &Symbol| is_of_all(body, id, s) && own.contains(&s.name);
    let all: Vec<term::SymbolId> =
        body.symbols.iter_ids().filter(|(id, s)| is_own(*id, s)).map(|(id, _)| id).collect();
    if all.is_empty() {
        return body.clone();
    }
    let new = |name: &str| -> Arc<str> { format!("{name}{MARK}{tag}").into() };
    let mut b = body.to_builder();
    for id in all {
        b.symbols[id].name = new(&body.symbols[id].name);
    }
    if defined_name(body).is_some_and(|n| own.contains(n)) {
        b.name = new(&body.name);
    }
    Arc::new(b.finish(body.root))
}
