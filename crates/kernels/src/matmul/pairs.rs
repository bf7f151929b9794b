//! Products of `bf16` without a copy of the operands as `f32`: pairs of them are multiplied and added to sums of `f32`, where the
//! machine has instructions for it.
//!
//! Each element is one chain of sums over all pairs in order, whatever the task and the tile. Numbers beneath the normal
//! ones count as 0, as the instructions take them.

use std::arch::x86_64::*;
use std::ops::Range;

use fluvial_tensor::{Result, Tensor, bf16};

use super::matrix::{Matrix, Sizes};
use crate::lanes::{Parts, run_tasks};
use crate::scratch::Scratch;
use crate::simd::{self, Level};
use crate::threads;

/// The columns of a panel.
const PANEL: usize = 16;

/// The most rows of a task, and multiplications that are worth one.
const ROWS: usize = 192;
const TASK: usize = 1 << 20;

/// Whether this is the way for products of these sizes here: few rows are not worth the packing.
pub(super) fn is_worth_it(sizes: Sizes) -> bool {
    let Sizes { m, k, n } = sizes;
    m >= 8
        && n >= PANEL
        && k >= 16
        && simd::level() == Level::Avx512
        && is_x86_feature_detected!("avx512bf16")
}

/// Writes the products to `out`, which has the same batch; all are `bf16`, and none is empty.
pub(super) fn products(sizes: Sizes, a: &Tensor, b: &Tensor, out: &mut Tensor) -> Result<()> {
    let Sizes { m, n, .. } = sizes;
    let out = out.as_mut_slice::<bf16>()?;
    for (number, out) in out.chunks_exact_mut(m * n).enumerate() {
        product(sizes, Matrix::of(a, number), Matrix::of(b, number), out)?;
    }
    Ok(())
}

/// Rows of pairs.
#[derive(Clone, Copy)]
struct Left {
    first: *const bf16,
    /// The elements from one row to the next.
    row: usize,
}

// SAFETY: it is only read, or each task writes rows of its own.
unsafe impl Sync for Left {}

/// Panels of pairs: those of 16 columns, then the next pairs of them.
#[derive(Clone, Copy)]
struct Right {
    first: *mut u32,
    pairs: usize,
}

// SAFETY: each task writes its own panels before all of them are read.
unsafe impl Sync for Right {}

fn product(sizes: Sizes, a: Matrix<bf16>, b: Matrix<bf16>, out: &mut [bf16]) -> Result<()> {
    let Sizes { m, k, n } = sizes;
    let (pairs, panels) = (k.div_ceil(2), n.div_ceil(PANEL));
    let mut for_right = Scratch::take::<u32>(panels * PANEL * pairs)?;
    let right = Right { first: for_right.as_mut_ptr(), pairs };
    let (a, b) = (Operand(a), Operand(b));
    threads::run(panels, |panel| {
        let columns = panel * PANEL..n.min((panel + 1) * PANEL);
        // SAFETY: the columns are those of the matrix; the panel is this task's.
        unsafe { pack_right(b, k, columns, right.panel(panel)) };
    });
    let in_place = a.0.column_stride == 1 && a.0.row_stride >= 0 && k.is_multiple_of(2);
    let mut for_left = Scratch::take::<u16>(if in_place { 0 } else { 2 * pairs * m })?;
    let left = match in_place {
        true => Left { first: a.0.data, row: a.0.row_stride as usize },
        false => {
            let packed = Left { first: for_left.as_mut_ptr::<u16>().cast(), row: 2 * pairs };
            let parts = m.div_ceil(PANEL);
            threads::run(parts, |part| {
                let rows = part * PANEL..m.min((part + 1) * PANEL);
                // SAFETY: the rows are those of the matrix, and this task's.
                unsafe { pack_left(a, k, rows, packed) };
            });
            packed
        }
    };
    let row_parts = m.div_ceil(ROWS);
    let wide = TASK.div_ceil(m.min(ROWS) * k * PANEL).next_multiple_of(2).min(panels);
    let column_parts = panels.div_ceil(wide);
    let parts = Parts::new(out);
    run_tasks(row_parts * column_parts, |task| {
        let (row, column) = (task / column_parts, task % column_parts);
        let rows = m * row / row_parts..m * (row + 1) / row_parts;
        let panels = column * wide..panels.min((column + 1) * wide);
        // SAFETY: the machine has the instructions; the operands are packed; this part of the output is the task's.
        unsafe { tiles(left, right, n, rows, panels, &parts) };
        Ok(())
    })
}

