//! NVRTC's log, read: messages with their places, and the resources of every kernel (`--ptxas-options=-v`).
//!
//! What is not recognized stays in the log as it is and yields no field: a number that was not read is `None`, not 0.

use crate::{CompileMessage, KernelResources, MessageStage, Severity};

/// The messages of a log. `name` and `source` are what was compiled: a column is given only where the excerpt that
/// the compiler printed is that very line.
pub(crate) fn messages(log: &str, name: &str, source: &str) -> Vec<CompileMessage> {
    let source: Vec<&str> = source.split('\n').map(|l| l.trim_end_matches('\r')).collect();
    let lines: Vec<&str> = log.lines().collect();
    let (mut found, mut i) = (Vec::new(), 0);
    while let Some(line) = lines.get(i) {
        i += 1;
        if let Some(mut message) = front_end(line) {
            let rest: Vec<&str> =
                lines.iter().skip(i).take_while(|l| !l.trim().is_empty()).copied().collect();
            let rest: Vec<&str> =
                rest.iter().take_while(|l| front_end(l).is_none() && other(l).is_none()).copied().collect();
            i += rest.len();
            let in_source = message.file.as_deref() == Some(name);
            let wanted = message.line.filter(|_| in_source).and_then(|l| source.get(l as usize - 1)).copied();
            read_excerpt(&mut message, &rest, wanted);
            found.push(message);
        } else if let Some(message) = other(line) {
            found.push(message);
        }
    }
    found
}

/// `name(12): error: text`, `name(12): warning #177-D: text`.
fn front_end(line: &str) -> Option<CompileMessage> {
    let mut from = 0;
    loop {
        let at = from + line.get(from..)?.find("): ")?;
        from = at + 3;
        let Some((file, number)) = line.get(..at).and_then(|head| head.rsplit_once('(')) else {
            continue;
        };
        let Some(number) = number.parse::<u32>().ok().filter(|n| *n > 0) else {
            continue;
        };
        let Some((severity, text)) = line.get(from..).and_then(severity) else {
            continue;
        };
        return Some(CompileMessage {
            stage: MessageStage::Compiler,
            file: Some(file.to_owned()),
            line: Some(number),
            column: None,
            severity,
            text: text.to_owned(),
        });
    }
}

/// `error: text`, `catastrophic error: text`, `warning #177-D: text`, `remark: text`.
fn severity(text: &str) -> Option<(Severity, &str)> {
    let words = [
        ("error", Severity::Error),
        ("catastrophic error", Severity::Error),
        ("internal error", Severity::Error),
        ("command-line error", Severity::Error),
        ("warning", Severity::Warning),
        ("remark", Severity::Note),
        ("note", Severity::Note),
    ];
    let (head, rest) = text.split_once(": ")?;
    // the number of the message says which one it is; it stays in the log
    let word = head.split_once(" #").map_or(head, |(word, _)| word);
    words.iter().find(|(w, _)| *w == word).map(|(_, severity)| (*severity, rest))
}

/// Messages without a place in the kernel: those of NVRTC's options and of ptxas, whose lines are of the PTX.
fn other(line: &str) -> Option<CompileMessage> {
    let (stage, severity, text) = if let Some(rest) = line.strip_prefix("nvrtc: ") {
        let (severity, text) = severity(rest)?;
        (MessageStage::Options, severity, text)
    } else {
        let rest = line.strip_prefix("ptxas ")?;
        let (head, text) = rest.split_once(": ")?;
        let word = head.rsplit(';').next().unwrap_or(head).trim();
        let severity = match word {
            "error" | "fatal" => Severity::Error,
            "warning" => Severity::Warning,
            _ => return None,
        };
        (MessageStage::Assembler, severity, text)
    };
    let text = text.trim().to_owned();
    Some(CompileMessage { stage, file: None, line: None, column: None, severity, text })
}

