//! With which launch a kernel is looked at: asked for, written in a comment before it, or found where the file launches it.
//!
//! A value that the host's text only begins with, or one of several it goes through, makes a launch too; it is told with all that is
//! said of it ([`Taken`]). Deliberately absent: guesses. A kernel whose launch nobody says is not run.

use std::sync::Arc;

use analysis::{launch_extents, launch_value, TakenAs};
use base::Span;
use term::{Body, Op};

use super::{GivenLaunch, LaunchPlace};
use crate::Doc;

/// `<<<grid, block, shared>>>`, and what the kernel is given.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Shape {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared_bytes: u64,
    /// Scalars by parameter name, as written.
    pub values: Vec<(String, String)>,
    /// Elements of arrays, by parameter name.
    pub elements: Vec<(String, u64)>,
    /// Those that the host allocates, likewise: a run is given others where nothing else is said.
    pub allocated: Vec<(String, u64)>,
    /// Values that were taken for it where the text leaves others open.
    pub taken: Vec<Taken>,
}

/// A value that was taken: what it is called, what it is, where the text gives it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Taken {
    pub name: Arc<str>,
    pub value: i64,
    pub why: TakenAs,
    /// `None`: in another file.
    pub at: Option<Span>,
}

/// Who says so.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Origin {
    Asked,
    Comment,
    Launch(LaunchPlace),
}

/// Reads `GXxGYxGZ,BXxBYxBZ[,SHARED][,name=VALUE][,name[COUNT]]…`; extents may also be `(x, y)` or `dim3(x, y)`.
pub fn parse(text: &str) -> Result<Shape, String> {
    let parts = split(text);
    let mut shape = Shape { grid: [1; 3], block: [1; 3], ..Shape::default() };
    let mut plain = 0;
    for part in parts {
        let part = part.trim();
        if let Some((name, value)) = part.split_once('=') {
            shape.values.push((name.trim().to_owned(), value.trim().to_owned()));
        } else if let Some((name, count)) = part.split_once('[') {
            let count = count.trim_end_matches(']').trim();
            let count: u64 = count.parse().map_err(|_| format!("`{count}` is no number of elements"))?;
            shape.elements.push((name.trim().to_owned(), count));
        } else {
            match plain {
                0 => shape.grid = extents(part)?,
                1 => shape.block = extents(part)?,
                2 => {
                    shape.shared_bytes = part.parse().map_err(|_| format!("`{part}` is no size in bytes"))?
                }
                _ => return Err(format!("`{part}` is one part too many")),
            }
            plain += 1;
        }
    }
    if plain < 2 {
        return Err(format!("`{text}` does not name a grid and a block, as in `4x2,32x8`"));
    }
    Ok(shape)
}

/// Splits at commas outside of parentheses.
fn split(text: &str) -> Vec<&str> {
    let (mut depth, mut from, mut out) = (0usize, 0, Vec::new());
    for (k, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                out.push(&text[from..k]);
                from = k + 1;
            }
            _ => {}
        }
    }
    out.push(&text[from..]);
    out
}

fn extents(text: &str) -> Result<[u32; 3], String> {
    let inner = text.strip_prefix("dim3").unwrap_or(text).trim();
    let parts: Vec<&str> = match inner.strip_prefix('(').and_then(|t| t.strip_suffix(')')) {
        Some(list) => list.split(',').collect(),
        None => inner.split('x').collect(),
    };
    let wrong = || format!("`{text}` is no extent, such as `4`, `4x2` or `4x2x1`");
    if parts.len() > 3 {
        return Err(wrong());
    }
    let mut out = [1; 3];
    for (d, p) in out.iter_mut().zip(parts) {
        *d = p.trim().parse().ok().filter(|&n| n > 0).ok_or_else(wrong)?;
    }
    Ok(out)
}

/// What the file says of a kernel's launch: of several the one that it says most of. `Err`: it says something that is not understood.
pub(crate) fn of_file(doc: &Doc, item: &front::Item) -> Result<Option<(Shape, Origin)>, String> {
    Ok(known_of(doc, item)?.into_iter().next())
}

