//! `lstm_unit`: one step of a long short-term memory from the sums of its gates.

use super::gates::part;
use crate::prelude::*;
use crate::shape::derived::judged;
use crate::{sigmoid, tanh};

/// The next output and cell from the sums of the gates `x`, `[batch, 4 width]`, which are input, forget, output
/// and candidate, and the last cell, `[batch, width]`. `forget_bias` is added to the sums of the forget gate.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (x, cell) = (Var::of(&[0.0; 4], &[1, 4])?, Var::of(&[4.0], &[1, 1])?);
/// let (_, next) = lstm_unit(&x, &cell, 0.0)?;
/// assert_eq!(next.to_vec::<f64>()?, [2.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn lstm_unit(x: &Var, cell: &Var, forget_bias: f64) -> Result<(Var, Var)> {
    let _line = at(scope::user_line());
    let width = judged("lstm_unit", &[x, cell], |types| {
        let (x, cell) = (&types[0], &types[1]);
        let fits = x.rank() == 2
            && cell.rank() == 2
            && x.dim(0) == cell.dim(0)
            && x.dim(1) == cell.dim(1).mul(Dim::size(4))?;
        match fits {
            true => Ok(cell.dim(1)),
            false => Err(Error::shape(format!(
                "expected [batch, 4 width] and [batch, width], found {x} and {cell}"
            ))),
        }
    })?;
    let gate = |i: usize| part(x, i, width);
    let forget = sigmoid(&(gate(1)? + forget_bias))?;
    let entering = mul(&sigmoid(&gate(0)?)?, &tanh(&gate(3)?)?)?;
    let next = add(&mul(&forget, cell)?, &entering)?;
    Ok((mul(&sigmoid(&gate(2)?)?, &tanh(&next)?)?, next))
}
