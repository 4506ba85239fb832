//! Function templates whose instances the file itself names: `reduce<256><<<…>>>`, `warp_sum<N>(…)`, or whose arguments follow
//! from what a launch or a call gives ([`deduce`]).
//!
//! One look over all tokens, before any item is read, finds the templates, what is written between `name<` and `>` where they
//! are launched or called, and what that comes to: integers, and types of one or more words. Each set of arguments
//! is an *instance*: the template's own tokens, with its parameters replaced as macros are, under the name `reduce<256>`, which
//! stands for `reduce < 256 >` wherever that is written. So positions are those of the template's text.
//!
//! Deliberately absent: pointers and qualified types as arguments, specialisations, overloads, packs, class templates. Of such
//! templates nothing is known.

mod declared;
mod deduce;
mod scan;

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use term::RejectKind;

use self::deduce::{Deduced, Deduction, Types};
use self::scan::{arguments, Evaluate, Scan};
use crate::c::cut::Found;
use crate::c::dialect::Dialect;
use crate::c::lex::{Kind, Token};
use crate::c::pp::{self, Macro, MacroState, PToken, Piece, Spliced};
use crate::c::unit::Walk;
use crate::limits::cpp_templates::{MAX_ALL, MAX_DEPTH, MAX_EACH};

/// What a file's function templates are instantiated with.
#[derive(Debug, Default)]
pub(crate) struct Templates {
    heads: FxHashMap<Arc<str>, Head>,
    /// Templates with a body, by the index of their first token: the instances.
    instances: FxHashMap<usize, Vec<Instance>>,
    /// Names of all instances.
    names: FxHashSet<Arc<str>>,
    constants: FxHashMap<Arc<str>, i128>,
    /// Templates of the host that launch and that nobody instantiates, by the index of their first token: what their types are taken
    /// for.
    lent: FxHashMap<usize, Vec<(Arc<str>, String)>>,
    /// Whose types they may be instantiated with, and those of the text.
    dialect: Option<&'static Dialect>,
    types: Arc<Types>,
    /// Instances that some use names in full.
    sure: FxHashSet<Arc<str>>,
    /// Arguments that the text leaves out, in its order.
    deduced: Vec<Deduced>,
}

#[derive(Clone, Debug)]
struct Parameter {
    name: Arc<str>,
    /// Words of a value's type; `None`: it stands for a type.
    value: Option<Vec<Arc<str>>>,
    default: Option<Vec<Arc<str>>>,
}

#[derive(Debug)]
struct Head {
    parameters: Vec<Parameter>,
    /// Index of `template`.
    at: usize,
}

/// A template with its arguments.
#[derive(Clone, Debug)]
pub(crate) struct Instance {
    /// `reduce<256>`
    pub name: Arc<str>,
    /// Each parameter and the text it stands for.
    bound: Vec<(Arc<str>, String)>,
}

/// A parameter's value.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Bound {
    Value(i128),
    Type(String),
}

const DEDUCED: &str = "a template whose arguments are deduced is not followed";

/// What a type is taken for where nothing in the file says it.
const ASSUMED: &str = "float";

fn assumed() -> Bound {
    Bound::Type(ASSUMED.to_owned())
}

/// What the parameters of a template stand for.
type Bindings = Vec<(Arc<str>, Bound)>;

/// `name<…>` in the text.
struct Use {
    name: Arc<str>,
    arguments: Vec<Vec<Arc<str>>>,
    /// The template around it, as a place in the list of all.
    inside: Option<usize>,
    /// Whether the text does not say some of its arguments.
    guessed: bool,
}

impl Templates {
    /// A number for all that items can see of it.
    pub(crate) fn key(&self) -> u64 {
        let mut names: Vec<&Arc<str>> = self.names.iter().collect();
        names.sort();
        let mut constants: Vec<(&Arc<str>, &i128)> = self.constants.iter().collect();
        constants.sort();
        let deduced: Vec<&Vec<Vec<Arc<str>>>> = self.deduced.iter().map(|d| &d.words).collect();
        crate::c::unit::hash((names, constants, deduced))
    }

