//! The loops that combine elements, in an order that depends on the number of elements only.
//!
//! Blocks are folded in a fixed way, and their results meet in a binary tree. A thread folds a whole
//! subtree, so that the result is the same however many there are.

use fluvial_tensor::{Element, Result, Tensor, memory};

use crate::lanes::{a_page_of, by_halves, fill_chunks, prefetch, room, vectorized_for};
use crate::scratch::Scratch;
use crate::strided::View;

/// Elements of a row that are folded before their result enters the tree.
const BLOCK: usize = 512;

/// Independent partial results of a block, so that the loop is vectorised.
const LANES: usize = 32;

/// Rows whose columns are folded one after the other before the result enters the tree.
const BLOCK_ROWS: usize = 16;

/// Columns that are folded together.
const COLUMNS: usize = 1024;

/// Rows that are added to a block's result in one pass, beside the first.
const AT_ONCE: usize = 5;

/// About how many elements one task folds. A power of 2 and a multiple of the blocks.
pub(super) const PIECE: usize = 1 << 16;

/// How elements of a row are combined: a few in their own type, and what these give in a type that may be
/// wider.
pub(crate) trait Fold<C: Element>: Copy {
    /// The type of all that is made of a block.
    type Wide: Element;
    /// Two elements.
    fn near(self, a: C, b: C) -> C;
    /// Two results.
    fn far(self, a: Self::Wide, b: Self::Wide) -> Self::Wide;
    /// One element as a result.
    fn widen(self, x: C) -> Self::Wide;
    /// The last result.
    fn narrow(self, x: Self::Wide) -> C;
}

/// Combines in the type of the elements all the way.
impl<C: Element, F: Fn(C, C) -> C + Copy> Fold<C> for F {
    type Wide = C;

    #[inline(always)]
    fn near(self, a: C, b: C) -> C {
        self(a, b)
    }

    #[inline(always)]
    fn far(self, a: C, b: C) -> C {
        self(a, b)
    }

    #[inline(always)]
    fn widen(self, x: C) -> C {
        x
    }

    #[inline(always)]
    fn narrow(self, x: C) -> C {
        x
    }
}

/// Adds `f32`: sums of more than sixteen elements in `f64`, so that only the short ones lose digits.
#[derive(Clone, Copy)]
pub(crate) struct WideSum;

impl Fold<f32> for WideSum {
    type Wide = f64;

    #[inline(always)]
    fn near(self, a: f32, b: f32) -> f32 {
        a + b
    }

    #[inline(always)]
    fn far(self, a: f64, b: f64) -> f64 {
        a + b
    }

    #[inline(always)]
    fn widen(self, x: f32) -> f64 {
        x as f64
    }

    #[inline(always)]
    fn narrow(self, x: f64) -> f32 {
        x as f32
    }
}

/// Folds each row of `x`, seen as `out.len()` rows of `n` elements, to an element of `out`; `n` is not 0.
pub(crate) fn fold_rows<C: Element, F: Fold<C> + Sync>(
    x: &Tensor,
    n: usize,
    out: &mut [C],
    f: F,
) -> Result<()> {
    if n <= PIECE {
        let rows = (PIECE / n).max(1);
        let direct = x.as_slice::<C>();
        return fill_chunks(out, rows, |first, out| {
            let view = View::new(x);
            vectorized_for::<C, _>(
                #[inline(always)]
                || {
                    for (i, out) in out.iter_mut().enumerate() {
                        let start = (first + i) * n;
                        *out = f.narrow(match direct {
                            Some(x) => fold_slice(&x[start..start + n], f),
                            None => fold_piece(&view, start, start + n, f),
                        });
                    }
                },
            );
            Ok(())
        });
    }
    let pieces = n.div_ceil(PIECE);
    let mut partial = memory::filled(C::default(), out.len() * pieces)?;
    fill_chunks(&mut partial, 1, |at, partial| {
        let view = View::new(x);
        let (start, end) = (at / pieces * n + at % pieces * PIECE, (at / pieces + 1) * n);
        partial[0] = f.narrow(vectorized_for::<C, _>(
            #[inline(always)]
            || fold_piece(&view, start, end.min(start + PIECE), f),
        ));
        Ok(())
    })?;
    for (out, partial) in out.iter_mut().zip(partial.chunks_exact(pieces)) {
        let mut tree = Tree::new(1, pieces)?;
        let join = |a, b| f.far(a, b);
        for &part in partial {
            tree.top()[0] = f.widen(part);
            tree.commit(join);
        }
        let mut total = [F::Wide::default()];
        tree.finish(&mut total, join);
        *out = f.narrow(total[0]);
    }
    Ok(())
}

