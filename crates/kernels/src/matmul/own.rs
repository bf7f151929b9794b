//! Our own products of `f32`, for shapes where packing both operands costs too much: few rows, and small
//! matrices.

use fluvial_tensor::Result;

use super::matrix::{Matrix, Sizes};
use super::pack::pack;
use super::tile::{Kernel, Tile, WIDTH};
use crate::scratch::Scratch;

/// The longest chain of sums before it is added to the output: it bounds the rounding error, and a
/// panel of so many rows stays in the L1 cache.
const CHAIN: usize = 256;

/// A product, or a part of one, and where it goes: rows of `out` are `out_row` elements apart.
#[derive(Clone, Copy)]
pub(super) struct Part<T> {
    pub sizes: Sizes,
    pub a: Matrix<T>,
    pub b: Matrix<T>,
    pub out: *mut T,
    pub out_row: usize,
    /// Where the right operand of the next part begins, if this thread will compute one.
    pub next: Option<*const T>,
}

/// The right operand.
#[derive(Clone, Copy)]
enum Right {
    /// Rows that are contiguous, read where they are.
    InPlace(Matrix<f32>),
    /// Any strides; each panel is packed when its turn comes.
    Pack(Matrix<f32>),
}

/// Computes a part.
///
/// # Safety
///
/// The matrices are within tensors, and nothing else refers to the output meanwhile.
pub(super) unsafe fn product(kernel: &Kernel, part: Part<f32>) -> Result<()> {
    let Part { sizes: Sizes { m, k, n }, b, .. } = part;
    // SAFETY: by the caller's promise.
    unsafe {
        let few_rows = m <= kernel.rows() || m * k <= 32 * 32;
        if b.column_stride == 1 && few_rows {
            return panels(kernel, part, Right::InPlace(b));
        }
        if k <= CHAIN && n * k <= 1 << 16 && m > kernel.rows() {
            return rows(kernel, part);
        }
        if b.row_stride == 1 && m <= 2 * WIDTH && k >= WIDTH {
            return transposed(kernel, part);
        }
        panels(kernel, part, Right::Pack(b))
    }
}

/// For more rows than a tile has and short chains: all of the right operand is packed, and stays in the
/// cache while tile after tile of the rows passes by.
unsafe fn rows(kernel: &Kernel, part: Part<f32>) -> Result<()> {
    let Part { sizes: Sizes { m, k, n }, a, b, out, out_row, next } = part;
    let mut scratch = Scratch::take::<f32>(n.next_multiple_of(WIDTH) * k)?;
    let panels = scratch.as_mut_ptr::<f32>();
    for first in (0..n).step_by(WIDTH) {
        let width = (n - first).min(WIDTH);
        // SAFETY: the columns are those of `b`; there is room for all panels.
        unsafe { pack(b.from(0, first), k, width, panels.wrapping_add(first * k)) };
    }
    let n_tiles = m.div_ceil(kernel.rows());
    // While the first panel is used, the next rows of `a` are fetched, then those of the output; and all
    // the time, a part of the next right operand.
    let n_steps = n.div_ceil(WIDTH) * k;
    let a_step = (4 * kernel.rows()).min(64);
    let out_step = (4 * kernel.rows() * n).div_ceil((n_steps - k).max(1)).min(128);
    let (mut later, later_step) = match next {
        Some(next) => (next.cast::<u8>(), (4 * k * n).div_ceil(n_steps * n_tiles)),
        None => (panels.cast_const().cast(), 0),
    };
    for number in 0..n_tiles {
        let (top, bottom) = (m * number / n_tiles, m * (number + 1) / n_tiles);
        let (mut ahead, mut ahead_step) = (a.from(bottom, 0).data.cast::<u8>(), a_step);
        for first in (0..n).step_by(WIDTH) {
            let tile = Tile {
                k,
                a: a.from(top, 0).data,
                a_row: a.row_stride,
                a_column: a.column_stride,
                b: panels.wrapping_add(first * k),
                b_row: WIDTH as isize,
                width: (n - first).min(WIDTH),
                c: out.wrapping_add(top * out_row + first),
                c_row: out_row as isize,
                add: false,
                ahead,
                ahead_step,
                later,
                later_step,
            };
            // SAFETY: the kernel is one of this machine; the tile is within the part.
            unsafe { kernel.tile(bottom - top)(&tile) };
            ahead = match first {
                0 => out.wrapping_add(bottom * out_row).cast_const().cast(),
                _ => ahead.wrapping_add(ahead_step * k),
            };
            ahead_step = out_step;
            later = later.wrapping_add(later_step * k);
        }
    }
    Ok(())
}

