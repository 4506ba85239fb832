//! The original as C texts that can be called beside what was recorded, and the rewritten program, where its steps do not tell all.

use simulate::ElementKind;

use super::super::inputs::Parameter;
use super::super::native;
use super::{HostPiece, Recorder, Run, Spot, REAL};
use crate::offload::Offloaded;

/// A C text with `-D` and `-U` of its own, and its place (of the document: `None`).
pub type Text = (String, Vec<String>, Option<String>);

/// C texts with a function `ww_native_call` that takes words, as the verification's driver calls it.
#[derive(Clone, PartialEq, Debug)]
pub struct OriginalText {
    pub texts: Vec<Text>,
    pub arguments: Vec<OriginalArgument>,
    /// Of the recorded pieces those that are file-scope variables, in the order of `ww_native_global`.
    pub globals: Vec<usize>,
    /// What the function returns: a whole number, a floating one, or nothing that is compared.
    pub returns: Option<ElementKind>,
}

/// The rewritten program, called as the original is.
#[derive(Clone, PartialEq, Debug)]
pub struct HostProgram {
    /// Why its steps do not tell all that it does, a phrase.
    pub because: String,
    pub texts: Vec<Text>,
    /// C++, launches as [`simulate::shim::rewrite_there`] has them.
    pub kernels: Vec<String>,
    /// What they include, by name, and which of it comes before them.
    pub headers: Vec<(String, String)>,
    pub include: &'static str,
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
    ) -> Result<OriginalText, String> {
        let doc = &self.ask.doc;
        if !doc.language().is_compiled_whole() {
            return Err("a compiler does not take this document as it is".to_owned());
        }
        let (text, returns) = native::with_call(self.view.body(), &self.signature, doc.source())
            .ok_or("the function cannot be called from outside with what is made up")?;
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
        Ok(OriginalText { texts: self.texts(text), arguments, globals, returns })
    }

    /// A text of the document, and the other files of its program.
    pub(super) fn texts(&self, text: String) -> Vec<Text> {
        let doc = &self.ask.doc;
        let options = doc.options();
        let mut flags = native::defines(options);
        flags.push("-Dmain=ww_users_main".to_owned());
        let mut texts = vec![(text, flags, None)];
        let used = options.project.as_ref().map(|p| p.used(doc.program())).unwrap_or_default();
        texts.extend(used.into_iter().map(|f| {
            let part = native::part(f);
            (part.text, part.flags, Some(part.place))
        }));
        texts
    }

    /// The rewritten program. `None`: it cannot be called.
    pub(super) fn program(&self, done: &Offloaded, because: String) -> Option<HostProgram> {
        let (text, _) = native::with_call(self.view.body(), &self.signature, &done.host)?;
        let files = simulate::shim::FILES.iter().filter(|f| f.0 != simulate::shim::SOURCE);
        Some(HostProgram {
            because,
            texts: self.texts(text),
            kernels: done.edit.create.iter().map(|f| simulate::shim::rewrite_there(&f.text)).collect(),
            headers: files.map(|(n, t)| ((*n).to_owned(), (*t).to_owned())).collect(),
            include: simulate::shim::HEADER,
        })
    }
}