impl Right {
    fn panel(self, number: usize) -> *mut u32 {
        self.first.wrapping_add(number * PANEL * self.pairs)
    }
}

/// A matrix that tasks read.
#[derive(Clone, Copy)]
struct Operand(Matrix<bf16>);

// SAFETY: it is only read.
unsafe impl Sync for Operand {}

impl Operand {
    /// The bits of an element; none beyond the last row of so many.
    #[inline(always)]
    unsafe fn bits(self, row: usize, column: usize) -> u16 {
        // SAFETY: by the caller's promise there is such an element.
        unsafe { (*self.0.from(row, column).data).to_bits() }
    }
}

/// Copies pairs of rows of some columns.
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn pack_right(b: Operand, k: usize, columns: Range<usize>, to: *mut u32) {
    let width = columns.len();
    for pair in 0..k.div_ceil(2) {
        // SAFETY: the panel has these pairs.
        let to = unsafe { std::slice::from_raw_parts_mut(to.add(pair * PANEL), PANEL) };
        let has_second = 2 * pair + 1 < k;
        if width == PANEL && has_second && b.0.column_stride == 1 {
            let rows = [2 * pair, 2 * pair + 1].map(|row| {
                let from = b.0.from(row, columns.start).data.cast::<[u16; PANEL]>();
                // SAFETY: the row has these columns.
                unsafe { from.read_unaligned() }
            });
            for (i, to) in to.iter_mut().enumerate() {
                *to = u32::from(rows[0][i]) | u32::from(rows[1][i]) << 16;
            }
            continue;
        }
        for (i, to) in to.iter_mut().enumerate() {
            let of = |row: usize| match i < width && row < k {
                // SAFETY: the matrix has this row and column.
                true => u32::from(unsafe { b.bits(row, columns.start + i) }),
                false => 0,
            };
            *to = of(2 * pair) | of(2 * pair + 1) << 16;
        }
    }
}

/// Copies rows, with a zero behind those of an odd length.
unsafe fn pack_left(a: Operand, k: usize, rows: Range<usize>, to: Left) {
    // Column by column: where rows are copied, columns lie side by side.
    for column in 0..to.row {
        for row in rows.clone() {
            let bits = match column < k {
                // SAFETY: the matrix has this row and column.
                true => unsafe { a.bits(row, column) },
                false => 0,
            };
            let place = to.first.cast_mut().wrapping_add(row * to.row + column);
            // SAFETY: there is room for this row, which is this task's.
            unsafe { *place = bf16::from_bits(bits) };
        }
    }
}

/// The tiles of some rows and panels.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")]
unsafe fn tiles(
    left: Left,
    right: Right,
    n: usize,
    rows: Range<usize>,
    panels: Range<usize>,
    out: &Parts<'_, bf16>,
) {
    let mut panel = panels.start;
    while panel < panels.end {
        let count = (panels.end - panel).min(2);
        let mut row = rows.start;
        while row < rows.end {
            let from = Left { first: left.first.wrapping_add(row * left.row), ..left };
            // SAFETY: by the caller's promise.
            row += unsafe {
                match ((rows.end - row).min(12), count) {
                    (12, 2) => tile::<12, 2>(from, right, n, row, panel, out),
                    (8.., 2) => tile::<8, 2>(from, right, n, row, panel, out),
                    (4.., 2) => tile::<4, 2>(from, right, n, row, panel, out),
                    (_, 2) => tile::<1, 2>(from, right, n, row, panel, out),
                    (12, _) => tile::<12, 1>(from, right, n, row, panel, out),
                    (4.., _) => tile::<4, 1>(from, right, n, row, panel, out),
                    _ => tile::<1, 1>(from, right, n, row, panel, out),
                }
            };
        }
        panel += count;
    }
}

