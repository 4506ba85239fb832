//! Reports as HTML for the panels of editors: the one place where HTML is written. Everything that comes from outside is escaped,
//! colors are variables of the editor's theme, links are commands of the extension, and there are no scripts.

use std::fmt::Write;

use serde_json::json;

use super::{svg, Cell, Part, Report, Table};

/// Commands of the extension that links may name.
const OPEN: &str = "warpwright.openPlace";
const CANCEL: &str = "warpwright.cancelWork";

const STYLE: &str = "\
body { color: var(--vscode-foreground); background: var(--vscode-editor-background); font-family: var(--vscode-font-family); \
font-size: var(--vscode-font-size); line-height: 1.5; padding: 0 1.5em 2em; max-width: 70em; }
h1 { font-size: 1.5em; font-weight: 600; margin: 0.8em 0 0.4em; }
h2 { font-size: 1.2em; font-weight: 600; margin: 1.4em 0 0.4em; }
h3, h4 { font-size: 1em; font-weight: 600; margin: 1.2em 0 0.3em; }
code, pre { font-family: var(--vscode-editor-font-family); font-size: var(--vscode-editor-font-size); }
code { color: var(--vscode-textPreformat-foreground); background: var(--vscode-textPreformat-background); padding: 0 0.2em; border-radius: 3px; }
pre { background: var(--vscode-textCodeBlock-background); padding: 0.6em 0.8em; overflow-x: auto; line-height: 1.35; }
a { color: var(--vscode-textLink-foreground); text-decoration: none; }
a:hover { color: var(--vscode-textLink-activeForeground); text-decoration: underline; }
table { border-collapse: collapse; margin: 0.6em 0; }
th, td { text-align: left; padding: 0.25em 1em 0.25em 0; border-bottom: 1px solid var(--vscode-widget-border, var(--vscode-panel-border)); vertical-align: top; }
th { color: var(--vscode-descriptionForeground); font-weight: 600; }
td.bars, td.line { white-space: nowrap; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
.bar { display: inline-block; width: 5em; height: 0.6em; margin-right: 0.6em; background: var(--vscode-editorWidget-background); \
border: 1px solid var(--vscode-widget-border, var(--vscode-panel-border)); }
.bar span { display: block; height: 100%; background: var(--vscode-charts-blue); }
.good { color: var(--vscode-charts-green); white-space: nowrap; }
.bad { color: var(--vscode-errorForeground); }
hr { border: none; border-top: 1px solid var(--vscode-widget-border, var(--vscode-panel-border)); margin: 1.5em 0; }
.working { width: 16em; height: 0.25em; overflow: hidden; background: var(--vscode-editorWidget-background); }
.working span { display: block; width: 30%; height: 100%; background: var(--vscode-progressBar-background); animation: move 1.6s ease-in-out infinite alternate; }
@keyframes move { from { margin-left: 0; } to { margin-left: 70%; } }
svg text { font-family: var(--vscode-editor-font-family); font-size: 12px; fill: var(--vscode-foreground); }
svg rect { fill: var(--vscode-editorWidget-background); stroke: var(--vscode-focusBorder); }
svg path { fill: none; stroke: var(--vscode-charts-orange); stroke-width: 1.5; }
svg path.head { fill: var(--vscode-charts-orange); }
svg text.words { fill: var(--vscode-descriptionForeground); font-family: var(--vscode-font-family); }";

/// A whole page; `uri`: of the document that it speaks of.
pub fn page(report: &Report, uri: &str) -> String {
    let mut out = String::from("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    out.push_str(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n",
    );
    let _ = write!(
        out,
        "<title>{}</title>\n<style>\n{STYLE}\n</style>\n</head>\n<body>\n",
        escaped(&report.title)
    );
    let _ = writeln!(out, "<h1>{}</h1>", words(&report.title));
    for part in &report.parts {
        self::part(part, uri, &mut out);
        out.push('\n');
    }
    out.push_str("</body>\n</html>\n");
    out
}

fn part(part: &Part, uri: &str, out: &mut String) {
    let _ = match part {
        Part::Heading(level, text) => write!(out, "<h{0}>{1}</h{0}>", (*level).clamp(2, 4), words(text)),
        Part::Text(text) => write!(out, "<p>{}</p>", words(text)),
        Part::Code(text) => write!(out, "<pre>{}</pre>", escaped(text)),
        Part::Rule => write!(out, "<hr>"),
        Part::List(items) => {
            list(items, out);
            Ok(())
        }
        Part::Table(t) => {
            table(t, uri, out);
            Ok(())
        }
        Part::Graph(g) => write!(out, "{}", svg::drawn(g, &|line| place(uri, line))),
        Part::Working(text, token) => {
            let cancel = token
                .as_ref()
                .map(|t| format!("<p><a href=\"{}\">Cancel</a></p>", command(CANCEL, &json!([t]))));
            let cancel = cancel.unwrap_or_default();
            write!(
                out,
                "<p>{}</p>\n<div class=\"working\" role=\"progressbar\"><span></span></div>\n{cancel}",
                words(text)
            )
        }
    };
}

fn list(items: &[(usize, String)], out: &mut String) {
    let mut open = 0;
    for (depth, text) in items {
        while open > depth + 1 {
            out.push_str("</ul>");
            open -= 1;
        }
        while open < depth + 1 {
            out.push_str("<ul>");
            open += 1;
        }
        let _ = write!(out, "<li>{}</li>", words(text));
    }
    out.push_str(&"</ul>".repeat(open));
}

fn table(t: &Table, uri: &str, out: &mut String) {
    out.push_str("<table>\n<tr>");
    for head in &t.heads {
        let _ = write!(out, "<th>{}</th>", words(head));
    }
    out.push_str("</tr>\n");
    for row in &t.rows {
        out.push_str("<tr>");
        row.iter().for_each(|c| cell(c, uri, out));
        out.push_str("</tr>\n");
    }
    out.push_str("</table>");
}

fn cell(c: &Cell, uri: &str, out: &mut String) {
    let _ = match c {
        Cell::Words(text) => write!(out, "<td>{}</td>", words(text)),
        Cell::Verdict(is_good, text) => {
            write!(out, "<td class=\"{}\">{}</td>", if *is_good { "good" } else { "bad" }, words(text))
        }
        Cell::Number(n) => write!(out, "<td class=\"number\">{n}</td>"),
        Cell::Bar { value, of, words: text } => {
            let percent = (100 * value / (*of).max(1)).min(100);
            write!(
                out,
                "<td class=\"bars\"><span class=\"bar\"><span style=\"width: {percent}%\"></span></span>{}</td>",
                words(text)
            )
        }
        Cell::Line(line, text) => {
            write!(out, "<td class=\"line\"><a href=\"{}\">{}</a></td>", place(uri, *line), words(text))
        }
    };
}

/// A link to a line, from 1.
fn place(uri: &str, line: u32) -> String {
    command(OPEN, &json!([uri, line]))
}

/// A link that runs a command.
pub fn command(name: &str, arguments: &serde_json::Value) -> String {
    let mut out = format!("command:{name}?");
    for byte in arguments.to_string().bytes() {
        match byte {
            b if b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'~') => {
                out.push(char::from(b))
            }
            b => {
                let _ = write!(out, "%{b:02X}");
            }
        }
    }
    out
}

