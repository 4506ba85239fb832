//! What `profile`'s worker runs for a kernel that the document has already: its launch as the text says it, arrays as `simulate` makes
//! them up, and for a launch that the simulator follows to its end what the arrays hold behind it.
//!
//! There is no original to hold a kernel against. So it runs twice there: once at a size that the simulator manages, compared; and at
//! the size that was asked for, timed. Arrays that it only writes are not brought there, so that an element that is left out shows.
//! Deliberately absent: the program's own copies and other launches, templates, headers that a file includes.

mod followed;

use base::Made;
use simulate::{Code, ParamKind, Program, Value};
use term::Op;

use super::inputs::{self, Argument};
use super::{device_text, line, shape, Origin, Shape, SimulateOptions};
use crate::limits::kernels_recorded::{BELOW, LEAST_SIZE};
use crate::verify::{hash_of, plain, scalars};
use crate::{Ask, Doc, Holds, HostPiece, HostStep, KernelArgument, Recorded, Spot};
use followed::{Followed, Stop};

/// A kernel of the document and what is done with it there.
#[derive(Clone, Debug)]
pub struct RecordedKernel {
    /// With the launch that was asked for, for its times.
    pub timed: Recorded,
    /// What the compiler is told besides.
    pub options: Vec<String>,
    pub shape: Shape,
    /// The launch in words: `<<<16, 256>>> (line 30)`.
    pub launch: String,
    /// What it is given, a phrase a parameter.
    pub inputs: Vec<String>,
    /// With a launch whose results are known. `Err`: why there is none, a phrase.
    pub compared: Result<ComparedKernel, String>,
}

/// A launch whose results are known.
#[derive(Clone, Debug)]
pub struct ComparedKernel {
    pub recorded: Recorded,
    /// By the number of the piece in [`Recorded::host`]: what it holds behind the launch.
    pub expected: Vec<(usize, Vec<u8>)>,
    pub shape: Shape,
    /// In words; empty where it is the one that is timed.
    pub launch: String,
}

/// Records kernels, each with its line: that of `options.kernel`, or all. `given`: values of whole parameters, or elements of arrays, by
/// name; where several kernels are meant each takes what it has.
pub fn record_kernels(
    ask: &Ask,
    options: &SimulateOptions,
    given: &[(String, i128)],
) -> Vec<(u32, Result<RecordedKernel, String>)> {
    let meant: Vec<&front::Item> = meant(ask, options.kernel.as_deref()).collect();
    let one = |item: &front::Item| {
        let own = |g: &&(String, i128)| meant.len() == 1 || sized(item).contains(&g.0);
        let given: Vec<(String, i128)> = given.iter().filter(own).cloned().collect();
        (line(&ask.doc, item.span), one(ask, item, options, &given))
    };
    meant.iter().map(|item| one(item)).collect()
}

/// The kernel of this name, or all; instances of a template are several.
fn meant<'a>(ask: &'a Ask, kernel: Option<&'a str>) -> impl Iterator<Item = &'a front::Item> {
    let is_meant = move |i: &&front::Item| {
        i.is_kernel
            && matches!(i.body.op(i.body.root), Op::Function(_))
            && kernel.is_none_or(|k| i.is_called(k))
    };
    ask.doc.unit().items.iter().filter(is_meant)
}

fn one(
    ask: &Ask,
    item: &front::Item,
    options: &SimulateOptions,
    given: &[(String, i128)],
) -> Result<RecordedKernel, String> {
    let doc = &ask.doc;
    if doc.options().target != crate::Target::default() {
        return Err("only kernels of CUDA are run on a GPU".to_owned());
    }
    if item.name.contains('<') {
        return Err(format!(
            "`{}` is an instance of a template, and those are not launched from here yet; a kernel without template parameters that \
             does the same is",
            item.name
        ));
    }
    let asked = options.launches.iter().rev().find(|(n, _)| item.is_called(n));
    let (mut shape, origin) = match asked {
        Some((_, s)) => (s.clone(), Origin::Asked),
        None => shape::of_file(doc, item)?.ok_or_else(|| super::not_launched(item))?,
    };
    put(item, &mut shape, given)?;
    let source = device_text::of(doc)?;
    let unit = doc.unit();
    let bodies = unit.items.iter().chain(unit.included.iter().map(|i| &i.item)).map(|i| &*i.body);
    let program = Program::of(bodies);
    let compile = simulate::Options { overloads: true, limits: super::limits(doc), ..Default::default() };
    let code = simulate::compile(&program, &item.body.name, &compile).map_err(|f| f.to_string())?;
    if let Some(gap) = code.gaps().next() {
        return Err(format!("the simulator, which makes up its inputs, does not follow it: {gap}"));
    }
    let recorder = Recorder { ask, item, code: &code, source };
    let compared = recorder.compared(&shape);
    let timed = match &compared {
        Ok((followed, at)) if *at == shape => followed.clone(),
        Err(Stop::Wrong(why, at)) if **at == shape => return Err(why.clone()),
        _ => recorder.sized(&shape)?,
    };
    let compared = compared.map_err(|stop| stop.words()).and_then(|(f, at)| {
        let words = if at == shape { String::new() } else { launch_words(&at, "a smaller launch") };
        recorder.with_results(&f, &at, words)
    });
    let from = match &origin {
        Origin::Asked => "as asked".to_owned(),
        Origin::Comment => "from its comment".to_owned(),
        Origin::Launch(at) => format!("as launched {}", super::said::launch_place(doc, at)),
    };
    let inputs = timed.arguments.iter().map(super::words_of_argument).collect();
    Ok(RecordedKernel {
        timed: recorder.recorded(&timed, &shape, false)?,
        options: told(doc),
        launch: launch_words(&shape, &from),
        inputs,
        shape,
        compared,
    })
}

