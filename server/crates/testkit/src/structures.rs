//! Random functions of a host whose sizes, and sometimes arrays, are members of a structure: what programs with more than a few
//! numbers do with them.

use crate::rng::Rng;

/// The function `f` of a text with some of its parameters as members of a structure that it is given, by value or by a pointer; in
/// some a member changes on the way, or is read under a condition alone. The same for the same seed.
pub fn wrapped(text: &str, seed: u64) -> String {
    let mut rng = Rng::new(seed ^ 0x57A0_C709);
    let Some(at) = text.find("int f(") else { return text.to_owned() };
    let (before, function) = text.split_at(at);
    let Some((parameters, body)) = function["int f(".len()..].split_once(")\n{") else {
        return text.to_owned();
    };
    let by_value = rng.chance(25);
    let (holder, arrow) = if by_value { ("struct given", ".") } else { ("struct given *", "->") };
    let constant = if !by_value && rng.chance(50) { "const " } else { "" };
    let arrays = rng.chance(25);
    let (mut members, mut kept) = (Vec::new(), Vec::new());
    for p in parameters.split(", ") {
        let name = p.rsplit([' ', '*']).next().unwrap_or(p);
        // pointers that are exchanged, and lengths of parameters, stay what they are
        let plain = p.starts_with("int ") && !p.contains('[') && !p.contains("**");
        let is_size = plain && !p.contains('*') && !parameters.contains(&format!("[{name}]"));
        let exchanged = body.contains(&format!(" {name} = ")) || body.contains(&format!("= {name};"));
        let is_array = arrays && plain && p.contains('*') && !exchanged;
        match is_size && name != "start" || is_array {
            true => members.push((p.replace("restrict ", ""), name)),
            false => kept.push(p.to_owned()),
        }
    }
    let mut body = body.to_owned();
    for (_, name) in &members {
        body = with_word(&body, name, &format!("given{arrow}{name}"));
    }
    if constant.is_empty() && !by_value && rng.chance(30) {
        // one more round, or one less, decided on the way
        let line = [
            "    if (s == 13) given->rounds = given->rounds - 1;\n",
            "    if (r > 900) given->rounds = 0;\n",
        ];
        let line = *rng.pick(&line);
        if let Some(at) = body.rfind("\n    }\n").filter(|_| members.iter().any(|m| m.1 == "rounds")) {
            body.insert_str(at + 1, &format!("    {line}"));
        }
    }
    if rng.chance(15) {
        body = body.replacen("+ t) &", &format!("+ given{arrow}more) &"), 1);
    }
    let fields: String = members.iter().map(|(p, _)| format!("    {p};\n")).collect();
    kept.insert(0, format!("{constant}{holder}{}given", if by_value { " " } else { "" }));
    format!("struct given {{\n{fields}    int more;\n}};\n\n{before}int f({})\n{{{body}", kept.join(", "))
}

/// The text with a word in the place of another.
fn with_word(text: &str, word: &str, by: &str) -> String {
    let is_part = |c: char| c == '_' || c.is_ascii_alphanumeric();
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(word) {
        let (front, tail) = rest.split_at(at);
        let behind = &tail[word.len()..];
        let whole = !front.ends_with(is_part) && !behind.starts_with(is_part);
        out.push_str(front);
        out.push_str(if whole { by } else { word });
        rest = behind;
    }
    out + rest
}