/// All launches of the kernel that the file says in full, each once, those with fewer values taken first; a comment says the only one.
pub(super) fn known_of(doc: &Doc, item: &front::Item) -> Result<Vec<(Shape, Origin)>, String> {
    for d in &doc.unit().directives {
        if let front::DirectiveKind::Other(name, args) = &d.kind {
            if &**name == "launch" && item.span.start <= d.before && d.before < item.span.end {
                return parse(args).map(|s| vec![(s, Origin::Comment)]);
            }
        }
    }
    // one that the text fixes says more than one with values that were taken
    let whole = |g: &&GivenLaunch| {
        let g = &g.given;
        let fits = g.block.is_some_and(|b| super::limits(doc).fits_block(b));
        g.grid.is_some() && fits && g.shared_bytes.is_some()
    };
    let mut known: Vec<&GivenLaunch> = doc.given(&item.name).iter().filter(whole).collect();
    known.sort_by_key(|g| g.given.taken.len());
    let mut out: Vec<(Shape, Origin)> = Vec::new();
    for g in known {
        let Some(shape) = of_given(doc, item, g) else { continue };
        // values that were taken are told, and make no other launch
        let alike = |(s, _): &(Shape, Origin)| {
            (s.grid, s.block, s.shared_bytes) == (shape.grid, shape.block, shape.shared_bytes)
                && s.values == shape.values
        };
        if !out.iter().any(alike) {
            out.push((shape, Origin::Launch(g.at.clone())));
        }
    }
    Ok(out)
}

/// What a launch says whose grid and block are known.
fn of_given(doc: &Doc, item: &front::Item, g: &GivenLaunch) -> Option<Shape> {
    let given = &g.given;
    let values = parameters(&item.body).zip(&given.values);
    let values = values.filter_map(|(name, v)| Some((name.to_string(), (*v)?.to_string())));
    Some(Shape {
        grid: given.grid?,
        block: given.block?,
        shared_bytes: given.shared_bytes?,
        values: values.collect(),
        elements: Vec::new(),
        allocated: allocated(&item.body, &given.bytes),
        taken: taken(doc, g),
    })
}

/// Elements of the arrays that a launch gives a kernel, out of their bytes.
fn allocated(body: &Body, bytes: &[Option<u64>]) -> Vec<(String, u64)> {
    let of = |(s, bytes): (term::SymbolId, &Option<u64>)| {
        let element = body.types.element(body.symbols[s].ty)?;
        let size = body.types.size_align(element)?.0;
        Some((body.symbols[s].name.to_string(), (*bytes)?.checked_div(size)?))
    };
    declared(body).zip(bytes).filter_map(of).collect()
}

/// What was taken for a launch, with its places.
pub(super) fn taken(doc: &Doc, g: &GivenLaunch) -> Vec<Taken> {
    let one = |t: &analysis::Taken| {
        let all = doc.unit().items.iter().chain(&doc.unit().lenders);
        let is_here = matches!(g.at, LaunchPlace::Here(_));
        let item = all.into_iter().find(|i| is_here && i.body.name == t.function);
        let at = item.map(|i| i.body.span(t.term).shifted(i.span.start));
        Taken { name: t.name.clone(), value: t.value, why: t.why, at }
    };
    g.given.taken.iter().map(one).collect()
}

/// What a launch says.
fn of_launch(body: &Body, t: term::TermId, item: &front::Item) -> Option<Shape> {
    let [_, grid, block, shared, _stream, args @ ..] = body.args(t) else { return None };
    let shared_bytes = match body.op(*shared) {
        Op::Empty => 0,
        _ => u64::try_from(launch_value(body, *shared)?).ok()?,
    };
    let (grid, block) = (launch_extents(body, *grid)?, launch_extents(body, *block)?);
    let mut shape = Shape { grid, block, shared_bytes, ..Shape::default() };
    for (name, &a) in parameters(&item.body).zip(args) {
        if let Some(v) = launch_value(body, a) {
            shape.values.push((name.to_string(), v.to_string()));
        }
    }
    Some(shape)
}