/// Panel by panel of the right operand.
unsafe fn panels(kernel: &Kernel, part: Part<f32>, right: Right) -> Result<()> {
    let Part { sizes: Sizes { m, k, n }, a, out, out_row, .. } = part;
    let n_chains = k.div_ceil(CHAIN);
    let mut scratch = match right {
        Right::Pack(_) => Some(Scratch::take::<f32>(k.div_ceil(n_chains) * WIDTH)?),
        _ => None,
    };
    let n_tiles = m.div_ceil(kernel.rows());
    for chain in 0..n_chains {
        let (from, to) = (k * chain / n_chains, k * (chain + 1) / n_chains);
        for first in (0..n).step_by(WIDTH) {
            let width = (n - first).min(WIDTH);
            let (b, b_row, next) = match right {
                Right::InPlace(b) => (b.from(from, first).data, b.row_stride, b.data),
                Right::Pack(b) => {
                    let Some(scratch) = &mut scratch else { continue };
                    let panel = scratch.as_mut_ptr::<f32>();
                    // SAFETY: the columns and rows are those of `b`; the memory has room for a panel.
                    unsafe { pack(b.from(from, first), to - from, width, panel) };
                    (panel.cast_const(), WIDTH as isize, panel.cast_const())
                }
            };
            for number in 0..n_tiles {
                let (top, bottom) = (m * number / n_tiles, m * (number + 1) / n_tiles);
                let tile = Tile {
                    k: to - from,
                    a: a.from(top, from).data,
                    a_row: a.row_stride,
                    a_column: a.column_stride,
                    b,
                    b_row,
                    width,
                    c: out.wrapping_add(top * out_row + first),
                    c_row: out_row as isize,
                    add: chain > 0,
                    ahead: next.cast(),
                    ahead_step: 0,
                    later: next.cast(),
                    later_step: 0,
                };
                // SAFETY: the kernel is one of this machine; the tile is within the part.
                unsafe { kernel.tile(bottom - top)(&tile) };
            }
        }
    }
    Ok(())
}

/// For few rows and a right operand with contiguous columns: the transposed product, where it is the
/// left operand, which needs no packing.
unsafe fn transposed(kernel: &Kernel, part: Part<f32>) -> Result<()> {
    let Part { sizes: Sizes { m, k, n }, a, b, out, out_row, .. } = part;
    let n_chains = k.div_ceil(CHAIN);
    let mut scratch = Scratch::take::<f32>(m.next_multiple_of(WIDTH) * k)?;
    let panels = scratch.as_mut_ptr::<f32>();
    for first in (0..m).step_by(WIDTH) {
        let width = (m - first).min(WIDTH);
        // SAFETY: the rows are those of `a`; there is room for all panels.
        unsafe { pack(a.from(first, 0).transposed(), k, width, panels.wrapping_add(first * k)) };
    }
    let n_tiles = n.div_ceil(kernel.rows());
    let mut buffer = [0.0f32; 14 * WIDTH];
    for number in 0..n_tiles {
        let (left, right) = (n * number / n_tiles, n * (number + 1) / n_tiles);
        for first in (0..m).step_by(WIDTH) {
            let width = (m - first).min(WIDTH);
            for chain in 0..n_chains {
                let (from, to) = (k * chain / n_chains, k * (chain + 1) / n_chains);
                let b = b.transposed();
                let tile = Tile {
                    k: to - from,
                    a: b.from(left, from).data,
                    a_row: b.row_stride,
                    a_column: b.column_stride,
                    b: panels.wrapping_add(first * k + from * WIDTH),
                    b_row: WIDTH as isize,
                    width,
                    c: buffer.as_mut_ptr(),
                    c_row: WIDTH as isize,
                    add: chain > 0,
                    ahead: b.from(right, 0).data.wrapping_add(16 * from).cast(),
                    ahead_step: if first == 0 { 64 } else { 0 },
                    later: panels.cast_const().cast(),
                    later_step: 0,
                };
                // SAFETY: the kernel is one of this machine; the buffer has room for its tiles.
                unsafe { kernel.tile(right - left)(&tile) };
            }
            for row in first..first + width {
                let out = out.wrapping_add(row * out_row + left);
                // SAFETY: these are the columns of the tile in this row of the output.
                let out = unsafe { std::slice::from_raw_parts_mut(out, right - left) };
                for (column, out) in out.iter_mut().enumerate() {
                    *out = buffer[column * WIDTH + row - first];
                }
            }
        }
    }
    Ok(())
}
