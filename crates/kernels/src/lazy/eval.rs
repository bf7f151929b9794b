//! The loop that an expression becomes.

use std::ops::Range;

use fluvial_tensor::{DType, Dim, Error, Result, Tensor, broadcast};
use smallvec::SmallVec;

use super::node::{Expression, Ready, Real};
use crate::lanes::{fill_chunks, floats, room};
use crate::scalar::float::{Float, larger};
use crate::scratch::Scratch;
use crate::simd::{vectorized, with_mul_add};
use crate::softmax::total;
use crate::strided::View;

/// The longest tile.
const TILE: usize = 1024;

/// Rows shorter than this are not worth a tile of their own.
const SHORT_ROW: usize = 256;

/// Elements that the loop computes before it looks whether all numbers were usual. Results stay so long
/// in memory that nothing else refers to, which lets the compiler vectorise without questions.
const STEP: usize = 256;

/// Elements of a task at most, and additions at least.
const CHUNK: usize = 32 * TILE;
const SMALL_WORK: usize = 16 * 1024;

/// Elements that are added up in one go: a sum does not depend on how tasks are cut.
const BLOCK: usize = 16 * 1024;

/// The dtype in which the tensors of an expression meet.
pub(super) fn dtype<E: Expression>(expression: &E) -> Result<DType> {
    let mut meeting: Option<DType> = None;
    expression.sources(&mut |x| {
        meeting = Some(meeting.map_or(x.dtype(), |dtype| dtype.promote(x.dtype())));
    });
    meeting.ok_or_else(|| Error::argument("an expression without a tensor has no dtype"))
}

/// The shape in which the tensors of an expression meet.
pub(super) fn dims<E: Expression>(expression: &E) -> Result<SmallVec<[usize; 8]>> {
    let mut meeting: Result<SmallVec<[usize; 8]>> = Ok(SmallVec::new());
    expression.sources(&mut |x| {
        let Ok(dims) = &meeting else { return };
        if x.dims() == dims.as_slice() {
            return;
        }
        let sizes = |dims: &[usize]| {
            dims.iter().map(|&size| Dim::size(size)).collect::<SmallVec<[Dim; 8]>>()
        };
        meeting = broadcast(&sizes(dims), &sizes(x.dims()))
            .map(|dims| dims.iter().filter_map(|dim| dim.value()).collect());
    });
    meeting
}

/// Computes the expression into `out`.
pub(super) fn eval<E: Expression>(expression: &E, out: &mut Tensor) -> Result<()> {
    floats!(out.dtype(), C => {
        let bound = Bound::new(expression, out.dims())?;
        let numel = out.numel();
        let chunk = match numel.saturating_mul(E::COST.max(1)) < 2 * SMALL_WORK {
            true => numel.max(1),
            false => {
                let least = (SMALL_WORK / E::COST.clamp(1, 16)).next_multiple_of(TILE);
                (numel / 4).next_multiple_of(TILE).clamp(least, CHUNK)
            }
        };
        fill_chunks(out.as_mut_slice::<C>()?, chunk, |start, out| {
            bound.run(start..start + out.len(), #[inline(always)] |at, values: &[C]| {
                out[at - start..][..values.len()].copy_from_slice(values);
            })
        })
    })
}

/// The sum of all elements.
#[allow(clippy::unnecessary_cast)]
pub(super) fn sum<E: Expression>(expression: &E) -> Result<Tensor> {
    let dims = dims(expression)?;
    floats!(dtype(expression)?, C => {
        let sums = blocks::<C, f64, E>(expression, &dims, 0.0, |sum, values| {
            let mut lanes = [0.0 as C; 32];
            for piece in values.chunks(32) {
                for (lane, x) in lanes.iter_mut().zip(piece) {
                    *lane += x;
                }
            }
            sum + total(lanes) as f64
        })?;
        Ok(Tensor::scalar(sums.iter().sum::<f64>() as C))
    })
}

/// The largest of all elements.
pub(super) fn max<E: Expression>(expression: &E) -> Result<Tensor> {
    let dims = dims(expression)?;
    floats!(dtype(expression)?, C => {
        let lowest = -<C as Float>::INFINITY;
        let largest = blocks::<C, C, E>(expression, &dims, lowest, |largest, values| {
            let mut lanes = [largest; 32];
            for piece in values.chunks(32) {
                for (lane, &x) in lanes.iter_mut().zip(piece) {
                    *lane = larger(*lane, x);
                }
            }
            lanes.into_iter().fold(largest, larger)
        })?;
        Ok(Tensor::scalar(largest.into_iter().fold(lowest, larger)))
    })
}

