//! Matrices in memory and how a product is split.

use std::ops::Range;

use fluvial_tensor::{Element, Tensor};

/// A matrix in memory; strides are in elements.
#[derive(Clone, Copy)]
pub(super) struct Matrix<T> {
    pub data: *const T,
    pub row_stride: isize,
    pub column_stride: isize,
}

impl<T: Element> Matrix<T> {
    /// Matrix `number` of a tensor of at least two axes.
    pub(super) fn of(x: &Tensor, mut number: usize) -> Matrix<T> {
        let (batch, strides) = (x.rank() - 2, x.strides());
        let mut offset = 0;
        for (&size, &stride) in x.dims()[..batch].iter().zip(strides).rev() {
            offset += (number % size) as isize * stride;
            number /= size;
        }
        Matrix {
            data: x.data_ptr().cast::<T>().wrapping_offset(offset),
            row_stride: strides[batch],
            column_stride: strides[batch + 1],
        }
    }

    /// The matrix from this row and column on.
    pub(super) fn from(self, row: usize, column: usize) -> Matrix<T> {
        let offset = row as isize * self.row_stride + column as isize * self.column_stride;
        Matrix { data: self.data.wrapping_offset(offset), ..self }
    }

    /// Rows as columns.
    pub(super) fn transposed(self) -> Matrix<T> {
        let Matrix { data, row_stride, column_stride } = self;
        Matrix { data, row_stride: column_stride, column_stride: row_stride }
    }
}

/// The sizes of a product: `m` x `k` times `k` x `n`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Sizes {
    pub m: usize,
    pub k: usize,
    pub n: usize,
}

impl Sizes {
    /// The number of multiplications.
    pub(super) fn work(self) -> usize {
        self.m.saturating_mul(self.k).saturating_mul(self.n)
    }
}

/// How the output of a batch of products is cut into parts, and parts into tasks: by shape only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Grid {
    /// The parts of one matrix: so many along its rows and its columns.
    pub row_parts: usize,
    pub column_parts: usize,
    /// How many parts one task computes.
    pub parts_per_task: usize,
}

/// Multiplications that are worth a task of their own: a few microseconds.
const TASK: usize = 1 << 19;

impl Grid {
    /// Parts of at least a [`TASK`]; few, since each packs its operands again.
    pub(super) fn new(sizes: Sizes, has_epilogue: bool) -> Grid {
        let work = sizes.work();
        let mut wanted = match work / TASK {
            0 | 1 => 1,
            2..128 => 2,
            128..1024 => 4,
            1024..8192 => 8,
            // So that a task takes no second, after which a stop is looked for.
            _ => (work >> 31).clamp(16, 1 << 16),
        };
        if has_epilogue && wanted > 1 {
            // So much of the output stays in the cache until the epilogue reads it.
            wanted = (sizes.m * sizes.n / (1 << 17)).clamp(wanted, work / TASK);
        }
        let (mut row_parts, mut column_parts) = (1, 1);
        while row_parts * column_parts < wanted {
            match sizes.m / row_parts > sizes.n / column_parts {
                true => row_parts *= 2,
                false => column_parts *= 2,
            }
        }
        Grid::of_parts(sizes, row_parts, column_parts)
    }

    /// So many parts, and as many of them for a task as are worth one.
    pub(super) fn of_parts(sizes: Sizes, row_parts: usize, column_parts: usize) -> Grid {
        let part = sizes.work() / (row_parts * column_parts);
        Grid { row_parts, column_parts, parts_per_task: (TASK / part.max(1)).max(1) }
    }

    /// The parts of one matrix.
    pub(super) fn parts(self) -> usize {
        self.row_parts * self.column_parts
    }

    /// The rows and the columns of a part; they may be empty.
    pub(super) fn part(self, sizes: Sizes, number: usize) -> (Range<usize>, Range<usize>) {
        let (row, column) = (number / self.column_parts, number % self.column_parts);
        (piece(sizes.m, self.row_parts, row), piece(sizes.n, self.column_parts, column))
    }
}

/// Piece `number` of about equal pieces of `size`, which begin at multiples of 32.
pub(super) fn piece(size: usize, pieces: usize, number: usize) -> Range<usize> {
    let at = |number: usize| match number == pieces {
        true => size,
        false => (size * number / pieces).next_multiple_of(32).min(size),
    };
    at(number)..at(number + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_the_output_once() {
        for (m, k, n) in
            [(1, 1, 1), (128, 128, 128), (7, 4096, 5000), (2048, 768, 768), (3000, 900, 17)]
        {
            for has_epilogue in [false, true] {
                let sizes = Sizes { m, k, n };
                let grid = Grid::new(sizes, has_epilogue);
                let mut seen = vec![0u8; m * n];
                for number in 0..grid.parts() {
                    let (rows, columns) = grid.part(sizes, number);
                    for row in rows {
                        columns.clone().for_each(|column| seen[row * n + column] += 1);
                    }
                }
                assert!(seen.iter().all(|&times| times == 1), "{sizes:?} {grid:?}");
            }
        }
    }
}
