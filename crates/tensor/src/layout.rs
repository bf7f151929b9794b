//! How the elements of a tensor are arranged in memory, and every change of view.
//!
//! A [`Layout`] is pure arithmetic: it never touches the memory it describes.

mod axes;
mod gather;
mod offsets;
mod reshape;
mod transpose;

pub(crate) use gather::gather;
pub(crate) use offsets::Offsets;
pub(crate) use transpose::gather_words;

use crate::error::{Error, Result};
use crate::ty::{MAX_RANK, Shape, check_rank};
use axes::Axes;

/// Sizes, strides and offset, the last two in elements.
///
/// The product of the sizes other than 0 is at most [`MAX_NUMEL`].
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    axes: Axes,
    offset: isize,
}

/// The most elements of a tensor: their bytes can be counted in an `isize`, whatever the dtype.
const MAX_NUMEL: usize = isize::MAX as usize / 8;

impl Layout {
    /// The layout of a tensor without axes.
    pub(crate) const SCALAR: Layout = Layout { axes: Axes::NONE, offset: 0 };

    /// Row-major order without gaps.
    pub(crate) fn contiguous(dims: &[usize]) -> Result<Layout> {
        check_rank(dims.len())?;
        let numel = dims.iter().try_fold(1_usize, |product, &n| product.checked_mul(n.max(1)));
        if numel.is_none_or(|n| n > MAX_NUMEL) {
            return Err(Error::shape(format!("shape {} has too many elements", Shape(dims))));
        }
        Ok(Layout { axes: Axes::packed(dims), offset: 0 })
    }

    /// Given sizes and strides; an error if an element's offset does not fit. The stride of an axis
    /// of size 1 has no meaning and is replaced.
    pub(crate) fn strided(dims: &[usize], strides: &[isize]) -> Result<Layout> {
        if dims.len() != strides.len() {
            let (n, m) = (dims.len(), strides.len());
            return Err(Error::argument(format!("{n} sizes were given with {m} strides")));
        }
        let mut layout = Layout::contiguous(dims)?;
        for (axis, own) in layout.axes.strides_mut().iter_mut().enumerate() {
            if dims[axis] != 1 {
                *own = strides[axis];
            }
        }
        let reach = dims.iter().zip(strides).try_fold(0_usize, |reach, (&n, &stride)| {
            reach.checked_add(n.saturating_sub(1).checked_mul(stride.unsigned_abs())?)
        });
        match reach {
            Some(reach) if reach <= MAX_NUMEL => Ok(layout),
            _ => Err(Error::shape(format!("the strides {} reach too far", Shape(strides)))),
        }
    }

    /// The same sizes in row-major order without gaps.
    pub(crate) fn packed(&self) -> Layout {
        Layout { axes: Axes::packed(self.dims()), offset: 0 }
    }

    #[inline]
    pub(crate) fn rank(&self) -> usize {
        self.axes.rank()
    }

    #[inline]
    pub(crate) fn dims(&self) -> &[usize] {
        self.axes.dims()
    }

    /// The sizes, followed by zeros.
    #[inline]
    pub(crate) fn padded_dims(&self) -> [usize; MAX_RANK] {
        self.axes.padded_dims()
    }

    #[inline]
    pub(crate) fn strides(&self) -> &[isize] {
        self.axes.strides()
    }

    /// Where the first element is.
    #[inline]
    pub(crate) fn offset(&self) -> isize {
        self.offset
    }

    #[inline]
    pub(crate) fn numel(&self) -> usize {
        self.dims().iter().product()
    }

    /// Whether the elements lie in row-major order without gaps.
    #[inline]
    pub(crate) fn is_contiguous(&self) -> bool {
        let mut expected = 1_isize;
        for (&n, &stride) in self.dims().iter().zip(self.strides()).rev() {
            if n != 1 && stride != expected {
                return self.dims().contains(&0);
            }
            expected *= n.max(1) as isize;
        }
        true
    }

