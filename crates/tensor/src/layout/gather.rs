//! Reading the elements of any layout in row-major order.

use super::Layout;

/// Rows and columns of a tile: both sides of a transposed tile stay in the first-level cache.
const TILE: usize = 32;

/// One axis of a plane: its size, and its strides in the source and in the destination.
#[derive(Clone, Copy)]
struct Axis {
    n: usize,
    from: isize,
    to: usize,
}

/// Writes `convert` of every element, in row-major order, to consecutive places from `to`.
///
/// # Safety
///
/// `from` is the first element and must be valid for reads at the distance of every other, and `to`
/// for writes of as many `D` as there are elements. The two do not overlap.
pub(crate) unsafe fn gather<S: Copy, D>(
    from: *const S,
    layout: &Layout,
    to: *mut D,
    convert: impl Fn(S) -> D + Copy,
) {
    if layout.numel() == 0 {
        return;
    }
    let mut axes: smallvec::SmallVec<[Axis; 8]> =
        layout.joined().iter().map(|&(n, from)| Axis { n, from, to: 0 }).collect();
    let mut stride = 1;
    for axis in axes.iter_mut().rev() {
        axis.to = stride;
        stride *= axis.n;
    }
    let one = Axis { n: 1, from: 0, to: 0 };
    let columns = axes.pop().unwrap_or(one);
    let is_transposed = columns.from.unsigned_abs() > 1;
    let unit = axes.iter().rposition(|axis| is_transposed && axis.from.unsigned_abs() == 1);
    let tile = if unit.is_some() { TILE } else { usize::MAX };
    let rows = match unit {
        Some(at) => axes.remove(at),
        None => axes.pop().unwrap_or(one),
    };
    let mut counters = [0_usize; crate::MAX_RANK];
    let (mut source, mut target) = (0_isize, 0_usize);
    loop {
        // SAFETY: the counters are inside the outer axes, so the plane's elements are elements of
        // the layout, and their places in row-major order are below its number of elements.
        unsafe { plane(from.offset(source), to.add(target), rows, columns, tile, convert) };
        let mut carry = axes.len();
        loop {
            let Some(at) = carry.checked_sub(1) else { return };
            let axis = axes[at];
            counters[at] += 1;
            if counters[at] < axis.n {
                source += axis.from;
                target += axis.to;
                break;
            }
            source -= axis.from * (axis.n - 1) as isize;
            target -= axis.to * (axis.n - 1);
            counters[at] = 0;
            carry = at;
        }
    }
}

/// Two axes of [`gather`], in square tiles.
///
/// # Safety
///
/// `from` must be valid for reads and `to` for writes at every element of the two axes.
unsafe fn plane<S: Copy, D>(
    from: *const S,
    to: *mut D,
    rows: Axis,
    columns: Axis,
    tile: usize,
    convert: impl Fn(S) -> D + Copy,
) {
    for first_row in (0..rows.n).step_by(tile) {
        for first_column in (0..columns.n).step_by(tile) {
            let length = tile.min(columns.n - first_column);
            for row in first_row..rows.n.min(first_row.saturating_add(tile)) {
                // SAFETY: row and column are inside the two axes, and so is the run from here on.
                unsafe {
                    let source = row as isize * rows.from + first_column as isize * columns.from;
                    let target = row * rows.to + first_column;
                    run(from.offset(source), columns.from, to.add(target), length, convert);
                }
            }
        }
    }
}

/// One line of elements.
///
/// # Safety
///
/// `from` must be valid for `length` reads `stride` apart, `to` for `length` writes.
#[inline(always)]
unsafe fn run<S: Copy, D>(
    from: *const S,
    stride: isize,
    to: *mut D,
    length: usize,
    convert: impl Fn(S) -> D,
) {
    // SAFETY: the caller's promise covers every `i` below `length`.
    unsafe {
        if stride == 1 {
            for i in 0..length {
                to.add(i).write(convert(from.add(i).read()));
            }
        } else {
            for i in 0..length {
                to.add(i).write(convert(from.offset(i as isize * stride).read()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Rng;

    /// Compares with the offsets visited one by one.
    fn check(dims: &[usize], axes: &[usize], memory: &[u32]) {
        let layout = Layout::contiguous(dims).unwrap().permute(axes).unwrap();
        let expected: Vec<u64> = layout.offsets().map(|i| u64::from(memory[i as usize])).collect();
        let mut out = vec![0_u64; expected.len()];
        assert!(memory.len() >= expected.len());
        // SAFETY: a permutation of a contiguous layout stays within as many elements as `out` has.
        unsafe { gather(memory.as_ptr(), &layout, out.as_mut_ptr(), u64::from) };
        assert_eq!(out, expected, "{dims:?} by {axes:?}");
    }

    #[test]
    fn all_orders_of_axes() {
        let memory: Vec<u32> = (0..100_000).collect();
        check(&[], &[], &memory);
        check(&[0, 4], &[1, 0], &memory);
        check(&[100, 200], &[1, 0], &memory);
        check(&[3, 65, 97], &[0, 2, 1], &memory);
        check(&[3, 65, 97], &[2, 0, 1], &memory);
        check(&[65, 3, 97], &[2, 1, 0], &memory);
        let mut rng = Rng::new(11);
        for _ in 0..300 {
            let dims: Vec<usize> = (0..rng.below(5)).map(|_| 1 + rng.below(7)).collect();
            let mut axes: Vec<usize> = (0..dims.len()).collect();
            for i in (1..axes.len()).rev() {
                axes.swap(i, rng.below(i + 1));
            }
            check(&dims, &axes, &memory);
        }
    }
}