/// Folds the elements, at most [`PIECE`], as [`fold_piece`] does.
#[inline(always)]
fn fold_slice<C: Element, F: Fold<C>>(x: &[C], f: F) -> F::Wide {
    let mut path = [F::Wide::default(); 16];
    let mut depth = 0;
    for (number, block) in x.chunks(BLOCK).enumerate() {
        path[depth] = fold_block(block, f);
        for _ in 0..number.trailing_ones() {
            path[depth - 1] = f.far(path[depth - 1], path[depth]);
            depth -= 1;
        }
        depth += 1;
    }
    while depth > 1 {
        depth -= 1;
        path[depth - 1] = f.far(path[depth - 1], path[depth]);
    }
    path[0]
}

/// Folds the elements from `start` to `end`.
#[inline(always)]
fn fold_piece<C: Element, F: Fold<C>>(view: &View<'_>, start: usize, end: usize, f: F) -> F::Wide {
    let mut buffer = [C::default(); BLOCK];
    if end - start <= BLOCK {
        return fold_block(view.read(start..end, &mut buffer), f);
    }
    // The path of a tree: enough for any number of blocks.
    let mut path = [F::Wide::default(); 64];
    let mut depth = 0;
    for (block, at) in (start..end).step_by(BLOCK).enumerate() {
        path[depth] = fold_block(view.read(at..end.min(at + BLOCK), &mut buffer), f);
        for _ in 0..block.trailing_ones() {
            path[depth - 1] = f.far(path[depth - 1], path[depth]);
            depth -= 1;
        }
        depth += 1;
    }
    (1..depth).rev().fold(path[depth - 1], |last, level| f.far(path[level - 1], last))
}

/// Folds each column of `x`, seen as `n` rows of `out.len()` elements, to an element of `out`; `n` is
/// not 0.
pub(crate) fn fold_columns<C: Element>(
    x: &Tensor,
    n: usize,
    out: &mut [C],
    f: impl Fn(C, C) -> C + Copy + Sync,
) -> Result<()> {
    let row_len = out.len();
    if row_len == 0 {
        return Ok(());
    }
    let width = row_len.min(COLUMNS);
    let piece_rows = (PIECE / width.next_power_of_two()).max(BLOCK_ROWS);
    let pieces = n.div_ceil(piece_rows);
    let fold = |first_row: usize, first_column: usize, out: &mut [C]| {
        let view = View::new(x);
        let rows = first_row..n.min(first_row + piece_rows);
        vectorized_for::<C, _>(
            #[inline(always)]
            || fold_tile(&view, rows, row_len, first_column, out, f),
        )
    };
    if pieces == 1 {
        return fill_chunks(out, width, |first, out| fold(0, first, out));
    }
    let mut partial = memory::filled(C::default(), pieces * row_len)?;
    // A chunk of columns is a part of one row of the partial results, so the last may be short.
    let parts = row_len.div_ceil(width);
    let rows: Vec<&mut [C]> = partial.chunks_exact_mut(row_len).collect();
    let mut chunks: Vec<&mut [C]> =
        rows.into_iter().flat_map(|row| row.chunks_mut(width)).collect();
    fill_chunks(&mut chunks, 1, |at, chunk| {
        fold(at / parts * piece_rows, at % parts * width, &mut *chunk[0])
    })?;
    fill_chunks(out, width, |first, out| {
        let mut tree = Tree::new(out.len(), pieces)?;
        vectorized_for::<C, _>(
            #[inline(always)]
            || {
                for row in partial.chunks_exact(row_len) {
                    tree.top().copy_from_slice(&row[first..first + out.len()]);
                    tree.commit(f);
                }
                tree.finish(out, f);
            },
        );
        Ok(())
    })
}

/// Folds a few columns of some rows.
#[inline(always)]
fn fold_tile<C: Element>(
    view: &View<'_>,
    rows: std::ops::Range<usize>,
    row_len: usize,
    first_column: usize,
    out: &mut [C],
    f: impl Fn(C, C) -> C + Copy,
) -> Result<()> {
    let width = out.len();
    let mut tree = Tree::new(width, rows.len().div_ceil(BLOCK_ROWS))?;
    let mut scratch = Scratch::take::<C>(AT_ONCE * width)?;
    // SAFETY: the scratch memory has room for so many elements, all initialised.
    let buffers = unsafe { std::slice::from_raw_parts_mut(scratch.as_mut_ptr(), AT_ONCE * width) };
    for first_row in rows.clone().step_by(BLOCK_ROWS) {
        let end = rows.end.min(first_row + BLOCK_ROWS);
        let place = |row: usize| row * row_len + first_column..row * row_len + first_column + width;
        tree.top().copy_from_slice(view.read(place(first_row), &mut buffers[..width]));
        let mut row = first_row + 1;
        while row + AT_ONCE <= end {
            let mut rest = &mut buffers[..];
            let values: [&[C]; AT_ONCE] = std::array::from_fn(|i| {
                let (buffer, after) = std::mem::take(&mut rest).split_at_mut(width);
                rest = after;
                view.read(place(row + i), buffer)
            });
            merge_many(tree.top(), values, f);
            row += AT_ONCE;
        }
        for row in row..end {
            merge(tree.top(), view.read(place(row), &mut buffers[..width]), f);
        }
        tree.commit(f);
    }
    tree.finish(out, f);
    Ok(())
}

