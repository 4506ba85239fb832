//! OpenMP's spelling: from the text of a pragma to a [`term::Directive`] on the statement it stands before.
//!
//! Names in clauses are looked up as C does at the pragma's place. What is not read (a macro for a list, a clause of a
//! later version) leaves `understood` false, and nothing is then concluded from what a clause does not say.

use std::sync::Arc;

use base::Span;
use term::{Body, Clause, Combiner, Construct, Directive, Named, Op, Sharing, Storage, SymbolId, TermId};

use crate::{DirectiveKind, Item, Unit};

/// The OpenMP directives of one item, in textual order; spans are relative to it.
pub fn omp_directives(unit: &Unit, item: &Item) -> Vec<Directive> {
    let inside = unit.directives.iter().filter(|d| item.span.contains(d.span));
    let mut out = Vec::new();
    for d in inside {
        let DirectiveKind::Foreign(text) = &d.kind else { continue };
        let Some(mut read) = parse(text) else { continue };
        let start = item.span.start;
        read.span = Span { start: d.span.start - start, end: d.span.end - start };
        if !read.has(Construct::Alone) {
            read.target = target(&item.body, d.before.saturating_sub(start), read.wants_loop());
        }
        let scope = scope(&item.body, read.span.start);
        let mut known = read.understood;
        for c in &mut read.clauses {
            let (Clause::Sharing(_, names) | Clause::Reduction(_, names)) = c else { continue };
            for n in names {
                n.symbol = scope(&n.name);
                known &= n.symbol.is_some();
            }
        }
        read.understood = known;
        out.push(read);
    }
    out
}

/// Names of `threadprivate` variables of a unit.
pub fn omp_threadprivate(unit: &Unit) -> Vec<Arc<str>> {
    let mut out = Vec::new();
    for d in &unit.directives {
        let DirectiveKind::Foreign(text) = &d.kind else { continue };
        let Some(list) = words_of(text).and_then(|w| w.strip_prefix("threadprivate")) else { continue };
        let list = list.trim().trim_start_matches('(').trim_end_matches(')');
        out.extend(list.split(',').map(|n| Arc::from(n.trim())));
    }
    out
}

/// The text after `omp`, on one line and without comments.
fn words_of(pragma: &str) -> Option<&str> {
    let rest = pragma.trim().strip_prefix("omp")?;
    rest.starts_with(|c: char| c.is_whitespace()).then(|| rest.trim())
}

/// A pragma's text, from `omp` on.
pub(crate) fn parse(pragma: &str) -> Option<Directive> {
    let flat = flattened(pragma);
    let text = words_of(&flat)?;
    let mut constructs = Vec::new();
    let mut rest = text;
    let mut end = 0;
    loop {
        let word = first_word(rest);
        let Some(c) = construct(word, &constructs) else { break };
        constructs.push(c);
        rest = rest[word.len()..].trim_start();
        end = text.len() - rest.len();
        // what follows the word is its own: names of a critical section, kinds of access
        if matches!(c, Construct::Alone | Construct::Atomic | Construct::Critical | Construct::Other) {
            break;
        }
    }
    let name: Arc<str> = text[..end].trim().into();
    let mut read = Directive {
        understood: !constructs.is_empty() && !constructs.contains(&Construct::Other),
        constructs,
        clauses: Vec::new(),
        span: Span::default(),
        target: None,
        name,
    };
    if read.has(Construct::Alone) || read.has(Construct::Atomic) || read.has(Construct::Critical) {
        return Some(read);
    }
    if read.constructs.is_empty() {
        read.constructs.push(Construct::Other);
        return Some(read);
    }
    while !rest.is_empty() {
        rest = rest.trim_start_matches(|c: char| c == ',' || c.is_whitespace());
        let word = first_word(rest);
        if word.is_empty() {
            read.understood &= rest.is_empty();
            break;
        }
        rest = rest[word.len()..].trim_start();
        let mut argument = None;
        if rest.starts_with('(') {
            let close = closing(rest);
            argument = rest.get(1..close);
            rest = rest.get(close + 1..).unwrap_or("");
        }
        match clause(word, argument) {
            Some(c) => read.clauses.push(c),
            None => read.understood = false,
        }
    }
    Some(read)
}