    /// Finds templates and instances. `defines`: macros from outside.
    pub(crate) fn find(
        (text, tokens): (&str, &[Token]),
        dialect: &'static Dialect,
        defines: &[(String, String)],
    ) -> Templates {
        let mut out = Templates { dialect: Some(dialect), ..Templates::default() };
        let word = |k: usize| tokens.get(k).and_then(|t| text.get(t.span().range())).unwrap_or("");
        if !(0..tokens.len()).any(|k| word(k) == "template") {
            return out;
        }
        let scan = Scan { text, tokens };
        let all = scan.templates();
        let mut twice: FxHashSet<Arc<str>> = FxHashSet::default();
        for t in &all {
            let (Some(name), true) = (&t.name, t.has_body) else { continue };
            match &t.parameters {
                // specialised, or with parameters that are not followed
                None => {
                    twice.insert(name.clone());
                }
                Some(parameters) => {
                    let head = Head { parameters: parameters.clone(), at: t.from };
                    if out.heads.insert(name.clone(), head).is_some() {
                        twice.insert(name.clone());
                    }
                }
            }
        }
        out.heads.retain(|name, _| !twice.contains(name));
        if out.heads.is_empty() && !all.iter().any(|t| scan.lends(t)) {
            return out;
        }
        out.constants = scan.constants(&all, defines);
        let types = Arc::new(scan.types(&all));
        out.types = types.clone();
        let overloaded = scan.overloaded(&all, &out.heads, dialect);
        let (scopes, places) = scan.scopes();
        let deduction = Deduction {
            scan: &scan,
            all: &all,
            dialect: out.dialect,
            types: &types,
            overloaded,
            scopes,
            places,
        };
        let (mut uses, deduced) = scan.uses(&out.heads, &deduction);
        out.deduced = deduced;
        let mut waiting: Vec<(usize, Bindings, bool)> = uses
            .iter()
            .enumerate()
            .filter(|(_, u)| u.inside.is_none())
            .map(|(k, _)| (k, Vec::new(), false))
            .collect();
        waiting.reverse();
        out.expand(waiting, &uses, &all);
        // functions of the host that nobody instantiates by name launch all the same
        for (k, t) in all.iter().enumerate() {
            let known = out.instances.contains_key(&t.from);
            let Some(parameters) = t.parameters.as_ref().filter(|_| !known && scan.lends(t)) else {
                continue;
            };
            let env: Bindings = parameters
                .iter()
                .filter(|p| p.value.is_none())
                .map(|p| (p.name.clone(), assumed()))
                .collect();
            out.lent.insert(t.from, env.iter().map(|(n, _)| (n.clone(), ASSUMED.to_owned())).collect());
            let inner = uses.iter().enumerate().filter(|(_, u)| u.inside == Some(k));
            let waiting = inner.map(|(j, _)| (j, env.clone(), true)).collect();
            out.expand(waiting, &uses, &all);
        }
        // kernels that nobody launches here
        for t in all.iter().filter(|t| scan.is_kernel(t)) {
            let here = |n: &Arc<str>| out.heads.get(n).is_some_and(|h| h.at == t.from);
            let known = out.instances.contains_key(&t.from);
            let Some(name) = t.name.clone().filter(|n| !known && here(n)) else { continue };
            if let Some(arguments) = deduction.nobody(t) {
                uses.push(Use { name, arguments, inside: None, guessed: true });
                out.expand(vec![(uses.len() - 1, Vec::new(), true)], &uses, &all);
            }
        }
        out.helpers(&scan, &all);
        out
    }

