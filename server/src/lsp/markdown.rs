//! Markdown for clients that show none.

/// Markdown as plain text: without the marks for emphasis, code and escapes.
pub fn plain(markdown: &str) -> String {
    let mut out = String::with_capacity(markdown.len());
    let mut fenced = false;
    for line in markdown.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            continue;
        }
        if fenced {
            out.push_str(line);
        } else {
            plain_line(line, &mut out);
        }
        out.push('\n');
    }
    out.truncate(out.trim_end().len());
    out
}

fn plain_line(line: &str, out: &mut String) {
    let text = line.trim_start_matches('#');
    let text = if text.len() < line.len() { text.trim_start() } else { line };
    let mut chars = text.chars().peekable();
    let mut in_code = false;
    while let Some(c) = chars.next() {
        match c {
            '`' => in_code = !in_code,
            '\\' if !in_code && chars.peek().is_some_and(char::is_ascii_punctuation) => {
                out.extend(chars.next())
            }
            '*' if !in_code && chars.peek() == Some(&'*') => drop(chars.next()),
            _ => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn markdown_without_marks() {
        let markdown = "## A *b*\n\n**Bold** `a[i] * 2 \\ x` and 2\\*3\n```c\nx = `y`;\n```\n- one";
        assert_eq!(super::plain(markdown), "A *b*\n\nBold a[i] * 2 \\ x and 2*3\nx = `y`;\n- one");
    }
}
