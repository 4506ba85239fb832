//! Functions of the program for the device: what a kernel's body calls, as trees that any function's tree may hold.
//!
//! A function keeps its text's meaning only if C and CUDA take it alike: no variable of the host's memory, no recursion,
//! library functions with arguments of exactly their types (C++ would choose another overload), no word that C++ keeps
//! for itself. Deliberately absent: structures, which would have to be defined in the kernel's file.

use std::sync::Arc;

use term::{intrinsic, FloatKind, IntKind, Intrinsic, Op, Storage, TypeKind, Types};

use super::run::Run;
use super::tree::{Node, Subject, Tree};
use crate::limits::rules_device::MAX_DEPTH;

/// The functions that a tree calls, callees first, or why one of them cannot be had.
pub(super) fn functions(run: &mut Run<'_>, body: &Tree) -> Result<Vec<Tree>, String> {
    let mut out: Vec<(Arc<str>, Tree)> = Vec::new();
    let subject = run.subject;
    for callee in calls(subject, &run.types, body)? {
        add(run, &callee, &mut Vec::new(), &mut out)?;
    }
    for n in body.walk().filter(declares) {
        usable(n.args.first().and_then(|a| subject.word(a)).unwrap_or(""))?;
    }
    Ok(out.into_iter().map(|(_, f)| f).collect())
}

fn add(
    run: &mut Run<'_>,
    name: &Arc<str>,
    open: &mut Vec<Arc<str>>,
    out: &mut Vec<(Arc<str>, Tree)>,
) -> Result<(), String> {
    if out.iter().any(|(n, _)| n == name) {
        return Ok(());
    }
    if open.contains(name) || open.len() > MAX_DEPTH {
        return Err(format!("`{name}` may call itself, and a kernel has no room for that"));
    }
    let ground = run.ground.ok_or("there is no program whose functions could be looked at, only a term")?;
    let Some(body) = ground.program.body(name).cloned() else {
        return Err(format!("the function `{name}` is not defined in the document"));
    };
    if body.rejects().next().is_some() {
        return Err(format!("the function `{name}` is not understood"));
    }
    let callee = Subject::of(&body, "", 0, false, true);
    usable(name)?;
    for n in callee.root.walk() {
        if declares(&n) {
            usable(n.args.first().and_then(|a| callee.word(a)).unwrap_or(""))?;
        }
        let Some(s) = n.as_symbol().and_then(|s| callee.symbol(s)) else { continue };
        let kept = matches!(s.storage, Storage::Global { .. } | Storage::StaticLocal | Storage::Undeclared);
        if kept {
            return Err(format!("`{name}` uses `{}`, which lies in the host's memory", s.name));
        }
        if matches!(callee.types.kind(s.ty), TypeKind::Record(_)) {
            return Err(format!("`{name}` uses the structure `{}`", s.name));
        }
    }
    let long = |n: &Tree| n.ty.is_some_and(|t| callee.types.as_float(t) == Some(FloatKind::Long));
    if let Some(n) = callee.root.walk().find(long) {
        return Err(format!("in `{name}` `{}` is a `long double`, which CUDA has not", callee.print(&n)));
    }
    let inner = calls(&callee, &callee.types, &callee.root)?;
    open.push(name.clone());
    for c in &inner {
        add(run, c, open, out)?;
    }
    open.pop();
    let named = foreign(&mut run.types, &callee, &callee.root);
    let mut args = named.args.to_vec();
    if args.len() != 5 || !named.is("Function") {
        return Err(format!("`{name}` is no function"));
    }
    args[0] = Node::list(vec![Node::name("static"), Node::name("__device__")]);
    out.push((name.clone(), Node::apply("Function", args)));
    Ok(())
}

/// The program's functions that are called, each once. `Err`: a call that the device would not make alike.
fn calls(subject: &Subject, types: &Types, tree: &Tree) -> Result<Vec<Arc<str>>, String> {
    let mut out: Vec<Arc<str>> = Vec::new();
    for n in tree.walk().filter(|n| n.op == Op::Call) {
        let shown = || subject.print(&n);
        let Some(callee) = n.args.first().and_then(|c| c.as_symbol()) else {
            return Err(format!("`{}` calls what is not known", shown()));
        };
        let name = subject.name(callee);
        if !subject.library.contains(&callee) {
            if !out.iter().any(|o| **o == *name) {
                out.push(name.into());
            }
            continue;
        }
        let Some(known) = intrinsic(name) else {
            return Err(format!("kernels cannot call `{name}`"));
        };
        let float = |t: &Tree, k: FloatKind| t.ty.and_then(|t| types.as_float(t)) == Some(k);
        let int = |t: &Tree, k: IntKind| t.ty.and_then(|t| types.as_int(t)) == Some(k);
        let given = &n.args[1..];
        let alike = match known {
            Intrinsic::Float { kind, .. } => given.iter().all(|a| float(a, kind)),
            Intrinsic::Int { kind, .. } => given.iter().all(|a| int(a, kind)),
            _ => false,
        };
        if !alike {
            return Err(format!(
                "`{}` has arguments of other types than `{name}`, and CUDA would call another function",
                shown()
            ));
        }
    }
    Ok(out)
}

/// A tree of another subject, with words for its symbols.
fn foreign(types: &mut Types, of: &Subject, n: &Tree) -> Tree {
    let ty = n.ty.and_then(|t| match of.types.kind(t) {
        TypeKind::Int(k) => Some(types.int(*k)),
        TypeKind::Float(k) => Some(types.float(*k)),
        _ => None,
    });
    let constant = n.as_symbol().and_then(|s| match of.symbol(s)?.storage {
        Storage::Constant(v) => Some(v),
        _ => None,
    });
    let op = match (&n.op, constant) {
        (_, Some(v)) => Op::Int(v),
        (Op::Sym(s), None) => Op::Name(of.name(*s).into()),
        (op, None) => op.clone(),
    };
    let args = n.args.iter().map(|a| foreign(types, of, a)).collect();
    Node::new(op, args, ty, None)
}

fn declares(n: &Tree) -> bool {
    n.is("Declaration") || n.is("DeclarationAssignment") || n.is("ArrayDeclaration")
}

/// Whether a word may name something in CUDA text.
pub(super) fn usable(name: &str) -> Result<(), String> {
    let reserved = gpu::is_reserved(name) || name.starts_with("cuda");
    match reserved {
        true => Err(format!("`{name}` means something else in CUDA. Rename it")),
        false => Ok(()),
    }
}
