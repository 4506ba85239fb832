//! Actions done: see [`super::action::Action`] for what each is.

use std::sync::Arc;

use term::{Op, Quals, Storage, SymbolId, Type, TypeKind};

use super::action::Action;
use super::guard::Guard;
use super::matching::{build, fill, matches, Bindings};
use super::pattern::Pattern;
use super::run::{Before, Emitted, Run};
use super::tree::{Node, Tree};

/// The system that kernels are made by.
pub const KERNEL_SYSTEM: &str = "cuda-kernel";

/// Does it. `Err`: why not, words that continue "because".
pub(super) fn act(run: &mut Run<'_>, action: &Action, b: &mut Bindings) -> Result<(), String> {
    match action {
        Action::GetExtraParams { body, params, indices } => {
            let body = filled(run, body, b)?;
            let indices: Result<Vec<Tree>, String> = indices.iter().map(|i| filled(run, i, b)).collect();
            let list = extra_params(run, &body, &indices?)?;
            b.bind(params, list);
        }
        Action::GenerateKernel { dimensions, name, params, body, indices } => {
            let name = filled(run, name, b)?;
            let Some(word) = run.subject.word(&name).map(str::to_owned) else {
                return Err(format!("`{}` is no name for a kernel", run.subject.print(&name)));
            };
            let mut args = vec![name, filled(run, params, b)?, filled(run, body, b)?];
            for i in indices {
                args.push(filled(run, i, b)?);
            }
            let Some(system) = run.named(KERNEL_SYSTEM) else {
                return Err(format!("there is no system `{KERNEL_SYSTEM}` that makes kernels"));
            };
            let start = Node::apply(&format!("_CudaKernel{dimensions}D"), args);
            if run.ground.is_some_and(|g| g.program.body(&word).is_some()) {
                return Err(format!(
                    "the kernel would be called `{word}`, as a function of the program is. Give the loop's mark \
                     another name"
                ));
            }
            let (content, _) = run.system(&system, start);
            emit(run, format!("{word}.cu").into(), content)?;
        }
        Action::Rename { of, old, new, result } => {
            let (of, old, new) = (filled(run, of, b)?, filled(run, old, b)?, filled(run, new, b)?);
            if run.subject.word(&old).is_none() || run.subject.word(&new).is_none() {
                return Err("only a name can be renamed, and only to a name".to_owned());
            }
            let renamed = renamed(run, &of, &old, &new);
            b.bind(result, renamed);
        }
        Action::ReplaceReads { of, source, destination, result, guards } => {
            let of = filled(run, of, b)?;
            let each = Each { source, destination, guards, b: &b.clone() };
            let new = each.replaced(run, &of, false)?;
            if Arc::ptr_eq(&new, &of) {
                return Err(format!("nothing there is `{}`", source.text()));
            }
            b.bind(result, new);
        }
        Action::Declare { name, ty } => {
            let (name, ty) = (filled(run, name, b)?, filled(run, ty, b)?);
            run.declared.push(Node::apply("Declaration", vec![name, ty]));
        }
        Action::AddParameter { name, ty } => {
            let (name, ty) = (filled(run, name, b)?, filled(run, ty, b)?);
            run.parameters.push(Node::apply("Declaration", vec![name, ty]));
        }
        Action::Qualify { params, name, result } => {
            let (params, name) = (filled(run, params, b)?, filled(run, name, b)?);
            let list = qualified(run, &params, &name)?;
            b.bind(result, list);
        }
        Action::Replace { of, old, new, result } => {
            let (of, old, new) = (filled(run, of, b)?, filled(run, old, b)?, filled(run, new, b)?);
            let replaced = replaced(run, &of, &old, &new);
            b.bind(result, replaced);
        }
        Action::EmitFile { name, content } => {
            let (name, content) = (filled(run, name, b)?, filled(run, content, b)?);
            let name: Arc<str> = match (&name.op, run.subject.word(&name)) {
                (Op::Str(s), _) => s.clone(),
                (_, Some(w)) => w.into(),
                _ => return Err("a file's name is a word or a text".to_owned()),
            };
            if name.is_empty() || name.contains(['/', '\\']) || name.starts_with('.') {
                return Err(format!("`{name}` is not the name of a file beside the document"));
            }
            emit(run, name, content)?;
        }
        Action::Include { header } => {
            let header = filled(run, header, b)?;
            let word = match (&header.op, run.subject.word(&header)) {
                (Op::Str(s), _) => s.to_string(),
                (_, Some(w)) => w.to_owned(),
                _ => String::new(),
            };
            if word.is_empty() || word.contains(|c: char| !(c.is_alphanumeric() || "_-./".contains(c))) {
                return Err(format!("`{word}` is no header"));
            }
            // words are a header of the user's own
            let spelled = match &header.op {
                Op::Str(_) => format!("\"{word}\""),
                _ => format!("<{word}>"),
            };
            say_before(run, Before::Include(spelled.into()));
        }
        Action::Prototype { name, ty, params } => {
            let (name, ty, params) = (filled(run, name, b)?, filled(run, ty, b)?, filled(run, params, b)?);
            let params = run.joined(&params);
            let parts = vec![Node::list(Vec::new()), ty, name, params, Node::list(Vec::new())];
            say_before(run, Before::Prototype(Node::apply("Function", parts)));
        }
    }
    Ok(())
}

