//! Other sizes for the same elements, where strides can express them.

use super::Layout;
use smallvec::SmallVec;

impl Layout {
    /// This layout without axes of size 1, and with axes joined that are contiguous among
    /// themselves: `(size, stride)` each, outermost first.
    pub(super) fn joined(&self) -> SmallVec<[(usize, isize); 8]> {
        let mut joined: SmallVec<[(usize, isize); 8]> = SmallVec::new();
        for (&n, &stride) in self.dims().iter().zip(self.strides()) {
            if n == 1 {
                continue;
            }
            match joined.last_mut() {
                Some(outer) if outer.1 == stride.wrapping_mul(n as isize) => {
                    *outer = (outer.0 * n, stride);
                }
                _ => joined.push((n, stride)),
            }
        }
        joined
    }

    /// The layout with sizes `dims` over the same elements in the same order; none if it would
    /// need a copy or the numbers of elements differ.
    pub(crate) fn reshape(&self, dims: &[usize]) -> Option<Layout> {
        let mut layout = Layout::contiguous(dims).ok()?;
        if layout.numel() != self.numel() {
            return None;
        }
        layout.offset = self.offset;
        if self.is_contiguous() {
            return Some(layout);
        }
        let mut axis = dims.len();
        for &(n, stride) in self.joined().iter().rev() {
            let mut covered = 1;
            while covered < n {
                axis = axis.checked_sub(1)?;
                layout.axes.strides_mut()[axis] = stride.wrapping_mul(covered as isize);
                covered *= dims[axis];
            }
            if covered != n {
                return None;
            }
        }
        Some(layout)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strides(dims: &[usize], strides: &[isize], new: &[usize]) -> Option<Vec<isize>> {
        let layout = Layout::strided(dims, strides).unwrap().reshape(new)?;
        Some(layout.strides().to_vec())
    }

    #[test]
    fn axes_join_and_split_where_strides_allow() {
        assert_eq!(strides(&[2, 3, 4], &[12, 4, 1], &[6, 4]), Some(vec![4, 1]));
        assert_eq!(strides(&[4, 6], &[12, 2], &[4, 2, 3]), Some(vec![12, 6, 2]));
        assert_eq!(strides(&[4, 6], &[12, 2], &[24]), Some(vec![2]));
        assert_eq!(strides(&[4, 6], &[13, 2], &[24]), None);
        assert_eq!(strides(&[4, 6], &[13, 2], &[8, 3]), None);
        assert_eq!(strides(&[4, 6], &[13, 2], &[2, 2, 6]), Some(vec![26, 13, 2]));
        assert_eq!(strides(&[3, 2], &[1, 3], &[6]), None);
        assert_eq!(strides(&[3], &[-2], &[3, 1]), Some(vec![-2, -2]));
        assert_eq!(strides(&[6], &[-2], &[2, 3]), Some(vec![-6, -2]));
        assert_eq!(strides(&[6], &[0], &[2, 3]), Some(vec![0, 0]));
        assert_eq!(strides(&[2, 3], &[1, 2], &[3, 2]), None);
        assert_eq!(strides(&[2, 3], &[1, 2], &[7]), None);
    }
}
