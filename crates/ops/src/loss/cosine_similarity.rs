//! `cosine_similarity`: the cosine of the angle between vectors.

use super::reduction::floats;
use super::stable::number;
use crate::prelude::*;
use crate::shape::derived::judged;
use crate::{maximum, sqrt, sum};

/// The cosines of the angles between the vectors along an axis; the others are broadcast. Lengths
/// count at least `eps`, so that vectors without length have the similarity zero.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (a, b) = (Var::of(&[3.0, 4.0], &[2])?, Var::of(&[0.0, 2.0], &[2])?);
/// assert_eq!(cosine_similarity(&a, &b, -1, 1e-8)?.item::<f64>()?, 0.8);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn cosine_similarity(a: &Var, b: &Var, axis: i64, eps: f64) -> Result<Var> {
    let _line = at(scope::user_line());
    let axis = judged("cosine_similarity", &[a, b], |types| {
        floats(types)?;
        let dims = broadcast(types[0].dims(), types[1].dims())?;
        Ok(crate::prelude::axis(axis, dims.len())? as i64 - dims.len() as i64)
    })?;
    let products = mul(a, b)?;
    let length = |x: &Var| -> Result<Var> {
        // An axis that is broadcast counts as often as it is repeated.
        let x = expand(x, &products.dims())?;
        let square = sum(&mul(&x, &x)?, &[axis], false)?;
        sqrt(&maximum(&square, &number(eps * eps, &x)?)?)
    };
    div(&sum(&products, &[axis], false)?, &mul(&length(a)?, &length(b)?)?)
}