/// What `f` makes of each block of elements, from `start` on.
fn blocks<C: Real, R: fluvial_tensor::Element, E: Expression>(
    expression: &E,
    dims: &[usize],
    start: R,
    f: impl Fn(R, &[C]) -> R + Sync,
) -> Result<Vec<R>> {
    let bound = Bound::new(expression, dims)?;
    let numel: usize = dims.iter().product();
    let mut results = room::<R>(numel.div_ceil(BLOCK))?;
    fill_chunks(&mut results, 1, |block, result| {
        let mut folded = start;
        bound.run(
            block * BLOCK..numel.min((block + 1) * BLOCK),
            #[inline(always)]
            |_, values: &[C]| folded = f(folded, values),
        )?;
        result[0] = folded;
        Ok(())
    })?;
    Ok(results)
}

/// An expression with its tensors broadcast to a shape.
struct Bound<'a, E> {
    expression: &'a E,
    views: SmallVec<[View<'a>; 4]>,
    /// The view of each source: a tensor that occurs more than once is read once.
    numbers: SmallVec<[usize; 8]>,
    /// Tiles do not cross rows of so many elements.
    row: usize,
}

impl<'a, E: Expression> Bound<'a, E> {
    fn new(expression: &'a E, dims: &[usize]) -> Result<Bound<'a, E>> {
        let mut tensors: SmallVec<[&Tensor; 8]> = SmallVec::new();
        let mut numbers = SmallVec::new();
        expression.sources(&mut |x| {
            let known = tensors.iter().position(|&known| std::ptr::eq(known, x));
            numbers.push(known.unwrap_or(tensors.len()));
            if known.is_none() {
                tensors.push(x);
            }
        });
        let views: SmallVec<[View<'_>; 4]> =
            tensors.into_iter().map(|x| View::broadcast(x, dims)).collect::<Result<_>>()?;
        let rows = views.iter().filter_map(View::row_len).filter(|&len| len >= SHORT_ROW);
        let row = rows.min().unwrap_or(usize::MAX);
        Ok(Bound { expression, views, numbers, row })
    }

    /// Computes the elements of `range` in order; `store` gets their first number and values.
    fn run<C: Real>(&self, range: Range<usize>, mut store: impl FnMut(usize, &[C])) -> Result<()> {
        let mut scratch = Scratch::take::<C>(self.views.len() * TILE)?;
        let buffers = scratch.as_mut_ptr::<C>();
        let mut tiles: SmallVec<[*const C; 8]> = SmallVec::new();
        let mut at = range.start;
        while at < range.end {
            let left_in_row = self.row - at % self.row;
            let len = (range.end - at).min(TILE).min(left_in_row);
            tiles.clear();
            tiles.extend(self.views.iter().enumerate().map(|(i, view)| {
                // SAFETY: each view has its own buffer, which lives as long as the scratch memory.
                let buffer = unsafe { std::slice::from_raw_parts_mut(buffers.add(i * TILE), TILE) };
                view.read(at..at + len, buffer).as_ptr()
            }));
            let mut sources = self.numbers.iter().map(|&number| tiles[number]);
            let ready = self.expression.ready::<C>(&mut sources);
            vectorized(
                #[inline(always)]
                || steps(&ready, len, |from, values| store(at + from, values)),
            );
            at += len;
        }
        Ok(())
    }
}

/// Computes a tile of `len` elements, step by step.
#[inline(always)]
fn steps<C: Real, R: Ready<C>>(ready: &R, len: usize, mut store: impl FnMut(usize, &[C])) {
    let mut values = [C::default(); STEP];
    let mut from = 0;
    while from < len {
        let n = (len - from).min(STEP);
        let mut usual = true;
        for (i, value) in values[..n].iter_mut().enumerate() {
            // SAFETY: tiles have `len` elements.
            *value = unsafe { ready.fast(from + i, &mut usual) };
        }
        if !usual {
            // SAFETY: as above.
            unsafe { again(ready, from, &mut values[..n]) };
        }
        store(from, &values[..n]);
        from += n;
    }
}

/// Computes elements of which some need the slow functions.
///
/// # Safety
///
/// Tiles have the elements from `from` on.
#[cold]
#[inline(never)]
unsafe fn again<C: Real, R: Ready<C>>(ready: &R, from: usize, values: &mut [C]) {
    with_mul_add(
        #[inline(always)]
        || {
            for (i, value) in values.iter_mut().enumerate() {
                // SAFETY: by the caller's promise.
                *value = unsafe { ready.exact(from + i) };
            }
        },
    );
}
