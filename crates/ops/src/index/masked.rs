//! `masked_select` and `masked_fill`: elements chosen by a mask.

use super::split_rows;
use crate::binary::where_;
use crate::prelude::*;
use crate::shape::derived::{count, judged};
use crate::shape::reshape;

/// The elements of `x` where `mask` holds, in row-major order; the two are broadcast together. How
/// many there are is known only when it is computed.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0, 3.0], &[3])?;
/// let y = masked_select(&x, &Var::of(&[true, false, true], &[3])?)?;
/// assert_eq!(y.to_vec::<f64>()?, [1.0, 3.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn masked_select(x: &Var, mask: &Var) -> Result<Var> {
    let _line = at(scope::user_line());
    let dims = judged("masked_select", &[x, mask], |types| {
        is_bool(&types[1])?;
        broadcast(types[0].dims(), types[1].dims())
    })?;
    let flat = |x: &Var| reshape(&expand(x, &dims)?, &[count(&dims)?]);
    Ok(split_rows(&flat(mask)?, &flat(x)?)?.0)
}

/// `x` with a number wherever `mask`, broadcast to it, holds. Integers have to hold the number; a
/// fraction is cut off.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0, 3.0], &[3])?;
/// let y = masked_fill(&x, &Var::of(&[true, false, true], &[3])?, -1.0)?;
/// assert_eq!(y.to_vec::<f64>()?, [-1.0, 2.0, -1.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn masked_fill(x: &Var, mask: &Var, value: impl Into<Number>) -> Result<Var> {
    let _line = at(scope::user_line());
    let dtype = judged("masked_fill", &[x, mask], |types| {
        is_bool(&types[1])?;
        match broadcast(types[0].dims(), types[1].dims())?[..] == *types[0].dims() {
            true => Ok(types[0].dtype()),
            false => Err(Error::shape(format!(
                "the mask {} does not broadcast to {}",
                types[1], types[0]
            ))),
        }
    })?;
    where_(mask, &fill(value, &Type::scalar(dtype))?, x)
}

fn is_bool(ty: &Type) -> Result<()> {
    match ty.dtype().is_bool() {
        true => Ok(()),
        false => {
            Err(Error::dtype(format!("a mask is bool, found {ty}"))
                .remedy("compare with something"))
        }
    }
}
