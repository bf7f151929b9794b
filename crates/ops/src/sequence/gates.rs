//! What the recurrent networks over sequences share.

use crate::prelude::*;
use crate::{broadcast_to, narrow, relu, sigmoid, tanh};

choices! {
    /// What a gate of a recurrent network applies to its sums.
    pub enum GateActivation {
        /// The logistic function.
        Sigmoid = "sigmoid",
        /// The hyperbolic tangent.
        Tanh = "tanh",
        /// `max(x, 0)`.
        Relu = "relu",
        /// Nothing.
        Identity = "identity",
    }
}

impl GateActivation {
    /// What it makes of a value.
    #[track_caller]
    pub(super) fn of(self, x: &Var) -> Result<Var> {
        match self {
            GateActivation::Sigmoid => sigmoid(x),
            GateActivation::Tanh => tanh(x),
            GateActivation::Relu => relu(x),
            GateActivation::Identity => Ok(x.clone()),
        }
    }
}

/// Part `i` of parts of equal width on the last axis.
#[track_caller]
pub(super) fn part(x: &Var, i: usize, width: Dim) -> Result<Var> {
    narrow(x, -1, Dim::size(i).mul(width)?, width)
}

/// A first state: as given, or zeros, one row for each sequence.
#[track_caller]
pub(super) fn first_state(
    name: &str,
    given: Option<&Var>,
    sequences: Dim,
    width: Dim,
    dtype: DType,
) -> Result<Var> {
    let loc = scope::user_line();
    let Some(given) = given else {
        return broadcast_to(&fill(0.0, &Type::scalar(dtype))?, &[sequences, width]);
    };
    let ty = given.clone().check()?.ty();
    match ty.dims() == [sequences, width] {
        true if ty.dtype() == dtype => Ok(given.clone()),
        true => cast(given, dtype),
        false => Err(Error::shape(format!(
            "the first state is {ty}, but should be [{sequences}, {width}]"
        ))
        .remedy("it has one row for each sequence")
        .in_op(name, &[&ty])
        .at(loc)),
    }
}
