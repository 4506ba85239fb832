//! Functions that call each other in a circle.

use std::sync::Arc;

use rustc_hash::FxHashMap;

/// Strongly connected components of the call graph, callees first (Tarjan, SIAM J. Comput. 1(2), 1972). Not recursive:
/// call chains of generated programs are deep.
pub(super) fn components<'f>(
    names: &[Arc<str>],
    calls: impl Fn(&str) -> Option<&'f [Arc<str>]>,
) -> Vec<Vec<Arc<str>>> {
    let number: FxHashMap<&str, usize> = names.iter().enumerate().map(|(i, n)| (&**n, i)).collect();
    let edges: Vec<Vec<usize>> = names
        .iter()
        .map(|n| calls(n).unwrap_or(&[]).iter().filter_map(|c| number.get(&**c).copied()).collect())
        .collect();
    let mut out = Vec::new();
    let mut index = vec![usize::MAX; names.len()];
    let mut low = vec![0; names.len()];
    let mut open: Vec<usize> = Vec::new();
    let mut is_open = vec![false; names.len()];
    let mut next = 0;
    for start in 0..names.len() {
        if index[start] != usize::MAX {
            continue;
        }
        // (function, how many of its calls were looked at)
        let mut work = vec![(start, 0usize)];
        while let Some((v, k)) = work.pop() {
            if k == 0 {
                index[v] = next;
                low[v] = next;
                next += 1;
                open.push(v);
                is_open[v] = true;
            }
            match edges[v].get(k) {
                Some(&w) => {
                    work.push((v, k + 1));
                    if index[w] == usize::MAX {
                        work.push((w, 0));
                    } else if is_open[w] {
                        low[v] = low[v].min(index[w]);
                    }
                }
                None => {
                    if let Some(&(u, _)) = work.last() {
                        low[u] = low[u].min(low[v]);
                    }
                    if low[v] == index[v] {
                        let mut group = Vec::new();
                        while let Some(w) = open.pop() {
                            is_open[w] = false;
                            group.push(names[w].clone());
                            if w == v {
                                break;
                            }
                        }
                        group.sort();
                        out.push(group);
                    }
                }
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callees_come_before_callers() {
        let names: Vec<Arc<str>> = ["a", "b", "c", "d"].iter().map(|&s| s.into()).collect();
        let edges: FxHashMap<&str, Vec<Arc<str>>> = FxHashMap::from_iter([
            ("a", vec!["b".into(), "d".into()]),
            ("b", vec!["c".into()]),
            ("c", vec!["b".into(), "d".into()]),
        ]);
        let found = components(&names, |n| edges.get(n).map(|v| &v[..]));
        let plain: Vec<Vec<&str>> = found.iter().map(|g| g.iter().map(|s| &**s).collect()).collect();
        assert_eq!(plain, [vec!["d"], vec!["b", "c"], vec!["a"]]);
    }
}