/// Folds a block, which is not empty: lane by lane, and then the lanes by halves.
#[inline(always)]
pub(super) fn fold_block<C: Element, F: Fold<C>>(block: &[C], f: F) -> F::Wide {
    let (chunks, rest) = block.as_chunks::<LANES>();
    let Some((first, chunks)) = chunks.split_first() else {
        let wide = rest.iter().map(|&x| f.widen(x));
        return wide.reduce(|a, b| f.far(a, b)).unwrap_or_default();
    };
    let mut lanes = *first;
    for chunk in chunks {
        prefetch::<C, LANES>(chunk.as_ptr(), a_page_of::<C>());
        merge(
            &mut lanes,
            chunk,
            #[inline(always)]
            |a, b| f.near(a, b),
        );
    }
    if !rest.is_empty() {
        lanes = merge_rest(lanes, rest, |a, b| f.near(a, b));
    }
    by_halves(
        lanes.map(
            #[inline(always)]
            |x| f.widen(x),
        ),
        |a, b| f.far(a, b),
    )
}

/// Kept apart: an array of which a part is used at run time does not stay in registers.
#[inline(never)]
fn merge_rest<C: Element>(mut lanes: [C; LANES], rest: &[C], f: impl Fn(C, C) -> C) -> [C; LANES] {
    merge(&mut lanes, rest, f);
    lanes
}

#[inline(always)]
fn merge<C: Element>(into: &mut [C], from: &[C], f: impl Fn(C, C) -> C) {
    for (into, &from) in into.iter_mut().zip(from) {
        *into = f(*into, from);
    }
}

/// Merges several rows, one after the other, in one pass.
#[inline(always)]
fn merge_many<C: Element>(into: &mut [C], from: [&[C]; AT_ONCE], f: impl Fn(C, C) -> C) {
    let from = from.map(|row| &row[..into.len()]);
    for (i, into) in into.iter_mut().enumerate() {
        *into = from.iter().fold(*into, |sum, row| f(sum, row[i]));
    }
}

/// Combines the results of blocks, rows of `width` numbers, pairwise: two neighbours as soon as both are
/// there, then two of these pairs, and so on. It holds one row for each level of the tournament.
struct Tree<C> {
    rows: Vec<C>,
    width: usize,
    depth: usize,
    n_blocks: usize,
}

impl<C: Element> Tree<C> {
    fn new(width: usize, n_blocks: usize) -> Result<Tree<C>> {
        let levels = (n_blocks.ilog2() + 2) as usize;
        Ok(Tree { rows: room(levels * width)?, width, depth: 0, n_blocks: 0 })
    }

    /// Where the next block's result is to be written.
    #[inline(always)]
    fn top(&mut self) -> &mut [C] {
        &mut self.rows[self.depth * self.width..][..self.width]
    }

    /// Takes in what was written to [`Tree::top`].
    #[inline(always)]
    fn commit(&mut self, f: impl Fn(C, C) -> C + Copy) {
        self.depth += 1;
        for _ in 0..self.n_blocks.trailing_ones() {
            self.merge_last_two(f);
        }
        self.n_blocks += 1;
    }

    /// Writes the final result, and starts again.
    #[inline(always)]
    fn finish(&mut self, out: &mut [C], f: impl Fn(C, C) -> C + Copy) {
        while self.depth > 1 {
            self.merge_last_two(f);
        }
        out.copy_from_slice(&self.rows[..self.width]);
        self.depth = 0;
        self.n_blocks = 0;
    }

    #[inline(always)]
    fn merge_last_two(&mut self, f: impl Fn(C, C) -> C) {
        self.depth -= 1;
        let (before, last) = self.rows.split_at_mut(self.depth * self.width);
        let into = &mut before[(self.depth - 1) * self.width..];
        merge(into, &last[..self.width], f);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_takes_part_once_and_in_order() {
        for n in [1, 2, 31, 32, 33, 511, 512, 513, 1024, 5000, 65537, 200_000] {
            let values: Vec<i64> = (0..n as i64).collect();
            let x = fluvial_tensor::Tensor::from_vec(values, &[n]).unwrap();
            let mut out = [0i64];
            fold_rows(&x, n, &mut out, |a: i64, b: i64| a + b).unwrap();
            assert_eq!(out, [(n * (n - 1) / 2) as i64]);
            fold_columns(&x, n, &mut out, |a, b| a + b).unwrap();
            assert_eq!(out, [(n * (n - 1) / 2) as i64]);
            // The first element is the leftmost leaf and the last the rightmost, in any tree.
            fold_columns(&x, n, &mut out, |a, _| a).unwrap();
            assert_eq!(out, [0]);
            fold_columns(&x, n, &mut out, |_, b| b).unwrap();
            assert_eq!(out, [n as i64 - 1]);
        }
    }
}