/// Takes what was given for parameters over into the launch.
fn put(item: &front::Item, shape: &mut Shape, given: &[(String, i128)]) -> Result<(), String> {
    for (name, value) in given {
        let arguments = inputs::arguments(&item.body, &Shape { elements: Vec::new(), ..shape.clone() })?;
        let is = |a: &&Argument| match a {
            Argument::Scalar { name: n, value: Value::Int(_), .. } | Argument::Array { name: n, .. } => {
                n == name
            }
            Argument::Scalar { .. } => false,
        };
        match arguments.iter().find(is) {
            Some(Argument::Scalar { .. }) => shape.values.push((name.clone(), value.to_string())),
            Some(Argument::Array { .. }) => {
                let elements = u64::try_from(*value).ok().filter(|n| *n > 0);
                let elements = elements.ok_or_else(|| format!("`{name}` cannot have {value} elements"))?;
                shape.elements.push((name.clone(), elements));
            }
            None => {
                let names: Vec<String> = sized(item).into_iter().map(|n| format!("`{n}`")).collect();
                return Err(format!(
                    "`{name}` is no whole number and no array that `{}` takes; sizes can be given for: {}",
                    item.name,
                    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
                ));
            }
        }
    }
    Ok(())
}

/// The parameters of a kernel that sizes can be given for.
fn sized(item: &front::Item) -> Vec<String> {
    let shape = Shape { grid: [1; 3], block: [1; 3], ..Shape::default() };
    let all = inputs::arguments(&item.body, &shape).unwrap_or_default().into_iter();
    all.filter_map(|a| match a {
        Argument::Scalar { name, value: Value::Int(_), .. } | Argument::Array { name, .. } => Some(name),
        Argument::Scalar { .. } => None,
    })
    .collect()
}

/// The names that sizes can be given for, of each kernel that is meant.
pub fn kernel_sizes(ask: &Ask, kernel: Option<&str>) -> Vec<Vec<String>> {
    meant(ask, kernel).map(sized).collect()
}

/// What the text is read with, for the compiler there, which knows functions of the device alone.
fn told(doc: &Doc) -> Vec<String> {
    let plain = |n: &str| n.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let defines = doc.options().defines.iter().filter(|d| plain(&d.0));
    let defines = defines.filter_map(|(name, value)| Some(format!("-D{name}={}", value.as_ref()?)));
    std::iter::once("-default-device".to_owned()).chain(defines).collect()
}

fn launch_words(shape: &Shape, from: &str) -> String {
    let extents = |e: &[u32; 3]| match e {
        [x, 1, 1] => x.to_string(),
        [x, y, 1] => format!("({x}, {y})"),
        [x, y, z] => format!("({x}, {y}, {z})"),
    };
    let shared = if shape.shared_bytes > 0 { format!(", {}", shape.shared_bytes) } else { String::new() };
    format!("<<<{}, {}{shared}>>> {from}", extents(&shape.grid), extents(&shape.block))
}

/// A kernel that is recorded.
struct Recorder<'r> {
    ask: &'r Ask,
    item: &'r front::Item,
    code: &'r Code,
    source: String,
}

