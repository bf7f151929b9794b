//! `erfc`: the complementary error function.

use std::f64::consts::FRAC_2_SQRT_PI;

use super::{exp, square};
use crate::prelude::*;

/// `1 - erf(x)`, accurate for large `x`. Integers become `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = erfc(&Var::scalar(0.0f64))?;
/// assert_eq!(y.item::<f64>()?, 1.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn erfc(x: &Var) -> Result<Var> {
    bind1(&ERFC, &[x])
}

/// The op behind [`erfc`].
pub static ERFC: Elementwise = Elementwise::unary(
    "erfc",
    |x| x.erfc(),
    Keeps::INPUTS,
    |p| grads![p => p.dy() * exp(&-square(&p.x(0))?)? * -FRAC_2_SQRT_PI],
)
.domain(Domain::Float);

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "erfc",
    || (&ERFC).into(),
    || {
        let x = f64s(&[-1.5, -0.25, 0.125, 0.5, 1.0, 2.25], &[2, 3]);
        let want = f64s(
            &[
                1.9661051464753108,
                1.276326390168237,
                0.8596837951986662,
                0.4795001221869535,
                0.15729920705028513,
                0.0014627165866811518,
            ],
            &[2, 3],
        );
        vec![Sample::new(&ERFC, [x]).gives([want])]
    },
);
