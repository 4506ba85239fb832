//! All of an array that knows its lengths (C#): where nobody can say which part of it a loop uses, all of it can be copied.

use term::{Body, SymbolId};

use crate::{Expr, Param};

/// First and last element of an array with so many dimensions, if variables hold the length of each of them.
pub(crate) fn extent(body: &Body, array: SymbolId, rank: usize) -> Option<(Expr, Expr)> {
    let length = |dimension: usize| {
        let all = &body.said.lengths;
        let found = all.iter().find(|l| l.array == array && l.dimension as usize == dimension)?;
        Some(Expr::Param(Param::Symbol(found.length)))
    };
    let lengths: Option<Vec<Expr>> = (0..rank).map(length).collect();
    let all = lengths?.into_iter().reduce(|a, b| Expr::Product(Box::new(a), Box::new(b)))?;
    Some((Expr::Int(0), Expr::Add(vec![all, Expr::Int(-1)])))
}
