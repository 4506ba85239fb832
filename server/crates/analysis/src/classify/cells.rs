//! The cells of an object as arrays, one for each way that an access takes to a cell: what a private copy is asked for.

use std::sync::Arc;

use term::{Body, SymbolId, TypeId, TypeKind};

use crate::nest::{AffineAccess, Length};

/// A step of the way from an object to a cell.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Part {
    Subscript,
    Field(Arc<str>),
}

fn way(a: &AffineAccess) -> Vec<Part> {
    let mut out = Vec::new();
    let mut fields = a.fields.iter().peekable();
    for k in 0..a.subs.len() {
        while let Some((_, f)) = fields.next_if(|(at, _)| *at <= k) {
            out.push(Part::Field(f.clone()));
        }
        out.push(Part::Subscript);
    }
    out.extend(fields.map(|(_, f)| Part::Field(f.clone())));
    out
}

/// The cells of an object as arrays: one for every way that an access takes to a cell. That of a way that leads to a
/// structure or an array stands for what no longer way names, and is left out where longer ways name all.
pub(crate) struct Cells {
    arrays: Vec<Array>,
}

struct Array {
    way: Vec<Part>,
    lengths: Vec<Option<Length>>,
    /// Whether some iteration may write it.
    written: bool,
}

impl Cells {
    pub(crate) fn of(body: &Body, base: SymbolId, mine: &[(usize, &AffineAccess)]) -> Option<Cells> {
        let mut arrays: Vec<Array> = Vec::new();
        for (_, a) in mine {
            let way = way(a);
            match arrays.iter().find(|o| o.way == way) {
                // Lengths matter where a shorter way leads to all of it.
                Some(o) if o.lengths == a.lengths => {}
                Some(_) if mine.iter().any(|(_, b)| b.subs.len() != a.subs.len()) => return None,
                Some(_) => {}
                None => arrays.push(Array { way, lengths: a.lengths.clone(), written: false }),
            }
        }
        // Ways that part do so at members of one structure.
        for (k, x) in arrays.iter().enumerate() {
            for y in &arrays[..k] {
                let parts = x.way.iter().zip(&y.way).find(|(p, q)| p != q);
                if parts.is_some_and(|(p, q)| *p == Part::Subscript || *q == Part::Subscript) {
                    return None;
                }
            }
        }
        let ways: Vec<Vec<Part>> = arrays.iter().map(|a| a.way.clone()).collect();
        arrays.retain(|a| !is_named_wholly(body, body.symbols[base].ty, &a.way, &ways));
        arrays.sort_by(|x, y| x.way.cmp(&y.way));
        let mut cells = (arrays.len() <= 16).then_some(Cells { arrays })?;
        for (_, a) in mine.iter().filter(|(_, a)| a.write) {
            for k in cells.touched(a) {
                cells.arrays[k].written = true;
            }
        }
        Some(cells)
    }

    /// The arrays an access touches, by number.
    pub(crate) fn touched(&self, a: &AffineAccess) -> Vec<usize> {
        let way = way(a);
        (0..self.arrays.len()).filter(|&k| self.arrays[k].way.starts_with(&way)).collect()
    }

    /// How many arrays they are.
    pub(crate) fn count(&self) -> usize {
        self.arrays.len()
    }

    /// Number of subscripts of an array's cells.
    pub(crate) fn rank(&self, array: usize) -> usize {
        self.arrays[array].lengths.len()
    }

    /// Whether some iteration may write the array.
    pub(crate) fn is_written(&self, array: usize) -> bool {
        self.arrays[array].written
    }

    pub(crate) fn length(&self, array: usize, k: usize) -> Option<&Length> {
        self.arrays[array].lengths.get(k)?.as_ref()
    }
}

/// Whether longer ways than this lead to every cell that it leads to.
fn is_named_wholly(body: &Body, object: TypeId, way: &[Part], ways: &[Vec<Part>]) -> bool {
    let mut ty = object;
    for part in way {
        ty = match (part, body.types.kind(ty)) {
            (Part::Subscript, TypeKind::Array { of, .. }) => *of,
            (Part::Subscript, TypeKind::Pointer { to, .. }) => *to,
            (Part::Field(f), TypeKind::Record(r)) => {
                match body.types.record(*r).fields.iter().flatten().find(|g| g.name == *f) {
                    Some(g) => g.ty,
                    None => return false,
                }
            }
            _ => return false,
        };
    }
    let named = |part: Part| {
        let mut longer = way.to_vec();
        longer.push(part);
        ways.contains(&longer) || longer.len() < 12 && is_named_wholly(body, object, &longer, ways)
    };
    match body.types.kind(ty) {
        TypeKind::Array { .. } => named(Part::Subscript),
        TypeKind::Record(r) => {
            let record = body.types.record(*r);
            let plain = |f: &term::Field| f.bits.is_none() && !f.name.is_empty();
            !record.is_union
                && record
                    .fields
                    .as_ref()
                    .is_some_and(|fs| fs.iter().all(|f| plain(f) && named(Part::Field(f.name.clone()))))
        }
        _ => false,
    }
}
