//! Products of blocks, for other kernels that hold them in the caches.

use super::matrix::Matrix;
use super::pack::pack;
use super::tile::{Kernel, Tile, WIDTH};
use crate::simd::vectorized;
use crate::softmax::Power;

/// The columns of a packed panel.
pub(crate) const PANEL: usize = WIDTH;

/// The longest chain of sums before it is added to the output.
const CHAIN: usize = 256;

/// A matrix in memory, of any strides, in elements.
#[derive(Clone, Copy)]
pub(crate) struct Operand<T> {
    pub data: *const T,
    pub row: isize,
    pub column: isize,
}

impl<T> Operand<T> {
    /// The matrix from this row on.
    pub(crate) fn at_row(self, row: usize) -> Operand<T> {
        Operand { data: self.data.wrapping_offset(row as isize * self.row), ..self }
    }

    /// Rows as columns.
    pub(crate) fn transposed(self) -> Operand<T> {
        Operand { data: self.data, row: self.column, column: self.row }
    }
}

/// A right operand whose rows are contiguous in panels of [`PANEL`] columns: rows are `row` elements
/// apart, panels `panel`.
#[derive(Clone, Copy)]
pub(crate) struct Panels<T> {
    pub data: *const T,
    pub row: isize,
    pub panel: usize,
}

impl<T> Panels<T> {
    /// Panels of `k` rows, as [`Blocks::pack`] writes them.
    pub(crate) fn packed(data: *const T, k: usize) -> Panels<T> {
        Panels { data, row: PANEL as isize, panel: k * PANEL }
    }

    /// A matrix with contiguous rows, read where it is.
    pub(crate) fn in_place(matrix: Operand<T>) -> Panels<T> {
        Panels { data: matrix.data, row: matrix.row, panel: PANEL }
    }
}

/// An output whose rows are contiguous.
#[derive(Clone, Copy)]
pub(crate) struct Output<T> {
    pub data: *mut T,
    pub row: usize,
}

impl<T> Output<T> {
    /// The output from this row on.
    pub(crate) fn at_row(self, row: usize) -> Output<T> {
        Output { data: self.data.wrapping_add(row * self.row), ..self }
    }
}

/// A type with products of blocks.
pub(crate) trait Blocks: Power {
    /// `c = a b`, or `c += a b`, of `m` rows, `n` columns and chains of length `k`.
    ///
    /// # Safety
    ///
    /// The operands have these sizes, and nothing else refers to the output meanwhile.
    unsafe fn multiply(
        sizes: [usize; 3],
        a: Operand<Self>,
        b: Panels<Self>,
        c: Output<Self>,
        add: bool,
    );

    /// Copies `k` rows and `n` columns to panels, filled up with 0.
    ///
    /// # Safety
    ///
    /// The matrix has these rows and columns, the target room for all panels.
    unsafe fn pack(b: Operand<Self>, k: usize, n: usize, panels: *mut Self);
}

impl Blocks for f32 {
    unsafe fn multiply(
        [m, k, n]: [usize; 3],
        a: Operand<f32>,
        b: Panels<f32>,
        c: Output<f32>,
        add: bool,
    ) {
        let kernel = Kernel::best();
        let n_tiles = m.div_ceil(kernel.rows());
        let n_chains = k.div_ceil(CHAIN).max(1);
        let n_panels = n.div_ceil(WIDTH);
        // The inner loop is over panels, if all of them stay in the first cache, or else over rows.
        let panels_inside = k * n <= 9 << 10;
        for chain in 0..n_chains {
            let (from, to) = (k * chain / n_chains, k * (chain + 1) / n_chains);
            for step in 0..n_tiles * n_panels {
                let (number, panel) = match panels_inside {
                    true => (step / n_panels, step % n_panels),
                    false => (step % n_tiles, step / n_tiles),
                };
                let (top, bottom) = (m * number / n_tiles, m * (number + 1) / n_tiles);
                let left = a.at_row(top).data.wrapping_offset(from as isize * a.column);
                let right = b.data.wrapping_add(panel * b.panel);
                let tile = Tile {
                    k: to - from,
                    a: left,
                    a_row: a.row,
                    a_column: a.column,
                    b: right.wrapping_offset(from as isize * b.row),
                    b_row: b.row,
                    width: (n - panel * WIDTH).min(WIDTH),
                    c: c.at_row(top).data.wrapping_add(panel * WIDTH),
                    c_row: c.row as isize,
                    add: add || chain > 0,
                    ahead: left.cast(),
                    ahead_step: 0,
                    later: left.cast(),
                    later_step: 0,
                };
                // SAFETY: the kernel is one of this machine; the rest by the caller's promise.
                unsafe { kernel.tile(bottom - top)(&tile) };
            }
        }
    }

