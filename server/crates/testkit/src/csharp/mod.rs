//! Random methods in C# with loops over arrays, and calls of them: what the analysis says of C# is held to runs of these.
//!
//! Numbers of all widths, rectangles and rows, references that are null, two names for one array, and everything that
//! throws: a program may raise an exception at any place. Deliberately absent: handlers, lists, objects and texts, of which
//! the analysis says nothing, and what needs a later C# than mono's compiler knows.

mod generate;

pub use generate::generate;

use simulate::{Heap, ObjectId, Value};

use crate::rng::Rng;

/// The type of an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Of {
    SByte,
    Byte,
    Short,
    UShort,
    Int,
    UInt,
    Long,
    Float,
    Double,
}

impl Of {
    pub const ALL: [Of; 9] =
        [Of::SByte, Of::Byte, Of::Short, Of::UShort, Of::Int, Of::UInt, Of::Long, Of::Float, Of::Double];

    /// As C# writes it.
    pub fn name(self) -> &'static str {
        ["sbyte", "byte", "short", "ushort", "int", "uint", "long", "float", "double"][self as usize]
    }
    pub fn size(self) -> usize {
        [1, 1, 2, 2, 4, 4, 8, 4, 8][self as usize]
    }
    pub fn is_float(self) -> bool {
        matches!(self, Of::Float | Of::Double)
    }
}

/// What a parameter is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    Number,
    Array,
    Rectangle,
    Rows,
}

/// A parameter.
#[derive(Clone, Debug)]
pub struct Param {
    pub name: String,
    pub of: Of,
    pub shape: Shape,
}

impl Param {
    /// As C# declares it.
    pub fn text(&self) -> String {
        let brackets = match self.shape {
            Shape::Number => "",
            Shape::Array => "[]",
            Shape::Rectangle => "[,]",
            Shape::Rows => "[][]",
        };
        format!("{}{brackets} {}", self.of.name(), self.name)
    }
}

/// A method, `T.F`, with its class.
#[derive(Clone, Debug)]
pub struct Method {
    pub seed: u64,
    pub params: Vec<Param>,
    /// Type of what it gives.
    pub returns: Of,
    /// Other members, each a line.
    pub helpers: String,
    /// Statements, without the braces.
    pub body: String,
}

impl Method {
    /// The class, with this name.
    pub fn class(&self, name: &str) -> String {
        let params: Vec<String> = self.params.iter().map(Param::text).collect();
        format!(
            "static class {name} {{\n{}    public static {} F({}) {{\n{}    }}\n}}\n",
            self.helpers,
            self.returns.name(),
            params.join(", "),
            self.body
        )
    }
    pub fn text(&self) -> String {
        format!("using System;\n{}", self.class("T"))
    }
}

/// Memory that an argument is.
#[derive(Clone, Debug)]
pub enum Given {
    Number(i64),
    /// An index among the call's arrays; `None`: null.
    Array(Option<usize>),
}

/// An array of the call.
#[derive(Clone, Debug)]
pub struct Array {
    pub of: Of,
    pub sizes: Vec<usize>,
    pub content: Vec<u8>,
    /// Of rows: which arrays.
    pub rows: Vec<Option<usize>>,
}

/// Arguments.
#[derive(Clone, Debug)]
pub struct Call {
    pub arrays: Vec<Array>,
    pub given: Vec<Given>,
}

impl Call {
    /// Steps a run may take.
    pub const STEPS: u64 = 400_000;

