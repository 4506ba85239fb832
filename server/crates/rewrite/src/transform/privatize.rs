//! Scalar privatisation: a scalar that every iteration writes before it reads is declared in the loop.
//!
//! Legal where nothing flows into an iteration through it and nobody reads it after the loop (Allen & Kennedy 6.1.1).
//! The verdict does not need it; the reader does, and so do other tools.

use term::{SymbolId, TypeKind};
use text::Edit;

use super::refusal::{shape, Refusal};
use super::site::Site;
use super::text::indentation;
use super::{Plan, Transformation, With};

pub(super) struct Privatize;

impl Transformation for Privatize {
    named!("privatize");
    fn about(&self) -> &'static str {
        "declare a scalar inside the loop, one for each iteration"
    }
    fn with(&self) -> &'static str {
        "variable=NAME"
    }
    fn enables(&self) -> bool {
        false
    }
    fn plan<'s>(&self, site: &'s Site<'_>, with: &With) -> Result<Plan<'s>, Refusal> {
        let id = site.target;
        let body = site.body();
        let wanted = with.get("variable");
        let header = site.header(id)?;
        let block = site.block(id)?;
        let plain = |s: SymbolId| {
            let symbol = &body.symbols[s];
            let quals = body.types.quals(symbol.ty);
            matches!(body.types.kind(symbol.ty), TypeKind::Int(_) | TypeKind::Float(_))
                && !quals.is_volatile
                && !quals.is_atomic
                && symbol.is_own_scalar()
                && !site.live_after(id, s)
        };
        let inside = |s: SymbolId| {
            body.walk(site.inside(id)).any(|t| matches!(body.op(t), term::Op::Declare(d) if *d == s))
        };
        let all: Vec<SymbolId> = site
            .own_scalars(id)
            .into_iter()
            .filter(|&s| !inside(s) && plain(s) && wanted.is_none_or(|w| w == site.name(Some(s))))
            .collect();
        let Some(&s) = all.first() else {
            return shape("no scalar declared outside is private to its iterations");
        };
        // its header is evaluated between iterations, with the outer variable
        let uses = |t| body.walk(t).any(|x| body.as_symbol(x) == Some(s));
        if body.args(site.term(id)).iter().take(3).any(|&t| uses(t)) {
            return shape(format!("its header uses `{}`", site.name(Some(s))));
        }
        let name = site.name(Some(s));
        Plan::new(format!("Declare {name} inside the loop"), move || {
            let kind = match body.types.kind(body.symbols[s].ty) {
                TypeKind::Int(k) => k.c_name(),
                TypeKind::Float(term::FloatKind::F32) => "float",
                TypeKind::Float(term::FloatKind::F64) => "double",
                _ => "long double",
            };
            let declaration = format!("{kind} {name};");
            let text = site.source.text;
            let first = block.statements.first().map(|s| s.chunk.whole.start);
            match first {
                Some(at) if block.braces => {
                    let own_line =
                        site.slice(base::Span { start: block.inside.start, end: at }).contains('\n');
                    let eol = if text.contains("\r\n") { "\r\n" } else { "\n" };
                    let between = match own_line {
                        true => format!("{eol}{}", indentation(text, at as usize)),
                        false => " ".to_owned(),
                    };
                    Ok(vec![Edit::insert(at, format!("{declaration}{between}"))])
                }
                _ => {
                    let head = site.slice(header.whole).to_owned();
                    site.replace(id, 1, |lines| {
                        lines.open(&head);
                        lines.line(&declaration);
                        for st in &block.statements {
                            site.copy(lines, st, term::TermId(0), &Default::default())?;
                        }
                        lines.close();
                        Ok(())
                    })
                }
            }
        })
    }
}
