//! `sampling_id`: one class for each row, drawn by its probabilities.

use crate::prelude::*;
use crate::shape::derived::judged;
use crate::{multinomial, reshape};

/// A class (`i64[batch]`) for each row of `x`, `[batch, classes]`, drawn by the probabilities in it.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[0.0, 1.0, 1.0, 0.0], &[2, 2])?;
/// assert_eq!(sampling_id(&x)?.to_vec::<i64>()?, [1, 0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn sampling_id(x: &Var) -> Result<Var> {
    let _line = at(scope::user_line());
    let batch = judged("sampling_id", &[x], |types| match types[0].rank() {
        2 => Ok(types[0].dim(0)),
        _ => Err(Error::shape(format!("expected [batch, classes], found {}", types[0]))),
    })?;
    reshape(&multinomial(x, 1, true)?, &[batch])
}