    /// How far the element at `index` is from the first.
    pub(crate) fn locate(&self, index: &[usize]) -> Result<isize> {
        if index.len() != self.rank() {
            let (n, rank) = (index.len(), self.rank());
            return Err(Error::index(format!("an index of {n} numbers for {rank} axes")));
        }
        let mut distance = 0;
        for (axis, &i) in index.iter().enumerate() {
            if i >= self.dims()[axis] {
                return Err(out_of_range(i, axis, self.dims()[axis]));
            }
            distance += i as isize * self.strides()[axis];
        }
        Ok(distance)
    }

    /// How far each element is from the first, in row-major order.
    pub(crate) fn offsets(&self) -> Offsets<'_> {
        Offsets::new(self.dims(), self.strides())
    }

    /// Axis `i` of the result is axis `axes[i]` of this.
    pub(crate) fn permute(&self, axes: &[usize]) -> Result<Layout> {
        let rank = self.rank();
        let mut seen = [false; MAX_RANK];
        let is_permutation = axes.len() == rank
            && axes.iter().all(|&axis| axis < rank && !std::mem::replace(&mut seen[axis], true));
        if !is_permutation {
            let order = Shape(axes);
            return Err(Error::argument(format!("{order} is not an order of the {rank} axes"))
                .remedy(format!("name each axis from 0 to {rank}, exclusive, once")));
        }
        Ok(self.with_axes(rank, |axis| (self.dims()[axes[axis]], self.strides()[axes[axis]])))
    }

    /// Exchanges two axes.
    pub(crate) fn transpose(&self, a: usize, b: usize) -> Result<Layout> {
        self.check_axis(a)?;
        self.check_axis(b)?;
        let mut layout = self.clone();
        layout.axes.dims_mut().swap(a, b);
        layout.axes.strides_mut().swap(a, b);
        Ok(layout)
    }

    /// The elements `start + i * step` of an axis, for `i` below `len`.
    pub(crate) fn slice(
        &self,
        axis: usize,
        start: usize,
        len: usize,
        step: isize,
    ) -> Result<Layout> {
        let n = self.check_axis(axis)?;
        if step == 0 {
            return Err(Error::argument("the step of a slice is 0"));
        }
        let mut layout = self.clone();
        layout.axes.dims_mut()[axis] = len;
        let Some(steps) = len.checked_sub(1) else { return Ok(layout) };
        let last = start as i128 + steps as i128 * step as i128;
        for end in [start as i128, last] {
            if end < 0 || end >= n as i128 {
                return Err(out_of_range(end, axis, n));
            }
        }
        layout.offset += start as isize * self.strides()[axis];
        if steps > 0 {
            layout.axes.strides_mut()[axis] *= step;
        }
        Ok(layout)
    }

    /// Repeats axes of size 1, and adds axes in front, without copying.
    pub(crate) fn expand(&self, dims: &[usize]) -> Result<Layout> {
        let mut layout = Layout::contiguous(dims)?;
        layout.offset = self.offset;
        let own = self.dims();
        let fits = |end: &[usize]| own.iter().zip(end).all(|(&n, &m)| n == m || n == 1);
        let Some(added) = dims.len().checked_sub(own.len()).filter(|&k| fits(&dims[k..])) else {
            let (from, to) = (Shape(own), Shape(dims));
            return Err(Error::shape(format!("shape {from} does not expand to {to}"))
                .remedy("only axes of size 1 expand, and new axes come first"));
        };
        for (axis, stride) in layout.axes.strides_mut().iter_mut().enumerate() {
            *stride = match axis.checked_sub(added) {
                Some(i) if own[i] == dims[axis] => self.strides()[i],
                _ => 0,
            };
        }
        Ok(layout)
    }

    /// The elements whose positions on axis `b` are those on axis `a` plus `offset`, as a new last
    /// axis in place of the two.
    pub(crate) fn diagonal(&self, a: usize, b: usize, offset: isize) -> Result<Layout> {
        let (rows, columns) = (self.check_axis(a)?, self.check_axis(b)?);
        if a == b {
            return Err(Error::argument(format!("axis {a} alone has no diagonal")));
        }
        let (down, right) = (offset.min(0).unsigned_abs(), offset.max(0).unsigned_abs());
        let len = rows.saturating_sub(down).min(columns.saturating_sub(right));
        let (low, high) = (a.min(b), a.max(b));
        let without = self.without(high).without(low);
        let rank = without.rank();
        let mut layout = without.with_axes(rank + 1, |i| match i == rank {
            true => (len, self.strides()[a] + self.strides()[b]),
            false => (without.dims()[i], without.strides()[i]),
        });
        if len > 0 {
            layout.offset += down as isize * self.strides()[a] + right as isize * self.strides()[b];
        }
        Ok(layout)
    }

    /// All windows of `size` neighbours on an axis, `step` apart: the axis counts the windows, a new
    /// last one the elements within.
    pub(crate) fn windows(&self, axis: usize, size: usize, step: usize) -> Result<Layout> {
        let n = self.check_axis(axis)?;
        if step == 0 || size > n {
            return Err(Error::argument(format!(
                "there are no windows of size {size}, {step} apart, on axis {axis} of size {n}"
            )));
        }
        let count = (n - size) / step + 1;
        let rank = self.rank();
        let mut dims = self.dims().to_vec();
        dims[axis] = count;
        dims.push(size);
        Layout::contiguous(&dims)?;
        let stride = self.strides()[axis];
        // A step that is never taken may be too long for a stride.
        let jump = if count > 1 { stride * step as isize } else { stride };
        Ok(self.with_axes(rank + 1, |i| match i {
            _ if i == rank => (size, stride),
            _ if i == axis => (count, jump),
            _ => (self.dims()[i], self.strides()[i]),
        }))
    }

    /// Removes an axis of size 1.
    pub(crate) fn squeeze(&self, axis: usize) -> Result<Layout> {
        match self.check_axis(axis)? {
            1 => Ok(self.without(axis)),
            n => Err(Error::shape(format!("axis {axis} has the size {n}, not 1"))),
        }
    }

    /// Inserts an axis of size 1 before `axis`.
    pub(crate) fn unsqueeze(&self, axis: usize) -> Result<Layout> {
        let rank = self.rank();
        check_rank(rank + 1)?;
        if axis > rank {
            return Err(Error::index(format!("a new axis {axis} does not fit among {rank} axes")));
        }
        Ok(self.with_axes(rank + 1, |i| match i {
            _ if i < axis => (self.dims()[i], self.strides()[i]),
            _ if i == axis => (1, 1),
            _ => (self.dims()[i - 1], self.strides()[i - 1]),
        }))
    }

    /// Element `i` of an axis, which disappears.
    pub(crate) fn index(&self, axis: usize, i: usize) -> Result<Layout> {
        let n = self.check_axis(axis)?;
        if i >= n {
            return Err(out_of_range(i, axis, n));
        }
        let mut layout = self.without(axis);
        layout.offset += i as isize * self.strides()[axis];
        Ok(layout)
    }

    fn without(&self, axis: usize) -> Layout {
        self.with_axes(self.rank() - 1, |i| {
            let from = i + usize::from(i >= axis);
            (self.dims()[from], self.strides()[from])
        })
    }

    /// The same offset with other axes, given as size and stride.
    fn with_axes(&self, rank: usize, axis: impl Fn(usize) -> (usize, isize)) -> Layout {
        let mut axes = Axes::zeros(rank);
        for i in 0..rank {
            (axes.dims_mut()[i], axes.strides_mut()[i]) = axis(i);
        }
        Layout { axes, offset: self.offset }
    }

    /// The size of an axis that must exist.
    fn check_axis(&self, axis: usize) -> Result<usize> {
        self.dims().get(axis).copied().ok_or_else(|| {
            Error::index(format!("axis {axis} is out of range: there are {} axes", self.rank()))
        })
    }
}

