//! Visiting every element.

use crate::ty::MAX_RANK;

/// How far each element is from the first, in row-major order.
pub(crate) struct Offsets<'a> {
    dims: &'a [usize],
    strides: &'a [isize],
    counters: [usize; MAX_RANK],
    distance: isize,
    left: usize,
}

impl Offsets<'_> {
    pub(super) fn new<'a>(dims: &'a [usize], strides: &'a [isize]) -> Offsets<'a> {
        let left = dims.iter().product();
        Offsets { dims, strides, counters: [0; MAX_RANK], distance: 0, left }
    }
}

impl Iterator for Offsets<'_> {
    type Item = isize;

    #[inline]
    fn next(&mut self) -> Option<isize> {
        self.left = self.left.checked_sub(1)?;
        let current = self.distance;
        for (axis, (&n, &stride)) in self.dims.iter().zip(self.strides).enumerate().rev() {
            self.counters[axis] += 1;
            self.distance += stride;
            if self.counters[axis] < n {
                break;
            }
            self.distance -= stride * n as isize;
            self.counters[axis] = 0;
        }
        Some(current)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Offsets<'_> {}