/// All launches of a kernel that are known, with what each says; `None`: not all that a run needs.
pub(super) fn all_of(doc: &Doc, item: &front::Item) -> Vec<Option<Shape>> {
    let here = doc.launches(&item.name).map(|(host, t)| of_launch(&host.body, t, item));
    let elsewhere = doc.given(&item.name).iter().filter(|g| !matches!(g.at, LaunchPlace::Here(_)));
    here.chain(elsewhere.map(|g| of_given(doc, item, g))).collect()
}

/// Whether there are launches that are said in part, beside those that are said in full.
pub(super) fn has_open(doc: &Doc, item: &front::Item) -> bool {
    let by_text = matches!(of_file(doc, item), Ok(Some((_, origin))) if origin != Origin::Comment);
    by_text && !doc.given(&item.name).iter().all(is_whole)
}

fn is_whole(g: &GivenLaunch) -> bool {
    g.given.grid.is_some() && g.given.block.is_some() && g.given.shared_bytes.is_some()
}

/// Whether the launches that are known are all there are: of each the text says everything, or goes through an array of which every
/// element gives one.
pub(super) fn are_all(doc: &Doc, item: &front::Item) -> bool {
    let each = |g: &GivenLaunch| g.given.taken.iter().all(|t| t.why == TakenAs::Each);
    doc.given(&item.name).iter().all(|g| is_whole(g) && each(g))
}

/// Whether the launch at a place in the document is one with which the kernel is judged; `None`: what it gives is not all known.
pub(super) fn gives(
    doc: &Doc,
    item: &front::Item,
    at: Span,
    launch: &analysis::KernelLaunch,
) -> Option<bool> {
    let mut found = None;
    for g in doc.given(&item.name).iter().filter(|g| g.at == LaunchPlace::Here(at)) {
        let shape = of_given(doc, item, g)?;
        let known = super::known_launch(doc, &shape);
        let same = (known.grid, known.block, &known.values) == (launch.grid, launch.block, &launch.values);
        found = Some(found == Some(true) || same);
    }
    // one that nothing is known of stands for all
    found.filter(|_| launch.grid.is_some() && launch.block.is_some())
}

/// The block with which all known launches launch the kernel, where the grid is not known; what was taken for it is beside it.
pub(super) fn block_of(doc: &Doc, item: &front::Item) -> Option<([u32; 3], Vec<Taken>)> {
    let all = doc.given(&item.name);
    let first = all.first()?;
    let block = first.given.block?;
    let same = all.iter().all(|g| g.given.block == Some(block));
    // what only the grid or the arguments took is not taken for the block
    let list = if first.given.block_taken == 0 { Vec::new() } else { taken(doc, first) };
    same.then_some((block, list.into_iter().take(first.given.block_taken).collect()))
}

/// The grid with which all known launches launch the kernel, where no block is known and nothing was taken for it.
pub(super) fn grid_of(doc: &Doc, item: &front::Item) -> Option<[u32; 3]> {
    let all = doc.given(&item.name);
    let first = all.first()?.given.grid?;
    all.iter().all(|g| g.given.grid == Some(first) && g.given.taken.is_empty()).then_some(first)
}

pub(super) fn parameters(body: &Body) -> impl Iterator<Item = Arc<str>> + '_ {
    declared(body).map(|s| body.symbols[s].name.clone())
}

fn declared(body: &Body) -> impl Iterator<Item = term::SymbolId> + '_ {
    let list = body.args(body.root).first().copied();
    list.into_iter().flat_map(|l| body.args(l)).filter_map(|&p| match body.op(p) {
        Op::Declare(s) => Some(*s),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_read_in_every_spelling() {
        let s = parse("4x2, (32, 8), 1024, n = 100, in[7]").unwrap();
        assert_eq!((s.grid, s.block, s.shared_bytes), ([4, 2, 1], [32, 8, 1], 1024));
        assert_eq!((s.values[0].0.as_str(), s.values[0].1.as_str()), ("n", "100"));
        assert_eq!(s.elements, [("in".to_owned(), 7)]);
        assert_eq!(parse("dim3(1,2,3),64").unwrap().grid, [1, 2, 3]);
        for wrong in ["4", "", "0,32", "4,a", "1x1x1x1,2", "1,2,3,4", "1,2,x[y]"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