impl Recorder<'_> {
    fn with_results(&self, f: &Followed, shape: &Shape, launch: String) -> Result<ComparedKernel, String> {
        if let Some(why) = &f.unsure {
            return Err(format!("{why}; `warpwright simulate` shows it"));
        }
        if f.written.is_empty() {
            return Err("it writes nothing with what was made up for it".to_owned());
        }
        let expected = f.left.iter().cloned().enumerate().collect();
        Ok(ComparedKernel {
            recorded: self.recorded(f, shape, true)?,
            expected,
            shape: shape.clone(),
            launch,
        })
    }

    /// What the host does: memory for each array, what is read brought there, the launch, what is written brought back (`all`: all is).
    fn recorded(&self, f: &Followed, shape: &Shape, all: bool) -> Result<Recorded, String> {
        let (mut host, mut before, mut behind) = (Vec::new(), Vec::new(), Vec::new());
        let (mut arguments, mut sizes, mut frees) = (Vec::new(), Vec::new(), Vec::new());
        let params: &[ParamKind] = self.code.funcs.first().map(|k| &k.params[..]).unwrap_or_default();
        for ((a, made), kind) in f.arguments.iter().zip(pieces(&f.arguments)).zip(params) {
            match a {
                Argument::Scalar { name, value, .. } => {
                    if let Value::Int(v) = value {
                        sizes.push((name.clone(), *v));
                    }
                    let bytes = plain(kind, value);
                    let bytes = bytes.ok_or_else(|| format!("`{name}` is no plain number"))?;
                    arguments.push(KernelArgument::Plain(bytes));
                }
                Argument::Array { name, .. } => {
                    let made = made.ok_or_else(|| format!("nothing can be made up for `{name}`"))?;
                    let (at, bytes) =
                        (Spot { memory: host.len(), offset: 0 }, bytes_of(std::slice::from_ref(a)));
                    before.push(HostStep::Allocate { bytes });
                    let is_read = !f.unread.contains(name);
                    if is_read {
                        before.push(HostStep::ToDevice { to: at, from: at, bytes });
                    }
                    if all || f.written.contains(name) {
                        behind.push(HostStep::FromDevice { to: at, from: at, bytes, wanted: false });
                    }
                    frees.push(HostStep::Free { memory: at.memory });
                    arguments.push(KernelArgument::Device(at));
                    let (element_bytes, scalars) = (made.element_bytes, made.scalars.clone());
                    let unread =
                        Holds::Exactly { bytes: Vec::new(), element_bytes, scalars, links: Vec::new() };
                    let holds = if is_read { Holds::Made(made) } else { unread };
                    host.push(HostPiece { name: name.clone(), bytes, holds });
                }
            }
        }
        before.push(HostStep::Launch {
            kernel: self.item.name.to_string(),
            grid: shape.grid,
            block: shape.block,
            shared_bytes: shape.shared_bytes,
            arguments,
        });
        let steps: Vec<HostStep> = before.into_iter().chain(behind).chain(frees).collect();
        Ok(Recorded {
            key: String::new(),
            line: line(&self.ask.doc, self.item.span),
            function: self.item.name.to_string(),
            kernel_file: self.ask.doc.name().to_owned(),
            hash: hash_of(&self.source, &steps),
            source: self.source.clone(),
            sizes,
            host,
            steps,
            program: None,
            // as the simulator computes; times are of what the compiler makes of it
            unfused: all,
            regrouped: !f.exact || !self.code.math.is_empty(),
            original: Err("there is no original to compare with".to_owned()),
            returns_copied: false,
        })
    }
}

fn array_name(a: &Argument) -> Option<&str> {
    match a {
        Argument::Array { name, .. } => Some(name),
        Argument::Scalar { .. } => None,
    }
}

fn bytes_of(arguments: &[Argument]) -> u64 {
    let each = arguments.iter().map(|a| match a {
        Argument::Array { layout, elements, .. } => elements.saturating_mul(layout.bytes),
        Argument::Scalar { .. } => 0,
    });
    each.fold(0, u64::saturating_add)
}

