//! How a report comes before the eyes of the user: in a panel of the editor, as a read-only file, or at least where the editor says it
//! stands.

use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use serde_json::json;
use tempfile::TempDir;
use tower_lsp::ls_types as lsp;

use super::{html, markdown, Part, Report};
use crate::lsp::backend::Backend;

/// The panel of a result: later reports with the same name replace it. Only the first opens a panel, so that one the user has closed
/// stays closed.
#[derive(Clone, Debug)]
pub struct Place {
    /// The document that is spoken of.
    pub uri: String,
    pub name: String,
}

/// Shows a report. `more`: it replaces what [`show`] has opened before, and is not opened anew.
pub async fn show(backend: &Backend, place: &Place, report: &Report, more: bool) {
    let caps = backend.caps();
    if caps.panels {
        let page = wire::Panel {
            name: format!("{} {}", place.uri, place.name),
            title: report.title.replace('`', ""),
            html: html::page(report, &place.uri),
            replaces: more,
        };
        backend.outgoing.send(&json!({"jsonrpc": "2.0", "method": "warpwright/showPanel", "params": page}));
        return;
    }
    let text = markdown::written(report, &place.uri);
    let name = file_name(&place.name);
    let written = tokio::task::spawn_blocking(move || write(&name, &text)).await;
    let path = match written {
        Ok(Ok(path)) => path,
        Ok(Err(why)) => return unwritten(backend, report, &why.to_string()).await,
        Err(why) => return unwritten(backend, report, &why.to_string()).await,
    };
    let Some(uri) = lsp::Uri::from_file_path(&path) else {
        return unwritten(
            backend,
            report,
            &format!("{} is no place that an editor can open", path.display()),
        )
        .await;
    };
    if caps.shows_documents {
        let params =
            lsp::ShowDocumentParams { uri, external: None, take_focus: Some(false), selection: None };
        if backend.client.show_document(params).await.is_ok_and(|shown| shown) {
            return;
        }
    }
    let words = format!("{}: {}", report.title.replace('`', ""), path.display());
    backend.client.show_message(lsp::MessageType::INFO, words).await;
}

/// Shows a report that the answer to the request holds as well: only where the editor can show it.
pub async fn offer(backend: &Backend, place: &Place, report: &Report) {
    let caps = backend.caps();
    if caps.panels || caps.shows_documents {
        show(backend, place, report, false).await;
    }
}

/// Shows that work goes on, where the editor has panels, with a link that calls it off.
pub async fn working(
    backend: &Backend,
    place: &Place,
    title: &str,
    what: &str,
    token: Option<&lsp::ProgressToken>,
) {
    if backend.caps().panels {
        let token = token.map(|t| match t {
            lsp::ProgressToken::Number(n) => n.to_string(),
            lsp::ProgressToken::String(s) => s.clone(),
        });
        let parts = vec![Part::Working(what.to_owned(), token)];
        show(backend, place, &Report { title: title.to_owned(), parts }, false).await;
    }
}

/// Shows in the panel of work that it came to nothing.
pub async fn ended(backend: &Backend, place: &Place, title: &str, words: &str) {
    if backend.caps().panels {
        let parts = vec![Part::Text(words.to_owned())];
        show(backend, place, &Report { title: title.to_owned(), parts }, true).await;
    }
}

/// Says that a result cannot be shown, and what to do.
async fn unwritten(backend: &Backend, report: &Report, why: &str) {
    let title = report.title.replace('`', "");
    let words = format!("{title}: the result cannot be written into the folder for temporary files: {why}. Make room there, or name another folder in TMPDIR, and try again.");
    backend.client.show_message(lsp::MessageType::ERROR, words).await;
}

/// The folder of this server's results, which only this user reads; made when it is first needed.
static FOLDER: Mutex<Option<TempDir>> = Mutex::new(None);

/// Removes what was written.
pub fn forget() {
    let _ = FOLDER.lock().unwrap_or_else(PoisonError::into_inner).take();
}

fn file_name(name: &str) -> String {
    let kept = name.chars().map(|c| if c.is_alphanumeric() { c } else { '-' });
    let name: String = kept.take(60).collect();
    format!("{}.md", name.trim_matches('-'))
}

/// Writes a file that editors open for reading only.
fn write(name: &str, text: &str) -> std::io::Result<PathBuf> {
    let mut folder = FOLDER.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = match &mut *folder {
        Some(folder) => folder,
        none => none.insert(tempfile::Builder::new().prefix("warpwright-results-").tempdir()?),
    };
    let path = folder.path().join(name);
    // a file that may not be written is replaced
    if path.exists() {
        fs::remove_file(&path)?;
    }
    fs::write(&path, text)?;
    let mut permissions = fs::metadata(&path)?.permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&path, permissions)?;
    Ok(path)
}
