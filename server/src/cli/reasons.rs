//! Why a loop stays on the host: in the files that `offload` wrote, each place that says no says why when it runs here. The texts'
//! conditions and comments are the reasons; a kernel's text is not touched, and lines stay where they are.

/// What our files say in their heads.
const OURS: &str = "Written by Warpwright.";

/// Whether `offload` wrote a text.
pub fn is_ours(text: &str) -> bool {
    let head: Vec<&str> = text.lines().take(4).flat_map(str::split_whitespace).collect();
    head.join(" ").contains(OURS)
}

/// The text with its reasons and with what says them where the program is built by anybody's compiler; another one's as it is.
pub fn self_contained(text: &str) -> String {
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let Some(host) = is_ours(text).then(|| text.find(HOST)).flatten() else { return text.to_owned() };
    let Some(line) = text[host..].find('\n').map(|n| host + n + 1) else { return text.to_owned() };
    // no reason stands among the kernels before it
    let (kernels, host) = (&text[..line], with_reasons(text).split_off(line));
    format!("{kernels}{}{host}", SAYS.replace('\n', end))
}

/// Behind this line stands what the host does; before it kernels and what they call.
const HOST: &str = "#ifndef __CUDACC_RTC__ /* NVRTC compiles kernels only */";

/// What a program says of itself. `warpwright run` brings its own.
const SAYS: &str = r#"#if !defined(WW_SAYS) && !defined(WW_CUDA_SHIM_H)
#define WW_SAYS
#include <stdio.h>
#include <stdlib.h>
/* with WW_VERBOSE=1 in the environment: whether a loop ran on the GPU, and why not */
static int ww_says(const char *function, int ran, const char *why)
{
    const char *verbose = getenv("WW_VERBOSE");
    if (!verbose || !*verbose || *verbose == '0')
        return ran;
    if (ran)
        fprintf(stderr, "warpwright: %s: ran on the device\n", function);
    else
        fprintf(stderr, "warpwright: %s: the program's own loop runs, %s\n", function, why);
    return ran;
}
#endif
"#;

/// The text with its reasons; another one's as it is.
pub fn with_reasons(text: &str) -> String {
    if !is_ours(text) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    // the statement so far, and the comment before it
    let (mut statement, mut comment) = (String::new(), None::<String>);
    let (mut is_entry, mut is_host, mut is_test) = (false, !text.contains(HOST), false);
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim();
        if trimmed.starts_with("#else") {
            is_host = false;
        }
        is_host |= trimmed == HOST;
        if line.starts_with("extern \"C\"") {
            is_entry = trimmed.starts_with("extern \"C\" int ") && trimmed.contains("_on_gpu(");
        }
        // who calls a function that tests says what it is for
        if line.starts_with(char::is_alphabetic) {
            is_test = line.starts_with("static bool ");
        }
        let reason = match (is_host && !is_test, trimmed) {
            (true, "return 0;") => declined(&statement, comment.as_deref()),
            _ => None,
        };
        let result = trimmed.strip_prefix("return ok").and_then(|r| r.strip_suffix(';'));
        match (reason, result) {
            (Some(why), _) => {
                let call = format!("return ww_says(__func__, 0, \"{}\");", escaped(&why));
                out.push_str(&line.replacen("return 0;", &call, 1));
            }
            (None, Some(rest))
                if is_host && is_entry && rest.chars().all(|c| c == '_' || c.is_ascii_digit()) =>
            {
                let value = format!("ok{rest}");
                let call = format!("return ww_says(__func__, {value}, \"{FAILED}\");");
                out.push_str(&line.replacen(&format!("return {value};"), &call, 1));
            }
            _ => out.push_str(line),
        }
        if let Some(words) = trimmed.strip_prefix("/*").and_then(|w| w.strip_suffix("*/")) {
            comment = Some(words.trim().to_owned());
            statement.clear();
        } else if trimmed.ends_with([';', '{', '}']) || trimmed.starts_with('#') || trimmed.is_empty() {
            statement.clear();
            comment = None;
        } else {
            statement.push_str(trimmed);
            statement.push(' ');
        }
    }
    out
}

const FAILED: &str = "a call of the run time failed, or what was found on the device ruled its results out";

/// Why `return 0;` behind this statement says no; `None` where somebody else has said it.
fn declined(statement: &str, comment: Option<&str>) -> Option<String> {
    let condition = statement.trim().strip_prefix("if (")?.strip_suffix(')')?;
    let asks_a_step =
        condition.starts_with('!') && (condition.contains("_launch(") || condition.contains("_steps("));
    if asks_a_step {
        return None;
    }
    Some(match comment {
        Some(words) => format!("this does not hold: {words}"),
        None => format!("because {condition}"),
    })
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use super::{self_contained, with_reasons, HOST, SAYS};

    #[test]
    fn what_says_no_says_why() {
        let head = "/* s.c, line 3. Written by Warpwright. */\n";
        let text = "static bool apart(int n)\n{\n    if (n)\n        return 0;\n    return 1;\n}\nextern \"C\" int f_i_on_gpu(int n)\n{\n    if (n <= 0 ||\n        n > 9)\n        return 0;\n    /* a and \"b\" \
                    do not overlap */\n    if (!apart(a, b))\n        return 0;\n    {\n        if (!f_i_launch(n))\n            return 0;\n    }\n    \
                    return ok_2;\n}\n#else\nint f_i_on_gpu(int n)\n{\n    if (n)\n        return 0;\n    return ok;\n}\n";
        let new = with_reasons(&format!("{head}{text}"));
        let says: Vec<&str> = new.lines().filter(|l| l.contains("ww_says")).map(str::trim).collect();
        assert_eq!(
            says,
            [
                "return ww_says(__func__, 0, \"because n <= 0 || n > 9\");",
                "return ww_says(__func__, 0, \"this does not hold: a and \\\"b\\\" do not overlap\");",
                "return ww_says(__func__, ok_2, \"a call of the run time failed, or what was found on the device ruled its results out\");",
            ]
        );
        assert_eq!(new.lines().count(), 1 + text.lines().count());
        // others' texts are theirs
        assert_eq!(with_reasons(text), text);
        // nor is what a kernel calls the host's
        let device =
            "__device__ int half(int n)\n{\n    if (n < 0)\n        return 0;\n    return n / 2;\n}\n";
        let alone = self_contained(&format!("{head}{device}{HOST}\n{text}#endif\n"));
        assert!(alone.starts_with(&format!("{head}{device}{HOST}\n{SAYS}static bool")), "{alone}");
        assert_eq!(alone.matches("return ww_says(").count(), 3);
        assert_eq!(self_contained(text), text);
    }
}