fn flattened(text: &str) -> String {
    let joined = text.replace("\\\r\n", " ").replace("\\\n", " ");
    let mut out = String::with_capacity(joined.len());
    let mut rest = joined.as_str();
    while let Some(k) = rest.find("/*") {
        out.push_str(&rest[..k]);
        out.push(' ');
        rest = rest[k..].find("*/").map_or("", |e| &rest[k + e + 2..]);
    }
    out.push_str(rest);
    out
}

fn first_word(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len());
    &text[..end]
}

/// The place of the parenthesis that closes the first one.
fn closing(text: &str) -> usize {
    let mut depth = 0;
    for (k, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => {
                depth -= 1;
                if depth == 0 {
                    return k;
                }
            }
            _ => {}
        }
    }
    text.len()
}

fn construct(word: &str, before: &[Construct]) -> Option<Construct> {
    let first = before.is_empty();
    Some(match word {
        "parallel" => Construct::Parallel,
        "for" | "loop" => Construct::For,
        "simd" => Construct::Simd,
        "sections" => Construct::Sections,
        "taskloop" => Construct::Taskloop,
        "teams" => Construct::Teams,
        "distribute" => Construct::Distribute,
        "master" | "masked" => Construct::Masked,
        "section" if first => Construct::Section,
        "single" if first => Construct::Single,
        "critical" if first => Construct::Critical,
        "atomic" if first => Construct::Atomic,
        "ordered" if first => Construct::Ordered,
        "task" if first => Construct::Task,
        "taskgroup" if first => Construct::Taskgroup,
        "target" if first => Construct::Target,
        "barrier" | "flush" | "taskwait" | "taskyield" | "threadprivate" | "declare" | "requires"
        | "cancel" | "cancellation" | "begin" | "end" | "allocate" | "assumes" | "depobj" | "error"
        | "nothing" | "interop"
            if first =>
        {
            Construct::Alone
        }
        "update" | "enter" | "exit" if before == [Construct::Target] => Construct::Alone,
        "scan" if first => Construct::Alone,
        _ if first => Construct::Other,
        _ => return None,
    })
}

fn clause(word: &str, argument: Option<&str>) -> Option<Clause> {
    let number = || argument.and_then(|a| a.trim().parse::<u32>().ok());
    let sharing = |s| Some(Clause::Sharing(s, names(argument?)?));
    match word {
        "private" => sharing(Sharing::Private),
        "firstprivate" => sharing(Sharing::FirstPrivate),
        "lastprivate" => Some(Clause::Sharing(Sharing::LastPrivate, names(after_modifier(argument?).1)?)),
        "shared" => sharing(Sharing::Shared),
        "linear" => Some(Clause::Sharing(Sharing::Linear, names(argument?.split(':').next()?)?)),
        "copyin" | "uses_allocators" | "is_device_ptr" | "use_device_ptr" | "inclusive" | "exclusive" => {
            Some(Clause::Other(word.into()))
        }
        "reduction" | "in_reduction" | "task_reduction" => {
            let (modifiers, list) = argument?.split_once(':')?;
            let op = modifiers.rsplit(',').next()?.trim();
            Some(Clause::Reduction(combiner(op), names(list)?))
        }
        "default" => match argument?.trim() {
            "none" => Some(Clause::DefaultNone),
            "shared" => Some(Clause::Default(Sharing::Shared)),
            "private" => Some(Clause::Default(Sharing::Private)),
            "firstprivate" => Some(Clause::Default(Sharing::FirstPrivate)),
            _ => None,
        },
        "collapse" => Some(Clause::Collapse(number())),
        "ordered" => Some(Clause::Ordered(argument.map(|_| number().unwrap_or(1)))),
        "safelen" | "simdlen" if word == "safelen" => Some(Clause::Safelen(number())),
        "num_threads" | "thread_limit" if word == "num_threads" => match argument?.trim() {
            "1" => Some(Clause::OneThread),
            _ => Some(Clause::Other(word.into())),
        },
        "if" => match argument?.rsplit(':').next()?.trim() {
            "0" => Some(Clause::OneThread),
            _ => Some(Clause::Other(word.into())),
        },
        "schedule" | "dist_schedule" | "nowait" | "aligned" | "simdlen" | "thread_limit" | "num_teams"
        | "proc_bind" | "map" | "device" | "depend" | "untied" | "mergeable" | "final" | "priority"
        | "grainsize" | "num_tasks" | "nogroup" | "order" | "nontemporal" | "allocate" | "bind"
        | "filter" | "copyprivate" | "defaultmap" | "threads" | "simd" | "hint" | "detach" | "affinity"
        | "doacross" => Some(Clause::Other(word.into())),
        _ => None,
    }
}

