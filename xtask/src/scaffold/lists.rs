//! Lines put into lists. Each gives the new text, or `None` where the list is not where it was when this was written.

/// `strided_access` as `StridedAccess` or `stridedAccess`.
pub fn camel(stem: &str, first_too: bool) -> String {
    let mut up = first_too;
    let mut out = String::new();
    for c in stem.chars() {
        match c {
            '_' => up = true,
            c if up => {
                out.push(c.to_ascii_uppercase());
                up = false;
            }
            c => out.push(c),
        }
    }
    out
}

fn is_mod(line: &str) -> bool {
    line.starts_with("mod ") && line.ends_with(';')
}

fn is_public_mod(line: &str) -> bool {
    line.starts_with("pub mod ") && line.ends_with(';')
}

/// `mod NAME;` in its place.
pub fn module(text: &str, stem: &str) -> Option<String> {
    insert_sorted(text, &format!("mod {stem};"), is_mod)
}

pub fn public_module(text: &str, stem: &str) -> Option<String> {
    insert_sorted(text, &format!("pub mod {stem};"), is_public_mod)
}

pub fn lint(text: &str, stem: &str) -> Option<String> {
    let text = module(text, stem)?;
    insert_sorted(&text, &format!("    {stem}::LINT,"), |l| l.starts_with("    ") && l.ends_with("::LINT,"))
}

pub fn action(text: &str, stem: &str) -> Option<String> {
    let text = module(text, stem)?;
    // they stand in the order of the menu, so a new one comes last
    insert_after_last(&text, &format!("    &{stem}::ACTION,"), |l| {
        l.starts_with("    &") && l.ends_with("::ACTION,")
    })
}

pub fn transformation(text: &str, stem: &str) -> Option<String> {
    let text = module(text, stem)?;
    let one = format!("    &{stem}::{},", camel(stem, true));
    insert_after_last(&text, &one, |l| l.starts_with("    &") && l.contains("::") && l.ends_with(','))
}

pub fn language(text: &str, stem: &str) -> Option<String> {
    let name = camel(stem, true);
    let line = text.lines().find(|l| l.starts_with("pub static LANGUAGES: "))?;
    let text = text.replacen(line, &one_more(line, &format!("Language::{name}"))?, 1);
    let constant = format!("    pub const {name}: Language = Language::of(&crate::{stem}::ROW);");
    insert_after_last(&text, &format!("    /// {name}.\n{constant}"), |l| {
        l.starts_with("    pub const ") && l.contains(": Language = ")
    })
}

pub fn vendor(text: &str, stem: &str) -> Option<String> {
    let upper = stem.to_uppercase();
    let text = module(text, stem)?;
    let line = text.lines().find(|l| l.starts_with("pub static ALL: "))?.to_owned();
    let text = text.replacen(&line, &one_more(&line, &format!("&{upper}"))?, 1);
    insert_after_last(&text, &format!("pub use {stem}::{upper};"), |l| l.starts_with("pub use "))
}

/// `[T; 2] = [a, b];` with one more.
fn one_more(line: &str, item: &str) -> Option<String> {
    let (before, rest) = line.split_once("; ")?;
    let (count, rest) = rest.split_once(']')?;
    let count = count.parse::<u32>().ok()? + 1;
    let rest = rest.strip_suffix("];")?;
    Some(format!("{before}; {count}]{rest}, {item}];"))
}

/// A request of our own: handed on by `backend`.
pub fn handler(text: &str, stem: &str) -> Option<String> {
    let method = format!(
        "    pub async fn {stem}(&self, params: lsp::DocumentSymbolParams) -> Result<Option<Value>> {{\n        \
         requests::{stem}::run(self, params).await\n    }}\n"
    );
    insert_before(text, &method, |l| l.starts_with("    pub async fn cancel_progress("))
}

/// … and named to the protocol library.
pub fn route(text: &str, stem: &str) -> Option<String> {
    let name = camel(stem, false);
    let line = format!("    .custom_method(\"warpwright/{name}\", backend::Backend::{stem})");
    insert_after_last(text, &line, |l| l.starts_with("    .custom_method("))
}

pub fn editor_command(text: &str, stem: &str) -> Option<String> {
    let text = module(text, stem)?;
    let name = camel(stem, false);
    let line = text.lines().find(|l| l.starts_with("pub const NAMES: "))?.to_owned();
    let count: u32 = line.split_once("; ")?.1.split_once(']')?.0.parse().ok()?;
    let text = text.replacen(&line, &line.replace(&format!("; {count}]"), &format!("; {}]", count + 1)), 1);
    let text =
        insert_sorted(&text, &format!("    \"warpwright.{name}\","), |l| l.starts_with("    \"warpwright."))?;
    let arm = format!("        \"{name}\" => {stem}::run(backend, call).await,");
    insert_before(&text, &arm, |l| l.starts_with("        _ => Err("))
}

pub fn command(text: &str, stem: &str) -> Option<String> {
    let name = camel(stem, true);
    let text = module(text, stem)?;
    let variant = format!("    /// What it does, in one line\n    {name}({stem}::{name}Args),");
    let text = insert_before(&text, &variant, |l| l == "    /// Explain a finding's code")?;
    let arm = format!("        Command::{name}(args) => {stem}::run(&args),");
    insert_before(&text, &arm, |l| l.starts_with("        Command::Explain("))
}

/// Puts a line among the first lines in a row that `is_entry` takes for entries of one sorted list.
fn insert_sorted(text: &str, line: &str, is_entry: impl Fn(&str) -> bool) -> Option<String> {
    let mut lines: Vec<&str> = text.lines().collect();
    let first = lines.iter().position(|l| is_entry(l))?;
    let count = lines.iter().skip(first).take_while(|l| is_entry(l)).count();
    let list = lines.get(first..first + count)?;
    let at = first
        + list.iter().position(|l| l.trim_end_matches(';') > line.trim_end_matches(';')).unwrap_or(count);
    lines.insert(at, line);
    Some(lines.join("\n") + "\n")
}

fn insert_after_last(text: &str, line: &str, is_entry: impl Fn(&str) -> bool) -> Option<String> {
    let mut lines: Vec<&str> = text.lines().collect();
    let last = lines.iter().rposition(|l| is_entry(l))?;
    lines.insert(last + 1, line);
    Some(lines.join("\n") + "\n")
}

fn insert_before(text: &str, line: &str, is_next: impl Fn(&str) -> bool) -> Option<String> {
    let mut lines: Vec<&str> = text.lines().collect();
    let at = lines.iter().position(|l| is_next(l))?;
    lines.insert(at, line);
    Some(lines.join("\n") + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_go_where_the_list_has_their_place() {
        let text = "mod a;\nmod c;\n\nmod shared;\n\nconst ALL: &[L] = &[\n    a::LINT,\n    c::LINT,\n];\n";
        for (stem, expected) in [("b", 1), ("d", 2), ("a0", 1)] {
            let new = module(text, stem).expect("a list");
            assert_eq!(new.lines().position(|l| l == format!("mod {stem};")), Some(expected), "{new}");
        }
        assert_eq!(module("nothing\n", "b"), None);
        assert_eq!(
            one_more("const A: [&R; 1] = [&X];", "&Y").as_deref(),
            Some("const A: [&R; 2] = [&X, &Y];")
        );
        assert_eq!(
            (camel("a_new_one", true), camel("a_new_one", false)),
            ("ANewOne".into(), "aNewOne".into())
        );
    }
}