#[cold]
fn out_of_range(i: impl std::fmt::Display, axis: usize, n: usize) -> Error {
    Error::index(format!("index {i} is out of range for axis {axis} of size {n}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message<T: std::fmt::Debug>(result: Result<T>) -> String {
        result.unwrap_err().to_string()
    }

    #[test]
    fn huge_shapes_are_refused() {
        assert!(Layout::contiguous(&[MAX_NUMEL]).is_ok());
        assert!(Layout::contiguous(&[MAX_NUMEL + 1]).is_err());
        assert!(Layout::contiguous(&[usize::MAX, usize::MAX]).is_err());
        assert_eq!(
            message(Layout::contiguous(&[1 << 40, 1 << 40, 0])),
            "shape [1099511627776, 1099511627776, 0] has too many elements"
        );
        assert!(Layout::SCALAR.expand(&[1 << 31, 1 << 31]).is_err());
        assert!(Layout::strided(&[2, 2], &[isize::MAX, isize::MIN]).is_err());
        assert!(Layout::strided(&[1, 2], &[isize::MIN, 1]).is_ok());
        assert_eq!(message(Layout::strided(&[2], &[1, 1])), "1 sizes were given with 2 strides");
    }

    #[test]
    fn contiguity_ignores_axes_of_size_one() {
        let layout = |dims: &[usize], strides: &[isize]| Layout::strided(dims, strides).unwrap();
        assert!(layout(&[2, 1, 3], &[3, 99, 1]).is_contiguous());
        assert!(!layout(&[2, 1, 3], &[1, 99, 2]).is_contiguous());
        assert!(!layout(&[3], &[-1]).is_contiguous());
        assert!(!layout(&[3], &[0]).is_contiguous());
        assert!(layout(&[5, 0, 2], &[7, 7, 7]).is_contiguous());
        assert!(layout(&[], &[]).is_contiguous());
    }

    #[test]
    fn mistakes_are_named() {
        let layout = Layout::contiguous(&[2, 3]).unwrap();
        assert_eq!(
            message(layout.permute(&[0, 0])),
            "[0, 0] is not an order of the 2 axes\n  \
             remedy: name each axis from 0 to 2, exclusive, once"
        );
        assert!(layout.permute(&[0]).is_err());
        assert!(layout.permute(&[0, 2]).is_err());
        assert_eq!(message(layout.transpose(0, 2)), "axis 2 is out of range: there are 2 axes");
        assert_eq!(message(layout.slice(0, 0, 1, 0)), "the step of a slice is 0");
        assert_eq!(
            message(layout.slice(1, 0, 4, 1)),
            "index 3 is out of range for axis 1 of size 3"
        );
        assert_eq!(
            message(layout.slice(1, 1, 3, -1)),
            "index -1 is out of range for axis 1 of size 3"
        );
        assert!(layout.slice(1, 3, 1, 1).is_err());
        assert!(layout.slice(1, usize::MAX, usize::MAX, isize::MIN).is_err());
        assert!(layout.slice(1, 0, 1, isize::MIN).is_ok());
        assert!(layout.slice(1, 3, 0, 1).is_ok());
        assert_eq!(message(layout.squeeze(0)), "axis 0 has the size 2, not 1");
        assert_eq!(message(layout.unsqueeze(3)), "a new axis 3 does not fit among 2 axes");
        assert!(Layout::contiguous(&[1; 8]).unwrap().unsqueeze(0).is_err());
        assert_eq!(message(layout.index(0, 2)), "index 2 is out of range for axis 0 of size 2");
        assert_eq!(message(layout.diagonal(1, 1, 0)), "axis 1 alone has no diagonal");
        assert!(layout.diagonal(0, 2, 0).is_err());
        assert!(layout.windows(1, 4, 1).is_err());
        assert!(layout.windows(1, 1, 0).is_err());
        assert!(layout.windows(2, 1, 1).is_err());
        assert!(Layout::contiguous(&[1; 8]).unwrap().windows(0, 1, 1).is_err());
        assert_eq!(message(layout.locate(&[1])), "an index of 1 numbers for 2 axes");
        assert_eq!(
            message(layout.expand(&[3])),
            "shape [2, 3] does not expand to [3]\n  \
             remedy: only axes of size 1 expand, and new axes come first"
        );
    }
}
