//! Edits of `ide` as LSP's workspace edits, and the writing of new files for clients that cannot create any.
//!
//! A file that exists is never replaced: a new file whose name is taken gets the next free one.

use std::collections::HashMap;
use std::path::PathBuf;

use text::Text;
use tower_lsp::ls_types as lsp;

use super::caps::Caps;
use super::document::View;
use super::to_lsp;
use crate::files;
use crate::limits::lsp_edits::MAX_NAMES;

/// Whether the client can carry out an edit that creates files by itself.
pub fn client_creates(caps: &Caps) -> bool {
    caps.document_changes && caps.creates_files
}

/// A new file and where it goes.
#[derive(Debug)]
pub struct NewFile {
    pub uri: lsp::Uri,
    pub path: Option<PathBuf>,
    pub text: String,
}

/// The text that an edit is of.
#[derive(Clone, Copy)]
pub struct Of<'a> {
    pub uri: &'a lsp::Uri,
    /// Of a document that is open.
    pub version: Option<i32>,
    pub text: &'a Text,
}

/// An edit in parts: what the client does to documents, and what files come into being.
pub struct Plan {
    documents: Vec<Changed>,
    pub create: Vec<NewFile>,
    /// What the user is told of it, a sentence each.
    pub told: Vec<String>,
    /// What the user is to see before it is applied, where it changes many places.
    look_at: Option<lsp::ChangeAnnotation>,
}

/// What is done to a document.
struct Changed {
    uri: lsp::Uri,
    version: Option<i32>,
    edits: Vec<lsp::TextEdit>,
}

/// Names the annotation that all changes of a plan have.
const ANNOTATION: &str = "offload";

/// Puts an edit of `view`'s text into LSP's words.
pub fn plan(edit: &ide::WorkspaceEdit, view: &View, caps: &Caps) -> Result<Plan, String> {
    let of = Of { uri: &view.uri, version: Some(view.version), text: &view.text };
    let mut out = plan_of(edit, of, caps, &[])?;
    let own = edit.create.iter().filter(|f| !f.is_shared).count();
    if own > 1 || !edit.left_out.is_empty() {
        out.look_at = annotation("Offload to the GPU", &edit.left_out, caps);
    }
    Ok(out)
}

/// What the user is to see before an edit is made, in clients that show it.
fn annotation(label: &str, left_out: &[String], caps: &Caps) -> Option<lsp::ChangeAnnotation> {
    let stay = || format!("Other loops stay as they are: {}", left_out.join(" "));
    caps.annotates.then(|| lsp::ChangeAnnotation {
        label: label.to_owned(),
        needs_confirmation: Some(true),
        description: (!left_out.is_empty()).then(stay),
    })
}

/// The edits of several texts as one. `label`: the user is to see them before they are made.
pub fn joined(plans: Vec<Plan>, label: Option<&str>, left_out: &[String], caps: &Caps) -> Plan {
    let mut out = Plan { documents: Vec::new(), create: Vec::new(), told: Vec::new(), look_at: None };
    for plan in plans {
        out.documents.extend(plan.documents);
        out.create.extend(plan.create);
        out.told.extend(plan.told);
    }
    out.look_at = label.and_then(|label| annotation(label, left_out, caps));
    out
}

/// Puts the edit of one text into LSP's words; the names of `others` are taken.
pub fn plan_of(edit: &ide::WorkspaceEdit, of: Of, caps: &Caps, others: &[Plan]) -> Result<Plan, String> {
    let mut edits = Vec::new();
    for file in &edit.edits {
        if let Some(name) = &file.file {
            return Err(format!("The action would edit {name} too, which this server does not do yet."));
        }
        let positions = file.edits.to_positions(of.text, caps.encoding).map_err(|e| e.to_string())?;
        edits.extend(positions.into_iter().map(|e| lsp::TextEdit {
            range: lsp::Range { start: to_lsp::position(e.range.start), end: to_lsp::position(e.range.end) },
            new_text: e.text,
        }));
    }
    let mut create = Vec::new();
    let taken: Vec<&NewFile> = others.iter().flat_map(|p| &p.create).collect();
    for file in &edit.create {
        create.extend(place(file, of.uri, &taken)?);
    }
    let documents = vec![Changed { uri: of.uri.clone(), version: of.version, edits }];
    Ok(Plan { documents, create, told: edit.told.clone(), look_at: None })
}

/// Where a new file goes: beside the document, under a name that is free. `None`: it is there already, word for word.
fn place(file: &ide::NewFile, document: &lsp::Uri, others: &[&NewFile]) -> Result<Option<NewFile>, String> {
    let (stem, extension) = match file.name.rsplit_once('.') {
        Some((stem, extension)) => (stem, format!(".{extension}")),
        None => (file.name.as_str(), String::new()),
    };
    for number in 1..=MAX_NAMES {
        let name = match number {
            1 => file.name.clone(),
            n => format!("{stem}_{n}{extension}"),
        };
        let uri = sibling(document, &name).ok_or("The document's address has no folder.")?;
        let path = local_path(&uri);
        let promised = others.iter().find(|f| f.uri == uri);
        if promised.is_some_and(|f| f.text == file.text) {
            return Ok(None);
        }
        let is_promised = promised.is_some();
        let taken = path.as_ref().is_some_and(|p| p.symlink_metadata().is_ok());
        if is_promised {
            continue;
        }
        if !taken {
            return Ok(Some(NewFile { uri, path, text: file.text.clone() }));
        }
        let same = path.and_then(|p| std::fs::read_to_string(p).ok()).is_some_and(|text| text == file.text);
        if same {
            return Ok(None);
        }
    }
    Err(format!("All names like {} are taken. Remove the kernel files that are no longer needed.", file.name))
}