/// Some rows by some panels; gives how many rows.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")]
#[inline]
unsafe fn tile<const R: usize, const P: usize>(
    left: Left,
    right: Right,
    n: usize,
    row: usize,
    panel: usize,
    out: &Parts<'_, bf16>,
) -> usize {
    let mut sums = [[_mm512_setzero_ps(); P]; R];
    let panels: [*const u32; P] = std::array::from_fn(|p| right.panel(panel + p).cast_const());
    for pair in 0..right.pairs {
        // SAFETY: the panels have this pair, and so has each row.
        unsafe {
            let mut columns = [_mm512_setzero_si512(); P];
            for (column, panel) in columns.iter_mut().zip(panels) {
                *column = _mm512_loadu_si512(panel.add(pair * PANEL).cast());
            }
            for (r, sums) in sums.iter_mut().enumerate() {
                let two = left.first.add(r * left.row + 2 * pair).cast::<i32>().read_unaligned();
                let two: __m512bh = std::mem::transmute(_mm512_set1_epi32(two));
                for (sum, column) in sums.iter_mut().zip(columns) {
                    *sum = _mm512_dpbf16_ps(
                        *sum,
                        two,
                        std::mem::transmute::<__m512i, __m512bh>(column),
                    );
                }
            }
        }
    }
    for (r, sums) in sums.iter().enumerate() {
        for (p, &sum) in sums.iter().enumerate() {
            let first = (panel + p) * PANEL;
            let width = (n - first).min(PANEL);
            let start = (row + r) * n + first;
            // SAFETY: vectors of floats are their numbers.
            let numbers: [f32; PANEL] = unsafe { std::mem::transmute(sum) };
            let rounded = numbers.map(round);
            // SAFETY: this part of the output is the task's.
            let to = unsafe { out.get(start..start + width) };
            to.copy_from_slice(&rounded[..width]);
        }
    }
    R
}

/// The nearest `bf16`, the even one of two.
#[inline(always)]
fn round(x: f32) -> bf16 {
    let bits = x.to_bits();
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
    let quiet = bits >> 16 | 0x40;
    bf16::from_bits(if x.is_nan() { quiet } else { rounded } as u16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matmul::matmul;
    use crate::testing::Rng;
    use fluvial_tensor::DType;

    #[test]
    fn sums_of_pairs_are_close_and_depend_on_no_layout_or_threads() {
        let mut rng = Rng::new(9);
        for (m, k, n) in [(8, 16, 16), (13, 65, 40), (30, 128, 17), (200, 33, 100), (97, 512, 64)] {
            let a = rng.tensor(DType::BF16, &[m, k]);
            let b = rng.tensor(DType::BF16, &[k, n]);
            let wide = |x: &Tensor| x.cast(DType::F64).unwrap();
            let expected = matmul(&wide(&a), &wide(&b), DType::F64).unwrap().to_f64s();
            let found = matmul(&a, &b, DType::BF16).unwrap();
            for (found, expected) in found.to_f64s().iter().zip(&expected) {
                let bound = expected.abs() / 200.0 + 1e-3 * k as f64;
                assert!((found - expected).abs() <= bound, "{m}x{k}x{n}: {found} {expected}");
            }
            let before = threads::count();
            for count in [1, 2, 3, 8] {
                threads::set_count(count);
                let (a, b) = (rng.scramble(&a), rng.scramble(&b));
                assert!(matmul(&a, &b, DType::BF16).unwrap().bitwise_eq(&found), "{m}x{k}x{n}");
            }
            threads::set_count(before);
        }
    }

    #[test]
    fn numbers_are_rounded_as_everywhere() {
        let mut rng = Rng::new(10);
        for x in [0.0, -0.0, 1.0, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, 1e-40, 3.0e38] {
            assert_eq!(round(x).to_bits(), bf16::from_f32(x).to_bits(), "{x}");
        }
        assert!(round(f32::NAN).is_nan());
        for _ in 0..10_000 {
            let x = f32::from_bits(rng.bits() as u32);
            if !x.is_nan() {
                assert_eq!(round(x).to_bits(), bf16::from_f32(x).to_bits(), "{x}");
            }
        }
    }

    #[test]
    fn infinity_and_nan_pass_through() {
        let mut values = vec![1.0; 8 * 16];
        (values[0], values[16], values[32]) = (f64::INFINITY, f64::NAN, -f64::INFINITY);
        let a = Tensor::from_f64s(DType::BF16, &values, &[8, 16]).unwrap();
        let b = Tensor::from_f64s(DType::BF16, &[1.0; 16 * 16], &[16, 16]).unwrap();
        let found = matmul(&a, &b, DType::BF16).unwrap().to_f64s();
        assert!(found[0] == f64::INFINITY && found[16].is_nan() && found[32] == -f64::INFINITY);
        assert_eq!(found[48], 16.0);
    }
}
