//! Calls: functions of the program are walked for what they return; others give a value as much alike as what they are given.

use term::device::Word;
use term::{BinOp, IntKind, Op, TermId, TypeKind};

use super::form::Mask;
use super::{Number, Run, Stop, Val, WalkedCall, WarpWalk, Way};
use crate::calls::function::Function;
use crate::kernel::interpret::{walk, Arguments, Called};
use crate::limits::kernel_anyshape::MAX_CALLS;

impl<'a> WarpWalk<'a> {
    /// Walks a function that is called, for what it returns.
    fn enter(&mut self, t: TermId, f: &'a Function, arguments: Arguments<'_, Val>, way: Way) -> Run<Val> {
        let Arguments { terms, values } = arguments;
        let pure = crate::kernel::uniformity::is_pure(&f.body, self.program, 0);
        let of: Vec<&Val> = values.iter().collect();
        let unknown = match pure {
            true => self.made_of(t, &of, way),
            false => self.something(t, false, true),
        };
        let lists = f.body.args(f.body.root).first_chunk::<2>();
        let (Some(&[parameters, statements]), true) = (lists, self.frames.len() <= MAX_CALLS) else {
            return Ok(unknown);
        };
        let given: Vec<(Val, Option<(Number, IntKind)>)> =
            terms.iter().zip(values).map(|(&t, v)| (v.clone(), self.number_of(t, v))).collect();
        let around = (self.body, std::mem::take(&mut self.locals), std::mem::take(&mut self.nest));
        let (depth, gone) = (self.depth, self.gone);
        self.body = &f.body;
        for (&p, (v, number)) in f.body.args(parameters).iter().zip(given) {
            let Op::Declare(s) = *f.body.op(p) else { continue };
            let v = match (f.body.types.kind(f.body.symbols[s].ty), number) {
                (TypeKind::Int(to), Some((n, from))) => Val::Int(self.converted(n, from, *to, way)),
                (TypeKind::Pointer { .. }, _) if matches!(v, Val::Ptr(..)) => v,
                _ => {
                    let shared = self.is_shared(&v, way.may);
                    let data = self.by_data(&v);
                    self.of_type(f.body.symbols[s].ty, shared, data)
                }
            };
            self.locals.insert(s, v);
        }
        self.frames.push(WalkedCall { whole: way.may, ..WalkedCall::default() });
        let walked = walk::statement(self, statements, way);
        let values = self.frames.pop().map(|f| f.values).unwrap_or_default();
        (self.body, self.locals, self.nest) = around;
        (self.depth, self.gone) = (depth, gone);
        match walked {
            Err(Stop::Fuel) => return Err(Stop::Fuel),
            Err(Stop::Structure) => return Ok(unknown),
            Ok(_) => {}
        }
        Ok(match (values.first(), self.kind(t)) {
            (Some((Val::Int(n), Some(from))), Some(to)) if values.len() == 1 => {
                Val::Int(self.converted(n.clone(), *from, to, way))
            }
            (Some((v @ (Val::Ptr(..) | Val::Other(_)), _)), None) if values.len() == 1 => v.clone(),
            _ => unknown,
        })
    }

    pub(super) fn called(
        &mut self,
        t: TermId,
        called: Called<'a>,
        arguments: Arguments<'_, Val>,
        way: Way,
    ) -> Run<Val> {
        let body = self.body;
        let shared = |w: &Self| arguments.values.iter().all(|v| w.is_shared(v, way.may));
        Ok(match called {
            Called::Function(f) => return self.enter(t, f, arguments, way),
            Called::Min | Called::Max => {
                let (&[a, b], [x, y]) = (arguments.terms, &arguments.values[..]) else {
                    return Ok(self.something(t, false, true));
                };
                let op = if matches!(called, Called::Min) { BinOp::Le } else { BinOp::Ge };
                match (self.number_of(a, x.clone()), self.number_of(b, y.clone()), self.kind(t)) {
                    (Some(m), Some(n), Some(_)) => {
                        let c = self.compared(op, m.clone(), n.clone(), way);
                        let picked = self.either(&c, Val::Int(m.0), Val::Int(n.0), way);
                        picked.unwrap_or_else(|| self.made_of(t, &[x, y], way))
                    }
                    _ => self.made_of(t, &[x, y], way),
                }
            }
            Called::Word(Word::ReadOnlyLoad) => {
                let [Val::Ptr(o, at)] = &arguments.values[..] else {
                    return Ok(self.something(t, false, true));
                };
                let to = arguments.terms.first().and_then(|&p| body.types.element(body.ty(p)));
                self.touch(t, to, o.as_ref(), &at.clone(), way);
                let alike = self.unknowns.is_alike(at);
                self.something(t, alike, true)
            }
            Called::Word(Word::Vote(_) | Word::Reduce(_)) if way.must == Mask::MAX => {
                self.something(t, true, true)
            }
            Called::Word(Word::Barrier(..) | Word::Fence(_)) => self.something(t, false, true),
            Called::Word(_) if !crate::kernel::uniformity::is_harmless(body, t) => {
                self.something(t, false, true)
            }
            Called::Word(w) => {
                let of_lanes = w.is_of_threads() || w == Word::ActiveLanes;
                let all = shared(self) && !of_lanes;
                self.something(t, all, true)
            }
            // each thread gets another number, of equal ones, too
            Called::Library("__cub_collective") => self.something(t, false, true),
            Called::Library(name) => {
                let known = crate::kernel::uniformity::is_harmless(body, t)
                    || crate::kernel::uniformity::is_vector(name);
                let of: Vec<&Val> = arguments.values.iter().collect();
                match known {
                    true => self.made_of(t, &of, way),
                    false => self.something(t, false, true),
                }
            }
            Called::Unknown => self.something(t, false, true),
        })
    }
}