    /// Whether a function template has this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.heads.contains_key(name)
    }

    /// The instances whose types the text does not say.
    pub(crate) fn guessed(&self) -> Vec<Arc<str>> {
        self.names.difference(&self.sure).cloned().collect()
    }

    /// An item's pieces with the arguments that its text leaves out.
    pub(crate) fn spelled(&self, pieces: Vec<Piece>, tokens: &[Token]) -> Vec<Piece> {
        if self.deduced.is_empty() {
            return pieces;
        }
        let mut out = Vec::with_capacity(pieces.len());
        for p in pieces {
            let Piece::Tokens(r) = p else {
                out.push(p);
                continue;
            };
            let mut from = r.start;
            let first = self.deduced.partition_point(|d| d.before < r.start);
            for d in self.deduced[first..].iter().take_while(|d| d.before < r.end) {
                let span = tokens.get(d.before).map(|t| t.span()).unwrap_or_default();
                out.push(Piece::Tokens(from..d.before));
                out.push(Piece::Spliced(d.tokens(span).into()));
                from = d.before;
            }
            out.push(Piece::Tokens(from..r.end));
        }
        out
    }

    /// Instances of what these uses name, and of what is named in them; with each what its template's parameters stand for, and whether
    /// that is only taken for granted.
    fn expand(&mut self, mut waiting: Vec<(usize, Bindings, bool)>, uses: &[Use], all: &[scan::Template]) {
        let out = self;
        while let Some((k, env, granted)) = waiting.pop() {
            let u = &uses[k];
            let Some(head) = out.heads.get(&u.name) else { continue };
            let Some((name, bound)) = out.bind(head, &u.name, &u.arguments, &env) else { continue };
            let at = head.at;
            let guessed = u.guessed || granted;
            if !guessed {
                out.sure.insert(name.clone());
            }
            let list = out.instances.entry(at).or_default();
            if out.names.contains(&name) || list.len() >= MAX_EACH || out.names.len() >= MAX_ALL {
                continue;
            }
            let head = &out.heads[&u.name];
            let texts = head.parameters.iter().zip(&bound).map(|(p, b)| (p.name.clone(), p.text(b)));
            list.push(Instance { name: name.clone(), bound: texts.collect() });
            out.names.insert(name);
            let env: Bindings = head.parameters.iter().map(|p| p.name.clone()).zip(bound).collect();
            let inner = uses.iter().enumerate().rev();
            for (j, _) in inner.filter(|(_, v)| v.inside.is_some_and(|i| all[i].from == at)) {
                waiting.push((j, env.clone(), guessed));
            }
        }
    }

    /// What the parameters of a template of the host stand for where it is read for its launches.
    pub(super) fn lent(&self, at: usize) -> Vec<Vec<(Arc<str>, String)>> {
        match self.instances.get(&at) {
            Some(list) => list.iter().map(|i| i.bound.clone()).collect(),
            None => self.lent.get(&at).cloned().into_iter().collect(),
        }
    }

    /// Functions of one `return` that are called without arguments for their templates (`ceil_div(n, 32)`) are read for `int`: of
    /// calls nothing is said by that, but what they come to can be computed.
    fn helpers(&mut self, scan: &Scan<'_>, all: &[scan::Template]) {
        for t in all {
            let head = t.name.as_ref().and_then(|n| Some((n.clone(), self.heads.get(n)?)));
            let Some((name, head)) = head else { continue };
            let types = head.parameters.iter().all(|p| p.value.is_none());
            if head.at != t.from || self.instances.contains_key(&t.from) || !types || !scan.is_helper(t) {
                continue;
            }
            let bound: Vec<(Arc<str>, String)> =
                head.parameters.iter().map(|p| (p.name.clone(), "int".to_owned())).collect();
            let words = vec!["int"; bound.len()];
            let instance = Instance { name: format!("{name}<{}>", words.join(", ")).into(), bound };
            self.names.insert(instance.name.clone());
            self.instances.insert(t.from, vec![instance]);
        }
    }

    /// The instance that arguments name, and what its parameters are.
    fn bind(
        &self,
        head: &Head,
        name: &str,
        arguments: &[Vec<Arc<str>>],
        env: &[(Arc<str>, Bound)],
    ) -> Option<(Arc<str>, Vec<Bound>)> {
        if arguments.len() > head.parameters.len() {
            return None;
        }
        let mut bound: Vec<Bound> = Vec::new();
        for (k, p) in head.parameters.iter().enumerate() {
            let b = match arguments.get(k) {
                Some(words) => self.argument(p, words, env)?,
                None => {
                    // a default may name the parameters before it
                    let before: Bindings =
                        head.parameters.iter().map(|p| p.name.clone()).zip(bound.iter().cloned()).collect();
                    self.argument(p, p.default.as_ref()?, &before)?
                }
            };
            bound.push(b);
        }
        let words: Vec<String> = head.parameters.iter().zip(&bound).map(|(p, b)| p.shown(b)).collect();
        Some((format!("{name}<{}>", words.join(", ")).into(), bound))
    }

    fn argument(&self, p: &Parameter, words: &[Arc<str>], env: &[(Arc<str>, Bound)]) -> Option<Bound> {
        if let [one] = words {
            if let Some((_, b)) = env.iter().find(|(n, _)| n == one) {
                let fits = matches!(b, Bound::Value(_)) == p.value.is_some();
                return fits.then(|| b.clone());
            }
        }
        match &p.value {
            Some(ty) => {
                let mut e = Evaluate { words, at: 0, env, constants: &self.constants, depth: 0 };
                let v = e.sum()?;
                (e.at == words.len() && holds(ty, v)).then_some(Bound::Value(v))
            }
            None => {
                let own = matches!(words, [one] if *one == p.name).then(|| p.name.to_string());
                own.or_else(|| self.types.written(words, self.dialect)).map(Bound::Type)
            }
        }
    }

    /// `name < … >` of instances, in tokens whose macros are replaced, as one word each.
    pub(crate) fn named(&self, tokens: Vec<PToken>, source: &str) -> Vec<PToken> {
        let word = |k: usize| tokens.get(k).map_or("", |t: &PToken| t.text(source));
        if self.names.is_empty() || !(0..tokens.len()).any(|k| self.heads.contains_key(word(k))) {
            return tokens;
        }
        let mut out: Vec<PToken> = Vec::with_capacity(tokens.len());
        let mut k = 0;
        while k < tokens.len() {
            let found = self.heads.get(word(k)).filter(|_| word(k + 1) == "<").and_then(|head| {
                let (arguments, end) = arguments(k + 1, tokens.len(), &word)?;
                let (name, _) = self.bind(head, word(k), &arguments, &[])?;
                self.names.contains(&name).then_some((name, end))
            });
            let Some((name, end)) = found else {
                out.push(tokens[k].clone());
                k += 1;
                continue;
            };
            let mut token = tokens[k].instead(Kind::Ident, name);
            token.span = tokens[k..end].iter().fold(token.span, |s, t| s.cover(t.span));
            token.expansion = tokens[k..end].iter().map(|t| t.expansion).max().unwrap_or(0);
            out.push(token);
            k = end;
        }
        out
    }
}

