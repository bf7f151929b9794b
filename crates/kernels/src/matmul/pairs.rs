//! Products of `bf16` with sums in `f32`, where the machine multiplies pairs at twice the rate of `f32`.
//!
//! Two neighbours along the chain of sums lie in the place of one `f32`, so that the way of large products of `f32` serves:
//! the same panels, blocks and order of sums, with another instruction in the tiles. A matrix whose chains are
//! contiguous has its pairs already; others are copied row by row, two rows into one.
//!
//! The instruction takes numbers beneath the normal ones for 0, and rounds each of its two additions.

use fluvial_tensor::{DType, Result, Tensor, bf16};

use super::epilogue::Prepared;
use super::matrix::{Matrix, Sizes};
use super::packed_tile::PAIRS;
use super::{Shape, blocked, stack_rows};
use crate::simd::{self, vectorized};
use crate::threads;

/// The fewest rows, columns and multiplications for which packing is worth it.
const ROWS: usize = 8;
const COLUMNS: usize = 32;
const WORK: usize = 1 << 18;

/// Elements that a task copies.
const TASK: usize = 1 << 15;

/// Whether this is the way for these operands here.
pub(super) fn fits(shape: &Shape, a: &Tensor, b: &Tensor) -> bool {
    let &Shape { m, k, n, compute, .. } = shape;
    [a.dtype(), b.dtype(), compute] == [DType::BF16, DType::BF16, DType::F32]
        && m >= ROWS
        && n >= COLUMNS
        && k >= 2
        && Sizes { m, k, n }.work() >= WORK
        && simd::has_fast_pairs()
}

/// Writes the products to `out`, with what follows them; see [`fits`].
pub(super) fn products(
    shape: &Shape,
    a: &Tensor,
    b: &Tensor,
    out: &mut Tensor,
    then: &Prepared,
) -> Result<()> {
    let &Shape { k, n, .. } = shape;
    let (all_a, all_b) = (shape.with_matrix(shape.m, k), shape.with_matrix(k, n));
    let stacked = stack_rows(&a.expand(&all_a)?, &b.expand(&all_b)?);
    let (a, b, batch) = match &stacked {
        Some((a, b)) => (a, b, &[][..]),
        None => (a, b, &shape.batch[..]),
    };
    let rows = Paired::of(&turned(a)?)?.spread(batch)?;
    let columns = Paired::of(b)?.spread(batch)?;
    let sizes = Sizes { m: a.dims()[a.rank() - 2], k: k.div_ceil(2), n };
    let matrices = |number| (rows.matrix(number).transposed(), columns.matrix(number));
    blocked::products(&PAIRS, sizes, matrices, out, &then.ready(n))
}

/// The matrices with rows as columns.
fn turned(x: &Tensor) -> Result<Tensor> {
    x.transpose(x.rank() - 2, x.rank() - 1)
}

/// Matrices of pairs of rows: an odd last row has 0 beside it.
enum Paired {
    /// The tensor as it is: pairs are neighbours in memory.
    There(Tensor),
    /// A copy, with pairs in the places of `f32`.
    Copied(Tensor),
}

impl Paired {
    /// The pairs of rows of matrices.
    fn of(x: &Tensor) -> Result<Paired> {
        let (matrix, k) = (x.rank() - 2, x.dims()[x.rank() - 2]);
        let is_even = |axis: usize| x.dims()[axis] == 1 || x.strides()[axis] % 2 == 0;
        let others = (0..x.rank()).filter(|&axis| axis != matrix);
        match k % 2 == 0 && x.strides()[matrix] == 1 && others.into_iter().all(is_even) {
            true => Ok(Paired::There(x.clone())),
            false => copied(x).map(Paired::Copied),
        }
    }

    /// The same for a batch that it broadcasts to.
    fn spread(self, batch: &[usize]) -> Result<Paired> {
        let expand = |x: &Tensor| x.expand(&[batch, &x.dims()[x.rank() - 2..]].concat());
        Ok(match self {
            Paired::There(x) => Paired::There(expand(&x)?),
            Paired::Copied(x) => Paired::Copied(expand(&x)?),
        })
    }

    /// Matrix `number` of the batch.
    fn matrix(&self, number: usize) -> Matrix<f32> {
        match self {
            Paired::There(x) => {
                let Matrix { data, column_stride, .. } = Matrix::<bf16>::of(x, number);
                Matrix { data: data.cast(), row_stride: 1, column_stride: column_stride / 2 }
            }
            Paired::Copied(x) => Matrix::of(x, number),
        }
    }
}

/// Pairs of rows in the places of `f32`, which are contiguous.
fn copied(x: &Tensor) -> Result<Tensor> {
    let x = x.contiguous()?;
    let &[ref batch @ .., k, n] = x.dims() else { return Ok(x) };
    let (count, half) = (batch.iter().product::<usize>(), k.div_ceil(2));
    let mut out = Tensor::empty(DType::F32, &[batch, &[half, n]].concat())?;
    let to = Target(out.as_mut_slice::<f32>()?.as_mut_ptr().cast::<u32>());
    let rows = x.as_slice::<bf16>().unwrap_or_default();
    let per_task = (TASK / n.max(1)).max(1);
    threads::run((count * half).div_ceil(per_task), |task| {
        let to = &to;
        for pair in task * per_task..((task + 1) * per_task).min(count * half) {
            let first = (pair / half * k + pair % half * 2) * n;
            let low = &rows[first..first + n];
            let high = (pair % half * 2 + 1 < k).then(|| &rows[first + n..first + 2 * n]);
            // SAFETY: each pair of rows is written by one task.
            let to = unsafe { std::slice::from_raw_parts_mut(to.0.wrapping_add(pair * n), n) };
            vectorized(
                #[inline(always)]
                || match high {
                    Some(high) => {
                        for ((to, low), high) in to.iter_mut().zip(low).zip(high) {
                            *to = low.to_bits() as u32 | (high.to_bits() as u32) << 16;
                        }
                    }
                    None => to.iter_mut().zip(low).for_each(|(to, low)| *to = low.to_bits() as u32),
                },
            );
        }
    });
    Ok(out)
}

/// Where pairs are written.
struct Target(*mut u32);

// SAFETY: each task writes rows of its own.
unsafe impl Sync for Target {}
