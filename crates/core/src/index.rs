//! Typed indices: numbers of entities, queues and groups that cannot be mistaken for each other.
//!
//! Structures that refer to each other are kept in vectors here and refer by index, where a kernel
//! uses pointers. [`define_index!`](crate::define_index) makes a type for one kind of index. It is
//! as small as a `u32`, and so is an `Option` of it, which replaces the kernel's null pointer.
//! [`IndexVec`] is a vector that accepts only its own kind of index.

use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Index, IndexMut};

/// A typed index, made by [`define_index!`](crate::define_index).
pub trait TypedIndex: Copy + Eq {
    /// Returns the index of row `row`.
    ///
    /// # Panics
    /// If `row` is `u32::MAX` or more.
    fn new(row: usize) -> Self;

    /// Returns the row number.
    fn index(self) -> usize;
}

/// Defines an index type with the documentation and visibility given:
///
/// ```
/// schedlab_core::define_index! {
///     /// The row number of a scheduling entity.
///     pub struct EntityId;
/// }
/// use schedlab_core::index::{IndexVec, TypedIndex};
/// let mut weights: IndexVec<EntityId, u64> = IndexVec::new();
/// let entity = weights.push(1024);
/// assert_eq!((entity, weights[entity]), (EntityId::new(0), 1024));
/// assert_eq!(size_of::<Option<EntityId>>(), 4);
/// ```
#[macro_export]
macro_rules! define_index {
    ($(#[$attribute:meta])* $visibility:vis struct $name:ident;) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $visibility struct $name(core::num::NonZeroU32);

        impl $crate::index::TypedIndex for $name {
            #[inline]
            fn new(row: usize) -> $name {
                debug_assert!(row < u32::MAX as usize, "fewer rows than u32::MAX");
                // Stored plus one, so that an `Option` takes no more space. (One check only: every
                // access executes this.)
                let number = (row as u32).wrapping_add(1);
                $name(core::num::NonZeroU32::new(number).expect("fewer rows than u32::MAX"))
            }

            #[inline]
            fn index(self) -> usize {
                self.0.get() as usize - 1
            }
        }

        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                write!(f, "{}({})", stringify!($name), $crate::index::TypedIndex::index(*self))
            }
        }
    };
}

/// A vector whose rows are addressed by a typed index.
#[derive(Clone)]
pub struct IndexVec<I, T> {
    rows: Vec<T>,
    kind: PhantomData<fn(I)>,
}

impl<I: TypedIndex, T> IndexVec<I, T> {
    /// Creates an empty vector.
    pub const fn new() -> IndexVec<I, T> {
        IndexVec { rows: Vec::new(), kind: PhantomData }
    }

    /// Adds a row and returns its index.
    pub fn push(&mut self, row: T) -> I {
        let index = I::new(self.rows.len());
        self.rows.push(row);
        index
    }

    /// Returns the number of rows.
    #[inline]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no row.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Resizes it to `len` rows; `make` makes the new rows.
    pub fn resize_with(&mut self, len: usize, make: impl FnMut() -> T) {
        self.rows.resize_with(len, make);
    }

    /// Returns the indices, ascending.
    pub fn indices(&self) -> impl DoubleEndedIterator<Item = I> + use<I, T> {
        (0..self.rows.len()).map(I::new)
    }

    /// Returns the rows, ascending.
    pub fn iter(&self) -> core::slice::Iter<'_, T> {
        self.rows.iter()
    }

    /// Returns the rows, ascending.
    pub fn iter_mut(&mut self) -> core::slice::IterMut<'_, T> {
        self.rows.iter_mut()
    }

    /// Returns the rows with their indices, ascending.
    pub fn enumerate(&self) -> impl Iterator<Item = (I, &T)> {
        self.rows.iter().enumerate().map(|(row, value)| (I::new(row), value))
    }
}

impl<I: TypedIndex, T> Default for IndexVec<I, T> {
    fn default() -> IndexVec<I, T> {
        IndexVec::new()
    }
}

impl<I: TypedIndex, T> FromIterator<T> for IndexVec<I, T> {
    fn from_iter<R: IntoIterator<Item = T>>(rows: R) -> IndexVec<I, T> {
        IndexVec { rows: rows.into_iter().collect(), kind: PhantomData }
    }
}

impl<I: TypedIndex, T> Index<I> for IndexVec<I, T> {
    type Output = T;
    #[inline]
    fn index(&self, index: I) -> &T {
        &self.rows[index.index()]
    }
}

impl<I: TypedIndex, T> IndexMut<I> for IndexVec<I, T> {
    #[inline]
    fn index_mut(&mut self, index: I) -> &mut T {
        &mut self.rows[index.index()]
    }
}

impl<I, T: fmt::Debug> fmt::Debug for IndexVec<I, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rows.fmt(f)
    }
}