    /// `wild`: arrays may be null, short or one and the same.
    pub fn random(method: &Method, rng: &mut Rng, wild: bool) -> Call {
        let mut call = Call { arrays: Vec::new(), given: Vec::new() };
        let n = rng.between(if wild { -1 } else { 3 }, 9);
        let m = rng.between(if wild { 0 } else { 2 }, 6);
        for p in &method.params {
            let given = match p.shape {
                Shape::Number => Given::Number(match &*p.name {
                    "n" => n,
                    "m" => m,
                    _ => rng.between(-3, 12),
                }),
                Shape::Array => {
                    let same = call
                        .arrays
                        .iter()
                        .position(|a| a.of == p.of && a.sizes.len() == 1 && a.rows.is_empty());
                    match same.filter(|_| wild && rng.chance(25)) {
                        Some(same) => Given::Array(Some(same)),
                        None if wild && rng.chance(4) => Given::Array(None),
                        None => {
                            let room = if wild { rng.below(14) } else { 64 };
                            Given::Array(Some(call.array(p.of, vec![room], rng)))
                        }
                    }
                }
                Shape::Rectangle => match wild && rng.chance(4) {
                    true => Given::Array(None),
                    false => {
                        let (h, w) = if wild { (rng.below(10), rng.below(8)) } else { (14, 16) };
                        Given::Array(Some(call.array(p.of, vec![h, w], rng)))
                    }
                },
                Shape::Rows => {
                    let count = if wild { 1 + rng.below(8) } else { 14 };
                    let mut rows = Vec::new();
                    for k in 0..count {
                        let row = match wild {
                            true if rng.chance(3) => None,
                            true if k > 0 && rng.chance(8) => rows[k - 1],
                            true => {
                                let room = rng.below(10);
                                Some(call.array(p.of, vec![room], rng))
                            }
                            false => Some(call.array(p.of, vec![16], rng)),
                        };
                        rows.push(row);
                    }
                    let table = Array { of: p.of, sizes: vec![count], content: Vec::new(), rows };
                    call.arrays.push(table);
                    Given::Array(Some(call.arrays.len() - 1))
                }
            };
            call.given.push(given);
        }
        call
    }

    fn array(&mut self, of: Of, sizes: Vec<usize>, rng: &mut Rng) -> usize {
        let count: usize = sizes.iter().product();
        let mut content = Vec::with_capacity(count * of.size());
        let wide = rng.chance(20);
        for _ in 0..count {
            let v = match rng.below(if wide { 4 } else { 12 }) {
                0 => rng.bits() as i64,
                1 => 0,
                2 => i64::from(i32::MAX),
                _ => rng.between(-2, 9),
            };
            match of {
                Of::Float => content.extend((rng.between(-16, 48) as f32 / 8.0).to_le_bytes()),
                Of::Double => content.extend((rng.between(-16, 48) as f64 / 8.0).to_le_bytes()),
                _ => content.extend(&v.to_le_bytes()[..of.size()]),
            }
        }
        self.arrays.push(Array { of, sizes, content, rows: Vec::new() });
        self.arrays.len() - 1
    }

    /// Memory and arguments of a run: of each array its pointer and its lengths.
    pub fn build(&self, method: &Method) -> Result<(Heap, Vec<Value>, Vec<ObjectId>), simulate::Fault> {
        let mut heap = Heap::new();
        let mut objects: Vec<ObjectId> = Vec::new();
        for (k, a) in self.arrays.iter().enumerate() {
            let name = format!("array {k}");
            let count: usize = a.sizes.iter().product();
            let o = match a.rows.is_empty() {
                true => {
                    let o = heap.alloc(&name, a.of.size() as u32, count as u64)?;
                    heap.write(o, 0, &a.content)?;
                    o
                }
                false => {
                    let o = heap.alloc(&name, 8, count as u64)?;
                    for (k, row) in a.rows.iter().enumerate() {
                        match row {
                            Some(row) => heap.write_pointer(o, 8 * k as u64, objects[*row], 0)?,
                            None => heap.write(o, 8 * k as u64, &[0u64])?,
                        }
                    }
                    o
                }
            };
            objects.push(o);
        }
        let mut args = Vec::new();
        for (p, g) in method.params.iter().zip(&self.given) {
            let lengths = match p.shape {
                Shape::Number => 0,
                Shape::Rectangle => 2,
                _ => 1,
            };
            match g {
                Given::Number(v) => args.push(Value::Int(i128::from(*v))),
                Given::Array(None) => {
                    args.push(Value::Null);
                    args.extend((0..lengths).map(|_| Value::Int(0)));
                }
                Given::Array(Some(k)) => {
                    args.push(Value::Pointer(objects[*k], 0));
                    let sizes = self.arrays[*k].sizes.iter().take(lengths);
                    args.extend(sizes.map(|s| Value::Int(*s as i128)));
                }
            }
        }
        Ok((heap, args, objects))
    }

    /// `n=3, a=#0[7], b=null`
    pub fn describe(&self, method: &Method) -> String {
        let one = |(p, g): (&Param, &Given)| match g {
            Given::Number(v) => format!("{}={v}", p.name),
            Given::Array(None) => format!("{}=null", p.name),
            Given::Array(Some(k)) => format!("{}=#{k}{:?}", p.name, self.arrays[*k].sizes),
        };
        method.params.iter().zip(&self.given).map(one).collect::<Vec<_>>().join(", ")
    }
}
