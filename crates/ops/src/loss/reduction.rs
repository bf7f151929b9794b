//! What becomes of the losses of single elements.

use crate::prelude::*;
use crate::shape::derived::judged;
use crate::{mean, sum};

choices! {
    /// What becomes of the losses of single elements.
    pub enum Reduction {
        /// Their mean.
        Mean = "mean",
        /// Their sum.
        Sum = "sum",
        /// They stay as they are.
        None = "none",
    }
}

/// The losses, reduced.
#[track_caller]
pub(super) fn reduced(losses: &Var, reduction: Reduction) -> Result<Var> {
    match reduction {
        Reduction::Mean => mean(losses, &[], false),
        Reduction::Sum => sum(losses, &[], false),
        Reduction::None => Ok(losses.clone()),
    }
}

/// Refuses inputs that are not floats of one shape.
#[track_caller]
pub(super) fn alike(name: &str, inputs: &[&Var]) -> Result<()> {
    judged(name, inputs, |types| floats(&types[..1]))?;
    alike_numbers(name, inputs)
}

/// Refuses inputs that are not floats or complex numbers of one shape.
#[track_caller]
pub(super) fn alike_numbers(name: &str, inputs: &[&Var]) -> Result<()> {
    judged(name, inputs, |types| {
        numbers(&types[..1])?;
        match types.iter().find(|ty| ty.dims() != types[0].dims()) {
            None => Ok(()),
            Some(other) => {
                Err(Error::shape(format!("the shapes of {} and {other} differ", types[0]))
                    .remedy("reshape or expand one of them: losses do not broadcast"))
            }
        }
    })
}

/// Refuses types that are neither floats nor complex.
pub(super) fn numbers(types: &[Type]) -> Result<()> {
    match types.iter().find(|ty| !ty.dtype().is_inexact()) {
        Some(ty) => floats(&[*ty]),
        None => Ok(()),
    }
}

/// Refuses types that are not floats.
pub(super) fn floats(types: &[Type]) -> Result<()> {
    match types.iter().find(|ty| !ty.is_float()) {
        None => Ok(()),
        Some(ty) => Err(Error::dtype(format!("expected floats, found {ty}")).remedy("cast first")),
    }
}
