//! What a rule may do besides replacing a term, and the names by which pages ask for it.
//!
//! A closed set, run after the conditions hold and before the destination is filled in, so that it may use what an
//! action bound. Deliberately absent: anything that touches a file; emitted files are values.

use std::sync::Arc;

use term::Op;

use super::guard::{needs_of, Guard};
use super::pattern::{Literal, Pattern};

/// A procedure between brackets behind a rule.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Action {
    /// Binds the second to the list of what the first uses and does not declare, those behind left out: arrays, then
    /// scalars, each as a declaration.
    GetExtraParams { body: Pattern, params: Arc<str>, indices: Vec<Pattern> },
    /// Emits the file `name.cu` with `_CudaKernel1D(name,params,body,index)` (2D, 3D: with as many indices), rewritten by
    /// the system `cuda-kernel`.
    GenerateKernel { dimensions: u8, name: Pattern, params: Pattern, body: Pattern, indices: Vec<Pattern> },
    /// Binds the last to the first with the variable named by the second called as the third says.
    Rename { of: Pattern, old: Pattern, new: Pattern, result: Arc<str> },
    /// Binds the last to the first with every part that matches written otherwise. All that match are read, and the
    /// guards hold of each.
    ReplaceReads { of: Pattern, source: Pattern, destination: Pattern, result: Arc<str>, guards: Vec<Guard> },
    /// Declares a variable at the beginning of the function.
    Declare { name: Pattern, ty: Pattern },
    /// Adds a parameter to the function, behind the others.
    AddParameter { name: Pattern, ty: Pattern },
    /// Binds the last to the parameters in which what the pointer named by the second points to is `const`, and the pointer
    /// `__restrict__`.
    Qualify { params: Pattern, name: Pattern, result: Arc<str> },
    /// Binds the last to the first with the expression that is the second replaced by the third wherever it stands.
    Replace { of: Pattern, old: Pattern, new: Pattern, result: Arc<str> },
    /// Emits a file with this content.
    EmitFile { name: Pattern, content: Pattern },
    /// Has the document include a header.
    Include { header: Pattern },
    /// Has the document declare a function that another file defines.
    Prototype { name: Pattern, ty: Pattern, params: Pattern },
}

/// Name, use, meaning.
pub const ACTIONS: [(&str, &str, &str); 13] = [
    (
        "AddParameter",
        "AddParameter($x,int)",
        "adds a parameter to the function, behind the others; all its calls must be rewritten with it",
    ),
    ("Declare", "Declare($x,int)", "declares a variable at the beginning of the function"),
    ("EmitFile", "EmitFile($name,$content)", "makes a file of the term"),
    (
        "GenerateKernel1D",
        "GenerateKernel1D($name,$params,$body,$i)",
        "makes the file `$name.cu` with the kernel, by the system `cuda-kernel`",
    ),
    ("GenerateKernel2D", "GenerateKernel2D($name,$params,$body,$i,$j)", "the same with two indices"),
    ("GenerateKernel3D", "GenerateKernel3D($name,$params,$body,$i,$j,$k)", "the same with three indices"),
    (
        "GetExtraParams",
        "GetExtraParams($body,$params,$i)",
        "binds `$params` to what `$body` uses and does not declare, without `$i` (and further indices)",
    ),
    (
        "Include",
        "Include(`stdlib.h`)",
        "has the document include the header; one between quotation marks is your own: `Include(\"check.h\")`",
    ),
    (
        "Prototype",
        "Prototype($name,int,$params)",
        "has the document declare the function, which an emitted file defines",
    ),
    (
        "Qualify",
        "Qualify($params,$p,$result)",
        "binds `$result` to the parameters `$params` with the pointer `$p` as `const … *__restrict__`",
    ),
    ("Rename", "Rename($body,$x,$y,$result)", "binds `$result` to `$body` with `$x` called `$y`"),
    (
        "Replace",
        "Replace($e,$x,$y,$result)",
        "binds `$result` to `$e` with `$y` wherever the expression `$x` stands in it",
    ),
    (
        "ReplaceReads",
        "ReplaceReads($body,source,destination,$result,guard…)",
        "binds `$result` to `$body` with the destination for all that matches, if each is only read and the guards hold",
    ),
];

