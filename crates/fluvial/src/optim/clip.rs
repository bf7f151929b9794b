//! Gradients cut down to size.

use fluvial_core::scope::in_phase;
use fluvial_core::structural::cast;
use fluvial_core::{DType, Error, Phase, Result, Var};
use fluvial_ops::{lt, maximum, sqrt, sum, where_};

/// How gradients are kept from being too large.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Clip {
    /// Each element is kept between minus this and this.
    Value(f64),
    /// Each gradient whose norm is larger is scaled down to this norm.
    Norm(f64),
    /// All gradients are scaled alike, if their norm, taken together, is larger than this.
    GlobalNorm(f64),
}

/// The gradients, cut down as `clip` says. Norms are as in PyTorch: scaled by
/// `limit / (norm + 1e-6)`.
///
/// ```
/// use fluvial::optim::{Clip, clip_gradients};
/// use fluvial::prelude::*;
///
/// let g = [Var::of(&[3.0, -0.5], &[2])?, Var::of(&[0.25], &[1])?];
/// let clipped = clip_gradients(&g, Clip::Value(1.0))?;
/// assert_eq!(clipped[0].to_vec::<f64>()?, [1.0, -0.5]);
/// assert_eq!(clipped[1].to_vec::<f64>()?, [0.25]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn clip_gradients(gradients: &[Var], clip: Clip) -> Result<Vec<Var>> {
    let loc = fluvial_core::scope::user_line();
    let _scope = (fluvial_core::at(loc), in_phase(Phase::Optimizer));
    let (Clip::Value(limit) | Clip::Norm(limit) | Clip::GlobalNorm(limit)) = clip;
    if limit.is_nan() || limit < 0.0 {
        return Err(Error::argument(format!("gradients are clipped at {limit}"))
            .remedy("the limit must be zero or more")
            .at(loc));
    }
    match clip {
        Clip::Value(limit) => gradients.iter().map(|g| between(g, limit)).collect(),
        Clip::Norm(limit) => {
            let one = |g: &Var| scaled(g, &global_norm(std::slice::from_ref(g))?, limit);
            gradients.iter().map(one).collect()
        }
        Clip::GlobalNorm(limit) => {
            let norm = global_norm(gradients)?;
            gradients.iter().map(|g| scaled(g, &norm, limit)).collect()
        }
    }
}

/// The norm of all gradients together, as if they were one vector. The element type is theirs;
/// `f64` if they are of several, or none.
///
/// ```
/// use fluvial::{optim::global_norm, prelude::*};
///
/// let g = [Var::of(&[2.0, 3.0], &[2])?, Var::of(&[6.0], &[1])?];
/// assert_eq!(global_norm(&g)?.item::<f64>()?, 7.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn global_norm(gradients: &[Var]) -> Result<Var> {
    let _line = fluvial_core::at(fluvial_core::scope::user_line());
    let first = gradients.first().map_or(DType::F64, Var::dtype);
    let dtype = if gradients.iter().all(|g| g.dtype() == first) { first } else { DType::F64 };
    let mut total = Var::scalar(0.0f64);
    for (i, gradient) in gradients.iter().enumerate() {
        let squares = cast(&sum(&(gradient * gradient), &[], false)?, dtype)?;
        total = if i == 0 { squares } else { total + squares };
    }
    sqrt(&total)
}

fn between(x: &Var, limit: f64) -> Result<Var> {
    let high = cast(&Var::scalar(limit), x.dtype())?;
    let low = maximum(x, &-&high)?;
    where_(&lt(&high, &low)?, &high, &low)
}

fn scaled(x: &Var, norm: &Var, limit: f64) -> Result<Var> {
    let one = cast(&Var::scalar(1.0f64), norm.dtype())?;
    let factor = limit / (norm + 1e-6);
    let factor = where_(&lt(&factor, &one)?, &factor, &one)?;
    (x * cast(&factor, x.dtype())?).check()
}