/// The lines under a message: the excerpt with its caret, and notes, which join the text.
fn read_excerpt(message: &mut CompileMessage, rest: &[&str], source: Option<&str>) {
    let is_caret = |l: &str| l.trim() == "^";
    let mut i = 0;
    while let Some(line) = rest.get(i) {
        match rest.get(i + 1) {
            Some(caret) if is_caret(caret) => {
                let excerpt = line.strip_prefix("  ").unwrap_or(line);
                let before = caret.find('^').unwrap_or(0).saturating_sub(2);
                // the caret counts characters of the excerpt; the column counts bytes of the source
                if source.is_some_and(|s| s.trim_end() == excerpt.trim_end()) {
                    let bytes = excerpt.chars().take(before).map(char::len_utf8).sum::<usize>();
                    message.column = Some(bytes as u32 + 1);
                }
                i += 2;
            }
            _ => {
                message.text.push('\n');
                message.text.push_str(line.trim());
                i += 1;
            }
        }
    }
}

/// What `--ptxas-options=-v` says of every kernel, in the order of their names.
pub(crate) fn resources(log: &str) -> Vec<KernelResources> {
    let mut kernels: Vec<KernelResources> = Vec::new();
    // functions that are not inlined have properties of their own, which are not the kernel's
    let mut of_kernel = false;
    for line in log.lines().filter_map(|l| l.strip_prefix("ptxas")) {
        let text =
            line.split_once(": ").map_or_else(|| line.trim_start_matches([' ', '.']), |(_, t)| t).trim();
        if let Some(name) = text.strip_prefix("Compiling entry function ").and_then(quoted) {
            kernels.push(KernelResources { name: name.to_owned(), ..KernelResources::default() });
            of_kernel = true;
        } else if let Some(name) = text.strip_prefix("Function properties for ") {
            of_kernel = kernels.last().is_some_and(|k| k.name == name.trim());
        } else if let Some(kernel) = kernels.last_mut().filter(|_| of_kernel) {
            if text.contains("bytes stack frame") {
                for part in text.split(',') {
                    let field = match part.trim().split_once(' ').map(|(_, unit)| unit) {
                        Some("bytes stack frame") => &mut kernel.stack_bytes,
                        Some("bytes spill stores") => &mut kernel.spill_store_bytes,
                        Some("bytes spill loads") => &mut kernel.spill_load_bytes,
                        _ => continue,
                    };
                    *field = number(part);
                }
            } else if let Some(used) = text.strip_prefix("Used ") {
                // shared memory that is not named is not used; newer versions never name constant memory
                kernel.shared_bytes = Some(0);
                for part in used.split(',').map(|p| p.trim().trim_start_matches("used ")) {
                    match part.split_once(' ').map(|(_, unit)| unit) {
                        Some("registers") => kernel.registers = number(part),
                        Some("barriers") => kernel.barriers = number(part),
                        Some("bytes smem") => kernel.shared_bytes = number(part),
                        Some(unit) if unit.starts_with("bytes cmem") => {
                            let sum =
                                number(part).and_then(|n| n.checked_add(kernel.constant_bytes.unwrap_or(0)));
                            kernel.constant_bytes = sum;
                        }
                        _ => {}
                    }
                }
            }
        }
    }
    kernels.sort_by(|a, b| a.name.cmp(&b.name));
    kernels
}

fn quoted(text: &str) -> Option<&str> {
    text.strip_prefix('\'')?.split_once('\'').map(|(name, _)| name)
}

fn number(text: &str) -> Option<u32> {
    text.trim().split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recorded from NVRTC 12.9 (13.5 prints the same).
    const ERRORS: &str = "k.cu(3): error: identifier \"b\" is undefined
    \ta[0] = b + 1;
    \t       ^

k (1).cu(5): error: expected a \";\"
  }
  ^

k.cu(2): warning #177-D: variable \"unused\" was declared but never referenced
    int unused;
        ^

Remark: The warnings can be suppressed with \"-diag-suppress <warning-number>\"

k.cu(1): error: expression must have class type but it has type \"float\"
  something else
                 ^
          detected during instantiation of \"T f(T) [with T=float]\" at line 3

