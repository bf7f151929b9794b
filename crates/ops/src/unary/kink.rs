//! What the gradients of functions with kinks share.

use crate::prelude::*;
use crate::where_;

/// The cotangent where the condition holds, else zero, also where it is infinite.
#[track_caller]
pub(crate) fn pass_where(condition: &Var, dy: &Var) -> Result<Var> {
    where_(condition, dy, &dy.literal(0.0))
}

/// The shares of a choice between two: nothing where it was lost, half of a tie, else all.
#[track_caller]
pub(crate) fn share(lost: &Var, tie: &Var, dy: &Var) -> Result<Var> {
    where_(lost, &dy.literal(0.0), &where_(tie, &(dy * 0.5), dy)?)
}
