//! Softmax and its logarithm along an axis, their gradient, and the cross entropy.

use fluvial_tensor::{DType, Element, Error, Result, Tensor};

use crate::copy::check_axis;
use crate::lanes::{
    Parts, a_page_of, by_halves, fill_chunks, prefetch, prefetch_to_write, run_tasks,
};
use crate::scalar::float::{Float, larger};
use crate::simd::vectorized;

/// What [`softmax`] computes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Softmax {
    /// `exp(x) / sum(exp(x))`.
    Plain,
    /// `x - log(sum(exp(x)))`.
    Log,
}

/// Independent partial results along a row, so that loops are vectorised.
const LANES: usize = 32;

/// About how many elements one task computes.
const TASK: usize = 1 << 14;

/// A float with an exponential function that loops are vectorised with.
pub(crate) trait Power: Float {
    /// e^x
    fn power(self) -> Self;
}

impl Power for f32 {
    #[inline(always)]
    fn power(self) -> f32 {
        crate::math::exp::exp(self)
    }
}

impl Power for f64 {
    #[inline(always)]
    fn power(self) -> f64 {
        self.exp()
    }
}

/// Softmax of floats along `axis`, or its logarithm, computed from the distance to the largest element
/// so that nothing overflows. Half floats are computed in `f32`. A NaN, positive infinity, or nothing but
/// negative infinity along the axis gives NaN for all its elements.
///
/// ```
/// use fluvial_kernels::{Softmax, softmax};
/// use fluvial_tensor::Tensor;
///
/// let x = Tensor::from_slice(&[1000.0f32, 1000.0, 7.0, 7.0], &[2, 2])?;
/// assert_eq!(softmax(Softmax::Plain, &x, 1)?.to_vec::<f32>()?, [0.5; 4]);
/// # Ok::<(), fluvial_tensor::Error>(())
/// ```
pub fn softmax(kind: Softmax, x: &Tensor, axis: usize) -> Result<Tensor> {
    check_axis(x, axis)?;
    if !x.dtype().is_float() {
        return Err(Error::dtype(format!("softmax of {} elements", x.dtype())));
    }
    let n = x.dims()[axis];
    if x.numel() == 0 {
        return Tensor::empty(x.dtype(), x.dims());
    }
    let inner: usize = x.dims()[axis + 1..].iter().product();
    if inner > 1 {
        // Lanes that do not lie one after the other are brought together, which costs less than their
        // exponentials.
        let last = x.rank() - 1;
        let moved = x.transpose(axis, last)?.contiguous()?;
        return softmax(kind, &moved, last)?.transpose(axis, last)?.contiguous();
    }
    let compute = x.dtype().compute();
    let mut out = Tensor::empty(compute, x.dims())?;
    match compute {
        DType::F64 => softmax_rows::<f64>(kind, x, n, out.as_mut_slice()?)?,
        _ => softmax_rows::<f32>(kind, x, n, out.as_mut_slice()?)?,
    }
    out.cast(x.dtype())
}

fn softmax_rows<C: Power>(kind: Softmax, x: &Tensor, n: usize, out: &mut [C]) -> Result<()> {
    let x = x.cast(C::DTYPE)?.contiguous()?;
    let x = elements::<C>(&x)?;
    fill_chunks(out, n * (TASK / n).max(1), |first, out| {
        let x = &x[first..first + out.len()];
        vectorized(
            #[inline(always)]
            || {
                for (x, out) in x.chunks_exact(n).zip(out.chunks_exact_mut(n)) {
                    normalise(kind, x, out);
                }
            },
        );
        Ok(())
    })
}

