//! Large products of `f32`, or of pairs of `bf16`, with AVX-512: both operands are packed, so that the inner loops read only what
//! is contiguous and in the caches.
//!
//! The output is cut into blocks, the chain of sums into pieces. For each piece the threads pack the columns
//! of the right operand of a block together; then each task packs some rows of the left one, few enough for
//! the L2 cache, and multiplies them. Every element is the sum of the pieces of its chain in order, whatever
//! the block, the task and the tile.

use std::ops::Range;

use fluvial_tensor::{Result, Tensor};
use smallvec::SmallVec;

use super::epilogue::Ready;
use super::matrix::{Matrix, Sizes, piece};
use super::pack::{pack, pack_left, pack_rows};
use super::packed_tile::{COLUMNS, PackedTile, ROWS, Tiles};
use crate::lanes::run_tasks;
use crate::scratch::Scratch;
use crate::threads;

/// The longest chain of sums before it is added to the output: it bounds the rounding error, and the
/// panels of so many rows that are in use stay in the caches.
const CHAIN: usize = 384;

/// The most rows and columns of a block. The panels of its columns stay in the L2 cache; rows pass by, so that
/// there may be more of them.
const BLOCK_ROWS: usize = 4096;
const BLOCK: usize = 1024;

/// The tiles of a task in a column, whose rows of the left operand stay in the L2 cache.
const GROUP: usize = 5;

/// Tasks that a block should have, and the fewest panels of a task.
const TASKS: usize = 8;
const STRIP: usize = 4;

/// Panels of the right operand that a task packs.
const PACKED: usize = 8;

/// Writes the products of matrices by number, all of these sizes, to `out`, with what follows them. `tiles` says
/// whether the numbers of the matrices are `f32`, or pairs of `bf16` in their places.
pub(super) fn products(
    tiles: &'static Tiles,
    sizes: Sizes,
    matrices: impl Fn(usize) -> (Matrix<f32>, Matrix<f32>),
    out: &mut Tensor,
    then: &Ready<'_, f32>,
) -> Result<()> {
    let Sizes { m, n, .. } = sizes;
    let out = out.as_mut_slice::<f32>()?;
    let (row_blocks, column_blocks) = (m.div_ceil(BLOCK_ROWS), n.div_ceil(BLOCK));
    for number in 0..out.len() / (m * n) {
        let (a, b) = matrices(number);
        for part in 0..row_blocks * column_blocks {
            let (row, column) = (part / column_blocks, part % column_blocks);
            let block = Block {
                tiles,
                a,
                b,
                k: sizes.k,
                n,
                first: number * m,
                rows: piece(m, row_blocks, row),
                columns: piece(n, column_blocks, column),
                out: out.as_mut_ptr(),
            };
            block.compute(then)?;
        }
    }
    Ok(())
}

/// A block of an output.
struct Block {
    tiles: &'static Tiles,
    a: Matrix<f32>,
    b: Matrix<f32>,
    k: usize,
    n: usize,
    /// The first row of the matrix in the whole output, which has the rows of all matrices.
    first: usize,
    /// Rows and columns in the matrix.
    rows: Range<usize>,
    columns: Range<usize>,
    out: *mut f32,
}

// SAFETY: the operands are only read, and each task writes its own part of the output.
unsafe impl Sync for Block {}

/// A piece of the chain, with the panels of the right operand one after the other.
#[derive(Clone, Copy)]
struct Piece {
    right: *mut f32,
    from: usize,
    len: usize,
    is_first: bool,
}

// SAFETY: each task writes its own panels before all of them are read.
unsafe impl Sync for Piece {}