k.cu(1): catastrophic error: could not open source file \"stdint.h\" (no directories in search list)
  #include <stdint.h>
                     ^

2 errors detected in the compilation of \"k.cu\".
nvrtc: error: unrecognized option --bogus found
ptxas error   : Entry function 'k' uses too much shared data (0x61a80 bytes, 0xc000 max)
ptxas application ptx input, line 23; error   : Not a name of any known instruction: 'bogus'
ptxas fatal   : Ptx assembly aborted due to errors
ptxas info    : 0 bytes gmem
";

    #[test]
    fn places_of_messages() {
        let source = "#include <stdint.h>\n  int unused;\n  \ta[0] = b + 1;\r\n";
        let found = messages(ERRORS, "k.cu", source);
        let short: Vec<String> = found
            .iter()
            .map(|m| {
                let n = |v: Option<u32>| v.map_or("-".to_owned(), |n| n.to_string());
                format!("{:?} {:?} {}:{} {}", m.stage, m.severity, n(m.line), n(m.column), m.text)
            })
            .collect();
        expect_test::expect![[r#"
            Compiler Error 3:11 identifier "b" is undefined
            Compiler Error 5:- expected a ";"
            Compiler Warning 2:7 variable "unused" was declared but never referenced
            Compiler Error 1:- expression must have class type but it has type "float"
            detected during instantiation of "T f(T) [with T=float]" at line 3
            Compiler Error 1:20 could not open source file "stdint.h" (no directories in search list)
            Options Error -:- unrecognized option --bogus found
            Assembler Error -:- Entry function 'k' uses too much shared data (0x61a80 bytes, 0xc000 max)
            Assembler Error -:- Not a name of any known instruction: 'bogus'
            Assembler Error -:- Ptx assembly aborted due to errors"#]]
        .assert_eq(&short.join("\n"));
        assert_eq!(found[1].file.as_deref(), Some("k (1).cu"));
    }

    /// Recorded from NVRTC 12.9 for sm_70, with one function that is not inlined.
    const VERBOSE: &str = "ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'spill' for 'sm_70'
ptxas info    : Function properties for spill
ptxas         .     824 bytes stack frame, 1752 bytes spill stores, 1872 bytes spill loads
ptxas info    : Used 32 registers, used 0 barriers, 824 bytes cumulative stack size, 364 bytes cmem[0], 8 bytes cmem[2]
ptxas info    : Compile time = 69.033 ms
ptxas info    : Function properties for _Z1ff
ptxas         .     7 bytes stack frame, 7 bytes spill stores, 7 bytes spill loads
ptxas info    : Compiling entry function 'saxpy' for 'sm_70'
ptxas info    : Function properties for saxpy
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 12 registers, used 1 barriers, 256 bytes smem
";

    #[test]
    fn resources_of_kernels() {
        let found = resources(VERBOSE);
        let saxpy = KernelResources {
            name: "saxpy".to_owned(),
            registers: Some(12),
            barriers: Some(1),
            shared_bytes: Some(256),
            constant_bytes: None,
            stack_bytes: Some(0),
            spill_store_bytes: Some(0),
            spill_load_bytes: Some(0),
        };
        let spill = KernelResources {
            name: "spill".to_owned(),
            registers: Some(32),
            barriers: Some(0),
            shared_bytes: Some(0),
            constant_bytes: Some(372),
            stack_bytes: Some(824),
            spill_store_bytes: Some(1752),
            spill_load_bytes: Some(1872),
        };
        assert_eq!(found, [saxpy, spill]);
        assert_eq!(
            resources("ptxas info : Compiling entry function 'k' for 'sm_99'\nptxas info : Used many")[0]
                .registers,
            None
        );
    }

    proptest::proptest! {
        #[test]
        fn any_log_is_read(log in "([ -~é\t]{0,20}|k\\.cu\\([0-9]{0,12}\\): error: x|  \\^|\n|ptxas info    : Used [0-9]{1,12} registers)*") {
            messages(&log, "k.cu", "é\n\tx");
            resources(&log);
        }
    }
}
