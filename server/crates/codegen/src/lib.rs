//! Plans and printers: what goes where on a GPU, decided before any text, and the text.
//!
//! [`plan`] turns facts into a [`Plan`] or a [`Refusal`]; [`print()`] turns a plan into a kernel file and the edits of the
//! host file. The plan decides, the printers print: no printer reads facts. The target is a row of the room `gpu`, whose
//! words and names the printers take; a plan that needs a word the row lacks is refused by its name.
//!
//! What the generated host code promises: nothing of the user's data is changed before the last call that can fail has
//! succeeded, except cells that the original loop would write without reading them; so the original loop, which stays
//! in the text byte for byte, may run after any failure and computes what it always did.
//!
//! Deliberately absent: judging whether a loop may run in parallel (`analysis` does), compiling, and sentences for
//! users other than the comments inside generated text.
#![forbid(unsafe_code)]

mod access;
mod device;
mod limits;
mod lines;
mod plan;

pub use lines::LineOrigin;
pub use plan::{
    has_word, plan, plan_name, region_needs, widest, Axis, BufferPlan, DeviceFunction, Dim, Ends, FinalValue,
    FunctionTrouble, HostForm, HostValue, InductionPlan, Input, Kernel, MinMaxForm, NextStep, Note, Plan,
    Reason, ReductionPlan, Refusal, RefusalKind, RegionPlan, Scalar, Site, Stride, Test, TestKind,
    ThreadPlan, ThreadShape, View, BLOCK_THREADS,
};

/// How the names of functions end that stand for a loop.
pub const ON_GPU: &str = "_on_gpu";

/// What the host's side of a kernel is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HostSide {
    /// A function beside the kernel, in the words of the target's run time.
    Function,
    /// A method of a class, over a binding of the driver, with the kernel's text as a string.
    Method,
}

/// What host text in C# calls: the driver, in one file a project.
pub fn csharp_binding() -> GeneratedFile {
    GeneratedFile { name: "WarpwrightCuda.cs".to_owned(), text: device::BINDING.to_owned() }
}

/// A file to be created.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GeneratedFile {
    /// Name without folder; it belongs beside the host file.
    pub name: String,
    pub text: String,
}

/// A replacement in the host file. An empty span inserts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostEdit {
    /// In the file, in bytes of UTF-8.
    pub span: base::Span,
    pub text: String,
}

/// What a call in the host file needs before it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HostHead {
    /// Where its function begins, in the file.
    pub(crate) function_at: u32,
    /// The declaration of the function that is called.
    pub(crate) prototype: String,
    /// Headers.
    pub(crate) includes: Vec<String>,
}

/// What is shown of a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelInfo {
    /// The `__global__` function.
    pub name: String,
    /// The function the host calls.
    pub launcher: String,
    /// Threads per block along x, y, z.
    pub block: [u32; 3],
    /// The index that runs along x, y, z.
    pub axes: Vec<(Axis, String)>,
    /// Blocks along each used axis, as C expressions over the host function's names.
    pub grid: Vec<String>,
}

/// Generated text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Output {
    pub kernel_file: GeneratedFile,
    /// The kernels' text alone, where the file is written in another language and holds it as a string.
    pub kernel_text: Option<String>,
    /// What the host file needs before the loop.
    pub head: HostHead,
    /// The call before the loop. With the head, and with those of other loops: [`host_edits`].
    pub block: Vec<HostEdit>,
    /// Which term each line of the kernel file comes from, in order of lines.
    pub line_map: Vec<LineOrigin>,
    pub kernels: Vec<KernelInfo>,
    /// Compiler options without which results may differ in the last bits (`-fmad=false`).
    pub build_flags: Vec<&'static str>,
    /// How the host's side was made by rule pages: a line for each step.
    pub derivation: Vec<String>,
}

/// Who writes the host's side: rule pages, which are another room's.
pub trait HostPages {
    /// Functions in the notation (F1.1) as text. `target`: whose words they are to be written in, as C++; `None`: they are
    /// C that nothing is to be done to. `Err`: which page does not write what, a sentence.
    fn written(&self, target: Option<&'static gpu::Row>, functions: &str) -> Result<Written, String>;
    /// Likewise methods of a class in C#.
    fn methods(&self, functions: &str) -> Result<Written, String>;
    /// A call in the user's file as text around what it stands for, in lines of at most so many columns: `_Offloaded(…)` in
    /// the notation. `Err`: what a page leaves undone, a sentence.
    fn placed(&self, side: HostSide, call: &str, columns: usize) -> Result<Placed, String>;
}

/// What is put around the text that a call stands for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Placed {
    /// What the call needs before its function.
    pub ahead: String,
    /// Lines before and behind the text, four spaces a level.
    pub before: String,
    pub behind: String,
    /// Whether they are several statements.
    pub several: bool,
    /// Headers that the user's file needs.
    pub includes: Vec<String>,
    /// A line for each step.
    pub derivation: Vec<String>,
}

/// Functions as text.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Written {
    pub text: String,
    /// Headers that the text needs: `<stdlib.h>`, `"own.h"`.
    pub includes: Vec<String>,
    /// A line for each step.
    pub derivation: Vec<String>,
}

/// Decides about a region, or says what cannot be. `input`: for the region, with [`region_needs`]; `nests`: the plans of its
/// nests, each with another name.
pub fn plan_region<'a>(
    input: &Input<'a>,
    region: &'a analysis::Region,
    nests: Vec<Plan<'a>>,
) -> Result<RegionPlan<'a>, Refusal> {
    let plan = plan::plan_region(input, region, nests)?;
    match (device::is_callable(&plan), region.statements.first()) {
        (false, Some(&term)) => {
            Err(Refusal { reasons: vec![Reason { kind: RefusalKind::CallReadsTooEarly, term }] })
        }
        _ => Ok(plan),
    }
}

/// Writes a plan down, in the words of its target. `Err`: which page does not write the host's side, a sentence.
pub fn print(plan: &Plan<'_>, pages: &dyn HostPages) -> Result<Output, String> {
    device::print(plan, pages)
}

/// Likewise of a region: one kernel file, with a kernel for each nest.
pub fn print_region(plan: &RegionPlan<'_>, pages: &dyn HostPages) -> Result<Output, String> {
    device::print_region(plan, pages)
}

/// All edits of a host file, whose text the plans were made on, in order of place; they do not overlap. What several
/// loops need stands once, before the first of them.
pub fn host_edits(file: &str, outputs: &[&Output]) -> Vec<HostEdit> {
    device::host_edits(file, outputs)
}

/// Where a block around a loop can begin, so that both of its braces stand in the same arms of the file's conditionals:
/// at `first`, the loop or a pragma of it, or before a conditional that holds nothing but such pragmas.
pub fn block_start(file: &str, first: u32, of: base::Span) -> Option<u32> {
    device::block_start(file, first as usize, of).map(|at| at as u32)
}

/// The edits applied to a text; `None` where they overlap or leave it.
pub fn apply_edits(text: &str, edits: &[HostEdit]) -> Option<String> {
    let mut out = String::with_capacity(text.len() + edits.iter().map(|e| e.text.len()).sum::<usize>());
    let mut at = 0usize;
    for e in edits {
        out.push_str(text.get(at..e.span.start as usize)?);
        out.push_str(&e.text);
        at = e.span.end as usize;
    }
    out.push_str(text.get(at..)?);
    Some(out)
}
