//! `gumbel_softmax`: a random choice that gradients pass through.

use super::softmax::is_normalisable;
use crate::prelude::*;
use crate::shape::derived::judged;
use crate::shape::reshape;
use crate::{argmax, eq, iota, log, softmax, uniform};

/// Softmax along an axis of `x`, unnormalised logarithms of probabilities, plus noise of Gumbel, divided
/// by `temperature`: a sample that is close to one-hot where the temperature is low. With `hard`, the
/// result is one-hot, but its gradient is that of the soft sample.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// seed(1)?;
/// let x = Var::of(&[0.0, 0.0, 50.0], &[3])?;
/// assert_eq!(gumbel_softmax(&x, 1.0, true, -1)?.to_vec::<f64>()?, [0.0, 0.0, 1.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn gumbel_softmax(x: &Var, temperature: f64, hard: bool, axis: i64) -> Result<Var> {
    let _line = at(scope::user_line());
    let ty = judged("gumbel_softmax", &[x], |ty| {
        is_normalisable(axis, &ty[0])?;
        match temperature > 0.0 {
            true => Ok(ty[0]),
            false => Err(Error::argument(format!("the temperature is {temperature}"))
                .remedy("it is a number above zero; low ones make choices sharp")),
        }
    })?;
    // Zero gives a noise of minus infinity, which is not a choice; one, which would give plus infinity,
    // is never drawn.
    let noise = neg(&log(&neg(&log(&uniform(&ty, 0.0, 1.0)?)?)?)?)?;
    let soft = softmax(&((x + noise) / temperature), axis)?;
    if !hard {
        return Ok(soft);
    }
    let from_front = crate::prelude::axis(axis, ty.rank())?;
    let choice = argmax(&soft, axis, true)?;
    let mut dims: SmallVec<[Dim; 8]> = smallvec![Dim::size(1); ty.rank()];
    dims[from_front] = ty.dim(from_front);
    let classes = reshape(&iota(ty.dim(from_front), DType::I64)?, &dims)?;
    let one_hot = cast(&eq(&classes, &choice)?, ty.dtype())?;
    add(&one_hot, &(&soft - stop_gradient(&soft)?))
}
