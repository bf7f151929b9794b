//! `view_as_real`: the parts of complex numbers along an axis, derived.

use crate::prelude::*;
use crate::stack;

/// The real and the imaginary parts of complex numbers, side by side along a new last axis.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let z = complex(&Var::scalar(3.0f64), &Var::scalar(4.0f64))?;
/// assert_eq!(view_as_real(&z)?.to_vec::<f64>()?, [3.0, 4.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn view_as_real(x: &Var) -> Result<Var> {
    let _line = at(scope::user_line());
    if !x.dtype().is_complex() {
        return Err(Error::dtype(format!("expected complex numbers, found {}", x.ty()))
            .at(scope::user_line()));
    }
    stack(&[&real(x)?, &imag(x)?], -1)
}
