//! `atan`: the inverse tangent.

use super::square;
use crate::prelude::*;

/// The inverse tangent, between -pi/2 and pi/2. Integers become `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = atan(&Var::scalar(0.0f64))?;
/// assert_eq!(y.item::<f64>()?, 0.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn atan(x: &Var) -> Result<Var> {
    bind1(&ATAN, &[x])
}

/// The op behind [`atan`].
pub static ATAN: Elementwise = Elementwise::unary(
    "atan",
    |x| x.atan(),
    Keeps::INPUTS,
    |p| grads![p => p.dy() / (square(&p.x(0))? + 1.0)],
)
.domain(Domain::Float)
.analytic();

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "atan",
    || (&ATAN).into(),
    || {
        let reference: fn(&[f64]) -> f64 = |x| x[0].atan();
        vec![
            Sample::new(&ATAN, [ramp(&[2, 3])]).gives_scalar(reference),
            Sample::new(&ATAN, [f64s(&[0.3], &[])]).gives_scalar(reference),
        ]
    },
);