#[inline(always)]
fn normalise<C: Power>(kind: Softmax, row: &[C], out: &mut [C]) {
    let largest = largest(row);
    match kind {
        Softmax::Plain => {
            let scale = C::ONE / powers(row, largest, out);
            for x in out {
                *x = *x * scale;
            }
        }
        Softmax::Log => {
            let log = sum_powers(row, largest).ln();
            let (chunks, rest) = row.as_chunks::<LANES>();
            let (outs, out_rest) = out.as_chunks_mut::<LANES>();
            for (chunk, out) in chunks.iter().zip(outs) {
                prefetch_to_write::<C, LANES>(out.as_ptr(), a_page_of::<C>());
                let mut values = [C::ZERO; LANES];
                for i in 0..LANES {
                    values[i] = (chunk[i] - largest) - log;
                }
                *out = values;
            }
            for (x, out) in rest.iter().zip(out_rest) {
                *out = (*x - largest) - log;
            }
        }
    }
}

/// The largest element; NaN if there is one.
#[inline(always)]
pub(crate) fn largest<C: Float>(row: &[C]) -> C {
    let mut lanes = [-C::INFINITY; LANES];
    let (chunks, rest) = row.as_chunks::<LANES>();
    for chunk in chunks {
        prefetch::<C, LANES>(chunk.as_ptr(), a_page_of::<C>());
        for i in 0..LANES {
            lanes[i] = larger(lanes[i], chunk[i]);
        }
    }
    if !rest.is_empty() {
        let rest = padded(rest, -C::INFINITY);
        for i in 0..LANES {
            lanes[i] = larger(lanes[i], rest[i]);
        }
    }
    by_halves(lanes, larger)
}

/// The last elements of a row, which are fewer than there are lanes. Kept apart: an array of which a
/// part is written at run time does not stay in registers.
#[inline(never)]
fn padded<C: Float>(rest: &[C], with: C) -> [C; LANES] {
    let mut lanes = [with; LANES];
    lanes[..rest.len()].copy_from_slice(rest);
    lanes
}

/// Adds lanes up by halves.
#[inline(always)]
pub(crate) fn total<C: Float>(lanes: [C; LANES]) -> C {
    by_halves(lanes, |a, b| a + b)
}

/// Writes the powers of the distances to the largest element, and adds them up.
#[inline(always)]
fn powers<C: Power>(row: &[C], largest: C, out: &mut [C]) -> C {
    let mut lanes = [C::ZERO; LANES];
    let (chunks, rest) = row.as_chunks::<LANES>();
    let (outs, out_rest) = out.as_chunks_mut::<LANES>();
    for (chunk, out) in chunks.iter().zip(outs) {
        prefetch_to_write::<C, LANES>(out.as_ptr(), a_page_of::<C>());
        for i in 0..LANES {
            let power = (chunk[i] - largest).power();
            out[i] = power;
            lanes[i] = lanes[i] + power;
        }
    }
    if !rest.is_empty() {
        let mut rest = padded(rest, -C::INFINITY);
        for (x, lane) in rest.iter_mut().zip(&mut lanes) {
            *x = (*x - largest).power();
            *lane = *lane + *x;
        }
        // If the largest is not finite, then so is the sum already.
        out_rest.copy_from_slice(&rest[..out_rest.len()]);
    }
    total(lanes)
}

#[inline(always)]
pub(crate) fn sum_powers<C: Power>(row: &[C], largest: C) -> C {
    let mut lanes = [C::ZERO; LANES];
    let (chunks, rest) = row.as_chunks::<LANES>();
    for chunk in chunks {
        for i in 0..LANES {
            lanes[i] = lanes[i] + (chunk[i] - largest).power();
        }
    }
    if !rest.is_empty() {
        for (lane, x) in lanes.iter_mut().zip(padded(rest, -C::INFINITY)) {
            *lane = *lane + (x - largest).power();
        }
    }
    total(lanes)
}

/// The elements of a contiguous tensor of this type.
pub(crate) fn elements<C: Element>(x: &Tensor) -> Result<&[C]> {
    x.as_slice().ok_or_else(|| Error::dtype(format!("{} where {} was expected", x.ty(), C::DTYPE)))
}

