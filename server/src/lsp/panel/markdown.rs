//! Reports as Markdown, for editors without panels, and pages of ours read back into parts. Only the Markdown that this program writes
//! is read: headings, lists, tables, fences, rules and paragraphs.

use std::fmt::Write;

use super::{Cell, Graph, Part, Report, Table};

/// The parts of a page.
pub fn read(text: &str) -> Vec<Part> {
    let mut out: Vec<Part> = Vec::new();
    let mut lines = text.lines();
    // whether the next line goes on with the last part
    let mut goes_on = false;
    while let Some(line) = lines.next() {
        let own = line.trim_start();
        let depth = (line.len() - own.len()) / 2;
        if own.starts_with("```") {
            let code: Vec<&str> = lines.by_ref().take_while(|l| !l.trim_start().starts_with("```")).collect();
            out.push(Part::Code(code.join("\n")));
            goes_on = false;
        } else if own.is_empty() {
            goes_on = false;
        } else if own == "---" {
            out.push(Part::Rule);
            goes_on = false;
        } else if own.starts_with('#') {
            let words = own.trim_start_matches('#');
            out.push(Part::Heading((own.len() - words.len()).max(2), words.trim().to_owned()));
            goes_on = false;
        } else if let Some(item) = item_of(own) {
            match out.last_mut() {
                Some(Part::List(items)) if goes_on => items.push((depth, item.to_owned())),
                _ => out.push(Part::List(vec![(depth, item.to_owned())])),
            }
            goes_on = true;
        } else {
            match out.last_mut() {
                Some(Part::Text(words)) if goes_on => *words = format!("{words} {own}"),
                Some(Part::List(items)) if goes_on => {
                    if let Some((_, words)) = items.last_mut() {
                        *words = format!("{words} {own}");
                    }
                }
                _ => out.push(Part::Text(own.to_owned())),
            }
            goes_on = true;
        }
    }
    out
}

/// The words of an item: `- words`, `1. words`.
fn item_of(line: &str) -> Option<&str> {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let numbered = line.get(digits..).filter(|_| digits > 0).and_then(|rest| rest.strip_prefix(". "));
    line.strip_prefix("- ").or(numbered)
}

/// A report as a page; `uri`: of the document that it speaks of.
pub fn written(report: &Report, uri: &str) -> String {
    let mut out = format!("# {}\n", report.title);
    for part in &report.parts {
        out.push('\n');
        match part {
            Part::Heading(level, words) => out.push_str(&format!("{} {words}\n", "#".repeat(*level))),
            Part::Text(words) => out.push_str(&format!("{words}\n")),
            Part::List(items) => {
                for (depth, words) in items {
                    let _ = writeln!(out, "{}- {words}", "  ".repeat(*depth));
                }
            }
            Part::Code(text) => out.push_str(&format!("```\n{text}\n```\n")),
            Part::Rule => out.push_str("---\n"),
            Part::Table(t) => table(t, uri, &mut out),
            Part::Graph(g) => graph(g, uri, &mut out),
            Part::Working(words, _) => out.push_str(&format!("{words} …\n")),
        }
    }
    out
}

fn table(t: &Table, uri: &str, out: &mut String) {
    // columns as wide as what stands in them, so that the text itself can be read
    let rows: Vec<Vec<String>> = t.rows.iter().map(|r| r.iter().map(|c| cell(c, uri)).collect()).collect();
    let width = |k: usize, head: &str| {
        let cells = rows.iter().filter_map(|r| r.get(k)).map(|c| c.chars().count());
        cells.chain([head.chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = t.heads.iter().enumerate().map(|(k, h)| width(k, h)).collect();
    let mut line = |cells: &[String]| {
        for (cell, width) in cells.iter().zip(&widths) {
            let _ = write!(out, "| {cell}{} ", " ".repeat(width - cell.chars().count()));
        }
        out.push_str("|\n");
    };
    line(&t.heads.iter().map(|h| (*h).to_owned()).collect::<Vec<_>>());
    line(&widths.iter().map(|w| "-".repeat(*w)).collect::<Vec<_>>());
    rows.iter().for_each(|r| line(r));
}

fn cell(c: &Cell, uri: &str) -> String {
    let words = match c {
        Cell::Words(words) | Cell::Verdict(_, words) => words.clone(),
        Cell::Number(n) => n.to_string(),
        Cell::Bar { value, of, words } => {
            let filled = (10 * value).div_ceil((*of).max(1)).min(10) as usize;
            format!("{}{} {words}", "█".repeat(filled), "·".repeat(10 - filled))
        }
        Cell::Line(line, words) => format!("[{words}]({uri}#L{line})"),
    };
    words.replace('|', "\\|").replace('\n', " ")
}

fn graph(g: &Graph, uri: &str, out: &mut String) {
    let name = |k: usize| match g.nodes.get(k) {
        Some((words, line)) => {
            format!("`{}` ([line {line}]({uri}#L{line}))", words.join(" ").replace('`', "'"))
        }
        None => String::new(),
    };
    for e in &g.edges {
        let proved = if e.dashed { ", not proved" } else { "" };
        let _ = writeln!(out, "- {} → {}: {}{proved}", name(e.from), name(e.to), e.words);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_read_as_it_is_written() {
        let text = "## A `b`\n\nWords\ngo on.\n\n- one\n  - two\n    and more\n- three\n\n```c\nx = `y`;\n```\n\n---\n\n1. first";
        let parts = read(text);
        assert_eq!(
            parts,
            [
                Part::Heading(2, "A `b`".into()),
                Part::Text("Words go on.".into()),
                Part::List(vec![(0, "one".into()), (1, "two and more".into()), (0, "three".into())]),
                Part::Code("x = `y`;".into()),
                Part::Rule,
                Part::List(vec![(0, "first".into())]),
            ]
        );
    }

    #[test]
    fn tables_line_up_and_link() {
        let rows = vec![
            vec![Cell::Words("a|b".into()), Cell::Bar { value: 1, of: 4, words: "1 B".into() }],
            vec![Cell::Line(3, "line 3".into()), Cell::Number(12)],
        ];
        let report =
            Report { title: "T".into(), parts: vec![Part::Table(Table { heads: vec!["what", "n"], rows })] };
        assert_eq!(
            written(&report, "file:///a.c"),
            "# T\n\n| what                     | n              |\n| ------------------------ | -------------- |\n\
             | a\\|b                     | ███······· 1 B |\n| [line 3](file:///a.c#L3) | 12             |\n"
        );
    }
}
