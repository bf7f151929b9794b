//! `square_error_cost`: squared differences.

use super::reduction::alike;
use crate::prelude::*;
use crate::square;

/// The squared differences, element by element.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (x, y) = (Var::of(&[1.0, 2.0], &[2])?, Var::of(&[1.0, 5.0], &[2])?);
/// assert_eq!(square_error_cost(&x, &y)?.to_vec::<f64>()?, [0.0, 9.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn square_error_cost(input: &Var, target: &Var) -> Result<Var> {
    let _line = at(scope::user_line());
    alike("square_error_cost", &[input, target])?;
    square(&sub(input, target)?)
}
