//! Sizes and strides, kept small.

use crate::ty::MAX_RANK;

/// Tensors of up to this many axes carry their sizes and strides inside.
const FEW: usize = 4;

/// The sizes and strides of up to [`MAX_RANK`] axes. Entries beyond the rank are 0.
///
/// Most tensors have few axes, and tensors are moved and cloned all the time, so only those with
/// many axes pay for room for all of them.
#[derive(Debug)]
pub(super) struct Axes {
    rank: usize,
    dims: [usize; FEW],
    strides: [isize; FEW],
    /// Used instead of the fields above if there are more than [`FEW`] axes.
    many: Option<Box<Many>>,
}

#[derive(Clone, Debug)]
struct Many {
    dims: [usize; MAX_RANK],
    strides: [isize; MAX_RANK],
}

impl Many {
    #[cold]
    fn boxed_clone(&self) -> Box<Many> {
        Box::new(self.clone())
    }
}

impl Clone for Axes {
    #[inline]
    fn clone(&self) -> Axes {
        let many = self.many.as_ref().map(|many| many.boxed_clone());
        Axes { rank: self.rank, dims: self.dims, strides: self.strides, many }
    }
}

impl Axes {
    pub(super) const NONE: Axes = Axes { rank: 0, dims: [0; FEW], strides: [0; FEW], many: None };

    /// This many axes with size and stride 0.
    #[inline]
    pub(super) fn zeros(rank: usize) -> Axes {
        let many =
            (rank > FEW).then(|| Box::new(Many { dims: [0; MAX_RANK], strides: [0; MAX_RANK] }));
        Axes { rank, many, ..Axes::NONE }
    }

    /// Sizes with the strides of row-major order; the product of the sizes must fit.
    #[inline]
    pub(super) fn packed(dims: &[usize]) -> Axes {
        let mut axes = Axes::zeros(dims.len());
        axes.dims_mut().copy_from_slice(dims);
        let mut next = 1_usize;
        for (stride, &n) in axes.strides_mut().iter_mut().zip(dims).rev() {
            *stride = next as isize;
            next *= n.max(1);
        }
        axes
    }

    #[inline]
    pub(super) fn rank(&self) -> usize {
        self.rank
    }

    #[inline]
    pub(super) fn dims(&self) -> &[usize] {
        match &self.many {
            None => &self.dims[..self.rank],
            Some(many) => &many.dims[..self.rank],
        }
    }

    #[inline]
    pub(super) fn dims_mut(&mut self) -> &mut [usize] {
        match &mut self.many {
            None => &mut self.dims[..self.rank],
            Some(many) => &mut many.dims[..self.rank],
        }
    }

    #[inline]
    pub(super) fn strides(&self) -> &[isize] {
        match &self.many {
            None => &self.strides[..self.rank],
            Some(many) => &many.strides[..self.rank],
        }
    }

    #[inline]
    pub(super) fn strides_mut(&mut self) -> &mut [isize] {
        match &mut self.many {
            None => &mut self.strides[..self.rank],
            Some(many) => &mut many.strides[..self.rank],
        }
    }

    /// The sizes, followed by zeros.
    #[inline]
    pub(super) fn padded_dims(&self) -> [usize; MAX_RANK] {
        if let Some(many) = &self.many {
            return many.dims;
        }
        let mut padded = [0; MAX_RANK];
        padded[..FEW].copy_from_slice(&self.dims);
        padded
    }
}
