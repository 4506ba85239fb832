//! For functions whose host's part is not followed, or whose arrays are tables of pointers: an input as verification makes them, with all
//! that it holds, for the rewritten program and the original. Such inputs are small; what is measured with them says so by its sizes.

use base::{Budget, Scalar};
use simulate::{Program, Value};

use super::super::inputs::{Choice, Contents, Given, Held, Input, Of, Parameter, Room, Sizes};
use super::super::native;
use super::{bodies, scalar, Holds, HostPiece, OriginalArgument, OriginalText, Recorded, Recorder, Spot};
use crate::limits::verify_record::{INPUT_SIZES, STEPS};
use crate::offload::Offloaded;
use crate::units::Unit;

impl Recorder<'_> {
    /// `because`: why the host's part alone tells not enough, a phrase. `Err`: why there is no input either, a phrase.
    pub(super) fn of_input(
        &self,
        unit: &Unit,
        done: &Offloaded,
        given: &[(String, i128)],
        because: String,
    ) -> Result<Recorded, String> {
        let doc = &self.ask.doc;
        if !doc.language().is_compiled_whole() {
            return Err("a compiler does not take this document as it is".to_owned());
        }
        let (text, returns) = native::with_call(self.view.body(), &self.signature, doc.source())
            .ok_or("the function cannot be called from outside with what is made up")?;
        let input = self.input(given)?;
        let mut host: Vec<HostPiece> = Vec::new();
        for c in input.buffers.iter().chain(&input.globals) {
            host.push(piece(c).ok_or("an array is used before the element that its pointer points to")?);
        }
        let mut arguments = Vec::new();
        for v in &input.values {
            arguments.push(match v {
                Given::Plain(Value::Int(v)) => OriginalArgument::Whole(*v as i64),
                Given::Plain(Value::F32(v)) => OriginalArgument::Floating(f64::from(*v)),
                Given::Plain(Value::F64(v)) => OriginalArgument::Floating(*v),
                Given::Plain(_) => OriginalArgument::Whole(0),
                Given::Pointer(memory, offset) => {
                    let offset = u64::try_from(*offset)
                        .map_err(|_| "an array is used before the element that its pointer points to")?;
                    OriginalArgument::Place(Spot { memory: *memory, offset })
                }
            });
        }
        let globals = (input.buffers.len()..host.len()).collect();
        let original = OriginalText { texts: self.texts(text), arguments, globals, returns };
        let program = self
            .program(done, because)
            .ok_or("the function cannot be called from outside with what is made up")?;
        let sizes = self.signature.parameters.iter().zip(&input.values).filter_map(|(p, v)| match (p, v) {
            (Parameter::Size { name, .. }, Given::Plain(Value::Int(v))) => Some((name.to_string(), *v)),
            _ => None,
        });
        Ok(self.told(unit, done, sizes.collect(), host, Ok(original), Some(program)))
    }

    /// The largest input of those that are tried.
    fn input(&self, given: &[(String, i128)]) -> Result<Input, String> {
        let doc = &self.ask.doc;
        let program = Program::of(bodies(doc.unit()).chain(doc.other_bodies()));
        let function = &*self.view.body().name;
        let of = Of { program: &program, function, signature: &self.signature, given };
        let mut why = String::new();
        for size in INPUT_SIZES {
            for held in [Held::Any, Held::Gentle] {
                let choice = Choice {
                    size,
                    sizes: Sizes::Equal,
                    overlap: false,
                    // even: all pointers of a table point somewhere
                    seed: 2,
                    room: Room::WIDE,
                    launches: false,
                    wild: false,
                    held,
                    awkward: false,
                };
                let budget = Budget::with_cancel(STEPS, self.ask.cancel.clone());
                match of.make(choice, &budget, &mut 0) {
                    Ok(input) => return Ok(input),
                    Err(fault) => {
                        why = format!("the original fails on the inputs that were made up: {fault}")
                    }
                }
            }
        }
        Err(why)
    }
}

/// A piece of memory with what it holds; `None`: a pointer lies before what it points to.
fn piece(c: &Contents) -> Option<HostPiece> {
    let leaves = c.layout.leaves.iter().map(|&(at, kind)| (at, scalar(kind)));
    let raw = c.layout.raw.iter().flat_map(|&(at, bytes)| (at..at + bytes).map(|b| (b, Scalar::Whole(1))));
    let links = c
        .links
        .iter()
        .map(|l| Some((l.at, Spot { memory: l.buffer, offset: u64::try_from(l.offset).ok()? })));
    Some(HostPiece {
        name: c.name.to_string(),
        bytes: c.snapshot.data.len() as u64,
        holds: Holds::Exactly {
            bytes: c.snapshot.data.clone(),
            element_bytes: c.layout.bytes,
            scalars: leaves.chain(raw).collect(),
            links: links.collect::<Option<_>>()?,
        },
    })
}