impl Plan {
    /// For clients that create files: everything in one edit. For others the document's part.
    pub fn to_lsp(&self, caps: &Caps) -> lsp::WorkspaceEdit {
        if !caps.document_changes {
            // a hash map keyed by addresses, whose interior is only nominally mutable
            #[allow(clippy::mutable_key_type)]
            let changes: HashMap<_, _> =
                self.documents.iter().map(|d| (d.uri.clone(), d.edits.clone())).collect();
            return lsp::WorkspaceEdit { changes: Some(changes), ..Default::default() };
        }
        let documents: Vec<lsp::TextDocumentEdit> =
            self.documents.iter().map(|d| self.edit_of(d.uri.clone(), d.version, d.edits.clone())).collect();
        let changes = if client_creates(caps) && !self.create.is_empty() {
            let mut operations = Vec::new();
            for file in &self.create {
                let options =
                    lsp::CreateFileOptions { overwrite: Some(false), ignore_if_exists: Some(false) };
                let create = lsp::CreateFile {
                    uri: file.uri.clone(),
                    options: Some(options),
                    annotation_id: self.annotation(),
                };
                operations.push(lsp::DocumentChangeOperation::Op(lsp::ResourceOp::Create(create)));
                let all = lsp::TextEdit { range: lsp::Range::default(), new_text: file.text.clone() };
                operations.push(lsp::DocumentChangeOperation::Edit(self.edit_of(
                    file.uri.clone(),
                    None,
                    vec![all],
                )));
            }
            operations.extend(documents.into_iter().map(lsp::DocumentChangeOperation::Edit));
            lsp::DocumentChanges::Operations(operations)
        } else {
            lsp::DocumentChanges::Edits(documents)
        };
        let look_at = self.look_at.iter().map(|a| (ANNOTATION.to_owned(), a.clone()));
        lsp::WorkspaceEdit {
            document_changes: Some(changes),
            change_annotations: self.look_at.is_some().then(|| look_at.collect()),
            ..Default::default()
        }
    }

    /// Whether the client shows it before it applies it.
    pub fn is_shown(&self) -> bool {
        self.look_at.is_some()
    }

    fn annotation(&self) -> Option<lsp::ChangeAnnotationIdentifier> {
        self.look_at.is_some().then(|| ANNOTATION.to_owned())
    }

    fn edit_of(
        &self,
        uri: lsp::Uri,
        version: Option<i32>,
        edits: Vec<lsp::TextEdit>,
    ) -> lsp::TextDocumentEdit {
        let annotated = |text_edit: lsp::TextEdit| match self.annotation() {
            None => lsp::OneOf::Left(text_edit),
            Some(annotation_id) => lsp::OneOf::Right(lsp::AnnotatedTextEdit { text_edit, annotation_id }),
        };
        lsp::TextDocumentEdit {
            text_document: lsp::OptionalVersionedTextDocumentIdentifier { uri, version },
            edits: edits.into_iter().map(annotated).collect(),
        }
    }

    /// Writes the new files, all or none.
    pub fn write_files(&self) -> Result<Vec<PathBuf>, String> {
        let mut written: Vec<PathBuf> = Vec::new();
        for file in &self.create {
            let done = match &file.path {
                None => Err("the document is not a file; save it first".to_owned()),
                Some(path) => {
                    files::write(path, &file.text, files::Existing::Keep).map_err(|e| e.to_string())
                }
            };
            match (done, &file.path) {
                (Ok(()), Some(path)) => written.push(path.clone()),
                (done, _) => {
                    take_back(&written);
                    let why = done.err().unwrap_or_default();
                    return Err(format!("{} could not be written: {why}.", file.uri.as_str()));
                }
            }
        }
        Ok(written)
    }
}

/// Removes files that this call has written, after the rest of its edit was refused.
pub fn take_back(written: &[PathBuf]) {
    for path in written {
        if let Err(e) = std::fs::remove_file(path) {
            tracing::warn!("{} could not be removed again: {e}", path.display());
        }
    }
}

/// The address of a file beside a document. Unsaved documents (`untitled:`) have no folder, and get one name more.
fn sibling(document: &lsp::Uri, name: &str) -> Option<lsp::Uri> {
    let address = document.as_str();
    let escaped: String = name
        .bytes()
        .map(|b| match b {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(b).to_string(),
            _ => format!("%{b:02X}"),
        })
        .collect();
    let path_end = address.find(['?', '#']).unwrap_or(address.len());
    let path = address.get(..path_end)?;
    let folder = match path.rfind('/') {
        Some(slash) => path.get(..=slash)?,
        None => path.get(..=path.find(':')?)?,
    };
    format!("{folder}{escaped}").parse().ok()
}

pub fn local_path(uri: &lsp::Uri) -> Option<PathBuf> {
    let is_file = uri.scheme().as_str().eq_ignore_ascii_case("file");
    uri.to_file_path().filter(|_| is_file).map(|p| p.into_owned())
}
