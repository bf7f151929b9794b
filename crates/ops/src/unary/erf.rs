//! `erf`: the error function.

use std::f64::consts::FRAC_2_SQRT_PI;

use super::{exp, square};
use crate::prelude::*;

/// The error function. Integers become `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = erf(&Var::scalar(0.0f64))?;
/// assert_eq!(y.item::<f64>()?, 0.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn erf(x: &Var) -> Result<Var> {
    bind1(&ERF, &[x])
}

/// The op behind [`erf`].
pub static ERF: Elementwise = Elementwise::unary(
    "erf",
    |x| x.erf(),
    Keeps::INPUTS,
    |p| grads![p => p.dy() * exp(&-square(&p.x(0))?)? * FRAC_2_SQRT_PI],
)
.domain(Domain::Float);

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "erf",
    || (&ERF).into(),
    || {
        let x = f64s(&[-1.5, -0.25, 0.125, 0.5, 1.0, 2.25], &[2, 3]);
        let want = f64s(
            &[
                -0.9661051464753108,
                -0.27632639016823696,
                0.1403162048013338,
                0.5204998778130465,
                0.8427007929497149,
                0.9985372834133188,
            ],
            &[2, 3],
        );
        vec![Sample::new(&ERF, [x]).gives([want])]
    },
);