/// One file a name: rules that are tried again make it again, two places must not make two of one name.
fn emit(run: &mut Run<'_>, name: Arc<str>, content: Tree) -> Result<(), String> {
    let content = run.joined(&content);
    match run.emitted.iter().find(|e| e.name == name) {
        Some(e) if run.subject.same(&e.content, &content) => {}
        Some(_) => {
            return Err(format!(
                "another place makes the same file `{name}`. Give the marks of the loops different names"
            ))
        }
        None => run.emitted.push(Emitted { name, content }),
    }
    Ok(())
}

fn say_before(run: &mut Run<'_>, said: Before) {
    let known = |b: &Before| match (b, &said) {
        (Before::Include(a), Before::Include(b)) => a == b,
        (Before::Prototype(a), Before::Prototype(b)) => run.subject.same(a, b),
        _ => false,
    };
    if !run.before.iter().any(known) {
        run.before.push(said);
    }
}

fn filled(run: &mut Run<'_>, p: &Pattern, b: &Bindings) -> Result<Tree, String> {
    fill(&mut run.types, p, b).map_err(|v| format!("`${v}` is not bound"))
}

/// One form for all that match another.
struct Each<'a> {
    source: &'a Pattern,
    destination: &'a Pattern,
    guards: &'a [Guard],
    b: &'a Bindings,
}

impl Each<'_> {
    /// `written`: the place is stored to, or its address is taken.
    fn replaced(&self, run: &mut Run<'_>, n: &Tree, written: bool) -> Result<Tree, String> {
        let mut b = self.b.clone();
        if matches(run.subject, &run.types, self.source, n, &mut b) {
            if written {
                return Err(format!("`{}` is written", run.subject.print(n)));
            }
            for g in self.guards {
                run.prove(g, n, &mut b)?;
            }
            return fill(&mut run.types, self.destination, &b).map_err(|v| format!("`${v}` is not bound"));
        }
        let mut args = Vec::with_capacity(n.args.len());
        for (k, a) in n.args.iter().enumerate() {
            // a field's name and a type are no values
            let is_word = match &n.op {
                Op::Apply(h) => matches!((&**h, k), ("Dot" | "Arrow", 1) | ("Cast" | "SizeOfType", 0)),
                _ => false,
            };
            let written = k == 0 && (n.op.is_write() || n.op == Op::AddrOf);
            args.push(if is_word { a.clone() } else { self.replaced(run, a, written)? });
        }
        match args.iter().zip(n.args.iter()).all(|(a, b)| Arc::ptr_eq(a, b)) {
            true => Ok(n.clone()),
            false => Ok(build(&mut run.types, n.op.clone(), args, Some(n))),
        }
    }
}

fn renamed(run: &Run<'_>, n: &Tree, old: &Tree, new: &Tree) -> Tree {
    if n.args.is_empty() && run.subject.same(n, old) {
        return new.clone();
    }
    let args: Vec<Tree> = n.args.iter().map(|a| renamed(run, a, old, new)).collect();
    match args.iter().zip(n.args.iter()).all(|(a, b)| Arc::ptr_eq(a, b)) {
        true => n.clone(),
        false => n.with_args(args, n.ty),
    }
}

