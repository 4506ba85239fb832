//! Functions for a host, handed over as terms, rewritten by pages and written as text of their own; and the call of one in the
//! program's own text, around what it stands for.
//!
//! Nothing in them was read from a program, so no proof is asked: what must hold before a kernel may run in a loop's place stands
//! in the terms as tests. Deliberately absent: which terms a loop needs (whoever plans it), and running what comes out beside the
//! original (`ide`).

use term::{Body, Op};

use super::ctext::LOOP;
use super::derivation::Derivation;
use super::run::{run, Before, Ended, Limits, Outcome};
use super::set::RuleSet;
use super::tree::{Node, Subject, Tree};
use super::write::Writer;
use super::{apply, cstext, ctext, emit};
use crate::limits::rules_host::{LONGEST_LIST, TERMS};
use crate::limits::rules_write::COLUMNS;

/// The page with the steps that every target's host takes.
const STEPS: &str = "host-call";

/// The system that puts the call into the program's own text, unless another is named.
pub const PLACING: &str = "offload";

/// What stands before the function.
const AHEAD: &str = "_Ahead";

/// Where the program's own text stays, in a line of its own.
const HOLE: &str = "\u{1}";

/// A call in the program's own text.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PlacedCall {
    /// What stands before the function.
    pub ahead: String,
    /// Lines before and behind the text that the call stands for, four spaces a level.
    pub before: String,
    pub behind: String,
    /// Whether they are several statements.
    pub several: bool,
    /// Headers that it needs.
    pub includes: Vec<String>,
    /// A line for each step that was taken.
    pub derivation: Vec<String>,
}

/// Functions as text.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HostFunctions {
    pub text: String,
    /// Headers that the text needs: `<stdlib.h>`, `"own.h"`.
    pub includes: Vec<String>,
    /// A line for each step that was taken.
    pub derivation: Vec<String>,
}

/// The page that writes methods of C#.
const METHODS: &str = "csharp-host";

/// The system that puts the call into a program in C#, unless another is named.
pub const PLACING_CSHARP: &str = "csharp-offload";

/// Methods in the notation, with calls of kernels in them, as C#. `Err`: a sentence that says what a page leaves unwritten.
pub fn host_methods(set: &RuleSet, methods: &str) -> Result<HostFunctions, String> {
    let Rewritten { body, subject, tree, includes, derivation } = rewritten(set, &[METHODS], methods)?;
    let writer = Writer::new(&subject, &body, &subject.types, "", 0, false);
    let mut text = String::new();
    let mut after_comment = true;
    for item in &flat(&Node::list(vec![emit::bare(&subject, &tree)])).args {
        if !after_comment {
            text.push('\n');
        }
        after_comment = item.is("Comment");
        let written = match after_comment {
            true => cstext::statement(&writer, item, ""),
            false => cstext::method(&writer, item),
        };
        let why = |why| format!("What the rule page `{METHODS}` makes cannot be written: {why}.");
        text += &(written.map_err(why)? + "\n");
    }
    let text = text.lines().map(|l| folded(l, COLUMNS) + "\n").collect();
    Ok(HostFunctions { text, includes, derivation })
}

/// Functions in the notation, with calls of kernels in them, as C++ in the words of a page such as `cuda-calls`. `Err`: a
/// sentence that says what a page leaves unwritten.
pub fn host_functions(set: &RuleSet, words: &str, functions: &str) -> Result<HostFunctions, String> {
    let Rewritten { body, subject, tree, includes, derivation } = rewritten(set, &[STEPS, words], functions)?;
    let text = written(&subject, &body, &tree, true).map_err(|why| {
        format!("What the rule pages `{STEPS}` and `{words}` make cannot be written: {why}.")
    })?;
    Ok(HostFunctions { text, includes, derivation })
}

/// `_Offloaded(…)` as what is put around the text that it stands for, in lines of at most so many columns. `system`: a page such as
/// `offload`. `Err`: a sentence that says what the page leaves undone.
pub fn placed_call(
    set: &RuleSet,
    system: &str,
    call: &str,
    (columns, is_csharp): (usize, bool),
) -> Result<PlacedCall, String> {
    let Rewritten { body, subject, tree, includes, derivation } = rewritten(set, &[system], call)?;
    let unwritten = |why: String| format!("What the rule page `{system}` makes cannot be written: {why}.");
    let all = flat(&Node::list(vec![tree]));
    let (ahead, statements): (Vec<Tree>, Vec<Tree>) = all.args.iter().cloned().partition(|n| n.is(AHEAD));
    let holes = statements.iter().flat_map(|n| n.walk()).filter(ctext::is_loop).count();
    if holes != 1 {
        return Err(format!(
            "The rule page `{system}` keeps the program's own text {holes} times (`{LOOP}`). It is to stand there once. Mend it, or \
             take it away to use the one that ships."
        ));
    }
    let ahead = Node::list(ahead.iter().flat_map(|n| n.args.iter()).cloned().collect());
    let ahead = written(&subject, &body, &flat(&ahead), false).map_err(unwritten)?;
    let mut writer = Writer::new(&subject, &body, &subject.types, "", 0, false);
    writer.hole = Some(HOLE);
    let one = |n: &Tree| {
        let n = emit::bare(&subject, n);
        match is_csharp {
            true => cstext::statement(&writer, &n, ""),
            false => ctext::statement(&writer, &n, ""),
        }
    };
    let lines: Result<Vec<String>, String> = statements.iter().map(one).collect();
    let text = lines.map_err(unwritten)?.join("\n");
    let mut out =
        PlacedCall { ahead, several: statements.len() > 1, includes, derivation, ..PlacedCall::default() };
    let mut is_behind = false;
    for line in text.lines() {
        let side = if is_behind { &mut out.behind } else { &mut out.before };
        match line.trim() == HOLE {
            true => is_behind = true,
            false => *side += &(folded(line, columns) + "\n"),
        }
    }
    match is_behind {
        true => Ok(out),
        false => Err(unwritten(format!("`{LOOP}` is no statement there"))),
    }
}