impl Parameter {
    /// What stands for the parameter in the instance's text.
    fn text(&self, b: &Bound) -> String {
        match (b, &self.value) {
            (Bound::Type(t), _) => t.clone(),
            (Bound::Value(v), Some(ty)) => {
                let words: Vec<&str> = ty.iter().map(|w| &**w).collect();
                let number = match words.as_slice() {
                    ["unsigned"] | ["unsigned", "int"] => format!("{v}u"),
                    ["long"] | ["long", "int"] => format!("{v}l"),
                    ["unsigned", "long"] | ["size_t"] => format!("{v}ul"),
                    ["long", "long"] => format!("{v}ll"),
                    ["unsigned", "long", "long"] => format!("{v}ull"),
                    _ => v.to_string(),
                };
                if *v < 0 {
                    format!("({number})")
                } else {
                    number
                }
            }
            (Bound::Value(v), None) => v.to_string(),
        }
    }

    /// As the instance's name has it.
    fn shown(&self, b: &Bound) -> String {
        match b {
            Bound::Type(t) => t.clone(),
            Bound::Value(v) if self.value.as_ref().is_some_and(|t| t.len() == 1 && &*t[0] == "bool") => {
                (*v != 0).to_string()
            }
            Bound::Value(v) => v.to_string(),
        }
    }
}

/// Whether a value of a parameter's type is this number.
fn holds(ty: &[Arc<str>], v: i128) -> bool {
    let words: Vec<&str> = ty.iter().map(|w| &**w).collect();
    let (low, high) = match words.as_slice() {
        ["bool"] => (0, 1),
        ["int"] | ["signed"] | ["signed", "int"] => (i32::MIN as i128, i32::MAX as i128),
        ["unsigned"] | ["unsigned", "int"] => (0, u32::MAX as i128),
        ["short"] => (i16::MIN as i128, i16::MAX as i128),
        ["unsigned", "short"] => (0, u16::MAX as i128),
        ["size_t"] | ["unsigned", "long"] | ["unsigned", "long", "long"] => (0, i64::MAX as i128),
        ["long"] | ["long", "int"] | ["long", "long"] => (i64::MIN as i128 + 1, i64::MAX as i128),
        _ => return false,
    };
    (low..=high).contains(&v)
}