/// `conditional: x` → the rest.
fn after_modifier(text: &str) -> (Option<&str>, &str) {
    match text.split_once(':') {
        Some((m, rest)) => (Some(m.trim()), rest),
        None => (None, text),
    }
}

fn combiner(op: &str) -> Combiner {
    match op {
        "+" | "-" => Combiner::Add,
        "*" => Combiner::Mul,
        "&" => Combiner::BitAnd,
        "|" => Combiner::BitOr,
        "^" => Combiner::BitXor,
        "&&" => Combiner::And,
        "||" => Combiner::Or,
        "min" => Combiner::Min,
        "max" => Combiner::Max,
        _ => Combiner::Own,
    }
}

/// `a, b[0:n]`: the variables.
fn names(list: &str) -> Option<Vec<Named>> {
    let mut out = Vec::new();
    let mut depth = 0;
    for item in list.split(|c| {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    }) {
        let item = item.trim();
        let name = first_word(item);
        let rest = item[name.len()..].trim_start();
        if name.is_empty() || !(rest.is_empty() || rest.starts_with('[')) {
            return None;
        }
        out.push(Named { name: name.into(), symbol: None });
    }
    Some(out)
}

/// The statement that begins at this offset of a body: the outermost, or the loop there.
fn target(body: &Body, at: u32, wants_loop: bool) -> Option<TermId> {
    let begins =
        |t: &TermId| body.span(*t).start == at && !matches!(body.op(*t), Op::Function(_) | Op::Program);
    let mut found = body.walk(body.root).filter(begins);
    if wants_loop {
        let all: Vec<TermId> = found.collect();
        return all.iter().copied().find(|&t| body.op(t).is_loop()).or(all.first().copied());
    }
    found.next()
}

/// Looks names up as at an offset of a body.
fn scope(body: &Body, at: u32) -> impl Fn(&str) -> Option<SymbolId> + '_ {
    let mut seen: Vec<SymbolId> = Vec::new();
    let mut here = Some(body.root);
    while let Some(t) = here.take() {
        // parameters, and what the header of a `for` declares, stand in lists of their own
        let lists = matches!(body.op(t), Op::Function(_) | Op::For);
        for &a in body.args(t) {
            let span = body.span(a);
            if span.start <= at && at < span.end && !body.args(a).is_empty() {
                here = Some(a);
            }
            match body.op(a) {
                Op::Declare(s) if span.start < at => seen.push(*s),
                Op::List if lists && span.end <= at => {
                    seen.extend(body.args(a).iter().filter_map(|&d| match body.op(d) {
                        Op::Declare(s) => Some(*s),
                        _ => None,
                    }));
                }
                _ => {}
            }
        }
    }
    move |name: &str| {
        let local = seen.iter().rev().copied().find(|&s| &*body.symbols[s].name == name);
        local.or_else(|| {
            let global = |s: &SymbolId| {
                let symbol = &body.symbols[*s];
                matches!(symbol.storage, Storage::Global { .. } | Storage::Param(_)) && &*symbol.name == name
            };
            body.symbols.ids().find(global)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_are_read() {
        let d = parse("omp parallel for \\\n private(i, t) reduction(+:s) schedule(static, 4) if(n > 10)")
            .unwrap();
        assert_eq!(d.constructs, [Construct::Parallel, Construct::For]);
        assert_eq!((&*d.name, d.clauses.len(), d.understood), ("parallel for", 4, true));
        let d = parse("omp for ordered collapse(2)").unwrap();
        assert_eq!(d.constructs, [Construct::For]);
        assert_eq!(d.clauses, [Clause::Ordered(None), Clause::Collapse(Some(2))]);
        assert!(!parse("omp parallel for PRIVATES").unwrap().understood);
        assert_eq!(parse("omp critical (name)").unwrap().constructs, [Construct::Critical]);
        assert_eq!(
            parse("omp target update to(x)").unwrap().constructs,
            [Construct::Target, Construct::Alone]
        );
        assert!(parse("ompx parallel").is_none() && parse("GCC ivdep").is_none());
        let d = parse("omp parallel for reduction(inscan, max : a, b[0:n])").unwrap();
        let Clause::Reduction(Combiner::Max, names) = &d.clauses[0] else { panic!("{d:?}") };
        assert_eq!(names.iter().map(|n| &*n.name).collect::<Vec<_>>(), ["a", "b"]);
    }
}
