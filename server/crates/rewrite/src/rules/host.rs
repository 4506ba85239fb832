//! Functions for a host, handed over as terms, rewritten by pages and written as text of their own.
//!
//! Nothing in them was read from a program, so no proof is asked: what must hold before a kernel may run in a loop's place stands
//! in the terms as tests. Deliberately absent: which terms a loop needs (whoever plans it), and running what comes out beside the
//! original (`ide`).

use term::{Body, Op};

use super::derivation::Derivation;
use super::run::{run, Before, Ended, Limits, Outcome};
use super::set::RuleSet;
use super::tree::{Subject, Tree};
use super::write::Writer;
use super::{apply, ctext, emit};
use crate::limits::rules_host::{LONGEST_LIST, TERMS};
use crate::limits::rules_write::COLUMNS;

/// The page with the steps that every target's host takes.
const STEPS: &str = "host-call";

/// Functions as text.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HostFunctions {
    pub text: String,
    /// Headers that the text needs: `<stdlib.h>`, `"own.h"`.
    pub includes: Vec<String>,
    /// A line for each step that was taken.
    pub derivation: Vec<String>,
}

/// Functions in the notation, with calls of kernels in them, as C++ in the words of a page such as `cuda-calls`. `Err`: a
/// sentence that says what a page leaves unwritten.
pub fn host_functions(set: &RuleSet, words: &str, functions: &str) -> Result<HostFunctions, String> {
    let (body, mut subject) = read(functions)?;
    let mut out = HostFunctions::default();
    let mut tree = subject.root.clone();
    let mut refused = None;
    let limits = limits(&tree);
    for name in [STEPS, words] {
        let Some(system) = set.systems.get(name) else {
            return Err(format!("There is no rule page `{name}`, which writes the host's side of kernels."));
        };
        let done = run(system, &set.systems, &subject, &tree, None, limits);
        let Outcome { tree: next, types, derivation, before, ended, .. } = done;
        if ended != Ended::Done {
            let why = apply::words(ended, derivation.steps.len());
            return Err(format!("The rule page `{name}` does not write the host's side: {why}."));
        }
        refused = refused.or(derivation.refused.first().cloned());
        out.derivation.extend(Derivation::lines(&derivation, &subject));
        out.includes.extend(before.into_iter().filter_map(|b| match b {
            Before::Include(header) => Some(header.to_string()),
            Before::Prototype(_) => None,
        }));
        (tree, subject.types) = (next, types);
    }
    let left = tree.walk().find(|n| matches!(&n.op, Op::Apply(head) if head.starts_with('_')));
    if let Some(left) = left {
        let what: String = subject.print(&left).chars().take(60).collect();
        let why =
            refused.map_or(String::new(), |r| format!(" (rule {} of `{}`: {})", r.rule, r.system, r.because));
        return Err(format!(
            "The rule pages `{STEPS}` and `{words}` leave `{what}` unwritten{why}. Mend yours, or take it away to use the one \
             that ships."
        ));
    }
    out.text = written(&subject, &body, &tree, true).map_err(|why| {
        format!("What the rule pages `{STEPS}` and `{words}` make cannot be written: {why}.")
    })?;
    Ok(out)
}

/// What a run on these terms may take. Pages take lists apart from the front, a level an item, and regions of many arrays have
/// long lists of tests.
fn limits(tree: &Tree) -> Limits {
    let usual = Limits::default();
    let longest = tree.walk().map(|n| n.args.len()).max().unwrap_or(0);
    let longest = u32::try_from(longest).unwrap_or(u32::MAX).min(LONGEST_LIST);
    let times = 1 + tree.size / TERMS;
    Limits {
        steps: usual.steps.saturating_mul(u64::from(times)),
        applications: usual.applications.saturating_mul(times),
        depth: usual.depth + 2 * longest,
        ..usual
    }
}

/// Functions in the notation as C, as they are.
pub fn plain_functions(functions: &str) -> Result<String, String> {
    let (body, subject) = read(functions)?;
    written(&subject, &body, &subject.root, false)
}

fn read(functions: &str) -> Result<(Body, Subject), String> {
    let body = term::notation::read(functions).map_err(|e| format!("The terms cannot be read: {e}."))?;
    let subject = Subject::of(&body, "", 0, false, false);
    Ok((body, subject))
}

/// Functions with empty lines between them; a comment stands right before its function. One without a body is a declaration.
fn written(subject: &Subject, body: &Body, functions: &Tree, is_cuda: bool) -> Result<String, String> {
    let writer = Writer::new(subject, body, &subject.types, "", 0, is_cuda);
    let functions = emit::bare(subject, functions);
    let all = match functions.op {
        Op::List => functions.args.to_vec(),
        _ => vec![functions],
    };
    let mut out = String::new();
    let mut after_comment = true;
    for item in &all {
        if !after_comment {
            out.push('\n');
        }
        after_comment = item.is("Comment");
        let is_declared =
            item.args.first().is_some_and(|m| m.args.iter().any(|m| subject.word(m) == Some("extern")));
        out += &match (after_comment, item.is("Function") && item.args.len() == 5) {
            (true, _) => ctext::statement(&writer, item, "")?,
            (_, true) if is_declared => format!("{};", ctext::signature(&writer, item)?),
            (_, true) => ctext::function(&writer, item, true)?,
            _ => return Err(format!("`{}` is no function", subject.print(item))),
        };
        out.push('\n');
    }
    Ok(out.lines().map(|l| folded(l) + "\n").collect())
}