    unsafe fn pack(b: Operand<f32>, k: usize, n: usize, panels: *mut f32) {
        for (panel, first) in (0..n).step_by(WIDTH).enumerate() {
            let matrix = Matrix {
                data: b.data.wrapping_offset(first as isize * b.column),
                row_stride: b.row,
                column_stride: b.column,
            };
            let to = panels.wrapping_add(panel * k * WIDTH);
            // SAFETY: by the caller's promise.
            unsafe { pack(matrix, k, (n - first).min(WIDTH), to) };
        }
    }
}

/// Rows and columns of the tiles of `f64`.
const ROWS: usize = 4;
const COLUMNS: usize = 16;

impl Blocks for f64 {
    unsafe fn multiply(
        [m, k, n]: [usize; 3],
        a: Operand<f64>,
        b: Panels<f64>,
        c: Output<f64>,
        add: bool,
    ) {
        vectorized(
            #[inline(always)]
            || {
                for top in (0..m).step_by(ROWS) {
                    for first in (0..n).step_by(COLUMNS) {
                        let (rows, width) = ((m - top).min(ROWS), (n - first).min(COLUMNS));
                        let right = b.data.wrapping_add(first / WIDTH * b.panel + first % WIDTH);
                        let mut sums = [[0.0; COLUMNS]; ROWS];
                        for p in 0..k {
                            let mut row = [0.0; COLUMNS];
                            let from = right.wrapping_offset(p as isize * b.row);
                            // SAFETY: row `p` of `b` has these columns.
                            unsafe { copy(from, &mut row, width) };
                            for (i, sums) in sums.iter_mut().enumerate().take(rows) {
                                let left = a.at_row(top + i).data;
                                // SAFETY: this row of `a` has an element `p`.
                                let left = unsafe { *left.wrapping_offset(p as isize * a.column) };
                                sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += left * x);
                            }
                        }
                        for (i, sums) in sums.iter().enumerate().take(rows) {
                            let to = c.at_row(top + i).data.wrapping_add(first);
                            // SAFETY: this row of `c` has these columns.
                            let to = unsafe { std::slice::from_raw_parts_mut(to, width) };
                            for (to, sum) in to.iter_mut().zip(sums) {
                                *to = if add { *to + sum } else { *sum };
                            }
                        }
                    }
                }
            },
        );
    }

    unsafe fn pack(b: Operand<f64>, k: usize, n: usize, panels: *mut f64) {
        for column in 0..n.next_multiple_of(WIDTH) {
            for p in 0..k {
                let at = p as isize * b.row + column as isize * b.column;
                // SAFETY: by the caller's promise; what is past the last column is not read.
                unsafe {
                    let x = if column < n { *b.data.wrapping_offset(at) } else { 0.0 };
                    *panels.add(column / WIDTH * k * WIDTH + p * WIDTH + column % WIDTH) = x;
                }
            }
        }
    }
}

/// Copies `width` numbers; whole rows without a loop.
#[inline(always)]
unsafe fn copy(from: *const f64, to: &mut [f64; COLUMNS], width: usize) {
    if width == COLUMNS {
        // SAFETY: by the caller's promise.
        *to = unsafe { from.cast::<[f64; COLUMNS]>().read() };
    } else {
        // SAFETY: as above.
        to[..width].copy_from_slice(unsafe { std::slice::from_raw_parts(from, width) });
    }
}
