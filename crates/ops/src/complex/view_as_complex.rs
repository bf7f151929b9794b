//! `view_as_complex`: complex numbers from parts along an axis, derived.

use crate::prelude::*;
use crate::{complex, slice, squeeze};

/// The complex numbers whose real and imaginary parts lie side by side along the last axis, of size 2.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let z = view_as_complex(&Var::of(&[3.0f64, 4.0], &[1, 2])?)?;
/// assert_eq!(abs(&z)?.to_vec::<f64>()?, [5.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn view_as_complex(x: &Var) -> Result<Var> {
    let _line = at(scope::user_line());
    let ty = x.clone().check()?.ty();
    if !ty.is_float() || ty.rank() == 0 || ty.dim(ty.rank() - 1) != Dim::size(2) {
        return Err(Error::shape(format!(
            "expected floats with a last axis of size 2, found {ty}"
        ))
        .at(scope::user_line()));
    }
    let part = |at: i64| squeeze(&slice(x, -1, Some(at), Some(at + 1), 1)?, &[-1]);
    complex(&part(0)?, &part(1)?)
}
