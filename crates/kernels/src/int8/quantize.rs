//! Numbers as bytes.

use fluvial_tensor::{DType, Error, Result, Tensor};

use crate::lanes::{Parts, run_tasks};
use crate::reduce::{Reduce, reduce};
use crate::scalar::compute::Compute;
use crate::simd::vectorized;

/// Elements that a task converts.
const TASK: usize = 1 << 16;

/// The nearest integers of `x / scale + zero`, `u8` or `i8`; the even ones of two, and the ends of the type beyond them. NaN
/// becomes the least.
///
/// ```
/// use fluvial_kernels::quantize;
/// use fluvial_tensor::{DType, Tensor};
///
/// let x = Tensor::from_slice(&[0.25f32, -3.0, 1e9], &[3])?;
/// assert_eq!(quantize(&x, 0.1, 10, DType::U8)?.to_vec::<u8>()?, [12, 0, 255]);
/// # Ok::<(), fluvial_tensor::Error>(())
/// ```
pub fn quantize(x: &Tensor, scale: f32, zero: i32, to: DType) -> Result<Tensor> {
    let (low, high) = match to {
        DType::U8 => (0.0f32, 255.0f32),
        DType::I8 => (-128.0, 127.0),
        _ => return Err(Error::dtype(format!("quantised values are no {to}"))),
    };
    let x = x.cast(DType::F32)?.contiguous()?;
    let from = x.as_slice::<f32>().unwrap_or(&[]);
    let mut out = Tensor::empty(to, x.dims())?;
    let parts = Parts::new(out.as_bytes_mut()?);
    let zero = zero as f32;
    run_tasks(from.len().div_ceil(TASK), |task| {
        let range = task * TASK..from.len().min((task + 1) * TASK);
        // SAFETY: each task has elements of its own.
        let to = unsafe { parts.get(range.clone()) };
        vectorized(
            #[inline(always)]
            || {
                for (to, &x) in to.iter_mut().zip(&from[range]) {
                    let step = ((x / scale).round_ties_even() + zero).max(low).min(high);
                    // SAFETY: it is between the ends of the type, and no NaN.
                    *to = unsafe { step.to_int_unchecked::<i32>() } as u8;
                }
            },
        );
        Ok(())
    })?;
    Ok(out)
}

/// The scale and the zero point with which bytes without sign reach over all elements and 0. Without elements, and if all
/// of them are 0, the scale is 0, and the zero point, too. A NaN makes the scale NaN, and so all that is computed with it.
pub fn dynamic_scale(x: &Tensor) -> Result<(f32, u8)> {
    if x.numel() == 0 {
        return Ok((0.0, 0));
    }
    let axes: Vec<usize> = (0..x.rank()).collect();
    let end = |kind| reduce(kind, x, &axes, DType::F32)?.item::<f32>();
    let (low, high) = (end(Reduce::Min)?.smaller(0.0), end(Reduce::Max)?.larger(0.0));
    let scale = (high - low) / 255.0;
    let divisor = if scale == 0.0 { 1.0 } else { scale };
    Ok((scale, (-low / divisor).round_ties_even().clamp(0.0, 255.0) as u8))
}
