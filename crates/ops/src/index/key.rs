//! `Index`: what stands between the brackets of `x[…]`.

use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo};

use crate::prelude::*;

/// One part of an index, as between the brackets of `x[…]` in numpy. Integers, ranges and tensors
/// convert into it.
#[derive(Clone, Debug)]
pub enum Index {
    /// One position of an axis, which disappears. Negative ones count from the back.
    At(Whole),
    /// Positions of an axis from one to another in steps, as in Python.
    Slice {
        /// The first position.
        start: Option<End>,
        /// The position before which it ends.
        stop: Option<End>,
        /// The distance between positions; negative to go backwards.
        step: i64,
    },
    /// All of as many axes as are left for it.
    Ellipsis,
    /// A new axis of size one.
    NewAxis,
    /// Positions on an axis (`i64`); all tensors of an index are broadcast together. Or a mask
    /// (`bool`) on as many axes as it has.
    Tensor(Var),
}

/// An end of a range of positions.
#[derive(Clone, Debug)]
pub enum End {
    /// A number, which may depend on sizes.
    At(Whole),
    /// What an integer without axes says when it is computed.
    Value(Var),
}

impl From<i64> for End {
    fn from(position: i64) -> End {
        End::At(Whole::Number(position))
    }
}

impl Index {
    /// All of an axis.
    pub const ALL: Index = Index::Slice { start: None, stop: None, step: 1 };

    /// Positions of an axis in steps, as Python's `start:stop:step`.
    pub fn steps(start: Option<i64>, stop: Option<i64>, step: i64) -> Index {
        Index::Slice { start: start.map(End::from), stop: stop.map(End::from), step }
    }

    fn from_to(start: Option<i64>, stop: Option<i64>) -> Index {
        Index::steps(start, stop, 1)
    }
}

macro_rules! indices_from {
    ($($int:ty),*) => {$(
        impl From<$int> for Index {
            fn from(position: $int) -> Index {
                Index::At(Whole::Number(position as i64))
            }
        }

        impl From<Range<$int>> for Index {
            fn from(range: Range<$int>) -> Index {
                Index::from_to(Some(range.start as i64), Some(range.end as i64))
            }
        }

        impl From<RangeFrom<$int>> for Index {
            fn from(range: RangeFrom<$int>) -> Index {
                Index::from_to(Some(range.start as i64), None)
            }
        }

        impl From<RangeTo<$int>> for Index {
            fn from(range: RangeTo<$int>) -> Index {
                Index::from_to(None, Some(range.end as i64))
            }
        }

        impl From<RangeInclusive<$int>> for Index {
            fn from(range: RangeInclusive<$int>) -> Index {
                // Up to and with the last element means to the end.
                let stop = Some(*range.end() as i64 + 1).filter(|&stop| stop != 0);
                Index::from_to(Some(*range.start() as i64), stop)
            }
        }
    )*};
}

indices_from!(i32, i64, usize);

impl From<RangeFull> for Index {
    fn from(_: RangeFull) -> Index {
        Index::ALL
    }
}

impl From<Var> for Index {
    fn from(positions: Var) -> Index {
        Index::Tensor(positions)
    }
}

impl From<&Var> for Index {
    fn from(positions: &Var) -> Index {
        Index::Tensor(positions.clone())
    }
}