fn replaced(run: &mut Run<'_>, n: &Tree, old: &Tree, new: &Tree) -> Tree {
    if run.subject.same(n, old) {
        return new.clone();
    }
    // a field's name and a type are no values
    let is_word = |k: usize| match &n.op {
        Op::Apply(h) => matches!((&**h, k), ("Dot" | "Arrow", 1) | ("Cast" | "SizeOfType", 0)),
        _ => false,
    };
    let mut args: Vec<Tree> = Vec::with_capacity(n.args.len());
    for (k, a) in n.args.iter().enumerate() {
        args.push(if is_word(k) { a.clone() } else { replaced(run, a, old, new) });
    }
    match args.iter().zip(n.args.iter()).all(|(a, b)| Arc::ptr_eq(a, b)) {
        true => n.clone(),
        false => build(&mut run.types, n.op.clone(), args, Some(n)),
    }
}

/// The parameters with one of them as `const T *__restrict__`.
fn qualified(run: &mut Run<'_>, params: &Tree, name: &Tree) -> Result<Tree, String> {
    let shown = run.subject.print(name);
    let place = params.args.iter().position(|p| p.args.first().is_some_and(|n| run.subject.same(n, name)));
    let place = place.ok_or_else(|| format!("`{shown}` is no parameter"))?;
    let ty = name.ty.or_else(|| name.as_symbol().and_then(|s| run.subject.symbol(s)).map(|k| k.ty));
    let pointer = ty.map(|t| run.types.get(t).clone());
    let Some(Type { kind: TypeKind::Pointer { to, .. }, quals }) = pointer else {
        return Err(format!("`{shown}` is no pointer"));
    };
    let inner = run.types.quals(to);
    if inner.is_const && quals.is_restrict {
        return Err(format!("`{shown}` is `const` and `__restrict__` already"));
    }
    let to = run.types.with_quals(to, Quals { is_const: true, ..inner });
    let plain = run.types.pointer(to);
    let new = run.types.with_quals(plain, Quals { is_restrict: true, ..quals });
    let text = term::notation::type_text(&run.types, new);
    let mut list = params.args.to_vec();
    let word = Node::new(Op::Name(text.into()), Vec::new(), Some(new), None);
    let declared = list[place].args[0].clone();
    list[place] = list[place].with_args(vec![declared, word], None);
    Ok(params.with_args(list, None))
}

/// What a body uses and does not declare (F1.6): arrays first, then the rest, each in the order of first use.
fn extra_params(run: &mut Run<'_>, body: &Tree, indices: &[Tree]) -> Result<Tree, String> {
    let declared: Vec<SymbolId> = body
        .walk()
        .filter(|n| n.is("Declaration") || n.is("DeclarationAssignment") || n.is("ArrayDeclaration"))
        .filter_map(|n| n.args.first()?.as_symbol())
        .collect();
    let mut used: Vec<SymbolId> = Vec::new();
    for n in body.walk() {
        let Some(s) = n.as_symbol().filter(|s| !declared.contains(s) && !used.contains(s)) else { continue };
        if indices.iter().any(|i| i.as_symbol() == Some(s)) {
            continue;
        }
        let Some(known) = run.subject.symbol(s) else { continue };
        match known.storage {
            Storage::Param(_) | Storage::Local | Storage::StaticLocal { .. } | Storage::Global { .. } => {
                used.push(s)
            }
            Storage::Function => {}
            Storage::Undeclared if !matches!(run.types.kind(known.ty), TypeKind::Function { .. }) => {
                return Err(format!("the type of `{}` is not known", known.name));
            }
            _ => {}
        }
    }
    let mut params: Vec<(bool, Tree)> = Vec::new();
    for s in used {
        let Some(known) = run.subject.symbol(s) else { continue };
        let (name, ty) = (known.name.clone(), known.ty);
        let (is_array, ty) = match run.types.kind(ty).clone() {
            TypeKind::Array { of, .. } => (true, run.types.pointer(of)),
            TypeKind::Pointer { .. } => (true, ty),
            _ => (false, ty),
        };
        let text = term::notation::type_text(&run.types, ty);
        // a pointer read from notation is known by its text alone
        let is_array = is_array || text.ends_with('*');
        if text.contains("[]") || text.contains('?') {
            return Err(format!("`{name}` has a type that cannot be a kernel's parameter"));
        }
        let of = Node::new(Op::Name(text.into()), Vec::new(), Some(ty), None);
        let symbol = Node::new(Op::Sym(s), Vec::new(), Some(ty), None);
        params.push((is_array, Node::apply("Declaration", vec![symbol, of])));
    }
    let (arrays, rest): (Vec<_>, Vec<_>) = params.into_iter().partition(|p| p.0);
    Ok(Node::list(arrays.into_iter().chain(rest).map(|p| p.1).collect()))
}