/// With the items of lists in it as its own.
fn flat(list: &Tree) -> Tree {
    let items = list.args.iter().flat_map(|n| match n.op {
        Op::List => flat(n).args.to_vec(),
        _ => vec![n.clone()],
    });
    Node::list(items.collect())
}

/// Terms that pages have rewritten.
struct Rewritten {
    body: Body,
    subject: Subject,
    tree: Tree,
    includes: Vec<String>,
    derivation: Vec<String>,
}

/// Terms rewritten by systems, one after the other. `Err`: a sentence that says what they leave unwritten.
fn rewritten(set: &RuleSet, systems: &[&str], terms: &str) -> Result<Rewritten, String> {
    let (body, mut subject) = read(terms)?;
    let (mut includes, mut lines) = (Vec::new(), Vec::new());
    let mut tree = subject.root.clone();
    let mut refused = None;
    let limits = limits(&tree);
    for &name in systems {
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
        lines.extend(Derivation::lines(&derivation, &subject));
        includes.extend(before.into_iter().filter_map(|b| match b {
            Before::Include(header) => Some(header.to_string()),
            Before::Prototype(_) => None,
        }));
        (tree, subject.types) = (next, types);
    }
    // these two say where text stands, and are not written themselves
    let is_place = |head: &str| [LOOP, AHEAD].contains(&head) && !systems.contains(&STEPS);
    // `_Bool*` is a type
    let first =
        |w: &str| w.split(|c: char| !(c.is_alphanumeric() || c == '_')).next() == Some(print::C.truth);
    let is_word = |w: &str| w.starts_with('_') && !first(w) && w[1..].starts_with(char::is_uppercase);
    let is_left = |n: &Tree| match &n.op {
        Op::Apply(head) => head.starts_with('_') && !is_place(head),
        Op::Name(word) => is_word(word) && !is_place(word),
        _ => false,
    };
    if let Some(left) = tree.walk().find(is_left) {
        let what: String = subject.print(&left).chars().take(60).collect();
        let why =
            refused.map_or(String::new(), |r| format!(" (rule {} of `{}`: {})", r.rule, r.system, r.because));
        let named: Vec<String> = systems.iter().map(|s| format!("`{s}`")).collect();
        let who = match named.len() {
            1 => format!("The rule page {} leaves", named.concat()),
            _ => format!("The rule pages {} leave", named.join(" and ")),
        };
        return Err(format!(
            "{who} `{what}` unwritten{why}. Mend yours, or take it away to use the one that ships."
        ));
    }
    Ok(Rewritten { body, subject, tree, includes, derivation: lines })
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
    Ok(out.lines().map(|l| folded(l, COLUMNS) + "\n").collect())
}

/// A line of at most so many columns, gone on with below: behind a comma or before `&&` and `||`, as far outside as can be.
fn folded(line: &str, columns: usize) -> String {
    let mut out = String::new();
    let mut line = line.to_owned();
    let indent = line.len() - line.trim_start().len();
    let opens = ["if (", "for (", "while ("].iter().any(|w| line.trim_start().starts_with(w));
    let deeper = if opens { 8 } else { 4 };
    let deeper = " ".repeat(indent + deeper);
    while line.chars().count() > columns {
        let Some(at) = fold(&line, columns) else { break };
        let rest = line.split_off(at);
        out += &format!("{}\n", line.trim_end());
        line = format!("{deeper}{}", rest.trim_start());
    }
    out + &line
}

/// Where the rest of a line begins: not near its beginning, if it can be helped.
fn fold(line: &str, columns: usize) -> Option<usize> {
    let first = line.len() - line.trim_start().len();
    fold_behind(line, first + columns / 3, columns).or_else(|| fold_behind(line, first, columns))
}

fn fold_behind(line: &str, first: usize, columns: usize) -> Option<usize> {
    let (mut depth, mut in_words) = (0i32, false);
    // how deep, and where; of several places as deep the last
    let mut best: Option<(i32, usize)> = None;
    for (at, c) in line.char_indices() {
        if at > columns {
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
        if let Some(place) = place.filter(|&p| p <= columns) {
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
        let text = folded(&call, COLUMNS);
        assert!(text.lines().count() == 2 && text.lines().all(|l| l.len() <= COLUMNS), "{text}");
        assert_eq!(text.replace("\n        ", " "), call);
        let launch = format!("    {}<<<a + 1, 256>>>({});", "k".repeat(60), ["argument"; 6].join(", "));
        assert!(folded(&launch, COLUMNS).contains("<<<a + 1, 256>>>("), "{}", folded(&launch, COLUMNS));
        let words = format!("    say(\"{}\");", "a, b ".repeat(30));
        assert_eq!(folded(&words, COLUMNS), words);
    }
}
