//! The original as C texts that can be called beside what was recorded.

use simulate::ElementKind;

use super::super::inputs::Parameter;
use super::super::native;
use super::{HostPiece, Recorder, Run, Spot, REAL};

/// C texts with a function `ww_native_call` that takes words, as the verification's driver calls it.
#[derive(Clone, PartialEq, Debug)]
pub struct OriginalText {
    /// Each with `-D` and `-U` of its own, and its place (of the document: `None`).
    pub texts: Vec<(String, Vec<String>, Option<String>)>,
    pub arguments: Vec<OriginalArgument>,
    /// Of the recorded pieces those that are file-scope variables, in the order of `ww_native_global`.
    pub globals: Vec<usize>,
    /// What the function returns: a whole number, a floating one, or nothing that is compared.
    pub returns: Option<ElementKind>,
}

/// A word that the original is called with.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum OriginalArgument {
    Whole(i64),
    Floating(f64),
    Place(Spot),
}

impl Recorder<'_> {
    pub(super) fn original(
        &self,
        sizes: &[(String, i128)],
        run: &Run,
        host: &[HostPiece],
        copies_wanted: bool,
    ) -> Result<OriginalText, String> {
        let doc = &self.ask.doc;
        if !doc.language().is_compiled_whole() {
            return Err("a compiler does not take this document as it is".to_owned());
        }
        let (text, returns) = native::with_call(self.view.body(), &self.signature, doc.source())
            .ok_or("the function cannot be called from outside with what is made up")?;
        if copies_wanted && returns.is_none() {
            return Err("the host puts the result together from what kernels leave, in memory".to_owned());
        }
        if let Some(g) = self.signature.globals.iter().find(|g| g.is_size) {
            return Err(format!("the file-scope variable `{}` decides sizes", g.name));
        }
        let of = |name: &str| sizes.iter().find(|s| s.0 == name).map_or(0, |s| s.1);
        let mut next = 0..run.stands.len();
        let arguments = self.signature.parameters.iter().map(|p| match p {
            Parameter::Size { name, max, .. } => OriginalArgument::Whole(of(name).min(*max) as i64),
            Parameter::Real { .. } => OriginalArgument::Floating(REAL),
            _ => OriginalArgument::Place(Spot { memory: next.next().unwrap_or(0), offset: 0 }),
        });
        let arguments = arguments.collect();
        let globals: Vec<usize> = next.collect();
        // an array that no copy touches has no length here; the original might go through it
        let untouched = host.iter().take(run.stands.len()).find(|p| p.bytes == 0);
        if let Some(p) = untouched {
            return Err(format!(
                "nothing of `{}` goes to the device, so that its length is not known",
                p.name
            ));
        }
        let options = doc.options();
        let mut flags = native::defines(options);
        flags.push("-Dmain=ww_users_main".to_owned());
        let mut texts = vec![(text, flags, None)];
        let used = options.project.as_ref().map(|p| p.used(doc.program())).unwrap_or_default();
        texts.extend(used.into_iter().map(|f| {
            let part = native::part(f);
            (part.text, part.flags, Some(part.place))
        }));
        Ok(OriginalText { texts, arguments, globals, returns })
    }
}