/// The cross entropy of each row of `logits` (`rows x classes`, `f32` or `f64`) with a class out of
/// `targets` (i64), and its gradient times `scale`: the losses, and `(softmax(x) - one_hot) * scale`. A
/// row whose target is `ignored` has loss and gradient 0; others out of range are an error.
///
/// ```
/// use fluvial_kernels::cross_entropy;
/// use fluvial_tensor::Tensor;
///
/// let logits = Tensor::from_slice(&[0.0f32, 0.0], &[1, 2])?;
/// let (loss, grad) = cross_entropy(&logits, &Tensor::from_slice(&[1i64], &[1])?, 1.0, None)?;
/// assert_eq!(grad.to_vec::<f32>()?, [0.5, -0.5]);
/// assert!((loss.item::<f32>()? - 2f32.ln()).abs() < 1e-6);
/// # Ok::<(), fluvial_tensor::Error>(())
/// ```
pub fn cross_entropy(
    logits: &Tensor,
    targets: &Tensor,
    scale: f64,
    ignored: Option<i64>,
) -> Result<(Tensor, Tensor)> {
    let &[rows, n] = logits.dims() else {
        return Err(Error::shape(format!("rows of classes, not {}", logits.ty())));
    };
    if targets.dims() != [rows] || targets.dtype() != DType::I64 {
        return Err(Error::shape(format!("classes {} for {}", targets.ty(), logits.ty())));
    }
    let classes = targets.to_vec::<i64>()?;
    for &class in classes.iter().filter(|&&class| Some(class) != ignored) {
        if !(0..n as i64).contains(&class) {
            return Err(Error::index(format!("class {class} is out of range for {n} classes")));
        }
    }
    let mut losses = Tensor::empty(logits.dtype(), &[rows])?;
    let mut grad = Tensor::empty(logits.dtype(), &[rows, n])?;
    let x = logits.contiguous()?;
    match logits.dtype() {
        DType::F32 => entropy_rows::<f32>(&x, &classes, scale, ignored, &mut losses, &mut grad)?,
        DType::F64 => entropy_rows::<f64>(&x, &classes, scale, ignored, &mut losses, &mut grad)?,
        dtype => return Err(Error::dtype(format!("the cross entropy in {dtype}"))),
    }
    Ok((losses, grad))
}

#[allow(clippy::needless_range_loop)]
fn entropy_rows<C: Power>(
    x: &Tensor,
    classes: &[i64],
    scale: f64,
    ignored: Option<i64>,
    losses: &mut Tensor,
    grad: &mut Tensor,
) -> Result<()> {
    let n = x.dims()[1];
    if n == 0 {
        losses.as_mut_slice::<C>()?.fill(C::ZERO);
        return Ok(());
    }
    let x = elements::<C>(x)?;
    let (losses, grad) = (losses.as_mut_slice::<C>()?, grad.as_mut_slice::<C>()?);
    let (losses, grad) = (Parts::new(losses), Parts::new(grad));
    let rows = (TASK / n).max(1);
    run_tasks(classes.len().div_ceil(rows), |task| {
        for row in task * rows..classes.len().min((task + 1) * rows) {
            let at = row * n..(row + 1) * n;
            // SAFETY: each row belongs to one task.
            let (loss, grad) = unsafe { (losses.get(row..row + 1), grad.get(at.clone())) };
            if Some(classes[row]) == ignored {
                loss[0] = C::ZERO;
                grad.fill(C::ZERO);
                continue;
            }
            vectorized(
                #[inline(always)]
                || {
                    let x = &x[at];
                    let class = classes[row] as usize;
                    let largest = largest(x);
                    let sum = powers(x, largest, grad);
                    loss[0] = sum.ln() - (x[class] - largest);
                    let scale = C::from_f64(scale);
                    let factor = scale / sum;
                    for out in grad.iter_mut() {
                        *out = *out * factor;
                    }
                    grad[class] = grad[class] - scale;
                },
            );
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests;