impl Walk<'_, '_> {
    /// The instances of the template at `k`, an item each; the index after it. `None`: nothing is known of it.
    pub(crate) fn instances(&mut self, k: usize, end: usize) -> Option<usize> {
        if self.s.nested > 0 {
            return None;
        }
        if self.header.is_some() {
            return self.helper_of_header(k, end);
        }
        let templates = self.s.env.templates.clone();
        let list = templates.instances.get(&k).filter(|l| !l.is_empty())?;
        let from = self.after_angles(k + 1, end);
        if self.foreign(from, end).is_some() {
            return None;
        }
        let to = self.extent(k, end);
        // functions of the host only lend their launches, and short ones what they come to
        let device = |j: usize| matches!(self.token(j), "__global__" | "__device__");
        let on_device = (from..to).take_while(|&j| self.token(j) != "{").any(device);
        if !on_device && !self.is_one_return(from, to) {
            return None;
        }
        // macros that change inside would do so once for each
        let changes = |j: usize| {
            self.tokens.get(j).is_some_and(|t| t.kind == Kind::Directive)
                && matches!(self.line(j), pp::Line::Define(..) | pp::Line::Undef(_) | pp::Line::Include(_))
        };
        if (k..to).any(changes) {
            return None;
        }
        let mut next = None;
        for instance in list {
            let mut f = self.item(from, end);
            f.start = self.tokens.get(k)?.start as usize;
            if f.body.is_none() || f.broken.is_some() || !self.give_name(&mut f, instance) {
                return next.or(None);
            }
            next = Some(f.next);
            self.take(f);
        }
        // without arguments the name is anything
        let mut f = Found { next: k + 1, ..Found::default() };
        f.start = self.tokens.get(k)?.start as usize;
        f.end = f.start;
        f.broken = Some((RejectKind::Foreign, DEDUCED.into()));
        f.poisons = self.declared(k, end);
        self.poison(f);
        next
    }

    /// A function template of a header with one `return` and types for its parameters, read for `int` as those of documents are
    /// ([`Templates::helpers`]).
    fn helper_of_header(&mut self, k: usize, end: usize) -> Option<usize> {
        if self.header.is_none_or(|h| h.is_system()) {
            return None;
        }
        let from = self.after_angles(k + 1, end);
        let to = self.extent(k, end);
        let names = self.declared(k, end);
        let [name] = &names[..] else { return None };
        let (mut bound, mut at) = (Vec::new(), k + 2);
        while at + 1 < from {
            let is_type = matches!(self.token(at), "class" | "typename");
            if !is_type || !matches!(self.token(at + 2), "," | ">") {
                return None;
            }
            bound.push((Arc::from(self.token(at + 1)), "int".to_owned()));
            at += 3;
        }
        let kernel = (from..to).any(|j| self.token(j) == "__global__");
        if bound.is_empty() || kernel || self.foreign(from, end).is_some() || !self.is_one_return(from, to) {
            return None;
        }
        let words = vec!["int"; bound.len()];
        let instance = Instance { name: format!("{name}<{}>", words.join(", ")).into(), bound };
        let mut f = self.item(from, end);
        f.start = self.tokens.get(k)?.start as usize;
        if f.body.is_none() || f.broken.is_some() || !self.give_name(&mut f, &instance) {
            return None;
        }
        let next = f.next;
        self.take(f);
        let mut f = Found { next, ..Found::default() };
        f.start = self.tokens.get(next - 1)?.end as usize;
        f.end = f.start;
        f.pieces.push(Piece::Tokens(next..next));
        f.broken = Some((RejectKind::Foreign, DEDUCED.into()));
        f.poisons = names;
        self.take(f);
        Some(next)
    }

    /// `{ return …; }`
    fn is_one_return(&self, from: usize, to: usize) -> bool {
        let Some(open) = (from..to).find(|&j| self.token(j) == "{") else { return false };
        self.token(open + 1) == "return" && (open + 1..to).filter(|&j| self.token(j) == ";").count() == 1
    }

    /// Makes an item found in a template's text one of its instances.
    fn give_name(&self, f: &mut Found, instance: &Instance) -> bool {
        let base = instance.name.split('<').next().unwrap_or("");
        let mut pieces: Vec<Piece> = Vec::new();
        for (name, text) in &instance.bound {
            pieces.push(Piece::Set(name.clone(), MacroState::Defined(Arc::new(Macro::object(text)))));
        }
        let mut named = false;
        for p in std::mem::take(&mut f.pieces) {
            let at = match &p {
                Piece::Tokens(r) if !named => {
                    r.clone().find(|&j| self.token(j) == base && self.token(j + 1) == "(")
                }
                _ => None,
            };
            match (p, at) {
                (Piece::Tokens(r), Some(at)) => {
                    named = true;
                    let span = self.tokens.get(at).map(|t| t.span()).unwrap_or_default();
                    let name = Spliced { kind: Kind::Ident, text: instance.name.clone(), spaced: true, span };
                    pieces.push(Piece::Tokens(r.start..at));
                    pieces.push(Piece::Spliced(Arc::new([name])));
                    pieces.push(Piece::Tokens(at + 1..r.end));
                }
                (p, _) => pieces.push(p),
            }
        }
        f.pieces = pieces;
        f.instance = Some(instance.name.clone());
        named
    }
}
