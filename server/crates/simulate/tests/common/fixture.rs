//! A file of `fixtures/cuda`: its kernels as grids, its plain C functions as what they must compute.
#![allow(dead_code)] // each test uses its part

use base::Budget;
use front::{lower, Language, Memo, Parsed};
use simulate::*;
use term::Body;

pub struct File {
    bodies: Vec<Body>,
    pub text: String,
}

pub fn ptr(o: ObjectId) -> Value {
    Value::Pointer(o, 0)
}
pub fn int(v: usize) -> Value {
    Value::Int(v as i128)
}

/// A budget that no fixture comes near.
fn budget() -> Budget {
    Budget::new(500_000_000)
}

impl File {
    pub fn open(name: &str) -> File {
        let path = format!("{}/../../../fixtures/cuda/{name}", env!("CARGO_MANIFEST_DIR"));
        File::of(&std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{name}: {e}")))
    }
    pub fn of(text: &str) -> File {
        let parsed = Parsed::parse(Language::Cuda, text);
        let unit = lower(&parsed, &front::Options::default(), &mut Memo::default());
        File { bodies: unit.items.iter().map(|i| (*i.body).clone()).collect(), text: text.to_owned() }
    }

    pub fn run(
        &self,
        heap: &mut Heap,
        kernel: &str,
        launch: Launch,
        args: &[Value],
        schedule: Schedule,
    ) -> GridReport {
        let options = Options { overloads: true, decisions: true, ..Options::default() };
        let program = Program::of(&self.bodies);
        run_grid(&program, kernel, args, heap, &launch, &schedule, &options, &budget())
            .unwrap_or_else(|f| panic!("{kernel}: {f}"))
    }

    /// Runs a plain C function of the file.
    pub fn reference(&self, heap: &mut Heap, function: &str, args: &[Value]) {
        run(&Program::of(&self.bodies), function, args, heap, &Options::default(), &budget())
            .unwrap_or_else(|f| panic!("{function}: {f}"));
    }

    /// The 1-based line of a term of a function.
    pub fn line(&self, function: &str, term: term::TermId) -> usize {
        let parsed = Parsed::parse(Language::Cuda, self.text.as_str());
        let unit = lower(&parsed, &front::Options::default(), &mut Memo::default());
        let item = unit.items.iter().find(|i| &*i.name == function).expect("a function of the file");
        let at = item.body.span(term).start + item.span.start;
        self.text[..at as usize].matches('\n').count() + 1
    }
}