impl Action {
    /// The action a term is. `Err`: what is wrong and what to write instead.
    pub(super) fn of(p: &Pattern) -> Result<Action, String> {
        let Pattern::Term(Op::Apply(name), args) = p else {
            return Err(match super::guard::Guard::of(p) {
                Ok(_) => format!(
                    "`{}` is a condition: conditions stand before the arrow, `source [condition] -> destination`",
                    p.text()
                ),
                Err(_) => format!("`{}` is no action. There are: {}", p.text(), ACTIONS.map(|a| a.1).join(", ")),
            });
        };
        let Some((_, usage, _)) = ACTIONS.iter().find(|a| a.0 == &**name) else {
            if super::guard::GUARDS.iter().any(|g| g.0 == &**name) {
                return Err(format!(
                    "`{name}` is a condition: conditions stand before the arrow, `source [condition] -> destination`"
                ));
            }
            return Err(match super::near::nearest(name, ACTIONS.iter().map(|a| a.0)) {
                Some(n) => format!("there is no action `{name}`. Is `{n}` meant?"),
                None => {
                    format!("there is no action `{name}`. There are: {}", ACTIONS.map(|a| a.0).join(", "))
                }
            });
        };
        let takes = || format!("`{name}` is used as `{usage}`");
        let variable = |p: &Pattern| match p {
            Pattern::Variable { name, .. } => Ok(name.clone()),
            _ => Err(takes()),
        };
        match (&**name, args.as_slice()) {
            ("GetExtraParams", [body, params, indices @ ..]) if !indices.is_empty() => {
                Ok(Action::GetExtraParams {
                    body: body.clone(),
                    params: variable(params)?,
                    indices: indices.to_vec(),
                })
            }
            (
                "GenerateKernel1D" | "GenerateKernel2D" | "GenerateKernel3D",
                [name, params, body, indices @ ..],
            ) => {
                let dimensions = usage.as_bytes().get("GenerateKernel".len()).map_or(1, |d| d - b'0');
                if indices.len() != usize::from(dimensions) {
                    return Err(takes());
                }
                Ok(Action::GenerateKernel {
                    dimensions,
                    name: name.clone(),
                    params: params.clone(),
                    body: body.clone(),
                    indices: indices.to_vec(),
                })
            }
            ("Rename", [of, old, new, result]) => Ok(Action::Rename {
                of: of.clone(),
                old: old.clone(),
                new: new.clone(),
                result: variable(result)?,
            }),
            ("Replace", [of, old, new, result]) => Ok(Action::Replace {
                of: of.clone(),
                old: old.clone(),
                new: new.clone(),
                result: variable(result)?,
            }),
            ("ReplaceReads", [of, source, destination, result, guards @ ..]) => Ok(Action::ReplaceReads {
                of: of.clone(),
                source: source.clone(),
                destination: destination.clone(),
                result: variable(result)?,
                guards: guards.iter().map(Guard::of).collect::<Result<_, _>>()?,
            }),
            ("Declare", [name, ty @ (Pattern::Literal(Literal::Word(_)) | Pattern::Variable { .. })]) => {
                Ok(Action::Declare { name: name.clone(), ty: ty.clone() })
            }
            (
                "AddParameter",
                [name, ty @ (Pattern::Literal(Literal::Word(_)) | Pattern::Variable { .. })],
            ) => Ok(Action::AddParameter { name: name.clone(), ty: ty.clone() }),
            ("Qualify", [params, name, result]) => {
                Ok(Action::Qualify { params: params.clone(), name: name.clone(), result: variable(result)? })
            }
            ("EmitFile", [name, content]) => {
                Ok(Action::EmitFile { name: name.clone(), content: content.clone() })
            }
            ("Include", [header]) => Ok(Action::Include { header: header.clone() }),
            ("Prototype", [name, ty, params]) => {
                Ok(Action::Prototype { name: name.clone(), ty: ty.clone(), params: params.clone() })
            }
            _ => Err(takes()),
        }
    }

    /// The variables it needs bound.
    pub fn needs<'a>(&'a self, out: &mut Vec<&'a Arc<str>>) {
        match self {
            Action::GetExtraParams { body, indices, .. } => {
                [body].into_iter().chain(indices).for_each(|p| p.variables(out));
            }
            Action::GenerateKernel { name, params, body, indices, .. } => {
                [name, params, body].into_iter().chain(indices).for_each(|p| p.variables(out));
            }
            Action::Rename { of, old, new, .. } | Action::Replace { of, old, new, .. } => {
                [of, old, new].into_iter().for_each(|p| p.variables(out));
            }
            Action::Qualify { params, name, .. } => {
                params.variables(out);
                name.variables(out);
            }
            Action::ReplaceReads { of, source, destination, guards, .. } => {
                of.variables(out);
                let mut bound = Vec::new();
                source.variables(&mut bound);
                needs_of(guards, bound.clone(), out);
                guards.iter().for_each(|g| g.binds(&mut bound));
                let mut needs = Vec::new();
                destination.variables(&mut needs);
                out.extend(needs.into_iter().filter(|n| !bound.contains(n)));
            }
            Action::Declare { name, ty } | Action::AddParameter { name, ty } => {
                name.variables(out);
                ty.variables(out);
            }
            Action::EmitFile { name, content } => {
                name.variables(out);
                content.variables(out);
            }
            Action::Include { header } => header.variables(out),
            Action::Prototype { name, ty, params } => {
                [name, ty, params].into_iter().for_each(|p| p.variables(out));
            }
        }
    }
    /// The variable it binds.
    pub fn binds(&self) -> Option<&Arc<str>> {
        match self {
            Action::GetExtraParams { params, .. } => Some(params),
            Action::Rename { result, .. }
            | Action::Qualify { result, .. }
            | Action::Replace { result, .. }
            | Action::ReplaceReads { result, .. } => Some(result),
            _ => None,
        }
    }
}