impl Block {
    fn compute(&self, then: &Ready<'_, f32>) -> Result<()> {
        if self.rows.is_empty() || self.columns.is_empty() {
            return Ok(());
        }
        let (n_tiles, n_panels) = (self.n_tiles(), self.columns.len().div_ceil(COLUMNS));
        // An even number, so that two threads have the same work.
        let n_groups = n_tiles.div_ceil(GROUP).next_multiple_of(2).min(n_tiles);
        let n_strips = TASKS.div_ceil(n_groups).min(n_panels.div_ceil(STRIP));
        let n_chains = self.k.div_ceil(CHAIN);
        let longest = self.k.div_ceil(n_chains);
        let mut scratch = Scratch::take::<f32>(n_panels * COLUMNS * longest)?;
        let right = scratch.as_mut_ptr::<f32>();
        for chain in 0..n_chains {
            let from = self.k * chain / n_chains;
            let len = self.k * (chain + 1) / n_chains - from;
            let piece = Piece { right, from, len, is_first: chain == 0 };
            threads::run(n_panels.div_ceil(PACKED), |task| {
                self.pack_right(&piece, task * PACKED..((task + 1) * PACKED).min(n_panels));
            });
            run_tasks(n_groups * n_strips, |task| {
                let tiles = part(n_tiles, n_groups, task / n_strips);
                let panels = part(n_panels, n_strips, task % n_strips);
                self.task(&piece, tiles.clone(), panels.clone())?;
                if chain + 1 == n_chains && then.is_some() {
                    let rows = self.tile(tiles.start).start..self.tile(tiles.end - 1).end;
                    let columns = self.panel(panels.start).start..self.panel(panels.end - 1).end;
                    let rows = self.first + rows.start..self.first + rows.end;
                    // SAFETY: this part of the output belongs to this task.
                    unsafe { then.apply(rows, columns, self.out) };
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    fn n_tiles(&self) -> usize {
        self.rows.len().div_ceil(ROWS)
    }

    /// The rows of a tile.
    fn tile(&self, number: usize) -> Range<usize> {
        let first = self.rows.start + number * ROWS;
        first..self.rows.end.min(first + ROWS)
    }

    /// The columns of a panel.
    fn panel(&self, number: usize) -> Range<usize> {
        let first = self.columns.start + number * COLUMNS;
        first..self.columns.end.min(first + COLUMNS)
    }

    fn pack_right(&self, piece: &Piece, panels: Range<usize>) {
        let columns = self.panel(panels.start).start..self.panel(panels.end - 1).end;
        if self.b.column_stride == 1 && columns.len() == panels.len() * COLUMNS {
            let b = self.b.from(piece.from, columns.start);
            let to = piece.right.wrapping_add(panels.start * piece.len * COLUMNS);
            // SAFETY: whoever chose this way has seen that the machine has the instructions. The columns are
            // those of the right operand; the panels are this task's.
            return unsafe { pack_rows(b, piece.len, panels.len(), to) };
        }
        for number in panels {
            let columns = self.panel(number);
            let b = self.b.from(piece.from, columns.start);
            let to = piece.right.wrapping_add(number * piece.len * COLUMNS);
            // SAFETY: the columns are those of the right operand; the panel is this task's.
            unsafe { pack(b, piece.len, columns.len(), to) };
        }
    }

    /// The tiles of some panels, with one piece of the chain.
    fn task(&self, piece: &Piece, tiles: Range<usize>, panels: Range<usize>) -> Result<()> {
        let &Piece { right, from, len, is_first } = piece;
        let mut scratch = Scratch::take::<f32>(tiles.len() * ROWS * len)?;
        let left = scratch.as_mut_ptr::<f32>();
        let rows: SmallVec<[_; 8]> = tiles.clone().map(|number| self.tile(number)).collect();
        // SAFETY: whoever chose this way has seen that the machine has the instructions. The rows are those
        // of the left operand; there is room for all tiles.
        unsafe { pack_left(self.a.from(0, from), len, &rows, left) };
        for panel in panels {
            let columns = self.panel(panel);
            let is_narrow = 2 * columns.len() <= COLUMNS;
            let functions = if is_narrow { &self.tiles.narrow } else { &self.tiles.wide };
            let b = right.wrapping_add(panel * len * COLUMNS).cast_const();
            // While the tiles pass, the next panel is fetched, a part of it with each.
            let ahead_step = (4 * 4 * COLUMNS).div_ceil(tiles.len());
            let mut ahead = b.wrapping_add(len * COLUMNS).cast::<u8>();
            for (number, rows) in rows.iter().enumerate() {
                let first = (self.first + rows.start) * self.n + columns.start;
                let tile = PackedTile {
                    k: len,
                    a: left.wrapping_add(number * len * ROWS),
                    b,
                    width: columns.len(),
                    c: self.out.wrapping_add(first),
                    c_row: self.n,
                    add: !is_first,
                    ahead,
                    ahead_step,
                };
                // SAFETY: the instructions as above; the tile of the output is this task's.
                unsafe { functions[rows.len() - 1](&tile) };
                ahead = ahead.wrapping_add(ahead_step * len / 4);
            }
        }
        Ok(())
    }
}

/// Part `number` of about equal parts of `size`.
fn part(size: usize, parts: usize, number: usize) -> Range<usize> {
    size * number / parts..size * (number + 1) / parts
}
