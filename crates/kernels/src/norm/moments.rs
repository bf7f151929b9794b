//! Sums and moments of elements that lie next to each other.

use crate::lanes::{a_page_of, prefetch};
use crate::scalar::float::Float;
use crate::softmax::total;

/// Elements whose moments are computed together.
pub(super) const PIECE: usize = 4096;

/// Independent partial sums.
pub(super) const LANES: usize = 32;

/// The number of elements, their mean, and the sum of the squared distances to it.
#[derive(Clone, Copy, Default)]
pub(super) struct Moments {
    n: f64,
    pub(super) mean: f64,
    squares: f64,
}

impl Moments {
    /// Takes in more elements. If they are not centred, their mean counts as 0.
    #[inline(always)]
    pub(super) fn add<C: Float>(&mut self, values: &[C], centred: bool) {
        for piece in values.chunks(PIECE) {
            let n = piece.len() as f64;
            let mean = if centred { sum(piece, |_, x| x).to_f64() / n } else { 0.0 };
            let middle = C::from_f64(mean);
            let squares = sum(piece, |_, x| (x - middle) * (x - middle)).to_f64();
            // The mean was rounded to be subtracted.
            let shift = mean - middle.to_f64();
            let squares = squares - n * shift * shift;
            let both = self.n + n;
            let distance = mean - self.mean;
            self.squares += squares + distance * distance * self.n * n / both;
            self.mean += distance * n / both;
            self.n = both;
        }
    }

    /// The mean squared distance; NaN if there was one.
    pub(super) fn variance(&self) -> f64 {
        if self.squares < 0.0 { 0.0 } else { self.squares / self.n }
    }

    pub(super) fn rstd(&self, eps: f64) -> f64 {
        1.0 / (self.variance() + eps).sqrt()
    }
}

/// The sum of `f` over all elements, in a fixed order; `f` is also given their number.
#[inline(always)]
pub(super) fn sum<C: Float>(values: &[C], f: impl Fn(usize, C) -> C) -> C {
    let mut lanes = [C::ZERO; LANES];
    let (chunks, rest) = values.as_chunks::<LANES>();
    for (at, chunk) in chunks.iter().enumerate() {
        prefetch::<C, LANES>(chunk.as_ptr(), a_page_of::<C>());
        for i in 0..LANES {
            lanes[i] = lanes[i] + f(at * LANES + i, chunk[i]);
        }
    }
    if !rest.is_empty() {
        let rest = last(chunks.len() * LANES, rest, f);
        for i in 0..LANES {
            lanes[i] = lanes[i] + rest[i];
        }
    }
    total(lanes)
}

/// The sums of `grad * weight * (x - mean)` and of `grad * weight`, in the order of [`sum`].
#[inline(always)]
pub(super) fn along_and_flat<C: Float>(grad: &[C], weight: &[C], x: &[C], mean: C) -> [C; 2] {
    let (mut along, mut flat) = ([C::ZERO; LANES], [C::ZERO; LANES]);
    let (grads, grad_rest) = grad.as_chunks::<LANES>();
    let (weights, weight_rest) = weight.as_chunks::<LANES>();
    let (xs, x_rest) = x.as_chunks::<LANES>();
    for ((grad, weight), x) in grads.iter().zip(weights).zip(xs) {
        prefetch::<C, LANES>(grad.as_ptr(), a_page_of::<C>());
        prefetch::<C, LANES>(x.as_ptr(), a_page_of::<C>());
        for i in 0..LANES {
            let weighted = grad[i] * weight[i];
            along[i] = along[i] + weighted * (x[i] - mean);
            flat[i] = flat[i] + weighted;
        }
    }
    if !grad_rest.is_empty() {
        let weighted = |i: usize, grad: C| grad * weight_rest[i];
        let rest = [
            last(0, grad_rest, |i, grad| weighted(i, grad) * (x_rest[i] - mean)),
            last(0, grad_rest, weighted),
        ];
        for i in 0..LANES {
            along[i] = along[i] + rest[0][i];
            flat[i] = flat[i] + rest[1][i];
        }
    }
    [total(along), total(flat)]
}

/// Normalises elements next to each other.
#[inline(always)]
pub(super) fn place<C: Float>(y: &mut [C], x: &[C], mean: C, rstd: C, weight: &[C], bias: &[C]) {
    for ((y, &x), (&weight, &bias)) in y.iter_mut().zip(x).zip(weight.iter().zip(bias)) {
        *y = (x - mean) * rstd * weight + bias;
    }
}

/// What [`sum`] adds for the last elements; apart, since an array written in parts leaves the registers.
#[inline(never)]
fn last<C: Float>(first: usize, rest: &[C], f: impl Fn(usize, C) -> C) -> [C; LANES] {
    let mut lanes = [C::ZERO; LANES];
    let values = rest.iter().enumerate().map(|(i, &x)| f(first + i, x));
    lanes.iter_mut().zip(values).for_each(|(lane, x)| *lane = x);
    lanes
}
