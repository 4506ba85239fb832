//! Launches of a document's kernels that stand in other files of its program.
//!
//! Which files those are is the shell's business, as with functions ([`crate::Project`]); what a launch in one of them gives is found
//! as in the document itself. Deliberately absent: what the other file's lines say of the values; they are named by file and line.

use std::sync::Arc;

use super::given::{find_given, GivenLaunch, LaunchPlace};
use crate::function_view::line_column;
use crate::Doc;

/// Launches of one kernel in another file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LaunchElsewhere {
    pub(crate) kernel: Arc<str>,
    pub(crate) file: Arc<str>,
    /// 1-based.
    pub(crate) line: u32,
    pub(crate) given: analysis::LaunchGiven,
}

impl LaunchElsewhere {
    /// The launches in a document of kernels that it does not hold itself. `name`: the document's, as people know it.
    pub fn all_in(doc: &Doc, name: &str) -> Vec<LaunchElsewhere> {
        let own = |kernel: &str| doc.unit().items.iter().any(|i| i.is_kernel && *i.name == *kernel);
        let mut out = Vec::new();
        for (kernel, launches) in find_given(doc).into_iter().filter(|(kernel, _)| !own(kernel)) {
            for launch in launches {
                let LaunchPlace::Here(at) = launch.at else { continue };
                let line = line_column(doc, at.start).line;
                out.push(LaunchElsewhere {
                    kernel: kernel.clone(),
                    file: name.into(),
                    line,
                    given: launch.given,
                });
            }
        }
        out.sort_by(|a, b| (&a.kernel, a.line).cmp(&(&b.kernel, b.line)));
        out
    }
    /// The kernel's name.
    pub fn kernel(&self) -> &str {
        &self.kernel
    }
    pub(super) fn to_given(&self) -> GivenLaunch {
        let at = LaunchPlace::Elsewhere { file: self.file.clone(), line: self.line };
        GivenLaunch { at, given: self.given.clone() }
    }
}

/// The kernels of a document that it does not launch itself.
pub fn not_launched_here(doc: &Doc) -> Vec<Arc<str>> {
    let kernels = doc.unit().items.iter().filter(|i| i.is_kernel);
    kernels.filter(|i| doc.launches(&i.name).next().is_none()).map(|i| Arc::from(&*i.name)).collect()
}

/// The names that a text launches kernels by, and those of the kernels that it has the whole text of: by the look of it.
pub fn kernels_named(text: &str) -> (Vec<&str>, Vec<&str>) {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let name_before = |end: usize| {
        let before = text[..end].trim_end();
        let start = before
            .rfind(|c| !is_part(c))
            .map_or(0, |k| k + before[k..].chars().next().map_or(1, char::len_utf8));
        &before[start..]
    };
    let launched =
        text.match_indices("<<<").map(|(at, _)| name_before(at)).filter(|n| !n.is_empty()).collect();
    let defined = text.match_indices("__global__").filter_map(|(at, word)| {
        let rest = &text[at + word.len()..];
        // `__launch_bounds__(256)` stands before the name
        let mut from = 0;
        loop {
            let open = from + rest[from..].find('(')?;
            let close = open + closing(&rest[open..])?;
            let name = name_before(at + word.len() + open);
            let after = rest[close + 1..].trim_start();
            match (name, after.chars().next()?) {
                ("__launch_bounds__" | "__attribute__", _) => from = close + 1,
                (name, '{') => return Some(name),
                _ => return None,
            }
        }
    });
    (launched, defined.collect())
}

/// Where the bracket that a text begins with is closed.
fn closing(text: &str) -> Option<usize> {
    let mut open = 0usize;
    text.char_indices().find_map(|(k, c)| {
        match c {
            '(' => open += 1,
            ')' => open = open.saturating_sub(1),
            _ => {}
        }
        (open == 0).then_some(k)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_known_by_the_look_of_a_text() {
        let text = "__global__ void a(int *p);\n\
                    __global__ void __launch_bounds__(256) b(float *p, int n) { p[n] = 0; }\n\
                    template <class T> __global__ void c(T *p)\n{ }\n\
                    void host() { a<<<1, 32>>>(p); b <<<g, t>>>(q, 1); }\n";
        assert_eq!(kernels_named(text), (vec!["a", "b"], vec!["b", "c"]));
        assert_eq!(kernels_named("__global__ void broken(int"), (vec![], vec![]));
    }
}