/// Words with code in backticks, and what is emphasised in asterisks.
fn words(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let parts: Vec<&str> = text.split('`').collect();
    // an odd number of backticks would leave a span open
    if parts.len().is_multiple_of(2) {
        return escaped(text);
    }
    for (k, part) in parts.iter().enumerate() {
        match k % 2 {
            1 => {
                let _ = write!(out, "<code>{}</code>", escaped(part));
            }
            _ => out.push_str(&emphasised(part)),
        }
    }
    out
}

fn emphasised(text: &str) -> String {
    let whole = text.strip_prefix('*').and_then(|t| t.strip_suffix('*'));
    if let Some(own) = whole.filter(|own| !own.is_empty() && !own.contains('*')) {
        return format!("<em>{}</em>", escaped(own));
    }
    let parts: Vec<&str> = text.split("**").collect();
    if parts.len().is_multiple_of(2) {
        return escaped(text);
    }
    let one = |(k, part): (usize, &&str)| match k % 2 {
        1 => format!("<b>{}</b>", escaped(part)),
        _ => escaped(part),
    };
    parts.iter().enumerate().map(one).collect()
}

/// Text that stands for itself, in elements and in attributes.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_from_outside_is_markup() {
        let evil = "<img src=x onerror=alert(1)> \"'& `a<b>` **<i>**";
        let parts = vec![
            Part::Text(evil.into()),
            Part::Heading(2, evil.into()),
            Part::List(vec![(0, evil.into()), (2, evil.into()), (1, evil.into())]),
            Part::Code(evil.into()),
            Part::Table(Table {
                heads: vec!["a"],
                rows: vec![vec![Cell::Words(evil.into()), Cell::Line(1, evil.into())]],
            }),
            Part::Working(evil.into(), Some(evil.into())),
        ];
        let html = page(&Report { title: evil.into(), parts }, "file:///a\"><script>");
        for bad in ["<img", "<script", "<i>", "onerror=alert(1)> \""] {
            assert!(!html.contains(bad), "{bad}: {html}");
        }
        assert!(html.contains("<code>a&lt;b&gt;</code> <b>&lt;i&gt;</b>"), "{html}");
        assert!(
            html.contains(
                "command:warpwright.openPlace?%5B%22file%3A%2F%2F%2Fa%5C%22%3E%3Cscript%3E%22%2C1%5D"
            ),
            "{html}"
        );
        assert_eq!(html.matches("<ul>").count(), html.matches("</ul>").count());
    }
}
