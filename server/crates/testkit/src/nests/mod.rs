//! Random functions in C with loop nests, and random calls of them.
//!
//! A function depends on its seed alone. Subscripts mostly stay near the middle of generous arrays; what leaves them all
//! the same, overflows or does not end is noticed by the machine that runs it and discarded.
//!
//! Deliberately absent: any opinion on which loops are parallel.

mod call;
mod expr;
mod forms;
mod generate;
mod helpers;
mod jumps;
mod odd;
mod patterns;
mod shrink;
mod ways_out;

pub use call::{Call, Memory, MARGIN};
pub use generate::generate;
pub use helpers::Helper;
pub use shrink::shrink;

/// Types of data and indices.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Ty {
    Int,
    UInt,
    Short,
    Long,
    SizeT,
    Float,
    Double,
}

impl Ty {
    /// As written in C.
    pub fn c(self) -> &'static str {
        match self {
            Ty::Int => "int",
            Ty::UInt => "unsigned",
            Ty::Short => "short",
            Ty::Long => "long",
            Ty::SizeT => "size_t",
            Ty::Float => "float",
            Ty::Double => "double",
        }
    }
    /// Bytes.
    pub fn size(self) -> usize {
        match self {
            Ty::Short => 2,
            Ty::Int | Ty::UInt | Ty::Float => 4,
            Ty::Long | Ty::SizeT | Ty::Double => 8,
        }
    }
    /// Whether it holds integers.
    pub fn is_int(self) -> bool {
        !matches!(self, Ty::Float | Ty::Double)
    }
}

/// How an array is reached.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// `T *a`, subscripted once.
    Pointer { restrict: bool },
    /// `T a[n][m]`: lengths are parameters; a pointer all the same.
    Variable { lengths: Vec<String>, restrict: bool },
    /// A file-scope array.
    Global { lengths: Vec<usize> },
    /// `struct pair { T x, y; } *a`
    Pairs,
}

/// An array.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Array {
    pub name: String,
    pub ty: Ty,
    pub place: Place,
    /// Whether it is only read, and holds small subscripts.
    pub subscripts: bool,
}

impl Array {
    /// Whether it is a parameter.
    pub fn is_param(&self) -> bool {
        !matches!(self.place, Place::Global { .. })
    }
    /// Whether the program promises that nothing else names its cells.
    pub fn is_restrict(&self) -> bool {
        matches!(self.place, Place::Pointer { restrict: true } | Place::Variable { restrict: true, .. })
    }
    /// How many subscripts reach an element.
    pub fn rank(&self) -> usize {
        match &self.place {
            Place::Pointer { .. } | Place::Pairs => 1,
            Place::Variable { lengths, .. } => lengths.len(),
            Place::Global { lengths } => lengths.len(),
        }
    }
}

/// A statement: one line, or a head with a block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stmt {
    Line(String),
    Block { head: String, body: Vec<Stmt>, tail: String },
}

/// A function named `f` with the arrays it uses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Nest {
    pub seed: u64,
    /// Integer parameters, first in the parameter list.
    pub sizes: Vec<(String, Ty)>,
    pub arrays: Vec<Array>,
    pub ret: Option<Ty>,
    pub body: Vec<Stmt>,
    /// What `f` calls, callees first.
    pub helpers: Vec<Helper>,
}

impl Nest {
    /// The whole file.
    pub fn text(&self) -> String {
        self.text_as("f", "")
    }

    /// The whole file with another name for the function and a suffix for globals, so that many fit into one program.
    pub fn text_as(&self, name: &str, suffix: &str) -> String {
        let mut out = String::from("#include <stddef.h>\n#include <math.h>\n");
        out += &self.function_as(name, suffix);
        out
    }

    /// The globals and the function.
    pub fn function_as(&self, name: &str, suffix: &str) -> String {
        let mut out = String::new();
        for a in &self.arrays {
            match &a.place {
                Place::Global { lengths } => {
                    let dims: String = lengths.iter().map(|l| format!("[{l}]")).collect();
                    out += &format!("{} {}{suffix}{dims};\n", a.ty.c(), a.name);
                    if !suffix.is_empty() {
                        out += &format!("#define {0} {0}{suffix}\n", a.name);
                    }
                }
                Place::Pairs => {
                    if !suffix.is_empty() {
                        out += &format!("#define pair_{0} pair_{0}{suffix}\n", a.name);
                    }
                    out += &format!("struct pair_{0} {{ {1} x, y; }};\n", a.name, a.ty.c());
                }
                _ => {}
            }
        }
        for h in &self.helpers {
            // Beside others, each file's functions need names of their own.
            let name = format!("{}{suffix}", h.name);
            out += &h.text.replace(&h.name, &name);
            out.push('\n');
            if !suffix.is_empty() {
                out += &format!("#define {} {name}\n", h.name);
            }
        }
        let mut params: Vec<String> = self.sizes.iter().map(|(n, t)| format!("{} {n}", t.c())).collect();
        for a in self.arrays.iter().filter(|a| a.is_param()) {
            params.push(match &a.place {
                Place::Pointer { restrict } => {
                    format!("{} *{}{}", a.ty.c(), if *restrict { "restrict " } else { "" }, a.name)
                }
                Place::Variable { lengths, restrict } => {
                    let mut dims = String::new();
                    for (i, l) in lengths.iter().enumerate() {
                        let r = if *restrict && i == 0 { "restrict " } else { "" };
                        dims += &format!("[{r}{l}]");
                    }
                    format!("{} {}{dims}", a.ty.c(), a.name)
                }
                Place::Pairs => format!("struct pair_{0} *{0}", a.name),
                Place::Global { .. } => continue,
            });
        }
        let ret = self.ret.map_or("void", Ty::c);
        let params = if params.is_empty() { "void".to_owned() } else { params.join(", ") };
        out += &format!("{ret} {name}({params}) {{\n");
        print(&self.body, 1, &mut out);
        out += "}\n";
        if !suffix.is_empty() {
            for h in &self.helpers {
                out += &format!("#undef {}\n", h.name);
            }
            for a in &self.arrays {
                match a.place {
                    Place::Global { .. } => out += &format!("#undef {}\n", a.name),
                    Place::Pairs => out += &format!("#undef pair_{}\n", a.name),
                    _ => {}
                }
            }
        }
        out
    }
}

fn print(body: &[Stmt], depth: usize, out: &mut String) {
    for s in body {
        let pad = "    ".repeat(depth);
        match s {
            Stmt::Line(l) => *out += &format!("{pad}{l}\n"),
            Stmt::Block { head, body, tail } => {
                *out += &format!("{pad}{head} {{\n");
                print(body, depth + 1, out);
                *out += &format!("{pad}}}{tail}\n");
            }
        }
    }
}