/// How arrays are made, in the parameters' order. Whole numbers may be subscripts: they are below the smallest size, small parameters
/// being none. `None`: scalars, and what nothing can be made up for.
fn pieces(arguments: &[Argument]) -> Vec<Option<Made>> {
    let sizes = arguments.iter().filter_map(|a| match a {
        Argument::Scalar { value: Value::Int(v), .. } => u64::try_from(*v).ok().filter(|v| *v >= LEAST_SIZE),
        Argument::Array { elements, said: true, .. } => Some(*elements),
        _ => None,
    });
    let below = sizes.min().unwrap_or(BELOW);
    let mut seed = 0;
    let each = arguments.iter().map(|a| match a {
        Argument::Array { layout, .. } => {
            seed += 1;
            Some(Made { seed, element_bytes: layout.bytes, scalars: scalars(layout)?, below })
        }
        Argument::Scalar { .. } => None,
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::followed::POISON;
    use super::*;
    use crate::limits::kernels_recorded::COMPARED_BYTES;

    fn recorded(text: &str, given: &[(&str, i128)]) -> Result<RecordedKernel, String> {
        let text = text::Text::new(text).expect("short");
        let doc = Doc::open(crate::Language::Cuda, "k.cu", text, Default::default());
        let given: Vec<(String, i128)> = given.iter().map(|(n, v)| ((*n).to_owned(), *v)).collect();
        record_kernels(&Ask::thorough(&doc), &SimulateOptions::default(), &given).remove(0).1
    }

    const SCALE: &str = "\
__global__ void scale(const float *in, float *out, float by, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] * by;
}
void host(const float *in, float *out, int n) { scale<<<(1000 + 255) / 256, 256>>>(in, out, 2.0f, 1000); }
";

    #[test]
    fn a_launch_of_the_text_with_what_it_leaves() {
        let k = recorded(SCALE, &[]).expect("recorded");
        assert_eq!(k.launch, "<<<4, 256>>> as launched on line 5");
        assert_eq!(k.timed.sizes, [("n".to_owned(), 1000)]);
        let compared = k.compared.expect("compared");
        assert_eq!(compared.launch, "", "the launch itself");
        let (input, output) = (&compared.expected[0].1, &compared.expected[1].1);
        let numbers = |b: &[u8]| -> Vec<f32> {
            b.chunks(4).map(|c| f32::from_le_bytes(c.try_into().expect("four"))).collect()
        };
        let (input, output) = (numbers(input), numbers(output));
        assert!((0..1000).all(|i| output[i] == input[i] * 0.25));
        // what it does not write keeps what marks it
        assert!(output.len() > 1000 && output[1000..].iter().all(|x| x.to_le_bytes() == [POISON; 4]));
        let brought =
            |r: &Recorded| r.steps.iter().filter(|s| matches!(s, HostStep::ToDevice { .. })).count();
        assert_eq!((brought(&k.timed), k.timed.unfused, compared.recorded.unfused), (1, false, true));
        assert!(!k.timed.source.contains("host") && k.timed.source.contains("__global__ void scale"));
    }

    #[test]
    fn fewer_blocks_are_compared_where_all_are_too_many() {
        let big = SCALE.replace("(1000 + 255) / 256", "65536").replace("1000", "16777216");
        let k = recorded(&big, &[("in", 16_777_216), ("out", 16_777_216)]).expect("recorded");
        assert_eq!(k.timed.host[0].bytes, 64 << 20);
        let compared = k.compared.expect("compared");
        assert!(compared.launch.ends_with("a smaller launch"), "{}", compared.launch);
        assert!(compared.expected[1].1.len() as u64 <= COMPARED_BYTES);
        // nobody says how large its arrays are
        let why = recorded(&big, &[]).expect_err("too large to follow");
        assert!(why.contains("-s in=ELEMENTS -s out=ELEMENTS"), "{why}");
    }

    #[test]
    fn what_is_not_run_is_said_by_name() {
        let why = |text: &str| recorded(text, &[]).map(|k| k.compared.map(|_| ())).unwrap_or_else(Err);
        let says = |text: &str, words: &str| {
            let why = why(text).expect_err(words);
            assert!(why.contains(words), "{why}");
        };
        says("__global__ void k(float *x) { x[threadIdx.x] = 1; }", "how it is launched is not known");
        says(
            "// warpwright: launch(1, 32, x[4])\n__global__ void k(float *x) { x[threadIdx.x] = 1; }",
            "access of 4 bytes at offset 16 of `x`",
        );
        says(
            "// warpwright: launch(2, 32)\n__global__ void k(int *x) { x[0] = x[0] + threadIdx.x; }",
            "touch `x` without order",
        );
        says(
            "// warpwright: launch(2, 64)\n__global__ void k(int *n, int *x) { x[atomicAdd(n, 1) % 128] = blockIdx.x; }",
            "depends on the order",
        );
        says(
            "__device__ int kept;\n// warpwright: launch(1, 1)\n__global__ void k(int *x) { kept = kept + 1; x[0] = kept; }",
            "file-scope variable `kept`",
        );
        let why = recorded(SCALE, &[("m", 3)]).expect_err("no such parameter");
        assert!(why.contains("`in`, `out`, `n`"), "{why}");
    }
}
