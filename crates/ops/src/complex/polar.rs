//! `polar`: complex numbers from sizes and angles, derived.

use crate::prelude::*;
use crate::{complex, cos, sin};

/// The complex numbers of these absolute values and angles, broadcast.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let z = polar(&Var::scalar(2.0f64), &Var::scalar(0.0f64))?;
/// assert_eq!(real(&z)?.item::<f64>()?, 2.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn polar(abs: &Var, angle: &Var) -> Result<Var> {
    let _line = at(scope::user_line());
    complex(&mul(abs, &cos(angle)?)?, &mul(abs, &sin(angle)?)?)
}
