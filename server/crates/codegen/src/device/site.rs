//! Where host text goes, and how the file around it is written: line ends, indentation, pragmas.

use crate::plan::Site;

/// The file's line ends.
pub(crate) fn line_end(text: &str) -> &'static str {
    if text.contains("\r\n") {
        "\r\n"
    } else if text.contains('\r') && !text.contains('\n') {
        "\r"
    } else {
        "\n"
    }
}

/// Indentation of the loop's line, and one step of indentation as the file uses it.
pub(crate) fn indentation(site: &Site<'_>) -> (String, String) {
    let at = loop_start(site);
    let base: String = line_of(site.file_text, at).chars().take_while(|c| *c == ' ' || *c == '\t').collect();
    if base.starts_with('\t') {
        return (base, "\t".to_string());
    }
    // The first deeper line of the loop shows the step.
    let text = site.text.get(site.span.range()).unwrap_or("");
    for line in text.lines().skip(1) {
        let lead: String = line.chars().take_while(|c| *c == ' ' || *c == '\t').collect();
        if lead.len() == line.trim_end().len() {
            continue;
        }
        if let Some(step) = lead.strip_prefix(base.as_str()) {
            if step == "\t" || (2..=8).contains(&step.len()) && step.bytes().all(|c| c == b' ') {
                return (base, step.to_string());
            }
        }
    }
    let step = if (2..=3).contains(&base.len()) { base.len() } else { 4 };
    (base, " ".repeat(step))
}

/// The loop's first byte in the file.
pub(crate) fn loop_start(site: &Site<'_>) -> usize {
    (site.base_offset as usize + site.span.start as usize).min(site.file_text.len())
}

/// Where the block's end goes: after the loop, and after a comment that ends its last line.
pub(crate) fn closing(site: &Site<'_>) -> usize {
    let text = site.file_text;
    let end = (site.base_offset as usize + site.span.end as usize).min(text.len());
    let rest = text[end..].split(['\n', '\r']).next().unwrap_or("");
    let words = rest.trim();
    // what is said to us speaks of the next loop
    if words.contains("warpwright:") {
        return end;
    }
    let line = words.starts_with("//") && !words.ends_with('\\');
    let block = words.starts_with("/*") && words.find("*/") == Some(words.len().wrapping_sub(2));
    if line || block {
        end + rest.len()
    } else {
        end
    }
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind(['\n', '\r']).map_or(0, |k| k + 1)
}

fn line_of(text: &str, at: usize) -> &str {
    let start = line_start(text, at);
    text[start..].split(['\n', '\r']).next().unwrap_or("")
}

/// Where the block's opening goes: before the loop, and before pragmas of other tools that belong to it. The second
/// value tells whether that is the start of a line.
pub(crate) fn opening(site: &Site<'_>) -> (usize, bool) {
    let text = site.file_text;
    let at = (site.opening as usize).min(loop_start(site));
    let start = line_start(text, at);
    match text[start..at].trim().is_empty() && at < loop_start(site) {
        true => (start, true),
        false => (at, false),
    }
}

/// Whether the loop is a statement of a block, as the characters around it say: where it is a part of another statement, an
/// `else` behind it could come to belong to what is put around it.
pub(crate) fn stands_by_itself(site: &Site<'_>) -> bool {
    let text = site.file_text;
    let before = text.get(site.base_offset as usize..opening(site).0).unwrap_or("");
    let behind = text.get(closing(site)..).unwrap_or("");
    let starts = matches!(words(before).last(), Some("{" | "}" | ";"));
    starts && words(behind).next() != Some("else")
}

/// Names and single characters, without comments, strings and directives.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    let mut fresh = true;
    std::iter::from_fn(move || loop {
        let first = rest.chars().next()?;
        let is_part = |c: char| c == '_' || c.is_alphanumeric();
        let skipped = match first {
            '\n' | '\r' => {
                fresh = true;
                1
            }
            c if c.is_whitespace() => c.len_utf8(),
            '/' if rest.starts_with("//") => rest.find(['\n', '\r']).unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest[2..].find("*/").map_or(rest.len(), |k| k + 4),
            '#' if fresh => {
                let mut end = 0;
                loop {
                    let line = rest[end..].find('\n').map_or(rest.len(), |k| end + k);
                    let goes_on = rest[end..line].trim_end_matches('\r').ends_with('\\');
                    end = line;
                    if !goes_on || end >= rest.len() {
                        break end;
                    }
                    end += 1;
                }
            }
            _ => {
                fresh = false;
                let end = match first {
                    quote @ ('"' | '\'') => quoted(rest, quote),
                    c if is_part(c) => rest.find(|c| !is_part(c)).unwrap_or(rest.len()),
                    c => c.len_utf8(),
                };
                let (word, others) = rest.split_at(end);
                rest = others;
                return Some(word);
            }
        };
        rest = &rest[skipped..];
    })
}

/// Where a string that begins here ends.
fn quoted(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    let ends = |&(_, c): &(usize, char)| {
        let ends = !is_escaped && c == quote || c == '\n';
        is_escaped = c == '\\' && !is_escaped;
        ends
    };
    text.char_indices().skip(1).find(ends).map_or(text.len(), |(k, c)| k + c.len_utf8())
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Span;

    fn site<'a>(file: &'a str, base: usize, what: &str) -> Site<'a> {
        let at = file.find(what).unwrap();
        Site {
            text: &file[base..],
            base_offset: base as u32,
            file_text: file,
            file_name: "f.c",
            span: Span::new(at - base, at - base + what.len()),
            line: 1,
            opening: at as u32,
        }
    }

    #[test]
    fn pragmas_of_others_stay_with_their_loop() {
        let f = "void f() {\n  #pragma ops target\n  #pragma omp parallel for\n  for(;;);\n}";
        let mut s = site(f, 0, "for(;;);");
        s.opening = f.find("#pragma omp").unwrap() as u32;
        let (at, whole) = opening(&s);
        assert!(whole);
        assert!(f[at..].starts_with("  #pragma omp"));
        let g = "void f() {\n  if (n) for(;;);\n}";
        assert_eq!(opening(&site(g, 0, "for(;;);")), (g.find("for").unwrap(), false));
    }

    #[test]
    fn indentation_is_the_files() {
        let f = "void f() {\n  for(;;)\n    x();\n}";
        assert_eq!(indentation(&site(f, 0, "for(;;)\n    x();")), ("  ".into(), "  ".into()));
        let g = "void f() {\n\tfor(;;)\n\t\tx();\n}";
        assert_eq!(indentation(&site(g, 0, "for(;;)\n\t\tx();")), ("\t".into(), "\t".into()));
    }

    #[test]
    fn what_is_part_of_another_statement_is_told() {
        let alone = |file: &str| stands_by_itself(&site(file, 0, "for(;;);"));
        assert!(alone("void f() {\n  for(;;);\n}"));
        assert!(alone(
            "void f() {\n  g(\"}\"); // if (n)\n#if 1\n  /* else */ for(;;); /* else */\n#endif\n}"
        ));
        assert!(alone("void f() {\n  if (n) { }\n  for(;;);\n  other = 1;\n}"));
        assert!(!alone("void f() {\n  if (n)\n    for(;;);\n  else g();\n}"));
        assert!(!alone("void f() {\n  if (n) // ;\n    for(;;);\n}"));
        assert!(!alone("void f() {\nagain: for(;;);\n}"));
        assert!(!alone("void f() {\n#if 1\n  if (n)\n    g();\n  for(;;);\n#endif\n  else g();\n}"));
    }
}
