//! Pages to read.

pub fn page(view: &ide::View) -> wire::Page {
    wire::Page { title: view.title.clone(), markdown: view.markdown.clone(), dot: view.dot.clone() }
}

/// All codes that findings may have.
pub fn codes() -> Vec<wire::Code> {
    let code = |c: ide::Code| wire::Code {
        code: c.code.to_owned(),
        severity: c.severity.name().to_owned(),
        summary: c.summary.to_owned(),
    };
    ide::codes().map(code).collect()
}