/// A line of at most [`COLUMNS`], gone on with below: behind a comma or before `&&` and `||`, as far outside as can be.
fn folded(line: &str) -> String {
    let mut out = String::new();
    let mut line = line.to_owned();
    let indent = line.len() - line.trim_start().len();
    let opens = ["if (", "for (", "while ("].iter().any(|w| line.trim_start().starts_with(w));
    let deeper = if opens { 8 } else { 4 };
    let deeper = " ".repeat(indent + deeper);
    while line.chars().count() > COLUMNS {
        let Some(at) = fold(&line) else { break };
        let rest = line.split_off(at);
        out += &format!("{}\n", line.trim_end());
        line = format!("{deeper}{}", rest.trim_start());
    }
    out + &line
}

/// Where the rest of a line begins: not near its beginning, if it can be helped.
fn fold(line: &str) -> Option<usize> {
    let first = line.len() - line.trim_start().len();
    fold_behind(line, first + COLUMNS / 3).or_else(|| fold_behind(line, first))
}

fn fold_behind(line: &str, first: usize) -> Option<usize> {
    let (mut depth, mut in_words) = (0i32, false);
    // how deep, and where; of several places as deep the last
    let mut best: Option<(i32, usize)> = None;
    for (at, c) in line.char_indices() {
        if at > COLUMNS {
            break;
        }
        match c {
            '"' => in_words = !in_words,
            _ if in_words => {}
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            '<' if line[at..].starts_with("<<<") => depth += 1,
            '>' if line[at..].starts_with(">>>") => depth -= 1,
            _ => {}
        }
        let rest = &line[at..];
        let place = match () {
            () if in_words || at <= first => None,
            () if rest.starts_with(", ") => Some(at + 1),
            () if rest.starts_with(" && ") || rest.starts_with(" || ") => Some(at),
            () => None,
        };
        if let Some(place) = place.filter(|&p| p <= COLUMNS) {
            if best.is_none_or(|(d, _)| depth <= d) {
                best = Some((depth, place));
            }
        }
    }
    best.map(|b| b.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COPIED: &str = "Function([ExternC],int,f_on_gpu,[Declaration(n,int),Declaration(a,`float*`)],\
        [_InitCuda,_CallCudaKernel(f,_Sizes([n],[256]),[n,ga],[_Array(a,ga,`float*`,n*SizeOfType(float),out)],\
        [_Test(n>0,\"there is something\")],_Results(NIL,NIL))])";

    #[test]
    fn the_pages_write_what_a_kernel_needs() {
        let out = host_functions(&RuleSet::shipped(), "cuda-calls", COPIED).unwrap();
        assert_eq!(
            out.text,
            r#"extern "C" int f_on_gpu(int n, float *a)
{
    /* there is something */
    if (n <= 0)
        return 0;
    float *ga = 0;
    bool ok = true;
    ok = ok && cudaMalloc((void **)&ga, n * sizeof(float)) == cudaSuccess;
    if (ok)
        f<<<n, 256>>>(n, ga);
    ok = ok && cudaGetLastError() == cudaSuccess;
    ok = ok && cudaDeviceSynchronize() == cudaSuccess;
    ok = ok && cudaMemcpy(a, ga, n * sizeof(float), cudaMemcpyDeviceToHost) == cudaSuccess;
    /* where the loop takes over, no error is left behind */
    if (!ok)
        (void)cudaGetLastError();
    (void)cudaFree(ga);
    return ok;
}
"#
        );
        assert!(out.derivation[0].starts_with("host-steps rule 1: _CallCudaKernel("), "{:?}", out.derivation);
    }

    #[test]
    fn a_page_of_the_users_writes_it_his_way() {
        let mut set = RuleSet::shipped();
        let ours = include_str!("../../../../../rules/cuda-calls.md");
        let must = "_Must($ok,$call) -> Assignment($ok,$ok && Equals($call,cudaSuccess))\n";
        let theirs =
            ours.replace(must, "_Must($ok,$call) -> MethodCall(CHECK,$call) [Include(\"check.h\")]\n");
        assert!(theirs != ours);
        set.add("cuda-calls", &theirs);
        let out = host_functions(&set, "cuda-calls", COPIED).unwrap();
        assert!(
            out.text.contains("    CHECK(cudaMalloc((void **)&ga, n * sizeof(float)));\n"),
            "{}",
            out.text
        );
        assert_eq!(out.includes, vec!["\"check.h\"".to_owned()]);
        set.add("cuda-calls", &ours.replace(must, ""));
        let why = host_functions(&set, "cuda-calls", COPIED).unwrap_err();
        assert!(why.contains("leave `_Must(ok,MethodCall(cudaMalloc,"), "{why}");
    }

    #[test]
    fn long_lines_go_on_below() {
        let call = format!("    int x = f({});", ["argument"; 12].join(", "));
        let text = folded(&call);
        assert!(text.lines().count() == 2 && text.lines().all(|l| l.len() <= COLUMNS), "{text}");
        assert_eq!(text.replace("\n        ", " "), call);
        let launch = format!("    {}<<<a + 1, 256>>>({});", "k".repeat(60), ["argument"; 6].join(", "));
        assert!(folded(&launch).contains("<<<a + 1, 256>>>("), "{}", folded(&launch));
        let words = format!("    say(\"{}\");", "a, b ".repeat(30));
        assert_eq!(folded(&words), words);
    }
}
