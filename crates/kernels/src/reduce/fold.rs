//! The loops that combine elements, in an order that depends on the number of elements only.

use fluvial_tensor::Element;

use crate::strided::View;

/// Elements of a row that are folded before their result enters the tree.
const BLOCK: usize = 512;

/// Independent partial results of a block, so that the loop is vectorised.
const LANES: usize = 32;

/// Rows whose columns are folded one after the other before the result enters the tree.
const BLOCK_ROWS: usize = 16;

/// Columns that are folded together.
const COLUMNS: usize = 1024;

/// Folds each row of a view of `out.len()` rows of `n` elements to an element of `out`; `n` is not 0.
#[inline(always)]
pub(crate) fn fold_rows<C: Element>(
    view: &View<'_>,
    n: usize,
    out: &mut [C],
    f: impl Fn(C, C) -> C + Copy,
) {
    let mut buffer = [C::default(); BLOCK];
    let mut tree = Tree::new(1, n.div_ceil(BLOCK));
    for (row, out) in out.iter_mut().enumerate() {
        let end = (row + 1) * n;
        for start in (row * n..end).step_by(BLOCK) {
            let block = view.read(start..end.min(start + BLOCK), &mut buffer);
            tree.top()[0] = fold_block(block, f);
            tree.commit(f);
        }
        tree.finish(std::slice::from_mut(out), f);
    }
}

/// Folds each column of a view of `n` rows of `out.len()` elements to an element of `out`; `n` is not 0.
#[inline(always)]
pub(crate) fn fold_columns<C: Element>(
    view: &View<'_>,
    n: usize,
    out: &mut [C],
    f: impl Fn(C, C) -> C + Copy,
) {
    let row_len = out.len();
    let width = row_len.min(COLUMNS);
    let mut buffer = vec![C::default(); width];
    for (part, out) in out.chunks_mut(COLUMNS).enumerate() {
        let first_column = part * COLUMNS;
        let mut tree = Tree::new(out.len(), n.div_ceil(BLOCK_ROWS));
        for first_row in (0..n).step_by(BLOCK_ROWS) {
            for row in first_row..n.min(first_row + BLOCK_ROWS) {
                let start = row * row_len + first_column;
                let values = view.read(start..start + out.len(), &mut buffer);
                if row == first_row {
                    tree.top().copy_from_slice(values);
                } else {
                    merge(tree.top(), values, f);
                }
            }
            tree.commit(f);
        }
        tree.finish(out, f);
    }
}

/// Folds a block, which is not empty: lane by lane, and then the lanes by halves.
#[inline(always)]
fn fold_block<C: Element>(block: &[C], f: impl Fn(C, C) -> C + Copy) -> C {
    let (chunks, rest) = block.as_chunks::<LANES>();
    let Some((first, chunks)) = chunks.split_first() else {
        return rest.iter().copied().reduce(f).unwrap_or_default();
    };
    let mut lanes = *first;
    for chunk in chunks {
        merge(&mut lanes, chunk, f);
    }
    merge(&mut lanes[..rest.len()], rest, f);
    let mut width = LANES / 2;
    while width > 0 {
        let (low, high) = lanes.split_at_mut(width);
        merge(low, &high[..width], f);
        width /= 2;
    }
    lanes[0]
}

#[inline(always)]
fn merge<C: Element>(into: &mut [C], from: &[C], f: impl Fn(C, C) -> C) {
    for (into, &from) in into.iter_mut().zip(from) {
        *into = f(*into, from);
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
    fn new(width: usize, n_blocks: usize) -> Tree<C> {
        let levels = (n_blocks.ilog2() + 2) as usize;
        Tree { rows: vec![C::default(); levels * width], width, depth: 0, n_blocks: 0 }
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
        for n in [1, 2, 31, 32, 33, 511, 512, 513, 1024, 5000] {
            let values: Vec<i64> = (0..n as i64).collect();
            let x = fluvial_tensor::Tensor::from_vec(values, &[n]).unwrap();
            let mut out = [0i64];
            fold_rows(&View::new(&x), n, &mut out, |a, b| a + b);
            assert_eq!(out, [(n * (n - 1) / 2) as i64]);
            fold_columns(&View::new(&x), n, &mut out, |a, b| a + b);
            assert_eq!(out, [(n * (n - 1) / 2) as i64]);
            // The first element is the leftmost leaf and the last the rightmost, in any tree.
            fold_columns(&View::new(&x), n, &mut out, |a, _| a);
            assert_eq!(out, [0]);
            fold_columns(&View::new(&x), n, &mut out, |_, b| b);
            assert_eq!(out, [n as i64 - 1]);
        }
    }
}
