//! Typed indices and vectors indexed by them.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// A typed index; made by [`id!`](crate::id).
pub trait IndexId: Copy + Eq {
    /// From a position.
    fn from_index(index: usize) -> Self;
    /// To a position.
    fn index(self) -> usize;
}

/// Declares a `u32` id type: `base::id!(/// doc … pub struct TermId);`
#[macro_export]
macro_rules! id {
    ($(#[$m:meta])* $vis:vis struct $name:ident) => {
        $(#[$m])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        $vis struct $name(pub u32);
        impl $crate::IndexId for $name {
            fn from_index(index: usize) -> Self { $name(index as u32) }
            fn index(self) -> usize { self.0 as usize }
        }
    };
}

/// A vector indexed by an id type. Ids are only handed out by [`IdVec::push`].
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct IdVec<I, T> {
    items: Vec<T>,
    _id: PhantomData<fn(I)>,
}

impl<I: IndexId, T> IdVec<I, T> {
    /// Empty.
    pub fn new() -> Self {
        IdVec { items: Vec::new(), _id: PhantomData }
    }
    /// Adds an item and returns its id.
    pub fn push(&mut self, item: T) -> I {
        let id = I::from_index(self.items.len());
        self.items.push(item);
        id
    }
    /// Number of items.
    pub fn len(&self) -> usize {
        self.items.len()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
    /// The item, if the id is in range.
    pub fn get(&self, id: I) -> Option<&T> {
        self.items.get(id.index())
    }
    /// Items in order of their ids.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.items.iter()
    }
    /// Items in order of their ids, to change.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.items.iter_mut()
    }
    /// Pairs of id and item.
    pub fn iter_ids(&self) -> impl DoubleEndedIterator<Item = (I, &T)> {
        self.items.iter().enumerate().map(|(i, t)| (I::from_index(i), t))
    }
    /// All ids.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = I> {
        (0..self.items.len()).map(I::from_index)
    }
}

impl<I: IndexId, T> Default for IdVec<I, T> {
    fn default() -> Self {
        IdVec::new()
    }
}

impl<I: IndexId, T> Index<I> for IdVec<I, T> {
    type Output = T;
    fn index(&self, id: I) -> &T {
        &self.items[id.index()]
    }
}

impl<I: IndexId, T> IndexMut<I> for IdVec<I, T> {
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.items[id.index()]
    }
}

impl<I, T: std::fmt::Debug> std::fmt::Debug for IdVec<I, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(&self.items).finish()
    }
}
