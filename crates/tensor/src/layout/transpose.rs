//! Transposing matrices of 32-bit elements by square blocks that fill registers and cache lines.

use super::{Layout, gather};

/// Writes all elements, in row-major order, to consecutive places from `to`, as [`gather`] does.
///
/// # Safety
///
/// As for [`gather`].
pub(crate) unsafe fn gather_words(from: *const u32, layout: &Layout, to: *mut u32) {
    let axes = layout.joined();
    let (count, jump, rest) = match *axes.as_slice() {
        [(n, stride), ref rest @ ..] if axes.len() == 3 => (n, stride, rest),
        ref rest => (1, 0, rest),
    };
    if let [(height, 1), (width, stride)] = *rest
        && layout.numel() > 0
        && stride.unsigned_abs() > 1
    {
        for i in 0..count {
            // SAFETY: matrix `i` of the layout begins here, and its place in row-major order there.
            unsafe {
                let from = from.offset(i as isize * jump);
                transpose(from, stride, to.add(i * height * width), height, width);
            }
        }
        return;
    }
    // SAFETY: by the caller's promise.
    unsafe { gather(from, layout, to, |bits| bits) }
}

/// Rows and columns of a block.
const SIDE: usize = 16;

/// Blocks beside each other that are copied before those of other rows, so that few pages are in use.
const STRIP: usize = 4 * SIDE;

/// Writes element `(row, column)` of the transposed matrix, which is at `row + column * stride` from
/// `from`, to `row * width + column` from `to`, for all below `height` and `width`.
///
/// # Safety
///
/// `from` must be valid for reads and `to` for writes at all these places, which do not overlap.
unsafe fn transpose(from: *const u32, stride: isize, to: *mut u32, height: usize, width: usize) {
    #[cfg(target_arch = "x86_64")]
    let wide = is_x86_feature_detected!("avx512f");
    let whole_rows = height - height % SIDE;
    for strip in (0..width).step_by(STRIP) {
        let end = width.min(strip + STRIP);
        for row in (0..whole_rows).step_by(SIDE) {
            for column in (strip..end).step_by(SIDE) {
                // SAFETY: the block, or the part of it inside the strip, is inside the matrix.
                unsafe {
                    let from = from.offset(row as isize + column as isize * stride);
                    let to = to.add(row * width + column);
                    #[cfg(target_arch = "x86_64")]
                    if wide && column + SIDE <= end {
                        block(from, stride, to, width);
                        continue;
                    }
                    plain(from, stride, to, width, SIDE, SIDE.min(end - column));
                }
            }
        }
    }
    // SAFETY: the remaining rows are inside the matrix.
    unsafe {
        let to = to.add(whole_rows * width);
        plain(from.add(whole_rows), stride, to, width, height - whole_rows, width);
    }
}

/// Any number of rows and columns, one by one.
///
/// # Safety
///
/// As for [`transpose`], with `row * pitch` in place of `row * width`.
unsafe fn plain(
    from: *const u32,
    stride: isize,
    to: *mut u32,
    pitch: usize,
    height: usize,
    width: usize,
) {
    for row in 0..height {
        for column in 0..width {
            // SAFETY: by the caller's promise.
            unsafe {
                let from = from.offset(row as isize + column as isize * stride);
                to.add(row * pitch + column).write(from.read());
            }
        }
    }
}

/// A block of 16 rows and columns.
///
/// # Safety
///
/// As for [`plain`]; the machine has AVX-512.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn block(from: *const u32, stride: isize, to: *mut u32, pitch: usize) {
    use std::arch::x86_64::*;
    // SAFETY: 16 elements from the start of each of 16 columns are readable.
    let loaded: [__m512i; SIDE] = std::array::from_fn(|i| unsafe {
        _mm512_loadu_si512(from.offset(i as isize * stride).cast())
    });
    let pairs: [__m512i; SIDE] = std::array::from_fn(|i| {
        let (a, b) = (loaded[i & !1], loaded[i | 1]);
        if i % 2 == 0 { _mm512_unpacklo_epi32(a, b) } else { _mm512_unpackhi_epi32(a, b) }
    });
    let fours: [__m512i; SIDE] = std::array::from_fn(|i| {
        let first = (i & !3) + (i & 2) / 2;
        let (a, b) = (pairs[first], pairs[first + 2]);
        if i % 2 == 0 { _mm512_unpacklo_epi64(a, b) } else { _mm512_unpackhi_epi64(a, b) }
    });
    for i in 0..4 {
        let [a, b, c, d] = [fours[i], fours[4 + i], fours[8 + i], fours[12 + i]];
        let even = (_mm512_shuffle_i32x4::<0x88>(a, b), _mm512_shuffle_i32x4::<0x88>(c, d));
        let odd = (_mm512_shuffle_i32x4::<0xdd>(a, b), _mm512_shuffle_i32x4::<0xdd>(c, d));
        let rows = [
            (i, _mm512_shuffle_i32x4::<0x88>(even.0, even.1)),
            (4 + i, _mm512_shuffle_i32x4::<0x88>(odd.0, odd.1)),
            (8 + i, _mm512_shuffle_i32x4::<0xdd>(even.0, even.1)),
            (12 + i, _mm512_shuffle_i32x4::<0xdd>(odd.0, odd.1)),
        ];
        for (row, values) in rows {
            // SAFETY: 16 elements from the start of each of 16 rows are writable.
            unsafe { _mm512_storeu_si512(to.add(row * pitch).cast(), values) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_and_what_is_left_of_them() {
        let memory: Vec<u32> = (0..40_000).collect();
        for (height, width) in
            [(1, 1), (16, 16), (17, 15), (15, 33), (64, 64), (100, 200), (130, 67)]
        {
            for stride in [height, height + 3] {
                let mut out = vec![0; height * width];
                assert!(stride * width <= memory.len());
                // SAFETY: all places are inside the two vectors.
                unsafe {
                    transpose(memory.as_ptr(), stride as isize, out.as_mut_ptr(), height, width);
                }
                for row in 0..height {
                    for column in 0..width {
                        assert_eq!(out[row * width + column], (row + column * stride) as u32);
                    }
                }
            }
        }
    }
}
